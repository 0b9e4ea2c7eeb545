//! An experiment at an agent, as one parent commands it: its blocks, and the numbers of its commands. Nothing of one session is seen by
//! another.
//!
//! A block's calls never overlap: whoever calls it holds it. To stop it needs no hold: the one who runs it hears that and lets go.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::consent::{self, Commander, Permits};
use super::key::Key;
use super::leaf::{Leaf, LeafError, Ran, Start, Stop};
use super::limits::Reserved;
use super::refusal::Refusal;
use super::shared::Shared;
use super::stage::{Asked, Stage};
use super::store::{Kept, MOST_NAME};
use super::subtree::Subtree;
use crate::clock::sleep_until;
use crate::rpc::phase::Kind;
use crate::rpc::{Acknowledge, Place, Setup};
use crate::script::parser;
use crate::script::place::Files;
use crate::script::tree::Block as Script;

/// What was told to stop has so long for it.
const STOPPING: Duration = Duration::from_millis(250);
/// What runs has so much longer than it announced.
const OVERTIME_NS: i64 = 1_000_000_000;
/// A leaf is called so long before its start.
const READY_NS: i64 = 10_000_000;

/// One experiment of one parent.
pub(super) struct Session {
    pub(super) key: Key,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of the last command that was taken.
    last: u64,
    /// Where its parent is, while it is there.
    attached: Option<IpAddr>,
    /// Whether it has come back.
    is_taken_up: bool,
    blocks: BTreeMap<String, Work>,
    /// Blocks that were killed before they were there: what sets them up comes too late.
    killed: BTreeSet<String>,
    /// By block: results of blocks that are gone which the disk did not take.
    in_memory: BTreeMap<String, Kept>,
    /// By block: the SHA-256 of the text that a parent which is an agent may set up.
    delegated: BTreeMap<String, Vec<u8>>,
}

/// A block at an agent.
#[derive(Clone)]
pub(super) enum Work {
    /// A leaf.
    Leaf(Arc<Block>),
    /// A control block.
    Tree(Arc<Subtree>),
}

/// A leaf at an agent.
pub(super) struct Block {
    name: String,
    script: Script,
    consents: Vec<crate::rpc::Signed>,
    commander: Commander,
    /// The leaf's end of a conversation, until it is taken up.
    talk: Mutex<Option<DuplexStream>>,
    stop: watch::Sender<bool>,
    /// Its parent is gone: nothing starts it again, whatever is still on its way.
    is_over: AtomicBool,
    held: tokio::sync::Mutex<Held>,
}

struct Held {
    stage: Stage,
    leaf: Box<dyn Leaf>,
    permits: Permits,
    /// When the first permit ends, by the monotonic clock.
    permits_end_ns: Option<i64>,
    duration_ns: i64,
    reserved: Option<Reserved>,
    kept: Option<Kept>,
}

