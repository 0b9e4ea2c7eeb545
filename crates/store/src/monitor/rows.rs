//! Rows of the tables of a monitor's store.

use serde::{Deserialize, Serialize};

use super::catalogue::Kind;
use super::level::{MILLIONTHS, SECOND};
use crate::table::{Column, Row, Text, column};

/// What was counted between two answers: a row of `samples-*.parquet`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampleRow {
    /// The series.
    pub series: u32,
    /// When the later answer was received, in nanoseconds since 1970 UTC.
    pub time_ns: u64,
    /// Time since the answer before, in nanoseconds.
    pub span_ns: u64,
    /// What was counted in that time; of a gauge, its value.
    pub amount: u64,
}

impl SampleRow {
    /// The rate in millionths of a unit per second; of a gauge, its value in millionths.
    pub fn millionths(&self, kind: Kind) -> u64 {
        let scaled = u128::from(self.amount) * u128::from(MILLIONTHS);
        let value = match kind {
            Kind::Gauge => scaled,
            Kind::Counter => scaled * u128::from(SECOND) / u128::from(self.span_ns.max(1)),
        };
        // What is stored is signed.
        u64::try_from(value).unwrap_or(u64::MAX).min(i64::MAX as u64)
    }
}

impl Row for SampleRow {
    const TABLE: &'static str = "monitor-samples";
    const GROUP_ROWS: usize = 16_384;

    fn blank() -> SampleRow {
        SampleRow::default()
    }

    fn columns() -> Vec<Column<SampleRow>> {
        vec![
            column("series", |r: &Self| r.series, |r, v| r.series = v),
            column("time_ns", |r: &Self| r.time_ns, |r, v| r.time_ns = v),
            column("span_ns", |r: &Self| r.span_ns, |r, v| r.span_ns = v),
            column("amount", |r: &Self| r.amount, |r, v| r.amount = v),
        ]
    }
}

/// The samples of a series in a second, a minute or an hour: a row of `seconds-*`, `minutes-*` and `hours-*.parquet`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelRow {
    /// The series.
    pub series: u32,
    /// When it begins, in nanoseconds since 1970 UTC. A sample belongs to the row in which it ends.
    pub start_ns: u64,
    /// The least sample, in millionths of a unit (per second).
    pub least: u64,
    /// The greatest sample, in millionths of a unit (per second).
    pub most: u64,
    /// The mean over the time that samples cover, in millionths of a unit (per second).
    pub mean: u64,
    /// Time that samples cover, in nanoseconds.
    pub covered_ns: u64,
    /// Number of samples.
    pub samples: u64,
}

impl LevelRow {
    /// Adds the samples of `other`, which is of the same series and time.
    pub fn add(&mut self, other: &LevelRow) {
        if other.samples == 0 {
            return;
        }
        if self.samples == 0 {
            (self.least, self.most) = (other.least, other.most);
        } else {
            self.least = self.least.min(other.least);
            self.most = self.most.max(other.most);
        }
        let covered = u128::from(self.covered_ns) + u128::from(other.covered_ns);
        let sum = |row: &LevelRow| u128::from(row.mean) * u128::from(row.covered_ns);
        if let Some(mean) = (sum(self) + sum(other) + covered / 2).checked_div(covered) {
            self.mean = u64::try_from(mean).unwrap_or(u64::MAX);
        }
        self.covered_ns = u64::try_from(covered).unwrap_or(u64::MAX);
        self.samples += other.samples;
    }
}

impl Row for LevelRow {
    const TABLE: &'static str = "monitor-level";
    const GROUP_ROWS: usize = 16_384;

    fn blank() -> LevelRow {
        LevelRow::default()
    }

    fn columns() -> Vec<Column<LevelRow>> {
        vec![
            column("series", |r: &Self| r.series, |r, v| r.series = v),
            column("start_ns", |r: &Self| r.start_ns, |r, v| r.start_ns = v),
            column("least_millionths", |r: &Self| r.least, |r, v| r.least = v),
            column("most_millionths", |r: &Self| r.most, |r, v| r.most = v),
            column("mean_millionths", |r: &Self| r.mean, |r, v| r.mean = v),
            column("covered_ns", |r: &Self| r.covered_ns, |r, v| r.covered_ns = v),
            column("samples", |r: &Self| r.samples, |r, v| r.samples = v),
        ]
    }
}

