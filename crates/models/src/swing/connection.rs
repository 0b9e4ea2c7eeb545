//! A connection as its applications and its path made it, without its place in time: what is drawn, and what sessions are kept as.

use flowloom_core::play::Waits;
use flowloom_core::time::Duration;
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, DatagramSizes, Endpoint, Evidence, Pattern, PerSide, Protocol, Side, Span,
};
use serde::{Deserialize, Serialize};

use super::law::MOST_VALUE;
use crate::generate::ends::{MOST_ADUS, MOST_BYTES};
use crate::settled::{settle, unsettle};

/// Headers of a datagram: UDP and IPv4.
const DATAGRAM_HEADERS: u64 = 28;

/// The variable transport of methods K.2: what a connection is sent over, and whether its ends take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP; one end answers the other.
    Tcp,
    /// TCP; both ends send at once, each by its own waits.
    TcpConcurrent,
    /// UDP datagrams of two addresses and ports.
    Udp,
    /// The same of QUIC.
    Quic,
}

impl Transport {
    /// All of them.
    pub const ALL: [Transport; 4] = [Transport::Tcp, Transport::TcpConcurrent, Transport::Udp, Transport::Quic];

    /// What reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::TcpConcurrent => "tcp-concurrent",
            Transport::Udp => "udp",
            Transport::Quic => "quic",
        }
    }

    /// That of `vector`.
    pub fn of(vector: &ConnectionVector) -> Transport {
        match (vector.protocol, vector.pattern) {
            (Protocol::Tcp, Pattern::Sequential) => Transport::Tcp,
            (Protocol::Tcp, Pattern::Concurrent) => Transport::TcpConcurrent,
            (Protocol::Udp, _) => Transport::Udp,
            (Protocol::Quic, _) => Transport::Quic,
        }
    }

    /// Whether its packets are the application's own.
    pub const fn is_datagrams(self) -> bool {
        matches!(self, Transport::Udp | Transport::Quic)
    }

    /// Whether both ends send at once.
    pub const fn is_concurrent(self) -> bool {
        matches!(self, Transport::TcpConcurrent)
    }

    const fn protocol(self) -> Protocol {
        match self {
            Transport::Tcp | Transport::TcpConcurrent => Protocol::Tcp,
            Transport::Udp => Protocol::Udp,
            Transport::Quic => Protocol::Quic,
        }
    }
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Closing {
    /// The initiator's FIN comes first.
    FinInitiator,
    /// The acceptor's FIN.
    FinAcceptor,
    /// The initiator's RST.
    RstInitiator,
    /// The acceptor's RST.
    RstAcceptor,
    /// Nothing was seen of it.
    #[default]
    NotSeen,
}

impl Closing {
    fn of(close: Close) -> Closing {
        match close {
            Close::Fin(Side::Initiator) => Closing::FinInitiator,
            Close::Fin(Side::Acceptor) => Closing::FinAcceptor,
            Close::Rst(Side::Initiator) => Closing::RstInitiator,
            Close::Rst(Side::Acceptor) => Closing::RstAcceptor,
            Close::NotSeen => Closing::NotSeen,
        }
    }

    fn close(self) -> Close {
        match self {
            Closing::FinInitiator => Close::Fin(Side::Initiator),
            Closing::FinAcceptor => Close::Fin(Side::Acceptor),
            Closing::RstInitiator => Close::Rst(Side::Initiator),
            Closing::RstAcceptor => Close::Rst(Side::Acceptor),
            Closing::NotSeen => Close::NotSeen,
        }
    }
}

/// An ADU, or datagrams in a row; in files five numbers in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Numbers", into = "Numbers")]
pub struct Unit {
    /// Who sends it.
    pub side: Side,
    /// Its payload.
    pub bytes: u64,
    /// How long who is next then waits, transits not included, in nanoseconds.
    pub wait_ns: u64,
    /// Datagrams; 0 of TCP.
    pub packets: u32,
    /// From the first to the last of these, in nanoseconds.
    pub length_ns: u64,
}

type Numbers = (u8, u64, u64, u32, u64);

impl From<Unit> for Numbers {
    fn from(unit: Unit) -> Numbers {
        (unit.side as u8, unit.bytes, unit.wait_ns, unit.packets, unit.length_ns)
    }
}

impl From<Numbers> for Unit {
    fn from((side, bytes, wait_ns, packets, length_ns): Numbers) -> Unit {
        let side = if side == 0 { Side::Initiator } else { Side::Acceptor };
        Unit { side, bytes, wait_ns, packets, length_ns }
    }
}

/// What is known of an end; what is not is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// From the link to this end and back: its latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<u64>,
    /// From the handshake to its first data, transits not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_in_ns: Option<u64>,
    /// The largest window it advertised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<u64>,
    /// MSS option of its SYN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss_bytes: Option<u16>,
    /// Loss of what it sends, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_ppm: Option<u32>,
}

