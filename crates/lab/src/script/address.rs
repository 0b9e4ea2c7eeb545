//! Hosts and ports: `192.0.2.1:42005`, `[2001:db8::1]:42005`, `host-a` (methods J.1).

use std::fmt::{self, Display};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The port on which agents are spoken to, where an address does not say another (methods J.1).
pub const CONTROL_PORT: u16 = 42_010;

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// By its address.
    Ip(IpAddr),
    /// By its name, in small letters.
    Name(String),
}

/// A host, and a port there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The host.
    pub host: Host,
    /// The port, where one is given.
    pub port: Option<u16>,
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Behind the colon is no number from 0 to 65535.
    #[error("a port is a number from 0 to 65535, not \"{0}\"")]
    Port(String),
    /// An address of IPv6 without brackets.
    #[error("an address of IPv6 stands in brackets")]
    Bare,
    /// What stands in brackets is no address of IPv6.
    #[error("\"{0}\" is no address of IPv6")]
    Ipv6(String),
    /// Numbers with points that are not four from 0 to 255.
    #[error("\"{0}\" is no address of IPv4")]
    Ipv4(String),
    /// No name of a host.
    #[error("\"{0}\" is no name of a host")]
    Name(String),
}

/// The longest name of a host (RFC 1035, section 2.3.4).
const MOST_NAME: usize = 253;
/// The longest part of it between points.
const MOST_LABEL: usize = 63;

/// Whether `name` can be the name of a host: labels of letters, digits, hyphens and (as in practice) underscores, of which the last is no
/// number.
pub fn is_name(name: &str) -> bool {
    let label = |label: &str| {
        let edges = !label.starts_with('-') && !label.ends_with('-');
        let length = (1..=MOST_LABEL).contains(&label.len());
        length && edges && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= MOST_NAME && name.split('.').all(label) && !last.bytes().all(|byte| byte.is_ascii_digit())
}

impl FromStr for Host {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Host, AddressError> {
        if let Some(inner) = text.strip_prefix('[') {
            let ip = inner.strip_suffix(']').and_then(|inner| inner.parse::<Ipv6Addr>().ok());
            let ip = ip.ok_or_else(|| AddressError::Ipv6(inner.trim_end_matches(']').to_owned()))?;
            return Ok(Host::Ip(ip.into()));
        }
        if let Ok(ip) = text.parse::<Ipv4Addr>() {
            return Ok(Host::Ip(ip.into()));
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Err(AddressError::Ipv4(text.to_owned()));
        }
        match is_name(text) {
            true => Ok(Host::Name(text.to_ascii_lowercase())),
            false => Err(AddressError::Name(text.to_owned())),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        // The colons of an address of IPv6 are within its brackets.
        let begin = if text.starts_with('[') { text.find(']').map_or(text.len(), |end| end + 1) } else { 0 };
        let Some(colon) = text[begin..].find(':').map(|at| begin + at) else {
            if begin > 0 && begin < text.len() {
                return Err(AddressError::Name(text.to_owned()));
            }
            return Ok(Address { host: text.parse()?, port: None });
        };
        let (host, port) = (&text[..colon], &text[colon + 1..]);
        if port.contains(':') && begin == 0 {
            return Err(AddressError::Bare);
        }
        let digits = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
        let number = port.parse().ok().filter(|_| digits);
        let port = number.ok_or_else(|| AddressError::Port(port.to_owned()))?;
        Ok(Address { host: host.parse()?, port: Some(port) })
    }
}

impl Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Ip(IpAddr::V4(ip)) => write!(f, "{ip}"),
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
            Host::Name(name) => f.write_str(name),
        }
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => write!(f, "{}", self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_by_their_form() {
        for (text, host, port) in [
            ("a:42005", Host::Name("a".into()), Some(42_005)),
            ("Host-A.example.org", Host::Name("host-a.example.org".into()), None),
            ("192.0.2.1:0", Host::Ip([192, 0, 2, 1].into()), Some(0)),
            ("[2001:db8::1]:65535", Host::Ip("2001:db8::1".parse().unwrap()), Some(65_535)),
            ("[::1]", Host::Ip(Ipv6Addr::LOCALHOST.into()), None),
            ("3com.example", Host::Name("3com.example".into()), None),
        ] {
            let read: Address = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read, Address { host, port }, "{text}");
            assert_eq!(read.to_string().parse(), Ok(read), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_told_why() {
        let refused = |text: &str| text.parse::<Address>().unwrap_err();
        assert_eq!(refused("a:70000"), AddressError::Port("70000".into()));
        assert_eq!(refused("a:"), AddressError::Port(String::new()));
        assert_eq!(refused("a:+1"), AddressError::Port("+1".into()));
        assert_eq!(refused("a:000001"), AddressError::Port("000001".into()));
        assert_eq!(refused("fe80::1"), AddressError::Bare);
        assert_eq!(refused("[fe80::x]:1"), AddressError::Ipv6("fe80::x".into()));
        assert_eq!(refused("[::1]x"), AddressError::Name("[::1]x".into()));
        assert_eq!(refused("[::1"), AddressError::Ipv6("::1".into()));
        assert_eq!(refused("256.1.1.1:5"), AddressError::Ipv4("256.1.1.1".into()));
        assert_eq!(refused("-a:5"), AddressError::Name("-a".into()));
        assert_eq!(refused("a..b"), AddressError::Name("a..b".into()));
        assert_eq!(refused(""), AddressError::Name(String::new()));
    }
}
