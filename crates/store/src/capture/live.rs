//! Packets from a network interface: a packet socket (packet(7)) of Linux.
//!
//! Only headers are copied; the kernel says how long a packet was. Time stamps are the kernel's, in nanoseconds.
//! Losses are what the socket's own counter says (`PACKET_STATISTICS`, the counter that tcpdump prints as "dropped by
//! kernel"): packets that came while its buffer was full. What the interface itself lost before, no socket knows.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use flowloom_core::time::Time;
use flowloom_core::wire::LinkType;
use flowloom_core::workload::LinkSide;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::net::if_::InterfaceFlags;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    self, AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType,
    getsockopt, setsockopt, sockopt,
};

use super::error::{CaptureError, CaptureErrorKind};
use super::facts::{Compression, Format, InputFacts};
use super::part::Part;
use super::record::Packet;

/// Packets taken from the kernel at once.
const BATCH: usize = 64;
/// Room before a packet for the VLAN tag that the kernel takes out of it.
const TAG: usize = 4;
/// Bytes of the two addresses before the tag.
const ADDRESSES: usize = 12;
/// How long to wait for packets before asking whether to stop.
const PATIENCE_MS: u8 = 50;

/// ARP hardware types (linux/if_arp.h): frames with an Ethernet header, and packets that begin with their IP header
/// once the kernel has taken off what is before it.
const ETHERNET: u16 = 1;
const LOOPBACK: u16 = 772;
/// Serial lines, PPP, raw IP, tunnels in IPv4 and IPv6, SIT, GRE over either, and none (tun).
const WITHOUT_ADDRESSES: [u16; 9] = [256, 512, 519, 768, 769, 776, 778, 823, 65_534];

/// Packet types (linux/if_packet.h) beyond those that were sent to this host: 0 to 2.
const SENT_BY_THIS_HOST: u8 = 4;

/// Options of packet sockets that nix has no names for. Its macros are made for such: what the kernel reads and
/// writes has the size of the type that stands here.
mod option {
    use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// What the kernel knows of each packet beside its bytes.
        AuxiliaryData, SetOnly, libc::SOL_PACKET, libc::PACKET_AUXDATA, bool
    );
    sockopt_impl!(
        /// Packets that were taken up, the lost ones included, and lost ones; reading sets both to zero.
        Statistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats
    );
    sockopt_impl!(
        /// Keeps the interface in a mode for as long as the socket is open.
        AddMembership, SetOnly, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, libc::packet_mreq
    );
}

/// How to capture from a network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveOptions {
    /// Bytes kept of each packet.
    pub snap_length: usize,
    /// Take packets that are for other hosts too, as on a mirror port, while capturing.
    pub promiscuous: bool,
    /// Bytes of packets that the kernel holds for the reader, as it counts them (twice the size of a large packet, many
    /// times that of a small one). Beyond `net.core.rmem_max` it takes the capability CAP_NET_ADMIN; without it, the
    /// buffer is as large as that limit.
    pub buffer_bytes: usize,
    /// End after this many packets.
    pub most_packets: Option<u64>,
}

impl Default for LiveOptions {
    /// 256 bytes, room for tunnels, tags and all TCP options; promiscuous; a buffer of 256 MiB; without an end.
    fn default() -> LiveOptions {
        LiveOptions { snap_length: 256, promiscuous: true, buffer_bytes: 256 << 20, most_packets: None }
    }
}

/// A packet in the buffer.
struct Received {
    time: Time,
    start: usize,
    captured: usize,
    length: usize,
    packet_type: u8,
}

/// A capture under way.
pub(super) struct Live {
    socket: OwnedFd,
    interface: LinkAddr,
    link: LinkType,
    most_packets: u64,
    stop: Box<dyn FnMut() -> bool + Send>,
    facts: [InputFacts; 1],
    /// One packet each `stride` bytes, behind [`TAG`] bytes of room.
    buffer: Vec<u8>,
    stride: usize,
    batch: Vec<Received>,
    /// The next of `batch` to hand out.
    next: usize,
    /// Packets read from the socket, and packets that it had taken up and not lost, as of its last statistics.
    read: u64,
    taken: u64,
    ending: Ending,
    /// The part that is read, if that is not all.
    part: Option<Part>,
}

/// How far the end is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Not in sight.
    Capturing,
    /// Asked to stop, or the interface went down: what was taken up until then is still read.
    Draining,
    Ended,
}

