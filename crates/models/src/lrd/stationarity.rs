//! Whether a series is the same throughout: its parts beside each other (methods D.8).

use super::fit;
use super::fit::Hurst;
use super::noise::autocovariance;
use super::wavelet::{Wavelet, logscale};
use crate::special::chi_square_above;

/// A part of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Mean of its values.
    pub mean: f64,
    /// The fit over the octaves of the whole series' fit, as far as the part has them; `None` if it has fewer than two.
    pub hurst: Option<Hurst>,
}

/// What the parts say.
#[derive(Clone, Debug, PartialEq)]
pub struct Stationarity {
    /// Equal parts in their order; what is left over at the end is in none.
    pub parts: Vec<Part>,
    /// How probable Hurst parameters as unlike as those of the parts are of a series that has one: sum of
    /// (alpha_i - weighted mean)^2 / v_i, chi-square distributed. `None` where a part has none.
    pub hurst_p: Option<f64>,
    /// How probable means as unlike as those of the parts are of long-range dependent values with the Hurst parameter of the whole,
    /// which vary more from part to part than others. `None` if their variance is not known.
    pub mean_p: Option<f64>,
}

impl Stationarity {
    /// Of `counts` in so many parts (at least two) whose fit over the whole is `whole`; `None` if parts would have fewer than 16
    /// values.
    pub fn new(counts: &[f64], parts: usize, whole: &Hurst) -> Option<Stationarity> {
        let length = counts.len() / parts.max(2);
        if length < 16 {
            return None;
        }
        let (first, last) = whole.octaves;
        let parts: Vec<Part> = counts
            .chunks_exact(length)
            .take(parts.max(2))
            .map(|values| {
                let octaves = logscale(values, Wavelet::Three);
                let last = super::choice::last_octave(&octaves).map(|own| own.min(last));
                Part {
                    mean: values.iter().sum::<f64>() / length as f64,
                    hurst: last.and_then(|last| fit(&octaves, first, last)),
                }
            })
            .collect();
        let means: Vec<f64> = parts.iter().map(|part| part.mean).collect();
        Some(Stationarity {
            hurst_p: hurst_p(&parts),
            mean_p: variance_of_means(counts, length, whole).and_then(|variance| mean_p(&means, whole.h, variance)),
            parts,
        })
    }
}

fn hurst_p(parts: &[Part]) -> Option<f64> {
    let fits: Vec<Hurst> = parts.iter().map(|part| part.hurst).collect::<Option<_>>()?;
    let weight = |fit: &Hurst| 1.0 / (fit.standard_error * fit.standard_error);
    let mean = fits.iter().map(|fit| weight(fit) * fit.h).sum::<f64>() / fits.iter().map(weight).sum::<f64>();
    let x: f64 = fits.iter().map(|fit| weight(fit) * (fit.h - mean) * (fit.h - mean)).sum();
    Some(chi_square_above(x, fits.len() as u32 - 1))
}

/// Hurst parameters for which means of blocks are taken to vary as those of fractional Gaussian noise do.
fn bounded(h: f64) -> f64 {
    h.clamp(0.5, 0.99)
}

/// The variance of the mean of `length` values, from that of blocks as long as the fit's first octave, between which and the parts
/// the law of the fit holds; `None` if there are fewer than 16 blocks, or they do not vary.
fn variance_of_means(counts: &[f64], length: usize, whole: &Hurst) -> Option<f64> {
    let size = 1usize.checked_shl(whole.octaves.0)?.min(length);
    let means: Vec<f64> = counts.chunks_exact(size).map(|block| block.iter().sum::<f64>() / size as f64).collect();
    let count = means.len() as f64;
    if means.len() < 16 {
        return None;
    }
    let mean = means.iter().sum::<f64>() / count;
    let found = means.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    // The mean of all strays with them: of n values of fractional Gaussian noise E(variance, 1/n) = (1 - n^(2H-2)) of the true one.
    let slope = 2.0 * bounded(whole.h) - 2.0;
    let variance = found / (1.0 - libm::pow(count, slope));
    (variance > 0.0).then(|| variance * libm::pow(length as f64 / size as f64, slope))
}

