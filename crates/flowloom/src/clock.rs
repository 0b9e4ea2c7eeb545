//! The only reader of a real clock: progress, wall time of a run, names of run folders, observations.

use std::time::{Instant, SystemTime};

use time::UtcDateTime;

/// Wall time since it was started.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "wall time of a command, reported in host.json and on the terminal")]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Nanoseconds since the start.
    pub fn nanos(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// The time in nanoseconds since 1970 UTC.
pub fn unix_nanos() -> u64 {
    u64::try_from(utc_now().unix_timestamp_nanos()).unwrap_or(0)
}

/// The date and time (UTC) as `20261121-140359`, for names of run folders.
pub fn stamp() -> String {
    let now = utc_now();
    let (date, time) = (now.date(), now.time());
    let (month, day) = (u8::from(date.month()), date.day());
    format!("{:04}{month:02}{day:02}-{:02}{:02}{:02}", date.year(), time.hour(), time.minute(), time.second())
}

/// The date and time (UTC) as `2026-11-21T14:03:59Z`, for host.json.
pub fn iso() -> String {
    let now = utc_now();
    let (date, time) = (now.date(), now.time());
    let (month, day) = (u8::from(date.month()), date.day());
    format!("{:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", date.year(), time.hour(), time.minute(), time.second())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the date of a run, kept in host.json and folder names, and of what is observed of it"
)]
fn utc_now() -> UtcDateTime {
    SystemTime::now().into()
}
