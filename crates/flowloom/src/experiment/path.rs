//! The keys of what happens to packets on their way: `[network.path]`, `[[network.delay-box]]`, and what sends the packets of
//! the bottleneck (`docs/reference/path.md`).

use std::path::PathBuf;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use flowloom_core::path::{
    BucketConfig, GilbertElliott, Impairments, Jitter, LossModel, LossRate, Matching, PacketList, Reorder, Reordering,
    Rule,
};
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, ParseQuantityError, Probability, Rate};
use flowloom_core::workload::{LinkSide, Side};

use super::Quantity;
use super::drawn::{Drawn, Share};
use super::text_or_table::{self, TextOrTable};

/// `[network.path]`: what happens to the packets of both directions, unless a direction says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Path {
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<Loss>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<Quantity<Share>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reorder: Option<ReorderKeys>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<Drawn<Duration>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter_keeps_order: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_left: Option<Direction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_right: Option<Direction>,
}

/// `from-left = { ... }`: what is given replaces what `[network.path]` says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Direction {
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<Loss>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<Quantity<Share>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reorder: Option<ReorderKeys>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<Drawn<Duration>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter_keeps_order: Option<bool>,
}

impl Path {
    /// Whether nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Path::default()
    }

    /// What happens to the packets from the left and from the right.
    pub fn impairments(&self) -> [Impairments; 2] {
        [&self.from_left, &self.from_right].map(|direction| {
            let own = direction.clone().unwrap_or_default();
            let keeps_order = own.jitter_keeps_order.or(self.jitter_keeps_order).unwrap_or(true);
            Impairments {
                loss: own.loss.as_ref().or(self.loss.as_ref()).map_or(LossModel::None, |loss| loss.0.model.clone()),
                duplicate: own.duplicate.as_ref().or(self.duplicate.as_ref()).map_or(Probability::ZERO, |s| s.value.0),
                reorder: own.reorder.as_ref().or(self.reorder.as_ref()).map(ReorderKeys::reorder),
                jitter: own
                    .jitter
                    .as_ref()
                    .or(self.jitter.as_ref())
                    .map(|jitter| Jitter { distribution: jitter.checked(), keeps_order }),
            }
        })
    }
}

/// `loss = "1%"` or `loss = { kind = ... }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss(Written<LossKeys, LossModel>);

/// Keys, and what they were found to mean.
#[derive(Clone, Debug, PartialEq)]
struct Written<K, M> {
    keys: K,
    model: M,
}

#[derive(Clone, Debug, PartialEq)]
enum LossKeys {
    Share(Quantity<Share>),
    Model(LossTable),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum LossTable {
    Bernoulli {
        p: Quantity<Share>,
    },
    GilbertElliott {
        p: Quantity<Share>,
        r: Quantity<Share>,
        #[serde(rename = "1-h", default, skip_serializing_if = "Option::is_none")]
        bad_loss: Option<Quantity<Share>>,
        #[serde(rename = "1-k", default, skip_serializing_if = "Option::is_none")]
        good_loss: Option<Quantity<Share>>,
    },
    List {
        packets: Vec<Packets>,
    },
}

/// `3` or `"5-8"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a packet is a number as 3, several are an interval as \"5-8\"")]
enum Packets {
    One(u64),
    Interval(String),
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

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: LossKeys = text_or_table::read(deserializer)?;
        let model = keys.model().map_err(D::Error::custom)?;
        Ok(Loss(Written { keys, model }))
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReorderKeys {
    share: Quantity<Share>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    gap: u32,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DelayBox {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<LinkEnd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<Sender>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subset: Option<u64>,
    /// Left out: the delays of the vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<Drawn<Duration>>,
    /// Left out: no loss of the flow's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<FlowLoss>,
    /// Left out: no bottleneck of the flow's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<Drawn<Rate>>,
}

/// A side of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkEnd {
    /// Inside.
    Left,
    /// Outside.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sender {
    Initiator,
    Acceptor,
}

/// A share, a distribution of shares, or `"measured"`.
#[derive(Clone, Debug, PartialEq)]
enum FlowLoss {
    Drawn(Drawn<Share>),
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

impl<'de> Deserialize<'de> for FlowLoss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_table::read(deserializer)
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

