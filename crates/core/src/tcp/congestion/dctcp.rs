//! DCTCP (RFC 8257): reduces the window by how many bytes were marked, not by whether any was.
//!
//! The receiver's part, to say exactly which bytes were marked (RFC 8257 section 3.2), is in the endpoint.
//!
//! [`WindowRules::Linux`] has the arithmetic of Linux (`net/ipv4/tcp_dctcp.c`), which differs in three points:
//! - Alpha is a whole number of 1,024ths. What a window without marks takes of it is rounded down, and below 2^shift 1,024ths
//!   it takes all: with g = 1/16, what is below 1/64 becomes zero.
//! - An observation window ends with the acknowledgement of its last byte, not with the one after it.
//! - A mark takes whole segments of the window, rounded down.

use super::control::{Ack, Cause, CongestionControl, Recovery};
use super::reno::Reno;
use super::window::{Window, WindowCause, WindowRules};
use crate::time::{Duration, Time};

/// An Alpha of one, in the units of [`Dctcp::alpha`].
const ONE: u64 = 1 << 30;
/// An Alpha of one in Linux (`DCTCP_MAX_ALPHA`).
const LINUX_ONE: u64 = 1 << 10;

/// The parameters of DCTCP that can be set.
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
    /// DCTCP.WindowEnd: the stream offset at which the observation window ends.
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

    /// Counts what is acknowledged and marked, and updates Alpha once per observation window (section 3.3, items 1 to 8).
    fn observe(&mut self, ack: &Ack, rules: WindowRules) {
        self.acked += ack.delivered;
        if ack.marked {
            self.marked += ack.delivered;
        }
        let is_over = match rules {
            WindowRules::Rfc => ack.unacknowledged > self.window_end,
            WindowRules::Linux => ack.unacknowledged >= self.window_end,
        };
        if !is_over {
            return;
        }
        if self.acked > 0 {
            let estimate = match rules {
                WindowRules::Rfc => estimate,
                WindowRules::Linux => estimate_in_linux,
            };
            let alpha = estimate(u64::from(self.alpha), self.marked, self.acked, self.gain_shift);
            self.alpha = alpha.min(ONE) as u32;
        }
        (self.acked, self.marked) = (0, 0);
        self.window_end = ack.next;
    }
}

/// Alpha in parts of [`ONE`] after an observation window with `marked` of `acked` bytes marked (section 3.3, item 6).
fn estimate(alpha: u64, marked: u64, acked: u64, gain_shift: u8) -> u64 {
    let share = (u128::from(marked) * u128::from(ONE) / u128::from(acked)) as u64;
    alpha - (alpha >> gain_shift) + (share >> gain_shift)
}

