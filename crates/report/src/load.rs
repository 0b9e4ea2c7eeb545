//! A run folder's tables, read once, row by row.

use std::path::PathBuf;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_store::FileError;
use flowloom_store::run_folder::RunFolder;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::facts::{ClassFacts, Facts, HostFacts};
use crate::run::{Measurements, Run};

/// Why a run folder could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A table cannot be read.
    #[error(transparent)]
    Table(#[from] FileError),
    /// `run.json` or `host.json` holds something else than it should.
    #[error("{}: {problem}", path.display())]
    Facts {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl Run {
    /// Reads the numbers of a run folder, complete or cut off. Of each table only the values that are summarised or
    /// compared stay in memory: some 100 bytes a connection. ADUs are read where there is an original to compare them with.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if a table or a JSON file is missing or cannot be read; it names the file.
    pub fn load(folder: &RunFolder) -> Result<Run, LoadError> {
        let mut facts: Facts = fields(folder, "run.json", Value::Object(folder.run().clone()))?;
        facts.interrupted |= !folder.recorded();
        if folder.recorded() && !folder.complete() && !facts.interrupted {
            let reason = folder.reason().unwrap_or("the program stopped before that");
            let cause = format!("the run was recorded to its end, and its folder was not completed: {reason}");
            facts.warnings.push(format!("{cause} (remedy: flowloom report writes the page again)"));
        }
        let host: HostFacts = match folder.host() {
            Value::Null => HostFacts::default(),
            host => fields(folder, "host.json", host.clone())?,
        };
        let window = match facts.window_ns {
            Some([start, end]) => (Time::from_nanos(start), Time::from_nanos(end)),
            None => (Time::ZERO, last_sign_of_life(folder)?),
        };
        let planned = match facts.planned_window_ns {
            Some([start, end]) => Duration::from_nanos(end.saturating_sub(start)),
            None => window.1.since(window.0),
        };
        let mut measured = Measurements::new(window, planned, folder.queue_interval()?);
        if facts.of_model || facts.has_only_sources() {
            measured.has_no_clock();
        }
        if let Some(original) = facts.original.as_ref().filter(|original| original.clock_jumps_ns > 0) {
            measured.original_jumps(Time::ZERO + Duration::from_nanos(original.duration_ns));
        }
        measured.dead_cells =
            [LinkSide::Left, LinkSide::Right].map(|from| facts.cells(from).and_then(|cells| cells.dead_share()));
        for row in folder.connections()? {
            let row = row?;
            if !facts.classes.get(usize::from(row.class)).is_some_and(ClassFacts::is_source) {
                measured.workload.add(&row);
            }
            measured.connection(&row);
        }
        measured.connections_done();
        folder.epochs()?.try_for_each(|row| row.map(|row| measured.epoch(&row)))?;
        // The largest table by far, of which all is compared with the original.
        if measured.has_original {
            folder.adus()?.try_for_each(|row| row.map(|row| measured.adu(&row)))?;
        }
        folder.queue()?.try_for_each(|row| row.map(|row| measured.queue(&row)))?;
        folder.throughput()?.try_for_each(|row| row.map(|row| measured.throughput(&row)))?;
        folder.sources()?.try_for_each(|row| row.map(|row| measured.source(&row)))?;
        if folder.has_sojourn()? {
            folder.sojourn()?.try_for_each(|row| row.map(|row| measured.sojourn(&row)))?;
        }
        if folder.has_probes()? {
            folder.probes()?.try_for_each(|row| row.map(|row| measured.probe(&row)))?;
        }
        folder.drops()?.try_for_each(|row| row.map(|row| measured.drop(&row)))?;
        measured.finish();
        let name = folder.path().file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into());
        Ok(Run { name, facts, host, measurements: measured })
    }
}

impl Run {
    /// Reads the data units of a run without a measured original, whose sizes can be compared with those of the vectors. `folder` is
    /// the one that the run was loaded from.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the table is missing or cannot be read.
    pub fn load_adus(&mut self, folder: &RunFolder) -> Result<(), LoadError> {
        if !self.measurements.has_original {
            folder.adus()?.try_for_each(|row| row.map(|row| self.measurements.adu(&row)))?;
        }
        Ok(())
    }
}

/// Where the window of a run that does not say ends: just after the last thing a connection did.
fn last_sign_of_life(folder: &RunFolder) -> Result<Time, FileError> {
    let mut last = Time::ZERO;
    for row in folder.connections()? {
        let row = row?;
        last =
            [Some(row.start), row.last_data, row.closed, row.original_end].into_iter().flatten().fold(last, Time::max);
    }
    Ok(last + Duration::from_nanos(1))
}

fn fields<T: DeserializeOwned>(folder: &RunFolder, file: &str, value: Value) -> Result<T, LoadError> {
    serde_json::from_value(value)
        .map_err(|error| LoadError::Facts { path: folder.path().join(file), problem: error.to_string() })
}
