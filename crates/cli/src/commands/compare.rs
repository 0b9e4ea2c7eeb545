//! `flowloom compare`: one run with its original, or several with the first.

use std::path::Path;

use serde_json::json;

use flowloom_report::{Comparison, Run, compare_runs, compare_with_original, text};

use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::{self, Manner};
use crate::results::{answer, load_all};

/// Runs the command.
pub fn run(args: &args::Compare, quiet: bool) -> Result<Exit, Failure> {
    let runs = load_all(&args.runs)?;
    let comparisons = match &runs[..] {
        [run] => vec![with_original(run)?],
        runs => compare_runs(runs),
    };
    if args.json {
        output::json(&json!({ "comparisons": comparisons }))?;
    } else if !quiet {
        output::text(&text::comparison_text(&runs, &comparisons, output::colour()))?;
    }
    let different = comparisons.iter().any(|comparison| comparison.different);
    Ok(if args.check && different { Exit::Different } else { Exit::Done })
}

fn with_original(run: &Run) -> Result<Comparison, Failure> {
    compare_with_original(run).ok_or_else(|| {
        Failure::new(format_args!("{}: its workload has no measured original", run.name))
            .hint("give two runs to compare")
    })
}

/// Prints one run beside its original, as `flowloom run` did.
pub fn original(folder: &Path, manner: Manner) -> Result<Exit, Failure> {
    let runs = load_all(std::slice::from_ref(&folder.to_owned()))?;
    answer(&runs, manner, "")?;
    Ok(Exit::Done)
}
