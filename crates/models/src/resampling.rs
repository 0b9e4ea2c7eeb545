//! Other draws of a measured workload: blocks of it in another order, or starts that move a little (methods M.5).
//!
//! The replay of a trace has no randomness of its own. Replications differ by what the trace might have been: block resampling
//! (Hernandez-Campos 2006) keeps the dependence of starts inside blocks.

use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Close, ConnectionVector, Protocol, Side};

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

/// Blocks that a workload is divided into, at most. A workload of many years is empty nearly everywhere, and every block of it would cost
/// time and memory.
pub const MOST_BLOCKS: u64 = 1 << 20;

/// The length of blocks for a workload of this length: a twentieth of it, between 1 s and 60 s, and at least as long as 90 % of its
/// connections last where eight blocks remain; longer where there would be more than [`MOST_BLOCKS`] (methods M.5).
pub fn block_length(length: Duration, durations: &mut [Duration]) -> Duration {
    let block = (length / 20).clamp(Duration::from_secs(1), Duration::from_secs(60));
    let block = block.max(Duration::from_nanos(length.as_nanos().div_ceil(MOST_BLOCKS)));
    if durations.is_empty() {
        return block;
    }
    let place = (durations.len() * 9).div_ceil(10) - 1;
    let (_, q90, _) = durations.select_nth_unstable(place);
    let longer = block.max(*q90);
    if longer * FEWEST_BLOCKS <= length { longer } else { block }
}

/// Closes a connection whose end nobody saw when it has been open for `observed`, by the sender of its last data.
///
/// A record says for how long a connection that it cut was open at least, and not for how long in all. Where that starts at another time
/// it stays open for what was seen of it: without a close it would stay open until the end of the draw, and draws would have more active
/// connections than their workload (methods M.5). Connections of which no monitor saw the data keep their ends, and so do flows of
/// datagrams, which have none.
pub fn close_as_observed(vector: &mut ConnectionVector, observed: Duration) {
    let is_seen = vector.adus.iter().all(|adu| adu.seen.is_some());
    if vector.close != Close::NotSeen || vector.protocol != Protocol::Tcp || !is_seen {
        return;
    }
    let last = vector.adus.iter().filter_map(|adu| Some((adu.seen?.last, adu.side))).max_by_key(|(last, _)| *last);
    let (last, closer) = last.unwrap_or((Duration::ZERO, Side::Initiator));
    vector.close = Close::Fin(closer);
    vector.t_close = Some(observed.saturating_sub(last));
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
    /// Blocks of the workload, each with a slot that it fills; sorted.
    Blocks { block: Duration, slots: Vec<(u64, u64)> },
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
        let drawn = |slot| (Stream::new(seed, Purpose::Resampling, slot).below(count), slot);
        let mut slots: Vec<(u64, u64)> = (0..length.as_nanos().div_ceil(block.as_nanos())).map(drawn).collect();
        slots.sort_unstable();
        Some(Draw { places: Places::Blocks { block, slots }, length })
    }

    /// For how long a connection that starts `within` its block and stays open for `open` is open before `end`, in seconds: the sum over
    /// all slots of a draw of `length`, each of which its block fills with the same probability (methods M.5).
    pub fn open_before(end: Duration, within: Duration, open: Duration, block: Duration, length: Duration) -> f64 {
        let block = block.as_nanos().max(1);
        let slots = length.as_nanos().div_ceil(block).max(1);
        let rest = end.as_nanos().saturating_sub(within.as_nanos());
        // In slots before the first of these it is over before the end is; from the second on it does not start any more.
        let slots_with = |least: u64| rest.checked_sub(least).map_or(0, |more| (more / block + 1).min(slots));
        let (whole, begun) = (slots_with(open.as_nanos()), slots_with(1).max(slots_with(open.as_nanos())));
        let cut = (begun - whole) as f64;
        let skipped = cut * (whole + begun).saturating_sub(1) as f64 / 2.0;
        let sum = whole as f64 * open.as_nanos() as f64 + cut * rest as f64 - skipped * block as f64;
        sum / 1e9
    }

    /// Starts that move by at most `by`, inside `length`: at its ends they are reflected.
    pub fn of_jitter(by: Duration, length: Duration, seed: u64) -> Draw {
        Draw { places: Places::Jitter { by, seed }, length }
    }

    /// When connection number `index`, which started at `start`, starts in the draw: never, once or several times.
    pub fn starts(&self, index: u64, start: Time) -> Vec<Time> {
        match &self.places {
            Places::Blocks { block, slots } => {
                let (number, within) = (start.as_nanos() / block.as_nanos(), start.as_nanos() % block.as_nanos());
                let first = slots.partition_point(|(drawn, _)| *drawn < number);
                let slots = slots[first..].iter().take_while(|(drawn, _)| *drawn == number);
                let starts = slots.map(|(_, slot)| Time::ZERO + *block * *slot + Duration::from_nanos(within));
                starts.filter(|start| start.since(Time::ZERO) < self.length).collect()
            }
            Places::Jitter { by, seed } => {
                let span = by.as_nanos().saturating_mul(2).saturating_add(1);
                let moved = Stream::new(*seed, Purpose::StartJitter, index).below(span);
                let start = i128::from(start.as_nanos()) + i128::from(moved) - i128::from(by.as_nanos());
                vec![Time::from_nanos(reflected(start, self.length.as_nanos()))]
            }
        }
    }
}

