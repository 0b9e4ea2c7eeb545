//! A block and what is below it, as whoever is at work on it has it: the controller the script, an agent the block that it was given.
//! Both run this; an agent below that is given a block runs it again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, StreamExt};
use prost::Message;

use super::below::{Agent, Commander};
use super::error::ControlError;
use super::plan::{Hosts, Place, Placed, Plan, is_within};
use super::remote::{Notes, Remote, Watcher};
use super::times::{AgentRun, LeafRun, Offset, Times};
use super::wire;
use crate::authority::identity::Name;
use crate::clock::Clock;
use crate::control::{Branch, Command, NextStart, Node, Reply, Reports};
use crate::rpc::up::Reply as Up;
use crate::rpc::{self, Agreement, Asking, Below, Consented, Delegation, Signed, Where, down};
use crate::script::format;
use crate::script::tree::{Block, Keyword};
use crate::transport::{AgentError, CallError};

/// So many agents are connected at the same time, and so many blocks given out.
const AT_ONCE: usize = 64;
/// What is begun together begins so long after it was said, that it is known everywhere by then: in any case, and more for each leaf.
const LEAD_NS: u64 = 500_000_000;
const LEAD_OF_LEAF_NS: u64 = 100_000;

/// A block at work.
pub struct Tree {
    top: Box<dyn Node>,
    agents: Vec<Arc<Agent>>,
    /// Control blocks that agents are at work on.
    blocks: Vec<Given>,
    notes: Arc<Notes>,
    clock: Arc<dyn Clock>,
    next_start: NextStart,
    /// The start that the block was given.
    given_ns: Option<i64>,
}

/// A control block at an agent.
struct Given {
    path: String,
    agent: Arc<Agent>,
    /// Agents that are commanded there and further below.
    below: BTreeSet<Name>,
}

