//! Counts and names in words, as terminal and report write them.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// The name of the class of datagrams of the workload.
pub const DATAGRAMS: &str = "datagrams";

/// What stands between names in a list: some have commas in them, as those of variants of several axes.
pub(crate) fn separator(names: &[&str]) -> &'static str {
    if names.iter().any(|name| name.contains(',')) { "; " } else { ", " }
}

/// A count with its thousands set apart: `82,582`.
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 flow`, `2 flows`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// Connections by how their ends took turns; `totals_only` are those of flow records, which do not say it.
pub fn by_pattern(sequential: u64, concurrent: u64, totals_only: u64) -> String {
    let of_pattern = [(sequential, "sequential"), (concurrent, "concurrent")];
    let of_pattern = of_pattern.into_iter().filter(|(count, _)| totals_only == 0 || *count > 0);
    let totals_only = (totals_only > 0).then_some((totals_only, "known by totals only"));
    let kinds = of_pattern.chain(totals_only).map(|(count, name)| format!("{} {name}", thousands(count)));
    kinds.collect::<Vec<_>>().join(", ")
}

/// Whether a character acts on a terminal or on the direction of writing, and does not only stand there.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// `text` in which `write` writes [acting](acts) characters out, but for ends of lines and tabs.
pub fn written_out(text: &str, write: impl Fn(char) -> String) -> Cow<'_, str> {
    let is_written_out = |c: char| acts(c) && c != '\n' && c != '\t';
    if !text.contains(is_written_out) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_written_out(c) { out.push_str(&write(c)) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// `text` in one line in which [acting](acts) characters are written out, for files that people look at in a terminal.
pub fn in_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if acts(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect())
}

/// Columns that `text` takes on a terminal, where it sets no colours.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A name in exactly `width` columns: cut off or filled with spaces, [acting](acts) characters written out.
pub fn in_columns(name: &str, width: usize) -> String {
    let name = written_out(name, |c| c.escape_unicode().to_string());
    let mut out = String::new();
    let mut used = 0;
    for c in name.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }) {
        let wide = c.width().unwrap_or(0);
        if used + wide > width {
            break;
        }
        out.push(c);
        used += wide;
    }
    out.extend(std::iter::repeat_n(' ', width - used));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_flow_records_are_not_called_sequential() {
        assert_eq!(by_pattern(0, 2, 0), "0 sequential, 2 concurrent");
        assert_eq!(by_pattern(0, 0, 1_000), "1,000 known by totals only");
        assert_eq!(by_pattern(3, 0, 1), "3 sequential, 1 known by totals only");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(thousands(82_582), "82,582");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000_000), "1,000,000");
    }

    #[test]
    fn names_take_their_columns() {
        assert_eq!(in_columns("ab", 4), "ab  ");
        assert_eq!(in_columns("\u{4e2d}\u{6587}\u{540d}", 5), "\u{4e2d}\u{6587} ");
        assert_eq!(in_columns("a\u{202e}b", 12), "a\\u{202e}b  ");
        assert_eq!(in_columns("e\u{301}e", 3), "e\u{301}e ");
    }
}
