//! Programs that send datagrams whatever becomes of them, and those that take note of what arrives: the UDP sources of classic
//! evaluations.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::rng::{Purpose, Stream};
use crate::time::{Duration, Time};
use crate::workload::Span;

/// When a program sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pacing {
    /// A datagram every [`Datagrams::gap`], the first at once.
    Constant,
    /// Exponential gaps with the mean [`Datagrams::gap`], one before the first.
    Poisson,
    /// Silent for a drawn time, then busy for one, and so on, as ns-2's Exponential and Pareto sources are: a busy time of `on` is
    /// max(1, round(on / gap)) datagrams, a gap after each.
    OnOff {
        /// Busy times, in nanoseconds.
        on: Distribution,
        /// Silent times, in nanoseconds.
        off: Distribution,
    },
    /// As datagrams were seen: nothing is drawn, and neither [`Datagrams::gap`] nor [`Datagrams::payload`] counts. Flows that follow one
    /// list share it.
    Runs(Arc<[Run]>),
}

/// Datagrams that were seen in a row, of which their number, their bytes in all, and the first and the last time are known: they are
/// sent at equal gaps and share the bytes equally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The first of them, from [`Datagrams::start`] on.
    first: Duration,
    /// From the first to the last.
    length: Duration,
    packets: u64,
    bytes: u64,
}

impl Run {
    /// So many datagrams, of so many bytes; more of them where they would be larger than [`Datagrams::MOST_BYTES`], and fewer where some
    /// would be empty. `None` without a byte.
    pub fn new(first: Duration, length: Duration, packets: u32, bytes: u64) -> Option<Run> {
        let packets = u64::from(packets).max(bytes.div_ceil(Datagrams::MOST_BYTES.into())).min(bytes);
        (packets > 0).then_some(Run { first, length, packets, bytes })
    }

    /// How many there are.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// From the first to the last of them, from [`Datagrams::start`] on.
    pub fn span(&self) -> Span {
        Span { first: self.first, last: self.first + self.length }
    }

    /// Their bytes in all.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Those that are sent before `end`, and the others.
    pub fn split(self, end: Duration) -> [Option<Run>; 2] {
        let gaps = u128::from((self.packets - 1).max(1));
        let before = u128::from(end.saturating_sub(self.first).as_nanos()) * gaps;
        let count = match (end > self.first, self.length.as_nanos()) {
            (false, _) => 0,
            (true, 0) => self.packets,
            // The first that is due at the end or later.
            (true, length) => before.div_ceil(length.into()).min(self.packets.into()) as u64,
        };
        let of = |from: u64, to: u64| {
            let (first, bytes) = (self.due(from), self.until(to) - self.until(from));
            (from < to).then(|| Run { first, length: self.due(to - 1) - first, packets: to - from, bytes })
        };
        [of(0, count), of(count, self.packets)]
    }

    /// When number `at` of them is sent.
    fn due(&self, at: u64) -> Duration {
        let gaps = (self.packets - 1).max(1);
        let nanos = u128::from(self.length.as_nanos()) * u128::from(at) / u128::from(gaps);
        self.first + Duration::from_nanos(nanos as u64)
    }

    /// The bytes of number `at`.
    fn share(&self, at: u64) -> u32 {
        (self.until(at + 1) - self.until(at)) as u32
    }

    /// The bytes of the first `count`.
    fn until(&self, count: u64) -> u64 {
        (u128::from(self.bytes) * u128::from(count) / u128::from(self.packets)) as u64
    }
}

/// What a program sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Datagrams {
    /// When.
    pub pacing: Pacing,
    /// Between two datagrams, or between their means. Not zero.
    pub gap: Duration,
    /// Their payload in bytes, rounded; at least 1 and at most [`Datagrams::MOST_BYTES`], whatever is drawn.
    pub payload: Distribution,
    /// When it begins.
    pub start: Time,
    /// When it stops: nothing is sent from then on.
    pub stop: Time,
    /// Whether the other end answers each at once with one of the same size, which makes probes of them.
    pub answered: bool,
}

