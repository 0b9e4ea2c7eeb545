//! The variants of a report, as its sections need them.

use maud::{Markup, html};

use super::elements::swatch;
use super::figure::Role;
use crate::run::Run;
use crate::variant::Variant;

/// A report's variants as its sections need them.
pub(super) struct Shown<'a> {
    /// What is drawn and told of, in order.
    pub variants: &'a [Variant],
    /// Their names, short.
    pub names: &'a [String],
    /// Whether an original is the reference.
    pub with_original: bool,
}

impl<'a> Shown<'a> {
    /// The first run of each variant, with its role.
    pub(super) fn firsts(&self) -> impl Iterator<Item = (Role, &'a Run)> {
        self.variants.iter().enumerate().map(|(index, variant)| (Role::run(index), &variant.runs[0]))
    }

    /// All runs, each with a name: that of its variant, and its seed where there are several.
    pub(super) fn runs(&self) -> Vec<(String, &'a Run)> {
        let of_variant = |(variant, name): (&'a Variant, &String)| -> Vec<(String, &'a Run)> {
            let seeded = |run: &'a Run| (format!("{name}, seed {}", run.facts.seed), run);
            match &variant.runs[..] {
                [only] => vec![(name.clone(), only)],
                runs => runs.iter().map(seeded).collect(),
            }
        };
        self.variants.iter().zip(self.names).flat_map(of_variant).collect()
    }

    /// The heading of what is told of variant `index`; none if there is only one.
    pub(super) fn heading(&self, index: usize) -> Markup {
        html! {
            @if self.variants.len() > 1 {
                h3 { (swatch(&Role::run(index))) (self.names[index]) }
            }
        }
    }

    /// The same of what is told of its first seed only.
    pub(super) fn heading_of_first(&self, index: usize) -> Markup {
        let runs = &self.variants[index].runs;
        html! {
            @if self.variants.len() > 1 || runs.len() > 1 {
                h3 {
                    (swatch(&Role::run(index))) (self.names[index])
                    @if runs.len() > 1 { " " span class="quiet" { "seed " (runs[0].facts.seed) } }
                }
            }
        }
    }
}
