//! What reading a capture taught about the file itself.

use std::fmt;

use flowloom_core::time::Time;

use crate::silence::JUMP;

/// The container of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pcap.
    Pcap,
    /// pcapng.
    Pcapng,
    /// ERF, of Endace cards.
    Erf,
    /// snoop, of Solaris.
    Snoop,
    /// No file: packets as they pass a network interface.
    Interface,
}

/// How the file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, one member or several.
    Gzip,
    /// Zstandard, one frame or several.
    Zstd,
    /// xz, one stream or several.
    Xz,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Pcap => "pcap",
            Format::Pcapng => "pcapng",
            Format::Erf => "erf",
            Format::Snoop => "snoop",
            Format::Interface => "interface",
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
        })
    }
}

/// One input, as far as it has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFacts {
    /// The path as given, or `standard input`.
    pub name: String,
    /// What it is.
    pub format: Format,
    /// How it is compressed.
    pub compression: Compression,
    /// Bytes read so far of the file as stored (compressed, if it is).
    pub bytes_read: u64,
    /// Bytes of the file as stored; `None` where unknown (pipes).
    pub total_bytes: Option<u64>,
    /// Packets handed out.
    pub packets: u64,
    /// Packets without a time of their own (pcapng's Simple Packet Block); they take that of the packet before.
    pub packets_without_time: u64,
    /// The earliest time stamp.
    pub earliest: Option<Time>,
    /// The latest time stamp.
    pub latest: Option<Time>,
    /// Packets whose time stamp lies before that of the packet before them in the file.
    pub backwards: u64,
    /// Packets whose time stamp is more than a day from that of the packet before them, either way.
    pub jumps: u64,
    /// Packets that the capturing system says it lost; `None` where the capture does not say (pcap never does).
    pub drops: Option<u64>,
    /// The network interface went down before the end.
    pub went_down: bool,
    /// Records that hold no packet of a link: ERF's metadata, counters and ATM cells.
    pub records_skipped: u64,
    /// The file ends inside a record and was read up to there ([`super::Options::truncation`]).
    pub truncated: bool,
    /// SHA-256 of the file as stored, in hexadecimal; known once the last packet was read, if asked for.
    pub sha256: Option<String>,
    /// Time of the packet before.
    pub(super) previous: Option<Time>,
}

impl InputFacts {
    pub(super) fn new(name: String, format: Format, compression: Compression, total_bytes: Option<u64>) -> InputFacts {
        InputFacts {
            name,
            format,
            compression,
            bytes_read: 0,
            total_bytes,
            packets: 0,
            packets_without_time: 0,
            earliest: None,
            latest: None,
            backwards: 0,
            jumps: 0,
            drops: None,
            went_down: false,
            records_skipped: 0,
            truncated: false,
            sha256: None,
            previous: None,
        }
    }

    /// The capture says that `count` more packets were lost.
    #[inline]
    pub(super) fn add_drops(&mut self, count: u64) {
        self.drops = Some(self.drops.unwrap_or(0).saturating_add(count));
    }

    /// The capture says that `count` packets were lost since it began.
    #[inline]
    pub(super) fn set_drops(&mut self, count: u64) {
        self.drops = Some(self.drops.unwrap_or(0).max(count));
    }

    /// Takes note of a packet stamped `time`.
    #[inline]
    pub(super) fn note(&mut self, time: Time) {
        self.packets += 1;
        match (self.previous, self.earliest, self.latest) {
            (Some(previous), Some(earliest), Some(latest)) => {
                self.backwards += u64::from(time < previous);
                self.jumps += u64::from(time.since(previous) > JUMP || previous.since(time) > JUMP);
                self.earliest = Some(earliest.min(time));
                self.latest = Some(latest.max(time));
            }
            _ => (self.earliest, self.latest) = (Some(time), Some(time)),
        }
        self.previous = Some(time);
    }
}
