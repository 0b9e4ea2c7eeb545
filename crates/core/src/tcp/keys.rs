//! `[tcp]`: a profile, and what differs from it.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::congestion::{Algorithm, CubicParameters, DctcpParameters, VegasParameters, WindowRules};
use super::{self as tcp, Profile, Sack};
use crate::keys::{KeyError, Optional, Quantity, Share, Size, Written, named};
use crate::path::keys::LinkEnd;
use crate::time::Duration;
use crate::units::ParseQuantityError;
use crate::workload::{ConnectionVector, LinkSide};

/// `[tcp]`, with every key that was left out filled in from the profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "TcpKeys", rename_all = "kebab-case")]
pub struct Tcp {
    /// Where the other keys have their defaults from.
    pub profile: Profile,
    /// Congestion control.
    pub congestion: Congestion,
    /// The weight g of a new window in DCTCP's estimate of the share of marked bytes (RFC 8257 section 4.2).
    pub dctcp_gain: Quantity<Gain>,
    /// Which rules govern the congestion window.
    pub window_rules: WindowRules,
    /// Selective acknowledgements.
    pub sack: Sack,
    /// How losses are told where SACK is agreed.
    pub recovery: Recovery,
    /// Proportional rate reduction (RFC 9937) where SACK is agreed.
    pub prr: bool,
    /// Reductions without cause are taken back (RFC 3522, 3708, 4015).
    pub undo: bool,
    /// F-RTO (RFC 5682).
    pub f_rto: bool,
    /// A new segment for each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Initial window in segments (RFC 6928: 10); 0 takes RFC 5681's 2 to 4.
    pub initial_window: u16,
    /// Whether acknowledgements count for what they acknowledge (RFC 3465), or for a segment at most.
    pub byte_counting: bool,
    /// Delayed acknowledgement timer, or "off".
    pub delayed_ack: Quantity<Optional<Duration>>,
    /// Segments acknowledged at once at the start (Linux: 16).
    pub quick_acks: u8,
    /// Whether acknowledgements over a hole wait for others (Linux).
    pub sack_compression: bool,
    /// Windows of more than 65,535 bytes grow from there, and what makes them grow is acknowledged at once (Linux).
    pub window_growth: bool,
    /// Receive buffer at the start, sized by what arrives (Linux), or "off" for one that limits nothing.
    pub receive_buffer: Quantity<Optional<Size>>,
    /// Payload per byte of receive buffer.
    pub payload_ratio: f64,
    /// Smallest retransmission timeout; with the profiles plain and linux also the smallest margin of it over the smoothed
    /// round-trip time.
    pub rto_min: Quantity<Duration>,
    /// Retransmission timeout before the first round-trip sample.
    pub rto_initial: Quantity<Duration>,
    /// Whether algorithms without a rate of their own are paced as Linux does it.
    pub pacing: bool,
    /// Whether segments leave in bursts of about a millisecond (Linux).
    pub bursts: bool,
    /// Connections of the workload that differ from this.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<TcpClass>,
}

/// `[[tcp.classes]]`: connections of the workload with keys of their own; the first class that matches is a connection's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TcpClass {
    /// What results call it.
    pub name: String,
    /// This share of the workload's connections, by lot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<Quantity<Share>>,
    /// Those whose initiator is on this side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    initiator: Option<LinkEnd>,
    /// Those to this port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    /// Those of this subset of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subset: Option<u64>,
    /// Those with these ids.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    connections: BTreeSet<u64>,
    /// What differs.
    pub tcp: TcpKeys,
}

impl TcpClass {
    /// Whether a connection with this lot, uniform in [0, 1), is of the class, to which `lots` belong.
    pub fn matches(&self, vector: &ConnectionVector, lots: &Range<f64>, lot: f64) -> bool {
        self.share.as_ref().is_none_or(|_| lots.contains(&lot))
            && self.initiator.is_none_or(|side| LinkSide::from(side) == vector.initiator_side)
            && self.port.is_none_or(|port| vector.ends.acceptor.port == Some(port))
            && self.subset.is_none_or(|subset| vector.label.is_some_and(|label| label.subset == subset))
            && (self.connections.is_empty() || self.connections.contains(&vector.id))
    }
}

