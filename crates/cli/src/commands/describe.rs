//! `flowloom describe`: the characteristics of captures and workloads, or of a run.

use std::path::Path;

use flowloom::input::{self, Kind};
use flowloom::report::describe::text::description_text;
use flowloom::report::describe::{described_run_text, joint_warm_up_text};
use flowloom::report::{html, text};
use flowloom::results::write_report_of;
use flowloom::targets::{check_target, write_result};
use flowloom::{DescribeOptions, Error, describe, describe_run};
use serde_json::json;

use crate::args;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::{self, Manner};

/// Runs the command.
pub fn run(args: &args::Describe, manner: Manner) -> Result<Exit, Error> {
    let options =
        DescribeOptions { conversations: args.conversations, silence: args.silence, capture: args.capture.options() };
    let manner = manner.beside(&args.html)?;
    if let Some(path) = &args.html {
        check_target(path, args.force, &args.inputs)?;
    }
    let observer = manner.observer();
    let context = observer.context();
    manner.start("describe")?;
    if let [folder] = &args.inputs[..]
        && input::kind(folder) == Kind::RunFolder
    {
        return run_folder(args, folder, &options, manner);
    }
    let description = describe(&args.inputs, &options, context)?;
    let described = &description.described;
    let page = args.html.as_ref().map(|path| {
        write_result(path, args.force, !description.interrupted, context, |out| html::write_description(described, out))
    });
    let page = page.transpose()?;
    let object = || match &described[..] {
        [one] => json!(one),
        several => json!(several),
    };
    let text = || {
        let page = page.as_ref().map(|path| format!("\npictures      {}\n", path.display()));
        description_text(described, output::width()) + &page.unwrap_or_default()
    };
    manner.answer(object, text)?;
    Ok(if description.interrupted { Exit::Invalid } else { Exit::Done })
}

/// One run folder, or one of several seeds: what `flowloom run` told of each run, and what its records say besides.
fn run_folder(args: &args::Describe, folder: &Path, options: &DescribeOptions, manner: Manner) -> Result<Exit, Error> {
    let description = describe_run(folder, options)?;
    let (runs, described, warm_up) = (&description.variant.runs, &description.described, &description.warm_up);
    if let Some(path) = &args.html {
        write_report_of(
            std::slice::from_ref(&description.variant),
            &[&description.conclusions],
            path,
            args.force,
            interrupt::stop(),
        )?;
    }
    let object = || match &described[..] {
        [one] => json!(one),
        several => json!({ "runs": several, "warm_up": warm_up }),
    };
    let text = || {
        let colour = output::colour();
        let each = runs.iter().zip(&description.conclusions).zip(described);
        let tables: Vec<String> = each
            .map(|((run, found), one)| text::run_text(run, found, colour) + "\n" + &described_run_text(one))
            .collect();
        let page = args.html.as_ref().map(|path| format!("\nreport        {}\n", path.display()));
        tables.join("\n") + &joint_warm_up_text(warm_up) + &page.unwrap_or_default()
    };
    manner.answer(object, text)?;
    Ok(Exit::Done)
}
