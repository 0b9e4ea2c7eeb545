//! Workload files: what goes in comes out, equal input gives equal bytes, and nothing half-written is left.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support;
use flowloom_core::record::{Series, Traffic};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, LinkSide};
use flowloom_store::workload::{
    CaptureFacts, DirectionSeries, InputFile, Provenance, TrafficFacts, WorkloadError, WorkloadFacts, WorkloadReader,
    WorkloadWriter,
};
use flowloom_testkit::earlier;
use proptest::prelude::*;

fn provenance() -> Provenance {
    Provenance {
        tool: "flowloom 0.1.0".to_owned(),
        inputs: vec![InputFile { name: Some("campus.pcap".to_owned()), sha256: "00ff".repeat(16), bytes: 4_711 }],
        options: BTreeMap::from([("inside".to_owned(), serde_json::json!(["10.0.0.0/8"]))]),
    }
}

fn capture() -> CaptureFacts {
    CaptureFacts {
        packets: 12,
        bytes: 3_400,
        duration_ns: 1_500_000_000,
        set_aside: BTreeMap::from([("not-tcp".to_owned(), 3)]),
        peak_10ms_bytes: 12_345,
        unknown_side_connections: 2,
        warnings: vec!["sides unknown".to_owned()],
        ..CaptureFacts::default()
    }
}

fn series(bins: impl IntoIterator<Item = u64>) -> Series {
    let mut series = Series::new(Duration::from_millis(1));
    for bin in bins {
        let traffic = Traffic { packets: 1, bytes: 1_514, payload_bytes: bin % 1_460 };
        series.add(Time::ZERO + Duration::from_millis(bin), traffic);
    }
    series
}

fn write(path: &Path, vectors: &[ConnectionVector]) -> Result<WorkloadFacts, WorkloadError> {
    let mut writer = WorkloadWriter::create(path)?;
    for vector in vectors {
        writer.write(vector)?;
    }
    let replayed = DirectionSeries { from_left: series([0, 7, 9_000_000_000_000]), from_right: series([3]) };
    let traffic = TrafficFacts { replayed, ..TrafficFacts::default() };
    writer.finish(provenance(), capture(), &traffic)
}

/// Up to `most` vectors as a workload has them: sorted by start, ids unique.
fn workload(most: usize) -> impl Strategy<Value = Vec<ConnectionVector>> {
    prop::collection::vec(support::vector(), 0..most).prop_map(|mut vectors| {
        vectors.sort_by_key(|vector| vector.start);
        (0..).zip(&mut vectors).for_each(|(id, vector)| vector.id = id);
        vectors
    })
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_in_comes_out_and_equal_input_gives_equal_bytes(vectors in workload(40)) {
        let folder = tempfile::tempdir().unwrap();
        let (path, again) = (folder.path().join("w.parquet"), folder.path().join("again.parquet"));
        let facts = write(&path, &vectors).unwrap();
        write(&again, &vectors).unwrap();
        prop_assert_eq!(fs::read(&path).unwrap(), fs::read(&again).unwrap());
        let reader = WorkloadReader::open(&path).unwrap();
        prop_assert_eq!(reader.facts(), &facts);
        let read: Vec<ConnectionVector> = reader.collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read, vectors);
    }
}

#[test]
fn facts_are_kept_and_the_rest_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    let mut vectors: Vec<ConnectionVector> = support::plain(3, Duration::from_millis(20)).collect();
    vectors[0].ends.initiator.min_transit = None;
    vectors[0].ends.acceptor.min_transit = None;
    write(&path, &vectors).unwrap();
    let reader = WorkloadReader::open(&path).unwrap();
    let facts = reader.facts();
    assert_eq!(facts.provenance, provenance());
    assert_eq!(facts.capture, capture());
    assert_eq!((facts.connections, facts.connections_without_rtt), (3, 1));
    assert_eq!(facts.rtt_median_ns, Some(43_000_000), "of 43 and 45 ms the inverse-CDF median is the first");
    assert_eq!(facts.traffic.replayed.from(LinkSide::Left), &series([0, 7, 9_000_000_000_000]));
    assert_eq!(facts.traffic.set_aside, DirectionSeries::default());
}

#[test]
fn row_groups_are_bounded_and_stay_in_order() {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    let vectors: Vec<ConnectionVector> = support::plain(70_000, Duration::from_micros(100)).collect();
    write(&path, &vectors).unwrap();
    // 8,192 connections a group, three units of the weight of 65,536 each: the rows bind first.
    let file = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let sizes: Vec<i64> = file.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(sizes, [8_192, 8_192, 8_192, 8_192, 8_192, 8_192, 8_192, 8_192, 4_464]);
    let mut expected = vectors.iter();
    for vector in WorkloadReader::open(&path).unwrap() {
        assert_eq!(Some(&vector.unwrap()), expected.next());
    }
    assert_eq!(expected.next(), None);
}

