//! One file per command.

pub mod agent;
pub mod calibrate;
pub mod compare;
pub mod completions;
pub mod convert;
pub mod describe;
pub mod doctor;
pub mod export;
pub mod extract;
pub mod fit;
pub mod init;
pub mod lab_check;
pub mod lab_format;
pub mod lab_keeper;
pub mod lab_logs;
pub mod lab_members;
pub mod lab_run;
pub mod lab_status;
pub mod live_guest;
pub mod live_share;
pub mod live_side;
pub mod live_worker;
pub mod man;
pub mod model;
pub mod model_pipe;
pub mod model_queue;
pub mod monitor;
pub mod overhead;
pub mod plot;
pub mod report;
pub mod run;
pub mod schema;
pub mod shell;
pub mod sweep;
pub mod verify;
pub mod view;
pub mod watch;

use std::path::PathBuf;

use flowloom::Error;
use flowloom::live::Program;

/// This program, which live runs start as their workers.
pub fn this_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(|error| Error::new(format_args!("this program cannot be found again: {error}")))
}

/// The folder in which Flowloom keeps what it measured of this host: `flowloom` in XDG_CACHE_HOME, or in `~/.cache`.
pub fn cache_folder() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))?;
    Some(cache.join("flowloom"))
}

/// This program, as the hidden command of this name.
pub fn program(command: &str) -> Result<Program, Error> {
    Ok(Program { path: this_program()?, arguments: vec![command.into()] })
}
