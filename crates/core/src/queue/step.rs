//! Step marking: drop-tail that gives the ECN mark to packets while the instantaneous queue is above a threshold K (Alizadeh
//! et al. 2010, section 3.1; RFC 8257, section 3.1).
//!
//! The queue is measured as each discipline measures it, without the packet in transmission. At enqueue the arriving packet
//! counts: it is marked where drop-tail with the limit K would drop it. The packet in transmission and the arriving one offset
//! each other, so that a switch whose counter includes the former marks the same packets when it finds more than K. At dequeue
//! the packets left behind count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admission::{Admit, Arrival, Verdict};
use super::drop_tail::DropTail;
use super::packet::{Backlog, Packet};
use super::parameters::ParameterError;
use super::scheduler::{Lost, Queued, Serve};
use super::store::{Fifo, Store};
use crate::record::DropReason;
use crate::time::Time;
use crate::units::Limit;

/// When the queue is compared with the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepPoint {
    /// When a packet arrives; the packet itself counts.
    #[default]
    Enqueue,
    /// When a packet's transmission starts; the packets that it leaves behind count. The mark tells of a queue that is newer
    /// by the time that the packet waited.
    Dequeue,
}

/// Parameters of step marking. The default threshold is the one that Alizadeh et al. use at 1 Gbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepParams {
    /// What may wait at all.
    pub limit: Limit,
    /// ECN-capable packets are marked while the queue is longer than this.
    pub threshold: Limit,
    /// When the queue is compared with the threshold.
    pub at: StepPoint,
}

impl Default for StepParams {
    fn default() -> StepParams {
        StepParams { limit: Limit::Packets(65_000), threshold: Limit::Packets(20), at: StepPoint::Enqueue }
    }
}

impl StepParams {
    /// Checks that each parameter is possible, and that the queue can exceed the threshold.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn validate(&self) -> Result<(), ParameterError> {
        ParameterError::check_limit(self.limit)?;
        let (Limit::Packets(threshold) | Limit::Bytes(threshold)) = self.threshold;
        ParameterError::check_above_zero("threshold", threshold)?;
        let most = ParameterError::most_waiting(self.limit, self.threshold);
        let (most, problem) = match self.at {
            StepPoint::Enqueue => (most, "the queue never exceeds it"),
            StepPoint::Dequeue => (
                most.saturating_sub(ParameterError::least_packet(self.threshold)),
                "no packet leaves more than that behind",
            ),
        };
        if threshold < most {
            return Ok(());
        }
        let problem = format!("of {} is too short for threshold, which is {}: {problem}", self.limit, self.threshold);
        Err(ParameterError::new("limit", problem))
    }
}

/// Step marking at enqueue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepEnqueue {
    buffer: DropTail,
    threshold: Limit,
}

impl StepEnqueue {
    /// An empty queue of `params`, whatever their [`StepParams::at`].
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(params: StepParams) -> Result<StepEnqueue, ParameterError> {
        let StepParams { limit, threshold, .. } = params;
        StepParams { at: StepPoint::Enqueue, ..params }.validate()?;
        Ok(StepEnqueue { buffer: DropTail::new(limit), threshold })
    }
}

impl Admit for StepEnqueue {
    #[inline]
    fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict {
        match self.buffer.arrive(packet, arrival) {
            Verdict::Take if packet.ecn.is_capable() && !arrival.has_room(self.threshold, packet) => Verdict::Mark,
            verdict => verdict,
        }
    }
}

/// Step marking at dequeue.
#[derive(Debug)]
pub struct StepDequeue {
    limit: Limit,
    threshold: Limit,
    store: Store,
    fifo: Fifo,
}

impl StepDequeue {
    /// An empty queue of `params`, whatever their [`StepParams::at`].
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(params: StepParams) -> Result<StepDequeue, ParameterError> {
        let StepParams { limit, threshold, .. } = params;
        StepParams { at: StepPoint::Dequeue, ..params }.validate()?;
        Ok(StepDequeue { limit, threshold, store: Store::new(), fifo: Fifo::default() })
    }
}

impl Serve for StepDequeue {
    fn enqueue(&mut self, now: Time, packet: Packet, _lost: &mut Lost) -> Result<(), DropReason> {
        if !self.backlog().has_room(self.limit, packet.bytes) {
            return Err(DropReason::QueueFull);
        }
        self.store.push(&mut self.fifo, Queued { packet, arrived: now });
        Ok(())
    }

    fn dequeue(&mut self, _now: Time, _lost: &mut Lost) -> Option<Queued> {
        let mut queued = self.store.pop(&mut self.fifo)?;
        if self.backlog().exceeds(self.threshold) {
            // A packet that cannot carry the mark leaves as it is.
            queued.mark();
        }
        Some(queued)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{at, capable};
    use crate::wire::Ecn;

    const FULL: Verdict = Verdict::Drop(DropReason::QueueFull);

    fn params(limit: Limit, threshold: Limit, at: StepPoint) -> StepParams {
        StepParams { limit, threshold, at }
    }

    /// What becomes of `packet` that finds `waiting` packets and bytes on a busy line.
    fn verdict(limit: Limit, threshold: Limit, waiting: (u64, u64), packet: Packet) -> Verdict {
        let waiting = Backlog { packets: waiting.0, bytes: waiting.1 };
        let arrival = Arrival { now: Time::ZERO, start: Time::from_nanos(1), waiting, idle_since: None };
        StepEnqueue::new(params(limit, threshold, StepPoint::Enqueue)).unwrap().arrive(&packet, &arrival)
    }

    #[test]
    fn arrivals_beyond_k_packets_are_marked() {
        let of = |waiting, packet| verdict(Limit::Packets(6), Limit::Packets(3), (waiting, 100 * waiting), packet);
        let expected = [
            (0, Verdict::Take, Verdict::Take),
            (1, Verdict::Take, Verdict::Take),
            (2, Verdict::Take, Verdict::Take), // the third
            (3, Verdict::Mark, Verdict::Take), // the fourth
            (5, Verdict::Mark, Verdict::Take),
            (6, FULL, FULL),
        ];
        for (waiting, ect, not_ect) in expected {
            for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                assert_eq!(of(waiting, Packet { ecn, ..Packet::new(1_000) }), ect, "{waiting} wait, {ecn:?}");
            }
            assert_eq!(of(waiting, Packet::new(1_000)), not_ect, "{waiting} wait");
        }
    }

