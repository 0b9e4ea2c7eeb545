//! A block of the script at an agent, as a node of the tree: a leaf, or a control block that the agent is at work on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::below::Agent;
use super::edge::Answers;
use super::plan::is_within;
use super::times::{AgentRun, Times};
use super::wire;
use crate::control::{Acknowledgement, Command, Failure, Node, Part, Reply, Reports, Said};
use crate::rpc::agreement::Answer;
use crate::rpc::up::Reply as Up;
use crate::rpc::{Agree, Agreed, Agreement, Below, Phase, Run, Setup, Signed, down};
use crate::transport::CallError;

/// Agreements that go down in one message: each has a certificate in it.
const AGREEMENTS_AT_ONCE: usize = 1_000;

/// What nodes are given and what they note, by path.
#[derive(Default)]
pub(super) struct Notes {
    /// What receivers agreed to, by the leaf that sends.
    agreements: Mutex<BTreeMap<String, Agreement>>,
    /// Leaves that ran.
    runs: Mutex<Vec<Ran>>,
    /// What agents told of their blocks.
    told: Mutex<BTreeMap<String, Told>>,
    /// Who hears what blocks are asked and when they are done with it.
    watcher: OnceLock<Watcher>,
}

/// A block at an agent is asked something, or is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The block, as the user knows it.
    pub node: &'a str,
    /// What it is asked.
    pub command: Command,
    /// Whether it did that, once it is known.
    pub is_done: Option<bool>,
}

