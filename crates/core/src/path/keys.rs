//! The keys of what happens to packets on their way: `[network.path]`, `[[network.delay-box]]`, and what sends the packets of
//! the bottleneck (`docs/reference/path.md`).

use std::borrow::Cow;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::impairments::{Impairments, Jitter, Reorder, Reordering};
use super::loss::{GilbertElliott, LossModel, PacketList};
use super::rules::{LossRate, Matching, Rule};
use super::token_bucket::BucketConfig;
use crate::keys::{Amount, Drawn, Quantity, Share, Size, TextOrTable, Written, read, text_or_other};
use crate::time::Duration;
use crate::units::{Limit, ParseQuantityError, Probability, Rate};
use crate::workload::{LinkSide, Side};

/// Defines [`Path`] and [`Direction`], which have the same keys, and [`Path`] those of each direction beside them.
macro_rules! path_keys {
    ($($(#[$doc:meta])* $key:ident: $type:ty,)*) => {
        /// `[network.path]`: what happens to the packets of both directions, unless a direction says otherwise.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub struct Path {
            $($(#[$doc])*
            #[serde(skip_serializing_if = "Option::is_none")]
            $key: Option<$type>,)*
            /// Packets from the left side of the link; replaces the keys above.
            #[serde(skip_serializing_if = "Option::is_none")]
            from_left: Option<Direction>,
            /// Packets from the right side of the link; replaces the keys above.
            #[serde(skip_serializing_if = "Option::is_none")]
            from_right: Option<Direction>,
        }

        /// `from-left = { ... }`: what is given replaces what `[network.path]` says.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub struct Direction {
            $($(#[$doc])*
            #[serde(skip_serializing_if = "Option::is_none")]
            $key: Option<$type>,)*
        }

        impl Path {
            /// The keys of a direction: its own, and those of both directions where it has none.
            fn with(&self, own: Option<&Direction>) -> Direction {
                Direction { $($key: own.and_then(|own| own.$key.clone()).or_else(|| self.$key.clone()),)* }
            }
        }
    };
}

path_keys! {
    /// Losses before the link: a share of packets, or a model; default: none.
    loss: Loss,
    /// Share of the packets that arrive twice; default: none.
    duplicate: Quantity<Share>,
    /// Packets that change places; default: none.
    reorder: ReorderKeys,
    /// Delay that is drawn for each packet and added to the delay of the path; default: none.
    jitter: Drawn<Duration>,
    /// Keep packets in order, as a queue does; with false a packet with a short delay overtakes others. Default: true.
    jitter_keeps_order: bool,
}

impl Path {
    /// Whether nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Path::default()
    }

    /// What happens to the packets from the left and from the right.
    pub fn impairments(&self) -> [Impairments; 2] {
        [&self.from_left, &self.from_right].map(|own| self.with(own.as_ref()).impairments())
    }
}

impl Direction {
    fn impairments(&self) -> Impairments {
        let keeps_order = self.jitter_keeps_order.unwrap_or(true);
        let jitter = |jitter: &Drawn<Duration>| Jitter { distribution: jitter.checked(), keeps_order };
        Impairments {
            loss: self.loss.as_ref().map_or(LossModel::None, |loss| loss.0.model.clone()),
            duplicate: self.duplicate.as_ref().map_or(Probability::ZERO, |share| share.value.0),
            reorder: self.reorder.as_ref().map(ReorderKeys::reorder),
            jitter: self.jitter.as_ref().map(jitter),
        }
    }
}

/// `loss = "1%"` or `loss = { kind = ... }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss(Checked<LossKeys, LossModel>);

/// Keys, and what they were found to mean.
#[derive(Clone, Debug, PartialEq)]
struct Checked<K, M> {
    keys: K,
    model: M,
}

#[derive(Clone, Debug, PartialEq)]
enum LossKeys {
    Share(Quantity<Share>),
    Model(LossTable),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum LossTable {
    /// Every packet is lost with the same probability.
    Bernoulli {
        /// Probability that a packet is lost.
        p: Quantity<Share>,
    },
    /// A good and a bad state with losses of their own, as netem's `gemodel`.
    GilbertElliott {
        /// Probability of leaving the good state, per packet.
        p: Quantity<Share>,
        /// Probability of leaving the bad state, per packet.
        r: Quantity<Share>,
        /// Loss in the bad state; default: 100%.
        #[serde(rename = "1-h", default, skip_serializing_if = "Option::is_none")]
        bad_loss: Option<Quantity<Share>>,
        /// Loss in the good state; default: 0%.
        #[serde(rename = "1-k", default, skip_serializing_if = "Option::is_none")]
        good_loss: Option<Quantity<Share>>,
    },
    /// These packets of each connection and direction.
    List {
        /// Packets by number, 1 the first, or intervals such as "5-8".
        packets: Vec<Packets>,
    },
}

/// `3` or `"5-8"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a packet is a number as 3, several are an interval as \"5-8\"")]
enum Packets {
    One(#[schemars(range(min = 1))] u64),
    Interval(#[schemars(regex(pattern = r"^\s*\+?0*[1-9][0-9]*\s*(-\s*\+?0*[1-9][0-9]*\s*)?$"))] String),
}

impl Packets {
    fn interval(&self) -> Result<(u64, u64), String> {
        match self {
            Packets::One(packet) => Ok((*packet, *packet)),
            Packets::Interval(text) => {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                let number = |part: &str| part.trim().parse::<u64>().ok();
                number(first)
                    .zip(number(last))
                    .ok_or_else(|| format!("\"{text}\" is no packet and no interval as \"5-8\""))
            }
        }
    }
}

impl LossKeys {
    fn model(&self) -> Result<LossModel, String> {
        Ok(match self {
            LossKeys::Share(p) | LossKeys::Model(LossTable::Bernoulli { p }) => LossModel::Bernoulli(p.value.0),
            LossKeys::Model(LossTable::GilbertElliott { p, r, bad_loss, good_loss }) => {
                let simple = GilbertElliott::simple(p.value.0, r.value.0);
                LossModel::GilbertElliott(GilbertElliott {
                    bad_loss: bad_loss.as_ref().map_or(simple.bad_loss, |share| share.value.0),
                    good_loss: good_loss.as_ref().map_or(simple.good_loss, |share| share.value.0),
                    ..simple
                })
            }
            LossKeys::Model(LossTable::List { packets }) => {
                let intervals: Vec<_> = packets.iter().map(Packets::interval).collect::<Result<_, _>>()?;
                LossModel::List(PacketList::new(intervals).map_err(|error| error.to_string())?)
            }
        })
    }
}

impl TextOrTable for LossKeys {
    const EXPECTED: &'static str =
        "a share as \"1%\", or a model as { kind = \"gilbert-elliott\", p = \"1%\", r = \"25%\" }";
    type Table = LossTable;

    fn of_text(text: &str) -> Result<LossKeys, String> {
        text.parse().map(LossKeys::Share).map_err(|error: ParseQuantityError| error.to_string())
    }

    fn of_table(table: LossTable) -> Result<LossKeys, String> {
        Ok(LossKeys::Model(table))
    }
}

impl JsonSchema for Loss {
    fn schema_name() -> Cow<'static, str> {
        "loss".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let forms = vec![generator.subschema_for::<Quantity<Share>>(), generator.subschema_for::<LossTable>()];
        text_or_other("loss", "A share of packets that are lost, or a model of losses.", forms)
    }
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: LossKeys = read(deserializer)?;
        let model = keys.model().map_err(D::Error::custom)?;
        Ok(Loss(Checked { keys, model }))
    }
}

impl Serialize for Loss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.keys {
            LossKeys::Share(share) => share.serialize(serializer),
            LossKeys::Model(table) => table.serialize(serializer),
        }
    }
}

