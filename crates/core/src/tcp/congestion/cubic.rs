//! CUBIC: of RFC 9438, with HyStart++ (RFC 9406) as its slow start; or of Linux, in `linux_cubic`, by the rules of the window.

use super::control::{Ack, Cause, CongestionControl};
use super::hystart::{GROWTH_DIVISOR, HyStart, Step};
use super::linux_cubic::LinuxCubic;
use super::window::{Window, WindowCause, WindowRules, saturate};
use crate::time::{Duration, Time};

/// beta_cubic: what remains of the window after a loss (section 4.6).
const BETA: f64 = 0.7;
/// C: how steep the cubic is, in segments per cubed second (section 5).
const C: f64 = 0.4;
/// alpha_cubic: what Reno would have to add per round trip to be as fast on average with [`BETA`] (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// The window grows by half per round trip at most (section 4.2).
const MAX_GROWTH: f64 = 1.5;

/// The parts of CUBIC that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicParameters {
    /// A flow that loses before it is back at its old maximum gives way (section 4.7). Default on.
    pub fast_convergence: bool,
    /// HyStart++ in the initial slow start, or HyStart in that of Linux. Default on.
    pub hystart: bool,
}

impl Default for CubicParameters {
    fn default() -> CubicParameters {
        CubicParameters { fast_convergence: true, hystart: true }
    }
}

/// CUBIC. What it has to remember is made with the first acknowledgement: ends that never send data do without.
#[derive(Clone, Debug)]
pub struct Cubic {
    state: Option<Box<Variant>>,
    parameters: CubicParameters,
}

#[derive(Clone, Debug)]
enum Variant {
    Rfc(State),
    Linux(LinuxCubic),
}

/// The state of CUBIC as RFC 9438 defines it.
#[derive(Clone, Debug, Default)]
struct State {
    curve: Curve,
    /// The curve before the last reduction, in case that had no cause (section 4.9).
    before: Curve,
    /// In the initial slow start only: later ones know where to end (RFC 9406 section 4.3).
    hystart: Option<HyStart>,
    /// The part of a byte by which the window should be wider.
    carry: f64,
    last_ack: Time,
}

/// Windows in segments.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// W_max, the plateau; `None` where the window at the beginning of congestion avoidance is to be it: at first,
    /// and after a timeout (section 4.8).
    w_max: Option<f64>,
    /// cwnd_prior: the window before the last reduction.
    prior: f64,
    /// The current stage of congestion avoidance.
    stage: Option<Stage>,
}

#[derive(Clone, Debug)]
struct Stage {
    /// When it began; moved forward by the time in which the window was not used.
    start: Time,
    w_max: f64,
    /// K: seconds from the beginning to the plateau.
    k: f64,
    /// W_est: the window of a Reno flow.
    reno: f64,
}

impl Stage {
    fn new(start: Time, window: f64, w_max: Option<f64>) -> Stage {
        let w_max = w_max.unwrap_or(window).max(window);
        Stage { start, w_max, k: libm::cbrt((w_max - window) / C), reno: window }
    }

    /// W_cubic (section 4.2, figure 1), `t` seconds into the stage.
    fn cubic(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        C * from_plateau * from_plateau * from_plateau + self.w_max
    }
}

impl Cubic {
    /// A new CUBIC state with `parameters`.
    pub fn new(parameters: CubicParameters) -> Cubic {
        Cubic { state: None, parameters }
    }

    fn variant(&mut self, window: &Window) -> &mut Variant {
        let hystart = self.parameters.hystart.then(HyStart::default);
        self.state.get_or_insert_with(|| match window.rules() {
            WindowRules::Rfc => Box::new(Variant::Rfc(State { hystart, ..State::default() })),
            WindowRules::Linux => Box::new(Variant::Linux(LinuxCubic::default())),
        })
    }

    fn reduce(&mut self, window: &mut Window, flight: u64) {
        let parameters = self.parameters;
        match self.variant(window) {
            Variant::Rfc(state) => state.reduce(window, flight, parameters),
            Variant::Linux(state) => state.reduce(window, flight, parameters),
        }
    }
}

impl State {
    /// Reduces the threshold to beta times the window (section 4.6).
    fn reduce(&mut self, window: &mut Window, flight: u64, parameters: CubicParameters) {
        self.hystart = None;
        let prior = f64::from(window.bytes()) / f64::from(window.mss());
        self.before = self.curve.clone();
        let gives_way = parameters.fast_convergence && self.curve.w_max.is_some_and(|w_max| prior < w_max);
        let w_max = if gives_way { prior * (1.0 + BETA) / 2.0 } else { prior };
        self.curve = Curve { w_max: Some(w_max), prior, stage: None };
        self.carry = 0.0;
        window.set_threshold((f64::from(window.base(flight)) * BETA) as u32);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.in_recovery && ack.acked > 0 {
            if window.in_slow_start() {
                self.start_slowly(window, ack);
            } else {
                self.avoid(window, ack);
            }
        }
        self.last_ack = ack.now;
    }

