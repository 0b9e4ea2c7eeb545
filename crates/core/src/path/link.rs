//! A link: a queue, a transmitter and propagation, kept as three separate things.

use std::collections::VecDeque;

use super::cells::{CellParams, Cells};
use super::link_statistics::LinkStatistics;
use super::passage::{LinkEvent, Offered, Passage};
use super::transmitter::{Line, Transmitter};
use crate::queue::{Admission, Admit, Arrival, Backlog, Lost, Packet, Queue, Scheduler, Serve, Verdict};
use crate::record::DropReason;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// One direction of a link.
///
/// What happens to a packet is told in one of two ways, by the kind of the discipline (see [`crate::queue`]):
///
/// - A discipline that decides at arrival serves in order of arrival, so everything that will happen to a packet is known
///   the moment it is offered: [`Link::offer`] answers with its passage. Nobody has to wake the link; its deadlines only
///   say when [`Link::backlog`] would change.
/// - A discipline that decides at departure, and a link of cells, answer that the packet is queued. What became of the waiting packets is told by
///   [`Link::poll`], to be called after every [`Link::offer`] and [`Link::handle_timeout`] until it returns nothing. While
///   packets wait the link asks to be woken once per packet, or once per cell, when the line will be free. A packet that finds
///   the line free starts at once, without a wake-up.
///
/// Times given to [`Link::offer`] and [`Link::handle_timeout`] must not decrease. Waking early, late or twice changes
/// nothing: what is due happens as of its time. Transmission is exact: while the link is busy a packet starts when the one
/// before it ends, to the fraction of a nanosecond, however late it is looked at.
#[derive(Debug)]
pub struct Link {
    transmitter: Transmitter,
    propagation: Duration,
    /// When the last bit of the packet last transmitted, or last known to be, leaves the line.
    free: Time,
    holding: Holding,
    statistics: LinkStatistics,
}

/// Discipline and waiting packets.
#[derive(Debug)]
enum Holding {
    Arrival {
        admission: Admission,
        /// Packets that wait, in order, by the time their transmission starts.
        waiting: VecDeque<Waiting>,
        backlog: Backlog,
    },
    Departure {
        scheduler: Scheduler,
        /// When the next packet is taken from the queue, if one waits.
        due: Option<Time>,
        /// When the backlog changed last.
        changed: Time,
        /// What [`Link::poll`] has not told yet.
        said: VecDeque<LinkEvent>,
        /// Always empty between calls; kept for its memory.
        lost: Lost,
    },
    Cells(Box<Cells>),
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: Time,
    bytes: u32,
}

impl Link {
    /// An idle link of a constant rate. Its statistics cover `[0, window)`.
    pub fn new(queue: Queue, rate: Rate, propagation: Duration, window: Duration) -> Link {
        Link::through(queue, Transmitter::Line(Line::new(rate)), propagation, [Time::ZERO, Time::ZERO + window])
    }

    /// An idle link whose packets `transmitter` sends, which has sent none. Its statistics cover `[start, end)` of `window`.
    pub fn through(queue: Queue, transmitter: Transmitter, propagation: Duration, window: [Time; 2]) -> Link {
        let holding = match queue {
            Queue::Arrival(admission) => {
                Holding::Arrival { admission, waiting: VecDeque::new(), backlog: Backlog::default() }
            }
            Queue::Departure(scheduler) => Holding::Departure {
                scheduler,
                due: None,
                changed: Time::ZERO,
                said: VecDeque::new(),
                lost: Lost::default(),
            },
        };
        Link { transmitter, propagation, free: Time::ZERO, holding, statistics: LinkStatistics::new(window) }
    }

    /// The same for a link that carries packets in cells.
    pub fn of_cells(params: CellParams, transmitter: Transmitter, propagation: Duration, window: [Time; 2]) -> Link {
        let holding = Holding::Cells(Box::new(Cells::new(params)));
        Link { transmitter, propagation, free: Time::ZERO, holding, statistics: LinkStatistics::new(window) }
    }

