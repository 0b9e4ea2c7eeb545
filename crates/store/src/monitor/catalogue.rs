//! `monitor.json`: the series of a store, and its version.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::regular;
use crate::sealed::{self, BLANK};
use crate::staged::StagedFile;
use crate::table::{FileError, Part};

/// The file that makes a folder a store.
pub const CATALOGUE_FILE: &str = "monitor.json";

/// The version of the store.
pub(super) const VERSION: u64 = 2;

/// What stands in front of the file's own digest.
const MARKER: &[u8] = b"\"monitor_sha256\": \"";

/// Whether a series counts or holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It counts: a sample is what was counted since the one before.
    Counter,
    /// It holds a value.
    Gauge,
}

/// What is sampled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Series {
    /// Its number in the tables.
    pub id: u32,
    /// The target, as the registry names it.
    pub target: String,
    /// The port, path or circuit; empty if it is about the whole target.
    pub port: String,
    /// What is counted: `in`, `out-packets`, ...
    pub counter: String,
    /// Its unit: `octets`, `cells`, `packets`, ...
    pub unit: String,
    /// Whether it counts or holds a value.
    pub kind: Kind,
    /// How often it is sampled, in nanoseconds.
    pub interval_ns: u64,
}

/// A series by what names it: the same target, port, counter, unit, kind and interval are the same series.
#[derive(Clone, Debug)]
struct Named(Arc<Series>);

impl Named {
    fn key(&self) -> (&str, &str, &str, &str, Kind, u64) {
        let Series { target, port, counter, unit, kind, interval_ns, .. } = &*self.0;
        (target, port, counter, unit, *kind, *interval_ns)
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Named) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Named {}

impl PartialOrd for Named {
    fn partial_cmp(&self, other: &Named) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Named {
    fn cmp(&self, other: &Named) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The series of a store. There may be hundreds of thousands, so that each is held once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    by_id: BTreeMap<u32, Arc<Series>>,
    by_name: BTreeSet<Named>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    format: String,
    version: u64,
    series: Vec<Series>,
    monitor_sha256: String,
}

impl Catalogue {
    /// Reads that of the store in `folder`; `None` if it is no store.
    ///
    /// # Errors
    /// It is damaged, of a newer version, or cannot be read.
    pub fn open(folder: &Path) -> Result<Option<Catalogue>, FileError> {
        let path = folder.join(CATALOGUE_FILE);
        let text = match regular::read(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(FileError::Read { path, source }),
        };
        Catalogue::parse(&text, &path).map(Some)
    }

    /// Reads the contents of the file at `path`.
    ///
    /// # Errors
    /// Those of [`Catalogue::open`].
    pub fn parse(text: &[u8], path: &Path) -> Result<Catalogue, FileError> {
        if sealed::is_intact(text, MARKER) != Some(true) {
            return Err(FileError::Changed { path: path.to_owned(), part: Part::File });
        }
        let wrong = |problem: String| FileError::Metadata { path: path.to_owned(), problem };
        let stored: Stored = serde_json::from_slice(text).map_err(|error| wrong(error.to_string()))?;
        if stored.format != "monitor" {
            return Err(wrong(format!("it is of format {:?}, not \"monitor\"", stored.format)));
        }
        if stored.version > VERSION {
            let (path, format) = (path.to_owned(), "monitor");
            return Err(FileError::Newer { path, format, found: stored.version, known: VERSION });
        }
        if stored.version < VERSION {
            return Err(wrong(format!(
                "it is of version {}, whose means are rounded; only version {VERSION} is read: let the monitor begin a new store",
                stored.version
            )));
        }
        let mut catalogue = Catalogue::default();
        for series in stored.series {
            let id = series.id;
            if !catalogue.insert(series) {
                return Err(wrong(format!("it has series {id} twice")));
            }
        }
        Ok(catalogue)
    }

