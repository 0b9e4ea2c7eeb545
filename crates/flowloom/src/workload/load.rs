//! Any input as a workload: vectors sorted by start, and what is known of the original. Memory is bounded: what has to
//! be sorted and does not fit waits on disk.

use std::path::{Path, PathBuf};

use flowloom_core::extract::Prefix;
use flowloom_core::play::{Correction, Waits};
use flowloom_core::time::Time;
use flowloom_core::wire::Address;
use flowloom_core::workload::{Adu, ConnectionVector, Evidence, Host, LinkSide, Pattern, Side};
use flowloom_store::addresses::AddressBook;
use flowloom_store::capture::Input;
use flowloom_store::flows::{self, FlowError, FlowFacts, MergeFacts, MergeOptions};
use flowloom_store::formats::{Clock, Format, FormatError, Notes, Sorted, Sorter, Tally, VectorFile};
use flowloom_store::workload::{InputFile, Provenance, WorkloadFacts, WorkloadReader};

use crate::context::{Context, Step, Stop};
use crate::error::Error;
use crate::extraction::{self, CaptureOptions, IDLE_TIMEOUT};
use crate::finding::FlowFinding;
use crate::input::Kind;
use crate::warning::Warning;
use crate::workload::hosts::{self, HostOptions};

/// Between two looks at signals and clocks, in vectors or messages of flow records.
const ROUND: u64 = 1_024;

/// A workload about to be read.
pub struct Loaded {
    /// What it says about itself; the number of connections is that of `vectors`.
    pub facts: WorkloadFacts,
    /// What the user should know about reading it, each with its remedy; beside those of the facts.
    pub warnings: Vec<Warning>,
    /// What was to be known when it was made, of a workload that says so.
    stored: Vec<Warning>,
    /// The connections.
    pub vectors: Vectors,
}

/// Connections in the order of their starts, with what is kept of their hosts.
pub struct Vectors {
    source: Source,
    hosts: AddressBook,
    /// Prefixes on the left of the link, for vectors whose addresses tell their side.
    inside: Vec<Prefix>,
    read: u64,
    stop: Stop,
}

enum Source {
    File(Box<WorkloadReader>),
    Sorted(Box<Sorted>),
}

impl Iterator for Vectors {
    type Item = Result<ConnectionVector, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read += 1;
        if self.read.is_multiple_of(ROUND) && self.stop.is_requested() {
            return Some(Err(Error::stopped()));
        }
        let next = match &mut self.source {
            Source::File(reader) => reader.next()?.map_err(Error::new),
            Source::Sorted(sorted) => sorted.next()?.map_err(unreadable),
        };
        Some(next.map(|mut vector| {
            if let Some(side) = initiator_side(&vector, &self.inside) {
                vector.initiator_side = side;
            }
            self.hosts.label(&mut vector);
            vector
        }))
    }
}

/// The side of the link that the initiator is on, if `inside` tells.
fn initiator_side(vector: &ConnectionVector, inside: &[Prefix]) -> Option<LinkSide> {
    let is_inside = |side: Side| match vector.ends[side].host {
        Some(Host::Address(address)) => Some(inside.iter().any(|prefix| prefix.contains(Address::new(address, 0)))),
        Some(Host::Number(_)) | None => None,
    };
    match (is_inside(Side::Initiator)?, is_inside(Side::Acceptor)?) {
        (true, false) => Some(LinkSide::Left),
        (false, true) => Some(LinkSide::Right),
        // Both ends on one side: the prefixes do not say which way the link was crossed.
        (true, true) | (false, false) => None,
    }
}

/// Counts the connections of flow records whose side of the link nothing tells.
fn count_unknown_sides(vector: &ConnectionVector, inside: &[Prefix], unknown: &mut u64) {
    *unknown += u64::from(vector.evidence == Evidence::FlowRecord && initiator_side(vector, inside).is_none());
}

