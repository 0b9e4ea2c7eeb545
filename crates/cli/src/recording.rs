//! What a run leaves behind while it goes on.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use flowloom_core::record::{
    ConnectionRecord, DropRecord, EpochRecord, PacketRecord, QueueSample, Recorder, SourceRecord, ThroughputBin,
    WindowRecord,
};
use flowloom_core::workload::ConnectionVector;
use flowloom_store::capture::PcapWriter;
use flowloom_store::run_folder::{RunFolderError, RunWriter};

use crate::failure::Failure;

/// Records into the run folder and, if asked for, the packets at the monitor into a capture beside the tables.
pub struct Recording {
    /// The run folder.
    pub writer: RunWriter,
    /// The capture.
    pub pcap: Option<LinkCapture>,
}

/// A capture of the packets at the monitor.
pub struct LinkCapture {
    path: PathBuf,
    writer: PcapWriter<BufWriter<File>>,
}

/// Why a record could not be kept.
#[derive(Debug)]
pub struct Unrecorded(pub Failure);

impl LinkCapture {
    /// Starts `link.pcap` in `folder`.
    pub fn create(folder: &RunWriter) -> Result<LinkCapture, Failure> {
        let path = folder.folder().join("link.pcap");
        let cannot = |error: std::io::Error| Failure::new(format_args!("{}: {error}", path.display()));
        let file = File::create_new(&path).map_err(cannot)?;
        let writer = PcapWriter::new(BufWriter::with_capacity(1 << 20, file)).map_err(cannot)?;
        Ok(LinkCapture { path: path.clone(), writer })
    }

    fn failure(&self, error: std::io::Error) -> Unrecorded {
        Unrecorded(Failure::new(format_args!("{}: {error}", self.path.display())))
    }
}

impl Recording {
    /// Completes the capture; the folder is still open.
    pub fn finish(self) -> Result<RunWriter, Failure> {
        if let Some(pcap) = self.pcap {
            let cannot = |error: std::io::Error| Failure::new(format_args!("{}: {error}", pcap.path.display()));
            pcap.writer.finish().and_then(|mut out| out.flush()).map_err(cannot)?;
        }
        Ok(self.writer)
    }
}

impl Recorder for Recording {
    type Error = Unrecorded;

    fn connection(
        &mut self,
        original: &ConnectionVector,
        record: &ConnectionRecord,
        epochs: &[EpochRecord],
        monitor: Option<&ConnectionVector>,
    ) -> Result<(), Unrecorded> {
        self.writer.connection(original, record, epochs, monitor).map_err(Unrecorded::from)
    }

    fn queue(&mut self, sample: QueueSample) -> Result<(), Unrecorded> {
        self.writer.queue(sample).map_err(Unrecorded::from)
    }

    fn throughput(&mut self, bin: ThroughputBin) -> Result<(), Unrecorded> {
        self.writer.throughput(bin).map_err(Unrecorded::from)
    }

    fn dropped(&mut self, record: DropRecord) -> Result<(), Unrecorded> {
        self.writer.dropped(record).map_err(Unrecorded::from)
    }

    fn source(&mut self, record: &SourceRecord) -> Result<(), Unrecorded> {
        self.writer.source(record).map_err(Unrecorded::from)
    }

    fn window(&mut self, record: &WindowRecord) -> Result<(), Unrecorded> {
        self.writer.window(record).map_err(Unrecorded::from)
    }

    fn packet(&mut self, packet: &PacketRecord) -> Result<(), Unrecorded> {
        match &mut self.pcap {
            Some(pcap) => {
                let written = pcap.writer.write(packet);
                written.map_err(|error| pcap.failure(error))
            }
            None => Ok(()),
        }
    }

    fn wants_packets(&self) -> bool {
        self.pcap.is_some()
    }
}

impl From<RunFolderError> for Unrecorded {
    fn from(error: RunFolderError) -> Unrecorded {
        Unrecorded(Failure::new(error))
    }
}
