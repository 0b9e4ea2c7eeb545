//! `notes.toml`: periods and tags that people write.

use std::path::Path;

use flowloom_store::monitor::{utc_ns, utc_text};
use serde::Deserialize;

use crate::error::{Error, decoded};

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// Its period, in nanoseconds since 1970 UTC; the end is the beginning of what is a moment. `None` of a note about a run.
    pub(super) period_ns: Option<(u64, u64)>,
    /// The run it is about, relative to the folder of the file.
    pub(super) run: Option<String>,
    pub(super) text: String,
    pub(super) tags: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    note: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    from: Option<String>,
    to: Option<String>,
    run: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    tags: Vec<String>,
}

/// Bytes of a file of notes at most.
const LONGEST: u64 = 1 << 20;

/// Characters of the name of a note at most.
const MOST_LETTERS: usize = 80;

impl Note {
    /// Its first line, or the beginning of it.
    pub(super) fn name(&self) -> String {
        let line = self.text.lines().next().unwrap_or_default();
        match line.char_indices().nth(MOST_LETTERS) {
            Some((end, _)) => format!("{}...", &line[..end]),
            None => line.to_owned(),
        }
    }
}

/// Reads the notes in the file at `path`, which is below the folder `root`.
///
/// # Errors
/// It cannot be read, or says what cannot be.
pub(super) fn read(root: &Path, path: &Path) -> Result<Vec<Note>, Error> {
    let name = path.display().to_string();
    let below = path.strip_prefix(root).unwrap_or(path);
    let bytes =
        flowloom_store::regular::read_below(root, below, LONGEST).map_err(|error| Error::of_file(path, &error))?;
    let text = decoded(bytes, &name, "notes are a TOML file")?;
    let file: File =
        toml::from_str(&text).map_err(|error| Error::usage(format_args!("{name}: {}", error.message())))?;
    let note = |(number, note): (usize, Written)| {
        let wrong = |problem: String| Error::usage(format_args!("{name}: note[{number}]: {problem}"));
        let time = |key: &str, text: &str| {
            utc_ns(text).ok_or_else(|| wrong(format!("{key}: {text:?} is no time: write 2026-11-27T10:00 (UTC)")))
        };
        let period_ns = match (&note.from, &note.to, &note.run) {
            (Some(from), to, None) => {
                let from_ns = time("from", from)?;
                let to_ns = to.as_ref().map_or(Ok(from_ns), |to| time("to", to))?;
                if to_ns < from_ns {
                    return Err(wrong(format!("it ends before {}", utc_text(from_ns))));
                }
                Some((from_ns, to_ns))
            }
            (None, None, Some(_)) => None,
            _ => return Err(wrong("give it from, perhaps with to, or run".to_owned())),
        };
        Ok(Note { period_ns, run: note.run, text: note.text, tags: note.tags })
    };
    file.note.into_iter().enumerate().map(note).collect()
}
