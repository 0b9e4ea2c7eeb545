//! The application profiles of D-ITG 2.8.1 (Botta, Dainotti and Pescape): one-way flows of datagrams whose gaps and sizes an
//! application's have. Nobody answers, and nobody waits.

use flowloom_core::rng::{Purpose, Source, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::ConnectionVector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ends::{Ends, Impossible, MOST_PAYLOAD, MOST_SOURCES, Merged, Sent, flow, sources};
use super::gaussian::gauss;
use crate::special::student_quantile;

/// What a flow is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Gaps of 1.1 ms times a Pareto law with a tail index of 0.95, which has no mean; 21 to 35 bytes.
    Telnet,
    /// 0.56 queries each second, of 100 to 320 bytes.
    Dns,
    /// Quake III: gaps of 10.75 ms or exponential ones, about 64 bytes.
    Quake3,
    /// Counter-Strike, a player who is active.
    CsActive,
    /// Counter-Strike, a player who is not.
    CsIdle,
    /// Speech in a codec's frames.
    Voip,
}

/// A codec of [`Profile::Voip`]: number of its frames in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Codec {
    /// G.711, one frame of 80 bytes, 100 packets/s.
    #[default]
    #[serde(rename = "g711-1")]
    G711One,
    /// G.711, two frames, 50 packets/s.
    #[serde(rename = "g711-2")]
    G711Two,
    /// G.729, two frames of 10 bytes, 50 packets/s.
    #[serde(rename = "g729-2")]
    G729Two,
    /// G.729, three frames, 33 packets/s.
    #[serde(rename = "g729-3")]
    G729Three,
    /// G.723.1, one frame of 30 bytes, 26 packets/s.
    #[serde(rename = "g723-1")]
    G723,
}

impl Codec {
    /// Bytes of a frame, frames of a packet, packets each second.
    const fn frames(self) -> (u32, u32, u32) {
        match self {
            Codec::G711One => (80, 1, 100),
            Codec::G711Two => (80, 2, 50),
            Codec::G729Two => (10, 2, 50),
            Codec::G729Three => (10, 3, 33),
            Codec::G723 => (30, 1, 26),
        }
    }
}

/// What speech is carried in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Header {
    /// 12 bytes.
    #[default]
    Rtp,
    /// Compressed: 2 bytes.
    Crtp,
}

/// Flows of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ditg {
    /// Application.
    pub profile: Profile,
    /// Number of flows.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MOST_SOURCES))]
    pub flows: u32,
    /// Of speech: the codec. D-ITG's default is G.711 with one frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<Codec>,
    /// Of speech: the header. D-ITG's default is RTP's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Header>,
    /// Of speech: whether silences are left out, which D-ITG takes as 65 % of the bytes. Its default is that they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice_activity: Option<bool>,
    /// Ends of the flows.
    #[serde(default)]
    pub ends: Ends,
}

fn one() -> u32 {
    1
}

/// D-ITG's destination port.
const PORT: u16 = 8_999;

/// Sizes of TELNET packets: shares of 21, 22, ... bytes, in thousandths.
const TELNET: [u32; 15] = [650, 130, 70, 50, 30, 10, 10, 10, 10, 5, 5, 5, 5, 5, 5];
/// Sizes of an idle Counter-Strike player's packets: bytes, and their shares in ten-thousandths.
const CS_IDLE: [(u32, u32); 8] =
    [(27, 8_312), (28, 18), (29, 453), (30, 195), (31, 879), (32, 24), (33, 106), (35, 13)];

/// A Student law: location, scale and degrees of freedom. Below one degree it has no mean. In which order D-ITG takes the three is not
/// documented; this one is Matlab's t location-scale, which fits a game's 24 packets/s.
#[derive(Clone, Copy, Debug)]
struct Student(f64, f64, f64);

/// Milliseconds between an active and an idle player's packets.
const CS_ACTIVE_GAPS: Student = Student(41.6994, 0.104_821, 0.704_073);
const CS_IDLE_GAPS: Student = Student(41.6858, 0.069_439_3, 1.083_41);

impl Student {
    fn quantile(self, u: f64) -> f64 {
        let Student(location, scale, degrees) = self;
        location + scale * student_quantile(u, degrees)
    }
}

/// The streams of a flow, one for each thing it draws.
struct Draws {
    gaps: Stream,
    sizes: Stream,
    choices: Stream,
}

