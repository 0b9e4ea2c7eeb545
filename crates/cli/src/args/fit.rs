//! `flowloom fit`

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use flowloom::models::generate::harpoon::Block;
use flowloom::report::fit::FitVariable;
use flowloom::time::Duration;

use super::shared::{Capture, Form, whole};
use flowloom::experiment::Quantity;

/// `flowloom fit`
#[derive(Debug, Args)]
pub struct Fit {
    /// Capture, workload or other vector file; "-" reads a capture from standard input
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Variable to fit; may be repeated [default: all with values]
    #[arg(long = "variable", value_name = "NAME", value_parser = fit_variables())]
    pub variables: Vec<FitVariable>,
    /// Fit this traffic model instead of distributions
    #[arg(long, value_enum, value_name = "MODEL", conflicts_with = "variables")]
    pub model: Option<FittedModel>,
    /// Write an experiment with the fitted distributions; for --model, the configuration of that model; "-" writes standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "variables")]
    pub output: Option<PathBuf>,
    /// Also write one self-contained HTML file with plots
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub html: Option<PathBuf>,
    /// Replace output files that exist
    #[arg(long)]
    pub force: bool,
    /// Gap between connection starts from which a new session begins [default: 300s]
    #[arg(long, help_heading = "Fitting a model", requires = "model", value_name = "TIME", allow_hyphen_values = true)]
    pub session_gap: Option<Quantity<Duration>>,
    /// Of --model swing
    #[command(flatten)]
    pub swing: SwingFit,
    /// Of --model harpoon
    #[command(flatten)]
    pub harpoon: HarpoonFit,
    /// How to read a capture
    #[command(flatten)]
    pub capture: Capture,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// Models whose parameters are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FittedModel {
    /// Sessions of file transfers, as XML (Sommers and Barford 2004)
    Harpoon,
    /// Users, their exchanges, connections and paths, as JSON (Vishwanath and Vahdat 2009)
    Swing,
}

/// How connections are grouped for Swing.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Fitting Swing")]
pub struct SwingFit {
    /// Longest gap between connection starts within a request-response exchange (RRE) [default: 30s]
    #[arg(long, requires = "model", value_name = "TIME", allow_hyphen_values = true)]
    pub rre_gap: Option<Quantity<Duration>>,
    /// Separate the sessions of a client by application (acceptor's port)
    #[arg(long, requires = "model")]
    pub per_class: bool,
}

/// How Harpoon is configured.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Fitting Harpoon")]
pub struct HarpoonFit {
    /// Length of a Harpoon interval [default: 300s, or the length of a shorter input]
    #[arg(long, requires = "model", value_name = "TIME", allow_hyphen_values = true)]
    pub interval: Option<Quantity<Duration>>,
    /// Address pool of the hosts on the left of the link [default: 10.1.0.0/16]
    #[arg(long, requires = "model", value_name = "PREFIX")]
    pub left_pool: Option<Block>,
    /// Address pool of the hosts on the right of the link [default: 10.2.0.0/16]
    #[arg(long, requires = "model", value_name = "PREFIX")]
    pub right_pool: Option<Block>,
    /// Write a file for the Harpoon machines of each side: FILE-left.xml and FILE-right.xml
    #[arg(long, requires_all = ["model", "output"])]
    pub per_side: bool,
    /// Random seed for the search for the number of sessions [default: 1]
    #[arg(long, requires = "model", value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub seed: Option<u64>,
}

/// Variables for fitted distributions, by name.
fn fit_variables() -> impl TypedValueParser<Value = FitVariable> {
    PossibleValuesParser::new(FitVariable::ALL.map(FitVariable::name))
        .try_map(|typed| FitVariable::ALL.into_iter().find(|variable| variable.name() == typed).ok_or("unknown"))
}
