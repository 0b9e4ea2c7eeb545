//! Flows of datagrams cut at times, for workloads in which vectors get new starts (methods M.5).
//!
//! A flow of datagrams is open-loop: what it sends when is known, whatever the network does. It can therefore be cut anywhere, and its
//! parts be sent at other times, without a change to any of them.

use std::collections::BTreeMap;
use std::ops::Range;

use flowloom_core::play::Run;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{
    Adu, ConnectionVector, DatagramSizes, Endpoint, PerSide, Protocol, SeenDatagram, Side, Span, sum,
};

/// Places inside each period at which flows are cut, at most.
const PLACES: usize = 4;

/// Where flows of datagrams are cut: at the same places inside each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Borders {
    period: Duration,
    /// After the begin of each period, in order. A place that stands here several times is one border.
    places: [Duration; PLACES],
}

impl Borders {
    /// At the multiples of `period`, which is at least a nanosecond.
    pub fn every(period: Duration) -> Borders {
        Borders { period: period.max(Duration::from_nanos(1)), places: [Duration::ZERO; PLACES] }
    }

    /// At the ends of this part of a workload, and before and behind it as often as it is long.
    pub fn around(part: &Range<Duration>) -> Borders {
        let borders = Borders::every(part.end.saturating_sub(part.start));
        Borders { places: [borders.within(part.start); PLACES], ..borders }
    }

    /// At the multiples of `period`, and where these times are within their periods: where a last period ends that a span has no more room
    /// for.
    pub fn every_and_at<const TIMES: usize>(period: Duration, times: [Duration; TIMES]) -> Borders {
        const { assert!(TIMES < PLACES) }
        let borders = Borders::every(period);
        let mut places = [Duration::ZERO; PLACES];
        places[..TIMES].copy_from_slice(&times.map(|time| borders.within(time)));
        places.sort_unstable();
        Borders { places, ..borders }
    }

    /// How far `time` is within its period.
    fn within(self, time: Duration) -> Duration {
        Duration::from_nanos(time.as_nanos() % self.period.as_nanos())
    }

    /// The end of the part that `time` is in.
    fn after(self, time: Time) -> Time {
        let within = self.within(time.since(Time::ZERO));
        let begin = time.as_nanos() - within.as_nanos();
        let next = self.places.into_iter().find(|place| *place > within);
        let next = next.unwrap_or_else(|| self.period + self.places[0]);
        Time::from_nanos(begin.saturating_add(next.as_nanos()))
    }

    /// The number of borders before the end of the part that `time` is in: parts that follow each other have greater ones.
    fn part(self, time: Time) -> u128 {
        let within = self.within(time.since(Time::ZERO));
        let passed = self.places.into_iter().filter(|place| *place <= within).count();
        u128::from(time.as_nanos() / self.period.as_nanos()) * PLACES as u128 + passed as u128
    }
}

/// `vector` cut at `borders`, in the order of the parts; whole if it is no flow of datagrams or none of the borders is within it. A part
/// starts with its first datagram. Together the parts hold each datagram once. Empty datagrams, which no replay sends, are in none.
pub fn parts(vector: ConnectionVector, borders: Borders) -> Vec<ConnectionVector> {
    let whole = Span { first: Duration::ZERO, last: vector.lifetime.unwrap_or_default() };
    let last = vector.adus.iter().map(|adu| adu.seen.unwrap_or(whole).last).max().unwrap_or_default();
    if vector.protocol == Protocol::Tcp || borders.part(vector.start) == borders.part(vector.start + last) {
        return vec![vector];
    }
    let mut parts: BTreeMap<u128, Part> = BTreeMap::new();
    for side in Side::BOTH {
        for (adu, known) in vector.adus_with_datagrams(side) {
            let span = adu.seen.unwrap_or(whole);
            if known.is_empty() && (adu.packets != Some(1) || adu.seen.is_none() || u32::try_from(adu.bytes).is_err()) {
                // As a replay sends what is not known one by one.
                let mut rest = Run::new(span.first, span.length(), adu.packets.unwrap_or(1), adu.bytes);
                while let Some(run) = rest {
                    let passes = vector.start + run.span().first;
                    let [first, others] = run.split(borders.after(passes).since(vector.start));
                    let Some(first) = first else { break };
                    parts.entry(borders.part(passes)).or_default().add_run(side, first);
                    rest = others;
                }
                continue;
            }
            let single = [SeenDatagram { bytes: adu.bytes as u32, gap: Duration::ZERO }];
            let (mut at, mut last_part) = (span.first, None);
            for datagram in if known.is_empty() { &single } else { known } {
                at += datagram.gap;
                let part = borders.part(vector.start + at);
                let is_new = last_part.replace(part) != Some(part);
                parts.entry(part).or_default().add(side, at, datagram.bytes, is_new);
            }
        }
    }
    parts.into_values().map(|part| part.of(&vector)).collect()
}

