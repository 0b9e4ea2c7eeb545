//! `capture { interface = eth1; duration = 20; }`: the packets of a network interface, into a file.

use flowloom_core::time::Duration;

use super::arguments::Arguments;

/// What a `capture` is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Of this network interface.
    pub interface: String,
    /// How long.
    pub duration: Duration,
    /// Bytes that are kept of each packet.
    pub snap_bytes: u64,
}

impl Capture {
    /// Headers of Ethernet, a VLAN, IPv6 and TCP with all its options are 118 bytes.
    pub const HEADERS_BYTES: u64 = 128;

    pub(super) const KEYWORD: &str = "capture";

    pub(super) fn read(given: &mut Arguments<'_>) -> Option<Capture> {
        let interface = given.needed_name("interface", "the network interface to capture from");
        let duration = given.duration();
        let snap_bytes = match given.optional("snap") {
            // Those of an Ethernet header at least, and of the longest packet of IP at most.
            Some(snap) => given.whole(snap, 14..=262_144),
            None => Some(Capture::HEADERS_BYTES),
        };
        Some(Capture { interface: interface?, duration: duration?, snap_bytes: snap_bytes? })
    }

    pub(super) fn words(&self) -> String {
        format!("captures at {}, {} bytes of each packet", self.interface, self.snap_bytes)
    }
}
