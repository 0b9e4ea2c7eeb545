//! A TUN device: packets that a namespace routes to it come out of a file, and what is written to the file arrives there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use super::namespace::in_thread;
use super::sys;
use crate::device::Device;

/// The node that makes TUN devices.
pub const NODE: &str = "/dev/net/tun";

/// The file of a TUN device. The device is gone when it is closed.
#[derive(Debug)]
pub struct Tun(File);

impl Tun {
    /// Makes the device `name` in the calling thread's namespace; whole packets only: no unfinished checksums, none longer than
    /// the MTU. With `napi`, what is written is received by the kernel's NAPI, which [`thread_napi`] can give a thread.
    ///
    /// # Errors
    /// The node is missing or closed to us, or the kernel refuses.
    pub fn create(name: &str, napi: bool) -> io::Result<Tun> {
        let file = open()?;
        sys::tun_attach(&file, name, napi)?;
        sys::tun_refuse_offloads(&file)?;
        Ok(Tun(file))
    }
}

/// Opens the node. Nothing is made by that.
///
/// # Errors
/// It is missing or closed to us.
pub fn open() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(NODE)
}

/// Has the kernel receive what is written to `device` in a thread of its own, not in that of the writer. Works from any thread in
/// the device's namespace: sysfs is looked at in a mount namespace that nothing else sees, and that goes with its only thread.
///
/// # Errors
/// The kernel's, before Linux 5.12; or sysfs is hidden, as in some containers.
pub fn thread_napi(device: &str) -> io::Result<()> {
    const NONE: Option<&str> = None;
    in_thread(|| -> io::Result<()> {
        unshare(CloneFlags::CLONE_NEWNS)?;
        // What is mounted here must not appear in other namespaces.
        mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
        // sysfs shows the devices of the network namespace from which it was mounted.
        mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), NONE)?;
        let setting = format!("/sys/class/net/{device}/threaded");
        OpenOptions::new().write(true).open(&setting)?.write_all(b"1")?;
        let kept = fs::read_to_string(&setting)?;
        if kept.trim() == "1" { Ok(()) } else { Err(io::Error::other(format!("it stays {}", kept.trim()))) }
    })
}

impl Device for Tun {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        unless_blocked(self.0.read(into))
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        Ok(unless_blocked(self.0.write(packet))?.is_some())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `None` for what would have blocked, or met a kernel without buffers.
pub(super) fn unless_blocked<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
