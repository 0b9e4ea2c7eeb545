//! What packets cross: links and the per-connection delays before and after them.

pub mod delay_box;
pub mod link;
pub mod loss;
pub mod schedule;
pub mod token_bucket;
pub mod transmitter;

pub use delay_box::{DelayBox, PathDelays, Placement};
pub use link::{Link, LinkStatistics, Passage};
pub use loss::{GilbertElliott, Loss, LossModel, PacketList, PacketListError};
pub use schedule::{Schedule, Trace, TraceError};
pub use token_bucket::{BucketConfig, BucketError, Policer, TokenBucket};
pub use transmitter::{Line, Transmitter};
