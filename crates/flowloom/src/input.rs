//! What a path holds: an experiment, a run folder, vectors in one of many forms, flow records or a capture.

use std::path::{Path, PathBuf};

use flowloom_store::flows;
use flowloom_store::formats::{self, Format};

use crate::error::Error;
use crate::extraction::CaptureOptions;

/// The kinds of input a command may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An experiment file: its name ends in `.toml`.
    Experiment,
    /// A specification of a virtual-circuit internetwork: its name ends in `.spec`.
    Specification,
    /// A run folder: a directory with `run.json`, or `index.json` for several seeds.
    RunFolder,
    /// A workload file: it begins as Parquet files do.
    Workload,
    /// Vectors in another form, which never is Parquet.
    Vectors(Format),
    /// Export messages of NetFlow or IPFIX. A capture of them cannot be told from other captures.
    Flows,
    /// Anything else, standard input and other directories included: the capture reader says what is wrong with it, if
    /// anything.
    Capture,
}

impl Kind {
    /// The kind of vectors in `format`.
    pub fn of(format: Format) -> Kind {
        if format == Format::Parquet { Kind::Workload } else { Kind::Vectors(format) }
    }

    /// What it is called in options and JSON.
    pub fn name(self) -> &'static str {
        let of = |format| Format::NAMES.iter().find(|(_, known)| *known == format).map_or("", |(name, _)| name);
        match self {
            Kind::Experiment => "experiment",
            Kind::Specification => "specification",
            Kind::RunFolder => "run",
            Kind::Workload => of(Format::Parquet),
            Kind::Vectors(format) => of(format),
            Kind::Flows => "flows",
            Kind::Capture => "capture",
        }
    }

    /// What it is, in words.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Experiment => "an experiment",
            Kind::Specification => "a specification of an internetwork",
            Kind::RunFolder => "a run folder",
            Kind::Workload | Kind::Vectors(Format::Parquet) => "a workload",
            Kind::Vectors(Format::Tmix(_)) => "a file of Tmix vectors",
            Kind::Vectors(Format::Zeek) => "a conn.log of Zeek",
            Kind::Vectors(Format::Csv) => "a CSV table of connections",
            Kind::Vectors(Format::JsonLines) => "a file of vectors in JSON lines",
            Kind::Vectors(Format::Astf) => "a profile of TRex",
            Kind::Vectors(Format::Tgen) => "a graph of tgen",
            Kind::Flows => "a file of flow records",
            Kind::Capture => "a capture",
        }
    }
}

/// What `path` holds, by its first bytes; by its name where nothing else tells.
pub fn kind(path: &Path) -> Kind {
    if path.is_dir() {
        let has = |name| path.join(name).exists();
        return if has("run.json") || has("index.json") { Kind::RunFolder } else { Kind::Capture };
    }
    if path.extension().is_some_and(|extension| extension == "toml") {
        return Kind::Experiment;
    }
    if path.extension().is_some_and(|extension| extension == "spec") {
        return Kind::Specification;
    }
    // What is read of a pipe is gone.
    if !path.is_file() {
        return Kind::Capture;
    }
    let Ok(head) = formats::head(path) else { return Kind::Capture };
    if let Some(format) = Format::of_content(&head) {
        return Kind::of(format);
    }
    if let Some(flows::Kind::Messages(_)) = flows::detect(&head) {
        return Kind::Flows;
    }
    // Text that is no form at all: its own reader says what is wrong with it.
    let is_text =
        !head.contains(&0) && std::str::from_utf8(&head).map_or_else(|error| error.error_len().is_none(), |_| true);
    match Format::of_name(&path.to_string_lossy()) {
        Some(format) if is_text && format != Format::Parquet => Kind::Vectors(format),
        _ => Kind::Capture,
    }
}

/// The kind that all of `paths` have in common.
pub fn common_kind(paths: &[PathBuf]) -> Result<Kind, Error> {
    let first = kind(&paths[0]);
    let alike = |other: Kind| match (first, other) {
        (Kind::Vectors(Format::Tmix(_)), Kind::Vectors(Format::Tmix(_))) => true,
        (first, other) => first == other,
    };
    match paths.iter().find(|path| !alike(kind(path))) {
        None => Ok(first),
        Some(other) => Err(Error::usage(format_args!(
            "{} is {}, and {} is {}",
            paths[0].display(),
            first.words(),
            other.display(),
            kind(other).words()
        ))
        .hint("inputs of one kind go together; give the others by themselves")),
    }
}

/// Options that change nothing about how inputs of `kind` are read: better said than ignored.
pub fn refuse_idle_options(options: &CaptureOptions, kind: Kind, path: &Path) -> Result<(), Error> {
    match options.given_in_vain(kind) {
        Some((option, about)) => Err(Error::usage(format_args!(
            "{}: {option} is about reading {about}, and this is {}",
            path.display(),
            kind.words()
        ))
        .hint(format_args!("leave {option} out, or give it with the capture the data came from"))),
        None => Ok(()),
    }
}

/// Refuses all options about reading where nothing is read that they are about; `what` says what there is instead.
///
/// # Errors
/// The first that was given.
pub fn refuse_reading_options(options: &CaptureOptions, what: &str) -> Result<(), Error> {
    // No option is about reading workloads.
    match options.given_in_vain(Kind::Workload) {
        Some((option, about)) => Err(Error::usage(format_args!("{option} is about reading {about}, and {what}"))
            .hint(format_args!("leave {option} out"))),
        None => Ok(()),
    }
}
