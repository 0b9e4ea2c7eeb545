//! `parity`: runs cells in both worlds, compares them, and writes `docs/evidence/parity.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use flowloom_core::time::Duration;
use flowloom_validate::parity::cells::{Cell, all};
use flowloom_validate::parity::collect::{Places, collect};
use flowloom_validate::parity::measure::Measured;
use flowloom_validate::parity::outcome::{Outcome, compare, explanations};
use flowloom_validate::parity::repetitions::{self, Repetition};
use flowloom_validate::parity::world::{World, program, run};
use flowloom_validate::parity::{Problem, bands, page};

/// Repetitions of a cell through the kernel, and of one that is near a bar.
const REPETITIONS: [u64; 2] = [bands::LEAST_REPETITIONS as u64, 5];
/// All live runs together take no longer.
const BUDGET: Duration = Duration::from_secs(90 * 60);
/// The folder for the run folders of cells.
const RUNS: &str = "runs/parity";

const USAGE: &str = "\
Run cells in the simulator and through the kernel's TCP, and compare them

parity [CELL...]              run what the kernel lacks, simulate, compare, write docs/evidence/parity.md (of all cells); needs root
parity check [CELL...]        simulate, and compare with the kernel's repetitions
parity page                   the same of all cells, and write docs/evidence/parity.md
parity show CELL [sim|live|veth] [SEED...]   run one in both worlds, or in this one, and print all that is measured;
                              veth: through the kernel, over virtual Ethernet devices
parity list                   print the names of the cells

