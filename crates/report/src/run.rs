//! A run folder as samples: what the summary, the comparison and the report are made of.

use std::collections::{BTreeMap, BTreeSet};

use flowloom_core::record::{
    DropReason, DropRecord, Outcome, PacketKind, ProbeRecord, QueueFate, QueueSample, SojournRecord, SourceRecord,
    Traffic,
};
use flowloom_core::sketch::Sketch;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{LinkSide, Pattern};
use flowloom_store::run_folder::{AduRow, ConnectionRow, EpochRow, Point, ThroughputRow, TrafficPoint};
use flowloom_store::silence::{ClockJumps, Stretches};

pub use crate::arrivals::Arrivals;
pub use crate::class::{Class, Size};

use crate::active::{ActiveCounts, ActiveTime};
use crate::class::PerPoint;
use crate::class_totals::ClassTotals;
use crate::exchanges::{Begun, Exchanges};
use crate::facts::{Facts, HostFacts};
use crate::fairness::Fairness;
use crate::metric::Metric;
use crate::probes::Probes;
use crate::real_link::{Beside, RealLink};
use crate::responses::Responses;
use crate::silent::Silent;
use crate::sojourn::SojournTimes;
use crate::statistics::Sample;
use crate::workload_mark::WorkloadMark;

/// How the connections ended in the original and in the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Endings {
    /// A close was seen in both (methods M.4).
    pub both: u64,
    /// Only in the original: the replay reached its end first.
    pub only_original: u64,
    /// Only in the replay: the capture ended first, or the close was not in it.
    pub only_replay: u64,
    /// In neither.
    pub neither: u64,
}

/// How the replayed connections ended at their own ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// All data arrived.
    pub completed: u64,
    /// Reset before all data had arrived.
    pub reset: u64,
    /// Ended before that by TCP itself, whose retransmissions were used up.
    pub gave_up: u64,
    /// The run ended first.
    pub unfinished: u64,
}

impl Outcomes {
    /// All connections.
    pub fn started(&self) -> u64 {
        self.completed + self.reset + self.gave_up + self.unfinished
    }
}

/// Queue lengths of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// (sampling instant, packets waiting), empty instants left out.
    pub samples: Vec<(Time, u64)>,
}

/// What was measured at a link beside the bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSeries {
    /// Bytes that it carried in each bin of the window.
    carried: Vec<u64>,
    queue: Queue,
}

/// What the tables of a run folder say, as numbers.
#[derive(Clone, Debug)]
pub struct Measurements {
    /// The window results use, from the start of the run: `[start, end)`.
    pub window: (Time, Time),
    /// How long the window was to be. Widths of bins follow from it, so that replications have the same ones although some were cut
    /// short.
    planned: Duration,
    /// Width of the bins of [`Self::traffic`].
    pub bin: Duration,
    /// How often queues were sampled.
    pub queue_interval: Duration,
    /// Connections, sequential ones among them, and how they ended.
    pub outcomes: Outcomes,
    /// Sequential connections.
    pub sequential: u64,
    /// Connections by the side of the link that their initiators are on.
    pub initiators: [u64; 2],
    /// Connections that lost packets in the original.
    pub lost_in_original: u64,
    /// How they ended in both worlds.
    pub endings: Endings,
    /// Payload bytes to be sent.
    pub payload_bytes: u64,
    /// Payload bytes delivered.
    pub delivered_bytes: u64,
    /// What the flows of sources came to that were under way in the window.
    source_totals: ClassTotals,
    /// TCP flows of sources, and those that never sent.
    pub silent: Silent,
    /// What connections of each class came to, by its number.
    class_totals: [ClassTotals; Class::COUNT],
    /// Nanoseconds. Original and monitor: connections that the original has a duration of.
    durations: PerPoint,
    /// Nanoseconds: from the SYN to the last byte, at the endpoints.
    last_bytes: PerPoint,
    /// Connections that did not deliver all their data, and when they sent their SYN.
    open_until_last_byte: Vec<(Time, Class)>,
    /// Connections that did not deliver all their data: where, since when, and their class.
    open_connections: Vec<(Point, Time, Class)>,
    /// Nanoseconds, of all exchanges begun in the window. Original and monitor: none of a run without an original, nor what the
    /// capture's end cut.
    response_times: PerPoint,
    /// Exchanges that did not end.
    exchanges: Exchanges,
    /// The last exchange that the capture's end cut: its connection, and its place in it.
    cut_by_capture: Option<(u64, u32)>,
    /// Connections that began in the window and have a response time, or a bound of one; by point.
    responding: [Vec<u64>; 3],
    /// The latest time that the tables hold.
    last_seen: Time,
    /// Nanoseconds: response times at the endpoints from when requests should have been sent, where that is known.
    intended: Sketch,
    /// Nanoseconds; at the endpoint the base round-trip time of the path.
    round_trip_times: PerPoint,
    /// Bytes: of the original and at the monitor.
    adu_sizes: PerPoint,
    /// By point: ADUs whose first and last byte were seen, and the sum of the times between.
    adu_spans: [(u64, Duration); 3],
    /// Active connections over time: original, replay.
    active: [ActiveTime; 2],
    /// Those of the replay, second by second.
    active_seconds: ActiveCounts,
    /// Packets of the whole run, drain included, by the side they come from: offered to the queue, carried by the link.
    pub offered_packets: [u64; 2],
    /// See [`Self::offered_packets`].
    pub carried_packets: [u64; 2],
    /// Whether the link carried a packet in a bin that overlaps the window.
    pub carried_in_window: bool,
    /// Traffic in each bin of the window.
    pub traffic: BTreeMap<(TrafficPoint, LinkSide), Vec<Traffic>>,
    /// When each of them had any.
    stretches: BTreeMap<(TrafficPoint, LinkSide), Stretches>,
    /// Whether its times are those of a capture's clock, or of another tool's.
    has_clock: bool,
    /// When the original ends, if its clock is known to jump; not later than the window.
    jump_to: Option<Time>,
    /// How the clock jumps in the window: where the original has no traffic, or, without one, the run.
    clock_jumps: ClockJumps,
    /// The same at full resolution, of what the original and the replay's link carried.
    arrivals: BTreeMap<TrafficPoint, Arrivals>,
    /// What the replay's link carried, by direction, in bins of 10 ms, or wider ones if those recorded are.
    by_direction: BTreeMap<LinkSide, Arrivals>,
    /// Queues by the side packets come from: left, right.
    pub queues: [Queue; 2],
    /// How long packets waited in them.
    pub(crate) sojourns: SojournTimes,
    /// By the side packets come from: of the cells that the bottleneck sent, the share that was of packets that died; `None` where it carries
    /// packets.
    pub dead_cells: [Option<f64>; 2],
    /// Latency under load.
    pub(crate) probes: Probes,
    /// What the real link carried that the run is shown beside.
    pub(crate) real_link: RealLink,
    /// Packets of probes that were dropped anywhere, which no other count has.
    pub dropped_probe_packets: u64,
    /// Packets dropped at the monitored link, or lost before the first.
    pub drops: BTreeMap<(DropReason, PacketKind, LinkSide), u64>,
    /// Packets dropped at other links.
    pub dropped_elsewhere: u64,
    /// Datagrams dropped anywhere.
    pub dropped_datagrams: u64,
    /// Flows of datagrams, by their numbers.
    datagram_flows: BTreeSet<u64>,
    /// What was measured at other links, by their numbers.
    pub links: BTreeMap<u16, LinkSeries>,
    /// Responses over time and in the order of their completion.
    pub(crate) responses: Responses,
    /// How fairly flows that last shared the network.
    pub(crate) fairness: Fairness,
    /// Which connections were to be made, of the workload, in the window or not.
    pub workload: WorkloadMark,
    /// Whether the run replays an original that was measured.
    pub has_original: bool,
    /// Each connection's id, whether it began in the window, and its class, in one number, ascending.
    classes: Vec<u64>,
}

