//! `[network]`: the network between the two sides of the workload (`docs/reference/topology.md`).

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flowloom_core::keys::{Amount, POSITIVE, Quantity, Written};
use flowloom_core::path::cell_keys::Cells;
use flowloom_core::path::keys::{Bucket, DelayBox, Path as PathKeys, Traces};
use flowloom_core::queue::keys::Queue;
use flowloom_core::time::Duration;
use flowloom_core::units::{ParseQuantityError, Rate};

use super::topology::{Ends, Link, Route, Topology};

/// The rate of the bottleneck: fixed, or relative to the load that the workload offers (methods M.9).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateChoice {
    /// 1 Gbit/s, or twice the capture's peak 10 ms rate if that is higher.
    Auto,
    /// So many bit/s.
    Fixed(Rate),
    /// This factor times the offered load of the busier direction.
    OfLoad(f64),
}

/// Of the offered load; more is a slip of the keyboard.
const MOST_PERCENT: f64 = 1e6;

impl FromStr for RateChoice {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<RateChoice, ParseQuantityError> {
        if text == "auto" {
            return Ok(RateChoice::Auto);
        }
        let Some(percent) = text.strip_suffix('%') else { return text.parse().map(RateChoice::Fixed) };
        match percent.trim_end_matches(' ').parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= MOST_PERCENT => Ok(RateChoice::OfLoad(percent / 100.0)),
            _ => Err(ParseQuantityError::Form {
                text: text.to_owned(),
                expected: "a rate or a share of the offered load",
                example: "496mbit or 105%",
            }),
        }
    }
}

impl Written for RateChoice {
    const FORMAT: &'static str = "link-rate";
    const MEANING: &'static str = "a bit rate with its unit, a share of the load that is offered, or auto";
    const EXAMPLES: &'static [&'static str] = &["496mbit", "105%", "auto"];
    const PLAIN: Option<&'static str> = Rate::PLAIN;

    fn pattern() -> String {
        // Above zero and at most a million, or with an exponent, of which a pattern cannot tell.
        const PERCENT: &str = r"0*[1-9][0-9]{0,5}(\.[0-9]*)?|0*1000000(\.0*)?|0*\.0*[1-9][0-9]*";
        format!(r"auto|{}|\+?({PERCENT}|{POSITIVE}[eE][+-]?[0-9]+) *%", Rate::pattern())
    }

    fn amount(&self) -> Option<Amount> {
        match self {
            RateChoice::Fixed(rate) => rate.amount(),
            RateChoice::Auto | RateChoice::OfLoad(_) => None,
        }
    }
}

/// `[network]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Network {
    /// Shape of the network; default: dumbbell.
    pub topology: Topology,
    /// `parking-lot`: number of links, 1 to 1000; default: 6.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub hops: Option<u16>,
    /// The shared link, which results are about.
    pub bottleneck: Bottleneck,
    /// `graph`: nodes of the two sides of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<Ends>,
    /// `graph`: other links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// `graph`: routes that replace those over the fewest links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// Impairments of packets on the way to the link.
    #[serde(skip_serializing_if = "PathKeys::is_default")]
    pub path: PathKeys,
    /// Rules for the paths of single flows; the first rule that matches is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delay_box: Vec<DelayBox>,
}

impl Network {
    /// Whether paths or queues draw, so that seeds differ.
    pub fn draws(&self) -> bool {
        let links = self.links.iter().map(|link| (&link.queue, &link.cells));
        let mut queues = links.chain([(&self.bottleneck.queue, &self.bottleneck.cells)]);
        let draws = |(queue, cells): (&Queue, &Option<Cells>)| cells.is_none() && queue.kind.draws();
        !self.path.is_default() || !self.delay_box.is_empty() || queues.any(draws)
    }

    /// Its shape, to be read before what its bottleneck is.
    pub fn kind(&self) -> String {
        match self.topology {
            Topology::Dumbbell => "dumbbell".to_owned(),
            Topology::ParkingLot => format!("parking lot of {} links", self.hops()),
            Topology::Graph => format!("graph of {} links, the bottleneck", 1 + self.links.len()),
        }
    }

    /// What it has beside a link with a queue, to be read behind those.
    pub fn additions(&self) -> String {
        let rules = match self.delay_box.len() {
            0 => None,
            1 => Some("1 DelayBox rule".to_owned()),
            rules => Some(format!("{rules} DelayBox rules")),
        };
        let said = [
            self.bottleneck.trace.is_some().then(|| "rate of a trace (its mean is given)".to_owned()),
            self.bottleneck.shaper.is_some().then(|| "token-bucket shaper".to_owned()),
            self.bottleneck.policer.is_some().then(|| "policer".to_owned()),
            (!self.path.is_default()).then(|| "impaired path".to_owned()),
            rules,
        ];
        said.into_iter().flatten().map(|addition| format!(", {addition}")).collect()
    }
}

/// `[network.bottleneck]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Bottleneck {
    /// Bit rate, Ethernet bytes (IP bytes + 14) count; a share of the load that the workload offers, such as "105%"; or auto:
    /// 1gbit, or twice the peak rate of the capture if that is more. Default: auto.
    #[schemars(extend("least" = "100bit", "most" = "100tbit"))]
    pub rate: Quantity<RateChoice>,
    /// Propagation delay, one way; default: 0ms.
    #[schemars(extend("most" = "1h"))]
    pub delay: Quantity<Duration>,
    /// Queue at each end; default: drop-tail.
    pub queue: Queue,
    /// Cells that carry the packets, and their buffer in place of the queue; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
    /// Delivery opportunities instead of a rate: files of mahimahi, relative to the experiment file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Traces>,
    /// Token bucket that packets wait for behind the queue: bursts at the rate of the link, `rate` of the bucket in the long
    /// run. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaper: Option<Bucket>,
    /// Token bucket that drops packets before the queue; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer: Option<Bucket>,
    /// `graph`: node on the left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// `graph`: node on the right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl Bottleneck {
    /// What packets wait in, in words.
    pub fn buffer(&self) -> String {
        buffer(&self.queue, self.cells.as_ref())
    }
}

/// What packets wait in before a link, in words.
pub(super) fn buffer(queue: &Queue, cells: Option<&Cells>) -> String {
    cells.map_or_else(|| queue.to_string(), ToString::to_string)
}

impl Default for Bottleneck {
    fn default() -> Bottleneck {
        Bottleneck {
            rate: Quantity::of("auto"),
            delay: Quantity::of("0ms"),
            queue: Queue::default(),
            cells: None,
            trace: None,
            shaper: None,
            policer: None,
            from: None,
            to: None,
        }
    }
}
