//! Processes whose run is gone. They end with their run, so that there are none, unless one was stopped or hangs. And whose
//! children processes are.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::Pid;

/// A process without its run.
#[derive(Debug)]
pub struct Stray {
    /// Its number.
    pub process: u32,
    /// Its folder in /proc: empty when it is gone, also when another has its number.
    folder: File,
}

impl Stray {
    /// Ends it.
    ///
    /// # Errors
    /// It is another user's.
    pub fn end(&self) -> io::Result<()> {
        self.signal(Signal::SIGKILL)
    }

    /// Asks it to end, and lets it go on if it was stopped: that of a guest ends first what it has started.
    ///
    /// # Errors
    /// It is another user's.
    pub fn ask_to_end(&self) -> io::Result<()> {
        self.signal(Signal::SIGTERM)?;
        self.signal(Signal::SIGCONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        // The folder is asked immediately before: for its number to be another's the kernel would have to give out all others in between.
        if !self.is_there() {
            return Ok(());
        }
        match kill(Pid::from_raw(self.process.cast_signed()), signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn is_there(&self) -> bool {
        openat(&self.folder, "stat", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty()).is_ok()
    }
}

/// Those of the programs called as ours is, whose first argument is `subcommand`, as far as we may look.
///
/// # Errors
/// There is no /proc.
pub fn orphans(subcommand: &str) -> io::Result<Vec<Stray>> {
    let processes = Path::new("/proc");
    let program = fs::read_link(processes.join("self/exe"))?;
    let mut found = Vec::new();
    for process in numbers(processes)? {
        if !is_stray(processes, process, &program, subcommand) {
            continue;
        }
        let Ok(folder) = File::open(processes.join(process.to_string())) else { continue };
        // It may have ended in between, and another may have its number.
        if is_stray(processes, process, &program, subcommand) {
            found.push(Stray { process, folder });
        }
    }
    Ok(found)
}

/// The children of a process.
///
/// # Errors
/// There is no /proc.
pub fn children(process: u32) -> io::Result<Vec<u32>> {
    let processes = Path::new("/proc");
    let is_child = |other: &u32| parent(&processes.join(other.to_string())) == Some(process);
    Ok(numbers(processes)?.into_iter().filter(is_child).collect())
}

/// The processes that there are.
fn numbers(processes: &Path) -> io::Result<Vec<u32>> {
    let mut numbers: Vec<u32> = Vec::new();
    for entry in fs::read_dir(processes)? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn is_stray(processes: &Path, process: u32, program: &Path, subcommand: &str) -> bool {
    let folder = processes.join(process.to_string());
    let is_worker = fs::read(folder.join("cmdline"))
        .is_ok_and(|line| line.split(|byte| *byte == 0).nth(1) == Some(subcommand.as_bytes()));
    // Whose parent we cannot find out about is left alone.
    let Some(parent) = is_worker.then(|| parent(&folder)).flatten() else { return false };
    let ours = |folder: PathBuf| fs::read_link(folder.join("exe")).is_ok_and(|exe| same_program(&exe, program));
    ours(folder) && !ours(processes.join(parent.to_string()))
}

/// Whether two programs have the same name, wherever they are, and whether or not a file was replaced while it ran.
fn same_program(one: &Path, other: &Path) -> bool {
    let name = |path: &Path| {
        let mut name = path.file_name().map(OsString::from).unwrap_or_default().into_vec();
        if let Some(length) = name.strip_suffix(b" (deleted)").map(<[u8]>::len) {
            name.truncate(length);
        }
        name
    };
    name(one) == name(other)
}

/// The number of a process's parent: the second field after its name, which is in parentheses and may contain some.
fn parent(folder: &Path) -> Option<u32> {
    let line = fs::read_to_string(folder.join("stat")).ok()?;
    line.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A /proc with these processes: number, parent, program, command line.
    fn processes(list: &[(u32, u32, &str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("flowloom-processes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (number, parent, program, line) in list {
            let folder = root.join(number.to_string());
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cmdline"), line.replace(' ', "\0")).unwrap();
            fs::write(folder.join("stat"), format!("{number} (a) name) S {parent} 1 1")).unwrap();
            symlink(program, folder.join("exe")).unwrap();
        }
        root
    }

    #[test]
    fn a_worker_is_stray_whose_parent_is_no_run() {
        let root = processes(&[
            (1, 0, "/sbin/init", "init"),
            (10, 1, "/usr/bin/flowloom", "flowloom run x --on live"),
            (11, 10, "/usr/bin/flowloom", "/proc/self/exe live-worker --namespace 5"),
            (12, 1, "/usr/bin/flowloom (deleted)", "/proc/self/exe live-worker --namespace 5"),
            (13, 1, "/usr/bin/cat", "cat live-worker"),
            (14, 1, "/usr/bin/flowloom", "flowloom shell live-worker"),
            (15, 99, "/elsewhere/flowloom", "flowloom live-worker --namespace 5"),
        ]);
        let program = Path::new("/usr/bin/flowloom");
        let stray = |process: &u32| is_stray(&root, *process, program, "live-worker");
        let found: Vec<u32> = numbers(&root).unwrap().into_iter().filter(stray).collect();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, [12, 15]);
    }

    #[test]
    fn children_are_found_by_their_parent() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children(std::process::id()).unwrap().contains(&child.id()));
        assert!(children(child.id()).unwrap().is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children(std::process::id()).unwrap().contains(&child.id()));
    }

    #[test]
    fn a_process_is_ended_and_its_successor_is_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let folder = File::open(format!("/proc/{}", child.id())).unwrap();
        let stray = Stray { process: child.id(), folder };
        assert!(stray.is_there());
        stray.end().unwrap();
        assert!(!child.wait().unwrap().success());
        // As if this process had the number now.
        let stray = Stray { process: std::process::id(), folder: stray.folder };
        assert!(!stray.is_there());
        stray.end().unwrap();
    }

    #[test]
    fn there_are_none_here() {
        assert!(orphans("no-such-subcommand").unwrap().is_empty());
    }
}
