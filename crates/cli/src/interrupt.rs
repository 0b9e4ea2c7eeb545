//! Ctrl-C or SIGTERM asks a command to stop and keep what it has; a second one stops it at once.

use std::io;
use std::sync::LazyLock;
use std::thread;

use flowloom::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

static STOP: LazyLock<Stop> = LazyLock::new(Stop::new);

/// What stops this command.
pub fn stop() -> &'static Stop {
    &STOP
}

/// From now on the first signal is a request. Without a handler (none could be installed) it ends the program.
pub fn listen() {
    if let Err(error) = listen_in_a_thread() {
        tell!("warning: no handler for interrupts ({error}): Ctrl-C will leave nothing behind");
    }
}

/// Programs that are started have interrupts as they were: they are heard, not ignored.
fn listen_in_a_thread() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGHUP, SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        // An interrupt does not make a second request of a first termination, nor the other way round.
        let (mut interrupts, mut terminations) = (0_u32, 0_u32);
        for signal in &mut signals {
            let count = match signal {
                SIGTERM => &mut terminations,
                // While a program of the user's has the terminal, the key is for that program.
                _ if STOP.is_held() => continue,
                _ => &mut interrupts,
            };
            *count += 1;
            STOP.request();
            match (signal, *count) {
                (_, 1) => {}
                (SIGTERM, _) => drop(emulate_default_handler(SIGTERM)),
                _ => std::process::exit(130),
            }
        }
    })?;
    Ok(())
}