/// Bits of a class; ids beyond 2^58 are none that any source gives.
const CLASS_BITS: u32 = 5;

const SECOND: Duration = Duration::from_secs(1);
/// Bins of the traffic of each direction by itself.
const COARSE_BIN: Duration = Duration::from_millis(10);
const SHORTEST_BIN: Duration = Duration::from_millis(100);
/// Windows shorter than this are cut into the shortest bins, so that their series have more than a handful of them.
const SHORT_WINDOW: Duration = Duration::from_secs(20);
/// Bins of a series, at most: 4.5 hours of seconds. A capture whose clock jumps years must not fill the memory.
const MOST_BINS: u64 = 1 << 14;
/// Values of a queue's series, at most.
const MOST_QUEUE_VALUES: u64 = 1 << 22;

/// Width of the bins of a window's series: a tenth of a second, a second, or the shortest of 2, 5, 10, 20 ... s that
/// leaves no more than [`MOST_BINS`].
pub fn bin_width(window: Duration) -> Duration {
    if window < SHORT_WINDOW {
        return SHORTEST_BIN;
    }
    let decades = (0..).map(|power| 10u64.saturating_pow(power));
    let mut widths = decades.flat_map(|decade| [1, 2, 5].map(|step| SECOND * decade.saturating_mul(step)));
    widths.find(|width| window.as_nanos() / width.as_nanos() <= MOST_BINS).unwrap_or(window)
}

/// How the clock jumps. Where the original's traffic is known it alone decides: how long packets of the replay wait in queues says
/// nothing of a clock, and sources may go on when the original is over. At the instants `beside` the original had packets that are in no
/// series.
fn jumps(stretches: &BTreeMap<(TrafficPoint, LinkSide), Stretches>, beside: &[Time]) -> ClockJumps {
    let is_of_original = |point: TrafficPoint| matches!(point, TrafficPoint::Original | TrafficPoint::SetAside);
    let mut of_original = stretches.iter().filter(|((point, _), _)| is_of_original(*point)).peekable();
    match of_original.peek() {
        Some(_) => ClockJumps::between(beside, of_original.map(|(_, stretches)| stretches)),
        None => ClockJumps::between(&[], stretches.values()),
    }
}

impl Measurements {
    /// Nothing measured yet, for a run with this window, which was to be as long as `planned`.
    pub fn new(window: (Time, Time), planned: Duration, queue_interval: Duration) -> Measurements {
        let length = window.1.since(window.0);
        // One bin of a run that was cut before it was over would be too low.
        let bin = bin_width(planned).min(length.max(SHORTEST_BIN));
        Measurements {
            window,
            planned,
            bin,
            queue_interval,
            outcomes: Outcomes::default(),
            sequential: 0,
            initiators: [0; 2],
            lost_in_original: 0,
            endings: Endings::default(),
            payload_bytes: 0,
            delivered_bytes: 0,
            source_totals: ClassTotals::default(),
            silent: Silent::default(),
            class_totals: Default::default(),
            durations: PerPoint::default(),
            last_bytes: PerPoint::default(),
            open_until_last_byte: Vec::new(),
            open_connections: Vec::new(),
            response_times: PerPoint::default(),
            exchanges: Exchanges::default(),
            cut_by_capture: None,
            responding: Default::default(),
            last_seen: window.1,
            intended: Sketch::default(),
            round_trip_times: PerPoint::default(),
            adu_sizes: PerPoint::default(),
            adu_spans: Default::default(),
            active: [0, 1].map(|_| ActiveTime::new(window, bin)),
            active_seconds: ActiveCounts::new(window),
            offered_packets: [0; 2],
            carried_packets: [0; 2],
            carried_in_window: false,
            traffic: BTreeMap::new(),
            stretches: BTreeMap::new(),
            has_clock: true,
            jump_to: None,
            clock_jumps: ClockJumps::default(),
            arrivals: BTreeMap::new(),
            by_direction: BTreeMap::new(),
            queues: [Queue::default(), Queue::default()],
            sojourns: SojournTimes::default(),
            dead_cells: [None; 2],
            probes: Probes::default(),
            real_link: RealLink::default(),
            dropped_probe_packets: 0,
            drops: BTreeMap::new(),
            dropped_elsewhere: 0,
            dropped_datagrams: 0,
            datagram_flows: BTreeSet::new(),
            links: BTreeMap::new(),
            responses: Responses::new(window, bin),
            fairness: Fairness::default(),
            workload: WorkloadMark::default(),
            has_original: false,
            classes: Vec::new(),
        }
    }

