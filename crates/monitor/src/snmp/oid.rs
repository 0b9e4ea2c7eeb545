//! Object identifiers: numbers with points in files, and as they are on the wire (X.690, 8.19).

use std::fmt::{self, Display};
use std::str::FromStr;

use flowloom_core::keys::Written;
use flowloom_core::units::ParseQuantityError;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error as _};

/// An object identifier.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid {
    arcs: Vec<u32>,
    wire: Vec<u8>,
}

/// SNMP allows so many arcs (RFC 3416, 4.1).
const MOST_ARCS: usize = 128;

impl Oid {
    /// That of these arcs; `None` if there are too few, too many, or the first two cannot be.
    pub fn new(arcs: &[u32]) -> Option<Oid> {
        let [first, second, rest @ ..] = arcs else { return None };
        if *first > 2 || *first < 2 && *second >= 40 || arcs.len() > MOST_ARCS {
            return None;
        }
        let mut wire = Vec::with_capacity(arcs.len() + 4);
        push(&mut wire, (first * 40).checked_add(*second)?);
        rest.iter().for_each(|arc| push(&mut wire, *arc));
        Some(Oid { arcs: arcs.to_vec(), wire })
    }

    /// The same with further arcs behind it.
    #[must_use]
    pub fn then(&self, arcs: &[u32]) -> Oid {
        let mut longer = self.clone();
        longer.arcs.extend(arcs);
        arcs.iter().for_each(|arc| push(&mut longer.wire, *arc));
        longer
    }

    /// Its bytes on the wire.
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// The arcs behind it in the identifier with the bytes `wire`; `None` if that does not begin with it, or is malformed.
    pub fn index_in(&self, wire: &[u8]) -> Option<Vec<u32>> {
        let mut rest = wire.strip_prefix(&self.wire[..])?;
        let mut arcs = Vec::new();
        while !rest.is_empty() {
            let (arc, behind) = pull(rest)?;
            arcs.push(arc);
            if arcs.len() > MOST_ARCS {
                return None;
            }
            rest = behind;
        }
        Some(arcs)
    }
}

fn push(wire: &mut Vec<u8>, arc: u32) {
    for shift in [28, 21, 14, 7] {
        if arc >> shift != 0 {
            wire.push((arc >> shift) as u8 & 0x7f | 0x80);
        }
    }
    wire.push(arc as u8 & 0x7f);
}

fn pull(wire: &[u8]) -> Option<(u32, &[u8])> {
    let mut arc = 0_u32;
    for (at, byte) in wire.iter().enumerate() {
        arc = arc.checked_mul(128)? | u32::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((arc, &wire[at + 1..]));
        }
    }
    None
}

impl Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&index_text(&self.arcs))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Arcs as text, with points between them.
pub fn index_text(arcs: &[u32]) -> String {
    let arcs: Vec<String> = arcs.iter().map(u32::to_string).collect();
    arcs.join(".")
}

impl FromStr for Oid {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Oid, ParseQuantityError> {
        let numbers = text.strip_prefix('.').unwrap_or(text).split('.').map(|arc| {
            let is_number = !arc.is_empty() && arc.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| arc.parse().ok()).flatten()
        });
        let arcs: Option<Vec<u32>> = numbers.take(MOST_ARCS + 1).collect();
        arcs.and_then(|arcs| Oid::new(&arcs)).ok_or_else(|| ParseQuantityError::Form {
            text: text.to_owned(),
            expected: "an object identifier",
            example: "1.3.6.1.2.1.2.2.1.10",
        })
    }
}

impl Written for Oid {
    const FORMAT: &'static str = "oid";
    const MEANING: &'static str = "an object identifier in numbers";
    const EXAMPLES: &'static [&'static str] = &["1.3.6.1.2.1.2.2.1.10"];

    fn pattern() -> String {
        r"\.?[0-2](\.[0-9]+)+".to_owned()
    }
}

impl<'de> Deserialize<'de> for Oid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Oid, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Oid {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Oid".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        flowloom_core::keys::text::<Oid>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_read_and_written() {
        // X.690, 8.19.5: {2 999 3}.
        assert_eq!(Oid::new(&[2, 999, 3]).unwrap().wire(), [0x88, 0x37, 0x03]);
        let octets: Oid = ".1.3.6.1.2.1.2.2.1.10".parse().unwrap();
        assert_eq!(octets.wire(), [0x2b, 6, 1, 2, 1, 2, 2, 1, 10]);
        assert_eq!(octets.to_string(), "1.3.6.1.2.1.2.2.1.10");
        for index in [vec![], vec![0], vec![127, 128, 16_383, 16_384, u32::MAX]] {
            assert_eq!(octets.index_in(octets.then(&index).wire()), Some(index));
        }
        for text in ["", "1", "1.40", "3.1", "1.3.-6", "1.3.", "a.b", "1.3.4294967296", "1.3.+6"] {
            assert!(text.parse::<Oid>().is_err(), "{text}");
        }
        assert!("1.3.".repeat(90).trim_end_matches('.').parse::<Oid>().is_err());
    }

    #[test]
    fn malformed_identifiers_have_no_index() {
        let base = Oid::new(&[1, 3, 6]).unwrap();
        for wire in [&[0x2b][..], &[0x2b, 7], &[0x2b, 6, 0x80], &[0x2b, 6, 0xff, 0xff, 0xff, 0xff, 0x7f], &[]] {
            assert_eq!(base.index_in(wire), None, "{wire:?}");
        }
    }
}
