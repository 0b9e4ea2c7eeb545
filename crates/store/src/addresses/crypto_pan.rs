//! Crypto-PAn (Xu, Fan, Ammar, Moon 2002): addresses that share their first k bits before share exactly k bits after.
//!
//! Bit i of the result is bit i of the address, flipped by a bit that AES draws from the i bits before it. The same key
//! gives the same mapping in every file and on every day, so that encrypted data sets can be joined.

use std::fmt;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::interrupt::{self, Interrupt};

/// Bytes of a key: 16 for AES-128, 16 for the pad.
pub const KEY_BYTES: usize = 32;

/// Leading bits whose flips are kept once drawn: all addresses of a /16 share them.
const CACHED_BITS: u32 = 16;

/// Why a key file is none. What the file holds is never part of the message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It cannot be read.
    #[error("cannot read the key file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It holds neither 32 bytes nor 64 hexadecimal digits.
    #[error(
        "{}: a Crypto-PAn key is 32 bytes, or 64 hexadecimal digits (in one line); this file holds {found}",
        path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// What was found, without its contents.
        found: String,
    },
}

/// The encryption under one key.
///
/// It maps addresses of each family one to one. Neither it nor anything it writes shows the key.
#[derive(Clone)]
pub struct CryptoPan {
    aes: Aes128,
    pad: u128,
    /// Flips of the first [`CACHED_BITS`] bits by those bits, per family: IPv4, IPv6.
    prefixes: [HashMap<u16, u16, FxBuildHasher>; 2],
}

impl fmt::Debug for CryptoPan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CryptoPan(..)")
    }
}

impl CryptoPan {
    /// The encryption under `key`: the AES key, then the block that becomes the pad.
    pub fn new(key: &[u8; KEY_BYTES]) -> CryptoPan {
        let (mut aes_key, mut pad) = ([0; 16], [0; 16]);
        aes_key.copy_from_slice(&key[..16]);
        pad.copy_from_slice(&key[16..]);
        let aes = Aes128::new(&aes_key.into());
        let mut block = pad.into();
        aes.encrypt_block(&mut block);
        CryptoPan { aes, pad: u128::from_be_bytes(block.into()), prefixes: Default::default() }
    }

    /// The encryption under the key in the file at `path`: 32 bytes, or 64 hexadecimal digits with white space around.
    ///
    /// # Errors
    ///
    /// A [`KeyError`] that names the file and never what it holds.
    pub fn from_key_file(path: &Path, interrupt: &Interrupt) -> Result<CryptoPan, KeyError> {
        // Nothing longer than this can be a key: an endless device given by mistake is not read.
        const MOST: u64 = 1024;
        let read = |source| KeyError::Read { path: path.to_owned(), source };
        let mut bytes = Vec::new();
        let opened = interrupt::open(path, interrupt);
        opened.and_then(|(file, _)| file.take(MOST + 1).read_to_end(&mut bytes)).map_err(read)?;
        let key = key_of(&bytes).ok_or_else(|| KeyError::Length {
            path: path.to_owned(),
            found: match bytes.len() as u64 {
                0 => "nothing".to_owned(),
                length if length > MOST => format!("more than {MOST} bytes"),
                length => format!("{length} bytes that are neither"),
            },
        })?;
        Ok(CryptoPan::new(&key))
    }

    /// The encrypted form of `address`, of the same family.
    pub fn encrypt(&mut self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(v4) => {
                let bits = u128::from(u32::from(v4)) << 96;
                IpAddr::V4(Ipv4Addr::from((self.scramble(bits, 32, 0) >> 96) as u32))
            }
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from(self.scramble(u128::from(v6), 128, 1))),
        }
    }

    /// Encrypts the first `width` bits of `address`.
    fn scramble(&mut self, address: u128, width: u32, family: usize) -> u128 {
        let prefix = (address >> (128 - CACHED_BITS)) as u16;
        let first = match self.prefixes[family].get(&prefix) {
            Some(flips) => *flips,
            None => {
                let flips = (self.flips(address, 0..CACHED_BITS) >> (128 - CACHED_BITS)) as u16;
                self.prefixes[family].insert(prefix, flips);
                flips
            }
        };
        address ^ u128::from(first) << (128 - CACHED_BITS) ^ self.flips(address, CACHED_BITS..width)
    }

    /// The flips of the bits at `positions`: the first bit of AES of the bits before, completed by the pad.
    fn flips(&self, address: u128, positions: std::ops::Range<u32>) -> u128 {
        positions.fold(0, |flips, position| {
            let before = !u128::MAX.checked_shr(position).unwrap_or(0);
            let mut block = (address & before | self.pad & !before).to_be_bytes().into();
            self.aes.encrypt_block(&mut block);
            flips | u128::from(block[0] >> 7) << (127 - position)
        })
    }
}

