//! Reno with NewReno recovery: RFC 5681 and RFC 6582, counted in bytes.

/// Congestion window of RFC 5681. When losses are noticed, and what is sent again, is the sender's part.
#[derive(Clone, Debug)]
pub struct Reno {
    /// cwnd, in bytes.
    window: u32,
    /// ssthresh, in bytes; "arbitrarily high" at first.
    threshold: u32,
    /// Bytes acknowledged toward the next increase in congestion avoidance.
    acked: u32,
}

/// More than any window that 16 bits shifted by 14 can advertise.
const UNLIMITED: u32 = u32::MAX / 2;

impl Reno {
    /// Starts with cwnd = `initial_window` bytes.
    pub(super) fn new(initial_window: u32) -> Reno {
        Reno { window: initial_window, threshold: UNLIMITED, acked: 0 }
    }

    pub(super) fn window(&self) -> u32 {
        self.window
    }

    fn grow(&mut self, bytes: u32) {
        self.window = self.window.saturating_add(bytes).min(UNLIMITED);
    }

    /// Slow start adds at most one segment per acknowledgement (RFC 5681 equation 2, that is L = 1 of RFC 3465);
    /// congestion avoidance adds one segment per window of acknowledged bytes (RFC 5681 section 3.1, the
    /// recommended way). A window that the sender did not fill says nothing about the path and does not grow: in
    /// slow start less than half used, in congestion avoidance less than one segment short (as in Linux; the same
    /// concern as RFC 7661).
    pub(super) fn on_ack(&mut self, acked: u64, flight: u64, mss: u32) {
        let acked = acked.min(u64::from(UNLIMITED)) as u32;
        if self.window < self.threshold {
            if 2 * flight > u64::from(self.window) {
                self.grow(acked.min(mss));
            }
        } else if flight + u64::from(mss) > u64::from(self.window) {
            self.acked = self.acked.saturating_add(acked);
            if self.acked >= self.window {
                self.acked -= self.window;
                self.grow(mss);
            }
        }
    }

    /// RFC 5681 equation 4.
    fn halve(&mut self, flight: u64, mss: u32) {
        self.threshold = ((flight / 2).min(u64::from(UNLIMITED)) as u32).max(2 * mss);
        self.acked = 0;
    }

    /// RFC 5681 section 3.2 steps 2 and 3: the three segments that caused the duplicates have left the network.
    pub(super) fn on_recovery(&mut self, flight: u64, mss: u32) {
        self.halve(flight, mss);
        self.window = self.threshold + 3 * mss;
    }

    /// RFC 5681 section 3.2 step 4.
    pub(super) fn on_duplicate_ack(&mut self, mss: u32) {
        self.grow(mss);
    }

    /// RFC 6582 section 3.2 step 3, partial acknowledgements: deflate by what was acknowledged, and add back one
    /// segment if it was at least one.
    pub(super) fn on_partial_ack(&mut self, acked: u64, mss: u32) {
        self.window = self.window.saturating_sub(acked.min(u64::from(UNLIMITED)) as u32);
        if acked >= u64::from(mss) {
            self.grow(mss);
        }
        // Deflation must not stop the sender for good: the retransmission itself is always allowed.
        self.window = self.window.max(mss);
    }

    /// RFC 6582 section 3.2 step 3, full acknowledgements, option 1: no burst of what the window would allow.
    pub(super) fn on_recovered(&mut self, flight: u64, mss: u32) {
        let room = flight.min(u64::from(UNLIMITED)) as u32;
        self.window = self.threshold.min(room.max(mss) + mss);
    }

    /// RFC 5681 section 3.1: one segment; the threshold stays when the same data times out again.
    pub(super) fn on_timeout(&mut self, flight: u64, again: bool, mss: u32) {
        if !again {
            self.halve(flight, mss);
        }
        self.acked = 0;
        self.window = mss;
    }

    /// RFC 5681 section 4.1.
    pub(super) fn on_restart(&mut self, restart_window: u32) {
        self.window = self.window.min(restart_window);
        self.acked = 0;
    }
}
