//! What the models of the literature share: the ends their connections have, quantities as experiments spell them, and how many
//! sources become one workload.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::iter::Peekable;

use flowloom_core::distribution::Distribution;
use flowloom_core::keys::Quantity;
use flowloom_core::rng::Source;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, DatagramSizes, Endpoint, Evidence, Label, LinkSide, Pattern, PerSide, Protocol, Side,
    Span,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::window::MOST_WINDOW;

/// Connections in the order of their starts.
pub type Vectors = Box<dyn Iterator<Item = ConnectionVector> + Send>;

/// Sources of a model, at most: each holds one vector that waits for its turn.
pub const MOST_SOURCES: u32 = 100_000;

/// ADUs of a vector, at most: what a source sends on is another vector, or is left out where it cannot be.
pub const MOST_ADUS: usize = 1 << 20;

/// Bytes of an ADU, at most: 1 TiB. A Pareto law with a tail index near 1 has values that no one sends.
pub const MOST_BYTES: u64 = 1 << 40;

/// Runs of datagrams of a vector, at most: the flow goes on in another vector. Every source has one in memory.
const MOST_RUNS: usize = 4_096;

/// Payload of a datagram, at most: larger ones would go in fragments.
pub const MOST_PAYLOAD: u32 = flowloom_core::play::Datagrams::MOST_BYTES;

/// The longest round-trip time: nobody waits longer for a connection.
const LONGEST_RTT: Duration = Duration::from_secs(3_600);

/// Headers of a datagram: UDP and IPv4.
const DATAGRAM_HEADERS: u64 = 28;

/// Why a model cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key} {problem}")]
pub struct Impossible {
    /// The parameter to blame, as it is spelt.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Impossible {
    /// `key` is to blame.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Impossible {
        Impossible { key: key.into(), problem: problem.into() }
    }

    /// The same key inside the table `table`.
    #[must_use]
    pub(crate) fn within(self, table: impl std::fmt::Display) -> Impossible {
        Impossible { key: format!("{table}.{}", self.key), ..self }
    }
}

/// Refuses a number that is not above zero.
pub fn above_zero(key: &'static str, value: f64) -> Result<(), Impossible> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Impossible::new(key, format!("of {value} is not possible: a number above zero")))
}

/// Refuses a number of sources that is zero or too many.
pub fn sources(key: &'static str, count: u32) -> Result<(), Impossible> {
    match count {
        0 => Err(Impossible::new(key, "of 0 sends nothing")),
        1..=MOST_SOURCES => Ok(()),
        _ => Err(Impossible::new(key, format!("of {count} is too many (at most {MOST_SOURCES})"))),
    }
}

/// The ends of a model's connections. What is left out is not stated in its vectors, and left to the experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ends {
    /// Round-trip time of each connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("most" = "1h"))]
    pub rtt: Option<Quantity<Duration>>,
    /// Largest segment, in bytes of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub mss: Option<u16>,
    /// Receive window of both ends, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_WINDOW))]
    pub window_bytes: Option<u64>,
    /// The side of the link on which initiators are.
    #[serde(default)]
    pub initiators: InitiatorSide,
}

/// A side of the link, as it is spelt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitiatorSide {
    /// The inside.
    #[default]
    Left,
    /// The outside.
    Right,
}

impl InitiatorSide {
    /// The opposite side.
    #[must_use]
    pub const fn other(self) -> InitiatorSide {
        match self {
            InitiatorSide::Left => InitiatorSide::Right,
            InitiatorSide::Right => InitiatorSide::Left,
        }
    }
}

