//! The search for the most that a host can do of one kind of load: levels that grow until one fails, then bisection. It runs nothing.

use std::fmt::Display;

use flowloom_core::time::Duration;

use super::limits::{Limit, Tried};
use super::load::Load;
use super::part::Failure;

/// A limit is known well enough where the least level that failed is no more than this times the greatest that did not.
const NEAR: f64 = 1.25;

/// Levels of a load, one after the other: call [`Self::level`], run it, and hand the result to [`Self::take`].
#[derive(Clone, Debug)]
pub struct Ramp {
    level: f64,
    growth: f64,
    least: f64,
    most: f64,
    kept: Option<f64>,
    failed: Option<f64>,
    /// The level failed and is run once more: a host may have been busy with something else.
    again: bool,
    limit: Limit,
}

impl Ramp {
    /// A ramp of `load` whose levels are `most` at most.
    pub fn new(load: Load, most: f64) -> Ramp {
        let [least, first, highest] = load.levels();
        let most = highest.min(most).max(least);
        let growth = load.growth();
        Ramp {
            level: first.min(most),
            growth,
            least,
            most,
            kept: None,
            failed: None,
            again: false,
            limit: Limit::default(),
        }
    }

    /// The level to run next; `None` if the limit is known.
    pub fn level(&self) -> Option<f64> {
        let is_known = match (self.kept, self.failed) {
            (Some(kept), Some(failed)) => failed <= kept * NEAR,
            (Some(kept), None) => kept >= self.most,
            (None, Some(failed)) => failed <= self.least,
            (None, None) => false,
        };
        (self.again || !is_known).then_some(self.level)
    }

    /// Takes in what the run of a level came to.
    pub fn take(&mut self, tried: &Tried) {
        let least = if self.limit.runs == 0 { 1.0 } else { self.limit.other_busy };
        self.limit.other_busy = least.min(tried.other_busy);
        self.limit.runs += 1;
        match &tried.failure {
            None => {
                self.again = false;
                self.kept = Some(tried.level);
                self.limit.most = self.limit.most.max(tried.reached);
            }
            Some(_) if !self.again => {
                self.again = true;
                return;
            }
            Some(Failure { part, why }) => {
                self.again = false;
                self.failed = Some(tried.level);
                self.limit.failed = Some(tried.level);
                (self.limit.part, self.limit.why) = (*part, Some(why.clone()));
            }
        }
        self.level = match (self.kept, self.failed) {
            (Some(kept), Some(failed)) => (kept * failed).sqrt().round(),
            (Some(kept), None) => (kept * self.growth).min(self.most),
            (None, Some(failed)) => (failed / self.growth).max(self.least),
            (None, None) => self.level,
        };
    }

    /// A level could not be run at all.
    fn refuse(&mut self, level: f64, why: &impl Display) {
        self.failed = Some(level);
        (self.limit.failed, self.limit.part, self.limit.why) = (Some(level), None, Some(why.to_string()));
    }

    /// What is known by now; `None` if nothing is.
    pub fn limit(self) -> Option<Limit> {
        self.has_found().then_some(self.limit)
    }

    fn has_found(&self) -> bool {
        self.kept.is_some() || self.failed.is_some()
    }
}

/// Something that runs loads: this host, or a made-up one.
pub trait Host {
    /// Why a load could not be run at all.
    type Error: Display;

    /// Runs a load at a level; `None` if the work is to stop. `starts` is the most starts a second that are known to be kept up.
    ///
    /// # Errors
    /// The load cannot be run on this host.
    fn run(&mut self, load: Load, level: f64, starts: Option<f64>) -> Result<Option<Tried>, Self::Error>;

    /// Time since the beginning of the work.
    fn now(&self) -> Duration;

    /// The highest level of a load that this host has room for.
    fn room(&self, load: Load) -> f64;
}

/// Limits that were found, in the order of their ramps.
pub type Found = Vec<(Load, Limit)>;

/// The ramps of these loads, one after the other, within about `time`; whether all of them came to their ends.
///
/// # Errors
/// The host's, of the first load.
pub fn ramps<H: Host>(host: &mut H, loads: &[Load], time: Duration) -> Result<(Found, bool), H::Error> {
    let mut limits: Found = Vec::new();
    for (number, load) in loads.iter().copied().enumerate() {
        let began = host.now();
        let share = time.saturating_sub(began) / (loads.len() - number) as u64;
        let starts = limits.iter().find(|(of, _)| *of == Load::Starts).map(|(_, limit)| limit.most);
        let mut ramp = Ramp::new(load, host.room(load));
        let mut is_stopped = false;
        while let Some(level) = ramp.level() {
            // What a level takes is known before it is run. Something is found in any case.
            let takes = load.length(level, starts) + OVERHEAD;
            if ramp.has_found() && host.now().saturating_sub(began) + takes > share {
                break;
            }
            match host.run(load, level, starts) {
                Ok(Some(tried)) => ramp.take(&tried),
                Ok(None) => {
                    is_stopped = true;
                    break;
                }
                Err(error) if limits.is_empty() && ramp.limit.most == 0.0 => return Err(error),
                Err(error) => {
                    ramp.refuse(level, &error);
                    break;
                }
            }
        }
        limits.extend(ramp.limit().map(|limit| (load, limit)));
        if is_stopped {
            return Ok((limits, false));
        }
    }
    Ok((limits, true))
}

