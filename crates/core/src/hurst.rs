//! Long-range dependence of counts: the wavelet estimate of the Hurst parameter (methods D.1-D.3; Abry and Veitch 1998, Veitch and
//! Abry 1999) and the variance-time plot's slope (D.6).

use crate::special::{digamma, trigamma};

/// The scaling filter of Daubechies with three vanishing moments.
const SCALING: [f64; 6] = [
    0.332_670_552_950_082_63,
    0.806_891_509_311_092_5,
    0.459_877_502_118_491_54,
    -0.135_011_020_010_254_58,
    -0.085_441_273_882_026_66,
    0.035_226_291_885_709_53,
];

/// The quantile of the standard normal distribution that leaves 2.5 % above it.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// Fewest coefficients an octave of a fit has (methods D.4).
const FEWEST: usize = 8;

/// One octave of a logscale diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Octave {
    /// Its number j, from 1: a time scale of 2^j bins.
    pub number: u32,
    /// How many wavelet coefficients it has.
    pub coefficients: usize,
    /// log2 of their mean square, without the bias of that logarithm.
    pub energy: f64,
    /// Variance of `energy`, known up to the data.
    pub variance: f64,
}

/// An estimate of the Hurst parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hurst {
    /// The estimate: 0.5 for counts without memory; above 1 the counts are not stationary, or too few.
    pub h: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// First and last octave of the fit.
    pub octaves: (u32, u32),
    /// Goodness of fit: chi-square distributed with two fewer degrees of freedom than octaves.
    pub q: f64,
}

impl Hurst {
    /// The 95 % confidence interval.
    pub fn interval(&self) -> (f64, f64) {
        let half = NORMAL_975 * self.standard_error;
        (self.h - half, self.h + half)
    }
}

/// The logscale diagram of `counts` in equal bins, with the wavelet of three vanishing moments. Octaves without a coefficient are
/// left out.
pub fn logscale(counts: &[f64]) -> Vec<Octave> {
    logscale_with(counts, &SCALING)
}

fn logscale_with(counts: &[f64], scaling: &[f64]) -> Vec<Octave> {
    let length = scaling.len();
    let detail: Vec<f64> = (0..length).map(|k| if k % 2 == 0 { 1.0 } else { -1.0 } * scaling[length - 1 - k]).collect();
    let mut series = counts.to_vec();
    let mut octaves = Vec::new();
    for number in 1.. {
        if series.len() < length {
            break;
        }
        // Only windows that lie wholly inside: no padding, no wrapping.
        let windows = || series.windows(length).step_by(2);
        let filtered = |window: &[f64], filter: &[f64]| window.iter().zip(filter).map(|(x, h)| x * h).sum::<f64>();
        let coefficients = windows().len();
        let square = windows().map(|window| filtered(window, &detail).powi(2)).sum::<f64>() / coefficients as f64;
        let half = coefficients as f64 / 2.0;
        let bias = digamma(half) / std::f64::consts::LN_2 - libm::log2(half);
        octaves.push(Octave {
            number,
            coefficients,
            energy: libm::log2(square) - bias,
            variance: trigamma(half) / (std::f64::consts::LN_2 * std::f64::consts::LN_2),
        });
        series = windows().map(|window| filtered(window, scaling)).collect();
    }
    octaves
}

/// The weighted fit over the octaves from `first` to `last` (methods D.3); `None` if there are fewer than two, or one of them has no
/// energy.
pub fn fit(octaves: &[Octave], first: u32, last: u32) -> Option<Hurst> {
    let within = || octaves.iter().filter(|octave| (first..=last).contains(&octave.number));
    if within().count() < 2 || within().any(|octave| !octave.energy.is_finite()) {
        return None;
    }
    let sum = |term: fn(f64, f64) -> f64| {
        within().map(|octave| term(f64::from(octave.number), octave.energy) / octave.variance).sum::<f64>()
    };
    let (s0, s1, s2) = (sum(|_, _| 1.0), sum(|j, _| j), sum(|j, _| j * j));
    let (sy, sjy) = (sum(|_, y| y), sum(|j, y| j * y));
    let delta = s0 * s2 - s1 * s1;
    let (alpha, intercept) = ((s0 * sjy - s1 * sy) / delta, (s2 * sy - s1 * sjy) / delta);
    let misses =
        within().map(|octave| (octave.energy - intercept - alpha * f64::from(octave.number)).powi(2) / octave.variance);
    Some(Hurst {
        h: f64::midpoint(alpha, 1.0),
        standard_error: libm::sqrt(s0 / delta) / 2.0,
        octaves: (first, within().map(|octave| octave.number).max()?),
        q: misses.sum(),
    })
}

/// The wavelet estimate of the Hurst parameter of `counts`, from octave 3 to the last with eight coefficients (methods D.4); `None` if
/// they are too few, or always the same.
pub fn hurst(counts: &[f64]) -> Option<Hurst> {
    let octaves = logscale(counts);
    let last = octaves.iter().rfind(|octave| octave.coefficients >= FEWEST)?.number;
    fit(&octaves, 3, last)
}

