//! The capacity of this host: how much it can do in live runs, measured by live runs of made-up loads that grow until a run is not
//! VALID (`flowloom doctor --calibrate`).
//!
//! This is another thing than `calibrate`, which finds the rates of a source model, and than the pings before each live run.
//!
//! | file | holds |
//! |---|---|
//! | `measure` | all loads, one after the other |
//! | `limits` | the most of a load, and what single runs came to |
//! | `ramp` | the search for a limit, without a network |
//! | `load` | the four kinds of load, and the experiments that make them |
//! | `part` | the part that failed first |
//! | `this_host` | loads run on this host |
//! | `saved` | the file with the limits of a host |
//! | `check` | what a run needs beside what the host can do |

pub mod check;
pub mod limits;
pub mod load;
mod measure;
pub mod part;
mod ramp;
pub mod saved;
mod this_host;

pub use check::{HostCheck, LoadCheck, LoadNeeds};
pub use limits::{Limit, Tried};
pub use load::Load;
pub use measure::{MeasuredCapacity, TIME, measure_capacity};
pub use part::{Failure, Part};
pub use saved::{Capacity, FILE, HostIdentity, Known, known};
pub use this_host::CapacityOptions;
