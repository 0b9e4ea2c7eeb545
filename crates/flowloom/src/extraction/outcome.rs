//! What was learnt from captures beside their vectors: warnings, decisions, counts, facts for workload files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use flowloom_core::extract::{Class, Counts, FlowCounts, SideRule, TrafficSeries};
use flowloom_core::wire::SetAsideCounts;
use flowloom_core::workload::{InitiatorRule, LinkSide, Pattern, Repaired, Repeated};
use flowloom_report::describe::ClassShare;
use flowloom_store::capture::{Format, InputFacts, Skipped, Truncation};
use flowloom_store::workload::{
    CaptureFacts, ConnectionCounts, CopyFacts, DatagramFacts, DirectionSeries, FlowFacts, InputFile, PayloadFacts,
    PerSideBytes, Provenance, TrafficFacts,
};

use super::options::CaptureOptions;
use crate::contents::Contents;
use crate::context::Context;
use crate::warning::Warning;

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
    /// Packets that the captures hold more than once.
    pub copies: CopyFacts,
    /// Whether the work was stopped: the vectors are those of the part that was read.
    pub interrupted: bool,
    /// The workload file that holds the vectors, if one was written; the empty path otherwise.
    pub workload: PathBuf,
}

/// What was counted, as `extract --json` prints it (`docs/reference/json.md`).
#[derive(Serialize)]
pub struct Summary {
    packets: u64,
    bytes: u64,
    duration_ns: u64,
    connections: ConnectionCounts,
    classes: BTreeMap<&'static str, ClassSummary>,
    payload_bytes: PerSideBytes,
    payload: PayloadFacts,
    set_aside: BTreeMap<String, u64>,
    set_aside_bytes: BTreeMap<String, u64>,
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
    missing_acked_bytes: u64,
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
    oversized_segments: u64,
    merged_packets: u64,
    doubled_connections: u64,
    doubled_packets: u64,
    doubled_bytes: u64,
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

/// Connections of one class, and those of them that a border of the capture cuts.
#[derive(Serialize)]
struct ClassSummary {
    connections: u64,
    packets: u64,
    payload_bytes: u64,
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

    /// What is kept, and has a vector.
    pub fn contents(&self) -> Contents {
        let flows = |counts: FlowCounts| counts.flows - counts.no_data;
        let [sequential, concurrent] = self.counts.kept_by_pattern;
        let datagrams = self.counts.datagrams;
        Contents { sequential, concurrent, totals_only: 0, udp: flows(datagrams.udp), quic: flows(datagrams.quic) }
    }

    /// What was set aside, by reason: packets that are neither TCP nor UDP, connections and flows that cannot be replayed.
    /// Each reason has a number and the bytes that [`CaptureFacts::set_aside_bytes`] describes.
    fn set_aside(&self) -> Vec<(String, u64, u64)> {
        let Counts { incomplete_left_out, missing_left_out, doubled, .. } = &self.counts;
        let packets = self
            .packets_set_aside
            .iter()
            .map(|(reason, count)| (format!("packets-{}", reason.name()), count, self.packets_set_aside.bytes(reason)));
        let class = |class: Class| {
            let counts = self.counts.class(class);
            (counts.connections, counts.payload_bytes.initiator + counts.payload_bytes.acceptor)
        };
        let datagrams = self.counts.datagrams;
        let one_way = if self.options.one_way { (0, 0) } else { class(Class::OneWay) };
        let others = [
            ("connections-no-data", class(Class::NoData)),
            ("connections-one-way", one_way),
            ("connections-incomplete", (incomplete_left_out.connections, incomplete_left_out.payload_bytes)),
            ("connections-missing-bytes", (missing_left_out.connections, missing_left_out.payload_bytes)),
            ("flows-no-data", (datagrams.udp.no_data + datagrams.quic.no_data, 0)),
            ("packets-doubled", (doubled.packets, doubled.payload_bytes)),
        ];
        let others = others.map(|(name, (count, bytes))| (name.to_owned(), count, bytes));
        packets.chain(others).filter(|(_, count, _)| *count > 0).collect()
    }

