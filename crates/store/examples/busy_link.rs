//! Makes the capture of a busy link that `make bench-peers` gives to every tool: TCP over IPv4 only, because some of them
//! crash on anything else.
//!
//! `cargo run --release -p flowloom-store --example busy_link OUT.pcap PACKETS SNAPLEN [SEED]`
//!
//! Connections arrive by a Poisson process and live for seconds, so that some thousand are open at once. Each is made
//! whole, as the monitor sees it: a handshake with options, requests and heavy-tailed responses in rounds of a congestion
//! window, delayed acknowledgements, losses on either side of the monitor with duplicate acknowledgements and
//! retransmissions, reordering, thinking times, a close. Then all are merged by time, and the capture is cut after
//! PACKETS. Equal arguments make equal bytes. Prints what is in the file as one JSON object: the truth the tools'
//! answers are compared with.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::wire::Flags;
use flowloom_core::workload::Side;

/// New connections a second.
const ARRIVALS: f64 = 350.0;
/// Clients and servers; a few servers serve most connections.
const CLIENTS: u64 = 20_000;
const SERVERS: f64 = 5_000.0;
/// The largest response.
const MOST_BYTES: f64 = 2e7;
/// Linux acknowledges a lone segment after so long.
const DELAYED_ACK: f64 = 0.040;
/// Time 0, since the Unix epoch.
const EPOCH_MICROS: u64 = 1_700_000_000_000_000;

const HELP: &str = "usage: busy_link OUT.pcap PACKETS SNAPLEN [SEED]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, packets, snap_length, seed @ ..] = &arguments[..] else { return Err(HELP.into()) };
    let seed = seed.first().map_or(Ok(1), |seed| seed.parse())?;
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, File::create(path)?), snap_length.parse()?)?;
    let truth = merge(packets.parse()?, seed, &mut writer)?;
    writer.out.flush()?;
    println!(
        "{{\"packets\": {}, \"connections\": {}, \"unique_bytes\": {}, \"seconds\": {:.1}, \"most_open\": {}}}",
        truth.packets, truth.connections, truth.unique_bytes, truth.seconds, truth.most_open
    );
    Ok(())
}

/// What a monitor that forgets nothing would say of the file.
#[derive(Default)]
struct Truth {
    packets: u64,
    connections: u64,
    unique_bytes: u64,
    seconds: f64,
    most_open: usize,
}

/// Writes connections as they arrive, packet by packet in order of time.
fn merge(packets: u64, seed: u64, writer: &mut Writer<impl Write>) -> Result<Truth, Box<dyn Error>> {
    let mut arrivals = Stream::new(seed, Purpose::Arrivals, 0);
    let mut ports = vec![0u16; CLIENTS as usize];
    let mut open: BTreeMap<u64, (Ends, std::vec::IntoIter<Packet>)> = BTreeMap::new();
    let mut queue: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let (mut truth, mut next) = (Truth::default(), 0.0);
    while truth.packets < packets {
        // The next connection begins before the next packet of those that are open.
        if queue.peek().is_none_or(|Reverse((micros, _))| next <= *micros as f64 / 1e6) {
            let id = truth.connections;
            let mut random = Stream::new(seed, Purpose::Sizes, id);
            let made = Connection::make(&mut random, next).into_iter();
            open.insert(id, (Ends::draw(&mut random, &mut ports), made));
            queue.push(Reverse((micros(next), id)));
            truth.connections += 1;
            truth.most_open = truth.most_open.max(open.len());
            next += arrivals.exponential(1.0 / ARRIVALS);
            continue;
        }
        let Some(Reverse((_, id))) = queue.pop() else { break };
        let (ends, rest) = open.get_mut(&id).ok_or("no such connection")?;
        let packet = rest.next().ok_or("a connection without packets")?;
        writer.write(ends, &packet)?;
        truth.packets += 1;
        truth.seconds = packet.time;
        truth.unique_bytes += if packet.repeated { 0 } else { u64::from(packet.payload) };
        match rest.as_slice().first() {
            Some(following) => queue.push(Reverse((micros(following.time), id))),
            None => drop(open.remove(&id)),
        }
    }
    Ok(truth)
}

fn micros(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}

/// Who the ends are, initiator first.
struct Ends {
    addresses: [[u8; 4]; 2],
    ports: [u16; 2],
    /// Initial sequence numbers.
    initial: [u32; 2],
}

impl Ends {
    fn draw(random: &mut Stream, used: &mut [u16]) -> Ends {
        let client = random.below(CLIENTS);
        let port = &mut used[client as usize];
        *port += 1;
        let server = (SERVERS * random.uniform() * random.uniform() * random.uniform()) as u32;
        let service = *pick(random, &[443, 443, 443, 443, 443, 443, 80, 80, 22, 993]);
        Ends {
            // RFC 1918 inside, the benchmarking range of RFC 2544 outside.
            addresses: [(0x0a00_0001 + client as u32).to_be_bytes(), (0xc612_0001 + server).to_be_bytes()],
            ports: [32_768 + *port % 28_000, service],
            initial: [random.bits32(), random.bits32()],
        }
    }
}

