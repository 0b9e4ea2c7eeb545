//! Run folders read again, and reports of them.

use std::path::{Path, PathBuf};

use flowloom_report::html::{self, ReportOptions};
use flowloom_report::{Conclusion, Facts, HostFacts, Run, Variant};
use flowloom_store::manifest::Manifest;
use flowloom_store::run_folder::{OPTIONAL_TABLE, RunFolder, RunFolderError, TABLES};

use crate::context::Stop;
use crate::error::Error;
use crate::targets::write_page;

/// The numbers of a cell of a sweep, in its folder.
pub(crate) const CELL_FILE: &str = "cell.json";

/// What a sweep asks, in its folder.
pub(crate) const SWEEP_FILE: &str = "sweep.json";

/// Whether `folder` is that of a sweep.
pub fn is_sweep(folder: &Path) -> bool {
    folder.join(SWEEP_FILE).is_file()
}

/// The report inside a run folder.
pub const REPORT_FILE: &str = "report.html";

/// Reads a run folder's numbers.
pub fn load(folder: &RunFolder) -> Result<Run, Error> {
    Run::load(folder).map_err(|error| left_out(folder.path()).unwrap_or_else(|| Error::of(error)))
}

/// The error of a cell of a sweep, where the sweep left out tables that are needed; `None` of other folders.
fn left_out(folder: &Path) -> Option<Error> {
    if !folder.join(CELL_FILE).is_file() {
        return None;
    }
    let manifest = Manifest::open(folder).ok()??;
    let is_kept = |table: &&str| manifest.files().contains_key(&format!("{table}.parquet"));
    let (kept, missing): (Vec<&str>, Vec<&str>) =
        TABLES.into_iter().filter(|table| *table != OPTIONAL_TABLE).partition(is_kept);
    if missing.is_empty() {
        return None;
    }
    let cell = folder.display();
    let problem = match kept.is_empty() {
        true => "the sweep kept only the summary of this run, and left out its tables".to_owned(),
        false => format!("the sweep left out tables of this run: {}", missing.join(", ")),
    };
    let error = Error::new(format_args!("{cell}: {problem}"))
        .note(format_args!("`flowloom run {cell} -o FOLDER` runs it again, with all tables"));
    Some(error.hint("give the command of the sweep again with --tables all: its cells are run again and keep them"))
}

/// Writes the report that belongs to the folder of `runs`, which differ in their seeds only, with what was concluded from them: it leaves
/// the host out, as everything there but host.json does (methods M.11).
pub fn write_own_report(runs: &mut Vec<Run>, conclusions: &[Conclusion], folder: &Path) -> Result<(), Error> {
    let hosts: Vec<HostFacts> = runs.iter_mut().map(|run| std::mem::take(&mut run.host)).collect();
    let name = runs.first().map_or_else(String::new, |run| run.name.clone());
    let variant = [Variant { name, runs: std::mem::take(runs) }];
    let written = write_report_of(&variant, &[conclusions], &folder.join(REPORT_FILE), true, &Stop::new());
    let [variant] = variant;
    *runs = variant.runs;
    runs.iter_mut().zip(hosts).for_each(|(run, host)| run.host = host);
    written
}

/// Writes the report of `variants` to `path`, in place of a file if it may `replace` one. `stop` ends the wait for the reader of a pipe.
pub fn write_report(variants: &[Variant], path: &Path, replace: bool, stop: &Stop) -> Result<(), Error> {
    write_page(path, replace, stop, |out| html::write_report(variants, out, &ReportOptions::default()))
}

/// The same with what was concluded from the runs of each variant.
pub fn write_report_of(
    variants: &[Variant],
    conclusions: &[&[Conclusion]],
    path: &Path,
    replace: bool,
    stop: &Stop,
) -> Result<(), Error> {
    write_page(path, replace, stop, |out| html::write_concluded(variants, conclusions, out, &ReportOptions::default()))
}

/// The runs in `folders`; a folder of several seeds gives several.
pub fn load_all(folders: &[PathBuf]) -> Result<Vec<Run>, Error> {
    Ok(load_variants(folders)?.into_iter().flat_map(|variant| variant.runs).collect())
}

/// The variants in `folders`, one each: a folder of several seeds is one experiment with its replications.
pub fn load_variants(folders: &[PathBuf]) -> Result<Vec<Variant>, Error> {
    let (loaded, failed): (Vec<_>, Vec<_>) = folders.iter().map(|folder| load_variant(folder)).partition(Result::is_ok);
    match Error::all(failed.into_iter().filter_map(Result::err)) {
        Some(error) => Err(error),
        None => loaded.into_iter().collect(),
    }
}

/// Adds the data units of the runs of `variant`, which was loaded from `folder`; those of runs with an original are there already.
pub fn load_adus(variant: &mut Variant, folder: &Path) -> Result<(), Error> {
    let folders = RunFolder::open_all(folder).map_err(Error::of)?;
    variant.runs.iter_mut().zip(&folders).try_for_each(|(run, folder)| {
        run.load_adus(folder).map_err(|error| left_out(folder.path()).unwrap_or_else(|| Error::of(error)))
    })
}

