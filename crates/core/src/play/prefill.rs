//! Runs that begin in the middle of a workload, with the connections in progress that are active then (methods M.4).

use crate::play::remains::{Passage, Passages, keep_rest};
use crate::time::{Duration, Time};
use crate::workload::{Adu, Close, ConnectionVector, Pattern, PerSide};

/// A run that begins when its workload has gone on for a while.
///
/// What began before and is active then is opened anew as the run begins, with what is left of it: the data that has not
/// passed yet, and the rest of the wait it is in. So that not all handshakes come at once they are spread over the first
/// [`Self::SPREAD`] of the run, in the order of the original starts (as ns-2's Tmix has it); the workload goes on after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Prefill {
    length: Duration,
    spread: Duration,
}

/// A vector as a run that begins later has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its start is counted from the beginning of the run.
    pub vector: ConnectionVector,
    /// It was in progress then: each end's first wait, in [`lead_in`](crate::workload::Endpoint::lead_in), is the rest of
    /// one between data, and is replayed whatever the model says of times before data.
    pub in_progress: bool,
}

impl Prefill {
    /// The longest time over which the handshakes of connections in progress are spread where nothing else is asked for.
    pub const SPREAD: Duration = Duration::from_secs(1);

    /// A run in which the workload goes on after its first `length`; of what is before only what is still active then is
    /// in it.
    pub const fn new(length: Duration) -> Prefill {
        Prefill { length, spread: Prefill::SPREAD }
    }

    /// The same with the handshakes of connections in progress spread over this long: a kernel opens some thousands in a second.
    #[must_use]
    pub const fn spread_over(self, spread: Duration) -> Prefill {
        Prefill { spread, ..self }
    }

    /// How long handshakes of connections in progress take: the run has reached the point where it was to begin after it.
    pub fn spread(self) -> Duration {
        self.spread.min(self.length)
    }

    /// By how much times of the run are less than those of the workload.
    pub fn shift(self) -> Duration {
        self.length - self.spread()
    }

    /// When in the run that is which was at `time` in the workload; `None` if it is over before.
    pub fn within(self, time: Time) -> Option<Time> {
        (time >= Time::ZERO + self.length).then(|| time.before(self.shift()))
    }

    /// `vector` as the run has it; `None` if it is over before.
    ///
    /// Starts keep their order. Where no monitor saw when data passed it is estimated from the waits, the round-trip time
    /// (`unknown_rtt` where none is known) and the windows.
    pub fn place(self, mut vector: ConnectionVector, unknown_rtt: Duration) -> Option<Placed> {
        let begin = Time::ZERO + self.length;
        if vector.start >= begin {
            vector.start = vector.start.before(self.shift());
            let in_progress = vector.opened_before();
            return Some(Placed { vector, in_progress });
        }
        let elapsed = begin.since(vector.start);
        let passages = Passages { adus: estimated(&vector, unknown_rtt), closes: open_for(&vector, unknown_rtt) };
        let start = Time::ZERO + scaled(vector.start.since(Time::ZERO), self.spread(), self.length);
        let began = vector.start;
        // Times are counted from the start, which moves.
        let moved = |at: Duration| (began + at).before(self.shift()).since(start);
        if !keep_rest(&mut vector, &passages, [elapsed, elapsed], moved) {
            return None;
        }
        vector.start = start;
        Some(Placed { vector, in_progress: true })
    }
}

/// How long a connection is open from its start, as it was seen to be, or where no monitor saw it as is estimated from its waits, its
/// round-trip time (`unknown_rtt` where none is known) and its windows; `None` if it is not closed.
pub fn open_for(vector: &ConnectionVector, unknown_rtt: Duration) -> Option<Duration> {
    if vector.close == Close::NotSeen {
        return None;
    }
    let last = estimated(vector, unknown_rtt).iter().map(|adu| adu.last).max().unwrap_or_default();
    Some(last + vector.t_close.unwrap_or_default())
}

/// When each ADU passes: as seen, or where no monitor saw all as estimated from the windows, the waits and the round-trip time.
fn estimated(vector: &ConnectionVector, unknown_rtt: Duration) -> Vec<Passage> {
    let rtt = vector.min_rtt().unwrap_or(unknown_rtt);
    let sequential = vector.pattern == Pattern::Sequential;
    // Where the next ADU of each side can begin: after the handshake.
    let mut free = PerSide { initiator: rtt, acceptor: rtt };
    let estimate = |adu: &Adu| {
        let first = free[adu.side];
        // Half a round trip, and another whole one for each window beyond the first.
        let window = vector.window(adu.side.other()).unwrap_or(1 << 16);
        let last = first + rtt / 2 + rtt * (adu.bytes.saturating_sub(1) / window);
        let next = last + adu.wait.unwrap_or_default();
        free[adu.side] = next;
        if sequential {
            free[adu.side.other()] = next;
        }
        Passage::evenly(adu.bytes, first, last)
    };
    seen(vector).unwrap_or_else(|| vector.adus.iter().map(estimate).collect())
}

