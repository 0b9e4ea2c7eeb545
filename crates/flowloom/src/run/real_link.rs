//! The stretch of a monitor's store that a run is shown beside (`measure.real-link`).

use std::ops::Range;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_monitor::{Archive, Held, Stretch, bits_of};
use flowloom_report::real_link::{CountedFacts, RealLinkFacts};
use flowloom_store::monitor::{Kind, SECOND, Series, utc_text};
use flowloom_store::run_folder::RunWriter;

use crate::error::{Error, KeyError};
use crate::experiment::{Experiment, RealLinkKeys};

/// Intervals of a direction, at most: two million are almost six hours at 10 ms, and take 100 MB while they are written.
const MOST_INTERVALS: usize = 1 << 21;

/// The port of a store that a run is shown beside.
#[derive(Clone, Debug, PartialEq)]
pub struct RealLink {
    keys: RealLinkKeys,
    /// Its counters, each with the side whose packets it counts.
    counters: Vec<(LinkSide, Counter)>,
}

/// A counter: its series, several if its interval or unit was changed, each with the bits of its unit.
type Counter = Vec<(Series, u64)>;

impl RealLink {
    /// Finds the port in its store.
    ///
    /// # Errors
    /// The store cannot be read; it has no such port, or no counter of it that has bits.
    pub fn find(keys: &RealLinkKeys) -> Result<RealLink, Error> {
        let wrong =
            |key: &str, problem: String| Error::from(KeyError::new(format!("measure.real-link.{key}"), problem));
        let archive = Archive::open(&keys.store).map_err(|error| wrong("store", format!("cannot be read: {error}")))?;
        let series = archive.series().map_err(Error::of)?;
        let of_port: Vec<&Series> =
            series.iter().filter(|one| one.target == keys.target && one.port == keys.port).collect();
        if of_port.is_empty() {
            let has_target = series.iter().any(|one| one.target == keys.target);
            let (key, value) = if has_target { ("port", &keys.port) } else { ("target", &keys.target) };
            let problem = format!("of {value:?} is not in {}", keys.store.display());
            return Err(wrong(key, problem).hint("flowloom monitor list prints what is there"));
        }
        let mut counters = Vec::new();
        for (from, name, is_given) in keys.counters() {
            let found: Vec<&&Series> = of_port.iter().filter(|one| one.counter == name).collect();
            let bits = |one: &Series| bits_of(&one.unit).filter(|_| one.kind == Kind::Counter);
            let counter: Counter = found.iter().filter_map(|one| Some(((**one).clone(), bits(one)?))).collect();
            match found.first() {
                _ if !counter.is_empty() => counters.push((from, counter)),
                None if !is_given => {}
                None => return Err(wrong(key_of(keys, from), format!("of {name:?} is no counter of this port"))),
                Some(one) => {
                    let problem = format!("of {name:?} counts {}, which have no bits", one.unit);
                    return Err(wrong(key_of(keys, from), problem).hint("name a counter of octets or of cells"));
                }
            }
        }
        if counters.is_empty() {
            let hint = "name its counters of octets or cells: measure.real-link.out, measure.real-link.in";
            return Err(wrong("port", format!("of {:?} has no counters in and out", keys.port)).hint(hint));
        }
        Ok(RealLink { keys: keys.clone(), counters })
    }

    /// Refuses an experiment whose workload will say nothing of the time at which its packets crossed the link, if no key does.
    ///
    /// # Errors
    /// The cause.
    pub fn check_time(&self, experiment: &Experiment, has_sources: bool, anonymize: bool) -> Result<(), KeyError> {
        let workload = &experiment.workload;
        let why = match self.keys.begins_ns() {
            Some(_) => return Ok(()),
            None if workload.model.is_some() || !has_sources => "the run replays no capture",
            None if workload.load.is_some() => "the workload has another load than the capture (workload.load)",
            None if experiment.run.variation().is_some() => "starts are drawn anew (run.vary)",
            None if anonymize => "the time is left out (--anonymize)",
            None => return Ok(()),
        };
        Err(no_time(why))
    }