impl Tree {
    /// Connects to the agents that `block`, called `path`, is left to, learns their clocks, and gives those of control blocks theirs.
    /// It is done at `own`; at nothing where the script was started, and then it is nobody's block but the controller's.
    ///
    /// # Errors
    /// Everything that keeps it from beginning: every agent that cannot be had, here and below.
    pub async fn begin(
        by: &Commander,
        block: &Block,
        path: &str,
        own: Option<&Place>,
        hosts: &Hosts,
        delegations: Vec<Signed>,
    ) -> Result<Tree, Vec<ControlError>> {
        let plan = Plan::of(block, path, own, hosts);
        if !plan.problems.is_empty() {
            return Err(plan.problems);
        }
        let above = if own.is_some() { path } else { "" };
        let delegations = delegations
            .into_iter()
            .map(|signed| Delegation::decode(signed.statement.as_slice()).map(|decoded| (decoded, signed)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| vec![ControlError::Delegation(error)])?;
        let places: BTreeSet<&Place> = plan.leaves.iter().chain(&plan.blocks).map(|placed| &placed.place).collect();
        let agents = all(places.into_iter().map(|place| {
            let to = |delegation: &Delegation| {
                delegation.above == above && place.name.as_ref().is_some_and(|name| name.as_str() == delegation.child)
            };
            let own = delegations.iter().filter(|(delegation, _)| own.is_some() && to(delegation));
            let own = own.map(|(_, signed)| signed.clone()).collect();
            async move { Agent::connect(by, place, above, own).await.map(|agent| (place.clone(), Arc::new(agent))) }
                .boxed()
        }))
        .await?;
        // When all are connected: handshakes cost what exchanges of timestamps would show as time on the way.
        all(agents.iter().map(|(_, agent)| agent.measure(&*by.clock).boxed())).await?;
        let agents: BTreeMap<Place, Arc<Agent>> = agents.into_iter().collect();
        let notes = Arc::new(Notes::default());
        all(plan.blocks.iter().map(|placed| {
            let below = delegations.iter().filter(|(delegation, _)| {
                delegation.above == placed.path || is_within(&delegation.above, &placed.path)
            });
            let below = below.map(|(_, signed)| signed.clone()).collect();
            give(placed, &agents[&placed.place], hosts, below, &notes).boxed()
        }))
        .await?;
        let blocks: Vec<Given> = plan
            .blocks
            .iter()
            .map(|Placed { block, path, place }| {
                let (path, agent) = (path.clone(), Arc::clone(&agents[place]));
                Given { path, agent, below: names_below(block, place, hosts) }
            })
            .collect();
        let next_start = next_start(&by.clock, leaves(block));
        let mut remotes = BTreeMap::new();
        for Placed { block, path, place } in plan.leaves.into_iter().chain(plan.blocks) {
            let agent = Arc::clone(&agents[&place]);
            let leaf = block.control().is_none().then(|| format::block(block));
            let name = format!("{} {path} at {}", block.keyword, agent.name);
            let remote = Remote { name, path: path.clone(), agent, notes: Arc::clone(&notes), leaf };
            remotes.insert(path, remote);
        }
        let top = node(block, path, by.resume, &mut remotes, &next_start);
        let (agents, clock) = (agents.into_values().collect(), Arc::clone(&by.clock));
        Ok(Tree { top, agents, blocks, notes, clock, next_start, given_ns: None })
    }

    /// From now on `watcher` hears what blocks below are asked, and when they are done with it; of what agents command in their turn, the block
    /// that they were given.
    pub fn watch(&self, watcher: Watcher) {
        self.notes.watch(watcher);
    }

    /// What the user knows the block by.
    pub fn name(&self) -> &str {
        self.top.name()
    }

    /// The time of day by this host's clock, in seconds since 1970.
    pub(super) fn unix_s(&self) -> i64 {
        self.clock.unix_s()
    }

    /// A start that is known everywhere below when it comes, by our clock.
    pub fn next_start(&self) -> Option<u64> {
        (self.next_start)()
    }

    /// Does what is asked of it and all below it.
    pub async fn command(&mut self, command: Command, reports: &Reports) -> Reply {
        if let Command::Run { start_ns } = command {
            self.given_ns = start_ns.and_then(|start| i64::try_from(start).ok());
        }
        self.top.command(command, reports).await
    }

    /// What the agent at a place is called, if it is commanded from here.
    pub(super) fn name_at(&self, place: &Place) -> Option<&Name> {
        self.agents.iter().find(|agent| agent.address == place.address).map(|agent| &agent.name)
    }

    /// Has an agent below asked for its consents.
    ///
    /// # Errors
    /// Why nobody could ask it.
    pub async fn ask(&self, asking: Signed) -> Result<Consented, ControlError> {
        let receiver = Asking::decode(asking.statement.as_slice()).map_err(ControlError::Asking)?.receiver;
        if let Some(agent) = self.agents.iter().find(|agent| agent.name.as_str() == receiver) {
            return Ok(agent.consents(asking).await?);
        }
        let given = self.blocks.iter().find(|given| given.below.iter().any(|name| name.as_str() == receiver));
        let given = given.ok_or(ControlError::NotBelow(receiver))?;
        let ask = rpc::Ask { block: given.path.clone(), asking: Some(asking) };
        let mut answers = given.agent.edge.ask(down::Command::Ask(ask)).await?;
        let mut agreements = Vec::new();
        while let Some(part) = answers.part().await {
            if let Up::Consented(mut consented) = part {
                agreements.append(&mut consented.agreements);
            }
        }
        answers.end().await?;
        Ok(Consented { agreements })
    }

    /// Takes up what receivers agreed to, by the leaves that will send: they have it when they are set up.
    pub fn agree(&self, agreed: impl IntoIterator<Item = (String, Agreement)>) {
        self.notes.agree(agreed);
    }

    /// Looks at the clocks again: what is known of agents that are commanded from here and below, and of leaves that ran.
    pub async fn end(&mut self) -> Times {
        let again: Vec<_> = self
            .agents
            .iter()
            .map(|agent| {
                let clock = &*self.clock;
                async move { (agent, agent.measure(clock).await.is_ok(), clock.monotonic_ns()) }.boxed()
            })
            .collect();
        let mut times = Times::default();
        // An agent that has gone is one whose clock is known as it was.
        for (agent, is_there, now_ns) in stream::iter(again).buffered(AT_ONCE).collect::<Vec<_>>().await {
            times.agents.push(run_of(agent, is_there.then_some(now_ns)));
        }
        for ran in self.notes.take_runs() {
            let clock = ran.agent.clocks().monotonic;
            let ours = |theirs_ns| clock.moment(theirs_ns).map(|moment| (moment.low_ns, moment.high_ns));
            times.leaves.push(LeafRun {
                node: ran.node,
                agent: ran.agent.name.to_string(),
                meant_ns: ran.meant_ns,
                started_ns: ours(ran.started_ns),
                ended_ns: ours(ran.ended_ns),
            });
        }
        for told in self.notes.take_told().into_values() {
            let by_ours = told.times.by_ours(told.agent.name.as_str(), &told.agent.clocks().monotonic, told.meant_ns);
            times.leaves.extend(by_ours.leaves);
            times.agents.extend(by_ours.agents);
        }
        times
    }

    /// The same as messages for the parent, which knows what start it gave.
    pub async fn end_for_parent(&mut self) -> Below {
        let mut times = self.end().await;
        for leaf in &mut times.leaves {
            leaf.meant_ns = leaf.meant_ns.filter(|meant_ns| Some(*meant_ns) != self.given_ns);
        }
        wire::of_times(times)
    }

    /// Who is there, as messages for the parent.
    pub fn agents_for_parent(&self) -> Below {
        let mut agents: Vec<AgentRun> = self.agents.iter().map(|agent| run_of(agent, None)).collect();
        agents.extend(self.notes.told_of_agents().into_iter().flatten());
        wire::of_times(Times { agents, ..Times::default() })
    }
}

/// What is known of an agent that is commanded from here, whose clock was looked at again at a time of ours.
fn run_of(agent: &Agent, again_ns: Option<i64>) -> AgentRun {
    let clock = agent.clocks().monotonic;
    AgentRun {
        agent: agent.name.to_string(),
        address: agent.address.clone(),
        parent: None,
        offset: [agent.before(), again_ns.and_then(|now_ns| Offset::of(&clock, now_ns))],
        clock_steps: clock.steps() as u64,
    }
}

/// Does things that may fail, some at once; all that failed if one did.
async fn all<T>(
    what: impl Iterator<Item = BoxFuture<'_, Result<T, impl Problems>>>,
) -> Result<Vec<T>, Vec<ControlError>> {
    let (mut done, mut problems) = (Vec::new(), Vec::new());
    let mut doing = stream::iter(what.collect::<Vec<_>>()).buffered(AT_ONCE);
    while let Some(one) = doing.next().await {
        match one {
            Ok(one) => done.push(one),
            Err(why) => problems.extend(why.list()),
        }
    }
    if problems.is_empty() { Ok(done) } else { Err(problems) }
}

/// One problem or several.
trait Problems {
    fn list(self) -> Vec<ControlError>;
}

impl Problems for AgentError {
    fn list(self) -> Vec<ControlError> {
        vec![self.into()]
    }
}

impl Problems for Vec<ControlError> {
    fn list(self) -> Vec<ControlError> {
        self
    }
}

/// Gives a control block to its agent, which connects to those below.
async fn give(
    placed: &Placed<'_>,
    agent: &Arc<Agent>,
    hosts: &Hosts,
    delegations: Vec<Signed>,
    notes: &Notes,
) -> Result<(), Vec<ControlError>> {
    let hosts = hosts.iter().map(|(name, address)| Where { agent: name.to_string(), address: address.clone() });
    let place = rpc::Place {
        block: placed.path.clone(),
        text: format::block(placed.block),
        hosts: hosts.collect(),
        delegations,
    };
    // What an agent cannot have below it are the lines of its answer.
    let problems = |why: CallError| {
        let (block, agent) = (format!("{} {}", placed.block.keyword, placed.path), agent.name.to_string());
        let told =
            |why: &str| ControlError::NotPlaced { block: block.clone(), agent: agent.clone(), why: why.to_owned() };
        why.to_string().lines().map(told).collect::<Vec<_>>()
    };
    let mut answers = agent.edge.ask(down::Command::Place(place)).await.map_err(problems)?;
    let mut agents = Vec::new();
    while let Some(part) = answers.part().await {
        if let Up::Below(mut below) = part {
            agents.append(&mut below.agents);
        }
    }
    answers.end().await.map_err(problems)?;
    notes.tell(&placed.path, agent, wire::times(Vec::new(), agents));
    Ok(())
}

/// The agents that are commanded from `place`, which is at work on `block`, and below that.
fn names_below(block: &Block, place: &Place, hosts: &Hosts) -> BTreeSet<Name> {
    let plan = Plan::of(block, "", Some(place), hosts);
    let here = plan.leaves.iter().chain(&plan.blocks).filter_map(|placed| placed.place.name.clone());
    let further = plan.blocks.iter().flat_map(|placed| names_below(placed.block, &placed.place, hosts));
    here.chain(further).collect()
}

/// How many leaves a block has.
fn leaves(block: &Block) -> u64 {
    match block.control() {
        Some(_) => block.body.blocks().map(leaves).sum(),
        None => 1,
    }
}

fn next_start(clock: &Arc<dyn Clock>, leaves: u64) -> NextStart {
    let clock = Arc::clone(clock);
    let lead_ns = LEAD_NS.saturating_add(LEAD_OF_LEAF_NS.saturating_mul(leaves));
    Arc::new(move || clock.monotonic_ns().checked_add_unsigned(lead_ns)?.try_into().ok())
}

/// The tree; `remotes` has what agents do of it.
fn node(
    block: &Block,
    path: &str,
    resume: bool,
    remotes: &mut BTreeMap<String, Remote>,
    next_start: &NextStart,
) -> Box<dyn Node> {
    if let Some(remote) = remotes.remove(path) {
        return Box::new(remote);
    }
    let children = (1..).zip(block.body.blocks());
    let children =
        children.map(|(number, child)| node(child, &format!("{path}.{number}"), resume, remotes, next_start)).collect();
    let kind = block.control().unwrap_or(Keyword::Parallel);
    let branch = Branch::new(format!("{} {path}", block.keyword), kind, children, Arc::clone(next_start));
    Box::new(if resume { branch.taken_up() } else { branch })
}
