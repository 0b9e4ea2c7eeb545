//! A packet socket at a network interface of this host that takes whole frames of strangers, and sends them as they came.
//!
//! Frames that are for this host itself are left to it. Checksums that were left to a device are filled in, and VLAN tags that the
//! kernel took out are put back. Frames longer than the interfaces take, or of several segments that a device was to cut, cannot be
//! carried: they are counted.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockType, recvmsg, setsockopt, socket,
};
use nix::sys::uio::writev;
use serde::{Deserialize, Serialize};

use super::netlink::Netlink;
use super::sys::{self, Offload};
use crate::device::Device;

/// Options of packet sockets that nix has no names for.
mod option {
    use nix::libc;
    use nix::{setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// What the kernel knows of each packet beside its bytes.
        AuxiliaryData, SetOnly, libc::SOL_PACKET, libc::PACKET_AUXDATA, bool
    );
    sockopt_impl!(
        /// Before each frame stands what a device has yet to do for it.
        Unfinished, SetOnly, libc::SOL_PACKET, libc::PACKET_VNET_HDR, bool
    );
    sockopt_impl!(
        /// Keeps the interface in a mode for as long as the socket is open.
        AddMembership, SetOnly, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, libc::packet_mreq
    );
}

/// `struct virtio_net_hdr` (linux/virtio_net.h).
const UNFINISHED: usize = 10;
/// Its flag that a checksum is to be filled in.
const NEEDS_CHECKSUM: u8 = 1;

/// Header of Ethernet with one VLAN tag.
pub const HEADER: usize = 18;
/// The addresses in it, behind which a tag stands.
const ADDRESSES: usize = 12;
const TAG: usize = 4;

/// Packets for this host itself (linux/if_packet.h).
const FOR_THIS_HOST: u8 = 0;

/// Frames of the host's own that are passed over at once.
const OWN_AT_ONCE: u32 = 64;

/// What it would hold, in bytes.
const BUFFER: usize = 32 << 20;

/// Frames that could not be carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// They were longer than both interfaces take.
    pub too_long: u64,
    /// They were of several segments, which their sender, or a device, had not cut.
    pub merged: u64,
    /// The kernel lost them because the socket's buffer was full.
    pub dropped: u64,
}

/// One end of a bridge.
#[derive(Debug)]
pub struct Port {
    name: String,
    socket: OwnedFd,
    /// Room for what the kernel says beside the bytes.
    said: Vec<u8>,
    refused: Refused,
    merging: Merging,
}

/// Whether an interface merges the segments that it receives (GRO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merging {
    /// It does, and this user may not change it.
    Stays,
    /// It did, and will again.
    Paused,
    /// It does not.
    Off,
}

impl Port {
    /// At the interface `name` of the calling thread's namespace, which takes all frames from now on, and merges none, where this user
    /// may say so, until this is dropped.
    ///
    /// # Errors
    /// There is no such interface, or it is down; or the kernel's: this needs CAP_NET_RAW.
    pub fn open(name: &str) -> io::Result<Port> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket: OwnedFd = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        sys::set_ignore_outgoing(&socket)?;
        sys::set_qdisc_bypass(&socket)?;
        setsockopt(&socket, option::AuxiliaryData, &true)?;
        setsockopt(&socket, option::Unfinished, &true)?;
        if setsockopt(&socket, RcvBufForce, &BUFFER).is_err() {
            setsockopt(&socket, RcvBuf, &BUFFER)?;
        }
        let link = Netlink::open()?.link(name)?;
        if !link.is_up {
            return Err(io::ErrorKind::NetworkDown.into());
        }
        let all = libc::packet_mreq {
            mr_ifindex: link.index.cast_signed(),
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        setsockopt(&socket, option::AddMembership, &all)?;
        let merging = match sys::offload(&socket, name, Offload::Gro) {
            Ok(true) if sys::set_offload(&socket, name, Offload::Gro, false).is_ok() => Merging::Paused,
            Ok(true) => Merging::Stays,
            Ok(false) | Err(_) => Merging::Off,
        };
        let said = nix::cmsg_space!(libc::tpacket_auxdata);
        let port = Port { name: name.to_owned(), socket, said, refused: Refused::default(), merging };
        // Last: what comes before would be of all interfaces.
        sys::bind_packet_socket(&port.socket, link.index, libc::ETH_P_ALL as u16)?;
        Ok(port)
    }

    /// The longest packet of the interface, without its header.
    ///
    /// # Errors
    /// It is gone.
    pub fn mtu(&self) -> io::Result<u32> {
        Ok(Netlink::open()?.link(&self.name)?.mtu)
    }

    /// Whether the interface goes on merging segments that it receives, because this user may not change that.
    pub fn merges(&self) -> bool {
        self.merging == Merging::Stays
    }

    /// What could not be carried so far.
    ///
    /// # Errors
    /// The kernel's.
    pub fn refused(&mut self) -> io::Result<Refused> {
        self.refused.dropped += u64::from(sys::packet_drops(&self.socket)?);
        Ok(self.refused)
    }

