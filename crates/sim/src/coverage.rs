//! Which payload bytes of a direction have passed, so that goodput counts each once.

/// First-time bytes of one direction of a connection, at a queue that keeps their order.
///
/// A sender's segments reach the queue in the order it sent them, and it never skips bytes, so the only bytes below the
/// highest offered one that have not passed are those of dropped packets, and of packets that wait in a queue which decides at
/// departure.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// End of the highest byte ever offered.
    highest: u64,
    /// Offered, and not passed since: disjoint, in order.
    holes: Vec<(u64, u64)>,
}

/// Bytes of a segment seen for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Fresh {
    /// Before the queue.
    pub offered: u32,
    /// Behind it.
    pub carried: u32,
}

impl Coverage {
    /// A segment with bytes `[start, start + length)` reached the queue and was `taken` or dropped.
    pub fn offer(&mut self, start: u64, length: u32, taken: bool) -> Fresh {
        let end = start + u64::from(length);
        let new_from = start.max(self.highest);
        let offered = end.saturating_sub(new_from) as u32;
        self.highest = self.highest.max(end);
        if !taken {
            match self.holes.last_mut() {
                _ if offered == 0 => {}
                Some(last) if last.1 == new_from => last.1 = end,
                _ => self.holes.push((new_from, end)),
            }
            return Fresh { offered, carried: 0 };
        }
        if self.holes.is_empty() {
            return Fresh { offered, carried: offered };
        }
        Fresh { offered, carried: offered + self.fill(start, end) }
    }

    /// A segment that a queue holds for now reached it; the part of it that was never offered before.
    pub fn queue(&mut self, start: u64, length: u32) -> u32 {
        self.offer(start, length, false).offered
    }

    /// A segment that a queue held is carried on; the part of it that was never carried before.
    pub fn carry(&mut self, start: u64, length: u32) -> u32 {
        self.fill(start, start + u64::from(length))
    }

    /// Takes `[start, end)` out of the holes and returns how much of it was in them.
    fn fill(&mut self, start: u64, end: u64) -> u32 {
        let mut filled = 0;
        let mut index = self.holes.partition_point(|hole| hole.1 <= start);
        while let Some(&(from, to)) = self.holes.get(index)
            && from < end
        {
            filled += to.min(end) - from.max(start);
            match (from < start, to > end) {
                (true, true) => {
                    self.holes[index].1 = start;
                    self.holes.insert(index + 1, (end, to));
                    break;
                }
                (true, false) => {
                    self.holes[index].1 = start;
                    index += 1;
                }
                (false, true) => {
                    self.holes[index].0 = end;
                    break;
                }
                (false, false) => {
                    self.holes.remove(index);
                }
            }
        }
        filled as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    #[test]
    fn a_retransmission_of_what_was_dropped_is_fresh_behind_the_queue_only() {
        let mut coverage = Coverage::default();
        assert_eq!(coverage.offer(1, 100, true), Fresh { offered: 100, carried: 100 });
        assert_eq!(coverage.offer(101, 100, false), Fresh { offered: 100, carried: 0 });
        assert_eq!(coverage.offer(201, 100, true), Fresh { offered: 100, carried: 100 });
        assert_eq!(coverage.offer(1, 300, true), Fresh { offered: 0, carried: 100 });
        assert_eq!(coverage.offer(1, 300, true), Fresh::default());
    }

    #[test]
    fn what_waits_is_carried_when_it_leaves_and_by_whichever_copy_leaves_first() {
        let mut coverage = Coverage::default();
        assert_eq!((coverage.queue(1, 100), coverage.queue(101, 100), coverage.queue(201, 100)), (100, 100, 100));
        assert_eq!(coverage.queue(101, 100), 0, "sent again");
        assert_eq!(coverage.holes.len(), 1, "packets that wait in order are one hole");
        assert_eq!((coverage.carry(1, 100), coverage.carry(201, 100)), (100, 100));
        assert_eq!((coverage.carry(101, 100), coverage.carry(101, 100)), (100, 0));
        assert!(coverage.holes.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() })]

        /// Against a bit per byte.
        #[test]
        fn equals_a_map_of_bytes(steps in prop::collection::vec((0u64..60, 0u32..20, any::<bool>()), 1..60)) {
            let mut coverage = Coverage::default();
            let (mut offered, mut carried) = (vec![false; 2_000], vec![false; 2_000]);
            let mut highest = 0;
            for (back, length, taken) in steps {
                let start = u64::saturating_sub(highest, back);
                let mut fresh = Fresh::default();
                for byte in start..start + u64::from(length) {
                    fresh.offered += u32::from(!std::mem::replace(&mut offered[byte as usize], true));
                    if taken {
                        fresh.carried += u32::from(!std::mem::replace(&mut carried[byte as usize], true));
                    }
                }
                prop_assert_eq!(coverage.offer(start, length, taken), fresh);
                highest = highest.max(start + u64::from(length));
            }
        }
    }
}
