//! A script from setup to teardown over the agents of a lab (methods J.2, J.3).
//!
//! Control blocks are done here, wherever the script has them run; leaves are done by the agents at their addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use super::{Clocks, Edge, Wanted};
use crate::authority::identity::Name;
use crate::clock::Clock;
use crate::clock::exchange::Bounds;
use crate::control::{Acknowledgement, Branch, Command, Failure, Node, Part, Reply, Reports, Said};
use crate::leaves::announced;
use crate::rpc::phase::Kind;
use crate::rpc::{self, Phase, Protocol, Setup, Signed};
use crate::script::address::{Address, CONTROL_PORT};
use crate::script::format;
use crate::script::leaf::{Leaf, Protocol as Over, TEST};
use crate::script::tree::{Block, Body, Child, Keyword};
use crate::transport::client::{Caller, Link};

/// Everything is begun so long after it was said, that it is known everywhere by then.
const LEAD_NS: u64 = 500_000_000;
/// Exchanges of timestamps with an agent before, and again after the run.
const EXCHANGES: usize = 16;
/// Consents count for so much longer than the script takes, in seconds.
const LONGER_S: u64 = 120;

/// Where an agent is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// What it is expected to be called, where that is known.
    pub name: Option<Name>,
    /// Host and port.
    pub address: String,
}

/// Where the agent of an address in a script is: the lab's list has hosts by name or by `host`; others are asked themselves, at the
/// port of agents.
pub fn place(address: &Address, list: &BTreeMap<Name, String>) -> Place {
    let host = address.host.to_string();
    let by_name = list.iter().find(|(name, _)| name.as_str() == host);
    let by_host = || list.iter().find(|(_, place)| place.rsplit_once(':').map(|(host, _)| host) == Some(host.as_str()));
    match by_name.or_else(by_host) {
        Some((name, place)) => Place { name: Some(name.clone()), address: place.clone() },
        None => Place { name: None, address: format!("{host}:{CONTROL_PORT}") },
    }
}

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

/// A leaf that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafRun {
    /// What it is called.
    pub node: String,
    /// Its agent.
    pub agent: String,
    /// When it was to start, by this host's clock.
    pub meant_ns: Option<i64>,
    /// When it started by the agent's clock, as this host's: not before, not after.
    pub started_ns: Option<(i64, i64)>,
    /// When it ended, likewise.
    pub ended_ns: Option<(i64, i64)>,
}

/// An agent that took part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRun {
    /// What it is called.
    pub agent: String,
    /// Where.
    pub address: String,
    /// How far its clock was ahead before and after the run.
    pub offset: [Option<Bounds>; 2],
    /// How often its clock was set meanwhile, as far as that shows.
    pub clock_steps: usize,
}

/// An agent while an experiment runs.
struct Agent {
    name: Name,
    address: String,
    edge: Edge,
    link: tokio::sync::Mutex<Link>,
    clocks: Mutex<Clocks>,
}

/// A leaf at an agent.
struct Remote {
    name: String,
    block: String,
    text: String,
    agent: Arc<Agent>,
    consents: Vec<Signed>,
    runs: Arc<Mutex<Vec<Ran>>>,
}

/// A run by the agent's clock.
struct Ran {
    node: String,
    agent: Arc<Agent>,
    meant_ns: Option<i64>,
    started_ns: i64,
    ended_ns: i64,
}

/// A leaf of the script, as it is found there.
struct Found<'a> {
    block: &'a Block,
    /// Its numbers on the way from the top: `1.2`.
    path: String,
    place: Place,
    asked: Option<Leaf>,
}

/// An experiment that is ready to run.
pub struct Experiment {
    name: String,
    top: Box<dyn Node>,
    agents: Vec<Arc<Agent>>,
    runs: Arc<Mutex<Vec<Ran>>>,
    clock: Arc<dyn Clock>,
}