    /// No clock that could jump: the workload is a model's, or there is none.
    pub fn has_no_clock(&mut self) {
        self.has_clock = false;
    }

    /// The clock of the original, which ends at `end`, is known to jump: perhaps for packets alone that are in no series.
    pub fn original_jumps(&mut self, end: Time) {
        self.jump_to = Some(end.min(self.window.1));
    }

    fn holds(&self, time: Time) -> bool {
        self.window.0 <= time && time < self.window.1
    }

    /// Takes a connection; all connections come before the epochs and ADUs. Those that started outside the window
    /// are left out (methods C.1), but for the time that they are active in it.
    pub fn connection(&mut self, row: &ConnectionRow) {
        self.active[0].add(row.start, row.original_end);
        if let Some(start) = row.monitor_start {
            self.active[1].add(start, row.monitor_end);
            self.active_seconds.add(start, row.monitor_end);
        }
        let bytes = row.initiator_bytes + row.acceptor_bytes;
        let class = Class {
            pattern: row.pattern,
            size: Size::of(bytes),
            lost_in_original: row.original_lost_segments.is_some_and(|lost| lost > 0),
            closed_in_both: row.original_end.is_some() && row.monitor_end.is_some(),
        };
        self.class_totals[class.number()].carried(row);
        let began = self.holds(row.start);
        self.classes.push((row.id << 1 | u64::from(began)) << CLASS_BITS | class.number() as u64);
        let delivered = row.delivered_to_acceptor_bytes + row.delivered_to_initiator_bytes;
        let is_over = row.outcome == Outcome::Completed || delivered >= bytes;
        if !is_over && class.pattern == Pattern::Sequential {
            self.exchanges.watch(row);
        }
        self.fairness.connection_in(row, self.window);
        if !began {
            return;
        }
        match row.outcome {
            Outcome::Completed => self.outcomes.completed += 1,
            Outcome::Reset => self.outcomes.reset += 1,
            Outcome::GaveUp => self.outcomes.gave_up += 1,
            Outcome::Unfinished => self.outcomes.unfinished += 1,
        }
        self.sequential += u64::from(row.pattern == Pattern::Sequential);
        self.initiators[row.initiator_side as usize] += 1;
        self.lost_in_original += u64::from(class.lost_in_original);
        self.payload_bytes += bytes;
        self.delivered_bytes += row.delivered_to_acceptor_bytes + row.delivered_to_initiator_bytes;
        self.fairness.connection(row);
        self.class_totals[class.number()].connection(row);

        self.has_original |= row.original_duration.is_some();
        match (row.original_end.is_some(), row.monitor_end.is_some()) {
            (true, true) => self.endings.both += 1,
            (true, false) => self.endings.only_original += 1,
            (false, true) => self.endings.only_replay += 1,
            (false, false) => self.endings.neither += 1,
        }
        self.duration(row, class, is_over);
        let rtts = [
            (Point::Original, row.original_rtt),
            (Point::Monitor, row.monitor_rtt),
            (Point::Endpoint, Some(row.path_rtt)),
        ];
        for (point, rtt) in rtts.into_iter().filter_map(|(point, rtt)| Some((point, rtt?))) {
            self.round_trip_times.add(point, rtt.as_nanos(), class);
        }
    }

    /// Takes the duration of a connection. One that did not deliver all its data lasts at least as long as it was seen to.
    fn duration(&mut self, row: &ConnectionRow, class: Class, is_over: bool) {
        let times = [row.established, row.first_data, row.last_data, row.closed, row.monitor_end];
        self.last_seen = times.into_iter().flatten().fold(self.last_seen, Time::max);
        if let Some(sent) = row.syn_sent.filter(|_| row.initiator_bytes + row.acceptor_bytes > 0) {
            match row.last_data {
                Some(last) if is_over => self.last_bytes.add(Point::Endpoint, last.since(sent).as_nanos(), class),
                _ if !is_over => self.open_until_last_byte.push((sent, class)),
                _ => {}
            }
        }
        match row.endpoint_duration {
            Some(duration) if is_over => self.durations.add(Point::Endpoint, duration.as_nanos(), class),
            _ if !is_over => {
                self.open_connections.push((Point::Endpoint, row.first_data.unwrap_or(row.start), class));
            }
            _ => {}
        }
        let Some(original) = row.original_duration else { return };
        match row.monitor_duration {
            Some(monitor) if is_over => {
                self.durations.add(Point::Original, original.as_nanos(), class);
                self.durations.add(Point::Monitor, monitor.as_nanos(), class);
            }
            _ if !is_over => {
                self.durations.add(Point::Original, original.as_nanos(), class);
                self.open_connections.push((Point::Monitor, row.monitor_start.unwrap_or(row.start), class));
            }
            _ => {}
        }
    }

