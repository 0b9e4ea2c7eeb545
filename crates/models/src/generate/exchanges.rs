//! Exchanges: connections of one request and one response that start in a Poisson process. The simplest model whose every part
//! can be checked by hand.

use flowloom_core::distribution::Distribution;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, Evidence, LinkSide, Pattern, PerSide, Protocol, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generate::ends::Impossible;
use crate::window::MOST_WINDOW;

/// `kind = "exchanges"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Exchanges {
    /// Connections that start in a second, in the mean.
    #[schemars(range(max = 1000000000), extend("exclusiveMinimum" = 0))]
    pub connections_per_second: f64,
    /// Bytes that the initiator sends; at least one.
    #[schemars(extend("minimum" = 1))]
    pub request_bytes: Distribution,
    /// Bytes that the acceptor answers with; at least one.
    #[schemars(extend("minimum" = 1))]
    pub response_bytes: Distribution,
    /// How long the acceptor takes from the last byte of the request to the first of the response, in milliseconds.
    #[serde(default = "nothing")]
    pub think_ms: Distribution,
    /// Round-trip time of the path, in milliseconds; at most one hour in the mean.
    #[schemars(extend("minimum" = 0, "maximum" = 3_600_000))]
    pub rtt_ms: Distribution,
    /// The largest window that either end advertises, in bytes; default: what a header can say without scaling.
    #[serde(default = "unscaled")]
    #[schemars(range(min = 1, max = MOST_WINDOW))]
    pub window_bytes: u64,
    /// Share of the connections whose initiator is on the left of the link; default: all.
    #[serde(default = "all")]
    #[schemars(range(min = 0, max = 1))]
    pub from_left: f64,
    /// The acceptor's port, which names the application; default: none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

fn nothing() -> Distribution {
    Distribution::constant(0.0).unwrap_or_else(|error| unreachable!("zero: {error}"))
}

const fn unscaled() -> u64 {
    65_535
}

const fn all() -> f64 {
    1.0
}

/// One ADU is never larger: what lies beyond is drawn as this.
const MOST_BYTES: f64 = (1u64 << 48) as f64;

/// The longest round trip of a path that a run takes, in milliseconds.
const MOST_RTT_MS: f64 = 3_600_000.0;

impl Exchanges {
    /// What no type can refuse.
    ///
    /// # Errors
    /// The key, and what is wrong with its value.
    pub fn check(&self) -> Result<(), Impossible> {
        let rate = self.connections_per_second;
        if !(rate > 0.0 && rate <= 1e9) {
            return Err(Impossible::new(
                "connections-per-second",
                format!("of {rate} must be above 0 and at most 1e9"),
            ));
        }
        if !(1..=MOST_WINDOW).contains(&self.window_bytes) {
            return Err(Impossible::new(
                "window-bytes",
                format!("of {} must be from 1 to {MOST_WINDOW}", self.window_bytes),
            ));
        }
        for (key, law) in [("request-bytes", &self.request_bytes), ("response-bytes", &self.response_bytes)] {
            if let Some(mean) = law.mean().filter(|mean| *mean < 1.0) {
                return Err(Impossible::new(
                    key,
                    format!("of {mean} in the mean must be 1 or more: a message has a byte"),
                ));
            }
        }
        if let Some(mean) = self.rtt_ms.mean().filter(|mean| *mean > MOST_RTT_MS) {
            return Err(Impossible::new(
                "rtt-ms",
                format!("of {mean} in the mean must be at most {MOST_RTT_MS}: one hour"),
            ));
        }
        if !(0.0..=1.0).contains(&self.from_left) {
            return Err(Impossible::new("from-left", format!("of {} must be from 0 to 1", self.from_left)));
        }
        Ok(())
    }

