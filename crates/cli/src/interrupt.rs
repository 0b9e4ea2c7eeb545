//! Ctrl-C asks a command to stop and keep what it has; a second one stops it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// From now on the first interrupt is a request. Without a handler (none could be installed) it ends the program.
pub fn listen() {
    let installed = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    if let Err(error) = installed {
        eprintln!("warning: no interrupt handler ({error}): Ctrl-C will leave nothing behind");
    }
}

/// From now on an interrupt of the terminal is the business of the program that has it.
pub fn leave_to_program() -> Result<(), Failure> {
    // Programs that are started have it as it was: it is heard, not ignored.
    let nobody = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, nobody)
        .map(drop)
        .map_err(|error| Failure::new(format_args!("interrupts cannot be left to the program: {error}")))
}

/// Whether the user asked to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
