//! Writes the folder of a made-up run of an hour: as many connections as the link of a university had, each with its epochs.
//!
//! `cargo run --release -p flowloom-report --example large_run FOLDER [CONNECTIONS]`

use std::error::Error;
use std::path::PathBuf;

use flowloom_testkit::reports::MadeUp;

/// Of the hour (Aikat 2010).
const CONNECTIONS: u64 = 4_683_892;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder = PathBuf::from(words.next().ok_or("usage: large_run FOLDER [CONNECTIONS]")?);
    let connections = words.next().map_or(Ok(CONNECTIONS), |word| word.parse())?;
    let folder = MadeUp { connections, seconds: 3_600, original: false, ..MadeUp::default() }.write(&folder);
    println!("{}: {connections} connections", folder.path().display());
    Ok(())
}
