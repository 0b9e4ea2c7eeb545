//! Which bytes of one direction the monitor has seen (methods A.3).
//!
//! Nearly always that is one interval, so only its ends are held; holes are kept beside it while there are any.

use std::ops::Range;

/// Holes of one direction that are remembered; beyond that the lowest is given up. A receiver's window bounds what
/// can be missing in practice, so only a capture that itself lost packets for long comes near.
const MAX_HOLES: usize = 1024;

/// Bytes that were skipped.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: u64,
    end: u64,
    /// When a later segment overtook it.
    opened: u64,
}

/// Rare state, allocated with the first hole.
#[derive(Clone, Debug, Default)]
struct Holes {
    /// Ascending, disjoint, all inside `[low, high)`.
    list: Vec<Hole>,
    /// Bytes no longer waited for: disjoint, in the order in which they were given up.
    given_up: Vec<Range<u64>>,
}

impl Holes {
    /// Gives up the lowest hole if there are too many.
    fn limit(&mut self) {
        if self.list.len() > MAX_HOLES {
            let Hole { start, end, .. } = self.list.remove(0);
            self.give_up(start..end);
        }
    }

    /// Stops waiting for bytes that are in no hole of the list any more.
    fn give_up(&mut self, range: Range<u64>) {
        match self.given_up.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            Some(last) if range.end == last.start => last.start = range.start,
            _ if range.is_empty() => {}
            _ => self.given_up.push(range),
        }
    }
}

/// A part of a segment that was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub start: u64,
    pub end: u64,
    pub place: Place,
}

/// Where a piece lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Above everything seen before.
    Above,
    /// In a hole, of which the start and the opening time are given.
    InHole { start: u64, opened: u64 },
    /// Below the first byte seen, in a connection whose start was not captured.
    Below,
}

/// The covered bytes of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage {
    low: u64,
    high: u64,
    holes: Option<Box<Holes>>,
}

impl Coverage {
    /// Nothing is covered yet; the next byte expected is `at`.
    pub fn reset(&mut self, at: u64) {
        *self = Coverage { low: at, high: at, holes: None };
    }

    /// First byte of the covered range.
    pub fn low(&self) -> u64 {
        self.low
    }

    /// One past the highest byte seen.
    pub fn high(&self) -> u64 {
        self.high
    }

    /// First byte not seen: everything from `low` to here is covered (or given up).
    pub fn contiguous(&self) -> u64 {
        self.holes.as_ref().and_then(|holes| holes.list.first()).map_or(self.high, |hole| hole.start)
    }

    /// Whether a hole is open that the receiver had not acknowledged: bytes the sender still has to send again.
    pub fn has_hole_above(&self, acked: u64) -> bool {
        self.holes.as_ref().and_then(|holes| holes.list.last()).is_some_and(|hole| hole.end > acked)
    }

    /// Bytes never seen between the first and the last one seen: disjoint, in no order.
    pub fn missing(&self) -> impl Iterator<Item = Range<u64>> {
        let holes = self.holes.iter();
        holes.flat_map(|holes| holes.given_up.iter().cloned().chain(holes.list.iter().map(|hole| hole.start..hole.end)))
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.holes.as_ref().map_or(0, |holes| {
            size_of::<Holes>()
                + holes.list.capacity() * size_of::<Hole>()
                + holes.given_up.capacity() * size_of::<Range<u64>>()
        })
    }

    /// Takes the lowest new piece of `[start, end)`, covering it; `None` if nothing (more) is new. Call again with
    /// the piece's end until then.
    #[inline]
    pub fn take(&mut self, start: u64, end: u64, now: u64) -> Option<Piece> {
        if start >= end {
            return None;
        }
        if start == self.high {
            self.high = end;
            return Some(Piece { start, end, place: Place::Above });
        }
        self.take_out_of_order(start, end, now)
    }

    /// [`Self::take`] of a segment that does not continue what was seen.
    fn take_out_of_order(&mut self, start: u64, end: u64, now: u64) -> Option<Piece> {
        if start > self.high {
            self.open(Hole { start: self.high, end: start, opened: now });
            self.high = end;
            return Some(Piece { start, end, place: Place::Above });
        }
        if start < self.low {
            let piece = Piece { start, end: end.min(self.low), place: Place::Below };
            if piece.end < self.low {
                let hole = Hole { start: piece.end, end: self.low, opened: now };
                let holes = self.holes.get_or_insert_default();
                holes.list.insert(0, hole);
                holes.limit();
            }
            self.low = start;
            return Some(piece);
        }
        if let Some(piece) = self.fill(start, end) {
            return Some(piece);
        }
        if end <= self.high {
            return None;
        }
        let start = self.high;
        self.high = end;
        Some(Piece { start, end, place: Place::Above })
    }

    /// Stops waiting for bytes below `limit`: they count as missing, and as duplicates if they come after all.
    pub fn give_up_below(&mut self, limit: u64) {
        let above = self.high..limit.max(self.high);
        self.high = above.end;
        let holes = self.holes.get_or_insert_default();
        while let Some(hole) = holes.list.first_mut().filter(|hole| hole.start < limit) {
            let given_up = hole.start..hole.end.min(limit);
            hole.start = given_up.end;
            if hole.start == hole.end {
                holes.list.remove(0);
            }
            holes.give_up(given_up);
        }
        holes.give_up(above);
    }

