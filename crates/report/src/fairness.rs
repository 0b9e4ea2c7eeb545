//! How fairly flows that last share the network: Jain's index (methods C.8), over the lifetime of each, and over the window of those that
//! were active in all of it.

use std::collections::BTreeMap;

use flowloom_core::record::{Outcome, SourceRecord};
use flowloom_core::time::Time;
use flowloom_core::workload::Protocol;
use flowloom_store::run_folder::ConnectionRow;

use crate::statistics::Shares;

/// Payload bytes from which on a connection is as fast as the network lets it be for long enough to compare.
const BULK: u64 = 1_000_000;

/// Goodput of flows in bit/s over their own lifetimes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fairness {
    /// Replayed connections of a megabyte and more that were completed.
    pub(crate) connections: Shares,
    /// TCP flows of sources, by their source's place in `classes`.
    pub(crate) sources: BTreeMap<u16, Shares>,
    /// Payload bytes in the window of replayed connections of a megabyte and more that were active in all of it.
    pub(crate) in_window: Shares,
}

impl Fairness {
    /// Takes a connection of the window.
    pub(crate) fn connection(&mut self, row: &ConnectionRow) {
        let bytes = row.delivered_to_acceptor_bytes + row.delivered_to_initiator_bytes;
        let time = row.endpoint_duration.map_or(0.0, |duration| duration.as_secs_f64());
        if row.outcome == Outcome::Completed && bytes >= BULK && time > 0.0 {
            self.connections.add(8.0 * bytes as f64 / time);
        }
    }

    /// Takes a connection that began in the window or before, for the common interval.
    pub(crate) fn connection_in(&mut self, row: &ConnectionRow, window: (Time, Time)) {
        let is_broken = matches!(row.outcome, Outcome::Reset | Outcome::GaveUp);
        let start = row.syn_sent.unwrap_or(row.start);
        let is_active = start <= window.0 && !is_broken && row.closed.is_none_or(|closed| closed >= window.1);
        if let Some(bytes) = row.carried_bytes.filter(|_| is_active && row.initiator_bytes + row.acceptor_bytes >= BULK)
        {
            self.in_window.add(bytes as f64);
        }
    }

    /// Takes a flow of a source; one that got nothing through counts as zero.
    pub(crate) fn source(&mut self, row: &SourceRecord) {
        if row.protocol != Protocol::Tcp {
            return;
        }
        let time = row.last.map_or(0.0, |last| last.since(row.start).as_secs_f64());
        let goodput = if time > 0.0 { 8.0 * row.received_bytes as f64 / time } else { 0.0 };
        self.sources.entry(row.class).or_default().add(goodput);
    }
}
