//! What became of everything that is outstanding: the scoreboard of RFC 6675, with times of sending for RFC 8985.
//!
//! The stream from SND.UNA to the highest offset sent is a queue of runs that share a fate. Without loss and without
//! times it is one run; what is acknowledged selectively grows together; so the board stays as short as the loss is
//! rare. With times each transmission is a run until it is acknowledged.

use std::collections::VecDeque;

use super::segment::Segment;
use crate::time::Time;

/// Bits of [`Run::fate`].
const SACKED: u8 = 1;
/// The copy sent first, or the one sent last, is taken for lost.
const LOST: u8 = 2;
/// A copy was sent again and is not taken for lost.
const RESENT: u8 = 4;
/// More than one copy was sent: an acknowledgement does not tell of which.
const AMBIGUOUS: u8 = 8;

/// A stretch of the stream; it begins where the one before ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    end: u64,
    /// When the last copy was sent; the origin on a board without times.
    sent: Time,
    fate: u8,
}

/// What the connection had delivered when a run was sent (draft-cheng-iccrg-delivery-rate-estimation-00 section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Stamp {
    pub(super) delivered: u64,
    pub(super) delivered_at: Time,
    pub(super) first_sent: Time,
    pub(super) application_limited: bool,
}

/// A transmission, for ordering: by time, and by place where several were sent at once (RFC 8985 section 6.2, step 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Transmission {
    pub(super) sent: Time,
    pub(super) end: u64,
}

/// What an acknowledgement delivered.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    /// Bytes not acknowledged in any way before.
    pub(super) bytes: u64,
    /// Segments of them, on a board with times.
    pub(super) segments: u32,
    /// The transmission sent last among those acknowledged, and what was delivered when it was sent.
    pub(super) newest: Option<(Transmission, Stamp)>,
    /// The same, if it was sent again before (for which [`Self::since`] must hold).
    pub(super) newest_is_resent: bool,
    /// When the first and the last of what was sent once were sent.
    pub(super) unambiguous: Option<(Time, Time)>,
    /// Cumulatively acknowledged data was sent more than once.
    pub(super) resent: bool,
    /// Something sent once arrived after something that was sent later.
    pub(super) reordered: bool,
    /// How far ahead the acknowledgements were of the first of it, in bytes.
    pub(super) overtaken_by: u64,
    /// What was sent again counts as delivered only if its last copy was sent by this time: it cannot be acknowledged
    /// sooner (RFC 8985 section 6.2, step 2).
    pub(super) since: Time,
}

impl Delivery {
    fn take(&mut self, run: Run, bytes: u64, stamp: Stamp, highest_sacked: u64) {
        self.bytes += bytes;
        self.segments += 1;
        let ambiguous = run.fate & AMBIGUOUS != 0;
        if ambiguous {
            if run.sent > self.since {
                return;
            }
        } else {
            if run.end < highest_sacked {
                self.reordered = true;
                self.overtaken_by = self.overtaken_by.max(highest_sacked - (run.end - bytes));
            }
            let (first, last) = self.unambiguous.unwrap_or((run.sent, run.sent));
            self.unambiguous = Some((first.min(run.sent), last.max(run.sent)));
        }
        let transmission = Transmission { sent: run.sent, end: run.end };
        if self.newest.is_none_or(|(newest, _)| newest < transmission) {
            self.newest = Some((transmission, stamp));
            self.newest_is_resent = ambiguous;
        }
    }
}

/// What [`Scoreboard::mark_lost_by_time`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LostByTime {
    /// Bytes newly lost.
    pub(super) bytes: u64,
    /// A retransmission is among them.
    pub(super) resent: bool,
    /// The latest of the transmissions that may still arrive.
    pub(super) waiting: Option<Time>,
}

/// The scoreboard of one sender.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    /// SND.UNA: where the first run begins.
    start: u64,
    runs: VecDeque<Run>,
    /// Beside `runs`, where delivery rates are wanted; empty elsewhere.
    stamps: VecDeque<Stamp>,
    timed: bool,
    stamped: bool,
    /// Bytes of the runs with these fates. What is SACKED is neither lost nor resent any more.
    sacked: u64,
    lost: u64,
    resent: u64,
    /// One past the highest offset that was ever acknowledged in any way (FACK).
    highest_sacked: u64,
    /// Nothing below is lost and not resent.
    retransmit_from: u64,
    /// Everything below that is not SACKED is LOST, by the rule of RFC 6675.
    lost_below: u64,
}