impl Experiment {
    /// Connects to all agents of a script, learns their clocks, and asks those that will receive for their consent.
    ///
    /// # Errors
    /// Every agent that cannot be had, and every leaf that has no address.
    pub async fn begin(
        caller: &Caller,
        clock: Arc<dyn Clock>,
        name: &str,
        script: &Block,
        list: &BTreeMap<Name, String>,
    ) -> Result<Experiment, Vec<String>> {
        let mut leaves = Vec::new();
        let mut problems = Vec::new();
        find(script, "1", list, &mut leaves, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let places: BTreeSet<Place> = leaves.iter().map(|leaf| leaf.place.clone()).collect();
        let mut by_place = BTreeMap::new();
        for place in places {
            match Agent::connect(caller, &clock, name, &place).await {
                Ok(agent) => {
                    by_place.insert(place, Arc::new(agent));
                }
                Err(why) => problems.push(why),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let seconds = takes_s(script).saturating_add(LONGER_S);
        let runs: Arc<Mutex<Vec<Ran>>> = Arc::default();
        let mut remotes = BTreeMap::new();
        for leaf in &leaves {
            let agent = Arc::clone(&by_place[&leaf.place]);
            let consents = consents(name, leaf, &agent, &leaves, &by_place, seconds).await;
            let body = Body { children: vec![Child::Block(leaf.block.clone())], ..Body::default() };
            let known = format!("{} {} at {}", leaf.block.keyword, leaf.path, agent.name);
            let remote = Remote {
                name: known,
                block: leaf.path.clone(),
                text: format::format(&body),
                agent,
                consents,
                runs: Arc::clone(&runs),
            };
            remotes.insert(leaf.path.clone(), remote);
        }
        let of_starts = Arc::clone(&clock);
        let next_start = Arc::new(move || Some(of_starts.monotonic_ns().unsigned_abs() + LEAD_NS));
        let top = node(script, "1", &mut remotes, &(next_start as _));
        Ok(Experiment { name: name.to_owned(), top, agents: by_place.into_values().collect(), runs, clock })
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
        {
            let mut stop = std::pin::pin!(stop);
            for command in
                [Command::Setup, Command::Open, Command::Run { start_ns: None }, Command::Finish, Command::Close]
            {
                let command = match command {
                    Command::Run { .. } => {
                        Command::Run { start_ns: Some(self.clock.monotonic_ns().unsigned_abs() + LEAD_NS) }
                    }
                    other => other,
                };
                phase(command);
                let answer = tokio::select! {
                    answer = self.top.command(command, reports) => answer,
                    () = &mut stop => {
                        outcome.is_interrupted = true;
                        let text = format!("experiment {} was interrupted", self.name);
                        Err(vec![Failure { node: self.top.name().to_owned(), command, text }])
                    }
                };
                let is_failed = answer.is_err();
                outcome.take(answer);
                if is_failed {
                    outcome.is_failed = true;
                    phase(Command::Kill);
                    let killed = self.top.command(Command::Kill, reports).await;
                    outcome.take(killed);
                    break;
                }
            }
        }
        for command in [Command::Report, Command::Teardown] {
            phase(command);
            let answer = self.top.command(command, reports).await;
            outcome.take(answer);
        }
        for agent in &self.agents {
            outcome.agents.push(agent.end(&*self.clock).await);
        }
        let runs = std::mem::take(&mut *self.runs.lock().unwrap_or_else(PoisonError::into_inner));
        outcome.leaves = runs.into_iter().map(Ran::by_our_clock).collect();
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

/// The leaves of a block, and what is wrong with those that cannot be placed.
fn find<'a>(
    block: &'a Block,
    path: &str,
    list: &BTreeMap<Name, String>,
    leaves: &mut Vec<Found<'a>>,
    problems: &mut Vec<String>,
) {
    if block.control().is_some() {
        for (number, child) in (1..).zip(block.body.blocks()) {
            find(child, &format!("{path}.{number}"), list, leaves, problems);
        }
        return;
    }
    let asked = (block.keyword == TEST).then(|| Leaf::read(block).0).flatten();
    // A leaf that has no address is where its own end is.
    let own = || asked.as_ref().map(|leaf| Address { host: leaf.own.host.clone(), port: None });
    let address = block.address.as_ref().and_then(|word| word.text.parse::<Address>().ok()).or_else(own);
    match address {
        Some(address) => leaves.push(Found { block, path: path.to_owned(), place: place(&address, list), asked }),
        None => {
            problems.push(format!("{} {path} has no address: write {} HOST {{ ... }}", block.keyword, block.keyword))
        }
    }
}

/// The tree; `remotes` has its leaves.
fn node(
    block: &Block,
    path: &str,
    remotes: &mut BTreeMap<String, Remote>,
    next_start: &crate::control::NextStart,
) -> Box<dyn Node> {
    match (block.control(), remotes.remove(path)) {
        (None, Some(remote)) => Box::new(remote),
        (kind, _) => {
            let children = (1..).zip(block.body.blocks());
            let children =
                children.map(|(number, child)| node(child, &format!("{path}.{number}"), remotes, next_start));
            let children = children.collect();
            let kind = kind.unwrap_or(Keyword::Parallel);
            Box::new(Branch::new(format!("{} {path}", block.keyword), kind, children, Arc::clone(next_start)))
        }
    }
}

/// Seconds that a block takes, as far as its leaves say.
fn takes_s(block: &Block) -> u64 {
    let children = block.body.blocks().map(takes_s);
    match block.control() {
        Some(Keyword::Serial) => children.fold(0, u64::saturating_add),
        Some(Keyword::Cluster | Keyword::Parallel) => children.max().unwrap_or_default(),
        None => {
            Leaf::read(block).0.map_or(0, |leaf| leaf.duration.as_nanos().div_ceil(1_000_000_000)).saturating_add(1)
        }
    }
}

/// What those to whom a leaf sends agreed to. Where it sends to no leaf of the script nobody is asked, and its agent will not let it.
async fn consents(
    experiment: &str,
    leaf: &Found<'_>,
    agent: &Agent,
    leaves: &[Found<'_>],
    by_place: &BTreeMap<Place, Arc<Agent>>,
    seconds: u64,
) -> Vec<Signed> {
    let Some(asked) = leaf.asked.as_ref().filter(|asked| asked.sends()) else { return Vec::new() };
    let receives =
        |other: &&Found<'_>| other.asked.as_ref().is_some_and(|other| !other.sends() && other.own == asked.peer);
    let Some(receiver) = leaves.iter().find(receives) else { return Vec::new() };
    let Ok(to) = announced::address(&asked.peer) else { return Vec::new() };
    let wanted = Wanted {
        experiment: experiment.to_owned(),
        sender: agent.name.to_string(),
        to,
        protocol: match asked.protocol {
            Over::Tcp(_) => Protocol::Tcp,
            Over::Udp(_) => Protocol::Udp,
        },
        rate_bit_s: announced::rate_bit_s(asked),
        duration_s: seconds,
    };
    let mut link = by_place[&receiver.place].link.lock().await;
    // Without consent the sending agent refuses, and says so; why it was not given the receiver's log has.
    link.consent(&wanted).await.into_iter().collect()
}

impl Agent {
    async fn connect(
        caller: &Caller,
        clock: &Arc<dyn Clock>,
        experiment: &str,
        place: &Place,
    ) -> Result<Agent, String> {
        let mut link = caller.connect(&place.address, place.name.as_ref()).await?;
        let told = |why: String| format!("{}: {why}", place.address);
        let mut clocks = Clocks::default();
        link.measure_clock(&**clock, &mut clocks, EXCHANGES).await.map_err(told)?;
        let edge = Edge::begin(&mut link, experiment, Vec::new()).await.map_err(told)?;
        Ok(Agent {
            name: link.agent.identity.name.clone(),
            address: place.address.clone(),
            edge,
            link: tokio::sync::Mutex::new(link),
            clocks: Mutex::new(clocks),
        })
    }

    /// A reading of our monotonic clock as its.
    fn theirs(&self, ours_ns: i64) -> i64 {
        let clocks = self.clocks.lock().unwrap_or_else(PoisonError::into_inner);
        ours_ns.saturating_add(clocks.monotonic.offset(ours_ns).map_or(0, |bounds| bounds.middle_ns()))
    }

    /// A reading of its monotonic clock as ours: not before, not after.
    fn ours(&self, theirs_ns: i64) -> Option<(i64, i64)> {
        let clocks = self.clocks.lock().unwrap_or_else(PoisonError::into_inner);
        // The offset changes by parts in ten thousand: that of a moment near by is enough to find the moment.
        let near = clocks.monotonic.offset(i64::MAX / 2).or_else(|| clocks.monotonic.offset(0))?;
        let bounds = clocks.monotonic.offset(theirs_ns.saturating_sub(near.middle_ns()))?;
        Some((theirs_ns.saturating_sub(bounds.high_ns), theirs_ns.saturating_sub(bounds.low_ns)))
    }

    async fn end(&self, clock: &dyn Clock) -> AgentRun {
        let offset = |agent: &Agent| {
            agent.clocks.lock().unwrap_or_else(PoisonError::into_inner).monotonic.offset(clock.monotonic_ns())
        };
        let before = offset(self);
        let mut clocks = self.clocks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // An agent that has gone is one whose clock is known as it was.
        let again = self.link.lock().await.measure_clock(clock, &mut clocks, EXCHANGES).await.is_ok();
        let steps = clocks.monotonic.steps();
        *self.clocks.lock().unwrap_or_else(PoisonError::into_inner) = clocks;
        let after = again.then(|| offset(self)).flatten();
        AgentRun {
            agent: self.name.to_string(),
            address: self.address.clone(),
            offset: [before, after],
            clock_steps: steps,
        }
    }
}

impl Ran {
    fn by_our_clock(self) -> LeafRun {
        LeafRun {
            node: self.node,
            agent: self.agent.name.to_string(),
            meant_ns: self.meant_ns,
            started_ns: self.agent.ours(self.started_ns),
            ended_ns: self.agent.ours(self.ended_ns),
        }
    }
}

#[tonic::async_trait]
impl Node for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    async fn command(&mut self, command: Command, reports: &Reports) -> Reply {
        let block = self.block.clone();
        let phase = |kind: Kind| rpc::down::Command::Phase(Phase { block: block.clone(), kind: kind.into() });
        let mut meant_ns = None;
        let asked = match command {
            Command::Setup => rpc::down::Command::Setup(Setup {
                block: block.clone(),
                text: self.text.clone(),
                consents: self.consents.clone(),
            }),
            Command::Open => phase(Kind::Open),
            Command::Run { start_ns } => {
                meant_ns = start_ns.and_then(|start| i64::try_from(start).ok());
                let start_monotonic_ns = meant_ns.map_or(0, |start| self.agent.theirs(start));
                rpc::down::Command::Run(rpc::Run { block: block.clone(), start_monotonic_ns })
            }
            Command::Finish => phase(Kind::Finish),
            Command::Close => phase(Kind::Close),
            Command::Teardown => phase(Kind::Teardown),
            Command::Report => phase(Kind::Report),
            Command::Reset => phase(Kind::Reset),
            Command::Kill => phase(Kind::Kill),
            Command::Parameters => phase(Kind::Parameters),
            Command::Config => phase(Kind::Config),
        };
        let node = self.name.clone();
        let answer = self
            .agent
            .edge
            .command(asked, |bytes| {
                // Whoever asked for reports and left does not want them.
                let _ = reports.send(Part { node: node.clone(), bytes });
            })
            .await;
        match answer {
            Ok(done) => {
                if matches!(command, Command::Run { .. }) {
                    let ran = Ran {
                        node: node.clone(),
                        agent: Arc::clone(&self.agent),
                        meant_ns,
                        started_ns: done.started_monotonic_ns,
                        ended_ns: done.ended_monotonic_ns,
                    };
                    self.runs.lock().unwrap_or_else(PoisonError::into_inner).push(ran);
                }
                let said = if done.text.is_empty() { Vec::new() } else { vec![Said { node, text: done.text }] };
                Ok(Acknowledgement { said, failed: Vec::new() })
            }
            Err(text) => Err(vec![Failure { node, command, text }]),
        }
    }
}

/// What an experiment came to, with the parts of its reports in order.
pub async fn run_whole(
    experiment: Experiment,
    phase: impl FnMut(Command),
    stop: impl Future<Output = ()>,
) -> (Outcome, Vec<Part>) {
    let (reports, mut came) = mpsc::unbounded_channel();
    let outcome = experiment.run(&reports, phase, stop).await;
    drop(reports);
    let mut parts = Vec::new();
    while let Some(part) = came.recv().await {
        parts.push(part);
    }
    (outcome, parts)
}
