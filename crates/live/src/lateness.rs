//! How late things were: actual minus scheduled time, of every release of the emulator and of every action of a worker.

use flowloom_core::time::Duration;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// A distribution of delays from 1 us to an hour, exact to 1 %. Merging two is the same as recording into one.
#[derive(Clone, Debug, PartialEq)]
pub struct Lateness(Histogram<u64>);

/// A [`Lateness`] in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LatenessSummary {
    /// How many.
    pub count: u64,
    /// Median.
    pub p50: Duration,
    /// 90 % of them were at most so late.
    pub p90: Duration,
    /// 99 %.
    pub p99: Duration,
    /// 99.9 %.
    pub p999: Duration,
    /// The latest.
    pub max: Duration,
}

/// A [`Lateness`] as processes hand it to each other: microseconds and counts.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counted(Vec<(u64, u64)>);

/// Longest delay that is told apart, in microseconds.
const MOST_MICROS: u64 = 3_600_000_000;

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness(Histogram::new_with_bounds(1, MOST_MICROS, 2).expect("these bounds are possible"))
    }
}

impl Lateness {
    /// Adds a delay; what was early was not late.
    pub fn record(&mut self, late: Duration) {
        self.0.saturating_record(late.as_nanos().div_ceil(1_000).max(1));
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Lateness) {
        self.0.add(&other.0).expect("all have the same bounds");
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The delay that a share `quantile` of them does not exceed; zero if there are none.
    pub fn quantile(&self, quantile: f64) -> Duration {
        Duration::from_micros(if self.0.is_empty() { 0 } else { self.0.value_at_quantile(quantile) })
    }

    /// The longest; zero if there are none.
    pub fn max(&self) -> Duration {
        Duration::from_micros(if self.0.is_empty() { 0 } else { self.0.max() })
    }

    /// In a few numbers.
    pub fn summary(&self) -> LatenessSummary {
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|quantile| self.quantile(quantile));
        LatenessSummary { count: self.count(), p50, p90, p99, p999, max: self.max() }
    }

    /// Delays and how often each was recorded, ascending.
    pub fn counts(&self) -> impl Iterator<Item = (Duration, u64)> {
        self.0.iter_recorded().map(|step| (Duration::from_micros(step.value_iterated_to()), step.count_at_value()))
    }
}

impl From<&Lateness> for Counted {
    fn from(lateness: &Lateness) -> Counted {
        Counted(lateness.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect())
    }
}

impl From<&Counted> for Lateness {
    fn from(counted: &Counted) -> Lateness {
        let mut lateness = Lateness::default();
        counted.0.iter().for_each(|&(micros, count)| lateness.0.saturating_record_n(micros.max(1), count));
        lateness
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_shards_are_the_whole() {
        let (mut whole, mut shards) = (Lateness::default(), [Lateness::default(), Lateness::default()]);
        for n in 0..10_000_u64 {
            let late = Duration::from_nanos(n * n * 100);
            whole.record(late);
            shards[(n % 2) as usize].record(late);
        }
        let [mut merged, other] = shards;
        merged.merge(&Lateness::from(&Counted::from(&other)));
        assert_eq!(merged, whole);
        assert_eq!(merged.count(), 10_000);
        let (exact, found) = (9_900_f64.powi(2) * 100e-9, merged.quantile(0.99).as_secs_f64());
        assert!((found / exact - 1.0).abs() < 0.01, "{found} for {exact}");
        assert_eq!(Lateness::default().quantile(0.99), Duration::ZERO);
    }
}
