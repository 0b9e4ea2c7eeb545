//! Every citation of a definition, such as "methods A.3", has a heading in `docs/methods`.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Extensions of the files that cite definitions.
const CITING: [&str; 9] = ["rs", "py", "sh", "md", "toml", "js", "proto", "spec", "txt"];
/// The fewest citations that a walk over the whole repository finds.
const LEAST_CITATIONS: usize = 500;

/// The number of a definition: a section's letter, and a part for each level below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Number {
    section: char,
    parts: Vec<u32>,
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.section)?;
        self.parts.iter().try_for_each(|part| write!(f, ".{part}"))
    }
}

impl Number {
    /// Returns the numbers from `self` to `last`, or these two alone if they do not share a parent.
    fn range(self, last: Number) -> Vec<Number> {
        match (self.parts.split_last(), last.parts.split_last()) {
            (Some((&from, above)), Some((&to, others)))
                if self.section == last.section && above == others && from < to =>
            {
                (from..=to).map(|part| self.sibling(part)).collect()
            }
            _ => vec![self, last],
        }
    }

    /// Returns the number with another last part.
    fn sibling(&self, part: u32) -> Number {
        let mut parts = self.parts.clone();
        parts.pop();
        parts.push(part);
        Number { section: self.section, parts }
    }
}

/// A citation, which may name several numbers.
#[derive(Debug, PartialEq, Eq)]
struct Citation {
    /// The line of the word "methods", counted from 1.
    line: usize,
    numbers: Vec<Number>,
}

/// Splits `text` behind the digits that it begins with.
fn digits(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Tells whether `text` continues a word.
fn goes_on(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Splits `text` behind the number that it begins with. Words and placeholders are no numbers.
fn number(text: &str) -> Option<(Number, &str)> {
    let section = text.chars().next().filter(char::is_ascii_uppercase)?;
    let mut rest = &text[1..];
    let mut parts = Vec::new();
    while let Some((part, after)) = rest.strip_prefix('.').and_then(digits) {
        parts.push(part);
        rest = after;
    }
    let word = goes_on(rest) || rest.strip_prefix('.').is_some_and(goes_on);
    (!word).then_some((Number { section, parts }, rest))
}

/// Skips blanks, or the end of the line and the marks that continue a comment on the next line.
fn after_blanks(text: &str) -> &str {
    let blank = [' ', '\t'];
    let rest = text.trim_start_matches(blank);
    match rest.strip_prefix('\n') {
        Some(next) => next.trim_start_matches(blank).trim_start_matches(['/', '!', '#', '*']).trim_start_matches(blank),
        None => rest,
    }
}

/// Skips the word that `text` begins with, and the blanks after it.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    rest.starts_with([' ', '\t', '\n']).then(|| after_blanks(rest))
}

/// Reads the end of a range that began with `first`: "-10", "-A.9", " to I.3".
fn range_end<'a>(first: &Number, text: &'a str) -> Option<(Number, &'a str)> {
    match text.strip_prefix('-') {
        Some(rest) => number(rest).or_else(|| digits(rest).map(|(part, rest)| (first.sibling(part), rest))),
        None => number(after_word(after_blanks(text), "to")?),
    }
    .filter(|(last, _)| !last.parts.is_empty() && !first.parts.is_empty())
}

/// Reads the next number of a list: ", C.4", "; C.4", " and C.9", ", and C.9". A letter alone ends the list.
fn next_in_list(text: &str) -> Option<(Number, &str)> {
    let text = after_blanks(text);
    let rest = text.strip_prefix([',', ';']).map_or(text, after_blanks);
    let rest = after_word(rest, "and").or_else(|| after_word(rest, "or")).unwrap_or(rest);
    let listed = rest.len() < text.len();
    number(rest).filter(|(number, _)| listed && !number.parts.is_empty())
}

/// Reads the numbers after the word "methods".
fn numbers(text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let mut next = number(text);
    while let Some((first, rest)) = next {
        let (all, rest) = match range_end(&first, rest) {
            Some((last, rest)) => (first.range(last), rest),
            None => (vec![first], rest),
        };
        found.extend(all);
        next = next_in_list(rest);
    }
    found
}

/// Finds the citations in `text`.
fn citations(text: &str) -> Vec<Citation> {
    let mut found = Vec::new();
    for (at, word) in text.match_indices("ethods") {
        let before = &text[..at];
        let first = before.ends_with(['m', 'M']);
        let in_word = before.chars().rev().nth(1).is_some_and(char::is_alphanumeric);
        if !first || in_word {
            continue;
        }
        let numbers = after_word(&text[at..], word).map_or_else(Vec::new, numbers);
        if !numbers.is_empty() {
            found.push(Citation { line: 1 + before.matches('\n').count(), numbers });
        }
    }
    found
}

/// Finds the numbers that a page names without the word "methods", except letters alone.
fn references(text: &str) -> Vec<Citation> {
    let mut found = Vec::new();
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        let starts = letter.is_ascii_uppercase() && !before.is_alphanumeric();
        before = letter;
        if let Some((number, _)) = number(&text[at..]).filter(|(number, _)| starts && !number.parts.is_empty()) {
            found.push(Citation { line: 1 + text[..at].matches('\n').count(), numbers: vec![number] });
        }
    }
    found
}

