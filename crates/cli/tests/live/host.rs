//! What of the host a run must leave as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::network::of_this_process;

/// Whether this is root.
pub fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
}

/// What a run could leave behind: devices, routes, named namespaces other than those of tests beside this one.
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
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.filter(|name| !name.starts_with(&of_this_process())).collect()
        };
        Host {
            devices: names("/sys/class/net"),
            routes: fs::read_to_string("/proc/net/route").unwrap_or_default(),
            named: names("/run/netns"),
        }
    }
}

/// The processes in `folder`, by their working directory, with their command lines: runs, their workers, and what those that are in
/// it have started.
pub fn processes_in(folder: &Path) -> BTreeMap<u32, Vec<String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(process) = entry.file_name().to_string_lossy().parse() else { continue };
        if fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder) {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
            found.insert(process, words.collect());
        }
    }
    found
}

/// Worker processes whose run is in `folder`, in the order of their start.
pub fn workers_in(folder: &Path) -> Vec<u32> {
    let is_worker = |words: &Vec<String>| words.iter().any(|word| word == "live-worker");
    processes_in(folder).into_iter().filter(|(_, words)| is_worker(words)).map(|(process, _)| process).collect()
}

/// The namespaces that any thread of any process is in, or holds.
pub fn held_namespaces() -> BTreeSet<String> {
    let links = |folder: PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| fs::read_link(entry.path()).ok()).collect::<Vec<_>>()
    };
    let mut held = BTreeSet::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        for task in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
            for link in links(task.path().join("ns")).into_iter().chain(links(task.path().join("fd"))) {
                held.insert(link.to_string_lossy().into_owned());
            }
        }
    }
    held
}
