//! `flowloom monitor`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use flowloom::time::Duration;

use super::shared::{Form, Watching};

/// `flowloom monitor`
#[derive(Debug, Args)]
pub struct Monitor {
    /// The command
    #[command(subcommand)]
    pub command: MonitorCommand,
}

/// What is done with the monitor.
#[derive(Debug, Subcommand)]
pub enum MonitorCommand {
    /// Collect counters into a store, until Ctrl-C or SIGTERM
    #[command(after_help = "\
REGISTRY lists the targets: SNMP agents (versions 2c and 3), and the interfaces and queue disciplines
of this host. docs/guide/monitor.md shows how to write one.

Examples:
  flowloom monitor run campus.toml -o campus-counters
  flowloom monitor run campus.toml -o campus-counters --metrics 127.0.0.1:9420")]
    Run(MonitorRun),
    /// Check a registry and ask each of its targets once
    #[command(after_help = "\
Exit code 1: a target does not answer. Exit code 2: the registry has errors.

Examples:
  flowloom monitor check campus.toml
  flowloom monitor check campus.toml --json | jq '.targets[] | select(.problem)'")]
    Check(MonitorCheck),
    /// List the series of a store
    #[command(after_help = "\
Examples:
  flowloom monitor list campus-counters
  flowloom monitor list campus-counters --json | jq '.series[].port'")]
    List(MonitorList),
    /// Print a period of a store as table, CSV or JSON
    #[command(after_help = "\
The store may be written meanwhile. Each row has the least, mean and greatest rate of its time, so
that no peak vanishes. A time is 2026-11-27, 2026-11-27T10:00 or 2026-11-27T10:00:05, in UTC.

Examples:
  flowloom monitor show campus-counters --target core-1 --port ge-0/0/1 --last 1h
  flowloom monitor show campus-counters --port 'ge-*' --counter in --from 2026-11-01 --to 2026-12-01
  flowloom monitor show campus-counters --counter in --last 24h --points 288 --format csv > day.csv")]
    Show(MonitorShow),
}

/// `flowloom monitor run`
#[derive(Clone, Debug, Args)]
pub struct MonitorRun {
    /// Registry (TOML)
    #[arg(value_name = "REGISTRY")]
    pub registry: PathBuf,
    /// Folder of the store; it may exist
    #[arg(short, long, value_name = "STORE")]
    pub output: PathBuf,
    /// How to watch it
    #[command(flatten)]
    pub watching: Watching,
}

/// `flowloom monitor check`
#[derive(Clone, Debug, Args)]
pub struct MonitorCheck {
    /// Registry (TOML)
    #[arg(value_name = "REGISTRY")]
    pub registry: PathBuf,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom monitor list`
#[derive(Clone, Debug, Args)]
pub struct MonitorList {
    /// Folder of the store
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom monitor show`
#[derive(Clone, Debug, Args)]
pub struct MonitorShow {
    /// Folder of the store
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// Target; * and ? stand for any characters and for one
    #[arg(long, value_name = "NAME", default_value = "*")]
    pub target: String,
    /// Port; * and ? stand for any characters and for one
    #[arg(long, value_name = "NAME", default_value = "*")]
    pub port: String,
    /// Counter: in, out, in-packets, ...; * and ? stand for any characters and for one
    #[arg(long, value_name = "NAME", default_value = "*")]
    pub counter: String,
    /// Length of the period that ends now
    #[arg(long, value_name = "TIME", default_value = "1h", conflicts_with_all = ["from", "to"], allow_hyphen_values = true)]
    pub last: Duration,
    /// Beginning of the period (UTC)
    #[arg(long, value_name = "UTC", value_parser = utc)]
    pub from: Option<u64>,
    /// End of the period (UTC) [default: now]
    #[arg(long, value_name = "UTC", value_parser = utc, requires = "from")]
    pub to: Option<u64>,
    /// Rows for each series at most [default: 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), allow_negative_numbers = true)]
    pub points: Option<u32>,
    /// Length of the intervals for the 95th percentile [default: those of the stored rows that were read]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub percentile: Option<Duration>,
    /// Form of the rows
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    pub format: HistoryForm,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// The form of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HistoryForm {
    /// Table for people
    #[default]
    Table,
    /// Comma-separated values
    Csv,
    /// JSON, as --json
    Json,
    /// File of rates of one counter, for `model queue` and for sources of experiments
    Rates,
}

fn utc(text: &str) -> Result<u64, String> {
    flowloom::store::monitor::utc_ns(text)
        .ok_or_else(|| "write 2026-11-27, 2026-11-27T10:00 or 2026-11-27T10:00:05 (UTC)".to_owned())
}
