//! `flowloom live-guest`: starts a program inside a side of a live run, and ends what it leaves behind. The run starts it; it is of
//! no use to anyone else.

use flowloom::live::guests::keep_guest;

use crate::args;
use crate::exit::Exit;
use flowloom::Error;

/// Runs the command.
pub fn run(args: &args::LiveGuest) -> Result<Exit, Error> {
    let kept = keep_guest(args.run, args.namespace, args.host_namespace, args.stays, &args.command);
    kept.map(Exit::OfProgram).map_err(Error::new)
}
