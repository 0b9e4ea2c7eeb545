//! The levels of the pyramid, and the units of times and rates.

/// Rates and values are stored in millionths, so that a packet a day is above zero.
pub const MILLIONTHS: u64 = 1_000_000;

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// Nanoseconds in a day.
pub(super) const DAY: u64 = 86_400 * SECOND;

/// A level of the pyramid: the table of its rows, and their width in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every sample.
    Samples,
    /// A row a second.
    Seconds,
    /// A row a minute.
    Minutes,
    /// A row an hour.
    Hours,
}

impl Level {
    /// All of them, the finest first.
    pub const ALL: [Level; 4] = [Level::Samples, Level::Seconds, Level::Minutes, Level::Hours];

    /// Those that summarise samples.
    pub const PYRAMID: [Level; 3] = [Level::Seconds, Level::Minutes, Level::Hours];

    /// Width of a row in nanoseconds; 0 for samples.
    pub const fn width_ns(self) -> u64 {
        match self {
            Level::Samples => 0,
            Level::Seconds => SECOND,
            Level::Minutes => 60 * SECOND,
            Level::Hours => 3_600 * SECOND,
        }
    }

    /// The beginning of the names of its files.
    pub const fn stem(self) -> &'static str {
        match self {
            Level::Samples => "samples",
            Level::Seconds => "seconds",
            Level::Minutes => "minutes",
            Level::Hours => "hours",
        }
    }

    /// Where the row begins that has `time_ns`; of samples the time itself.
    pub(super) const fn start(self, time_ns: u64) -> u64 {
        match self {
            Level::Samples => time_ns,
            _ => time_ns - time_ns % self.width_ns(),
        }
    }

    /// Whether it has rows of a series with a sample every `interval_ns`: seconds and minutes have two samples at least; hours are of all
    /// series, so that something is left when samples are deleted.
    pub const fn holds(self, interval_ns: u64) -> bool {
        match self {
            Level::Samples | Level::Hours => true,
            Level::Seconds | Level::Minutes => interval_ns.saturating_mul(2) <= self.width_ns(),
        }
    }
}
