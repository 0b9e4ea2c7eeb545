//! Folders and files of secrets: for their owner alone, and never half-written.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use super::error::Error;

/// Makes the folder `path` with what `fill` puts into it: whole, or not at all. What is there already is left alone.
///
/// # Errors
/// If there is something at `path`, if `fill` fails, or if files cannot be written.
pub fn create_folder(path: &Path, fill: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    let taken = || {
        Error::Refused(format!(
            "{} exists already: nothing was written; name a folder that does not exist",
            path.display()
        ))
    };
    if path.symlink_metadata().is_ok() {
        return Err(taken());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(Error::file(parent))?;
    }
    let staged = Staged(beside(path));
    private_folder(&staged.0)?;
    fill(&staged.0)?;
    sync(&staged.0)?;
    match renameat2(AT_FDCWD, &staged.0, AT_FDCWD, path, RenameFlags::RENAME_NOREPLACE) {
        Ok(()) => {}
        Err(Errno::EEXIST) => return Err(taken()),
        Err(error) => return Err(Error::file(path)(error.into())),
    }
    sync_parent(path)
}

/// What is being made, which goes if it is not finished.
struct Staged(PathBuf);

impl Drop for Staged {
    fn drop(&mut self) {
        // It has its final name, or it is of no use: there is nobody to tell.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A folder that is its owner's alone.
///
/// # Errors
/// If it is there already or cannot be made.
pub fn private_folder(path: &Path) -> Result<(), Error> {
    DirBuilder::new().mode(0o700).create(path).map_err(Error::file(path))
}

/// A new file that is its owner's alone.
///
/// # Errors
/// If it is there already or cannot be written.
pub fn write_new(path: &Path, content: &[u8]) -> Result<(), Error> {
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(content)?;
        file.sync_all()
    };
    write().map_err(Error::file(path))
}

/// Puts `content` in the place of what `path` holds, whole or not at all.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), Error> {
    let staged = beside(path);
    // One that a crash left behind is of no use.
    let _ = fs::remove_file(&staged);
    let written = write_new(&staged, content).and_then(|()| fs::rename(&staged, path).map_err(Error::file(path)));
    if written.is_err() {
        let _ = fs::remove_file(&staged);
    }
    written.and_then(|()| sync_parent(path))
}

/// What a file holds, if it is at most `most_bytes` long.
///
/// # Errors
/// If it cannot be read, or is longer.
pub fn read(path: &Path, most_bytes: u64) -> Result<Vec<u8>, Error> {
    let length = fs::metadata(path).map_err(Error::file(path))?.len();
    if length > most_bytes {
        return Err(Error::form(
            path.display().to_string(),
            format!("{length} bytes, where at most {most_bytes} make sense"),
        ));
    }
    fs::read(path).map_err(Error::file(path))
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.partial-{}", std::process::id()))
}

fn sync(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::file(folder))
}

fn sync_parent(path: &Path) -> Result<(), Error> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync(parent),
        _ => sync(Path::new(".")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_is_whole_private_and_never_replaced() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/lab");
        let failed = create_folder(&path, |folder| {
            write_new(&folder.join("key"), b"secret")?;
            Err(Error::Refused("half way".to_owned()))
        });
        assert_eq!(failed.unwrap_err().to_string(), "half way");
        assert_eq!(fs::read_dir(place.path().join("a")).unwrap().count(), 0);

        create_folder(&path, |folder| write_new(&folder.join("key"), b"secret")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("key"))), (0o700, 0o600));

        assert!(create_folder(&path, |_| Ok(())).unwrap_err().to_string().contains("exists already"));
        assert_eq!(fs::read(path.join("key")).unwrap(), b"secret");
        assert_eq!(fs::read_dir(place.path().join("a")).unwrap().count(), 1);

        replace(&path.join("key"), b"other").unwrap();
        assert_eq!((fs::read(path.join("key")).unwrap(), mode(&path.join("key"))), (b"other".to_vec(), 0o600));
        assert!(read(&path.join("key"), 4).unwrap_err().to_string().contains("5 bytes"));
    }
}
