//! Latency under load: what probes beside the traffic met.

use serde::Serialize;

use flowloom_core::record::{ProbeKind, ProbeRecord};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;

use crate::quantities::{Quantities, at_least};
use crate::statistics::Sample;

/// What is said wherever probes are shown.
pub(crate) const NOTE: &str = "What probes meet is not the delay of the queue: a queue that is fair to flows takes probes, which send \
                               little, before the flows that fill it.";

/// The probes of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Probes {
    records: Vec<ProbeRecord>,
    /// When the last thing happened that the tables hold.
    last_seen: Time,
}

impl Probes {
    /// Takes a probe that was sent in the window.
    pub(crate) fn add(&mut self, probe: &ProbeRecord) {
        self.records.push(*probe);
    }

    /// To be called after the last: those that were under way when the run ended had waited until this time.
    pub(crate) fn finish(&mut self, last_seen: Time) {
        self.records.sort_by_key(|probe| (probe.kind, probe.sent, probe.number));
        self.last_seen = last_seen;
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Those that were answered, of either kind.
    pub(crate) fn answered(&self) -> u64 {
        self.records.iter().filter(|probe| probe.round_trip.is_some()).count() as u64
    }

    fn of(&self, kind: ProbeKind) -> impl Iterator<Item = &ProbeRecord> + '_ {
        self.records.iter().filter(move |probe| probe.kind == kind)
    }

    /// Nanoseconds from sending a probe to its answer: of a datagram its round trip, of a request from the SYN to the last byte of the
    /// response. Lost probes have none; those that were under way at the end take at least as long as they were seen to.
    pub(crate) fn times(&self, kind: ProbeKind) -> Sample {
        let known = self.of(kind).filter_map(ProbeRecord::total).map(|time| time.as_nanos() as f64);
        let open = self.of(kind).filter(|probe| probe.round_trip.is_none() && !probe.lost);
        let open: Vec<f64> = open.map(|probe| self.last_seen.since(probe.sent).as_nanos() as f64).collect();
        Sample::new(known).with_unfinished(&open)
    }

    /// Nanoseconds that connections of requests took to be established.
    fn connects(&self) -> Sample {
        Sample::new(self.of(ProbeKind::Request).filter_map(|probe| probe.connect).map(|time| time.as_nanos() as f64))
    }

    /// Nanoseconds that datagrams of probes took one way, of those that came from `from`; none where the ends have different clocks.
    ///
    /// Nobody knows on which way a probe without an answer was when the run ended. It has a value of at least 0 on both, so that means
    /// and quantiles are the lower bounds that they are: without it, the slower a link is, the more of its longest delays are missing.
    pub(crate) fn one_way(&self, from: LinkSide) -> Sample {
        let way = |probe: &ProbeRecord| if probe.from == from { probe.there } else { probe.back };
        let known = Sample::new(self.of(ProbeKind::Datagram).filter_map(way).map(|time| time.as_nanos() as f64));
        if known.is_empty() {
            return known;
        }
        let open = self.of(ProbeKind::Datagram).filter(|probe| probe.round_trip.is_none() && !probe.lost).count();
        known.with_unfinished(&vec![0.0; open])
    }

    /// Probes of a kind that were sent, answered and lost.
    pub(crate) fn counts(&self, kind: ProbeKind) -> ProbeCounts {
        let mut counts = ProbeCounts::default();
        for probe in self.of(kind) {
            counts.sent += 1;
            counts.answered += u64::from(probe.round_trip.is_some());
            counts.lost += u64::from(probe.lost);
        }
        counts
    }

