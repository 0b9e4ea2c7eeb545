//! Which addresses a connection has, so that every packet tells whose it is.
//!
//! Left hosts are in 198.18.0.0/16 and right ones in 198.19.0.0/16: the network that RFC 2544 sets aside for benchmarks, which
//! is routed nowhere. Connections are numbered as they are assigned. The initiator's address is the low part of the number and
//! the acceptor's the high part, so that no two connections of a run share their addresses, whatever their ports are, and
//! an address is used again only after 65,280 others.
//!
//! Over IPv6 an end has the address whose last 32 bits are its IPv4 address, in a unique local network (RFC 4193) that no packet leaves.
//!
//! Where the ends are spread over hosts ([`Addressing::Hosts`]), each host has a block of addresses of its side's upper half, and
//! the low bits in the block take the place of the low and the high part.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use flowloom_core::workload::{IpVersion, LinkSide, PerSide, Side};
use serde::{Deserialize, Serialize};

/// The number of a connection of a run, in the order of assignment.
pub type Serial = u32;

/// The first addresses of each side, which belong to no connection: probes and the programs of `flowloom shell`.
pub const RESERVED: u32 = 256;

/// Addresses of a side that connections have.
const EACH: u32 = (1 << 16) - RESERVED;

/// How many connections a run can have.
pub const MOST_CONNECTIONS: u64 = EACH as u64 * EACH as u64;

/// The port on which the first worker of a side listens; the others follow.
pub const FIRST_PORT: u16 = 5_000;

/// The network of a side: its address and the length of its prefix.
pub const fn network(side: LinkSide) -> (Ipv4Addr, u8) {
    match side {
        LinkSide::Left => (Ipv4Addr::new(198, 18, 0, 0), 16),
        LinkSide::Right => (Ipv4Addr::new(198, 19, 0, 0), 16),
    }
}

/// The address of `side` that probes and the programs of `flowloom shell` have.
pub fn host(side: LinkSide) -> Ipv4Addr {
    place(side, 1)
}

/// The most emulated hosts of a side.
pub const MOST_HOSTS: u8 = 64;

/// The network of the emulated hosts of `side`, among the [`RESERVED`] addresses.
pub fn emulated_hosts(side: LinkSide) -> (Ipv4Addr, u8) {
    (place(side, 64), 26)
}

/// The address of an emulated host of `side`.
///
/// # Panics
/// If it is not one of the first [`MOST_HOSTS`].
pub fn emulated_host(side: LinkSide, number: u8) -> Ipv4Addr {
    assert!(number < MOST_HOSTS);
    place(side, 64 + u32::from(number))
}

/// The network of all IPv6 addresses of a testbed, fd66:6c6f:6f6d::/96.
const IPV6: u128 = 0xfd66_6c6f_6f6d << 80;

/// The IPv6 address of the end that has `address` in IPv4.
pub const fn ipv6_of(address: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(IPV6 | address.to_bits() as u128)
}

/// The IPv4 address of the end that has `address` in IPv6; `None` if it is no address of a testbed.
pub fn ipv4_of(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = address.to_bits();
    (bits >> 32 == IPV6 >> 32).then(|| Ipv4Addr::from_bits(bits as u32))
}

/// The address in this version of IP of the end that has `address` in IPv4.
pub fn in_version(version: IpVersion, address: Ipv4Addr) -> IpAddr {
    match version {
        IpVersion::V4 => address.into(),
        IpVersion::V6 => ipv6_of(address).into(),
    }
}

/// The IPv4 address of the end that has `address`; `None` if it is an IPv6 address that no testbed has.
pub fn in_ipv4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(address) => ipv4_of(address),
    }
}

/// The network in this version of IP whose ends have the addresses of `network` in IPv4: its address and the length of its prefix.
pub fn network_in_version(version: IpVersion, (network, prefix): (Ipv4Addr, u8)) -> (IpAddr, u8) {
    let more = match version {
        IpVersion::V4 => 0,
        IpVersion::V6 => 96,
    };
    (in_version(version, network), prefix + more)
}

