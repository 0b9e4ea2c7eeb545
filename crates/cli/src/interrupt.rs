//! Ctrl-C asks a command to stop and keep what it has; a second one stops it at once.

use std::sync::atomic::{AtomicBool, Ordering};

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

/// Whether the user asked to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