impl Ditg {
    /// One flow of a profile, with D-ITG's defaults.
    pub fn new(profile: Profile) -> Ditg {
        Ditg { profile, flows: 1, codec: None, header: None, voice_activity: None, ends: Ends::default() }
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The parameter to blame.
    pub fn check(&self) -> Result<(), Impossible> {
        sources("flows", self.flows)?;
        let speech = [
            ("codec", self.codec.is_some()),
            ("header", self.header.is_some()),
            ("voice-activity", self.voice_activity.is_some()),
        ];
        if self.profile != Profile::Voip
            && let Some((key, _)) = speech.into_iter().find(|(_, given)| *given)
        {
            return Err(Impossible::new(key, "is of profile = \"voip\""));
        }
        self.ends.check()
    }

    /// Whether the gaps have no mean, so that no rate can be expected of a flow.
    pub fn gaps_have_mean(&self) -> bool {
        !matches!(self.profile, Profile::Telnet | Profile::CsActive)
    }

    /// What its flows send in `duration`.
    pub fn vectors(&self, seed: u64, duration: Duration) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let model = self.clone();
        Merged::new((0..u64::from(self.flows)).map(move |number| {
            let source = Source(number, 0);
            let stream = |purpose| source.stream(seed, purpose);
            let mut draws = Draws {
                gaps: stream(Purpose::Gaps),
                sizes: stream(Purpose::ItemBytes),
                choices: stream(Purpose::Choices),
            };
            // Flows of constant gaps would all send at once.
            let mut phases = stream(Purpose::Phases);
            let first = model.gap(phases.uniform(), &mut draws) * phases.uniform();
            let (laws, mut next) = (model.clone(), Time::ZERO + millis(first));
            let sent = std::iter::from_fn(move || {
                let at = next;
                let u = draws.gaps.uniform();
                // What a normal or a Student law has below zero is sent at once.
                next = at + millis(laws.gap(u, &mut draws)).max(Duration::from_micros(1));
                let bytes = laws.size(&mut draws);
                (at < Time::ZERO + duration).then(|| Sent::block(at, bytes, MOST_PAYLOAD))
            });
            flow(model.ends.clone(), Some(PORT), source, sent)
        }))
    }

    /// Milliseconds to the next packet.
    fn gap(&self, u: f64, draws: &mut Draws) -> f64 {
        match self.profile {
            Profile::Telnet => 1.1 * libm::pow(1.0 - u, -1.0 / 0.95),
            Profile::Dns => 1_000.0 / 0.56,
            Profile::Quake3 if draws.choices.uniform() < 0.6 => -4.29 * libm::log1p(-u),
            Profile::Quake3 => 10.75,
            Profile::CsActive => CS_ACTIVE_GAPS.quantile(u),
            Profile::CsIdle => CS_IDLE_GAPS.quantile(u),
            Profile::Voip => 1_000.0 / f64::from(self.codec.unwrap_or_default().frames().2),
        }
    }

    /// Payload bytes of a packet.
    fn size(&self, draws: &mut Draws) -> f64 {
        let mut normal = |mean: f64, sd: f64| mean + sd * gauss(&mut draws.sizes);
        match self.profile {
            Profile::Telnet => {
                let sizes = (21..).zip(TELNET);
                listed(sizes, 1_000, &mut draws.sizes)
            }
            Profile::Dns => 100.0 + 220.0 * draws.sizes.uniform(),
            Profile::Quake3 => normal(64.151_757, 3.203_575_5),
            Profile::CsActive if draws.choices.uniform() < 0.3732 => normal(34.8352, 4.3915),
            Profile::CsActive => normal(49.4904, 3.6186),
            Profile::CsIdle => listed(CS_IDLE.into_iter(), 10_000, &mut draws.sizes),
            Profile::Voip => {
                let (frame, frames, _) = self.codec.unwrap_or_default().frames();
                let spoken = if self.voice_activity.unwrap_or_default() { 0.65 } else { 1.0 };
                let header = match self.header.unwrap_or_default() {
                    Header::Rtp => 12.0,
                    Header::Crtp => 2.0,
                };
                spoken * f64::from(frame * frames) + header
            }
        }
    }
}

/// A value with its share in `of`.
fn listed(mut values: impl Iterator<Item = (u32, u32)>, of: u64, stream: &mut Stream) -> f64 {
    let lot = stream.below(of) as u32;
    let mut sum = 0;
    let found = values.find(|(_, share)| {
        sum += share;
        lot < sum
    });
    found.map_or(0.0, |(value, _)| f64::from(value))
}

