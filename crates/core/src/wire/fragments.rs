//! Packets that came in fragments, put together without their payload (RFC 791 section 3.2, RFC 8200 section 4.5).
//!
//! The fragment with offset 0 holds the headers; what it led to is kept until all bytes have passed, in whatever order.
//! The packet then counts once, at the time of the fragment that completed it.

use std::collections::BTreeMap;

use super::ip;
use super::packet::{Parsed, Vlan};
use super::set_aside::SetAside;
use crate::time::{Duration, Time};
use crate::units::LINK_HEADER_BYTES;

/// Packets waiting for fragments at once; beyond it the one that has waited longest is given up.
const MOST_TRAINS: usize = 4_096;

/// A fragment this much older or younger than the first of its packet to pass belongs to another one that has the
/// same identification (methods A.1.1). Differences count either way, so that a clock that jumps only loses packets.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Fragments of one packet: 64 KiB at an MTU of 276.
const MOST_PARTS: usize = 256;

/// How packets that came in fragments ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FragmentCounts {
    /// All bytes passed, and the packet counted.
    pub completed: u64,
    /// Some bytes have not passed (yet), so that nothing of it counted.
    pub incomplete: u64,
    /// Its fragments contradict each other, so that nothing of it counted.
    pub conflicting: u64,
}

/// What tells the packets apart that fragments belong to. The protocol counts in IPv4 only (RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    addresses: [u128; 2],
    identification: u32,
    protocol: Option<u8>,
    vlan: Option<Vlan>,
}

/// What the headers in a packet's first fragment led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lead {
    pub outcome: Result<Parsed, SetAside>,
    /// The transport header follows the fragmented packet's own IP header: its length is what all fragments make.
    pub direct: bool,
}

/// A packet on its way in fragments.
#[derive(Clone, Debug)]
struct Train {
    /// Its place in the order of first fragments.
    order: u64,
    /// When its first fragment to pass did.
    begun: Time,
    /// The lead, and how many bytes its fragment holds.
    lead: Option<(Lead, u32)>,
    /// First byte and end of each fragment, in that order, copies left out.
    parts: Vec<(u16, u16)>,
    /// Where the packet ends, once its last fragment has passed.
    end: Option<u16>,
    /// The fragments' share of the link, copies included.
    link_bytes: u32,
    conflicting: bool,
}

/// Packets waiting for fragments.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragments {
    trains: BTreeMap<Key, Train>,
    order: BTreeMap<u64, Key>,
    begun: u64,
    counts: FragmentCounts,
}

impl Fragments {
    pub fn counts(&self) -> FragmentCounts {
        let waiting = self.trains.values().filter(|train| !train.conflicting).count() as u64;
        FragmentCounts { incomplete: self.counts.incomplete + waiting, ..self.counts }
    }

    /// Takes in a fragment that passed at `time`; what the packet carries if this completes it. `lead` is there if its
    /// offset is 0.
    pub fn pass(
        &mut self,
        time: Time,
        vlan: Option<Vlan>,
        found: &ip::Header,
        part: ip::Part,
        lead: Option<Lead>,
    ) -> Result<Parsed, SetAside> {
        let (Ok(begin), Ok(end)) = (u16::try_from(part.offset), u16::try_from(part.offset.saturating_add(part.length)))
        else {
            return Err(SetAside::Malformed);
        };
        if part.length == 0 || (part.more && !part.length.is_multiple_of(8)) {
            return Err(SetAside::Malformed);
        }
        let key = Key { addresses: found.addresses, identification: part.identification, protocol: part.key, vlan };
        let lead = lead.map(|lead| (lead, part.length));
        if self.trains.get(&key).is_some_and(|train| train.is_another(time, lead)) {
            self.give_up(&key);
        }
        if !self.trains.contains_key(&key) {
            self.begin(key, time);
        }
        let train = self.trains.get_mut(&key).ok_or(SetAside::Malformed)?;
        train.link_bytes = train.link_bytes.saturating_add(found.total_length.saturating_add(LINK_HEADER_BYTES));
        train.lead = train.lead.or(lead);
        let ipv6 = part.key.is_none();
        if !train.conflicting && train.add(begin, end, !part.more, ipv6).is_err() {
            train.conflicting = true;
            self.counts.conflicting += 1;
        }
        if train.conflicting {
            return Err(SetAside::FragmentConflict);
        }
        let Some((outcome, order)) = train.completed().map(|outcome| (outcome, train.order)) else {
            return Err(waiting(found.protocol));
        };
        self.trains.remove(&key);
        self.order.remove(&order);
        self.counts.completed += 1;
        outcome
    }

