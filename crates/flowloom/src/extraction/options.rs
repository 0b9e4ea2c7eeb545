//! How captures and flow records are read and cut into connections.

use flowloom_core::extract::{Missing, Position};
use flowloom_core::time::Duration;
use flowloom_store::capture::Truncation;
use flowloom_store::formats::Format;

use crate::error::Error;
use crate::input::kinds::Kind;
use crate::parallel;

/// How captures and flow records are read and cut into connections.
#[derive(Clone, Debug, PartialEq)]
pub struct CaptureOptions {
    /// Prefixes of the addresses on the left (inside) of the link: `10.0.0.0/8`, `2001:db8::/32` or single addresses.
    pub inside: Vec<String>,
    /// Captures that end early and are read up to there.
    pub truncation: Truncation,
    /// Keep only TCP connections whose SYN and whose FIN or RST were seen.
    pub complete_only: bool,
    /// Choice of missing bytes that are replayed; `None`: the acknowledged ones.
    pub missing: Option<Missing>,
    /// A connection ends after this long without a packet. Flow records have a default of their own, 60 s, which replaces
    /// [`IDLE_TIMEOUT`].
    pub idle_timeout: Duration,
    /// A flow of UDP or QUIC datagrams ends after this long without one.
    pub udp_idle_timeout: Duration,
    /// Leave out UDP and QUIC.
    pub tcp_only: bool,
    /// Where the monitor stood on the paths of the connections.
    pub monitor: Monitor,
    /// Connections with the same addresses and ports in different VLANs are different ones.
    pub vlan_key: bool,
    /// Bytes of memory for connections; above it, connections end that were silent for longest. Results depend on it.
    pub max_memory: u64,
    /// Threads that read; results do not depend on it. `None`: as many as there are cores, at most 4.
    pub threads: Option<u16>,
    /// Accept flow records made from a sample of the packets.
    pub allow_sampled: bool,
    /// The longest time after which the exporter of flow records reports a flow that goes on.
    pub active_timeout: Duration,
    /// Keep TCP connections of which captures or flow records have one direction only.
    pub one_way: bool,
    /// Leave the names of input files out of everything that is written.
    pub anonymize: bool,
}

/// The default of [`CaptureOptions::idle_timeout`].
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// The default of [`CaptureOptions::active_timeout`].
pub const ACTIVE_TIMEOUT: Duration = Duration::from_secs(1_800);

/// The default of [`CaptureOptions::udp_idle_timeout`].
pub const UDP_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The default of [`CaptureOptions::max_memory`]: the same everywhere, because results depend on it.
pub const MAX_MEMORY: u64 = 4_000_000_000;

impl Default for CaptureOptions {
    fn default() -> CaptureOptions {
        CaptureOptions {
            inside: Vec::new(),
            truncation: Truncation::default(),
            complete_only: false,
            missing: None,
            idle_timeout: IDLE_TIMEOUT,
            udp_idle_timeout: UDP_IDLE_TIMEOUT,
            tcp_only: false,
            monitor: Monitor::Mid,
            vlan_key: false,
            max_memory: MAX_MEMORY,
            threads: None,
            allow_sampled: false,
            active_timeout: ACTIVE_TIMEOUT,
            one_way: false,
            anonymize: false,
        }
    }
}

impl CaptureOptions {
    /// How many threads to use. More than four would wait for the one that reads.
    pub(crate) fn thread_count(&self) -> usize {
        self.threads.map_or_else(|| parallel::threads(None).min(4), usize::from)
    }

