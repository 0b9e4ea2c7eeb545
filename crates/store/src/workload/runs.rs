//! Connections that wait for an older one to end, on disk: sorted runs, merged as they are read.
//!
//! Vectors come out in the order of their starts, so one connection that stays open holds up all that began after it.
//! What does not fit in memory meanwhile is written here.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flowloom_core::extract::{Finished, Packed};
use tempfile::TempPath;

use crate::table::FileError as WorkloadError;

/// Sorted runs of connections on disk. They vanish with this.
pub struct Runs {
    folder: PathBuf,
    runs: Vec<Run>,
}

/// A run and its first connection that was not taken yet.
struct Run {
    file: BufReader<File>,
    head: Packed,
    /// Removes the file.
    path: TempPath,
}

impl Runs {
    /// Runs to be kept in `folder`; nothing is made there yet.
    pub fn in_folder(folder: &Path) -> Runs {
        Runs { folder: folder.to_owned(), runs: Vec::new() }
    }

    /// Writes `connections`, sorted by number, as a run.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::Write`] if the file cannot be written, [`WorkloadError::Read`] if it cannot be read again.
    pub fn add(&mut self, connections: Vec<Packed>) -> Result<(), WorkloadError> {
        let write_error = |source| WorkloadError::Write { path: self.folder.clone(), source };
        let file = tempfile::Builder::new().prefix(".flowloom-").suffix(".run").tempfile_in(&self.folder);
        let (file, path) = file.map_err(write_error)?.into_parts();
        let mut out = BufWriter::new(file);
        for connection in &connections {
            write(connection, &mut out).map_err(write_error)?;
        }
        out.flush().map_err(write_error)?;
        let read_error = |source| WorkloadError::Read { path: path.to_path_buf(), source };
        let mut file = BufReader::new(File::open(&path).map_err(read_error)?);
        if let Some(head) = read(&mut file).map_err(read_error)? {
            self.runs.push(Run { file, head, path });
        }
        Ok(())
    }

    /// The number of the first connection.
    pub fn next(&self) -> Option<u64> {
        self.runs.iter().map(|run| run.head.number).min()
    }

    /// Takes the first connection.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::Read`] if its run cannot be read again.
    pub fn pop(&mut self) -> Result<Option<Finished>, WorkloadError> {
        let Some(at) = (0..self.runs.len()).min_by_key(|at| self.runs[*at].head.number) else { return Ok(None) };
        let run = &mut self.runs[at];
        let read_error = |source| WorkloadError::Read { path: run.path.to_path_buf(), source };
        let finished = run.head.unpack().ok_or_else(|| read_error(io::ErrorKind::InvalidData.into()))?;
        match read(&mut run.file).map_err(read_error)? {
            Some(next) => run.head = next,
            None => drop(self.runs.swap_remove(at)),
        }
        Ok(Some(finished))
    }
}

/// Writes a connection behind its number and length.
fn write(connection: &Packed, out: &mut impl Write) -> io::Result<()> {
    let bytes = connection.as_bytes();
    out.write_all(&connection.number.to_le_bytes())?;
    out.write_all(&(bytes.len() as u64).to_le_bytes())?;
    out.write_all(bytes)
}

/// The next connection of a run, `None` at its end.
fn read(file: &mut BufReader<File>) -> io::Result<Option<Packed>> {
    let mut word = [0; 8];
    if file.fill_buf()?.is_empty() {
        return Ok(None);
    }
    file.read_exact(&mut word)?;
    let number = u64::from_le_bytes(word);
    file.read_exact(&mut word)?;
    let length = u64::from_le_bytes(word);
    let mut bytes = Vec::new();
    if file.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(Packed::from_bytes(number, bytes.into())))
}

#[cfg(test)]
mod tests {
    use flowloom_core::time::{Duration, Time};
    use flowloom_core::wire::{Address, Flags, Segment};

    use super::*;

    #[test]
    fn runs_give_back_what_went_in_merged_and_leave_nothing() {
        let mut extractor = flowloom_core::extract::Extractor::new(Default::default());
        let server = Address::new("2001:db8::1".parse().unwrap(), 443);
        for n in 0..200u16 {
            let client = match n % 2 {
                0 => Address::new("10.0.0.1".parse().unwrap(), 2_000 + n),
                _ => Address::new("2001:db8::2".parse().unwrap(), 2_000 + n),
            };
            for (at, (source, destination)) in [(client, server), (server, client)].into_iter().enumerate() {
                extractor.handle_segment(
                    Time::ZERO + Duration::from_millis(u64::from(n) * 10 + at as u64),
                    &Segment {
                        source,
                        destination,
                        sequence: 1,
                        acknowledgement: 1 + 100 * at as u32,
                        flags: Flags(Flags::ACK),
                        window: 100,
                        payload_bytes: 100,
                        link_bytes: 154,
                        ip_id: None,
                        mss: None,
                        window_scale: None,
                        timestamps: None,
                        sack: false,
                        sack_blocks: [(0, 0); 3],
                        options_cut: false,
                        vlan: None,
                        from: None,
                        macs: None,
                    },
                );
            }
        }
        extractor.finish();
        let mut all: Vec<Finished> = std::iter::from_fn(|| extractor.poll_finished()).collect();
        all.iter_mut().for_each(|finished| finished.vector.id = u64::MAX);
        assert_eq!(all.len(), 200);
        let folder = tempfile::tempdir().unwrap();
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let mut runs = Runs::in_folder(folder.path());
        for third in 0..3 {
            let mut room = Vec::new();
            let third = all.iter().skip(third).step_by(3).map(|finished| Packed::new(finished, &mut room));
            runs.add(third.collect()).unwrap();
        }
        assert_eq!((files(), runs.next()), (3, Some(all[0].number)));
        for finished in &all {
            assert_eq!(runs.pop().unwrap().as_ref(), Some(finished));
        }
        assert!(runs.pop().unwrap().is_none() && runs.next().is_none());
        assert_eq!(files(), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let mut runs = Runs::in_folder(Path::new("/nowhere/at/all"));
        assert!(runs.add(Vec::new()).unwrap_err().to_string().contains("/nowhere/at/all"));
    }
}
