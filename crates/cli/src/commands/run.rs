//! `flowloom run`: replay a capture, a workload or an experiment, measure, compare with the original, report.

use std::path::Path;

use flowloom::experiment::Setting;
use flowloom::input::{self, Kind};
use flowloom::live::guests::Guest;
use flowloom::report::replications::{over_seeds, worst_of_seeds};
use flowloom::report::text;
use flowloom::results::REPORT_FILE;
use flowloom::run::reading_options;
use flowloom::sim::events::Implementation;
use flowloom::store::run_folder::RunFolder;
use flowloom::{Driver, Error, Ran, RunOptions, VcsimOptions, plan_files, run_files, run_vcsim};
use serde_json::json;

use crate::args;
use crate::commands::{cache_folder, this_program};
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
    if args.dry_run {
        return dry_run(args, manner);
    }
    let ran = run_files(&args.inputs, &options(args, Vec::new())?, manner.observer().context())?;
    answer(&ran, manner)?;
    Ok(if ran.is_invalid() { Exit::Invalid } else { Exit::Done })
}

/// The library's options, with programs of the user's inside the sides.
pub fn options(args: &args::Run, guests: Vec<Guest>) -> Result<RunOptions, Error> {
    if args.lab.is_some() && !matches!(args.on, Some(Driver::Lab(_))) {
        return Err(Error::usage("--lab names the controller of a lab, and this run is not on one")
            .hint("leave it out, or give --on lab:HOSTS.toml"));
    }
    Ok(RunOptions {
        target: args.output.clone(),
        replace: args.force,
        on: driver(args)?,
        lab: args.lab.clone().unwrap_or_else(|| "lab".into()),
        program: this_program()?,
        guests,
        settings: settings(args)?,
        jobs: args.jobs,
        events: match args.event_queue {
            args::EventQueue::Wheel => Implementation::Wheel,
            args::EventQueue::Heap => Implementation::Heap,
        },
        pcap: args.pcap.clone(),
        cache: cache_folder(),
        metrics: args.watching.metrics,
        push: args.watching.push()?,
        capture: args.capture.options(),
    })
}

/// Where to run: a run folder of another driver than the simulator is not simulated because nobody said otherwise.
fn driver(args: &args::Run) -> Result<Driver, Error> {
    if let (None, [folder]) = (&args.on, &args.inputs[..])
        && input::kind(folder) == Kind::RunFolder
        && let Some(driver @ ("live" | "lab")) = driver_of(folder)?.as_deref()
    {
        let hint = if driver == "live" { "live" } else { "lab:HOSTS.toml" };
        return Err(Error::usage(format_args!("{}: this run was not simulated ({driver})", folder.display()))
            .hint(format_args!("--on {hint} runs it again as it was, --on sim simulates it")));
    }
    Ok(args.on.clone().unwrap_or_default())
}

/// The driver of the first run in `folder`.
fn driver_of(folder: &Path) -> Result<Option<String>, Error> {
    let runs = RunFolder::open_all(folder).map_err(Error::new)?;
    Ok(runs.first().and_then(|run| run.run().get("driver")?.as_str().map(ToOwned::to_owned)))
}

/// All values that replace those of the experiment.
fn settings(args: &args::Run) -> Result<Vec<Setting>, Error> {
    let mut all = args.settings.all()?;
    if !args.seeds.is_empty() {
        all.push(Setting::of("seeds", &format!("{:?}", args.seeds)).map_err(Error::usage)?);
    }
    if let Some(vary) = &args.vary {
        all.push(Setting::of("vary", &vary.to_string()).map_err(Error::usage)?);
    }
    Ok(all)
}

/// Answers with the experiment as it would be run, and what that needs.
fn dry_run(args: &args::Run, manner: Manner) -> Result<Exit, Error> {
    let options = options(args, Vec::new())?;
    let (experiment, needs) = plan_files(&args.inputs, &options, manner.observer().context())?;
    // What no experiment file holds.
    let reading = reading_options(&options.capture);
    let several = args.inputs.len() > 1;
    let mut beside = String::new();
    if !reading.is_empty() {
        beside = format!("# not in a file: run this with {}\n", reading.join(" "));
    }
    if several {
        beside.push_str(
            "# not in a file: several captures; extract them into one workload, and name it in workload.source\n",
        );
    }
    manner.answer_file(
        || json!({ "experiment": experiment.to_toml(), "needs": needs, "reading": reading, "several_inputs": several }),
        || format!("{needs}{beside}{}", experiment.to_toml()),
    )?;
    Ok(Exit::Done)
}

/// Answers with what runs came to: in text each with its original, and then where the folder is.
fn answer(ran: &Ran, manner: Manner) -> Result<(), Error> {
    let object = || {
        let mut object = match &ran.conclusions[..] {
            [only] => json!(only.summary),
            conclusions => json!({
                "verdict": worst_of_seeds(&ran.runs, conclusions),
                "over_seeds": over_seeds(&ran.runs),
                "runs": conclusions.iter().map(|one| &one.summary).collect::<Vec<_>>(),
            }),
        };
        object["folder"] = json!(ran.folder.display().to_string());
        object
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
        ("--on", args.on.is_some()),
        ("--vary", args.vary.is_some()),
        ("--pcap", args.pcap.is_some()),
        ("--dry-run", args.dry_run),
    ];
    let settings = args.settings.all()?;
    let set = settings.iter().map(|setting| setting.words()[0].as_str());
    let given = given.into_iter().filter(|(_, given)| *given).map(|(option, _)| option);
    if let Some(option) = set.chain(given).next() {
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
