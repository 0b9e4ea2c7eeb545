//! `manifest.json`: length and SHA-256 of every file in a folder, and of the manifest itself.
//!
//! Whoever adds a file to a folder that has a manifest enters it there ([`commit`], [`list`]). The manifest is of the folder's own
//! files; folders in there have manifests of their own.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::regular;
use crate::sealed::{self, BLANK, hexadecimal};
use crate::staged::StagedFile;
use crate::table::{FileError, Part};

/// The name of the manifest in its folder.
pub const MANIFEST_FILE: &str = "manifest.json";

/// The version of the manifest's own form.
const VERSION: u64 = 1;

/// What stands in front of the manifest's own digest.
const MARKER: &[u8] = b"\"manifest_sha256\": \"";

/// Bytes that are hashed at a time.
const BLOCK: usize = 64 << 10;

/// Length and SHA-256 of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

impl FileDigest {
    /// Those of the regular file at `path`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(path: &Path) -> io::Result<FileDigest> {
        FileDigest::of_part(path, &|| true)
    }

    /// Those of the part of the regular file at `path` that is read while it `goes_on`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_part(path: &Path, goes_on: &dyn Fn() -> bool) -> io::Result<FileDigest> {
        let mut file = regular::open(path)?;
        let (mut digest, mut bytes, mut block) = (Sha256::new(), 0, vec![0; BLOCK]);
        loop {
            match if goes_on() { file.read(&mut block) } else { Ok(0) } {
                Ok(0) => return Ok(FileDigest { bytes, sha256: hexadecimal(&digest.finalize()) }),
                Ok(read) => {
                    digest.update(&block[..read]);
                    bytes += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Those of a file of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> FileDigest {
        FileDigest { bytes: bytes.len() as u64, sha256: hexadecimal(&Sha256::digest(bytes)) }
    }
}

/// The files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    files: BTreeMap<String, FileDigest>,
}

/// A manifest as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    format: String,
    version: u64,
    files: BTreeMap<String, FileDigest>,
    manifest_sha256: String,
}

impl Manifest {
    /// The manifest of the files that are in `folder` now.
    ///
    /// # Errors
    /// [`FileError::Read`] names the file or folder that cannot be read.
    pub fn of(folder: &Path) -> Result<Manifest, FileError> {
        let read = |path: &Path, source| FileError::Read { path: path.to_owned(), source };
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(|error| read(folder, error))? {
            let path = entry.map_err(|error| read(folder, error))?.path();
            if let Some(name) = name_in_manifest(&path)
                && path.is_file()
            {
                files.insert(name.to_owned(), FileDigest::of(&path).map_err(|error| read(&path, error))?);
            }
        }
        Ok(Manifest { files })
    }

    /// Enters the file at `path`, or what it holds now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn enter(&mut self, path: &Path) -> io::Result<()> {
        if let Some(name) = name_in_manifest(path) {
            self.files.insert(name.to_owned(), FileDigest::of(path)?);
        }
        Ok(())
    }

    /// Takes the file called `name` out.
    pub(crate) fn leave(&mut self, name: &str) {
        self.files.remove(name);
    }

    /// Reads the manifest of `folder`; `None` if it has none.
    ///
    /// # Errors
    /// [`FileError::Changed`] or [`FileError::Metadata`] if it is damaged, [`FileError::Read`] if it cannot be read.
    pub fn open(folder: &Path) -> Result<Option<Manifest>, FileError> {
        let path = folder.join(MANIFEST_FILE);
        let text = match regular::read(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(FileError::Read { path, source }),
        };
        if sealed::is_intact(&text, MARKER) != Some(true) {
            return Err(FileError::Changed { path, part: Part::File });
        }
        match serde_json::from_slice::<Stored>(&text) {
            Ok(stored) if stored.version > VERSION => {
                Err(FileError::Newer { path, format: "manifest", found: stored.version, known: VERSION })
            }
            Ok(stored) => match stored.files.keys().find(|name| name_in_manifest(Path::new(name)) != Some(name)) {
                // Nothing outside of the folder is read because a manifest says so.
                Some(other) => Err(FileError::Metadata {
                    path,
                    problem: format!("it lists {other:?}, which is no file of its folder"),
                }),
                None => Ok(Some(Manifest { files: stored.files })),
            },
            Err(error) => Err(FileError::Metadata { path, problem: error.to_string() }),
        }
    }

    /// Writes the manifest of `folder`, in place of the one that is there.
    ///
    /// # Errors
    /// [`FileError::Write`].
    pub fn write(&self, folder: &Path) -> Result<(), FileError> {
        let path = folder.join(MANIFEST_FILE);
        self.store(&path).map_err(|source| FileError::Write { path, source })
    }

    fn store(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(&Stored {
            format: "manifest".to_owned(),
            version: VERSION,
            files: self.files.clone(),
            manifest_sha256: BLANK.to_owned(),
        })?;
        text.push(b'\n');
        sealed::seal(&mut text, MARKER);
        let (staged, mut file) = StagedFile::create(path, true)?;
        file.write_all(&text)?;
        staged.commit().map(drop)
    }

    /// The files, by name.
    pub fn files(&self) -> &BTreeMap<String, FileDigest> {
        &self.files
    }

    /// Checks that `bytes` are those of the file at `path`, which is in the manifest's folder.
    ///
    /// # Errors
    /// [`FileError::Changed`] if they are not, or the manifest does not know the file.
    pub fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
        let listed = name_in_manifest(path).and_then(|name| self.files.get(name));
        if listed == Some(&FileDigest::of_bytes(bytes)) {
            return Ok(());
        }
        Err(FileError::Changed { path: path.to_owned(), part: Part::File })
    }
}