/// The estimate by aggregated variances over blocks of these sizes (methods D.6): biased low for large H, so no more than a picture.
/// `None` if a block size has fewer than two blocks, or they do not vary.
pub fn variance_time(counts: &[f64], sizes: &[usize]) -> Option<f64> {
    let points: Option<Vec<(f64, f64)>> = sizes
        .iter()
        .map(|&size| {
            let means: Vec<f64> =
                counts.chunks_exact(size.max(1)).map(|block| block.iter().sum::<f64>() / size as f64).collect();
            let count = means.len() as f64;
            let mean = means.iter().sum::<f64>() / count;
            let variance = means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            (means.len() > 1 && variance > 0.0).then(|| (libm::log10(size as f64), libm::log10(variance)))
        })
        .collect();
    let points = points?;
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread = points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    (spread > 0.0).then(|| 1.0 + points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scaling filter of Haar: one vanishing moment.
    const HAAR: [f64; 2] = [std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::FRAC_1_SQRT_2];

    fn near(found: f64, wanted: f64, within: f64) {
        assert!((found - wanted).abs() <= within, "{found}, not {wanted}");
    }

    /// The deterministic noise of methods' conventions.
    fn lcg(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        std::iter::repeat_with(|| {
            state = (1_103_515_245 * state + 12_345) % (1 << 31);
            state as f64 / (1u64 << 31) as f64 - 0.5
        })
        .take(count)
        .collect()
    }

    /// Its long-memory series FD(d, n, seed).
    fn fractional(d: f64, count: usize, seed: u64) -> Vec<f64> {
        let noise = lcg(count, seed);
        let mut psi = vec![1.0];
        for k in 1..count {
            psi.push(psi[k - 1] * (k as f64 - 1.0 + d) / k as f64);
        }
        (0..count).map(|t| (0..=t).map(|k| psi[k] * noise[t - k]).sum()).collect()
    }

    #[test]
    fn octaves_have_their_numbers_of_coefficients() {
        let octaves = logscale(&vec![0.0; 16_384]);
        let counts: Vec<usize> = octaves.iter().map(|octave| octave.coefficients).collect();
        assert_eq!(counts[..11], [8190, 4093, 2044, 1020, 508, 252, 124, 60, 28, 12, 4]);
    }

    #[test]
    fn bias_and_variance_of_the_logarithm() {
        for (n, g, s2) in [
            (4.0, -0.390_051_136_4, 1.342_345_761_5),
            (8.0, -0.187_805_269_0, 0.590_740_296_2),
            (16.0, -0.092_044_035_5, 0.277_107_252_6),
            (64.0, -0.022_659_505_4, 0.066_069_658_4),
            (1024.0, -0.001_409_340_5, 0.004_069_146_3),
        ] {
            let ln2 = std::f64::consts::LN_2;
            near(digamma(n / 2.0) / ln2 - libm::log2(n / 2.0), g, 1e-9);
            near(trigamma(n / 2.0) / (ln2 * ln2), s2, 1e-9);
        }
    }

    #[test]
    fn by_hand_with_haar() {
        let data: Vec<f64> = (0..64u32).map(|i| f64::from((7 * i * i + 3 * i) % 31)).collect();
        let octaves = logscale_with(&data, &HAAR);
        assert_eq!(octaves.iter().take(4).map(|octave| octave.coefficients).collect::<Vec<_>>(), [32, 16, 8, 4]);
        let found = fit(&octaves, 1, 3).unwrap();
        near(found.h, 0.628_164_232, 1e-8);
        near(found.q, 2.105_265_463, 1e-8);
    }

    /// The table of methods D.9.
    #[test]
    fn published_test_vectors() {
        let (white, long) = (lcg(16_384, 12_345), fractional(0.3, 16_384, 12_345));
        near(long[16_383], 0.286_854_82, 1e-8);
        for (series, first, h, low, high, q) in [
            (&white, 1, 0.496_218, 0.484_695, 0.507_741, 2.341_7),
            (&white, 3, 0.497_429, 0.472_937, 0.521_921, 2.167_1),
            (&long, 1, 0.762_369, 0.750_846, 0.773_892, 23.001_8),
            (&long, 3, 0.794_570, 0.770_078, 0.819_061, 8.135_1),
        ] {
            let found = fit(&logscale(series), first, 10).unwrap();
            near(found.h, h, 1e-6);
            near(found.interval().0, low, 1e-6);
            near(found.interval().1, high, 1e-6);
            near(found.q, q, 1e-4);
        }
        let found = hurst(&long).unwrap();
        assert_eq!(found.octaves, (3, 10));
        near(found.standard_error, 0.012_495_972_7, 1e-9);
        let sizes = [10, 20, 40, 80, 160, 320];
        near(variance_time(&white, &sizes).unwrap(), 0.481_341, 1e-6);
        near(variance_time(&long, &sizes).unwrap(), 0.753_813, 1e-6);
    }

    /// Methods D.5: half widths of published intervals follow from the numbers of coefficients alone.
    #[test]
    fn published_half_widths() {
        let coefficients = |mut n: usize, j: u32| {
            (0..j).for_each(|_| n = (n - 6) / 2 + 1);
            n
        };
        for (first, wanted) in [(11, 0.035_95), (12, 0.056_96)] {
            let octaves: Vec<Octave> = (first..=16)
                .map(|number| {
                    let coefficients = coefficients(2_400_000, number);
                    let ln2 = std::f64::consts::LN_2;
                    Octave {
                        number,
                        coefficients,
                        energy: 0.0,
                        variance: trigamma(coefficients as f64 / 2.0) / (ln2 * ln2),
                    }
                })
                .collect();
            let found = fit(&octaves, first, 16).unwrap();
            near(found.interval().1 - found.h, wanted, 1e-4);
        }
    }

    #[test]
    fn too_few_counts_or_always_the_same_have_no_estimate() {
        assert_eq!(hurst(&[]), None);
        assert_eq!(hurst(&lcg(60, 1)), None);
        assert_eq!(hurst(&vec![3.0; 4_096]), None);
        assert_eq!(variance_time(&[1.0; 100], &[1, 2, 4]), None);
        assert_eq!(variance_time(&lcg(100, 1), &[1, 200]), None);
    }
}
