//! The simulator beside what the kernel's TCP did in the same experiments (`docs/evidence/parity.md`): no live run, no root,
//! the same numbers everywhere.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use flowloom_validate::parity::bands::LEAST_REPETITIONS;
use flowloom_validate::parity::cells::{Cell, all};
use flowloom_validate::parity::outcome::{Outcome, compare, explanations};
use flowloom_validate::parity::repetitions;

/// Runs beside each other.
const AT_ONCE: usize = 2;

fn simulated(cells: &[Cell]) -> Vec<Outcome> {
    let kernel = repetitions::read(&repetitions::committed()).unwrap();
    let runs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parity");
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = compare(Path::new(env!("CARGO_BIN_EXE_flowloom")), cell, &kernel, &runs, false).unwrap();
            done.lock().unwrap().push(outcome);
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    std::fs::remove_dir_all(&runs).unwrap();
    done.into_inner().unwrap()
}

#[test]
fn simulator_is_within_bands_of_the_kernel() {
    let cells: Vec<Cell> = all().into_iter().filter(|cell| cell.is_tested).collect();
    let why = Path::new(env!("CARGO_MANIFEST_DIR")).join("../validate/parity/explanations.txt");
    let why = explanations(&why, &all()).unwrap();
    let outcomes = simulated(&cells);
    let outside: Vec<&Outcome> = outcomes.iter().filter(|one| one.is_inside() == Some(false)).collect();
    let words = |one: &&&Outcome| format!("{}: {:?}", one.cell.name, one.outside().collect::<Vec<_>>());
    let unexplained: Vec<String> = outside
        .iter()
        .filter(|one| one.cell.is_core || !why.contains_key(&one.cell.name))
        .map(|one| words(&one))
        .collect();
    assert!(
        unexplained.is_empty(),
        "{} of {} cells are outside and not explained, or must be inside:\n{}",
        unexplained.len(),
        cells.len(),
        unexplained.join("\n")
    );
    let outside: Vec<String> = outside.iter().map(|one| words(&one)).collect();
    assert!(
        20 * outside.len() <= cells.len(),
        "{} of {} cells are outside, more than 5 %:\n{}",
        outside.len(),
        cells.len(),
        outside.join("\n")
    );
}

#[test]
fn kernel_has_repetitions_of_every_cell() {
    let kernel = repetitions::read(&repetitions::committed()).unwrap();
    let few = |cell: &Cell| repetitions::of(cell, &kernel).len() < LEAST_REPETITIONS;
    let few: Vec<String> = all().into_iter().filter(few).map(|cell| cell.name).collect();
    assert!(few.is_empty(), "`make parity` has to run them, as they are now, through the kernel: {few:?}");
    // What was late, or not run to its end, says nothing of the kernel.
    assert!(kernel.iter().all(|one| one.reservations.iter().all(|said| said.starts_with("connections finished"))));
}
