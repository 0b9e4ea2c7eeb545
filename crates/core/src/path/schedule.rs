//! Links whose rate changes: delivery opportunities at given instants, as mahimahi's `mm-link` replays them.
//!
//! A trace is a list of instants in milliseconds. Each is an opportunity to deliver 1,500 bytes; as many instants may be
//! equal as opportunities fall into one millisecond. At its end the trace begins again, its last instant being the new
//! origin. Bytes are accounted singly (mm-link(1)): small packets share an opportunity, a packet that does not fit uses
//! the next one too and is delivered when its last byte is, and what finds no bytes to deliver is wasted.
//!
//! Where the manual leaves a choice: a packet that is ready at the very instant of an opportunity is in time for it, and
//! for what another packet left of it.

use std::sync::Arc;

use crate::time::{Duration, Time};
use crate::units::Rate;

/// What one opportunity delivers.
pub const OPPORTUNITY_BYTES: u32 = 1_500;

/// The opportunities of one round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// From the beginning of the round, never decreasing; the last is the length of the round.
    instants: Vec<Duration>,
}

/// Why a list of instants is no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// There is none.
    #[error("the trace has no delivery opportunity")]
    Empty,
    /// An instant lies before the one before it.
    #[error("opportunity {index} lies before the one before it")]
    Backwards {
        /// Which, from 0.
        index: usize,
    },
    /// All are at the origin, so that nothing says when the next round begins.
    #[error("the trace takes no time: its last opportunity is at 0")]
    NoTime,
}

impl Trace {
    /// A trace of the given instants.
    ///
    /// # Errors
    /// If there is none, if they run backwards, or if all of them are zero.
    pub fn new(instants: Vec<Duration>) -> Result<Trace, TraceError> {
        if let Some(index) = instants.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(TraceError::Backwards { index: index + 1 });
        }
        match instants.last() {
            None => Err(TraceError::Empty),
            Some(last) if last.is_zero() => Err(TraceError::NoTime),
            Some(_) => Ok(Trace { instants }),
        }
    }

    /// Opportunities in a round.
    pub fn opportunities(&self) -> usize {
        self.instants.len()
    }

    /// Opportunities before `time`, of as many rounds as that takes.
    pub fn opportunities_before(&self, time: Time) -> u64 {
        let (round, index) = self.first_from(time);
        round * self.instants.len() as u64 + index as u64
    }

    /// The first opportunity at or after `time`: its round and its place in it.
    fn first_from(&self, time: Time) -> (u64, usize) {
        // Round k holds the instants after k periods, up to and with k + 1 periods; round 0 those at the origin too.
        let period = self.period().as_nanos();
        let round = time.as_nanos().saturating_sub(1) / period;
        let within = Duration::from_nanos(time.as_nanos() - round * period);
        (round, self.instants.partition_point(|&instant| instant < within))
    }

    /// How long a round takes.
    pub fn period(&self) -> Duration {
        self.instants.last().copied().unwrap_or(Duration::MAX)
    }

    /// What it delivers to packets that always wait, over whole rounds.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.instants.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8;
        let rate = bits * 1_000_000_000 / u128::from(self.period().as_nanos());
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX).max(1)).unwrap_or(Rate::UNLIMITED)
    }
}

/// A trace being used up by packets in order.
///
/// It has no deadlines: [`Schedule::next`] tells when a packet's first byte can go, [`Schedule::transmit`] lets the packet
/// go and tells when its last byte has. A link that decides at arrival calls both with the time of the arrival, packet
/// after packet; one that decides at departure calls them with the time at which the packet came to the head of the
/// queue. Times given never decrease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    trace: Arc<Trace>,
    /// The next opportunity that nobody used: its round and its place in it.
    place: (u64, usize),
    /// What the last used one has left, and when it was.
    left: u32,
    used: Time,
}