    #[test]
    fn arrivals_beyond_k_bytes_are_marked() {
        let of = |bytes, packet| verdict(Limit::Bytes(9_000), Limit::Bytes(5_000), (5, bytes), capable(packet));
        let taken = [(0, 1_500), (3_500, 1_500), (4_999, 1)].map(|(waiting, packet)| of(waiting, packet));
        assert_eq!(taken, [Verdict::Take; 3], "5,000 bytes are not above 5,000");
        let marked = [(3_501, 1_500), (4_961, 40), (5_000, 1), (7_500, 1_500)];
        assert_eq!(marked.map(|(waiting, packet)| of(waiting, packet)), [Verdict::Mark; 4]);
        assert_eq!(of(7_501, 1_500), FULL);
    }

    #[test]
    fn a_packet_that_need_not_wait_is_not_marked() {
        let waiting = Backlog::default();
        let free = Arrival { now: at(9), start: at(9), waiting, idle_since: Some(at(8)) };
        // 1,500 bytes are more than the threshold of 1,000, and no queue.
        let mut step = StepEnqueue::new(params(Limit::Bytes(9_000), Limit::Bytes(1_000), StepPoint::Enqueue)).unwrap();
        assert_eq!(step.arrive(&capable(1_500), &free), Verdict::Take);
        assert_eq!(step.arrive(&capable(1_500), &Arrival { start: at(10), ..free }), Verdict::Mark);
    }

    /// Offers packets of these sizes at once and takes all out; which of them leave with the mark.
    fn served(limit: Limit, threshold: Limit, packets: &[Packet]) -> Vec<bool> {
        let (mut step, mut lost) =
            (StepDequeue::new(params(limit, threshold, StepPoint::Dequeue)).unwrap(), Lost::default());
        packets.iter().for_each(|&packet| assert!(step.enqueue(at(0), packet, &mut lost).is_ok()));
        let full = step.enqueue(at(0), capable(1_500), &mut lost);
        assert_eq!(full, Err(DropReason::QueueFull));
        let marked = std::iter::from_fn(|| step.dequeue(at(1), &mut lost));
        let marked = marked.map(|queued| queued.packet.ecn.is_marked()).collect();
        assert_eq!(lost.drain().count(), 0);
        marked
    }

    #[test]
    fn departures_that_leave_more_than_k_are_marked() {
        // Six wait; they leave 5, 4, 3, 2, 1 and none behind.
        let six = [capable(1_000); 6];
        assert_eq!(served(Limit::Packets(6), Limit::Packets(3), &six), [true, true, false, false, false, false]);
        assert_eq!(served(Limit::Packets(6), Limit::Packets(1), &six), [true, true, true, true, false, false]);
        let mixed = [Packet::new(1_000), capable(1_000), capable(1_000), Packet::new(1_000)];
        assert_eq!(served(Limit::Packets(4), Limit::Packets(1), &mixed), [false, true, false, false]);
        // 4,500, 3,000 and 1,500 bytes, none.
        let bytes = [capable(500), capable(1_500), capable(1_500), capable(1_500)];
        assert_eq!(served(Limit::Bytes(5_000), Limit::Bytes(3_000), &bytes), [true, false, false, false]);
        assert_eq!(served(Limit::Bytes(5_000), Limit::Bytes(2_999), &bytes), [true, true, false, false]);
    }

    #[test]
    fn a_threshold_that_is_never_exceeded_is_refused() {
        use StepPoint::{Dequeue, Enqueue};
        let (packets, bytes) = (Limit::Packets, Limit::Bytes);
        for (limit, threshold, point, possible) in [
            (packets(41), packets(40), Enqueue, true),
            (packets(40), packets(40), Enqueue, false),
            (packets(42), packets(40), Dequeue, true),
            (packets(41), packets(40), Dequeue, false),
            (bytes(3_001), bytes(3_000), Enqueue, true),
            (bytes(3_000), bytes(3_000), Enqueue, false),
            // The smallest packet has 34 bytes: 14 of the link and 20 of IP.
            (bytes(3_035), bytes(3_000), Dequeue, true),
            (bytes(3_034), bytes(3_000), Dequeue, false),
            (bytes(3_400), packets(99), Enqueue, true),
            (bytes(3_399), packets(99), Enqueue, false),
            // The largest has 65,549.
            (packets(2), bytes(131_097), Enqueue, true),
            (packets(2), bytes(131_098), Enqueue, false),
            (packets(9), packets(0), Enqueue, false),
            (packets(0), packets(1), Enqueue, false),
        ] {
            let stated = params(limit, threshold, point);
            assert_eq!(stated.validate().is_ok(), possible, "{stated:?}: {:?}", stated.validate());
        }
        let message = params(packets(40), packets(40), Enqueue).validate().unwrap_err().to_string();
        assert_eq!(message, "limit of 40p is too short for threshold, which is 40p: the queue never exceeds it");
    }
}
