//! `flowloom live-worker`: a worker process of a live run. The run starts it; it is of no use to anyone else.

use flowloom::live::worker;

use crate::args;
use crate::exit::Exit;
use flowloom::Error;

/// Runs the command.
pub fn run(args: &args::LiveWorker) -> Result<Exit, Error> {
    worker::process(args.namespace).map_err(|error| Error::new(format!("live worker: {error}")))?;
    Ok(Exit::Done)
}