impl Live {
    pub fn open(name: &str, options: LiveOptions, stop: Box<dyn FnMut() -> bool + Send>) -> Result<Live, CaptureError> {
        let fail = |kind| CaptureError { file: name.to_owned(), packet: None, offset: None, kind };
        let interface = find(name).map_err(fail)?;
        let (link, socket_type) = match interface.hatype() {
            ETHERNET | LOOPBACK => (LinkType::Ethernet, SockType::Raw),
            kind if WITHOUT_ADDRESSES.contains(&kind) => (LinkType::RawIp, SockType::Datagram),
            kind => return Err(fail(CaptureErrorKind::InterfaceKind(kind))),
        };
        let socket = attach(&interface, socket_type, options).map_err(|error| {
            fail(match error {
                Errno::EPERM | Errno::EACCES => CaptureErrorKind::NotPermitted,
                Errno::ENETDOWN => CaptureErrorKind::InterfaceDown,
                error => CaptureErrorKind::Interface(error.into()),
            })
        })?;
        let stride = TAG + options.snap_length.max(1);
        Ok(Live {
            socket,
            interface,
            link,
            most_packets: options.most_packets.unwrap_or(u64::MAX),
            stop,
            facts: [InputFacts::new(name.to_owned(), Format::Interface, Compression::None, None)],
            buffer: vec![0; BATCH * stride],
            stride,
            batch: Vec::with_capacity(BATCH),
            next: 0,
            read: 0,
            taken: 0,
            ending: Ending::Capturing,
            part: None,
        })
    }

    pub fn facts(&self) -> &[InputFacts] {
        &self.facts
    }

    pub fn link(&self) -> LinkType {
        self.link
    }

    /// Begins a part: see [`super::Captures::begin_part`].
    pub fn begin_part(&mut self, part: Part) {
        let InputFacts { name, went_down, .. } = &mut self.facts[0];
        let (name, went_down) = (std::mem::take(name), *went_down);
        let facts = InputFacts::new(name, Format::Interface, Compression::None, None);
        // It is not asked again: the packets that it had taken up until then are read, and these may be in several parts.
        self.facts = [InputFacts { went_down, ..facts }];
        self.part = Some(part);
    }

    /// The time of the next packet, if it was taken from the kernel.
    pub fn waiting(&self) -> Option<Time> {
        self.batch.get(self.next).map(|packet| packet.time)
    }

    /// Whether the capture is over, and not only a part of it.
    pub fn has_ended(&self) -> bool {
        self.ending == Ending::Ended
    }

