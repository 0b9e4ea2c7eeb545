//! What a user should know about a result, with what to do about it.

use std::fmt;
use std::path::PathBuf;

use flowloom_core::extract::{DoubledCounts, Missing};
use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;
use flowloom_core::workload::LinkSide;
use flowloom_live::plan::Doubt;
use flowloom_report::facts::missing_text;
use flowloom_report::fit::harpoon::HarpoonWarning;
use flowloom_report::metric::Unit;
use flowloom_report::words::{counted, thousands};
use flowloom_store::flows::Problem;
use flowloom_store::formats::Remark;
use flowloom_store::workload::{Lacking, PayloadFacts};

use crate::bits::bits;
use crate::capacity::check::LoadCheck;
use crate::extraction::options::Monitor;
use crate::finding::{FlowFinding, Lost, NotModelled, PhaseFinding};
use crate::vcsim::findings::SpecificationFinding;

mod remedy;

/// One thing that a user should know, with its numbers. [`Self::kind`] names it for programs; [`Self::cause`] and
/// [`Self::remedy`] say it, each in a clause without a full stop.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// No packet of a capture is TCP or UDP.
    NoTraffic {
        /// Packets of the capture.
        packets: u64,
        /// Whether only TCP was looked for.
        tcp_only: bool,
    },
    /// A capture holds UDP and no TCP.
    NoTcp,
    /// No connection of a capture can be replayed.
    NothingReplayable,
    /// Many connections began before the capture, or did not end in it.
    ManyIncomplete {
        /// How many of them.
        connections: u64,
        /// How many can be replayed in all.
        replayable: u64,
    },
    /// The capture was hardly made where its options say.
    MonitorDoubtful {
        /// Where they say.
        monitor: Monitor,
        /// Connections whose way to that end is too long for it.
        far: u64,
        /// Connections whose way to that end is known.
        connections: u64,
    },
    /// The side of the link is unknown for some vectors.
    UnknownSide {
        /// Number of vectors.
        vectors: u64,
        /// Prefixes were given, and hold both of their ends or neither.
        given: bool,
    },
    /// The clock of a capture jumps by more than a day.
    ClockJumps {
        /// Number of jumps.
        jumps: u64,
    },
    /// The clock of a capture runs backwards.
    ClockRunsBackwards {
        /// Number of steps back.
        steps: u64,
        /// By how much at most.
        farthest: Duration,
    },
    /// Captures end inside a record.
    CutCapture {
        /// Number of captures.
        files: usize,
    },
    /// The capture lacks payload that was sent.
    MissingBytes {
        /// What it lacks.
        lacking: Lacking,
    },
    /// The capture was taken above a segmentation offload.
    OffloadedCapture {
        /// Captured segments that were several on the link.
        segments: u64,
        /// How many they were there.
        packets: u64,
    },
    /// Captures hold packets more than once.
    CapturedTwice {
        /// Packets that are copies of one shortly before.
        packets: u64,
        /// Their share of the packets of which that can be told.
        share: f64,
    },
    /// Acceptors answered with two number spaces.
    DoubledAcceptors {
        /// Packets of them that were set aside.
        doubled: DoubledCounts,
    },
    /// The kernel lost packets because extraction could not keep up.
    KernelDrops {
        /// Number of packets.
        packets: u64,
    },
    /// The capturing system lost packets.
    CaptureDrops {
        /// Number of packets.
        packets: u64,
    },
    /// A network interface went down.
    InterfaceDown,
    /// Entries of a folder are no captures.
    SkippedEntries {
        /// Number of entries.
        entries: usize,
    },
    /// Connections ended early because memory was full.
    MemoryFull {
        /// Number of connections.
        connections: u64,
    },
    /// Flows of datagrams were cut because memory was full.
    MemoryFullOfDatagrams {
        /// Number of flows.
        flows: u64,
    },
    /// Packets of one end came in two VLANs.
    MixedVlans {
        /// Connections of such ends.
        connections: u64,
    },
    /// The ends of connections are in two VLANs.
    SplitVlans {
        /// Number of connections.
        connections: u64,
    },
    /// Data came long after a connection had closed.
    LateData {
        /// Number of bytes.
        bytes: u64,
    },
    /// Extraction was stopped.
    ExtractionInterrupted {
        /// Packets that were read.
        packets: u64,
    },
    /// The simulation of an internetwork was stopped.
    SimulationInterrupted,
    /// A run was stopped before the last of its seeds.
    SeedsNotBegun {
        /// How many were asked for.
        seeds: usize,
        /// How many were not begun.
        not_begun: usize,
    },
    /// What a run read has changed since the run that it was to repeat.
    InputChanged {
        /// Its name.
        name: String,
    },
    /// Flow records were damaged, incomplete or estimated.
    FlowRecords {
        /// Kind of the finding.
        finding: FlowFinding,
        /// Number of times.
        count: u64,
    },
    /// Messages of flow exporters contradict themselves.
    MalformedFlowMessages {
        /// How many messages and sets.
        count: u64,
        /// The file of the first one, and what is wrong with it.
        first: Option<(String, Problem)>,
    },
    /// A file of flow records was cut off.
    CutFlowFile,
    /// A remark of the reader or the writer of a form of vectors.
    Format {
        /// Kind of the remark.
        remark: Remark,
        /// Number of times.
        count: u64,
        /// The file and the line of the first one, where there are lines.
        first: Option<(String, u64)>,
    },
    /// The form of an output cannot hold all.
    FormatLoses(Lost),
    /// The output holds captured addresses.
    AddressesKept,
    /// The load of a workload is not what was asked for.
    LoadMissed {
        /// The side of the link that it comes from.
        from: LinkSide,
        /// The load in bits of payload per second.
        made: f64,
        /// What was asked for.
        asked: f64,
    },
    /// The load of a workload drifts.
    LoadDrifts {
        /// By what share of the mean its thirds differ.
        share: f64,
    },
    /// A remark about the model that a workload was drawn from.
    Model {
        /// The model's words.
        remark: String,
    },
    /// A remark about the model whose load was calibrated.
    CalibratedModel {
        /// The model's words.
        remark: String,
    },
    /// Something about a fitted Harpoon model.
    FittedHarpoon(HarpoonWarning),
    /// Connections are not in a fitted model.
    LeftOfModel {
        /// Number of connections.
        connections: u64,
        /// Why they are not in it.
        reason: NotModelled,
    },
    /// Phases do not stand for the series they were made of.
    Phases(PhaseFinding),
    /// Something about a specification of an internetwork, or its runs.
    Specification(SpecificationFinding),
    /// A workload is empty.
    Empty,
    /// Several seeds give the same run.
    SeedsAlike,
    /// The variants of an experiment are not run.
    SweepLeftOut,
    /// The seeds draw from so few blocks of a workload that they say little of what else it might have been.
    FewBlocks {
        /// Length of a block.
        length: Duration,
        /// Whole blocks of the workload.
        blocks: u64,
    },
    /// Draws have fewer active connections than the workload that they are of.
    FewerActive {
        /// Their expected mean over that of the workload.
        share: f64,
    },
    /// The workload is too short for blocks that seeds could draw.
    TooShortToDraw {
        /// How long it is.
        length: Duration,
    },
    /// The host may not be able to run it.
    HostDoubtful(Doubt),
    /// A live run needs nearly as much as this host can do, or more.
    NearHostLimit(LoadCheck),
    /// Runs are too short for their heavy tails.
    RunsTooShort,
    /// Datagrams are longer than Ethernet carries.
    JumboDatagrams {
        /// Number of datagrams.
        datagrams: u64,
    },
    /// Only the totals of connections are known, whose datagrams were counted.
    TotalsOnly {
        /// Number of connections.
        connections: u64,
    },
    /// A run goes on for longer than the record that it replays.
    RecordEnds {
        /// When its results were to end.
        asked: Duration,
        /// When they end.
        covered: Duration,
    },
    /// The window of the results begins after the end of the record that is replayed.
    WindowBehindRecord {
        /// When the window begins.
        start: Duration,
        /// When the record ends.
        covered: Duration,
    },
    /// Only the totals of connections are known, which were replayed.
    TotalsReplayed {
        /// Number of connections.
        connections: u64,
    },
    /// A capture of a link could not be written to its end; the run went on.
    CaptureIncomplete {
        /// The name of the file in the run folder.
        name: String,
        /// Why the rest could not be written.
        why: String,
    },
    /// The queue of a planned run may fill, and then holds far more than a network's does.
    DeepLimit {
        /// The queue, in words.
        queue: String,
        /// How long the link takes to send a full queue; `None` if it has no limit.
        time: Option<Duration>,
    },
    /// Waits of another tool's vectors contain a transit that the vectors do not tell (methods A.5.10).
    WaitsNotCorrected {
        /// How many connections.
        connections: u64,
    },
    /// Flows of datagrams were not replayed.
    DatagramsNotReplayed {
        /// Number of flows.
        flows: u64,
        /// Whether they are a capture's.
        of_capture: bool,
    },
    /// Single datagrams of flows are not known, and were sent in equal sizes and gaps.
    DatagramsEvened {
        /// Number of flows.
        flows: u64,
    },
    /// No connection was of a class.
    ClassEmpty {
        /// Name of the class.
        class: String,
    },
    /// Flows of a source did not begin.
    SourceMissed {
        /// Name of the source.
        source: String,
        /// How many flows it has.
        wanted: u64,
        /// How many of them began.
        began: u64,
    },
    /// A queue is to be held at a delay that is shorter than its link takes for a packet and a half.
    ShortTarget {
        /// The link.
        link: String,
        /// The delay.
        target: Duration,
        /// What a full packet and a half take.
        least: Duration,
    },
    /// Probes are a load of their own.
    HeavyProbes {
        /// The link that they take most of.
        link: String,
        /// Of its rate, in one direction.
        share: f64,
    },
    /// The folder of a cell of a sweep is damaged, and the cell is run again.
    CellDamaged {
        /// The folder of the cell.
        cell: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Ends use ECN, and no queue marks.
    NothingMarks,
    /// Connections that were to be traced did not begin.
    TraceMissed {
        /// How many were to be traced.
        wanted: u64,
        /// How many of them began.
        began: u64,
    },
    /// A warning that a workload holds, from when it was made.
    Stored {
        /// Its text, with the remedy.
        text: String,
    },
    /// A part of a result has a name of its own, because an earlier result has the name that was asked for.
    PartKept {
        /// The earlier result.
        result: PathBuf,
        /// Where the part is.
        part: PathBuf,
    },
    /// The disk became full.
    DiskFull,
    /// Something makes a live run slower or less true.
    Live(flowloom_live::Warning),
}

