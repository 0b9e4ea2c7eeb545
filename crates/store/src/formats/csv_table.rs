//! CSV: a row per connection, which is read back, or a row per ADU, for spreadsheets.

use std::io::{self, Write};

use csv::{ReaderBuilder, StringRecord, Writer};
use flowloom_core::workload::ConnectionVector;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::{Flaw, FormatError};
use super::limits::MOST_ADUS;
use super::lines::Lines;
use super::notes::Notes;
use super::read_vectors::ReadVectors;
use super::stored::{StoredAdu, StoredDatagram, StoredDelay, StoredLoss, StoredPause, StoredSynRepeat, StoredVector};

/// Whether `head` begins one of the two forms; another program may have put names in quotation marks.
pub(super) fn begins(head: &[u8]) -> bool {
    let start = head.iter().copied().filter(|byte| *byte != b'"').take(12);
    start.eq(b"id,start_ns,".iter().copied())
}

/// The columns of a connection but its ends and ADUs; the first two tell the format.
const CONNECTION: [&str; 17] = [
    "id",
    "start_ns",
    "label_subset",
    "label_id",
    "protocol",
    "ip_version",
    "evidence",
    "initiator_side",
    "initiator_rule",
    "pattern",
    "complete",
    "handshake_repeated",
    "syn_rtt_ns",
    "stated_rtt_ns",
    "lifetime_ns",
    "close",
    "t_close_ns",
];
/// The columns of an end, each behind `initiator_` or `acceptor_`.
const END: [&str; 33] = [
    "host_number",
    "address",
    "port",
    "syn_seen",
    "rst_seen",
    "mss_bytes",
    "max_window_bytes",
    "max_window_unscaled_bytes",
    "window_scale",
    "sack",
    "timestamps",
    "ecn",
    "min_transit_ns",
    "lead_in_ns",
    "fin_wait_ns",
    "packets",
    "ip_bytes",
    "bare_acks",
    "oversized_segments",
    "smallest_datagram_bytes",
    "largest_datagram_bytes",
    "stated_loss_ppm",
    "first_flight_bytes",
    "rate",
    "nagle",
    "quick_acks",
    "prompt_acks",
    "prompt_ack_segments",
    "carried_acks",
    "ack_delay_ns",
    "transit_q10_ns",
    "transit_q50_ns",
    "transit_q90_ns",
];
/// The counts of segments of an end, behind those: all of them are filled, or none.
const SEGMENTS: [&str; 19] = [
    "data_segments",
    "duplicate_segments",
    "late_segments",
    "lost_before_segments",
    "uncaptured_segments",
    "duplicate_timeout_segments",
    "duplicate_fast_segments",
    "duplicate_other_segments",
    "duplicate_spurious_segments",
    "duplicate_copy_segments",
    "duplicate_unknown_segments",
    "lost_before_timeout_segments",
    "lost_before_fast_segments",
    "lost_before_other_segments",
    "keep_alive_segments",
    "window_probe_segments",
    "missing_bytes",
    "missing_acked_bytes",
    "unacked_bytes",
];
/// The members of an ADU, in the order in which the column `adus` lists them.
const ADU: [&str; 8] =
    ["side", "bytes", "missing_bytes", "wait_ns", "waiter", "first_seen_ns", "last_seen_ns", "packets"];
/// The columns of lists behind the ADUs, which tables of version 1 lack, and the members of their records.
const LISTS: [&str; 11] = [
    "initiator_pauses",
    "acceptor_pauses",
    "initiator_read_pauses",
    "acceptor_read_pauses",
    "initiator_datagrams",
    "acceptor_datagrams",
    "syn_repeats",
    "initiator_losses",
    "acceptor_losses",
    "initiator_delays",
    "acceptor_delays",
];
const PAUSE: [&str; 3] = ["after_bytes", "length_ns", "heard_bytes"];
const DATAGRAM: [&str; 2] = ["bytes", "gap_ns"];
const SYN_REPEAT: [&str; 3] = ["side", "wait_ns", "answer"];
const LOSS: [&str; 5] = ["after_bytes", "bytes", "copy", "before_monitor", "repaired_ns"];
const DELAY: [&str; 2] = ["from_bytes", "delay_ns"];
/// Columns that hold words; those below hold truth values, all others numbers.
const WORDS: [&str; 11] = [
    "protocol",
    "ip_version",
    "evidence",
    "initiator_side",
    "initiator_rule",
    "pattern",
    "close",
    "address",
    "side",
    "waiter",
    "answer",
];
const TRUTHS: [&str; 9] =
    ["complete", "handshake_repeated", "syn_seen", "rst_seen", "sack", "timestamps", "ecn", "before_monitor", "nagle"];
