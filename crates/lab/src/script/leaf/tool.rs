//! What leaves are asked to do that are no `test`: they carry, look on, run something, or play what was captured. Each kind has a file of
//! its own.

use flowloom_core::time::Duration;

use super::super::diagnostic::Diagnostic;
use super::super::tree::Block;
use super::arguments::{Arguments, as_arguments};
use super::capture::Capture;
use super::command::Command;
use super::monitor::Monitor;
use super::path::Path;
use super::replay::Replay;
use super::side::Side;
use super::sleep::Sleep;
use super::watch::Watch;

/// What such a leaf is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Tool {
    /// Nothing.
    Sleep(Sleep),
    /// To be a path.
    Path(Box<Path>),
    /// To capture.
    Capture(Capture),
    /// To watch a flow.
    Watch(Box<Watch>),
    /// To read counters.
    Monitor(Monitor),
    /// To run a program.
    Command(Command),
    /// To play a side of a run.
    Side(Side),
    /// To play a side of a workload with another host.
    Replay(Box<Replay>),
}

impl Tool {
    /// What the leaf `block` is asked to do, and what is to be said of that; `None` if it is of no kind that is known. Parameters that are
    /// not known are warned of: they are passed on.
    ///
    /// Nothing comes of a leaf with errors.
    pub fn read(block: &Block) -> Option<(Option<Tool>, Vec<Diagnostic>)> {
        let read: fn(&mut Arguments<'_>) -> Option<Tool> = match block.keyword.as_str() {
            Sleep::KEYWORD => |given| Sleep::read(given).map(Tool::Sleep),
            Path::KEYWORD => |given| Path::read(given).map(Box::new).map(Tool::Path),
            Capture::KEYWORD => |given| Capture::read(given).map(Tool::Capture),
            Watch::KEYWORD => |given| Watch::read(given).map(Box::new).map(Tool::Watch),
            Monitor::KEYWORD => |given| Monitor::read(given).map(Tool::Monitor),
            Command::KEYWORD => |given| Command::read(given).map(Tool::Command),
            Side::KEYWORD => |given| Side::read(given).map(Tool::Side),
            Replay::KEYWORD => |given| Replay::read(given).map(Box::new).map(Tool::Replay),
            _ => return None,
        };
        let mut found = Vec::new();
        let parameters = as_arguments(block);
        let mut given = Arguments::of(&parameters, &mut found);
        let tool = read(&mut given);
        given.pass_on();
        let tool = tool.filter(|_| !found.iter().any(Diagnostic::is_error));
        Some((tool, found))
    }

    /// How long it goes on.
    pub fn duration(&self) -> Duration {
        match self {
            Tool::Sleep(sleep) => sleep.duration,
            Tool::Path(path) => path.duration,
            Tool::Capture(capture) => capture.duration,
            Tool::Watch(watch) => watch.duration,
            Tool::Monitor(monitor) => monitor.duration,
            Tool::Command(command) => command.duration,
            Tool::Side(side) => side.duration,
            Tool::Replay(replay) => replay.duration,
        }
    }

    /// What it does, for those who ask before.
    pub fn words(&self) -> String {
        match self {
            Tool::Sleep(sleep) => sleep.words(),
            Tool::Path(path) => path.words(),
            Tool::Capture(capture) => capture.words(),
            Tool::Watch(watch) => watch.words(),
            Tool::Monitor(monitor) => monitor.words(),
            Tool::Command(command) => command.words(),
            Tool::Side(side) => side.words(),
            Tool::Replay(replay) => replay.words(),
        }
    }
}
