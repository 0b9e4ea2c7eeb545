//! The cells of a sweep, run beside each other.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration as Pause;

use flowloom_core::units::Rate;
use flowloom_report::Accounted;
use flowloom_report::scalars::Headings;
use flowloom_report::sweep::{Absent, Cell};

use crate::clock::Stopwatch;
use crate::context::{Context, OnlyObservations, Progress};
use crate::error::Error;
use crate::experiment::{RateChoice, RateOf, Setting};
use crate::parallel::{at_once, locked, threads};
use crate::run::command_line::command;
use crate::run::plan::Plan;
use crate::run::{Driver, Ran, RunOptions, link_rate, perform_shared};
use crate::warning::Warning;

use super::budget::{Budget, size};
use super::id::Digests;
use super::options::SweepOptions;
use super::question::Question;
use super::store::{State, Store};
use super::workloads::Workloads;

/// A cell that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// The capture alone, through the default network.
    Baseline,
    /// A variant with a seed.
    Cell {
        /// The variant's place among the variants.
        variant: usize,
        /// The seed of the run.
        seed: u64,
    },
}

/// What cells come to.
pub type Found = Result<Cell, Absent>;

/// The names of cells that were looked for.
pub type Names = BTreeMap<Wanted, String>;

/// The cells of a question.
pub struct Cells<'a> {
    question: &'a Question,
    store: &'a Store,
    workloads: &'a Workloads<'a>,
    options: &'a SweepOptions,
    context: Context<'a>,
    digests: Digests,
    /// Which direction is up, for all cells.
    headings: Headings,
    names: Mutex<Names>,
    run: AtomicUsize,
    kept: AtomicUsize,
    /// How long the cells took that were run, in nanoseconds, and the bytes that they take, together.
    spent: [AtomicU64; 2],
}

/// How long to wait for a cell that another sweep runs.
const PAUSE: Pause = Pause::from_millis(50);

#[expect(clippy::disallowed_methods, reason = "another process runs the cell, and tells nobody when it is done")]
fn pause() {
    std::thread::sleep(PAUSE);
}

