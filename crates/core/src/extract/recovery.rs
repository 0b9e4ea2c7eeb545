//! What a data segment that brought no new byte, or came late, was (methods A.8).
//!
//! The monitor knows when the bytes passed before, under which IP identification, what the receiver has acknowledged
//! and how often it repeated that. `docs/guide/extraction.md` states the rules in words; they are tried in the order in
//! which they stand here. Nothing of this is held for an end before the first sign of trouble.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU16;

use crate::workload::{Repaired, Repeated, Segments};

use super::offload::LARGEST_MERGED;
use super::sacked::{Blocks, Sacked};
use super::transit::NEVER;

/// No retransmission timer runs out sooner: Linux' minimum. Windows' is 300 ms, RFC 6298 section 2.4 says one second.
const SHORTEST_TIMEOUT: u64 = 200_000_000;

/// Duplicate acknowledgements that ask for a segment (RFC 5681 section 3.2).
pub(super) const ASKING: u8 = 3;

/// A sender answers the third duplicate acknowledgement within its transit, doubled for queues, and this.
const ANSWER_SLACK: u64 = 50_000_000;

/// A packet that passes again within this is a copy of itself even where no IP identification tells: no sender is
/// that quick.
const COPY_WITHOUT_ID: u64 = 100_000;

/// A packet of the same identification within this is a copy; after it, identifications may have come round.
pub(super) const COPY_WITH_ID: u64 = SHORTEST_TIMEOUT;

/// The lag below which a late segment is reordering where no round trip is known.
const REORDERING_WITHOUT_RTT: u64 = 3_000_000;

/// Segments that passed again whose last passing is remembered.
const MAX_RECENT: usize = 16;

/// Late segments that wait for the final minimum round trip; when there are more, the minimum so far decides.
const MAX_UNDECIDED: usize = 1024;

/// When bytes passed, and in which packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub start: u64,
    pub end: u64,
    pub at: u64,
    pub id: Option<NonZeroU16>,
}

impl Passed {
    /// Whether `other` is the same packet, not a packet with the same bytes.
    fn is_copy(&self, other: &Passed) -> bool {
        let age = other.at - self.at;
        let same_bytes = (self.start, self.end) == (other.start, other.end);
        same_bytes
            && match (self.id, other.id) {
                (Some(one), Some(other)) => one == other && age <= COPY_WITH_ID,
                _ => age <= COPY_WITHOUT_ID,
            }
    }
}

/// What is known of an end when one of its segments is judged. Times are nanoseconds since the connection's start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// One past its highest byte that passed.
    pub high: u64,
    /// Highest of its bytes that the receiver acknowledged.
    pub acked: u64,
    /// Repetitions of that acknowledgement.
    pub duplicate_acks: u8,
    /// When its last new data passed.
    pub last_data: u64,
    /// Identification of its packet before this one.
    pub last_id: Option<NonZeroU16>,
    /// Minimum transit of its side of the path.
    pub transit: Option<u64>,
    /// Minimum round trip.
    pub min_rtt: Option<u64>,
}

/// What a duplicate was: the fields of [`Repeated`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicate {
    Timeout,
    Fast,
    Other,
    Spurious,
    Copy,
    Unknown,
}

/// What a late segment was if it was not overtaken only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    /// Lost before the monitor and sent again: the fields of [`Repaired`].
    Timeout,
    Fast,
    Other,
    /// Its original is not in the capture, but was not lost before the monitor.
    Uncaptured,
}

/// A data segment that was lost, by sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub start: u64,
    pub end: u64,
    /// Which transmission of its first byte it was.
    pub copy: u32,
    pub before_monitor: bool,
    /// When the one passed that took its place.
    pub repaired: u64,
    /// When that was acknowledged, selectively or not; [`NEVER`] if it was not.
    acked: u64,
    /// What the one that took its place counted as; [`Duplicate::Spurious`] once it is known that this one had arrived.
    counted: Duplicate,
}

