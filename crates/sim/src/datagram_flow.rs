//! A flow of datagrams, as an experiment has it.

use flowloom_core::play::Datagrams;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, IpVersion, LinkSide, Protocol};

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
