//! The packets of a network interface from the agreed start to the end of a leaf.

use std::sync::{Arc, OnceLock};

use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::LinkType;
use flowloom_live::clock::Clock;
use flowloom_store::capture::{Captures, LiveOptions, Packet};

use super::error::WorkError;
use super::order::{Order, Todo};
use crate::clock::{Clock as _, HostClock};

/// What the kernel holds for who is late: a second of 32 MB/s.
const BUFFER: usize = 32 << 20;

/// An interface that is read. The host's own rights and mode of it stay as they are: it is not made to take what is for others.
pub(super) struct Interface {
    captures: Captures,
    link: LinkType,
    /// Until when, once it has begun.
    until: Arc<OnceLock<Until>>,
    /// By the time of day, as packets are stamped.
    covered: (Time, Time),
    /// What the kernel had lost before it began.
    dropped_before: u64,
}

/// When a leaf ends.
struct Until {
    clock: Clock,
    duration: Duration,
    order: Arc<Order>,
}

impl Interface {
    /// Opens it: packets are held from now on. That takes its time, and so is done before the start.
    ///
    /// # Errors
    /// The interface cannot be read, and what to do.
    pub(super) fn open(name: &str, snap_bytes: u64) -> Result<Interface, WorkError> {
        let until: Arc<OnceLock<Until>> = Arc::default();
        let is_over = {
            let until = Arc::clone(&until);
            move || {
                until.get().is_some_and(|Until { clock, duration, order }| {
                    order.todo() != Todo::GoOn || clock.now() >= Time::ZERO + *duration
                })
            }
        };
        let options = LiveOptions {
            snap_length: snap_bytes as usize,
            promiscuous: false,
            buffer_bytes: BUFFER,
            ..LiveOptions::default()
        };
        let captures = Captures::live(name, options, Box::new(is_over))?;
        let link = captures.interface_link().unwrap_or(LinkType::Ethernet);
        Ok(Interface { captures, link, until, covered: (Time::ZERO, Time::ZERO), dropped_before: 0 })
    }

    /// What packets begin with.
    pub(super) fn link(&self) -> LinkType {
        self.link
    }

    /// It counts from the beginning of `clock` on, for so long or until it is told to end.
    pub(super) fn begin(&mut self, clock: &Clock, duration: Duration, order: &Arc<Order>) {
        // What is stamped with the time of day between start and end came then; a clock that is set meanwhile is the keeper's affair.
        let start = now().before(clock.now().since(Time::ZERO)) + clock.until(Time::ZERO);
        self.covered = (start, start + duration);
        // There is one run.
        let _ = self.until.set(Until { clock: *clock, duration, order: Arc::clone(order) });
    }

    /// Hands every packet to `take`, until the end.
    ///
    /// # Errors
    /// Those of the interface, or of `take`.
    pub(super) fn each(&mut self, mut take: impl FnMut(&Packet<'_>) -> Result<(), WorkError>) -> Result<(), WorkError> {
        let (start, end) = self.covered;
        let mut has_begun = false;
        loop {
            let lost = if has_begun { 0 } else { self.lost() };
            let Some(packet) = self.captures.next_packet()? else { break };
            if (start..end).contains(&packet.time) {
                take(&packet)?;
                has_begun = true;
            } else if !has_begun {
                self.dropped_before = lost;
            }
        }
        // It may have been told to end before its time.
        self.covered.1 = end.min(now().max(start));
        Ok(())
    }

    /// Packets that the kernel lost before they were read, as far as that was after the start.
    pub(super) fn dropped(&self) -> u64 {
        self.lost() - self.dropped_before
    }

    fn lost(&self) -> u64 {
        self.captures.inputs().iter().filter_map(|input| input.drops).sum()
    }

    /// Whether the interface went down.
    pub(super) fn went_down(&self) -> bool {
        self.captures.inputs().iter().any(|input| input.went_down)
    }

    /// From when to when, in nanoseconds since 1970.
    pub(super) fn covered(&self) -> (u64, u64) {
        (self.covered.0.as_nanos(), self.covered.1.as_nanos())
    }
}

/// The time of day.
fn now() -> Time {
    Time::from_nanos(HostClock.unix_ns().max(0).unsigned_abs())
}
