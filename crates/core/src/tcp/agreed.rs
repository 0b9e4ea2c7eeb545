//! What two ends agree on in their SYNs, and what the peer is seen to have.

use super::config::Offers;
use super::segment::Segment;

/// What this end offers; once the SYNs have met, what both do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreed {
    pub(super) window_scaling: bool,
    pub(super) timestamps: bool,
    pub(super) sack: bool,
    pub(super) ecn: bool,
    /// Max(SND.WND): the largest window that the peer has offered, in bytes.
    pub(super) largest_window: u32,
}

impl Agreed {
    /// What is agreed on if the other end offers all of it too.
    pub(super) fn offer(offers: Offers) -> Agreed {
        let Offers { window_scaling, timestamps, sack, ecn } = offers;
        Agreed { window_scaling, timestamps, sack, ecn, largest_window: 0 }
    }

    /// What is left of it with this SYN or SYN/ACK. RFC 3168 section 6.1.1: ECE and CWR ask for ECN, ECE alone grants it.
    pub(super) fn restrict(&mut self, syn: &Segment) {
        self.window_scaling &= syn.window_scale.is_some();
        self.timestamps &= syn.timestamps.is_some();
        self.sack &= syn.sack_permitted;
        self.ecn &= syn.flags.ece() && syn.flags.cwr() != syn.flags.ack();
    }
}
