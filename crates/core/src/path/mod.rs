//! What packets cross: links and the per-connection delays before and after them.

pub mod delay_box;
mod extra_delays;
pub mod impairments;
pub mod keys;
pub mod link;
mod link_statistics;
pub mod loss;
pub mod rules;
pub mod schedule;
pub mod sojourn;
pub mod token_bucket;
pub mod transmitter;

pub use delay_box::{DelayBox, Leg, PathDelays, Placement, Propagation};
pub use extra_delays::ExtraDelays;
pub use impairments::{Fate, Impaired, Impairments, Jitter, LossBehind, Reorder, Reordering};
pub use link::{Link, LinkEvent, Offered, Passage};
pub use link_statistics::LinkStatistics;
pub use loss::{GilbertElliott, Loss, LossModel, PacketList, PacketListError};
pub use rules::{Flow, FlowTable, FlowValues, LossRate, Matching, Rule, Rules};
pub use schedule::{Schedule, Trace, TraceError};
pub use sojourn::{Sojourns, Waited};
pub use token_bucket::{BucketConfig, BucketError, Policer, TokenBucket};
pub use transmitter::{Line, Transmitter};
