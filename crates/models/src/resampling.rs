//! Other draws of a measured workload: blocks of it in another order, or starts that move a little (methods M.5).
//!
//! The replay of a trace has no randomness of its own. Replications differ by what the trace might have been: block resampling
//! (Hernandez-Campos 2006) keeps the dependence of starts inside blocks.

use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};

/// How draws differ from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variation {
    /// A block of the workload in each slot of the draw, any of them equally likely.
    Blocks,
    /// Each start moves by at most this, earlier or later, all distances equally likely.
    Jitter(Duration),
}

/// Fewer blocks than this say little of what else the trace might have been.
pub const FEWEST_BLOCKS: u64 = 8;

/// The length of blocks for a workload of this length: a twentieth of it, between 1 s and 60 s, and at least as long as 90 % of its
/// connections last where eight blocks remain (methods M.5).
pub fn block_length(length: Duration, durations: &mut [Duration]) -> Duration {
    let block = (length / 20).clamp(Duration::from_secs(1), Duration::from_secs(60));
    if durations.is_empty() {
        return block;
    }
    let place = (durations.len() * 9).div_ceil(10) - 1;
    let (_, q90, _) = durations.select_nth_unstable(place);
    let longer = block.max(*q90);
    if longer * FEWEST_BLOCKS <= length { longer } else { block }
}

/// A draw: where the connections of the workload start in it.
#[derive(Clone, Debug)]
pub struct Draw {
    places: Places,
    /// How long connections of the draw start.
    length: Duration,
}

#[derive(Clone, Debug)]
enum Places {
    /// For each block of the workload, the slots that it fills.
    Blocks { block: Duration, slots: Vec<Vec<u64>> },
    /// Each start is drawn around the old one.
    Jitter { by: Duration, seed: u64 },
}

impl Draw {
    /// Blocks of a workload whose connections start for `of`, for a draw of `length`. A remainder that is no whole block is in no draw.
    /// `None` if there are fewer than two blocks, of which all draws would be alike.
    pub fn of_blocks(of: Duration, block: Duration, length: Duration, seed: u64) -> Option<Draw> {
        let count = of.as_nanos() / block.as_nanos().max(1);
        if count < 2 {
            return None;
        }
        let mut slots = vec![Vec::new(); count as usize];
        for slot in 0..length.as_nanos().div_ceil(block.as_nanos()) {
            let drawn = Stream::new(seed, Purpose::Resampling, slot).below(count);
            slots[drawn as usize].push(slot);
        }
        Some(Draw { places: Places::Blocks { block, slots }, length })
    }

    /// Starts that move by at most `by`, inside `length`.
    pub fn of_jitter(by: Duration, length: Duration, seed: u64) -> Draw {
        Draw { places: Places::Jitter { by, seed }, length }
    }

