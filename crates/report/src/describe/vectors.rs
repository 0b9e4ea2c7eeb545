//! Connection vectors: what Aikat's chapter 3 tabulates of a trace (classes, epochs, data units, quiet times, round-trip
//! times, windows, losses), and datagram flows by themselves.

use flowloom_core::extract::KeptPayload;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Evidence, LinkSide, Pattern, Protocol, Segments, Side, sum_of_known};
use flowloom_store::workload::{PayloadFacts, TrafficFacts};
use serde::Serialize;

use super::load::{Load, LoadBytes};
use super::variable::{Distribution, Sketches, Variable};

/// Takes vectors in; its memory is bounded ([`flowloom_core::sketch::Sketch`]): at most 2.3 MB for each variable.
#[derive(Clone, Debug, Default)]
pub struct Describer {
    connections: u64,
    half_epochs: u64,
    lossy: u64,
    unknown_rtt: u64,
    unknown_windows: u64,
    from: [u64; 2],
    bytes: [u64; 2],
    last: Duration,
    complete: u64,
    classes: [ClassShare; REPLAYABLE.len()],
    segments: [Segments; 2],
    payload: KeptPayload,
    load: LoadBytes,
    sketches: Sketches,
    datagrams: Vec<Datagrams>,
}

/// Flows of one protocol over UDP.
#[derive(Clone, Debug)]
struct Datagrams {
    protocol: Protocol,
    flows: u64,
    packets: u64,
    bytes: [u64; 2],
    sketches: Sketches,
}

/// What the vectors of a workload look like. Times in nanoseconds, sizes in bytes, as the names say.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// How many connections of which kind.
    pub connections: ConnectionCounts,
    /// Payload bytes sent by either end of connections.
    pub payload_bytes: PayloadBytes,
    /// Payload of connections: captured, missing, acknowledged, replayed (methods A.3).
    pub payload: PayloadFacts,
    /// Losses by sender.
    pub loss: Losses,
    /// Each variable's distribution, in the order a reader wants.
    pub distributions: Vec<Distribution>,
    /// UDP and QUIC, each by itself.
    pub datagrams: Vec<DatagramDescription>,
}

/// Flows of datagrams.
#[derive(Clone, Debug, Serialize)]
pub struct DatagramDescription {
    /// `udp` or `quic`.
    pub protocol: &'static str,
    /// 5-tuples.
    pub flows: u64,
    /// Their packets.
    pub packets: u64,
    /// Payload bytes sent by either end.
    pub payload_bytes: PayloadBytes,
    /// Each variable's distribution.
    pub distributions: Vec<Distribution>,
}

/// Connections by kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ConnectionCounts {
    /// All of them.
    pub total: u64,
    /// Those whose ends took turns.
    pub sequential: u64,
    /// Those whose ends sent at once.
    pub concurrent: u64,
    /// Those of which only totals are known (flow records), not who sent when.
    pub totals_only: u64,
    /// SYN and (FIN or RST) were seen.
    pub complete: u64,
    /// The rest.
    pub incomplete: u64,
    /// A segment of them was lost before or after the monitor.
    pub lossy: u64,
    /// No transit sample of either end.
    pub unknown_rtt: u64,
    /// Ends whose window is not known (methods A.7).
    pub unknown_windows: u64,
    /// Initiator on the left of the link.
    pub from_left: u64,
    /// Initiator on the right of the link.
    pub from_right: u64,
    /// Epochs without a request or without a response.
    pub half_epochs: u64,
}

/// Payload bytes by end.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PayloadBytes {
    /// Sent by initiators.
    pub initiator: u64,
    /// Sent by acceptors.
    pub acceptor: u64,
}

/// Losses by sender.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Losses {
    /// Of what initiators sent.
    pub initiator: DirectionLoss,
    /// Of what acceptors sent.
    pub acceptor: DirectionLoss,
}

/// What became of the data segments of one direction (methods A.8), all connections together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DirectionLoss {
    /// Data segments seen, repeated ones among them.
    pub data_segments: u64,
    /// Share lost before the monitor.
    pub before: f64,
    /// Share lost after it, or repeated without need.
    pub after: f64,
    /// Both.
    pub total: f64,
}