impl<'a> Cells<'a> {
    pub fn new(
        question: &'a Question,
        store: &'a Store,
        workloads: &'a Workloads<'a>,
        options: &'a SweepOptions,
        headings: Headings,
        context: Context<'a>,
    ) -> Cells<'a> {
        Cells {
            question,
            store,
            workloads,
            options,
            context,
            digests: Digests::default(),
            headings,
            names: Mutex::default(),
            run: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
            spent: Default::default(),
        }
    }

    /// How many cells were run, and how many were there.
    pub fn counts(&self) -> (usize, usize) {
        (self.run.load(Ordering::Relaxed), self.kept.load(Ordering::Relaxed))
    }

    /// The names of those that were wanted.
    pub fn names(&self) -> Names {
        locked(&self.names).clone()
    }

    /// Whether all seeds of a variant replay one workload.
    pub fn is_one_draw(&self) -> bool {
        let is_one = |plan: &Plan| self.workloads.is_one_draw(plan).unwrap_or(false);
        self.question.variants.iter().any(|variant| is_one(&variant.plan))
    }

    /// What the cells come to that are `wanted`, in their order.
    ///
    /// # Errors
    /// What ends all cells: an input that cannot be read, a full disk, a requested stop, more cells than may be run.
    pub fn run(&self, wanted: &[Wanted], progress: &Progress<'_>) -> Result<Vec<Found>, Error> {
        let side_by_side = if self.options.run.on == Driver::Sim { threads(self.options.run.jobs) } else { 1 };
        // The corners of the axes come first: what they need says what all will need.
        let (pilot, rest) = wanted.split_at(self.pilot(wanted).min(wanted.len()));
        let mut found = self.run_all(pilot, side_by_side, progress)?;
        if !rest.is_empty() && self.run.load(Ordering::Relaxed) > 0 {
            self.budget(rest)?.check(self.options.yes)?;
        }
        found.extend(self.run_all(rest, side_by_side, progress)?);
        Ok(found)
    }

    /// How many of the first cells are a pilot: one of each variant, up to as many as show what others need.
    fn pilot(&self, wanted: &[Wanted]) -> usize {
        const PILOT: usize = 8;
        if matches!(wanted.first(), Some(Wanted::Baseline)) {
            wanted.len()
        } else {
            self.question.variants.len().min(PILOT)
        }
    }

    /// What the cells of the sweep need that have not been run, by those that were.
    fn budget(&self, rest: &[Wanted]) -> Result<Budget, Error> {
        let missing = self.to_run(rest)?;
        let spent = self.spent.each_ref().map(|spent| spent.load(Ordering::Relaxed));
        Ok(Budget::of_pilot(self.question, missing, self.run.load(Ordering::Relaxed), spent))
    }

    /// How many of `wanted` will be run: they are not there, and are not known to fail.
    ///
    /// # Errors
    /// An input that cannot be read; a requested stop.
    pub fn to_run(&self, wanted: &[Wanted]) -> Result<usize, Error> {
        let is_missing = |wanted: &Wanted| {
            // Each takes milliseconds, and there may be a hundred thousand.
            if self.context.is_stopped() {
                return Err(self.interrupted());
            }
            let (id, ..) = self.named(*wanted)?;
            Ok(self.store.cell(&id).is_none() && self.store.failure(&id).is_none())
        };
        let missing = wanted.iter().map(is_missing).collect::<Result<Vec<bool>, Error>>()?;
        Ok(missing.into_iter().filter(|missing| *missing).count())
    }

    /// The name of a cell, and what is run for it.
    fn named(&self, wanted: Wanted) -> Result<(String, Plan, RunOptions), Error> {
        let (plan, run) = self.planned(wanted, &self.store.staging("cell"))?;
        let base = self.workloads.base(&plan)?;
        Ok((self.digests.cell(&plan, &run, base.as_deref())?, plan, run))
    }

    fn run_all(&self, wanted: &[Wanted], side_by_side: usize, progress: &Progress<'_>) -> Result<Vec<Found>, Error> {
        let failed = AtomicBool::new(false);
        let goes_on = |_| !(self.context.is_stopped() || failed.load(Ordering::Relaxed));
        let found = at_once(side_by_side, wanted, goes_on, |wanted| {
            let found = self.one(*wanted);
            failed.fetch_or(found.is_err(), Ordering::Relaxed);
            progress.advance(1);
            found
        });
        let found = found.into_iter().collect::<Result<Vec<Found>, Error>>()?;
        if found.len() < wanted.len() {
            return Err(self.interrupted());
        }
        Ok(found)
    }

    fn interrupted(&self) -> Error {
        let (run, kept) = self.counts();
        Error::interrupted("interrupted: the sweep is not complete")
            .note(format_args!("{} cells are in {}", run + kept, self.store.folder().display()))
            .hint("the same command goes on where it ended")
    }

    /// What is run for a cell.
    fn planned(&self, wanted: Wanted, target: &Path) -> Result<(Plan, RunOptions), Error> {
        let run = &self.options.run;
        match wanted {
            Wanted::Baseline => self.question.baseline_plan(run, target, self.context),
            Wanted::Cell { variant, seed } => {
                let (plan, options) = self.question.cell(variant, seed, &[], run, target, self.context)?;
                match self.rate_of_control(&plan, variant, seed)? {
                    None => Ok((plan, options)),
                    Some(rate) => self.question.cell(variant, seed, &[rate], run, target, self.context),
                }
            }
        }
    }

    /// The rate of the bottleneck, where it is a share of another variant's load.
    fn rate_of_control(&self, plan: &Plan, variant: usize, seed: u64) -> Result<Option<Setting>, Error> {
        let rate = &plan.experiment.network.bottleneck.rate;
        if variant == 0 || self.question.rate_of == RateOf::Each || !matches!(rate.value, RateChoice::OfLoad(_)) {
            return Ok(None);
        }
        let (control, _) = self.question.cell(0, seed, &[], &self.options.run, &plan.target, self.context)?;
        let key = |plan: &Plan| self.workloads.key(plan, self.workloads.base(plan)?.as_deref());
        if key(plan)? == key(&control)? {
            return Ok(None);
        }
        let source = self.workloads.of(&control)?;
        let rate = link_rate("network.bottleneck", rate, &source, &control.experiment)?;
        let bits = rate.bits_per_second().unwrap_or(Rate::FASTEST);
        let of_control = Setting::of("rate", &format!("{bits}bit")).map_err(Error::usage)?;
        Ok(Some(of_control.given_as(format!("the rate in percent, which is {bits}bit of the control's load"))))
    }

    /// A cell, from the folder or run now.
    fn one(&self, wanted: Wanted) -> Result<Found, Error> {
        let (id, plan, run) = self.named(wanted)?;
        locked(&self.names).insert(wanted, id.clone());
        let seed = if let Wanted::Cell { seed, .. } = wanted { seed } else { 0 };
        loop {
            if let Some(cell) = self.store.cell(&id) {
                self.kept.fetch_add(1, Ordering::Relaxed);
                return Ok(Ok(cell));
            }
            if let Some(failure) = self.store.failure(&id) {
                return Ok(Err(Absent { seed, why: failure.error }));
            }
            let Some(_claim) = self.store.claim(&id)? else {
                // Another sweep runs it in the same folder.
                if self.context.is_stopped() {
                    return Err(Error::stopped());
                }
                pause();
                continue;
            };
            // It may have been completed between the look and the claim.
            match self.store.state(&id) {
                State::Whole(_) => continue,
                State::Damaged(why) => {
                    self.context.warn(&Warning::CellDamaged { cell: self.store.cell_folder(&id), why })
                }
                State::Missing => {}
            }
            let plan = Plan { target: self.store.staging(&id), ..plan };
            return self.make(&plan, &run, &id, seed);
        }
    }

    /// Runs a cell.
    fn make(&self, plan: &Plan, options: &RunOptions, id: &str, seed: u64) -> Result<Found, Error> {
        let stopwatch = Stopwatch::start();
        let staged = &plan.target;
        let source = self.workloads.of(plan)?;
        let observer = OnlyObservations(self.context);
        let again = || -> Result<Ran, Error> {
            // Two at most of one claim, of which the first left what it had.
            let _ = std::fs::remove_dir_all(staged);
            perform_shared(plan, options, source.clone(), Context::new(&observer, self.context.stop()))
        };
        let is_invalid =
            |ran: &Ran| ran.conclusions.iter().any(|one| one.summary.verdict.accounted.word == Accounted::Invalid);
        let ran = match again() {
            // What the host was busy with may be over.
            Ok(ran) if options.on != Driver::Sim && is_invalid(&ran) && !self.context.is_stopped() => again(),
            other => other,
        };
        let command = command(plan, options, plan.experiment.run.seeds[0]);
        match ran {
            Ok(ran) if ran.runs.iter().any(|run| run.facts.interrupted) => {
                let _ = std::fs::remove_dir_all(staged);
                Err(Error::interrupted("interrupted: the sweep is not complete")
                    .hint("the same command goes on where it ended"))
            }
            Ok(ran) if ran.runs.iter().any(|run| run.facts.disk_full) => {
                let _ = std::fs::remove_dir_all(staged);
                Err(self.store.full())
            }
            Ok(ran) if options.on != Driver::Sim && is_invalid(&ran) => {
                let why = Error::new("INVALID twice, as the verdict of its run says");
                let _ = std::fs::remove_dir_all(staged);
                self.store.fail(id, &why, &command)?;
                Ok(Err(Absent { seed, why: why.to_string() }))
            }
            Ok(ran) => {
                let kept = self.store.keep(id, staged, &ran, self.headings);
                // What could not be kept takes room, and the next sweep makes it again.
                let cell = kept.inspect_err(|_| drop(std::fs::remove_dir_all(staged)))?;
                let spent = [stopwatch.nanos(), size(&self.store.cell_folder(id))];
                self.spent.iter().zip(spent).for_each(|(all, one)| _ = all.fetch_add(one, Ordering::Relaxed));
                self.run.fetch_add(1, Ordering::Relaxed);
                Ok(Ok(cell))
            }
            Err(error) if self.context.is_stopped() => Err(error),
            // A cell that found no room has not failed: it is run when there is some.
            Err(error) if error.has_full_disk() => {
                let _ = std::fs::remove_dir_all(staged);
                Err(error)
            }
            Err(error) => {
                let _ = std::fs::remove_dir_all(staged);
                let failure = self.store.fail(id, &error, &command)?;
                Ok(Err(Absent { seed, why: failure.error }))
            }
        }
    }
}
