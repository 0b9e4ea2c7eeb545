//! What of a replay the clock releases, and not an acknowledgement or the other end's data (methods A.13.11).

use crate::play::script::Script;
use crate::play::waits::ReplayModel;
use crate::time::Duration;
use crate::workload::{ConnectionVector, Pattern, PerSide, Side};

/// Segments that leave before the first acknowledgement where no first-flight window is known (RFC 6928).
const INITIAL_SEGMENTS: u64 = 10;

/// Payload bytes that the clock releases in a replay of `vector` under `model`.
///
/// A write is due by the clock if its end waits, and not for the other end: it follows another write of the same end, or the connection
/// is concurrent and it is not known to answer. What follows the handshake or data of the other end is released by these, however long
/// its end thinks then. Of a write that is due by the clock, the end's first-flight window (10 segments where it is not known) can leave
/// at once; acknowledgements release the rest. Writes that follow it at once are part of it.
pub fn clocked_bytes(vector: &ConnectionVector, model: &ReplayModel) -> u64 {
    let flight = |side: Side| vector.ends[side].first_flight.unwrap_or(INITIAL_SEGMENTS * vector.agreed_mss());
    let (mut sent, mut before, mut clocked) = (PerSide::<u64>::default(), None, 0u64);
    let script = Script::new(vector, model);
    // What can still leave at once of a write that was due by the clock.
    let (mut room, mut goes_on) = (PerSide::<u64>::default(), PerSide::<bool>::default());
    for (index, step) in script.steps().iter().enumerate() {
        let bytes = step.end - std::mem::replace(&mut sent[step.side], step.end);
        let follows_itself = before.replace(step.side) == Some(step.side);
        let is_answer = script.heard_before(index) > 0;
        let is_clocked = !is_answer && (vector.pattern == Pattern::Concurrent || follows_itself);
        let is_seam =
            std::mem::replace(&mut goes_on[step.side], step.goes_on) && step.wait == Duration::ZERO && !is_answer;
        if !is_seam {
            room[step.side] = if is_clocked && step.wait > Duration::ZERO { flight(step.side) } else { 0 };
        }
        let left = bytes.min(room[step.side]);
        room[step.side] -= left;
        clocked = clocked.saturating_add(left);
    }
    clocked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::Waits;
    use crate::workload::{Adu, Pause};
    use Side::{Acceptor as A, Initiator as I};

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// ADUs as (sender, bytes, milliseconds of the wait after it, who waits).
    fn vector(pattern: Pattern, adus: &[(Side, u64, u64, Side)]) -> ConnectionVector {
        let adu = |&(side, bytes, wait, waiter): &(Side, u64, u64, Side)| Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait: Some(MS(wait)),
            waiter,
            seen: None,
            packets: None,
        };
        ConnectionVector { pattern, adus: adus.iter().map(adu).collect(), ..ConnectionVector::default() }
    }

    fn clocked(vector: &ConnectionVector) -> u64 {
        clocked_bytes(vector, &ReplayModel::with_waits(Waits::CORRECTED))
    }

    /// Think times do not count: a late answer makes them late.
    #[test]
    fn answers_are_not_released_by_the_clock() {
        let vector =
            vector(Pattern::Sequential, &[(I, 300, 50, A), (A, 9_000, 2_000, I), (I, 400, 10, A), (A, 1, 0, A)]);
        assert_eq!(clocked(&vector), 0);
    }

    #[test]
    fn what_follows_own_data_is() {
        let vector = vector(
            Pattern::Sequential,
            &[(I, 300, 50, A), (A, 500, 900, A), (A, 700, 800, A), (A, 20, 5, I), (I, 4, 0, I)],
        );
        assert_eq!(clocked(&vector), 720);
        // Waits below the minimum are not replayed: the three are written at once.
        let model = ReplayModel::with_waits(Waits::PUBLISHED);
        let short = ConnectionVector {
            adus: vector.adus.iter().map(|adu| Adu { wait: Some(MS(499)), ..*adu }).collect(),
            ..vector
        };
        assert_eq!(clocked_bytes(&short, &model), 0);
    }

    #[test]
    fn writes_after_pauses_are() {
        let mut vector = vector(Pattern::Sequential, &[(I, 300, 50, A), (A, 5_000, 0, A)]);
        vector.pauses.acceptor =
            [1_000, 4_000].map(|after_bytes| Pause { after_bytes, length: MS(70), heard: None }).to_vec();
        assert_eq!(clocked(&vector), 4_000, "all but the first write");
        let at_once = ReplayModel { writes: false, ..ReplayModel::with_waits(Waits::CORRECTED) };
        assert_eq!(clocked_bytes(&vector, &at_once), 0);
    }

    #[test]
    fn writes_that_follow_at_once_are_part_of_the_one_before() {
        let mut vector = vector(Pattern::Sequential, &[(I, 300, 50, A), (A, 30_000, 0, A)]);
        let pause = |after_bytes, millis| Pause { after_bytes, length: MS(millis), heard: None };
        vector.pauses.acceptor = vec![pause(100, 0)];
        assert_eq!(clocked(&vector), 0, "nobody waits");
        vector.pauses.acceptor = vec![pause(100, 0), pause(20_000, 40), pause(20_100, 0)];
        assert_eq!(clocked(&vector), 10_000);
        vector.ends.acceptor.first_flight = Some(2_920);
        assert_eq!(clocked(&vector), 2_920, "one window for both");
    }

    #[test]
    fn acknowledgements_release_what_is_beyond_a_flight() {
        let mut vector = vector(Pattern::Sequential, &[(I, 300, 50, I), (I, 100_000, 0, I)]);
        assert_eq!(clocked(&vector), 14_600, "ten segments of the assumed size");
        vector.ends.acceptor.mss = Some(500);
        assert_eq!(clocked(&vector), 5_000);
        vector.ends.initiator.first_flight = Some(2_000);
        assert_eq!(clocked(&vector), 2_000);
    }

    #[test]
    fn waits_of_concurrent_ends_are_unless_they_answer() {
        let mut vector =
            vector(Pattern::Concurrent, &[(I, 100, 40, I), (A, 20_000, 30, A), (I, 50, 0, I), (A, 7, 0, A)]);
        assert_eq!(clocked(&vector), 50 + 7, "the first of each follows the handshake at once");
        vector.ends.acceptor.lead_in = Some(MS(80));
        assert_eq!(clocked(&vector), 50 + 7 + 14_600);
        vector.pauses.acceptor = vec![Pause { after_bytes: 0, length: MS(80), heard: Some(100) }];
        assert_eq!(clocked(&vector), 50 + 7, "it answers the first 100 bytes");
    }
}
