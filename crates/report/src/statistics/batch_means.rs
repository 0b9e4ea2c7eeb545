//! The mean of one long run by batches of time (Law and Kelton 1982; methods E.5).

use serde::Serialize;

use super::blocks::lag_1;
use super::interval::Interval;
use super::ratio::ratio_estimate;
use super::student::Estimate;

/// Batches a run is cut into: with twenty, more batches would narrow the interval little, and fewer values each would follow each other.
const BATCHES: usize = 20;

/// A mean over a run and how far to trust it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BatchMeans {
    /// Batches, of equal time.
    pub batches: usize,
    /// The mean.
    pub mean: f64,
    /// Its 95 % interval, by Student's law with one fewer degrees of freedom than batches.
    pub interval: Interval,
    /// Autocorrelation of neighbouring batches: above some 0.2 batches are too short, and the interval too narrow.
    pub lag_1_autocorrelation: f64,
}

impl BatchMeans {
    /// The mean of a series with a value in each bin of time, of which a rest at the end is left out; `None` if it has not two values for
    /// each of twenty batches.
    pub fn of_series(series: &[f64]) -> Option<BatchMeans> {
        let means: Vec<f64> = batches(series)?.map(|batch| batch.iter().sum::<f64>() / batch.len() as f64).collect();
        BatchMeans::new(Estimate::of_mean(&means)?, &means)
    }

    /// The mean of values of which as many fall into a bin of time as happen to: (how many, their sum). A ratio of two means, with
    /// its interval. `None` as above, and if a batch has no value.
    pub fn of_counted(bins: &[(u64, f64)]) -> Option<BatchMeans> {
        let sums: Vec<(f64, f64)> = batches(bins)?
            .map(|batch| (batch.iter().map(|bin| bin.1).sum(), batch.iter().map(|bin| bin.0 as f64).sum()))
            .collect();
        if sums.iter().any(|(_, count)| *count == 0.0) {
            return None;
        }
        let means: Vec<f64> = sums.iter().map(|(sum, count)| sum / count).collect();
        BatchMeans::new(ratio_estimate(&sums)?, &means)
    }

    fn new(estimate: Estimate, means: &[f64]) -> Option<BatchMeans> {
        Some(BatchMeans {
            batches: means.len(),
            mean: estimate.value,
            interval: estimate.interval_from_zero(0.95),
            lag_1_autocorrelation: lag_1(means),
        })
    }
}

fn batches<T>(values: &[T]) -> Option<impl Iterator<Item = &[T]>> {
    let length = values.len() / BATCHES;
    (length > 1).then(|| values.chunks_exact(length).take(BATCHES))
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};

    use super::super::vectors::assert_near;
    use super::*;

    #[test]
    fn equal_counts_make_the_same_mean_either_way() {
        let series: Vec<f64> = (0..203).map(|t| f64::from(t * 7_919 % 101)).collect();
        let counted: Vec<(u64, f64)> = series.iter().map(|value| (3, 3.0 * value)).collect();
        let (plain, ratio) = (BatchMeans::of_series(&series).unwrap(), BatchMeans::of_counted(&counted).unwrap());
        assert_eq!(plain.batches, 20);
        assert_near(plain.mean, series[..200].iter().sum::<f64>() / 200.0, 1e-12);
        for (one, other) in [
            (plain.mean, ratio.mean),
            (plain.interval.low, ratio.interval.low),
            (plain.interval.high, ratio.interval.high),
            (plain.lag_1_autocorrelation, ratio.lag_1_autocorrelation),
        ] {
            assert_near(one, other, 1e-9);
        }
    }

    /// Of independent values and of such that follow each other for a while: the interval holds the mean nearly as often as it says, and
    /// the check tells where batches are too short for that.
    #[test]
    fn intervals_hold_the_mean_and_the_check_warns() {
        for (keep, least, most_followed) in [(0.0, 0.9, 0.1), (0.9, 0.88, 0.2), (0.999, 0.0, 1.0)] {
            let (mut held, mut followed) = (0.0, 0.0);
            for id in 0..200 {
                let mut stream = Stream::new(9, Purpose::Sizes, id);
                let mut x = 0.0;
                let series: Vec<f64> = (0..6_000)
                    .map(|_| {
                        x = keep * x + stream.uniform() - 0.5;
                        x
                    })
                    .collect();
                let found = BatchMeans::of_series(&series).unwrap();
                held += f64::from(u8::from(found.interval.holds(0.0))) / 200.0;
                followed += found.lag_1_autocorrelation / 200.0;
            }
            assert!(held >= least && followed <= most_followed, "{keep}: {held} held, {followed}");
            assert!(keep < 0.99 || held < 0.88 && followed > 0.2, "{keep}: {held} held, {followed}");
        }
    }

    #[test]
    fn too_few_values_or_empty_batches_have_no_mean() {
        assert_eq!(BatchMeans::of_series(&[1.0; 39]), None);
        assert!(BatchMeans::of_series(&[1.0; 40]).is_some());
        let mut bins = vec![(1, 2.0); 40];
        bins[0] = (0, 0.0);
        assert!(BatchMeans::of_counted(&bins).is_some(), "a bin may be empty");
        bins[1] = (0, 0.0);
        assert_eq!(BatchMeans::of_counted(&bins), None, "a batch may not");
    }
}
