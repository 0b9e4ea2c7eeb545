//! The tables of a run folder: one struct per row, one list of columns per struct.
//!
//! Column names carry the unit (`start_ns`); the structs hold the unit in the type. Times count from the start
//! of the run, which is the first packet of the original.

use flowloom_core::path::Flow;
use flowloom_core::play::Delays;
use flowloom_core::record::{
    DropReason, DropRecord, Outcome, PacketKind, ProbeKind, ProbeRecord, QueueFate, QueueSample, SojournRecord,
    SourceRecord, Traffic, TrafficClass, WindowRecord,
};
use flowloom_core::tcp::Phase;
use flowloom_core::tcp::congestion::WindowCause;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{LinkSide, Pattern, Protocol, Side};

use crate::table::{Column, Row, Text, column};

/// Where an exchange was seen. Only `Original` and `Monitor` may be compared with each other (methods M.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Point {
    /// At the monitor of the capture the workload came from.
    #[default]
    Original,
    /// At the monitor of the replay's link.
    Monitor,
    /// At the replay's own ends.
    Endpoint,
}

impl Text for Point {
    const NAMES: &'static [(&'static str, Point)] =
        &[("original", Point::Original), ("monitor", Point::Monitor), ("endpoint", Point::Endpoint)];
}

/// Which traffic a throughput row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TrafficPoint {
    /// The original's packets of the replayed connections.
    #[default]
    Original,
    /// The original's packets of everything that is not replayed (methods M.8).
    SetAside,
    /// The replay's packets before the queue, dropped ones included (*throughput*, methods C.6).
    ReplayOffered,
    /// The replay's packets on the link (*link throughput*, methods C.6).
    ReplayCarried,
    /// The part of those that stands in for bytes that the capture lacks, and that no comparison counts (methods M.8).
    ReplayMissing,
    /// What a monitor counted at the real link that the run is shown beside (methods C.12).
    RealLink,
}

impl Text for TrafficPoint {
    const NAMES: &'static [(&'static str, TrafficPoint)] = &[
        ("original", TrafficPoint::Original),
        ("set-aside", TrafficPoint::SetAside),
        ("replay-offered", TrafficPoint::ReplayOffered),
        ("replay-carried", TrafficPoint::ReplayCarried),
        ("replay-missing", TrafficPoint::ReplayMissing),
        ("real-link", TrafficPoint::RealLink),
    ];
}

/// Whose active connections are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ActivePoint {
    /// The original's.
    #[default]
    Original,
    /// The replay's, at its monitor.
    Replay,
}

impl Text for ActivePoint {
    const NAMES: &'static [(&'static str, ActivePoint)] =
        &[("original", ActivePoint::Original), ("replay", ActivePoint::Replay)];
}

