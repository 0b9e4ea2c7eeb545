//! `flowloom fit`

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use flowloom_core::time::Duration;
use flowloom_models::generate::harpoon::Block;
use flowloom_report::fit::FitVariable;

use super::{Capture, Form, whole};
use flowloom::experiment::Quantity;

/// `flowloom fit`
#[derive(Debug, Args)]
pub struct Fit {
    /// A capture, a workload or another file of vectors; "-" reads a capture from standard input
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// A variable to fit; may be repeated [default: all that have values]
    #[arg(long = "variable", value_name = "NAME", value_parser = fit_variables())]
    pub variables: Vec<FitVariable>,
    /// Fit this traffic model instead of distributions
    #[arg(long, value_enum, value_name = "MODEL", conflicts_with = "variables")]
    pub model: Option<FittedModel>,
    /// Also write one self-contained HTML file with pictures; of a model its configuration
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// For models: gap between the starts of connections that separates sessions [default: 300s]
    #[arg(long, requires = "model", value_name = "TIME", allow_hyphen_values = true)]
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
    /// Sessions that transfer files (Sommers and Barford 2004), as XML
    Harpoon,
    /// Users, their exchanges, connections and paths (Vishwanath and Vahdat 2009), as JSON
    Swing,
}

/// How connections are grouped for Swing.
#[derive(Clone, Debug, Args)]
pub struct SwingFit {
    /// Longest gap between the starts of two connections of one exchange [default: 30s]
    #[arg(long, requires = "model", value_name = "TIME", allow_hyphen_values = true)]
    pub rre_gap: Option<Quantity<Duration>>,
    /// Separate the sessions of a client by application (port of the acceptor)
    #[arg(long, requires = "model")]
    pub per_class: bool,
}

/// How Harpoon is configured.
#[derive(Clone, Debug, Args)]
pub struct HarpoonFit {
    /// Length of a Harpoon interval [default: 300s, or the length of a shorter input]
    #[arg(long, requires = "model", value_name = "TIME", allow_hyphen_values = true)]
    pub interval: Option<Quantity<Duration>>,
    /// Addresses of the hosts on the left of the link [default: 10.1.0.0/16]
    #[arg(long, requires = "model", value_name = "PREFIX")]
    pub left_pool: Option<Block>,
    /// Addresses of the hosts on the right of the link [default: 10.2.0.0/16]
    #[arg(long, requires = "model", value_name = "PREFIX")]
    pub right_pool: Option<Block>,
    /// Write a file for each side of the link, FILE-left.xml and FILE-right.xml, as Harpoon's machines need them
    #[arg(long, requires_all = ["model", "output"])]
    pub per_side: bool,
    /// Seed of the trials that count sessions [default: 1]
    #[arg(long, requires = "model", value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub seed: Option<u64>,
}

/// Variables that laws are fitted to, by name.
fn fit_variables() -> impl TypedValueParser<Value = FitVariable> {
    PossibleValuesParser::new(FitVariable::ALL.map(FitVariable::name))
        .try_map(|typed| FitVariable::ALL.into_iter().find(|variable| variable.name() == typed).ok_or("unknown"))
}
