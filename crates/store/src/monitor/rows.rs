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
    pub fn millionths(&self, kind: Kind) -> u128 {
        let scaled = u128::from(self.amount) * u128::from(MILLIONTHS);
        match kind {
            Kind::Gauge => scaled,
            Kind::Counter => scaled * u128::from(SECOND) / u128::from(self.span_ns.max(1)),
        }
    }

    /// The rate or value times the time that it holds, in billionths of a unit, or of a unit times a second for a gauge.
    pub fn integral(&self, kind: Kind) -> u128 {
        let per_amount = match kind {
            Kind::Gauge => self.span_ns,
            Kind::Counter => SECOND,
        };
        u128::from(self.amount) * u128::from(per_amount)
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

/// A second, a minute or an hour of a series: a row of `seconds-*`, `minutes-*` and `hours-*.parquet`. A sample that crosses the border of
/// two rows is in both, in each with the part of it that lies there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelRow {
    /// The series.
    pub series: u32,
    /// When it begins, in nanoseconds since 1970 UTC.
    pub start_ns: u64,
    /// The least sample, in millionths of a unit (per second).
    pub least: u128,
    /// The greatest sample, in millionths of a unit (per second).
    pub most: u128,
    /// What was counted in the time that samples cover, in billionths of a unit; of a gauge, its value times that time.
    pub integral: u128,
    /// Time that samples cover, in nanoseconds.
    pub covered_ns: u64,
    /// Number of samples that end in it.
    pub samples: u64,
}

/// `value` times `part` divided by `whole`, which is not less than `part`; rounded down.
pub fn share(value: u128, part: u64, whole: u64) -> u128 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    // The product of both 64-bit numbers fits.
    (value / whole).saturating_mul(part).saturating_add(value % whole * part / whole)
}

impl LevelRow {
    /// Adds `other`, which is of the same series, and of another time.
    pub fn add(&mut self, other: &LevelRow) {
        if other.covered_ns == 0 {
            return;
        }
        if self.covered_ns == 0 {
            (self.least, self.most) = (other.least, other.most);
        } else {
            self.least = self.least.min(other.least);
            self.most = self.most.max(other.most);
        }
        self.integral = self.integral.saturating_add(other.integral);
        self.covered_ns = self.covered_ns.saturating_add(other.covered_ns);
        self.samples += other.samples;
    }

    /// The mean over the time that samples cover, in millionths of a unit (per second); 0 if they cover none. What was counted in some
    /// nanoseconds is a few billionths, and no mean to speak of, but that it is between the least sample and the greatest.
    pub fn mean(&self) -> u128 {
        let (covered, millionths) = (u128::from(self.covered_ns), u128::from(MILLIONTHS));
        let Some(whole) = self.integral.checked_div(covered) else { return 0 };
        let mean = whole.saturating_mul(millionths) + (self.integral % covered * millionths + covered / 2) / covered;
        // Both bounds are rounded down.
        mean.clamp(self.least, self.most.saturating_add(1).max(self.least))
    }

    /// The same in units (per second), of which a rare event may be less than a millionth.
    pub fn mean_units(&self) -> f64 {
        let least = self.least as f64 / MILLIONTHS as f64;
        let most = self.most.saturating_add(1) as f64 / MILLIONTHS as f64;
        (self.integral as f64 / self.covered_ns.max(1) as f64).clamp(least, most.max(least))
    }
}

/// A value in columns: whole units in 64 bits, what is above these, and the rest of a unit.
#[derive(Clone, Copy)]
struct Parts {
    high: u64,
    whole: u64,
    rest: u64,
}

impl Parts {
    fn of(value: u128, per_unit: u64) -> Parts {
        let units = value / u128::from(per_unit);
        Parts { high: (units >> 64) as u64, whole: units as u64, rest: (value % u128::from(per_unit)) as u64 }
    }

    /// The value; the greatest one if it is none of 128 bits.
    fn value(self, per_unit: u64) -> u128 {
        let units = u128::from(self.high) << 64 | u128::from(self.whole);
        units.saturating_mul(per_unit.into()).saturating_add(self.rest.into())
    }
}

/// Puts other parts into a value.
fn with(value: &mut u128, per_unit: u64, change: impl FnOnce(&mut Parts)) {
    let mut parts = Parts::of(*value, per_unit);
    change(&mut parts);
    *value = parts.value(per_unit);
}

impl Row for LevelRow {
    const TABLE: &'static str = "monitor-level";
    const GROUP_ROWS: usize = 16_384;

    fn blank() -> LevelRow {
        LevelRow::default()
    }

