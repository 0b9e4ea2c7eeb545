//! Flowloom's statistics: models that generate and transform workloads, and estimates from measured values.
//!
//! Everything here is pure: no I/O, clock, thread or randomness of its own. Streams of random numbers are arguments
//! (`flowloom_core::rng`), and so is time.
//!
//! | module | holds |
//! |---|---|
//! | `generate` | source models, one file or folder each; `ends` has what they share |
//! | `swing` | Swing: the model, its survey of a workload, and the traffic it generates |
//! | `structure`, `rtt`, `window`, `settled` | transforms of one vector: connection structures, round-trip times, windows, waits |
//! | `cut` | a part of a workload, cut out of it as a trace is |
//! | `parts` | flows of datagrams cut at times |
//! | `resampling` | other draws of a measured workload, for replications |
//! | `scaling`, `load` | scaling a workload to a load, and the load that vectors offer |
//! | `fit` | distributions fitted to values |
//! | `lrd` | long-range dependence, one file per estimate |
//! | `fsd` | fractional sum-difference variables |
//! | `special`, `fft` | special functions, transforms |
//!
//! Distributions themselves are in `flowloom_core::distribution`, because paths and players draw from them.

#![forbid(unsafe_code)]

mod cut;
mod fft;
pub mod fit;
mod fsd;
pub mod generate;
mod load;
pub mod lrd;
mod parts;
mod resampling;
mod rtt;
mod scaling;
mod settled;
pub mod special;
mod structure;
pub mod swing;
mod window;

pub use cut::cut_out;
pub use fsd::{Fsd, FsdModel};
pub use load::{ARRIVAL_BIN, Load, LoadMeter, Offered, offered};
pub use parts::{Borders, InParts, until, wrapped};
pub use resampling::{Draw, FEWEST_BLOCKS, Variation, block_length, close_as_observed};
pub use rtt::{
    Approximation, Assignment, PUBLISHED, Place, Published, RoundTrips, discrete_approximation, mean_rtt, median_rtt,
};
pub use scaling::{Counted, Method, Scaling, ScalingError, ScalingPlan, Survey};
pub use settled::{settle, unsettle};
pub use structure::Structure;
pub use window::{MOST_WINDOW, fix_windows};