impl Ends {
    /// Refuses what no end can have.
    ///
    /// # Errors
    /// A segment or window of nothing.
    pub fn check(&self) -> Result<(), Impossible> {
        if self.mss == Some(0) {
            return Err(Impossible::new("ends.mss", "of 0 carries nothing"));
        }
        if self.window_bytes == Some(0) {
            return Err(Impossible::new("ends.window-bytes", "of 0 lets nothing through"));
        }
        if let Some(window) = self.window_bytes.filter(|window| *window > MOST_WINDOW) {
            return Err(Impossible::new(
                "ends.window-bytes",
                format!("of {window} is more than TCP has: {MOST_WINDOW}"),
            ));
        }
        if let Some(rtt) = self.rtt.as_ref().map(|rtt| rtt.value).filter(|rtt| *rtt > LONGEST_RTT) {
            return Err(Impossible::new("ends.rtt", format!("of {rtt} is longer than {LONGEST_RTT}")));
        }
        Ok(())
    }

    /// What an end of such a connection is known to have.
    fn end(&self) -> Endpoint {
        Endpoint { syn_seen: true, mss: self.mss, max_window: self.window_bytes, ..Endpoint::default() }
    }

    fn side(&self) -> LinkSide {
        match self.initiators {
            InitiatorSide::Left => LinkSide::Left,
            InitiatorSide::Right => LinkSide::Right,
        }
    }

    /// A vector without data.
    fn vector(&self, protocol: Protocol, start: Time, port: Option<u16>, source: Source) -> ConnectionVector {
        let end = match protocol {
            Protocol::Tcp => self.end(),
            Protocol::Udp | Protocol::Quic => Endpoint::default(),
        };
        ConnectionVector {
            label: Some(Label { subset: source.0, id: source.1 }),
            protocol,
            evidence: Evidence::Model,
            start,
            initiator_side: self.side(),
            pattern: Pattern::Sequential,
            complete: protocol == Protocol::Tcp,
            stated_rtt: self.rtt.as_ref().map(|rtt| rtt.value),
            ends: PerSide { initiator: end, acceptor: Endpoint { port, ..end } },
            ..ConnectionVector::default()
        }
    }
}

/// Writes the vector of one TCP connection whose ends take turns, or of which one only sends: what is sent and waited for, in order.
#[derive(Clone, Debug)]
pub struct Talk {
    vector: ConnectionVector,
    /// Wait before what comes next.
    wait: Duration,
}

impl Talk {
    /// A connection to `port` that begins at `start`.
    pub fn new(ends: &Ends, start: Time, port: Option<u16>, source: Source) -> Talk {
        Talk { vector: ends.vector(Protocol::Tcp, start, port, source), wait: Duration::ZERO }
    }

    /// Who is next waits so long: after what it sent itself from when that has left, after what the other sent from when that has come.
    pub fn wait(&mut self, wait: Duration) {
        self.wait += wait;
    }

    /// `side` sends; bytes are rounded, one at least.
    pub fn send(&mut self, side: Side, bytes: f64) {
        let wait = std::mem::take(&mut self.wait);
        match self.vector.adus.last_mut() {
            Some(last) => (last.wait, last.waiter) = (Some(wait), side),
            None if !wait.is_zero() => self.vector.ends[side].lead_in = Some(wait),
            None => {}
        }
        self.vector.adus.push(Adu {
            side,
            bytes: (bytes.round() as u64).clamp(1, MOST_BYTES),
            missing_bytes: 0,
            wait: None,
            waiter: side,
            seen: None,
            packets: None,
        });
    }

    /// ADUs so far.
    pub fn len(&self) -> usize {
        self.vector.adus.len()
    }

    /// `side` closes, after the wait that is left; `None` if nothing was sent.
    pub fn close(mut self, side: Side) -> Option<ConnectionVector> {
        self.vector.close = Close::Fin(side);
        self.vector.t_close = (!self.wait.is_zero()).then_some(self.wait);
        (!self.vector.adus.is_empty()).then_some(self.vector)
    }
}

/// Datagrams that a program sends in a row, at equal gaps and of equal sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When the first leaves.
    pub at: Time,
    /// From the first to the last.
    pub length: Duration,
    /// How many there are.
    pub packets: u32,
    /// Payload bytes of all.
    pub bytes: u64,
}