/// `vector`, which starts in this part of a workload, as the part holds it: what of a flow of datagrams lies behind its end is at its
/// beginning. A part in which starts are drawn is taken for a piece of a workload that goes on, where as much is left of earlier flows as
/// is cut from late ones.
pub fn wrapped(mut vector: ConnectionVector, part: &Range<Duration>) -> impl Iterator<Item = ConnectionVector> + use<> {
    let (begin, length) = (part.start, part.end.saturating_sub(part.start).max(Duration::from_nanos(1)));
    vector.start = vector.start.before(begin);
    parts(vector, Borders::every(length)).into_iter().map(move |part| {
        let start = match part.protocol {
            Protocol::Tcp => part.start,
            _ => Time::from_nanos(part.start.as_nanos() % length.as_nanos()),
        };
        ConnectionVector { start: start + begin, ..part }
    })
}

/// What of `vector` passes before `end`; all of it if it is no flow of datagrams.
pub fn until(vector: ConnectionVector, end: Duration) -> Option<ConnectionVector> {
    if vector.protocol == Protocol::Tcp {
        return Some(vector);
    }
    parts(vector, Borders::every(end)).into_iter().next().filter(|part| part.start < Time::ZERO + end)
}

/// A part of a flow.
#[derive(Debug, Default)]
struct Part {
    adus: Vec<Adu>,
    /// Those of ADUs of several.
    datagrams: PerSide<Vec<SeenDatagram>>,
    sizes: PerSide<Option<DatagramSizes>>,
    /// It has an ADU of several of which single datagrams are not known.
    is_evened: PerSide<bool>,
}

impl Part {
    /// Adds a datagram of `side` that passed at this time after the start of the flow, to the last ADU or as the first of another one.
    fn add(&mut self, side: Side, at: Duration, bytes: u32, is_new: bool) {
        let (datagrams, sizes) = (&mut self.datagrams[side], &mut self.sizes[side]);
        let all = sizes.get_or_insert(DatagramSizes { smallest: bytes, largest: bytes });
        *all = DatagramSizes { smallest: all.smallest.min(bytes), largest: all.largest.max(bytes) };
        let Some(last) = self.adus.last_mut().filter(|_| !is_new) else {
            let seen = Some(Span { first: at, last: at });
            let adu =
                Adu { side, bytes: bytes.into(), missing_bytes: 0, wait: None, waiter: side, seen, packets: Some(1) };
            self.adus.push(adu);
            return;
        };
        let seen = last.seen.unwrap_or_default();
        if last.packets == Some(1) {
            datagrams.push(SeenDatagram { bytes: last.bytes as u32, gap: Duration::ZERO });
        }
        datagrams.push(SeenDatagram { bytes, gap: at.saturating_sub(seen.last) });
        last.seen = Some(Span { last: at, ..seen });
        last.bytes += u64::from(bytes);
        last.packets = last.packets.map(|packets| packets + 1);
    }

    /// Adds an ADU of which single datagrams are not known.
    fn add_run(&mut self, side: Side, run: Run) {
        let packets = Some(u32::try_from(run.packets()).unwrap_or(u32::MAX));
        let (bytes, seen) = (run.bytes(), Some(run.span()));
        self.is_evened[side] |= run.packets() > 1;
        self.adus.push(Adu { side, bytes, missing_bytes: 0, wait: None, waiter: side, seen, packets });
    }

