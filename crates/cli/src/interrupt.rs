//! Ctrl-C asks a command to stop and keep what it has; a second one stops it at once.

use std::sync::{Arc, LazyLock};

use flowloom::Stop;
use signal_hook::consts::SIGTERM;
use signal_hook::flag;

static STOP: LazyLock<Stop> = LazyLock::new(Stop::new);

/// What stops this command.
pub fn stop() -> &'static Stop {
    &STOP
}

/// From now on the first interrupt is a request, and so is the first SIGTERM. Without a handler (none could be installed) it ends the
/// program.
pub fn listen() {
    // Programs that are started have interrupts as they were: they are heard, not ignored.
    let installed = ctrlc::set_handler(|| {
        if !STOP.is_held() && STOP.request() {
            std::process::exit(130);
        }
    });
    if let Err(error) = installed {
        eprintln!("warning: no interrupt handler ({error}): Ctrl-C will leave nothing behind");
    }
    let terminated = STOP.flag();
    // The second one ends the program.
    let second = flag::register_conditional_default(SIGTERM, Arc::clone(&terminated));
    if let Err(error) = second.and_then(|_| flag::register(SIGTERM, terminated)) {
        eprintln!("warning: no handler for SIGTERM ({error}): it will leave nothing behind");
    }
}
