//! What a user should know about a result, with what to do about it.

use std::fmt;

/// A warning: what kind it is, its cause and its remedy, each a clause without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What is doubtful, for programs.
    pub kind: WarningKind,
    /// What is doubtful, in words and numbers.
    pub cause: String,
    /// What to do about it.
    pub remedy: String,
}

impl Warning {
    /// A warning of `cause`, with this remedy.
    pub fn new(kind: WarningKind, cause: impl Into<String>, remedy: impl Into<String>) -> Warning {
        Warning { kind, cause: cause.into(), remedy: remedy.into() }
    }
}

/// As run folders and JSON have it: the cause, and the remedy in brackets.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (remedy: {})", self.cause, self.remedy)
    }
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WarningKind {
    /// No packet of a capture is TCP or UDP.
    NoTraffic,
    /// A capture holds UDP and no TCP.
    NoTcp,
    /// No connection of a capture can be replayed.
    NothingReplayable,
    /// Many connections began before the capture, or did not end in it.
    ManyIncomplete,
    /// The capture was hardly made where its options say.
    MonitorDoubtful,
    /// The side of the link is unknown for some connections.
    UnknownSide,
    /// The clock of a capture jumps by more than a day.
    ClockJumps,
    /// The clock of a capture runs backwards.
    ClockRunsBackwards,
    /// A file was cut off.
    CutCapture,
    /// The kernel lost packets because extraction could not keep up.
    KernelDrops,
    /// The capturing system lost packets.
    CaptureDrops,
    /// A network interface went down.
    InterfaceDown,
    /// Entries of a folder are no captures.
    SkippedEntries,
    /// Connections or flows ended because memory was full.
    MemoryFull,
    /// Packets of one end came in two VLANs.
    MixedVlans,
    /// The ends of connections are in two VLANs.
    SplitVlans,
    /// Data came long after a connection had closed.
    LateData,
    /// The work was stopped.
    Interrupted,
    /// Messages of flow exporters contradict themselves.
    MalformedFlowMessages,
    /// The template of a data set of flows never came.
    MissingTemplates,
    /// Flows or messages are missing.
    LostFlowMessages,
    /// The capture cut messages of flow exporters.
    CutFlowMessages,
    /// Messages of too many exporters were left out.
    TooManyExporters,
    /// Flow records were sampled at an unknown rate.
    UnknownSampling,
    /// Flow records came before their exporter said that it samples.
    LateSampling,
    /// Counts were scaled up from a sample.
    ScaledCounts,
    /// Times of flow records are known only roughly.
    RoughTimes,
    /// Payload was estimated from IP bytes and packets.
    EstimatedPayload,
    /// Who opened a connection was guessed from its ports.
    GuessedInitiator,
    /// Connections were cut because too many were open.
    TooManyOpenFlows,
    /// Connections begin later than their flow records say.
    MovedStarts,
    /// A remark of the reader of a form of vectors.
    Format,
    /// The form of an output cannot hold all.
    FormatLoses,
    /// The output holds captured addresses.
    AddressesKept,
    /// The load of a workload is not what was asked for.
    LoadMissed,
    /// The load of a workload drifts.
    LoadDrifts,
    /// A remark about a model.
    Model,
    /// Connections are not in a fitted model.
    LeftOfModel,
    /// A workload is empty.
    Empty,
    /// Several seeds give the same run.
    SeedsAlike,
    /// The host may not be able to run it.
    HostDoubtful,
    /// Runs are too short for their heavy tails.
    RunsTooShort,
    /// Datagrams are longer than Ethernet carries.
    JumboDatagrams,
    /// Only the totals of connections are known.
    TotalsOnly,
}
