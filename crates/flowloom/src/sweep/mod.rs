//! Sweeps: one experiment in many variants, each with the same seeds, and which of them is best.
//!
//! | file | holds |
//! |---|---|
//! | `options` | how a sweep is run |
//! | `question` | what is asked: the experiment, its axes, the variants that they make |
//! | `workloads` | workloads, each read or drawn once for all cells that replay it |
//! | `id` | names of cells: what decides a cell's numbers, in a hash |
//! | `store` | the folder of a sweep: cells that are there, cells that failed, its answer |
//! | `saved` | which cell is whose, in a file; a sweep read again |
//! | `cells` | cells run, beside each other |
//! | `budget` | what a sweep will need, from a pilot |
//!
//! A *variant* is a combination of values; a *cell* is a variant with one seed. A cell is the run that `flowloom run` makes with the same
//! settings, without a report and a copy of the workload.

mod budget;
mod cells;
mod id;
mod options;
mod question;
mod saved;
mod store;
#[cfg(test)]
mod tests;
mod workloads;

use std::path::PathBuf;

use flowloom_report::sweep::{Grid, SweepAnswer, Variant, decision};

use crate::capacity::check::HostCheck;
use crate::context::{Context, Event, Silent, Step};
use crate::error::Error;
use crate::run::serve::served;
use crate::run::workloads::{is_made, of_seeds};
use crate::run::{Driver, Needs};
use crate::warning::Warning;

pub use budget::Budget;
pub use id::RESULTS_VERSION;
pub use options::SweepOptions;
pub use saved::load_sweep;

use cells::{Cells, Wanted};
use question::Question;
use store::Store;
use workloads::Workloads;

/// What a sweep came to.
#[derive(Debug)]
pub struct Swept {
    /// Its folder.
    pub folder: PathBuf,
    /// The answer.
    pub answer: SweepAnswer,
    /// Cells that were run now.
    pub run: usize,
    /// Cells that were there.
    pub kept: usize,
}

impl Swept {
    /// Whether runs are missing, or one of them is INVALID.
    pub fn is_partial(&self) -> bool {
        !self.answer.missing.is_empty() || self.answer.variants.iter().any(|variant| variant.is_invalid())
    }
}

/// What a sweep would be.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    /// The variants by their names; the first is the control.
    pub variants: Vec<String>,
    /// Seeds of each, at every planned look.
    pub looks: Vec<usize>,
    /// The experiment of the control, resolved.
    pub control: String,
    /// What its cells would need.
    pub budget: Budget,
    /// What live runs on this host need at most at a time, beside what the host can do; `None` for runs elsewhere.
    pub host: Option<HostCheck>,
}

/// Runs the experiment in `inputs`, or captures or a workload through the default network, in all variants of its sweep. Cells that are in the
/// folder already are not run again.
///
/// # Errors
/// What is wrong with the question or its workload; a folder that holds another sweep; more cells than may be run without `yes`; what the
/// disk could not do; a requested stop. Cells that fail do not end the others.
pub fn sweep(inputs: &[PathBuf], options: &SweepOptions, context: Context<'_>) -> Result<Swept, Error> {
    let question = Question::new(inputs, options, context)?;
    let store = Store::open(&question, options)?;
    let swept = served(&options.run, context, |context| run_all(&question, &store, options, context));
    // Whatever found no room: the cells that are whole are there, and the sweep goes on once there is some.
    swept.map_err(|error| if error.has_full_disk() { store.full().note(error.cause) } else { error })
}

