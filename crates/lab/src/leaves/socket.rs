//! Sockets with the options of a script; none of them blocks.

use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use flowloom_core::time::Time;
use flowloom_models::generate::on_off::Transport;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, ppoll};
use nix::sys::socket::{
    self, AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrStorage, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;

use super::order::{GLANCE, Options};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1_024;

/// A socket that does not block.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

impl Socket {
    /// A socket of this kind at `own`.
    ///
    /// # Errors
    /// The kernel's, with what was tried.
    pub(super) fn bound(transport: Transport, own: SocketAddr, options: &Options) -> io::Result<Socket> {
        let family = if own.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet };
        let kind = match transport {
            Transport::Tcp => SockType::Stream,
            Transport::Udp => SockType::Datagram,
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = Socket(socket::socket(family, kind, flags, None)?);
        if own.is_ipv6() {
            setsockopt(&socket, sockopt::Ipv6V6Only, &true)?;
        }
        if let Some(window) = options.window {
            setsockopt(&socket, sockopt::RcvBuf, &(window as usize))?;
            setsockopt(&socket, sockopt::SndBuf, &(window as usize))?;
        }
        if transport == Transport::Tcp {
            socket.set_tcp(options)?;
            setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        }
        let said = |error: Errno| told(error.into(), &format!("cannot have {own}"));
        socket::bind(socket.0.as_raw_fd(), &SockaddrStorage::from(own)).map_err(said)?;
        Ok(socket)
    }

    fn set_tcp(&self, options: &Options) -> io::Result<()> {
        if let Some(mss) = options.mss {
            let said = |error: Errno| told(error.into(), &format!("segments of {mss} bytes"));
            setsockopt(self, sockopt::TcpMaxSeg, &mss.into()).map_err(said)?;
        }
        if options.nodelay {
            setsockopt(self, sockopt::TcpNoDelay, &true)?;
        }
        if let Some(name) = &options.congestion {
            let said = |error: Errno| told(error.into(), &format!("congestion control {name}"));
            setsockopt(self, sockopt::TcpCongestion, &OsString::from(name)).map_err(said)?;
        }
        Ok(())
    }

    /// Has the kernel keep so many bytes that were not received yet.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn set_receive_buffer(&self, bytes: usize) -> io::Result<()> {
        Ok(setsockopt(self, sockopt::RcvBuf, &bytes)?)
    }

    /// Begins to connect; whether it is done (a datagram socket always is).
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn connect(&self, peer: SocketAddr) -> io::Result<bool> {
        match socket::connect(self.0.as_raw_fd(), &SockaddrStorage::from(peer)) {
            Ok(()) => Ok(true),
            Err(Errno::EINPROGRESS) => Ok(false),
            Err(error) => Err(told(error.into(), &format!("cannot reach {peer}"))),
        }
    }

    /// Has the kernel take connections.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn listen(&self) -> io::Result<()> {
        Ok(socket::listen(self, Backlog::new(BACKLOG)?)?)
    }

    /// Its own address.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        let address: SockaddrStorage = socket::getsockname(self.0.as_raw_fd())?;
        internet(&address).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Sends as much of `bytes` as the kernel has room for.
    ///
    /// # Errors
    /// The kernel's: `WouldBlock` where there is no room.
    pub(super) fn send(&self, bytes: &[u8]) -> io::Result<u64> {
        Ok(socket::send(self.0.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL)? as u64)
    }

    /// Receives a datagram, the beginning of it into `head`: its length and who sent it.
    ///
    /// # Errors
    /// The kernel's: `WouldBlock` where there is none.
    pub(super) fn receive(&self, head: &mut [u8]) -> io::Result<(usize, Option<SocketAddr>)> {
        // With MSG_TRUNC the length is that of the datagram, whatever of it there was room for.
        let mut into = [IoSliceMut::new(head)];
        let came = socket::recvmsg::<SockaddrStorage>(self.0.as_raw_fd(), &mut into, None, MsgFlags::MSG_TRUNC)?;
        Ok((came.bytes, came.address.as_ref().and_then(internet)))
    }

    /// Why it failed; `None` if it did not.
    ///
    /// # Errors
    /// The kernel's, where it cannot say.
    pub(super) fn failure(&self) -> io::Result<Option<io::Error>> {
        let error = socket::getsockopt(self, sockopt::SocketError)?;
        Ok((error != 0).then(|| io::Error::from_raw_os_error(error)))
    }

    /// Closes the sending direction behind what was sent.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn finish(&self) -> io::Result<()> {
        Ok(socket::shutdown(self.0.as_raw_fd(), Shutdown::Write)?)
    }

    /// Has its connection reset when it is dropped.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn reset_when_dropped(&self) -> io::Result<()> {
        Ok(setsockopt(self, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Socket> for TcpListener {
    fn from(socket: Socket) -> TcpListener {
        socket.0.into()
    }
}

impl TryFrom<TcpStream> for Socket {
    type Error = io::Error;

    fn try_from(stream: TcpStream) -> io::Result<Socket> {
        stream.set_nonblocking(true)?;
        Ok(Socket(stream.into()))
    }
}

fn internet(address: &SockaddrStorage) -> Option<SocketAddr> {
    let four = || address.as_sockaddr_in().map(|four| SocketAddrV4::from(*four).into());
    four().or_else(|| address.as_sockaddr_in6().map(|six| SocketAddrV6::from(*six).into()))
}

/// The same error that says what was tried.
pub(super) fn told(error: io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Waits for one of them until `until`, and no longer than a glance.
///
/// # Errors
/// The kernel's.
pub(super) fn wait(polled: &mut [PollFd<'_>], now: Time, until: Option<Time>) -> io::Result<()> {
    let wait = until.map_or(GLANCE, |until| until.since(now).min(GLANCE));
    let wait = TimeSpec::from_duration(std::time::Duration::from_nanos(wait.as_nanos()));
    match ppoll(polled, Some(wait), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether something has happened to it.
pub(super) fn is_ready(polled: &PollFd<'_>) -> bool {
    polled.any() != Some(false)
}
