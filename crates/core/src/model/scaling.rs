//! Load scaling (methods A.11): workloads with more or less load than the one they are made of.
//!
//! A [`Scaling`] is planned over what a first pass learnt of the vectors, their starts and bytes ([`Survey`]), and a second pass asks
//! where each vector goes ([`ScalingPlan::starts`]). Memory is three numbers per vector, whatever the vectors hold.

use crate::model::load::offered;
use crate::rng::{Purpose, Stream};
use crate::time::{Duration, Time};
use crate::workload::{ConnectionVector, LinkSide};

/// How a workload is made of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Vectors keep their starts; some are left out.
    Thinning,
    /// Vectors drawn without replacement start in a Poisson process: the correlation of arrivals is gone (Hernandez-Campos 2006).
    Poisson,
    /// The new workload is put together of blocks of this length drawn from the old, inside which starts keep their distances; one
    /// block per slot, or several on top of each other.
    Blocks(Duration),
    /// All starts are multiplied by the same factor, 1 over the load's (Tmix, `set-scale`).
    Starts,
}

/// What is counted to reach a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counted {
    /// Payload bytes in the busier direction.
    #[default]
    Bytes,
    /// Connections, whose number and load are only weakly correlated: sizes have heavy tails.
    Connections,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// How.
    pub method: Method,
    /// The new load in parts of the old, above zero.
    pub factor: f64,
    /// What is counted.
    pub counted: Counted,
    /// How long the new workload's connections start; of thinning and of scaled starts as follows from the old.
    pub duration: Duration,
    /// Then bins of this length change places (Hayes et al. 2014).
    pub shuffle: Option<Duration>,
}

/// Why a load cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ScalingError {
    /// There is nothing to draw from.
    #[error("the workload holds no data to make a load of")]
    Empty,
    /// Thinning to more.
    #[error("thinning leaves vectors out: it cannot make {factor:.3} times the load")]
    Thickening {
        /// What was asked for.
        factor: f64,
    },
    /// Not enough vectors for draws without replacement.
    #[error(
        "{factor:.3} times the load for {duration} takes more vectors than there are: at most {most:.3} times it can be had"
    )]
    TooFew {
        /// What was asked for.
        factor: f64,
        /// For how long.
        duration: Duration,
        /// The most that can be had.
        most: f64,
    },
    /// Not enough blocks to put on top of each other.
    #[error("{factor:.3} times the load takes more blocks at a time than the {blocks} there are")]
    TooFewBlocks {
        /// What was asked for.
        factor: f64,
        /// How many there are.
        blocks: usize,
    },
    /// A block longer than the workload.
    #[error("a block of {block} is longer than the workload, which lasts {length}")]
    LongBlock {
        /// The block.
        block: Duration,
        /// The workload.
        length: Duration,
    },
}

/// A vector as far as its load goes.
#[derive(Clone, Copy, Debug)]
struct Item {
    start: Time,
    bytes: [u64; 2],
}

/// What a first pass over a workload learnt.
#[derive(Clone, Debug)]
pub struct Survey {
    length: Duration,
    items: Vec<Item>,
}

impl Survey {
    /// Of a workload whose connections start for `length`.
    pub fn new(length: Duration) -> Survey {
        Survey { length, items: Vec::new() }
    }

    /// Takes note of the next vector.
    pub fn add(&mut self, vector: &ConnectionVector) {
        self.items.push(Item { start: vector.start, bytes: offered(vector).map(|offered| offered.payload) });
    }

    /// Payload bytes from the busier side of the link.
    fn busier(&self) -> LinkSide {
        let total = |side: LinkSide| self.items.iter().map(|item| u128::from(item.bytes[side as usize])).sum::<u128>();
        if total(LinkSide::Right) > total(LinkSide::Left) { LinkSide::Right } else { LinkSide::Left }
    }

    /// What each vector counts.
    fn weights(&self, counted: Counted) -> Vec<u64> {
        let busier = self.busier() as usize;
        let weight = |item: &Item| match counted {
            Counted::Bytes => item.bytes[busier],
            Counted::Connections => 1,
        };
        self.items.iter().map(weight).collect()
    }
}

/// Where the vectors of a workload go.
#[derive(Clone, Debug)]
pub struct ScalingPlan {
    seed: u64,
    places: Places,
    length: Duration,
    shuffle: Option<Shuffle>,
}