impl Lost {
    /// It had arrived: what took its place is `repeated` needlessly.
    fn had_arrived(&mut self, repeated: &mut Repeated) {
        *count(repeated, self.counted) -= 1;
        repeated.spurious += 1;
        self.counted = Duplicate::Spurious;
    }
}

/// What became of the data of an end.
#[derive(Clone, Debug, Default)]
pub(super) struct Repair {
    pub segments: Segments,
    /// Segments that were lost, by start and copy.
    pub lost: Vec<Lost>,
}

/// A late segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub passed: Passed,
    /// Where its hole began.
    pub hole: u64,
    /// How long the hole had been open.
    pub lag: u64,
    /// It lies below the first byte that was captured.
    pub before_capture: bool,
}

/// Loss and its repair in one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    repeated: Repeated,
    repaired: Repaired,
    late: u64,
    uncaptured: u64,
    keep_alives: u64,
    window_probes: u64,
    /// Lags of late segments that are reordering if the final minimum round trip is longer, and what they are else.
    undecided: Vec<(u64, Gap, Lost)>,
    /// Segments that were lost, by their first byte and the order in which that was seen.
    lost: BTreeMap<(u64, usize), Lost>,
    /// Segments that passed again and are not acknowledged.
    recent: VecDeque<Passed>,
    /// When the third duplicate acknowledgement passed.
    asked: u64,
    /// A fast recovery goes on until the bytes below are acknowledged; 0 when there is none.
    recover: u64,
    /// When a segment was last sent again.
    resent: u64,
    /// The byte that last passed for the first time while the window was closed; 0 for none.
    refused: u64,
    /// When the receiver acknowledged all that had passed, if its latest acknowledgement did that.
    all_acked: Option<u64>,
    /// The receiver reports what arrives twice.
    reports_twice: bool,
    /// There was more than selective acknowledgements.
    troubled: bool,
    /// What the receiver has behind what is missing.
    sacked: Sacked,
    /// Latest segments that were known to be needless when they passed: the receiver may still report them.
    needless: VecDeque<Passed>,
}

impl Recovery {
    /// Something of the data was sent again, overtaken, or asked for.
    pub fn troubled(&mut self) {
        self.troubled = true;
    }

    /// Whether anything was: selective acknowledgements alone are no trouble.
    pub fn is_troubled(&self) -> bool {
        self.troubled
    }

    /// The receiver acknowledged selectively at `now`. Returns whether it said only what it had said before.
    pub fn sacked(&mut self, blocks: Blocks, now: u64) -> bool {
        let is_repeated = blocks.arrived[0].is_some_and(|(start, end)| self.sacked.are(start, end));
        for (start, end) in blocks.arrived.into_iter().flatten() {
            self.sacked.add(start, end);
            let latest = self.lost.range_mut((start, 0)..(end, 0)).rev().take(MAX_RECENT).map(|(_, lost)| lost);
            latest.filter(|lost| lost.acked == NEVER && lost.end <= end).for_each(|lost| lost.acked = now);
        }
        if let Some((start, end)) = blocks.twice {
            self.reports_twice = true;
            self.arrived_twice(start, end);
        }
        is_repeated && blocks.twice.is_none()
    }

    /// The receiver has the bytes from `start` to `end` twice: one of their transmissions that counts as lost had arrived, if no other
    /// explains it. The last does not count as lost: so it is the one before.
    fn arrived_twice(&mut self, start: u64, end: u64) {
        if self.was_needless(|needless| needless.start < end && start < needless.end) {
            return;
        }
        let mut before = end;
        let told = self.lost.range_mut((start, 0)..(end, 0)).rev().take(MAX_RECENT).map(|(_, lost)| lost);
        for lost in told.filter(|lost| lost.end <= end && !lost.before_monitor) {
            if lost.start < before && lost.counted != Duplicate::Spurious {
                before = lost.start;
                lost.had_arrived(&mut self.repeated);
            }
        }
    }

