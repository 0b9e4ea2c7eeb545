//! Sources that send at a constant rate in busy times and nothing in silent ones, both Pareto. Many of them together are
//! self-similar, with the Hurst parameter (3 - alpha) / 2 of the heavier tail (Willinger, Taqqu, Sherman and Wilson 1997).

use flowloom_core::distribution::{Distribution, DistributionError, Law};
use flowloom_core::keys::Quantity;
use flowloom_core::rng::{Purpose, Source, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ends::{Ends, Impossible, MOST_ADUS, MOST_PAYLOAD, MOST_SOURCES, Merged, Sent, Talk, flow, gap, sources};

/// What a source sends over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Datagrams, at equal gaps while it is busy.
    #[default]
    Udp,
    /// A connection, to which it writes what a busy time would send, all at once.
    Tcp,
}

/// How a source begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Beginning {
    /// As if it had always been there: busy or silent as often as in the long run, with what is left of that time. Needs both means.
    #[default]
    Equilibrium,
    /// With a silent time.
    Silent,
}

/// A Pareto law of times: P(X > x) = (min / x)^shape (methods E.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Heavy {
    /// Shortest.
    #[schemars(extend("least" = "1us"))]
    pub min: Quantity<Duration>,
    /// Tail index. Up to 1 there is no mean, up to 2 no variance.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub shape: f64,
}

impl Heavy {
    fn law(&self) -> Result<Distribution, DistributionError> {
        Distribution::new(Law::Pareto { min: self.min.value.as_secs_f64(), shape: self.shape })
    }

    /// In seconds; infinite up to a shape of 1.
    fn mean(&self) -> f64 {
        if self.shape <= 1.0 {
            return f64::INFINITY;
        }
        self.shape * self.min.value.as_secs_f64() / (self.shape - 1.0)
    }

    /// What is left of such a time at an instant that falls into one, in seconds. Its density is the share of times that are longer,
    /// divided by the mean: constant up to the minimum, where the share 1 - 1 / shape lies.
    fn rest(&self, u: f64) -> f64 {
        let (min, shape) = (self.min.value.as_secs_f64(), self.shape);
        if u < 1.0 - 1.0 / shape {
            return u * self.mean();
        }
        min * libm::pow(shape * (1.0 - u), -1.0 / (shape - 1.0))
    }

    fn check(&self, key: &'static str, beginning: Beginning) -> Result<(), Impossible> {
        self.law().map_err(|error| Impossible::new(key, format!("is not possible: {error}")))?;
        if self.min.value < Duration::from_micros(1) {
            return Err(Impossible::new(key, "needs a min of a microsecond or more"));
        }
        if beginning == Beginning::Equilibrium && self.shape <= 1.0 {
            let problem = format!("has no mean with a shape of {}, so that there is no equilibrium", self.shape);
            return Err(Impossible::new(key, format!("{problem}; begin = \"silent\" needs none")));
        }
        Ok(())
    }
}

/// On-off sources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OnOff {
    /// Number of sources.
    #[schemars(range(min = 1, max = MOST_SOURCES))]
    pub sources: u32,
    /// Payload each second while one is busy.
    #[schemars(extend("not" = { "const": "unlimited" }))]
    pub rate: Quantity<Rate>,
    /// Payload of a datagram in bytes.
    #[serde(default = "payload")]
    #[schemars(range(min = 1, max = MOST_PAYLOAD))]
    pub payload_bytes: u32,
    /// Busy times.
    pub on: Heavy,
    /// Silent times.
    pub off: Heavy,
    /// State in which each source begins.
    #[serde(default)]
    pub begin: Beginning,
    /// Transport protocol.
    #[serde(default)]
    pub transport: Transport,
    /// Ends of the flows or connections.
    #[serde(default)]
    pub ends: Ends,
}

fn payload() -> u32 {
    1_000
}

/// Refuses a payload that no datagram has.
pub(super) fn check_payload(key: &'static str, payload: u32) -> Result<(), Impossible> {
    match payload {
        1..=MOST_PAYLOAD => Ok(()),
        _ => Err(Impossible::new(key, format!("of {payload} is not possible: 1 to {MOST_PAYLOAD} bytes"))),
    }
}

impl OnOff {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The parameter to blame.
    pub fn check(&self) -> Result<(), Impossible> {
        sources("sources", self.sources)?;
        check_payload("payload-bytes", self.payload_bytes)?;
        if self.rate.value.bits_per_second().is_none() {
            return Err(Impossible::new("rate", "must have a limit"));
        }
        self.on.check("on", self.begin)?;
        self.off.check("off", self.begin)?;
        self.ends.check()
    }