#[derive(Clone, Debug)]
enum Places {
    /// Those that are kept.
    Kept(Vec<bool>),
    /// New starts, of those that were drawn.
    Drawn(Vec<Option<Time>>),
    /// For each block of the old workload, where it goes.
    Blocks { length: Duration, of: Vec<Vec<Slot>> },
    /// Starts times this.
    Stretched(f64),
}

/// A place for a block in the new workload.
#[derive(Clone, Copy, Debug)]
struct Slot {
    start: Time,
    /// Share of its vectors that are kept.
    share: f64,
}

/// Bins and where each goes.
#[derive(Clone, Debug)]
struct Shuffle {
    bin: Duration,
    to: Vec<u32>,
}

/// The index of a random order of `count` things: what comes n-th.
fn shuffled(count: usize, mut stream: Stream) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    for last in (1..count).rev() {
        order.swap(last, stream.below(last as u64 + 1) as usize);
    }
    order
}

/// The first so many of `order` whose `weights` come nearest to `target`, and what they weigh.
fn nearest(order: &[u32], weights: &[u64], target: f64) -> (usize, f64) {
    let mut sum = 0.0;
    for (count, index) in order.iter().enumerate() {
        let with = sum + weights[*index as usize] as f64;
        if with >= target {
            return if with - target <= target - sum { (count + 1, with) } else { (count, sum) };
        }
        sum = with;
    }
    (order.len(), sum)
}

impl ScalingPlan {
    /// Decides where each of the vectors that `survey` took note of goes.
    ///
    /// # Errors
    /// Why the load cannot be reached so.
    pub fn new(survey: &Survey, scaling: &Scaling, seed: u64) -> Result<ScalingPlan, ScalingError> {
        let Scaling { method, factor, counted, duration, shuffle } = *scaling;
        let weights = survey.weights(counted);
        let total: f64 = weights.iter().map(|weight| *weight as f64).sum();
        if total == 0.0 || survey.length.is_zero() {
            return Err(ScalingError::Empty);
        }
        let stream = |number| Stream::new(seed, Purpose::Resampling, number);
        let (places, length) = match method {
            Method::Thinning => {
                if factor > 1.0 {
                    return Err(ScalingError::Thickening { factor });
                }
                let order = shuffled(weights.len(), stream(0));
                let mut kept = vec![false; weights.len()];
                let count = match factor < 1.0 {
                    true => nearest(&order, &weights, factor * total).0,
                    // Those without a byte in this direction are kept as well.
                    false => order.len(),
                };
                order[..count].iter().for_each(|index| kept[*index as usize] = true);
                (Places::Kept(kept), survey.length)
            }
            Method::Poisson => {
                let target = factor * total * duration.as_secs_f64() / survey.length.as_secs_f64();
                if target > total {
                    let most = factor * total / target;
                    return Err(ScalingError::TooFew { factor, duration, most });
                }
                let order = shuffled(weights.len(), stream(0));
                let (count, _) = nearest(&order, &weights, target);
                let mean = duration.as_secs_f64() / count.max(1) as f64;
                let (mut gaps, mut at) = (stream(1), 0.0);
                let mut starts = vec![None; weights.len()];
                for index in order {
                    at += gaps.exponential(mean);
                    let start = Duration::from_secs_f64(at);
                    if start >= duration {
                        break;
                    }
                    starts[index as usize] = Some(Time::ZERO + start);
                }
                (Places::Drawn(starts), duration)
            }
            Method::Blocks(block) => (blocks(survey, scaling, block, &weights, seed)?, duration),
            Method::Starts => {
                let stretch = 1.0 / factor;
                (Places::Stretched(stretch), Duration::from_secs_f64(survey.length.as_secs_f64() * stretch))
            }
        };
        let shuffle = shuffle.filter(|bin| !bin.is_zero()).map(|bin| {
            // What is left over at the end stays where it is.
            let bins = (length.as_nanos() / bin.as_nanos()).min(u64::from(u32::MAX)) as usize;
            Shuffle { bin, to: shuffled(bins, Stream::new(seed, Purpose::Shuffling, 0)) }
        });
        Ok(ScalingPlan { seed, places, length, shuffle })
    }

