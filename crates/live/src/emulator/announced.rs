//! What crosses the path of a run: connections that were announced, and guests between reserved addresses.

use std::collections::VecDeque;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{LinkSide, PerSide, Protocol, Side};
use flowloom_sim::emulation::{EmulationError, Slot};
use flowloom_sim::{Classed, Config, Emulation};

use super::buffers::Buffer;
use super::conversation::mark;
use super::counters::DeviceCounts;
use super::crossing::{Crossing, Entering};
use super::flows::{Belongs, Flow, Flows, Owner, Place, State};
use super::frame::{Frame, Unread};
use super::records::{Forward, HungUp};
use super::settings::Settings;
use crate::addresses::Serial;

/// Guests that say nothing for so long are forgotten.
const GUEST_SILENCE: Duration = Duration::from_secs(60);

/// How long datagrams may wait in a device that were sent before their flow was over.
const DATAGRAMS_LINGER: Duration = Duration::from_millis(100);

/// How often silent guests are looked for.
const GUESTS_EVERY: Duration = Duration::from_secs(5);

/// How long what was recorded may wait for more.
const RECORDS_EVERY: Duration = Duration::from_millis(100);

/// The flows of a run.
#[derive(Debug)]
pub struct Announced {
    flows: Flows,
    linger: Duration,
    /// Connections that are over, and until when their last packets may come.
    closing: VecDeque<(Time, Serial)>,
    guests_next: Time,
    records_next: Time,
}

impl Announced {
    /// None yet.
    pub fn new(settings: Settings) -> Announced {
        Announced {
            flows: Flows::new(settings.addressing, settings.ipv6),
            linger: settings.linger,
            closing: VecDeque::new(),
            guests_next: Time::ZERO,
            records_next: Time::ZERO,
        }
    }

    /// A connection is expected.
    pub fn open(&mut self, serial: Serial, classed: Box<Classed>, config: &Config) {
        let class = config.class(classed.class);
        self.flows.expect(serial, classed, class);
    }

    /// A connection is over for its ends at `now`: its last packets may still come. So may datagrams of a flow whose ends will send no
    /// more, but those that wait to be read alone.
    pub fn close(&mut self, now: Time, serial: Serial) {
        let place = self.flows.place_of(serial);
        let is_of_datagrams = place.and_then(|place| self.flows.get_mut(place)?.protocol) == Some(Protocol::Udp);
        let until = now + if is_of_datagrams { DATAGRAMS_LINGER } else { self.linger };
        let place = self.closing.partition_point(|closing| closing.0 <= until);
        self.closing.insert(place, (until, serial));
    }

    /// Ends a flow as it is, and says so if it is a connection.
    fn end_one(&mut self, place: Place, emulation: &mut Emulation<'_, Forward>) -> Result<(), HungUp> {
        let Some(Flow { owner, state, .. }) = self.flows.remove(place) else { return Ok(()) };
        let closed = match state {
            State::Open(slot) => emulation.cut(slot),
            State::Waiting(classed) => Some(emulation.without_packets(&classed)),
        };
        match (owner, closed) {
            (Owner::Connection(serial), Some(closed)) => emulation.recorder().closed(serial, closed),
            _ => Ok(()),
        }
    }
}

impl Crossing for Announced {
    type Recorder = Forward;

    fn enter(
        &mut self,
        now: Time,
        side: LinkSide,
        packet: &mut Buffer,
        emulation: &mut Emulation<'_, Forward>,
        counts: &mut DeviceCounts,
    ) -> Result<Option<Entering>, EmulationError<HungUp>> {
        let frame = match Frame::read(packet.packet()) {
            Ok(frame) => frame,
            Err(Unread::NotIp) => {
                counts.strangers += 1;
                return Ok(None);
            }
            Err(Unread::Malformed) => {
                counts.malformed += 1;
                return Ok(None);
            }
        };
        let (place, sender) = match self.flows.whose(side, &frame) {
            Belongs::To(place, sender) => (place, sender),
            Belongs::ToNewGuest(key) => {
                let slot = emulation.open_guest(side);
                (self.flows.welcome(key, side, slot), Side::Initiator)
            }
            Belongs::Nowhere => {
                counts.strangers += 1;
                return Ok(None);
            }
        };
        let Some(flow) = self.flows.get_mut(place) else { return Ok(None) };
        let slot = match &flow.state {
            State::Open(slot) => *slot,
            State::Waiting(classed) => {
                let slot = emulation.open(now, classed)?;
                flow.state = State::Open(slot);
                slot
            }
        };
        flow.last = now;
        packet.set_length(frame.bytes.into());
        let taken = flow.conversation.take(sender, &frame, packet.packet_mut());
        let PerSide { initiator, acceptor } = taken.first;
        for (side, number) in [(Side::Initiator, initiator), (Side::Acceptor, acceptor)] {
            if let Some(number) = number {
                emulation.set_initial_sequence(slot, side, number);
            }
        }
        Ok(Some(Entering { slot, sender, segment: taken.segment, extra: taken.extra }))
    }

    fn mark(&self, packet: &mut [u8]) {
        mark(packet);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.closing.front().map(|closing| closing.0)
    }

    fn tidy(&mut self, now: Time, emulation: &mut Emulation<'_, Forward>) -> Result<(), HungUp> {
        while let Some(&(_, serial)) = self.closing.front().filter(|closing| closing.0 <= now) {
            self.closing.pop_front();
            let Some(place) = self.flows.place_of(serial) else { continue };
            let is_busy =
                self.flows.get_mut(place).and_then(|flow| flow.slot()).is_some_and(|slot| emulation.is_busy(slot));
            if is_busy {
                self.close(now, serial);
            } else {
                self.end_one(place, emulation)?;
            }
        }
        if self.guests_next <= now {
            self.guests_next = now + GUESTS_EVERY;
            for place in self.flows.silent_guests(now.before(GUEST_SILENCE)) {
                let slot = self.flows.get_mut(place).and_then(|flow| flow.slot());
                if slot.is_some_and(|slot| !emulation.is_busy(slot)) {
                    self.end_one(place, emulation)?;
                }
            }
        }
        if self.records_next <= now {
            self.records_next = now + RECORDS_EVERY;
            emulation.recorder().flush()?;
        }
        Ok(())
    }

    fn end(&mut self, emulation: &mut Emulation<'_, Forward>) -> Result<(), HungUp> {
        self.flows.connections().into_iter().try_for_each(|place| self.end_one(place, emulation))
    }
}

impl Flow {
    /// Where it is in the emulation, if it is open.
    fn slot(&self) -> Option<Slot> {
        match self.state {
            State::Open(slot) => Some(slot),
            State::Waiting(_) => None,
        }
    }
}
