//! DCTCP (RFC 8257): reduces the window by how many bytes were marked, not by whether any was.
//!
//! The receiver's part, to say exactly which bytes were marked (RFC 8257 section 3.2), is in the endpoint.

use super::{Ack, Cause, CongestionControl, Recovery, Reno, Window, WindowCause};
use crate::time::{Duration, Time};

/// A fraction of one in [`Dctcp::alpha`].
const ONE: u64 = 1 << 30;

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DctcpParameters {
    /// The weight g of a new window in the estimate is 2 to the minus this. Default 4: g = 1/16 (section 4.2). At most 10
    /// (as in Linux).
    pub gain_shift: u8,
}

impl Default for DctcpParameters {
    fn default() -> DctcpParameters {
        DctcpParameters { gain_shift: 4 }
    }
}

/// DCTCP. Without marks it is [`Reno`], and it answers a loss as Reno does (section 3.5).
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    /// DCTCP.Alpha in parts of [`ONE`]: the share of bytes that were marked.
    alpha: u32,
    gain_shift: u8,
    /// DCTCP.BytesAcked and DCTCP.BytesMarked of the current observation window.
    acked: u64,
    marked: u64,
    /// DCTCP.WindowEnd.
    window_end: u64,
}

impl Dctcp {
    /// DCTCP with `parameters`. The first mark halves the window: Alpha begins at 1 (section 3.3).
    pub fn new(parameters: DctcpParameters) -> Dctcp {
        Dctcp {
            reno: Reno::new(Recovery::Full),
            alpha: ONE as u32,
            gain_shift: parameters.gain_shift.min(10),
            acked: 0,
            marked: 0,
            window_end: 0,
        }
    }

    /// The estimated share of bytes that are marked.
    pub fn alpha(&self) -> f64 {
        f64::from(self.alpha) / ONE as f64
    }

    /// Section 3.3, items 1 to 8.
    fn observe(&mut self, ack: &Ack) {
        self.acked += ack.delivered;
        if ack.marked {
            self.marked += ack.delivered;
        }
        if ack.unacknowledged <= self.window_end {
            return;
        }
        if self.acked > 0 {
            let share = (u128::from(self.marked) * u128::from(ONE) / u128::from(self.acked)) as u64;
            let alpha = u64::from(self.alpha);
            self.alpha = (alpha - (alpha >> self.gain_shift) + (share >> self.gain_shift)).min(ONE) as u32;
        }
        (self.acked, self.marked) = (0, 0);
        self.window_end = ack.next;
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.observe(ack);
        self.reno.on_ack(window, ack);
    }

    /// Section 3.3, item 9: by half of Alpha.
    fn on_congestion(&mut self, window: &mut Window, now: Time, flight: u64, cause: Cause) {
        if cause == Cause::Loss {
            return self.reno.on_congestion(window, now, flight, cause);
        }
        let wide = window.bytes();
        let cut = u64::from(wide) * u64::from(self.alpha) / (2 * ONE);
        self.reno.on_congestion(window, now, flight, cause);
        window.set_threshold(wide - cut as u32);
        window.set(window.threshold(), WindowCause::Mark);
    }

    fn on_timeout(&mut self, window: &mut Window, now: Time, flight: u64, again: bool) {
        self.reno.on_timeout(window, now, flight, again);
    }

    fn on_restart(&mut self, window: &mut Window, now: Time, idle: Duration, restart: Option<u32>) {
        self.reno.on_restart(window, now, idle, restart);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MSS, ack, avoiding, full};
    use super::*;

    /// Windows of ten segments, of which so many are marked; Alpha after each.
    fn alphas(marked: &[u32], gain_shift: u8) -> Vec<f64> {
        let (mut dctcp, mut window) = (Dctcp::new(DctcpParameters { gain_shift }), avoiding(10 * MSS));
        let mut una = 0;
        let after = |&marked: &u32| {
            for (mark, segments) in [(true, marked), (false, 10 - marked)] {
                una += u64::from(segments * MSS);
                // Nine segments on the window is not over, ten on it is.
                let ack = Ack { marked: mark, unacknowledged: una, next: una + 9_500, ..ack(segments * MSS) };
                dctcp.on_ack(&mut window, &ack);
            }
            dctcp.alpha()
        };
        marked.iter().map(after).collect()
    }

    fn close(seen: &[f64], expected: &[f64]) {
        assert_eq!(seen.len(), expected.len());
        for (seen, expected) in seen.iter().zip(expected) {
            assert!((seen - expected).abs() < 1e-8, "{seen} instead of {expected}");
        }
    }

    /// alpha (1 - g) + g F from 1, by hand. The first window ends with its first acknowledgement.
    #[test]
    fn alpha_is_a_moving_average() {
        close(&alphas(&[0, 0, 5, 10, 0], 4), &[0.9375, 0.878_906_25, 0.855_224_609, 0.864_273_071, 0.810_256_004]);
        close(&alphas(&[0, 0, 5], 1), &[0.5, 0.25, 0.375]);
        let steady = alphas(&[3; 400], 4);
        assert!((steady[399] - 0.3).abs() < 1e-6, "{}", steady[399]);
    }

    #[test]
    fn losses_and_unmarked_windows_are_renos() {
        let (mut dctcp, mut window) = (Dctcp::new(DctcpParameters::default()), avoiding(10 * MSS));
        dctcp.on_ack(&mut window, &full(10 * MSS, 10 * MSS));
        assert_eq!(window.bytes(), 11_000);
        dctcp.on_congestion(&mut window, Time::ZERO, 11_000, Cause::Loss);
        assert_eq!((window.bytes(), window.why()), (5_500, WindowCause::Loss));
    }

    #[test]
    fn a_mark_reduces_by_half_of_alpha() {
        let reduced = |quiet: usize| {
            let mut dctcp = Dctcp::new(DctcpParameters::default());
            let mut window = avoiding(100 * MSS);
            for count in 1..=quiet as u64 {
                let una = 1000 * count;
                dctcp.on_ack(&mut window, &Ack { unacknowledged: una, next: una, ..ack(MSS) });
            }
            dctcp.on_congestion(&mut window, Time::ZERO, 100_000, Cause::Mark);
            assert_eq!((window.threshold(), window.why()), (window.bytes(), WindowCause::Mark));
            window.bytes()
        };
        // 100,000 less (15/16)^n / 2 of it, the cut rounded down.
        assert_eq!([0, 1, 2, 10, 50].map(reduced), [50_000, 53_125, 56_055, 73_777, 98_017]);
    }
}
