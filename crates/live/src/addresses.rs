//! Which addresses a connection has, so that every packet tells whose it is.
//!
//! Left hosts are in 198.18.0.0/16 and right ones in 198.19.0.0/16: the network that RFC 2544 sets aside for benchmarks, which
//! is routed nowhere. Connections are numbered as they are assigned. The initiator's address is the low part of the number and
//! the acceptor's the high part, so that no two connections of a run share their addresses, whatever their ports are, and
//! an address is used again only after 65,280 others.

use std::net::Ipv4Addr;

use flowloom_core::workload::{LinkSide, Side};

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
}