    /// To be called between the last connection and the first epoch or ADU.
    pub fn connections_done(&mut self) {
        self.classes.sort_unstable();
    }

    /// The class of a connection, and whether it began in the window.
    fn class(&self, id: u64) -> Option<(Class, bool)> {
        let id_of = |packed: u64| packed >> (CLASS_BITS + 1);
        let at = self.classes.partition_point(|&packed| id_of(packed) < id);
        let packed = *self.classes.get(at).filter(|&&packed| id_of(packed) == id)?;
        let class = Class::numbered((packed & ((1 << CLASS_BITS) - 1)) as usize);
        Some((class, packed >> CLASS_BITS & 1 == 1))
    }

    /// Takes an epoch. Where there is no original, nothing is compared at the monitor, and only those seen at the endpoints
    /// are kept.
    pub fn epoch(&mut self, row: &EpochRow) {
        self.responses.epoch(row);
        self.exchanges.epoch(row);
        if !self.has_original && row.point != Point::Endpoint {
            return;
        }
        // What the capture's end cut has no response time in the original, and must have none in its replay.
        let is_exchange = row.request_bytes.is_some() && row.response_bytes.is_some();
        if row.point == Point::Original && row.response.is_none() && is_exchange {
            self.cut_by_capture = Some((row.connection, row.epoch));
        }
        if let Some((connection, epoch)) = self.cut_by_capture
            && (row.point, row.connection) == (Point::Monitor, connection)
            && row.epoch >= epoch
        {
            return;
        }
        let (Some(response), Some(start)) = (row.response, row.start) else { return };
        // Concurrent connections have no response times (methods C.3); their replay may by chance look as if it had.
        let class = self.class(row.connection).filter(|(class, _)| class.pattern == Pattern::Sequential);
        if let Some((class, began)) = class.filter(|(_, began)| self.holds(start) || (*began && row.epoch == 0)) {
            self.response_times.add(row.point, response.as_nanos(), class);
            let responding = &mut self.responding[row.point as usize];
            if began && responding.last() != Some(&row.connection) {
                responding.push(row.connection);
            }
            self.intended.extend(row.intended.map(|intended| (start + response).since(intended).as_nanos()));
        }
    }

    /// Takes an ADU. Their sizes are only compared with an original's: a run without one ([`Self::has_original`]) needs none.
    pub fn adu(&mut self, row: &AduRow) {
        // Of vectors nobody knows when their ADUs pass: the replay's count too where they pass behind the window.
        let counts = |row: &AduRow| !self.has_original || row.first.is_none_or(|first| self.holds(first));
        if let Some((class, true)) = self.class(row.connection).filter(|_| counts(row)) {
            self.adu_sizes.add(row.point, row.bytes, class);
            if let (Some(first), Some(last)) = (row.first, row.last) {
                let (adus, total) = &mut self.adu_spans[row.point as usize];
                *adus += 1;
                *total += last.since(first);
            }
        }
    }

    /// Takes a queue sample.
    pub fn queue(&mut self, sample: &QueueSample) {
        if !self.holds(sample.time) {
            return;
        }
        let queue = match sample.link {
            0 | 1 => &mut self.queues[sample.from as usize],
            link => &mut self.links.entry(link).or_default().queue,
        };
        queue.samples.push((sample.time, sample.packets));
    }

    /// Takes a bin of sojourn times.
    pub fn sojourn(&mut self, record: &SojournRecord) {
        if record.link <= 1 {
            self.sojourns.add(record);
        }
    }

    /// Takes a probe.
    pub fn probe(&mut self, record: &ProbeRecord) {
        if self.holds(record.sent) {
            self.probes.add(record);
        }
    }

    /// Takes a throughput bin. A bin wider than [`Self::bin`] counts where it starts.
    pub fn throughput(&mut self, row: &ThroughputRow) {
        if row.point == TrafficPoint::RealLink {
            return self.real_link.add(row);
        }
        if row.link > 1 {
            return self.throughput_elsewhere(row);
        }
        if matches!(row.point, TrafficPoint::ReplayOffered | TrafficPoint::ReplayCarried) {
            self.last_seen = self.last_seen.max(row.start);
        }
        match row.point {
            TrafficPoint::ReplayOffered => self.offered_packets[row.from as usize] += row.traffic.packets,
            TrafficPoint::ReplayCarried => {
                self.carried_packets[row.from as usize] += row.traffic.packets;
                let overlaps = row.start < self.window.1 && row.start + row.width > self.window.0;
                self.carried_in_window |= overlaps && row.traffic.packets > 0;
            }
            // Flows of datagrams have an original too, which no connection tells.
            TrafficPoint::Original => self.has_original |= row.traffic.packets > 0,
            TrafficPoint::SetAside | TrafficPoint::ReplayMissing | TrafficPoint::RealLink => {}
        }
        if !self.holds(row.start) {
            return;
        }
        if matches!(row.point, TrafficPoint::Original | TrafficPoint::ReplayCarried) && row.width > Duration::ZERO {
            let planned = self.planned;
            let arrivals = self.arrivals.entry(row.point).or_insert_with(|| Arrivals::new(row.width, planned));
            arrivals.add(row.start.since(self.window.0), row.traffic);
            if row.point == TrafficPoint::ReplayCarried {
                let together = COARSE_BIN.as_nanos().div_ceil(row.width.as_nanos());
                let arrivals =
                    self.by_direction.entry(row.from).or_insert_with(|| Arrivals::new(row.width * together, planned));
                arrivals.add(row.start.since(self.window.0), row.traffic);
            }
        }
        self.stretches.entry((row.point, row.from)).or_default().add(row.start);
        let index = self.bin_of(row.start);
        let bins = self.traffic.entry((row.point, row.from)).or_default();
        if bins.len() <= index {
            bins.resize(index + 1, Traffic::default());
        }
        bins[index].add(row.traffic);
    }

