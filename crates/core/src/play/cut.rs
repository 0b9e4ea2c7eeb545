//! Workloads cut as a trace is: connections in progress at the first cut go on inside, those in progress at the second end there
//! (methods B.5).

use crate::play::prefill::seen;
use crate::play::remains::{Passage, Passages, keep_rest, keep_until};
use crate::play::waits::{ReplayModel, Waits};
use crate::time::{Duration, Time};
use crate::workload::{Adu, Close, ConnectionVector, InitiatorRule, Pattern, PerSide, Side};

/// Segments that an end sends at first, and after it was idle for longer than [`IDLE`] and a round trip (RFC 6928).
const INITIAL_SEGMENTS: u64 = 10;

/// By how much a retransmission timeout is longer than a round trip.
const IDLE: Duration = Duration::from_millis(200);

/// The receive window of an end of which none is known, in bytes.
const ASSUMED_WINDOW: u64 = 1 << 16;

/// A part of a workload, taken out of it as a monitor that records for some time takes a trace out of the traffic of a link.
///
/// A connection that is in progress when the part begins keeps what does not pass before: of an ADU in transit the remaining bytes, of a
/// wait what is left of it. It starts with its first packet inside, and its handshake is none of them
/// ([`ConnectionVector::opened_before`]). One that is idle throughout leaves no packet, and is not there. What would begin after the part
/// ends is left out: a connection that is in progress then does not close.
///
/// A connection gets as far as it does with nothing in its way: no queue, no loss, its own round-trip time and its own windows, and those
/// of its waits that are replayed. An end sends what its window allows in one burst each round trip. The window begins with ten segments, and doubles up to
/// the receive window of the other end; after an idle time of more than a timeout it begins anew. Left out are delayed acknowledgements,
/// which hold the window back, the time that a link takes for a burst, and the window in congestion avoidance, since nothing is lost. Where
/// a monitor saw when the data passed, they pass as it saw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceCut {
    after: Duration,
    length: Duration,
    replay: ReplayModel,
}

impl TraceCut {
    /// The part of this length that begins so long `after` the workload does, with connections as far as in a replay of their waits under
    /// `replay`.
    pub const fn new(after: Duration, length: Duration, replay: ReplayModel) -> TraceCut {
        TraceCut { after, length, replay }
    }

    /// When the part begins.
    pub const fn after(self) -> Duration {
        self.after
    }

    /// When the part ends: what starts then or later is not in it.
    pub fn end(self) -> Duration {
        self.after + self.length
    }

    /// A TCP connection as the part has it, its start counted from where the part begins; `None` if no packet of it is inside. Where the
    /// vector states no round-trip time it is `unknown_rtt`.
    pub fn cut(self, mut vector: ConnectionVector, unknown_rtt: Duration) -> Option<ConnectionVector> {
        let [begin, end] = [self.after, self.end()].map(|time| Time::ZERO + time);
        if vector.start >= end {
            return None;
        }
        let mut passages = unconstrained(&vector, unknown_rtt, &self.replay);
        let closes = passages.closes;
        let open = end.since(vector.start);
        keep_until(&mut vector, &mut passages, open);
        vector.complete &= passages.closes == closes;
        if vector.start >= begin {
            vector.start = vector.start.before(self.after);
            return Some(vector);
        }
        let elapsed = begin.since(vector.start);
        let first = passages.next(elapsed)?;
        let moved = |at: Duration| at.saturating_sub(first);
        if !keep_rest(&mut vector, &passages, [elapsed, first], moved) {
            return None;
        }
        vector.start = (vector.start + first).before(self.after);
        vector.initiator_rule = InitiatorRule::Cut;
        vector.complete = false;
        (vector.syn_rtt, vector.handshake_repeated) = (None, false);
        Some(vector)
    }
}

/// When everything of a connection passes the monitor with nothing in its way.
pub fn unconstrained(vector: &ConnectionVector, unknown_rtt: Duration, replay: &ReplayModel) -> Passages {
    let rtt = vector.min_rtt().unwrap_or(unknown_rtt);
    let mut free = Free::new(vector, rtt, replay);
    let adus = seen(vector).unwrap_or_else(|| vector.adus.iter().map(|adu| free.pass(adu)).collect());
    let last = (0..adus.len()).max_by_key(|place| adus[*place].last);
    let closes = match vector.close {
        Close::Fin(side) | Close::Rst(side) => {
            let (passed, sender) = last.map_or((rtt, None), |place| (adus[place].last, Some(vector.adus[place].side)));
            let wait = vector.t_close.filter(|_| replay.t_close).unwrap_or_default();
            Some(match sender == Some(side) {
                true => passed + wait,
                false => free.answered(side, passed, |waits, transit| waits.corrected(wait, transit)),
            })
        }
        Close::NotSeen => None,
    };
    Passages { adus, closes }
}

