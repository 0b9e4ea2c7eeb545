//! Exact fractional Gaussian noise by circulant embedding (methods D.7; Davies and Harte 1987).

use flowloom_core::rng::Stream;

use crate::fft::{Complex, Fft};
use crate::fsd::standard_normal;

/// The autocovariance at `lag` of fractional Gaussian noise with variance 1 and this Hurst parameter.
pub(super) fn autocovariance(hurst: f64, lag: usize) -> f64 {
    let power = |k: usize| libm::pow(k as f64, 2.0 * hurst);
    (power(lag + 1) - 2.0 * power(lag) + power(lag.abs_diff(1))) / 2.0
}

/// Makes series of fractional Gaussian noise with mean 0 and variance 1.
#[derive(Clone, Debug)]
pub struct GaussianNoise {
    length: usize,
    /// Square roots of lambda / 2n.
    weights: Vec<f64>,
    fft: Fft,
}

impl GaussianNoise {
    /// Of `length` values (at least one is made) with this Hurst parameter, above 0 and below 1.
    pub fn new(hurst: f64, length: usize) -> GaussianNoise {
        let lambda = eigenvalues(hurst, length.max(1).next_power_of_two());
        let all = lambda.len();
        GaussianNoise {
            length: length.max(1),
            // They are not negative but for rounding.
            weights: lambda.iter().map(|lambda| libm::sqrt(lambda.max(0.0) / all as f64)).collect(),
            fft: Fft::new(all),
        }
    }

    /// Two independent series with the numbers of `stream`: real and imaginary part of one transform.
    pub fn pair(&self, stream: &mut Stream) -> [Vec<f64>; 2] {
        let mut values: Vec<Complex> = self
            .weights
            .iter()
            .map(|weight| {
                let real = weight * standard_normal(stream);
                (real, weight * standard_normal(stream))
            })
            .collect();
        self.fft.forward(&mut values);
        values.truncate(self.length);
        [values.iter().map(|value| value.0).collect(), values.iter().map(|value| value.1).collect()]
    }
}

/// The 2n eigenvalues of the circulant matrix whose first row is the autocovariances from lag 0 to n and back; n is a power of two.
fn eigenvalues(hurst: f64, n: usize) -> Vec<f64> {
    let mut row: Vec<Complex> = (0..=n).chain((1..n).rev()).map(|lag| (autocovariance(hurst, lag), 0.0)).collect();
    Fft::new(row.len()).forward(&mut row);
    row.iter().map(|lambda| lambda.0).collect()
}

#[cfg(test)]
mod tests {
    use super::super::vectors::near;
    use super::*;
    use flowloom_core::rng::Purpose;

    #[test]
    fn autocovariances_and_eigenvalues_of_methods_d7() {
        for (h, lag, wanted) in [
            (0.6, 1, 0.148_698_35),
            (0.6, 2, 0.071_199_7),
            (0.6, 3, 0.050_521_36),
            (0.8, 1, 0.515_716_57),
            (0.8, 2, 0.368_339_93),
            (0.8, 3, 0.310_963_85),
            (0.8, 10, 0.191_180_86),
            (0.8, 100, 0.076_075_23),
            (0.9, 1, 0.741_101_13),
            (0.9, 2, 0.630_134_77),
            (0.5, 7, 0.0),
        ] {
            near(autocovariance(h, lag), wanted, 1e-8);
        }
        near(autocovariance(0.8, 0), 1.0, 0.0);
        let wanted = [
            5.568_032_21,
            1.569_829_18,
            0.900_359_79,
            0.720_012_89,
            0.555_979_39,
            0.483_878_85,
            0.411_787_52,
            0.389_938_55,
            0.368_395_45,
        ];
        let found = eigenvalues(0.8, 8);
        assert_eq!(found.len(), 16);
        found.iter().zip(wanted).for_each(|(found, wanted)| near(*found, wanted, 1e-8));
        assert!((1..8).all(|k| (found[k] - found[16 - k]).abs() < 1e-12), "they are symmetric");
    }

    #[test]
    fn series_have_the_autocovariances_of_their_law() {
        const LENGTH: usize = 1_000;
        const PAIRS: u64 = 200;
        let noise = GaussianNoise::new(0.8, LENGTH);
        let (mut products, mut across) = ([0.0; 3], 0.0);
        const LAGS: [usize; 3] = [0, 1, 10];
        for id in 0..PAIRS {
            let pair = noise.pair(&mut Stream::new(1, Purpose::Noise, id));
            across += pair[0].iter().zip(&pair[1]).map(|(a, b)| a * b).sum::<f64>() / (LENGTH as f64 * PAIRS as f64);
            for series in pair {
                assert_eq!(series.len(), LENGTH);
                for (product, lag) in products.iter_mut().zip(LAGS) {
                    let sum = series.iter().zip(&series[lag..]).map(|(a, b)| a * b).sum::<f64>();
                    *product += sum / (LENGTH - lag) as f64 / (2.0 * PAIRS as f64);
                }
            }
        }
        for (product, lag) in products.iter().zip(LAGS) {
            near(*product, autocovariance(0.8, lag), 0.03);
        }
        near(across, 0.0, 0.02);
    }
}
