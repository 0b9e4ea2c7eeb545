//! PIE, the proportional-integral controller enhanced (RFC 8033).
//!
//! Of the optional parts there are ECN (section 5.1), both ways to know the delay (5.2), the cap on the probability's steps
//! (5.5), de-randomisation (5.4), and, if asked for, rest at light load (5.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use std::collections::VecDeque;

use super::admission::{Admit, Arrival, Verdict};
use super::packet::{Backlog, Packet};
use super::parameters::{FULL_PACKET_BYTES, ParameterError};
use super::periodic::Periodic;
use crate::record::DropReason;
use crate::rng::Stream;
use crate::time::{Duration, Time};
use crate::units::Limit;

/// Parameters of [`Pie`]; defaults are those of RFC 8033, sections 4.2, 4.4 and 5.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieParams {
    /// What may wait at all.
    pub limit: Limit,
    /// The delay to hold, QDELAY_REF.
    pub target: Duration,
    /// How often the probability is updated, T_UPDATE.
    pub interval: Duration,
    /// Coefficient of the distance from the target, per second.
    pub alpha: f64,
    /// Coefficient of the change of the delay, per second.
    pub beta: f64,
    /// How long bursts pass unharmed, MAX_BURST.
    pub max_burst: Duration,
    /// How the delay is known.
    pub estimator: Estimator,
    /// Whether signals come neither too close to each other nor too far apart.
    pub derandomise: bool,
    /// Marks instead of early drops while the probability is below `ecn_threshold`.
    pub ecn: bool,
    /// See `ecn`: mark_ecnth.
    pub ecn_threshold: f64,
    /// Whether it does nothing from when all is quiet until the queue has filled a third of `limit` (section 5.3, an option
    /// there). Only for limits that are no more than a few times the target: a third of the default limit is more than a
    /// thousand targets at most rates.
    pub rest: bool,
}

/// How [`Pie`] knows the delay of its queue (RFC 8033, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// From the wait of the packet that left last.
    Timestamp,
    /// From the queue's length and the rate at which it was seen to empty.
    DepartureRate,
}

impl Default for PieParams {
    fn default() -> PieParams {
        PieParams {
            limit: Limit::Packets(65_000),
            target: Duration::from_millis(15),
            interval: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            estimator: Estimator::Timestamp,
            derandomise: true,
            ecn: false,
            ecn_threshold: 0.1,
            rest: false,
        }
    }
}

/// Bytes that a measurement of the departure rate takes, DQ_THRESHOLD.
const DQ_THRESHOLD: u64 = 1 << 14;

/// Weight of a measurement in their mean: DQ_THRESHOLD / 2^16.
const DQ_WEIGHT: f64 = 0.25;

/// Proportional-integral control of the delay, at arrival.
#[derive(Debug)]
pub struct Pie {
    params: PieParams,
    stream: Stream,
    timer: Periodic,
    probability: f64,
    /// The sum of the probabilities since the last signal.
    accumulated: f64,
    burst_left: Duration,
    /// It rests ("PIE->active_" is false).
    rests: bool,
    /// Seconds, at the last update and at the one before.
    delay: f64,
    last_delay: f64,
    gauge: Gauge,
}

/// What the delay is known from.
#[derive(Debug)]
enum Gauge {
    Timestamp {
        /// When the waiting packets arrived.
        arrivals: VecDeque<Time>,
        wait: Duration,
    },
    DepartureRate {
        /// Since when, and how many bytes have left in, the measurement under way.
        measuring: Option<(Time, u64)>,
        /// Mean seconds for [`DQ_THRESHOLD`] bytes.
        mean: Option<f64>,
    },
}

