//! Run folders of made-up runs, written through the recorder that real drivers use.

pub mod large;

use std::path::Path;

use flowloom_core::record::{
    ConnectionRecord, DropReason, DropRecord, EpochRecord, Outcome, PacketKind, QueueSample, Record, Recorder, Series,
    ThroughputBin, Traffic,
};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, Endpoint, Evidence, InitiatorRule, LinkSide, Pattern, PerSide, Repeated, Segments,
    Side, Span,
};
use flowloom_report::real_link::{CountedFacts, RealLinkFacts};
use flowloom_report::{Facts, HostFacts, Original};
use flowloom_store::monitor::SECOND;
use flowloom_store::run_folder::{RunFolder, RunOptions, RunWriter, TrafficPoint};

use crate::monitor::START;

/// A run to make up.
pub struct MadeUp {
    /// Connections to start.
    pub connections: u64,
    /// Length of the window.
    pub seconds: u64,
    /// Every time of the replay is this many times the original's.
    pub slower: f64,
    /// Whether the workload was measured, and not drawn from a model.
    pub original: bool,
    /// One connection in so many lost packets in the original; 0 for none.
    pub lossy: u64,
    /// Whether the queue ever holds a packet.
    pub queues: bool,
    /// Connections that the run's end cuts.
    pub unfinished: u64,
    /// Packets that the link lost without a record.
    pub vanished: u64,
    /// Whether it is shown beside a real link, whose counters were read every 5 s, and not from 40 s to 60 s.
    pub real_link: bool,
    /// What `run.json` says beside what follows from the above.
    pub facts: Facts,
}

impl Default for MadeUp {
    fn default() -> MadeUp {
        let facts = Facts {
            title: "Replay of office.pcap".into(),
            source: "office.pcap".into(),
            driver: "sim".into(),
            model: "a-t-b-t, usernet, measured windows".into(),
            network: "dumbbell, 1.00 Gbit/s, drop-tail 65000p".into(),
            seed: 1,
            experiment: "title = \"Replay of office.pcap\"\n\n[workload]\nsource = \"office.pcap\"\nstructure = \"a-t-b-t\"\n\n\
                         [network]\nbottleneck = { rate = \"1gbit\", delay = \"0ms\", queue = { kind = \"drop-tail\", limit = \
                         \"65000p\" } }\n\n[run]\nseeds = [1]\n"
                .into(),
            command: "flowloom run office.pcap -o runs/office".into(),
            provenance: [
                ("flowloom".to_owned(), "0.1.0".to_owned()),
                ("sha256 of office.pcap".to_owned(), "5f1c0f3f9a7d5f4c6d3b0b5a8ef1c6f0b41e3e1d75a6c9a3a0b6f2d7c8e9f011".to_owned()),
            ]
            .into(),
            events: Some(1_204_551),
            ..Facts::default()
        };
        MadeUp {
            connections: 2_000,
            seconds: 120,
            slower: 1.0,
            original: true,
            lossy: 25,
            queues: true,
            unfinished: 0,
            vanished: 0,
            real_link: false,
            facts,
        }
    }
}

/// Twelve runs: four structures with three round-trip time models, by their names.
pub fn grid() -> Vec<(String, MadeUp)> {
    let structures = ["a-t-b-t", "a-b", "block-sequential", "block-concurrent"];
    let pairs = structures.into_iter().enumerate().flat_map(|(row, structure)| {
        ["usernet", "meanrtt", "allnone"]
            .into_iter()
            .enumerate()
            .map(move |(column, rtt)| (row, structure, column, rtt))
    });
    let made = pairs.map(|(row, structure, column, rtt)| {
        let mut run =
            MadeUp { connections: 400, seconds: 60, slower: 1.0 + 0.1 * (row + column) as f64, ..MadeUp::default() };
        run.facts.experiment =
            format!("[workload]\nsource = \"office.pcap\"\nstructure = \"{structure}\"\nrtt = \"{rtt}\"\n");
        (format!("{structure}-{rtt}"), run)
    });
    made.collect()
}

/// Three runs that differ in their seeds and a little in what they measured.
pub fn seeds() -> Vec<(String, MadeUp)> {
    let seeded = |seed: u64| {
        let mut run = MadeUp { slower: 1.0 + 0.02 * seed as f64, ..MadeUp::default() };
        run.facts.seed = seed;
        (format!("seed-{seed}"), run)
    };
    (1..=3).map(seeded).collect()
}

