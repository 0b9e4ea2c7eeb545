//! What a link measures of itself, exactly and without events of its own.

use super::cell_counts::CellCounts;
use crate::queue::Backlog;
use crate::time::{Duration, Time};

/// What a link measured in its statistics window. Times are clipped to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LinkStatistics {
    start: Time,
    end: Time,
    /// Waiting packets integrated over time, in packet nanoseconds.
    packet_time: u128,
    /// Waiting bytes integrated over time, in byte nanoseconds.
    byte_time: u128,
    /// Time with at least one packet waiting.
    nonempty: Duration,
    nonempty_until: Time,
    transmitting: Duration,
    /// Bytes of the packets whose last bit left the line in the window.
    sent_bytes: u64,
    /// Bytes that the opportunities of a trace in the window have room for; `None` of a line with a rate.
    room_bytes: Option<u64>,
    /// What waits at the start of the window, as far as it is known.
    standing: Backlog,
    max: Backlog,
    /// Of a link of cells, over the whole run.
    pub(super) cells: Option<CellCounts>,
}

impl LinkStatistics {
    /// Nothing measured yet, over `[start, end)`.
    pub(super) fn new([start, end]: [Time; 2]) -> LinkStatistics {
        LinkStatistics { start, end, ..LinkStatistics::default() }
    }

    fn clip(&self, from: Time, to: Time) -> Duration {
        to.min(self.end).since(from.max(self.start))
    }

    fn holds(&self, time: Time) -> bool {
        self.start <= time && time < self.end
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
        if now < self.start && self.start < start {
            self.standing.add(bytes);
            self.peak(self.start, self.standing);
        }
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
        if from < self.start && self.start < to {
            self.peak(self.start, backlog);
        }
    }

    /// `backlog` waits at `now`.
    pub(super) fn peak(&mut self, now: Time, backlog: Backlog) {
        if self.holds(now) {
            self.max.packets = self.max.packets.max(backlog.packets);
            self.max.bytes = self.max.bytes.max(backlog.bytes);
        }
    }

    /// A packet of `bytes` is in transmission from `start` to `end`.
    pub(super) fn transmit(&mut self, start: Time, end: Time, bytes: u32) {
        self.transmitting += self.clip(start, end);
        if self.holds(end) {
            self.sent_bytes += u64::from(bytes);
        }
    }

    /// Ends the window at `end`, if it would end later. Transmissions are known until `free`; `room` says how many bytes the
    /// opportunities of a trace between two instants have room for.
    pub(super) fn end(&mut self, end: Time, free: Time, room: impl FnOnce(Time, Time) -> Option<u64>) {
        self.nonempty = self.nonempty - self.clip(end, self.nonempty_until);
        self.transmitting = self.transmitting - self.clip(end, free);
        self.end = self.end.min(end).max(self.start);
        self.room_bytes = room(self.start, self.end);
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

    /// What a link of cells counted, over the whole run.
    pub const fn cells(&self) -> Option<&CellCounts> {
        self.cells.as_ref()
    }

    /// Share of the window in which no packet waited, from exact times; one for an empty window.
    pub fn empty_share(&self) -> f64 {
        1.0 - self.per_window(u128::from(self.nonempty.as_nanos()))
    }

    /// Share of the window in which a packet was being transmitted. Over a trace, known once the statistics have ended, it is the share of the
    /// opportunities' bytes that packets used; a packet counts when its last byte goes.
    pub fn utilisation(&self) -> f64 {
        match self.room_bytes {
            Some(room) => (self.sent_bytes as f64 / room.max(1) as f64).min(1.0),
            None => self.per_window(u128::from(self.transmitting.as_nanos())),
        }
    }

    fn per_window(&self, integral: u128) -> f64 {
        let window = self.end.since(self.start);
        if window.is_zero() { 0.0 } else { integral as f64 / window.as_nanos() as f64 }
    }
}
