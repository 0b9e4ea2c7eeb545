//! `flowloom init`: write a commented experiment to begin with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use flowloom::{Error, InitOptions, init};

use crate::args;
use crate::exit::Exit;
use crate::output::{self, Manner};

/// Runs the command.
pub fn run(args: &args::Init, manner: impl Fn(args::Form) -> Manner) -> Result<Exit, Error> {
    let manner = manner(args::Form { json: false, json_stream: false });
    let to_output = args.output == Path::new("-");
    let folder = args.output.parent().unwrap_or(Path::new("")).to_owned();
    if !to_output && !args.force && args.output.exists() {
        return Err(Error::exists(&args.output));
    }
    let options = InitOptions { source: args.from.clone(), capture: args.capture.options(), folder };
    let text = init(&options, manner.observer().context())?;
    if to_output {
        output::text(&text)?;
        return Ok(Exit::Done);
    }
    write(&args.output, &text, args.force)?;
    let file = args.output.display();
    output::text(&format!("experiment  {file}        next  flowloom run {file}\n"))?;
    Ok(Exit::Done)
}

fn write(path: &Path, text: &str, replace: bool) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).create_new(!replace);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::exists(path),
        _ => Error::new(format_args!("{}: {error}", path.display())),
    })
}
