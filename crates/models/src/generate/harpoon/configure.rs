//! Self-configuration: the parameters of Harpoon for traffic that was measured (methods K.1, steps 1 to 4).
//!
//! Connections go in, in the order of their starts. Each direction of one is a flow, from who sent the bytes to who got them. Flows to
//! the left of the link and flows to the right have models of their own, because the transfers of Harpoon go one way, from its
//! server to its client: the server is who sent.

use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Host, LinkSide, Protocol, Side};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::plugin::{Personality, Plugin, Traffic};
use super::pool::Block;
use crate::generate::ends::InitiatorSide;

/// A flow of fewer bytes of payload is no file (methods K.1).
const LEAST_BYTES: u64 = 100;

/// How often the sessions of an interval are counted out.
const TRIALS: u64 = 100;

/// Intervals, at most: each is tried a hundred times.
const MOST_INTERVALS: u64 = 100_000;

/// Sessions of an interval, at most.
const MOST_SESSIONS: u32 = crate::generate::ends::MOST_SOURCES;

/// Values of a list, at most; of more, as many means of neighbours.
const MOST_VALUES: usize = 250_000;

/// Entries of a pool, at most: an address stands there as often as it is likely, rounded.
const MOST_ENTRIES: u64 = 20_000;

/// The port of Harpoon's servers of what comes from the right; of what comes from the left, the next one.
const PORT: u16 = 10_000;

/// How to configure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long a session of Harpoon is; default: 300 s, or as long as the input where that is shorter, in whole seconds.
    pub interval: Option<Duration>,
    /// Flows of two hosts that start this far apart, or further, are of different sessions.
    pub session_gap: Duration,
    /// Seed of the trials.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { interval: None, session_gap: Duration::from_secs(300), seed: 1 }
    }
}

/// Why there is no configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unconfigured {
    /// No connection has hosts.
    #[error("no connection has hosts, and sessions are between hosts")]
    NoHosts,
    /// Nothing is left of the input.
    #[error("no direction of a complete TCP connection has {LEAST_BYTES} bytes or more")]
    NoFlows,
    /// No two flows are of one session.
    #[error("no two hosts have two flows in a session: there are no times between connections")]
    NoGaps,
    /// The input does not fill an interval.
    #[error("the input lasts {length}, less than one interval of {interval}")]
    Short {
        /// How long it lasts.
        length: Duration,
        /// How long an interval is.
        interval: Duration,
    },
    /// More intervals than can be tried.
    #[error("the input lasts {length}, more than {MOST_INTERVALS} intervals of {interval}: give a longer one")]
    Many {
        /// How long it lasts.
        length: Duration,
        /// How long an interval is.
        interval: Duration,
    },
    /// No number of sessions makes the load.
    #[error(
        "interval {number} would need more than {MOST_SESSIONS} sessions: most gaps are longer than an interval of {interval}"
    )]
    Endless {
        /// The interval, the first being 1.
        number: usize,
        /// How long it is.
        interval: Duration,
    },
}

/// What connections there were, and why some do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All vectors.
    pub vectors: u64,
    /// Of datagrams.
    pub datagrams: u64,
    /// TCP connections without an end of theirs, or a beginning.
    pub incomplete: u64,
    /// Complete ones without hosts.
    pub without_hosts: u64,
    /// Directions with some bytes, but fewer than 100.
    pub small: u64,
}

/// Takes connections in, in the order of their starts.
#[derive(Debug, Default)]
pub struct Configurator {
    hosts: HashMap<Host, u32, FxBuildHasher>,
    /// Of flows from the left, and from the right.
    directions: [Flows; 2],
    counts: Counts,
    options: Options,
    /// The last of what was seen, of whatever kind.
    end: Time,
}

