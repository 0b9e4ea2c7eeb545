//! What has the name of an output before it is written.

use std::fs::{self, File, FileType, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

/// The most links that are followed one after the other, as in the kernel.
const MOST_LINKS: usize = 40;

/// What an output's name leads to, links followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing: a file or folder can be made at this path.
    Free(PathBuf),
    /// A regular file, which is at this path.
    File(PathBuf),
    /// A folder, which is at this path.
    Folder(PathBuf),
    /// A link to this path, where nothing is.
    Dangling(PathBuf),
    /// A device such as `/dev/null`, or a terminal: text is written into it, and nothing takes its place.
    Device,
    /// A FIFO or pipe, in the same way.
    Pipe,
    /// A thing that no file can be written into: a socket or a disk.
    Unwritable(&'static str),
}

impl Target {
    /// Looks at `path`, and changes nothing.
    ///
    /// # Errors
    /// A part of `path` that is no folder or may not be searched; links that lead in a circle.
    pub fn of(path: &Path) -> io::Result<Target> {
        match fs::metadata(path) {
            Ok(found) => Target::of_type(path, found.file_type()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
                    return Err(io::Error::new(io::ErrorKind::NotADirectory, "there is no such folder"));
                }
                let end = real(path)?;
                Ok(if fs::symlink_metadata(path).is_ok() { Target::Dangling(end) } else { Target::Free(end) })
            }
            Err(error) => Err(error),
        }
    }

    fn of_type(path: &Path, kind: FileType) -> io::Result<Target> {
        Ok(if kind.is_dir() {
            Target::Folder(real(path)?)
        } else if kind.is_fifo() {
            Target::Pipe
        } else if kind.is_char_device() {
            Target::Device
        } else if kind.is_socket() {
            Target::Unwritable("a socket")
        } else if kind.is_block_device() {
            Target::Unwritable("a disk")
        } else if is_descriptor(path) {
            // An open file belongs to whoever opened it, and its name to them too.
            Target::Device
        } else {
            Target::File(real(path)?)
        })
    }

    /// Opens a device or pipe for writing; what is in a file behind it stays.
    pub(super) fn open_stream(path: &Path) -> io::Result<File> {
        OpenOptions::new().append(true).open(path)
    }
}

/// Whether `path` names an open file of a process, such as `/dev/stdout`.
fn is_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
        let in_processes = folder.is_some_and(|folder| {
            let mut parts = folder.components().skip(1);
            parts.next() == Some(Component::Normal("proc".as_ref())) && folder.ends_with("fd")
        });
        match (in_processes, fs::read_link(&path)) {
            (true, Ok(_)) => return true,
            (false, Ok(end)) => path = beside(&path, &end),
            (_, Err(_)) => return false,
        }
    }
    false
}

/// The path that `path` leads to when its last part is a link, or a link to a link, whether or not something is there.
///
/// # Errors
/// Links that lead in a circle.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    // With a slash behind it a link is the folder that it leads to.
    let mut path: PathBuf = path.components().collect();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(end) => path = beside(&path, &end),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// Where a link at `link` leads that says `end`.
fn beside(link: &Path, end: &Path) -> PathBuf {
    link.parent().map_or_else(|| end.to_owned(), |folder| folder.join(end))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn an_output_is_what_its_links_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "").unwrap();
        fs::create_dir(at("folder")).unwrap();
        mkfifo(&at("fifo"), Mode::S_IRWXU).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        for (link, end) in [
            ("to-file", "file"),
            ("to-link", "to-file"),
            ("to-fifo", "fifo"),
            ("to-folder", "folder"),
            ("to-none", "none"),
            ("to-null", "/dev/null"),
            ("circle", "circle"),
        ] {
            symlink(end, at(link)).unwrap();
        }
        for (name, wanted) in [
            ("file", Target::File(at("file"))),
            ("to-link", Target::File(at("file"))),
            ("to-folder", Target::Folder(at("folder"))),
            ("none", Target::Free(at("none"))),
            ("to-none", Target::Dangling(at("none"))),
            ("to-fifo", Target::Pipe),
            ("to-null", Target::Device),
            ("socket", Target::Unwritable("a socket")),
        ] {
            assert_eq!(Target::of(&at(name)).unwrap(), wanted, "{name}");
        }
        Target::of(&at("circle")).unwrap_err();
        let slash = Target::of(&at("none/")).unwrap_err().to_string();
        assert_eq!(slash, "there is no such folder");
        assert_eq!(real(&at("to-folder/")).unwrap(), at("folder"));
        let open = File::open(at("file")).unwrap();
        let name = format!("/proc/self/fd/{}", open.as_raw_fd());
        assert_eq!(Target::of(Path::new(&name)).unwrap(), Target::Device, "what somebody has open stays open");
    }
}
