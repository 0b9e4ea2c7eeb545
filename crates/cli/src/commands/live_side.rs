//! `flowloom live-side`: a side of a run on another host. An agent starts it; it is of no use to anyone else.

use flowloom::live::remote::side::{Allowed, process};

use crate::args;
use crate::commands::program;
use crate::exit::Exit;
use flowloom::Error;

/// Runs the command.
pub fn run(args: &args::LiveSide) -> Result<Exit, Error> {
    let allowed = Allowed { emulator: args.emulator, most: args.rate };
    process(&program("live-worker")?, allowed).map_err(|error| Error::new(format!("live side: {error}")))?;
    Ok(Exit::Done)
}
