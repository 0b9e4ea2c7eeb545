//! The rates of links, and the load that a rate in percent is of (methods M.9).

use std::collections::BTreeMap;
use std::ops::Range;

use flowloom_core::extract::TrafficSeries;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Rate, three_digits};
use flowloom_core::workload::LinkSide;
use flowloom_models::Variation;
use flowloom_store::workload::TrafficFacts;

use crate::error::{Error, KeyError};
use crate::experiment::{Experiment, Quantity, RateChoice};
use crate::workload::source::{Source, bytes_within};

/// The rate of the link with this key.
///
/// # Errors
/// A rate that no link has; a share of a load that nobody knows; a workload file that cannot be read.
pub fn link_rate(
    key: &str,
    choice: &Quantity<RateChoice>,
    source: &Source,
    experiment: &Experiment,
) -> Result<Rate, Error> {
    const DEFAULT: f64 = 1e9;
    let computed = |bits: f64| {
        let possible = Some(bits.ceil() as u64).filter(|bits| (Rate::SLOWEST..=Rate::FASTEST).contains(bits));
        possible.and_then(Rate::from_bits_per_second).ok_or_else(|| {
            let bound = if bits < 1e9 { "at least 100 bit/s" } else { "at most 100 Tbit/s" };
            let problem = format_args!("of {choice} comes to {} bit/s, and a link has {bound}", three_digits(bits));
            Error::from(KeyError::new(format!("{key}.rate"), problem)).hint("give another share of the load, or a rate")
        })
    };
    let bits_per_second = |bytes: u64, time: Duration| 8.0 * bytes as f64 / time.as_secs_f64().max(1e-9);
    let bits = match choice.value {
        RateChoice::Fixed(rate) => return Ok(rate),
        RateChoice::Auto => {
            let peak = bits_per_second(source.facts.capture.peak_10ms_bytes, TrafficSeries::WIDTH);
            (2.0 * peak).max(DEFAULT)
        }
        RateChoice::OfLoad(factor) => {
            let part = part(experiment, source);
            let Some((bytes, time)) = source.link_load(experiment.workload.datagrams, part.as_ref())? else {
                return Err(Error::from(KeyError::new(
                    format!("{key}.rate"),
                    format_args!("of {choice} is relative to the original's load, which this workload does not know"),
                ))
                .hint(
                    "give a rate, as in --rate 100mbit; captures and workloads extracted from them know their load",
                ));
            };
            let load = bytes.map(|bytes| bits_per_second(bytes, time));
            factor * load[0].max(load[1])
        }
    };
    computed(bits)
}

/// The part of a workload that the run replays, in the workload's own times; `None` of all of it. Of a draw whose load is that of what it
/// was drawn from, that load is taken.
fn part(experiment: &Experiment, source: &Source) -> Option<Range<Time>> {
    let prefill = experiment.workload.prefill();
    let length = Duration::from_nanos(source.facts.capture.duration_ns);
    let (begin, given) = (experiment.workload.prefill_length(), experiment.measure.duration.as_ref());
    let end = given.map_or(length, |given| length.min(prefill.shift() + given.value));
    let is_part = !begin.is_zero() || end < length;
    (is_part && begin < end && !source.is_draw(experiment.run.variation()))
        .then(|| Time::ZERO + begin..Time::ZERO + end)
}

/// What the bottleneck's rate in percent is of, and the busiest second of that, where it is known: " (105% of the mean; ...)".
pub fn of_load(experiment: &Experiment, source: &Source, datagrams: bool) -> String {
    let rate = &experiment.network.bottleneck.rate;
    if !matches!(rate.value, RateChoice::OfLoad(_)) {
        return String::new();
    }
    let (traffic, part) = (&source.facts.traffic, part(experiment, source));
    let mean = match &part {
        Some(part) if part.start == Time::ZERO => {
            format!("{rate} of the mean of the first {}", part.end.since(part.start))
        }
        Some(part) => {
            let [from, to] = [part.start, part.end].map(|at| at.since(Time::ZERO));
            format!("{rate} of the mean from {from} to {to}")
        }
        None if source.is_draw(Some(Variation::Blocks)) => format!("{rate} of the mean of what blocks were drawn from"),
        None if source.is_draw(experiment.run.variation()) => {
            format!("{rate} of the mean of what has its starts moved")
        }
        None if experiment.measure.window.is_some() => {
            format!("{rate} of the mean of the whole original, not of the window")
        }
        None => format!("{rate} of the mean"),
    };
    match busiest_second(traffic, datagrams, part.as_ref()) {
        Some(busiest) => {
            let is_of_all = left_out_share(traffic, datagrams) < NOTABLE_LEFT_OUT;
            let base = if is_of_all { "" } else { "; both of the replayed packets alone" };
            let whole = if part.is_none() { "the original" } else { "that part" };
            format!(" ({mean}; the busiest second of {whole} has {busiest}{base})")
        }
        None => format!(" ({mean})"),
    }
}

/// From this share of the original's bytes on that are not replayed, an answer says what its rates are of.
const NOTABLE_LEFT_OUT: f64 = 0.1;

/// The share of the original's bytes that are not replayed.
fn left_out_share(traffic: &TrafficFacts, datagrams: bool) -> f64 {
    let sides = || [LinkSide::Left, LinkSide::Right].into_iter();
    let [sent, left_out] = [TrafficFacts::sent, TrafficFacts::left_out]
        .map(|of| sides().map(|side| of(traffic, side, datagrams).total().bytes as f64).sum::<f64>());
    left_out / (sent + left_out).max(1.0)
}

/// The most that passed from one side in a second of the replayed packets of the original, or of a part of it, counted from its start; `None`
/// if nobody saw packets.
pub fn busiest_second(traffic: &TrafficFacts, datagrams: bool, part: Option<&Range<Time>>) -> Option<Rate> {
    let start = part.map_or(Time::ZERO, |part| part.start);
    let of_side = |from: LinkSide| {
        let series = traffic.sent(from, datagrams);
        let mut seconds: BTreeMap<u64, u64> = BTreeMap::new();
        for (at, bytes) in bytes_within(&series, part) {
            *seconds.entry(at.since(start).as_nanos() / 1_000_000_000).or_default() += bytes;
        }
        seconds.into_values().max()
    };
    let bytes = [LinkSide::Left, LinkSide::Right].into_iter().filter_map(of_side).max()?;
    Rate::from_bits_per_second(8 * bytes)
}