    /// Propagation delay.
    pub const fn propagation(&self) -> Duration {
        self.propagation
    }

    /// Whether [`Link::offer`] tells everything, so that nobody has to wake or poll the link.
    pub const fn decides_at_arrival(&self) -> bool {
        matches!(self.holding, Holding::Arrival { .. })
    }

    /// A packet reaches the link at `now`.
    ///
    /// # Errors
    /// Why it was dropped.
    ///
    /// # Panics
    /// If a user's own discipline breaks a rule of [`Serve::dequeue`].
    pub fn offer(&mut self, now: Time, packet: Packet) -> Result<Offered, DropReason> {
        self.handle_timeout(now);
        match &mut self.holding {
            Holding::Arrival { admission, waiting, backlog } => {
                let start = self.transmitter.start(now, packet.bytes);
                let idle_since = (now > self.free).then_some(self.free);
                let arrival = Arrival { now, start, waiting: *backlog, idle_since };
                let marked = match admission.arrive(&packet, &arrival) {
                    Verdict::Take => false,
                    Verdict::Mark => true,
                    Verdict::Drop(reason) => return Err(reason),
                };
                if start > now {
                    backlog.add(packet.bytes);
                    waiting.push_back(Waiting { start, bytes: packet.bytes });
                    self.statistics.wait(now, start, packet.bytes, *backlog);
                }
                let departed = self.transmitter.transmit(now, packet.bytes);
                self.free = departed;
                self.statistics.transmit(start, departed, packet.bytes);
                let arrived = departed + self.propagation;
                Ok(Offered::Passes(Passage { started: start, departed, arrived, marked }))
            }
            Holding::Departure { scheduler, due, changed, said, lost } => {
                self.statistics.hold(*changed, now, scheduler.backlog());
                *changed = now;
                let taken = scheduler.enqueue(now, packet, lost);
                said.extend(lost.drain().map(|(packet, reason)| LinkEvent::Dropped { packet, time: now, reason }));
                if scheduler.backlog().packets == 0 {
                    *due = None;
                } else if due.is_none() {
                    *due = Some(self.transmitter.start(now, 0));
                }
                self.serve(now);
                self.statistics.peak(now, self.backlog());
                taken.map(|()| Offered::Queued)
            }
            Holding::Cells(cells) => {
                cells.offer(now, packet, &mut self.statistics);
                self.send_cells(now);
                // What leaves at once has not waited.
                self.statistics.peak(now, self.backlog());
                Ok(Offered::Queued)
            }
        }
    }

    /// Lets the packets go whose transmission is due to start by `now`.
    ///
    /// # Panics
    /// As [`Link::offer`].
    #[inline]
    pub fn handle_timeout(&mut self, now: Time) {
        match &mut self.holding {
            Holding::Arrival { admission, waiting, backlog } => {
                let keeps_time = admission.keeps_time();
                while let Some(&head) = waiting.front()
                    && head.start <= now
                {
                    if keeps_time {
                        // What is due at the very instant of a start finds the packet gone.
                        admission.advance(head.start.before(Duration::from_nanos(1)), *backlog);
                    }
                    waiting.pop_front();
                    backlog.remove(head.bytes);
                    if keeps_time {
                        admission.start(head.start, head.bytes, *backlog);
                    }
                }
                if keeps_time {
                    admission.advance(now, *backlog);
                }
            }
            Holding::Departure { .. } => self.serve(now),
            Holding::Cells(_) => self.send_cells(now),
        }
    }

    /// Lets all happen that is due by `now` in a link of cells.
    #[inline(never)]
    fn send_cells(&mut self, now: Time) {
        let Holding::Cells(cells) = &mut self.holding else { return };
        cells.advance(now, &mut self.transmitter, self.propagation, &mut self.statistics);
        self.free = cells.free();
    }

