//! Flows of datagrams of a worker: two sockets for all of them, one for each role; or two for each version of IP, and on each host.
//!
//! Each flow has addresses of its own all the same: a datagram says from which address it goes, and to which it came (IP_PKTINFO, IPV6_PKTINFO), and
//! these say whose it is ([`addresses`]). So flows take no descriptors, however many there are.
//!
//! What sends a flow is the simulator's machine ([`DatagramSource`]); this gives it its times, and counts what comes.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use flowloom_core::play::{Datagram, DatagramSink, DatagramSource, Probes};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{IpVersion, Side};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrStorage, bind, recvmsg, sendmsg,
    setsockopt, sockopt,
};

use super::label;
use super::namespaces::Namespaces;
use super::socket::{all_addresses, of_version};
use crate::addresses::{self, Addressing, Serial};
use crate::control::{Assignment, EndReport, Ended, Orders};
use crate::host::sys;

/// Room for datagrams that came and were not taken in, in bytes; without the privilege for it, what net.core.rmem_max allows.
const BUFFER_BYTES: usize = 32 << 20;

/// A datagram for which the kernel had no room is sent this much later.
const AGAIN: Duration = Duration::from_micros(200);

/// Datagrams that an end sends in its turn, before others have theirs.
const TURN: u32 = 64;

/// What is sent behind its label: its bytes mean nothing.
const MOST_BYTES: usize = 1 << 16;

/// A socket of all ends of a role.
#[derive(Debug)]
pub struct DatagramSocket(OwnedFd);

/// A datagram that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its sender's address in IPv4.
    pub from: Ipv4Addr,
    /// The address that it was sent to, likewise.
    pub to: Ipv4Addr,
    /// Its payload in bytes.
    pub bytes: u32,
    /// How that begins.
    pub head: [u8; label::BYTES],
}

impl DatagramSocket {
    /// On this port of all addresses of a version of IP.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind(version: IpVersion, port: u16) -> io::Result<DatagramSocket> {
        let fd = of_version(version, SockType::Datagram, SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC)?;
        match version {
            IpVersion::V4 => setsockopt(&fd, sockopt::Ipv4PacketInfo, &true)?,
            IpVersion::V6 => setsockopt(&fd, sockopt::Ipv6RecvPacketInfo, &true)?,
        }
        setsockopt(&fd, sockopt::RcvBufForce, &BUFFER_BYTES)
            .or_else(|_| setsockopt(&fd, sockopt::RcvBuf, &BUFFER_BYTES))?;
        setsockopt(&fd, sockopt::SndBufForce, &BUFFER_BYTES)
            .or_else(|_| setsockopt(&fd, sockopt::SndBuf, &BUFFER_BYTES))?;
        bind(fd.as_raw_fd(), &SockaddrStorage::from(all_addresses(version, port)))?;
        Ok(DatagramSocket(fd))
    }

    /// Sends `payload` from this address; whether there was room for it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn send(&self, from: IpAddr, to: SocketAddr, payload: &[u8]) -> io::Result<bool> {
        let (in_v4, in_v6);
        let control = match from {
            IpAddr::V4(from) => {
                in_v4 = libc::in_pktinfo {
                    ipi_ifindex: 0,
                    ipi_spec_dst: libc::in_addr { s_addr: from.to_bits().to_be() },
                    ipi_addr: libc::in_addr { s_addr: 0 },
                };
                [ControlMessage::Ipv4PacketInfo(&in_v4)]
            }
            IpAddr::V6(from) => {
                in_v6 = libc::in6_pktinfo { ipi6_ifindex: 0, ipi6_addr: libc::in6_addr { s6_addr: from.octets() } };
                [ControlMessage::Ipv6PacketInfo(&in_v6)]
            }
        };
        let sent = sendmsg(
            self.0.as_raw_fd(),
            &[io::IoSlice::new(payload)],
            &control,
            MsgFlags::MSG_DONTWAIT,
            Some(&SockaddrStorage::from(to)),
        );
        match sent {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::ENOBUFS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The next datagram that came; `None` if there is none.
    ///
    /// # Errors
    /// The kernel's.
    pub fn receive(&self) -> io::Result<Option<Received>> {
        let mut head = [0; label::BYTES];
        let mut control = cmsg_space!(libc::in6_pktinfo);
        loop {
            let mut into = [io::IoSliceMut::new(&mut head)];
            // With MSG_TRUNC it says how long the datagram is, of which the beginning is enough.
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
            let came = match recvmsg::<SockaddrStorage>(self.0.as_raw_fd(), &mut into, Some(&mut control), flags) {
                Err(Errno::EAGAIN) => return Ok(None),
                // Of a datagram that was sent before, to where nobody was.
                Err(Errno::EINTR | Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH) => continue,
                other => other?,
            };
            let to = came.cmsgs()?.find_map(|message| match message {
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    Some(Ipv4Addr::from_bits(u32::from_be(info.ipi_addr.s_addr)).into())
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into()),
                _ => None,
            });
            let from = came.address.as_ref().and_then(address);
            // Other addresses of IPv6 are nobody's here.
            let in_ipv4 = |address| addresses::in_ipv4(address).unwrap_or(Ipv4Addr::UNSPECIFIED);
            if let (Some(from), Some(to)) = (from.map(in_ipv4), to.map(in_ipv4)) {
                let bytes = u32::try_from(came.bytes).unwrap_or(u32::MAX);
                return Ok(Some(Received { from, to, bytes, head }));
            }
        }
    }
}

