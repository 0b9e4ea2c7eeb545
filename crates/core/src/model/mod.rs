//! Models that turn what was measured into what is replayed.

mod distribution;
pub mod fit;
mod fsd;
pub mod generate;
mod load;
mod prefill;
mod rtt;
mod scaling;
mod settled;
mod structure;
pub mod swing;
mod waits;
mod window;

use distribution::normal_hazard;
pub use distribution::{
    Distribution, DistributionError, Law, Part, Rounding, WrittenLaw, normal_below, normal_quantile,
};
pub(crate) use fsd::standard_normal;
pub use fsd::{Fsd, FsdModel};
pub use load::{ARRIVAL_BIN, Load, LoadMeter, Offered, offered};
pub(crate) use load::{CONTROL, MSS};
pub use prefill::{Placed, Prefill, open_for};
pub use rtt::{
    Approximation, Assignment, PUBLISHED, Place, Published, RoundTrips, discrete_approximation, mean_rtt, median_rtt,
};
pub use scaling::{Counted, Method, Scaling, ScalingError, ScalingPlan, Survey};
pub use settled::{settle, unsettle};
pub use structure::Structure;
pub use waits::{Correction, MIN_WAIT, ReplayModel, Waits};
pub use window::{MOST_WINDOW, fix_windows};
