//! What a path holds: an experiment, a run folder, vectors in one of many forms, flow records or a capture.

pub(crate) mod kinds;

use std::path::{Path, PathBuf};

use flowloom_store::flows;
use flowloom_store::formats::{self, Format};

use crate::error::Error;
use crate::extraction::CaptureOptions;
pub use kinds::Kind;

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
    refuse_missing(paths)?;
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

/// Names all of several files that do not exist; the reader of one says so itself.
///
/// # Errors
/// Two of them or more.
pub(crate) fn refuse_missing(paths: &[PathBuf]) -> Result<(), Error> {
    let missing: Vec<&PathBuf> = paths.iter().filter(|path| is_absent(path)).collect();
    if missing.len() < 2 {
        return Ok(());
    }
    let refused = missing.into_iter().map(|path| {
        Error::new(format_args!("{}: there is no such file", path.display())).hint("check the spelling of the path")
    });
    Error::all(refused).map_or(Ok(()), Err)
}

/// Whether there is no such file; standard input is none.
pub(crate) fn is_absent(path: &Path) -> bool {
    let found = std::fs::metadata(path);
    path.as_os_str() != "-" && found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Options that change nothing about how inputs of `kind` are read: better said than ignored.
pub fn refuse_idle_options(options: &CaptureOptions, kind: Kind, path: &Path) -> Result<(), Error> {
    match options.given_in_vain(kind) {
        Some((option, about)) => Err(Error::usage(format_args!(
            "{}: {option} is about reading {about}, and this is {}",
            path.display(),
            kind.words()
        ))
        .hint(match kind {
            Kind::RunFolder => format!("leave {option} out, or give it to the `flowloom run` that makes the folder"),
            _ => format!("leave {option} out, or give it with the capture the data came from"),
        })),
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
