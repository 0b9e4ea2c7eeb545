//! The figures of a report: curves thinned to what can be seen, and the tables behind them.

use serde::{Serialize, Serializer};

use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;
use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;

use crate::answer::Answer;
use crate::compare::{Difference, Judgement};
use crate::metric::{Metric, Unit};
use crate::run::{Measurements, Run};
use crate::statistics::{Sample, thin_distribution};

/// How far a drawn distribution may be from the true one.
pub(super) const CURVE_ERROR: f64 = 0.001;
/// Bins that a drawn series may have; wider ones keep their extremes as a band.
const MAX_BINS: usize = 600;
/// Rows that the table of a series may have.
const MAX_ROWS: usize = 60;
/// The probabilities in the table of a distribution.
pub(super) const TABLE_PROBABILITIES: [f64; 11] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 0.999];

/// A number in six significant digits at most, whole ones without a fraction: short in the page, exact to the eye.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded: f64 = format!("{:.5e}", self.0).parse().unwrap_or(0.0);
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

/// An axis, in the words of `report.js`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Axis {
    pub label: &'static str,
    pub unit: &'static str,
    pub log: bool,
}

/// One curve.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub name: String,
    /// `original`, `run0`... or `aside`: decides the colour.
    pub role: String,
    /// Of a distribution: drawn from point to point, not in steps.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub smooth: bool,
    #[serde(flatten)]
    pub points: Points,
}

/// The points of a curve.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Points {
    /// A distribution: how many of `n` values are above each `x`.
    Distribution { n: usize, x: Vec<Number>, above: Vec<usize> },
    /// A series of means, with the extremes where bins were joined.
    Series {
        y: Vec<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        low: Option<Vec<Number>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        high: Option<Vec<Number>>,
    },
}

/// A picture, its words and its table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Figure {
    pub id: String,
    /// `distribution` or `series`.
    pub kind: &'static str,
    pub title: String,
    /// Which view of a distribution is shown first: `cdf` or `ccdf`.
    pub view: &'static str,
    /// What it shows, in a sentence.
    pub finding: String,
    /// What the values are, within "share of ...".
    pub plural: &'static str,
    /// The name of the column of values in the CSV.
    pub column: &'static str,
    pub x: Axis,
    pub y: Axis,
    /// Time of the first bin of a series and between bins, in seconds.
    pub start: Number,
    pub step: Number,
    pub lines: Vec<Line>,
    /// Distances of the lines after the first: (role, name, distance).
    #[serde(skip)]
    pub distances: Vec<(String, String, Difference)>,
    #[serde(skip)]
    pub table: Table,
    #[serde(skip)]
    pub unit: Unit,
}

/// The data of a figure as a reader without eyes for it needs it.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// One line to be drawn.
struct Source<'a> {
    name: String,
    role: String,
    measured: &'a Measurements,
    point: Point,
}

/// The role of run `index`: six colours, then again.
pub(super) fn run_role(index: usize) -> String {
    format!("run{}", index % 6)
}