/// The flows of a direction.
#[derive(Debug, Default)]
struct Flows {
    sizes: Vec<u64>,
    gaps: Vec<Duration>,
    /// When the last flow of two hosts began.
    last: HashMap<(u32, u32), Time, FxBuildHasher>,
    /// Sessions of each host.
    senders: HashMap<u32, u64, FxBuildHasher>,
    receivers: HashMap<u32, u64, FxBuildHasher>,
    sessions: u64,
    /// Of each flow: from when to when, and its bytes.
    spans: Vec<(Time, Time, u64)>,
}

/// An interval of the input, and the sessions that would make its load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Bytes that flows carried in it, those of a flow that spans intervals in proportion to time.
    pub bytes: f64,
    /// Flows that began in it.
    pub flows: u64,
    /// Mean of the sessions that were needed in the trials.
    pub sessions: f64,
}

/// The model of a direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Configured {
    /// Where the bytes come from.
    pub from: LinkSide,
    /// How long an interval is.
    pub interval: Duration,
    /// Flows.
    pub flows: u64,
    /// Sessions: flows of two hosts without a longer gap.
    pub sessions: u64,
    /// Files in bytes, the smallest first.
    pub sizes: Vec<u64>,
    /// Gaps, the shortest first.
    pub gaps: Vec<Duration>,
    /// Sessions of each host that sends, the most first.
    pub senders: Vec<u64>,
    /// Sessions of each host that receives, the most first.
    pub receivers: Vec<u64>,
    /// The whole intervals of the input.
    pub intervals: Vec<Interval>,
    /// Share of the sessions of the trials that transferred nothing.
    pub idle: f64,
}

/// What the input comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// One model, or one for each direction, from the right first.
    pub directions: Vec<Configured>,
    /// What did not count.
    pub counts: Counts,
    /// How long the input is.
    pub length: Duration,
    /// Why a direction that has flows has no model.
    pub left_out: Vec<(LinkSide, u64, Unconfigured)>,
}

impl Configurator {
    /// One with these options.
    pub fn new(options: Options) -> Configurator {
        Configurator { options, ..Configurator::default() }
    }

    /// Takes a connection in.
    pub fn add(&mut self, vector: &ConnectionVector) {
        self.counts.vectors += 1;
        self.end = self.end.max(vector.start + length(vector));
        if vector.protocol != Protocol::Tcp {
            self.counts.datagrams += 1;
            return;
        }
        if !vector.complete {
            self.counts.incomplete += 1;
            return;
        }
        let (Some(initiator), Some(acceptor)) = (vector.ends.initiator.host, vector.ends.acceptor.host) else {
            self.counts.without_hosts += 1;
            return;
        };
        let [initiator, acceptor] = [initiator, acceptor].map(|host| self.number(host));
        for (side, sender, receiver) in [(Side::Initiator, initiator, acceptor), (Side::Acceptor, acceptor, initiator)]
        {
            let bytes = vector.bytes(side);
            if bytes < LEAST_BYTES {
                self.counts.small += u64::from(bytes > 0);
                continue;
            }
            let from = match side {
                Side::Initiator => vector.initiator_side,
                Side::Acceptor => vector.initiator_side.other(),
            };
            let end = vector.start + flow_length(vector, side);
            self.directions[from as usize].add(sender, receiver, vector.start, end, bytes, self.options.session_gap);
        }
    }

    fn number(&mut self, host: Host) -> u32 {
        let next = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        *self.hosts.entry(host).or_insert(next)
    }

