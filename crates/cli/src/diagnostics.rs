//! Errors, warnings and notes on standard error: the only place that lays them out, whether they are about options, an experiment or a
//! script of the lab.
//!
//! ```text
//! error: campus.toml:9:8: unknown queue kind "fqcodel"
//!     queue = { kind = "fqcodel" }
//!                      ^^^^^^^^^
//!   known: drop-tail, codel, fq-codel
//!   hint: did you mean "fq-codel"?
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use flowloom::lab::script::diagnostic::{Diagnostic, Severity};
use flowloom::lab::script::place::Files;
use flowloom::report::text::COLOURS;
use flowloom::report::words::acts;
use flowloom::{Error, Place};

use crate::terminal;

/// One thing to say.
struct Message<'a> {
    severity: Severity,
    /// FILE:LINE:COLUMN, as far as it is known.
    place: Option<String>,
    cause: &'a str,
    pointed: Option<Pointed<'a>>,
    notes: Vec<String>,
    hint: Option<&'a str>,
}

/// A line of a text, and what in it is meant.
struct Pointed<'a> {
    line: &'a str,
    /// The first character, from 1 on.
    column: usize,
    /// How many characters.
    length: usize,
}

/// Characters of a line that are shown.
const SHOWN: usize = 96;
/// Of them, those before what is pointed at, if the line is longer.
const BEFORE: usize = 40;
/// Longest file whose lines are shown, in bytes.
const LONGEST: u64 = 8 << 20;

/// Prints an error and all others that were found with it.
pub fn error(error: &Error) {
    let mut texts = BTreeMap::new();
    let mut out = String::new();
    for one in error.each() {
        let text = match &one.place {
            Some(place) => texts.entry(place.file.clone()).or_insert_with(|| text_of(&place.file)).as_deref(),
            None => None,
        };
        let message = Message {
            severity: Severity::Error,
            place: one.place.as_ref().map(ToString::to_string),
            cause: &one.cause,
            pointed: one.place.as_ref().zip(text).and_then(|(place, text)| pointed(place, text)),
            notes: one.notes.clone(),
            hint: one.hint.as_deref(),
        };
        out += &laid_out(&message, colour());
    }
    tell_as_is!("{out}");
}

/// Prints what was found in a script.
pub fn script(files: &Files, found: &Diagnostic, more: Option<String>) {
    let place = found.place;
    let included = found.included(files).into_iter().map(|at| format!("included at {}", files.locate(at)));
    let message = Message {
        severity: found.severity,
        place: Some(files.locate(place)),
        cause: &found.message,
        pointed: Some(Pointed {
            line: files.line(place),
            column: place.column as usize,
            length: place.length as usize,
        }),
        notes: found.notes.iter().cloned().chain(included).chain(more).collect(),
        hint: found.hint.as_deref(),
    };
    tell_as_is!("{}", laid_out(&message, colour()));
}

/// Whether standard error is coloured.
fn colour() -> bool {
    terminal::colour(&std::io::stderr())
}

/// What is in a file, if it is a text that can be read.
fn text_of(file: &str) -> Option<String> {
    let about = fs::metadata(file).ok()?;
    (about.is_file() && about.len() <= LONGEST).then(|| fs::read_to_string(file).ok()).flatten()
}

/// What is meant by a place without a length: the text in quotes, the word or the character that begins there.
fn pointed<'a>(place: &Place, text: &'a str) -> Option<Pointed<'a>> {
    let (line, column) = (place.line?, place.column?);
    let line = text.split('\n').nth(line.checked_sub(1)?)?.trim_end_matches('\r');
    let Some((begin, first)) = line.char_indices().nth(column.checked_sub(1)?) else {
        // What is missing is missing at the end of the line.
        return (column == line.chars().count() + 1).then_some(Pointed { line, column, length: 1 });
    };
    let rest = &line[begin + first.len_utf8()..];
    let behind = match first {
        '"' | '\'' => rest.find(first).map_or(0, |end| rest[..end].chars().count() + 1),
        _ if is_of_word(first) => rest.chars().take_while(|c| is_of_word(*c)).count(),
        _ => 0,
    };
    Some(Pointed { line, column, length: 1 + behind })
}

/// A message without line ends and what else would act on the terminal, which may have come with the name of a file or a word in
/// one.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if acts(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