fn millis(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        assert_eq!(TELNET.iter().sum::<u32>(), 1_000);
        assert_eq!(CS_IDLE.iter().map(|(_, share)| share).sum::<u32>(), 10_000);
    }

    /// Gaps in milliseconds and sizes of one flow.
    fn packets(model: &Ditg, seconds: u64) -> (Vec<f64>, Vec<f64>) {
        let adus: Vec<(f64, f64)> = model
            .vectors(5, Duration::from_secs(seconds))
            .flat_map(|vector| {
                assert_eq!(vector.ends.acceptor.port, Some(8_999));
                let start = vector.start.as_secs_f64();
                vector.adus.into_iter().map(move |adu| {
                    assert_eq!(adu.packets, Some(1));
                    (start + adu.seen.unwrap().first.as_secs_f64(), adu.bytes as f64)
                })
            })
            .collect();
        (adus.windows(2).map(|pair| 1e3 * (pair[1].0 - pair[0].0)).collect(), adus.iter().map(|adu| adu.1).collect())
    }

    fn quantile(values: &[f64], u: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[(u * sorted.len() as f64) as usize]
    }

    #[test]
    fn speech_is_a_codec_s() {
        for (codec, header, voice_activity, bytes, gap) in [
            (Codec::G711One, Header::Rtp, false, 92.0, 10.0),
            (Codec::G711Two, Header::Crtp, false, 162.0, 20.0),
            (Codec::G729Two, Header::Rtp, true, 25.0, 20.0),
            (Codec::G729Three, Header::Rtp, false, 42.0, 1_000.0 / 33.0),
            (Codec::G723, Header::Rtp, false, 42.0, 1_000.0 / 26.0),
        ] {
            let (codec, header, voice_activity) = (Some(codec), Some(header), Some(voice_activity));
            let (gaps, sizes) = packets(&Ditg { codec, header, voice_activity, ..Ditg::new(Profile::Voip) }, 5);
            assert!(sizes.iter().all(|size| *size == bytes), "{codec:?}");
            assert!(gaps.iter().all(|found| (found - gap).abs() < 1e-3), "{codec:?}");
        }
    }

    #[test]
    fn packets_are_those_of_their_application() {
        let (gaps, sizes) = packets(&Ditg::new(Profile::Dns), 2_000);
        assert!(gaps.iter().all(|gap| (gap - 1_785.714).abs() < 0.01));
        assert!(sizes.iter().all(|size| (100.0..=320.0).contains(size)));
        assert!((quantile(&sizes, 0.5) - 210.0).abs() < 15.0);

        let (gaps, sizes) = packets(&Ditg::new(Profile::Quake3), 200);
        let share = gaps.iter().filter(|gap| (*gap - 10.75).abs() < 1e-3).count() as f64 / gaps.len() as f64;
        assert!((share - 0.4).abs() < 0.02, "{share}");
        assert!((sizes.iter().sum::<f64>() / sizes.len() as f64 - 64.15).abs() < 0.2);

        let (gaps, sizes) = packets(&Ditg::new(Profile::CsActive), 400);
        assert!((quantile(&gaps, 0.5) - 41.6994).abs() < 0.05, "{}", quantile(&gaps, 0.5));
        let small = sizes.iter().filter(|size| **size < 43.0).count() as f64 / sizes.len() as f64;
        assert!((small - 0.3732).abs() < 0.05, "{small}");

        let (gaps, sizes) = packets(&Ditg::new(Profile::CsIdle), 400);
        assert!((quantile(&gaps, 0.5) - 41.6858).abs() < 0.05);
        let smallest = sizes.iter().filter(|size| **size == 27.0).count() as f64 / sizes.len() as f64;
        assert!((smallest - 0.8312).abs() < 0.02, "{smallest}");

        let (gaps, sizes) = packets(&Ditg::new(Profile::Telnet), 2_000);
        assert!((quantile(&gaps, 0.5) - 1.1 * 2.0_f64.powf(1.0 / 0.95)).abs() < 0.05, "{}", quantile(&gaps, 0.5));
        let smallest = sizes.iter().filter(|size| **size == 21.0).count() as f64 / sizes.len() as f64;
        assert!((smallest - 0.65).abs() < 0.02, "{smallest}");
        assert!(!Ditg::new(Profile::Telnet).gaps_have_mean());
    }

    #[test]
    fn what_is_of_speech_is_of_no_other_profile() {
        let model = Ditg { codec: Some(Codec::G723), ..Ditg::new(Profile::Dns) };
        assert_eq!(model.check().unwrap_err().to_string(), "codec is of profile = \"voip\"");
        Ditg { codec: Some(Codec::G723), ..Ditg::new(Profile::Voip) }.check().unwrap();
    }
}
