//! Writes the histogram of datagram lengths that ships as `ucb-1989` to standard output:
//! `cargo run --release -p flowloom-validate --example ucb_lengths > crates/store/src/lengths/ucb-1989.csv`

use std::process::ExitCode;

use flowloom_validate::lengths;

fn main() -> ExitCode {
    match lengths::search() {
        Some(found) => {
            print!("{}", lengths::file(&found));
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("no histogram meets the published description");
            ExitCode::FAILURE
        }
    }
}
