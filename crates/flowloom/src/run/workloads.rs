//! The workloads of the runs of a plan: opened, extracted from captures, or made; and what of them is not replayed.

use std::sync::Arc;

use flowloom_models::{FEWEST_BLOCKS, Variation};
use flowloom_report::facts::set_aside_text;

use crate::context::Context;
use crate::error::Error;
use crate::experiment::{DatagramModel, Experiment};
use crate::extraction::CaptureOptions;
use crate::run::plan::Plan;
use crate::warning::Warning;
use crate::workload::generation::{Blocks, Generation};
use crate::workload::source::{Inputs, Source, set_aside, unsent_flows};

/// One workload for all seeds, or one for each if it is drawn.
///
/// # Errors
/// What the inputs could not be read as, or the model not make; a workload without anything to replay.
pub fn workloads(plan: &Plan, capture: &CaptureOptions, context: Context<'_>) -> Result<Vec<Arc<Source>>, Error> {
    let base = base(plan, capture, context)?;
    let mut sources = match base {
        Some(base) if !is_made(plan, Some(&base)) => vec![base],
        base => {
            base.iter().try_for_each(|base| refuse_empty(plan, base))?;
            let seeds = &plan.experiment.run.seeds;
            let seeds = if is_drawn(plan, base.as_ref()) { &seeds[..] } else { &seeds[..1] };
            seeds.iter().map(|seed| made(plan, base.as_ref(), *seed, capture, context)).collect::<Result<_, _>>()?
        }
    };
    match &sources[..] {
        [alone] => refuse_empty(plan, alone)?,
        each => each.iter().zip(&plan.experiment.run.seeds).try_for_each(|(source, seed)| {
            refuse_empty(plan, source).map_err(|error| error.note(format_args!("of the draw with seed {seed}")))
        })?,
    }
    for source in sources.iter_mut().filter(|source| source.path.is_some()) {
        source.warnings.extend(of_seeds(plan, source));
    }
    Ok(sources.into_iter().map(Arc::new).collect())
}

/// Says that the seeds of a run differ in nothing, or in little.
pub fn of_seeds(plan: &Plan, source: &Source) -> Option<Warning> {
    let run = &plan.experiment.run;
    if run.variation().is_some() && !source.is_draw(run.variation()) {
        Some(Warning::TooShortToDraw { length: source.facts.observed() })
    } else if run.seeds.len() > 1 && !plan.experiment.draws() {
        Some(Warning::SeedsAlike)
    } else {
        let few = source.blocks.filter(|blocks| blocks.count < FEWEST_BLOCKS);
        few.map(|Blocks { length, count, .. }| Warning::FewBlocks { length, blocks: count })
    }
}

/// What the inputs of a plan hold, before anything of it is drawn or changed; `None` of a model.
///
/// # Errors
/// What the inputs could not be read as.
pub fn base(plan: &Plan, capture: &CaptureOptions, context: Context<'_>) -> Result<Option<Source>, Error> {
    if plan.experiment.workload.model.is_some() {
        return Ok(None);
    }
    let capture = CaptureOptions { missing: Some(plan.experiment.workload.missing), ..capture.clone() };
    let inputs = Inputs { paths: &plan.sources, kind: plan.kind, capture: &capture, target: &plan.target };
    Source::open(inputs, context).map(Some)
}

/// How draws of what the inputs hold differ; nothing where it is too short for blocks.
fn variation(plan: &Plan, base: Option<&Source>) -> Option<Variation> {
    let is_too_short = |variation: Variation| {
        variation == Variation::Blocks && base.is_some_and(|base| !Blocks::fit(base.facts.observed()))
    };
    plan.experiment.run.variation().filter(|variation| !is_too_short(*variation))
}

/// Whether the workload is another than what the inputs hold.
pub fn is_made(plan: &Plan, base: Option<&Source>) -> bool {
    let changes = || plan.experiment.workload.is_made() || variation(plan, base).is_some();
    base.is_none_or(|base| base.path.is_some() && changes())
}

/// Whether each seed has a workload of its own.
pub fn is_drawn(plan: &Plan, base: Option<&Source>) -> bool {
    plan.experiment.workload.is_drawn() || variation(plan, base).is_some()
}

/// The workload with this seed, of a plan that makes it.
///
/// # Errors
/// What the model could not make, or the disk not hold.
pub fn made(
    plan: &Plan,
    base: Option<&Source>,
    seed: u64,
    capture: &CaptureOptions,
    context: Context<'_>,
) -> Result<Source, Error> {
    let workload = &plan.experiment.workload;
    let duration = plan.experiment.measure.duration.as_ref().map(|duration| duration.value);
    let generation = Generation {
        workload,
        base,
        variation: variation(plan, base),
        seed,
        duration: duration.map(|duration| duration + workload.prefill().shift()),
        anonymize: capture.anonymize,
        stop: context.stop(),
    };
    Source::made(&generation, &plan.target, context).map_err(|error| match &plan.file {
        Some(file) => Experiment::locate_key(error, file),
        None => error,
    })
}

/// Refuses a workload without anything to replay.
pub fn refuse_empty(plan: &Plan, source: &Source) -> Result<(), Error> {
    let datagrams = plan.experiment.workload.datagrams;
    let unsent = if datagrams == DatagramModel::LeaveOut { source.facts.datagram_flows } else { 0 };
    if source.path.is_none() || source.facts.connections > unsent {
        return Ok(());
    }
    // Of an input without any flow they were told when it was read.
    let told = source.facts.capture.warnings.iter().filter(|_| source.facts.connections > 0);
    let error = told.fold(Error::new("there is no connection to replay"), Error::note);
    let flows = unsent_flows(&source.facts, datagrams);
    if flows > 0 && plan.experiment.workload.model.is_some() {
        let left_out = Warning::DatagramsNotReplayed { flows, of_capture: false };
        return Err(error.note(left_out.cause()).hint_if(left_out.remedy()));
    }
    if plan.experiment.workload.is_made() {
        return Err(error.hint("ask for a longer duration, for more of them, or for other seeds"));
    }
    let error = match set_aside_text(&set_aside(&source.facts, datagrams)) {
        reasons if reasons.is_empty() => error,
        reasons => error.note(format_args!("set aside: {reasons}")),
    };
    Err(error.hint("`flowloom describe -v` says what the input holds and why it was set aside"))
}

/// Flows of datagrams of the workload with the most.
pub fn datagram_flows(sources: &[Arc<Source>]) -> u64 {
    sources.iter().map(|source| source.facts.datagram_flows).max().unwrap_or(0)
}
