//! `flowloom lab run`: a script over the agents of a lab.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use flowloom::lab::authority::identity::Name;
use flowloom::lab::authority::unique;
use flowloom::lab::blocking;
use flowloom::lab::control::Command;
use flowloom::lab::controller::experiment::{Outcome, takes_s};
use flowloom::lab::controller::{AgentRun, LeafRun, Offset, Step, Watcher};
use flowloom::lab::report::{Reports, is_report};
use flowloom::lab::script::expand::whole;
use flowloom::lab::script::format::format;
use flowloom::lab::script::parser::Mode;
use flowloom::lab::script::tree::{Body, Child};
use flowloom::store::staged::{Naming, StagedFolder, real};
use flowloom::targets::{check_folder, refuse_foreign};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::lab_view::View;
use crate::{args, interrupt, scripts};
use flowloom::run::hosts_of;
use flowloom::run::of_lab;
use flowloom::{Error, ScriptWatch};

/// Runs the command.
pub fn run(args: &args::LabRun, quiet: bool) -> Result<Exit, Error> {
    let target = &args.output;
    let is_taken = check(args)?;
    let (file, text) = scripts::read(&args.script)?;
    let whole = whole(&file, &text, Mode::Lenient, &mut scripts::included);
    if !scripts::tell(&whole.files, &whole.found, quiet) {
        return Ok(Exit::Usage);
    }
    let block = whole.block.ok_or_else(|| Error::usage(format_args!("{file}: there is no block in it")))?;
    let mut list: BTreeMap<Name, String> = BTreeMap::new();
    if let Some(file) = &args.hosts {
        list.extend(hosts_of(file)?.into_iter().filter_map(|(name, address)| Some((name?, address))));
    }
    let name = args.take_up.clone().map_or_else(unique, Ok).map_err(of_lab)?;
    let end = real(target).map_err(|error| cannot(target, &error))?;
    let folder = StagedFolder::create(&end).map_err(|error| cannot(target, &error))?;
    let view = Arc::new(View::new(quiet));
    let watch = Arc::new(ScriptWatch::new(&end, folder.path(), &name.to_string(), takes_s(&block)));
    let mut reports = Reports::new(folder.path());
    let report = |part| reports.take(&part);
    if !quiet {
        // By it what was found can be had, whatever becomes of this process.
        tell!("experiment {name}");
    }
    let begun = match args.take_up {
        Some(_) => blocking::reports(&args.dir, &name, &block, &list, report),
        None => {
            let says = hear(&view, &watch);
            let is_over = || watch.is_stop_requested() || interrupt::stop().is_requested();
            blocking::experiment(&args.dir, &name, &block, &list, says, report, is_over)
        }
    };
    view.end();
    // What others see of a run that goes on is no part of its results.
    drop(watch);
    let outcome = begun.map_err(of_lab)?.map_err(|problems| {
        let mut problems = problems.into_iter();
        let first = problems.next().map_or_else(|| Error::new(""), Error::new);
        let failure = problems.fold(first, Error::note);
        failure.hint("flowloom lab status asks agents what they say")
    })?;
    let script = format(&Body { children: vec![Child::Block(block)], ..Body::default() });
    let written = write(folder.path(), &name, &script, &outcome).and_then(|()| reports.finish());
    let naming = match is_taken {
        _ if outcome.is_interrupted => Naming::Part,
        true => Naming::Replace,
        false => Naming::New,
    };
    let named = written.and_then(|()| folder.finish(&end, naming)).map_err(|error| cannot(target, &error))?;
    if !quiet {
        outcome.said.iter().for_each(|said| tell!("{}: {}", said.node, said.text));
    }
    outcome.failed.iter().for_each(|failure| tell!("error: {failure}"));
    let (ran, failed, shown) = (outcome.leaves.len(), outcome.failed.len(), named.display());
    crate::output::shown(&match args.take_up {
        Some(_) => format!("what agents have of {name}, {failed} have nothing: {shown}\n"),
        None => format!("{ran} leaves ran, {failed} failed: {shown}\n"),
    })?;
    Ok(if outcome.is_failed && !outcome.is_interrupted {
        Exit::CouldNot
    } else if outcome.failed.is_empty() {
        Exit::Done
    } else {
        Exit::Invalid
    })
}