/// Describes each number of `found` that has no heading, with file and line.
fn unresolved(file: &str, found: &[Citation], headings: &BTreeSet<Number>) -> Vec<String> {
    let lines = found.iter().flat_map(|citation| citation.numbers.iter().map(|number| (citation.line, number)));
    lines
        .filter(|(_, number)| !headings.contains(number))
        .map(|(line, number)| format!("{file}:{line}: methods {number} has no heading in docs/methods"))
        .collect()
}

/// Collects the numbered headings of a page. Each needs a title and the level of its number, and occurs once.
fn headings(page: &str, into: &mut BTreeSet<Number>) {
    for line in page.lines().filter(|line| line.starts_with('#')) {
        let (found, title) = match number(line.trim_start_matches('#').trim_start()) {
            Some((number, title)) => (number, title.trim_start_matches('.').trim()),
            None => continue,
        };
        assert!(!title.is_empty(), "{line:?} has no title");
        assert_eq!(line.find(' '), Some(1 + found.parts.len()), "{line:?} has another level");
        assert!(into.insert(found), "{line:?} occurs twice");
    }
}

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of the methods.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root().join("docs/methods"), &mut found);
    found
}

/// The numbers that the pages define.
fn defined() -> BTreeSet<Number> {
    let mut found = BTreeSet::new();
    for page in pages() {
        headings(&fs::read_to_string(page).unwrap(), &mut found);
    }
    found
}

/// Collects the files below `folder` that may cite, ordered by name.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            if entry.file_name() != ".git" && entry.file_name() != "target" {
                files(&path, into);
            }
        } else if kind.is_file() && path.extension().is_some_and(|kind| CITING.iter().any(|citing| kind == *citing)) {
            into.push(path);
        }
    }
}

#[test]
fn every_citation_has_a_heading() {
    let headings = defined();
    let root = root();
    let mut all = Vec::new();
    files(&root, &mut all);
    let (mut seen, mut wrong) = (0, Vec::new());
    for path in all {
        let text = fs::read(&path).unwrap();
        let found = citations(&String::from_utf8_lossy(&text));
        seen += found.len();
        wrong.extend(unresolved(&path.strip_prefix(&root).unwrap().display().to_string(), &found, &headings));
    }
    assert!(wrong.is_empty(), "{} of {seen} citations:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen >= LEAST_CITATIONS, "only {seen} citations were found");
}

#[test]
fn pages_refer_to_headings() {
    let headings = defined();
    let mut wrong = Vec::new();
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        wrong.extend(unresolved(&path.display().to_string(), &references(&text), &headings));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_index_names_every_section() {
    let root = root();
    let index = fs::read_to_string(root.join("docs/methods/README.md")).unwrap();
    for section in 'A'..='M' {
        let line = index.lines().find(|line| line.starts_with(&format!("| [{section}. "))).unwrap();
        let file = line.split(['(', ')']).nth(1).unwrap();
        let page = fs::read_to_string(root.join("docs/methods").join(file)).unwrap();
        assert!(page.starts_with(&format!("# {section}. ")), "{file} is not section {section}");
    }
}

#[test]
fn a_made_up_citation_fails() {
    // In pieces, so that the walk over this file does not meet it.
    let text = ["//! One (meth", "ods A.1),\n//! two, meth", "ods\n//! A.99, B.1 and N.1)."].concat();
    let found = unresolved("some.rs", &citations(&text), &defined());
    let heading = "has no heading in docs/methods";
    let wrong = [["some.rs:2: meth", "ods A.99 "], ["some.rs:2: meth", "ods N.1 "]];
    assert_eq!(found, wrong.map(|pieces| pieces.concat() + heading));
}

#[test]
fn lists_and_ranges_are_read() {
    let read = |text: &str| {
        let all: Vec<String> = citations(text).iter().flat_map(|one| &one.numbers).map(Number::to_string).collect();
        all.join(" ")
    };
    assert_eq!(read("methods A.13.1."), "A.13.1");
    assert_eq!(read("(methods C.2, C.4)"), "C.2 C.4");
    assert_eq!(read("Methods B.5 and C.9: what"), "B.5 C.9");
    assert_eq!(read("methods C, M.1 and M.4 have it"), "C M.1 M.4");
    assert_eq!(read("methods C) or A.3"), "C");
    assert_eq!(read("methods A.5.9-10, M.3"), "A.5.9 A.5.10 M.3");
    assert_eq!(read("methods F.2-F.5"), "F.2 F.3 F.4 F.5");
    assert_eq!(read("methods I.1 to I.3; Frost"), "I.1 I.2 I.3");
    assert_eq!(read("    /// (methods A.2,\n    /// A.3)"), "A.2 A.3");
    assert_eq!(read("methods L.3, 5 %"), "L.3");
    assert_eq!(read("methods X.n, methods Are, methods 3, mymethods A.1"), "");
}
