//! What a program writes into a datagram for the one at the other end: its number and when it was due, as far as there is room.
//!
//! Four bytes of the number, then up to eight of the time, little-endian; of what does not fit the low bytes.

use flowloom_core::time::Time;

/// The most that it takes.
pub const BYTES: usize = NUMBER_BYTES + 8;

/// Bytes of the number.
const NUMBER_BYTES: usize = 4;

/// The fewest bytes of the time, in nanoseconds: they go round in 4.3 s, and a delay above that looks shorter.
const LEAST_TIME_BYTES: usize = 4;

/// Writes the label of a datagram into its payload.
pub fn write(number: u64, sent: Time, payload: &mut [u8]) {
    let (numbers, times) = payload.split_at_mut(payload.len().min(NUMBER_BYTES));
    numbers.copy_from_slice(&number.to_le_bytes()[..numbers.len()]);
    let room = times.len().min(8);
    times[..room].copy_from_slice(&sent.as_nanos().to_le_bytes()[..room]);
}

/// Reads the label of a datagram of so many bytes that begins with `head` and came at `now`, where the number `expected` would have been
/// the next: its number, which is the nearest to that, and when it was due, if there was room to say so.
pub fn read(head: &[u8; BYTES], bytes: u32, expected: u64, now: Time) -> (u64, Option<Time>) {
    let length = (bytes as usize).min(BYTES);
    let (numbers, times) = head[..length].split_at(length.min(NUMBER_BYTES));
    let number = {
        let shift = 64 - 8 * numbers.len() as u32;
        // The difference of the low bytes, with its sign.
        let ahead = low(numbers).wrapping_sub(expected).checked_shl(shift).unwrap_or(0) as i64;
        expected.saturating_add_signed(ahead.checked_shr(shift).unwrap_or(0))
    };
    let sent = (times.len() >= LEAST_TIME_BYTES).then(|| {
        let shift = 64 - 8 * times.len() as u32;
        let ago = (now.as_nanos().wrapping_sub(low(times)) << shift) >> shift;
        Time::from_nanos(now.as_nanos().saturating_sub(ago))
    });
    (number, sent)
}

/// The number whose low bytes these are.
fn low(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn there_and_back(number: u64, sent: Time, bytes: usize, expected: u64, now: Time) -> (u64, Option<Time>) {
        let mut payload = vec![0; bytes];
        write(number, sent, &mut payload);
        let mut head = [0xaa; BYTES];
        let length = bytes.min(BYTES);
        head[..length].copy_from_slice(&payload[..length]);
        read(&head, bytes as u32, expected, now)
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_label_is_read_as_it_was_written(
            expected in 200..1_u64 << 40,
            off in -100..100_i64,
            sent in 0..1_u64 << 50,
            delay in 0..4_000_000_000_u64,
            bytes in 1..1_472_usize,
        ) {
            let number = expected.saturating_add_signed(off);
            let (sent, now) = (Time::from_nanos(sent), Time::from_nanos(sent + delay));
            let read = there_and_back(number, sent, bytes, expected, now);
            prop_assert_eq!(read, (number, (bytes >= 8).then_some(sent)));
        }

        #[test]
        fn any_bytes_are_some_label(head in any::<[u8; BYTES]>(), bytes in 0..2_000_u32, expected in any::<u64>(), now in any::<u64>()) {
            let (_, sent) = read(&head, bytes, expected, Time::from_nanos(now));
            prop_assert!(sent.is_none_or(|sent| sent <= Time::from_nanos(now)));
        }
    }

    #[test]
    fn what_has_room_for_little_is_told_apart_as_far_as_that_goes() {
        let at = Time::from_nanos;
        assert_eq!(there_and_back(1_000, at(5), 1, 995, at(9)), (1_000, None));
        assert_eq!(there_and_back(1_000, at(5), 1, 700, at(9)), (744, None), "256 are all that one byte tells apart");
        assert_eq!(there_and_back(7, at(5), 0, 3, at(9)), (3, None), "an empty one is the next");
        let late = at(u64::MAX >> 1);
        assert_eq!(there_and_back((1 << 31) + 4, late, 12, 5, late), ((1 << 31) + 4, Some(late)));
    }
}
