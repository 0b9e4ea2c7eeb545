//! Files and folders that get their name when they are complete and on the disk. What is wrong with making them is said without
//! the temporary name, which nobody asked for: callers name the target.
//!
//! Only regular files and folders are ever replaced. Devices and pipes are written into.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempPath};

use crate::interrupt::{self, Interrupt};

mod naming;
mod target;

pub use naming::{Naming, foreign, named, real_path, take_name};
pub use target::{Target, real};

/// What stands between the name of a file or folder and some letters while it is unfinished.
pub const UNFINISHED: &str = ".partial-";

/// The name that an unfinished file or folder called `name` will have; that of a finished one is what it is.
pub fn finished_name(name: &str) -> &str {
    name.split(UNFINISHED).next().unwrap_or(name)
}

/// A file that is written under a temporary name beside its target and vanishes unless [`Self::commit`]ted. A target that is a device
/// or a pipe is written into as it is.
pub struct StagedFile {
    /// The target as the caller named it.
    target: PathBuf,
    /// `None` where bytes go into a device or pipe.
    waiting: Option<Waiting>,
}

/// A file with a temporary name.
struct Waiting {
    temporary: TempPath,
    /// The path of the target, links followed.
    end: PathBuf,
    /// Whether it may take the place of a file that has the name.
    replaces: bool,
    /// The same file as the caller's.
    file: File,
}

impl StagedFile {
    /// Makes the temporary file for `target` and opens it. With `replaces` the file may take the place of another, to which `target`
    /// may be a link. Opening a pipe waits for its reader.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is a file or a link to nothing, unless it `replaces` them. If no file can be made beside
    /// `target`, or a folder, a socket or a disk has its name.
    pub fn create(target: &Path, replaces: bool) -> io::Result<(StagedFile, File)> {
        StagedFile::create_until(target, replaces, &Interrupt::never())
    }

    /// The same; `interrupt` ends the wait for the reader of a pipe.
    ///
    /// # Errors
    /// Those of [`Self::create`]; the wait was ended, as [`Interrupt::has_cut`] says then.
    pub fn create_until(target: &Path, replaces: bool, interrupt: &Interrupt) -> io::Result<(StagedFile, File)> {
        let end = match Target::of(target)? {
            Target::Free(end) => end,
            Target::File(end) | Target::Dangling(end) if replaces => end,
            Target::File(_) => return Err(io::Error::new(io::ErrorKind::AlreadyExists, "exists already")),
            Target::Dangling(end) => return Err(io::Error::new(io::ErrorKind::AlreadyExists, leads_nowhere(&end))),
            Target::Folder(_) => return Err(io::Error::from(io::ErrorKind::IsADirectory)),
            Target::Unwritable(what) => return Err(io::Error::other(format!("it is {what}"))),
            stream @ (Target::Device | Target::Pipe) => {
                let file = match stream {
                    Target::Pipe => interrupt::open_pipe(target, interrupt)?,
                    _ => Target::open_stream(target)?,
                };
                return Ok((StagedFile { target: target.to_owned(), waiting: None }, file));
            }
        };
        // Temporary files are private by default; this one becomes the user's, so the umask decides.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o666);
        let (file, temporary) = make_beside(&end, |path| options.open(path))?.into_parts();
        let waiting = Some(Waiting { temporary, end, replaces, file: file.try_clone()? });
        Ok((StagedFile { target: target.to_owned(), waiting }, file))
    }

    /// Whether [`Self::create`] would make a file for `target`: to be asked before the hours that reading may take. It leaves nothing, and
    /// opens no device or pipe.
    ///
    /// # Errors
    /// Those of [`Self::create`].
    pub fn probe(target: &Path, replaces: bool) -> io::Result<()> {
        match Target::of(target)? {
            Target::Device | Target::Pipe => Ok(()),
            _ => StagedFile::create(target, replaces).map(drop),
        }
    }

    /// The name it will get, as it was given.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Gives the file its name, once it is on the disk: the path that the name leads to, `None` of a device or pipe. A crash leaves what
    /// had the name, or the whole file.
    ///
    /// # Errors
    /// If it cannot be on the disk, or cannot have that name, as where something else took it meanwhile that the file does not replace:
    /// then it stays under its temporary name, which the error tells.
    pub(crate) fn commit(self) -> io::Result<Option<PathBuf>> {
        let Some(Waiting { temporary, end, replaces, file }) = self.waiting else { return Ok(None) };
        file.sync_all()?;
        let there = fs::symlink_metadata(&end);
        let named = match &there {
            Ok(found) if replaces && found.is_file() => {
                // Whoever could not read what is replaced cannot read this either. Where modes cannot be changed there are none to keep.
                let _ = fs::set_permissions(&temporary, found.permissions());
                temporary.persist(&end)
            }
            // Nothing but a regular file is replaced; this refuses what is there.
            _ => temporary.persist_noclobber(&end).or_else(|failed| match failed.error.kind() {
                // Some file systems can neither rename without replacing nor link.
                kind if kind != io::ErrorKind::AlreadyExists && there.is_err() => failed.path.persist(&end),
                _ => Err(failed),
            }),
        };
        named.map_err(|failed| kept(failed.path, &failed.error))?;
        sync_entries(folder_of(&end))?;
        Ok(Some(end))
    }

