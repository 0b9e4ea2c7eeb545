//! `flowloom shell`: a program of the user's inside a side of a live run.

use std::ffi::OsString;

use clap::Parser;
use flowloom_core::workload::LinkSide;
use flowloom_live::guests::Guest;

use crate::args::{self, Cli, Command};
use crate::commands::run;
use crate::failure::{Exit, Failure};
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Shell, verbose: bool) -> Result<Exit, Failure> {
    let side = match args.side {
        args::GuestSide::Left => LinkSide::Left,
        args::GuestSide::Right => LinkSide::Right,
    };
    let peer = args.peer.iter().map(|command| Guest {
        side: side.other(),
        host: None,
        command: vec!["sh".into(), "-c".into(), command.into()],
        is_host: false,
    });
    let places: Vec<Option<u8>> = args.hosts.map_or(vec![None], |hosts| (0..hosts).map(Some).collect());
    let programs = places.into_iter().map(|host| Guest { side, host, command: args.command.clone(), is_host: true });
    let guests = peer.chain(programs).collect();
    // It is a live run in everything else.
    let mut words: Vec<OsString> = ["flowloom", "run", "--on", "live"].map(OsString::from).into();
    words.extend(args.output.iter().flat_map(|output| ["-o".into(), output.into()]));
    words.extend(args.force.then(|| "--force".into()));
    words.extend(["--".into(), args.experiment.clone().into()]);
    let Command::Run(like) = Cli::parse_from(words).command else {
        return Err(Failure::new("the command of a run was not understood"));
    };
    // The terminal is the program's.
    run::with_guests(&like, guests, Manner { quiet: true, verbose, form: like.form })
}
