//! BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00), with what Linux has beside the draft: long-term
//! sampling against policers, compensation of aggregated acknowledgements, and a random first phase.
//!
//! It models the path by the largest delivery rate of ten round trips and the shortest round-trip time of ten seconds, and sends
//! at that rate with at most twice their product in flight. Losses change the window for one round trip only.
//!
//! It wants a delivery rate with each acknowledgement and a sender that paces; without pacing the window alone bounds
//! what is sent. Where segments leave in bursts ([`Ack::departure`]) a phase asks how much will be in flight when the next burst
//! leaves, as in Linux; elsewhere how much is in flight now, as in the draft.

use super::control::{Ack, Cause, CongestionControl, LONGEST_BURST, RateSample, Recovery, Setup};
use super::max_filter::MaxFilter;
use super::window::{BbrState, Window, WindowCause, saturate};
use crate::rng::{Purpose, Stream};
use crate::time::{Duration, Time};
use crate::units::Rate;

/// Gains are in parts of 256.
const ONE: u64 = 256;
/// BBRHighGain, 2/ln 2: doubles the delivery rate each round trip (section 4.3.2.1).
const STARTUP_GAIN: u64 = 739;
/// Its inverse: drains in one round trip what startup queued (section 4.3.3).
const DRAIN_GAIN: u64 = 88;
/// cwnd_gain outside startup: room for delayed and aggregated acknowledgements (section 4.2.3.2).
const WINDOW_GAIN: u64 = 512;
/// One phase per round trip: probe, drain what that queued, cruise (section 4.3.4.1).
const PHASE_GAINS: [u64; 8] = [320, 192, ONE, ONE, ONE, ONE, ONE, ONE];
/// MinRTTFilterLen (section 4.1.2).
const MIN_RTT_LIFE: Duration = Duration::from_secs(10);
/// ProbeRTTDuration (section 4.3.5).
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// BBRMinPipeCwnd: segments that keep a path with delayed acknowledgements going (section 4.2.3.1).
const MIN_SEGMENTS: u32 = 4;
/// Segments in flight where nothing is known of the path; also, what may be delivered before the model bounds startup.
const INITIAL_SEGMENTS: u64 = 10;
/// Startup ends when the rate did not grow by a quarter in three round trips (section 4.3.2.2).
const FULL_RATE_GROWTH: u64 = 320;
const FULL_RATE_ROUNDS: u8 = 3;
/// Percent by which pacing stays below the estimate, so that queues drain (Linux).
const PACING_MARGIN: u64 = 1;
/// Below this rate in byte/s one segment is sent at a time, above it at least two (1.2 Mbit/s; section 4.2.2).
const SLOW_PATH: u64 = 150_000;
/// The most segments in a burst (Linux).
const MAX_BURST_SEGMENTS: u64 = 127;
/// Long-term sampling (Linux): an interval lasts 4 to 16 round trips and begins and ends with a loss; ...
const POLICER_ROUNDS: u32 = 4;
/// ... so many of 256 bytes must be lost in it (a fifth); ...
const POLICER_LOSS: u64 = 50;
/// ... two intervals in a row agree within an eighth or this rate in byte/s; ...
const POLICER_DIFFERENCE: u64 = 500;
/// ... and after so many round trips the path is probed again.
const POLICER_LIFE: u32 = 48;
/// Aggregation is the maximum of the last five to ten round trips, and fills at most so much time (Linux).
const AGGREGATION_ROUNDS: u8 = 5;
const AGGREGATION_TIME: Duration = Duration::from_millis(100);
/// An aggregation epoch ends after so many segments at the latest (Linux).
const AGGREGATION_SEGMENTS: u64 = 1 << 20;

