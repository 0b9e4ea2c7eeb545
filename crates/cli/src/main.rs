//! The `flowloom` command: parse, run, print one error, map to a documented exit code.

/// Writes a line on standard error. Where nobody reads that, or the disk behind it is full, a command does what it does all the same.
macro_rules! tell {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($argument)*);
    }};
}

/// The same without an end of the line.
macro_rules! tell_as_is {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stderr(), $($argument)*);
    }};
}

mod args;
mod commands;
mod diagnostics;
mod exit;
mod help;
mod interrupt;
mod lab_view;
mod memory;
mod monitor_view;
mod narrow;
mod output;
mod progress;
mod scripts;
mod terminal;

use std::io::Write as _;
use std::process::ExitCode;

use args::{Calculation, Command, LabCommand, LabMembers, MonitorCommand};
use exit::Exit;
use flowloom::live::host::namespace::enter_user_namespace;
use flowloom::{Driver, Error};
use output::Manner;

/// Packets and segments are short-lived and of few sizes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match help::parse() {
        Ok(cli) => cli,
        Err(told) if !told.use_stderr() => return help(&told),
        Err(error) => error.exit(),
    };
    terminal::ask(cli.color, cli.no_progress);
    if matches!(cli.command, Command::Run(_) | Command::Sweep(_)) {
        memory::keep();
    }
    let manner = |form| Manner { quiet: cli.quiet, verbose: cli.verbose, form, gives_way: false };
    let result = prepare(&cli.command).and_then(|()| match &cli.command {
        Command::Extract(args) => commands::extract::run(args, manner(args.form)),
        Command::Convert(args) => commands::convert::run(args, manner(args.form)),
        Command::Describe(args) => commands::describe::run(args, manner(args.form)),
        Command::Overhead(args) => commands::overhead::run(args, manner(args.form)),
        Command::Model(args) => match &args.calculation {
            None => commands::model::run(args, manner(args.form)),
            Some(Calculation::Queue(args)) => commands::model_queue::run(args, manner(args.form)),
            Some(Calculation::Pipe(args)) => commands::model_pipe::run(args, manner(args.form)),
        },
        Command::Fit(args) => commands::fit::run(args, manner(args.form)),
        Command::Calibrate(args) => commands::calibrate::run(args, manner(args.form)),
        Command::Run(args) => commands::run::run(args, manner(args.form)),
        Command::Sweep(args) => commands::sweep::run(args, manner(args.form)),
        Command::Agent(args) => commands::agent::run(args, cli.quiet),
        Command::Compare(args) => {
            commands::compare::run(args, manner(args::Form { json: args.json, json_stream: false }))
        }
        Command::Lab(args) => match &args.command {
            LabCommand::Members(command) => members(command, cli.quiet, manner),
            LabCommand::Check(args) => commands::lab_check::run(args, manner(args.form)),
            LabCommand::Run(args) => commands::lab_run::run(args, cli.quiet),
            LabCommand::Format(args) => {
                commands::lab_format::run(args, manner(args::Form { json: false, json_stream: false }))
            }
        },
        Command::Monitor(args) => match &args.command {
            MonitorCommand::Run(args) => {
                commands::monitor::collect(args, manner(args::Form { json: false, json_stream: false }))
            }
            MonitorCommand::Check(args) => commands::monitor::check(args, manner(args.form)),
            MonitorCommand::List(args) => commands::monitor::list(args, manner(args.form)),
            MonitorCommand::Show(args) => commands::monitor::show(args, manner(args.form)),
        },
        Command::View(args) => commands::view::run(args, manner(args::Form { json: false, json_stream: false })),
        Command::Report(args) => commands::report::run(args, manner(args::Form { json: false, json_stream: false })),
        Command::Plot(args) => commands::plot::run(args, manner(args.form)),
        Command::Watch(args) => commands::watch::run(args, manner(args.form)),
        Command::Verify(args) => commands::verify::run(args, manner(args.form)),
        Command::Doctor(args) => commands::doctor::run(args, cli.quiet),
        Command::Init(args) => commands::init::run(args, manner),
        Command::Schema(args) => commands::schema::run(args),
        Command::Completions(args) => commands::completions::run(args),
        Command::Man(args) => commands::man::run(args, cli.quiet),
        Command::Shell(args) => commands::shell::run(args, cli.verbose),
        Command::LiveWorker(args) => commands::live_worker::run(args),
        Command::LiveGuest(args) => commands::live_guest::run(args),
        Command::LiveSide(args) => commands::live_side::run(args),
        Command::LiveShare => commands::live_share::run(),
        Command::LabKeeper(args) => commands::lab_keeper::run(args),
    });
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            diagnostics::error(&error);
            Exit::from(error.kind).into()
        }
    }
}

/// Prints what `--help` and `--version` ask for.
fn help(told: &clap::Error) -> ExitCode {
    match told.print().and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            diagnostics::error(&Error::new(format_args!("standard output: {error}")));
            Exit::CouldNot.into()
        }
        _ => Exit::Done.into(),
    }
}

/// The commands about a lab's members.
fn members(command: &LabMembers, quiet: bool, manner: impl Fn(args::Form) -> Manner) -> Result<Exit, Error> {
    match command {
        LabMembers::Init(args) => commands::lab_members::init(args),
        LabMembers::Invite(args) => commands::lab_members::invite(args, quiet),
        LabMembers::Admit(args) => commands::lab_members::admit(args, quiet),
        LabMembers::Enrol(args) => commands::lab_members::enrol(args),
        LabMembers::Revoke(args) => commands::lab_members::revoke(args),
        LabMembers::Status(args) => commands::lab_status::run(args, manner(args.form)),
        LabMembers::Logs(args) => commands::lab_logs::run(args, manner(args.form)),
    }
}

/// What has to be done before the process has a second thread; the first is that which listens for interrupts.
fn prepare(command: &Command) -> Result<(), Error> {
    match command {
        // Without root, a live run is root of a user namespace.
        Command::Run(args) if args.on == Some(Driver::Live) => drop(enter_user_namespace().map_err(Error::new)?),
        Command::Doctor(args) if args.calibrate => drop(enter_user_namespace().map_err(Error::new)?),
        Command::Sweep(args) if args.on == Some(Driver::Live) => drop(enter_user_namespace().map_err(Error::new)?),
        Command::Shell(_) => drop(enter_user_namespace().map_err(Error::new)?),
        // What interrupts it the run decides.
        Command::LiveSide(_) => return enter_user_namespace().map(drop).map_err(Error::new),
        // A worker leaves interrupts to its run, a guest is a program like any other, and the doctor looks for user namespaces itself.
        Command::LiveWorker(_) | Command::LiveGuest(_) | Command::LabKeeper(_) => return Ok(()),
        Command::Doctor(args) if !args.calibrate => return Ok(()),
        _ => {}
    }
    interrupt::listen();
    Ok(())
}
