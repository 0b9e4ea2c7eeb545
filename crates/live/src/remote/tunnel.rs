//! A tunnel: IP packets of a side in datagrams between its host and the emulator's.
//!
//! A datagram is 16 bytes and a packet. The first eight are the tunnel's token, without which it is passed over: whoever does
//! not see the datagrams cannot make any. Of the others the highest is the kind, the rest a number, so that each end knows what the
//! way lost. They are not encrypted: packets of a run hold no data.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::{LinkSide, Side};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::time::TimeSpec;

use crate::addresses::{self, Addressing, Serial};
use crate::budget::Budget;
use crate::clock::Clock;
use crate::device::Device;
use crate::emulator::frame::{Frame, Transport};

/// What is in front of a packet.
const HEADER: usize = 16;
/// The longest packet, and what is in front of it.
const ROOM: usize = HEADER + 2_048;
/// Packets taken from one side before the other has its turn.
const BATCH: usize = 64;
/// The time whose share of the rate a host may send at once.
const AT_ONCE: Duration = Duration::from_millis(100);

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Packet = 0,
    /// To be sent back as an [`Kind::Answer`].
    Question = 1,
    Answer = 2,
}

/// Writes the header of a datagram.
fn head(into: &mut [u8; HEADER], token: u64, kind: Kind, number: u64) {
    into[..8].copy_from_slice(&token.to_be_bytes());
    into[8..].copy_from_slice(&((kind as u64) << 56 | number & ((1 << 56) - 1)).to_be_bytes());
}

/// Reads a datagram: its kind, its number, and what is behind; `None` if it is none of this tunnel.
fn open(datagram: &[u8], token: u64) -> Option<(Kind, u64, &[u8])> {
    let (header, packet) = datagram.split_first_chunk::<HEADER>()?;
    let [token_bytes, rest] = [&header[..8], &header[8..]].map(|part| part.try_into().map(u64::from_be_bytes));
    let (found, rest) = (token_bytes.ok()?, rest.ok()?);
    let kind = match rest >> 56 {
        0 => Kind::Packet,
        1 => Kind::Question,
        2 => Kind::Answer,
        _ => return None,
    };
    (found == token).then_some((kind, rest & ((1 << 56) - 1), packet))
}

/// What came of numbered packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sequence {
    /// One more than the largest that came.
    next: u64,
    came: u64,
}

impl Sequence {
    fn take(&mut self, number: u64) {
        self.next = self.next.max(number + 1);
        self.came += 1;
    }

    /// How many did not come, of those before the last that did. One that came twice makes up for one that did not.
    fn lost(&self) -> u64 {
        self.next.saturating_sub(self.came)
    }
}

/// The end of a tunnel at the host of a side.
#[derive(Debug)]
pub struct NearEnd {
    socket: UdpSocket,
    token: u64,
    sent: u64,
    sequence: Sequence,
    budget: Budget,
    /// Bytes of the headers of IP and UDP.
    headers: u64,
    clock: Clock,
    no_room: u64,
    losses: Arc<Losses>,
    /// The last question and when it was asked.
    asked: (u64, Time),
    /// What the quickest answer took.
    round_trip: Option<Duration>,
}

/// What was lost at the host's end of a tunnel, or on the way to it, so far.
#[derive(Debug, Default)]
pub struct Losses {
    /// Packets for the side: on the way, or because its device had no room.
    pub of_others: AtomicU64,
    /// Packets of the side that were too many for what its host may send.
    pub of_its_own: AtomicU64,
}

