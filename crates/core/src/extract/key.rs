//! The addresses of a connection as a key of tables, and its keyed hash.

use crate::wire::{Address, Vlan};
use crate::workload::IpVersion;

/// Parts that connections are divided into. A constant: results must not depend on how many threads share them.
pub const PARTS: usize = 16;

/// The unordered pair of transport addresses of a connection (methods A.1.1) or flow of datagrams, with its VLAN if that
/// is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// High and low half of the smaller and of the larger address. Halves, because 16-byte alignment would pad
    /// everything that holds a key.
    pub(super) ips: [u64; 4],
    pub(super) ports: [u16; 2],
    /// The VLAN, 0 for none, and [`Self::DATAGRAMS`]: a tombstone has no room for more.
    pub(super) tag: u32,
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Key) -> bool {
        // Together, not one after the other: keys that are compared are nearly always equal.
        let ips = self.ips.iter().zip(other.ips).fold(0, |differ, (one, other)| differ | (one ^ other));
        ips == 0 && self.ports == other.ports && self.tag == other.tag
    }
}

impl Eq for Key {}

impl Key {
    /// In the tag of flows of datagrams, beside the 24 bits of a VLAN.
    const DATAGRAMS: u32 = 1 << 31;

    /// The key of TCP segments between two addresses, and whether `source` is the second of them.
    #[inline]
    pub fn of(source: Address, destination: Address, vlan: Option<Vlan>) -> (Key, bool) {
        let swapped = (source.ip, source.port) > (destination.ip, destination.port);
        let (low, high) = if swapped { (destination, source) } else { (source, destination) };
        let ips = [(low.ip >> 64) as u64, low.ip as u64, (high.ip >> 64) as u64, high.ip as u64];
        (Key { ips, ports: [low.port, high.port], tag: vlan.map_or(0, Vlan::bits) }, swapped)
    }

    /// The key of UDP datagrams between the same.
    pub fn datagrams(self) -> Key {
        Key { tag: self.tag | Self::DATAGRAMS, ..self }
    }

    /// Whether it is one of datagrams.
    #[inline]
    pub fn is_of_datagrams(&self) -> bool {
        self.tag & Self::DATAGRAMS != 0
    }

    /// The first or second address.
    pub fn address(&self, second: bool) -> Address {
        let at = 2 * usize::from(second);
        let ip = u128::from(self.ips[at]) << 64 | u128::from(self.ips[at + 1]);
        Address { ip, port: self.ports[usize::from(second)] }
    }

    /// The version of IP that both addresses are of.
    pub fn ip_version(&self) -> IpVersion {
        IpVersion::of(self.address(false).host())
    }

    /// The VLAN, if it is part of the key.
    pub fn vlan(&self) -> Option<Vlan> {
        Vlan::from_bits(self.tag & !Self::DATAGRAMS)
    }

    /// Mixes the key with `seeds`: products of 128 bits folded to 64, as wyhash and foldhash do.
    #[inline]
    pub fn mix(&self, seeds: &Seeds) -> u64 {
        let [high_one, low_one, high_other, low_other] = self.ips;
        let mut mixed = fold(low_one ^ seeds[0], low_other ^ seeds[1]);
        if high_one | high_other != 0 {
            mixed ^= fold(high_one ^ seeds[2], high_other ^ seeds[3]).rotate_left(23);
        }
        let ports = u64::from(self.ports[0]) << 16 | u64::from(self.ports[1]);
        fold(mixed ^ seeds[2], (ports | u64::from(self.tag) << 32) ^ seeds[3])
    }

    /// The part of the key. It depends on the addresses and ports alone: what differs in its VLAN only stays together.
    #[inline]
    pub fn part(&self) -> usize {
        (Key { tag: 0, ..*self }.mix(&PART_SEEDS) >> 32) as usize % PARTS
    }

    /// The hash of the key for a table.
    #[inline]
    pub fn hash(&self, seeds: &Seeds) -> u32 {
        (self.mix(seeds) >> 32) as u32
    }
}

/// What a hash begins with.
pub(super) type Seeds = [u64; 4];

/// Digits of pi, for the division into parts.
const PART_SEEDS: Seeds = [0x2436_f6a8_885a_308d, 0x3131_98a2_e037_0734, 0x4a40_9382_2299_f31d, 0x0082_efa9_8ec4_e6c8];

/// Seeds from a secret ([`Options::hash_secret`](super::Options::hash_secret)): the outputs of SplitMix64.
pub(super) fn seeds(secret: u64) -> Seeds {
    let mut state = secret;
    [(); 4].map(|()| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    })
}

#[inline]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}
