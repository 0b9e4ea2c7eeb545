//! No bit of a stored file can change unnoticed.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flowloom_core::record::{
    ConnectionRecord, DropReason, DropRecord, EpochRecord, Outcome, PacketKind, QueueSample, Record, Recorder,
};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_store::manifest::{MANIFEST_FILE, Manifest};
use flowloom_store::run_folder::{RunFolder, RunFolderError, RunIndex, RunOptions, RunWriter};
use flowloom_store::workload::{CaptureFacts, Provenance, TrafficFacts, WorkloadReader, WorkloadWriter};
use flowloom_store::{FileError, Part, verify};
use flowloom_testkit::earlier;
use serde_json::json;

use crate::support;

/// Random bits that are flipped, one at a time, in each of the tests.
const FLIPS: usize = 1_000;

/// Flips [`FLIPS`] random bits in `files`, each of them equally often, and has `read` refuse every one with the file named.
fn every_flip_is_refused(seed: u64, files: &[PathBuf], read: impl Fn() -> Result<(), String>) {
    assert_eq!(read(), Ok(()));
    let mut random = Stream::new(seed, Purpose::Loss, 0);
    for (flip, path) in files.iter().cycle().take(FLIPS).enumerate() {
        let bit = random.below(8 * fs::metadata(path).unwrap().len());
        flip_bit(path, bit);
        let name = path.file_name().unwrap().to_str().unwrap();
        let refused = read().err().unwrap_or_else(|| panic!("flip {flip}: bit {bit} of {name} passes"));
        assert!(refused.contains(name), "flip {flip}: bit {bit} of {name}: {refused}");
        flip_bit(path, bit);
    }
    assert_eq!(read(), Ok(()));
}

/// Flips a bit in its place: a file that is written anew is flushed to the disk.
fn flip_bit(path: &Path, bit: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, bit / 8).unwrap();
    file.write_all_at(&[byte[0] ^ 1 << (bit % 8)], bit / 8).unwrap();
}

/// A workload of three row groups.
fn write_workload(path: &Path) {
    let mut writer = WorkloadWriter::create(path).unwrap();
    for vector in support::plain(20_000, Duration::from_micros(700)) {
        writer.write_owned(vector).unwrap();
    }
    writer.finish(Provenance::default(), CaptureFacts::default(), &TrafficFacts::default()).unwrap();
}

fn read_workload(path: &Path) -> Result<usize, FileError> {
    let reader = WorkloadReader::open(path)?;
    assert!(reader.is_protected());
    reader.collect::<Result<Vec<_>, _>>().map(|vectors| vectors.len())
}

#[test]
fn no_flipped_bit_of_a_workload_passes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    let mut writer = WorkloadWriter::create(&path).unwrap();
    support::plain(300, Duration::from_millis(1)).for_each(|vector| writer.write_owned(vector).unwrap());
    writer.finish(Provenance::default(), CaptureFacts::default(), &TrafficFacts::default()).unwrap();
    every_flip_is_refused(1, std::slice::from_ref(&path), || {
        read_workload(&path).map(drop).map_err(|error| error.to_string())
    });
}

