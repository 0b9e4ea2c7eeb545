//! Structures in whole runs: durations that are known beforehand (methods B.2).

mod common;

use common::{at, ms, simulate, vector};
use flowloom_core::model::{ReplayModel, Structure, Waits, unsettle};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, Pattern, Side};
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
