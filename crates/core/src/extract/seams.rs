//! Seams: where one write of a program ends and the next one follows at once (methods A.13.1).
//!
//! TCP fills its segments while it has more to send. A smaller one inside an ADU, which pushes (PSH), was all that the program had
//! written by then: what follows is another write, however soon it follows. A replay that writes both as one sends fewer segments,
//! and makes the other end acknowledge less often.
//!
//! Nothing else may explain the smaller segment. It was not cut to a window, it was not repaired, its sender has no smaller segments
//! for full ones, it was no piece of what an offload had merged, and it is not what SACK blocks left no room for when full segments
//! were sent again that were lost before the monitor. The size of a full segment must be known from the SYNs, or from the largest segments
//! that did not push, where those came again and are as large as Ethernet takes.

use std::ops::RangeInclusive;

use super::writes::{LEAST_FULL, MOST_OPTIONS};

/// Full segments over Ethernet and tunnels through it: no two smaller ones that an offload had merged are as large.
const OVER_ETHERNET: RangeInclusive<u64> = 1_200..=1_460;

/// A segment of new data in order, as the end of a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    /// Its payload bytes.
    pub bytes: u64,
    /// PSH was set.
    pub pushes: bool,
    /// The payload of a full segment with the same options, if both ends are known well enough.
    pub full: Option<u64>,
}

impl Tail {
    /// The payload of a full segment, where the sender fills segments of `filled` bytes.
    fn full(&self, filled: u64) -> Option<u64> {
        let full = self.full?;
        // The path may take smaller segments than the ends do.
        Some(if filled > 0 && filled + MOST_OPTIONS < full { filled.max(LEAST_FULL) } else { full })
    }

    /// Whether a larger segment would have passed if its sender had had more to send, where the sender fills segments of `filled` bytes.
    pub fn is_short(&self, filled: u64) -> bool {
        self.pushes && self.full(filled).is_some_and(|full| self.bytes + MOST_OPTIONS < full)
    }

    /// How many bytes it is smaller than a full one, if that may be for its options.
    pub fn lacks(&self, filled: u64) -> Option<u8> {
        let lacks = self.full(filled)?.saturating_sub(self.bytes);
        (lacks <= MOST_OPTIONS).then_some(lacks as u8)
    }
}

/// The seams of one end.
#[derive(Clone, Debug, Default)]
pub(super) struct Seams {
    /// The latest segment ended a write.
    is_open: bool,
    /// The largest segment that did not push: its sender had more to send.
    filled: u64,
    /// It came again.
    filled_again: bool,
    /// By how many bytes, taken together, the segments since the last small one were smaller than full ones, because of their options. If
    /// they were full segments that are sent again, this many bytes are left over and go into a segment of their own.
    rest: u64,
    /// The first byte of each write that followed another at once.
    list: Vec<u64>,
}

impl Seams {
    /// The state after the end's first data segment: whether it ended a write, and how many bytes it lacked (see [`Tail::lacks`]).
    pub fn after_first(is_over: bool, lacked: u8) -> Seams {
        Seams { is_open: is_over, rest: lacked.into(), ..Seams::default() }
    }

    /// New data passed in order from the byte `start` on; `is_free` if no window and no repair explains the size of the segment.
    #[inline]
    pub fn sent(&mut self, start: u64, tail: &Tail, is_free: bool) {
        if self.is_open {
            self.list.push(start);
        }
        if !tail.pushes && tail.bytes >= self.filled {
            (self.filled, self.filled_again) = (tail.bytes, tail.bytes == self.filled);
        }
        let is_rest = tail.bytes <= self.rest;
        self.is_open = is_free && !is_rest && tail.is_short(self.filled);
        self.rest = match tail.lacks(self.filled) {
            Some(lacks) => self.rest + u64::from(lacks),
            None if is_rest => self.rest - tail.bytes,
            None => 0,
        };
    }

    /// The payload of a full segment of an end whose largest segment was `largest`, by what has passed of it.
    pub fn likely_full(&self, largest: u64) -> Option<u64> {
        (self.filled_again && largest <= self.filled && OVER_ETHERNET.contains(&self.filled)).then_some(self.filled)
    }

    /// The largest segment that did not push.
    pub fn filled(&self) -> u64 {
        self.filled
    }

    /// `missing` bytes did not pass, then a segment from the byte `start` on. If that left with what was before them, as is known or not, a
    /// write that ended before them is told. The last of the missing segments ended one, too, if together they are smaller than a full one,
    /// are no rest of others, and `has_room`: no window explains it.
    pub fn skipped(&mut self, start: u64, missing: u64, tail: &Tail, is_known: bool, has_room: bool) {
        if self.is_open && is_known {
            self.list.push(start - missing);
        }
        self.is_open = false;
        let Some(full) = tail.full(self.filled) else { return };
        if missing + MOST_OPTIONS < full {
            self.is_open = is_known && has_room && missing > self.rest;
            self.rest = self.rest.saturating_sub(missing);
        } else {
            // Each missing segment may have been smaller than a full one by as many bytes as options take.
            self.rest += MOST_OPTIONS * missing.div_ceil(full.saturating_sub(MOST_OPTIONS).max(1));
        }
    }