    fn columns() -> Vec<Column<LevelRow>> {
        const M: u64 = MILLIONTHS;
        const S: u64 = SECOND;
        vec![
            column("series", |r: &Self| r.series, |r, v| r.series = v),
            column("start_ns", |r: &Self| r.start_ns, |r, v| r.start_ns = v),
            column("least", |r: &Self| Parts::of(r.least, M).whole, |r, v| with(&mut r.least, M, |p| p.whole = v)),
            column(
                "least_millionths",
                |r: &Self| Parts::of(r.least, M).rest,
                |r, v| with(&mut r.least, M, |p| p.rest = v),
            ),
            column("most", |r: &Self| Parts::of(r.most, M).whole, |r, v| with(&mut r.most, M, |p| p.whole = v)),
            column(
                "most_millionths",
                |r: &Self| Parts::of(r.most, M).rest,
                |r, v| with(&mut r.most, M, |p| p.rest = v),
            ),
            column(
                "amount",
                |r: &Self| Parts::of(r.integral, S).whole,
                |r, v| with(&mut r.integral, S, |p| p.whole = v),
            ),
            column(
                "amount_high",
                |r: &Self| Parts::of(r.integral, S).high,
                |r, v| with(&mut r.integral, S, |p| p.high = v),
            ),
            column(
                "amount_billionths",
                |r: &Self| Parts::of(r.integral, S).rest,
                |r, v| with(&mut r.integral, S, |p| p.rest = v),
            ),
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
    /// What was measured was not written, or is damaged.
    NotRecorded,
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
        ("not-recorded", Reason::NotRecorded),
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
        assert_eq!(sample(7, 1).millionths(Kind::Gauge), 7 * 1_000_000);
        // A gauge of 20 terabytes.
        assert_eq!(sample(20_000_000_000_000, 1).millionths(Kind::Gauge), 20_000_000_000_000_000_000);
    }

    #[test]
    fn rows_of_a_level_add_up() {
        let row = |least: u128, most: u128, amount: u128, covered_ns, samples| LevelRow {
            least: least * 1_000_000,
            most: most * 1_000_000,
            integral: amount * 1_000_000_000,
            covered_ns,
            samples,
            ..LevelRow::default()
        };
        let mut sum = row(0, 0, 0, 0, 0);
        for part in [row(5, 9, 12, 2 * SECOND, 2), row(0, 0, 0, 0, 0), row(1, 20, 12, SECOND, 4)] {
            sum.add(&part);
        }
        assert_eq!(sum, row(1, 20, 24, 3 * SECOND, 6));
        assert_eq!((sum.mean(), LevelRow::default().mean()), (8_000_000, 0));
    }

    #[test]
    fn a_rare_event_counts_once_however_long() {
        // One drop in the first minute of a year, and zeros.
        let minute = |amount| {
            let sample = SampleRow { series: 1, time_ns: 60 * SECOND, span_ns: 60 * SECOND, amount };
            let rate = sample.millionths(Kind::Counter);
            let integral = sample.integral(Kind::Counter);
            LevelRow { least: rate, most: rate, integral, covered_ns: 60 * SECOND, samples: 1, ..LevelRow::default() }
        };
        let mut year = minute(1);
        (1..525_600).for_each(|_| year.add(&minute(0)));
        assert_eq!((year.integral, year.covered_ns), (1_000_000_000, 525_600 * 60 * SECOND));
        // 1 / 31,536,000 s is 0.0317 millionths.
        assert_eq!((year.mean(), year.most), (0, 16_666));
    }

    #[test]
    fn the_mean_of_some_nanoseconds_is_that_of_their_sample() {
        // A drop in a minute: 0.0167 a second. Of a nanosecond of it, no or one billionth of a drop is counted.
        for integral in [0, 1] {
            let row = LevelRow { least: 16_666, most: 16_666, integral, covered_ns: 1, ..LevelRow::default() };
            assert!(row.mean().abs_diff(16_666) <= 1 && (row.mean_units() - 1.0 / 60.0).abs() < 1.1e-6, "{row:?}");
        }
        // A mean that is below a millionth stays what it is.
        let rare = LevelRow { integral: 1_000_000_000, covered_ns: 365 * 86_400 * SECOND, ..LevelRow::default() };
        assert!((rare.mean_units() * 365.0 * 86_400.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn columns_hold_every_value() {
        for value in [0, 1, 10_u128.pow(25), u128::from(u64::MAX) * 3_600_000_000_000] {
            let written = Parts::of(value, SECOND);
            let mut read = 0;
            // In any order.
            with(&mut read, SECOND, |parts| parts.rest = written.rest);
            with(&mut read, SECOND, |parts| parts.high = written.high);
            with(&mut read, SECOND, |parts| parts.whole = written.whole);
            assert_eq!(read, value);
        }
    }

    #[test]
    fn parts_of_a_value_add_up_to_it() {
        for (value, whole) in [(7_u128, 3_u64), (u128::from(u64::MAX) * 3_600_000_000_000, 3_600_000_000_000), (5, 1)] {
            let cuts = [0, whole / 3, whole / 2, whole];
            let sum: u128 = cuts.windows(2).map(|cut| share(value, cut[1], whole) - share(value, cut[0], whole)).sum();
            assert_eq!((sum, share(value, 0, whole)), (value, 0));
        }
        assert_eq!(share(10, 1, 4), 2);
    }
}
