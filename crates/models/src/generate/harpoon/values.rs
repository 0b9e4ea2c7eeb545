//! Where gaps and sizes come from: a law, or a list as Harpoon has them.

use std::sync::Arc;

use flowloom_core::distribution::Distribution;
use flowloom_core::rng::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a list is drawn from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lists {
    /// Each session begins at a place of its own and goes on in order, round and round, as Harpoon's do.
    #[default]
    Walk,
    /// Each value is drawn for itself.
    Draw,
}

/// Values of one variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Of a law, each times a unit.
    Law(Distribution, f64),
    /// Of a list.
    List(Arc<[f64]>, Lists),
}

impl Values {
    /// The largest that may come.
    pub fn max(&self) -> f64 {
        match self {
            Values::Law(law, unit) => law.max() * unit,
            Values::List(list, _) => list.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Those of one session, which begins to walk a list where a share `place` of it, below 1, is behind.
    pub fn drawn(&self, stream: Stream, place: f64) -> Drawn {
        let at = match self {
            Values::List(list, Lists::Walk) => (place * list.len() as f64) as usize % list.len().max(1),
            Values::List(..) | Values::Law(..) => 0,
        };
        Drawn { values: self.clone(), stream, at }
    }
}

/// Values, one after the other.
pub struct Drawn {
    values: Values,
    stream: Stream,
    at: usize,
}

impl Drawn {
    /// The next.
    pub fn draw(&mut self) -> f64 {
        match &self.values {
            Values::Law(law, unit) => law.sample(&mut self.stream) * unit,
            Values::List(list, Lists::Draw) => list[self.stream.below(list.len() as u64) as usize],
            Values::List(list, Lists::Walk) => {
                let value = list[self.at];
                self.at = (self.at + 1) % list.len();
                value
            }
        }
    }
}
