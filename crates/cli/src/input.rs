//! What a path holds: an experiment, a run folder, a workload or a capture.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The kinds of input a command may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An experiment file: its name ends in `.toml`.
    Experiment,
    /// A run folder: a directory with `run.json`, or `index.json` for several seeds.
    RunFolder,
    /// A workload file: it begins as Parquet files do.
    Workload,
    /// Anything else, standard input and other directories included: the capture reader says what is wrong with it, if
    /// anything.
    Capture,
}

/// What `path` holds, by its name and its first bytes.
pub fn kind(path: &Path) -> Kind {
    if path.as_os_str() == "-" {
        return Kind::Capture;
    }
    if path.is_dir() {
        let has = |name| path.join(name).exists();
        return if has("run.json") || has("index.json") { Kind::RunFolder } else { Kind::Capture };
    }
    if path.extension().is_some_and(|extension| extension == "toml") {
        return Kind::Experiment;
    }
    let mut magic = [0; 4];
    match File::open(path).and_then(|mut file| file.read_exact(&mut magic)) {
        Ok(()) if &magic == b"PAR1" => Kind::Workload,
        _ => Kind::Capture,
    }
}
