//! `flowloom lab-keeper`: runs a program that an agent's keeper has put on its list, and ends what it leaves behind. The agent starts it;
//! it is of no use to anyone else.

use flowloom::live::guests::keep;

use crate::args;
use crate::exit::Exit;
use flowloom::Error;

/// Runs the command.
pub fn run(args: &args::LabKeeper) -> Result<Exit, Error> {
    let kept = keep(args.parent, false, &args.command, || Ok(()));
    kept.map(Exit::OfProgram).map_err(Error::new)
}