impl Datagrams {
    /// What fits into one packet of Ethernet's 1,500 bytes: larger ones would go in fragments.
    pub const MOST_BYTES: u32 = 1_472;
}

/// A datagram, with what programs of this kind write into it for the other end (as iperf3 does).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its number, from 0 on.
    pub number: u64,
    /// When it was due to be sent.
    pub sent: Time,
    /// Its payload.
    pub bytes: u32,
}

/// Sends datagrams. After each [`Self::handle_timeout`] take every [`Self::poll`].
#[derive(Clone, Debug)]
pub struct DatagramSource {
    params: Datagrams,
    gaps: Stream,
    sizes: Stream,
    /// When the next datagram is due; from [`Datagrams::stop`] on none is.
    next: Time,
    /// Datagrams left of the busy time; of runs, those sent of the one under way.
    left: u64,
    /// The run under way.
    run: usize,
    now: Time,
    sent: u64,
    bytes: u64,
}

impl DatagramSource {
    /// The source `id` of a run with this seed.
    pub fn new(params: Datagrams, seed: u64, id: u64) -> DatagramSource {
        let [gaps, sizes] = [Purpose::Arrivals, Purpose::Sizes].map(|purpose| Stream::new(seed, purpose, id));
        let next = params.start;
        let mut source =
            DatagramSource { params, gaps, sizes, next, left: 0, run: 0, now: Time::ZERO, sent: 0, bytes: 0 };
        match source.params.pacing {
            Pacing::Constant => {}
            Pacing::Poisson | Pacing::OnOff { .. } => source.step(),
            Pacing::Runs(_) => source.next = source.run_due(),
        }
        source
    }

    /// Lets what is due by `now` be sent.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = now;
    }

    /// The next datagram that is due.
    pub fn poll(&mut self) -> Option<Datagram> {
        let sent = self.next_timeout().filter(|due| *due <= self.now)?;
        let bytes = match &self.params.pacing {
            Pacing::Runs(runs) => runs[self.run].share(self.left),
            _ => (self.params.payload.sample(&mut self.sizes).round() as u32).clamp(1, Datagrams::MOST_BYTES),
        };
        let datagram = Datagram { number: self.sent, sent, bytes };
        self.sent += 1;
        self.bytes += u64::from(bytes);
        self.step();
        Some(datagram)
    }

    /// When the next datagram is due.
    pub fn next_timeout(&self) -> Option<Time> {
        Some(self.next).filter(|next| *next < self.params.stop)
    }

    /// Datagrams sent, and their payload bytes.
    pub fn sent(&self) -> (u64, u64) {
        (self.sent, self.bytes)
    }

    /// When the next datagram of the runs is due, which are in order.
    fn run_due(&self) -> Time {
        match &self.params.pacing {
            Pacing::Runs(runs) => runs.get(self.run).map_or(Time::MAX, |run| self.params.start + run.due(self.left)),
            _ => Time::MAX,
        }
    }

    /// Moves on to the next datagram.
    fn step(&mut self) {
        let gap = self.params.gap;
        if let Pacing::Runs(runs) = &self.params.pacing {
            self.left += 1;
            if runs.get(self.run).is_some_and(|run| self.left == run.packets) {
                (self.run, self.left) = (self.run + 1, 0);
            }
            self.next = self.next.max(self.run_due());
            return;
        }
        self.next = match &self.params.pacing {
            Pacing::Runs(_) => self.next,
            Pacing::Constant => self.next + gap,
            Pacing::Poisson => self.next + Duration::from_secs_f64(self.gaps.exponential(gap.as_secs_f64())),
            Pacing::OnOff { .. } if self.left > 1 => {
                self.left -= 1;
                self.next + gap
            }
            Pacing::OnOff { on, off } => {
                let busy = if self.sent == 0 { Duration::ZERO } else { gap };
                let silent = Duration::from_nanos(off.sample(&mut self.gaps).round() as u64);
                self.left = ((on.sample(&mut self.gaps) / gap.as_nanos() as f64).round() as u64).max(1);
                self.next + busy + silent
            }
        };
    }
}