    /// The bin that holds an instant of the window.
    fn bin_of(&self, time: Time) -> usize {
        (time.since(self.window.0).as_nanos() / self.bin.as_nanos()) as usize
    }

    fn throughput_elsewhere(&mut self, row: &ThroughputRow) {
        if row.point != TrafficPoint::ReplayCarried || !self.holds(row.start) {
            return;
        }
        let index = self.bin_of(row.start);
        let bins = &mut self.links.entry(row.link).or_default().carried;
        bins.resize(bins.len().max(index + 1), 0);
        bins[index] += row.traffic.bytes;
    }

    /// Takes a flow of a source beside the workload; all flows come before the drops.
    pub fn source(&mut self, row: &SourceRecord) {
        if row.sent_packets.is_some() {
            self.datagram_flows.insert(row.id);
        }
        // Those that began before the window and are under way in it are of the window too.
        if row.start < self.window.1 && row.last.is_none_or(|last| last >= self.window.0) {
            self.fairness.source(row);
            self.source_totals.source(row);
            self.silent.source(row, self.window.1);
        }
    }

    /// Takes a drop.
    pub fn drop(&mut self, record: &DropRecord) {
        if ProbeRecord::has(record.connection) {
            self.dropped_probe_packets += 1;
            return;
        }
        self.dropped_datagrams += u64::from(self.datagram_flows.contains(&record.connection));
        if record.link.is_some_and(|link| link > 1) {
            self.dropped_elsewhere += 1;
            return;
        }
        *self.drops.entry((record.reason, record.kind, record.from)).or_default() += 1;
    }

    /// To be called after the last row: series go on to the window's end.
    pub fn finish(&mut self) {
        self.responses.finish();
        self.finish_unfinished();
        self.probes.finish(self.last_seen);
        let stretches = std::mem::take(&mut self.stretches);
        let beside: Vec<Time> = std::iter::once(self.window.0).chain(self.jump_to).collect();
        self.clock_jumps = if self.has_clock { jumps(&stretches, &beside) } else { ClockJumps::default() };
        let length = self.window.1.since(self.window.0);
        let bins = (length.as_nanos() / self.bin.as_nanos()).max(1) as usize;
        // Cuts a last, partial bin: it would look like a breakdown.
        self.traffic.values_mut().for_each(|series| series.resize(bins, Traffic::default()));
        self.links.values_mut().for_each(|link| link.carried.resize(bins, 0));
        for arrivals in self.arrivals.values_mut().chain(self.by_direction.values_mut()) {
            arrivals.resize((length.as_nanos() / arrivals.width.as_nanos()) as usize);
        }
    }

    /// Counts what did not end, now that it is known how long it was seen.
    fn finish_unfinished(&mut self) {
        for (point, since, class) in std::mem::take(&mut self.open_connections) {
            self.durations.add_unfinished(point, self.last_seen.since(since), class);
        }
        for (sent, class) in std::mem::take(&mut self.open_until_last_byte) {
            self.last_bytes.add_unfinished(Point::Endpoint, self.last_seen.since(sent), class);
        }
        let exchanges = std::mem::take(&mut self.exchanges);
        let points = if self.has_original { &[Point::Monitor, Point::Endpoint][..] } else { &[Point::Endpoint] };
        for point in points {
            for Begun { connection, at, with_connection } in exchanges.unfinished(*point) {
                let Some((class, began)) = self.class(connection) else { continue };
                if self.holds(at) || (began && with_connection) {
                    self.responding[*point as usize].extend(began.then_some(connection));
                    self.response_times.add_unfinished(*point, self.last_seen.since(at), class);
                }
            }
        }
        for responding in &mut self.responding {
            responding.sort_unstable();
            responding.dedup();
        }
    }

    /// Of how many connections of the window `metric` has values at `point`, or bounds of them, and how many there are; those of the whole
    /// link are of all of them.
    pub fn count_with(&self, metric: Metric, point: Point) -> [u64; 2] {
        let connections = match metric {
            Metric::Duration => self.durations.sample(point, |_| true).len() as u64,
            Metric::ResponseTime => self.responding[point as usize].len() as u64,
            Metric::RoundTripTime => self.round_trip_times.sample(point, |_| true).len() as u64,
            _ => return [1, 1],
        };
        [connections, self.outcomes.started()]
    }

    /// Values of `metric` at `point`, of connections of the kinds that `of` accepts; series are of all connections.
    pub fn sample(&self, metric: Metric, point: Point, of: impl Fn(Class) -> bool) -> Sample {
        let values = match metric {
            Metric::Duration => &self.durations,
            Metric::ResponseTime => &self.response_times,
            Metric::RoundTripTime => &self.round_trip_times,
            Metric::AduSize => &self.adu_sizes,
            Metric::ActiveConnections
            | Metric::ThroughputFromLeft
            | Metric::ThroughputFromRight
            | Metric::PacketArrivals
            | Metric::Goodput => return Sample::new(self.series(metric, point)),
            Metric::QueueFromLeft => return Sample::new(self.queue_series(LinkSide::Left)),
            Metric::QueueFromRight => return Sample::new(self.queue_series(LinkSide::Right)),
            Metric::QueueDelayFromLeft | Metric::QueueDelayFromRight if point == Point::Original => {
                return Sample::default();
            }
            Metric::DeadCellsFromLeft | Metric::DeadCellsFromRight => {
                let share = metric.from().and_then(|from| self.dead_cells[from as usize]);
                return Sample::new(share.filter(|_| point != Point::Original));
            }
            Metric::QueueDelayFromLeft => return self.queue_delay(LinkSide::Left),
            Metric::QueueDelayFromRight => return self.queue_delay(LinkSide::Right),
            Metric::ProbeRoundTrip | Metric::ProbeRequest => {
                let kind = metric.probe_kind().filter(|_| point != Point::Original);
                return kind.map_or_else(Sample::default, |kind| self.probes.times(kind));
            }
        };
        values.sample(point, of)
    }

