//! Starts of connections: a Poisson process whose intensity has long-range dependence.

use flowloom_core::rng::{Purpose, Stream};

use super::trace::Fall;
use crate::fsd::{Fsd, FsdModel};

/// Seconds for which the intensity stays the same: the bins in which the published estimates count.
const BIN: f64 = 0.01;

/// Dependence of the logarithm of the intensity, and its standard deviation. Fitted together: counts in bins of 10 ms have a Hurst
/// parameter of 0.685 (wavelets, octaves from 3 on; a Poisson process has 0.5), and in bins of 6,274 connections on average a
/// standard deviation of 346 (a Poisson process has 79.2): methods A.11 and Hernandez-Campos 2006, of another trace of the same
/// campus. Both are of the rate at scale 1 of `campus-2008`.
const DEPENDENCE: FsdModel = FsdModel { d: 0.24, theta: 0.0, past: 4_096 };
const DEVIATION: f64 = 0.235;

/// Starts in seconds, one after the other.
#[derive(Clone, Debug)]
pub struct Arrivals {
    rate: f64,
    intensity: Fsd,
    gaps: Stream,
    /// The last start.
    at: f64,
    /// Number of the bin after the one in which that is.
    next_bin: u64,
    /// Connections per second in it.
    now: f64,
    /// None starts after this.
    until: f64,
    /// How the mean changes: when, and what it is in parts of the rate before and after.
    fall: Option<Fall>,
}

impl Arrivals {
    /// With so many connections per second in the mean, for so many seconds.
    pub fn new(rate: f64, seed: u64, until: f64) -> Arrivals {
        let intensity = Fsd::new(DEPENDENCE, Stream::new(seed, Purpose::ReferenceIntensity, 0));
        let gaps = Stream::new(seed, Purpose::Arrivals, 0);
        Arrivals { rate, intensity, gaps, at: 0.0, next_bin: 0, now: 0.0, until, fall: None }
    }

    /// The same with a mean that falls, counted from the first start that is possible.
    #[must_use]
    pub fn falling(self, fall: Option<Fall>) -> Arrivals {
        Arrivals { fall, ..self }
    }
}

impl Iterator for Arrivals {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        // As many connections as would start in so long a time at one connection per second.
        let mut left = self.gaps.exponential(1.0);
        loop {
            let end = self.next_bin as f64 * BIN;
            let in_bin = self.now * (end - self.at);
            if left < in_bin {
                self.at += left / self.now;
                return Some(self.at);
            }
            left -= in_bin;
            self.at = end;
            if end > self.until {
                return None;
            }
            self.next_bin += 1;
            // A lognormal variable of mean 1.
            let log = DEVIATION * self.intensity.normal() - 0.5 * DEVIATION * DEVIATION;
            let level = self.fall.map_or(1.0, |fall| if end < fall.at { fall.before } else { fall.after });
            self.now = self.rate * level * libm::exp(log);
        }
    }
}
