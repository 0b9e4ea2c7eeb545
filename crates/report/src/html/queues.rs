//! How long packets waited at the bottleneck, and what was dropped and marked there, by direction and class.

use flowloom_core::record::{QueueFate, TrafficClass};
use flowloom_core::workload::LinkSide;
use maud::{Markup, html};

use super::elements::{heads, row, scrolled, value};
use super::shown::Shown;
use crate::directions::Directions;
use crate::metric::Unit;
use crate::run::{Measurements, Run};
use crate::sojourn::{QueueCounts, class_name};
use crate::statistics::Sample;
use crate::variant::Variant;
use crate::words::thousands;

/// Whether a run of these measured its queues.
pub(super) fn is_needed(shown: &Shown<'_>) -> bool {
    shown.variants.iter().flat_map(|variant| &variant.runs).any(|run| !run.measurements.sojourns.is_empty())
}

/// The section; empty if nobody measured the queues.
pub(super) fn section(shown: &Shown<'_>) -> Markup {
    if !is_needed(shown) {
        return html! {};
    }
    html! {
        section id="queues" {
            h2 { "Queue delay, loss and marks" }
            p class="intro" {
                "At the bottleneck in the window, by direction and by what packets belong to. Queue delay is the sojourn time of packets that the link \
                 transmitted: from acceptance to the start of transmission. The mean over time counts each packet for as long as it was \
                 the last that the link had taken, and 0 while the link was idle. Shares are of all packets that the queue dropped or the \
                 link transmitted in the window; shares in warnings are of the whole run."
            }
            @for (index, variant) in shown.variants.iter().enumerate() {
                (shown.heading(index))
                (scrolled(&format!("Queues of {}", shown.names[index]), &table(variant)))
            }
            p class="from" {
                "From " code { "sojourn.parquet" } " (" code { "total_ns" } " over " code { "packets" } ", " code { "held_ns" } ", "
                code { "fate" } ", " code { "marked_packets" } ") and " code { "run.json" } ": " code { "utilisation" } "."
            }
        }
    }
}

/// The rows of a variant, all its seeds together.
fn table(variant: &Variant) -> Markup {
    let names = [
        "packets",
        "transmitted",
        "delay p50 / p99",
        "mean over time",
        "dropped",
        "at arrival",
        "mean wait of others",
        "marked",
        "link busy",
    ];
    let directions = Directions::of_runs(&variant.runs);
    let directions = [LinkSide::Left, LinkSide::Right].map(|from| (directions.told(from), from));
    html! {
        table class="numbers breakdown" {
            (heads(names))
            tbody {
                @for (name, from) in directions {
                    @let classes = classes(variant, from);
                    @if !classes.is_empty() { (row(&name, cells(variant, from, None))) }
                    // The row of all leaves probes out.
                    @if classes.len() > 1 || classes == [TrafficClass::Probe] {
                        @for class in &classes { (row(format!("{name}: {}", class_name(*class)), cells(variant, from, Some(*class)))) }
                    }
                }
            }
        }
    }
}

/// The classes that have packets in some seed.
fn classes(variant: &Variant, from: LinkSide) -> Vec<TrafficClass> {
    let has =
        |class: &TrafficClass| measured(variant).any(|one| one.sojourns.classes(from).any(|found| found == *class));
    TrafficClass::ALL.into_iter().filter(has).collect()
}

fn measured(variant: &Variant) -> impl Iterator<Item = &Measurements> {
    variant.runs.iter().map(|run| &run.measurements)
}

fn cells(variant: &Variant, from: LinkSide, class: Option<TrafficClass>) -> [String; 8] {
    let pooled = |of: &dyn Fn(&Measurements) -> Sample| Sample::pooled(&measured(variant).map(of).collect::<Vec<_>>());
    let delays = pooled(&|one| one.sojourns.per_packet(from, class, QueueFate::Transmitted));
    let waits = pooled(&|one| one.sojourns.per_packet(from, class, QueueFate::DroppedFromQueue));
    let over_time = pooled(&|one| one.queue_delay_over_time(from));
    let counts =
        measured(variant).map(|one| one.sojourns.counts(from, class)).fold(QueueCounts::default(), QueueCounts::plus);
    let time = |nanos: Option<f64>| nanos.map_or_else(|| NOTHING.to_owned(), |nanos| Unit::Time.show(nanos));
    let share = |share: Option<f64>| share.map_or_else(|| NOTHING.to_owned(), |share| Unit::Share.show(share));
    let busy = |run: &Run| run.facts.utilisation(from);
    let known: Vec<f64> = variant.runs.iter().filter_map(busy).collect();
    let busy = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    let of_all = |text: String| if class.is_none() { text } else { NOTHING.to_owned() };
    [
        thousands(counts.transmitted),
        format!("{} / {}", time(delays.quantile(0.5)), time(delays.quantile(0.99))),
        of_all(time(over_time.mean())),
        share(counts.loss_share()),
        thousands(counts.dropped_at_arrival),
        time(waits.mean()),
        share(counts.mark_share()),
        of_all(share(busy)),
    ]
    .map(|cell| value(&cell))
}

/// What is shown where there is no value.
const NOTHING: &str = "–";
