//! What the lines of Tmix have no place for and a replay needs, as comments that other programs skip.

use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, LinkSide, Side};
use serde::{Deserialize, Serialize};

use super::row::{After, MOST_MICROS, Row};

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
    /// The close that has no line in the original spelling.
    #[serde(skip_serializing_if = "Option::is_none")]
    close: Option<ToldClose>,
}

/// The close of an end that did not send last, of a sequential vector: a last wait in the lines is that of the end that did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToldClose {
    /// The acceptor closes.
    by_acceptor: bool,
    /// Data units before it.
    behind: usize,
    /// How long the end waits, in microseconds: since its own data, and behind the last data unit since it received that.
    wait_us: u64,
}

impl ToldClose {
    /// That of `rows`, which are sequential, if no line of the original spelling says it; and where it stands.
    pub(super) fn of(rows: &[Row]) -> Option<(usize, ToldClose)> {
        let at = rows.iter().position(|row| row.bytes == 0)?;
        let closes_own = at + 1 == rows.len() && at > 0 && rows[at - 1].side == rows[at].side;
        let Row { side, wait_us, .. } = rows[at];
        (!closes_own).then_some((at, ToldClose { by_acceptor: side == Side::Acceptor, behind: at, wait_us }))
    }

    /// Puts it between `rows`, unless they cannot have it there: whoever changes lines may leave the comment.
    pub(super) fn put(self, rows: &mut Vec<Row>) {
        let side = if self.by_acceptor { Side::Acceptor } else { Side::Initiator };
        let Some((before, behind)) = rows.split_at_checked(self.behind) else { return };
        let own_turn = before.last().is_some_and(|row| row.side == side);
        let is_possible = !before.is_empty()
            && own_turn != behind.is_empty()
            && !rows.iter().any(|row| row.bytes == 0)
            && !behind.iter().any(|row| row.side == side)
            && self.wait_us <= MOST_MICROS;
        if is_possible {
            let after = if own_turn { After::Sending } else { After::Receiving };
            rows.insert(self.behind, Row { side, after, wait_us: self.wait_us, bytes: 0 });
        }
    }
}

impl Told {
    fn of(vector: &ConnectionVector) -> Told {
        let ends = Side::BOTH.map(|side| vector.ends[side]);
        let nanos = |time: Option<Duration>| time.map(Duration::as_nanos);
        Told {
            min_transit_ns: ends.map(|end| nanos(end.min_transit)),
            lead_in_ns: ends.map(|end| nanos(end.lead_in)),
            from_right: vector.initiator_side == LinkSide::Right,
            close: None,
        }
    }

    /// The comment about `vector`, with a close that its lines do not say; `None` if there is nothing to tell.
    pub(super) fn comment(vector: &ConnectionVector, close: Option<ToldClose>) -> Option<String> {
        let told = Some(Told { close, ..Told::of(vector) }).filter(|told| *told != Told::default())?;
        Some(CONNECTION.to_owned() + &serde_json::to_string(&told).ok()?)
    }

    /// What a line tells, if it is such a comment and says what can be.
    pub(super) fn read(line: &[u8]) -> Option<Told> {
        let told: Told = serde_json::from_slice(line.strip_prefix(CONNECTION.as_bytes())?).ok()?;
        let times = told.min_transit_ns.into_iter().chain(told.lead_in_ns).flatten();
        times.into_iter().all(|nanos| nanos <= MOST_MICROS * 1_000).then_some(told)
    }

    /// The close that the lines do not say.
    pub(super) fn close(self) -> Option<ToldClose> {
        self.close
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
            Told::read(Told::comment(&original, None).unwrap().as_bytes()).unwrap().put(&mut vector);
            assert_eq!(
                (vector.initiator_side, vector.ends.initiator.min_transit),
                (told, Some(Duration::from_millis(5)))
            );
        }
    }
}
