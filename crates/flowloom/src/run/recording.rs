//! What a run leaves behind while it goes on.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use flowloom_core::path::Flow;
use flowloom_core::record::{
    ConnectionRecord, DropRecord, EpochRecord, PacketRecord, QueueSample, Recorder, SourceRecord, ThroughputBin,
    WindowRecord,
};
use flowloom_core::workload::ConnectionVector;
use flowloom_sim::LinkNumber;
use flowloom_store::capture::PcapWriter;
use flowloom_store::reserve::ReservedFile;
use flowloom_store::run_folder::{RunFolderError, RunWriter};

use crate::context::Context;
use crate::error::Error;
use crate::experiment::Pair;
use crate::run::intervals::{Interval, Intervals};

/// Records into the run folder and, if asked for, the packets at links into captures beside the tables.
pub struct Recording<'a> {
    /// The run folder.
    pub writer: RunWriter,
    /// The captures.
    pub captures: Vec<LinkCapture>,
    /// Gathers what the observer hears of each second; `None` if it wants nothing.
    pub intervals: Option<Intervals>,
    /// Who hears of it.
    pub context: Context<'a>,
}

/// A capture of the packets at a link.
pub struct LinkCapture {
    /// Its numbers.
    pair: Pair,
    path: PathBuf,
    writer: PcapWriter<BufWriter<ReservedFile>>,
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
        let cannot = |error: std::io::Error| Error::new(format_args!("{}: {error}", path.display()));
        let file = ReservedFile::new(File::create_new(&path).map_err(cannot)?, folder.reserve());
        let writer = PcapWriter::new(BufWriter::with_capacity(1 << 20, file)).map_err(cannot)?;
        Ok(LinkCapture { pair: pair.clone(), path, writer })
    }

    fn failure(&self, error: std::io::Error) -> Unrecorded {
        Unrecorded(Error::new(format_args!("{}: {error}", self.path.display())))
    }
}

impl Recording<'_> {
    fn tell(&self, intervals: Option<Vec<Interval>>) {
        intervals.iter().flatten().for_each(|interval| self.context.interval(interval));
    }

    /// Completes the captures; the folder is still open.
    pub fn finish(mut self) -> Result<RunWriter, Error> {
        let last = self.intervals.as_mut().map(Intervals::finish);
        self.tell(last);
        for capture in self.captures {
            let cannot = |error: std::io::Error| Error::new(format_args!("{}: {error}", capture.path.display()));
            capture.writer.finish().and_then(|mut out| out.flush()).map_err(cannot)?;
        }
        Ok(self.writer)
    }
}

impl Recorder for Recording<'_> {
    type Error = Unrecorded;

    fn connection(
        &mut self,
        original: &ConnectionVector,
        record: &ConnectionRecord,
        epochs: &[EpochRecord],
        monitor: Option<&ConnectionVector>,
    ) -> Result<(), Unrecorded> {
        if let Some(intervals) = &mut self.intervals {
            intervals.connection(record.outcome);
        }
        self.writer.connection(original, record, epochs, monitor).map_err(Unrecorded::from)
    }

    fn queue(&mut self, sample: QueueSample) -> Result<(), Unrecorded> {
        if let Some(intervals) = &mut self.intervals {
            intervals.queue(&sample);
        }
        self.writer.queue(sample).map_err(Unrecorded::from)
    }

    fn throughput(&mut self, bin: ThroughputBin) -> Result<(), Unrecorded> {
        let passed = self.intervals.as_mut().map(|intervals| intervals.throughput(&bin));
        self.tell(passed);
        self.writer.throughput(bin).map_err(Unrecorded::from)
    }

    fn dropped(&mut self, record: DropRecord) -> Result<(), Unrecorded> {
        if let Some(intervals) = &mut self.intervals {
            intervals.dropped(&record);
        }
        self.writer.dropped(record).map_err(Unrecorded::from)
    }

    fn flow(&mut self, connection: u64, flow: &Flow) -> Result<(), Unrecorded> {
        self.writer.flow(connection, flow).map_err(Unrecorded::from)
    }

    fn source(&mut self, record: &SourceRecord) -> Result<(), Unrecorded> {
        self.writer.source(record).map_err(Unrecorded::from)
    }

    fn window(&mut self, record: &WindowRecord) -> Result<(), Unrecorded> {
        self.writer.window(record).map_err(Unrecorded::from)
    }

    fn packet(&mut self, link: u16, packet: &PacketRecord) -> Result<(), Unrecorded> {
        match self.captures.iter_mut().find(|capture| capture.pair.holds(LinkNumber(link))) {
            Some(capture) => {
                let written = capture.writer.write(packet);
                written.map_err(|error| capture.failure(error))
            }
            None => Ok(()),
        }
    }

    fn wants_packets(&self) -> bool {
        !self.captures.is_empty()
    }
}

impl From<RunFolderError> for Unrecorded {
    fn from(error: RunFolderError) -> Unrecorded {
        Unrecorded(Error::new(error))
    }
}
