//! Disciplines as an experiment states them: plain data, checked before the run.

use std::fmt;
use std::sync::Arc;

use super::Queue;
use super::adaptive_red::{AdaptiveRed, AdaptiveRedParams};
use super::admission::Admission;
use super::blue::{Blue, BlueParams};
use super::codel::{Codel, CodelParams};
use super::drop_tail::DropTail;
use super::drr::DeficitRoundRobin;
use super::fq_codel::{FqCodel, FqCodelParams};
use super::head_drop::HeadDrop;
use super::pi::{Pi, PiParams};
use super::pie::{Pie, PieParams};
use super::priority::Priority;
use super::red::{Red, RedParams};
use super::rem::{Rem, RemParams};
use super::round_robin::RoundRobin;
use super::scheduler::Scheduler;
use super::step::{StepDequeue, StepEnqueue, StepParams, StepPoint};
use crate::rng::Stream;
use crate::time::Duration;
use crate::units::{LINK_HEADER_BYTES, Limit, Rate};

/// The largest packet of an Ethernet without jumbo frames, as methods C.6 counts it: 1,500 bytes of IP and 14.
pub const FULL_PACKET_BYTES: u32 = 1_514;

/// A packet of nothing but the headers of the link and of IP.
const LEAST_PACKET_BYTES: u64 = LINK_HEADER_BYTES as u64 + 20;

/// A packet as long as IP's length field can say.
const MOST_PACKET_BYTES: u64 = LINK_HEADER_BYTES as u64 + u16::MAX as u64;

/// Between the updates of a discipline that has them.
pub(super) const LEAST_INTERVAL: Duration = Duration::from_micros(1);

/// A discipline and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Discipline {
    /// [`DropTail`] with room for so much.
    DropTail(Limit),
    /// [`HeadDrop`] with room for so much.
    HeadDrop(Limit),
    /// [`StepEnqueue`] or [`StepDequeue`].
    Step(StepParams),
    /// [`Red`].
    Red(RedParams),
    /// [`AdaptiveRed`].
    AdaptiveRed(AdaptiveRedParams),
    /// [`Blue`].
    Blue(BlueParams),
    /// [`Pi`].
    Pi(PiParams),
    /// [`Rem`].
    Rem(RemParams),
    /// [`Pie`].
    Pie(PieParams),
    /// [`Codel`].
    Codel(CodelParams),
    /// [`FqCodel`].
    FqCodel(FqCodelParams),
    /// [`DeficitRoundRobin`].
    DeficitRoundRobin {
        /// What may wait, all flows together.
        limit: Limit,
        /// Bytes a flow may send in a turn.
        quantum: u32,
    },
    /// [`RoundRobin`] with room for so much, all flows together.
    RoundRobin(Limit),
    /// [`Priority`].
    Priority {
        /// What may wait in each band.
        limit: Limit,
        /// Bands: packets of higher classes go to the last.
        bands: u8,
    },
    /// A user's own.
    Custom(Custom),
}

impl Discipline {
    /// The discipline at the head of a line of `rate`. What it draws comes from `stream`.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn build(&self, rate: Rate, stream: Stream) -> Result<Queue, ParameterError> {
        let serve = |scheduler| Ok(Queue::Departure(scheduler));
        let admission = match *self {
            Discipline::DropTail(limit) => Admission::DropTail(DropTail::new(limit)),
            Discipline::Step(params) => match params.at {
                StepPoint::Enqueue => Admission::Step(StepEnqueue::new(params)?.into()),
                StepPoint::Dequeue => return serve(Scheduler::Step(StepDequeue::new(params)?.into())),
            },
            Discipline::Red(params) => Admission::Red(Red::new(params, rate, stream)?.into()),
            Discipline::AdaptiveRed(params) => Admission::AdaptiveRed(AdaptiveRed::new(params, rate, stream)?.into()),
            Discipline::Blue(params) => Admission::Blue(Blue::new(params, stream)?.into()),
            Discipline::Pi(params) => Admission::Pi(Pi::new(params, stream)?.into()),
            Discipline::Rem(params) => Admission::Rem(Rem::new(params, stream)?.into()),
            Discipline::Pie(params) => Admission::Pie(Pie::new(params, stream)?.into()),
            Discipline::HeadDrop(limit) => return serve(Scheduler::HeadDrop(HeadDrop::new(limit)?.into())),
            Discipline::Codel(params) => return serve(Scheduler::Codel(Codel::new(params)?.into())),
            Discipline::FqCodel(params) => return serve(Scheduler::FqCodel(FqCodel::new(params, stream)?.into())),
            Discipline::DeficitRoundRobin { limit, quantum } => {
                return serve(Scheduler::DeficitRoundRobin(DeficitRoundRobin::new(limit, quantum)?.into()));
            }
            Discipline::RoundRobin(limit) => return serve(Scheduler::RoundRobin(RoundRobin::new(limit)?.into())),
            Discipline::Priority { limit, bands } => {
                return serve(Scheduler::Priority(Priority::new(limit, bands)?.into()));
            }
            Discipline::Custom(ref custom) => return Ok((custom.make)(rate, stream)),
        };
        Ok(Queue::Arrival(admission))
    }
}

