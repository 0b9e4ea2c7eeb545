//! Whole runs, with answers that can be worked out.

mod common;

use common::{at, exchange, simulate};
use flowloom_core::record::Outcome;
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_sim::Config;

/// One request of 100 bytes and a response of 200 over an unlimited link: one round trip for the handshake, one for the
/// exchange, and the close.
#[test]
fn one_exchange_takes_its_round_trips() {
    let config = Config::new(Rate::UNLIMITED, Duration::from_secs(10));
    let (summary, log) = simulate(&[exchange(7, at(1_000), 100, 200)], &config);
    let (_, record, epochs, monitor) = &log.connections[0];
    assert_eq!(record.outcome, Outcome::Completed);
    assert_eq!((record.start, record.established, record.first_data), (at(1_000), Some(at(1_080)), Some(at(1_080))));
    assert_eq!((record.last_data, record.closed), (Some(at(1_160)), Some(at(1_160))));
    assert_eq!(record.delivered_bytes, [100, 200]);
    assert_eq!((epochs.len(), epochs[0].start, epochs[0].end), (1, at(1_080), at(1_160)));
    assert!(monitor.is_some());
    assert_eq!(summary.connections.completed, 1);
    // The monitor is 10 ms from the initiator and 30 ms from the acceptor.
    let passed: Vec<_> = log.packets.iter().map(|packet| (packet.time, packet.payload_bytes)).collect();
    assert_eq!(
        passed[..5],
        [(at(1_010), 0), (at(1_070), 0), (at(1_090), 0), (at(1_090), 100), (at(1_150), 200)],
        "{:#?}",
        log.packets
    );
}
