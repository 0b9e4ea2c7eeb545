//! Speed of the simulator with everything recorded: vectors at the monitor, and all tables of a run folder.
//!
//! `cargo run --release -p flowloom-sim --example recorded_loads [web|hundred]...`
//!
//! Bottleneck packets (methods M.10) per CPU second, user and system, of one core. Exits with 1 below the floor of two
//! million on either load, or if the web load takes 150 MB.

use std::error::Error;
use std::ops::ControlFlow;
use std::process::ExitCode;

use flowloom_sim::run;
use flowloom_store::run_folder::{RunOptions, RunWriter};
use loads::*;
use serde_json::json;

mod loads;

const FLOOR: f64 = 2e6;
const MEMORY_KIB: u64 = 150_000_000 / 1_024;
/// The allocator of the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Each runs so often; the fastest counts.
const TURNS: usize = 3;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let folder = tempfile::tempdir()?;
    let mut good = true;
    // The one whose memory counts is first.
    for (name, load) in [("web", web as fn(u64) -> Load), ("hundred", hundred)] {
        if !wanted.is_empty() && !wanted.iter().any(|one| one == name) {
            continue;
        }
        let mut best: f64 = 0.0;
        let mut title = "";
        for _ in 0..TURNS {
            let load = load(1);
            let before = cpu_seconds();
            let options =
                RunOptions { replace: true, queue_interval: load.config.queue_every, original_duration: None };
            let mut writer = RunWriter::create(&folder.path().join(name), options)?;
            let summary = run(load.vectors, &load.config, &mut writer, |_| ControlFlow::Continue(()))?;
            writer.finish(&json!({}), &json!({}))?;
            best = best.max(summary.bottleneck_packets() as f64 / (cpu_seconds() - before));
            title = load.title;
        }
        let memory = peak_memory_kib();
        let within = best >= FLOOR && (name != "web" || memory < MEMORY_KIB);
        println!(
            "{title:<28} {best:>10.0} packets per CPU second (at least {FLOOR:.0}), {:.0} MB{}{}",
            memory as f64 * 1_024.0 / 1e6,
            if name == "web" { " (less than 150)" } else { "" },
            if within { "" } else { "  MISSED" }
        );
        good &= within;
    }
    Ok(ExitCode::from(u8::from(!good)))
}
