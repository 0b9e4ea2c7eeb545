//! The path between two devices, as it goes on in steps: what came is sent into the network, what is due is handed on.

use std::collections::VecDeque;
use std::io;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{LinkSide, PerSide, Protocol, Side};
use flowloom_sim::emulation::{EmulationError, Slot};
use flowloom_sim::{Classed, Config, ConfigError, Emulation};
use nix::sys::eventfd::EventFd;

use super::Settings;
use super::buffers::{Buffer, Buffers};
use super::conversation::mark;
use super::counters::EmulatorReport;
use super::flows::{Belongs, Flow, Flows, Owner, Place, State};
use super::frame::{Frame, Unread};
use super::records::{Forward, HungUp};
use crate::addresses::Serial;
use crate::clock::Clock;
use crate::device::Device;

const SIDES: [LinkSide; 2] = [LinkSide::Left, LinkSide::Right];

/// Packets read from a device before the other's turn comes, and before what is due is handed on.
const BATCH: u32 = 64;

/// Packets handed on before devices are read again. A thread that comes late has many that are due, and what comes meanwhile is
/// stamped when it is read.
const HANDED_ON: u32 = 4 * BATCH;

/// How many times so many are read at the end: more than devices hold.
const LAST_BATCHES: u32 = 1_024;

/// Guests that say nothing for so long are forgotten.
const GUEST_SILENCE: Duration = Duration::from_secs(60);

/// How long datagrams may wait in a device that were sent before their flow was over.
const DATAGRAMS_LINGER: Duration = Duration::from_millis(100);

/// How often silent guests are looked for.
const GUESTS_EVERY: Duration = Duration::from_secs(5);

/// How long what was recorded may wait for more.
const RECORDS_EVERY: Duration = Duration::from_millis(100);

