//! Comparisons: a replay with its original, or variants of an experiment with the first.

use std::path::{Path, PathBuf};

use flowloom_report::compare::{
    Comparison, Found, Group, Options, Party, Rule, comparable, compare_group_with_original,
    compare_group_with_vectors, compare_groups, compare_parties,
};
use flowloom_report::other_bytes::Apart;
use flowloom_report::replications::worst_of_seeds;
use flowloom_report::worst::WorstVerdict;
use flowloom_report::{Run, Variant};
use flowloom_store::results::{Results, may_be};
use serde_json::{Value, json};

use crate::error::Error;
use crate::results::{load_adus, load_replications, load_variants};
use crate::rules;

/// What comparisons came to.
pub struct Compared {
    /// One for each pair.
    pub comparisons: Vec<Comparison>,
    /// What became of the rules; `None` without rules.
    pub rules: Option<Vec<Found>>,
    /// Options with what rules added to them.
    pub options: Options,
    /// What else the runs differ in than in what was varied.
    pub apart: Apart,
}

impl Compared {
    /// As `compare --json` prints it (`docs/reference/json.md`).
    pub fn json(&self) -> Value {
        let mut object = json!({
            "confidence": self.options.confidence,
            "correction": self.options.correction,
            "comparisons": self.comparisons,
        });
        if let Some(found) = &self.rules {
            object["rules"] = json!(found);
        }
        if let Some(cause) = &self.apart.bytes {
            object["other_bytes"] = json!(cause);
        }
        if let Some(cause) = &self.apart.parts {
            object["other_parts"] = json!(cause);
        }
        object
    }

    /// Whether a rule fails; without rules, whether a comparison says different. Of a replay under other conditions than its original's that
    /// is no failure: it is what the change makes.
    pub fn fails(&self) -> bool {
        match &self.rules {
            Some(found) => found.iter().any(|found| found.fails),
            None => {
                let mut judged = self.comparisons.iter().filter(|comparison| !comparison.is_under_other_conditions());
                judged.any(|comparison| comparison.different)
            }
        }
    }
}

/// Compares the run folders or results of other tools in `runs` with each other or, if there are any, with those in `against` as
/// replications of one variant; checks the rules in the file `rules`.
///
/// # Errors
/// What is wrong with a folder, a file or the rules; runs that cannot be compared.
pub fn compare(
    runs: &[PathBuf],
    against: &[PathBuf],
    rules: Option<&Path>,
    options: &Options,
) -> Result<Compared, Error> {
    // A rules file that is wrong should not wait for the runs to be read.
    let rules = rules.map(read_rules).transpose()?;
    let statistics = rules.iter().flatten().filter_map(Rule::statistic).collect();
    let options = Options { statistics, ..options.clone() };
    let is_foreign = runs.iter().chain(against).any(|path| path.is_file() && may_be(path));
    let mut apart = Apart::default();
    let comparisons = match against {
        against if is_foreign => with_foreign(runs, against, &options)?,
        [] => {
            let comparisons;
            (comparisons, apart) = compare_loaded(load_variants(runs)?, runs, &options)?;
            comparisons
        }
        reference => {
            let variants = [load_replications(reference)?, load_replications(runs)?];
            apart = Apart::of(&variants);
            compare_variants(&variants, &options)?
        }
    };
    let rules = rules.map(|rules| {
        comparisons.iter().flat_map(|comparison| rules.iter().map(|rule| rule.check(comparison))).collect()
    });
    Ok(Compared { comparisons, rules, options, apart })
}

/// What else `variants` differ in than in what was varied, as a page that sets them beside each other has to say. One by itself is beside no
/// other.
///
/// # Errors
/// They cannot be compared: what [`compare`] refuses.
pub fn beside_each_other(variants: &[Variant]) -> Result<Apart, Error> {
    if variants.len() > 1 {
        let groups: Vec<Group<'_>> = variants.iter().map(Group::from).collect();
        refuse_incomparable(&groups, &Options::default())?;
    }
    Ok(Apart::of(variants))
}

/// The same for run folders alone, each called by the name that is given for it.
///
/// # Errors
/// As those of [`compare`].
pub(crate) fn compare_named(runs: &[PathBuf], names: &[String], options: Options) -> Result<Compared, Error> {
    let mut variants = load_variants(runs)?;
    for (variant, name) in variants.iter_mut().zip(names) {
        let known = std::mem::replace(&mut variant.name, name.clone());
        variant.runs.iter_mut().for_each(|run| run.name = run.name.replacen(&known, name, 1));
    }
    let (comparisons, apart) = compare_loaded(variants, runs, &options)?;
    Ok(Compared { comparisons, rules: None, options, apart })
}