    /// Sojourn times of the packets from `from` that the bottleneck transmitted, in nanoseconds.
    fn queue_delay(&self, from: LinkSide) -> Sample {
        self.sojourns.per_packet(from, None, QueueFate::Transmitted)
    }

    /// Active connections of the replay at each whole second of the window (*instants*, methods C.4); empty where the clock jumps.
    pub fn active_at_seconds(&self) -> Sample {
        Sample::new(if self.has_clock_jumps() { Vec::new() } else { self.active_seconds.instants() })
    }

    /// Active connections of the replay in each second of the window, one that is open at any moment of it counted (*presence*, methods C.4);
    /// empty where the clock jumps.
    pub fn active_in_seconds(&self) -> Sample {
        Sample::new(if self.has_clock_jumps() { Vec::new() } else { self.active_seconds.presence() })
    }

    /// Nanoseconds from the SYN of a connection to its last byte, at the ends (methods C.2): of connections that have data to send.
    pub fn times_to_last_byte(&self) -> Sample {
        self.last_bytes.sample(Point::Endpoint, |_| true)
    }

    /// Sojourn times of packets from `from` weighted by time, in nanoseconds, with 0 while the link was idle; empty where the clock jumps, as a
    /// mean over years of nothing says nothing.
    pub(crate) fn queue_delay_over_time(&self, from: LinkSide) -> Sample {
        if self.has_clock_jumps() {
            return Sample::default();
        }
        self.sojourns.over_time(from, self.window.1.since(self.window.0))
    }

    /// Response times at the endpoints, in nanoseconds, from when requests should have been sent, where that is known.
    pub fn intended_response_times(&self) -> Sample {
        Sample::from(&self.intended.empirical())
    }

    /// The ADUs whose first and last byte were seen at `point`, and the sum of the times between them.
    pub fn adu_spans(&self, point: Point) -> (u64, Duration) {
        self.adu_spans[point as usize]
    }

    /// Takes the traffic of the original from another run of the same workload in the same window, for one that leaves out what the other
    /// replays: what it leaves out is part of its difference.
    pub fn take_original_traffic(&mut self, other: &Measurements) {
        self.traffic.retain(|(point, _), _| *point != TrafficPoint::Original);
        let original = other.traffic.iter().filter(|((point, _), _)| *point == TrafficPoint::Original);
        self.traffic.extend(original.map(|(at, series)| (*at, series.clone())));
    }

    /// How long the window is without the jumps of the clock in it.
    pub fn observed(&self) -> Duration {
        self.window.1.since(self.window.0).saturating_sub(self.clock_jumps.total())
    }

    /// Whether the clock jumps in the window, which has no rates and no means over time then (methods C.6).
    pub fn has_clock_jumps(&self) -> bool {
        self.clock_jumps != ClockJumps::default()
    }

    /// A metric over time: one value per bin ([`Self::series_bin`]), of probes the mean of those sent in it; empty for metrics that are none, for queues, and in a window with
    /// jumps of the clock.
    pub fn series(&self, metric: Metric, point: Point) -> Vec<f64> {
        if self.has_clock_jumps() {
            return Vec::new();
        }
        let per_second = 1e9 / self.bin.as_nanos() as f64;
        let source = if point == Point::Original { TrafficPoint::Original } else { TrafficPoint::ReplayCarried };
        let bits = |sides: &[LinkSide], of: fn(&Traffic) -> u64, factor: f64| -> Vec<f64> {
            let series: Vec<&Vec<Traffic>> =
                sides.iter().filter_map(|&side| self.traffic.get(&(source, side))).collect();
            // The replay of bytes that were not captured is not compared.
            let missing: Vec<&Vec<Traffic>> = sides
                .iter()
                .filter(|_| source == TrafficPoint::ReplayCarried)
                .filter_map(|&side| self.traffic.get(&(TrafficPoint::ReplayMissing, side)))
                .collect();
            let bins = series.iter().map(|series| series.len()).max().unwrap_or(0);
            let sum = |series: &[&Vec<Traffic>], bin: usize| -> u64 {
                series.iter().filter_map(|series| series.get(bin)).map(of).sum()
            };
            let compared = |bin| sum(&series, bin).saturating_sub(sum(&missing, bin));
            (0..bins).map(|bin| compared(bin) as f64 * factor * per_second).collect()
        };
        const BOTH: [LinkSide; 2] = [LinkSide::Left, LinkSide::Right];
        match metric {
            Metric::ActiveConnections => self.active[usize::from(point != Point::Original)].means(),
            Metric::ThroughputFromLeft => bits(&BOTH[..1], |traffic| traffic.bytes, 8.0),
            Metric::ThroughputFromRight => bits(&BOTH[1..], |traffic| traffic.bytes, 8.0),
            Metric::PacketArrivals => bits(&BOTH, |traffic| traffic.packets, 1.0),
            Metric::Goodput => bits(&BOTH, |traffic| traffic.payload_bytes, 8.0),
            Metric::Duration
            | Metric::ResponseTime
            | Metric::RoundTripTime
            | Metric::AduSize
            | Metric::QueueFromLeft
            | Metric::QueueFromRight
            | Metric::QueueDelayFromLeft
            | Metric::QueueDelayFromRight
            | Metric::DeadCellsFromLeft
            | Metric::DeadCellsFromRight => Vec::new(),
            Metric::ProbeRoundTrip | Metric::ProbeRequest => {
                let kind = metric.probe_kind().filter(|_| point != Point::Original);
                let bins = self.window.1.since(self.window.0).as_nanos() / self.bin.as_nanos();
                let series = |kind| self.probes.series(kind, self.window.0, self.bin, bins as usize);
                kind.map_or_else(Vec::new, series)
            }
        }
    }

