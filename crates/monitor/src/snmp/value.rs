//! Values of answers.

use snmp2::{Pdu, Value as Wire, Varbinds};

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
    /// It cannot be read, and neither can its identifier.
    Unread,
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

/// Values behind each other that cannot be read, at most: behind these nothing is looked for.
const MOST_UNREAD: usize = 64;

/// Passes on the identifiers and values of an answer; those that cannot be read before one that can, as [`Value::Unread`] without an
/// identifier, so that the others keep their places.
pub(super) fn each(mut varbinds: Varbinds<'_>, visit: &mut dyn FnMut(&[u8], Value)) {
    let mut unread = 0;
    // At a value that it cannot read the iterator says `None`, and goes on behind it.
    while unread < MOST_UNREAD {
        match varbinds.next() {
            Some((name, value)) => {
                (0..std::mem::take(&mut unread)).for_each(|_| visit(&[], Value::Unread));
                visit(name.as_bytes(), Value::of(&value));
            }
            None => unread += 1,
        }
    }
}

/// Reads an answer as it is on the wire, of versions 1 and 2c, and passes on identifiers and values; `None` if it is none.
pub fn read_answer(bytes: &[u8], visit: &mut dyn FnMut(&[u8], Value)) -> Option<usize> {
    let answer = Pdu::from_bytes(bytes).ok()?;
    let mut count = 0;
    each(answer.varbinds, &mut |name, value| {
        visit(name, value);
        count += 1;
    });
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_read_keep_their_place() {
        // 1.3.1, 1.3.2 with a Counter64 of nine bytes, 1.3.3; then another of nine bytes.
        let bad = |arc: u8| [&[0x30, 0x0f, 0x06, 0x02, 0x2b, arc, 0x46, 0x09][..], &[1; 9]].concat();
        let good = |arc: u8| vec![0x30, 0x07, 0x06, 0x02, 0x2b, arc, 0x41, 0x01, arc];
        let bytes = [good(1), bad(2), good(3), bad(4)].concat();
        let mut found = Vec::new();
        each(Varbinds::from_bytes(&bytes), &mut |name, value| found.push((name.to_vec(), value)));
        let count = |arc: u8| (vec![0x2b, arc], Value::Count(arc.into(), Width::Bits32));
        assert_eq!(found, [count(1), (vec![], Value::Unread), count(3)]);
    }

    #[test]
    fn names_are_of_one_line() {
        let text = |bytes: &[u8]| Value::Text(bytes.to_vec()).text().unwrap();
        assert_eq!(text(b"ge-0/0/1\0"), "ge-0/0/1");
        assert_eq!(text(b"a\nb\x1b[31m\xff"), "a\u{fffd}b\u{fffd}[31m\u{fffd}");
        assert_eq!(text(&[b'x'; 1_000]).len(), MOST_NAME);
        assert_eq!(Value::Gauge(1).text(), None);
    }
}