/// Longest row: a connection of a million ADUs.
const MOST_LINE_BYTES: usize = 256 << 20;

/// What a row of CSV is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rows {
    /// A connection; its ADUs are in one column.
    #[default]
    Connections,
    /// An ADU, with its connection's number, start and epoch.
    Adus,
}

/// Writes CSV.
pub struct CsvWriter<W: Write> {
    out: Writer<W>,
    rows: Rows,
    notes: Notes,
}

impl<W: Write> CsvWriter<W> {
    /// Starts a table with its header.
    ///
    /// # Errors
    /// `out`'s.
    pub fn new(out: W, rows: Rows) -> io::Result<CsvWriter<W>> {
        let mut out = Writer::from_writer(out);
        match rows {
            Rows::Connections => out.write_record(columns())?,
            Rows::Adus => out.write_record(["id", "start_ns", "adu", "epoch"].iter().chain(&ADU))?,
        }
        Ok(CsvWriter { out, rows, notes: Notes::default() })
    }

    /// Adds a connection.
    ///
    /// # Errors
    /// `out`'s.
    pub fn write(&mut self, vector: &ConnectionVector) -> io::Result<()> {
        self.notes.vectors += 1;
        let stored = StoredVector::from(vector);
        match self.rows {
            Rows::Connections => self.out.write_record(fields(stored)?)?,
            Rows::Adus => {
                // Concurrent ends have no epochs.
                let mut epochs = vector.epochs().enumerate().flat_map(|(index, epoch)| {
                    let adus = usize::from(epoch.request.is_some()) + usize::from(epoch.response.is_some());
                    std::iter::repeat_n(index, adus)
                });
                for (index, adu) in stored.adus.iter().enumerate() {
                    let place = [
                        stored.id.to_string(),
                        stored.start_ns.to_string(),
                        index.to_string(),
                        epochs.next().map_or_else(String::new, |epoch| epoch.to_string()),
                    ];
                    let members = serde_json::to_value(adu)?;
                    self.out.write_record(place.into_iter().chain(ADU.map(|name| text(&members[name]))))?;
                }
            }
        }
        Ok(())
    }

    /// Completes the table.
    ///
    /// # Errors
    /// `out`'s.
    pub fn finish(self) -> io::Result<(W, Notes)> {
        let mut out = self.out.into_inner().map_err(|error| error.into_error())?;
        out.flush()?;
        Ok((out, self.notes))
    }
}

/// The header of the table of connections.
fn columns() -> Vec<String> {
    let ends = ["initiator", "acceptor"]
        .into_iter()
        .flat_map(|end| END.iter().chain(&SEGMENTS).map(move |name| format!("{end}_{name}")));
    CONNECTION
        .map(str::to_owned)
        .into_iter()
        .chain(ends)
        .chain(["adus".to_owned()])
        .chain(LISTS.map(str::to_owned))
        .collect()
}

/// A value as it stands in a field; nothing where nothing is known.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn fields(mut stored: StoredVector) -> io::Result<Vec<String>> {
    let adus = listed(&ADU, std::mem::take(&mut stored.adus))?;
    let pauses = pauses_of(&mut stored).map(|pauses| listed(&PAUSE, pauses.take().unwrap_or_default()));
    let datagrams = [&mut stored.initiator_datagrams, &mut stored.acceptor_datagrams]
        .map(|datagrams| listed(&DATAGRAM, datagrams.take().unwrap_or_default()));
    let syn_repeats = listed(&SYN_REPEAT, stored.syn_repeats.take().unwrap_or_default())?;
    let losses = [&mut stored.initiator_losses, &mut stored.acceptor_losses]
        .map(|losses| listed(&LOSS, losses.take().unwrap_or_default()));
    let delays = [&mut stored.initiator_delays, &mut stored.acceptor_delays]
        .map(|delays| listed(&DELAY, delays.take().unwrap_or_default()));
    let value = serde_json::to_value(stored)?;
    let mut fields: Vec<String> = CONNECTION.iter().map(|name| text(&value[*name])).collect();
    for end in ["initiator", "acceptor"] {
        fields.extend(END.iter().map(|name| text(&value[end][*name])));
        fields.extend(SEGMENTS.iter().map(|name| text(&value[end]["segments"][*name])));
    }
    fields.push(adus);
    let lists = pauses.into_iter().chain(datagrams).chain([Ok(syn_repeats)]).chain(losses).chain(delays);
    for list in lists {
        fields.push(list?);
    }
    Ok(fields)
}

