//! The figures of a report of runs.

use flowloom_core::units::three_digits;
use flowloom_store::run_folder::Point;

use super::figure::{
    Axis, Below, Figure, Kind as FigureKind, Line, Number, Points, Role, TABLE_PROBABILITIES, Table, View, curve_error,
    unit_word,
};
use super::provenance::Scope;
use super::series::{self, Series};
use crate::compare::{Comparison, Difference, Judgement};
use crate::directions::Directions;
use crate::metric::Metric;
use crate::run::{Class, Measurements, Run};
use crate::statistics::{Sample, thin_distribution};
use crate::variant::Variant;

/// What is drawn as one line: the original, or a variant with all its seeds.
pub(super) struct Source<'a> {
    pub name: String,
    pub role: Role,
    pub variant: &'a Variant,
    pub point: Point,
}

impl<'a> Source<'a> {
    /// What was measured: of the original once, whatever the seeds of its replays.
    pub(super) fn runs(&self) -> impl Iterator<Item = &'a Measurements> {
        let most = if self.point == Point::Original { 1 } else { usize::MAX };
        self.variant.runs.iter().take(most).map(|run| &run.measurements)
    }

    /// The first of them.
    pub(super) fn first(&self) -> &'a Measurements {
        &self.variant.runs[0].measurements
    }

    fn sample(&self, metric: Metric, of: impl Fn(Class) -> bool) -> Sample {
        match self.point {
            Point::Original => self.first().sample(metric, self.point, of),
            point => self.variant.pooled(metric, point, of),
        }
    }
}

/// The lines of all figures in their order: the original first if there is one. `names` are those of the variants.
pub(super) fn sources<'a>(variants: &'a [Variant], names: &[String], with_original: bool) -> Vec<Source<'a>> {
    let original = variants.first().filter(|_| with_original).map(|variant| Source {
        name: "original".to_owned(),
        role: Role::original(),
        variant,
        point: Point::Original,
    });
    let point = if with_original { Point::Monitor } else { Point::Endpoint };
    let replays = variants.iter().zip(names).enumerate();
    let replays =
        replays.map(|(index, (variant, name))| Source { name: name.clone(), role: Role::run(index), variant, point });
    original.into_iter().chain(replays).collect()
}

/// What distinguishes the figure of one metric.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub metric: Metric,
    id: &'static str,
    title: &'static str,
    column: &'static str,
    label: &'static str,
    distribution: bool,
    log: bool,
}

const fn series(
    metric: Metric,
    id: &'static str,
    title: &'static str,
    column: &'static str,
    label: &'static str,
) -> Kind {
    Kind { metric, id, title, column, label, distribution: false, log: false }
}

const fn distribution(
    metric: Metric,
    id: &'static str,
    title: &'static str,
    column: &'static str,
    label: &'static str,
    log: bool,
) -> Kind {
    Kind { metric, id, title, column, label, distribution: true, log }
}

/// The pictures in their order.
pub(super) const KINDS: [Kind; 19] = [
    series(Metric::ActiveConnections, "active", "Active connections", "connections", "connections"),
    distribution(Metric::ResponseTime, "response-time", "Response time", "response_time_ns", "response time", true),
    distribution(Metric::Duration, "duration", "Connection duration", "duration_ns", "duration", true),
    distribution(Metric::RoundTripTime, "rtt", "Round-trip time", "rtt_ns", "minimum round-trip time", true),
    series(Metric::ThroughputFromLeft, "throughput-left", "Throughput", "bits_per_second", "throughput"),
    series(Metric::ThroughputFromRight, "throughput-right", "Throughput", "bits_per_second", "throughput"),
    distribution(Metric::Goodput, "goodput", "Goodput", "bits_per_second", "goodput", false),
    series(Metric::PacketArrivals, "packets", "Packet arrivals", "packets_per_second", "packets"),
    distribution(Metric::AduSize, "adu-size", "ADU size", "bytes", "ADU size", true),
    series(Metric::QueueFromLeft, "queue-left", "Queue length", "packets", "queue length (packets)"),
    distribution(Metric::QueueFromLeft, "queue-left-share", "Queue length", "packets", "queue length (packets)", false),
    series(Metric::QueueFromRight, "queue-right", "Queue length", "packets", "queue length (packets)"),
    distribution(
        Metric::QueueFromRight,
        "queue-right-share",
        "Queue length",
        "packets",
        "queue length (packets)",
        false,
    ),
    distribution(Metric::QueueDelayFromLeft, "queue-delay-left", "Queue delay", "queue_delay_ns", "queue delay", true),
    distribution(
        Metric::QueueDelayFromRight,
        "queue-delay-right",
        "Queue delay",
        "queue_delay_ns",
        "queue delay",
        true,
    ),
    // A bin in which no probe has an answer is a gap.
    series(Metric::ProbeRoundTrip, "probes", "Latency under load: round trip of probes", "probe_ns", "round trip"),
    distribution(
        Metric::ProbeRoundTrip,
        "probes-share",
        "Latency under load: round trip of probes",
        "probe_ns",
        "round trip",
        true,
    ),
    series(Metric::ProbeRequest, "requests", "Latency under load: requests of probes", "probe_ns", "SYN to response"),
    distribution(
        Metric::ProbeRequest,
        "requests-share",
        "Latency under load: requests of probes",
        "probe_ns",
        "SYN to response",
        true,
    ),
];

