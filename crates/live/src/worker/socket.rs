//! The sockets of a worker: what kernel TCP is asked for, in one place.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use flowloom_core::time::Duration;
use flowloom_core::workload::IpVersion;
use nix::errno::Errno;
use nix::libc;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrStorage, bind, connect, getsockopt, listen,
    send, setsockopt, shutdown, socket, sockopt,
};

use crate::addresses;
use crate::control::KernelFacts;
use crate::host::sys;

/// Connections that wait to be accepted: as many as net.core.somaxconn allows.
const BACKLOG: Backlog = Backlog::MAXALLOWABLE;
/// What Linux takes for TCP_MAXSEG (TCP_MIN_MSS and MAX_TCP_WINDOW).
const MSS_RANGE: (u16, u16) = (88, 32_767);
/// Bytes thrown away at once: more than a receive buffer holds.
const DISCARD: usize = 1 << 30;

/// What is sent: its bytes mean nothing.
static ZEROS: [u8; 256 << 10] = [0; 256 << 10];

const NEW: SockFlag = SockFlag::SOCK_NONBLOCK.union(SockFlag::SOCK_CLOEXEC);

/// Everything that can happen to a connection, told once each time it does.
const EVENTS: EpollFlags =
    EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT).union(EpollFlags::EPOLLRDHUP).union(EpollFlags::EPOLLET);

/// A connection, or one to be.
#[derive(Debug)]
pub struct Socket(OwnedFd);

/// What was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// So many bytes, which are thrown away.
    Bytes(u64),
    /// Nothing now.
    Nothing,
    /// The peer has closed, and all it sent has been received.
    End,
}