/// What the columns of pauses hold, in their order.
fn pauses_of(stored: &mut StoredVector) -> [&mut Option<Vec<StoredPause>>; 4] {
    let StoredVector { initiator_pauses, acceptor_pauses, initiator_read_pauses, acceptor_read_pauses, .. } = stored;
    [initiator_pauses, acceptor_pauses, initiator_read_pauses, acceptor_read_pauses]
}

/// Records as one field. There may be millions: each is taken apart by itself.
fn listed<T: Serialize>(names: &[&str], records: Vec<T>) -> io::Result<String> {
    let mut items = Vec::with_capacity(records.len());
    for record in records {
        let value = serde_json::to_value(record)?;
        items.push(names.iter().map(|name| text(&value[*name])).collect::<Vec<_>>().join(":"));
    }
    Ok(items.join(" "))
}

/// Reads the table of connections.
pub(super) struct CsvReader {
    lines: Lines,
    notes: Notes,
}

/// Reads the vectors of a table in memory.
///
/// # Errors
/// If the header or a row is damaged.
pub fn read(text: &[u8]) -> Result<Vec<ConnectionVector>, FormatError> {
    CsvReader::new(Lines::of("vectors", text)?)?.read_all()
}

impl CsvReader {
    /// Reads the header of `lines`.
    pub(crate) fn new(mut lines: Lines) -> Result<CsvReader, FormatError> {
        const EXPECTED: &str = "the header that flowloom writes, all columns in its order";
        if !lines.advance(MOST_LINE_BYTES)? {
            return Err(FormatError::Foreign {
                file: lines.file().to_owned(),
                problem: "the file is empty".to_owned(),
            });
        }
        let header = split(lines.text()?).map_err(|flaw| lines.flaw(&flaw))?;
        if header.iter().skip(2).take(2).eq(["adu", "epoch"]) {
            return Err(FormatError::Foreign {
                file: lines.file().to_owned(),
                problem:
                    "this table has a row per ADU, which does not hold all of a connection; give the one with a row \
                          per connection"
                        .to_owned(),
            });
        }
        let columns = columns();
        let is_whole = |columns: &[String]| header.iter().eq(columns.iter().map(String::as_str));
        if !is_whole(&columns) && !is_whole(&columns[..columns.len() - LISTS.len()]) {
            return Err(lines.flaw(&Flaw::new("other columns than a table of connections has", EXPECTED)));
        }
        Ok(CsvReader { lines, notes: Notes::default() })
    }
}

impl ReadVectors for CsvReader {
    fn read_next(&mut self) -> Result<Option<ConnectionVector>, FormatError> {
        while self.lines.advance(MOST_LINE_BYTES)? {
            if self.lines.bytes().trim_ascii().is_empty() {
                continue;
            }
            let vector = split(self.lines.text()?).and_then(|record| vector(&record));
            self.notes.vectors += 1;
            return vector.map(Some).map_err(|flaw| self.lines.flaw(&flaw));
        }
        Ok(None)
    }

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }
}

/// The fields of a line. Lines are split first, so that a stray quotation mark spoils one row and not the rest.
fn split(line: &str) -> Result<StringRecord, Flaw> {
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line.as_bytes());
    let mut record = StringRecord::new();
    match reader.read_record(&mut record) {
        Ok(_) => Ok(record),
        Err(error) => Err(Flaw::new(error.to_string(), "comma-separated fields")),
    }
}