    /// The same for a part of a result, whose work was stopped: it replaces nothing. Where something has its name, it gets that of a
    /// part beside it.
    ///
    /// # Errors
    /// Those of [`Self::commit`].
    pub(crate) fn commit_part(mut self) -> io::Result<Option<PathBuf>> {
        if let Some(waiting) = &mut self.waiting {
            waiting.replaces = false;
            waiting.end = naming::free_or_part(&waiting.end)?;
        }
        self.commit()
    }
}

/// Keeps what was written and could not get its name, and says where.
fn kept(temporary: TempPath, why: &io::Error) -> io::Error {
    let shown = temporary.display().to_string();
    let problem = match why.kind() {
        io::ErrorKind::AlreadyExists => "this name was taken meanwhile, and nothing was replaced".to_owned(),
        _ => why.to_string(),
    };
    match temporary.keep() {
        Ok(_) => io::Error::new(why.kind(), format!("{problem}; what was written is in {shown}")),
        Err(error) => error.error,
    }
}

/// That a link leads to `end`, where nothing is.
pub fn leads_nowhere(end: &Path) -> String {
    format!("it is a link to {}, which does not exist", end.display())
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

    /// Gives it the name `target`, or what `naming` says; the name that it has.
    ///
    /// # Errors
    /// If it cannot have that name: it stays under its temporary name, which the error tells.
    pub fn finish(self, target: &Path, naming: Naming) -> io::Result<PathBuf> {
        let left = self.keep();
        take_name(&left, target, naming).map_err(|error| {
            io::Error::new(error.kind(), format!("{error}; what was written is in {}", left.display()))
        })
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

/// Waits until a folder and all that is in it is on the disk.
fn sync(folder: &Path) -> io::Result<()> {
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
    Builder::new().prefix(&format!("{}{UNFINISHED}", name.to_string_lossy())).make_in(folder_of(target), make)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_is_not_committed_or_kept_vanishes() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let target = folder.path().join("w");
        let (file, _) = StagedFile::create(&target, false).unwrap();
        let staged = StagedFolder::create(&target).unwrap();
        fs::write(staged.path().join("inside"), "x").unwrap();
        assert_eq!(names(), 2);
        drop((file, staged));
        assert_eq!(names(), 0);
        StagedFile::create(&target, false).unwrap().0.commit().unwrap();
        assert!(StagedFolder::create(&target).unwrap().keep().is_dir() && target.is_file());
        assert_eq!(names(), 2);
    }

    #[test]
    fn errors_do_not_tell_the_temporary_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        for (within, words) in [("file", "Not a directory"), ("missing", "No such file or directory")] {
            let target = folder.path().join(within).join("w");
            for error in [StagedFile::create(&target, false).err(), StagedFolder::create(&target).err()] {
                let text = error.expect(within).to_string();
                assert!(text.starts_with(words) && !text.contains("partial"), "{text}");
            }
        }
    }

    #[test]
    fn no_device_or_pipe_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
        let (staged, mut file) = StagedFile::create(&fifo, true).unwrap();
        file.write_all(b"text").unwrap();
        assert_eq!(staged.commit().unwrap(), None);
        let mut read = [0; 4];
        (&reader).read_exact(&mut read).unwrap();
        assert_eq!((&read, fs::read_dir(folder.path()).unwrap().count()), (b"text", 1));
        StagedFile::create(Path::new("/dev/null"), true).unwrap().0.commit().unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(StagedFile::create(&socket, true).err().unwrap().to_string().contains("a socket"));
    }

    #[test]
    fn links_lead_to_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("far")).unwrap();
        fs::write(at("far/file"), "old").unwrap();
        symlink("far/file", at("link")).unwrap();
        symlink("far/none", at("loose")).unwrap();
        for (link, end) in [("link", "far/file"), ("loose", "far/none")] {
            let refused = StagedFile::create(&at(link), false).err().unwrap();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists, "{refused}");
            let (staged, mut file) = StagedFile::create(&at(link), true).unwrap();
            file.write_all(b"new").unwrap();
            assert_eq!(staged.commit().unwrap(), Some(at(end)));
            assert!(at(link).is_symlink() && fs::read(at(end)).unwrap() == b"new");
        }
    }

    #[test]
    fn a_name_that_is_taken_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("w");
        for replaces in [false, true] {
            let (staged, mut file) = StagedFile::create(&target, replaces).unwrap();
            file.write_all(b"mine").unwrap();
            fs::write(&target, "theirs").unwrap();
            let named = staged.commit();
            if replaces {
                assert_eq!((named.unwrap(), fs::read(&target).unwrap()), (Some(target.clone()), b"mine".to_vec()));
                continue;
            }
            let said = named.unwrap_err().to_string();
            assert_eq!(fs::read(&target).unwrap(), b"theirs");
            let kept = said.rsplit_once(" in ").unwrap().1;
            assert_eq!(fs::read(kept).unwrap(), b"mine", "{said}");
            fs::remove_file(kept).unwrap();
            fs::remove_file(&target).unwrap();
        }
        // Nor does anything but a file make room.
        let (staged, _) = StagedFile::create(&target.with_file_name("v"), true).unwrap();
        symlink("/dev/null", target.with_file_name("v")).unwrap();
        staged.commit().unwrap_err();
        assert!(target.with_file_name("v").is_symlink());
    }
}
