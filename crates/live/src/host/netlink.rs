//! Devices, addresses, routes and neighbours of the calling thread's namespace, over rtnetlink (rtnetlink(7)).

use std::ffi::CStr;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use serde::{Deserialize, Serialize};

/// Number of a device in its namespace.
pub type Index = u32;

/// The loopback device, which is the first of every namespace.
pub const LOOPBACK: Index = 1;

/// Length of the header of a message, `struct nlmsghdr`.
const HEADER: usize = 16;

// linux/netlink.h, linux/rtnetlink.h, linux/if_link.h, linux/veth.h: what the libraries lack on some systems.
const NESTED: u16 = 1 << 15;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_STATS64: u16 = 23;
const IFLA_NET_NS_FD: u16 = 28;
const VETH_INFO_PEER: u16 = 1;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;
const TC_H_ROOT: u32 = u32::MAX;
const RTPROT_STATIC: u8 = 4;
/// The next hop is on the link, whatever routes say.
const RTNH_F_ONLINK: u32 = 4;
const RTAX_LOCK: u16 = 1;
const RTAX_INITCWND: u16 = 11;
const RTAX_RTO_MIN: u16 = 13;
const RTAX_INITRWND: u16 = 14;
const RTAX_QUICKACK: u16 = 15;

/// What a device counted, from the view of its namespace: `received` is what came into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounts {
    /// Packets received.
    pub received_packets: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets that came in and were lost, errors among them.
    pub received_drops: u64,
    /// Packets that were to be sent and were lost, errors among them: the queue in front of the device was full.
    pub sent_drops: u64,
}

impl LinkCounts {
    /// Packets lost in either direction.
    pub fn drops(&self) -> u64 {
        self.received_drops + self.sent_drops
    }
}

/// A device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: Index,
    /// Longest packet.
    pub mtu: u32,
    /// Packets that its queue holds.
    pub queue_length: u32,
    /// What it counted.
    pub counts: LinkCounts,
    /// Whether it passes packets.
    pub is_up: bool,
}

/// A queue discipline, and what it counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// The device it is in front of.
    pub device: Index,
    /// Its kind: `fq_codel`, `noqueue`, ...
    pub kind: String,
    /// Its number: major in the upper half.
    pub handle: u32,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets that were sent late because of a rate limit.
    pub overlimits: u64,
    /// Packets that the device gave back.
    pub requeues: u64,
    /// Bytes that wait.
    pub backlog_bytes: u64,
    /// Packets that wait.
    pub backlog_packets: u64,
}

/// One end of a pair of devices.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// The name of the device.
    pub name: &'a str,
    /// Its address on the link.
    pub address: [u8; 6],
}

/// What TCP is told by a route. What is `None` is the kernel's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// Initial congestion window in segments.
    pub initial_window: Option<u32>,
    /// Initial receive window in segments.
    pub initial_receive_window: Option<u32>,
    /// Least retransmission timeout over the smoothed round-trip time, in milliseconds.
    pub rto_min_millis: Option<u32>,
    /// Every segment is acknowledged at once.
    pub quick_acks: bool,
}

/// A route to a network.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The network: its address and the length of its prefix.
    pub to: (IpAddr, u8),
    /// The device it leads to.
    pub device: Index,
    /// The next hop; `None` if the network is on the link.
    pub via: Option<IpAddr>,
    /// The address that packets have whose socket has none. IPv6 wants it to be one that a device has.
    pub source: Option<IpAddr>,
    /// What TCP is told.
    pub metrics: Metrics,
}