/// One replayed connection: `connections.parquet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRow {
    /// The vector's id.
    pub id: u64,
    /// Its class of connections: its place in `classes` of `run.json`.
    pub class: u16,
    /// Start in the original, at which the replay schedules it.
    pub start: Time,
    /// Sequential or concurrent.
    pub pattern: Pattern,
    /// SYN and (FIN or RST) were seen in the original.
    pub complete: bool,
    /// Side of the link the initiator is on.
    pub initiator_side: LinkSide,
    /// Payload bytes the initiator has to send.
    pub initiator_bytes: u64,
    /// Payload bytes the acceptor has to send.
    pub acceptor_bytes: u64,
    /// How the replay ended.
    pub outcome: Outcome,
    /// When the initiator sent its first SYN.
    pub syn_sent: Option<Time>,
    /// When the initiator became established.
    pub established: Option<Time>,
    /// When an end sent the first data byte.
    pub first_data: Option<Time>,
    /// When an end received the last data byte.
    pub last_data: Option<Time>,
    /// When an end sent the first FIN or RST.
    pub closed: Option<Time>,
    /// First to last data byte in the original (methods C.2 at the monitor).
    pub original_duration: Option<Duration>,
    /// First to last data byte at the replay's monitor.
    pub monitor_duration: Option<Duration>,
    /// First data byte sent to last data byte received, at the replay's ends (methods C.2).
    pub endpoint_duration: Option<Duration>,
    /// First FIN or RST in the original.
    pub original_end: Option<Time>,
    /// First packet at the replay's monitor; `None` if none passed.
    pub monitor_start: Option<Time>,
    /// First FIN or RST at the replay's monitor.
    pub monitor_end: Option<Time>,
    /// Minimum round-trip time in the original (methods A.6).
    pub original_rtt: Option<Duration>,
    /// Minimum round-trip time at the replay's monitor.
    pub monitor_rtt: Option<Duration>,
    /// Base round-trip time its path was given.
    pub path_rtt: Duration,
    /// Segments sent again, both ends.
    pub retransmissions: u64,
    /// Retransmission timeouts, both ends.
    pub timeouts: u64,
    /// Payload bytes the initiator's application got to the acceptor.
    pub delivered_to_acceptor_bytes: u64,
    /// Payload bytes the acceptor's application got to the initiator.
    pub delivered_to_initiator_bytes: u64,
    /// Payload bytes, both directions, that passed the monitor for the first time within the window of the results.
    pub carried_bytes: Option<u64>,
    /// Data segments the original lost before its monitor plus those it saw twice, both directions (methods A.8, M.7).
    pub original_lost_segments: Option<u64>,
}

impl Row for ConnectionRow {
    const TABLE: &'static str = "connections";
    const GROUP_ROWS: usize = 8_192;

    fn blank() -> ConnectionRow {
        ConnectionRow {
            id: 0,
            class: 0,
            start: Time::ZERO,
            pattern: Pattern::Sequential,
            complete: false,
            initiator_side: LinkSide::Left,
            initiator_bytes: 0,
            acceptor_bytes: 0,
            outcome: Outcome::Unfinished,
            syn_sent: None,
            established: None,
            first_data: None,
            last_data: None,
            closed: None,
            original_duration: None,
            monitor_duration: None,
            endpoint_duration: None,
            original_end: None,
            monitor_start: None,
            monitor_end: None,
            original_rtt: None,
            monitor_rtt: None,
            path_rtt: Duration::ZERO,
            retransmissions: 0,
            timeouts: 0,
            delivered_to_acceptor_bytes: 0,
            delivered_to_initiator_bytes: 0,
            carried_bytes: None,
            original_lost_segments: None,
        }
    }

