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

    /// RFC 5681 section 3.1: one segment; the threshold stays if it was already set for this loss.
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

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    /// Acknowledges everything a full window holds, in acknowledgements of `step` bytes.
    fn acknowledge_window(reno: &mut Reno, step: u32) {
        let window = reno.window();
        (0..window / step).for_each(|_| reno.on_ack(u64::from(step), u64::from(window), MSS));
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_window_whatever_the_acknowledgements() {
        for step in [500, 1000] {
            let mut reno = Reno::new(10 * MSS);
            reno.on_recovery(20_000, MSS);
            reno.on_recovered(20_000, MSS);
            for segments in 10..20 {
                assert_eq!(reno.window(), segments * MSS);
                acknowledge_window(&mut reno, step);
            }
        }
    }

    #[test]
    fn bytes_beyond_a_window_count_toward_the_next_segment() {
        let mut reno = Reno::new(4 * MSS);
        reno.on_recovery(8000, MSS);
        reno.on_recovered(8000, MSS);
        reno.on_ack(3000, 4000, MSS);
        assert_eq!(reno.window(), 4000);
        reno.on_ack(3000, 4000, MSS);
        assert_eq!(reno.window(), 5000);
        reno.on_ack(2000, 5000, MSS);
        assert_eq!(reno.window(), 5000);
        reno.on_ack(1000, 5000, MSS);
        assert_eq!(reno.window(), 6000, "2,000 were left over, 3,000 came");
    }

    #[test]
    fn the_threshold_is_half_the_flight_but_two_segments() {
        let mut reno = Reno::new(10 * MSS);
        reno.on_recovery(9000, MSS);
        assert_eq!(reno.window(), 4500 + 3 * MSS);
        reno.on_timeout(1000, false, MSS);
        assert_eq!(reno.window(), MSS);
        assert_eq!(reno.threshold, 2 * MSS);
        reno.on_timeout(90_000, true, MSS);
        assert_eq!((reno.window(), reno.threshold), (MSS, 2 * MSS));
    }

    #[test]
    fn deflation_leaves_a_segment() {
        let mut reno = Reno::new(10 * MSS);
        reno.on_recovery(4000, MSS);
        (0..20).for_each(|_| reno.on_partial_ack(900, MSS));
        assert_eq!(reno.window(), MSS);
        reno.on_partial_ack(1_000_000, MSS);
        assert_eq!(reno.window(), MSS);
    }

    #[test]
    fn idling_takes_the_window_back_and_keeps_the_threshold() {
        let mut reno = Reno::new(10 * MSS);
        reno.on_restart(4 * MSS);
        assert_eq!((reno.window(), reno.threshold), (4 * MSS, UNLIMITED));
        reno.on_restart(6 * MSS);
        assert_eq!(reno.window(), 4 * MSS);
    }
}