    /// Whether nothing that passed after all was acknowledged can have been answered at `now` by the receiver, `transit` away and back.
    pub fn is_all_acked(&self, now: u64, transit: u64) -> bool {
        self.all_acked.is_some_and(|all_acked| now - all_acked < transit / 10 * 7)
    }

    /// The receiver, `transit` away and back, repeated at `now` what it has, although nothing new of it was on the way: something arrived
    /// twice.
    pub fn answered_again(&mut self, now: u64, transit: u64) {
        let is_answer = |at: u64| {
            let since = now - at;
            since >= transit / 10 * 7 && since <= transit + transit / 2 + ANSWER_SLACK
        };
        if self.reports_twice || self.was_needless(|needless| is_answer(needless.at)) {
            return;
        }
        let latest = self.lost.values_mut().rev().take(MAX_RECENT);
        let latest = latest.filter(|lost| lost.acked != NEVER && !lost.before_monitor && is_answer(lost.repaired));
        if let Some(lost) =
            latest.filter(|lost| lost.counted != Duplicate::Spurious).max_by_key(|lost| (lost.repaired, lost.start))
        {
            lost.had_arrived(&mut self.repeated);
        }
    }

    /// Whether one of the latest segments that were known to be needless is meant; it is not meant again.
    fn was_needless(&mut self, is_meant: impl Fn(&Passed) -> bool) -> bool {
        let at = self.needless.iter().position(is_meant);
        at.and_then(|at| self.needless.remove(at)).is_some()
    }

    /// A third duplicate acknowledgement passed.
    pub fn asked(&mut self, now: u64) {
        self.asked = now;
    }

    pub fn keep_alive(&mut self) {
        self.keep_alives += 1;
    }

    pub fn window_probe(&mut self) {
        self.window_probes += 1;
    }

    /// The byte at `start` passed for the first time while the window was closed: a probe whose byte may be refused.
    pub fn refused(&mut self, start: u64) {
        self.refused = start;
    }

    /// Whether the byte at `start` is that of the last probe that carried a new one.
    pub fn was_refused(&self, start: u64) -> bool {
        self.refused == start
    }

    /// Judges a segment without new bytes; `original` is when its bytes passed for the first time, if that is known.
    pub fn duplicate(&mut self, passed: Passed, original: Option<Passed>, situation: &Situation) -> Duplicate {
        let duplicate = self.judge_duplicate(&passed, original, situation);
        *count(&mut self.repeated, duplicate) += 1;
        let Passed { start, end, at, .. } = passed;
        if matches!(duplicate, Duplicate::Copy | Duplicate::Spurious) {
            if self.needless.len() == MAX_RECENT {
                self.needless.pop_front();
            }
            self.needless.push_back(passed);
        } else {
            let (copy, counted) = (self.losses_of(start), duplicate);
            self.note_lost(Lost { start, end, copy, before_monitor: false, repaired: at, acked: NEVER, counted });
        }
        if duplicate != Duplicate::Copy {
            self.note_resent(passed, duplicate == Duplicate::Timeout, situation.acked);
        }
        duplicate
    }

    fn judge_duplicate(&mut self, passed: &Passed, original: Option<Passed>, situation: &Situation) -> Duplicate {
        let before = self.last_passing(passed).or(original);
        let is_packet_before = passed.end == situation.high
            && situation.last_id.is_some()
            && situation.last_id == passed.id
            && passed.at - situation.last_data <= COPY_WITH_ID;
        if is_packet_before || before.is_some_and(|before| before.is_copy(passed)) {
            return Duplicate::Copy;
        }
        if passed.end <= situation.acked || self.sacked.covers(passed.start.max(situation.acked), passed.end) {
            return Duplicate::Spurious;
        }
        if self.is_fast(passed, situation) {
            return Duplicate::Fast;
        }
        // Its bytes passed no later than the last new byte did.
        let age = passed.at - before.map_or(situation.last_data, |before| before.at);
        match before {
            _ if age >= SHORTEST_TIMEOUT.max(situation.min_rtt.unwrap_or(0)) => Duplicate::Timeout,
            Some(_) => Duplicate::Other,
            None => Duplicate::Unknown,
        }
    }

