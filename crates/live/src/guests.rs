//! Programs of the user's inside the sides of a live run.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use flowloom_core::workload::LinkSide;
use nix::sys::prctl;
use nix::sys::signal::Signal;

use crate::addresses;
use crate::host::namespace::{Namespace, current_inode, refuse_host_namespace};
use crate::workers::Program;

/// The variable that tells a guest its own address.
pub const OWN_ADDRESS: &str = "FLOWLOOM_ADDRESS";
/// The variable that tells a guest the address of the other side.
pub const PEER_ADDRESS: &str = "FLOWLOOM_PEER";

/// A program that runs inside a side while a run goes on.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The side.
    pub side: LinkSide,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The run is there for it: it has the terminal, and the run ends when it does. Others are ended with the run.
    pub is_host: bool,
}

/// The guests of a run. Dropped, they are killed.
#[derive(Debug, Default)]
pub struct Guests {
    children: Vec<(Child, bool)>,
}

impl Guests {
    /// Starts them: `program` is called with `--namespace N --host-namespace INODE -- COMMAND...`, which has to end up in [`become_guest`].
    ///
    /// # Errors
    /// A process cannot be started.
    pub fn start(guests: &[Guest], program: &Program, namespaces: &[Namespace; 2]) -> io::Result<Guests> {
        let host = current_inode()?.to_string();
        let mut started = Guests::default();
        for Guest { side, command, is_host } in guests {
            let child = namespaces[*side as usize].inherited_by(|descriptor| {
                let mut guest = Command::new(&program.path);
                guest.args(&program.arguments).arg("--namespace").arg(descriptor.to_string());
                guest.args(["--host-namespace", &host, "--"]).args(command);
                guest.env(OWN_ADDRESS, addresses::host(*side).to_string());
                guest.env(PEER_ADDRESS, addresses::host(side.other()).to_string());
                if !is_host {
                    guest.stdin(Stdio::null());
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

    /// How the guest that the run is there for has ended; `None` if it has not, or there is none.
    ///
    /// # Errors
    /// The kernel's.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let host = self.children.iter_mut().find(|(_, is_host)| *is_host);
        host.map_or(Ok(None), |(child, _)| child.try_wait())
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        for (child, _) in &mut self.children {
            // One that has ended cannot be killed, and needs not be.
            let _ = child.kill();
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
