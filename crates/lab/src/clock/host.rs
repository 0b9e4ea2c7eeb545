//! The clocks of this host: the only place of the crate that reads one.

use std::io;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// What tells the time. Tests have their own.
pub trait Clock: Send + Sync {
    /// Nanoseconds on a clock that is never set, from some start of its own.
    fn monotonic_ns(&self) -> i64;
    /// Nanoseconds since 1970, as the host believes.
    fn unix_ns(&self) -> i64;
    /// Seconds since 1970.
    fn unix_s(&self) -> i64 {
        self.unix_ns().div_euclid(1_000_000_000)
    }
}

/// `CLOCK_MONOTONIC` and `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostClock;

impl Clock for HostClock {
    fn monotonic_ns(&self) -> i64 {
        nanoseconds(ClockId::CLOCK_MONOTONIC)
    }

    fn unix_ns(&self) -> i64 {
        nanoseconds(ClockId::CLOCK_REALTIME)
    }
}

fn nanoseconds(clock: ClockId) -> i64 {
    let now = clock_gettime(clock).expect("every Linux has it");
    now.tv_sec() * 1_000_000_000 + now.tv_nsec()
}

/// Comes back when `clock`'s monotonic time is `monotonic_ns`, as near as the kernel can: its timers are finer than those of the
/// asynchronous runtime, which count milliseconds.
pub async fn sleep_until(clock: &dyn Clock, monotonic_ns: i64) {
    const FINE_NS: i64 = 5_000_000;
    let left_ns = monotonic_ns - clock.monotonic_ns();
    if left_ns > FINE_NS {
        tokio::time::sleep(Duration::from_nanos((left_ns - FINE_NS).unsigned_abs())).await;
    }
    let left_ns = monotonic_ns - clock.monotonic_ns();
    if left_ns > 0 {
        let target = HostClock.monotonic_ns() + left_ns;
        // A runtime that is ending has no thread for it, and nobody waits.
        let _ = tokio::task::spawn_blocking(move || kernel_sleep_until(target)).await;
    }
}

fn kernel_sleep_until(monotonic_ns: i64) -> io::Result<()> {
    let until = TimeSpec::new(monotonic_ns.div_euclid(1_000_000_000), monotonic_ns.rem_euclid(1_000_000_000));
    loop {
        match clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &until) {
            Err(Errno::EINTR) => {}
            other => return Ok(other.map(drop)?),
        }
    }
}
