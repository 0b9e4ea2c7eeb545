//! Empirical distributions of whole numbers, kept in few points and redrawn by inversion.

use flowloom_core::sketch::Empirical;
use serde::{Deserialize, Serialize};

/// Largest value: what a JSON number holds exactly.
pub const MOST_VALUE: u64 = 1 << 53;

/// Points of a law, at most, when it is read.
pub const MOST_POINTS: usize = 1 << 16;

/// A piece holds at most this part of all values, unless they are equal: redrawing changes no share by more.
const PIECES: u64 = 512;

/// A piece is at most a tenth of its smallest value wide, so that the mean of a heavy tail stays what it was.
const WIDTH: u64 = 10;

/// The distribution of whole numbers: points of a value and how many values lie below it. Between two points values are equally
/// likely, so that one number is a piece of width 1. Without points nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Law {
    points: Vec<(u64, u64)>,
}

impl Law {
    /// That of `empirical`: of at most 512 different values exactly, otherwise within 1/512 of every share. Values above 2^53 count as
    /// that.
    pub fn new(empirical: &Empirical) -> Law {
        Law::of_steps(empirical.steps().iter().map(|step| (step.value, step.count)))
    }

    /// That of ascending values, each with how often it was.
    pub fn of_steps(values: impl IntoIterator<Item = (u64, u64)>) -> Law {
        let mut steps: Vec<(u64, u64)> = Vec::new();
        for (value, count) in values.into_iter().map(|(value, count)| (value.min(MOST_VALUE - 1), count)) {
            match steps.last_mut().filter(|last| last.0 == value) {
                Some(last) => last.1 += count,
                None => steps.push((value, count)),
            }
        }
        let most = match steps.len() as u64 {
            // So few are kept as they are, however rare some of them are.
            ..=PIECES => 0,
            _ => steps.iter().map(|step| step.1).sum::<u64>() / PIECES,
        };
        let mut points: Vec<(u64, u64)> = Vec::new();
        let (mut at, mut passed) = (0, 0);
        while let Some(&(low, mut count)) = steps.get(at) {
            let (mut high, widest) = (low, low + low / WIDTH);
            at += 1;
            while let Some(&(value, more)) = steps.get(at) {
                if count + more > most || value > widest {
                    break;
                }
                (high, count) = (value, count + more);
                at += 1;
            }
            if points.last().is_none_or(|point| point.0 < low) {
                points.push((low, passed));
            }
            passed += count;
            points.push((high + 1, passed));
        }
        Law { points }
    }

