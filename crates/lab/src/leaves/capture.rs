//! A leaf that captures: packets of a network interface, into a file.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowloom_live::clock::Clock;
use flowloom_store::capture::{PcapngWriter, pcapng_record_bytes};
use serde::{Deserialize, Serialize};

use super::error::WorkError;
use super::interface::Interface;
use super::order::{Order, Todo};
use super::work::Work;
use crate::report::Report;
use crate::script::leaf::Capture;

/// A capture, before, while and after it runs.
pub struct Capturing {
    asked: Capture,
    /// Where there is room for its file.
    room: PathBuf,
    most_bytes: u64,
    file: Option<File>,
    interface: Option<Interface>,
    results: CaptureResults,
}

/// What a capture found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureResults {
    /// The network interface.
    pub interface: String,
    /// Bytes that were kept of each packet at most.
    pub snap_bytes: u64,
    /// Packets in the file.
    pub packets: u64,
    /// Their bytes, as they were on the wire.
    pub bytes: u64,
    /// Packets that the kernel lost because its buffer was full.
    pub dropped: u64,
    /// Packets that came when there was no more room for them.
    pub left_out: u64,
    /// Start and end of the capture by the host's time of day, in nanoseconds since 1970.
    pub covers_unix_ns: Option<(u64, u64)>,
    /// The interface went down meanwhile.
    pub went_down: bool,
}

impl Capturing {
    /// A capture whose file is nowhere else, has no name, and is at most so long.
    pub fn new(asked: Capture, room: &Path, most_bytes: u64) -> Capturing {
        let results = CaptureResults {
            interface: asked.interface.clone(),
            snap_bytes: asked.snap_bytes,
            ..CaptureResults::default()
        };
        Capturing { asked, room: room.to_owned(), most_bytes, file: None, interface: None, results }
    }

    fn capture(&mut self, clock: &Clock, order: &Arc<Order>, file: &File) -> Result<(), WorkError> {
        let results = &mut self.results;
        let snap = self.asked.snap_bytes;
        let mut interface = self.interface.take().ok_or(WorkError::NotOpen)?;
        interface.begin(clock, self.asked.duration, order);
        let begun = PcapngWriter::new(BufWriter::new(file), interface.link(), &self.asked.interface, snap as u32);
        let mut out = begun.map_err(WorkError::Write)?;
        let mut left = self.most_bytes.saturating_sub(out.bytes());
        let read = interface.each(|packet| {
            let bytes = pcapng_record_bytes(packet.bytes.len());
            if bytes > left {
                results.left_out += 1;
                return Ok(());
            }
            left -= bytes;
            results.packets += 1;
            results.bytes += u64::from(packet.wire_length);
            out.write(packet).map_err(WorkError::Write)
        });
        results.dropped = interface.dropped();
        results.went_down = interface.went_down();
        results.covers_unix_ns = Some(interface.covered());
        // What came before an error is kept.
        out.finish(results.packets + results.left_out + results.dropped, results.dropped).map_err(WorkError::Write)?;
        read
    }
}

impl Work for Capturing {
    fn prepare(&mut self) -> Result<String, WorkError> {
        Interface::open(&self.asked.interface, self.asked.snap_bytes)?;
        let made = tempfile::tempfile_in(&self.room);
        self.file = Some(made.map_err(|cause| WorkError::NoRoom { what: "capture", cause })?);
        Ok(String::new())
    }

    fn open(&mut self) -> Result<String, WorkError> {
        self.interface = Some(Interface::open(&self.asked.interface, self.asked.snap_bytes)?);
        Ok(String::new())
    }

    fn run(&mut self, clock: &Clock, order: &Arc<Order>) -> Result<String, WorkError> {
        let Some(file) = self.file.take() else { return Err(WorkError::NotOpen) };
        let captured = self.capture(clock, order, &file);
        self.file = Some(file);
        captured?;
        let CaptureResults { dropped, left_out, went_down, .. } = self.results;
        let mut said = Vec::new();
        if dropped > 0 {
            said.push(format!("the kernel lost {dropped} packets before they were read"));
        }
        if left_out > 0 {
            said.push(format!("{left_out} packets found no room: captures have half of this agent's run.results"));
        }
        if went_down {
            said.push("the interface went down".to_owned());
        }
        let is_cut = order.todo() != Todo::GoOn;
        said.extend(is_cut.then(|| "it was stopped before its end".to_owned()));
        Ok(said.join("; "))
    }

    fn report(&mut self) -> io::Result<Report> {
        let report = Report::new("capture", &self.results);
        Ok(match &self.file {
            Some(file) => report.with_file("pcapng", file.try_clone()?),
            None => report,
        })
    }
}