    fn start_slowly(&mut self, window: &mut Window, ack: &Ack) {
        match self.hystart.as_mut().map_or(Step::SlowStart, |hystart| hystart.on_ack(ack)) {
            Step::Exit => {
                self.hystart = None;
                window.set_threshold(window.bytes());
                window.set(window.bytes(), WindowCause::HyStartExit);
            }
            _ if !ack.window_limited => {}
            Step::SlowStart => window.slow_start(ack.acked),
            Step::Conservative => {
                window.grow(window.slow_start_step(ack.acked) / GROWTH_DIVISOR, WindowCause::HyStart);
            }
        }
    }

    /// The plateau is where congestion avoidance will begin (section 4.8).
    fn on_timeout(&mut self) {
        self.curve.w_max = None;
        self.curve.stage = None;
        self.carry = 0.0;
    }

    /// The clock of the cubic stands while nothing is sent.
    fn on_restart(&mut self, now: Time) {
        if let Some(stage) = &mut self.curve.stage {
            stage.start += now.since(self.last_ack.max(stage.start));
        }
        self.last_ack = now;
    }

    /// Congestion avoidance (sections 4.2 to 4.5).
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        let mss = f64::from(window.mss());
        let now = (f64::from(window.bytes()) + self.carry) / mss;
        let stage = self.curve.stage.get_or_insert_with(|| Stage::new(ack.now, now, self.curve.w_max));
        self.curve.w_max = Some(stage.w_max);
        if !ack.window_limited {
            // The clock of the cubic stands while the window is not used (section 4.2).
            stage.start += ack.now.since(self.last_ack.max(stage.start));
            return;
        }
        let share = (ack.acked as f64 / mss / now).min(1.0);
        stage.reno += share * if stage.reno < self.curve.prior { ALPHA } else { 1.0 };
        let t = ack.now.since(stage.start).as_secs_f64();
        let (next, why) = if stage.cubic(t) < stage.reno {
            (stage.reno.max(now), WindowCause::RenoFriendly)
        } else {
            let rtt = ack.smoothed.unwrap_or(Duration::ZERO).as_secs_f64();
            let target = stage.cubic(t + rtt).clamp(now, MAX_GROWTH * now);
            (now + (target - now) * share, WindowCause::Avoidance)
        };
        let bytes = next * mss;
        let whole = libm::floor(bytes);
        self.carry = bytes - whole;
        window.set(saturate(whole as u64), why);
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let parameters = self.parameters;
        match self.variant(window) {
            Variant::Rfc(state) => state.on_ack(window, ack),
            Variant::Linux(state) => state.on_ack(window, ack, parameters),
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _now: Time, flight: u64, cause: Cause) {
        self.reduce(window, flight);
        window.set(window.threshold(), cause.into());
    }

    /// Section 4.8: as Reno, but with beta_cubic. Linux forgets all but the threshold.
    fn on_timeout(&mut self, window: &mut Window, _now: Time, flight: u64, again: bool) {
        if !again {
            self.reduce(window, flight);
        }
        match self.variant(window) {
            Variant::Rfc(state) => state.on_timeout(),
            Variant::Linux(state) => *state = LinuxCubic::default(),
        }
        window.set(window.mss(), WindowCause::Timeout);
    }

    fn on_restart(&mut self, window: &mut Window, now: Time, idle: Duration, restart: Option<u32>) {
        match self.state.as_deref_mut() {
            Some(Variant::Rfc(state)) => state.on_restart(now),
            Some(Variant::Linux(state)) => state.on_restart(now, idle),
            None => {}
        }
        if let Some(restart) = restart {
            window.restart(restart);
        }
    }

    /// Section 4.9; Linux leaves the curve as the reduction left it.
    fn on_spurious(&mut self, window: &mut Window, _now: Time, bytes: u32, threshold: u32) {
        if let Some(Variant::Rfc(state)) = self.state.as_deref_mut() {
            state.curve = state.before.clone();
        }
        window.set_threshold(threshold.max(window.threshold()));
        window.set(bytes.max(window.bytes()), WindowCause::Undone);
    }

