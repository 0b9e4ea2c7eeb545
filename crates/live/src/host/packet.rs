//! A packet socket at the end of a pair of devices, for where TUN devices are not to be had.
//!
//! ```text
//!   namespace of the side                 middle namespace
//!   device of the side  <- veth pair ->   other end, packet socket
//! ```
//!
//! It costs about twice as much as TUN, and has a buffer of its own that may overflow (`SideCounters::reader_drops`).

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::libc;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, setsockopt, socket};

use super::netlink::Index;
use super::sys;
use super::tun::unless_blocked;
use crate::device::Device;

/// Length of an Ethernet header.
const HEADER: usize = 14;

/// The address on the link that packets to the other side are sent to. Nobody has it: the stack behind the other end throws them
/// away at once, and only the packet socket takes them.
pub const NOBODY: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// What it would hold, in bytes: packets of 30,000 segments.
const BUFFER: usize = 96 << 20;

/// A packet socket bound to one end of a pair.
#[derive(Debug)]
pub struct PacketSocket {
    socket: File,
    /// The header of all IPv4 packets that it sends, and that of IPv6 packets.
    headers: [[u8; HEADER]; 2],
}

impl PacketSocket {
    /// Opens one in the calling thread's namespace, on the device `index`, whose other end has the address `peer`.
    ///
    /// # Errors
    /// The kernel's: this needs CAP_NET_RAW.
    pub fn open(index: Index, peer: [u8; 6]) -> io::Result<PacketSocket> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket: OwnedFd = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        sys::set_ignore_outgoing(&socket)?;
        sys::set_qdisc_bypass(&socket)?;
        if setsockopt(&socket, RcvBufForce, &BUFFER).is_err() {
            setsockopt(&socket, RcvBuf, &BUFFER)?;
        }
        sys::bind_packet_socket(&socket, index, libc::ETH_P_ALL as u16)?;
        let headers = [libc::ETH_P_IP, libc::ETH_P_IPV6].map(|kind| {
            let mut header = [0; HEADER];
            header[..6].copy_from_slice(&peer);
            header[6..12].copy_from_slice(&NOBODY);
            header[12..].copy_from_slice(&(kind as u16).to_be_bytes());
            header
        });
        Ok(PacketSocket { socket: File::from(socket), headers })
    }

    /// How much it holds, in bytes as the kernel counts them; without root this is little.
    ///
    /// # Errors
    /// The kernel's.
    pub fn room(&self) -> io::Result<usize> {
        Ok(getsockopt(&self.socket, RcvBuf)?)
    }
}

impl Device for PacketSocket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let mut header = [0; HEADER];
        let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(into)];
        Ok(unless_blocked(self.socket.read_vectored(&mut parts))?.map(|length| length.saturating_sub(HEADER)))
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        let is_ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
        let parts = [IoSlice::new(&self.headers[usize::from(is_ipv6)]), IoSlice::new(packet)];
        Ok(unless_blocked(self.socket.write_vectored(&parts))?.is_some())
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