/// The version of IP in which packets cross that count as `counted`, where a testbed has IPv6 or not.
pub fn carried_in(counted: IpVersion, has_ipv6: bool) -> IpVersion {
    if has_ipv6 { counted } else { IpVersion::V4 }
}

fn place(side: LinkSide, low: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(network(side).0.to_bits() | low)
}

/// The addresses of the ends of a connection whose initiator is on `initiator_side`: the initiator's, the acceptor's.
///
/// # Panics
/// If it is not one of the first [`MOST_CONNECTIONS`].
pub fn of_connection(serial: Serial, initiator_side: LinkSide) -> (Ipv4Addr, Ipv4Addr) {
    assert!(u64::from(serial) < MOST_CONNECTIONS);
    (place(initiator_side, RESERVED + serial % EACH), place(initiator_side.other(), RESERVED + serial / EACH))
}

/// How the connections of a run get their addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Addressing {
    /// A side is one host with many addresses.
    #[default]
    Side,
    /// So many hosts on each side, 1 to [`MOST_HOSTS`], with a block of addresses each.
    Hosts(u8),
}

/// The bit that the addresses in blocks have, and how many are below it.
const BLOCKS: u32 = 15;

impl Addressing {
    /// Over so many hosts on each side; none is [`Addressing::Side`].
    ///
    /// # Panics
    /// If they are more than [`MOST_HOSTS`].
    pub fn over(hosts: u8) -> Addressing {
        assert!(hosts <= MOST_HOSTS);
        if hosts == 0 { Addressing::Side } else { Addressing::Hosts(hosts) }
    }

    /// How many hosts each side has.
    pub fn count(self) -> u8 {
        match self {
            Addressing::Side => 0,
            Addressing::Hosts(hosts) => hosts,
        }
    }

    /// How many connections a run can have.
    pub fn most_connections(self) -> u64 {
        match self {
            Addressing::Side => MOST_CONNECTIONS,
            Addressing::Hosts(hosts) => 1 << (2 * bits(hosts)),
        }
    }

    /// The hosts of the ends of a connection, which carry numbers in the workload or not: those have the numbers modulo how many there
    /// are. The others are spread so that each initiating host comes to each accepting one.
    pub fn hosts(self, serial: Serial, numbers: PerSide<Option<u32>>) -> PerSide<u8> {
        let Addressing::Hosts(hosts) = self else { return PerSide::default() };
        let all = u32::from(hosts);
        let in_turn = PerSide { initiator: serial, acceptor: serial / all };
        let number = |side: Side| (numbers[side].unwrap_or(in_turn[side]) % all) as u8;
        PerSide { initiator: number(Side::Initiator), acceptor: number(Side::Acceptor) }
    }

    /// The addresses of the ends of a connection whose initiator is on `initiator_side`: the initiator's, the acceptor's.
    ///
    /// # Panics
    /// If it is not one of the first [`Self::most_connections`].
    pub fn of_connection(self, serial: Serial, initiator_side: LinkSide, hosts: PerSide<u8>) -> (Ipv4Addr, Ipv4Addr) {
        let Addressing::Hosts(all) = self else { return of_connection(serial, initiator_side) };
        assert!(u64::from(serial) < self.most_connections());
        let bits = bits(all);
        let at = |side, host: u8, low| place(side, 1 << BLOCKS | u32::from(host) << bits | low & ((1 << bits) - 1));
        (at(initiator_side, hosts.initiator, serial), at(initiator_side.other(), hosts.acceptor, serial >> bits))
    }