/// The vector of a row.
fn vector(record: &StringRecord) -> Result<ConnectionVector, Flaw> {
    let earlier = CONNECTION.len() + 2 * (END.len() + SEGMENTS.len()) + 1;
    let width = earlier + LISTS.len();
    if record.len() != width && record.len() != earlier {
        let problem = format!("{} fields, and the header names {width}", record.len());
        return Err(Flaw::new(problem, "one value per column; was the row cut?"));
    }
    let mut rest = record.iter();
    let mut members = record_of(&CONNECTION, rest.by_ref().take(CONNECTION.len()))?;
    for end in ["initiator", "acceptor"] {
        let mut of_end = record_of(&END, rest.by_ref().take(END.len()))?;
        let segments = record_of(&SEGMENTS, rest.by_ref().take(SEGMENTS.len()))?;
        if !segments.is_empty() {
            of_end.insert("segments".to_owned(), Value::Object(segments));
        }
        members.insert(end.to_owned(), Value::Object(of_end));
    }
    members.insert("adus".to_owned(), Value::Array(Vec::new()));
    let mut stored: StoredVector = value_of(members)?;
    stored.adus = adus(rest.next().unwrap_or_default())?;
    for of_end in pauses_of(&mut stored) {
        *of_end = pauses(rest.next().unwrap_or_default())?;
    }
    stored.initiator_datagrams = datagrams(rest.next().unwrap_or_default())?;
    stored.acceptor_datagrams = datagrams(rest.next().unwrap_or_default())?;
    stored.syn_repeats = syn_repeats(rest.next().unwrap_or_default())?;
    stored.initiator_losses = losses(rest.next().unwrap_or_default())?;
    stored.acceptor_losses = losses(rest.next().unwrap_or_default())?;
    stored.initiator_delays = delays(rest.next().unwrap_or_default())?;
    stored.acceptor_delays = delays(rest.next().unwrap_or_default())?;
    stored.vector()
}

/// The record that has these members.
fn value_of<T: DeserializeOwned>(members: Map<String, Value>) -> Result<T, Flaw> {
    serde_json::from_value(Value::Object(members))
        .map_err(|error| Flaw::new(error.to_string(), "values as docs/reference/formats.md describes them"))
}

/// The named members of a part of a row; empty fields are left out.
fn record_of<'a>(names: &[&str], values: impl Iterator<Item = &'a str>) -> Result<Map<String, Value>, Flaw> {
    let mut members = Map::new();
    for (name, text) in names.iter().zip(values).filter(|(_, text)| !text.is_empty()) {
        let value = if WORDS.contains(name) {
            Value::String(text.to_owned())
        } else if TRUTHS.contains(name) {
            let truth = text.parse::<bool>();
            Value::Bool(truth.map_err(|_| Flaw::new(format!("{name} is \"{text}\""), "true or false"))?)
        } else {
            let number = text.parse::<u64>();
            Value::from(number.map_err(|_| Flaw::new(format!("{name} is \"{text}\""), "a whole number from 0"))?)
        };
        members.insert((*name).to_owned(), value);
    }
    Ok(members)
}

fn adus(text: &str) -> Result<Vec<StoredAdu>, Flaw> {
    const EXPECTED: &str =
        "SIDE:BYTES:MISSING_BYTES:WAIT_NS:WAITER:FIRST_SEEN_NS:LAST_SEEN_NS:PACKETS, with blanks between ADUs";
    if text.split_ascii_whitespace().nth(MOST_ADUS).is_some() {
        return Err(Flaw::new(format!("a connection of more than {MOST_ADUS} ADUs"), ""));
    }
    list(text, &ADU, "an ADU", EXPECTED)
}

/// The pauses in a column, if there are any.
fn pauses(text: &str) -> Result<Option<Vec<StoredPause>>, Flaw> {
    some_of(text, &PAUSE, "a pause", "AFTER_BYTES:LENGTH_NS:HEARD_BYTES, with blanks between pauses")
}

/// The SYNs that were sent again in a column, if there are any.
fn syn_repeats(text: &str) -> Result<Option<Vec<StoredSynRepeat>>, Flaw> {
    some_of(text, &SYN_REPEAT, "a repeated SYN", "SIDE:WAIT_NS:ANSWER, with blanks between them")
}

/// The lost segments in a column, if there are any.
fn losses(text: &str) -> Result<Option<Vec<StoredLoss>>, Flaw> {
    some_of(text, &LOSS, "a loss", "AFTER_BYTES:BYTES:COPY:BEFORE_MONITOR:REPAIRED_NS, with blanks between losses")
}

/// The records that a field lists, if there are any.
fn some_of<T: DeserializeOwned>(
    text: &str,
    names: &[&str],
    what: &str,
    expected: &'static str,
) -> Result<Option<Vec<T>>, Flaw> {
    if text.split_ascii_whitespace().nth(MOST_ADUS).is_some() {
        return Err(Flaw::new(format!("a list of more than {MOST_ADUS}, each {what}"), ""));
    }
    let records = list(text, names, what, expected)?;
    Ok((!records.is_empty()).then_some(records))
}

