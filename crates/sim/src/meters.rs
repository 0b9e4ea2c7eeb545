//! What is read off the link as the run goes: queue samples, throughput bins, packets past the monitor.
//!
//! The links know the future of the packets they accepted, or are woken when it is decided, so nothing here needs an event: each
//! meter is brought up to date before a link is, and reports in order of time.

use std::collections::VecDeque;

use flowloom_core::path::Link;
use flowloom_core::record::{PacketRecord, QueueSample, Record, Recorder, ThroughputBin, Traffic};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;

use crate::config::{Config, Monitored};

const SIDES: [LinkSide; 2] = [LinkSide::Left, LinkSide::Right];

/// Reads the queues at whole multiples of an interval, where a packet waits.
///
/// A sample does not see packets that arrive at its very instant, nor those whose transmission starts then.
#[derive(Debug)]
pub struct QueueSampler {
    every: Duration,
    next: Time,
}

impl QueueSampler {
    /// A sampler whose first instant is the origin.
    pub fn new(every: Duration) -> QueueSampler {
        QueueSampler { every, next: Time::ZERO }
    }

    /// Whether an instant has come by `now`.
    pub fn is_due(&self, now: Time) -> bool {
        self.next <= now
    }

    /// Takes the samples of `links`, which have these numbers and are a link and that back, up to and including `now`. To be
    /// called before a packet is offered, or a link woken, at `now`.
    ///
    /// # Errors
    /// The recorder's.
    pub fn advance<R: Recorder, const N: usize>(
        &mut self,
        now: Time,
        mut links: [(u16, &mut Link); N],
        recorder: &mut R,
    ) -> Result<(), R::Error> {
        while self.next <= now {
            let busy_until = links.iter().filter_map(|(_, link)| link.empty_at()).max();
            let Some(busy_until) = busy_until.filter(|&until| until > self.next) else {
                // Nothing waits from here to now, however long that is.
                self.next = Time::from_nanos(
                    (now.as_nanos() / self.every.as_nanos() + 1).saturating_mul(self.every.as_nanos()),
                );
                return Ok(());
            };
            let last = busy_until.min(now);
            while self.next <= last {
                for (from, (number, link)) in SIDES.into_iter().zip(links.iter_mut()) {
                    link.handle_timeout(self.next);
                    let backlog = link.backlog();
                    if backlog.packets > 0 {
                        let sample = QueueSample {
                            time: self.next,
                            link: *number,
                            from,
                            packets: backlog.packets,
                            bytes: backlog.bytes,
                        };
                        recorder.record(Record::Queue { sample: &sample })?;
                    }
                }
                self.next += self.every;
            }
        }
        Ok(())
    }
}

/// Sums traffic by time bins and reports each bin once it is over.
#[derive(Debug)]
pub struct ThroughputMeter {
    width: Duration,
    /// The numbers of the link and of that back.
    links: [u16; 2],
    /// Bins that are not over, by index, one list per direction.
    open: [VecDeque<Bin>; 2],
    /// When the first open bin is over.
    over: Time,
}

#[derive(Clone, Copy, Debug)]
struct Bin {
    start: Time,
    offered: Traffic,
    carried: Traffic,
}

impl ThroughputMeter {
    /// A meter of bins of `width`, above zero, at these links.
    pub fn new(width: Duration, links: [u16; 2]) -> ThroughputMeter {
        ThroughputMeter { width, links, open: Default::default(), over: Time::MAX }
    }

    /// Whether a bin is over at `now`.
    pub fn is_due(&self, now: Time) -> bool {
        self.over <= now
    }

    /// A packet reached the queue at `time`.
    pub fn offered(&mut self, from: LinkSide, time: Time, traffic: Traffic) {
        self.bin(from, time).offered.add(traffic);
    }

    /// A packet passes, or is going to pass, the monitor at `time`.
    pub fn carried(&mut self, from: LinkSide, time: Time, traffic: Traffic) {
        self.bin(from, time).carried.add(traffic);
    }

    /// Takes back a packet that would have passed at `time`, in a bin that is not over.
    pub fn not_carried(&mut self, from: LinkSide, time: Time, traffic: Traffic) {
        let carried = &mut self.bin(from, time).carried;
        carried.packets -= traffic.packets;
        carried.bytes -= traffic.bytes;
        carried.payload_bytes -= traffic.payload_bytes;
    }

    fn bin(&mut self, from: LinkSide, time: Time) -> &mut Bin {
        let (bins, width) = (&self.open[from as usize], self.width);
        let holds = |bin: &Bin| bin.start <= time && time < bin.start + width;
        // Packets arrive in the first open bin, and leave a queue that fills in the last one. There are many between them
        // while a long queue waits.
        let at = if bins.back().is_some_and(holds) {
            bins.len() - 1
        } else if bins.front().is_some_and(holds) {
            0
        } else {
            self.find_bin(from, time)
        };
        &mut self.open[from as usize][at]
    }

