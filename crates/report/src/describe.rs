//! The characteristics of a workload: what Aikat's chapter 3 tabulates of a trace (connections by class, epochs, data
//! units, quiet times, round-trip times, windows), from its connection vectors.

use flowloom_core::workload::{ConnectionVector, LinkSide, Pattern, Side};
use serde::Serialize;

use crate::statistics::Sample;

/// Collects vectors; memory grows with the number of values described.
#[derive(Clone, Debug, Default)]
pub struct Describer {
    connections: u64,
    sequential: u64,
    concurrent: u64,
    complete: u64,
    half_epochs: u64,
    lossy: u64,
    unknown_rtt: u64,
    from: [u64; 2],
    bytes: [u64; 2],
    last_start_ns: u64,
    epochs_per_connection: Vec<f64>,
    request_bytes: Vec<f64>,
    response_bytes: Vec<f64>,
    concurrent_adu_bytes: Vec<f64>,
    intra_epoch_wait_ns: Vec<f64>,
    inter_epoch_wait_ns: Vec<f64>,
    concurrent_wait_ns: Vec<f64>,
    response_time_ns: Vec<f64>,
    duration_ns: Vec<f64>,
    min_rtt_ns: Vec<f64>,
    initiator_window_bytes: Vec<f64>,
    acceptor_window_bytes: Vec<f64>,
    connection_bytes: Vec<f64>,
}

/// What the vectors of a workload look like. Times in nanoseconds, sizes in bytes, as the names say.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// How many connections of which kind.
    pub connections: ConnectionCounts,
    /// Payload bytes sent by either end.
    pub payload_bytes: PayloadBytes,
    /// Each variable's distribution, in the order a reader wants.
    pub distributions: Vec<Distribution>,
}

/// Connections by kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ConnectionCounts {
    /// All of them.
    pub total: u64,
    /// Those whose ends took turns.
    pub sequential: u64,
    /// Those whose ends sent at once.
    pub concurrent: u64,
    /// SYN and (FIN or RST) were seen.
    pub complete: u64,
    /// The rest.
    pub incomplete: u64,
    /// A segment of them was lost before or after the monitor.
    pub lossy: u64,
    /// No transit sample of either end.
    pub unknown_rtt: u64,
    /// Initiator on the left of the link.
    pub from_left: u64,
    /// Initiator on the right of the link.
    pub from_right: u64,
    /// Epochs without a request or without a response.
    pub half_epochs: u64,
}

/// Payload bytes by end.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PayloadBytes {
    /// Sent by initiators.
    pub initiator: u64,
    /// Sent by acceptors.
    pub acceptor: u64,
}

/// A variable's distribution (quantiles are inverse-CDF, methods C.7).
#[derive(Clone, Debug, Serialize)]
pub struct Distribution {
    /// Name with its unit, as columns are named.
    pub name: &'static str,
    /// The name in words.
    #[serde(skip)]
    pub words: &'static str,
    /// How many values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Quantile 0.1.
    pub p10: f64,
    /// Median.
    pub p50: f64,
    /// Quantile 0.8.
    pub p80: f64,
    /// Quantile 0.9.
    pub p90: f64,
    /// Quantile 0.99.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl Describer {
    /// Takes one more vector into account.
    pub fn add(&mut self, vector: &ConnectionVector) {
        self.connections += 1;
        self.complete += u64::from(vector.complete);
        self.from[usize::from(vector.initiator_side == LinkSide::Right)] += 1;
        self.last_start_ns = self.last_start_ns.max(vector.start.as_nanos());
        self.lossy += u64::from(Side::BOTH.into_iter().any(|side| vector.ends[side].is_lossy()));
        let mut total = 0;
        for (sum, side) in self.bytes.iter_mut().zip(Side::BOTH) {
            *sum += vector.bytes(side);
            total += vector.bytes(side);
        }
        self.connection_bytes.push(total as f64);
        self.initiator_window_bytes.extend(vector.ends.initiator.max_window.map(|window| window as f64));
        self.acceptor_window_bytes.extend(vector.ends.acceptor.max_window.map(|window| window as f64));
        self.duration_ns.extend(vector.duration().map(nanos));
        match vector.min_rtt() {
            Some(rtt) => self.min_rtt_ns.push(nanos(rtt)),
            None => self.unknown_rtt += 1,
        }
        match vector.pattern {
            Pattern::Sequential => self.add_epochs(vector),
            Pattern::Concurrent => {
                self.concurrent += 1;
                self.concurrent_adu_bytes.extend(vector.adus.iter().map(|adu| adu.bytes as f64));
                self.concurrent_wait_ns.extend(vector.adus.iter().filter_map(|adu| adu.wait).map(nanos));
            }
        }
    }

