//! One connection at the monitor.

use crate::time::{Duration, Time};
use crate::wire::Flags;
use crate::workload::{ConnectionVector, InitiatorRule, LinkSide, Pattern, PerSide, Side};

use super::Class;

/// What the monitor sees of a segment once its connection and sender are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Seen {
    /// Sequence number on the wire.
    pub sequence: u32,
    /// Acknowledgement number on the wire, meaningful if the ACK flag is set.
    pub acknowledgement: u32,
    /// Flags.
    pub flags: Flags,
    /// Window field, unscaled.
    pub window: u16,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// MSS option, on SYNs.
    pub mss: Option<u16>,
    /// Window scale option, on SYNs.
    pub window_scale: Option<u8>,
}

/// What a segment was to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Payload bytes seen for the first time.
    pub new_bytes: u32,
}

/// What a vector says of its connection that its packets do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// [`ConnectionVector::id`].
    pub id: u64,
    /// [`ConnectionVector::start`].
    pub start: Time,
    /// [`ConnectionVector::initiator_side`].
    pub initiator_side: LinkSide,
    /// [`ConnectionVector::initiator_rule`].
    pub initiator_rule: InitiatorRule,
}

/// One connection as the monitor sees it.
#[derive(Clone, Debug)]
pub struct Observer {
    start: Time,
    packets: PerSide<u64>,
}

impl Observer {
    /// An observer whose first segment passes at `start`. `quiet` is the longest silence inside an ADU (methods A.5.2).
    pub fn new(start: Time, quiet: Duration) -> Observer {
        let _ = quiet;
        Observer { start, packets: PerSide::default() }
    }

    /// Takes note of a segment `sender` sent, passing the monitor at `time`.
    pub fn handle_segment(&mut self, time: Time, sender: Side, seen: &Seen) -> Arrival {
        let _ = (time, seen);
        self.packets[sender] += 1;
        Arrival::default()
    }

    /// What the connection was. Consumes what was observed.
    pub fn finish(&mut self, identity: Identity) -> (Class, ConnectionVector) {
        let vector = ConnectionVector {
            id: identity.id,
            start: identity.start,
            initiator_side: identity.initiator_side,
            initiator_rule: identity.initiator_rule,
            pattern: Pattern::Sequential,
            complete: false,
            handshake_repeated: false,
            syn_rtt: None,
            ends: PerSide::default(),
            close: crate::workload::Close::NotSeen,
            t_close: None,
            adus: Vec::new(),
        };
        let _ = self.start;
        (Class::NoData, vector)
    }
}
