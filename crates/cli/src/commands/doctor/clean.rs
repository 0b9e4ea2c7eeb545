//! `flowloom doctor --clean`: what runs left behind that were killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use flowloom::UNFINISHED;
use flowloom::live::host::orphans::orphans;
use serde::Serialize;

use crate::exit::Exit;
use crate::{args, output};
use flowloom::Error;

/// The subcommand of worker processes.
const WORKER: &str = "live-worker";
/// The subcommand of those that keep programs of the user's.
const GUEST: &str = "live-guest";

/// Letters and digits after [`UNFINISHED`] in the names of unfinished files and folders.
const MARK_LETTERS: usize = 6;

/// What files of runs end in.
const MADE: [&str; 4] = ["parquet", "json", "html", "pcap"];

/// What was done.
#[derive(Debug, Default, Serialize)]
struct Cleaned {
    /// Processes of runs that were ended.
    ended_processes: Vec<u32>,
    /// Folders that were removed.
    removed_folders: Vec<PathBuf>,
    /// Folders that may be those of a run that goes on.
    kept_folders: Vec<PathBuf>,
    /// Folders that are called like those of runs, and hold what no run makes.
    foreign_folders: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(args: &args::Doctor, quiet: bool) -> Result<Exit, Error> {
    let mut cleaned = Cleaned::default();
    let find = |what| orphans(what).map_err(|error| Error::new(format!("cannot look for processes: {error}")));
    let workers = find(WORKER)?.into_iter().map(|stray| (stray.end(), stray.process));
    let guests = find(GUEST)?.into_iter().map(|stray| (stray.ask_to_end(), stray.process));
    for (ended, process) in workers.chain(guests) {
        ended.map_err(|error| {
            Error::new(format!("cannot end process {process}: {error}")).hint("run this as its user, or as root")
        })?;
        cleaned.ended_processes.push(process);
    }
    if let Some(folder) = &args.runs {
        let name = folder.display();
        let cannot = |error| Error::new(format!("cannot read {name}: {error}"));
        let mut found = unfinished(folder).map_err(cannot)?;
        for path in std::mem::take(&mut found) {
            let folders = if is_of_a_run(&path).map_err(cannot)? { &mut found } else { &mut cleaned.foreign_folders };
            folders.push(path);
        }
        if any_in_use(&found) {
            cleaned.kept_folders = found;
        } else {
            for partial in &found {
                let removed = fs::remove_dir_all(partial);
                removed.map_err(|error| Error::new(format!("cannot remove {}: {error}", partial.display())))?;
            }
            cleaned.removed_folders = found;
        }
    }
    if args.json {
        return output::json(&cleaned).map(|()| Exit::Done);
    }
    if quiet {
        return Ok(Exit::Done);
    }
    output::shown(&cleaned.text(args.runs.as_deref())).map(|()| Exit::Done)
}

impl Cleaned {
    fn text(&self, folder: Option<&Path>) -> String {
        let mut text = String::new();
        for process in &self.ended_processes {
            text.push_str(&format!("ended process {process}, whose run is gone\n"));
        }
        for folder in &self.removed_folders {
            text.push_str(&format!("removed {}, which no process uses\n", folder.display()));
        }
        for folder in &self.kept_folders {
            text.push_str(&format!("kept {}: a run goes on here\n", folder.display()));
        }
        for folder in &self.foreign_folders {
            text.push_str(&format!("kept {}: it holds what no run makes\n", folder.display()));
        }
        if self.ended_processes.is_empty() {
            text.push_str("no process has lost its run: nothing to end\n");
        }
        match folder {
            Some(folder) if self.removed_folders.is_empty() && self.kept_folders.is_empty() => {
                text.push_str(&format!("no unfinished run folder in {}: nothing to remove\n", folder.display()));
            }
            _ => {}
        }
        text.push_str("networks of live runs have no names, and are gone with their processes\n");
        text
    }
}

/// The folders of runs in `folder` that are not finished.
fn unfinished(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && is_unfinished(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Whether all that is in a folder may be a run's.
fn is_of_a_run(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        let is_known = match entry.file_type()? {
            kind if kind.is_dir() => is_of_a_run(&path)?,
            _ => {
                is_unfinished(&name.to_string_lossy())
                    || path.extension().is_some_and(|ending| MADE.iter().any(|made| ending == *made))
            }
        };
        if !is_known {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a process has a file open in one of these. A run has several of them, and not always a file open in each: so if one
/// is in use, all may be.
fn any_in_use(folders: &[PathBuf]) -> bool {
    // Processes have absolute paths.
    let folders: Vec<PathBuf> = folders.iter().filter_map(|folder| fs::canonicalize(folder).ok()).collect();
    open_files().iter().any(|file| folders.iter().any(|folder| file.starts_with(folder)))
}

fn is_unfinished(name: &str) -> bool {
    name.rsplit_once(UNFINISHED).is_some_and(|(name, letters)| {
        !name.is_empty() && letters.len() == MARK_LETTERS && letters.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// The files that processes have open, and the folders they are in, as far as we may look.
fn open_files() -> Vec<PathBuf> {
    let mut open = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let descriptors = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        open.extend(descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok()));
        open.extend(fs::read_link(process.path().join("cwd")));
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_names_of_unfinished_runs_are_taken() {
        for (name, taken) in [
            ("a.partial-Ab3xYz", true),
            ("runs.2026.partial-000000", true),
            ("a.partial-short", false),
            ("a.partial-toolong", false),
            (".partial-Ab3xYz", false),
            ("a.partial-Ab3x/z", false),
            ("a", false),
        ] {
            assert_eq!(is_unfinished(name), taken, "{name}");
        }
    }

    #[test]
    fn a_folder_with_something_else_in_it_is_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let seed = folder.path().join("seed-1");
        fs::create_dir(&seed).unwrap();
        for file in [folder.path().join("run.json"), seed.join("epochs.parquet"), seed.join("x.parquet.partial-Ab3xYz")]
        {
            File::create(file).unwrap();
            assert!(is_of_a_run(folder.path()).unwrap());
        }
        File::create(seed.join("thesis.tex")).unwrap();
        assert!(!is_of_a_run(folder.path()).unwrap());
    }

    #[test]
    fn a_run_that_goes_on_keeps_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, done] = ["a.partial-000000", "b.partial-000000", "c"].map(|name| folder.path().join(name));
        for path in [&first, &second, &done] {
            fs::create_dir(path).unwrap();
        }
        let open = File::create(second.join("connections.parquet")).unwrap();
        let found = unfinished(folder.path()).unwrap();
        assert_eq!(found, [first, second]);
        assert!(any_in_use(&found), "both may be of the run that has a file open in one");
        drop(open);
        assert!(!any_in_use(&found));
    }
}
