//! Sources that send whatever happens: one link under open load, whose queueing has known answers.
//!
//! Nothing here reacts to anything, so it says nothing about TCP; it says whether queue, link and event queue do what
//! queueing theory says they must.

use flowloom_core::path::{Link, LinkEvent, Offered, Passage};
use flowloom_core::queue::Packet;
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
    let mut account = Account::default();
    while account.results.offered < packets
        && let Some((now, index)) = events.pop_until(Time::MAX)
    {
        let source = &mut running[index];
        events.push(now + source.source.gaps.draw(&mut source.arrivals), index);
        let bytes = source.source.sizes.draw(&mut source.sizes);
        link.handle_timeout(now);
        let waiting = link.backlog().packets as usize;
        let results = &mut account.results;
        results.offered += 1;
        let in_system = if link.is_transmitting(now) { waiting + 1 } else { 0 };
        results.found[in_system.min(results.found.len() - 1)] += 1;
        // The tag is the time of arrival.
        let packet = Packet { flow: index as u64, tag: now.as_nanos(), ..Packet::new(bytes) };
        match link.offer(now, packet) {
            Ok(Offered::Passes(passage)) => account.carry(packet, passage),
            Ok(Offered::Queued) => {}
            Err(_) => results.dropped += 1,
        }
        account.poll(link);
    }
    link.handle_timeout(Time::MAX);
    account.poll(link);
    account.finish()
}

/// Sums over packets.
#[derive(Default)]
struct Account {
    results: Results,
    /// Nanoseconds.
    waited: u128,
    sojourned: u128,
}

impl Account {
    fn carry(&mut self, packet: Packet, passage: Passage) {
        let arrived = Time::from_nanos(packet.tag);
        self.waited += u128::from(passage.started.since(arrived).as_nanos());
        self.sojourned += u128::from(passage.departed.since(arrived).as_nanos());
        self.results.carried_bytes += u64::from(packet.bytes);
        self.results.end = passage.departed;
    }

    /// Takes note of what became of packets that waited.
    fn poll(&mut self, link: &mut Link) {
        while let Some(event) = link.poll() {
            match event {
                LinkEvent::Started { packet, passage } => self.carry(packet, passage),
                LinkEvent::Dropped { .. } => self.results.dropped += 1,
            }
        }
    }

    fn finish(self) -> Results {
        let mut results = self.results;
        let accepted = (results.offered - results.dropped).max(1) as f64;
        results.mean_wait = self.waited as f64 / 1e9 / accepted;
        results.mean_sojourn = self.sojourned as f64 / 1e9 / accepted;
        results.mean_number = self.sojourned as f64 / results.end.as_nanos().max(1) as f64;
        results
    }
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