    fn add_epochs(&mut self, vector: &ConnectionVector) {
        self.sequential += 1;
        let mut epochs = 0.0;
        for epoch in vector.epochs() {
            epochs += 1.0;
            self.half_epochs += u64::from(epoch.request.is_none() || epoch.response.is_none());
            self.request_bytes.extend(epoch.request.map(|adu| adu.bytes as f64));
            self.response_bytes.extend(epoch.response.map(|adu| adu.bytes as f64));
            self.response_time_ns.extend(epoch.response_time().map(nanos));
            if epoch.response.is_some() {
                self.intra_epoch_wait_ns.extend(epoch.request.and_then(|adu| adu.wait).map(nanos));
            }
            let last = epoch.response.or(epoch.request);
            self.inter_epoch_wait_ns.extend(last.and_then(|adu| adu.wait).map(nanos));
        }
        self.epochs_per_connection.push(epochs);
    }

    /// What was collected.
    pub fn finish(self) -> Description {
        let variables = [
            ("epochs", "epochs per connection", self.epochs_per_connection),
            ("connection_bytes", "bytes per connection", self.connection_bytes),
            ("request_bytes", "request size", self.request_bytes),
            ("response_bytes", "response size", self.response_bytes),
            ("concurrent_adu_bytes", "data unit, concurrent", self.concurrent_adu_bytes),
            ("intra_epoch_wait_ns", "wait within an epoch", self.intra_epoch_wait_ns),
            ("inter_epoch_wait_ns", "wait between epochs", self.inter_epoch_wait_ns),
            ("concurrent_wait_ns", "wait, concurrent", self.concurrent_wait_ns),
            ("response_time_ns", "response time", self.response_time_ns),
            ("duration_ns", "connection duration", self.duration_ns),
            ("min_rtt_ns", "minimum RTT", self.min_rtt_ns),
            ("initiator_window_bytes", "initiator's window", self.initiator_window_bytes),
            ("acceptor_window_bytes", "acceptor's window", self.acceptor_window_bytes),
        ];
        Description {
            connections: ConnectionCounts {
                total: self.connections,
                sequential: self.sequential,
                concurrent: self.concurrent,
                complete: self.complete,
                incomplete: self.connections - self.complete,
                lossy: self.lossy,
                unknown_rtt: self.unknown_rtt,
                from_left: self.from[0],
                from_right: self.from[1],
                half_epochs: self.half_epochs,
            },
            payload_bytes: PayloadBytes { initiator: self.bytes[0], acceptor: self.bytes[1] },
            distributions: variables
                .into_iter()
                .filter_map(|(name, words, values)| Distribution::of(name, words, Sample::new(values)))
                .collect(),
        }
    }
}

impl Distribution {
    /// `None` without values.
    fn of(name: &'static str, words: &'static str, sample: Sample) -> Option<Distribution> {
        Some(Distribution {
            name,
            words,
            n: sample.len(),
            mean: sample.mean()?,
            p10: sample.quantile(0.1)?,
            p50: sample.quantile(0.5)?,
            p80: sample.quantile(0.8)?,
            p90: sample.quantile(0.9)?,
            p99: sample.quantile(0.99)?,
            max: sample.max()?,
        })
    }

    /// Whether the values are times.
    pub fn is_time(&self) -> bool {
        self.name.ends_with("_ns")
    }

    /// Whether the values are sizes.
    pub fn is_size(&self) -> bool {
        self.name.ends_with("_bytes")
    }
}

fn nanos(duration: flowloom_core::time::Duration) -> f64 {
    duration.as_nanos() as f64
}
