//! `flowloom live-guest`: becomes a program inside a side of a live run. The run starts it; it is of no use to anyone else.

use flowloom_live::guests::become_guest;

use crate::args;
use crate::failure::{Exit, Failure};

/// Runs the command.
pub fn run(args: &args::LiveGuest) -> Result<Exit, Failure> {
    match become_guest(args.namespace, args.host_namespace, &args.command) {
        Err(error) => Err(Failure::new(error)),
    }
}
