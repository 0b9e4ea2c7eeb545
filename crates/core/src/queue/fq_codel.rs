//! FQ-CoDel, flow queue CoDel (RFC 8290).

use std::collections::VecDeque;

use super::codel::{CodelParams, Controller};
use super::packet::{Backlog, Packet};
use super::parameters::{FULL_PACKET_BYTES, ParameterError};
use super::scheduler::{Lost, Queued, Serve};
use super::store::{Fifo, Store};
use crate::record::DropReason;
use crate::rng::Stream;
use crate::time::{Duration, Time};
use crate::units::Limit;

/// Parameters of [`FqCodel`]; defaults are those of RFC 8290, sections 5.2.1 to 5.2.6, and Linux's memory limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelParams {
    /// What may wait, all flows together.
    pub limit: Limit,
    /// The most bytes that may wait, beside `limit`.
    pub memory: u64,
    /// Queues that flows are hashed to.
    pub flows: u32,
    /// Bytes a queue may send in a turn.
    pub quantum: u32,
    /// See [`CodelParams::target`].
    pub target: Duration,
    /// See [`CodelParams::interval`].
    pub interval: Duration,
    /// See [`CodelParams::mtu`].
    pub mtu: u32,
    /// Marks instead of drops.
    pub ecn: bool,
    /// See [`CodelParams::ce_threshold`]; the wait in the flow's own queue counts.
    pub ce_threshold: Option<Duration>,
}

impl Default for FqCodelParams {
    fn default() -> FqCodelParams {
        let CodelParams { target, interval, mtu, .. } = CodelParams::default();
        FqCodelParams {
            limit: Limit::Packets(10_240),
            memory: 32 << 20,
            flows: 1_024,
            quantum: FULL_PACKET_BYTES,
            target,
            interval,
            mtu,
            ecn: true,
            ce_threshold: None,
        }
    }
}

/// Most packets dropped at once when there is no room (section 4.1).
const DROP_BATCH: u64 = 64;

/// Flows in turn, new ones first, each under CoDel of its own.
#[derive(Debug)]
pub struct FqCodel {
    codel: CodelParams,
    memory: u64,
    quantum: i64,
    /// Sets where flows are hashed to apart from other runs.
    perturbation: u64,
    store: Store,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

#[derive(Debug, Default)]
struct Flow {
    fifo: Fifo,
    codel: Controller,
    /// Bytes it may still send in this turn. None left is used up, as Linux has it.
    credit: i64,
    /// It is in one of the lists.
    listed: bool,
}

impl FqCodel {
    /// Empty queues.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(params: FqCodelParams, mut stream: Stream) -> Result<FqCodel, ParameterError> {
        let FqCodelParams { limit, target, interval, mtu, ecn, ce_threshold, .. } = params;
        let codel = CodelParams { limit, target, interval, mtu, ecn, ce_threshold };
        codel.validate()?;
        if params.memory < u64::from(FULL_PACKET_BYTES) {
            return Err(ParameterError::new("memory", "must hold at least one packet of 1514 bytes"));
        }
        ParameterError::check_above_zero("quantum", u64::from(params.quantum))?;
        if !(1..=1 << 20).contains(&params.flows) {
            return Err(ParameterError::new("flows", format!("of {} must be from 1 to 1048576", params.flows)));
        }
        Ok(FqCodel {
            codel,
            memory: params.memory,
            quantum: i64::from(params.quantum),
            perturbation: stream.bits64(),
            store: Store::new(),
            flows: (0..params.flows).map(|_| Flow::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
        })
    }

    /// The queue of a flow.
    fn bucket(&self, flow: u64) -> u32 {
        // The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the flow moves every bit of the hash.
        let mut hash = flow ^ self.perturbation;
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        (hash % self.flows.len() as u64) as u32
    }

    fn is_over(&self) -> bool {
        self.backlog().exceeds(self.codel.limit) || self.backlog().bytes > self.memory
    }