impl Sent {
    /// `bytes` at once, in as few datagrams as carry at most `most` bytes each; rounded, one byte at least.
    pub fn block(at: Time, bytes: f64, most: u32) -> Sent {
        let bytes = (bytes.round() as u64).clamp(1, MOST_BYTES);
        let packets = bytes.div_ceil(u64::from(most.max(1))).try_into().unwrap_or(u32::MAX);
        Sent { at, length: Duration::ZERO, packets, bytes }
    }
}

/// The vectors of a one-way flow of datagrams: a vector for every 4,096 of what is `sent`, which must be in order. All have its label.
pub fn flow(
    ends: Ends,
    port: Option<u16>,
    source: Source,
    sent: impl Iterator<Item = Sent> + Send,
) -> impl Iterator<Item = ConnectionVector> + Send {
    datagrams(ends, port, source, sent.map(|run| (Side::Initiator, run)))
}

/// As [`flow`], of datagrams that either end sends.
pub fn datagrams(
    ends: Ends,
    port: Option<u16>,
    source: Source,
    sent: impl Iterator<Item = (Side, Sent)> + Send,
) -> impl Iterator<Item = ConnectionVector> + Send {
    let mut sent = sent.fuse();
    std::iter::from_fn(move || {
        let first = sent.next()?;
        let mut vector = ends.vector(Protocol::Udp, first.1.at, port, source);
        for side in Side::BOTH {
            (vector.ends[side].packets, vector.ends[side].ip_bytes) = (Some(0), Some(0));
        }
        let mut last = Duration::ZERO;
        let rest = sent.by_ref().take(MOST_RUNS - 1);
        for (side, run) in std::iter::once(first).chain(rest) {
            let begins = run.at.since(vector.start);
            if let Some(before) = vector.adus.last_mut() {
                (before.wait, before.waiter) = (Some(begins.saturating_sub(last)), side);
            }
            last = begins + run.length;
            vector.adus.push(Adu {
                side,
                bytes: run.bytes,
                missing_bytes: 0,
                wait: None,
                waiter: side,
                seen: Some(Span { first: begins, last }),
                packets: Some(run.packets),
            });
            let packets = u64::from(run.packets);
            let smallest = (run.bytes / packets.max(1)).try_into().unwrap_or(u32::MAX);
            let largest = run.bytes.div_ceil(packets.max(1)).try_into().unwrap_or(u32::MAX);
            let end = &mut vector.ends[side];
            let sizes = end.datagram_sizes.get_or_insert(DatagramSizes { smallest, largest });
            (sizes.smallest, sizes.largest) = (sizes.smallest.min(smallest), sizes.largest.max(largest));
            end.packets = end.packets.map(|before| before + packets);
            end.ip_bytes = end.ip_bytes.map(|before| before + run.bytes + DATAGRAM_HEADERS * packets);
        }
        vector.lifetime = Some(last);
        Some(vector)
    })
}

/// A datagram of `payload` bytes every so often: the time between two at `rate`, which is of the payload; at least a nanosecond.
pub fn gap(payload: u32, rate: Rate) -> Duration {
    let gap = rate.bits_per_second().map(|bits| Duration::from_secs_f64(8.0 * f64::from(payload) / bits as f64));
    gap.unwrap_or_default().max(Duration::from_nanos(1))
}

/// What a reader of results should know of `laws`, by their keys: those without a mean.
pub fn without_mean<'a>(laws: impl IntoIterator<Item = (&'a str, &'a Distribution)>) -> Vec<String> {
    let endless = laws.into_iter().filter(|(_, law)| law.mean().is_none());
    endless.map(|(key, _)| format!("{key} has no mean, so that no load can be expected")).collect()
}

/// The vectors of many sources, each in the order of its starts, in the order of all starts and numbered so. Equal starts are in the
/// order of the sources.
pub struct Merged<I> {
    sources: Vec<I>,
    /// The next vector of each source that has one.
    heads: Vec<Option<ConnectionVector>>,
    due: BinaryHeap<Reverse<(Time, usize)>>,
    next_id: u64,
}

