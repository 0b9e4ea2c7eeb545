//! Workload files and run folders as Flowloom writes them.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use flowloom::core::extract::Extractor;
use flowloom::core::record::{
    ConnectionRecord, DropReason, DropRecord, EpochRecord, Outcome, PacketKind, QueueSample, Record, Recorder,
};
use flowloom::core::wire::{Decoder, Parsed};
use flowloom::core::workload::{Adu, Close, ConnectionVector, Endpoint, Host, LinkSide, PerSide, Protocol, Side, Span};
use flowloom::models::swing::{Grouping, Survey};
use flowloom::store::capture::{Captures, Options};
use flowloom::store::run_folder::{RunIndex, RunOptions, RunWriter};
use flowloom::store::workload::{CaptureFacts, Provenance, TrafficFacts, WorkloadWriter};
use flowloom::time::{Duration, Time};
use serde_json::json;

use super::captures;

/// The vectors of the first made capture.
pub(super) fn vectors() -> Vec<ConnectionVector> {
    let file = std::io::Cursor::new(captures::valid()[0].clone());
    let readers: Vec<(String, Box<dyn std::io::Read + Send>)> = vec![("made".to_owned(), Box::new(file))];
    let mut captures = Captures::from_readers(readers, Options::default()).expect("a valid capture");
    let (mut decoder, mut extractor) = (Decoder::default(), Extractor::new(Default::default()));
    while let Some(packet) = captures.next_packet().expect("a valid capture") {
        if let Ok(Parsed::Segment(segment)) = packet.decode(&mut decoder) {
            extractor.handle_segment(packet.time, &segment);
        }
    }
    extractor.finish();
    std::iter::from_fn(|| extractor.poll_vector()).collect()
}

/// Swing models: of a client who comes back, of three who do not by application, and of flows of datagrams.
pub fn swing_models() -> Vec<Vec<u8>> {
    let model = |vectors: &[ConnectionVector], per_class| {
        let mut survey = Survey::new(Grouping { per_class, ..Grouping::default() });
        vectors.iter().for_each(|vector| survey.add(vector));
        serde_json::to_vec(&survey.finish(Duration::from_secs(900))).expect("a model can be written")
    };
    let vector = |second, client| {
        let adu = |side, packets: Option<u32>, wait| Adu {
            side,
            bytes: 4_000,
            missing_bytes: 0,
            wait,
            waiter: side,
            seen: packets.map(|_| Span::default()),
            packets,
        };
        let udp = client == 9;
        let packets = udp.then_some(4);
        let end = |host| Endpoint { host: Some(Host::Number(host)), port: Some(443), ..Endpoint::default() };
        ConnectionVector {
            start: Time::ZERO + Duration::from_secs(second),
            protocol: if udp { Protocol::Udp } else { Protocol::Tcp },
            ends: PerSide { initiator: end(client), acceptor: end(100) },
            close: Close::Fin(Side::Acceptor),
            adus: vec![
                adu(Side::Initiator, packets, Some(Duration::from_millis(70))),
                adu(Side::Acceptor, packets, None),
            ],
            ..ConnectionVector::default()
        }
    };
    let of = |clients: [u32; 7]| {
        [0, 2, 25, 60, 100, 500, 505]
            .into_iter()
            .zip(clients)
            .map(|(second, client)| vector(second, client))
            .collect::<Vec<_>>()
    };
    vec![model(&of([1; 7]), false), model(&of([1, 2, 1, 3, 2, 2, 1]), true), model(&of([9; 7]), false)]
}

/// Metadata of a Parquet file that keep a reader busy who believes them: an unknown field that is a map of 2^31 - 1
/// booleans, and the version as a string that holds a list of as many.
const CLAIMS: [&[u8]; 2] = [
    b"PAR1\x9b\xff\xff\xff\xff\x07\x11\x00\x08\x00\x00\x00PAR1",
    b"PAR1\x18\x08\x99\xf2\xff\xff\xff\xff\x07\x00\x00\x0b\x00\x00\x00PAR1",
];

/// A workload of version 1, which carries no digests: behind them, no mutation would get to the pages.
const UNPROTECTED: &[u8] = include_bytes!("../../../../testdata/v1/workload.parquet");

