//! `docs/evidence/reproductions/aikat-2010.md` and its pictures, from the rows alone.

use std::fmt::Write as _;

use super::cells::{CellRow, Network};
use super::claims::{Agreement, Claim, Of};
use super::collect::PERCENTILES;
use super::published::{Section, WORKLOADS, sections};
use super::questions::{Question, questions};
use super::scaling::{self, Scaling};
use crate::figure::{Figure, Line};

/// The scale of the grid, and that of the published replays.
const GRID: f64 = 0.4;
const WHOLE: f64 = 1.0;

const HEAD: &str = "# Aikat 2010

Written by `make reproduce`; do not edit. The study: one workload, replayed with more and less of its structure, with more and less true
round-trip times and windows, over a link without a limit and one of 105 % of the load. The workloads are the synthetic
[campus-2008 and enterprise-2006](../references.md), fitted to what is published of UNC's and IBM's traces.

Sweeps are in `examples/aikat-2010`, numbers of all runs in [cells.csv](aikat-2010/cells.csv). Half an hour of each link is replayed, cut out of
a longer one like a trace (methods B.5), of which the middle 20 minutes count; queues hold 65,000 packets; TCP is that of hosts of the time (profile `bsd-2008`). Intervals are of 95 % over
seeds, by Student's distribution; ratios are of runs with the same seed. What depends on the scale is given as at the published one.

*agrees*: a number is within its tolerance (10 %; 2 % for loads, 5 % for active connections), or its interval has the published one; a ratio is
within the bounds, and its interval leaves out the other side of 1 where they do, or is within them, too, where they are about 1. *cannot tell*: within the bounds, but the interval is
not, or there is one seed. What stands behind *differs* says why, as far as that is known.
";

const OPEN: &str = "
## Open questions

What section 7.1 leaves open, over UNC at 0.4 of its scale unless another is given, with intervals over seeds as above. Part of the question what makes dependence
is asked above: a-b has the sizes and the starts, and no waits.
";

/// The page and its pictures by the names of their files.
pub fn files(rows: &[CellRow], scaling: &[Scaling]) -> Vec<(String, String)> {
    let figures = figures(rows);
    let mut files = vec![("aikat-2010.md".to_owned(), page(rows, scaling, &figures))];
    files.extend(figures.iter().map(|figure| (format!("aikat-2010-{}.svg", figure.file), figure.drawn())));
    files
}

fn page(rows: &[CellRow], scaling: &[Scaling], figures: &[Figure]) -> String {
    let mut page = HEAD.to_owned();
    let sections = sections();
    let all = || sections.iter().flat_map(|section| &section.claims);
    let of = |agreement| all().filter(|claim| judged(claim, rows) == agreement).count();
    let hours: f64 =
        rows.iter().filter_map(|row| row.numbers.get("wall_s")).fold(0.0, |sum, wall| sum + wall) / 3_600.0;
    let _ = writeln!(
        page,
        "\n{} statements: {} agree, {} differ, of {} the seeds cannot tell, {} are not run. {} runs, {:.1} hours of one core.",
        all().count(),
        of(Agreement::Agrees),
        of(Agreement::Differs),
        of(Agreement::CannotTell),
        of(Agreement::NotRun),
        rows.len(),
        hours
    );
    for section in &sections {
        write_section(&mut page, section, rows);
    }
    page.push_str(OPEN);
    for question in questions() {
        write_question(&mut page, &question, rows);
    }
    page.push_str(&scaling::section(scaling));
    if !figures.is_empty() {
        page.push_str("\n## Pictures\n");
    }
    for figure in figures {
        let _ = writeln!(page, "\n![{}](aikat-2010-{}.svg)\n\n{}", figure.title, figure.file, figure.title);
    }
    page
}

