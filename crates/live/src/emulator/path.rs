//! The path between two devices, as it goes on in steps: what came is sent into the network, what is due is handed on.

use std::collections::VecDeque;
use std::io;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_sim::emulation::EmulationError;
use flowloom_sim::{Classed, Config, ConfigError, Emulation};
use nix::sys::eventfd::EventFd;

use super::announced::Announced;
use super::buffers::{Buffer, Buffers};
use super::counters::EmulatorReport;
use super::crossing::{Crossing, Entering};
use super::records::{Forward, HungUp, PathState};
use super::settings::Settings;
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

impl Wake {
    /// The same, but not later than `time` where nothing comes.
    pub(super) fn not_after(self, time: Time) -> Wake {
        match self {
            Wake::At(_) => self,
            Wake::By(due) => Wake::By(due.min(time)),
            Wake::WithPacket => Wake::By(time),
        }
    }
}

/// The path between the devices of two sides.
///
/// Time comes in with each step, from a clock that is read when a packet is read or written and nowhere else. After a [`Self::step`]
/// another is due when it says; more of them, and later ones, change what is late and nothing else.
pub struct Path<'a, D, C: Crossing = Announced> {
    emulation: Emulation<'a, C::Recorder>,
    settings: Settings,
    window: Duration,
    /// Left first, as everything here that is by side.
    devices: &'a mut [D; 2],
    crossing: C,
    buffers: Buffers,
    /// What the next packet is read into.
    current: Buffer,
    /// Packets that a device had no room for, and when they were due.
    waiting: [VecDeque<(Time, Buffer)>; 2],
    report: EmulatorReport,
}

impl<'a, D: Device> Path<'a, D> {
    /// An idle path of a run.
    ///
    /// # Errors
    /// If the experiment has impossible numbers.
    pub fn new(
        config: &'a Config,
        settings: Settings,
        devices: &'a mut [D; 2],
        recorder: &'a mut Forward,
    ) -> Result<Path<'a, D>, ConfigError> {
        Path::across(config, settings, devices, recorder, Announced::new(settings))
    }

    /// A connection is expected.
    pub fn open(&mut self, serial: Serial, classed: Box<Classed>) {
        self.crossing.open(serial, classed, self.emulation.config());
    }

    /// A connection is over for its ends at `now`: its last packets may still come. So may datagrams of a flow whose ends will send no
    /// more, but those that wait to be read alone.
    pub fn close(&mut self, now: Time, serial: Serial) {
        self.crossing.close(now, serial);
    }

    /// Tells the run how far the path is.
    ///
    /// # Errors
    /// The run is gone.
    pub(super) fn tell(&mut self) -> Result<(), PathError> {
        let state = PathState { links: self.emulation.links(), lateness: self.report.lateness.summary() };
        Ok(self.emulation.recorder().state(state)?)
    }
}

impl<'a, D: Device, C: Crossing> Path<'a, D, C> {
    /// An idle path for the packets of `crossing`.
    ///
    /// # Errors
    /// If the experiment has impossible numbers.
    pub fn across(
        config: &'a Config,
        settings: Settings,
        devices: &'a mut [D; 2],
        recorder: &'a mut C::Recorder,
        crossing: C,
    ) -> Result<Path<'a, D, C>, ConfigError> {
        Ok(Path {
            emulation: Emulation::new(config, recorder)?.ahead_by(settings.bias),
            settings,
            window: config.window,
            devices,
            crossing,
            buffers: Buffers::new(settings.room),
            current: Buffer::new(settings.room),
            waiting: Default::default(),
            report: EmulatorReport::default(),
        })
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
        self.crossing.tidy(ended, &mut self.emulation)?;
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
        let next = [self.emulation.next_timeout(), self.crossing.next_timeout()];
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
        let entering = self.crossing.enter(now, side, &mut self.current, &mut self.emulation, counts)?;
        let Some(Entering { slot, sender, segment, extra }) = entering else { return Ok(()) };
        let sent = self.emulation.send(now, slot, sender, segment, extra)?;
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
                self.crossing.mark(self.buffers.of(delivery.handle).packet_mut());
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
        self.crossing.end(&mut self.emulation)?;
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
