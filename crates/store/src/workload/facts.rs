//! What a workload file says about itself beside its rows.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use flowloom_core::extract::{KeptPayload, SetAsideHoles};
use flowloom_core::record::{Series, Traffic};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, LinkSide, Payload, PerSide, Side, sum};
use serde::{Deserialize, Serialize};

use crate::manifest::FileDigest;
use crate::silence::{ClockJumps, Stretches};

/// Where a workload came from.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Provenance {
    /// Name and version of the program that wrote it, `flowloom 0.1.0`.
    pub tool: String,
    /// The files it was made from, in the order given.
    pub inputs: Vec<InputFile>,
    /// The options that shaped it, by name.
    pub options: BTreeMap<String, serde_json::Value>,
}

/// The option that says from when until when an interface was captured, also where no packet came: two times in nanoseconds since 1970 UTC.
pub const CAPTURED: &str = "captured_ns";

impl Provenance {
    /// From when until when an interface was captured, if it says so.
    pub fn captured(&self) -> Option<[u64; 2]> {
        serde_json::from_value(self.options.get(CAPTURED)?.clone()).ok()
    }

    /// Leaves out the names of the input files (methods M.12); their SHA-256 stays.
    pub fn anonymize(&mut self) {
        self.inputs.iter_mut().for_each(|input| input.name = None);
    }
}

/// A file a workload was made from.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InputFile {
    /// Its name as given, `None` if the user wants it left out.
    pub name: Option<String>,
    /// SHA-256 of its bytes, in hexadecimal digits; empty if it was not read to its end.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
}

impl InputFile {
    /// The identity of the file at `path`, by the last part of its name.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(path: &Path) -> io::Result<InputFile> {
        let FileDigest { bytes, sha256 } = FileDigest::of(path)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(InputFile { name, sha256, bytes })
    }
}

/// Most packets, bytes or connections of an original: sums of several such numbers are numbers still.
const MOST: u64 = 1 << 60;

/// What the original was, counted where it was read: a capture, or a generator's output.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaptureFacts {
    /// Packets read.
    pub packets: u64,
    /// Their bytes on the link.
    pub bytes: u64,
    /// First to last packet, in nanoseconds.
    pub duration_ns: u64,
    /// Bytes on the link in the busiest 10 ms of either direction (methods M.9).
    pub peak_10ms_bytes: u64,
    /// Bytes on the link from the left and from the right, estimated from the vectors (methods A.11), of a workload that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_link_bytes: Option<[u64; 2]>,
    /// Wall-clock time of the first packet, nanoseconds since 1970 UTC; `None` if unknown or left out.
    pub first_packet_unix_ns: Option<u64>,
    /// Connections by class (methods A.2).
    pub connections: ConnectionCounts,
    /// Payload bytes of the connections in the file that were captured, each counted once.
    pub payload_bytes: PerSideBytes,
    /// Payload of the connections in the file: captured, missing, replayed.
    #[serde(default)]
    pub payload: PayloadFacts,
    /// Flows of datagrams.
    #[serde(default)]
    pub datagrams: DatagramFacts,
    /// What was set aside: reason and count.
    pub set_aside: BTreeMap<String, u64>,
    /// Bytes of what was set aside, by the same reasons: of connections and flows their captured payload, of packets their
    /// length on the wire. A reason that is not here has none, or they were not counted.
    #[serde(default)]
    pub set_aside_bytes: BTreeMap<String, u64>,
    /// Connections whose side of the link is unknown and was taken as left (methods M.2).
    pub unknown_side_connections: u64,
    /// Packets that the capture holds more than once.
    #[serde(default, skip_serializing_if = "CopyFacts::is_empty")]
    pub copies: CopyFacts,
    /// The user stopped the extraction: what was read until then is here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// What the user should know about the extraction.
    pub warnings: Vec<String>,
}

/// Exact copies among the packets of a capture: they count in throughput and load like all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CopyFacts {
    /// Packets that are copies of one shortly before.
    pub packets: u64,
    /// Packets of which it can be told whether they are.
    pub judged: u64,
}

impl CopyFacts {
    /// Fewer copies are an accident.
    const NOTABLE_PACKETS: u64 = 20;