/// A conversation with the kernel about the namespace of the thread that began it.
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Begins one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> io::Result<Netlink> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Looks a device up.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn link(&mut self, name: &str) -> io::Result<Link> {
        let mut message = Message::about_link(libc::RTM_GETLINK, 0, 0, false);
        message.text(IFLA_IFNAME, name);
        let answer = self.ask(message)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Link::read(&answer)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "what the kernel says of a device"))
    }

    /// All devices, by name.
    ///
    /// # Errors
    /// The kernel's.
    pub fn links(&mut self) -> io::Result<Vec<(String, Link)>> {
        let mut found = Vec::new();
        self.dump(Message::about_link(libc::RTM_GETLINK, libc::NLM_F_DUMP, 0, false), &mut |answer| {
            let name = attributes(answer.get(16..).unwrap_or_default()).find(|(kind, _)| *kind == IFLA_IFNAME);
            if let (Some((_, name)), Some(link)) = (name, Link::read(answer)) {
                found.push((text_of(name), link));
            }
        })?;
        Ok(found)
    }

    /// The queue disciplines of all devices.
    ///
    /// # Errors
    /// The kernel's.
    pub fn qdiscs(&mut self) -> io::Result<Vec<Qdisc>> {
        let mut message = Message::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP);
        // struct tcmsg: family and padding, device, handle, parent, info.
        message.0.extend([0; 20]);
        let mut found = Vec::new();
        self.dump(message, &mut |answer| found.extend(Qdisc::read(answer)))?;
        Ok(found)
    }

    /// Sends a request whose answer is many messages, and passes on each without its header.
    fn dump(&mut self, mut message: Message, visit: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.sequence += 1;
        let request = message.finish(self.sequence);
        send(self.socket.as_raw_fd(), request, MsgFlags::empty())?;
        let mut answer = vec![0; 64 * 1_024];
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            let mut rest = &answer[..length];
            while let Some(header) = rest.first_chunk::<HEADER>() {
                let word = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
                let length = word(0) as usize;
                let Some(body) = rest.get(HEADER..length) else { return Err(io::ErrorKind::UnexpectedEof.into()) };
                if word(8) == self.sequence {
                    match i32::from(u16::from_ne_bytes([header[4], header[5]])) {
                        libc::NLMSG_DONE => return Ok(()),
                        libc::NLMSG_ERROR => {
                            let code = body.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
                            return Err(io::Error::from_raw_os_error(-code));
                        }
                        _ => visit(body),
                    }
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }

    /// Sets the longest packet and the queue of a device.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_link(&mut self, device: Index, mtu: u32, queue_length: u32) -> io::Result<()> {
        let mut message = Message::about_link(libc::RTM_NEWLINK, 0, device, false);
        message.word(IFLA_MTU, mtu);
        message.word(IFLA_TXQLEN, queue_length);
        self.ask(message).map(drop)
    }

    /// Brings a device up. It is left out of multicast, of which nothing may be sent by itself (MLD).
    ///
    /// # Errors
    /// The kernel's.
    pub fn bring_up(&mut self, device: Index) -> io::Result<()> {
        self.ask(Message::about_link(libc::RTM_NEWLINK, 0, device, true)).map(drop)
    }

    /// Takes the queue away that the kernel keeps in front of a device: its own remains.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take_queue_away(&mut self, device: Index) -> io::Result<()> {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        let mut message = Message::new(libc::RTM_NEWQDISC, flags);
        // struct tcmsg: family and padding, device, handle, parent, info.
        for word in [0, device, 0, TC_H_ROOT, 0] {
            message.0.extend(word.to_ne_bytes());
        }
        message.text(TCA_KIND, "noqueue");
        self.ask(message).map(drop)
    }

    /// Makes a pair of devices such that what is sent by one is received by the other, which is in another namespace.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_pair(&mut self, here: End<'_>, there: End<'_>, namespace_there: impl AsFd) -> io::Result<()> {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut message = Message::about_link(libc::RTM_NEWLINK, flags, 0, false);
        message.end(here);
        message.nested(IFLA_LINKINFO, |information| {
            information.text(IFLA_INFO_KIND, "veth");
            information.nested(IFLA_INFO_DATA, |data| {
                data.nested(VETH_INFO_PEER, |other| {
                    other.0.extend(link_header(0, false));
                    other.end(there);
                    other.word(IFLA_NET_NS_FD, namespace_there.as_fd().as_raw_fd() as u32);
                });
            });
        });
        self.ask(message).map(drop)
    }

    /// Makes every address of a network one of this namespace.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_local_network(&mut self, (network, prefix): (IpAddr, u8)) -> io::Result<()> {
        let kind = (libc::RT_TABLE_LOCAL, libc::RT_SCOPE_HOST, libc::RTN_LOCAL);
        let mut message = Message::about_route((network, prefix), kind, 0);
        message.word(libc::RTA_OIF, LOOPBACK);
        self.ask(message).map(drop)
    }

    /// Takes a part of a network out of those that [`Self::add_local_network`] made local: other routes say where it is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take_out_of_local(&mut self, (network, prefix): (IpAddr, u8)) -> io::Result<()> {
        let kind = (libc::RT_TABLE_LOCAL, libc::RT_SCOPE_UNIVERSE, libc::RTN_THROW);
        let message = Message::about_route((network, prefix), kind, 0);
        self.ask(message).map(drop)
    }

    /// Adds a route.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_route(&mut self, route: &Route) -> io::Result<()> {
        let (scope, flags) = match route.via {
            Some(_) => (libc::RT_SCOPE_UNIVERSE, RTNH_F_ONLINK),
            None => (libc::RT_SCOPE_LINK, 0),
        };
        let kind = (libc::RT_TABLE_MAIN, scope, libc::RTN_UNICAST);
        let mut message = Message::about_route(route.to, kind, flags);
        message.word(libc::RTA_OIF, route.device);
        for (kind, address) in [(libc::RTA_GATEWAY, route.via), (libc::RTA_PREFSRC, route.source)] {
            if let Some(address) = address {
                message.address(kind, address);
            }
        }
        if route.metrics != Metrics::default() {
            message.nested(libc::RTA_METRICS, |metrics| route.metrics.write(metrics));
        }
        self.ask(message).map(drop)
    }

    /// Says once and for all which address on the link a neighbour has.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_neighbour(&mut self, device: Index, neighbour: IpAddr, address: [u8; 6]) -> io::Result<()> {
        let mut message = Message::new(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE | libc::NLM_F_REPLACE);
        // struct ndmsg: family, padding, device, state, flags, type.
        message.0.extend([family(neighbour), 0, 0, 0]);
        message.0.extend(device.to_ne_bytes());
        message.0.extend(libc::NUD_PERMANENT.to_ne_bytes());
        message.0.extend([0, 0]);
        message.address(libc::NDA_DST, neighbour);
        message.attribute(libc::NDA_LLADDR, &address);
        self.ask(message).map(drop)
    }

    /// Sends a request, and waits for its answer; `None` if it is that all went well.
    fn ask(&mut self, mut message: Message) -> io::Result<Option<Vec<u8>>> {
        self.sequence += 1;
        let request = message.finish(self.sequence);
        send(self.socket.as_raw_fd(), request, MsgFlags::empty())?;
        let mut answer = vec![0; 32 * 1_024];
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            let Some(header) = answer[..length].first_chunk::<HEADER>() else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            let word = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            if word(8) != self.sequence {
                continue; // Of a request whose answer nobody waited for.
            }
            let kind = u16::from_ne_bytes([header[4], header[5]]);
            if i32::from(kind) != libc::NLMSG_ERROR {
                return Ok(Some(answer[HEADER..length.min(word(0) as usize)].to_vec()));
            }
            let code = answer[HEADER..length].first_chunk().map(|bytes| i32::from_ne_bytes(*bytes));
            return match code {
                Some(0) => Ok(None),
                Some(code) => Err(io::Error::from_raw_os_error(-code)),
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
    }
}