    /// What all of them come to, of an input that is `length` long, or longer if a connection is.
    ///
    /// # Errors
    /// Neither direction has a model, with the reason of the one that has more flows.
    pub fn finish(self, length: Duration) -> Result<Configuration, Unconfigured> {
        let Configurator { directions, counts, options, end, .. } = self;
        let length = length.max(end.since(Time::ZERO));
        if directions.iter().all(|flows| flows.sizes.is_empty()) {
            return Err(if counts.without_hosts > 0 { Unconfigured::NoHosts } else { Unconfigured::NoFlows });
        }
        let interval = options.interval.unwrap_or_else(|| {
            let whole = Duration::from_secs((length.as_nanos() / 1_000_000_000).max(1));
            whole.min(Duration::from_secs(300))
        });
        if length < interval {
            return Err(Unconfigured::Short { length, interval });
        }
        if length.as_nanos() / interval.as_nanos().max(1) > MOST_INTERVALS {
            return Err(Unconfigured::Many { length, interval });
        }
        let mut found = Configuration { directions: Vec::new(), counts, length, left_out: Vec::new() };
        let mut directions: Vec<_> = [LinkSide::Left, LinkSide::Right].into_iter().zip(directions).collect();
        // What comes from the right is what clients on the left download.
        directions.reverse();
        for (from, flows) in directions {
            let number = flows.sizes.len() as u64;
            match flows.configured(from, interval, length, options.seed) {
                Ok(configured) => found.directions.push(configured),
                Err(_) if number == 0 => {}
                Err(reason) => found.left_out.push((from, number, reason)),
            }
        }
        match found.left_out.iter().max_by_key(|(_, flows, _)| *flows) {
            Some((.., reason)) if found.directions.is_empty() => Err(reason.clone()),
            _ => Ok(found),
        }
    }
}

/// How long a connection was, as far as anyone knows.
fn length(vector: &ConnectionVector) -> Duration {
    Side::BOTH
        .map(|side| flow_length(vector, side))
        .into_iter()
        .fold(vector.lifetime.unwrap_or_default(), Duration::max)
}

/// From the start of a connection to the last byte of a side; of flow records, to its last packet.
fn flow_length(vector: &ConnectionVector, side: Side) -> Duration {
    let seen = vector.adus.iter().filter(|adu| adu.side == side).filter_map(|adu| adu.seen);
    seen.map(|seen| seen.last).max().or(vector.lifetime).unwrap_or_default()
}

impl Flows {
    fn add(&mut self, sender: u32, receiver: u32, start: Time, end: Time, bytes: u64, session_gap: Duration) {
        self.sizes.push(bytes);
        self.spans.push((start, end, bytes));
        let last = self.last.insert((sender, receiver), start);
        let gap = last.map(|last| start.since(last)).filter(|gap| *gap < session_gap);
        match gap {
            Some(gap) => self.gaps.push(gap),
            None => {
                self.sessions += 1;
                *self.senders.entry(sender).or_default() += 1;
                *self.receivers.entry(receiver).or_default() += 1;
            }
        }
    }

    fn configured(
        self,
        from: LinkSide,
        interval: Duration,
        length: Duration,
        seed: u64,
    ) -> Result<Configured, Unconfigured> {
        let Flows { mut sizes, mut gaps, senders, receivers, sessions, spans, .. } = self;
        if sizes.is_empty() {
            return Err(Unconfigured::NoFlows);
        }
        sizes.sort_unstable();
        gaps.sort_unstable();
        if gaps.last().is_none_or(|longest| longest.is_zero()) {
            return Err(Unconfigured::NoGaps);
        }
        let mut intervals = spread(&spans, interval, length);
        let (mut all, mut idle) = (0, 0);
        for (number, found) in intervals.iter_mut().enumerate() {
            let id = (from as u64) << 63 | number as u64;
            let mut stream = Stream::new(seed, Purpose::SessionCounts, id);
            let mut sum = 0;
            for _ in 0..TRIALS {
                // Both draw from one stream, in turns.
                let mut draw = |of: usize| stream.below(of as u64) as usize;
                let trial = Trial::new(interval, found.bytes, |what| match what {
                    Drawn::Gap => gaps[draw(gaps.len())].as_nanos(),
                    Drawn::Size => sizes[draw(sizes.len())],
                });
                let trial = trial.ok_or(Unconfigured::Endless { number: number + 1, interval })?;
                sum += u64::from(trial.sessions);
                (all, idle) = (all + u64::from(trial.sessions), idle + u64::from(trial.idle));
            }
            found.sessions = sum as f64 / TRIALS as f64;
        }
        let ranked = |of: HashMap<u32, u64, FxBuildHasher>| {
            let mut counts: Vec<u64> = of.into_values().collect();
            counts.sort_unstable_by(|one, other| other.cmp(one));
            counts
        };
        Ok(Configured {
            from,
            interval,
            flows: sizes.len() as u64,
            sessions,
            sizes,
            gaps,
            senders: ranked(senders),
            receivers: ranked(receivers),
            intervals,
            idle: if all > 0 { idle as f64 / all as f64 } else { 0.0 },
        })
    }
}

