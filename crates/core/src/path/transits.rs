//! Which transit times a connection has in a replay (methods A.13.9).

use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::workload::{ConnectionVector, ExtraDelay, Side};

/// Which of an end's transit times, from the monitor to the end and back, its connection has in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum TransitModel {
    /// The shortest.
    #[default]
    Minimum,
    /// The median of those that no acknowledgement policy delayed; where it is not known, the shortest.
    Median,
    /// The shortest, and the delays of each end's data beyond that ([`ExtraDelays`](super::ExtraDelays)) where its clock tells them; of
    /// other ends the median.
    AsSeen,
}

impl TransitModel {
    /// The transit time of `side` in the replay of `vector`; `None` if none was measured.
    pub fn transit(self, vector: &ConnectionVector, side: Side) -> Option<Duration> {
        let end = &vector.ends[side];
        let takes_least = match self {
            TransitModel::Minimum => true,
            TransitModel::Median => false,
            TransitModel::AsSeen => !vector.delays[side].is_empty(),
        };
        let typical = end.transits.filter(|_| !takes_least);
        end.min_transit.map(|least| typical.map_or(least, |transits| transits.q50.max(least)))
    }

    /// The delays of the data of `side` beyond that.
    pub fn delays(self, vector: &ConnectionVector, side: Side) -> &[ExtraDelay] {
        if self == TransitModel::AsSeen { &vector.delays[side] } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::TransitQuantiles;

    #[test]
    fn the_median_is_never_below_the_minimum() {
        const MS: fn(u64) -> Duration = Duration::from_millis;
        let mut vector = ConnectionVector::default();
        let of = |vector: &ConnectionVector| {
            [TransitModel::Minimum, TransitModel::Median].map(|model| model.transit(vector, Side::Acceptor))
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
}
