//! Big-endian numbers out of messages.

/// The two bytes at `at`, if they are there.
#[inline]
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The four bytes at `at`, if they are there.
#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// An unsigned number of 1 to 8 bytes: exporters may send fewer bytes than a type has (RFC 7011 section 6.2).
#[inline]
pub(super) fn unsigned(bytes: &[u8]) -> Option<u64> {
    match *bytes {
        [a] => Some(u64::from(a)),
        [a, b] => Some(u64::from(u16::from_be_bytes([a, b]))),
        [a, b, c, d] => Some(u64::from(u32::from_be_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Some(u64::from_be_bytes([a, b, c, d, e, f, g, h])),
        [_, _, _] | [_, _, _, _, _] | [_, _, _, _, _, _] | [_, _, _, _, _, _, _] => {
            Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_up_to_eight_bytes() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        for (length, number) in [
            (0, None),
            (1, Some(0x01)),
            (2, Some(0x0102)),
            (3, Some(0x01_0203)),
            (4, Some(0x0102_0304)),
            (5, Some(0x01_0203_0405)),
            (7, Some(0x01_0203_0405_0607)),
            (8, Some(0x0102_0304_0506_0708)),
            (9, None),
        ] {
            assert_eq!(unsigned(&bytes[..length]), number, "{length} bytes");
        }
    }
}
