//! The transit times of an end that no acknowledgement policy delayed, and points of their distribution (methods A.13.9).
//!
//! Of many samples every second, fourth, eighth ... is kept, so that the kept ones are spread evenly over the life of the connection. What
//! is kept depends on the order of the samples alone.

use crate::time::Duration;
use crate::workload::TransitQuantiles;

/// With fewer samples nothing is said of their distribution.
const FEWEST: usize = 3;

/// Samples that are kept at most; of more, half as many at least.
const MOST: u32 = 128;

/// Samples of one end.
#[derive(Clone, Debug, Default)]
pub(super) struct Undelayed {
    /// All samples while there are fewer than [`FEWEST`], as in most connections.
    few: [u64; FEWEST - 1],
    /// Samples so far.
    seen: u32,
    /// Those that are kept, from the third on.
    #[expect(clippy::box_collection, reason = "absent in most connections, and this is held once per end")]
    kept: Option<Box<Vec<u64>>>,
}

impl Undelayed {
    /// Takes a transit time.
    pub fn push(&mut self, transit: u64) {
        let (at, every) = (self.seen, (self.seen / MOST + 1).next_power_of_two());
        self.seen = self.seen.saturating_add(1);
        if let Some(place) = self.few.get_mut(at as usize) {
            *place = transit;
            return;
        }
        let kept = self.kept.get_or_insert_with(|| Box::new(self.few.to_vec()));
        if kept.len() == MOST as usize {
            let mut is_odd = true;
            kept.retain(|_| {
                is_odd = !is_odd;
                !is_odd
            });
        }
        if at.is_multiple_of(every) {
            kept.push(transit);
        }
    }

    /// Points of their distribution, if there are enough of them.
    pub fn quantiles(&self) -> Option<TransitQuantiles> {
        let mut sorted = self.kept.as_ref()?.to_vec();
        sorted.sort_unstable();
        let last = (sorted.len() - 1) as f64;
        // Between two samples the share of the way from one to the other.
        let at = |share: f64| {
            let place = share * last;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            Duration::from_nanos(below + ((above - below) as f64 * place.fract()) as u64)
        };
        Some(TransitQuantiles { q10: at(0.1), q50: at(0.5), q90: at(0.9) })
    }

    /// Bytes held.
    pub fn heap_bytes(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| size_of::<Vec<u64>>() + kept.capacity() * size_of::<u64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Stream};

    fn quantiles(samples: &[u64]) -> Option<[u64; 3]> {
        let mut undelayed = Undelayed::default();
        samples.iter().for_each(|sample| undelayed.push(*sample));
        assert!(undelayed.kept.as_ref().is_none_or(|kept| kept.len() <= MOST as usize));
        undelayed.quantiles().map(|TransitQuantiles { q10, q50, q90 }| [q10, q50, q90].map(Duration::as_nanos))
    }

    #[test]
    fn few_samples_are_exact() {
        assert_eq!(quantiles(&[7, 3]), None);
        assert_eq!(quantiles(&[20, 0, 10]), Some([2, 10, 18]));
        assert_eq!(quantiles(&(0..=100).rev().collect::<Vec<_>>()), Some([10, 50, 90]));
    }

    #[test]
    fn trends_and_steps_are_kept_evenly() {
        for count in [129, 1_000, 20_000, 100_001] {
            let of = |value: fn(u64, u64) -> u64| {
                quantiles(&(0..count).map(|at| value(at, count)).collect::<Vec<_>>()).unwrap()
            };
            for (found, share) in of(|at, _| at).into_iter().zip([0.1, 0.5, 0.9]) {
                assert!((found as f64 / count as f64 - share).abs() < 0.02, "{count}: {found}");
            }
            assert_eq!(of(|at, count| if at < count * 7 / 10 { 5 } else { 80 }), [5, 5, 80]);
        }
    }

    /// Of samples without order the share below each point is that point's, but for 0.05 on average: that is what 64 to 128 samples tell.
    #[test]
    fn random_samples_are_near_the_exact_quantiles() {
        let mut stream = Stream::new(3, Purpose::Sizes, 1);
        let shapes: [fn(f64) -> f64; 3] = [|u| u, |u| -libm::log(u.max(1e-12)), |u| if u < 0.5 { u } else { 10.0 + u }];
        for shape in shapes {
            for count in [200_usize, 3_000] {
                let mut off = [0.0; 3];
                const RUNS: usize = 100;
                for _ in 0..RUNS {
                    let samples: Vec<u64> = (0..count).map(|_| (shape(stream.uniform()) * 1e9) as u64).collect();
                    let found = quantiles(&samples).unwrap();
                    for ((off, found), share) in off.iter_mut().zip(found).zip([0.1, 0.5, 0.9]) {
                        let below = samples.iter().filter(|sample| **sample < found).count();
                        *off += (below as f64 / count as f64 - share).abs() / RUNS as f64;
                    }
                }
                assert!(off.iter().all(|off| *off < 0.05), "{count}: {off:?}");
            }
        }
    }
}
