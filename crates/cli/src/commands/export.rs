//! `flowloom convert` of a run folder: its results in the form of another tool.

use std::collections::BTreeMap;
use std::path::Path;

use flowloom::report::export::Form;
use serde_json::json;

use crate::args::{self, Target};
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Manner;
use flowloom::Error;
use flowloom::input::{self, Kind};
use flowloom::results::load_all;
use flowloom::targets::{check_target, write_page};

/// Runs the command.
pub fn run(args: &args::Convert, output: Option<&Path>, manner: Manner) -> Result<Exit, Error> {
    let to = target(args.to, output)?;
    let [folder] = &args.inputs[..] else {
        return Err(Error::usage("results are written of one run at a time").hint("convert each by itself"));
    };
    input::refuse_idle_options(&args.capture.options(), Kind::RunFolder, folder)?;
    let idle = [
        ("--adus", args.adus),
        ("--rtt", args.rtt.is_some()),
        ("--hosts", args.hosts.hosts.is_some()),
        ("--key", args.hosts.key.is_some()),
        ("--keep-special", args.hosts.keep_special),
    ];
    if let Some((option, _)) = idle.into_iter().find(|(_, given)| *given) {
        return Err(Error::usage(format_args!("{option} is about vectors, and {} is a run folder", folder.display()))
            .hint("leave it out"));
    }
    if let Some(path) = output {
        check_target(path, args.force, &args.inputs)?;
    }
    manner.start("convert")?;
    let runs = load_all(&args.inputs)?;
    let [run] = &runs[..] else {
        let first = runs.first().map_or("", |run| &run.name);
        return Err(Error::usage(format_args!("{} holds {} runs", folder.display(), runs.len()))
            .hint(format_args!("convert one of them, for example {first}")));
    };
    write_page(&args.output, args.force, interrupt::stop(), |out| to.write(run, out))?;
    let Some(path) = output else { return Ok(Exit::Done) };
    let (name, left_out) = (name(to), to.left_out(run));
    manner.answer(
        || {
            let unfinished: BTreeMap<_, _> = left_out.iter().map(|one| (one.name, one.unfinished)).collect();
            json!({
                "from": Kind::RunFolder.name(),
                "to": name,
                "connections": run.measurements.outcomes.started(),
                "unfinished": unfinished,
            })
        },
        || {
            let left_out: String = left_out.iter().map(|one| format!("  unfinished {one}\n")).collect();
            format!("{name:<11} {}\n{left_out}", path.display())
        },
    )?;
    Ok(Exit::Done)
}

fn name(form: Form) -> &'static str {
    Form::ALL.into_iter().find(|(.., known)| *known == form).map_or("", |(name, ..)| name)
}

/// The form to write.
fn target(to: Option<Target>, output: Option<&Path>) -> Result<Form, Error> {
    let forms = || Form::ALL.map(|(name, ending, _)| format!("{name} ({ending})")).join(", ");
    match (to, output) {
        (Some(Target::Results(form)), _) => Ok(form),
        (Some(Target::Vectors(_)), _) => Err(Error::usage("that form is of vectors, and the input is a run folder")
            .note(format_args!("forms of results: {}", forms()))
            .hint("give the workload, or one of these forms")),
        (None, None) => Err(Error::usage("which form should go to standard output?")
            .note(format_args!("known: {}", forms()))
            .hint("say it with --to, as in --to iperf3")),
        (None, Some(path)) => Form::of_name(&path.to_string_lossy()).ok_or_else(|| {
            Error::usage(format_args!("{}: no form of results is known by this ending", path.display()))
                .note(format_args!("known: {}", forms()))
                .hint("say it with --to")
        }),
    }
}
