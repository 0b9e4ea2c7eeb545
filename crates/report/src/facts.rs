//! What a run says about itself beside its tables: the fields of `run.json` and `host.json` that reports use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use flowloom_core::path::CellCounts;
use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;
use flowloom_core::workload::LinkSide;
use flowloom_store::workload::{CopyFacts, Lacking, PayloadFacts};

use crate::loops::Loops;
use crate::metric::Unit;
use crate::plausibility::Plausibility;
use crate::real_link::RealLinkFacts;
use crate::statistics::Shares;
use crate::words::{counted, thousands};

/// The fields of `run.json`. A driver fills it and passes [`Facts::to_json`] to
/// [`RunWriter::finish`](flowloom_store::run_folder::RunWriter::finish); fields that are missing are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// What it is called.
    pub title: String,
    /// What was replayed, by name; empty if left out (methods M.12).
    pub source: String,
    /// `sim`, `live` or `lab`.
    pub driver: String,
    /// How the workload was changed for the replay, in words: `a-t-b-t, usernet, measured windows`.
    pub model: String,
    /// The network, in words: `dumbbell, 1.00 Gbit/s, drop-tail 65000p`.
    pub network: String,
    /// The seed.
    pub seed: u64,
    /// The window results use, nanoseconds from the start of the run: `[start, end)`. Null: all of it.
    pub window_ns: Option<[u64; 2]>,
    /// What the window was to be, of a run that was cut short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_window_ns: Option<[u64; 2]>,
    /// The experiment as resolved, TOML.
    pub experiment: String,
    /// The command that makes the run again.
    pub command: String,
    /// The same as data; null where names were left out, and in runs of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
    /// Inputs, hashes, versions.
    pub provenance: BTreeMap<String, String>,
    /// Somebody stopped it.
    pub interrupted: bool,
    /// The disk became full, which ended it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disk_full: bool,
    /// Unfinished connections of the window that the end of the experiment cut, whatever the network did: what they wait for alone takes
    /// longer, or their own end in the original lies behind the end of the run.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut_connections: u64,
    /// The losses of the original are replayed, of every flow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replays_losses: bool,
    /// What the program that made it had to say.
    pub warnings: Vec<String>,
    /// What the experiment changes of the original: rate, queue, structure; empty of a replay under the original's conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// The payload that was to be drawn and was; null of workloads that nothing asks a payload of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn_payload: Option<DrawnPayload>,
    /// Payload bytes of the TCP connections of the workload that the run began before the end of its window, as it was to replay them; null
    /// where only sources sent, and in runs of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_replay_bytes: Option<u64>,
    /// How the workload was cut out of a longer one; null of workloads that were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_cut: Option<TraceCutFacts>,
    /// A model drew the workload: there is no original, and its times are those of no clock.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_model: bool,
    /// What the original was; null if the workload has none.
    pub original: Option<Original>,
    /// The stretch of a real link's counters that the run is shown beside; null of runs without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_link: Option<RealLinkFacts>,
    /// When the last event of the run happened, in nanoseconds from its start; null in runs of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_ns: Option<u64>,
    /// Events served; null where there is no simulator.
    pub events: Option<u64>,
    /// Packets that waited in the queues of the monitored link, or were on it before its monitor, when the run ended; null in runs of earlier
    /// versions.
    pub remaining_packets: Option<u64>,
    /// How Hurst parameters are estimated, where the experiment says so.
    #[serde(skip_serializing_if = "is_usual")]
    pub hurst: HurstChoice,
    /// Classes of connections and sources beside the workload; empty if there is only the workload.
    pub classes: Vec<ClassFacts>,
    /// The nodes and links of the simulated network, and what became of packets there; null where there is no simulator.
    pub topology: Option<Topology>,
    /// Whether flows reacted to losses as their congestion controls do, and how much was lost; null where that is not known.
    pub plausibility: Option<Plausibility>,
    /// How far the host kept up; null where there is a simulator.
    pub live: Option<LiveFacts>,
}