    /// Looks for the open bin of `time`, and opens it if there is none; its index.
    #[cold]
    fn find_bin(&mut self, from: LinkSide, time: Time) -> usize {
        let bins = &mut self.open[from as usize];
        let is_last = bins.back().is_none_or(|last| last.start <= time);
        let behind = if is_last { bins.len() } else { bins.partition_point(|bin| bin.start <= time) };
        if let Some(before) = behind.checked_sub(1)
            && time < bins[before].start + self.width
        {
            return before;
        }
        let start = Time::from_nanos(time.as_nanos() / self.width.as_nanos() * self.width.as_nanos());
        bins.insert(behind, Bin { start, offered: Traffic::default(), carried: Traffic::default() });
        self.over = self.over.min(start + self.width);
        behind
    }

    /// Reports the bins that are over at `now`, by time, left before right.
    ///
    /// # Errors
    /// The recorder's.
    pub fn advance<R: Recorder>(&mut self, now: Time, recorder: &mut R) -> Result<(), R::Error> {
        while self.over <= now {
            self.report_first(recorder)?;
        }
        Ok(())
    }

    /// Reports every open bin: the run is over.
    ///
    /// # Errors
    /// The recorder's.
    pub fn finish<R: Recorder>(&mut self, recorder: &mut R) -> Result<(), R::Error> {
        while self.open.iter().any(|bins| !bins.is_empty()) {
            self.report_first(recorder)?;
        }
        Ok(())
    }

    fn report_first<R: Recorder>(&mut self, recorder: &mut R) -> Result<(), R::Error> {
        let first = |bins: &[VecDeque<Bin>; 2]| bins.iter().filter_map(|bins| Some(bins.front()?.start)).min();
        let Some(start) = first(&self.open) else { return Ok(()) };
        for (from, bins) in SIDES.into_iter().zip(&mut self.open) {
            if let Some(&bin) = bins.front()
                && bin.start == start
            {
                bins.pop_front();
                if bin.offered == Traffic::default() && bin.carried == Traffic::default() {
                    continue;
                }
                let bin = ThroughputBin {
                    start,
                    width: self.width,
                    link: self.links[from as usize],
                    from,
                    offered: bin.offered,
                    carried: bin.carried,
                };
                recorder.record(Record::Throughput { bin: &bin })?;
            }
        }
        self.over = first(&self.open).map_or(Time::MAX, |start| start + self.width);
        Ok(())
    }
}

/// Hands packets to the recorder in the order they pass the monitor, for captures of a run.
#[derive(Debug)]
pub struct Tap {
    /// The numbers of the link and of that back.
    links: [u16; 2],
    /// Accepted packets that have not passed yet, by direction, with their order of acceptance.
    coming: [VecDeque<(u64, PacketRecord)>; 2],
}

impl Tap {
    /// A tap of these links.
    pub fn new(links: [u16; 2]) -> Tap {
        Tap { links, coming: Default::default() }
    }

    /// A packet of one direction was accepted, and will pass at its time.
    pub fn add(&mut self, from: LinkSide, order: u64, packet: PacketRecord) {
        self.coming[from as usize].push_back((order, packet));
    }

    /// Reports the packets that pass by `now`.
    ///
    /// # Errors
    /// The recorder's.
    pub fn advance<R: Recorder>(&mut self, now: Time, recorder: &mut R) -> Result<(), R::Error> {
        loop {
            let key = |side: usize| self.coming[side].front().map(|(order, packet)| (packet.time, *order));
            let side = match (key(0), key(1)) {
                (Some(left), Some(right)) => usize::from(right < left),
                (Some(_), None) => 0,
                (None, _) => 1,
            };
            match self.coming[side].front() {
                Some((_, packet)) if packet.time <= now => {
                    recorder.record(Record::Packet { link: self.links[side], packet })?;
                }
                _ => return Ok(()),
            }
            self.coming[side].pop_front();
        }
    }
}

/// What is measured at a link beside the bottleneck and at the link back, if there is one.
#[derive(Debug)]
pub struct Monitor {
    /// The two directions.
    pub links: Monitored,
    /// Their queues.
    pub sampler: QueueSampler,
    throughput: ThroughputMeter,
    /// Present if packets are recorded.
    tap: Option<Tap>,
    /// Accepted packets that have not passed yet, by direction: when they will.
    coming: [VecDeque<(Time, Traffic)>; 2],
    accepted: u64,
}

