//! Names of cells: a hash of all that decides their numbers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use flowloom_store::manifest::FileDigest;

use crate::error::Error;
use crate::parallel::locked;
use crate::run::RunOptions;
use crate::run::command_line::reading;
use crate::run::plan::Plan;
use crate::workload::source::Source;

/// The version of the numbers that runs come to. It is raised when a run with the same inputs, options and seed comes to other numbers than
/// before, so that a sweep never sets cells of two versions beside each other. A test holds the tables of thirty runs together with it.
pub const RESULTS_VERSION: u32 = 8;

/// Digits of a name: 64 bits, of which two of a hundred thousand cells are the same once in a billion sweeps.
const DIGITS: usize = 16;

/// SHA-256 of files that runs read, each read once.
#[derive(Default)]
pub struct Digests(Mutex<BTreeMap<PathBuf, String>>);

impl Digests {
    fn of(&self, path: &Path) -> Result<String, Error> {
        if let Some(known) = locked(&self.0).get(path) {
            return Ok(known.clone());
        }
        let digest = FileDigest::of(path).map_err(|error| Error::new(format_args!("{}: {error}", path.display())))?;
        locked(&self.0).insert(path.to_owned(), digest.sha256.clone());
        Ok(digest.sha256)
    }

    /// The name of the cell that `plan` is, whose inputs hold `base`.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn cell(&self, plan: &Plan, run: &RunOptions, base: Option<&Source>) -> Result<String, Error> {
        // Wherever the inputs lie, and whatever they are called.
        let mut experiment = plan.experiment.clone();
        experiment.title = None;
        let mut read: Vec<String> = Vec::new();
        for source in &plan.sources {
            if source.is_file() {
                read.push(self.of(source)?);
            }
        }
        if read.len() < plan.sources.len() {
            let inputs = base.iter().flat_map(|base| &base.facts.provenance.inputs);
            read.extend(inputs.map(|input| input.sha256.clone()));
        }
        experiment.workload.source = None;
        for file in experiment.files() {
            read.push(self.of(&file)?);
        }
        experiment.anonymize();
        let text = format!(
            "results {RESULTS_VERSION}\n{}\n{}\n{read:?}\n{:?}",
            run.on.name(),
            experiment.to_toml(),
            reading(&run.capture)
        );
        let mut name = FileDigest::of_bytes(text.as_bytes()).sha256;
        name.truncate(DIGITS);
        Ok(name)
    }
}
