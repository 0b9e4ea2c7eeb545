//! `flowloom fit`: distributions, or a traffic model, fitted to a workload.

use std::path::PathBuf;

use flowloom::report::fit::experiment::experiment;
use flowloom::report::fit::text::fitted_text;
use flowloom::report::html;
use flowloom::targets::{check_target, write_page};
use flowloom::{Error, HarpoonFitOptions, SwingFitOptions, fit, fit_harpoon, fit_swing};
use serde_json::json;

use crate::args::{self, FittedModel};
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Fit, manner: Manner) -> Result<Exit, Error> {
    refuse_options_of_others(args)?;
    let manner = manner.beside(args.output.iter().chain(&args.html))?;
    manner.start("fit")?;
    match args.model {
        Some(FittedModel::Harpoon) => harpoon(args, manner)?,
        Some(FittedModel::Swing) => swing(args, manner)?,
        None => variables(args, manner)?,
    }
    Ok(Exit::Done)
}

fn variables(args: &args::Fit, manner: Manner) -> Result<(), Error> {
    for path in args.output.iter().chain(&args.html) {
        check_target(path, args.force, std::slice::from_ref(&args.input))?;
    }
    if let Some(path) = args.output.as_ref().filter(|path| path.extension().is_some_and(|ending| ending == "html")) {
        return Err(Error::usage(format_args!("{}: -o writes an experiment", path.display()))
            .hint("--html writes the page; name an experiment like laws.toml"));
    }
    let fitted = fit(&args.input, &args.variables, &args.capture.options(), manner.observer().context())?;
    if let Some(path) = &args.output {
        let text = experiment(&fitted).map_err(|missing| {
            Error::new(format_args!("{}: {missing}", args.input.display()))
                .hint("leave -o out, and write the model by hand (docs/reference/models.md)")
        })?;
        write_page(path, args.force, interrupt::stop(), |out| out.write_all(text.as_bytes()))?;
    }
    if let Some(path) = &args.html {
        write_page(path, args.force, interrupt::stop(), |out| html::write_fits(&fitted, out))?;
    }
    let text = || {
        let next = args.output.as_ref().map(|path| format!("next          flowloom run {}\n", path.display()));
        let files =
            [written(&args.output, "experiment    "), next.unwrap_or_default(), written(&args.html, "pictures      ")];
        fitted_text(&fitted) + &files.concat()
    };
    manner.answer(|| json!(fitted), text)
}

fn swing(args: &args::Fit, manner: Manner) -> Result<(), Error> {
    let options = SwingFitOptions {
        rre_gap: args.swing.rre_gap.clone(),
        session_gap: args.session_gap.clone(),
        per_class: args.swing.per_class,
        target: args.output.clone(),
        replace: args.force,
        capture: args.capture.options(),
    };
    let summary = fit_swing(&args.input, &options, manner.observer().context())?;
    manner.answer(|| json!(summary), || summary.text() + &written(&args.output, "model         "))
}

fn harpoon(args: &args::Fit, manner: Manner) -> Result<(), Error> {
    let options = HarpoonFitOptions {
        interval: args.harpoon.interval.clone(),
        session_gap: args.session_gap.clone(),
        left_pool: args.harpoon.left_pool,
        right_pool: args.harpoon.right_pool,
        per_side: args.harpoon.per_side,
        seed: args.harpoon.seed,
        target: args.output.clone(),
        replace: args.force,
        capture: args.capture.options(),
    };
    let fitted = fit_harpoon(&args.input, &options, manner.observer().context())?;
    let files: Vec<String> = fitted.files.iter().map(|path| path.display().to_string()).collect();
    let mut object = json!(fitted.fit);
    object["outputs"] = json!(files);
    let text = || {
        let written: String = files.iter().map(|path| format!("\nconfiguration {path}")).collect();
        fitted.fit.text() + &written + if written.is_empty() { "" } else { "\n" }
    };
    manner.answer(|| object, text)
}

/// Where an output is, if there is one.
fn written(path: &Option<PathBuf>, what: &str) -> String {
    path.as_ref().map_or_else(String::new, |path| format!("\n{what}{}\n", path.display()))
}

/// Options of the other model: better said than ignored.
fn refuse_options_of_others(args: &args::Fit) -> Result<(), Error> {
    let (harpoon, swing) = (&args.harpoon, &args.swing);
    let options = [
        (FittedModel::Harpoon, "--interval", harpoon.interval.is_some()),
        (FittedModel::Harpoon, "--left-pool", harpoon.left_pool.is_some()),
        (FittedModel::Harpoon, "--right-pool", harpoon.right_pool.is_some()),
        (FittedModel::Harpoon, "--per-side", harpoon.per_side),
        (FittedModel::Harpoon, "--seed", harpoon.seed.is_some()),
        (FittedModel::Swing, "--rre-gap", swing.rre_gap.is_some()),
        (FittedModel::Swing, "--per-class", swing.per_class),
    ];
    match options.into_iter().find(|(model, _, given)| *given && Some(*model) != args.model) {
        Some((_, option, _)) => Err(Error::usage(format_args!("{option} is an option of another model"))
            .hint(format_args!("leave {option} out; flowloom fit --help says which options go with which model"))),
        None => Ok(()),
    }
}