/// How a user's own discipline is made: once for each direction of each link.
#[derive(Clone)]
pub struct Custom {
    name: String,
    make: Arc<dyn Fn(Rate, Stream) -> Queue + Send + Sync>,
}

impl Custom {
    /// A discipline called `name`, made by `make` from the line's rate and a stream of random numbers.
    pub fn new(name: impl Into<String>, make: impl Fn(Rate, Stream) -> Queue + Send + Sync + 'static) -> Custom {
        Custom { name: name.into(), make: Arc::new(make) }
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.name).finish()
    }
}

/// The same one, not one that does the same.
impl PartialEq for Custom {
    fn eq(&self, other: &Custom) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.make, &other.make)
    }
}

/// A parameter of a discipline that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} {problem}")]
pub struct ParameterError {
    /// Its key in an experiment file.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

impl ParameterError {
    pub(super) fn new(key: &'static str, problem: impl Into<String>) -> ParameterError {
        ParameterError { key, problem: problem.into() }
    }

    /// Whether `value` is in (0, 1].
    pub(super) fn check_probability(key: &'static str, value: f64) -> Result<(), ParameterError> {
        if value > 0.0 && value <= 1.0 {
            Ok(())
        } else {
            Err(ParameterError::new(key, format!("of {value} must be above 0 and at most 1")))
        }
    }

    /// Whether `value` is a number above zero.
    pub(super) fn check_positive(key: &'static str, value: f64) -> Result<(), ParameterError> {
        if value > 0.0 && value.is_finite() {
            Ok(())
        } else {
            Err(ParameterError::new(key, format!("of {value} must be above zero")))
        }
    }

    /// Whether `value` is not zero.
    pub(super) fn check_above_zero(key: &'static str, value: u64) -> Result<(), ParameterError> {
        if value > 0 { Ok(()) } else { Err(ParameterError::new(key, "must be above zero")) }
    }

    /// Whether updates may follow each other so soon. Each that was due is made up for, so that very many of them would hold up a run.
    pub(super) fn check_interval(key: &'static str, value: Duration) -> Result<(), ParameterError> {
        if value >= LEAST_INTERVAL { Ok(()) } else { Err(ParameterError::new(key, "must be at least 1 us")) }
    }

    /// The most that can wait within `limit`, in the unit of `threshold`. Where one is in packets and the other in bytes: packets
    /// have what IP's length field allows at most, and the headers of the link and of IP at least.
    pub(super) fn most_waiting(limit: Limit, threshold: Limit) -> u64 {
        match (threshold, limit) {
            (Limit::Packets(_), Limit::Packets(most)) | (Limit::Bytes(_), Limit::Bytes(most)) => most,
            (Limit::Bytes(_), Limit::Packets(packets)) => packets.saturating_mul(MOST_PACKET_BYTES),
            (Limit::Packets(_), Limit::Bytes(bytes)) => bytes / LEAST_PACKET_BYTES,
        }
    }

    /// The smallest packet, in the unit of `threshold`.
    pub(super) const fn least_packet(threshold: Limit) -> u64 {
        match threshold {
            Limit::Packets(_) => 1,
            Limit::Bytes(_) => LEAST_PACKET_BYTES,
        }
    }

    /// Whether a queue of `limit` can ever hold `threshold`, which is what `name` says.
    pub(super) fn check_threshold(name: &str, threshold: Limit, limit: Limit) -> Result<(), ParameterError> {
        let (Limit::Packets(needed) | Limit::Bytes(needed)) = threshold;
        if needed <= ParameterError::most_waiting(limit, threshold) {
            return Ok(());
        }
        let problem = format!("of {limit} is below {name}, which is {threshold}: the queue is full before that");
        Err(ParameterError::new("limit", problem))
    }

    /// Whether a queue of `limit` holds a packet.
    pub(super) fn check_limit(limit: Limit) -> Result<(), ParameterError> {
        match limit {
            Limit::Packets(1..) => Ok(()),
            Limit::Bytes(bytes) if bytes >= u64::from(FULL_PACKET_BYTES) => Ok(()),
            _ => Err(ParameterError::new("limit", "must hold at least one packet of 1514 bytes")),
        }
    }
}
