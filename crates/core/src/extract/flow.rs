//! A flow of datagrams of a capture: its observer, its roles.

use crate::record::Traffic;
use crate::time::{Duration, Time};

use super::connection::{Roles, Vlans};
use super::counts::{Fate, Tally};
use super::datagrams::DatagramObserver;
use super::front::Packet;
use super::key::Key;

/// The datagrams of one 5-tuple.
#[derive(Debug)]
pub(super) struct Flow {
    pub key: Key,
    pub hash: u32,
    /// The number of the packet that opened it.
    pub number: u64,
    /// The start of its vector.
    pub start: Time,
    pub roles: Roles,
    vlans: Vlans,
    /// Bytes of heap when last looked at.
    pub heap_bytes: u32,
    pub observer: DatagramObserver,
}

impl Flow {
    /// A flow that `packet` opens and is yet to be handed.
    pub fn new(packet: &Packet, roles: Roles, quiet: Duration) -> Flow {
        Flow {
            key: packet.key,
            hash: packet.hash,
            number: packet.number,
            start: packet.start,
            roles,
            vlans: Vlans::default(),
            heap_bytes: 0,
            observer: DatagramObserver::new(packet.time, quiet),
        }
    }

    /// Takes in a packet of its 5-tuple.
    pub fn handle(&mut self, packet: &Packet, tally: &mut Tally) {
        tally.counts.vlan_changes += u64::from(self.vlans.note(packet));
        let sender = self.roles.side(packet.sender_second);
        self.observer.handle_datagram(packet.time, sender, &packet.seen, packet.quic);
        let (bytes, payload_bytes) = (u64::from(packet.link_bytes), u64::from(packet.seen.payload_bytes));
        let from = self.roles.from(packet.sender_second);
        // Empty ones are no data, which a replay does not send.
        let fate = if payload_bytes == 0 { Fate::SetAside } else { Fate::Datagrams };
        tally.series.add(fate, from, packet.bin, Traffic { packets: 1, bytes, payload_bytes });
    }

    /// Bytes on the heap, now.
    pub fn heap(&self) -> u32 {
        u32::try_from(self.observer.heap_bytes()).unwrap_or(u32::MAX)
    }
}
