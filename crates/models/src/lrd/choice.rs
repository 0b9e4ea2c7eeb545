//! Which octaves of a logscale diagram a fit uses (methods D.4). No automatic rule is safe: all fits are to be shown.

use super::fit;
use super::fit::Hurst;
use super::wavelet::{Octave, Wavelet, logscale};

/// Fewest coefficients an octave of a fit has.
const FEWEST: usize = 8;
/// A fit this improbable is none.
const LEAST_P: f64 = 0.05;
/// Where fits of [`hurst`] begin: the first octaves of counts, which are taken as the first approximation, are biased.
const FIRST: u32 = 3;

/// The last octave with enough coefficients for a fit; `None` without one.
pub fn last_octave(octaves: &[Octave]) -> Option<u32> {
    octaves.iter().rfind(|octave| octave.coefficients >= FEWEST).map(|octave| octave.number)
}

/// The Hurst parameter of `counts`, from octave 3 to the last with eight coefficients; `None` if they are too few, or always the
/// same.
pub fn hurst(counts: &[f64]) -> Option<Hurst> {
    let octaves = logscale(counts, Wavelet::Three);
    fit(&octaves, FIRST, last_octave(&octaves)?)
}

/// The fits of a diagram by the octave where they begin, all to the last with eight coefficients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fits {
    /// Ascending by first octave, each over three octaves at least, so that it can be told to be bad.
    pub all: Vec<Hurst>,
    /// Place in [`Self::all`] of the one to use; `None` without any.
    chosen: Option<usize>,
}

impl Fits {
    /// Those of `octaves`. To use is the one of most octaves that does not begin before octave `earliest` and has a p of 0.05 or
    /// more; if none has, the one with the largest p; if none begins so late, the last.
    pub fn new(octaves: &[Octave], earliest: u32) -> Fits {
        let last = last_octave(octaves).unwrap_or(0);
        let all: Vec<Hurst> = (1..=last.saturating_sub(2)).filter_map(|first| fit(octaves, first, last)).collect();
        let p = |place: &usize| all[*place].p.unwrap_or(0.0);
        let mut late = (0..all.len()).filter(|place| all[*place].octaves.0 >= earliest);
        let chosen = late
            .clone()
            .find(|place| p(place) >= LEAST_P)
            .or_else(|| late.by_ref().max_by(|one, other| p(one).total_cmp(&p(other))))
            .or(all.len().checked_sub(1));
        Fits { all, chosen }
    }

    /// The one to use.
    pub fn chosen(&self) -> Option<&Hurst> {
        self.all.get(self.chosen?)
    }

    /// Whether the one to use is a straight line as far as chance allows.
    pub fn is_straight(&self) -> bool {
        self.chosen().and_then(|hurst| hurst.p).is_some_and(|p| p >= LEAST_P)
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{both, lcg};
    use super::*;

    #[test]
    fn the_default_is_from_three_to_the_last_with_eight_coefficients() {
        let [_, long] = both();
        assert_eq!(hurst(&long).unwrap().octaves, (3, 10));
        assert_eq!(hurst(&[]), None);
        assert_eq!(hurst(&lcg(60, 1)), None);
        assert_eq!(hurst(&[3.0; 4_096]), None);
    }

    #[test]
    fn the_first_octaves_that_do_not_lie_on_the_line_are_left_out() {
        let [white, long] = both();
        let octaves = logscale(&long, Wavelet::Three);
        let fits = Fits::new(&octaves, 1);
        assert_eq!(fits.all.len(), 8, "from octave 1 to 8, three octaves at least");
        assert_eq!(fits.all.iter().map(|one| one.octaves).next_back(), Some((8, 10)));
        assert!(fits.all[0].p.unwrap() < LEAST_P, "FD from octave 1");
        let first = fits.chosen().unwrap().octaves.0;
        assert_eq!(fits.all.iter().position(|one| one.p.unwrap() >= LEAST_P), Some(first as usize - 1));
        assert!(fits.is_straight() && first > 1);
        assert_eq!(Fits::new(&octaves, 5).chosen().unwrap().octaves.0, 5);
        assert_eq!(Fits::new(&octaves, 20).chosen().unwrap().octaves.0, 8, "as late as can be");
        assert_eq!(Fits::new(&logscale(&white, Wavelet::Three), 2).chosen().unwrap().octaves.0, 2);
        assert_eq!(Fits::new(&logscale(&white[..60], Wavelet::Three), 2), Fits::default());
    }

    #[test]
    fn where_no_line_fits_the_least_bad_is_told_to_be_bad() {
        // Energies that go up and down are on no line.
        let octave = |number: u32| Octave {
            number,
            coefficients: 9_000 >> number,
            energy: f64::from(number % 2),
            variance: 1e-3,
        };
        let octaves: Vec<Octave> = (1..=8).map(octave).collect();
        let fits = Fits::new(&octaves, 2);
        assert!(!fits.is_straight());
        let best = fits.all[1..].iter().map(|one| one.p.unwrap()).fold(0.0, f64::max);
        assert_eq!(fits.chosen().unwrap().p, Some(best));
    }
}
