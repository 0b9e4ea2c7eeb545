//! The version of workload files, and the keys of what they say beside their rows.

/// The version written; earlier ones are read too. Version 2 has what ends did inside their ADUs, and
/// digests of all of the file.
pub const VERSION: u64 = 2;

/// Metadata key: [`WorkloadFacts`](super::WorkloadFacts) without the series, as JSON.
pub(super) const FACTS_KEY: &str = "flowloom.facts";

/// Metadata key: [`TrafficFacts`](super::TrafficFacts) as JSON, zstd, base64.
pub(super) const TRAFFIC_KEY: &str = "flowloom.traffic";
