//! SYNs and SYN/ACKs that are sent again, as in the original (methods A.13.6).

use crate::play::waits::ReplayModel;
use crate::time::{Duration, Time};
use crate::workload::{ConnectionVector, Side, SynAnswer};

/// The SYNs of the initiator, or the SYN/ACKs of the acceptor, of a replayed connection whose original sent some in vain.
///
/// Each has its time after the first. One that is sent at another time counts as the nearest of the original's, so that an end with timers
/// of its own, as a kernel's, is late by as much as the original was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syns {
    side: Side,
    /// Those that were sent again: when the next was, after the first, and what had come until then.
    vain: Box<[(Duration, SynAnswer)]>,
    first: Option<Time>,
}

/// What becomes of a packet at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AtEnd {
    /// The other end takes it.
    #[default]
    Taken,
    /// It does not arrive.
    Lost,
    /// The other end refuses the connection.
    Refused,
}

impl Syns {
    /// Those of `side` of the connection of `vector`; `None` if none was sent again, or as `model` has it.
    pub fn of(vector: &ConnectionVector, side: Side, model: &ReplayModel) -> Option<Syns> {
        let mut next = Duration::ZERO;
        let own = vector.syn_repeats.iter().filter(|repeat| model.syn && repeat.side == side);
        let vain: Box<[_]> = own
            .map(|repeat| {
                next += repeat.wait;
                (next, repeat.answer)
            })
            .collect();
        (!vain.is_empty()).then_some(Syns { side, vain, first: None })
    }

    /// The same between ends that cannot refuse: what the original refused is lost.
    #[must_use]
    pub fn without_refusals(mut self) -> Syns {
        for (_, answer) in self.vain.iter_mut().filter(|(_, answer)| *answer == SynAnswer::Reset) {
            *answer = SynAnswer::None;
        }
        self
    }

    /// One is sent at `now`: when the next is to be, if it is not answered. `None` behind the last of the original.
    ///
    /// A SYN/ACK that a SYN called for again waits for that, and a quarter longer.
    pub fn sent(&mut self, now: Time) -> Option<Time> {
        let first = *self.first.get_or_insert(now);
        let at = self.vain.partition_point(|(next, _)| *next <= now.since(first));
        let (next, answer) = *self.vain.get(at)?;
        let wait = next.saturating_sub(at.checked_sub(1).map_or(Duration::ZERO, |before| self.vain[before].0));
        let waits_for_syn = self.side == Side::Acceptor && answer == SynAnswer::Syn;
        Some(first + next + if waits_for_syn { wait / 4 } else { Duration::ZERO })
    }

    /// Whether one is still to come after `now`.
    pub fn go_on(&self, now: Time) -> bool {
        let last = self.vain.last().map_or(Duration::ZERO, |(next, _)| *next);
        self.first.is_some_and(|first| now.since(first) < last)
    }

    /// What becomes of one that is sent at `now`.
    pub fn at_end(&mut self, now: Time) -> AtEnd {
        let after = now.since(*self.first.get_or_insert(now));
        let sent = std::iter::once(Duration::ZERO).chain(self.vain.iter().map(|(next, _)| *next));
        let nearest =
            self.vain.iter().zip(sent).find(|((next, _), sent)| after.saturating_sub(*sent) < (*next - *sent) / 2);
        match nearest.map(|((_, answer), _)| (self.side, answer)) {
            Some((Side::Initiator, SynAnswer::Syn)) | None => AtEnd::Taken,
            Some((Side::Initiator, SynAnswer::Reset)) => AtEnd::Refused,
            // A SYN/ACK that was sent again had not arrived.
            Some((Side::Initiator, SynAnswer::None) | (Side::Acceptor, _)) => AtEnd::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::Waits;
    use crate::workload::SynRepeat;

    const MODEL: ReplayModel = ReplayModel::with_waits(Waits::CORRECTED);

    fn syns(side: Side, repeats: &[(u64, SynAnswer)]) -> Syns {
        let repeat =
            |(wait, answer): &(u64, SynAnswer)| SynRepeat { side, wait: Duration::from_millis(*wait), answer: *answer };
        let vector =
            ConnectionVector { syn_repeats: repeats.iter().map(repeat).collect(), ..ConnectionVector::default() };
        assert_eq!(Syns::of(&vector, side.other(), &MODEL), None);
        assert_eq!(Syns::of(&vector, side, &ReplayModel { syn: false, ..MODEL }), None);
        Syns::of(&vector, side, &MODEL).unwrap()
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_secs(5) + Duration::from_millis(millis)
    }

    #[test]
    fn the_schedule_is_the_originals() {
        let mut syns = syns(Side::Initiator, &[(1_000, SynAnswer::None), (2_000, SynAnswer::None)]);
        assert!(!syns.go_on(at(0)));
        assert_eq!(syns.sent(at(0)), Some(at(1_000)));
        assert_eq!(syns.sent(at(1_000)), Some(at(3_000)));
        assert!(syns.go_on(at(2_999)) && !syns.go_on(at(3_000)));
        assert_eq!(syns.sent(at(3_000)), None);
    }

    #[test]
    fn syns_in_vain_do_not_arrive() {
        let answers = [(1_000, SynAnswer::None), (500, SynAnswer::Reset), (2_000, SynAnswer::Syn)];
        for (after, expected) in [
            (0, AtEnd::Lost),
            (499, AtEnd::Lost),
            (1_000, AtEnd::Refused),
            (1_249, AtEnd::Refused),
            (1_500, AtEnd::Taken),
            (3_500, AtEnd::Taken),
            (9_000, AtEnd::Taken),
        ] {
            let mut syns = syns(Side::Initiator, &answers);
            syns.sent(at(0));
            assert_eq!(syns.at_end(at(after)), expected, "{after}");
            let refuses = expected == AtEnd::Refused;
            assert_eq!(syns.without_refusals().at_end(at(after)), if refuses { AtEnd::Lost } else { expected });
        }
    }

    /// Linux sends SYNs 1, 2, 3 and 4 s after the first since version 6.5, others 1, 3 and 7 s.
    #[test]
    fn another_schedule_is_late_by_as_much() {
        let mut syns = syns(Side::Initiator, &[(1_028, SynAnswer::None), (2_047, SynAnswer::None)]);
        let fate: Vec<_> = [0, 1_000, 2_000, 3_000].into_iter().map(|after| syns.at_end(at(after))).collect();
        assert_eq!(fate, [AtEnd::Lost, AtEnd::Lost, AtEnd::Lost, AtEnd::Taken]);
    }

    #[test]
    fn syn_acks_that_were_repeated_are_lost() {
        let mut syns = syns(Side::Acceptor, &[(1_000, SynAnswer::Syn), (2_000, SynAnswer::None)]);
        assert_eq!(syns.sent(at(0)), Some(at(1_250)), "the SYN comes first");
        assert_eq!(syns.sent(at(1_000)), Some(at(3_000)));
        assert_eq!([0, 1_000, 3_000].map(|after| syns.at_end(at(after))), [AtEnd::Lost, AtEnd::Lost, AtEnd::Taken]);
    }
}
