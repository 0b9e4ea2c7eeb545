//! A control block that was given to this agent: it commands the agents below, by the same [`Tree`] that a controller has, and what it
//! asks of them is what its own parent asks of the block.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{RwLock, watch};

use super::key::Key;
use super::limits::{Demand, Reserved};
use super::refusal::Refusal;
use super::shared::Shared;
use crate::control::{Command, Failure, Reply, Reports};
use crate::controller::{self, Commander, Hosts, Tree};
use crate::rpc::{Agree, Below, Consented, Place, Signed};
use crate::script::tree::Block as Script;
use crate::transport::client::Caller;

/// A control block at work.
pub(super) struct Subtree {
    name: String,
    path: String,
    /// Nothing when it is over.
    tree: RwLock<Option<Tree>>,
    /// How often what it is doing was to be given up.
    given_up: watch::Sender<u64>,
    /// It was killed, and takes no further part.
    is_killed: AtomicBool,
    _reserved: Reserved,
}

impl Subtree {
    /// Connects to the agents below `script`, which this agent has as `place` says.
    ///
    /// # Errors
    /// Every agent that cannot be had, a line for each.
    pub(super) async fn place(
        agent: &Shared,
        key: &Key,
        place: Place,
        script: &Script,
        resume: bool,
    ) -> Result<Subtree, Refusal> {
        let reserved = agent.reservations.reserve(Demand::default())?;
        let hosts = place.hosts.into_iter().map(|at| Ok((at.agent.parse().map_err(Refusal::AgentName)?, at.address)));
        let hosts = hosts.collect::<Result<Hosts, Refusal>>()?;
        let address = script.address.as_ref().and_then(|word| word.text.parse().ok());
        let address = address.ok_or_else(|| Refusal::NoAddress(place.block.clone()))?;
        let own = controller::place(&address, &hosts);
        let caller =
            Caller { own: agent.own.clone(), trust: agent.trust.borrow().clone(), version: agent.version.clone() };
        let experiment = key.experiment.clone();
        let path = place.block.clone();
        let by = Commander { caller, clock: agent.clock.clone(), experiment, resume };
        let tree = Tree::begin(&by, script, &place.block, Some(&own), &hosts, place.delegations).await;
        let tree = tree.map_err(Refusal::Below)?;
        Ok(Subtree {
            name: tree.name().to_owned(),
            path,
            tree: RwLock::new(Some(tree)),
            given_up: watch::Sender::new(0),
            is_killed: AtomicBool::new(false),
            _reserved: reserved,
        })
    }

    /// Which block it is.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Who is there.
    pub(super) async fn agents(&self) -> Below {
        self.tree.read().await.as_ref().map(Tree::agents_for_parent).unwrap_or_default()
    }

    /// Does what is asked of it and all below it. What stops it does not wait for what it is doing.
    pub(super) async fn command(&self, command: Command, reports: &Reports) -> Reply {
        if matches!(command, Command::Kill | Command::Teardown | Command::Reset) {
            self.is_killed.store(command != Command::Reset, Ordering::SeqCst);
            self.give_up();
        }
        let failed = |text: &str| Err(vec![Failure { node: self.name.clone(), command, text: text.to_owned() }]);
        let mut given_up = self.given_up.subscribe();
        let ends = matches!(command, Command::Kill | Command::Report | Command::Teardown);
        if !ends && self.is_killed.load(Ordering::SeqCst) {
            return failed("the block was killed");
        }
        let done = async {
            match &mut *self.tree.write().await {
                Some(tree) => tree.command(command, reports).await,
                None => failed("the experiment has ended here"),
            }
        };
        tokio::select! {
            reply = done => reply,
            _ = given_up.changed() => failed("it was stopped"),
        }
    }

    /// After it was torn down: what is known of leaves and agents below.
    pub(super) async fn end(&self) -> Below {
        match &mut *self.tree.write().await {
            Some(tree) => tree.end_for_parent().await,
            None => Below::default(),
        }
    }

    /// Has an agent below asked for its consents.
    pub(super) async fn ask(&self, asking: Signed) -> Result<Consented, Refusal> {
        match &*self.tree.read().await {
            Some(tree) => Ok(tree.ask(asking).await?),
            None => Err(Refusal::Over),
        }
    }

    /// Takes up what was agreed to for leaves below.
    pub(super) async fn agree(&self, agree: Agree) {
        if let Some(tree) = &*self.tree.read().await {
            let agreed = agree.agreed.into_iter();
            tree.agree(agreed.filter_map(|agreed| Some((agreed.leaf, agreed.agreement?))));
        }
    }

    /// Its parent is gone: what it is doing is given up.
    pub(super) fn give_up(&self) {
        self.given_up.send_modify(|times| *times += 1);
    }

    /// Lets go of the agents below. They have lost their parent then, and stop what it ran, as it does here for its own.
    pub(super) async fn let_go(&self) {
        *self.tree.write().await = None;
    }
}
