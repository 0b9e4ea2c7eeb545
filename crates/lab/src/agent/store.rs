//! Results on disk, for reports that are asked for later: a folder for each experiment, in it one for each parent, in that a file for
//! each block. When there is no more room, the experiments that are longest over go first.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::key::Key;
use crate::authority::Error;

/// No block has a longer name: it is part of the name of a file.
pub(super) const MOST_NAME: usize = 180;

/// Results of a block that the disk does not take are kept in memory up to this.
const MOST_IN_MEMORY_BYTES: u64 = 16 << 20;

/// Bytes of a report that travel together.
const PIECE_BYTES: usize = 64 << 10;

/// The results of an agent.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    most_bytes: u64,
    room: Mutex<Room>,
}

/// What is known of the room, so that nobody has to look at every file for each block.
#[derive(Debug, Default)]
struct Room {
    /// Of all results.
    used_bytes: u64,
    /// Experiments that are not over.
    live: BTreeMap<String, Live>,
}

#[derive(Debug, Default)]
struct Live {
    /// How many parents command it.
    parents: usize,
    used_bytes: u64,
}

/// What a block found.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// On disk.
    File(PathBuf),
    /// In memory, because the disk did not take it.
    Memory(Arc<[u8]>),
}

impl Store {
    pub(super) fn open(folder: PathBuf, most_bytes: u64) -> Result<Store, Error> {
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Error::File { path: folder, error }),
            _ => {
                let used_bytes = size(&folder).map_err(|error| Error::File { path: folder.clone(), error })?;
                let room = Mutex::new(Room { used_bytes, live: BTreeMap::new() });
                Ok(Store { folder, most_bytes, room })
            }
        }
    }

    /// An experiment of a parent begins or goes on: it is known from now on, and its results stay.
    pub(super) fn begin(&self, key: &Key) -> io::Result<()> {
        DirBuilder::new().mode(0o700).recursive(true).create(self.of_parent(key))?;
        let mut room = self.room();
        if !room.live.contains_key(&key.experiment) {
            let used_bytes = size(&self.folder.join(&key.experiment))?;
            room.live.insert(key.experiment.clone(), Live { parents: 0, used_bytes });
        }
        room.live.entry(key.experiment.clone()).or_default().parents += 1;
        Ok(())
    }

    /// Whether an experiment of a parent has been here.
    pub(super) fn knows(&self, key: &Key) -> bool {
        self.of_parent(key).is_dir()
    }

    /// One parent has gone; with the last of them its results may go when others need the room.
    pub(super) fn over(&self, experiment: &str) {
        let live = &mut self.room().live;
        if let Some(one) = live.get_mut(experiment) {
            one.parents -= 1;
            if one.parents == 0 {
                live.remove(experiment);
            }
        }
    }

    /// Keeps what a block found, as `write` writes it.
    pub(super) fn keep(
        &self,
        key: &Key,
        block: &str,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Kept> {
        let path = self.of_block(key, block);
        let before = fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
        let used_by_live = self.room().live.values().fold(0, |sum: u64, live| sum.saturating_add(live.used_bytes));
        let room = self.most_bytes.saturating_sub(used_by_live);
        let mut to_file = || {
            let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            let mut out = BufWriter::new(Bounded { out: file, room });
            write(&mut out)?;
            out.flush()?;
            Ok::<u64, io::Error>(room - out.get_ref().room)
        };
        let written = to_file();
        self.account(&key.experiment, before, *written.as_ref().unwrap_or(&0));
        match written {
            Ok(_) => {
                // What could not be removed now may be with the next.
                let _ = self.make_room();
                Ok(Kept::File(path))
            }
            Err(_) => {
                // A part of it would pass for all of it.
                let _ = fs::remove_file(&path);
                let mut memory = Bounded { out: Vec::new(), room: MOST_IN_MEMORY_BYTES };
                write(&mut memory)?;
                Ok(Kept::Memory(memory.out.into()))
            }
        }
    }

    /// What a block of an earlier time found.
    pub(super) fn find(&self, key: &Key, block: &str) -> Option<Kept> {
        let path = self.of_block(key, block);
        path.is_file().then_some(Kept::File(path))
    }

    fn of_parent(&self, key: &Key) -> PathBuf {
        let Key { experiment, parent, above } = key;
        let at_work_on = if above.is_empty() { String::new() } else { format!("-{above}") };
        self.folder.join(experiment).join(format!("{}-{}{at_work_on}", parent.role.name(), parent.name))
    }

    fn of_block(&self, key: &Key, block: &str) -> PathBuf {
        self.of_parent(key).join(format!("{block}.results"))
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file of an experiment that is not over had so many bytes and has others now.
    fn account(&self, experiment: &str, before: u64, now: u64) {
        let mut room = self.room();
        let change = |bytes: u64| bytes.saturating_sub(before).saturating_add(now);
        room.used_bytes = change(room.used_bytes);
        if let Some(live) = room.live.get_mut(experiment) {
            live.used_bytes = change(live.used_bytes);
        }
    }

    /// Removes experiments that are over until what is left is at most what may be kept.
    fn make_room(&self) -> io::Result<()> {
        let mut room = self.room();
        if room.used_bytes <= self.most_bytes {
            return Ok(());
        }
        let mut over = Vec::new();
        let mut used = 0;
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let bytes = size(&entry.path())?;
            used += bytes;
            if !room.live.contains_key(&*entry.file_name().to_string_lossy()) {
                over.push((entry.metadata()?.modified()?, entry.path(), bytes));
            }
        }
        over.sort();
        for (_, path, bytes) in over {
            if used <= self.most_bytes {
                break;
            }
            fs::remove_dir_all(&path)?;
            used -= bytes;
        }
        room.used_bytes = used;
        Ok(())
    }
}

