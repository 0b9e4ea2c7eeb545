//! Zeek's conn.log: in as TSV or JSON lines, out as TSV (`docs/reference/formats.md`).
//!
//! A row is the totals of one connection: a request of `orig_bytes`, a response of `resp_bytes`. Neither waits nor
//! round trips can be known from it, so the vectors say that they come from flow records and leave those out.

mod json;
mod read;
mod row;
mod state;
mod tsv;
mod write;

pub(super) use read::ZeekReader;
pub use read::read;
pub use write::ZeekWriter;

/// Whether `head` begins a Zeek log in TSV, whatever its kind: a directive, be it below comments that somebody added.
pub(super) fn is_tsv(head: &[u8]) -> bool {
    let directives = ["#separator", "#set_separator", "#fields", "#path", "#empty_field", "#unset_field"];
    head.split(|byte| *byte == b'\n')
        .take_while(|line| line.starts_with(b"#"))
        .any(|line| directives.iter().any(|directive| line.starts_with(directive.as_bytes())))
}

/// Whether `head` begins Zeek logs as JSON lines: an object with a connection's identity.
pub(super) fn is_json(head: &[u8]) -> bool {
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let has = |name: &[u8]| first.windows(name.len()).any(|window| window == name);
    first.trim_ascii_start().starts_with(b"{") && (has(b"\"id.orig_h\"") || has(b"\"_path\"") || has(b"\"uid\""))
}