/// Connections of one class (methods A.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassShare {
    /// The class.
    pub class: &'static str,
    /// How many.
    pub connections: u64,
    /// Their packets; null if nothing tells.
    pub packets: Option<u64>,
    /// Their payload bytes, both ways; null if nothing tells.
    pub payload_bytes: Option<u64>,
}

/// The names of the replayable classes, as [`flowloom_core::extract::Class::name`] has them, and that of the connections
/// known by totals only.
const REPLAYABLE: [&str; 5] =
    ["sequential_complete", "sequential_incomplete", "concurrent_complete", "concurrent_incomplete", TOTALS_ONLY];

/// Connections of flow records, which do not tell who sent when.
pub(super) const TOTALS_ONLY: &str = "totals_only";

const OF_CONNECTIONS: [Variable; 17] = [
    Variable::Epochs,
    Variable::ConnectionBytes,
    Variable::RequestBytes,
    Variable::ResponseBytes,
    Variable::ConcurrentAduBytes,
    Variable::IntraEpochWait,
    Variable::InterEpochWait,
    Variable::ConcurrentWait,
    Variable::ResponseTime,
    Variable::Duration,
    Variable::Lifetime,
    Variable::MinRtt,
    Variable::InitiatorWindow,
    Variable::AcceptorWindow,
    Variable::InitialWindow,
    Variable::InitiatorLoss,
    Variable::AcceptorLoss,
];

const OF_DATAGRAMS: [Variable; 8] = [
    Variable::FlowBytes,
    Variable::AduBytes,
    Variable::AduPackets,
    Variable::AduWait,
    Variable::FlowDuration,
    Variable::FlowLifetime,
    Variable::SmallestDatagram,
    Variable::LargestDatagram,
];

impl Describer {
    /// Takes one more vector into account.
    pub fn add(&mut self, vector: &ConnectionVector) {
        self.load.add(vector);
        let seen = vector.data_span().map_or(Duration::ZERO, |span| span.last);
        let last = vector.start + seen.max(vector.lifetime.unwrap_or_default());
        self.last = self.last.max(last.since(Time::ZERO));
        match vector.protocol {
            Protocol::Tcp => self.add_connection(vector),
            protocol @ (Protocol::Udp | Protocol::Quic) => self.add_datagrams(protocol, vector),
        }
    }

    fn add_connection(&mut self, vector: &ConnectionVector) {
        self.connections += 1;
        self.from[vector.initiator_side as usize] += 1;
        self.payload.add_with_clock(vector);
        self.lossy += u64::from(Side::BOTH.into_iter().any(|side| vector.ends[side].is_lossy()));
        let bytes = Side::BOTH.map(|side| vector.bytes(side));
        self.bytes.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
        self.complete += u64::from(vector.complete);
        let row = match (vector.evidence, vector.pattern) {
            (Evidence::FlowRecord, _) => 4,
            (_, Pattern::Concurrent) => 2 + usize::from(!vector.complete),
            (_, Pattern::Sequential) => usize::from(!vector.complete),
        };
        let class = &mut self.classes[row];
        let packets = sum_of_known(Side::BOTH.map(|side| vector.ends[side].packets));
        // One connection of which nobody counted the packets leaves those of its class unknown.
        class.packets = match class.connections {
            0 => packets,
            _ => sum_of_known([class.packets, packets]),
        };
        class.connections += 1;
        class.payload_bytes = Some(class.payload_bytes.unwrap_or(0) + bytes[0] + bytes[1]);

        let sketches = &mut self.sketches;
        sketches.add(Variable::ConnectionBytes, [bytes[0] + bytes[1]]);
        sketches.add(Variable::Duration, vector.duration().map(Duration::as_nanos));
        sketches.add(Variable::Lifetime, vector.lifetime.map(Duration::as_nanos));
        sketches.add(Variable::MinRtt, vector.min_rtt().map(Duration::as_nanos));
        self.unknown_rtt += u64::from(vector.min_rtt().is_none());
        for (side, window, loss) in [
            (Side::Initiator, Variable::InitiatorWindow, Variable::InitiatorLoss),
            (Side::Acceptor, Variable::AcceptorWindow, Variable::AcceptorLoss),
        ] {
            sketches.add(window, vector.window(side));
            self.unknown_windows += u64::from(vector.window(side).is_none());
            sketches.add(Variable::InitialWindow, vector.initial_window_segments(side));
            let end = &vector.ends[side];
            let sent = end.segments.is_none_or(|segments| segments.data > 0);
            sketches.add(loss, end.loss_rate().filter(|_| sent).map(|rate| (rate * 1e6).round() as u64));
            if let Some(segments) = end.segments {
                self.segments[side as usize] += segments;
            }
        }
        match vector.pattern {
            // One request and one response stand for all that were: nothing of them is an observation.
            _ if vector.evidence == Evidence::FlowRecord => {}
            Pattern::Sequential => self.add_epochs(vector),
            Pattern::Concurrent => {
                sketches.add(Variable::ConcurrentAduBytes, vector.adus.iter().map(|adu| adu.bytes));
                let waits = vector.adus.iter().filter_map(|adu| adu.wait).map(Duration::as_nanos);
                sketches.add(Variable::ConcurrentWait, waits);
            }
        }
    }

