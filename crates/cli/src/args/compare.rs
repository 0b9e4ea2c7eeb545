//! Options of `compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use flowloom::report::compare::{Margin, Options, Pairing};
use flowloom::report::metric::Metric;
use flowloom::report::statistics::Correction;

/// `flowloom compare`
#[derive(Debug, Args)]
pub struct Compare {
    /// Run folders: one to compare with its original, or several, the first as the reference; also results of iperf3 (--json)
    /// and flent (.flent.gz)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Reference runs for the runs before this option: two groups, each with the seeds of one experiment
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub against: Vec<PathBuf>,
    /// Compare all pairs instead of each with the first
    #[arg(long, conflicts_with = "against")]
    pub all_pairs: bool,
    /// Metrics to compare, separated by commas [default: all]: duration, response_time, active_connections,
    /// throughput_from_left, throughput_from_right, packet_arrivals, goodput, round_trip_time, adu_size, queue_from_left,
    /// queue_from_right, queue_delay_from_left, queue_delay_from_right, dead_cells_from_left, dead_cells_from_right, probe_round_trip,
    /// probe_request
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    pub metric: Vec<Metric>,
    /// Differences to ignore: 5%, 1ms or 1ms,5% [default: 2%, but at least 0.5 ms for times and 0.5 for counts]
    #[arg(long, value_name = "MARGIN")]
    pub margin: Option<Margin>,
    /// Confidence level of the intervals, in percent (50 to 99.99)
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    pub confidence: f64,
    /// Correction for multiple tests: holm (family-wise error), bh (false discovery rate) or none
    #[arg(long, value_name = "NAME", default_value = "holm")]
    pub correction: Correction,
    /// Whether to pair runs with equal seeds
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub pairing: PairingChoice,
    /// Exit with code 4 on a difference in durations, response times, active connections or throughput (with --metric: in its
    /// metrics), or with RULES.toml on a violated rule (docs/guide/comparison.md)
    #[arg(long, value_name = "RULES.toml", num_args = 0..=1)]
    pub check: Option<Option<PathBuf>>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Simulate one run with and without each behaviour that a replay can leave out, to show what makes it differ from its original
    #[arg(
        long,
        conflicts_with_all = ["against", "all_pairs", "metric", "margin", "confidence", "correction", "pairing", "check"],
        help_heading = "Explanation"
    )]
    pub explain: bool,
    /// Also write one self-contained HTML file with plots: the report of the runs, or with --explain the explanation; "-" writes
    /// standard output instead
    #[arg(long, short = 'o', alias = "output", value_name = "FILE", conflicts_with = "against")]
    pub html: Option<PathBuf>,
    /// Replace the HTML file if it exists
    #[arg(long, requires = "html")]
    pub force: bool,
    /// Number of simulations to run in parallel [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true, requires = "explain", help_heading = "Explanation")]
    pub jobs: Option<u16>,
}

/// Whether runs of equal seeds are compared with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PairingChoice {
    /// Pair them if they replay equal workloads
    #[default]
    Auto,
    /// Pair them; fail if they cannot be paired
    Paired,
    /// Never pair them
    Unpaired,
}

fn confidence(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.trim_end_matches('%').trim().parse().ok();
    match percent.filter(|percent| (50.0..=99.99).contains(percent)) {
        Some(percent) => Ok(percent / 100.0),
        None => Err("it is from 50 to 99.99".to_owned()),
    }
}

impl Compare {
    /// The options of the comparison.
    pub fn options(&self) -> Options {
        Options {
            confidence: self.confidence,
            margin: self.margin.unwrap_or_default(),
            correction: self.correction,
            pairing: match self.pairing {
                PairingChoice::Auto => Pairing::Auto,
                PairingChoice::Paired => Pairing::Paired,
                PairingChoice::Unpaired => Pairing::Unpaired,
            },
            metrics: self.metric.clone(),
            all_pairs: self.all_pairs,
            ..Options::default()
        }
    }
}