fn pick<'a, T>(random: &mut Stream, from: &'a [T]) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

fn chance(random: &mut Stream, of: f64) -> bool {
    random.uniform() < of
}

/// A packet as the monitor sees it. Numbers are stream offsets: 0 is the SYN, 1 the first byte.
#[derive(Clone, Copy)]
struct Packet {
    /// At the monitor, seconds.
    time: f64,
    side: Side,
    flags: u8,
    sequence: u32,
    acknowledgement: u32,
    payload: u16,
    window: u16,
    /// Bytes that passed before.
    repeated: bool,
    /// The options of a SYN: window scale.
    scale: Option<u8>,
    /// Whether it carries time stamps (RFC 7323).
    stamps: bool,
}

/// A connection being made.
struct Connection<'a> {
    random: &'a mut Stream,
    packets: Vec<Packet>,
    /// Round trip between the monitor and each side, seconds.
    transit: [f64; 2],
    /// Seconds a segment takes on the slowest link.
    gap: f64,
    loss: f64,
    segment: u32,
    window: [u16; 2],
    scale: Option<u8>,
    stamps: bool,
    /// Congestion window and slow start threshold, in segments.
    congestion: [u32; 2],
    threshold: [u32; 2],
    /// The next number each side sends.
    next: [u32; 2],
    /// When each side had received up to which number of the other.
    received: [Vec<(f64, u32)>; 2],
}

