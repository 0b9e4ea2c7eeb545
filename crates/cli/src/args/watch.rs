//! `flowloom watch`.

use std::path::PathBuf;

use clap::Args;

use super::shared::Form;

/// `flowloom watch`
#[derive(Clone, Debug, Args)]
pub struct Watch {
    /// Folder in which the runs are, or the unfinished folder of one
    #[arg(value_name = "DIR", default_value = "runs")]
    pub folder: PathBuf,
    /// Print a line for each run and second, until no run goes on
    #[arg(long)]
    pub follow: bool,
    /// Ask these runs to stop and keep what they measured
    #[arg(long, conflicts_with = "follow")]
    pub stop: bool,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}