    /// Refuses what is no distribution function.
    ///
    /// # Errors
    /// Which point, from 1, and what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        if self.points.len() > MOST_POINTS {
            return Err(format!("has {} points (at most {MOST_POINTS})", self.points.len()));
        }
        let Some((first, last)) = self.points.first().zip(self.points.last()) else { return Ok(()) };
        if first.1 != 0 {
            return Err(format!("point 1: {} values lie below the smallest", first.1));
        }
        for (number, pair) in (2..).zip(self.points.windows(2)) {
            if pair[1].0 <= pair[0].0 || pair[1].1 < pair[0].1 {
                return Err(format!(
                    "point {number}: {:?} comes after {:?}: values rise, counts do not fall",
                    pair[1], pair[0]
                ));
            }
        }
        if last.0 > MOST_VALUE || last.1 > MOST_VALUE {
            return Err(format!("point {}: {last:?} is beyond 2^53", self.points.len()));
        }
        if last.1 == 0 {
            return Err("counts no value".to_owned());
        }
        Ok(())
    }

    /// How many values it was made of.
    pub fn count(&self) -> u64 {
        self.points.last().map_or(0, |last| last.1)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The smallest value; `None` without values.
    pub fn min(&self) -> Option<u64> {
        let piece = self.points.windows(2).find(|pair| pair[1].1 > pair[0].1)?;
        Some(piece[0].0)
    }

    /// The largest value; `None` without values.
    pub fn max(&self) -> Option<u64> {
        let piece = self.points.windows(2).rfind(|pair| pair[1].1 > pair[0].1)?;
        Some(piece[1].0 - 1)
    }

    /// The mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        let sum = |pair: &[(u64, u64)]| (pair[1].1 - pair[0].1) as f64 * ((pair[0].0 + pair[1].0 - 1) as f64 / 2.0);
        (!self.is_empty()).then(|| self.points.windows(2).map(sum).sum::<f64>() / self.count() as f64)
    }

    /// The value of the uniform number `u` in [0, 1), by inversion; 0 without values.
    pub fn draw(&self, u: f64) -> u64 {
        let rank = u * self.count() as f64;
        let next = self.points.partition_point(|point| point.1 as f64 <= rank);
        let (Some(low), Some(high)) = (next.checked_sub(1).map(|at| self.points[at]), self.points.get(next)) else {
            return self.max().unwrap_or(0);
        };
        let within = (rank - low.1 as f64) / (high.1 - low.1) as f64;
        (low.0 + (within * (high.0 - low.0) as f64) as u64).min(high.0 - 1)
    }

    /// The smallest value that a share `p` does not exceed; `None` without values.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        (!self.is_empty()).then(|| self.draw(p.clamp(0.0, 1.0).next_down().max(0.0)))
    }

    /// The share of values below `x`.
    fn below(&self, x: u64) -> f64 {
        let next = self.points.partition_point(|point| point.0 <= x);
        let count = match (next.checked_sub(1).map(|at| self.points[at]), self.points.get(next)) {
            (None, _) => 0.0,
            (Some(last), None) => last.1 as f64,
            (Some(low), Some(high)) => {
                low.1 as f64 + (high.1 - low.1) as f64 * ((x - low.0) as f64 / (high.0 - low.0) as f64)
            }
        };
        count / self.count() as f64
    }

    /// The Kolmogorov-Smirnov distance between both; `None` if one has no values.
    pub fn distance(&self, other: &Law) -> Option<f64> {
        let places = || self.points.iter().chain(&other.points).map(|point| point.0);
        let apart = |x| (self.below(x) - other.below(x)).abs();
        (!self.is_empty() && !other.is_empty()).then(|| places().map(apart).fold(0.0, f64::max))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use flowloom_core::sketch::Sketch;

    fn of(values: impl IntoIterator<Item = u64>) -> Law {
        let mut sketch = Sketch::default();
        sketch.extend(values);
        Law::new(&sketch.empirical())
    }

    #[test]
    fn few_values_are_redrawn_exactly() {
        let law = of([7, 3, 3, 9]);
        assert_eq!(law.points, [(3, 0), (4, 2), (7, 2), (8, 3), (9, 3), (10, 4)]);
        assert_eq!([0.0, 0.49, 0.5, 0.74, 0.75, 0.999].map(|u| law.draw(u)), [3, 3, 7, 7, 9, 9]);
        assert_eq!((law.min(), law.max(), law.mean(), law.count()), (Some(3), Some(9), Some(5.5), 4));
        assert_eq!([0.0, 0.5, 0.51, 1.0].map(|p| law.quantile(p)), [3, 3, 7, 9].map(Some));
        assert_eq!((Law::default().draw(0.5), Law::default().max()), (0, None));
    }

    #[test]
    fn many_values_keep_their_shares_and_their_mean() {
        // A Pareto tail of index 1.1 over seven decades.
        let values: Vec<u64> =
            (0..200_000).map(|i| libm::pow(1.0 - f64::from(i) / 200_001.0, -1.0 / 1.1) as u64 * 100).collect();
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        let law = of(values.iter().copied());
        law.check().unwrap();
        assert!(law.points.len() < 2_500, "{}", law.points.len());
        assert!((law.mean().unwrap() / mean - 1.0).abs() < 0.01, "{} {mean}", law.mean().unwrap());
        let redrawn = of((0..200_000).map(|i| law.draw(f64::from(i) / 200_000.0)));
        assert!(law.distance(&redrawn).unwrap() < 0.002_1, "{:?}", law.distance(&redrawn));
        let exact = of(values.iter().step_by(391).copied());
        assert!(law.distance(&exact).unwrap() < 0.01);
    }

    /// So few different values stay what they are, however rare: nobody had a segment of 1,400 bytes.
    #[test]
    fn rare_values_are_not_merged() {
        let sizes = [(1_380, 50), (1_448, 60), (1_460, 100_000)];
        let law = Law::of_steps(sizes);
        for (value, count) in sizes {
            let drawn = (0..100_110).filter(|i| law.draw(f64::from(*i) / 100_110.0) == value).count() as u64;
            assert!(drawn.abs_diff(count) <= 1, "{value}: {drawn}");
        }
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        // Methods L.2: x and y in units of 0.01.
        let x = of([12, 25, 31, 40, 55, 80, 120, 250, 400, 900]);
        let y = of([15, 30, 42, 60, 75, 110, 190, 380, 750, 2_000]);
        assert!((x.distance(&y).unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(x.distance(&x), Some(0.0));
        assert_eq!(x.distance(&Law::default()), None);
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_its_place() {
        for (points, wanted) in [
            (vec![(1, 1), (2, 2)], "point 1: "),
            (vec![(1, 0), (1, 2)], "point 2: (1, 2) comes after (1, 0)"),
            (vec![(1, 0), (2, 3), (3, 2)], "point 3: "),
            (vec![(1, 0), (MOST_VALUE + 1, 2)], "point 2: "),
            (vec![(1, 0), (2, 0)], "counts no value"),
            (vec![(1, 0)], "counts no value"),
        ] {
            let refused = Law { points }.check().unwrap_err();
            assert!(refused.starts_with(wanted), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn any_values_make_a_law_that_redraws_them(values in prop::collection::vec(any::<u64>(), 1..200), u in 0.0f64..1.0) {
            let law = of(values.iter().copied());
            prop_assert_eq!(law.check(), Ok(()));
            prop_assert_eq!(law.count(), values.len() as u64);
            let drawn = law.draw(u);
            prop_assert!(values.iter().any(|value| *value.min(&(MOST_VALUE - 1)) == drawn), "{}", drawn);
        }
    }
}
