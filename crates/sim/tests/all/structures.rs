//! Structures and measured losses in whole runs: durations that are known beforehand (methods B.2), and shares that are.

use crate::common::{at, exchange, ms, simulate, vector};
use flowloom_core::path::Rules;
use flowloom_core::play::{ReplayModel, Waits};
use flowloom_core::record::{DropReason, PacketKind};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, Pattern, Repeated, Segments, Side};
use flowloom_models::{Structure, unsettle};
use flowloom_sim::Config;

use Side::{Acceptor, Initiator};

/// Round-trip time of the vectors.
const R: u64 = 80;

fn config() -> Config {
    Config {
        replay: ReplayModel::with_waits(Waits::CORRECTED),
        ..Config::new(Rate::UNLIMITED, Duration::from_secs(60))
    }
}

/// From the first data byte sent to the last received, of each connection that `vector`, whose waits are settled, becomes.
fn durations(structure: Structure, vector: &ConnectionVector) -> Vec<u64> {
    let made = structure.apply(vector.clone()).zip(0..).map(|(mut made, id)| {
        made.id = id;
        unsettle(&mut made);
        made
    });
    let (summary, log) = simulate(&made.collect::<Vec<_>>(), &config());
    assert_eq!(summary.connections.unfinished, 0);
    let span = |record: &flowloom_core::record::ConnectionRecord| {
        record.last_data.unwrap().since(record.first_data.unwrap()).as_nanos() / 1_000_000
    };
    log.connections.iter().map(|(_, record, ..)| span(record)).collect()
}

/// Every ADU in one packet, no queue: E epochs take E round trips without waits, and a-t-b-t adds these.
#[test]
fn ideal_durations() {
    let waits = [100, 700, 30, 0, 5, 0];
    let adus: Vec<_> = waits
        .iter()
        .zip([Initiator, Acceptor].into_iter().cycle())
        .map(|(wait, side)| (side, 400, ms(*wait)))
        .collect();
    let three = vector(0, at(0), Pattern::Sequential, &adus);
    assert_eq!(durations(Structure::AB, &three), [3 * R]);
    assert_eq!(durations(Structure::BlockSequential, &three), [R]);
    assert_eq!(durations(Structure::BlockConcurrent, &three), [R], "the acceptor starts half a round trip later");
    assert_eq!(durations(Structure::Harpoon, &three), [R / 2, R / 2], "two connections, one way each");
    assert_eq!(durations(Structure::ATB, &three), [3 * R + 100 + 30 + 5]);
    assert_eq!(durations(Structure::ATBT, &three), [3 * R + 100 + 700 + 30 + 5]);
    let upload = vector(0, at(0), Pattern::Sequential, &[(Initiator, 400, ms(0)), (Initiator, 400, ms(0))]);
    assert_eq!(durations(Structure::BlockConcurrent, &upload), [R / 2]);
}

/// Of what the acceptors send 10 % is lost before the monitor and 5 % of the rest behind it.
#[test]
fn measured_losses_come_again_on_either_side_of_the_monitor() {
    let repeated = Repeated { fast: 50, ..Repeated::default() };
    let segments = Segments { data: 1_000, duplicates: 50, late: 95, lost_before: 95, repeated, ..Segments::default() };
    assert_eq!((segments.loss().before, segments.loss().after), (0.1, 0.05));
    let lossy = |id| {
        let mut vector = exchange(id, at(100 * id), 300, 60_000);
        vector.ends.acceptor.segments = Some(segments);
        vector
    };
    let vectors: Vec<ConnectionVector> = (0..200).map(lossy).collect();
    // Timeouts double: the last to end take minutes.
    let window = Duration::from_secs(1_000);
    let config = Config { rules: Rules::default().with_measured_loss(true), window, ..config() };
    let (summary, log) = simulate(&vectors, &config);
    assert_eq!(summary.connections.completed, 200, "{:?}", summary.connections);
    let data = |drops: &dyn Fn(&&flowloom_core::record::DropRecord) -> bool| {
        log.drops.iter().filter(|drop| drop.kind == PacketKind::Data).filter(drops).count() as f64
    };
    assert!(log.drops.iter().all(|drop| drop.reason == DropReason::Loss));
    for direction in &summary.directions {
        assert_eq!(direction.sent, direction.delivered + direction.lost.total());
    }
    // Nothing of the initiators' is lost.
    assert_eq!(summary.directions[0].lost.total(), 0);
    let lost = data(&|_| true);
    let sent = 200.0 * 60_000.0 / 1_460.0;
    // Each is sent until it arrives: of n segments n p / (1 - p) are lost, p = 0.145. 1,400 of them: 3 % of standard error.
    let wanted = sent * 0.145 / 0.855;
    assert!((lost / wanted - 1.0).abs() < 0.12, "{lost}, not {wanted}");
    // What was lost before the link did not reach it.
    let right = &summary.directions[1];
    let behind = (right.offered.total() - right.delivered) as f64 / right.lost.total() as f64;
    assert!((behind / (0.045 / 0.145) - 1.0).abs() < 0.2, "{behind}");
    let (again, same) = simulate(&vectors, &config);
    assert_eq!((again.connections, same.drops), (summary.connections, log.drops));
}