impl Monitor {
    /// Nothing measured yet.
    pub fn new(links: Monitored, config: &Config) -> Monitor {
        let numbers = [links.there.0, links.back.unwrap_or(links.there).0];
        Monitor {
            links,
            sampler: QueueSampler::new(config.queue_every),
            throughput: ThroughputMeter::new(config.throughput_every, numbers),
            tap: config.record_packets.then(|| Tap::new(numbers)),
            coming: Default::default(),
            accepted: 0,
        }
    }

    /// Whether packets are recorded.
    pub fn records_packets(&self) -> bool {
        self.tap.is_some()
    }

    /// A packet reached the queue at `now`.
    pub fn offered(&mut self, from: LinkSide, now: Time, traffic: Traffic) {
        self.throughput.offered(from, now, traffic);
    }

    /// A packet is going to pass at `time`. Those of a direction come in order.
    pub fn accepted(&mut self, from: LinkSide, time: Time, traffic: Traffic, packet: Option<PacketRecord>) {
        self.coming[from as usize].push_back((time, traffic));
        if let (Some(tap), Some(packet)) = (&mut self.tap, packet) {
            tap.add(from, self.accepted, packet);
        }
        self.accepted += 1;
    }

    /// Reports what has passed by `now`.
    ///
    /// # Errors
    /// The recorder's.
    pub fn advance<R: Recorder>(&mut self, now: Time, recorder: &mut R) -> Result<(), R::Error> {
        for (from, coming) in SIDES.into_iter().zip(&mut self.coming) {
            while let Some(&(time, traffic)) = coming.front().filter(|(time, _)| *time <= now) {
                coming.pop_front();
                self.throughput.carried(from, time, traffic);
            }
        }
        self.throughput.advance(now, recorder)?;
        self.tap.as_mut().map_or(Ok(()), |tap| tap.advance(now, recorder))
    }

    /// Reports every open bin: the run is over, and what has not passed will not.
    ///
    /// # Errors
    /// The recorder's.
    pub fn finish<R: Recorder>(&mut self, recorder: &mut R) -> Result<(), R::Error> {
        self.throughput.finish(recorder)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use flowloom_core::path::Offered;
    use flowloom_core::queue::{Discipline, Packet};
    use flowloom_core::rng::{Purpose, Stream};
    use flowloom_core::units::{Limit, Rate};
    use flowloom_core::workload::Side;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    #[derive(Debug, Default)]
    struct Kept {
        samples: Vec<QueueSample>,
        bins: Vec<ThroughputBin>,
        packets: Vec<PacketRecord>,
    }

    impl Recorder for Kept {
        type Error = Infallible;

        fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
            match record {
                Record::Queue { sample } => self.samples.push(*sample),
                Record::Throughput { bin } => self.bins.push(*bin),
                Record::Packet { packet, .. } => self.packets.push(*packet),
                other => unreachable!("meters record no {other:?}"),
            }
            Ok(())
        }
    }

    fn packet(time: Time, from: LinkSide, connection: u64) -> PacketRecord {
        PacketRecord {
            time,
            connection,
            sender: Side::Initiator,
            from,
            sequence: 0,
            acknowledgement: 0,
            flags: 0,
            window: 0,
            payload_bytes: 0,
            mss: None,
            window_scale: None,
            sack_permitted: false,
            timestamps: None,
            sack: [(0, 0); 3],
            ecn: flowloom_core::wire::Ecn::NotEct,
            ip_version: flowloom_core::workload::IpVersion::V4,
        }
    }

    fn numbered(links: &mut [Link; 2]) -> [(u16, &mut Link); 2] {
        let [there, back] = links;
        [(4, there), (5, back)]
    }

