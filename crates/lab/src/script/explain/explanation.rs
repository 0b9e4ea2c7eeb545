//! An explanation: the script as a tree of steps, with totals for each host, warnings and notes.

use std::collections::BTreeMap;

use flowloom_models::generate::netspec::Traffic;
use serde::Serialize;

use super::super::leaf::{Leaf, Work};

/// What a script will do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The script and the files that it includes, each once.
    pub files: Vec<String>,
    /// How many leaves it has.
    pub leaves: u64,
    /// Hosts of leaves, and what they do.
    pub hosts: Vec<HostShare>,
    /// How long it runs, where all leaves say so.
    pub duration_ns: Option<u64>,
    /// The outermost block.
    pub script: Step,
    /// What may not be as it was meant.
    pub warnings: Vec<Remark>,
    /// What is worth knowing.
    pub notes: Vec<Remark>,
}

/// What a host does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostShare {
    /// The host; nothing for the one on which the script is started.
    pub host: Option<String>,
    /// Leaves that send.
    pub sources: u64,
    /// Leaves that receive.
    pub sinks: u64,
    /// Leaves that do neither.
    pub others: u64,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Its keyword.
    pub keyword: String,
    /// The host it runs on: its own address, or that of the block around it; nothing for the host on which the script is started.
    pub host: Option<String>,
    /// File, line and column.
    pub place: String,
    /// When it begins after the script does, where all before it say how long they take.
    pub start_ns: Option<u64>,
    /// How long it takes, where all its leaves say so.
    pub duration_ns: Option<u64>,
    /// What it does, if it is a leaf that sends or receives.
    pub leaf: Option<LeafStep>,
    /// What it does, in words, if it is a leaf of another known kind.
    pub does: Option<String>,
    /// Parameters as they are written.
    pub parameters: BTreeMap<String, String>,
    /// Blocks within.
    pub children: Vec<Step>,
}

/// What a leaf does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeafStep {
    /// Whether it sends; otherwise it receives.
    pub sends: bool,
    /// `tcp` or `udp`.
    pub protocol: &'static str,
    /// Its host and port.
    pub own: String,
    /// Host and port of the other end.
    pub peer: String,
    /// Payload that it offers in the long run, where that is decided by the script alone.
    pub offered_bits_per_second: Option<f64>,
    /// Where it sends as fast as it can.
    pub as_fast_as_it_can: bool,
}

/// Something to know of a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// File, line and column.
    pub place: String,
    /// What.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl LeafStep {
    /// The step of a leaf of the kind `test`.
    pub(super) fn of(leaf: &Leaf) -> LeafStep {
        let as_fast_as_it_can = match &leaf.work {
            Work::Source { traffic, .. } => matches!(**traffic, Traffic::Full { .. }),
            Work::Sink { .. } => false,
        };
        LeafStep {
            sends: leaf.sends(),
            protocol: leaf.protocol.name(),
            own: leaf.own.to_string(),
            peer: leaf.peer.to_string(),
            offered_bits_per_second: leaf.offered_bits_per_second(),
            as_fast_as_it_can,
        }
    }
}
