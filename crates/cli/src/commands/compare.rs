//! `flowloom compare`: a replay with its original, or variants of an experiment with the first.

use std::path::{Path, PathBuf};

use serde_json::json;

use flowloom_report::compare::{
    Comparison, Found, Group, Options, Party, Rule, comparable, compare_group_with_original, compare_groups,
    compare_parties,
};
use flowloom_report::{Variant, text};
use flowloom_store::results::{Results, may_be};

use crate::args;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::results::{load_replications, load_variants};
use crate::rules;

/// Runs the command.
pub fn run(args: &args::Compare, quiet: bool) -> Result<Exit, Failure> {
    // A rules file that is wrong should not wait for the runs to be read.
    let rules = match &args.check {
        Some(Some(file)) => Some(read_rules(file)?),
        Some(None) | None => None,
    };
    let mut options = args.options();
    options.statistics = rules.iter().flatten().filter_map(Rule::statistic).collect();
    let is_foreign = args.runs.iter().chain(&args.against).any(|path| path.is_file() && may_be(path));
    let comparisons = match &args.against[..] {
        against if is_foreign => with_foreign(&args.runs, against, &options)?,
        [] => compare(&load_variants(&args.runs)?, &options)?,
        reference => compare(&[load_replications(reference)?, load_replications(&args.runs)?], &options)?,
    };
    let found: Option<Vec<Found>> = rules.map(|rules| {
        comparisons.iter().flat_map(|comparison| rules.iter().map(|rule| rule.check(comparison))).collect()
    });
    if args.json {
        let mut object = json!({
            "confidence": options.confidence,
            "correction": options.correction,
            "comparisons": comparisons,
        });
        if let Some(found) = &found {
            object["rules"] = json!(found);
        }
        output::json(&object)?;
    } else if !quiet {
        let mut said = text::comparison_text(&comparisons, output::colour());
        if let Some(found) = &found {
            said += &text::rules_text(found, output::colour());
        }
        output::text(&said)?;
    }
    let fails = match &found {
        Some(found) => found.iter().any(|found| found.fails),
        None => args.check.is_some() && comparisons.iter().any(|comparison| comparison.different),
    };
    Ok(if fails { Exit::Different } else { Exit::Done })
}

fn read_rules(file: &Path) -> Result<Vec<Rule>, Failure> {
    if file.is_dir() {
        return Err(Failure::usage(format_args!("--check {}: this is a folder, not a file of rules", file.display()))
            .hint("write --check behind the run folders"));
    }
    rules::read(file)
}

fn compare(variants: &[Variant], options: &Options) -> Result<Vec<Comparison>, Failure> {
    let groups: Vec<Group<'_>> = variants.iter().map(Group::from).collect();
    comparable(&groups, options).map_err(|error| Failure::usage(&error).hint(error.remedy()))?;
    match groups[..] {
        [replay] => {
            let comparison = compare_group_with_original(replay, options);
            let comparison = comparison.ok_or_else(|| {
                Failure::new(format_args!("{}: its workload has no measured original", replay.name))
                    .hint("give two runs to compare")
            })?;
            Ok(vec![comparison])
        }
        _ => Ok(compare_groups(&groups, options)),
    }
}

/// Runs, or tests of one tool, on their way to a comparison.
enum Loaded {
    Variant(Variant),
    Results(String, Vec<Results>),
}

impl Loaded {
    /// What `paths` hold as replications of one variant.
    fn of(paths: &[PathBuf]) -> Result<Loaded, Failure> {
        if !paths.iter().any(|path| path.is_file()) {
            return Ok(Loaded::Variant(load_replications(paths)?));
        }
        let files = paths.iter().map(|path| Results::open(path).map_err(Failure::new));
        let name = paths[0].display().to_string();
        let name = if paths.len() == 1 { name } else { format!("{name} and {} more", paths.len() - 1) };
        Ok(Loaded::Results(name, files.collect::<Result<_, _>>()?))
    }

    fn party(&self) -> Party<'_> {
        match self {
            Loaded::Variant(variant) => Party::Runs(Group::from(variant)),
            Loaded::Results(name, files) => Party::Results { name, files },
        }
    }
}

/// Compares runs and results of other tools where metrics match.
fn with_foreign(paths: &[PathBuf], against: &[PathBuf], options: &Options) -> Result<Vec<Comparison>, Failure> {
    let loaded = match against {
        [] => paths.iter().map(|path| Loaded::of(std::slice::from_ref(path))).collect::<Result<Vec<_>, _>>()?,
        reference => vec![Loaded::of(reference)?, Loaded::of(paths)?],
    };
    if loaded.len() < 2 {
        return Err(Failure::usage(format_args!("{}: nothing to compare it with", paths[0].display()))
            .hint("give a second file of results, or a run folder"));
    }
    let parties: Vec<Party<'_>> = loaded.iter().map(Loaded::party).collect();
    compare_parties(&parties, options).map_err(|error| Failure::usage(&error).hint(error.remedy()))
}
