//! What each cause is worth that a replay can leave out: the replay with it alone beside one without anything, and the replay without
//! it beside one with everything (methods M.13).
//!
//! | file | holds |
//! |---|---|
//! | `cause` | what a replay can leave out |
//! | `replays` | a value for each of the replays that are compared, and what explains it |
//! | `quantities` | how far a replay is from its original, quantity by quantity |
//! | `connections` | the connections that differ most |
//! | `text` | the explanation for the terminal |

mod cause;
mod connections;
mod quantities;
mod replays;
pub(crate) mod text;

use serde::Serialize;

pub use cause::{Cause, UNKNOWN};
pub use connections::{ConnectionTimes, ExplainedConnection, ExplainedTimes, TimeDifferences, Times, most_different};
pub use quantities::{Apart, Explained, Measured, Quantity, Worth};
pub use replays::{Replays, Tried};
pub use text::explanation_text;

use crate::run::Run;

/// What makes a replay differ from its original.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The run's folder.
    pub run: String,
    /// What ran it: `sim`, `live` or `lab`. The replays that explain it are simulated in any case.
    pub driver: String,
    /// What can be left out, in the order of all lists.
    pub causes: Vec<Cause>,
    /// Quantity by quantity; those without values are left out.
    pub quantities: Vec<Explained>,
    /// Total span of the original's ADUs at the monitor: the sum of the times from first to last byte.
    pub original_adu_span_ns: u64,
    /// Connections whose duration or response times are known of both the original and a replay.
    pub compared_connections: u64,
    /// The connections that differ most with nothing or with everything replayed, the farthest first.
    pub connections: Vec<ExplainedConnection>,
}

impl Explanation {
    /// Of `run`, whose replays measured this.
    pub fn new(
        run: &Run,
        causes: Vec<Cause>,
        replays: &Replays<Measured>,
        times: &Replays<ConnectionTimes>,
        most: &[u64],
    ) -> Explanation {
        let itself = Measured::of(run);
        let quantities = Quantity::ALL.into_iter();
        Explanation {
            run: run.name.clone(),
            driver: run.facts.driver.clone(),
            quantities: quantities.filter_map(|of| Explained::new(of, &causes, &itself, replays)).collect(),
            original_adu_span_ns: replays.all.original_adu_span.as_nanos(),
            compared_connections: times.all.compared() as u64,
            connections: most.iter().filter_map(|id| ExplainedConnection::new(*id, &causes, times)).collect(),
            causes,
        }
    }

    /// How many replays it rests on.
    pub fn simulated(&self) -> usize {
        2 + 2 * self.causes.len()
    }

    /// Of an end that was not simulated: what to think of it.
    pub fn note_on_driver(&self) -> Option<String> {
        (self.driver != "sim").then(|| {
            format!(
                "{} was run {}; it is explained by simulations of its experiment, and what its kernels and hosts did is no part of them.",
                self.run,
                if self.driver == "lab" { "on the hosts of a lab" } else { "live" }
            )
        })
    }
}
