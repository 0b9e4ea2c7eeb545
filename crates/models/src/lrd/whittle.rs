//! Whittle's estimate for fractional Gaussian noise (methods D.6; Beran 1994). Of other long-memory series it is biased.

use std::f64::consts::{PI, TAU};

use super::estimate::Estimate;
use super::minimum::minimum;
use super::periodogram::periodogram;

/// Hurst parameters that are looked at.
const RANGE: (f64, f64) = (0.01, 0.999);
/// Values without which there is no estimate.
const FEWEST: usize = 32;

/// The estimate of `series` and its standard error, both exact only if the series is fractional Gaussian noise; `None` of fewer than
/// 32 values, or if all are the same.
pub fn whittle(series: &[f64]) -> Option<Estimate> {
    let points = periodogram(series);
    let power: f64 = points.iter().map(|point| point.1).sum();
    if series.len() < FEWEST || power.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
        return None;
    }
    let powers: Vec<(Frequency, f64)> = points.iter().map(|point| (Frequency::new(point.0), point.1)).collect();
    let count = points.len() as f64;
    let h = minimum(RANGE.0, RANGE.1, |h| {
        let density = Density::new(h);
        let (ratios, logarithms) = powers.iter().fold((0.0, 0.0), |(ratios, logarithms), (frequency, power)| {
            let density = density.at(frequency);
            (ratios + power / density, logarithms + libm::log(density))
        });
        libm::log(ratios / count) + logarithms / count
    });
    Some(Estimate { h, standard_error: deviation(h) / libm::sqrt(series.len() as f64) })
}

/// A frequency `l` above 0 and up to pi, with what densities at it are made of.
struct Frequency {
    /// 1 - cos l.
    factor: f64,
    /// ln(l / 2 pi).
    logarithm: f64,
    /// Its square, from -1 at 0 to 1 at pi.
    place: f64,
}

impl Frequency {
    fn new(l: f64) -> Frequency {
        // 2 sin^2(l/2) loses nothing for small l.
        let sine = libm::sin(l / 2.0);
        Frequency { factor: 2.0 * sine * sine, logarithm: libm::log(l / TAU), place: 2.0 * (l / PI) * (l / PI) - 1.0 }
    }
}

/// How many numbers [`Density`] has: enough for 1e-12, since the nearest pole is far.
const DEGREES: usize = 12;

/// The spectral density of fractional Gaussian noise but for its variance: (1 - cos l) times the sum over all j of
/// |l + 2 pi j|^(-2h-1), times (2 pi)^(2h+1), which does not depend on l.
struct Density {
    exponent: f64,
    /// The sum without j = 0 is a smooth function of the square of l: its Chebyshev coefficients.
    others: [f64; DEGREES],
}

impl Density {
    fn new(h: f64) -> Density {
        let s = 2.0 * h + 1.0;
        let angle = |node: usize| PI * (node as f64 + 0.5) / DEGREES as f64;
        let values: [f64; DEGREES] = std::array::from_fn(|node| {
            let a = libm::sqrt(f64::midpoint(libm::cos(angle(node)), 1.0)) / 2.0;
            zeta(s, 1.0 + a) + zeta(s, 1.0 - a)
        });
        let others = std::array::from_fn(|k| {
            let sum: f64 =
                values.iter().enumerate().map(|(node, value)| value * libm::cos(k as f64 * angle(node))).sum();
            sum * if k == 0 { 1.0 } else { 2.0 } / DEGREES as f64
        });
        Density { exponent: -s, others }
    }

    fn at(&self, frequency: &Frequency) -> f64 {
        // Clenshaw's recurrence.
        let twice = 2.0 * frequency.place;
        let (next, after) =
            self.others[1..].iter().rev().fold((0.0, 0.0), |(next, after), c| (c + twice * next - after, next));
        let others = self.others[0] + frequency.place * next - after;
        frequency.factor * (libm::exp(self.exponent * frequency.logarithm) + others)
    }
}

