//! `flowloom overhead`: what datagrams cost on a line.

use flowloom::report::html;
use flowloom::report::overhead::text::overhead_text;
use flowloom::targets::{check_target, write_result};
use flowloom::{Datagrams, Error, OverheadOptions, overhead};
use serde_json::json;

use crate::args;
use crate::exit::Exit;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Overhead, manner: Manner) -> Result<Exit, Error> {
    let datagrams = match (&args.lengths, &args.input) {
        (Some(name), _) => Datagrams::BuiltIn(name),
        (None, Some(input)) => Datagrams::File(input),
        (None, None) => return Err(Error::usage("neither a file nor --lengths")),
    };
    let options = OverheadOptions {
        stacks: args.stacks.clone(),
        payloads: args.payloads.range(),
        capture: args.capture.options(),
    };
    let manner = manner.beside(&args.html)?;
    if let Some(path) = &args.html {
        check_target(path, args.force, args.input.as_slice())?;
    }
    let observer = manner.observer();
    let context = observer.context();
    manner.start("overhead")?;
    let found = overhead(datagrams, &options, context)?;
    let page = args.html.as_ref().map(|path| {
        write_result(path, args.force, !found.interrupted, context, |out| html::write_overhead(&found, out))
    });
    let page = page.transpose()?;
    let text = || {
        let page = page.as_ref().map(|path| format!("\npictures      {}\n", path.display()));
        overhead_text(&found) + &page.unwrap_or_default()
    };
    manner.answer(|| json!(found), text)?;
    Ok(if found.interrupted { Exit::Invalid } else { Exit::Done })
}
