//! Network namespaces without names: they are held by descriptors, so that one that nobody holds is gone, with its devices and
//! routes, however its holders ended.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::thread;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Gid, Uid, getegid, geteuid};
use thiserror::Error;

/// The namespace of the calling thread.
const OF_THIS_THREAD: &str = "/proc/thread-self/ns/net";

/// A network namespace, as long as this or another holder has it.
#[derive(Debug)]
pub struct Namespace {
    descriptor: OwnedFd,
    inode: u64,
}

impl Namespace {
    /// Makes an empty one. No thread that goes on is ever in it.
    ///
    /// # Errors
    /// The kernel's: this needs CAP_SYS_ADMIN (see [`enter_user_namespace`]).
    pub fn new() -> io::Result<Namespace> {
        in_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            Namespace::of_this_thread()
        })
    }

    /// That of the calling thread.
    ///
    /// # Errors
    /// There is no /proc.
    pub fn of_this_thread() -> io::Result<Namespace> {
        Namespace::holding(File::open(OF_THIS_THREAD)?)
    }

    /// The one that a descriptor stands for which this process was started with.
    ///
    /// # Errors
    /// It is not open, or no namespace.
    pub fn inherited(descriptor: RawFd) -> io::Result<Namespace> {
        Namespace::holding(File::open(format!("/proc/self/fd/{descriptor}"))?)
    }

    fn holding(file: File) -> io::Result<Namespace> {
        let inode = file.metadata()?.ino();
        Ok(Namespace { descriptor: file.into(), inode })
    }

    /// What tells it from others.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Moves the calling thread into it, for good. Sockets stay where they were made.
    ///
    /// # Errors
    /// The kernel's.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.descriptor, CloneFlags::CLONE_NEWNET)?)
    }

    /// Does `work` in it, in a thread of its own.
    ///
    /// # Errors
    /// The kernel's, or those of `work`.
    pub fn within<T: Send, E: From<io::Error> + Send>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send,
    ) -> Result<T, E> {
        in_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Calls `spawn` while processes inherit the descriptor, whose number it is given for [`Namespace::inherited`].
    ///
    /// # Errors
    /// The kernel's, or those of `spawn`.
    pub fn inherited_by<T>(&self, spawn: impl FnOnce(RawFd) -> io::Result<T>) -> io::Result<T> {
        fcntl(&self.descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let spawned = spawn(self.descriptor.as_raw_fd());
        fcntl(&self.descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        spawned
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Does `work` in a thread of its own, and waits for it.
pub(super) fn in_thread<T: Send, E: Send>(work: impl FnOnce() -> Result<T, E> + Send) -> Result<T, E> {
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// The inode of the calling thread's namespace.
///
/// # Errors
/// There is no /proc.
pub fn current_inode() -> io::Result<u64> {
    Ok(fs::metadata(OF_THIS_THREAD)?.ino())
}

/// Fails if the calling thread is in the namespace with inode `host`: a worker asks before it opens a socket, so that nothing
/// is ever sent by the host's devices.
///
/// # Errors
/// It is, or there is no telling.
pub fn refuse_host_namespace(host: u64) -> io::Result<()> {
    if current_inode()? == host {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "this is the host's own network namespace, where no traffic of a run may appear",
        ));
    }
    Ok(())
}

/// Why there is no namespace to be root in.
#[derive(Debug, Error)]
pub enum UserNamespaceError {
    /// The kernel refuses to make one.
    #[error(
        "without root this needs a user namespace, which the kernel refuses ({0}): run it as root, or allow them \
         (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000, \
         kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Refused(io::Error),
    /// It does not let us in.
    #[error("{file} of the user namespace cannot be written: {source}")]
    Map {
        /// The file.
        file: &'static str,
        /// What the kernel says.
        source: io::Error,
    },
}

/// Without root, makes the process root of a user namespace of its own, which owns new network and mount namespaces; files
/// and processes outside are accessible as before. As root, does nothing. Says whether it did something.
///
/// To be called before the process has a second thread: the kernel refuses it after that.
///
/// # Errors
/// Unprivileged user namespaces are not to be had here.
pub fn enter_user_namespace() -> Result<bool, UserNamespaceError> {
    let (user, group): (Uid, Gid) = (geteuid(), getegid());
    if user.is_root() {
        return Ok(false);
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)
        .map_err(|error| UserNamespaceError::Refused(error.into()))?;
    // The kernel lets a group be mapped only after setgroups is given up (user_namespaces(7)).
    let files = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ];
    for (file, text) in files {
        fs::write(file, text).map_err(|source| UserNamespaceError::Map { file, source })?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether namespaces can be made here; a skip if not.
    fn possible() -> bool {
        let possible = geteuid().is_root() && Namespace::new().is_ok();
        if !possible {
            flowloom_needs::skip("live: namespaces", flowloom_needs::Need::ROOT);
        }
        possible
    }

    #[test]
    fn a_namespace_is_another_one_and_only_threads_that_enter_are_in_it() {
        if !possible() {
            return;
        }
        let (host, namespace) = (current_inode().unwrap(), Namespace::new().unwrap());
        assert_ne!(namespace.inode(), host);
        assert_eq!(current_inode().unwrap(), host);
        assert!(refuse_host_namespace(host).is_err());
        let inside = namespace.within(|| refuse_host_namespace(host).and_then(|()| current_inode()));
        assert_eq!(inside.unwrap(), namespace.inode());
        assert_eq!(current_inode().unwrap(), host);
    }

    #[test]
    fn a_process_inherits_a_namespace_only_while_it_is_told_to() {
        if !possible() {
            return;
        }
        let namespace = Namespace::new().unwrap();
        let seen = |number: RawFd| {
            let mut command = std::process::Command::new("readlink");
            let output = command.arg(format!("/proc/self/fd/{number}")).output()?;
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        assert_eq!(namespace.inherited_by(seen).unwrap().trim(), format!("net:[{}]", namespace.inode()));
        assert_ne!(seen(namespace.as_fd().as_raw_fd()).unwrap().trim(), format!("net:[{}]", namespace.inode()));
        let again = Namespace::inherited(namespace.as_fd().as_raw_fd()).unwrap();
        assert_eq!(again.inode(), namespace.inode());
        assert!(Namespace::inherited(1_000_000).is_err());
    }
}