    /// Refuses timeouts that would cut connections and flows at every pause of their packets.
    ///
    /// # Errors
    /// A timeout below its bound.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let of_packets =
            "a pause as short as that is no end of a connection: the first timer of TCP waits for 1 s (RFC 6298)";
        let of_exporter = "exporters write a record of a connection that goes on once in that time";
        let of_datagrams = "every datagram would be a flow by itself";
        let second = Duration::from_secs(1);
        for (option, value, least, why) in [
            ("--idle-timeout", self.idle_timeout, second, of_packets),
            ("--active-timeout", self.active_timeout, second, of_exporter),
            ("--udp-idle-timeout", self.udp_idle_timeout, Duration::from_micros(1), of_datagrams),
        ] {
            if value < least {
                return Err(Error::usage(format_args!(
                    "{option} {}: at least {} is needed",
                    value.written(),
                    least.written()
                ))
                .note(why)
                .hint("leave it out, or write it like 60s"));
            }
        }
        Ok(())
    }

    /// An option that was given and changes nothing about how inputs of `kind` are read, as the command line spells it, and
    /// what it is about.
    pub fn given_in_vain(&self, kind: Kind) -> Option<(&'static str, &'static str)> {
        let (captures, flows) = (kind == Kind::Capture, kind == Kind::Flows);
        let logs = kind == Kind::Vectors(Format::Zeek);
        // What a run folder says of its inputs was said when it was made.
        let inputs = kind != Kind::RunFolder;
        let options = [
            ("--inside", "captures, flow records and logs", captures || flows || logs, !self.inside.is_empty()),
            ("--allow-truncated", "captures and flow records", captures || flows, self.truncation == Truncation::Allow),
            ("--strict", "captures and flow records", captures || flows, self.truncation == Truncation::Refuse),
            ("--missing", "captures", captures, self.missing.is_some()),
            ("--idle-timeout", "captures and flow records", captures || flows, self.idle_timeout != IDLE_TIMEOUT),
            ("--complete-only", "captures", captures, self.complete_only),
            ("--udp-idle-timeout", "captures", captures, self.udp_idle_timeout != UDP_IDLE_TIMEOUT),
            ("--tcp-only", "captures", captures, self.tcp_only),
            ("--monitor", "captures", captures, self.monitor != Monitor::Mid),
            ("--vlan-key", "captures", captures, self.vlan_key),
            ("--max-memory", "captures", captures, self.max_memory != MAX_MEMORY),
            ("--threads", "captures", captures, self.threads.is_some()),
            ("--allow-sampled", "flow records", flows, self.allow_sampled),
            ("--active-timeout", "flow records", flows, self.active_timeout != ACTIVE_TIMEOUT),
            ("--anonymize", "captures, workloads and experiments", inputs, self.anonymize),
        ];
        let vain = options.into_iter().find(|(_, _, useful, given)| *given && !useful);
        vain.map(|(option, about, ..)| (option, about))
    }
}

/// Where the monitor stood on the paths of the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Monitor {
    /// Between the ends.
    #[default]
    Mid,
    /// At the hosts on the left (inside) of the link.
    Left,
    /// At the hosts on the right of the link.
    Right,
    /// At the initiators.
    Initiator,
    /// At the acceptors.
    Acceptor,
}

impl Monitor {
    /// All of them.
    pub const ALL: [Monitor; 5] = [Monitor::Mid, Monitor::Left, Monitor::Right, Monitor::Initiator, Monitor::Acceptor];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Monitor::Mid => "mid",
            Monitor::Left => "left",
            Monitor::Right => "right",
            Monitor::Initiator => "initiator",
            Monitor::Acceptor => "acceptor",
        }
    }

    /// What the machines of extraction call it.
    pub(crate) const fn position(self) -> Position {
        match self {
            Monitor::Mid => Position::Mid,
            Monitor::Left => Position::Left,
            Monitor::Right => Position::Right,
            Monitor::Initiator => Position::Initiator,
            Monitor::Acceptor => Position::Acceptor,
        }
    }
}

/// Packets from a network interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveCapture {
    /// How long to capture; `None`: until the work is stopped.
    pub duration: Option<Duration>,
    /// How many packets to capture, at most.
    pub packets: Option<u64>,
    /// Capture only packets from and to this host, broadcast and multicast.
    pub no_promiscuous: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_default_counts_as_given() {
        for kind in [Kind::Workload, Kind::Capture, Kind::Flows] {
            assert_eq!(CaptureOptions::default().given_in_vain(kind), None);
        }
    }
}