/// How Hurst parameters are estimated, where an experiment says so (`measure.hurst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HurstChoice {
    /// The shortest time scale of the fit, in nanoseconds; null: the octave is chosen, from 1 s on.
    pub from_ns: Option<u64>,
    /// The longest time scale of the fit, in nanoseconds; null: that of the last octave with eight coefficients.
    pub to_ns: Option<u64>,
    /// Vanishing moments of the wavelet; null: 3.
    pub moments: Option<u32>,
}

/// How a run was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Again {
    /// The captures or workload beside the keys; relative to where the command ran.
    pub inputs: Vec<String>,
    /// The keys of the experiment that were given, TOML; without defaults, unlike [`Facts::experiment`].
    pub keys: String,
    /// The folder that paths in the keys are relative to.
    pub folder: String,
    /// How captures were read, where that is not the default: options of the command line.
    pub reading: Vec<String>,
    /// The links whose packets were captured; an empty list is the bottleneck. Null: none.
    pub links: Option<Vec<String>>,
}

/// Payload of a workload that was made: what load and structure ask for, and what was drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DrawnPayload {
    /// From the left side of the link.
    pub from_left: DrawnBytes,
    /// From the right side.
    pub from_right: DrawnBytes,
}

/// A workload that was cut out of a longer one, as a trace is cut out of the traffic of a link (methods B.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceCutFacts {
    /// How long the longer workload had gone on before, in nanoseconds.
    pub after_ns: u64,
    /// TCP connections with a packet inside, before structures were changed.
    pub connections: u64,
    /// Those of them that were open before.
    pub opened_before: u64,
}

impl TraceCutFacts {
    /// In words: `cut like a trace after 1h of the model`.
    pub fn words(&self) -> String {
        format!("cut like a trace after {} of the model", Duration::from_nanos(self.after_ns).written())
    }

    /// How many connections were open before, in words, and how both readings of activity count them (methods C.4).
    pub fn share_words(share: f64) -> String {
        let share = Unit::Share.show(share);
        format!("{share} of connections began before, active from their first packet on by instants and by presence")
    }

    /// The share of connections that were open before; 0 of none.
    pub fn share(&self) -> f64 {
        self.opened_before as f64 / self.connections.max(1) as f64
    }
}

/// Payload bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DrawnBytes {
    /// Those that load and structure ask for.
    pub asked_bytes: u64,
    /// Those of the vectors.
    pub drawn_bytes: u64,
}

impl DrawnPayload {
    /// By the side of the link: asked for, drawn.
    pub fn new(asked_bytes: [u64; 2], drawn_bytes: [u64; 2]) -> DrawnPayload {
        let of = |side: usize| DrawnBytes { asked_bytes: asked_bytes[side], drawn_bytes: drawn_bytes[side] };
        DrawnPayload { from_left: of(0), from_right: of(1) }
    }
}

/// How far the host of a live run kept up, and what it was made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveFacts {
    /// The kernel whose TCP it was.
    pub kernel: String,
    /// The devices through which packets came, in words.
    pub devices: String,
    /// Worker processes on each side.
    pub workers: u16,
    /// Hosts on each side over which connections were spread; 0 where a side was one host.
    pub hosts: u8,
    /// The emulator looked at its devices so often.
    pub tick_ns: u64,
    /// What packets take each way beside what their paths give them, which was measured before the run and taken off their delays.
    pub bias_ns: u64,
    /// How the emulator came to run beside other threads: `real time`, `favoured` or `ordinary`.
    pub turns: String,
    /// How late packets were handed on.
    pub releases: Late,
    /// How late SYNs were sent.
    pub starts: Late,
    /// How late data and closes were sent that waited for a time.
    pub waits: Late,
    /// Connections that should have started.
    pub scheduled_connections: u64,
    /// Of them, those whose SYN was sent.
    pub started_connections: u64,
    /// Packets that devices dropped, which no model knows of.
    pub device_dropped_packets: u64,
    /// Packets of no connection of the run, which were dropped.
    pub stranger_packets: u64,
    /// Connections that listeners could not take in.
    pub listen_dropped_connections: u64,
    /// Connections that the kernel gave up with an error of its own.
    pub failed_connections: u64,
    /// Share of the run in which all cores of the host were busy, with this run or with other work.
    pub busy_share: f64,
    /// Share of the run that the host's own host took away.
    pub steal_share: f64,
    /// CPU time of the emulator.
    pub emulator_cpu_ns: u64,
    /// CPU time of the workers' programs, and of the kernel for them.
    pub worker_cpu_ns: [u64; 2],
    /// Packets that crossed the emulator, both directions.
    pub packets: u64,
    /// Settings of the kernel that replays depend on.
    pub settings: BTreeMap<String, String>,
    /// What of the experiment the kernel decides by itself, in words.
    pub notes: Vec<String>,
    /// What went wrong, in words: a worker that was killed.
    pub problems: Vec<String>,
}