impl NearEnd {
    /// One to the emulator's host, that sends at most at this rate, in IP packets.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(emulator: SocketAddr, token: u64, most: Rate) -> io::Result<NearEnd> {
        let any: IpAddr = if emulator.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
        NearEnd::between(SocketAddr::new(any, 0), emulator, token, most)
    }

    /// One at `own` whose other end is one like it, of the other side.
    ///
    /// # Errors
    /// The kernel's.
    pub fn between(own: SocketAddr, other: SocketAddr, token: u64, most: Rate) -> io::Result<NearEnd> {
        let socket = UdpSocket::bind(own)?;
        // Nothing of others comes in from now on.
        socket.connect(other)?;
        socket.set_nonblocking(true)?;
        Ok(NearEnd {
            socket,
            token,
            sent: 0,
            sequence: Sequence::default(),
            budget: Budget::new(most, AT_ONCE),
            headers: if other.is_ipv4() { 20 + 8 } else { 40 + 8 },
            clock: Clock::starting_in(Duration::ZERO),
            no_room: 0,
            losses: Arc::default(),
            asked: (0, Time::ZERO),
            round_trip: None,
        })
    }

    /// Asks the other end for an answer. An answer that comes after the next question does not count.
    pub fn ask(&mut self) {
        self.asked = (self.asked.0 + 1, self.clock.now());
        let mut question = [0; HEADER];
        head(&mut question, self.token, Kind::Question, self.asked.0);
        // One that cannot be sent has no answer.
        let _ = self.socket.send(&question);
    }

    /// What the quickest answer took, there and back.
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    /// Its port.
    ///
    /// # Errors
    /// The kernel's.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// What was lost so far, also while packets are carried.
    pub fn losses(&self) -> Arc<Losses> {
        Arc::clone(&self.losses)
    }

    /// Carries what there is of packets between the device of the side and the other end.
    ///
    /// # Errors
    /// The device is gone.
    pub fn carry(&mut self, device: &mut impl Device) -> io::Result<()> {
        let mut more = true;
        let mut datagram = [0; ROOM];
        while more {
            more = false;
            for read in 0..BATCH {
                let Some(length) = device.read(&mut datagram[HEADER..])? else { break };
                more |= read + 1 == BATCH;
                self.send(&mut datagram[..HEADER + length]);
            }
            for received in 0..BATCH {
                let length = match self.socket.recv(&mut datagram) {
                    Ok(length) => length,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // That nobody is there at the other end is told by the stream that the run talks over.
                    Err(_) => continue,
                };
                more |= received + 1 == BATCH;
                self.take(device, &datagram[..length])?;
            }
        }
        self.losses.of_others.store(self.sequence.lost() + self.no_room, Ordering::Relaxed);
        Ok(())
    }

    /// Waits until there is something to carry, for so long at most.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(&self, device: &impl Device, patience: Duration) -> io::Result<()> {
        let mut readable = [device.as_fd(), self.socket.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let patience = TimeSpec::from(std::time::Duration::from_nanos(patience.as_nanos()));
        match ppoll(&mut readable, Some(patience), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a packet, in front of which there is room, unless that would be more than the host may send.
    fn send(&mut self, datagram: &mut [u8]) {
        let (now, bytes) = (self.clock.now(), datagram.len() as u64 + self.headers);
        if self.budget.allows(now, bytes) < bytes {
            self.losses.of_its_own.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let Some(header) = datagram.first_chunk_mut() else { return };
        head(header, self.token, Kind::Packet, self.sent);
        self.sent += 1;
        self.budget.spend(now, bytes);
        // One that the kernel has no room for is lost on the way, and counted at the other end.
        let _ = self.socket.send(datagram);
    }

    fn take(&mut self, device: &mut impl Device, datagram: &[u8]) -> io::Result<()> {
        match open(datagram, self.token) {
            Some((Kind::Packet, number, packet)) => {
                self.sequence.take(number);
                self.no_room += u64::from(!device.write(packet)?);
            }
            Some((Kind::Question, number, _)) => {
                let mut answer = [0; HEADER];
                head(&mut answer, self.token, Kind::Answer, number);
                // A question that is not answered is asked again.
                let _ = self.socket.send(&answer);
            }
            Some((Kind::Answer, number, _)) if number == self.asked.0 => {
                let took = self.clock.now().since(self.asked.1);
                self.round_trip = Some(self.round_trip.map_or(took, |least| least.min(took)));
            }
            Some((Kind::Answer, ..)) | None => {}
        }
        Ok(())
    }
}

/// The connection of a packet, if it is of one.
pub(super) fn connection_of(packet: &[u8]) -> Option<Serial> {
    let frame = Frame::read(packet).ok()?;
    let ports = match frame.transport {
        Transport::Tcp(tcp) => tcp.ports,
        Transport::Udp(ports) => ports,
        Transport::Other => return None,
    };
    let (initiator, acceptor) = match addresses::sender(ports[0], ports[1])? {
        Side::Initiator => (frame.source, frame.destination),
        Side::Acceptor => (frame.destination, frame.source),
    };
    Addressing::Side.serial(initiator, acceptor)
}

/// A host of a side, as the emulator's end of its tunnel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where its end is.
    pub address: SocketAddr,
    /// Its token.
    pub token: u64,
    /// How many workers of its side come before its own.
    pub first_worker: u16,
}

/// The emulator's end of the tunnels to all hosts of a side: the side's device.
#[derive(Debug)]
pub struct PeerEnds {
    socket: UdpSocket,
    side: LinkSide,
    workers: u16,
    /// By the first of their workers.
    hosts: Vec<(Peer, Sequence, u64)>,
    buffer: Box<[u8; ROOM]>,
    lost: Arc<AtomicU64>,
}

impl PeerEnds {
    /// The tunnels by `socket` to the hosts of `side`, in the order of their workers, of which there are so many in all. What the ways here lose is counted in `lost`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(
        socket: UdpSocket,
        side: LinkSide,
        workers: u16,
        hosts: Vec<Peer>,
        lost: Arc<AtomicU64>,
    ) -> io::Result<PeerEnds> {
        socket.set_nonblocking(true)?;
        let hosts = hosts.into_iter().map(|host| (host, Sequence::default(), 0)).collect();
        Ok(PeerEnds { socket, side, workers, hosts, buffer: Box::new([0; ROOM]), lost })
    }

    /// What it takes to a host and back: asks, and waits for the answer for so long at most; `None` if none came.
    ///
    /// # Errors
    /// The kernel's.
    pub fn ask(&mut self, host: usize, number: u64, patience: PollTimeout) -> io::Result<Option<Duration>> {
        let clock = Clock::starting_in(Duration::ZERO);
        let (far, ..) = self.hosts[host];
        let mut question = [0; HEADER];
        head(&mut question, far.token, Kind::Question, number);
        self.socket.send_to(&question, far.address)?;
        loop {
            let mut readable = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
            if poll(&mut readable, patience)? == 0 {
                return Ok(None);
            }
            let Ok((length, from)) = self.socket.recv_from(&mut self.buffer[..]) else { continue };
            let answer = open(&self.buffer[..length], far.token);
            if from == far.address && matches!(answer, Some((Kind::Answer, found, _)) if found == number) {
                return Ok(Some(clock.now().since(Time::ZERO)));
            }
        }
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// The host that plays the end to which a packet goes: that of its connection's worker. What belongs to no connection goes to the
    /// first.
    fn host_of(&self, packet: &[u8]) -> usize {
        if self.hosts.len() == 1 {
            return 0;
        }
        let worker = connection_of(packet).map(|serial| addresses::worker(serial, self.workers));
        let after = |worker| self.hosts.partition_point(|(host, ..)| host.first_worker <= worker);
        worker.map_or(0, |worker| after(worker).saturating_sub(1))
    }

    fn count(&mut self, host: usize, number: u64) {
        let sequence = &mut self.hosts[host].1;
        let before = sequence.lost();
        sequence.take(number);
        // Late ones make up for what was counted before.
        self.lost.fetch_add(sequence.lost().wrapping_sub(before), Ordering::Relaxed);
    }
}

impl Device for PeerEnds {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        // However many strangers send, the emulator has its turn.
        for _ in 0..BATCH {
            let (length, from) = match self.socket.recv_from(&mut self.buffer[..]) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let host = self.hosts.iter().position(|(host, ..)| host.address == from);
            let Some((host, token)) = host.map(|host| (host, self.hosts[host].0.token)) else { continue };
            let Some((Kind::Packet, number, packet)) = open(&self.buffer[..length], token) else { continue };
            let length = packet.len().min(into.len());
            into[..length].copy_from_slice(&packet[..length]);
            self.count(host, number);
            return Ok(Some(length));
        }
        Ok(None)
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        let host = self.host_of(packet);
        let (far, _, sent) = &mut self.hosts[host];
        let Some(room) = self.buffer.get_mut(..HEADER + packet.len()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the packet is longer than a tunnel carries"));
        };
        room[HEADER..].copy_from_slice(packet);
        if let Some(header) = room.first_chunk_mut() {
            head(header, far.token, Kind::Packet, *sent);
        }
        match self.socket.send_to(room, far.address) {
            Ok(_) => {
                *sent += 1;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => Ok(false),
            Err(error) => {
                Err(io::Error::new(error.kind(), format!("{} ({} side): {error}", far.address, self.side.word())))
            }
        }
    }
}

impl AsFd for PeerEnds {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::VecDeque;
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn a_datagram_is_what_it_was_made_of_and_no_strangers() {
        let mut datagram = [0; HEADER + 3];
        datagram[HEADER..].copy_from_slice(b"abc");
        for (kind, number) in [(Kind::Packet, 0), (Kind::Question, 77), (Kind::Answer, (1 << 56) - 1)] {
            head(datagram.first_chunk_mut().unwrap(), 0x0123_4567_89ab_cdef, kind, number);
            assert_eq!(open(&datagram, 0x0123_4567_89ab_cdef), Some((kind, number, &b"abc"[..])));
            assert_eq!(open(&datagram, 0x0123_4567_89ab_cdee), None);
            assert_eq!(open(&datagram[..HEADER - 1], 0x0123_4567_89ab_cdef), None);
        }
        datagram[8] = 3;
        assert_eq!(open(&datagram, 0x0123_4567_89ab_cdef), None, "there is no such kind");
    }

    #[test]
    fn what_does_not_come_is_counted_once_the_next_does() {
        let lost = |numbers: &[u64]| {
            let mut sequence = Sequence::default();
            numbers.iter().for_each(|number| sequence.take(*number));
            sequence.lost()
        };
        assert_eq!([lost(&[]), lost(&[0, 1, 2]), lost(&[0, 3]), lost(&[2, 0, 1]), lost(&[5])], [0, 0, 2, 0, 5]);
    }

    /// A device whose packets are given, and that keeps what is written; a pipe's end stands for its descriptor.
    pub(crate) struct Queue {
        packets: VecDeque<Vec<u8>>,
        written: Vec<Vec<u8>>,
        descriptor: OwnedFd,
    }

    impl Queue {
        pub(crate) fn of(packets: impl IntoIterator<Item = Vec<u8>>) -> Queue {
            let (descriptor, _) = nix::unistd::pipe().unwrap();
            Queue { packets: packets.into_iter().collect(), written: Vec::new(), descriptor }
        }
    }

    impl Device for Queue {
        fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
            let Some(packet) = self.packets.pop_front() else { return Ok(None) };
            into[..packet.len()].copy_from_slice(&packet);
            Ok(Some(packet.len()))
        }

        fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
            self.written.push(packet.to_vec());
            Ok(true)
        }
    }

    impl AsFd for Queue {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.descriptor.as_fd()
        }
    }

    /// A UDP packet of the connection whose acceptor is on the right, from its initiator or to it.
    pub(crate) fn packet(serial: u32, workers: u16, sender: Side) -> Vec<u8> {
        let (initiator, acceptor) = addresses::of_connection(serial, LinkSide::Left);
        let ports = [addresses::datagram_port(serial, workers), addresses::port(serial, workers)];
        let (ends, ports) = match sender {
            Side::Initiator => ([initiator, acceptor], ports),
            Side::Acceptor => ([acceptor, initiator], [ports[1], ports[0]]),
        };
        let mut packet = vec![0; 28];
        (packet[0], packet[3], packet[9], packet[25]) = (0x45, 28, 17, 8);
        packet[12..16].copy_from_slice(&ends[0].octets());
        packet[16..20].copy_from_slice(&ends[1].octets());
        packet[20..22].copy_from_slice(&ports[0].to_be_bytes());
        packet[22..24].copy_from_slice(&ports[1].to_be_bytes());
        packet
    }

    fn far(near: &NearEnd, token: u64, first_worker: u16) -> Peer {
        Peer { address: ([127, 0, 0, 1], near.port().unwrap()).into(), token, first_worker }
    }

    #[test]
    fn packets_cross_both_ways_each_to_the_host_that_plays_its_connection() {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let emulator = socket.local_addr().unwrap();
        let mut nears = [0, 1].map(|_| NearEnd::new(emulator, 9, Rate::UNLIMITED).unwrap());
        let hosts = vec![far(&nears[0], 9, 0), far(&nears[1], 9, 1)];
        let lost = Arc::<AtomicU64>::default();
        let mut ends = PeerEnds::new(socket, LinkSide::Left, 3, hosts, Arc::clone(&lost)).unwrap();
        let to_left: Vec<Vec<u8>> = (0..6).map(|serial| packet(serial, 3, Side::Acceptor)).collect();
        for one in &to_left {
            assert!(ends.write(one).unwrap());
        }
        let mut devices =
            [0, 1].map(|host| Queue::of((0..4).map(|serial| packet(3 * serial + host, 3, Side::Initiator))));
        for (near, device) in nears.iter_mut().zip(&mut devices) {
            near.carry(device).unwrap();
        }
        // Of three workers the first host has the first.
        let of = |workers: &[usize]| -> Vec<Vec<u8>> {
            (0..6).filter(|serial| workers.contains(&(serial % 3))).map(|serial| to_left[serial].clone()).collect()
        };
        assert_eq!(devices[0].written, of(&[0]));
        assert_eq!(devices[1].written, of(&[1, 2]));
        let mut into = [0; 2_048];
        let mut read = 0;
        while let Some(length) = ends.read(&mut into).unwrap() {
            assert_eq!(length, 28);
            read += 1;
        }
        assert_eq!((read, lost.load(Ordering::Relaxed)), (8, 0));
        // Nobody else's datagrams count.
        let stranger = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let mut datagram = [0; HEADER + 28];
        head(datagram.first_chunk_mut().unwrap(), 9, Kind::Packet, 4);
        stranger.send_to(&datagram, emulator).unwrap();
        assert_eq!(ends.read(&mut into).unwrap(), None);
    }

    #[test]
    fn what_a_host_may_send_is_counted_in_ip_packets() {
        let headers = |own: &str| {
            let address: SocketAddr = own.parse().unwrap();
            NearEnd::between(address, SocketAddr::new(address.ip(), 9), 1, Rate::UNLIMITED).map(|near| near.headers)
        };
        assert_eq!(headers("127.0.0.1:0").unwrap(), 28);
        assert_eq!(headers("[::1]:0").unwrap(), 48);
    }

    #[test]
    fn a_host_sends_no_more_than_it_may() {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let emulator = socket.local_addr().unwrap();
        // 100 ms at 80 kbit/s are 1,000 bytes: 13 IP packets of 72.
        let mut near = NearEnd::new(emulator, 1, "80kbit".parse().unwrap()).unwrap();
        let mut device = Queue::of((0..200).map(|serial| packet(serial, 1, Side::Initiator)));
        near.carry(&mut device).unwrap();
        let not_sent = near.losses().of_its_own.load(Ordering::Relaxed);
        assert!((100..=187).contains(&not_sent), "{not_sent}");
        let hosts = vec![far(&near, 1, 0)];
        let mut ends = PeerEnds::new(socket, LinkSide::Left, 1, hosts, Arc::default()).unwrap();
        let mut into = [0; 2_048];
        let read = std::iter::from_fn(|| ends.read(&mut into).unwrap()).count() as u64;
        assert_eq!(read + not_sent, 200, "what was not sent is counted");
    }
}
