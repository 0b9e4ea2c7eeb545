//! The mean of one long series with its interval, by blocks of time (methods L.3): the circular moving-block bootstrap (Künsch 1989,
//! Politis and Romano 1992).
//!
//! Of a mean nothing need be drawn: the variance over all resamples is that of the means of all blocks, divided by how many blocks make a
//! resample. Few blocks make that too small; it is mended as a variance of so many values is, and the interval is Student's.
//!
//! Blocks of traffic with long-range dependence are not independent however long they are: the variance of a mean of k of them falls with
//! k^(2H-2), not with 1/k, and that among them is smaller than it should be by a part of the same size (Beran 1994, 1.1). So the Hurst
//! parameter of the series, where it is above 1/2, widens the interval.

use flowloom_models::lrd::hurst;

use super::student::Estimate;

/// Fewer blocks than this say too little of how far they vary.
pub const FEWEST_BLOCKS: usize = 10;
/// Blocks whose means follow each other more than this (lag-1 autocorrelation) are made longer.
const MOST_CORRELATION: f64 = 0.2;
/// Estimates at 1 and above are no stationary series'; nothing can be told of them.
const MOST_HURST: f64 = 0.99;

/// A mean over blocks, and what blocks these were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockEstimate {
    /// The mean, its standard error and degrees of freedom.
    pub estimate: Estimate,
    /// Bins of a block, of the longer ones if two series have their own.
    pub length: usize,
    /// Blocks that the series is long, of the shorter one.
    pub blocks: usize,
}

impl BlockEstimate {
    /// The mean of `series`, from blocks of `shortest` bins, or of twice, four times ... as many if the means of the blocks still follow
    /// each other. `None` if the series is not [`FEWEST_BLOCKS`] blocks long.
    pub fn of_mean(series: &[f64], shortest: usize) -> Option<BlockEstimate> {
        let n = series.len();
        let mut length = shortest.max(1);
        while n / length >= FEWEST_BLOCKS {
            let means: Vec<f64> = series.chunks_exact(length).map(mean).collect();
            if lag_1(&means) <= MOST_CORRELATION {
                let blocks = n / length;
                let value = mean(series);
                let variance = circular_variance(series, length, value) * share_of_mean(series, blocks);
                let estimate = Estimate { value, standard_error: variance.sqrt(), degrees: (blocks - 1) as f64 };
                return Some(BlockEstimate { estimate, length, blocks });
            }
            length *= 2;
        }
        None
    }

    /// mean(b) - mean(a). With `paired`, both are of the same moments and their blocks are drawn together.
    pub fn of_difference(a: &[f64], b: &[f64], shortest: usize, paired: bool) -> Option<BlockEstimate> {
        if paired {
            let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
            return BlockEstimate::of_mean(&differences, shortest).filter(|_| a.len() == b.len());
        }
        let (of_a, of_b) = (BlockEstimate::of_mean(a, shortest)?, BlockEstimate::of_mean(b, shortest)?);
        Some(BlockEstimate {
            estimate: of_a.estimate.to(of_b.estimate),
            length: of_a.length.max(of_b.length),
            blocks: of_a.blocks.min(of_b.blocks),
        })
    }
}

