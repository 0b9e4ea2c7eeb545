//! Traffic whose rate is modulated by phases (methods I.1; Frost et al. 1998): in each phase cells come at one rate, in the next at another.
//!
//! Phase `i` lies between two boundary rates and has the upper one, which is the cautious choice. What a queue makes of it depends on the share of the time of
//! each phase only (`delay_and_loss`); how long one lasts shows in the autocorrelation.

use crate::units::three_digits;

/// Phases with their rates and their shares of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// In cells per second, ascending: phase `i` lies between entries `i` and `i + 1`. Two zeros at first bound a silent phase.
    bounds: Vec<f64>,
    /// Of the time; they add up to 1.
    shares: Vec<f64>,
}

/// Why there are no such phases.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PhasesError {
    /// Fewer than two boundary rates, or such that do not ascend from zero on.
    #[error("boundary rates have to be two or more numbers that ascend from zero on")]
    Bounds,
    /// A share below zero, none above it, or not one for each phase.
    #[error("shares have to be a number from zero on for each of {0} phases, and one of them above zero")]
    Shares(usize),
    /// A Pareto law that has nothing between the boundary rates.
    #[error(
        "a Pareto law with a least rate of {least} cells/s and a shape of {shape} has nothing between the boundary rates: both have to be above zero, the least rate below the highest boundary"
    )]
    Pareto {
        /// The least rate, in cells per second.
        least: f64,
        /// The tail index.
        shape: f64,
    },
}

/// A phase in which a queue has no equilibrium.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("phase {phase} of {phases} brings up to {} cells/s, and {} are served: no equilibrium", rounded(.between.1), rounded(*.service))]
pub struct OverloadedPhase {
    /// Its number, from 1.
    pub phase: usize,
    /// How many there are.
    pub phases: usize,
    /// Its boundary rates, in cells per second.
    pub between: (f64, f64),
    /// Cells that are served each second.
    pub service: f64,
}

/// A rate with three significant digits.
fn rounded(rate: f64) -> String {
    if !(1e3..f64::INFINITY).contains(&rate) {
        return three_digits(rate);
    }
    let scale = libm::exp10(libm::floor(libm::log10(rate)) - 2.0);
    three_digits(libm::round(rate / scale) * scale)
}