/// Hears of steps as they come.
pub type Watcher = Box<dyn Fn(Step<'_>) + Send + Sync>;

/// A run by the agent's clock.
pub(super) struct Ran {
    pub node: String,
    pub agent: Arc<Agent>,
    pub meant_ns: Option<i64>,
    pub started_ns: i64,
    pub ended_ns: i64,
}

/// What an agent told of a block, by its clock.
pub(super) struct Told {
    pub agent: Arc<Agent>,
    pub times: Times,
    /// The start that it was given, by ours.
    pub meant_ns: Option<i64>,
}

impl Notes {
    /// From now on this one hears of every step. There is one at most: the first.
    pub fn watch(&self, watcher: Watcher) {
        // Nobody sets a second.
        let _ = self.watcher.set(watcher);
    }

    /// Takes up what was agreed to.
    pub fn agree(&self, agreed: impl IntoIterator<Item = (String, Agreement)>) {
        lock(&self.agreements).extend(agreed);
    }

    pub fn take_runs(&self) -> Vec<Ran> {
        std::mem::take(&mut *lock(&self.runs))
    }

    pub fn take_told(&self) -> BTreeMap<String, Told> {
        std::mem::take(&mut *lock(&self.told))
    }

    /// What agents said of those below them, by our clock.
    pub fn told_of_agents(&self) -> Vec<Vec<AgentRun>> {
        let by_ours = |told: &Told| {
            let times = Times { agents: told.times.agents.clone(), ..Times::default() };
            times.by_ours(told.agent.name.as_str(), &told.agent.clocks().monotonic, None).agents
        };
        lock(&self.told).values().map(by_ours).collect()
    }

    /// What is known of agents below a block, and at its end of leaves.
    pub fn tell(&self, path: &str, agent: &Arc<Agent>, times: Times) {
        let mut told = lock(&self.told);
        let meant_ns = told.get(path).and_then(|told| told.meant_ns);
        told.insert(path.to_owned(), Told { agent: Arc::clone(agent), times, meant_ns });
    }
}

/// A block at an agent.
pub(super) struct Remote {
    pub name: String,
    pub path: String,
    pub agent: Arc<Agent>,
    pub notes: Arc<Notes>,
    /// The text of a leaf, which is set up by it. A control block was placed, and has none.
    pub leaf: Option<String>,
}

impl Remote {
    async fn ask(&self, command: Command) -> Result<Answers, CallError> {
        let (edge, block) = (&self.agent.edge, self.path.clone());
        edge.ask(match (command, &self.leaf) {
            (Command::Setup, Some(text)) => {
                let consents = self.consents();
                down::Command::Setup(Setup { block, text: text.clone(), consents })
            }
            (Command::Run { start_ns }, _) => {
                let meant_ns = start_ns.and_then(|start| i64::try_from(start).ok());
                if let Some(told) = lock(&self.notes.told).get_mut(&self.path) {
                    told.meant_ns = meant_ns;
                }
                let start_monotonic_ns = meant_ns.map_or(0, |start| self.agent.theirs(start));
                down::Command::Run(Run { block, start_monotonic_ns })
            }
            (command, leaf) => {
                if command == Command::Setup && leaf.is_none() {
                    self.hand_down().await?;
                }
                down::Command::Phase(Phase { block, kind: wire::kind(command).into() })
            }
        })
        .await
    }

    fn consents(&self) -> Vec<Signed> {
        let agreements = lock(&self.notes.agreements);
        let consent = |agreement: &Agreement| match &agreement.answer {
            Some(Answer::Consent(consent)) => Some(consent.clone()),
            _ => None,
        };
        agreements.get(&self.path).and_then(consent).into_iter().collect()
    }

    /// Why there is no consent for this leaf.
    fn refusal(&self) -> Option<String> {
        match lock(&self.notes.agreements).get(&self.path)?.answer.as_ref()? {
            Answer::Refusal(why) => Some(why.clone()),
            Answer::Consent(_) => None,
        }
    }

    /// Gives the agent what was agreed to for leaves below.
    async fn hand_down(&self) -> Result<(), CallError> {
        let below: Vec<Agreed> = {
            let agreements = lock(&self.notes.agreements);
            let within = agreements.iter().filter(|(leaf, _)| is_within(leaf, &self.path));
            within.map(|(leaf, agreement)| Agreed { leaf: leaf.clone(), agreement: Some(agreement.clone()) }).collect()
        };
        for agreed in below.chunks(AGREEMENTS_AT_ONCE) {
            let agree = Agree { block: self.path.clone(), agreed: agreed.to_vec() };
            self.agent.edge.command(down::Command::Agree(agree)).await?;
        }
        Ok(())
    }

    async fn answer(&self, command: Command, mut answers: Answers, reports: &Reports) -> Reply {
        let mut all = Acknowledgement::default();
        let mut last = Below::default();
        while let Some(part) = answers.part().await {
            match part {
                Up::Report(report) => {
                    // An agent reports for its own block and those below, and for nobody else.
                    let node = match report.node.split(' ').nth(1) {
                        Some(path) if is_within(path, &self.path) => report.node,
                        _ => self.name.clone(),
                    };
                    // Whoever asked for reports and left does not want them.
                    let _ = reports.send(Part { node, bytes: report.part }).await;
                }
                Up::Below(mut below) => {
                    let mut words = wire::words(&mut below, command);
                    all.said.append(&mut words.said);
                    all.failed.append(&mut words.failed);
                    last.leaves.append(&mut below.leaves);
                    last.agents.append(&mut below.agents);
                }
                _ => {}
            }
        }
        let done = match answers.end().await {
            Ok(done) => done,
            // A block that failed has named what failed of it.
            Err(_) if !all.failed.is_empty() => return Err(all.failed),
            Err(why) => return Err(vec![self.failure(command, &why)]),
        };
        let node = self.name.clone();
        match (command, &self.leaf) {
            (Command::Run { start_ns }, Some(_)) => lock(&self.notes.runs).push(Ran {
                node: node.clone(),
                agent: Arc::clone(&self.agent),
                meant_ns: start_ns.and_then(|start| i64::try_from(start).ok()),
                started_ns: done.started_monotonic_ns,
                ended_ns: done.ended_monotonic_ns,
            }),
            (Command::Teardown, None) => {
                self.notes.tell(&self.path, &self.agent, wire::times(last.leaves, last.agents));
            }
            _ => {}
        }
        if !done.text.is_empty() {
            all.said.push(Said { node, text: done.text });
        }
        Ok(all)
    }

    fn step(&self, command: Command, is_done: Option<bool>) {
        if let Some(watcher) = self.notes.watcher.get() {
            watcher(Step { agent: self.agent.name.as_str(), node: &self.name, command, is_done });
        }
    }

    fn failure(&self, command: Command, why: &CallError) -> Failure {
        let mut text = why.to_string();
        if let (Command::Setup, Some(why)) = (command, self.refusal()) {
            text += &format!("; {why}");
        }
        Failure { node: self.name.clone(), command, text }
    }
}

#[tonic::async_trait]
impl Node for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    async fn command(&mut self, command: Command, reports: &Reports) -> Reply {
        self.step(command, None);
        let reply = match self.ask(command).await {
            Ok(answers) => self.answer(command, answers, reports).await,
            Err(why) => Err(vec![self.failure(command, &why)]),
        };
        self.step(command, Some(reply.is_ok()));
        reply
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
