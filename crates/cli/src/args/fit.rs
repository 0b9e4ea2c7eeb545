//! `flowloom fit`

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use flowloom_core::time::Duration;
use flowloom_report::fit::FitVariable;

use super::{Capture, Form};
use crate::experiment::Quantity;

/// `flowloom fit`
#[derive(Debug, Args)]
pub struct Fit {
    /// A capture, a workload or another file of vectors; "-" reads a capture from standard input
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// A variable to fit; may be repeated [default: all that have values]
    #[arg(long = "variable", value_name = "NAME", value_parser = fit_variables())]
    pub variables: Vec<FitVariable>,
    /// The parameters of a traffic model instead of laws
    #[arg(long, value_enum, value_name = "MODEL", conflicts_with = "variables")]
    pub model: Option<FittedModel>,
    /// Also write one self-contained HTML file with pictures; of a model its configuration
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Of --model swing
    #[command(flatten)]
    pub swing: SwingFit,
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
    /// Users, their exchanges, connections and paths (Vishwanath and Vahdat 2009), as JSON
    Swing,
}

/// How connections are grouped for Swing.
#[derive(Clone, Debug, Args)]
pub struct SwingFit {
    /// A connection that starts so long after its client's one before, or sooner, belongs to the same exchange [default: 30s]
    #[arg(long, requires = "model", value_name = "TIME", allow_hyphen_values = true)]
    pub rre_gap: Option<Quantity<Duration>>,
    /// And to the same session [default: 300s]
    #[arg(long, requires = "model", value_name = "TIME", allow_hyphen_values = true)]
    pub session_gap: Option<Quantity<Duration>>,
    /// Sessions of a client and an application, by the acceptor's port, instead of a client
    #[arg(long, requires = "model")]
    pub per_class: bool,
}

/// Variables that laws are fitted to, by name.
fn fit_variables() -> impl TypedValueParser<Value = FitVariable> {
    PossibleValuesParser::new(FitVariable::ALL.map(FitVariable::name))
        .try_map(|typed| FitVariable::ALL.into_iter().find(|variable| variable.name() == typed).ok_or("unknown"))
}