    /// When connection number `index`, which started at `start`, starts in the draw: never, once or several times.
    pub fn starts(&self, index: u64, start: Time) -> Vec<Time> {
        match &self.places {
            Places::Blocks { block, slots } => {
                let (number, within) = (start.as_nanos() / block.as_nanos(), start.as_nanos() % block.as_nanos());
                let slots = slots.get(number as usize).map_or(&[][..], Vec::as_slice);
                let starts = slots.iter().map(|slot| Time::ZERO + *block * *slot + Duration::from_nanos(within));
                starts.filter(|start| start.since(Time::ZERO) < self.length).collect()
            }
            Places::Jitter { by, seed } => {
                let span = by.as_nanos().saturating_mul(2).saturating_add(1);
                let moved = Stream::new(*seed, Purpose::StartJitter, index).below(span);
                let last = self.length.as_nanos().saturating_sub(1);
                let start = (start.as_nanos() + moved).saturating_sub(by.as_nanos()).min(last);
                vec![Time::from_nanos(start)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECS: fn(u64) -> Duration = Duration::from_secs;
    const AT: fn(u64) -> Time = Time::from_nanos;

    #[test]
    fn blocks_are_a_twentieth_and_hold_most_connections() {
        for (length, q90, block) in [
            (SECS(3_600), SECS(8), SECS(60)),
            (SECS(3_600), SECS(90), SECS(90)),
            // Only seven blocks of 500 s: dependence inside them is cut, and the draws differ.
            (SECS(3_600), SECS(500), SECS(60)),
            (SECS(100), SECS(1), SECS(5)),
            (SECS(5), Duration::from_millis(200), SECS(1)),
        ] {
            let mut durations: Vec<_> = (0..100).map(|n| if n < 89 { Duration::ZERO } else { q90 }).collect();
            assert_eq!(block_length(length, &mut durations), block, "{length} {q90}");
        }
        assert_eq!(block_length(SECS(3_600), &mut []), SECS(60));
    }

    /// Starts keep their places inside blocks, every slot has one block, and over many draws each block comes as often as any other.
    #[test]
    fn every_slot_holds_a_block() {
        let starts: Vec<Time> = (0..1_000).map(|n| AT(n * 100_000_000 + n % 7)).collect();
        let mut times = [0_u64; 10];
        for seed in 0..200 {
            let draw = Draw::of_blocks(SECS(100), SECS(10), SECS(100), seed).unwrap();
            let mut filled = [0; 10];
            for (index, start) in (0..).zip(&starts) {
                for new in draw.starts(index, *start) {
                    assert_eq!(new.as_nanos() % 10_000_000_000, start.as_nanos() % 10_000_000_000);
                    filled[(new.as_nanos() / 10_000_000_000) as usize] += 1;
                    times[(start.as_nanos() / 10_000_000_000) as usize] += 1;
                }
            }
            assert_eq!(filled, [100; 10], "seed {seed}");
        }
        // 200 connections a block in the mean, with a standard deviation of sqrt(2,000 * 0.09) = 13.4 blocks of 100.
        assert!(times.iter().all(|count| (15_000..25_000).contains(count)), "{times:?}");
    }

    #[test]
    fn one_seed_gives_one_draw() {
        let starts = |seed| -> Vec<Vec<Time>> {
            let draw = Draw::of_blocks(SECS(100), SECS(1), SECS(50), seed).unwrap();
            (0..100).map(|n| draw.starts(n, Time::ZERO + SECS(n))).collect()
        };
        assert_eq!(starts(7), starts(7));
        assert_ne!(starts(7), starts(8));
        assert_eq!(starts(7).concat().len(), 50, "as long as the draw is asked to be");
    }

    #[test]
    fn a_remainder_is_left_out_and_one_block_is_no_draw() {
        let draw = Draw::of_blocks(SECS(25), SECS(10), SECS(25), 1).unwrap();
        assert_eq!(draw.starts(0, Time::ZERO + SECS(21)), []);
        let all = [1, 11].map(|at| draw.starts(0, Time::ZERO + SECS(at)).len());
        assert_eq!(all.iter().sum::<usize>(), 3, "the last slot is cut, and its start is within it");
        assert!(Draw::of_blocks(SECS(19), SECS(10), SECS(19), 1).is_none());
    }

    #[test]
    fn jitter_moves_each_start_a_little() {
        let draw = Draw::of_jitter(SECS(2), SECS(100), 3);
        let moved: Vec<f64> = (0..2_000)
            .map(|index| draw.starts(index, Time::ZERO + SECS(50))[0].since(Time::ZERO).as_secs_f64() - 50.0)
            .collect();
        assert!(moved.iter().all(|by| by.abs() <= 2.0));
        // Uniform: mean 0 with a standard error of 4 / sqrt(12 * 2,000) = 0.026.
        assert!((moved.iter().sum::<f64>() / 2_000.0).abs() < 0.11);
        let ends = [Time::ZERO, Time::ZERO + SECS(100)].map(|at| draw.starts(5, at)[0]);
        assert!(ends.iter().all(|end| end.since(Time::ZERO) < SECS(100)));
    }
}