    /// Judges a segment that filled a hole.
    pub fn late(&mut self, late: Late, situation: &Situation) {
        self.late += 1;
        let asked_for = situation.acked == late.hole && situation.duplicate_acks >= ASKING;
        let gap = if late.before_capture || late.passed.end <= situation.acked {
            Gap::Uncaptured
        } else if self.is_fast(&late.passed, situation) {
            Gap::Fast
        } else if late.lag >= SHORTEST_TIMEOUT {
            Gap::Timeout
        } else {
            Gap::Other
        };
        let Passed { start, end, at, .. } = late.passed;
        let start = start.max(late.hole);
        let (acked, counted) = (NEVER, Duplicate::Unknown);
        let lost = Lost { start, end, copy: 0, before_monitor: true, repaired: at, acked, counted };
        // The minimum can only fall: a lag that is not below it now will not be below it later.
        if asked_for || situation.min_rtt.is_some_and(|min_rtt| late.lag >= min_rtt) {
            self.decide(gap, lost);
            self.note_resent(late.passed, gap == Gap::Timeout, situation.acked);
        } else {
            if self.undecided.len() == MAX_UNDECIDED {
                self.decide_all(situation.min_rtt);
            }
            self.undecided.push((late.lag, gap, lost));
        }
    }

    /// Whether duplicate acknowledgements brought a segment: it holds the first byte not acknowledged, the third of
    /// them passed no longer ago than the sender needs to answer it, and it was not sent again since then; or it is a
    /// further one of the recovery that began so, none of whose steps took as long as a timer.
    fn is_fast(&mut self, passed: &Passed, situation: &Situation) -> bool {
        let resent = self.last_passing(passed).map(|before| before.at);
        let is_first = passed.start <= situation.acked && situation.acked < passed.end;
        let answer = situation.transit.map_or(SHORTEST_TIMEOUT, |transit| 2 * transit + ANSWER_SLACK);
        let is_asked_for = is_first
            && situation.duplicate_acks >= ASKING
            && passed.at - self.asked <= answer
            && resent.is_none_or(|resent| resent < self.asked);
        if is_asked_for {
            self.recover = situation.high;
            return true;
        }
        let timer = SHORTEST_TIMEOUT.max(situation.min_rtt.unwrap_or(0));
        situation.acked < self.recover && resent.is_none() && passed.at - self.resent < timer
    }

    /// When bytes of `passed` last passed again.
    fn last_passing(&self, passed: &Passed) -> Option<Passed> {
        self.recent.iter().rev().find(|recent| recent.start < passed.end && passed.start < recent.end).copied()
    }

    fn note_resent(&mut self, passed: Passed, by_timeout: bool, acked: u64) {
        if by_timeout {
            self.recover = 0;
        }
        self.resent = passed.at;
        self.recent.retain(|recent| recent.end > acked);
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(passed);
    }

    fn decide(&mut self, gap: Gap, lost: Lost) {
        if gap != Gap::Uncaptured {
            self.note_lost(lost);
        }
        match gap {
            Gap::Timeout => self.repaired.timeout += 1,
            Gap::Fast => self.repaired.fast += 1,
            Gap::Other => self.repaired.other += 1,
            Gap::Uncaptured => self.uncaptured += 1,
        }
    }

    fn decide_all(&mut self, min_rtt: Option<u64>) {
        let limit = min_rtt.unwrap_or(REORDERING_WITHOUT_RTT);
        for (lag, gap, lost) in std::mem::take(&mut self.undecided) {
            if lag >= limit {
                self.decide(gap, lost);
            }
        }
    }