    fn columns() -> Vec<Column<ConnectionRow>> {
        vec![
            column("id", |r: &Self| r.id, |r, v| r.id = v),
            column("class", |r: &Self| r.class, |r, v| r.class = v),
            column("start_ns", |r: &Self| r.start, |r, v| r.start = v),
            column("pattern", |r: &Self| r.pattern, |r, v| r.pattern = v),
            column("complete", |r: &Self| r.complete, |r, v| r.complete = v),
            column("initiator_side", |r: &Self| r.initiator_side, |r, v| r.initiator_side = v),
            column("initiator_bytes", |r: &Self| r.initiator_bytes, |r, v| r.initiator_bytes = v),
            column("acceptor_bytes", |r: &Self| r.acceptor_bytes, |r, v| r.acceptor_bytes = v),
            column("outcome", |r: &Self| r.outcome, |r, v| r.outcome = v),
            column("syn_sent_ns", |r: &Self| r.syn_sent, |r, v| r.syn_sent = v).since(2),
            column("established_ns", |r: &Self| r.established, |r, v| r.established = v),
            column("first_data_ns", |r: &Self| r.first_data, |r, v| r.first_data = v),
            column("last_data_ns", |r: &Self| r.last_data, |r, v| r.last_data = v),
            column("closed_ns", |r: &Self| r.closed, |r, v| r.closed = v),
            column("original_duration_ns", |r: &Self| r.original_duration, |r, v| r.original_duration = v),
            column("monitor_duration_ns", |r: &Self| r.monitor_duration, |r, v| r.monitor_duration = v),
            column("endpoint_duration_ns", |r: &Self| r.endpoint_duration, |r, v| r.endpoint_duration = v),
            column("original_end_ns", |r: &Self| r.original_end, |r, v| r.original_end = v),
            column("monitor_start_ns", |r: &Self| r.monitor_start, |r, v| r.monitor_start = v),
            column("monitor_end_ns", |r: &Self| r.monitor_end, |r, v| r.monitor_end = v),
            column("original_rtt_ns", |r: &Self| r.original_rtt, |r, v| r.original_rtt = v),
            column("monitor_rtt_ns", |r: &Self| r.monitor_rtt, |r, v| r.monitor_rtt = v),
            column("path_rtt_ns", |r: &Self| r.path_rtt, |r, v| r.path_rtt = v),
            column("retransmissions", |r: &Self| r.retransmissions, |r, v| r.retransmissions = v),
            column("timeouts", |r: &Self| r.timeouts, |r, v| r.timeouts = v),
            column(
                "delivered_to_acceptor_bytes",
                |r: &Self| r.delivered_to_acceptor_bytes,
                |r, v| r.delivered_to_acceptor_bytes = v,
            ),
            column(
                "delivered_to_initiator_bytes",
                |r: &Self| r.delivered_to_initiator_bytes,
                |r, v| r.delivered_to_initiator_bytes = v,
            ),
            column("carried_bytes", |r: &Self| r.carried_bytes, |r, v| r.carried_bytes = v).since(2),
            column("original_lost_segments", |r: &Self| r.original_lost_segments, |r, v| r.original_lost_segments = v),
        ]
    }
}

/// One epoch of a sequential connection at one point: `epochs.parquet`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EpochRow {
    /// Where it was seen.
    pub point: Point,
    /// The vector's id.
    pub connection: u64,
    /// Position among the connection's epochs, half epochs counted.
    pub epoch: u32,
    /// Size of the request; `None` in a half epoch without one.
    pub request_bytes: Option<u64>,
    /// Size of the response; `None` in a half epoch without one.
    pub response_bytes: Option<u64>,
    /// First byte of the request, or of the response if there is no request; `None` where no monitor saw it.
    pub start: Option<Time>,
    /// Response time (methods C.3); `None` for half epochs and for epochs the end of the record cut.
    pub response: Option<Duration>,
    /// When the request should have been sent; at the endpoints of live runs only.
    pub intended: Option<Time>,
}

impl Row for EpochRow {
    const TABLE: &'static str = "epochs";

    fn blank() -> EpochRow {
        EpochRow::default()
    }

    fn columns() -> Vec<Column<EpochRow>> {
        vec![
            column("point", |r: &Self| r.point, |r, v| r.point = v),
            column("connection_id", |r: &Self| r.connection, |r, v| r.connection = v),
            column("epoch", |r: &Self| r.epoch, |r, v| r.epoch = v),
            column("request_bytes", |r: &Self| r.request_bytes, |r, v| r.request_bytes = v),
            column("response_bytes", |r: &Self| r.response_bytes, |r, v| r.response_bytes = v),
            column("start_ns", |r: &Self| r.start, |r, v| r.start = v),
            column("response_ns", |r: &Self| r.response, |r, v| r.response = v),
            column("intended_ns", |r: &Self| r.intended, |r, v| r.intended = v),
        ]
    }
}

/// What of a live run may be late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum LateWhat {
    /// Packets that the emulator hands on.
    #[default]
    Release,
    /// SYNs.
    Start,
    /// Data and closes that waited for a time.
    Wait,
}

impl Text for LateWhat {
    const NAMES: &'static [(&'static str, LateWhat)] =
        &[("release", LateWhat::Release), ("start", LateWhat::Start), ("wait", LateWhat::Wait)];
}

/// How often something of a live run was late by so much: `lateness.parquet`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LatenessRow {
    /// What.
    pub what: LateWhat,
    /// By how much, in steps of 1 %.
    pub late: Duration,
    /// How often.
    pub count: u64,
}

