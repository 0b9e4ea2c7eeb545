//! Adaptive RED (Floyd, Gummadi and Shenker 2001): RED whose maximum probability follows the load, so that the average
//! queue stays in the middle between the thresholds.

use super::admission::{Admit, Arrival, Verdict};
use super::packet::{Backlog, Packet};
use super::parameters::ParameterError;
use super::periodic::Periodic;
use super::red::{AboveMax, Red, RedParams};
use crate::rng::Stream;
use crate::time::{Duration, Time};
use crate::units::{Limit, Rate};

/// Parameters of [`AdaptiveRed`]; defaults as in sections 4 and 5 of the paper, `max_p` as ns-2 starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveRedParams {
    /// What may wait at all.
    pub limit: Limit,
    /// The delay that sets the lower threshold: half of it at the line's rate, at least 5 packets. The upper one is
    /// three times the lower.
    pub target_delay: Duration,
    /// The lower threshold in packets, if it is not computed.
    pub min: Option<u64>,
    /// The weight of a new sample, if it is not computed as 1 - exp(-1 / packets per second): a time constant of a second.
    pub weight: Option<f64>,
    /// The maximum probability to begin with.
    pub max_p: f64,
    /// How often it is adapted.
    pub interval: Duration,
    /// The most that is added to it; a quarter of it is, if that is less.
    pub increment: f64,
    /// What it is multiplied by to lower it.
    pub decrease: f64,
    /// Size by which the line's rate is counted in packets, in bytes.
    pub mean_packet: u32,
    /// Marks instead of early drops.
    pub ecn: bool,
    /// See [`RedParams::above_max`]: above twice the upper threshold.
    pub above_max: AboveMax,
}

impl Default for AdaptiveRedParams {
    fn default() -> AdaptiveRedParams {
        AdaptiveRedParams {
            limit: Limit::Packets(65_000),
            target_delay: Duration::from_millis(5),
            min: None,
            weight: None,
            max_p: 0.1,
            interval: Duration::from_millis(500),
            increment: 0.01,
            decrease: 0.9,
            mean_packet: 500,
            ecn: false,
            above_max: AboveMax::default(),
        }
    }
}

/// Bounds of the maximum probability.
const MAX_P: std::ops::RangeInclusive<f64> = 0.01..=0.5;

/// Gentle RED with a maximum probability that adapts.
#[derive(Debug)]
pub struct AdaptiveRed {
    red: Red,
    timer: Periodic,
    increment: f64,
    decrease: f64,
    /// Where the average ought to be.
    target: (f64, f64),
}

impl AdaptiveRed {
    /// An empty queue before a line of `rate`.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(params: AdaptiveRedParams, rate: Rate, stream: Stream) -> Result<AdaptiveRed, ParameterError> {
        ParameterError::check_above_zero("mean-packet", u64::from(params.mean_packet))?;
        ParameterError::check_above_zero("target", params.target_delay.as_nanos())?;
        ParameterError::check_interval("interval", params.interval)?;
        ParameterError::check_probability("increment", params.increment)?;
        ParameterError::check_probability("decrease", params.decrease)?;
        let packets_per_second = rate.bits_per_second().map(|bits| bits as f64 / 8.0 / f64::from(params.mean_packet));
        let unlimited =
            |key| ParameterError::new(key, "cannot be computed for a line of unlimited rate: it has to be given");
        let min = match (params.min, packets_per_second) {
            (Some(min), _) => min,
            (None, Some(rate)) => 5.max((params.target_delay.as_secs_f64() * rate / 2.0) as u64),
            (None, None) => return Err(unlimited("min")),
        };
        // Beyond min it signals; that the queue may be full below the upper threshold takes nothing from that.
        ParameterError::check_threshold("min", Limit::Packets(min), params.limit)?;
        let weight = match (params.weight, packets_per_second) {
            (Some(weight), _) => weight,
            (None, Some(rate)) => -libm::expm1(-1.0 / rate),
            (None, None) => return Err(unlimited("weight")),
        };
        let red = RedParams {
            limit: params.limit,
            min: Limit::Packets(min),
            max: Limit::Packets(min.saturating_mul(3)),
            max_p: params.max_p,
            weight,
            gentle: true,
            mean_packet: params.mean_packet,
            ecn: params.ecn,
            above_max: params.above_max,
        };
        let red = Red::of_any_limit(red, rate, stream)?;
        let (min, max) = red.thresholds();
        let target = (min + 0.4 * (max - min), min + 0.6 * (max - min));
        let AdaptiveRedParams { increment, decrease, interval, .. } = params;
        Ok(AdaptiveRed { red, timer: Periodic::new(interval), increment, decrease, target })
    }

    /// The RED that it adapts.
    pub const fn red(&self) -> &Red {
        &self.red
    }
}

