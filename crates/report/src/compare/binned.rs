//! Series of other tools over time, in bins of equal length.

use flowloom_core::time::Duration;
use flowloom_store::results::Series;

/// Bins that a series may have: 48 days of seconds.
const MOST_BINS: f64 = 4_194_304.0;

/// Values in bins of one width.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Binned {
    /// Of a bin, as the tool or the run was told.
    pub(super) width: Duration,
    /// A mean for each bin.
    pub(super) values: Vec<f64>,
    /// The time that is measured.
    pub(super) length: Duration,
    /// By how much the bins may be longer or shorter than the test was.
    pub(super) rounding: Duration,
}

/// Why series make no bins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unbinned {
    /// There are fewer than two values.
    TooFew,
    /// A series lacks values where another has some.
    Gaps {
        /// Bins without a value.
        without: usize,
        /// Bins of the time that all series cover.
        of: usize,
    },
}

impl Binned {
    /// Bins of a run, or samples, whose length is known to a bin.
    pub(super) fn to_a_bin(width: Duration, values: Vec<f64>) -> Binned {
        let length = width * values.len() as u64;
        Binned { width, values, length, rounding: width }
    }

    /// Means of `together` bins.
    pub(super) fn wider(&self, together: usize) -> Binned {
        let mean = |bins: &[f64]| bins.iter().sum::<f64>() / together as f64;
        Binned {
            width: self.width * together as u64,
            values: self.values.chunks_exact(together).map(mean).collect(),
            length: self.length,
            rounding: self.rounding,
        }
    }

    /// The sum of `series` over the time that all of them cover. An interval counts by its length: that time is cut into equal bins, as
    /// many as intervals of the median length fit, so that the mean of the bins is that of the time, a short rest at the end included.
    ///
    /// # Errors
    ///
    /// [`Unbinned`], gaps where more than a twentieth of the bins lack a value of a series.
    pub(super) fn sum(series: &[&Series]) -> Result<Binned, Unbinned> {
        let all: Vec<Vec<(f64, f64, f64)>> = series.iter().map(|one| one.intervals()).collect();
        let start = all.iter().filter_map(|one| one.first()).map(|first| first.0).fold(f64::NEG_INFINITY, f64::max);
        let last = |one: &Vec<(f64, f64, f64)>| one.iter().map(|interval| interval.1).fold(f64::NEG_INFINITY, f64::max);
        let length = all.iter().map(last).fold(f64::INFINITY, f64::min) - start;
        let width = all.first().map_or(0, |first| usual_millis(first));
        let count = (length * 1e3 / width as f64).round();
        if width == 0 || !(2.0..=MOST_BINS).contains(&count) {
            return Err(Unbinned::TooFew);
        }
        let step = length / count;
        let mut next = vec![0; all.len()];
        let bin = |number: usize| -> Option<f64> {
            let (from, to) = (start + step * number as f64, start + step * (number + 1) as f64);
            // Every series moves on, also behind one that has no value here.
            let means: Vec<Option<f64>> =
                all.iter().zip(&mut next).map(|(one, next)| mean_of(one, next, from, to)).collect();
            means.into_iter().sum()
        };
        let of = count as usize;
        let values: Vec<f64> = (0..of).filter_map(bin).collect();
        let without = of - values.len();
        if without * 20 > of {
            return Err(Unbinned::Gaps { without, of });
        }
        let length = Duration::from_millis((length * 1e3).round() as u64);
        Ok(Binned { width: Duration::from_millis(width), values, length, rounding: Duration::ZERO })
    }

    /// Values at instants, as many as there are, whose distance is usually the same.
    pub(super) fn samples(series: &Series) -> Result<Binned, Unbinned> {
        let intervals = series.intervals();
        let width = Duration::from_millis(usual_millis(&intervals));
        if width == Duration::ZERO || intervals.len() < 2 {
            return Err(Unbinned::TooFew);
        }
        let values: Vec<f64> = intervals.into_iter().map(|(_, _, value)| value).collect();
        Ok(Binned::to_a_bin(width, values))
    }
}

