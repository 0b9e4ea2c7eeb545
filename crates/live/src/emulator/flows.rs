//! Which flow a packet belongs to.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use flowloom_core::time::Time;
use flowloom_core::workload::{IpVersion, LinkSide, Protocol, Side};
use flowloom_sim::emulation::Slot;
use flowloom_sim::{Class, Classed, ip_version};

use super::conversation::Conversation;
use super::frame::{Frame, Transport};
use crate::addresses::{self, Addressing, RESERVED, Serial};

/// Flows of guests that there are at once; packets of more are strangers.
const MOST_GUESTS: usize = 65_536;

/// No flow.
const NONE: u32 = u32::MAX;

/// The flows that cross the path: connections by their numbers, guests by addresses and ports.
#[derive(Debug, Default)]
pub struct Flows {
    addressing: Addressing,
    /// Whether connections over IPv6 are to cross in it.
    ipv6: bool,
    flows: Vec<Option<Flow>>,
    vacant: Vec<u32>,
    /// Of each connection from the first that is open on: its flow.
    by_serial: VecDeque<u32>,
    first_serial: Serial,
    guests: BTreeMap<Key, u32>,
}

/// A flow of this path.
#[derive(Debug)]
pub struct Flow {
    /// Whose it is.
    pub owner: Owner,
    /// The side of the bottleneck that its initiator is on.
    pub initiator_side: LinkSide,
    /// Where it is in the emulation.
    pub state: State,
    /// What its packets tell.
    pub conversation: Conversation,
    /// The version of IP that its packets have.
    pub version: IpVersion,
    /// TCP or UDP; of guests any.
    pub protocol: Option<Protocol>,
    /// When its latest packet came.
    pub last: Time,
}

/// Whether packets of a flow have come.
#[derive(Debug)]
pub enum State {
    /// None yet: it is opened with the first.
    Waiting(Box<Classed>),
    /// It is open.
    Open(Slot),
}

/// Whose a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A connection of the run.
    Connection(Serial),
    /// Between the addresses of a side that belong to no connection: a program of `flowloom shell`, a probe.
    Guest(Key),
}

/// Address and port of a flow on the left, on the right, and its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    left: (Ipv4Addr, u16),
    right: (Ipv4Addr, u16),
    protocol: u8,
}

/// The place of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u32);

/// Whose packet it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// To this flow, sent by this end.
    To(Place, Side),
    /// To a guest that is not known yet.
    ToNewGuest(Key),
    /// To nobody.
    Nowhere,
}

impl Flows {
    /// None yet, of connections that have such addresses; with `ipv6` those over IPv6 cross in it.
    pub fn new(addressing: Addressing, ipv6: bool) -> Flows {
        Flows { addressing, ipv6, ..Flows::default() }
    }

    /// A connection is expected.
    pub fn expect(&mut self, serial: Serial, classed: Box<Classed>, class: &Class) {
        let vector = &classed.vector;
        let flow = Flow {
            owner: Owner::Connection(serial),
            initiator_side: vector.initiator_side,
            conversation: Conversation::of(vector, class),
            version: addresses::carried_in(ip_version(vector, class), self.ipv6),
            // QUIC's packets are UDP's.
            protocol: Some(if vector.protocol == Protocol::Tcp { Protocol::Tcp } else { Protocol::Udp }),
            state: State::Waiting(classed),
            last: Time::ZERO,
        };
        if self.by_serial.is_empty() {
            self.first_serial = serial;
        }
        // Those before the first are over.
        while serial < self.first_serial {
            self.first_serial -= 1;
            self.by_serial.push_front(NONE);
        }
        let at = (serial - self.first_serial) as usize;
        if self.by_serial.len() <= at {
            self.by_serial.resize(at + 1, NONE);
        }
        let place = self.take_in(flow);
        self.by_serial[at] = place.0;
    }

    /// A guest whose first packet comes from `side`.
    pub fn welcome(&mut self, key: Key, side: LinkSide, slot: Slot) -> Place {
        let place = self.take_in(Flow {
            owner: Owner::Guest(key),
            initiator_side: side,
            conversation: Conversation::of_guest(),
            version: IpVersion::V4,
            protocol: None,
            state: State::Open(slot),
            last: Time::ZERO,
        });
        self.guests.insert(key, place.0);
        place
    }

