//! Whether a run was long enough: when the running 90th percentile of response sizes no longer moves (Weigle 2003, methods
//! E.4). Means of heavy tails do not settle in any time that can be simulated (methods E.3).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Serialize;

/// Responses between two looks.
const EVERY: u64 = 100;
/// Looks without which nothing is said: two or three percentiles can agree by luck.
const LEAST_LOOKS: usize = 20;
/// Coefficient of variation up to which the percentile has settled.
const SETTLED: f64 = 0.05;
/// Looks of the shorter window that is told beside.
const WINDOW: usize = 50;
/// Responses that a run should have.
const RESPONSES: u64 = 250_000;
/// Bytes that the 99th percentile should exceed.
const LARGE: f64 = 66_560.0;
/// Bytes of the response that should have begun.
const HUGE: u64 = 10_000_000;

/// Watches the sizes of completed responses in the order of their completion.
#[derive(Clone, Debug, Default)]
pub struct RunLength {
    /// The smallest tenths, largest first.
    below: BinaryHeap<u64>,
    /// The others, smallest first.
    above: BinaryHeap<Reverse<u64>>,
    /// The percentile at each look.
    looks: Vec<f64>,
    /// Of them: number, mean, and sum of squared distances to it.
    sums: (f64, f64, f64),
    /// After how many responses the coefficient of variation was above what is settled for the last time.
    unsettled: u64,
    largest: u64,
}

/// What became of the rules at the end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LongEnough {
    /// Completed responses.
    pub responses: u64,
    /// Coefficient of variation of the running 90th percentile over all looks; null with fewer than two.
    pub p90_cov: Option<f64>,
    /// The same over the last 50.
    pub p90_cov_last_50: Option<f64>,
    /// After so many responses it was above 5 % for the last time.
    pub p90_unsettled_responses: u64,
    /// 99th percentile in bytes; null without responses.
    pub p99_bytes: Option<f64>,
    /// Largest response that was begun, in bytes.
    pub largest_bytes: u64,
    /// Whether all rules hold: 250,000 responses, a settled percentile, a 99th above 66,560 bytes, one above 10 MB begun.
    pub long_enough: bool,
}

impl RunLength {
    /// A response of so many bytes has begun.
    pub fn begin(&mut self, bytes: u64) {
        self.largest = self.largest.max(bytes);
    }

    /// A response of so many bytes has arrived.
    pub fn add(&mut self, bytes: u64) {
        self.begin(bytes);
        match self.below.peek() {
            Some(&top) if bytes > top => self.above.push(Reverse(bytes)),
            _ => self.below.push(bytes),
        }
        // Below are the first floor(0.9 (n - 1)) + 1 in order, the last of which is the percentile but for what it is short of the next.
        let count = self.responses();
        let wanted = (9 * (count - 1) / 10 + 1) as usize;
        while self.below.len() > wanted {
            self.above.extend(self.below.pop().map(Reverse));
        }
        while self.below.len() < wanted {
            self.below.extend(self.above.pop().map(|Reverse(bytes)| bytes));
        }
        if count.is_multiple_of(EVERY) {
            self.look(count);
        }
    }

    fn responses(&self) -> u64 {
        (self.below.len() + self.above.len()) as u64
    }

    fn look(&mut self, count: u64) {
        let (low, high) = (self.below.peek().copied().unwrap_or_default(), self.above.peek().map(|next| next.0));
        let rest = (9 * (count - 1) % 10) as f64 / 10.0;
        let low = low as f64;
        let percentile = low + rest * (high.map_or(low, |high| high as f64) - low);
        self.looks.push(percentile);
        let (number, mean, squares) = &mut self.sums;
        *number += 1.0;
        let before = percentile - *mean;
        *mean += before / *number;
        *squares += before * (percentile - *mean);
        if self.cov().is_some_and(|cov| cov > SETTLED) {
            self.unsettled = count;
        }
    }

    /// Coefficient of variation of all looks, with n - 1.
    fn cov(&self) -> Option<f64> {
        let (number, mean, squares) = self.sums;
        (number > 1.0 && mean > 0.0).then(|| libm::sqrt(squares / (number - 1.0)) / mean)
    }