    /// The connections that start in the first `duration`.
    pub fn vectors(&self, seed: u64, duration: Duration) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let (model, mean) = (self.clone(), 1.0 / self.connections_per_second);
        let mut arrivals = Stream::new(seed, Purpose::Arrivals, 0);
        // Seconds are added up, not rounded nanoseconds: the rate is right in the long run.
        let mut at = 0.0;
        let starts = std::iter::from_fn(move || {
            at += arrivals.exponential(mean);
            Some(Duration::from_secs_f64(at)).filter(|start| *start < duration)
        });
        (0..).zip(starts).map(move |(id, start)| model.vector(seed, id, Time::ZERO + start))
    }

    fn vector(&self, seed: u64, id: u64, start: Time) -> ConnectionVector {
        let uniform = |purpose| Stream::new(seed, purpose, id).uniform();
        let bytes = |law: &Distribution, purpose| law.quantile(uniform(purpose)).round().clamp(1.0, MOST_BYTES) as u64;
        let time = |law: &Distribution, purpose| Duration::from_secs_f64(law.quantile(uniform(purpose)) / 1e3);
        let adu = |side: Side, bytes, wait| Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait,
            waiter: side.other(),
            seen: None,
            packets: None,
        };
        let think = time(&self.think_ms, Purpose::ThinkTimes);
        let mut ends: PerSide<flowloom_core::workload::Endpoint> = PerSide::default();
        for side in Side::BOTH {
            (ends[side].syn_seen, ends[side].max_window) = (true, Some(self.window_bytes));
        }
        ends.acceptor.port = self.port;
        let response = adu(Side::Acceptor, bytes(&self.response_bytes, Purpose::ResponseSizes), None);
        ConnectionVector {
            id,
            protocol: Protocol::Tcp,
            evidence: Evidence::Model,
            start,
            initiator_side: match uniform(Purpose::InitiatorSides) < self.from_left {
                true => LinkSide::Left,
                false => LinkSide::Right,
            },
            pattern: Pattern::Sequential,
            complete: true,
            stated_rtt: Some(time(&self.rtt_ms, Purpose::RoundTrips)),
            ends,
            close: Close::Fin(Side::Acceptor),
            adus: vec![
                adu(Side::Initiator, bytes(&self.request_bytes, Purpose::RequestSizes), Some(think)),
                // Nobody waits after it but who sent it.
                Adu { waiter: Side::Acceptor, ..response },
            ],
            ..ConnectionVector::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::distribution::Law;

    fn of(law: Law) -> Distribution {
        Distribution::new(law).unwrap()
    }

    fn model() -> Exchanges {
        Exchanges {
            connections_per_second: 50.0,
            request_bytes: of(Law::Constant(300.0)),
            response_bytes: of(Law::Pareto { min: 1_000.0, shape: 1.5 }),
            think_ms: of(Law::Exponential { mean: 20.0 }),
            rtt_ms: of(Law::Uniform { min: 10.0, max: 30.0 }),
            window_bytes: 65_535,
            from_left: 0.25,
            port: Some(80),
        }
    }

    fn vectors(model: &Exchanges) -> Vec<ConnectionVector> {
        model.vectors(7, Duration::from_secs(400)).collect()
    }

    /// 20,000 connections: standard errors of 0.7 % of the rate, 0.7 % of the median size's rank, 0.3 points of a share.
    #[test]
    fn what_is_drawn_is_what_was_asked_for() {
        let vectors = vectors(&model());
        let count = vectors.len() as f64;
        assert!((count / 20_000.0 - 1.0).abs() < 0.03, "{count}");
        assert!(vectors.iter().zip(0..).all(|(vector, id)| vector.id == id));
        assert!(vectors.is_sorted_by_key(|vector| vector.start));
        assert!(vectors.last().unwrap().start < Time::ZERO + Duration::from_secs(400));
        let share =
            |is: fn(&ConnectionVector) -> bool| vectors.iter().filter(|vector| is(vector)).count() as f64 / count;
        let left = share(|vector| vector.initiator_side == LinkSide::Left);
        assert!((left - 0.25).abs() < 0.015, "{left}");
        // The Pareto's median: 1,000 * 2^(1/1.5) = 1,587.
        let median = share(|vector| vector.bytes(Side::Acceptor) <= 1_587);
        assert!((median - 0.5).abs() < 0.02, "{median}");
        let rtt = share(|vector| vector.min_rtt().unwrap() <= Duration::from_millis(20));
        assert!((rtt - 0.5).abs() < 0.02, "{rtt}");
        let think = vectors.iter().map(|vector| vector.adus[0].wait.unwrap().as_secs_f64()).sum::<f64>() / count;
        assert!((think / 0.02 - 1.0).abs() < 0.04, "{think}");
        assert!(
            vectors
                .iter()
                .all(|vector| vector.bytes(Side::Initiator) == 300 && vector.window(Side::Acceptor) == Some(65_535))
        );
    }

    #[test]
    fn one_variable_shifts_no_other() {
        let one = vectors(&model());
        let other = vectors(&Exchanges { think_ms: nothing(), from_left: 1.0, ..model() });
        let what = |vector: &ConnectionVector| (vector.start, vector.bytes(Side::Acceptor), vector.min_rtt());
        assert!(one.iter().map(what).eq(other.iter().map(what)));
        assert_ne!(one, vectors(&model()).into_iter().skip(1).collect::<Vec<_>>());
    }

    #[test]
    fn impossible_parameters_are_named() {
        for (model, wanted) in [
            (Exchanges { connections_per_second: 0.0, ..model() }, "connections-per-second of 0 "),
            (Exchanges { connections_per_second: f64::NAN, ..model() }, "connections-per-second of NaN "),
            (Exchanges { window_bytes: 0, ..model() }, "window-bytes "),
            (Exchanges { from_left: 1.5, ..model() }, "from-left of 1.5 "),
            (Exchanges { request_bytes: of(Law::Constant(0.3)), ..model() }, "request-bytes of 0.3 "),
            (Exchanges { rtt_ms: of(Law::Constant(3_600_001.0)), ..model() }, "rtt-ms of 3600001 "),
            (Exchanges { response_bytes: of(Law::Constant(0.0)), ..model() }, "response-bytes of 0 "),
        ] {
            assert!(model.check().unwrap_err().to_string().starts_with(wanted), "{wanted}");
        }
        assert_eq!(model().check(), Ok(()));
    }
}
