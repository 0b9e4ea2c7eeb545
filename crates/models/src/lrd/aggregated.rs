//! Two estimates from blocks of growing size (methods D.6). Both are biased and have no honest standard error: pictures.

/// The estimate by aggregated variances over blocks of these sizes: half the slope of the logarithm of their means' variance, plus 1.
/// Biased low for large H. `None` if a block size has fewer than two blocks, or they do not vary.
pub fn variance_time(counts: &[f64], sizes: &[usize]) -> Option<f64> {
    let point = |&size: &usize| {
        let means: Vec<f64> =
            counts.chunks_exact(size.max(1)).map(|block| block.iter().sum::<f64>() / size as f64).collect();
        let variance = mean_and_variance(&means).1;
        (means.len() > 1 && variance > 0.0).then(|| (libm::log10(size as f64), libm::log10(variance)))
    };
    let points: Option<Vec<(f64, f64)>> = sizes.iter().map(point).collect();
    Some(1.0 + slope(&points?)? / 2.0)
}

/// The estimate by rescaled range over blocks of these sizes: the slope of the logarithm of (how far cumulative sums stray) /
/// (standard deviation). Biased up at H = 0.5 and down at 0.9. Blocks that do not vary are left out; `None` if a size has none left.
pub fn rescaled_range(counts: &[f64], sizes: &[usize]) -> Option<f64> {
    let point = |&size: &usize| {
        let ratios = counts.chunks_exact(size.max(1)).filter_map(|block| {
            let (mean, variance) = mean_and_variance(block);
            let (mut sum, mut low, mut high) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
            for x in block {
                sum += x - mean;
                (low, high) = (low.min(sum), high.max(sum));
            }
            (variance > 0.0).then(|| (high - low) / libm::sqrt(variance))
        });
        let (sum, blocks) = ratios.fold((0.0, 0u32), |(sum, blocks), ratio| (sum + ratio, blocks + 1));
        (sum > 0.0).then(|| (libm::log10(size as f64), libm::log10(sum / f64::from(blocks))))
    };
    let points: Option<Vec<(f64, f64)>> = sizes.iter().map(point).collect();
    slope(&points?)
}

/// Mean, and variance with 1/n.
fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count)
}

/// The slope of the least-squares line; `None` if all points have the same abscissa.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread = points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    (spread > 0.0).then(|| points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread)
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{both, lcg, near};
    use super::*;

    #[test]
    fn test_vectors_of_methods_d9() {
        let blocks: Vec<usize> = (0..6).map(|power| 10 << power).collect();
        let sizes: Vec<usize> = (4..=10).map(|power| 1 << power).collect();
        for (series, variance, range) in
            both().iter().zip([(0.481_341, 0.543_463), (0.753_813, 0.779_072)]).map(|(s, w)| (s, w.0, w.1))
        {
            near(variance_time(series, &blocks).unwrap(), variance, 1e-6);
            near(rescaled_range(series, &sizes).unwrap(), range, 1e-6);
        }
    }

    #[test]
    fn too_few_counts_or_always_the_same_have_no_estimate() {
        assert_eq!(variance_time(&[1.0; 100], &[1, 2, 4]), None);
        assert_eq!(variance_time(&lcg(100, 1), &[1, 200]), None);
        assert_eq!(rescaled_range(&[1.0; 100], &[16, 32]), None);
        assert_eq!(rescaled_range(&lcg(100, 1), &[16, 200]), None);
        assert_eq!(rescaled_range(&lcg(100, 1), &[16]), None, "one size has no slope");
        assert_eq!((variance_time(&[], &[]), rescaled_range(&[], &[0])), (None, None));
    }
}