/// The share of missing payload from which on it is warned of.
const DOUBTFUL_MISSING_SHARE: f64 = 0.01;

const DISK_FULL: &str =
    "the disk is full: the run ended, and what was recorded until then was completed with room kept back for it";

/// What [`Warning::DeepLimit`] says.
fn deep_limit(queue: &str, time: Option<Duration>) -> String {
    let allows = time.map_or_else(
        || format!("it has no limit ({queue})"),
        |time| format!("its limit ({queue}) allows {} of traffic", Unit::Time.show(time.as_nanos() as f64)),
    );
    format!("the queue of the bottleneck may fill, and {allows}")
}

/// Where the first of several malformed flow messages is, and what is wrong with it.
fn first_malformed(file: &str, Problem { message, offset, text, .. }: &Problem) -> String {
    format!("; the first: {file}: message {message} at byte {offset}: {text}")
}

impl Warning {
    /// The warning about payload that a capture lacks, if it is much; `missing` says what becomes of it.
    pub(crate) fn of_missing_bytes(facts: &PayloadFacts, missing: Missing) -> Option<Warning> {
        let lacking = facts.lacking();
        let is_much = missing != Missing::Skip && lacking.share_of_file() >= DOUBTFUL_MISSING_SHARE;
        is_much.then_some(Warning::MissingBytes { lacking })
    }

