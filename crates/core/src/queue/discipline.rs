//! Disciplines as an experiment states them: plain data, checked before the run.

use std::fmt;
use std::sync::Arc;

use super::adaptive_red::{AdaptiveRed, AdaptiveRedParams};
use super::blue::{Blue, BlueParams};
use super::codel::{Codel, CodelParams};
use super::drop_tail::DropTail;
use super::drr::DeficitRoundRobin;
use super::fq_codel::{FqCodel, FqCodelParams};
use super::head_drop::HeadDrop;
use super::parameters::{FULL_PACKET_BYTES, ParameterError};
use super::pi::{Pi, PiParams};
use super::pie::{Pie, PieParams};
use super::priority::Priority;
use super::red::{Red, RedParams};
use super::rem::{Rem, RemParams};
use super::round_robin::RoundRobin;
use super::step::{StepDequeue, StepEnqueue, StepParams, StepPoint};
use super::variants::{Admission, Queue, Scheduler};
use crate::rng::{Purpose, Stream};
use crate::time::Duration;
use crate::units::{Limit, Rate};

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

    /// The delay that the discipline is to hold its queue at, and the shortest that it can at a line of `rate`, where the first is below
    /// that: 1.5 times what a full packet takes (RFC 8289 4.4: a target below a packet time drops packets of a queue that need not be there).
    /// Adaptive RED takes no part: its thresholds have a least number of packets.
    pub fn short_target(&self, rate: Rate) -> Option<[Duration; 2]> {
        let target = match self {
            Discipline::Pie(params) => params.target,
            Discipline::Codel(params) => params.target,
            Discipline::FqCodel(params) => params.target,
            _ => return None,
        };
        let bits = 8.0 * f64::from(FULL_PACKET_BYTES);
        let least = Duration::from_secs_f64(1.5 * bits / rate.bits_per_second()? as f64);
        (target < least).then_some([target, least])
    }

    /// Whether it may give packets the ECN mark.
    pub fn marks(&self) -> bool {
        match self {
            Discipline::Step(_) | Discipline::Custom(_) => true,
            Discipline::Red(params) => params.ecn,
            Discipline::AdaptiveRed(params) => params.ecn,
            Discipline::Blue(params) => params.ecn,
            Discipline::Pi(params) => params.ecn,
            Discipline::Rem(params) => params.ecn,
            Discipline::Pie(params) => params.ecn,
            Discipline::Codel(params) => params.ecn || params.ce_threshold.is_some(),
            Discipline::FqCodel(params) => params.ecn || params.ce_threshold.is_some(),
            Discipline::DropTail(_)
            | Discipline::HeadDrop(_)
            | Discipline::DeficitRoundRobin { .. }
            | Discipline::RoundRobin(_)
            | Discipline::Priority { .. } => false,
        }
    }

    /// The parameters that are wrong at a line of `rate`: of RED and PI, whose parameters depend on each other most, all; of other
    /// disciplines the first.
    pub(super) fn problems(&self, rate: Rate) -> Vec<ParameterError> {
        match self {
            Discipline::Red(params) => params.problems(),
            Discipline::Pi(params) => params.problems(),
            other => other.build(rate, Stream::new(0, Purpose::Queue, 0)).err().into_iter().collect(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_below_a_packet_time_are_found() {
        let at = |rate: &str, discipline: &Discipline| discipline.short_target(rate.parse().unwrap()).is_some();
        let codel = Discipline::Codel(CodelParams::default());
        // 1.5 x 12,112 bits in 5 ms.
        assert!(at("3633kbit", &codel) && !at("3634kbit", &codel));
        let fq_codel = Discipline::FqCodel(FqCodelParams::default());
        assert!(at("1mbit", &fq_codel) && !at("10mbit", &fq_codel));
        let pie = Discipline::Pie(PieParams::default());
        assert!(at("1mbit", &pie) && !at("2mbit", &pie));
        assert_eq!(pie.short_target(Rate::UNLIMITED), None);
        let codel = |ecn| Discipline::Codel(CodelParams { ecn, ..CodelParams::default() });
        assert!(codel(true).marks() && !codel(false).marks() && !Discipline::DropTail(Limit::Packets(9)).marks());
        assert!(!at("1kbit", &Discipline::DropTail(Limit::Packets(1))));
    }
}
