//! Programs of the user's inside the sides of a live run.

use std::env;
use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::addresses;
use crate::clock::Clock;
use crate::host::namespace::{Namespace, current_inode, refuse_host_namespace};
use crate::host::orphans::children;
use crate::host::testbed::Testbed;
use crate::workers::Program;

/// The variable that tells a guest its own address.
pub const OWN_ADDRESS: &str = "FLOWLOOM_ADDRESS";
/// The variable that tells a guest the address of the other side.
pub const PEER_ADDRESS: &str = "FLOWLOOM_PEER";
/// The variable that tells a guest the number of its host, if it is on one.
pub const HOST: &str = "FLOWLOOM_HOST";

/// A program that runs inside a side while a run goes on.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The side.
    pub side: LinkSide,
    /// The host of that side that it runs on; `None` for the namespace of the side itself.
    pub host: Option<u8>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The run is there for it, and ends when all such guests have ended. Others are ended with the run.
    pub is_host: bool,
}

/// The guests of a run. Dropped, they are killed, with all that they have started.
#[derive(Debug, Default)]
pub struct Guests {
    /// Those that keep them, and whether the run is there for them.
    children: Vec<(Child, bool)>,
}

/// Keepers of guests have so long to end them.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often they are looked at meanwhile.
const LOOK: Duration = Duration::from_millis(1);
/// What shells add to the number of the signal that ended a program.
const SIGNALLED: u8 = 128;

impl Guests {
    /// Starts them, and gives the first that the run is there for its standard input: `program` is called with
    /// `--run PID --namespace N --host-namespace INODE [--stays] -- COMMAND...`, which has to end up in [`keep_guest`].
    ///
    /// # Errors
    /// A process cannot be started.
    pub fn start(guests: &[Guest], program: &Program, testbed: &Testbed) -> io::Result<Guests> {
        let (host, run) = (current_inode()?.to_string(), std::process::id().to_string());
        let mut started = Guests::default();
        for Guest { side, host: on_host, command, is_host } in guests {
            let on_host = on_host.map(|number| (number, &testbed.hosts[*side as usize][usize::from(number)]));
            let namespace = on_host.map_or(testbed.namespace(*side), |(_, host)| &host.namespace);
            let address = on_host.map_or(addresses::host(*side), |(_, host)| host.address);
            let has_input = *is_host && !started.keep_it_going();
            let child = namespace.inherited_by(|descriptor| {
                let mut guest = Command::new(&program.path);
                guest.args(&program.arguments).arg("--namespace").arg(descriptor.to_string());
                guest.args(["--host-namespace", &host, "--run", &run]);
                if !is_host {
                    guest.arg("--stays");
                }
                guest.arg("--").args(command);
                guest.env(OWN_ADDRESS, address.to_string());
                guest.env(PEER_ADDRESS, addresses::host(side.other()).to_string());
                if let Some((number, _)) = on_host {
                    guest.env(HOST, number.to_string());
                }
                if !has_input {
                    guest.stdin(Stdio::null());
                }
                // Those that the run is there for have the terminal, and interrupts are theirs.
                if !is_host {
                    guest.process_group(0);
                }
                guest.spawn()
            })?;
            started.children.push((child, *is_host));
        }
        Ok(started)
    }

    /// Whether the run has to go on for them.
    pub fn keep_it_going(&self) -> bool {
        self.children.iter().any(|(_, is_host)| *is_host)
    }

    /// How the guests have ended that the run is there for: as the first of them that failed, if one did. `None` while one goes
    /// on, or if there are none.
    ///
    /// # Errors
    /// The kernel's.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let mut all = None;
        for (child, _) in self.children.iter_mut().filter(|(_, is_host)| *is_host) {
            let Some(status) = child.try_wait()? else { return Ok(None) };
            all = all.filter(|before: &ExitStatus| !before.success()).or(Some(status));
        }
        Ok(all)
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        let clock = Clock::starting_in(Duration::ZERO);
        for (keeper, _) in &mut self.children {
            // One that has ended has ended what it kept, and its number may be anybody's.
            if matches!(keeper.try_wait(), Ok(None)) {
                let _ = i32::try_from(keeper.id()).map(|keeper| kill(Pid::from_raw(keeper), Signal::SIGTERM));
            }
        }
        for (keeper, _) in &mut self.children {
            while matches!(keeper.try_wait(), Ok(None)) && clock.now() < Time::ZERO + PATIENCE {
                clock.sleep_until(clock.now() + LOOK);
            }
            // One that hangs. That of others fails, and needs not succeed.
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
    }
}

