//! Limits of what a vector of another tool may hold.

/// Most ADUs of one connection in a text.
pub(super) const MOST_ADUS: usize = 1 << 22;

/// Most bytes one end of a connection may have sent: 256 TiB.
pub(super) const MOST_BYTES: u64 = 1 << 48;
