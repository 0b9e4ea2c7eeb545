//! A script from setup to teardown over the agents of a lab (methods J.2, J.3), as its controller has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::FutureExt;
use futures_util::stream::{self, StreamExt};
use tokio::sync::mpsc;

use super::below::Commander;
use super::error::ControlError;
use super::plan::{Ends, Hosts, Placed, Survey, ends};
use super::remote::Watcher;
use super::times::{AgentRun, LeafRun, Times};
use super::tree::Tree;
use super::{Wanted, ask, delegate};
use crate::authority::identity::Name;
use crate::clock::Clock;
use crate::control::{Command, Failure, Part, Reply, Reports, Said};
use crate::leaves::announced;
use crate::rpc::agreement::Answer;
use crate::rpc::{Agreement, Asking, Consented};
use crate::script::leaf::{Endpoint, duration};
use crate::script::tree::{Block, Keyword};
use crate::transport::client::Caller;

/// Consents, and what else is signed for an experiment, count for so much longer than the script takes, in seconds.
const LONGER_S: u64 = 120;
/// Consents that an agent is asked for at once: each has a certificate in it.
const CONSENTS_AT_ONCE: usize = 1_000;
/// Agents that are asked at the same time.
const ASKED_AT_ONCE: usize = 64;
/// Parts of reports that may wait for whoever reads them.
const PARTS_WAITING: usize = 16;

/// What is known when an experiment is over.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What agents said, to be shown as it is.
    pub said: Vec<Said>,
    /// Leaves and clusters that failed.
    pub failed: Vec<Failure>,
    /// Whether with them the whole experiment failed.
    pub is_failed: bool,
    /// Whether that is because it was interrupted.
    pub is_interrupted: bool,
    /// Leaves that ran.
    pub leaves: Vec<LeafRun>,
    /// Agents, and how their monotonic clocks were to this host's, before and after.
    pub agents: Vec<AgentRun>,
}

/// An experiment that is ready to run.
pub struct Experiment {
    name: String,
    tree: Tree,
}

impl Experiment {
    /// Connects to all agents of a script, here and through the agents that blocks are left to, learns their clocks, and asks those that
    /// will receive for their consent.
    ///
    /// # Errors
    /// Every agent that cannot be had, and every leaf that has no address.
    pub async fn begin(
        caller: &Caller,
        clock: Arc<dyn Clock>,
        name: &str,
        script: &Block,
        hosts: &Hosts,
    ) -> Result<Experiment, Vec<ControlError>> {
        let (experiment, leaves, seconds) = Experiment::connect(caller, clock, name, script, hosts, false).await?;
        experiment.consents(caller, &leaves, seconds).await?;
        Ok(experiment)
    }

    /// Takes an experiment up that was lost: all that can be done is to ask for what it found.
    ///
    /// # Errors
    /// Every agent that cannot be had or does not know the experiment.
    pub async fn take_up(
        caller: &Caller,
        clock: Arc<dyn Clock>,
        name: &str,
        script: &Block,
        hosts: &Hosts,
    ) -> Result<Experiment, Vec<ControlError>> {
        Experiment::connect(caller, clock, name, script, hosts, true).await.map(|(experiment, _, _)| experiment)
    }

    /// The same, with one who hears what blocks are asked, and when they are done with it.
    #[must_use]
    pub fn watched(self, watcher: Watcher) -> Experiment {
        self.tree.watch(watcher);
        self
    }

