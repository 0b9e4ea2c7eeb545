//! A link: a queue, a serialiser and propagation, kept as three separate things.

use std::collections::VecDeque;

use crate::queue::{Backlog, Queue};
use crate::record::DropReason;
use crate::time::{Duration, Time};
use crate::units::{Rate, Serialiser};

/// One direction of a link.
///
/// The disciplines it holds decide when a packet arrives and serve in order of arrival, so everything that will happen
/// to a packet is known the moment it is offered: [`Link::offer`] answers with the passage. Nobody has to wake the link;
/// its deadlines only say when [`Link::backlog`] would change. Times given to [`Link::offer`] and [`Link::advance`] must not decrease.
///
/// Transmission is exact: while the link is busy a packet starts when the one before it ends, to the fraction of a
/// nanosecond, however late it is looked at.
#[derive(Clone, Debug)]
pub struct Link {
    queue: Queue,
    serialiser: Serialiser,
    propagation: Duration,
    /// When the last accepted packet's last bit leaves the serialiser.
    free: Time,
    /// Packets that wait, in order, by the time their transmission starts.
    waiting: VecDeque<Waiting>,
    statistics: LinkStatistics,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: Time,
    bytes: u32,
}

/// What becomes of a packet the link accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its transmission starts; before that it waits.
    pub started: Time,
    /// Its last bit leaves the serialiser.
    pub departed: Time,
    /// Its last bit arrives at the far end.
    pub arrived: Time,
}

/// What a link measured since it was made. Times are clipped to the statistics window, which starts at the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LinkStatistics {
    window: Duration,
    /// Waiting packets integrated over time, in packet nanoseconds.
    packet_time: u128,
    /// Waiting bytes integrated over time, in byte nanoseconds.
    byte_time: u128,
    /// Time with at least one packet waiting.
    nonempty: Duration,
    nonempty_until: Time,
    transmitting: Duration,
    max: Backlog,
}

impl Link {
    /// An idle link. Its statistics cover `[0, window)`.
    pub fn new(queue: Queue, rate: Rate, propagation: Duration, window: Duration) -> Link {
        Link {
            queue,
            serialiser: Serialiser::new(rate),
            propagation,
            free: Time::ZERO,
            waiting: VecDeque::new(),
            statistics: LinkStatistics { window, ..LinkStatistics::default() },
        }
    }

    /// Propagation delay.
    pub const fn propagation(&self) -> Duration {
        self.propagation
    }

    /// A packet of `bytes` reaches the link at `now`.
    ///
    /// # Errors
    /// Why it was dropped.
    pub fn offer(&mut self, now: Time, bytes: u32) -> Result<Passage, DropReason> {
        self.advance(now);
        let started = if now > self.free {
            self.serialiser.restart();
            now
        } else {
            self.free
        };
        if started > now {
            self.queue.admit(bytes)?;
            self.waiting.push_back(Waiting { start: started, bytes });
            self.statistics.wait(now, started, bytes, self.queue.backlog());
        }
        self.free = started + self.serialiser.occupy(bytes);
        self.statistics.transmit(started, self.free);
        Ok(Passage { started, departed: self.free, arrived: self.free + self.propagation })
    }

    /// Lets the packets go whose transmission has started by `now`. Early or repeated calls change nothing.
    pub fn advance(&mut self, now: Time) {
        while let Some(head) = self.waiting.front()
            && head.start <= now
        {
            self.queue.release(head.bytes);
            self.waiting.pop_front();
        }
    }

    /// When [`Self::advance`] has something to do.
    pub fn next_timeout(&self) -> Option<Time> {
        self.waiting.front().map(|head| head.start)
    }

    /// What waits as of the last [`Self::offer`] or [`Self::advance`].
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Whether a packet is being transmitted at `now`, which is not before the last offer.
    pub fn is_transmitting(&self, now: Time) -> bool {
        self.free > now
    }

