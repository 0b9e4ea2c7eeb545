//! Regular files. A FIFO may never have a writer and a device may never end, so stored files are read from nothing else.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path};

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

/// The longest file that [`read`] takes into memory, in bytes.
const LONGEST: u64 = 256 << 20;

/// Opens the regular file at `path` for reading.
///
/// # Errors
/// What the system says, or that it is a folder, a FIFO or a device.
pub fn open(path: &Path) -> io::Result<File> {
    // Without this, opening a FIFO waits for its writer.
    let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    match file.metadata()?.file_type() {
        kind if kind.is_file() => Ok(file),
        kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

/// Reads the regular file at `path` into memory, if it has at most 256 MiB.
///
/// # Errors
/// What the system says, or that it is no such file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    whole(open(path)?, LONGEST)
}

/// Reads the regular file at `path`, relative to the folder `root`, into memory, if it has at most `longest` bytes. No symbolic link is
/// followed on the way, whoever puts one there meanwhile.
///
/// # Errors
/// What the system says, that a link or `..` is on the way, or that it is no such file.
pub fn read_below(root: &Path, path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(root)?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "its path leads out of its folder"));
        };
        let kind = if parts.peek().is_some() { OFlag::O_DIRECTORY } else { OFlag::O_NONBLOCK };
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | kind;
        file = File::from(openat(&file, name, flags, Mode::empty())?);
    }
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    whole(file, longest)
}

fn whole(file: File, longest: u64) -> io::Result<Vec<u8>> {
    let too_long = || io::Error::other(format!("it is longer than {}", size(longest)));
    if file.metadata()?.len() > longest {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(longest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest { Err(too_long()) } else { Ok(bytes) }
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{bytes} bytes"),
        mebibytes => format!("{mebibytes} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        assert_eq!(read(&at("file")).unwrap(), b"text");
        mkfifo(&at("fifo"), Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        for name in ["fifo", "zero"] {
            assert_eq!(read(&at(name)).unwrap_err().to_string(), "it is not a regular file");
        }
        assert_eq!(read(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        File::create(at("long")).unwrap().set_len(40 << 30).unwrap();
        assert_eq!(read(&at("long")).unwrap_err().to_string(), "it is longer than 256 MiB");
    }

    #[test]
    fn no_link_is_followed_below_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("inner")).unwrap();
        std::fs::write(root.join("inner/file"), "text").unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), root.join("inner/link")).unwrap();
        std::os::unix::fs::symlink("inner", root.join("other")).unwrap();
        let below = |path: &str| read_below(&root, Path::new(path), 4);
        assert_eq!(below("inner/file").unwrap(), b"text");
        for path in [
            "inner/link",
            "other/file",
            "../secret",
            "inner/../../secret",
            "inner/../inner/file",
            "/etc/hostname",
            "inner",
            "",
        ] {
            assert!(below(path).is_err(), "{path}");
        }
        std::fs::write(root.join("inner/file"), "texts").unwrap();
        assert_eq!(below("inner/file").unwrap_err().to_string(), "it is longer than 4 bytes");
    }
}
