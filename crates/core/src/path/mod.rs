//! What packets cross: links and the per-connection delays before and after them.

pub mod delay_box;
pub mod link;
pub mod schedule;

pub use delay_box::{DelayBox, PathDelays, Placement};
pub use link::{Link, LinkStatistics, Passage};
pub use schedule::{Schedule, Trace, TraceError};
