//! Load scaling (methods A.11): workloads with more or less load than the one they are made of.
//!
//! A [`Scaling`] is planned over what a first pass learnt of the vectors, their starts and bytes ([`Survey`]), and a second pass asks
//! where each vector goes ([`ScalingPlan::starts`]). Memory is three numbers per vector, whatever the vectors hold.

use std::ops::Range;

use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, LinkSide};

use crate::load::offered;

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
    /// The new load in parts of the old, above zero: of the part that is replayed ([`Survey::of_part`]).
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
    #[error("the workload holds no data to make a load of, or none in the part that is replayed")]
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
    /// Most blocks are empty, as where the clock of the workload jumps.
    #[error(
        "{most} blocks of {block} do not make this load: the workload lasts {length}, and nearly all of its blocks are empty"
    )]
    EmptyBlocks {
        /// The most that are put together.
        most: usize,
        /// The block.
        block: Duration,
        /// The workload.
        length: Duration,
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
    part: Range<Time>,
    items: Vec<Item>,
}

impl Survey {
    /// Of a workload whose connections start for `length`.
    pub fn new(length: Duration) -> Survey {
        Survey { length, part: Time::ZERO..Time::ZERO + length, items: Vec::new() }
    }

    /// The old load is that of the connections that start in this part of the workload.
    pub fn of_part(self, part: Range<Time>) -> Survey {
        Survey { part, ..self }
    }

    /// Takes note of the next vector.
    pub fn add(&mut self, vector: &ConnectionVector) {
        self.items.push(Item { start: vector.start, bytes: offered(vector).map(|offered| offered.payload) });
    }