/// Opens `paths`, all of which are of `kind`: reads all of them, unless there is one and it is sorted. What has to wait
/// and does not fit in memory goes to temporary files in `scratch`.
///
/// # Errors
/// What is wrong with them, and inputs that do not go together.
pub fn open(
    paths: &[PathBuf],
    kind: Kind,
    capture: &CaptureOptions,
    hosts: &HostOptions,
    scratch: &Path,
    context: Context<'_>,
) -> Result<Loaded, Error> {
    let own_files = matches!(kind, Kind::Workload | Kind::Vectors(Format::Csv | Format::JsonLines));
    let book = hosts::book(hosts, own_files, context)?;
    if let (true, [_, second, ..]) = (own_files, paths) {
        return Err(Error::usage(format_args!(
            "{}: workloads of Flowloom are counted from their own beginnings and cannot be put together",
            second.display()
        ))
        .hint("give them one by one, or extract their captures together"));
    }
    capture.check()?;
    let inside = extraction::inside(capture)?;
    let mut loaded = match kind {
        Kind::Workload => workload(&paths[0])?,
        Kind::Vectors(format) => vector_files(paths, format, capture.anonymize, &inside, scratch, context)?,
        Kind::Flows => flow_records(paths, capture, &inside, scratch, context)?,
        Kind::Capture => captures(paths, capture, scratch, context)?,
        Kind::Experiment | Kind::Specification | Kind::RunFolder => {
            return Err(Error::usage(format_args!("{}: this holds no vectors", paths[0].display()))
                .hint("give a capture, a workload or another file of vectors"));
        }
    };
    loaded.vectors.hosts = book;
    loaded.vectors.stop = context.stop().clone();
    if matches!(kind, Kind::Flows | Kind::Vectors(Format::Zeek)) {
        loaded.vectors.inside = inside;
    }
    let unknown = loaded.facts.capture.unknown_side_connections;
    if unknown > 0 && !own_files && kind != Kind::Capture {
        loaded.warnings.push(Warning::UnknownSide { vectors: unknown, given: !capture.inside.is_empty() });
    }
    if !own_files || hosts.keep.is_some() {
        hosts::note(hosts, &mut loaded.facts.provenance);
    }
    if capture.anonymize {
        loaded.facts.anonymize();
    }
    if kind != Kind::Capture {
        let stored = loaded.facts.capture.warnings.iter();
        loaded.stored = stored.map(|text| Warning::Stored { text: text.clone() }).collect();
    }
    let told = loaded.warnings.iter().map(Warning::to_string);
    loaded.facts.capture.warnings.extend(told);
    Ok(loaded)
}

/// Whether a wait that is replayed contains a transit that would be taken out if the vector told it (methods A.5.10), or that nobody asks
/// to take out although short waits are replayed too. Of a capture that is rare; a file of another tool never tells it.
pub fn keeps_transit(vector: &ConnectionVector, waits: Waits) -> bool {
    let keeps = |pair: &[Adu]| {
        let raw = pair[0].wait.unwrap_or_default();
        let answers = pair[0].side != pair[1].side && vector.ends[pair[1].side].min_transit.is_none();
        answers && !waits.replayed(raw, None).is_zero()
    };
    (waits.correct == Correction::Ostt || waits.min.is_zero())
        && vector.evidence == Evidence::VectorFile
        && vector.pattern == Pattern::Sequential
        && vector.adus.windows(2).any(keeps)
}

impl Loaded {
    fn new(facts: WorkloadFacts, warnings: Vec<Warning>, source: Source) -> Loaded {
        Loaded {
            facts,
            warnings,
            stored: Vec::new(),
            vectors: Vectors { source, hosts: AddressBook::default(), inside: Vec::new(), read: 0, stop: Stop::new() },
        }
    }

    /// Whether there is anything that the user should know.
    pub fn has_warnings(&self) -> bool {
        !self.stored.is_empty() || !self.warnings.is_empty()
    }

    /// Says what the user should know, for commands whose answer does not hold it.
    pub fn warn(&self, context: Context<'_>) {
        self.stored.iter().chain(&self.warnings).for_each(|warning| context.warn(warning));
    }
}

/// An error in a file of vectors as the user sees it.
pub fn unreadable(error: FormatError) -> Error {
    let hint = error.hint();
    Error::new(error).hint_if(hint)
}

fn provenance(inputs: Vec<InputFile>) -> Provenance {
    Provenance { tool: concat!("flowloom ", env!("CARGO_PKG_VERSION")).to_owned(), inputs, ..Provenance::default() }
}

fn workload(path: &Path) -> Result<Loaded, Error> {
    if path.as_os_str() == "-" {
        return Err(Error::usage("a workload is read from its end, which standard input does not have")
            .hint("name the file, or hand on its vectors with convert -o - --to jsonl"));
    }
    let reader = WorkloadReader::open(path).map_err(Error::new)?;
    Ok(Loaded::new(reader.facts().clone(), Vec::new(), Source::File(Box::new(reader))))
}