/// Runs the cells of a question that are not in the store, and writes the answer.
fn run_all(question: &Question, store: &Store, options: &SweepOptions, context: Context<'_>) -> Result<Swept, Error> {
    let workloads = Workloads::new(&options.run.capture, context);
    let control = &question.variants[0].plan;
    if let Some(base) = workloads.base(control)?
        && !is_made(control, Some(&base))
        && let Some(warning) = of_seeds(control, &base)
    {
        context.warn(&warning);
    }
    let (first, _) = question.cell(0, question.seeds[0], &[], &options.run, &store.staging("control"), context)?;
    let headings = workloads.headings(&first)?;
    let cells = Cells::new(question, store, &workloads, options, headings, context);
    let baseline = question.has_baseline.then_some(Wanted::Baseline);
    let mut grid = question.grid();
    let looks = grid.looks.at().to_vec();
    let all = question.variants.len() * question.seeds.len() + usize::from(baseline.is_some());
    let cells_of = |seeds: &[u64]| -> Vec<Wanted> {
        let of_seed = |seed: &u64| {
            let seed = *seed;
            (0..question.variants.len()).map(move |variant| Wanted::Cell { variant, seed })
        };
        seeds.iter().flat_map(of_seed).collect()
    };
    if options.run.on != Driver::Sim {
        let runs = cells.to_run(&cells_of(&question.seeds))? as u64;
        if runs > 0 {
            let (experiment, needs) = crate::run::plan_cell(control, &options.run, context)?;
            let length = needs.duration.saturating_sub(experiment.measure.drain.value);
            context.event(&Event::RunsLive { runs, length, at_most: needs.duration });
        }
    }
    let progress = context.begin(Step::Sweeping, Some(all as u64));
    if let Some(wanted) = baseline {
        grid.baseline = cells.run(&[wanted], &progress)?.pop().and_then(Result::ok);
    }
    let mut before = 0;
    for (look, seeds) in looks.iter().enumerate() {
        let wanted = cells_of(&question.seeds[before..*seeds]);
        for (place, cell) in cells.run(&wanted, &progress)?.into_iter().enumerate() {
            grid.variants[place % question.variants.len()].cells.push(cell);
        }
        (before, grid.look) = (*seeds, look);
        grid.is_one_draw = cells.is_one_draw();
        if decision(&grid).is_final() || grid.is_one_draw {
            break;
        }
    }
    drop(progress);
    let answer = SweepAnswer::of(&grid);
    store.write(question, &grid, &answer, &saved::text(&grid, &cells.names())?)?;
    let (run, kept) = cells.counts();
    Ok(Swept { folder: store.folder().to_owned(), answer, run, kept })
}

/// What [`sweep`] would run, and what that would need, without running it.
///
/// # Errors
/// Those of [`sweep`] that show before anything is run.
pub fn plan_sweep(inputs: &[PathBuf], options: &SweepOptions, context: Context<'_>) -> Result<SweepPlan, Error> {
    let question = Question::new(inputs, options, context)?;
    let control = &question.variants[0];
    let (experiment, needs) = crate::run::plan_cell(&control.plan, &options.run, context)?;
    let host = host_check(&question, &needs, options, context)?;
    Ok(SweepPlan {
        host,
        variants: question.variants.iter().map(|variant| variant.name.clone()).collect(),
        looks: question.looks.at().to_vec(),
        control: experiment.to_toml(),
        budget: Budget::planned(&question, &needs),
    })
}

/// What the variants of a live sweep need at most, beside what this host can do.
fn host_check(
    question: &Question,
    control: &Needs,
    options: &SweepOptions,
    context: Context<'_>,
) -> Result<Option<HostCheck>, Error> {
    let Some(of_control) = &control.host else { return Ok(None) };
    let mut most = of_control.needs();
    for variant in &question.variants[1..] {
        context.proceed()?;
        // What is to be said of reading was said of the control.
        let (_, needs) = crate::run::plan_cell(&variant.plan, &options.run, Context::new(&Silent, context.stop()))?;
        most = needs.host.map_or(most, |host| most.or_more(host.needs()));
    }
    let check = HostCheck::new(&most, options.run.cache.as_deref());
    check.high().for_each(|check| context.warn(&Warning::NearHostLimit(*check)));
    Ok(Some(check))
}

impl Question {
    /// The grid before anything is run.
    fn grid(&self) -> Grid {
        let variants = self.variants.iter().map(|variant| Variant {
            name: variant.name.clone(),
            points: variant.points.clone(),
            cells: Vec::new(),
        });
        Grid {
            axes: self.axes(),
            variants: variants.collect(),
            objective: self.objective.clone(),
            margin: self.margin,
            looks: self.looks.clone(),
            look: 0,
            baseline: None,
            is_one_draw: false,
        }
    }
}