    /// Drops half of the packets of the queue with most bytes from its head, [`DROP_BATCH`] at most.
    fn drop_from_fattest(&mut self, lost: &mut Lost) {
        // The first of equals: max_by_key takes the last.
        let fattest = self.flows.iter_mut().rev().max_by_key(|flow| flow.fifo.backlog().bytes);
        let Some(Flow { fifo, .. }) = fattest else { return };
        for _ in 0..fifo.backlog().packets.div_ceil(2).min(DROP_BATCH) {
            if let Some(queued) = self.store.pop(fifo) {
                lost.push(queued.packet, DropReason::Overflow);
            }
        }
    }
}

impl Serve for FqCodel {
    fn enqueue(&mut self, now: Time, packet: Packet, lost: &mut Lost) -> Result<(), DropReason> {
        if !Backlog::default().has_room(self.codel.limit, packet.bytes) || u64::from(packet.bytes) > self.memory {
            return Err(DropReason::QueueFull);
        }
        let bucket = self.bucket(packet.flow);
        let flow = &mut self.flows[bucket as usize];
        self.store.push(&mut flow.fifo, Queued { packet, arrived: now });
        if !flow.listed {
            flow.listed = true;
            flow.credit = self.quantum;
            self.new.push_back(bucket);
        }
        while self.is_over() {
            self.drop_from_fattest(lost);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Time, lost: &mut Lost) -> Option<Queued> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let &bucket = list.front()?;
            let flow = &mut self.flows[bucket as usize];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                list.pop_front();
                self.old.push_back(bucket);
                continue;
            }
            if let Some(queued) = flow.codel.dequeue(now, &self.codel, &mut self.store, &mut flow.fifo, lost) {
                flow.credit -= i64::from(queued.packet.bytes);
                return Some(queued);
            }
            list.pop_front();
            if from_new {
                // Not forgotten at once, lest it be new again, and first, with its next packet.
                self.old.push_back(bucket);
            } else {
                flow.listed = false;
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{at, capable, served, stream};

    fn fq(params: FqCodelParams) -> FqCodel {
        FqCodel::new(params, stream()).unwrap()
    }

    /// Puts a packet of `flow` in at the origin.
    fn put(queue: &mut FqCodel, flow: u64, bytes: u32) {
        let tag = flow;
        let mut lost = Lost::default();
        assert!(queue.enqueue(at(0), Packet { flow, tag, ..Packet::new(bytes) }, &mut lost).is_ok());
        assert_eq!(lost.drain().count(), 0);
    }

    /// Flows 1 and 2, which two queues hold.
    fn apart(queue: &FqCodel) -> bool {
        queue.bucket(1) != queue.bucket(2) && queue.bucket(1) != queue.bucket(3) && queue.bucket(2) != queue.bucket(3)
    }

    #[test]
    fn flows_share_bytes_whatever_the_sizes_of_their_packets() {
        let mut queue = fq(FqCodelParams::default());
        assert!(apart(&queue));
        (0..1_000).for_each(|_| put(&mut queue, 1, 1_514));
        (0..8_000).for_each(|_| put(&mut queue, 2, 200));
        let (mut bytes, mut lost) = ([0u64; 3], Lost::default());
        for _ in 0..1_500 {
            let sent = queue.dequeue(at(1), &mut lost).unwrap().packet;
            bytes[sent.flow as usize] += u64::from(sent.bytes);
        }
        assert!(bytes[1].abs_diff(bytes[2]) <= 2 * 1_514, "{bytes:?}");
    }

    #[test]
    fn a_sparse_flow_goes_before_the_others_but_not_twice() {
        let mut queue = fq(FqCodelParams::default());
        (0..6).for_each(|_| put(&mut queue, 1, 1_500));
        let mut lost = Lost::default();
        let mut next = |queue: &mut FqCodel| queue.dequeue(at(1), &mut lost).unwrap().packet.flow;
        assert_eq!((next(&mut queue), next(&mut queue)), (1, 1), "alone");
        put(&mut queue, 2, 100);
        assert_eq!((next(&mut queue), next(&mut queue)), (2, 1), "new before old");
        put(&mut queue, 2, 100);
        assert_eq!(next(&mut queue), 2, "it is old now, and its turn");
        (0..30).for_each(|_| put(&mut queue, 2, 100));
        // 1,314 bytes are left of its quantum, which end within the 14th packet; then it is the other's turn.
        assert_eq!(served(&mut queue)[..16], [[2; 14].as_slice(), &[1, 2]].concat());
    }

    #[test]
    fn the_fattest_queue_makes_room() {
        let mut queue = fq(FqCodelParams { limit: Limit::Packets(20), ..FqCodelParams::default() });
        (0..5).for_each(|_| put(&mut queue, 1, 1_500));
        (0..15).for_each(|_| put(&mut queue, 2, 100));
        let mut lost = Lost::default();
        let packet = Packet { flow: 3, tag: 3, ..Packet::new(40) };
        assert!(queue.enqueue(at(0), packet, &mut lost).is_ok());
        let dropped: Vec<_> = lost.drain().map(|(packet, reason)| (packet.flow, reason)).collect();
        assert_eq!(dropped, [(1, DropReason::Overflow); 3], "half of the five, rounded up");
        assert_eq!(queue.backlog(), Backlog { packets: 18, bytes: 3_000 + 1_500 + 40 });
    }

    #[test]
    fn a_large_queue_loses_64_packets_at_once_and_memory_counts_too() {
        let mut queue = fq(FqCodelParams { memory: 300_000, ..FqCodelParams::default() });
        (0..200).for_each(|_| put(&mut queue, 1, 1_500));
        let mut lost = Lost::default();
        assert!(queue.enqueue(at(0), Packet { flow: 2, ..Packet::new(40) }, &mut lost).is_ok());
        assert_eq!(lost.drain().count(), 64);
    }

    #[test]
    fn each_flow_has_a_controller_of_its_own() {
        let mut queue = fq(FqCodelParams { ecn: false, ..FqCodelParams::default() });
        let mut lost = Lost::default();
        (0..2_000).for_each(|_| put(&mut queue, 1, 1_000));
        for millis in 1..=300 {
            // Flow 2 sends a packet each millisecond and it leaves before the next comes: no delay, no loss.
            let packet = Packet { flow: 2, tag: 2, ..Packet::new(1_000) };
            assert!(queue.enqueue(at(millis), packet, &mut lost).is_ok());
            assert!(queue.dequeue(at(millis), &mut lost).is_some() && queue.dequeue(at(millis), &mut lost).is_some());
        }
        let dropped: Vec<_> = lost.drain().map(|(packet, _)| packet.flow).collect();
        assert_eq!(dropped, [1, 1, 1], "at 105, 205 and 276 ms");
    }

    #[test]
    fn the_ce_threshold_is_about_the_wait_in_the_flow() {
        let ce_threshold = Some(Duration::from_millis(2));
        let mut queue = fq(FqCodelParams { ecn: false, ce_threshold, ..FqCodelParams::default() });
        let mut lost = Lost::default();
        let packet = |flow, tag| Packet { flow, tag, ..capable(1_500) };
        // Flow 1 has three packets from the origin on, flow 2 sends one at 2 ms and is served before the last of flow 1.
        (0..3).for_each(|tag| assert!(queue.enqueue(at(0), packet(1, tag), &mut lost).is_ok()));
        let mut next = |queue: &mut FqCodel, millis| {
            let Queued { packet, .. } = queue.dequeue(at(millis), &mut lost).unwrap();
            (packet.flow, packet.tag, packet.ecn.is_marked())
        };
        assert_eq!(next(&mut queue, 1), (1, 0, false));
        assert_eq!(next(&mut queue, 2), (1, 1, false), "2 ms are not more than 2 ms");
        assert!(queue.enqueue(at(2), packet(2, 3), &mut Lost::default()).is_ok());
        assert_eq!(next(&mut queue, 3), (2, 3, false), "it waited for 1 ms");
        assert_eq!(next(&mut queue, 4), (1, 2, true));
    }

    #[test]
    fn the_hash_spreads_flows_and_depends_on_the_seed() {
        let queue = fq(FqCodelParams::default());
        let mut counts = vec![0u32; 1_024];
        (0..102_400).for_each(|flow| counts[queue.bucket(flow) as usize] += 1);
        // 100 each, with a deviation of 10.
        assert!(counts.iter().all(|count| (50..160).contains(count)));
        let other = FqCodel::new(FqCodelParams::default(), Stream::new(2, crate::rng::Purpose::Queue, 0)).unwrap();
        assert!((0..100).filter(|&flow| queue.bucket(flow) == other.bucket(flow)).count() < 10);
    }
}
