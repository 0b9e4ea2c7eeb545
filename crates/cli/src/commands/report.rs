//! `flowloom report`: one self-contained HTML file of one or more runs.

use crate::args;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::results::{load_variants, write_report};

/// Runs the command.
pub fn run(args: &args::Report, quiet: bool) -> Result<Exit, Failure> {
    write_report(&load_variants(&args.runs)?, &args.output)?;
    if !quiet {
        output::text(&format!("report   {}\n", args.output.display()))?;
    }
    if args.open {
        open::that_detached(&args.output).map_err(|error| {
            Failure::new(format_args!("{}: no browser could be started: {error}", args.output.display()))
                .hint("the report is there: open it by hand")
        })?;
    }
    Ok(Exit::Done)
}