/// Why the path is broken.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// A device is.
    #[error("the device of the {} side fails: {}", .0.word(), .1)]
    Device(LinkSide, #[source] io::Error),
    /// The network is.
    #[error("the emulated network fails: {0}")]
    Network(#[from] EmulationError<HungUp>),
    /// The run is over, without a word.
    #[error(transparent)]
    HungUp(#[from] HungUp),
    /// Its thread cannot wait.
    #[error("waiting for packets fails: {0}")]
    Wait(#[source] io::Error),
}

/// When the next step has to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// At this time, however many packets come until then.
    At(Time),
    /// At this time, or when a packet comes before it.
    By(Time),
    /// When a packet comes.
    WithPacket,
}

/// The path between the devices of two sides.
///
/// Time comes in with each step, from a clock that is read when a packet is read or written and nowhere else. After a [`Self::step`]
/// another is due when it says; more of them, and later ones, change what is late and nothing else.
pub struct Path<'a, D> {
    emulation: Emulation<'a, Forward>,
    settings: Settings,
    window: Duration,
    /// Left first, as everything here that is by side.
    devices: &'a mut [D; 2],
    flows: Flows,
    buffers: Buffers,
    /// What the next packet is read into.
    current: Buffer,
    /// Packets that a device had no room for, and when they were due.
    waiting: [VecDeque<(Time, Buffer)>; 2],
    /// Connections that are over, and until when their last packets may come.
    closing: VecDeque<(Time, Serial)>,
    guests_next: Time,
    records_next: Time,
    report: EmulatorReport,
}

impl<'a, D: Device> Path<'a, D> {
    /// An idle path.
    ///
    /// # Errors
    /// If the experiment has impossible numbers.
    pub fn new(
        config: &'a Config,
        settings: Settings,
        devices: &'a mut [D; 2],
        recorder: &'a mut Forward,
    ) -> Result<Path<'a, D>, ConfigError> {
        Ok(Path {
            emulation: Emulation::new(config, recorder)?.ahead_by(settings.bias),
            settings,
            window: config.window,
            devices,
            flows: Flows::new(settings.addressing),
            buffers: Buffers::new(settings.room),
            current: Buffer::new(settings.room),
            waiting: Default::default(),
            closing: VecDeque::new(),
            guests_next: Time::ZERO,
            records_next: Time::ZERO,
            report: EmulatorReport::default(),
        })
    }

    /// A connection is expected.
    pub fn open(&mut self, serial: Serial, classed: Box<Classed>) {
        self.flows.expect(serial, classed);
    }

    /// A connection is over for its ends at `now`: its last packets may still come. So may datagrams of a flow whose ends will send no
    /// more, but those that wait to be read alone.
    pub fn close(&mut self, now: Time, serial: Serial) {
        let place = self.flows.place_of(serial);
        let is_of_datagrams = place.and_then(|place| self.flows.get_mut(place)?.protocol) == Some(Protocol::Udp);
        let until = now + if is_of_datagrams { DATAGRAMS_LINGER } else { self.settings.linger };
        self.close_at(until, serial);
    }

    fn close_at(&mut self, until: Time, serial: Serial) {
        let place = self.closing.partition_point(|closing| closing.0 <= until);
        self.closing.insert(place, (until, serial));
    }

    /// Reads what has come, sends it into the network, and hands on what is due; when the next step is.
    ///
    /// # Errors
    /// A device, the network or the run is gone.
    pub fn step(&mut self, now: impl Fn() -> Time) -> Result<Wake, PathError> {
        let began = now();
        let mut busy = false;
        let mut more = false;
        for side in SIDES {
            let read = self.read(side, &now)?;
            busy |= read > 0;
            more |= read == BATCH;
        }
        self.emulation.advance(now())?;
        let handed_on = self.hand_on(&now)?;
        busy |= handed_on > 0;
        more |= handed_on == HANDED_ON;
        let ended = now();
        self.tidy(ended)?;
        self.report.wakes += 1;
        let tick = self.settings.tick.as_nanos().max(1);
        let next_tick = Time::from_nanos((began.as_nanos() / tick + 1) * tick);
        self.report.overruns += u64::from(ended.since(began) > self.settings.tick);
        if more {
            return Ok(Wake::At(ended));
        }
        if busy || self.waiting.iter().any(|waiting| !waiting.is_empty()) {
            return Ok(Wake::At(next_tick));
        }
        let next = [self.emulation.next_timeout(), self.closing.front().map(|closing| closing.0)];
        Ok(next.into_iter().flatten().min().map_or(Wake::WithPacket, Wake::By))
    }

    /// Waits until the next step is due, or somebody rings.
    ///
    /// # Errors
    /// A device is gone.
    pub(super) fn wait(&self, wake: Wake, clock: &Clock, bell: &EventFd) -> Result<(), PathError> {
        let [left, right] = &*self.devices;
        super::wait(wake, clock, [left, right], bell).map_err(PathError::Wait)
    }

    /// Reads packets of a side, a batch at most; how many.
    fn read(&mut self, side: LinkSide, now: &impl Fn() -> Time) -> Result<u32, PathError> {
        for read in 0..BATCH {
            let device = &mut self.devices[side as usize];
            let length = device.read(self.current.room()).map_err(|error| PathError::Device(side, error))?;
            let Some(length) = length else { return Ok(read) };
            self.current.set_length(length);
            self.enter(side, now())?;
        }
        Ok(BATCH)
    }

    /// The packet that was just read enters the path.
    fn enter(&mut self, side: LinkSide, now: Time) -> Result<(), PathError> {
        let counts = &mut self.report.devices[side as usize];
        counts.read_packets += 1;
        counts.read_bytes += self.current.packet().len() as u64;
        let frame = match Frame::read(self.current.packet()) {
            Ok(frame) => frame,
            Err(Unread::NotIpv4) => {
                counts.strangers += 1;
                return Ok(());
            }
            Err(Unread::Malformed) => {
                counts.malformed += 1;
                return Ok(());
            }
        };
        let (place, sender) = match self.flows.whose(side, &frame) {
            Belongs::To(place, sender) => (place, sender),
            Belongs::ToNewGuest(key) => {
                let slot = self.emulation.open_guest(side);
                (self.flows.welcome(key, side, slot), Side::Initiator)
            }
            Belongs::Nowhere => {
                counts.strangers += 1;
                return Ok(());
            }
        };
        let Some(flow) = self.flows.get_mut(place) else { return Ok(()) };
        let slot = match &flow.state {
            State::Open(slot) => *slot,
            State::Waiting(classed) => {
                let slot = self.emulation.open(now, classed)?;
                flow.state = State::Open(slot);
                slot
            }
        };
        flow.last = now;
        self.current.set_length(frame.bytes.into());
        let taken = flow.conversation.take(sender, &frame, self.current.packet_mut());
        let PerSide { initiator, acceptor } = taken.first;
        for (side, number) in [(Side::Initiator, initiator), (Side::Acceptor, acceptor)] {
            if let Some(number) = number {
                self.emulation.set_initial_sequence(slot, side, number);
            }
        }
        let sent = self.emulation.send(now, slot, sender, taken.segment, taken.extra)?;
        if let Some(copy) = sent.copy {
            self.buffers.keep_copy(copy, self.current.packet());
        }
        if let Some(handle) = sent.packet {
            self.buffers.keep(handle, &mut self.current);
        }
        Ok(())
    }

    /// Hands on what devices had no room for, and what has become due, but of that no more than [`HANDED_ON`]; how many.
    fn hand_on(&mut self, now: &impl Fn() -> Time) -> Result<u32, PathError> {
        for side in SIDES {
            while let Some((due, buffer)) = self.waiting[side as usize].pop_front() {
                if !self.write(side, due, buffer.packet(), now)? {
                    self.waiting[side as usize].push_front((due, buffer));
                    break;
                }
                self.buffers.give_back(buffer);
            }
        }
        for handed_on in 0..HANDED_ON {
            let Some(delivery) = self.emulation.poll_delivery() else { return Ok(handed_on) };
            let side = delivery.from.other();
            if delivery.segment.ecn.is_marked() {
                mark(self.buffers.of(delivery.handle).packet_mut());
            }
            let buffer = self.buffers.take(delivery.handle);
            let is_first = self.waiting[side as usize].is_empty();
            if is_first && self.write(side, delivery.due, buffer.packet(), now)? {
                self.buffers.give_back(buffer);
            } else {
                self.waiting[side as usize].push_back((delivery.due, buffer));
            }
        }
        Ok(HANDED_ON)
    }

    /// Writes a packet that was due to the device of a side; whether it took it.
    fn write(&mut self, side: LinkSide, due: Time, packet: &[u8], now: &impl Fn() -> Time) -> Result<bool, PathError> {
        let device = &mut self.devices[side as usize];
        let taken = device.write(packet);
        let counts = &mut self.report.devices[side as usize];
        let taken = taken.map_err(|error| {
            counts.unwritten += 1;
            PathError::Device(side, error)
        })?;
        if taken {
            counts.written_packets += 1;
            counts.written_bytes += packet.len() as u64;
            self.report.lateness.record(now().since(due));
        } else {
            counts.full += 1;
        }
        Ok(taken)
    }

    /// Closes what has been over for long enough, and hands on what was recorded.
    fn tidy(&mut self, now: Time) -> Result<(), PathError> {
        while let Some(&(_, serial)) = self.closing.front().filter(|closing| closing.0 <= now) {
            self.closing.pop_front();
            let Some(place) = self.flows.place_of(serial) else { continue };
            let is_busy =
                self.flows.get_mut(place).and_then(|flow| flow.slot()).is_some_and(|slot| self.emulation.is_busy(slot));
            if is_busy {
                self.close(now, serial);
            } else {
                self.end(place)?;
            }
        }
        if self.guests_next <= now {
            self.guests_next = now + GUESTS_EVERY;
            for place in self.flows.silent_guests(now.before(GUEST_SILENCE)) {
                let slot = self.flows.get_mut(place).and_then(|flow| flow.slot());
                if slot.is_some_and(|slot| !self.emulation.is_busy(slot)) {
                    self.end(place)?;
                }
            }
        }
        if self.records_next <= now {
            self.records_next = now + RECORDS_EVERY;
            self.emulation.recorder().flush()?;
        }
        Ok(())
    }

    /// Ends a flow as it is, and says so if it is a connection.
    fn end(&mut self, place: Place) -> Result<(), PathError> {
        let Some(Flow { owner, state, .. }) = self.flows.remove(place) else { return Ok(()) };
        let closed = match state {
            State::Open(slot) => self.emulation.cut(slot),
            State::Waiting(classed) => Some(self.emulation.without_packets(&classed)),
        };
        match (owner, closed) {
            (Owner::Connection(serial), Some(closed)) => Ok(self.emulation.recorder().closed(serial, closed)?),
            _ => Ok(()),
        }
    }

    /// A step or the wait for one has failed: if what there is can still be [finished](Self::finish), that will say why.
    ///
    /// # Errors
    /// `error` itself, if it cannot.
    pub(super) fn fail(&mut self, error: PathError) -> Result<(), PathError> {
        match error {
            PathError::Device(..) | PathError::Wait(_) => {
                // The first is the cause of others.
                self.report.failed.get_or_insert_with(|| error.to_string());
                Ok(())
            }
            PathError::Network(_) | PathError::HungUp(_) => Err(error),
        }
    }

    /// Cuts everything as of `now`, and adds up. The statistics of queues cover the window, unless the run was `interrupted`.
    ///
    /// # Errors
    /// The run is gone; or packets do not add up. A device that is gone is none: the report says so.
    pub fn finish(mut self, now: Time, interrupted: bool) -> Result<EmulatorReport, PathError> {
        // What was sent before the end, as far as it has come; ends that go on sending must not keep the path from it.
        for _ in 0..LAST_BATCHES {
            let mut more = false;
            for side in SIDES {
                match self.read(side, &|| now) {
                    Ok(read) => more |= read == BATCH,
                    Err(error) => self.fail(error)?,
                }
            }
            if !more {
                break;
            }
        }
        self.emulation.advance(now)?;
        for place in self.flows.connections() {
            self.end(place)?;
        }
        // What has been delivered and was not handed on.
        while let Some(delivery) = self.emulation.poll_delivery() {
            self.report.devices[delivery.from.other() as usize].unwritten += 1;
            self.report.lateness.record(now.since(delivery.due));
        }
        for (counts, waiting) in self.report.devices.iter_mut().zip(&self.waiting) {
            counts.unwritten += waiting.len() as u64;
        }
        self.report.buffers = self.buffers.count() as u64;
        let end = self.emulation.now();
        let covered = if interrupted { end } else { end.max(Time::ZERO + self.window) };
        self.report.network = self.emulation.finish(covered)?;
        Ok(self.report)
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