    /// Takes a frame that is not for this host, or finds none.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        for _ in 0..OWN_AT_ONCE {
            let mut unfinished = [0; UNFINISHED];
            let room = into.len();
            let mut parts = [IoSliceMut::new(&mut unfinished), IoSliceMut::new(into)];
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
            let received = recvmsg::<LinkAddr>(self.socket.as_raw_fd(), &mut parts, Some(&mut self.said), flags);
            let (length, is_own, tag) = match received {
                Ok(received) => {
                    let is_own = received.address.is_some_and(|address| address.pkttype() == FOR_THIS_HOST);
                    let mut tag = None;
                    for message in received.cmsgs()? {
                        if let ControlMessageOwned::Unknown(message) = message {
                            tag = tag.or_else(|| self::tag(&message.data_bytes));
                        }
                    }
                    (received.bytes.saturating_sub(UNFINISHED), is_own, tag)
                }
                Err(Errno::EAGAIN | Errno::EINTR | Errno::ENOBUFS) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if is_own {
                continue;
            }
            // Anything but "none": a device was to cut it.
            if unfinished[1] != 0 {
                self.refused.merged += 1;
                continue;
            }
            if length + tag.map_or(0, |_| TAG) > room {
                self.refused.too_long += 1;
                continue;
            }
            if unfinished[0] & NEEDS_CHECKSUM != 0 {
                let place = |at: usize| usize::from(u16::from_ne_bytes([unfinished[at], unfinished[at + 1]]));
                fill_in(&mut into[..length], place(6), place(8));
            }
            let Some(tag) = tag.filter(|_| length >= ADDRESSES) else { return Ok(Some(length)) };
            into.copy_within(ADDRESSES..length, ADDRESSES + TAG);
            into[ADDRESSES..ADDRESSES + TAG].copy_from_slice(&tag);
            return Ok(Some(length + TAG));
        }
        Ok(None)
    }
}

impl Device for Port {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        self.receive(into)
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<bool> {
        // Nothing of it is left to do.
        let parts = [IoSlice::new(&[0; UNFINISHED]), IoSlice::new(frame)];
        match writev(&self.socket, &parts) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        if self.merging == Merging::Paused {
            // An interface that is gone needs it no more.
            let _ = sys::set_offload(&self.socket, &self.name, Offload::Gro, true);
        }
    }
}

/// Fills in a checksum that was left to a device: what stands in its place is the sum of the pseudo header.
fn fill_in(frame: &mut [u8], start: usize, offset: usize) {
    let Some(covered) = frame.get_mut(start..) else { return };
    if covered.len() < offset + 2 {
        return;
    }
    let words = covered.chunks(2).map(|pair| match *pair {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(high) << 8,
        _ => 0,
    });
    let sum = words.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    // Zero would say that there is none (RFC 768).
    let checksum = if checksum == 0 { u16::MAX } else { checksum };
    covered[offset..offset + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The VLAN tag that the kernel took out of a frame, as it stood in it (struct tpacket_auxdata).
fn tag(auxiliary: &[u8]) -> Option<[u8; TAG]> {
    let field = |at: usize| Some(u16::from_ne_bytes(*auxiliary.get(at..)?.first_chunk()?));
    let status = u32::from_ne_bytes(*auxiliary.first_chunk()?);
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let protocol = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { field(18)? } else { 0x8100 };
    let [[a, b], [c, d]] = [protocol.to_be_bytes(), field(16)?.to_be_bytes()];
    Some([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_that_were_left_out_are_filled_in() {
        // A datagram of UDP: 10.0.0.1:1 to 10.0.0.2:2 with "abc", its sum that of the pseudo header alone.
        let pseudo = 0x0a00u32 + 1 + 0x0a00 + 2 + 17 + 11;
        let mut frame = vec![0xee; 34];
        frame.extend([0, 1, 0, 2, 0, 11]);
        frame.extend((pseudo as u16).to_be_bytes());
        frame.extend(b"abc");
        fill_in(&mut frame, 34, 6);
        // By hand: the words are 1, 2, 11, the sum of the pseudo header, "ab" and "c" before a zero.
        let sum = 1 + 2 + 11 + pseudo + 0x6162 + 0x6300;
        let sum = (sum & 0xffff) + (sum >> 16);
        assert_eq!(u16::from_be_bytes([frame[40], frame[41]]), !(sum as u16));
        let before = frame.clone();
        for (start, offset) in [(45, 0), (99, 0), (34, 10), (0, usize::from(u16::MAX))] {
            fill_in(&mut frame, start, offset);
            assert_eq!(frame, before, "places that are not there");
        }
    }

    #[test]
    fn tags_that_were_taken_out_are_known() {
        // status, len, snaplen, mac, net, vlan_tci, vlan_tpid.
        let told = |status: u32, tpid: u16| {
            let mut auxiliary = status.to_ne_bytes().to_vec();
            auxiliary.extend([0; 12]);
            auxiliary.extend(0x2005u16.to_ne_bytes());
            auxiliary.extend(tpid.to_ne_bytes());
            tag(&auxiliary)
        };
        let (valid, typed) = (libc::TP_STATUS_VLAN_VALID, libc::TP_STATUS_VLAN_TPID_VALID);
        assert_eq!(told(0, 0), None);
        assert_eq!(told(valid, 0), Some([0x81, 0, 0x20, 5]));
        assert_eq!(told(valid | typed, 0x88a8), Some([0x88, 0xa8, 0x20, 5]));
        assert_eq!(tag(&[1, 0]), None);
    }
}
