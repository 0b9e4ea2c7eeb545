//! `flowloom compare`: a replay with its original, or variants of an experiment with the first.

use std::path::PathBuf;

use flowloom::report::explain::explanation_text;
use flowloom::report::text;
use flowloom::results::{load_variants, write_report};
use flowloom::targets::check_target;
use flowloom::{Error, compare, explain, write_explanation};
use serde_json::json;

use crate::exit::Exit;
use crate::interrupt;
use crate::output::Manner;
use crate::{args, output};

/// Runs the command.
pub fn run(args: &args::Compare, manner: Manner) -> Result<Exit, Error> {
    if args.explain {
        return explained(args, Manner { verbose: false, ..manner });
    }
    let manner = manner.beside(&args.html)?;
    // What no page can be made of is said before anything is compared.
    let of_page = args.html.as_ref().map(|page| {
        check_target(page, args.force, &args.runs)?;
        load_variants(&args.runs)
    });
    let of_page = of_page.transpose()?;
    let rules = args.check.as_ref().and_then(Option::as_deref);
    let compared = compare(&args.runs, &args.against, rules, &args.options())?;
    if let (Some(page), Some(variants)) = (&args.html, of_page) {
        write_report(&variants, page, args.force, interrupt::stop())?;
    }
    compared.apart.warnings().for_each(|(cause, remedy)| manner.warn(cause, Some(remedy)));
    if args.json {
        output::json(&compared.json())?;
    } else if !manner.quiet && !manner.gives_way {
        let mut said = text::comparison_text(&compared.comparisons, output::colour());
        if let Some(found) = &compared.rules {
            said += &text::rules_text(found, output::colour());
        }
        output::shown(&(said + &written(&args.html)))?;
    }
    Ok(if args.check.is_some() && compared.fails() { Exit::Different } else { Exit::Done })
}

/// Explains one run.
fn explained(args: &args::Compare, manner: Manner) -> Result<Exit, Error> {
    let [run] = &args.runs[..] else {
        return Err(Error::usage("--explain is about one run, and several are named").hint("explain them one by one"));
    };
    let manner = manner.beside(&args.html)?;
    if let Some(page) = &args.html {
        check_target(page, args.force, &args.runs)?;
    }
    let explanation = explain(run, args.jobs, manner.observer().context())?;
    if let Some(page) = &args.html {
        write_explanation(&explanation, page, args.force, interrupt::stop())?;
    }
    let text = || explanation_text(&explanation) + &written(&args.html);
    manner.answer(|| json!({ "explanation": explanation }), text)?;
    Ok(Exit::Done)
}

/// Where the page is, if there is one.
fn written(page: &Option<PathBuf>) -> String {
    page.as_ref().map_or_else(String::new, |page| format!("\nreport   {}\n", page.display()))
}
