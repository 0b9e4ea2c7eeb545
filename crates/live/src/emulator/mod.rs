//! The emulator: one thread that owns the path between two devices.
//!
//! | file | holds |
//! |---|---|
//! | `frame` | what a packet says of itself |
//! | `flows` | which flow it belongs to |
//! | `conversation` | its numbers as offsets; what is rewritten in it |
//! | `window` | receive windows |
//! | `checksum` | bytes changed in place |
//! | `buffers` | the bytes of packets on their way |
//! | `path` | the step: read, send, hand on |
//! | `crossing` | what it asks about packets |
//! | `announced` | the packets of a run |
//! | `bridge` | the packets of strangers |
//! | `records` | what goes to the run |
//! | `counters` | what it did |
//!
//! What crosses the path of a run: connections that were [announced](Command::Open), known by their [addresses](crate::addresses), with the
//! windows and segment sizes of their vectors; and whatever passes between reserved addresses of the two sides, untouched and
//! across the links alone. All else is dropped and counted. Segments must come with whole checksums: devices are without checksum
//! offload.
//!
//! A packet comes as of when it was read. It is read at once when the path was idle, and otherwise at the next tick, a hundred
//! microseconds at most: waking for each packet would cost more than all else.

mod announced;
pub mod bridge;
mod buffers;
mod checksum;
mod conversation;
mod counters;
mod crossing;
mod flows;
pub(crate) mod frame;
mod path;
mod records;
mod settings;
#[cfg(test)]
mod tests;
mod window;

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};

use flowloom_core::time::{Duration, Time};
use flowloom_sim::{Classed, Config};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;

pub use announced::Announced;
pub use buffers::Buffer;
pub use counters::{DeviceCounts, EmulatorReport};
pub use crossing::{Crossing, Entering};
pub use path::{Path, PathError, Wake};
pub use records::{Forward, HungUp, Kept, Output, PathState};

use crate::addresses::Serial;
use crate::clock::{Clock, thread_cpu_time};
use crate::device::Device;
use crate::host::turns;
pub use settings::Settings;

/// How much later than asked the kernel may wake the thread to save wake-ups: as little as it takes, where 50 us is usual.
const TIMER_SLACK_NANOS: u64 = 1;

/// How often the run hears how far the path is.
const STATE_EVERY: Duration = Duration::from_millis(250);

/// What the emulator is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A connection is going to come. Of its vector all but the data units count, which may be left out.
    Open(Serial, Box<Classed>),
    /// Both its ends are over. It is closed when its last packets have had time to come, which [`Output::Closed`] says.
    Close(Serial),
    /// The run is over, or breaks off: what is open is cut.
    Stop {
        /// It breaks off, so that nothing is said of the rest of the window.
        interrupted: bool,
    },
}

/// Where commands go in. When the last of these is gone the emulator stops, as if interrupted.
#[derive(Debug)]
pub struct Commands {
    /// `None` while it is dropped.
    to: Option<Sender<Command>>,
    bell: Arc<EventFd>,
}

/// Where commands come out.
#[derive(Debug)]
pub struct Orders {
    from: Receiver<Command>,
    bell: Arc<EventFd>,
}

/// A way to tell an emulator what to do.
///
/// # Errors
/// No more descriptors.
pub fn commands() -> io::Result<(Commands, Orders)> {
    let (to, from) = mpsc::channel();
    let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
    Ok((Commands { to: Some(to), bell: Arc::clone(&bell) }, Orders { from, bell }))
}

impl Commands {
    /// Gives a command. One that opens a connection is heard before the next packet, the others at once.
    ///
    /// # Errors
    /// The emulator has ended.
    pub fn send(&self, command: Command) -> Result<(), HungUp> {
        let urgent = !matches!(command, Command::Open(..));
        self.to.as_ref().ok_or(HungUp)?.send(command).map_err(|_| HungUp)?;
        if urgent {
            self.ring();
        }
        Ok(())
    }

    fn ring(&self) {
        // It can only fail where it has been rung so often, unheard, that once more tells nothing.
        let _ = self.bell.write(1);
    }
}

impl Clone for Commands {
    fn clone(&self) -> Commands {
        Commands { to: self.to.clone(), bell: Arc::clone(&self.bell) }
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        drop(self.to.take());
        self.ring();
    }
}

