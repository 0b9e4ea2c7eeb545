//! A leaf that watches: one flow as it passes this host, packet by packet, by the kernel's time stamps.
//!
//! What becomes of segments of TCP is told by the machine that extraction has for it ([`Observer`], methods A.8).

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use flowloom_core::extract::{Identity, Missing, Observer, Seen};
use flowloom_core::play::DatagramSink;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::wire::{Address, Datagram, Decoder, LinkType, Parsed, Segment};
use flowloom_core::workload::{InitiatorRule, LinkSide, Segments, Side};
use flowloom_live::clock::Clock;
use flowloom_live::worker::label;
use flowloom_models::generate::on_off::Transport;
use flowloom_store::capture::Packet;
use serde::{Deserialize, Serialize};

use super::announced;
use super::arrivals::Arrivals;
use super::error::WorkError;
use super::interface::Interface;
use super::order::{Order, Todo};
use super::work::Work;
use crate::report::Report;
use crate::script::leaf::Watch;

/// Headers, and what our datagrams have of numbers.
const SNAP_BYTES: u64 = 192;

/// Connections, or flows of datagrams, that are told apart; of others only arrivals are noted.
const MOST_FLOWS: usize = 4_096;

/// Longest silence within an ADU (methods A.5.2), which nothing here depends on.
const QUIET: Duration = Duration::from_millis(500);

/// A watch, before, while and after it runs.
pub struct Watching {
    asked: Watch,
    ends: Option<Ends>,
    interface: Option<Interface>,
    found: Option<WatchResults>,
}

/// The flow by its addresses.
#[derive(Clone, Copy, Debug)]
struct Ends {
    from: Address,
    to: Address,
}

/// What was seen of a flow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WatchResults {
    /// Packets of it.
    pub packets: u64,
    /// Their bytes, those of IP and 14 for each (methods C.6).
    pub bytes: u64,
    /// Their payload, whatever came again included.
    pub payload_bytes: u64,
    /// First and last, from the agreed start on, in nanoseconds.
    pub passed_ns: Option<(u64, u64)>,
    /// Between packets that carry payload.
    pub arrivals: Arrivals,
    /// What became of numbered datagrams.
    pub datagrams: Option<NumberedResults>,
    /// What became of segments.
    pub segments: Option<SegmentResults>,
    /// Packets of anybody that the kernel lost before they were read: what is missing here may be among them.
    pub dropped: u64,
}

/// What became of datagrams that have numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NumberedResults {
    /// Flows, which have numbers of their own.
    pub flows: u64,
    /// That passed, each once.
    pub passed: u64,
    /// Whose numbers were skipped: lost before this host.
    pub lost: u64,
    /// That passed after one with a higher number: of Type-P-Reordered (RFC 4737 section 3.3).
    pub reordered: u64,
    /// That passed again.
    pub repeated: u64,
    /// Reordered over passed (RFC 4737 section 4.1.1).
    pub reordered_ratio: Option<f64>,
}

/// What became of segments of TCP with payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SegmentResults {
    /// Connections.
    pub connections: u64,
    /// With payload, whatever came again included.
    pub data: u64,
    /// That filled a hole: they passed after one with a higher number (RFC 4737 section 3.3, which does not ask why).
    pub reordered: u64,
    /// Reordered over those that were new (RFC 4737 section 4.1.1).
    pub reordered_ratio: Option<f64>,
    /// Of those that filled a hole, such as were sent again: the first was lost before this host.
    pub lost_before: u64,
    /// All of whose bytes had passed before.
    pub repeated: u64,
    /// Of them, such as were sent again because the first was lost behind this host, as far as acknowledgements tell.
    pub lost_behind: u64,
    /// Bytes of holes that were never filled.
    pub missing_bytes: u64,
}

impl Watching {
    /// A watch of what is asked for.
    pub fn new(asked: Watch) -> Watching {
        Watching { asked, ends: None, interface: None, found: None }
    }