    /// Takes packets from a queue that decides at departure while the line is free by `now`.
    fn serve(&mut self, now: Time) {
        let Holding::Departure { scheduler, due, changed, said, lost } = &mut self.holding else { return };
        while let Some(at) = *due
            && at <= now
        {
            self.statistics.hold(*changed, at, scheduler.backlog());
            *changed = at;
            let next = scheduler.dequeue(at, lost);
            said.extend(lost.drain().map(|(packet, reason)| LinkEvent::Dropped { packet, time: at, reason }));
            let left = scheduler.backlog().packets;
            let Some(next) = next else {
                assert!(left == 0, "the discipline keeps {left} packets while the line is free: {scheduler:?}");
                *due = None;
                return;
            };
            // A shaper may still hold the packet until it has tokens for its size.
            let started = self.transmitter.start(at, next.packet.bytes);
            let departed = self.transmitter.transmit(at, next.packet.bytes);
            self.free = departed;
            self.statistics.transmit(started, departed, next.packet.bytes);
            let marked = next.packet.ecn.is_marked();
            let passage = Passage { started, departed, arrived: departed + self.propagation, marked };
            said.push_back(LinkEvent::Started { packet: next.packet, passage });
            *due = (left > 0).then(|| self.transmitter.start(departed, 0));
        }
    }

