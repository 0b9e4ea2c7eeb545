//! `flowloom sweep`: an experiment in many variants, and which is best.

use std::fmt::Write as _;

use flowloom::experiment;
use flowloom::report::sweep::sweep_text;
use flowloom::results::REPORT_FILE;
use flowloom::{Driver, Error, RunOptions, SweepOptions, plan_sweep, sweep};
use serde_json::json;

use crate::args;
use crate::commands::{cache_folder, this_program};
use crate::exit::Exit;
use crate::output::{self, Manner};

/// Runs the command.
pub fn run(args: &args::Sweep, manner: Manner) -> Result<Exit, Error> {
    manner.start("sweep")?;
    let options = options(args)?;
    if args.dry_run {
        return dry_run(args, &options, manner);
    }
    let swept = sweep(&args.inputs, &options, manner.observer().context())?;
    let folder = swept.folder.display().to_string();
    let text = || {
        let mut text = sweep_text(&swept.answer, output::width());
        let _ = writeln!(text, "report    {folder}/{REPORT_FILE} ({} cells run now, {} kept)", swept.run, swept.kept);
        text
    };
    manner.answer(
        || json!({ "folder": folder, "run_cells": swept.run, "kept_cells": swept.kept, "answer": swept.answer }),
        text,
    )?;
    Ok(if swept.is_partial() { Exit::Invalid } else { Exit::Done })
}

fn options(args: &args::Sweep) -> Result<SweepOptions, Error> {
    if args.lab.is_some() && !matches!(args.on, Some(Driver::Lab(_))) {
        return Err(Error::usage("--lab names the controller of a lab, and this sweep is not on one")
            .hint("leave it out, or give --on lab:HOSTS.toml"));
    }
    let run = RunOptions {
        target: args.output.clone(),
        replace: args.force,
        on: args.on.clone().unwrap_or_default(),
        lab: args.lab.clone().unwrap_or_else(|| "lab".into()),
        program: this_program()?,
        cache: cache_folder(),
        settings: args.settings.all()?,
        jobs: args.jobs,
        metrics: args.watching.metrics,
        push: args.watching.push()?,
        capture: args.capture.options(),
        ..RunOptions::default()
    };
    Ok(SweepOptions {
        run,
        vary: args.vary.clone(),
        leave_out: args.leave_out.clone(),
        seeds: args.seeds,
        most_seeds: args.most_seeds,
        rate_of: args.rate_of.map(|of| match of {
            args::RateOf::Control => experiment::RateOf::Control,
            args::RateOf::Each => experiment::RateOf::Each,
        }),
        objective: args.objective.clone(),
        margin: args.margin.clone(),
        tables: args.tables.clone(),
        yes: args.yes,
        retry_failed: args.retry_failed,
    })
}

/// Answers with what would be run, and what that needs.
fn dry_run(args: &args::Sweep, options: &SweepOptions, manner: Manner) -> Result<Exit, Error> {
    let plan = plan_sweep(&args.inputs, options, manner.observer().context())?;
    let text = || {
        let mut text =
            format!("# {}\n{}", plan.budget, plan.host.as_ref().map_or_else(String::new, ToString::to_string));
        for (number, name) in plan.variants.iter().enumerate() {
            let control = if number == 0 { " (control)" } else { "" };
            let _ = writeln!(text, "# variant  {name}{control}");
        }
        let looks: Vec<String> = plan.looks.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "# seeds    {}\n{}", looks.join(", "), plan.control);
        text
    };
    let object = || json!({ "variants": plan.variants, "looks": plan.looks, "control": plan.control, "budget": plan.budget, "host": plan.host });
    manner.answer_file(object, text)?;
    Ok(Exit::Done)
}
