//! `monitor { interface = eth1; period = 1; duration = 20; }`: counters, again and again.

use flowloom_core::time::Duration;

use super::super::diagnostic::Diagnostic;
use super::arguments::Arguments;

/// What a `monitor` is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// Of this network interface; without one, of the host alone.
    pub interface: Option<String>,
    /// From a sample to the next.
    pub period: Duration,
    /// How long.
    pub duration: Duration,
}

/// Counters are not read more often.
const SHORTEST: Duration = Duration::from_millis(10);

/// Samples that a monitor takes at most.
const MOST_SAMPLES: u64 = 1_000_000;

impl Monitor {
    pub(super) const KEYWORD: &str = "monitor";

    pub(super) fn read(given: &mut Arguments<'_>) -> Option<Monitor> {
        let interface = given.optional("interface").map(|interface| given.name(interface));
        let duration = given.duration();
        let argument = given.needed("period", "microseconds from a sample to the next, or with a unit as in \"1s\"")?;
        let (period, duration) = (given.time(argument)?, duration?);
        if period < SHORTEST || duration.as_nanos() / period.as_nanos() >= MOST_SAMPLES {
            let message = format!("period is 10 ms at least, and gives {MOST_SAMPLES} samples at most");
            given.found().push(Diagnostic::error(argument.value.place(), message));
            return None;
        }
        // One that was given and is none has been complained of.
        let interface = match interface {
            Some(given) => Some(given?),
            None => None,
        };
        Some(Monitor { interface, period, duration })
    }

    pub(super) fn words(&self) -> String {
        let of =
            self.interface.as_deref().map_or("the host".to_owned(), |interface| format!("the host and {interface}"));
        format!("reads counters of {of} every {} s", self.period.as_secs_f64())
    }
}
