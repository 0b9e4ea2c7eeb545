//! Losses of the original are at their places in a replay (methods A.13.7).

use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, LostSegment, PerSide, Side};
use flowloom_sim::{Class, Config};

use crate::common::{Log, at, exchange, simulate};

const MSS: u64 = 1_448;

fn lost(after_segments: u64, copy: u32, before_monitor: bool) -> LostSegment {
    LostSegment { after_bytes: after_segments * MSS, bytes: MSS, copy, before_monitor, repaired: Duration::ZERO }
}

fn replay(vector: &ConnectionVector, losses: bool) -> Log {
    let mut config = Config::new(Rate::UNLIMITED, Duration::from_secs(100));
    config.classes = vec![Class { tcp: tcp::Config::of(Profile::Linux), ..Class::default() }];
    config.replay.losses = losses;
    let (summary, log) = simulate(std::slice::from_ref(vector), &config);
    assert_eq!(summary.connections.completed, 1);
    log
}

#[test]
fn each_is_lost_where_it_was_and_found_again() {
    let mut vector = exchange(0, at(0), 20 * MSS, 100 * MSS);
    vector.losses = PerSide {
        initiator: vec![lost(3, 0, true)],
        acceptor: vec![lost(12, 0, true), lost(40, 0, false), lost(40, 1, false), lost(70, 0, false)],
    };
    let log = replay(&vector, true);
    assert_eq!(log.drops.len(), 5);
    let seen = log.connections[0].3.as_ref().unwrap();
    let places = |losses: &PerSide<Vec<LostSegment>>| {
        let place = |lost: LostSegment| LostSegment { repaired: Duration::ZERO, ..lost };
        Side::BOTH.map(|side| losses[side].iter().copied().map(place).collect::<Vec<_>>())
    };
    assert_eq!(places(&seen.losses), places(&vector.losses));
    let none = replay(&vector, false);
    assert!(none.drops.is_empty());
    assert_eq!(none.connections[0].3.as_ref().unwrap().losses, PerSide::default());
}

#[test]
fn a_lost_tail_waits_for_the_timer_as_the_original_did() {
    let mut vector = exchange(0, at(0), 300, 1_000);
    vector.losses.acceptor =
        vec![LostSegment { after_bytes: 0, bytes: 1_000, copy: 0, before_monitor: false, repaired: Duration::ZERO }];
    let last = |losses: bool| replay(&vector, losses).connections[0].1.last_data.unwrap();
    assert!(last(true).since(last(false)) >= Duration::from_millis(150), "{:?} {:?}", last(true), last(false));
    assert_eq!(vector.bytes(Side::Acceptor), 1_000);
}