/// Time that a live run takes beside the time in which its load is sent.
const OVERHEAD: Duration = Duration::from_millis(1_000);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::Part;

    /// A host that keeps up with so much of each load.
    struct MadeUp {
        keeps_up: fn(Load, f64, u32) -> bool,
        now: Duration,
        runs: u32,
        stops_after: u32,
    }

    impl MadeUp {
        fn new(keeps_up: fn(Load, f64, u32) -> bool) -> MadeUp {
            MadeUp { keeps_up, now: Duration::ZERO, runs: 0, stops_after: u32::MAX }
        }

        fn measured(mut self, time: u64) -> (Found, bool, Duration) {
            let (limits, is_whole) = ramps(&mut self, &Load::ALL, Duration::from_secs(time)).unwrap();
            (limits, is_whole, self.now)
        }
    }

    impl Host for MadeUp {
        type Error = String;

        fn run(&mut self, load: Load, level: f64, starts: Option<f64>) -> Result<Option<Tried>, String> {
            if self.runs == self.stops_after {
                return Ok(None);
            }
            self.runs += 1;
            self.now += load.length(level, starts) + OVERHEAD;
            let failure = (!(self.keeps_up)(load, level, self.runs))
                .then(|| Failure { part: Some(Part::Emulator), why: "late".to_owned() });
            Ok(Some(Tried { load, level, reached: 0.99 * level, other_busy: 1.0 / f64::from(self.runs), failure }))
        }

        fn now(&self) -> Duration {
            self.now
        }

        fn room(&self, load: Load) -> f64 {
            if load == Load::Open { 20_000.0 } else { f64::INFINITY }
        }
    }

    /// Starts, open connections, packets and bits.
    const LIMITS: [f64; 4] = [3_700.0, 11_000.0, 90_000.0, 2.2e9];

    #[test]
    fn limits_are_found_within_a_quarter() {
        let (limits, is_whole, took) = MadeUp::new(|load, level, _| level <= LIMITS[load as usize]).measured(300);
        assert!(is_whole && took <= Duration::from_secs(300), "{took}");
        for ((load, limit), known) in limits.iter().zip(LIMITS) {
            let failed = limit.failed.unwrap();
            assert!(limit.most <= known && known < failed, "{load:?}: {limit:?}");
            assert!(failed <= 1.25 * limit.most / 0.99, "{load:?}: {limit:?}");
            assert_eq!((limit.part, limit.why.as_deref()), (Some(Part::Emulator), Some("late")));
            assert!(limit.other_busy <= 1.0 / f64::from(limit.runs), "the least: {limit:?}");
        }
    }

    #[test]
    fn a_host_that_never_fails_can_do_at_least_the_highest() {
        let (limits, is_whole, took) = MadeUp::new(|_, _, _| true).measured(300);
        assert!(is_whole && took <= Duration::from_secs(300), "{took}");
        for (load, limit) in limits {
            let highest = if load == Load::Open { 20_000.0 } else { load.levels()[2] };
            assert_eq!((limit.most, limit.failed, limit.part), (0.99 * highest, None, None), "{load:?}");
            assert!(limit.is_at_least());
        }
    }

    #[test]
    fn a_host_that_fails_at_once_has_no_limit_above_the_least() {
        let (limits, is_whole, _) = MadeUp::new(|_, _, _| false).measured(300);
        assert!(is_whole);
        for (load, limit) in limits {
            assert_eq!((limit.most, limit.failed), (0.0, Some(load.levels()[0])), "{load:?}: {limit:?}");
        }
    }

    #[test]
    fn one_failure_that_is_not_seen_again_counts_for_nothing() {
        let (limits, ..) = MadeUp::new(|_, _, run| run % 3 != 0).measured(300);
        assert!(limits.iter().all(|(_, limit)| limit.failed.is_none()), "{limits:?}");
    }

    #[test]
    fn what_is_stopped_keeps_what_it_has() {
        let mut host = MadeUp::new(|load, level, _| level <= LIMITS[load as usize]);
        host.stops_after = 12;
        let (limits, is_whole, _) = host.measured(300);
        assert!(!is_whole);
        let [(Load::Starts, starts), (Load::Open, open)] = &limits[..] else { panic!("{limits:?}") };
        assert!(starts.failed.is_some() && open.is_at_least() && open.most > 0.0, "{limits:?}");
        let mut host = MadeUp::new(|_, _, _| true);
        host.stops_after = 0;
        assert_eq!(host.measured(300).0, []);
    }

    #[test]
    fn little_time_gives_rough_limits() {
        let (limits, is_whole, took) = MadeUp::new(|load, level, _| level <= LIMITS[load as usize]).measured(10);
        assert!(is_whole && took < Duration::from_secs(25), "{took}");
        assert!(limits.len() == 4 && limits.iter().all(|(_, limit)| limit.runs <= 2), "{limits:?}");
    }
}
