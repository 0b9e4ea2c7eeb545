//! Calls into the Parquet crate, which may panic on damaged input where it should return an error.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use super::column::Problem;

thread_local! {
    /// Whether this thread is in a guarded call.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a call into the Parquet crate. A damaged file must not end the program, so a panic in there (seen: "column start and length should
/// not be negative") is one more kind of damage; what the call worked on must not be used again. Neither its text nor its backtrace is
/// printed: they tell a user nothing about the file.
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    silence_guarded_calls();
    let outer = GUARDED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(outer);
    result.unwrap_or(Err(Problem::Panic))
}

/// Puts [`silent`] in front of the process's hook, once.
fn silence_guarded_calls() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| panic::set_hook(silent(panic::take_hook())));
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// A hook that hands all panics to `others`, but for those in guarded calls.
fn silent(others: Hook) -> Hook {
    Box::new(move |info| {
        if !GUARDED.get() {
            others(info);
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    /// The hook is the process's, so only panics of this thread are counted.
    #[test]
    fn panics_in_guarded_calls_are_silent() {
        static HEARD: AtomicU32 = AtomicU32::new(0);
        silence_guarded_calls();
        let (me, others) = (thread::current().id(), panic::take_hook());
        panic::set_hook(silent(Box::new(move |info| {
            if thread::current().id() == me {
                HEARD.fetch_add(1, Ordering::Relaxed);
            } else {
                others(info);
            }
        })));
        let found = guarded::<()>(|| panic!("column start and length should not be negative"));
        let heard = HEARD.load(Ordering::Relaxed);
        _ = panic::catch_unwind(|| panic!("not guarded"));
        assert_eq!((heard, HEARD.load(Ordering::Relaxed)), (0, 1));
        let text = found.unwrap_err().to_string();
        assert!(!text.contains("column start") && text.contains("take another copy"), "{text}");
        assert_eq!(guarded(|| Ok(7)).ok(), Some(7));
    }
}