/// The figures of `sources`, those without anything to show left out.
pub(super) fn figures(
    variants: &[Variant],
    sources: &[Source<'_>],
    comparisons: &[Comparison],
    with_original: bool,
) -> Vec<Figure> {
    let of_metrics = KINDS.iter().filter_map(|kind| figure(kind, sources, comparisons, with_original));
    of_metrics.chain(link_figures(variants, sources)).collect()
}

/// What was measured at links beside the bottleneck: throughput and queue of each, where there was any. Variants share a
/// figure if they have a link of one name; of several seeds the first is drawn.
fn link_figures(variants: &[Variant], sources: &[Source<'_>]) -> Vec<Figure> {
    let measured = |run: &Run| -> Vec<(u16, String)> {
        let links = run.facts.topology.iter().flat_map(|topology| &topology.links).zip(0..);
        let links = links.filter(|(_, number)| run.measurements.links.contains_key(number));
        links.map(|(link, number)| (number, format!("{} ({} \u{2192} {})", link.name, link.from, link.to))).collect()
    };
    let replays: Vec<&Source<'_>> = sources.iter().filter(|source| source.point != Point::Original).collect();
    let of_runs: Vec<Vec<(u16, String)>> = variants.iter().map(|variant| measured(&variant.runs[0])).collect();
    let mut links: Vec<&(u16, String)> = Vec::new();
    for link in of_runs.iter().flatten() {
        if !links.iter().any(|known| known.1 == link.1) {
            links.push(link);
        }
    }
    let figures = links.iter().enumerate().flat_map(|(place, (number, link))| {
        [Metric::ThroughputFromLeft, Metric::QueueFromLeft].map(|metric| {
            let series = replays.iter().zip(&of_runs).filter_map(|(source, of_run)| {
                let (number, _) = of_run.iter().find(|(_, name)| name == link)?;
                let measured = source.first();
                let values = match metric {
                    Metric::QueueFromLeft => measured.link_queue(*number),
                    _ => measured.link_throughput(*number),
                };
                Some(Series {
                    name: source.name.clone(),
                    role: source.role.clone(),
                    start: measured.window.0.as_secs_f64(),
                    width: measured.series_bin(metric).as_secs_f64(),
                    values,
                    spread: None,
                })
            });
            link_figure(place, *number, link, metric, &series.collect::<Vec<_>>(), replays[0].first())
        })
    });
    figures.flatten().collect()
}

/// The throughput or the queue of a link beside the bottleneck; `None` if there was none.
fn link_figure(
    place: usize,
    number: u16,
    link: &str,
    metric: Metric,
    series: &[Series],
    first: &Measurements,
) -> Option<Figure> {
    let samples: Vec<Sample> = series.iter().map(|one| Sample::new(one.values.clone())).collect();
    if samples.iter().all(|sample| sample.max().unwrap_or(0.0) == 0.0) {
        return None;
    }
    let bin = first.series_bin(metric);
    let (what, title, column) = match metric {
        Metric::QueueFromLeft => ("queue", format!("Queue length at {link}"), "packets"),
        _ => ("throughput", format!("Throughput at {link} in bins of {}", plain(&bin.to_string())), "bits_per_second"),
    };
    let label = if what == "queue" { "queue length (packets)" } else { "throughput" };
    let scope = Scope { with_original: false, window: first.window, bin };
    let mut figure = Figure {
        id: format!("link-{place}-{what}"),
        kind: FigureKind::Series,
        title,
        view: View::Series,
        finding: finding(metric, &[], &samples),
        plural: metric.plural(),
        column,
        x: Axis::new("time", "clock", false),
        y: Axis::new(label, unit_word(metric.unit()), false),
        start: Number(0.0),
        step: Number(1.0),
        lines: Vec::new(),
        below: Below::Nothing,
        table: Table::default(),
        unit: metric.unit(),
        provenance: scope.of_link(number, metric),
    };
    series::draw(&mut figure, series, 0.5);
    (figure.table.rows.len() > 1).then_some(figure)
}

fn figure(kind: &Kind, sources: &[Source<'_>], comparisons: &[Comparison], with_original: bool) -> Option<Figure> {
    let metric = kind.metric;
    let queue = metric.is_of_queue();
    // The original's queues were not seen.
    let is_unseen = queue || metric.is_of_probes();
    let sources: Vec<&Source<'_>> =
        sources.iter().filter(|source| !(is_unseen && source.point == Point::Original)).collect();
    let samples: Vec<Sample> = sources.iter().map(|source| source.sample(metric, |_| true)).collect();
    if samples.iter().all(|sample| sample.max().unwrap_or(0.0) == 0.0) {
        return None;
    }
    let distances: Vec<(Role, String, Difference)> = sources
        .iter()
        .filter_map(|source| {
            let compared = comparisons.iter().find(|comparison| comparison.other == source.variant.name);
            let difference = compared.filter(|_| source.point != Point::Original)?.difference(metric)?;
            Some((source.role.clone(), source.name.clone(), difference.clone()))
        })
        .collect();
    let value_axis = Axis::new(kind.label, unit_word(metric.unit()), kind.log);
    let first = sources.first()?.first();
    let scope = Scope { with_original, window: first.window, bin: first.bin };
    let mut figure = Figure {
        id: kind.id.to_owned(),
        kind: if kind.distribution { FigureKind::Distribution } else { FigureKind::Series },
        title: title(kind, first, Directions::of_runs(sources.iter().flat_map(|source| &source.variant.runs))),
        view: match (kind.distribution, queue) {
            (false, _) => View::Series,
            // Queues are empty most of the time: all there is to see is in the tail.
            (true, true) => View::Ccdf,
            (true, false) => View::Cdf,
        },
        finding: finding(metric, &distances, &samples),
        plural: metric.plural(),
        column: kind.column,
        x: if kind.distribution { value_axis.clone() } else { Axis::new("time", "clock", false) },
        y: value_axis,
        start: Number(0.0),
        step: Number(1.0),
        lines: Vec::new(),
        below: Below::Distances(distances),
        table: Table::default(),
        unit: metric.unit(),
        provenance: scope.of(metric),
    };
    if kind.distribution {
        figure.lines = curves(&sources, &samples);
        figure.table = quantile_table(&figure, &sources, &samples);
    } else {
        series::add(&mut figure, metric, &sources);
        // One bin is no course of time.
        if figure.table.rows.len() < 2 {
            return None;
        }
    }
    Some(figure)
}

/// The distributions of `samples`, which are those of `sources`.
pub(super) fn curves(sources: &[&Source<'_>], samples: &[Sample]) -> Vec<Line> {
    // Of values that are all unfinished there is nothing to draw.
    let lines = sources.iter().zip(samples).filter(|(_, sample)| sample.max().is_some());
    let lines = lines.map(|(source, sample)| {
        let points = thin_distribution(sample, curve_error(sources.len()));
        let x = points.iter().map(|point| Number(point.x)).collect();
        let above = points.iter().map(|point| point.above).collect();
        let points = Points::Distribution { n: sample.len(), x, above };
        Line { name: source.name.clone(), role: source.role.clone(), smooth: false, points }
    });
    lines.collect()
}

fn title(kind: &Kind, first: &Measurements, directions: Directions) -> String {
    let bin = plain(&first.series_bin(kind.metric).to_string());
    let name = match kind.metric.from() {
        Some(from) => format!("{}, {}", kind.title, directions.told(from)),
        None => kind.title.to_owned(),
    };
    match kind.metric {
        Metric::ActiveConnections
        | Metric::Goodput
        | Metric::ThroughputFromLeft
        | Metric::ThroughputFromRight
        | Metric::PacketArrivals => format!("{name} in bins of {bin}"),
        Metric::QueueFromLeft | Metric::QueueFromRight if kind.distribution => format!("{name}: distribution"),
        Metric::ProbeRoundTrip | Metric::ProbeRequest if kind.distribution => format!("{name}: distribution"),
        Metric::ProbeRoundTrip | Metric::ProbeRequest => {
            format!("{name}, mean in bins of {bin} (gaps: no answers)")
        }
        _ => name,
    }
}

/// `1.00 s` reads `1 s`.
pub(super) fn plain(bin: &str) -> String {
    bin.replace(".00 ", " ").replace(".0 ", " ")
}

/// What a figure shows, in a sentence: the largest difference, or that there is none, or the values alone.
fn finding(metric: Metric, distances: &[(Role, String, Difference)], samples: &[Sample]) -> String {
    let worst =
        distances.iter().max_by(|a, b| a.2.distance().total_cmp(&b.2.distance())).map(|(_, _, difference)| difference);
    let show = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| metric.unit().show(value));
    match worst {
        Some(difference) if difference.judgement != Judgement::Same => format!("{}.", difference.finding),
        Some(difference) if metric.is_series() => {
            format!("Same: mean {} against {}.", show(difference.other.mean), show(difference.reference.mean))
        }
        Some(difference) => {
            format!("Same: median {} against {}.", show(difference.other.p50), show(difference.reference.p50))
        }
        None if matches!(metric, Metric::QueueFromLeft | Metric::QueueFromRight) => {
            let most = samples.iter().max_by(|a, b| a.max().unwrap_or(0.0).total_cmp(&b.max().unwrap_or(0.0)));
            let empty = most.and_then(|sample| sample.cdf(0.0)).unwrap_or(1.0);
            let largest = show(most.and_then(Sample::max));
            // Three digits would call 99.96 % all of them.
            let share = if empty > 0.999 { "more than 99.9".to_owned() } else { three_digits(empty * 100.0) };
            format!("Empty at {share} % of the sampling instants; {largest} packets at most.")
        }
        None => {
            let sample = samples.iter().find(|sample| !sample.is_empty());
            let quantile = |p| show(sample.and_then(|sample| sample.quantile(p)));
            format!("Median {}, 99 % at most {}.", quantile(0.5), quantile(0.99))
        }
    }
}

/// The quantiles of `samples`, which are those of `sources`, in the figure's unit.
pub(super) fn quantile_table(figure: &Figure, sources: &[&Source<'_>], samples: &[Sample]) -> Table {
    let head = std::iter::once("quantile".to_owned()).chain(sources.iter().map(|source| source.name.clone())).collect();
    let cell = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| figure.unit.show(value));
    let row = |name: String, value: &dyn Fn(&Sample) -> String| -> Vec<String> {
        std::iter::once(name).chain(samples.iter().map(value)).collect()
    };
    let mut rows = vec![
        row("values".to_owned(), &|sample| crate::words::thousands(sample.len() as u64)),
        row("mean".to_owned(), &|sample| cell(sample.mean())),
        row("smallest".to_owned(), &|sample| cell(sample.min())),
    ];
    for p in TABLE_PROBABILITIES {
        let percent = format!("{:.1}", p * 100.0);
        let quantile = |sample: &Sample| {
            let quantile = sample.quantile_or_bound(p);
            quantile.map_or_else(|| "–".to_owned(), |quantile| figure.unit.show_quantile(quantile))
        };
        rows.push(row(format!("{} %", percent.trim_end_matches(".0")), &quantile));
    }
    rows.push(row("largest".to_owned(), &|sample| cell(sample.max())));
    Table { head, rows }
}