/// `reorder = { share = "1%", gap = 5, late = "5ms" }`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReorderKeys {
    /// Share of the packets that change places.
    share: Quantity<Share>,
    /// Fewest packets from one that changes places to the next; default: 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1))]
    gap: u32,
    /// How much later a packet is handed on; without it the packet is handed on at once, and overtakes those in the delay
    /// before the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late: Option<Quantity<Duration>>,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_one(gap: &u32) -> bool {
    *gap == 1
}

impl ReorderKeys {
    fn reorder(&self) -> Reorder {
        let manner = self.late.as_ref().map_or(Reordering::Overtake, |by| Reordering::Late(by.value));
        Reorder { share: self.share.value.0, gap: self.gap.max(1), manner }
    }
}

/// `[[network.delay-box]]`: a row of the rule table (methods F.6).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DelayBox {
    /// Match packets from this side of the link; default: both.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<LinkEnd>,
    /// Match packets of this end of a connection; default: both.
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<Sender>,
    /// Match connections to this port; default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    /// Match connections of this subset of the workload; default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    subset: Option<u64>,
    /// One-way delay before the link, drawn for each flow; default: the delays of the vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<Drawn<Duration>>,
    /// Share of packets lost, drawn for each flow, or "measured" for the loss of the original; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<FlowLoss>,
    /// Rate of a bottleneck of the flow's own, drawn for each flow; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<Drawn<Rate>>,
}

