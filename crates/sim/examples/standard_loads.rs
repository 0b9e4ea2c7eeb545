//! Speed of the simulator under three standard loads, in bottleneck packets per CPU second (methods M.10).
//!
//! `cargo run --release -p flowloom-sim --example standard_loads [--tenth] [bulk|hundred|web|crowd]...`
//!
//! With `--tenth` a tenth of each, once, with the monitor: for `benches/instructions.sh`, which counts instructions.
//!
//! Each load runs with and without the monitor that makes vectors of the packets again. Records are counted and thrown
//! away, so this is the simulator without storage. Exits with 1 if the third load falls below the floor of a million
//! packets per CPU second or takes 200 MB.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::process::ExitCode;

use flowloom_sim::{RunError, Summary, run};
use loads::*;

mod loads;

const FLOOR: f64 = 1e6;
const MEMORY_FLOOR_KIB: u64 = 200_000_000 / 1024;

fn main() -> ExitCode {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    let tenth = wanted.iter().position(|one| one == "--tenth").map(|at| wanted.remove(at)).is_some();
    let share = if tenth { 10 } else { 1 };
    let mut good = true;
    println!(
        "{:<28} {:>8} {:>12} {:>8} {:>14} {:>14} {:>9}",
        "load", "CPU s", "packets", "drops", "packets/CPU s", "events/packet", "RSS MB"
    );
    for (name, load) in [("bulk", bulk as fn(u64) -> Load), ("hundred", hundred), ("web", web), ("crowd", crowd)] {
        if !wanted.is_empty() && !wanted.iter().any(|one| one == name) {
            continue;
        }
        for monitor in [false, true].into_iter().skip(usize::from(tenth)) {
            let Load { title, vectors, mut config } = load(share);
            config.monitor = monitor;
            let before = cpu_seconds();
            let mut counter = Counter::default();
            let outcome: Result<Summary, RunError<Infallible, Infallible>> =
                run(vectors, &config, &mut counter, |_| ControlFlow::Continue(()));
            let summary = match outcome {
                Ok(summary) => summary,
                Err(error) => {
                    eprintln!("{title}: {error}");
                    return ExitCode::FAILURE;
                }
            };
            let seconds = cpu_seconds() - before;
            let packets = summary.bottleneck_packets();
            let speed = packets as f64 / seconds;
            let memory = peak_memory_kib();
            println!(
                "{:<28} {seconds:>8.2} {packets:>12} {:>8} {speed:>14.0} {:>14.2} {:>9.1}",
                format!("{title}{}", if monitor { ", monitor" } else { "" }),
                summary.directions.iter().map(|direction| direction.dropped.total()).sum::<u64>(),
                summary.events as f64 / packets as f64,
                memory as f64 * 1024.0 / 1e6,
            );
            if name == "web" {
                assert_eq!(summary.connections.completed, counter.connections, "every exchange completes");
                good &= tenth || speed >= FLOOR && memory < MEMORY_FLOOR_KIB;
            }
        }
    }
    if !good {
        eprintln!("below the floor: 1,000,000 packets per CPU second and 200 MB on the third load");
    }
    ExitCode::from(u8::from(!good))
}