    /// How long the new workload's connections start.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// When vector number `index`, which started at `start`, starts in the new workload: never, once or several times.
    pub fn starts(&self, index: u64, start: Time) -> Vec<Time> {
        let place = index as usize;
        let mut starts = match &self.places {
            Places::Kept(kept) => kept.get(place).filter(|kept| **kept).map(|_| start).into_iter().collect(),
            Places::Drawn(starts) => starts.get(place).copied().flatten().into_iter().collect(),
            Places::Stretched(factor) => {
                vec![Time::from_nanos((start.as_nanos() as f64 * factor).round() as u64)]
            }
            Places::Blocks { length, of } => {
                let block = (start.as_nanos() / length.as_nanos()) as usize;
                let within = Duration::from_nanos(start.as_nanos() % length.as_nanos());
                // Every vector draws, so that which are kept of one does not depend on another.
                let mut lots = Stream::new(self.seed, Purpose::Thinning, index);
                let slots = of.get(block).map_or(&[][..], |slots| slots);
                let kept = slots.iter().filter(|slot| lots.uniform() < slot.share);
                kept.map(|slot| slot.start + within).collect::<Vec<_>>()
            }
        };
        starts.retain(|start| start.since(Time::ZERO) < self.length);
        if let Some(Shuffle { bin, to }) = &self.shuffle {
            for start in &mut starts {
                let (old, within) = (start.as_nanos() / bin.as_nanos(), start.as_nanos() % bin.as_nanos());
                if let Some(new) = to.get(old as usize) {
                    *start = Time::from_nanos(u64::from(*new) * bin.as_nanos() + within);
                }
            }
        }
        starts
    }
}

