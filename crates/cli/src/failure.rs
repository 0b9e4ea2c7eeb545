//! How a command fails: what, where, what now, and the documented exit code.

use std::fmt::{self, Display};
use std::process::ExitCode;

/// Exit codes, as `flowloom --help` documents them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Could not.
    CouldNot,
    /// Wrong usage: options or an experiment file that cannot mean anything.
    Usage,
    /// Ran, but the result is INVALID or was interrupted.
    Invalid,
    /// `compare --check` and `lab format --check`: different.
    Different,
    /// What the program of `shell` ended with.
    OfProgram(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::CouldNot => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Different => 4,
            Exit::OfProgram(code) => code,
        })
    }
}

/// An error as the user sees it.
#[derive(Debug, PartialEq)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What and where, lower case, no full stop.
    pub message: String,
    /// Further lines: what was done so far, what is known.
    pub notes: Vec<String>,
    /// What to do now.
    pub hint: Option<String>,
}

impl Failure {
    /// Could not do it (exit 1).
    pub fn new(message: impl Display) -> Failure {
        Failure { exit: Exit::CouldNot, message: message.to_string(), notes: Vec::new(), hint: None }
    }

    /// Cannot mean anything (exit 2).
    pub fn usage(message: impl Display) -> Failure {
        Failure { exit: Exit::Usage, ..Failure::new(message) }
    }

    /// Adds a line below the message.
    pub fn note(mut self, note: impl Display) -> Failure {
        self.notes.push(note.to_string());
        self
    }

    /// Says what to do now.
    pub fn hint(mut self, hint: impl Display) -> Failure {
        self.hint = Some(hint.to_string());
        self
    }

    /// Says what to do now, if anything is known.
    pub fn hint_if(mut self, hint: Option<impl Display>) -> Failure {
        if let Some(hint) = hint {
            self.hint = Some(hint.to_string());
        }
        self
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        for note in &self.notes {
            write!(f, "\n  {note}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// The name in `known` that `typed` most likely meant, if one is near enough.
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|name| (edit_distance(typed, name), *name))
        .filter(|(distance, name)| *distance <= (typed.len().max(name.len()) / 2).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Levenshtein's distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_nearest() {
        let known = ["drop-tail", "codel", "fq-codel", "red"];
        assert_eq!(nearest("fqcodel", &known), Some("fq-codel"));
        assert_eq!(nearest("droptail", &known), Some("drop-tail"));
        assert_eq!(nearest("hierarchical-token-bucket", &known), None);
    }
}
