//! Programs of the user's inside the sides of a live run.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use flowloom_core::workload::LinkSide;
use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::addresses;
use crate::host::namespace::{Namespace, current_inode, refuse_host_namespace};
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

/// The guests of a run. Dropped, they are killed.
#[derive(Debug, Default)]
pub struct Guests {
    children: Vec<(Child, bool)>,
}

impl Guests {
    /// Starts them, and gives the first that the run is there for its standard input: `program` is called with `--namespace N --host-namespace INODE -- COMMAND...`, which has to end up in [`become_guest`].
    ///
    /// # Errors
    /// A process cannot be started.
    pub fn start(guests: &[Guest], program: &Program, testbed: &Testbed) -> io::Result<Guests> {
        let host = current_inode()?.to_string();
        let mut started = Guests::default();
        for Guest { side, host: on_host, command, is_host } in guests {
            let on_host = on_host.map(|number| (number, &testbed.hosts[*side as usize][usize::from(number)]));
            let namespace = on_host.map_or(testbed.namespace(*side), |(_, host)| &host.namespace);
            let address = on_host.map_or(addresses::host(*side), |(_, host)| host.address);
            let has_input = *is_host && !started.keep_it_going();
            let child = namespace.inherited_by(|descriptor| {
                let mut guest = Command::new(&program.path);
                guest.args(&program.arguments).arg("--namespace").arg(descriptor.to_string());
                guest.args(["--host-namespace", &host, "--"]).args(command);
                guest.env(OWN_ADDRESS, address.to_string());
                guest.env(PEER_ADDRESS, addresses::host(side.other()).to_string());
                if let Some((number, _)) = on_host {
                    guest.env(HOST, number.to_string());
                }
                if !has_input {
                    guest.stdin(Stdio::null());
                }
                // So that what it starts can be ended with it. Those that the run is there for keep the terminal.
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
        for (child, is_host) in &mut self.children {
            // One that has ended cannot be killed, and needs not be.
            let _ = child.kill();
            if let (false, Ok(group)) = (*is_host, i32::try_from(child.id())) {
                let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            }
            let _ = child.wait();
        }
    }
}

/// Becomes a guest: enters the namespace behind the inherited descriptor and becomes the program. It is killed when the thread of
/// the run that started it ends.
///
/// # Errors
/// Always: it returns only if it cannot.
pub fn become_guest(namespace: u32, host_namespace: u64, command: &[OsString]) -> io::Result<std::convert::Infallible> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    let descriptor = i32::try_from(namespace).map_err(io::Error::other)?;
    Namespace::inherited(descriptor)?.enter()?;
    refuse_host_namespace(host_namespace)?;
    let (program, arguments) = command.split_first().ok_or_else(|| io::Error::other("no program was given"))?;
    let error = Command::new(program).args(arguments).exec();
    Err(io::Error::new(error.kind(), format!("{}: {error}", program.display())))
}
