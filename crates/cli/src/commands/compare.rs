//! `flowloom compare`: a replay with its original, or variants of an experiment with the first.

use flowloom::report::text;
use flowloom::{Error, compare};
use serde_json::json;

use crate::exit::Exit;
use crate::{args, output};

/// Runs the command.
pub fn run(args: &args::Compare, quiet: bool) -> Result<Exit, Error> {
    let rules = args.check.as_ref().and_then(Option::as_deref);
    let compared = compare(&args.runs, &args.against, rules, &args.options())?;
    if args.json {
        let mut object = json!({
            "confidence": compared.options.confidence,
            "correction": compared.options.correction,
            "comparisons": compared.comparisons,
        });
        if let Some(found) = &compared.rules {
            object["rules"] = json!(found);
        }
        output::json(&object)?;
    } else if !quiet {
        let mut said = text::comparison_text(&compared.comparisons, output::colour());
        if let Some(found) = &compared.rules {
            said += &text::rules_text(found, output::colour());
        }
        output::text(&said)?;
    }
    Ok(if args.check.is_some() && compared.fails() { Exit::Different } else { Exit::Done })
}