    /// What became of a packet that was queued, in order of time.
    pub fn poll(&mut self) -> Option<LinkEvent> {
        match &mut self.holding {
            Holding::Arrival { .. } => None,
            Holding::Departure { said, .. } => said.pop_front(),
            Holding::Cells(cells) => cells.poll(),
        }
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Time> {
        match &self.holding {
            Holding::Arrival { waiting, .. } => waiting.front().map(|head| head.start),
            Holding::Departure { due, .. } => *due,
            Holding::Cells(cells) => cells.next_timeout(&self.transmitter),
        }
    }

    /// What waits as of the last [`Self::offer`] or [`Self::handle_timeout`].
    pub fn backlog(&self) -> Backlog {
        match &self.holding {
            Holding::Arrival { backlog, .. } => *backlog,
            Holding::Departure { scheduler, .. } => scheduler.backlog(),
            Holding::Cells(cells) => cells.backlog(),
        }
    }

    /// What waits at `now`, not before the last [`Self::offer`] or [`Self::handle_timeout`], if nothing comes until then. Nothing changes. A
    /// discipline that decides at departure has as much as after the last of these calls.
    pub fn backlog_at(&self, now: Time) -> Backlog {
        match &self.holding {
            Holding::Arrival { waiting, backlog, .. } => {
                let mut left = *backlog;
                let gone = waiting.iter().take_while(|packet| packet.start <= now);
                gone.for_each(|packet| left.remove(packet.bytes));
                left
            }
            Holding::Departure { scheduler, .. } => scheduler.backlog(),
            Holding::Cells(cells) => cells.backlog(),
        }
    }

    /// Whether a packet is being transmitted at `now`, which is not before the last offer.
    pub fn is_transmitting(&self, now: Time) -> bool {
        self.free > now
    }

    /// Until when packets wait, if no more come; [`Time::MAX`] where that is not known, `None` if none waits.
    pub fn empty_at(&self) -> Option<Time> {
        match &self.holding {
            Holding::Arrival { waiting, .. } => waiting.back().map(|last| last.start),
            Holding::Departure { due, .. } => due.map(|_| Time::MAX),
            Holding::Cells(cells) => (cells.backlog().packets > 0).then_some(Time::MAX),
        }
    }

    /// Ends the statistics at `end`, not before the last offer: what was counted ahead of it is taken back, and the
    /// window ends there if it would end later.
    pub fn end_statistics(&mut self, end: Time) {
        self.handle_timeout(end);
        match &mut self.holding {
            Holding::Arrival { waiting, .. } => {
                waiting.iter().for_each(|packet| self.statistics.wait_less(end, packet.start, packet.bytes));
            }
            Holding::Departure { scheduler, changed, .. } => {
                self.statistics.hold(*changed, end, scheduler.backlog());
                *changed = end;
            }
            Holding::Cells(cells) => cells.end(end, &mut self.statistics),
        }
        self.statistics.end(end, self.free, |from, to| self.transmitter.room(from, to));
    }

    /// What was measured so far: as if no more packets came where the queue decides at arrival, up to the last change of
    /// the queue where it decides at departure.
    pub const fn statistics(&self) -> &LinkStatistics {
        &self.statistics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Schedule, Trace};
    use crate::queue::{Discipline, Lost, ParameterError, Queued};
    use crate::rng::{Purpose, Stream};
    use crate::units::Limit;

    fn link(bits_per_second: u64, propagation: Duration, limit: Limit) -> Link {
        let rate = Rate::from_bits_per_second(bits_per_second).unwrap();
        Link::new(queue(&Discipline::DropTail(limit)), rate, propagation, Duration::from_secs(1))
    }

    fn queue(discipline: &Discipline) -> Queue {
        discipline.build(Rate::UNLIMITED, Stream::new(1, Purpose::Queue, 0)).unwrap()
    }

    #[test]
    fn a_look_at_the_queue_shows_what_a_wake_up_would_leave() {
        let mut link = link(8_000_000, Duration::ZERO, Limit::Packets(100));
        assert!((0..5).all(|_| pass(&mut link, Time::ZERO, 1_000).is_ok()));
        for micros in [0, 999, 1_000, 2_500, 9_000] {
            let now = Time::ZERO + Duration::from_micros(micros);
            let (seen, before) = (link.backlog_at(now), link.backlog());
            assert_eq!(before, link.backlog(), "nothing changed");
            link.handle_timeout(now);
            assert_eq!(seen, link.backlog(), "{micros}");
        }
    }

    /// Offers a packet of `bytes` to a link that decides at arrival.
    fn pass(link: &mut Link, now: Time, bytes: u32) -> Result<Passage, DropReason> {
        link.offer(now, Packet::new(bytes)).map(|offered| match offered {
            Offered::Passes(passage) => passage,
            Offered::Queued => panic!("it decides at arrival"),
        })
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn single_packet_takes_its_size_over_the_rate_and_the_propagation() {
        // 1,250 bytes at 10 Mbit/s take 1 ms.
        let mut link = link(10_000_000, Duration::from_millis(7), Limit::Packets(0));
        let passage = pass(&mut link, at(5_000), 1_250).unwrap();
        assert_eq!(passage, Passage { started: at(5_000), departed: at(6_000), arrived: at(13_000), marked: false });
    }

    #[test]
    fn packets_in_transmission_do_not_count_against_the_limit() {
        let mut link = link(10_000_000, Duration::ZERO, Limit::Packets(1));
        assert_eq!(pass(&mut link, at(0), 1_250).unwrap().departed, at(1_000));
        assert_eq!(pass(&mut link, at(0), 1_250).unwrap().departed, at(2_000));
        assert_eq!(pass(&mut link, at(999), 1_250), Err(DropReason::QueueFull));
        assert_eq!(pass(&mut link, at(1_000), 1_250).unwrap().departed, at(3_000), "the second one has just started");
        assert_eq!(link.backlog().packets, 1);
    }

    #[test]
    fn queue_statistics_are_exact() {
        let mut link = link(10_000_000, Duration::ZERO, Limit::Packets(10));
        // Arrivals at 0, 0, 0: waits of 0, 1, 2 ms. Idle until 10 ms; then two more: waits 0, 1 ms.
        for time in [0, 0, 0, 10_000, 10_000] {
            pass(&mut link, at(time), 1_250).unwrap();
        }
        let seen = link.statistics();
        assert_eq!(seen.mean_packets(), 0.004, "4 packet milliseconds in a window of 1 s");
        assert_eq!(seen.mean_bytes(), 5.0);
        assert_eq!(seen.max(), Backlog { packets: 2, bytes: 2_500 });
        assert!((seen.empty_share() - 0.997).abs() < 1e-12);
        assert_eq!(seen.utilisation(), 0.005);
    }

    #[test]
    fn statistics_end_with_the_window() {
        let mut link = link(8_000, Duration::ZERO, Limit::Packets(10));
        // 500 bytes take 0.5 s: the third waits from 0.25 s to 1 s, the fourth from 0.25 s to 1.5 s.
        pass(&mut link, at(0), 500).unwrap();
        pass(&mut link, at(0), 500).unwrap();
        pass(&mut link, at(250_000), 500).unwrap();
        pass(&mut link, at(250_000), 500).unwrap();
        pass(&mut link, at(1_200_000), 500).unwrap();
        let seen = link.statistics();
        assert_eq!(seen.mean_packets(), 0.5 + 0.75 + 0.75);
        assert_eq!(seen.utilisation(), 1.0);
        assert_eq!(seen.empty_share(), 0.0);
    }

    #[test]
    fn statistics_begin_with_the_window() {
        // As above; what waits at 0.4 s counts, though it came before.
        let rate = Transmitter::Line(Line::new("8kbit".parse().unwrap()));
        let discipline = Discipline::DropTail(Limit::Packets(10));
        let mut link = Link::through(queue(&discipline), rate, Duration::ZERO, [at(400_000), at(900_000)]);
        for micros in [0, 0, 250_000, 250_000] {
            pass(&mut link, at(micros), 500).unwrap();
        }
        let seen = link.statistics();
        assert!((seen.mean_packets() - (0.1 + 0.5 + 0.5) / 0.5).abs() < 1e-12);
        assert_eq!((seen.max().packets, seen.utilisation(), seen.empty_share()), (3, 1.0, 0.0));
    }

    /// Over `[a, b)` there is what there is before b, less what there is before a.
    #[test]
    fn statistics_of_neighbouring_windows_add_up() {
        for discipline in [Discipline::DropTail(Limit::Packets(9)), Discipline::HeadDrop(Limit::Packets(9))] {
            let seen = |from, to| {
                let line = Transmitter::Line(Line::new("10mbit".parse().unwrap()));
                let mut link = Link::through(queue(&discipline), line, Duration::ZERO, [from, to]);
                let (mut draws, mut now) = (Stream::new(1, Purpose::Sizes, 0), at(0));
                for _ in 0..400 {
                    now += Duration::from_micros(draws.below(2_000));
                    let _ = link.offer(now, Packet::new(40 + draws.below(2_000) as u32));
                }
                link.end_statistics(now);
                let seconds = to.since(from).as_secs_f64();
                let seen = link.statistics();
                [seen.mean_packets(), seen.mean_bytes(), seen.utilisation(), 1.0 - seen.empty_share()]
                    .map(|mean| mean * seconds)
            };
            let (a, b) = (at(100_000), at(300_000));
            let parts = [seen(at(0), a), seen(a, b), seen(at(0), b)];
            for (first, (second, both)) in parts[0].iter().zip(parts[1].iter().zip(&parts[2])) {
                assert!((first + second - both).abs() < 1e-9, "{first} {second} {discipline:?}");
            }
        }
    }

    #[test]
    fn a_trace_is_as_busy_as_its_opportunities_are_used() {
        // Of six opportunities of 1,500 bytes in [5 ms, 20 ms), at 5, 8, 10, 13, 15 and 18 ms, packets use one and a half.
        let trace = Trace::new(vec![Duration::from_millis(3), Duration::from_millis(5)]).unwrap();
        let schedule = Transmitter::Trace(Schedule::new(trace.into()));
        let discipline = Discipline::DropTail(Limit::Packets(9));
        let mut link = Link::through(queue(&discipline), schedule, Duration::ZERO, [at(5_000), at(20_000)]);
        for (micros, bytes) in [(0, 1_500), (4_000, 1_500), (9_000, 750), (19_000, 1_500)] {
            pass(&mut link, at(micros), bytes).unwrap();
        }
        link.end_statistics(at(30_000));
        assert_eq!(link.statistics().utilisation(), 2_250.0 / 9_000.0);
    }

    #[test]
    fn statistics_can_end_before_the_packets_do() {
        let mut link = link(8_000, Duration::ZERO, Limit::Packets(10));
        // Transmissions from 0 to 1.5 s; the second packet waits until 0.5 s, the third until 1 s.
        for _ in 0..3 {
            pass(&mut link, at(0), 500).unwrap();
        }
        link.end_statistics(at(750_000));
        let seen = link.statistics();
        assert!((seen.mean_packets() - (0.5 + 0.75) / 0.75).abs() < 1e-12);
        assert_eq!((seen.utilisation(), seen.empty_share()), (1.0, 0.0));
    }

    /// Packets of 1,250 bytes, told apart by their tags, offered at the given microseconds to a link of 10 Mbit/s that
    /// drops at the head and has room for `room`; what it says until `end`.
    fn head_drop(room: u64, offers: &[u64], end: u64) -> (Link, Vec<(u64, Option<u64>)>) {
        let rate = Rate::from_bits_per_second(10_000_000).unwrap();
        let mut link =
            Link::new(queue(&Discipline::HeadDrop(Limit::Packets(room))), rate, Duration::ZERO, Duration::from_secs(1));
        let mut said = Vec::new();
        for (tag, &micros) in (0..).zip(offers) {
            assert_eq!(link.offer(at(micros), Packet { tag, ..Packet::new(1_250) }), Ok(Offered::Queued));
        }
        link.handle_timeout(at(end));
        while let Some(event) = link.poll() {
            said.push(match event {
                LinkEvent::Started { packet, passage } => {
                    assert_eq!(passage.departed, passage.started + Duration::from_millis(1));
                    (packet.tag, Some(passage.started.as_nanos() / 1_000))
                }
                LinkEvent::Dropped { packet, reason, .. } => {
                    assert_eq!(reason, DropReason::Overflow);
                    (packet.tag, None)
                }
            });
        }
        (link, said)
    }

    #[test]
    fn a_link_that_decides_at_departure_sends_back_to_back_however_late_it_is_woken() {
        let (link, said) = head_drop(9, &[0, 0, 100, 3_500, 3_500], 9_000);
        let starts = [(0, Some(0)), (1, Some(1_000)), (2, Some(2_000)), (3, Some(3_500)), (4, Some(4_500))];
        assert_eq!(said, starts);
        // Waits of 0, 1, 1.9, 0 and 1 ms; packets wait from 0 to 2 ms and from 3.5 to 4.5 ms.
        let seen = link.statistics();
        assert!((seen.mean_packets() - 0.003_9).abs() < 1e-15 && (seen.mean_bytes() - 3.9 * 1.25).abs() < 1e-12);
        assert!((seen.empty_share() - 0.997).abs() < 1e-12);
        assert_eq!((seen.max().packets, seen.utilisation()), (2, 0.005));
        assert_eq!(
            (link.next_timeout(), link.is_transmitting(at(5_499)), link.is_transmitting(at(5_500))),
            (None, true, false)
        );
    }

    #[test]
    fn head_drop_loses_as_many_as_drop_tail_but_the_oldest() {
        let arrivals = [0, 0, 0, 0, 0];
        let (_, said) = head_drop(2, &arrivals, 9_000);
        assert_eq!(said, [(0, Some(0)), (1, None), (2, None), (3, Some(1_000)), (4, Some(2_000))]);
        let mut tail = link(10_000_000, Duration::ZERO, Limit::Packets(2));
        let taken = arrivals.map(|micros| pass(&mut tail, at(micros), 1_250).is_ok());
        assert_eq!(taken, [true, true, true, false, false]);
    }

    #[test]
    fn statistics_of_a_queue_cut_while_packets_wait() {
        let (mut link, _) = head_drop(9, &[0, 0, 0], 500);
        link.end_statistics(at(500));
        let seen = link.statistics();
        assert_eq!((seen.mean_packets(), seen.utilisation(), seen.empty_share()), (2.0, 1.0, 0.0));
        assert_eq!(
            (link.backlog().packets, link.next_timeout(), link.empty_at()),
            (2, Some(at(1_000)), Some(Time::MAX))
        );
    }

    #[test]
    fn a_line_of_varying_rate_serves_either_kind_alike() {
        // Opportunities of 1,500 bytes at 3 and 5 ms, then at 8, 10 ms and so on.
        let trace = Trace::new(vec![Duration::from_millis(3), Duration::from_millis(5)]).unwrap();
        let make = |discipline: Discipline| {
            let schedule = Schedule::new(trace.clone().into());
            Link::through(queue(&discipline), Transmitter::Trace(schedule), Duration::ZERO, [at(0), at(1_000_000)])
        };
        let offers = [(0, 750), (0, 750), (0, 1_500), (6_000, 3_000), (20_000, 100)];
        let mut tail = make(Discipline::DropTail(Limit::Packets(9)));
        let passed = offers.map(|(micros, bytes)| pass(&mut tail, at(micros), bytes).unwrap());
        let departed = passed.map(|passage| passage.departed.as_nanos() / 1_000_000);
        assert_eq!(departed, [3, 3, 5, 10, 20]);
        let mut head = make(Discipline::HeadDrop(Limit::Packets(9)));
        offers.iter().for_each(|&(micros, bytes)| assert!(head.offer(at(micros), Packet::new(bytes)).is_ok()));
        head.handle_timeout(at(50_000));
        let started = std::iter::from_fn(|| head.poll()).map(|event| match event {
            LinkEvent::Started { passage, .. } => passage,
            LinkEvent::Dropped { .. } => panic!("there is room"),
        });
        assert!(started.eq(passed));
        assert_eq!(tail.statistics().mean_packets(), head.statistics().mean_packets());
        assert_eq!(tail.statistics().empty_share(), head.statistics().empty_share());
    }

    #[test]
    fn a_users_own_discipline_must_not_keep_packets_from_a_free_line() {
        #[derive(Debug, Default)]
        struct Miser(Backlog);
        impl Serve for Miser {
            fn enqueue(&mut self, _: Time, packet: Packet, _: &mut Lost) -> Result<(), DropReason> {
                self.0.add(packet.bytes);
                Ok(())
            }
            fn dequeue(&mut self, _: Time, _: &mut Lost) -> Option<Queued> {
                None
            }
            fn backlog(&self) -> Backlog {
                self.0
            }
        }
        let result = std::panic::catch_unwind(|| {
            let queue = Queue::Departure(Scheduler::Custom(Box::<Miser>::default()));
            let mut link = Link::new(queue, Rate::UNLIMITED, Duration::ZERO, Duration::from_secs(1));
            link.offer(Time::ZERO, Packet::new(1))
        });
        let message = result.unwrap_err();
        assert!(message.downcast_ref::<String>().unwrap().contains("keeps 1 packets"), "{message:?}");
    }

    #[test]
    fn a_buffer_smaller_than_a_packet_is_refused() {
        for limit in [Limit::Packets(0), Limit::Bytes(1_513)] {
            let refused = Discipline::HeadDrop(limit).build(Rate::UNLIMITED, Stream::new(1, Purpose::Queue, 0));
            assert!(matches!(refused, Err(ParameterError { key: "limit", .. })), "{refused:?}");
        }
    }

    #[test]
    fn a_busy_link_loses_no_fraction_of_a_nanosecond() {
        // 1 byte at 3 Gbit/s is 2 2/3 ns. 3,000,000 of them back to back take 8 ms exactly.
        let mut link = link(3_000_000_000, Duration::ZERO, Limit::Packets(u64::MAX));
        let last = (0..3_000_000).map(|_| pass(&mut link, Time::ZERO, 1).unwrap()).last().unwrap();
        assert_eq!(last.departed, at(8_000));
    }
}
