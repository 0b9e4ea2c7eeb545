//! What vectors of the bundled capture say of their ends, beside what the monitor of their replay says of the replay's (methods A.13). The link
//! has no limit, so that both should say the same.

use std::collections::BTreeSet;

use flowloom_core::play::{ReplayModel, Waits};
use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::Duration;
use flowloom_core::transits::{Ends, TransitModel};
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, Endpoint, Side, SynAnswer};
use flowloom_sim::{Class, Config};

use crate::common::simulate;
use crate::real_captures::extract;

type Pair = (ConnectionVector, ConnectionVector);

/// The connections of the capture, and as the monitor of a replay saw them.
fn pairs() -> Vec<Pair> {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    let mut config = Config::new(Rate::UNLIMITED, Config::MAX_WINDOW);
    config.classes = vec![Class { tcp: tcp::Config::of(Profile::Linux), ..Class::default() }];
    let transits = TransitModel::AsSeen(Ends::Both);
    config.replay = ReplayModel { losses: true, transits, ..ReplayModel::with_waits(Waits::CORRECTED) };
    let (_, log) = simulate(&extract(capture.as_ref()), &config);
    let pairs: Vec<Pair> =
        log.connections.into_iter().filter_map(|(original, _, _, seen)| Some((original, seen?))).collect();
    assert_eq!(pairs.len(), 399);
    pairs
}

/// The connections of which both ends are the same in both.
fn same(pairs: &[Pair], is_same: impl Fn(&ConnectionVector, &ConnectionVector, Side) -> bool) -> usize {
    let both = |(original, seen): &&Pair| Side::BOTH.into_iter().all(|side| is_same(original, seen, side));
    pairs.iter().filter(both).count()
}

/// The bytes of `side` with which its data units and its writes inside them begin.
fn begins(vector: &ConnectionVector, side: Side) -> BTreeSet<u64> {
    let mut at = 0;
    let units = vector.adus.iter().filter(|adu| adu.side == side).map(|adu| {
        at += adu.bytes;
        at - adu.bytes
    });
    let units: Vec<u64> = units.collect();
    vector.pauses[side].iter().map(|pause| pause.after_bytes).chain(units).collect()
}

/// What an end offered; how far a window is scaled follows from the window.
fn offers(end: &Endpoint) -> (Option<u16>, bool, [Option<bool>; 3]) {
    (end.mss, end.window_scale.is_some(), [end.sack, end.timestamps, end.ecn])
}

/// To a tenth of a millisecond.
fn repeats(vector: &ConnectionVector, side: Side) -> Vec<(u64, SynAnswer)> {
    let own = vector.syn_repeats.iter().filter(|repeat| repeat.side == side);
    own.map(|repeat| ((repeat.wait + Duration::from_micros(50)).as_nanos() / 100_000, repeat.answer)).collect()
}

#[test]
fn a_replay_has_the_behaviour_of_its_original() {
    let pairs = pairs();
    // Of the others some writes follow at once where they are not told: a sender that has all of a data unit at once has more on the way than
    // the original's had, near the window that it is known to know of and beside what is sent again.
    let writes = same(&pairs, |original, seen, side| begins(original, side) == begins(seen, side));
    assert!(writes >= 392, "writes of {writes}");
    // Of six the flight holds several small segments.
    let flights = same(&pairs, |original, seen, side| {
        let flight = original.ends[side].first_flight;
        flight.is_none() || flight == seen.ends[side].first_flight
    });
    assert!(flights >= 393, "first flights of {flights}");
    let options = same(&pairs, |original, seen, side| {
        let end = &original.ends[side];
        !end.syn_seen || offers(end) == offers(&seen.ends[side])
    });
    assert_eq!(options, pairs.len(), "options");
    // Two SYN/ACKs that are sent again cross the replay's own timer, and a path that was slower once.
    let syns = same(&pairs, |original, seen, side| repeats(original, side) == repeats(seen, side));
    assert!(syns >= 397, "SYN times of {syns}");
}