    /// A smaller share of copies changes no result.
    const NOTABLE_SHARE: f64 = 0.05;

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// The share of the packets of which it can be told; 0 of none.
    pub fn share(&self) -> f64 {
        self.packets as f64 / self.judged.max(1) as f64
    }

    /// Whether there are so many that results are doubtful: 20 packets and 5 %.
    pub fn is_doubtful(&self) -> bool {
        self.packets >= CopyFacts::NOTABLE_PACKETS && self.share() >= CopyFacts::NOTABLE_SHARE
    }
}

/// The payload of the TCP connections in a file: what was captured, what is missing (holes in the sequence space that never
/// filled, methods A.3), how much of that was acknowledged, and what a replay sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PayloadFacts {
    /// Connections of which bytes are missing.
    pub connections_with_missing: u64,
    /// Sent by initiators.
    pub initiator: Payload,
    /// Sent by acceptors.
    pub acceptor: Payload,
    /// Sent from the left side of the link.
    pub from_left: Payload,
    /// Sent from the right side.
    pub from_right: Payload,
    /// Of the replayed bytes, those that the clock releases in a replay by default, and not an acknowledgement or the other end's data
    /// (methods A.13.11); `None` in files of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocked_bytes: Option<u64>,
    /// What the capture lacks of connections that are set aside and not in the file.
    #[serde(skip_serializing_if = "SetAsideHoles::is_empty")]
    pub set_aside: SetAsideHoles,
    /// A file states these numbers of all its vectors, and no vector tells what is missing of it: a part of them lacks as much in proportion.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stated: bool,
}

/// The payload that a capture lacks, of connections that are set aside too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Lacking {
    /// Connections of which bytes are missing.
    pub connections: u64,
    /// The bytes that are missing.
    pub missing: u64,
    /// Of these, those that were acknowledged.
    pub acknowledged: u64,
    /// Of these, those that are replayed.
    pub replayed: u64,
    /// Payload that was captured of the connections in the file.
    pub captured: u64,
    /// Payload that was captured of connections that are set aside.
    pub captured_aside: u64,
}

impl Lacking {
    /// The share of all that was sent.
    pub fn share(&self) -> f64 {
        self.missing as f64 / sum([self.captured, self.captured_aside, self.missing]).max(1) as f64
    }

    /// The share beside what was captured of the connections in the file: what is captured of others makes up for nothing that these lack.
    pub fn share_of_file(&self) -> f64 {
        Lacking { captured_aside: 0, ..*self }.share()
    }

    /// With that of another file or draw.
    #[must_use]
    pub fn plus(&self, other: &Lacking) -> Lacking {
        Lacking {
            connections: sum([self.connections, other.connections]),
            missing: sum([self.missing, other.missing]),
            acknowledged: sum([self.acknowledged, other.acknowledged]),
            replayed: sum([self.replayed, other.replayed]),
            captured: sum([self.captured, other.captured]),
            captured_aside: sum([self.captured_aside, other.captured_aside]),
        }
    }
}

impl CaptureFacts {
    /// What no capture can have of these numbers, in words: sums of all others do not overflow.
    pub(crate) fn impossible(&self) -> Option<String> {
        let [offered_left, offered_right] = self.offered_link_bytes.unwrap_or_default();
        let ConnectionCounts { total, sequential, concurrent, no_data, one_way, complete, incomplete } =
            self.connections;
        let most_connections =
            [total, sequential, concurrent, no_data, one_way, complete, incomplete].into_iter().max().unwrap_or(0);
        let of_flows = |flows: &FlowFacts| {
            let FlowFacts { flows, no_data, one_way, packets, payload_bytes: PerSideBytes { initiator, acceptor } } =
                *flows;
            [flows, no_data, one_way, packets, initiator, acceptor].into_iter().max().unwrap_or(0)
        };
        let all = |counts: &BTreeMap<String, u64>| sum(counts.values().copied());
        let counts = [
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("peak_10ms_bytes", self.peak_10ms_bytes),
            ("offered_link_bytes", offered_left.max(offered_right)),
            ("connections", most_connections),
            ("payload_bytes", self.payload_bytes.initiator.max(self.payload_bytes.acceptor)),
            ("datagrams.udp", of_flows(&self.datagrams.udp)),
            ("datagrams.quic", of_flows(&self.datagrams.quic)),
            ("set_aside", all(&self.set_aside)),
            ("set_aside_bytes", all(&self.set_aside_bytes)),
            ("unknown_side_connections", self.unknown_side_connections),
        ];
        let of_counts = counts.into_iter().find(|(_, count)| *count > MOST);
        let of_counts =
            of_counts.map(|(key, count)| format!("capture.{key} says {count}, and at most {MOST} can be counted"));
        of_counts.or_else(|| {
            let Payload { captured, missing, acknowledged, replayed } = self.payload.total();
            (!self.payload.is_possible()).then(|| {
                format!(
                    "capture.payload says {captured} captured, {missing} missing, {acknowledged} acknowledged and {replayed} replayed bytes, \
                     which no capture has"
                )
            })
        })
    }
}

