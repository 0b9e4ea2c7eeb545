//! Collecting the kernel's repetitions: two live runs at a time, each in network namespaces of its own.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;

use flowloom_core::time::Duration;

use super::Problem;
use super::cells::Cell;
use super::repetitions::{self, Repetition};
use super::world::{World, run};

/// A run that was late is repeated, and there are so many of it at most.
const MOST_ATTEMPTS: u32 = 5;
/// The number of live runs side by side.
const AT_ONCE: usize = 2;

/// Where everything is, and how long it may take.
pub struct Places<'a> {
    /// The program that runs cells.
    pub flowloom: &'a Path,
    /// Where run folders are left.
    pub runs: &'a Path,
    /// The file that holds the repetitions.
    pub file: &'a Path,
    /// No run begins that would end later than this.
    pub budget: Duration,
}

/// Runs each of `cells` through the kernel until it has so many repetitions, with the seeds 1, 2 and so on; a cell
/// has its second when all have their first. What is in the file already is kept, and each repetition is written as
/// soon as it is there, so that stopping loses only the runs under way. A run that was late is repeated with no
/// other beside it.
///
/// # Errors
/// Runs fail for another reason than lateness, or the file cannot be read or written.
pub fn collect(
    cells: &[Cell],
    wanted: impl Fn(&Cell) -> u64,
    places: &Places<'_>,
    elapsed: impl Fn() -> Duration + Sync,
    say: impl Fn(&str) + Sync,
) -> Result<(), Problem> {
    let done = repetitions::read(places.file)?;
    let mut tasks: Vec<(u64, &Cell)> = Vec::new();
    for cell in cells {
        let has = repetitions::of(cell, &done);
        tasks
            .extend((1..=wanted(cell)).filter(|seed| has.iter().all(|one| one.seed != *seed)).map(|seed| (seed, cell)));
    }
    tasks.sort_by_key(|(seed, _)| *seed);
    let total = tasks.len();
    let left: u32 = tasks.iter().map(|(_, cell)| cell.seconds + 3).sum();
    say(&format!("{total} live runs, some {} minutes, {AT_ONCE} at a time", left.div_ceil(60 * AT_ONCE as u32)));
    let collecting = Collecting {
        places,
        all: super::cells::all(),
        tasks: Mutex::new(tasks.into()),
        done: Mutex::new(done),
        alone: RwLock::new(()),
    };
    let failed = AtomicUsize::new(0);
    let work = || {
        while let Some((number, seed, cell)) = collecting.next(total, &elapsed) {
            let said = collecting.repeat(cell, seed).unwrap_or_else(|problem| {
                failed.fetch_add(1, Ordering::Relaxed);
                format!("failed: {problem}")
            });
            say(&format!("{number}/{total} {} seed {seed}: {said}", cell.name));
        }
    };
    thread::scope(|scope| {
        (0..AT_ONCE).for_each(|_| drop(scope.spawn(work)));
    });
    let missed = collecting.tasks.lock().unwrap_or_else(PoisonError::into_inner).len();
    if missed > 0 {
        say(&format!("{missed} runs are left for another time: the limit of {} was reached", places.budget));
    }
    match failed.into_inner() {
        0 => Ok(()),
        count => Err(Problem::new(format_args!("{count} of {total} live runs failed"))),
    }
}

struct Collecting<'a> {
    places: &'a Places<'a>,
    /// All cells, by which the file is sorted.
    all: Vec<Cell>,
    tasks: Mutex<VecDeque<(u64, &'a Cell)>>,
    done: Mutex<Vec<Repetition>>,
    /// Held alone by a run that is repeated.
    alone: RwLock<()>,
}

impl<'a> Collecting<'a> {
    /// What is to be run next: its number, its seed and the cell.
    fn next(&self, total: usize, elapsed: &impl Fn() -> Duration) -> Option<(usize, u64, &'a Cell)> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, cell) = tasks.front()?;
        if elapsed() + Duration::from_secs(cell.seconds.into()) > self.places.budget {
            return None;
        }
        let number = total - tasks.len() + 1;
        tasks.pop_front().map(|(seed, cell)| (number, seed, cell))
    }

    /// Runs a cell until the host was in time, and keeps that; in words what came of it.
    fn repeat(&self, cell: &Cell, seed: u64) -> Result<String, Problem> {
        let folder = self.places.runs.join(format!("{}-{seed}", cell.name));
        let mut late = String::new();
        for attempt in 1..=MOST_ATTEMPTS {
            let found = {
                let beside = (attempt == 1).then(|| self.alone.read().unwrap_or_else(PoisonError::into_inner));
                let alone = (attempt > 1).then(|| self.alone.write().unwrap_or_else(PoisonError::into_inner));
                let found = run(self.places.flowloom, cell, seed, World::Kernel, &folder, true);
                drop((beside, alone));
                found?
            };
            if found.was_late {
                late = found.reservations.join("; ");
                continue;
            }
            let one = Repetition::new(cell, seed, found);
            let measured = &one.measured;
            let said = format!(
                "{} after {attempt}: {:.2} Mbit/s, {} dropped, {:.1} packets waiting, {} timeouts, {} us late",
                one.verdict,
                measured.goodput_mbit,
                measured.dropped_packets,
                measured.queue_mean_packets,
                measured.timeouts,
                one.late_p99_us
            );
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.retain(|other| other.cell != cell.name || other.seed != seed);
            done.push(one);
            repetitions::write(self.places.file, &done, &self.all)?;
            return Ok(said);
        }
        Ok(format!("late {MOST_ATTEMPTS} times, not kept: {late}"))
    }
}
