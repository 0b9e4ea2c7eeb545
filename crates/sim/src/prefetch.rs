//! Asking for memory before it is needed.
//!
//! With tens of thousands of connections open their state is in no cache, and serving an event would be to wait for one line
//! of it after the other. The next events are known, so what they read can be on its way. It is a hint: no result depends on
//! it, and where there is no instruction for it nothing happens.
#![allow(
    unsafe_code,
    reason = "the instruction has no safe wrapper in the standard library; the block says why it is sound"
)]

use std::ops::Range;

/// What processors move at once.
const LINE: usize = 64;

/// Asks for `value`.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_bytes(value, 0..size_of::<T>());
}

/// Asks for some bytes of `value`, counted from its beginning.
#[inline(always)]
pub fn prefetch_bytes<T>(value: &T, bytes: Range<usize>) {
    let at = |offset: usize| std::ptr::from_ref(value).cast::<i8>().wrapping_add(offset);
    for offset in bytes.clone().step_by(LINE) {
        ask(at(offset));
    }
    // What does not begin with a line may end in one more.
    if align_of::<T>() < LINE {
        ask(at(bytes.end - 1));
    }
}

#[inline(always)]
#[cfg(target_arch = "x86_64")]
fn ask(line: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction changes no value and no address makes it fault.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
}

#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
fn ask(_line: *const i8) {}
