//! Losses where the original had them (methods A.13.7).

use crate::play::waits::ReplayModel;
use crate::workload::{ConnectionVector, LostSegment, Side};

/// The data segments of one end of a replayed connection that are lost because the original's were.
///
/// The segment is lost that carries the first byte of one that was lost, in the same transmission of that byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Losses {
    /// By the place of the first byte.
    places: Box<[Place]>,
}

/// The place of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The first byte that was lost, by its offset in the stream, in which data begins at 1.
    byte: u64,
    /// Transmissions of it that are not lost before the one that is.
    spared: u32,
    before_monitor: bool,
}

/// Where a segment is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostAt {
    /// Before the monitor.
    Before,
    /// Behind it.
    Behind,
}

impl Losses {
    /// Those of `side` of the connection of `vector`; `None` if nothing was lost, or as `model` has it.
    pub fn of(vector: &ConnectionVector, side: Side, model: &ReplayModel) -> Option<Losses> {
        let place = |lost: &LostSegment| Place {
            byte: 1 + lost.after_bytes,
            spared: lost.copy,
            before_monitor: lost.before_monitor,
        };
        let places: Box<[_]> = vector.losses[side].iter().filter(|_| model.losses).map(place).collect();
        (!places.is_empty()).then_some(Losses { places })
    }

    /// A segment of `bytes` from the offset `start` on is sent: where it is lost, if it is.
    pub fn sent(&mut self, start: u64, bytes: u32) -> Option<LostAt> {
        let from = self.places.partition_point(|place| place.byte < start);
        let mut lost = None;
        for place in self.places[from..].iter_mut().take_while(|place| place.byte < start + u64::from(bytes)) {
            let is_lost = place.spared == 0;
            // Each is lost once.
            place.spared = if is_lost { u32::MAX } else { place.spared.saturating_sub(1) };
            if is_lost {
                lost = Some(if place.before_monitor { LostAt::Before } else { LostAt::Behind });
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::Waits;
    use crate::time::Duration;

    const MODEL: ReplayModel = ReplayModel { losses: true, ..ReplayModel::with_waits(Waits::CORRECTED) };

    fn losses(lost: &[(u64, u32, bool)]) -> Losses {
        let mut vector = ConnectionVector::default();
        let segment = |(after_bytes, copy, before_monitor): &(u64, u32, bool)| LostSegment {
            after_bytes: *after_bytes,
            bytes: 1_000,
            copy: *copy,
            before_monitor: *before_monitor,
            repaired: Duration::ZERO,
        };
        vector.losses.acceptor = lost.iter().map(segment).collect();
        assert_eq!(Losses::of(&vector, Side::Initiator, &MODEL), None);
        assert_eq!(Losses::of(&vector, Side::Acceptor, &ReplayModel { losses: false, ..MODEL }), None);
        Losses::of(&vector, Side::Acceptor, &MODEL).unwrap()
    }

    #[test]
    fn the_copy_that_was_lost_is_lost() {
        let mut losses = losses(&[(1_000, 0, true), (1_000, 1, false), (3_000, 2, false)]);
        let fates: Vec<_> = [1, 1_001, 2_001, 1_001, 1_001, 3_001, 3_001, 3_001, 3_001]
            .into_iter()
            .map(|start| losses.sent(start, 1_000))
            .collect();
        let (before, behind) = (Some(LostAt::Before), Some(LostAt::Behind));
        assert_eq!(fates, [None, before, None, behind, None, None, None, behind, None]);
    }

    #[test]
    fn segments_of_another_size_are_lost_by_their_first_byte() {
        let mut losses = losses(&[(1_000, 0, false), (2_000, 0, false), (4_000, 0, false)]);
        assert_eq!(losses.sent(501, 500), None, "up to the byte before");
        assert_eq!(losses.sent(1_001, 1_400), Some(LostAt::Behind), "two at once");
        assert_eq!(losses.sent(2_401, 1_400), None);
        assert_eq!(losses.sent(3_801, 1_400), Some(LostAt::Behind));
        assert_eq!(losses.sent(1_001, 1_400), None, "sent again");
    }
}
