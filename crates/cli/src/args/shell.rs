//! `flowloom shell`.

use std::path::PathBuf;

use clap::Args;
use flowloom::experiment::MOST_HOSTS;

use super::settings::Settings;
use super::shared::{GuestSide, Watching};

/// `flowloom shell`
#[derive(Clone, Debug, Args)]
pub struct Shell {
    /// Experiment with the network and the background traffic
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: PathBuf,
    /// Side of the link for the program
    #[arg(long, value_enum, default_value_t, value_name = "SIDE")]
    pub side: GuestSide,
    /// Run the program on COUNT hosts of that side, each with its own addresses and TCP
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=i64::from(MOST_HOSTS)))]
    pub hosts: Option<u8>,
    /// Shell command (sh -c) for the other side, killed at the end of the program
    #[arg(long, value_name = "COMMAND")]
    pub peer: Option<String>,
    /// Run folder to write [default: runs/NAME-DATE-TIME]
    #[arg(short, long, value_name = "RUN")]
    pub output: Option<PathBuf>,
    /// Replace the run folder if it exists
    #[arg(long)]
    pub force: bool,
    /// Values that replace those of the experiment
    #[command(flatten)]
    pub settings: Settings,
    /// How to watch it
    #[command(flatten)]
    pub watching: Watching,
    /// Program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}
