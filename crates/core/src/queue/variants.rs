//! All disciplines as two enums, by when they decide, so that the packet path has no dynamic dispatch.

use super::adaptive_red::AdaptiveRed;
use super::admission::{Admit, Arrival, Verdict};
use super::blue::Blue;
use super::codel::Codel;
use super::drop_tail::DropTail;
use super::drr::DeficitRoundRobin;
use super::fq_codel::FqCodel;
use super::head_drop::HeadDrop;
use super::packet::{Backlog, Packet};
use super::pi::Pi;
use super::pie::Pie;
use super::priority::Priority;
use super::red::Red;
use super::rem::Rem;
use super::round_robin::RoundRobin;
use super::scheduler::{Lost, Queued, Serve};
use super::step::{StepDequeue, StepEnqueue};
use crate::record::DropReason;
use crate::time::Time;

/// A discipline at work, by when it decides.
#[derive(Debug)]
pub enum Queue {
    /// When a packet arrives.
    Arrival(Admission),
    /// When the line is free.
    Departure(Scheduler),
}

/// Hands calls on to the variant that is there.
macro_rules! admissions {
    ($($(#[$doc:meta])* $name:ident($type:ty)),+ $(,)?) => {
        /// The disciplines that decide when a packet arrives. Large ones stand apart, so that drop-tail is next to its link.
        #[derive(Debug)]
        pub enum Admission {
            $($(#[$doc])* $name($type),)+
        }

        impl Admission {
            /// Whether [`Admit::advance`] and [`Admit::start`] do anything: they need not be called otherwise.
            pub(crate) const fn keeps_time(&self) -> bool {
                !matches!(
                    self,
                    Admission::DropTail(_) | Admission::Step(_) | Admission::Red(_) | Admission::Blue(_)
                )
            }
        }

        impl Admit for Admission {
            #[inline]
            fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict {
                match self {
                    $(Admission::$name(queue) => queue.arrive(packet, arrival),)+
                }
            }

            #[inline]
            fn advance(&mut self, until: Time, waiting: Backlog) {
                match self {
                    $(Admission::$name(queue) => queue.advance(until, waiting),)+
                }
            }

            #[inline]
            fn start(&mut self, at: Time, bytes: u32, waiting: Backlog) {
                match self {
                    $(Admission::$name(queue) => queue.start(at, bytes, waiting),)+
                }
            }
        }
    };
}

admissions! {
    /// First in, first out; what does not fit is dropped.
    DropTail(DropTail),
    /// Drop-tail that marks arrivals beyond a threshold.
    Step(Box<StepEnqueue>),
    /// The average queue says how likely a packet is signalled.
    Red(Box<Red>),
    /// RED whose probability adapts to the load.
    AdaptiveRed(Box<AdaptiveRed>),
    /// A probability moved by loss and idleness.
    Blue(Box<Blue>),
    /// Proportional-integral control of the queue.
    Pi(Box<Pi>),
    /// A probability exponential in the line's price.
    Rem(Box<Rem>),
    /// Proportional-integral control of the delay.
    Pie(Box<Pie>),
    /// A user's own.
    Custom(Box<dyn Admit>),
}

/// Hands calls on to the variant that is there.
macro_rules! schedulers {
    ($($(#[$doc:meta])* $name:ident($type:ty)),+ $(,)?) => {
        /// The disciplines that decide when the line is free.
        #[derive(Debug)]
        pub enum Scheduler {
            $($(#[$doc])* $name($type),)+
        }

        impl Serve for Scheduler {
            fn enqueue(&mut self, now: Time, packet: Packet, lost: &mut Lost) -> Result<(), DropReason> {
                match self {
                    $(Scheduler::$name(queue) => queue.enqueue(now, packet, lost),)+
                }
            }

            fn dequeue(&mut self, now: Time, lost: &mut Lost) -> Option<Queued> {
                match self {
                    $(Scheduler::$name(queue) => queue.dequeue(now, lost),)+
                }
            }

            fn backlog(&self) -> Backlog {
                match self {
                    $(Scheduler::$name(queue) => queue.backlog(),)+
                }
            }
        }
    };
}

schedulers! {
    /// First in, first out; room is made at the head.
    HeadDrop(Box<HeadDrop>),
    /// Drop-tail that marks departures that leave more than a threshold behind.
    Step(Box<StepDequeue>),
    /// Controlled delay.
    Codel(Box<Codel>),
    /// Controlled delay of each flow, flows in turn.
    FqCodel(Box<FqCodel>),
    /// Flows in turn, so many bytes each.
    DeficitRoundRobin(Box<DeficitRoundRobin>),
    /// Flows in turn, a packet each.
    RoundRobin(Box<RoundRobin>),
    /// The most urgent class first.
    Priority(Box<Priority>),
    /// A user's own.
    Custom(Box<dyn Serve>),
}
