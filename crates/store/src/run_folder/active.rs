//! Active connections at whole seconds (methods C.4), from starts and ends in any order.

use std::collections::BTreeMap;

use flowloom_core::time::{Duration, Time};

use super::rows::{ActivePoint, ActiveRow};

/// By how much the count changes at each whole second at which it does. It grows with the seconds at which
/// something happens, not with connections, nor with the time between.
#[derive(Debug, Default)]
pub(super) struct ActiveCount {
    changes: BTreeMap<u64, i64>,
}

impl ActiveCount {
    /// Counts a connection that is active from `start` until before `end`, or for ever.
    pub(super) fn add(&mut self, start: Time, end: Option<Time>) {
        self.change(start, 1);
        if let Some(end) = end {
            self.change(end.max(start), -1);
        }
    }

    /// Changes the count from the first whole second at or after `time` on.
    fn change(&mut self, time: Time, by: i64) {
        *self.changes.entry(time.as_nanos().div_ceil(SECOND)).or_default() += by;
    }

    /// One row per second at which the count changes, in order.
    pub(super) fn rows(&self, point: ActivePoint) -> impl Iterator<Item = ActiveRow> + '_ {
        let mut connections = 0;
        self.changes.iter().filter(|(_, by)| **by != 0).map(move |(&second, &by)| {
            connections += by;
            ActiveRow {
                point,
                time: Time::ZERO + Duration::from_secs(second),
                // Every end was counted at or after its start, so the sum is never negative.
                connections: connections.unsigned_abs(),
            }
        })
    }
}

const SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(connections: &[(u64, Option<u64>)]) -> Vec<(u64, u64)> {
        let mut count = ActiveCount::default();
        let time = |ms: u64| Time::from_nanos(ms * 1_000_000);
        connections.iter().for_each(|&(start, end)| count.add(time(start), end.map(time)));
        count.rows(ActivePoint::Original).map(|row| (row.time.as_nanos() / SECOND, row.connections)).collect()
    }

    #[test]
    fn a_count_is_taken_at_whole_seconds_only() {
        assert_eq!(rows(&[(100, Some(900))]), [], "gone before the first second after it began");
        assert_eq!(rows(&[(1_000, Some(2_000))]), [(1, 1), (2, 0)], "the second of its close no longer counts it");
        assert_eq!(rows(&[(500, Some(3_200)), (1_500, None)]), [(1, 1), (2, 2), (4, 1)]);
    }

    #[test]
    fn a_gap_of_years_costs_nothing() {
        let year = 31_536_000_000;
        assert_eq!(rows(&[(0, Some(1_000)), (50 * year, None)]), [(0, 1), (1, 0), (50 * year / 1_000, 1)]);
    }
}
