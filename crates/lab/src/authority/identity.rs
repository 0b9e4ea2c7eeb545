//! Who somebody is: a lab, a role and a name, as a certificate says them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::error::Error;

/// A lab: the first 16 bytes of SHA-256 over its authority's public key (SubjectPublicKeyInfo, DER), so that nobody else's
/// authority has the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabId([u8; 16]);

impl LabId {
    /// That of the authority with this public key.
    pub fn of_key(subject_public_key_info: &[u8]) -> LabId {
        let digest = Sha256::digest(subject_public_key_info);
        LabId(std::array::from_fn(|i| digest[i]))
    }

    /// The DNS name that every certificate of the lab carries, for TLS to check.
    pub fn dns_name(self) -> String {
        format!("{self}.lab.flowloom.internal")
    }
}

impl fmt::Display for LabId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for LabId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for LabId {
    type Err = ();

    fn from_str(text: &str) -> Result<LabId, ()> {
        let digits = text.as_bytes();
        let one =
            |byte: &u8| (*byte as char).to_digit(16).filter(|_| !byte.is_ascii_uppercase()).map(|digit| digit as u8);
        if digits.len() != 32 {
            return Err(());
        }
        let mut id = [0; 16];
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = one(&pair[0]).ok_or(())? << 4 | one(&pair[1]).ok_or(())?;
        }
        Ok(LabId(id))
    }
}

/// What a member may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Commands agents.
    Controller,
    /// Is commanded, and commands other agents only where a controller has delegated that ([`super::statement`]).
    Agent,
}

impl Role {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Role::Controller => "controller",
            Role::Agent => "agent",
        }
    }
}

/// A member's name: up to 63 lower-case letters, digits and hyphens, a letter or digit first and last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Name, String> {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if (1..=63).contains(&text.len()) && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-') {
            Ok(Name(text.to_owned()))
        } else {
            Err(format!(
                "{text:?} is no name: up to 63 lower-case letters, digits and hyphens, a letter or digit first and last"
            ))
        }
    }
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Name, String> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> String {
        name.0
    }
}

/// A member of a lab.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Of which lab.
    pub lab: LabId,
    /// As what.
    pub role: Role,
    /// Called.
    pub name: Name,
}

impl Identity {
    /// The URI in certificates (SubjectAltName, RFC 5280 section 4.2.1.6).
    pub fn uri(&self) -> String {
        format!("flowloom://{}/{}/{}", self.lab, self.role.name(), self.name)
    }

    fn of_uri(uri: &str) -> Option<Identity> {
        let mut parts = uri.strip_prefix("flowloom://")?.split('/');
        let lab = parts.next()?.parse().ok()?;
        let role = match parts.next()? {
            "controller" => Role::Controller,
            "agent" => Role::Agent,
            _ => return None,
        };
        let name = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Identity { lab, role, name })
    }
}

/// Without the lab, which is clear where it is printed.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.role.name(), self.name)
    }
}

/// What a certificate says. Whether that is true, [`super::trust::Trust`] knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certified {
    /// Of whom.
    pub identity: Identity,
    /// Its number, big-endian without leading zeros.
    pub serial: Vec<u8>,
    /// Until when, in seconds since 1970.
    pub not_after_unix_s: i64,
    /// The public key's bits: of P-256 an uncompressed point.
    pub public_key: Vec<u8>,
}

impl Certified {
    /// Reads a certificate (DER).
    ///
    /// # Errors
    /// If it is none, or names no member of a lab.
    pub fn read(der: &[u8]) -> Result<Certified, Error> {
        let certificate = parse(der)?;
        let names = certificate.subject_alternative_name().map_err(|error| Error::form("certificate", error))?;
        let mut uris = names.iter().flat_map(|names| &names.value.general_names).filter_map(|name| match name {
            GeneralName::URI(uri) => Some(*uri),
            _ => None,
        });
        let (Some(uri), None) = (uris.next(), uris.next()) else {
            return Err(Error::form("certificate", "it names no member of a lab"));
        };
        let identity = Identity::of_uri(uri)
            .ok_or_else(|| Error::form("certificate", format!("{uri:?} is no member of a lab")))?;
        let serial = certificate.raw_serial();
        let zeros = serial.iter().take_while(|byte| **byte == 0).count();
        Ok(Certified {
            identity,
            serial: serial[zeros..].to_vec(),
            not_after_unix_s: certificate.validity().not_after.timestamp(),
            public_key: certificate.public_key().subject_public_key.data.to_vec(),
        })
    }
}

/// The lab of the authority with this certificate (DER).
///
/// # Errors
/// If it is no certificate of an authority.
pub fn lab_of(authority: &[u8]) -> Result<LabId, Error> {
    let certificate = parse(authority)?;
    if !certificate.is_ca() {
        return Err(Error::form("certificate", "it is not that of an authority"));
    }
    Ok(LabId::of_key(certificate.public_key().raw))
}

fn parse(der: &[u8]) -> Result<X509Certificate<'_>, Error> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        Ok(_) => Err(Error::form("certificate", "something follows it")),
        Err(error) => Err(Error::form("certificate", error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_uris() {
        for bad in ["", "-a", "a-", "A", "a.b", "a/b", "ä", &"a".repeat(64)] {
            assert!(bad.parse::<Name>().is_err(), "{bad:?}");
        }
        let identity = Identity { lab: LabId::of_key(b"key"), role: Role::Agent, name: "east-2".parse().unwrap() };
        assert_eq!(Identity::of_uri(&identity.uri()), Some(identity.clone()));
        assert_eq!(identity.lab.to_string().len(), 32);
        for bad in [
            identity.uri() + "/x",
            identity.uri().replace("agent", "root"),
            identity.uri().to_uppercase(),
            identity.uri().replace("flowloom", "https"),
        ] {
            assert_eq!(Identity::of_uri(&bad), None, "{bad}");
        }
    }
}