/// A run of one connection.
fn write_run(target: &Path) {
    let options = RunOptions { queue_interval: Duration::from_millis(10), ..RunOptions::default() };
    let mut writer = RunWriter::create(target, options).unwrap();
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    for vector in support::plain(40, Duration::from_millis(9)) {
        let ended = ConnectionRecord {
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
        let sample = QueueSample { time: at(vector.id), link: 0, from: LinkSide::Left, packets: 3, bytes: 4_542 };
        let dropped = DropRecord {
            time: at(vector.id),
            from: LinkSide::Left,
            connection: vector.id,
            kind: PacketKind::Data,
            bytes: 1_514,
            reason: DropReason::QueueFull,
            link: Some(0),
        };
        let (original, monitor) = (&vector, Some(&vector));
        writer.record(Record::Connection { original, ended: &ended, epochs: &[epoch], monitor }).unwrap();
        writer.record(Record::Queue { sample: &sample }).unwrap();
        writer.record(Record::Dropped { packet: &dropped }).unwrap();
    }
    writer.finish(&json!({ "seed": 1, "numbers": [1, 2, 3] }), &json!({ "wall_ns": 7 })).unwrap();
}

/// Reads everything that a command could read of a run folder.
fn read_run(folder: &Path) -> Result<u64, String> {
    fn count<R>(rows: Result<impl Iterator<Item = Result<R, FileError>>, FileError>) -> Result<u64, String> {
        rows.and_then(|mut rows| rows.try_fold(0, |count, row| row.map(|_| count + 1)))
            .map_err(|error| error.to_string())
    }
    let run = RunFolder::open(folder).map_err(|error| error.to_string())?;
    run.queue_interval().map_err(|error| error.to_string())?;
    let counts = [
        count(run.connections())?,
        count(run.epochs())?,
        count(run.adus())?,
        count(run.queue())?,
        count(run.throughput())?,
        count(run.active())?,
        count(run.drops())?,
        count(run.flows())?,
        count(run.sources())?,
        count(run.tcp_trace())?,
        count(run.lateness())?,
        if run.has_sojourn().map_err(|error| error.to_string())? { count(run.sojourn())? } else { 0 },
    ];
    Ok(counts.iter().sum())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

#[test]
fn no_flipped_bit_of_a_run_passes() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    write_run(&run);
    let files = files(&run);
    assert_eq!(files.len(), 15, "run.json, host.json, manifest.json and twelve tables");
    every_flip_is_refused(2, &files, || read_run(&run).map(drop));
}

#[test]
fn no_flipped_bit_of_an_index_passes() {
    let folder = tempfile::tempdir().unwrap();
    RunIndex::of_seeds([1, 2, 3]).write(folder.path()).unwrap();
    let open = || RunIndex::open(folder.path()).map(drop).map_err(|error| error.to_string());
    every_flip_is_refused(3, &files(folder.path()), open);
}

#[test]
fn no_bit_of_a_small_table_passes() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    write_run(&run);
    let path = run.join("queue.parquet");
    for bit in 0..8 * fs::metadata(&path).unwrap().len() {
        flip_bit(&path, bit);
        let refused = verify(&path, &|| true).map(drop).expect_err(&format!("bit {bit} passes")).to_string();
        assert!(refused.contains("queue.parquet"), "bit {bit}: {refused}");
        flip_bit(&path, bit);
    }
}

#[test]
fn damage_names_column_and_row_group() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    write_workload(&path);
    assert_eq!(read_workload(&path).unwrap(), 20_000);
    let mut bytes = fs::read(&path).unwrap();
    // The chunks of a row group come in the order of its columns, the lists of data units last.
    let middle = bytes.len() / 2;
    for (at, group) in [(4, 0), (middle, 1)] {
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let error = read_workload(&path).unwrap_err();
        let FileError::Changed { part: Part::Column { name, row_group }, .. } = &error else { panic!("{error}") };
        assert_eq!(*row_group, group, "{error}");
        let words = format!("w.parquet, column {name}, row group {group}: its bytes are not those that were written");
        assert!(error.to_string().contains(&words) && error.to_string().starts_with("damaged: "), "{error}");
        if at == 4 {
            assert_eq!(name, "id");
        }
        bytes[at] ^= 1;
    }
}

/// Digests do not follow from rows alone: the same rows must give the same bytes.
#[test]
fn equal_workloads_have_equal_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| {
        write_workload(&folder.path().join(name));
        fs::read(folder.path().join(name)).unwrap()
    });
    assert!(one == two);
}