/// Log-normal with this median and spread, by twelve uniforms for a normal one.
fn lognormal(stream: &mut Stream, median: f64, spread: f64) -> f64 {
    let normal = (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
    median * libm::exp(spread * normal)
}

impl MadeUp {
    /// Writes the run folder `path`.
    pub fn write(&self, path: &Path) -> RunFolder {
        let end = Duration::from_secs(self.seconds);
        let options =
            RunOptions { replace: true, queue_interval: Duration::from_millis(10), original_duration: Some(end) };
        let mut writer = RunWriter::create(path, options).unwrap();
        let mut traffic = Traffics::default();
        for id in 0..self.connections {
            self.connection(id, &mut writer, &mut traffic);
        }
        self.link(&mut writer, &traffic);
        let mut facts = self.facts.clone();
        facts.real_link = self.real_link.then(|| self.real_link(&mut writer));
        facts.window_ns = Some([0, end.as_nanos()]);
        facts.original = self.original.then(|| Original {
            packets: 182_582,
            duration_ns: end.as_nanos(),
            clock_jumps_ns: 0,
            connections: self.connections + 40,
            totals_only: 0,
            set_aside: [("no data".to_owned(), 32), ("one direction only".to_owned(), 8)].into(),
            ..Original::default()
        });
        let host = HostFacts { wall_ns: Some(412_000_000), date: "2026-11-21".into(), ..HostFacts::default() };
        writer.finish(&facts.to_json(), &host.to_json()).unwrap();
        RunFolder::open(path).unwrap()
    }

    fn connection(&self, id: u64, writer: &mut RunWriter, traffic: &mut Traffics) {
        let mut stream = Stream::new(7, Purpose::Sizes, id);
        let start = Time::from_nanos((stream.uniform() * self.seconds as f64 * 0.97 * 1e9) as u64);
        let rtt = Duration::from_secs_f64(lognormal(&mut stream, 0.04, 0.7).clamp(0.004, 0.6));
        let concurrent = id % 40 == 39;
        let mut epochs: Vec<(u64, f64, u64, f64)> = Vec::new();
        for _ in 0..1 + stream.below(6) {
            let request = 200 + stream.below(900);
            let think = rtt.as_secs_f64() + lognormal(&mut stream, 0.02, 1.6);
            let response = lognormal(&mut stream, 6_000.0, 1.7) as u64 + 1;
            epochs.push((request, think, response, lognormal(&mut stream, 0.4, 1.5)));
        }
        let vector = |slower: f64| self.vector(id, start, rtt, concurrent, &epochs, slower);
        let (mut original, monitor) = (vector(1.0), vector(self.slower));
        if self.original {
            traffic.original.add(&original);
        } else {
            original.evidence = Evidence::Model;
            original.adus.iter_mut().for_each(|adu| adu.seen = None);
        }
        traffic.replay.add(&monitor);
        let unfinished = id >= self.connections - self.unfinished;
        let half = Duration::from_nanos(rtt.as_nanos() / 4);
        let at = |offset: Duration| start + offset;
        let last = monitor.data_span().unwrap().last;
        let bytes = [monitor.bytes(Side::Initiator), monitor.bytes(Side::Acceptor)];
        let record = ConnectionRecord {
            class: 0,
            id,
            start,
            outcome: if unfinished { Outcome::Unfinished } else { Outcome::Completed },
            established: Some(at(rtt)),
            first_data: Some(at(rtt)),
            last_data: Some(at(last + half)),
            closed: monitor.end(),
            rtt,
            retransmissions: 0,
            timeouts: 0,
            delivered_bytes: if unfinished { [0, 0] } else { bytes },
            carried_bytes: Some(if unfinished { 0 } else { bytes.iter().sum() }),
        };
        let endpoint: Vec<EpochRecord> = monitor
            .epochs()
            .enumerate()
            .filter_map(|(index, epoch)| {
                let (request, response) = (epoch.request?, epoch.response?);
                let (start, end) = (at(request.seen.unwrap().first), at(response.seen.unwrap().last + half));
                Some(EpochRecord { connection: id, epoch: index as u32, intended: None, start, end: Some(end) })
            })
            .collect();
        let monitor = (!unfinished).then_some(&monitor);
        writer.record(Record::Connection { original: &original, ended: &record, epochs: &endpoint, monitor }).unwrap();
    }

    fn vector(
        &self,
        id: u64,
        start: Time,
        rtt: Duration,
        concurrent: bool,
        epochs: &[(u64, f64, u64, f64)],
        slower: f64,
    ) -> ConnectionVector {
        let mut now = rtt.as_secs_f64();
        let mut adus = Vec::new();
        for (index, &(request, think, response, pause)) in epochs.iter().enumerate() {
            let mut push = |side: Side, bytes: u64, wait: f64, now: &mut f64| {
                let first = Duration::from_secs_f64(*now);
                // Twelve round trips a megabyte, as a window would have it.
                *now += (bytes as f64 / 1e6 * 12.0 * rtt.as_secs_f64() + bytes as f64 * 8e-9) * slower;
                let seen = Some(Span { first, last: Duration::from_secs_f64(*now) });
                *now += wait * slower;
                let wait = Some(Duration::from_secs_f64(wait * slower));
                adus.push(Adu { side, bytes, missing_bytes: 0, wait, waiter: side.other(), seen, packets: None });
            };
            push(Side::Initiator, request, think, &mut now);
            push(Side::Acceptor, response, if index + 1 == epochs.len() { 0.0 } else { pause }, &mut now);
        }
        let lossy = self.lossy > 0 && id % self.lossy == 3;
        let repeated = Repeated { timeout: u64::from(lossy), ..Repeated::default() };
        let end = Endpoint {
            min_transit: Some(Duration::from_nanos(rtt.as_nanos() / 2)),
            segments: Some(Segments { data: 10, duplicates: repeated.total(), repeated, ..Segments::default() }),
            ..Endpoint::default()
        };
        ConnectionVector {
            id,
            start,
            initiator_side: LinkSide::Left,
            initiator_rule: InitiatorRule::Syn,
            pattern: if concurrent { Pattern::Concurrent } else { Pattern::Sequential },
            complete: true,
            handshake_repeated: false,
            syn_rtt: Some(rtt),
            ends: PerSide { initiator: end, acceptor: end },
            close: Close::Fin(Side::Initiator),
            t_close: Some(Duration::from_millis(20)),
            adus,
            ..ConnectionVector::default()
        }
    }

    /// 2 Mbit/s one way and 8 Mbit/s the other, more and less by turns.
    fn real_link(&self, writer: &mut RunWriter) -> RealLinkFacts {
        let starts = || (0..self.seconds / 5).map(|number| 5 * number).filter(|start| !(40..60).contains(start));
        for (from, megabits) in [(LinkSide::Left, 2), (LinkSide::Right, 8)] {
            let interval = |start: u64| {
                let bytes = megabits * 625_000 * (2 + start % 4) / 3;
                (Time::ZERO + Duration::from_secs(start), Duration::from_secs(5), bytes)
            };
            writer.real_link(from, starts().map(interval)).unwrap();
        }
        let counted = |counter: &str| CountedFacts {
            counter: counter.into(),
            unit: "octets".into(),
            interval_ns: 5_000_000_000,
            unknown_ns: 20_000_000_000,
        };
        RealLinkFacts {
            target: "core-1".into(),
            port: "ge-0/0/1".into(),
            from_ns: START,
            to_ns: START + self.seconds * SECOND,
            left_to_right: Some(counted("out")),
            right_to_left: Some(counted("in")),
        }
    }

    fn link(&self, writer: &mut RunWriter, traffic: &Traffics) {
        let mut aside = Series::new(BIN);
        for bin in (0..self.seconds * 100).step_by(7) {
            let some = Traffic { packets: 6, bytes: 7_000 + bin % 900, payload_bytes: 6_000 };
            aside.add(Time::ZERO + BIN * bin, some);
        }
        for side in [LinkSide::Left, LinkSide::Right].into_iter().filter(|_| self.original) {
            writer.original_traffic(TrafficPoint::Original, side, &traffic.original.sides[side as usize]).unwrap();
            writer.original_traffic(TrafficPoint::SetAside, side, &aside).unwrap();
        }
        for (from, series) in [LinkSide::Left, LinkSide::Right].into_iter().zip(&traffic.replay.sides) {
            for (index, &(bin, carried)) in series.bins().enumerate() {
                let mut offered = carried;
                if index == 0 {
                    offered.packets += self.vanished;
                }
                let start = Time::ZERO + BIN * bin;
                if self.queues && from == LinkSide::Right && carried.packets > 12 {
                    let packets = carried.packets / 3;
                    let bytes = packets * 1_400;
                    let sample = QueueSample { time: start, link: from as u16, from, packets, bytes };
                    writer.record(Record::Queue { sample: &sample }).unwrap();
                    if carried.packets > 400 {
                        offered.packets += 1;
                        let (kind, reason) = (PacketKind::Data, DropReason::QueueFull);
                        let link = Some(from as u16);
                        let packet = DropRecord { time: start, connection: 0, from, kind, bytes: 1_514, reason, link };
                        writer.record(Record::Dropped { packet: &packet }).unwrap();
                    }
                }
                let bin = ThroughputBin { start, width: BIN, link: from as u16, from, offered, carried };
                writer.record(Record::Throughput { bin: &bin }).unwrap();
            }
        }
    }
}

const BIN: Duration = Duration::from_millis(10);

/// What passes a point, by the side it comes from.
struct PerDirection {
    sides: [Series; 2],
}

impl Default for PerDirection {
    fn default() -> PerDirection {
        PerDirection { sides: [Series::new(BIN), Series::new(BIN)] }
    }
}

impl PerDirection {
    fn add(&mut self, vector: &ConnectionVector) {
        for adu in &vector.adus {
            let packets = adu.bytes.div_ceil(1_448);
            let seen = adu.seen.unwrap();
            for packet in 0..packets {
                let payload = 1_448.min(adu.bytes - packet * 1_448);
                let time =
                    vector.start + seen.first + Duration::from_nanos(seen.length().as_nanos() / packets * packet);
                let data = Traffic { packets: 1, bytes: payload + 66, payload_bytes: payload };
                self.sides[adu.side as usize].add(time, data);
                if packet % 2 == 1 {
                    self.sides[adu.side.other() as usize]
                        .add(time, Traffic { packets: 1, bytes: 66, payload_bytes: 0 });
                }
            }
        }
    }
}

#[derive(Default)]
struct Traffics {
    original: PerDirection,
    replay: PerDirection,
}
