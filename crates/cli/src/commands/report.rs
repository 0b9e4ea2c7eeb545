//! `flowloom report`: one self-contained HTML file of one or more runs.

use crate::exit::Exit;
use crate::output::Manner;
use crate::{args, interrupt, output};
use flowloom::results::{load_variants, write_report};
use flowloom::targets::{check_target, is_standard_output};
use flowloom::{Error, beside_each_other};

/// Runs the command.
pub fn run(args: &args::Report, manner: Manner) -> Result<Exit, Error> {
    let is_stream = is_standard_output(&args.output);
    if is_stream && args.open {
        return Err(Error::usage("--open shows a file, and -o - writes to standard output").hint("name a file with -o"));
    }
    check_target(&args.output, args.force, &args.runs)?;
    let variants = load_variants(&args.runs)?;
    let apart = beside_each_other(&variants)?;
    apart.warnings().for_each(|(cause, remedy)| manner.warn(cause, Some(remedy)));
    write_report(&variants, &args.output, args.force, interrupt::stop())?;
    if !manner.quiet && !is_stream {
        output::shown(&format!("report   {}\n", args.output.display()))?;
    }
    if args.open {
        open::that_detached(&args.output).map_err(|error| {
            Error::new(format_args!("{}: no browser could be started: {error}", args.output.display()))
                .hint("the report is there: open it by hand")
        })?;
    }
    Ok(Exit::Done)
}
