//! One-side transit times and the handshake (methods A.6). Times are nanoseconds since the connection's start.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use crate::wire::Timestamps;

use super::recovery::Passed;

/// No time: larger than every time.
pub(super) const NEVER: u64 = u64::MAX;

/// Segments of one end that are timed at once. A longer flight keeps its oldest ones and its newest, so every round
/// trip still gives samples; what is never acknowledged, in a capture of one direction, costs no more than this.
const MAX_TIMED: usize = 64;

/// Segments in flight that are held in place. Most ends of most connections have no more; longer flights go to the heap.
const NEAR: usize = 2;

/// A segment waiting for its acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Flying {
    end: u64,
    sent: u64,
    len: u32,
    id: Option<NonZeroU16>,
}

impl Flying {
    /// Whether it has a byte in `[start, end)`.
    fn overlaps(&self, start: u64, end: u64) -> bool {
        self.end > start && self.end - u64::from(self.len) < end
    }
}

/// What an acknowledgement says of the timed segments that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answered {
    /// One past their last byte.
    pub end: u64,
    /// Since the last of them passed.
    pub sample: u64,
    pub segments: u32,
    /// Their bytes.
    pub bytes: u64,
}

/// Segments of one end waiting for their acknowledgement, by sequence number.
#[derive(Clone, Debug, Default)]
pub(super) struct Timed {
    /// The oldest, `held` of them.
    near: [Flying; NEAR],
    /// Those after them; empty while there is room in `near`.
    #[expect(clippy::box_collection, reason = "absent in most connections, and this is held once per end")]
    far: Option<Box<VecDeque<Flying>>>,
    held: u8,
}

impl Timed {
    /// A segment passed for the first time, in order.
    pub fn sent(&mut self, end: u64, len: u32, now: u64, id: Option<NonZeroU16>) {
        let flying = Flying { end, sent: now, len, id };
        if usize::from(self.held) < NEAR {
            self.near[usize::from(self.held)] = flying;
            self.held += 1;
            return;
        }
        let far = self.far.get_or_insert_default();
        if far.len() == MAX_TIMED - NEAR {
            far.pop_back();
        }
        far.push_back(flying);
    }

    /// When bytes from `start` to `end` passed, if they are still waited for.
    pub fn passing_of(&self, start: u64, end: u64) -> Option<Passed> {
        let near = self.near[..usize::from(self.held)].iter();
        let flying =
            near.chain(self.far.iter().flat_map(|far| far.iter())).find(|flying| flying.overlaps(start, end))?;
        Some(Passed { start: flying.end - u64::from(flying.len), end: flying.end, at: flying.sent, id: flying.id })
    }

    /// Bytes from `start` to `end` were sent again: by Karn's rule their acknowledgement says nothing.
    pub fn sent_again(&mut self, start: u64, end: u64) {
        if let Some(far) = &mut self.far {
            far.retain(|flying| !flying.overlaps(start, end));
        }
        for at in (0..usize::from(self.held)).rev() {
            if self.near[at].overlaps(start, end) {
                self.remove(at);
            }
        }
    }

    /// The shortest sample that an acknowledgement up to `ack` gives: that of the last segment it covers.
    pub fn acknowledged(&mut self, ack: u64, now: u64) -> Option<Answered> {
        let mut answered: Option<Answered> = None;
        while self.held > 0 && self.near[0].end <= ack {
            let Flying { end, sent, len, .. } = self.near[0];
            let (segments, bytes) = answered.map_or((0, 0), |before| (before.segments, before.bytes));
            answered =
                Some(Answered { end, sample: now - sent, segments: segments + 1, bytes: bytes + u64::from(len) });
            self.remove(0);
        }
        answered
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.far.as_ref().map_or(0, |far| size_of_val(&**far) + far.capacity() * size_of::<Flying>())
    }

    /// Removes one of `near` and lets the others move up.
    fn remove(&mut self, at: usize) {
        self.near.copy_within(at + 1.., at);
        match self.far.as_mut().and_then(|far| far.pop_front()) {
            Some(next) => self.near[NEAR - 1] = next,
            None => self.held -= 1,
        }
    }
}

/// How far the three-way handshake has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Nothing,
    Syn,
    SynAck,
    Established,
}

/// When an answer in the handshake came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HandshakeAnswer {
    /// Since the first copy of what it answers.
    pub since_first: u64,
    /// Since the last copy; the same if there is but one.
    pub since_last: u64,
}

/// The handshake at the monitor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// When the first copy of the segment that waits for its answer passed.
    first_asked: u64,
    /// When its last copy passed.
    asked: u64,
    /// The timestamps of both copies.
    stamps: [Option<u32>; 2],
    /// When it was complete.
    established: u64,
    /// The acceptor's sample, then the sum; [`NEVER`] if the SYN was not seen.
    round_trip: u64,
    stage: Stage,
    repeated: bool,
}

impl Default for Handshake {
    fn default() -> Handshake {
        Handshake {
            first_asked: 0,
            asked: 0,
            stamps: [None; 2],
            established: NEVER,
            round_trip: NEVER,
            stage: Stage::Nothing,
            repeated: false,
        }
    }
}

impl Handshake {
    /// Whether nothing more is to be learnt.
    pub fn is_complete(&self) -> bool {
        self.stage == Stage::Established
    }

    /// When its last segment passed that waits for an answer.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// When it was complete, if both its last segments were seen.
    pub fn established(&self) -> Option<u64> {
        (self.established != NEVER).then_some(self.established)
    }

    /// Sum of both samples.
    pub fn round_trip(&self) -> Option<u64> {
        (self.established != NEVER && self.round_trip != NEVER).then_some(self.round_trip)
    }

