//! Congestion control: how much may be outstanding. One file per algorithm; the choice is an enum, so that the
//! packet path has no dynamic dispatch.

mod reno;

pub use reno::Reno;

/// Which congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Slow start, congestion avoidance, fast retransmit (RFC 5681) and NewReno fast recovery (RFC 6582).
    Reno,
}

/// The state of one connection's congestion control.
#[derive(Clone, Debug)]
pub(super) enum Congestion {
    Reno(Reno),
}

impl Congestion {
    /// Starts with a window of `initial_window` bytes.
    pub(super) fn new(algorithm: Algorithm, initial_window: u32) -> Congestion {
        match algorithm {
            Algorithm::Reno => Congestion::Reno(Reno::new(initial_window)),
        }
    }

    fn reno(&mut self) -> &mut Reno {
        match self {
            Congestion::Reno(reno) => reno,
        }
    }

    /// The congestion window in bytes.
    pub(super) fn window(&self) -> u32 {
        match self {
            Congestion::Reno(reno) => reno.window(),
        }
    }

    /// `acked` new bytes were acknowledged outside recovery; `flight` bytes were outstanding before.
    pub(super) fn on_ack(&mut self, acked: u64, flight: u64, mss: u32) {
        self.reno().on_ack(acked, flight, mss);
    }

    /// Three duplicate acknowledgements, `flight` bytes outstanding: fast recovery begins.
    pub(super) fn on_recovery(&mut self, flight: u64, mss: u32) {
        self.reno().on_recovery(flight, mss);
    }

    /// One more duplicate acknowledgement in recovery: a segment has left the network.
    pub(super) fn on_duplicate_ack(&mut self, mss: u32) {
        self.reno().on_duplicate_ack(mss);
    }

    /// An acknowledgement of `acked` bytes that leaves a hole: recovery goes on.
    pub(super) fn on_partial_ack(&mut self, acked: u64, mss: u32) {
        self.reno().on_partial_ack(acked, mss);
    }

    /// All that was outstanding when recovery began is acknowledged; `flight` bytes sent since are outstanding.
    pub(super) fn on_recovered(&mut self, flight: u64, mss: u32) {
        self.reno().on_recovered(flight, mss);
    }

    /// The retransmission timer expired with `flight` bytes outstanding; `again` if the window was already
    /// reduced for this loss.
    pub(super) fn on_timeout(&mut self, flight: u64, again: bool, mss: u32) {
        self.reno().on_timeout(flight, again, mss);
    }

    /// Nothing was sent for longer than a retransmission timeout.
    pub(super) fn on_restart(&mut self, restart_window: u32) {
        self.reno().on_restart(restart_window);
    }
}
