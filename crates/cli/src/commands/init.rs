//! `flowloom init`: write a commented experiment to begin with.

use std::path::{Path, PathBuf};

use flowloom::input::{self, Kind};
use flowloom::targets::{check_target, is_standard_output, write_page};
use flowloom::{Error, InitOptions, init};

use crate::args;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::{self, Manner};

/// Runs the command.
pub fn run(args: &args::Init, manner: impl Fn(args::Form) -> Manner) -> Result<Exit, Error> {
    let manner = manner(args::Form { json: false, json_stream: false });
    let to_output = is_standard_output(&args.output);
    let folder = args.output.parent().unwrap_or(Path::new("")).to_owned();
    if !to_output {
        check_output(args)?;
    }
    let options = InitOptions { source: args.from.clone(), capture: args.capture.options(), folder };
    let text = init(&options, manner.observer().context())?;
    write_page(&args.output, args.force, interrupt::stop(), |out| out.write_all(text.as_bytes()))?;
    if to_output {
        return Ok(Exit::Done);
    }
    let (file, next) = (args.output.display(), options.command(&args.output));
    output::shown(&format!("experiment  {file}        next  {next}\n"))?;
    Ok(Exit::Done)
}

/// Refuses a name that no experiment has, and to replace what is no experiment, the source before all.
fn check_output(args: &args::Init) -> Result<(), Error> {
    let output = &args.output;
    if input::kind(output) != Kind::Experiment && !output.exists() {
        return Err(Error::usage(format_args!("{}: names of experiments end in .toml", output.display())));
    }
    check_target(output, args.force, &[])?;
    if !output.is_file() || input::kind(output) == Kind::Experiment {
        let inputs: Vec<PathBuf> = args.from.iter().cloned().collect();
        return check_target(output, args.force, &inputs);
    }
    Err(Error::new(format_args!("{}: this is no experiment, and is not replaced", output.display()))
        .hint("-o names another file"))
}
