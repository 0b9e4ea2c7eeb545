//! The files that runs of a specification write.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flowloom_sim::cells::{Event, Happening};
use flowloom_store::manifest;
use flowloom_store::staged::{StagedFile, StagedFolder, real, take_name};
use serde_json::Value;

use super::config::Names;
use crate::error::Error;
use crate::json::versioned;
use crate::targets::check_folder;

/// The folder's files.
const TEXT: &str = "results.txt";
const ANSWER: &str = "results.json";
const QUEUES: &str = "queues.csv";
const SOURCES: &str = "sources.csv";

/// The folder of results. It gets its name when it is complete.
pub struct Folder {
    staged: StagedFolder,
    target: PathBuf,
    /// Where the target leads.
    end: PathBuf,
}

impl Folder {
    pub fn new(target: &Path, force: bool, inputs: &[PathBuf]) -> Result<Folder, Error> {
        check_folder(target, inputs)?;
        let is_empty = std::fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
        if (target.exists() || !force) && !is_empty && std::fs::symlink_metadata(target).is_ok() {
            let name = target.display();
            if !target.join(ANSWER).is_file() {
                return Err(Error::new(format_args!("{name} exists and holds no results of an internetwork"))
                    .hint("give a folder that is not there yet"));
            }
            if !force {
                return Err(
                    Error::new(format_args!("{name} exists")).hint("take another name, or replace it with --force")
                );
            }
        }
        let end = real(target).map_err(|error| cannot_write(target, &error))?;
        let staged = StagedFolder::create(&end).map_err(|error| cannot_write(target, &error))?;
        Ok(Folder { staged, target: target.to_owned(), end })
    }

    /// Adds text and answer, and gives it its name.
    pub fn finish(self, text: &str, answer: &Value) -> Result<(), Error> {
        let Folder { staged, target, end } = self;
        let finish = || -> io::Result<()> {
            std::fs::write(staged.path().join(TEXT), text)?;
            std::fs::write(staged.path().join(ANSWER), format!("{:#}\n", versioned(answer.clone())))?;
            take_name(staged.path(), &end, end.join(ANSWER).is_file())?;
            let _ = staged.keep();
            Ok(())
        };
        finish().map_err(|error| cannot_write(&target, &error))
    }
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
    pub fn new<'a>(path: &Path, replace: bool, names: &'a Names) -> Result<Trace<'a>, Error> {
        let cannot = |error| cannot_write(path, &error);
        let (staged, file) = StagedFile::create(path, replace).map_err(cannot)?;
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

    pub fn finish(mut self) -> Result<(), Error> {
        let path = self.staged.path().to_owned();
        let cannot = |error| cannot_write(&path, &error);
        self.out.flush().map_err(cannot)?;
        manifest::commit(self.staged).map_err(cannot)
    }
}
