//! `reproduce`: takes the runs of sweeps of published studies into the tables of their pages, and writes the pages.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flowloom_validate::aikat;

const USAGE: &str = "\
Write docs/evidence/reproductions/aikat-2010.md

reproduce [SWEEP...]    take the runs that these sweeps of examples/aikat-2010 have ended into
                        aikat-2010/cells.csv, and write the page and its pictures from all rows there
reproduce --parts EXPERIMENT FOLDER
                        write the parts of the experiment's workload, and the sweep over them, into FOLDER
reproduce --twin EXPERIMENT FOLDER
                        fit Swing's model to the experiment's workload, and write it and its sweep into FOLDER
reproduce --scaling CAPTURE...
                        count in these captures how often window scaling is in use, for the page";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/reproductions");
    let done = match words[..] {
        ["--parts", experiment, folder] => {
            aikat::prepare_parts(Path::new(experiment), Path::new(folder)).map(|()| format!("{folder}: parts"))
        }
        ["--twin", experiment, folder] => {
            aikat::prepare_twin(Path::new(experiment), Path::new(folder)).map(|()| format!("{folder}: twin"))
        }
        ["--scaling", ref captures @ ..] => aikat::count_scaling(&pages.join("aikat-2010"), captures)
            .map(|count| format!("aikat-2010/{}: {count} captures", aikat::SCALING_FILE)),
        _ if words.iter().any(|word| word.starts_with('-')) => {
            println!("{USAGE}");
            return ExitCode::from(u8::from(words != ["--help"]));
        }
        _ => {
            let sweeps: Vec<PathBuf> = words.iter().map(PathBuf::from).collect();
            aikat::reproduce(&pages, &sweeps)
                .map(|rows| format!("docs/evidence/reproductions/aikat-2010.md: {rows} runs"))
        }
    };
    match done {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