/// The address of a sender.
fn address(of: &SockaddrStorage) -> Option<IpAddr> {
    let in_v4 = of.as_sockaddr_in().map(|address| address.ip().into());
    in_v4.or_else(|| of.as_sockaddr_in6().map(|address| address.ip().into()))
}

/// The ends of flows of datagrams that a worker plays.
#[derive(Debug)]
pub struct DatagramEnds {
    orders: Orders,
    addressing: Addressing,
    /// Of initiators, and of acceptors: one pair for each version of IP, or these on each host.
    sockets: Vec<[DatagramSocket; 2]>,
    ends: BTreeMap<Serial, End>,
    payload: Box<[u8]>,
    /// Ends that have come to say nothing more, since this was asked last.
    silent: Vec<Serial>,
    /// All ends are over, wherever their last datagrams are.
    is_cut: bool,
    strangers: u64,
    /// Answers of probes for which the kernel had no room.
    lost_answers: u64,
}

/// One end.
#[derive(Debug)]
struct End {
    side: Side,
    /// Its place among pairs of sockets.
    place: usize,
    own: IpAddr,
    peer: SocketAddr,
    /// What it sends; an acceptor sends nothing but answers.
    source: Option<DatagramSource>,
    /// Whether datagrams are probes: an acceptor answers each at once.
    answers: bool,
    /// Of an initiator: its probes, and their answers.
    probes: Option<Probes>,
    /// When it sent something last.
    last_sent: Time,
    /// It waits for no more answers.
    gave_up: bool,
    /// It has been said that it is silent.
    is_silent: bool,
    /// What the kernel had no room for yet.
    unsent: Option<Datagram>,
    sink: DatagramSink,
    started: Option<Time>,
    first_sent: Option<Time>,
    failed: Option<i32>,
}

/// What a turn of an end came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// When it wants to be woken next.
    pub next: Option<Time>,
    /// How late its first datagram was, if it was that.
    pub start: Option<Duration>,
    /// How late each of the others was.
    pub waits: Vec<Duration>,
}