impl Row for LatenessRow {
    const TABLE: &'static str = "lateness";

    fn blank() -> LatenessRow {
        LatenessRow::default()
    }

    fn columns() -> Vec<Column<LatenessRow>> {
        vec![
            column("what", |r: &Self| r.what, |r, v| r.what = v),
            column("late_ns", |r: &Self| r.late, |r, v| r.late = v),
            column("count", |r: &Self| r.count, |r, v| r.count = v),
        ]
    }
}

/// One ADU at one point (never `Endpoint`): `adus.parquet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AduRow {
    /// Where it was seen.
    pub point: Point,
    /// The vector's id.
    pub connection: u64,
    /// Position among the connection's ADUs.
    pub index: u32,
    /// Who sent it.
    pub side: Side,
    /// Payload bytes.
    pub bytes: u64,
    /// When its first byte passed; `None` where no monitor saw it.
    pub first: Option<Time>,
    /// When the last of its bytes passed.
    pub last: Option<Time>,
    /// Quiet time after it (methods A.5.5).
    pub wait: Option<Duration>,
}

impl Row for AduRow {
    const TABLE: &'static str = "adus";

    fn blank() -> AduRow {
        AduRow {
            point: Point::Original,
            connection: 0,
            index: 0,
            side: Side::Initiator,
            bytes: 0,
            first: None,
            last: None,
            wait: None,
        }
    }

    fn columns() -> Vec<Column<AduRow>> {
        vec![
            column("point", |r: &Self| r.point, |r, v| r.point = v),
            column("connection_id", |r: &Self| r.connection, |r, v| r.connection = v),
            column("index", |r: &Self| r.index, |r, v| r.index = v),
            column("side", |r: &Self| r.side, |r, v| r.side = v),
            column("bytes", |r: &Self| r.bytes, |r, v| r.bytes = v),
            column("first_ns", |r: &Self| r.first, |r, v| r.first = v),
            column("last_ns", |r: &Self| r.last, |r, v| r.last = v),
            column("wait_ns", |r: &Self| r.wait, |r, v| r.wait = v),
        ]
    }
}

/// Sampled queue length: `queue.parquet`. Samples of an empty queue are not stored; the sampling interval is in
/// the file's metadata and in [`super::RunFolder::queue_interval`].
impl Row for QueueSample {
    const TABLE: &'static str = "queue";

    fn blank() -> QueueSample {
        QueueSample { time: Time::ZERO, link: 0, from: LinkSide::Left, packets: 0, bytes: 0 }
    }

    fn columns() -> Vec<Column<QueueSample>> {
        vec![
            column("from_side", |r: &Self| r.from, |r, v| r.from = v),
            column("time_ns", |r: &Self| r.time, |r, v| r.time = v),
            column("packets", |r: &Self| r.packets, |r, v| r.packets = v),
            column("bytes", |r: &Self| r.bytes, |r, v| r.bytes = v),
            column("link", |r: &Self| r.link, |r, v| r.link = v),
        ]
    }
}

/// Traffic of one direction in one bin: `throughput.parquet`. Bins without traffic are not stored.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ThroughputRow {
    /// Which traffic.
    pub point: TrafficPoint,
    /// The link, by its number: 0 and 1 are the monitored one's, for packets from the left and from the right.
    pub link: u16,
    /// The side packets came from; of other links left, or right for the link back.
    pub from: LinkSide,
    /// Start of the bin.
    pub start: Time,
    /// Its width.
    pub width: Duration,
    /// What passed.
    pub traffic: Traffic,
}

impl Row for ThroughputRow {
    const TABLE: &'static str = "throughput";

    fn blank() -> ThroughputRow {
        ThroughputRow::default()
    }