/// Why a rate is unknown (methods I.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The target did not answer.
    #[default]
    NoAnswer,
    /// The target answered with an error, or something that is no answer.
    BadAnswer,
    /// The agent restarted: its uptime went down.
    Restart,
    /// The counter went back, and not because it wrapped.
    Reset,
    /// So much time passed that the counter may have wrapped more than once.
    Ambiguous,
    /// The port came back with another index.
    IndexChange,
    /// The target answered without this port or counter.
    Absent,
    /// The counter rose by more than the port can carry.
    AboveCapacity,
    /// The monitor did not run.
    NotRunning,
    /// The monitor was not able to ask in time.
    Late,
}

impl Reason {
    /// Its name, as in tables and JSON.
    pub fn name(self) -> &'static str {
        Reason::NAMES.iter().find(|(_, reason)| *reason == self).map_or("", |(name, _)| name)
    }
}

impl Text for Reason {
    const NAMES: &'static [(&'static str, Reason)] = &[
        ("no-answer", Reason::NoAnswer),
        ("bad-answer", Reason::BadAnswer),
        ("restart", Reason::Restart),
        ("reset", Reason::Reset),
        ("ambiguous", Reason::Ambiguous),
        ("index-change", Reason::IndexChange),
        ("absent", Reason::Absent),
        ("above-capacity", Reason::AboveCapacity),
        ("not-running", Reason::NotRunning),
        ("late", Reason::Late),
    ];
}

/// A time in which a rate is unknown: a row of `gaps-*.parquet`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GapRow {
    /// The series; that of a whole target speaks for all of its series.
    pub series: u32,
    /// The last answer before, in nanoseconds since 1970 UTC.
    pub start_ns: u64,
    /// The first answer after, in nanoseconds since 1970 UTC.
    pub end_ns: u64,
    /// Why.
    pub reason: Reason,
    /// What was counted in that time, where that is known.
    pub amount: Option<u64>,
}

impl Row for GapRow {
    const TABLE: &'static str = "monitor-gaps";
    const GROUP_ROWS: usize = 16_384;

    fn blank() -> GapRow {
        GapRow::default()
    }

    fn columns() -> Vec<Column<GapRow>> {
        vec![
            column("series", |r: &Self| r.series, |r, v| r.series = v),
            column("start_ns", |r: &Self| r.start_ns, |r, v| r.start_ns = v),
            column("end_ns", |r: &Self| r.end_ns, |r, v| r.end_ns = v),
            column("reason", |r: &Self| r.reason, |r, v| r.reason = v),
            column("amount", |r: &Self| r.amount, |r, v| r.amount = v),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_in_millionths_per_second() {
        let sample = |amount, span_ns| SampleRow { series: 0, time_ns: 0, span_ns, amount };
        // Methods I.5: 19,296 cells of 53 bytes in 60 s and in 60.37 s, in bit/s.
        let bits = |span_ns| sample(19_296, span_ns).millionths(Kind::Counter) as f64 * 424.0 / 1e6;
        assert!((bits(60 * SECOND) - 136_358.4).abs() < 1e-3);
        assert!((bits(60_370_000_000) - 135_522.677).abs() < 1e-3);
        assert_eq!(sample(1, 86_400 * SECOND).millionths(Kind::Counter), 11);
        assert_eq!(sample(7, 1).millionths(Kind::Gauge), 7 * MILLIONTHS);
        assert_eq!(sample(u64::MAX, 1).millionths(Kind::Counter), i64::MAX as u64);
    }

    #[test]
    fn rows_of_a_level_add_up() {
        let row = |least, most, mean, covered_ns, samples| LevelRow {
            least,
            most,
            mean,
            covered_ns,
            samples,
            ..LevelRow::default()
        };
        let mut sum = row(0, 0, 0, 0, 0);
        for part in [row(5, 9, 6, 2 * SECOND, 2), row(0, 0, 0, 0, 0), row(1, 20, 12, SECOND, 4)] {
            sum.add(&part);
        }
        assert_eq!(sum, row(1, 20, 8, 3 * SECOND, 6));
    }
}