impl Phases {
    /// With these boundary rates in cells per second, and for each phase its share of the time or anything in proportion to it.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(bounds: Vec<f64>, mut shares: Vec<f64>) -> Result<Phases, PhasesError> {
        let is_silent = bounds.len() > 2 && bounds[..2] == [0.0, 0.0];
        let ascend = bounds[usize::from(is_silent)..].windows(2).all(|pair| pair[0] < pair[1]);
        let least = bounds.first().copied().unwrap_or(-1.0);
        if bounds.len() < 2 || !ascend || least < 0.0 || !bounds.iter().all(|bound| bound.is_finite()) {
            return Err(PhasesError::Bounds);
        }
        let sum: f64 = shares.iter().sum();
        let each = shares.iter().all(|share| *share >= 0.0);
        if shares.len() != bounds.len() - 1 || !each || !(sum > 0.0 && sum.is_finite()) {
            return Err(PhasesError::Shares(bounds.len() - 1));
        }
        shares.iter_mut().for_each(|share| *share /= sum);
        Ok(Phases { bounds, shares })
    }

    /// `count` phases of equal width between two rates: their boundary rates.
    pub fn equal(least: f64, most: f64, count: usize) -> Vec<f64> {
        let at = |i: usize| least + (most - least) * (i as f64 / count as f64);
        (0..count).map(at).chain([most]).collect()
    }

    /// Phases that are equally likely in a series of (seconds, cells per second): their boundary rates, from the lowest rate to the highest.
    /// There are fewer than `count` of them where one rate fills more than one. If the lowest rate fills a phase, it gets a phase of its
    /// own, whose lower bound is zero.
    pub fn equally_likely(series: &[(f64, f64)], count: usize) -> Vec<f64> {
        let mut rates = series.to_vec();
        rates.sort_unstable_by(|one, other| one.1.total_cmp(&other.1));
        let all: f64 = rates.iter().map(|(seconds, _)| seconds).sum();
        let (mut bounds, mut passed) = (Vec::new(), 0.0);
        bounds.extend(rates.first().map(|(_, rate)| *rate));
        let mut part = 1;
        for &(seconds, rate) in &rates {
            passed += seconds;
            let is_bound = passed >= all * part as f64 / count as f64 * (1.0 - 1e-12);
            if is_bound {
                match bounds[..] {
                    [lowest] if lowest == rate => bounds = vec![0.0, rate],
                    [.., last] if last < rate => bounds.push(rate),
                    _ => {}
                }
            }
            while part < count && passed >= all * part as f64 / count as f64 * (1.0 - 1e-12) {
                part += 1;
            }
        }
        bounds
    }

    /// With the shares of a Pareto law of rates, P(X > x) = (least / x)^shape.
    ///
    /// # Errors
    /// What is wrong with bounds or law.
    pub fn pareto(bounds: Vec<f64>, least: f64, shape: f64) -> Result<Phases, PhasesError> {
        let highest = bounds.last().copied().unwrap_or(0.0);
        if !(least > 0.0 && least < highest && shape > 0.0 && shape.is_finite()) {
            return Err(PhasesError::Pareto { least, shape });
        }
        let above = |x: f64| libm::pow(least / x.max(least), shape);
        let shares = bounds.windows(2).map(|pair| above(pair[0]) - above(pair[1])).collect();
        Phases::new(bounds, shares)
    }

    /// With the shares that a series of rates has: each of (seconds, cells per second) lasts so long in the phase with this rate. A rate outside the bounds
    /// belongs to the nearest phase.
    ///
    /// # Errors
    /// What is wrong with the bounds; a series without any time.
    pub fn histogram(bounds: Vec<f64>, series: &[(f64, f64)]) -> Result<Phases, PhasesError> {
        let mut shares = vec![0.0; bounds.len().saturating_sub(1)];
        if shares.is_empty() {
            return Err(PhasesError::Bounds);
        }
        for &(seconds, rate) in series {
            shares[place(&bounds, rate)] += seconds;
        }
        Phases::new(bounds, shares)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.shares.len()
    }

    /// Boundary rates in cells per second.
    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// Their shares of the time.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// The phase that a rate belongs to, from 0: above its lower bound, up to its upper one.
    pub fn phase_of(&self, rate: f64) -> usize {
        place(&self.bounds, rate)
    }

    /// The share of the time and the rate in cells per second of each phase that occurs; the rate of a silent phase is zero.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let rates = self.bounds[1..].iter().copied();
        self.shares.iter().copied().zip(rates).filter(|(share, _)| *share > 0.0)
    }

    /// Cells per second in the long run: a little more than that of a series which was sorted into them.
    pub fn mean_rate(&self) -> f64 {
        self.iter().map(|(share, rate)| share * rate).sum()
    }

    /// The highest rate that happens, in cells per second.
    pub fn peak_rate(&self) -> f64 {
        self.iter().map(|(_, rate)| rate).fold(0.0, f64::max)
    }

    /// Refuses a service rate at which a phase that happens has no equilibrium.
    ///
    /// # Errors
    /// The first such phase.
    pub fn check_service(&self, service: f64) -> Result<(), OverloadedPhase> {
        let happens = |i: &usize| self.shares[*i] > 0.0;
        let overloads = |i: &usize| self.bounds[i + 1] >= service || service.is_nan();
        let Some(i) = (0..self.count()).filter(happens).find(overloads) else { return Ok(()) };
        let between = (self.bounds[i], self.bounds[i + 1]);
        Err(OverloadedPhase { phase: i + 1, phases: self.count(), between, service })
    }
}

