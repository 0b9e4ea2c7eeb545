//! What of the host a run must leave as it was.

use std::collections::BTreeSet;
use std::fs;

/// Whether this is root.
pub fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
}

/// What a run could leave behind: devices, routes, named namespaces.
#[derive(Debug, PartialEq, Eq)]
pub struct Host {
    devices: BTreeSet<String>,
    routes: String,
    named: BTreeSet<String>,
}

impl Host {
    /// As it is.
    pub fn now() -> Host {
        let names = |folder: &str| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        Host {
            devices: names("/sys/class/net"),
            routes: fs::read_to_string("/proc/net/route").unwrap_or_default(),
            named: names("/run/netns"),
        }
    }
}

/// Worker processes whose run is in `folder`, by their working directory.
pub fn workers_in(folder: &std::path::Path) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_worker = words.split(|byte| *byte == 0).any(|word| word == b"live-worker");
        if is_worker && fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder) {
            found.push(pid);
        }
    }
    found.sort_unstable();
    found
}