/// Bytes and flows of the whole intervals of the input.
fn spread(spans: &[(Time, Time, u64)], interval: Duration, length: Duration) -> Vec<Interval> {
    let of = |time: Time| time.since(Time::ZERO).as_nanos() / interval.as_nanos();
    let mut intervals = vec![Interval::default(); (length.as_nanos() / interval.as_nanos()) as usize];
    for (start, end, bytes) in spans {
        if let Some(first) = intervals.get_mut(of(*start) as usize) {
            first.flows += 1;
        }
        let (all, last) = (end.since(*start).as_secs_f64(), of(*end));
        for number in of(*start)..=last {
            let Some(found) = intervals.get_mut(number as usize) else { break };
            let begin = Time::ZERO + interval * number;
            let within = (*end).min(begin + interval).since((*start).max(begin)).as_secs_f64();
            found.bytes += *bytes as f64 * if all > 0.0 { within / all } else { 1.0 };
        }
    }
    intervals
}

/// What a trial draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    /// A gap, in nanoseconds.
    Gap,
    /// A size, in bytes.
    Size,
}

/// As many sessions of an interval as reach its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Trial {
    sessions: u32,
    /// Of them, those that transfer nothing.
    idle: u32,
    bytes: u64,
    flows: u64,
}

impl Trial {
    /// Sessions until they have transferred `target` bytes; `None` if too many would be needed. The last one is over when it has.
    fn new(interval: Duration, target: f64, mut draw: impl FnMut(Drawn) -> u64) -> Option<Trial> {
        let mut trial = Trial::default();
        while (trial.bytes as f64) < target {
            if trial.sessions == MOST_SESSIONS {
                return None;
            }
            trial.sessions += 1;
            let (mut at, before) = (Duration::ZERO, trial.flows);
            while (trial.bytes as f64) < target {
                let gap = Duration::from_nanos(draw(Drawn::Gap));
                if at + gap > interval {
                    break;
                }
                at += gap;
                trial.bytes = trial.bytes.saturating_add(draw(Drawn::Size));
                trial.flows += 1;
            }
            trial.idle += u32::from(trial.flows == before);
        }
        Some(trial)
    }
}

impl Configured {
    /// The client and the server that make such traffic, on either side of the link; hosts get the addresses of `pools`, of the left
    /// side and of the right, by their rank. Hosts beyond the pool are left out.
    pub fn plugins(&self, pools: [Block; 2], seed: u64) -> [Plugin; 2] {
        let (to, pool) = (self.from.other(), |side: LinkSide| pools[side as usize]);
        let port = if self.from == LinkSide::Right { PORT } else { PORT + 1 };
        let servers = ranked(pool(self.from), port, &self.senders);
        let sessions: Vec<u32> = self.intervals.iter().map(|interval| interval.sessions.round() as u32).collect();
        let most = sessions.iter().copied().max().unwrap_or(0).max(1);
        let mut only = servers.clone();
        only.dedup();
        let plugin = |name: &str, personality| Plugin {
            name: format!("Tcp{name}{}", if self.from == LinkSide::Right { "" } else { "Up" }),
            object: Traffic::Tcp.object(),
            threads: most,
            personality,
            ..Plugin::default()
        };
        let mut stream = Stream::new(seed, Purpose::Shuffling, self.from as u64);
        let client = Plugin {
            interconnection_times: shuffled(&self.gaps, &mut stream, |gap| gap.as_secs_f64()),
            active_sessions: sessions,
            sources: ranked(pool(to), 0, &self.receivers),
            destinations: servers,
            settings: [("interval_duration".to_owned(), vec![self.interval.as_secs_f64()])].into(),
            client_side: Some(match to {
                LinkSide::Left => InitiatorSide::Left,
                LinkSide::Right => InitiatorSide::Right,
            }),
            ..plugin("Client", Personality::Client)
        };
        let server = Plugin {
            file_sizes: shuffled(&self.sizes, &mut stream, |size| *size as f64)
                .iter()
                .map(|size| size.round())
                .collect(),
            active_sessions: vec![most],
            servers: only,
            ..plugin("Server", Personality::Server)
        };
        [client, server]
    }

