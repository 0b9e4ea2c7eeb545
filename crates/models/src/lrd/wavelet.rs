//! Wavelet coefficients of a series and their energies by octave: the logscale diagram (methods D.1, D.2; Abry and Veitch 1998,
//! Veitch and Abry 1999).

use super::estimate::NORMAL_975;
use crate::special::{digamma, trigamma};

/// A wavelet of Daubechies, by its number N of vanishing moments: polynomial trends of a degree below N leave no trace in its
/// coefficients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wavelet {
    /// N = 1, Haar's: a level vanishes.
    One,
    /// N = 2: a slope vanishes.
    Two,
    /// N = 3: a parabola vanishes.
    #[default]
    Three,
}

impl Wavelet {
    /// All of them.
    pub const ALL: [Wavelet; 3] = [Wavelet::One, Wavelet::Two, Wavelet::Three];

    /// N.
    pub const fn moments(self) -> u32 {
        match self {
            Wavelet::One => 1,
            Wavelet::Two => 2,
            Wavelet::Three => 3,
        }
    }

    /// The scaling filter: 2 N numbers whose sum is the square root of two.
    fn scaling(self) -> &'static [f64] {
        match self {
            Wavelet::One => &[std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::FRAC_1_SQRT_2],
            Wavelet::Two => {
                &[0.482_962_913_144_534_14, 0.836_516_303_737_807_9, 0.224_143_868_042_013_4, -0.129_409_522_551_260_37]
            }
            Wavelet::Three => &[
                0.332_670_552_950_082_63,
                0.806_891_509_311_092_5,
                0.459_877_502_118_491_54,
                -0.135_011_020_010_254_58,
                -0.085_441_273_882_026_66,
                0.035_226_291_885_709_53,
            ],
        }
    }

    /// The detail filter: the scaling filter backwards with alternating signs.
    fn detail(self) -> Vec<f64> {
        let signs = [1.0, -1.0].into_iter().cycle();
        self.scaling().iter().rev().zip(signs).map(|(h, sign)| sign * h).collect()
    }
}

/// One octave of a logscale diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Octave {
    /// Its number j, from 1: a time scale of 2^j bins.
    pub number: u32,
    /// How many wavelet coefficients it has.
    pub coefficients: usize,
    /// log2 of their mean square, without the bias of that logarithm; minus infinity if all are zero.
    pub energy: f64,
    /// Variance of `energy`, known up to the data.
    pub variance: f64,
}

impl Octave {
    /// Of `coefficients` (at least one) whose mean square is `square`, if they are Gaussian and uncorrelated.
    pub(super) fn new(number: u32, coefficients: usize, square: f64) -> Octave {
        const LN_2: f64 = std::f64::consts::LN_2;
        let half = coefficients as f64 / 2.0;
        let bias = digamma(half) / LN_2 - libm::log2(half);
        Octave { number, coefficients, energy: libm::log2(square) - bias, variance: trigamma(half) / (LN_2 * LN_2) }
    }

    /// The 95 % interval of `energy`.
    pub fn interval(&self) -> (f64, f64) {
        let half = NORMAL_975 * libm::sqrt(self.variance);
        (self.energy - half, self.energy + half)
    }
}

/// The logscale diagram of `counts` in equal bins. Octaves without a coefficient are left out.
pub fn logscale(counts: &[f64], wavelet: Wavelet) -> Vec<Octave> {
    let scaling = wavelet.scaling();
    let length = scaling.len();
    let detail = wavelet.detail();
    // A level leaves no trace but that of rounding, which would be taken for energy where there is no other.
    let level = counts.iter().sum::<f64>() / counts.len().max(1) as f64;
    let mut series: Vec<f64> = counts.iter().map(|count| count - level).collect();
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
        octaves.push(Octave::new(number, coefficients, square));
        series = windows().map(|window| filtered(window, scaling)).collect();
    }
    octaves
}

#[cfg(test)]
mod tests {
    use super::super::noise::autocovariance;
    use super::super::vectors::{by_hand, near};
    use super::*;

