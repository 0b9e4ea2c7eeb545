//! `docs/evidence/reproductions/caceres-1992.md`: the multiplexing study's figures as our runs have them, beside what was published.

use std::fmt::Write as _;

use crate::check::{Row, number};
use crate::figure::{Figure, Line};
use crate::multiplexing::{Curve, Lines, Policy, Study};

fn of_curve(name: &str, curve: &Curve) -> Line {
    let points = curve.iter().map(|(x, mean)| (*x, mean.mean, Some((mean.low, mean.high)))).collect();
    Line { name: name.to_owned(), points }
}

fn of_lines(lines: &Lines) -> Vec<Line> {
    let line = |(name, points): &(String, Vec<(f64, f64)>)| Line {
        name: name.clone(),
        points: points.iter().map(|(x, y)| (*x, *y, None)).collect(),
    };
    lines.iter().map(line).collect()
}

fn by_policy(curves: &[Curve]) -> Vec<Line> {
    Policy::ALL.into_iter().zip(curves).map(|(policy, curve)| of_curve(policy.name(), curve)).collect()
}

/// The figures and what the study says of them.
fn figures(study: &Study) -> Vec<(Figure, &'static str)> {
    let load = study.load.iter().map(|(name, curve)| of_curve(name, curve)).collect();
    let mut queues = by_policy(&study.queue[0]);
    for line in by_policy(&study.queue[1]) {
        queues.push(Line { name: format!("{}, 16 packets", line.name), ..line });
    }
    let figure = |file, title, published, x, y, lines| (Figure { file, title, x, y, lines }, published);
    vec![
        figure(
            "load",
            "Figure 4.2: utilisation by conversations of one type",
            "three or four FTP conversations fill the link, NNTP and SMTP need more, TELNET hardly loads it",
            "conversations",
            "utilisation",
            load,
        ),
        figure(
            "load-3mbit",
            "FTP over links of 3 Mbit/s",
            "seven or eight FTP conversations fill it",
            "conversations",
            "utilisation",
            vec![of_curve("FTP", &study.fast)],
        ),
        figure(
            "telnet",
            "Figure 4.3: round trips of TELNET beside FTP, over 45 ms",
            "about 1 with circuits per conversation and per type; grows steeply with one circuit",
            "FTP conversations",
            "round trip / 45 ms",
            by_policy(&study.telnet),
        ),
        figure(
            "ftp",
            "Figure 4.4: throughput of an FTP conversation over the link's rate",
            "alike under the three policies, about 1/n from saturation on",
            "FTP conversations",
            "share of the link",
            by_policy(&study.ftp),
        ),
        figure(
            "utilisation",
            "Utilisation with one TELNET conversation",
            "alike under the three policies",
            "FTP conversations",
            "utilisation",
            by_policy(&study.utilisation),
        ),
        figure(
            "shares-own",
            "Figure 4.5: five FTP conversations with circuits of their own",
            "about 20 % each, close together",
            "s",
            "share of the link",
            of_lines(&study.shares[0]),
        ),
        figure(
            "shares-type",
            "Figure 4.6: five FTP conversations in one circuit",
            "about 20 % each in the mean; winners and losers that change places",
            "s",
            "share of the link",
            of_lines(&study.shares[1]),
        ),
        figure(
            "queue",
            "Figure 4.7: the queue in round-trip windows (8,437.5 bytes)",
            "per type and per destination it grows by about one window for each FTP conversation, per conversation five times as fast with windows of 128 packets, twice as fast with 16",
            "FTP conversations",
            "queue / round-trip window",
            queues,
        ),
        figure(
            "windows-own",
            "Figure 4.8: windows with circuits per conversation",
            "they climb to 128 packets and stay there",
            "s",
            "packets",
            of_lines(&study.windows[0]),
        ),
        figure(
            "windows-type",
            "Figure 4.9: windows in one circuit",
            "they never get far, and fall to one packet again and again, though nothing is lost",
            "s",
            "packets",
            of_lines(&study.windows[1]),
        ),
        figure(
            "late",
            "Figures 4.10, 4.11: queue, window, and how much later than expected packets are, each over its largest value",
            "packets are late, the queue is long and windows fall at the same times",
            "s",
            "",
            of_lines(&study.coincidence),
        ),
    ]
}

