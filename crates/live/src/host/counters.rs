//! What a side's kernel counted: its device, its TCP, its listeners.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::netlink::{LinkCounts, Netlink};
use super::packet::PacketSocket;
use super::sys;

/// Both sides, left first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Each side's; where a side is spread over hosts, those of each of its hosts.
    pub sides: Vec<SideCounters>,
}

impl Counters {
    /// Packets that devices, and the readers of devices, lost.
    pub fn device_drops(&self) -> u64 {
        let of = |side: &SideCounters| side.device.drops() + side.reader_drops + side.host_drops;
        self.sides.iter().map(of).sum()
    }

    /// What kernels lost of connections for lack of room since `before`, in words: none of it is the model's.
    pub fn losses_since(&self, before: &Counters) -> impl Iterator<Item = (Loss, u64)> {
        let sum = |counters: &Counters, of: fn(&KernelCounters) -> u64| -> u64 {
            counters.sides.iter().map(|side| of(&side.kernel)).sum()
        };
        let lost = |of: fn(&KernelCounters) -> u64| sum(self, of).saturating_sub(sum(before, of));
        let lost = [
            (Loss::Backlog, lost(|kernel| kernel.backlog_drops)),
            (Loss::ReceiveBuffer, lost(|kernel| kernel.receive_queue_drops)),
            (Loss::Pruned, lost(|kernel| kernel.prunes)),
            (Loss::Aborted, lost(|kernel| kernel.memory_aborts)),
            (Loss::TimeWait, lost(|kernel| kernel.time_wait_overflows)),
        ];
        lost.into_iter().filter(|lost| lost.1 > 0)
    }

    /// Connections that listeners could not take in.
    pub fn listen_drops(&self) -> u64 {
        self.sides.iter().map(|side| side.kernel.listen_drops).sum()
    }
}

/// What a kernel counts when it cannot keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Segments that found the backlog of a busy socket full.
    Backlog,
    /// Segments that found a receive buffer full.
    ReceiveBuffer,
    /// Received data that was thrown away for lack of memory.
    Pruned,
    /// Connections that were given up for lack of memory.
    Aborted,
    /// Closed connections without TIME-WAIT.
    TimeWait,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Loss::Backlog => "segments were lost before a busy socket",
            Loss::ReceiveBuffer => "segments were lost before a full receive buffer",
            Loss::Pruned => "times received data was thrown away for lack of memory",
            Loss::Aborted => "connections were given up for lack of memory",
            Loss::TimeWait => "closed connections had no TIME-WAIT",
        })
    }
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideCounters {
    /// Its device: what the side sent by it, and received from it.
    pub device: LinkCounts,
    /// Packets of the side that the reader of its device lost (packet sockets only).
    pub reader_drops: u64,
    /// Packets lost between the side and its hosts.
    pub host_drops: u64,
    /// Its kernel, that of its hosts included.
    pub kernel: KernelCounters,
}

/// What of /proc/net/snmp, /proc/net/netstat and /proc/net/sockstat tells whether a run was what it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounters {
    /// Connections that a full queue of a listener lost (TcpExt ListenOverflows).
    pub listen_overflows: u64,
    /// SYNs that a listener dropped, overflows among them (TcpExt ListenDrops).
    pub listen_drops: u64,
    /// Connections that had no TIME-WAIT because there were too many (TcpExt TCPTimeWaitOverflow).
    pub time_wait_overflows: u64,
    /// Connections given up for lack of memory (TcpExt TCPAbortOnMemory).
    pub memory_aborts: u64,
    /// Segments lost between a socket and its program that kept it busy (TcpExt TCPBacklogDrop).
    pub backlog_drops: u64,
    /// Segments lost because a receive buffer was full (TcpExt TCPRcvQDrop).
    pub receive_queue_drops: u64,
    /// Times that received data was thrown away to save memory (TcpExt RcvPruned, OfoPruned).
    pub prunes: u64,
    /// Segments sent (Tcp OutSegs).
    pub sent_segments: u64,
    /// Segments received (Tcp InSegs).
    pub received_segments: u64,
    /// Segments sent again (Tcp RetransSegs).
    pub retransmitted_segments: u64,
    /// Retransmission timeouts (TcpExt TCPTimeouts).
    pub timeouts: u64,
    /// SYNs and their answers sent again (TcpExt TCPSynRetrans).
    pub syn_retransmissions: u64,
    /// Resets sent (Tcp OutRsts).
    pub resets_sent: u64,
    /// Segments with a wrong checksum or length (Tcp InErrs).
    pub bad_segments: u64,
    /// Datagrams lost because a receive buffer was full (Udp RcvbufErrors).
    pub datagram_drops: u64,
    /// Connections established now (Tcp CurrEstab).
    pub established: u64,
    /// Connections in TIME-WAIT now.
    pub in_time_wait: u64,
}