    /// Whether it would leave every flow as it is.
    pub fn does_nothing(&self) -> bool {
        self.delay.is_none() && self.loss.is_none() && self.rate.is_none()
    }
}

/// `shaper = { rate = "10mbit", burst = "32k" }`, and a policer the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket(Written<BucketKeys, BucketConfig>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BucketKeys {
    rate: Quantity<Rate>,
    burst: Quantity<Bytes>,
}

impl Bucket {
    /// The simulator's.
    pub fn config(&self) -> BucketConfig {
        self.0.model
    }
}

impl<'de> Deserialize<'de> for Bucket {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys = BucketKeys::deserialize(deserializer)?;
        if let Some(problem) = keys.rate.value.impossible() {
            return Err(D::Error::custom(format_args!("rate of {} is {problem}", keys.rate)));
        }
        let model = BucketConfig::new(keys.rate.value, keys.burst.value.0).map_err(D::Error::custom)?;
        Ok(Bucket(Written { keys, model }))
    }
}

impl Serialize for Bucket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.keys.serialize(serializer)
    }
}

/// Bytes, as tc spells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bytes(u32);

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Bytes, ParseQuantityError> {
        match text.parse() {
            Ok(Limit::Bytes(bytes)) => u32::try_from(bytes).ok(),
            _ => None,
        }
        .map(Bytes)
        .ok_or_else(|| ParseQuantityError {
            text: text.to_owned(),
            expected: "a number of bytes below 4 GiB",
            example: "32k",
        })
    }
}