/// A distribution of delays in a few numbers, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Late {
    /// How many.
    pub n: u64,
    /// Median.
    pub p50: u64,
    /// 90 % of them were at most so late.
    pub p90: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// The latest.
    pub max: u64,
}

/// A simulated network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Topology {
    /// Nodes by name.
    pub nodes: Vec<String>,
    /// The nodes where the left and the right side of the workload are.
    pub ends: [String; 2],
    /// Links, each in one direction, the monitored one's two first.
    pub links: Vec<LinkFacts>,
}

/// A class of connections of the workload, or a source beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassFacts {
    /// Its name.
    pub name: String,
    /// `workload`, or what the source is, in words.
    pub kind: String,
    /// The congestion control of its TCP; empty of datagrams.
    pub congestion: String,
    /// Connections and flows that began.
    pub started: u64,
    /// Of them, those that came to their end.
    pub completed: u64,
    /// Reset before.
    pub reset: u64,
    /// Ended before by TCP itself, whose retransmissions were used up.
    pub gave_up: u64,
    /// Not over when the run ended.
    pub unfinished: u64,
    /// Payload bytes that arrived at acceptors, of TCP each once.
    pub to_acceptors_bytes: u64,
    /// The same at initiators.
    pub to_initiators_bytes: u64,
    /// TCP segments sent again.
    pub retransmissions: u64,
    /// TCP retransmission timeouts.
    pub timeouts: u64,
    /// Datagrams sent.
    pub sent_datagrams: u64,
    /// Datagrams that arrived.
    pub received_datagrams: u64,
    /// Datagrams that were dropped on the way, with any copy that the path made of them; of probes also the answers.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped_datagrams: u64,
    /// Packets beside them that were dropped of datagrams and their copies: another of the same datagram arrived, or was dropped later.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped_copies: u64,
    /// The link where most of them were dropped; null where that was a loss model, or none was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams_dropped_at: Option<String>,
    /// Whether each flow has a number of bytes to send, and is over when they have arrived.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_transfer: bool,
    /// How its TCP flows shared the link over a common interval; null where fewer than two were active in all of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing: Option<SharingFacts>,
}

/// How flows shared the link in the window of the results, in all of which each was active (methods C.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharingFacts {
    /// How many flows.
    pub flows: u64,
    /// The mean of the payload that the link carried of each for the first time.
    pub mean_bytes: f64,
    /// Jain's index of it; null if none carried anything.
    pub jain: Option<f64>,
}

impl SharingFacts {
    /// Of so many flows, the sum of their bytes and that of their squares; `None` of fewer than two, as one is always fair.
    pub fn new(flows: u64, bytes: f64, squares: f64) -> Option<SharingFacts> {
        SharingFacts::of(&Shares::of_sums(flows, bytes, squares))
    }

    /// Of flows with these bytes; `None` of fewer than two.
    pub(crate) fn of(shares: &Shares) -> Option<SharingFacts> {
        let jain = Some(shares.jain()).filter(|index| index.is_finite());
        let mean_bytes = shares.mean().filter(|_| shares.count() > 1)?;
        Some(SharingFacts { flows: shares.count(), mean_bytes, jain })
    }
}

