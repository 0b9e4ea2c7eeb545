//! Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE JSAC 13(8), 1995).
//!
//! Once per round trip it compares the throughput that the window would have on the empty path with what it has, and
//! keeps the difference, the segments that wait in queues, between alpha and beta.
//!
//! Departures from the paper, all as in Linux: slow start doubles every round trip, not every other, and ends when more
//! than gamma segments wait; a loss halves the window; losses are noticed as in all other algorithms here; and the base
//! round-trip time is measured anew when sending begins again with nothing in flight, because the path may have changed.
//! Unlike Linux, which divides by the base round-trip time, the segments that wait are window x (RTT - base) / RTT as in
//! the paper; and a window that was not filled in a whole round trip does not grow.

use super::control::{Ack, Cause, CongestionControl, Recovery};
use super::reno::Reno;
use super::window::{Window, WindowCause};
use crate::time::{Duration, Time};

/// Samples that a round trip needs to be trusted: with fewer a delayed acknowledgement may be all there is (as in Linux).
const SAMPLES: u32 = 3;

/// Segments that may wait in queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VegasParameters {
    /// Below it the window grows. Default 2.
    pub alpha: u8,
    /// Above it the window shrinks. Default 4.
    pub beta: u8,
    /// Above it slow start ends. Default 1.
    pub gamma: u8,
}

impl Default for VegasParameters {
    fn default() -> VegasParameters {
        VegasParameters { alpha: 2, beta: 4, gamma: 1 }
    }
}

/// Vegas. Where it has too few samples to decide it grows like [`Reno`].
#[derive(Clone, Debug)]
pub struct Vegas {
    reno: Reno,
    parameters: VegasParameters,
    /// BaseRTT: the shortest since sending began.
    base: Duration,
    /// The shortest of this round trip.
    shortest: Duration,
    samples: u32,
    /// The round trip ends when this is acknowledged.
    round_end: u64,
    /// The window when it began: what the samples of this round trip saw in flight.
    round_window: u32,
    /// The window held the sender back in this round trip.
    limited: bool,
}

impl Vegas {
    /// A new Vegas state with `parameters`.
    pub fn new(parameters: VegasParameters) -> Vegas {
        Vegas {
            reno: Reno::new(Recovery::Full),
            parameters,
            base: Duration::MAX,
            shortest: Duration::MAX,
            samples: 0,
            round_end: 0,
            round_window: 0,
            limited: false,
        }
    }

    /// Begins a round trip that ends at `next`.
    fn restart_round(&mut self, window: &Window, next: u64) {
        self.shortest = Duration::MAX;
        self.samples = 0;
        self.round_end = next;
        self.round_window = window.bytes();
        self.limited = false;
    }

