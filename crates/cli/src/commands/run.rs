//! `flowloom run`: replay a capture, a workload or an experiment, measure, compare with the original, report.

use flowloom::input::{self, Kind};
use flowloom::live::guests::Guest;
use flowloom::report::replications::{over_seeds, worst_of_seeds};
use flowloom::report::text;
use flowloom::results::REPORT_FILE;
use flowloom::sim::events::Implementation;
use flowloom::{Driver, Error, Ran, RunOptions, VcsimOptions, run_files, run_vcsim};
use serde_json::json;

use crate::args;
use crate::commands::this_program;
use crate::exit::Exit;
use crate::output::{self, Manner};

/// Runs the command.
pub fn run(args: &args::Run, manner: Manner) -> Result<Exit, Error> {
    if args.inputs.iter().any(|path| input::kind(path) == Kind::Specification) {
        return specification(args, manner);
    }
    if args.cell_trace.is_some() {
        return Err(Error::usage("--cell-trace is about specifications of internetworks (.spec)"));
    }
    manner.start("run")?;
    let ran = run_files(&args.inputs, &options(args, Vec::new())?, manner.observer().context())?;
    answer(&ran, manner)?;
    Ok(if ran.is_invalid() { Exit::Invalid } else { Exit::Done })
}

/// The library's options, with programs of the user's inside the sides.
pub fn options(args: &args::Run, guests: Vec<Guest>) -> Result<RunOptions, Error> {
    if args.lab.is_some() && !matches!(args.on, Driver::Lab(_)) {
        return Err(Error::usage("--lab names the controller of a lab, and this run is not on one")
            .hint("leave it out, or give --on lab:HOSTS.toml"));
    }
    Ok(RunOptions {
        target: args.output.clone(),
        replace: args.force,
        on: args.on.clone(),
        lab: args.lab.clone().unwrap_or_else(|| "lab".into()),
        program: this_program()?,
        guests,
        overrides: args.overrides(),
        jobs: args.jobs,
        events: match args.event_queue {
            args::EventQueue::Wheel => Implementation::Wheel,
            args::EventQueue::Heap => Implementation::Heap,
        },
        pcap: args.pcap.clone(),
        capture: args.capture.options(),
    })
}

/// Answers with what runs came to: in text each with its original, and then where the folder is.
fn answer(ran: &Ran, manner: Manner) -> Result<(), Error> {
    let object = || match &ran.conclusions[..] {
        [only] => json!(only.summary),
        conclusions => json!({
            "verdict": worst_of_seeds(&ran.runs, conclusions),
            "over_seeds": over_seeds(&ran.runs),
            "runs": conclusions.iter().map(|one| &one.summary).collect::<Vec<_>>(),
        }),
    };
    let text = || {
        let tables = match (&ran.runs[..], &ran.conclusions[..]) {
            ([run], [found]) => text::run_text(run, found, output::colour()),
            (runs, conclusions) => text::seeds_text(runs, conclusions, output::colour()),
        };
        let folder = ran.folder.display();
        format!("{tables}run      {folder}        report   {folder}/{REPORT_FILE}\n")
    };
    manner.answer(object, text)
}

/// Runs a specification of an internetwork.
fn specification(args: &args::Run, manner: Manner) -> Result<Exit, Error> {
    manner.start("run")?;
    let [file] = &args.inputs[..] else {
        return Err(Error::usage("a specification of an internetwork is run alone"));
    };
    input::refuse_idle_options(&args.capture.options(), Kind::Specification, file)?;
    let given = [
        ("--on", args.on != Driver::Sim),
        ("--rate", args.rate.is_some()),
        ("--delay", args.delay.is_some()),
        ("--queue", args.queue.is_some()),
        ("--wait-min", args.wait_min.is_some()),
        ("--wait-correct", args.wait_correct.is_some()),
        ("--duration", args.duration.is_some()),
        ("--vary", args.vary.is_some()),
        ("--pcap", args.pcap.is_some()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Error::usage(format_args!(
            "{option} is about replays, and {} is a specification of an internetwork",
            file.display()
        ))
        .hint("the specification says all but the seed: links, buffers, timers"));
    }
    let options = VcsimOptions {
        target: args.output.clone(),
        replace: args.force,
        seeds: args.seeds.clone(),
        jobs: args.jobs,
        cell_trace: args.cell_trace.clone(),
        anonymize: args.capture.anonymize,
    };
    let results = run_vcsim(file, &options, manner.observer().context())?;
    manner.answer(|| results.json, || results.text)?;
    Ok(if results.interrupted { Exit::Invalid } else { Exit::Done })
}
