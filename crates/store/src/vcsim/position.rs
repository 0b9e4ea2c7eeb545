//! Where something stands in a specification.

/// Where a word of a file begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Its line, from 1 on.
    pub line: u32,
    /// Its column in characters, from 1 on.
    pub column: u32,
}
