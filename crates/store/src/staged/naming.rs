//! The names of complete results and of parts, and what takes whose place.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{StagedFolder, folder_of, sync, sync_entries};

/// Where a replaced folder waits to be removed.
const REPLACED: &str = "replaced";

/// Names of files that messages list.
const NAMED: usize = 3;

/// What a folder of results may do to what has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// It gets its name where nothing has it, or an empty folder.
    New,
    /// It takes the place of the folder that has its name.
    Replace,
    /// It is a part, because the work was stopped: as [`Naming::New`], and where something has the name, it gets that of a part beside
    /// it (`NAME.part`, or `NAME.part-2` and so on).
    Part,
}

/// Gives `folder` the name `target`, or what `naming` says, once all of it is on the disk; the name that it has. A folder that is
/// replaced is removed, but only once its name is taken over.
///
/// # Errors
/// If it cannot have that name: `target` is as it was.
pub fn take_name(folder: &Path, target: &Path, naming: Naming) -> io::Result<PathBuf> {
    sync(folder)?;
    let end = match naming {
        Naming::Part if !is_empty_folder(target) => free_or_part(target)?,
        _ => target.to_owned(),
    };
    if naming == Naming::Replace {
        // A path that leads through the folder itself would lead nowhere while it is moved.
        let end = real_path(&end)?;
        // Where modes cannot be changed there are none to keep.
        let _ = fs::set_permissions(folder, fs::metadata(&end)?.permissions());
        replace(folder, &end)?;
    } else {
        // Renaming onto an empty folder just works.
        fs::rename(folder, &end)?;
    }
    sync_entries(folder_of(&end))?;
    Ok(end)
}

/// `path` with the folder that it is in as it is without links and detours.
///
/// # Errors
/// There is no such folder, or the path has no name.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("this path has no name to write to"))?;
    Ok(fs::canonicalize(folder_of(path))?.join(name))
}

/// Gives `folder` the name of the folder `end`, which is removed. Both change their names at one moment where the file system can do that:
/// whenever the program ends, `end` is one of them.
fn replace(folder: &Path, end: &Path) -> io::Result<()> {
    if exchange(folder, end) {
        // The new one has its name, whatever becomes of the old one.
        let _ = fs::remove_dir_all(folder);
        return Ok(());
    }
    let aside = StagedFolder::create(end)?;
    fs::rename(end, aside.path().join(REPLACED))?;
    let renamed = fs::rename(folder, end);
    // Best effort: if this fails too, the first error is the one to tell, and what was to be replaced stays where it is.
    if renamed.is_err() && fs::rename(aside.path().join(REPLACED), end).is_err() {
        aside.keep();
    }
    renamed
}

/// Exchanges the names of two folders; whether the system could.
#[cfg(target_env = "gnu")]
fn exchange(a: &Path, b: &Path) -> bool {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

    renameat2(AT_FDCWD, a, AT_FDCWD, b, RenameFlags::RENAME_EXCHANGE).is_ok()
}

/// Exchanges the names of two folders, which this C library does not offer.
#[cfg(not(target_env = "gnu"))]
fn exchange(_: &Path, _: &Path) -> bool {
    false
}

/// `target` if nothing has that name, and else the first free one of `NAME.part`, `NAME.part-2`, `NAME.part-3` and so on.
///
/// # Errors
/// A part of the path that is no folder or may not be searched.
pub(super) fn free_or_part(target: &Path) -> io::Result<PathBuf> {
    let is_free = |path: &Path| match fs::symlink_metadata(path) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    };
    let part = |number: u32| {
        let mut name = OsString::from(target.file_name().unwrap_or_default());
        name.push(if number == 1 { ".part".to_owned() } else { format!(".part-{number}") });
        target.with_file_name(name)
    };
    let (mut path, mut number) = (target.to_owned(), 0);
    while !is_free(&path)? {
        number += 1;
        path = part(number);
    }
    Ok(path)
}

fn is_empty_folder(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// The names in `folder` that `is_known` does not know, sorted.
///
/// # Errors
/// If it cannot be read.
pub fn foreign(folder: &Path, is_known: impl Fn(&Path, &str) -> bool) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !is_known(&path, &name) {
            names.push(name.into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The first three of `names`, and how many more there are: `a, b, c and 2 more`.
pub fn named(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run");
        let finish = |naming| {
            let staged = StagedFolder::create(&target).unwrap();
            fs::write(staged.path().join("file"), format!("{naming:?}")).unwrap();
            staged.finish(&target, naming)
        };
        let at = |name: &str| folder.path().join(name);
        assert_eq!(finish(Naming::Part).unwrap(), target, "nothing was there");
        assert_eq!(finish(Naming::Part).unwrap(), at("run.part"));
        assert_eq!(finish(Naming::Part).unwrap(), at("run.part-2"));
        let said = finish(Naming::New).unwrap_err().to_string();
        let left = said.rsplit_once(" is in ").unwrap().1;
        assert_eq!(fs::read(Path::new(left).join("file")).unwrap(), b"New", "{said}");
        assert_eq!(finish(Naming::Replace).unwrap(), target);
        assert_eq!(fs::read(at("run/file")).unwrap(), b"Replace");
    }

    /// The path leads through the folder that is replaced, which only its owner may read.
    #[test]
    fn a_folder_is_replaced_under_any_of_its_names() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("file"), "old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o700)).unwrap();
        let detour = target.join("../run");
        let staged = StagedFolder::create(&target).unwrap();
        fs::write(staged.path().join("file"), "new").unwrap();
        staged.finish(&detour, Naming::Replace).unwrap();
        assert_eq!(fs::read(target.join("file")).unwrap(), b"new");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn names_are_listed_up_to_three() {
        let names = |count: usize| (0..count).map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!([1, 3, 5].map(|count| named(&names(count))), ["0", "0, 1, 2", "0, 1, 2 and 2 more"]);
    }
}