    /// As a vector, of which all else is as of `whole`.
    fn of(self, whole: &ConnectionVector) -> ConnectionVector {
        let Part { mut adus, datagrams, sizes, is_evened } = self;
        adus.sort_by_key(|adu| adu.seen.map(|seen| seen.first));
        let span = adus.iter().filter_map(|adu| adu.seen).reduce(Span::and).unwrap_or_default();
        for adu in &mut adus {
            let earlier = |at: Duration| at.saturating_sub(span.first);
            adu.seen = adu.seen.map(|Span { first, last }| Span { first: earlier(first), last: earlier(last) });
        }
        for at in 1..adus.len() {
            let next = adus[at];
            let passed = adus[at - 1].seen.unwrap_or_default().last;
            adus[at - 1].wait = next.seen.map(|seen| seen.first.saturating_sub(passed));
            adus[at - 1].waiter = next.side;
        }
        let sides = PerSide { initiator: Side::Initiator, acceptor: Side::Acceptor };
        let ends = sides.map(|side| of_end(whole, side, &adus, sizes[side]));
        let mut datagrams = datagrams;
        for side in Side::BOTH.into_iter().filter(|side| is_evened[*side]) {
            // Lists are of all ADUs of an end or of none.
            datagrams[side] = Vec::new();
        }
        ConnectionVector {
            start: whole.start + span.first,
            lifetime: Some(span.length()),
            ends,
            datagrams,
            adus,
            ..without_data(whole)
        }
    }
}

/// `vector` without its data.
fn without_data(vector: &ConnectionVector) -> ConnectionVector {
    ConnectionVector {
        label: vector.label,
        id: vector.id,
        protocol: vector.protocol,
        ip_version: vector.ip_version,
        evidence: vector.evidence,
        start: vector.start,
        initiator_side: vector.initiator_side,
        initiator_rule: vector.initiator_rule,
        pattern: vector.pattern,
        complete: vector.complete,
        stated_rtt: vector.stated_rtt,
        ..ConnectionVector::default()
    }
}

/// What is known of the end `side` of a part that has these ADUs.
fn of_end(whole: &ConnectionVector, side: Side, adus: &[Adu], sizes: Option<DatagramSizes>) -> Endpoint {
    let end = whole.ends[side];
    let own = || adus.iter().filter(|adu| adu.side == side);
    let packets = sum(own().map(|adu| adu.packets.unwrap_or(1).into()));
    let payload = sum(own().map(|adu| adu.bytes));
    // Headers of a flow are alike.
    let headers = end.ip_bytes.map(|bytes| bytes.saturating_sub(whole.bytes(side)));
    let share = |headers: u64| u128::from(headers) * u128::from(packets) / u128::from(end.packets.unwrap_or(0).max(1));
    Endpoint {
        packets: end.packets.map(|_| packets),
        ip_bytes: headers.map(|headers| sum([payload, share(headers) as u64])),
        datagram_sizes: if own().next().is_some() { sizes.or(end.datagram_sizes) } else { None },
        ..end
    }
}

/// The vectors of a workload in the order of their starts, flows of datagrams cut at borders; parts that start later wait in memory.
pub struct InParts<I> {
    vectors: I,
    borders: Borders,
    /// By start, of equal ones in the order in which they were read.
    waiting: BTreeMap<(Time, u64), ConnectionVector>,
    count: u64,
    /// When the last vector starts that was read; `None` when all were.
    read: Option<Time>,
}

impl<I> InParts<I> {
    /// Of `vectors`, which are in the order of their starts.
    pub fn new(vectors: I, borders: Borders) -> InParts<I> {
        InParts { vectors, borders, waiting: BTreeMap::new(), count: 0, read: Some(Time::ZERO) }
    }
}

impl<I: Iterator<Item = Result<ConnectionVector, E>>, E> Iterator for InParts<I> {
    type Item = Result<ConnectionVector, E>;