impl Pie {
    /// An empty queue.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(params: PieParams, stream: Stream) -> Result<Pie, ParameterError> {
        ParameterError::check_limit(params.limit)?;
        ParameterError::check_above_zero("target", params.target.as_nanos())?;
        ParameterError::check_interval("interval", params.interval)?;
        ParameterError::check_coefficient("alpha", params.alpha)?;
        ParameterError::check_coefficient("beta", params.beta)?;
        ParameterError::check_probability("ecn-threshold", params.ecn_threshold)?;
        let gauge = match params.estimator {
            Estimator::Timestamp => Gauge::Timestamp { arrivals: VecDeque::new(), wait: Duration::ZERO },
            Estimator::DepartureRate => Gauge::DepartureRate { measuring: None, mean: None },
        };
        Ok(Pie {
            params,
            stream,
            timer: Periodic::new(params.interval),
            probability: 0.0,
            accumulated: 0.0,
            burst_left: params.max_burst,
            rests: params.rest,
            delay: 0.0,
            last_delay: 0.0,
            gauge,
        })
    }

    /// The probability with which an arriving packet is marked or dropped.
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    /// Section 5.3: from now on it is at work, if the queue fills a third of its limit with `packet`.
    fn wake(&mut self, packet: &Packet, waiting: Backlog) {
        let is_third = match self.params.limit {
            Limit::Packets(limit) => 3 * (waiting.packets + 1) >= limit,
            Limit::Bytes(limit) => 3 * (waiting.bytes + u64::from(packet.bytes)) >= limit,
        };
        if !is_third {
            return;
        }
        self.rests = false;
        (self.probability, self.accumulated) = (0.0, 0.0);
        (self.delay, self.last_delay) = (0.0, 0.0);
        self.burst_left = self.params.max_burst;
        if let Gauge::DepartureRate { measuring, mean } = &mut self.gauge {
            (*measuring, *mean) = (None, None);
        }
    }

    /// Section 4.1, and 5.4 for the accumulated probability.
    fn strikes(&mut self, waiting: Backlog) -> bool {
        let half_target = self.params.target.as_secs_f64() / 2.0;
        if (self.delay < half_target && self.probability < 0.2) || waiting.bytes <= 2 * u64::from(FULL_PACKET_BYTES) {
            return false;
        }
        if self.params.derandomise {
            if self.probability == 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += self.probability;
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                return true;
            }
        }
        self.stream.uniform() < self.probability
    }
}

