//! Frames of video: MPEG by scenes (Krunz and Hughes 1995), and conferences (Heyman and Lakshman 1996).

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::rng::{Purpose, Source, Stream};
use flowloom_core::time::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::ends::{Impossible, above_zero};
use super::super::gaussian::{Autoregressive, below, gauss};
use super::Blocks;

/// MPEG video: the mean size of I frames changes with the scene, and I frames wander about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mpeg {
    /// Frames each second.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub frame_rate: f64,
    /// The pattern of frames that repeats, from an I on: `IBBPBBPBB`.
    #[schemars(regex(pattern = "^I[IPB]*$"))]
    pub gop: String,
    /// I frames of a scene in the mean; their number is geometric, one at least.
    #[schemars(range(min = 1))]
    pub scene_length_mean: f64,
    /// Bytes of a scene's I frames: mean of the log-normal distribution of scenes.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scene_mean: f64,
    /// Its standard deviation.
    #[schemars(range(min = 0))]
    pub scene_sd: f64,
    /// Weights of the last two deviations of I frames from their scene: an autoregressive process of second order.
    pub i_weights: [f64; 2],
    /// Standard deviation of its noise, in bytes.
    #[schemars(range(min = 0))]
    pub i_sd: f64,
    /// Bytes of P frames: mean of their log-normal distribution.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub p_mean: f64,
    /// Its standard deviation.
    #[schemars(range(min = 0))]
    pub p_sd: f64,
    /// Bytes of B frames: mean of their log-normal distribution.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub b_mean: f64,
    /// Its standard deviation.
    #[schemars(range(min = 0))]
    pub b_sd: f64,
}

/// The log-normal law with this mean and standard deviation.
fn lognormal(mean: f64, sd: f64) -> Option<Distribution> {
    let spread = libm::log1p((sd / mean) * (sd / mean));
    Distribution::new(Law::LognormalMuSigma { mu: libm::log(mean) - spread / 2.0, sigma: libm::sqrt(spread) }).ok()
}

/// When frame number `frame` is due.
fn frame_time(frame: u64, rate: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(frame as f64 / rate)
}

impl Mpeg {
    /// Refuses what cannot be.
    pub(super) fn check(&self) -> Result<(), Impossible> {
        for (key, value) in [
            ("frame-rate", self.frame_rate),
            ("scene-mean", self.scene_mean),
            ("p-mean", self.p_mean),
            ("b-mean", self.b_mean),
        ] {
            above_zero(key, value)?;
        }
        for (key, value) in [("scene-sd", self.scene_sd), ("i-sd", self.i_sd), ("p-sd", self.p_sd), ("b-sd", self.b_sd)]
        {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Impossible::new(key, format!("of {value} is not possible: a number that is not negative")));
            }
        }
        if !(self.scene_length_mean >= 1.0 && self.scene_length_mean.is_finite()) {
            return Err(Impossible::new("scene-length-mean", "must be one I frame or more"));
        }
        if !self.gop.starts_with('I') || !self.gop.bytes().all(|frame| b"IPB".contains(&frame)) {
            let problem = format!("of {:?} is no pattern of frames: I, P and B, from an I on", self.gop);
            return Err(Impossible::new("gop", problem));
        }
        if !Autoregressive::is_stationary(self.i_weights) {
            return Err(Impossible::new("i-weights", "make a process that grows without bounds"));
        }
        Ok(())
    }

    /// Its frames until `end`.
    pub(super) fn frames(&self, seed: u64, source: Source, end: Time) -> Blocks {
        let stream = |purpose| source.stream(seed, purpose);
        let (mut lengths, mut scenes, mut noise) =
            (stream(Purpose::Items), stream(Purpose::Scenes), stream(Purpose::Frames));
        let mut others = stream(Purpose::ItemBytes);
        let scene_length = Distribution::new(Law::Geometric { min: 1.0, mean: self.scene_length_mean }).ok();
        let [scene, p, b] = [(self.scene_mean, self.scene_sd), (self.p_mean, self.p_sd), (self.b_mean, self.b_sd)]
            .map(|(mean, sd)| lognormal(mean, sd));
        let draw = |law: &Option<Distribution>, stream: &mut Stream| {
            law.as_ref().map_or(1.0, |law| law.quantile(stream.uniform()))
        };
        let (pattern, rate) = (self.gop.clone().into_bytes(), self.frame_rate);
        let mut deviation = Autoregressive::new(self.i_weights, self.i_sd);
        let (mut left, mut level) = (0.0, 0.0);
        let size = move |frame: u64| match pattern[(frame % pattern.len() as u64) as usize] {
            b'I' => {
                if left < 1.0 {
                    (left, level) = (draw(&scene_length, &mut lengths), draw(&scene, &mut scenes));
                }
                left -= 1.0;
                level + deviation.next(&mut noise)
            }
            b'P' => draw(&p, &mut others),
            _ => draw(&b, &mut others),
        };
        frames(size, rate, end)
    }
}

