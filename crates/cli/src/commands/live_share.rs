//! `flowloom live-share`: a side of a share of a workload, which it plays with another host. An agent starts it; it is of no use to anyone else.

use flowloom::live::remote::peer::process;
use flowloom::store::workload::WorkloadReader;

use crate::commands::program;
use crate::exit::Exit;
use flowloom::Error;

/// Runs the command.
pub fn run() -> Result<Exit, Error> {
    process(&program("live-worker")?, WorkloadReader::open)
        .map_err(|error| Error::new(format!("live share: {error}")))?;
    Ok(Exit::Done)
}