/// The keys as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TcpKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Profile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<Congestion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dctcp_gain: Option<Quantity<Gain>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_rules: Option<WindowRules>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sack: Option<Sack>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<Recovery>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prr: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    f_rto: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limited_transmit: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<Ecn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamps: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_scaling: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_window: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte_counting: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delayed_ack: Option<Quantity<Optional<Duration>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quick_acks: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sack_compression: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_growth: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_buffer: Option<Quantity<Optional<Size>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rto_min: Option<Quantity<Duration>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rto_initial: Option<Quantity<Duration>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bursts: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    classes: Vec<TcpClass>,
}

impl TcpKeys {
    /// Whether it is one TCP.
    pub fn has_no_classes(&self) -> bool {
        self.classes.is_empty()
    }
}

impl From<TcpKeys> for Tcp {
    fn from(keys: TcpKeys) -> Tcp {
        let chosen = keys.profile.unwrap_or_default();
        let profile = tcp::Config::of(chosen);
        // In words; a test holds them against the profiles.
        let (delayed_ack, rto_min, rto_initial) = match chosen {
            Profile::Plain | Profile::Linux => ("40ms", "200ms", "1s"),
            Profile::Rfc => ("200ms", "1s", "1s"),
            Profile::Bsd2008 => ("100ms", "30ms", "3s"),
            Profile::Classic => ("100ms", "200ms", "3s"),
        };
        let congestion = keys.congestion.unwrap_or(match chosen {
            Profile::Linux => Congestion::Cubic,
            Profile::Plain | Profile::Rfc | Profile::Bsd2008 | Profile::Classic => Congestion::Newreno,
        });
        let sack = keys.sack.unwrap_or(profile.sack);
        Tcp {
            profile: chosen,
            dctcp_gain: keys.dctcp_gain.unwrap_or_else(|| Quantity::of("1/16")),
            window_rules: keys.window_rules.unwrap_or(profile.window_rules),
            sack,
            recovery: keys.recovery.unwrap_or(if profile.rack && sack != Sack::Off {
                Recovery::Rack
            } else {
                Recovery::Sack
            }),
            prr: keys.prr.unwrap_or(profile.prr),
            undo: keys.undo.unwrap_or(profile.undo),
            f_rto: keys.f_rto.unwrap_or(profile.f_rto),
            limited_transmit: keys.limited_transmit.unwrap_or(profile.limited_transmit),
            // DCTCP is nothing without marks.
            ecn: keys.ecn.unwrap_or(if congestion == Congestion::Dctcp { Ecn::On } else { Ecn::Off }),
            timestamps: keys.timestamps.unwrap_or(profile.timestamps),
            window_scaling: keys.window_scaling.unwrap_or(profile.window_scaling),
            initial_window: keys.initial_window.unwrap_or(match profile.initial_window {
                tcp::InitialWindow::Segments(segments) => segments,
                tcp::InitialWindow::Rfc5681 | tcp::InitialWindow::Rfc6928 => 0,
            }),
            byte_counting: keys.byte_counting.unwrap_or(profile.byte_counting),
            delayed_ack: keys.delayed_ack.unwrap_or_else(|| Quantity::of(delayed_ack)),
            quick_acks: keys.quick_acks.unwrap_or(profile.quick_acks),
            sack_compression: keys.sack_compression.unwrap_or(profile.sack_compression),
            window_growth: keys.window_growth.unwrap_or(profile.window_growth),
            receive_buffer: keys.receive_buffer.unwrap_or_else(|| Quantity::of("off")),
            payload_ratio: keys.payload_ratio.unwrap_or(PAYLOAD_RATIO),
            rto_min: keys.rto_min.unwrap_or_else(|| Quantity::of(rto_min)),
            rto_initial: keys.rto_initial.unwrap_or_else(|| Quantity::of(rto_initial)),
            pacing: keys.pacing.unwrap_or(profile.pacing),
            bursts: keys.bursts.unwrap_or(profile.bursts),
            congestion,
            classes: keys.classes,
        }
    }
}