    /// The connection whose ends have these addresses; `None` if they are none that connections have.
    pub fn serial(self, initiator: Ipv4Addr, acceptor: Ipv4Addr) -> Option<Serial> {
        let Addressing::Hosts(all) = self else { return serial(initiator, acceptor) };
        let bits = bits(all);
        let is_in_block = |address: Ipv4Addr| address.to_bits() >> BLOCKS & 1 == 1;
        let low = |address: Ipv4Addr| address.to_bits() & ((1 << bits) - 1);
        (is_in_block(initiator) && is_in_block(acceptor)).then(|| low(acceptor) << bits | low(initiator))
    }

    /// The block of addresses of a host of `side`; `None` if it has none.
    pub fn block(self, side: LinkSide, host: u8) -> Option<(Ipv4Addr, u8)> {
        let Addressing::Hosts(all) = self else { return None };
        let bits = bits(all);
        (host < all).then(|| (place(side, 1 << BLOCKS | u32::from(host) << bits), (32 - bits) as u8))
    }

    /// The network of all blocks of `side`.
    pub fn blocks(self, side: LinkSide) -> Option<(Ipv4Addr, u8)> {
        matches!(self, Addressing::Hosts(_)).then(|| (place(side, 1 << BLOCKS), (32 - BLOCKS) as u8))
    }
}

/// Bits of an address that are left to connections where a side has so many hosts.
fn bits(hosts: u8) -> u32 {
    BLOCKS - u32::from(hosts).next_power_of_two().trailing_zeros()
}

/// The side that an address is on; `None` if it is on neither.
pub fn side_of(address: Ipv4Addr) -> Option<LinkSide> {
    let high = address.to_bits() & 0xffff_0000;
    [LinkSide::Left, LinkSide::Right].into_iter().find(|side| network(*side).0.to_bits() == high)
}

/// The connection whose ends have these addresses (which of them is the initiator's is told by [`sender`]); `None` if they are
/// none that connections have.
pub fn serial(initiator: Ipv4Addr, acceptor: Ipv4Addr) -> Option<Serial> {
    let low = |address: Ipv4Addr| (address.to_bits() & 0xffff).checked_sub(RESERVED);
    low(acceptor)?.checked_mul(EACH)?.checked_add(low(initiator)?)
}

/// Which end sent a packet with these ports: workers listen on ports from [`FIRST_PORT`] on, and ports of initiators are above
/// [`FIRST_EPHEMERAL_PORT`].
pub const fn sender(source_port: u16, destination_port: u16) -> Option<Side> {
    match (source_port < FIRST_EPHEMERAL_PORT, destination_port < FIRST_EPHEMERAL_PORT) {
        (false, true) => Some(Side::Initiator),
        (true, false) => Some(Side::Acceptor),
        _ => None,
    }
}

/// Ports of initiators are from here on (net.ipv4.ip_local_port_range in namespaces of ours); those of listeners below.
pub const FIRST_EPHEMERAL_PORT: u16 = 10_000;

/// The port on which the worker listens that accepts a connection, where its side has so many workers.
pub fn port(serial: Serial, workers: u16) -> u16 {
    FIRST_PORT + worker(serial, workers)
}

/// The port from which the worker sends, and on which it is answered, that plays the initiator of a flow of datagrams where its
/// side has so many workers. Its acceptor has [`port`].
pub fn datagram_port(serial: Serial, workers: u16) -> u16 {
    FIRST_EPHEMERAL_PORT + worker(serial, workers)
}

