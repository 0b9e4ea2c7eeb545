//! A look at Thrift structs before the Parquet crate reads them.
//!
//! The crate skips what it does not know, and believes the counts in there: in the compact protocol a list says how many
//! elements it has, the crate's reader takes none of the input for a boolean in one, and so a few bytes can keep it busy
//! for minutes. It also reads a field that it knows as the type that Parquet gives it, whatever type the field says it
//! has. So the look takes the types that Parquet has from a [`Shape`], and refuses any other: both then agree on where
//! every value begins. It allocates nothing, and every step takes a byte at least, so that it is over after as many steps
//! as there are bytes.
//!
//! Source: the Thrift compact protocol, `doc/specs/thrift-compact-protocol.md` of Apache Thrift.

/// Structs and collections inside each other: Parquet has ten at most.
const MOST_DEPTH: usize = 32;

/// Groups in a schema. The crate reads them by recursion, and a chain of a hundred thousand exhausts its stack.
const MOST_GROUPS: usize = 256;

/// The type of a field or of the elements of a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Bool,
    Byte,
    I16,
    I32,
    I64,
    Double,
    /// Bytes or a string.
    Binary,
    List(&'static Shape),
    /// The fields by their number, from 1. Further fields are unknown ones.
    Struct(&'static [Shape]),
    /// An `I32`: how many children a group of the schema has.
    Children,
    /// A field that the crate skips.
    Unknown,
}

/// Why a struct is not handed to the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// The bytes are over.
    #[error("a value is cut")]
    Cut,
    /// There cannot be so many elements or children: each takes a byte at least.
    #[error("a count of {count}, with {left} bytes left")]
    Count { count: u64, left: usize },
    /// What the crate does not read as it is written.
    #[error("a list of booleans, which Parquet does not have here")]
    Booleans,
    /// See [`MOST_DEPTH`].
    #[error("more than {MOST_DEPTH} structs and lists inside each other")]
    Depth,
    /// See [`MOST_GROUPS`].
    #[error("more than {MOST_GROUPS} groups in a schema")]
    Groups,
    /// An integer that no type holds.
    #[error("an integer too large for its type")]
    Integer,
    /// A code that stands for no type.
    #[error("a value of the unknown type {0}")]
    NoType(u8),
    /// A field has another type than Parquet gives it.
    #[error("a field or an element of type {found}, where Parquet has another")]
    OtherType { found: u8 },
}

/// Looks through the struct with these fields that `bytes` begin with; what stands behind it is left alone. An error comes
/// with its place in `bytes`.
pub(super) fn check(bytes: &[u8], fields: &[Shape]) -> Result<(), (usize, Refusal)> {
    let mut walk = Walk { bytes, at: 0, groups: 0 };
    walk.structure(fields, 1).map_err(|refusal| (walk.at, refusal))
}

/// The codes of the types. A boolean field is its own value, so there are two codes for it.
mod code {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
    pub(super) const UUID: u8 = 13;
}

struct Walk<'a> {
    bytes: &'a [u8],
    /// The next byte, or the first of the value that was refused.
    at: usize,
    /// Groups of the schema so far.
    groups: usize,
}

