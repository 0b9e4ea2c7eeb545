//! `flowloom compare`: one run with its original, or several with the first.

use serde_json::json;

use flowloom_report::{Comparison, Run, compare_runs, compare_with_original, text};

use crate::args;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::results::load_all;

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
