//! `flowloom completions`: a script that completes commands and options in a shell.

use clap_complete::generate;

use flowloom::Error;

use crate::exit::Exit;
use crate::{args, help, output};

/// Runs the command.
pub fn run(args: &args::Completions) -> Result<Exit, Error> {
    let mut script = Vec::new();
    generate(args.shell, &mut help::public(), "flowloom", &mut script);
    output::text(&String::from_utf8_lossy(&script)).map(|()| Exit::Done)
}
