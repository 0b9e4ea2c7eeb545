//! The real clock of a run, the only reader of it here: CLOCK_MONOTONIC, which all processes of a host share.

use flowloom_core::time::{Duration, Time};
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The time of a run: what of CLOCK_MONOTONIC has passed since its origin. Before the origin it stands at zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// CLOCK_MONOTONIC at time zero of the run, in nanoseconds.
    origin_nanos: u64,
}

impl Clock {
    /// A clock whose run begins `ahead` from now.
    pub fn starting_in(ahead: Duration) -> Clock {
        Clock { origin_nanos: monotonic_nanos() + ahead.as_nanos() }
    }

    /// The time.
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic_nanos().saturating_sub(self.origin_nanos))
    }

    /// How long it is until `time`; nothing if it has come.
    pub fn until(&self, time: Time) -> Duration {
        Duration::from_nanos((self.origin_nanos.saturating_add(time.as_nanos())).saturating_sub(monotonic_nanos()))
    }

    /// The same on a host whose CLOCK_MONOTONIC is so far ahead of this one's.
    pub fn as_of_one_ahead(self, nanos: i64) -> Clock {
        Clock { origin_nanos: self.origin_nanos.saturating_add_signed(nanos) }
    }

    /// Whose run begins when CLOCK_MONOTONIC has this value, in nanoseconds.
    pub fn starting_at(monotonic_nanos: u64) -> Clock {
        Clock { origin_nanos: monotonic_nanos }
    }

    /// Sleeps until `time`, and no longer than `most`.
    #[expect(clippy::disallowed_methods, reason = "a driver in real time waits for it")]
    pub fn doze(&self, time: Time, most: Duration) {
        std::thread::sleep(std::time::Duration::from_nanos(self.until(time).min(most).as_nanos()));
    }

    /// Sleeps until `time`.
    #[expect(clippy::disallowed_methods, reason = "a driver in real time waits for it")]
    pub fn sleep_until(&self, time: Time) {
        std::thread::sleep(std::time::Duration::from_nanos(self.until(time).as_nanos()));
    }
}

fn monotonic_nanos() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has it");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// CPU time that all threads of this process have used.
pub fn process_cpu_time() -> Duration {
    let used = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has it");
    Duration::from_nanos(used.tv_sec() as u64 * 1_000_000_000 + used.tv_nsec() as u64)
}

/// CPU time that the calling thread has used.
pub fn thread_cpu_time() -> Duration {
    let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has it");
    Duration::from_nanos(used.tv_sec() as u64 * 1_000_000_000 + used.tv_nsec() as u64)
}
