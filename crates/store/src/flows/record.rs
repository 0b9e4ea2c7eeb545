//! What a flow record says, whatever protocol brought it.

use std::fmt;

use flowloom_core::time::Time;
use flowloom_core::wire::{Address, Flags};
use flowloom_core::workload::Side;

/// The export protocols that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Version {
    /// NetFlow version 5.
    V5 = 0,
    /// NetFlow version 9 (RFC 3954).
    V9 = 1,
    /// IPFIX (RFC 7011), version number 10.
    Ipfix = 2,
}

impl Version {
    /// All of them, in the order counts are shown.
    pub const ALL: [Version; 3] = [Version::V5, Version::V9, Version::Ipfix];

    /// A stable name, as in JSON output.
    pub const fn name(self) -> &'static str {
        match self {
            Version::V5 => "netflow-v5",
            Version::V9 => "netflow-v9",
            Version::Ipfix => "ipfix",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::V5 => "NetFlow v5",
            Version::V9 => "NetFlow v9",
            Version::Ipfix => "IPFIX",
        })
    }
}

/// Who metered a flow: two of them may report the same packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObservationPoint {
    /// The position of the input it came from.
    pub input: u32,
    /// Number of the exporter, by its address where a capture of exporters tells it; see [`super::FlowFacts::exporters`].
    pub exporter: u32,
    /// Observation domain (IPFIX), source id (NetFlow v9), engine (v5).
    pub domain: u32,
    /// Metered as it entered (0) or left (1) the exporter, if stated (flowDirection, 61).
    pub direction: Option<u8>,
}

/// How the times of a record are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// The exporter states them.
    Stated,
    /// Stated in time since the exporter's start, which it does not state: its start is taken such that no flow of the first message
    /// ends after the message was sent. Differences of times are exact, all may be early by one delay of export.
    Estimated,
    /// The record has no times: both are the time it was exported.
    Export,
}

/// Of how many packets one was metered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// All were metered, as far as the exporter says.
    None,
    /// `sampled` in `population`.
    Share {
        /// Packets metered ...
        sampled: u64,
        /// ... of this many, which are more.
        population: u64,
    },
    /// The record names a sampler of which nothing is known.
    Unknown,
}

impl Sampling {
    /// `sampled` in `population`; `None` for shares that make no sense, or of all.
    pub fn share(sampled: u64, population: u64) -> Sampling {
        if sampled > 0 && population > sampled { Sampling::Share { sampled, population } } else { Sampling::None }
    }

    /// Metered packets stand for this many each, rounded up; `None` if unknown.
    pub fn interval(self) -> Option<u64> {
        match self {
            Sampling::None => Some(1),
            Sampling::Share { sampled, population } => Some(population.div_ceil(sampled)),
            Sampling::Unknown => None,
        }
    }

    /// What a metered count stands for. A count of unknown sampling stays as it is.
    pub fn undo(self, count: u64) -> u64 {
        match self {
            Sampling::None | Sampling::Unknown => count,
            Sampling::Share { sampled, population } => {
                let scaled = u128::from(count) * u128::from(population) / u128::from(sampled);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
        }
    }
}

/// Why a flow record was exported (IANA, flowEndReason).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// 1: no packet for the exporter's idle timeout.
    Idle,
    /// 2: the flow goes on; this is a slice of it.
    Active,
    /// 3: the exporter saw its end, such as a FIN.
    End,
    /// 4: something outside forced it.
    Forced,
    /// 5: the exporter needed the room.
    Resources,
}

impl EndReason {
    /// The reason with `number`.
    pub fn new(number: u64) -> Option<EndReason> {
        Some(match number {
            1 => EndReason::Idle,
            2 => EndReason::Active,
            3 => EndReason::End,
            4 => EndReason::Forced,
            5 => EndReason::Resources,
            _ => return None,
        })
    }
}

/// What happened to a connection at a firewall (IANA, firewallEvent).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FirewallEvent {
    /// 1: opened; the record has no counts yet.
    Created,
    /// 2: over.
    Deleted,
    /// 3: not let through.
    Denied,
    /// 4, 5 and others: still there.
    Other,
}

/// What was counted in one direction of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// IP bytes, headers included.
    pub octets: Option<u64>,
    /// Packets.
    pub packets: Option<u64>,
    /// Payload above the transport header, where the exporter counts that (initiatorOctets, responderOctets).
    pub payload: Option<u64>,
    /// Union of the TCP flags.
    pub flags: Option<Flags>,
}

impl Counters {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Counters::default()
    }

    /// Whether it counts anything.
    pub fn has_packets(&self) -> bool {
        [self.packets, self.octets, self.payload].into_iter().flatten().any(|count| count > 0)
    }
}

/// A flow record: what an exporter counted of one 5-tuple during a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// What brought it.
    pub version: Version,
    /// IP protocol number.
    pub protocol: u8,
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// First packet, since the Unix epoch.
    pub first: Time,
    /// Last packet, since the Unix epoch.
    pub last: Time,
    /// How these two are known.
    pub clock: Clock,
    /// When it was exported, since the Unix epoch.
    pub exported: Time,
    /// From source to destination, as metered (not scaled by [`FlowRecord::sampling`]).
    pub forward: Counters,
    /// From destination to source, if the record tells of both (RFC 5103, firewalls).
    pub reverse: Option<Counters>,
    /// The counts run from the start of the flow instead of from the record before.
    pub totals: bool,
    /// Which end the source was, if the exporter names it.
    pub source_side: Option<Side>,
    /// Why it was exported.
    pub end_reason: Option<EndReason>,
    /// What the firewall did, if it is a firewall's record.
    pub event: Option<FirewallEvent>,
    /// Of how many packets one was metered.
    pub sampling: Sampling,
    /// Who metered it.
    pub observed: ObservationPoint,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_is_undone_by_its_share() {
        assert_eq!(Sampling::share(1, 100).undo(40), 4_000);
        assert_eq!(Sampling::share(2, 3).undo(40), 60);
        assert_eq!(Sampling::share(2, 3).interval(), Some(2));
        assert_eq!(Sampling::share(1, u64::MAX).undo(u64::MAX), u64::MAX, "no overflow");
        for all in [Sampling::share(0, 5), Sampling::share(5, 5), Sampling::share(7, 5), Sampling::share(1, 0)] {
            assert_eq!(all, Sampling::None);
        }
    }
}
