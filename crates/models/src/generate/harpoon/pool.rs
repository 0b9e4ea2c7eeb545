//! Pools of addresses, of which sessions pick theirs.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Addresses in a row, and a port: an entry of a pool, spelt `10.0.0.0/24`. An entry that stands there twice is picked twice as often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("format" = "addresses", "pattern" = pattern(), "examples" = ["10.0.0.0/24", "10.0.0.7"]))]
pub struct Block {
    /// The first address.
    pub base: Ipv4Addr,
    /// Bits that all have in common; 32 is one address.
    pub length: u8,
    /// Their port; 0 is any.
    pub port: u16,
}

/// A regular expression (ECMA 262) of blocks.
fn pattern() -> String {
    const BYTE: &str = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    format!(r"^\s*{BYTE}(\.{BYTE}){{3}}\s*(/\s*\+?0*(3[0-2]|[12]?[0-9])\s*)?$")
}

/// Why a text is no block of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no block of IPv4 addresses; write it like 10.0.0.0/24 or 10.0.0.7")]
pub struct ParseBlockError(String);

impl FromStr for Block {
    type Err = ParseBlockError;

    fn from_str(text: &str) -> Result<Block, ParseBlockError> {
        let error = || ParseBlockError(text.to_owned());
        let (base, length) = text.split_once('/').unwrap_or((text, "32"));
        let base: Ipv4Addr = base.trim().parse().map_err(|_| error())?;
        let length = length.trim().parse().ok().filter(|length| *length <= 32).ok_or_else(error)?;
        Ok(Block { base, length, port: 0 })
    }
}

impl TryFrom<String> for Block {
    type Error = ParseBlockError;

    fn try_from(text: String) -> Result<Block, ParseBlockError> {
        text.parse()
    }
}

impl From<Block> for String {
    fn from(block: Block) -> String {
        block.to_string()
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.length)
    }
}

impl Block {
    /// Of a whole byte of addresses, those that hosts have: Harpoon picks none that ends in 0 or 255.
    const OF_A_BYTE: u64 = 254;

    /// Whatever address a machine has.
    pub const ANY: Block = Block { base: Ipv4Addr::UNSPECIFIED, length: 32, port: 0 };

    /// Whether it stands for whatever address the machine has.
    fn is_any(&self) -> bool {
        self.base.is_unspecified()
    }

    fn mask(length: u8) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
    }

    fn first(&self) -> u32 {
        self.base.to_bits() & Block::mask(self.length)
    }

    fn is_of_hosts(address: u32) -> bool {
        !matches!(address & 0xff, 0 | 0xff)
    }

    /// How many of its addresses hosts have.
    pub fn hosts(&self) -> u64 {
        if self.is_any() {
            return 1;
        }
        match 32 - u32::from(self.length) {
            bits @ 8.. => (1u64 << (bits - 8)) * Block::OF_A_BYTE,
            bits => (0..1 << bits).filter(|offset| Block::is_of_hosts(self.first() + offset)).count() as u64,
        }
    }

    /// Of the addresses that hosts have number `n`; `None` beyond the last, and if it may be any.
    pub fn host(&self, n: u64) -> Option<Ipv4Addr> {
        if self.is_any() {
            return None;
        }
        let address = match 32 - self.length {
            8.. if n < self.hosts() => {
                let (row, column) = ((n / Block::OF_A_BYTE) as u32, (n % Block::OF_A_BYTE) as u32);
                self.first() + (row << 8) + column + 1
            }
            8.. => return None,
            bits => {
                let mut hosts = (0..1 << bits).map(|offset| self.first() + offset).filter(|at| Block::is_of_hosts(*at));
                hosts.nth(usize::try_from(n).ok()?)?
            }
        };
        Some(Ipv4Addr::from_bits(address))
    }

    /// Whether some address and port are in both.
    pub fn meets(&self, other: &Block) -> bool {
        let mask = Block::mask(self.length.min(other.length));
        let ports = self.port == other.port || self.port == 0 || other.port == 0;
        let addresses = (self.base.to_bits() ^ other.base.to_bits()) & mask == 0;
        ports && (addresses || self.is_any() || other.is_any())
    }
}

/// Where one end of sessions is.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    blocks: Vec<Block>,
    /// Addresses up to and with each block.
    until: Vec<u64>,
}

/// An end of a session; none where it is not said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub address: Option<Ipv4Addr>,
    pub port: Option<u16>,
}

impl Pool {
    /// The addresses of `blocks`, any if there are none; `None` if no host has any of them.
    pub fn new(blocks: &[Block]) -> Option<Pool> {
        let blocks = if blocks.is_empty() { vec![Block::ANY] } else { blocks.to_vec() };
        let until: Vec<u64> = blocks
            .iter()
            .scan(0, |sum, block| {
                *sum += block.hosts();
                Some(*sum)
            })
            .collect();
        (until.last() > Some(&0)).then_some(Pool { blocks, until })
    }

    /// The address before which a share `place` of all of them stands, which is below 1.
    pub fn pick(&self, place: f64) -> Place {
        let n = (place * self.until.last().copied().unwrap_or(0) as f64) as u64;
        let at = self.until.partition_point(|until| *until <= n);
        let Some(block) = self.blocks.get(at) else { return Place::default() };
        let before = self.until[at] - block.hosts();
        Place { address: block.host(n - before), port: (block.port > 0).then_some(block.port) }
    }
}