    /// The end of a round trip with enough samples.
    fn adjust(&mut self, window: &mut Window, ack: &Ack) {
        let (mss, wide) = (window.mss(), u128::from(self.round_window));
        let (base, rtt) = (u128::from(self.base.as_nanos()), u128::from(self.shortest.as_nanos().max(1)));
        // (Expected - Actual) x base, in bytes; what would fill the empty path is the rest.
        let waiting = (wide * (rtt - base.min(rtt)) / rtt) as u32;
        let target = self.round_window - waiting;
        let segments = |count: u8| u32::from(count) * mss;
        if window.in_slow_start() {
            if waiting > segments(self.parameters.gamma) {
                window.set((target + mss).min(window.bytes()).max(2 * mss), WindowCause::Delay);
                window.set_threshold(window.threshold().min(window.bytes().saturating_sub(mss)));
            } else if ack.window_limited {
                window.slow_start(ack.acked);
            }
        } else if waiting > segments(self.parameters.beta) {
            window.set(window.bytes().saturating_sub(mss).max(2 * mss), WindowCause::Delay);
            window.set_threshold(window.threshold().min(window.bytes().saturating_sub(mss)));
        } else if waiting < segments(self.parameters.alpha) && self.limited {
            window.grow(mss, WindowCause::Avoidance);
        }
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
            self.shortest = self.shortest.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        self.limited |= ack.window_limited;
        if ack.in_recovery || ack.acked == 0 {
            return;
        }
        if ack.unacknowledged >= self.round_end {
            if self.samples >= SAMPLES {
                self.adjust(window, ack);
            } else {
                self.reno.on_ack(window, ack);
            }
            self.restart_round(window, ack.next);
        } else if window.in_slow_start() {
            self.reno.on_ack(window, ack);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, now: Time, flight: u64, cause: Cause) {
        self.reno.on_congestion(window, now, flight, cause);
    }

    fn on_recovered(&mut self, window: &mut Window, _now: Time, target: u32) {
        window.set(target, WindowCause::Recovered);
        self.restart_round(window, 0);
    }

    fn on_timeout(&mut self, window: &mut Window, now: Time, flight: u64, again: bool) {
        self.reno.on_timeout(window, now, flight, again);
        self.restart_round(window, 0);
    }

    fn on_restart(&mut self, window: &mut Window, now: Time, idle: Duration, restart: Option<u32>) {
        self.reno.on_restart(window, now, idle, restart);
        self.base = Duration::MAX;
        self.restart_round(window, 0);
    }

    fn wants_rtt(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MSS, ack, avoiding, full};
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn vegas() -> Vegas {
        Vegas::new(VegasParameters::default())
    }

    /// In the middle of a connection over a base of 100 ms, with a window of so many segments.
    fn steady(segments: u32) -> (Vegas, Window, u64) {
        let (mut vegas, window) = (vegas(), avoiding(segments * MSS));
        vegas.base = MS(100);
        vegas.restart_round(&window, 100);
        (vegas, window, 0)
    }

    /// One round trip of a full window, all acknowledgements of it with `rtt`.
    fn round(vegas: &mut Vegas, window: &mut Window, una: &mut u64, rtt: Duration) -> u32 {
        let (wide, end) = (window.bytes(), vegas.round_end.max(*una + 1));
        let segments = u64::from(wide / MSS).max(1);
        for segment in 0..segments {
            *una = if segment + 1 == segments { end } else { (*una + 1).min(end - 1) };
            let ack = Ack { rtt: Some(rtt), unacknowledged: *una, next: *una + 1_000_000, ..full(MSS, wide) };
            vegas.on_ack(window, &ack);
        }
        window.bytes() / MSS
    }

    /// A window of 20 segments over a base of 100 ms, then round trips of `rtt`: 20 (rtt - base) / rtt segments wait.
    #[test]
    fn the_window_moves_by_one_segment_outside_alpha_to_beta() {
        let after = |rtt| {
            let (mut vegas, mut window, mut una) = steady(20);
            (round(&mut vegas, &mut window, &mut una, MS(rtt)), window.why())
        };
        assert_eq!(after(100), (21, WindowCause::Avoidance), "0 wait");
        assert_eq!(after(111), (21, WindowCause::Avoidance), "1.98 wait");
        assert_eq!(after(112), (20, WindowCause::Recovered), "2.14 wait");
        assert_eq!(after(125), (20, WindowCause::Recovered), "4.00 wait");
        assert_eq!(after(126), (19, WindowCause::Delay), "4.13 wait");
        assert_eq!(after(500), (19, WindowCause::Delay), "by one only, however many wait");
    }

    /// A path of 100 ms that delivers a segment per millisecond: what exceeds 100 segments waits.
    #[test]
    fn it_converges_to_what_fills_the_path_and_two_to_four_segments() {
        for start in [10, 60, 103, 160] {
            let (mut vegas, mut window, mut una) = steady(start);
            let mut seen = Vec::new();
            for _ in 0..120 {
                let rtt = MS(u64::from(window.bytes() / MSS).max(100));
                seen.push(round(&mut vegas, &mut window, &mut una, rtt));
            }
            assert!(seen[110..].iter().all(|&segments| segments == seen[110]), "{start}: {seen:?}");
            assert!((102..=105).contains(&seen[110]), "{start}: {seen:?}");
        }
    }

    #[test]
    fn slow_start_ends_when_more_than_gamma_wait() {
        let (mut vegas, mut window, mut una) = (vegas(), Window::new(4 * MSS, MSS, None), 0);
        let mut seen = Vec::new();
        for _ in 0..8 {
            let rtt = MS(u64::from(window.bytes() / MSS).max(100));
            seen.push(round(&mut vegas, &mut window, &mut una, rtt));
        }
        // 8, 16, 32, 64, 128 of which 28 wait: the window for the empty path and one, then a segment each.
        assert_eq!(seen[..4], [8, 16, 32, 64]);
        assert!(seen[5..].iter().all(|&segments| (101..=105).contains(&segments)), "{seen:?}");
        assert_ne!(window.threshold(), Window::MAX);
    }

    #[test]
    fn with_too_few_samples_it_is_reno() {
        let (mut vegas, mut window) = (vegas(), avoiding(4 * MSS));
        vegas.base = MS(100);
        let one = Ack { rtt: Some(MS(500)), unacknowledged: 4000, next: 8000, ..full(4000, 4000) };
        vegas.on_ack(&mut window, &one);
        assert_eq!((window.bytes(), window.why()), (5000, WindowCause::Avoidance));
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let (mut vegas, mut window) = (vegas(), avoiding(20 * MSS));
        for count in 1..200 {
            let ack = Ack { rtt: Some(MS(100)), unacknowledged: 1000 * count, next: 1000 * count + 4000, ..ack(MSS) };
            vegas.on_ack(&mut window, &ack);
        }
        assert_eq!(window.bytes(), 20_000);
    }

    #[test]
    fn after_idling_the_path_is_measured_anew() {
        let after = |idle: bool| {
            let (mut vegas, mut window, mut una) = steady(20);
            if idle {
                vegas.on_restart(&mut window, Time::ZERO, MS(300), None);
            }
            (0..3).for_each(|_| _ = round(&mut vegas, &mut window, &mut una, MS(200)));
            window.bytes() / MSS
        };
        assert_eq!(after(false), 17, "10 segments wait");
        assert_eq!(after(true), 22, "200 ms is the base, once a whole round trip was measured");
    }
}