    fn take_in(&mut self, flow: Flow) -> Place {
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.flows.push(None);
            u32::try_from(self.flows.len() - 1).expect("connections have numbers of 32 bits")
        });
        self.flows[place as usize] = Some(flow);
        Place(place)
    }

    /// Whose packet it is that `side` sent.
    pub fn whose(&self, side: LinkSide, frame: &Frame) -> Belongs {
        let sides = (addresses::side_of(frame.source), addresses::side_of(frame.destination));
        if sides != (Some(side), Some(side.other())) {
            return Belongs::Nowhere;
        }
        let is_reserved = |address: Ipv4Addr| address.to_bits() & 0xffff < RESERVED;
        match (is_reserved(frame.source), is_reserved(frame.destination)) {
            (false, false) => self.connection(side, frame).unwrap_or(Belongs::Nowhere),
            (true, true) if frame.version == IpVersion::V4 => self.guest(side, frame),
            _ => Belongs::Nowhere,
        }
    }

    fn connection(&self, side: LinkSide, frame: &Frame) -> Option<Belongs> {
        let [source, destination] = frame.ports()?;
        let sender = addresses::sender(source, destination)?;
        let (initiator, acceptor) = match sender {
            Side::Initiator => (frame.source, frame.destination),
            Side::Acceptor => (frame.destination, frame.source),
        };
        let place = self.place_of(self.addressing.serial(initiator, acceptor)?)?;
        let flow = self.get(place)?;
        let protocol = match frame.transport {
            Transport::Tcp(_) => Protocol::Tcp,
            Transport::Udp(_) => Protocol::Udp,
            Transport::Other => return None,
        };
        let sends = if sender == Side::Initiator { flow.initiator_side } else { flow.initiator_side.other() };
        let is_as_announced = flow.version == frame.version && flow.protocol == Some(protocol);
        (sends == side && is_as_announced).then_some(Belongs::To(place, sender))
    }

    fn guest(&self, side: LinkSide, frame: &Frame) -> Belongs {
        let [from, to] = frame.ports().unwrap_or_default();
        let (source, destination) = ((frame.source, from), (frame.destination, to));
        let (left, right) = match side {
            LinkSide::Left => (source, destination),
            LinkSide::Right => (destination, source),
        };
        let key = Key { left, right, protocol: frame.protocol };
        match self.guests.get(&key) {
            Some(&place) => {
                let is_initiator = self.get(Place(place)).is_some_and(|flow| flow.initiator_side == side);
                Belongs::To(Place(place), if is_initiator { Side::Initiator } else { Side::Acceptor })
            }
            None if self.guests.len() < MOST_GUESTS => Belongs::ToNewGuest(key),
            None => Belongs::Nowhere,
        }
    }

    /// The place of a connection.
    pub fn place_of(&self, serial: Serial) -> Option<Place> {
        let at = serial.checked_sub(self.first_serial)?;
        self.by_serial.get(at as usize).copied().filter(|place| *place != NONE).map(Place)
    }

    fn get(&self, place: Place) -> Option<&Flow> {
        self.flows[place.0 as usize].as_ref()
    }

    /// The flow at a place.
    pub fn get_mut(&mut self, place: Place) -> Option<&mut Flow> {
        self.flows[place.0 as usize].as_mut()
    }

    /// Takes a flow out.
    pub fn remove(&mut self, place: Place) -> Option<Flow> {
        let flow = self.flows[place.0 as usize].take()?;
        self.vacant.push(place.0);
        match flow.owner {
            Owner::Connection(serial) => {
                self.by_serial[(serial - self.first_serial) as usize] = NONE;
                while self.by_serial.front() == Some(&NONE) {
                    self.by_serial.pop_front();
                    self.first_serial += 1;
                }
            }
            Owner::Guest(key) => drop(self.guests.remove(&key)),
        }
        Some(flow)
    }

    /// Guests that sent nothing since `time`.
    pub fn silent_guests(&self, time: Time) -> Vec<Place> {
        let places = self.guests.values().map(|place| Place(*place));
        places.filter(|place| self.get(*place).is_some_and(|flow| flow.last < time)).collect()
    }

    /// All connections, by their numbers.
    pub fn connections(&self) -> Vec<Place> {
        self.by_serial.iter().filter(|place| **place != NONE).map(|place| Place(*place)).collect()
    }
}
