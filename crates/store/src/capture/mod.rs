//! Captures in and out: pcap, pcapng, ERF and snoop, plain or compressed, one or several merged by time; and packets
//! from a network interface.

mod detect;
mod erf;
pub(crate) mod error;
pub(crate) mod facts;
mod folder;
mod gzip;
mod input;
mod live;
mod merge;
mod opened;
mod part;
mod pcap;
mod pcapng;
mod record;
mod snoop;
pub(crate) mod source;
mod write;
mod write_pcapng;

use std::io::Read;

use flowloom_core::time::Time;
use flowloom_core::wire::LinkType;

use crate::interrupt::Interrupt;
pub(crate) use error::{COPY_AGAIN, Fault};
pub use error::{CaptureError, CaptureErrorKind};
pub use facts::{Compression, Format, InputFacts};
pub use folder::Skipped;
pub(crate) use input::is_capture;
pub use input::{Input, Options, Truncation};
use live::Live;
pub use live::LiveOptions;
use merge::Merge;
pub use part::Part;
pub use record::Packet;
pub(crate) use source::Source;
pub use write::PcapWriter;
pub use write_pcapng::{PcapngWriter, pcapng_record_bytes};

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
        Captures::open_until(inputs, options, &Interrupt::never())
    }

    /// The same, but pipes and standard input are read until `interrupt` is requested.
    ///
    /// # Errors
    /// As [`Captures::open`]; any error once [`Interrupt::has_cut`].
    pub fn open_until(inputs: &[Input], options: Options, interrupt: &Interrupt) -> Result<Captures, CaptureError> {
        Merge::open(inputs, options, interrupt).map(|merge| Captures { from: From::Files(merge) })
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

    /// Begins a part of what an interface captures: [`Captures::next_packet`] returns `None` where it ends. The packet behind it begins the
    /// next part, and what [`Captures::inputs`] counts is that of the part. Files have no parts.
    pub fn begin_part(&mut self, part: Part) {
        if let From::Interface(live) = &mut self.from {
            live.begin_part(part);
        }
    }

    /// The time of the packet of an interface that begins the next part, if one waits.
    pub fn waiting(&self) -> Option<Time> {
        match &self.from {
            From::Files(_) => None,
            From::Interface(live) => live.waiting(),
        }
    }

    /// Whether the capture from an interface is over, once [`Captures::next_packet`] returned `None`; if not, only a part is.
    pub fn has_ended(&self) -> bool {
        match &self.from {
            From::Files(_) => true,
            From::Interface(live) => live.has_ended(),
        }
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