impl Scoreboard {
    /// The board of a sender with `[start, end)` outstanding. With `timed` it is to be told of each transmission, so it
    /// has to begin empty.
    pub(super) fn new(start: u64, end: u64, timed: bool, stamped: bool) -> Scoreboard {
        let mut board = Scoreboard {
            start,
            runs: VecDeque::new(),
            stamps: VecDeque::new(),
            timed,
            stamped,
            sacked: 0,
            lost: 0,
            resent: 0,
            highest_sacked: 0,
            retransmit_from: start,
            lost_below: start,
        };
        if start < end {
            board.push(end, Time::ZERO, Stamp::default());
        }
        board
    }

    pub(super) fn end(&self) -> u64 {
        self.runs.back().map_or(self.start, |run| run.end)
    }

    /// Bytes that are taken to be in the network ("pipe" of RFC 6675 section 4).
    pub(super) fn pipe(&self) -> u64 {
        self.end() - self.start - self.sacked - self.lost + self.resent
    }

    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn resent(&self) -> u64 {
        self.resent
    }

    /// Nothing is SACKED, lost or sent again.
    pub(super) fn is_clean(&self) -> bool {
        self.sacked + self.lost + self.resent == 0
    }

    /// Nothing is outstanding: room for a flight is kept, not for a large one.
    pub(super) fn rest(&mut self) {
        if self.runs.capacity() > 64 {
            (self.runs, self.stamps) = Default::default();
        }
    }

    /// When the first segment outstanding was sent last, on a board with times.
    pub(super) fn first_sent(&self) -> Option<Time> {
        self.runs.front().filter(|_| self.timed).map(|run| run.sent)
    }

    pub(super) fn is_timed(&self) -> bool {
        self.timed
    }

    fn start_of(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(self.start, |before| self.runs[before].end)
    }

    fn stamp_of(&self, index: usize) -> Stamp {
        self.stamps.get(index).copied().unwrap_or_default()
    }

    /// The run that holds `offset`, which is outstanding, or the end.
    fn index_of(&self, offset: u64) -> usize {
        // Most questions are about the front or the back.
        match self.runs.front() {
            Some(first) if offset < first.end => 0,
            _ => self.runs.partition_point(|run| run.end <= offset),
        }
    }

    /// Makes a run begin at `offset`, within the board; its index.
    fn split(&mut self, offset: u64) -> usize {
        let index = self.index_of(offset);
        if index < self.runs.len() && self.start_of(index) < offset {
            let run = self.runs[index];
            self.runs.insert(index, Run { end: offset, ..run });
            if self.stamped {
                let stamp = self.stamps[index];
                self.stamps.insert(index, stamp);
            }
            return index + 1;
        }
        index
    }

    /// New data up to `end` is sent.
    pub(super) fn push(&mut self, end: u64, sent: Time, stamp: Stamp) {
        if !self.timed
            && let Some(last) = self.runs.back_mut().filter(|last| last.fate == 0)
        {
            last.end = end;
            return;
        }
        self.runs.push_back(Run { end, sent, fate: 0 });
        if self.stamped {
            self.stamps.push_back(stamp);
        }
    }

    /// `[start, end)`, outstanding, is sent again.
    pub(super) fn resend(&mut self, start: u64, end: u64, sent: Time, stamp: Stamp) {
        let mut index = self.split(start);
        self.split(end);
        while index < self.runs.len() && self.start_of(index) < end {
            let bytes = self.runs[index].end - self.start_of(index);
            let run = &mut self.runs[index];
            if run.fate & (SACKED | RESENT) == 0 {
                run.fate |= RESENT;
                self.resent += bytes;
            }
            run.fate |= AMBIGUOUS;
            if self.timed {
                run.sent = sent;
            }
            if self.stamped {
                self.stamps[index] = stamp;
            }
            index += 1;
        }
        if start <= self.retransmit_from {
            self.retransmit_from = self.retransmit_from.max(end);
        }
    }