/// The interval of ascending `bounds` that holds `rate`, its upper end with it; the nearest if none does.
fn place(bounds: &[f64], rate: f64) -> usize {
    let below = bounds.partition_point(|bound| *bound < rate);
    below.clamp(1, bounds.len() - 1) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_methods_i2() {
        let bounds = vec![1_000.0, 2_000.0, 3_000.0, 4_000.0, 5_000.0];
        let phases = Phases::pareto(bounds, 1_000.0, 1.5).unwrap();
        let wanted = [0.709_946_120_9, 0.176_928_244_1, 0.074_075_614_1, 0.039_050_021_0];
        for (found, wanted) in phases.shares().iter().zip(wanted) {
            assert!((found - wanted).abs() < 5.1e-11, "{found}, not {wanted}");
        }
        assert!((phases.mean_rate() - 2_442.229_535_1).abs() < 5.1e-8, "{}", phases.mean_rate());
        assert_eq!((phases.count(), phases.peak_rate()), (4, 5_000.0));
    }

    #[test]
    fn a_histogram_sorts_rates_by_time() {
        let bounds = Phases::equal(0.0, 30.0, 3);
        assert_eq!(bounds, [0.0, 10.0, 20.0, 30.0]);
        let series = [(1.0, 0.0), (2.0, 10.0), (3.0, 10.5), (0.5, 99.0), (1.5, 30.0)];
        let phases = Phases::histogram(bounds, &series).unwrap();
        assert_eq!(phases.shares(), [3.0 / 8.0, 3.0 / 8.0, 2.0 / 8.0]);
        assert_eq!([0.0, 10.0, 10.1, 30.0, 1e9].map(|rate| phases.phase_of(rate)), [0, 0, 1, 2, 2]);
        // A phase that never happens cannot overload the queue.
        let phases = Phases::histogram(vec![0.0, 10.0, 20.0], &[(1.0, 5.0)]).unwrap();
        assert_eq!((phases.peak_rate(), phases.check_service(11.0)), (10.0, Ok(())));
        assert!(phases.check_service(10.0).is_err());
    }

    #[test]
    fn equally_likely_phases_follow_quantiles() {
        let series: Vec<_> = (0..100).map(|n| (1.0, f64::from((n * 37) % 100))).collect();
        let bounds = Phases::equally_likely(&series, 4);
        assert_eq!(bounds, [0.0, 24.0, 49.0, 74.0, 99.0]);
        assert_eq!(Phases::histogram(bounds, &series).unwrap().shares(), [0.25; 4]);
        assert_eq!(Phases::equally_likely(&[(1.0, 5.0)], 3), [0.0, 5.0]);
    }

    #[test]
    fn a_lowest_rate_that_fills_a_phase_keeps_its_rate() {
        // Two thirds of silence fill two of three phases.
        let series = [(4.0, 0.0), (1.0, 7.0), (1.0, 9.0)];
        let bounds = Phases::equally_likely(&series, 3);
        assert_eq!(bounds, [0.0, 0.0, 9.0]);
        let phases = Phases::histogram(bounds, &series).unwrap();
        assert_eq!((phases.shares(), phases.mean_rate()), (&[4.0 / 6.0, 2.0 / 6.0][..], 3.0));
        assert_eq!([0.0, 1e-9, 9.0].map(|rate| phases.phase_of(rate)), [0, 1, 1]);
        let bounds = Phases::equally_likely(&[(1.0, 300.0), (1.0, 100.0), (1.0, 200.0)], 3);
        assert_eq!(bounds, [0.0, 100.0, 200.0, 300.0]);
    }

    #[test]
    fn overload_is_told_with_three_digits() {
        let phases = Phases::new(vec![0.0, 34_093.472_222_222_22], vec![1.0]).unwrap();
        let found = phases.check_service(32_585.979_647_811_455).unwrap_err().to_string();
        assert_eq!(found, "phase 1 of 1 brings up to 34100 cells/s, and 32600 are served: no equilibrium");
        assert_eq!((rounded(0.012_345), rounded(286.4)), ("0.0123".to_owned(), "286".to_owned()));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bounds in [
            vec![],
            vec![1.0],
            vec![2.0, 1.0],
            vec![1.0, 1.0],
            vec![0.0, 0.0],
            vec![0.0, 0.0, 0.0],
            vec![-1.0, 1.0],
            vec![0.0, f64::INFINITY],
            vec![0.0, f64::NAN],
        ] {
            assert_eq!(Phases::histogram(bounds.clone(), &[(1.0, 1.0)]), Err(PhasesError::Bounds), "{bounds:?}");
        }
        for shares in [vec![1.0], vec![0.0, 0.0], vec![-1.0, 2.0], vec![f64::NAN, 1.0], vec![f64::INFINITY, 1.0]] {
            assert_eq!(Phases::new(vec![0.0, 1.0, 2.0], shares.clone()), Err(PhasesError::Shares(2)), "{shares:?}");
        }
        assert_eq!(Phases::histogram(vec![0.0, 1.0], &[]), Err(PhasesError::Shares(1)));
        for (least, shape) in [(0.0, 1.5), (2.0, 1.5), (1.0, 0.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            assert!(Phases::pareto(vec![1.0, 2.0], least, shape).is_err(), "{least} {shape}");
        }
    }
}