/// BBR. Rates are in byte/s.
#[derive(Clone, Debug)]
pub struct Bbr {
    setup: Setup,
    stream: Option<Box<Stream>>,
    state: BbrState,
    pacing_gain: u64,
    window_gain: u64,
    /// The rate to send at; 0 before the first round-trip sample.
    pacing_rate: u64,
    /// BBR.BtlBw.
    rates: MaxFilter,
    /// BBR.RTprop, and when it was seen.
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    /// Bytes delivered and lost so far.
    delivered: u64,
    lost: u64,
    rounds: Rounds,
    full: FullPipe,
    phase: u8,
    phase_began: Time,
    /// The window before recovery or PROBE_RTT.
    prior_window: u32,
    /// In recovery, or after a timeout until this is acknowledged.
    recovery: Option<u64>,
    /// The first round trip of recovery sends what is delivered, no more (packet conservation).
    conserving: bool,
    /// Sending began again after idling and nothing was delivered yet.
    idle_restart: bool,
    probe_rtt_end: Option<Time>,
    probe_rtt_round_done: bool,
    /// What was sent before this much was delivered tells nothing of the path's rate: the window was small on purpose.
    limited_until: u64,
    policer: Policer,
    aggregation: Aggregation,
    last_flight: u64,
    last_delivered: u64,
    last_unacknowledged: u64,
    /// The window before the last acknowledgement, which a loss that it tells of saves.
    last_window: (Time, u32),
}

/// Round trips, counted by what was delivered when a segment was sent (section 4.1.1.3).
#[derive(Clone, Debug, Default)]
struct Rounds {
    count: u32,
    next_delivered: u64,
    /// This acknowledgement begins one.
    start: bool,
}

/// Whether startup has filled the pipe (section 4.3.2.2).
#[derive(Clone, Debug, Default)]
struct FullPipe {
    reached: bool,
    rate: u64,
    rounds: u8,
}

/// Long-term sampling: finds the rate of a policer, which shows in losses and not in delay.
#[derive(Clone, Debug, Default)]
struct Policer {
    sampling: bool,
    in_use: bool,
    /// The rate of the last interval; 0 for none.
    rate: u64,
    rounds: u32,
    began: Time,
    delivered: u64,
    lost: u64,
}

/// How much more than the rate explains was acknowledged at once.
#[derive(Clone, Debug, Default)]
struct Aggregation {
    epoch_began: Time,
    epoch_acked: u64,
    /// The maximum of the current and of the previous rounds.
    extra: [u64; 2],
    rounds: u8,
    current: u8,
}

