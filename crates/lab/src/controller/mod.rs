//! The commanding side: one edge of the control tree, to an agent below, and what is measured of its clock.

mod edge;
pub mod experiment;

use std::net::SocketAddr;

use prost::Message;
use tokio_stream::wrappers::ReceiverStream;

use crate::authority::credentials::Credentials;
use crate::authority::statement::{self, Kind};
use crate::clock::Clock;
use crate::clock::exchange::Exchange;
use crate::clock::track::{Learnt, Track};
use crate::rpc::{ClockRequest, ConsentRequest, Delegation, Protocol, Signed};
use crate::transport::client::{Link, words};

pub use edge::{Answer, Edge};

/// What is known of an agent's clocks.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// That by which experiments start.
    pub monotonic: Track,
    /// That of its log, and of certificates.
    pub time_of_day: Track,
}

/// What an agent is asked to agree to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Of which experiment.
    pub experiment: String,
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
    ) -> Result<Vec<Learnt>, String> {
        let (ask, asked) = tokio::sync::mpsc::channel(1);
        let said = |status: tonic::Status| words(&status);
        let mut answers = self.client.clock(ReceiverStream::new(asked)).await.map_err(said)?.into_inner();
        let mut learnt = Vec::with_capacity(times);
        for _ in 0..times {
            let (day_1_ns, t1_ns) = (clock.unix_ns(), clock.monotonic_ns());
            let gone = || "the connection has ended".to_owned();
            ask.send(ClockRequest { t1_ns }).await.map_err(|_| gone())?;
            let reply = answers.message().await.map_err(said)?.ok_or_else(gone)?;
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

    /// Asks the agent to agree to receive traffic. What it signs is for the agent that will send.
    ///
    /// # Errors
    /// Why it does not agree.
    pub async fn consent(&mut self, wanted: &Wanted) -> Result<Signed, String> {
        let request = ConsentRequest {
            experiment: wanted.experiment.clone(),
            sender: wanted.sender.clone(),
            address: wanted.to.ip().to_string(),
            port: u32::from(wanted.to.port()),
            protocol: wanted.protocol.into(),
            rate_bit_s: wanted.rate_bit_s,
            duration_s: wanted.duration_s,
        };
        self.client.consents(request).await.map(tonic::Response::into_inner).map_err(|status| words(&status))
    }
}

/// Lets an agent command another agent of one block.
///
/// # Errors
/// If it cannot be signed.
pub fn delegate(controller: &Credentials, delegation: &Delegation) -> Result<Signed, String> {
    statement::sign(controller, Kind::Delegation, delegation.encode_to_vec()).map_err(|error| error.to_string())
}