    /// Bytes from `start` on that are lost, were sent last at the same time as the first of them, and leave together again; at most
    /// `most`, in whole runs.
    pub(super) fn lost_together(&self, start: u64, most: u64) -> u64 {
        let first = self.index_of(start);
        let sent = self.runs.get(first).map(|run| run.sent);
        let lost = |run: &&Run| run.fate & (SACKED | LOST | RESENT) == LOST && Some(run.sent) == sent;
        let ends = self.runs.iter().skip(first).take_while(lost).map(|run| run.end - start);
        ends.take_while(|bytes| *bytes <= most).last().unwrap_or(0)
    }

    /// The counts lose a run that is acknowledged.
    fn discount(&mut self, fate: u8, bytes: u64) {
        if fate & SACKED != 0 {
            self.sacked -= bytes;
        }
        if fate & LOST != 0 {
            self.lost -= bytes;
        }
        if fate & RESENT != 0 {
            self.resent -= bytes;
        }
    }

    /// Everything before `ack` is acknowledged.
    pub(super) fn acknowledge(&mut self, ack: u64, delivery: &mut Delivery) {
        while let Some(&run) = self.runs.front().filter(|_| self.start < ack) {
            let bytes = run.end.min(ack) - self.start;
            self.discount(run.fate, bytes);
            if run.fate & SACKED == 0 {
                delivery.take(run, bytes, self.stamp_of(0), self.highest_sacked);
                delivery.resent |= run.fate & AMBIGUOUS != 0;
            }
            self.start += bytes;
            if run.end <= ack {
                self.runs.pop_front();
                self.stamps.pop_front();
            }
        }
        self.start = self.start.max(ack);
        self.highest_sacked = self.highest_sacked.max(ack);
        self.retransmit_from = self.retransmit_from.max(ack);
        self.lost_below = self.lost_below.max(ack);
    }

    /// `[start, end)` arrived ahead of a hole; what of it is not outstanding is passed over.
    pub(super) fn sack(&mut self, start: u64, end: u64, delivery: &mut Delivery) {
        let (start, end) = (start.max(self.start), end.min(self.end()));
        if start >= end {
            return;
        }
        let at = self.index_of(start);
        if self.runs[at].fate & SACKED != 0 && end <= self.runs[at].end {
            return;
        }
        let first = self.split(start);
        self.split(end);
        let (mut index, known) = (first, self.highest_sacked);
        while index < self.runs.len() && self.start_of(index) < end {
            let run = self.runs[index];
            if run.fate & SACKED == 0 {
                let bytes = run.end - self.start_of(index);
                delivery.take(run, bytes, self.stamp_of(index), known);
                self.discount(run.fate, bytes);
                self.sacked += bytes;
                self.runs[index].fate = SACKED;
            }
            index += 1;
        }
        self.highest_sacked = self.highest_sacked.max(end);
        // One run for all of it and for what it touches.
        let from = first - usize::from(first > 0 && self.runs[first - 1].fate & SACKED != 0);
        let to = index + usize::from(self.runs.get(index).is_some_and(|run| run.fate & SACKED != 0));
        if to - from > 1 {
            let last = self.runs[to - 1];
            self.runs[from] = last;
            self.runs.drain(from + 1..to);
            if self.stamped {
                self.stamps.drain(from + 1..to);
            }
        }
    }

    fn mark_lost(&mut self, index: usize) {
        let start = self.start_of(index);
        let run = &mut self.runs[index];
        let bytes = run.end - start;
        if run.fate & LOST == 0 {
            run.fate |= LOST;
            self.lost += bytes;
        }
        if run.fate & RESENT == 0 {
            self.retransmit_from = self.retransmit_from.min(start);
        }
    }

    /// The copy sent last is lost as well. Returns whether it was a retransmission.
    fn mark_lost_again(&mut self, index: usize) -> bool {
        let bytes = self.runs[index].end - self.start_of(index);
        let run = &mut self.runs[index];
        let resent = run.fate & RESENT != 0;
        if resent {
            run.fate &= !RESENT;
            self.resent -= bytes;
        }
        self.mark_lost(index);
        resent
    }

