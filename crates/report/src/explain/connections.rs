//! The connections that differ most between a replay and its original, and what explains each.

use std::collections::BTreeMap;

use serde::Serialize;

use flowloom_core::record::Outcome;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::Pattern;
use flowloom_store::FileError;
use flowloom_store::run_folder::{ConnectionRow, Point, RunFolder};

use super::cause::Cause;
use super::quantities::{explained_by, worsened_by};
use super::replays::Replays;
use super::replays::Tried;
use crate::metric::Metric;

/// Times of the same things in the original and at the monitor of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How many: 1 duration, or the exchanges that both have.
    pub count: u64,
    /// Sum of the original's.
    pub original: Duration,
    /// Sum of the replay's.
    pub replay: Duration,
}

impl Times {
    fn add(&mut self, original: Duration, replay: Duration) {
        self.count += 1;
        self.original += original;
        self.replay += replay;
    }

    /// Replay - original, in nanoseconds.
    fn difference(&self) -> i64 {
        self.replay.as_nanos() as i64 - self.original.as_nanos() as i64
    }

    /// How far the two are apart; 0 within the margin of times, which is as good as none (methods M.6).
    fn apart(&self) -> u64 {
        let apart = self.difference().unsigned_abs();
        let margin = Metric::Duration.tolerance().of(self.original.as_nanos() as f64);
        if apart as f64 > margin { apart } else { 0 }
    }
}

/// A connection of a replay: when it started, its duration and its response times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OfConnection {
    start: Time,
    is_sequential: bool,
    duration: Times,
    responses: Times,
}

/// Durations and response times of the connections of a replay that started in a window, beside their original's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionTimes(BTreeMap<u64, OfConnection>);

impl ConnectionTimes {
    /// Reads the connections in `folder` that started in `window` and that `wanted` names.
    ///
    /// # Errors
    /// A table is missing or cannot be read.
    pub fn read(
        folder: &RunFolder,
        window: (Time, Time),
        wanted: impl Fn(u64) -> bool,
    ) -> Result<ConnectionTimes, FileError> {
        let mut found = BTreeMap::new();
        for row in folder.connections()? {
            let row = row?;
            if window.0 <= row.start && row.start < window.1 && wanted(row.id) {
                let mut duration = Times::default();
                if let (Some(original), Some(replay)) =
                    (row.original_duration, row.monitor_duration.filter(|_| is_over(&row)))
                {
                    duration.add(original, replay);
                }
                let is_sequential = row.pattern == Pattern::Sequential;
                let responses = Times::default();
                found.insert(row.id, OfConnection { start: row.start, is_sequential, duration, responses });
            }
        }
        // Of each connection the original's exchanges come before the replay's.
        let mut originals: (u64, BTreeMap<u32, Duration>) = Default::default();
        for row in folder.epochs()? {
            let row = row?;
            let Some(of) = found.get_mut(&row.connection).filter(|of| of.is_sequential) else { continue };
            let Some(response) = row.response else { continue };
            if originals.0 != row.connection {
                originals = (row.connection, BTreeMap::new());
            }
            match row.point {
                Point::Original => drop(originals.1.insert(row.epoch, response)),
                Point::Monitor => {
                    if let Some(original) = originals.1.get(&row.epoch) {
                        of.responses.add(*original, response);
                    }
                }
                Point::Endpoint => {}
            }
        }
        found.retain(|_, of| of.duration.count + of.responses.count > 0);
        Ok(ConnectionTimes(found))
    }

    /// Connections of which something can be compared.
    pub fn compared(&self) -> usize {
        self.0.len()
    }

    /// How far the connection with this number is from the original, in its duration or its response times.
    fn apart(&self, id: u64) -> u64 {
        let of = self.0.get(&id);
        of.map_or(0, |of| of.duration.apart().max(of.responses.apart()))
    }
}

/// Whether all data of a connection was delivered: another one has no duration.
fn is_over(row: &ConnectionRow) -> bool {
    let delivered = row.delivered_to_acceptor_bytes + row.delivered_to_initiator_bytes;
    row.outcome == Outcome::Completed || delivered >= row.initiator_bytes + row.acceptor_bytes
}

/// Connections that are told, at most.
const MOST: usize = 10;