    /// When the last waiting packet will start its transmission, if no more come; `None` if none waits.
    pub fn empty_at(&self) -> Option<Time> {
        self.waiting.back().map(|last| last.start)
    }

    /// Ends the statistics at `end`, not before the last offer: what was counted ahead of it is taken back, and the
    /// window ends there if it would end later.
    pub fn end_statistics(&mut self, end: Time) {
        self.advance(end);
        let seen = &mut self.statistics;
        for packet in &self.waiting {
            let ahead = u128::from(seen.clip(end, packet.start).as_nanos());
            seen.packet_time -= ahead;
            seen.byte_time -= ahead * u128::from(packet.bytes);
        }
        seen.nonempty = seen.nonempty - seen.clip(end, seen.nonempty_until);
        seen.transmitting = seen.transmitting - seen.clip(end, self.free);
        seen.window = seen.window.min(end.since(Time::ZERO));
    }

    /// What was measured so far, as if no more packets came.
    pub const fn statistics(&self) -> &LinkStatistics {
        &self.statistics
    }
}

impl LinkStatistics {
    fn clip(&self, from: Time, to: Time) -> Duration {
        let end = Time::ZERO + self.window;
        to.min(end).since(from)
    }

    /// A packet arrives at `now` to wait until `start`; `backlog` includes it.
    fn wait(&mut self, now: Time, start: Time, bytes: u32, backlog: Backlog) {
        // The integral of the queue length is the sum of the waiting times.
        let waits = u128::from(self.clip(now, start).as_nanos());
        self.packet_time += waits;
        self.byte_time += waits * u128::from(bytes);
        // Starts are in order of arrival, so the times with a packet waiting are the union of intervals that only grow.
        self.nonempty += self.clip(now.max(self.nonempty_until), start);
        self.nonempty_until = start;
        if now.since(Time::ZERO) < self.window {
            self.max.packets = self.max.packets.max(backlog.packets);
            self.max.bytes = self.max.bytes.max(backlog.bytes);
        }
    }

    fn transmit(&mut self, start: Time, end: Time) {
        self.transmitting += self.clip(start, end);
    }

    /// Time-weighted mean of waiting packets over the window; zero for an empty window.
    pub fn mean_packets(&self) -> f64 {
        self.per_window(self.packet_time)
    }

    /// Time-weighted mean of waiting bytes over the window.
    pub fn mean_bytes(&self) -> f64 {
        self.per_window(self.byte_time)
    }

    /// Most packets, and most bytes, that ever waited at once in the window.
    pub const fn max(&self) -> Backlog {
        self.max
    }

    /// Share of the window in which no packet waited, from exact times; one for an empty window.
    pub fn empty_share(&self) -> f64 {
        1.0 - self.per_window(u128::from(self.nonempty.as_nanos()))
    }

    /// Share of the window in which a packet was being transmitted.
    pub fn utilisation(&self) -> f64 {
        self.per_window(u128::from(self.transmitting.as_nanos()))
    }

