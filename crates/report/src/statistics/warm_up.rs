//! How much of the beginning of a run to leave out: MSER-5 (White 1997, White, Cobb and Spratt 2000) and Welch's running mean (Welch 1983;
//! methods E.5).

/// Values that are added up before MSER looks at them.
const TOGETHER: usize = 5;

/// How many values at the beginning of `series`, up to half of them, to leave out so that the squared standard error of the mean of the
/// others, taken as independent, is least. `None` if that is half: the series has not settled. Nor of fewer than 50 values.
pub fn mser5(series: &[f64]) -> Option<usize> {
    let means: Vec<f64> =
        series.chunks_exact(TOGETHER).map(|chunk| chunk.iter().sum::<f64>() / TOGETHER as f64).collect();
    if means.len() < 2 * TOGETHER {
        return None;
    }
    let half = means.len() / 2;
    // From the end: mean and sum of squared distances to it of all that follows (Welford).
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, half);
    for (cut, value) in means.iter().enumerate().rev() {
        count += 1.0;
        let before = value - mean;
        mean += before / count;
        squares += before * (value - mean);
        let statistic = squares / (count * count);
        if cut <= half && statistic <= best.0 {
            best = (statistic, cut);
        }
    }
    Some(best.1).filter(|cut| *cut < half).map(|cut| cut * TOGETHER)
}

/// Welch's running mean: at each value the mean of `reach` values before and after it, fewer near the beginning so that both sides are
/// alike; shorter than `series` by `reach`.
pub fn running_mean(series: &[f64], reach: usize) -> Vec<f64> {
    let mut sums = vec![0.0];
    for value in series {
        sums.push(sums[sums.len() - 1] + value);
    }
    (0..series.len().saturating_sub(reach))
        .map(|at| {
            let reach = reach.min(at);
            (sums[at + reach + 1] - sums[at - reach]) / (2 * reach + 1) as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};

    use super::super::vectors::assert_near;
    use super::*;

    /// Noise around 10 after a rise.
    fn rising(values: usize, rise: usize, id: u64) -> Vec<f64> {
        let mut stream = Stream::new(4, Purpose::Sizes, id);
        let level = |t: usize| if t < rise { 10.0 * t as f64 / rise as f64 } else { 10.0 };
        (0..values).map(|t| level(t) + stream.uniform() - 0.5).collect()
    }

    #[test]
    fn the_rise_is_cut_and_little_more() {
        for id in 0..20 {
            let cut = mser5(&rising(1_000, 200, id)).unwrap();
            assert!((175..=260).contains(&cut), "{cut}");
            let none = mser5(&rising(1_000, 0, id)).unwrap();
            assert!(none <= 300, "{none}");
        }
    }

    #[test]
    fn what_does_not_settle_says_so() {
        assert_eq!(mser5(&rising(1_000, 1_000, 0)), None);
        assert_eq!(mser5(&[1.0; 49]), None, "too few");
        assert_eq!(mser5(&[1.0; 50]), Some(0), "level");
    }

    /// The statistic of each cut by its definition.
    #[test]
    fn it_is_the_least_squared_error() {
        let series = rising(100, 30, 7);
        let means: Vec<f64> = series.chunks_exact(5).map(|chunk| chunk.iter().sum::<f64>() / 5.0).collect();
        let statistic = |cut: usize| {
            let rest = &means[cut..];
            let mean = rest.iter().sum::<f64>() / rest.len() as f64;
            rest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
        };
        let best = (0..=10).min_by(|a, b| statistic(*a).total_cmp(&statistic(*b))).unwrap();
        assert_eq!(mser5(&series), Some(5 * best));
    }

    #[test]
    fn running_means_by_hand() {
        let found = running_mean(&[1.0, 5.0, 3.0, 7.0, 9.0, 11.0], 2);
        // 1; (1 + 5 + 3) / 3; all five; the next five.
        for (found, wanted) in found.iter().zip([1.0, 3.0, 5.0, 7.0]) {
            assert_near(*found, wanted, 1e-12);
        }
        assert_eq!(found.len(), 4);
        assert_eq!(running_mean(&[1.0], 2), Vec::<f64>::new());
    }
}