impl Link {
    /// Reads `struct ifinfomsg` and its attributes.
    fn read(answer: &[u8]) -> Option<Link> {
        let is_up = word_at(answer, 8)? & libc::IFF_UP as u32 != 0;
        let index = word_at(answer, 4)?;
        let mut link = Link { index, mtu: 0, queue_length: 0, counts: LinkCounts::default(), is_up };
        for (kind, value) in attributes(answer.get(16..)?) {
            match kind {
                IFLA_MTU => link.mtu = word_at(value, 0)?,
                IFLA_TXQLEN => link.queue_length = word_at(value, 0)?,
                IFLA_STATS64 => link.counts = LinkCounts::read(value)?,
                _ => {}
            }
        }
        Some(link)
    }
}

impl Qdisc {
    /// Reads `struct tcmsg` and its attributes (linux/gen_stats.h).
    fn read(answer: &[u8]) -> Option<Qdisc> {
        let mut qdisc = Qdisc { device: word_at(answer, 4)?, handle: word_at(answer, 8)?, ..Qdisc::default() };
        for (kind, value) in attributes(answer.get(20..)?) {
            match kind {
                TCA_KIND => qdisc.kind = text_of(value),
                TCA_STATS2 => {
                    for (kind, value) in attributes(value) {
                        qdisc.count(kind, value);
                    }
                }
                _ => {}
            }
        }
        Some(qdisc)
    }

    fn count(&mut self, kind: u16, value: &[u8]) {
        let word = |at| word_at(value, at).map_or(0, u64::from);
        let long = |at: usize| {
            let bytes = value.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
        };
        match kind {
            TCA_STATS_BASIC => {
                self.bytes = long(0);
                self.packets = self.packets.max(word(8));
            }
            // All bits of the packets; it is there where there are more than 32.
            TCA_STATS_PKT64 => self.packets = long(0),
            TCA_STATS_QUEUE => {
                self.backlog_packets = word(0);
                self.backlog_bytes = word(4);
                self.drops = word(8);
                self.requeues = word(12);
                self.overlimits = word(16);
            }
            _ => {}
        }
    }
}

