//! The rows as a page: `docs/validation.md`.

use std::fmt::Write as _;

use crate::check::{Row, Verdict, number};

/// What stands above the tables.
const HEAD: &str = "# Validation

Written by `make validate`; do not edit. Each row sets a published value beside what Flowloom makes of it. It *holds* if ours is
within the tolerance, which is a share of the published value, an amount (+-), or nothing at all (exact, bound). It *departs* if
ours is known to be outside, with the reason under the table; `make validate` fails if a row is outside without one, or holds
with one.

Scripts are TCP transcripts in packetdrill's language, written for Flowloom from the passages named, in
`crates/validate/transcripts`: 1 if every packet and every assertion is as the script has it.
";

/// The page.
pub fn page(rows: &[Row]) -> String {
    let mut page = HEAD.to_owned();
    let count = |verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
    let (holds, departs, fails) = (count(Verdict::Holds), count(Verdict::Departs), count(Verdict::Fails));
    let _ = writeln!(page, "\n{} rows: {holds} hold, {departs} depart, {fails} fail.", rows.len());
    let mut groups: Vec<&str> = Vec::new();
    for row in rows {
        if !groups.contains(&row.group) {
            groups.push(row.group);
        }
    }
    for group in groups {
        let _ = writeln!(
            page,
            "\n## {group}\n\n| what | source | published | ours | tolerance | |\n|---|---|--:|--:|--:|---|"
        );
        let members = || rows.iter().filter(|row| row.group == group);
        for row in members() {
            let (expected, tolerance) = (row.expected.value(), row.expected.tolerance());
            let (name, source) = (cell(&row.name), cell(&row.source));
            let _ = writeln!(
                page,
                "| {name} | {source} | {expected} | {} | {tolerance} | {} |",
                number(row.ours),
                row.verdict()
            );
        }
        let reasons: Vec<_> = members().filter_map(|row| row.departs.as_ref().map(|reason| (row, reason))).collect();
        if !reasons.is_empty() {
            page.push('\n');
        }
        for (row, reason) in reasons {
            let _ = writeln!(page, "- {}: {reason}.", row.name);
        }
    }
    page
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