/// The key that a file of `bytes` holds.
fn key_of(bytes: &[u8]) -> Option<[u8; KEY_BYTES]> {
    if let Ok(raw) = bytes.try_into() {
        return Some(raw);
    }
    let digits = bytes.trim_ascii();
    if digits.len() != 2 * KEY_BYTES {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut key = [0; KEY_BYTES];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(key)
}

/// Whether an address means the same everywhere, so that keeping it tells nothing of whose it is: unspecified,
/// loopback, private (RFC 1918, RFC 4193), link-local, shared (RFC 6598), multicast and broadcast.
pub fn is_special(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            v4.is_unspecified()
                || v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || (first == 100 && second & 0xc0 == 64)
                || v4.is_multicast()
                || v4.is_broadcast()
        }
        IpAddr::V6(v6) => {
            v6.is_unspecified()
                || v6.is_loopback()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.is_multicast()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    /// The key and the table that came with the authors' program.
    const SAMPLE_KEY: [u8; KEY_BYTES] = [
        21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131, 121, 121, 101, 39,
        98, 87, 76, 45, 42, 132, 34, 2,
    ];

    fn assert_maps(pairs: &[(&str, &str)]) {
        let mut pan = CryptoPan::new(&SAMPLE_KEY);
        for (plain, encrypted) in pairs {
            let (plain, encrypted): (IpAddr, IpAddr) = (plain.parse().unwrap(), encrypted.parse().unwrap());
            assert_eq!(pan.encrypt(plain), encrypted, "{plain}");
            assert_eq!(pan.encrypt(plain), encrypted, "{plain} again, from the cache");
        }
    }

    #[test]
    fn maps_the_authors_table() {
        assert_maps(&[
            ("128.11.68.132", "135.242.180.132"),
            ("129.118.74.4", "134.136.186.123"),
            ("130.132.252.244", "133.68.164.234"),
            ("141.223.7.43", "141.167.8.160"),
            ("141.233.145.108", "141.129.237.235"),
            ("152.163.225.39", "151.140.114.167"),
            ("156.29.3.236", "147.225.12.42"),
            ("165.247.96.84", "162.9.99.234"),
            ("166.107.77.190", "160.132.178.185"),
            ("192.102.249.13", "252.138.62.131"),
            ("192.215.32.125", "252.43.47.189"),
            ("192.233.80.103", "252.25.108.8"),
            ("192.41.57.43", "252.222.221.184"),
            ("193.150.244.223", "253.169.52.216"),
            ("195.205.63.100", "255.186.223.5"),
            ("198.200.171.101", "249.199.68.213"),
            ("198.26.132.101", "249.36.123.202"),
            ("198.36.213.5", "249.7.21.132"),
            ("198.51.77.238", "249.18.186.254"),
            ("199.217.79.101", "248.38.184.213"),
            ("202.49.198.20", "245.206.7.234"),
            ("203.12.160.252", "244.248.163.4"),
            ("204.184.162.189", "243.192.77.90"),
            ("204.202.136.230", "243.178.4.198"),
            ("204.29.20.4", "243.33.20.123"),
            ("205.178.38.67", "242.108.198.51"),
            ("205.188.147.153", "242.96.16.101"),
            ("205.188.248.25", "242.96.88.27"),
            ("205.245.121.43", "242.21.121.163"),
            ("207.105.49.5", "241.118.205.138"),
            ("207.135.65.238", "241.202.129.222"),
            ("207.155.9.214", "241.220.250.22"),
        ]);
    }

    /// As other programs extend it to 128 bits.
    #[test]
    fn maps_ipv6_as_other_programs_do() {
        assert_maps(&[
            ("::1", "78ff:f001:9fc0:20df:8380:b1f1:704:ed"),
            ("::2", "78ff:f001:9fc0:20df:8380:b1f1:704:ef"),
            ("::ffff", "78ff:f001:9fc0:20df:8380:b1f1:704:f838"),
            ("2001:db8::1", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1e"),
            ("2001:db8::2", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1c"),
        ]);
    }

    fn common_bits(a: u128, b: u128) -> u32 {
        (a ^ b).leading_zeros()
    }

    proptest! {
        #[test]
        fn keeps_prefixes_exactly(key: [u8; 32], a: u32, shared in 0u32..=32, rest: u32) {
            let mask = u32::MAX.checked_shr(shared).unwrap_or(0);
            let b = a & !mask | rest & mask;
            let mut pan = CryptoPan::new(&key);
            let mut encrypted = |bits: u32| match pan.encrypt(IpAddr::V4(bits.into())) {
                IpAddr::V4(v4) => u32::from(v4),
                IpAddr::V6(_) => unreachable!("the family is kept"),
            };
            let (x, y) = (encrypted(a), encrypted(b));
            prop_assert_eq!((a ^ b).leading_zeros(), (x ^ y).leading_zeros());
        }

        #[test]
        fn keeps_ipv6_prefixes_exactly(key: [u8; 32], a: u128, shared in 0u32..=128, rest: u128) {
            let mask = u128::MAX.checked_shr(shared).unwrap_or(0);
            let b = a & !mask | rest & mask;
            let mut pan = CryptoPan::new(&key);
            let mut encrypted = |bits: u128| match pan.encrypt(IpAddr::V6(bits.into())) {
                IpAddr::V6(v6) => u128::from(v6),
                IpAddr::V4(_) => unreachable!("the family is kept"),
            };
            prop_assert_eq!(common_bits(a, b), common_bits(encrypted(a), encrypted(b)));
        }
    }

    fn read(content: &[u8]) -> Result<CryptoPan, KeyError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        CryptoPan::from_key_file(file.path(), &Interrupt::never())
    }

    #[test]
    fn keys_are_raw_or_hexadecimal() {
        let hex: String = SAMPLE_KEY.iter().map(|byte| format!("{byte:02X}")).collect();
        for content in [SAMPLE_KEY.to_vec(), hex.clone().into_bytes(), format!("  {hex}\r\n").into_bytes()] {
            let mut pan = read(&content).unwrap();
            let address: IpAddr = "128.11.68.132".parse().unwrap();
            assert_eq!(pan.encrypt(address).to_string(), "135.242.180.132");
        }
    }

    #[test]
    fn anything_else_is_no_key_and_is_not_quoted() {
        let secret = "deadbeef".repeat(8);
        let bad = [
            Vec::new(),
            b"0123456789abcdef".to_vec(),
            secret.as_bytes()[1..].to_vec(),
            secret.replace('d', "g").into_bytes(),
            vec![7; 33],
            vec![b'a'; 4096],
        ];
        for content in bad {
            let message = read(&content).unwrap_err().to_string();
            assert!(message.contains("32 bytes, or 64 hexadecimal digits"), "{message}");
            assert!(!message.contains("beef") && !message.contains("0123456789"), "{message}");
        }
        assert!(matches!(
            CryptoPan::from_key_file(Path::new("no-such-key"), &Interrupt::never()),
            Err(KeyError::Read { .. })
        ));
    }

    #[test]
    fn the_key_is_not_printed() {
        assert_eq!(format!("{:?}", CryptoPan::new(&SAMPLE_KEY)), "CryptoPan(..)");
    }

    #[test]
    fn special_addresses() {
        for text in ["10.1.2.3", "172.31.0.1", "192.168.9.9", "127.0.0.1", "169.254.1.1", "100.64.0.1", "224.0.0.251"] {
            assert!(is_special(text.parse().unwrap()), "{text}");
        }
        for text in ["255.255.255.255", "0.0.0.0", "::", "::1", "fe80::1", "fd00::1", "ff02::fb"] {
            assert!(is_special(text.parse().unwrap()), "{text}");
        }
        for text in ["8.8.8.8", "100.128.0.1", "172.32.0.1", "2001:db8::1"] {
            assert!(!is_special(text.parse().unwrap()), "{text}");
        }
    }
}
