//! What is wrong with a script, or worth knowing: what, where, what now.

use std::fmt::Write;

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
    /// What to do now.
    pub hint: Option<String>,
}

/// Characters of a line that are shown.
const SHOWN: usize = 96;
/// Of them, those before what is pointed at, if the line is longer.
const BEFORE: usize = 40;

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
        Diagnostic { severity: Severity::Error, place, message: cut(message.into()), hint: None }
    }

    /// A warning about `place`.
    pub fn warning(place: Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(place, message) }
    }

    /// A note about `place`.
    pub fn note(place: Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Note, ..Diagnostic::error(place, message) }
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

    /// The first line of [`Diagnostic::text`], without the word for the severity.
    pub fn summary(&self, files: &Files) -> String {
        format!("{}: {}", files.locate(self.place), self.message)
    }

    /// The line it is about and a line that points at the place, without the part of a long line that is far away; and the lines that
    /// included the file.
    pub fn pointed(&self, files: &Files) -> Vec<String> {
        let place = self.place;
        let from = (place.column as usize - 1).saturating_sub(BEFORE);
        let from = if place.column as usize <= SHOWN { 0 } else { from };
        // A tab or another control character is as wide as the pointer below it.
        let shown = files.line(place).chars().skip(from).take(SHOWN);
        let shown: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
        let shown = shown.trim_end();
        let before = place.column as usize - 1 - from;
        let width = (place.length as usize).min(SHOWN.saturating_sub(before)).max(1);
        let mut lines = vec![format!("  {shown}"), format!("  {}{}", " ".repeat(before), "^".repeat(width))];
        let mut included = files.get(place.file).included_at;
        while let Some(at) = included {
            lines.push(format!("included at {}", files.locate(at)));
            included = files.get(at.file).included_at;
        }
        lines
    }

    /// All there is to say, in lines.
    pub fn text(&self, files: &Files) -> String {
        let mut text = format!("{}: {}\n", self.severity.word(), self.summary(files));
        for line in self.pointed(files) {
            let _ = writeln!(text, "  {line}");
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "  hint: {hint}");
        }
        text
    }
}

/// The name among `known` that was most likely meant, if one differs in few letters.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = known.into_iter().map(|name| (distance(typed, name), name));
    distances
        .filter(|(distance, name)| *distance <= name.len().max(typed.len().min(64)) / 3)
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein's distance without regard to capitals; of long texts that to their begin.
fn distance(a: &str, b: &str) -> usize {
    let letters = |text: &str| text.chars().take(64).map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != to);
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
    fn a_diagnostic_points() {
        let mut files = Files::new();
        let file = files.add("a.ns", "cluster {\n\town = a:70000;\n}\n", None);
        let place = Place { file, line: 2, column: 8, length: 7 };
        let error = Diagnostic::error(place, "no port").hint("take another");
        assert_eq!(
            error.text(&files),
            "error: a.ns:2:8: no port\n     own = a:70000;\n           ^^^^^^^\n  hint: take another\n"
        );
    }

    #[test]
    fn of_a_long_line_what_is_near_is_shown() {
        let mut files = Files::new();
        let file = files.add("a.ns", &format!("{}x{}", "a".repeat(5_000), "b".repeat(5_000)), None);
        let lines = Diagnostic::error(Place { file, line: 1, column: 5_001, length: 5_001 }, "long").pointed(&files);
        assert_eq!(lines[0], format!("  {}x{}", "a".repeat(40), "b".repeat(55)));
        assert_eq!(lines[1], format!("  {}{}", " ".repeat(40), "^".repeat(56)));
    }

    #[test]
    fn messages_are_not_as_long_as_what_they_repeat() {
        let error = Diagnostic::error(Place::default(), "é".repeat(1_000)).hint("x".repeat(1_000));
        assert_eq!(error.message, "é".repeat(400) + "...");
        assert_eq!(error.hint, Some("x".repeat(400) + "..."));
    }

    #[test]
    fn what_was_meant_is_near() {
        let known = ["cluster", "parallel", "serial"];
        assert_eq!(nearest("clustr", known), Some("cluster"));
        assert_eq!(nearest("Paralel", known), Some("parallel"));
        assert_eq!(nearest("test", known), None);
        assert_eq!((nearest("d", ["a"]), nearest("prt", ["port"])), (None, Some("port")));
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }
}