/// When each ADU passed the monitor; `None` if it did not see all of them.
pub(super) fn seen(vector: &ConnectionVector) -> Option<Vec<Passage>> {
    let passage = |adu: &Adu| adu.seen.map(|span| Passage::evenly(adu.bytes, span.first.min(span.last), span.last));
    vector.adus.iter().map(passage).collect()
}

/// `value * part / whole`, rounded down.
fn scaled(value: Duration, part: Duration, whole: Duration) -> Duration {
    let product = u128::from(value.as_nanos()) * u128::from(part.as_nanos());
    Duration::from_nanos((product / u128::from(whole.as_nanos().max(1))) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Evidence, ExtraDelay, Pause, Side, Span};

    const SECS: fn(u64) -> Duration = Duration::from_secs;
    const UNKNOWN: Duration = Duration::from_millis(100);

    fn at(seconds: u64) -> Time {
        Time::ZERO + SECS(seconds)
    }

    /// A request at 1 to 2 s, its response at 11 to 21 s, another request at 51 s; closed at 60 s.
    fn seen() -> ConnectionVector {
        let adu = |side, bytes, first, last, wait| Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait,
            waiter: Side::Acceptor,
            seen: Some(Span { first: SECS(first), last: SECS(last) }),
            packets: None,
        };
        ConnectionVector {
            start: at(100),
            adus: vec![
                adu(Side::Initiator, 500, 1, 2, Some(SECS(9))),
                adu(Side::Acceptor, 10_000, 11, 21, Some(SECS(30))),
                adu(Side::Initiator, 300, 51, 51, None),
            ],
            close: Close::Fin(Side::Initiator),
            t_close: Some(SECS(9)),
            ..ConnectionVector::default()
        }
    }

    fn placed(length: u64, vector: ConnectionVector) -> Option<Placed> {
        Prefill::new(SECS(length)).place(vector, UNKNOWN)
    }

    #[test]
    fn what_begins_later_only_moves() {
        let later = placed(100, seen()).unwrap();
        assert!(!later.in_progress);
        assert_eq!(later.vector, ConnectionVector { start: at(1), ..seen() });
        assert_eq!(placed(0, seen()).unwrap().vector, seen(), "no prefill, no change");
    }

    #[test]
    fn a_wait_that_is_under_way_has_its_rest() {
        let Placed { vector, in_progress } = placed(105, seen()).unwrap();
        assert!(in_progress);
        assert_eq!(vector.adus.len(), 2, "the request is over");
        assert_eq!((vector.ends.initiator.lead_in, vector.ends.acceptor.lead_in), (None, Some(SECS(6))));
        assert_eq!(vector.start, Time::from_nanos(100_000_000_000 / 105));
        let data = vector.start + vector.adus[0].seen.unwrap().first;
        assert_eq!(data, at(111).before(SECS(104)), "data pass when they did");
        assert_eq!(vector.end(), Some(at(160).before(SECS(104))));
    }

    #[test]
    fn data_under_way_are_what_is_left_of_them() {
        let vector = placed(118, seen()).unwrap().vector;
        assert_eq!(vector.adus.iter().map(|adu| adu.bytes).collect::<Vec<_>>(), [3_000, 300]);
        assert_eq!(vector.ends.acceptor.lead_in, Some(Duration::ZERO));
    }

    #[test]
    fn pauses_of_what_is_left_stay_where_they_were() {
        let pause = |after_bytes| Pause { after_bytes, length: SECS(1), heard: None };
        let mut vector = seen();
        vector.pauses = PerSide {
            initiator: vec![pause(100), pause(600)],
            acceptor: vec![pause(1_000), pause(7_000), pause(7_001), pause(9_000)],
        };
        vector.read_pauses.initiator = vector.pauses.acceptor.clone();
        let vector = placed(118, vector).unwrap().vector;
        assert_eq!(vector.read_pauses.initiator, vector.pauses.acceptor);
        assert_eq!(vector.pauses.initiator, [pause(100)], "of the second request");
        assert_eq!(vector.pauses.acceptor, [pause(1), pause(2_000)], "of the last 3,000 bytes");
    }

    #[test]
    fn delays_of_what_is_left_hold_from_where_they_did() {
        let delays = |delays: &[(u64, u64)]| -> Vec<ExtraDelay> {
            let delay = |&(from_bytes, seconds)| ExtraDelay { from_bytes, delay: SECS(seconds) };
            delays.iter().map(delay).collect()
        };
        let mut vector = seen();
        vector.delays.acceptor = delays(&[(0, 0), (1_000, 5), (7_001, 2), (9_000, 0)]);
        let vector = placed(118, vector).unwrap().vector;
        assert_eq!(vector.delays.acceptor, delays(&[(0, 5), (1, 2), (2_000, 0)]), "of the last 3,000 bytes");
        assert_eq!(vector.delays.initiator, [], "of an end whose clock does not tell");
    }

    #[test]
    fn what_was_heard_before_is_not_waited_for_again() {
        let waits = |after_bytes, heard| Pause { after_bytes, length: SECS(1), heard };
        let mut vector = seen();
        vector.pauses = PerSide {
            initiator: vec![waits(500, Some(10_000))],
            acceptor: vec![waits(0, Some(500)), waits(7_000, Some(500)), waits(9_000, Some(700))],
        };
        let vector = placed(118, vector).unwrap().vector;
        assert_eq!(vector.pauses.initiator, [waits(0, Some(3_000))], "for what is left of the response");
        assert_eq!(vector.pauses.acceptor, [waits(2_000, Some(200))], "what waited for the first request is under way");
    }

    #[test]
    fn data_that_end_before_they_begin_are_no_panic() {
        let mut vector = seen();
        vector.adus[1].seen = Some(Span { first: SECS(30), last: SECS(20) });
        assert_eq!(placed(110, vector).unwrap().vector.adus[0].bytes, seen().adus[1].bytes);
    }

    #[test]
    fn a_connection_that_only_closes_does_that() {
        let vector = placed(157, seen()).unwrap().vector;
        assert_eq!((vector.adus.len(), vector.t_close), (0, Some(SECS(3))));
        assert_eq!(placed(160, seen()), None, "it is closed");
        assert_eq!(placed(157, ConnectionVector { close: Close::NotSeen, ..seen() }), None, "nothing is left of it");
    }

    #[test]
    fn a_half_close_comes_when_it_did() {
        let mut vector = seen();
        vector.adus.pop();
        vector.ends.initiator.fin_wait = Some(SECS(10));
        assert_eq!(vector.half_close(), Some((Side::Initiator, SECS(12))));
        let when = |length: u64| {
            let vector = placed(length, vector.clone()).unwrap().vector;
            (vector.start + vector.half_close().unwrap().1).since(Time::ZERO)
        };
        assert_eq!(when(101), SECS(112 - 100), "behind its data");
        assert_eq!(when(105), SECS(112 - 104), "whose data are over");
        assert_eq!(when(115), SECS(115 - 114), "over as well: as the run begins");
    }

    #[test]
    fn without_a_monitor_times_are_estimated() {
        let mut vector = seen();
        vector.evidence = Evidence::VectorFile;
        vector.adus.iter_mut().for_each(|adu| adu.seen = None);
        // 100 ms of handshake, 50 of the request, 9 s, 50 of the response, 30 s, 50 of the request.
        let vector = placed(120, vector).unwrap().vector;
        assert_eq!(vector.adus.len(), 1);
        assert_eq!(vector.ends.initiator.lead_in, Some(Duration::from_millis(19_200)));
        assert!(vector.adus[0].seen.is_none());
    }

    #[test]
    fn ends_that_do_not_take_turns_each_have_their_own_rest() {
        let adu = |side, wait| Adu { side, bytes: 9, missing_bytes: 0, wait, waiter: side, seen: None, packets: None };
        let vector = ConnectionVector {
            pattern: Pattern::Concurrent,
            stated_rtt: Some(SECS(2)),
            adus: vec![
                adu(Side::Initiator, Some(SECS(20))),
                adu(Side::Acceptor, Some(SECS(30))),
                adu(Side::Initiator, None),
                adu(Side::Acceptor, None),
            ],
            ..ConnectionVector::default()
        };
        let vector = placed(10, vector).unwrap().vector;
        assert_eq!(vector.adus.len(), 2);
        assert_eq!(vector.ends.initiator.lead_in, Some(SECS(13)), "2 + 1 + 20 - 10");
        assert_eq!(vector.ends.acceptor.lead_in, Some(SECS(23)));
    }

    #[test]
    fn starts_keep_their_order() {
        let starts = [0, 1, 50, 99, 100, 101].map(|start| {
            placed(100, ConnectionVector { start: at(start), adus: seen().adus, ..seen() }).map(|it| it.vector.start)
        });
        assert!(starts.iter().flatten().is_sorted(), "{starts:?}");
        assert_eq!(starts.iter().flatten().last(), Some(&at(2)));
    }
}