    /// The kind of warning, for programs: a word that stays the same. Warnings of one kind may have several causes.
    pub fn kind(&self) -> &'static str {
        match self {
            Warning::NoTraffic { .. } => "no_traffic",
            Warning::NoTcp => "no_tcp",
            Warning::NothingReplayable => "nothing_replayable",
            Warning::ManyIncomplete { .. } => "many_incomplete",
            Warning::MonitorDoubtful { .. } => "monitor_doubtful",
            Warning::UnknownSide { .. } => "unknown_side",
            Warning::ClockJumps { .. } => "clock_jumps",
            Warning::ClockRunsBackwards { .. } => "clock_runs_backwards",
            Warning::CutCapture { .. } | Warning::CutFlowFile => "cut_capture",
            Warning::MissingBytes { .. } => "missing_bytes",
            Warning::OffloadedCapture { .. } => "offloaded_capture",
            Warning::CapturedTwice { .. } => "captured_twice",
            Warning::DoubledAcceptors { .. } => "doubled_acceptors",
            Warning::KernelDrops { .. } => "kernel_drops",
            Warning::CaptureDrops { .. } => "capture_drops",
            Warning::InterfaceDown => "interface_down",
            Warning::SkippedEntries { .. } => "skipped_entries",
            Warning::MemoryFull { .. } | Warning::MemoryFullOfDatagrams { .. } => "memory_full",
            Warning::MixedVlans { .. } => "mixed_vlans",
            Warning::SplitVlans { .. } => "split_vlans",
            Warning::LateData { .. } => "late_data",
            Warning::ExtractionInterrupted { .. } | Warning::SimulationInterrupted | Warning::SeedsNotBegun { .. } => {
                "interrupted"
            }
            Warning::InputChanged { .. } => "input_changed",
            Warning::FlowRecords { finding, .. } => finding.kind(),
            Warning::MalformedFlowMessages { .. } => "malformed_flow_messages",
            Warning::Format { .. } => "format",
            Warning::FormatLoses(_) => "format_loses",
            Warning::AddressesKept => "addresses_kept",
            Warning::LoadMissed { .. } => "load_missed",
            Warning::LoadDrifts { .. } => "load_drifts",
            Warning::Model { .. } | Warning::CalibratedModel { .. } | Warning::FittedHarpoon(_) => "model",
            Warning::LeftOfModel { .. } => "left_of_model",
            Warning::Phases(finding) => finding.kind(),
            Warning::Specification(finding) => finding.kind(),
            Warning::Empty => "empty",
            Warning::Stored { .. } => "stored",
            Warning::SeedsAlike => "seeds_alike",
            Warning::SweepLeftOut => "sweep_left_out",
            Warning::FewBlocks { .. } => "few_blocks",
            Warning::FewerActive { .. } => "fewer_active",
            Warning::TooShortToDraw { .. } => "too_short_to_draw",
            Warning::HostDoubtful(_) => "host_doubtful",
            Warning::NearHostLimit(_) => "near_host_limit",
            Warning::RunsTooShort => "runs_too_short",
            Warning::JumboDatagrams { .. } => "jumbo_datagrams",
            Warning::TotalsOnly { .. } | Warning::TotalsReplayed { .. } => "totals_only",
            Warning::RecordEnds { .. } | Warning::WindowBehindRecord { .. } => "record_ends",
            Warning::CaptureIncomplete { .. } => "capture_incomplete",
            Warning::DeepLimit { .. } => "deep_limit",
            Warning::WaitsNotCorrected { .. } => "waits_not_corrected",
            Warning::DatagramsNotReplayed { .. } => "datagrams_not_replayed",
            Warning::DatagramsEvened { .. } => "datagrams_evened",
            Warning::ClassEmpty { .. } => "class_empty",
            Warning::SourceMissed { .. } => "source_missed",
            Warning::ShortTarget { .. } => "short_target",
            Warning::HeavyProbes { .. } => "heavy_probes",
            Warning::CellDamaged { .. } => "cell_damaged",
            Warning::NothingMarks => "nothing_marks",
            Warning::TraceMissed { .. } => "trace_missed",
            Warning::PartKept { .. } => "part_kept",
            Warning::DiskFull => "disk_full",
            Warning::Live(_) => "live",
        }
    }

    /// What is doubtful, in words and numbers.
    pub fn cause(&self) -> String {
        self.cause_of_input().or_else(|| self.cause_of_making()).unwrap_or_else(|| self.cause_beyond_input())
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each warning")]
    fn cause_beyond_input(&self) -> String {
        match self {
            Warning::FlowRecords { finding, count } => format!("{}: {count}", finding.cause()),
            Warning::MalformedFlowMessages { count, first } => {
                let first = first.as_ref().map_or_else(String::new, |(file, problem)| first_malformed(file, problem));
                format!("messages and sets that contradict themselves were left out: {count}{first}")
            }
            Warning::CutFlowFile => "a file was cut off and read up to there: 1".to_owned(),
            Warning::Format { remark, count, first } => {
                let first =
                    first.as_ref().map_or_else(String::new, |(file, line)| format!("; the first at {file}:{line}"));
                format!("{}: {count}{first}", remark.cause())
            }
            Warning::FormatLoses(lost) => lost.cause().to_owned(),
            Warning::AddressesKept => "the output holds the addresses of the captured hosts".to_owned(),
            Warning::Model { remark } | Warning::CalibratedModel { remark } => remark.clone(),
            Warning::FittedHarpoon(warning) => warning.to_string(),
            Warning::LeftOfModel { connections, reason } => format!("{connections} connections {}", reason.cause()),
            Warning::Phases(finding) => finding.cause(),
            Warning::Specification(finding) => finding.cause(),
            Warning::HostDoubtful(doubt) => doubt.to_string(),
            Warning::NearHostLimit(check) => check.cause(),
            Warning::RunsTooShort => {
                "a higher load has a lower rate: the runs are too short for their heavy tails".to_owned()
            }
            Warning::JumboDatagrams { datagrams } => format!(
                "datagrams of more than 1,500 bytes: {}; they are jumbo frames, or were captured before they were cut \
                 or after they were joined",
                thousands(*datagrams)
            ),
            Warning::TotalsOnly { connections } => format!(
                "connections have totals only, and what an end sent is taken as one piece: {}",
                thousands(*connections)
            ),
            Warning::TotalsReplayed { connections } => format!(
                "connections of which only totals are known: {}; each is replayed as one request and one response \
                 without waits, over an assumed round-trip time: numbers and volumes can be compared with the \
                 original, times cannot",
                thousands(*connections)
            ),
            Warning::CaptureIncomplete { name, why } => format!("{name} ends before the run does: {why}"),
            Warning::DeepLimit { queue, time } => deep_limit(queue, *time),
            Warning::WaitsNotCorrected { connections } => format!(
                "the waits of {} contain a round trip that the input does not tell; the replay waits for it twice",
                counted(*connections, "connection")
            ),
            Warning::DatagramsNotReplayed { flows, .. } => {
                format!("{} of UDP or QUIC datagrams not replayed", counted(*flows, "flow"))
            }
            Warning::DatagramsEvened { flows } => format!(
                "datagrams of {} are sent in equal sizes and gaps within each data unit: the workload does not hold those of single datagrams",
                counted(*flows, "flow")
            ),
            Warning::ClassEmpty { class } => format!("no connection was of the class {class:?} (tcp.classes)"),
            Warning::SourceMissed { source, wanted, began } => format!(
                "of {} of the source {source:?} {began} began: the others start after the end of the run (sources.start)",
                counted(*wanted, "flow")
            ),
            Warning::TraceMissed { wanted, began } => {
                format!("of {} to be traced {began} began (measure.tcp-trace)", counted(*wanted, "connection"))
            }
            Warning::Stored { text } => format!("when this workload was made: {text}"),
            Warning::DiskFull => DISK_FULL.to_owned(),
            Warning::Live(warning) => warning.to_string(),
            // All variants are named, so that a new one cannot be forgotten.
            Warning::NoTraffic { .. }
            | Warning::NoTcp
            | Warning::NothingReplayable
            | Warning::ManyIncomplete { .. }
            | Warning::MonitorDoubtful { .. }
            | Warning::UnknownSide { .. }
            | Warning::ClockJumps { .. }
            | Warning::ClockRunsBackwards { .. }
            | Warning::CutCapture { .. }
            | Warning::MissingBytes { .. }
            | Warning::OffloadedCapture { .. }
            | Warning::CapturedTwice { .. }
            | Warning::DoubledAcceptors { .. }
            | Warning::KernelDrops { .. }
            | Warning::CaptureDrops { .. }
            | Warning::InterfaceDown
            | Warning::SkippedEntries { .. }
            | Warning::MemoryFull { .. }
            | Warning::MemoryFullOfDatagrams { .. }
            | Warning::MixedVlans { .. }
            | Warning::SplitVlans { .. }
            | Warning::LateData { .. }
            | Warning::ExtractionInterrupted { .. }
            | Warning::SimulationInterrupted
            | Warning::SeedsNotBegun { .. }
            | Warning::InputChanged { .. }
            | Warning::PartKept { .. }
            | Warning::RecordEnds { .. }
            | Warning::WindowBehindRecord { .. }
            | Warning::LoadMissed { .. }
            | Warning::LoadDrifts { .. }
            | Warning::Empty
            | Warning::SeedsAlike
            | Warning::SweepLeftOut
            | Warning::FewBlocks { .. }
            | Warning::FewerActive { .. }
            | Warning::TooShortToDraw { .. }
            | Warning::ShortTarget { .. }
            | Warning::HeavyProbes { .. }
            | Warning::CellDamaged { .. }
            | Warning::NothingMarks => String::new(),
        }
    }

    /// The cause of a warning about a workload that was made or drawn, how much of it there is, a queue, or what became of an earlier result; `None` of
    /// others.
    fn cause_of_making(&self) -> Option<String> {
        Some(match self {
            Warning::LoadMissed { from, made, asked } => {
                format!("the load from {} is {}, and {} were asked for", from.word(), bits(*made), bits(*asked))
            }
            Warning::LoadDrifts { share } => {
                format!("the load of thirds of the workload differs by {:.0} %: it has no one load", 100.0 * share)
            }
            Warning::Empty => "no connection starts: the workload is empty".to_owned(),
            Warning::SweepLeftOut => "the experiment has a [sweep], and this runs it without its variants".to_owned(),
            Warning::SeedsAlike => {
                "the replay of a workload has no randomness but its sequence numbers: runs with other seeds are alike"
                    .to_owned()
            }
            Warning::FewBlocks { length, blocks } => format!(
                "the seeds draw from {blocks} blocks of {length}: their spread holds for this trace, not for others like it"
            ),
            Warning::FewerActive { share } => format!(
                "draws have {:.0} % of the workload's active connections in the mean: nothing is open when a draw begins, and many \
                 connections last long beside it",
                100.0 * share
            ),
            Warning::TooShortToDraw { length } => format!(
                "the workload lasts {length} and cannot be cut into two blocks of 1 s to draw from: every seed replays it as it is"
            ),
            Warning::ShortTarget { link, target, least } => format!(
                "the queue of {link} has a target of {target}, and a packet and a half take {least}: packets are dropped that do not wait \
                 for others"
            ),
            Warning::HeavyProbes { link, share } => format!(
                "probes offer {:.0} % of the rate of {link} in each direction: they are part of the load whose latency they measure",
                100.0 * share
            ),
            Warning::CellDamaged { cell, why } => format!("{}: this cell is run again: {why}", cell.display()),
            Warning::NothingMarks => {
                "tcp.ecn is on, and no queue between the ends marks packets: losses alone tell of congestion".to_owned()
            }
            Warning::RecordEnds { asked, covered } => format!(
                "the record that is replayed ends at {covered} of the {asked} that were asked for: results end with it, as there is no \
                 traffic after it"
            ),
            Warning::WindowBehindRecord { start, covered } => format!(
                "results begin at {start} (measure.window), and the record that is replayed ends at {covered}: there is no traffic"
            ),
            Warning::PartKept { result, part } => {
                format!("{} is an earlier result and stays: the part is in {}", result.display(), part.display())
            }
            Warning::InputChanged { name } => {
                format!("{name} is not what the earlier run read: this run repeats its settings, not its workload")
            }
            _ => return None,
        })
    }

    /// The cause of a warning about an input that was read; `None` of others.
    fn cause_of_input(&self) -> Option<String> {
        Some(match self {
            Warning::NoTraffic { packets, tcp_only } => {
                let wanted = if *tcp_only { "TCP" } else { "TCP or UDP" };
                format!("none of the {} packets is {wanted} that could be read", thousands(*packets))
            }
            Warning::NoTcp => "no connection can be replayed: there is UDP and no TCP".to_owned(),
            Warning::NothingReplayable => {
                "no connection can be replayed: none has data and packets of both directions".to_owned()
            }
            Warning::ManyIncomplete { connections, replayable } => format!(
                "{:.0} % of the replayable connections began before the capture did or did not end in it; they are \
                 replayed as seen",
                100.0 * *connections as f64 / *replayable as f64
            ),
            Warning::MonitorDoubtful { monitor, far, connections } => format!(
                "--monitor {} says the capture was made there, but the way to that end and back is longer than 5 ms \
                 for {} of {} connections",
                monitor.word(),
                thousands(*far),
                thousands(*connections)
            ),
            Warning::UnknownSide { vectors, given } => format!(
                "the side of the link is unknown for {}{}; {} taken as left",
                counted(*vectors, "vector"),
                match (given, vectors) {
                    (false, _) => "",
                    (true, 1) => ": --inside holds both of its ends, or neither",
                    (true, _) => ": --inside holds both of their ends, or neither",
                },
                if *vectors == 1 { "its initiator is" } else { "their initiators are" }
            ),
            Warning::ClockJumps { jumps } => {
                format!("the capture's clock jumps by more than a day, {}", times(*jumps))
            }
            Warning::ClockRunsBackwards { steps, farthest } => {
                format!("the clock runs backwards, {}, by up to {farthest}", times(*steps))
            }
            Warning::CutCapture { files } => match files {
                1 => "the capture ends inside its last record and was read up to there".to_owned(),
                _ => format!("{files} captures end inside their last record and were read up to there"),
            },
            Warning::MissingBytes { lacking } => {
                format!("payload is missing from the capture: {}", missing_text(lacking))
            }
            Warning::OffloadedCapture { segments, packets } => format!(
                "the capture was taken above a segmentation offload: {} of more than the MSS, which count as {} of the link",
                counted(*segments, "segment"),
                counted(*packets, "packet"),
            ),
            Warning::CapturedTwice { packets, share } => format!(
                "captured more than once: {} ({} % of those with data that can be told) are copies of others, and count in throughput, load and flows of datagrams",
                counted(*packets, "packet"),
                three_digits(100.0 * share)
            ),
            Warning::DoubledAcceptors { doubled } => format!(
                "the acceptors of {} answered with two sequence numbers: {} with {} of payload in the second number space \
                 set aside",
                counted(doubled.connections, "connection"),
                counted(doubled.packets, "packet"),
                Unit::Bytes.show(doubled.payload_bytes as f64)
            ),
            Warning::KernelDrops { packets } => {
                format!("the kernel lost {}, because extraction could not keep up", counted(*packets, "packet"))
            }
            Warning::CaptureDrops { packets } => {
                format!("the capture lost {}, by the capturing system's own count", counted(*packets, "packet"))
            }
            Warning::InterfaceDown => "the network interface went down, and the capture ended there".to_owned(),
            Warning::SkippedEntries { entries } => {
                let (subject, are) = if *entries == 1 { ("entry", "is") } else { ("entries", "are") };
                format!("{entries} {subject} of the folder {are} no capture and left out")
            }
            Warning::MemoryFull { connections } => format!(
                "{} ended early because memory was full; what follows of theirs may count again",
                counted(*connections, "connection")
            ),
            Warning::MemoryFullOfDatagrams { flows } => {
                format!("{} cut because memory was full", counted(*flows, "datagram flow"))
            }
            Warning::MixedVlans { connections } => format!(
                "{} with packets of one end in two VLANs: different ones may be mixed up",
                counted(*connections, "connection")
            ),
            Warning::SplitVlans { connections } => {
                format!("{} with each end in a VLAN of its own, in two halves", counted(*connections, "connection"))
            }
            Warning::LateData { bytes } => format!(
                "{} of data came long after their connections had closed, and are in no vector",
                counted(*bytes, "byte")
            ),
            Warning::ExtractionInterrupted { packets } => format!("interrupted after {}", counted(*packets, "packet")),
            Warning::SimulationInterrupted => "interrupted: results are of what was simulated until then".to_owned(),
            Warning::SeedsNotBegun { seeds, not_begun } => {
                let were = if *not_begun == 1 { "was" } else { "were" };
                format!("interrupted: of {} {not_begun} {were} not begun", counted(*seeds as u64, "seed"))
            }
            _ => return None,
        })
    }
}