    fn add_epochs(&mut self, vector: &ConnectionVector) {
        let sketches = &mut self.sketches;
        let mut epochs = 0;
        for epoch in vector.epochs() {
            epochs += 1;
            self.half_epochs += u64::from(epoch.request.is_none() || epoch.response.is_none());
            sketches.add(Variable::RequestBytes, epoch.request.map(|adu| adu.bytes));
            sketches.add(Variable::ResponseBytes, epoch.response.map(|adu| adu.bytes));
            sketches.add(Variable::ResponseTime, epoch.response_time().map(Duration::as_nanos));
            let wait = |adu: flowloom_core::workload::Adu| adu.wait.map(Duration::as_nanos);
            if epoch.response.is_some() {
                sketches.add(Variable::IntraEpochWait, epoch.request.and_then(wait));
            }
            sketches.add(Variable::InterEpochWait, epoch.response.or(epoch.request).and_then(wait));
        }
        sketches.add(Variable::Epochs, [epochs]);
    }

    fn add_datagrams(&mut self, protocol: Protocol, vector: &ConnectionVector) {
        let at = self.datagrams.iter().position(|datagrams| datagrams.protocol == protocol).unwrap_or_else(|| {
            let sketches = Sketches::default();
            self.datagrams.push(Datagrams { protocol, flows: 0, packets: 0, bytes: [0; 2], sketches });
            self.datagrams.len() - 1
        });
        let datagrams = &mut self.datagrams[at];
        datagrams.flows += 1;
        let mut total = 0;
        for (sum, side) in datagrams.bytes.iter_mut().zip(Side::BOTH) {
            datagrams.packets += vector.ends[side].packets.unwrap_or(0);
            *sum += vector.bytes(side);
            total += vector.bytes(side);
        }
        let sketches = &mut datagrams.sketches;
        sketches.add(Variable::FlowBytes, [total]);
        sketches.add(Variable::FlowDuration, vector.duration().map(Duration::as_nanos));
        sketches.add(Variable::FlowLifetime, vector.lifetime.map(Duration::as_nanos));
        for sizes in Side::BOTH.into_iter().filter_map(|side| vector.ends[side].datagram_sizes) {
            sketches.add(Variable::SmallestDatagram, [u64::from(sizes.smallest)]);
            sketches.add(Variable::LargestDatagram, [u64::from(sizes.largest)]);
        }
        if vector.evidence == Evidence::FlowRecord {
            return;
        }
        sketches.add(Variable::AduBytes, vector.adus.iter().map(|adu| adu.bytes));
        sketches.add(Variable::AduPackets, vector.adus.iter().filter_map(|adu| adu.packets).map(u64::from));
        sketches.add(Variable::AduWait, vector.adus.iter().filter_map(|adu| adu.wait).map(Duration::as_nanos));
    }

    /// How many vectors were taken in, datagram flows among them.
    pub fn vectors(&self) -> u64 {
        self.connections + self.datagrams.iter().map(|datagrams| datagrams.flows).sum::<u64>()
    }