#[test]
fn connections_with_many_adus_make_shorter_row_groups() {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    let mut vectors: Vec<ConnectionVector> = support::plain(8, Duration::from_millis(1)).collect();
    for vector in &mut vectors {
        let adu = vector.adus[0];
        vector.adus = vec![adu; 25_000];
    }
    write(&path, &vectors).unwrap();
    let file = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let sizes: Vec<i64> = file.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(sizes, [3, 3, 2], "a group is closed once it holds 65,536 connections and ADUs");
    assert!(WorkloadReader::open(&path).unwrap().map(Result::unwrap).eq(vectors));
}

#[test]
fn long_series_are_stored_in_wider_bins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    let long = series(0..200_000);
    let total = long.total();
    let traffic = TrafficFacts {
        replayed: DirectionSeries { from_left: long, from_right: series([1]) },
        ..TrafficFacts::default()
    };
    WorkloadWriter::create(&path).unwrap().finish(provenance(), capture(), &traffic).unwrap();
    let reader = WorkloadReader::open(&path).unwrap();
    let stored = &reader.facts().traffic;
    let left = stored.replayed.from(LinkSide::Left);
    // 1 and 2 ms leave 200,000 and 100,000 bins, 5 ms leave 40,000.
    assert_eq!((left.width(), left.bins().count(), left.total()), (Duration::from_millis(5), 40_000, total));
    assert_eq!(stored.set_aside.from(LinkSide::Right).width(), Duration::from_millis(5), "all series share a width");
}

#[test]
fn input_names_can_be_left_out() {
    let mut anonymous = provenance();
    anonymous.anonymize();
    assert_eq!(anonymous.inputs[0].name, None);
    assert_eq!(anonymous.inputs[0].sha256, provenance().inputs[0].sha256);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    WorkloadWriter::create(&path).unwrap().finish(anonymous, capture(), &TrafficFacts::default()).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(!bytes.windows(11).any(|window| window == b"campus.pcap"));
}

#[test]
fn a_dropped_writer_leaves_nothing_and_what_was_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    fs::write(&path, "older").unwrap();
    let mut writer = WorkloadWriter::create(&path).unwrap();
    support::plain(10, Duration::ZERO).for_each(|vector| writer.write(&vector).unwrap());
    assert_eq!(names(folder.path()).len(), 2, "the file grows under another name");
    drop(writer);
    assert_eq!(names(folder.path()), ["w.parquet"]);
    assert_eq!(fs::read(&path).unwrap(), b"older");
    write(&path, &[]).unwrap();
    assert_eq!(names(folder.path()), ["w.parquet"]);
    assert_eq!(WorkloadReader::open(&path).unwrap().count(), 0);
}

#[test]
fn unsorted_vectors_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    let mut vectors: Vec<ConnectionVector> = support::plain(3, Duration::from_millis(1)).collect();
    vectors.swap(1, 2);
    let error = write(&path, &vectors).unwrap_err();
    assert!(matches!(&error, WorkloadError::Unsorted { row: 2, .. }), "{error}");
    let same = vec![vectors[0].clone(), vectors[0].clone()];
    assert!(matches!(write(&path, &same).unwrap_err(), WorkloadError::Unsorted { row: 1, .. }));
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn an_unwritable_output_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such/w.parquet");
    let error = WorkloadWriter::create(&missing).err().unwrap().to_string();
    assert!(error.contains("no/such/w.parquet") && error.contains("No such file"), "{error}");
    let error = WorkloadWriter::create(folder.path()).err().unwrap().to_string();
    assert!(error.contains("directory"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = WorkloadReader::open(&folder.path().join("missing.parquet")).err().unwrap().to_string();
    assert!(error.contains("missing.parquet") && error.contains("No such file"), "{error}");
    assert!(matches!(WorkloadReader::open(folder.path()).err().unwrap(), WorkloadError::Read { .. }));
}

#[test]
fn what_is_no_workload_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    for content in [&b""[..], b"PA", b"start,bytes\n0,1\n", b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00"] {
        fs::write(&path, content).unwrap();
        let error = WorkloadReader::open(&path).err().unwrap();
        assert!(matches!(error, WorkloadError::NotParquet { .. }), "{content:?}: {error}");
    }
}

#[test]
fn a_cut_file_is_refused_wherever_it_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    write(&path, &support::plain(50, Duration::from_millis(1)).collect::<Vec<_>>()).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    for length in (4..file.metadata().unwrap().len()).rev() {
        file.set_len(length).unwrap();
        let error = WorkloadReader::open(&path).err().unwrap();
        assert!(matches!(error, WorkloadError::Cut { .. }), "cut to {length} bytes: {error}");
    }
}