/// P of the squared distance of `means` from their common mean, where they are correlated as fractional Gaussian noise of this Hurst
/// parameter (blocks of it are such noise again): chi-square distributed with one fewer degrees of freedom than means.
fn mean_p(means: &[f64], h: f64, variance: f64) -> Option<f64> {
    let count = means.len();
    // Innovations: each value less what those before it foretell, by Levinson's recursion over the autocovariances; the same is
    // done to a series of ones, of which the common mean is the multiple that fits best.
    let covariance: Vec<f64> = (0..count).map(|lag| autocovariance(bounded(h), lag)).collect();
    let mut phi: Vec<f64> = Vec::new();
    let mut spread = 1.0;
    let (mut ones, mut cross, mut squares) = (0.0, 0.0, 0.0);
    for t in 0..count {
        if t > 0 {
            let foretold: f64 = phi.iter().enumerate().map(|(j, phi)| phi * covariance[t - 1 - j]).sum();
            let last = (covariance[t] - foretold) / spread;
            let before = phi.clone();
            phi.iter_mut().zip(before.iter().rev()).for_each(|(phi, back)| *phi -= last * back);
            phi.push(last);
            spread *= 1.0 - last * last;
        }
        let foretold =
            |of: &dyn Fn(usize) -> f64| phi.iter().enumerate().map(|(j, phi)| phi * of(t - 1 - j)).sum::<f64>();
        let one = 1.0 - foretold(&|_| 1.0);
        let value = means[t] - foretold(&|at| means[at]);
        ones += one * one / spread;
        cross += one * value / spread;
        squares += value * value / spread;
    }
    let x = (squares - cross * cross / ones).max(0.0) / variance;
    x.is_finite().then(|| chi_square_above(x, count as u32 - 1))
}

#[cfg(test)]
mod tests {
    use super::super::vectors::near;
    use super::super::{GaussianNoise, hurst};
    use super::*;
    use flowloom_core::rng::{Purpose, Stream};

    #[test]
    fn means_of_independent_values_have_the_plain_chi_square() {
        let means = [1.0, 2.0, 4.0, 1.0];
        // Squared distances from the mean 2 are 1, 0, 4, 1.
        near(mean_p(&means, 0.5, 2.0).unwrap(), chi_square_above(3.0, 3), 1e-12);
    }

    #[test]
    fn correlated_means_are_whitened() {
        // Of two values with correlation r the difference has the variance 2 (1 - r).
        let r = autocovariance(0.8, 1);
        near(mean_p(&[1.0, 4.0], 0.8, 2.0).unwrap(), chi_square_above(9.0 / (4.0 * (1.0 - r)), 1), 1e-12);
    }

    fn screened(change: impl Fn(usize, f64) -> f64, h: f64) -> (f64, f64) {
        const SERIES: u64 = 60;
        let noise = GaussianNoise::new(h, 4_096);
        let mut rejected = (0.0, 0.0);
        for id in 0..SERIES {
            for series in noise.pair(&mut Stream::new(3, Purpose::Noise, id)) {
                let series: Vec<f64> = series.into_iter().enumerate().map(|(t, x)| change(t, x)).collect();
                let found = Stationarity::new(&series, 4, &hurst(&series).unwrap()).unwrap();
                assert_eq!(found.parts.len(), 4);
                rejected.0 += f64::from(u8::from(found.hurst_p.unwrap() < 0.05)) / (2.0 * SERIES as f64);
                rejected.1 += f64::from(u8::from(found.mean_p.unwrap() < 0.05)) / (2.0 * SERIES as f64);
            }
        }
        rejected
    }

    #[test]
    fn stationary_series_pass_and_a_rise_is_found() {
        for h in [0.5, 0.7, 0.9] {
            let (by_hurst, by_mean) = screened(|_, x| x, h);
            assert!(by_hurst < 0.15 && by_mean < 0.15, "H {h}: {by_hurst}, {by_mean}");
        }
        let (_, by_mean) = screened(|t, x| x + if t < 2_048 { 0.0 } else { 1.0 }, 0.7);
        assert!(by_mean > 0.8, "{by_mean}");
        // Memory that begins half way.
        let (by_hurst, _) =
            screened(|t, x| if t < 2_048 { x } else { x + 3.0 * f64::from(u8::from(t / 256 % 2 == 0)) }, 0.5);
        assert!(by_hurst > 0.8, "{by_hurst}");
    }

    #[test]
    fn too_short_a_series_has_no_parts() {
        let whole = Hurst { h: 0.5, standard_error: 0.1, octaves: (3, 5), intercept: 0.0, q: 0.0, p: None };
        assert_eq!(Stationarity::new(&[1.0; 63], 4, &whole), None);
        let level = Stationarity::new(&[1.0; 640], 4, &whole).unwrap();
        assert_eq!((level.hurst_p, level.mean_p), (None, None), "no energy, no variance");
    }
}
