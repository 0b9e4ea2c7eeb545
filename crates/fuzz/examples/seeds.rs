//! Writes the seeds of every target to `FOLDER/NAME/seed-N`, and the short files of the shared data beside them, for
//! libFuzzer to begin with: `seeds FOLDER`.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Files longer than this would slow the fuzzer down more than they teach it.
const MOST_BYTES: usize = 16 << 10;

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "usage: seeds FOLDER"));
    };
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let shared = env::var_os("FLOWLOOM_SHARED").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    for target in flowloom_fuzz::TARGETS {
        let corpus = folder.join(target.name);
        fs::create_dir_all(&corpus)?;
        for (index, seed) in (target.seeds)().iter().enumerate() {
            fs::write(corpus.join(format!("seed-{index}")), seed)?;
        }
        if let Some((below, before)) = target.shared {
            copy(&shared.join(below), before, &corpus)?;
        }
    }
    Ok(())
}

/// Copies the short files of `from`, if it is there, each behind `before`.
fn copy(from: &Path, before: &[u8], corpus: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let file = fs::read(entry.path())?;
        if file.len() <= MOST_BYTES {
            fs::write(corpus.join(entry.file_name()), [before, &file].concat())?;
        }
    }
    Ok(())
}
