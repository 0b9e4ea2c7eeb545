//! What a check needs of its host. A check that lacks something calls [`skip`], which records it: `make test` prints the records at its
//! end (`tests/skips`), and fails in continuous integration if one is not on the list `tests/may-skip`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Something that not every host has.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// Its name, as in `tests/may-skip`.
    pub what: &'static str,
    /// How to get it.
    pub remedy: &'static str,
}

impl Need {
    /// A need of the caller's own.
    pub const fn new(what: &'static str, remedy: &'static str) -> Need {
        Need { what, remedy }
    }

    /// Captures, flow records and tables that this project did not make ([`shared`]).
    pub const SHARED_DATA: Need = Need::new("shared data", "set FLOWLOOM_SHARED to their folder");
    /// The second reader of captures.
    pub const TSHARK: Need = Need::new("tshark", "apt-get install tshark");
    /// The second reader of logs.
    pub const PYTHON: Need = Need::new("python3", "apt-get install python3");
    /// The command that sets up network devices.
    pub const IP: Need = Need::new("ip", "apt-get install iproute2");
    /// The right to make network namespaces and raw sockets.
    pub const ROOT: Need =
        Need::new("root", "run the tests as root, in a container with CAP_NET_ADMIN and CAP_SYS_ADMIN");
    /// The right of an ordinary user to make a user namespace.
    pub const USER_NAMESPACES: Need =
        Need::new("user namespaces", "sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=1000");
    /// The node of TUN devices.
    pub const TUN: Need = Need::new("/dev/net/tun", "modprobe tun, and give the container the device");
    /// The right to mount a file system of a few kilobytes.
    pub const MOUNT: Need = Need::new("mount", "run the tests as root, in a container with CAP_SYS_ADMIN");
    /// A way to start a program as another user.
    pub const OTHER_USERS: Need =
        Need::new("other users", "run the tests as root, with setpriv (apt-get install util-linux)");
}

/// Records that `check` does not run, and says so on standard error. `check` is a name that stays: its crate, a colon, and a few words.
///
/// The record goes to the file that `FLOWLOOM_SKIPS` names, or to `target/skips.tsv`.
///
/// # Panics
///
/// If the record cannot be written: nobody would notice the skip.
pub fn skip(check: &str, need: Need) {
    let file = std::env::var_os("FLOWLOOM_SKIPS").map_or_else(|| root().join("target/skips.tsv"), PathBuf::from);
    eprintln!("skipped: {check}: {} is missing: {}", need.what, need.remedy);
    if let Err(error) = record(&file, check, need) {
        panic!("{}: a skip cannot be recorded ({error}); set FLOWLOOM_SKIPS to another file", file.display());
    }
}

/// A file or folder of the shared data, which is not part of the repository: in `FLOWLOOM_SHARED`, or `../shared/data` beside the
/// repository. `None`, and a skip of `check`, where it is not.
pub fn shared(check: &str, name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("FLOWLOOM_SHARED").map_or_else(|| root().join("../shared/data"), PathBuf::from);
    let path = folder.join(name);
    if !path.exists() {
        skip(check, Need::SHARED_DATA);
        return None;
    }
    Some(path)
}

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Appends a line in one piece, since test programs and their threads write to the same file.
fn record(file: &Path, check: &str, need: Need) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let line = format!("{check}\t{}\t{}\n", need.what, need.remedy);
    OpenOptions::new().append(true).create(true).open(file)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// What `tests/skips` prints for these skips, and whether it succeeds.
    fn shown(skips: &[(&str, Need)], ci: &str) -> (String, bool) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("target/skips.tsv");
        for (check, need) in skips {
            record(&file, check, *need).unwrap();
        }
        let output = Command::new(root().join("tests/skips")).arg(&file).env("CI", ci).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.success())
    }

    /// A line of `tests/may-skip`.
    const LISTED: (&str, Need) = ("store: real captures", Need::SHARED_DATA);

    #[test]
    fn skips_are_shown_once() {
        let (text, is_well) = shown(&[LISTED, ("a: b", Need::TSHARK), LISTED], "");
        assert!(is_well);
        assert_eq!(text.matches(LISTED.0).count(), 1, "{text}");
        assert!(text.contains("apt-get install tshark"), "{text}");
        assert!(text.contains("2 checks"), "{text}");
    }

    #[test]
    fn unlisted_skips_fail_ci() {
        assert!(shown(&[], "true").1);
        assert!(shown(&[LISTED], "true").1);
        let (text, is_well) = shown(&[LISTED, (LISTED.0, Need::TSHARK)], "true");
        assert!(!is_well);
        assert!(text.contains("error: store: real captures: tshark is missing"), "{text}");
        assert!(!shown(&[("a: b", Need::SHARED_DATA)], "true").1);
    }
}
