//! `flowloom report`: one self-contained HTML file of one or more runs.

use crate::exit::Exit;
use crate::{args, output};
use flowloom::Error;
use flowloom::results::{check_target, load_variants, write_report};

/// Runs the command.
pub fn run(args: &args::Report, quiet: bool) -> Result<Exit, Error> {
    check_target(&args.output, args.force)?;
    write_report(&load_variants(&args.runs)?, &args.output)?;
    if !quiet {
        output::text(&format!("report   {}\n", args.output.display()))?;
    }
    if args.open {
        open::that_detached(&args.output).map_err(|error| {
            Error::new(format_args!("{}: no browser could be started: {error}", args.output.display()))
                .hint("the report is there: open it by hand")
        })?;
    }
    Ok(Exit::Done)
}