/// Compares the variants of the folders `runs`, and says what else they differ in.
fn compare_loaded(
    mut variants: Vec<Variant>,
    runs: &[PathBuf],
    options: &Options,
) -> Result<(Vec<Comparison>, Apart), Error> {
    // What no other run is set beside is set beside its vectors, where nothing else is known of the original.
    if let ([variant], [folder]) = (&mut variants[..], runs) {
        load_adus(variant, folder)?;
    }
    let apart = Apart::of(&variants);
    Ok((compare_variants(&variants, options)?, apart))
}

fn refuse_incomparable(groups: &[Group<'_>], options: &Options) -> Result<(), Error> {
    comparable(groups, options).map_err(|error| Error::usage(&error).hint(error.remedy()))
}

fn read_rules(file: &Path) -> Result<Vec<Rule>, Error> {
    if file.is_dir() {
        return Err(Error::usage(format_args!("--check {}: this is a folder, not a file of rules", file.display()))
            .hint("write --check behind the run folders"));
    }
    rules::read(file)
}

/// [`set_beside`], with the verdicts of both sides.
fn compare_variants(variants: &[Variant], options: &Options) -> Result<Vec<Comparison>, Error> {
    let mut comparisons = set_beside(variants, options)?;
    let verdicts: Vec<(&str, Option<WorstVerdict<u64>>)> = variants.iter().map(verdict).collect();
    let of = |name: &str| verdicts.iter().find(|(known, _)| *known == name).and_then(|(_, verdict)| verdict.clone());
    for comparison in &mut comparisons {
        comparison.reference_verdict = of(&comparison.reference);
        comparison.other_verdict = of(&comparison.other);
    }
    Ok(comparisons)
}

/// The name of a variant and the worst verdict of its replications.
fn verdict(variant: &Variant) -> (&str, Option<WorstVerdict<u64>>) {
    let conclusions: Vec<_> = variant.runs.iter().map(Run::conclude).collect();
    (&variant.name, worst_of_seeds(&variant.runs, &conclusions))
}

fn set_beside(variants: &[Variant], options: &Options) -> Result<Vec<Comparison>, Error> {
    let groups: Vec<Group<'_>> = variants.iter().map(Group::from).collect();
    refuse_incomparable(&groups, options)?;
    match groups[..] {
        [replay] => {
            if replay.runs.iter().all(|run| run.facts.has_only_sources()) {
                return Err(Error::usage(format_args!("{}: it has no workload to compare with", replay.name))
                    .hint("give two runs to compare"));
            }
            if let Some(comparison) = compare_group_with_original(replay, options) {
                return Ok(vec![comparison]);
            }
            if replay.runs.iter().all(|run| run.measurements.has_original) {
                return Err(Error::usage(format_args!(
                    "{}: each of its seeds replays a draw of the workload",
                    replay.name
                ))
                .hint(
                    "there is no original of all of them: name the folder of one seed, or give two runs to compare",
                ));
            }
            Ok(vec![compare_group_with_vectors(replay, options)])
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
    fn of(paths: &[PathBuf]) -> Result<Loaded, Error> {
        if !paths.iter().any(|path| path.is_file()) {
            return Ok(Loaded::Variant(load_replications(paths)?));
        }
        let files = paths.iter().map(|path| Results::open(path).map_err(Error::new));
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
fn with_foreign(paths: &[PathBuf], against: &[PathBuf], options: &Options) -> Result<Vec<Comparison>, Error> {
    let loaded = match against {
        [] => paths.iter().map(|path| Loaded::of(std::slice::from_ref(path))).collect::<Result<Vec<_>, _>>()?,
        reference => vec![Loaded::of(reference)?, Loaded::of(paths)?],
    };
    if loaded.len() < 2 {
        return Err(Error::usage(format_args!("{}: nothing to compare it with", paths[0].display()))
            .hint("give a second file of results, or a run folder"));
    }
    let parties: Vec<Party<'_>> = loaded.iter().map(Loaded::party).collect();
    compare_parties(&parties, options).map_err(|error| Error::usage(&error).hint(error.remedy()))
}
