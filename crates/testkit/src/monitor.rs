//! Stores of monitors that never ran.

use std::path::Path;

use flowloom_store::monitor::{Batch, GapRow, Kind, MonitorWriter, Reason, Retention, SECOND, Series, WriterOptions};

/// The beginning of 2024-10-04, in nanoseconds since 1970 UTC.
pub const START: u64 = 20_000 * 86_400 * SECOND;

/// A minute in nanoseconds.
pub const MINUTE: u64 = 60 * SECOND;

/// A store that is written.
pub struct Store(MonitorWriter);

impl Store {
    /// A new store in `root`, whose time is `now_ns`.
    pub fn create(root: &Path, now_ns: u64) -> Store {
        Store(MonitorWriter::open(root, WriterOptions::default(), now_ns).unwrap())
    }

    /// The number of a series that counts octets every minute.
    pub fn series(&mut self, target: &str, port: &str, counter: &str) -> u32 {
        let series = Series {
            id: 0,
            target: target.to_owned(),
            port: port.to_owned(),
            counter: counter.to_owned(),
            unit: "octets".to_owned(),
            kind: Kind::Counter,
            interval_ns: MINUTE,
        };
        self.add(series)
    }

    /// The number of any series.
    pub fn add(&mut self, series: Series) -> u32 {
        self.0.series(series).unwrap().0
    }

    /// What was counted in the `span_ns` before a time.
    pub fn samples(&mut self, time_ns: u64, span_ns: u64, amounts: &[(u32, u64)]) {
        self.0.samples(Batch { time_ns, span_ns, samples: amounts.to_vec() }).unwrap();
    }

    /// A time without an answer.
    pub fn gap(&mut self, series: u32, start_ns: u64, end_ns: u64) {
        self.0.gap(GapRow { series, start_ns, end_ns, reason: Reason::NoAnswer, amount: None }).unwrap();
    }

    /// Folds what was written until a time into days; complete days into one table each.
    pub fn fold(&mut self, now_ns: u64) {
        self.0.tick(now_ns).unwrap();
        self.0.maintainer().run(now_ns, &Retention::default(), &|| true).unwrap();
    }
}