/// A side of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkEnd {
    /// Left, the inside.
    Left,
    /// Right, the outside.
    Right,
}

impl From<LinkEnd> for LinkSide {
    fn from(end: LinkEnd) -> LinkSide {
        match end {
            LinkEnd::Left => LinkSide::Left,
            LinkEnd::Right => LinkSide::Right,
        }
    }
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Sender {
    /// The end that opens the connection.
    Initiator,
    /// The end that accepts it.
    Acceptor,
}

/// A share, a distribution of shares, or `"measured"`.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowLoss {
    /// This share, or a share drawn from this distribution for each flow.
    Drawn(Drawn<Share>),
    /// The loss of the original.
    Measured,
}

const MEASURED: &str = "measured";

impl TextOrTable for FlowLoss {
    const EXPECTED: &'static str = "a share as \"1%\", a distribution of shares, or \"measured\"";
    type Table = Drawn<Share>;

    fn of_text(text: &str) -> Result<FlowLoss, String> {
        if text == MEASURED {
            return Ok(FlowLoss::Measured);
        }
        Drawn::of_text(text).map(FlowLoss::Drawn)
    }

    fn of_table(drawn: Drawn<Share>) -> Result<FlowLoss, String> {
        Ok(FlowLoss::Drawn(drawn))
    }
}

impl JsonSchema for FlowLoss {
    fn schema_name() -> Cow<'static, str> {
        "flow-loss".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let meaning =
            "A share of packets, the distribution that the share of each flow is drawn from, or the measured loss.";
        let measured = json_schema!({ "const": MEASURED });
        text_or_other("flow-loss", meaning, vec![measured, generator.subschema_for::<Drawn<Share>>()])
    }
}

impl<'de> Deserialize<'de> for FlowLoss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl Serialize for FlowLoss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FlowLoss::Drawn(drawn) => drawn.serialize(serializer),
            FlowLoss::Measured => serializer.serialize_str(MEASURED),
        }
    }
}

impl DelayBox {
    /// The simulator's rule.
    pub fn rule(&self) -> Rule {
        Rule {
            matching: Matching {
                from: self.from.map(LinkSide::from),
                sender: self.sender.map(|sender| match sender {
                    Sender::Initiator => Side::Initiator,
                    Sender::Acceptor => Side::Acceptor,
                }),
                port: self.port,
                subset: self.subset,
            },
            delay: self.delay.as_ref().map(Drawn::checked),
            loss: match &self.loss {
                None => LossRate::None,
                Some(FlowLoss::Drawn(loss)) => LossRate::Drawn(loss.checked()),
                Some(FlowLoss::Measured) => LossRate::Measured,
            },
            rate: self.rate.as_ref().map(Drawn::checked),
        }
    }