    /// What the connections of the kinds that `of` accepts came to.
    pub fn totals(&self, of: impl Fn(Class) -> bool) -> ClassTotals {
        let mut totals = ClassTotals::default();
        let accepted = self.class_totals.iter().enumerate().filter(|(number, _)| of(Class::numbered(*number)));
        accepted.for_each(|(_, class)| totals.add(*class));
        totals
    }

    /// What the connections and the flows of sources came to, all together.
    pub fn all_totals(&self) -> ClassTotals {
        let mut totals = self.totals(|_| true);
        totals.add(self.source_totals);
        totals
    }

    /// Payload bytes that arrived of the flows of sources that were under way in the window.
    pub fn source_bytes(&self) -> u64 {
        self.source_totals.delivered_bytes
    }

    /// Traffic at full resolution: what the original carried, or what the replay's link did. `None` where nothing was recorded, and in a
    /// window with jumps of the clock.
    pub fn arrivals(&self, point: Point) -> Option<&Arrivals> {
        let point = if point == Point::Original { TrafficPoint::Original } else { TrafficPoint::ReplayCarried };
        self.arrivals.get(&point).filter(|_| !self.has_clock_jumps())
    }

    /// Traffic from `from` that the replay's link carried, in bins of 10 ms or wider ones. `None` as of [`Self::arrivals`].
    pub fn arrivals_from(&self, from: LinkSide) -> Option<&Arrivals> {
        self.by_direction.get(&from).filter(|_| !self.has_clock_jumps())
    }

    /// Width of the bins of [`Self::series`].
    pub fn series_bin(&self, metric: Metric) -> Duration {
        match metric {
            Metric::QueueFromLeft | Metric::QueueFromRight => self.queue_interval * self.queue_stride(),
            _ => self.bin,
        }
    }

    /// Bytes on the link that the original carried and nothing replays, per bin, in bit/s (methods M.8). Empty as [`Self::series`] is.
    pub fn set_aside(&self, from: LinkSide) -> Vec<f64> {
        if self.has_clock_jumps() {
            return Vec::new();
        }
        let per_second = 8e9 / self.bin.as_nanos() as f64;
        let series = self.traffic.get(&(TrafficPoint::SetAside, from));
        series.map_or(Vec::new(), |bins| bins.iter().map(|bin| bin.bytes as f64 * per_second).collect())
    }

    /// What the real link carried from `from` in each bin of [`Self::series`], in bit/s, NaN where that is unknown; empty without a real link,
    /// and as [`Self::series`] is.
    pub fn real_link_series(&self, from: LinkSide) -> Vec<f64> {
        if self.has_clock_jumps() {
            return Vec::new();
        }
        let bins = self.window.1.since(self.window.0).as_nanos() / self.bin.as_nanos();
        self.real_link.in_bins(from, self.window.0, self.bin, bins as usize)
    }

    /// Packets from `from` on the real link beside those on the link of the run; `None` if either is not known.
    pub fn beside_real_link(&self, from: LinkSide) -> Option<Beside> {
        let mut series = self.series(Metric::throughput(from), Point::Monitor);
        if series.is_empty() && !self.has_clock_jumps() {
            // The run carried nothing this way.
            let bins = self.window.1.since(self.window.0).as_nanos() / self.bin.as_nanos();
            series = vec![0.0; bins as usize];
        }
        self.real_link.beside(from, &series, self.window.0, self.bin)
    }

    /// Sampling instants that make one value of [`Self::queue_series`].
    fn queue_stride(&self) -> u64 {
        let instants = self.planned.as_nanos() / self.queue_interval.as_nanos().max(1);
        instants.div_ceil(MOST_QUEUE_VALUES).max(1)
    }

    /// Packets waiting at every sampling instant of the window; none where the clock jumps in it. Where there are more instants than anybody looks at
    /// (beyond eleven hours at the usual 10 ms), each value is the largest of as many as [`Self::series_bin`] spans.
    pub fn queue_series(&self, from: LinkSide) -> Vec<f64> {
        self.lengths(&self.queues[from as usize])
    }

    /// [`Self::queue_series`] of a link beside the bottleneck.
    pub fn link_queue(&self, link: u16) -> Vec<f64> {
        self.links.get(&link).map_or(Vec::new(), |link| self.lengths(&link.queue))
    }

    /// What a link beside the bottleneck carried in each bin, in bit/s. Empty as [`Self::series`] is.
    pub fn link_throughput(&self, link: u16) -> Vec<f64> {
        if self.has_clock_jumps() {
            return Vec::new();
        }
        let per_second = 8e9 / self.bin.as_nanos() as f64;
        self.links
            .get(&link)
            .map_or(Vec::new(), |link| link.carried.iter().map(|bytes| *bytes as f64 * per_second).collect())
    }

    fn lengths(&self, queue: &Queue) -> Vec<f64> {
        if self.has_clock_jumps() {
            return Vec::new();
        }
        let width = self.series_bin(Metric::QueueFromLeft).as_nanos().max(1);
        let values = self.window.1.since(self.window.0).as_nanos() / width;
        let mut series = vec![0.0_f64; values as usize];
        for &(time, packets) in &queue.samples {
            if let Some(slot) = series.get_mut((time.since(self.window.0).as_nanos() / width) as usize) {
                *slot = slot.max(packets as f64);
            }
        }
        series
    }

    /// Packets that reached the queues and neither passed the link nor were dropped there: waiting when the run ended,
    /// or lost track of. Negative if more came out than went in.
    pub fn unaccounted_packets(&self) -> i64 {
        let dropped = self.drops.iter().filter(|((reason, ..), _)| reason.is_at_queue());
        let out = self.carried_packets.iter().sum::<u64>() + dropped.map(|(_, count)| count).sum::<u64>();
        self.offered_packets.iter().sum::<u64>() as i64 - out as i64
    }

