//! What warnings find: damaged flow records, what conversions lose, connections that no model has, phases unlike their series.

use flowloom_core::units::three_digits;
use flowloom_report::words::counted;

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
    /// Which bytes the capture lacked.
    MissingBytes,
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

/// How phases of `model queue` differ from the series they were made of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PhaseFinding {
    /// Their mean rate is not that of the series.
    MeanRate {
        /// How many phases the model has.
        phases: usize,
        /// Their mean rate, in cells per second.
        mean: f64,
        /// That of the series.
        series: f64,
        /// Whether the user gave the shares of the phases.
        has_own_shares: bool,
    },
    /// They are fewer than were asked for.
    Fewer {
        /// How many were asked for.
        asked: u16,
        /// How many there are.
        made: usize,
        /// The rate that the series has for longest, in cells per second.
        rate: f64,
        /// Its share of the time.
        share: f64,
    },
}

impl PhaseFinding {
    pub(crate) fn kind(self) -> &'static str {
        match self {
            PhaseFinding::MeanRate { .. } => "phase_rates",
            PhaseFinding::Fewer { .. } => "fewer_phases",
        }
    }

    pub(crate) fn cause(self) -> String {
        match self {
            PhaseFinding::MeanRate { phases, mean, series, has_own_shares } => {
                let (why, load) = match (mean > series, has_own_shares) {
                    (true, true) => ("the shares given are not the series'", "more"),
                    (false, true) => ("the shares given are not the series'", "less"),
                    (true, false) => ("a phase has the rate of its upper boundary", "more"),
                    (false, false) => ("rates above the highest boundary count as that boundary", "less"),
                };
                format!(
                    "the mean rate of {} is {} cells/s, {} times the series' {}: {why}; delays and losses are those of \
                     {load} traffic",
                    counted(phases as u64, "phase"),
                    three_digits(mean),
                    three_digits(mean / series),
                    three_digits(series)
                )
            }
            PhaseFinding::Fewer { asked, made, rate, share } => format!(
                "{made} phases instead of {asked}: a rate that lasts longer than the share of one phase fills several, and \
                 the series is at {} cells/s for {} % of the time",
                three_digits(rate),
                three_digits(100.0 * share)
            ),
        }
    }

    pub(crate) fn remedy(self) -> &'static str {
        match self {
            PhaseFinding::MeanRate { has_own_shares: true, .. } => {
                "leave --shares and --pareto-shape out, or leave SERIES out for loads of the phases' own mean"
            }
            PhaseFinding::MeanRate { mean, series, .. } if mean < series => "raise --most, or the last of --boundaries",
            PhaseFinding::MeanRate { .. } => {
                "raise --phases, widen --bin, or set --boundaries close together at frequent rates, until the means agree"
            }
            PhaseFinding::Fewer { .. } => "widen --bin so that rates differ, or take the phases as they are",
        }
    }
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
            Lost::MissingBytes => {
                "which bytes the capture lacked was left out: what stands in for them looks like captured data, and nothing doubts it"
            }
        }
    }

    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Lost::Traffic => "keep the workload as .parquet to compare throughput with the original",
            Lost::ByTrex => "give the path to what TRex sends through; `flowloom run` keeps all of them",
            Lost::MissingBytes => "keep the workload as .parquet, or leave such connections out (--missing skip)",
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