    fn open(&mut self, hole: Hole) {
        let holes = self.holes.get_or_insert_default();
        holes.list.push(hole);
        holes.limit();
    }

    /// The lowest part of `[start, end)` inside a hole.
    fn fill(&mut self, start: u64, end: u64) -> Option<Piece> {
        let holes = self.holes.as_mut()?;
        let list = &mut holes.list;
        let at = list.partition_point(|hole| hole.end <= start);
        let hole = *list.get(at).filter(|hole| hole.start < end)?;
        let piece = Piece {
            start: start.max(hole.start),
            end: end.min(hole.end),
            place: Place::InHole { start: hole.start, opened: hole.opened },
        };
        match (piece.start > hole.start, piece.end < hole.end) {
            (false, false) => {
                list.remove(at);
            }
            (false, true) => list[at].start = piece.end,
            (true, false) => list[at].end = piece.start,
            (true, true) => {
                list[at].start = piece.end;
                list.insert(at, Hole { end: piece.start, ..hole });
                holes.limit();
            }
        }
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn missing(coverage: &Coverage) -> u64 {
        coverage.missing().map(|range| range.end - range.start).sum()
    }

    #[test]
    fn a_hole_is_filled_in_parts() {
        let mut coverage = Coverage::default();
        coverage.reset(1);
        assert_eq!(coverage.take(1, 11, 0).unwrap().place, Place::Above);
        assert_eq!(coverage.take(41, 51, 7).unwrap().place, Place::Above);
        assert_eq!((coverage.contiguous(), missing(&coverage)), (11, 30));
        assert!(coverage.has_hole_above(11) && !coverage.has_hole_above(41));
        // One segment over the middle of the hole, then one over all of it: two pieces are left.
        let middle = coverage.take(21, 31, 8).unwrap();
        assert_eq!(middle.place, Place::InHole { start: 11, opened: 7 });
        let first = coverage.take(1, 60, 9).unwrap();
        assert_eq!((first.start, first.end), (11, 21));
        let second = coverage.take(first.end, 60, 9).unwrap();
        assert_eq!((second.start, second.end), (31, 41));
        let third = coverage.take(second.end, 60, 9).unwrap();
        assert_eq!((third.start, third.end, third.place), (51, 60, Place::Above));
        assert_eq!(coverage.take(1, 60, 9), None);
        assert_eq!(missing(&coverage), 0);
    }

    #[test]
    fn given_up_bytes_stay_missing() {
        let mut coverage = Coverage::default();
        coverage.reset(1);
        coverage.take(11, 21, 0);
        coverage.give_up_below(31);
        assert_eq!((coverage.contiguous(), missing(&coverage)), (31, 20));
        assert_eq!(coverage.take(1, 11, 1), None, "no longer new");
    }

    #[test]
    fn no_order_of_arrival_makes_more_holes_than_the_limit() {
        let pieces = 3 * MAX_HOLES as u64;
        let every_second_byte = |from: u64| (0..pieces).map(move |n| from + 2 * n);
        let (above, below) = (every_second_byte(1_000_001), every_second_byte(100_000).rev());
        // Into one hole, from its top down, so that each splits it again.
        let inside = every_second_byte(500_000).rev();
        for (name, starts) in
            [("above", above.collect::<Vec<_>>()), ("below", below.collect()), ("inside", inside.collect())]
        {
            let mut coverage = Coverage::default();
            coverage.reset(200_000);
            if name == "inside" {
                coverage.take(999_999, 1_000_000, 0);
            } else if name == "above" {
                coverage.reset(1_000_000);
            }
            let (mut new, before) = (0, coverage.high() - coverage.low() - missing(&coverage));
            for start in starts {
                let piece = coverage.take(start, start + 1, 0);
                new += piece.map_or(0, |piece| piece.end - piece.start);
                let holes = coverage.holes.as_ref().map_or(0, |holes| holes.list.len());
                assert!(holes <= MAX_HOLES, "{holes} holes {name}");
            }
            assert!(new >= MAX_HOLES as u64, "{name}");
            assert_eq!(
                coverage.high() - coverage.low() - missing(&coverage),
                before + new,
                "{name}: each byte is counted"
            );
        }
    }

    proptest! {
        /// Against one flag per byte.
        #[test]
        fn agrees_with_a_bitmap(segments in prop::collection::vec((0u64..200, 1u64..40), 1..60)) {
            let mut coverage = Coverage::default();
            coverage.reset(1000);
            let mut seen = [false; 400];
            for (start, length) in segments {
                let mut new = 0;
                let (mut from, end) = (900 + start, 900 + start + length);
                while let Some(piece) = coverage.take(from, end, 0) {
                    prop_assert!(piece.start >= from && piece.end <= end && piece.start < piece.end);
                    for byte in piece.start..piece.end {
                        prop_assert!(!std::mem::replace(&mut seen[(byte - 800) as usize], true), "byte {byte} twice");
                        new += 1;
                    }
                    from = piece.end;
                }
                for byte in 900 + start..end {
                    prop_assert!(seen[(byte - 800) as usize], "byte {byte} not covered");
                }
                prop_assert!(new <= length);
            }
            let low = coverage.low().min(1000);
            let span = coverage.high() - low;
            let count = seen.iter().filter(|seen| **seen).count() as u64;
            prop_assert_eq!(span - missing(&coverage), count);
        }
    }
}
