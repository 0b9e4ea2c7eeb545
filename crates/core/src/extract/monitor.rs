//! Where on the path the monitor stood.

use crate::workload::{LinkSide, Side};

/// The monitor's position (methods M.2 for the sides of the link). It decides what a segment that passes twice or late
/// can mean (methods A.8), and what a side without a transit sample is taken for (methods A.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Position {
    /// Between the ends, as far as anyone knows.
    #[default]
    Mid,
    /// At the hosts on the left side of the link.
    Left,
    /// At the hosts on the right side of it.
    Right,
    /// At the initiators: a capture made on a client.
    Initiator,
    /// At the acceptors: a capture made on a server.
    Acceptor,
}

impl Position {
    /// The end the monitor stands at, of a connection whose initiator is on `initiator_side`.
    pub fn near(self, initiator_side: LinkSide) -> Option<Side> {
        let on = |side: LinkSide| if initiator_side == side { Side::Initiator } else { Side::Acceptor };
        match self {
            Position::Mid => None,
            Position::Left => Some(on(LinkSide::Left)),
            Position::Right => Some(on(LinkSide::Right)),
            Position::Initiator => Some(Side::Initiator),
            Position::Acceptor => Some(Side::Acceptor),
        }
    }
}
