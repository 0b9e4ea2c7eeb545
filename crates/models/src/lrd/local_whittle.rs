//! The local Whittle estimate (Robinson 1995): of low frequencies alone, so that it asks for no law of the others.

use super::estimate::Estimate;
use super::minimum::minimum;
use super::periodogram::periodogram;

/// Hurst parameters that are looked at: above 1 the estimate is no longer consistent.
const RANGE: (f64, f64) = (0.01, 1.0);
/// Frequencies without which there is no estimate.
const FEWEST: usize = 8;

/// How many frequencies are usual for `length` values: n^0.65, below the n^0.8 from which on the bias of fractional Gaussian noise
/// is larger than the standard error.
pub fn bandwidth(length: usize) -> usize {
    libm::pow(length as f64, 0.65) as usize
}

/// The estimate of `series` from its `frequencies` lowest Fourier frequencies, with the standard error 1 / (2 sqrt(frequencies));
/// `None` of fewer than eight, or if the series is always the same.
pub fn local_whittle(series: &[f64], frequencies: usize) -> Option<Estimate> {
    let mut points = periodogram(series);
    points.truncate(frequencies);
    if points.len() < FEWEST || points.iter().all(|point| point.1 <= 0.0) {
        return None;
    }
    let count = points.len() as f64;
    let points: Vec<(f64, f64)> = points.into_iter().map(|(l, power)| (libm::log(l), power)).collect();
    let mean = points.iter().map(|point| point.0).sum::<f64>() / count;
    let h = minimum(RANGE.0, RANGE.1, |h| {
        let slope = 2.0 * h - 1.0;
        let sum: f64 = points.iter().map(|(logarithm, power)| power * libm::exp(slope * logarithm)).sum();
        libm::log(sum / count) - slope * mean
    });
    Some(Estimate { h, standard_error: 0.5 / libm::sqrt(count) })
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{both, lcg, near};
    use super::*;

    #[test]
    fn memory_is_found_and_its_absence() {
        let [white, long] = both();
        assert_eq!(bandwidth(16_384), 548);
        for (series, h) in [(&white, 0.5), (&long, 0.8)] {
            let found = local_whittle(series, 548).unwrap();
            near(found.standard_error, 0.021_359, 1e-6);
            near(found.h, h, 3.0 * found.standard_error);
        }
    }

    /// Where powers follow the law exactly, the estimate is the law's: R(H) has its minimum there up to the sum's curvature.
    #[test]
    fn it_is_the_minimum_of_robinsons_function() {
        let [_, long] = both();
        let found = local_whittle(&long, 200).unwrap();
        let objective = |h: f64| {
            let points = &periodogram(&long)[..200];
            let sum: f64 = points.iter().map(|(l, power)| l.powf(2.0 * h - 1.0) * power).sum();
            let logs: f64 = points.iter().map(|(l, _)| l.ln()).sum();
            (sum / 200.0).ln() - (2.0 * h - 1.0) * logs / 200.0
        };
        assert!(objective(found.h) < objective(found.h + 1e-4) && objective(found.h) < objective(found.h - 1e-4));
    }

    #[test]
    fn too_few_or_always_the_same_have_no_estimate() {
        assert_eq!(local_whittle(&[], 100), None);
        assert_eq!(local_whittle(&lcg(100, 1), 7), None);
        assert_eq!(local_whittle(&lcg(16, 1), 100), None);
        assert_eq!(local_whittle(&[2.0; 64], 20), None);
    }
}
