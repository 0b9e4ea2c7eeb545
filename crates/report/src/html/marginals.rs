//! How traffic on the link is spread from bin to bin, at several widths of the bins.

use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;

use super::figure::{Axis, Below, Figure, Kind, Number, Role, Table, View, unit_word};
use super::figures::{Source, curves, plain, quantile_table};
use super::provenance::Scope;
use crate::metric::Unit;
use crate::run::Arrivals;
use crate::statistics::Sample;

/// Widths of the bins: a deviation means nothing without one (methods C.6).
const WIDTHS: [Duration; 3] = [Duration::from_millis(10), Duration::from_millis(100), Duration::from_secs(1)];
/// Fewer bins are no distribution.
const FEWEST: usize = 20;

/// A figure for each width for which enough was recorded.
pub(super) fn figures(sources: &[Source<'_>], with_original: bool) -> Vec<Figure> {
    WIDTHS.into_iter().filter_map(|width| figure(sources, with_original, width)).collect()
}

fn figure(sources: &[Source<'_>], with_original: bool, width: Duration) -> Option<Figure> {
    let samples: Vec<Sample> = sources
        .iter()
        .map(|source| {
            let arrivals = source.runs().filter_map(|run| run.arrivals(source.point));
            arrivals.flat_map(|arrivals| bits_per_second(arrivals, width)).collect()
        })
        .collect();
    if samples.iter().all(|sample| sample.len() < FEWEST || sample.max() == Some(0.0)) {
        return None;
    }
    let measured = sources.first()?.first();
    let name = plain(&width.to_string());
    let rows: Vec<(Role, String, Vec<String>)> = sources
        .iter()
        .zip(&samples)
        .map(|(source, sample)| {
            let rate = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| Unit::Rate.show(value));
            let share = sample.coefficient_of_variation().map_or_else(|| "–".to_owned(), three_digits);
            let cells = vec![rate(sample.mean()), rate(sample.standard_deviation()), share];
            (source.role.clone(), source.name.clone(), cells)
        })
        .collect();
    let told = rows.iter().map(|(_, name, cells)| format!("{name} {} ± {}", cells[0], cells[1]));
    let axis = Axis::new("throughput", unit_word(Unit::Rate), false);
    let scope = Scope { with_original, window: measured.window, bin: measured.bin };
    let shown: Vec<&Source<'_>> = sources.iter().collect();
    let mut figure = Figure {
        id: format!("marginal-{}ms", width.as_nanos() / 1_000_000),
        kind: Kind::Distribution,
        title: format!("Throughput per {name} bin, both directions: distribution"),
        view: View::Cdf,
        finding: format!(
            "Mean ± standard deviation over bins of {name}: {}.",
            told.take(4).collect::<Vec<_>>().join(", ")
        ),
        plural: "bins",
        column: "bits_per_second",
        x: axis.clone(),
        y: axis,
        start: Number(0.0),
        step: Number(1.0),
        lines: curves(&shown, &samples),
        below: Below::Numbers(vec!["mean", "standard deviation", "deviation / mean"], rows),
        table: Table::default(),
        unit: Unit::Rate,
        provenance: scope.throughput("bytes", None, width),
    };
    figure.table = quantile_table(&figure, &shown, &samples);
    let deviations =
        samples.iter().map(|sample| sample.standard_deviation().map_or("–".to_owned(), |sd| Unit::Rate.show(sd)));
    figure.table.rows.insert(2, std::iter::once("standard deviation".to_owned()).chain(deviations).collect());
    Some(figure)
}

/// The rate in each bin of `width`; none if what was recorded does not make such bins. A partial last bin is left out.
fn bits_per_second(arrivals: &Arrivals, width: Duration) -> Vec<f64> {
    let (recorded, width) = (arrivals.width.as_nanos(), width.as_nanos());
    if recorded == 0 || !width.is_multiple_of(recorded) {
        return Vec::new();
    }
    let bins = arrivals.bytes.chunks_exact((width / recorded) as usize);
    bins.map(|bin| bin.iter().sum::<u64>() as f64 * 8e9 / width as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_joined_and_partial_ones_left_out() {
        let arrivals =
            Arrivals { width: Duration::from_millis(5), packets: vec![1; 5], bytes: vec![100, 200, 300, 400, 9_999] };
        assert_eq!(bits_per_second(&arrivals, Duration::from_millis(10)), [240_000.0, 560_000.0]);
        assert!(bits_per_second(&arrivals, Duration::from_millis(12)).is_empty());
    }
}
