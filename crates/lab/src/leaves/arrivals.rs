//! What a sink takes note of: gaps between arrivals. Their standard deviation is the jitter of the KU experiments (methods J.5).

use flowloom_core::time::Time;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longest gap that is told apart: an hour.
const MOST_NS: u64 = 3_600_000_000_000;

/// Times between arrivals at one end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Told", into = "Told")]
pub struct Arrivals {
    last: Option<Time>,
    count: u64,
    mean: f64,
    squares: f64,
    /// In nanoseconds, exact to 0.1 %.
    gaps: Histogram<u64>,
}

/// [`Arrivals`] as agents tell them: what two ends have can be added exactly.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Told {
    count: u64,
    mean_ns: f64,
    /// Sum of the squared distances from the mean.
    squares_ns2: f64,
    /// Nanoseconds and how many gaps are so long, ascending.
    gaps_ns: Vec<(u64, u64)>,
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        let gaps = Histogram::new_with_bounds(1, MOST_NS, 3).expect("these bounds are possible");
        Arrivals { last: None, count: 0, mean: 0.0, squares: 0.0, gaps }
    }
}

impl From<Arrivals> for Told {
    fn from(Arrivals { count, mean, squares, gaps, .. }: Arrivals) -> Told {
        let gaps_ns = gaps.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
        Told { count, mean_ns: mean, squares_ns2: squares, gaps_ns }
    }
}

impl From<Told> for Arrivals {
    fn from(Told { count, mean_ns, squares_ns2, gaps_ns }: Told) -> Arrivals {
        let mut arrivals = Arrivals { count, mean: mean_ns, squares: squares_ns2, ..Arrivals::default() };
        gaps_ns.into_iter().for_each(|(gap, count)| arrivals.gaps.saturating_record_n(gap.max(1), count));
        arrivals
    }
}

impl Arrivals {
    /// Something arrives.
    pub fn add(&mut self, now: Time) {
        if let Some(last) = self.last.replace(now) {
            let gap = now.since(last).as_nanos();
            self.gaps.saturating_record(gap.max(1));
            self.count += 1;
            let ahead = gap as f64 - self.mean;
            self.mean += ahead / self.count as f64;
            self.squares += ahead * (gap as f64 - self.mean);
        }
    }

    /// How many gaps there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean, in nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Their standard deviation, in nanoseconds.
    pub fn deviation_ns(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }

    /// The gap that a share of them does not exceed, in nanoseconds, exact to 0.1 %.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        (self.count > 0).then(|| self.gaps.value_at_quantile(share))
    }

    /// Those of another end.
    pub fn add_all(&mut self, other: &Arrivals) {
        self.gaps.add(&other.gaps).expect("all have the same bounds");
        let count = self.count + other.count;
        if count > 0 {
            let ahead = other.mean - self.mean;
            let share = other.count as f64 / count as f64;
            self.squares += other.squares + ahead * ahead * self.count as f64 * share;
            self.mean += ahead * share;
            self.count = count;
        }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::time::Duration;

    use super::*;

    fn of(micros: &[u64]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        micros.iter().for_each(|at| arrivals.add(Time::ZERO + Duration::from_micros(*at)));
        arrivals
    }

    #[test]
    fn jitter_is_the_deviation_of_gaps() {
        // Gaps of 1, 3, 5 us.
        let arrivals = of(&[10, 11, 14, 19]);
        assert_eq!((arrivals.count(), arrivals.mean_ns(), arrivals.deviation_ns()), (3, Some(3e3), Some(2e3)));
        assert_eq!((of(&[5]).mean_ns(), of(&[5, 6]).deviation_ns()), (None, None));
    }

    #[test]
    fn those_of_two_ends_are_added_exactly() {
        let mut both = of(&[0, 1, 3]);
        both.add_all(&of(&[100, 107]));
        both.add_all(&Arrivals::default());
        // Gaps of 1, 2 and 7 us.
        assert_eq!(both.count(), 3);
        assert!((both.mean_ns().unwrap() - 10e3 / 3.0).abs() < 1e-9);
        assert!((both.deviation_ns().unwrap() - (31.0f64 / 3.0).sqrt() * 1e3).abs() < 1e-6);
        let told: Arrivals = serde_json::from_str(&serde_json::to_string(&both).unwrap()).unwrap();
        assert_eq!((told.count(), told.mean_ns(), told.deviation_ns()), (3, both.mean_ns(), both.deviation_ns()));
        let median = told.quantile_ns(0.5).unwrap();
        assert!((2_000..=2_002).contains(&median), "{median}");
    }
}