    /// What the user should know, each with its remedy.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.warnings_of_contents();
        warnings.extend(self.warnings_of_inputs());
        warnings.extend(self.warnings_of_connections());
        warnings.extend(self.interrupted.then_some(Warning::ExtractionInterrupted { packets: self.packets }));
        warnings
    }

    /// Whether there is anything to replay, and how much of it the capture cuts.
    fn warnings_of_contents(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let connections = self.connections();
        let replayable = connections.sequential + connections.concurrent;
        if self.counts.packets + self.counts.datagrams.packets == 0 {
            warnings.push(Warning::NoTraffic { packets: self.packets, tcp_only: self.options.tcp_only });
        } else if self.counts.packets == 0 {
            warnings.push(Warning::NoTcp);
        } else if replayable == 0 && !(self.options.one_way && connections.one_way > 0) {
            warnings.push(Warning::NothingReplayable);
        }
        // Those of one direction, which may be among the left-out ones, are not replayable.
        let left_out = &self.counts.missing_left_out;
        let replayed = replayable.saturating_sub(left_out.connections);
        let incomplete = connections.incomplete.saturating_sub(left_out.incomplete);
        if !self.options.complete_only && incomplete * 4 > replayed {
            warnings.push(Warning::ManyIncomplete { connections: incomplete, replayable: replayed });
        }
        let Counts { long_near_transits: far, near_transits, .. } = self.counts;
        if far * 2 > near_transits {
            let monitor = self.options.monitor;
            warnings.push(Warning::MonitorDoubtful { monitor, far, connections: near_transits });
        }
        let vectors = self.counts.side_rule(SideRule::Unknown);
        if vectors > 0 && replayable > 0 {
            warnings.push(Warning::UnknownSide { vectors, given: !self.options.inside.is_empty() });
        }
        warnings
    }

    /// What was wrong with the captures, their clocks and their loss.
    fn warnings_of_inputs(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let jumps: u64 = self.inputs.iter().map(|input| input.jumps).sum();
        if jumps > 0 {
            warnings.push(Warning::ClockJumps { jumps });
        }
        if self.counts.clock_backwards > 0 {
            let farthest = self.counts.farthest_backwards;
            warnings.push(Warning::ClockRunsBackwards { steps: self.counts.clock_backwards, farthest });
        }
        if self.copies.is_doubtful() {
            let CopyFacts { packets, .. } = self.copies;
            warnings.push(Warning::CapturedTwice { packets, share: self.copies.share() });
        }
        let files = self.inputs.iter().filter(|input| input.truncated).count();
        if files > 0 {
            warnings.push(Warning::CutCapture { files });
        }
        let packets: u64 = self.inputs.iter().filter_map(|input| input.drops).sum();
        if packets > 0 && self.inputs.iter().any(|input| input.format == Format::Interface) {
            warnings.push(Warning::KernelDrops { packets });
        } else if packets > 0 {
            warnings.push(Warning::CaptureDrops { packets });
        }
        if self.inputs.iter().any(|input| input.went_down) {
            warnings.push(Warning::InterfaceDown);
        }
        if !self.skipped.is_empty() {
            warnings.push(Warning::SkippedEntries { entries: self.skipped.len() });
        }
        warnings
    }

    /// What was doubtful about connections.
    fn warnings_of_connections(&self) -> impl Iterator<Item = Warning> {
        let Counts { memory_ended, vlan_changes, vlan_halves, straggler_bytes, doubled, oversized, merged, .. } =
            self.counts;
        let flows = self.counts.datagrams.memory_ended;
        let all = [
            (memory_ended, Warning::MemoryFull { connections: memory_ended }),
            (flows, Warning::MemoryFullOfDatagrams { flows }),
            (vlan_changes, Warning::MixedVlans { connections: vlan_changes }),
            (vlan_halves, Warning::SplitVlans { connections: vlan_halves }),
            (straggler_bytes, Warning::LateData { bytes: straggler_bytes }),
            (oversized, Warning::OffloadedCapture { segments: oversized, packets: oversized + merged }),
            (doubled.packets, Warning::DoubledAcceptors { doubled }),
        ];
        let of_counts = all.into_iter().filter(|(count, _)| *count > 0).map(|(_, warning)| warning);
        of_counts.chain(Warning::of_missing_bytes(&self.payload(), self.options.missing.unwrap_or_default()))
    }