    async fn connect<'a>(
        caller: &Caller,
        clock: Arc<dyn Clock>,
        name: &str,
        script: &'a Block,
        hosts: &Hosts,
        resume: bool,
    ) -> Result<(Experiment, Vec<Placed<'a>>, u64), Vec<ControlError>> {
        let survey = Survey::of(script, name, hosts);
        if !survey.problems.is_empty() {
            return Err(survey.problems);
        }
        let seconds = takes_s(script).saturating_add(LONGER_S);
        let until_unix_s = clock.unix_s().saturating_add_unsigned(seconds);
        let delegations = survey.delegations.into_iter().map(|mut delegation| {
            delegation.until_unix_s = until_unix_s;
            delegate(&caller.own, &delegation)
        });
        let delegations = delegations.collect::<Result<Vec<_>, _>>().map_err(|why| vec![why.into()])?;
        let by = Commander { caller: caller.clone(), clock, experiment: name.to_owned(), resume };
        let tree = Tree::begin(&by, script, "1", None, hosts, delegations).await?;
        Ok((Experiment { name: name.to_owned(), tree }, survey.leaves, seconds))
    }

    /// Asks those to whom leaves send. Where a leaf sends to none of the script nobody is asked, and its agent will not let it.
    async fn consents(&self, caller: &Caller, leaves: &[Placed<'_>], seconds: u64) -> Result<(), Vec<ControlError>> {
        let with_ends: Vec<(&Placed<'_>, Ends)> =
            leaves.iter().filter_map(|leaf| Some((leaf, ends(leaf.block)?))).collect();
        let mut receivers: BTreeMap<&Endpoint, &Placed<'_>> = BTreeMap::new();
        for (leaf, ends) in with_ends.iter().filter(|(_, ends)| ends.receives).rev() {
            receivers.insert(&ends.own, leaf);
        }
        let mut by_receiver: BTreeMap<&Name, Vec<(&str, Wanted)>> = BTreeMap::new();
        for (leaf, ends) in &with_ends {
            let Some(rate_bit_s) = ends.sends_bit_s else { continue };
            let receiver = receivers.get(&ends.peer).and_then(|receiver| self.name_of(receiver));
            let (Some(receiver), Some(sender)) = (receiver, self.name_of(leaf)) else { continue };
            let Ok(to) = announced::address(&ends.peer) else { continue };
            let sender = sender.to_string();
            let wanted = Wanted { sender, to, protocol: ends.protocol, rate_bit_s, duration_s: seconds };
            by_receiver.entry(receiver).or_default().push((&leaf.path, wanted));
        }
        let mut some = Vec::new();
        for (receiver, wanted) in &by_receiver {
            for wanted in wanted.chunks(CONSENTS_AT_ONCE) {
                some.push(self.some_consents(caller, receiver, wanted, seconds).boxed());
            }
        }
        let mut asking = stream::iter(some).buffer_unordered(ASKED_AT_ONCE);
        while let Some(asked) = asking.next().await {
            self.tree.agree(asked.map_err(|why| vec![why])?);
        }
        Ok(())
    }

    /// What the agent of a leaf is called.
    fn name_of<'b>(&'b self, leaf: &'b Placed<'_>) -> Option<&'b Name> {
        leaf.place.name.as_ref().or_else(|| self.tree.name_at(&leaf.place))
    }

    /// What `receiver` says, by the leaves that want to send to it.
    async fn some_consents(
        &self,
        caller: &Caller,
        receiver: &Name,
        wanted: &[(&str, Wanted)],
        seconds: u64,
    ) -> Result<Vec<(String, Agreement)>, ControlError> {
        let asking = Asking {
            experiment: self.name.clone(),
            receiver: receiver.to_string(),
            requests: wanted.iter().map(|(_, wanted)| wanted.request()).collect(),
            until_unix_s: self.tree.unix_s().saturating_add_unsigned(seconds),
        };
        let asking = ask(&caller.own, &asking)?;
        let refused = |why: &str| Agreement { answer: Some(Answer::Refusal(format!("agent {receiver}: {why}"))) };
        let agreements = match self.tree.ask(asking).await {
            Ok(Consented { agreements }) => agreements,
            // Without consent the sending agent refuses, and why is said with that.
            Err(why) => vec![refused(&why.to_string()); wanted.len()],
        };
        let named = agreements.into_iter().map(|agreement| match agreement.answer {
            Some(Answer::Refusal(why)) => refused(&why),
            _ => agreement,
        });
        Ok(wanted.iter().map(|(leaf, _)| (*leaf).to_owned()).zip(named).collect())
    }

    /// Runs it, until it is over or `stop` comes back; then everything is stopped and what there is of results is asked for all the same.
    /// Reports go to `reports` as they come, and `phase` hears what is asked.
    pub async fn run(
        mut self,
        reports: &Reports,
        mut phase: impl FnMut(Command),
        stop: impl Future<Output = ()>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let mut stop = std::pin::pin!(stop);
        for command in [Command::Setup, Command::Open, Command::Run { start_ns: None }, Command::Finish, Command::Close]
        {
            let command = match command {
                Command::Run { .. } => Command::Run { start_ns: self.tree.next_start() },
                other => other,
            };
            phase(command);
            let answer = tokio::select! {
                answer = self.tree.command(command, reports) => answer,
                () = &mut stop => {
                    outcome.is_interrupted = true;
                    let text = format!("experiment {} was interrupted", self.name);
                    Err(vec![Failure { node: self.tree.name().to_owned(), command, text }])
                }
            };
            let is_failed = answer.is_err();
            outcome.take(answer);
            if is_failed {
                outcome.is_failed = true;
                phase(Command::Kill);
                let killed = self.tree.command(Command::Kill, reports).await;
                outcome.take(killed);
                break;
            }
        }
        self.over(outcome, reports, phase).await
    }

    /// Asks for what was found, and ends it.
    pub async fn report(self, reports: &Reports) -> Outcome {
        self.over(Outcome::default(), reports, |_| {}).await
    }

    async fn over(mut self, mut outcome: Outcome, reports: &Reports, mut phase: impl FnMut(Command)) -> Outcome {
        for command in [Command::Report, Command::Teardown] {
            phase(command);
            let answer = self.tree.command(command, reports).await;
            outcome.take(answer);
        }
        let Times { leaves, agents } = self.tree.end().await;
        (outcome.leaves, outcome.agents) = (leaves, agents);
        outcome.leaves.sort_by(|one, other| one.node.cmp(&other.node));
        outcome
    }
}

