//! Waits that a request ends: a pipe or terminal from which nothing comes, or a pipe that nobody reads, would otherwise hold a program
//! for ever.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Between two looks at whether reading is to end, in milliseconds.
const LOOK_EVERY: u8 = 50;

/// Whether reading is to end before the end of the input. Clones share one state.
#[derive(Clone)]
pub struct Interrupt {
    is_requested: Arc<dyn Fn() -> bool + Send + Sync>,
    has_cut: Arc<AtomicBool>,
}

impl Interrupt {
    /// Reading ends once `is_requested` says so. It is asked before each read, and every 50 ms while nothing comes.
    pub fn new(is_requested: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt { is_requested: Arc::new(is_requested), has_cut: Arc::default() }
    }

    /// Reading goes on to the end of the input.
    pub fn never() -> Interrupt {
        Interrupt::new(|| false)
    }

    /// Whether a read failed because reading was to end: what its reader says of the input then means nothing.
    pub fn has_cut(&self) -> bool {
        self.has_cut.load(Ordering::Relaxed)
    }

    fn check(&self) -> io::Result<()> {
        if (self.is_requested)() {
            self.has_cut.store(true, Ordering::Relaxed);
            return Err(io::Error::other("interrupted"));
        }
        Ok(())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("has_cut", &self.has_cut).finish_non_exhaustive()
    }
}

/// Opens a file, a FIFO or a device for reading. A FIFO is open at once, and its first read waits for a writer.
///
/// # Errors
/// What the system says; a folder.
pub fn open(path: &Path, interrupt: &Interrupt) -> io::Result<(Box<dyn Read + Send>, Metadata)> {
    let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let metadata = file.metadata()?;
    let reader: Box<dyn Read + Send> = match metadata.file_type() {
        kind if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        kind if kind.is_file() => Box::new(file),
        _ => Box::new(Waiting { file, interrupt: interrupt.clone() }),
    };
    Ok((reader, metadata))
}

/// Opens a FIFO for writing, once it has a reader. Writing then waits while the pipe is full.
///
/// # Errors
/// What the system says; the wait was ended.
pub fn open_pipe(path: &Path, interrupt: &Interrupt) -> io::Result<File> {
    loop {
        let opened = File::options().write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
        match opened {
            // Nobody reads it yet.
            Err(error) if error.raw_os_error() == Some(Errno::ENXIO as i32) => {
                interrupt.check()?;
                // Nothing tells of a reader that comes.
                match poll(&mut [], PollTimeout::from(LOOK_EVERY)) {
                    Ok(_) | Err(Errno::EINTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error),
            Ok(file) => {
                let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
                fcntl(&file, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
                return Ok(file);
            }
        }
    }
}

/// Standard input.
///
/// # Errors
/// It is closed.
pub fn standard_input(interrupt: &Interrupt) -> io::Result<impl Read + Send + use<>> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    Ok(Waiting { file, interrupt: interrupt.clone() })
}

/// Reads what comes, and looks now and then whether reading is to end.
struct Waiting {
    file: File,
    interrupt: Interrupt,
}

impl Read for Waiting {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            self.interrupt.check()?;
            match poll(&mut [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)], PollTimeout::from(LOOK_EVERY)) {
                Ok(0) | Err(Errno::EINTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match self.file.read(into) {
                // Another process took what had come.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::AtomicU32;
    use std::thread;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn reading_a_silent_fifo_ends_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        let looks = Arc::new(AtomicU32::new(0));
        let looked = Arc::clone(&looks);
        let interrupt = Interrupt::new(move || looked.fetch_add(1, Ordering::Relaxed) == 2);
        let (mut reader, _) = open(&fifo, &interrupt).unwrap();
        let mut bytes = [0; 8];
        reader.read(&mut bytes).unwrap_err();
        assert!(interrupt.has_cut() && looks.load(Ordering::Relaxed) == 3);
    }

    #[test]
    fn waiting_for_a_reader_ends_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        let looks = AtomicU32::new(0);
        let interrupt = Interrupt::new(move || looks.fetch_add(1, Ordering::Relaxed) == 2);
        open_pipe(&fifo, &interrupt).unwrap_err();
        assert!(interrupt.has_cut());
        let (mut reader, _) = open(&fifo, &Interrupt::never()).unwrap();
        let mut writer = open_pipe(&fifo, &Interrupt::never()).unwrap();
        // More than a pipe holds: the writer waits for the reader.
        let written = thread::spawn(move || writer.write_all(&[7; 1 << 17]));
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        written.join().unwrap().unwrap();
        assert_eq!(bytes.len(), 1 << 17);
    }

    #[test]
    fn a_fifo_is_read_to_the_end_of_its_writer() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        let (mut reader, _) = open(&fifo, &Interrupt::never()).unwrap();
        let mut writer = File::options().write(true).open(&fifo).unwrap();
        writer.write_all(b"first").unwrap();
        let mut bytes = [0; 8];
        assert_eq!(reader.read(&mut bytes).unwrap(), 5);
        writer.write_all(b"last").unwrap();
        drop(writer);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "last");
    }
}
