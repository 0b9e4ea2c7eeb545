//! Ctrl-C asks a command to stop and keep what it has; a second one stops it at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGTERM;
use signal_hook::flag;

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// Interrupts are the business of a program of the user's.
static IS_THE_PROGRAMS: AtomicBool = AtomicBool::new(false);
static TERMINATED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on the first interrupt is a request, and so is the first SIGTERM. Without a handler (none could be installed) it ends the
/// program.
pub fn listen() {
    // Programs that are started have interrupts as they were: they are heard, not ignored.
    let installed = ctrlc::set_handler(|| {
        if !IS_THE_PROGRAMS.load(Ordering::Relaxed) && REQUESTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    if let Err(error) = installed {
        eprintln!("warning: no interrupt handler ({error}): Ctrl-C will leave nothing behind");
    }
    let terminated = Arc::clone(TERMINATED.get_or_init(Arc::default));
    // The second one ends the program.
    let second = flag::register_conditional_default(SIGTERM, Arc::clone(&terminated));
    if let Err(error) = second.and_then(|_| flag::register(SIGTERM, terminated)) {
        eprintln!("warning: no handler for SIGTERM ({error}): it will leave nothing behind");
    }
}

/// Interrupts of the terminal are the business of the program that has it for as long as this lives.
pub struct LeftToProgram(());

impl LeftToProgram {
    /// From now on.
    pub fn new() -> LeftToProgram {
        IS_THE_PROGRAMS.store(true, Ordering::Relaxed);
        LeftToProgram(())
    }
}

impl Drop for LeftToProgram {
    fn drop(&mut self) {
        IS_THE_PROGRAMS.store(false, Ordering::Relaxed);
    }
}

/// Whether the user asked to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed) || TERMINATED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
