//! Extraction: TCP segments in, connection vectors out (methods A.1-A.9).
//!
//! Two layers. [`Observer`] is one connection: it is told which side sent each segment and makes the vector. The
//! simulator's monitor uses it directly, because it knows whose packet it sees. [`Extractor`] puts a flow table in
//! front of it for captures: which connection a segment belongs to, which end is the initiator, when a connection is
//! over, and in which order vectors come out.
//!
//! What each file decides: `sequence` unwraps numbers, `coverage` tells new bytes from repeated ones (A.3), `exchange`
//! tells sequential from concurrent (A.4), `adus` builds ADUs and waits (A.5), `transit` measures round trips and the
//! handshake (A.6), `observer` joins them; `flow_table` and `extractor` are the capture side, `counts` what is reported.

mod adus;
pub mod conversations;
mod counts;
mod coverage;
mod exchange;
mod extractor;
mod flow_table;
mod observer;
mod sequence;
mod transit;

pub use counts::{Class, ClassCounts, Counts, SideRule, TrafficSeries};
pub use extractor::{Extractor, Finished, Options, ParsePrefixError, Prefix};
pub use observer::{Arrival, Identity, Observer, Seen};

#[cfg(test)]
mod tests;
