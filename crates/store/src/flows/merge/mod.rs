//! From flow records to connections: halves paired, slices joined, double reports left out, sampling undone.
//!
//! `docs/reference/flows.md` states the rules and what they cannot know.

mod connection;
mod facts;
mod span;
mod table;
mod vector;

use flowloom_core::workload::ConnectionVector;

use super::error::{FlowError, FlowErrorKind};
use super::facts::{FlowFacts, Kind};
use super::reader::Reader;
use super::record::{FirewallEvent, FlowRecord, Sampling};
pub use facts::{MergeFacts, MergeOptions};
use table::Table;

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