impl Connection<'_> {
    /// All packets of a connection whose SYN passes at `start`, by time.
    fn make(random: &mut Stream, start: f64) -> Vec<Packet> {
        let stamps = chance(random, 0.7);
        let scale = chance(random, 0.9).then(|| *pick(random, &[6, 7, 8]));
        let mut connection = Connection {
            packets: Vec::new(),
            transit: [0.001 + random.exponential(0.015), 0.0005 + random.exponential(0.030)],
            gap: 12e-6 * libm::exp(4.6 * random.uniform()),
            loss: if chance(random, 0.15) { 0.01 } else { 0.0 },
            segment: if stamps { 1_448 } else { 1_460 },
            window: [0; 2].map(|_| *pick(random, &[502, 1_024, 8_192, 32_768, 64_240])),
            scale,
            stamps,
            congestion: [10; 2],
            threshold: [*pick(random, &[32, 64, 256]); 2],
            next: [0; 2],
            received: [Vec::new(), Vec::new()],
            random,
        };
        match connection.random.below(100) {
            0..4 => connection.unanswered(start),
            4..6 => connection.refused(start),
            _ => connection.served(start),
        }
        let Connection { mut packets, .. } = connection;
        packets.sort_by(|one, other| one.time.total_cmp(&other.time));
        packets
    }

    /// A SYN and its repetitions.
    fn unanswered(&mut self, start: f64) {
        for later in [0.0, 1.0, 3.0].into_iter().take(1 + self.random.below(3) as usize) {
            self.control(start + later, Side::Initiator, Flags::SYN, 0, 0);
        }
    }

    /// A SYN answered by a reset.
    fn refused(&mut self, start: f64) {
        self.control(start, Side::Initiator, Flags::SYN, 0, 0);
        self.control(start + self.transit[1], Side::Acceptor, Flags::RST | Flags::ACK, 0, 1);
    }

    fn served(&mut self, start: f64) {
        let [client, server] = self.transit;
        self.control(start, Side::Initiator, Flags::SYN, 0, 0);
        self.control(start + server, Side::Acceptor, Flags::SYN | Flags::ACK, 0, 1);
        self.control(start + server + client, Side::Initiator, Flags::ACK, 1, 1);
        self.next = [1; 2];
        self.received = [vec![(0.0, 1)], vec![(0.0, 1)]];
        // Times of the ends from here on: the client's is half a transit ahead of the monitor's.
        let mut now = start + server + client / 2.0;
        let upload = chance(self.random, 0.03);
        for exchange in 0..1 + (libm::exp(self.random.exponential(1.0 / 1.5)) as u64).min(200) {
            if exchange > 0 {
                now +=
                    if chance(self.random, 0.2) { self.random.exponential(8.0) } else { self.random.exponential(0.2) };
            }
            let request = 200 + self.random.exponential(500.0) as u32;
            let tail = libm::exp(self.random.exponential(1.0 / 1.2));
            let response = (800.0 * tail).min(MOST_BYTES) as u32;
            let (request, response) = if upload { (response, request) } else { (request, response) };
            if chance(self.random, 0.01) {
                // Both at once.
                let one = self.transfer(Side::Initiator, request, now);
                now = one.max(self.transfer(Side::Acceptor, response, now));
                continue;
            }
            now = self.transfer(Side::Initiator, request, now);
            now += self.random.exponential(0.020);
            now = self.transfer(Side::Acceptor, response, now);
        }
        self.acknowledge_data();
        self.close(now);
    }

    /// Sends `bytes` from `sender` at its time `now`; when the other end has them all.
    fn transfer(&mut self, sender: Side, bytes: u32, now: f64) -> f64 {
        let (own, peer) = (sender as usize, sender.other() as usize);
        let round_trip = self.transit[0] + self.transit[1];
        let (end, mut round, mut arrivals) = (self.next[own] + bytes, now, Vec::new());
        while self.next[own] < end {
            let sent = self.congestion[own].min((end - self.next[own]).div_ceil(self.segment));
            let mut repaired = 0.0f64;
            for index in 0..sent {
                let first = self.next[own];
                let payload = self.segment.min(end - first);
                self.next[own] += payload;
                let mut leaves = round + f64::from(index) * self.gap;
                if chance(self.random, self.loss) {
                    // Lost after the monitor it passes twice. Three segments behind it make for a fast retransmit.
                    let repeated = chance(self.random, 0.5);
                    if repeated {
                        self.data(leaves + self.transit[own] / 2.0, sender, first, payload, false);
                    }
                    let wait = if sent - index > 3 { round_trip + 3.0 * self.gap } else { 0.2 + 2.0 * round_trip };
                    leaves += wait;
                    repaired = leaves + round_trip;
                    self.data(leaves + self.transit[own] / 2.0, sender, first, payload, repeated);
                } else {
                    if chance(self.random, 0.0005) {
                        leaves += 3.0 * self.gap + 1e-4;
                    }
                    self.data(leaves + self.transit[own] / 2.0, sender, first, payload, false);
                }
                arrivals.push((leaves + round_trip / 2.0, first, payload));
            }
            let (window, threshold) = (&mut self.congestion[own], &mut self.threshold[own]);
            if repaired > 0.0 {
                *window = (*window / 2).max(4);
                *threshold = *window;
            } else {
                *window += if *window < *threshold { sent } else { 1 };
            }
            round = (round + round_trip).max(round + f64::from(sent) * self.gap).max(repaired);
        }
        arrivals.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.receive(sender.other(), &arrivals);
        self.received[peer].last().map_or(now, |last| last.0)
    }

    /// Lets `receiver` acknowledge every second segment, a lone one after a while, and all that are out of order.
    fn receive(&mut self, receiver: Side, arrivals: &[(f64, u32, u32)]) {
        let me = receiver as usize;
        let (mut upto, mut waiting) = (self.received[me].last().map_or(1, |last| last.1), BTreeMap::new());
        let mut pending = 0;
        for (index, &(time, first, payload)) in arrivals.iter().enumerate() {
            let repairing = !waiting.is_empty();
            waiting.insert(first, payload);
            while let Some((&first, &payload)) = waiting.first_key_value() {
                if first > upto {
                    break;
                }
                waiting.pop_first();
                upto = upto.max(first + payload);
            }
            self.received[me].push((time, upto));
            pending += 1;
            let alone = arrivals.get(index + 1).is_some_and(|next| next.0 > time + DELAYED_ACK);
            let (at_once, last) = (pending == 2 || repairing || !waiting.is_empty(), index + 1 == arrivals.len());
            // The last segment of a transfer is acknowledged by the answer more often than by itself.
            if at_once || alone || last && chance(self.random, 0.3) {
                let leaves = if alone && !at_once { time + DELAYED_ACK } else { time };
                self.control(leaves + self.transit[me] / 2.0, receiver, Flags::ACK, self.next[me], upto);
                pending = 0;
            }
        }
    }

    /// Fills in what every data segment acknowledges: what its sender had received when it left.
    fn acknowledge_data(&mut self) {
        for packet in self.packets.iter_mut().filter(|packet| packet.payload > 0) {
            let me = packet.side as usize;
            let left = packet.time - self.transit[me] / 2.0;
            let received = &self.received[me];
            let known = received.partition_point(|(time, _)| *time <= left);
            packet.acknowledgement = received[known.saturating_sub(1)].1;
        }
    }

    /// FINs both ways, a reset, or nothing.
    fn close(&mut self, now: f64) {
        let [initiator, acceptor] = self.next;
        let (first, other) = if chance(self.random, 0.7) {
            (Side::Initiator, Side::Acceptor)
        } else {
            (Side::Acceptor, Side::Initiator)
        };
        let numbers = |side| if side == Side::Initiator { (initiator, acceptor) } else { (acceptor, initiator) };
        let (own, peer) = numbers(first);
        // After the last delayed acknowledgement.
        let begin = now + DELAYED_ACK + self.transit[0] + self.transit[1] + self.random.exponential(0.5);
        let answer = begin + self.transit[other as usize];
        let end = answer + self.transit[first as usize];
        match self.random.below(100) {
            0..5 => {}
            5..10 => self.control(begin, first, Flags::RST | Flags::ACK, own, peer),
            _ => {
                self.control(begin, first, Flags::FIN | Flags::ACK, own, peer);
                self.control(answer, other, Flags::FIN | Flags::ACK, peer, own + 1);
                self.control(end, first, Flags::ACK, own + 1, peer + 1);
            }
        }
    }

    fn control(&mut self, time: f64, side: Side, flags: u8, sequence: u32, acknowledgement: u32) {
        let packet = Packet { acknowledgement, ..self.packet(time, side, flags, sequence) };
        self.packets.push(packet);
    }

    fn data(&mut self, time: f64, side: Side, sequence: u32, payload: u32, repeated: bool) {
        let packet = self.packet(time, side, Flags::ACK | Flags::PSH, sequence);
        self.packets.push(Packet { payload: payload as u16, repeated, ..packet });
    }

    fn packet(&mut self, time: f64, side: Side, flags: u8, sequence: u32) -> Packet {
        let syn = flags & Flags::SYN != 0;
        let window = self.window(side as usize);
        let scale = if syn { self.scale } else { None };
        Packet {
            time,
            side,
            flags,
            sequence,
            acknowledgement: 0,
            payload: 0,
            window,
            repeated: false,
            scale,
            stamps: self.stamps,
        }
    }

    /// Receivers read a little later than data come.
    fn window(&mut self, side: usize) -> u16 {
        self.window[side] - self.random.below(u64::from(self.window[side] / 8)) as u16
    }
}

