//! The files Flowloom writes itself, which may have been damaged or made by somebody else.

use std::fs;

use flowloom_store::run_folder::{RunFolder, RunIndex};
use flowloom_store::workload::WorkloadReader;

/// A workload file.
pub fn workload(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("w.parquet");
    fs::write(&path, data).expect("a temporary file");
    let reader = match WorkloadReader::open(&path) {
        Ok(reader) => reader,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let (stated, mut read, mut last) = (reader.facts().connections, 0, None);
    for vector in reader {
        let Ok(vector) = vector else { return };
        read += 1;
        assert!(last.replace((vector.start, vector.id)) < Some((vector.start, vector.id)), "out of order");
    }
    assert_eq!(read, stated, "a file that was read to its end has as many rows as it says");
}

/// A run folder: the first byte chooses which of its files the rest replaces, in a folder that is valid otherwise.
pub fn run_folder(data: &[u8]) {
    let Some((&choice, file)) = data.split_first() else { return };
    let names = crate::seeds::stored::RUN_FILES;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    crate::seeds::stored::write_run(path);
    fs::write(path.join(names[usize::from(choice) % names.len()]), file).expect("a temporary file");
    let _ = RunIndex::open(path);
    let Ok(run) = RunFolder::open(path) else { return };
    let _ = (run.complete(), run.queue_interval());
    let _ = run.connections().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.epochs().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.adus().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.queue().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.throughput().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.active().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.drops().map(|rows| rows.take_while(Result::is_ok).count());
}
