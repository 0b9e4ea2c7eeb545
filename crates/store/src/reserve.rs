//! Room on a disk that is kept back while a run is recorded, so that what was recorded can be completed where the disk is full.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::fcntl::posix_fallocate;
use nix::sys::statvfs::fstatvfs;

/// What is kept back, in bytes: more than the tables of a run hold in memory, and its report.
const ROOM: u64 = 32 << 20;

/// Room that is kept back on the disk of a folder until a [`ReservedFile`] finds it full. A process that ends gives it back.
#[derive(Clone, Debug)]
pub struct Reserve(Arc<Room>);

#[derive(Debug)]
struct Room {
    /// A file without a name. `None` when there is nothing kept back, or no more.
    file: Mutex<Option<File>>,
    is_spent: AtomicBool,
}

impl Reserve {
    /// Keeps back room on the disk of `folder`, of a small one half of what is free. Where it cannot, it does without.
    pub fn on_disk_of(folder: &Path) -> Reserve {
        let file = tempfile::tempfile_in(folder).ok().filter(|file| fill(file).is_ok());
        Reserve(Arc::new(Room { file: Mutex::new(file), is_spent: AtomicBool::new(false) }))
    }

    /// Whether the disk was found full, so that it is time to come to an end.
    pub fn is_spent(&self) -> bool {
        self.0.is_spent.load(Ordering::Relaxed)
    }

    /// Gives it back, for what comes last.
    pub fn give_back(&self) {
        drop(self.0.file.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Gives it back, because the disk is full. When this returns there is what room there was, whoever gave it back.
    fn spend(&self) {
        self.found_full();
        self.give_back();
    }

    /// Remembers that the disk is full. What is kept back stays so.
    fn found_full(&self) {
        self.0.is_spent.store(true, Ordering::Relaxed);
    }
}

/// Has a file take up room.
fn fill(file: &File) -> nix::Result<()> {
    let disk = fstatvfs(file)?;
    let free = disk.blocks_available() * disk.fragment_size();
    posix_fallocate(file, 0, ROOM.min(free / 2) as _)
}

/// A file whose writes go on with what was kept back when they find the disk full.
#[derive(Debug)]
pub struct ReservedFile {
    file: File,
    reserve: Reserve,
}

impl ReservedFile {
    /// `file`, which is on the disk of `reserve`.
    pub fn new(file: File, reserve: &Reserve) -> ReservedFile {
        ReservedFile { file, reserve: reserve.clone() }
    }
}

impl Write for ReservedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            // Another file may have given the room back since.
            Err(error) if is_full(&error) => {
                self.reserve.spend();
                self.file.write(bytes)
            }
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that takes nothing of what was kept back: from when the disk was first found full, it refuses all writes.
#[derive(Debug)]
pub struct UnreservedFile {
    file: File,
    reserve: Reserve,
}

impl UnreservedFile {
    /// `file`, which is on the disk of `reserve`.
    pub fn new(file: File, reserve: &Reserve) -> UnreservedFile {
        UnreservedFile { file, reserve: reserve.clone() }
    }
}

impl Write for UnreservedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The room that there is now was kept back for others.
        if self.reserve.is_spent() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write(bytes).inspect_err(|error| {
            if is_full(error) {
                self.reserve.found_full();
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn room_is_kept_back_until_the_disk_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::on_disk_of(folder.path());
        let blocks = |reserve: &Reserve| {
            let file = reserve.0.file.lock().unwrap();
            file.as_ref().map(|file| file.metadata().unwrap().blocks() * 512)
        };
        assert!(blocks(&reserve).is_none_or(|bytes| bytes >= 1 << 20), "a disk without room for the tests?");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
        let mut there = ReservedFile::new(tempfile::tempfile_in(folder.path()).unwrap(), &reserve);
        there.write_all(b"as usual").unwrap();
        assert!(!reserve.is_spent());
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = ReservedFile::new(full, &reserve).write_all(b"more").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "this one stays full");
        assert!(reserve.is_spent());
        assert_eq!(blocks(&reserve), None);
    }

    /// A capture of packets beside the tables must not take the room in which these are completed.
    #[test]
    fn unreserved_files_leave_the_room_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::on_disk_of(folder.path());
        let is_kept = |reserve: &Reserve| reserve.0.file.lock().unwrap().is_some();
        let before = is_kept(&reserve);
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = UnreservedFile::new(full, &reserve).write_all(b"more").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(
            (reserve.is_spent(), is_kept(&reserve)),
            (true, before),
            "it is time to end, with all room for that"
        );
        let path = folder.path().join("link.pcap");
        let mut other = UnreservedFile::new(File::create(&path).unwrap(), &reserve);
        assert_eq!(other.write_all(b"more").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
        ReservedFile::new(File::create(&path).unwrap(), &reserve).write_all(b"a table").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 7);
    }
}