/// Writes Ethernet frames cut at the snap length to a pcap file with microseconds.
struct Writer<W> {
    out: W,
    snap_length: usize,
    frame: Vec<u8>,
}

impl<W: Write> Writer<W> {
    fn new(mut out: W, snap_length: u32) -> io::Result<Writer<W>> {
        for field in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, snap_length, 1] {
            out.write_all(&field.to_le_bytes())?;
        }
        Ok(Writer { out, snap_length: snap_length as usize, frame: Vec::new() })
    }

    fn write(&mut self, ends: &Ends, packet: &Packet) -> io::Result<()> {
        self.build(ends, packet);
        let stored = self.frame.len().min(self.snap_length);
        let micros = EPOCH_MICROS + micros(packet.time);
        for field in [micros / 1_000_000, micros % 1_000_000, stored as u64, self.frame.len() as u64] {
            self.out.write_all(&(field as u32).to_le_bytes())?;
        }
        self.out.write_all(&self.frame[..stored])
    }

    fn build(&mut self, ends: &Ends, packet: &Packet) {
        let (own, peer) = (packet.side as usize, packet.side.other() as usize);
        let mut options = Vec::new();
        if packet.flags & Flags::SYN != 0 {
            options.extend([2, 4, 5, 180, 1, 1, 4, 2]);
            packet.scale.iter().for_each(|shift| options.extend([1, 3, 3, *shift]));
        }
        if packet.stamps {
            let milliseconds = (packet.time * 1e3) as u32;
            options.extend([1, 1, 8, 10]);
            options.extend(milliseconds.to_be_bytes());
            options.extend(milliseconds.saturating_sub(40).to_be_bytes());
        }
        let total = 40 + options.len() + usize::from(packet.payload);

        let frame = &mut self.frame;
        frame.clear();
        frame.extend([2, 0, 0, 0, 0, peer as u8 + 1, 2, 0, 0, 0, 0, own as u8 + 1, 8, 0]);
        frame.extend([0x45, 0]);
        frame.extend((total as u16).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 60, 6, 0, 0]);
        frame.extend(ends.addresses[own]);
        frame.extend(ends.addresses[peer]);
        let sum: u32 = frame[14..34].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
        frame[24..26].copy_from_slice(&checksum.to_be_bytes());
        frame.extend(ends.ports[own].to_be_bytes());
        frame.extend(ends.ports[peer].to_be_bytes());
        frame.extend(ends.initial[own].wrapping_add(packet.sequence).to_be_bytes());
        let acknowledgement =
            if packet.flags & Flags::ACK != 0 { ends.initial[peer].wrapping_add(packet.acknowledgement) } else { 0 };
        frame.extend(acknowledgement.to_be_bytes());
        frame.extend([((5 + options.len() / 4) as u8) << 4, packet.flags]);
        frame.extend(packet.window.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(&options);
        frame.resize(14 + total, 0x5a);
    }
}