impl DatagramEnds {
    /// None yet, for the worker of these orders, whose thread is at home in these namespaces.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(orders: &Orders, namespaces: &mut Namespaces) -> io::Result<DatagramEnds> {
        let number = orders.number;
        let ports = [addresses::FIRST_EPHEMERAL_PORT + number, addresses::FIRST_PORT + number];
        let mut sockets = Vec::new();
        for &version in orders.versions() {
            sockets.extend(namespaces.on_each(|| {
                let [initiators, acceptors] = ports.map(|port| DatagramSocket::bind(version, port));
                Ok([initiators?, acceptors?])
            })?);
        }
        Ok(DatagramEnds {
            orders: orders.clone(),
            addressing: orders.addressing(),
            sockets,
            ends: BTreeMap::new(),
            payload: vec![0; MOST_BYTES].into(),
            silent: Vec::new(),
            is_cut: false,
            strangers: 0,
            lost_answers: 0,
        })
    }

    /// Has it told, under these numbers, when datagrams have come to an initiator or to an acceptor.
    ///
    /// # Errors
    /// The kernel's.
    pub fn watch(&self, epoll: &Epoll, tokens: [u64; 2]) -> io::Result<()> {
        for (socket, token) in self.sockets.iter().flat_map(|pair| pair.iter().zip(tokens)) {
            epoll.add(&socket.0, EpollEvent::new(EpollFlags::EPOLLIN, token))?;
        }
        Ok(())
    }

    /// Takes an end to play; when it wants to be woken. `None` if it is there already, or there are no sockets for it.
    pub fn assign(&mut self, assignment: &Assignment) -> Option<Option<Time>> {
        let &Assignment { serial, hosts, side, version, ref vector, ref datagrams, .. } = assignment;
        // Those of hosts, or one pair, in each version.
        let at = self.orders.versions().iter().position(|known| *known == version)?;
        let place = at * self.orders.hosts.len().max(1) + usize::from(hosts[side]);
        if self.ends.contains_key(&serial) || place >= self.sockets.len() {
            return None;
        }
        let workers = self.orders.workers;
        let (initiator, acceptor) = self.addressing.of_connection(serial, vector.initiator_side, hosts);
        let [initiator, acceptor] = [initiator, acceptor].map(|address| addresses::in_version(version, address));
        let (own, peer) = match side {
            Side::Initiator => (initiator, SocketAddr::new(acceptor, addresses::port(serial, workers))),
            Side::Acceptor => (acceptor, SocketAddr::new(initiator, addresses::datagram_port(serial, workers))),
        };
        let answers = datagrams.as_ref().is_some_and(|params| params.answered);
        let params = datagrams.clone().filter(|_| side == Side::Initiator);
        let source = params.map(|params| DatagramSource::new(params, self.orders.seed, vector.id));
        let mut end = End { place, ..End::new(side, own, peer, source, answers) };
        let next = end.deadline();
        end.note_silence(serial, &mut self.silent);
        self.ends.insert(serial, end);
        Some(next)
    }

    /// An end is woken: sends what is due.
    pub fn wake(&mut self, serial: Serial, now: Time) -> Turn {
        let DatagramEnds { ends, sockets, payload, silent, .. } = self;
        let mut turn = Turn::default();
        let Some(end) = ends.get_mut(&serial) else { return turn };
        if end.deadline().is_none_or(|due| due > now) {
            // Woken for what was sent already, or is cut.
            turn.next = end.deadline();
            return turn;
        }
        end.started.get_or_insert(now);
        let has_room = end.send_due(&sockets[end.place][end.side as usize], payload, now, &mut turn);
        end.gave_up |= end.patience().is_some_and(|until| until <= now);
        turn.next = if has_room { end.deadline() } else { Some(now + AGAIN) };
        if has_room {
            end.note_silence(serial, silent);
        }
        turn
    }

    /// Takes in datagrams that came to initiators or to acceptors, at most so many.
    ///
    /// # Errors
    /// The socket's.
    pub fn receive(&mut self, role: Side, most: usize, now: impl Fn() -> Time) -> io::Result<()> {
        for place in 0..self.sockets.len() {
            self.receive_on(place, role, most, &now)?;
        }
        Ok(())
    }

    fn receive_on(&mut self, place: usize, role: Side, most: usize, now: impl Fn() -> Time) -> io::Result<()> {
        for _ in 0..most {
            let Some(came) = self.sockets[place][role as usize].receive()? else { break };
            let (initiator, acceptor) = match role {
                Side::Initiator => (came.to, came.from),
                Side::Acceptor => (came.from, came.to),
            };
            let sides = [came.from, came.to].map(addresses::side_of);
            let is_inward = sides == [Some(self.orders.side.other()), Some(self.orders.side)];
            let serial = self.addressing.serial(initiator, acceptor).filter(|_| is_inward);
            let DatagramEnds { ends, sockets, payload, silent, is_cut, lost_answers, .. } = self;
            let end = serial.and_then(|serial| Some((serial, ends.get_mut(&serial)?)));
            match end.filter(|(_, end)| end.side == role) {
                Some((serial, end)) => {
                    let (socket, own, peer) = (&sockets[place][role as usize], end.own, end.peer);
                    let has_room = end.take_in(&came, &now, payload, |answer| socket.send(own, peer, answer));
                    *lost_answers += u64::from(!has_room);
                    end.note_silence(serial, silent);
                }
                // It was on the way.
                None if *is_cut && serial.is_some() => {}
                None => self.strangers += 1,
            }
        }
        Ok(())
    }

    /// Ends that have come to say nothing more, since this was asked last.
    pub fn take_silent(&mut self) -> Option<Vec<Serial>> {
        (!self.silent.is_empty()).then(|| std::mem::take(&mut self.silent))
    }

    /// An end is over: what it was. `None` if there is no such.
    pub fn finish(&mut self, serial: Serial) -> Option<EndReport> {
        self.ends.remove(&serial).map(|end| end.finish(serial))
    }

    /// All ends are over: what they were.
    pub fn finish_all(&mut self) -> Vec<EndReport> {
        self.is_cut = true;
        std::mem::take(&mut self.ends).into_iter().map(|(serial, end)| end.finish(serial)).collect()
    }

    /// Datagrams of nobody.
    pub fn strangers(&self) -> u64 {
        self.strangers
    }

    /// Datagrams that the sockets lost: received too late, or answers for which they had no room.
    pub fn drops(&self) -> u64 {
        let received =
            self.sockets.iter().flatten().map(|socket| u64::from(sys::receive_drops(&socket.0).unwrap_or(0)));
        received.sum::<u64>() + self.lost_answers
    }
}

