//! What was learnt from captures beside their vectors: warnings, decisions, counts, facts for workload files.

use std::collections::BTreeMap;

use serde::Serialize;

use flowloom_core::extract::{Class, Counts, FlowCounts, SideRule, TrafficSeries};
use flowloom_core::wire::SetAsideCounts;
use flowloom_core::workload::{InitiatorRule, LinkSide, Pattern, PerSide, Repaired, Repeated};
use flowloom_report::describe::ClassShare;
use flowloom_report::text::{counted, thousands};
use flowloom_store::capture::{Format, InputFacts, Skipped};
use flowloom_store::workload::{
    CaptureFacts, ConnectionCounts, DatagramFacts, DirectionSeries, FlowFacts, InputFile, PerSideBytes, Provenance,
    TrafficFacts,
};

use super::options::CaptureOptions;
use crate::context::Context;
use crate::warning::{Warning, WarningKind};

/// What was learnt from captures beside their vectors.
pub struct Extracted {
    /// The captures, in the order in which they were read.
    pub inputs: Vec<InputFacts>,
    /// Entries of a folder of captures that are no captures.
    pub skipped: Vec<Skipped>,
    /// Packets that are neither TCP nor UDP, or could not be read, by reason.
    pub packets_set_aside: SetAsideCounts,
    /// Segments, connections and flows.
    pub counts: Counts,
    /// Packets over time, of what is replayed and of what was set aside.
    pub series: TrafficSeries,
    /// Packets read.
    pub packets: u64,
    /// Their lengths on the wire, in bytes.
    pub captured_bytes: u64,
    /// How they were read.
    pub options: CaptureOptions,
    /// Whether the work was stopped: the vectors are those of the part that was read.
    pub interrupted: bool,
}

/// What was counted, as `extract --json` prints it (`docs/reference/json.md`).
#[derive(Serialize)]
pub struct Summary {
    packets: u64,
    bytes: u64,
    duration_ns: u64,
    connections: ConnectionCounts,
    classes: BTreeMap<&'static str, CutCounts>,
    payload_bytes: PerSideBytes,
    set_aside: BTreeMap<String, u64>,
    tcp: TcpCounts,
    datagrams: DatagramCounts,
    initiator_rule: BTreeMap<&'static str, u64>,
    link_side_rule: BTreeMap<&'static str, u64>,
    inputs: Vec<InputSummary>,
    warnings: Vec<String>,
    interrupted: bool,
}

#[derive(Serialize)]
struct TcpCounts {
    packets: u64,
    link_bytes: u64,
    data_segments: u64,
    duplicate_segments: u64,
    duplicates: DuplicateCounts,
    late_segments: u64,
    reordered_segments: u64,
    uncaptured_segments: u64,
    segments_lost_before_monitor: u64,
    lost_before_monitor: RepairCounts,
    missing_bytes: u64,
    unacked_bytes: u64,
    connections_with_missing_bytes: u64,
    keep_alives_and_probes: u64,
    keep_alives: u64,
    window_probes: u64,
    handshakes_repeated: u64,
    ports_reused: u64,
    ended_by_idle_timeout: u64,
    ended_by_memory_limit: u64,
    stragglers: u64,
    straggler_bytes: u64,
    in_two_vlans: u64,
    halves_in_two_vlans: u64,
    clock_ran_backwards: u64,
    starts_moved: u64,
}

/// UDP and QUIC.
#[derive(Serialize)]
struct DatagramCounts {
    packets: u64,
    link_bytes: u64,
    udp: FlowFacts,
    quic: FlowFacts,
    ended_by_memory_limit: u64,
}

/// Duplicate segments by what they were.
#[derive(Serialize)]
struct DuplicateCounts {
    timeout: u64,
    fast: u64,
    other: u64,
    spurious: u64,
    copies: u64,
    unknown: u64,
}

/// Segments lost before the monitor by what sent them again.
#[derive(Serialize)]
struct RepairCounts {
    timeout: u64,
    fast: u64,
    other: u64,
}

/// Connections of one class that a border of the capture cuts.
#[derive(Serialize)]
struct CutCounts {
    connections: u64,
    began_before: u64,
    not_ended: u64,
}

#[derive(Serialize)]
struct InputSummary {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    format: String,
    compression: String,
    bytes: u64,
    packets: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    drops: Option<u64>,
    records_skipped: u64,
}

impl Extracted {
    /// Says what the user should know, for commands whose answer does not hold it.
    pub fn warn(&self, context: Context<'_>) {
        self.warnings().iter().for_each(|warning| context.warn(warning));
    }

