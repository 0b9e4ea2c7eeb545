//! Folders of captures, as capturing programs that change files leave them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Something in a folder of captures that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its path.
    pub name: String,
    /// Why it was left out.
    pub why: String,
}

/// What stands in `folder`, by name: files that may be captures, and other things. Hidden files and those whose name
/// ends in `.tmp` are someone's work in progress and not mentioned.
pub(super) fn entries(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<Skipped>)> {
    let (mut files, mut others) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(b".") || name.ends_with(b".tmp") {
            continue;
        }
        let path = entry.path();
        // A link counts as what it points to.
        let why = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                files.push(path);
                continue;
            }
            Ok(metadata) if metadata.is_dir() => "it is a folder".to_owned(),
            Ok(_) => "it is no regular file".to_owned(),
            Err(error) => error.to_string(),
        };
        others.push(Skipped { name: path.display().to_string(), why });
    }
    files.sort();
    others.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((files, others))
}