impl End {
    /// An end at `own` with the first pair of sockets, whose other end is at `peer`; `answers`: datagrams are probes.
    fn new(side: Side, own: IpAddr, peer: SocketAddr, source: Option<DatagramSource>, answers: bool) -> End {
        End {
            side,
            place: 0,
            own,
            peer,
            source,
            answers,
            probes: (answers && side == Side::Initiator).then(Probes::default),
            last_sent: Time::ZERO,
            gave_up: false,
            is_silent: false,
            unsent: None,
            sink: DatagramSink::default(),
            started: None,
            first_sent: None,
            failed: None,
        }
    }

    /// When it has something to send.
    fn deadline(&self) -> Option<Time> {
        match self.unsent {
            _ if self.failed.is_some() => None,
            Some(unsent) => Some(unsent.sent),
            None => self.source.as_ref()?.next_timeout().or_else(|| self.patience()),
        }
    }

    /// Until when it waits for answers, once its last probe has been sent.
    fn patience(&self) -> Option<Time> {
        let is_last = self.source.as_ref()?.next_timeout().is_none() && !self.gave_up;
        self.probes.as_ref().filter(|probes| is_last && !probes.are_answered())?;
        Some(self.last_sent + Probes::PATIENCE)
    }

    /// Adds it to those that have come to say nothing more, once it is one.
    fn note_silence(&mut self, serial: Serial, silent: &mut Vec<Serial>) {
        if self.deadline().is_none() && !self.is_silent {
            self.is_silent = true;
            silent.push(serial);
        }
    }