/// A connection, or a flow of datagrams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// When it starts, from the start of its session.
    pub at_ns: u64,
    /// What it is sent over.
    pub transport: Transport,
    /// Number of its server in its class: 0 is the one with the most connections.
    pub server: u32,
    /// The acceptor's port, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How it ends.
    pub close: Closing,
    /// From its last data to its end, transits not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close_wait_ns: Option<u64>,
    /// Its round-trip time, where neither end's latency is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_rtt_ns: Option<u64>,
    /// Its ends.
    pub initiator: End,
    /// The other.
    pub acceptor: End,
    /// Its data; of concurrent ends those of the initiator come first.
    pub units: Vec<Unit>,
}

impl Connection {
    /// What `vector` is without its place; start and server are the caller's. Of waits what a replay makes of them by default
    /// stays: without the transit that was counted in them, from zero on.
    pub fn of(vector: &ConnectionVector) -> Connection {
        let nanos = |time: Option<Duration>| time.map(|time| time.as_nanos().min(MOST_VALUE - 1));
        let mut settled = vector.clone();
        settle(&mut settled, Waits::CORRECTED);
        settled.adus.retain(|adu| adu.bytes > 0);
        let transport = Transport::of(vector);
        let unit = |adu: &Adu| Unit {
            side: adu.side,
            bytes: adu.bytes.min(MOST_BYTES),
            wait_ns: nanos(adu.wait).unwrap_or(0),
            packets: if transport.is_datagrams() { adu.packets.unwrap_or(1).max(1) } else { 0 },
            length_ns: adu.seen.filter(|_| transport.is_datagrams()).map_or(0, |seen| seen.length().as_nanos()),
        };
        let mut units: Vec<Unit> = settled.adus.iter().take(MOST_ADUS).map(unit).collect();
        if transport.is_concurrent() {
            units.sort_by_key(|unit| unit.side);
        }
        let end = |side: Side| End {
            latency_ns: nanos(vector.ends[side].min_transit),
            lead_in_ns: nanos(settled.ends[side].lead_in),
            window_bytes: vector.window(side),
            mss_bytes: vector.ends[side].mss,
            loss_ppm: vector.ends[side].loss_rate().map(|rate| (rate * 1e6).round().clamp(0.0, 1e6) as u32),
        };
        let [initiator, acceptor] = Side::BOTH.map(end);
        let unplaced = initiator.latency_ns.is_none() && acceptor.latency_ns.is_none();
        Connection {
            at_ns: 0,
            transport,
            server: 0,
            port: vector.ends.acceptor.port,
            close: Closing::of(vector.close),
            close_wait_ns: nanos(settled.t_close),
            stated_rtt_ns: nanos(vector.stated_rtt.filter(|_| unplaced)),
            initiator,
            acceptor,
            units,
        }
    }

    /// Its vector, of which id, start, label, hosts and side are the caller's: waits as a monitor at the link would see them.
    pub fn vector(&self) -> ConnectionVector {
        let time = Duration::from_nanos;
        let transport = self.transport;
        let end = |end: &End, port| Endpoint {
            port,
            syn_seen: !transport.is_datagrams(),
            mss: end.mss_bytes,
            max_window: end.window_bytes,
            min_transit: end.latency_ns.map(time),
            lead_in: end.lead_in_ns.map(time),
            stated_loss_ppm: end.loss_ppm,
            ..Endpoint::default()
        };
        let mut vector = ConnectionVector {
            protocol: transport.protocol(),
            evidence: Evidence::Model,
            pattern: if transport.is_concurrent() { Pattern::Concurrent } else { Pattern::Sequential },
            complete: !transport.is_datagrams(),
            stated_rtt: self.stated_rtt_ns.map(time),
            ends: PerSide { initiator: end(&self.initiator, None), acceptor: end(&self.acceptor, self.port) },
            close: self.close.close(),
            t_close: self.close_wait_ns.map(time),
            adus: self.adus(),
            ..ConnectionVector::default()
        };
        if transport.is_datagrams() {
            vector.lifetime = vector.adus.last().and_then(|adu| adu.seen).map(|seen| seen.last);
            Side::BOTH.into_iter().for_each(|side| count_datagrams(&mut vector, side));
        }
        unsettle(&mut vector);
        vector
    }

    fn adus(&self) -> Vec<Adu> {
        let concurrent = self.transport.is_concurrent();
        let mut now = Duration::ZERO;
        let next = |at: usize, side| self.units.get(at + 1).filter(|next| !concurrent || next.side == side);
        let adu = |(at, unit): (usize, &Unit)| {
            let (first, wait) = (now, Duration::from_nanos(unit.wait_ns));
            let last = first + Duration::from_nanos(unit.length_ns);
            now = last + wait;
            let next = next(at, unit.side);
            Adu {
                side: unit.side,
                bytes: unit.bytes,
                missing_bytes: 0,
                wait: next.map(|_| wait),
                waiter: next.map_or(unit.side, |next| next.side),
                seen: self.transport.is_datagrams().then_some(Span { first, last }),
                packets: (unit.packets > 0).then_some(unit.packets),
            }
        };
        self.units.iter().enumerate().map(adu).collect()
    }