    fn columns() -> Vec<Column<ThroughputRow>> {
        vec![
            column("point", |r: &Self| r.point, |r, v| r.point = v),
            column("from_side", |r: &Self| r.from, |r, v| r.from = v),
            column("start_ns", |r: &Self| r.start, |r, v| r.start = v),
            column("width_ns", |r: &Self| r.width, |r, v| r.width = v),
            column("packets", |r: &Self| r.traffic.packets, |r, v| r.traffic.packets = v),
            column("bytes", |r: &Self| r.traffic.bytes, |r, v| r.traffic.bytes = v),
            column("payload_bytes", |r: &Self| r.traffic.payload_bytes, |r, v| r.traffic.payload_bytes = v),
            column("link", |r: &Self| r.link, |r, v| r.link = v),
        ]
    }
}

/// Active connections (methods C.4): `active.parquet`. A count holds from its whole second until the next row
/// of its point; before the first row it is zero.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ActiveRow {
    /// Whose.
    pub point: ActivePoint,
    /// A whole second.
    pub time: Time,
    /// Connections whose start was seen and whose first FIN or RST was not.
    pub connections: u64,
}

impl Row for ActiveRow {
    const TABLE: &'static str = "active";

    fn blank() -> ActiveRow {
        ActiveRow::default()
    }

    fn columns() -> Vec<Column<ActiveRow>> {
        vec![
            column("point", |r: &Self| r.point, |r, v| r.point = v),
            column("time_ns", |r: &Self| r.time, |r, v| r.time = v),
            column("connections", |r: &Self| r.connections, |r, v| r.connections = v),
        ]
    }
}

/// Dropped packets: `drops.parquet`.
impl Row for DropRecord {
    const TABLE: &'static str = "drops";

    fn blank() -> DropRecord {
        DropRecord {
            time: Time::ZERO,
            connection: 0,
            from: LinkSide::Left,
            kind: PacketKind::Data,
            bytes: 0,
            reason: DropReason::QueueFull,
            link: None,
        }
    }

    fn columns() -> Vec<Column<DropRecord>> {
        vec![
            column("time_ns", |r: &Self| r.time, |r, v| r.time = v),
            column("connection_id", |r: &Self| r.connection, |r, v| r.connection = v),
            column("from_side", |r: &Self| r.from, |r, v| r.from = v),
            column("kind", |r: &Self| r.kind, |r, v| r.kind = v),
            column("bytes", |r: &Self| r.bytes, |r, v| r.bytes = v),
            column("reason", |r: &Self| r.reason, |r, v| r.reason = v),
            column("link", |r: &Self| r.link, |r, v| r.link = v),
        ]
    }
}

/// Sojourn times at the bottleneck: `sojourn.parquet`.
impl Row for SojournRecord {
    const TABLE: &'static str = "sojourn";

    fn blank() -> SojournRecord {
        SojournRecord {
            link: 0,
            from: LinkSide::Left,
            class: TrafficClass::Other,
            fate: QueueFate::Transmitted,
            sojourn: Duration::ZERO,
            packets: 0,
            marked: 0,
            total: Duration::ZERO,
            held: Duration::ZERO,
        }
    }

    fn columns() -> Vec<Column<SojournRecord>> {
        vec![
            column("from_side", |r: &Self| r.from, |r, v| r.from = v),
            column("class", |r: &Self| r.class, |r, v| r.class = v),
            column("fate", |r: &Self| r.fate, |r, v| r.fate = v),
            column("sojourn_ns", |r: &Self| r.sojourn, |r, v| r.sojourn = v),
            column("packets", |r: &Self| r.packets, |r, v| r.packets = v),
            column("marked_packets", |r: &Self| r.marked, |r, v| r.marked = v),
            column("total_ns", |r: &Self| r.total, |r, v| r.total = v),
            column("held_ns", |r: &Self| r.held, |r, v| r.held = v),
            column("link", |r: &Self| r.link, |r, v| r.link = v),
        ]
    }
}

