//! A flow of datagrams, as an experiment has it.

use flowloom_core::play::Datagrams;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, IpVersion, LinkSide, Protocol, Side};

/// Added to a vector's number, numbers the flow of the datagrams that its initiator or its acceptor sent: neither connections nor sources
/// have such numbers.
const OF_VECTORS: [u64; 2] = [1 << 40, 1 << 41];

/// A flow of datagrams of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramFlow {
    /// Its number, which no connection has and no other flow.
    pub id: u64,
    /// Its class: a place in [`Config::classes`](crate::Config::classes).
    pub class: u16,
    /// The side of the bottleneck that its sender is on.
    pub from: LinkSide,
    /// What the way to the other end and back would take without any waiting; half of it each way.
    pub rtt: Duration,
    /// The version of IP of its packets, where a vector tells it.
    pub ip_version: Option<IpVersion>,
    /// What is sent when.
    pub datagrams: Datagrams,
}

impl DatagramFlow {
    /// The number of the flow of the datagrams that `sender` of the vector with this number sent.
    pub const fn id_of(vector: u64, sender: Side) -> u64 {
        OF_VECTORS[sender as usize] + vector
    }

    /// The vector and the end of it that sends the flow of this number; `None` of flows that no vector has.
    pub fn vector_of(id: u64) -> Option<(u64, Side)> {
        let sender = Side::BOTH.into_iter().rev().find(|side| id >= OF_VECTORS[*side as usize])?;
        Some((id - OF_VECTORS[sender as usize], sender))
    }

    /// As rules, paths and records take it.
    pub fn vector(&self) -> ConnectionVector {
        ConnectionVector {
            id: self.id,
            protocol: Protocol::Udp,
            start: self.datagrams.start,
            initiator_side: self.from,
            stated_rtt: Some(self.rtt),
            ip_version: self.ip_version,
            ..ConnectionVector::default()
        }
    }

    /// What of its datagrams is sent in a run: nothing after the window.
    pub fn within(&self, window: Duration) -> Datagrams {
        Datagrams { stop: self.datagrams.stop.min(Time::ZERO + window), ..self.datagrams.clone() }
    }
}
