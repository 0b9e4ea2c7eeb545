//! The files Flowloom writes itself, which may have been damaged or made by somebody else; and key files.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use flowloom::store::addresses::CryptoPan;
use flowloom::store::interrupt::Interrupt;
use flowloom::store::run_folder::{RunFolder, RunIndex};
use flowloom::store::workload::WorkloadReader;
use tempfile::TempDir;

use crate::seeds::stored as seeds;

thread_local! {
    /// One folder per thread, made once: making one takes longer than reading most files.
    static FOLDER: TempDir = folder();
    /// The same with the files of a valid run each: of today, and of version 1.
    static RUNS: [TempDir; 2] = [0, 1].map(|version| {
        let folder = folder();
        seeds::write_run(folder.path(), version);
        folder
    });
}

/// A folder in memory, where there is such a place: on a disk, writing files takes longer than reading them.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}

/// Hands over the path of a file of these bytes.
fn with_file(name: &str, data: &[u8], read: impl FnOnce(&Path)) {
    let path = FOLDER.with(|folder| folder.path().join(name));
    fs::write(&path, data).expect("a temporary file");
    read(&path);
}

/// A workload file.
pub fn workload(data: &[u8]) {
    with_file("w.parquet", data, read_workload);
}

fn read_workload(path: &Path) {
    let reader = match WorkloadReader::open(path) {
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

/// A run folder: the first byte chooses which file of which version the rest replaces, in a folder that is valid otherwise.
pub fn run_folder(data: &[u8]) {
    let Some((&choice, file)) = data.split_first() else { return };
    let files = seeds::RUN_FILES.len();
    let (version, name) = (usize::from(choice) / files % 2, seeds::RUN_FILES[usize::from(choice) % files]);
    RUNS.with(|folders| {
        let folder = &folders[version];
        fs::write(folder.path().join(name), file).expect("a temporary file");
        read_run(folder.path());
        match seeds::run_file(name, version) {
            Some(valid) => fs::write(folder.path().join(name), valid),
            None => fs::remove_file(folder.path().join(name)),
        }
        .expect("a temporary file");
    });
}

fn read_run(path: &Path) {
    let _ = RunIndex::open(path);
    let Ok(run) = RunFolder::open(path) else { return };
    let _ = (run.complete(), run.queue_interval());
    let _ = run.connections().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.epochs().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.adus().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.queue().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.throughput().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.active().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.flows().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.sources().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.tcp_trace().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.lateness().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.sojourn().map(|rows| rows.take_while(Result::is_ok).count());
    let _ = run.drops().map(|rows| rows.take_while(Result::is_ok).count());
}

/// The key file of Crypto-PAn: a key that is taken preserves prefixes.
pub fn key(data: &[u8]) {
    with_file("key", data, read_key);
}

fn read_key(path: &Path) {
    let mut cipher = match CryptoPan::from_key_file(path, &Interrupt::never()) {
        Ok(cipher) => cipher,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut encrypt = |text: &str| match (text.parse().map(|address| cipher.encrypt(address)), text.contains(':')) {
        (Ok(IpAddr::V4(address)), false) => u128::from(u32::from(address)),
        (Ok(IpAddr::V6(address)), true) => u128::from(address),
        other => panic!("{text} became {other:?}"),
    };
    let common = |one: u128, other: u128, width: u32| (one ^ other).leading_zeros() + width - 128;
    assert_eq!(common(encrypt("10.1.2.3"), encrypt("10.1.2.67"), 32), 25, "10.1.2.3 and .67 share 25 bits");
    assert_eq!(common(encrypt("2001:db8::1"), encrypt("2001:db8:8000::1"), 128), 32);
}
