//! The workloads of the runs of a plan: opened, extracted from captures, or made; and what of them is not replayed.

use std::collections::BTreeMap;

use flowloom_models::{FEWEST_BLOCKS, Variation};
use flowloom_report::facts::set_aside_text;

use crate::context::Context;
use crate::error::Error;
use crate::experiment::{DatagramModel, Experiment};
use crate::extraction::CaptureOptions;
use crate::run::plan::Plan;
use crate::warning::Warning;
use crate::workload::generation::{Blocks, Generation};
use crate::workload::source::{Inputs, Source};

/// One workload for all seeds, or one for each if it is drawn.
///
/// # Errors
/// What the inputs could not be read as, or the model not make; a workload without anything to replay.
pub fn workloads(plan: &Plan, capture: &CaptureOptions, context: Context<'_>) -> Result<Vec<Source>, Error> {
    let sources = open_or_make(plan, capture, context)?;
    sources.iter().try_for_each(|source| refuse_empty(plan, source))?;
    let (seeds, variation) = (&plan.experiment.run.seeds, plan.experiment.run.variation());
    let Some(first) = sources.first().filter(|source| source.path.is_some()) else { return Ok(sources) };
    if variation.is_some() && !first.is_draw(variation) {
        context.warn(&Warning::TooShortToDraw { length: first.facts.observed() });
    } else if seeds.len() > 1 && !plan.experiment.draws() {
        context.warn(&Warning::SeedsAlike);
    } else if let Some(Blocks { length, count, .. }) = first.blocks.filter(|blocks| blocks.count < FEWEST_BLOCKS) {
        context.warn(&Warning::FewBlocks { length, blocks: count });
    }
    Ok(sources)
}

fn open_or_make(plan: &Plan, capture: &CaptureOptions, context: Context<'_>) -> Result<Vec<Source>, Error> {
    let capture = CaptureOptions { missing: Some(plan.experiment.workload.missing), ..capture.clone() };
    let inputs = Inputs { paths: &plan.sources, kind: plan.kind, capture: &capture, target: &plan.target };
    let workload = &plan.experiment.workload;
    let base = match workload.model {
        None => Some(Source::open(inputs, context)?),
        Some(_) => None,
    };
    let is_too_short = |variation: Variation| {
        variation == Variation::Blocks && base.iter().any(|base| !Blocks::fit(base.facts.observed()))
    };
    let variation = plan.experiment.run.variation().filter(|variation| !is_too_short(*variation));
    let base = match base {
        Some(base) if base.path.is_none() || !(workload.is_made() || variation.is_some()) => return Ok(vec![base]),
        base => base,
    };
    base.iter().try_for_each(|base| refuse_empty(plan, base))?;
    let seeds = &plan.experiment.run.seeds;
    let seeds = if workload.is_drawn() || variation.is_some() { &seeds[..] } else { &seeds[..1] };
    let duration = plan.experiment.measure.duration.as_ref().map(|duration| duration.value);
    let duration = duration.map(|duration| duration + workload.prefill().shift());
    let made = |&seed| {
        let generation = Generation { workload, base: base.as_ref(), variation, seed, duration, stop: context.stop() };
        Source::made(&generation, &plan.target, context).map_err(|error| match &plan.file {
            Some(file) => Experiment::locate_key(error, file),
            None => error,
        })
    };
    seeds.iter().map(made).collect()
}

/// Refuses a workload without anything to replay.
fn refuse_empty(plan: &Plan, source: &Source) -> Result<(), Error> {
    if source.path.is_none() || source.facts.connections > left_out_flows(plan, source) {
        return Ok(());
    }
    let error = Error::new("there is no connection to replay");
    let flows = left_out_flows(plan, source);
    if flows > 0 && plan.experiment.workload.model.is_some() {
        let left_out = Warning::DatagramsNotReplayed { flows, of_capture: false };
        return Err(error.note(left_out.cause()).hint_if(left_out.remedy()));
    }
    if plan.experiment.workload.is_made() {
        return Err(error.hint("ask for a longer duration, or for more of them"));
    }
    let error = match set_aside_text(&set_aside(plan, source)) {
        reasons if reasons.is_empty() => error,
        reasons => error.note(format_args!("set aside: {reasons}")),
    };
    Err(error.hint("`flowloom describe -v` says what the input holds and why it was set aside"))
}

/// Flows of datagrams of the workload with the most.
pub fn datagram_flows(sources: &[Source]) -> u64 {
    sources.iter().map(|source| source.facts.datagram_flows).max().unwrap_or(0)
}

/// Flows of datagrams of the workload that are not sent.
pub fn left_out_flows(plan: &Plan, source: &Source) -> u64 {
    match plan.experiment.workload.datagrams {
        DatagramModel::LeaveOut => source.facts.datagram_flows,
        DatagramModel::AsSeen => 0,
    }
}

/// What is not replayed, by reason: what extraction set aside, and flows of datagrams.
pub fn set_aside(plan: &Plan, source: &Source) -> BTreeMap<String, u64> {
    let (capture, datagram_flows) = (&source.facts.capture, left_out_flows(plan, source));
    let quic = capture.datagrams.quic.flows.saturating_sub(capture.datagrams.quic.no_data).min(datagram_flows);
    let flows = [("flows-udp", datagram_flows - quic), ("flows-quic", quic)];
    let flows = flows.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count));
    capture.set_aside.clone().into_iter().chain(flows).collect()
}