fn write_section(page: &mut String, section: &Section, rows: &[CellRow]) {
    let _ = writeln!(page, "\n## {}\n\n{}\n", section.title, section.text);
    page.push_str("| what | source | published | ours at 0.4 | ours at 1 | |\n|---|---|--:|--:|--:|---|\n");
    let mut reasons = Vec::new();
    for claim in &section.claims {
        let cell = |scale| claim.ours(rows, scale).map_or_else(|| "-".to_owned(), |ours| ours.to_string());
        let agreement = judged(claim, rows);
        let Claim { name, source, .. } = claim;
        let _ = writeln!(
            page,
            "| {name} | {source} | {} | {} | {} | {agreement} |",
            claim.published(),
            cell(GRID),
            cell(WHOLE)
        );
        reasons.extend(claim.why.filter(|_| agreement == Agreement::Differs).map(|why| format!("- {name}: {why}\n")));
    }
    if !reasons.is_empty() {
        page.push('\n');
        reasons.iter().for_each(|reason| page.push_str(reason));
    }
}

fn write_question(page: &mut String, question: &Question, rows: &[CellRow]) {
    let Question { title, text, claims } = question;
    let _ = writeln!(page, "\n### {title}\n\n{text}\n\n| what | ours |\n|---|--:|");
    for claim in claims {
        let ours = claim.ours(rows, GRID).map_or_else(|| "not run".to_owned(), |ours| ours.to_string());
        let _ = writeln!(page, "| {} | {ours} |", claim.name);
    }
}

/// Whether the runs at the published scale agree, or those of the grid where there are none.
fn judged(claim: &Claim, rows: &[CellRow]) -> Agreement {
    claim.agreement(claim.ours(rows, WHOLE).or_else(|| claim.ours(rows, GRID)))
}

/// Times to the last byte by structure, and by round-trip times.
fn figures(rows: &[CellRow]) -> Vec<Figure> {
    const FIGURES: [[(&str, &str); 3]; 2] = [
        [
            ("unc-structure", "UNC, unconstrained: times to the last byte by structure"),
            ("unc-structure-constrained", "UNC at 105 %: times to the last byte by structure"),
            ("unc-rtt", "UNC, unconstrained: times to the last byte by round-trip times, a-t-b-t"),
        ],
        [
            ("ibm-structure", "IBM, unconstrained: times to the last byte by structure"),
            ("ibm-structure-constrained", "IBM at 105 %: times to the last byte by structure"),
            ("ibm-rtt", "IBM, unconstrained: times to the last byte by round-trip times, a-t-b-t"),
        ],
    ];
    let mut figures = Vec::new();
    for ((workload, _), [free, constrained, rtt]) in WORKLOADS.into_iter().zip(FIGURES) {
        let control = |network| Of::control(workload, network);
        for (name, network) in [(free, Network::Unconstrained), (constrained, Network::Constrained)] {
            let of = ["a-t-b-t", "a-b", "block-sequential", "block-concurrent"];
            figures.extend(distribution(rows, name, &of.map(|one| (one, control(network).structure(one)))));
        }
        let of = ["usernet", "mean", "30-path"].map(|one| (one, control(Network::Unconstrained).rtt(one)));
        figures.extend(distribution(rows, rtt, &of));
    }
    figures
}

/// Shares of times to the last byte over the logarithm of the time; `None` where no run is.
fn distribution(rows: &[CellRow], (file, title): (&'static str, &'static str), of: &[(&str, Of)]) -> Option<Figure> {
    let line = |(name, of): &(&str, Of)| {
        let point = |percent: &u32| {
            let quantity = format!("last_byte_q{percent:02}_ms");
            let claim = of.estimate(rows, GRID, &quantity)?;
            Some((libm::log10(claim.mean / 1e3), f64::from(*percent) / 100.0, None))
        };
        Line { name: (*name).to_owned(), points: PERCENTILES.iter().filter_map(point).collect() }
    };
    let lines: Vec<Line> = of.iter().map(line).filter(|line| !line.points.is_empty()).collect();
    (!lines.is_empty()).then_some(Figure {
        file,
        title,
        x: "seconds, as a power of ten",
        y: "share of connections",
        lines,
    })
}