/// What DelayBox drew for the packets of one end of a connection (methods F.6): `flows.parquet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// When the first SYN was sent.
    pub opened: Time,
    /// The connection.
    pub connection: u64,
    /// The end that sends them.
    pub sender: Side,
    /// The rule, from 1 on; `None` if none matched.
    pub rule: Option<u16>,
    /// Its delay; `None` for that of the vector.
    pub delay: Option<Duration>,
    /// Its loss rate, in 10^-9.
    pub loss_ppb: u64,
    /// Its bottleneck in bit/s; `None` for none.
    pub rate: Option<u64>,
}

impl FlowRow {
    /// The entry of one direction of `flow`.
    pub(super) fn new(connection: u64, flow: &Flow, sender: Side) -> FlowRow {
        let values = &flow.values[sender];
        FlowRow {
            opened: flow.opened,
            connection,
            sender,
            rule: values.rule.and_then(|place| u16::try_from(place + 1).ok()),
            delay: values.delay,
            loss_ppb: (values.total_loss() * 1e9).round() as u64,
            rate: values.rate.bits_per_second(),
        }
    }
}

impl Row for FlowRow {
    const TABLE: &'static str = "flows";

    fn blank() -> FlowRow {
        FlowRow {
            opened: Time::ZERO,
            connection: 0,
            sender: Side::Initiator,
            rule: None,
            delay: None,
            loss_ppb: 0,
            rate: None,
        }
    }

    fn columns() -> Vec<Column<FlowRow>> {
        vec![
            column("time_ns", |r: &Self| r.opened, |r, v| r.opened = v),
            column("connection_id", |r: &Self| r.connection, |r, v| r.connection = v),
            column("sender", |r: &Self| r.sender, |r, v| r.sender = v),
            column("rule", |r: &Self| r.rule, |r, v| r.rule = v),
            column("delay_ns", |r: &Self| r.delay, |r, v| r.delay = v),
            column("loss_ppb", |r: &Self| r.loss_ppb, |r, v| r.loss_ppb = v),
            column("rate_bits_per_second", |r: &Self| r.rate, |r, v| r.rate = v),
        ]
    }
}

/// Flows of sources beside the workload: `sources.parquet`.
impl Row for SourceRecord {
    const TABLE: &'static str = "sources";

    fn blank() -> SourceRecord {
        SourceRecord {
            id: 0,
            class: 0,
            protocol: Protocol::Tcp,
            from: LinkSide::Left,
            start: Time::ZERO,
            last: None,
            outcome: Outcome::Unfinished,
            rtt: Duration::ZERO,
            sent_bytes: 0,
            received_bytes: 0,
            sent_packets: None,
            received_packets: None,
            late_packets: None,
            repeated_packets: None,
            delays: None,
            retransmissions: None,
            timeouts: None,
        }
    }

    fn columns() -> Vec<Column<SourceRecord>> {
        fn delays(row: &mut SourceRecord) -> &mut Delays {
            row.delays.get_or_insert_default()
        }
        vec![
            column("id", |r: &Self| r.id, |r, v| r.id = v),
            column("class", |r: &Self| r.class, |r, v| r.class = v),
            column("protocol", |r: &Self| r.protocol, |r, v| r.protocol = v),
            column("from_side", |r: &Self| r.from, |r, v| r.from = v),
            column("start_ns", |r: &Self| r.start, |r, v| r.start = v),
            column("last_data_ns", |r: &Self| r.last, |r, v| r.last = v),
            column("outcome", |r: &Self| r.outcome, |r, v| r.outcome = v),
            column("path_rtt_ns", |r: &Self| r.rtt, |r, v| r.rtt = v),
            column("sent_bytes", |r: &Self| r.sent_bytes, |r, v| r.sent_bytes = v),
            column("received_bytes", |r: &Self| r.received_bytes, |r, v| r.received_bytes = v),
            column("sent_packets", |r: &Self| r.sent_packets, |r, v| r.sent_packets = v),
            column("received_packets", |r: &Self| r.received_packets, |r, v| r.received_packets = v),
            column("late_packets", |r: &Self| r.late_packets, |r, v| r.late_packets = v),
            column("repeated_packets", |r: &Self| r.repeated_packets, |r, v| r.repeated_packets = v),
            column("delay_min_ns", |r: &Self| r.delays.map(|d| d.min), |r, v| set(v, |v| delays(r).min = v)),
            column("delay_mean_ns", |r: &Self| r.delays.map(|d| d.mean), |r, v| set(v, |v| delays(r).mean = v)),
            column("delay_max_ns", |r: &Self| r.delays.map(|d| d.max), |r, v| set(v, |v| delays(r).max = v)),
            column("jitter_ns", |r: &Self| r.delays.map(|d| d.jitter), |r, v| set(v, |v| delays(r).jitter = v)),
            column("retransmissions", |r: &Self| r.retransmissions, |r, v| r.retransmissions = v),
            column("timeouts", |r: &Self| r.timeouts, |r, v| r.timeouts = v),
        ]
    }
}