    /// Linux needs them at all times.
    fn wants_rtt(&self) -> bool {
        match self.state.as_deref() {
            None => self.parameters.hystart,
            Some(Variant::Rfc(state)) => state.hystart.is_some(),
            Some(Variant::Linux(_)) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MSS, ack, avoiding, full};
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    fn cubic() -> Cubic {
        Cubic::new(CubicParameters::default())
    }

    /// Loses at `segments`, and is back in congestion avoidance.
    fn after_loss(segments: u32) -> (Cubic, Window) {
        let (mut cubic, mut window) = (cubic(), avoiding(segments * MSS));
        cubic.on_congestion(&mut window, Time::ZERO, u64::from(segments * MSS), Cause::Loss);
        let target = window.threshold();
        cubic.on_recovered(&mut window, Time::ZERO, target);
        (cubic, window)
    }

    /// Acknowledges the whole window at once at `now`.
    fn whole(cubic: &mut Cubic, window: &mut Window, now: Time, rtt: Duration) -> u32 {
        let wide = window.bytes();
        cubic.on_ack(window, &Ack { now, smoothed: Some(rtt), ..full(wide, wide) });
        window.bytes()
    }

    fn curve(cubic: &Cubic) -> &Curve {
        let Some(Variant::Rfc(state)) = cubic.state.as_deref() else { panic!("not the CUBIC of the RFC") };
        &state.curve
    }

    fn stage(cubic: &Cubic) -> &Stage {
        curve(cubic).stage.as_ref().unwrap()
    }

    /// K = cbrt(W (1 - beta) / C), notes/simulator 5B.
    #[test]
    fn k_is_the_cube_root() {
        for (segments, k) in [(100, 4.217), (833, 8.549), (1000, 9.086)] {
            let (mut cubic, mut window) = after_loss(segments);
            whole(&mut cubic, &mut window, at(0), MS(100));
            assert!((stage(&cubic).k - k).abs() < 0.0015, "{segments}: {}", stage(&cubic).k);
        }
    }

    /// After a loss at 1,000 segments, round trips of 100 ms, one acknowledgement per window: the window at t + RTT is
    /// 0.4 (t + RTT - 9.0856)^3 + 1000, computed apart. The first acknowledgement finds the cubic where it begins, so below Reno's
    /// 0.529 segments.
    #[test]
    fn the_window_follows_the_cubic() {
        let (mut cubic, mut window) = after_loss(1000);
        let expected = [
            (0, 700_529),
            (1, 719_379),
            (10, 796_304),
            (50, 974_675),
            (90, 1_000_000),
            (100, 1_000_418),
            (150, 1_087_023),
        ];
        let mut seen = Vec::new();
        for round in 0..=150 {
            let bytes = whole(&mut cubic, &mut window, at(100 * round), MS(100));
            if let Some((_, expected)) = expected.iter().find(|(at, _)| *at == round) {
                seen.push((round, bytes, *expected));
            }
        }
        for (round, bytes, expected) in seen {
            assert!(bytes.abs_diff(expected) <= 1, "round {round}: {bytes} instead of {expected}");
        }
        assert_eq!(window.why(), WindowCause::Avoidance);
    }

    /// Over 10 ms the cubic is slower than Reno: after n round trips the window is 7 + 0.529 n, until it reaches the window
    /// before the loss, and then a segment more each.
    #[test]
    fn a_short_path_is_reno_friendly() {
        let (mut cubic, mut window) = after_loss(10);
        let segments: Vec<f64> = (0..10)
            .map(|round| f64::from(whole(&mut cubic, &mut window, at(10 * round), MS(10))) / f64::from(MSS))
            .collect();
        let expected = [7.529, 8.059, 8.588, 9.118, 9.647, 10.176, 11.176, 12.176, 13.176, 14.176];
        for (segments, expected) in segments.iter().zip(expected) {
            assert!((segments - expected).abs() < 0.002, "{segments} instead of {expected}");
        }
        assert_eq!(window.why(), WindowCause::RenoFriendly);
    }

    #[test]
    fn a_flow_that_loses_early_gives_way() {
        let plateau = |fast_convergence| {
            let (mut cubic, mut window) = after_loss(100);
            cubic.parameters.fast_convergence = fast_convergence;
            whole(&mut cubic, &mut window, at(0), MS(100));
            window.set(80 * MSS, WindowCause::Avoidance);
            cubic.on_congestion(&mut window, at(100), 80_000, Cause::Loss);
            curve(&cubic).w_max.unwrap()
        };
        assert_eq!((plateau(true), plateau(false)), (68.0, 80.0));
    }

    /// RFC 9438 section 4.8; the threshold is 0.7 of what was in flight.
    #[test]
    fn after_a_timeout_the_plateau_is_where_congestion_avoidance_begins() {
        let (mut cubic, mut window) = after_loss(100);
        cubic.on_timeout(&mut window, at(0), 70_000, false);
        assert_eq!((window.bytes(), window.threshold()), (MSS, 49_000));
        cubic.on_timeout(&mut window, at(1000), 1000, true);
        assert_eq!((window.bytes(), window.threshold()), (MSS, 49_000));
        window.set(49_000, WindowCause::SlowStart);
        whole(&mut cubic, &mut window, at(2000), MS(100));
        assert_eq!((stage(&cubic).k, stage(&cubic).w_max), (0.0, 49.0));
    }

    #[test]
    fn the_clock_stands_while_the_window_is_not_used() {
        let run = |pause: u64, idle: bool| {
            let (mut cubic, mut window) = after_loss(1000);
            for round in 0..20 {
                whole(&mut cubic, &mut window, at(100 * round), MS(100));
            }
            let before = window.bytes();
            if idle {
                cubic.on_restart(&mut window, at(1900 + pause), MS(pause), None);
            } else {
                for later in 1..=pause / 100 {
                    cubic.on_ack(&mut window, &Ack { now: at(1900 + 100 * later), ..ack(MSS) });
                }
            }
            assert_eq!(window.bytes(), before);
            whole(&mut cubic, &mut window, at(2000 + pause), MS(100))
        };
        let steady = run(0, false);
        assert_eq!(run(60_000, false), steady);
        assert_eq!(run(60_000, true), steady);
    }

    #[test]
    fn growth_is_half_the_window_per_round_trip_at_most() {
        let (mut cubic, mut window) = after_loss(100);
        whole(&mut cubic, &mut window, at(0), MS(100));
        let before = window.bytes();
        assert_eq!(whole(&mut cubic, &mut window, at(60_000), MS(100)), before * 3 / 2);
    }

    #[test]
    fn a_reduction_without_cause_brings_the_old_curve_back() {
        let (mut cubic, mut window) = after_loss(100);
        whole(&mut cubic, &mut window, at(0), MS(100));
        let (k, bytes, threshold) = (stage(&cubic).k, window.bytes(), window.threshold());
        cubic.on_congestion(&mut window, at(100), 70_000, Cause::Loss);
        cubic.on_spurious(&mut window, at(200), bytes, threshold);
        assert_eq!((stage(&cubic).k, window.bytes(), window.threshold()), (k, bytes, threshold));
    }

    /// Round-trip times rise from 50 ms by 10 with a round: conservative slow start, then congestion avoidance where the
    /// window stands.
    #[test]
    fn hystart_ends_the_initial_slow_start() {
        let run = |parameters| {
            let (mut cubic, mut window) = (Cubic::new(parameters), Window::new(16 * MSS, MSS, Some(8)));
            let (mut una, mut causes) = (1, Vec::new());
            for round in 0..9u64 {
                let wide = u64::from(window.bytes()) / 1000;
                let next = una + wide * 1000;
                for _ in 0..wide {
                    una += 1000;
                    let now = at(100 * round);
                    let rtt = Some(if round < 2 { MS(50) } else { MS(60) });
                    let wide = window.bytes();
                    let ack = Ack { now, rtt, unacknowledged: una, next: next + 1000, ..full(MSS, wide) };
                    cubic.on_ack(&mut window, &ack);
                }
                causes.push(window.why());
            }
            (causes, window, cubic)
        };
        let (causes, window, cubic) = run(CubicParameters::default());
        assert_eq!(causes[..2], [WindowCause::SlowStart; 2]);
        assert_eq!(causes[2], WindowCause::HyStart);
        assert_ne!(window.threshold(), Window::MAX, "{causes:?}");
        assert!(curve(&cubic).stage.is_some());
        let (causes, window, _) = run(CubicParameters { hystart: false, ..CubicParameters::default() });
        assert_eq!((causes[8], window.threshold()), (WindowCause::SlowStart, Window::MAX));
    }

    /// RFC 9438 table 1 (RTT 0.1 s): the mean window where one segment in 1/p is lost.
    #[test]
    fn the_mean_window_obeys_the_published_law() {
        for (every, mean) in [(10_000.0, 187.0), (100_000.0, 1054.0)] {
            let (mut cubic, mut window) = after_loss(200);
            let (mut sent, mut sum, mut rounds, mut losses) = (0.0, 0.0, 0.0, 0);
            for round in 0..200_000u64 {
                let segments = f64::from(window.bytes()) / f64::from(MSS);
                if losses >= 5 {
                    sum += segments;
                    rounds += 1.0;
                }
                sent += segments;
                whole(&mut cubic, &mut window, at(100 * round), MS(100));
                if sent >= every {
                    sent -= every;
                    losses += 1;
                    let flight = u64::from(window.bytes());
                    cubic.on_congestion(&mut window, at(100 * round), flight, Cause::Loss);
                }
            }
            assert!((sum / rounds / mean - 1.0).abs() < 0.05, "1/{every}: {} instead of {mean}", sum / rounds);
        }
    }
}
