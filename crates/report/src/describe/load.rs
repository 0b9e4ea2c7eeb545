//! Offered load of each direction of the link (methods A.11).

use flowloom_core::record::Series;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, LinkSide, Protocol};
use flowloom_models::offered;
use flowloom_store::workload::TrafficFacts;
use serde::Serialize;

use super::variable::{Distribution, Sketches, Variable};

/// What loads over time are told of.
const SECOND: Duration = Duration::from_secs(1);
/// Bytes by the side of the link they come from: of connections, and of flows of datagrams, which are not replayed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoadBytes {
    payload: [u64; 2],
    wire: [u64; 2],
    datagrams: [u64; 2],
}

impl LoadBytes {
    pub fn add(&mut self, vector: &ConnectionVector) {
        for (from, offered) in offered(vector).into_iter().enumerate() {
            if vector.protocol == Protocol::Tcp {
                self.payload[from] += offered.payload;
                self.wire[from] += offered.wire;
            } else {
                self.datagrams[from] += offered.wire;
            }
        }
    }

    /// Over `length`; `traffic` is what the capture's packets took on the link.
    pub fn finish(&self, length: Duration, traffic: &TrafficFacts) -> Load {
        let rate = |bytes: u64| (!length.is_zero()).then(|| 8.0 * bytes as f64 / length.as_secs_f64());
        let total = |series: &Series| series.total().bytes;
        let sides = [LinkSide::Left, LinkSide::Right];
        let replayed = sides.map(|side| total(traffic.replayed.from(side)));
        let others = sides.map(|side| total(&traffic.left_out(side, false)));
        let known = replayed.iter().chain(&others).any(|bytes| *bytes > 0);
        let direction = |from: LinkSide| {
            let measured = known.then_some([replayed[from as usize], others[from as usize]]);
            DirectionLoad {
                payload_bytes: self.payload[from as usize],
                payload_bits_per_second: rate(self.payload[from as usize]),
                estimated_wire_bits_per_second: rate(self.wire[from as usize]),
                measured_replayed_bits_per_second: measured.and_then(|[replayed, _]| rate(replayed)),
                estimated_datagram_bits_per_second: rate(self.datagrams[from as usize]),
                measured_bits_per_second: measured.and_then(|[replayed, others]| rate(replayed + others)),
            }
        };
        Load { left_to_right: direction(LinkSide::Left), right_to_left: direction(LinkSide::Right) }
    }
}

/// Bits per second of each direction in each second with packets of it, all TCP of the original and the UDP that was read.
pub(super) fn per_second(traffic: &TrafficFacts) -> Vec<Distribution> {
    let mut sketches = Sketches::default();
    for (variable, from) in [(Variable::LoadFromLeft, LinkSide::Left), (Variable::LoadFromRight, LinkSide::Right)] {
        let mut seconds = Series::new(SECOND);
        for series in [traffic.sent(from, true), traffic.set_aside.from(from).clone()] {
            let width = series.width().as_nanos();
            series.bins().for_each(|&(bin, traffic)| seconds.add(Time::from_nanos(bin.saturating_mul(width)), traffic));
        }
        sketches.add(variable, seconds.bins().map(|(_, traffic)| traffic.bytes.saturating_mul(8)));
    }
    sketches.distributions(&[Variable::LoadFromLeft, Variable::LoadFromRight])
}

/// Offered load of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Load {
    /// From left (the inside).
    pub left_to_right: DirectionLoad,
    /// From right.
    pub right_to_left: DirectionLoad,
}

/// Offered load of one direction of the link; null where the length or the traffic of the original is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DirectionLoad {
    /// Payload of the connections.
    pub payload_bytes: u64,
    /// The same over the length of the original.
    pub payload_bits_per_second: Option<f64>,
    /// With headers, acknowledgements, handshakes and closes, as estimated from the connections (methods A.11).
    pub estimated_wire_bits_per_second: Option<f64>,
    /// What the packets of the connections took on the original's link.
    pub measured_replayed_bits_per_second: Option<f64>,
    /// Flows of datagrams with their headers.
    pub estimated_datagram_bits_per_second: Option<f64>,
    /// What all its TCP packets took, and those of UDP that were read.
    pub measured_bits_per_second: Option<f64>,
}

#[cfg(test)]
mod tests {
    use flowloom_core::record::Traffic;
    use flowloom_core::workload::{Adu, Side};

    use super::*;

    fn adu(side: Side, bytes: u64) -> Adu {
        Adu { side, bytes, missing_bytes: 0, wait: None, waiter: side, seen: None, packets: None }
    }

    #[test]
    fn loads_are_told_by_the_second() {
        let mut traffic = TrafficFacts::default();
        let packet = |bytes| Traffic { packets: 1, bytes, payload_bytes: 0 };
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        traffic.replayed.from_left.add(at(0), packet(100));
        traffic.set_aside.from_left.add(at(990), packet(50));
        traffic.replayed.from_left.add(at(5_000), packet(1_000));
        let [left] = &per_second(&traffic)[..] else { panic!("nothing came from the right") };
        assert_eq!(
            (left.name, left.n, left.quantile(0.0), left.max),
            ("from_left_bits_per_second", 2, 1_200.0, 8_000.0)
        );
    }

    #[test]
    fn datagrams_are_no_load_of_connections() {
        let mut flow = ConnectionVector {
            protocol: Protocol::Quic,
            adus: vec![adu(Side::Initiator, 1_200), adu(Side::Acceptor, 5_000)],
            ..ConnectionVector::default()
        };
        flow.ends.acceptor.packets = Some(4);
        let mut bytes = LoadBytes::default();
        bytes.add(&flow);
        let load = bytes.finish(Duration::from_secs(8), &TrafficFacts::default());
        // Of the initiator nobody counted the packets: one for each data unit.
        assert_eq!(load.left_to_right.estimated_datagram_bits_per_second, Some(1_200.0 + 42.0));
        assert_eq!(load.right_to_left.estimated_datagram_bits_per_second, Some(5_000.0 + 4.0 * 42.0));
        for direction in [load.left_to_right, load.right_to_left] {
            assert_eq!((direction.payload_bytes, direction.estimated_wire_bits_per_second), (0, Some(0.0)));
        }
    }

    #[test]
    fn a_connection_loads_both_directions_of_the_link() {
        let vector = ConnectionVector {
            initiator_side: LinkSide::Right,
            adus: vec![adu(Side::Initiator, 329), adu(Side::Acceptor, 3403)],
            ..ConnectionVector::default()
        };
        let mut bytes = LoadBytes::default();
        bytes.add(&vector);
        assert_eq!(bytes.payload, [3403, 329]);
        // Acceptor: 3 data packets, 3 of control; initiator: 1, an acknowledgement for two packets, and 4.
        assert_eq!(bytes.wire, [3403 + 6 * 54, 329 + 6 * 54], "as `model` says of the same workload");
        let load = bytes.finish(Duration::from_secs(2), &TrafficFacts::default());
        assert_eq!(load.right_to_left.payload_bits_per_second, Some(4.0 * 329.0));
        assert_eq!(load.right_to_left.measured_bits_per_second, None);
        assert_eq!(
            bytes.finish(Duration::ZERO, &TrafficFacts::default()).left_to_right.estimated_wire_bits_per_second,
            None
        );
    }
}