/// Takes note of the datagrams that arrive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatagramSink {
    /// How many, each once.
    pub packets: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Of them, those that came after one with a higher number.
    pub late: u64,
    /// How many came again, as far as the last 128 numbers tell; beside the others.
    pub repeated: u64,
    /// When one came last, copies included.
    pub last_came: Option<Time>,
    /// How long they took.
    pub delays: Option<Delays>,
    /// How many it is known of how long they took.
    dated: u64,
    /// The number that is expected next.
    expected: u64,
    /// Which of the 128 numbers before it have come, the nearest first.
    come: u128,
    last: Duration,
    sum_nanos: u128,
}

/// One-way delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    /// The shortest.
    pub min: Duration,
    /// Their mean.
    pub mean: Duration,
    /// The longest.
    pub max: Duration,
    /// The interarrival jitter of RFC 3550 section 6.4.1, after the last one, in the order in which they arrived.
    pub jitter: Duration,
}

impl DatagramSink {
    /// The number after the highest that came.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// A datagram arrives.
    pub fn handle_datagram(&mut self, now: Time, datagram: Datagram) {
        if self.handle_undated(now, datagram.number, datagram.bytes) {
            self.add_delay(now.since(datagram.sent));
        }
    }

    /// A datagram of this number arrives, of which nobody knows when it was sent; whether it is one that had not come before.
    pub fn handle_undated(&mut self, now: Time, number: u64, bytes: u32) -> bool {
        self.last_came = Some(now);
        if number < self.expected {
            let place = (self.expected - 1 - number).try_into().ok().and_then(|place| 1_u128.checked_shl(place));
            if place.is_some_and(|place| self.come & place != 0) {
                self.repeated += 1;
                return false;
            }
            self.come |= place.unwrap_or(0);
            self.late += 1;
        } else {
            let ahead = (number - self.expected + 1).try_into().ok();
            self.come = ahead.and_then(|ahead| self.come.checked_shl(ahead)).unwrap_or(0) | 1;
            self.expected = number + 1;
        }
        self.packets += 1;
        self.bytes += u64::from(bytes);
        true
    }