    /// Records what the link carried beside the window of a run, which is in nanoseconds from the start of the run: `captured_ns` is when the
    /// run's start happened, in nanoseconds since 1970 UTC, if that is known.
    ///
    /// # Errors
    /// Nobody knows when; nothing is known of that time; the store is damaged or cannot be read; the folder cannot be written.
    pub fn record(
        &self,
        writer: &mut RunWriter,
        window: &Range<u64>,
        captured_ns: Option<u64>,
        anonymize: bool,
    ) -> Result<RealLinkFacts, Error> {
        let from_ns = self.keys.begins_ns().or_else(|| captured_ns?.checked_add(window.start));
        let from_ns = from_ns.ok_or_else(|| no_time("the workload does not say when it was captured"))?;
        let period = from_ns..from_ns.saturating_add(window.end - window.start);
        let mut facts = RealLinkFacts { to_ns: period.end - period.start, ..RealLinkFacts::default() };
        if !anonymize {
            let (target, port) = (self.keys.target.clone(), self.keys.port.clone());
            facts = RealLinkFacts { target, port, from_ns: period.start, to_ns: period.end, ..facts };
        }
        for (from, counter) in &self.counters {
            let Some(counted) = self.counted(writer, *from, counter, &period, window.start)? else { continue };
            let counted = match anonymize {
                true => CountedFacts { counter: key_of(&self.keys, *from).to_owned(), ..counted },
                false => counted,
            };
            match from {
                LinkSide::Left => facts.left_to_right = Some(counted),
                LinkSide::Right => facts.right_to_left = Some(counted),
            }
        }
        if facts.left_to_right.is_none() && facts.right_to_left.is_none() {
            let (port, target) = (&self.keys.port, &self.keys.target);
            let (from, to) = (utc_text(period.start), utc_text(period.end));
            let problem = format!("of {port:?} has no rate that is known from {from} to {to} ({target})");
            return Err(Error::from(KeyError::new("measure.real-link.port", problem))
                .hint("measure.real-link.from says when the window begins (UTC)"));
        }
        Ok(facts)
    }

    /// Records one direction in a period, of which the beginning stands at `at_ns` of the run; `None` if nothing is known of it.
    fn counted(
        &self,
        writer: &mut RunWriter,
        from: LinkSide,
        counter: &Counter,
        period: &Range<u64>,
        at_ns: u64,
    ) -> Result<Option<CountedFacts>, Error> {
        let archive = Archive::open(&self.keys.store).map_err(Error::of)?;
        let Some(Stretch { held, places }) = archive.held(counter, period, MOST_INTERVALS).map_err(Error::of)? else {
            return Err(Error::new(format_args!(
                "a counter of {} has more than {MOST_INTERVALS} samples in the window",
                self.keys.port
            ))
            .hint("make the window shorter (measure.window)"));
        };
        let known: Vec<Held> = held.into_iter().filter(is_known).collect();
        // That of the last series, if there are several.
        let Some((series, _)) = places.last().and_then(|place| counter.get(*place)).filter(|_| !known.is_empty())
        else {
            return Ok(None);
        };
        let known_ns: u64 = known.iter().map(Held::length_ns).sum();
        writer.real_link(from, intervals(&known, period.start, at_ns)).map_err(Error::of)?;
        Ok(Some(CountedFacts {
            counter: series.counter.clone(),
            unit: series.unit.clone(),
            interval_ns: series.interval_ns,
            unknown_ns: (period.end - period.start).saturating_sub(known_ns),
        }))
    }
}

fn no_time(why: &str) -> KeyError {
    KeyError::new(
        "measure.real-link.from",
        format_args!(
            "is missing: {why}; give the time (UTC) that stands at the beginning of the window, as 2026-11-27T10:00"
        ),
    )
}

/// The key that names the counter of packets from `from`.
fn key_of(keys: &RealLinkKeys, from: LinkSide) -> &'static str {
    if keys.counters()[0].0 == from { "out" } else { "in" }
}

/// Whether all of its time is known. Of rows of minutes and hours that are known in part nobody knows which part.
fn is_known(held: &Held) -> bool {
    /// What the clock of a sample and that of its answer may differ.
    const SLACK: u64 = 100;
    let length = held.length_ns();
    held.covered_ns >= length - length / SLACK
}

/// Intervals in the time of a run, with their bytes; what was counted is in billionths of a bit. What rounding takes from one interval is in
/// the next.
fn intervals(held: &[Held], from_ns: u64, at_ns: u64) -> impl Iterator<Item = (Time, Duration, u64)> {
    let (mut counted, mut told) = (0_u128, 0_u128);
    held.iter().map(move |one| {
        counted = counted.saturating_add(one.integral);
        let bytes = counted / 8 / u128::from(SECOND) - told;
        told += bytes;
        let start = Time::from_nanos(one.start_ns - from_ns + at_ns);
        (start, Duration::from_nanos(one.length_ns()), u64::try_from(bytes).unwrap_or(u64::MAX))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_loses_no_byte() {
        // Thirds of an octet.
        let third = |start_ns: u64| Held { start_ns, end_ns: start_ns + 10, covered_ns: 10, integral: 8 * 333_333_334 };
        let found: Vec<_> = intervals(&[third(100), third(110), third(130)], 100, 7).collect();
        let starts: Vec<u64> = found.iter().map(|(start, ..)| start.as_nanos()).collect();
        assert_eq!(starts, [7, 17, 37]);
        assert_eq!(found.iter().map(|(.., bytes)| bytes).sum::<u64>(), 1);
    }

    #[test]
    fn rows_that_are_known_in_part_are_gaps() {
        let row = |covered_ns| Held { start_ns: 0, end_ns: 60_000, covered_ns, integral: 1 };
        assert_eq!([60_000, 59_900, 50_000].map(|covered| is_known(&row(covered))), [true, true, false]);
    }
}