impl Outcome {
    fn take(&mut self, answer: Reply) {
        match answer {
            Ok(mut acknowledged) => {
                self.said.append(&mut acknowledged.said);
                self.failed.append(&mut acknowledged.failed);
            }
            Err(mut failures) => self.failed.append(&mut failures),
        }
    }
}

/// Seconds that a block takes, as far as its leaves say.
pub fn takes_s(block: &Block) -> u64 {
    let children = block.body.blocks().map(takes_s);
    match block.control() {
        Some(Keyword::Serial) => children.fold(0, u64::saturating_add),
        Some(Keyword::Cluster | Keyword::Parallel) => children.max().unwrap_or_default(),
        None => duration(block).map_or(0, |duration| duration.as_nanos().div_ceil(1_000_000_000)).saturating_add(1),
    }
}

/// Runs an experiment to its end: what it came to. Parts of reports go to `report` as they come.
pub async fn run_whole(
    experiment: Experiment,
    phase: impl FnMut(Command),
    report: impl FnMut(Part),
    stop: impl Future<Output = ()>,
) -> Outcome {
    let (reports, came) = mpsc::channel(PARTS_WAITING);
    let running = async move { experiment.run(&reports, phase, stop).await };
    read_while(running, came, report).await
}

/// Takes a lost experiment's reports: parts go to `report` as they come.
pub async fn report_whole(experiment: Experiment, report: impl FnMut(Part)) -> Outcome {
    let (reports, came) = mpsc::channel(PARTS_WAITING);
    let running = async move { experiment.report(&reports).await };
    read_while(running, came, report).await
}

async fn read_while<T>(
    running: impl Future<Output = T>,
    mut came: mpsc::Receiver<Part>,
    mut report: impl FnMut(Part),
) -> T {
    let reading = async {
        while let Some(part) = came.recv().await {
            report(part);
        }
    };
    tokio::join!(running, reading).0
}