/// Hurwitz's zeta function of `s` above 1 at `a` from 1/2 on: terms below `a + 8` one by one, the others by Euler and Maclaurin
/// (DLMF 25.11.28), to 1e-12.
fn zeta(s: f64, a: f64) -> f64 {
    const TERMS: u32 = 8;
    const BERNOULLI: [f64; 5] = [1.0 / 12.0, -1.0 / 720.0, 1.0 / 30_240.0, -1.0 / 1_209_600.0, 1.0 / 47_900_160.0];
    let end = a + f64::from(TERMS);
    let power = libm::pow(end, -s);
    let mut sum: f64 = (0..TERMS).map(|j| libm::pow(a + f64::from(j), -s)).sum();
    sum += power * end / (s - 1.0) + power / 2.0;
    // B_2k / (2k)! s (s + 1) ... (s + 2k - 2) end^(1 - s - 2k).
    let mut rising = s * power / end;
    for (k, number) in BERNOULLI.into_iter().enumerate() {
        sum += number * rising;
        let next = s + 2.0 * k as f64;
        rising *= (next + 1.0) * (next + 2.0) / (end * end);
    }
    sum
}

/// The standard error times the square root of how many values there are: of D = d ln f / dh less its mean,
/// sqrt(4 pi / integral of D^2 from -pi to pi).
fn deviation(h: f64) -> f64 {
    const STEPS: usize = 400;
    const STEP_H: f64 = 1e-5;
    let [above, below] = [h + STEP_H, h - STEP_H].map(Density::new);
    // D grows with the logarithm of l towards 0: l = pi u^2 makes steps smaller there.
    let points = (0..STEPS).map(|step| {
        let u = (step as f64 + 0.5) / STEPS as f64;
        let at = Frequency::new(PI * u * u);
        // The factor that is left out makes D differ by a constant.
        let slope = libm::log(above.at(&at) / below.at(&at)) / (2.0 * STEP_H);
        (slope, 2.0 * u / STEPS as f64)
    });
    let (mean, square) = points
        .fold((0.0, 0.0), |(mean, square), (slope, weight)| (mean + weight * slope, square + weight * slope * slope));
    libm::sqrt(2.0 / (square - mean * mean))
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{both, lcg, near};
    use super::*;

    /// Methods D.9, D.6.
    #[test]
    fn test_vectors() {
        let [white, long] = both();
        let found = whittle(&white).unwrap();
        near(found.h, 0.496_899, 1e-6);
        near(found.standard_error, 0.004_84, 5e-6);
        near(whittle(&long).unwrap().h, 0.742_982, 1e-6);
        for (h, wanted) in [(0.5, 0.6205), (0.6, 0.6402), (0.75, 0.6597), (0.8, 0.6644), (0.9, 0.6720)] {
            near(deviation(h), wanted, 1e-4);
        }
    }

    #[test]
    fn the_density_is_the_sum_that_defines_it() {
        for h in [0.3, 0.5, 0.9] {
            for l in [0.01, 1.0, PI] {
                let term = |j: i32| (l + TAU * f64::from(j)).abs().powf(-2.0 * h - 1.0);
                let tail = 2.0 * (TAU * 2_000.5_f64).powf(-2.0 * h) / (TAU * 2.0 * h);
                let wanted = (1.0 - l.cos()) * ((-2_000..=2_000).map(term).sum::<f64>() + tail);
                let found = Density::new(h).at(&Frequency::new(l)) * TAU.powf(-2.0 * h - 1.0);
                near(found / wanted, 1.0, 1e-7);
            }
        }
    }

    #[test]
    fn too_few_or_always_the_same_have_no_estimate() {
        assert_eq!(whittle(&[]), None);
        assert_eq!(whittle(&lcg(31, 1)), None);
        assert_eq!(whittle(&[2.0; 64]), None);
        assert!(whittle(&lcg(33, 1)).is_some(), "any length will do");
    }
}
