//! What is observed of a script while it runs over the agents of a lab: how far its blocks are, at each agent.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use flowloom_lab::control::Command;
use flowloom_lab::controller::Step;
use flowloom_report::Accounted;
use flowloom_store::running::{Observation, ObservedAgent, ObservedScript, Phase, RunningFile};

use crate::clock::{Stopwatch, unix_nanos};
use crate::context::Log;
use crate::observation::{EVERY_NANOS, begun};
use crate::parallel::locked;

/// How far a block of a script is. One that failed is that from then on, whatever it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// It is set up, or about to be.
    SetUp,
    /// It was asked to run, and has not ended.
    Running,
    /// It has run to its end.
    Ran,
    /// It could not do something that it was asked.
    Failed,
}

impl BlockState {
    fn of(step: &Step<'_>) -> BlockState {
        match (step.command, step.is_done) {
            (_, Some(false)) => BlockState::Failed,
            (Command::Run { .. }, None) => BlockState::Running,
            (Command::Setup | Command::Open, _) => BlockState::SetUp,
            _ => BlockState::Ran,
        }
    }
}

/// Blocks of a script, by what the user knows them by.
#[derive(Debug, Default)]
pub struct Blocks {
    at: BTreeMap<String, BlockState>,
    counts: [u64; 4],
}

impl Blocks {
    /// A block is asked something, or is done with it; where it is now.
    pub fn take(&mut self, step: &Step<'_>) -> BlockState {
        let now = BlockState::of(step);
        match self.at.get_mut(step.node) {
            Some(BlockState::Failed) => return BlockState::Failed,
            Some(at) => self.counts[std::mem::replace(at, now) as usize] -= 1,
            None => drop(self.at.insert(step.node.to_owned(), now)),
        }
        self.counts[now as usize] += 1;
        now
    }

    /// How many are there.
    pub fn count(&self, state: BlockState) -> u64 {
        self.counts[state as usize]
    }
}

/// Watches a script. Its file is gone when it is dropped.
pub struct ScriptWatch {
    file: RunningFile,
    clock: Stopwatch,
    log: Log,
    state: Mutex<State>,
}

struct State {
    said: Observation,
    agents: BTreeMap<String, Blocks>,
    /// When the next observation is due.
    next_nanos: u64,
    /// When the blocks were asked to run.
    run_nanos: Option<u64>,
}

impl ScriptWatch {
    /// Of the experiment `name`, which takes `seconds`, will be in `target` and is in `folder` until then.
    pub fn new(target: &Path, folder: &Path, name: &str, seconds: u64) -> ScriptWatch {
        let window_ns = seconds.saturating_mul(1_000_000_000);
        let said = Observation {
            window_ns,
            at_most_ns: window_ns,
            lab: Some(ObservedScript { experiment: name.to_owned(), ..ObservedScript::default() }),
            ..begun(target, target, "lab")
        };
        let state = State { said, agents: BTreeMap::new(), next_nanos: 0, run_nanos: None };
        ScriptWatch {
            file: RunningFile::new(folder),
            clock: Stopwatch::start(),
            log: Log::default(),
            state: Mutex::new(state),
        }
    }

    /// All blocks are asked something.
    pub fn phase(&self, command: Command) {
        let now = self.clock.nanos();
        let mut state = locked(&self.state);
        if let Command::Run { .. } = command {
            state.run_nanos = Some(now);
        }
        if matches!(command, Command::Report | Command::Teardown) {
            state.said.phase = Phase::Finishing;
        }
        if let Some(lab) = &mut state.said.lab {
            lab.command = command.to_string();
        }
        // What all are asked is news.
        state.next_nanos = 0;
        self.say(&mut state, now);
    }

    /// A block is asked something, or is done with it.
    pub fn step(&self, step: &Step<'_>) {
        let now = self.clock.nanos();
        let mut state = locked(&self.state);
        let blocks = state.agents.entry(step.agent.to_owned()).or_default();
        let had_failed = blocks.count(BlockState::Failed);
        if blocks.take(step) == BlockState::Failed && blocks.count(BlockState::Failed) > had_failed {
            let reason = format!("{} failed at: {}", step.node, step.command);
            self.log.add(reason.clone());
            state.said.log = self.log.lines();
            if state.said.reasons.is_empty() {
                state.said.reasons.push(reason);
            }
            state.said.verdict = Accounted::Invalid.to_string();
        }
        self.say(&mut state, now);
    }

