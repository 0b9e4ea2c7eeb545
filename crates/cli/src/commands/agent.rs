//! `flowloom agent`: serves controllers of its lab until it is asked to end.

use flowloom_lab::agent::Programs;
use flowloom_lab::blocking;

use crate::args;
use crate::commands::lab_members::failure;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::live::program;

/// Runs the command.
pub fn run(args: &args::Agent, quiet: bool) -> Result<Exit, Failure> {
    let programs =
        Programs { keeper: program("lab-keeper")?, side: program("live-side")?, share: program("live-share")? };
    blocking::agent(
        &args.dir,
        args.listen,
        programs,
        |who, address, notices| {
            if !quiet {
                eprintln!("{who} listens on {address}");
            }
            for notice in notices {
                eprintln!("warning: {notice}");
            }
        },
        interrupt::requested,
    )
    .map_err(failure)?;
    Ok(Exit::Done)
}