    /// Sends what is due, but no more than fits into a turn; whether the kernel had room for it.
    fn send_due(&mut self, socket: &DatagramSocket, payload: &mut [u8], now: Time, turn: &mut Turn) -> bool {
        for _ in 0..TURN {
            let next = self.unsent.take().or_else(|| {
                let source = self.source.as_mut()?;
                source.handle_timeout(now);
                source.poll()
            });
            let Some(datagram) = next else { return true };
            let bytes = &mut payload[..datagram.bytes as usize];
            label::write(datagram.number, datagram.sent, bytes);
            match socket.send(self.own, self.peer, bytes) {
                Ok(true) => {}
                Ok(false) => {
                    self.unsent = Some(datagram);
                    return false;
                }
                Err(error) => {
                    self.unsent = Some(datagram);
                    self.failed = Some(error.raw_os_error().unwrap_or(libc::EIO));
                    return true;
                }
            }
            self.last_sent = now;
            if let Some(probes) = &mut self.probes {
                probes.handle_sent(&datagram, now);
            }
            let late = now.since(datagram.sent);
            if self.first_sent.is_none() {
                self.first_sent = Some(now);
                turn.start = Some(late);
            } else {
                turn.waits.push(late);
            }
        }
        // Others have their turns, and then it goes on with what is due.
        true
    }

    /// Takes in a datagram, and answers it with `send` if it is a probe. False: the kernel had no room for the answer, which is lost as
    /// one that a full queue drops, and the flow goes on.
    fn take_in(
        &mut self,
        came: &Received,
        clock: &impl Fn() -> Time,
        payload: &mut [u8],
        send: impl FnOnce(&[u8]) -> io::Result<bool>,
    ) -> bool {
        let now = clock();
        let mut has_room = true;
        let (number, sent) = label::read(&came.head, came.bytes, self.sink.expected(), now);
        if let Some(probes) = &mut self.probes {
            probes.handle_answer(number, sent, now);
        } else if self.answers {
            let bytes = &mut payload[..(came.bytes as usize).min(MOST_BYTES)];
            label::write(number, now, bytes);
            match send(bytes) {
                Ok(sent) => has_room = sent,
                Err(error) => self.failed = Some(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        }
        match sent {
            Some(sent) => self.sink.handle_datagram(now, Datagram { number, sent, bytes: came.bytes }),
            None => drop(self.sink.handle_undated(now, number, came.bytes)),
        }
        has_room
    }

    fn finish(self, serial: Serial) -> EndReport {
        let is_all_sent = self.deadline().is_none();
        let (packets, bytes) = self.source.as_ref().map_or((0, 0), DatagramSource::sent);
        let unsent = self.unsent.map_or((0, 0), |datagram| (1, u64::from(datagram.bytes)));
        let ended = match self.failed {
            Some(error) => Ended::Error(error),
            None if is_all_sent => Ended::Completed,
            None => Ended::Cut,
        };
        EndReport {
            started: self.started,
            first_sent: self.first_sent,
            last_received: self.sink.last_came,
            received_bytes: self.sink.bytes,
            sent_bytes: bytes - unsent.1,
            datagrams: Some((packets - unsent.0, self.sink)),
            probes: self.probes,
            ..EndReport::without(serial, self.side, ended)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_socket_loses_answers_and_no_flow() {
        let [own, peer] = [2, 1].map(|last| Ipv4Addr::new(10, 0, 0, last));
        let mut payload = vec![0; MOST_BYTES];
        let mut answer = |end: &mut End, number: u64, sent: io::Result<bool>| {
            let mut head = [0; label::BYTES];
            label::write(number, Time::ZERO, &mut head);
            let probe = Received { from: peer, to: own, bytes: 64, head };
            end.take_in(&probe, &|| Time::ZERO, &mut payload, |_| sent)
        };
        let mut end = End::new(Side::Acceptor, own.into(), SocketAddr::new(peer.into(), 0), None, true);
        assert!(answer(&mut end, 0, Ok(true)));
        assert!(!answer(&mut end, 1, Ok(false)), "the answer is counted as lost");
        assert!(answer(&mut end, 2, Ok(true)));
        let report = end.finish(0);
        assert_eq!(report.ended, Ended::Completed);
        assert_eq!(report.datagrams.map(|(_, sink)| sink.packets), Some(3), "all probes were taken in");
        // Another error ends the flow as before.
        let mut end = End::new(Side::Acceptor, own.into(), SocketAddr::new(peer.into(), 0), None, true);
        assert!(answer(&mut end, 0, Err(io::Error::from_raw_os_error(libc::EPERM))));
        assert_eq!(end.finish(0).ended, Ended::Error(libc::EPERM));
    }
}
