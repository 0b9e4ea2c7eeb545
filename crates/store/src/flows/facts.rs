//! What reading flow records taught about their export.

use std::net::IpAddr;

use super::record::Version;

/// Problems that are kept with their place; the others are only counted.
const MOST_PROBLEMS: usize = 16;

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Export messages back to back, the first of this version (IPFIX: RFC 5655).
    Messages(Version),
    /// A capture of the packets that exporters send.
    Capture,
}

/// One input, as far as it has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFacts {
    /// The path as given, or `standard input`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Export messages in it.
    pub messages: u64,
    /// Bytes read so far of the file as stored (compressed, if it is).
    pub bytes_read: u64,
    /// Bytes of the file as stored; `None` where unknown (pipes).
    pub total_bytes: Option<u64>,
    /// The file was cut off in mid-message and read up to there.
    pub truncated: bool,
    /// SHA-256 of the file as stored, in hexadecimal; known once it was read.
    pub sha256: Option<String>,
}

/// Something wrong inside an export message, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The position of the input.
    pub input: usize,
    /// Number of the message in a file, of the packet in a capture, the first being 1.
    pub message: u64,
    /// Byte of the file, or of the datagram's payload.
    pub offset: u64,
    /// What.
    pub text: String,
}

/// A count per export protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PerVersion([u64; Version::ALL.len()]);

impl PerVersion {
    /// The count of `version`.
    pub fn get(&self, version: Version) -> u64 {
        self.0[version as usize]
    }

    /// Of all.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) fn add(&mut self, version: Version, count: u64) {
        self.0[version as usize] += count;
    }
}

/// What was read, and what was not.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FlowFacts {
    /// Each input, in the order given.
    pub inputs: Vec<InputFacts>,
    /// The exporters, by number; `None` for those of files, which do not say who sent them.
    pub exporters: Vec<Option<IpAddr>>,
    /// Export messages.
    pub messages: PerVersion,
    /// Flow records: those with the two addresses of a flow.
    pub records: PerVersion,
    /// Data records about the exporter: samplers, interfaces, applications.
    pub options_records: u64,
    /// Data records without addresses: counters of an interface, wireless clients, and the like.
    pub other_records: u64,
    /// Templates received, repetitions included.
    pub templates: u64,
    /// Of them, those that changed one known under their number.
    pub templates_redefined: u64,
    /// Templates withdrawn (IPFIX).
    pub templates_withdrawn: u64,
    /// Templates not kept: their records would have no bytes, or too many are held already.
    pub templates_refused: u64,
    /// Data sets that waited for their template and were read when it came.
    pub late_sets: u64,
    /// Data sets whose template never came, or for which there was no room to wait: their records are missing.
    pub sets_without_template: u64,
    /// Their bytes.
    pub bytes_without_template: u64,
    /// Sets with a number that is reserved.
    pub reserved_sets: u64,
    /// Lost, as sequence numbers say: flows (v5), messages (v9), data records (IPFIX).
    pub lost: PerVersion,
    /// Messages whose sequence number goes back or jumps: reordered, repeated, or the exporter began anew.
    pub sequence_breaks: u64,
    /// Messages and sets that contradict themselves.
    pub malformed: u64,
    /// Messages cut by the capture's snap length; the sets that are whole were read.
    pub messages_cut: u64,
    /// Messages of more exporters and observation domains than are kept apart; not read.
    pub messages_refused: u64,
    /// The first of what was malformed.
    pub problems: Vec<Problem>,
    /// Flow records made from a sample of the packets.
    pub sampled_records: u64,
    /// Of them, those of which the rate is not known.
    pub unknown_sampling_records: u64,
    /// The largest sampling interval, 0 if nothing was sampled.
    pub largest_interval: u64,
    /// Flow records read before their exporter said that it samples: they may be samples, and were taken as they are.
    pub records_before_sampling: u64,
    /// Flow records whose times are known up to one shift of all times of their exporter ([`super::Clock::Estimated`]).
    pub estimated_times: u64,
    /// Flow records without times of their own.
    pub without_times: u64,
    /// Packets of captures that are not export messages.
    pub other_packets: u64,
}

impl FlowFacts {
    pub(super) fn note(&mut self, problem: Problem) {
        self.malformed += 1;
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }
}