impl<I: Iterator<Item = ConnectionVector>> Merged<I> {
    /// Those of `sources`.
    pub fn new(sources: impl Iterator<Item = I>) -> Merged<I> {
        let mut merged = Merged { sources: sources.collect(), heads: Vec::new(), due: BinaryHeap::new(), next_id: 0 };
        merged.heads.resize_with(merged.sources.len(), || None);
        (0..merged.sources.len()).for_each(|source| merged.advance(source));
        merged
    }

    fn advance(&mut self, source: usize) {
        self.heads[source] = self.sources[source].next();
        self.due.extend(self.heads[source].as_ref().map(|vector| Reverse((vector.start, source))));
    }
}

impl<I: Iterator<Item = ConnectionVector>> Iterator for Merged<I> {
    type Item = ConnectionVector;

    fn next(&mut self) -> Option<ConnectionVector> {
        let Reverse((_, source)) = self.due.pop()?;
        let vector = self.heads[source].take();
        self.advance(source);
        let id = self.next_id;
        self.next_id += 1;
        vector.map(|vector| ConnectionVector { id, ..vector })
    }
}

/// The vectors of flows that overlap, in the order of their starts. Flows come in the order of their beginnings; the vectors of each are
/// in order, and the first may start any time after the beginning. Equal starts are in the order of the flows.
pub struct Overlapping<F: Iterator, I> {
    flows: Peekable<F>,
    begun: u64,
    /// The next vector of each flow that has one, and those after it, by start and number of the flow.
    open: BTreeMap<(Time, u64), (ConnectionVector, I)>,
}

impl<F: Iterator<Item = (Time, I)>, I: Iterator<Item = ConnectionVector>> Overlapping<F, I> {
    /// Those of `flows`, each with its beginning.
    pub fn new(flows: F) -> Overlapping<F, I> {
        Overlapping { flows: flows.peekable(), begun: 0, open: BTreeMap::new() }
    }

    fn advance(&mut self, flow: u64, mut vectors: I) {
        self.open.extend(vectors.next().map(|vector| ((vector.start, flow), (vector, vectors))));
    }
}

impl<F: Iterator<Item = (Time, I)>, I: Iterator<Item = ConnectionVector>> Iterator for Overlapping<F, I> {
    type Item = ConnectionVector;

    fn next(&mut self) -> Option<ConnectionVector> {
        loop {
            let earliest = self.open.first_key_value().map(|((start, _), _)| *start);
            let Some((_, vectors)) = self.flows.next_if(|(begins, _)| earliest.is_none_or(|start| *begins <= start))
            else {
                break;
            };
            self.advance(self.begun, vectors);
            self.begun += 1;
        }
        let ((_, flow), (vector, rest)) = self.open.pop_first()?;
        self.advance(flow, rest);
        Some(vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn many_sources_are_one_workload_in_the_order_of_starts() {
        let of = |number: u64, starts: &'static [u64]| {
            let ends = Ends::default();
            starts.iter().enumerate().map(move |(at, start)| {
                let mut talk = Talk::new(&ends, ms(*start), Some(80), Source(number, at as u64));
                talk.send(Side::Initiator, 1.0);
                talk.close(Side::Initiator).expect("it has data")
            })
        };
        let merged: Vec<_> = Merged::new([of(0, &[5, 7, 7]), of(1, &[0, 7]), of(2, &[])].into_iter()).collect();
        let found: Vec<_> = merged
            .iter()
            .map(|vector| (vector.id, vector.start, vector.label.map(|label| (label.subset, label.id))))
            .collect();
        let wanted = [(0, 0, (1, 0)), (1, 5, (0, 0)), (2, 7, (0, 1)), (3, 7, (0, 2)), (4, 7, (1, 1))];
        assert_eq!(found, wanted.map(|(id, start, label)| (id, ms(start), Some(label))));
    }

    #[test]
    fn overlapping_flows_keep_order_of_starts() {
        let flow = |number: u64, starts: &'static [u64]| {
            starts.iter().map(move |start| {
                let mut talk = Talk::new(&Ends::default(), ms(*start), None, Source(number, 0));
                talk.send(Side::Initiator, 1.0);
                talk.close(Side::Initiator).expect("it has data")
            })
        };
        // The first sends late, the second nothing, the third has two vectors, between which the fourth begins.
        let flows =
            [(0, flow(0, &[9])), (1, flow(1, &[])), (1, flow(2, &[3, 7])), (4, flow(3, &[7])), (9, flow(4, &[9]))];
        let found = Overlapping::new(flows.into_iter().map(|(begins, vectors)| (ms(begins), vectors)));
        let found: Vec<_> = found.map(|vector| (vector.start, vector.label.unwrap().subset)).collect();
        assert_eq!(found, [(3, 2), (7, 2), (7, 3), (9, 0), (9, 4)].map(|(start, flow)| (ms(start), flow)));
    }