    /// Writes it, in place of the one that is there.
    ///
    /// # Errors
    /// [`FileError::Write`].
    pub fn write(&self, folder: &Path) -> Result<(), FileError> {
        let path = folder.join(CATALOGUE_FILE);
        let store = || -> io::Result<()> {
            let mut text = serde_json::to_vec_pretty(&Stored {
                format: "monitor".to_owned(),
                version: VERSION,
                series: self.by_id.values().map(|series| Series::clone(series)).collect(),
                monitor_sha256: BLANK.to_owned(),
            })?;
            text.push(b'\n');
            sealed::seal(&mut text, MARKER);
            let (staged, mut file) = StagedFile::create(&path, true)?;
            file.write_all(&text)?;
            staged.commit().map(drop)
        };
        store().map_err(|source| FileError::Write { path: path.clone(), source })
    }

    /// Enters a series; false if its number or its name is that of another.
    pub fn insert(&mut self, series: Series) -> bool {
        if let Some(known) = self.by_id.get(&series.id) {
            return **known == series;
        }
        let series = Arc::new(series);
        if !self.by_name.insert(Named(Arc::clone(&series))) {
            return false;
        }
        self.by_id.insert(series.id, series);
        true
    }

    /// The number of a series that is named like `series`, whose own number does not matter; and whether it is new.
    pub fn number(&mut self, mut series: Series) -> (u32, bool) {
        series.id = self.by_id.last_key_value().map_or(1, |(id, _)| id + 1);
        let named = Named(Arc::new(series));
        if let Some(Named(known)) = self.by_name.get(&named) {
            return (known.id, false);
        }
        let Named(series) = &named;
        let id = series.id;
        self.by_id.insert(id, Arc::clone(series));
        self.by_name.insert(named);
        (id, true)
    }

    /// A series by its number.
    pub fn get(&self, id: u32) -> Option<&Arc<Series>> {
        self.by_id.get(&id)
    }

    /// All series, by number.
    pub fn series(&self) -> impl Iterator<Item = &Series> {
        self.by_id.values().map(|series| &**series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(port: &str) -> Series {
        Series {
            id: 0,
            target: "core".to_owned(),
            port: port.to_owned(),
            counter: "in".to_owned(),
            unit: "octets".to_owned(),
            kind: Kind::Counter,
            interval_ns: 1,
        }
    }

    #[test]
    fn a_series_keeps_its_number() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Catalogue::open(folder.path()).unwrap(), None);
        let mut catalogue = Catalogue::default();
        assert_eq!(catalogue.number(series("a")), (1, true));
        assert_eq!(catalogue.number(series("b\u{1}\"")), (2, true));
        catalogue.write(folder.path()).unwrap();
        let mut read = Catalogue::open(folder.path()).unwrap().unwrap();
        assert_eq!(read, catalogue);
        assert_eq!(read.number(series("a")), (1, false));
        assert_eq!(read.number(Series { interval_ns: 2, ..series("a") }), (3, true));
        assert!(!read.insert(Series { id: 1, ..series("c") }) && !read.insert(Series { id: 9, ..series("a") }));
    }

    #[test]
    fn an_older_store_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        Catalogue::default().write(folder.path()).unwrap();
        let path = folder.path().join(CATALOGUE_FILE);
        let text = std::fs::read_to_string(&path).unwrap().replace("\"version\": 2", "\"version\": 1");
        let mut text = text.into_bytes();
        sealed::seal(&mut text, MARKER);
        let refused = Catalogue::parse(&text, &path).unwrap_err().to_string();
        assert!(refused.contains("it is of version 1") && refused.contains("begin a new store"), "{refused}");
    }

    #[test]
    fn every_byte_of_a_catalogue_counts() {
        let mut catalogue = Catalogue::default();
        catalogue.number(series("a"));
        let folder = tempfile::tempdir().unwrap();
        catalogue.write(folder.path()).unwrap();
        let path = folder.path().join(CATALOGUE_FILE);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut text = whole.clone();
            text[at] ^= 1;
            assert!(Catalogue::parse(&text, &path).is_err(), "byte {at}");
        }
    }
}