/// Inputs of the workload target: three connections, none, a file without digests, the same with such a list in the header of the
/// first page, and such metadata.
pub fn workloads() -> Vec<Vec<u8>> {
    let file = |vectors: &[ConnectionVector]| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("w.parquet");
        let mut writer = WorkloadWriter::create(&path).expect("a temporary file");
        for vector in vectors {
            writer.write(vector).expect("a temporary file");
        }
        let (provenance, traffic) = (Provenance::default(), TrafficFacts::default());
        writer.finish(provenance, CaptureFacts::default(), &traffic).expect("a temporary file");
        fs::read(path).expect("a file just written")
    };
    let mut page = UNPROTECTED.to_vec();
    page[4..12].copy_from_slice(b"\x99\xf2\xff\xff\xff\xff\x07\x00");
    let [map, version] = CLAIMS.map(<[u8]>::to_vec);
    vec![file(&vectors()), file(&[]), UNPROTECTED.to_vec(), page, map, version]
}

/// The files of a run folder.
pub const RUN_FILES: [&str; 16] = [
    "run.json",
    "host.json",
    "index.json",
    "connections.parquet",
    "epochs.parquet",
    "adus.parquet",
    "queue.parquet",
    "throughput.parquet",
    "active.parquet",
    "drops.parquet",
    "flows.parquet",
    "sources.parquet",
    "tcp_trace.parquet",
    "lateness.parquet",
    "sojourn.parquet",
    "manifest.json",
];

/// Files by name.
type Files = Vec<(String, Vec<u8>)>;

/// The files of two runs of one connection and of indexes beside them, made once: as they are written today, and of version 1,
/// where nothing stands between a mutation and the reader.
fn runs() -> &'static [Files; 2] {
    static RUNS: OnceLock<[Files; 2]> = OnceLock::new();
    RUNS.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("run");
        write_today(&path);
        RunIndex::of_seeds([1]).write(&path).expect("a run folder");
        let stored = |path: &Path| -> Files {
            let read = |name: &&str| Some(((*name).to_owned(), fs::read(path.join(name)).ok()?));
            RUN_FILES.iter().filter_map(read).collect()
        };
        let mut unprotected = stored(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/v1/run")));
        let index = br#"{"format": "run-index", "version": 1, "runs": [{"seed": 1, "folder": "seed-1"}]}"#;
        unprotected.push(("index.json".to_owned(), index.to_vec()));
        [stored(&path), unprotected]
    })
}

/// Records a run of one connection.
fn write_today(path: &Path) {
    let options = RunOptions { queue_interval: Duration::from_millis(10), ..RunOptions::default() };
    let mut writer = RunWriter::create(path, options).expect("a run folder");
    let (vector, at) = (vectors().remove(0), |ms| Time::ZERO + Duration::from_millis(ms));
    let record = ConnectionRecord {
        class: 0,
        id: vector.id,
        start: vector.start,
        outcome: Outcome::Completed,
        established: Some(at(41)),
        first_data: Some(at(42)),
        last_data: Some(at(142)),
        closed: Some(at(150)),
        rtt: Duration::from_millis(41),
        retransmissions: 2,
        timeouts: 1,
        delivered_bytes: [300, 10_000],
        carried_bytes: None,
    };
    let epoch = EpochRecord { connection: vector.id, epoch: 0, intended: None, start: at(45), end: Some(at(160)) };
    let sample = QueueSample { time: at(10), link: 0, from: LinkSide::Left, packets: 3, bytes: 4_542 };
    let dropped = DropRecord {
        time: at(11),
        from: LinkSide::Left,
        connection: vector.id,
        kind: PacketKind::Data,
        bytes: 1_514,
        reason: DropReason::QueueFull,
        link: Some(0),
    };
    let records = [
        Record::Connection { original: &vector, ended: &record, epochs: &[epoch], monitor: Some(&vector) },
        Record::Queue { sample: &sample },
        Record::Dropped { packet: &dropped },
    ];
    records.into_iter().for_each(|record| writer.record(record).expect("a run folder"));
    writer.finish(&json!({}), &json!({})).expect("a run folder");
}

/// Writes a valid run to `folder`: that of today, or of version 1.
pub fn write_run(folder: &Path, version: usize) {
    for (name, bytes) in &runs()[version] {
        fs::write(folder.join(name), bytes).expect("a temporary file");
    }
}

/// The file called `name` of a valid run, if it has one.
pub fn run_file(name: &str, version: usize) -> Option<&'static [u8]> {
    runs()[version].iter().find(|(known, _)| known == name).map(|(_, bytes)| &bytes[..])
}

/// Inputs of the run folder target: every file in its place.
pub fn run_folders() -> Vec<Vec<u8>> {
    let place = |name: &str| RUN_FILES.iter().position(|known| *known == name).expect("a file of run folders");
    let of_version = |version: usize| {
        let first = version * RUN_FILES.len();
        runs()[version].iter().map(move |(name, bytes)| [&[(first + place(name)) as u8], &bytes[..]].concat())
    };
    (0..runs().len()).flat_map(of_version).collect()
}