Exit code 1 if a cell is outside without an explanation in crates/validate/parity/explanations.txt, if
more than 5 % are outside, or if one of CUBIC over drop-tail, PIE or FQ-CoDel is. FLOWLOOM names the
program to run; by default it is the one beside this. Runs are left in runs/parity.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match obey(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the arguments say; whether all is well.
fn obey(arguments: &[&str]) -> Result<bool, Problem> {
    match arguments {
        ["help" | "--help" | "-h"] => println!("{USAGE}"),
        ["list"] => all().iter().for_each(|cell| println!("{:<24} {}", cell.name, cell.title)),
        ["show", name, rest @ ..] => show(name, rest)?,
        ["check", names @ ..] => return judge(&chosen(names)?, None),
        ["page"] => return judge(&all(), Some("docs/evidence/parity.md")),
        names => return collect_and_judge(&chosen(names)?, names.is_empty()),
    }
    Ok(true)
}

/// The cells of these names; all if there are none.
fn chosen(names: &[&str]) -> Result<Vec<Cell>, Problem> {
    let cells = all();
    if names.is_empty() {
        return Ok(cells);
    }
    let named = |name: &&str| {
        let cell = cells.iter().find(|cell| cell.name == *name);
        cell.cloned().ok_or_else(|| Problem::new(format_args!("no cell is called {name:?}: `parity list` prints them")))
    };
    names.iter().map(named).collect()
}

#[expect(clippy::disallowed_methods, reason = "live runs have a limit of time in all")]
fn collect_and_judge(cells: &[Cell], is_all: bool) -> Result<bool, Problem> {
    let started = Instant::now();
    let elapsed = || Duration::from_secs(started.elapsed().as_secs());
    let runs = Path::new(RUNS).join("kernel");
    let places = Places { flowloom: &program()?, runs: &runs, file: &repetitions::committed(), budget: BUDGET };
    let say = |words: &str| println!("[{:>2} min] {words}", elapsed().as_nanos() / 60_000_000_000);
    collect(cells, |_| REPETITIONS[0], &places, elapsed, say)?;
    let outcomes = simulate(cells)?;
    let near = |cell: &Cell| outcomes.iter().any(|one| one.cell.name == cell.name && one.is_near_a_bar());
    collect(cells, |cell| REPETITIONS[usize::from(near(cell))], &places, elapsed, say)?;
    judge(cells, is_all.then_some("docs/evidence/parity.md"))
}

/// Cells in the simulator, beside the kernel's repetitions; as many at a time as there are cores.
fn simulate(cells: &[Cell]) -> Result<Vec<Outcome>, Problem> {
    let kernel = repetitions::read(&repetitions::committed())?;
    let flowloom = program()?;
    let runs = Path::new(RUNS).join("simulator");
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Outcome, Problem>)>> = Mutex::default();
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(cell) = cells.get(place) else { return };
            let outcome = compare(&flowloom, cell, &kernel, &runs, true);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((place, outcome));
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Simulates and compares cells, prints what is outside, and writes the page; whether all is well.
fn judge(cells: &[Cell], page_at: Option<&str>) -> Result<bool, Problem> {
    let outcomes = simulate(cells)?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let why = explanations(&repository.join("parity/explanations.txt"), &all())?;
    let mut unexplained = 0;
    for outcome in &outcomes {
        let words = match outcome.is_inside() {
            Some(true) => "inside".to_owned(),
            None => format!("not judged: {} repetitions of the kernel", outcome.kernel.len()),
            Some(false) => {
                let is_explained = why.contains_key(&outcome.cell.name);
                unexplained += usize::from(!is_explained || outcome.cell.is_core);
                outcome.outside().fold("OUTSIDE".to_owned(), |words, one| {
                    let ([least, most], simulator) = (one.band, one.simulator);
                    format!("{words}; {} {simulator:.4}, not {least:.4} to {most:.4}", one.metric.name())
                })
            }
        };
        println!("{:<24} {words}", outcome.cell.name);
    }
    let judged = outcomes.iter().filter(|one| one.judged.is_some()).count();
    let inside = outcomes.iter().filter(|one| one.is_inside() == Some(true)).count();
    println!("{inside} of {judged} cells are inside; {unexplained} are outside that must be inside or explained");
    for name in
        why.keys().filter(|name| outcomes.iter().any(|one| one.cell.name == **name && one.is_inside() == Some(true)))
    {
        println!("{name} is inside: its explanation is no longer needed");
    }
    if let Some(page_at) = page_at {
        let path = repository.join("../..").join(page_at);
        fs::write(&path, page::page(&outcomes, &why))
            .map_err(|error| Problem::new(format_args!("{}: {error}", path.display())))?;
    }
    Ok(unexplained == 0 && 20 * inside >= 19 * judged)
}

/// Runs a cell in one or both worlds, and prints what was measured, a column each.
fn show(name: &str, rest: &[&str]) -> Result<(), Problem> {
    let cell = chosen(&[name])?.remove(0);
    let (worlds, seeds) = match rest {
        ["sim", seeds @ ..] => (&[World::Simulator][..], seeds),
        ["live", seeds @ ..] => (&[World::Kernel][..], seeds),
        ["veth", seeds @ ..] => (&[World::KernelOverVeth][..], seeds),
        seeds => (&[World::Simulator, World::Kernel][..], seeds),
    };
    let seed = |text: &&str| text.parse().map_err(|_| Problem::new(format_args!("{text:?} is no seed")));
    let mut seeds: Vec<u64> = seeds.iter().map(seed).collect::<Result<_, _>>()?;
    if seeds.is_empty() {
        seeds.push(1);
    }
    let kept = repetitions::read(&repetitions::committed())?;
    let mut columns: Vec<(String, Measured)> = Vec::new();
    for world in worlds {
        for seed in &seeds {
            let word = match world {
                World::Simulator => "sim",
                World::Kernel => "live",
                World::KernelOverVeth => "veth",
            };
            let folder = PathBuf::from(RUNS).join("show").join(&cell.name).join(format!("{word}-{seed}"));
            let found = run(&program()?, &cell, *seed, *world, &folder, true)?;
            println!(
                "{word:<5} seed {seed}  {}  {}  {}",
                found.verdict,
                folder.join("run").display(),
                found.reservations.join("; ")
            );
            columns.push((format!("{word} {seed}"), found.measured));
        }
    }
    let of_file = |one: &&Repetition| (format!("file {}", one.seed), one.measured.clone());
    columns.extend(repetitions::of(&cell, &kept).iter().map(of_file));
    print(&cell, &columns);
    Ok(())
}

fn print(cell: &Cell, columns: &[(String, Measured)]) {
    println!("\n{}", cell.title);
    let row = |name: &str, values: &dyn Fn(&(String, Measured)) -> String| {
        let values: String = columns.iter().map(|column| format!("{:>10}", values(column))).collect();
        println!("{name:<26}{values}");
    };
    row("", &|(name, _)| name.clone());
    row("goodput, Mbit/s", &|(_, one)| format!("{:.3}", one.goodput_mbit));
    row("packets sent", &|(_, one)| one.offered_packets.to_string());
    row("dropped", &|(_, one)| one.dropped_packets.to_string());
    row("timeouts", &|(_, one)| one.timeouts.to_string());
    row("sent again, %", &|(_, one)| format!("{:.3}", 100.0 * one.retransmitted_share));
    row("mean queue, packets", &|(_, one)| format!("{:.2}", one.queue_mean_packets));
    row("  90 %", &|(_, one)| format!("{:.0}", one.queue_p90_packets));
    row("mean queue, ms", &|(_, one)| format!("{:.2}", one.queue_mean_ms));
    row("  90 %", &|(_, one)| format!("{:.2}", one.queue_p90_ms));
    row("peak flight, segments", &|(_, one)| {
        one.peak_flight_segments.map_or("-".to_owned(), |peak| format!("{peak:.0}"))
    });
    for (name, of) in [
        ("durations, ms", (|one: &Measured| one.durations_us.clone()) as fn(&Measured) -> Vec<u64>),
        ("response times, ms", |one| one.responses_us.clone()),
    ] {
        for share in [50, 90, 99] {
            let at =
                |(_, one): &(String, Measured)| of(one).get(of(one).len() * share / 100).map(|us| *us as f64 / 1e3);
            if columns.iter().any(|column| at(column).is_some()) {
                row(&format!("{name}, {share} %"), &|column| {
                    at(column).map_or("-".to_owned(), |ms| format!("{ms:.1}"))
                });
            }
        }
    }
}
