//! Transmission efficiency: how many of the bytes on a line are useful, for any stack of framings (methods H).
//!
//! | file | holds |
//! |---|---|
//! | `lengths` | datagrams by length: what is carried |
//! | `of_vector` | the datagrams that a connection vector would be sent in |
//! | `stack` | framings one around the other: the bytes of one datagram on the line |
//! | `known` | framings by name, each with its source |
//! | `written` | stacks as text, `pppoe+ethernet` |
//! | `efficiency` | compression, totals over all datagrams, efficiency against the size of a cell |
//!
//! Bytes of the physical layer (synchronisation, forward error correction) are left out, and so are frames that fragment: a
//! datagram takes one frame of each framing, whatever its length.

mod efficiency;
mod known;
mod lengths;
mod of_vector;
mod stack;
mod written;

pub use efficiency::{Compression, Totals, totals};
pub use known::{KNOWN, Known, NAMED_STACKS, NamedStack, Shape};
pub use lengths::{Group, Lengths, header_bytes};
pub use stack::{Carried, Cells, Framing, Stack, Step};
pub use written::{WrittenError, known_names};
