//! What the ends of a replayed connection do in their own way: windows at the start, acknowledgements, rates and small segments as in the
//! original (methods A.13.1, A.13.2, A.13.3 and A.13.5).

use std::num::{NonZeroU16, NonZeroU32};

use crate::play::waits::ReplayModel;
use crate::tcp::{AckHabit, Habits, Timestamps};
use crate::workload::{AckPolicy, ConnectionVector, Side};

/// Full-sized segments that TCP acknowledges at once where nothing else is known (RFC 5681 section 4.2).
const USUAL: u32 = 2;

/// The habits of the end `side` of the connection of `vector`.
///
/// A window that was seen at a later ADU is taken for the initial one: little had been sent before, which does not fill a window, and
/// a window that is not filled does not grow.
pub fn habits(vector: &ConnectionVector, side: Side, model: &ReplayModel) -> Habits {
    let end = &vector.ends[side];
    let window = end.first_flight.filter(|_| model.first_flight).map(|bytes| whole_segments(vector, bytes));
    Habits {
        initial_window: window.and_then(|bytes| NonZeroU32::new(bytes.try_into().unwrap_or(u32::MAX))),
        acks: end.acks.filter(|_| model.acks).map(habit),
        rate: sender_rate(vector, side, model),
        nagle: holds_small_segments(vector, side, model),
    }
}

/// Whether the end `side` holds small segments back until what it sent before is acknowledged: only where that is known of it, and where
/// its writes are replayed.
pub fn holds_small_segments(vector: &ConnectionVector, side: Side, model: &ReplayModel) -> bool {
    model.writes && vector.ends[side].nagle == Some(true)
}

/// The window of a flight of `bytes`: one of its segments may have been smaller than others, and took the window of a full one.
fn whole_segments(vector: &ConnectionVector, bytes: u64) -> u64 {
    let ends = [&vector.ends.initiator, &vector.ends.acceptor];
    if ends.iter().all(|end| end.mss.is_none()) {
        return bytes;
    }
    let has_stamps = ends.iter().all(|end| end.timestamps == Some(true));
    let options = if has_stamps { u64::from(Timestamps::OPTION_BYTES) } else { 0 };
    // The MSS counts the options that a segment carries (RFC 6691).
    let full = vector.agreed_mss().saturating_sub(options).max(1);
    bytes.checked_next_multiple_of(full).unwrap_or(bytes)
}

/// The rate that the end `side` does not exceed, in bytes of payload a second; `None` if it has none, or if rates are not replayed.
pub fn sender_rate(vector: &ConnectionVector, side: Side, model: &ReplayModel) -> Option<NonZeroU32> {
    let bits = vector.ends[side].rate.filter(|bits| model.rate && *bits > 0)?;
    Some(NonZeroU32::new(u32::try_from(bits / 8).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN))
}

fn habit(policy: AckPolicy) -> AckHabit {
    let AckPolicy { quick, prompt, prompt_segments, carried, delay } = policy;
    let every = match (prompt_segments + prompt / 2).checked_div(prompt) {
        // One that waited would have waited for others.
        Some(every) if delay.is_some() => every.max(USUAL),
        Some(every) => every,
        None if delay.is_some() || carried > 0 => USUAL,
        None => 1,
    };
    let saturated = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    let millis = |nanos: u64| u16::try_from(nanos.div_ceil(1_000_000)).unwrap_or(u16::MAX);
    AckHabit {
        quick: saturated(quick),
        every: saturated(every).max(1),
        delay: delay.and_then(|delay| NonZeroU16::new(millis(delay.as_nanos()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::Waits;
    use crate::time::Duration;

    #[test]
    fn policies_become_habits() {
        let ms = Duration::from_millis(40);
        let policy =
            |quick, prompt, prompt_segments, delay| AckPolicy { quick, prompt, prompt_segments, carried: 0, delay };
        let answers = AckPolicy { carried: 1, ..policy(3, 0, 0, None) };
        for (policy, expected) in [
            (policy(3, 0, 0, None), (3, 1, None)),
            (answers, (3, 2, None)),
            (policy(0, 0, 0, Some(ms)), (0, 2, Some(40))),
            (policy(16, 10, 19, None), (16, 2, None)),
            (policy(0, 10, 10, Some(ms)), (0, 2, Some(40))),
            (policy(1_000, 2, 2_000, None), (255, 255, None)),
        ] {
            let AckHabit { quick, every, delay } = habit(policy);
            assert_eq!((quick, every, delay.map(NonZeroU16::get)), expected, "{policy:?}");
        }
    }

    #[test]
    fn a_small_segment_takes_the_window_of_a_full_one() {
        let model = ReplayModel::with_waits(Waits::CORRECTED);
        let window = |bytes, mss, timestamps| {
            let mut vector = ConnectionVector::default();
            vector.ends.acceptor.first_flight = Some(bytes);
            for end in [&mut vector.ends.initiator, &mut vector.ends.acceptor] {
                (end.mss, end.timestamps) = (mss, Some(timestamps));
            }
            habits(&vector, Side::Acceptor, &model).initial_window.map(NonZeroU32::get)
        };
        // Nine segments, of which one has 389 bytes.
        assert_eq!(window(389 + 8 * 1_448, Some(1_460), true), Some(9 * 1_448));
        assert_eq!(window(10 * 1_460, Some(1_460), false), Some(10 * 1_460));
        assert_eq!(window(12_000, None, false), Some(12_000), "no segment is known to be full");
        assert_eq!(window(u64::MAX, Some(1_460), false), Some(u32::MAX));
    }

    #[test]
    fn switches_leave_them_out() {
        let mut vector = ConnectionVector::default();
        vector.ends.acceptor.first_flight = Some(4_380);
        vector.ends.acceptor.acks = Some(AckPolicy { prompt: 1, prompt_segments: 2, ..AckPolicy::default() });
        let model = ReplayModel { first_flight: true, acks: true, ..ReplayModel::with_waits(Waits::CORRECTED) };
        let of = |model| habits(&vector, Side::Acceptor, &model);
        assert_eq!(of(model).initial_window.map(NonZeroU32::get), Some(4_380));
        assert_eq!(of(ReplayModel { first_flight: false, ..model }).initial_window, None);
        vector.ends.acceptor.rate = Some(8_000_007);
        assert_eq!(habits(&vector, Side::Acceptor, &model).rate.map(NonZeroU32::get), Some(1_000_000));
        assert_eq!(habits(&vector, Side::Acceptor, &ReplayModel { rate: false, ..model }).rate, None);
        vector.ends.acceptor.nagle = Some(true);
        assert!(habits(&vector, Side::Acceptor, &model).nagle);
        assert!(!habits(&vector, Side::Acceptor, &ReplayModel { writes: false, ..model }).nagle);
        let of = |model| habits(&vector, Side::Acceptor, &model);
        assert!(of(model).acks.is_some());
        assert_eq!(of(ReplayModel { acks: false, ..model }).acks, None);
        assert_eq!(habits(&vector, Side::Initiator, &model), Habits::default());
    }
}
