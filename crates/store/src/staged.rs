//! Files and folders that get their name when they are complete.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir, TempPath};

/// A file that is written under a temporary name beside its target and vanishes unless [`Self::commit`]ted.
pub(crate) struct StagedFile {
    temporary: TempPath,
    target: PathBuf,
}

impl StagedFile {
    /// Makes the temporary file for `target` and opens it.
    pub(crate) fn create(target: &Path) -> io::Result<(StagedFile, File)> {
        if target.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let (folder, prefix) = beside(target)?;
        // Temporary files are private by default; this one becomes the user's, so the umask decides.
        let permissions = Permissions::from_mode(0o666);
        let file = Builder::new().prefix(&prefix).permissions(permissions).tempfile_in(folder)?;
        let (file, temporary) = file.into_parts();
        Ok((StagedFile { temporary, target: target.to_owned() }, file))
    }

    /// The name it will get.
    pub(crate) fn path(&self) -> &Path {
        &self.target
    }

    /// Gives the file its name, replacing what has it now.
    pub(crate) fn commit(self) -> io::Result<()> {
        self.temporary.persist(&self.target).map_err(|error| error.error)
    }
}

/// Makes a temporary folder beside `target`; it is removed when dropped.
pub(crate) fn staged_folder(target: &Path) -> io::Result<TempDir> {
    let (folder, prefix) = beside(target)?;
    Builder::new().prefix(&prefix).permissions(Permissions::from_mode(0o777)).tempdir_in(folder)
}

/// The folder `target` is in, and how temporary names beside it begin.
fn beside(target: &Path) -> io::Result<(&Path, String)> {
    let name = target.file_name().ok_or_else(|| io::Error::other("this path has no name to write to"))?;
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Said of the folder itself, not of a temporary name in it.
    folder.metadata()?;
    Ok((folder, format!("{}.partial-", name.to_string_lossy())))
}