/// `trace = "cell.up"`, or a trace for each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "give a file as \"cell.up\", or one each as { from-left = \"cell.up\", from-right = \"cell.down\" }"
)]
pub enum Traces {
    /// Both directions'.
    Both(PathBuf),
    /// One each.
    Each {
        /// Of the packets from the left.
        #[serde(rename = "from-left")]
        left: PathBuf,
        /// Of the packets from the right.
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

    /// Takes relative paths as relative to `folder`.
    pub fn join(&mut self, folder: &std::path::Path) {
        let files = match self {
            Traces::Both(both) => vec![both],
            Traces::Each { left, right } => vec![left, right],
        };
        for file in files {
            *file = folder.join(&file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    fn read(text: &str) -> Experiment {
        let experiment = Experiment::parse(text, "x.toml").unwrap_or_else(|failure| panic!("{text}: {failure}"));
        // What is written is resolved: it names defaults that were left out.
        let again = Experiment::parse(&experiment.to_toml(), "again.toml").unwrap();
        assert_eq!(again.to_toml(), experiment.to_toml());
        assert_eq!(again.network.path, experiment.network.path);
        assert_eq!(again.network.delay_box, experiment.network.delay_box);
        experiment
    }

    fn path(text: &str) -> [Impairments; 2] {
        read(&format!("[network.path]\n{text}")).network.path.impairments()
    }

    fn p(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    #[test]
    fn loss_models_read() {
        assert_eq!(path("loss = \"1%\"")[1].loss, LossModel::Bernoulli(p(0.01)));
        assert_eq!(path("loss = { kind = \"bernoulli\", p = \"0.5%\" }")[0].loss, LossModel::Bernoulli(p(0.005)));
        let simple = path("loss = { kind = \"gilbert-elliott\", p = \"1%\", r = \"25%\" }")[0].loss.clone();
        assert_eq!(simple, LossModel::GilbertElliott(GilbertElliott::simple(p(0.01), p(0.25))));
        let full =
            path("loss = { kind = \"gilbert-elliott\", p = \"1%\", r = \"25%\", 1-h = \"50%\", 1-k = \"0.1%\" }");
        let wanted = GilbertElliott { p: p(0.01), r: p(0.25), bad_loss: p(0.5), good_loss: p(0.001) };
        assert_eq!(full[0].loss, LossModel::GilbertElliott(wanted));
        let list = path("loss = { kind = \"list\", packets = [3, \"5-8\", \"9\"] }")[0].loss.clone();
        assert_eq!(list, LossModel::List(PacketList::new([(3, 3), (5, 9)]).unwrap()));
    }

    #[test]
    fn a_direction_replaces_what_both_have() {
        let [left, right] = path(
            "loss = \"1%\"\nduplicate = \"2%\"\nreorder = { share = \"3%\", gap = 5 }\n\
             jitter = { kind = \"exponential\", mean = \"2ms\" }\n\
             from-right = { loss = \"0%\", reorder = { share = \"3%\", late = \"1ms\" }, jitter-keeps-order = false }\n",
        );
        assert_eq!((left.loss, right.loss), (LossModel::Bernoulli(p(0.01)), LossModel::Bernoulli(p(0.0))));
        assert_eq!((left.duplicate, right.duplicate), (p(0.02), p(0.02)));
        assert_eq!(left.reorder, Some(Reorder { share: p(0.03), gap: 5, manner: Reordering::Overtake }));
        let late = Reordering::Late(Duration::from_millis(1));
        assert_eq!(right.reorder, Some(Reorder { share: p(0.03), gap: 1, manner: late }));
        let order = |impairments: &Impairments| impairments.jitter.as_ref().map(|jitter| jitter.keeps_order);
        assert!(path("jitter = \"1ms\"").iter().all(|side| order(side) == Some(true)));
        assert_eq!(
            (left.jitter.map(|jitter| jitter.keeps_order), right.jitter.map(|jitter| jitter.keeps_order)),
            (Some(true), Some(false))
        );
        assert!(read("").network.path.is_default());
    }

    #[test]
    fn rules_read() {
        let experiment = read(
            "[[network.delay-box]]\nfrom = \"left\"\nsender = \"initiator\"\nport = 443\nsubset = 2\n\
             delay = { kind = \"lognormal\", median = \"64ms\", mean = \"101ms\" }\nloss = \"measured\"\n\
             rate = { kind = \"empirical\", values = [[\"1mbit\", 0.5], [\"10mbit\", 0.5]] }\n\
             [[network.delay-box]]\ndelay = \"5ms\"\nloss = { kind = \"uniform\", min = \"0%\", max = \"1%\" }\n",
        );
        let rules: Vec<Rule> = experiment.network.delay_box.iter().map(DelayBox::rule).collect();
        let matching =
            Matching { from: Some(LinkSide::Left), sender: Some(Side::Initiator), port: Some(443), subset: Some(2) };
        assert_eq!((rules[0].matching, &rules[0].loss), (matching, &LossRate::Measured));
        assert_eq!(rules[0].delay.as_ref().unwrap().quantile(0.5), 64e6);
        assert_eq!(rules[0].rate.as_ref().unwrap().quantile(0.75), 10e6);
        assert_eq!(rules[1].delay.as_ref().unwrap().quantile(0.9), 5e6);
        assert!(matches!(&rules[1].loss, LossRate::Drawn(loss) if loss.max() == 0.01));
    }

    #[test]
    fn what_sends_the_packets_reads() {
        let bottleneck = |text: &str| read(&format!("[network.bottleneck]\n{text}")).network.bottleneck;
        let shaper = bottleneck("shaper = { rate = \"10mbit\", burst = \"32k\" }").shaper.unwrap();
        assert_eq!(shaper.config(), BucketConfig::new("10mbit".parse().unwrap(), 32 << 10).unwrap());
        let both = bottleneck("trace = \"a.up\"").trace.unwrap();
        assert_eq!(both.files(), [&PathBuf::from("a.up"); 2]);
        let mut each = bottleneck("trace = { from-left = \"a.up\", from-right = \"/b.down\" }").trace.unwrap();
        each.join(std::path::Path::new("dir"));
        assert_eq!(each.files(), [&PathBuf::from("dir/a.up"), &PathBuf::from("/b.down")]);
    }

    #[test]
    fn impossible_values_are_refused_with_their_line() {
        for (text, wanted) in [
            ("[network.path]\nloss = \"101%\"", "x.toml:2: network.path.loss: \"101%\" is not a share of 0% to 100%"),
            ("[network.path]\nloss = \"-1%\"", "x.toml:2: network.path.loss: \"-1%\" is not a share"),
            (
                "[network.path]\nloss = 0.01",
                "x.toml:2: network.path.loss: invalid type: floating point `0.01`, expected a share as \"1%\"",
            ),
            (
                "[network.path]\n\nloss = { kind = \"gilbert\", p = \"1%\" }",
                "x.toml:3: network.path.loss.kind: unknown word \"gilbert\"",
            ),
            (
                "[network.path]\nloss = { kind = \"gilbert-elliott\", p = \"1%\" }",
                "x.toml:2: network.path.loss: missing field `r`",
            ),
            ("[network.path]\nloss = { kind = \"bernoulli\", p = \"1%\", q = 1 }", "x.toml:2: unknown key \"q\""),
            (
                "[network.path]\nloss = { kind = \"list\", packets = [\"x\"] }",
                "x.toml:2: network.path.loss: \"x\" is no packet and no interval",
            ),
            (
                "[network.path]\nloss = { kind = \"list\", packets = [\"8-5\"] }",
                "x.toml:2: network.path.loss: 8-5 is no interval of packets",
            ),
            (
                "[network.path]\njitter = { kind = \"normal\", mean = \"1ms\" }",
                "x.toml:2: network.path.jitter: missing field `sd`",
            ),
            (
                "[network.path]\njitter = { kind = \"uniform\", min = \"2ms\", max = \"1ms\" }",
                "x.toml:2: network.path.jitter: max of a distribution must be not below min",
            ),
            ("[network.path]\njitter = \"-1ms\"", "x.toml:2: network.path.jitter: \"-1ms\" is not a time"),
            ("[network.path]\nreorder = { gap = 5 }", "x.toml:2: network.path.reorder: missing field `share`"),
            ("[network.path]\nlos = \"1%\"", "x.toml:2: unknown key \"los\""),
            (
                "[[network.delay-box]]\ndelay = { kind = \"empirical\", values = [[\"1ms\", 0.4]] }",
                "x.toml:2: network.delay-box.1.delay: the probabilities add up to 0.4, not to 1",
            ),
            (
                "[[network.delay-box]]\nrate = \"unlimited\"",
                "x.toml:2: network.delay-box.1.rate: a value of a distribution must be",
            ),
            (
                "[[network.delay-box]]\nrate = \"0mbit\"",
                "x.toml:2: network.delay-box.1.rate: \"0mbit\" is not a rate above zero",
            ),
            ("[[network.delay-box]]\nfrom = \"middle\"", "x.toml:2: network.delay-box.1.from: unknown word \"middle\""),
            ("[[network.delay-box]]\nport = 80\n", "network.delay-box.1 changes nothing"),
            (
                "[network.bottleneck]\nshaper = { rate = \"1mbit\", burst = \"100b\" }",
                "x.toml:2: network.bottleneck.shaper: a burst of 100 bytes lets no packet of 1514 bytes pass",
            ),
            (
                "[network.bottleneck]\npolicer = { rate = \"1mbit\", burst = \"10p\" }",
                "x.toml:2: network.bottleneck.policer.burst: \"10p\" is not a number of bytes",
            ),
            (
                "[network.bottleneck]\nrate = \"1mbit\"\ntrace = \"a.up\"",
                "network.bottleneck has a trace, which is its rate: leave out rate",
            ),
            (
                "[network.bottleneck]\nshaper = { rate = \"1mbit\", burst = \"2k\" }\ntrace = \"a.up\"",
                "network.bottleneck has a trace and a shaper",
            ),
        ] {
            let message = Experiment::parse(text, "x.toml").unwrap_err().to_string();
            assert!(message.contains(wanted), "{text:?} gave {message}");
        }
    }
}
