//! What a set of vectors comes to, where nobody counted the packets it was made from.

use flowloom_core::extract::KeptPayload;
use flowloom_core::sketch::Sketch;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Pattern, PerSide, Protocol, Side};

use super::notes::Notes;
use crate::workload::{
    CaptureFacts, ConnectionCounts, DatagramFacts, PayloadFacts, Provenance, TrafficFacts, WorkloadFacts,
};

/// Adds up vectors in any order.
#[derive(Default)]
pub struct Tally {
    connections: ConnectionCounts,
    payload: KeptPayload,
    datagrams: DatagramFacts,
    vectors: u64,
    /// Packets and their IP bytes, `None` once a vector did not say.
    packets: Option<(u64, u64)>,
    span: Option<(Time, Time)>,
    rtt: Sketch,
}

impl Tally {
    /// Counts `vector`, which begins where its file says.
    pub fn add(&mut self, vector: &ConnectionVector) {
        let before = self.vectors;
        self.vectors += 1;
        match vector.protocol {
            Protocol::Tcp => self.add_connection(vector),
            Protocol::Udp => self.datagrams.udp.add(vector),
            Protocol::Quic => self.datagrams.quic.add(vector),
        }
        let of_ends = Side::BOTH.map(|side| vector.ends[side].packets.zip(vector.ends[side].ip_bytes));
        self.packets = match (self.packets, of_ends) {
            (sum, [Some(initiator), Some(acceptor)]) if before == 0 || sum.is_some() => {
                let (packets, bytes) = sum.unwrap_or_default();
                let of_ends = [initiator, acceptor].into_iter();
                Some(
                    of_ends
                        .fold((packets, bytes), |sum, end| (sum.0.saturating_add(end.0), sum.1.saturating_add(end.1))),
                )
            }
            _ => None,
        };
        let (start, end) = (vector.start, vector.start + known_length(vector));
        let (first, last) = self.span.unwrap_or((start, end));
        self.span = Some((first.min(start), last.max(end)));
    }

    fn add_connection(&mut self, vector: &ConnectionVector) {
        let counts = &mut self.connections;
        counts.total += 1;
        match vector.pattern {
            Pattern::Sequential => counts.sequential += 1,
            Pattern::Concurrent => counts.concurrent += 1,
        }
        if vector.complete {
            counts.complete += 1;
        } else {
            counts.incomplete += 1;
        }
        if let Some(rtt) = vector.min_rtt() {
            self.rtt.add(rtt.as_nanos());
        }
        self.payload.add_with_clock(vector);
    }

    /// When the first vector begins; `None` without vectors.
    pub fn first(&self) -> Option<Time> {
        self.span.map(|(first, _)| first)
    }

    /// What a workload of these vectors says about itself when its starts are counted from `origin`. `notes` are those
    /// of the files.
    pub fn facts(&self, origin: Time, provenance: Provenance, notes: &[Notes]) -> WorkloadFacts {
        let mut connections = self.connections;
        let mut set_aside = std::collections::BTreeMap::new();
        for (reason, count) in notes.iter().flat_map(|notes| &notes.set_aside) {
            *set_aside.entry((*reason).to_owned()).or_default() += count;
            connections.total += count;
            match *reason {
                "connections-no-data" => connections.no_data += count,
                "connections-one-way" => connections.one_way += count,
                _ => connections.total -= count,
            }
        }
        let (packets, bytes) = self.packets.unwrap_or_default();
        let replayable = connections.sequential + connections.concurrent;
        let (payload_bytes, payload) = match notes {
            [Notes { payload: Some(stated), .. }] => {
                let captured = PerSide { initiator: stated.initiator.captured, acceptor: stated.acceptor.captured };
                (captured.into(), PayloadFacts { stated: stated.total().missing > 0, ..*stated })
            }
            _ => (self.payload.captured_bytes().into(), self.payload.into()),
        };
        let datagram_flows = self.datagrams.udp.flows + self.datagrams.quic.flows;
        WorkloadFacts {
            provenance,
            capture: CaptureFacts {
                packets,
                bytes,
                duration_ns: self.span.map_or(0, |(_, last)| last.since(origin).as_nanos()),
                connections,
                payload_bytes,
                payload,
                datagrams: self.datagrams,
                set_aside,
                ..CaptureFacts::default()
            },
            connections: replayable + datagram_flows,
            datagram_flows,
            connections_without_rtt: replayable - self.rtt.count(),
            rtt_median_ns: self.rtt.empirical().quantile(0.5),
            traffic: TrafficFacts::default(),
        }
    }
}

