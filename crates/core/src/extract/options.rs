//! What the user may choose about extraction.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::wire::Address;

use super::monitor::Position;

/// An address prefix, `10.0.0.0/8`. IPv4 prefixes match IPv4 addresses only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    ip: u128,
    mask: u128,
}

/// Why a text is no address prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an address prefix; write it like 10.0.0.0/8 or 2001:db8::/32")]
pub struct ParsePrefixError(String);

impl Prefix {
    /// Whether `address` lies inside.
    pub fn contains(&self, address: Address) -> bool {
        address.ip & self.mask == self.ip
    }
}

impl std::str::FromStr for Prefix {
    type Err = ParsePrefixError;

    fn from_str(text: &str) -> Result<Prefix, ParsePrefixError> {
        let error = || ParsePrefixError(text.to_owned());
        let (ip, length) = text.split_once('/').map_or((text, None), |(ip, length)| (ip, Some(length)));
        let ip: IpAddr = ip.parse().map_err(|_| error())?;
        let width = if ip.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(width), str::parse).map_err(|_| error())?;
        if length > width {
            return Err(error());
        }
        let mask = u128::MAX.checked_shl(width - length).unwrap_or(0);
        // An IPv4 prefix must not take in IPv6: its mask covers the mapping prefix too.
        let mask = if ip.is_ipv4() { mask | u128::MAX << 32 } else { mask };
        Ok(Prefix { ip: Address::new(ip, 0).ip & mask, mask })
    }
}

/// Choice of the bytes that a capture lacks and that belong to their ADU all the same (methods A.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Those that the other end acknowledged belong to their ADU: they arrived. The others are left out.
    #[default]
    Acknowledged,
    /// All of them belong to their ADU.
    All,
    /// Connections that lack any are set aside.
    Skip,
}

impl Missing {
    /// All of them.
    pub const ALL: [Missing; 3] = [Missing::Acknowledged, Missing::All, Missing::Skip];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Missing::Acknowledged => "acknowledged",
            Missing::All => "all",
            Missing::Skip => "skip",
        }
    }

    /// Whether nothing else was asked for.
    pub fn is_default(&self) -> bool {
        *self == Missing::default()
    }
}

/// Packets between two rounds, unless [`Options::round`] says otherwise.
pub const ROUND: u32 = 2048;

/// How to extract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// A connection silent for so long is over (methods A.1.4).
    pub idle_timeout: Duration,
    /// A flow of datagrams silent for so long is over: UDP has no end of its own.
    pub datagram_idle_timeout: Duration,
    /// A closed connection is remembered until it was silent for so long, so that its stragglers open no other; an attempt
    /// that never got past its SYNs is held as long for the next one: RFC 9293 section 3.8.3 lets TCP go on trying for
    /// three minutes and more.
    pub linger: Duration,
    /// How long after its last packet the vector of a closed connection may still change. Packets that come later,
    /// while it lingers, are counted ([`Counts::stragglers`](super::Counts::stragglers)), nothing more.
    pub drain: Duration,
    /// The longest silence inside an ADU, of a connection (methods A.5.2) or of a flow of datagrams.
    pub quiet: Duration,
    /// Prefixes of the inside of the link (methods M.2).
    pub inside: Vec<Prefix>,
    /// Where the monitor stood.
    pub monitor: Position,
    /// The same addresses and ports in two VLANs are two connections.
    pub vlan_key: bool,
    /// Leave out incomplete TCP connections, as Hernandez-Campos did (methods A.2).
    pub complete_only: bool,
    /// Keep TCP connections of which packets of one end only were seen: nothing is known of the other one.
    pub keep_one_way: bool,
    /// Choice of missing bytes that belong to their ADU.
    pub missing: Missing,
    /// Make [`Extractor::poll_finished`](super::Extractor::poll_finished) also return what is set aside.
    pub keep_set_aside: bool,
    /// Bytes that connections and flows may take in memory. Above it, those that were silent for longest are ended.
    pub memory: u64,
    /// Packets between two rounds of reclaiming memory, at least one.
    pub round: u32,
    /// Makes the places of connections in the hash table unpredictable, so that no capture can be crafted to make them
    /// collide. No result depends on it.
    pub hash_secret: u64,
}

impl Options {
    /// How long a connection that is not closed may be silent before it is over.
    pub(super) fn longest_silence(&self, is_attempt: bool) -> Duration {
        if is_attempt { self.linger.min(self.idle_timeout) } else { self.idle_timeout }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            idle_timeout: Duration::from_secs(3600),
            // Rare inside an exchange, and long enough for many a NAT to forget it (RFC 4787 asks for two minutes).
            datagram_idle_timeout: Duration::from_secs(60),
            linger: Duration::from_secs(240),
            drain: Duration::from_secs(10),
            quiet: Duration::from_millis(500),
            inside: Vec::new(),
            monitor: Position::Mid,
            vlan_key: false,
            complete_only: false,
            keep_one_way: false,
            missing: Missing::default(),
            keep_set_aside: false,
            memory: u64::MAX,
            round: ROUND,
            hash_secret: 0,
        }
    }
}
