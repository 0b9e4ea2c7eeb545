//! `flowloom model`

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use flowloom::Boundaries;
use flowloom::core::cell::slot::MicroDynamics;
use flowloom::time::Duration;
use flowloom::units::{Limit, Rate};

use super::shared::{Capture, Form, GuestSide, rate, seed};

/// `flowloom model`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Model {
    /// A calculation, instead of a workload
    #[command(subcommand)]
    pub calculation: Option<Calculation>,
    /// Experiment with a [workload] section
    #[arg(value_name = "EXPERIMENT", required = true)]
    pub experiment: Option<PathBuf>,
    /// Workload file to write
    #[arg(short, long, value_name = "W.parquet", required = true)]
    pub output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    pub force: bool,
    /// Time during which connections start [default: measure.duration, or the length of the source]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Seed [default: the experiment's first]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// How to read captures
    #[command(flatten)]
    pub capture: Capture,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// Models that are formulas.
#[derive(Debug, Subcommand)]
pub enum Calculation {
    /// Compute delay and loss of cells at a queue, for a model whose rate changes between phases
    #[command(after_help = "\
SERIES is one of:
  CSV with the header seconds,cells_per_second or seconds,bits_per_second: rates over time
  CSV with the header cell_seconds: arrival times of cells
  a capture, a workload or a run folder: bytes on the link, cut into cells
Without SERIES, give --least, --most and --pareto-shape, or --boundaries and --shares. See
docs/guide/queue-model.md for the model.

Examples:
  flowloom model queue rates.csv --load 30%,50%,70% --buffer 10,50,100
  flowloom model queue campus.pcap --from right --phases 10,15,25,35 --simulate
  flowloom model queue --least 1000 --most 5000 --pareto-shape 1.5 --phases 4 --load 40.7% --json")]
    Queue(Box<QueueModel>),
    /// Compute window, slow start and loss recovery of TCP on a long fat pipe
    #[command(after_help = "\
In this command MB and mb are 1,048,576 bytes (docs/guide/satellite.md).

Examples:
  flowloom model pipe --rate 599.04mbit --cells --mss 9140 --rtt 534ms --window 10mb --windows 102
  flowloom model pipe --rate 1gbit --rtt 40ms --mss 1460 --growth 2 --bit-errors 1e-9 --json")]
    Pipe(PipeModel),
}

/// `flowloom model pipe`
#[derive(Clone, Debug, Args)]
pub struct PipeModel {
    /// Rate for TCP payload; with --cells, line rate for ATM cells
    #[arg(long, value_name = "RATE", value_parser = rate::<Rate>, allow_hyphen_values = true)]
    pub rate: Rate,
    /// Carry each segment in an AAL5 frame of ATM cells
    #[arg(long)]
    pub cells: bool,
    /// Round-trip time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub rtt: Duration,
    /// Payload of a full segment
    #[arg(long, value_name = "BYTES", default_value_t = 1_460, value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub mss: u16,
    /// Window in bytes ("10mb") or segments ("1148p") [default: the bandwidth-delay product]
    #[arg(long, value_name = "LIMIT", allow_hyphen_values = true)]
    pub window: Option<Limit>,
    /// Window growth per round trip of slow start: 1.5 with delayed acknowledgements, 2 without
    #[arg(long, value_name = "FACTOR", default_value_t = 1.5, allow_negative_numbers = true)]
    pub growth: f64,
    /// Length of the transfer, in windows
    #[arg(long, value_name = "COUNT", default_value_t = 100.0, allow_negative_numbers = true)]
    pub windows: f64,
    /// Bit error ratio of the line
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub bit_errors: Option<f64>,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom model queue`
#[derive(Debug, Args)]
pub struct QueueModel {
    /// Cell rates over time
    #[arg(value_name = "SERIES")]
    pub series: Option<PathBuf>,
    /// Sending side of the link, for captures, workloads and runs
    #[arg(long, value_enum, default_value_t, value_name = "SIDE")]
    pub from: GuestSide,
    /// Payload of a cell, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 48, value_parser = clap::value_parser!(u32).range(1..=65_535), allow_negative_numbers = true)]
    pub cell_payload: u32,
    /// Bin width for rates, and lag step of the autocorrelation [default: 10ms, or the width of the series' bins]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub bin: Option<Duration>,
    /// Numbers of phases, separated by commas: one result each [default: 15]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=200), allow_negative_numbers = true)]
    pub phases: Vec<u16>,
    /// Phase boundaries: equal-width, equal-probability, or rates in cells per second such as 0,1000,5000 [default: equal-width]
    #[arg(long, value_name = "BOUNDARIES", allow_hyphen_values = true)]
    pub boundaries: Option<Boundaries>,
    /// Share of the time of each phase (the sum is 100%), such as 60%,30%,10% [default: the shares of the series]
    #[arg(
        long,
        value_name = "SHARES",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "pareto_shape"
    )]
    pub shares: Vec<Share>,
    /// Lowest phase boundary, in cells per second [default: the lowest rate of the series]
    #[arg(long, value_name = "CELLS", allow_negative_numbers = true)]
    pub least: Option<f64>,
    /// Highest phase boundary, in cells per second [default: the highest rate of the series]
    #[arg(long, value_name = "CELLS", allow_negative_numbers = true)]
    pub most: Option<f64>,
    /// Shape of a Pareto distribution that gives the shares of the phases [default: the shares of the series]
    #[arg(long, value_name = "SHAPE", allow_negative_numbers = true)]
    pub pareto_shape: Option<f64>,
    /// Mean sojourn time in a phase [default: that of the series]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub sojourn: Option<Duration>,
    /// Distributions of the gaps between cells within a phase, separated by commas; uniform: from 0 to twice the mean, even:
    /// equal gaps
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "poisson", value_parser = gap_distributions())]
    pub gaps: Vec<MicroDynamics>,
    /// Loads (mean rate over service rate), such as 30%,50% [default: ten, up to the rate of the fastest phase]
    #[arg(long, value_name = "LOADS", value_delimiter = ',', allow_hyphen_values = true)]
    pub load: Vec<Share>,
    /// Buffer sizes in cells, without the cell in service
    #[arg(long, value_name = "CELLS", value_delimiter = ',', default_value = "10,50,100", value_parser = clap::value_parser!(u32).range(0..=100_000), allow_negative_numbers = true)]
    pub buffer: Vec<u32>,
    /// Also simulate the queue with this many cells [without a number: 10000000]
    #[arg(long, value_name = "CELLS", num_args = 0..=1, require_equals = true, default_missing_value = "10000000", value_parser = clap::value_parser!(u64).range(1..))]
    pub simulate: Option<u64>,
    /// Seed of the simulation
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Number of lags of the autocorrelation
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=10_000), allow_negative_numbers = true)]
    pub lags: u16,
    /// How to read captures
    #[command(flatten)]
    pub capture: Capture,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// A share above zero: `30%`. Loads of bursts may be far below one percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl std::str::FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
        let share =
            percent.filter(|percent| *percent > 0.0 && percent.is_finite()).map(|percent| Share(percent / 100.0));
        share.ok_or_else(|| "a percentage above zero is expected, such as 30%".to_owned())
    }
}

/// Distributions of gaps, by name.
fn gap_distributions() -> impl TypedValueParser<Value = MicroDynamics> {
    PossibleValuesParser::new(MicroDynamics::ALL.map(|(name, _)| name)).try_map(|typed| typed.parse())
}
