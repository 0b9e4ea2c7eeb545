//! The search for the rates at which a source model offers a given load.

/// How far from what is asked a load may be.
const TOLERANCE: f64 = 0.005;

/// How far it may be after [`PATIENCE`] tries: loads of heavy tails leap.
const WIDE: f64 = 0.01;

/// Tries before less will do.
const PATIENCE: u32 = 12;

/// Digits that rates have: what is measured is what can be written down.
const DIGITS: i32 = 5;

/// So near to each other, the ends of a bracket say nothing any more: another rate has moved the load between them.
const NARROW: f64 = 1e-4;

/// A search for rates of each of which one load is the rising function, of the others hardly. Measure the loads at
/// [`Self::rates`], [`Self::handle`] them, and again until that is done.
///
/// Loads are nearly proportional to rates, so that the first guess is the rate at which they would be right. Every third is
/// the middle of what is known to be too low and too high, so that the search ends where loads leap.
#[derive(Clone, Debug)]
pub struct Search {
    wanted: f64,
    guesses: Vec<Guess>,
    tries: u32,
}

#[derive(Clone, Copy, Debug)]
struct Guess {
    rate: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Search {
    /// For a load, beginning at these rates.
    pub fn new(wanted: f64, rates: &[f64]) -> Search {
        let guess = |&rate: &f64| Guess { rate: rounded(rate), low: None, high: None };
        Search { wanted, guesses: rates.iter().map(guess).collect(), tries: 0 }
    }

    /// The rates at which to measure.
    pub fn rates(&self) -> Vec<f64> {
        self.guesses.iter().map(|guess| guess.rate).collect()
    }

    /// How often it was measured.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// Takes the load of each rate. Whether all are what is wanted; if not there are other rates.
    pub fn handle(&mut self, loads: &[f64]) -> bool {
        self.tries += 1;
        let tolerance = if self.tries > PATIENCE { WIDE } else { TOLERANCE };
        if loads.iter().all(|load| (load / self.wanted - 1.0).abs() <= tolerance) {
            return true;
        }
        let halves = self.tries.is_multiple_of(3);
        for (guess, &load) in self.guesses.iter_mut().zip(loads) {
            guess.improve(load / self.wanted, halves);
        }
        false
    }
}

impl Guess {
    /// Another rate, after this gave `ratio` of what is wanted.
    fn improve(&mut self, ratio: f64, halves: bool) {
        let found = Some(self.rate);
        if ratio < 1.0 {
            self.low = found;
        } else {
            self.high = found;
        }
        if let (Some(low), Some(high)) = (self.low, self.high)
            && high - low < NARROW * high
        {
            (self.low, self.high) = if ratio < 1.0 { (found, None) } else { (None, found) };
        }
        // A load of nothing says only that the rate is too low.
        let proportional = self.rate * (1.0 / ratio).clamp(0.1, 10.0);
        let next = match (self.low, self.high) {
            (Some(low), Some(high)) if halves || !(low..high).contains(&proportional) => 0.5 * (low + high),
            _ => proportional,
        };
        self.rate = rounded(next);
    }
}

/// A rate in the digits it is written with.
fn rounded(rate: f64) -> f64 {
    format!("{rate:.*e}", DIGITS as usize - 1).parse().unwrap_or(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many measurements it takes until `loads` are `wanted`, and at which rates.
    fn search(wanted: f64, rates: &[f64], loads: impl Fn(&[f64]) -> Vec<f64>) -> (u32, Vec<f64>) {
        let mut search = Search::new(wanted, rates);
        while !search.handle(&loads(&search.rates())) {
            assert!(search.tries() < 60, "{search:?}");
        }
        (search.tries(), search.rates())
    }

    #[test]
    fn what_is_proportional_takes_two() {
        let (tries, rates) = search(0.85, &[10.0], |rates| vec![0.035 * rates[0]]);
        assert_eq!(tries, 2);
        assert!((rates[0] - 24.286).abs() < 1e-9, "{rates:?}");
    }

    /// Two directions, each of which carries the other's requests.
    #[test]
    fn rates_that_disturb_each_other() {
        let (tries, rates) =
            search(0.5, &[1.0, 30.0], |r| vec![0.035 * r[0] + 0.004 * r[1], 0.003 * r[0] + 0.038 * r[1]]);
        assert!(tries <= 6, "{tries}");
        assert!((rates[0] - 12.88).abs() < 0.2 && (rates[1] - 12.14).abs() < 0.2, "{rates:?}");
    }

    /// Heavy tails: one transfer more and the load leaps by 30 %, and on either side it hardly rises.
    #[test]
    fn loads_that_leap() {
        let load = |rates: &[f64]| vec![0.4 + 0.001 * rates[0] + 0.3 / (1.0 + (-20.0 * (rates[0] - 17.0)).exp())];
        let (_, rates) = search(0.6, &[5.0], load);
        assert!((rates[0] - 17.02).abs() < 0.05, "{rates:?}");
    }

    #[test]
    fn a_load_of_nothing_is_too_low() {
        let (_, rates) = search(0.5, &[0.1], |rates| vec![if rates[0] < 5.0 { 0.0 } else { 0.01 * rates[0] }]);
        assert!((rates[0] - 50.0).abs() < 0.3, "{rates:?}");
    }
}
