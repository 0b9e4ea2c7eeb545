//! Sockets with the options of a script; none of them blocks.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use flowloom_core::time::{Duration, Time};
use flowloom_models::generate::on_off::Transport;
use rustix::event::{PollFd, Timespec};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::{GLANCE, Options};

/// A socket of this kind at `own`.
///
/// # Errors
/// The kernel's, with what was tried.
pub(super) fn bound(transport: Transport, own: SocketAddr, options: &Options) -> io::Result<Socket> {
    let (kind, protocol) = match transport {
        Transport::Tcp => (Type::STREAM, Protocol::TCP),
        Transport::Udp => (Type::DGRAM, Protocol::UDP),
    };
    let socket = Socket::new(Domain::for_address(own), kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    if own.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if let Some(window) = options.window {
        socket.set_recv_buffer_size(window as usize)?;
        socket.set_send_buffer_size(window as usize)?;
    }
    if transport == Transport::Tcp {
        set_tcp(&socket, options)?;
        socket.set_reuse_address(true)?;
    }
    let said = |error| told(error, &format!("cannot have {own}"));
    socket.bind(&own.into()).map_err(said)?;
    Ok(socket)
}

fn set_tcp(socket: &Socket, options: &Options) -> io::Result<()> {
    if let Some(mss) = options.mss {
        socket.set_tcp_mss(mss.into()).map_err(|error| told(error, &format!("segments of {mss} bytes")))?;
    }
    if options.nodelay {
        socket.set_tcp_nodelay(true)?;
    }
    if let Some(name) = &options.congestion {
        let said = |error| told(error, &format!("congestion control {name}"));
        SockRef::from(socket).set_tcp_congestion(name.as_bytes()).map_err(said)?;
    }
    Ok(())
}

/// Begins to connect; whether it is done (a datagram socket always is).
///
/// # Errors
/// The kernel's.
pub(super) fn connect(socket: &Socket, peer: SocketAddr) -> io::Result<bool> {
    match socket.connect(&peer.into()) {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => Ok(false),
        Err(error) => Err(told(error, &format!("cannot reach {peer}"))),
    }
}

/// The same error that says what was tried.
pub(super) fn told(error: io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Waits for one of them until `until`, and no longer than a glance.
///
/// # Errors
/// The kernel's.
pub(super) fn wait(sockets: &mut [PollFd<'_>], now: Time, until: Option<Time>) -> io::Result<()> {
    let wait = until.map_or(GLANCE, |until| until.since(now).min(GLANCE));
    match rustix::event::poll(sockets, Some(&timespec(wait))) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn timespec(duration: Duration) -> Timespec {
    let nanos = duration.as_nanos();
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ }
}

/// What polls it.
pub(super) fn fd(socket: &Socket) -> BorrowedFd<'_> {
    socket.as_fd()
}
