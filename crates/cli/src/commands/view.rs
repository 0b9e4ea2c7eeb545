//! `flowloom view`: monitors, runs and sweeps in the browser.

use std::thread;
use std::time::Duration;

use flowloom::Error;
use flowloom_view::{Server, ViewOptions};

use crate::exit::Exit;
use crate::interrupt;
use crate::output;
use crate::{args, output::Manner};

/// Runs the command: it serves until Ctrl-C or SIGTERM.
pub fn run(args: &args::View, manner: Manner) -> Result<Exit, Error> {
    let token = args.token_file.as_ref().map(|path| {
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::new(format_args!("{}: {error}", path.display())))?;
        Ok::<String, Error>(text.trim_end_matches(['\n', '\r']).to_owned())
    });
    let options = ViewOptions {
        folders: args.folders.clone(),
        listen: args.listen,
        hosts: args.hosts.clone(),
        token: token.transpose()?,
    };
    let server = Server::start(&options)?;
    let link = server.link();
    output::text(&format!("{link}\n"))?;
    if !server.address().ip().is_loopback() {
        manner.warn(
            "whoever reads what passes between here and the browser reads the token",
            Some("listen at 127.0.0.1 and come by ssh -L, or put a proxy with TLS in front"),
        );
    }
    if args.open {
        open::that_detached(&link).map_err(|error| {
            Error::new(format_args!("no browser could be started: {error}")).hint(format_args!("open {link}"))
        })?;
    }
    while !interrupt::stop().is_requested() {
        thread::park_timeout(Duration::from_millis(50));
    }
    Ok(Exit::Done)
}