impl From<KeptPayload> for PayloadFacts {
    fn from(kept: KeptPayload) -> PayloadFacts {
        let KeptPayload { ends: PerSide { initiator, acceptor }, sides: [from_left, from_right], .. } = kept;
        let (connections_with_missing, clocked_bytes) = (kept.with_missing, Some(kept.clocked));
        PayloadFacts {
            connections_with_missing,
            initiator,
            acceptor,
            from_left,
            from_right,
            clocked_bytes,
            ..PayloadFacts::default()
        }
    }
}

impl PayloadFacts {
    /// Whether a capture can have such numbers; sums of them do not overflow then.
    pub(crate) fn is_possible(&self) -> bool {
        let ends = [self.initiator, self.acceptor, self.from_left, self.from_right];
        let is_possible =
            |of: &Payload| of.captured.max(of.missing).max(of.replayed) <= MOST && of.acknowledged <= of.missing;
        let SetAsideHoles { connections, captured_bytes, missing_bytes, acknowledged_bytes } = self.set_aside;
        let counts = [
            self.connections_with_missing,
            self.clocked_bytes.unwrap_or(0),
            connections,
            captured_bytes,
            missing_bytes,
        ];
        counts.iter().all(|count| *count <= MOST) && acknowledged_bytes <= missing_bytes && ends.iter().all(is_possible)
    }

    /// The share of the replayed bytes that the clock releases; `None` if that is not known, and without a byte.
    pub fn clocked_share(&self) -> Option<f64> {
        let replayed = self.total().replayed;
        self.clocked_bytes.filter(|_| replayed > 0).map(|bytes| bytes as f64 / replayed as f64)
    }

    /// Both directions together.
    pub fn total(&self) -> Payload {
        self.initiator + self.acceptor
    }

    /// What the capture lacks in both directions together, of connections that are set aside too.
    pub fn lacking(&self) -> Lacking {
        let SetAsideHoles { connections, captured_bytes, missing_bytes, acknowledged_bytes } = self.set_aside;
        let total = self.total();
        Lacking {
            connections: sum([self.connections_with_missing, connections]),
            missing: sum([total.missing, missing_bytes]),
            acknowledged: sum([total.acknowledged, acknowledged_bytes]),
            replayed: total.replayed_missing(),
            captured: total.captured,
            captured_aside: captured_bytes,
        }
    }

    /// What stands for a part of this payload, with its part of what the capture lacks of connections that are set aside: nobody knows
    /// which of them belong to the part. Where a file states what is missing of all of it the same holds for that.
    #[must_use]
    pub fn part(&self, part: PayloadFacts) -> PayloadFacts {
        let part = if self.stated { self.stated_part(&part) } else { part };
        let [all, captured] = [self, &part].map(|facts| u128::from(facts.total().captured));
        let of = |count: u64| match all {
            0 => count,
            _ => u64::try_from(u128::from(count) * captured / all).unwrap_or(u64::MAX),
        };
        let SetAsideHoles { connections, captured_bytes, missing_bytes, acknowledged_bytes } = self.set_aside;
        let set_aside = SetAsideHoles {
            connections: of(connections),
            captured_bytes: of(captured_bytes),
            missing_bytes: of(missing_bytes),
            acknowledged_bytes: of(acknowledged_bytes),
        };
        PayloadFacts { set_aside, ..part }
    }

