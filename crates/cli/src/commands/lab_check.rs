//! `flowloom lab check`: what a script will do.

use serde_json::json;

use flowloom::lab::script::expand::whole;
use flowloom::lab::script::explain::{explain, remarks, text};
use flowloom::lab::script::parser::Mode;

use crate::exit::Exit;
use crate::output::Manner;
use crate::{args, scripts};
use flowloom::Error;

/// Runs the command.
pub fn run(args: &args::LabCheck, manner: Manner) -> Result<Exit, Error> {
    let mode = if args.strict { Mode::Strict } else { Mode::Lenient };
    let (name, script) = scripts::read(&args.script)?;
    manner.start("lab check")?;
    let whole = whole(&name, &script, mode, &mut scripts::included);
    let explained = match whole.block {
        Some(block) => explain(&whole.files, &block, whole.found),
        None => Err([whole.found, remarks(&whole.part)].concat()),
    };
    let (explanation, found) = match explained {
        Ok((explanation, found)) => (Some(explanation), found),
        Err(found) => (None, found),
    };
    let is_good = scripts::tell(&whole.files, &found, manner.quiet);
    let Some(explanation) = explanation.filter(|_| is_good) else { return Ok(Exit::Usage) };
    manner.answer(|| json!(explanation), || text(&explanation))?;
    Ok(Exit::Done)
}