/// The median length of intervals in whole milliseconds.
fn usual_millis(intervals: &[(f64, f64, f64)]) -> u64 {
    let mut lengths: Vec<f64> = intervals.iter().map(|(start, end, _)| end - start).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.get(lengths.len() / 2).map_or(0, |length| (length * 1e3).round() as u64)
}

/// The mean from `from` to `to` of intervals in the order of time, by their lengths; `None` where they cover less than half of it. `next` is
/// the first that ends behind `from`, and moves on.
fn mean_of(intervals: &[(f64, f64, f64)], next: &mut usize, from: f64, to: f64) -> Option<f64> {
    while intervals.get(*next).is_some_and(|interval| interval.1 <= from) {
        *next += 1;
    }
    let (mut covered, mut sum) = (0.0, 0.0);
    for (start, end, value) in intervals[*next..].iter().take_while(|interval| interval.0 < to) {
        let both = (end.min(to) - start.max(from)).max(0.0);
        covered += both;
        sum += value * both;
    }
    (covered * 2.0 >= to - from).then(|| sum / covered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_store::results::{Quantity, Way};

    /// Intervals one behind the other: (length in seconds, bit/s).
    fn series(intervals: &[(f64, f64)]) -> Series {
        let mut end = 0.0;
        let mut point = |(length, value): &(f64, f64)| {
            end += length;
            (end, *value)
        };
        Series {
            name: "sum".to_owned(),
            quantity: Quantity::BitsPerSecond,
            way: Some(Way::Forward),
            points: intervals.iter().map(&mut point).collect(),
            lengths: intervals.iter().map(|interval| interval.0).collect(),
            view: None,
        }
    }

    fn mean(binned: &Binned) -> f64 {
        binned.values.iter().sum::<f64>() / binned.values.len() as f64
    }

    #[test]
    fn intervals_count_by_their_length() {
        // A test of ten seconds with the usual rest: (length of the rest, its rate, mean of all).
        for (rest, rate, expected) in [(0.04, 0.0, 9.960_159), (0.0004, 0.0, 9.999_6), (0.3, 1.0, 9.737_864)] {
            let intervals: Vec<(f64, f64)> = (0..10).map(|_| (1.0, 10.0)).chain([(rest, rate)]).collect();
            let binned = Binned::sum(&[&series(&intervals)]).unwrap();
            assert_eq!((binned.width, binned.values.len()), (Duration::from_secs(1), 10), "{rest}");
            assert!((mean(&binned) - expected).abs() < 1e-6, "{rest}: {}", mean(&binned));
            assert_eq!(binned.length, Duration::from_millis(10_000 + (rest * 1e3_f64).round() as u64));
        }
    }

    #[test]
    fn directions_are_added_by_their_intervals() {
        let forward = series(&[(1.0, 10.0); 10]);
        let mut back: Vec<(f64, f64)> = vec![(1.0006, 2.0); 5];
        back.extend([(0.9994, 2.0); 5]);
        let binned = Binned::sum(&[&forward, &series(&back)]).unwrap();
        assert_eq!(binned.values.len(), 10);
        assert!((mean(&binned) - 12.0).abs() < 1e-9, "{}", mean(&binned));
    }

    #[test]
    fn gaps_in_one_of_two_series_are_refused() {
        let whole = series(&[(1.0, 10.0); 20]);
        let lacking = |every: usize| {
            let mut series = series(&[(1.0, 5.0); 20]);
            let keep = |place: &usize| *place == 0 || *place == 19 || !place.is_multiple_of(every);
            series.points = (0..20).filter(keep).map(|place| series.points[place]).collect();
            series.lengths.truncate(series.points.len());
            Binned::sum(&[&whole, &series])
        };
        assert_eq!(lacking(2), Err(Unbinned::Gaps { without: 9, of: 20 }));
        assert_eq!(lacking(15).unwrap().values.len(), 19, "one of twenty is left out");
        assert_eq!(Binned::sum(&[&series(&[(1.0, 1.0)])]), Err(Unbinned::TooFew));
        assert_eq!(Binned::sum(&[&series(&[(0.001, 1.0), (0.001, 1.0), (1e9, 1.0)])]), Err(Unbinned::TooFew));
    }
}
