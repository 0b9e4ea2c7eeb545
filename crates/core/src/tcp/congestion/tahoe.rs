//! Tahoe: slow start, congestion avoidance and fast retransmit, without fast recovery (Jacobson, "Congestion avoidance
//! and control", SIGCOMM 1988; "4.3BSD-Tahoe" in Fall and Floyd, CCR 26(3), 1996).

use super::control::{Ack, Cause, CongestionControl, Recovery};
use super::reno::Reno;
use super::window::{Window, WindowCause};
use crate::time::{Duration, Time};

/// Every loss, noticed by duplicates or by a timeout, starts again from one segment. It grows like [`Reno`].
#[derive(Clone, Debug)]
pub struct Tahoe {
    reno: Reno,
}

impl Default for Tahoe {
    fn default() -> Tahoe {
        Tahoe { reno: Reno::new(Recovery::Restart) }
    }
}

impl CongestionControl for Tahoe {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    /// Tahoe is older than marks. One is answered as RFC 3168 section 6.1.2 has it: by half the window, since nothing
    /// was lost.
    fn on_congestion(&mut self, window: &mut Window, now: Time, flight: u64, cause: Cause) {
        self.reno.on_congestion(window, now, flight, cause);
        if cause == Cause::Loss {
            window.set(window.mss(), WindowCause::Loss);
        }
    }

    /// The mark has halved the threshold; what was lost is sent again from one segment all the same.
    fn on_loss_after_mark(&mut self, window: &mut Window, _wide: u32) {
        window.set(window.mss(), WindowCause::Loss);
    }

    fn on_timeout(&mut self, window: &mut Window, now: Time, flight: u64, again: bool) {
        self.reno.on_timeout(window, now, flight, again);
    }

    fn on_restart(&mut self, window: &mut Window, now: Time, idle: Duration, restart: Option<u32>) {
        self.reno.on_restart(window, now, idle, restart);
    }

    fn recovery(&self) -> Recovery {
        Recovery::Restart
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MSS, avoiding, full};
    use super::*;

    /// Threshold half of 8 segments, then slow start from 1 to 4 in two windows and one segment per window after that.
    #[test]
    fn a_loss_starts_again_from_one_segment() {
        let (mut tahoe, mut window) = (Tahoe::default(), avoiding(8 * MSS));
        tahoe.on_congestion(&mut window, Time::ZERO, 8000, Cause::Loss);
        assert_eq!(window.why(), WindowCause::Loss);
        let mut seen = vec![window.bytes() / MSS];
        for _ in 0..5 {
            let wide = window.bytes();
            (0..wide / MSS).for_each(|_| tahoe.on_ack(&mut window, &full(MSS, wide)));
            seen.push(window.bytes() / MSS);
        }
        assert_eq!(seen, [1, 2, 4, 5, 6, 7]);
    }

    #[test]
    fn a_loss_after_a_mark_restarts_without_halving_again() {
        let (mut tahoe, mut window) = (Tahoe::default(), avoiding(8 * MSS));
        tahoe.on_congestion(&mut window, Time::ZERO, 8000, Cause::Mark);
        tahoe.on_loss_after_mark(&mut window, 8000);
        assert_eq!((window.bytes(), window.threshold(), window.why()), (MSS, 4000, WindowCause::Loss));
    }

    #[test]
    fn a_mark_halves() {
        let (mut tahoe, mut window) = (Tahoe::default(), avoiding(8 * MSS));
        tahoe.on_congestion(&mut window, Time::ZERO, 8000, Cause::Mark);
        assert_eq!((window.bytes(), window.threshold(), window.why()), (4000, 4000, WindowCause::Mark));
    }
}
