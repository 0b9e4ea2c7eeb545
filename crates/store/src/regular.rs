//! Regular files. A FIFO may never have a writer and a device may never end, so stored files are read from nothing else.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

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
    let file = open(path)?;
    if file.metadata()?.len() > LONGEST {
        return Err(io::Error::other("it is longer than 256 MiB"));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
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
}