    fn watch(&mut self, ends: Ends, clock: &Clock, order: &Arc<Order>) -> Result<(), WorkError> {
        let Watch { duration, protocol, numbered, .. } = &self.asked;
        let mut interface = self.interface.take().ok_or(WorkError::NotOpen)?;
        interface.begin(clock, *duration, order);
        let mut flow = Flow::new(ends, *protocol, *numbered, Time::from_nanos(interface.covered().0));
        let mut decoder = Decoder::default();
        let read = interface.each(|packet| {
            flow.handle_packet(packet, &mut decoder);
            Ok(())
        });
        let results = self.found.insert(flow.finish());
        results.dropped = interface.dropped();
        read
    }
}

impl Work for Watching {
    fn prepare(&mut self) -> Result<String, WorkError> {
        Interface::open(&self.asked.interface, SNAP_BYTES)?;
        let address = |end| announced::address(end).map(|end: SocketAddr| Address::new(end.ip(), end.port()));
        self.ends = Some(Ends { from: address(&self.asked.from)?, to: address(&self.asked.to)? });
        Ok(String::new())
    }

    fn open(&mut self) -> Result<String, WorkError> {
        self.interface = Some(Interface::open(&self.asked.interface, SNAP_BYTES)?);
        Ok(String::new())
    }

    fn run(&mut self, clock: &Clock, order: &Arc<Order>) -> Result<String, WorkError> {
        let Some(ends) = self.ends else { return Err(WorkError::NotOpen) };
        self.watch(ends, clock, order)?;
        let dropped = self.found.as_ref().map_or(0, |found| found.dropped);
        let mut said = Vec::new();
        if dropped > 0 {
            said.push(format!("the kernel lost {dropped} packets before they were read"));
        }
        let is_cut = order.todo() != Todo::GoOn;
        said.extend(is_cut.then(|| "it was stopped before its end".to_owned()));
        Ok(said.join("; "))
    }

    fn report(&mut self) -> io::Result<Report> {
        Ok(Report::new("watch", &self.found))
    }
}

/// The flow as it passes.
struct Flow {
    ends: Ends,
    protocol: Transport,
    numbered: bool,
    /// The start, as packets are stamped.
    start: Time,
    results: WatchResults,
    /// By the port of the sender.
    numbers: BTreeMap<u16, DatagramSink>,
    connections: BTreeMap<u16, Observer>,
    segments: SegmentResults,
}

impl Flow {
    fn new(ends: Ends, protocol: Transport, numbered: bool, start: Time) -> Flow {
        Flow {
            ends,
            protocol,
            numbered,
            start,
            results: WatchResults::default(),
            numbers: BTreeMap::new(),
            connections: BTreeMap::new(),
            segments: SegmentResults::default(),
        }
    }

    fn handle_packet(&mut self, packet: &Packet<'_>, decoder: &mut Decoder) {
        match (packet.decode(decoder), self.protocol) {
            (Ok(Parsed::Segment(segment)), Transport::Tcp) => self.handle_segment(packet.time, &segment),
            (Ok(Parsed::Datagram(datagram)), Transport::Udp) if self.is_sent(datagram.source, datagram.destination) => {
                self.note(packet.time, datagram.link_bytes, datagram.payload_bytes);
                if self.numbered {
                    self.number(packet, &datagram);
                }
            }
            _ => {}
        }
    }

    /// Whether what goes between two addresses is of the flow, in its direction.
    fn is_sent(&self, source: Address, destination: Address) -> bool {
        let Ends { from, to } = self.ends;
        destination == to && source.ip == from.ip && (from.port == 0 || source.port == from.port)
    }

    fn note(&mut self, time: Time, link_bytes: u32, payload_bytes: u32) {
        let results = &mut self.results;
        results.packets += 1;
        results.bytes += u64::from(link_bytes);
        results.payload_bytes += u64::from(payload_bytes);
        let at = time.since(self.start).as_nanos();
        results.passed_ns = Some((results.passed_ns.map_or(at, |passed| passed.0), at));
        if payload_bytes > 0 {
            results.arrivals.add(time);
        }
    }

