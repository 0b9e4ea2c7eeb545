//! What packets cross: links and the per-connection delays before and after them.

pub mod cell_counts;
pub mod cell_keys;
pub mod cells;
pub mod delay_box;
mod extra_delays;
pub mod impairments;
pub mod keys;
pub mod link;
mod link_statistics;
pub mod loss;
pub mod max_min;
pub mod passage;
pub mod rules;
pub mod schedule;
pub mod sojourn;
pub mod token_bucket;
pub mod transmitter;

pub use cell_counts::CellCounts;
pub use cells::{Abr, CellFraming, CellParams};
pub use delay_box::{DelayBox, Leg, PathDelays, Placement, Propagation};
pub use extra_delays::ExtraDelays;
pub use impairments::{Fate, Impaired, Impairments, Jitter, LossBehind, Reorder, Reordering};
pub use link::Link;
pub use link_statistics::LinkStatistics;
pub use loss::{GilbertElliott, Loss, LossModel, PacketList, PacketListError};
pub use passage::{LinkEvent, Offered, Passage};
pub use rules::{Flow, FlowTable, FlowValues, LossRate, Matching, Rule, Rules};
pub use schedule::{Schedule, Trace, TraceError};
pub use sojourn::{Sojourns, Waited};
pub use token_bucket::{BucketConfig, BucketError, Policer, TokenBucket};
pub use transmitter::{Line, Transmitter};
