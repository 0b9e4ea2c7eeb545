//! The bootstrap over runs (methods L.3): intervals of ratios, percentile and BCa (Efron 1987). Runs are drawn, never connections, which
//! depend on each other.

use flowloom_core::distribution::{normal_below, normal_quantile};
use flowloom_core::rng::{Purpose, Stream};

use super::interval::Interval;

/// How often runs are drawn, usually (methods L.3).
pub const RESAMPLES: usize = 10_000;
/// The seed of all resampling: equal runs give equal intervals, wherever and beside whatever they are compared.
pub const RESAMPLING_SEED: u64 = 1;

/// Intervals of mean(b) / mean(a).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioIntervals {
    /// The ratio itself.
    pub ratio: f64,
    /// Between the quantiles of the resampled ratios.
    pub percentile: Interval,
    /// The same with bias corrected and accelerated.
    pub bca: Interval,
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// Intervals of the ratio of the means of `b` and `a`, one value per run, from so many resamples. With `paired`, the n-th runs of both are
/// drawn together. `None` without resamples, of fewer than two runs on a side, of pairs whose lists differ in length, or where a mean of
/// `a` is not above zero.
pub fn ratio_intervals(
    a: &[f64],
    b: &[f64],
    paired: bool,
    confidence: f64,
    resamples: usize,
) -> Option<RatioIntervals> {
    if resamples == 0 || a.len().min(b.len()) < 2 || (paired && a.len() != b.len()) {
        return None;
    }
    let of = |a: f64, b: f64| (a > 0.0).then(|| b / a);
    let ratio = of(mean(a.iter().copied()), mean(b.iter().copied()))?;
    let mut stream = Stream::new(RESAMPLING_SEED, Purpose::Bootstrap, 0);
    let mut ratios = Vec::with_capacity(resamples);
    let mut draw = |runs: &mut [usize]| {
        let n = runs.len() as u64;
        runs.iter_mut().for_each(|run| *run = stream.below(n) as usize);
    };
    let (mut of_a, mut of_b) = (vec![0; a.len()], vec![0; b.len()]);
    let mean_of = |values: &[f64], runs: &[usize]| mean(runs.iter().map(|&run| values[run]));
    for _ in 0..resamples {
        draw(&mut of_a);
        if paired {
            of_b.copy_from_slice(&of_a)
        } else {
            draw(&mut of_b)
        }
        ratios.push(of(mean_of(a, &of_a), mean_of(b, &of_b))?);
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let at = |p: f64| ratios[((p * resamples as f64) as usize).min(resamples - 1)];
    let tail = f64::midpoint(0.0, 1.0 - confidence);
    let percentile = Interval { low: at(tail), high: at(1.0 - tail) };
    let bca = match corrections(&ratios, ratio, a, b, paired) {
        Some((bias, acceleration)) => {
            let corrected = |p: f64| {
                let z = bias + normal_quantile(p);
                normal_below(bias + z / (1.0 - acceleration * z))
            };
            Interval { low: at(corrected(tail)), high: at(corrected(1.0 - tail)) }
        }
        None => percentile,
    };
    Some(RatioIntervals { ratio, percentile, bca })
}

/// Efron's bias correction and acceleration; `None` where nothing varies.
fn corrections(sorted: &[f64], ratio: f64, a: &[f64], b: &[f64], paired: bool) -> Option<(f64, f64)> {
    // Ties with the estimate count half, so that few different resamples do not pass for bias.
    let below = sorted.partition_point(|&value| value < ratio);
    let up_to = sorted.partition_point(|&value| value <= ratio);
    let bias = normal_quantile(f64::midpoint(below as f64, up_to as f64) / sorted.len() as f64);
    let without =
        |values: &[f64], left_out: usize| (values.iter().sum::<f64>() - values[left_out]) / (values.len() - 1) as f64;
    let (mean_a, mean_b) = (mean(a.iter().copied()), mean(b.iter().copied()));
    // Influence of each run by leaving it out; of two samples each relative to its own mean (Efron and Tibshirani 1993, 14.3).
    let influences: Vec<f64> = if paired {
        let left: Vec<f64> = (0..a.len()).map(|run| without(b, run) / without(a, run)).collect();
        let centre = mean(left.iter().copied());
        left.iter().map(|value| centre - value).collect()
    } else {
        let left_a: Vec<f64> = (0..a.len()).map(|run| mean_b / without(a, run)).collect();
        let left_b: Vec<f64> = (0..b.len()).map(|run| without(b, run) / mean_a).collect();
        let scaled = |left: Vec<f64>| {
            let (centre, scale) = (mean(left.iter().copied()), (left.len() - 1) as f64 / left.len() as f64);
            left.into_iter().map(move |value| (centre - value) * scale)
        };
        scaled(left_a).chain(scaled(left_b)).collect()
    };
    let power = |power: i32| influences.iter().map(|influence| influence.powi(power)).sum::<f64>();
    let squares = power(2);
    let acceleration = power(3) / (6.0 * squares * squares.sqrt());
    (bias.is_finite() && acceleration.is_finite()).then_some((bias, acceleration))
}

#[cfg(test)]
mod tests {
    use super::super::vectors::assert_near;
    use super::*;

    #[test]
    fn pairs_are_drawn_together() {
        // b is a and a tenth more, run by run: every resample has the ratio 1.1.
        let a = [10.0, 20.0, 30.0, 40.0, 50.0];
        let b = a.map(|value| value * 1.1);
        let paired = ratio_intervals(&a, &b, true, 0.95, RESAMPLES).unwrap();
        assert_near(paired.percentile.low, 1.1, 1e-12);
        assert_near(paired.percentile.high, 1.1, 1e-12);
        assert_near(paired.bca.low, 1.1, 1e-12);
        let apart = ratio_intervals(&a, &b, false, 0.95, RESAMPLES).unwrap();
        assert!(apart.percentile.low < 0.8 && apart.percentile.high > 1.5, "{apart:?}");
        assert_eq!(apart, ratio_intervals(&a, &b, false, 0.95, RESAMPLES).unwrap(), "the same numbers are drawn again");
    }

    /// Against the law of the resampled mean itself: all 27 samples with replacement of three values.
    #[test]
    fn percentiles_are_those_of_all_resamples() {
        let b = [1.0, 2.0, 6.0];
        let mut all: Vec<f64> = Vec::new();
        for x in b {
            for y in b {
                for z in b {
                    all.push((x + y + z) / 3.0);
                }
            }
        }
        all.sort_unstable_by(f64::total_cmp);
        let found = ratio_intervals(&[1.0, 1.0], &b, false, 0.8, RESAMPLES).unwrap();
        // 10 % and 90 % of 27 are within the third and the twenty-fifth.
        assert_eq!((found.percentile.low, found.percentile.high), (all[2], all[24]));
    }

    /// The interval of the mean of a skewed sample is moved towards its tail by BCa.
    #[test]
    fn skewed_runs_move_the_corrected_interval() {
        let b = [1.0, 1.1, 1.2, 1.2, 1.3, 1.4, 1.5, 9.0];
        let found = ratio_intervals(&[1.0, 1.0], &b, false, 0.9, RESAMPLES).unwrap();
        assert!(found.bca.low > found.percentile.low && found.bca.high > found.percentile.high, "{found:?}");
        let even = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7];
        // Means of eight of these are eightieths.
        let found = ratio_intervals(&[1.0, 1.0], &even, false, 0.9, RESAMPLES).unwrap();
        assert_near(found.bca.low, found.percentile.low, 0.013);
        assert_near(found.bca.high, found.percentile.high, 0.013);
    }

    #[test]
    fn undefined_without_two_runs_or_a_reference_above_zero() {
        assert_eq!(ratio_intervals(&[1.0], &[1.0, 2.0], false, 0.95, RESAMPLES), None);
        assert_eq!(ratio_intervals(&[0.0, 0.0], &[1.0, 2.0], false, 0.95, RESAMPLES), None);
        assert_eq!(ratio_intervals(&[1.0, 2.0, 3.0], &[1.0, 2.0], true, 0.95, RESAMPLES), None);
        let still = ratio_intervals(&[2.0, 2.0], &[4.0, 4.0], false, 0.95, RESAMPLES).unwrap();
        assert_eq!((still.ratio, still.bca), (2.0, Interval { low: 2.0, high: 2.0 }));
    }
}