/// The variance of the mean of `blocks` blocks relative to what is seen of theirs: 1/(blocks - 1) without long memory.
fn share_of_mean(series: &[f64], blocks: usize) -> f64 {
    let h = hurst(series).map_or(0.5, |hurst| hurst.h.clamp(0.5, MOST_HURST));
    let share = libm::pow(blocks as f64, 2.0 * h - 2.0);
    share / (1.0 - share)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Autocorrelation of neighbours; 0 where nothing varies.
pub(super) fn lag_1(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// Mean square by which the means of all blocks of `length` bins, those across the end included, differ from `centre`.
fn circular_variance(series: &[f64], length: usize, centre: f64) -> f64 {
    let n = series.len();
    let mut sum: f64 = series[..length].iter().map(|value| value - centre).sum();
    let mut squares = 0.0;
    for start in 0..n {
        squares += (sum / length as f64).powi(2);
        sum += series[(start + length) % n] - series[start];
    }
    squares / n as f64
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};
    use flowloom_models::lrd::GaussianNoise;

    use super::super::vectors::assert_near;
    use super::*;

    /// A series whose values follow each other: x(t) = keep x(t - 1) + uniform noise around zero.
    fn series(id: u64, n: usize, keep: f64) -> Vec<f64> {
        let mut stream = Stream::new(5, Purpose::Sizes, id);
        let mut x = 0.0;
        let mut step = || {
            x = keep * x + stream.uniform() - 0.5;
            x
        };
        (0..200).for_each(|_| {
            step();
        });
        (0..n).map(|_| 10.0 + step()).collect()
    }

    /// What the closed form replaces: blocks drawn with replacement.
    #[test]
    fn the_closed_form_is_what_resampling_converges_to() {
        let values = series(0, 1_200, 0.8);
        let found = circular_variance(&values, 60, mean(&values)) / 20.0;
        let mut stream = Stream::new(6, Purpose::Bootstrap, 0);
        let resampled: Vec<f64> = (0..4_000)
            .map(|_| {
                let mut sum = 0.0;
                for _ in 0..20 {
                    let start = stream.below(1_200) as usize;
                    sum += (0..60).map(|offset| values[(start + offset) % 1_200]).sum::<f64>();
                }
                sum / 1_200.0
            })
            .collect();
        let centre = mean(&resampled);
        let variance = resampled.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / 4_000.0;
        assert_near(found / variance, 1.0, 0.06);
    }

    #[test]
    fn a_common_course_cancels_where_blocks_are_paired() {
        let course = series(1, 1_800, 0.97);
        let noise = series(2, 1_800, 0.0);
        let other: Vec<f64> = course.iter().zip(&noise).map(|(x, noise)| x + (noise - 10.0) / 10.0 + 0.05).collect();
        let paired = BlockEstimate::of_difference(&course, &other, 60, true).unwrap();
        assert_near(paired.estimate.value, 0.05, 0.01);
        assert!(paired.estimate.p_value() < 1e-3, "{paired:?}");
        let apart = BlockEstimate::of_difference(&course, &other, 60, false).unwrap();
        assert!(apart.estimate.p_value() > 0.3, "{apart:?}");
    }

    #[test]
    fn long_memory_widens_the_interval() {
        let white = series(4, 3_600, 0.0);
        let plain = BlockEstimate::of_mean(&white, 60).unwrap();
        let of_blocks = (circular_variance(&white, 60, mean(&white)) / 59.0).sqrt();
        assert!((1.0..1.5).contains(&(plain.estimate.standard_error / of_blocks)), "white noise has none");
        let [long, _] = GaussianNoise::new(0.8, 3_600).pair(&mut Stream::new(8, Purpose::Sizes, 0));
        if let Some(found) = BlockEstimate::of_mean(&long, 60) {
            // The truth: a mean of n values of variance 1 has variance n^(2H-2).
            let truth = libm::pow(3_600.0, 0.8 - 1.0);
            assert!((0.5..2.0).contains(&(found.estimate.standard_error / truth)), "{found:?}");
        }
        assert!(share_of_mean(&long, 60) > 5.0 / 59.0);
    }

    #[test]
    fn too_short_or_too_steady_a_course_gives_nothing() {
        let values = series(3, 599, 0.5);
        assert_eq!(BlockEstimate::of_mean(&values, 60), None);
        assert_eq!(BlockEstimate::of_difference(&values, &values[1..], 10, true), None, "not of the same moments");
        let climbing: Vec<f64> = (0..3_600).map(f64::from).collect();
        assert_eq!(BlockEstimate::of_mean(&climbing, 60), None);
        let still = BlockEstimate::of_mean(&[3.0; 600], 60).unwrap();
        assert_eq!((still.estimate.value, still.estimate.standard_error), (3.0, 0.0));
    }
}