    #[test]
    fn waits_are_those_of_who_sends_next() {
        let mut talk = Talk::new(&Ends::default(), ms(3), None, Source(0, 0));
        talk.wait(Duration::from_millis(5));
        talk.send(Side::Initiator, 10.4);
        talk.send(Side::Acceptor, 0.2);
        talk.wait(Duration::from_millis(9));
        talk.send(Side::Acceptor, 7.0);
        talk.wait(Duration::from_millis(1));
        assert_eq!(talk.len(), 3);
        let vector = talk.close(Side::Acceptor).unwrap();
        assert_eq!(vector.ends.initiator.lead_in, Some(Duration::from_millis(5)));
        let adus: Vec<_> = vector.adus.iter().map(|adu| (adu.side, adu.bytes, adu.wait, adu.waiter)).collect();
        let wanted = [
            (Side::Initiator, 10, Some(Duration::ZERO), Side::Acceptor),
            (Side::Acceptor, 1, Some(Duration::from_millis(9)), Side::Acceptor),
            (Side::Acceptor, 7, None, Side::Acceptor),
        ];
        assert_eq!(adus, wanted);
        assert_eq!((vector.close, vector.t_close), (Close::Fin(Side::Acceptor), Some(Duration::from_millis(1))));
        assert!(Talk::new(&Ends::default(), ms(0), None, Source(0, 0)).close(Side::Initiator).is_none());
    }

    #[test]
    fn a_flow_of_datagrams_is_what_extraction_makes_of_one() {
        let sent =
            (0..5_000).map(|at| Sent { length: Duration::from_millis(2), ..Sent::block(ms(10 * at), 3_000.0, 1_472) });
        let parts: Vec<_> = flow(Ends::default(), Some(9), Source(3, 0), sent).collect();
        assert_eq!(parts.iter().map(|part| part.adus.len()).collect::<Vec<_>>(), [4_096, 904]);
        assert_eq!(parts[1].start, ms(40_960));
        let (part, adu) = (&parts[1], &parts[1].adus[1]);
        assert_eq!((part.protocol, part.evidence, part.ends.acceptor.port), (Protocol::Udp, Evidence::Model, Some(9)));
        assert_eq!((adu.packets, adu.bytes, adu.wait), (Some(3), 3_000, Some(Duration::from_millis(8))));
        assert_eq!(adu.seen, Some(Span { first: Duration::from_millis(10), last: Duration::from_millis(12) }));
        let end = part.ends.initiator;
        assert_eq!((end.packets, end.ip_bytes), (Some(2_712), Some(904 * 3_000 + 2_712 * 28)));
        assert_eq!(end.datagram_sizes, Some(DatagramSizes { smallest: 1_000, largest: 1_000 }));
    }

    #[test]
    fn quantities_keep_their_spelling() {
        let rtt = Quantity::<Duration>::of("45ms");
        assert_eq!((rtt.value, rtt.to_string().as_str()), (Duration::from_millis(45), "45ms"));
        assert!("45".parse::<Quantity<Duration>>().is_err());
    }
}
