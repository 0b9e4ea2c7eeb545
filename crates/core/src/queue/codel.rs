//! CoDel, controlled delay (RFC 8289).

use super::packet::{Backlog, Packet};
use super::parameters::{FULL_PACKET_BYTES, ParameterError};
use super::scheduler::{Lost, Queued, Serve};
use super::store::{Fifo, Store};
use crate::record::DropReason;
use crate::time::{Duration, Time};
use crate::units::Limit;

/// Parameters of [`Codel`]; defaults are those of RFC 8289, section 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelParams {
    /// What may wait at all.
    pub limit: Limit,
    /// The standing delay that is acceptable, TARGET.
    pub target: Duration,
    /// About the longest round-trip time, INTERVAL.
    pub interval: Duration,
    /// A queue of no more bytes is never dropped from.
    pub mtu: u32,
    /// Marks instead of drops.
    pub ecn: bool,
    /// ECN-capable packets that waited longer than this are marked as they leave, whatever the control law says and whatever
    /// `ecn` is: step marking by delay, as DCTCP wants it (`ce_threshold` of Linux).
    pub ce_threshold: Option<Duration>,
}

impl Default for CodelParams {
    fn default() -> CodelParams {
        CodelParams {
            limit: Limit::Packets(65_000),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: FULL_PACKET_BYTES,
            ecn: false,
            ce_threshold: None,
        }
    }
}

impl CodelParams {
    /// # Errors
    /// The first parameter that is wrong.
    pub fn validate(&self) -> Result<(), ParameterError> {
        ParameterError::check_limit(self.limit)?;
        ParameterError::check_above_zero("target", self.target.as_nanos())?;
        if self.target >= self.interval {
            let problem = format!("of {} must be below interval of {}", self.target, self.interval);
            return Err(ParameterError::new("target", problem));
        }
        ParameterError::check_above_zero("ce-threshold", self.ce_threshold.map_or(1, Duration::as_nanos))
    }
}

/// First in, first out; while the delay stays above the target, packets are dropped at the head at a rate that grows with the
/// square root of their number.
#[derive(Debug)]
pub struct Codel {
    params: CodelParams,
    store: Store,
    fifo: Fifo,
    controller: Controller,
}

impl Codel {
    /// An empty queue.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(params: CodelParams) -> Result<Codel, ParameterError> {
        params.validate()?;
        Ok(Codel { params, store: Store::new(), fifo: Fifo::default(), controller: Controller::default() })
    }
}

impl Serve for Codel {
    fn enqueue(&mut self, now: Time, packet: Packet, _lost: &mut Lost) -> Result<(), DropReason> {
        if !self.backlog().has_room(self.params.limit, packet.bytes) {
            return Err(DropReason::QueueFull);
        }
        self.store.push(&mut self.fifo, Queued { packet, arrived: now });
        Ok(())
    }

    fn dequeue(&mut self, now: Time, lost: &mut Lost) -> Option<Queued> {
        self.controller.dequeue(now, &self.params, &mut self.store, &mut self.fifo, lost)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

/// The state of CoDel for one queue: RFC 8289, section 5, under its names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Controller {
    /// When the delay will have been above the target for an interval, if it is above.
    first_above: Option<Time>,
    /// Drops since dropping began.
    count: u32,
    /// What `count` was when it began last.
    last_count: u32,
    dropping: bool,
    drop_next: Time,
}

/// A packet taken from the head, and whether the delay has been too long for long enough.
struct Head {
    queued: Queued,
    ok_to_drop: bool,
}

impl Controller {
    /// Takes the next packet to be sent out of `fifo`, drops or marks what the control law asks for, and marks a packet that
    /// waited longer than `ce_threshold`. The control law takes no notice of that mark.
    pub fn dequeue(
        &mut self,
        now: Time,
        params: &CodelParams,
        store: &mut Store,
        fifo: &mut Fifo,
        lost: &mut Lost,
    ) -> Option<Queued> {
        let mut queued = self.obey_law(now, params, store, fifo, lost)?;
        if params.ce_threshold.is_some_and(|threshold| now.since(queued.arrived) > threshold) {
            queued.mark();
        }
        Some(queued)
    }

