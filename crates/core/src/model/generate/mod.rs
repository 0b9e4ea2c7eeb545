//! Source models: traffic without a capture.
//!
//! A source model draws connection vectors from laws. Each variable has a stream of random numbers of its own, in which the
//! numbers of connection n do not depend on those of any other (methods L.5): two variants of a model draw the same sizes for the
//! same connections.

mod exchanges;

pub use exchanges::Exchanges;

use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::workload::ConnectionVector;

/// A source model and its parameters, as experiments spell them: `{ kind = "exchanges", ... }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SourceModel {
    /// Connections of one request and one response that start in a Poisson process.
    Exchanges(Exchanges),
}

/// Connections in the order of their starts.
pub type Vectors = Box<dyn Iterator<Item = ConnectionVector> + Send>;

impl SourceModel {
    /// What it is called.
    pub const fn name(&self) -> &'static str {
        match self {
            SourceModel::Exchanges(_) => "exchanges",
        }
    }

    /// What no type can refuse: parameters that are well formed and impossible.
    ///
    /// # Errors
    /// The key, and what is wrong with its value.
    pub fn check(&self) -> Result<(), String> {
        match self {
            SourceModel::Exchanges(model) => model.check(),
        }
    }

    /// The connections that start in the first `duration`, in the order of their starts, with dense ids from 0, one by one. The
    /// parameters must be possible ([`Self::check`]).
    pub fn vectors(&self, seed: u64, duration: Duration) -> Vectors {
        match self {
            SourceModel::Exchanges(model) => Box::new(model.vectors(seed, duration)),
        }
    }
}
