//! `parity`: runs cells in both worlds and compares them (`docs/parity.md`).

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use flowloom_core::time::Duration;
use flowloom_validate::parity::Problem;
use flowloom_validate::parity::cells::{Cell, all};
use flowloom_validate::parity::collect::{Places, collect};
use flowloom_validate::parity::repetitions;
use flowloom_validate::parity::world::{Run, World, program, run};

/// Repetitions of a cell through the kernel.
const REPETITIONS: u64 = 3;
/// All live runs together take no longer.
const BUDGET: Duration = Duration::from_secs(90 * 60);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["list"] => {
            all().iter().for_each(|cell| println!("{:<24} {}", cell.name, cell.title));
            Ok(())
        }
        ["show", name] => show(name, 1, World::Simulator).and_then(|()| show(name, 1, World::Kernel)),
        ["show", name, world] => show(name, 1, if world == "sim" { World::Simulator } else { World::Kernel }),
        ["collect"] => collect_all(),
        _ => Err(Problem::new("usage: parity list | show CELL [sim|live] | collect")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "live runs have a limit of time in all")]
fn collect_all() -> Result<(), Problem> {
    let started = Instant::now();
    let elapsed = || Duration::from_secs(started.elapsed().as_secs());
    let places = Places {
        flowloom: &program()?,
        runs: Path::new("runs/parity/kernel"),
        file: &repetitions::committed(),
        budget: BUDGET,
    };
    let say = |words: &str| println!("[{:>3} min] {words}", elapsed().as_nanos() / 60_000_000_000);
    collect(&all(), |_| REPETITIONS, &places, elapsed, say)
}

fn show(name: &str, seed: u64, world: World) -> Result<(), Problem> {
    let cells = all();
    let cell: &Cell = cells
        .iter()
        .find(|cell| cell.name == name)
        .ok_or_else(|| Problem::new(format_args!("no cell is called {name}")))?;
    let folder = PathBuf::from("runs/parity").join(name).join(format!("{world:?}-{seed}"));
    let Run { measured: m, verdict, reservations, late_p99_us, .. } =
        run(&program()?, cell, seed, world, &folder, true)?;
    println!(
        "{name} {world:?} seed {seed}: goodput {:.2}, sent {}, dropped {}, queue {:.1} / {} packets {:.1} / {:.1} ms, timeouts {}, retransmitted {:.3} %, peak {:?}; {verdict} {reservations:?} {late_p99_us} us late; {} durations, {} responses",
        m.goodput_mbit,
        m.offered_packets,
        m.dropped_packets,
        m.queue_mean_packets,
        m.queue_p90_packets,
        m.queue_mean_ms,
        m.queue_p90_ms,
        m.timeouts,
        100.0 * m.retransmitted_share,
        m.peak_flight_segments,
        m.durations_us.len(),
        m.responses_us.len()
    );
    Ok(())
}