/// Bytes per second.
fn rate(bytes: u64, time: Duration) -> u64 {
    let rate = u128::from(bytes) * 1_000_000_000 / u128::from(time.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// `rate * gain` over `time`, in bytes, rounded up.
fn volume(rate: u64, gain: u64, time: Duration) -> u64 {
    const PER_SECOND: u128 = 1_000_000_000 * ONE as u128;
    let volume = u128::from(rate).saturating_mul(u128::from(time.as_nanos())).saturating_mul(u128::from(gain));
    u64::try_from(volume.div_ceil(PER_SECOND)).unwrap_or(u64::MAX)
}

/// `rate` over `time`, in bytes of whole segments.
fn whole(rate: u64, time: Duration, mss: u64) -> u64 {
    let volume = u128::from(rate) * u128::from(time.as_nanos()) / 1_000_000_000;
    u64::try_from(volume).unwrap_or(u64::MAX) / mss * mss
}

/// `rate` less the margin by which pacing stays below it.
fn below_margin(rate: u64) -> u64 {
    rate - rate / 100 * PACING_MARGIN
}

fn scaled(value: u64, gain: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(gain) / u128::from(ONE)).unwrap_or(u64::MAX)
}

impl Bbr {
    /// BBR at the start of a connection.
    pub fn new(setup: Setup) -> Bbr {
        Bbr {
            setup,
            stream: None,
            state: BbrState::Startup,
            pacing_gain: STARTUP_GAIN,
            window_gain: STARTUP_GAIN,
            pacing_rate: 0,
            rates: MaxFilter::default(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            delivered: 0,
            lost: 0,
            rounds: Rounds::default(),
            full: FullPipe::default(),
            phase: 0,
            phase_began: Time::ZERO,
            prior_window: 0,
            recovery: None,
            conserving: false,
            idle_restart: false,
            probe_rtt_end: None,
            probe_rtt_round_done: false,
            limited_until: 0,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            last_flight: 0,
            last_delivered: 0,
            last_unacknowledged: 0,
            last_window: (Time::ZERO, 0),
        }
    }

    /// The state.
    pub fn state(&self) -> BbrState {
        self.state
    }

    /// The estimated rate of the path: the policer's where one was found.
    fn rate(&self) -> u64 {
        if self.policer.in_use { self.policer.rate } else { self.rates.max() }
    }

    /// Bytes in flight that keep a path of `rate` busy times `gain` (section 4.2.3.2), and what bursts need beside.
    fn inflight(&self, window: &Window, rate: u64, gain: u64) -> u64 {
        let bdp = match self.min_rtt {
            Some(min_rtt) => volume(rate, gain, min_rtt),
            None => INITIAL_SEGMENTS * u64::from(window.mss()),
        };
        self.with_bursts(window, bdp)
    }

    /// Three bursts, in whole pairs of segments; two segments more in the phase that probes.
    fn with_bursts(&self, window: &Window, bytes: u64) -> u64 {
        let mss = u64::from(window.mss());
        let mut segments = bytes.div_ceil(mss).saturating_add(3 * self.burst(mss));
        segments = segments.saturating_add(segments % 2);
        if self.state == BbrState::ProbeBandwidth && self.phase == 0 {
            segments = segments.saturating_add(2);
        }
        segments.saturating_mul(mss)
    }

    /// Segments of a burst: about a millisecond of the pacing rate.
    fn burst(&self, mss: u64) -> u64 {
        let burst = (self.pacing_rate >> 10).min(LONGEST_BURST) / mss;
        burst.max(u64::from(self.least_burst())).min(MAX_BURST_SEGMENTS)
    }

    /// Of `flight` bytes what will be in flight when the next burst leaves, with that burst if this is to raise it
    /// (`bbr_packets_in_net_at_edt`).
    fn at_departure(&self, window: &Window, ack: &Ack, flight: u64) -> u64 {
        let Some(departure) = ack.departure else { return flight };
        let mss = u64::from(window.mss());
        let leaving = if self.pacing_gain > ONE { self.burst(mss) * mss } else { 0 };
        let delivered = whole(self.rate(), departure.since(ack.now), mss);
        (flight + leaving).saturating_sub(delivered)
    }

    /// Section 4.1.1: the round trip and the largest delivery rate.
    fn update_rate(&mut self, ack: &Ack, sample: &RateSample) {
        if sample.prior_delivered >= self.rounds.next_delivered {
            self.begin_round();
            self.rounds.count += 1;
            self.rounds.start = true;
            self.conserving = false;
        }
        let limited =
            sample.application_limited || sample.prior_delivered <= self.limited_until && self.limited_until > 0;
        self.sample_policer(ack.now, ack.lost > 0, limited);
        let rate = rate(sample.delivered, sample.interval);
        if !limited || rate >= self.rates.max() {
            self.rates.update(self.rounds.count, rate);
        }
        if self.rounds.start && !limited {
            self.check_full_pipe();
        }
    }

    fn begin_round(&mut self) {
        self.rounds.next_delivered = self.delivered;
    }

    /// Section 4.3.2.2.
    fn check_full_pipe(&mut self) {
        if self.full.reached {
            return;
        }
        let rate = self.rates.max();
        if rate >= scaled(self.full.rate, FULL_RATE_GROWTH) {
            (self.full.rate, self.full.rounds) = (rate, 0);
            return;
        }
        self.full.rounds += 1;
        self.full.reached = self.full.rounds >= FULL_RATE_ROUNDS;
    }

    fn restart_policer_interval(&mut self, now: Time) {
        let policer = &mut self.policer;
        (policer.began, policer.delivered, policer.lost, policer.rounds) = (now, self.delivered, self.lost, 0);
    }

    fn reset_policer(&mut self, now: Time) {
        self.policer = Policer::default();
        self.restart_policer_interval(now);
    }

    fn sample_policer(&mut self, now: Time, loss: bool, limited: bool) {
        if self.policer.in_use {
            if self.state == BbrState::ProbeBandwidth && self.rounds.start {
                self.policer.rounds += 1;
                if self.policer.rounds >= POLICER_LIFE {
                    self.reset_policer(now);
                    self.enter_probe_bandwidth(now);
                }
            }
            return;
        }
        if !self.policer.sampling {
            if !loss {
                return;
            }
            self.restart_policer_interval(now);
            self.policer.sampling = true;
        }
        if limited {
            return self.reset_policer(now);
        }
        self.policer.rounds += u32::from(self.rounds.start);
        if self.policer.rounds < POLICER_ROUNDS {
            return;
        }
        if self.policer.rounds > 4 * POLICER_ROUNDS {
            return self.reset_policer(now);
        }
        let (delivered, lost) = (self.delivered - self.policer.delivered, self.lost - self.policer.lost);
        let time = now.since(self.policer.began);
        if !loss || delivered == 0 || lost * ONE < POLICER_LOSS * delivered || time < Duration::from_millis(1) {
            return;
        }
        let (rate, before) = (rate(delivered, time), self.policer.rate);
        let difference = rate.abs_diff(before);
        if before > 0 && (difference <= before / 8 || difference <= POLICER_DIFFERENCE) {
            self.policer.rate = rate.midpoint(before);
            self.policer.in_use = true;
            self.policer.rounds = 0;
        } else {
            self.policer.rate = rate;
            self.restart_policer_interval(now);
        }
    }

    /// What was acknowledged beyond the estimated rate since the epoch began.
    fn update_aggregation(&mut self, window: &Window, ack: &Ack) {
        let bandwidth = self.rate();
        let it = &mut self.aggregation;
        if self.rounds.start {
            it.rounds += 1;
            if it.rounds >= AGGREGATION_ROUNDS {
                it.rounds = 0;
                it.current ^= 1;
                it.extra[usize::from(it.current)] = 0;
            }
        }
        let mss = u64::from(window.mss());
        let mut expected = whole(bandwidth, ack.now.since(it.epoch_began), mss);
        let most = AGGREGATION_SEGMENTS * mss;
        if it.epoch_acked <= expected || it.epoch_acked + ack.delivered >= most {
            (it.epoch_began, it.epoch_acked, expected) = (ack.now, 0, 0);
        }
        it.epoch_acked += ack.delivered;
        let extra = (it.epoch_acked - expected).min(u64::from(window.bytes()));
        let largest = &mut it.extra[usize::from(it.current)];
        *largest = extra.max(*largest);
    }

    /// By how much the window is wider for it.
    fn aggregated(&self) -> u64 {
        if !self.full.reached {
            return 0;
        }
        let most = volume(self.rate(), ONE, AGGREGATION_TIME);
        self.aggregation.extra[0].max(self.aggregation.extra[1]).min(most)
    }

    /// Section 4.3.4.3. A probe lasts until it has filled its share of the path or lost something; draining, until the
    /// probe's queue is gone.
    fn update_phase(&mut self, window: &Window, ack: &Ack) {
        if self.state != BbrState::ProbeBandwidth {
            return;
        }
        let over = ack.now.since(self.phase_began) > self.min_rtt.unwrap_or(Duration::MAX);
        let rate = self.rates.max();
        let flight = self.at_departure(window, ack, ack.flight_before);
        let next = match self.pacing_gain {
            ONE => over,
            gain if gain > ONE => over && (ack.lost > 0 || flight >= self.inflight(window, rate, gain)),
            _ => over || flight <= self.inflight(window, rate, ONE),
        };
        if next {
            self.advance_phase(ack.now);
        }
    }

    fn advance_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % 8;
        self.phase_began = now;
    }

    /// Begins with any phase but the one that drains (section 4.3.4.2).
    fn enter_probe_bandwidth(&mut self, now: Time) {
        self.state = BbrState::ProbeBandwidth;
        let setup = self.setup;
        let stream = self
            .stream
            .get_or_insert_with(|| Box::new(Stream::new(setup.seed, Purpose::CongestionControl, setup.stream)));
        self.phase = 7 - stream.below(7) as u8;
        self.advance_phase(now);
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        if self.full.reached {
            self.enter_probe_bandwidth(now);
        } else {
            self.state = BbrState::Startup;
        }
    }

    /// Section 4.3.3.
    fn check_drain(&mut self, window: &mut Window, ack: &Ack) {
        let rate = self.rates.max();
        if self.state == BbrState::Startup && self.full.reached {
            self.state = BbrState::Drain;
            window.set_threshold(saturate(self.inflight(window, rate, ONE)));
        }
        let flight = self.at_departure(window, ack, ack.flight);
        if self.state == BbrState::Drain && flight <= self.inflight(window, rate, ONE) {
            self.enter_probe_bandwidth(ack.now);
        }
    }

    /// Sections 4.1.2 and 4.3.5.
    fn update_min_rtt(&mut self, window: &mut Window, ack: &Ack) {
        let expired = self.min_rtt.is_some() && ack.now > self.min_rtt_at + MIN_RTT_LIFE;
        if let Some(rtt) = ack.rtt {
            let delayed = ack.rate.is_some_and(|sample| sample.ack_delayed);
            if self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt) || expired && !delayed {
                (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.now);
            }
        }
        if expired && !self.idle_restart && self.state != BbrState::ProbeRtt {
            self.save_window(window.bytes());
            self.state = BbrState::ProbeRtt;
            self.probe_rtt_end = None;
        }
        if self.state == BbrState::ProbeRtt {
            self.limited_until = (self.delivered + ack.flight).max(1);
            match self.probe_rtt_end {
                None if ack.flight <= u64::from(MIN_SEGMENTS * window.mss()) => {
                    self.probe_rtt_end = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.begin_round();
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round_done |= self.rounds.start;
                    if self.probe_rtt_round_done {
                        self.check_probe_rtt_done(window, ack.now);
                    }
                }
            }
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if self.probe_rtt_end.is_some_and(|end| now > end) {
            self.min_rtt_at = now;
            window.set(window.bytes().max(self.prior_window), WindowCause::Bbr(BbrState::ProbeRtt));
            self.leave_probe_rtt(now);
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.state {
            BbrState::Startup => (STARTUP_GAIN, STARTUP_GAIN),
            BbrState::Drain => (DRAIN_GAIN, STARTUP_GAIN),
            BbrState::ProbeBandwidth if self.policer.in_use => (ONE, WINDOW_GAIN),
            BbrState::ProbeBandwidth => (PHASE_GAINS[usize::from(self.phase)], WINDOW_GAIN),
            BbrState::ProbeRtt => (ONE, ONE),
        };
    }

    /// Section 4.2.1.2: the initial window in a round trip.
    fn init_pacing(&mut self, window: &Window, rtt: Duration) {
        self.pacing_rate = below_margin(scaled(rate(u64::from(window.bytes()), rtt), STARTUP_GAIN)).max(1);
    }

    /// Section 4.2.1. In startup the rate never falls.
    fn update_pacing(&mut self, window: &Window, smoothed: Option<Duration>, gain: u64) {
        if self.pacing_rate == 0 {
            let Some(smoothed) = smoothed else { return };
            self.init_pacing(window, smoothed);
        }
        let next = below_margin(scaled(self.rate(), gain));
        if self.full.reached || next > self.pacing_rate {
            self.pacing_rate = next.max(1);
        }
    }

    /// Section 4.2.3.
    fn update_window(&mut self, window: &mut Window, ack: &Ack) {
        let mss = window.mss();
        let why = WindowCause::Bbr(self.state);
        if ack.delivered > 0 {
            let mut next = window.bytes();
            if ack.lost > 0 {
                next = next.saturating_sub(saturate(ack.lost)).max(mss);
            }
            if self.recovery.is_some_and(|end| end != IN_RECOVERY && ack.unacknowledged >= end) {
                self.recovery = None;
                next = next.max(self.prior_window);
            }
            let acked = saturate(ack.delivered);
            if self.conserving {
                next = next.max(saturate(ack.flight + ack.delivered));
            } else {
                let volume = self.bdp_and_aggregation(window);
                let target = saturate(self.with_bursts(window, volume));
                if self.full.reached {
                    next = next.saturating_add(acked).min(target);
                } else if next < target || self.delivered < INITIAL_SEGMENTS * u64::from(mss) {
                    next = next.saturating_add(acked);
                }
                next = next.max(MIN_SEGMENTS * mss);
            }
            window.set(next, why);
        }
        if self.state == BbrState::ProbeRtt && window.bytes() > MIN_SEGMENTS * mss {
            window.set(MIN_SEGMENTS * mss, why);
        }
    }

    fn bdp_and_aggregation(&self, window: &Window) -> u64 {
        let bdp = match self.min_rtt {
            Some(min_rtt) => volume(self.rate(), self.window_gain, min_rtt),
            None => INITIAL_SEGMENTS * u64::from(window.mss()),
        };
        bdp.saturating_add(self.aggregated())
    }

    fn save_window(&mut self, bytes: u32) {
        let undisturbed = self.recovery.is_none() && self.state != BbrState::ProbeRtt;
        self.prior_window = if undisturbed { bytes } else { bytes.max(self.prior_window) };
    }
}

/// [`Bbr::recovery`] in fast recovery, whose end the sender tells.
const IN_RECOVERY: u64 = u64::MAX;

impl CongestionControl for Bbr {
    /// The handshake gives the first shortest round-trip time and the first rate (`BBRInit`).
    fn on_established(&mut self, window: &mut Window, now: Time, rtt: Option<Duration>) {
        (self.min_rtt, self.min_rtt_at) = (rtt, now);
        if let Some(rtt) = rtt {
            self.init_pacing(window, rtt);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.delivered = match &ack.rate {
            Some(sample) => sample.total_delivered.max(self.delivered),
            None => self.delivered + ack.delivered,
        };
        self.lost += ack.lost;
        self.last_flight = ack.flight;
        self.last_delivered = ack.delivered;
        self.last_window = (ack.now, window.bytes());
        self.last_unacknowledged = ack.unacknowledged;
        self.rounds.start = false;
        if let Some(sample) = ack.rate.as_ref().filter(|sample| !sample.interval.is_zero()) {
            self.update_rate(ack, sample);
            if ack.delivered > 0 {
                self.update_aggregation(window, ack);
            }
        }
        self.update_phase(window, ack);
        self.check_drain(window, ack);
        self.update_min_rtt(window, ack);
        self.update_gains();
        self.update_pacing(window, ack.smoothed, self.pacing_gain);
        self.update_window(window, ack);
    }

    /// A loss conserves packets for a round trip (section 4.2.3.4); marks are not heeded.
    fn on_congestion(&mut self, window: &mut Window, now: Time, _flight: u64, cause: Cause) {
        if cause == Cause::Mark {
            return;
        }
        // The acknowledgement that told of the loss has changed the window already.
        let of_ack = self.last_window.0 == now;
        self.save_window(if of_ack { self.last_window.1 } else { window.bytes() });
        self.recovery = Some(IN_RECOVERY);
        self.conserving = true;
        self.begin_round();
        let delivered = if of_ack { saturate(self.last_delivered) } else { 0 };
        window.set(saturate(self.last_flight).saturating_add(delivered.max(window.mss())), WindowCause::Loss);
    }

    fn on_recovered(&mut self, window: &mut Window, _now: Time, _target: u32) {
        self.recovery = None;
        self.conserving = false;
        window.set(window.bytes().max(self.prior_window), WindowCause::Recovered);
    }

    /// One segment, and the old window again when all that was outstanding is acknowledged. The path may have changed:
    /// whether the pipe is full is asked anew.
    fn on_timeout(&mut self, window: &mut Window, now: Time, flight: u64, _again: bool) {
        self.save_window(window.bytes());
        self.recovery = Some(self.last_unacknowledged.saturating_add(flight).min(IN_RECOVERY - 1));
        self.conserving = false;
        self.full.rate = 0;
        self.rounds.start = true;
        self.sample_policer(now, true, false);
        window.set(window.mss(), WindowCause::Timeout);
    }

    /// Section 4.2.1's pace goes on after idling; the window stays.
    fn on_restart(&mut self, window: &mut Window, now: Time, _idle: Duration, _restart: Option<u32>) {
        self.idle_restart = true;
        (self.aggregation.epoch_began, self.aggregation.epoch_acked) = (now, 0);
        match self.state {
            BbrState::ProbeBandwidth => self.update_pacing(window, None, ONE),
            BbrState::ProbeRtt => self.check_probe_rtt_done(window, now),
            BbrState::Startup | BbrState::Drain => {}
        }
    }

    fn on_spurious(&mut self, window: &mut Window, now: Time, _bytes: u32, _threshold: u32) {
        (self.full.rate, self.full.rounds) = (0, 0);
        self.reset_policer(now);
        self.recovery = None;
        self.conserving = false;
        window.set(window.bytes().max(self.prior_window), WindowCause::Undone);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if self.pacing_rate == 0 { None } else { Rate::from_bits_per_second(self.pacing_rate.saturating_mul(8)) }
    }

    fn least_burst(&self) -> u32 {
        if self.pacing_rate < SLOW_PATH { 1 } else { 2 }
    }

    fn recovery(&self) -> Recovery {
        Recovery::Own
    }

    fn wants_rate(&self) -> bool {
        true
    }

    fn wants_rtt(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