fn word_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// The attributes in `bytes`: kinds without flags, and values.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let &[a, b, c, d] = bytes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([c, d]) & !NESTED, value))
    })
}

/// The text of an attribute, which ends in a zero.
fn text_of(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()
}

impl LinkCounts {
    /// Reads `struct rtnl_link_stats64`.
    fn read(bytes: &[u8]) -> Option<LinkCounts> {
        let mut counts = bytes.chunks_exact(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")));
        let mut next = || counts.next();
        let (received_packets, sent_packets, received_bytes, sent_bytes) = (next()?, next()?, next()?, next()?);
        let (received_errors, sent_errors, received_drops, sent_drops) = (next()?, next()?, next()?, next()?);
        Some(LinkCounts {
            received_packets,
            sent_packets,
            received_bytes,
            sent_bytes,
            received_drops: received_drops + received_errors,
            sent_drops: sent_drops + sent_errors,
        })
    }
}

impl Metrics {
    fn write(&self, into: &mut Message) {
        // A least timeout holds only where the metric is locked (`tcp_rto_min`).
        if let Some(millis) = self.rto_min_millis {
            into.word(RTAX_LOCK, 1 << RTAX_RTO_MIN);
            into.word(RTAX_RTO_MIN, millis);
        }
        for (kind, value) in [(RTAX_INITCWND, self.initial_window), (RTAX_INITRWND, self.initial_receive_window)] {
            if let Some(value) = value {
                into.word(kind, value);
            }
        }
        if self.quick_acks {
            into.word(RTAX_QUICKACK, 1);
        }
    }
}

/// A request, or a nested attribute, as far as it is written.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: i32) -> Message {
        let acknowledged = if matches!(kind, libc::RTM_GETLINK | libc::RTM_GETQDISC) { 0 } else { libc::NLM_F_ACK };
        let flags = (libc::NLM_F_REQUEST | acknowledged | flags) as u16;
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        Message(bytes)
    }

    fn about_link(kind: u16, flags: i32, device: Index, up: bool) -> Message {
        let mut message = Message::new(kind, flags);
        message.0.extend(link_header(device, up));
        message
    }

    fn about_route((network, prefix): (IpAddr, u8), (table, scope, kind): (u8, u8, u8), flags: u32) -> Message {
        let mut message = Message::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        // struct rtmsg: family, lengths of both prefixes, type of service, table, protocol, scope, type, flags.
        message.0.extend([family(network), prefix, 0, 0, table, RTPROT_STATIC, scope, kind]);
        message.0.extend(flags.to_ne_bytes());
        message.address(libc::RTA_DST, network);
        message
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(4 + value.len()).expect("an attribute is short");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn address(&mut self, kind: u16, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.attribute(kind, &address.octets()),
            IpAddr::V6(address) => self.attribute(kind, &address.octets()),
        }
    }

    fn word(&mut self, kind: u16, value: u32) {
        self.attribute(kind, &value.to_ne_bytes());
    }

    fn text(&mut self, kind: u16, value: &str) {
        let bytes: Vec<u8> = value.bytes().chain([0]).collect();
        debug_assert!(CStr::from_bytes_with_nul(&bytes).is_ok());
        self.attribute(kind, &bytes);
    }

    fn end(&mut self, end: End<'_>) {
        self.text(IFLA_IFNAME, end.name);
        self.attribute(IFLA_ADDRESS, &end.address);
    }

    fn nested(&mut self, kind: u16, write: impl FnOnce(&mut Message)) {
        let mut inner = Message(Vec::new());
        write(&mut inner);
        self.attribute(kind | NESTED, &inner.0);
    }

    /// The whole request, with its length and number.
    fn finish(&mut self, sequence: u32) -> &[u8] {
        let length = u32::try_from(self.0.len()).expect("a request is short");
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0[8..12].copy_from_slice(&sequence.to_ne_bytes());
        &self.0
    }
}

/// `struct ifinfomsg`: family and padding, type, device, flags, which of them to change.
fn link_header(device: Index, up: bool) -> Vec<u8> {
    let (up, changed) = if up { (libc::IFF_UP, libc::IFF_UP | libc::IFF_MULTICAST) } else { (0, 0) };
    [0, device, up as u32, changed as u32].into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// The family of an address.
fn family(address: IpAddr) -> u8 {
    (if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}