    /// Packets at a link: gap before, size, direction. Gaps reach far beyond any queue, so that the link also rests.
    fn offers() -> impl Strategy<Value = Vec<(u64, u32, bool)>> {
        let gap = prop_oneof![6 => 0..2_000_000u64, 1 => 0..50_000_000u64, 1 => Just(1_000_000_000_000u64)];
        prop::collection::vec((gap, 1..2_000u32, any::<bool>()), 1..150)
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(6), failure_persistence: None, ..ProptestConfig::default() })]

        /// Every meter against a slow computation from the times of all packets.
        #[test]
        fn meters_equal_what_the_packets_say(offers in offers(), every in 1_000_000u64..30_000_000, width in 100_000u64..5_000_000) {
            let rate = Rate::from_bits_per_second(10_000_000).unwrap();
            let make = || {
                let discipline = Discipline::DropTail(Limit::Packets(20));
                let queue = discipline.build(rate, Stream::new(1, Purpose::Queue, 0)).unwrap();
                Link::new(queue, rate, Duration::ZERO, Duration::from_secs(1))
            };
            let (every, width) = (Duration::from_nanos(every), Duration::from_nanos(width));
            let mut links = [make(), make()];
            let (mut sampler, mut meter, mut tap) = (QueueSampler::new(every), ThroughputMeter::new(width, [4, 5]), Tap::new([4, 5]));
            let mut kept = Kept::default();
            let mut now = Time::ZERO;
            let mut seen = Vec::new();
            for (order, &(gap, bytes, left)) in (0..).zip(&offers) {
                now += Duration::from_nanos(gap);
                let from = if left { LinkSide::Left } else { LinkSide::Right };
                let Ok(()) = sampler.advance(now, numbered(&mut links), &mut kept);
                let Ok(()) = meter.advance(now, &mut kept);
                let Ok(()) = tap.advance(now, &mut kept);
                let traffic = Traffic { packets: 1, bytes: u64::from(bytes), payload_bytes: 0 };
                meter.offered(from, now, traffic);
                let passage = match links[from as usize].offer(now, Packet::new(bytes)) {
                    Ok(Offered::Passes(passage)) => Some(passage),
                    Ok(Offered::Queued) => unreachable!("drop-tail decides at arrival"),
                    Err(_) => None,
                };
                if let Some(passage) = passage {
                    meter.carried(from, passage.departed, traffic);
                    tap.add(from, order, packet(passage.departed, from, order));
                }
                seen.push((now, from, traffic, passage));
            }
            let end = now + Duration::from_secs(1);
            let Ok(()) = sampler.advance(end, numbered(&mut links), &mut kept);
            let Ok(()) = tap.advance(end, &mut kept);
            let Ok(()) = meter.finish(&mut kept);

            let mut instants: Vec<_> = seen.iter().filter_map(|packet| packet.3.map(|passage| (packet.0, passage.started)))
                .flat_map(|(from, to)| {
                    let first = from.as_nanos() / every.as_nanos();
                    (first..=to.as_nanos() / every.as_nanos()).map(|k| k * every.as_nanos())
                })
                .collect();
            instants.sort_unstable();
            instants.dedup();
            let mut samples = Vec::new();
            for time in instants.into_iter().map(Time::from_nanos) {
                for from in SIDES {
                    let waiting = seen.iter().filter(|packet| {
                        packet.1 == from && packet.0 < time && packet.3.is_some_and(|passage| passage.started > time)
                    });
                    let (packets, bytes) = waiting.fold((0, 0), |sum, packet| (sum.0 + 1, sum.1 + packet.2.bytes));
                    if packets > 0 {
                        samples.push(QueueSample { time, link: 4 + from as u16, from, packets, bytes });
                    }
                }
            }
            prop_assert_eq!(kept.samples, samples);

            let mut bins: std::collections::BTreeMap<(u64, LinkSide), [Traffic; 2]> = Default::default();
            for (time, from, traffic, passage) in &seen {
                bins.entry((time.as_nanos() / width.as_nanos(), *from)).or_default()[0].add(*traffic);
                if let Some(passage) = passage {
                    bins.entry((passage.departed.as_nanos() / width.as_nanos(), *from)).or_default()[1].add(*traffic);
                }
            }
            let bins: Vec<_> = bins
                .into_iter()
                .map(|((index, from), [offered, carried])| {
                    let link = 4 + from as u16;
                    ThroughputBin { start: Time::ZERO + width * index, width, link, from, offered, carried }
                })
                .collect();
            prop_assert_eq!(kept.bins, bins);

            let mut packets: Vec<_> = (0..)
                .zip(&seen)
                .filter_map(|(order, packet)| Some((packet.3?.departed, order)))
                .collect();
            packets.sort_unstable();
            prop_assert_eq!(kept.packets.iter().map(|p| (p.time, p.connection)).collect::<Vec<_>>(), packets);
        }
    }

    #[test]
    fn a_cut_packet_is_taken_back_and_leaves_no_empty_bin() {
        let mut meter = ThroughputMeter::new(Duration::from_millis(1), [0, 1]);
        let mut kept = Kept::default();
        let traffic = Traffic { packets: 1, bytes: 100, payload_bytes: 46 };
        let late = Time::from_nanos(5_000_000);
        meter.offered(LinkSide::Left, Time::ZERO, traffic);
        meter.carried(LinkSide::Left, late, traffic);
        meter.not_carried(LinkSide::Left, late, traffic);
        let Ok(()) = meter.finish(&mut kept);
        assert_eq!(kept.bins.len(), 1);
        assert_eq!((kept.bins[0].offered, kept.bins[0].carried), (traffic, Traffic::default()));
    }
}
