//! Flows of datagrams without a pattern: at a constant rate, or Poisson.

use flowloom_core::keys::Quantity;
use flowloom_core::rng::{Purpose, Source};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::ConnectionVector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ends::{Ends, Impossible, MOST_PAYLOAD, MOST_SOURCES, Merged, Sent, flow, gap, sources};
use super::on_off::check_payload;

/// Flows that send a datagram again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Steady {
    /// Number of flows.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MOST_SOURCES))]
    pub flows: u32,
    /// Payload of each flow each second.
    #[schemars(extend("not" = { "const": "unlimited" }))]
    pub rate: Quantity<Rate>,
    /// Payload of a datagram in bytes.
    #[serde(default = "payload")]
    #[schemars(range(min = 1, max = MOST_PAYLOAD))]
    pub payload_bytes: u32,
    /// Ends of the flows.
    #[serde(default)]
    pub ends: Ends,
}

fn one() -> u32 {
    1
}

fn payload() -> u32 {
    1_000
}

impl Steady {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The parameter to blame.
    pub fn check(&self) -> Result<(), Impossible> {
        sources("flows", self.flows)?;
        check_payload("payload-bytes", self.payload_bytes)?;
        if self.rate.value.bits_per_second().is_none() {
            return Err(Impossible::new("rate", "must have a limit"));
        }
        self.ends.check()
    }

    /// Flows at a constant rate in `duration`. Each begins within a gap, so that they do not send at once.
    pub fn constant(&self, seed: u64, duration: Duration) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let (model, gap) = (self.clone(), gap(self.payload_bytes, self.rate.value));
        Merged::new((0..u64::from(self.flows)).map(move |number| {
            let phase = Source(number, 0).stream(seed, Purpose::Phases).below(gap.as_nanos());
            let at = Time::from_nanos(phase);
            let left = (Time::ZERO + duration).since(at);
            let bytes = u64::from(model.payload_bytes);
            let mut left = if left.is_zero() { 0 } else { (left.as_nanos() - 1) / gap.as_nanos() + 1 };
            let mut at = at;
            let sent = std::iter::from_fn(move || {
                let packets = left.min(u64::from(u32::MAX)) as u32;
                let begins = at;
                left -= u64::from(packets);
                at += gap * u64::from(packets);
                let gaps = u64::from(packets.checked_sub(1)?);
                Some(Sent { at: begins, length: gap * gaps, packets, bytes: u64::from(packets) * bytes })
            });
            flow(model.ends.clone(), None, Source(number, 0), sent)
        }))
    }

    /// Flows with exponential gaps in `duration`.
    pub fn poisson(&self, seed: u64, duration: Duration) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let (model, mean) = (self.clone(), gap(self.payload_bytes, self.rate.value).as_secs_f64());
        Merged::new((0..u64::from(self.flows)).map(move |number| {
            let (mut gaps, mut now) = (Source(number, 0).stream(seed, Purpose::Gaps), Time::ZERO);
            let bytes = u64::from(model.payload_bytes);
            let sent = std::iter::from_fn(move || {
                now += Duration::from_secs_f64(gaps.exponential(mean));
                (now < Time::ZERO + duration).then_some(Sent { at: now, length: Duration::ZERO, packets: 1, bytes })
            });
            flow(model.ends.clone(), None, Source(number, 0), sent)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Steady {
        Steady { flows: 3, rate: Quantity::of("64kbit"), payload_bytes: 160, ends: Ends::default() }
    }

    #[test]
    fn a_constant_rate_is_one_run_per_flow() {
        let vectors: Vec<_> = model().constant(1, Duration::from_secs(10)).collect();
        assert_eq!(vectors.len(), 3);
        for vector in &vectors {
            let adu = vector.adus[0];
            assert_eq!((vector.adus.len(), adu.packets, adu.bytes), (1, Some(500), 80_000));
            assert_eq!(adu.seen.unwrap().length(), Duration::from_millis(20 * 499));
            assert!(vector.start < Time::ZERO + Duration::from_millis(20));
        }
        assert!(vectors[0].start < vectors[1].start, "flows are not in step");
        assert_eq!(model().constant(1, Duration::ZERO).count(), 0);
    }

    /// Of 30,000 gaps the mean, and the deviation, which is as large.
    #[test]
    fn poisson_gaps_are_exponential() {
        let model = Steady { flows: 1, ..model() };
        let starts: Vec<f64> = model
            .poisson(2, Duration::from_secs(600))
            .flat_map(|vector| {
                let start = vector.start.as_secs_f64();
                vector.adus.into_iter().map(move |adu| start + adu.seen.unwrap().first.as_secs_f64())
            })
            .collect();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let sd = (gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / n).sqrt();
        assert!((mean / 0.02 - 1.0).abs() < 0.03 && (sd / mean - 1.0).abs() < 0.03, "{mean}, {sd}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let problem = |model: Steady| model.check().unwrap_err().to_string();
        assert_eq!(problem(Steady { flows: 100_001, ..model() }), "flows of 100001 is too many (at most 100000)");
        assert_eq!(
            problem(Steady { payload_bytes: 0, ..model() }),
            "payload-bytes of 0 is not possible: 1 to 1472 bytes"
        );
        model().check().unwrap();
    }
}
