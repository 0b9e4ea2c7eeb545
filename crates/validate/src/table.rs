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

Written by `make references` (and `make validate`); do not edit. The workloads `campus-2008` and `enterprise-2006` are synthetic: connections drawn from
laws that were fitted to the published statistics of two traces (Aikat 2010), UNC's link to the Internet on 10 January 2008, 14 to 15 h, and IBM's on
10 October 2006, from 14:20. No vector of either trace is in them. `docs/reference/models.md` has their parameters, `models/src/generate/reference/trace.rs` the laws.

Quantiles and shares are those of a million connections that were drawn, with all their exchanges (seed 1); means, deviations, bytes and loads are sums and
integrals of the laws, since samples miss heavy tails (methods E.3). A row *holds* if ours is within the tolerance; none of the published numbers lies above a 99 % point. It *departs* where the published numbers
cannot all be had, with the reason under the table. KB and GB are 1,000 and 10^9 bytes.

**Where the published numbers contradict each other**

- Bytes of the classes and load: 300 GB and 471 + 202 Mbit/s are the same (303 GB in an hour) if both are bytes on the link; as payload, four responses of 11 kB alone
  take 201 of the 214 GB of sequential connections. Bytes here are those on the link (methods A.11: with 54 bytes of headers, acknowledgements, handshakes), and epochs and
  responses are a little below their published means. IBM's 365 GB and 404 + 366 Mbit/s (347 GB) are 5 % apart: ours lie between.
- Open connections: by Little's law 33 s and 87 s make 42,900 and 67,300 connections; 45,000 (mean) and 72,200 (median) are published. Ours lie between.
- Waits and durations: if 44 % of all waits for the next request were long, whichever connection they are in, hardly a connection of several epochs would end within 2 s;
  80 % of all do. Waits of one connection are therefore alike: connections are brisk, slow or idle.
- Waits and the length of the trace: a connection of 8,800 epochs of which each sixth waits for long would last longer than the hour in which it was seen. No wait is longer
  than an hour over the number of waits of its connection.
- Arrivals: a standard deviation of 346.07 connections in 10 ms, and of 79.21 for a Poisson process of the same rate, is printed; a Poisson process has a deviation of 79.21
  in bins of 6,274 connections, which at any rate near the published ones are seconds long. Ours has it in such bins. Neither number is of one of the two traces: they are
  of another trace of UNC's link (Hernandez-Campos 2006). Nothing is published of the arrivals at IBM's: the same law was taken.
- The thirty values of UNC's DA model have a mean of 66.4 ms; the source says 67.
- Response times at IBM: 16 % of waits of 500 ms and more leave no room for 10 % of response times above 550 ms.

**What is chosen, because nothing is published**: sizes of requests (but for their mean, which is what is left of the bytes), waits below 500 ms, the lengths of waits above it within
what the times of replays say, numbers of ADUs of concurrent connections within each class, shares of the six published windows, segments (10 % of the connections 536 bytes: TCP evaluation suite), the largest ADU (250 MB),
on which side of the link initiators are where only two loads are known, and that different variables of a connection are independent but for what is said here:
incomplete connections have more epochs, as their bytes say, and waits of one connection are alike.
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
