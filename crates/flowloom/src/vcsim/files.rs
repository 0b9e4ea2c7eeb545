//! The files that runs of a specification write.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flowloom_sim::cells::{Event, Happening};
use flowloom_store::staged::{Naming, StagedFile, StagedFolder, real};
use flowloom_store::{manifest, regular};
use serde_json::Value;

use super::config::Names;
use crate::context::Context;
use crate::error::Error;
use crate::json::versioned;
use crate::targets::{check_folder, not_created, refuse_foreign, tell_part};

/// The folder's files.
const TEXT: &str = "results.txt";
const ANSWER: &str = "results.json";
const QUEUES: &str = "queues.csv";
const SOURCES: &str = "sources.csv";

/// The folder of results. It gets its name when it is complete.
pub struct Folder {
    staged: StagedFolder,
    target: PathBuf,
    force: bool,
    /// Where the target leads.
    end: PathBuf,
}

impl Folder {
    pub fn new(target: &Path, force: bool, inputs: &[PathBuf]) -> Result<Folder, Error> {
        check_folder(target, inputs)?;
        refuse_existing(target, force)?;
        let end = real(target).map_err(|error| cannot_write(target, &error))?;
        let staged = StagedFolder::create(&end).map_err(|error| cannot_write(target, &error))?;
        Ok(Folder { staged, target: target.to_owned(), force, end })
    }

    /// Adds text and answer, and gives it its name. Results of a run that was stopped replace none: they get a name of their own then.
    pub fn finish(self, text: &str, answer: &Value, context: Context<'_>) -> Result<(), Error> {
        let Folder { staged, target, force, end } = self;
        let cannot = |error| cannot_write(&target, &error);
        std::fs::write(staged.path().join(TEXT), text).map_err(cannot)?;
        std::fs::write(staged.path().join(ANSWER), format!("{:#}\n", versioned(answer.clone()))).map_err(cannot)?;
        if context.is_stopped() {
            let named = staged.finish(&end, Naming::Part).map_err(cannot)?;
            tell_part(&target, Some(named), context);
            return Ok(());
        }
        // Something may have come into being under its name meanwhile.
        if let Err(error) = refuse_existing(&target, force) {
            return Err(error.note(format_args!("the results are in {}", staged.keep().display())));
        }
        let naming = if end.join(ANSWER).is_file() { Naming::Replace } else { Naming::New };
        staged.finish(&end, naming).map(drop).map_err(cannot)
    }
}

/// Refuses a folder that may not be replaced.
fn refuse_existing(target: &Path, force: bool) -> Result<(), Error> {
    let is_empty = std::fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
    if is_empty || std::fs::symlink_metadata(target).is_err() || (force && !target.exists()) {
        return Ok(());
    }
    let name = target.display();
    let says_so = |answer: Value| answer.get("json_version").is_some();
    let answer = regular::read(&target.join(ANSWER)).ok().and_then(|text| serde_json::from_slice(&text).ok());
    if !answer.is_some_and(says_so) {
        return Err(Error::new(format_args!("{name} exists and holds no results of an internetwork"))
            .hint("give a folder that is not there yet"));
    }
    if !force {
        return Err(Error::new(format_args!("{name} exists")).hint("take another name, or replace it with --force"));
    }
    refuse_foreign(target, |path, name| !path.is_dir() && [TEXT, ANSWER, QUEUES, SOURCES].contains(&name))
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    Error::new(format_args!("{}: cannot write: {error}", path.display()))
}

/// Samples of one run, as tables.
pub struct Series {
    target: PathBuf,
    files: [BufWriter<File>; 2],
}