    fn per_window(&self, integral: u128) -> f64 {
        if self.window.is_zero() { 0.0 } else { integral as f64 / self.window.as_nanos() as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{self, Machine};
    use crate::queue::DropTail;
    use crate::units::Limit;

    fn link(bits_per_second: u64, propagation: Duration, limit: Limit) -> Link {
        let rate = Rate::from_bits_per_second(bits_per_second).unwrap();
        Link::new(Queue::DropTail(DropTail::new(limit)), rate, propagation, Duration::from_secs(1))
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn single_packet_takes_its_size_over_the_rate_and_the_propagation() {
        // 1,250 bytes at 10 Mbit/s take 1 ms.
        let mut link = link(10_000_000, Duration::from_millis(7), Limit::Packets(0));
        let passage = link.offer(at(5_000), 1_250).unwrap();
        assert_eq!(passage, Passage { started: at(5_000), departed: at(6_000), arrived: at(13_000) });
    }

    #[test]
    fn packets_in_transmission_do_not_count_against_the_limit() {
        let mut link = link(10_000_000, Duration::ZERO, Limit::Packets(1));
        assert_eq!(link.offer(at(0), 1_250).unwrap().departed, at(1_000));
        assert_eq!(link.offer(at(0), 1_250).unwrap().departed, at(2_000));
        assert_eq!(link.offer(at(999), 1_250), Err(DropReason::QueueFull));
        assert_eq!(link.offer(at(1_000), 1_250).unwrap().departed, at(3_000), "the second one has just started");
        assert_eq!(link.backlog().packets, 1);
    }

    #[test]
    fn queue_statistics_are_exact() {
        let mut link = link(10_000_000, Duration::ZERO, Limit::Packets(10));
        // Arrivals at 0, 0, 0: waits of 0, 1, 2 ms. Idle until 10 ms; then two more: waits 0, 1 ms.
        for time in [0, 0, 0, 10_000, 10_000] {
            link.offer(at(time), 1_250).unwrap();
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
        link.offer(at(0), 500).unwrap();
        link.offer(at(0), 500).unwrap();
        link.offer(at(250_000), 500).unwrap();
        link.offer(at(250_000), 500).unwrap();
        link.offer(at(1_200_000), 500).unwrap();
        let seen = link.statistics();
        assert_eq!(seen.mean_packets(), 0.5 + 0.75 + 0.75);
        assert_eq!(seen.utilisation(), 1.0);
        assert_eq!(seen.empty_share(), 0.0);
    }

    #[test]
    fn statistics_can_end_before_the_packets_do() {
        let mut link = link(8_000, Duration::ZERO, Limit::Packets(10));
        // Transmissions from 0 to 1.5 s; the second packet waits until 0.5 s, the third until 1 s.
        for _ in 0..3 {
            link.offer(at(0), 500).unwrap();
        }
        link.end_statistics(at(750_000));
        let seen = link.statistics();
        assert!((seen.mean_packets() - (0.5 + 0.75) / 0.75).abs() < 1e-12);
        assert_eq!((seen.utilisation(), seen.empty_share()), (1.0, 0.0));
    }

    struct Contract {
        link: Link,
        said: Option<(Result<Passage, DropReason>, Backlog, LinkStatistics)>,
    }

    impl Machine for Contract {
        type Input = u32;
        type Output = (Result<Passage, DropReason>, Backlog, LinkStatistics);

        fn input(&mut self, now: Time, &bytes: &u32) {
            let outcome = self.link.offer(now, bytes);
            self.said = Some((outcome, self.link.backlog(), *self.link.statistics()));
        }

        fn handle_timeout(&mut self, now: Time) {
            self.link.advance(now);
        }

        fn poll(&mut self, _: Time) -> Option<Self::Output> {
            self.said.take()
        }

        fn next_timeout(&self) -> Option<Time> {
            self.link.next_timeout()
        }
    }

    #[test]
    fn keeps_the_calling_contract() {
        let offers: Vec<_> = (0..200).map(|n| (at(n * n % 37 + 700 * n), 40 + 97 * (n as u32 % 16))).collect();
        let make = || Contract { link: link(7_000_001, Duration::from_micros(3), Limit::Bytes(10_000)), said: None };
        let dropped = |mut machine: Contract| offers.iter().filter(|o| machine.link.offer(o.0, o.1).is_err()).count();
        assert!((1..150).contains(&dropped(make())), "some fit and some do not");
        contract::check(make, &offers, Duration::from_secs(1));
    }

    #[test]
    fn a_busy_link_loses_no_fraction_of_a_nanosecond() {
        // 1 byte at 3 Gbit/s is 2 2/3 ns. 3,000,000 of them back to back take 8 ms exactly.
        let mut link = link(3_000_000_000, Duration::ZERO, Limit::Packets(u64::MAX));
        let last = (0..3_000_000).map(|_| link.offer(Time::ZERO, 1).unwrap()).last().unwrap();
        assert_eq!(last.departed, at(8_000));
    }
}
