//! The kernel's threads that receive for the devices of live runs, and their turns.
//!
//! On a busy host these threads wait for a core like all others, for some milliseconds at a time. Acknowledgements
//! then go in lumps, HyStart does not see their spacing, and slow start ends with hundreds of losses instead of
//! ten: no gate of a run tells. In the real-time class they do not wait.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The names of such threads begin with this: `napi/DEVICE-NUMBER`.
const NAME: &str = "napi/path-";
/// How often new ones are looked for. A live run calibrates for longer before its first packet.
const EVERY: Duration = Duration::from_millis(100);

/// Does `work`; such threads that begin meanwhile are in the real-time class, as far as this user may and chrt(1)
/// is there.
pub fn in_time<T>(work: impl FnOnce() -> T) -> T {
    let (is_done, told) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut known = all();
            let mut done = is_done.lock().unwrap_or_else(PoisonError::into_inner);
            while !*done {
                let now = all();
                now.difference(&known).for_each(|thread| hurry(*thread));
                known = now;
                done = told.wait_timeout(done, EVERY).unwrap_or_else(PoisonError::into_inner).0;
            }
        });
        let outcome = work();
        *is_done.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.notify_all();
        outcome
    })
}

/// Those that there are.
fn all() -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_one =
        |thread: &u32| fs::read_to_string(format!("/proc/{thread}/comm")).is_ok_and(|name| name.starts_with(NAME));
    numbers.filter(is_one).collect()
}

/// Puts a thread into the lowest real-time class.
fn hurry(thread: u32) {
    let mut chrt = Command::new("chrt");
    chrt.args(["-f", "-p", "1"]).arg(thread.to_string());
    // Where that cannot be, the host has to be quiet.
    let _ = chrt.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}