/// `time` folded back at zero and at `length` until it is between them: where it is cut off instead, starts pile up at the ends.
fn reflected(time: i128, length: u64) -> u64 {
    let length = i128::from(length.max(1));
    let within = time.rem_euclid(2 * length);
    within.min(2 * length - 1 - within) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::workload::{Adu, Span};

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
            // Ten years: as many blocks as there may be.
            (SECS(300 << 20), SECS(8), SECS(300)),
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

    /// A connection with data from 1 to 5 s after its start; closed after 2 s more, or cut by the end of its record.
    fn connection(start: u64, close: Close) -> ConnectionVector {
        let seen = Some(Span { first: SECS(1), last: SECS(5) });
        let side = Side::Acceptor;
        let adu = Adu { side, bytes: 1_000, missing_bytes: 0, wait: None, waiter: side, seen, packets: None };
        let t_close = (close != Close::NotSeen).then_some(SECS(2));
        ConnectionVector {
            start: Time::ZERO + SECS(start),
            adus: vec![adu],
            close,
            t_close,
            ..ConnectionVector::default()
        }
    }

    #[test]
    fn what_the_record_cut_ends_when_it_was_last_seen() {
        let closed_at = |vector: &ConnectionVector| {
            let mut vector = vector.clone();
            let observed = (Time::ZERO + SECS(100)).since(vector.start);
            close_as_observed(&mut vector, observed);
            (vector.close, vector.end().map(|end| end.since(vector.start)))
        };
        let open = connection(60, Close::NotSeen);
        assert_eq!(closed_at(&open), (Close::Fin(Side::Acceptor), Some(SECS(40))), "by the sender of its last data");
        assert_eq!(closed_at(&connection(97, Close::NotSeen)).1, Some(SECS(5)), "not before its data are over");
        let closed = connection(60, Close::Rst(Side::Initiator));
        assert_eq!(closed_at(&closed), (Close::Rst(Side::Initiator), Some(SECS(7))));
        let silent = ConnectionVector { adus: Vec::new(), ..open.clone() };
        assert_eq!(closed_at(&silent), (Close::Fin(Side::Initiator), Some(SECS(40))));
        let datagrams = ConnectionVector { protocol: Protocol::Udp, ..open.clone() };
        assert_eq!(closed_at(&datagrams).0, Close::NotSeen);
        let mut unseen = open;
        unseen.adus[0].seen = None;
        assert_eq!(closed_at(&unseen).0, Close::NotSeen);
    }

    /// A tenth of 1,000 connections has no end in the record of 100 s. Over 20 draws the mean number of active ones is that of the record,
    /// less what the draws' ends cut; left open, connections would add a third to it.
    #[test]
    fn draws_have_as_many_active_connections() {
        let record = SECS(100);
        let vectors: Vec<_> = (0..1_000)
            .map(|n| {
                let close = if n % 10 == 0 { Close::NotSeen } else { Close::Fin(Side::Initiator) };
                ConnectionVector { start: AT(n * 100_000_000), ..connection(0, close) }
            })
            .collect();
        let length = record.as_secs_f64();
        let active = |start: Time, vector: &ConnectionVector, end: Option<Time>| {
            let rest = record.saturating_sub(start.since(Time::ZERO));
            end.map_or(rest, |end| end.since(vector.start).min(rest)).as_secs_f64() / length
        };
        let in_record: f64 = vectors.iter().map(|vector| active(vector.start, vector, vector.end())).sum();
        let (mut closed, mut left_open, mut expected) = (0.0, 0.0, 0.0);
        for (index, vector) in (0..).zip(&vectors) {
            let mut observed = vector.clone();
            close_as_observed(&mut observed, (Time::ZERO + record).since(vector.start));
            for seed in 0..20 {
                for start in Draw::of_blocks(record, SECS(5), record, seed).unwrap().starts(index, vector.start) {
                    closed += active(start, vector, observed.end()) / 20.0;
                    left_open += active(start, vector, vector.end()) / 20.0;
                }
            }
            // Each of 20 slots is as likely as any other.
            let within = AT(vector.start.as_nanos() % 5_000_000_000);
            let slots = (0..20).map(|slot| active(within + SECS(5) * slot, vector, observed.end()));
            expected += slots.sum::<f64>() / 20.0;
        }
        // 50 blocks of the record's mean are in 20 draws of each block, which vary by 1 / sqrt(20 * 20).
        assert!((closed / expected - 1.0).abs() < 3.0 * 0.05, "{closed} {expected}");
        assert!((expected / in_record - 1.0).abs() < 0.15, "{expected} {in_record}");
        assert!(left_open > closed, "{left_open} {closed}");
    }

    #[test]
    fn open_time_equals_the_sum_over_slots() {
        let mut stream = Stream::new(1, Purpose::Sizes, 0);
        for _ in 0..2_000 {
            let [block, length] = [1 + stream.below(30), 1 + stream.below(200)];
            let [within, open, end] = [stream.below(block), stream.below(300), stream.below(length + 1)];
            let slots = length.div_ceil(block);
            let sum: u64 = (0..slots).map(|slot| end.saturating_sub(slot * block + within).min(open)).sum();
            let found = Draw::open_before(SECS(end), SECS(within), SECS(open), SECS(block), SECS(length));
            assert!((found - sum as f64).abs() < 1e-6, "{end} {within} {open} {block} {length}: {found}, not {sum}");
        }
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

    #[test]
    fn reflection_folds_times_back() {
        let folded = [-3, -1, 0, 9, 10, 13, 20, 27, -21].map(|time| reflected(time, 10));
        assert_eq!(folded, [2, 0, 0, 9, 9, 6, 0, 7, 0]);
    }

    /// Starts that are spread evenly stay so, however far they move.
    #[test]
    fn jitter_piles_nothing_up_at_the_ends() {
        for by in [SECS(2), SECS(60), SECS(200)] {
            let draw = Draw::of_jitter(by, SECS(100), 3);
            let starts: Vec<u64> = (0..10_000)
                .map(|index| (index, Time::ZERO + Duration::from_millis(10 * index)))
                .map(|(index, start)| {
                    let moved = draw.starts(index, start)[0];
                    assert!(moved.since(start).max(start.since(moved)) <= by);
                    moved.as_nanos()
                })
                .collect();
            let mut tenths = [0_u32; 10];
            starts.iter().for_each(|start| tenths[(start / 10_000_000_000) as usize] += 1);
            // 1,000 each with a standard deviation of at most 30.
            assert!(tenths.iter().all(|count| (880..1_120).contains(count)), "{by}: {tenths:?}");
            assert!([0, 99_999_999_999].iter().all(|end| starts.iter().filter(|start| *start == end).count() <= 1));
        }
    }
}
