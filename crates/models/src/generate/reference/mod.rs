//! The reference workloads `campus-2008` and `enterprise-2006`: synthetic connections whose statistics are the published ones of two
//! traces (Aikat 2010), UNC's of 10 January 2008 and IBM's of 10 October 2006. Nothing of either trace is in them.
//!
//! | file | holds |
//! |---|---|
//! | `trace` | the laws, what each was fitted to, and what was chosen because nothing is published |
//! | `arrivals` | starts with long-range dependence |
//! | `connection` | how one connection is drawn |
//! | `ranks` | which part of a law the values of one connection are of |
//! | `tabulated` | laws looked up in tables |
//! | `expected` | what follows from the laws by quadrature |
//!
//! `docs/evidence/references.md` sets the published statistics of the traces beside ours, `docs/reference/models.md` those of their replays, to which
//! nothing was fitted.

mod arrivals;
mod connection;
mod expected;
mod ranks;
mod tabulated;
#[cfg(test)]
mod tests;
mod trace;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::ConnectionVector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generate::ends::Impossible;

pub use arrivals::Arrivals;
pub use expected::{Epochs, Wire};
pub use trace::{Concurrent, Cut, Fall, Kind, Sequential, Trace};

/// Parameters of a reference workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reference {
    /// Connections that start in a second, in parts of the published number; default: 1. The bursts of arrivals keep their size in
    /// parts of the rate, as if connections were left out, or added, at random.
    #[serde(default = "published")]
    #[schemars(range(max = 1000), extend("exclusiveMinimum" = 0))]
    pub scale: f64,
}

const fn published() -> f64 {
    1.0
}

impl Reference {
    /// The largest scale: a million connections per second.
    pub const MAX_SCALE: f64 = 1_000.0;

    /// What no type can refuse.
    ///
    /// # Errors
    /// The key, and what is wrong with its value.
    pub fn check(&self) -> Result<(), Impossible> {
        if self.scale > 0.0 && self.scale <= Self::MAX_SCALE {
            return Ok(());
        }
        let (scale, most) = (self.scale, Self::MAX_SCALE);
        let problem =
            format!("of {scale} must be above 0 and at most {most}; 1 is the published number of connections");
        Err(Impossible::new("scale", problem))
    }

    /// The connections of `trace` that start in the first `duration`, in the order of their starts. The published hour begins after
    /// `lead_in`; what is before goes on as the hour begins.
    pub fn vectors(
        &self,
        trace: &Trace,
        seed: u64,
        lead_in: Duration,
        duration: Duration,
    ) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let end = duration.as_secs_f64();
        let fall = trace.fall.map(|fall| Fall { at: fall.at + lead_in.as_secs_f64(), ..fall });
        let starts = Arrivals::new(trace.connections_per_second * self.scale, seed, end).falling(fall);
        let connections = connection::Connections::new(trace, seed);
        (0..)
            .zip(starts.take_while(move |start| *start < end))
            .map(move |(id, start)| connections.vector(id, Time::ZERO + Duration::from_secs_f64(start)))
    }
}
