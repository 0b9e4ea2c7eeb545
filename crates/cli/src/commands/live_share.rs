//! `flowloom live-share`: a side of a share of a workload, which it plays with another host. An agent starts it; it is of no use to anyone else.

use flowloom_live::elsewhere::share::process;
use flowloom_store::workload::WorkloadReader;

use crate::failure::{Exit, Failure};
use crate::live::program;

/// Runs the command.
pub fn run() -> Result<Exit, Failure> {
    process(&program("live-worker")?, WorkloadReader::open)
        .map_err(|error| Failure::new(format!("live share: {error}")))?;
    Ok(Exit::Done)
}
