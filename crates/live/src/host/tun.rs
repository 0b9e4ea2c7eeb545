//! A TUN device: packets that a namespace routes to it come out of a file, and what is written to the file arrives there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

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
/// the device's namespace: sysfs is looked at through a mount that nothing else sees.
///
/// # Errors
/// The kernel's, before Linux 5.12; or sysfs is hidden, as in some containers.
pub fn thread_napi(device: &str) -> io::Result<()> {
    let filesystem = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&filesystem)?;
    let root = fsmount(&filesystem, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let open = |flags| -> io::Result<File> {
        let file: OwnedFd = openat(&root, format!("class/net/{device}/threaded"), flags, Mode::empty())?;
        Ok(File::from(file))
    };
    open(OFlags::WRONLY)?.write_all(b"1")?;
    let mut kept = String::new();
    open(OFlags::RDONLY)?.read_to_string(&mut kept)?;
    if kept.trim() == "1" { Ok(()) } else { Err(io::Error::other(format!("it stays {}", kept.trim()))) }
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