    /// The offered load over `length`, or until the last data passed if the length of the original is unknown (zero).
    pub fn load(&self, length: Duration, traffic: &TrafficFacts) -> Load {
        self.load.finish(if length.is_zero() { self.last } else { length }, traffic)
    }

    /// The replayable classes, in the order of reports. Where connections are known by totals only, they are a class too, and
    /// classes without connections are left out.
    pub fn classes(&self) -> Vec<ClassShare> {
        let mut classes = self.classes.to_vec();
        for (class, name) in classes.iter_mut().zip(REPLAYABLE) {
            class.class = name;
            if class.connections == 0 {
                (class.packets, class.payload_bytes) = (Some(0), Some(0));
            }
        }
        // Of flow records nobody knows that none was concurrent.
        let totals_only = classes.iter().any(|class| class.class == TOTALS_ONLY && class.connections > 0);
        classes.retain(|class| if totals_only { class.connections > 0 } else { class.class != TOTALS_ONLY });
        classes
    }

    /// What was collected.
    pub fn finish(mut self) -> Description {
        let [complete, incomplete, complete_too, incomplete_too, totals_only] =
            self.classes.map(|class| class.connections);
        self.datagrams.sort_by_key(|datagrams| datagrams.protocol);
        let loss = |segments: &Segments| {
            let loss = segments.loss();
            DirectionLoss { data_segments: segments.data, before: loss.before, after: loss.after, total: loss.total }
        };
        Description {
            connections: ConnectionCounts {
                total: self.connections,
                sequential: complete + incomplete,
                concurrent: complete_too + incomplete_too,
                totals_only,
                complete: self.complete,
                incomplete: self.connections - self.complete,
                lossy: self.lossy,
                unknown_rtt: self.unknown_rtt,
                unknown_windows: self.unknown_windows,
                from_left: self.from[LinkSide::Left as usize],
                from_right: self.from[LinkSide::Right as usize],
                half_epochs: self.half_epochs,
            },
            payload_bytes: PayloadBytes { initiator: self.bytes[0], acceptor: self.bytes[1] },
            payload: self.payload.into(),
            loss: Losses { initiator: loss(&self.segments[0]), acceptor: loss(&self.segments[1]) },
            distributions: self.sketches.distributions(&OF_CONNECTIONS),
            datagrams: self.datagrams.into_iter().map(Datagrams::finish).collect(),
        }
    }
}

impl Description {
    /// The flows over `protocol` (`udp` or `quic`), if there are any.
    pub(crate) fn datagrams_over(&self, protocol: &str) -> Option<&DatagramDescription> {
        self.datagrams.iter().find(|datagrams| datagrams.protocol == protocol)
    }
}

impl Datagrams {
    fn finish(self) -> DatagramDescription {
        DatagramDescription {
            protocol: match self.protocol {
                Protocol::Quic => "quic",
                Protocol::Udp | Protocol::Tcp => "udp",
            },
            flows: self.flows,
            packets: self.packets,
            payload_bytes: PayloadBytes { initiator: self.bytes[0], acceptor: self.bytes[1] },
            distributions: self.sketches.distributions(&OF_DATAGRAMS),
        }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::workload::Repeated;

    use super::*;

    #[test]
    fn losses_of_all_are_counted_as_those_of_one() {
        let mut vector = ConnectionVector::default();
        let repeated = Repeated { timeout: 1, spurious: 2, copies: 1, ..Repeated::default() };
        let segments = Segments { data: 21, duplicates: 4, lost_before: 1, repeated, ..Segments::default() };
        vector.ends.initiator.segments = Some(segments);
        let (mut one, mut two) = (Describer::default(), Describer::default());
        one.add(&vector);
        two.add(&vector);
        two.add(&vector);
        let [one, two] = [one.finish(), two.finish()];
        let expected = segments.loss();
        // What was sent again without need is no loss.
        assert_eq!(expected.after, 1.0 / 20.0);
        for (description, connections) in [(&one, 1), (&two, 2)] {
            let loss = description.loss.initiator;
            assert_eq!((loss.before, loss.after, loss.total), (expected.before, expected.after, expected.total));
            assert_eq!(loss.data_segments, 21 * connections);
        }
    }
}