    /// The Hurst parameter of many of them together.
    pub fn hurst(&self) -> f64 {
        (3.0 - self.on.shape.min(self.off.shape).clamp(1.0, 2.0)) / 2.0
    }

    /// Payload of all each second in the long run, in bit/s; none if that is not defined.
    pub fn mean_rate(&self) -> Option<f64> {
        let (on, off) = (self.on.mean(), self.off.mean());
        let rate = self.rate.value.bits_per_second()? as f64;
        (on + off).is_finite().then(|| f64::from(self.sources) * rate * on / (on + off))
    }

    /// What its sources send in `duration`.
    pub fn vectors(&self, seed: u64, duration: Duration) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let model = self.clone();
        Merged::new((0..u64::from(self.sources)).map(move |number| {
            let busy = BusyTimes::new(&model, seed, number, duration);
            let found: Box<dyn Iterator<Item = ConnectionVector> + Send> = match model.transport {
                Transport::Udp => {
                    let (payload, gap) = (model.payload_bytes, gap(model.payload_bytes, model.rate.value));
                    let sent = busy.map(move |(at, length)| {
                        let packets =
                            (length.as_secs_f64() / gap.as_secs_f64()).round().clamp(1.0, f64::from(u32::MAX));
                        let packets = packets as u32;
                        Sent {
                            at,
                            length: gap * u64::from(packets - 1),
                            packets,
                            bytes: u64::from(packets) * u64::from(payload),
                        }
                    });
                    Box::new(flow(model.ends.clone(), None, Source(number, 0), sent))
                }
                Transport::Tcp => Box::new(model.connections(number, busy)),
            };
            found
        }))
    }

    /// One connection, or where that would have too many ADUs one after the other.
    fn connections(&self, number: u64, busy: BusyTimes) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let (ends, rate) = (self.ends.clone(), self.rate.value.bits_per_second().unwrap_or_default() as f64);
        let mut busy = busy.peekable();
        (0..).map_while(move |part| {
            let mut talk = Talk::new(&ends, busy.peek()?.0, None, Source(number, part));
            while let Some((at, length)) = busy.next() {
                talk.send(Side::Initiator, rate * length.as_secs_f64() / 8.0);
                if talk.len() == MOST_ADUS {
                    break;
                }
                if let Some((next, _)) = busy.peek() {
                    talk.wait(next.since(at + length));
                }
            }
            talk.close(Side::Initiator)
        })
    }
}

/// Busy times of one source: when, and how long.
struct BusyTimes {
    on: Heavy,
    off: Heavy,
    busy: Stream,
    silent: Stream,
    /// When the next begins.
    now: Time,
    /// How long it is, if that is known already.
    first: Option<Duration>,
    end: Time,
}

impl BusyTimes {
    fn new(model: &OnOff, seed: u64, number: u64, duration: Duration) -> BusyTimes {
        let stream = |purpose| Source(number, 0).stream(seed, purpose);
        let (on, off) = (model.on.clone(), model.off.clone());
        let (mut busy, mut silent, mut phase) =
            (stream(Purpose::Durations), stream(Purpose::Gaps), stream(Purpose::Phases));
        let (mut first, mut now) = (None, Time::ZERO);
        let is_busy = phase.uniform() < on.mean() / (on.mean() + off.mean());
        match model.begin {
            Beginning::Silent => now += draw(&off, &mut silent),
            Beginning::Equilibrium if is_busy => first = Some(Duration::from_secs_f64(on.rest(busy.uniform()))),
            Beginning::Equilibrium => now += Duration::from_secs_f64(off.rest(silent.uniform())),
        }
        BusyTimes { on, off, busy, silent, now, first, end: Time::ZERO + duration }
    }
}

/// A time of this law, at least a nanosecond.
fn draw(heavy: &Heavy, stream: &mut Stream) -> Duration {
    let seconds = heavy.law().map_or(0.0, |law| law.quantile(stream.uniform()));
    Duration::from_secs_f64(seconds).max(Duration::from_nanos(1))
}

impl Iterator for BusyTimes {
    type Item = (Time, Duration);

