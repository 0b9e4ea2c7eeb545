//! The rows as pages: `docs/evidence/validation.md` and `docs/evidence/references.md`.

use std::fmt::Write as _;

use crate::check::{Row, Verdict, number};

/// What stands above the tables of checks of the simulator.
const HEAD: &str = "# Validation

Written by `make validate`; do not edit. Each row sets a published value beside what Flowloom makes of it. It *holds* if ours is
within the tolerance, which is a share of the published value, an amount (+-), or nothing at all (exact, bound). It *departs* if
ours is known to be outside, with the reason under the table; `make validate` fails if a row is outside without one, or holds
with one.

Scripts are TCP transcripts in packetdrill's language, written for Flowloom from the passages named, in
`crates/validate/transcripts`: 1 if every packet and every assertion is as the script has it.
";

/// What stands above those of the reference workloads.
const REFERENCES: &str = "# Reference workloads

Written by `make references` (and `make validate`); do not edit. The workloads `campus-2008` and `enterprise-2006` are synthetic.
Their connections are drawn from laws that were fitted to the published statistics of two traces (Aikat 2010): UNC's link to the
Internet on 10 January 2008, 14 to 15 h, and IBM's on 10 October 2006, from 14:20. No vector of either trace is in them.
`docs/reference/models.md` describes the laws, `models/src/generate/reference/trace.rs` has their constants.

The tables have every row of methods A.14, and below them rows of A.2, B.3, C.4 and C.9. Sizes and durations of connections are those of a
million drawn connections with all their exchanges (seed 1). Means of sizes, deviations, bytes, loads, and the quantiles of sizes, waits and epochs
are those of the laws, by sums and integrals, because samples miss heavy tails (methods E.3). Bytes and loads are on the link (methods A.11: 54 bytes of headers, acknowledgements,
handshakes). KB and GB are 1,000 and 10^9 bytes; windows are in KB of 1,024 bytes.

Durations are times from the SYN to the last byte on a network that loses nothing and is never full: a round trip for the handshake
and for each exchange, one more for each further flight of slow start (4,380 bytes first, half as much again in each flight, up to the
window), and the waits of 500 ms and more. A connection is active in a second if it is open at any moment of it (presence,
methods C.4); these rows are of a twentieth of the connections, with an hour before the hour.

A row *holds* if ours is within the tolerance: 5 % for quantiles, shares, round-trip times and active connections, 10 % for other means, 2 % for loads and
numbers of exchanges. It *departs* where the published numbers cannot all be had, with the reason under the table.

**Precedence** (methods A.14): quantiles, numbers of exchanges, loads of both directions, the concurrent share, means.

**Where the published numbers contradict each other**

- Numbers of epochs: 13 million exchanges of 4,568,847 connections are 2.85 epochs; the mean is given as 3. Ours lies between.
- Concurrent connections: 1.8 % of the connections are stated, and 115,045 of 4,683,892, which is 2.5 %. Ours are the number.
- Bytes of IBM: the classes have 365 GB, 404 + 366 Mbit/s are 347 GB. Ours are the load.
- Active connections of IBM: 78,800 before and 68,000 after 32 minutes are 73,800 in the mean; 72,000 is given.
- The thirty values of UNC's DA model have a mean of 66.4 ms; the source says 67.
- Arrivals: a deviation of 346.07 connections in 10 ms, and of 79.21 for a Poisson process of the same rate, is printed. A Poisson
  process has a deviation of 79.21 in bins of 6,274 connections, and ours has 346 in such bins. Neither number is of one of the two
  traces: they are of another trace of UNC's link (Hernandez-Campos 2006).

**What is chosen, because A.14 does not have it**: values below the medians of sizes and waits; the largest ADU (250 MB) and the
longest wait (an hour; 20 minutes in concurrent connections); numbers of ADUs of concurrent connections within their bytes; which
share of the waits and of the sizes connections with few and with many epochs have, within the published sizes and durations; which of
the smaller windows those have that have none of 64 KB, of IBM also how many are below 8 KB; segments (10 % of the connections 536
bytes: TCP evaluation suite); on which side of the link initiators are, within the two loads; that the monitor is in the middle
of the path, so that a wait contains half of the round-trip time; arrivals of IBM (as of UNC), and that what falls at 32 minutes are
the starts; and that all else is independent.
";

/// `docs/evidence/validation.md`: checks of the simulator.
pub fn page(rows: &[Row]) -> String {
    tables(HEAD, rows, "| what | source | published | ours | tolerance | |\n|---|---|--:|--:|--:|---|", |row| {
        let (expected, tolerance) = (row.expected.value(), row.expected.tolerance());
        let (name, source) = (cell(&row.name), cell(&row.source));
        format!("| {name} | {source} | {expected} | {} | {tolerance} | {} |", number(row.ours), row.verdict())
    })
}

/// `docs/evidence/references.md`: published statistics of traces beside those of the workloads made after them.
pub fn references(rows: &[Row]) -> String {
    let heads = "| what | source | published | obtained | difference | tolerance | |\n|---|---|--:|--:|--:|--:|---|";
    tables(REFERENCES, rows, heads, |row| {
        let (expected, tolerance) = (row.expected.value(), row.expected.tolerance());
        let difference = row.expected.difference(row.ours).unwrap_or_default();
        let (name, source) = (cell(&row.name), cell(&row.source));
        format!(
            "| {name} | {source} | {expected} | {} | {difference} | {tolerance} | {} |",
            number(row.ours),
            row.verdict()
        )
    })
}

/// A page of a table for each group, below `head`.
fn tables(head: &str, rows: &[Row], heads: &str, line: impl Fn(&Row) -> String) -> String {
    let mut page = head.to_owned();
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
        let _ = writeln!(page, "\n## {group}\n\n{heads}");
        let members = || rows.iter().filter(|row| row.group == group);
        members().for_each(|row| _ = writeln!(page, "{}", line(row)));
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