    /// How many hosts `pools` have no address for.
    pub fn without_address(&self, pools: [Block; 2]) -> usize {
        let beyond = |side: LinkSide, hosts: &[u64]| {
            hosts.len().saturating_sub(usize::try_from(pools[side as usize].hosts()).unwrap_or(usize::MAX))
        };
        beyond(self.from, &self.senders) + beyond(self.from.other(), &self.receivers)
    }
}

/// Addresses of `pool`, the first as often as the most frequent host, and so on. Of more sessions than a pool has entries, shares are
/// rounded so that those of all hosts up to any rank are right.
fn ranked(pool: Block, port: u16, counts: &[u64]) -> Vec<Block> {
    let hosts: Vec<_> = (0..).map_while(|n| pool.host(n)).zip(counts).collect();
    let all: u64 = hosts.iter().map(|(_, count)| **count).sum();
    let entries = all.min(MOST_ENTRIES);
    let (mut before, mut blocks) = (0, Vec::new());
    for (base, count) in hosts {
        before += count;
        let until = u128::from(before) * u128::from(entries) / u128::from(all.max(1));
        blocks.resize(until as usize, Block { base, length: 32, port });
    }
    blocks
}

/// A list of sorted values for a session to walk, in random order; of very many, the means of neighbours.
fn shuffled<T>(sorted: &[T], stream: &mut Stream, number: impl Fn(&T) -> f64) -> Vec<f64> {
    let (all, kept) = (sorted.len(), sorted.len().min(MOST_VALUES));
    let place = |n: usize| (n as u128 * all as u128 / kept.max(1) as u128) as usize;
    let mut list: Vec<f64> = (0..kept)
        .map(|n| {
            let near = &sorted[place(n)..place(n + 1)];
            near.iter().map(&number).sum::<f64>() / near.len() as f64
        })
        .collect();
    stream.shuffle(&mut list);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vector of methods K.1: gaps of 10, 20 and 30 s and files of 1,000 and 2,000 bytes, again and again from the first on.
    #[test]
    fn sessions_are_counted_out() {
        let (mut gaps, mut sizes) = ([10, 20, 30].into_iter().cycle(), [1_000, 2_000].into_iter().cycle());
        let trial = Trial::new(Duration::from_secs(60), 9_000.0, |what| match what {
            Drawn::Gap => gaps.next().map(|gap: u64| gap * 1_000_000_000).unwrap(),
            Drawn::Size => sizes.next().unwrap(),
        });
        assert_eq!(trial, Some(Trial { sessions: 2, idle: 0, bytes: 9_000, flows: 6 }));
        // A gap that does not fit is gone, and a session without another transfers nothing.
        let mut gaps = [70, 10, 55, 10].into_iter();
        let trial = Trial::new(Duration::from_secs(60), 200.0, |what| match what {
            Drawn::Gap => gaps.next().map(|gap: u64| gap * 1_000_000_000).unwrap(),
            Drawn::Size => 100,
        });
        assert_eq!(trial, Some(Trial { sessions: 3, idle: 1, bytes: 200, flows: 2 }));
        assert_eq!(Trial::new(Duration::from_secs(1), 1.0, |_| 2_000_000_000), None, "no gap ever fits");
    }
}
