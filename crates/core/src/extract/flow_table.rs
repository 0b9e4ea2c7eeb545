//! Which connection a segment belongs to: one hash lookup per packet.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::wire::{Address, Segment};

/// The unordered pair of transport addresses of a connection (methods A.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// (high half, low half) of the smaller and of the larger address. Halves, because 16-byte alignment would pad
    /// every entry of the table.
    ips: [(u64, u64); 2],
    ports: [u16; 2],
}

impl Key {
    /// The key of `segment`, and whether its sender is the second address of it.
    pub fn of(segment: &Segment) -> (Key, bool) {
        let (source, destination) = (segment.source, segment.destination);
        let swapped = (source.ip, source.port) > (destination.ip, destination.port);
        let (low, high) = if swapped { (destination, source) } else { (source, destination) };
        let halves = |ip: u128| ((ip >> 64) as u64, ip as u64);
        (Key { ips: [halves(low.ip), halves(high.ip)], ports: [low.port, high.port] }, swapped)
    }

    /// The first or second address.
    pub fn address(&self, second: bool) -> Address {
        let (high, low) = self.ips[usize::from(second)];
        Address { ip: u128::from(high) << 64 | u128::from(low), port: self.ports[usize::from(second)] }
    }

    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        for (high, low) in self.ips {
            // The high half is zero for every IPv4 address: folding it in saves a round.
            (high.rotate_left(32) ^ low).hash(&mut hasher);
        }
        (u32::from(self.ports[0]) << 16 | u32::from(self.ports[1])).hash(&mut hasher);
        hasher.finish()
    }
}

/// Entries by key, at stable indices. Never iterated in hash order.
#[derive(Debug)]
pub(super) struct FlowTable<T> {
    index: HashTable<u32>,
    entries: Vec<Option<(Key, T)>>,
    free: Vec<u32>,
}

impl<T> FlowTable<T> {
    pub fn new() -> FlowTable<T> {
        FlowTable { index: HashTable::new(), entries: Vec::new(), free: Vec::new() }
    }

    /// Index of the entry of `key`.
    pub fn find(&self, key: &Key) -> Option<u32> {
        let same = |at: &u32| self.entries[*at as usize].as_ref().is_some_and(|entry| entry.0 == *key);
        self.index.find(key.hash(), same).copied()
    }

    /// The entry at `at`, if there still is one.
    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.entries.get_mut(at as usize)?.as_mut().map(|entry| &mut entry.1)
    }

    /// Adds an entry for a key that has none.
    pub fn insert(&mut self, key: Key, value: T) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 connections at once fit any memory")
        });
        self.entries[at as usize] = Some((key, value));
        let entries = &self.entries;
        let rehash = |at: &u32| entries[*at as usize].as_ref().map_or(0, |entry| entry.0.hash());
        self.index.insert_unique(key.hash(), at, rehash);
        at
    }

    /// Removes the entry at `at`.
    pub fn remove(&mut self, at: u32) -> Option<(Key, T)> {
        let entry = self.entries.get_mut(at as usize)?.take()?;
        if let Ok(found) = self.index.find_entry(entry.0.hash(), |other| *other == at) {
            found.remove();
        }
        self.free.push(at);
        Some(entry)
    }

    /// Indices that may hold entries, for the end of a capture.
    pub fn indices(&self) -> std::ops::Range<u32> {
        0..self.entries.len() as u32
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.index.len()
    }
}