    /// Says how far it is, if it is time; whether somebody asks it to stop. To be called several times a second.
    pub fn is_stop_requested(&self) -> bool {
        let now = self.clock.nanos();
        self.say(&mut locked(&self.state), now);
        self.file.is_stop_requested()
    }

    fn say(&self, state: &mut State, now: u64) {
        if now < state.next_nanos {
            return;
        }
        state.next_nanos = now + EVERY_NANOS;
        let said = &mut state.said;
        said.observed_unix_ns = unix_nanos();
        (said.time_ns, said.links_time_ns) = (now, now);
        let ran = state.run_nanos.map_or(0, |begun| now.saturating_sub(begun));
        said.share_done = match said.phase {
            Phase::Running => (ran as f64 / said.window_ns.max(1) as f64).min(1.0),
            Phase::Finishing | Phase::Ended => 1.0,
        };
        if let Some(lab) = &mut said.lab {
            let agent = |(agent, blocks): (&String, &Blocks)| ObservedAgent {
                agent: agent.clone(),
                set_up: blocks.count(BlockState::SetUp),
                running: blocks.count(BlockState::Running),
                ran: blocks.count(BlockState::Ran),
                failed: blocks.count(BlockState::Failed),
            };
            lab.agents = state.agents.iter().map(agent).collect();
        }
        self.file.write(said);
    }
}

#[cfg(test)]
mod tests {
    use flowloom_store::running::{observe, request_stop};

    use super::*;

    #[test]
    fn agents_are_seen_while_a_script_runs() {
        let folder = tempfile::tempdir().unwrap();
        let watch = ScriptWatch::new(Path::new("results/a"), folder.path(), "1234", 10);
        let step = |agent, node, command, is_done| watch.step(&Step { agent, node, command, is_done });
        let run = Command::Run { start_ns: None };
        watch.phase(Command::Setup);
        for node in ["traffic 1.1 at east", "traffic 1.2 at east"] {
            step("east", node, Command::Setup, Some(true));
        }
        step("west", "traffic 1.3 at west", Command::Setup, Some(true));
        watch.phase(run);
        step("east", "traffic 1.1 at east", run, None);
        step("east", "traffic 1.2 at east", run, Some(false));
        step("west", "traffic 1.3 at west", run, Some(true));
        watch.phase(Command::Finish);
        let seen = observe(folder.path()).unwrap();
        assert_eq!((&seen.run[..], &seen.driver[..], seen.window_ns), ("a", "lab", 10_000_000_000));
        let lab = seen.lab.unwrap();
        assert_eq!((&lab.experiment[..], lab.command), ("1234", Command::Finish.to_string()));
        let agent = |agent: &str, running, ran, failed| ObservedAgent {
            agent: agent.to_owned(),
            set_up: 0,
            running,
            ran,
            failed,
        };
        assert_eq!(lab.agents, [agent("east", 1, 0, 1), agent("west", 0, 1, 0)]);
        assert_eq!((&seen.verdict[..], seen.reasons.len(), seen.log.len()), ("INVALID", 1, 1));
        assert!(seen.reasons[0].starts_with("traffic 1.2 at east failed"), "{:?}", seen.reasons);
        // Of what failed nothing else is told.
        step("east", "traffic 1.2 at east", Command::Close, Some(true));
        watch.phase(Command::Close);
        assert_eq!(observe(folder.path()).unwrap().lab.unwrap().agents[0], agent("east", 1, 0, 1));
        assert!(!watch.is_stop_requested() && request_stop(folder.path()).unwrap() && watch.is_stop_requested());
        watch.phase(Command::Report);
        let seen = observe(folder.path()).unwrap();
        assert_eq!((seen.phase, seen.share_done), (Phase::Finishing, 1.0));
        drop(watch);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
