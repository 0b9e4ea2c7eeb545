//! The only reader of a real clock: progress, wall time of a run, names of run folders.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Wall time since it was started.
#[derive(Clone, Copy)]
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

/// The date and time (UTC) as `20261121-140359`, for names of run folders.
pub fn stamp() -> String {
    let (year, month, day, seconds) = utc_now();
    format!("{year:04}{month:02}{day:02}-{:02}{:02}{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The date and time (UTC) as `2026-11-21T14:03:59Z`, for host.json.
pub fn iso() -> String {
    let (year, month, day, seconds) = utc_now();
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Year, month, day and second of the day.
#[expect(clippy::disallowed_methods, reason = "the date of a run, kept in host.json and folder names only")]
fn utc_now() -> (i64, u32, u32, u64) {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    (year, month, day, seconds % 86_400)
}

/// The civil date of a day counted from 1970-01-01 (proleptic Gregorian; eras of 400 years, years from March).
fn civil(days: u64) -> (i64, u32, u32) {
    let shifted = days as i64 + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn civil_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_778), (2026, 11, 21));
    }
}
