//! System calls that have no safe wrapper in the libraries we use.
#![allow(
    unsafe_code,
    reason = "ioctl, getsockopt, setsockopt, recv and sched_setattr with arguments that no library wraps; each block says why it is sound"
)]

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use flowloom_core::time::Duration;
use nix::libc;

use crate::control::KernelFacts;

/// What system calls return as -1, as an error.
fn checked(returned: c_int) -> io::Result<c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

/// sched_setattr(2) for `thread`, or for the calling one if that is 0, and not for threads that it starts; `nice` counts for ordinary
/// threads. The `slice` is how long an ordinary thread's turn is at most, from 0.1 to 100 ms; zero is the kernel's.
///
/// # Errors
/// The kernel's; EPERM where this user may not.
pub fn set_scheduling(thread: i32, policy: c_int, nice: i32, priority: u32, slice: Duration) -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: policy.cast_unsigned(),
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: nice,
        sched_priority: priority,
        sched_runtime: slice.as_nanos(),
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel reads as many bytes of `attributes` as its first field says, which are all of it, and it outlives the call.
    let returned = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attributes, 0) };
    checked(returned as c_int).map(drop)
}

/// Sets an option whose value is an integer.
fn set_integer(socket: impl AsFd, level: c_int, option: c_int, value: c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `socket` is borrowed; the kernel reads the four bytes of `value`, which
    // outlives the call.
    let returned = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast::<c_void>(),
            size_of::<c_int>() as libc::socklen_t,
        )
    };
    checked(returned).map(drop)
}

