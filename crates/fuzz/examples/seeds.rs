//! Writes the seeds of every target to `FOLDER/NAME/seed-N`, for libFuzzer to begin with: `seeds FOLDER`.

use std::{env, fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "usage: seeds FOLDER"));
    };
    for target in flowloom_fuzz::TARGETS {
        let corpus = folder.join(target.name);
        fs::create_dir_all(&corpus)?;
        for (index, seed) in (target.seeds)().iter().enumerate() {
            fs::write(corpus.join(format!("seed-{index}")), seed)?;
        }
    }
    Ok(())
}