    /// The classes that are not replayed, with what their packets came to.
    pub fn set_aside_classes(&self) -> [ClassShare; 2] {
        [Class::NoData, Class::OneWay].map(|class| {
            let counts = self.counts.class(class);
            ClassShare {
                class: class.name(),
                connections: counts.connections,
                packets: Some(counts.packets),
                payload_bytes: Some(counts.payload_bytes.initiator + counts.payload_bytes.acceptor),
            }
        })
    }

    /// Connections by class, as workload files keep them.
    pub fn connections(&self) -> ConnectionCounts {
        let count = |choose: fn(Class) -> bool| self.counts.connections_where(choose);
        ConnectionCounts {
            total: self.counts.connections(),
            sequential: count(|class| matches!(class, Class::Replayable { pattern: Pattern::Sequential, .. })),
            concurrent: count(|class| matches!(class, Class::Replayable { pattern: Pattern::Concurrent, .. })),
            no_data: count(|class| class == Class::NoData),
            one_way: count(|class| class == Class::OneWay),
            complete: count(|class| matches!(class, Class::Replayable { complete: true, .. })),
            incomplete: count(|class| matches!(class, Class::Replayable { complete: false, .. })),
        }
    }

    /// What was set aside, by reason: packets that are neither TCP nor UDP, connections and flows that cannot be replayed.
    fn set_aside(&self) -> BTreeMap<String, u64> {
        let packets =
            self.packets_set_aside.iter().map(|(reason, count)| (format!("packets-{}", reason.name()), count));
        let connections = [
            ("connections-no-data", self.connections().no_data),
            ("connections-one-way", self.connections().one_way),
            ("connections-incomplete", self.counts.incomplete_left_out),
            ("flows-no-data", self.counts.datagrams.udp.no_data + self.counts.datagrams.quic.no_data),
        ];
        packets
            .chain(connections.map(|(name, count)| (name.to_owned(), count)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// What the user should know, each with its remedy.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |kind, cause: String, remedy: &str| warnings.push(Warning::new(kind, cause, remedy));
        self.warn_of_contents(&mut warn);
        self.warn_of_inputs(&mut warn);
        self.warn_of_connections(&mut warn);
        if self.interrupted {
            warn(
                WarningKind::Interrupted,
                format!("interrupted after {}", counted(self.packets, "packet")),
                "the part that was read is kept",
            );
        }
        warnings
    }

    /// Whether there is anything to replay, and how much of it the capture cuts.
    fn warn_of_contents(&self, warn: &mut impl FnMut(WarningKind, String, &str)) {
        let connections = self.connections();
        let replayable = connections.sequential + connections.concurrent;
        let datagrams = self.counts.datagrams;
        if self.counts.packets + datagrams.packets == 0 {
            let wanted = if self.options.tcp_only { "TCP" } else { "TCP or UDP" };
            warn(
                WarningKind::NoTraffic,
                format!("none of the {} packets is {wanted} that could be read", thousands(self.packets)),
                "`flowloom describe` says what they are; capture with `tcpdump -s 96 tcp or udp`",
            );
        } else if self.counts.packets == 0 {
            warn(
                WarningKind::NoTcp,
                "no connection can be replayed: there is UDP and no TCP".to_owned(),
                "the flows of datagrams are kept; capture TCP too",
            );
        } else if replayable == 0 {
            warn(
                WarningKind::NothingReplayable,
                "no connection can be replayed: none has data and packets of both directions".to_owned(),
                "capture at a point that sees both directions",
            );
        }
        if replayable > 0 && connections.incomplete * 4 > replayable {
            warn(
                WarningKind::ManyIncomplete,
                format!(
                    "{:.0} % of the replayable connections began before the capture did or did not end in it; they are replayed as seen",
                    100.0 * connections.incomplete as f64 / replayable as f64
                ),
                "use --complete-only, or a longer capture",
            );
        }
        if self.counts.long_near_transits * 2 > self.counts.near_transits {
            warn(
                WarningKind::MonitorDoubtful,
                format!(
                    "--monitor {} says the capture was made there, but the way to that end and back is longer than 5 ms for {} of {} connections",
                    self.options.monitor.word(),
                    thousands(self.counts.long_near_transits),
                    thousands(self.counts.near_transits)
                ),
                "leave --monitor out unless the capture was made at that end",
            );
        }
        let unknown = self.counts.side_rule(SideRule::Unknown);
        if unknown > 0 && replayable > 0 {
            warn(
                WarningKind::UnknownSide,
                unknown_side(unknown),
                "say which addresses are on the left with --inside PREFIX",
            );
        }
    }

    /// What was wrong with the captures, their clocks and their loss.
    fn warn_of_inputs(&self, warn: &mut impl FnMut(WarningKind, String, &str)) {
        let jumps: u64 = self.inputs.iter().map(|input| input.jumps).sum();
        if jumps > 0 {
            warn(
                WarningKind::ClockJumps,
                format!("the capture's clock jumps by more than a day, {}", times(jumps)),
                "captures that were pasted together replay with the same gaps; extract them one by one",
            );
        }
        if self.counts.clock_backwards > 0 {
            warn(
                WarningKind::ClockRunsBackwards,
                format!(
                    "the clock runs backwards, {}, by up to {}",
                    times(self.counts.clock_backwards),
                    self.counts.farthest_backwards
                ),
                "waits across such steps are taken as zero; reordercap puts packets in order",
            );
        }
        if self.inputs.iter().any(|input| input.truncated) {
            warn(
                WarningKind::CutCapture,
                "a capture was cut off and read up to there".to_owned(),
                "its last connections may be incomplete",
            );
        }
        let drops: u64 = self.inputs.iter().filter_map(|input| input.drops).sum();
        if drops > 0 && self.inputs.iter().any(|input| input.format == Format::Interface) {
            warn(
                WarningKind::KernelDrops,
                format!("the kernel lost {}, because extraction could not keep up", counted(drops, "packet")),
                "what they carried counts as missing; capture to a file with `tcpdump -s 96` and extract that",
            );
        } else if drops > 0 {
            warn(
                WarningKind::CaptureDrops,
                format!("the capture lost {}, by the capturing system's own count", counted(drops, "packet")),
                "what they carried counts as missing; capture headers only, or to a faster disk",
            );
        }
        if self.inputs.iter().any(|input| input.went_down) {
            warn(
                WarningKind::InterfaceDown,
                "the network interface went down, and the capture ended there".to_owned(),
                "what was read is kept",
            );
        }
        if !self.skipped.is_empty() {
            let count = self.skipped.len();
            let (subject, are) = if count == 1 { ("entry", "is") } else { ("entries", "are") };
            warn(
                WarningKind::SkippedEntries,
                format!("{count} {subject} of the folder {are} no capture and left out"),
                "-v says which and why",
            );
        }
    }

    /// What was doubtful about connections.
    fn warn_of_connections(&self, warn: &mut impl FnMut(WarningKind, String, &str)) {
        let Counts { memory_ended, vlan_changes, vlan_halves, straggler_bytes, .. } = self.counts;
        if memory_ended > 0 {
            warn(
                WarningKind::MemoryFull,
                format!(
                    "{} ended early because memory was full; what follows of theirs may count again",
                    counted(memory_ended, "connection")
                ),
                "raise --max-memory, or lower --idle-timeout",
            );
        }
        if self.counts.datagrams.memory_ended > 0 {
            warn(
                WarningKind::MemoryFull,
                format!("{} cut because memory was full", counted(self.counts.datagrams.memory_ended, "datagram flow")),
                "raise --max-memory, or lower --udp-idle-timeout",
            );
        }
        if vlan_changes > 0 {
            warn(
                WarningKind::MixedVlans,
                format!(
                    "{} with packets of one end in two VLANs: different ones may be mixed up",
                    counted(vlan_changes, "connection")
                ),
                "--vlan-key keeps connections in different VLANs apart",
            );
        }
        if vlan_halves > 0 {
            warn(
                WarningKind::SplitVlans,
                format!("{} with each end in a VLAN of its own, in two halves", counted(vlan_halves, "connection")),
                "leave out --vlan-key",
            );
        }
        if straggler_bytes > 0 {
            warn(
                WarningKind::LateData,
                format!(
                    "{} of data came long after their connections had closed, and are in no vector",
                    counted(straggler_bytes, "byte")
                ),
                "see docs/guide/extraction.md on closed connections",
            );
        }
    }

    /// Which rules decided what, and why packets and connections were set aside.
    pub fn explanation(&self) -> String {
        let Counts { initiator_rules, side_rules, .. } = self.counts;
        let mut text = String::new();
        let mut say = |line: String| text.push_str(&(line + "\n"));
        for (reason, count) in self.packets_set_aside.iter().filter(|(_, count)| *count > 0) {
            say(format!("{count} packets set aside: {}", reason.sentence()));
        }
        for Skipped { name, why } in &self.skipped {
            say(format!("{name}: left out: {why}"));
        }
        let connections = self.connections();
        for (count, why) in [
            (connections.no_data, "no payload byte in either direction"),
            (connections.one_way, "packets of one direction only: who waited for whom cannot be told"),
            (self.counts.incomplete_left_out, "incomplete, and --complete-only leaves those out"),
        ] {
            if count > 0 {
                say(format!("{count} connections set aside: {why}"));
            }
        }
        let DatagramFacts { udp, quic } = self.datagrams();
        for (name, FlowFacts { flows, no_data, one_way, .. }) in [("UDP", udp), ("QUIC", quic)] {
            if flows > 0 {
                say(format!("{flows} {name} flows, {one_way} of one direction; {no_data} set aside: no payload byte"));
            }
        }
        let by_rule = |names: [&str; 4], counts: [u64; 4]| {
            let told = names.into_iter().zip(counts).filter(|(_, count)| *count > 0);
            told.map(|(name, count)| format!("{count} by {name}")).collect::<Vec<_>>().join(", ")
        };
        let rules = ["its SYN", "the other end's SYN/ACK", "the larger port", "the first packet"];
        say(format!("initiator told: {}", by_rule(rules, initiator_rules)));
        let sides = ["direction marks", "--inside", "MAC addresses", "nothing (taken as left)"];
        say(format!("side of the link told: {}", by_rule(sides, side_rules)));
        text
    }

    /// Flows of datagrams by protocol.
    fn datagrams(&self) -> DatagramFacts {
        let facts = |counts: FlowCounts| FlowFacts {
            flows: counts.flows,
            no_data: counts.no_data,
            one_way: counts.one_way,
            packets: counts.packets,
            payload_bytes: PerSideBytes {
                initiator: counts.payload_bytes.initiator,
                acceptor: counts.payload_bytes.acceptor,
            },
        };
        DatagramFacts { udp: facts(self.counts.datagrams.udp), quic: facts(self.counts.datagrams.quic) }
    }

    /// The capture's facts for a workload file.
    pub fn facts(&self) -> CaptureFacts {
        let PerSide { initiator, acceptor } = self.counts.payload_bytes();
        CaptureFacts {
            packets: self.packets,
            bytes: self.captured_bytes,
            duration_ns: self.counts.duration().as_nanos(),
            peak_10ms_bytes: self.series.peak_bytes,
            offered_link_bytes: None,
            first_packet_unix_ns: self.counts.first.filter(|_| !self.options.anonymize).map(|time| time.as_nanos()),
            connections: self.connections(),
            payload_bytes: PerSideBytes { initiator, acceptor },
            datagrams: self.datagrams(),
            set_aside: self.set_aside(),
            unknown_side_connections: self.counts.side_rule(SideRule::Unknown),
            warnings: self.warnings().iter().map(Warning::to_string).collect(),
        }
    }

    /// Where the vectors come from.
    pub fn provenance(&self) -> Provenance {
        let options = [
            ("inside", serde_json::json!(self.options.inside)),
            ("idle_timeout_ns", serde_json::json!(self.options.idle_timeout.as_nanos())),
            ("udp_idle_timeout_ns", serde_json::json!(self.options.udp_idle_timeout.as_nanos())),
            ("tcp_only", serde_json::json!(self.options.tcp_only)),
            ("monitor", serde_json::json!(self.options.monitor.word())),
            ("complete_only", serde_json::json!(self.options.complete_only)),
            ("vlan_key", serde_json::json!(self.options.vlan_key)),
            ("max_memory_bytes", serde_json::json!(self.options.max_memory)),
            ("allow_truncated", serde_json::json!(self.options.allow_truncated)),
        ];
        let mut provenance = Provenance {
            tool: concat!("flowloom ", env!("CARGO_PKG_VERSION")).to_owned(),
            inputs: self
                .inputs
                .iter()
                .map(|input| InputFile {
                    name: Some(input.name.clone()),
                    sha256: input.sha256.clone().unwrap_or_default(),
                    bytes: input.bytes_read,
                })
                .collect(),
            options: options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        };
        if self.options.anonymize {
            // Prefixes are addresses too.
            provenance.options.remove("inside");
            provenance.anonymize();
        }
        provenance
    }

    /// The original's packets over time.
    pub fn traffic(&self) -> TrafficFacts {
        let directions = |series: &[flowloom_core::record::Series; 2]| DirectionSeries {
            from_left: series[LinkSide::Left as usize].clone(),
            from_right: series[LinkSide::Right as usize].clone(),
        };
        TrafficFacts { replayed: directions(&self.series.replayed), set_aside: directions(&self.series.set_aside) }
    }

    /// Everything that was counted.
    pub fn summary(&self) -> Summary {
        let counts = &self.counts;
        let facts = self.facts();
        let rules = [
            ("syn", InitiatorRule::Syn),
            ("syn-ack", InitiatorRule::SynAck),
            ("port", InitiatorRule::Port),
            ("first-packet", InitiatorRule::FirstPacket),
        ];
        let sides = [
            ("marks", SideRule::Marks),
            ("inside", SideRule::Inside),
            ("macs", SideRule::Macs),
            ("unknown", SideRule::Unknown),
        ];
        let Repeated { timeout, fast, other, spurious, copies, unknown } = counts.segments.repeated;
        let cut = |class: Class| {
            let of_class = counts.class(class);
            let (connections, began_before, not_ended) =
                (of_class.connections, of_class.began_before, of_class.not_ended);
            (class.name(), CutCounts { connections, began_before, not_ended })
        };
        Summary {
            packets: facts.packets,
            bytes: facts.bytes,
            duration_ns: facts.duration_ns,
            connections: facts.connections,
            classes: Class::ALL.map(cut).into(),
            payload_bytes: facts.payload_bytes,
            set_aside: facts.set_aside,
            tcp: TcpCounts {
                packets: counts.packets,
                link_bytes: counts.link_bytes,
                data_segments: counts.segments.data,
                duplicate_segments: counts.segments.duplicates,
                duplicates: DuplicateCounts { timeout, fast, other, spurious, copies, unknown },
                late_segments: counts.segments.late,
                reordered_segments: counts.segments.reordered(),
                uncaptured_segments: counts.segments.uncaptured,
                segments_lost_before_monitor: counts.segments.lost_before,
                lost_before_monitor: {
                    let Repaired { timeout, fast, other } = counts.segments.repaired;
                    RepairCounts { timeout, fast, other }
                },
                missing_bytes: counts.segments.missing_bytes,
                unacked_bytes: counts.segments.unacked_bytes,
                connections_with_missing_bytes: counts.with_missing_bytes,
                keep_alives_and_probes: counts.segments.keep_alives + counts.segments.window_probes,
                keep_alives: counts.segments.keep_alives,
                window_probes: counts.segments.window_probes,
                handshakes_repeated: counts.handshake_repeated,
                ports_reused: counts.port_reuse,
                ended_by_idle_timeout: counts.idle_ended,
                ended_by_memory_limit: counts.memory_ended,
                stragglers: counts.stragglers,
                straggler_bytes: counts.straggler_bytes,
                in_two_vlans: counts.vlan_changes,
                halves_in_two_vlans: counts.vlan_halves,
                clock_ran_backwards: counts.clock_backwards,
                starts_moved: counts.starts_moved,
            },
            datagrams: DatagramCounts {
                packets: counts.datagrams.packets,
                link_bytes: counts.datagrams.link_bytes,
                udp: facts.datagrams.udp,
                quic: facts.datagrams.quic,
                ended_by_memory_limit: counts.datagrams.memory_ended,
            },
            initiator_rule: rules.map(|(name, rule)| (name, counts.initiator_rule(rule))).into(),
            link_side_rule: sides.map(|(name, rule)| (name, counts.side_rule(rule))).into(),
            inputs: self
                .inputs
                .iter()
                .map(|input| InputSummary {
                    name: Some(input.name.clone()).filter(|_| !self.options.anonymize),
                    format: input.format.to_string(),
                    compression: input.compression.to_string(),
                    bytes: input.bytes_read,
                    packets: input.packets,
                    sha256: input.sha256.clone(),
                    truncated: input.truncated,
                    drops: input.drops,
                    records_skipped: input.records_skipped,
                })
                .collect(),
            warnings: facts.warnings,
            interrupted: self.interrupted,
        }
    }
}

/// Warns of connections and flows whose side of the link is unknown.
pub fn unknown_side(vectors: u64) -> String {
    let initiators = if vectors == 1 { "its initiator is" } else { "their initiators are" };
    format!("the side of the link is unknown for {}; {initiators} taken as left", counted(vectors, "vector"))
}

/// How often.
fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", thousands(count)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_nouns_agree() {
        assert_eq!(unknown_side(1), "the side of the link is unknown for 1 vector; its initiator is taken as left");
        assert_eq!(
            unknown_side(1_723),
            "the side of the link is unknown for 1,723 vectors; their initiators are taken as left"
        );
        assert_eq!((times(1), times(1_000)), ("once".to_owned(), "1,000 times".to_owned()));
    }
}