/// The datagrams in a column, if there are any.
fn datagrams(text: &str) -> Result<Option<Vec<StoredDatagram>>, Flaw> {
    some_of(text, &DATAGRAM, "a datagram", "BYTES:GAP_NS, with blanks between datagrams")
}

/// The delays in a column, if there are any.
fn delays(text: &str) -> Result<Option<Vec<StoredDelay>>, Flaw> {
    if text.split_ascii_whitespace().nth(MOST_ADUS).is_some() {
        return Err(Flaw::new(format!("an end with more than {MOST_ADUS} delays"), ""));
    }
    let delays = list(text, &DELAY, "a delay", "FROM_BYTES:DELAY_NS, with blanks between delays")?;
    Ok((!delays.is_empty()).then_some(delays))
}

/// The records that a field lists.
fn list<T: DeserializeOwned>(text: &str, names: &[&str], what: &str, expected: &'static str) -> Result<Vec<T>, Flaw> {
    let record = |item: &str| {
        if item.split(':').count() != names.len() {
            return Err(Flaw::new(format!("{what} is \"{item}\""), expected));
        }
        value_of(record_of(names, item.split(':'))?)
    };
    text.split_ascii_whitespace().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::super::stored::{StoredEnd, StoredSegments};
    use super::*;

    #[test]
    fn too_many_adus_are_refused_before_they_take_memory() {
        let flaw = adus(&"x ".repeat(MOST_ADUS + 1)).unwrap_err();
        assert_eq!(flaw.problem, "a connection of more than 4194304 ADUs");
        assert!(adus(&"x ".repeat(MOST_ADUS)).unwrap_err().problem.contains("an ADU is \"x\""));
    }

    /// A field added to a record must become a column.
    #[test]
    fn the_columns_are_the_members() {
        let end = StoredEnd {
            host_number: Some(1),
            address: Some("::1".parse().unwrap()),
            port: Some(1),
            syn_seen: true,
            rst_seen: true,
            mss_bytes: Some(1),
            max_window_bytes: Some(1),
            max_window_unscaled_bytes: Some(1),
            window_scale: Some(1),
            sack: Some(true),
            timestamps: Some(true),
            ecn: Some(true),
            min_transit_ns: Some(1),
            lead_in_ns: Some(1),
            fin_wait_ns: Some(1),
            packets: Some(1),
            ip_bytes: Some(1),
            bare_acks: Some(1),
            oversized_segments: Some(1),
            smallest_datagram_bytes: Some(1),
            largest_datagram_bytes: Some(1),
            stated_loss_ppm: Some(1),
            first_flight_bytes: Some(1),
            rate: Some(1),
            nagle: Some(true),
            quick_acks: Some(1),
            prompt_acks: Some(1),
            prompt_ack_segments: Some(1),
            carried_acks: Some(1),
            ack_delay_ns: Some(1),
            transit_q10_ns: Some(1),
            transit_q50_ns: Some(1),
            transit_q90_ns: Some(1),
            segments: None,
        };
        let adu = StoredAdu {
            side: String::new(),
            bytes: 1,
            missing_bytes: Some(1),
            waiter: String::new(),
            wait_ns: Some(1),
            first_seen_ns: Some(1),
            last_seen_ns: Some(1),
            packets: Some(1),
        };
        let vector = StoredVector {
            ip_version: Some(String::new()),
            label_subset: Some(1),
            label_id: Some(1),
            syn_rtt_ns: Some(1),
            stated_rtt_ns: Some(1),
            lifetime_ns: Some(1),
            t_close_ns: Some(1),
            ..StoredVector::default()
        };
        let names = |value: Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let sorted = |names: &[&str], more: &[&str]| {
            let mut all: Vec<String> = names.iter().chain(more).map(|name| (*name).to_owned()).collect();
            all.sort();
            all
        };
        assert_eq!(names(serde_json::to_value(end).unwrap()), sorted(&END, &[]));
        assert_eq!(names(serde_json::to_value(adu).unwrap()), sorted(&ADU, &[]));
        assert_eq!(names(serde_json::to_value(StoredSegments::default()).unwrap()), sorted(&SEGMENTS, &[]));
        let parts = ["initiator", "acceptor", "adus"];
        assert_eq!(names(serde_json::to_value(vector).unwrap()), sorted(&CONNECTION, &parts));
    }
}
