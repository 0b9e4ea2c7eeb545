//! Connections of a workload that was cut out of a longer one (methods B.5): without a handshake on the link, and cut where a replay with
//! nothing in its way would be.

use crate::common::{Log, at, ms, simulate, vector};
use flowloom_core::play::{ReplayModel, TraceCut, Waits};
use flowloom_core::record::{Outcome, PacketRecord};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::wire::Flags;
use flowloom_core::workload::{ConnectionVector, Evidence, InitiatorRule, Pattern, Side};
use flowloom_sim::Config;

use Side::{Acceptor, Initiator};

fn config(seconds: u64) -> Config {
    Config::new(Rate::UNLIMITED, Duration::from_secs(seconds))
}

/// As a model has it: nobody saw when its data passed.
fn modelled(mut vector: ConnectionVector) -> ConnectionVector {
    vector.evidence = Evidence::Model;
    vector.adus.iter_mut().for_each(|adu| adu.seen = None);
    vector.t_close = Some(Duration::ZERO);
    vector
}

fn packets(log: &Log, id: u64) -> Vec<&PacketRecord> {
    log.packets.iter().filter(|packet| packet.connection == id).collect()
}

#[test]
fn a_connection_opened_before_has_no_handshake() {
    let adus = [(Acceptor, 30_000, ms(2_000)), (Initiator, 700, ms(0)), (Acceptor, 900, ms(0))];
    let mut before = modelled(vector(0, at(500), Pattern::Sequential, &adus));
    (before.initiator_rule, before.ends.acceptor.lead_in) = (InitiatorRule::Cut, Some(Duration::ZERO));
    let mut first = ConnectionVector { id: 1, start: at(0), ..before.clone() };
    first.adus.remove(0);
    first.ends.acceptor.lead_in = None;
    let (summary, log) = simulate(&[first, before], &config(20));
    assert_eq!(summary.connections.completed, 2);
    for (id, starts, bytes) in [(0, at(500), 31_600), (1, at(0), 1_600)] {
        let packets = packets(&log, id);
        let is_syn = |packet: &&PacketRecord| Flags(packet.flags).syn();
        assert!(!packets.iter().any(is_syn), "{id}: no handshake on the link");
        let [first, last] = [packets[0], packets[packets.len() - 1]];
        assert!(first.payload_bytes > 0, "{id}: the first packet is data");
        // One that is in progress when the run begins is at most a handshake late.
        assert!(first.time >= starts && first.time <= starts.max(at(120) + ms(20)), "{id}: {:?}", first.time);
        let (_, ended, epochs, monitor) = log.connections.iter().find(|(vector, ..)| vector.id == id).unwrap();
        assert_eq!((ended.outcome, ended.timeouts, ended.retransmissions), (Outcome::Completed, 0, 0));
        assert_eq!(epochs.len(), 1, "{id}: an answer alone is no exchange");
        let monitor = monitor.as_ref().unwrap();
        assert_eq!((monitor.start, monitor.initiator_rule), (first.time, InitiatorRule::Cut));
        assert_eq!(Side::BOTH.map(|side| monitor.bytes(side)).iter().sum::<u64>(), bytes, "{id}");
        assert!(last.time < at(4_000), "{id}: {:?}", last.time);
    }
}

/// Connections of all sizes, by the laws of nothing in particular.
fn several() -> Vec<ConnectionVector> {
    let mut numbers = Stream::new(36, Purpose::ReferenceConnections, 0);
    let mut connection = |id: u64| {
        let mut draw = |most: f64| most.powf(numbers.uniform());
        let pattern = if id.is_multiple_of(6) { Pattern::Concurrent } else { Pattern::Sequential };
        let adus: Vec<_> = (0..2 + id % 7)
            .map(|place| {
                let (side, most) = if place % 2 == 0 { (Initiator, 5_000.0) } else { (Acceptor, 5_000_000.0) };
                (side, draw(most) as u64, ms(draw(9_000.0) as u64))
            })
            .collect();
        let mut vector = modelled(vector(id, at(id * 40), pattern, &adus));
        for side in Side::BOTH {
            let end = &mut vector.ends[side];
            (end.syn_seen, end.max_window, end.mss) =
                (true, Some([4, 8, 16, 64, 256][id as usize % 5] << 10), Some(1_460));
            end.min_transit = Some(Duration::from_micros(1_000 + draw(150_000.0) as u64));
        }
        // Waits contain the transit, as those of a capture do.
        flowloom_models::unsettle(&mut vector);
        vector
    };
    (0..150).map(&mut connection).collect()
}

/// What has passed at some moments, as the cut has it and as the simulator, over a link without a queue.
#[test]
fn a_cut_is_where_an_unconstrained_replay_is() {
    let vectors = several();
    let total: u64 = vectors.iter().flat_map(|vector| Side::BOTH.map(|side| vector.bytes(side))).sum();
    // Of all bytes: ends with windows of a few segments wait for delayed acknowledgements, which the cut leaves out.
    for (profile, waits, most_apart) in [
        (Profile::Plain, Waits::CORRECTED, 0.02),
        (Profile::Linux, Waits::CORRECTED, 0.02),
        (Profile::Linux, Waits::PUBLISHED, 0.02),
    ] {
        let replay = ReplayModel::with_waits(waits);
        let config = Config { replay, ..with_profile(profile) };
        let (_, log) = simulate(&vectors, &config);
        for moment in [500, 1_000, 2_000, 4_000, 6_000, 8_000, 12_000, 20_000].map(ms) {
            let end = Time::ZERO + moment;
            let simulated: u64 = log
                .packets
                .iter()
                .filter(|packet| packet.time < end)
                .map(|packet| u64::from(packet.payload_bytes))
                .sum();
            let before = TraceCut::new(Duration::ZERO, moment, replay);
            let cut: u64 = vectors
                .iter()
                .filter_map(|vector| before.cut(vector.clone(), ms(100)))
                .flat_map(|vector| Side::BOTH.map(|side| vector.bytes(side)))
                .sum();
            let apart = cut.abs_diff(simulated) as f64 / total as f64;
            assert!(apart < most_apart, "{profile:?}, {moment}: {cut} bytes, {simulated} simulated, of {total}");
        }
    }
}

fn with_profile(profile: Profile) -> Config {
    let mut config = config(120);
    config.classes.iter_mut().for_each(|class| class.tcp = tcp::Config::of(profile));
    config
}
