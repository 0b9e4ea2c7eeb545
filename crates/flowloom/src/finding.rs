//! What warnings find: damaged flow records, what conversions lose, connections that no model has.

/// Flow records were damaged, incomplete or estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlowFinding {
    /// The template of a data set never came.
    MissingTemplates,
    /// Flows or messages are missing.
    LostMessages,
    /// The capture cut messages of exporters.
    CutMessages,
    /// Messages of too many exporters were left out.
    TooManyExporters,
    /// Records were sampled at an unknown rate.
    UnknownSampling,
    /// Records came before their exporter said that it samples.
    LateSampling,
    /// Counts were scaled up from a sample.
    ScaledCounts,
    /// Times of records are known only roughly.
    RoughTimes,
    /// Payload was estimated from IP bytes and packets.
    EstimatedPayload,
    /// Who opened a connection was guessed from its ports.
    GuessedInitiator,
    /// Connections were cut because too many were open.
    TooManyOpen,
    /// Connections begin later than their records say.
    MovedStarts,
}

/// What the form of an output leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The original's packets over time, in forms that hold connections.
    Traffic,
    /// What TRex does not replay.
    ByTrex,
    /// What tgen does not replay.
    ByTgen,
}

/// Why a connection is not in a fitted model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotModelled {
    /// It has no addresses.
    NoHost,
    /// It was inferred from flow records.
    FlowRecord,
    /// It carries no data.
    NoData,
    /// There were too many clients or servers already.
    TooManyHosts,
}

impl FlowFinding {
    pub(crate) fn kind(self) -> &'static str {
        match self {
            FlowFinding::MissingTemplates => "missing_templates",
            FlowFinding::LostMessages => "lost_flow_messages",
            FlowFinding::CutMessages => "cut_flow_messages",
            FlowFinding::TooManyExporters => "too_many_exporters",
            FlowFinding::UnknownSampling => "unknown_sampling",
            FlowFinding::LateSampling => "late_sampling",
            FlowFinding::ScaledCounts => "scaled_counts",
            FlowFinding::RoughTimes => "rough_times",
            FlowFinding::EstimatedPayload => "estimated_payload",
            FlowFinding::GuessedInitiator => "guessed_initiator",
            FlowFinding::TooManyOpen => "too_many_open_flows",
            FlowFinding::MovedStarts => "moved_starts",
        }
    }

    pub(crate) fn cause(self) -> &'static str {
        match self {
            FlowFinding::MissingTemplates => "data sets whose template never came were left out",
            FlowFinding::LostMessages => "flows or messages are missing, as the exporters' sequence numbers say",
            FlowFinding::CutMessages => "messages were cut by the capture",
            FlowFinding::TooManyExporters => "messages of too many exporters were left out",
            FlowFinding::UnknownSampling => {
                "records were sampled at a rate that is not known and were taken as they are"
            }
            FlowFinding::LateSampling => {
                "records came before their exporter said that it samples, and were taken as they are"
            }
            FlowFinding::ScaledCounts => "connections have counts scaled up from a sample",
            FlowFinding::RoughTimes => "records have times that are known only roughly",
            FlowFinding::EstimatedPayload => "connections have payload estimated from IP bytes and packets",
            FlowFinding::GuessedInitiator => "connections have their larger port taken as the initiator's",
            FlowFinding::TooManyOpen => "connections were cut because too many were open",
            FlowFinding::MovedStarts => "connections begin later here than their records say",
        }
    }

    pub(crate) fn remedy(self) -> &'static str {
        match self {
            FlowFinding::MissingTemplates => {
                "give the file with the templates too, or capture for longer than templates are sent apart"
            }
            FlowFinding::LostMessages => "collect closer to the exporter, or with a larger receive buffer",
            FlowFinding::CutMessages => "capture with a larger snap length",
            FlowFinding::TooManyExporters => "give them apart",
            FlowFinding::UnknownSampling => "let the exporter send its sampler options",
            FlowFinding::LateSampling => "leave out the beginning",
            FlowFinding::ScaledCounts => "export without sampling",
            FlowFinding::RoughTimes => "let the exporter send its own clock",
            FlowFinding::EstimatedPayload => "extract from packets, if they can be captured",
            FlowFinding::GuessedInitiator => "export times in milliseconds or finer, or the flow's direction",
            FlowFinding::TooManyOpen => "shorten --active-timeout",
            FlowFinding::MovedStarts => "set --active-timeout as the exporter has it",
        }
    }
}

impl Lost {
    pub(crate) fn cause(self) -> &'static str {
        match self {
            Lost::Traffic => "the original's packets over time were left out: the form holds connections",
            Lost::ByTrex => {
                "starts, round-trip times and losses were left out: TRex starts the connections of a template at an \
                 even pace"
            }
            Lost::ByTgen => "round-trip times, windows and losses were left out: Shadow's network decides",
        }
    }

    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Lost::Traffic => "keep the workload as .parquet to compare throughput with the original",
            Lost::ByTrex => "give the path to what TRex sends through; `flowloom run` keeps all of them",
            Lost::ByTgen => "give the path to the network that tgen runs in; `flowloom run` keeps all of them",
        }
    }
}

impl NotModelled {
    pub(crate) fn cause(self) -> &'static str {
        match self {
            NotModelled::NoHost => "without addresses are not in the model",
            NotModelled::FlowRecord => "of flow records are not in the model",
            NotModelled::NoData => "without data are not in the model",
            NotModelled::TooManyHosts => {
                "of further clients or servers are not in the model: there are too many to tell apart"
            }
        }
    }

    pub(crate) fn remedy(self) -> &'static str {
        match self {
            NotModelled::NoHost => "extract the capture with --hosts number",
            NotModelled::FlowRecord => "fit packets, if they can be captured",
            NotModelled::NoData => "nothing: they carry no traffic",
            NotModelled::TooManyHosts => "fit a shorter capture",
        }
    }
}