/// The name of the file at `path` in the manifest of its folder: none for the manifest, and for names that JSON cannot hold.
fn name_in_manifest(path: &Path) -> Option<&str> {
    path.file_name()?.to_str().filter(|name| *name != MANIFEST_FILE)
}

/// Gives a file its name, and enters it into the manifest of its folder, if there is one.
///
/// # Errors
/// If it cannot have its name, or the manifest cannot be written.
pub fn commit(staged: StagedFile) -> io::Result<()> {
    staged.commit()?.map_or(Ok(()), |path| list(&path))
}

/// Gives a part of a result its name where nothing has it, and else that of a part beside it (`NAME.part`), and enters it like
/// [`commit`]; the name, `None` of a device or pipe.
///
/// # Errors
/// Those of [`commit`].
pub fn commit_part(staged: StagedFile) -> io::Result<Option<PathBuf>> {
    let named = staged.commit_part()?;
    named.as_deref().map_or(Ok(()), list)?;
    Ok(named)
}

/// Enters the file at `path` into the manifest of its folder, if there is one. One that is damaged stays as it is, so that
/// whoever reads it finds the damage.
///
/// # Errors
/// If the file cannot be read, or the manifest cannot be written.
pub fn list(path: &Path) -> io::Result<()> {
    let (Some(_), Some(folder)) = (name_in_manifest(path), path.parent()) else { return Ok(()) };
    if let Ok(Some(mut manifest)) = Manifest::open(folder) {
        manifest.enter(path)?;
        manifest.store(&folder.join(MANIFEST_FILE))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "one").unwrap();
        fs::write(folder.path().join("b"), "").unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        Manifest::of(folder.path()).unwrap().write(folder.path()).unwrap();
        folder
    }

    #[test]
    fn a_manifest_lists_the_files_of_its_folder() {
        let folder = folder();
        let manifest = Manifest::open(folder.path()).unwrap().unwrap();
        assert_eq!(manifest.files().keys().collect::<Vec<_>>(), ["a", "b"]);
        // sha256sum of "one" and of nothing.
        let of = |name: &str| (manifest.files()[name].bytes, &manifest.files()[name].sha256[..16]);
        assert_eq!((of("a"), of("b")), ((3, "7692c3ad3540bb80"), (0, "e3b0c44298fc1c14")));
        assert!(manifest.check(&folder.path().join("a"), b"one").is_ok());
        let error = manifest.check(&folder.path().join("a"), b"two").unwrap_err().to_string();
        assert!(error.starts_with("damaged: ") && error.contains("/a: its bytes are not those"), "{error}");
        assert!(manifest.check(&folder.path().join("c"), b"").is_err(), "a file that is not listed");
        assert_eq!(Manifest::open(&folder.path().join("below")).unwrap(), None);
    }

    #[test]
    fn a_file_is_read_while_it_goes_on() {
        let folder = folder();
        let blocks = std::cell::Cell::new(0);
        let goes_on = || blocks.replace(blocks.get() + 1) < 2;
        let path = folder.path().join("long");
        File::create(&path).unwrap().set_len(40 << 30).unwrap();
        assert_eq!(FileDigest::of_part(&path, &goes_on).unwrap().bytes, 2 * BLOCK as u64);
    }

    #[test]
    fn a_manifest_lists_no_files_elsewhere() {
        let folder = folder();
        for name in ["../w.parquet", "/etc/passwd", "below/a", "..", ""] {
            let mut manifest = Manifest::of(folder.path()).unwrap();
            manifest.files.insert(name.to_owned(), FileDigest::of_bytes(b""));
            manifest.write(folder.path()).unwrap();
            let error = Manifest::open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(&format!("it lists {name:?}, which is no file of its folder")), "{error}");
        }
    }

    #[test]
    fn every_bit_of_a_manifest_counts() {
        let folder = folder();
        let path = folder.path().join(MANIFEST_FILE);
        let whole = fs::read(&path).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        for bit in 0..8 * whole.len() {
            let at = bit / 8;
            file.write_all_at(&[whole[at] ^ 1 << (bit % 8)], at as u64).unwrap();
            let error = Manifest::open(folder.path()).unwrap_err().to_string();
            assert!(error.starts_with("damaged: ") && error.contains(MANIFEST_FILE), "bit {bit}: {error}");
            file.write_all_at(&whole[at..=at], at as u64).unwrap();
        }
    }

    #[test]
    fn files_that_come_later_are_entered() {
        let folder = folder();
        let (staged, mut file) = StagedFile::create(&folder.path().join("c"), false).unwrap();
        file.write_all(b"later").unwrap();
        commit(staged).unwrap();
        let manifest = Manifest::open(folder.path()).unwrap().unwrap();
        assert!(manifest.check(&folder.path().join("c"), b"later").is_ok());
        assert_eq!(manifest, Manifest::of(folder.path()).unwrap());
        // Without a manifest there is nothing to enter it into, and a damaged one is not made whole.
        list(&folder.path().join("below/none")).unwrap();
        let path = folder.path().join(MANIFEST_FILE);
        fs::write(&path, "{}").unwrap();
        list(&folder.path().join("c")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}");
    }
}