impl Walk<'_> {
    fn structure(&mut self, fields: &[Shape], depth: usize) -> Result<(), Refusal> {
        let mut id = 0i16;
        loop {
            let header = self.byte()?;
            let code = header & 0x0f;
            if code == code::STOP {
                return Ok(());
            }
            id = match header >> 4 {
                0 => self.field_id()?,
                delta => id.checked_add(i16::from(delta)).ok_or(Refusal::Integer)?,
            };
            let index = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
            let shape = index.and_then(|index| fields.get(index)).unwrap_or(&Shape::Unknown);
            self.value(code, *shape, depth)?;
        }
    }

    /// A value in a struct or a collection that is nested `depth` deep.
    fn value(&mut self, code: u8, shape: Shape, depth: usize) -> Result<(), Refusal> {
        use Shape::Unknown;
        let nested = |depth: usize| if depth < MOST_DEPTH { Ok(depth + 1) } else { Err(Refusal::Depth) };
        match (code, shape) {
            (code::TRUE | code::FALSE, Shape::Bool | Unknown) => Ok(()),
            (code::BYTE, Shape::Byte | Unknown) => self.skip(1),
            (code::I16, Shape::I16 | Unknown)
            | (code::I32, Shape::I32 | Unknown)
            | (code::I64, Shape::I64 | Unknown) => self.varint().map(drop),
            (code::I32, Shape::Children) => self.children(),
            (code::DOUBLE, Shape::Double | Unknown) => self.skip(8),
            (code::BINARY, Shape::Binary | Unknown) => {
                let length = self.varint()?;
                self.skip(length)
            }
            (code::LIST, Shape::List(element)) => self.list(*element, nested(depth)?),
            (code::LIST | code::SET, Unknown) => self.list(Unknown, nested(depth)?),
            (code::MAP, Unknown) => self.map(nested(depth)?),
            (code::STRUCT, Shape::Struct(fields)) => self.structure(fields, nested(depth)?),
            (code::STRUCT, Unknown) => self.structure(&[], nested(depth)?),
            (code::UUID, Unknown) => self.skip(16),
            (code::TRUE..=code::UUID, _) => Err(Refusal::OtherType { found: code }),
            _ => Err(Refusal::NoType(code)),
        }
    }

    fn list(&mut self, element: Shape, depth: usize) -> Result<(), Refusal> {
        let start = self.at;
        let header = self.byte()?;
        let count = match header >> 4 {
            0xf => self.varint()?,
            short => u64::from(short),
        };
        self.elements(start, count)?;
        for _ in 0..count {
            self.element(header & 0x0f, element, depth)?;
        }
        Ok(())
    }

    fn map(&mut self, depth: usize) -> Result<(), Refusal> {
        let start = self.at;
        let count = self.varint()?;
        self.elements(start, count)?;
        if count == 0 {
            return Ok(());
        }
        let types = self.byte()?;
        for _ in 0..count {
            self.element(types >> 4, Shape::Unknown, depth)?;
            self.element(types & 0x0f, Shape::Unknown, depth)?;
        }
        Ok(())
    }

    /// Refuses a collection that begins at `start` if it cannot have so many elements.
    fn elements(&mut self, start: usize, count: u64) -> Result<(), Refusal> {
        let left = self.left();
        if count > left as u64 {
            self.at = start;
            return Err(Refusal::Count { count, left });
        }
        Ok(())
    }

    /// In a collection a boolean takes a byte by the specification and none by the crate: there is no place behind it on
    /// which both agree. Parquet has no such collection in what is looked at here.
    fn element(&mut self, code: u8, shape: Shape, depth: usize) -> Result<(), Refusal> {
        match code {
            code::TRUE | code::FALSE => Err(Refusal::Booleans),
            _ => self.value(code, shape, depth),
        }
    }

    /// The crate sets memory aside for as many children as a group says it has. Each is an element of the list that the
    /// group is in, so that it takes a byte as well.
    fn children(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        let zigzag = self.varint()?;
        if zigzag & 1 == 1 {
            self.at = start;
            return Err(Refusal::Integer);
        }
        let count = zigzag >> 1;
        self.elements(start, count)?;
        self.groups += usize::from(count > 0);
        if self.groups > MOST_GROUPS { Err(Refusal::Groups) } else { Ok(()) }
    }

    /// The number of a field that does not follow the one before it closely.
    fn field_id(&mut self) -> Result<i16, Refusal> {
        let zigzag = u16::try_from(self.varint()?).map_err(|_| Refusal::Integer)?;
        Ok((zigzag >> 1) as i16 ^ -((zigzag & 1) as i16))
    }

    /// An integer of seven bits a byte, the least significant first.
    fn varint(&mut self) -> Result<u64, Refusal> {
        let start = self.at;
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        self.at = start;
        Err(Refusal::Integer)
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn byte(&mut self) -> Result<u8, Refusal> {
        let byte = *self.bytes.get(self.at).ok_or(Refusal::Cut)?;
        self.at += 1;
        Ok(byte)
    }

    fn skip(&mut self, count: u64) -> Result<(), Refusal> {
        let count = usize::try_from(count).ok().filter(|count| *count <= self.left()).ok_or(Refusal::Cut)?;
        self.at += count;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_DEPTH, MOST_GROUPS, Refusal, Shape, check};

    const SHORT: &[Shape] = &[Shape::I32, Shape::Binary, Shape::List(&Shape::I64), Shape::Struct(&[Shape::Children])];

    /// Every type in a field that is unknown.
    const EVERY_TYPE: &[u8] = &[
        0x91, 0x12, // true, false: fields 9 and 10
        0x13, 0xff, // a byte
        0x14, 0x80, 0x01, 0x15, 0x02, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0x01, // integers
        0x17, 0, 0, 0, 0, 0, 0, 0, 0, // a double
        0x18, 3, b'a', b'b', b'c', // a string
        0x19, 0x23, 1, 2, 0x1a, 0xf5, 0x03, 1, 1, 1, // a list of two bytes and a set of three integers
        0x1b, 0x01, 0x58, 0x02, 1, b'x', 0x1b, 0x00, // a map of an integer to a string, and an empty one
        0x1c, 0x1c, 0x00, 0x00, // a struct with an empty one in it
        0x1d, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, // a UUID
        0x05, 0x01, 0x02, // a field whose number is written out: -1
        0x09, 0x02, 0x00, // and 1; an empty list as some write it
        0x00, // the end
    ];

    #[test]
    fn values_of_every_type_are_walked_over_to_the_end() {
        let followed = [EVERY_TYPE, &[0x99, 0xff]].concat();
        assert_eq!(check(&followed, &[]), Ok(()), "what comes behind the struct is left alone");
        for end in 0..EVERY_TYPE.len() {
            assert!(matches!(check(&EVERY_TYPE[..end], &[]), Err((_, Refusal::Cut | Refusal::Count { .. }))), "{end}");
        }
    }

    #[test]
    fn known_fields_have_their_types() {
        let good = [0x15, 0x02, 0x18, 0x01, b'a', 0x19, 0x26, 0x02, 0x04, 0x1c, 0x15, 0x02, 0x00, 0x00];
        assert_eq!(check(&good, SHORT), Ok(()));
        // The number as a struct, in which the crate would read on behind its first byte.
        assert_eq!(check(&[0x1c, 0x00, 0x00], SHORT), Err((1, Refusal::OtherType { found: 12 })));
        // A list of other elements, and a set.
        assert_eq!(check(&[0x39, 0x15, 0x02, 0x00], SHORT), Err((2, Refusal::OtherType { found: 5 })));
        assert_eq!(check(&[0x3a, 0x16, 0x02, 0x00], SHORT), Err((1, Refusal::OtherType { found: 10 })));
        assert_eq!(check(&[0x1e, 0x00], SHORT), Err((1, Refusal::NoType(14))));
        assert_eq!(check(&[0x99, 0x10, 0x00], SHORT), Err((2, Refusal::NoType(0))));
        // Field 1 by its number in full is field 1.
        assert_eq!(check(&[0x08, 0x02, 0x00, 0x00], SHORT), Err((2, Refusal::OtherType { found: 8 })));
    }

    #[test]
    fn counts_beyond_the_bytes_are_refused() {
        // Structs take a byte each, and a list of lists one for each list.
        assert_eq!(check(&[0x99, 0x3c, 0, 0, 0, 0], &[]), Ok(()));
        assert_eq!(check(&[0x99, 0x3c, 0, 0], &[]), Err((1, Refusal::Count { count: 3, left: 2 })));
        let huge = Refusal::Count { count: 0x7fff_ffff, left: 1 };
        assert_eq!(check(&[0x99, 0xf9, 0xff, 0xff, 0xff, 0xff, 0x07, 0], &[]), Err((1, huge)));
        assert_eq!(check(&[0x9a, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0], &[]), Err((1, huge)));
        assert_eq!(check(&[0x9b, 0xff, 0xff, 0xff, 0xff, 0x07, 0x11], &[]), Err((1, huge)));
        assert_eq!(check(&[0x39, 0xf6, 0xff, 0xff, 0xff, 0xff, 0x07, 0], SHORT), Err((1, huge)));
        assert_eq!(check(&[0x98, 0xff, 0xff, 0xff, 0xff, 0x07, 0], SHORT), Err((6, Refusal::Cut)));
        // What a group says of its children.
        let children = [0x4c, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0];
        assert_eq!(check(&children, SHORT), Err((2, huge)));
    }

    #[test]
    fn booleans_in_collections_are_refused() {
        assert_eq!(check(&[0x99, 0x21, 1, 1, 0], &[]), Err((2, Refusal::Booleans)));
        assert_eq!(check(&[0x99, 0x22, 1, 1, 0], &[]), Err((2, Refusal::Booleans)));
        assert_eq!(check(&[0x9b, 0x01, 0x32, 1, 1, 0], &[]), Err((4, Refusal::Booleans)));
        assert_eq!(check(&[0x99, 0x02, 0], &[]), Ok(()), "an empty one has none");
    }

    #[test]
    fn numbers_have_the_bits_of_their_types() {
        let number = |bytes: &[u8]| check(&[&[0x96], bytes, &[0]].concat(), &[]);
        assert_eq!(number(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), Ok(()));
        assert_eq!(number(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), Err((1, Refusal::Integer)));
        assert_eq!(number(&[0x80; 1_000]), Err((1, Refusal::Integer)));
        // Numbers of fields, written out and added up.
        assert_eq!(check(&[0x03, 0xfe, 0xff, 0x03, 0, 0], &[]), Ok(()));
        assert_eq!(check(&[0x03, 0xfe, 0xff, 0x07, 0, 0], &[]), Err((4, Refusal::Integer)));
        assert_eq!(check(&[0x03, 0xfe, 0xff, 0x03, 0, 0x13, 0, 0], &[]), Err((6, Refusal::Integer)));
        assert_eq!(check(&[0x4c, 0x15, 0x01, 0, 0], SHORT), Err((2, Refusal::Integer)), "less than no children");
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| [vec![0x1c; depth - 1], vec![0; depth]].concat();
        assert_eq!(check(&nested(MOST_DEPTH), &[]), Ok(()));
        assert_eq!(check(&nested(MOST_DEPTH + 1), &[]), Err((MOST_DEPTH, Refusal::Depth)));
        let lists = [&[0x19][..], &[0x19; 100_000]].concat();
        assert_eq!(check(&lists, &[]), Err((MOST_DEPTH, Refusal::Depth)));
        let maps = [&[0x1b][..], &[0x01, 0xbb].repeat(100_000)].concat();
        assert_eq!(check(&maps, &[]).map_err(|(_, refusal)| refusal), Err(Refusal::Depth));
    }

    #[test]
    fn groups_of_a_schema_are_counted() {
        let groups = |count: usize| {
            let group = [0x15, 0x02, 0x00];
            let all = [&[0x19, 0xfc, (count & 0x7f | 0x80) as u8, (count >> 7) as u8][..], &group.repeat(count), &[0]];
            check(&all.concat(), &[Shape::List(&Shape::Struct(&[Shape::Children]))])
        };
        assert_eq!(groups(MOST_GROUPS), Ok(()));
        assert!(matches!(groups(MOST_GROUPS + 1), Err((_, Refusal::Groups))));
    }
}