/// A link in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkFacts {
    /// Its name.
    pub name: String,
    /// The node that its packets come from.
    pub from: String,
    /// The node that they go to.
    pub to: String,
    /// Whether the results are measured here.
    pub monitored: bool,
    /// Its rate; null: no limit.
    pub rate_bits_per_second: Option<u64>,
    /// Its propagation delay.
    pub delay_ns: u64,
    /// Its queue, in words: `drop-tail 200p`.
    pub queue: String,
    /// Packets that reached the queue, drain included.
    pub offered_packets: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Of them, packets dropped there.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Share of the window in which the line was sending; over a trace of delivery opportunities, of their bytes that packets used.
    pub utilisation: f64,
    /// Mean over time of the packets that wait, the one in transmission not counted.
    pub queue_mean_packets: f64,
    /// The most that waited.
    pub queue_max_packets: u64,
    /// How long the line takes to send the most bytes that waited; null without a rate.
    pub queue_max_ns: Option<u64>,
    /// How long it takes to send all that the queue's limit allows, of a limit in packets as large as they were in the mean; null without a
    /// rate, and of queues that drop for other reasons than their limit. Of cells all that their buffer has room for; `None` if
    /// circuits hold cells back before it.
    pub queue_limit_ns: Option<u64>,
    /// What became of its cells; absent where it carries packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellFacts>,
}

/// What became of the cells of a link in one direction, drain included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CellFacts {
    /// Cells that packets were cut into.
    pub cut: u64,
    /// Of them, cells that the line sent.
    pub sent: u64,
    /// Of them, cells that found no room.
    pub full: u64,
    /// Of them, cells that partial discard refused with the rest of their packet.
    pub rest: u64,
    /// Of them, cells that early discard refused with their whole packet.
    pub early: u64,
    /// Of them, cells that still waited when the run ended.
    pub waiting: u64,
    /// Of those sent, cells of packets that died.
    pub dead: u64,
    /// Packets that passed whole.
    pub whole_packets: u64,
    /// Packets that died because the end of the packet before them on their circuit was lost.
    pub spoilt_packets: u64,
    /// IP bytes of whole packets for each byte of the line; null before the first cell.
    pub efficiency: Option<f64>,
}

impl CellFacts {
    /// Share of the cells sent that were of packets that died; `None` if none was sent.
    pub fn dead_share(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.dead as f64 / self.sent as f64)
    }
}

impl From<&CellCounts> for CellFacts {
    fn from(counts: &CellCounts) -> CellFacts {
        CellFacts {
            cut: counts.cut,
            sent: counts.sent,
            full: counts.full,
            rest: counts.rest,
            early: counts.early,
            waiting: counts.waiting(),
            dead: counts.dead,
            whole_packets: counts.whole,
            spoilt_packets: counts.spoilt,
            efficiency: counts.efficiency(),
        }
    }
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// What a replay's original was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Original {
    /// Packets in it.
    pub packets: u64,
    /// First to last packet.
    pub duration_ns: u64,
    /// Of this, jumps of the capture's clock.
    #[serde(skip_serializing_if = "is_zero")]
    pub clock_jumps_ns: u64,
    /// TCP connections in it, those that are not replayed too.
    pub connections: u64,
    /// Replayed TCP connections that began in the window and of which only totals are known (flow records).
    pub totals_only: u64,
    /// Payload of the connections of the workload: captured, missing, acknowledged, replayed (methods A.3).
    pub payload: PayloadFacts,
    /// The same of those that began in the window; absent where these are all, and of runs of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_payload: Option<PayloadFacts>,
    /// Where the run begins in the workload, in nanoseconds: after what `workload.prefill` goes through.
    #[serde(skip_serializing_if = "is_zero")]
    pub begin_ns: u64,
    /// What of the whole original is not replayed: reason and count.
    pub set_aside: BTreeMap<String, u64>,
    /// Bytes of that, by the same reasons: payload of connections and flows, length on the wire of packets. Of a workload that was drawn
    /// from the original, in proportion to its payload.
    pub set_aside_bytes: BTreeMap<String, u64>,
    /// The most that passed from one side in one second, of the packets that are replayed, link headers included; null where nobody saw
    /// packets.
    pub busiest_second_bits_per_second: Option<u64>,
    /// Its bytes by how they are replayed; null in runs of earlier versions.
    pub loops: Option<Loops>,
    /// The user stopped the extraction of the workload: it holds what was read until then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub extraction_interrupted: bool,
    /// Packets that it holds more than once.
    #[serde(skip_serializing_if = "CopyFacts::is_empty")]
    pub copies: CopyFacts,
}

