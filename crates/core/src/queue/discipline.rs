//! Disciplines as an experiment states them: plain data, checked before the run.

use std::fmt;
use std::sync::Arc;

use super::{Admission, DropTail, HeadDrop, Queue, Scheduler};
use crate::rng::Stream;
use crate::units::{Limit, Rate};

/// The largest packet of an Ethernet without jumbo frames, as methods C.6 counts it: 1,500 bytes of IP and 14.
pub const FULL_PACKET_BYTES: u32 = 1_514;

/// A discipline and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Discipline {
    /// [`DropTail`] with room for so much.
    DropTail(Limit),
    /// [`HeadDrop`] with room for so much.
    HeadDrop(Limit),
    /// A user's own.
    Custom(Custom),
}

impl Discipline {
    /// The discipline at the head of a line of `rate`. What it draws comes from `stream`.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn build(&self, rate: Rate, stream: Stream) -> Result<Queue, ParameterError> {
        use Queue::{Arrival, Departure};
        Ok(match self {
            &Discipline::DropTail(limit) => Arrival(Admission::DropTail(DropTail::new(limit))),
            &Discipline::HeadDrop(limit) => Departure(Scheduler::HeadDrop(HeadDrop::new(limit)?)),
            Discipline::Custom(custom) => (custom.make)(rate, stream),
        })
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

    /// Whether a queue of `limit` holds a packet.
    pub(super) fn check_limit(limit: Limit) -> Result<(), ParameterError> {
        match limit {
            Limit::Packets(1..) => Ok(()),
            Limit::Bytes(bytes) if bytes >= u64::from(FULL_PACKET_BYTES) => Ok(()),
            _ => Err(ParameterError::new("limit", "must hold at least one packet of 1514 bytes")),
        }
    }
}
