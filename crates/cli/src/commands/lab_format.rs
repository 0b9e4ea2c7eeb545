//! `flowloom lab format`: the layout of scripts, and their other form.

use std::path::Path;

use flowloom::lab::script::expand::is_toml;
use flowloom::lab::script::format::{format, has_comments};
use flowloom::lab::script::parser::{Mode, fragment};
use flowloom::lab::script::place::Files;
use flowloom::lab::script::toml_form;

use crate::args::{self, ScriptForm};
use crate::exit::Exit;
use crate::interrupt;
use crate::output::{self, Manner};
use crate::scripts;
use flowloom::Error;
use flowloom::targets::{check_target, write_page};

/// Runs the command.
pub fn run(args: &args::LabFormat, manner: Manner) -> Result<Exit, Error> {
    if args.check {
        return check(args, manner);
    }
    let [script] = args.scripts.as_slice() else {
        return Err(Error::usage("several scripts cannot be written to one place")
            .hint("--check takes several; otherwise give one at a time"));
    };
    if let Some(path) = &args.output {
        // A script may be laid out in its own place: it is read as a whole before.
        check_target(path, args.force, &[])?;
    }
    let Some((_, formatted)) = formatted(script, args.to, manner)? else { return Ok(Exit::Usage) };
    match &args.output {
        Some(path) => write_page(path, args.force, interrupt::stop(), |out| out.write_all(formatted.as_bytes()))?,
        None => output::text(&formatted)?,
    }
    Ok(Exit::Done)
}

/// Says which scripts are laid out otherwise.
fn check(args: &args::LabFormat, manner: Manner) -> Result<Exit, Error> {
    let mut exit = Exit::Done;
    for script in &args.scripts {
        let laid_out = formatted(script, None, Manner { quiet: true, ..manner })?;
        let Some((text, formatted)) = laid_out else { return Ok(Exit::Usage) };
        if text == formatted {
            continue;
        }
        exit = Exit::Different;
        let same = text.lines().zip(formatted.lines()).take_while(|(one, other)| one == other).count();
        if !manner.quiet {
            output::shown(&format!("{}: laid out otherwise from line {} on\n", script.display(), same + 1))?;
        }
    }
    Ok(exit)
}

/// The text of a script, and how it is laid out in its form or in another; nothing of one with errors, which are printed.
fn formatted(script: &Path, to: Option<ScriptForm>, manner: Manner) -> Result<Option<(String, String)>, Error> {
    let (name, text) = scripts::read(script)?;
    let mut files = Files::new();
    let file = files.add(&name, &text, None);
    let from = if is_toml(&name) { ScriptForm::Toml } else { ScriptForm::Netspec };
    let (body, found) = match from {
        ScriptForm::Toml => toml_form::read(&files, file),
        ScriptForm::Netspec => fragment(&files, file, Mode::Lenient),
    };
    if !scripts::tell(&files, &found, manner.quiet) {
        return Ok(None);
    }
    let to = to.unwrap_or(from);
    let comments = match from {
        ScriptForm::Toml => text.lines().any(|line| line.trim_start().starts_with('#')),
        ScriptForm::Netspec => has_comments(&body),
    };
    if comments && (from, to) != (ScriptForm::Netspec, ScriptForm::Netspec) {
        manner.warn("comments are lost in TOML", Some("keep the script that they are in"));
    }
    let formatted = match to {
        ScriptForm::Toml => toml_form::write(&body),
        ScriptForm::Netspec => format(&body),
    };
    Ok(Some((text, formatted)))
}