/// Which of so many workers of a side plays its end of a connection.
pub fn worker(serial: Serial, workers: u16) -> u16 {
    (serial % u32::from(workers.max(1))) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_tell_the_connection() {
        for serial_number in [0, 1, EACH - 1, EACH, EACH + 1, 4_700_000, (MOST_CONNECTIONS - 1) as u32] {
            for side in [LinkSide::Left, LinkSide::Right] {
                let (initiator, acceptor) = of_connection(serial_number, side);
                assert_eq!(serial(initiator, acceptor), Some(serial_number));
                assert_eq!((side_of(initiator), side_of(acceptor)), (Some(side), Some(side.other())));
            }
        }
        assert_eq!(serial(host(LinkSide::Left), host(LinkSide::Right)), None, "these are reserved");
        assert_eq!(side_of(Ipv4Addr::new(10, 0, 0, 1)), None);
        assert_eq!(serial(emulated_host(LinkSide::Left, 63), emulated_host(LinkSide::Right, 0)), None);
        assert_eq!(sender(33_000, port(7, 4)), Some(Side::Initiator));
        assert_eq!((port(7, 4), worker(7, 4)), (5_003, 3));
        assert_eq!(sender(datagram_port(7, 4), port(7, 4)), Some(Side::Initiator));
    }

    #[test]
    fn addresses_on_hosts_tell_the_connection_and_are_in_the_block_of_their_host() {
        for (hosts, most) in [(1, 1 << 30), (2, 1 << 28), (3, 1 << 26), (60, 1 << 18), (64, 1 << 18)] {
            let addressing = Addressing::over(hosts);
            assert_eq!(addressing.most_connections(), most);
            for serial in [0, 1, 511, 512, 77_777, (most - 1) as u32] {
                let on = addressing.hosts(serial, PerSide { initiator: None, acceptor: Some(hosts.into()) });
                assert_eq!((u32::from(on.initiator), on.acceptor), (serial % u32::from(hosts), 0));
                let (initiator, acceptor) = addressing.of_connection(serial, LinkSide::Right, on);
                assert_eq!(addressing.serial(initiator, acceptor), Some(serial));
                for (address, side, host) in
                    [(initiator, LinkSide::Right, on.initiator), (acceptor, LinkSide::Left, on.acceptor)]
                {
                    assert_eq!(side_of(address), Some(side));
                    let is_in = |(network, prefix): (Ipv4Addr, u8)| {
                        (address.to_bits() ^ network.to_bits()) >> (32 - u32::from(prefix)) == 0
                    };
                    let holders = (0..hosts).filter(|host| is_in(addressing.block(side, *host).unwrap()));
                    assert_eq!(holders.collect::<Vec<_>>(), [host]);
                    assert!(is_in(addressing.blocks(side).unwrap()));
                }
            }
            assert_eq!(addressing.serial(host(LinkSide::Left), emulated_host(LinkSide::Right, 0)), None);
        }
    }

    #[test]
    fn ipv6_addresses_stand_for_ipv4_ones() {
        let (address, _) = of_connection(EACH + 1, LinkSide::Right);
        assert_eq!(address, Ipv4Addr::new(198, 19, 1, 1));
        assert_eq!(ipv6_of(address).to_string(), "fd66:6c6f:6f6d::c613:101");
        assert_eq!(in_ipv4(ipv6_of(address).into()), Some(address));
        assert_eq!(in_ipv4(address.into()), Some(address));
        for other in ["::1", "fd66:6c6f:6f6d:1::c613:101", "fe80::1", "::ffff:198.19.1.1"] {
            assert_eq!(ipv4_of(other.parse().unwrap()), None, "{other}");
        }
        let (network, prefix) = network_in_version(IpVersion::V6, network(LinkSide::Left));
        assert_eq!((network.to_string().as_str(), prefix), ("fd66:6c6f:6f6d::c612:0", 112));
        assert_eq!([true, false].map(|ipv6| carried_in(IpVersion::V6, ipv6)), [IpVersion::V6, IpVersion::V4]);
    }

    #[test]
    fn each_host_comes_to_each_other() {
        let addressing = Addressing::over(5);
        let pairs = |n| addressing.hosts(n, PerSide::default());
        let met: std::collections::BTreeSet<_> = (0..25).map(pairs).map(|on| (on.initiator, on.acceptor)).collect();
        assert_eq!(met.len(), 25);
        assert_eq!(Addressing::over(0).hosts(7, PerSide::default()), PerSide::default());
    }
}