    /// Bytes held on the heap, where an end that has lost nothing holds none.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Recovery>()
            + self.undecided.capacity() * size_of::<(u64, Gap, Lost)>()
            + self.lost.len() * size_of::<((u64, usize), Lost)>()
            + self.recent.capacity() * size_of::<Passed>()
            + self.sacked.heap_bytes()
            + self.needless.capacity() * size_of::<Passed>()
    }

    fn note_lost(&mut self, lost: Lost) {
        self.lost.insert((lost.start, self.lost.len()), lost);
    }

    /// How many of the segments that were lost had the byte at `start`: none is longer than what an offload merges.
    fn losses_of(&self, start: u64) -> u32 {
        let near = self.lost.range((start.saturating_sub(LARGEST_MERGED.into()), 0)..=(start, usize::MAX));
        near.filter(|(_, lost)| lost.end > start).count().try_into().unwrap_or(u32::MAX)
    }

    /// Data up to `ack` was acknowledged at `now` for the first time, and that up to `high` had passed.
    pub fn acknowledged(&mut self, ack: u64, now: u64, high: u64) {
        self.all_acked = (high <= ack).then_some(now);
        self.sacked.acknowledged(ack);
        let latest = self.lost.range_mut(..(ack, 0)).rev().take(MAX_RECENT).map(|(_, lost)| lost);
        latest.filter(|lost| lost.acked == NEVER && lost.end <= ack).for_each(|lost| lost.acked = now);
    }

    /// The counts, once the minimum round trip is final. `near` says whether the end is the one the monitor stands at,
    /// the other one, or, in the middle of the path, neither.
    ///
    /// The other end is `transit` away and back: what was sent again so shortly before its acknowledgement passed that this cannot be
    /// the answer to it had arrived before.
    pub fn finish(mut self, min_rtt: Option<u64>, transit: Option<u64>, near: Option<bool>) -> Repair {
        self.decide_all(min_rtt);
        match near {
            // Nothing lies between this end and the monitor that could lose.
            Some(true) => {
                self.uncaptured += self.repaired.total();
                self.repaired = Repaired::default();
                self.lost.retain(|_, lost| !lost.before_monitor);
            }
            // What passed the monitor had arrived.
            Some(false) => {
                let Repeated { spurious, copies, .. } = self.repeated;
                self.repeated = Repeated { spurious: spurious + self.repeated.lost(), copies, ..Repeated::default() };
                self.lost.retain(|_, lost| lost.before_monitor);
            }
            None => {}
        }
        let shortest = transit.unwrap_or(0) / 10 * 7;
        let is_loss = |lost: &Lost| {
            let had_arrived = lost.counted == Duplicate::Spurious || lost.acked - lost.repaired < shortest;
            lost.before_monitor || !had_arrived
        };
        let mut lost: Vec<Lost> = self.lost.into_values().filter(is_loss).collect();
        lost.sort_by_key(|lost| (lost.start, lost.copy));
        let segments = Segments {
            duplicates: self.repeated.total(),
            late: self.late,
            lost_before: self.repaired.total(),
            uncaptured: self.uncaptured,
            repeated: self.repeated,
            repaired: self.repaired,
            keep_alives: self.keep_alives,
            window_probes: self.window_probes,
            ..Segments::default()
        };
        Repair { segments, lost }
    }
}

/// How many segments counted as `duplicate`.
fn count(repeated: &mut Repeated, duplicate: Duplicate) -> &mut u64 {
    match duplicate {
        Duplicate::Timeout => &mut repeated.timeout,
        Duplicate::Fast => &mut repeated.fast,
        Duplicate::Other => &mut repeated.other,
        Duplicate::Spurious => &mut repeated.spurious,
        Duplicate::Copy => &mut repeated.copies,
        Duplicate::Unknown => &mut repeated.unknown,
    }
}