    /// Marks what is lost by RFC 6675 section 4, `IsLost`: what has three SACKED stretches above it, or more than twice
    /// `mss` SACKED bytes. Returns the bytes newly lost.
    pub(super) fn mark_lost_by_sacks(&mut self, mss: u64) -> u64 {
        let before = self.lost;
        let (mut stretches, mut bytes) = (0, 0);
        let top = self.index_of(self.highest_sacked.saturating_sub(1).max(self.start));
        let mut edge = self.lost_below;
        for index in (0..self.runs.len().min(top + 1)).rev() {
            let run = self.runs[index];
            if run.end <= self.lost_below {
                break;
            }
            if run.fate & SACKED != 0 {
                stretches += 1;
                bytes += run.end - self.start_of(index);
                if stretches >= 3 || bytes > 2 * mss {
                    edge = self.start_of(index).max(edge);
                    break;
                }
            }
        }
        let mut index = self.index_of(self.lost_below);
        while index < self.runs.len() && self.start_of(index) < edge {
            if self.runs[index].fate & SACKED == 0 {
                self.mark_lost(index);
            }
            index += 1;
        }
        self.lost_below = edge;
        self.lost - before
    }

    /// The first hole is lost, as far as one segment of `mss` goes: duplicates said so without saying where (RFC 6675 section
    /// 5, step 4.3). Returns the bytes newly lost.
    pub(super) fn mark_first_lost(&mut self, mss: u64) -> u64 {
        let before = self.lost;
        if self.runs.front().is_some_and(|run| run.fate & SACKED == 0) {
            self.split((self.start + mss).min(self.end()));
            self.mark_lost(0);
        }
        self.lost - before
    }

    /// Marks what is lost by RFC 8985 section 6.2, step 5: sent before `newest`, and so long ago that `lost_before` lies
    /// after it.
    pub(super) fn mark_lost_by_time(&mut self, newest: Transmission, lost_before: Time) -> LostByTime {
        let (mut waiting, mut bytes, mut resent) = (None, 0, false);
        for index in 0..self.runs.len() {
            let run = self.runs[index];
            if run.fate & SACKED != 0 || run.fate & (LOST | RESENT) == LOST {
                continue;
            }
            if (Transmission { sent: run.sent, end: run.end }) >= newest {
                if run.fate & AMBIGUOUS == 0 {
                    // Data sent once follows in the order of sending, and data sent again was sent later still.
                    break;
                }
            } else if run.sent <= lost_before {
                bytes += run.end - self.start_of(index);
                resent |= self.mark_lost_again(index);
            } else {
                waiting = waiting.max(Some(run.sent));
            }
        }
        LostByTime { bytes, resent, waiting }
    }

    /// After a timeout everything that was not SACKED is lost; on a board with times, the first and what was sent by
    /// `lost_before` (RFC 8985 section 6.3).
    pub(super) fn mark_lost_by_timeout(&mut self, lost_before: Time) {
        for index in 0..self.runs.len() {
            let run = self.runs[index];
            if run.fate & SACKED == 0 && (index == 0 || run.sent <= lost_before) {
                self.mark_lost_again(index);
            }
        }
        self.retransmit_from = self.start;
    }

    /// Nothing is lost after all.
    pub(super) fn forgive(&mut self) {
        for run in &mut self.runs {
            run.fate &= !LOST;
        }
        self.lost = 0;
        self.retransmit_from = self.start;
        self.lost_below = self.start;
    }

    /// Whether `segment`, not taken yet, tells that something below `until` has arrived that was sent once.
    pub(super) fn tells_of_first_copy(&self, segment: &Segment, until: u64) -> bool {
        let blocks = || std::iter::once((self.start, segment.acknowledgement)).chain(segment.sack_blocks());
        (0..self.runs.len()).any(|index| {
            let (start, run) = (self.start_of(index), self.runs[index]);
            let end = run.end.min(until);
            run.fate & (SACKED | AMBIGUOUS) == 0 && blocks().any(|block| block.0.max(start) < block.1.min(end))
        })
    }

