//! Connections that wait to be written, as bytes: a long-lived connection holds up all that began after it, and as it
//! stands each would take nearly a kilobyte.

use super::part::Finished;

/// Enough for all but the longest connections; those that need more are given it.
const USUAL_BYTES: usize = 4096;

/// A [`Finished`] in few bytes (postcard: integers take the bytes they need).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// [`Finished::number`], by which they are ordered.
    pub number: u64,
    /// The rest.
    bytes: Box<[u8]>,
}

impl Packed {
    /// Packs `finished`; `room` is to work in, and best used again.
    pub fn new(finished: &Finished, room: &mut Vec<u8>) -> Packed {
        room.resize(room.len().max(USUAL_BYTES), 0);
        let bytes = loop {
            match postcard::to_slice(finished, room) {
                Ok(bytes) => break Box::from(&*bytes),
                // The only thing that can go wrong with this type is that there is too little room.
                Err(_) => room.resize(2 * room.len(), 0),
            }
        };
        Packed { number: finished.number, bytes }
    }

    /// Its bytes, for a file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// From the bytes of another.
    pub fn from_bytes(number: u64, bytes: Box<[u8]>) -> Packed {
        Packed { number, bytes }
    }

    /// Bytes it takes in memory.
    pub fn bytes(&self) -> u64 {
        (size_of::<Packed>() + self.bytes.len()) as u64
    }

    /// What was packed; `None` if these are not the bytes of a connection.
    pub fn unpack(&self) -> Option<Finished> {
        postcard::from_bytes(&self.bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::Class;
    use crate::time::Duration;
    use crate::wire::Address;
    use crate::workload::{Adu, ConnectionVector, Host, Pattern, Side, Span};

    fn finished(adus: usize) -> Finished {
        let mut vector = ConnectionVector { id: u64::MAX, label: None, ..ConnectionVector::default() };
        vector.ends[Side::Acceptor].host = Some(Host::Number(7));
        let seen = Span { first: Duration::MAX, last: Duration::MAX };
        let adu = Adu {
            side: Side::Acceptor,
            bytes: u64::MAX,
            missing_bytes: 0,
            wait: Some(Duration::MAX),
            waiter: Side::Initiator,
            seen: Some(seen),
            packets: Some(u32::MAX),
        };
        vector.adus = vec![adu; adus];
        Finished {
            number: 12,
            initiator: Address { ip: u128::MAX, port: 80 },
            acceptor: Address { ip: 0, port: 0 },
            class: Class::Replayable { pattern: Pattern::Concurrent, complete: true },
            vector,
        }
    }

    #[test]
    fn what_is_unpacked_is_what_was_packed() {
        let mut room = Vec::new();
        for adus in [0, 1, 1_000, 3] {
            let finished = finished(adus);
            let packed = Packed::new(&finished, &mut room);
            assert_eq!(packed.unpack().as_ref(), Some(&finished));
            assert_eq!(Packed::from_bytes(12, packed.as_bytes().into()), packed);
        }
    }

    #[test]
    fn a_connection_takes_a_fraction_of_its_size() {
        let packed = Packed::new(&finished(0), &mut Vec::new());
        assert!(packed.bytes() * 5 < size_of::<Finished>() as u64, "{} bytes", packed.bytes());
    }

    #[test]
    fn other_bytes_are_no_connection() {
        let packed = Packed::new(&finished(3), &mut Vec::new());
        for end in 0..packed.as_bytes().len() {
            assert_eq!(Packed::from_bytes(12, packed.as_bytes()[..end].into()).unpack(), None, "{end} bytes");
        }
    }
}
