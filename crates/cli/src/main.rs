//! The `flowloom` command: parse, run, print one error, map to a documented exit code.

mod args;
mod clock;
mod commands;
mod experiment;
mod extraction;
mod failure;
mod hosts;
mod ingest;
mod ingested;
mod input;
mod interrupt;
mod live;
mod load;
mod output;
mod pipeline;
mod progress;
mod recording;
mod results;
mod senders;
mod simulation;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use output::Manner;

/// Packets and segments are short-lived and of few sizes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // A worker leaves interrupts to its run; a user namespace, which the doctor may need, wants a process of one thread.
    if !matches!(cli.command, Command::LiveWorker(_) | Command::Doctor(_)) {
        interrupt::listen();
    }
    let manner = |form| Manner { quiet: cli.quiet, verbose: cli.verbose, form };
    let result = match &cli.command {
        Command::Extract(args) => commands::extract::run(args, manner(args.form)),
        Command::Convert(args) => commands::convert::run(args, manner(args.form)),
        Command::Describe(args) => commands::describe::run(args, manner(args.form)),
        Command::Run(args) => commands::run::run(args, manner(args.form)),
        Command::Compare(args) => commands::compare::run(args, cli.quiet),
        Command::Report(args) => commands::report::run(args, cli.quiet),
        Command::Doctor(args) => commands::doctor::run(args, cli.quiet),
        Command::LiveWorker(args) => commands::live_worker::run(args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit.into()
        }
    }
}