    /// One past the highest offset that was ever acknowledged in any way (FACK).
    pub(super) fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }

    /// Whether something above `offset` is under way that was sent again.
    pub(super) fn is_resent_from(&self, offset: u64) -> bool {
        self.resent > 0
            && self
                .runs
                .iter()
                .rev()
                .take_while(|run| run.end > offset)
                .any(|run| run.fate & (SACKED | RESENT) == RESENT)
    }

    /// The first stretch that is lost and was not sent again.
    pub(super) fn next_lost(&mut self) -> Option<(u64, u64)> {
        if self.lost == 0 {
            return None;
        }
        let mut index = self.index_of(self.retransmit_from.max(self.start));
        while let Some(run) = self.runs.get(index) {
            if run.fate & (SACKED | LOST | RESENT) == LOST {
                self.retransmit_from = self.start_of(index);
                return Some((self.retransmit_from, run.end));
            }
            index += 1;
        }
        self.retransmit_from = self.end();
        None
    }

    /// The first stretch at or above `from` and below something SACKED that is neither SACKED nor sent again (RFC 6675 section 4,
    /// `NextSeg` rule 3).
    pub(super) fn next_doubtful(&self, from: u64) -> Option<(u64, u64)> {
        let mut index = self.index_of(from.max(self.start));
        while let Some(run) = self.runs.get(index).filter(|run| run.end <= self.highest_sacked) {
            if run.fate & (SACKED | RESENT) == 0 {
                return Some((self.start_of(index).max(from), run.end));
            }
            index += 1;
        }
        None
    }

    /// The last stretch that is not SACKED, at most `most` bytes of it.
    pub(super) fn last_unsacked(&self, most: u64) -> Option<(u64, u64)> {
        let index = (0..self.runs.len()).rev().find(|&index| self.runs[index].fate & SACKED == 0)?;
        let end = self.runs[index].end;
        Some((self.start_of(index).max(end.saturating_sub(most)), end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;
    use crate::time::Duration;

    const MSS: u64 = 10;

    /// RFC 6675 byte by byte.
    #[derive(Clone, Default)]
    struct Oracle {
        /// From offset 0: (sacked, lost, resent).
        bytes: Vec<[bool; 3]>,
        una: usize,
    }

    impl Oracle {
        fn is_lost(&self, at: usize) -> bool {
            let above = &self.bytes[at..];
            let sacked = above.iter().filter(|byte| byte[0]).count();
            let stretches = (0..above.len()).filter(|&i| above[i][0] && (i == 0 || !above[i - 1][0])).count();
            !self.bytes[at][0] && (stretches >= 3 || sacked > 2 * MSS as usize)
        }

        fn mark(&mut self) {
            for at in self.una..self.bytes.len() {
                self.bytes[at][1] |= self.is_lost(at);
            }
        }

        /// RFC 6675 section 4, SetPipe, where HighRxt is known byte by byte.
        fn pipe(&self) -> u64 {
            let count = |byte: &[bool; 3]| if byte[0] { 0 } else { u64::from(!byte[1]) + u64::from(byte[2]) };
            self.bytes[self.una..].iter().map(count).sum()
        }

        fn next_lost(&self) -> Option<(u64, u64)> {
            let wanted = |byte: &[bool; 3]| *byte == [false, true, false];
            let start = (self.una..self.bytes.len()).find(|&at| wanted(&self.bytes[at]))?;
            let end = (start..self.bytes.len()).find(|&at| !wanted(&self.bytes[at])).unwrap_or(self.bytes.len());
            Some((start as u64, end as u64))
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Send(u64),
        Acknowledge(u64),
        Sack(u64, u64),
        Resend,
        Timeout,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (1u64..40).prop_map(Step::Send),
            2 => (0u64..60).prop_map(Step::Acknowledge),
            6 => (0u64..200, 1u64..30).prop_map(|(start, length)| Step::Sack(start, length)),
            3 => Just(Step::Resend),
            1 => Just(Step::Timeout),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_board_says_what_counting_bytes_says(steps in prop::collection::vec(step(), 1..80), timed: bool) {
            let mut board = Scoreboard::new(0, 0, timed, timed);
            let mut oracle = Oracle::default();
            for (number, step) in steps.into_iter().enumerate() {
                let now = Time::from_nanos(number as u64);
                let (una, end) = (oracle.una as u64, oracle.bytes.len() as u64);
                let mut delivery = Delivery::default();
                let delivered = |oracle: &Oracle| oracle.una + oracle.bytes[oracle.una..].iter().filter(|byte| byte[0]).count();
                let before = delivered(&oracle);
                match step {
                    Step::Send(bytes) => {
                        board.push(end + bytes, now, Stamp::default());
                        oracle.bytes.resize((end + bytes) as usize, [false; 3]);
                    }
                    Step::Acknowledge(bytes) => {
                        let ack = (una + bytes).min(end);
                        board.acknowledge(ack, &mut delivery);
                        oracle.una = ack as usize;
                    }
                    Step::Sack(start, length) => {
                        board.sack(una + start, una + start + length, &mut delivery);
                        for at in una + start..(una + start + length).min(end) {
                            oracle.bytes[at as usize] = [true, false, false];
                        }
                    }
                    Step::Resend => {
                        if let Some((start, end)) = board.next_lost() {
                            let end = end.min(start + MSS);
                            board.resend(start, end, now, Stamp::default());
                            (start..end).for_each(|at| oracle.bytes[at as usize][2] = true);
                        }
                    }
                    Step::Timeout => {
                        board.mark_lost_by_timeout(Time::MAX);
                        oracle.bytes[oracle.una..].iter_mut().filter(|byte| !byte[0]).for_each(|byte| *byte = [false, true, false]);
                    }
                }
                prop_assert_eq!(delivery.bytes as usize, delivered(&oracle) - before);
                board.mark_lost_by_sacks(MSS);
                oracle.mark();
                prop_assert_eq!(board.pipe(), oracle.pipe());
                let count = |which: usize| oracle.bytes[oracle.una..].iter().filter(|byte| byte[which] && (which == 0 || !byte[0])).count() as u64;
                prop_assert_eq!((board.sacked(), board.lost()), (count(0), count(1)));
                let (next, expected) = (board.next_lost(), oracle.next_lost());
                prop_assert_eq!(next.map(|next| next.0), expected.map(|next| next.0));
                prop_assert!(next.is_none_or(|next| next.1 <= expected.unwrap().1));
                let ends: Vec<u64> = board.runs.iter().map(|run| run.end).collect();
                prop_assert!(ends.is_sorted_by(|a, b| a < b), "{ends:?}");
                prop_assert_eq!(board.stamps.len(), if timed { board.runs.len() } else { 0 });
                prop_assert!(board.runs.iter().zip(board.runs.iter().skip(1)).all(|(a, b)| a.fate & b.fate & SACKED == 0));
            }
        }
    }

    /// RFC 8985 section 6.2, step 5, asked of every run.
    fn lost_by_time(board: &Scoreboard, newest: Transmission, lost_before: Time) -> LostByTime {
        let mut found = LostByTime { bytes: 0, resent: false, waiting: None };
        for (index, run) in board.runs.iter().enumerate() {
            let arrived_or_lost = run.fate & SACKED != 0 || run.fate & (LOST | RESENT) == LOST;
            if arrived_or_lost || (run.sent, run.end) >= (newest.sent, newest.end) {
                continue;
            }
            if run.sent > lost_before {
                found.waiting = found.waiting.max(Some(run.sent));
            } else {
                found.bytes += run.end - board.start_of(index);
                found.resent |= run.fate & RESENT != 0;
            }
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, rng_seed: RngSeed::Fixed(6), failure_persistence: None, ..ProptestConfig::default() })]

        /// Several segments are sent at the same time.
        #[test]
        fn loss_by_time_is_what_a_full_scan_finds(steps in prop::collection::vec((0u64..3, 0u64..4, step()), 1..80)) {
            let (mut board, mut newest, mut now) = (Scoreboard::new(0, 0, true, false), None, Time::ZERO);
            for (pause, window, step) in steps {
                now += Duration::from_nanos(pause / 2);
                let (una, end) = (board.start, board.end());
                let mut delivery = Delivery { since: now, ..Delivery::default() };
                match step {
                    Step::Send(segments) => {
                        (1..=segments / 8).for_each(|n| board.push(end + n * MSS, now, Stamp::default()));
                    }
                    Step::Acknowledge(bytes) => board.acknowledge((una + bytes).min(end), &mut delivery),
                    Step::Sack(start, length) => board.sack(una + start, una + start + length, &mut delivery),
                    Step::Resend => {
                        if let Some((start, end)) = board.next_lost() {
                            board.resend(start, end.min(start + MSS), now, Stamp::default());
                        }
                    }
                    Step::Timeout => board.mark_lost_by_timeout(now),
                }
                newest = newest.max(delivery.newest.map(|(transmission, _)| transmission));
                if let Some(newest) = newest {
                    let lost_before = now.before(Duration::from_nanos(window));
                    let expected = lost_by_time(&board, newest, lost_before);
                    prop_assert_eq!(board.mark_lost_by_time(newest, lost_before), expected);
                }
            }
        }
    }

    /// Ten segments of 10 bytes sent at 1..=10 ns.
    fn ten() -> Scoreboard {
        let mut board = Scoreboard::new(0, 0, true, false);
        (1..=10).for_each(|n| board.push(n * MSS, Time::from_nanos(n), Stamp::default()));
        board
    }

    #[test]
    fn what_was_sent_before_the_newest_arrival_is_lost_in_time() {
        let (mut board, mut delivery) = (ten(), Delivery::default());
        board.sack(50, 60, &mut delivery);
        let newest = delivery.newest.unwrap().0;
        assert_eq!(newest, Transmission { sent: Time::from_nanos(6), end: 60 });
        let LostByTime { bytes, waiting, .. } = board.mark_lost_by_time(newest, Time::from_nanos(3));
        assert_eq!((bytes, waiting), (30, Some(Time::from_nanos(5))));
        assert_eq!(board.next_lost(), Some((0, 10)), "a run for each transmission");
        board.resend(0, 10, Time::from_nanos(20), Stamp::default());
        assert_eq!(board.next_lost(), Some((10, 20)));
        // The copy is lost in its turn, once something sent after it arrives.
        let later = Transmission { sent: Time::from_nanos(30), end: 110 };
        let LostByTime { bytes, waiting, .. } = board.mark_lost_by_time(later, Time::from_nanos(20));
        assert_eq!((bytes, waiting), (70, None), "it, and the six that were waiting or sent after 60");
        assert_eq!(board.next_lost(), Some((0, 10)));
    }

    #[test]
    fn what_was_sent_at_once_and_lost_leaves_together() {
        let mut board = Scoreboard::new(0, 0, true, false);
        // Bursts of four and two, and two more.
        for (n, burst) in [1, 1, 1, 1, 2, 2, 3, 3].into_iter().enumerate() {
            board.push((n as u64 + 1) * MSS, Time::from_nanos(burst), Stamp::default());
        }
        board.sack(30, 40, &mut Delivery::default());
        board.sack(60, 80, &mut Delivery::default());
        let newest = Transmission { sent: Time::from_nanos(3), end: 80 };
        assert_eq!(board.mark_lost_by_time(newest, Time::from_nanos(2)).bytes, 50);
        assert_eq!(board.lost_together(0, 100), 30, "up to what arrived");
        assert_eq!(board.lost_together(0, 25), 20, "whole segments");
        assert_eq!(board.lost_together(40, 100), 20);
        board.resend(0, 10, Time::from_nanos(9), Stamp::default());
        assert_eq!(board.lost_together(10, 100), 20);
    }

    #[test]
    fn arrivals_tell_order_and_times() {
        let (mut board, mut delivery) = (ten(), Delivery::default());
        board.sack(20, 40, &mut delivery);
        assert!(!delivery.reordered);
        assert_eq!(delivery.unambiguous, Some((Time::from_nanos(3), Time::from_nanos(4))));
        assert_eq!((delivery.bytes, delivery.segments), (20, 2));
        let mut delivery = Delivery::default();
        board.sack(10, 20, &mut delivery);
        assert!(delivery.reordered);
        // A copy that cannot have been acknowledged yet says nothing of its time.
        board.resend(0, 10, Time::from_nanos(50), Stamp::default());
        let mut delivery = Delivery { since: Time::from_nanos(40), ..Delivery::default() };
        board.acknowledge(40, &mut delivery);
        assert_eq!((delivery.newest, delivery.resent, delivery.bytes), (None, true, 10));
        assert!(board.is_clean());
    }

    #[test]
    fn a_loss_free_flow_is_one_run() {
        let mut board = Scoreboard::new(1, 1, false, false);
        (1..1000).for_each(|n| board.push(1 + n * MSS, Time::ZERO, Stamp::default()));
        assert_eq!((board.runs.len(), board.pipe()), (1, 9990));
        (0..400).for_each(|n| board.sack(11 + n * MSS, 21 + n * MSS, &mut Delivery::default()));
        assert_eq!(board.runs.len(), 3);
        assert_eq!(board.next_doubtful(0), Some((1, 11)));
        assert_eq!(board.last_unsacked(MSS), Some((9981, 9991)));
        assert_eq!(board.mark_lost_by_sacks(MSS), 10);
        assert_eq!(size_of::<Run>(), 24);
    }
}