    fn next(&mut self) -> Option<(Time, Duration)> {
        let at = self.now;
        if at >= self.end {
            return None;
        }
        let length = self.first.take().unwrap_or_else(|| draw(&self.on, &mut self.busy));
        self.now = at + length + draw(&self.off, &mut self.silent);
        Some((at, length.min(self.end.since(at))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(shape: f64) -> OnOff {
        let heavy = || Heavy { min: Quantity::of("100ms"), shape };
        OnOff {
            sources: 1,
            rate: Quantity::of("80kbit"),
            payload_bytes: 100,
            on: heavy(),
            off: heavy(),
            begin: Beginning::default(),
            transport: Transport::default(),
            ends: Ends::default(),
        }
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    /// Maximum likelihood with the minimum known (methods E.1), over 60,000 busy times.
    #[test]
    fn tails_have_their_index() {
        for shape in [1.2, 1.5, 1.9] {
            let model = OnOff { transport: Transport::Tcp, begin: Beginning::Silent, ..model(shape) };
            let vector = model.vectors(3, seconds(40_000)).next().unwrap();
            // 80 kbit/s for 100 ms are 1,000 bytes; the last time is cut by the end.
            let sizes: Vec<f64> = vector.adus.iter().rev().skip(1).map(|adu| adu.bytes as f64).collect();
            let found = sizes.len() as f64 / sizes.iter().map(|size| (size / 1_000.0).ln()).sum::<f64>();
            assert!(sizes.len() > 20_000 && (found - shape).abs() < 0.05, "{shape}: {found} of {}", sizes.len());
        }
    }

    /// Half of the rate, as both laws are the same; from the first second on, because sources begin in equilibrium.
    #[test]
    fn the_load_is_the_long_run_s_from_the_beginning() {
        let model = OnOff { sources: 20_000, ..model(1.5) };
        assert!((model.mean_rate().unwrap() - 20_000.0 * 40_000.0).abs() < 1.0);
        let vectors: Vec<_> = model.vectors(1, seconds(4)).collect();
        assert!(vectors.windows(2).all(|pair| pair[0].start <= pair[1].start));
        assert!(vectors.iter().zip(0..).all(|(vector, id)| vector.id == id));
        for second in 0..4 {
            let (from, to) = (Time::ZERO + seconds(second), Time::ZERO + seconds(second + 1));
            let mut bytes = 0.0;
            for (vector, adu) in vectors.iter().flat_map(|vector| vector.adus.iter().map(move |adu| (vector, adu))) {
                let span = adu.seen.unwrap();
                let packets = u64::from(adu.packets.unwrap());
                let gap = Duration::from_millis(10);
                let of = |at: &u64| vector.start + span.first + gap * *at;
                bytes += 100.0 * (0..packets).filter(|at| (from..to).contains(&of(at))).count() as f64;
            }
            // 20,000 sources half of which are on: a standard deviation of less than 1 %.
            let load = 8.0 * bytes / model.mean_rate().unwrap();
            assert!((load - 1.0).abs() < 0.04, "second {second}: {load}");
        }
    }

    /// The variance of means of m bins falls as m^(2H - 2); its slope over two decades, of 100 sources for 100,000 busy times each.
    #[test]
    fn many_sources_are_self_similar() {
        for shape in [1.2, 1.4, 1.6] {
            let mut model = OnOff { sources: 40, ..model(shape) };
            model.on.min = Quantity::of("10ms");
            model.off.min = Quantity::of("10ms");
            let bins = 1 << 16;
            let mut busy = vec![0.0_f64; bins];
            for number in 0..u64::from(model.sources) {
                for (at, length) in BusyTimes::new(&model, 11, number, Duration::from_millis(100) * bins as u64) {
                    let (mut from, to) = (at.as_secs_f64() * 10.0, (at + length).as_secs_f64() * 10.0);
                    while from < to {
                        let until = to.min(from.floor() + 1.0);
                        if let Some(bin) = busy.get_mut(from as usize) {
                            *bin += until - from;
                        }
                        from = until;
                    }
                }
            }
            let variance = |m: usize| {
                let means: Vec<f64> = busy.chunks_exact(m).map(|bins| bins.iter().sum::<f64>() / m as f64).collect();
                let mean = means.iter().sum::<f64>() / means.len() as f64;
                means.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (means.len() - 1) as f64
            };
            let slope = (variance(512) / variance(8)).ln() / 64.0_f64.ln();
            let hurst = 1.0 + slope / 2.0;
            assert!((hurst - model.hurst()).abs() < 0.08, "shape {shape}: {hurst}, not {}", model.hurst());
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let problem = |model: OnOff| model.check().unwrap_err().to_string();
        assert_eq!(problem(OnOff { sources: 0, ..model(1.5) }), "sources of 0 sends nothing");
        assert_eq!(
            problem(OnOff { payload_bytes: 1_473, ..model(1.5) }),
            "payload-bytes of 1473 is not possible: 1 to 1472 bytes"
        );
        assert_eq!(problem(OnOff { rate: Quantity::of("unlimited"), ..model(1.5) }), "rate must have a limit");
        assert!(problem(model(0.9)).contains("has no mean with a shape of 0.9"), "{}", problem(model(0.9)));
        assert!(problem(model(0.0)).starts_with("on is not possible: shape of 0"), "{}", problem(model(0.0)));
        OnOff { begin: Beginning::Silent, ..model(0.9) }.check().unwrap();
        model(1.5).check().unwrap();
    }
}
