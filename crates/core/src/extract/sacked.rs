//! What selective acknowledgements say of the data of an end (RFC 2018, RFC 2883).

use super::sequence;

/// Ranges that are held; of more, those with the lowest numbers go first.
const MOST: usize = 64;

/// Data that the receiver has although some before it is missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Sacked {
    /// From the first byte to one past the last; in order, and apart from each other.
    ranges: Vec<(u64, u64)>,
}

impl Sacked {
    /// The receiver has the bytes from `start` to `end`.
    pub fn add(&mut self, start: u64, end: u64) {
        let first = self.ranges.partition_point(|range| range.1 < start);
        let behind = self.ranges.partition_point(|range| range.0 <= end);
        if first == behind {
            if self.ranges.len() < MOST {
                self.ranges.insert(first, (start, end));
            } else if let Some(before) = first.checked_sub(1) {
                self.ranges[..=before].rotate_left(1);
                self.ranges[before] = (start, end);
            }
            return;
        }
        let joined = (start.min(self.ranges[first].0), end.max(self.ranges[behind - 1].1));
        self.ranges[first] = joined;
        self.ranges.drain(first + 1..behind);
    }

    /// Whether the receiver has all bytes from `start` to `end`.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        let behind = self.ranges.partition_point(|range| range.0 <= start);
        behind.checked_sub(1).is_some_and(|at| end <= self.ranges[at].1)
    }

    /// Whether the receiver has the bytes from `start` to `end` and neither the one before nor the one behind.
    pub fn are(&self, start: u64, end: u64) -> bool {
        self.ranges.binary_search(&(start, end)).is_ok()
    }

    /// All below `ack` is acknowledged.
    pub fn acknowledged(&mut self, ack: u64) {
        if self.ranges.first().is_some_and(|range| range.1 <= ack) {
            self.ranges.retain(|range| range.1 > ack);
        }
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.ranges.capacity() * size_of::<(u64, u64)>()
    }
}

/// The blocks of a segment with the acknowledgement `ack`, of data that passed up to `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// What arrived twice: the first block, if it ends at or before the acknowledgement or lies within the second (RFC 2883 section 4).
    pub twice: Option<(u64, u64)>,
    /// What arrived, from the first byte to one past the last.
    pub arrived: [Option<(u64, u64)>; 3],
}

impl Blocks {
    pub fn of(blocks: [(u32, u32); 3], ack: u64, high: u64) -> Blocks {
        let wide = blocks.map(|(start, end)| {
            let (start, end) = (sequence::unwrap(start, ack), sequence::unwrap(end, ack));
            // The number of a FIN may be in it.
            (start < end && end <= high + 1).then_some((start, end))
        });
        let is_twice = |(start, end): &(u64, u64)| {
            (*end).min(high) <= ack || wide[1].is_some_and(|second| second.0 <= *start && *end <= second.1)
        };
        let twice = wide[0].filter(is_twice);
        let arrived = [if twice.is_some() { None } else { wide[0] }, wide[1], wide[2]];
        Blocks { twice, arrived }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_and_are_forgotten() {
        let mut sacked = Sacked::default();
        sacked.add(30, 40);
        sacked.add(10, 20);
        assert!(sacked.covers(10, 20) && sacked.covers(32, 35) && !sacked.covers(15, 35) && !sacked.covers(5, 15));
        sacked.add(20, 30);
        assert!(sacked.covers(10, 40) && !sacked.covers(10, 41));
        sacked.add(5, 50);
        assert_eq!(sacked.ranges, [(5, 50)]);
        assert!(sacked.are(5, 50) && !sacked.are(5, 40));
        sacked.acknowledged(49);
        assert!(sacked.covers(49, 50));
        sacked.acknowledged(50);
        assert!(!sacked.covers(49, 50));
    }

    #[test]
    fn few_of_many_ranges_are_held() {
        let mut sacked = Sacked::default();
        (0..1_000).for_each(|number| sacked.add(10 * number, 10 * number + 5));
        assert_eq!(sacked.ranges.len(), MOST);
        assert!(sacked.covers(9_990, 9_995) && !sacked.covers(0, 5));
        assert!(sacked.ranges.is_sorted());
    }

    #[test]
    fn duplicates_are_told_from_what_arrived() {
        let near = 1 << 32;
        let number = |at: u32| near + u64::from(at);
        let of = |blocks| Blocks::of(blocks, number(1_000), number(9_000));
        let arrived = of([(2_000, 3_000), (4_000, 5_000), (0, 0)]);
        assert_eq!(
            arrived,
            Blocks {
                twice: None,
                arrived: [Some((number(2_000), number(3_000))), Some((number(4_000), number(5_000))), None]
            }
        );
        assert_eq!(of([(500, 1_000), (0, 0), (0, 0)]).twice, Some((number(500), number(1_000))));
        let inside = of([(4_200, 4_400), (4_000, 5_000), (0, 0)]);
        assert_eq!((inside.twice, inside.arrived[0]), (Some((number(4_200), number(4_400))), None));
        assert_eq!(
            of([(8_000, 9_001), (0, 0), (0, 0)]).arrived[0],
            Some((number(8_000), number(9_001))),
            "with the FIN"
        );
        // Beyond what passed, and the wrong way round.
        assert_eq!(of([(8_000, 9_002), (3_000, 2_000), (0, 0)]), Blocks { twice: None, arrived: [None; 3] });
    }
}
