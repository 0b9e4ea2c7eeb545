//! CUBIC as Linux 6 has it (`net/ipv4/tcp_cubic.c`): the curve of RFC 9438 in whole segments, with HyStart as its slow start.
//!
//! What differs from RFC 9438, and can be seen in a trace:
//! - The window is a whole number of segments, and the curve is read in whole segments, too: near the plateau it stands until
//!   the curve is a segment away.
//! - The curve is read one shortest round trip ahead, not a smoothed one; and at most every 1/32 s while the window stands.
//! - The Reno-friendly window never grows faster than alpha, also above the window before the reduction.
//! - Before the first loss, and after a timeout, the window grows by a twentieth a round trip at least.
//! - HyStart watches every slow start until it has ended one; a timeout forgets that, and the shortest round trip.
//! - Its clock stands only while nothing is in flight.

use super::classic_hystart::ClassicHyStart;
use super::control::Ack;
use super::cubic::CubicParameters;
use super::window::{Window, WindowCause, saturate};
use crate::time::{Duration, Time};

/// beta: 717 / 1024 of the window remain after a loss.
const BETA: (u64, u64) = (717, 1024);
/// C, in segments per cubed second: 410 / 1024.
const C: f64 = 410.0 / 1024.0;
/// Acknowledged windows for each segment of the Reno-friendly window: 15 / 8.
const FRIENDLY: (u64, u64) = (15, 8);
/// The window grows by a segment for each of these acknowledged at least while no maximum is known.
const FIRST_STEP: u64 = 20;
/// Half of the acknowledged segments at most.
const LEAST_STEP: u64 = 2;
/// Where the curve is below the window.
const FLAT: u64 = 100;
/// The curve is not read more often than this while the window stands.
const LEAST_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 32);
/// Round-trip times are left out for so long after a reduction.
const AFTER_REDUCTION: Duration = Duration::from_secs(1);

/// What CUBIC of Linux remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct LinuxCubic {
    /// The window before the last reduction, in segments; 0 before one and after a timeout.
    last_max: u64,
    epoch: Option<Epoch>,
    /// Segments to be acknowledged for one more in the window.
    step: u64,
    /// Bytes acknowledged toward the next segment.
    counted: u64,
    shortest_rtt: Option<Duration>,
    hystart: ClassicHyStart,
    /// HyStart has ended slow start.
    found: bool,
}

/// Congestion avoidance between two reductions.
#[derive(Clone, Debug)]
struct Epoch {
    start: Time,
    /// Seconds from there to the plateau, and the plateau in segments.
    k: f64,
    origin: u64,
    /// The window of a Reno flow in segments, and bytes acknowledged toward its next.
    friendly: u64,
    friendly_counted: u64,
    read_at: Time,
    read_for: u64,
}

impl Epoch {
    fn new(now: Time, window: u64, last_max: u64) -> Epoch {
        let below = last_max.saturating_sub(window);
        Epoch {
            start: now,
            k: libm::cbrt(below as f64 / C),
            origin: last_max.max(window),
            friendly: window,
            friendly_counted: 0,
            read_at: now,
            read_for: 0,
        }
    }

    /// The curve in whole segments, `t` seconds into the epoch.
    fn target(&self, t: f64) -> u64 {
        let away = libm::fabs(t - self.k);
        let delta = (C * away * away * away) as u64;
        if t < self.k { self.origin.saturating_sub(delta) } else { self.origin + delta }
    }
}

fn segments(window: &Window) -> u64 {
    u64::from(window.bytes() / window.mss()).max(1)
}

impl LinuxCubic {
    /// An acknowledgement arrived.
    pub(super) fn on_ack(&mut self, window: &mut Window, ack: &Ack, parameters: CubicParameters) {
        self.take_rtt(window, ack, parameters.hystart);
        if ack.in_recovery || ack.acked == 0 || !ack.window_limited {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = window.slow_start_to_threshold(acked);
        }
        if acked > 0 && !window.in_slow_start() {
            self.avoid(window, ack.now, acked);
        }
    }

    /// Sets the threshold to a share of the window.
    pub(super) fn reduce(&mut self, window: &mut Window, flight: u64, parameters: CubicParameters) {
        let wide = segments(window);
        let gives_way = parameters.fast_convergence && wide < self.last_max;
        self.last_max = if gives_way { wide * (BETA.0 + BETA.1) / (2 * BETA.1) } else { wide };
        self.epoch = None;
        self.counted = 0;
        window.set_threshold((u64::from(window.base(flight)) * BETA.0 / BETA.1) as u32);
    }