/// What distinguishes the figure of one metric.
struct Kind {
    metric: Metric,
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
const KINDS: [Kind; 13] = [
    series(Metric::ActiveConnections, "active", "Active connections", "connections", "connections"),
    distribution(Metric::ResponseTime, "response-time", "Response time", "response_time_ns", "response time", true),
    distribution(Metric::Duration, "duration", "Connection duration", "duration_ns", "duration", true),
    distribution(Metric::RoundTripTime, "rtt", "Round-trip time", "rtt_ns", "minimum round-trip time", true),
    series(Metric::ThroughputFromLeft, "throughput-left", "Throughput, left to right", "bits_per_second", "throughput"),
    series(
        Metric::ThroughputFromRight,
        "throughput-right",
        "Throughput, right to left",
        "bits_per_second",
        "throughput",
    ),
    distribution(Metric::Goodput, "goodput", "Goodput", "bits_per_second", "goodput", false),
    series(Metric::PacketArrivals, "packets", "Packet arrivals", "packets_per_second", "packets"),
    distribution(Metric::AduSize, "adu-size", "ADU size", "bytes", "ADU size", true),
    series(Metric::QueueFromLeft, "queue-left", "Queue length, left to right", "packets", "packets"),
    distribution(Metric::QueueFromLeft, "queue-left-share", "Queue length, left to right", "packets", "packets", false),
    series(Metric::QueueFromRight, "queue-right", "Queue length, right to left", "packets", "packets"),
    distribution(
        Metric::QueueFromRight,
        "queue-right-share",
        "Queue length, right to left",
        "packets",
        "packets",
        false,
    ),
];

/// The figures of `runs`, those without anything to show left out.
pub(super) fn figures(runs: &[Run], answer: &Answer) -> Vec<Figure> {
    let mut sources: Vec<Source<'_>> = Vec::new();
    if let Some(run) = runs.first().filter(|_| answer.with_original) {
        let (name, role) = ("original".to_owned(), "original".to_owned());
        sources.push(Source { name, role, measured: &run.measurements, point: Point::Original });
    }
    let point = if answer.with_original { Point::Monitor } else { Point::Endpoint };
    for (index, run) in runs.iter().enumerate() {
        let name = answer.columns[index + usize::from(answer.with_original)].clone();
        sources.push(Source { name, role: run_role(index), measured: &run.measurements, point });
    }
    let names: Vec<&str> = answer.columns[usize::from(answer.with_original)..].iter().map(String::as_str).collect();
    KINDS.iter().filter_map(|kind| figure(kind, &sources, answer)).chain(link_figures(runs, &names)).collect()
}

/// What was measured at links beside the bottleneck: throughput and queue of each, where there was any. Runs share a
/// figure if they have a link of one name.
fn link_figures(runs: &[Run], names: &[&str]) -> Vec<Figure> {
    let measured = |run: &Run| -> Vec<(u16, String)> {
        let links = run.facts.topology.iter().flat_map(|topology| &topology.links).zip(0..);
        let links = links.filter(|(_, number)| run.measurements.links.contains_key(number));
        links.map(|(link, number)| (number, format!("{} ({} \u{2192} {})", link.name, link.from, link.to))).collect()
    };
    let of_runs: Vec<Vec<(u16, String)>> = runs.iter().map(measured).collect();
    let mut links: Vec<&String> = Vec::new();
    for (_, link) in of_runs.iter().flatten() {
        if !links.contains(&link) {
            links.push(link);
        }
    }
    let figures = links.iter().enumerate().flat_map(|(place, link)| {
        [Metric::ThroughputFromLeft, Metric::QueueFromLeft].map(|metric| {
            let series = runs.iter().zip(&of_runs).enumerate().filter_map(|(index, (run, measured))| {
                let (number, _) = measured.iter().find(|(_, name)| name == *link)?;
                let measured = &run.measurements;
                let values = match metric {
                    Metric::QueueFromLeft => measured.link_queue(*number),
                    _ => measured.link_throughput(*number),
                };
                Some(Series {
                    name: names[index].to_owned(),
                    role: run_role(index),
                    start: measured.window.0.as_secs_f64(),
                    width: measured.series_bin(metric).as_secs_f64(),
                    values,
                })
            });
            link_figure(place, link, metric, &series.collect::<Vec<_>>(), runs[0].measurements.series_bin(metric))
        })
    });
    figures.flatten().collect()
}

/// The throughput or the queue of a link beside the bottleneck; `None` if there was none.
fn link_figure(place: usize, link: &str, metric: Metric, series: &[Series], bin: Duration) -> Option<Figure> {
    let samples: Vec<Sample> = series.iter().map(|one| Sample::new(one.values.clone())).collect();
    if samples.iter().all(|sample| sample.max().unwrap_or(0.0) == 0.0) {
        return None;
    }
    let (what, title, column) = match metric {
        Metric::QueueFromLeft => ("queue", format!("Queue length at {link}"), "packets"),
        _ => {
            let bin = plain(&bin.to_string());
            ("throughput", format!("Throughput at {link} in bins of {bin}"), "bits_per_second")
        }
    };
    let label = if what == "queue" { "packets" } else { "throughput" };
    let mut figure = Figure {
        id: format!("link-{place}-{what}"),
        kind: "series",
        title,
        view: "cdf",
        finding: finding(metric, &[], &samples),
        plural: metric.plural(),
        column,
        x: Axis { label: "time", unit: "clock", log: false },
        y: Axis { label, unit: unit_word(metric.unit()), log: false },
        start: Number(0.0),
        step: Number(1.0),
        lines: Vec::new(),
        distances: Vec::new(),
        table: Table::default(),
        unit: metric.unit(),
    };
    draw_series(&mut figure, series, 0.5);
    (figure.table.rows.len() > 1).then_some(figure)
}

fn figure(kind: &Kind, sources: &[Source<'_>], answer: &Answer) -> Option<Figure> {
    let metric = kind.metric;
    let queue = matches!(metric, Metric::QueueFromLeft | Metric::QueueFromRight);
    // The original's queues were not seen.
    let sources: Vec<&Source<'_>> =
        sources.iter().filter(|source| !(queue && source.point == Point::Original)).collect();
    let apart = answer.with_original && matches!(metric, Metric::Duration | Metric::ResponseTime);
    let samples: Vec<Sample> = sources
        .iter()
        .map(|source| source.measured.sample(metric, source.point, |class| !(apart && class.lost_in_original)))
        .collect();
    if samples.iter().all(|sample| sample.max().unwrap_or(0.0) == 0.0) {
        return None;
    }
    let distances: Vec<(String, String, Difference)> = sources
        .iter()
        .rev()
        .zip(answer.comparisons.iter().rev())
        .filter_map(|(source, comparison)| {
            Some((source.role.clone(), source.name.clone(), comparison.difference(metric)?.clone()))
        })
        .rev()
        .collect();
    let value_axis = Axis { label: kind.label, unit: unit_word(metric.unit()), log: kind.log };
    let clock = Axis { label: "time", unit: "clock", log: false };
    let mut figure = Figure {
        id: kind.id.to_owned(),
        kind: if kind.distribution { "distribution" } else { "series" },
        title: title(kind, &sources),
        // Queues are empty most of the time: all there is to see is in the tail.
        view: if queue { "ccdf" } else { "cdf" },
        finding: finding(metric, &distances, &samples),
        plural: metric.plural(),
        column: kind.column,
        x: if kind.distribution { value_axis.clone() } else { clock },
        y: value_axis,
        start: Number(0.0),
        step: Number(1.0),
        lines: Vec::new(),
        distances,
        table: Table::default(),
        unit: metric.unit(),
    };
    if kind.distribution {
        for (source, sample) in sources.iter().zip(&samples).filter(|(_, sample)| !sample.is_empty()) {
            let points = thin_distribution(sample, CURVE_ERROR);
            let x = points.iter().map(|point| Number(point.x)).collect();
            let above = points.iter().map(|point| point.above).collect();
            let points = Points::Distribution { n: sample.len(), x, above };
            figure.lines.push(Line { name: source.name.clone(), role: source.role.clone(), smooth: false, points });
        }
        figure.table = quantile_table(metric, &sources, &samples);
    } else {
        add_series(&mut figure, metric, &sources);
        // One bin is no course of time.
        if figure.table.rows.len() < 2 {
            return None;
        }
    }
    Some(figure)
}

fn title(kind: &Kind, sources: &[&Source<'_>]) -> String {
    let bin = sources.first().map(|source| source.measured.series_bin(kind.metric).to_string()).unwrap_or_default();
    match kind.metric {
        Metric::Goodput => format!("{} in bins of {}", kind.title, plain(&bin)),
        Metric::ThroughputFromLeft | Metric::ThroughputFromRight | Metric::PacketArrivals => {
            format!("{} in bins of {}", kind.title, plain(&bin))
        }
        Metric::ActiveConnections => format!("{} at each second", kind.title),
        Metric::QueueFromLeft | Metric::QueueFromRight if kind.distribution => format!("{}: distribution", kind.title),
        _ => kind.title.to_owned(),
    }
}

/// `1.00 s` reads `1 s`.
fn plain(bin: &str) -> String {
    bin.replace(".00 ", " ")
}

/// What a figure shows, in a sentence: the largest difference, or that there is none, or the values alone.
fn finding(metric: Metric, distances: &[(String, String, Difference)], samples: &[Sample]) -> String {
    let worst = distances
        .iter()
        .max_by(|a, b| a.2.tolerant_ks.unwrap_or(0.0).total_cmp(&b.2.tolerant_ks.unwrap_or(0.0)))
        .map(|(_, _, difference)| difference);
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

pub(super) fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "time",
        Unit::Bytes => "bytes",
        Unit::Rate => "rate",
        Unit::Count => "count",
        Unit::PacketRate => "packets",
        Unit::Share => "share",
    }
}

fn quantile_table(metric: Metric, sources: &[&Source<'_>], samples: &[Sample]) -> Table {
    let head = std::iter::once("quantile".to_owned()).chain(sources.iter().map(|source| source.name.clone())).collect();
    let cell = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| metric.unit().show(value));
    let row = |name: String, value: &dyn Fn(&Sample) -> String| -> Vec<String> {
        std::iter::once(name).chain(samples.iter().map(value)).collect()
    };
    let mut rows = vec![
        row("values".to_owned(), &|sample| crate::text::thousands(sample.len() as u64)),
        row("mean".to_owned(), &|sample| cell(sample.mean())),
        row("smallest".to_owned(), &|sample| cell(sample.min())),
    ];
    for p in TABLE_PROBABILITIES {
        let percent = format!("{:.1}", p * 100.0);
        rows.push(row(format!("{} %", percent.trim_end_matches(".0")), &|sample| cell(sample.quantile(p))));
    }
    rows.push(row("largest".to_owned(), &|sample| cell(sample.max())));
    Table { head, rows }
}

/// A metric over time, to be drawn as one line.
struct Series {
    name: String,
    role: String,
    /// Start of the first bin and width of all, in seconds.
    start: f64,
    width: f64,
    values: Vec<f64>,
}

fn series_of(metric: Metric, source: &Source<'_>) -> Series {
    let measured = source.measured;
    let (start, width) = (measured.window.0.as_secs_f64(), measured.series_bin(metric).as_secs_f64());
    let (start, values) = match metric {
        Metric::QueueFromLeft => (start, measured.queue_series(LinkSide::Left)),
        Metric::QueueFromRight => (start, measured.queue_series(LinkSide::Right)),
        Metric::ActiveConnections => (start.ceil(), measured.series(metric, source.point)),
        _ => (start, measured.series(metric, source.point)),
    };
    let width = if metric == Metric::ActiveConnections { 1.0 } else { width };
    Series { name: source.name.clone(), role: source.role.clone(), start, width, values }
}

/// Bins joined `factor` by `factor`.
struct Joined {
    mean: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

fn join(values: &[f64], factor: usize) -> Joined {
    let groups = || values.chunks(factor.max(1));
    Joined {
        mean: groups().map(|group| group.iter().sum::<f64>() / group.len() as f64).collect(),
        low: groups().map(|group| group.iter().copied().fold(f64::MAX, f64::min)).collect(),
        high: groups().map(|group| group.iter().copied().fold(f64::MIN, f64::max)).collect(),
    }
}

fn numbers(values: &[f64]) -> Vec<Number> {
    values.iter().copied().map(Number).collect()
}

fn add_series(figure: &mut Figure, metric: Metric, sources: &[&Source<'_>]) {
    let all: Vec<Series> = sources.iter().map(|source| series_of(metric, source)).collect();
    // A count holds at its instant; a bin is drawn at its middle.
    let factor = draw_series(figure, &all, if metric == Metric::ActiveConnections { 0.0 } else { 0.5 });
    if let (Some(original), Some(first)) = (sources.iter().find(|source| source.point == Point::Original), all.first())
    {
        figure.lines.extend(set_aside(metric, original.measured, &first.values, factor));
    }
}

/// Lines and table of series, whose values stand at the share `at` of their bins; how many bins were joined.
fn draw_series(figure: &mut Figure, all: &[Series], at: f64) -> usize {
    let bins = all.iter().map(|series| series.values.len()).max().unwrap_or(0);
    let (start, width) = all.first().map_or((0.0, 1.0), |series| (series.start, series.width));
    let factor = bins.div_ceil(MAX_BINS).max(1);
    figure.start = Number(start + at * width * factor as f64);
    figure.step = Number(width * factor as f64);
    for series in all.iter().filter(|series| !series.values.is_empty()) {
        let joined = join(&series.values, factor);
        let spread = factor > 1;
        let points = Points::Series {
            y: numbers(&joined.mean),
            low: spread.then(|| numbers(&joined.low)),
            high: spread.then(|| numbers(&joined.high)),
        };
        figure.lines.push(Line { name: series.name.clone(), role: series.role.clone(), smooth: false, points });
    }
    figure.table = series_table(figure, start, width, all);
    factor
}

/// The band of what the original carried and nothing replays, on top of the original (methods M.8).
fn set_aside(metric: Metric, measured: &Measurements, original: &[f64], factor: usize) -> Option<Line> {
    let side = match metric {
        Metric::ThroughputFromLeft => LinkSide::Left,
        Metric::ThroughputFromRight => LinkSide::Right,
        _ => return None,
    };
    let aside = join(&measured.set_aside(side), factor).mean;
    // A band thinner than the line it lies on cannot be seen.
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    if largest(&aside) <= 0.01 * largest(original) {
        return None;
    }
    let low = join(original, factor).mean;
    let high: Vec<f64> = aside.iter().enumerate().map(|(bin, value)| value + low.get(bin).unwrap_or(&0.0)).collect();
    let low: Vec<f64> = (0..high.len()).map(|bin| low.get(bin).copied().unwrap_or(0.0)).collect();
    let points = Points::Series { y: numbers(&aside), low: Some(numbers(&low)), high: Some(numbers(&high)) };
    Some(Line { name: "set aside".to_owned(), role: "aside".to_owned(), smooth: false, points })
}

fn series_table(figure: &Figure, start: f64, width: f64, all: &[Series]) -> Table {
    let bins = all.iter().map(|series| series.values.len()).max().unwrap_or(0);
    let factor = bins.div_ceil(MAX_ROWS).max(1);
    let means: Vec<Vec<f64>> = all.iter().map(|series| join(&series.values, factor).mean).collect();
    let head_of_time = if factor > 1 {
        format!("time, mean over {} s", trimmed(width * factor as f64))
    } else {
        format!("{} (s)", figure.x.label)
    };
    let head = std::iter::once(head_of_time).chain(all.iter().map(|series| series.name.clone())).collect();
    let rows = (0..bins.div_ceil(factor))
        .map(|row| {
            let time = format!("{} s", trimmed(start + (row * factor) as f64 * width));
            let value = |values: &Vec<f64>| values.get(row).map_or("–".to_owned(), |&value| figure.unit.show(value));
            std::iter::once(time).chain(means.iter().map(value)).collect()
        })
        .collect();
    Table { head, rows }
}

/// At most two decimals, without zeros at the end.
fn trimmed(seconds: f64) -> String {
    let text = format!("{seconds:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
