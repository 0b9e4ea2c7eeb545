//! The variables that are described, and a variable's distribution in numbers.

use flowloom_core::sketch::{Empirical, Sketch};
use serde::Serialize;

use crate::metric::Unit;

/// A variable of connections, datagram flows or conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// Epochs of a sequential connection.
    Epochs,
    /// Payload of a connection, both ways.
    ConnectionBytes,
    /// What an initiator sends in an epoch.
    RequestBytes,
    /// What an acceptor sends in an epoch.
    ResponseBytes,
    /// A data unit of a concurrent connection.
    ConcurrentAduBytes,
    /// Between request and response.
    IntraEpochWait,
    /// Between epochs.
    InterEpochWait,
    /// After a data unit of a concurrent connection.
    ConcurrentWait,
    /// First byte of a request to last byte of its response.
    ResponseTime,
    /// First to last data byte.
    Duration,
    /// First to last packet, those without data among them.
    Lifetime,
    /// Minimum round-trip time.
    MinRtt,
    /// Largest window an initiator advertised.
    InitiatorWindow,
    /// Largest window an acceptor advertised.
    AcceptorWindow,
    /// Segments of the first flight of an end's first data.
    InitialWindow,
    /// Share of an initiator's data segments that were lost.
    InitiatorLoss,
    /// Share of an acceptor's data segments that were lost.
    AcceptorLoss,
    /// Payload of a flow of datagrams, both ways.
    FlowBytes,
    /// First to last datagram with data of a flow.
    FlowDuration,
    /// First to last datagram of a flow.
    FlowLifetime,
    /// A data unit of datagrams.
    AduBytes,
    /// Packets of a data unit of datagrams.
    AduPackets,
    /// After a data unit of datagrams.
    AduWait,
    /// Load from the left in a second with packets.
    LoadFromLeft,
    /// Load from the right in a second with packets.
    LoadFromRight,
    /// Payload of the smallest datagram of an end.
    SmallestDatagram,
    /// Payload of the largest datagram of an end.
    LargestDatagram,
    /// Payload of a conversation, both ways.
    ConversationBytes,
    /// Packets of a conversation, both ways.
    ConversationPackets,
    /// First to last packet of a conversation.
    ConversationDuration,
    /// Between the starts of neighbouring conversations of an application.
    ConversationInterarrival,
    /// Between neighbouring packets of a conversation.
    PacketGap,
    /// Payload of a packet of a conversation.
    PacketBytes,
    /// Bytes of the heavier direction of a conversation / bytes of the other.
    Directionality,
    /// Items of a conversation that has any.
    Items,
    /// Size of an item.
    ItemBytes,
}

/// How a variable is named and shown.
struct Facts {
    name: &'static str,
    words: &'static str,
    plural: &'static str,
    unit: Unit,
}

const fn facts(name: &'static str, words: &'static str, plural: &'static str, unit: Unit) -> Facts {
    Facts { name, words, plural, unit }
}

impl Variable {
    /// How many there are.
    pub(super) const COUNT: usize = Variable::ItemBytes as usize + 1;

    const fn facts(self) -> Facts {
        use Unit::{Bytes, Count, Rate, Share, Time};
        match self {
            Variable::Epochs => facts("epochs", "epochs per connection", "connections", Count),
            Variable::ConnectionBytes => facts("connection_bytes", "bytes per connection", "connections", Bytes),
            Variable::RequestBytes => facts("request_bytes", "request size", "requests", Bytes),
            Variable::ResponseBytes => facts("response_bytes", "response size", "responses", Bytes),
            Variable::ConcurrentAduBytes => facts("concurrent_adu_bytes", "data unit, concurrent", "data units", Bytes),
            Variable::IntraEpochWait => facts("intra_epoch_wait_ns", "wait within an epoch", "waits", Time),
            Variable::InterEpochWait => facts("inter_epoch_wait_ns", "wait between epochs", "waits", Time),
            Variable::ConcurrentWait => facts("concurrent_wait_ns", "wait, concurrent", "waits", Time),
            Variable::ResponseTime => facts("response_time_ns", "response time", "response times", Time),
            Variable::Duration => facts("duration_ns", "connection duration", "connections", Time),
            Variable::Lifetime => facts("lifetime_ns", "lifetime", "connections", Time),
            Variable::MinRtt => facts("min_rtt_ns", "minimum RTT", "connections", Time),
            Variable::InitiatorWindow => facts("initiator_window_bytes", "initiator's window", "initiators", Bytes),
            Variable::AcceptorWindow => facts("acceptor_window_bytes", "acceptor's window", "acceptors", Bytes),
            Variable::InitialWindow => facts("initial_window_segments", "initial window", "ends", Count),
            Variable::InitiatorLoss => facts("initiator_loss", "loss from initiator", "connections", Share),
            Variable::AcceptorLoss => facts("acceptor_loss", "loss from acceptor", "connections", Share),
            Variable::FlowBytes => facts("flow_bytes", "bytes per flow", "flows", Bytes),
            Variable::FlowDuration => facts("duration_ns", "flow duration", "flows", Time),
            Variable::FlowLifetime => facts("lifetime_ns", "lifetime", "flows", Time),
            Variable::AduBytes => facts("adu_bytes", "data unit", "data units", Bytes),
            Variable::AduPackets => facts("adu_packets", "packets per data unit", "data units", Count),
            Variable::AduWait => facts("adu_wait_ns", "wait after a data unit", "waits", Time),
            Variable::LoadFromLeft => facts("from_left_bits_per_second", "load from the left", "seconds", Rate),
            Variable::LoadFromRight => facts("from_right_bits_per_second", "load from the right", "seconds", Rate),
            Variable::SmallestDatagram => facts("smallest_datagram_bytes", "smallest datagram", "ends", Bytes),
            Variable::LargestDatagram => facts("largest_datagram_bytes", "largest datagram", "ends", Bytes),
            Variable::ConversationBytes => facts("conversation_bytes", "bytes", "conversations", Bytes),
            Variable::ConversationPackets => facts("conversation_packets", "packets", "conversations", Count),
            Variable::ConversationDuration => facts("conversation_duration_ns", "duration", "conversations", Time),
            Variable::ConversationInterarrival => {
                facts("conversation_interarrival_ns", "between conversations", "conversations", Time)
            }
            Variable::PacketGap => facts("packet_interarrival_ns", "between packets", "packets", Time),
            Variable::PacketBytes => facts("packet_bytes", "packet length", "packets", Bytes),
            Variable::Directionality => facts("directionality", "directionality", "conversations", Count),
            Variable::Items => facts("items", "items per conversation", "conversations", Count),
            Variable::ItemBytes => facts("item_bytes", "item size", "items", Bytes),
        }
    }

