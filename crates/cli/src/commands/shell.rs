//! `flowloom shell`: a program of the user's inside a side of a live run.

use std::io::ErrorKind;
use std::path::Path;
use std::slice;

use flowloom::core::workload::LinkSide;
use flowloom::input::{self, Kind};
use flowloom::live::guests::Guest;
use flowloom::report::text::link_text;
use flowloom::results::REPORT_FILE;
use flowloom::{Driver, Error, RunOptions, run_files};

use crate::args::{self, Form};
use crate::commands::this_program;
use crate::diagnostics::one_line;
use crate::exit::Exit;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Shell, verbose: bool) -> Result<Exit, Error> {
    refuse_others(&args.experiment)?;
    let side = match args.side {
        args::GuestSide::Left => LinkSide::Left,
        args::GuestSide::Right => LinkSide::Right,
    };
    let peer = args.peer.iter().map(|command| Guest {
        side: side.other(),
        host: None,
        command: vec!["sh".into(), "-c".into(), command.into()],
        is_host: false,
    });
    let places: Vec<Option<u8>> = args.hosts.map_or(vec![None], |hosts| (0..hosts).map(Some).collect());
    let programs = places.into_iter().map(|host| Guest { side, host, command: args.command.clone(), is_host: true });
    let options = RunOptions {
        target: args.output.clone(),
        replace: args.force,
        on: Driver::Live,
        program: this_program()?,
        settings: args.settings.all()?,
        guests: peer.chain(programs).collect(),
        metrics: args.watching.metrics,
        push: args.watching.push()?,
        ..RunOptions::default()
    };
    // The terminal is the program's.
    let manner = Manner { quiet: true, verbose, form: Form { json: false, json_stream: false }, gives_way: false };
    let ran = run_files(slice::from_ref(&args.experiment), &options, manner.observer().context())?;
    let Some(code) = ran.guest_code else {
        return Ok(if ran.is_invalid() { Exit::Invalid } else { Exit::Done });
    };
    if let Some(conclusion) = ran.conclusions.first() {
        let accounted = &conclusion.summary.verdict.accounted;
        tell!("flowloom: {}; run {1}, report {1}/{REPORT_FILE}", accounted.word, ran.folder.display());
        accounted.reasons.iter().for_each(|why| tell!("  because {}", one_line(why)));
        tell_as_is!("{}", link_text(&conclusion.summary, side));
    }
    Ok(Exit::OfProgram(code))
}

/// Refuses what is no experiment: a program runs over the link of one.
fn refuse_others(path: &Path) -> Result<(), Error> {
    let shown = path.display();
    if let Err(error) = std::fs::metadata(path) {
        return Err(match error.kind() {
            ErrorKind::NotFound => Error::new(format_args!("{shown}: there is no such file"))
                .hint("shell runs a program over the link of an experiment (.toml); flowloom init writes one"),
            _ => Error::new(format_args!("{shown}: {error}")),
        });
    }
    match input::kind(path) {
        Kind::Experiment => Ok(()),
        kind => Err(Error::usage(format_args!("{shown} is {}, and shell takes an experiment (.toml)", kind.words()))
            .hint(format_args!("write one that replays it: flowloom init --from {shown} -o experiment.toml"))),
    }
}
