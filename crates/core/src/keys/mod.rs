//! What keys of experiments are made of: quantities in words, values that are text or table, and what is wrong with a key.
//!
//! The keys themselves are fields of types beside the machines that they configure: [`crate::queue::keys`],
//! [`crate::tcp::keys`], [`crate::path::keys`].

mod drawn;
mod quantity;
mod text_or_table;
pub mod walk;
mod written;

pub use drawn::{Drawn, Number, Share, Size, Span};
pub use text_or_table::{TextOrTable, read};
pub use written::{Written, text, text_or_table};

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::units::ParseQuantityError;
pub use quantity::Quantity;

/// A delay that may be switched off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optional<T>(pub Option<T>);

impl<T: FromStr<Err = ParseQuantityError>> FromStr for Optional<T> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        if text == "off" { Ok(Optional(None)) } else { text.parse().map(|value| Optional(Some(value))) }
    }
}

/// A key of an experiment whose value cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// Its dotted path.
    pub key: String,
    /// What is wrong with it, as it follows the key: a space or a colon first.
    problem: String,
}

impl KeyError {
    /// A value that `problem` describes, in words that follow the key: `must be above zero`.
    pub fn new(key: impl Into<String>, problem: impl Display) -> KeyError {
        KeyError { key: key.into(), problem: format!(" {problem}") }
    }

    /// A value with a problem that is a sentence of its own: it follows the key and a colon.
    pub fn saying(key: impl Into<String>, problem: impl Display) -> KeyError {
        KeyError { key: key.into(), problem: format!(": {problem}") }
    }

    /// The same key inside the table `table`.
    #[must_use]
    pub fn within(self, table: impl Display) -> KeyError {
        KeyError { key: format!("{table}.{}", self.key), ..self }
    }
}

impl Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.key, self.problem)
    }
}

/// Names are parts of keys, and of what is printed.
pub fn named(what: &str, key: &str, name: &str) -> Result<(), KeyError> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if (1..=64).contains(&name.len()) && name.chars().all(good) {
        return Ok(());
    }
    Err(KeyError::saying(key, format_args!("{what} is named {name:?}: give it 1 to 64 letters, digits, - or _")))
}

/// The name in `known` that `typed` most likely meant, if one is near enough; capitals, `-` and `_` make no difference.
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    // Of long texts the beginning is enough.
    let plain =
        |name: &str| name.chars().take(64).map(|c| c.to_ascii_lowercase()).collect::<String>().replace('_', "-");
    let typed = plain(typed);
    known
        .iter()
        .map(|name| (strsim::osa_distance(&typed, &plain(name)), *name))
        .filter(|(distance, name)| *distance <= (typed.len().max(name.len()) / 2).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
