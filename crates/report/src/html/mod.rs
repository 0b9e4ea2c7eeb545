//! The report: one HTML file with script, style and data inside, that opens from a disk without a network.
//!
//! Order: what was compared and whether to believe it; the answer in numbers and words; what the trust rests on; the
//! pictures; breakdowns; how it was made. Every picture has its data beside it as a table. The file holds no addresses
//! (methods M.12): nothing it is made from does.

mod answer;
mod breakdown;
mod description;
mod document;
mod elements;
mod explain;
pub(crate) mod figure;
pub(crate) mod figures;
mod fits;
mod grid;
pub(crate) mod marginals;
mod network;
mod overhead;
mod page;
pub(crate) mod palette;
mod pictures;
mod plausibility;
mod probes;
mod provenance;
mod queues;
mod real_link;
mod reproduction;
pub(crate) mod scaling;
mod senders;
mod series;
mod shown;
pub(crate) mod still;
pub(crate) mod sweep;
mod trust;

use std::io::{self, Write};

use crate::answer::Answer;
use crate::compare::Comparison;
use crate::conclusion::Conclusion;
use crate::describe::Described;
use crate::explain::Explanation;
use crate::fit::Fitted;
use crate::overhead::Overhead;
use crate::run::Run;
use crate::summary::Summary;
use crate::sweep::{Grid, SweepAnswer};
use crate::variant::Variant;
use shown::Shown;

/// How a report is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportOptions {
    /// The title; made from the runs' own if `None`.
    pub title: Option<String>,
}

/// Writes the report of `variants`, at least one, each with all its seeds. Those that replay one original are set beside it, at the
/// monitor; others beside the first of them, at their ends (methods M.1).
///
/// # Errors
///
/// What `out` says.
pub fn write_report(variants: &[Variant], out: impl Write, options: &ReportOptions) -> io::Result<()> {
    let conclusions: Vec<Vec<Conclusion>> =
        variants.iter().map(|variant| variant.runs.iter().map(Run::conclude).collect()).collect();
    let conclusions: Vec<&[Conclusion]> = conclusions.iter().map(Vec::as_slice).collect();
    write_concluded(variants, &conclusions, out, options)
}

/// The same where `conclusions` from the runs of each variant are known.
///
/// # Errors
///
/// What `out` says.
pub fn write_concluded(
    variants: &[Variant],
    conclusions: &[&[Conclusion]],
    mut out: impl Write,
    options: &ReportOptions,
) -> io::Result<()> {
    let answer = Answer::of_variants(variants, conclusions);
    let names = names(variants, answer.with_original);
    let shown = Shown { variants, names: &names, with_original: answer.with_original };
    let sources = figures::sources(variants, &names, answer.with_original);
    let figures = figures_of(variants, &sources, &answer.comparisons, answer.with_original);
    let grids = grid::grids(&sources, &figures);
    let summaries: Vec<&Summary> = conclusions.iter().flat_map(|of| *of).map(|one| &one.summary).collect();
    let title = options.title.as_deref();
    out.write_all(page::page(&shown, &answer, &summaries, &sources, &figures, &grids, title).as_bytes())?;
    out.flush()
}

/// All figures of `sources`, which are those of `variants`, with what `comparisons` found.
fn figures_of(
    variants: &[Variant],
    sources: &[figures::Source<'_>],
    comparisons: &[Comparison],
    with_original: bool,
) -> Vec<figure::Figure> {
    let mut figures = figures::figures(variants, sources, comparisons, with_original);
    figures.extend(marginals::figures(sources, with_original));
    figures.extend(scaling::figure(sources, with_original));
    figures
}

/// The figures of the report of `variants`, without what a comparison says of them, and before them what their lines are called.
pub(crate) fn figures_of_runs(variants: &[Variant]) -> (Vec<String>, Vec<figure::Figure>) {
    let with_original = Answer::is_with_original(variants);
    let names = names(variants, with_original);
    let sources = figures::sources(variants, &names, with_original);
    let figures = figures_of(variants, &sources, &[], with_original);
    (names, figures)
}

/// What the lines of variants are called.
fn names(variants: &[Variant], with_original: bool) -> Vec<String> {
    match variants {
        [_] => vec![if with_original { "replay" } else { "run" }.to_owned()],
        variants => short_names(variants),
    }
}

/// The names of variants without the folders that all are in.
fn short_names(variants: &[Variant]) -> Vec<String> {
    let parts: Vec<Vec<&str>> = variants.iter().map(|variant| variant.name.split('/').collect()).collect();
    let shared = (0..)
        .take_while(|&place| parts.iter().all(|name| name.len() > place + 1 && name[place] == parts[0][place]))
        .count();
    parts.iter().map(|name| name[shared..].join("/")).collect()
}

/// Writes the page of captures and workloads: their distributions overlaid, their tables side by side.
///
/// # Errors
///
/// What `out` says.
pub fn write_description(described: &[Described], mut out: impl Write) -> io::Result<()> {
    out.write_all(description::page(described).as_bytes())?;
    out.flush()
}

/// Writes the page of laws fitted to a workload: values and laws in one picture for each variable, and their quantiles.
///
/// # Errors
///
/// What `out` says.
pub fn write_fits(fitted: &Fitted, mut out: impl Write) -> io::Result<()> {
    out.write_all(fits::page(fitted).as_bytes())?;
    out.flush()
}

/// Writes the page of `flowloom overhead`: efficiency against the payload of a cell, and the tables.
///
/// # Errors
///
/// What `out` says.
pub fn write_overhead(overhead: &Overhead, mut out: impl Write) -> io::Result<()> {
    out.write_all(overhead::page(overhead).as_bytes())?;
    out.flush()
}

/// Writes the page of a sweep, called `title`.
///
/// # Errors
///
/// What `out` says.
pub fn write_sweep(grid: &Grid, answer: &SweepAnswer, title: &str, mut out: impl Write) -> io::Result<()> {
    out.write_all(sweep::page(grid, answer, title).as_bytes())?;
    out.flush()
}

/// Writes the page of `flowloom compare --explain`: what each cause is worth for each quantity, and the connections that differ most.
///
/// # Errors
///
/// What `out` says.
pub fn write_explanation(explanation: &Explanation, mut out: impl Write) -> io::Result<()> {
    out.write_all(explain::page(explanation).as_bytes())?;
    out.flush()
}
