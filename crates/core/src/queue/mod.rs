//! Queue disciplines: which packets a link's buffer takes, marks and sends next, one discipline per file.
//!
//! There are two kinds. Disciplines that [`Admit`] decide when a packet arrives, and packets leave in order of arrival:
//! when a packet will leave is known at once. Disciplines that [`Serve`] hold the packets and decide when the line is
//! free: which packet leaves, and which are dropped then. Both see only packets that wait; the packet in transmission
//! has left the queue (methods C.5). The link that owns the discipline ([`crate::path::link`]) keeps the times.
//!
//! The built-in ones are dispatched statically: this is on the path of every packet. A user's own implements one of the
//! two traits and goes in as [`Admission::Custom`] or [`Scheduler::Custom`]:
//!
//! ```
//! use flowloom_core::path::{Link, Offered};
//! use flowloom_core::queue::{Admission, Admit, Arrival, Packet, Queue, Verdict};
//! use flowloom_core::record::DropReason;
//! use flowloom_core::time::{Duration, Time};
//!
//! /// Takes what will wait for less than a bound, whatever its size.
//! #[derive(Debug)]
//! struct ShortWaits(Duration);
//!
//! impl Admit for ShortWaits {
//!     fn arrive(&mut self, _packet: &Packet, arrival: &Arrival) -> Verdict {
//!         if arrival.wait() < self.0 { Verdict::Take } else { Verdict::Drop(DropReason::Early) }
//!     }
//! }
//!
//! let queue = Queue::Arrival(Admission::Custom(Box::new(ShortWaits(Duration::from_millis(2)))));
//! let mut link = Link::new(queue, "10mbit".parse()?, Duration::ZERO, Duration::from_secs(1));
//! // 1,250 bytes take 1 ms: the first is sent at once, the second waits 1 ms, the third would wait 2 ms.
//! let offers: Vec<_> = (0..3).map(|_| link.offer(Time::ZERO, Packet::new(1_250))).collect();
//! assert!(matches!(offers[..], [Ok(Offered::Passes(_)), Ok(Offered::Passes(_)), Err(DropReason::Early)]));
//! # Ok::<(), flowloom_core::units::ParseQuantityError>(())
//! ```

pub mod adaptive_red;
pub mod admission;
pub mod blue;
pub mod codel;
pub mod discipline;
pub mod drop_tail;
pub mod drr;
mod flows;
pub mod fq_codel;
pub mod head_drop;
pub mod keys;
mod packet;
mod parameters;
mod periodic;
pub mod pi;
pub mod pie;
pub mod priority;
pub mod red;
pub mod rem;
pub mod round_robin;
pub mod scheduler;
pub mod step;
mod store;
#[cfg(test)]
mod tests;
mod variants;

pub use adaptive_red::{AdaptiveRed, AdaptiveRedParams};
pub use admission::{Admit, Arrival, Verdict};
pub use blue::{Blue, BlueParams};
pub use codel::{Codel, CodelParams};
pub use discipline::{Custom, Discipline};
pub use drop_tail::DropTail;
pub use drr::DeficitRoundRobin;
pub use fq_codel::{FqCodel, FqCodelParams};
pub use head_drop::HeadDrop;
pub use parameters::ParameterError;
pub use pi::{Pi, PiParams};
pub use pie::{Estimator, Pie, PieParams};
pub use priority::Priority;
pub use red::{AboveMax, Red, RedParams};
pub use rem::{Rem, RemParams};
pub use round_robin::RoundRobin;
pub use scheduler::{Lost, Queued, Serve};
pub use step::{StepDequeue, StepEnqueue, StepParams, StepPoint};
pub use variants::{Admission, Queue, Scheduler};

pub use packet::{Backlog, Packet};