    /// Takes the next packet to be sent out of `fifo`, and drops or marks what the control law asks for.
    fn obey_law(
        &mut self,
        now: Time,
        params: &CodelParams,
        store: &mut Store,
        fifo: &mut Fifo,
        lost: &mut Lost,
    ) -> Option<Queued> {
        let mut head = self.take(now, params, store, fifo);
        if self.dropping {
            // The delay went below the target, or the queue is empty.
            self.dropping = head.as_ref().is_some_and(|head| head.ok_to_drop);
            while self.dropping
                && now >= self.drop_next
                && let Some(Head { mut queued, .. }) = head
            {
                self.count = self.count.saturating_add(1);
                if params.ecn && queued.mark() {
                    self.drop_next = self.control_law(self.drop_next, params);
                    return Some(queued);
                }
                lost.push(queued.packet, DropReason::Early);
                head = self.take(now, params, store, fifo);
                self.dropping = head.as_ref().is_some_and(|head| head.ok_to_drop);
                if self.dropping {
                    self.drop_next = self.control_law(self.drop_next, params);
                }
            }
        } else if let Some(Head { mut queued, ok_to_drop: true }) = head {
            let marked = params.ecn && queued.mark();
            if marked {
                head = Some(Head { queued, ok_to_drop: true });
            } else {
                lost.push(queued.packet, DropReason::Early);
                head = self.take(now, params, store, fifo);
            }
            self.dropping = true;
            // If dropping ended a short while ago, it goes on about where it was.
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now.since(self.drop_next) < params.interval * 16;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next = self.control_law(now, params);
        }
        head.map(|head| head.queued)
    }