    /// Whether the latest segment ended a write.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// The latest segment ended a write, whatever it looked like.
    pub fn end_write(&mut self) {
        self.is_open = true;
    }

    /// Whatever the latest segment looked like, it does not tell.
    #[inline]
    pub fn forget(&mut self) {
        self.is_open = false;
    }

    /// The first bytes of writes that followed others at once, in order.
    pub fn list(&self) -> &[u64] {
        &self.list
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.list.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1_448;
    const NONE: [u64; 0] = [];

    fn tail(bytes: u64, pushes: bool) -> Tail {
        Tail { bytes, pushes, full: Some(FULL) }
    }

    /// The seams of an end that sends these segments, of which the last number says whether they push.
    fn seams(segments: &[(u64, bool)]) -> Vec<u64> {
        let (mut seams, mut sent) = (Seams::default(), 0);
        for &(bytes, pushes) in segments {
            seams.sent(sent, &tail(bytes, pushes), true);
            sent += bytes;
        }
        seams.list
    }

    #[test]
    fn a_short_segment_that_pushes_ends_a_write() {
        assert_eq!(seams(&[(100, true), (FULL, false), (552, true)]), [100]);
        assert_eq!(seams(&[(36, true), (36, true), (36, true)]), [36, 72]);
        assert_eq!(seams(&[(100, false), (FULL, false)]), NONE, "without PSH a window may have cut it");
        assert_eq!(seams(&[(FULL, true), (FULL, true)]), NONE);
        let nearly = FULL - MOST_OPTIONS;
        assert_eq!(seams(&[(nearly, true), (FULL, true)]), NONE, "options take as much");
        assert_eq!(seams(&[(nearly - 1, true), (FULL, true)]), [nearly - 1]);
    }

    #[test]
    fn a_path_that_takes_less_fills_smaller_segments() {
        assert_eq!(seams(&[(1_200, false), (1_200, true), (1_200, true), (300, true)]), NONE);
        assert_eq!(seams(&[(1_200, false), (700, true), (1_200, true)]), [1_900]);
        let cut = [(300, false), (700, true), (499, true), (300, true), (9, true)];
        assert_eq!(seams(&cut), [1_499, 1_799], "segments below 536 bytes are never full");
    }

    /// Segments of 1,448 bytes that were lost, sent again beside SACK blocks.
    #[test]
    fn the_rest_of_full_segments_is_no_write() {
        assert_eq!(seams(&[(FULL, true), (FULL - 12, true), (12, true), (FULL, true)]), NONE);
        assert_eq!(seams(&[(FULL - 12, true), (FULL - 20, true), (8, true), (FULL, true)]), NONE);
        assert_eq!(seams(&[(FULL - 28, false), (FULL, false), (FULL - 12, false), (40, true), (FULL, true)]), NONE);
        assert_eq!(seams(&[(FULL - 20, false), (8, false), (12, true), (FULL, true)]), NONE);
        assert_eq!(seams(&[(FULL - 12, false), (FULL - 12, false), (25, true), (FULL, true)]), [2 * FULL + 1]);
        assert_eq!(seams(&[(FULL - 12, false), (12, true), (12, true), (FULL, true)]), [FULL + 12], "told once");
        let more = MOST_OPTIONS + 1;
        assert_eq!(
            seams(&[(FULL, true), (FULL - more, true), (more, true), (FULL, true)]),
            [2 * FULL - more, 2 * FULL]
        );
        assert_eq!(seams(&[(FULL, true), (700, true), (12, true), (FULL, true)]), [FULL + 700, FULL + 712]);
    }

    #[test]
    fn the_rest_of_full_segments_is_none_where_it_is_missing() {
        let of = |missing: u64, before: u64| {
            let mut seams = Seams::default();
            seams.sent(0, &tail(before, false), true);
            seams.skipped(before + missing, missing, &tail(FULL, false), true, true);
            seams.sent(before + missing, &tail(FULL, false), true);
            seams.sent(before + missing + FULL, &tail(30, true), true);
            seams.sent(before + missing + FULL + 30, &tail(FULL, true), true);
            seams.list
        };
        assert_eq!(of(100, FULL), [FULL + 100, 2 * FULL + 130]);
        assert_eq!(of(12, FULL - 12), [2 * FULL + 30], "sent again beside a SACK block");
        assert_eq!(of(FULL, FULL), NONE, "30 bytes may be of what is missing");
    }

    #[test]
    fn what_nothing_is_known_of_is_no_seam() {
        assert!(!Tail { bytes: 100, pushes: true, full: None }.is_short(0));
        let mut seams = Seams::default();
        seams.sent(0, &tail(100, true), false);
        seams.sent(100, &tail(100, true), true);
        seams.forget();
        seams.sent(200, &tail(100, true), true);
        seams.sent(300, &tail(100, true), true);
        assert_eq!(seams.list(), [300], "neither behind a full window nor behind a repair");
    }
}