/// How much smaller the controller's steps are while the probability is small (RFC 8033, section 4.2).
fn step_scale(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 1.0 / 2_048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

impl Admit for Pie {
    fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict {
        if !arrival.has_room(self.params.limit, packet) {
            self.accumulated = 0.0;
            return Verdict::Drop(DropReason::QueueFull);
        }
        let half_target = self.params.target.as_secs_f64() / 2.0;
        if self.probability == 0.0 && self.delay < half_target && self.last_delay < half_target {
            self.burst_left = self.params.max_burst;
        }
        if self.rests {
            self.wake(packet, arrival.waiting);
        }
        let mut verdict = Verdict::Take;
        if !self.rests && self.burst_left.is_zero() && self.strikes(arrival.waiting) {
            self.accumulated = 0.0;
            verdict = Verdict::signal(packet, self.params.ecn && self.probability < self.params.ecn_threshold);
        }
        if let (Gauge::Timestamp { arrivals, wait }, Verdict::Take | Verdict::Mark) = (&mut self.gauge, verdict) {
            if arrival.waits() {
                arrivals.push_back(arrival.now);
            } else {
                *wait = Duration::ZERO;
            }
        }
        verdict
    }

    /// Section 4.2.
    fn advance(&mut self, until: Time, waiting: Backlog) {
        let Pie { params, timer, probability, burst_left, rests, delay, last_delay, gauge, .. } = self;
        timer.run(until, || {
            if *rests {
                return false;
            }
            let before = (*probability, *delay, *last_delay, *burst_left);
            let current = match gauge {
                Gauge::Timestamp { wait, .. } => {
                    if waiting.packets == 0 {
                        0.0
                    } else {
                        wait.as_secs_f64()
                    }
                }
                Gauge::DepartureRate { mean, .. } => waiting.bytes as f64 * mean.unwrap_or(0.0) / DQ_THRESHOLD as f64,
            };
            let error = current - params.target.as_secs_f64();
            let mut step = params.alpha * error + params.beta * (current - *delay);
            step *= step_scale(*probability);
            if *probability >= 0.1 && step > 0.02 {
                step = 0.02;
            }
            *probability += step;
            if current == 0.0 && *delay == 0.0 {
                *probability *= 0.98;
            }
            *probability = probability.clamp(0.0, 1.0);
            *last_delay = *delay;
            *delay = current;
            *burst_left = burst_left.saturating_sub(params.interval);
            let half_target = params.target.as_secs_f64() / 2.0;
            *rests = params.rest && *probability == 0.0 && *delay < half_target && *last_delay < half_target;
            before != (*probability, *delay, *last_delay, *burst_left)
        });
    }

    fn start(&mut self, at: Time, bytes: u32, waiting: Backlog) {
        match &mut self.gauge {
            Gauge::Timestamp { arrivals, wait } => {
                if let Some(arrived) = arrivals.pop_front() {
                    *wait = at.since(arrived);
                }
            }
            Gauge::DepartureRate { measuring, mean } => {
                if let Some((since, count)) = measuring {
                    *count += u64::from(bytes);
                    if *count >= DQ_THRESHOLD {
                        let time = at.since(*since).as_secs_f64();
                        *mean = Some(mean.map_or(time, |mean| mean + DQ_WEIGHT * (time - mean)));
                        *measuring = None;
                    }
                }
                if measuring.is_none() && waiting.bytes >= DQ_THRESHOLD {
                    *measuring = Some((at, 0));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{arrival, at, backlog, capable, stream};

    fn pie(params: PieParams) -> Pie {
        Pie::new(params, stream()).unwrap()
    }

    /// Lets the `n`th update find a delay of so many milliseconds.
    fn update(queue: &mut Pie, n: u64, millis: u64) {
        queue.gauge = Gauge::Timestamp { arrivals: VecDeque::new(), wait: Duration::from_millis(millis) };
        queue.advance(at(15 * n), backlog(if millis == 0 { 0 } else { 100 }));
    }

    #[test]
    fn the_probability_under_a_standing_queue_with_every_scale() {
        let mut queue = pie(PieParams::default());
        let delays = [30, 30, 30, 30, 30, 30, 30, 30, 100, 100, 100, 100, 500, 1_000, 1_500, 0];
        let expected = [
            0.000_019_226_074_218_75,
            0.000_033_874_511_718_75,
            0.000_048_522_949_218_75,
            0.000_063_171_386_718_75,
            0.000_077_819_824_218_75,
            0.000_092_468_261_718_75,
            0.000_107_116_699_218_75,
            0.000_165_710_449_218_75,
            0.003_232_116_699_218_75,
            0.004_560_241_699_218_75,
            0.005_888_366_699_218_75,
            0.007_216_491_699_218_75,
            0.077_294_616_699_218_75,
            0.451_357_116_699_218_74,
            0.471_357_116_699_218_74,
            0.0,
        ];
        for ((n, delay), expected) in (1..).zip(delays).zip(expected) {
            update(&mut queue, n, delay);
            assert!((queue.probability - expected).abs() < 1e-12, "update {n}: {}", queue.probability);
        }
    }

    #[test]
    fn the_scale_of_steps() {
        for (probability, scale) in [
            (0.0, 2_048.0),
            (9.9e-7, 2_048.0),
            (1e-6, 512.0),
            (1e-5, 128.0),
            (1e-4, 32.0),
            (1e-3, 8.0),
            (0.01, 2.0),
            (0.1, 1.0),
            (1.0, 1.0),
        ] {
            assert_eq!(step_scale(probability), 1.0 / scale, "{probability}");
        }
    }

    #[test]
    fn without_delay_the_probability_decays() {
        let mut queue = pie(PieParams::default());
        queue.probability = 0.5;
        update(&mut queue, 1, 0);
        assert!((queue.probability - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12, "{}", queue.probability);
        queue.advance(at(1_000_000), backlog(0));
        assert_eq!(queue.probability, 0.0);
    }

    #[test]
    fn bursts_pass_for_150_ms() {
        let mut queue = pie(PieParams::default());
        queue.probability = 1.0;
        queue.burst_left = queue.params.max_burst;
        let strikes = |queue: &mut Pie, n: u64| {
            update(queue, n, 1_000);
            queue.probability = 1.0;
            queue.arrive(&Packet::new(1_000), &arrival(at(15 * n), 100)) != Verdict::Take
        };
        let struck: Vec<_> = (1..=11).map(|n| strikes(&mut queue, n)).collect();
        assert_eq!(struck, [vec![false; 9], vec![true; 2]].concat(), "ten updates use the allowance up");
        // And it comes back when all is quiet.
        (12..20).for_each(|n| update(&mut queue, n, 0));
        assert_eq!(queue.arrive(&Packet::new(1_000), &arrival(at(285), 100)), Verdict::Take);
        assert_eq!(queue.burst_left, Duration::from_millis(150));
    }

    /// RFC 8033 section 5.3: on at a third of the limit, off when probability and delay are gone.
    #[test]
    fn it_rests_until_a_third_of_the_limit_waits() {
        let limits = [(Limit::Packets(300), 98, 99), (Limit::Bytes(300_000), 98, 99)];
        for (limit, below, third) in limits {
            let mut queue = pie(PieParams { limit, rest: true, derandomise: false, ..PieParams::default() });
            let struck = |queue: &mut Pie, n: u64, packets: u64| {
                update(queue, n, 1_000);
                (0..200).any(|_| queue.arrive(&Packet::new(1_000), &arrival(at(15 * n), packets)) != Verdict::Take)
            };
            assert!((1..40).all(|n| !struck(&mut queue, n, below)), "{limit:?}");
            assert_eq!(queue.probability, 0.0);
            let first = (40..80).find(|n| struck(&mut queue, *n, third)).expect("it works from 40 on");
            assert!(first >= 50, "the burst allowance counts from then: {first}");
            assert!(struck(&mut queue, first + 1, below), "it works on below a third");
            (first + 2..first + 2_000).for_each(|n| update(&mut queue, n, 0));
            assert_eq!(queue.probability, 0.0);
            assert!((first + 2_001..first + 2_040).all(|n| !struck(&mut queue, n, below)), "it rests again");
        }
        assert!(!pie(PieParams::default()).rests);
    }

    /// A queue without burst allowance at a given probability and delay.
    fn at_probability(params: PieParams, probability: f64) -> Pie {
        let mut queue = pie(params);
        (queue.probability, queue.delay, queue.last_delay, queue.burst_left) = (probability, 0.1, 0.1, Duration::ZERO);
        queue
    }

    #[test]
    fn signals_are_neither_close_together_nor_far_apart() {
        let mut queue = at_probability(PieParams { ecn: true, ..PieParams::default() }, 0.05);
        let (mut gaps, mut gap) = (Vec::new(), 0);
        for _ in 0..20_000 {
            gap += 1;
            if queue.arrive(&capable(1_000), &arrival(at(0), 100)) == Verdict::Mark {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        // 17 packets sum up 0.85, 170 sum up 8.5.
        assert!(gaps.iter().all(|gap| (17..=170).contains(gap)), "{gaps:?}");
        let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
        assert!((33.0..39.0).contains(&mean), "16 certain ones and a geometric mean of 20: {mean}");
    }

    #[test]
    fn small_queues_and_small_probabilities_are_left_alone() {
        let mut queue = at_probability(PieParams { derandomise: false, ..PieParams::default() }, 1.0);
        let struck =
            |queue: &mut Pie, packets| queue.arrive(&Packet::new(1_000), &arrival(at(0), packets)) != Verdict::Take;
        assert_eq!((struck(&mut queue, 3), struck(&mut queue, 4)), (false, true), "3,028 bytes are two packets");
        queue.delay = 0.007;
        assert!(struck(&mut queue, 100));
        queue.probability = 0.199;
        assert!(!(0..100).any(|_| struck(&mut queue, 100)));
    }

    #[test]
    fn marks_below_the_threshold_and_drops_above_it() {
        let certain = |probability: f64| {
            let mut queue = at_probability(PieParams { ecn: true, ..PieParams::default() }, probability);
            queue.accumulated = 8.5;
            queue.arrive(&capable(1_000), &arrival(at(0), 100))
        };
        assert_eq!((certain(0.099), certain(0.1)), (Verdict::Mark, Verdict::Drop(DropReason::Early)));
    }

    #[test]
    fn the_departure_rate_is_measured_over_16_kb_of_a_long_queue() {
        let mut queue = pie(PieParams { estimator: Estimator::DepartureRate, ..PieParams::default() });
        // 1,000 bytes leave each millisecond: 17 packets for 16,384 bytes, from the one after the measurement began.
        (0..17).for_each(|n| queue.start(at(n), 1_000, backlog(40 - n)));
        assert!(matches!(queue.gauge, Gauge::DepartureRate { mean: None, measuring: Some((_, 16_000)) }));
        queue.start(at(17), 1_000, backlog(23));
        let Gauge::DepartureRate { mean: Some(mean), measuring } = queue.gauge else { panic!("{queue:?}") };
        assert_eq!((mean, measuring), (0.017, Some((at(17), 0))));
        queue.advance(at(15), backlog(20));
        assert!((queue.delay - 20_000.0 * 0.017 / 16_384.0).abs() < 1e-12, "{}", queue.delay);
    }

    #[test]
    fn the_delay_is_that_of_the_packet_that_left_last() {
        let mut queue = pie(PieParams::default());
        for millis in [0, 1, 2] {
            assert_eq!(queue.arrive(&Packet::new(1_000), &arrival(at(millis), 1)), Verdict::Take);
        }
        queue.start(at(9), 1_000, backlog(2));
        queue.start(at(10), 1_000, backlog(1));
        queue.advance(at(15), backlog(1));
        assert_eq!(queue.delay, 0.009);
        queue.advance(at(30), backlog(0));
        assert_eq!((queue.delay, queue.last_delay), (0.0, 0.009));
    }
}
