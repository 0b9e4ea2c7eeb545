//! The small JSON files of run folders.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value};

use super::files::{RunFolderError, VERSION};
use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::regular;
use crate::table::FileError;

/// From this version on, a folder has a manifest, unless its run was cut short.
const FIRST_WITH_MANIFEST: u64 = 2;

/// Writes `value` indented, with a newline at the end. Keys are sorted, so equal values give equal bytes.
pub(super) fn write(path: &Path, value: &Value) -> Result<(), FileError> {
    let error = |source: io::Error| FileError::Write { path: path.to_owned(), source };
    let mut text = serde_json::to_vec_pretty(value).map_err(|inner| error(inner.into()))?;
    text.push(b'\n');
    fs::write(path, text).map_err(error)
}

/// Reads the object in `folder/file`, which must be as `manifest` has it, and say that it is of `format` in a version known here.
pub(super) fn read(
    folder: &Path,
    file: &str,
    format: &str,
    manifest: Option<&Manifest>,
) -> Result<Map<String, Value>, RunFolderError> {
    let not_a_run = |problem: String| RunFolderError::NotARun { path: folder.to_owned(), problem };
    let text = regular::read(&folder.join(file)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if !folder.exists() => {
            FileError::Read { path: folder.to_owned(), source: error }.into()
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => not_a_run(format!("it has no {file}")),
        _ => FileError::Read { path: folder.join(file), source: error }.into(),
    })?;
    if let Some(manifest) = manifest {
        manifest.check(&folder.join(file), &text)?;
    }
    let value: Value =
        serde_json::from_slice(&text).map_err(|error| not_a_run(format!("{file} cannot be read: {error}")))?;
    let Value::Object(object) = value else { return Err(not_a_run(format!("{file} holds no object"))) };
    if object.get("format").and_then(Value::as_str) != Some(format) {
        return Err(not_a_run(format!("{file} does not say \"format\": \"{format}\"")));
    }
    match object.get("version").and_then(Value::as_u64) {
        Some(FIRST_WITH_MANIFEST..=VERSION) if manifest.is_none() && object.get("complete") != Some(&false.into()) => {
            let problem = "it is missing (take another copy of the folder)".to_owned();
            Err(FileError::Metadata { path: folder.join(MANIFEST_FILE), problem }.into())
        }
        Some(1..=VERSION) => Ok(object),
        Some(found) if found > VERSION => Err(RunFolderError::Newer { path: folder.to_owned(), found }),
        _ => Err(not_a_run(format!("{file} has no version this flowloom knows"))),
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};
    use serde_json::json;

    use super::*;

    /// What a report says of a run is what the run said, to the last digit.
    #[test]
    fn numbers_are_read_back_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut stream = Stream::new(1, Purpose::Noise, 0);
        let numbers: Vec<f64> = (0..10_000).map(|_| stream.exponential(1e6)).collect();
        let value = json!({ "format": "flowloom-run", "version": 1, "numbers": numbers });
        write(&folder.path().join("run.json"), &value).unwrap();
        let object = read(folder.path(), "run.json", "flowloom-run", None).unwrap();
        assert_eq!(object["numbers"], value["numbers"]);
    }
}
