//! A workload and a run folder as version 1 of the formats had them, without digests (`testdata/v1`, from the first 300 packets
//! of the bundled capture).

use std::fs;
use std::path::Path;

/// The workload, of [`CONNECTIONS`].
pub const WORKLOAD: &[u8] = include_bytes!("../../../testdata/v1/workload.parquet");

/// Connections in the workload and in the run.
pub const CONNECTIONS: usize = 14;

/// Where the run folder is.
const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/v1/run");

/// Copies the run folder to `target`, which must not be there.
pub fn copy_run(target: &Path) {
    fs::create_dir(target).unwrap();
    for entry in fs::read_dir(RUN).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, target.join(path.file_name().unwrap())).unwrap();
    }
}