fn vector_files(
    paths: &[PathBuf],
    format: Format,
    anonymize: bool,
    inside: &[Prefix],
    scratch: &Path,
    context: Context<'_>,
) -> Result<Loaded, Error> {
    // Tmix files of either spelling go together; each says which it is.
    let asked = if matches!(format, Format::Tmix(_)) { None } else { Some(format) };
    let total = total_bytes(paths);
    let progress = context.begin(Step::Reading, total);
    let (mut sorter, mut tally, mut done, mut unknown) = (Sorter::in_folder(scratch), Tally::default(), 0, 0);
    let (mut clock, mut stated) = (Clock::Relative, None);
    let (mut inputs, mut notes, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    let interrupt = context.interrupt();
    // One is open at a time: there may be thousands.
    for path in paths {
        let unreadable = |error| if interrupt.has_cut() { Error::stopped() } else { unreadable(error) };
        let input = Input::from_argument(path.clone());
        let mut file = VectorFile::open_until(&input, asked, &interrupt).map_err(unreadable)?;
        while let Some(vector) = file.next() {
            let vector = vector.map_err(unreadable)?;
            tally.add(&vector);
            count_unknown_sides(&vector, inside, &mut unknown);
            sorter.push(vector).map_err(unreadable)?;
            if sorter.len().is_multiple_of(ROUND) {
                progress.set(done + file.bytes_read());
                end_if_stopped(context)?;
            }
        }
        done += file.bytes_read();
        clock = file.clock();
        stated = file.facts().cloned();
        inputs.push(file.input_file().map_err(unreadable)?);
        warnings.extend(of_notes(file.notes(), (!anonymize).then(|| file.name())));
        notes.push(file.notes().clone());
    }
    let origin = match clock {
        Clock::Relative => Time::ZERO,
        Clock::Absolute => tally.first().unwrap_or(Time::ZERO),
    };
    let counted = tally.facts(origin, provenance(inputs), &notes);
    let mut facts = match stated {
        Some(WorkloadFacts { provenance, capture, .. }) => WorkloadFacts { provenance, capture, ..counted },
        None => counted,
    };
    if clock == Clock::Absolute {
        facts.capture.first_packet_unix_ns = tally.first().map(|first| first.as_nanos());
        facts.capture.unknown_side_connections = unknown;
    }
    let sorted = sorter.finish(origin).map_err(unreadable)?;
    Ok(Loaded::new(facts, warnings, Source::Sorted(Box::new(sorted))))
}

/// What `notes` say, with the file where there are lines to point at; without one if names are to be left out.
pub fn of_notes(notes: &Notes, file: Option<&str>) -> Vec<Warning> {
    let told = notes.remarks.iter().map(|(remark, found)| {
        let line = Some(found.first_line).filter(|line| *line > 0);
        let first = file.zip(line).map(|(file, line)| (file.to_owned(), line));
        Warning::Format { remark: *remark, count: found.count, first }
    });
    told.collect()
}

fn flow_records(
    paths: &[PathBuf],
    capture: &CaptureOptions,
    inside: &[Prefix],
    scratch: &Path,
    context: Context<'_>,
) -> Result<Loaded, Error> {
    let interrupt = context.interrupt();
    let failed = |error: FlowError| {
        if interrupt.has_cut() {
            return Error::stopped();
        }
        let hint = error.hint();
        Error::new(error).hint_if(hint)
    };
    let inputs: Vec<Input> = paths.iter().map(Input::from_argument).collect();
    let reading = flows::Options { truncation: capture.truncation, ..flows::Options::default() };
    let mut merging = MergeOptions {
        active_timeout: capture.active_timeout,
        allow_sampled: capture.allow_sampled,
        keep_one_way: capture.one_way,
        keep_hosts: true,
        ..MergeOptions::default()
    };
    if capture.idle_timeout != IDLE_TIMEOUT {
        merging.idle_timeout = capture.idle_timeout;
    }
    let reader = flows::Reader::open_until(&inputs, reading, &interrupt).map_err(failed)?;
    let mut vectors = flows::Vectors::new(reader, merging);
    let total = total_bytes(paths);
    let progress = context.begin(Step::Reading, total);
    let (mut sorter, mut tally, mut unknown, mut messages) = (Sorter::in_folder(scratch), Tally::default(), 0, 0u64);
    loop {
        while let Some(vector) = vectors.poll_vector().map_err(failed)? {
            tally.add(&vector);
            count_unknown_sides(&vector, inside, &mut unknown);
            sorter.push(vector).map_err(unreadable)?;
        }
        messages += 1;
        if messages.is_multiple_of(ROUND) {
            progress.set(vectors.facts().inputs.iter().map(|input| input.bytes_read).sum());
            end_if_stopped(context)?;
        }
        if !vectors.read_on().map_err(failed)? {
            break;
        }
    }
    let (read, merged) = (vectors.facts(), vectors.merge_facts());
    let inputs = read.inputs.iter().map(|input| InputFile {
        name: Some(input.name.clone()),
        sha256: input.sha256.clone().unwrap_or_default(),
        bytes: input.bytes_read,
    });
    let mut facts = tally.facts(Time::ZERO, provenance(inputs.collect()), &[]);
    facts.capture.first_packet_unix_ns = vectors.first_unix_ns();
    facts.capture.unknown_side_connections = unknown;
    let connections = &mut facts.capture.connections;
    connections.total = merged.connections;
    (connections.no_data, connections.one_way) = (merged.no_data, merged.one_way);
    for (reason, count) in [
        ("connections-no-data", merged.no_data),
        ("connections-one-way", merged.one_way),
        ("connections-uncounted", merged.uncounted),
    ] {
        if count > 0 {
            facts.capture.set_aside.insert(reason.to_owned(), count);
        }
    }
    let warnings = of_flows(read, merged, capture.anonymize);
    let sorted = sorter.finish(Time::ZERO).map_err(unreadable)?;
    Ok(Loaded::new(facts, warnings, Source::Sorted(Box::new(sorted))))
}

/// What the user should know about flow records, without names of files where these are to be left out.
fn of_flows(read: &FlowFacts, merged: &MergeFacts, anonymize: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if read.malformed > 0 {
        let first = read.problems.first().map(|problem| {
            let file = match read.inputs.get(problem.input) {
                _ if anonymize => format!("input {}", problem.input + 1),
                input => input.map_or_else(String::new, |input| input.name.clone()),
            };
            (file, problem.clone())
        });
        warnings.push(Warning::MalformedFlowMessages { count: read.malformed, first });
    }
    let found = |finding, count| (count > 0).then_some(Warning::FlowRecords { finding, count });
    let of_messages = [
        (FlowFinding::MissingTemplates, read.sets_without_template),
        (FlowFinding::LostMessages, read.lost.total()),
        (FlowFinding::CutMessages, read.messages_cut),
        (FlowFinding::TooManyExporters, read.messages_refused),
    ];
    warnings.extend(of_messages.into_iter().filter_map(|(finding, count)| found(finding, count)));
    if read.inputs.iter().any(|input| input.truncated) {
        warnings.push(Warning::CutFlowFile);
    }
    let of_records = [
        (FlowFinding::UnknownSampling, read.unknown_sampling_records),
        (FlowFinding::LateSampling, read.records_before_sampling),
        (FlowFinding::ScaledCounts, merged.scaled),
        (FlowFinding::RoughTimes, read.estimated_times + read.without_times),
        (FlowFinding::EstimatedPayload, merged.estimated_payload),
        (FlowFinding::GuessedInitiator, merged.initiator_port),
        (FlowFinding::TooManyOpen, merged.early),
        (FlowFinding::MovedStarts, merged.moved_starts),
    ];
    warnings.extend(of_records.into_iter().filter_map(|(finding, count)| found(finding, count)));
    warnings
}

fn captures(
    paths: &[PathBuf],
    capture: &CaptureOptions,
    scratch: &Path,
    context: Context<'_>,
) -> Result<Loaded, Error> {
    let (mut sorter, mut tally) = (Sorter::in_folder(scratch), Tally::default());
    // Addresses are decided on when the vectors come out again.
    let mut all = AddressBook::new(flowloom_store::addresses::Keep::Captured);
    let extracted = extraction::vectors(paths, capture, &mut all, scratch, context, |vector| {
        tally.add(&vector);
        sorter.push(vector).map_err(unreadable)
    })?;
    if extracted.interrupted {
        return Err(Error::stopped());
    }
    let counted = tally.facts(Time::ZERO, extracted.provenance(), &[]);
    let facts = WorkloadFacts { capture: extracted.facts(), traffic: extracted.traffic(), ..counted };
    // They are in the facts already.
    extracted.warn(context);
    let sorted = sorter.finish(Time::ZERO).map_err(unreadable)?;
    Ok(Loaded::new(facts, Vec::new(), Source::Sorted(Box::new(sorted))))
}

/// Bytes of all files; `None` where one is a pipe.
fn total_bytes(paths: &[PathBuf]) -> Option<u64> {
    let size = |path: &PathBuf| std::fs::metadata(path).ok().filter(|data| data.is_file()).map(|data| data.len());
    paths.iter().map(size).sum()
}

fn end_if_stopped(context: Context<'_>) -> Result<(), Error> {
    if context.is_stopped() { Err(Error::stopped()) } else { Ok(()) }
}