    #[test]
    fn filters_are_those_of_daubechies() {
        for wavelet in Wavelet::ALL {
            let h = wavelet.scaling();
            assert_eq!(h.len(), 2 * wavelet.moments() as usize);
            near(h.iter().sum(), std::f64::consts::SQRT_2, 1e-14);
            near(h.iter().map(|h| h * h).sum(), 1.0, 1e-14);
            // Orthogonal to its own shifts, and N moments of the detail filter vanish.
            for shift in (2..h.len()).step_by(2) {
                near(h.iter().zip(&h[shift..]).map(|(a, b)| a * b).sum(), 0.0, 1e-14);
            }
            for power in 0..wavelet.moments() as i32 {
                let moment: f64 = wavelet.detail().iter().enumerate().map(|(k, g)| g * (k as f64).powi(power)).sum();
                near(moment, 0.0, 1e-12);
            }
        }
    }

    #[test]
    fn octaves_have_their_numbers_of_coefficients() {
        let coefficients = |count| -> Vec<usize> {
            logscale(&vec![0.0; count], Wavelet::Three).iter().map(|octave| octave.coefficients).collect()
        };
        assert_eq!(coefficients(16_384)[..11], [8190, 4093, 2044, 1020, 508, 252, 124, 60, 28, 12, 4]);
        let long = coefficients(360_000);
        assert_eq!((&long[..3], long[11]), (&[179_998, 89_997, 44_996][..], 83));
    }

    #[test]
    fn bias_and_variance_of_the_logarithm() {
        for (n, g, s2) in [
            (4, -0.390_051_136_4, 1.342_345_761_5),
            (8, -0.187_805_269_0, 0.590_740_296_2),
            (16, -0.092_044_035_5, 0.277_107_252_6),
            (64, -0.022_659_505_4, 0.066_069_658_4),
            (1024, -0.001_409_340_5, 0.004_069_146_3),
        ] {
            let octave = Octave::new(1, n, 1.0);
            near(octave.energy, -g, 1e-9);
            near(octave.variance, s2, 1e-9);
            near(octave.interval().1 - octave.energy, 1.959_964 * s2.sqrt(), 1e-6);
        }
    }

    #[test]
    fn by_hand_with_haar() {
        let octaves = logscale(&by_hand(), Wavelet::One);
        let wanted = [(32, 49.031_25), (16, 94.562_5), (8, 45.156_25), (4, 105.218_75)];
        for (octave, (coefficients, square)) in octaves.iter().zip(wanted) {
            assert_eq!(octave.coefficients, coefficients);
            near(octave.energy, Octave::new(octave.number, coefficients, square).energy, 1e-12);
        }
    }

    #[test]
    fn trends_below_the_vanishing_moments_leave_no_trace() {
        for wavelet in Wavelet::ALL {
            let trend = |degree: u32| (0..256).map(|t| (f64::from(t) / 64.0).powi(degree as i32)).collect::<Vec<_>>();
            let energy = |degree| logscale(&trend(degree), wavelet)[1].energy;
            assert!(energy(wavelet.moments() - 1) < -80.0 && energy(wavelet.moments()) > -60.0, "{wavelet:?}");
        }
    }

    /// The exact mean squares of the coefficients of unit-variance fractional Gaussian noise (methods D.7): no randomness, which
    /// checks the cascade itself. Of octave j the filter is that of a pulse through j - 1 scaling steps and one of detail.
    #[test]
    fn exact_energies_of_fractional_gaussian_noise() {
        let scaling = Wavelet::Three.scaling();
        let detail = Wavelet::Three.detail();
        let spread = |outer: &[f64], inner: &[f64]| {
            let mut filter = vec![0.0; 2 * (outer.len() - 1) + inner.len()];
            for (k, a) in outer.iter().enumerate() {
                inner.iter().enumerate().for_each(|(l, b)| filter[2 * k + l] += a * b);
            }
            filter
        };
        let wanted = [
            0.450_458_93,
            0.713_790_67,
            1.135_436_43,
            1.751_672_69,
            2.668_958_29,
            4.051_180_47,
            6.142_759_20,
            9.311_589_21,
        ];
        let mut filter = detail;
        for wanted in wanted {
            let lagged = |lag: usize| filter.iter().zip(&filter[lag..]).map(|(a, b)| a * b).sum::<f64>();
            let square =
                lagged(0) + 2.0 * (1..filter.len()).map(|lag| lagged(lag) * autocovariance(0.8, lag)).sum::<f64>();
            near(square, wanted, 1e-8);
            filter = spread(&filter, scaling);
        }
    }
}
