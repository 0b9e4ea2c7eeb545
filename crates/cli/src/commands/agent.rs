//! `flowloom agent`: serves controllers of its lab until it is asked to end.

use flowloom::lab::agent::Programs;
use flowloom::lab::blocking;

use crate::commands::program;
use crate::exit::Exit;
use crate::{args, interrupt};
use flowloom::Error;
use flowloom::run::of_lab;

/// Runs the command.
pub fn run(args: &args::Agent, quiet: bool) -> Result<Exit, Error> {
    let programs =
        Programs { keeper: program("lab-keeper")?, side: program("live-side")?, share: program("live-share")? };
    blocking::agent(
        &args.dir,
        args.listen,
        programs,
        |who, address, notices| {
            if !quiet {
                tell!("{who} listens on {address}");
            }
            for notice in notices {
                tell!("warning: {notice}");
            }
        },
        || interrupt::stop().is_requested(),
    )
    .map_err(of_lab)?;
    Ok(Exit::Done)
}