/// What a receive window lets pass at once: whole segments, since no window cuts one short that is two segments wide or more (RFC 9293
/// section 3.8.6.2.1).
const fn whole_segments(window: u64, mss: u64) -> u64 {
    if window >= 2 * mss { window - window % mss } else { window }
}

/// When each end can send its next data, and how much of it at once.
struct Free<'a> {
    vector: &'a ConnectionVector,
    rtt: Duration,
    replay: &'a ReplayModel,
    /// When its next data can pass the monitor.
    at: PerSide<Duration>,
    /// Its window of congestion, in bytes.
    window: PerSide<u64>,
    /// When its last data passed.
    last: PerSide<Duration>,
}

impl<'a> Free<'a> {
    /// After the handshake.
    fn new(vector: &'a ConnectionVector, rtt: Duration, replay: &'a ReplayModel) -> Free<'a> {
        let window = INITIAL_SEGMENTS * vector.agreed_mss();
        let at = PerSide { initiator: rtt, acceptor: rtt };
        let mut free =
            Free { vector, rtt, replay, at, window: PerSide { initiator: window, acceptor: window }, last: at };
        let lead_in = |side: Side| vector.ends[side].lead_in.filter(|_| replay.lead_in).unwrap_or_default();
        // The acceptor's end of the handshake lies beyond the monitor.
        free.at.acceptor =
            free.answered(Side::Acceptor, rtt, |waits, transit| waits.corrected(lead_in(Side::Acceptor), transit));
        free.at.initiator += lead_in(Side::Initiator);
        free
    }

    /// When something of `side` passes that waits for what passed at `passed` from the other end, so long as `replayed` says of the transit
    /// that the wait contains.
    fn answered(
        &self,
        side: Side,
        passed: Duration,
        replayed: impl Fn(&Waits, Option<Duration>) -> Duration,
    ) -> Duration {
        let transit = self.vector.ends[side].min_transit;
        passed + replayed(&self.replay.waits, transit) + transit.unwrap_or(self.rtt / 2)
    }

    /// Lets the next ADU pass.
    fn pass(&mut self, adu: &Adu) -> Passage {
        let side = adu.side;
        let first = self.at[side];
        let limit =
            whole_segments(self.vector.window(side.other()).unwrap_or(ASSUMED_WINDOW), self.vector.agreed_mss());
        if first.saturating_sub(self.last[side]) > self.rtt + IDLE {
            self.window[side] = self.window[side].min(INITIAL_SEGMENTS * self.vector.agreed_mss());
        }
        let passage = Passage::in_rounds(adu.bytes, first, self.window[side], limit, self.rtt);
        // Each full burst doubles the window.
        let mut rest = adu.bytes;
        while rest >= self.window[side] && self.window[side] < limit {
            rest -= self.window[side];
            self.window[side] = self.window[side].saturating_mul(2).min(limit);
        }
        self.last[side] = passage.last;
        let wait = adu.wait.unwrap_or_default();
        self.at[side] = passage.last + self.replay.waits.replayed(wait, None);
        if self.vector.pattern == Pattern::Sequential {
            let replayed = |waits: &Waits, transit| waits.replayed(wait, transit);
            self.at[side.other()] = self.answered(side.other(), passage.last, replayed);
        }
        passage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Side::{Acceptor as A, Initiator as I};

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const SECS: fn(u64) -> Duration = Duration::from_secs;
    /// The hour of these tests: 100 s of a workload, after 1,000 s.
    const HOUR: TraceCut = TraceCut::new(Duration::from_secs(1_000), Duration::from_secs(100), REPLAY);
    const REPLAY: ReplayModel = ReplayModel::with_waits(Waits::CORRECTED);

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + MS(milliseconds)
    }

    /// A connection over a path of 100 ms, of which 40 lie behind the monitor, with segments of 1,000 bytes and windows of 40,000.
    fn vector(start: u64, pattern: Pattern, adus: &[(Side, u64, Option<u64>)]) -> ConnectionVector {
        let adus = adus.iter().map(|&(side, bytes, wait)| Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait: wait.map(MS),
            waiter: side,
            seen: None,
            packets: None,
        });
        let adus: Vec<Adu> = adus.collect();
        let mut vector = ConnectionVector {
            start: at(start),
            pattern,
            evidence: crate::workload::Evidence::Model,
            complete: true,
            close: Close::Fin(adus.last().map_or(I, |adu| adu.side)),
            t_close: Some(Duration::ZERO),
            adus,
            ..ConnectionVector::default()
        };
        for (side, transit) in [(I, 60), (A, 40)] {
            let end = &mut vector.ends[side];
            (end.syn_seen, end.mss, end.max_window, end.min_transit) =
                (true, Some(1_000), Some(40_000), Some(MS(transit)));
        }
        vector
    }

    /// Start and lead-ins in milliseconds, ADUs, and whether it was open before and closes.
    type Facts = (u64, Vec<(Side, u64, Option<u64>)>, [Option<u64>; 2], bool, bool);

    fn facts(vector: &ConnectionVector) -> Facts {
        let millis = |duration: Duration| duration.as_nanos() / 1_000_000;
        (
            millis(vector.start.since(Time::ZERO)),
            vector.adus.iter().map(|adu| (adu.side, adu.bytes, adu.wait.map(millis))).collect(),
            Side::BOTH.map(|side| vector.ends[side].lead_in.map(millis)),
            vector.opened_before(),
            vector.close != Close::NotSeen,
        )
    }

    fn cut(vector: ConnectionVector) -> Option<Facts> {
        HOUR.cut(vector, MS(100)).map(|vector| facts(&vector))
    }

    /// 500 bytes, answered after 10 s by 100,000, and 300 bytes after 30 s.
    fn epochs(start: u64) -> ConnectionVector {
        let adus = [(I, 500, Some(10_000)), (A, 100_000, Some(30_000)), (I, 300, None)];
        vector(start, Pattern::Sequential, &adus)
    }

    #[test]
    fn data_pass_in_windows_a_round_trip_apart() {
        let passages = unconstrained(&epochs(0), MS(100), &REPLAY);
        let times: Vec<_> = passages.adus.iter().map(|adu| (adu.first, adu.last)).collect();
        // The request after the handshake. The response in 10, 20, 40 and 30 kB. The second request after it has come and 30 s.
        let response = MS(100 + 10_000);
        let last = response + MS(300);
        assert_eq!(times, [(MS(100), MS(100)), (response, last), (last + MS(30_000), last + MS(30_000))]);
        assert_eq!(passages.closes, Some(last + MS(30_000)));
        let before = |time| passages.adus[1].before(response + MS(time));
        assert_eq!([0, 1, 100, 101, 201, 300, 301].map(before), [0, 10_000, 10_000, 30_000, 70_000, 70_000, 100_000]);
    }

    #[test]
    fn windows_pass_in_whole_segments() {
        assert_eq!(
            [1_000, 2_919, 2_920, 4_096, 65_536].map(|window| whole_segments(window, 1_460)),
            [1_000, 2_919, 2_920, 2_920, 64_240]
        );
        let mut narrow = vector(0, Pattern::Sequential, &[(I, 10_000, None)]);
        narrow.ends.acceptor.max_window = Some(2_999);
        let passage = unconstrained(&narrow, MS(100), &REPLAY).adus[0];
        assert_eq!((passage.first, passage.last), (MS(100), MS(500)), "in five windows of two segments");
    }

    /// A wait of 300 ms, which contains a transit of 40, and one of 2 s.
    #[test]
    fn waits_are_those_that_are_replayed() {
        let vector = vector(0, Pattern::Sequential, &[(I, 1, Some(300)), (A, 1, Some(2_000)), (I, 1, None)]);
        let firsts = |waits| -> Vec<u64> {
            let passages = unconstrained(&vector, MS(100), &ReplayModel::with_waits(waits));
            passages.adus.iter().map(|adu| adu.first.as_nanos() / 1_000_000).collect()
        };
        assert_eq!(firsts(Waits::CORRECTED), [100, 400, 2_400]);
        assert_eq!(
            firsts(Waits::PUBLISHED),
            [100, 140, 2_200],
            "and the way of the response's end, 40 ms, or of the request's, 60"
        );
    }

    #[test]
    fn what_starts_inside_and_ends_inside_only_moves() {
        let (start, adus, lead_in, opened_before, closes) = cut(epochs(1_010_000)).unwrap();
        assert_eq!((start, lead_in, opened_before, closes), (10_000, [None; 2], false, true));
        assert_eq!(adus, facts(&epochs(0)).1);
        assert!(HOUR.cut(epochs(1_010_000), MS(100)).unwrap().complete);
    }

    #[test]
    fn an_adu_in_transit_keeps_its_rest() {
        // 10 and 20 kB of the response pass before; the next burst comes 50 ms later.
        let vector = HOUR.cut(epochs(1_000_000 - 10_250), MS(100)).unwrap();
        let adus = vec![(A, 70_000, Some(30_000)), (I, 300, None)];
        assert_eq!(facts(&vector), (50, adus, [None, Some(0)], true, true));
        assert!(!vector.complete);
    }

    #[test]
    fn a_wait_keeps_its_rest_and_the_start_is_the_first_packet() {
        // 4 of the 10 s are over.
        let adus = vec![(A, 100_000, Some(30_000)), (I, 300, None)];
        assert_eq!(cut(epochs(1_000_000 - 4_100)), Some((6_000, adus, [None, Some(0)], true, true)));
        // 10 of the 30 s are over.
        assert_eq!(cut(epochs(1_000_000 - 20_400)), Some((20_000, vec![(I, 300, None)], [Some(0), None], true, true)));
    }

    #[test]
    fn a_handshake_under_way_is_not_in_it() {
        assert_eq!(cut(epochs(1_000_000 - 10)), Some((90, facts(&epochs(0)).1, [Some(0), None], true, true)));
    }

    #[test]
    fn what_is_over_or_idle_throughout_leaves_nothing() {
        assert_eq!(cut(epochs(1_000_000 - 41_000)), None, "it is closed");
        let idle = [(I, 500, Some(10_000)), (A, 1_000, Some(300_000)), (I, 300, None)];
        assert_eq!(cut(vector(1_000_000 - 100_000, Pattern::Sequential, &idle)), None, "it goes on after the end");
        assert_eq!(cut(epochs(1_100_000)), None, "it starts after the end");
        let mut closes = epochs(1_000_000 - 50_000);
        closes.t_close = Some(SECS(15));
        let left = HOUR.cut(closes.clone(), MS(100)).unwrap();
        assert_eq!((facts(&left), left.t_close), ((5_400, vec![], [None; 2], true, true), Some(Duration::ZERO)));
        closes.t_close = Some(SECS(500));
        assert_eq!(cut(closes), None, "its close is after the end");
    }

    #[test]
    fn what_would_begin_after_the_end_is_left_out() {
        // The response begins 3 s before the end; the second request would come 27 s after it.
        let vector = HOUR.cut(epochs(1_100_000 - 13_100), MS(100)).unwrap();
        let adus = vec![(I, 500, Some(10_000)), (A, 100_000, None)];
        assert_eq!(facts(&vector), (86_900, adus, [None; 2], false, false));
        assert_eq!((vector.t_close, vector.complete), (None, false));
        // Of the response 10 and 20 kB pass before the end.
        let adus = vec![(I, 500, Some(10_000)), (A, 30_000, None)];
        assert_eq!(cut(epochs(1_100_000 - 10_250)), Some((89_750, adus, [None; 2], false, false)));
    }

    #[test]
    fn an_adu_may_be_in_transit_at_both_cuts() {
        let second = TraceCut::new(SECS(1_000), MS(150), REPLAY);
        let vector = second.cut(epochs(1_000_000 - 10_250), MS(100)).unwrap();
        // A burst at 50 ms of 40 kB; the last one comes at the end.
        assert_eq!(facts(&vector), (50, vec![(A, 40_000, None)], [None, Some(0)], true, false));
    }

    #[test]
    fn ends_of_concurrent_connections_have_each_their_rest() {
        let adus =
            [(I, 500, Some(20_000)), (A, 700, Some(30_000)), (I, 600, Some(500_000)), (A, 800, None), (I, 9, None)];
        let vector = vector(1_000_000 - 10_100, Pattern::Concurrent, &adus);
        // The initiator is half way through its wait, the acceptor, whose first data passed 40 ms later, 20 s before its next.
        let left = vec![(I, 600, None), (A, 800, None)];
        assert_eq!(cut(vector), Some((10_000, left, [Some(0), Some(10_040)], true, false)));
    }

    #[test]
    fn bytes_of_adjoining_cuts_add_up() {
        let whole: [u64; 2] = Side::BOTH.map(|side| epochs(0).bytes(side));
        for length in [7, 90, 333, 1_001, 9_999, 40_000] {
            let mut sum = [0; 2];
            for part in 0..=50_000 / length {
                let part = TraceCut::new(MS(part * length), MS(length), REPLAY).cut(epochs(5), MS(100));
                for side in Side::BOTH {
                    sum[side as usize] += part.as_ref().map_or(0, |part| part.bytes(side));
                }
            }
            assert_eq!(sum, whole, "{length}");
        }
    }

    #[test]
    fn what_a_monitor_saw_passes_as_it_did() {
        let mut vector = epochs(1_000_000 - 10_000);
        let spans = [(1, 2), (8, 12), (41, 41)]
            .map(|(first, last)| crate::workload::Span { first: SECS(first), last: SECS(last) });
        vector.adus.iter_mut().zip(spans).for_each(|(adu, span)| adu.seen = Some(span));
        let vector = HOUR.cut(vector, MS(100)).unwrap();
        assert_eq!(facts(&vector).1, [(A, 50_000, Some(30_000)), (I, 300, None)]);
        assert_eq!(vector.data_span().unwrap().last, SECS(31));
    }
}