    /// The next packet, `None` after the end, and at the end of a part.
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        let facts = &mut self.facts[0];
        if facts.packets == self.most_packets && self.ending != Ending::Ended {
            self.end()?;
        }
        while self.next == self.batch.len() {
            if self.ending == Ending::Ended {
                return Ok(None);
            }
            if self.refill()? {
                return Ok(None);
            }
        }
        let time = self.batch[self.next].time;
        if self.part.as_mut().is_some_and(|part| part.ends_before(time)) {
            self.count()?;
            return Ok(None);
        }
        let Received { time, start, captured, length, packet_type } = self.batch[self.next];
        self.next += 1;
        let facts = &mut self.facts[0];
        facts.note(time);
        facts.bytes_read += captured as u64;
        let from = match packet_type {
            // Whatever passes the loopback interface is sent by this host, and to it.
            _ if self.interface.hatype() == LOOPBACK => None,
            0..=2 => Some(LinkSide::Right),
            SENT_BY_THIS_HOST => Some(LinkSide::Left),
            _ => None,
        };
        Ok(Some(Packet {
            time,
            link: self.link,
            bytes: &self.buffer[start..start + captured],
            wire_length: u32::try_from(length).unwrap_or(u32::MAX),
            from,
            input: 0,
        }))
    }

    /// Takes the next packets from the kernel, waits for some, or notices the end; whether it noticed that of a part.
    #[cold]
    fn refill(&mut self) -> Result<bool, CaptureError> {
        self.batch.clear();
        self.next = 0;
        if self.ending == Ending::Capturing && (self.stop)() {
            self.ending = Ending::Draining;
            self.count()?;
        }
        if self.ending == Ending::Draining && self.read >= self.taken {
            return self.end().map(|()| false);
        }
        match self.receive() {
            Ok(()) | Err(Errno::EINTR) => Ok(false),
            Err(Errno::EAGAIN) if self.ending == Ending::Draining => self.end().map(|()| false),
            Err(Errno::EAGAIN) => {
                self.count()?;
                if self.part.as_mut().is_some_and(Part::is_over) {
                    return Ok(true);
                }
                let mut waits = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
                match poll(&mut waits, PollTimeout::from(PATIENCE_MS)) {
                    Ok(_) | Err(Errno::EINTR) => Ok(false),
                    Err(error) => Err(self.failed(error)),
                }
            }
            Err(Errno::ENETDOWN | Errno::ENODEV | Errno::ENXIO) => {
                self.facts[0].went_down = true;
                self.ending = Ending::Draining;
                self.count().map(|()| false)
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Reads up to [`BATCH`] packets that the kernel holds.
    fn receive(&mut self) -> Result<(), Errno> {
        let space = nix::cmsg_space!(libc::timespec, libc::tpacket_auxdata);
        // The kernel shrinks the headers to what it wrote, so that each call needs fresh ones.
        let mut headers = MultiHeaders::<LinkAddr>::preallocate(BATCH, Some(space));
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            self.buffer.chunks_exact_mut(self.stride).map(|chunk| [IoSliceMut::new(&mut chunk[TAG..])]).collect();
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
        let mut tags = [None; BATCH];
        let results = socket::recvmmsg(self.socket.as_raw_fd(), &mut headers, slices.iter_mut(), flags, None)?;
        for (index, result) in results.enumerate() {
            self.read += 1;
            let Some(address) = result.address else { continue };
            // Until the socket was bound it took packets of every interface; on the loopback interface each packet
            // is seen as it leaves and as it arrives.
            let second = self.interface.hatype() == LOOPBACK && address.pkttype() == SENT_BY_THIS_HOST;
            if address.ifindex() != self.interface.ifindex() || second {
                continue;
            }
            let mut time = Time::ZERO;
            for message in result.cmsgs()? {
                match message {
                    ControlMessageOwned::ScmTimestampns(stamp) => {
                        let (seconds, nanos) = (stamp.tv_sec().max(0) as u64, stamp.tv_nsec().max(0) as u64);
                        time = Time::from_nanos(seconds * 1_000_000_000 + nanos);
                    }
                    ControlMessageOwned::Unknown(message)
                        if message.cmsg_header.cmsg_level == libc::SOL_PACKET
                            && message.cmsg_header.cmsg_type == libc::PACKET_AUXDATA =>
                    {
                        tags[index] = tag(&message.data_bytes);
                    }
                    _ => {}
                }
            }
            let captured = result.bytes.min(self.stride - TAG);
            let start = index * self.stride + TAG;
            let packet_type = address.pkttype();
            self.batch.push(Received { time, start, captured, length: result.bytes, packet_type });
        }
        for packet in &mut self.batch {
            let Some(tag) = tags[packet.start / self.stride] else { continue };
            if self.link == LinkType::Ethernet && packet.captured >= ADDRESSES {
                self.buffer.copy_within(packet.start..packet.start + ADDRESSES, packet.start - TAG);
                packet.start -= TAG;
                packet.captured += TAG;
                packet.length += TAG;
                self.buffer[packet.start + ADDRESSES..][..TAG].copy_from_slice(&tag);
            }
        }
        Ok(())
    }

    /// Takes over the kernel's counters.
    fn count(&mut self) -> Result<(), CaptureError> {
        let statistics = getsockopt(&self.socket, option::Statistics).map_err(|error| self.failed(error))?;
        let (taken, lost) = (u64::from(statistics.tp_packets), u64::from(statistics.tp_drops));
        self.taken += taken.saturating_sub(lost);
        self.facts[0].add_drops(lost);
        Ok(())
    }

    fn end(&mut self) -> Result<(), CaptureError> {
        self.ending = Ending::Ended;
        self.next = self.batch.len();
        self.count()
    }

    fn failed(&mut self, error: Errno) -> CaptureError {
        self.ending = Ending::Ended;
        let (file, packet) = (self.facts[0].name.clone(), Some(self.facts[0].packets + 1));
        CaptureError { file, packet, offset: None, kind: CaptureErrorKind::Read(error.into()) }
    }
}

/// The interface called `name`.
fn find(name: &str) -> Result<LinkAddr, CaptureErrorKind> {
    let mut names = Vec::new();
    for entry in getifaddrs().map_err(|error| CaptureErrorKind::Interface(io::Error::from(error)))? {
        let Some(address) = entry.address.as_ref().and_then(|address| address.as_link_addr()) else { continue };
        if entry.interface_name == name {
            let up = entry.flags.contains(InterfaceFlags::IFF_UP);
            return if up { Ok(*address) } else { Err(CaptureErrorKind::InterfaceDown) };
        }
        names.push(entry.interface_name);
    }
    Err(CaptureErrorKind::NoInterface(names))
}

/// A socket that takes the packets of `interface`.
fn attach(interface: &LinkAddr, socket_type: SockType, options: LiveOptions) -> Result<OwnedFd, Errno> {
    let family = AddressFamily::Packet;
    let socket = socket::socket(family, socket_type, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&socket, option::AuxiliaryData, &true)?;
    if setsockopt(&socket, sockopt::RcvBufForce, &options.buffer_bytes).is_err() {
        setsockopt(&socket, sockopt::RcvBuf, &options.buffer_bytes)?;
    }
    // The addresses that the system lists have no protocol, and the socket keeps its own.
    socket::bind(socket.as_raw_fd(), interface)?;
    if options.promiscuous {
        let request = libc::packet_mreq {
            mr_ifindex: interface.ifindex() as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        setsockopt(&socket, option::AddMembership, &request)?;
    }
    Ok(socket)
}

/// The VLAN tag that the kernel took out of a packet, as it stood in it (struct tpacket_auxdata).
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
