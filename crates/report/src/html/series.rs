//! Lines and tables of what was measured over time.

use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;

use super::figure::{Figure, Line, Number, Points, Role, Table, numbers};
use super::figures::Source;
use super::real_link::{self, Drawn};
use crate::metric::Metric;
use crate::run::Measurements;
use crate::statistics::{mean_of_known, thin_series};

/// Bins that the lines of a figure may have together; wider ones keep their extremes as a band.
const MOST_BINS: usize = 6_000;
/// Bins that one line may have.
const MAX_BINS: usize = 600;
/// Rows that the table of a series may have.
const MAX_ROWS: usize = 60;

/// A metric over time, to be drawn as one line.
pub(super) struct Series {
    pub name: String,
    pub role: Role,
    /// Start of the first bin and width of all, in seconds.
    pub start: f64,
    pub width: f64,
    /// NaN in bins without a value.
    pub values: Vec<f64>,
    /// The smallest and the largest of several seeds in each bin, of which `values` are the means.
    pub spread: Option<[Vec<f64>; 2]>,
}

/// `metric` of `source`: of several seeds the mean in each bin, between the smallest and the largest of them.
fn series_of(metric: Metric, source: &Source<'_>) -> Series {
    let measured = source.first();
    let (start, width) = (measured.window.0.as_secs_f64(), measured.series_bin(metric).as_secs_f64());
    let mut all: Vec<Vec<f64>> = source.runs().map(|run| values_of(metric, run, source.point)).collect();
    if metric.is_of_probes() {
        // A seed whose probes have no answers has gaps alone.
        all.retain(|series| !series.is_empty());
    }
    let bins = all.iter().map(Vec::len).min().unwrap_or(0);
    let across = |of: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        (0..bins).map(|bin| of(&all.iter().map(|series| series[bin]).collect::<Vec<f64>>())).collect()
    };
    let most = |of: fn(f64, f64) -> f64| across(&|values| values.iter().copied().fold(f64::NAN, of));
    let (values, spread) = match &all[..] {
        [only] => (only.clone(), None),
        _ => (across(&mean_of_known), Some([most(f64::min), most(f64::max)])),
    };
    Series { name: source.name.clone(), role: source.role.clone(), start, width, values, spread }
}

fn values_of(metric: Metric, measured: &Measurements, point: Point) -> Vec<f64> {
    match metric {
        Metric::QueueFromLeft => measured.queue_series(LinkSide::Left),
        Metric::QueueFromRight => measured.queue_series(LinkSide::Right),
        _ => measured.series(metric, point),
    }
}

/// Fills in lines and table of `metric` over time.
pub(super) fn add(figure: &mut Figure, metric: Metric, sources: &[&Source<'_>]) {
    let mut all: Vec<Series> = sources.iter().map(|source| series_of(metric, source)).collect();
    let links = real_link::drawn(metric, sources.iter().map(|source| source.variant));
    all.extend(links.into_iter().map(|Drawn { name, role, start, width, values }| Series {
        name,
        role,
        start,
        width,
        values,
        spread: None,
    }));
    // One axis has one beginning and one width of bins.
    let place = |series: &Series| (series.start.to_bits(), series.width.to_bits());
    let of_first = all.first().map(place);
    let (all, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|series| Some(place(series)) == of_first);
    for other in others {
        figure.finding += &format!(" {} has another window or other bins, and no line here.", other.name);
    }
    // A count holds at its instant; a bin is drawn at its middle.
    let factor = draw(figure, &all, if metric == Metric::ActiveConnections { 0.0 } else { 0.5 });
    if let (Some(original), Some(first)) = (sources.iter().find(|source| source.point == Point::Original), all.first())
    {
        figure.lines.extend(set_aside(metric, original.first(), &first.values, factor));
    }
}

/// Lines and table of series, whose values stand at the share `at` of their bins; how many bins were joined.
pub(super) fn draw(figure: &mut Figure, all: &[Series], at: f64) -> usize {
    let bins = all.iter().map(|series| series.values.len()).max().unwrap_or(0);
    let (start, width) = all.first().map_or((0.0, 1.0), |series| (series.start, series.width));
    let factor = bins.div_ceil(MAX_BINS.min(MOST_BINS / all.len().max(1)).max(1)).max(1);
    figure.start = Number(start + at * width * factor as f64);
    figure.step = Number(width * factor as f64);
    for series in all.iter().filter(|series| !series.values.is_empty()) {
        let thinned = thin_series(&series.values, factor);
        let (low, high) = match &series.spread {
            Some([low, high]) => (Some(thin_series(low, factor).low), Some(thin_series(high, factor).high)),
            None if factor > 1 => (Some(thinned.low), Some(thinned.high)),
            None => (None, None),
        };
        let points = Points::Series {
            y: numbers(&thinned.mean),
            low: low.as_deref().map(numbers),
            high: high.as_deref().map(numbers),
        };
        figure.lines.push(Line { name: series.name.clone(), role: series.role.clone(), smooth: false, points });
    }
    figure.table = table(figure, start, width, all);
    factor
}

/// The band of what the original carried and nothing replays, on top of the original (methods M.8).
fn set_aside(metric: Metric, measured: &Measurements, original: &[f64], factor: usize) -> Option<Line> {
    let side = match metric {
        Metric::ThroughputFromLeft => LinkSide::Left,
        Metric::ThroughputFromRight => LinkSide::Right,
        _ => return None,
    };
    let aside = thin_series(&measured.set_aside(side), factor).mean;
    // A band thinner than the line it lies on cannot be seen.
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    if largest(&aside) <= 0.01 * largest(original) {
        return None;
    }
    let low = thin_series(original, factor).mean;
    let high: Vec<f64> = aside.iter().enumerate().map(|(bin, value)| value + low.get(bin).unwrap_or(&0.0)).collect();
    let low: Vec<f64> = (0..high.len()).map(|bin| low.get(bin).copied().unwrap_or(0.0)).collect();
    let points = Points::Series { y: numbers(&aside), low: Some(numbers(&low)), high: Some(numbers(&high)) };
    Some(Line { name: "set aside".to_owned(), role: Role::aside(), smooth: false, points })
}

fn table(figure: &Figure, start: f64, width: f64, all: &[Series]) -> Table {
    let bins = all.iter().map(|series| series.values.len()).max().unwrap_or(0);
    let factor = bins.div_ceil(MAX_ROWS).max(1);
    let means: Vec<Vec<f64>> = all.iter().map(|series| thin_series(&series.values, factor).mean).collect();
    let head_of_time = if factor > 1 {
        format!("time, mean over {} s", trimmed(width * factor as f64))
    } else {
        format!("{} (s)", figure.x.label)
    };
    let head = std::iter::once(head_of_time).chain(all.iter().map(|series| series.name.clone())).collect();
    let rows = (0..bins.div_ceil(factor))
        .map(|row| {
            let time = format!("{} s", trimmed(start + (row * factor) as f64 * width));
            let known = |values: &Vec<f64>| values.get(row).copied().filter(|value| !value.is_nan());
            let value = |values: &Vec<f64>| known(values).map_or("–".to_owned(), |value| figure.unit.show(value));
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
