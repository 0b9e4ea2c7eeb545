//! One flow of UDP datagrams: what its two ends sent, as far as a monitor between them can tell without TCP's numbers.
//!
//! Every datagram counts in full when it passes: there is nothing to tell repeated ones from new ones, nor lost ones from
//! those never sent. An ADU is a run of datagrams in one direction without a silence longer than [`Options::quiet`]; it
//! ends where the direction changes or such a silence begins. So the ends take turns by definition
//! ([`Pattern::Sequential`]): whether one waited for the other cannot be told. QUIC's datagrams are taken as they are, with
//! its headers and acknowledgements, and marked ([`Protocol::Quic`]). Of an ADU of several datagrams the size and the time of
//! each are kept (methods A.13.8).
//!
//! [`Options::quiet`]: super::Options::quiet

use crate::time::{Duration, Time};
use crate::workload::{
    Adu, Close, ConnectionVector, DatagramSizes, Endpoint, Evidence, Pattern, PerSide, Protocol, SeenDatagram, Side,
    Span,
};

use super::counts::Class;
use super::observer::Identity;
use super::seen::Seen;

/// Datagrams in which a QUIC connection shows its long header: those of the handshake.
const QUIC_SHOWS_WITHIN: u64 = 8;

/// ADUs after which a flow is cut in two: two voices that talk at once make one of every packet, for hours.
const MOST_ADUS: usize = 65_536;

/// Datagrams in ADUs of several after which a flow is cut in two: they take 16 MB.
const MOST_DATAGRAMS: usize = 1 << 20;

/// Datagrams of one direction without a long silence.
#[derive(Clone, Copy, Debug)]
struct Run {
    side: Side,
    packets: u32,
    bytes: u64,
    first: Duration,
    last: Duration,
}

/// One end.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    packets: u64,
    ip_bytes: u64,
    sizes: Option<DatagramSizes>,
}

/// Watches one flow of datagrams and makes its vector.
///
/// Call [`DatagramObserver::handle_datagram`] for each datagram as it passes, in the order of the capture; its clock may
/// run backwards, and an earlier time then counts as the latest so far. End the flow with [`DatagramObserver::finish`]
/// when it [is full](DatagramObserver::is_full), has been silent for long enough, or the capture is over; a datagram that
/// follows begins another.
#[derive(Clone, Debug)]
pub(super) struct DatagramObserver {
    start: Time,
    quiet: Duration,
    /// Of the latest datagram, from the start.
    now: Duration,
    ends: PerSide<End>,
    quic: bool,
    runs: Vec<Run>,
    /// Those of runs of several, in their order.
    datagrams: PerSide<Vec<SeenDatagram>>,
}

impl DatagramObserver {
    /// A flow whose first datagram passes at `start`; a silence longer than `quiet` ends an ADU.
    pub fn new(start: Time, quiet: Duration) -> DatagramObserver {
        let ends = PerSide::default();
        DatagramObserver {
            start,
            quiet,
            now: Duration::ZERO,
            ends,
            quic: false,
            runs: Vec::new(),
            datagrams: PerSide::default(),
        }
    }

    /// Takes in a datagram that `sender` sent and that passed at `time`; `quic` if it has a QUIC long header. An empty one
    /// is counted and is no data.
    pub fn handle_datagram(&mut self, time: Time, sender: Side, seen: &Seen, quic: bool) {
        self.now = self.now.max(time.since(self.start));
        let (end, bytes) = (&mut self.ends[sender], seen.payload_bytes);
        end.packets += 1;
        end.ip_bytes += u64::from(seen.ip_bytes);
        let sizes = end.sizes.get_or_insert(DatagramSizes { smallest: bytes, largest: bytes });
        sizes.smallest = sizes.smallest.min(bytes);
        sizes.largest = sizes.largest.max(bytes);
        self.quic |= quic && self.packets() <= QUIC_SHOWS_WITHIN;
        if bytes == 0 {
            return;
        }
        let run = Run { side: sender, packets: 1, bytes: u64::from(bytes), first: self.now, last: self.now };
        if self.runs.is_empty() {
            // A query and its answer need no more.
            self.runs.reserve_exact(2);
        }
        match self.runs.last_mut() {
            Some(last) if last.side == sender && self.now.saturating_sub(last.last) <= self.quiet => {
                let datagrams = &mut self.datagrams[sender];
                if last.packets == 1 {
                    datagrams.push(SeenDatagram { bytes: last.bytes as u32, gap: Duration::ZERO });
                }
                datagrams.push(SeenDatagram { bytes, gap: self.now.saturating_sub(last.last) });
                last.packets += 1;
                last.bytes += run.bytes;
                last.last = run.last;
            }
            _ => self.runs.push(run),
        }
    }