/// Adds what a line says to a counter: the file's group, the name in it, and where it goes.
type Place = (&'static str, &'static str, fn(&mut KernelCounters) -> &mut u64);

const PLACES: [Place; 18] = [
    ("TcpExt", "ListenOverflows", |counters| &mut counters.listen_overflows),
    ("TcpExt", "ListenDrops", |counters| &mut counters.listen_drops),
    ("TcpExt", "TCPTimeWaitOverflow", |counters| &mut counters.time_wait_overflows),
    ("TcpExt", "TCPAbortOnMemory", |counters| &mut counters.memory_aborts),
    ("TcpExt", "TCPBacklogDrop", |counters| &mut counters.backlog_drops),
    ("TcpExt", "TCPRcvQDrop", |counters| &mut counters.receive_queue_drops),
    ("TcpExt", "RcvPruned", |counters| &mut counters.prunes),
    ("TcpExt", "OfoPruned", |counters| &mut counters.prunes),
    ("Tcp", "OutSegs", |counters| &mut counters.sent_segments),
    ("Tcp", "InSegs", |counters| &mut counters.received_segments),
    ("Tcp", "RetransSegs", |counters| &mut counters.retransmitted_segments),
    ("TcpExt", "TCPTimeouts", |counters| &mut counters.timeouts),
    ("TcpExt", "TCPSynRetrans", |counters| &mut counters.syn_retransmissions),
    ("Tcp", "OutRsts", |counters| &mut counters.resets_sent),
    ("Tcp", "InErrs", |counters| &mut counters.bad_segments),
    ("Udp", "RcvbufErrors", |counters| &mut counters.datagram_drops),
    ("Tcp", "CurrEstab", |counters| &mut counters.established),
    ("TCP", "tw", |counters| &mut counters.in_time_wait),
];

impl KernelCounters {
    fn add(&mut self, group: &str, name: &str, value: &str) {
        let places = PLACES.iter().filter(|place| (place.0, place.1) == (group, name));
        // RFC 2013 counters are never negative but for Tcp MaxConn, which is not ours.
        places.for_each(|place| *(place.2)(self) += value.parse::<u64>().unwrap_or(0));
    }

    /// Adds what the three files' text says.
    fn take(&mut self, snmp: &str, netstat: &str, sockstat: &str) {
        // A line of names, then one of values: "Tcp: InSegs OutSegs" and "Tcp: 12 34".
        for text in [snmp, netstat] {
            let mut lines = text.lines();
            while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
                let Some((group, names)) = names.split_once(':') else { continue };
                let values = values.split_once(':').map_or("", |(_, values)| values);
                let pairs = names.split_whitespace().zip(values.split_whitespace());
                pairs.for_each(|(name, value)| self.add(group, name, value));
            }
        }
        // "TCP: inuse 5 orphan 0 tw 3".
        for line in sockstat.lines() {
            let Some((group, rest)) = line.split_once(':') else { continue };
            let words: Vec<&str> = rest.split_whitespace().collect();
            words.chunks_exact(2).for_each(|pair| self.add(group, pair[0], pair[1]));
        }
    }
}

/// The files of a namespace's counters, to be read from any thread.
#[derive(Debug)]
pub struct KernelFiles([File; 3]);

impl KernelFiles {
    /// Those of the calling thread's namespace.
    ///
    /// # Errors
    /// There is no /proc.
    pub fn open() -> io::Result<KernelFiles> {
        let open = |name| File::open(format!("/proc/thread-self/net/{name}"));
        Ok(KernelFiles([open("snmp")?, open("netstat")?, open("sockstat")?]))
    }