impl Session {
    pub(super) fn new(key: Key) -> Session {
        Session { key, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its parent is there. The number of the last command that was taken.
    pub(super) fn attach(
        &self,
        number: u64,
        from: IpAddr,
        is_taken_up: bool,
        delegated: BTreeMap<String, Vec<u8>>,
    ) -> Result<u64, Refusal> {
        let mut state = self.state();
        if state.attached.is_some() {
            return Err(Refusal::AttachedElsewhere);
        }
        if number <= state.last {
            return Err(Refusal::Answered(number));
        }
        state.attached = Some(from);
        (state.is_taken_up, state.delegated) = (is_taken_up, delegated);
        Ok(std::mem::replace(&mut state.last, number))
    }

    /// Takes the next command's number.
    pub(super) fn take(&self, number: u64) -> Result<(), Refusal> {
        let mut state = self.state();
        match number.checked_sub(state.last) {
            Some(1) => {
                state.last = number;
                Ok(())
            }
            None | Some(0) => Err(Refusal::Answered(number)),
            Some(_) => Err(Refusal::OutOfOrder { number, next: state.last + 1 }),
        }
    }

    /// Its parent did not get in after all.
    pub(super) fn turn_away(&self) {
        self.state().attached = None;
    }

    pub(super) fn is_attached(&self) -> bool {
        self.state().attached.is_some()
    }

    pub(super) fn blocks(&self) -> usize {
        self.state().blocks.len()
    }

    pub(super) fn block(&self, name: &str) -> Option<Work> {
        self.state().blocks.get(name).cloned()
    }

    /// A block that is to be killed. One that is not there yet never will be: commands to a block overtake each other.
    pub(super) fn block_to_kill(&self, name: &str) -> Option<Work> {
        let mut state = self.state();
        let found = state.blocks.get(name).cloned();
        if found.is_none() {
            state.killed.insert(name.to_owned());
        }
        found
    }

    /// Whether a block was killed before it was there.
    pub(super) fn was_killed(&self, name: &str) -> bool {
        self.state().killed.contains(name)
    }

    /// Whether its parent has come back: blocks were taken down when it was lost.
    pub(super) fn is_taken_up(&self) -> bool {
        self.state().is_taken_up
    }

    /// Makes a leaf of a script and prepares it.
    pub(super) async fn setup(&self, agent: &Shared, setup: Setup) -> Result<String, Refusal> {
        let name = setup.block;
        let script = self.allowed(&name, &setup.text)?;
        let address = self.state().attached.ok_or(Refusal::Over)?;
        let commander = Commander { identity: self.key.parent.clone(), address };
        let block = Arc::new(Block::new(agent, &self.key, commander, name.clone(), script, setup.consents)?);
        self.take_up(&name, Work::Leaf(Arc::clone(&block)))?;
        let mut held = block.held.lock().await;
        let prepared = held.leaf.prepare().await;
        if prepared.is_err() {
            held.fail().await;
        }
        Ok(prepared?)
    }

    /// Takes a control block to be at work on, and connects to the agents below.
    pub(super) async fn place(&self, agent: &Shared, place: Place) -> Result<Arc<Subtree>, Refusal> {
        let name = place.block.clone();
        let script = self.allowed(&name, &place.text)?;
        if script.control().is_none() {
            return Err(Refusal::NoTree(script.keyword));
        }
        let is_taken_up = self.is_taken_up();
        let subtree = Arc::new(Subtree::place(agent, &self.key, place, &script, is_taken_up).await?);
        self.take_up(&name, Work::Tree(Arc::clone(&subtree)))?;
        Ok(subtree)
    }

    /// A block of this name and text, if its parent may have it done.
    fn allowed(&self, name: &str, text: &str) -> Result<Script, Refusal> {
        let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if name.is_empty() || name.len() > MOST_NAME || !name.chars().all(of_name) || name.starts_with('.') {
            return Err(Refusal::BlockName(name.to_owned()));
        }
        if self.key.parent.role == crate::authority::identity::Role::Agent {
            let state = self.state();
            let sha256 = state.delegated.get(name).ok_or_else(|| Refusal::NotDelegated(name.to_owned()))?;
            if *sha256 != Sha256::digest(text)[..] {
                return Err(Refusal::OtherDelegated(name.to_owned()));
            }
        }
        parsed(text).map_err(Refusal::Script)
    }

    fn take_up(&self, name: &str, work: Work) -> Result<(), Refusal> {
        let mut state = self.state();
        if state.attached.is_none() {
            return Err(Refusal::Over);
        }
        if state.blocks.contains_key(name) {
            return Err(Refusal::SetUpAlready(name.to_owned()));
        }
        if state.killed.contains(name) {
            return Err(Refusal::Killed(name.to_owned()));
        }
        state.blocks.insert(name.to_owned(), work);
        Ok(())
    }

    /// Takes a leaf down: what it held is free, what it found is kept.
    pub(super) async fn teardown(&self, agent: &Shared, block: &Block) -> Result<String, Refusal> {
        let kept = block.stop_and_keep(agent, &self.key).await;
        self.forget(&block.name, kept.as_ref().ok());
        kept.map(|kept| kept.words().to_owned())
    }

    /// A control block is over, and those below it with it.
    pub(super) async fn let_go(&self, name: &str, subtree: &Subtree) {
        subtree.let_go().await;
        self.forget(name, None);
    }

    /// A block is gone; what it found is not.
    fn forget(&self, name: &str, kept: Option<&Kept>) {
        let mut state = self.state();
        state.blocks.remove(name);
        if let Some(kept @ Kept::Memory(_)) = kept {
            state.in_memory.insert(name.to_owned(), kept.clone());
        }
    }

    /// What a block found that is gone.
    pub(super) fn found(&self, agent: &Shared, name: &str) -> Option<Kept> {
        let in_memory = self.state().in_memory.get(name).cloned();
        in_memory.or_else(|| agent.store.find(&self.key, name))
    }

    /// Stops all blocks and keeps what they found. The session stays, for reports; its parent is gone.
    pub(super) async fn stop_all(self: &Arc<Session>, agent: &Arc<Shared>) {
        let (blocks, was_attached) = {
            let mut state = self.state();
            state.killed.clear();
            (state.blocks.clone(), state.attached.take().is_some())
        };
        // All are told before any is waited for.
        for work in blocks.values() {
            match work {
                Work::Leaf(block) => {
                    block.is_over.store(true, Ordering::SeqCst);
                    block.stop.send_replace(true);
                }
                Work::Tree(subtree) => subtree.give_up(),
            }
        }
        let mut stopping = JoinSet::new();
        for (name, work) in blocks {
            let (session, agent) = (Arc::clone(self), Arc::clone(agent));
            stopping.spawn(async move {
                match work {
                    Work::Leaf(block) => {
                        let kept = block.stop_and_keep(&agent, &session.key).await;
                        session.forget(&name, kept.as_ref().ok());
                    }
                    Work::Tree(subtree) => session.let_go(&name, &subtree).await,
                }
            });
        }
        while stopping.join_next().await.is_some() {}
        if was_attached {
            agent.store.over(&self.key.experiment);
        }
    }
}

/// A block's text, as the script's language has it.
fn parsed(text: &str) -> Result<Script, String> {
    let mut files = Files::new();
    let file = files.add("block", text, None);
    parser::block(&files, file)
        .map_err(|found| found.first().map_or_else(String::new, |diagnostic| diagnostic.summary(&files)))
}

impl Block {
    fn new(
        agent: &Shared,
        key: &Key,
        commander: Commander,
        name: String,
        script: Script,
        consents: Vec<crate::rpc::Signed>,
    ) -> Result<Block, Refusal> {
        let mut held = Held::new(agent, key, &commander, &script, &consents)?;
        let talk = Mutex::new(held.leaf.talk());
        Ok(Block {
            name,
            script,
            consents,
            commander,
            talk,
            stop: watch::Sender::new(false),
            is_over: AtomicBool::new(false),
            held: tokio::sync::Mutex::new(held),
        })
    }

    /// What it has to talk about, once.
    pub(super) fn talk(&self) -> Option<DuplexStream> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Runs it from `start_monotonic_ns` on (0: at once) to its end, or to where it is stopped.
    pub(super) async fn run(&self, agent: &Shared, start_monotonic_ns: i64) -> Result<Acknowledge, Refusal> {
        let mut held = self.held.lock().await;
        held.stage.takes(Asked::Run)?;
        let mut stop = Stop(self.stop.subscribe());
        let clock = &agent.clock;
        let now_ns = clock.monotonic_ns();
        let start_ns = if start_monotonic_ns == 0 { now_ns } else { start_monotonic_ns };
        let most_ahead_ns = i64::try_from(agent.limits.most_duration_ns()).unwrap_or(i64::MAX);
        if start_ns.saturating_sub(now_ns) > most_ahead_ns {
            return Err(Refusal::FarAhead);
        }
        tokio::select! {
            () = sleep_until(&**clock, start_ns.saturating_sub(READY_NS)) => {}
            () = stop.told() => {}
        }
        let start_ns = start_ns.max(clock.monotonic_ns());
        let announced = start_ns.saturating_add(held.duration_ns).saturating_add(OVERTIME_NS);
        let deadline_ns = held.permits_end_ns.map_or(announced, |end| end.min(announced));
        let left_ns = deadline_ns.saturating_sub(clock.monotonic_ns());
        let outcome = if stop.is_told() {
            Err(LeafError::StoppedEarly.into())
        } else if left_ns <= 0 {
            Err(Refusal::ConsentEnded)
        } else {
            let start = Start { monotonic_ns: start_ns, clock: Arc::clone(clock) };
            run_until(&mut *held.leaf, start, &self.stop, stop, left_ns.unsigned_abs()).await.map_err(Refusal::from)
        };
        let ended_monotonic_ns = clock.monotonic_ns();
        match outcome {
            // A part of it would pass for all of it.
            Ok(_) if self.is_over.load(Ordering::SeqCst) => {
                held.fail().await;
                Err(Refusal::StoppedByAgent)
            }
            Ok(Ran { text, started_monotonic_ns }) => {
                held.stage = Stage::Ran;
                Ok(Acknowledge { text, started_monotonic_ns, ended_monotonic_ns, last_number: 0 })
            }
            Err(error) => {
                held.fail().await;
                Err(error)
            }
        }
    }

    /// Does what a command without further words asks for; not a report, not a teardown.
    pub(super) async fn phase(&self, agent: &Shared, key: &Key, kind: Kind) -> Result<String, Refusal> {
        if matches!(kind, Kind::Finish | Kind::Kill | Kind::Reset) {
            self.stop.send_replace(true);
        }
        if kind == Kind::Kill {
            return self.stop_and_keep(agent, key).await.map(|kept| kept.words().to_owned());
        }
        let mut held = self.held.lock().await;
        held.stage.takes(Asked::Phase(kind))?;
        let Held { leaf, permits, stage, .. } = &mut *held;
        let done: Result<String, Refusal> = match kind {
            Kind::Open => leaf.open(permits).await.inspect(|_| *stage = Stage::Open).map_err(Refusal::from),
            Kind::Finish => {
                *stage = Stage::Ran;
                Ok(String::new())
            }
            Kind::Close => leaf.close().await.inspect(|_| *stage = Stage::Closed).map_err(Refusal::from),
            Kind::Reset => {
                // What cannot be closed goes with the leaf.
                let _ = timeout(STOPPING, leaf.close()).await;
                held.reserved = None;
                held.stage = Stage::Failed;
                *held = Held::new(agent, key, &self.commander, &self.script, &self.consents)?;
                *self.talk.lock().unwrap_or_else(PoisonError::into_inner) = held.leaf.talk();
                // One look under the watch's lock, so that what is over is not called back.
                self.stop.send_modify(|stop| *stop = self.is_over.load(Ordering::SeqCst));
                held.leaf.prepare().await.map_err(Refusal::from)
            }
            Kind::Parameters | Kind::Config => Ok(leaf.describe()),
            Kind::Unspecified | Kind::Setup | Kind::Run | Kind::Kill | Kind::Teardown | Kind::Report => {
                Err(Refusal::NoSuchCommand)
            }
        };
        if done.is_err() {
            held.fail().await;
        }
        done
    }

    /// What it found, for a report.
    pub(super) async fn report(&self, agent: &Shared, key: &Key) -> Result<Kept, Refusal> {
        let mut held = self.held.lock().await;
        held.stage.takes(Asked::Phase(Kind::Report))?;
        self.keep(agent, key, &mut held)
    }

    /// Stops it if it runs, closes it, and keeps what it found.
    async fn stop_and_keep(&self, agent: &Shared, key: &Key) -> Result<Kept, Refusal> {
        self.stop.send_replace(true);
        // Whoever runs it lets go within the time for stopping.
        let mut held = self.held.lock().await;
        if !matches!(held.stage, Stage::Closed | Stage::Failed) {
            // What cannot be closed goes with the leaf.
            let _ = timeout(STOPPING, held.leaf.close()).await;
            held.stage = Stage::Killed;
        }
        held.reserved = None;
        self.keep(agent, key, &mut held)
    }

    fn keep(&self, agent: &Shared, key: &Key, held: &mut Held) -> Result<Kept, Refusal> {
        if let Some(kept) = &held.kept {
            return Ok(kept.clone());
        }
        let leaf = &mut held.leaf;
        let kept = agent.store.keep(key, &self.name, &mut |out| leaf.results(out));
        let kept = kept.map_err(|cause| Refusal::Results { block: self.name.clone(), cause })?;
        Ok(held.kept.insert(kept).clone())
    }
}

impl Held {
    /// Makes the leaf, if the agent's limits and the receivers' consents allow what it announces.
    fn new(
        agent: &Shared,
        key: &Key,
        commander: &Commander,
        script: &Script,
        consents: &[crate::rpc::Signed],
    ) -> Result<Held, Refusal> {
        let kind = agent.kinds.iter().find(|kind| kind.keyword() == script.keyword).ok_or_else(|| {
            let known = agent.kinds.iter().map(|kind| kind.keyword()).collect();
            Refusal::NoLeaf { agent: agent.identity().clone(), keyword: script.keyword.clone(), known }
        })?;
        let leaf = kind.make(script)?;
        let (sendings, demand) = (leaf.sends(), leaf.demand());
        for sending in &sendings {
            agent.limits.may_send_to(sending.to)?;
        }
        let announced = sendings.iter().fold(0_u64, |sum, sending| sum.saturating_add(sending.rate_bit_s));
        if announced > demand.rate_bit_s {
            return Err(Refusal::AnnouncesLess);
        }
        let now_unix_s = agent.clock.unix_s();
        let trust = Arc::clone(&agent.trust.borrow());
        let own = &agent.identity().name;
        let permits = consent::check(&trust, own, commander, &key.experiment, &sendings, consents, now_unix_s)?;
        let permits_end_ns = permits.until_unix_s().map(|until_unix_s| {
            let left_ns = (until_unix_s - now_unix_s).saturating_mul(1_000_000_000);
            agent.clock.monotonic_ns().saturating_add(left_ns)
        });
        let duration_ns = i64::try_from(demand.duration_ns).unwrap_or(i64::MAX);
        let reserved = Some(agent.reservations.reserve(demand)?);
        Ok(Held { stage: Stage::SetUp, leaf, permits, permits_end_ns, duration_ns, reserved, kept: None })
    }

    /// It takes no further part, and holds nothing.
    async fn fail(&mut self) {
        let _ = timeout(STOPPING, self.leaf.close()).await;
        self.stage = Stage::Failed;
        self.reserved = None;
    }
}

/// Runs a leaf for at most so long, and drops its run if it does not stop when it is told.
async fn run_until(
    leaf: &mut dyn Leaf,
    start: Start,
    tell: &watch::Sender<bool>,
    stop: Stop,
    most_ns: u64,
) -> Result<Ran, LeafError> {
    let mut told = stop.clone();
    let mut run = pin!(leaf.run(start, stop));
    let over = tokio::select! {
        outcome = run.as_mut() => return outcome,
        () = told.told() => false,
        () = tokio::time::sleep(Duration::from_nanos(most_ns)) => {
            tell.send_replace(true);
            true
        }
    };
    match timeout(STOPPING, run).await {
        Ok(Ok(_)) if over => Err(LeafError::Overtime),
        Ok(outcome) => outcome,
        Err(_) => Err(LeafError::Dropped),
    }
}
