//! `flowloom fit`: laws fitted to the variables of a workload.

use serde_json::json;

use flowloom_report::fit::text::fitted_text;
use flowloom_report::fit::{FitVariable, Fitter};
use flowloom_report::html;

use crate::args::{self, FittedModel};
use crate::commands::{fit_harpoon, fit_swing};
use crate::failure::{Exit, Failure};
use crate::input::{self, Kind};
use crate::load;
use crate::output::Manner;
use crate::results::write_page;

/// Runs the command.
pub fn run(args: &args::Fit, manner: Manner) -> Result<Exit, Failure> {
    let kind = input::kind(&args.input);
    if let Kind::Experiment | Kind::Specification | Kind::RunFolder = kind {
        return Err(Failure::usage(format_args!("{} is {}, not a workload", args.input.display(), kind.words()))
            .hint("fit the capture or the workload it replays"));
    }
    input::refuse_idle_options(&args.capture, kind, &args.input)?;
    manner.start("fit")?;
    refuse_options_of_others(args)?;
    match args.model {
        Some(FittedModel::Harpoon) => return fit_harpoon::run(args, kind, manner),
        Some(FittedModel::Swing) => return fit_swing::run(args, kind, manner),
        None => {}
    }
    let paths = [args.input.clone()];
    let scratch = std::env::temp_dir();
    let mut loaded = load::open(&paths, kind, &args.capture, &args::Hosts::default(), &scratch, manner)?;
    loaded.warn(manner);
    let mut fitter = Fitter::default();
    for vector in &mut loaded.vectors {
        fitter.add(&vector?);
    }
    let name = (!args.capture.anonymize).then(|| args.input.display().to_string());
    let variables = if args.variables.is_empty() { &FitVariable::ALL[..] } else { &args.variables };
    let fitted = fitter.finish(name, variables);
    if fitted.variables.is_empty() {
        let what = if args.variables.is_empty() { "TCP connections" } else { "values of what --variable names" };
        return Err(Failure::new(format_args!("{}: holds no {what}: nothing to fit", args.input.display()))
            .hint("flowloom describe says what is in it"));
    }
    if let Some(path) = &args.output {
        write_page(path, |out| html::write_fits(&fitted, out))?;
    }
    let text = || {
        let page = args.output.as_ref().map(|path| format!("\npictures      {}\n", path.display()));
        fitted_text(&fitted) + &page.unwrap_or_default()
    };
    manner.answer(|| json!(fitted), text)?;
    Ok(Exit::Done)
}

/// Options of the other model: better said than ignored.
fn refuse_options_of_others(args: &args::Fit) -> Result<(), Failure> {
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
        Some((_, option, _)) => Err(Failure::usage(format_args!("{option} is an option of another model"))
            .hint(format_args!("leave {option} out; flowloom fit --help says which options go with which model"))),
        None => Ok(()),
    }
}
