//! First-flight windows: how much an end sends before an acknowledgement lets it go on (methods A.13.2).
//!
//! An ADU that is larger than its sender's window passes in flights. The second one begins with the data that the ADU's first
//! acknowledgement released, and cannot pass sooner than 0.7 round trips between monitor and sender after that acknowledgement. The
//! bytes before it are the window if they came together, with a clear gap behind them, and if it was the window that stopped the sender:
//! the next data comes when the acknowledgement releases it, and the last segment before it is a full one. A loss, a repetition or
//! reordering leaves the window unknown for good, because nothing tells what it was before.

use super::transit::NEVER;

/// How much an end has sent at most before the ADU that tells its window: no first flight in use is twice as large.
const MOST_BEFORE: u64 = 1 << 16;

/// A host answers an acknowledgement within this.
const SLACK: u64 = 1_000_000;

/// A flight that takes more than this part of the time until the next one is paced, by its sender or a slow link.
const LONGEST_PART: u64 = 3;

/// The gap behind a flight is longer than this many times the longest gap inside it, and than the one after it.
const LONGER_GAP: u64 = 2;

/// The headers of TCP and IP are no shorter: a slow link takes as long for a small segment as its packet has bytes.
const LEAST_HEADERS: u64 = 40;

/// One segment behind the gap may be a retransmission. An acknowledgement that releases data releases more, because the window grows.
const RELEASED: u8 = 2;

/// A segment that passes with nothing but new bytes, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub start: u64,
    pub end: u64,
    pub now: u64,
    /// Bytes that the end sent before it.
    pub before: u64,
    /// It continues an ADU.
    pub inside: bool,
    /// The largest segment that the other end takes.
    pub mss: u64,
    /// Minimum round-trip time of the whole path.
    pub min_rtt: Option<u64>,
}

/// The shortest and the longest of the latest round trips between the monitor and an end.
pub(super) type Transits = Option<(u64, u64)>;

/// The first-flight window of one end, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) enum Flight {
    /// It waits for an ADU.
    #[default]
    Waiting,
    /// The first flight of an ADU passes, or may pass.
    Passing(Box<Passing>),
    /// It is so many bytes.
    Known(u64),
    /// Nothing will tell.
    Unknown,
}

/// The first flight of an ADU.
#[derive(Clone, Debug)]
pub(super) struct Passing {
    /// First byte of the ADU, and bytes that the end sent before it.
    start: u64,
    before: u64,
    first_at: u64,
    /// One past the last byte of the flight, and when that passed.
    end: u64,
    last_at: u64,
    longest_gap: u64,
    last_bytes: u64,
    most_bytes: u64,
    /// When the ADU was first acknowledged; [`NEVER`] if it was not.
    acked_at: u64,
    /// Round trips between monitor and sender at that time.
    transits: Transits,
    /// How long nothing passed behind the flight.
    gap: u64,
    /// Segments that have passed behind the flight, when the last of them passed, and the payload of the first.
    released: u8,
    released_at: u64,
    released_bytes: u64,
}

/// What a segment says of the flight before it.
enum Finding {
    /// It belongs to it, or it is the first behind it.
    Open,
    /// The window did not stop the sender.
    NotFull,
    /// Flights cannot be told from each other.
    Paced,
    Window,
}

impl Flight {
    /// New data passed in order.
    #[inline]
    pub fn sent(&mut self, sent: &Sent) {
        if matches!(self, Flight::Known(_) | Flight::Unknown) {
            return;
        }
        self.look_at(sent);
    }

    fn look_at(&mut self, sent: &Sent) {
        if !sent.inside {
            *self = match sent.before > MOST_BEFORE {
                true => Flight::Unknown,
                false => Flight::Passing(Box::new(Passing::new(sent))),
            };
            return;
        }
        let Flight::Passing(passing) = self else { return };
        match passing.finding(sent) {
            Finding::Open => {}
            Finding::NotFull => *self = Flight::Waiting,
            Finding::Paced => *self = Flight::Unknown,
            Finding::Window => {
                let bytes = passing.end - passing.start;
                *self = if 2 * passing.before > bytes { Flight::Unknown } else { Flight::Known(bytes) };
            }
        }
    }

    /// Whether an acknowledgement up to `ack` is the first of the ADU.
    #[inline]
    pub fn awaits(&self, ack: u64) -> bool {
        matches!(self, Flight::Passing(passing) if passing.acked_at == NEVER && ack > passing.start)
    }

    /// The first acknowledgement of the ADU passed towards its sender, whose round trips these are.
    pub fn acknowledged(&mut self, now: u64, transits: Transits) {
        if let Flight::Passing(passing) = self {
            (passing.acked_at, passing.transits) = (now, transits);
        }
    }

    /// An acknowledgement was repeated: of data that is missing or overtaken, or to tell of a window.
    pub fn repeated(&mut self) {
        if matches!(self, Flight::Passing(_)) {
            *self = Flight::Unknown;
        }
    }

    /// Something showed that data was lost, sent again or overtaken.
    pub fn lost(&mut self) {
        if !matches!(self, Flight::Known(_)) {
            *self = Flight::Unknown;
        }
    }