    /// The clock of the curve stands while nothing is in flight.
    pub(super) fn on_restart(&mut self, now: Time, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    /// Takes a round-trip time, and ends slow start where HyStart says so.
    fn take_rtt(&mut self, window: &mut Window, ack: &Ack, hystart: bool) {
        let Some(rtt) = ack.rtt else { return };
        if self.epoch.as_ref().is_some_and(|epoch| ack.now.since(epoch.start) < AFTER_REDUCTION) {
            return;
        }
        let shortest = self.shortest_rtt.map_or(rtt, |shortest| shortest.min(rtt));
        self.shortest_rtt = Some(shortest);
        if hystart
            && !self.found
            && window.in_slow_start()
            && self.hystart.is_over(ack, rtt, shortest, segments(window) as u32, ack.paced)
        {
            self.found = true;
            window.set_threshold(window.bytes());
            window.set(window.bytes(), WindowCause::HyStartExit);
        }
    }

    /// Congestion avoidance with `acked` bytes.
    fn avoid(&mut self, window: &mut Window, now: Time, acked: u64) {
        let mss = u64::from(window.mss());
        let why = self.read(segments(window), now, acked, mss);
        if self.counted >= self.step * mss {
            self.counted = 0;
            window.grow(window.mss(), why);
        }
        self.counted += acked;
        let grown = self.counted / (self.step * mss);
        if grown > 0 {
            self.counted -= grown * self.step * mss;
            window.grow(saturate(grown * mss), why);
        }
    }

    /// Reads the curve for a window of `wide` segments: how many segments have to be acknowledged for one more.
    fn read(&mut self, wide: u64, now: Time, acked: u64, mss: u64) -> WindowCause {
        let last_max = self.last_max;
        let ahead = self.shortest_rtt.unwrap_or(Duration::ZERO);
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, wide, last_max));
        epoch.friendly_counted += acked;
        if epoch.read_for == wide && now.since(epoch.read_at) <= LEAST_INTERVAL {
            return WindowCause::Avoidance;
        }
        (epoch.read_for, epoch.read_at) = (wide, now);
        let target = epoch.target((now.since(epoch.start) + ahead).as_secs_f64());
        let mut step = if target > wide { wide / (target - wide) } else { FLAT * wide };
        if last_max == 0 {
            step = step.min(FIRST_STEP);
        }
        let bytes_each = (wide * FRIENDLY.0 / FRIENDLY.1).max(1) * mss;
        let grown = epoch.friendly_counted.saturating_sub(1) / bytes_each;
        epoch.friendly += grown;
        epoch.friendly_counted -= grown * bytes_each;
        let mut why = WindowCause::Avoidance;
        if epoch.friendly > wide {
            let most = wide / (epoch.friendly - wide);
            if step > most {
                (step, why) = (most, WindowCause::RenoFriendly);
            }
        }
        self.step = step.max(LEAST_STEP);
        why
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MSS, ack, full};
    use super::super::{Algorithm, Cause, Congestion, CongestionControl, Cubic, Setup, WindowRules};
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    fn window(segments: u32) -> Window {
        let mut window = Window::new(segments * MSS, MSS, None).under(WindowRules::Linux);
        window.set_threshold(segments * MSS);
        window
    }

    fn segments_of(window: &Window) -> u32 {
        assert_eq!(window.bytes() % MSS, 0, "whole segments");
        window.bytes() / MSS
    }

    /// 717/1024 of 1,000 are 700.2; a second loss at 900, below the maximum, remembers 900 (1024 + 717) / 2048 = 765.
    #[test]
    fn a_loss_leaves_717_of_1024() {
        let (mut cubic, mut wide) = (Cubic::new(CubicParameters::default()), window(1000));
        cubic.on_congestion(&mut wide, at(0), 0, Cause::Loss);
        assert_eq!((segments_of(&wide), wide.threshold()), (700, 700_000));
        let (mut state, mut wide) = (LinuxCubic { last_max: 1000, ..LinuxCubic::default() }, window(900));
        state.reduce(&mut wide, 0, CubicParameters::default());
        assert_eq!((state.last_max, wide.threshold()), (765, 630_000));
        let keeps = CubicParameters { fast_convergence: false, ..CubicParameters::default() };
        let (mut state, mut wide) = (LinuxCubic { last_max: 1000, ..LinuxCubic::default() }, window(900));
        state.reduce(&mut wide, 0, keeps);
        assert_eq!(state.last_max, 900);
    }

    /// K = cbrt(300 x 1024 / 410) = 9.083 s; 5 s in, 0.4004 x 4.083^3 = 27.2 are missing, 12 s in 9.9 are more.
    #[test]
    fn the_curve_is_read_in_whole_segments() {
        let epoch = Epoch::new(at(0), 700, 1000);
        assert!((epoch.k - 9.083).abs() < 0.001, "{}", epoch.k);
        assert_eq!([5.0, 12.0].map(|t| epoch.target(t)), [973, 1009]);
        assert_eq!([8.0, 9.5].map(|t| epoch.target(t)), [1000, 1000], "within a segment of the plateau");
        let plateau = Epoch::new(at(0), 1100, 1000);
        assert_eq!((plateau.k, plateau.origin), (0.0, 1100));
    }

    /// One shortest round trip ahead: with 100 ms the curve of 5 s is read at 4.9 s. 900 of the window for 73 more is one for 12.
    #[test]
    fn the_step_is_what_is_missing_a_round_trip_ahead() {
        let mut state = LinuxCubic { last_max: 1000, shortest_rtt: Some(MS(100)), ..LinuxCubic::default() };
        state.epoch = Some(Epoch::new(at(0), 700, 1000));
        state.read(900, at(4_900), 0, 1000);
        assert_eq!(state.step, 12);
        state.read(900, at(4_931), 0, 1000);
        assert_eq!(state.step, 12, "not within 1/32 s while the window stands");
        state.read(999, at(4_932), 0, 1000);
        assert_eq!(state.step, 99_900, "the curve is below it");
        state.read(400, at(5_000), 0, 1000);
        assert_eq!(state.step, 2, "half as much again a round trip at most");
    }

    /// Without a maximum 20 acknowledged segments make one, whatever the curve says.
    #[test]
    fn before_a_loss_it_grows_by_a_twentieth() {
        let (mut cubic, mut wide) = (Cubic::new(CubicParameters::default()), window(100));
        for n in 0..100u64 {
            cubic.on_ack(&mut wide, &Ack { now: at(n), rtt: Some(MS(100)), ..full(MSS, 100 * MSS) });
        }
        assert_eq!(segments_of(&wide), 105);
    }

    /// On the plateau at 7 segments the curve stands for 1.36 s. More than 13 acknowledged (7 x 15 / 8) make one of the Reno-friendly
    /// window; then 7 make one of the real.
    #[test]
    fn small_windows_grow_at_the_pace_of_reno() {
        let mut state = LinuxCubic { last_max: 7, ..LinuxCubic::default() };
        for n in 0..13u64 {
            state.read(7, at(40 * n), 1000, 1000);
            assert_eq!(state.step, 700, "{n}");
        }
        let why = state.read(7, at(520), 1000, 1000);
        assert_eq!((state.step, why), (7, WindowCause::RenoFriendly));
    }

    /// Acknowledgements 1 ms apart, with round-trip times of 40 ms: a train of (40 + 1) / 2 ms ends the slow start of a sender
    /// that is not paced, one of 41 ms that of a paced one (`hystart_update`). The number of the acknowledgement after which the threshold is set.
    #[test]
    fn pacing_doubles_the_train_that_ends_slow_start() {
        for (paced, expected) in [(false, 22), (true, 43)] {
            let (mut cubic, mut wide) =
                (LinuxCubic::default(), Window::new(20 * MSS, MSS, None).under(WindowRules::Linux));
            let ended = (1..=60u64).find(|n| {
                let (now, rtt) = (at(100 + n), Some(MS(40)));
                let ack = Ack { now, rtt, paced, unacknowledged: *n, next: 1_000_000, ..ack(MSS) };
                cubic.on_ack(&mut wide, &ack, CubicParameters::default());
                !wide.in_slow_start()
            });
            assert_eq!(ended, Some(expected), "paced: {paced}");
        }
    }

    /// HyStart ends one slow start; a timeout lets it end the next.
    #[test]
    fn hystart_looks_again_after_a_timeout() {
        let setup = Setup { seed: 0, stream: 0 };
        let wide = Window::new(20 * MSS, MSS, None).under(WindowRules::Linux);
        let mut cubic = Congestion::new(&Algorithm::Cubic(CubicParameters::default()), wide, &setup);
        let mut now = 0;
        let mut rounds = |cubic: &mut Congestion, rtts: [u64; 2]| {
            for rtt in rtts {
                for n in 1..=12u64 {
                    now += 5;
                    let position = now * 1000;
                    let next = if n == 1 { position + 56_000 } else { position };
                    let ack = Ack { now: at(now), rtt: Some(MS(rtt)), unacknowledged: position, next, ..ack(MSS) };
                    cubic.on_ack(&ack);
                }
            }
            cubic.why()
        };
        assert_eq!(rounds(&mut cubic, [40, 60]), WindowCause::HyStartExit);
        assert_eq!(cubic.threshold(), 20 * MSS);
        cubic.on_timeout(at(1_000), 20_000, false);
        assert_eq!(cubic.threshold(), 14 * MSS);
        cubic.keep_in_flight(u64::from(16 * MSS) - 1000);
        assert_eq!(cubic.window(), 16 * MSS, "above the threshold there is no slow start to end");
        cubic.on_timeout(at(2_000), 20_000, false);
        cubic.on_spurious(at(2_000), 18 * MSS, Window::MAX);
        assert_eq!(rounds(&mut cubic, [40, 60]), WindowCause::HyStartExit);
    }
}
