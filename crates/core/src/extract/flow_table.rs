//! Which connection or flow a packet belongs to: one hash lookup per packet.

use hashbrown::HashTable;

use super::connection::{Connection, Single};
use super::flow::Flow;
use super::key::Key;
use super::slab::Slab;
use super::tombstone::Tombstone;

/// What a key leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A connection.
    Live(u32),
    /// A connection of one packet so far.
    Single(u32),
    /// A closed connection whose vector is made.
    Gone(u32),
    /// A flow of datagrams.
    Flow(u32),
}

/// A [`Place`] and the hash of its key in eight bytes: most other keys are told apart without looking at them, and the
/// index grows without looking at any.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    place: u32,
}

impl Entry {
    const KIND_SHIFT: u32 = 30;

    fn new(hash: u32, place: Place) -> Entry {
        let (kind, at) = match place {
            Place::Live(at) => (0, at),
            Place::Single(at) => (1, at),
            Place::Gone(at) => (2, at),
            Place::Flow(at) => (3, at),
        };
        Entry { hash, place: kind << Self::KIND_SHIFT | at }
    }

    fn place(self) -> Place {
        let at = self.place & ((1 << Self::KIND_SHIFT) - 1);
        match self.place >> Self::KIND_SHIFT {
            0 => Place::Live(at),
            1 => Place::Single(at),
            2 => Place::Gone(at),
            _ => Place::Flow(at),
        }
    }

    /// The table takes the place of an entry from the lower bits of its hash and a tag from the upper ones.
    fn spread(hash: u32) -> u64 {
        u64::from(hash) << 32 | u64::from(hash)
    }
}

/// The connections and flows of a part by key, at stable places. Never iterated in hash order.
#[derive(Debug)]
pub(super) struct FlowTable {
    index: HashTable<Entry>,
    /// The most entries it ever had.
    most_entries: usize,
    pub live: Slab<Connection>,
    pub single: Slab<Single>,
    pub gone: Slab<Tombstone>,
    pub flows: Slab<Flow>,
}

impl FlowTable {
    pub fn new() -> FlowTable {
        FlowTable {
            index: HashTable::new(),
            most_entries: 0,
            live: Slab::new(),
            single: Slab::new(),
            gone: Slab::new(),
            flows: Slab::new(),
        }
    }

    #[inline]
    fn key(&self, place: Place) -> Option<&Key> {
        match place {
            Place::Live(at) => self.live.get(at).map(|connection| &connection.key),
            Place::Single(at) => self.single.get(at).map(|single| &single.packet.key),
            Place::Gone(at) => self.gone.get(at).map(|gone| &gone.key),
            Place::Flow(at) => self.flows.get(at).map(|flow| &flow.key),
        }
    }

    /// What `key` leads to, looked for at the `likely` place first.
    #[inline]
    pub fn find(&self, key: &Key, hash: u32, likely: Option<Place>) -> Option<Place> {
        // No key is at two places, so that one that is there need not be looked for.
        if likely.and_then(|place| self.key(place)).is_some_and(|other| other == key) {
            return likely;
        }
        let same = |entry: &Entry| entry.hash == hash && self.key(entry.place()).is_some_and(|other| other == key);
        self.index.find(Entry::spread(hash), same).map(|entry| entry.place())
    }

    /// What a key with this hash may lead to. It reads the index only.
    #[inline]
    pub fn likely(&self, hash: u32) -> Option<Place> {
        self.index.find(Entry::spread(hash), |entry| entry.hash == hash).map(|entry| entry.place())
    }

    /// Makes a key that leads nowhere lead to `place`.
    pub fn enter(&mut self, hash: u32, place: Place) {
        let rehash = |entry: &Entry| Entry::spread(entry.hash);
        self.index.insert_unique(Entry::spread(hash), Entry::new(hash, place), rehash);
        self.most_entries = self.most_entries.max(self.index.len());
    }

    /// Makes the key with `hash` that leads to `from` lead to `to`, or nowhere.
    pub fn lead(&mut self, hash: u32, from: Place, to: Option<Place>) {
        let old = Entry::new(hash, from);
        if let Ok(mut found) = self.index.find_entry(Entry::spread(hash), |entry| entry.place == old.place) {
            match to {
                Some(to) => *found.get_mut() = Entry::new(hash, to),
                None => drop(found.remove()),
            }
        }
    }

    /// Bytes in use, heaps of connections and flows not counted. What ends for lack of memory must not depend on how the
    /// hash falls, so the index counts with what it may have grown to: the next power of two above eight sevenths of its
    /// entries, twice that if it grew because of removed ones.
    pub fn bytes(&self) -> u64 {
        let slabs = self.live.len() * Slab::<Connection>::BYTES
            + self.single.len() * Slab::<Single>::BYTES
            + self.gone.len() * Slab::<Tombstone>::BYTES
            + self.flows.len() * Slab::<Flow>::BYTES;
        let buckets = (self.most_entries * 8 / 7).next_power_of_two() * 2;
        (slabs + buckets * (size_of::<Entry>() + 1)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::{PARTS, seeds};
    use super::*;
    use crate::wire::{Address, Vlan};

    #[test]
    fn secrets_change_hashes_and_not_parts() {
        let key = |port: u16| Key { ips: [0, 0xffff_0a00_0001, 0, 0xffff_0a00_0002], ports: [80, port], tag: 0 };
        let (one, other) = (seeds(1), seeds(2));
        assert!((0..100).all(|port| key(port).hash(&one) != key(port).hash(&other)));
        let mut parts = [0; PARTS];
        (0..16_000).for_each(|port| parts[key(port).part()] += 1);
        assert!(parts.iter().all(|keys| (800..1200).contains(keys)), "{parts:?}");
    }

    #[test]
    fn a_key_of_ipv6_depends_on_all_of_it() {
        let seeds = seeds(7);
        let key = |ips: [u64; 4]| Key { ips, ports: [1, 2], tag: 0 };
        let base = [0x2001_0db8_0000_0001, 1, 0x2001_0db8_0000_0002, 2];
        for at in 0..4 {
            let mut changed = base;
            changed[at] ^= 1;
            assert!(key(base) != key(changed));
            assert_ne!(key(base).hash(&seeds), key(changed).hash(&seeds));
        }
        let tagged = Key { tag: 5, ..key(base) };
        for other in [tagged, key(base).datagrams()] {
            assert!(other != key(base) && other.hash(&seeds) != key(base).hash(&seeds));
            assert_eq!(other.part(), key(base).part());
        }
    }

    #[test]
    fn a_key_of_datagrams_keeps_its_vlan() {
        let address = |port| Address { ip: 0xffff_0a00_0001, port };
        for vlan in [None, Vlan::new([7]), Vlan::new([0xfff, 0xffe])] {
            let (key, swapped) = Key::of(address(2), address(1), vlan);
            assert!(swapped && !key.is_of_datagrams() && key.datagrams().is_of_datagrams());
            assert_eq!((key.vlan(), key.datagrams().vlan()), (vlan, vlan));
        }
    }
}