    fn next(&mut self) -> Option<Self::Item> {
        // Vectors that were not read yet start with the last one or later.
        while self.read.is_some_and(|read| self.waiting.first_key_value().is_none_or(|((start, _), _)| *start > read)) {
            match self.vectors.next() {
                None => self.read = None,
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(vector)) => {
                    self.read = Some(vector.start);
                    for part in parts(vector, self.borders) {
                        self.waiting.insert((part.start, self.count), part);
                        self.count += 1;
                    }
                }
            }
        }
        self.waiting.pop_first().map(|(_, vector)| Ok(vector))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Side::{Acceptor as A, Initiator as I};

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + MS(milliseconds)
    }

    /// A flow that starts at 900 ms: 10 datagrams of 100 to 109 bytes every 30 ms, an answer after 10 ms more, and 50 bytes after a second.
    fn flow() -> ConnectionVector {
        let adu = |side, bytes, first, last, packets, wait, waiter| Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait,
            waiter,
            seen: Some(Span { first: MS(first), last: MS(last) }),
            packets: Some(packets),
        };
        let datagrams = (0..10).map(|n| SeenDatagram { bytes: 100 + n, gap: MS(if n == 0 { 0 } else { 30 }) });
        let mut vector = ConnectionVector {
            protocol: Protocol::Udp,
            start: at(900),
            lifetime: Some(MS(1_280)),
            adus: vec![
                adu(I, 1_045, 0, 270, 10, Some(MS(10)), A),
                adu(A, 40, 280, 280, 1, Some(MS(1_000)), I),
                adu(I, 50, 1_280, 1_280, 1, None, I),
            ],
            datagrams: PerSide { initiator: datagrams.collect(), acceptor: Vec::new() },
            ..ConnectionVector::default()
        };
        let sizes = DatagramSizes { smallest: 50, largest: 109 };
        vector.ends.initiator = Endpoint {
            packets: Some(11),
            ip_bytes: Some(1_095 + 11 * 28),
            datagram_sizes: Some(sizes),
            ..Endpoint::default()
        };
        vector.ends.acceptor = Endpoint { packets: Some(1), ip_bytes: Some(68), ..Endpoint::default() };
        vector
    }

    /// When datagrams pass, who sent them, and their bytes, in this order.
    fn passes<'a>(vectors: impl IntoIterator<Item = &'a ConnectionVector>) -> Vec<(u64, u8, u64)> {
        let mut passes = Vec::new();
        for vector in vectors {
            for side in Side::BOTH {
                passes.extend(vector.single_datagrams(side).map(|adu| {
                    assert_eq!(adu.packets, Some(1));
                    ((vector.start + adu.seen.unwrap().first).as_nanos() / 1_000_000, side as u8, adu.bytes)
                }));
            }
        }
        passes.sort_unstable();
        passes
    }

    #[test]
    fn parts_hold_each_datagram_once() {
        let whole = flow();
        let cut = parts(whole.clone(), Borders::every(MS(1_000)));
        assert_eq!(cut.iter().map(|part| part.start).collect::<Vec<_>>(), [at(900), at(1_020), at(2_180)]);
        assert_eq!(passes(&cut), passes([&whole]));
        let facts = |part: &ConnectionVector| {
            let adus = part
                .adus
                .iter()
                .map(|adu| (adu.side, adu.bytes, adu.packets, adu.wait, adu.waiter))
                .collect::<Vec<_>>();
            (adus, part.lifetime, part.ends.map(|end| (end.packets, end.ip_bytes)))
        };
        let nothing = (Some(0), Some(0));
        assert_eq!(
            facts(&cut[0]),
            (
                vec![(I, 406, Some(4), None, I)],
                Some(MS(90)),
                PerSide { initiator: (Some(4), Some(406 + 4 * 28)), acceptor: nothing }
            )
        );
        assert_eq!(facts(&cut[1]).0, [(I, 639, Some(6), Some(MS(10)), A), (A, 40, Some(1), None, A)]);
        assert_eq!(facts(&cut[2]).2, PerSide { initiator: (Some(1), Some(78)), acceptor: nothing });
        let sizes = |part: &ConnectionVector| {
            part.ends.map(|end| end.datagram_sizes.map(|sizes| (sizes.smallest, sizes.largest)))
        };
        assert_eq!(sizes(&cut[1]), PerSide { initiator: Some((104, 109)), acceptor: Some((40, 40)) });
        assert_eq!(sizes(&cut[2]), PerSide { initiator: Some((50, 50)), acceptor: None });
    }

    #[test]
    fn what_no_border_cuts_stays_whole() {
        let whole = flow();
        assert_eq!(parts(whole.clone(), Borders::every(MS(10_000))), std::slice::from_ref(&whole));
        let connection = ConnectionVector { protocol: Protocol::Tcp, ..whole };
        assert_eq!(parts(connection.clone(), Borders::every(MS(1_000))), [connection]);
    }

    /// Borders at 0.4 and 1 s of each second: where a last slot of 0.4 s ends.
    #[test]
    fn a_border_within_periods_cuts_too() {
        let borders = Borders::every_and_at(MS(1_000), [MS(5_400)]);
        let mut vector = flow();
        vector.start = at(300);
        let starts: Vec<Time> = parts(vector, borders).iter().map(|part| part.start).collect();
        assert_eq!(starts, [at(300), at(420), at(1_580)]);
    }

    /// Of the part from 1.1 to 2.1 s: borders at 0.1, 1.1, 2.1 s, and so on.
    #[test]
    fn flows_are_cut_where_a_part_begins_and_ends() {
        let borders = Borders::around(&(MS(1_100)..MS(2_100)));
        let cut = parts(flow(), borders);
        assert_eq!(cut.iter().map(|part| part.start).collect::<Vec<_>>(), [at(900), at(1_110), at(2_180)]);
        assert_eq!(passes(&cut), passes([&flow()]));
        assert_eq!([at(99), at(100), at(1_099), at(1_100)].map(|time| borders.part(time)), [0, 4, 4, 8]);
        assert_eq!(
            [at(0), at(100), at(1_099), at(1_100)].map(|time| borders.after(time)),
            [100, 1_100, 1_100, 2_100].map(at)
        );
        // A part of no length is cut everywhere, and the number of parts does not overflow.
        assert!(Borders::around(&(MS(5)..MS(5))).part(Time::from_nanos(u64::MAX)) > u128::from(u64::MAX));
    }

    /// From 600 ms on for 1 s: what passes at 1,180 and 2,180 ms stays, or comes a second earlier.
    #[test]
    fn what_lies_behind_a_part_comes_at_its_beginning() {
        let made: Vec<ConnectionVector> = wrapped(flow(), &(MS(600)..MS(1_600))).collect();
        let mut expected = passes([&flow()]);
        expected.iter_mut().for_each(|(time, _, _)| *time = (*time - 600) % 1_000 + 600);
        expected.sort_unstable();
        assert_eq!(passes(&made), expected);
    }

    /// 1,001 bytes in 20 datagrams over 1.9 s, of which no more is known; and a flow record of 3,000 bytes in 2 s.
    #[test]
    fn what_is_not_known_one_by_one_is_spread_evenly() {
        let mut vector = flow();
        vector.datagrams = PerSide::default();
        vector.adus = vec![Adu { bytes: 1_001, packets: Some(20), wait: None, ..vector.adus[0] }];
        vector.adus[0].seen = Some(Span { first: Duration::ZERO, last: MS(1_900) });
        let cut = parts(vector.clone(), Borders::every(MS(1_000)));
        let adus: Vec<_> = cut.iter().map(|part| (part.start, part.adus[0].bytes, part.adus[0].packets)).collect();
        // 50.05 bytes each: 900 ms; 1,000 to 1,900 ms; 2,000 to 2,800 ms.
        assert_eq!(adus, [(at(900), 50, Some(1)), (at(1_000), 500, Some(10)), (at(2_000), 451, Some(9))]);
        vector.adus[0] = Adu { bytes: 3_000, packets: None, seen: None, ..vector.adus[0] };
        vector.lifetime = Some(MS(2_000));
        let cut = parts(vector.clone(), Borders::every(MS(1_000)));
        let adus: Vec<_> = cut.iter().map(|part| (part.start, part.adus[0].bytes)).collect();
        assert_eq!(adus, [(at(900), 1_000), (at(1_900), 1_000), (at(2_900), 1_000)]);
        // Six gigabytes in 2 s.
        vector.adus[0].bytes = 6_000_000_000;
        vector.adus[0].seen = Some(Span { first: Duration::ZERO, last: MS(2_000) });
        let bytes: Vec<u64> = parts(vector, Borders::every(MS(1_000))).iter().map(|part| part.adus[0].bytes).collect();
        assert_eq!(bytes.iter().sum::<u64>(), 6_000_000_000);
        assert!(bytes[1].abs_diff(3_000_000_000) < 10_000, "{bytes:?}");
    }

    #[test]
    fn what_lies_behind_the_end_comes_at_the_beginning() {
        let whole = flow();
        let made: Vec<ConnectionVector> = wrapped(whole.clone(), &(MS(0)..MS(1_000))).collect();
        let mut expected = passes([&whole]);
        expected.iter_mut().for_each(|(time, _, _)| *time %= 1_000);
        expected.sort_unstable();
        assert_eq!(passes(&made), expected);
        let before = until(whole.clone(), MS(1_000)).unwrap();
        assert_eq!(passes([&before]), passes([&whole])[..4]);
        assert_eq!(until(whole, MS(900)), None);
    }

    #[test]
    fn parts_are_in_order_among_other_vectors() {
        let other = |start| ConnectionVector { start: at(start), ..ConnectionVector::default() };
        let vectors = [other(0), flow(), other(900), other(1_019), other(1_020), other(3_000)];
        let made = InParts::new(vectors.map(Ok::<_, ()>).into_iter(), Borders::every(MS(1_000)));
        let starts: Vec<Time> = made.map(|vector| vector.unwrap().start).collect();
        assert_eq!(starts, [0, 900, 900, 1_019, 1_020, 1_020, 2_180, 3_000].map(at));
    }
}
