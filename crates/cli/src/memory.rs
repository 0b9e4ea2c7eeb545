//! What the allocator does with memory that is free.
#![allow(unsafe_code, reason = "the allocator's options have no safe wrapper; the block says why it is sound")]

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// After how many milliseconds free memory goes back to the kernel, -1 for never (`mimalloc.h`; the bindings do not name it).
const PURGE_DELAY: mi_option_t = 15;

/// Keeps free memory for what comes next. In a simulation connections come and go all the time, and what goes back for a
/// moment comes in small pages and has to be cleared: 5 % of the time of a campus link (`docs/evidence/headline.md`). What the
/// environment says (`MIMALLOC_PURGE_DELAY`) stays.
///
/// To be called before there is a second thread.
pub fn keep() {
    // SAFETY: the option is one of the allocator's, and no other thread reads or writes it meanwhile.
    unsafe { mi_option_set_default(PURGE_DELAY, -1) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_that_of_the_delay() {
        // SAFETY: the option is one of the allocator's.
        let milliseconds = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        let wanted = std::env::var("MIMALLOC_PURGE_DELAY").ok().and_then(|wanted| wanted.parse().ok());
        assert_eq!(milliseconds, wanted.unwrap_or(1_000), "as by default, which is that of no option beside it");
    }
}
