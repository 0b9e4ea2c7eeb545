//! A digest that stands inside the bytes that it is of: SHA-256 of all of them, computed with 64 zeros in its own place.

use sha2::{Digest, Sha256};

/// The place of a digest that is not known yet: as many zeros as SHA-256 has hexadecimal digits.
pub(crate) const BLANK: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Puts the digest of `bytes` behind the last `marker` in there, where [`BLANK`] stands.
pub(crate) fn seal(bytes: &mut [u8], marker: &[u8]) {
    if let Some(at) = place(bytes, marker) {
        let digest = digest_around(bytes, at);
        bytes[at..][..BLANK.len()].copy_from_slice(digest.as_bytes());
    }
}

/// Whether the digest behind the last `marker` is that of `bytes`; `None` if there is no marker.
pub(crate) fn is_intact(bytes: &[u8], marker: &[u8]) -> Option<bool> {
    let at = place(bytes, marker)?;
    Some(bytes[at..][..BLANK.len()] == *digest_around(bytes, at).as_bytes())
}

/// Where the digest stands.
fn place(bytes: &[u8], marker: &[u8]) -> Option<usize> {
    let last = bytes.windows(marker.len() + BLANK.len()).rposition(|window| window.starts_with(marker))?;
    Some(last + marker.len())
}

/// The digest of `bytes`, of which that at `at` counts as zeros.
fn digest_around(bytes: &[u8], at: usize) -> String {
    let digest = Sha256::new().chain_update(&bytes[..at]).chain_update(BLANK).chain_update(&bytes[at + BLANK.len()..]);
    hexadecimal(&digest.finalize())
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_counts() {
        let mut text = format!("one: {BLANK}, sha256: {BLANK}, and more").into_bytes();
        assert_eq!(is_intact(&text, b"sha256: "), Some(false));
        assert_eq!(is_intact(&text, b"none: "), None);
        let blank = text.clone();
        seal(&mut text, b"sha256: ");
        let place = b"one: ".len() + BLANK.len() + b", sha256: ".len();
        assert_eq!(text[..place], blank[..place]);
        assert_eq!(text[place..][..BLANK.len()], *hexadecimal(&Sha256::digest(&blank)).as_bytes());
        assert_eq!(is_intact(&text, b"sha256: "), Some(true));
        for bit in 0..8 * text.len() {
            text[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(is_intact(&text, b"sha256: "), Some(true), "bit {bit}");
            text[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_marker_without_room_for_a_digest_is_none() {
        let mut text = b"sha256: 00".to_vec();
        seal(&mut text, b"sha256: ");
        assert_eq!(text, b"sha256: 00");
        assert_eq!(is_intact(&text, b"sha256: "), None);
    }
}