impl Kept {
    /// What the user has to know of it.
    pub(super) fn words(&self) -> &'static str {
        match self {
            Kept::File(_) => "",
            Kept::Memory(_) => "the disk did not take the results: they are in memory, until the agent ends",
        }
    }

    /// Gives all of it to `piece`, a part at a time, until that says it wants no more.
    pub(super) fn read(&self, mut piece: impl FnMut(Vec<u8>) -> bool) -> io::Result<()> {
        match self {
            Kept::Memory(bytes) => {
                let _ = bytes.chunks(PIECE_BYTES).all(|part| piece(part.to_vec()));
                Ok(())
            }
            Kept::File(path) => {
                let mut file = File::open(path)?;
                loop {
                    let mut part = Vec::with_capacity(PIECE_BYTES);
                    Read::by_ref(&mut file).take(PIECE_BYTES as u64).read_to_end(&mut part)?;
                    if part.is_empty() || !piece(part) {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Takes so much and no more.
struct Bounded<W> {
    out: W,
    room: u64,
}

impl<W: Write> Write for Bounded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.room {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                "there is no room for it, neither on disk nor in memory",
            ));
        }
        let written = self.out.write(bytes)?;
        self.room -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn size(path: &Path) -> io::Result<u64> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    fs::read_dir(path)?.map(|entry| size(&entry?.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::identity::{Identity, LabId, Role};

    #[test]
    fn the_oldest_that_is_over_goes_first() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(place.path().join("results"), 250).unwrap();
        let parent = Identity { lab: LabId::of_key(b""), role: Role::Controller, name: "c".parse().unwrap() };
        let key =
            |experiment: &str| Key { experiment: experiment.to_owned(), parent: parent.clone(), above: String::new() };
        let keep = |experiment: &str, bytes: usize| {
            store.keep(&key(experiment), "a", &mut |out| out.write_all(&vec![7; bytes])).unwrap()
        };
        let is_there = |experiment: &str| store.find(&key(experiment), "a").is_some();
        for experiment in ["1", "2", "3"] {
            store.begin(&key(experiment)).unwrap();
        }
        assert!(matches!(keep("1", 100), Kept::File(_)));
        assert!(matches!(keep("2", 100), Kept::File(_)));
        // All three are live: the third has what is left, and no more.
        assert!(matches!(keep("3", 51), Kept::Memory(_)));
        assert!(!is_there("3"), "a part is not kept for the whole");
        store.over("1");
        assert!(matches!(keep("3", 100), Kept::File(_)));
        assert_eq!(["1", "2", "3"].map(is_there), [false, true, true]);
        assert!(!store.knows(&key("1")));
        let mut read = Vec::new();
        store
            .find(&key("3"), "a")
            .unwrap()
            .read(|part| {
                read.extend(part);
                true
            })
            .unwrap();
        assert_eq!(read, [7; 100]);
    }
}