/// As run folders and JSON have it: the cause, and the remedy in brackets.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause())?;
        self.remedy().map_or(Ok(()), |remedy| write!(f, " (remedy: {remedy})"))
    }
}

/// How often.
fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", thousands(count)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_nouns_agree() {
        let side = |vectors| Warning::UnknownSide { vectors, given: false }.cause();
        assert_eq!(side(1), "the side of the link is unknown for 1 vector; its initiator is taken as left");
        assert_eq!(
            side(1_723),
            "the side of the link is unknown for 1,723 vectors; their initiators are taken as left"
        );
        assert_eq!((times(1), times(1_000)), ("once".to_owned(), "1,000 times".to_owned()));
    }

    #[test]
    fn remedies_stand_in_brackets_where_there_are_any() {
        assert_eq!(
            Warning::DatagramsNotReplayed { flows: 2, of_capture: true }.to_string(),
            "2 flows of UDP or QUIC datagrams not replayed (remedy: datagrams = \"as-seen\" in [workload] sends them; \
             --tcp-only keeps them out of the workload)"
        );
        let missed = Warning::TraceMissed { wanted: 2, began: 1 };
        assert_eq!(missed.to_string(), "of 2 connections to be traced 1 began (measure.tcp-trace)");
        let found = Warning::FlowRecords { finding: FlowFinding::CutMessages, count: 3 };
        assert_eq!((found.kind(), &*found.cause()), ("cut_flow_messages", "messages were cut by the capture: 3"));
    }
}