    /// What the rules say of the responses so far.
    pub fn result(&self) -> LongEnough {
        let responses = self.responses();
        let recent = &self.looks[self.looks.len().saturating_sub(WINDOW)..];
        let mean = recent.iter().sum::<f64>() / recent.len().max(1) as f64;
        let squares: f64 = recent.iter().map(|look| (look - mean) * (look - mean)).sum();
        let recent_cov =
            (recent.len() > 1 && mean > 0.0).then(|| libm::sqrt(squares / (recent.len() - 1) as f64) / mean);
        let p99 = self.p99();
        let settled = self.looks.len() >= LEAST_LOOKS && self.cov().is_some_and(|cov| cov <= SETTLED);
        LongEnough {
            responses,
            p90_cov: self.cov(),
            p90_cov_last_50: recent_cov,
            p90_unsettled_responses: self.unsettled,
            p99_bytes: p99,
            largest_bytes: self.largest,
            long_enough: responses >= RESPONSES && settled && p99.is_some_and(|p99| p99 > LARGE) && self.largest > HUGE,
        }
    }

    /// The 99th percentile by interpolation (type 7).
    fn p99(&self) -> Option<f64> {
        let mut above: Vec<u64> = self.above.iter().map(|bytes| bytes.0).chain(self.below.peek().copied()).collect();
        above.sort_unstable();
        let count = self.responses().checked_sub(1)?;
        // Place 0 of the sorted is the last of those below.
        let place = (99 * count / 100) as usize - (self.below.len() - 1);
        let (low, rest) = (above[place] as f64, (99 * count % 100) as f64 / 100.0);
        Some(low + rest * (above.get(place + 1).map_or(low, |next| *next as f64) - low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Methods E.4: x_i = 1000 (1-u_i)^(-1/1.23), u of LCG(2024). Sizes are whole here, so that thousandths of bytes are fed.
    #[test]
    fn test_vector() {
        let mut state = 2024u64;
        let mut sizes = std::iter::repeat_with(|| {
            state = (1_103_515_245 * state + 12_345) % (1 << 31);
            let u = state as f64 / f64::from(1u32 << 31);
            (1e6 * (1.0 - u).powf(-1.0 / 1.23)).round() as u64
        });
        let mut watch = RunLength::default();
        for (count, percentile, cov) in [
            (200, 5_699.700_6, 0.165_068),
            (1_000, 7_376.072_2, 0.067_031),
            (5_000, 7_055.654_1, 0.043_032),
            (10_000, 6_755.731_5, 0.039_136),
            (20_000, 6_661.894_1, 0.038_448),
        ] {
            let more = count - watch.responses();
            sizes.by_ref().take(more as usize).for_each(|size| watch.add(size));
            let found = watch.looks[watch.looks.len() - 1] / 1e3;
            assert!((found - percentile).abs() < 1e-3, "{found}, not {percentile}");
            let found = watch.cov().unwrap();
            assert!((found - cov).abs() < 1e-6, "{found}, not {cov}");
        }
        let result = watch.result();
        assert_eq!((result.responses, result.p90_unsettled_responses), (20_000, 3_200));
        assert!((result.p90_cov_last_50.unwrap() - 0.004_634).abs() < 1e-6, "{result:?}");
        assert!((result.p99_bytes.unwrap() / 1e3 - 43_104.064_6).abs() < 1e-3, "{result:?}");
        assert!(!result.long_enough, "too few");
    }

    #[test]
    fn all_rules_have_to_hold() {
        let run = |sizes: &mut dyn Iterator<Item = u64>| {
            let mut watch = RunLength::default();
            sizes.for_each(|size| watch.add(size));
            watch.result().long_enough
        };
        let heavy = |index: u64| if index.is_multiple_of(50) { 11_000_000 } else { 1_000 };
        assert!(run(&mut (0..250_000).map(heavy)));
        assert!(!run(&mut (0..249_999).map(heavy)), "too few responses");
        assert!(!run(&mut (0..250_000).map(|index| heavy(index).min(9_000_000))), "none is huge");
        let few = |index: u64| if index.is_multiple_of(200) { 11_000_000 } else { 1_000 };
        assert!(!run(&mut (0..250_000).map(few)), "the 99th percentile is small");
        assert!(!run(&mut (0..250_000).map(|index| heavy(index) + index * index / 1_000)), "it goes on growing");
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let nothing = RunLength::default().result();
        assert_eq!((nothing.responses, nothing.p90_cov, nothing.p99_bytes), (0, None, None));
        let mut one = RunLength::default();
        one.add(5);
        one.begin(70);
        assert_eq!((one.result().p99_bytes, one.result().largest_bytes), (Some(5.0), 70));
    }
}
