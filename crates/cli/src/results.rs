//! Run folders read again: answers and reports.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use flowloom_report::html::{self, ReportOptions};
use flowloom_report::{HostFacts, Run, Variant, text};
use flowloom_store::run_folder::RunFolder;
use flowloom_store::staged::StagedFile;

use crate::failure::Failure;
use crate::output::{self, Manner};

/// The report inside a run folder.
pub const REPORT_FILE: &str = "report.html";

/// Reads a run folder's numbers.
pub fn load(folder: &RunFolder) -> Result<Run, Failure> {
    Run::load(folder).map_err(Failure::new)
}

/// Writes the report that belongs to the folder of `runs`, which differ in their seeds only: it leaves the host out, as everything
/// there but host.json does (methods M.11).
pub fn write_own_report(runs: &mut Vec<Run>, folder: &Path) -> Result<(), Failure> {
    let hosts: Vec<HostFacts> = runs.iter_mut().map(|run| std::mem::take(&mut run.host)).collect();
    let name = runs.first().map_or_else(String::new, |run| run.name.clone());
    let variant = [Variant { name, runs: std::mem::take(runs) }];
    let written = write_report(&variant, &folder.join(REPORT_FILE));
    let [variant] = variant;
    *runs = variant.runs;
    runs.iter_mut().zip(hosts).for_each(|(run, host)| run.host = host);
    written
}

/// Writes the report of `variants` to `path`.
pub fn write_report(variants: &[Variant], path: &Path) -> Result<(), Failure> {
    write_page(path, |out| html::write_report(variants, out, &ReportOptions::default()))
}

/// Writes the page that `write` makes to `path`: under another name first, so that no half-written one is left.
pub fn write_page(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::new(format_args!("{}: {error}", path.display()));
    let (staged, mut file) = StagedFile::create(path).map_err(cannot)?;
    let mut out = BufWriter::new(&mut file);
    write(&mut out).and_then(|()| out.flush()).map_err(cannot)?;
    drop(out);
    staged.commit().map_err(cannot)?;
    Ok(())
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
    Ok(load_variants(folders)?.into_iter().flat_map(|variant| variant.runs).collect())
}

/// The variants in `folders`, one each: a folder of several seeds is one experiment with its replications.
pub fn load_variants(folders: &[PathBuf]) -> Result<Vec<Variant>, Failure> {
    folders.iter().map(|folder| load_variant(folder)).collect()
}

fn load_variant(folder: &Path) -> Result<Variant, Failure> {
    let found = RunFolder::open_all(folder)
        .map_err(|error| Failure::new(error).hint("give the folder that `flowloom run -o FOLDER` wrote"))?;
    if found.is_empty() {
        return Err(Failure::new(format_args!("{}: none of its seeds was run", folder.display()))
            .hint("run it again: it was interrupted before its first run began"));
    }
    // Seeds and folders of one name are told apart by what the user typed.
    let typed = folder.to_string_lossy();
    let name = typed.trim_end_matches('/').to_owned();
    let mut runs = found.iter().map(load).collect::<Result<Vec<Run>, Failure>>()?;
    for run in &mut runs {
        run.name = if found.len() > 1 { format!("{name}/{}", run.name) } else { name.clone() };
    }
    Ok(Variant { name, runs })
}
