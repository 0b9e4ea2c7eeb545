//! The scripts of this crate.
//!
//! A script begins with comments: what it shows, `Source:` and, where the simulator is known not to follow it, `Departs:`
//! with the reason.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::script::Script;

/// A script of the suite and what its head says.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// Folder and name without extension: `close/simultaneous`.
    pub name: String,
    /// The title: what the script shows.
    pub title: String,
    /// The passage of the RFC or paper it was written from.
    pub source: String,
    /// Why the simulator does not follow it, where that is known.
    pub departs: Option<String>,
    path: PathBuf,
    text: Vec<u8>,
}

/// The folder that holds the scripts.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts")
}

/// All scripts in `folder` and the folders in it, by name.
///
/// # Errors
/// A folder or script that cannot be read.
pub fn suite(folder: &Path) -> io::Result<Vec<Transcript>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "pkt") {
                let text = fs::read(&path)?;
                let name = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
                found.push(Transcript::new(name.to_string_lossy().replace('\\', "/"), path, text));
            }
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

impl Transcript {
    fn new(name: String, path: PathBuf, text: Vec<u8>) -> Transcript {
        let readable = String::from_utf8_lossy(&text).into_owned();
        let head: Vec<&str> = readable.lines().map_while(|line| line.strip_prefix("//")).map(str::trim).collect();
        let field =
            |name: &str| head.iter().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned());
        Transcript {
            title: head.first().copied().unwrap_or_default().to_owned(),
            source: field("Source:").unwrap_or_default(),
            departs: field("Departs:"),
            name,
            path,
            text,
        }
    }

    /// The folder it is in: its topic.
    pub fn topic(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// Reads and plays it.
    ///
    /// # Errors
    /// What is wrong with the script, or the first line of it that does not hold, with the packets so far.
    pub fn play(&self) -> Result<(), String> {
        let file = self.path.display().to_string();
        let script = Script::parse(&file, &self.text).map_err(|error| error.to_string())?;
        script.run().map_err(|failure| failure.to_string())
    }
}