    /// What the kernel counted so far.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read(&self) -> io::Result<KernelCounters> {
        let mut counters = KernelCounters::default();
        self.add_to(&mut counters)?;
        Ok(counters)
    }

    fn add_to(&self, counters: &mut KernelCounters) -> io::Result<()> {
        let [snmp, netstat, sockstat] = &self.0;
        counters.take(&text(snmp)?, &text(netstat)?, &text(sockstat)?);
        Ok(())
    }
}

/// The files and the socket over which a side's counters are read, from any thread: they stay those of the namespace that they
/// were opened in.
pub(super) struct Meter {
    device: &'static str,
    netlink: Netlink,
    files: KernelFiles,
    /// The packet socket that reads the device, and what it lost so far.
    reader: Option<(OwnedFd, u64)>,
}

impl Meter {
    /// Opens them in the calling thread's namespace. The device may have a packet socket for its reader.
    pub(super) fn open(device: &'static str, reader: Option<&PacketSocket>) -> io::Result<Meter> {
        let reader = reader.map(|socket| socket.as_fd().try_clone_to_owned()).transpose()?.map(|socket| (socket, 0));
        Ok(Meter { device, netlink: Netlink::open()?, files: KernelFiles::open()?, reader })
    }

    /// What was counted so far. Fails if the device is gone or down.
    pub(super) fn read(&mut self) -> io::Result<SideCounters> {
        let device = self.netlink.link(self.device)?;
        if !device.is_up {
            return Err(io::ErrorKind::NetworkDown.into());
        }
        let device = device.counts;
        let kernel = self.files.read()?;
        let reader_drops = match &mut self.reader {
            None => 0,
            Some((socket, drops)) => {
                *drops += u64::from(sys::packet_drops(socket)?);
                *drops
            }
        };
        Ok(SideCounters { device, reader_drops, host_drops: 0, kernel })
    }

    /// Adds what the kernel counted so far.
    pub(super) fn take_kernel(&self, to: &mut KernelCounters) -> io::Result<()> {
        self.files.add_to(to)
    }

    /// Packets that another device of the namespace lost.
    pub(super) fn drops_of(&mut self, device: &str) -> io::Result<u64> {
        Ok(self.netlink.link(device)?.counts.drops())
    }
}

/// The whole of a file of /proc, from its beginning.
fn text(file: &File) -> io::Result<String> {
    let mut bytes = vec![0; 16_384];
    let mut length = 0;
    loop {
        match file.read_at(&mut bytes[length..], length as u64)? {
            0 => break,
            more => length += more,
        }
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
    }
    bytes.truncate(length);
    String::from_utf8(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_names() {
        let snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: MaxConn InSegs OutSegs RetransSegs\nTcp: -1 10 20 3\n";
        let netstat = "TcpExt: RcvPruned ListenDrops OfoPruned\nTcpExt: 1 7 2\n";
        let mut counters = KernelCounters::default();
        counters.take(snmp, netstat, "sockets: used 9\nTCP: inuse 5 orphan 0 tw 4 alloc 6 mem 1\n");
        let mut expected = KernelCounters { received_segments: 10, sent_segments: 20, ..KernelCounters::default() };
        expected.retransmitted_segments = 3;
        expected.prunes = 3;
        expected.listen_drops = 7;
        expected.in_time_wait = 4;
        assert_eq!(counters, expected);
        counters.take("", netstat, "");
        assert_eq!(counters, KernelCounters { listen_drops: 14, prunes: 6, ..expected }, "a host's come on top");
    }

    #[test]
    fn this_kernel_has_them() {
        let (snmp, netstat) = (std::fs::read_to_string("/proc/net/snmp"), std::fs::read_to_string("/proc/net/netstat"));
        let text = snmp.unwrap() + &netstat.unwrap();
        for (group, name, _) in PLACES.iter().filter(|place| place.0 != "TCP") {
            let line = text.lines().find(|line| line.starts_with(&format!("{group}:"))).unwrap();
            assert!(line.split_whitespace().any(|word| word == *name), "{group} {name}");
        }
    }
}
