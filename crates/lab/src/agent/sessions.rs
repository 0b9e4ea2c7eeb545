//! The sessions of an agent: who may begin one, who may ask something of it, and which there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prost::Message;

use super::consent::BadStatement;
use super::key::Key;
use super::refusal::Refusal;
use super::session::Session;
use super::shared::Shared;
use super::store::MOST_NAME;
use crate::authority::identity::Role;
use crate::authority::statement;
use crate::rpc::{Asking, Attach, Delegation, Running, Signed};
use crate::transport::server::Peer;

/// Sessions that are remembered, so that their commands are not done again.
const SESSIONS_KEPT: usize = 1_024;

/// All sessions of an agent.
pub(super) struct Sessions {
    agent: Arc<Shared>,
    sessions: Mutex<BTreeMap<Key, Arc<Session>>>,
}

impl Sessions {
    pub(super) fn new(agent: Arc<Shared>) -> Sessions {
        Sessions { agent, sessions: Mutex::default() }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session of a parent, if it has one.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Session>> {
        self.all().get(key).cloned()
    }

    /// Stops what runs in any of them, and keeps what it found.
    pub(super) async fn stop_all(&self) {
        let sessions: Vec<Arc<Session>> = self.all().values().cloned().collect();
        for session in sessions {
            session.stop_all(&self.agent).await;
        }
    }

    /// All of them, for the greeting.
    pub(super) fn running(&self) -> Vec<Running> {
        let running = |session: &Arc<Session>| Running {
            experiment: session.key.experiment.clone(),
            parent: session.key.parent.to_string(),
            blocks: session.blocks() as u32,
            attached: session.is_attached(),
        };
        self.all().values().map(running).collect()
    }

    /// Begins a session or takes one up again.
    pub(super) fn attach(&self, peer: &Peer, number: u64, attach: Attach) -> Result<(Arc<Session>, u64), Refusal> {
        let experiment = attach.experiment;
        let digits = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        if experiment.len() != 32 || !experiment.chars().all(digits) {
            return Err(Refusal::ExperimentName);
        }
        let parent = peer.identity().clone();
        let of_path = |c: char| c.is_ascii_digit() || c == '.';
        if attach.above.is_empty() != (parent.role == Role::Controller)
            || attach.above.len() > MOST_NAME
            || !attach.above.chars().all(of_path)
        {
            return Err(Refusal::Above);
        }
        let key = Key { experiment: experiment.clone(), parent, above: attach.above };
        let delegated = self.delegated(&key, &attach.delegations)?;
        let mut sessions = self.all();
        let known = self.agent.store.knows(&key);
        if attach.resume && !known {
            return Err(Refusal::UnknownExperiment(experiment));
        }
        if !attach.resume && known {
            return Err(Refusal::KnownExperiment(experiment));
        }
        let others = sessions.iter().filter(|(other, session)| other.experiment != experiment && session.is_attached());
        let others = others.map(|(other, _)| &other.experiment).collect::<BTreeSet<_>>().len();
        if others >= self.agent.limits.run.experiments {
            return Err(Refusal::TooManyExperiments(others));
        }
        // Those that are over are remembered by their results; the session only knows the last number.
        while sessions.len() > SESSIONS_KEPT {
            let over = sessions.iter().find(|(_, session)| !session.is_attached()).map(|(key, _)| key.clone());
            let Some(over) = over else { break };
            sessions.remove(&over);
        }
        let session = Arc::clone(sessions.entry(key.clone()).or_insert_with(|| Arc::new(Session::new(key))));
        let last = session.attach(number, peer.address.ip(), attach.resume, delegated)?;
        self.agent.store.begin(&session.key).map_err(|error| {
            session.turn_away();
            Refusal::NoResults(error)
        })?;
        Ok((session, last))
    }

    /// What is asked, if a controller asks it, now, of this agent; of agents that carry it those that take part.
    pub(super) fn asked(&self, peer: &Peer, signed: &Signed) -> Result<Asking, Refusal> {
        let now_unix_s = self.agent.clock.unix_s();
        let trust = Arc::clone(&self.agent.trust.borrow());
        let by = statement::verify(&trust, statement::Kind::Asking, signed, now_unix_s)
            .map_err(|error| Refusal::Asking(error.into()))?;
        let asking = Asking::decode(signed.statement.as_slice()).map_err(|error| Refusal::Asking(error.into()))?;
        if by.identity.role != Role::Controller {
            return Err(Refusal::NoController(by.identity));
        }
        if asking.receiver != self.agent.identity().name.as_str() {
            return Err(Refusal::Asking(BadStatement::For(asking.receiver)));
        }
        if asking.until_unix_s <= now_unix_s {
            return Err(Refusal::Asking(BadStatement::Ended));
        }
        let takes_part = || {
            let sessions = self.all();
            sessions.iter().any(|(key, session)| {
                key.experiment == asking.experiment && key.parent == *peer.identity() && session.is_attached()
            })
        };
        if peer.identity().role != Role::Controller && !takes_part() {
            return Err(Refusal::NoPart(peer.identity().clone()));
        }
        Ok(asking)
    }

    /// What a parent that is an agent may set up here; a controller needs no leave.
    fn delegated(&self, key: &Key, delegations: &[Signed]) -> Result<BTreeMap<String, Vec<u8>>, Refusal> {
        let Key { experiment, parent, above } = key;
        if parent.role == Role::Controller {
            return Ok(BTreeMap::new());
        }
        let now_unix_s = self.agent.clock.unix_s();
        let trust = Arc::clone(&self.agent.trust.borrow());
        let mut delegated = BTreeMap::new();
        for signed in delegations {
            let by = statement::verify(&trust, statement::Kind::Delegation, signed, now_unix_s)
                .map_err(|error| Refusal::Delegation(error.into()))?;
            let delegation = Delegation::decode(signed.statement.as_slice());
            let delegation = delegation.map_err(|error| Refusal::Delegation(error.into()))?;
            let for_this = delegation.experiment == *experiment
                && delegation.parent == parent.name.as_str()
                && delegation.above == *above
                && delegation.child == self.agent.identity().name.as_str();
            if by.identity.role != Role::Controller {
                return Err(Refusal::Delegation(BadStatement::SignedBy(by.identity)));
            }
            if !for_this {
                return Err(Refusal::Delegation(BadStatement::OtherBlock));
            }
            if delegation.until_unix_s <= now_unix_s {
                return Err(Refusal::Delegation(BadStatement::Ended));
            }
            delegated.extend(delegation.blocks.into_iter().map(|one| (one.block, one.sha256)));
        }
        if delegated.is_empty() {
            return Err(Refusal::NoDelegation(parent.clone()));
        }
        Ok(delegated)
    }
}
