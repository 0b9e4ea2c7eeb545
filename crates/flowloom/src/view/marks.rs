//! Runs, workloads and notes as periods of time.

use std::ops::Range;

use flowloom_report::words::counted;
use flowloom_store::workload::WorkloadReader;
use serde::Serialize;

use super::folders::Folder;
use super::runs::RunCard;

/// What a mark is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MarkKind {
    Run,
    LabRun,
    Note,
    Workload,
}

/// A period on the time line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Mark {
    pub(super) kind: MarkKind,
    pub(super) name: String,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// The run it is of.
    pub(super) run: Option<String>,
    pub(super) text: String,
    pub(super) tags: Vec<String>,
}

impl Mark {
    /// That of a run whose time is known.
    pub(super) fn of_run(card: &RunCard) -> Option<Mark> {
        Some(Mark {
            kind: if card.driver == "lab" { MarkKind::LabRun } else { MarkKind::Run },
            name: card.name.clone(),
            from_ns: card.from_ns?,
            to_ns: card.to_ns?,
            run: Some(card.id.clone()),
            text: card.network.clone(),
            tags: card.tags.clone(),
        })
    }

    /// That of a workload that says when it was captured; `None` of other files. An hour without a packet is an hour too.
    pub(super) fn of_workload(file: &Folder) -> Option<Mark> {
        let facts = WorkloadReader::read_facts(&file.path).ok()?;
        let first_ns = facts.capture.first_packet_unix_ns;
        let packets_ns = first_ns.map(|first_ns| [first_ns, first_ns.saturating_add(facts.capture.duration_ns)]);
        let [from_ns, to_ns] = facts.provenance.captured().filter(|[from, to]| from <= to).or(packets_ns)?;
        let flows = facts.datagram_flows;
        let connections = counted(facts.connections.saturating_sub(flows), "TCP connection");
        Some(Mark {
            kind: MarkKind::Workload,
            name: file.name.clone(),
            from_ns,
            to_ns,
            run: None,
            text: if flows > 0 { format!("{connections}, {}", counted(flows, "flow")) } else { connections },
            tags: Vec::new(),
        })
    }

    /// Whether it lies in a period, in part at least.
    pub(super) fn is_in(&self, period: &Range<u64>) -> bool {
        self.from_ns < period.end && self.to_ns >= period.start
    }
}