impl Schedule {
    /// `trace` from its beginning at the origin of time.
    pub fn new(trace: Arc<Trace>) -> Schedule {
        Schedule { trace, place: (0, 0), left: 0, used: Time::ZERO }
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// When the first byte of a packet that is ready at `ready` goes; `ready` itself at the earliest.
    pub fn next(&self, ready: Time) -> Time {
        if self.left > 0 && ready <= self.used { self.used } else { self.instant(self.seek(ready)) }
    }

    /// A packet of `bytes` that is ready at `ready` uses what it needs; when its last byte goes.
    pub fn transmit(&mut self, ready: Time, bytes: u32) -> Time {
        if ready > self.used {
            self.left = 0;
        }
        let mut bytes = bytes;
        while bytes > self.left {
            bytes -= self.left;
            let place = self.seek(ready);
            self.used = self.instant(place);
            self.left = OPPORTUNITY_BYTES;
            self.place = self.behind(place);
        }
        self.left -= bytes;
        self.used
    }

    /// The first unused opportunity at or after `from`.
    fn seek(&self, from: Time) -> (u64, usize) {
        if self.instant(self.place) >= from { self.place } else { self.place.max(self.trace.first_from(from)) }
    }

    fn behind(&self, (round, index): (u64, usize)) -> (u64, usize) {
        if index + 1 < self.trace.instants.len() { (round, index + 1) } else { (round + 1, 0) }
    }

    fn instant(&self, (round, index): (u64, usize)) -> Time {
        Time::ZERO + self.trace.period() * round + self.trace.instants[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{self, Machine};
    use crate::rng::{Purpose, Stream};

    fn trace(millis: &[u64]) -> Trace {
        Trace::new(millis.iter().map(|&ms| Duration::from_millis(ms)).collect()).unwrap()
    }

    fn schedule(millis: &[u64]) -> Schedule {
        Schedule::new(Arc::new(trace(millis)))
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn impossible_traces_are_refused() {
        let of = |millis: &[u64]| Trace::new(millis.iter().map(|&ms| Duration::from_millis(ms)).collect());
        assert_eq!(of(&[]), Err(TraceError::Empty));
        assert_eq!(of(&[1, 3, 2]), Err(TraceError::Backwards { index: 2 }));
        assert_eq!(of(&[0, 0]), Err(TraceError::NoTime));
        assert_eq!(of(&[1]).unwrap().mean_rate(), "12mbit".parse().unwrap(), "the manual's example");
    }

    #[test]
    fn truth_table() {
        // Rounds of 10 ms: opportunities at 2, 2, 5, 10, then 12, 12, 15, 20, ...
        let mut schedule = schedule(&[2, 2, 5, 10]);
        for (ready, bytes, first, last, why) in [
            (0, 1_500, 2_000, 2_000, "one opportunity"),
            (0, 500, 2_000, 2_000, "the second of the same millisecond"),
            (0, 1_000, 2_000, 2_000, "what the packet before left of it"),
            (0, 1, 5_000, 5_000, "all of it is used"),
            (3_000, 1_500, 5_000, 10_000, "1,499 bytes fit, the last one does not"),
            (10_000, 1_499, 10_000, 10_000, "ready at the very instant: what is left is not wasted"),
            (10_001, 40, 12_000, 12_000, "the next round"),
            (12_001, 40, 15_000, 15_000, "ready too late for what is left: wasted, and so is the other at 12 ms"),
            (15_001, 4_600, 20_000, 25_000, "four opportunities for one packet: 20, 22, 22, 25"),
            (25_000, 1_400, 25_000, 25_000, "100 bytes of the last were used"),
            (1_000_000, 1_500, 1_000_000, 1_000_000, "the end of a round"),
            (1_000_000_001, 1_500, 1_000_002_000, 1_000_002_000, "long idle"),
        ] {
            assert_eq!(schedule.next(at(ready)), at(first), "{why}");
            assert_eq!(schedule.transmit(at(ready), bytes), at(last), "{why}");
        }
    }

    #[test]
    fn an_opportunity_at_zero_falls_together_with_the_last() {
        // As mahimahi has it: 0, 1, 2, then 2 + 0, 2 + 1, 2 + 2.
        let mut schedule = schedule(&[0, 1, 2]);
        let times: Vec<_> = (0..7).map(|_| schedule.transmit(Time::ZERO, 1_500).as_nanos() / 1_000_000).collect();
        assert_eq!(times, [0, 1, 2, 2, 3, 4, 4]);
    }

    #[test]
    fn whole_rounds_carry_exactly_what_they_have() {
        let mut schedule = schedule(&[3, 3, 7, 11, 40]);
        let mut stream = Stream::new(1, Purpose::Sizes, 0);
        let mut bytes = 0;
        let last = std::iter::repeat_with(|| 40 + stream.below(1_461) as u32)
            .map(|size| {
                bytes += u64::from(size);
                schedule.transmit(Time::ZERO, size)
            })
            .find(|&last| last >= Time::ZERO + Duration::from_secs(40))
            .unwrap();
        assert_eq!(last, Time::ZERO + Duration::from_secs(40));
        // The packet that ends at 40 s does so in the last of 1,000 rounds.
        let before = u64::from(OPPORTUNITY_BYTES) * (5 * 1_000 - 1);
        assert!((before + 1..=before + 1_500).contains(&bytes), "{bytes}");
    }

    /// Any times of asking give what a search from the beginning gives.
    #[test]
    fn seeking_finds_what_counting_finds() {
        let millis = [0, 2, 2, 9];
        let all: Vec<Time> =
            (0..200).flat_map(|round| millis.map(|ms| Time::ZERO + Duration::from_millis(round * 9 + ms))).collect();
        for from in (0..1_700_000).step_by(333) {
            let wanted = all.iter().find(|&&time| time >= at(from)).unwrap();
            assert_eq!(schedule(&millis).next(at(from)), *wanted, "from {from} us");
        }
    }

    struct Contract(Schedule, Option<(Time, Time)>);

    impl Machine for Contract {
        type Input = u32;
        type Output = (Time, Time);

        fn input(&mut self, now: Time, &bytes: &u32) {
            self.1 = Some((self.0.next(now), self.0.transmit(now, bytes)));
        }

        /// It answers at once and has no deadlines.
        fn handle_timeout(&mut self, _: Time) {}

        fn poll(&mut self, _: Time) -> Option<Self::Output> {
            self.1.take()
        }

        fn next_timeout(&self) -> Option<Time> {
            None
        }
    }

    #[test]
    fn keeps_the_calling_contract() {
        let packets: Vec<_> = (0..100).map(|n| (at(n * n * 97), 40 + 300 * (n as u32 % 5))).collect();
        contract::check(|| Contract(schedule(&[1, 4, 4, 6]), None), &packets, Duration::from_secs(1));
    }
}
