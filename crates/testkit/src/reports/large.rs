//! A run of ten million values, made up in memory.

use flowloom_core::record::{Outcome, QueueSample, Traffic};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{LinkSide, Pattern};
use flowloom_report::run::Measurements;
use flowloom_report::{Facts, HostFacts, Run};
use flowloom_store::run_folder::{ConnectionRow, EpochRow, Point, ThroughputRow, TrafficPoint};

const WINDOW: Duration = Duration::from_secs(10_000);
const CONNECTIONS: u64 = 1_000_000;
const BIN: Duration = Duration::from_millis(10);

/// A run of nearly three hours with six values of each of a million connections, three response times of each, and a million queue
/// lengths.
pub fn ten_million_values() -> Run {
    let mut measured = Measurements::new((Time::ZERO, Time::ZERO + WINDOW), WINDOW, BIN);
    let mut stream = Stream::new(11, Purpose::Sizes, 0);
    let mut heavy = |scale: f64| {
        let share = stream.uniform().max(1e-9);
        Duration::from_secs_f64((scale * libm::pow(share, -0.8)).min(3_000.0))
    };
    let mut epochs = Vec::new();
    for id in 0..CONNECTIONS {
        let start = Time::from_nanos(WINDOW.as_nanos() / CONNECTIONS * id);
        let (duration, rtt, response) = (heavy(0.3), heavy(0.02), heavy(0.05));
        let slower = |value: Duration| Duration::from_nanos(value.as_nanos() / 20 * 21);
        let acceptor_bytes = duration.as_nanos() / 10_000;
        measured.connection(&ConnectionRow {
            id,
            class: 0,
            start,
            pattern: Pattern::Sequential,
            complete: true,
            initiator_side: LinkSide::Left,
            initiator_bytes: 500,
            acceptor_bytes,
            outcome: Outcome::Completed,
            syn_sent: Some(start),
            established: Some(start),
            first_data: Some(start),
            last_data: Some(start + slower(duration)),
            closed: Some(start + slower(duration)),
            original_duration: Some(duration),
            monitor_duration: Some(slower(duration)),
            endpoint_duration: Some(slower(duration)),
            original_end: Some(start + duration),
            monitor_start: Some(start),
            monitor_end: Some(start + slower(duration)),
            original_rtt: Some(rtt),
            monitor_rtt: Some(rtt),
            path_rtt: rtt,
            retransmissions: id % 3,
            timeouts: 0,
            delivered_to_acceptor_bytes: 500,
            delivered_to_initiator_bytes: acceptor_bytes,
            carried_bytes: Some(500 + acceptor_bytes),
            original_lost_segments: Some(0),
        });
        epochs.push((id, start, response, slower(response)));
    }
    measured.connections_done();
    for (connection, start, original, replay) in epochs {
        for (point, response) in [(Point::Original, original), (Point::Monitor, replay), (Point::Endpoint, replay)] {
            let epoch =
                EpochRow { point, connection, start: Some(start), response: Some(response), ..EpochRow::default() };
            measured.epoch(&epoch);
        }
    }
    let mut stream = Stream::new(12, Purpose::Sizes, 0);
    for bin in 0..WINDOW.as_nanos() / BIN.as_nanos() {
        let start = Time::ZERO + BIN * bin;
        let packets = stream.below(200);
        measured.queue(&QueueSample { time: start, link: 0, from: LinkSide::Left, packets, bytes: packets * 1_400 });
        for point in [TrafficPoint::Original, TrafficPoint::ReplayOffered, TrafficPoint::ReplayCarried] {
            let packets = 40 + stream.below(60);
            let traffic = Traffic { packets, bytes: packets * 900, payload_bytes: packets * 850 };
            measured.throughput(&ThroughputRow { point, link: 0, from: LinkSide::Left, start, width: BIN, traffic });
        }
    }
    measured.finish();
    let facts = Facts {
        title: "Ten million values".into(),
        source: "made up".into(),
        driver: "sim".into(),
        ..Facts::default()
    };
    Run { name: "large".into(), facts, host: HostFacts::default(), measurements: measured }
}