/// Those who hear what blocks are asked: the terminal, and others who watch.
fn hear(view: &Arc<View>, watch: &Arc<ScriptWatch>) -> (impl FnMut(Command) + use<>, Watcher) {
    let (view, watch) = (Arc::clone(view), Arc::clone(watch));
    let (views, watches) = (Arc::clone(&view), Arc::clone(&watch));
    let phase = move |command| {
        view.phase(command);
        watch.phase(command);
    };
    let step = move |step: Step<'_>| {
        watches.step(&step);
        views.step(step);
    };
    (phase, Box::new(step))
}

/// The files that every folder of results has.
const MADE: [&str; 2] = ["script.ns", "experiment.json"];

/// Refuses a folder that exists, unless it may be replaced, and in any case one that holds something else than results of a lab; whether
/// there are some.
fn check(args: &args::LabRun) -> Result<bool, Error> {
    let target = &args.output;
    let mut inputs = vec![args.script.clone(), args.dir.clone()];
    inputs.extend(args.hosts.clone());
    check_folder(target, &inputs)?;
    if fs::symlink_metadata(target).is_err() {
        return Ok(false);
    }
    let is_folder = target.is_dir();
    if is_folder && fs::read_dir(target).is_ok_and(|mut folder| folder.next().is_none()) {
        return Ok(false);
    }
    if !args.force {
        return Err(Error::new(format_args!("{} exists already", target.display()))
            .hint("give another folder to -o, or --force to take its place"));
    }
    if target.exists() && !is_folder {
        return Err(Error::new(format_args!("{} is no folder", target.display())).hint("give another name to -o"));
    }
    if is_folder && !MADE.iter().all(|file| target.join(file).is_file()) {
        return Err(Error::new(format_args!(
            "{} holds no results of a lab, so --force does not replace it",
            target.display()
        ))
        .hint("give another name to -o"));
    }
    if is_folder {
        refuse_foreign(target, |path, name| !path.is_dir() && (MADE.contains(&name) || is_report(name)))?;
    }
    Ok(is_folder)
}

fn cannot(target: &Path, error: &std::io::Error) -> Error {
    Error::new(format_args!("{}: cannot write: {error}", target.display()))
}

fn write(folder: &Path, name: &str, script: &str, outcome: &Outcome) -> std::io::Result<()> {
    fs::write(folder.join("script.ns"), script)?;
    let answer = json!({
        "experiment": name,
        "flowloom": env!("CARGO_PKG_VERSION"),
        "failed_as_a_whole": outcome.is_failed,
        "interrupted": outcome.is_interrupted,
        "failed": outcome.failed.iter().map(|one| {
            json!({ "node": one.node, "command": one.command.to_string(), "text": one.text })
        }).collect::<Vec<_>>(),
        "said": outcome.said.iter().map(|one| json!({ "node": one.node, "text": one.text })).collect::<Vec<_>>(),
        "leaves": outcome.leaves.iter().map(leaf).collect::<Vec<_>>(),
        "agents": outcome.agents.iter().map(agent).collect::<Vec<_>>(),
    });
    fs::write(folder.join("experiment.json"), format!("{answer:#}\n"))
}

/// Times are of this host's monotonic clock; what is known of an agent's is between two.
fn leaf(leaf: &LeafRun) -> Value {
    let between =
        |times: Option<(i64, i64)>| times.map(|(low, high)| json!({ "not_before_ns": low, "not_after_ns": high }));
    json!({
        "node": leaf.node,
        "agent": leaf.agent,
        "meant_to_start_ns": leaf.meant_ns,
        "started": between(leaf.started_ns),
        "ended": between(leaf.ended_ns),
    })
}

fn agent(agent: &AgentRun) -> Value {
    let [before, after] = agent.offset.map(|offset| {
        offset.map(|Offset { bounds, .. }| json!({ "offset_ns": bounds.middle_ns(), "error_ns": bounds.error_ns() }))
    });
    json!({
        "agent": agent.agent,
        "address": agent.address,
        "commanded_by": agent.parent,
        "clock_before": before,
        "clock_after": after,
        "clock_steps": agent.clock_steps,
    })
}
