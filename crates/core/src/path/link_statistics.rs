//! What a link measures of itself, exactly and without events of its own.

use crate::queue::Backlog;
use crate::time::{Duration, Time};

/// What a link measured since it was made. Times are clipped to the statistics window, which starts at the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LinkStatistics {
    window: Duration,
    /// Waiting packets integrated over time, in packet nanoseconds.
    packet_time: u128,
    /// Waiting bytes integrated over time, in byte nanoseconds.
    byte_time: u128,
    /// Time with at least one packet waiting.
    nonempty: Duration,
    nonempty_until: Time,
    transmitting: Duration,
    max: Backlog,
}

impl LinkStatistics {
    /// Nothing measured yet, over `[0, window)`.
    pub(super) fn new(window: Duration) -> LinkStatistics {
        LinkStatistics { window, ..LinkStatistics::default() }
    }

    fn clip(&self, from: Time, to: Time) -> Duration {
        let end = Time::ZERO + self.window;
        to.min(end).since(from)
    }

    /// A packet arrives at `now` and will wait until `start`; `backlog` includes it. For packets that leave in order of
    /// arrival.
    pub(super) fn wait(&mut self, now: Time, start: Time, bytes: u32, backlog: Backlog) {
        // The integral of the queue length is the sum of the waiting times.
        let waits = u128::from(self.clip(now, start).as_nanos());
        self.packet_time += waits;
        self.byte_time += waits * u128::from(bytes);
        // Starts are in order of arrival, so the times with a packet waiting are the union of intervals that only grow.
        self.nonempty += self.clip(now.max(self.nonempty_until), start);
        self.nonempty_until = start;
        self.peak(now, backlog);
    }

    /// Takes back, of a packet that waits until `start`, what lies after `end`.
    pub(super) fn wait_less(&mut self, end: Time, start: Time, bytes: u32) {
        let ahead = u128::from(self.clip(end, start).as_nanos());
        self.packet_time -= ahead;
        self.byte_time -= ahead * u128::from(bytes);
    }

    /// `backlog` has been waiting since `from` and is about to change at `to`. For packets that leave in any order.
    pub(super) fn hold(&mut self, from: Time, to: Time, backlog: Backlog) {
        if backlog.packets == 0 {
            return;
        }
        let time = self.clip(from, to);
        self.packet_time += u128::from(time.as_nanos()) * u128::from(backlog.packets);
        self.byte_time += u128::from(time.as_nanos()) * u128::from(backlog.bytes);
        self.nonempty += time;
        self.nonempty_until = self.nonempty_until.max(to);
    }

    /// `backlog` waits at `now`.
    pub(super) fn peak(&mut self, now: Time, backlog: Backlog) {
        if now.since(Time::ZERO) < self.window {
            self.max.packets = self.max.packets.max(backlog.packets);
            self.max.bytes = self.max.bytes.max(backlog.bytes);
        }
    }

    pub(super) fn transmit(&mut self, start: Time, end: Time) {
        self.transmitting += self.clip(start, end);
    }

    /// Ends the window at `end`, if it would end later. Transmissions are known until `free`.
    pub(super) fn end(&mut self, end: Time, free: Time) {
        self.nonempty = self.nonempty - self.clip(end, self.nonempty_until);
        self.transmitting = self.transmitting - self.clip(end, free);
        self.window = self.window.min(end.since(Time::ZERO));
    }

    /// Time-weighted mean of waiting packets over the window; zero for an empty window.
    pub fn mean_packets(&self) -> f64 {
        self.per_window(self.packet_time)
    }

    /// Time-weighted mean of waiting bytes over the window.
    pub fn mean_bytes(&self) -> f64 {
        self.per_window(self.byte_time)
    }

    /// Most packets, and most bytes, that ever waited at once in the window.
    pub const fn max(&self) -> Backlog {
        self.max
    }

    /// Share of the window in which no packet waited, from exact times; one for an empty window.
    pub fn empty_share(&self) -> f64 {
        1.0 - self.per_window(u128::from(self.nonempty.as_nanos()))
    }

    /// Share of the window in which a packet was being transmitted.
    pub fn utilisation(&self) -> f64 {
        self.per_window(u128::from(self.transmitting.as_nanos()))
    }

    fn per_window(&self, integral: u128) -> f64 {
        if self.window.is_zero() { 0.0 } else { integral as f64 / self.window.as_nanos() as f64 }
    }
}