/// The fields of `host.json`: all that may differ between two runs of the same experiment (methods M.11).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// How long the run took.
    pub wall_ns: Option<u64>,
    /// When it was started, as the reader should see it; empty if not recorded.
    pub date: String,
    /// Anything else worth knowing: name and value.
    pub host: BTreeMap<String, String>,
}

fn is_usual(choice: &HurstChoice) -> bool {
    *choice == HurstChoice::default()
}

/// What [`ClassFacts::kind`] says of the workload's classes.
const WORKLOAD: &str = "workload";

/// What [`ClassFacts::kind`] says of the workload's datagrams.
pub const AS_SEEN: &str = "UDP and QUIC of the workload, as seen";

/// What [`ClassFacts::kind`] says of probes.
pub const PROBES: &str = "probes of the latency under load";

impl ClassFacts {
    /// Whether it is of probes, which are neither workload nor sources.
    pub fn is_of_probes(&self) -> bool {
        self.kind == PROBES
    }

    /// Whether it is the workload's, datagrams among it.
    pub fn is_of_workload(&self) -> bool {
        self.kind == WORKLOAD || self.kind == AS_SEEN
    }

    /// Segments that were sent again, or the shares of datagrams that were dropped and that waited at the end, in words.
    pub fn repaired(&self) -> String {
        match self.dropped_share() {
            Some(share) => {
                let waiting = self.waiting_share().filter(|waiting| *waiting >= 0.001);
                let waiting = waiting.map(|waiting| format!(", {} % waiting", three_digits(100.0 * waiting)));
                format!("{} %{}", three_digits(100.0 * share), waiting.unwrap_or_default())
            }
            None => thousands(self.retransmissions),
        }
    }

    /// The share of its datagrams that were dropped; `None` without any.
    pub fn dropped_share(&self) -> Option<f64> {
        (self.sent_datagrams > 0).then(|| (self.dropped_datagrams as f64 / self.sent_datagrams as f64).min(1.0))
    }

    /// Datagrams that were on their way, mostly in queues, when the run ended. Copies that a path made count as arrived.
    pub fn waiting_datagrams(&self) -> u64 {
        self.sent_datagrams.saturating_sub(self.received_datagrams + self.dropped_datagrams)
    }

    /// Their share of its datagrams; `None` without any.
    pub fn waiting_share(&self) -> Option<f64> {
        (self.sent_datagrams > 0).then(|| self.waiting_datagrams() as f64 / self.sent_datagrams as f64)
    }

    /// Whether it is a source beside the workload.
    pub fn is_source(&self) -> bool {
        self.kind != WORKLOAD && !self.is_of_probes()
    }
}

impl Facts {
    /// Share of the window in which the bottleneck was sending packets from `from`; `None` where there is no simulated or emulated link.
    pub fn utilisation(&self, from: LinkSide) -> Option<f64> {
        Some(self.topology.as_ref()?.links.get(from as usize)?.utilisation)
    }

    /// What became of the cells of the bottleneck that packets from `from` were cut into, if it carries cells.
    pub fn cells(&self, from: LinkSide) -> Option<CellFacts> {
        self.topology.as_ref()?.links.get(from as usize)?.cells
    }

    /// By how much the clock of the original jumps in all.
    pub fn clock_jumps_ns(&self) -> u64 {
        self.original.as_ref().map_or(0, |original| original.clock_jumps_ns)
    }

    /// Sources beside the workload.
    pub fn sources(&self) -> impl Iterator<Item = &ClassFacts> {
        self.classes.iter().filter(|class| class.is_source())
    }

    /// Whether nothing was replayed: only sources sent, or probes.
    pub fn has_only_sources(&self) -> bool {
        self.original.is_none() && self.classes.iter().any(|class| class.kind != WORKLOAD)
    }

