//! Durations, response times and what else is known, by kind and size of connections.

use flowloom_core::workload::Pattern;
use flowloom_store::run_folder::Point;
use maud::{Markup, html};

use super::elements::{badge, heads, row, scrolled, value};
use super::shown::Shown;
use crate::class_totals::ClassTotals;
use crate::compare::difference;
use crate::metric::{Metric, Unit};
use crate::run::{Class, Size};
use crate::statistics::Sample;
use crate::variant::Variant;
use crate::words::thousands;

/// A row of the breakdown: its name and what belongs to it.
type Part = (&'static str, fn(Class) -> bool);

/// The classes of Aikat 2010: by pattern, and by size where the larger includes the largest.
const PARTS: [Part; 7] = [
    ("all", |_| true),
    ("sequential", |class| class.pattern == Pattern::Sequential),
    ("concurrent", |class| class.pattern == Pattern::Concurrent),
    ("< 4 kB", |class| class.size == Size::Small),
    ("≥ 4 kB", |class| class.size != Size::Small),
    ("≥ 1 MB", |class| class.size == Size::Large),
    ("lost packets in the original", |class| class.lost_in_original),
];

/// The section.
pub(super) fn section(shown: &Shown<'_>) -> Markup {
    html! {
        section id="breakdowns" {
            h2 { "Breakdowns" }
            p class="intro" {
                "By kind of connection and by its payload in both directions: median / 99 % quantile, and the tolerant KS distance. \
                 Beneath it what they came to: goodput is payload \
                 that passed the monitor for the first time within the window, over its length, of connections that began before \
                 it too; segments were sent again by both ends of the replay."
            }
            @for (index, variant) in shown.variants.iter().enumerate() {
                (shown.heading(index))
                @let name = &shown.names[index];
                (scrolled(&format!("Breakdown of {name}"), &table(variant, shown.with_original)))
                (scrolled(&format!("Totals of {name}"), &totals(variant)))
            }
            p class="from" {
                "From " code { "connections.parquet" } " (kind: " code { "pattern" } "; payload: " code { "initiator_bytes" } " + "
                code { "acceptor_bytes" } "; " code { "outcome" } ", " code { "carried_bytes" } ", " code { "retransmissions" } ", " code { "timeouts" } ", "
                code { "original_lost_segments" } ", the durations) and " code { "epochs.parquet" } ": " code { "response_ns" }
                ", of connections whose " code { "start_ns" } " is in the window, and exchanges that began in it."
            }
        }
    }
}

/// Durations and response times of the connections of each kind.
fn table(variant: &Variant, with_original: bool) -> Markup {
    let span = if with_original { 4 } else { 2 };
    let columns: &[&str] = if with_original { &["n", "original", "replay", "distance"] } else { &["n", "p50 / p99"] };
    html! {
        table class="numbers breakdown" {
            thead {
                tr {
                    th scope="col" rowspan="2" { "connections" }
                    th scope="colgroup" colspan=(span) { "duration" }
                    th scope="colgroup" colspan=(span) { "response time" }
                }
                tr { @for name in columns.iter().chain(columns) { th scope="col" { (name) } } }
            }
            tbody { @for (name, accept) in PARTS { (part(variant, with_original, name, accept)) } }
        }
    }
}

/// What the connections of each kind came to, of all seeds together.
fn totals(variant: &Variant) -> Markup {
    let of_part = |accept: fn(Class) -> bool| {
        let mut totals = ClassTotals::default();
        variant.runs.iter().for_each(|run| totals.add(run.measurements.totals(accept)));
        totals
    };
    let all = of_part(|_| true);
    let windows: f64 =
        variant.runs.iter().map(|run| run.measurements.window).map(|(start, end)| end.since(start).as_secs_f64()).sum();
    let share = |part: u64, of: u64| if of == 0 { "–".to_owned() } else { Unit::Share.show(part as f64 / of as f64) };
    let cells = |totals: &ClassTotals| {
        [
            thousands(totals.connections),
            share(totals.completed, totals.connections),
            Unit::Bytes.show(totals.payload_bytes as f64),
            share(totals.payload_bytes, all.payload_bytes),
            if windows > 0.0 && !totals.is_carried_unknown {
                Unit::Rate.show(totals.carried_bytes as f64 * 8.0 / windows)
            } else {
                "–".to_owned()
            },
            thousands(totals.retransmissions),
            thousands(totals.timeouts),
        ]
        .map(|cell| value(&cell))
    };
    let names =
        ["connections", "started", "completed", "payload", "share of payload", "goodput", "sent again", "timeouts"];
    html! {
        table class="numbers breakdown" {
            (heads(names))
            tbody {
                @for (name, totals) in PARTS.map(|(name, accept)| (name, of_part(accept))) {
                    @if totals.connections > 0 { (row(name, cells(&totals))) }
                }
            }
        }
    }
}

/// A row of the breakdown; nothing where no connection is of the kind.
fn part(variant: &Variant, with_original: bool, name: &str, accept: fn(Class) -> bool) -> Markup {
    let point = if with_original { Point::Monitor } else { Point::Endpoint };
    let mut values = 0;
    let cells = [Metric::Duration, Metric::ResponseTime].map(|metric| {
        let replay = variant.pooled(metric, point, accept);
        let quantiles = |sample: &Sample| {
            let show = |p| sample.quantile_or_bound(p).map(|quantile| metric.unit().show_quantile(quantile));
            show(0.5).zip(show(0.99)).map_or_else(|| "–".to_owned(), |(p50, p99)| value(&format!("{p50} / {p99}")))
        };
        values += replay.len();
        html! {
            td { (thousands(replay.len() as u64)) }
            @if with_original {
                @let original = variant.runs[0].measurements.sample(metric, Point::Original, accept);
                td { (quantiles(&original)) }
                td { (quantiles(&replay)) }
                td class="apart" {
                    @if let Some(difference) = difference(metric, &original, &replay, "the original", "the replay") {
                        span class="distance" {
                            @if let Some(tolerant) = difference.tolerant_ks { (format_args!("{tolerant:.3}")) }
                        }
                        " " (badge(difference.judgement))
                    } @else { "–" }
                }
            } @else {
                td { (quantiles(&replay)) }
            }
        }
    });
    html! { @if values > 0 { tr { th scope="row" { (name) } @for cells in &cells { (cells) } } } }
}