    /// Whether a SYN or SYN/ACK was repeated.
    pub fn is_repeated(&self) -> bool {
        self.repeated
    }

    /// The initiator's SYN with this timestamp, again if `again`.
    pub fn syn(&mut self, now: u64, again: bool, stamp: Option<u32>) {
        self.repeated |= again;
        if matches!(self.stage, Stage::Nothing | Stage::Syn) {
            if self.stage == Stage::Nothing || !again {
                (self.first_asked, self.stamps[0]) = (now, stamp);
            }
            self.stage = Stage::Syn;
            (self.asked, self.stamps[1]) = (now, stamp);
        }
    }

    /// A SYN/ACK with these timestamps; `answers` if it acknowledges the SYN seen. Returns the acceptor's transit sample.
    pub fn syn_ack(&mut self, now: u64, answers: bool, stamps: Option<Timestamps>) -> Option<HandshakeAnswer> {
        let sample = (self.stage == Stage::Syn && answers).then(|| self.answer(now, stamps));
        let stamp = stamps.map(|stamps| stamps.value);
        match self.stage {
            Stage::Established => {
                self.repeated = true;
                return None;
            }
            Stage::SynAck => self.repeated = true,
            Stage::Nothing | Stage::Syn => {
                self.round_trip = sample.map_or(NEVER, |sample| sample.since_last);
                (self.first_asked, self.stamps[0]) = (now, stamp);
            }
        }
        self.stage = Stage::SynAck;
        (self.asked, self.stamps[1]) = (now, stamp);
        sample
    }

    /// An acknowledgement of the SYN/ACK with these timestamps. Returns the initiator's transit sample.
    pub fn acknowledged(&mut self, now: u64, stamps: Option<Timestamps>) -> Option<HandshakeAnswer> {
        if self.stage != Stage::SynAck {
            return None;
        }
        let sample = self.answer(now, stamps);
        self.stage = Stage::Established;
        self.established = now;
        self.round_trip = self.round_trip.saturating_add(sample.since_last);
        Some(sample)
    }

    /// A sample turned out to be longer by so much.
    pub fn lengthen(&mut self, by: u64) {
        self.round_trip = self.round_trip.saturating_add(by);
    }

    /// An answer that has `stamps`. If these echo the last copy, it is what was answered. The first may be echoed by an answer to a later
    /// one too: an end that had received it keeps its timestamp, and answers each copy.
    fn answer(&self, now: u64, stamps: Option<Timestamps>) -> HandshakeAnswer {
        let [first, last] = self.stamps;
        let echo = stamps.map(|stamps| stamps.echo);
        let since_last = now - self.asked;
        let is_last = first != last && echo.is_some() && echo == last;
        HandshakeAnswer { since_first: if is_last { since_last } else { now - self.first_asked }, since_last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(timed: &mut Timed, ack: u64, now: u64) -> Option<u64> {
        timed.acknowledged(ack, now).map(|answered| answered.sample)
    }

    #[test]
    fn the_shortest_of_the_acknowledged_segments_counts() {
        let mut timed = Timed::default();
        for segment in 1..=100 {
            timed.sent(segment * 100 + 1, 100, segment * 10, None);
        }
        assert_eq!(sample(&mut timed, 301, 50), Some(20));
        assert_eq!(sample(&mut timed, 10_001, 1050), Some(50), "the newest is kept of a flight of any length");
        assert_eq!(sample(&mut timed, 10_001, 1060), None, "each segment once");
    }

    #[test]
    fn karns_rule_takes_no_sample_from_what_was_sent_twice() {
        let mut timed = Timed::default();
        timed.sent(101, 100, 10, None);
        timed.sent(201, 100, 20, None);
        timed.sent_again(1, 50);
        assert_eq!(sample(&mut timed, 101, 42_000), None);
        assert_eq!(sample(&mut timed, 201, 42_020), Some(42_000), "other segments are still timed");
    }

    #[test]
    fn a_repeated_syn_counts_from_its_last_copy_and_is_flagged() {
        let mut handshake = Handshake::default();
        handshake.syn(0, false, None);
        handshake.syn(3_000, true, None);
        assert_eq!(handshake.syn_ack(3_040, true, None), Some(HandshakeAnswer { since_first: 3_040, since_last: 40 }));
        let at_once = HandshakeAnswer { since_first: 0, since_last: 0 };
        assert_eq!(handshake.acknowledged(3_040, None), Some(at_once), "zero is a sample");
        assert_eq!((handshake.round_trip(), handshake.is_repeated()), (Some(40), true));
    }

    #[test]
    fn a_syn_ack_repeated_after_its_answer_changes_no_sample_and_is_flagged() {
        let mut handshake = Handshake::default();
        handshake.syn(0, false, None);
        handshake.syn_ack(40, true, None);
        assert_eq!(handshake.acknowledged(50, None), Some(HandshakeAnswer { since_first: 10, since_last: 10 }));
        assert_eq!(handshake.syn_ack(1_000, true, None), None);
        assert_eq!(handshake.acknowledged(1_060, None), None);
        assert_eq!((handshake.round_trip(), handshake.is_repeated()), (Some(50), true));
    }

    #[test]
    fn a_timestamp_tells_that_the_last_copy_was_answered() {
        let answer = |echo| {
            let mut handshake = Handshake::default();
            handshake.syn(0, false, Some(7));
            handshake.syn(1_000, true, Some(8));
            let found = handshake.syn_ack(1_008, true, Some(Timestamps { value: 1, echo })).unwrap();
            (found.since_first, found.since_last)
        };
        assert_eq!([7, 8, 9].map(answer), [(1_008, 8), (8, 8), (1_008, 8)]);
    }
}
