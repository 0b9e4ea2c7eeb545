//! `[workload.load]`: more or less load than the source has (methods A.11, `docs/reference/models.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_models::{self as models, Counted, Scaling};

use flowloom_core::keys::{KeyError, Quantity};

/// How the load is made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[schemars(extend(
    "dependentRequired" = { "factor": ["method"], "target": ["method"], "block": ["method"], "duration": ["method"] },
    "minProperties" = 1
))]
pub struct Load {
    /// How the load is changed; may only be left out where `shuffle` is all that is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Method>,
    /// New load in parts of the old load.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000000), extend("exclusiveMinimum" = 0))]
    factor: Option<f64>,
    /// New payload rate of the busier direction, instead of `factor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("not" = { "const": "unlimited" }))]
    target: Option<Quantity<Rate>>,
    /// What `factor` counts; default: bytes.
    by: By,
    /// `blocks`: length of a block; default: 60s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1s", "most" = "300s"))]
    block: Option<Quantity<Duration>>,
    /// `poisson`, `blocks`: time during which connections of the new workload start; default: as in the old one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1ns"))]
    duration: Option<Quantity<Duration>>,
    /// Exchange bins of this length afterwards; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1ns"))]
    shuffle: Option<Quantity<Duration>>,
}

/// The methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Connections are left out.
    Thinning,
    /// Connections are drawn, and start in a Poisson process.
    Poisson,
    /// Blocks of time are drawn.
    Blocks,
    /// Starts are multiplied.
    StartTimes,
}

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Payload bytes.
    #[default]
    Bytes,
    /// Connections.
    Connections,
}

/// Most that a load is scaled by.
const MOST_FACTOR: f64 = 1e6;

/// Shortest and longest blocks (methods A.11.3).
const BLOCKS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(300)];

impl Load {
    /// All that no type can refuse.
    pub fn problems(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        let mut add = |key: &str, problem: &dyn std::fmt::Display| found.push(KeyError::new(key, problem));
        if self.factor.is_some() && self.target.is_some() {
            add("factor", &"and target both say how much: leave out one");
        }
        if let Some(factor) = self.factor.filter(|factor| !(*factor > 0.0 && *factor <= MOST_FACTOR)) {
            add("factor", &format_args!("of {factor} must be above 0 and at most {MOST_FACTOR:e}"));
        }
        if let Some(target) = self.target.as_ref().filter(|target| target.value.bits_per_second().is_none()) {
            add("target", &format_args!("of {target} is no load"));
        }
        match self.method {
            None => {
                let only =
                    self.factor.is_none() && self.target.is_none() && self.block.is_none() && self.duration.is_none();
                if !only || self.shuffle.is_none() {
                    add("method", &"is missing: thinning, poisson, blocks or start-times");
                }
            }
            Some(method) => {
                if self.block.is_some() && method != Method::Blocks {
                    add("block", &"is a key of method = \"blocks\"");
                }
                if self.duration.is_some() && !matches!(method, Method::Blocks | Method::Poisson) {
                    add("duration", &"is a key of the methods that draw: poisson and blocks");
                }
                if method == Method::StartTimes && self.by == By::Connections {
                    add("by", &"is about methods that choose connections, and this one keeps all");
                }
            }
        }
        if let Some(block) = self.block.as_ref().filter(|block| !(BLOCKS[0]..=BLOCKS[1]).contains(&block.value)) {
            add("block", &format_args!("of {block} must be from {} to {}", BLOCKS[0], BLOCKS[1]));
        }
        for (key, value) in [("duration", &self.duration), ("shuffle", &self.shuffle)] {
            if value.as_ref().is_some_and(|value| value.value.is_zero()) {
                add(key, &"must be above zero");
            }
        }
        found
    }

    /// How long connections of the new workload start, if that is said.
    pub fn duration(&self) -> Option<Duration> {
        self.duration.as_ref().map(|duration| duration.value)
    }

    /// Whether the old load is that of all of the source: where bins are shuffled any of them may be replayed, and other starts bring another
    /// part of it.
    pub fn is_of_all(&self) -> bool {
        self.shuffle.is_some() || self.method == Some(Method::StartTimes)
    }

    /// The core's, for a workload whose busier direction offers `rate` bit/s of payload; the new one is for `duration` where nothing else is
    /// said.
    pub fn scaling(&self, rate: f64, duration: Duration) -> Scaling {
        let target = self.target.as_ref().and_then(|target| target.value.bits_per_second());
        let factor = match (self.factor, target) {
            (Some(factor), _) => factor,
            (None, Some(target)) if rate > 0.0 => target as f64 / rate,
            (None, _) => 1.0,
        };
        let block = self.block.as_ref().map_or(Duration::from_secs(60), |block| block.value);
        Scaling {
            method: match self.method {
                None | Some(Method::Thinning) => models::Method::Thinning,
                Some(Method::Poisson) => models::Method::Poisson,
                Some(Method::Blocks) => models::Method::Blocks(block),
                Some(Method::StartTimes) => models::Method::Starts,
            },
            factor,
            counted: match self.by {
                By::Bytes => Counted::Bytes,
                By::Connections => Counted::Connections,
            },
            duration: self.duration().unwrap_or(duration),
            shuffle: self.shuffle.as_ref().map(|shuffle| shuffle.value),
        }
    }
}
