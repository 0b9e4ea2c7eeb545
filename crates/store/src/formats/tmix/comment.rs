//! What the lines of Tmix have no place for and a replay needs, as comments that other programs skip.

use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, LinkSide, Side};
use serde::{Deserialize, Serialize};

use super::row::MOST_MICROS;

/// Begins the comment that says what a capture lacked of the payload, as JSON.
pub(super) const PAYLOAD: &str = "# flowloom payload ";

/// Begins the comment below the parameters of a vector that has [`Told`], as JSON.
const CONNECTION: &str = "# flowloom connection ";

/// What is told of a vector beside its lines. Waits of an end that answers contain its transit, as the monitor saw them (methods
/// A.5.10): a replay takes it out, and has to know it. Before an end's first data there is no place for a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Told {
    /// Minimum one-side transit times of the initiator and of the acceptor, in nanoseconds.
    min_transit_ns: [Option<u64>; 2],
    /// From the handshake to the first data of either.
    lead_in_ns: [Option<u64>; 2],
    /// The initiator is on the right of the link.
    from_right: bool,
}

impl Told {
    fn of(vector: &ConnectionVector) -> Told {
        let ends = Side::BOTH.map(|side| vector.ends[side]);
        let nanos = |time: Option<Duration>| time.map(Duration::as_nanos);
        Told {
            min_transit_ns: ends.map(|end| nanos(end.min_transit)),
            lead_in_ns: ends.map(|end| nanos(end.lead_in)),
            from_right: vector.initiator_side == LinkSide::Right,
        }
    }

    /// The comment about `vector`; `None` if there is nothing to tell.
    pub(super) fn comment(vector: &ConnectionVector) -> Option<String> {
        let told = Some(Told::of(vector)).filter(|told| *told != Told::default())?;
        Some(CONNECTION.to_owned() + &serde_json::to_string(&told).ok()?)
    }

    /// What a line tells, if it is such a comment and says what can be.
    pub(super) fn read(line: &[u8]) -> Option<Told> {
        let told: Told = serde_json::from_slice(line.strip_prefix(CONNECTION.as_bytes())?).ok()?;
        let times = told.min_transit_ns.into_iter().chain(told.lead_in_ns).flatten();
        times.into_iter().all(|nanos| nanos <= MOST_MICROS * 1_000).then_some(told)
    }

    /// Adds it to what the lines of `vector` say.
    pub(super) fn put(self, vector: &mut ConnectionVector) {
        for side in Side::BOTH {
            let [transit, lead_in] = [self.min_transit_ns, self.lead_in_ns].map(|of| of[side as usize]);
            vector.ends[side].min_transit = transit.map(Duration::from_nanos);
            vector.ends[side].lead_in = lead_in.map(Duration::from_nanos);
        }
        vector.initiator_side = if self.from_right { LinkSide::Right } else { LinkSide::Left };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_decides_the_side_of_the_link() {
        for (side, told) in [(LinkSide::Right, LinkSide::Left), (LinkSide::Left, LinkSide::Right)] {
            // As the name of the file says, and as it was.
            let mut vector = ConnectionVector { initiator_side: side, ..ConnectionVector::default() };
            let mut original = ConnectionVector { initiator_side: told, ..ConnectionVector::default() };
            original.ends.initiator.min_transit = Some(Duration::from_millis(5));
            Told::read(Told::comment(&original).unwrap().as_bytes()).unwrap().put(&mut vector);
            assert_eq!(
                (vector.initiator_side, vector.ends.initiator.min_transit),
                (told, Some(Duration::from_millis(5)))
            );
        }
    }
}