    /// Its name in JSON, with its unit, as columns are named.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The name in words.
    pub const fn words(self) -> &'static str {
        self.facts().words
    }

    /// What there is one value of, within "share of ...".
    pub const fn plural(self) -> &'static str {
        self.facts().plural
    }

    /// What its values are.
    pub const fn unit(self) -> Unit {
        self.facts().unit
    }

    /// Sketches count integers: shares are held in millionths, ratios in thousandths.
    pub(super) const fn scale(self) -> f64 {
        match self {
            Variable::InitiatorLoss | Variable::AcceptorLoss => 1e6,
            Variable::Directionality => 1e3,
            _ => 1.0,
        }
    }

    const fn is_wait(self) -> bool {
        matches!(
            self,
            Variable::IntraEpochWait | Variable::InterEpochWait | Variable::ConcurrentWait | Variable::AduWait
        )
    }

    /// `value` in words.
    pub fn show(self, value: f64) -> String {
        self.unit().show(value)
    }
}

/// The least wait that the published replays emulate (methods A.5.9).
const EMULATED_NS: u64 = 500_000_000;

/// A variable's distribution (quantiles are inverse-CDF, methods C.7). Up to 65,536 values it is exact, with more of
/// them quantiles may lie up to 0.05 % below the exact ones.
#[derive(Clone, Debug, Serialize)]
pub struct Distribution {
    /// Name with its unit, as columns are named.
    pub name: &'static str,
    /// Which variable.
    #[serde(skip)]
    pub variable: Variable,
    /// How many values.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// Quantile 0.1.
    pub p10: f64,
    /// Median.
    pub p50: f64,
    /// Quantile 0.8.
    pub p80: f64,
    /// Quantile 0.9.
    pub p90: f64,
    /// Quantile 0.99.
    pub p99: f64,
    /// Largest.
    pub max: f64,
    /// Of waits: the share of 500 ms and more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_of_500_ms: Option<f64>,
    /// All of it.
    #[serde(skip)]
    pub(crate) empirical: Empirical,
}

impl Distribution {
    /// `None` without values.
    pub(super) fn of(variable: Variable, sketch: &Sketch) -> Option<Distribution> {
        let empirical = sketch.empirical();
        let scaled = |value: u64| value as f64 / variable.scale();
        let quantile = |p| empirical.quantile(p).map(scaled);
        Some(Distribution {
            name: variable.name(),
            variable,
            n: empirical.count(),
            mean: empirical.mean()? / variable.scale(),
            p10: quantile(0.1)?,
            p50: quantile(0.5)?,
            p80: quantile(0.8)?,
            p90: quantile(0.9)?,
            p99: quantile(0.99)?,
            max: empirical.max().map(scaled)?,
            share_of_500_ms: if variable.is_wait() {
                empirical.cdf(EMULATED_NS - 1).map(|below| 1.0 - below)
            } else {
                None
            },
            empirical,
        })
    }

    /// Quantile `p`.
    pub fn quantile(&self, p: f64) -> f64 {
        self.empirical.quantile(p).unwrap_or(0) as f64 / self.variable.scale()
    }

    /// (value, how many), ascending.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let scale = self.variable.scale();
        self.empirical.steps().iter().map(move |step| (step.value as f64 / scale, step.count))
    }
}

/// A sketch per variable.
#[derive(Clone, Debug)]
pub(super) struct Sketches(Vec<Sketch>);

impl Default for Sketches {
    fn default() -> Sketches {
        Sketches(vec![Sketch::default(); Variable::COUNT])
    }
}

impl Sketches {
    /// Counts the values of `variable`.
    pub fn add(&mut self, variable: Variable, values: impl IntoIterator<Item = u64>) {
        self.0[variable as usize].extend(values);
    }

    /// Counts what `other` counted of `variable`.
    pub fn add_sketch(&mut self, variable: Variable, other: &Sketch) {
        self.0[variable as usize].add_all(other);
    }

    /// The sketch of `variable`.
    pub fn get(&self, variable: Variable) -> &Sketch {
        &self.0[variable as usize]
    }

    /// How many values `variable` has.
    pub fn count(&self, variable: Variable) -> u64 {
        self.get(variable).count()
    }

    /// Counts what `other` counted.
    pub fn add_all(&mut self, other: &Sketches) {
        self.0.iter_mut().zip(&other.0).for_each(|(sketch, other)| sketch.add_all(other));
    }

    /// The distributions of those of `variables` that have values.
    pub fn distributions(&self, variables: &[Variable]) -> Vec<Distribution> {
        variables.iter().filter_map(|&variable| Distribution::of(variable, &self.0[variable as usize])).collect()
    }
}
