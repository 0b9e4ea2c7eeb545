//! What can go wrong with a capture, said so that a person can act on it.

use std::fmt;
use std::io;

use thiserror::Error;

/// EMFILE: this process has as many files open as it may.
const TOO_MANY_OPEN: i32 = 24;

/// Why a capture could not be read (on): which file, where in it, what, and what to do.
///
/// Displays as one line, `campus.pcapng: packet 1,204,551 at byte 918,273,001: block length 12 is shorter than its
/// header (28)`; [`CaptureError::hint`] is the line for what to do now.
#[derive(Debug, Error)]
#[error("{file}{}: {kind}", Place(.packet, .offset))]
pub struct CaptureError {
    /// The file as named by the user; `standard input` for `-`.
    pub file: String,
    /// Number of the packet that could not be read, the first being 1; `None` if the trouble is with the whole file.
    pub packet: Option<u64>,
    /// Where in the (uncompressed) capture, in bytes.
    pub offset: Option<u64>,
    /// What went wrong.
    #[source]
    pub kind: CaptureErrorKind,
}

/// What went wrong with a capture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureErrorKind {
    /// The file could not be opened.
    #[error("cannot open: {0}")]
    Open(#[source] io::Error),
    /// The system failed while reading it.
    #[error("cannot read: {0}")]
    Read(#[source] io::Error),
    /// Standard input was named more than once.
    #[error("given twice, and it can be read only once")]
    StdinTwice,
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// There is no network interface of this name; these are there.
    #[error("there is no such network interface; there are {}", .0.join(", "))]
    NoInterface(Vec<String>),
    /// The network interface is down.
    #[error("the network interface is down")]
    InterfaceDown,
    /// A network interface whose packets begin with something unknown: its ARP hardware type.
    #[error("network interfaces of hardware type {0} are not read")]
    InterfaceKind(u16),
    /// The user may not capture.
    #[error("capturing from a network interface is not permitted")]
    NotPermitted,
    /// The system cannot capture.
    #[error("cannot capture: {0}")]
    Interface(#[source] io::Error),
    /// A folder without a capture, of this many files.
    #[error("no capture is in this folder{}", Others(*.0))]
    NoCaptures(usize),
    /// The file is something else; the text says what it looks like.
    #[error("not a capture: {0}")]
    NotACapture(String),
    /// A capture or compression format that is known but not read.
    #[error("{0} is not read")]
    NotRead(&'static str),
    /// The file is packed such that unpacking it takes more memory than is given.
    #[error("{format} data that take more than {mib} MiB of memory to decompress are not read")]
    Memory {
        /// How it is compressed.
        format: &'static str,
        /// What may be taken, in MiB.
        mib: u32,
    },
    /// The file ends in mid-record, or its compressed stream does.
    #[error("the capture is cut off: {text}")]
    Truncated {
        /// The bytes that are there and those that are needed, in words.
        text: String,
        /// Whether a packet could be as long as the record says: then it is the last one of a capture that was cut there. A
        /// length beyond that is damage, and other records may lie behind it.
        plausible: bool,
    },
    /// The file contradicts its format.
    #[error("{0}")]
    Corrupt(String),
    /// The compressed stream around the capture is damaged.
    #[error("the {0} data are damaged: {1}")]
    Compression(&'static str, #[source] io::Error),
}

/// What to do about compressed data that are damaged or cut off.
pub(crate) const COPY_AGAIN: &str = "copy the file again, or test it with gzip -t, zstd -t or xz -t";

impl CaptureError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        self.kind.hint()
    }
}

impl CaptureErrorKind {
    /// A file that ends inside a record, which is as long as a record may be.
    pub(crate) fn cut(text: String) -> CaptureErrorKind {
        CaptureErrorKind::Truncated { text, plausible: true }
    }

    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        use CaptureErrorKind as Kind;
        match self {
            Kind::Open(error) if error.kind() == io::ErrorKind::NotFound => Some("check the spelling of the path"),
            Kind::Open(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Some("captures made by root are often readable by root only: change the file's owner or mode")
            }
            Kind::Open(error) if error.raw_os_error() == Some(TOO_MANY_OPEN) => {
                Some("the captures overlap in time and are open together: allow more open files with `ulimit -n`")
            }
            Kind::Open(_) | Kind::Read(_) | Kind::Interface(_) => None,
            Kind::NoInterface(_) => Some("`ip link` lists them"),
            Kind::InterfaceDown => Some("`ip link set NAME up` starts it"),
            Kind::InterfaceKind(_) => Some("capture with tcpdump and give the file"),
            Kind::NotPermitted => {
                Some("run as root, or allow this program once: sudo setcap cap_net_raw+ep \"$(command -v flowloom)\"")
            }
            Kind::NoCaptures(_) => Some("give the folder that holds the pcap, pcapng, ERF or snoop files themselves"),
            Kind::StdinTwice => Some("give the other captures as files"),
            Kind::Empty => Some("the capturing program may not have written its packets out: stop it before copying"),
            Kind::NotACapture(_) => Some("give a pcap, pcapng, ERF or snoop file, plain or compressed"),
            Kind::NotRead(_) => Some("convert it to pcapng with editcap, or decompress it first"),
            Kind::Truncated { .. } => {
                Some("the capture may have been cut off; --allow-truncated, without --strict, uses what is readable")
            }
            Kind::Corrupt(_) => {
                Some("the file is damaged from here on; editcap -r FILE OUT 1-N keeps the packets before")
            }
            Kind::Compression(..) => Some(COPY_AGAIN),
            Kind::Memory { format: "zstd", .. } => Some("decompress it first: zstd -d --long=31 FILE"),
            Kind::Memory { .. } => Some("decompress it first: xz -dk FILE"),
        }
    }
}

/// What else a folder holds.
struct Others(usize);

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            1 => f.write_str(" (1 other file is)"),
            count => write!(f, " ({} other files are)", Grouped(count as u64)),
        }
    }
}

/// Packet number and byte offset, as far as known.
struct Place<'a>(&'a Option<u64>, &'a Option<u64>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(packet), Some(offset)) => write!(f, ": packet {} at byte {}", Grouped(*packet), Grouped(*offset)),
            (Some(packet), None) => write!(f, ": packet {}", Grouped(*packet)),
            (None, Some(offset)) => write!(f, ": byte {}", Grouped(*offset)),
            (None, None) => Ok(()),
        }
    }
}

/// A number with its thousands grouped.
pub(crate) struct Grouped(pub u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// What a reader of one format found wrong, before file and packet number are known.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Where in the uncompressed capture the record that failed begins.
    pub offset: u64,
    /// What.
    pub kind: CaptureErrorKind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_file_packet_and_byte() {
        let error = CaptureError {
            file: "campus.pcapng".into(),
            packet: Some(1_204_551),
            offset: Some(918_273_001),
            kind: CaptureErrorKind::Corrupt("block length 12 is shorter than its header (28)".into()),
        };
        assert_eq!(
            error.to_string(),
            "campus.pcapng: packet 1,204,551 at byte 918,273,001: block length 12 is shorter than its header (28)"
        );
        assert!(error.hint().is_some());
    }

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(Grouped(number).to_string(), text);
        }
    }
}