    /// The payload of `part`, which replays all its bytes, with the share of them that is missing of the whole.
    fn stated_part(&self, part: &PayloadFacts) -> PayloadFacts {
        let of = |whole: Payload, part: Payload| {
            let scaled = |bytes: u64| {
                let scaled = u128::from(bytes) * u128::from(part.replayed) / u128::from(whole.replayed.max(1));
                u64::try_from(scaled).unwrap_or(u64::MAX)
            };
            let [captured, missing, acknowledged] = [whole.captured, whole.missing, whole.acknowledged].map(scaled);
            Payload { captured, missing, acknowledged, replayed: part.replayed }
        };
        let (initiator, acceptor) = (of(self.initiator, part.initiator), of(self.acceptor, part.acceptor));
        // Both sides of the link add up to what both ends do, and no side has more acknowledged than is missing.
        let (total, left) = (initiator + acceptor, of(self.from_left, part.from_left));
        let missing = left.missing.min(total.missing);
        let least = total.acknowledged.saturating_sub(total.missing - missing);
        let from_left = Payload {
            captured: left.captured.min(total.captured),
            missing,
            acknowledged: left.acknowledged.min(total.acknowledged).max(least),
            ..left
        };
        let from_right = Payload {
            captured: total.captured - from_left.captured,
            missing: total.missing - from_left.missing,
            acknowledged: total.acknowledged - from_left.acknowledged,
            replayed: part.from_right.replayed,
        };
        let connections = u128::from(self.connections_with_missing) * u128::from(total.replayed)
            / u128::from(self.total().replayed.max(1));
        let connections_with_missing = u64::try_from(connections).unwrap_or(u64::MAX);
        PayloadFacts { connections_with_missing, initiator, acceptor, from_left, from_right, stated: true, ..*part }
    }
}

/// Connections by class (methods A.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConnectionCounts {
    /// All of them.
    pub total: u64,
    /// Replayable, ends take turns.
    pub sequential: u64,
    /// Replayable, both ends send at once.
    pub concurrent: u64,
    /// Without a payload byte.
    pub no_data: u64,
    /// Seen in one direction only.
    pub one_way: u64,
    /// Replayable, SYN and (FIN or RST) seen.
    pub complete: u64,
    /// Replayable, the others.
    pub incomplete: u64,
}

/// Flows of datagrams by protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DatagramFacts {
    /// UDP.
    pub udp: FlowFacts,
    /// QUIC.
    pub quic: FlowFacts,
}

/// Flows of datagrams: each is those of one 5-tuple until it falls silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlowFacts {
    /// All of them.
    pub flows: u64,
    /// Without a payload byte: set aside.
    pub no_data: u64,
    /// Seen in one direction only; they are kept.
    pub one_way: u64,
    /// Their datagrams.
    pub packets: u64,
    /// Their payload bytes.
    pub payload_bytes: PerSideBytes,
}

impl FlowFacts {
    /// Counts a flow and what is known of it.
    pub(crate) fn add(&mut self, flow: &ConnectionVector) {
        let packets = Side::BOTH.map(|side| flow.ends[side].packets);
        self.flows += 1;
        self.no_data += u64::from(flow.adus.iter().all(|adu| adu.bytes == 0));
        self.one_way += u64::from(packets.contains(&Some(0)));
        self.packets = packets.into_iter().flatten().fold(self.packets, u64::saturating_add);
        // A file may state anything.
        let PerSideBytes { initiator, acceptor } = &mut self.payload_bytes;
        *initiator = initiator.saturating_add(flow.bytes(Side::Initiator));
        *acceptor = acceptor.saturating_add(flow.bytes(Side::Acceptor));
    }
}

/// Bytes of both sides of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PerSideBytes {
    /// Sent by initiators.
    pub initiator: u64,
    /// Sent by acceptors.
    pub acceptor: u64,
}

impl From<PerSide<u64>> for PerSideBytes {
    fn from(PerSide { initiator, acceptor }: PerSide<u64>) -> PerSideBytes {
        PerSideBytes { initiator, acceptor }
    }
}

/// What stands for the name of an input where names are left out.
const UNNAMED: &str = "the input";

/// Everything a workload file says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkloadFacts {
    /// Where it came from.
    pub provenance: Provenance,
    /// What the original was.
    pub capture: CaptureFacts,
    /// Connections in the file, flows of datagrams among them.
    pub connections: u64,
    /// Of them, the flows of datagrams.
    #[serde(default)]
    pub datagram_flows: u64,
    /// Of the others, those without a minimum round-trip time.
    pub connections_without_rtt: u64,
    /// Median of the known minimum round-trip times, at most 0.05 % below the exact one; `None` if none is known.
    pub rtt_median_ns: Option<u64>,
    /// The original's packets over time.
    #[serde(skip)]
    pub traffic: TrafficFacts,
}