/// An acknowledgement must not be held back for longer (RFC 9293, 3.8.6.3).
const MOST_DELAYED_ACK: Duration = Duration::from_millis(500);

/// Linux before the first segment.
const PAYLOAD_RATIO: f64 = 0.5;
/// Ratios that 256ths can express.
const PAYLOAD_RATIOS: RangeInclusive<f64> = 0.01..=0.99;
/// The least receive buffer: a page, as in `tcp_rmem`.
const LEAST_RECEIVE_BUFFER: u64 = 4_096;

impl Default for Tcp {
    fn default() -> Tcp {
        TcpKeys::default().into()
    }
}

impl Tcp {
    /// Checks what no type can refuse; `key` is the path of this table.
    pub fn check(&self, key: &str) -> Result<(), KeyError> {
        if self.recovery == Recovery::Rack && self.sack == Sack::Off {
            return Err(KeyError::new(
                format!("{key}.recovery"),
                format_args!("= \"rack\" needs SACK: set {key}.sack to \"on\" or \"with-duplicates\""),
            ));
        }
        if self.initial_window > 1_000 {
            return Err(KeyError::new(
                format!("{key}.initial-window"),
                format_args!("of {} segments is above 1000", self.initial_window),
            ));
        }
        let most = tcp::Config::of(self.profile).rto.max;
        for (part, value) in [("rto-min", &self.rto_min), ("rto-initial", &self.rto_initial)] {
            if value.value.is_zero() {
                return Err(KeyError::new(format!("{key}.{part}"), "must be above zero"));
            }
            if value.value > most {
                return Err(KeyError::new(
                    format!("{key}.{part}"),
                    format_args!("of {value} is above the longest timeout, {most}"),
                ));
            }
        }
        if let Some(size) = self.receive_buffer.value.0
            && !(LEAST_RECEIVE_BUFFER..=tcp::ReceiveBuffer::LARGEST.into()).contains(&size.0)
        {
            return Err(KeyError::new(
                format!("{key}.receive-buffer"),
                format_args!("of {} is not between 4k and 32m", self.receive_buffer),
            ));
        }
        if !PAYLOAD_RATIOS.contains(&self.payload_ratio) {
            return Err(KeyError::new(
                format!("{key}.payload-ratio"),
                format_args!(
                    "of {} is not between {} and {}",
                    self.payload_ratio,
                    PAYLOAD_RATIOS.start(),
                    PAYLOAD_RATIOS.end()
                ),
            ));
        }
        if let Some(delay) = self.delayed_ack.value.0
            && delay > MOST_DELAYED_ACK
        {
            let delay = &self.delayed_ack;
            return Err(KeyError::new(
                format!("{key}.delayed-ack"),
                format_args!("of {delay} is too long (at most {MOST_DELAYED_ACK}, RFC 9293 3.8.6.3)"),
            ));
        }
        for (place, class) in (1..).zip(&self.classes) {
            named("a class", &format!("{key}.classes.{place}"), &class.name)?;
            let key = format!("{key}.classes.{}", class.name);
            if !class.tcp.classes.is_empty() {
                return Err(KeyError::saying(format!("{key}.tcp.classes"), "a class has no classes of its own"));
            }
            let chooses = class.share.is_some() || class.initiator.is_some() || class.port.is_some();
            if !chooses && class.subset.is_none() && class.connections.is_empty() {
                return Err(KeyError::new(
                    key,
                    "chooses no connections: give it a share, an initiator, a port, a subset or connections",
                ));
            }
            self.with(&class.tcp).check(&format!("{key}.tcp"))?;
        }
        let sum: f64 =
            self.classes.iter().filter_map(|class| class.share.as_ref()).map(|share| share.value.0.get()).sum();
        if sum > 1.000_001 {
            return Err(KeyError::saying(
                format!("{key}.classes"),
                format_args!("their shares add up to {:.0} %", 100.0 * sum),
            ));
        }
        Ok(())
    }

