//! From flow records to connections: halves paired, slices joined, double reports left out, sampling undone.
//!
//! `docs/reference/flows.md` states the rules and what they cannot know.

mod connection;
mod span;
mod table;
mod vector;

use flowloom_core::time::Duration;
use flowloom_core::workload::ConnectionVector;

use super::error::{FlowError, FlowErrorKind};
use super::facts::{FlowFacts, Kind};
use super::reader::Reader;
use super::record::{FirewallEvent, FlowRecord, Sampling};
use table::Table;

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
    /// Connections with packets in one direction only.
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

/// The connection vectors in flow records, in the order of their starts: an iterator.
///
/// A vector may be a whole input away. Who wants to do something else meanwhile takes all vectors that are due with
/// [`Vectors::poll_vector`], reads a message with [`Vectors::read_on`], and so on until that returns `false`.
///
/// It ends after an error ([`FlowErrorKind::Sampled`] and [`FlowErrorKind::UnknownSampling`] are those of records that cannot
/// be made whole; the others say where an input cannot be read on). Memory is bounded by [`MergeOptions::most_connections`].
pub struct Vectors {
    reader: Reader,
    table: Table,
    options: MergeOptions,
    /// All records were read.
    ended: bool,
    failed: bool,
}

impl Vectors {
    /// Merges the records of `reader`.
    pub fn new(reader: Reader, options: MergeOptions) -> Vectors {
        Vectors { reader, table: Table::new(options), options, ended: false, failed: false }
    }

    /// What was read so far.
    pub fn facts(&self) -> &FlowFacts {
        self.reader.facts()
    }

    /// What merging came to so far; complete after the last vector.
    pub fn merge_facts(&self) -> &MergeFacts {
        &self.table.facts
    }

    /// When the first vector starts, in nanoseconds since the Unix epoch: the origin of all starts. `None` before it.
    pub fn first_unix_ns(&self) -> Option<u64> {
        self.table.origin().map(|origin| origin.as_nanos())
    }

    /// The next vector that is due by what was read so far.
    ///
    /// # Errors
    /// Those of a record that cannot be used.
    pub fn poll_vector(&mut self) -> Result<Option<ConnectionVector>, FlowError> {
        while !self.failed {
            if let Some(vector) = self.table.poll_vector() {
                return Ok(Some(vector));
            }
            let Some(record) = self.reader.poll_record() else { break };
            if let Err(error) = self.handle_record(&record) {
                self.failed = true;
                return Err(error);
            }
        }
        Ok(None)
    }

    /// Reads one message, or one packet of a capture; `false` after the last.
    ///
    /// # Errors
    /// Where an input cannot be read on.
    pub fn read_on(&mut self) -> Result<bool, FlowError> {
        if self.ended || self.failed {
            return Ok(false);
        }
        match self.reader.read_on() {
            Ok(true) => {}
            Ok(false) => {
                self.ended = true;
                self.table.finish();
            }
            Err(error) => {
                self.failed = true;
                return Err(error);
            }
        }
        Ok(true)
    }

    fn handle_record(&mut self, record: &FlowRecord) -> Result<(), FlowError> {
        if record.event == Some(FirewallEvent::Denied) {
            self.table.facts.denied += 1;
            return Ok(());
        }
        if !self.options.allow_sampled {
            let kind = match record.sampling {
                Sampling::Unknown => Some(FlowErrorKind::UnknownSampling),
                sampling => sampling
                    .interval()
                    .filter(|interval| *interval > self.options.most_sampling)
                    .map(|interval| FlowErrorKind::Sampled { interval, most: self.options.most_sampling }),
            };
            if let Some(kind) = kind {
                let input = self.facts().inputs.get(record.observed.input as usize);
                let file = input.map(|input| input.name.clone()).unwrap_or_default();
                // Of a capture packets are numbered, and a record does not know its packet.
                let message = input.filter(|input| input.kind != Kind::Capture).map(|input| input.messages);
                return Err(FlowError::Messages { file, message, offset: None, kind });
            }
        }
        self.table.handle_record(record);
        Ok(())
    }
}

impl Iterator for Vectors {
    type Item = Result<ConnectionVector, FlowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.poll_vector() {
                Ok(None) => {}
                due => return due.transpose(),
            }
            match self.read_on() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