/// How long `vector` is known to have lasted: as stated, or as long as its waits took.
fn known_length(vector: &ConnectionVector) -> Duration {
    let of = |side: Side| {
        let own = vector.adus.iter().filter(|adu| adu.side == side || vector.pattern == Pattern::Sequential);
        let waits: Duration = own.filter_map(|adu| adu.wait).sum();
        waits + vector.ends[side].fin_wait.filter(|_| vector.pattern == Pattern::Concurrent).unwrap_or_default()
    };
    let waits = of(Side::Initiator).max(of(Side::Acceptor)) + vector.t_close.unwrap_or_default();
    let seen = vector.data_span().map(|span| span.last + vector.t_close.unwrap_or_default());
    waits.max(vector.lifetime.unwrap_or_default()).max(seen.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use flowloom_core::workload::Adu;

    use super::*;

    #[test]
    fn lengths_are_the_longest_that_is_known() {
        let secs = Duration::from_secs;
        let adu = |side, wait: Option<u64>| Adu {
            side,
            bytes: 1,
            missing_bytes: 0,
            wait: wait.map(secs),
            waiter: side,
            seen: None,
            packets: None,
        };
        let mut vector = ConnectionVector {
            adus: vec![adu(Side::Initiator, Some(2)), adu(Side::Acceptor, None)],
            t_close: Some(secs(3)),
            ..ConnectionVector::default()
        };
        assert_eq!(known_length(&vector), secs(5));
        vector.lifetime = Some(secs(9));
        assert_eq!(known_length(&vector), secs(9));
        vector.pattern = Pattern::Concurrent;
        vector.lifetime = None;
        vector.t_close = None;
        vector.ends.acceptor.fin_wait = Some(secs(4));
        assert_eq!(known_length(&vector), secs(4), "each side waits for itself");
    }

    #[test]
    fn what_one_vector_does_not_say_is_not_known_of_all() {
        let mut vector = ConnectionVector { start: Time::from_nanos(50), ..ConnectionVector::default() };
        for side in Side::BOTH {
            (vector.ends[side].packets, vector.ends[side].ip_bytes) = (Some(2), Some(100));
        }
        let mut tally = Tally::default();
        tally.add(&vector);
        vector.start = Time::from_nanos(20);
        tally.add(&vector);
        let mut notes = Notes::default();
        notes.set_aside("connections-no-data");
        notes.set_aside("connections-neither-tcp-nor-udp");
        let origin = tally.first().unwrap();
        let facts = tally.facts(origin, Provenance::default(), &[notes]);
        let CaptureFacts { packets, bytes, duration_ns, connections, .. } = facts.capture;
        assert_eq!((packets, bytes, duration_ns), (8, 400, 30));
        assert_eq!((connections.total, connections.no_data, facts.connections), (3, 1, 2));
        assert_eq!((facts.connections_without_rtt, facts.rtt_median_ns), (2, None));
        vector.ends.acceptor.packets = None;
        tally.add(&vector);
        vector.ends.acceptor.packets = Some(2);
        tally.add(&vector);
        let facts = tally.facts(origin, Provenance::default(), &[]);
        assert_eq!((facts.capture.packets, facts.capture.bytes), (0, 0));
    }
}
