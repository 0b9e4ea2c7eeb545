//! Which payload bytes of a direction have passed, so that goodput counts each once.

/// First-time bytes of one direction of a connection, at a queue that keeps their order.
///
/// Bytes below the highest offered one that have not passed are those of dropped packets, of packets that wait in a queue which
/// decides at departure, and of packets that have not reached the queue: lost before it, or overtaken.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// End of the highest byte ever offered; the first byte of a stream is 1.
    highest: u64,
    /// Not passed: disjoint, in order.
    holes: Holes,
    /// Of these, never offered. Apart, since few paths lose packets before the queue.
    skipped: Option<Box<Holes>>,
}

type Holes = Vec<(u64, u64)>;

impl Default for Coverage {
    fn default() -> Coverage {
        Coverage { highest: 1, holes: Holes::new(), skipped: None }
    }
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
        let again = self.skipped.as_mut().map_or(0, |skipped| fill(skipped, start, end));
        if start > self.highest {
            let skipped = self.skipped.get_or_insert_default();
            skipped.push((self.highest, start));
            add(&mut self.holes, self.highest, start);
        }
        let new_from = start.max(self.highest);
        let new = end.saturating_sub(new_from) as u32;
        self.highest = self.highest.max(end);
        let offered = new + again;
        if !taken {
            if new > 0 {
                add(&mut self.holes, new_from, end);
            }
            return Fresh { offered, carried: 0 };
        }
        if self.holes.is_empty() {
            return Fresh { offered, carried: new };
        }
        Fresh { offered, carried: new + fill(&mut self.holes, start, end) }
    }

    /// A segment that a queue holds for now reached it; the part of it that was never offered before.
    pub fn queue(&mut self, start: u64, length: u32) -> u32 {
        self.offer(start, length, false).offered
    }

    /// A segment that a queue held is carried on; the part of it that was never carried before.
    pub fn carry(&mut self, start: u64, length: u32) -> u32 {
        fill(&mut self.holes, start, start + u64::from(length))
    }
}

/// Puts `[start, end)` behind the holes.
fn add(holes: &mut Holes, start: u64, end: u64) {
    match holes.last_mut() {
        Some(last) if last.1 == start => last.1 = end,
        _ => holes.push((start, end)),
    }
}

/// Takes `[start, end)` out of the holes and returns how much of it was in them.
fn fill(holes: &mut Holes, start: u64, end: u64) -> u32 {
    let mut filled = 0;
    let mut index = holes.partition_point(|hole| hole.1 <= start);
    while let Some(&(from, to)) = holes.get(index)
        && from < end
    {
        filled += to.min(end) - from.max(start);
        match (from < start, to > end) {
            (true, true) => {
                holes[index].1 = start;
                holes.insert(index + 1, (end, to));
                break;
            }
            (true, false) => {
                holes[index].1 = start;
                index += 1;
            }
            (false, true) => {
                holes[index].0 = end;
                break;
            }
            (false, false) => {
                holes.remove(index);
            }
        }
    }
    filled as u32
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
    fn what_was_lost_before_the_queue_is_fresh_when_it_comes() {
        let mut coverage = Coverage::default();
        assert_eq!(coverage.offer(101, 100, true), Fresh { offered: 100, carried: 100 }, "the first was lost");
        assert_eq!(coverage.offer(401, 100, false), Fresh { offered: 100, carried: 0 });
        assert_eq!(coverage.offer(1, 500, true), Fresh { offered: 300, carried: 400 });
        assert_eq!(coverage.offer(1, 500, true), Fresh::default());
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
        fn equals_a_map_of_bytes(
            steps in prop::collection::vec((0u64..60, 0u64..3, 0u64..30, 0u32..20, any::<bool>()), 1..60),
        ) {
            let mut coverage = Coverage::default();
            let (mut offered, mut carried) = (vec![false; 4_000], vec![false; 4_000]);
            let mut highest = 1;
            for (back, skips, ahead, length, taken) in steps {
                // Every third begins beyond what has come so far, as far as others were lost before it.
                let start = if skips == 0 { highest + ahead } else { u64::saturating_sub(highest, back).max(1) };
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