/// One variant whose replications are in `folders`: experiments that are the same but for their seeds.
pub fn load_replications(folders: &[PathBuf]) -> Result<Variant, Error> {
    let variants = load_variants(folders)?;
    let name = match &variants[..] {
        [only] => only.name.clone(),
        [first, others @ ..] => format!("{} and {} more", first.name, others.len()),
        [] => String::new(),
    };
    let runs: Vec<Run> = variants.into_iter().flat_map(|variant| variant.runs).collect();
    for (index, run) in runs.iter().enumerate() {
        let first = &runs[0];
        if let Some(key) = different(&first.facts, &run.facts) {
            return Err(Error::usage(format_args!("{} and {} are not seeds of one experiment", first.name, run.name))
                .note(format_args!("they differ in {key}"))
                .hint("without --against each run folder is a variant of its own"));
        }
        if let Some(twin) = runs[..index].iter().find(|twin| twin.facts.seed == run.facts.seed) {
            let seed = run.facts.seed;
            return Err(Error::usage(format_args!("{} and {} both have seed {seed}", twin.name, run.name))
                .hint("replications have different seeds: a run given twice would count for two"));
        }
    }
    Ok(Variant { name, runs })
}

/// What two runs differ in beside their seeds.
fn different(a: &Facts, b: &Facts) -> Option<String> {
    let inputs = |facts: &Facts| -> Vec<(String, String)> {
        let hashed = facts.provenance.iter().filter(|(_, what)| what.starts_with("SHA-256"));
        hashed.map(|(name, what)| (name.clone(), what.clone())).collect()
    };
    let of_key = different_key(&a.experiment, &b.experiment);
    let of_driver = || (a.driver != b.driver).then(|| format!("what runs them: {} and {}", a.driver, b.driver));
    of_key.or_else(of_driver).or_else(|| (inputs(a) != inputs(b)).then(|| "their inputs".to_owned()))
}

/// The first key in which two experiments as resolved differ, title and seeds aside; what cannot be read is compared as it is.
fn different_key(a: &str, b: &str) -> Option<String> {
    let table = |text: &str| {
        let mut table: toml::Table = text.parse().ok()?;
        table.remove("title");
        table.remove("run");
        Some(toml::Value::Table(table))
    };
    match (table(a), table(b)) {
        (Some(a), Some(b)) => first_difference(&a, &b),
        _ => (a != b).then(|| "their experiments".to_owned()),
    }
}

/// The path of the first value that is not in both; `None` if all are.
fn first_difference(a: &toml::Value, b: &toml::Value) -> Option<String> {
    let (toml::Value::Table(a), toml::Value::Table(b)) = (a, b) else {
        return (a != b).then(String::new);
    };
    let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
    keys.into_iter().find_map(|key| {
        let below = match (a.get(key), b.get(key)) {
            (Some(a), Some(b)) => first_difference(a, b)?,
            _ => String::new(),
        };
        Some(if below.is_empty() { key.clone() } else { format!("{key}.{below}") })
    })
}

fn load_variant(folder: &Path) -> Result<Variant, Error> {
    let found = RunFolder::open_all(folder).map_err(|error| {
        let hint = match error {
            RunFolderError::NotARun { .. } if is_sweep(folder) => Some(
                "it is a sweep: `flowloom plot` draws it, its report.html is its answer, and its runs are in cells/",
            ),
            RunFolderError::NotARun { .. } => Some("give the folder that `flowloom run -o FOLDER` wrote"),
            _ => None,
        };
        Error::new(error).hint_if(hint)
    })?;
    if found.is_empty() {
        return Err(Error::new(format_args!("{}: none of its seeds was run", folder.display()))
            .hint("run it again: it was interrupted before its first run began"));
    }
    // Seeds and folders of one name are told apart by what the user typed.
    let typed = folder.to_string_lossy();
    let name = typed.trim_end_matches('/').to_owned();
    let mut runs = found.iter().map(load).collect::<Result<Vec<Run>, Error>>()?;
    for run in &mut runs {
        run.name = if found.len() > 1 { format!("{name}/{}", run.name) } else { name.clone() };
    }
    Ok(Variant { name, runs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_are_compared_key_by_key() {
        let differ = |a: &str, b: &str| different_key(a, b);
        let base = "title = \"a\"\n[network.bottleneck]\nrate = \"1mbit\"\n[run]\nseeds = [1]\n";
        assert_eq!(differ(base, &base.replace("[1]", "[2]").replace("\"a\"", "\"b\"")), None);
        assert_eq!(differ(base, &base.replace("1mbit", "2mbit")).as_deref(), Some("network.bottleneck.rate"));
        assert_eq!(differ(base, &format!("{base}[tcp]\nsack = true\n")).as_deref(), Some("tcp"));
        assert_eq!(differ("no toml", base).as_deref(), Some("their experiments"));
    }
}