/// The numbers of the connections that differ most from their original in the replay without anything or in that with everything, the
/// farthest first. Those that do not differ by more than the margin are none.
pub fn most_different(nothing: &ConnectionTimes, all: &ConnectionTimes) -> Vec<u64> {
    let apart = |id: &u64| nothing.apart(*id).max(all.apart(*id));
    let mut different: Vec<u64> = all.0.keys().copied().filter(|id| apart(id) > 0).collect();
    different.sort_by_key(|id| (std::cmp::Reverse(apart(id)), *id));
    different.truncate(MOST);
    different
}

/// By how much replays with and without a cause differ from the original, in nanoseconds; negative where they are shorter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimeDifferences {
    /// The cause's name.
    pub cause: String,
    /// Of the replay that has this cause alone.
    pub alone_ns: Option<i64>,
    /// Of the replay that has all causes but this.
    pub left_out_ns: Option<i64>,
}

/// The duration or the response times of a connection, explained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedTimes {
    /// 1 duration, or how many response times are added.
    pub count: u64,
    /// The original's.
    pub original_ns: u64,
    /// By how much the replay without any cause differs; negative if it is shorter.
    pub nothing_ns: Option<i64>,
    /// By how much the one with all of them does: what is left is unknown.
    pub all_ns: Option<i64>,
    /// Cause by cause.
    pub causes: Vec<TimeDifferences>,
    /// The cause that is worth most, or `unknown` if more than that is left with all causes; null where nothing differs.
    pub explained_by: Option<String>,
    /// Where the replay with all causes is farther away than that without any: the cause that brings it farthest; else null.
    pub worsened_by: Option<String>,
}

impl ExplainedTimes {
    fn new(causes: &[Cause], times: &Replays<Option<Times>>) -> Option<ExplainedTimes> {
        let Times { count, original, .. } = times.all.or(times.nothing)?;
        let differences = times.map(|times| times.map(|times| times.difference()));
        let amounts = differences.map(|difference| difference.map(|ns| ns.unsigned_abs() as f64));
        let tried = causes.iter().zip(&differences.causes);
        let tried = tried.map(|(cause, &Tried { alone, left_out })| TimeDifferences {
            cause: cause.name.clone(),
            alone_ns: alone,
            left_out_ns: left_out,
        });
        Some(ExplainedTimes {
            count,
            original_ns: original.as_nanos(),
            nothing_ns: differences.nothing,
            all_ns: differences.all,
            causes: tried.collect(),
            explained_by: explained_by(causes, &amounts),
            worsened_by: worsened_by(causes, &amounts),
        })
    }

    /// How far the replays without anything and with everything are from the original, the farther one.
    fn apart(&self) -> u64 {
        self.nothing_ns.into_iter().chain(self.all_ns).map(i64::unsigned_abs).max().unwrap_or(0)
    }
}

/// A connection, explained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedConnection {
    /// Its number in the workload.
    pub id: u64,
    /// When it started in the original, from the start of the capture.
    pub start_ns: u64,
    /// First to last data byte; null where a replay did not deliver all data, or the original has none.
    pub duration: Option<ExplainedTimes>,
    /// The sum of its response times; null without any.
    pub responses: Option<ExplainedTimes>,
}

impl ExplainedConnection {
    pub(super) fn new(id: u64, causes: &[Cause], replays: &Replays<ConnectionTimes>) -> Option<ExplainedConnection> {
        let times = |of: fn(&OfConnection) -> Times| {
            let known = replays.map(|times| times.0.get(&id).map(of).filter(|times| times.count > 0));
            ExplainedTimes::new(causes, &known)
        };
        Some(ExplainedConnection {
            id,
            start_ns: replays.all.0.get(&id)?.start.as_nanos(),
            duration: times(|of| of.duration),
            responses: times(|of| of.responses),
        })
    }

    /// What differs more: `duration` or `responses`.
    pub fn farthest(&self) -> Option<(&'static str, &ExplainedTimes)> {
        let known = [("duration", &self.duration), ("responses", &self.responses)];
        let known = known.into_iter().filter_map(|(name, times)| Some((name, times.as_ref()?)));
        // Of equal ones the first: max_by_key has the last.
        known.rev().max_by_key(|(_, times)| times.apart())
    }
}
