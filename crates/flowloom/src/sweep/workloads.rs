//! Workloads of a sweep: each is read or drawn once, for all cells that replay it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use flowloom_report::scalars::Headings;

use crate::context::Context;
use crate::error::Error;
use crate::extraction::CaptureOptions;
use crate::parallel::locked;
use crate::run::plan::Plan;
use crate::run::workloads::{base, is_drawn, is_made, made, of_seeds, refuse_empty};
use crate::workload::source::Source;

/// What several cells wait for until one of them has made it.
type Shared<T> = Mutex<BTreeMap<String, Arc<OnceLock<Result<T, Error>>>>>;

/// Workloads that were read or drawn.
pub struct Workloads<'a> {
    capture: &'a CaptureOptions,
    context: Context<'a>,
    bases: Shared<Option<Arc<Source>>>,
    drawn: Shared<Arc<Source>>,
}

impl<'a> Workloads<'a> {
    pub fn new(capture: &'a CaptureOptions, context: Context<'a>) -> Workloads<'a> {
        Workloads { capture, context, bases: Mutex::default(), drawn: Mutex::default() }
    }

    /// What the inputs of a plan hold.
    ///
    /// # Errors
    /// What they could not be read as.
    pub fn base(&self, plan: &Plan) -> Result<Option<Arc<Source>>, Error> {
        let key = format!(
            "{:?} {:?} {}",
            plan.sources,
            plan.experiment.workload.missing,
            plan.experiment.workload.model.is_some()
        );
        shared(&self.bases, key, || {
            let found = base(plan, self.capture, self.context)?;
            if let Some(found) = &found {
                refuse_empty(plan, found)?;
            }
            Ok(found.map(Arc::new))
        })
    }

    /// The workload of a plan with one seed.
    ///
    /// # Errors
    /// What the inputs could not be read as, or the model not make; a workload without anything to replay.
    pub fn of(&self, plan: &Plan) -> Result<Arc<Source>, Error> {
        let seed = plan.experiment.run.seeds[0];
        let base = self.base(plan)?;
        if let Some(base) = &base
            && !is_made(plan, Some(base))
        {
            return Ok(Arc::clone(base));
        }
        shared(&self.drawn, self.key(plan, base.as_deref())?, || {
            let mut source = made(plan, base.as_deref(), seed, self.capture, self.context)?;
            refuse_empty(plan, &source).map_err(|error| error.note(format_args!("of the draw with seed {seed}")))?;
            source.warnings.extend(of_seeds(plan, &source));
            Ok(Arc::new(source))
        })
    }

    /// What decides which workload a plan replays.
    pub fn key(&self, plan: &Plan, base: Option<&Source>) -> Result<String, Error> {
        let experiment = &plan.experiment;
        let workload = toml::to_string(&experiment.workload).map_err(Error::new)?;
        let seed = is_drawn(plan, base).then_some(experiment.run.seeds[0]);
        let duration = experiment.measure.duration.as_ref().map(ToString::to_string);
        Ok(format!("{:?} {workload} {seed:?} {} {duration:?}", plan.sources, experiment.run.vary))
    }

    /// Which direction is up for a plan with one seed: from the side where more of its connections are opened.
    ///
    /// # Errors
    /// Those of [`Workloads::of`]; a workload that cannot be read.
    pub fn headings(&self, plan: &Plan) -> Result<Headings, Error> {
        let mut opened = [0_u64; 2];
        for vector in self.of(plan)?.vectors()? {
            let vector = vector.map_err(Error::new)?;
            opened[vector.initiator_side as usize] += 1;
        }
        Ok(Headings::of_initiators(opened))
    }

    /// Whether seeds of this plan replay one workload.
    ///
    /// # Errors
    /// Those of [`Workloads::base`].
    pub fn is_one_draw(&self, plan: &Plan) -> Result<bool, Error> {
        let base = self.base(plan)?;
        let is_drawn = is_drawn(plan, base.as_deref());
        let only_sources = base.as_ref().is_some_and(|base| base.path.is_none());
        Ok(!(is_drawn || only_sources && plan.experiment.sources_draw()))
    }
}

/// What is kept under `key`, or made now; those who ask meanwhile wait for it.
fn shared<T: Clone>(kept: &Shared<T>, key: String, make: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let place = Arc::clone(locked(kept).entry(key).or_default());
    place.get_or_init(make).clone()
}
