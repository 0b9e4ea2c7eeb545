//! `[tcp]`: a profile, and what differs from it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super as tcp;
use super::config::{Profile, Sack};
use super::congestion::{Algorithm, CubicParameters, DctcpParameters, VegasParameters, WindowRules};
use crate::keys::{KeyError, Optional, Quantity, Share, Size, Written, named};
use crate::path::keys::LinkEnd;
use crate::time::Duration;
use crate::units::ParseQuantityError;
use crate::workload::{ConnectionVector, LinkSide};

/// Defines [`Tcp`] and [`TcpKeys`], which have the same keys: of one every key has a value, of the other those that were written.
macro_rules! tcp_keys {
    ($($(#[$doc:meta])* $key:ident: $type:ty,)*) => {
        /// `[tcp]`, with every key that was left out filled in from the profile.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(from = "TcpKeys", into = "TcpKeys", rename_all = "kebab-case")]
        pub struct Tcp {
            /// Profile that the other keys have their defaults from.
            pub profile: Profile,
            $($(#[$doc])* pub $key: $type,)*
            /// Connections of the workload with keys of their own.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub classes: Vec<TcpClass>,
            /// Which of the keys of options were written.
            #[serde(skip)]
            stated: Stated,
        }

        /// The keys as written.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub struct TcpKeys {
            /// Profile that the other keys have their defaults from; default: `plain`.
            #[serde(skip_serializing_if = "Option::is_none")]
            profile: Option<Profile>,
            $($(#[$doc])*
            #[serde(skip_serializing_if = "Option::is_none")]
            $key: Option<$type>,)*
            /// Connections of the workload with keys of their own; each belongs to the first class that matches it.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            classes: Vec<TcpClass>,
        }

        impl Tcp {
            /// The same with the values of the keys that were written, except for the profile and classes.
            fn replaced(&self, keys: &TcpKeys) -> Tcp {
                Tcp {
                    profile: self.profile,
                    $($key: keys.$key.clone().unwrap_or_else(|| self.$key.clone()),)*
                    classes: Vec::new(),
                    stated: self.stated.and(Stated::of(keys)),
                }
            }
        }

        impl From<Tcp> for TcpKeys {
            /// Every key, but those that decide by being left out ([`Stated`]).
            fn from(tcp: Tcp) -> TcpKeys {
                let Tcp { stated, .. } = tcp;
                let keys = TcpKeys { profile: Some(tcp.profile), $($key: Some(tcp.$key),)* classes: tcp.classes };
                TcpKeys {
                    profile: keys.profile.filter(|_| stated.profile),
                    sack: keys.sack.filter(|_| stated.sack),
                    timestamps: keys.timestamps.filter(|_| stated.timestamps),
                    window_scaling: keys.window_scaling.filter(|_| stated.window_scaling),
                    ecn: keys.ecn.filter(|_| stated.ecn),
                    ..keys
                }
            }
        }
    };
}

tcp_keys! {
    /// Congestion control; default: `newreno`, with the profile `linux` `cubic`.
    congestion: Congestion,
    /// DCTCP: weight g of a new window in the estimate of the share of marked bytes (RFC 8257 section 4.2), a power of two from
    /// 1/1024 to 1/2; default: 1/16.
    dctcp_gain: Quantity<Gain>,
    /// Rules for reductions, growth and idle times of the congestion window; default: `rfc`, with the profile `linux` `linux`.
    window_rules: WindowRules,
    /// Selective acknowledgements; default by the profile.
    sack: Sack,
    /// How losses are detected where SACK is on; default: `sack`, with the profile `linux` `rack`.
    recovery: Recovery,
    /// Proportional rate reduction (RFC 9937) where SACK is on; default by the profile.
    prr: bool,
    /// Revert unnecessary reductions (RFC 3522, 3708, 4015); default: false, with the profile `linux` true.
    undo: bool,
    /// F-RTO: send new data first after a timeout (RFC 5682); default by the profile.
    f_rto: bool,
    /// Send a new segment for each of the first two duplicate acknowledgements (RFC 3042); default by the profile.
    limited_transmit: bool,
    /// Explicit congestion notification; default: `off`, with DCTCP `on`.
    ecn: Ecn,
    /// Timestamps (RFC 7323); default by the profile.
    timestamps: bool,
    /// Window scaling (RFC 7323); default: true.
    window_scaling: bool,
    /// Initial window in segments; 0 takes the 2 to 4 segments of RFC 5681. Default by the profile.
    #[schemars(range(max = 1000))]
    initial_window: u16,
    /// Count acknowledged bytes (RFC 3465) instead of acknowledgements; default by the profile.
    byte_counting: bool,
    /// Longest delay of an acknowledgement, or `off`; default by the profile.
    #[schemars(extend("most" = "500ms"))]
    delayed_ack: Quantity<Optional<Duration>>,
    /// Segments that are acknowledged at once at the start of a connection (Linux: 16); default: 0, with the profile `linux` 16.
    quick_acks: u8,
    /// Delay and merge acknowledgements while a hole is open (Linux); default: false, with the profile `linux` true.
    sack_compression: bool,
    /// Let windows above 65,535 bytes start there and grow with the data that arrives (Linux); default: false, with the profile
    /// `linux` true.
    window_growth: bool,
    /// Receive buffer at the start, which grows with the data that arrives (Linux), or `off` for no limit; default: `off`.
    #[schemars(extend("least" = "4k", "most" = "32m"))]
    receive_buffer: Quantity<Optional<Size>>,
    /// Payload per byte of receive buffer; default: 0.5.
    #[schemars(range(min = 0.01, max = 0.99))]
    payload_ratio: f64,
    /// Shortest retransmission timeout; with the profiles `plain` and `linux` also its smallest margin over the smoothed round-trip
    /// time. At most 60s, with the profile `linux` 120s; default by the profile.
    #[schemars(extend("least" = "1ns", "most" = "120s"))]
    rto_min: Quantity<Duration>,
    /// Retransmission timeout before the first round-trip sample, at most 60s, with the profile `linux` 120s; default by the
    /// profile.
    #[schemars(extend("least" = "1ns", "most" = "120s"))]
    rto_initial: Quantity<Duration>,
    /// Pace algorithms without a rate of their own, as Linux does with the fq discipline; default: false.
    pacing: bool,
    /// Send segments in bursts of about a millisecond of the rate (Linux); default: false, with the profile `linux` true.
    bursts: bool,
}

/// Which keys an experiment gives that say what options ends offer. What vectors know of their ends' options counts where they
/// are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// `profile`.
    pub profile: bool,
    /// `sack`.
    pub sack: bool,
    /// `timestamps`.
    pub timestamps: bool,
    /// `window-scaling`.
    pub window_scaling: bool,
    /// `ecn`, or DCTCP, which needs it.
    pub ecn: bool,
}

impl Stated {
    fn of(keys: &TcpKeys) -> Stated {
        Stated {
            profile: keys.profile.is_some(),
            sack: keys.sack.is_some(),
            timestamps: keys.timestamps.is_some(),
            window_scaling: keys.window_scaling.is_some(),
            ecn: keys.ecn.is_some() || keys.congestion == Some(Congestion::Dctcp),
        }
    }

    /// These and others.
    fn and(self, other: Stated) -> Stated {
        Stated {
            profile: self.profile || other.profile,
            sack: self.sack || other.sack,
            timestamps: self.timestamps || other.timestamps,
            window_scaling: self.window_scaling || other.window_scaling,
            ecn: self.ecn || other.ecn,
        }
    }
}

/// `[[tcp.classes]]`: connections of the workload with keys of their own; the first class that matches is a connection's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TcpClass {
    /// Name of the class in results.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub name: String,
    /// Share of the workload's connections that are drawn for this class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<Quantity<Share>>,
    /// Connections whose initiator is on this side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    initiator: Option<LinkEnd>,
    /// Connections to this port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    /// Connections of this subset of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subset: Option<u64>,
    /// Connections with these ids.
    #[serde(default, deserialize_with = "distinct", skip_serializing_if = "BTreeSet::is_empty")]
    connections: BTreeSet<u64>,
    /// Keys that differ from `[tcp]`.
    #[schemars(with = "WithoutClasses")]
    pub tcp: TcpKeys,
}

/// Ids, each of which is named once.
fn distinct<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<u64>, D::Error> {
    let mut ids = BTreeSet::new();
    for id in Vec::<u64>::deserialize(deserializer)? {
        if !ids.insert(id) {
            return Err(D::Error::custom(format_args!("{id} is named twice")));
        }
    }
    Ok(ids)
}

/// What the schema says of the keys of a class or a source, which has no classes of its own.
pub enum WithoutClasses {}

impl JsonSchema for WithoutClasses {
    fn schema_name() -> Cow<'static, str> {
        "tcp-keys-without-classes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = TcpKeys::json_schema(generator);
        if let Some(keys) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            keys.remove("classes");
        }
        schema
    }
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

impl TcpKeys {
    /// Whether it is one TCP.
    pub fn has_no_classes(&self) -> bool {
        self.classes.is_empty()
    }
}

impl From<TcpKeys> for Tcp {
    fn from(keys: TcpKeys) -> Tcp {
        let tcp = Tcp::of(keys.profile.unwrap_or_default()).changed(&keys);
        Tcp { classes: keys.classes, ..tcp }
    }
}

impl Tcp {
    /// What a profile says of every key.
    fn of(chosen: Profile) -> Tcp {
        let profile = tcp::Config::of(chosen);
        // In words; a test holds them against the profiles.
        let (delayed_ack, rto_min, rto_initial) = match chosen {
            Profile::Plain | Profile::Linux => ("40ms", "200ms", "1s"),
            Profile::Rfc => ("200ms", "1s", "1s"),
            Profile::Bsd2008 => ("100ms", "30ms", "3s"),
            Profile::Classic => ("100ms", "200ms", "3s"),
        };
        Tcp {
            profile: chosen,
            congestion: match chosen {
                Profile::Linux => Congestion::Cubic,
                Profile::Plain | Profile::Rfc | Profile::Bsd2008 | Profile::Classic => Congestion::Newreno,
            },
            dctcp_gain: Quantity::of("1/16"),
            window_rules: profile.window_rules,
            sack: profile.sack,
            recovery: if profile.rack { Recovery::Rack } else { Recovery::Sack },
            prr: profile.prr,
            undo: profile.undo,
            f_rto: profile.f_rto,
            limited_transmit: profile.limited_transmit,
            ecn: Ecn::Off,
            timestamps: profile.timestamps,
            window_scaling: profile.window_scaling,
            initial_window: match profile.initial_window {
                tcp::InitialWindow::Segments(segments) => segments,
                tcp::InitialWindow::Rfc5681 | tcp::InitialWindow::Rfc6928 => 0,
            },
            byte_counting: profile.byte_counting,
            delayed_ack: Quantity::of(delayed_ack),
            quick_acks: profile.quick_acks,
            sack_compression: profile.sack_compression,
            window_growth: profile.window_growth,
            receive_buffer: Quantity::of("off"),
            payload_ratio: PAYLOAD_RATIO,
            rto_min: Quantity::of(rto_min),
            rto_initial: Quantity::of(rto_initial),
            pacing: profile.pacing,
            bursts: profile.bursts,
            classes: Vec::new(),
            stated: Stated::default(),
        }
    }

    /// The same with these keys, of which some change the defaults of others.
    fn changed(&self, keys: &TcpKeys) -> Tcp {
        let mut tcp = self.replaced(keys);
        // DCTCP is nothing without marks.
        if keys.ecn.is_none() && keys.congestion == Some(Congestion::Dctcp) {
            tcp.ecn = Ecn::On;
        }
        if keys.recovery.is_none() && keys.sack == Some(Sack::Off) {
            tcp.recovery = Recovery::Sack;
        }
        tcp
    }
}

/// An acknowledgement must not be held back for longer (RFC 9293, 3.8.6.3).
const MOST_DELAYED_ACK: Duration = Duration::from_millis(500);

/// Segments of an initial window, at most.
const MOST_INITIAL_WINDOW: u16 = 1_000;

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
    /// Which of the keys of options were written.
    pub fn stated(&self) -> Stated {
        self.stated
    }

    /// The initial window in segments (0: of RFC 5681) where it is not that of the profile.
    pub fn own_initial_window(&self) -> Option<u16> {
        Some(self.initial_window).filter(|own| *own != Tcp::of(self.profile).initial_window)
    }

    /// Whether it acknowledges as the profile does.
    fn acknowledges_as_profile(&self) -> bool {
        let usual = Tcp::of(self.profile);
        self.delayed_ack.value == usual.delayed_ack.value && self.quick_acks == usual.quick_acks
    }

    /// What no type can refuse: values that are well formed and impossible. `key` is the path of this table.
    pub fn problems(&self, key: &str) -> Vec<KeyError> {
        let mut found = self.impossible_values();
        found.extend(self.impossible_classes());
        found.into_iter().map(|problem| problem.within(key)).collect()
    }

    fn impossible_values(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        if self.recovery == Recovery::Rack && self.sack == Sack::Off {
            let problem = "= \"rack\" needs SACK: set sack to \"on\" or \"with-duplicates\"";
            found.push(KeyError::new("recovery", problem));
        }
        if self.initial_window > MOST_INITIAL_WINDOW {
            let problem = format_args!("of {} segments is above {MOST_INITIAL_WINDOW}", self.initial_window);
            found.push(KeyError::new("initial-window", problem));
        }
        let profile = crate::keys::word(self.profile);
        let most = tcp::Config::of(self.profile).rto.max;
        for (part, value) in [("rto-min", &self.rto_min), ("rto-initial", &self.rto_initial)] {
            if value.value.is_zero() {
                found.push(KeyError::new(part, "must be above zero"));
            }
            if value.value > most {
                found.push(KeyError::new(
                    part,
                    format_args!("of {value} is above the longest timeout of profile {profile}, {}", most.written()),
                ));
            }
        }
        if let Some(size) = self.receive_buffer.value.0
            && !(LEAST_RECEIVE_BUFFER..=tcp::ReceiveBuffer::LARGEST.into()).contains(&size.0)
        {
            let problem = format_args!("of {} must be between 4k and 32m", self.receive_buffer);
            found.push(KeyError::new("receive-buffer", problem));
        }
        if !PAYLOAD_RATIOS.contains(&self.payload_ratio) {
            let (least, most) = (PAYLOAD_RATIOS.start(), PAYLOAD_RATIOS.end());
            let problem = format_args!("of {} must be between {least} and {most}", self.payload_ratio);
            found.push(KeyError::new("payload-ratio", problem));
        }
        if let Some(delay) = self.delayed_ack.value.0
            && delay > MOST_DELAYED_ACK
        {
            let delay = &self.delayed_ack;
            let problem =
                format_args!("of {delay} is too long (at most {}, RFC 9293 3.8.6.3)", MOST_DELAYED_ACK.written());
            found.push(KeyError::new("delayed-ack", problem));
        }
        found
    }

    fn impossible_classes(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        for (number, class) in self.classes.iter().enumerate() {
            let key = format!("classes[{number}]");
            found.extend(named("a class", &format!("{key}.name"), &class.name).err());
            if !class.tcp.classes.is_empty() {
                found.push(KeyError::saying(format!("{key}.tcp.classes"), "a class has no classes of its own"));
                continue;
            }
            let chooses = class.share.is_some() || class.initiator.is_some() || class.port.is_some();
            if !chooses && class.subset.is_none() && class.connections.is_empty() {
                let problem = "chooses no connections: give it a share, an initiator, a port, a subset or connections";
                found.push(KeyError::new(key.as_str(), problem));
            }
            found.extend(self.with(&class.tcp).problems(&format!("{key}.tcp")));
        }
        let sum: f64 =
            self.classes.iter().filter_map(|class| class.share.as_ref()).map(|share| share.value.0.get()).sum();
        if sum > 1.000_001 {
            found.push(KeyError::saying("classes", format_args!("their shares add up to {:.0} %", 100.0 * sum)));
        }
        found
    }

    /// Whether its congestion control, or who is in which class, depends on the seed.
    pub fn draws(&self) -> bool {
        let draws = |tcp: &Tcp| tcp.congestion == Congestion::Bbr;
        draws(self) || self.classes.iter().any(|class| class.share.is_some() || draws(&self.with(&class.tcp)))
    }

    /// The same with these keys; those of another profile replace all.
    #[must_use]
    pub fn with(&self, keys: &TcpKeys) -> Tcp {
        match keys.profile {
            Some(_) => keys.clone().into(),
            None => self.changed(keys),
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
            own_initial_windows: self.own_initial_window().is_none(),
            own_acks: self.acknowledges_as_profile(),
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
        let is_share = |shift: &u8| match text.strip_prefix("1/") {
            Some(divisor) => divisor.parse() == Ok(1_u32 << shift),
            None => {
                let number = text.strip_prefix('+').unwrap_or(text).trim_start_matches('0');
                number.strip_prefix('.').is_some_and(|digits| digits.trim_end_matches('0') == places_of(*shift))
            }
        };
        (1..=10).find(is_share).map(|shift| Gain { shift }).ok_or_else(|| ParseQuantityError::Form {
            text: text.to_owned(),
            expected: "a power of two from 1/1024 to 1/2",
            example: "1/16 or 0.0625",
        })
    }
}

/// The digits behind the point of 1 / 2^n: those of 5^n, in n places.
fn places_of(shift: u8) -> String {
    format!("{:0width$}", 5_u32.pow(shift.into()), width = shift.into())
}

impl Written for Gain {
    const FORMAT: &'static str = "gain";
    const MEANING: &'static str = "a power of two from 1/1024 to 1/2";
    const EXAMPLES: &'static [&'static str] = &["1/16", "0.0625"];

    fn pattern() -> String {
        let shares = (1..=10).map(|shift| (1u32 << shift).to_string()).collect::<Vec<_>>().join("|");
        let digits = (1..=10).map(places_of).collect::<Vec<_>>().join("|");
        format!(r"1/\+?0*({shares})|\+?0*\.({digits})0*")
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