/// IP_BIND_ADDRESS_NO_PORT: binding chooses the address alone; the port is chosen by connecting, when the other end is known,
/// so that one port serves connections to different ends.
///
/// # Errors
/// The kernel's.
pub fn set_bind_address_no_port(socket: impl AsFd) -> io::Result<()> {
    set_integer(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// IP_FREEBIND: an address may be bound that no device has.
///
/// # Errors
/// The kernel's.
pub fn set_freebind(socket: impl AsFd) -> io::Result<()> {
    set_integer(socket, libc::IPPROTO_IP, libc::IP_FREEBIND, 1)
}

/// TCP_NOTSENT_LOWAT: the socket is writable only while less than so many bytes wait to be sent for the first time.
///
/// # Errors
/// The kernel's.
pub fn set_not_sent_low_water(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set_integer(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// TCP_WINDOW_CLAMP: the receive window grows no further than this.
///
/// # Errors
/// The kernel's.
pub fn set_window_clamp(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    set_integer(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, c_int::try_from(bytes).unwrap_or(c_int::MAX))
}

/// SO_MAX_PACING_RATE: TCP spaces what it sends for the first time so that it sends no faster, in bytes of payload a second.
///
/// # Errors
/// The kernel refuses it.
pub fn set_max_pacing_rate(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    set_integer(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, c_int::try_from(bytes).unwrap_or(c_int::MAX))
}

/// PACKET_QDISC_BYPASS: what is written to a packet socket goes to the driver at once.
///
/// # Errors
/// The kernel's.
pub fn set_qdisc_bypass(socket: impl AsFd) -> io::Result<()> {
    set_integer(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)
}

/// PACKET_IGNORE_OUTGOING: what leaves by the device is not read back.
///
/// # Errors
/// The kernel's, before Linux 4.20.
pub fn set_ignore_outgoing(socket: impl AsFd) -> io::Result<()> {
    set_integer(socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)
}

/// Binds a packet socket to the device of this number, for packets of an Ethernet `protocol`.
///
/// # Errors
/// The kernel's.
pub fn bind_packet_socket(socket: impl AsFd, device: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: a sockaddr_ll is made of integers, all of which may be zero.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = c_int::try_from(device).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the kernel reads a sockaddr_ll of this length, which outlives the call.
    let returned = unsafe {
        libc::bind(
            socket.as_fd().as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    checked(returned).map(drop)
}

/// The numbers that an option of a socket has, as many as the kernel knows of `N`; the others are zero.
fn numbers<const N: usize>(socket: impl AsFd, level: c_int, option: c_int) -> io::Result<[u32; N]> {
    let mut numbers = [0; N];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `numbers`, and how many to `length`; both outlive the call.
    let returned = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            numbers.as_mut_ptr().cast::<c_void>(),
            &raw mut length,
        )
    };
    checked(returned)?;
    Ok(numbers)
}

/// How many packets a packet socket lost, because it had no room, since this was last asked (PACKET_STATISTICS).
///
/// # Errors
/// The kernel's.
pub fn packet_drops(socket: impl AsFd) -> io::Result<u32> {
    // struct tpacket_stats.
    let [_packets, drops] = numbers(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
    Ok(drops)
}

/// How many packets a socket lost since it was made, because its receive buffer was full (SO_MEMINFO).
///
/// # Errors
/// The kernel's.
pub fn receive_drops(socket: impl AsFd) -> io::Result<u32> {
    // SK_MEMINFO_VARS of linux/sock_diag.h, and the place of SK_MEMINFO_DROPS among them.
    let values: [u32; 9] = numbers(socket, libc::SOL_SOCKET, libc::SO_MEMINFO)?;
    Ok(values[8])
}

/// Bytes of a TCP socket that were written and never sent (SIOCOUTQNSD).
///
/// # Errors
/// The kernel's.
pub fn unsent_bytes(socket: impl AsFd) -> io::Result<u32> {
    let mut bytes: c_int = 0;
    // SAFETY: SIOCOUTQNSD writes one int, to `bytes`, which outlives the call.
    checked(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCOUTQNSD as _, &raw mut bytes) })?;
    Ok(u32::try_from(bytes).unwrap_or(0))
}

/// Bytes of a TCP socket that came in order and were not read (FIONREAD).
///
/// # Errors
/// The kernel's.
pub fn unread_bytes(socket: impl AsFd) -> io::Result<u32> {
    let mut bytes: c_int = 0;
    // SAFETY: FIONREAD writes one int, to `bytes`, which outlives the call.
    checked(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::FIONREAD as _, &raw mut bytes) })?;
    Ok(u32::try_from(bytes).unwrap_or(0))
}

/// Throws away up to `bytes` that a TCP socket received, without a copy (`recv` with MSG_TRUNC), and says how many; 0 at
/// the end of the stream.
///
/// # Errors
/// `WouldBlock` if there is nothing now; the connection's.
pub fn discard(socket: impl AsFd, bytes: usize) -> io::Result<usize> {
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: with MSG_TRUNC a TCP socket counts what it drops and writes nothing, so that it needs no buffer (tcp(7)); of
    // a socket that did write, the kernel would refuse the null pointer with EFAULT.
    let returned = unsafe { libc::recv(socket.as_fd().as_raw_fd(), ptr::null_mut(), bytes, flags) };
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}

/// Places of the fields of `struct tcp_info` (linux/tcp.h), which only ever grows at its end.
mod tcp_info_field {
    /// One byte.
    pub(super) const BACK_OFF: usize = 4;
    pub(super) const TIMEOUT: usize = 8;
    pub(super) const LAST_DATA_RECV: usize = 52;
    pub(super) const RCV_SSTHRESH: usize = 64;
    pub(super) const RTT: usize = 68;
    pub(super) const TOTAL_RETRANS: usize = 100;
    pub(super) const MIN_RTT: usize = 148;
    /// Eight bytes, as the next.
    pub(super) const RECEIVER_LIMITED: usize = 176;
    pub(super) const SEND_BUFFER_LIMITED: usize = 184;
    /// Two bytes, since Linux 6.7.
    pub(super) const TOTAL_RTO: usize = 240;
    pub(super) const END: usize = 248;
}

/// What the kernel says of a TCP connection (TCP_INFO).
///
/// # Errors
/// The kernel's.
pub fn tcp_info(socket: impl AsFd) -> io::Result<KernelFacts> {
    raw_tcp_info(socket, facts)
}

/// How long ago a TCP connection received data last, or came to be if it has received none (tcpi_last_data_recv): in
/// milliseconds, of a clock that ticks every few of them.
///
/// # Errors
/// The kernel's.
pub fn since_last_data(socket: impl AsFd) -> io::Result<Duration> {
    raw_tcp_info(socket, |info| Duration::from_millis(word(info, tcp_info_field::LAST_DATA_RECV).unwrap_or(0).into()))
}

/// How far the receive window of a TCP connection has grown (tcpi_rcv_ssthresh), in bytes.
///
/// # Errors
/// The kernel's.
pub fn grown_window(socket: impl AsFd) -> io::Result<u32> {
    raw_tcp_info(socket, |info| word(info, tcp_info_field::RCV_SSTHRESH).unwrap_or(0))
}

/// Gives `read` as much of the `tcp_info` of a connection as this kernel has.
fn raw_tcp_info<T>(socket: impl AsFd, read: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
    let mut info = [0_u8; tcp_info_field::END];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`, and how many to `length`; both outlive the call.
    let returned = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast::<c_void>(),
            &raw mut length,
        )
    };
    checked(returned)?;
    Ok(read(&info[..length as usize]))
}

/// The four bytes at a place of a `tcp_info`.
fn word(info: &[u8], at: usize) -> Option<u32> {
    info.get(at..at + 4).map(|bytes| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// The facts in as much of a `tcp_info` as a kernel has.
fn facts(info: &[u8]) -> KernelFacts {
    let back_off = info.get(tcp_info_field::BACK_OFF).copied().unwrap_or(0).into();
    let double = |at: usize| Some(u64::from_ne_bytes(info.get(at..at + 8)?.try_into().ok()?));
    let half = |at: usize| info.get(at..at + 2).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    KernelFacts {
        retransmissions: word(info, tcp_info_field::TOTAL_RETRANS).unwrap_or(0),
        timeouts: half(tcp_info_field::TOTAL_RTO).map(u32::from),
        min_rtt_micros: word(info, tcp_info_field::MIN_RTT).filter(|micros| *micros != u32::MAX && *micros != 0),
        smoothed_rtt_micros: word(info, tcp_info_field::RTT).unwrap_or(0),
        timeout_micros: word(info, tcp_info_field::TIMEOUT).unwrap_or(0).checked_shr(back_off).unwrap_or(0),
        receiver_limited_micros: double(tcp_info_field::RECEIVER_LIMITED).unwrap_or(0),
        send_buffer_limited_micros: double(tcp_info_field::SEND_BUFFER_LIMITED).unwrap_or(0),
    }
}

/// A request about the network device `name`, for ioctls.
fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: an ifreq is made of integers, arrays and a pointer, all of which may be zero.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    // The last byte stays zero.
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no name of a network device")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Makes an open /dev/net/tun the device `name` (TUNSETIFF): whole IP packets without a header, in NAPI mode if `napi`. It
/// appears in the namespace that the file was opened in, and is gone when the file is closed.
///
/// # Errors
/// The kernel's.
pub fn tun_attach(file: impl AsFd, name: &str, napi: bool) -> io::Result<()> {
    let mut request = request(name)?;
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | if napi { libc::IFF_NAPI } else { 0 };
    request.ifr_ifru.ifru_flags = flags as i16;
    // SAFETY: TUNSETIFF reads and writes an ifreq, which outlives the call.
    checked(unsafe { libc::ioctl(file.as_fd().as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) }).map(drop)
}

/// Tells a TUN device that who reads it takes neither unfinished checksums nor packets longer than the MTU (TUNSETOFFLOAD).
///
/// # Errors
/// The kernel's.
pub fn tun_refuse_offloads(file: impl AsFd) -> io::Result<()> {
    let none: libc::c_ulong = 0;
    // SAFETY: the argument of TUNSETOFFLOAD is a number, not a pointer.
    checked(unsafe { libc::ioctl(file.as_fd().as_raw_fd(), libc::TUNSETOFFLOAD as _, none) }).map(drop)
}

/// What a device would do for the stack, by which packets become longer than the MTU or leave unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Received segments are merged.
    Gro,
    /// TCP segments are cut by the device.
    Tso,
    /// Segments are cut late.
    Gso,
    /// Checksums of what is sent are left to the device.
    SendChecksum,
}

impl Offload {
    /// All of them.
    pub const ALL: [Offload; 4] = [Offload::Gro, Offload::Tso, Offload::Gso, Offload::SendChecksum];

    /// The name that ethtool has for it.
    pub const fn name(self) -> &'static str {
        match self {
            Offload::Gro => "gro",
            Offload::Tso => "tso",
            Offload::Gso => "gso",
            Offload::SendChecksum => "tx",
        }
    }

    /// Commands of SIOCETHTOOL (linux/ethtool.h) that get and set it.
    const fn commands(self) -> (u32, u32) {
        match self {
            Offload::Gro => (0x2b, 0x2c),
            Offload::Tso => (0x1e, 0x1f),
            Offload::Gso => (0x23, 0x24),
            Offload::SendChecksum => (0x16, 0x17),
        }
    }
}

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Asks the driver of `device`, over a socket of its namespace.
fn ethtool(socket: impl AsFd, device: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data };
    let mut request = request(device)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL reads an ifreq and, by its pointer, reads and writes an ethtool_value for these commands; both
    // outlive the call.
    checked(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) })?;
    Ok(value.data)
}

/// Whether `device` has an offload on. Any `socket` of its namespace serves.
///
/// # Errors
/// The kernel's.
pub fn offload(socket: impl AsFd, device: &str, offload: Offload) -> io::Result<bool> {
    ethtool(socket, device, offload.commands().0, 0).map(|data| data != 0)
}

/// Turns an offload of `device` on or off. Any `socket` of its namespace serves.
///
/// # Errors
/// The kernel's.
pub fn set_offload(socket: impl AsFd, device: &str, offload: Offload, on: bool) -> io::Result<()> {
    ethtool(socket, device, offload.commands().1, u32::from(on)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    #[test]
    fn what_is_discarded_is_counted_and_the_rest_stays() {
        let (mut from, mut to) = pair();
        assert_eq!(discard(&to, 10).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        from.write_all(b"hello, world").unwrap();
        // What was sent over the loopback device has arrived when `write` returns.
        assert_eq!(discard(&to, 7).unwrap(), 7);
        let mut rest = [0; 5];
        to.read_exact(&mut rest).unwrap();
        assert_eq!(&rest, b"world");
        drop(from);
        assert_eq!(discard(&to, 1).unwrap(), 0);
    }

    #[test]
    fn the_kernel_knows_its_connections() {
        let (mut from, mut to) = pair();
        set_not_sent_low_water(&from, 16_384).unwrap();
        from.write_all(&[1; 1_000]).unwrap();
        to.read_exact(&mut [0; 1_000]).unwrap();
        let facts = tcp_info(&from).unwrap();
        assert_eq!(facts.retransmissions, 0);
        assert!(facts.smoothed_rtt_micros > 0 && facts.min_rtt_micros.is_some(), "{facts:?}");
        assert_eq!(unsent_bytes(&from).unwrap(), 0);
        assert!(tcp_info(std::fs::File::open("/dev/null").unwrap()).is_err());
    }

    /// Bytes through the pair, all of them read.
    fn transfer(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
        let mut buffer = vec![0; 16_384];
        for _ in 0..bytes / buffer.len() {
            from.write_all(&buffer).unwrap();
            to.read_exact(&mut buffer).unwrap();
        }
    }

    #[test]
    fn a_window_that_is_held_does_not_grow() {
        let (mut from, mut to) = pair();
        // As in a run: with a buffer of its own the window grows without regard to what the program reads.
        set_integer(&to, libc::SOL_SOCKET, libc::SO_RCVBUF, 200_000).unwrap();
        // The kernel has seen by then what segments come, and forgets what it is told no more.
        transfer(&mut from, &mut to, 256 << 10);
        let grown = grown_window(&to).unwrap();
        set_window_clamp(&to, grown / 2).unwrap();
        transfer(&mut from, &mut to, 8 << 20);
        assert!(grown_window(&to).unwrap() <= grown / 2, "{grown}");
    }

    #[test]
    fn a_paced_sender_takes_its_time() {
        let (mut from, mut to) = pair();
        set_max_pacing_rate(&from, 4_000_000).unwrap();
        let started = std::fs::read_to_string("/proc/uptime").map(|text| uptime(&text)).unwrap();
        // Large segments of the loopback device: the first ten are not paced.
        transfer(&mut from, &mut to, 3 << 20);
        let took = uptime(&std::fs::read_to_string("/proc/uptime").unwrap()) - started;
        assert!((0.3..5.0).contains(&took), "{took} s for 3 MiB at 4 MB/s");
    }

    /// Seconds since the host was started.
    fn uptime(text: &str) -> f64 {
        text.split(' ').next().and_then(|seconds| seconds.parse().ok()).unwrap()
    }

    #[test]
    fn a_socket_knows_what_it_had_no_room_for() {
        let to = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let from = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        nix::sys::socket::setsockopt(&to, nix::sys::socket::sockopt::RcvBuf, &4_096).unwrap();
        assert_eq!(receive_drops(&to).unwrap(), 0);
        (0..100).for_each(|_| assert!(from.send_to(&[0; 1_000], to.local_addr().unwrap()).is_ok()));
        let mut came = 0;
        to.set_nonblocking(true).unwrap();
        while to.recv(&mut [0; 1_000]).is_ok() {
            came += 1;
        }
        assert_eq!(receive_drops(&to).unwrap(), 100 - came);
    }

    #[test]
    fn an_older_kernel_says_less() {
        let mut info = [0_u8; tcp_info_field::END];
        info[240] = 3;
        info[100] = 5;
        assert_eq!(facts(&info).timeouts, Some(3));
        let old = facts(&info[..104]);
        assert_eq!((old.timeouts, old.min_rtt_micros, old.retransmissions), (None, None, 5));
    }

    #[test]
    fn names_are_checked() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(offload(&socket, "lo", Offload::Gro).is_ok());
        for name in ["", "a-name-of-16-byte", "nosuchdevice"] {
            assert!(offload(&socket, name, Offload::Gro).is_err(), "{name}");
        }
    }
}