    /// The window in bytes.
    pub fn window(&self) -> Option<u64> {
        match self {
            Flight::Known(bytes) => Some(*bytes),
            _ => None,
        }
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        if matches!(self, Flight::Passing(_)) { size_of::<Passing>() } else { 0 }
    }
}

impl Passing {
    fn new(sent: &Sent) -> Passing {
        let bytes = sent.end - sent.start;
        Passing {
            start: sent.start,
            before: sent.before,
            first_at: sent.now,
            end: sent.end,
            last_at: sent.now,
            longest_gap: 0,
            last_bytes: bytes,
            most_bytes: bytes,
            acked_at: NEVER,
            transits: None,
            gap: 0,
            released: 0,
            released_at: 0,
            released_bytes: 0,
        }
    }

    /// When released data passes at the earliest and at the latest; `None` before the ADU's first acknowledgement, or where no round trip
    /// is known.
    fn release(&self, min_rtt: Option<u64>) -> Option<(u64, u64)> {
        let span = |since: u64, (shortest, longest): (u64, u64)| {
            // A clock that jumps makes round trips of centuries.
            let latest = [longest, longest / 4, SLACK].into_iter().fold(since, u64::saturating_add);
            (since.saturating_add(shortest / 10 * 7), latest)
        };
        match self.transits {
            _ if self.acked_at == NEVER => None,
            Some(transits) => Some(span(self.acked_at, transits)),
            None => min_rtt.map(|rtt| span(self.first_at, (rtt, rtt))),
        }
    }

    fn finding(&mut self, sent: &Sent) -> Finding {
        let bytes = sent.end - sent.start;
        let Some((earliest, latest)) = self.release(sent.min_rtt).filter(|(earliest, _)| sent.now >= *earliest) else {
            self.longest_gap = self.longest_gap.max(sent.now - self.last_at);
            (self.end, self.last_at, self.last_bytes) = (sent.end, sent.now, bytes);
            self.most_bytes = self.most_bytes.max(bytes);
            return Finding::Open;
        };
        if self.released == 0 {
            let gap = sent.now - self.last_at;
            if sent.now > latest || !self.is_full(bytes, sent.mss) {
                return Finding::NotFull;
            }
            let took = self.last_at - self.first_at;
            if gap <= LONGER_GAP.saturating_mul(self.longest_gap)
                || LONGEST_PART.saturating_mul(took) > sent.now - self.first_at
            {
                return Finding::Paced;
            }
            (self.gap, self.released_bytes) = (gap, bytes);
        } else if sent.now - self.released_at > (latest - earliest).saturating_add(SLACK) {
            return Finding::NotFull;
        } else if self.gap <= LONGER_GAP.saturating_mul(self.as_if_alike(sent.now - self.released_at, bytes)) {
            // Beside a receiver behind a slow link, all segments are as far apart as the link takes for one.
            return Finding::Paced;
        }
        (self.released, self.released_at) = (self.released + 1, sent.now);
        if self.released < RELEASED { Finding::Open } else { Finding::Window }
    }

    /// How far behind the first released segment one of `bytes` would pass if it were as large, where a slow link is between them.
    fn as_if_alike(&self, gap: u64, bytes: u64) -> u64 {
        gap.saturating_mul(self.released_bytes + LEAST_HEADERS) / (bytes + LEAST_HEADERS)
    }

