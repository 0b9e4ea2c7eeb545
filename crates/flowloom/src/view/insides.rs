//! Whether stores, runs and sweeps have symbolic links in them: looked for once, and again when a folder in them has changed.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::clock::unix_nanos;

/// A folder that changed less than this before it was looked at may change again without another time, in nanoseconds.
const SETTLED_NS: u64 = 2_000_000_000;

/// What was found in a folder and below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Files and folders.
    Plain,
    /// A symbolic link, which may lead elsewhere.
    Link,
    /// More than anyone looks at.
    TooMuch,
}

/// What tells whether entries of a folder came or went: which folder it is, and when it changed, which nobody can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    device: u64,
    inode: u64,
    nanos: u64,
}

impl Change {
    fn of(found: &Metadata) -> Change {
        let nanos = found.ctime().max(0).unsigned_abs() * 1_000_000_000 + found.ctime_nsec().max(0).unsigned_abs();
        Change { device: found.dev(), inode: found.ino(), nanos }
    }

    /// Whether it was so long ago that a later one has another time.
    fn is_settled(&self) -> bool {
        unix_nanos().saturating_sub(self.nanos) > SETTLED_NS
    }
}

/// What was found in a folder, and how all folders in it were then.
struct Known {
    inside: Inside,
    folders: Vec<(PathBuf, Change)>,
    is_new: bool,
}

impl Known {
    fn holds(&self) -> bool {
        let same = |(path, change): &(PathBuf, Change)| {
            fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && Change::of(&found) == *change)
        };
        self.folders.iter().all(same)
    }
}

/// What was found in folders.
#[derive(Default)]
pub(super) struct Insides(BTreeMap<PathBuf, Known>);

impl Insides {
    /// What is in the folder at `path`, of which `most` entries are looked at.
    pub(super) fn of(&mut self, path: &Path, most: usize) -> Inside {
        if let Some(known) = self.0.get_mut(path)
            && known.holds()
        {
            known.is_new = true;
            return known.inside;
        }
        let (mut folders, mut left) = (Vec::new(), most);
        let inside = look(path, &mut left, &mut folders);
        self.0.remove(path);
        if folders.iter().all(|(_, change)| change.is_settled()) {
            self.0.insert(path.to_owned(), Known { inside, folders, is_new: true });
        }
        inside
    }

    /// Forgets folders that nobody has asked about since this was last called.
    pub(super) fn forget_others(&mut self) {
        self.0.retain(|_, known| std::mem::take(&mut known.is_new));
    }
}

fn look(path: &Path, left: &mut usize, folders: &mut Vec<(PathBuf, Change)>) -> Inside {
    // Before its entries are read: if one comes meanwhile, it is another time.
    if let Ok(found) = fs::symlink_metadata(path) {
        folders.push((path.to_owned(), Change::of(&found)));
    }
    for entry in fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
        let Some(rest) = left.checked_sub(1) else { return Inside::TooMuch };
        *left = rest;
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() {
            return Inside::Link;
        }
        if kind.is_dir() {
            match look(&entry.path(), left, folders) {
                Inside::Plain => {}
                other => return other,
            }
        }
    }
    Inside::Plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_comes_later_is_found() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("seed-1/deep");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("file"), "").unwrap();
        let mut insides = Insides::default();
        assert_eq!(insides.of(root.path(), 3), Inside::Plain);
        assert_eq!(insides.of(root.path(), 2), Inside::TooMuch, "nothing is known of folders that are new");
        let now_ns = flowloom_monitor::Moment::now().monotonic_ns;
        flowloom_monitor::Bell::default().wait_until(now_ns + SETTLED_NS * 11 / 10);
        assert_eq!(insides.of(root.path(), 3), Inside::Plain);
        // Nothing changed, and nothing is read again.
        assert_eq!((insides.of(root.path(), 2), insides.0.len()), (Inside::Plain, 1));
        std::os::unix::fs::symlink("/etc", inner.join("link")).unwrap();
        assert_eq!(insides.of(root.path(), 9), Inside::Link);
        insides.forget_others();
        insides.forget_others();
        assert!(insides.0.is_empty());
    }
}
