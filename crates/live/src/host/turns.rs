//! Who comes first where more threads want to run than there are cores.
//!
//! What the emulator is late by, every packet is; it takes little at a time, and all else waits for it. So it comes before everything, in
//! the lowest real-time class, as far as this user may. Workers have short turns: what wakes up with a short turn before it goes before what has
//! a long one (sched(7), since Linux 6.12 for ordinary threads), and nothing is taken from anybody. What takes what they say has time.
//!
//! The kernel's own threads that receive packets come first, too. As ordinary threads they wait for a turn of up to 4 ms on a busy
//! host, and acknowledgements then leave in bunches: senders see a path that is not there (HyStart, for one, looks for gaps of 2 ms).

use std::collections::BTreeSet;
use std::fmt;
use std::fs;

use flowloom_core::time::Duration;
use nix::libc;

use super::sys;

/// The lowest of the real-time priorities.
const REAL_TIME: u32 = 1;
/// nice(2) of a thread that comes first, where real time is not for this user.
const FAVOURED: i32 = -10;
/// A short turn: as short as the kernel has them.
const SHORT: Duration = Duration::from_micros(100);

/// How a thread comes to its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Turns {
    /// Before all ordinary threads.
    RealTime,
    /// With a multiple of the weight of others.
    Favoured,
    /// Like everybody.
    #[default]
    Ordinary,
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Turns::RealTime => "real time",
            Turns::Favoured => "favoured",
            Turns::Ordinary => "ordinary",
        })
    }
}

/// Has the calling thread come first, as far as this user may; how far that is. Threads that it starts take their turns as all do.
pub fn come_first() -> Turns {
    if sys::set_scheduling(0, libc::SCHED_FIFO, 0, REAL_TIME, Duration::ZERO).is_ok() {
        return Turns::RealTime;
    }
    let favour = |slice| sys::set_scheduling(0, libc::SCHED_OTHER, FAVOURED, 0, slice);
    if favour(SHORT).or_else(|_| favour(Duration::ZERO)).is_ok() {
        return Turns::Favoured;
    }
    take_short_turns();
    Turns::Ordinary
}

/// The kernel's threads that receive for devices called `device`, of all namespaces; none where they cannot be seen.
pub fn receiving_threads(device: &str) -> BTreeSet<i32> {
    let prefix = format!("napi/{device}-");
    let receives =
        |id: &i32| fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.starts_with(&prefix));
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(receives).collect()
}

/// Has one of [`receiving_threads`] come before all ordinary threads, as far as this user may.
pub fn receive_first(thread: i32) {
    // Who may not is told by the lateness of the run.
    let _ = sys::set_scheduling(thread, libc::SCHED_FIFO, 0, REAL_TIME, Duration::ZERO);
}

/// Has the calling thread take short turns, where the kernel knows that. It keeps its nice value.
pub fn take_short_turns() {
    // An older kernel ignores it, and one that refuses it has turns of its own.
    if let Some(nice) = nice() {
        let _ = sys::set_scheduling(0, libc::SCHED_OTHER, nice, 0, SHORT);
    }
}

/// The nice value of the calling thread: the 17th field after its name, which is in parentheses.
fn nice() -> Option<i32> {
    let line = fs::read_to_string("/proc/thread-self/stat").ok()?;
    line.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok()
}
