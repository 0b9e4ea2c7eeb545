//! Throughput of a real link beside that of the runs, over the same intervals.

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;
use maud::{Markup, html};

use super::elements::{heads, row, scrolled, swatch, value};
use super::figure::Role;
use super::shown::Shown;
use crate::beside_link::BesideRealLink;
use crate::directions::Directions;
use crate::metric::{Metric, Unit};
use crate::run::Run;
use crate::variant::Variant;
use crate::words::thousands;

/// The real links of `variants`, each once: the first run that is shown beside it, what its line is called, and how it looks.
fn links<'a>(variants: impl Iterator<Item = &'a Variant>) -> Vec<(&'a Run, String, Role)> {
    let mut found: Vec<&Run> = Vec::new();
    for run in variants.flat_map(|variant| &variant.runs) {
        let is_known = |known: &&Run| known.facts.real_link == run.facts.real_link;
        if run.facts.real_link.is_some() && !found.iter().any(is_known) {
            found.push(run);
        }
    }
    let many = found.len() > 1;
    let name = |number: usize| if many { format!("real link {}", number + 1) } else { "real link".to_owned() };
    found.into_iter().enumerate().map(|(number, run)| (run, name(number), Role::real_link(number))).collect()
}

/// The lines of real links, for the legend.
pub(super) fn lines(variants: &[Variant]) -> Vec<(Role, String)> {
    let is_drawn = |run: &Run| {
        let series = [LinkSide::Left, LinkSide::Right].map(|from| run.measurements.real_link_series(from));
        series.iter().any(|series| !series.is_empty())
    };
    let drawn = links(variants.iter()).into_iter().filter(|(run, ..)| is_drawn(run));
    drawn.map(|(_, name, role)| (role, name)).collect()
}

/// The rates of a real link in a picture.
pub(super) struct Drawn {
    pub name: String,
    pub role: Role,
    /// Start of the first bin and width of all, in seconds.
    pub start: f64,
    pub width: f64,
    /// NaN in bins of which nothing is known.
    pub values: Vec<f64>,
}

/// The real links in the picture of `metric`, if that is the throughput of a direction.
pub(super) fn drawn<'a>(metric: Metric, variants: impl Iterator<Item = &'a Variant>) -> Vec<Drawn> {
    let Some(from) = metric.from().filter(|from| metric == Metric::throughput(*from)) else { return Vec::new() };
    let drawn = |(run, name, role): (&Run, String, Role)| {
        let measured = &run.measurements;
        let (start, width) = (measured.window.0.as_secs_f64(), measured.series_bin(metric).as_secs_f64());
        Drawn { name, role, start, width, values: measured.real_link_series(from) }
    };
    links(variants).into_iter().map(drawn).filter(|drawn| !drawn.values.is_empty()).collect()
}

/// Whether a run of these is shown beside a real link.
pub(super) fn is_needed(shown: &Shown<'_>) -> bool {
    shown.variants.iter().flat_map(|variant| &variant.runs).any(|run| run.facts.real_link.is_some())
}

/// The section; empty if no run has a real link.
pub(super) fn section(shown: &Shown<'_>) -> Markup {
    if !is_needed(shown) {
        return html! {};
    }
    let all = links(shown.variants.iter());
    let role_of = |run: &Run| {
        let is_it = |(known, ..): &&(&Run, String, Role)| known.facts.real_link == run.facts.real_link;
        all.iter().find(is_it).map_or_else(|| Role::real_link(0), |(_, _, role)| role.clone())
    };
    html! {
        section id="real-link" {
            h2 { "Real link" }
            p class="intro" {
                "Throughput as a monitor counted it, and that of the run averaged over the same intervals (both over the bins of the run where \
                 these are wider), because wide intervals have other percentiles than narrow ones. A percentile is the least rate that is not exceeded in that share of the time. \
                 Times without a count are left out of both. A counter of octets has whole frames of everything that crosses the port, as \
                 the device sees them, and one of cells 53 bytes for each, with headers and padding; the run counts IP bytes + 14 of what it \
                 sends."
            }
            @for (index, variant) in shown.variants.iter().enumerate() {
                @if let Some(found) = variant.runs.first().and_then(BesideRealLink::of) {
                    @let roles = [role_of(&variant.runs[0]), Role::run(index)];
                    (shown.heading_of_first(index))
                    p { (found.facts.words()) }
                    (scrolled(
                        &format!("The real link beside {}", shown.names[index]),
                        &table(&found, &variant.runs[0], &roles, &shown.names[index]),
                    ))
                }
            }
            p class="from" {
                "From " code { "throughput.parquet" } " (" code { "point" } " " code { "real-link" } " and " code { "replay-carried" } ") and "
                code { "run.json" } ": " code { "real_link" } "."
            }
        }
    }
}

/// The rows of a run: each direction of the real link, and the run beneath it.
fn table(found: &BesideRealLink, run: &Run, [real, own]: &[Role; 2], name: &str) -> Markup {
    let directions = Directions::of_runs([run]);
    html! {
        table class="numbers" {
            (heads(["throughput", "mean", "50 %", "95 %", "99 %", "greatest", "known", "intervals", "counter"]))
            tbody {
                @for from in [LinkSide::Left, LinkSide::Right] {
                    @if let Some((counted, beside)) = found.direction(from) {
                        @let every = Duration::from_nanos(counted.interval_ns).written();
                        @let known = [
                            Unit::Share.show(found.known_share(beside)),
                            thousands(beside.intervals as u64),
                            format!("{} ({} every {every})", counted.counter, counted.unit),
                        ];
                        @let cells = beside.real.shown().into_iter().chain(known).map(|cell| value(&cell));
                        (row(html! { (swatch(real)) (directions.told(from)) ", real link" }, cells))
                        @let cells = beside.run.shown().into_iter().chain([(); 3].map(|()| "–".to_owned())).map(|cell| value(&cell));
                        (row(html! { (swatch(own)) (directions.told(from)) ", " (name) }, cells))
                    }
                }
            }
        }
    }
}