    /// The time of the drop after one at `time`.
    fn control_law(&self, time: Time, params: &CodelParams) -> Time {
        let nanos = params.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count));
        time + Duration::from_nanos(libm::round(nanos) as u64)
    }

    fn take(&mut self, now: Time, params: &CodelParams, store: &mut Store, fifo: &mut Fifo) -> Option<Head> {
        let Some(queued) = store.pop(fifo) else {
            self.first_above = None;
            return None;
        };
        let mut ok_to_drop = false;
        if now.since(queued.arrived) < params.target || fifo.backlog().bytes <= u64::from(params.mtu) {
            self.first_above = None;
        } else {
            match self.first_above {
                None => self.first_above = Some(now + params.interval),
                Some(first_above) => ok_to_drop = now >= first_above,
            }
        }
        Some(Head { queued, ok_to_drop })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{at, capable};

    /// A queue of 1,000 packets that all arrived at the origin.
    fn standing(params: CodelParams, packet: Packet) -> (Codel, Lost) {
        let (mut queue, mut lost) = (Codel::new(params).unwrap(), Lost::default());
        (0..1_000).for_each(|tag| assert!(queue.enqueue(at(0), Packet { tag, ..packet }, &mut lost).is_ok()));
        (queue, lost)
    }

    /// The milliseconds at which packets are lost or marked if the line takes one each millisecond from `from` to `to`.
    fn signals(queue: &mut Codel, lost: &mut Lost, from: u64, to: u64) -> Vec<u64> {
        let mut signals = Vec::new();
        for millis in from..=to {
            let sent = queue.dequeue(at(millis), lost).unwrap();
            let dropped = lost.drain().inspect(|&(_, reason)| assert_eq!(reason, DropReason::Early)).count();
            assert!(dropped <= 1);
            if dropped == 1 || sent.packet.ecn.is_marked() {
                signals.push(millis);
            }
        }
        signals
    }

    /// The delay reaches 5 ms at 5 ms and has been above for an interval at 105 ms. The next drops follow after 100 ms /
    /// sqrt(1), sqrt(2), sqrt(3) ..., each rounded up to the next packet here.
    const INSTANTS: [u64; 12] = [105, 205, 276, 334, 384, 429, 469, 507, 543, 576, 608, 638];

    #[test]
    fn a_standing_queue_is_dropped_from_at_the_instants_of_the_control_law() {
        let (mut queue, mut lost) = standing(CodelParams::default(), Packet::new(1_000));
        assert_eq!(signals(&mut queue, &mut lost, 1, 650), INSTANTS);
        // The law counts on from the scheduled instants, not from those of the packets.
        assert_eq!((queue.controller.count, queue.controller.drop_next), (12, Time::from_nanos(666_118_437)));
    }

    #[test]
    fn marks_come_at_the_same_instants_and_lose_nothing() {
        let params = CodelParams { ecn: true, ..CodelParams::default() };
        let (mut queue, mut lost) = standing(params, capable(1_000));
        assert_eq!(signals(&mut queue, &mut lost, 1, 650), INSTANTS);
        assert_eq!(queue.backlog().packets, 350);
        let (mut queue, mut lost) = standing(params, Packet::new(1_000));
        assert_eq!(signals(&mut queue, &mut lost, 1, 650), INSTANTS);
        assert_eq!(queue.backlog().packets, 350 - 12);
    }

    #[test]
    fn dropping_stops_with_the_delay_and_resumes_where_it_was() {
        let (mut queue, mut lost) = standing(CodelParams::default(), Packet::new(1_000));
        signals(&mut queue, &mut lost, 1, 450);
        assert_eq!((queue.controller.count, queue.controller.dropping), (6, true));
        while queue.store.pop(&mut queue.fifo).is_some() {}
        assert!(queue.dequeue(at(450), &mut lost).is_none() && !queue.controller.dropping);
        // A new queue whose delay is too long for an interval: six drops, one of them the first of the last time.
        (0..500).for_each(|_| assert!(queue.enqueue(at(500), Packet::new(1_000), &mut lost).is_ok()));
        let seen = signals(&mut queue, &mut lost, 501, 660);
        assert_eq!(seen, [605, 650], "100 ms / sqrt(5) after the first");
        // Much later it begins anew.
        while queue.store.pop(&mut queue.fifo).is_some() {}
        assert!(queue.dequeue(at(661), &mut lost).is_none());
        (0..500).for_each(|_| assert!(queue.enqueue(at(9_000), Packet::new(1_000), &mut lost).is_ok()));
        assert_eq!(signals(&mut queue, &mut lost, 9_001, 9_206), [9_105, 9_205]);
    }

    #[test]
    fn a_queue_of_one_packet_is_never_dropped_from() {
        let (mut queue, mut lost) = (Codel::new(CodelParams::default()).unwrap(), Lost::default());
        // Behind each packet sent 1,514 bytes wait, for a second.
        assert!(queue.enqueue(at(0), Packet::new(1_514), &mut lost).is_ok());
        for second in 1..100 {
            assert!(queue.enqueue(at(1_000 * (second - 1) + 1), Packet::new(1_514), &mut lost).is_ok());
            assert!(queue.dequeue(at(1_000 * second), &mut lost).is_some());
        }
        assert_eq!((lost.drain().count(), queue.backlog().packets), (0, 1));
    }

    /// Which of packets that leave after so many milliseconds are marked. They arrive at the origin, the first not ECN-capable.
    fn marked_after(params: CodelParams, leave: &[u64]) -> Vec<(u64, bool)> {
        let (mut queue, mut lost) = (Codel::new(params).unwrap(), Lost::default());
        for tag in 0..leave.len() as u64 {
            let packet = if tag == 0 { Packet::new(1_000) } else { capable(1_000) };
            assert!(queue.enqueue(at(0), Packet { tag, ..packet }, &mut lost).is_ok());
        }
        let left = leave.iter().filter_map(|&millis| queue.dequeue(at(millis), &mut lost));
        let left = left.map(|queued| (queued.packet.tag, queued.packet.ecn.is_marked())).collect();
        assert_eq!(lost.drain().count(), 0);
        left
    }

    #[test]
    fn a_wait_beyond_the_ce_threshold_is_marked() {
        let threshold =
            |millis| CodelParams { ce_threshold: Some(Duration::from_millis(millis)), ..CodelParams::default() };
        // Within the first interval the control law does nothing; `ecn` is off, and does not matter.
        let expected = [(0, false), (1, false), (2, false), (3, true), (4, true)];
        assert_eq!(marked_after(threshold(3), &[9, 2, 3, 4, 5]), expected);
        assert_eq!(marked_after(CodelParams { ecn: true, ..threshold(3) }, &[9, 2, 3, 4, 5]), expected);
        // Neither the target of 5 ms nor the guard of one packet holds it back.
        assert_eq!(marked_after(threshold(1), &[2, 2]), [(0, false), (1, true)]);
        assert!(marked_after(CodelParams::default(), &[9, 2, 30, 90]).iter().all(|(_, marked)| !marked));
    }

    #[test]
    fn the_ce_threshold_leaves_the_law_alone() {
        let drops = |ce_threshold| {
            let params = CodelParams { ce_threshold, ..CodelParams::default() };
            let (mut queue, mut lost) = standing(params, capable(1_000));
            let marked = (1..=300).filter_map(|millis| queue.dequeue(at(millis), &mut lost));
            let marked = marked.filter(|queued| queued.packet.ecn.is_marked()).count();
            (marked, lost.drain().map(|(packet, _)| packet.tag).collect::<Vec<_>>())
        };
        // Dropped at 105, 205 and 276 ms; what left within 3 ms is not marked.
        assert_eq!(drops(None), (0, vec![104, 205, 277]));
        assert_eq!(drops(Some(Duration::from_millis(3))), (297, vec![104, 205, 277]));
    }

    #[test]
    fn a_full_queue_drops_what_arrives() {
        let (mut queue, mut lost) =
            (Codel::new(CodelParams { limit: Limit::Packets(1), ..CodelParams::default() }).unwrap(), Lost::default());
        assert!(queue.enqueue(at(0), Packet::new(1), &mut lost).is_ok());
        assert_eq!(queue.enqueue(at(0), Packet::new(1), &mut lost), Err(DropReason::QueueFull));
    }
}