    /// Whether its congestion control, or who is in which class, depends on the seed.
    pub fn draws(&self) -> bool {
        let draws = |tcp: &Tcp| tcp.congestion == Congestion::Bbr;
        draws(self) || self.classes.iter().any(|class| class.share.is_some() || draws(&self.with(&class.tcp)))
    }

    /// The same with these keys.
    pub fn with(&self, keys: &TcpKeys) -> Tcp {
        if keys.profile.is_some() {
            return keys.clone().into();
        }
        let keys = keys.clone();
        Tcp {
            profile: self.profile,
            // DCTCP is nothing without marks.
            ecn: keys.ecn.unwrap_or(if keys.congestion == Some(Congestion::Dctcp) { Ecn::On } else { self.ecn }),
            recovery: keys.recovery.unwrap_or(if keys.sack == Some(Sack::Off) {
                Recovery::Sack
            } else {
                self.recovery
            }),
            congestion: keys.congestion.unwrap_or(self.congestion),
            dctcp_gain: keys.dctcp_gain.unwrap_or_else(|| self.dctcp_gain.clone()),
            window_rules: keys.window_rules.unwrap_or(self.window_rules),
            sack: keys.sack.unwrap_or(self.sack),
            prr: keys.prr.unwrap_or(self.prr),
            undo: keys.undo.unwrap_or(self.undo),
            f_rto: keys.f_rto.unwrap_or(self.f_rto),
            limited_transmit: keys.limited_transmit.unwrap_or(self.limited_transmit),
            timestamps: keys.timestamps.unwrap_or(self.timestamps),
            window_scaling: keys.window_scaling.unwrap_or(self.window_scaling),
            initial_window: keys.initial_window.unwrap_or(self.initial_window),
            byte_counting: keys.byte_counting.unwrap_or(self.byte_counting),
            delayed_ack: keys.delayed_ack.unwrap_or_else(|| self.delayed_ack.clone()),
            quick_acks: keys.quick_acks.unwrap_or(self.quick_acks),
            sack_compression: keys.sack_compression.unwrap_or(self.sack_compression),
            window_growth: keys.window_growth.unwrap_or(self.window_growth),
            receive_buffer: keys.receive_buffer.unwrap_or_else(|| self.receive_buffer.clone()),
            payload_ratio: keys.payload_ratio.unwrap_or(self.payload_ratio),
            rto_min: keys.rto_min.unwrap_or_else(|| self.rto_min.clone()),
            rto_initial: keys.rto_initial.unwrap_or_else(|| self.rto_initial.clone()),
            pacing: keys.pacing.unwrap_or(self.pacing),
            bursts: keys.bursts.unwrap_or(self.bursts),
            classes: Vec::new(),
        }
    }

    /// The lots in [0, 1) of each class with a share; of the others none, and none are needed.
    pub fn lots(&self) -> Vec<Range<f64>> {
        let mut taken = 0.0;
        let lots = self.classes.iter().map(|class| {
            let start = taken;
            taken += class.share.as_ref().map_or(0.0, |share| share.value.0.get());
            start..taken
        });
        lots.collect()
    }

