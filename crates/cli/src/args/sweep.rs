//! `flowloom sweep`.

use std::path::PathBuf;

use clap::Args;
use flowloom::Driver;
use flowloom::experiment::{Axis, LeaveOut, Quantity, Share, Tables};

use super::settings::Settings;
use super::shared::{Capture, Form, Watching};

/// `flowloom sweep`
#[derive(Debug, Args)]
pub struct Sweep {
    /// Captures, a workload, other vector files, or an experiment (.toml), with or without [sweep]
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// An axis: a key and its values, "queue=drop-tail,fq-codel"; a part with "=" belongs to the value before it,
    /// "queue=codel,limit=500p,pie"; keys with "+" between change together, "rate+delay=10mbit+50ms,100mbit+5ms". May be
    /// repeated, to run all combinations
    #[arg(long, value_name = "KEY=VALUE,...", value_parser = axis, help_heading = "Variants")]
    pub vary: Vec<Quantity<Axis>>,
    /// Combination to leave out, with spaces between the values: "queue=pie rate=10mbit"; may be repeated
    #[arg(long, value_name = "VALUES", help_heading = "Variants")]
    pub leave_out: Vec<Quantity<LeaveOut>>,
    /// Load that rates in percent refer to: "control" (of the first variant, so that all have the same link) or "each" (of each
    /// variant) [default: control]
    #[arg(long, value_name = "WHOSE", help_heading = "Variants")]
    pub rate_of: Option<RateOf>,
    /// Run each variant with the seeds 1 to N; each seed replays other blocks of a capture, see key run.vary [default: the seeds of
    /// the experiment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000), allow_negative_numbers = true, help_heading = "Seeds")]
    pub seeds: Option<u16>,
    /// Add seeds until the best variant is decided, at most N in all: double the number of --seeds at each look, with intervals
    /// that allow for the looks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000), allow_negative_numbers = true, help_heading = "Seeds")]
    pub most_seeds: Option<u16>,
    /// Metric that decides which variant is best (docs/reference/metrics.md) [default: response_time_p50_ms]
    #[arg(long, value_name = "METRIC", help_heading = "Answer")]
    pub objective: Option<String>,
    /// Largest difference that does not matter [default: 5%]
    #[arg(long, value_name = "SHARE", help_heading = "Answer")]
    pub margin: Option<Quantity<Share>>,
    /// Folder of the sweep; runs that it already holds are not repeated [default: runs/NAME-KEYS]
    #[arg(short, long, value_name = "DIR", help_heading = "Run")]
    pub output: Option<PathBuf>,
    /// Run another sweep in a folder that holds one; keep the runs that both have
    #[arg(long, help_heading = "Run")]
    pub force: bool,
    /// Print the variants, the experiment of the first, and what the sweep needs, instead of running it
    #[arg(long, conflicts_with_all = ["output", "force"], help_heading = "Run")]
    pub dry_run: bool,
    /// Run the sweep even if it takes more than an hour of one core, or 10 GB
    #[arg(long, help_heading = "Run")]
    pub yes: bool,
    /// Repeat the runs that failed before
    #[arg(long, help_heading = "Run")]
    pub retry_failed: bool,
    /// Tables of each run to keep: "summary" (none), "all", or names, "epochs,queue" [default: summary]
    #[arg(long, value_name = "TABLES", help_heading = "Run")]
    pub tables: Option<Quantity<Tables>>,
    /// Where to run: sim, live (one run at a time) or lab:HOSTS.toml [default: sim]
    #[arg(long, value_name = "DRIVER", help_heading = "Run")]
    pub on: Option<Driver>,
    /// With --on lab:HOSTS.toml: folder of the lab's controller [default: lab]
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub lab: Option<PathBuf>,
    /// Number of runs in parallel [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true, help_heading = "Run")]
    pub jobs: Option<u16>,
    /// Values of all variants
    #[command(flatten)]
    pub settings: Settings,
    /// How to watch it
    #[command(flatten)]
    pub watching: Watching,
    /// How to read captures
    #[command(flatten)]
    pub capture: Capture,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// What rates in percent are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RateOf {
    /// The load of the first variant with the same seed
    Control,
    /// Each variant's own load
    Each,
}

/// An axis, with the reason where it is none.
fn axis(text: &str) -> Result<Quantity<Axis>, String> {
    Axis::parse(text)?;
    text.parse().map_err(|error: flowloom::units::ParseQuantityError| error.to_string())
}
