//! What connections of one kind came to.

use flowloom_core::record::{Outcome, SourceRecord};
use flowloom_store::run_folder::ConnectionRow;

/// Sums over connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTotals {
    /// Connections that started in the window.
    pub connections: u64,
    /// Of them, those whose data all arrived.
    pub completed: u64,
    /// Payload bytes to be sent, both directions.
    pub payload_bytes: u64,
    /// Payload bytes that arrived.
    pub delivered_bytes: u64,
    /// Payload bytes that passed the monitor for the first time within the window, of connections that began before it too.
    pub carried_bytes: u64,
    /// Whether there are connections of which nobody counted that: in runs of earlier versions.
    pub is_carried_unknown: bool,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

impl ClassTotals {
    /// Takes a connection.
    pub(crate) fn connection(&mut self, row: &ConnectionRow) {
        self.add(ClassTotals {
            connections: 1,
            completed: u64::from(row.outcome == Outcome::Completed),
            payload_bytes: row.initiator_bytes + row.acceptor_bytes,
            delivered_bytes: row.delivered_to_acceptor_bytes + row.delivered_to_initiator_bytes,
            retransmissions: row.retransmissions,
            timeouts: row.timeouts,
            ..ClassTotals::default()
        });
    }

    /// Takes what a connection of any time carried in the window.
    pub(crate) fn carried(&mut self, row: &ConnectionRow) {
        self.carried_bytes += row.carried_bytes.unwrap_or(0);
        self.is_carried_unknown |= row.carried_bytes.is_none();
    }

    /// Takes a flow of a source. What an endless one had to send is what it sent.
    pub(crate) fn source(&mut self, row: &SourceRecord) {
        self.add(ClassTotals {
            connections: 1,
            completed: u64::from(row.outcome == Outcome::Completed),
            payload_bytes: row.sent_bytes,
            delivered_bytes: row.received_bytes,
            retransmissions: row.retransmissions.unwrap_or(0),
            timeouts: row.timeouts.unwrap_or(0),
            ..ClassTotals::default()
        });
    }

    /// Adds other connections.
    pub fn add(&mut self, other: ClassTotals) {
        self.connections += other.connections;
        self.completed += other.completed;
        self.payload_bytes += other.payload_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.carried_bytes += other.carried_bytes;
        self.is_carried_unknown |= other.is_carried_unknown;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
    }
}
