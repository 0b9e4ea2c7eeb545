//! BLUE (Feng, Shin, Kandlur and Saha 2002): loss raises the probability, an idle line lowers it.

use super::admission::{Admit, Arrival, Verdict};
use super::packet::Packet;
use super::parameters::ParameterError;
use crate::record::DropReason;
use crate::rng::Stream;
use crate::time::{Duration, Time};
use crate::units::Limit;

/// Parameters of [`Blue`]; defaults are those of the paper's experiments with d1 ten times d2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlueParams {
    /// What may wait at all.
    pub limit: Limit,
    /// A queue longer than this counts as a loss, the paper's L; `None` for losses alone.
    pub threshold: Option<Limit>,
    /// Least time between two changes of the probability.
    pub freeze_time: Duration,
    /// What a loss adds, the paper's d1.
    pub increment: f64,
    /// What an idle line takes off, the paper's d2.
    pub decrement: f64,
    /// Marks instead of early drops.
    pub ecn: bool,
}

impl Default for BlueParams {
    fn default() -> BlueParams {
        BlueParams {
            limit: Limit::Packets(65_000),
            threshold: None,
            freeze_time: Duration::from_millis(100),
            increment: 0.02,
            decrement: 0.002,
            ecn: false,
        }
    }
}

/// One probability for all packets, moved by loss and idleness.
#[derive(Debug)]
pub struct Blue {
    params: BlueParams,
    stream: Stream,
    probability: f64,
    /// When it changed last.
    changed: Option<Time>,
}

impl Blue {
    /// An empty queue.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(params: BlueParams, stream: Stream) -> Result<Blue, ParameterError> {
        ParameterError::check_limit(params.limit)?;
        ParameterError::check_above_zero("freeze-time", params.freeze_time.as_nanos())?;
        ParameterError::check_probability("increment", params.increment)?;
        ParameterError::check_probability("decrement", params.decrement)?;
        if let Some(Limit::Packets(0) | Limit::Bytes(0)) = params.threshold {
            return Err(ParameterError::new("threshold", "must be above zero"));
        }
        if let Some(threshold) = params.threshold {
            ParameterError::check_threshold("threshold", threshold, params.limit)?;
        }
        Ok(Blue { params, stream, probability: 0.0, changed: None })
    }

    /// The probability with which an arriving packet is marked or dropped.
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    fn change(&mut self, now: Time, by: f64) {
        if self.changed.is_none_or(|changed| now.since(changed) > self.params.freeze_time) {
            self.probability = (self.probability + by).clamp(0.0, 1.0);
            self.changed = Some(now);
        }
    }
}

impl Admit for Blue {
    fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict {
        if let Some(since) = arrival.idle_since {
            self.change(since, -self.params.decrement);
        }
        let lost = !arrival.has_room(self.params.limit, packet);
        let long = self.params.threshold.is_some_and(|most| arrival.waiting.exceeds(most));
        if lost || long {
            self.change(arrival.now, self.params.increment);
        }
        if lost {
            Verdict::Drop(DropReason::QueueFull)
        } else {
            Verdict::signal_with(self.probability, &mut self.stream, packet, self.params.ecn)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{arrival, at, capable, stream};

    fn blue(params: BlueParams) -> Blue {
        Blue::new(BlueParams { limit: Limit::Packets(10), ..params }, stream()).unwrap()
    }

    fn lose(queue: &mut Blue, millis: u64) -> f64 {
        let full = arrival(at(millis), 10);
        assert_eq!(queue.arrive(&Packet::new(1_000), &full), Verdict::Drop(DropReason::QueueFull));
        (queue.probability * 1e9).round() / 1e9
    }

    fn find_idle(queue: &mut Blue, since: u64, now: u64) -> f64 {
        let (now, waiting) = (at(now), Default::default());
        queue.arrive(&Packet::new(1_000), &Arrival { now, start: now, waiting, idle_since: Some(at(since)) });
        (queue.probability * 1e9).round() / 1e9
    }

    #[test]
    fn loss_raises_and_idleness_lowers_once_per_freeze_time() {
        let mut queue = blue(BlueParams::default());
        assert_eq!(lose(&mut queue, 0), 0.02);
        assert_eq!(lose(&mut queue, 100), 0.02, "frozen to 100 ms");
        assert_eq!(lose(&mut queue, 101), 0.04);
        assert_eq!(find_idle(&mut queue, 201, 900), 0.04, "frozen when the line fell idle");
        assert_eq!(find_idle(&mut queue, 901, 5_000), 0.038, "once, however long it was idle");
        assert_eq!(lose(&mut queue, 1_001), 0.038, "frozen since 901 ms");
        assert_eq!(lose(&mut queue, 1_002), 0.058);
    }

    #[test]
    fn the_probability_stays_between_zero_and_one() {
        let mut queue = blue(BlueParams { increment: 0.6, decrement: 0.9, ..BlueParams::default() });
        assert_eq!([0, 200, 400].map(|time| lose(&mut queue, time)), [0.6, 1.0, 1.0]);
        assert_eq!([600, 800, 1_000].map(|time| find_idle(&mut queue, time, time + 1)), [0.1, 0.0, 0.0]);
    }

    #[test]
    fn a_long_queue_counts_as_a_loss() {
        let mut queue =
            blue(BlueParams { threshold: Some(Limit::Packets(5)), ecn: true, increment: 1.0, ..BlueParams::default() });
        assert_eq!(queue.arrive(&capable(1_000), &arrival(at(0), 5)), Verdict::Take);
        assert_eq!(queue.arrive(&capable(1_000), &arrival(at(0), 6)), Verdict::Mark);
        assert_eq!(queue.arrive(&Packet::new(1_000), &arrival(at(0), 1)), Verdict::Drop(DropReason::Early));
    }
}
