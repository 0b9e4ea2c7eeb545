//! The receiving half: reassembly, acknowledgements, the advertised window.

use super::config::{Config, Limits};
use super::sender::Deadline;
use crate::time::Time;

/// Data and FIN that arrived ahead of a hole. Rare, so it lives apart from the hot state.
#[derive(Clone, Debug, Default)]
struct OutOfOrder {
    /// Disjoint, non-adjacent, ascending `[start, end)`.
    ranges: Vec<(u64, u64)>,
    /// The offset of a FIN that arrived early.
    fin: Option<u64>,
}

impl OutOfOrder {
    fn insert(&mut self, mut start: u64, mut end: u64) {
        let first = self.ranges.partition_point(|range| range.1 < start);
        let last = self.ranges.partition_point(|range| range.0 <= end);
        if first < last {
            start = start.min(self.ranges[first].0);
            end = end.max(self.ranges[last - 1].1);
        }
        self.ranges.splice(first..last, [(start, end)]);
    }
}

/// What one end knows of the stream it receives. The application reads at once, so the window never shrinks.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// RCV.NXT: the next offset expected.
    next: u64,
    /// The acknowledgement number last sent.
    acknowledged: u64,
    out_of_order: Option<Box<OutOfOrder>>,
    delayed: Deadline,
    /// What this end would advertise if any value could be expressed.
    max_window: u32,
    /// Full-sized segments of this connection.
    mss: u16,
    /// The shift of the window field once scaling is agreed.
    shift: u8,
    ack_now: bool,
    fin_received: bool,
}

/// The smallest shift that lets 16 bits reach `window` (RFC 7323 section 2.2 allows at most 14).
fn shift_for(window: u32) -> u8 {
    (0..14).find(|&shift| window >> shift <= u32::from(u16::MAX)).unwrap_or(14)
}

impl Receiver {
    pub(super) fn new(limits: Limits) -> Receiver {
        Receiver {
            next: 0,
            acknowledged: 0,
            out_of_order: None,
            delayed: Deadline::NONE,
            max_window: limits.max_window,
            mss: limits.mss,
            shift: 0,
            ack_now: false,
            fin_received: false,
        }
    }

    /// The shift this end offers in its SYN.
    pub(super) fn offered_shift(&self) -> u8 {
        shift_for(self.max_window)
    }

    /// Takes what the SYNs agreed on: the segment size and whether windows are scaled.
    pub(super) fn negotiated(&mut self, mss: u16, scaled: bool) {
        self.mss = mss;
        self.shift = if scaled { self.offered_shift() } else { 0 };
    }

    /// The peer's SYN arrived.
    pub(super) fn take_syn(&mut self) {
        self.next = 1;
    }

    /// The shift in effect.
    pub(super) fn shift(&self) -> u8 {
        self.shift
    }

    /// The window in bytes as the header can express it, rounded down, with `shift` in effect.
    pub(super) fn window(&self, shift: u8) -> u32 {
        (self.max_window >> shift).min(u32::from(u16::MAX)) << shift
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn fin_received(&self) -> bool {
        self.fin_received
    }

    /// Payload bytes received in order.
    pub(super) fn bytes(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.fin_received))
    }

    pub(super) fn ack_at_once(&mut self) {
        self.ack_now = true;
    }

    pub(super) fn ack_is_due(&self) -> bool {
        self.ack_now
    }

    pub(super) fn deadline(&self) -> Deadline {
        self.delayed
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.delayed.is_due(now) {
            self.delayed = Deadline::NONE;
            self.ack_now = true;
        }
    }

    /// A segment carrying RCV.NXT goes out: whatever acknowledgement was owed is paid.
    pub(super) fn acknowledge(&mut self) -> u64 {
        self.ack_now = false;
        self.delayed = Deadline::NONE;
        self.acknowledged = self.next;
        self.next
    }

    /// Takes payload `[start, end)` and a FIN at `end` if `fin`. Nothing to do for a segment without either.
    pub(super) fn receive(&mut self, now: Time, start: u64, end: u64, fin: bool, config: &Config) {
        if start == end && !fin {
            return;
        }
        let right_edge = self.next + u64::from(self.window(self.shift));
        if end + u64::from(fin) <= self.next || start >= right_edge {
            self.ack_now = true;
            return;
        }
        let fin = fin && end <= right_edge;
        let end = end.min(right_edge);
        if start > self.next {
            let ahead = self.out_of_order.get_or_insert_default();
            if start < end {
                ahead.insert(start, end);
            }
            if fin {
                ahead.fin = Some(end);
            }
            self.ack_now = true;
            return;
        }
        self.next = self.next.max(end);
        let mut fin = fin;
        if let Some(ahead) = &mut self.out_of_order {
            // RFC 5681 section 4.2: a segment that fills (part of) a hole is acknowledged at once.
            self.ack_now = true;
            let filled = ahead.ranges.partition_point(|range| range.0 <= self.next);
            if let Some(&(_, end)) = ahead.ranges[..filled].last() {
                self.next = self.next.max(end);
            }
            ahead.ranges.drain(..filled);
            fin |= ahead.fin == Some(self.next);
            if ahead.ranges.is_empty() && ahead.fin.is_none_or(|offset| offset <= self.next) {
                self.out_of_order = None;
            }
        }
        if fin && !self.fin_received {
            self.fin_received = true;
            self.next += 1;
            self.ack_now = true;
        }
        // RFC 5681 section 4.2: at least every second full-sized segment; and never so late that a sender whose
        // whole window is less than two segments waits for the timer.
        let owed = self.next - self.acknowledged;
        match config.delayed_ack {
            Some(delay) if owed <= u64::from(self.mss) && 2 * owed < u64::from(self.window(self.shift)) => {
                if self.delayed.get().is_none() {
                    self.delayed = Deadline::at(now + delay);
                }
            }
            _ => self.ack_now = true,
        }
    }
}