/// Starts a guest in the namespace behind the inherited descriptor, and [keeps](keep) it for the process `run`.
///
/// # Errors
/// The guest cannot be started.
pub fn keep_guest(run: u32, namespace: u32, host_namespace: u64, stays: bool, command: &[OsString]) -> io::Result<u8> {
    keep(run, stays, command, || {
        let descriptor = i32::try_from(namespace).map_err(io::Error::other)?;
        Namespace::inherited(descriptor)?.enter()?;
        // It is not the guest's.
        nix::unistd::close(descriptor)?;
        refuse_host_namespace(host_namespace)
    })
}

/// Starts a program, after what is to be done `before`, and keeps it: whatever it starts ends when it does, or, if it `stays`, when
/// `parent` does. Then, or when the thread of `parent` that started this process is gone, this returns the exit code of the program, as
/// shells have it where a signal ended it.
///
/// Processes whose parents end become children of this one (PR_SET_CHILD_SUBREAPER), in the background or not, so that none escapes.
/// It leaves what comes from the terminal to the program. The calling process has one thread and no other children.
///
/// # Errors
/// The program cannot be started.
pub fn keep(parent: u32, stays: bool, command: &[OsString], before: impl FnOnce() -> io::Result<()>) -> io::Result<u8> {
    let heard: SigSet = [Signal::SIGTERM, Signal::SIGCHLD].into_iter().collect();
    let of_the_terminal = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGTSTP];
    heard.iter().chain(of_the_terminal).collect::<SigSet>().thread_block()?;
    prctl::set_pdeathsig(Signal::SIGTERM)?;
    // One that has ended before that tells nothing.
    if u32::try_from(nix::unistd::getppid().as_raw()) != Ok(parent) {
        return Err(io::Error::other("its parent is gone"));
    }
    prctl::set_child_subreaper(true)?;
    before()?;
    let program = command.first().map(OsString::as_os_str).unwrap_or_default();
    let kept = start(command).map_err(|error| {
        io::Error::new(io::Error::from(error).kind(), format!("{}: {}", program.display(), error.desc()))
    })?;
    let mut code = None;
    while code.is_none() || stays {
        if heard.wait()? == Signal::SIGTERM {
            break;
        }
        while let Some((process, ended)) = reap(Some(WaitPidFlag::WNOHANG))? {
            code = code.or((process == kept).then_some(ended));
        }
    }
    // Those of a child that is killed become children.
    loop {
        let children = children(std::process::id())?;
        if children.is_empty() {
            return Ok(code.unwrap_or(SIGNALLED + Signal::SIGKILL as u8));
        }
        for child in children.into_iter().filter_map(|child| i32::try_from(child).ok()) {
            // A child keeps its number until it is waited for.
            let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
        }
        reap(None)?;
        while reap(Some(WaitPidFlag::WNOHANG))?.is_some() {}
    }
}

/// Starts a program with signals as programs expect them, not as they are here.
fn start(command: &[OsString]) -> Result<Pid, Errno> {
    // A word with a zero byte in it is no word.
    let text = |word: &[u8]| CString::new(word).map_err(|_| Errno::EINVAL);
    let words = command.iter().map(|word| text(word.as_bytes())).collect::<Result<Vec<_>, _>>()?;
    let variables = env::vars_os().map(|(name, value)| text(&[name.as_bytes(), b"=", value.as_bytes()].concat()));
    let variables = variables.collect::<Result<Vec<_>, _>>()?;
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF)?;
    attributes.set_sigmask(&SigSet::empty())?;
    // Ignored by this program, as by all that are in Rust.
    attributes.set_sigdefault(&[Signal::SIGPIPE].into_iter().collect())?;
    let program = words.first().ok_or(Errno::EINVAL)?;
    posix_spawnp(program, &PosixSpawnFileActions::init()?, &attributes, &words, &variables)
}

/// Waits for a child; which it was, and its exit code. `None` if none has ended, or there is none.
fn reap(flags: Option<WaitPidFlag>) -> io::Result<Option<(Pid, u8)>> {
    loop {
        let (process, code) = match waitpid(None, flags) {
            Ok(WaitStatus::Exited(process, code)) => (process, code as u8),
            Ok(WaitStatus::Signaled(process, signal, _)) => (process, SIGNALLED + signal as u8),
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(None),
            // It goes on.
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        };
        return Ok(Some((process, code)));
    }
}
