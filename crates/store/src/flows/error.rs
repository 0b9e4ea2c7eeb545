//! What can go wrong with flow records, said so that a person can act on it.

use std::fmt;

use thiserror::Error;

use super::record::Version;
use crate::capture::CaptureError;
use crate::capture::error::Grouped;

/// Why flow records could not be read (on), or not used.
#[derive(Debug, Error)]
pub enum FlowError {
    /// A file could not be opened, read or unpacked, or a capture of exporters is wrong.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The file's messages are wrong. Displays as one line, `core1.ipfix: message 12 at byte 16,384: set 256 has a length of 2,
    /// which is less than its header (4)`.
    #[error("{file}{}: {kind}", Place(.message, .offset))]
    Messages {
        /// The file as named by the user; `standard input` for `-`.
        file: String,
        /// Number of the message, the first being 1 (of the packet, in a capture); `None` if the trouble is with the
        /// whole file.
        message: Option<u64>,
        /// Where in the (uncompressed) file, in bytes.
        offset: Option<u64>,
        /// What went wrong.
        #[source]
        kind: FlowErrorKind,
    },
}

/// What went wrong with flow records.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FlowErrorKind {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file is something else.
    #[error("neither NetFlow nor IPFIX: {0}")]
    NotFlows(String),
    /// A format of flow records that is known but not read.
    #[error("{name} is not read")]
    NotRead {
        /// Its name.
        name: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// A message contradicts itself, and where the next begins cannot be told.
    #[error("{0}")]
    Corrupt(String),
    /// The file ends in mid-message.
    #[error("the file ends {missing} bytes before the end of a {version} message of at least {length}")]
    Truncated {
        /// Of which protocol.
        version: Version,
        /// Bytes the message should have.
        length: usize,
        /// How many of them are not there.
        missing: usize,
    },
    /// A capture without a single export message.
    #[error("none of its {packets} packets carries NetFlow v5, v9 or IPFIX over UDP")]
    NoMessages {
        /// Packets looked at.
        packets: u64,
    },
    /// Records were made from too small a sample of the packets.
    #[error("its records were made from one packet in {interval}, of which connections cannot be told (limit: {most})")]
    Sampled {
        /// The interval of the record.
        interval: u64,
        /// The largest that is undone unasked.
        most: u64,
    },
    /// Records name a sampler whose rate was not told.
    #[error("its records were sampled at a rate that is not known: no options record tells of their sampler")]
    UnknownSampling,
}

impl FlowError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        use FlowErrorKind as Kind;
        let kind = match self {
            FlowError::Capture(error) => return error.hint(),
            FlowError::Messages { kind, .. } => kind,
        };
        match kind {
            Kind::Empty => Some("the collector may not have written it yet"),
            Kind::NotFlows(_) => Some("give files of export messages back to back, or captures of what exporters send"),
            Kind::NotRead { hint, .. } => Some(hint),
            Kind::Corrupt(_) => Some("the file is damaged from here on, or holds something between its messages"),
            Kind::Truncated { .. } => {
                Some("the file may have been cut off; --allow-truncated, without --strict, uses what is readable")
            }
            Kind::NoMessages { .. } => Some(
                "exporters send to a port of their own: capture there; to extract the packets' own connections use extract",
            ),
            Kind::Sampled { .. } | Kind::UnknownSampling => Some(
                "--allow-sampled takes them all the same: totals are estimates, most short connections are missing",
            ),
        }
    }
}

/// Message number and byte offset, as far as known.
struct Place<'a>(&'a Option<u64>, &'a Option<u64>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(message) = self.0 {
            write!(f, ": message {}", Grouped(*message))?;
        }
        match (self.0, self.1) {
            (Some(_), Some(offset)) => write!(f, " at byte {}", Grouped(*offset)),
            (None, Some(offset)) => write!(f, ": byte {}", Grouped(*offset)),
            (_, None) => Ok(()),
        }
    }
}
