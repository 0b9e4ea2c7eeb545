//! The `flowloom` command: parse, run, print one error, map to a documented exit code.

mod args;
mod clock;
mod commands;
mod experiment;
mod failure;
mod ingest;
mod input;
mod interrupt;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    interrupt::listen();
    let result = match &cli.command {
        Command::Extract(args) => commands::extract::run(args, cli.quiet),
        Command::Describe(args) => commands::describe::run(args, cli.quiet),
        Command::Run(args) => commands::run::run(args, cli.quiet),
        Command::Compare(args) => commands::compare::run(args),
        Command::Report(args) => commands::report::run(args, cli.quiet),
        Command::Doctor(args) => commands::doctor::run(args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit.into()
        }
    }
}
