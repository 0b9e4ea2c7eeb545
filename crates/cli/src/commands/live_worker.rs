//! `flowloom live-worker`: a worker process of a live run. The run starts it; it is of no use to anyone else.

use flowloom_live::worker;

use crate::args;
use crate::failure::{Exit, Failure};

/// Runs the command.
pub fn run(args: &args::LiveWorker) -> Result<Exit, Failure> {
    worker::process(args.namespace).map_err(|error| Failure::new(format!("live worker: {error}")))?;
    Ok(Exit::Done)
}