    /// When the latest datagram passed.
    pub fn last_seen(&self) -> Time {
        self.start + self.now
    }

    /// Whether it holds as many ADUs (65,536) or datagrams (1,048,576) as a vector may have: the flow is to be ended, and goes on in
    /// another.
    pub fn is_full(&self) -> bool {
        let PerSide { initiator, acceptor } = &self.datagrams;
        self.runs.len() >= MOST_ADUS || initiator.len() + acceptor.len() >= MOST_DATAGRAMS
    }

    /// Datagrams of both ends so far.
    pub fn packets(&self) -> u64 {
        self.ends.initiator.packets + self.ends.acceptor.packets
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        let PerSide { initiator, acceptor } = &self.datagrams;
        let datagrams = initiator.capacity() + acceptor.capacity();
        self.runs.capacity() * size_of::<Run>() + datagrams * size_of::<SeenDatagram>()
    }

    /// The flow is over: its class and vector.
    ///
    /// It can be replayed if it has data, be it of one end only: streams, logs and announcements wait for no answer. Its
    /// silent end has then sent no packets.
    pub fn finish(&mut self, identity: Identity) -> (Class, ConnectionVector) {
        let runs = std::mem::take(&mut self.runs);
        let adus: Vec<Adu> = runs
            .iter()
            .enumerate()
            .map(|(at, run)| {
                let next = runs.get(at + 1);
                Adu {
                    side: run.side,
                    bytes: run.bytes,
                    missing_bytes: 0,
                    wait: next.map(|next| next.first.saturating_sub(run.last)),
                    waiter: next.map_or(run.side, |next| next.side),
                    seen: Some(Span { first: run.first, last: run.last }),
                    packets: Some(run.packets),
                }
            })
            .collect();
        let class = match adus.is_empty() {
            true => Class::NoData,
            false => Class::Replayable { pattern: Pattern::Sequential, complete: false },
        };
        let endpoint = |end: End| Endpoint {
            packets: Some(end.packets),
            ip_bytes: Some(end.ip_bytes),
            datagram_sizes: end.sizes,
            ..Endpoint::default()
        };
        let vector = ConnectionVector {
            id: identity.id,
            label: None,
            protocol: if self.quic { Protocol::Quic } else { Protocol::Udp },
            ip_version: identity.ip_version,
            evidence: Evidence::Packets,
            start: identity.start,
            initiator_side: identity.initiator_side,
            initiator_rule: identity.initiator_rule,
            pattern: Pattern::Sequential,
            complete: false,
            handshake_repeated: false,
            syn_rtt: None,
            stated_rtt: None,
            lifetime: Some(self.now),
            ends: self.ends.map(endpoint),
            close: Close::NotSeen,
            t_close: None,
            adus,
            pauses: PerSide::default(),
            datagrams: std::mem::take(&mut self.datagrams),
            losses: PerSide::default(),
            syn_repeats: Vec::new(),
            read_pauses: PerSide::default(),
            delays: PerSide::default(),
        };
        (class, vector)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::workload::{InitiatorRule, LinkSide};
    use Side::{Acceptor as A, Initiator as I};

    /// Captures begin here: 2026, not zero.
    const EPOCH: Time = Time::from_nanos(1_780_000_000_000_000_000);
    const QUIET: Duration = Duration::from_millis(500);

    fn datagram(payload_bytes: u32) -> Seen {
        Seen { payload_bytes, ip_bytes: payload_bytes + 28, ..Seen::default() }
    }

    fn identity() -> Identity {
        Identity {
            id: 7,
            start: Time::from_nanos(5),
            initiator_side: LinkSide::Right,
            initiator_rule: InitiatorRule::Port,
            near: None,
            ip_version: None,
        }
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Datagrams as (milliseconds, sender, payload bytes).
    fn observe(datagrams: &[(u64, Side, u32)]) -> DatagramObserver {
        let mut observer = DatagramObserver::new(EPOCH + ms(datagrams.first().map_or(0, |first| first.0)), QUIET);
        for &(time, sender, bytes) in datagrams {
            observer.handle_datagram(EPOCH + ms(time), sender, &datagram(bytes), false);
        }
        observer
    }

    /// Of an ADU: sender, bytes, packets, first and last milliseconds, wait, waiter.
    type Facts = (Side, u64, u32, u64, u64, Option<u64>, Side);

    fn adus(vector: &ConnectionVector) -> Vec<Facts> {
        let millis = |duration: Duration| duration.as_nanos() / 1_000_000;
        let of = |adu: &Adu| {
            let seen = adu.seen.expect("observed");
            let (first, last) = (millis(seen.first), millis(seen.last));
            (adu.side, adu.bytes, adu.packets.expect("datagrams"), first, last, adu.wait.map(millis), adu.waiter)
        };
        vector.adus.iter().map(of).collect()
    }

    #[test]
    fn a_query_and_its_answer() {
        let mut observer = observe(&[(100, I, 40), (120, A, 200)]);
        assert_eq!(observer.last_seen(), EPOCH + ms(120));
        let (class, vector) = observer.finish(identity());
        assert_eq!(class, Class::Replayable { pattern: Pattern::Sequential, complete: false });
        assert_eq!(adus(&vector), [(I, 40, 1, 0, 0, Some(20), A), (A, 200, 1, 20, 20, None, A)]);
        assert_eq!((vector.id, vector.start, vector.protocol), (7, Time::from_nanos(5), Protocol::Udp));
        assert_eq!((vector.initiator_side, vector.initiator_rule), (LinkSide::Right, InitiatorRule::Port));
        assert_eq!((vector.lifetime, vector.close, vector.complete), (Some(ms(20)), Close::NotSeen, false));
        let end = vector.ends.acceptor;
        assert_eq!((end.packets, end.ip_bytes, end.segments, end.min_transit), (Some(1), Some(228), None, None));
    }

    #[test]
    fn adus_end_where_the_direction_changes_or_a_silence_is_long() {
        let sent = [(0, I, 10), (500, I, 20), (1_001, I, 30), (1_002, A, 40), (1_003, I, 50), (1_004, I, 60)];
        let (_, vector) = observe(&sent).finish(identity());
        assert_eq!(
            adus(&vector),
            [
                (I, 30, 2, 0, 500, Some(501), I),
                (I, 30, 1, 1_001, 1_001, Some(1), A),
                (A, 40, 1, 1_002, 1_002, Some(1), I),
                (I, 110, 2, 1_003, 1_004, None, I),
            ],
            "500 ms are not too long, 501 are"
        );
    }

    #[test]
    fn a_flow_of_one_direction_has_its_vector() {
        for side in Side::BOTH {
            let (class, vector) = observe(&[(0, side, 10), (20, side, 10)]).finish(identity());
            assert!(class.is_replayable());
            assert_eq!(adus(&vector), [(side, 20, 2, 0, 20, None, side)]);
            let other = vector.ends[side.other()];
            assert_eq!((other.packets, other.ip_bytes, other.datagram_sizes), (Some(0), Some(0), None));
        }
    }

    #[test]
    fn empty_datagrams_are_packets_and_no_data() {
        let (class, vector) = observe(&[(0, I, 0), (10, A, 0)]).finish(identity());
        assert_eq!((class, vector.adus.len()), (Class::NoData, 0));
        let mut observer = observe(&[(0, I, 10), (10, A, 0), (20, I, 10)]);
        let (_, vector) = observer.finish(identity());
        assert_eq!(adus(&vector), [(I, 20, 2, 0, 20, None, I)]);
        assert_eq!(vector.ends.acceptor.packets, Some(1));
        assert_eq!(vector.ends.acceptor.datagram_sizes, Some(DatagramSizes { smallest: 0, largest: 0 }));
    }

    #[test]
    fn sizes_of_each_end() {
        let sent = [(0, I, 300), (1, A, 1_200), (2, I, 40), (3, A, 1_200), (4, I, 100)];
        let (_, vector) = observe(&sent).finish(identity());
        let sizes = vector.ends.map(|end| end.datagram_sizes);
        assert_eq!(sizes.initiator, Some(DatagramSizes { smallest: 40, largest: 300 }));
        assert_eq!(sizes.acceptor, Some(DatagramSizes { smallest: 1_200, largest: 1_200 }));
        assert_eq!(vector.ends.map(|end| end.packets), PerSide { initiator: Some(3), acceptor: Some(2) });
    }

    #[test]
    fn an_earlier_time_counts_as_the_latest_so_far() {
        let mut observer = observe(&[(1_000, I, 10), (1_100, A, 10), (50, I, 10), (1_150, A, 10)]);
        assert_eq!(observer.last_seen(), EPOCH + ms(1_150));
        let found = adus(&observer.finish(identity()).1);
        let expected = [(I, 0, Some(100)), (A, 100, Some(0)), (I, 100, Some(50)), (A, 150, None)];
        assert_eq!(found.iter().map(|adu| (adu.0, adu.3, adu.5)).collect::<Vec<_>>(), expected);
    }

    /// Of ADUs of several each datagram is kept, of one alone the ADU says all; an empty one is none of them.
    #[test]
    fn units_keep_their_datagrams() {
        let sent =
            [(0, I, 30), (7, A, 1_200), (9, A, 0), (10, A, 1_200), (30, A, 80), (31, I, 5), (33, I, 6), (40, A, 9)];
        let (_, vector) = observe(&sent).finish(identity());
        let kept = |side: Side| vector.datagrams[side].iter().map(|one| (one.bytes, one.gap)).collect::<Vec<_>>();
        assert_eq!(kept(A), [(1_200, ms(0)), (1_200, ms(3)), (80, ms(20))]);
        assert_eq!(kept(I), [(5, ms(0)), (6, ms(2))]);
        let single = |side| vector.single_datagrams(side).map(|adu| (adu.seen.unwrap().first, adu.bytes, adu.packets));
        let expected = [(7, 1_200), (10, 1_200), (30, 80), (40, 9)].map(|(at, bytes)| (ms(at), bytes, Some(1)));
        assert!(single(A).eq(expected) && vector.knows_datagrams());
    }

    /// Whoever makes or changes a file may know numbers alone, or leave lists that are not those of the ADUs.
    #[test]
    fn units_of_unknown_datagrams_stay_whole() {
        let sent = [(0, I, 10), (5, I, 20), (700, I, 30), (710, I, 40)];
        let (_, whole) = observe(&sent).finish(identity());
        let single = |vector: &ConnectionVector| {
            vector.single_datagrams(I).map(|adu| (adu.bytes, adu.packets)).collect::<Vec<_>>()
        };
        let one = Some(1);
        assert_eq!(single(&whole), [(10, one), (20, one), (30, one), (40, one)]);
        let mut vector = ConnectionVector { datagrams: PerSide::default(), ..whole.clone() };
        assert_eq!((single(&vector), vector.knows_datagrams()), (vec![(30, Some(2)), (70, Some(2))], false));
        vector.datagrams.initiator = whole.datagrams.initiator[..3].to_vec();
        assert_eq!(single(&vector), [(10, one), (20, one), (70, Some(2))]);
        vector.datagrams = whole.datagrams.clone();
        vector.adus[0].bytes = 31;
        assert_eq!((single(&vector), vector.knows_datagrams()), (vec![(31, Some(2)), (30, one), (40, one)], false));
    }

    #[test]
    fn a_flow_of_very_many_datagrams_is_cut() {
        let mut observer = DatagramObserver::new(EPOCH, QUIET);
        for _ in 0..MOST_DATAGRAMS {
            assert!(!observer.is_full());
            observer.handle_datagram(EPOCH, I, &datagram(1_200), true);
        }
        assert!(observer.is_full() && observer.heap_bytes() >= 16 << 20);
    }

    #[test]
    fn quic_shows_in_the_first_datagrams() {
        for (at, protocol) in [(0, Protocol::Quic), (7, Protocol::Quic), (8, Protocol::Udp)] {
            let mut observer = DatagramObserver::new(EPOCH, QUIET);
            for packet in 0..20 {
                observer.handle_datagram(EPOCH, I, &datagram(1_200), packet == at);
            }
            assert_eq!(observer.finish(identity()).1.protocol, protocol, "{at}");
        }
    }

    #[test]
    fn a_flow_that_changes_direction_for_ever_is_cut() {
        let mut observer = DatagramObserver::new(EPOCH, QUIET);
        for packet in 0..MOST_ADUS {
            assert!(!observer.is_full());
            observer.handle_datagram(EPOCH, Side::BOTH[packet % 2], &datagram(160), false);
        }
        assert!(observer.is_full());
        assert_eq!(observer.finish(identity()).1.adus.len(), MOST_ADUS);
    }

    proptest! {
        /// Bytes and packets are conserved, and ADUs end exactly where a second look at all datagrams says.
        #[test]
        fn adus_are_those_of_brute_force(
            datagrams in proptest::collection::vec((0..1_200u64, any::<bool>(), 0..1_500u32), 0..60),
        ) {
            let mut now = 0;
            let sent: Vec<(u64, Side, u32)> = datagrams
                .into_iter()
                .map(|(gap, first, bytes)| {
                    now += gap;
                    (now, if first { I } else { A }, bytes)
                })
                .collect();
            let mut observer = observe(&sent);
            let (class, vector) = observer.finish(identity());
            let data: Vec<_> = sent.iter().filter(|datagram| datagram.2 > 0).collect();
            for side in Side::BOTH {
                let of_side = || sent.iter().filter(move |datagram| datagram.1 == side);
                let bytes: u64 = of_side().map(|datagram| u64::from(datagram.2)).sum();
                let end = vector.ends[side];
                prop_assert_eq!((vector.bytes(side), end.packets), (bytes, Some(of_side().count() as u64)));
                let sizes = of_side().map(|datagram| datagram.2);
                let sizes = (sizes.clone().min(), sizes.max());
                prop_assert_eq!((end.datagram_sizes.map(|sizes| sizes.smallest), end.datagram_sizes.map(|sizes| sizes.largest)), sizes);
            }
            let breaks = |pair: &[&(u64, Side, u32)]| pair[0].1 != pair[1].1 || pair[1].0 - pair[0].0 > 500;
            let expected: Vec<Vec<&(u64, Side, u32)>> =
                data.chunk_by(|one, other| !breaks(&[*one, *other])).map(|run| run.to_vec()).collect();
            prop_assert_eq!(vector.adus.len(), expected.len());
            let begin = sent.first().map_or(0, |first| first.0);
            for (at, (adu, run)) in adus(&vector).iter().zip(&expected).enumerate() {
                let bytes: u64 = run.iter().map(|datagram| u64::from(datagram.2)).sum();
                let (first, last) = (run[0].0 - begin, run[run.len() - 1].0 - begin);
                let next = expected.get(at + 1).map(|next| next[0]);
                let wait = next.map(|next| next.0 - begin - last);
                let waiter = next.map_or(run[0].1, |next| next.1);
                prop_assert_eq!(adu, &(run[0].1, bytes, run.len() as u32, first, last, wait, waiter));
            }
            for side in Side::BOTH {
                let own = data.iter().filter(|datagram| datagram.1 == side);
                let expected: Vec<_> = own.map(|datagram| (ms(datagram.0 - begin), u64::from(datagram.2))).collect();
                let found: Vec<_> = vector
                    .single_datagrams(side)
                    .map(|adu| (adu.seen.expect("observed").first, adu.bytes))
                    .collect();
                prop_assert_eq!(found, expected);
            }
            prop_assert_eq!(class == Class::NoData, data.is_empty());
        }
    }
}
