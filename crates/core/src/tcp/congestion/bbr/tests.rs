//! BBR over a path of its own: a paced sender, a queue of one rate, a fixed delay, one acknowledgement per segment.

use std::collections::VecDeque;

use super::super::testing::{MSS, ack};
use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;
const SEGMENT: u64 = MSS as u64;

struct Sent {
    ack_at: Time,
    lost: bool,
    sent_at: Time,
    /// The state of the delivery rate estimate when it was sent.
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
    end: u64,
}

struct Loop {
    bbr: Bbr,
    window: Window,
    now: Time,
    delay: Duration,
    /// Time that the bottleneck takes for a segment.
    service: Duration,
    drop: Box<dyn FnMut(Time) -> bool>,
    /// Acknowledgements arrive in batches at multiples of this.
    batch: Option<Duration>,
    free: Time,
    next_send: Time,
    in_flight: VecDeque<Sent>,
    next: u64,
    unacknowledged: u64,
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
    recover: Option<u64>,
    smoothed: Option<Duration>,
    /// State changes, and each change of the window.
    states: Vec<(Time, BbrState)>,
    windows: Vec<(Time, u32, WindowCause)>,
}

impl Loop {
    /// A path of `delay` both ways together that takes `service` per segment.
    fn new(delay: Duration, service: Duration) -> Loop {
        Loop::seeded(delay, service, 1)
    }

    fn seeded(delay: Duration, service: Duration, seed: u64) -> Loop {
        Loop {
            bbr: Bbr::new(Setup { seed, stream: 0 }),
            window: Window::new(10 * MSS, MSS, None),
            now: Time::ZERO,
            delay,
            service,
            drop: Box::new(|_| false),
            batch: None,
            free: Time::ZERO,
            next_send: Time::ZERO,
            in_flight: VecDeque::new(),
            next: 1,
            unacknowledged: 1,
            first_sent: Time::ZERO,
            delivered: 0,
            delivered_at: Time::ZERO,
            recover: None,
            smoothed: None,
            states: vec![(Time::ZERO, BbrState::Startup)],
            windows: Vec::new(),
        }
    }

    fn flight(&self) -> u64 {
        self.in_flight.len() as u64 * SEGMENT
    }

    fn send(&mut self) {
        if self.in_flight.is_empty() {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
        }
        let lost = (self.drop)(self.now);
        let served = self.free.max(self.now) + self.service;
        let arrival = if lost { self.now } else { served } + self.delay;
        if !lost {
            self.free = served;
        }
        let batch = self.batch.map_or(1, Duration::as_nanos);
        self.next += SEGMENT;
        self.in_flight.push_back(Sent {
            ack_at: Time::from_nanos(arrival.as_nanos().div_ceil(batch) * batch),
            lost,
            sent_at: self.now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            end: self.next,
        });
        let rate = self.bbr.pacing_rate().and_then(Rate::bits_per_second);
        let gap = rate.map_or(0, |bits| SEGMENT * 8_000_000_000 / bits);
        self.next_send = self.next_send.max(self.now) + Duration::from_nanos(gap);
    }

    /// The oldest segment is acknowledged, and with it all that is due; lost ones before it are noticed.
    fn acknowledge(&mut self) {
        let before = self.flight();
        let (mut lost, mut acked, mut newest) = (0, 0, None);
        while let Some(sent) = self.in_flight.pop_front_if(|sent| sent.lost || sent.ack_at <= self.now) {
            if sent.lost {
                lost += SEGMENT;
                continue;
            }
            acked += SEGMENT;
            self.unacknowledged = sent.end;
            newest = Some(sent);
        }
        let Some(newest) = newest else { return };
        self.delivered += acked;
        self.delivered_at = self.now;
        self.first_sent = newest.sent_at;
        let interval = newest.sent_at.since(newest.first_sent).max(self.now.since(newest.delivered_at));
        let rtt = self.now.since(newest.sent_at);
        self.smoothed = Some(self.smoothed.map_or(rtt, |smoothed| (smoothed * 7 + rtt) / 8));
        let ack = Ack {
            now: self.now,
            acked,
            delivered: acked,
            lost,
            flight_before: before,
            flight: self.flight(),
            unacknowledged: self.unacknowledged,
            next: self.next,
            rtt: Some(rtt),
            smoothed: self.smoothed,
            window_limited: true,
            in_recovery: self.recover.is_some(),
            rate: Some(RateSample {
                delivered: self.delivered - newest.delivered,
                interval,
                prior_delivered: newest.delivered,
                total_delivered: self.delivered,
                application_limited: false,
                ack_delayed: false,
            }),
            ..ack(0)
        };
        self.bbr.on_ack(&mut self.window, &ack);
        if self.recover.is_some_and(|recover| self.unacknowledged >= recover) {
            self.recover = None;
            self.bbr.on_recovered(&mut self.window, self.now, 2 * MSS);
        }
        if lost > 0 && self.recover.is_none() {
            self.recover = Some(self.next);
            self.bbr.on_congestion(&mut self.window, self.now, before, Cause::Loss);
        }
        self.windows.push((self.now, self.window.bytes(), self.window.why()));
        if self.states.last().is_none_or(|last| last.1 != self.bbr.state()) {
            self.states.push((self.now, self.bbr.state()));
        }
    }

