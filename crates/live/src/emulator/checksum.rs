//! Bytes of headers changed in place, the checksum with them (RFC 1624).

/// Where the checksum of an IPv4 header stands.
pub const OF_IPV4: usize = 10;

/// Where the checksum stands in a TCP header.
pub const IN_TCP: usize = 16;

/// Puts `value` at a place of `packet`, and what it makes of the checksum at another. Both places are in parts of the packet that
/// begin at even places, as the headers of IP and TCP do.
///
/// RFC 1624, equation 3: HC' = ~(~HC + ~m + m'). A checksum that was wrong stays as wrong.
pub fn replace(packet: &mut [u8], checksum: usize, at: usize, value: u8) {
    let old = std::mem::replace(&mut packet[at], value);
    if old == value {
        return;
    }
    let word = |byte: u8| if at.is_multiple_of(2) { u32::from(byte) << 8 } else { u32::from(byte) };
    let before = u32::from(u16::from_be_bytes([packet[checksum], packet[checksum + 1]]));
    let sum = (before ^ 0xffff) + (word(old) ^ 0xffff) + word(value);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[checksum..checksum + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// The same of two bytes.
pub fn replace_word(packet: &mut [u8], checksum: usize, at: usize, value: u16) {
    let [high, low] = value.to_be_bytes();
    replace(packet, checksum, at, high);
    replace(packet, checksum, at + 1, low);
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    /// The sum of 16-bit words, folded (RFC 1071): 0xffff over what holds a correct checksum.
    pub fn sum(parts: &[&[u8]]) -> u16 {
        let words = parts.iter().flat_map(|part| part.chunks(2)).map(|pair| match *pair {
            [high, low] => u32::from(u16::from_be_bytes([high, low])),
            [high] => u32::from(high) << 8,
            _ => 0,
        });
        let sum = words.sum::<u32>();
        let sum = (sum & 0xffff) + (sum >> 16);
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_correct_checksum_stays_correct(
            mut bytes in prop::collection::vec(any::<u8>(), 20..60),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..9),
        ) {
            bytes[OF_IPV4..OF_IPV4 + 2].fill(0);
            let checksum = !sum(&[&bytes]);
            bytes[OF_IPV4..OF_IPV4 + 2].copy_from_slice(&checksum.to_be_bytes());
            for (at, value) in changes {
                let at = at.index(bytes.len());
                if !(OF_IPV4..OF_IPV4 + 2).contains(&at) {
                    replace(&mut bytes, OF_IPV4, at, value);
                    prop_assert_eq!(bytes[at], value);
                }
            }
            prop_assert_eq!(sum(&[&bytes]), 0xffff);
        }
    }
}