/// Draws blocks for every slot, layer upon layer until the target is reached; the last layer is thinned to hit it. A slot never
/// has a block twice: its connections would be the same at the same instants.
fn blocks(
    survey: &Survey,
    scaling: &Scaling,
    block: Duration,
    weights: &[u64],
    seed: u64,
) -> Result<Places, ScalingError> {
    let Scaling { factor, duration, .. } = *scaling;
    let count = (survey.length.as_nanos() / block.as_nanos().max(1)) as usize;
    if count == 0 {
        return Err(ScalingError::LongBlock { block, length: survey.length });
    }
    // A remainder that is no whole block is left out: a slot with it would have a gap.
    let mut of_block = vec![0.0; count];
    for (item, weight) in survey.items.iter().zip(weights) {
        if let Some(sum) = of_block.get_mut((item.start.as_nanos() / block.as_nanos()) as usize) {
            *sum += *weight as f64;
        }
    }
    let total: f64 = weights.iter().map(|weight| *weight as f64).sum();
    let target = factor * total * duration.as_secs_f64() / survey.length.as_secs_f64();
    let slots = duration.as_nanos().div_ceil(block.as_nanos()) as usize;
    let mut orders: Vec<Stream> =
        (0..slots as u64).map(|slot| Stream::new(seed, Purpose::Resampling, 2 + slot)).collect();
    let mut taken: Vec<Vec<usize>> = vec![Vec::new(); slots];
    let mut of = vec![Vec::new(); count];
    let mut reached = 0.0;
    for layer in 0.. {
        if layer == count {
            return Err(ScalingError::TooFewBlocks { factor, blocks: count });
        }
        let drawn: Vec<usize> = (0..slots)
            .map(|slot| {
                // Of those that this slot does not have yet.
                let mut left = orders[slot].below((count - layer) as u64) as usize;
                let taken = &mut taken[slot];
                for block in taken.iter() {
                    left += usize::from(*block <= left);
                }
                let place = taken.partition_point(|block| *block < left);
                taken.insert(place, left);
                left
            })
            .collect();
        // The last slot may be shorter than a block.
        let share_of = |slot: usize| {
            let rest = duration.saturating_sub(block * slot as u64).as_nanos() as f64 / block.as_nanos() as f64;
            rest.min(1.0)
        };
        let sum: f64 = drawn.iter().enumerate().map(|(slot, block)| of_block[*block] * share_of(slot)).sum();
        let share = if sum > 0.0 { ((target - reached) / sum).clamp(0.0, 1.0) } else { 1.0 };
        for (slot, drawn) in drawn.into_iter().enumerate() {
            of[drawn].push(Slot { start: Time::ZERO + block * slot as u64, share });
        }
        reached += sum * share;
        // A target that is missed by less than a millionth of it is met.
        if reached >= target * (1.0 - 1e-6) {
            return Ok(Places::Blocks { length: block, of });
        }
    }
    unreachable!("layers are counted until one of two returns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hurst::hurst;
    use crate::workload::{Adu, Side};

    const SECS: fn(u64) -> Duration = Duration::from_secs;

    /// A workload of 100 s: `count` vectors, one of them every so often, of 1,000 to 2,000 bytes from the left.
    fn workload(count: u64) -> Vec<ConnectionVector> {
        let adu = |bytes| Adu {
            side: Side::Initiator,
            bytes,
            wait: None,
            waiter: Side::Initiator,
            seen: None,
            packets: None,
        };
        (0..count)
            .map(|id| ConnectionVector {
                id,
                start: Time::from_nanos(id * 100_000_000_000 / count),
                adus: vec![adu(1_000 + id * 7_919 % 1_001)],
                ..ConnectionVector::default()
            })
            .collect()
    }

    fn survey(vectors: &[ConnectionVector]) -> Survey {
        let mut survey = Survey::new(SECS(100));
        vectors.iter().for_each(|vector| survey.add(vector));
        survey
    }

    fn scaling(method: Method, factor: f64) -> Scaling {
        Scaling { method, factor, counted: Counted::Bytes, duration: SECS(100), shuffle: None }
    }

    /// (index, new start) of all copies, by start.
    fn placed(vectors: &[ConnectionVector], scaling: &Scaling, seed: u64) -> Vec<(u64, Time)> {
        let plan = ScalingPlan::new(&survey(vectors), scaling, seed).unwrap();
        let mut all: Vec<_> = vectors
            .iter()
            .flat_map(|vector| plan.starts(vector.id, vector.start).into_iter().map(|start| (vector.id, start)))
            .collect();
        all.sort_by_key(|(id, start)| (*start, *id));
        all
    }

    fn bytes(vectors: &[ConnectionVector], placed: &[(u64, Time)]) -> f64 {
        placed.iter().map(|(index, _)| vectors[*index as usize].bytes(Side::Initiator) as f64).sum()
    }

    #[test]
    fn thinning_reaches_its_target_and_keeps_starts() {
        let vectors = workload(10_000);
        let all = bytes(&vectors, &placed(&vectors, &scaling(Method::Thinning, 1.0), 1));
        assert!((all - 15e6).abs() < 1e5);
        let half = placed(&vectors, &scaling(Method::Thinning, 0.5), 1);
        assert!((bytes(&vectors, &half) / all - 0.5).abs() < 1e-4, "to one vector");
        assert!(half.iter().all(|(index, start)| vectors[*index as usize].start == *start));
        let counted = Scaling { counted: Counted::Connections, ..scaling(Method::Thinning, 0.25) };
        assert_eq!(placed(&vectors, &counted, 1).len(), 2_500);
        assert_ne!(half, placed(&vectors, &scaling(Method::Thinning, 0.5), 2), "seeds differ");
        assert_eq!(half, placed(&vectors, &scaling(Method::Thinning, 0.5), 1));
    }

    #[test]
    fn poisson_arrivals_have_no_memory_and_no_vector_twice() {
        let vectors = workload(40_000);
        // Arrivals every 2.5 ms were as regular as can be.
        let drawn = placed(&vectors, &scaling(Method::Poisson, 0.8), 3);
        let mut indices: Vec<u64> = drawn.iter().map(|(index, _)| *index).collect();
        indices.sort_unstable();
        indices.dedup();
        assert_eq!(indices.len(), drawn.len());
        // 32,000 draws: 0.6 % of standard error.
        assert!((bytes(&vectors, &drawn) / 60e6 - 0.8).abs() < 0.025);
        let mut counts = vec![0.0; 10_000];
        drawn.iter().for_each(|(_, start)| counts[(start.as_nanos() / 10_000_000) as usize] += 1.0);
        let mean = counts.iter().sum::<f64>() / 1e4;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 1e4;
        // Standard error of the ratio: 1.4 % and a little.
        assert!((variance / mean - 1.0).abs() < 0.08, "{variance} {mean}");
        let found = hurst(&counts).unwrap();
        assert!((found.h - 0.5).abs() < 4.0 * found.standard_error, "{found:?}");
    }

    #[test]
    fn poisson_for_longer_or_shorter_keeps_the_load() {
        let vectors = workload(20_000);
        let short = Scaling { duration: SECS(25), ..scaling(Method::Poisson, 2.0) };
        let drawn = placed(&vectors, &short, 1);
        assert!(drawn.iter().all(|(_, start)| *start < Time::ZERO + SECS(25)));
        assert!((bytes(&vectors, &drawn) / 15e6 - 1.0).abs() < 0.05, "half of all bytes in a quarter of the time");
        let long = Scaling { duration: SECS(400), ..scaling(Method::Poisson, 0.5) };
        let error = ScalingPlan::new(&survey(&vectors), &long, 1).unwrap_err();
        assert!(matches!(error, ScalingError::TooFew { most, .. } if (most - 0.25).abs() < 1e-9), "{error}");
    }

    #[test]
    fn blocks_keep_distances_inside_and_reach_their_target() {
        let vectors = workload(20_000);
        for factor in [0.3, 1.0, 1.5, 3.25] {
            let made = placed(&vectors, &scaling(Method::Blocks(SECS(10)), factor), 5);
            // The thinned layer is random: 20,000 of 1,500 bytes, so well within 1 %.
            assert!((bytes(&vectors, &made) / 30e6 / factor - 1.0).abs() < 0.02, "{factor}");
            for (index, start) in &made {
                let within = |start: Time| start.as_nanos() % 10_000_000_000;
                assert_eq!(within(*start), within(vectors[*index as usize].start));
            }
            let mut copies = made.clone();
            copies.dedup();
            assert_eq!(copies.len(), made.len(), "no connection is doubled at one instant");
        }
        let longer = Scaling { duration: SECS(1_005), ..scaling(Method::Blocks(SECS(10)), 1.0) };
        let made = placed(&vectors, &longer, 5);
        assert!((bytes(&vectors, &made) / 30e6 / 10.05 - 1.0).abs() < 0.02);
        let last = made.last().unwrap().1;
        assert!(last < Time::ZERO + SECS(1_005) && last > Time::ZERO + SECS(1_004));
    }

    #[test]
    fn what_blocks_cannot_reach_is_refused() {
        let vectors = workload(1_000);
        let plan = |method, factor| ScalingPlan::new(&survey(&vectors), &scaling(method, factor), 1).map(|_| ());
        assert_eq!(plan(Method::Blocks(SECS(50)), 2.0), Ok(()));
        assert_eq!(plan(Method::Blocks(SECS(50)), 2.5), Err(ScalingError::TooFewBlocks { factor: 2.5, blocks: 2 }));
        assert!(matches!(plan(Method::Blocks(SECS(101)), 1.0), Err(ScalingError::LongBlock { .. })));
        assert_eq!(plan(Method::Thinning, 1.01), Err(ScalingError::Thickening { factor: 1.01 }));
        let empty = ScalingPlan::new(&Survey::new(SECS(100)), &scaling(Method::Thinning, 0.5), 1);
        assert_eq!(empty.unwrap_err(), ScalingError::Empty);
    }

    #[test]
    fn starts_are_stretched() {
        let vectors = workload(100);
        let scaled = scaling(Method::Starts, 2.0);
        let plan = ScalingPlan::new(&survey(&vectors), &scaled, 1).unwrap();
        assert_eq!(plan.length(), SECS(50));
        assert_eq!(plan.starts(10, Time::ZERO + SECS(10)), [Time::ZERO + SECS(5)]);
    }

    /// Bins change places with what is in them; the remainder stays.
    #[test]
    fn shuffling_permutes_whole_bins() {
        let vectors = workload(1_000);
        let scaled = Scaling { shuffle: Some(SECS(7)), ..scaling(Method::Thinning, 1.0) };
        let made = placed(&vectors, &scaled, 9);
        assert_eq!(made.len(), 1_000);
        let bin = |start: Time| start.as_nanos() / 7_000_000_000;
        let mut moved = std::collections::BTreeMap::new();
        for (index, start) in &made {
            let old = vectors[*index as usize].start;
            assert_eq!(old.as_nanos() % 7_000_000_000, start.as_nanos() % 7_000_000_000);
            assert_eq!(*moved.entry(bin(old)).or_insert(bin(*start)), bin(*start), "a bin goes to one place");
        }
        let mut places: Vec<u64> = moved.values().copied().collect();
        places.sort_unstable();
        assert_eq!(places, (0..15).collect::<Vec<_>>());
        assert_eq!(moved[&14], 14, "98 s to 100 s are no whole bin");
        assert!(moved.iter().any(|(old, new)| old != new));
    }
}