/// The emulator of a run.
#[derive(Debug)]
pub struct Emulator<D> {
    config: Config,
    settings: Settings,
    devices: [D; 2],
    clock: Clock,
    orders: Orders,
    recorder: Forward,
}

impl<D: Device> Emulator<D> {
    /// The emulator between the devices of the left and of the right side, whose time is that of `clock`. What it records goes to
    /// `out`.
    pub fn new(
        config: Config,
        settings: Settings,
        devices: [D; 2],
        clock: Clock,
        orders: Orders,
        out: Sender<Output>,
    ) -> Emulator<D> {
        Emulator { config, settings, devices, clock, orders, recorder: Forward::new(out) }
    }

    /// Runs until it is told to stop, on the thread that calls it. The devices come back, whose counters say what they lost.
    ///
    /// Where a device fails it ends as if interrupted, with all that it has: see [`EmulatorReport::failed`]. An error is that
    /// nobody takes its records any more, or that they do not add up.
    pub fn run(mut self) -> (Result<EmulatorReport, PathError>, [D; 2]) {
        let report = self.run_to_end();
        (report, self.devices)
    }

    fn run_to_end(&mut self) -> Result<EmulatorReport, PathError> {
        let Emulator { config, settings, devices, clock, orders, recorder } = self;
        let began = thread_cpu_time();
        let turns = turns::come_first();
        set_timerslack(TIMER_SLACK_NANOS).map_err(|error| PathError::Wait(error.into()))?;
        let mut path =
            Path::new(config, *settings, devices, recorder).map_err(|error| PathError::Network(error.into()))?;
        let mut told = Time::ZERO;
        let interrupted = loop {
            if let Some(interrupted) = obey(&mut path, orders, clock) {
                break interrupted;
            }
            let stepped = path.step(|| clock.now()).and_then(|wake| {
                let now = clock.now();
                if now >= told + STATE_EVERY {
                    told = now;
                    path.tell()?;
                }
                path.wait(wake.not_after(told + STATE_EVERY), clock, &orders.bell)
            });
            if let Err(error) = stepped {
                path.fail(error)?;
                break true;
            }
        };
        let finished = path.finish(clock.now(), interrupted);
        recorder.flush()?;
        let mut report = finished?;
        report.turns = turns;
        report.cpu = thread_cpu_time().saturating_sub(began);
        Ok(report)
    }
}

/// Does what was ordered; whether the run is interrupted, if it is over.
fn obey<D: Device>(path: &mut Path<'_, D>, orders: &Orders, clock: &Clock) -> Option<bool> {
    loop {
        match orders.from.try_recv() {
            Ok(Command::Open(serial, classed)) => path.open(serial, classed),
            Ok(Command::Close(serial)) => path.close(clock.now(), serial),
            Ok(Command::Stop { interrupted }) => return Some(interrupted),
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => return Some(true),
        }
    }
}

/// Waits until `wake`, or until the bell rings.
fn wait(wake: Wake, clock: &Clock, devices: [&impl AsFd; 2], bell: &EventFd) -> io::Result<()> {
    let until = |time: Time| {
        let left = clock.until(time);
        (!left.is_zero()).then(|| TimeSpec::from(std::time::Duration::from_nanos(left.as_nanos())))
    };
    let [left, right] = devices;
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut descriptors = [readable(bell.as_fd()), readable(left.as_fd()), readable(right.as_fd())];
    let (waited_for, timeout) = match wake {
        Wake::At(time) | Wake::By(time) => {
            let Some(left) = until(time) else { return Ok(()) };
            (if matches!(wake, Wake::At(_)) { 0 } else { 3 }, Some(left))
        }
        Wake::WithPacket => (3, None),
    };
    match ppoll(&mut descriptors[..waited_for], timeout, None) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    if waited_for > 0 {
        let broken = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        if descriptors[1..].iter().any(|fd| fd.revents().is_some_and(|events| events.intersects(broken))) {
            return Err(io::Error::other("a device is gone or down"));
        }
        if descriptors[0].any() == Some(true) {
            let _ = bell.read();
        }
    }
    Ok(())
}
