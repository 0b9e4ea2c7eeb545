//! How many connections and flows a file of vectors holds.

use flowloom_core::workload::{ConnectionVector, Evidence, Pattern, Protocol};

/// Numbers of the vectors in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Contents {
    /// TCP connections whose ends take turns.
    pub sequential: u64,
    /// TCP connections whose ends send at once.
    pub concurrent: u64,
    /// TCP connections of flow records, which state totals only.
    pub totals_only: u64,
    /// Flows of UDP.
    pub udp: u64,
    /// Flows of QUIC.
    pub quic: u64,
}

impl Contents {
    /// Counts `vector`.
    pub(crate) fn add(&mut self, vector: &ConnectionVector) {
        match (vector.protocol, vector.pattern) {
            (Protocol::Tcp, _) if is_of_totals(vector) => self.totals_only += 1,
            (Protocol::Tcp, Pattern::Sequential) => self.sequential += 1,
            (Protocol::Tcp, Pattern::Concurrent) => self.concurrent += 1,
            (Protocol::Udp, _) => self.udp += 1,
            (Protocol::Quic, _) => self.quic += 1,
        }
    }
}

/// Whether only the totals of this connection are known: it comes from flow records.
pub fn is_of_totals(vector: &ConnectionVector) -> bool {
    vector.evidence == Evidence::FlowRecord && vector.protocol == Protocol::Tcp
}