/// Both digests of a table follow from the file with `sha256sum` and a reader of Parquet, as docs/reference/schemas.md says.
#[test]
fn digests_are_as_documented() {
    use base64::Engine;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use sha2::{Digest, Sha256};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    write_workload(&path);
    let bytes = fs::read(&path).unwrap();
    let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let metadata = reader.metadata();
    let value = |key: &str| {
        let pairs = metadata.file_metadata().key_value_metadata().unwrap();
        pairs.iter().find(|pair| pair.key == key).unwrap().value.clone().unwrap()
    };
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns()).flat_map(|chunk| {
        let (start, length) = chunk.byte_range();
        Sha256::digest(&bytes[start as usize..][..length as usize]).to_vec()
    });
    let chunks: Vec<u8> = chunks.collect();
    assert_eq!(metadata.num_row_groups(), 3);
    assert_eq!(base64::engine::general_purpose::STANDARD_NO_PAD.encode(chunks), value("flowloom.chunks_sha256"));
    let footer = value("flowloom.footer_sha256");
    let size = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let text = String::from_utf8_lossy(&bytes[bytes.len() - 8 - size..]).into_owned();
    assert_eq!(text.matches(&footer).count(), 1);
    let mut zeros = bytes[bytes.len() - 8 - size..].to_vec();
    let at = zeros.windows(64).position(|window| window == footer.as_bytes()).unwrap();
    zeros[at..at + 64].fill(b'0');
    assert_eq!(Sha256::digest(&zeros).iter().map(|byte| format!("{byte:02x}")).collect::<String>(), footer);
}

#[test]
fn files_of_version_1_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    fs::write(&path, earlier::WORKLOAD).unwrap();
    let reader = WorkloadReader::open(&path).unwrap();
    assert!(!reader.is_protected());
    assert_eq!(reader.map(Result::unwrap).count(), earlier::CONNECTIONS);
    let found = verify(&path, &|| true).unwrap();
    assert_eq!((&*found.format, found.rows, found.is_protected), ("workload", earlier::CONNECTIONS as u64, false));

    let run = folder.path().join("run");
    earlier::copy_run(&run);
    assert!(read_run(&run).unwrap() > earlier::CONNECTIONS as u64);
    assert_eq!(RunFolder::open(&run).unwrap().connections().unwrap().count(), earlier::CONNECTIONS);
    fs::write(folder.path().join("index.json"), r#"{"format": "run-index", "version": 1, "runs": []}"#).unwrap();
    assert_eq!(RunIndex::open(folder.path()).unwrap().runs, []);
}

/// A file of version 1 is not protected; one of version 2 that lost its digests is damaged.
#[test]
fn a_file_does_not_lose_its_protection() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    write_workload(&path);
    let whole = fs::read(&path).unwrap();
    for key in ["flowloom.footer_sha256", "flowloom.chunks_sha256"] {
        let mut bytes = whole.clone();
        let at = bytes.windows(key.len()).rposition(|window| window == key.as_bytes()).unwrap();
        bytes[at..at + key.len()].make_ascii_uppercase();
        fs::write(&path, bytes).unwrap();
        let error = WorkloadReader::open(&path).err().expect("it has no digests any more");
        assert!(matches!(error, FileError::Changed { part: Part::Metadata, .. }), "{error}");
    }
}

#[test]
fn a_complete_run_needs_its_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    write_run(&run);
    let listed: Vec<String> = Manifest::open(&run).unwrap().unwrap().files().keys().cloned().collect();
    let there: Vec<String> =
        files(&run).iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(listed, there.into_iter().filter(|name| name != MANIFEST_FILE).collect::<Vec<_>>());
    assert_eq!(Manifest::of(&run).unwrap(), Manifest::open(&run).unwrap().unwrap());
    fs::remove_file(run.join(MANIFEST_FILE)).unwrap();
    let error = RunFolder::open(&run).unwrap_err();
    assert!(matches!(error, RunFolderError::File(FileError::Metadata { .. })), "{error}");
    assert!(error.to_string().contains("manifest.json: it is missing"), "{error}");
}

/// A run that was killed has no manifest yet, one that stopped has.
#[test]
fn a_cut_run_is_read_without_a_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(&folder.path().join("run"), RunOptions::default()).unwrap();
    let sample = QueueSample { time: Time::ZERO, link: 0, from: LinkSide::Left, packets: 3, bytes: 4_542 };
    writer.record(Record::Queue { sample: &sample }).unwrap();
    let left = writer.close(&json!({}), &json!({})).unwrap();
    assert!(Manifest::open(&left).unwrap().is_none());
    assert!(!RunFolder::open(&left).unwrap().complete());
    drop(writer);
    assert!(Manifest::open(&left).unwrap().is_some());
    assert!(!RunFolder::open(&left).unwrap().complete());
}