const HEAD: &str = "# The multiplexing study of Cáceres (1992), run again

Written by `make validate`; do not edit. R. Cáceres, *Multiplexing Traffic at the Entrance to Wide-Area Networks*, Ph.D. dissertation, University of California, Berkeley, 1992,
chapters 3 and 4: one link of 1.5 Mbit/s between routers, 45 ms there and back, packets of 512 bytes in cells of 48, TCP with slow start and windows of 128 packets, infinite buffers, 180 s. His
figures are pictures without axes that could be read exactly: what stands beside ours is what his text says of them. [cells.md](../../guide/cells.md) says what is simulated; a specification
file of one such run is `examples/multiplexing.spec`.

Sources draw from the summaries of tcplib's tables that come with Flowloom (methods G.2). Points are means over seeds, with 95 % intervals by Student's t. (The source takes one standard deviation
for 95 % of the values; it is 68 %.)

**What had to be found out, because the text does not say it**

- *An item begins with a window of one packet*: a sender that had nothing to send and nothing under way starts again. With windows that stay open over the question and the
  answer between items one FTP conversation uses 0.72 of the link instead of 0.485, and two fill it. With this rule throughput, utilisation, queue and packets of figure 3.9 come out within 10 %.
- *A packet is late after the mean round-trip time and two mean deviations*, as Jacobson's paper of 1988 first had it, without a least timeout: so queues alone cause timeouts.
- *Acknowledgements ride on data* where there are some: the published counts of packets at host and router are equal.
- *The queue is counted in whole cells*: of a packet of 512 bytes nine and a part of a tenth wait behind the first; published is a longest queue of 9.
- *An empty network's round trip* of a packet of 512 bytes is 54.472 ms in unpadded cells (54.557 padded; 47.048 of one cell). Without padding the last cell, of 32 bytes, comes to the switch while
  that sends the tenth, and waits 0.085 ms; 54.387 would have it pass. The published 0.047 and 0.054 fit.
- The published utilisation of 0.485 is not 790,731/1.5e6 (0.527): cells there count as full.

## Chapter 2

The tables and distributions of chapter 2 (what conversations of FTP, NNTP, SMTP, TELNET and RLOGIN are made of) come from a capture: `flowloom describe CAPTURE --conversations` tells them with its
definitions, and sets the published shares beside what it finds: 60 to 90 % of bulk conversations below 10 kB, conversations above 1 MB with 40 to 50 % of the bytes, more than 80 % of interactive
conversations below 1,000 packets and 10 kB, half of them shorter than 200 s, more than 80 % of interactive packets with less than 10 bytes, 36 % of FTP conversations below a ratio of 10:1 between directions
and 67 % of TELNET's above it ([describe.md](../../guide/describe.md)). The captures of 1989 and 1990 are not to be had; what is left of them are tcplib's tables.
";

/// The page and its pictures: names of files and what is in them.
pub fn files(study: &Study, rows: &[Row]) -> Vec<(String, String)> {
    let mut page = HEAD.to_owned();
    let _ = writeln!(
        page,
        "\n## What must hold\n\nBounds are met by the nearer end of the 95 % interval where a row says so.\n"
    );
    page.push_str("| what | where | published | ours | tolerance | |\n|---|---|--:|--:|--:|---|\n");
    for row in rows {
        let (expected, tolerance) = (row.expected.value(), row.expected.tolerance());
        let ours = number(row.ours);
        let _ =
            writeln!(page, "| {} | {} | {expected} | {ours} | {tolerance} | {} |", row.name, row.source, row.verdict());
    }
    let _ = writeln!(page, "\n## Figures\n\n{} seeds for each point.", study.seeds);
    let mut files = Vec::new();
    for (figure, published) in figures(study) {
        let name = format!("caceres-1992-{}.svg", figure.file);
        let title = figure.title;
        let _ = writeln!(page, "\n### {title}\n\nPublished: {published}.\n\n![{title}]({name})");
        files.push((name, figure.drawn()));
    }
    files.push(("caceres-1992.md".to_owned(), page));
    files
}
