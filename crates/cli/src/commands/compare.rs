//! `flowloom compare`: one run with its original, or several with the first.

use std::path::{Path, PathBuf};

use serde_json::json;

use flowloom_report::{Comparison, Run, compare_runs, compare_with_original, text};
use flowloom_store::run_folder::RunFolder;

use crate::args;
use crate::commands::run;
use crate::failure::{Exit, Failure};
use crate::output::{self, Manner};

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

/// Answers with what `runs` came to: in text each with its original, and then `where_to`.
pub fn answer(runs: &[Run], manner: Manner, where_to: &str) -> Result<(), Failure> {
    let object = || match runs {
        [run] => json!(run.summary()),
        _ => json!({ "runs": runs.iter().map(Run::summary).collect::<Vec<_>>() }),
    };
    let text = || runs.iter().map(|run| text::run_text(run, output::colour())).collect::<String>() + where_to;
    manner.answer(object, text)
}

/// The runs in `folders`; a folder of several seeds gives several.
pub fn load_all(folders: &[PathBuf]) -> Result<Vec<Run>, Failure> {
    let mut runs = Vec::new();
    for folder in folders {
        let found = RunFolder::open_all(folder)
            .map_err(|error| Failure::new(error).hint("give the folder that `flowloom run -o FOLDER` wrote"))?;
        for part in &found {
            let mut run = run::load(part)?;
            // Seeds and folders of one name are told apart by what the user typed.
            let typed = folder.to_string_lossy();
            run.name =
                if found.len() > 1 { format!("{typed}/{}", run.name) } else { typed.trim_end_matches('/').to_owned() };
            runs.push(run);
        }
    }
    Ok(runs)
}