impl WorkloadFacts {
    /// Leaves out the names of the input files, in warnings and options as well, and the time of day (methods M.12).
    pub fn anonymize(&mut self) {
        let given = self.provenance.inputs.iter().filter_map(|input| input.name.clone());
        let last = |name: &String| Path::new(name).file_name().map(|last| last.to_string_lossy().into_owned());
        let mut names: Vec<String> = given.flat_map(|name| [last(&name), Some(name)]).flatten().collect();
        names.retain(|name| !name.is_empty());
        // A path before the file name in it.
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        for warning in &mut self.capture.warnings {
            *warning = names.iter().fold(std::mem::take(warning), |text, name| unnamed(&text, name));
        }
        self.provenance.options.values_mut().for_each(|value| without(value, &names));
        self.provenance.anonymize();
        self.capture.first_packet_unix_ns = None;
    }

    /// How long the original is without the jumps of its clock.
    pub fn observed(&self) -> Duration {
        Duration::from_nanos(self.capture.duration_ns).saturating_sub(self.clock_jumps().total())
    }

    /// How the capture's clock jumps.
    pub fn clock_jumps(&self) -> ClockJumps {
        self.traffic.clock_jumps(Duration::from_nanos(self.capture.duration_ns))
    }
}

/// `text` without `name`, where that is no part of a longer word.
fn unnamed(text: &str, name: &str) -> String {
    let (mut shown, mut end) = (String::new(), 0);
    for (start, _) in text.match_indices(name) {
        let before = text[..start].chars().next_back();
        let after = text[start + name.len()..].chars().next();
        if start >= end && !before.into_iter().chain(after).any(char::is_alphanumeric) {
            shown.push_str(&text[end..start]);
            shown.push_str(UNNAMED);
            end = start + name.len();
        }
    }
    shown + &text[end..]
}

/// Replaces texts in `value` that are one of `names`.
fn without(value: &mut serde_json::Value, names: &[String]) {
    match value {
        serde_json::Value::String(text) if names.contains(text) => UNNAMED.clone_into(text),
        serde_json::Value::Array(values) => values.iter_mut().for_each(|value| without(value, names)),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(|value| without(value, names)),
        _ => {}
    }
}

/// The original's packets over time, each direction of the link by itself. All series have one bin width, but for those without a bin.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrafficFacts {
    /// Packets of the TCP connections in the file.
    pub replayed: DirectionSeries,
    /// Datagrams of the flows in the file; in files of version 1 they are among those set aside.
    #[serde(default)]
    pub datagrams: DirectionSeries,
    /// Packets of everything else (methods M.8).
    pub set_aside: DirectionSeries,
}

impl TrafficFacts {
    /// How the clock of a capture jumps that lasts so long.
    pub fn clock_jumps(&self, length: Duration) -> ClockJumps {
        let stretches = self.all().map(|series| {
            let start = |(bin, _): &(u64, Traffic)| Time::from_nanos(bin.saturating_mul(series.width().as_nanos()));
            series.bins().map(start).collect::<Stretches>()
        });
        ClockJumps::between(&[Time::ZERO, Time::ZERO + length], &stretches)
    }

    /// Packets from `side` that a replay has, with the datagrams if it sends them.
    pub fn sent(&self, side: LinkSide, datagrams: bool) -> Series {
        let TrafficFacts { replayed, datagrams: flows, .. } = self;
        if datagrams { together(replayed.from(side), flows.from(side)) } else { replayed.from(side).clone() }
    }

    /// Packets from `side` that a replay does not have, which sends the datagrams or not.
    pub fn left_out(&self, side: LinkSide, datagrams: bool) -> Series {
        let TrafficFacts { set_aside, datagrams: flows, .. } = self;
        if datagrams { set_aside.from(side).clone() } else { together(set_aside.from(side), flows.from(side)) }
    }

    /// All series.
    fn all(&self) -> [&Series; 6] {
        let TrafficFacts { replayed, datagrams, set_aside } = self;
        let [a, b, c] = [replayed, datagrams, set_aside].map(|both| [&both.from_left, &both.from_right]);
        [a[0], a[1], b[0], b[1], c[0], c[1]]
    }
}

