//! Files that [`WorkloadWriter`] would not write, and disks that would not take them.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::ConnectionVector;
use tempfile::TempDir;

use super::keys::{FACTS_KEY, TRAFFIC_KEY};
use super::{CaptureFacts, Provenance, TrafficFacts, VERSION, WorkloadError, WorkloadReader, WorkloadWriter};
use crate::staged::StagedFile;
use crate::table::{Column, Row, TableWriter, column};

fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.parquet");
    (folder, path)
}

fn vector(id: u64, start: u64) -> ConnectionVector {
    ConnectionVector { id, start: Time::ZERO + Duration::from_millis(start), ..ConnectionVector::blank() }
}

/// The metadata of an empty workload, as a good file has it.
fn good_metadata(connections: u64) -> Vec<(&'static str, String)> {
    let (_folder, path) = file();
    WorkloadWriter::create(&path)
        .unwrap()
        .finish(Provenance::default(), CaptureFacts::default(), &TrafficFacts::default())
        .unwrap();
    let table = crate::table::TableReader::<ConnectionVector>::open(&path, VERSION).unwrap();
    let facts =
        table.metadata(FACTS_KEY).unwrap().replace("\"connections\":0", &format!("\"connections\":{connections}"));
    vec![(FACTS_KEY, facts), (TRAFFIC_KEY, table.metadata(TRAFFIC_KEY).unwrap().to_owned())]
}

fn write_table<R: Row>(path: &Path, version: u64, rows: Vec<R>, metadata: &[(&str, String)]) {
    let mut table = TableWriter::new(File::create(path).unwrap(), version).unwrap();
    rows.into_iter().for_each(|row| table.write(row).unwrap());
    table.finish(metadata).unwrap();
}

fn open_error(path: &Path) -> WorkloadError {
    WorkloadReader::open(path).err().expect("this file must not open")
}

#[test]
fn a_newer_version_is_refused_with_both_versions_and_a_remedy() {
    let (_folder, path) = file();
    write_table(&path, VERSION + 1, Vec::<ConnectionVector>::new(), &good_metadata(0));
    let error = open_error(&path);
    assert!(matches!(error, WorkloadError::Newer { found: 3, known: 2, .. }));
    let text = error.to_string();
    assert!(text.contains("w.parquet is a workload of a newer format: version 3"), "{text}");
    assert!(text.contains("reads version 2") && text.contains("update flowloom"), "{text}");
}

#[test]
fn unsorted_rows_are_named() {
    let (_folder, path) = file();
    for rows in [vec![vector(0, 5), vector(1, 7), vector(2, 6)], vec![vector(0, 5), vector(2, 7), vector(1, 7)]] {
        write_table(&path, VERSION, rows, &good_metadata(3));
        let mut reader = WorkloadReader::open(&path).unwrap();
        assert!(reader.by_ref().take(2).all(|row| row.is_ok()));
        let error = reader.next().unwrap().unwrap_err();
        assert!(matches!(error, WorkloadError::Unsorted { row: 2, .. }), "{error}");
        assert!(reader.next().is_none(), "nothing follows an error");
    }
}

#[test]
fn metadata_must_be_there_and_agree_with_the_rows() {
    let (_folder, path) = file();
    let good = good_metadata(1);
    write_table(&path, VERSION, vec![vector(0, 0)], &good);
    assert!(WorkloadReader::open(&path).is_ok());
    write_table(&path, VERSION, Vec::<ConnectionVector>::new(), &good);
    assert!(open_error(&path).to_string().contains("speaks of 1 connections and it has 0"));
    for missing in 0..2 {
        let mut metadata = good.clone();
        let (key, _) = metadata.remove(missing);
        write_table(&path, VERSION, vec![vector(0, 0)], &metadata);
        assert!(open_error(&path).to_string().contains(key));
        for bad in ["", "{", "!!", "AAAA"] {
            let mut metadata = good.clone();
            metadata[missing].1 = bad.to_owned();
            write_table(&path, VERSION, vec![vector(0, 0)], &metadata);
            assert!(matches!(open_error(&path), WorkloadError::Metadata { .. }), "{key}: {bad}");
        }
    }
}

/// A table that calls itself a workload and has other columns.
struct Impostor;

impl Row for Impostor {
    const TABLE: &'static str = "workload";
    fn blank() -> Impostor {
        Impostor
    }
    fn columns() -> Vec<Column<Impostor>> {
        vec![column("id", |_: &Impostor| 0u64, |_, _| {})]
    }
}

#[test]
fn other_columns_are_refused() {
    let (_folder, path) = file();
    write_table(&path, VERSION, vec![Impostor], &good_metadata(1));
    assert!(open_error(&path).to_string().contains("columns are not those of version 2"));
}

#[test]
fn a_parquet_file_of_somebody_elses_is_refused() {
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    let (_folder, path) = file();
    let schema = Arc::new(parse_message_type("message other { required int64 id; }").unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    SerializedFileWriter::new(File::create(&path).unwrap(), schema, properties).unwrap().close().unwrap();
    let error = open_error(&path);
    assert!(matches!(error, WorkloadError::Foreign { .. }), "{error}");
}

#[test]
fn a_full_disk_leaves_nothing_and_is_named() {
    let (folder, path) = file();
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let writer = || {
        let (staged, _) = StagedFile::create(&path, false).unwrap();
        WorkloadWriter::over(staged, full()).unwrap()
    };
    let check = |error: WorkloadError| {
        let text = error.to_string();
        assert!(text.contains("w.parquet") && text.contains("No space left on device"), "{text}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    };

    // While it grows: a row group is more than a buffer holds.
    let mut growing = writer();
    let error = (0..40_000).find_map(|id| growing.write(&vector(id, id)).err());
    drop(growing);
    check(error.expect("the first row group cannot be written"));

    // At its end.
    let end = writer().finish(Provenance::default(), CaptureFacts::default(), &TrafficFacts::default());
    check(end.unwrap_err());
}