/// Found by fuzzing: sixty bytes that took the Parquet crate seconds, in lists of booleans that it does not know.
#[test]
fn counts_that_no_file_can_hold_are_refused_in_the_metadata() {
    let file = b"PAR1\x15\x02\xf1\xfa\xfa\xfa\xfa\x06\x05\x05\x04\xfa\xfa\xec\xfa\x06\
        \xfa\xfa\xfa\xfa\xfa\xfa\xfa\xfa\xfa\x40\x02\xf1\xfa\xfa\xfa\xfa\x06\x05\x05\x04\xfa\xfa\xec\xfa\x06\
        \xfa\xfa\xfb\xfb\x88\x88\x4c\x1c\x00\x00\x00PAR1";
    assert_eq!(file.len(), 60);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    fs::write(&path, file).unwrap();
    let error = WorkloadReader::open(&path).err().unwrap();
    assert!(matches!(error, WorkloadError::Metadata { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("w.parquet: its metadata cannot be right at byte 25: a count of 136232314"), "{text}");
    assert!(text.contains("with 22 bytes left") && text.contains("take another copy"), "{text}");
}

/// The same in the header of the first page: it stands behind the magic. A digest does not help here, because whoever makes
/// such a file can make its digest.
#[test]
fn counts_that_no_file_can_hold_are_refused_in_the_header_of_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    let mut bytes = earlier::WORKLOAD.to_vec();
    for (header, refusal) in [
        (&b"\x99\xf2\xff\xff\xff\xff\x07\x00"[..], "at byte 5: a count of 2147483647"),
        (b"\x99\x32\x01\x01\x01\x00", "at byte 6: a list of booleans"),
        (b"\x18\x06\x99\xf2\xff\xff\xff\xff\x07\x00", "at byte 5: a field or an element of type 8"),
    ] {
        bytes[4..][..header.len()].copy_from_slice(header);
        fs::write(&path, &bytes).unwrap();
        let mut reader = WorkloadReader::open(&path).unwrap();
        let error = reader.next().unwrap().unwrap_err();
        assert!(matches!(error, WorkloadError::Damaged { row: 0, .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("w.parquet, row 0: a page header cannot be right {refusal}")), "{text}");
        assert!(reader.next().is_none(), "nothing follows an error");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is wrong with the bytes of a file that carries no digests, the reader ends with rows or an error, never a panic,
    /// and never with more rows than were written.
    #[test]
    fn damaged_bytes_never_end_the_program(flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.parquet");
        let mut bytes = earlier::WORKLOAD.to_vec();
        for (index, flip) in flips {
            bytes[index.index(earlier::WORKLOAD.len())] ^= flip;
        }
        fs::write(&path, bytes).unwrap();
        if let Ok(reader) = WorkloadReader::open(&path) {
            let (rows, errors): (Vec<_>, Vec<_>) = reader.partition(Result::is_ok);
            prop_assert!(rows.len() <= earlier::CONNECTIONS && errors.len() <= 1);
        }
    }
}

/// Needs a real full disk: a file system of 512 KiB, in a mount namespace of this test's own.
#[test]
fn a_full_disk_leaves_nothing() {
    const VARIABLE: &str = "FLOWLOOM_TEST_SMALL_DISK";
    if let Some(disk) = std::env::var_os(VARIABLE) {
        let folder = Path::new(&disk);
        let path = folder.join("w.parquet");
        let mut random = 1u64;
        let vectors: Vec<ConnectionVector> = support::plain(100_000, Duration::from_micros(100))
            .map(|mut vector| {
                // Numbers that do not compress, or the file would fit.
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                vector.adus[0].bytes = random >> 8;
                vector
            })
            .collect();
        let error = write(&path, &vectors).unwrap_err().to_string();
        assert!(error.contains("w.parquet") && error.contains("No space left on device"), "{error}");
        assert_eq!(names(folder), [""; 0]);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=512k tmpfs \"$1\" || exit 77; shift; exec \"$@\"";
    let status = std::process::Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "workload_files::a_full_disk_leaves_nothing", "--quiet"])
        .env(VARIABLE, folder.path())
        .status();
    match status.map(|status| status.code()) {
        Ok(Some(0)) => {}
        Ok(Some(101)) => panic!("writing to a full disk went wrong, see above"),
        other => {
            eprintln!("no file system of its own for this test: {other:?}");
            flowloom_needs::skip("store: full disk", flowloom_needs::Need::MOUNT);
        }
    }
}
