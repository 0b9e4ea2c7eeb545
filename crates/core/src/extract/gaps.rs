//! Bytes of one direction that the capture lacks, and which of them arrived (methods A.3).

use std::ops::{AddAssign, Range};

/// The gaps of one direction, once its connection is over.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    /// Ascending and disjoint.
    ranges: Vec<Range<u64>>,
    /// Highest byte that the other end acknowledged: everything below it arrived.
    acked: u64,
}

/// MissingBytes bytes of a part of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MissingBytes {
    /// All of them.
    pub all: u64,
    /// Of them, those that the other end acknowledged.
    pub acknowledged: u64,
}

impl AddAssign for MissingBytes {
    fn add_assign(&mut self, other: MissingBytes) {
        self.all += other.all;
        self.acknowledged += other.acknowledged;
    }
}

impl Gaps {
    /// Gaps at disjoint `ranges`, where the other end acknowledged everything below `acked`.
    pub fn new(mut ranges: Vec<Range<u64>>, acked: u64) -> Gaps {
        ranges.sort_unstable_by_key(|range| range.start);
        Gaps { ranges, acked }
    }

    /// The missing bytes of `[start, end)`.
    pub fn within(&self, start: u64, end: u64) -> MissingBytes {
        let first = self.ranges.partition_point(|range| range.end <= start);
        let inside = self.ranges[first..].iter().take_while(|range| range.start < end);
        let mut missing = MissingBytes::default();
        for range in inside {
            let (from, to) = (range.start.max(start), range.end.min(end));
            missing += MissingBytes { all: to - from, acknowledged: to.min(self.acked).saturating_sub(from) };
        }
        missing
    }

    /// All missing bytes.
    pub fn total(&self) -> MissingBytes {
        self.within(0, u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against one flag for each byte.
        #[test]
        fn gaps_count_as_a_bitmap_does(
            gaps in prop::collection::vec((0u64..20, 1u64..20), 0..10),
            acked in 0u64..300,
            cuts in prop::collection::vec(0u64..300, 0..5),
        ) {
            let (mut ranges, mut at) = (Vec::new(), 0);
            let mut lacks = [false; 400];
            for (between, length) in gaps {
                let start = at + between;
                at = start + length;
                ranges.push(start..at);
                (start..at).for_each(|byte| lacks[byte as usize] = true);
            }
            ranges.reverse();
            let gaps = Gaps::new(ranges, acked);
            let count = |start: u64, end: u64| MissingBytes {
                all: (start..end).filter(|byte| lacks[*byte as usize]).count() as u64,
                acknowledged: (start..end.min(acked)).filter(|byte| lacks[*byte as usize]).count() as u64,
            };
            let mut borders: Vec<u64> = cuts.into_iter().chain([0, 400]).collect();
            borders.sort_unstable();
            let mut sum = MissingBytes::default();
            for pair in borders.windows(2) {
                let found = gaps.within(pair[0], pair[1]);
                prop_assert_eq!(found, count(pair[0], pair[1]));
                sum += found;
            }
            prop_assert_eq!(sum, gaps.total());
        }
    }
}
