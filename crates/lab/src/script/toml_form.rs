//! The same language in TOML: for programs that write scripts, and for people who know it.
//!
//! ```toml
//! block = "cluster"
//!
//! [[children]]
//! block = "test"
//! address = "host-a:42005"
//!
//! [children.parameters]
//! type = { full = { blocksize = 32768, duration = 10 } }
//! protocol = { tcp = { window = "128K" } }
//! own = "host-a:42005"
//! peer = "host-b:42006"
//! ```
//!
//! A function is a table with one key, its name, which holds the table of its arguments. A number without a multiplier is a number, any other
//! word a string; a text in quotes that would be a word without them is `{ string = "udp" }`. `let` is a table of variables, a child with
//! `include` a file. A list is an array. A file without `block` holds what can stand in a file: `let`, `parameters`, `children`. What is written and read again is
//! the same tree, without comments and empty lines.

mod read;
mod write;

pub use read::read;
pub use write::write;
