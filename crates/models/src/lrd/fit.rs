//! The Hurst parameter by a weighted straight line through a logscale diagram (methods D.3; Veitch and Abry 1999).

use super::estimate::Estimate;
use super::wavelet::Octave;
use crate::special::chi_square_above;

/// An estimate of the Hurst parameter from octaves of a logscale diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hurst {
    /// The estimate: 0.5 for counts without memory; above 1 the counts are not stationary, or too few.
    pub h: f64,
    /// Its standard error, known up to the data.
    pub standard_error: f64,
    /// First and last octave of the fit.
    pub octaves: (u32, u32),
    /// Where the line is at octave 0: log2 of the energy there.
    pub intercept: f64,
    /// Goodness of fit: chi-square distributed with two fewer degrees of freedom than octaves.
    pub q: f64,
    /// How probable a worse fit is if the energies lie on a line; `None` of two octaves, through which there is always one.
    pub p: Option<f64>,
}

impl Hurst {
    /// The slope of the line, `2 h - 1`.
    pub fn alpha(&self) -> f64 {
        2.0 * self.h - 1.0
    }

    /// The 95 % confidence interval.
    pub fn interval(&self) -> (f64, f64) {
        Estimate { h: self.h, standard_error: self.standard_error }.interval()
    }

    /// Whether the interval reaches above 1, where no stationary counts are: they are not stationary, or the octaves too few.
    pub fn reaches_above_one(&self) -> bool {
        self.interval().1 > 1.0
    }
}

/// The weighted fit over the octaves from `first` to `last`; `None` if there are fewer than two, or one of them has no energy.
pub fn fit(octaves: &[Octave], first: u32, last: u32) -> Option<Hurst> {
    let within = || octaves.iter().filter(|octave| (first..=last).contains(&octave.number));
    let count = within().count();
    if count < 2 || within().any(|octave| !octave.energy.is_finite()) {
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
    let q = misses.sum();
    Some(Hurst {
        h: f64::midpoint(alpha, 1.0),
        standard_error: libm::sqrt(s0 / delta) / 2.0,
        octaves: (within().map(|octave| octave.number).min()?, within().map(|octave| octave.number).max()?),
        intercept,
        q,
        p: (count > 2).then(|| chi_square_above(q, (count - 2) as u32)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{both, by_hand, near};
    use super::super::{Wavelet, logscale};
    use super::*;

    #[test]
    fn by_hand_with_haar() {
        let found = fit(&logscale(&by_hand(), Wavelet::One), 1, 3).unwrap();
        near(found.h, 0.628_164_232, 1e-9);
        near(found.alpha(), 0.256_328_465, 1e-9);
        near(found.q, 2.105_265_463, 1e-9);
    }

    /// The table of methods D.9.
    #[test]
    fn published_test_vectors() {
        let [white, long] = both();
        near(long[16_383], 0.286_854_82, 1e-8);
        for (series, first, h, low, high, q, p) in [
            (&white, 1, 0.496_218, 0.484_695, 0.507_741, 2.341_7, 0.968_7),
            (&white, 3, 0.497_429, 0.472_937, 0.521_921, 2.167_1, 0.903_7),
            (&long, 1, 0.762_369, 0.750_846, 0.773_892, 23.001_8, 0.003_4),
            (&long, 3, 0.794_570, 0.770_078, 0.819_061, 8.135_1, 0.228_4),
        ] {
            let found = fit(&logscale(series, Wavelet::Three), first, 10).unwrap();
            near(found.h, h, 1e-6);
            near(found.interval().0, low, 1e-6);
            near(found.interval().1, high, 1e-6);
            near(found.q, q, 1e-4);
            near(found.p.unwrap(), p, 1e-4);
            assert_eq!((found.octaves, found.reaches_above_one()), ((first, 10), false));
        }
        let octaves = logscale(&long, Wavelet::Three);
        let energies = [
            -4.052_539_11,
            -3.638_548_03,
            -3.089_596_73,
            -2.651_624_50,
            -1.791_335_88,
            -1.371_987_15,
            -0.754_243_14,
            0.029_395_90,
            0.196_338_52,
            0.594_607_71,
        ];
        octaves.iter().zip(energies).for_each(|(octave, energy)| near(octave.energy, energy, 1e-8));
        near(fit(&octaves, 3, 10).unwrap().standard_error, 0.012_495_972_7, 1e-9);
    }

    /// Methods D.5: half widths of published intervals follow from the numbers of coefficients alone, and some reach above 1.
    #[test]
    fn published_half_widths() {
        let coefficients = |mut n: usize, j: u32| {
            (0..j).for_each(|_| n = (n - 6) / 2 + 1);
            n
        };
        for (first, wanted, h, above) in [(11, 0.035_95, 0.9636, false), (12, 0.056_96, 0.9826, true)] {
            let octaves: Vec<Octave> = (first..=16)
                .map(|number| {
                    let count = coefficients(2_400_000, number);
                    let flat = Octave::new(number, count, 1.0);
                    Octave { energy: (2.0 * h - 1.0) * f64::from(number), ..flat }
                })
                .collect();
            let found = fit(&octaves, first, 16).unwrap();
            near(found.h, h, 1e-12);
            near(found.interval().1 - found.h, wanted, 1e-4);
            assert_eq!(found.reaches_above_one(), above);
        }
    }

    #[test]
    fn a_line_needs_two_octaves_with_energy() {
        let octaves = logscale(&by_hand(), Wavelet::One);
        assert_eq!((fit(&octaves, 2, 2), fit(&octaves, 9, 12)), (None, None));
        assert_eq!(fit(&octaves, 2, 3).unwrap().p, None, "two always lie on a line");
        assert_eq!(fit(&logscale(&[3.0; 4_096], Wavelet::One), 3, 9), None, "no energy");
    }
}
