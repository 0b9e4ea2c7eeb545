//! What a run leaves behind while it goes on.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use flowloom_core::record::{PacketRecord, Record, Recorder};
use flowloom_sim::LinkNumber;
use flowloom_store::capture::PcapWriter;
use flowloom_store::reserve::UnreservedFile;
use flowloom_store::run_folder::{RunFolderError, RunWriter};

use crate::context::Context;
use crate::error::Error;
use crate::experiment::Pair;
use crate::run::cut::Cut;
use crate::run::intervals::{Interval, Intervals};
use crate::run::senders::captured;
use crate::warning::Warning;

/// Records into the run folder and, if asked for, the packets at links into captures beside the tables.
pub struct Recording<'a> {
    /// The run folder.
    pub writer: RunWriter,
    /// The captures.
    pub captures: Vec<LinkCapture>,
    /// Gathers what the observer hears of each second; `None` if it wants nothing.
    pub intervals: Option<Intervals>,
    /// Counts connections that the end of the experiment cuts.
    pub cut: Cut,
    /// Who hears of it.
    pub context: Context<'a>,
}

/// A capture of the packets at a link.
pub struct LinkCapture {
    /// Its numbers.
    pair: Pair,
    path: PathBuf,
    writer: PcapWriter<BufWriter<UnreservedFile>>,
    /// Why nothing more is written, if that is so: the run goes on without it.
    failed: Option<std::io::Error>,
}

/// Why a record could not be kept.
#[derive(Debug)]
pub struct Unrecorded(pub Error);

impl LinkCapture {
    /// Starts the capture of a link in `folder`: `link.pcap` of the bottleneck, `link-NAME.pcap` of others.
    pub fn create(folder: &RunWriter, pair: &Pair) -> Result<LinkCapture, Error> {
        let name = match pair.is_bottleneck() {
            true => "link.pcap".to_owned(),
            false => format!("link-{}.pcap", pair.name),
        };
        let path = folder.folder().join(name);
        let cannot = |error: std::io::Error| Error::of_file(&path, &error);
        let file = UnreservedFile::new(File::create_new(&path).map_err(cannot)?, folder.reserve());
        let writer = PcapWriter::new(BufWriter::with_capacity(1 << 20, file)).map_err(cannot)?;
        Ok(LinkCapture { pair: pair.clone(), path, writer, failed: None })
    }

    fn write(&mut self, packet: &PacketRecord) {
        if self.failed.is_none() {
            self.failed = self.writer.write(&captured(packet)).err();
        }
    }

    /// Completes the file; a warning if it lacks packets.
    fn finish(self) -> Option<Warning> {
        let flushed = self.writer.finish().and_then(|mut out| out.flush()).err();
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned();
        self.failed.or(flushed).map(|why| Warning::CaptureIncomplete { name, why: why.to_string() })
    }
}

impl Recording<'_> {
    fn tell(&self, intervals: &[Interval]) {
        intervals.iter().for_each(|interval| self.context.interval(interval));
    }

    /// Writes a packet into the capture of its link, if there is one.
    fn capture(&mut self, link: u16, packet: &PacketRecord) {
        if let Some(capture) = self.captures.iter_mut().find(|capture| capture.pair.holds(LinkNumber(link))) {
            capture.write(packet);
        }
    }

    /// Completes the captures, and says which lack packets, and how many connections were cut; the folder is still open.
    pub fn finish(mut self) -> (RunWriter, Vec<Warning>, u64) {
        if let Some(intervals) = &mut self.intervals {
            let last = intervals.finish();
            self.tell(&last);
        }
        (self.writer, self.captures.into_iter().filter_map(LinkCapture::finish).collect(), self.cut.connections())
    }
}

impl Recorder for Recording<'_> {
    type Error = Unrecorded;

    fn record(&mut self, record: Record<'_>) -> Result<(), Unrecorded> {
        if let Record::Packet { link, packet } = record {
            self.capture(link, packet);
            return Ok(());
        }
        if let Record::Connection { original, ended, .. } = record {
            self.cut.connection(original, ended);
        }
        if let Some(intervals) = &mut self.intervals {
            match record {
                Record::Connection { ended, .. } => intervals.connection(ended.outcome),
                Record::Queue { sample } => intervals.queue(sample),
                Record::Dropped { packet } => intervals.dropped(packet),
                Record::Throughput { bin } => {
                    let passed = intervals.throughput(bin);
                    self.tell(&passed);
                }
                _ => {}
            }
        }
        self.writer.record(record).map_err(Unrecorded::from)
    }
}

impl From<RunFolderError> for Unrecorded {
    fn from(error: RunFolderError) -> Unrecorded {
        Unrecorded(Error::of(error))
    }
}