    fn number(&mut self, packet: &Packet<'_>, datagram: &Datagram) {
        let port = datagram.source.port;
        if self.numbers.len() == MOST_FLOWS && !self.numbers.contains_key(&port) {
            return;
        }
        let flow = self.numbers.entry(port).or_default();
        let mut head = [0; label::BYTES];
        let payload = payload(packet, datagram);
        let length = payload.len().min(head.len());
        head[..length].copy_from_slice(&payload[..length]);
        let (number, _) = label::read(&head, datagram.payload_bytes, flow.expected(), packet.time);
        flow.handle_undated(packet.time, number, datagram.payload_bytes);
    }

    fn handle_segment(&mut self, time: Time, segment: &Segment) {
        let sender = match () {
            () if self.is_sent(segment.source, segment.destination) => Side::Initiator,
            () if self.is_sent(segment.destination, segment.source) => Side::Acceptor,
            () => return,
        };
        if sender == Side::Initiator {
            self.note(time, segment.link_bytes, segment.payload_bytes);
        }
        let port = if sender == Side::Initiator { segment.source.port } else { segment.destination.port };
        if self.connections.len() == MOST_FLOWS && !self.connections.contains_key(&port) {
            return;
        }
        let seen = Seen::from(segment);
        let observer = self.connections.entry(port).or_insert_with(|| Observer::new(time, QUIET));
        if !observer.owns(time, sender, &seen) {
            let over = std::mem::replace(observer, Observer::new(time, QUIET));
            self.segments.add(over);
        }
        if let Some(observer) = self.connections.get_mut(&port) {
            observer.handle_segment(time, sender, &seen);
        }
    }

    fn finish(mut self) -> WatchResults {
        match self.protocol {
            Transport::Tcp => {
                let connections = std::mem::take(&mut self.connections);
                connections.into_values().for_each(|one| self.segments.add(one));
                let SegmentResults { data, repeated, reordered, .. } = self.segments;
                self.segments.reordered_ratio = ratio(reordered, data.saturating_sub(repeated));
                self.results.segments = Some(self.segments);
            }
            Transport::Udp if self.numbered => {
                let mut all = NumberedResults { flows: self.numbers.len() as u64, ..NumberedResults::default() };
                for flow in self.numbers.values() {
                    all.passed += flow.packets;
                    all.lost += flow.expected().saturating_sub(flow.packets);
                    all.reordered += flow.late;
                    all.repeated += flow.repeated;
                }
                all.reordered_ratio = ratio(all.reordered, all.passed);
                self.results.datagrams = Some(all);
            }
            Transport::Udp => {}
        }
        self.results
    }
}

impl SegmentResults {
    /// A connection is over, or the watch is.
    fn add(&mut self, mut observer: Observer) {
        let identity = Identity {
            id: 0,
            start: observer.start(),
            initiator_side: LinkSide::Left,
            initiator_rule: InitiatorRule::default(),
            near: None,
            ip_version: None,
        };
        let (_, vector) = observer.finish(identity, Missing::default());
        self.connections += 1;
        let Some(Segments { data, duplicates, late, lost_before, repeated, missing_bytes, .. }) =
            vector.ends.initiator.segments
        else {
            return;
        };
        self.data += data;
        self.reordered += late;
        self.lost_before += lost_before;
        self.repeated += duplicates;
        self.lost_behind += repeated.timeout + repeated.fast + repeated.other;
        self.missing_bytes += missing_bytes;
    }
}

/// What was captured of the payload of a datagram.
fn payload<'a>(packet: &Packet<'a>, datagram: &Datagram) -> &'a [u8] {
    let link = match packet.link {
        LinkType::Ethernet => ethernet_bytes(packet.bytes),
        _ => 0,
    };
    let headers = datagram.link_bytes.saturating_sub(LINK_HEADER_BYTES + datagram.payload_bytes) as usize;
    packet.bytes.get(link + headers..).unwrap_or_default()
}

/// How long the header of Ethernet is, VLAN tags included (802.1Q, 802.1ad).
fn ethernet_bytes(frame: &[u8]) -> usize {
    let mut at = 12;
    while let Some([0x81, 0x00] | [0x88, 0xa8]) = frame.get(at..at + 2).and_then(|two| two.first_chunk()) {
        at += 4;
    }
    at + 2
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
