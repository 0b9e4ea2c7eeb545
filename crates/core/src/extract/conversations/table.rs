//! Open conversations by key, and in the order in which they last spoke.

use hashbrown::HashTable;

use super::super::key::{self, Seeds};
use super::application::Grouping;
use crate::wire::Address;

/// What the packets of a conversation have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The addresses; without ports where conversations of a host pair are one.
    pair: key::Key,
    grouping: Grouping,
}

impl Key {
    /// Of the packets between two transport addresses.
    pub fn association(one: Address, other: Address, udp: bool) -> Key {
        let (pair, _) = key::Key::of(one, other, None);
        Key { pair: if udp { pair.datagrams() } else { pair }, grouping: Grouping::Association }
    }

    /// Of the packets of a grouped application between two hosts.
    pub fn hosts(one: Address, other: Address, grouping: Grouping) -> Key {
        let (pair, _) = key::Key::of(Address { port: 0, ..one }, Address { port: 0, ..other }, None);
        Key { pair, grouping }
    }

    /// Its hash. A host pair has one key for each grouping, too few to keep apart.
    fn digest(&self, seeds: &Seeds) -> u64 {
        self.pair.mix(seeds)
    }
}

/// No entry.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<T> {
    key: Key,
    value: T,
    /// The entry used just before this one was last used, and just after.
    before: u32,
    after: u32,
}

/// Entries by key, at stable indices, in the order in which they were last used. Never iterated in hash order.
#[derive(Debug)]
pub(super) struct Table<T> {
    seeds: Seeds,
    index: HashTable<u32>,
    slots: Vec<Option<Slot<T>>>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
}

impl<T> Table<T> {
    /// An empty one. `secret` makes the places of entries unpredictable.
    pub fn new(secret: u64) -> Table<T> {
        let (seeds, index) = (key::seeds(secret), HashTable::new());
        Table { seeds, index, slots: Vec::new(), free: Vec::new(), oldest: NONE, newest: NONE }
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Index of the entry of `key`.
    pub fn find(&self, key: &Key) -> Option<u32> {
        let same = |at: &u32| self.slots[*at as usize].as_ref().is_some_and(|slot| slot.key == *key);
        self.index.find(key.digest(&self.seeds), same).copied()
    }

    /// The entry at `at`.
    pub fn get(&self, at: u32) -> Option<&T> {
        Some(&self.slots.get(at as usize)?.as_ref()?.value)
    }

    /// The entry at `at`, which becomes the one used last.
    pub fn touch(&mut self, at: u32) -> Option<&mut T> {
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
        Some(&mut self.slots.get_mut(at as usize)?.as_mut()?.value)
    }

    /// The entry that was not used for longest.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Adds an entry for a key that has none; it is the one used last.
    pub fn insert(&mut self, key: Key, value: T) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 conversations at once: their number is limited")
        });
        self.slots[at as usize] = Some(Slot { key, value, before: NONE, after: NONE });
        let (slots, seeds) = (&self.slots, &self.seeds);
        let rehash = |at: &u32| slots[*at as usize].as_ref().map_or(0, |slot| slot.key.digest(seeds));
        self.index.insert_unique(key.digest(seeds), at, rehash);
        self.link(at);
        at
    }

    /// Removes the entry at `at`.
    pub fn remove(&mut self, at: u32) -> Option<T> {
        self.unlink(at);
        let slot = self.slots.get_mut(at as usize)?.take()?;
        if let Ok(found) = self.index.find_entry(slot.key.digest(&self.seeds), |other| *other == at) {
            found.remove();
        }
        self.free.push(at);
        Some(slot.value)
    }

    fn slot(&mut self, at: u32) -> Option<&mut Slot<T>> {
        self.slots.get_mut(at as usize)?.as_mut()
    }

    fn link(&mut self, at: u32) {
        let newest = self.newest;
        if let Some(slot) = self.slot(at) {
            (slot.before, slot.after) = (newest, NONE);
        }
        match self.slot(newest) {
            Some(slot) => slot.after = at,
            None => self.oldest = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: u32) {
        let Some((before, after)) = self.slot(at).map(|slot| (slot.before, slot.after)) else { return };
        match self.slot(before) {
            Some(slot) => slot.after = after,
            None => self.oldest = after,
        }
        match self.slot(after) {
            Some(slot) => slot.before = before,
            None => self.newest = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn key(number: u16) -> Key {
        let host = |last| Address::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), number);
        Key::association(host(1), host(2), false)
    }

    #[test]
    fn entries_are_in_the_order_of_their_last_use() {
        let mut table = Table::new(7);
        let [a, b, c] = [1, 2, 3].map(|number| table.insert(key(number), number));
        table.touch(a);
        table.touch(c);
        assert_eq!((table.find(&key(2)), table.get(b)), (Some(b), Some(&2)));
        let mut order = Vec::new();
        while let Some(at) = table.oldest() {
            order.push(table.remove(at).unwrap());
        }
        assert_eq!(order, [2, 1, 3]);
        assert_eq!((table.len(), table.find(&key(2))), (0, None));
        let again = table.insert(key(2), 22);
        assert_eq!((table.oldest(), table.touch(again).copied()), (Some(again), Some(22)));
    }

    #[test]
    fn removing_from_the_middle_keeps_the_rest_linked() {
        let mut table = Table::new(7);
        let at: Vec<u32> = (0..5).map(|number| table.insert(key(number), number)).collect();
        assert_eq!(table.remove(at[2]), Some(2));
        assert_eq!(table.remove(at[4]), Some(4));
        table.insert(key(9), 9);
        let mut order = Vec::new();
        while let Some(at) = table.oldest() {
            order.push(table.remove(at).unwrap());
        }
        assert_eq!(order, [0, 1, 3, 9]);
    }

    #[test]
    fn keys_do_not_depend_on_the_direction() {
        let host = |last, port| Address::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port);
        assert_eq!(Key::association(host(1, 5), host(2, 6), true), Key::association(host(2, 6), host(1, 5), true));
        assert_ne!(Key::association(host(1, 5), host(2, 6), true), Key::association(host(1, 5), host(2, 6), false));
        assert_eq!(
            Key::hosts(host(1, 5), host(2, 6), Grouping::Ftp),
            Key::hosts(host(2, 21), host(1, 9), Grouping::Ftp)
        );
        assert_ne!(
            Key::hosts(host(1, 5), host(2, 6), Grouping::Ftp),
            Key::hosts(host(1, 5), host(2, 6), Grouping::Nntp)
        );
    }
}