    /// Whether the last segment was a full one: a smaller one ends a write, or was held back until everything was acknowledged (Nagle).
    /// `next` are the bytes of the segment behind it.
    fn is_full(&self, next: u64, mss: u64) -> bool {
        self.last_bytes >= self.most_bytes.max(next).min(mss) && 4 * self.last_bytes >= 3 * mss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;
    const MS: u64 = 1_000_000;

    /// A sender `transit` from the monitor and back, of segments of [`MSS`], 10 microseconds apart.
    struct Sender {
        flight: Flight,
        transit: u64,
        sent: u64,
        adu: u64,
    }

    impl Sender {
        fn new(transit: u64) -> Sender {
            Sender { flight: Flight::default(), transit, sent: 0, adu: 0 }
        }

        /// Sends segments of so many bytes, from a time in milliseconds on.
        fn sends(&mut self, at: u64, segments: &[u64]) {
            for (nth, bytes) in (0..).zip(segments) {
                let (start, end) = (self.sent, self.sent + bytes);
                let now = at * MS + nth * 10_000;
                let inside = start > self.adu;
                let sent = Sent { start, end, now, before: self.adu, inside, mss: MSS, min_rtt: None };
                self.flight.sent(&sent);
                self.sent = end;
            }
        }

        /// What follows is another ADU.
        fn another(&mut self) {
            self.adu = self.sent;
        }

        fn acknowledged(&mut self, at: u64, ack: u64) {
            if self.flight.awaits(ack) {
                self.flight.acknowledged(at * MS, Some((self.transit, self.transit)));
            }
        }
    }

    #[test]
    fn the_first_flight_is_the_window() {
        // The monitor beside the sender, in the middle of a path of 40 ms, and beside the receiver.
        for (transit, acked) in [(0, 40), (20, 20), (40, 0)] {
            for window in [1, 3, 10] {
                let mut sender = Sender::new(transit * MS);
                sender.sends(100, &vec![MSS; window]);
                sender.acknowledged(100 + acked, MSS);
                assert_eq!(sender.flight.window(), None);
                sender.sends(140, &[MSS, MSS]);
                assert_eq!(sender.flight.window(), Some(window as u64 * MSS), "{transit} {window}");
            }
        }
    }

    #[test]
    fn what_is_no_window_is_unknown() {
        let of = |act: &dyn Fn(&mut Sender)| {
            let mut sender = Sender::new(20 * MS);
            act(&mut sender);
            sender.flight.window()
        };
        let flight = |sender: &mut Sender| {
            sender.sends(100, &[MSS; 3]);
            sender.acknowledged(120, MSS);
        };
        assert_eq!(
            of(&|sender| {
                flight(sender);
                sender.sends(140, &[MSS; 2])
            }),
            Some(3 * MSS)
        );
        assert_eq!(
            of(&|sender| {
                flight(sender);
                sender.sends(140, &[MSS])
            }),
            None,
            "it may be a retransmission"
        );
        assert_eq!(
            of(&|sender| {
                flight(sender);
                sender.sends(160, &[MSS; 2])
            }),
            None,
            "the program paused"
        );
        assert_eq!(
            of(&|sender| {
                flight(sender);
                sender.flight.repeated();
                sender.sends(140, &[MSS; 2])
            }),
            None
        );
        assert_eq!(
            of(&|sender| {
                flight(sender);
                sender.flight.lost();
                sender.sends(140, &[MSS; 2])
            }),
            None
        );
        let held_back = |sender: &mut Sender| {
            sender.sends(100, &[MSS, 300]);
            sender.acknowledged(120, MSS);
            sender.sends(140, &[MSS; 2]);
        };
        assert_eq!(of(&held_back), None, "a write that ended, or Nagle");
        let paced = |sender: &mut Sender| {
            for nth in 0..4 {
                sender.sends(100 + 10 * nth, &[MSS]);
            }
            sender.acknowledged(121, MSS);
            sender.sends(141, &[MSS; 2]);
        };
        assert_eq!(of(&paced), None);
    }

    /// All of a response of two segments and a half were sent at once; the link in front of the monitor takes 2.4 ms for a full packet.
    #[test]
    fn a_short_segment_behind_a_slow_link_shows_no_window() {
        for (last, expected) in [(2_800, None), (2_410, Some(MSS))] {
            let mut flight = Flight::default();
            for (at, start, bytes) in [(0, 0, MSS), (2_400, MSS, MSS), (last, 2 * MSS, 120)] {
                let (now, end, inside) = (at * 1_000, start + bytes, start > 0);
                flight.sent(&Sent { start, end, now, before: 0, inside, mss: MSS, min_rtt: None });
                if flight.awaits(end) {
                    flight.acknowledged(now, Some((2 * MS, 2 * MS)));
                }
            }
            assert_eq!(flight.window(), expected, "{last}");
        }
    }

    #[test]
    fn a_later_adu_tells_it_if_little_came_before() {
        for (before, expected) in [(1_500, Some(3 * MSS)), (1_501, None)] {
            let mut sender = Sender::new(20 * MS);
            sender.sends(10, &[before]);
            sender.another();
            sender.sends(100, &[MSS; 3]);
            sender.acknowledged(120, before + MSS);
            sender.sends(140, &[MSS; 2]);
            assert_eq!(sender.flight.window(), expected);
        }
    }

    #[test]
    fn without_round_trips_to_the_sender_the_whole_path_counts() {
        let mut flight = Flight::default();
        for (at, expected) in [(0, None), (0, None), (40, None), (40, Some(2 * MSS))] {
            let start = match &flight {
                Flight::Passing(passing) => passing.end + u64::from(passing.released) * MSS,
                _ => 0,
            };
            let sent = Sent {
                start,
                end: start + MSS,
                now: at * MS,
                before: 0,
                inside: start > 0,
                mss: MSS,
                min_rtt: Some(40 * MS),
            };
            flight.sent(&sent);
            if flight.awaits(MSS) {
                flight.acknowledged(MS, None);
            }
            assert_eq!(flight.window(), expected);
        }
    }

    #[test]
    fn a_clock_that_jumps_centuries_is_no_panic() {
        let mut sender = Sender::new(u64::MAX / 4);
        sender.sends(0, &[MSS; 4]);
        sender.flight.acknowledged(u64::MAX / 2, Some((u64::MAX / 4, u64::MAX / 2)));
        let (start, end) = (sender.sent, sender.sent + MSS);
        for now in [u64::MAX - 1, u64::MAX] {
            let sent = Sent { start, end, now, before: 0, inside: true, mss: MSS, min_rtt: None };
            sender.flight.sent(&sent);
        }
        assert_eq!(sender.flight.window(), Some(4 * MSS), "two segments behind a flight of four");
    }
}