impl Socket {
    /// Asks for a connection between these addresses, and does not wait for it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connect(from: IpAddr, to: SocketAddr, congestion: Option<&str>, mss: Option<u16>) -> io::Result<Socket> {
        let fd = new(IpVersion::of(from))?;
        setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
        if let Some(mss) = mss {
            setsockopt(&fd, sockopt::TcpMaxSeg, &u32::from(mss.clamp(MSS_RANGE.0, MSS_RANGE.1)))?;
        }
        let socket = Socket(fd);
        if let Some(name) = congestion {
            socket.set_congestion(name)?;
        }
        sys::set_bind_address_no_port(&socket)?;
        bind(socket.0.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(from, 0)))?;
        match connect(socket.0.as_raw_fd(), &SockaddrStorage::from(to)) {
            Ok(()) | Err(Errno::EINPROGRESS) => Ok(socket),
            Err(error) => Err(error.into()),
        }
    }

    /// Chooses the congestion control.
    ///
    /// # Errors
    /// The kernel has none of that name, or this user may not have it.
    pub fn set_congestion(&self, name: &str) -> io::Result<()> {
        setsockopt(self, sockopt::TcpCongestion, &OsString::from(name)).map_err(io::Error::from)
    }

    /// Has events of it told, under the number `token`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn watch(&self, epoll: &Epoll, token: u64) -> io::Result<()> {
        Ok(epoll.add(self, EpollEvent::new(EVENTS, token))?)
    }

    /// Has it told again whether it is writable: at once if it is, and otherwise when it comes to be.
    ///
    /// # Errors
    /// The kernel's.
    pub fn watch_again(&self, epoll: &Epoll, token: u64) -> io::Result<()> {
        Ok(epoll.modify(self, &mut EpollEvent::new(EVENTS, token))?)
    }

    /// Sends as much of `bytes` as is taken at once, and no more than one buffer.
    ///
    /// # Errors
    /// The connection's.
    pub fn send(&self, bytes: u64) -> io::Result<u64> {
        let buffer = &ZEROS[..usize::try_from(bytes).unwrap_or(usize::MAX).min(ZEROS.len())];
        match send(self.0.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
            Ok(taken) => Ok(taken as u64),
            Err(Errno::EAGAIN) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Throws away what has come.
    ///
    /// # Errors
    /// The connection's.
    pub fn discard(&self) -> io::Result<Received> {
        self.discard_at_most(DISCARD as u64)
    }

    /// Throws away what has come, of `most` bytes and more than none.
    ///
    /// # Errors
    /// The connection's.
    pub fn discard_at_most(&self, most: u64) -> io::Result<Received> {
        match sys::discard(self, usize::try_from(most).unwrap_or(DISCARD).min(DISCARD)) {
            Ok(0) => Ok(Received::End),
            Ok(bytes) => Ok(Received::Bytes(bytes as u64)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Received::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Bytes that have come and were not thrown away.
    ///
    /// # Errors
    /// The kernel's.
    pub fn unread(&self) -> io::Result<u64> {
        sys::unread_bytes(self).map(u64::from)
    }

    /// Has the receive buffer hold so many bytes of payload, and no more later. The kernel may round it, and hold to a limit.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_receive_buffer(&self, bytes: u32) -> io::Result<()> {
        let bytes = bytes as usize;
        // It allows as much again for what packets take beside their payload (socket(7)).
        setsockopt(self, sockopt::RcvBufForce, &bytes).or_else(|_| setsockopt(self, sockopt::RcvBuf, &bytes))?;
        Ok(())
    }

    /// Bytes of payload that the receive buffer holds, about.
    pub fn receive_buffer(&self) -> Option<u32> {
        getsockopt(self, sockopt::RcvBuf).ok().and_then(|bytes| u32::try_from(bytes / 2).ok())
    }

    /// Bytes that the kernel took and has not sent for the first time.
    ///
    /// # Errors
    /// The kernel's.
    pub fn unsent(&self) -> io::Result<u64> {
        sys::unsent_bytes(self).map(u64::from)
    }

    /// From now on it is writable while fewer than half so many bytes are unsent; with 0 as the kernel has it by itself.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_unsent_mark(&self, bytes: u32) -> io::Result<()> {
        sys::set_not_sent_low_water(self, bytes)
    }

    /// From now on its receive window does not grow beyond `most`, nor beyond what it has become if that is more.
    ///
    /// # Errors
    /// The kernel's.
    pub fn hold_window(&self, most: u32) -> io::Result<()> {
        sys::set_window_clamp(self, sys::grown_window(self)?.max(most))
    }

    /// Sends no more than so many bytes of payload a second.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn set_rate(&self, bytes: u32) -> io::Result<()> {
        sys::set_max_pacing_rate(self, bytes)
    }

    /// Holds a small segment back until the one before is acknowledged (Nagle's algorithm).
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn hold_small_segments(&self) -> io::Result<()> {
        Ok(setsockopt(self, sockopt::TcpNoDelay, &false)?)
    }

    /// Why it failed; `None` if it did not.
    pub fn failure(&self) -> Option<io::Error> {
        match getsockopt(self, sockopt::SocketError) {
            Ok(0) => None,
            Ok(error) => Some(io::Error::from_raw_os_error(error)),
            Err(error) => Some(error.into()),
        }
    }

    /// Closes the sending direction.
    ///
    /// # Errors
    /// The connection's.
    pub fn shutdown(&self) -> io::Result<()> {
        Ok(shutdown(self.0.as_raw_fd(), Shutdown::Write)?)
    }

    /// Resets the connection.
    pub fn reset(self) {
        // It can fail only for what is no socket.
        let _ = setsockopt(&self, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
    }

    /// Ends it without a packet: whoever is at the other end hears no more of it. The kernel must allow it (CAP_NET_ADMIN in its
    /// namespace); otherwise it is closed.
    pub fn vanish(self) {
        let _ = setsockopt(&self, sockopt::TcpRepair, &1);
    }

    /// What the kernel says of it; `None` if it says nothing.
    pub fn facts(&self) -> Option<KernelFacts> {
        sys::tcp_info(self).ok()
    }

    /// How long ago data came last, to a few milliseconds.
    pub fn since_data(&self) -> Option<Duration> {
        sys::since_last_data(self).ok()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Listens on all addresses of a version of IP. What is set here the accepted sockets inherit.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    /// A descriptor to give up when there are no others, so that who comes then can be told so.
    reserve: Option<OwnedFd>,
}

/// What a listener had.
#[derive(Debug)]
pub enum Accepted {
    /// A connection, and the addresses of its ends in IPv4: the one that asked for it, and ours.
    Connection(Socket, Ipv4Addr, Ipv4Addr),
    /// As a connection, but there are no descriptors: it has been reset.
    Refused(io::Error, Ipv4Addr, Ipv4Addr),
    /// Nobody is waiting.
    Nobody,
}

impl Listener {
    /// Listens on `port`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(version: IpVersion, port: u16, congestion: Option<&str>) -> io::Result<Listener> {
        let fd = new(version)?;
        setsockopt(&fd, sockopt::ReuseAddr, &true)?;
        setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
        if let Some(name) = congestion {
            setsockopt(&fd, sockopt::TcpCongestion, &OsString::from(name))?;
        }
        bind(fd.as_raw_fd(), &SockaddrStorage::from(all_addresses(version, port)))?;
        listen(&fd, BACKLOG)?;
        let reserve = Some(fd.try_clone()?);
        Ok(Listener { listener: fd.into(), reserve })
    }

    /// Has it told, under the number `token`, while somebody is waiting.
    ///
    /// # Errors
    /// The kernel's.
    pub fn watch(&self, epoll: &Epoll, token: u64) -> io::Result<()> {
        Ok(epoll.add(&self.listener, EpollEvent::new(EpollFlags::EPOLLIN, token))?)
    }

    /// A descriptor to give up, if one is to be had.
    fn reserve(&self) -> Option<OwnedFd> {
        self.listener.as_fd().try_clone_to_owned().ok()
    }

    /// Accepts who is waiting.
    ///
    /// # Errors
    /// The kernel's, beside those of a single connection.
    pub fn accept(&mut self) -> io::Result<Accepted> {
        if self.reserve.is_none() {
            self.reserve = self.reserve();
        }
        loop {
            let (error, accepted) = match self.listener.accept() {
                Err(error) if is_out_of_descriptors(&error) && self.reserve.take().is_some() => {
                    (Some(error), self.listener.accept())
                }
                other => (None, other),
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => return Ok(Accepted::Nobody),
                    // What went wrong before it was accepted (accept(2)).
                    Some(libc::ECONNABORTED | libc::EINTR | libc::EPROTO | libc::EHOSTUNREACH | libc::ENETUNREACH) => {
                        continue;
                    }
                    _ => return Err(error),
                },
            };
            stream.set_nonblocking(true)?;
            let own = stream.local_addr().ok();
            let socket = Socket(stream.into());
            let (Some(peer), Some(own)) = (address(peer), own.and_then(address)) else { continue };
            return Ok(match error {
                None => Accepted::Connection(socket, peer, own),
                Some(error) => {
                    socket.reset();
                    self.reserve = self.reserve();
                    Accepted::Refused(error, peer, own)
                }
            });
        }
    }
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

fn address(of: SocketAddr) -> Option<Ipv4Addr> {
    addresses::in_ipv4(of.ip())
}

/// A TCP socket that does not block.
fn new(version: IpVersion) -> io::Result<OwnedFd> {
    of_version(version, SockType::Stream, NEW)
}

/// A socket for one version of IP and not for the other.
pub(super) fn of_version(version: IpVersion, kind: SockType, flags: SockFlag) -> io::Result<OwnedFd> {
    match version {
        IpVersion::V4 => Ok(socket(AddressFamily::Inet, kind, flags, None)?),
        IpVersion::V6 => {
            let fd = socket(AddressFamily::Inet6, kind, flags, None)?;
            setsockopt(&fd, sockopt::Ipv6V6Only, &true)?;
            Ok(fd)
        }
    }
}

/// This port of all addresses.
pub(super) fn all_addresses(version: IpVersion, port: u16) -> SocketAddr {
    match version {
        IpVersion::V4 => (Ipv4Addr::UNSPECIFIED, port).into(),
        IpVersion::V6 => (Ipv6Addr::UNSPECIFIED, port).into(),
    }
}

/// Whether sockets can have the congestion control `name` here.
///
/// # Errors
/// The kernel's.
pub fn probe_congestion(name: &str) -> io::Result<()> {
    Socket(new(IpVersion::V4)?).set_congestion(name)
}
