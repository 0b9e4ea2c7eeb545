//! An agent below: the edge on which it is commanded, and how its clock is to ours.

use std::sync::{Arc, Mutex, PoisonError};

use super::clocks::Clocks;
use super::edge::Edge;
use super::plan::Place;
use super::times::Offset;
use crate::authority::identity::Name;
use crate::clock::Clock;
use crate::rpc::{Attach, Consented, Signed};
use crate::transport::client::{Caller, Link};
use crate::transport::{AgentError, CallError};

/// Exchanges of timestamps with an agent before, and again after the run.
const EXCHANGES: usize = 16;

/// Whoever commands agents in an experiment.
#[derive(Clone)]
pub struct Commander {
    /// As whom.
    pub caller: Caller,
    /// By which clock.
    pub clock: Arc<dyn Clock>,
    /// In which experiment.
    pub experiment: String,
    /// Whether it has been at its agents before, and is taken up for its reports.
    pub resume: bool,
}

/// An agent while an experiment runs.
pub(super) struct Agent {
    pub name: Name,
    pub address: String,
    pub edge: Edge,
    link: Link,
    clocks: Mutex<Clocks>,
    before: Mutex<Option<Offset>>,
}

impl Agent {
    /// Connects to the agent at `place`, for one who is at work on the block `above`.
    pub async fn connect(
        by: &Commander,
        place: &Place,
        above: &str,
        delegations: Vec<Signed>,
    ) -> Result<Agent, AgentError> {
        let mut link = by.caller.connect(&place.address, place.name.as_ref()).await?;
        let (experiment, resume, above) = (by.experiment.clone(), by.resume, above.to_owned());
        // Whoever takes an experiment up does not know how many commands there were: fewer than milliseconds since 1970.
        let number = if resume { by.clock.unix_ns().max(0).unsigned_abs() / 1_000_000 } else { 1 };
        let edge = Edge::attach(&mut link, number, Attach { experiment, resume, delegations, above }).await;
        Ok(Agent {
            name: link.agent.identity.name.clone(),
            address: place.address.clone(),
            edge: edge.map_err(|why| why.at(&place.address))?,
            link,
            clocks: Mutex::default(),
            before: Mutex::default(),
        })
    }

    /// Exchanges timestamps.
    ///
    /// # Errors
    /// If the agent does not answer.
    pub async fn measure(&self, clock: &dyn Clock) -> Result<(), AgentError> {
        let mut clocks = self.clocks();
        let measured = self.link.clone().measure_clock(clock, &mut clocks, EXCHANGES).await;
        {
            let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
            *before = before.or_else(|| Offset::of(&clocks.monotonic, clock.monotonic_ns()));
        }
        *self.clocks.lock().unwrap_or_else(PoisonError::into_inner) = clocks;
        measured.map(|_| ()).map_err(|why| why.at(&self.address))
    }

    /// What is known of its clocks.
    pub fn clocks(&self) -> Clocks {
        self.clocks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How far its monotonic clock was ahead when it was first measured.
    pub fn before(&self) -> Option<Offset> {
        *self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A reading of our monotonic clock as its.
    pub fn theirs(&self, ours_ns: i64) -> i64 {
        let clocks = self.clocks.lock().unwrap_or_else(PoisonError::into_inner);
        ours_ns.saturating_add(clocks.monotonic.offset(ours_ns).map_or(0, |bounds| bounds.middle_ns()))
    }

    /// Asks it for its consents.
    pub async fn consents(&self, asking: Signed) -> Result<Consented, CallError> {
        self.link.clone().consents(asking).await
    }
}
