//! `flowloom live-guest`: starts a program inside a side of a live run, and ends what it leaves behind. The run starts it; it is of
//! no use to anyone else.

use flowloom_live::guests::keep_guest;

use crate::args;
use crate::failure::{Exit, Failure};

/// Runs the command.
pub fn run(args: &args::LiveGuest) -> Result<Exit, Failure> {
    let kept = keep_guest(args.run, args.namespace, args.host_namespace, args.stays, &args.command);
    kept.map(Exit::OfProgram).map_err(Failure::new)
}
