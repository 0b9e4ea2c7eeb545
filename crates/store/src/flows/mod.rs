//! Flow records in: NetFlow v5, v9 and IPFIX, from files of export messages and from captures of exporters.
//!
//! [`Reader`] hands out [`FlowRecord`]s, one after the other; [`Vectors`] merges them to connections. `docs/reference/flows.md`
//! says what is read, by which rules it is merged, and what cannot be known.

mod bytes;
mod decoder;
mod detect;
mod domain;
mod element;
mod error;
mod exporters;
mod facts;
mod framing;
mod merge;
mod reader;
mod record;
mod template;
mod v5;
mod values;

pub use detect::{HEAD_BYTES, detect};
pub use error::{FlowError, FlowErrorKind};
pub use facts::{FlowFacts, InputFacts, Kind, PerVersion, Problem};
pub use merge::{MergeFacts, MergeOptions, Vectors};
pub use reader::{Options, Reader, decode};
pub use record::{Clock, Counters, EndReason, FirewallEvent, FlowRecord, ObservationPoint, Sampling, Version};
