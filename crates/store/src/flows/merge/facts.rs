//! How flow records are merged, and what became of them.

use flowloom_core::time::Duration;

/// How flow records are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeOptions {
    /// The longest time after which exporters send a slice of a flow that goes on. Connections that are still open are
    /// held for it.
    pub active_timeout: Duration,
    /// The longest silence inside a connection: records further apart are different connections.
    pub idle_timeout: Duration,
    /// The largest sampling interval that is undone.
    pub most_sampling: u64,
    /// Sampled records are taken whatever their interval, and as they are where it is not known.
    pub allow_sampled: bool,
    /// Connections held at once; beyond them the ones silent the longest are given out early.
    pub most_connections: usize,
    /// Addresses and ports are kept in the vectors.
    pub keep_hosts: bool,
    /// Connections of which one direction was reported become vectors too: nothing is known of the other one.
    pub keep_one_way: bool,
}

impl Default for MergeOptions {
    /// Cisco's active timeout, 30 min; 60 s of silence; one packet in 100; 500,000 connections, which take about 350 MB.
    fn default() -> MergeOptions {
        MergeOptions {
            active_timeout: Duration::from_secs(1_800),
            idle_timeout: Duration::from_secs(60),
            most_sampling: 100,
            allow_sampled: false,
            most_connections: 500_000,
            keep_hosts: false,
            keep_one_way: false,
        }
    }
}

/// What merging came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MergeFacts {
    /// Records that make up connections: TCP and UDP.
    pub records: u64,
    /// Records of other protocols.
    pub other_protocols: u64,
    /// Records of connections that a firewall did not let through.
    pub denied: u64,
    /// Records that continue a flow of the same observation point.
    pub slices: u64,
    /// Records of packets that another record counts as well: of another observation point, or the same record again.
    pub duplicates: u64,
    /// Connections, all of them: the vectors and the four kinds that follow.
    pub connections: u64,
    /// Vectors given out.
    pub vectors: u64,
    /// Connections with packets in one direction only, where these are not kept.
    pub one_way: u64,
    /// Connections without payload, as far as it can be told.
    pub no_data: u64,
    /// Connections whose records do not count bytes and packets of each direction.
    pub uncounted: u64,
    /// Vectors whose payload is estimated from bytes and packets.
    pub estimated_payload: u64,
    /// Vectors with counts scaled up from a sample.
    pub scaled: u64,
    /// Vectors whose initiator the exporter names.
    pub initiator_named: u64,
    /// Vectors whose initiator is the end that began to send first.
    pub initiator_first: u64,
    /// Vectors whose initiator is the end with the larger port: both began in the same millisecond.
    pub initiator_port: u64,
    /// Directions of TCP whose packets carry no more than acknowledgements with options would: taken as without payload.
    pub acknowledgements_only: u64,
    /// Connections given out before their time because too many were held: what came later of them is a connection of its own.
    pub early: u64,
    /// Vectors that began before one already given out; they begin with it.
    pub moved_starts: u64,
}
