//! What a value that is written as a text says of itself.

use std::str::FromStr;

use schemars::{Schema, json_schema};

use super::amount::Amount;
use crate::units::ParseQuantityError;

/// A value that is written as one text: `"20ms"`.
pub trait Written: FromStr<Err = ParseQuantityError> {
    /// What the form is called: `format` in the schema.
    const FORMAT: &'static str;
    /// What the text is: a phrase that follows "expected".
    const MEANING: &'static str;
    /// How it is written.
    const EXAMPLES: &'static [&'static str];
    /// The unit of a plain number, where one may stand instead of the text.
    const PLAIN: Option<&'static str> = None;

    /// A regular expression that every such text matches (ECMA 262), without anchors.
    fn pattern() -> String;

    /// What it counts, if it counts something that can have bounds.
    fn amount(&self) -> Option<Amount> {
        None
    }
}

/// The schema of what is a text or something else. `format` names the check of both together.
pub fn text_or_other(format: &str, meaning: &str, forms: Vec<Schema>) -> Schema {
    json_schema!({ "format": format, "description": meaning, "anyOf": forms })
}

/// A delay that may be switched off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optional<T>(pub Option<T>);

impl<T: FromStr<Err = ParseQuantityError>> FromStr for Optional<T> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        if text == "off" { Ok(Optional(None)) } else { text.parse().map(|value| Optional(Some(value))) }
    }
}