    /// The mean of [`Self::times`] of the probes that were sent in each bin from `start` on, in nanoseconds; NaN in a bin whose probes
    /// have no answer. Empty if no probe has an answer.
    pub(crate) fn series(&self, kind: ProbeKind, start: Time, bin: Duration, bins: usize) -> Vec<f64> {
        let mut sums = vec![(0.0, 0_u64); bins];
        for probe in self.of(kind) {
            let place = (probe.sent.since(start).as_nanos() / bin.as_nanos().max(1)) as usize;
            if let (Some(time), Some((sum, count))) = (probe.total(), sums.get_mut(place)) {
                *sum += time.as_nanos() as f64;
                *count += 1;
            }
        }
        if sums.iter().all(|(_, count)| *count == 0) {
            return Vec::new();
        }
        // Zero by zero is NaN.
        sums.iter().map(|(sum, count)| sum / *count as f64).collect()
    }
}

/// Probes by what became of them; the rest were under way when the run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeCounts {
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    pub(crate) lost: u64,
}

impl ProbeCounts {
    /// Those of another run added.
    #[must_use]
    pub(crate) fn plus(self, other: ProbeCounts) -> ProbeCounts {
        ProbeCounts {
            sent: self.sent + other.sent,
            answered: self.answered + other.answered,
            lost: self.lost + other.lost,
        }
    }

    /// Lost ones over lost and answered ones; `None` without any.
    pub(crate) fn loss_share(self) -> Option<f64> {
        let over = self.lost + self.answered;
        (over > 0).then(|| self.lost as f64 / over as f64)
    }
}

/// The kinds, in the order of tables.
pub(crate) const KINDS: [ProbeKind; 2] = [ProbeKind::Datagram, ProbeKind::Request];

/// A kind as tables have it.
pub(crate) fn kind_name(kind: ProbeKind) -> &'static str {
    match kind {
        ProbeKind::Datagram => "datagram",
        ProbeKind::Request => "request",
    }
}

/// What the probes of a kind met, within the window. It is not the delay of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProbesOfKind {
    /// `datagram` or `request`, as in `probes.parquet`.
    pub kind: &'static str,
    /// Probes that were sent.
    pub sent: u64,
    /// Those that were answered.
    pub answered: u64,
    /// Those that have no answer, and for which none could come.
    pub lost: u64,
    /// Lost ones over lost and answered ones; null without any.
    pub loss_share: Option<f64>,
    /// From a datagram to its answer, or from a SYN to the last byte of the response.
    pub time_ns: Quantities,
    /// The 95 % quantile of the same; null where it is not known.
    pub time_p95_ns: Option<f64>,
    /// What it is at least where probes under way decide it; null elsewhere.
    pub time_p95_at_least_ns: Option<f64>,
    /// Of it the time until a connection was established; empty of datagrams.
    pub connect_ns: Quantities,
    /// One-way delay from left to right; empty of requests, and where the ends have different clocks.
    pub left_to_right_ns: Quantities,
    /// The same from right to left.
    pub right_to_left_ns: Quantities,
}

