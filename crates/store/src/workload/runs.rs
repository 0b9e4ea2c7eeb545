//! Connections that wait for an older one to end, on disk: sorted runs, merged as they are read.
//!
//! Vectors come out in the order of their starts, so one connection that stays open holds up all that began after it.
//! What does not fit in memory meanwhile is written here, in the form of workload files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use flowloom_core::extract::{Class, Finished};
use flowloom_core::wire::Address;
use flowloom_core::workload::{ConnectionVector, Host, Side};
use tempfile::TempPath;

use super::{VERSION, WorkloadError};
use crate::table::{TableReader, TableWriter};

/// Sorted runs of connections on disk. They vanish with this.
pub struct Runs {
    folder: PathBuf,
    runs: Vec<Run>,
}

/// A run and its first connection that was not taken yet.
struct Run {
    rows: TableReader<ConnectionVector>,
    head: Finished,
    /// Removes the file.
    _path: TempPath,
}

impl Runs {
    /// Runs to be kept in `folder`; nothing is made there yet.
    pub fn in_folder(folder: &Path) -> Runs {
        Runs { folder: folder.to_owned(), runs: Vec::new() }
    }

    /// Writes `connections`, sorted by number, replayable and without ids, as a run.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::Write`] if the file cannot be written, others if it cannot be read again.
    pub fn add(&mut self, connections: Vec<Finished>) -> Result<(), WorkloadError> {
        let write_error = |source| WorkloadError::Write { path: self.folder.clone(), source };
        let file = tempfile::Builder::new().prefix(".flowloom-").suffix(".run").tempfile_in(&self.folder);
        let (file, path) = file.map_err(write_error)?.into_parts();
        let stored = |error| WorkloadError::write(&path, error);
        let mut table = TableWriter::new(BufWriter::new(file), VERSION).map_err(stored)?;
        for finished in connections {
            table.write(to_row(finished)).map_err(stored)?;
        }
        let mut out: BufWriter<File> = table.finish(&[]).map_err(stored)?;
        out.flush().map_err(write_error)?;
        let mut rows = TableReader::open(&path, VERSION)?;
        if let Some(head) = rows.next().transpose()? {
            self.runs.push(Run { rows, head: from_row(head), _path: path });
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
    /// What reading its run again may meet.
    pub fn pop(&mut self) -> Result<Option<Finished>, WorkloadError> {
        let Some(at) = (0..self.runs.len()).min_by_key(|at| self.runs[*at].head.number) else { return Ok(None) };
        let run = &mut self.runs[at];
        Ok(Some(match run.rows.next().transpose()? {
            Some(next) => std::mem::replace(&mut run.head, from_row(next)),
            None => self.runs.swap_remove(at).head,
        }))
    }
}

/// The vector with what it does not say: its number in the place of its id, and the addresses of its ends.
fn to_row(finished: Finished) -> ConnectionVector {
    let mut vector = finished.vector;
    vector.id = finished.number;
    for (side, address) in [(Side::Initiator, finished.initiator), (Side::Acceptor, finished.acceptor)] {
        vector.ends[side].host = Some(Host::Address(Ipv6Addr::from_bits(address.ip).to_canonical()));
        vector.ends[side].port = Some(address.port);
    }
    vector
}

/// The reverse of [`to_row`].
fn from_row(mut vector: ConnectionVector) -> Finished {
    let number = std::mem::replace(&mut vector.id, u64::MAX);
    let mut address = |side: Side| {
        let end = &mut vector.ends[side];
        match (end.host.take(), end.port.take()) {
            (Some(Host::Address(ip)), port) => Address::new(ip, port.unwrap_or(0)),
            _ => Address { ip: 0, port: 0 },
        }
    };
    let (initiator, acceptor) = (address(Side::Initiator), address(Side::Acceptor));
    let class = Class::Replayable { pattern: vector.pattern, complete: vector.complete };
    Finished { number, initiator, acceptor, class, vector }
}

#[cfg(test)]
mod tests {
    use flowloom_core::time::{Duration, Time};
    use flowloom_core::wire::{Flags, Segment};

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
            runs.add(all.iter().skip(third).step_by(3).cloned().collect()).unwrap();
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
