//! The commanding side, which a controller is for a script and an agent for a block that it was given.
//!
//! | module | what |
//! |---|---|
//! | `plan` | which agents a block is left to |
//! | `edge` | commands down and answers up, to one agent |
//! | `below` | an agent, and how its clock is to ours |
//! | `remote` | a block at an agent, as a node of the tree |
//! | `tree` | a block at work: all of that together |
//! | `times` | when what ran, translated from clock to clock |
//! | `wire` | what is said of all that on an edge |
//! | `experiment` | a script, from setup to teardown |
//! | `sides` | agents as the hosts of an ordinary experiment |
//! | `error` | why an experiment cannot begin |

mod below;
mod clocks;
mod edge;
mod error;
pub mod experiment;
mod plan;
mod remote;
pub mod sides;
mod times;
mod tree;
pub(crate) mod wire;

use std::net::SocketAddr;

use prost::Message;
use tokio_stream::wrappers::ReceiverStream;

use crate::authority;
use crate::authority::credentials::Credentials;
use crate::authority::statement::{self, Kind};
use crate::clock::Clock;
use crate::clock::exchange::Exchange;
use crate::clock::track::Learnt;
use crate::rpc::agreement::Answer as Agreed;
use crate::rpc::{Asking, ClockRequest, ConsentRequest, Consented, Delegation, Protocol, Signed};
use crate::transport::CallError;
use crate::transport::client::Link;

pub use below::Commander;
pub use clocks::Clocks;
pub use edge::{Answer, Answers, Edge};
pub use error::ControlError;
pub use plan::{Hosts, Place, place};
pub use remote::{Step, Watcher};
pub use times::{AgentRun, LeafRun, Offset, Times};
pub use tree::Tree;

/// What an agent is asked to agree to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The agent that will send.
    pub sender: String,
    /// Where to.
    pub to: SocketAddr,
    /// By what.
    pub protocol: Protocol,
    /// At most, in bit/s of IP packets.
    pub rate_bit_s: u64,
    /// For how long, in seconds.
    pub duration_s: u64,
}

impl Link {
    /// Exchanges timestamps so often, adds them to `clocks`, and returns what each showed of the monotonic clock.
    ///
    /// # Errors
    /// If the agent does not answer.
    pub async fn measure_clock(
        &mut self,
        clock: &dyn Clock,
        clocks: &mut Clocks,
        times: usize,
    ) -> Result<Vec<Learnt>, CallError> {
        let (ask, asked) = tokio::sync::mpsc::channel(1);
        let said = |status: tonic::Status| CallError::of(&status);
        let mut answers = self.client.clock(ReceiverStream::new(asked)).await.map_err(said)?.into_inner();
        let mut learnt = Vec::with_capacity(times);
        for _ in 0..times {
            let (day_1_ns, t1_ns) = (clock.unix_ns(), clock.monotonic_ns());
            ask.send(ClockRequest { t1_ns }).await.map_err(|_| CallError::Ended)?;
            let reply = answers.message().await.map_err(said)?.ok_or(CallError::Ended)?;
            let (t4_ns, day_4_ns) = (clock.monotonic_ns(), clock.unix_ns());
            if reply.t1_ns != t1_ns {
                learnt.push(Learnt::Nothing);
                continue;
            }
            learnt.push(clocks.monotonic.add(Exchange { t1_ns, t2_ns: reply.t2_ns, t3_ns: reply.t3_ns, t4_ns }));
            // Read once, between the question's coming and the answer's leaving: as if it had been answered at that moment.
            let day_ns = reply.time_of_day_ns;
            clocks.time_of_day.add(Exchange { t1_ns: day_1_ns, t2_ns: day_ns, t3_ns: day_ns, t4_ns: day_4_ns });
        }
        Ok(learnt)
    }

    /// Asks the agent for its consents, by what a controller has signed.
    ///
    /// # Errors
    /// Why it does not even look at what is asked.
    pub async fn consents(&mut self, asking: Signed) -> Result<Consented, CallError> {
        self.client.consents(asking).await.map(tonic::Response::into_inner).map_err(|status| CallError::of(&status))
    }

    /// Asks the agent, as `controller`, to agree to receive traffic in `experiment`. What it signs is for the agent that will send.
    ///
    /// # Errors
    /// Why it does not agree.
    pub async fn consent(
        &mut self,
        controller: &Credentials,
        experiment: &str,
        wanted: &Wanted,
        until_unix_s: i64,
    ) -> Result<Signed, ControlError> {
        let receiver = self.agent.identity.name.to_string();
        let requests = vec![wanted.request()];
        let asking = Asking { experiment: experiment.to_owned(), receiver, requests, until_unix_s };
        let consented = self.consents(ask(controller, &asking)?).await?;
        match consented.agreements.into_iter().next().and_then(|agreement| agreement.answer) {
            Some(Agreed::Consent(consent)) => Ok(consent),
            Some(Agreed::Refusal(why)) => Err(ControlError::Disagrees(why)),
            None => Err(ControlError::NoAnswer),
        }
    }
}

impl Wanted {
    /// As a message.
    pub fn request(&self) -> ConsentRequest {
        ConsentRequest {
            sender: self.sender.clone(),
            address: self.to.ip().to_string(),
            port: u32::from(self.to.port()),
            protocol: self.protocol.into(),
            rate_bit_s: self.rate_bit_s,
            duration_s: self.duration_s,
        }
    }
}

/// Asks an agent for consents, so that others can carry it.
///
/// # Errors
/// If it cannot be signed.
pub fn ask(controller: &Credentials, asking: &Asking) -> Result<Signed, authority::Error> {
    statement::sign(controller, Kind::Asking, asking.encode_to_vec())
}

/// Lets an agent command another agent of blocks of a script.
///
/// # Errors
/// If it cannot be signed.
pub fn delegate(controller: &Credentials, delegation: &Delegation) -> Result<Signed, authority::Error> {
    statement::sign(controller, Kind::Delegation, delegation.encode_to_vec())
}