    /// Refuses what no connection is.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        if self.units.is_empty() || self.units.len() > MOST_ADUS {
            return Err(format!("has {} units (1 to {MOST_ADUS})", self.units.len()));
        }
        for (number, unit) in (1..).zip(&self.units) {
            let times = unit.wait_ns.max(unit.length_ns);
            if !(1..=MOST_BYTES).contains(&unit.bytes) || times >= MOST_VALUE {
                return Err(format!("unit {number}: {} bytes and {times} ns are not possible", unit.bytes));
            }
            if (unit.packets > 0) != self.transport.is_datagrams() {
                return Err(format!("unit {number}: packets are of datagrams, and theirs at least 1"));
            }
        }
        Ok(())
    }
}

/// Notes in `vector` the datagrams that `side` sends.
fn count_datagrams(vector: &mut ConnectionVector, side: Side) {
    let (mut packets, mut bytes, mut sizes) = (0u64, 0u64, None::<DatagramSizes>);
    for adu in vector.adus.iter().filter(|adu| adu.side == side) {
        let count = u64::from(adu.packets.unwrap_or(1)).max(1);
        let size = |bytes: u64| bytes.try_into().unwrap_or(u32::MAX);
        let (least, most) = (size(adu.bytes / count), size(adu.bytes.div_ceil(count)));
        let known = sizes.get_or_insert(DatagramSizes { smallest: least, largest: most });
        (known.smallest, known.largest) = (known.smallest.min(least), known.largest.max(most));
        (packets, bytes) = (packets + count, bytes + adu.bytes);
    }
    let end = &mut vector.ends[side];
    (end.packets, end.ip_bytes) = (Some(packets), Some(bytes + DATAGRAM_HEADERS * packets));
    end.datagram_sizes = sizes;
}

#[cfg(test)]
mod tests {
    use Side::{Acceptor as A, Initiator as I};

    use super::*;

    fn unit(side: Side, bytes: u64, wait_ms: u64) -> Unit {
        Unit { side, bytes, wait_ns: wait_ms * 1_000_000, packets: 0, length_ns: 0 }
    }

    fn connection(transport: Transport, units: Vec<Unit>) -> Connection {
        let end = |latency| End {
            latency_ns: Some(latency),
            lead_in_ns: Some(3_000_000),
            window_bytes: Some(200_000),
            mss_bytes: Some(1_448),
            loss_ppm: Some(500),
        };
        Connection {
            at_ns: 0,
            transport,
            server: 0,
            port: Some(443),
            close: Closing::FinAcceptor,
            close_wait_ns: Some(7_000_000),
            stated_rtt_ns: None,
            initiator: end(10_000_000),
            acceptor: end(30_000_000),
            units,
        }
    }

    #[test]
    fn a_vector_is_what_it_was_made_of() {
        let talk = vec![unit(I, 300, 20), unit(A, 5_000, 900), unit(A, 10, 40), unit(I, 80, 0)];
        let one = connection(Transport::Tcp, talk);
        assert_eq!(Connection::of(&one.vector()), one);
        // The monitor sees the server's transit in its wait, the client's in its own, and none between data of one end.
        let waits: Vec<_> =
            one.vector().adus.iter().map(|adu| adu.wait.map(|wait| wait.as_nanos() / 1_000_000)).collect();
        assert_eq!(waits, [Some(50), Some(900), Some(50), None]);
        let both = vec![unit(I, 300, 700), unit(I, 5, 0), unit(A, 10, 40), unit(A, 80, 0)];
        let one = connection(Transport::TcpConcurrent, both);
        assert_eq!(Connection::of(&one.vector()), one);
        let of = |side, bytes, wait, packets, length_ns| Unit { packets, length_ns, ..unit(side, bytes, wait) };
        let mut flow = connection(Transport::Udp, vec![of(I, 50, 20, 1, 0), of(A, 3_000, 0, 3, 4_000_000)]);
        (flow.initiator, flow.acceptor) = (End::default(), End::default());
        (flow.close, flow.close_wait_ns) = (Closing::NotSeen, None);
        assert_eq!(Connection::of(&flow.vector()), flow);
        assert_eq!(flow.vector().lifetime, Some(Duration::from_millis(24)));
    }

    #[test]
    fn what_is_no_connection_is_refused() {
        let check = |transport, units| connection(transport, units).check().unwrap_err();
        assert!(check(Transport::Tcp, vec![]).starts_with("has 0 units"));
        assert!(check(Transport::Tcp, vec![unit(I, 1, 0), unit(A, 0, 0)]).starts_with("unit 2: 0 bytes"));
        assert!(check(Transport::Udp, vec![unit(I, 1, 0)]).starts_with("unit 1: packets"));
    }
}
