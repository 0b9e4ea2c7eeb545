//! Sources that send whatever happens: one link under open load, whose queueing has known answers.
//!
//! Nothing here reacts to anything, so it says nothing about TCP; it says whether queue, link and event queue do what
//! queueing theory says they must.

use flowloom_core::path::Link;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};

use crate::events::EventQueue;

/// Gaps between a source's packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    /// Always the same.
    Constant(Duration),
    /// Exponential with this mean: Poisson arrivals.
    Exponential(Duration),
}

/// Sizes of a source's packets on the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// Always the same.
    Constant(u32),
    /// Exponential with this mean, rounded to whole bytes.
    Exponential(f64),
    /// One or the other, equally often.
    Either(u32, u32),
}

/// A source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// Its gaps; the first packet comes one gap after the origin.
    pub gaps: Gaps,
    /// Its sizes.
    pub sizes: Sizes,
}

/// What the packets met. Means are over accepted packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Packets that reached the queue.
    pub offered: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Bytes of those that were not.
    pub carried_bytes: u64,
    /// Mean time from arrival to the start of transmission, in seconds.
    pub mean_wait: f64,
    /// Mean time from arrival to the last bit's departure, in seconds.
    pub mean_sojourn: f64,
    /// Time-weighted mean number in the system, the packet in transmission counted, until the last departure.
    pub mean_number: f64,
    /// How many arrivals found so many packets in the system; the last entry counts all that found more.
    pub found: [u64; 12],
    /// When the last packet departed.
    pub end: Time,
}

/// Sends `packets` packets of `sources` over `link`, drawing from the streams of `seed`.
pub fn run(link: &mut Link, sources: &[Source], packets: u64, seed: u64) -> Results {
    struct Running {
        source: Source,
        arrivals: Stream,
        sizes: Stream,
    }
    let mut running: Vec<Running> = (0..)
        .zip(sources)
        .map(|(id, &source)| Running {
            source,
            arrivals: Stream::new(seed, Purpose::Arrivals, id),
            sizes: Stream::new(seed, Purpose::Sizes, id),
        })
        .collect();
    let mut events = EventQueue::new();
    for (index, source) in running.iter_mut().enumerate() {
        events.push(Time::ZERO + source.source.gaps.draw(&mut source.arrivals), index);
    }
    let mut results = Results::default();
    let (mut waited, mut sojourned) = (0u128, 0u128);
    while results.offered < packets
        && let Some((now, index)) = events.pop_until(Time::MAX)
    {
        let source = &mut running[index];
        events.push(now + source.source.gaps.draw(&mut source.arrivals), index);
        let bytes = source.source.sizes.draw(&mut source.sizes);
        link.advance(now);
        let waiting = link.backlog().packets as usize;
        results.offered += 1;
        let in_system = if link.is_transmitting(now) { waiting + 1 } else { 0 };
        results.found[in_system.min(results.found.len() - 1)] += 1;
        match link.offer(now, bytes) {
            Ok(passage) => {
                waited += u128::from(passage.started.since(now).as_nanos());
                sojourned += u128::from(passage.departed.since(now).as_nanos());
                results.carried_bytes += u64::from(bytes);
                results.end = passage.departed;
            }
            Err(_) => results.dropped += 1,
        }
    }
    let accepted = (results.offered - results.dropped).max(1) as f64;
    results.mean_wait = waited as f64 / 1e9 / accepted;
    results.mean_sojourn = sojourned as f64 / 1e9 / accepted;
    results.mean_number = sojourned as f64 / results.end.as_nanos().max(1) as f64;
    results
}

impl Gaps {
    fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Gaps::Constant(gap) => gap,
            Gaps::Exponential(mean) => Duration::from_secs_f64(stream.exponential(mean.as_secs_f64())),
        }
    }
}

impl Sizes {
    fn draw(self, stream: &mut Stream) -> u32 {
        match self {
            Sizes::Constant(bytes) => bytes,
            Sizes::Exponential(mean) => stream.exponential(mean).round() as u32,
            Sizes::Either(one, other) => {
                if stream.bits32() & 1 == 0 {
                    one
                } else {
                    other
                }
            }
        }
    }
}
