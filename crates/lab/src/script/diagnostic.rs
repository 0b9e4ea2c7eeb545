//! What is wrong with a script, or worth knowing: what, where, what now.

use flowloom_core::keys::nearest;

use super::place::{Files, Place};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The script cannot be run.
    Error,
    /// It can, but perhaps not as it was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// Something to say of a place in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub place: Place,
    /// What.
    pub message: String,
    /// Further lines: what is known.
    pub notes: Vec<String>,
    /// What to do now.
    pub hint: Option<String>,
}

/// Most characters of a message, which may repeat a word of any length.
const MOST_CHARACTERS: usize = 400;

/// A message without its end if it is very long.
fn cut(message: String) -> String {
    match message.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}...", &message[..end]),
        None => message,
    }
}

impl Diagnostic {
    /// An error at `place`.
    pub fn error(place: Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, place, message: cut(message.into()), notes: Vec::new(), hint: None }
    }

    /// A warning about `place`.
    pub fn warning(place: Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(place, message) }
    }

    /// A note about `place`.
    pub fn note(place: Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Note, ..Diagnostic::error(place, message) }
    }

    /// Adds a line below it.
    pub fn also(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(cut(note.into()));
        self
    }

    /// Says what to do now.
    pub fn hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(cut(hint.into()));
        self
    }

    /// Says what to do now, if anything is known.
    pub fn hint_if(mut self, hint: Option<String>) -> Diagnostic {
        self.hint = hint.map(cut).or(self.hint);
        self
    }

    /// Whether the script cannot be run.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The place and the message.
    pub fn summary(&self, files: &Files) -> String {
        format!("{}: {}", files.locate(self.place), self.message)
    }

    /// The lines that included the file, from the nearest on.
    pub fn included(&self, files: &Files) -> Vec<Place> {
        std::iter::successors(files.get(self.place.file).included_at, |at| files.get(at.file).included_at).collect()
    }
}

/// The hint that names the one of `known` that was most likely meant, if one is near.
pub fn did_you_mean(typed: &str, known: &[&str]) -> Option<String> {
    nearest(typed, known).map(|meant| format!("did you mean \"{meant}\"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_not_as_long_as_what_they_repeat() {
        let error = Diagnostic::error(Place::default(), "é".repeat(1_000)).hint("x".repeat(1_000));
        assert_eq!(error.message, "é".repeat(400) + "...");
        assert_eq!(error.hint, Some("x".repeat(400) + "..."));
    }
}
