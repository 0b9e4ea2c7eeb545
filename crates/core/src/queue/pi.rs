//! PI, the proportional-integral controller (Hollot, Misra, Towsley and Gong 2001).

use super::admission::{Admit, Arrival, Verdict};
use super::packet::{Backlog, Packet};
use super::parameters::ParameterError;
use super::periodic::Periodic;
use crate::record::DropReason;
use crate::rng::Stream;
use crate::time::{Duration, Time};
use crate::units::Limit;

/// Parameters of [`Pi`]; defaults are those of the paper's section V, designed for a round-trip time of 246 ms and 60 flows
/// over 3,750 packets per second. Other networks need other coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiParams {
    /// What may wait at all.
    pub limit: Limit,
    /// The queue to hold, in packets.
    pub target: u64,
    /// Coefficient of the error now, per packet.
    pub a: f64,
    /// Coefficient of the error one sample ago, per packet; below `a`.
    pub b: f64,
    /// Samples per second.
    pub frequency: f64,
    /// Marks instead of early drops.
    pub ecn: bool,
}

impl Default for PiParams {
    fn default() -> PiParams {
        PiParams { limit: Limit::Packets(65_000), target: 200, a: 1.822e-5, b: 1.816e-5, frequency: 170.0, ecn: false }
    }
}

/// A probability that integrates how far the queue is from its target.
#[derive(Debug)]
pub struct Pi {
    params: PiParams,
    stream: Stream,
    timer: Periodic,
    probability: f64,
    /// Packets at the last sample.
    last: u64,
}

impl PiParams {
    /// All parameters that are wrong.
    pub(super) fn problems(&self) -> Vec<ParameterError> {
        let (limit, target) = (self.limit, self.target);
        let is_above_b = || match self.a > self.b {
            true => Ok(()),
            false => Err(ParameterError::new("a", format!("of {} must be above b of {}", self.a, self.b))),
        };
        let check_target = || ParameterError::check_threshold("target", Limit::Packets(target), limit);
        let b = ParameterError::check_coefficient("b", self.b);
        let a = ParameterError::check_coefficient("a", self.a);
        ParameterError::all([
            ParameterError::check_limit(limit)
                .and_then(|()| ParameterError::check_above_zero("target", target))
                .and_then(|()| check_target()),
            b.and(a).and_then(|()| is_above_b()),
            ParameterError::check_coefficient("frequency", self.frequency),
        ])
    }
}

impl Pi {
    /// An empty queue.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(params: PiParams, stream: Stream) -> Result<Pi, ParameterError> {
        ParameterError::first(params.problems())?;
        // At most one update in a microsecond, as of the disciplines that have an interval.
        let every = Duration::from_secs_f64(1.0 / params.frequency);
        Ok(Pi { params, stream, timer: Periodic::new(every), probability: 0.0, last: 0 })
    }

    /// The probability with which an arriving packet is marked or dropped.
    pub const fn probability(&self) -> f64 {
        self.probability
    }
}

impl Admit for Pi {
    fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict {
        if !arrival.has_room(self.params.limit, packet) {
            Verdict::Drop(DropReason::QueueFull)
        } else {
            Verdict::signal_with(self.probability, &mut self.stream, packet, self.params.ecn)
        }
    }

    fn advance(&mut self, until: Time, waiting: Backlog) {
        let Pi { params, timer, probability, last, .. } = self;
        timer.run(until, || {
            let error = |packets: u64| packets as f64 - params.target as f64;
            let next = *probability + (params.a * error(waiting.packets) - params.b * error(*last));
            let next = next.clamp(0.0, 1.0);
            let changed = (next, waiting.packets) != (*probability, *last);
            (*probability, *last) = (next, waiting.packets);
            changed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{arrival, at, backlog, capable, stream};

    #[test]
    fn the_recurrence() {
        let mut queue = Pi::new(PiParams { frequency: 100.0, ..PiParams::default() }, stream()).unwrap();
        let expected = [0.005_454, 0.005_46, 0.004_555, 0.003_647, 0.001_825, 0.0, 0.0];
        for ((n, length), expected) in (1..).zip([300, 300, 250, 200, 100, 0, 0]).zip(expected) {
            // What is due at an instant is done by it, and no sooner.
            queue.advance(at(10 * n - 1), backlog(999));
            queue.advance(at(10 * n), backlog(length));
            assert!((queue.probability - expected).abs() < 1e-12, "sample {n}: {}", queue.probability);
        }
    }

    #[test]
    fn a_queue_that_stays_too_long_is_signalled_for_certain_in_the_end() {
        let mut queue = Pi::new(PiParams { ecn: true, ..PiParams::default() }, stream()).unwrap();
        assert_eq!(queue.arrive(&capable(1_000), &arrival(at(0), 9)), Verdict::Take);
        queue.advance(at(3_600_000), backlog(400));
        assert_eq!(queue.probability, 1.0);
        assert_eq!(queue.arrive(&capable(1_000), &arrival(at(3_600_000), 9)), Verdict::Mark);
        assert_eq!(queue.arrive(&Packet::new(1_000), &arrival(at(3_600_000), 9)), Verdict::Drop(DropReason::Early));
    }
}
