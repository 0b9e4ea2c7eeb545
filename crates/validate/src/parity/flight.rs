//! How much was in flight, from the packets at the sender's link.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use flowloom_core::wire::{Address, Decoder, Parsed, Segment};
use flowloom_store::capture::{Captures, Input, Options};

use super::Problem;

/// The port of all acceptors in captures of runs.
const ACCEPTOR_PORT: u16 = 1023;

/// What a flow has sent and had acknowledged, in bytes from its first segment.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// The sequence number that is counted from.
    first: u32,
    sent: u64,
    acknowledged: u64,
}

impl Flow {
    /// A sequence number as an offset near `near`.
    fn offset(&self, number: u32, near: u64) -> u64 {
        let ahead = number.wrapping_sub(self.first).wrapping_sub(near as u32) as i32;
        near.saturating_add_signed(ahead.into())
    }
}

/// Bytes that all flows together have sent and not had acknowledged.
#[derive(Debug, Default)]
struct Flight {
    flows: BTreeMap<[Address; 2], Flow>,
    now: u64,
    most: u64,
}

impl Flight {
    fn take(&mut self, segment: &Segment) {
        if is_from_left(segment) {
            self.take_sent(segment);
        } else if segment.flags.ack() {
            self.take_acknowledged(segment);
        }
    }

    fn take_sent(&mut self, segment: &Segment) {
        let key = [segment.source, segment.destination];
        let flow = self.flows.entry(key).or_insert(Flow { first: segment.sequence, ..Flow::default() });
        let length = segment.payload_bytes + u32::from(segment.flags.syn());
        let end = flow.offset(segment.sequence.wrapping_add(length), flow.sent);
        if end > flow.sent {
            self.now += end - flow.sent;
            flow.sent = end;
            self.most = self.most.max(self.now);
        }
    }

    fn take_acknowledged(&mut self, segment: &Segment) {
        let Some(flow) = self.flows.get_mut(&[segment.destination, segment.source]) else { return };
        let end = flow.offset(segment.acknowledgement, flow.acknowledged).min(flow.sent);
        if end > flow.acknowledged {
            self.now -= end - flow.acknowledged;
            flow.acknowledged = end;
        }
    }
}

/// Whether an initiator on the left sent it, whose hosts are in 10.0.0.0/8 in captures of runs.
fn is_from_left(segment: &Segment) -> bool {
    let is_left = matches!(segment.source.host(), IpAddr::V4(address) if address.octets()[0] == 10);
    is_left && segment.destination.port == ACCEPTOR_PORT
}

/// The most bytes that flows of initiators on the left had sent and not had acknowledged at once.
///
/// # Errors
/// The capture cannot be read.
pub fn peak(capture: &Path) -> Result<u64, Problem> {
    let options = Options { sha256: false, ..Options::default() };
    let mut captures = Captures::open(&[Input::File(capture.to_owned())], options).map_err(Problem::new)?;
    let (mut decoder, mut flight) = (Decoder::default(), Flight::default());
    while let Some(packet) = captures.next_packet().map_err(Problem::new)? {
        if let Ok(Parsed::Segment(segment)) = packet.decode(&mut decoder) {
            flight.take(&segment);
        }
    }
    Ok(flight.most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::wire::Flags;
    use std::net::Ipv4Addr;

    fn segment(is_data: bool, sequence: u32, payload_bytes: u32, acknowledgement: u32) -> Segment {
        let ends = [
            Address::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 40_000),
            Address::new(IpAddr::V4(Ipv4Addr::new(172, 16, 0, 1)), 1023),
        ];
        let [source, destination] = if is_data { ends } else { [ends[1], ends[0]] };
        Segment {
            source,
            destination,
            sequence,
            acknowledgement,
            flags: Flags(Flags::ACK),
            window: 1000,
            payload_bytes,
            link_bytes: payload_bytes + 66,
            ip_id: None,
            mss: None,
            window_scale: None,
            timestamps: None,
            sack: false,
            sack_blocks: [(0, 0); 3],
            options_cut: false,
            vlan: None,
            from: None,
            macs: None,
        }
    }

    #[test]
    fn flight_is_what_was_sent_and_not_acknowledged() {
        let mut flight = Flight::default();
        // Numbers wrap round after the second segment.
        let first = u32::MAX - 1500;
        let at = |offset: u32| first.wrapping_add(offset);
        for number in 0..4 {
            flight.take(&segment(true, at(1000 * number), 1000, 0));
        }
        flight.take(&segment(false, 0, 0, at(3000)));
        // One that was sent again adds nothing; nor does an acknowledgement that comes twice.
        flight.take(&segment(true, at(2000), 1000, 0));
        flight.take(&segment(false, 0, 0, at(3000)));
        flight.take(&segment(true, at(4000), 1000, 0));
        assert_eq!((flight.most, flight.now), (4000, 2000));
    }
}
