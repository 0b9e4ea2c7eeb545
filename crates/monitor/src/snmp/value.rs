//! Values of answers.

use snmp2::{Pdu, Value as Wire};

use crate::rates::Width;

/// A value of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A counter, and how many bits it has.
    Count(u64, Width),
    /// A number that can go down, never below zero.
    Gauge(u64),
    /// A time in hundredths of a second.
    Ticks(u32),
    /// Bytes.
    Text(Vec<u8>),
    /// There is no such object or instance.
    Absent,
    /// There is nothing behind.
    End,
    /// Anything else.
    Other,
}

impl Value {
    pub(super) fn of(wire: &Wire<'_>) -> Value {
        match wire {
            Wire::Counter32(count) => Value::Count((*count).into(), Width::Bits32),
            Wire::Counter64(count) => Value::Count(*count, Width::Bits64),
            Wire::Unsigned32(value) => Value::Gauge((*value).into()),
            Wire::Integer(value) => u64::try_from(*value).map_or(Value::Other, Value::Gauge),
            Wire::Timeticks(ticks) => Value::Ticks(*ticks),
            Wire::OctetString(text) => Value::Text(text.to_vec()),
            Wire::NoSuchObject | Wire::NoSuchInstance => Value::Absent,
            Wire::EndOfMibView => Value::End,
            _ => Value::Other,
        }
    }

    /// Its text, with characters that do not print replaced: names of ports are printed and are parts of tables.
    pub fn text(&self) -> Option<String> {
        let Value::Text(bytes) = self else { return None };
        let text = String::from_utf8_lossy(bytes);
        let shown: String = text
            .trim_end_matches('\0')
            .chars()
            .take(MOST_NAME)
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect();
        Some(shown)
    }
}

/// Characters of a name that are kept.
const MOST_NAME: usize = 255;

/// Reads an answer as it is on the wire, of versions 1 and 2c, and passes on identifiers and values; `None` if it is none.
pub fn read_answer(bytes: &[u8], visit: &mut dyn FnMut(&[u8], Value)) -> Option<usize> {
    let answer = Pdu::from_bytes(bytes).ok()?;
    let mut count = 0;
    for (name, value) in answer.varbinds {
        visit(name.as_bytes(), Value::of(&value));
        count += 1;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_line() {
        let text = |bytes: &[u8]| Value::Text(bytes.to_vec()).text().unwrap();
        assert_eq!(text(b"ge-0/0/1\0"), "ge-0/0/1");
        assert_eq!(text(b"a\nb\x1b[31m\xff"), "a\u{fffd}b\u{fffd}[31m\u{fffd}");
        assert_eq!(text(&[b'x'; 1_000]).len(), MOST_NAME);
        assert_eq!(Value::Gauge(1).text(), None);
    }
}