/// A series per direction of the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionSeries {
    /// Packets from the left side.
    #[serde(with = "stored_series")]
    pub from_left: Series,
    /// Packets from the right side.
    #[serde(with = "stored_series")]
    pub from_right: Series,
}

impl Default for DirectionSeries {
    fn default() -> DirectionSeries {
        let empty = Series::new(Duration::from_millis(1));
        DirectionSeries { from_left: empty.clone(), from_right: empty }
    }
}

impl DirectionSeries {
    /// The series of packets from `side`.
    pub fn from(&self, side: LinkSide) -> &Series {
        match side {
            LinkSide::Left => &self.from_left,
            LinkSide::Right => &self.from_right,
        }
    }
}

/// Bins that a series in a file may have.
pub(super) const MAX_BINS: usize = 65_536;

impl TrafficFacts {
    /// The same traffic in the narrowest bins of 1, 2, 5, 10, 20, 50, ... times the present width that leave each
    /// series [`MAX_BINS`] or fewer.
    pub(super) fn bounded(&self) -> TrafficFacts {
        let all = self.all();
        let fits = |factor: u64| all.iter().all(|series| bins_when(series, factor) <= MAX_BINS);
        let factor =
            (0..).flat_map(|power| [1, 2, 5].map(|step: u64| step.saturating_mul(10u64.saturating_pow(power))));
        let factor = factor.into_iter().find(|factor| fits(*factor)).unwrap_or(u64::MAX);
        let coarsen = |both: &DirectionSeries| DirectionSeries {
            from_left: both.from_left.coarsen(factor),
            from_right: both.from_right.coarsen(factor),
        };
        TrafficFacts {
            replayed: coarsen(&self.replayed),
            datagrams: coarsen(&self.datagrams),
            set_aside: coarsen(&self.set_aside),
        }
    }
}

/// Both series added. One without a bin may have any width.
fn together(one: &Series, other: &Series) -> Series {
    let (mut sum, more) = if one.is_empty() { (other.clone(), one) } else { (one.clone(), other) };
    more.bins().for_each(|(bin, traffic)| sum.add_bin(*bin, *traffic));
    sum
}

/// How many bins `series` has when its bins are `factor` times as wide.
fn bins_when(series: &Series, factor: u64) -> usize {
    let mut last = None;
    series.bins().filter(|(index, _)| last.replace(index / factor) != Some(index / factor)).count()
}

/// A series as four lists of the same length: small in JSON, and columns for whoever reads it.
mod stored_series {
    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    use super::{Deserialize, Duration, Serialize, Series, Time, Traffic};

    /// Most packets or bytes of a series: sums of several are numbers still.
    const MOST_TRAFFIC: u64 = 1 << 60;

    #[derive(Serialize, Deserialize, Default)]
    struct Stored {
        /// Bin width.
        width_ns: u64,
        /// Bins since the bin before (since bin 0 for the first).
        step: Vec<u64>,
        packets: Vec<u64>,
        bytes: Vec<u64>,
        payload_bytes: Vec<u64>,
    }