    /// Whether its loss is that of the original.
    pub fn loss_is_measured(&self) -> bool {
        self.loss == Some(FlowLoss::Measured)
    }

    /// Whether it would leave every flow as it is.
    pub fn does_nothing(&self) -> bool {
        self.delay.is_none() && self.loss.is_none() && self.rate.is_none()
    }
}

/// `shaper = { rate = "10mbit", burst = "32k" }`, and a policer the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket(Checked<BucketKeys, BucketConfig>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BucketKeys {
    /// Rate in the long run.
    #[schemars(extend("least" = "100bit", "most" = "100tbit", "allOf" = [{ "not": { "const": "unlimited" } }]))]
    rate: Quantity<Rate>,
    /// Bytes that may pass at once: a packet at least.
    #[schemars(extend("least" = "1514b", "most" = "4294967295b"))]
    burst: Quantity<Bytes>,
}

impl Bucket {
    /// The simulator's.
    pub fn config(&self) -> BucketConfig {
        self.0.model
    }
}

impl JsonSchema for Bucket {
    fn schema_name() -> Cow<'static, str> {
        "bucket".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = BucketKeys::json_schema(generator);
        schema.insert("format".to_owned(), "bucket".into());
        schema
    }
}

impl<'de> Deserialize<'de> for Bucket {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys = BucketKeys::deserialize(deserializer)?;
        if let Some(problem) = keys.rate.value.impossible() {
            return Err(D::Error::custom(format_args!("rate of {} is {problem}", keys.rate)));
        }
        let model = BucketConfig::new(keys.rate.value, keys.burst.value.0).map_err(D::Error::custom)?;
        Ok(Bucket(Checked { keys, model }))
    }
}

impl Serialize for Bucket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.keys.serialize(serializer)
    }
}

/// A burst in bytes, as tc spells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(u32);

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Bytes, ParseQuantityError> {
        match text.parse() {
            Ok(Limit::Bytes(bytes)) => u32::try_from(bytes).ok(),
            _ => None,
        }
        .map(Bytes)
        .ok_or_else(|| ParseQuantityError::Form {
            text: text.to_owned(),
            expected: "a number of bytes below 4 GiB",
            example: "32k",
        })
    }
}

impl Written for Bytes {
    const FORMAT: &'static str = "burst";
    const MEANING: &'static str = "a number of bytes below 4 GiB with its unit";
    const EXAMPLES: &'static [&'static str] = &["32k"];

    fn pattern() -> String {
        Size::pattern()
    }

    fn amount(&self) -> Option<Amount> {
        Some(Amount::Bytes(self.0.into()))
    }
}

/// `trace = "cell.up"`, or a trace for each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "give a file as \"cell.up\", or one each as { from-left = \"cell.up\", from-right = \"cell.down\" }"
)]
pub enum Traces {
    /// One file for both directions.
    Both(PathBuf),
    /// One file for each direction.
    Each {
        /// File for packets from the left.
        #[serde(rename = "from-left")]
        left: PathBuf,
        /// File for packets from the right.
        #[serde(rename = "from-right")]
        right: PathBuf,
    },
}

impl Traces {
    /// The files of the packets from the left and from the right.
    pub fn files(&self) -> [&PathBuf; 2] {
        match self {
            Traces::Both(both) => [both, both],
            Traces::Each { left, right } => [left, right],
        }
    }

    /// The same with other paths of the files.
    #[must_use]
    pub fn map(&self, path: impl Fn(&std::path::Path) -> PathBuf) -> Traces {
        match self {
            Traces::Both(both) => Traces::Both(path(both)),
            Traces::Each { left, right } => Traces::Each { left: path(left), right: path(right) },
        }
    }
}
