//! Captures in and out: pcap, pcapng, ERF and snoop, plain or compressed, one or several merged by time; and packets
//! from a network interface.

mod detect;
mod erf;
pub(crate) mod error;
mod facts;
mod folder;
mod gzip;
mod live;
mod merge;
mod opened;
mod pcap;
mod pcapng;
mod snoop;
pub(crate) mod source;
mod write;
mod write_pcapng;

use std::io::Read;
use std::path::PathBuf;

use flowloom_core::time::Time;
use flowloom_core::wire::{Decoder, LinkType, Parsed, SetAside};
use flowloom_core::workload::LinkSide;

pub(crate) use error::{COPY_AGAIN, Fault};
pub use error::{CaptureError, CaptureErrorKind};
pub use facts::{Compression, Format, InputFacts};
pub use folder::Skipped;
use live::Live;
pub use live::LiveOptions;
use merge::Merge;
pub(crate) use source::Source;
pub use write::PcapWriter;
pub use write_pcapng::{PcapngWriter, pcapng_record_bytes};

/// More captured bytes than any packet has; a record that claims more is damaged.
const MOST_PACKET_BYTES: usize = 16 << 20;

/// Where a capture comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, or a folder: all captures in it.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// The input a command line argument names: `-` is standard input.
    pub fn from_argument(argument: impl Into<PathBuf>) -> Input {
        let path = argument.into();
        if path.as_os_str() == "-" { Input::Stdin } else { Input::File(path) }
    }
}

/// How to read captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A file cut off in mid-record ends there instead of being an error.
    pub allow_truncated: bool,
    /// Whether to compute the SHA-256 of every input while reading.
    pub sha256: bool,
}

impl Default for Options {
    /// Cut-off files are errors; hashes are computed.
    fn default() -> Options {
        Options { allow_truncated: false, sha256: true }
    }
}

/// Whether a file that begins with `head`, uncompressed, is a capture that is read.
pub(crate) fn is_capture(head: &[u8]) -> bool {
    detect::look(&head[..head.len().min(detect::HEAD_BYTES)]).is_ok()
}

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Time stamp, since the Unix epoch. Never trusted to increase.
    pub time: Time,
    /// What `bytes` begins with.
    pub link: LinkType,
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// Its length on the wire as the capture states it.
    pub wire_length: u32,
    /// The side of the link it came from, where the capture format marks directions (pcapng, ERF).
    pub from: Option<LinkSide>,
    /// The position of its input among those opened.
    pub input: usize,
}

impl Packet<'_> {
    /// What it carries, or why it yields nothing. The capture format's direction mark wins over the link header's.
    ///
    /// The decoder is the same for all packets of the captures read together.
    #[inline]
    pub fn decode(&self, decoder: &mut Decoder) -> Result<Parsed, SetAside> {
        let mut parsed = decoder.decode(self.time, self.link, self.bytes, self.wire_length);
        if self.from.is_some() {
            match &mut parsed {
                Ok(Parsed::Segment(segment)) => segment.from = self.from,
                Ok(Parsed::Datagram(datagram)) => datagram.from = self.from,
                Err(_) => {}
            }
        }
        parsed
    }
}

/// A record as a format's reader found it: `source.window()[start..][..length]` is the packet.
struct Record {
    time: Option<Time>,
    link: LinkType,
    wire_length: u32,
    from: Option<LinkSide>,
    start: usize,
    length: usize,
}

/// Byte order of a file or section.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    #[inline]
    fn u16(self, bytes: [u8; 2]) -> u16 {
        if self == ByteOrder::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
    }

    #[inline]
    fn u32(self, bytes: [u8; 4]) -> u32 {
        if self == ByteOrder::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    #[inline]
    fn u64(self, bytes: [u8; 8]) -> u64 {
        if self == ByteOrder::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }
    }
}

/// Several captures read as one, in the order of their time stamps.
///
/// Call [`Captures::next_packet`] until it returns `None`; a packet borrows the reader's buffer and must be done with
/// before the next call. The order within a file is never changed: where its clock runs backwards, so do the packets'
/// times. Equal times are served in the order in which the inputs begin, and those of inputs that begin at one time in
/// the order given. After an error there are no more packets. [`Captures::inputs`] may be read at any time.
///
/// Of several files only those are open whose time has come, so that a folder may hold thousands that follow one
/// another: connections go on across their borders.
pub struct Captures {
    from: From,
}

/// Where packets come from.
enum From {
    Files(Merge),
    Interface(Box<Live>),
}

impl Captures {
    /// Opens `inputs` and reads their file headers, and of several files the first packet, by whose time they are
    /// ordered. Of a folder, what is no capture is left out and listed by [`Captures::skipped`].
    ///
    /// # Errors
    /// An input that cannot be opened or is no capture; a folder without any.
    pub fn open(inputs: &[Input], options: Options) -> Result<Captures, CaptureError> {
        Merge::open(inputs, options).map(|merge| Captures { from: From::Files(merge) })
    }

    /// Reads captures from anything: (display name, bytes).
    ///
    /// # Errors
    /// As [`Captures::open`].
    pub fn from_readers(
        readers: Vec<(String, Box<dyn Read + Send>)>,
        options: Options,
    ) -> Result<Captures, CaptureError> {
        Merge::from_readers(readers, options).map(|merge| Captures { from: From::Files(merge) })
    }

    /// Captures from the network interface `name`, from now on and until `stop` says so.
    ///
    /// [`Captures::next_packet`] waits for packets and asks `stop` at least every 50 ms, and before every few dozen
    /// packets. What the kernel had taken up by then is still handed out. [`InputFacts::drops`] is what it lost.
    ///
    /// # Errors
    /// An interface that does not exist or is down, or that this user may not capture from.
    pub fn live(
        name: &str,
        options: LiveOptions,
        stop: Box<dyn FnMut() -> bool + Send>,
    ) -> Result<Captures, CaptureError> {
        let live = Live::open(name, options, stop)?;
        Ok(Captures { from: From::Interface(Box::new(live)) })
    }

    /// The next packet by time, `None` after the last.
    ///
    /// # Errors
    /// Where a file cannot be read on; the packets before were handed out.
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        match &mut self.from {
            From::Files(merge) => merge.next_packet(),
            From::Interface(live) => live.next_packet(),
        }
    }

    /// What is known of each input: in the order given, the files of a folder by name.
    pub fn inputs(&self) -> &[InputFacts] {
        match &self.from {
            From::Files(merge) => merge.facts(),
            From::Interface(live) => live.facts(),
        }
    }

    /// What all packets of an interface begin with; `None` of files, which may have several.
    pub fn interface_link(&self) -> Option<LinkType> {
        match &self.from {
            From::Files(_) => None,
            From::Interface(live) => Some(live.link()),
        }
    }

    /// What stood in a folder and is no capture.
    pub fn skipped(&self) -> &[Skipped] {
        match &self.from {
            From::Files(merge) => merge.skipped(),
            From::Interface(_) => &[],
        }
    }
}