    pub(super) fn serialize<S: Serializer>(series: &Series, serializer: S) -> Result<S::Ok, S::Error> {
        let mut stored = Stored { width_ns: series.width().as_nanos(), ..Stored::default() };
        let mut last = 0;
        for &(index, traffic) in series.bins() {
            stored.step.push(index - last);
            stored.packets.push(traffic.packets);
            stored.bytes.push(traffic.bytes);
            stored.payload_bytes.push(traffic.payload_bytes);
            last = index;
        }
        stored.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Series, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let length = stored.step.len();
        if [&stored.packets, &stored.bytes, &stored.payload_bytes].iter().any(|list| list.len() != length) {
            return Err(D::Error::custom("the lists of a traffic series differ in length"));
        }
        for list in [&stored.packets, &stored.bytes, &stored.payload_bytes] {
            let sum = list.iter().try_fold(0u64, |sum, value| sum.checked_add(*value));
            if sum.is_none_or(|sum| sum > MOST_TRAFFIC) {
                return Err(D::Error::custom("a traffic series has more packets or bytes than can be counted"));
            }
        }
        let mut series = Series::new(Duration::from_nanos(stored.width_ns));
        let mut index = 0u64;
        for bin in 0..length {
            index = index.saturating_add(stored.step[bin]);
            let start = index
                .checked_mul(series.width().as_nanos())
                .ok_or_else(|| D::Error::custom("a bin of a traffic series is beyond the end of time"))?;
            let traffic = Traffic {
                packets: stored.packets[bin],
                bytes: stored.bytes[bin],
                payload_bytes: stored.payload_bytes[bin],
            };
            series.add(Time::from_nanos(start), traffic);
        }
        Ok(series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Initiators, on the left, lack 100 that nobody acknowledged, and acceptors 100 that were; parts of any shape are possible.
    #[test]
    fn stated_parts_are_possible_and_add_up() {
        let of = |captured, missing, acknowledged| Payload {
            captured,
            missing,
            acknowledged,
            replayed: captured + acknowledged,
        };
        let (up, down) = (of(1_000, 100, 0), of(3_001, 100, 100));
        let whole = PayloadFacts {
            connections_with_missing: 7,
            initiator: up,
            acceptor: down,
            from_left: up,
            from_right: down,
            stated: true,
            ..PayloadFacts::default()
        };
        assert_eq!(whole.part(whole), whole);
        let replaying = |bytes| Payload { captured: bytes, replayed: bytes, ..Payload::default() };
        for [initiator, acceptor, left] in
            [[100, 310, 100], [333, 777, 0], [900, 10, 910], [0, 3_101, 1], [10, 9_999, 500]]
        {
            let part = whole.part(PayloadFacts {
                initiator: replaying(initiator),
                acceptor: replaying(acceptor),
                from_left: replaying(left),
                from_right: replaying(initiator + acceptor - left),
                ..PayloadFacts::default()
            });
            assert!(part.stated && part.is_possible(), "{part:?}");
            assert_eq!(part.total(), part.from_left + part.from_right);
            assert_eq!(part.total().replayed, initiator + acceptor);
            assert!(part.total().missing > 0 && part.connections_with_missing <= 7 * 3, "{part:?}");
        }
    }

    #[test]
    fn names_are_left_out_of_warnings_and_options() {
        let input = InputFile { name: Some("lab/ab.pcap".to_owned()), ..InputFile::default() };
        let provenance = Provenance {
            inputs: vec![input],
            options: [("hosts".to_owned(), "ab.pcap".into())].into(),
            ..Provenance::default()
        };
        let told = ["cut: lab/ab.pcap:5", "in ab.pcap, not in lab.pcap or cab.pcap"].map(str::to_owned);
        let capture = CaptureFacts { first_packet_unix_ns: Some(1), warnings: told.into(), ..CaptureFacts::default() };
        let mut facts = WorkloadFacts { provenance, capture, ..WorkloadFacts::default() };
        facts.anonymize();
        assert_eq!(facts.capture.warnings, ["cut: the input:5", "in the input, not in lab.pcap or cab.pcap"]);
        assert_eq!(
            (&facts.provenance.options["hosts"], facts.capture.first_packet_unix_ns),
            (&"the input".into(), None)
        );
        assert_eq!(facts.provenance.inputs[0].name, None);
    }

    #[test]
    fn a_series_that_cannot_be_summed_is_refused() {
        let of = |bytes: u64| {
            let none = r#"{"width_ns":1,"step":[],"packets":[],"bytes":[],"payload_bytes":[]}"#;
            // Both in one bin.
            let two = format!(
                r#"{{"width_ns":1000,"step":[3,0],"packets":[1,1],"bytes":[{bytes},{bytes}],"payload_bytes":[0,0]}}"#
            );
            let facts = format!(
                r#"{{"replayed":{{"from_left":{two},"from_right":{none}}},"set_aside":{{"from_left":{none},"from_right":{none}}}}}"#
            );
            serde_json::from_str::<TrafficFacts>(&facts).map_err(|error| error.to_string())
        };
        let found = of(1 << 59).unwrap();
        assert_eq!(found.replayed.from(LinkSide::Left).bins().map(|(_, traffic)| traffic.bytes).sum::<u64>(), 1 << 60);
        for bytes in [(1 << 59) + 1, u64::MAX] {
            let error = of(bytes).unwrap_err();
            assert!(error.contains("more packets or bytes than can be counted"), "{error}");
        }
    }
}
