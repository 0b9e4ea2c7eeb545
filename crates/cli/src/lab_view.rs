//! All hosts of a script in one view while it runs: on a terminal a line for each agent, gone at the end; anywhere else what is asked of
//! them, a line each.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use flowloom::lab::control::Command;
use flowloom::lab::controller::Step;
use flowloom::{BlockState, Blocks};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal;

/// So many agents have a line of their own; the others share one.
const MOST_LINES: usize = 20;
/// What the line of the others is called.
const OTHERS: &str = "others";

/// The view.
pub struct View {
    quiet: bool,
    lines: MultiProgress,
    hosts: Mutex<BTreeMap<String, (ProgressBar, Blocks)>>,
}

/// States of blocks, in the order of their words on a line.
const WORDS: [(BlockState, &str); 4] = [
    (BlockState::SetUp, "set up"),
    (BlockState::Running, "running"),
    (BlockState::Ran, "ran"),
    (BlockState::Failed, "failed"),
];

/// How many blocks are how far, in words.
fn words(blocks: &Blocks) -> String {
    let counts = WORDS.iter().map(|(state, word)| (blocks.count(*state), word));
    let words: Vec<String> =
        counts.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    words.join(", ")
}

impl View {
    /// One that says nothing if it is to be quiet.
    pub fn new(quiet: bool) -> View {
        let target = if quiet || !terminal::draws_progress() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        View { quiet, lines: MultiProgress::with_draw_target(target), hosts: Mutex::default() }
    }

    /// All are asked something.
    pub fn phase(&self, command: Command) {
        if !self.quiet {
            self.lines.suspend(|| tell!("{command}"));
        }
    }

    /// A block is asked something, or is done with it.
    pub fn step(&self, step: Step<'_>) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = hosts.contains_key(step.agent) || hosts.len() < MOST_LINES;
        let name = if is_own { step.agent } else { OTHERS };
        let (line, blocks) = hosts.entry(name.to_owned()).or_insert_with(|| {
            let style =
                ProgressStyle::with_template("  {prefix}  {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            let line = self.lines.add(ProgressBar::no_length().with_style(style).with_prefix(name.to_owned()));
            (line, Blocks::default())
        });
        blocks.take(&step);
        line.set_message(words(blocks));
    }

    /// Takes the lines away.
    pub fn end(&self) {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.values().for_each(|(line, _)| line.finish_and_clear());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_what_blocks_of_its_host_are_at() {
        let view = View::new(true);
        let step = |agent, node, command, is_done| view.step(Step { agent, node, command, is_done });
        let words = |agent: &str| words(&view.hosts.lock().unwrap()[agent].1);
        let run = Command::Run { start_ns: None };
        step("east", "test 1.1 at east", Command::Setup, None);
        step("east", "test 1.2 at east", Command::Open, Some(true));
        assert_eq!(words("east"), "2 set up");
        step("east", "test 1.1 at east", run, None);
        assert_eq!(words("east"), "1 set up, 1 running");
        step("east", "test 1.1 at east", run, Some(true));
        step("east", "test 1.2 at east", run, Some(false));
        step("west", "test 1.3 at west", run, None);
        assert_eq!((words("east"), words("west")), ("1 ran, 1 failed".to_owned(), "1 running".to_owned()));
        step("east", "test 1.2 at east", Command::Close, Some(true));
        assert_eq!(words("east"), "1 ran, 1 failed", "what failed has failed");
        for number in 0..2 * MOST_LINES {
            let agent = format!("agent-{number}");
            view.step(Step { agent: &agent, node: &format!("sleep 1 at {agent}"), command: run, is_done: None });
        }
        assert_eq!(view.hosts.lock().unwrap().len(), MOST_LINES + 1);
        assert_eq!(words(OTHERS), format!("{} running", MOST_LINES + 2));
    }
}