    fn run(&mut self, end: Time) {
        loop {
            let room = self.flight() + SEGMENT <= u64::from(self.window.bytes());
            let send = room.then_some(self.next_send.max(self.now));
            let arrival = self.in_flight.iter().filter(|sent| !sent.lost).map(|sent| sent.ack_at).next();
            let next = send.into_iter().chain(arrival).min().expect("a sender with nothing in flight may send");
            if next > end {
                return;
            }
            self.now = next;
            if arrival == Some(next) {
                self.acknowledge();
            } else {
                self.send();
            }
        }
    }

    fn seconds(&mut self, seconds: u64) {
        self.run(Time::ZERO + Duration::from_secs(seconds));
    }
}

/// 1 ms a segment: 1,000,000 byte/s; 50 ms of delay hold 50 segments.
fn path() -> Loop {
    Loop::new(MS(50), MS(1))
}

#[test]
fn gains_are_those_of_the_draft() {
    let gain = |parts: u64| parts as f64 / ONE as f64;
    assert!((gain(STARTUP_GAIN) - 2.0 / std::f64::consts::LN_2).abs() < 0.003);
    assert!((gain(DRAIN_GAIN) - std::f64::consts::LN_2 / 2.0).abs() < 0.003);
    assert_eq!(PHASE_GAINS.map(gain), [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
}

#[test]
fn startup_doubles_the_rate_and_drains_what_it_queued() {
    let mut path = path();
    path.seconds(2);
    let states: Vec<_> = path.states.iter().map(|&(_, state)| state).collect();
    assert_eq!(states[..3], [BbrState::Startup, BbrState::Drain, BbrState::ProbeBandwidth]);
    // From 10 segments to the 50 of the path: three doublings, and three round trips without growth. The queue, of at
    // most 1.89 times the path, drains at 1/2.89 of its rate in about two round trips.
    let (drain, probe) = (path.states[1].0, path.states[2].0);
    assert!((MS(300)..MS(750)).contains(&drain.since(Time::ZERO)), "{drain:?}");
    assert!(probe.since(drain) < MS(250), "{probe:?}");
    assert_eq!(path.bbr.rates.max(), 1_000_000);
    assert_eq!(path.bbr.min_rtt, Some(MS(51)));
    assert!(path.windows.iter().any(|window| window.2 == WindowCause::Bbr(BbrState::Drain)));
}

/// Eight phases of one round trip each, in the draft's order, at those gains less one per cent.
#[test]
fn the_cycle_paces_by_its_gains() {
    let mut path = path();
    let mut phases: Vec<(u8, u64, Time)> = Vec::new();
    for ms in 2000..8000 {
        path.run(Time::ZERO + MS(ms));
        if phases.last().is_none_or(|last| last.0 != path.bbr.phase) {
            phases.push((path.bbr.phase, path.bbr.pacing_rate, path.now));
        }
    }
    assert!(phases.len() > 80, "{phases:?}");
    for pair in phases.windows(2) {
        assert_eq!(pair[1].0, (pair[0].0 + 1) % 8);
    }
    for &(phase, rate, _) in &phases {
        let expected = [1_237_500, 742_500, 990_000][usize::from(phase).min(2)];
        assert!(rate.abs_diff(expected) <= 100, "phase {phase}: {rate}");
    }
    // Twice 51 segments, one that is acknowledged at the beginning of each aggregation epoch, and three bursts of two segments; an
    // even number; two more in the phase that probes.
    assert_eq!(path.bbr.aggregated(), SEGMENT);
    assert_eq!(path.window.bytes(), 110_000 + if path.bbr.phase == 0 { 2000 } else { 0 });
}

#[test]
fn the_first_phase_is_random_and_never_the_one_that_drains() {
    let mut seen = [0; 8];
    for seed in 0..300 {
        let mut bbr = Bbr::new(Setup { seed, stream: 7 });
        bbr.enter_probe_bandwidth(Time::ZERO);
        seen[usize::from(bbr.phase)] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().filter(|&&count| count > 20).count() == 7, "{seen:?}");
}

/// Ten seconds after the shortest round trip was last seen, four segments for 200 ms and a round trip.
#[test]
fn the_round_trip_time_is_probed_every_ten_seconds() {
    let mut path = path();
    path.seconds(40);
    let probes: Vec<_> = path
        .states
        .windows(2)
        .filter(|pair| pair[0].1 == BbrState::ProbeRtt)
        .map(|pair| (pair[0].0, pair[1].0.since(pair[0].0), pair[1].1))
        .collect();
    assert_eq!(probes.len(), 3, "{:?}", path.states);
    for &(_, lasted, next) in &probes {
        // About a round trip until four segments are in flight, 200 ms, and what is left of a round trip.
        assert!((MS(250)..MS(400)).contains(&lasted), "{lasted}");
        assert_eq!(next, BbrState::ProbeBandwidth);
    }
    for pair in probes.windows(2) {
        let apart = pair[1].0.since(pair[0].0);
        assert!((MS(10_000)..MS(10_500)).contains(&apart), "{apart}");
    }
    let small = path.windows.iter().filter(|window| window.2 == WindowCause::Bbr(BbrState::ProbeRtt));
    assert_eq!(small.map(|window| window.1).min(), Some(4 * MSS));
}

/// The path takes 1,000 segments/s; each probe of the round-trip time costs about a quarter of a second in ten.
#[test]
fn it_fills_the_path_without_a_standing_queue() {
    let mut path = path();
    path.seconds(30);
    assert!((28_400..30_000).contains(&(path.delivered / SEGMENT)), "{}", path.delivered / SEGMENT);
    assert!(path.smoothed.unwrap() < MS(70), "{:?}", path.smoothed);
}

/// A token bucket of 500 segments/s behind a link of 1,000: long-term sampling finds its rate.
#[test]
fn a_policer_is_found_out() {
    let mut path = path();
    let (mut tokens, mut last) = (100.0, Time::ZERO);
    path.drop = Box::new(move |now| {
        tokens = f64::min(100.0, tokens + now.since(last).as_secs_f64() * 500.0);
        last = now;
        let pass = tokens >= 1.0;
        tokens -= if pass { 1.0 } else { 0.0 };
        !pass
    });
    let mut used = 0;
    for tick in 1..=200 {
        path.run(Time::ZERO + MS(100 * tick));
        if path.bbr.policer.in_use {
            used += 1;
            let rate = path.bbr.policer.rate;
            assert!((430_000..620_000).contains(&rate), "{rate}");
        }
    }
    // Twice, for 48 round trips of 51 ms each.
    assert!(used > 45, "in use in {used} of 200 tenths of a second");
}

#[test]
fn a_single_loss_costs_a_round_trip_of_packet_conservation() {
    let mut path = path();
    path.seconds(3);
    let before = path.window.bytes();
    let mut dropped = false;
    path.drop = Box::new(move |_| !std::mem::replace(&mut dropped, true));
    path.windows.clear();
    path.run(Time::ZERO + MS(3400));
    let story: Vec<_> = path.windows.iter().map(|window| window.2).collect();
    let at = |cause| story.iter().position(|&why| why == cause);
    let (loss, recovered) = (at(WindowCause::Loss).unwrap(), at(WindowCause::Recovered).unwrap());
    assert!(loss < recovered, "{loss}, {recovered}");
    assert!(path.windows[loss].1 < before);
    assert!(path.windows[recovered].1 >= before - 2 * MSS, "{} then {}", before, path.windows[recovered].1);
}

#[test]
fn a_timeout_leaves_one_segment_until_all_is_acknowledged() {
    let mut path = path();
    path.seconds(3);
    let before = path.window.bytes();
    path.bbr.on_timeout(&mut path.window, path.now, path.next - path.unacknowledged, false);
    assert_eq!((path.window.bytes(), path.window.why()), (MSS, WindowCause::Timeout));
    let outstanding = path.next;
    while path.unacknowledged < outstanding {
        assert!(path.bbr.recovery.is_some());
        path.run(path.now + MS(1));
    }
    assert!(path.bbr.recovery.is_none());
    assert!(path.window.bytes() >= before - 2 * MSS, "{before} then {}", path.window.bytes());
}

/// Acknowledgements in batches of 20 ms on a path of 51 ms: the window grows by what a batch brings at once.
#[test]
fn aggregated_acknowledgements_widen_the_window() {
    let plain = {
        let mut path = path();
        path.seconds(5);
        assert!(path.bbr.aggregated() <= 4 * SEGMENT, "{}", path.bbr.aggregated());
        path.delivered
    };
    let mut path = path();
    path.batch = Some(MS(20));
    path.seconds(5);
    let extra = path.bbr.aggregated();
    assert!((10 * SEGMENT..=40 * SEGMENT).contains(&extra), "{extra}");
    assert!(path.delivered * 100 > plain * 95, "{} of {plain}", path.delivered);
}

#[test]
fn after_idling_it_goes_on_at_the_rate_of_the_path() {
    let mut path = path();
    path.seconds(3);
    let (before, window) = (path.bbr.rates.max(), path.window.bytes());
    path.bbr.on_restart(&mut path.window, Time::ZERO + MS(60_000), MS(57_000), Some(10 * MSS));
    assert_eq!((path.bbr.rates.max(), path.window.bytes()), (before, window));
    assert_eq!(path.bbr.pacing_rate, 990_000, "neither a probe nor its drain");
    assert!(path.bbr.idle_restart);
}

#[test]
fn application_limited_samples_never_lower_the_estimate() {
    let mut path = path();
    path.seconds(3);
    for _ in 0..100 {
        path.delivered += SEGMENT;
        let sample = RateSample {
            delivered: SEGMENT,
            interval: MS(100),
            prior_delivered: path.delivered - SEGMENT,
            total_delivered: path.delivered,
            application_limited: true,
            ack_delayed: false,
        };
        path.now += MS(51);
        path.bbr.on_ack(&mut path.window, &Ack { now: path.now, rate: Some(sample), ..ack(MSS) });
    }
    assert_eq!(path.bbr.rates.max(), 1_000_000);
}

/// 10,000 bytes in 40 ms are 250,000 byte/s; times 2.89, less one per cent.
#[test]
fn the_handshake_gives_the_first_rate_and_round_trip() {
    let mut path = path();
    path.bbr.on_established(&mut path.window, Time::ZERO, Some(MS(40)));
    assert_eq!(path.bbr.min_rtt, Some(MS(40)));
    assert!(path.bbr.pacing_rate.abs_diff(250_000 * 289 / 100 * 99 / 100) < 2_000, "{}", path.bbr.pacing_rate);
    // A longer round trip takes its place only after ten seconds.
    path.seconds(2);
    assert_eq!(path.bbr.min_rtt, Some(MS(40)));
}

/// 1,000 segments/s: two of 60 arrive until a burst leaves in 2 ms. A phase that raises what is in flight counts the burst of two.
#[test]
fn a_phase_counts_what_is_in_flight_at_the_next_departure() {
    let mut path = path();
    path.seconds(3);
    let due = |ms: u64| Ack { now: path.now, departure: Some(path.now + MS(ms)), ..ack(0) };
    for (gain, ms, expected) in [(ONE, 2, 58), (192, 0, 60), (320, 2, 60), (320, 0, 62), (ONE, 100, 0)] {
        path.bbr.pacing_gain = gain;
        let flight = path.bbr.at_departure(&path.window, &due(ms), 60 * SEGMENT);
        assert_eq!(flight, expected * SEGMENT, "gain {gain}, {ms} ms");
    }
    let now = Ack { departure: None, ..due(2) };
    assert_eq!(path.bbr.at_departure(&path.window, &now, 60 * SEGMENT), 60 * SEGMENT, "as in the draft");
}

/// An acknowledgement tells that 20 segments are lost and two arrived: what is in flight and two more may be, and afterwards the window is
/// that before the acknowledgement.
#[test]
fn recovery_ends_with_the_window_before_its_loss() {
    let mut path = path();
    path.seconds(3);
    let before = path.window.bytes();
    let lossy = Ack { now: path.now, lost: 20 * SEGMENT, flight: 40 * SEGMENT, ..ack(2 * MSS) };
    path.bbr.on_ack(&mut path.window, &lossy);
    assert!(path.window.bytes() < before);
    path.bbr.on_congestion(&mut path.window, path.now, 60 * SEGMENT, Cause::Loss);
    assert_eq!(path.window.bytes(), 42 * MSS);
    path.bbr.on_recovered(&mut path.window, path.now, 2 * MSS);
    assert_eq!(path.window.bytes(), before);
}
