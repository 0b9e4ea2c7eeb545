//! A variant's runs under its name.

use crate::run::Run;
use crate::variant::Variant;

/// A variant's runs under its name.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its replications, at least one.
    pub runs: &'a [Run],
}

impl<'a> From<&'a Variant> for Group<'a> {
    fn from(variant: &'a Variant) -> Group<'a> {
        Group { name: &variant.name, runs: &variant.runs }
    }
}

impl<'a> From<&'a Run> for Group<'a> {
    fn from(run: &'a Run) -> Group<'a> {
        Group { name: &run.name, runs: std::slice::from_ref(run) }
    }
}
