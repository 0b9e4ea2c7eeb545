//! How far two series go together, and which comes first.

use std::ops::Range;

use flowloom_store::FileError;
use flowloom_store::monitor::{LevelRow, Series};
use serde::Serialize;

use crate::query::Archive;
use crate::steps::Grid;

/// Bins of a correlation at most.
pub const MOST_BINS: u64 = 20_000;

/// Lags of a correlation at most, to each side.
pub const MOST_LAGS: u64 = 500;

/// A correlation at a lag.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lag {
    /// By how many bins the other series is later.
    pub bins: i64,
    /// Pearson's coefficient of the means of bins; `None` if one of the series does not vary, or fewer than three pairs are known.
    pub coefficient: Option<f64>,
    /// Pairs of bins in which both are known.
    pub pairs: u64,
}

/// The correlation of two series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Correlation {
    /// The width of the bins, in nanoseconds.
    pub width_ns: u64,
    /// The correlation at every lag, from the least on.
    pub lags: Vec<Lag>,
    /// The lag at which it is strongest, up or down; the one nearest to none among equals.
    pub strongest: Option<Lag>,
}

impl Archive {
    /// The correlation of two series in a period, by the means of bins of `width_ns` or more, at lags of up to `lags` bins: bins are no
    /// narrower than rows where only rows are kept.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn correlation(
        &self,
        pair: &[Series; 2],
        period: Range<u64>,
        width_ns: u64,
        lags: u64,
    ) -> Result<Correlation, FileError> {
        let least = (period.end - period.start).div_ceil(MOST_BINS);
        let mut width_ns = width_ns.max(least).max(1);
        loop {
            let grid = Grid { width_ns, phase_ns: 0 };
            let bins = self.bins(pair, period.clone(), grid)?;
            let widest_ns = bins.iter().map(|(_, widest_ns)| *widest_ns).max().unwrap_or(0);
            if widest_ns > grid.level_ns() && !width_ns.is_multiple_of(widest_ns) {
                width_ns = width_ns.next_multiple_of(widest_ns);
                continue;
            }
            let [one, other] = [&bins[0], &bins[1]].map(|(bins, _)| numbered(bins.known(), width_ns));
            return Ok(correlated(&one, &other, width_ns, lags.min(MOST_LAGS) as i64));
        }
    }
}

/// The means of bins, by the numbers of the bins.
fn numbered<'a>(bins: impl Iterator<Item = (u64, &'a LevelRow)>, width_ns: u64) -> Vec<(i64, f64)> {
    bins.map(|(start, row)| ((start / width_ns) as i64, row.mean_units())).collect()
}

fn correlated(one: &[(i64, f64)], other: &[(i64, f64)], width_ns: u64, most: i64) -> Correlation {
    let lags: Vec<Lag> = (-most..=most).map(|bins| at_lag(one, other, bins)).collect();
    let strength = |lag: &Lag| lag.coefficient.unwrap_or(0.0).abs();
    let known = lags.iter().filter(|lag| lag.coefficient.is_some());
    let strongest = known.copied().max_by(|a, b| {
        strength(a).total_cmp(&strength(b)).then(b.bins.abs().cmp(&a.bins.abs())).then(a.bins.cmp(&b.bins))
    });
    Correlation { width_ns, lags, strongest }
}

/// Pearson's coefficient of the pairs (i, i + `bins`) in which both are known.
fn at_lag(one: &[(i64, f64)], other: &[(i64, f64)], bins: i64) -> Lag {
    let pairs = || {
        let mut at = 0;
        one.iter().filter_map(move |(number, value)| {
            let wanted = number + bins;
            while other.get(at).is_some_and(|(number, _)| *number < wanted) {
                at += 1;
            }
            other.get(at).filter(|(number, _)| *number == wanted).map(|(_, mate)| (*value, *mate))
        })
    };
    let (count, sum_x, sum_y) = pairs().fold((0_u64, 0.0, 0.0), |(n, x, y), (a, b)| (n + 1, x + a, y + b));
    let (mean_x, mean_y) = (sum_x / count.max(1) as f64, sum_y / count.max(1) as f64);
    let (xx, yy, xy) = pairs().fold((0.0, 0.0, 0.0), |(xx, yy, xy), (x, y)| {
        let (x, y) = (x - mean_x, y - mean_y);
        (xx + x * x, yy + y * y, xy + x * y)
    });
    let is_known = count >= 3 && xx > 0.0 && yy > 0.0;
    let coefficient = is_known.then(|| (xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0));
    Lag { bins, coefficient, pairs: count }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(values: &[(u64, u64)]) -> Vec<(i64, f64)> {
        let row = |mean: u64| {
            let (least, most) = (u128::from(mean) * 1_000_000, u128::from(mean) * 1_000_000);
            LevelRow { least, most, integral: mean.into(), covered_ns: 1, samples: 1, ..LevelRow::default() }
        };
        let rows: Vec<(u64, LevelRow)> = values.iter().map(|(number, value)| (number * 60, row(*value))).collect();
        numbered(rows.iter().map(|(start, row)| (*start, row)), 60)
    }

    #[test]
    fn the_coefficient_is_that_of_a_textbook() {
        // x = 1 2 3 4 5, y = 2 4 5 4 5: sums of squares 10 and 6, of products 6; 6 / sqrt(60).
        let one = bins(&[(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
        let other = bins(&[(1, 2), (2, 4), (3, 5), (4, 4), (5, 5)]);
        let found = correlated(&one, &other, 60, 0);
        assert_eq!(found.lags.len(), 1);
        assert!((found.lags[0].coefficient.unwrap() - 6.0 / 60.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(found.lags[0].pairs, 5);
    }

    #[test]
    fn the_later_series_has_a_positive_lag() {
        let values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8];
        let one: Vec<_> = values.iter().enumerate().map(|(at, value)| (at as u64 + 10, *value)).collect();
        // Two bins later, with one that is not known.
        let other: Vec<_> = one.iter().map(|(at, value)| (at + 2, value * 7)).filter(|(at, _)| *at != 17).collect();
        let found = correlated(&bins(&one), &bins(&other), 60, 4);
        let strongest = found.strongest.unwrap();
        assert_eq!((strongest.bins, strongest.pairs), (2, 11));
        assert!((strongest.coefficient.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_vary_has_no_correlation() {
        let flat = bins(&[(1, 7), (2, 7), (3, 7), (4, 7)]);
        let found = correlated(&flat, &bins(&[(1, 1), (2, 2), (3, 3), (4, 9)]), 60, 1);
        assert!(found.lags.iter().all(|lag| lag.coefficient.is_none()) && found.strongest.is_none());
        let few = correlated(&bins(&[(1, 1), (2, 2)]), &bins(&[(1, 1), (2, 2)]), 60, 0);
        assert_eq!((few.lags[0].coefficient, few.lags[0].pairs), (None, 2));
    }
}
