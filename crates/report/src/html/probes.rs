//! Latency under load: what probes met, by kind.

use flowloom_core::record::ProbeKind;
use flowloom_core::workload::LinkSide;
use maud::{Markup, html};

use super::elements::{heads, row, scrolled, value};
use super::shown::Shown;
use crate::metric::Unit;
use crate::probes::{KINDS, NOTE, ProbeCounts, Probes};
use crate::statistics::Sample;
use crate::variant::Variant;
use crate::words::thousands;

/// Whether a run of these sent probes.
pub(super) fn is_needed(shown: &Shown<'_>) -> bool {
    shown.variants.iter().any(|variant| probes(variant).any(|probes| !probes.is_empty()))
}

/// The section; empty without probes.
pub(super) fn section(shown: &Shown<'_>) -> Markup {
    if !is_needed(shown) {
        return html! {};
    }
    html! {
        section id="probes" {
            h2 { "Latency under load" }
            p class="intro" {
                "What probes beside the traffic met: datagrams that the far end answers at once, from the datagram to its answer, and requests \
                 over a TCP connection of their own, from the SYN to the last byte of the response. " (NOTE) " Lost probes have no time, and \
                 their share stands beside the quantiles."
            }
            @for (index, variant) in shown.variants.iter().enumerate() {
                (shown.heading(index))
                (scrolled(&format!("Probes of {}", shown.names[index]), &table(variant)))
            }
            p class="from" {
                "From " code { "probes.parquet" } " (" code { "round_trip_ns" } ", " code { "connect_ns" } ", " code { "there_ns" } ", "
                code { "back_ns" } ", " code { "lost" } ")."
            }
        }
    }
}

fn probes(variant: &Variant) -> impl Iterator<Item = &Probes> {
    variant.runs.iter().map(|run| &run.measurements.probes)
}

/// The rows of a variant, all its seeds together.
fn table(variant: &Variant) -> Markup {
    let pooled = |of: &dyn Fn(&Probes) -> Sample| Sample::pooled(&probes(variant).map(of).collect::<Vec<_>>());
    let name = |kind| match kind {
        ProbeKind::Datagram => "round trip",
        ProbeKind::Request => "request",
    };
    html! {
        table class="numbers breakdown" {
            (heads(["probes", "sent", "lost", "mean", "p50", "p95", "p99", "largest"]))
            tbody {
                @for kind in KINDS {
                    @let counts = probes(variant).map(|one| one.counts(kind)).fold(ProbeCounts::default(), ProbeCounts::plus);
                    @if counts.sent > 0 {
                        (row(name(kind), cells(Some(counts), &pooled(&|one| one.times(kind)))))
                    }
                }
                @for (name, from) in [("left to right", LinkSide::Left), ("right to left", LinkSide::Right)] {
                    @let delays = pooled(&|one| one.one_way(from));
                    @if !delays.is_empty() { (row(name, cells(None, &delays))) }
                }
            }
        }
    }
}

fn cells(counts: Option<ProbeCounts>, times: &Sample) -> [String; 7] {
    let time = |nanos: Option<f64>| nanos.map_or_else(|| NOTHING.to_owned(), |nanos| Unit::Time.show(nanos));
    // Probes that were under way took at least as long as they were seen.
    let at_least = |nanos: Option<f64>| match nanos {
        Some(nanos) if times.unfinished() > 0 => format!("> {}", Unit::Time.show(nanos)),
        nanos => time(nanos),
    };
    let quantile = |p| {
        times.quantile_or_bound(p).map_or_else(|| NOTHING.to_owned(), |quantile| Unit::Time.show_quantile(quantile))
    };
    let lost = counts.and_then(ProbeCounts::loss_share);
    [
        counts.map_or_else(|| NOTHING.to_owned(), |counts| thousands(counts.sent)),
        lost.map_or_else(|| NOTHING.to_owned(), |share| Unit::Share.show(share)),
        at_least(times.mean()),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        at_least(times.max()),
    ]
    .map(|cell| value(&cell))
}

/// What is shown where there is no value.
const NOTHING: &str = "–";

#[cfg(test)]
mod tests {
    use flowloom_core::time::{Duration, Time};

    use super::*;
    use crate::probes::tests::mixed;
    use crate::run::{Measurements, Run};

    fn run() -> Run {
        let end = Time::ZERO + Duration::from_millis(400);
        let mut measurements =
            Measurements::new((Time::ZERO, end), Duration::from_millis(400), Duration::from_millis(10));
        mixed().iter().for_each(|probe| measurements.probe(probe));
        measurements.finish();
        Run { name: String::new(), facts: Default::default(), host: Default::default(), measurements }
    }

    /// The texts of the cells of each row.
    fn rows(table: &str) -> Vec<Vec<String>> {
        let texts = |row: &str| {
            row.split('<').filter_map(|part| Some(part.split_once('>')?.1.replace('\u{a0}', " "))).collect()
        };
        let rows = table.split("<tr").skip(1).map(texts);
        rows.map(|row: Vec<String>| row.into_iter().filter(|text| !text.is_empty()).collect()).collect()
    }

    #[test]
    fn seeds_of_a_variant_share_the_rows() {
        let table = table(&Variant { name: "a".to_owned(), runs: vec![run(), run()] }).into_string();
        let rows = rows(&table);
        let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(names, ["probes", "round trip", "request", "left to right", "right to left"], "{table}");
        assert_eq!(rows[1][1..], ["8", "25.0 %", "6.00 ms", "6.00 ms", "8.00 ms", "8.00 ms", "8.00 ms"]);
        assert_eq!(rows[2][1], "4");
        // One-way delays have no number of probes and no loss of their own.
        assert_eq!(rows[3][1..4], [NOTHING, NOTHING, "1.00 ms"]);
        let none = Variant { name: "b".to_owned(), runs: Vec::new() };
        assert_eq!(probes(&none).count(), 0);
    }
}
