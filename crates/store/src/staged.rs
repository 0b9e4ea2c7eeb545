//! Files and folders that get their name when they are complete and on the disk. What is wrong with making them is said without
//! the temporary name, which nobody asked for: callers name the target.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempPath};

/// Where a replaced folder waits to be removed.
const REPLACED: &str = "replaced";

/// A file that is written under a temporary name beside its target and vanishes unless [`Self::commit`]ted.
pub struct StagedFile {
    temporary: TempPath,
    target: PathBuf,
    /// The same file as the caller's.
    file: File,
}

impl StagedFile {
    /// Makes the temporary file for `target` and opens it.
    ///
    /// # Errors
    /// If no file can be made beside `target`, or a folder has its name.
    pub fn create(target: &Path) -> io::Result<(StagedFile, File)> {
        if target.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        // Temporary files are private by default; this one becomes the user's, so the umask decides.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o666);
        let (file, temporary) = make_beside(target, |path| options.open(path))?.into_parts();
        Ok((StagedFile { temporary, target: target.to_owned(), file: file.try_clone()? }, file))
    }

    /// The name it will get.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Gives the file its name, replacing what has it now, once it is on the disk. A crash leaves what had the name, or the
    /// whole file.
    ///
    /// # Errors
    /// If it cannot be on the disk, or cannot have that name.
    pub(crate) fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        self.temporary.persist(&self.target).map_err(|error| error.error)?;
        sync_entries(folder_of(&self.target))
    }
}

/// A folder with a temporary name beside its target. It is removed when dropped, with all that is in it, unless it is
/// kept.
#[derive(Debug)]
pub struct StagedFolder {
    /// `None` once it is kept.
    path: Option<PathBuf>,
}

impl StagedFolder {
    /// Makes the temporary folder for `target`.
    ///
    /// # Errors
    /// If no folder can be made beside `target`.
    pub fn create(target: &Path) -> io::Result<StagedFolder> {
        let mut builder = DirBuilder::new();
        builder.mode(0o777);
        let made = make_beside(target, |path| builder.create(path))?;
        let path = made.into_temp_path().keep().map_err(|error| error.error)?;
        Ok(StagedFolder { path: Some(path) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// Leaves it where it is.
    pub fn keep(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Best effort: there is nobody left to tell.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Gives `folder` the name `target`, once all of it is on the disk. With `replaces` the folder that has it is removed, but only
/// once its name is taken over; without, there is none, or an empty one.
///
/// # Errors
/// If it cannot have that name: `target` is as it was.
pub fn take_name(folder: &Path, target: &Path, replaces: bool) -> io::Result<()> {
    sync(folder)?;
    // Renaming onto an empty folder just works.
    let replaced = if replaces {
        let aside = StagedFolder::create(target)?;
        fs::rename(target, aside.path().join(REPLACED))?;
        Some(aside)
    } else {
        None
    };
    let renamed = fs::rename(folder, target);
    if let (Err(_), Some(aside)) = (&renamed, &replaced) {
        // Best effort: if this fails too, the first error is the one to tell.
        let _ = fs::rename(aside.path().join(REPLACED), target);
    }
    renamed?;
    sync_entries(folder_of(target))
}

/// Waits until a folder and all that is in it is on the disk.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_entries(folder)
}

/// Waits until the names in a folder are on the disk, unless it may not be read or its file system has no such wait.
fn sync_entries(folder: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) => Ok(()),
        other => other,
    }
}

/// The folder that `path` is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Calls `make` with names that begin like that of `target`, in its folder, until one is free.
fn make_beside<R>(target: &Path, make: impl FnMut(&Path) -> io::Result<R>) -> io::Result<NamedTempFile<R>> {
    let name = target.file_name().ok_or_else(|| io::Error::other("this path has no name to write to"))?;
    // `make_in` adds no path to the errors of `make`, as the functions that make files and folders themselves do.
    Builder::new().prefix(&format!("{}.partial-", name.to_string_lossy())).make_in(folder_of(target), make)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_committed_or_kept_vanishes() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let target = folder.path().join("w");
        let (file, _) = StagedFile::create(&target).unwrap();
        let staged = StagedFolder::create(&target).unwrap();
        fs::write(staged.path().join("inside"), "x").unwrap();
        assert_eq!(names(), 2);
        drop((file, staged));
        assert_eq!(names(), 0);
        StagedFile::create(&target).unwrap().0.commit().unwrap();
        assert!(StagedFolder::create(&target).unwrap().keep().is_dir() && target.is_file());
        assert_eq!(names(), 2);
    }

    #[test]
    fn errors_do_not_tell_the_temporary_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        for (within, words) in [("file", "Not a directory"), ("missing", "No such file or directory")] {
            let target = folder.path().join(within).join("w");
            for error in [StagedFile::create(&target).err(), StagedFolder::create(&target).err()] {
                let text = error.expect(within).to_string();
                assert!(text.starts_with(words) && !text.contains("partial"), "{text}");
            }
        }
    }
}
