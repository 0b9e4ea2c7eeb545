//! What keys of experiments are made of: quantities in words, values that are text or table, and what is wrong with a key.
//!
//! The keys themselves are fields of types beside the machines that they configure: [`crate::queue::keys`],
//! [`crate::tcp::keys`], [`crate::path::keys`].

mod amount;
mod bounds;
mod drawn;
pub(crate) mod form;
mod quantity;
mod text_or_table;
pub mod walk;
mod written;

pub use amount::Amount;
pub use bounds::Bounds;
pub use drawn::{Drawn, Number, Share, Size, Span};
pub use form::{Optional, Written, text_or_other};
pub use text_or_table::{TextOrTable, read};
pub use written::{POSITIVE, text};

use std::fmt::{self, Display};

use serde::Serialize;

pub use quantity::Quantity;

/// A value that is a word, as files have it.
///
/// # Panics
/// If it is none.
pub fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        other => unreachable!("a word: {other:?}"),
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

/// The name in `known` that `typed` most likely meant: it differs in a third of the letters at most, where two that changed places count
/// once, or `typed` is its beginning; capitals, `-` and `_` make no difference.
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    // Of long texts the beginning is enough.
    let plain =
        |name: &str| name.chars().take(64).map(|c| c.to_ascii_lowercase()).collect::<String>().replace('_', "-");
    let typed = plain(typed);
    let letters = |text: &str| text.chars().count();
    known
        .iter()
        .map(|name| (strsim::osa_distance(&typed, &plain(name)), *name))
        .filter(|(distance, name)| {
            let is_near = *distance <= (letters(&typed).max(letters(name)) / 3).max(1) && *distance < letters(name);
            is_near || letters(&typed) >= FEWEST_OF_BEGINNING && plain(name).starts_with(&typed)
        })
        // "routes" is as near to "router" as to "route".
        .min_by_key(|(distance, name)| (*distance, !typed.starts_with(&plain(name))))
        .map(|(_, name)| name)
}

/// Fewer letters are the beginning of too many names.
const FEWEST_OF_BEGINNING: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_differ_in_few_letters() {
        assert_eq!(nearest("ether", &["aal5", "ethernet"]), Some("ethernet"));
        assert_eq!(nearest("et", &["ethernet"]), None);
        assert_eq!(nearest("vcmap", &["vc_window", "vc_map"]), Some("vc_map"));
        assert_eq!(nearest("routes", &["router", "route"]), Some("route"));
        assert_eq!(nearest("Router", &["router", "route"]), Some("router"));
        assert_eq!(nearest("mni", &["max", "min"]), Some("min"));
        for (typed, known) in
            [("gopher", &["ftp", "telnet"][..]), ("foo", &["from"]), ("d", &["a"]), ("日本", &["ecn", "off"])]
        {
            assert_eq!(nearest(typed, known), None, "{typed}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), &["router"]), None);
    }
}