    /// The last part of [`Self::source`], for sentences; `None` if it is left out.
    pub fn source_name(&self) -> Option<&str> {
        self.source.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// As `run.json` holds it.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Original {
    /// Payload of the connections that results are of.
    pub fn replayed_payload(&self) -> &PayloadFacts {
        self.window_payload.as_ref().unwrap_or(&self.payload)
    }

    /// What is not replayed, in words; empty if nothing is.
    pub fn set_aside_text(&self) -> String {
        set_aside_text(&self.set_aside)
    }
}

/// What is not replayed, in words, from reasons as files keep them (`connections-no-data`, `packets-udp`):
/// `40 connections: 32 no data, 8 one direction only; 5 packets: UDP`. Empty if nothing is.
pub fn set_aside_text(set_aside: &BTreeMap<String, u64>) -> String {
    set_aside_with_bytes(set_aside, &BTreeMap::new())
}

/// As [`set_aside_text`], each reason with its `bytes` where it has any: `8 one direction only (1.20 MB)`.
pub fn set_aside_with_bytes(set_aside: &BTreeMap<String, u64>, bytes: &BTreeMap<String, u64>) -> String {
    let size = |name: &str| match bytes.get(name) {
        Some(&bytes) if bytes > 0 => format!(" ({})", Unit::Bytes.show(bytes as f64)),
        _ => String::new(),
    };
    let kinds = ["connections", "flows", "packets"].into_iter().filter_map(|kind| {
        let reasons: Vec<(String, u64)> = set_aside
            .iter()
            .filter_map(|(name, &count)| {
                let why = reason(name.strip_prefix(kind)?.strip_prefix('-')?);
                Some((why + &size(name), count))
            })
            .collect();
        let total: u64 = reasons.iter().map(|(_, count)| count).sum();
        let told: Vec<String> = match &reasons[..] {
            [(why, _)] => vec![why.clone()],
            _ => reasons.iter().map(|(why, count)| format!("{} {why}", thousands(*count))).collect(),
        };
        let kind = if total == 1 { kind.trim_end_matches('s') } else { kind };
        (!told.is_empty()).then(|| format!("{} {kind}: {}", thousands(total), told.join(", ")))
    });
    kinds.collect::<Vec<_>>().join("; ")
}

/// The payload that a capture lacks, in words.
pub fn missing_text(lacking: &Lacking) -> String {
    let [missing, acknowledged, replayed] =
        [lacking.missing, lacking.acknowledged, lacking.replayed].map(|bytes| Unit::Bytes.show(bytes as f64));
    format!(
        "{missing} ({}) in {}: {acknowledged} acknowledged, {replayed} replayed",
        Unit::Share.show(lacking.share()),
        counted(lacking.connections, "connection")
    )
}

/// A reason as a reader expects it.
fn reason(name: &str) -> String {
    match name {
        "one-way" => "one direction only".to_owned(),
        "incomplete" => "incomplete (--complete-only)".to_owned(),
        "missing-bytes" => "with missing bytes (--missing skip)".to_owned(),
        "doubled" => "of doubled acceptors".to_owned(),
        "not-ip" => "not IP".to_owned(),
        "ip-fragment" => "IP fragment".to_owned(),
        "udp" | "quic" | "icmp" | "mpls" => name.to_uppercase(),
        "udp-fragment" => "UDP fragment".to_owned(),
        other => other.replace('-', " "),
    }
}

impl HostFacts {
    /// As `host.json` holds it.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_aside_is_told_in_words() {
        let set_aside = [
            ("connections-no-data", 32),
            ("connections-one-way", 8),
            ("flows-udp", 12),
            ("packets-udp", 1_269),
            ("packets-not-ip", 1),
            ("packets-header-cut", 2),
        ];
        let set_aside = set_aside.map(|(name, count)| (name.to_owned(), count)).into();
        assert_eq!(
            set_aside_text(&set_aside),
            "40 connections: 32 no data, 8 one direction only; 12 flows: UDP; 1,272 packets: 2 header cut, 1 not IP, 1,269 UDP"
        );
        assert_eq!(set_aside_text(&BTreeMap::from([("connections-no-data".to_owned(), 1)])), "1 connection: no data");
        assert_eq!(set_aside_text(&BTreeMap::new()), "");
        let bytes = BTreeMap::from([("connections-no-data".to_owned(), 0), ("connections-one-way".to_owned(), 1_200)]);
        let set_aside = bytes.keys().map(|name| (name.clone(), 2)).collect();
        assert_eq!(
            set_aside_with_bytes(&set_aside, &bytes),
            "4 connections: 2 no data, 2 one direction only (1.20 kB)"
        );
    }
}