    /// Packets from `side` that the queue dropped; what a loss model took never reached it.
    pub fn dropped_from(&self, side: LinkSide) -> u64 {
        let here = self.drops.iter().filter(|((reason, _, from), _)| *from == side && reason.is_at_queue());
        here.map(|(_, count)| count).sum()
    }

    /// The direction that carries more: the side packets come from.
    pub fn busier_side(&self) -> LinkSide {
        let bytes = |side| -> u64 {
            let bins = self.traffic.get(&(TrafficPoint::ReplayOffered, side));
            bins.map_or(0, |bins| bins.iter().map(|bin| bin.bytes).sum())
        };
        if bytes(LinkSide::Right) > bytes(LinkSide::Left) { LinkSide::Right } else { LinkSide::Left }
    }

    /// Dropped packets in all.
    pub fn dropped(&self) -> u64 {
        self.drops.values().sum::<u64>() + self.dropped_elsewhere
    }
}

/// A run: what it was and what it measured.
#[derive(Clone, Debug)]
pub struct Run {
    /// Short and unlike the names of other runs beside it: the folder's name.
    pub name: String,
    /// What it was.
    pub facts: Facts,
    /// What it ran on.
    pub host: HostFacts,
    /// What it measured.
    pub measurements: Measurements,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_belong_to_the_window_in_which_they_or_their_connections_begin() {
        let second = |at: u64| Time::ZERO + SECOND * at;
        let mut measured = Measurements::new((second(20), second(50)), SECOND * 30, SECOND);
        let connection = |id: u64, start: u64, outcome: Outcome, established: Option<u64>| ConnectionRow {
            id,
            start: second(start),
            syn_sent: Some(second(start)),
            established: established.map(second),
            outcome,
            class: 0,
            pattern: Pattern::Sequential,
            complete: true,
            initiator_side: LinkSide::Left,
            initiator_bytes: 10,
            acceptor_bytes: 100,
            first_data: None,
            last_data: None,
            closed: Some(second(70)),
            original_duration: None,
            monitor_duration: None,
            endpoint_duration: None,
            original_end: None,
            monitor_start: None,
            monitor_end: None,
            original_rtt: None,
            monitor_rtt: None,
            path_rtt: SECOND,
            retransmissions: 0,
            timeouts: 0,
            delivered_to_acceptor_bytes: 0,
            delivered_to_initiator_bytes: 0,
            carried_bytes: None,
            original_lost_segments: None,
        };
        for row in [
            connection(1, 5, Outcome::Completed, Some(6)),
            connection(2, 49, Outcome::Completed, Some(55)),
            connection(3, 49, Outcome::Unfinished, None),
            connection(4, 48, Outcome::Unfinished, Some(55)),
            connection(5, 51, Outcome::Unfinished, None),
            connection(6, 5, Outcome::Unfinished, Some(6)),
        ] {
            measured.connection(&row);
        }
        measured.connections_done();
        let epoch = |connection: u64, epoch: u32, start: Option<u64>, response: Option<u64>| EpochRow {
            point: if start.is_some() { Point::Endpoint } else { Point::Original },
            connection,
            epoch,
            start: start.map(second),
            response: response.map(|seconds| SECOND * seconds),
            request_bytes: Some(10),
            response_bytes: Some(100),
            ..EpochRow::default()
        };
        for row in [
            // Of a connection that began before the window.
            epoch(1, 2, Some(19), Some(1)),
            epoch(1, 3, Some(25), Some(2)),
            epoch(1, 4, Some(51), Some(1)),
            // Its SYN waited beyond the window.
            epoch(2, 0, Some(55), Some(3)),
            epoch(2, 1, Some(59), Some(1)),
            epoch(3, 0, None, None),
            epoch(4, 0, Some(55), None),
            epoch(5, 0, None, None),
            epoch(6, 7, Some(30), None),
        ] {
            measured.epoch(&row);
        }
        measured.finish();
        let times = measured.sample(Metric::ResponseTime, Point::Endpoint, |_| true);
        let ended: Vec<_> = times.steps().map(|(nanos, count)| (nanos / 1e9, count)).collect();
        assert_eq!((ended.len(), times.unfinished()), (2, 3), "{times:?}");
        assert!(ended.iter().zip([2.0, 3.0]).all(|(found, wanted)| (found.0 / wanted - 1.0).abs() < 0.01), "{times:?}");
    }

    #[test]
    fn the_original_alone_decides_whether_its_clock_jumps() {
        let hours = |hours: &[u64]| -> Stretches {
            hours.iter().map(|hour| Time::ZERO + Duration::from_secs(3_600 * hour)).collect()
        };
        let found = |original: &[u64], replay: &[u64]| {
            let points = [(TrafficPoint::Original, original), (TrafficPoint::ReplayCarried, replay)];
            let known = points.into_iter().filter(|(_, at)| !at.is_empty());
            let stretches = known.map(|(point, at)| ((point, LinkSide::Left), hours(at))).collect();
            jumps(&stretches, &[Time::ZERO]).total().as_secs_f64() / 3_600.0
        };
        assert_eq!(found(&[0, 25, 26], &[0, 2, 26]), 25.0, "a replay that takes two hours longer does not hide a jump");
        assert_eq!(found(&[40, 41], &[40, 41]), 40.0, "the capture began with what is no traffic");
        assert_eq!(found(&[0, 1], &[0, 1, 20, 40, 60]), 0.0, "sources go on beside it");
        assert_eq!(found(&[], &[30, 60, 61]), 30.0, "nothing is known of the original's traffic");
    }
}