impl ProbesOfKind {
    /// Those of each kind that was sent; empty without probes.
    pub(crate) fn of(probes: &Probes) -> Vec<ProbesOfKind> {
        let of_kind = |kind| {
            let counts = probes.counts(kind);
            let times = probes.times(kind);
            let one_way = |from| match kind {
                ProbeKind::Datagram => Quantities::of(&probes.one_way(from)),
                ProbeKind::Request => Quantities::default(),
            };
            let connects = if kind == ProbeKind::Request { probes.connects() } else { Sample::default() };
            ProbesOfKind {
                kind: kind_name(kind),
                sent: counts.sent,
                answered: counts.answered,
                lost: counts.lost,
                loss_share: counts.loss_share(),
                time_ns: Quantities::of(&times),
                time_p95_ns: times.quantile(0.95),
                time_p95_at_least_ns: at_least(&times, 0.95),
                connect_ns: Quantities::of(&connects),
                left_to_right_ns: one_way(LinkSide::Left),
                right_to_left_ns: one_way(LinkSide::Right),
            }
        };
        KINDS.into_iter().map(of_kind).filter(|probes| probes.sent > 0).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn probe(kind: ProbeKind, sent_ms: u64, round_trip_ms: Option<u64>, lost: bool) -> ProbeRecord {
        let millis = Duration::from_millis;
        ProbeRecord {
            number: sent_ms,
            kind,
            from: LinkSide::Right,
            sent: Time::ZERO + millis(sent_ms),
            connect: (kind == ProbeKind::Request).then(|| millis(10)),
            round_trip: round_trip_ms.map(millis),
            there: round_trip_ms.filter(|_| kind == ProbeKind::Datagram).map(|time| millis(time - 1)),
            back: round_trip_ms.filter(|_| kind == ProbeKind::Datagram).map(|_| millis(1)),
            lost,
        }
    }

    /// Four datagrams, of which one is lost and the others take 4, 6 and 8 ms, and two requests: one of 30 ms, and one that has waited for
    /// 100 ms when the run ends after 400 ms.
    pub(crate) fn mixed() -> [ProbeRecord; 6] {
        [
            probe(ProbeKind::Datagram, 0, Some(4), false),
            probe(ProbeKind::Datagram, 250, Some(8), false),
            probe(ProbeKind::Datagram, 10, Some(6), false),
            probe(ProbeKind::Datagram, 20, None, true),
            probe(ProbeKind::Request, 30, Some(20), false),
            probe(ProbeKind::Request, 300, None, false),
        ]
    }

    /// The same in results.
    pub(crate) fn mixed_probes() -> Probes {
        let mut probes = Probes::default();
        mixed().iter().for_each(|one| probes.add(one));
        probes.finish(Time::ZERO + Duration::from_millis(400));
        probes
    }

    /// Two of four datagrams were under way at the end, on either way.
    #[test]
    fn one_way_delays_under_way_are_lower_bounds() {
        let mut probes = Probes::default();
        for (sent_ms, took) in [(0, Some(4)), (10, Some(8)), (20, None), (30, None)] {
            probes.add(&probe(ProbeKind::Datagram, sent_ms, took, false));
        }
        probes.finish(Time::ZERO + Duration::from_millis(400));
        let [found] = &ProbesOfKind::of(&probes)[..] else { panic!("one kind") };
        let there = found.right_to_left_ns;
        assert_eq!((there.n, there.unfinished, there.mean), (4, 2, Some(2.5e6)), "{there:?}");
        assert_eq!((there.p99, found.left_to_right_ns.unfinished), (None, 2));
        // Ends with different clocks know no way.
        let apart = |one: &ProbeRecord| ProbeRecord { there: None, back: None, ..*one };
        probes.records = probes.records.iter().map(apart).collect();
        assert!(probes.one_way(LinkSide::Right).is_empty());
    }

    #[test]
    fn probes_are_counted_by_kind() {
        let probes = mixed_probes();
        let [datagrams, requests] = &ProbesOfKind::of(&probes)[..] else { panic!("two kinds") };
        assert_eq!((datagrams.sent, datagrams.answered, datagrams.lost), (4, 3, 1));
        assert_eq!((datagrams.loss_share, datagrams.time_ns.mean), (Some(0.25), Some(6e6)));
        // From the right all but the last millisecond.
        assert_eq!((datagrams.right_to_left_ns.max, datagrams.left_to_right_ns.max), (Some(7e6), Some(1e6)));
        assert_eq!((requests.sent, requests.answered, requests.lost, requests.loss_share), (2, 1, 0, Some(0.0)));
        assert_eq!((requests.time_ns.p50, requests.connect_ns.n), (Some(30e6), 2));
        assert_eq!((requests.time_ns.p99, requests.time_ns.p99_at_least), (None, Some(100e6)));
        let series = probes.series(ProbeKind::Datagram, Time::ZERO, Duration::from_millis(100), 4);
        assert_eq!((series[0], series[2], series.len()), (5e6, 8e6, 4));
        assert!(series[1].is_nan() && series[3].is_nan(), "bins without answers: {series:?}");
    }
}