    fn add_delay(&mut self, delay: Duration) {
        self.dated += 1;
        self.sum_nanos += u128::from(delay.as_nanos());
        let mean = Duration::from_nanos((self.sum_nanos / u128::from(self.dated)) as u64);
        self.delays = Some(match self.delays {
            None => Delays { min: delay, mean, max: delay, jitter: Duration::ZERO },
            Some(delays) => {
                let change = delay.as_nanos().abs_diff(self.last.as_nanos());
                let jitter = delays.jitter.as_nanos();
                // J + (|D| - J) / 16
                let jitter = jitter - jitter / 16 + change / 16;
                Delays {
                    min: delays.min.min(delay),
                    mean,
                    max: delays.max.max(delay),
                    jitter: Duration::from_nanos(jitter),
                }
            }
        });
        self.last = delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{self, Machine};
    use crate::distribution::Law;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn params(pacing: Pacing) -> Datagrams {
        let payload = Distribution::constant(100.0).unwrap();
        Datagrams { pacing, gap: Duration::from_millis(10), payload, start: ms(5), stop: ms(1_000), answered: false }
    }

    fn all(params: Datagrams, seed: u64) -> Vec<Datagram> {
        let mut source = DatagramSource::new(params, seed, 7);
        std::iter::from_fn(|| {
            let due = source.next_timeout()?;
            source.handle_timeout(due);
            source.poll()
        })
        .collect()
    }

    #[test]
    fn a_constant_rate_has_constant_gaps_from_start_to_stop() {
        let sent = all(params(Pacing::Constant), 1);
        assert!(sent.iter().map(|one| one.sent).eq((0..100).map(|n| ms(5 + 10 * n))), "the last at 995 ms");
        assert!(sent.iter().zip(0..).all(|(one, number)| one.number == number && one.bytes == 100));
    }

    /// Mean and coefficient of variation 1 of 200,000 exponential gaps.
    #[test]
    fn poisson_gaps_are_exponential() {
        let params = Datagrams { stop: Time::ZERO + Duration::from_secs(2_000), ..params(Pacing::Poisson) };
        let sent = all(params, 3);
        let gaps: Vec<f64> = sent.windows(2).map(|pair| pair[1].sent.since(pair[0].sent).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((0.00995..0.01005).contains(&mean), "{mean}");
        assert!((0.99..1.01).contains(&(variance.sqrt() / mean)), "{}", variance.sqrt() / mean);
    }

    #[test]
    fn busy_and_silent_times_take_turns() {
        let constant = |millis: f64| Distribution::constant(millis * 1e6).unwrap();
        let pacing = Pacing::OnOff { on: constant(31.0), off: constant(200.0) };
        // 200 silent, three datagrams in 30 ms, 200 silent, ...
        let expected = [205, 215, 225, 435, 445, 455, 665, 675, 685, 895, 905, 915];
        assert!(all(params(pacing), 1).iter().map(|one| one.sent).eq(expected.map(ms)));
        // Shares of time as drawn: busy a third of it.
        let exponential = |millis: f64| Distribution::new(Law::Exponential { mean: millis * 1e6 }).unwrap();
        let pacing = Pacing::OnOff { on: exponential(500.0), off: exponential(1_000.0) };
        let long = Datagrams { stop: Time::ZERO + Duration::from_secs(30_000), ..params(pacing) };
        let share = all(long, 5).len() as f64 / 3_000_000.0;
        assert!((0.32..0.35).contains(&share), "{share}");
    }

    #[test]
    fn runs_are_sent_as_they_were_seen() {
        let run = |first, length, packets, bytes| {
            Run::new(Duration::from_millis(first), Duration::from_millis(length), packets, bytes)
        };
        // The fifth is of fragments that were one datagram, the sixth of less bytes than datagrams.
        let runs = [
            run(0, 0, 1, 30),
            run(7, 20, 3, 1_001),
            run(27, 0, 2, 9),
            run(30, 3, 9, 0),
            run(40, 9, 1, 4_000),
            run(60, 1, 5, 2),
        ];
        let pacing = Pacing::Runs(runs.into_iter().flatten().collect());
        let sent: Vec<_> = all(params(pacing), 1).iter().map(|one| (one.number, one.sent, one.bytes)).collect();
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        let due = [5_000, 12_000, 22_000, 32_000, 32_000, 32_000, 45_000, 49_500, 54_000, 65_000, 66_000].map(at);
        let bytes = [30, 333, 334, 334, 4, 5, 1_333, 1_333, 1_334, 1, 1];
        assert_eq!(sent, (0..).zip(due).zip(bytes).map(|((n, due), bytes)| (n, due, bytes)).collect::<Vec<_>>());
        let nothing = Pacing::Runs(Arc::default());
        assert_eq!(all(params(nothing), 1), []);
    }

    /// Wherever runs are cut, both parts together send the same bytes at the same times, but for a nanosecond.
    #[test]
    fn cut_runs_send_the_same() {
        let sent = |run: Run| (0..run.packets).map(|at| (run.due(at).as_nanos(), run.share(at))).collect::<Vec<_>>();
        for (length, packets, bytes) in [(0, 1, 7), (0, 5, 12), (100, 2, 9), (103, 7, 1_001), (3, 9, 90)] {
            let nanos = Duration::from_nanos;
            let run = Run::new(nanos(10), nanos(length), packets, bytes).unwrap();
            for end in 0..130 {
                let [before, after] = run.split(nanos(end));
                let (before, after) = (before.map_or_else(Vec::new, sent), after.map_or_else(Vec::new, sent));
                assert!(
                    before.iter().all(|(at, _)| *at < end) && after.iter().all(|(at, _)| *at >= end),
                    "{run:?} {end}"
                );
                let times = before.iter().chain(&after).map(|(at, _)| *at);
                assert!(times.zip(sent(run)).all(|(at, (whole, _))| at.abs_diff(whole) <= 1), "{run:?} {end}");
                assert_eq!(before.iter().chain(&after).map(|(_, bytes)| u64::from(*bytes)).sum::<u64>(), bytes);
                assert_eq!(before.len() + after.len(), packets as usize);
            }
        }
    }

    #[test]
    fn payloads_fit_into_packets() {
        let payload = Distribution::new(Law::Exponential { mean: 700.0 }).unwrap();
        let sent = all(Datagrams { payload, stop: ms(20_000), ..params(Pacing::Constant) }, 2);
        assert!(sent.iter().all(|one| (1..=1_472).contains(&one.bytes)));
        assert!(sent.iter().any(|one| one.bytes == 1_472) && sent.iter().any(|one| one.bytes < 100));
    }

    impl Machine for DatagramSource {
        type Input = ();
        type Output = Datagram;

        fn input(&mut self, _: Time, (): &()) {}

        fn handle_timeout(&mut self, now: Time) {
            DatagramSource::handle_timeout(self, now);
        }

        fn poll(&mut self, _: Time) -> Option<Datagram> {
            DatagramSource::poll(self)
        }

        fn next_timeout(&self) -> Option<Time> {
            DatagramSource::next_timeout(self)
        }
    }

    #[test]
    fn keeps_the_calling_contract() {
        let exponential = |millis: f64| Distribution::new(Law::Exponential { mean: millis * 1e6 }).unwrap();
        let run = |first, packets| Run::new(Duration::from_millis(first), Duration::from_millis(40), packets, 1_000);
        let runs = Pacing::Runs([run(3, 5), run(50, 1), run(90, 7)].into_iter().flatten().collect());
        let onoff = Pacing::OnOff { on: exponential(30.0), off: exponential(50.0) };
        for pacing in [Pacing::Constant, Pacing::Poisson, onoff, runs] {
            let once = [(Time::ZERO, ())];
            contract::check(|| DatagramSource::new(params(pacing.clone()), 1, 1), &once, Duration::from_secs(2));
        }
    }

    #[test]
    fn delays_and_jitter_are_those_of_rfc_3550() {
        let mut sink = DatagramSink::default();
        // Sent every 20 ms; delays of 50, 50, 66, 34 ms; the third overtakes the second.
        for (number, sent, arrives) in [(0, 0, 50), (2, 40, 90), (1, 20, 86), (3, 60, 94)] {
            sink.handle_datagram(ms(arrives), Datagram { number, sent: ms(sent), bytes: 100 });
        }
        let delays = sink.delays.unwrap();
        let millis = Duration::from_millis;
        assert_eq!((delays.min, delays.mean, delays.max), (millis(34), millis(50), millis(66)));
        // 0; then 16 / 16 = 1; then 1 - 1/16 + 32 / 16 ms.
        assert_eq!(delays.jitter.as_nanos(), 1_000_000 - 62_500 + 2_000_000);
        assert_eq!((sink.packets, sink.bytes, sink.late, sink.repeated), (4, 400, 1, 0));
    }

    #[test]
    fn copies_are_told_from_what_is_late() {
        let mut sink = DatagramSink::default();
        for number in [0, 0, 3, 1, 3, 1, 2, 200, 2, 199, 199, 60] {
            sink.handle_datagram(ms(10), Datagram { number, sent: ms(0), bytes: 10 });
        }
        // 0, 3, 1, 2, 200, 199, and a second 2 and 60, of which nothing is known any more or nothing came.
        assert_eq!((sink.packets, sink.late, sink.repeated), (8, 5, 4));
    }
}