    /// Which rules decided what, and why packets and connections were set aside.
    pub fn explanation(&self) -> String {
        let Counts { initiator_rules, side_rules, .. } = self.counts;
        let mut text = String::new();
        let mut say = |line: String| text.push_str(&(line + "\n"));
        for (reason, count) in self.packets_set_aside.iter().filter(|(_, count)| *count > 0) {
            say(format!("{count} packets set aside: {}", reason.sentence()));
        }
        for (number, Skipped { name, why }) in (1..).zip(&self.skipped) {
            match self.options.anonymize {
                true => say(format!("entry {number} that is no capture: left out: {why}")),
                false => say(format!("{name}: left out: {why}")),
            }
        }
        let connections = self.connections();
        let one_way = if self.options.one_way { 0 } else { connections.one_way };
        for (count, why) in [
            (connections.no_data, "no payload byte in either direction"),
            (one_way, "packets of one direction only: who waited for whom cannot be told"),
            (self.counts.incomplete_left_out.connections, "incomplete, and --complete-only leaves those out"),
            (self.counts.missing_left_out.connections, "the capture lacks bytes, and --missing skip leaves those out"),
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
        let set_aside = self.set_aside();
        CaptureFacts {
            packets: self.packets,
            bytes: self.captured_bytes,
            duration_ns: self.counts.duration().as_nanos(),
            peak_10ms_bytes: self.series.peak_bytes,
            offered_link_bytes: None,
            first_packet_unix_ns: self.counts.first.filter(|_| !self.options.anonymize).map(|time| time.as_nanos()),
            connections: self.connections(),
            payload_bytes: self.counts.kept.captured_bytes().into(),
            payload: self.payload(),
            datagrams: self.datagrams(),
            set_aside: set_aside.iter().map(|(name, count, _)| (name.clone(), *count)).collect(),
            set_aside_bytes: set_aside.into_iter().map(|(name, _, bytes)| (name, bytes)).collect(),
            unknown_side_connections: self.counts.side_rule(SideRule::Unknown),
            copies: self.copies,
            interrupted: self.interrupted,
            warnings: self.warnings().iter().map(Warning::to_string).collect(),
        }
    }

    /// The payload of the connections that are kept, and what the capture lacks of others.
    fn payload(&self) -> PayloadFacts {
        PayloadFacts { set_aside: self.counts.set_aside_holes, ..self.counts.kept.into() }
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
            ("missing", serde_json::json!(self.options.missing.unwrap_or_default().word())),
            ("allow_truncated", serde_json::json!(self.options.truncation == Truncation::Allow)),
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
        TrafficFacts {
            replayed: directions(&self.series.replayed),
            datagrams: directions(&self.series.datagrams),
            set_aside: directions(&self.series.set_aside),
        }
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
            let summary = ClassSummary {
                connections: of_class.connections,
                packets: of_class.packets,
                payload_bytes: of_class.payload_bytes.initiator + of_class.payload_bytes.acceptor,
                began_before: of_class.began_before,
                not_ended: of_class.not_ended,
            };
            (class.name(), summary)
        };
        Summary {
            packets: facts.packets,
            bytes: facts.bytes,
            duration_ns: facts.duration_ns,
            connections: facts.connections,
            classes: Class::ALL.map(cut).into(),
            payload_bytes: facts.payload_bytes,
            payload: facts.payload,
            set_aside: facts.set_aside,
            set_aside_bytes: facts.set_aside_bytes,
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
                missing_acked_bytes: counts.segments.missing_acked_bytes,
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
                oversized_segments: counts.oversized,
                merged_packets: counts.merged,
                doubled_connections: counts.doubled.connections,
                doubled_packets: counts.doubled.packets,
                doubled_bytes: counts.doubled.payload_bytes,
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