/// Lines without what else would act on the terminal; where they are `coloured`, with their colours.
pub fn lines(text: &str, coloured: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = if coloured { colour_code(rest) } else { None };
        let taken = match colour {
            Some(length) => {
                shown.push_str(&rest[..length]);
                length
            }
            None if acts(c) && !['\n', '\t'].contains(&c) => {
                shown.extend(c.escape_unicode());
                c.len_utf8()
            }
            None => {
                shown.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    shown
}

/// The length of the sequence at the beginning of `text` that sets a colour which answers have, or ends it, if there is one.
fn colour_code(text: &str) -> Option<usize> {
    let (code, _) = text.strip_prefix("\x1b[")?.split_once('m')?;
    (code == "0" || COLOURS.contains(&code)).then(|| "\x1b[m".len() + code.len())
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || "-_.".contains(c)
}

/// The lines of a message, each with its end.
fn laid_out(message: &Message<'_>, coloured: bool) -> String {
    let paint = |code: &str, text: &str| match coloured {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    };
    let word = message.severity.word();
    let code = match message.severity {
        Severity::Error => "1;31",
        Severity::Warning => "1;33",
        Severity::Note => "1;36",
    };
    let mut out = format!("{}: ", paint(code, word));
    if let Some(place) = &message.place {
        let _ = write!(out, "{}: ", paint("1", &one_line(place)));
    }
    let _ = writeln!(out, "{}", one_line(message.cause));
    if let Some(Pointed { line, column, length }) = &message.pointed {
        let before = column.saturating_sub(1);
        let from = if *column <= SHOWN { 0 } else { before.saturating_sub(BEFORE) };
        // A tab or another control character is as wide as the pointer below it.
        let shown = line.chars().skip(from).take(SHOWN).map(|c| if c.is_control() { ' ' } else { c });
        let shown: String = shown.collect();
        let width = (*length).min(SHOWN.saturating_sub(before - from)).max(1);
        let _ = writeln!(out, "    {}", shown.trim_end());
        let _ = writeln!(out, "    {}{}", " ".repeat(before - from), paint(code, &"^".repeat(width)));
    }
    for note in &message.notes {
        let _ = writeln!(out, "  {}", one_line(note));
    }
    if let Some(hint) = message.hint {
        let _ = writeln!(out, "  {}: {}", paint("1;36", "hint"), one_line(hint));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_line(line: &str, column: usize, length: usize) -> String {
        let pointed = Some(Pointed { line, column, length });
        let (place, notes) = (Some("a.ns:2:8".to_owned()), vec!["known: 1".to_owned()]);
        let hint = Some("take another");
        laid_out(&Message { severity: Severity::Error, place, cause: "no port", pointed, notes, hint }, false)
    }

    #[test]
    fn a_message_points_at_its_line() {
        assert_eq!(
            of_line("\town = a:70000;", 8, 7),
            "error: a.ns:2:8: no port\n     own = a:70000;\n           ^^^^^^^\n  known: 1\n  hint: take another\n"
        );
    }

    #[test]
    fn long_lines_show_what_is_near() {
        let line = format!("{}x{}", "a".repeat(5_000), "b".repeat(5_000));
        let text = of_line(&line, 5_001, 5_001);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], format!("    {}x{}", "a".repeat(40), "b".repeat(55)));
        assert_eq!(lines[2], format!("    {}{}", " ".repeat(40), "^".repeat(56)));
    }

    #[test]
    fn a_place_without_a_length_is_a_word() {
        let at = |column| {
            let place = Place { file: "x".to_owned(), line: Some(2), column: Some(column) };
            pointed(&place, "a = 1\nkind = \"fqcodel\", [x]\r\n").map(|pointed| (pointed.column, pointed.length))
        };
        assert_eq!([at(1), at(8), at(19), at(99)], [Some((1, 4)), Some((8, 9)), Some((19, 1)), None]);
        assert_eq!(at(22), Some((22, 1)), "the end of the line");
    }

    #[test]
    fn colours_of_answers_stay() {
        for code in COLOURS {
            let text = format!("a \x1b[{code}mb\x1b[0m\n");
            assert_eq!(lines(&text, true), text);
            assert_eq!(lines(&text, false), format!("a \\u{{1b}}[{code}mb\\u{{1b}}[0m\n"));
        }
        assert_eq!(lines("\x1b[2J\x1b[", true), "\\u{1b}[2J\\u{1b}[");
    }

    #[test]
    fn colours_are_only_on_terminals() {
        let message = |coloured| {
            let message = Message {
                severity: Severity::Warning,
                place: None,
                cause: "slow",
                pointed: None,
                notes: Vec::new(),
                hint: None,
            };
            laid_out(&message, coloured)
        };
        assert_eq!(message(false), "warning: slow\n");
        assert_eq!(message(true), "\x1b[1;33mwarning\x1b[0m: slow\n");
    }
}
