//! Which transit times a connection has in a replay (methods A.13.9).

use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::workload::{ConnectionVector, ExtraDelay, LinkSide, Side};

/// Which of an end's transit times, from the monitor to the end and back, its connection has in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum TransitModel {
    /// The shortest.
    #[default]
    Minimum,
    /// The median of those that no acknowledgement policy delayed; where it is not known, the shortest.
    Median(Ends),
    /// The shortest, and the delays of each end's data beyond that ([`ExtraDelays`](crate::path::ExtraDelays)) where its clock tells them; of
    /// other ends the median.
    AsSeen(Ends),
}

/// Ends that have more than the shortest transit time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ends {
    /// Those on both sides of the monitor.
    Both,
    /// Those to the left of the monitor. The link under test is to its right: what passed between the monitor and the ends there may have
    /// waited for that link, whose place another link takes.
    Left,
}

impl TransitModel {
    /// What of it was not the link's that the monitor stands at.
    #[must_use]
    pub fn elsewhere(self) -> TransitModel {
        match self {
            TransitModel::Minimum => TransitModel::Minimum,
            TransitModel::Median(_) => TransitModel::Median(Ends::Left),
            TransitModel::AsSeen(_) => TransitModel::AsSeen(Ends::Left),
        }
    }

    /// The transit time of `side` in the replay of `vector`; `None` if none was measured.
    pub fn transit(self, vector: &ConnectionVector, side: Side) -> Option<Duration> {
        let end = &vector.ends[side];
        let takes_median = match self {
            TransitModel::Minimum => false,
            TransitModel::Median(ends) => ends.has(vector, side),
            TransitModel::AsSeen(ends) => ends.has(vector, side) && vector.delays[side].is_empty(),
        };
        let typical = end.transits.filter(|_| takes_median);
        end.min_transit.map(|least| typical.map_or(least, |transits| transits.q50.max(least)))
    }

    /// The delays of the data of `side` beyond that.
    pub fn delays(self, vector: &ConnectionVector, side: Side) -> &[ExtraDelay] {
        match self {
            TransitModel::AsSeen(ends) if ends.has(vector, side) => &vector.delays[side],
            _ => &[],
        }
    }
}

impl Ends {
    fn has(self, vector: &ConnectionVector, side: Side) -> bool {
        self == Ends::Both || (side == Side::Initiator) == (vector.initiator_side == LinkSide::Left)
    }
}

/// The delay of the byte at `place` of an end's data, of which `delays` tells.
pub fn delay_of(delays: &[ExtraDelay], place: u64) -> Duration {
    let known = delays.partition_point(|delay| delay.from_bytes <= place);
    known.checked_sub(1).map_or(Duration::ZERO, |at| delays[at].delay)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{PerSide, TransitQuantiles};

    #[test]
    fn the_median_is_never_below_the_minimum() {
        const MS: fn(u64) -> Duration = Duration::from_millis;
        let mut vector = ConnectionVector::default();
        let of = |vector: &ConnectionVector| {
            [TransitModel::Minimum, TransitModel::Median(Ends::Both)].map(|model| model.transit(vector, Side::Acceptor))
        };
        assert_eq!(of(&vector), [None; 2]);
        vector.ends.acceptor.min_transit = Some(MS(20));
        assert_eq!(of(&vector), [Some(MS(20)); 2]);
        for (median, replayed) in [(35, 35), (19, 20)] {
            let q50 = MS(median);
            vector.ends.acceptor.transits = Some(TransitQuantiles { q10: q50, q50, q90: MS(90) });
            assert_eq!(of(&vector), [Some(MS(20)), Some(MS(replayed))]);
        }
    }

    #[test]
    fn over_another_link_the_right_has_the_shortest() {
        const MS: fn(u64) -> Duration = Duration::from_millis;
        let quantiles = Some(TransitQuantiles { q10: MS(30), q50: MS(30), q90: MS(30) });
        let delays = [ExtraDelay { from_bytes: 0, delay: MS(7) }];
        for initiator_side in [LinkSide::Left, LinkSide::Right] {
            let mut vector = ConnectionVector { initiator_side, ..ConnectionVector::default() };
            for side in Side::BOTH {
                (vector.ends[side].min_transit, vector.ends[side].transits) = (Some(MS(20)), quantiles);
            }
            let [left, right] = match initiator_side {
                LinkSide::Left => Side::BOTH,
                LinkSide::Right => [Side::Acceptor, Side::Initiator],
            };
            let of = |model: TransitModel, vector: &ConnectionVector| {
                [left, right].map(|side| (model.transit(vector, side), model.delays(vector, side).len()))
            };
            let [least, median] = [20, 30].map(|millis| (Some(MS(millis)), 0));
            let as_seen = TransitModel::AsSeen(Ends::Both);
            assert_eq!(of(as_seen, &vector), [median, median]);
            for model in [as_seen.elsewhere(), TransitModel::Median(Ends::Both).elsewhere()] {
                assert_eq!(of(model, &vector), [median, least]);
            }
            vector.delays = PerSide { initiator: delays.to_vec(), acceptor: delays.to_vec() };
            let delayed = (Some(MS(20)), 1);
            assert_eq!(of(as_seen, &vector), [delayed, delayed]);
            assert_eq!(of(as_seen.elsewhere(), &vector), [delayed, least]);
            assert_eq!(of(TransitModel::Minimum.elsewhere(), &vector), [least, least]);
        }
    }

    #[test]
    fn delays_hold_from_their_byte_on() {
        let delay = |(from_bytes, millis)| ExtraDelay { from_bytes, delay: Duration::from_millis(millis) };
        let delays = [(0, 0), (2_000, 50), (3_000, 20)].map(delay);
        for (place, millis) in [(0, 0), (1_999, 0), (2_000, 50), (2_999, 50), (3_000, 20), (u64::MAX, 20)] {
            assert_eq!(delay_of(&delays, place), Duration::from_millis(millis), "{place}");
        }
        assert_eq!(delay_of(&[], 7), Duration::ZERO);
    }
}