impl Admit for AdaptiveRed {
    fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict {
        self.red.arrive(packet, arrival)
    }

    fn advance(&mut self, until: Time, _waiting: Backlog) {
        let AdaptiveRed { red, timer, increment, decrease, target } = self;
        timer.run(until, || {
            let (average, max_p) = (red.average(), red.max_p());
            let adapted = if average > target.1 && max_p <= *MAX_P.end() {
                max_p + increment.min(max_p / 4.0)
            } else if average < target.0 && max_p >= *MAX_P.start() {
                max_p * *decrease
            } else {
                max_p
            };
            red.set_max_p(adapted);
            adapted != max_p
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{arrival, at, backlog, stream};

    /// 10 Mbit/s are 2,500 packets of 500 bytes a second.
    fn adaptive(max_p: f64) -> AdaptiveRed {
        let params = AdaptiveRedParams { max_p, ..AdaptiveRedParams::default() };
        AdaptiveRed::new(params, "10mbit".parse().unwrap(), stream()).unwrap()
    }

    #[test]
    fn thresholds_and_weight_follow_the_rate() {
        let queue = adaptive(0.1);
        assert_eq!((queue.red.thresholds(), queue.target), ((6.0, 18.0), (10.8, 13.2)));
        let slow = AdaptiveRed::new(AdaptiveRedParams::default(), "1mbit".parse().unwrap(), stream()).unwrap();
        assert_eq!(slow.red.thresholds(), (5.0, 15.0));
        // One sample with a queue of a million packets shows the weight: 1 - exp(-1/2500).
        let mut queue = adaptive(0.1);
        queue.arrive(&Packet::new(500), &arrival(at(0), 1_000_000));
        assert!((queue.red.average() - 399.920_010_665_577_6).abs() < 1e-6, "{}", queue.red.average());
    }

    /// The maximum probability after each half second with the average at `length`.
    fn steps(max_p: f64, length: u64, count: u64) -> Vec<f64> {
        let mut queue = adaptive(max_p);
        // So many samples that the average is the queue.
        (0..100_000).for_each(|_| _ = queue.arrive(&Packet::new(500), &arrival(at(0), length)));
        let step = |n| {
            queue.advance(at(500 * n), backlog(length));
            (queue.red.max_p() * 1e9).round() / 1e9
        };
        (1..=count).map(step).collect()
    }

    #[test]
    fn the_maximum_probability_is_raised_by_sums_and_lowered_by_products() {
        assert_eq!(steps(0.1, 14, 5), [0.11, 0.12, 0.13, 0.14, 0.15]);
        assert_eq!(steps(0.02, 14, 3), [0.025, 0.031_25, 0.039_062_5]);
        assert_eq!(steps(0.1, 10, 3), [0.09, 0.081, 0.072_9]);
        assert_eq!(steps(0.1, 12, 3), [0.1, 0.1, 0.1], "within the target");
        assert_eq!(steps(0.1, 10, 30)[20..], [[0.010_941_899].as_slice(), &[0.009_847_709; 9]].concat());
        assert_eq!(steps(0.495, 14, 4), [0.505, 0.505, 0.505, 0.505], "at most one step above 0.5");
    }

    #[test]
    fn late_updates_are_made_up_for() {
        let mut queue = adaptive(0.1);
        queue.advance(at(499), backlog(0));
        assert_eq!(queue.red.max_p(), 0.1);
        queue.advance(at(1_700), backlog(0));
        assert!((queue.red.max_p() - 0.072_9).abs() < 1e-12, "{}", queue.red.max_p());
    }
}
