//! `command { name = trace; duration = 20; }`: a program that the agent's keeper has put on its list.

use flowloom_core::time::Duration;

use super::arguments::Arguments;

/// What a `command` is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What the list calls it.
    pub name: String,
    /// It is ended then, with all that it has started.
    pub duration: Duration,
}

impl Command {
    pub(super) const KEYWORD: &str = "command";

    pub(super) fn read(given: &mut Arguments<'_>) -> Option<Command> {
        let name = given.needed_name("name", "what the agent's limits.toml calls it");
        let duration = given.duration();
        Some(Command { name: name?, duration: duration? })
    }

    pub(super) fn words(&self) -> String {
        format!("runs the command {}", self.name)
    }
}