    /// The side of the link from which more payload comes in the part.
    fn busier(&self) -> LinkSide {
        let of_part = || self.items.iter().filter(|item| self.part.contains(&item.start));
        let total = |side: LinkSide| of_part().map(|item| u128::from(item.bytes[side as usize])).sum::<u128>();
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

    /// The sum of the weights of vectors that start in `range`.
    fn total(&self, weights: &[u64], range: &Range<Time>) -> f64 {
        let inside = self.items.iter().zip(weights).filter(|(item, _)| range.contains(&item.start));
        inside.map(|(_, weight)| *weight as f64).sum()
    }

    /// What a workload of this length holds at the load of the part.
    fn at_old_load(&self, weights: &[u64], length: Duration) -> f64 {
        let part = self.part.end.since(self.part.start);
        self.total(weights, &self.part) * (length.as_secs_f64() / part.as_secs_f64())
    }

    /// The parts of what is drawn for `duration` that get the load each by itself: that which is replayed, and what is before it and may go
    /// on in it. Where the load is met only over both, either of them may be far off.
    fn drawn_parts(&self, duration: Duration) -> Vec<Range<Time>> {
        let end = Time::ZERO + duration;
        match self.part.start {
            begin if begin > Time::ZERO && begin < end => vec![begin..end, Time::ZERO..begin],
            _ => vec![Time::ZERO..end],
        }
    }

    /// Which vectors thinning to `factor` keeps: of the part, and of what starts before it and may go on in it.
    fn thinned(&self, weights: &[u64], factor: f64, order: &[u32]) -> Vec<bool> {
        let mut kept = vec![false; weights.len()];
        for range in [Time::ZERO..self.part.start, self.part.clone()] {
            let is_inside = |index: &u32| range.contains(&self.items[*index as usize].start);
            let order: Vec<u32> = order.iter().copied().filter(is_inside).collect();
            let left = match factor < 1.0 {
                true => chosen(&order, |index| weights[index as usize], factor * self.total(weights, &range)),
                // Those without a byte in this direction are kept as well.
                false => order,
            };
            left.into_iter().for_each(|index| kept[index as usize] = true);
        }
        kept
    }
}

/// Where the vectors of a workload go.
#[derive(Clone, Debug)]
pub struct ScalingPlan {
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
    /// For each block of the old workload, the number of its first vector and where it goes.
    Blocks { length: Duration, of: Vec<(usize, Vec<Slot>)> },
    /// Starts times this.
    Stretched(f64),
}

/// A place for a block in the new workload.
#[derive(Clone, Debug)]
struct Slot {
    start: Time,
    /// Which of its vectors are kept, by their numbers from that of its first on; all where there is no list.
    kept: Option<Vec<bool>>,
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
    stream.shuffle(&mut order);
    order
}

/// A load that is missed by no more than this share of it is met.
const NEAR: f64 = 1e-4;

/// Of `order`, which things to take so that their weights add up to `target`: one after the other, without those that would go beyond
/// it. Sizes have heavy tails: one of them may be more than all that is wanted.
fn chosen(order: &[u32], weight: impl Fn(u32) -> u64, target: f64) -> Vec<u32> {
    let mut chosen = Vec::new();
    let mut left = target;
    for &index in order {
        if left <= NEAR * target {
            break;
        }
        let weight = weight(index) as f64;
        if weight <= left + NEAR * target {
            chosen.push(index);
            left -= weight;
        }
    }
    chosen
}

impl ScalingPlan {
    /// Decides where each of the vectors that `survey` took note of goes.
    ///
    /// # Errors
    /// Why the load cannot be reached so.
    pub fn new(survey: &Survey, scaling: &Scaling, seed: u64) -> Result<ScalingPlan, ScalingError> {
        let Scaling { method, factor, counted, duration, shuffle } = *scaling;
        let weights = survey.weights(counted);
        if survey.total(&weights, &survey.part) == 0.0 || survey.length.is_zero() {
            return Err(ScalingError::Empty);
        }
        let stream = |number| Stream::new(seed, Purpose::Resampling, number);
        let (places, length) = match method {
            Method::Thinning => {
                if factor > 1.0 {
                    return Err(ScalingError::Thickening { factor });
                }
                let order = shuffled(weights.len(), stream(0));
                (Places::Kept(survey.thinned(&weights, factor, &order)), survey.length)
            }
            Method::Poisson => {
                let all: f64 = weights.iter().map(|weight| *weight as f64).sum();
                let old = survey.at_old_load(&weights, duration);
                // As much as there is may be more by a rounding.
                if factor * old > all * (1.0 + 1e-9) {
                    return Err(ScalingError::TooFew { factor, duration, most: all / old });
                }
                let mut order = shuffled(weights.len(), stream(0));
                let mut starts = vec![None; weights.len()];
                // Of a Poisson process with so many arrivals each is anywhere, whatever the others are.
                let mut places = stream(1);
                for part in survey.drawn_parts(duration) {
                    let length = part.end.since(part.start);
                    let target = factor * survey.at_old_load(&weights, length);
                    for index in chosen(&order, |index| weights[index as usize], target) {
                        let within = places.below(length.as_nanos().max(1));
                        starts[index as usize] = Some(part.start + Duration::from_nanos(within));
                    }
                    order.retain(|index| starts[*index as usize].is_none());
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
        Ok(ScalingPlan { places, length, shuffle })
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
                let Some((first, slots)) = of.get(block) else { return Vec::new() };
                let is_kept = |slot: &&Slot| slot.kept.as_ref().is_none_or(|kept| kept[place - first]);
                slots.iter().filter(is_kept).map(|slot| slot.start + within).collect::<Vec<_>>()
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

/// Blocks that are put together, at most. Where the clock of a workload jumps by years, millions are empty, and layers of them never make a
/// load.
const MOST_BLOCKS: usize = 1 << 22;

/// Draws blocks for every slot, layer upon layer until the target is reached; of the last layer vectors are left out to hit it. A slot
/// never has a block twice: its connections would be the same at the same instants.
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
    let slots = duration.as_nanos().div_ceil(block.as_nanos()) as usize;
    let empty = ScalingError::EmptyBlocks { most: MOST_BLOCKS, block, length: survey.length };
    if count.max(slots) > MOST_BLOCKS {
        return Err(empty);
    }
    // A remainder that is no whole block is left out: a slot with it would have a gap.
    let begins = |number: usize| survey.items.partition_point(|item| item.start < Time::ZERO + block * number as u64);
    let mut of: Vec<(usize, Vec<Slot>)> = (0..count).map(|number| (begins(number), Vec::new())).collect();
    let end = begins(count);
    let parts = survey.drawn_parts(duration);
    let targets: Vec<f64> =
        parts.iter().map(|part| factor * survey.at_old_load(weights, part.end.since(part.start))).collect();
    let mut orders: Vec<Stream> =
        (0..slots as u64).map(|slot| Stream::new(seed, Purpose::Resampling, 2 + slot)).collect();
    let mut taken: Vec<Vec<usize>> = vec![Vec::new(); slots];
    let mut left = targets.clone();
    for layer in 0..count {
        if (layer + 1) * slots > MOST_BLOCKS {
            return Err(empty);
        }
        // The vectors of the layer that start in time: slot, and number.
        let mut vectors: Vec<(u32, u32)> = Vec::new();
        let mut drawn = Vec::with_capacity(slots);
        for slot in 0..slots {
            // Of those that this slot does not have yet.
            let mut number = orders[slot].below((count - layer) as u64) as usize;
            let taken = &mut taken[slot];
            for block in taken.iter() {
                number += usize::from(*block <= number);
            }
            taken.insert(taken.partition_point(|block| *block < number), number);
            drawn.push(number);
            let (first, next) = (of[number].0, of.get(number + 1).map_or(end, |(next, _)| *next));
            // The last slot may be shorter than a block.
            let rest = duration.saturating_sub(block * slot as u64);
            let in_time = survey.items[first..next]
                .partition_point(|item| item.start.since(Time::ZERO + block * number as u64) < rest);
            vectors.extend((first..first + in_time).map(|index| (slot as u32, index as u32)));
        }
        let weight = |place: u32| weights[vectors[place as usize].1 as usize];
        let start = |place: u32| {
            let (slot, index) = vectors[place as usize];
            let within = survey.items[index as usize].start.since(Time::ZERO + block * drawn[slot as usize] as u64);
            Time::ZERO + block * u64::from(slot) + within
        };
        let places = || 0..vectors.len() as u32;
        let sum = |part: &Range<Time>| -> f64 {
            places().filter(|place| part.contains(&start(*place))).map(|place| weight(place) as f64).sum()
        };
        let sums: Vec<f64> = parts.iter().map(sum).collect();
        let is_too_much = |part: usize| sums[part] > left[part] + NEAR * targets[part];
        let mut slots: Vec<Slot> =
            (0..slots as u64).map(|slot| Slot { start: Time::ZERO + block * slot, kept: None }).collect();
        if (0..parts.len()).any(is_too_much) {
            let order = shuffled(vectors.len(), Stream::new(seed, Purpose::Thinning, 0));
            for (slot, number) in slots.iter_mut().zip(&drawn) {
                let (first, next) = (of[*number].0, of.get(number + 1).map_or(end, |(next, _)| *next));
                slot.kept = Some(vec![false; next - first]);
            }
            for (number, part) in parts.iter().enumerate() {
                let order: Vec<u32> = order.iter().copied().filter(|place| part.contains(&start(*place))).collect();
                let kept = if is_too_much(number) { chosen(&order, weight, left[number]) } else { order };
                for place in kept {
                    let (slot, index) = vectors[place as usize];
                    let first = of[drawn[slot as usize]].0;
                    if let Some(kept) = &mut slots[slot as usize].kept {
                        kept[index as usize - first] = true;
                    }
                }
            }
        }
        left.iter_mut().zip(&sums).for_each(|(left, sum)| *left -= sum);
        slots.into_iter().zip(drawn).for_each(|(slot, number)| of[number].1.push(slot));
        if left.iter().zip(&targets).all(|(left, target)| *left <= NEAR * target) {
            return Ok(Places::Blocks { length: block, of });
        }
    }
    Err(ScalingError::TooFewBlocks { factor, blocks: count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lrd::hurst;
    use flowloom_core::distribution::{Distribution, Law};
    use flowloom_core::workload::{Adu, Side};

    const SECS: fn(u64) -> Duration = Duration::from_secs;

    /// A workload of 100 s: `count` vectors, one of them every so often, of 1,000 to 2,000 bytes from the left.
    fn workload(count: u64) -> Vec<ConnectionVector> {
        let adu = |bytes| Adu {
            side: Side::Initiator,
            bytes,
            missing_bytes: 0,
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

    fn all(vectors: &[ConnectionVector]) -> Vec<(u64, Time)> {
        vectors.iter().map(|vector| (vector.id, vector.start)).collect()
    }

    /// Ten times as many connections a second in the first half: the load is that of the part, by each method that chooses.
    #[test]
    fn load_is_of_the_part_that_is_replayed() {
        let mut vectors = workload(1_100);
        for vector in &mut vectors {
            let (id, late) = (vector.id, vector.id >= 1_000);
            vector.start = Time::from_nanos(if late { 50_000 + (id - 1_000) * 500 } else { id * 50 } * 1_000_000);
        }
        let at = |secs| Time::ZERO + SECS(secs);
        let all: Vec<_> = vectors.iter().map(|vector| (vector.id, vector.start)).collect();
        for part in [at(0)..at(50), at(50)..at(100), at(40)..at(60)] {
            let inside = |placed: &[(u64, Time)]| -> Vec<(u64, Time)> {
                placed.iter().copied().filter(|(_, start)| part.contains(start)).collect()
            };
            let old = bytes(&vectors, &inside(&all));
            let length = part.end.since(part.start);
            for method in [Method::Thinning, Method::Poisson, Method::Blocks(SECS(5))] {
                let scaling = Scaling { duration: length, ..scaling(method, 0.5) };
                let survey = survey(&vectors).of_part(part.clone());
                let plan = ScalingPlan::new(&survey, &scaling, 3).unwrap();
                let placed: Vec<_> =
                    all.iter().flat_map(|(id, at)| plan.starts(*id, *at).into_iter().map(|at| (*id, at))).collect();
                let made = if method == Method::Thinning { inside(&placed) } else { placed };
                let share = bytes(&vectors, &made) / old;
                assert!((share - 0.5).abs() < 0.02, "{share} of {part:?} by {method:?}");
            }
        }
        let nothing = survey(&vectors[..1_000]).of_part(at(50)..at(100));
        assert_eq!(ScalingPlan::new(&nothing, &scaling(Method::Poisson, 0.5), 1).unwrap_err(), ScalingError::Empty);
    }

    /// The part from 80 to 100 s has five times the load of what is before it. By each method what starts there is what is asked for.
    #[test]
    fn the_part_that_is_replayed_gets_the_load() {
        let mut vectors = workload(10_000);
        for vector in vectors.iter_mut().filter(|vector| vector.start >= Time::ZERO + SECS(80)) {
            vector.adus[0].bytes *= 5;
        }
        let part = Time::ZERO + SECS(80)..Time::ZERO + SECS(100);
        let of_part = |placed: &[(u64, Time)], part: &Range<Time>| {
            let inside: Vec<_> = placed.iter().copied().filter(|(_, start)| part.contains(start)).collect();
            bytes(&vectors, &inside)
        };
        let old = of_part(&all(&vectors), &part);
        for (method, factor, seed) in [Method::Thinning, Method::Poisson, Method::Blocks(SECS(7))]
            .into_iter()
            .flat_map(|method| [0.1, 0.3].map(|factor| (method, factor)))
            .flat_map(|(method, factor)| (1..6).map(move |seed| (method, factor, seed)))
        {
            let survey = survey(&vectors).of_part(part.clone());
            let plan = ScalingPlan::new(&survey, &scaling(method, factor), seed).unwrap();
            let starts = |(id, at): (u64, Time)| plan.starts(id, at).into_iter().map(move |at| (id, at));
            let placed: Vec<_> = all(&vectors).into_iter().flat_map(starts).collect();
            let share = of_part(&placed, &part) / old;
            assert!((share / factor - 1.0).abs() < 0.01, "{method:?}, {factor}, seed {seed}: {share}");
            if method != Method::Thinning {
                let before = of_part(&placed, &(Time::ZERO..part.start)) / old / 4.0;
                assert!((before / factor - 1.0).abs() < 0.01, "{method:?}, {factor}, seed {seed}: {before} before");
            }
        }
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

    /// Of sizes of which the largest may be a sixth of all, each method hits its target all the same.
    #[test]
    fn heavy_tails_are_no_excuse() {
        let pareto = Distribution::new(Law::BoundedPareto { min: 1_000.0, max: 5e6, shape: 1.1 }).unwrap();
        for seed in 1..9 {
            let mut sizes = Stream::new(seed, Purpose::ItemBytes, 0);
            let mut vectors = workload(5_000);
            vectors.iter_mut().for_each(|vector| vector.adus[0].bytes = pareto.quantile(sizes.uniform()) as u64);
            let all: u64 = vectors.iter().map(|vector| vector.bytes(Side::Initiator)).sum();
            for method in [Method::Thinning, Method::Poisson, Method::Blocks(SECS(5))] {
                for factor in [0.3, 0.5, 1.0] {
                    let made = placed(&vectors, &scaling(method, factor), seed);
                    let found = bytes(&vectors, &made) / all as f64;
                    assert!((found / factor - 1.0).abs() < 1e-3, "{method:?}, {factor}, seed {seed}: {found}");
                }
            }
        }
    }

    /// Whatever the duration, all that there is can be had.
    #[test]
    fn as_much_as_there_is_can_be_had() {
        let vectors = workload(100);
        for nanos in [11_803_925_460, 3, 99_999_999_999, 1_234_567_891] {
            let mut survey = Survey::new(Duration::from_nanos(nanos));
            vectors.iter().for_each(|vector| survey.add(&ConnectionVector { start: Time::ZERO, ..vector.clone() }));
            let asked = Scaling { duration: Duration::from_nanos(nanos), ..scaling(Method::Poisson, 1.0) };
            assert!(ScalingPlan::new(&survey, &asked, 1).is_ok(), "{nanos}");
        }
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
        assert!((bytes(&vectors, &drawn) / bytes(&vectors, &all(&vectors)) - 0.8).abs() < 1e-3);
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
            assert!((bytes(&vectors, &made) / bytes(&vectors, &all(&vectors)) / factor - 1.0).abs() < 1e-3, "{factor}");
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

    /// The clock jumps by a month, and nearly all bytes are behind the last whole block, where no layer of blocks has them.
    #[test]
    fn layers_of_empty_blocks_end() {
        let length = SECS(2_500_000) + Duration::from_millis(500);
        let mut vectors = workload(2);
        vectors[1].start = Time::ZERO + SECS(2_500_000);
        vectors[1].adus[0].bytes = 1_000_000_000;
        let mut survey = Survey::new(length);
        vectors.iter().for_each(|vector| survey.add(vector));
        let scaling = Scaling { duration: length, ..scaling(Method::Blocks(SECS(1)), 2.0) };
        let refused = ScalingPlan::new(&survey, &scaling, 1).unwrap_err();
        assert!(matches!(refused, ScalingError::EmptyBlocks { .. }), "{refused}");
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