    /// As the endpoints take it.
    pub fn config(&self) -> tcp::Config {
        let profile = tcp::Config::of(self.profile);
        let min = self.rto_min.value;
        let margin = matches!(self.profile, Profile::Plain | Profile::Linux);
        tcp::Config {
            congestion: match self.congestion.algorithm() {
                // ns-2 knows no way to leave slow start but a loss.
                Algorithm::Cubic(parameters) if self.profile == Profile::Classic => {
                    Algorithm::Cubic(CubicParameters { hystart: false, ..parameters })
                }
                Algorithm::Dctcp(_) => Algorithm::Dctcp(DctcpParameters { gain_shift: self.dctcp_gain.value.shift() }),
                algorithm => algorithm,
            },
            window_rules: self.window_rules,
            sack: self.sack,
            rack: self.recovery == Recovery::Rack,
            prr: self.prr,
            undo: self.undo,
            f_rto: self.f_rto,
            limited_transmit: self.limited_transmit,
            ecn: match (self.ecn, self.congestion) {
                (Ecn::Off, _) => tcp::EcnEcho::Off,
                (Ecn::On, Congestion::Dctcp) => tcp::EcnEcho::EachMark,
                (Ecn::On, _) => tcp::EcnEcho::UntilAnswered,
            },
            timestamps: self.timestamps,
            window_scaling: self.window_scaling,
            initial_window: match self.initial_window {
                0 => tcp::InitialWindow::Rfc5681,
                segments => tcp::InitialWindow::Segments(segments),
            },
            byte_counting: self.byte_counting,
            delayed_ack: self.delayed_ack.value.0,
            quick_acks: self.quick_acks,
            sack_compression: self.sack_compression,
            window_growth: self.window_growth,
            receive_buffer: self.receive_buffer.value.0.map(|size| tcp::ReceiveBuffer {
                bytes: u32::try_from(size.0).unwrap_or(u32::MAX),
                payload_ratio: (256.0 * self.payload_ratio).round() as u8,
            }),
            rto: tcp::RtoConfig {
                min,
                granularity: if margin { min } else { profile.rto.granularity },
                initial: self.rto_initial.value,
                ..profile.rto
            },
            pacing: self.pacing,
            bursts: self.bursts,
            ..profile
        }
    }
}

/// The weight g of DCTCP's estimate: `1/16`, or as a decimal fraction `0.0625`. It is a power of two from 1/1024 to 1/2, as in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gain {
    shift: u8,
}

impl Gain {
    /// The gain is 2 to the minus this, from 1 to 10.
    pub fn shift(self) -> u8 {
        self.shift
    }
}

impl FromStr for Gain {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Gain, ParseQuantityError> {
        let gain = match text.strip_prefix("1/") {
            Some(divisor) => divisor.parse::<u32>().ok().map(|divisor| 1.0 / f64::from(divisor)),
            None => text.parse().ok(),
        };
        let shift = gain.and_then(|gain| (1..=10u8).find(|&shift| gain == 1.0 / f64::from(1u32 << shift)));
        shift.map(|shift| Gain { shift }).ok_or_else(|| ParseQuantityError {
            text: text.to_owned(),
            expected: "a power of two from 1/1024 to 1/2",
            example: "1/16 or 0.0625",
        })
    }
}

impl Written for Gain {
    const FORMAT: &'static str = "gain";
    const MEANING: &'static str = "a power of two from 1/1024 to 1/2";
    const EXAMPLES: &'static [&'static str] = &["1/16", "0.0625"];

    fn pattern() -> String {
        r"1/\+?[0-9]+|\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?".to_owned()
    }
}

/// How losses are told where SACK is agreed; without it the congestion control says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// By what was acknowledged above (RFC 6675).
    Sack,
    /// By time (RACK-TLP, RFC 8985).
    Rack,
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// Not offered.
    Off,
    /// RFC 3168; with DCTCP, its echo (RFC 8257).
    On,
}

/// Congestion controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Congestion {
    /// Fast retransmit without fast recovery.
    Tahoe,
    /// RFC 5681.
    Reno,
    /// RFC 5681 with the recovery of RFC 6582.
    Newreno,
    /// RFC 9438, with HyStart++.
    Cubic,
    /// RFC 8257.
    Dctcp,
    /// Brakmo and Peterson 1995.
    Vegas,
    /// BBR, version 1.
    Bbr,
}

impl Congestion {
    /// As experiments name it.
    pub fn word(self) -> String {
        self.algorithm().to_string()
    }

    /// With its default parameters.
    fn algorithm(self) -> Algorithm {
        match self {
            Congestion::Tahoe => Algorithm::Tahoe,
            Congestion::Reno => Algorithm::Reno,
            Congestion::Newreno => Algorithm::NewReno,
            Congestion::Cubic => Algorithm::Cubic(CubicParameters::default()),
            Congestion::Dctcp => Algorithm::Dctcp(DctcpParameters::default()),
            Congestion::Vegas => Algorithm::Vegas(VegasParameters::default()),
            Congestion::Bbr => Algorithm::Bbr,
        }
    }
}
