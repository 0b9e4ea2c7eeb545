//! PackMime-HTTP: web traffic of clouds of clients and servers that one number governs, the rate of new connections (Cao et
//! al. 2004, Weigle 2003; methods F).

mod cloud;
mod draws;
mod marginals;
mod persistent;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cloud::Cloud;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, LinkSide};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generate::ends::Impossible;

/// Web traffic between pairs of clouds, of which one has the clients and the other the servers (methods F.1).
///
/// Connections start regardless of whether earlier ones are over. Every variable of every pair of clouds has a stream of
/// its own, so that a change of one variable leaves the others as they are (methods L.5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PackMime {
    /// New connections per second of each pair of clouds whose clients are on the left of the link.
    #[schemars(range(min = 0.01, max = 1000000))]
    pub rate: f64,
    /// New connections per second of each pair of clouds whose clients are on the right; without it there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 1000000))]
    pub reverse_rate: Option<f64>,
    /// Pairs of clouds in each direction. Five of Weigle 2003's make the load of a 10 Mbit/s link; default: one.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub clouds: u32,
    /// The version of HTTP: whether a connection may carry several requests.
    #[serde(default, skip_serializing_if = "Http::is_default")]
    pub http: Http,
}

const fn one() -> u32 {
    1
}

/// What a connection carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Http {
    /// One request and one response.
    #[default]
    #[serde(rename = "1.0")]
    V1_0,
    /// 9 % of the connections are persistent: pages with objects, one request at a time.
    #[serde(rename = "1.1")]
    V1_1,
}

impl Http {
    fn is_default(&self) -> bool {
        *self == Http::default()
    }
}

impl PackMime {
    /// The lowest rate. The model was fitted to links of 1 to some hundreds of connections per second; below this the law
    /// of the gaps has no variance worth the name.
    pub const MIN_RATE: f64 = 0.01;
    /// The highest rate.
    pub const MAX_RATE: f64 = 1e6;
    /// Most pairs of clouds in a direction.
    pub const MAX_CLOUDS: u32 = 1_000;

    /// One way, one pair of clouds, HTTP/1.0.
    pub const fn new(rate: f64) -> PackMime {
        PackMime { rate, reverse_rate: None, clouds: 1, http: Http::V1_0 }
    }

    /// What no type can refuse.
    ///
    /// # Errors
    /// The key, and what is wrong with its value.
    pub fn check(&self) -> Result<(), Impossible> {
        const RATES: std::ops::RangeInclusive<f64> = PackMime::MIN_RATE..=PackMime::MAX_RATE;
        for (key, value) in [("rate", Some(self.rate)), ("reverse-rate", self.reverse_rate)] {
            if let Some(value) = value.filter(|value| !RATES.contains(value)) {
                let (least, most) = (RATES.start(), RATES.end());
                let problem = format!("of {value} must be from {least} to {most} connections per second");
                return Err(Impossible::new(key, problem));
            }
        }
        if !(1..=Self::MAX_CLOUDS).contains(&self.clouds) {
            return Err(Impossible::new(
                "clouds",
                format!("of {} must be from 1 to {}", self.clouds, Self::MAX_CLOUDS),
            ));
        }
        Ok(())
    }

    /// The connections that start before `duration`, by their start. Those of the left come before those of the right where
    /// they start at once, as the first of all clouds do, at time 0.
    pub fn vectors(&self, seed: u64, duration: Duration) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let forward = [(LinkSide::Left, self.rate)];
        let reverse = self.reverse_rate.map(|rate| (LinkSide::Right, rate));
        let directions = forward.into_iter().chain(reverse);
        let clouds = directions.flat_map(|(clients, rate)| (0..self.clouds).map(move |index| (clients, rate, index)));
        let clouds: Vec<Cloud> =
            clouds.map(|(clients, rate, index)| Cloud::new(seed, clients, index, rate, self.http)).collect();
        let next = clouds.iter().enumerate().map(|(cloud, it)| Reverse((it.next_start(), cloud))).collect();
        Connections { clouds, next, end: Time::ZERO + duration, id: 0 }
    }
}

/// The connections of all clouds in one order.
struct Connections {
    clouds: Vec<Cloud>,
    /// When each cloud's next connection starts.
    next: BinaryHeap<Reverse<(Time, usize)>>,
    end: Time,
    id: u64,
}

impl Iterator for Connections {
    type Item = ConnectionVector;

    fn next(&mut self) -> Option<ConnectionVector> {
        let mut earliest = self.next.peek_mut()?;
        let Reverse((start, cloud)) = *earliest;
        if start >= self.end {
            return None;
        }
        let cloud = &mut self.clouds[cloud];
        let vector = ConnectionVector { id: self.id, ..cloud.connection() };
        earliest.0.0 = cloud.next_start();
        self.id += 1;
        Some(vector)
    }
}