/// Probes of the latency under load: `probes.parquet`, in folders of runs that have them.
impl Row for ProbeRecord {
    const TABLE: &'static str = "probes";

    fn blank() -> ProbeRecord {
        ProbeRecord {
            number: 0,
            kind: ProbeKind::Datagram,
            from: LinkSide::Left,
            sent: Time::ZERO,
            connect: None,
            round_trip: None,
            there: None,
            back: None,
            lost: false,
        }
    }

    fn columns() -> Vec<Column<ProbeRecord>> {
        vec![
            column("number", |r: &Self| r.number, |r, v| r.number = v),
            column("kind", |r: &Self| r.kind, |r, v| r.kind = v),
            column("from_side", |r: &Self| r.from, |r, v| r.from = v),
            column("sent_ns", |r: &Self| r.sent, |r, v| r.sent = v),
            column("connect_ns", |r: &Self| r.connect, |r, v| r.connect = v),
            column("round_trip_ns", |r: &Self| r.round_trip, |r, v| r.round_trip = v),
            column("there_ns", |r: &Self| r.there, |r, v| r.there = v),
            column("back_ns", |r: &Self| r.back, |r, v| r.back = v),
            column("lost", |r: &Self| r.lost, |r, v| r.lost = v),
        ]
    }
}

/// Does something with a value that is not missing.
fn set<T>(value: Option<T>, with: impl FnOnce(T)) {
    if let Some(value) = value {
        with(value);
    }
}

/// Changes of congestion windows: `tcp_trace.parquet`.
impl Row for WindowRecord {
    const TABLE: &'static str = "tcp_trace";

    fn blank() -> WindowRecord {
        WindowRecord {
            time: Time::ZERO,
            connection: 0,
            side: Side::Initiator,
            cause: WindowCause::Initial,
            phase: Phase::Open,
            window_bytes: 0,
            threshold_bytes: None,
            in_flight_bytes: 0,
            smoothed_rtt: None,
            timeout: Duration::ZERO,
        }
    }

    fn columns() -> Vec<Column<WindowRecord>> {
        vec![
            column("time_ns", |r: &Self| r.time, |r, v| r.time = v),
            column("connection_id", |r: &Self| r.connection, |r, v| r.connection = v),
            column("side", |r: &Self| r.side, |r, v| r.side = v),
            column("cause", |r: &Self| r.cause, |r, v| r.cause = v),
            column("phase", |r: &Self| r.phase, |r, v| r.phase = v),
            column("window_bytes", |r: &Self| r.window_bytes, |r, v| r.window_bytes = v),
            column("threshold_bytes", |r: &Self| r.threshold_bytes, |r, v| r.threshold_bytes = v),
            column("in_flight_bytes", |r: &Self| r.in_flight_bytes, |r, v| r.in_flight_bytes = v),
            column("smoothed_rtt_ns", |r: &Self| r.smoothed_rtt, |r, v| r.smoothed_rtt = v),
            column("timeout_ns", |r: &Self| r.timeout, |r, v| r.timeout = v),
        ]
    }
}