    fn begin(&mut self, key: Key, time: Time) {
        if self.trains.len() >= MOST_TRAINS
            && let Some(oldest) = self.order.first_entry().map(|entry| *entry.get())
        {
            self.give_up(&oldest);
        }
        let train = Train {
            order: self.begun,
            begun: time,
            lead: None,
            parts: Vec::new(),
            end: None,
            link_bytes: 0,
            conflicting: false,
        };
        self.order.insert(self.begun, key);
        self.trains.insert(key, train);
        self.begun += 1;
    }

    fn give_up(&mut self, key: &Key) {
        if let Some(train) = self.trains.remove(key) {
            self.order.remove(&train.order);
            self.counts.incomplete += u64::from(!train.conflicting);
        }
    }
}

/// What a fragment counts as that does not complete its packet.
fn waiting(protocol: u8) -> SetAside {
    if protocol == ip::protocol::UDP { SetAside::UdpFragment } else { SetAside::Fragment }
}

impl Train {
    /// Whether a fragment is of another packet that has the same identification: it comes too late, or its headers
    /// differ.
    fn is_another(&self, time: Time, lead: Option<(Lead, u32)>) -> bool {
        let apart = time.since(self.begun).max(self.begun.since(time));
        let differs = matches!((self.lead, lead), (Some(known), Some(new)) if known != new);
        apart > LONGEST_WAIT || differs
    }

    /// Adds bytes; an error if they contradict those before.
    fn add(&mut self, begin: u16, end: u16, last: bool, ipv6: bool) -> Result<(), ()> {
        let beyond = |limit: u16| self.parts.iter().any(|part| part.1 > limit);
        match (self.end, last) {
            (Some(known), true) if known != end => return Err(()),
            (Some(known), false) if end > known => return Err(()),
            (None, true) if beyond(end) => return Err(()),
            (None, true) => self.end = Some(end),
            _ => {}
        }
        let at = match self.parts.binary_search(&(begin, end)) {
            Ok(_) => return Ok(()),
            Err(at) => at,
        };
        let before = at.checked_sub(1).is_some_and(|at| self.parts[at].1 > begin);
        let behind = self.parts.get(at).is_some_and(|part| part.0 < end);
        // RFC 5722: an IPv6 packet whose fragments overlap is no packet. IPv4 allows it (RFC 791).
        if (ipv6 && (before || behind)) || self.parts.len() == MOST_PARTS {
            return Err(());
        }
        self.parts.insert(at, (begin, end));
        Ok(())
    }

    /// What the packet carries, if all its bytes have passed.
    fn completed(&self) -> Option<Result<Parsed, SetAside>> {
        let (end, (lead, first_length)) = (self.end?, self.lead?);
        let mut reached = 0;
        for &(begin, end) in &self.parts {
            if begin > reached {
                return None;
            }
            reached = reached.max(end);
        }
        if reached < end {
            return None;
        }
        let further = u32::from(end).saturating_sub(first_length);
        Some(lead.outcome.map(|mut parsed| {
            if lead.direct {
                let (payload_bytes, link_bytes) = match &mut parsed {
                    Parsed::Segment(segment) => (&mut segment.payload_bytes, &mut segment.link_bytes),
                    Parsed::Datagram(datagram) => (&mut datagram.payload_bytes, &mut datagram.link_bytes),
                };
                *payload_bytes += further;
                *link_bytes = self.link_bytes;
            }
            parsed
        }))
    }
}