/// Frames every 1 / `rate` seconds, of one byte at least.
fn frames(mut size: impl FnMut(u64) -> f64 + Send + 'static, rate: f64, end: Time) -> Blocks {
    Box::new((0..).map_while(move |frame| {
        let at = frame_time(frame, rate);
        (at < end).then(|| (at, size(frame).max(1.0)))
    }))
}

/// How frames of a conference remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// DAR(1): a frame is as the one before with a probability of the correlation, and drawn anew otherwise.
    Dar,
    /// AR(1): a Gaussian process with the correlation, of which each value is turned into the gamma value of the same rank. The
    /// correlation of frames is a little less.
    Ar,
}

/// A video conference: frames of a gamma law, each like the one before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Conference {
    /// Frames each second.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub frame_rate: f64,
    /// Shape of the gamma distribution.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub shape: f64,
    /// Its scale, in bytes.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: f64,
    /// Correlation of a frame with the one before.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub correlation: f64,
    /// How they remember.
    pub memory: Memory,
}

impl Conference {
    /// Refuses what cannot be.
    pub(super) fn check(&self) -> Result<(), Impossible> {
        above_zero("frame-rate", self.frame_rate)?;
        self.law().map_err(|error| Impossible::new("shape", format!("and scale are not possible: {error}")))?;
        if !(0.0..1.0).contains(&self.correlation) {
            return Err(Impossible::new("correlation", format!("of {} must be from 0 to below 1", self.correlation)));
        }
        Ok(())
    }

    fn law(&self) -> Result<Distribution, flowloom_core::distribution::DistributionError> {
        Distribution::new(Law::Gamma { shape: self.shape, scale: self.scale })
    }

    /// Its frames until `end`.
    pub(super) fn frames(&self, seed: u64, source: Source, end: Time) -> Blocks {
        let stream = |purpose| source.stream(seed, purpose);
        let (mut choices, mut values) = (stream(Purpose::Choices), stream(Purpose::Frames));
        let (law, correlation, memory) = (self.law().ok(), self.correlation, self.memory);
        let gamma = move |u: f64| law.as_ref().map_or(1.0, |law| law.quantile(u));
        let mut before = None;
        let size = move |_| match memory {
            Memory::Dar => {
                let repeats = choices.uniform() < correlation;
                let size = before.filter(|_| repeats).unwrap_or_else(|| gamma(values.uniform()));
                before = Some(size);
                size
            }
            Memory::Ar => {
                let noise = gauss(&mut values);
                // The first is of the stationary law.
                let value = before.map_or(noise, |before: f64| {
                    correlation * before + libm::sqrt(1.0 - correlation * correlation) * noise
                });
                before = Some(value);
                gamma(below(value).min(1.0_f64.next_down()))
            }
        };
        frames(size, self.frame_rate, end)
    }
}
