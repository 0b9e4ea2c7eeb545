//! The token that an invitation is: whom to ask, how to know them, and a secret that counts once.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

const PREFIX: &str = "fl1.";
const FINGERPRINT: usize = 32;
const SECRET: usize = 16;

/// A token. It is printed once, to whoever invites; the authority keeps a hash of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// SHA-256 of the certificate of the lab's authority: by it the one who comes knows whom it enrols with.
    pub authority: [u8; FINGERPRINT],
    /// What the one who comes has to know.
    pub(super) secret: [u8; SECRET],
    /// Where `flowloom lab admit` listens, if that was said.
    pub address: Option<String>,
}

impl Token {
    /// As the authority keeps it: SHA-256 of the secret, in hexadecimal digits.
    pub(super) fn hash(secret: &[u8]) -> String {
        Sha256::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The fingerprint of an authority's certificate (DER).
    pub(super) fn fingerprint(authority: &[u8]) -> [u8; FINGERPRINT] {
        Sha256::digest(authority).into()
    }
}

/// With the secret: it is what the user carries to the other host.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address.as_deref().unwrap_or_default().as_bytes();
        let bytes = [&self.authority[..], &self.secret, address].concat();
        write!(f, "{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// Without it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("address", &self.address).finish_non_exhaustive()
    }
}

impl FromStr for Token {
    type Err = String;

    fn from_str(text: &str) -> Result<Token, String> {
        let wrong = || format!("this is no token: one begins with {PREFIX} and is printed by `flowloom lab invite`");
        let coded = text.trim().strip_prefix(PREFIX).ok_or_else(wrong)?;
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(coded).map_err(|_| wrong())?;
        let (authority, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
        let (secret, address) = rest.split_first_chunk().ok_or_else(wrong)?;
        let address = std::str::from_utf8(address).map_err(|_| wrong())?;
        let address = (!address.is_empty()).then(|| address.to_owned());
        Ok(Token { authority: *authority, secret: *secret, address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_they_are_written() {
        for address in [None, Some("[2001:db8::1]:42011".to_owned())] {
            let token = Token { authority: [7; 32], secret: [9; 16], address };
            assert_eq!(token.to_string().parse(), Ok(token.clone()));
            assert!(!format!("{token:?}").contains("9, 9"));
        }
        for bad in ["", "fl1.", "fl1.AAAA", "fl2.AAAA", "fl1.%%%", &format!("fl1.{}", "_".repeat(80))] {
            assert!(bad.parse::<Token>().is_err(), "{bad}");
        }
    }
}
