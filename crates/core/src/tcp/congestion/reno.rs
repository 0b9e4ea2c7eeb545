//! Reno: RFC 5681, counted in bytes. With [`Recovery::First`] it is Reno, with [`Recovery::Full`] NewReno (RFC 6582); the
//! window outside recovery is the same.

use super::control::{Ack, Cause, CongestionControl, Recovery};
use super::window::{Window, WindowCause, saturate};
use crate::time::{Duration, Time};

/// Slow start and congestion avoidance of RFC 5681.
#[derive(Clone, Debug)]
pub struct Reno {
    /// Bytes acknowledged toward the next increase in congestion avoidance.
    acked: u32,
    recovery: Recovery,
}

impl Reno {
    /// The law of growth, with the `recovery` that the sender is to do.
    pub fn new(recovery: Recovery) -> Reno {
        Reno { acked: 0, recovery }
    }
}

impl CongestionControl for Reno {
    /// Congestion avoidance adds one segment per window of acknowledged bytes (RFC 5681 section 3.1, the recommended
    /// way). A window that the sender did not fill does not grow.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.in_recovery || ack.acked == 0 || !ack.window_limited {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = window.slow_start_to_threshold(acked);
        }
        if !window.in_slow_start() && acked > 0 {
            self.acked = self.acked.saturating_add(saturate(acked));
            if self.acked >= window.bytes() {
                self.acked -= window.bytes();
                window.grow(window.mss(), WindowCause::Avoidance);
            }
        }
    }

    /// RFC 5681 equation 4; RFC 3168 section 6.1.2 wants the same for a mark.
    fn on_congestion(&mut self, window: &mut Window, _now: Time, flight: u64, cause: Cause) {
        self.acked = 0;
        window.set_threshold(window.half(flight));
        window.set(window.threshold(), cause.into());
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Time, flight: u64, again: bool) {
        self.acked = 0;
        if !again {
            window.set_threshold(window.half(flight));
        }
        window.set(window.mss(), WindowCause::Timeout);
    }

    fn on_restart(&mut self, window: &mut Window, _now: Time, _idle: Duration, restart: Option<u32>) {
        if let Some(restart) = restart {
            self.acked = 0;
            window.restart(restart);
        }
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MSS, ack, avoiding, full};
    use super::*;

    fn reno() -> Reno {
        Reno::new(Recovery::Full)
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_window_whatever_the_acknowledgements() {
        for step in [500, 1000] {
            let (mut reno, mut window) = (reno(), avoiding(10 * MSS));
            for segments in 10..20 {
                assert_eq!(window.bytes(), segments * MSS);
                let wide = window.bytes();
                (0..wide / step).for_each(|_| reno.on_ack(&mut window, &full(step, wide)));
            }
        }
    }

    #[test]
    fn bytes_beyond_a_window_count_toward_the_next_segment() {
        let (mut reno, mut window) = (reno(), avoiding(4 * MSS));
        let after = [(3000, 4000), (3000, 5000), (2000, 5000), (1000, 6000)];
        for (acked, expected) in after {
            let wide = window.bytes();
            reno.on_ack(&mut window, &full(acked, wide));
            assert_eq!(window.bytes(), expected);
        }
    }

    #[test]
    fn slow_start_adds_what_is_acknowledged_up_to_the_limit() {
        let after = |limit, acked| {
            let mut window = Window::new(4 * MSS, MSS, limit);
            reno().on_ack(&mut window, &full(acked, 4000));
            (window.bytes(), window.why())
        };
        assert_eq!(after(Some(1), 400), (4400, WindowCause::SlowStart));
        assert_eq!(after(Some(1), 3000).0, 5000, "RFC 5681");
        assert_eq!(after(Some(2), 3000).0, 6000, "RFC 3465");
        assert_eq!(after(None, 3000).0, 7000);
    }

    #[test]
    fn what_was_not_used_does_not_grow() {
        let (mut reno, mut window) = (reno(), Window::new(10 * MSS, MSS, Some(1)));
        reno.on_ack(&mut window, &ack(1000));
        assert_eq!(window.bytes(), 10_000);
        let mut window = avoiding(4 * MSS);
        reno.on_ack(&mut window, &Ack { window_limited: false, ..full(4000, 4000) });
        assert_eq!(window.bytes(), 4000);
        reno.on_ack(&mut window, &Ack { in_recovery: true, ..full(4000, 4000) });
        assert_eq!(window.bytes(), 4000, "in recovery the sender says what may be sent");
    }

    #[test]
    fn the_threshold_is_half_the_flight_but_two_segments() {
        let (mut reno, mut window) = (reno(), avoiding(10 * MSS));
        reno.on_congestion(&mut window, Time::ZERO, 9000, Cause::Loss);
        assert_eq!((window.bytes(), window.threshold(), window.why()), (4500, 4500, WindowCause::Loss));
        reno.on_timeout(&mut window, Time::ZERO, 1000, false);
        assert_eq!((window.bytes(), window.threshold(), window.why()), (MSS, 2 * MSS, WindowCause::Timeout));
        reno.on_timeout(&mut window, Time::ZERO, 90_000, true);
        assert_eq!((window.bytes(), window.threshold()), (MSS, 2 * MSS));
    }

    #[test]
    fn idling_takes_the_window_back_and_keeps_the_threshold() {
        let (mut reno, mut window) = (reno(), Window::new(10 * MSS, MSS, Some(1)));
        let mut restart = |bytes| {
            reno.on_restart(&mut window, Time::ZERO, Duration::from_secs(2), bytes);
            (window.bytes(), window.threshold(), window.why())
        };
        assert_eq!(restart(None), (10 * MSS, Window::MAX, WindowCause::Initial));
        assert_eq!(restart(Some(4 * MSS)), (4 * MSS, Window::MAX, WindowCause::Restart));
        assert_eq!(restart(Some(6 * MSS)).0, 4 * MSS);
    }

    #[test]
    fn a_reduction_without_cause_is_taken_back() {
        let (mut reno, mut window) = (reno(), avoiding(10 * MSS));
        reno.on_timeout(&mut window, Time::ZERO, 10_000, false);
        reno.on_spurious(&mut window, Time::ZERO, 10_000, 10_000);
        assert_eq!((window.bytes(), window.threshold(), window.why()), (10_000, 10_000, WindowCause::Undone));
    }
}