/// The same as Linux calculates it (`dctcp_update_alpha`): a share of 1,024ths.
fn estimate_in_linux(alpha: u64, marked: u64, acked: u64, gain_shift: u8) -> u64 {
    let alpha = alpha * LINUX_ONE / ONE;
    let taken = match alpha >> gain_shift {
        0 => alpha,
        taken => taken,
    };
    let added = marked.saturating_mul(LINUX_ONE >> gain_shift) / acked;
    (alpha - taken + added) * (ONE / LINUX_ONE)
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.observe(ack, window.rules());
        self.reno.on_ack(window, ack);
    }

    /// Section 3.3, item 9: a mark reduces the window by half of Alpha at once, with what is known of Alpha by then.
    fn on_congestion(&mut self, window: &mut Window, now: Time, flight: u64, cause: Cause) {
        if cause == Cause::Loss {
            return self.reno.on_congestion(window, now, flight, cause);
        }
        let wide = window.bytes();
        let cut = u64::from(wide) * u64::from(self.alpha) / (2 * ONE);
        let mss = u64::from(window.mss());
        let cut = if window.rules() == WindowRules::Linux { cut / mss * mss } else { cut };
        self.reno.on_congestion(window, now, flight, cause);
        window.set_threshold(wide - cut as u32);
        window.set(window.threshold(), WindowCause::Mark);
    }

    /// Linux halves what the mark has left so far (`dctcp_react_to_loss`, on the way from CWR to Recovery). RFC 8257 section 3.5 refers
    /// to other congestion control, which reduces once a window of data.
    fn on_loss_after_mark(&mut self, window: &mut Window, wide: u32) {
        if window.rules() == WindowRules::Linux {
            window.set_threshold(wide / 2);
            window.set(window.threshold(), WindowCause::Loss);
        }
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
        alphas_under(WindowRules::Rfc, marked, gain_shift)
    }

    fn alphas_under(rules: WindowRules, marked: &[u32], gain_shift: u8) -> Vec<f64> {
        let (mut dctcp, mut window) = (Dctcp::new(DctcpParameters { gain_shift }), avoiding(10 * MSS).under(rules));
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

    /// By hand, from 1,024: 64 less, 60 less, 56 less and 5/10 of 64 more, 54 less and 64 more, 55 less.
    #[test]
    fn linux_counts_alpha_in_1024ths() {
        let parts = |marked: &[u32], gain_shift| {
            let alphas = alphas_under(WindowRules::Linux, marked, gain_shift);
            alphas.iter().map(|alpha| alpha * 1_024.0).collect::<Vec<_>>()
        };
        assert_eq!(parts(&[0, 0, 5, 10, 0], 4), [960.0, 900.0, 876.0, 886.0, 831.0]);
        assert_eq!(parts(&[1; 1_000], 7).last(), Some(&0.0), "a tenth of 8 is none, so small gains lose small shares");
        let quiet = parts(&[0; 100], 4);
        let least = quiet.iter().copied().rfind(|alpha| *alpha > 0.0);
        assert_eq!((least, quiet.last()), (Some(15.0), Some(&0.0)), "a sixteenth of 15 is none, so all of it goes");
        assert!(alphas(&[0; 100], 4)[99] > 0.0, "RFC 8257 has no such end");
    }

    /// RFC 8257 section 3.3, item 4, goes on while SEG.ACK is at most WindowEnd; Linux until SND.UNA is there.
    #[test]
    fn an_observation_window_ends_at_its_last_byte_or_after_it() {
        for (rules, expected) in [(WindowRules::Rfc, 960.0), (WindowRules::Linux, 900.0)] {
            let mut dctcp = Dctcp::new(DctcpParameters::default());
            let mut window = avoiding(10 * MSS).under(rules);
            for (una, next) in [(1_000, 11_000), (11_000, 21_000)] {
                dctcp.on_ack(&mut window, &Ack { unacknowledged: una, next, ..ack(MSS) });
            }
            assert_eq!(dctcp.alpha() * 1_024.0, expected, "{rules:?}");
        }
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
        let reduced = |rules: WindowRules, quiet: usize| {
            let mut dctcp = Dctcp::new(DctcpParameters::default());
            let mut window = avoiding(100 * MSS).under(rules);
            for count in 1..=quiet as u64 {
                let una = 1000 * count;
                dctcp.on_ack(&mut window, &Ack { unacknowledged: una, next: una, ..ack(MSS) });
            }
            dctcp.on_congestion(&mut window, Time::ZERO, 100_000, Cause::Mark);
            assert_eq!((window.threshold(), window.why()), (window.bytes(), WindowCause::Mark));
            window.bytes()
        };
        // 100,000 less (15/16)^n / 2 of it, the cut rounded down.
        let quiet = [0, 1, 2, 10, 50];
        assert_eq!(quiet.map(|quiet| reduced(WindowRules::Rfc, quiet)), [50_000, 53_125, 56_055, 73_777, 98_017]);
        // Alpha is 1,024, 960, 900, 540 and 48 1,024ths; 100 segments less 50, 46.9, 43.9, 26.4 and 2.3, rounded down.
        assert_eq!(quiet.map(|quiet| reduced(WindowRules::Linux, quiet)), [50_000, 54_000, 57_000, 74_000, 98_000]);
    }
}