impl Series {
    pub fn new(folder: &Folder) -> Result<Series, Error> {
        let open = |name: &str, head: &str| -> io::Result<BufWriter<File>> {
            let mut file = BufWriter::new(File::create(folder.staged.path().join(name))?);
            writeln!(file, "{head}")?;
            Ok(file)
        };
        let heads = [
            (QUEUES, "time_ns,router,queue_bytes"),
            (SOURCES, "time_ns,source,window_packets,round_trip_ns,smoothed_round_trip_ns,delivered_bytes"),
        ];
        let [queues, sources] =
            heads.map(|(name, head)| open(name, head).map_err(|error| cannot_write(&folder.target, &error)));
        Ok(Series { target: folder.target.clone(), files: [queues?, sources?] })
    }

    pub fn row(&mut self, file: usize, row: std::fmt::Arguments<'_>) -> Result<(), Error> {
        writeln!(self.files[file], "{row}").map_err(|error| cannot_write(&self.target, &error))
    }

    pub fn finish(mut self) -> Result<(), Error> {
        self.files.iter_mut().try_for_each(Write::flush).map_err(|error| cannot_write(&self.target, &error))
    }
}

/// What happens to each cell, a line each.
pub struct Trace<'a> {
    staged: StagedFile,
    out: BufWriter<File>,
    names: &'a Names,
}

impl Trace<'_> {
    pub fn new<'a>(path: &Path, replace: bool, names: &'a Names, context: Context<'_>) -> Result<Trace<'a>, Error> {
        let (cannot, interrupt) = (|error| cannot_write(path, &error), context.interrupt());
        let created = StagedFile::create_until(path, replace, &interrupt);
        let (staged, file) = created.map_err(|error| not_created(path, &error, &interrupt))?;
        let mut out = BufWriter::new(file);
        writeln!(out, "time_ns\tevent\tnode\tcircuit\troute\tdirection\tdata\tack\tbytes\tpart").map_err(cannot)?;
        Ok(Trace { staged, out, names })
    }

    pub fn add(&mut self, event: Event) -> Result<(), Error> {
        let happening = match event.happening {
            Happening::Queued => "queued",
            Happening::Sent => "sent",
            Happening::Arrived => "came",
            Happening::Lost(_) => "lost",
        };
        let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let part = match (event.cell.first, event.cell.last) {
            (true, true) => "whole",
            (true, false) => "first",
            (false, true) => "last",
            (false, false) => "middle",
        };
        writeln!(
            self.out,
            "{}\t{happening}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{part}",
            event.at.as_nanos(),
            self.names.nodes[event.node].id,
            event.cell.circuit,
            event.route,
            if event.back { "back" } else { "there" },
            number(event.data),
            number(event.ack),
            event.cell.carried,
        )
        .map_err(|error| cannot_write(self.staged.path(), &error))
    }

    /// Gives it its name; one of a run that was stopped replaces none.
    pub fn finish(mut self, context: Context<'_>) -> Result<(), Error> {
        let path = self.staged.path().to_owned();
        let cannot = |error| cannot_write(&path, &error);
        self.out.flush().map_err(cannot)?;
        if context.is_stopped() {
            let named = manifest::commit_part(self.staged).map_err(cannot)?;
            tell_part(&path, named, context);
            return Ok(());
        }
        manifest::commit(self.staged).map_err(cannot)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::context::{Silent, Stop};

    #[test]
    fn results_that_came_meanwhile_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (target, stop) = (folder.path().join("v"), Stop::new());
        let context = Context::new(&Silent, &stop);
        let begin = |force| Folder::new(&target, force, &[]).unwrap();
        let mine = begin(false);
        begin(false).finish("theirs", &json!({}), context).unwrap();
        let error = mine.finish("mine", &json!({}), context).unwrap_err();
        let left = error.notes[0].strip_prefix("the results are in ").unwrap();
        let text = |folder: &Path| std::fs::read_to_string(folder.join(TEXT)).unwrap();
        assert_eq!((text(&target), text(Path::new(left))), ("theirs".to_owned(), "mine".to_owned()));
        begin(true).finish("forced", &json!({}), context).unwrap();
        assert_eq!(text(&target), "forced");
    }
}
