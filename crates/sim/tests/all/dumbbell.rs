//! Whole runs, with answers that can be worked out.

use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::common::{Log, at, exchange, ms, simulate, vector};
use flowloom_core::path::Placement;
use flowloom_core::queue::Discipline;
use flowloom_core::record::{Outcome, PacketKind, Record, Recorder, Traffic};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};
use flowloom_core::wire::Flags;
use flowloom_core::workload::{Close, ConnectionVector, LinkSide, Pattern, Protocol, Side};
use flowloom_sim::{Config, ConfigError, LinkConfig, RunError, Summary, run};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use Side::{Acceptor, Initiator};

fn unlimited(window: Duration) -> Config {
    Config::new(Rate::UNLIMITED, window)
}

/// One request of 100 bytes and a response of 200 over an unlimited link: one round trip for the handshake, one for the
/// exchange, and the close.
#[test]
fn one_exchange_takes_its_round_trips() {
    let (summary, log) = simulate(&[exchange(7, at(1_000), 100, 200)], &unlimited(ms(10_000)));
    let (_, record, epochs, monitor) = &log.connections[0];
    assert_eq!((record.outcome, record.rtt), (Outcome::Completed, ms(80)));
    assert_eq!((record.start, record.established, record.first_data), (at(990), Some(at(1_070)), Some(at(1_070))));
    assert_eq!((record.last_data, record.closed), (Some(at(1_150)), Some(at(1_150))));
    assert_eq!(record.delivered_bytes, [100, 200]);
    assert_eq!((epochs.len(), epochs[0].start, epochs[0].end.unwrap()), (1, at(1_070), at(1_150)));
    assert!(monitor.is_some());
    assert_eq!(summary.connections.completed, 1);
    // The monitor is 10 ms from the initiator and 30 ms from the acceptor, and the vector starts there.
    let passed: Vec<_> = log.packets.iter().map(|packet| (packet.time, packet.payload_bytes)).collect();
    assert_eq!(
        passed[..5],
        [(at(1_000), 0), (at(1_060), 0), (at(1_080), 0), (at(1_080), 100), (at(1_140), 200)],
        "{:#?}",
        log.packets
    );
}

/// Paths of all lengths: SYNs leave in another order than vectors start, and pass the monitor when these start. What is too
/// far for that, or starts too soon after the run, passes later.
#[test]
fn a_vector_starts_when_its_syn_passes_the_monitor() {
    let vectors: Vec<_> = [(0, 0), (5, 40), (1_000, 20), (1_001, 1_200), (1_001, 40), (3_000, 1_999), (3_000, 2_600)]
        .into_iter()
        .zip(0..)
        .map(|((start, transit), id)| {
            let mut vector = exchange(id, at(start), 100, 100);
            vector.ends.initiator.min_transit = Some(ms(transit));
            vector.initiator_side = if id % 2 == 0 { LinkSide::Left } else { LinkSide::Right };
            vector
        })
        .collect();
    for (propagation, placement) in [(0, Placement::Measured), (7, Placement::Measured), (7, Placement::Middle)] {
        let mut config = unlimited(ms(10_000));
        config.bottleneck.delay = ms(propagation);
        config.placement = placement;
        let (_, log) = simulate(&vectors, &config);
        let passed = |id: u64| log.packets.iter().find(|packet| packet.connection == id).unwrap().time;
        let passed: Vec<_> = (0..7).map(passed).collect();
        match placement {
            Placement::Measured => assert_eq!(passed, [0, 20, 1_000, 1_001, 1_001, 3_000, 3_300].map(at)),
            // A quarter of the round trips of 60, 100, 80, 1,260, 100, 2,059 and 2,660 ms.
            Placement::Middle => assert_eq!(passed, [15, 25, 1_000, 1_001, 1_001, 3_000, 3_000].map(at)),
        }
    }
}

/// Rate, latency and packet size: the time one packet takes from end to end, handshake included, is exact.
#[test]
fn single_packet_delay_is_size_over_rate_plus_propagation() {
    for (bits, propagation) in [(56_000, ms(0)), (1_000_000, ms(5)), (10_000_000, ms(29)), (999_999_937, ms(1))] {
        let mut config = Config::new(Rate::from_bits_per_second(bits).unwrap(), ms(100_000));
        config.bottleneck.delay = propagation;
        config.classes[0].tcp.delayed_ack = None;
        let line = |bytes: u64| Duration::from_nanos(bytes * 8_000_000_000 / bits);
        for request in [1, 100, 1_460] {
            let (_, log) = simulate(&[exchange(1, at(0), request, 1)], &config);
            let record = &log.connections[0].1;
            // The right side is 60 ms from the monitor, link included: the path stays 80 ms.
            let handshake = ms(80) + line(62) + line(62);
            assert_eq!(record.established, Some(Time::ZERO + handshake), "{bits} bit/s");
            // The last ACK of the handshake goes just ahead of the request on the same line.
            let both = Duration::from_nanos((54 + 54 + request) * 8_000_000_000 / bits);
            let arrived = handshake + ms(40) + both;
            let answered = log.connections[0].2[0].end.unwrap();
            // The acknowledgement of the request goes ahead of the response.
            let back = Duration::from_nanos((54 + 55) * 8_000_000_000 / bits);
            assert_eq!(answered, Time::ZERO + arrived + ms(40) + back, "{bits} bit/s, {request} bytes");
        }
    }
}

#[test]
fn initiators_on_either_side_meet_the_same_path() {
    let mut mirrored = exchange(1, at(0), 5_000, 70_000);
    mirrored.initiator_side = LinkSide::Right;
    let plain = exchange(1, at(0), 5_000, 70_000);
    let mut config = Config::new("10mbit".parse().unwrap(), ms(10_000));
    config.bottleneck.delay = ms(4);
    let (left, left_log) = simulate(&[plain], &config);
    let (right, right_log) = simulate(&[mirrored], &config);
    assert_eq!(left_log.connections[0].1, right_log.connections[0].1, "the ends cannot tell");
    assert_eq!(left.directions[0].offered, right.directions[1].offered);
    assert_eq!(left.directions[1].offered, right.directions[0].offered);
    assert!(right.directions[0].offered.bytes > right.directions[1].offered.bytes, "responses come from the left");
    assert!(right_log.packets.iter().all(|p| (p.from == LinkSide::Right) == (p.sender == Initiator)));
}

#[test]
fn the_monitor_stands_at_the_left_end_of_the_link() {
    let mut config = Config::new("8mbit".parse().unwrap(), ms(10_000));
    config.bottleneck.delay = ms(10);
    let (_, log) = simulate(&[exchange(1, at(0), 100, 100)], &config);
    // SYN: 10 ms to the link, 62 us on the line. SYN/ACK: leaves the acceptor at 40.062 ms, which is 30 ms from the
    // monitor with the 10 ms of the link, and is 62 us on the line.
    assert_eq!(log.packets[0].time, Time::from_nanos(10_062_000));
    assert_eq!(log.packets[1].time, Time::from_nanos(70_124_000));
    assert_eq!(log.connections[0].1.rtt, ms(80));
}

#[test]
fn waits_are_replayed_where_the_vector_has_them() {
    let wait = ms(3_000);
    let adus = [(Initiator, 10, wait), (Acceptor, 10, wait), (Initiator, 10, wait), (Acceptor, 10, wait)];
    let mut vector = vector(1, at(0), Pattern::Sequential, &adus);
    vector.t_close = Some(ms(500));
    let (_, log) = simulate(&[vector], &unlimited(ms(60_000)));
    let (_, record, epochs, _) = &log.connections[0];
    // The acceptor's wait holds its 60 ms of transit, the initiator's its 20 ms (default: taken out once).
    let response = ms(80) + wait.saturating_sub(ms(60));
    assert_eq!((epochs[0].start, epochs[0].end.unwrap()), (at(80), at(80) + response));
    assert_eq!(epochs[1].start, epochs[0].end.unwrap() + wait.saturating_sub(ms(20)));
    assert_eq!(epochs[1].end.unwrap(), epochs[1].start + response);
    // The initiator closes, and the acceptor spoke last: the time to close holds the initiator's transit.
    assert_eq!(record.closed, Some(epochs[1].end.unwrap() + ms(480)));
}

#[test]
fn every_way_to_end_is_told_apart() {
    let with_close = |id, close| ConnectionVector { close, ..exchange(id, at(0), 1_000, 20_000) };
    let mut late = exchange(7, at(99_990), 100, 100);
    late.t_close = Some(Duration::from_secs(500));
    let vectors = [
        with_close(1, Close::Fin(Initiator)),
        with_close(2, Close::Fin(Acceptor)),
        with_close(3, Close::Rst(Initiator)),
        with_close(4, Close::Rst(Acceptor)),
        with_close(5, Close::NotSeen),
        vector(6, at(0), Pattern::Sequential, &[]),
        late,
        exchange(8, at(100_000), 100, 100),
    ];
    let (summary, log) = simulate(&vectors, &unlimited(ms(100_000)));
    let ended = |id| log.connections.iter().find(|c| c.1.id == id).map(|c| &c.1);
    for id in 1..=6 {
        assert_eq!(ended(id).unwrap().outcome, Outcome::Completed, "{id}");
    }
    assert_eq!(ended(5).unwrap().closed, None);
    assert_eq!(ended(6).unwrap().first_data, None);
    assert_eq!(ended(7).unwrap().outcome, Outcome::Unfinished, "its close comes after the drain");
    assert_eq!(ended(7).unwrap().delivered_bytes, [100, 100]);
    assert_eq!(ended(8), None, "it starts when the window is over");
    let counts = summary.connections;
    assert_eq!((counts.started, counts.completed, counts.unfinished, counts.reset), (7, 6, 1, 0));
    assert_eq!(summary.end, at(160_000), "window and drain");
    let resets = |id| log.packets.iter().filter(|p| p.connection == id && p.flags & Flags::RST != 0).count();
    // Data of the acceptor is still being acknowledged when it aborts: it answers each acknowledgement with another RST.
    assert_eq!([1, 2, 3, 5].map(resets), [0, 0, 1, 0]);
    assert!(resets(4) >= 1);
}

/// A link without a buffer, and a line too slow for TCP's patience.
#[test]
fn a_connection_that_gives_up_is_told() {
    let mut config = Config::new(Rate::from_bits_per_second(100).unwrap(), ms(4_000_000));
    config.classes[0].tcp.syn_retries = 1;
    let (summary, log) = simulate(&[exchange(1, at(0), 100_000, 1)], &config);
    assert_eq!((summary.connections.gave_up, summary.connections.reset), (1, 0));
    let record = &log.connections[0].1;
    assert_eq!((record.outcome, record.established), (Outcome::GaveUp, None));
    assert!(record.timeouts >= 2, "{record:?}");
}

#[test]
fn a_jump_of_years_costs_nothing() {
    let years = Duration::from_secs(40 * 365 * 86_400);
    let near = [exchange(1, at(0), 100, 5_000), exchange(2, at(500), 100, 5_000)];
    let mut far = near.clone();
    far[1].start = Time::ZERO + years;
    let (one, _) = simulate(&near, &unlimited(ms(1_000)));
    let (two, log) = simulate(&far, &unlimited(years + ms(1_000)));
    // Wake-ups of the first connection that nobody needs any more may pass in the long run.
    assert!(two.events <= one.events + 4, "{} and {}", one.events, two.events);
    assert_eq!(log.connections[1].1.outcome, Outcome::Completed);
    assert!(log.bins.len() < 100 && log.queue.len() < 100);
    assert_eq!(two.end.since(one.end), years - ms(500));
}

/// Twice what the link carries, for 2 s: what is left arrives in the drain, and is no goodput of the window.
#[test]
fn carried_bytes_are_those_of_the_window() {
    let vectors: Vec<_> = (0..40).map(|id| exchange(id, at(50 * id), 3_000, 50_000)).collect();
    let mut config = Config::new("4mbit".parse().unwrap(), ms(2_000));
    config.bottleneck.delay = ms(3);
    config.drain = ms(60_000);
    let (summary, log) = simulate(&vectors, &config);
    assert_eq!(summary.connections.completed, 40);
    let of_connections: u64 = log.connections.iter().map(|(_, record, ..)| record.carried_bytes.unwrap()).sum();
    let in_window = log.bins.iter().filter(|bin| bin.start < at(2_000));
    let of_bins: u64 = in_window.map(|bin| bin.carried.payload_bytes).sum();
    assert_eq!(of_connections, of_bins);
    assert!((500_000..1_000_000).contains(&of_bins), "{of_bins} of 2,120,000 bytes");
}

/// Packets, bins, drops and samples tell the same story.
#[test]
fn what_is_reported_adds_up() {
    let limit = Limit::Packets(20);
    [Discipline::DropTail(limit), Discipline::HeadDrop(limit)].into_iter().for_each(adds_up);
}

/// Over a link with `queue`, of 20 packets.
fn adds_up(queue: Discipline) {
    let vectors: Vec<_> = (0..30)
        .map(|id| {
            let mut vector = exchange(id, at(37 * id), 3_000, 200_000);
            vector.initiator_side = if id % 3 == 0 { LinkSide::Right } else { LinkSide::Left };
            vector
        })
        .collect();
    let mut config = Config::new("10mbit".parse().unwrap(), ms(2_000));
    config.bottleneck = LinkConfig { delay: ms(3), queue, ..LinkConfig::new(config.bottleneck.rate) };
    config.drain = ms(1_000);
    let (summary, log) = simulate(&vectors, &config);
    assert!(summary.connections.unfinished > 0 && summary.connections.completed > 0, "{:?}", summary.connections);
    assert_eq!(summary.end, at(3_000));
    for (from, direction) in [LinkSide::Left, LinkSide::Right].into_iter().zip(&summary.directions) {
        let packets: Vec<_> = log.packets.iter().filter(|packet| packet.from == from).collect();
        let mut sums = [Traffic::default(), Traffic::default()];
        for bin in log.bins.iter().filter(|bin| bin.from == from) {
            sums[0].add(bin.offered);
            sums[1].add(bin.carried);
        }
        assert_eq!(sums[1].packets, packets.len() as u64);
        assert_eq!(sums[1].packets, direction.carried.total());
        assert_eq!((sums[0].packets, sums[0].bytes), (direction.offered.total(), direction.offered.bytes));
        let dropped: Vec<_> = log.drops.iter().filter(|drop| drop.from == from).collect();
        assert_eq!(dropped.len() as u64, direction.dropped.total());
        assert_eq!(dropped.iter().filter(|drop| drop.kind == PacketKind::Data).count() as u64, direction.dropped.data);
        assert!(direction.dropped.data > 0, "the buffer is small enough for loss");
        assert_eq!(
            direction.offered.total(),
            direction.carried.total() + direction.dropped.total() + direction.remaining.total()
        );
        assert!(packets.iter().all(|packet| packet.time <= summary.end));
        // Goodput: no byte twice.
        let mut bytes: Vec<_> = packets
            .iter()
            .flat_map(|p| (0..p.payload_bytes).map(|n| (p.connection, p.sequence.wrapping_add(n))))
            .collect();
        bytes.sort_unstable();
        bytes.dedup();
        assert_eq!(sums[1].payload_bytes, bytes.len() as u64);
        let longest = log.queue.iter().filter(|sample| sample.from == from).map(|sample| sample.packets).max();
        assert!(longest.unwrap() <= direction.link.max().packets && direction.link.max().packets <= 20);
        assert!(log.queue.iter().all(|sample| sample.time.as_nanos() % 10_000_000 == 0 && sample.packets > 0));
    }
    assert!(log.packets.is_sorted_by_key(|packet| packet.time));
    assert!(log.bins.is_sorted_by_key(|bin| (bin.start, bin.from)));
    assert!(log.queue.is_sorted_by_key(|sample| (sample.time, sample.from)));
}

#[test]
fn the_same_seed_gives_the_same_records_on_any_thread() {
    let vectors: Vec<_> = (0..60).map(|id| exchange(id, at(13 * (id / 2)), 700, 40_000)).collect();
    let mut config = Config::new("5mbit".parse().unwrap(), ms(5_000));
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(10));
    let expected = simulate(&vectors, &config);
    assert!(!expected.1.drops.is_empty());
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| simulate(&vectors, &config))).collect();
        for run in runs {
            assert_eq!(run.join().unwrap(), expected);
        }
    });
    config.seed = 2;
    let other = simulate(&vectors, &config);
    assert_ne!(other.1.packets[0].sequence, expected.1.packets[0].sequence);
    assert_eq!(other.0, expected.0, "sequence numbers decide nothing");
}

#[test]
fn a_shift_in_time_shifts_everything() {
    // Not from the origin: there the first SYN could not be sent ahead.
    let vectors: Vec<_> = (0..20).map(|id| exchange(id, at(10 + 13 * id), 700, 40_000)).collect();
    let mut config = Config::new("5mbit".parse().unwrap(), ms(20_000));
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(10));
    let shifted: Vec<_> =
        vectors.iter().map(|v| ConnectionVector { start: v.start + ms(7_770), ..v.clone() }).collect();
    let (one, two) = (simulate(&vectors, &config).1, simulate(&shifted, &config).1);
    let times = |log: &Log, shift| log.packets.iter().map(|p| (p.time + shift, p.sequence)).collect::<Vec<_>>();
    assert_eq!(times(&one, ms(7_770)), times(&two, ms(0)));
    assert_eq!(one.queue.len(), two.queue.len());
}

#[test]
fn an_interrupted_run_keeps_what_there_is() {
    let vectors: Vec<_> = (0..20_000).map(|id| exchange(id, at(2 * id), 500, 50_000)).collect();
    let config = Config::new("100mbit".parse().unwrap(), ms(40_000));
    let mut log = Log::default();
    let (mut calls, mut seen) = (0, Vec::new());
    let outcome: Result<Summary, RunError<Infallible, Infallible>> =
        run(vectors.into_iter().map(Ok), &config, &mut log, |progress| {
            calls += 1;
            seen = progress.links().links;
            assert_eq!(progress.is_last, calls == 3);
            assert!(progress.active <= progress.connections.started && progress.events > 0);
            if calls == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    let summary = outcome.unwrap();
    assert!(summary.interrupted);
    // What is seen of the links is what they come to, but for packets that have left the queue and not passed the monitor.
    for (seen, direction) in seen.iter().zip(&summary.directions) {
        assert_eq!((seen.offered, seen.dropped, seen.lost), (direction.offered, direction.dropped, direction.lost));
        let on_line = seen.carried().0 - direction.carried.total();
        assert_eq!(seen.waiting.packets + on_line, direction.remaining.total());
        assert!(seen.waited.unwrap().packets <= seen.carried().0);
    }
    assert!(seen[1].waiting.packets > 0 && seen[1].waited.unwrap().total > ms(1));
    let counts = summary.connections;
    assert!(counts.completed > 0 && counts.unfinished > 0 && counts.started < 20_000, "{counts:?}");
    assert_eq!(counts.started, log.connections.len() as u64);
    assert!(summary.end < at(20_000) && log.bins.last().unwrap().start <= summary.end);
    assert!(summary.directions[1].link.utilisation() > 0.5, "of the time that was simulated");
    let of_connections: u64 = log.connections.iter().map(|(_, record, ..)| record.carried_bytes.unwrap()).sum();
    let of_bins: u64 = log.bins.iter().map(|bin| bin.carried.payload_bytes).sum();
    assert_eq!(of_connections, of_bins, "what waited in queues passed no link");
}

/// The simulator replays TCP: flows of datagrams change nothing, and are counted.
#[test]
fn flows_of_datagrams_are_left_out_and_counted() {
    let connections = [exchange(0, at(1_000), 100, 200), exchange(1, at(2_000), 100, 200)];
    let flow = |id: u64, start: u64, protocol: Protocol| ConnectionVector { protocol, ..exchange(id, at(start), 5, 5) };
    let (first, second, last) =
        (flow(0, 0, Protocol::Udp), flow(2, 1_500, Protocol::Quic), flow(4, 2_500, Protocol::Udp));
    let mixed = [first, connections[0].clone(), second, connections[1].clone(), last, flow(5, 10_000, Protocol::Udp)];
    let (alone, with_flows) =
        (simulate(&connections, &unlimited(ms(10_000))), simulate(&mixed, &unlimited(ms(10_000))));
    assert_eq!((alone.0.datagram_flows, with_flows.0.datagram_flows), (0, 3), "the last starts after the window");
    let passed = |log: &Log| log.packets.iter().map(|packet| (packet.time, packet.payload_bytes)).collect::<Vec<_>>();
    assert_eq!((passed(&alone.1), alone.0.connections), (passed(&with_flows.1), with_flows.0.connections));
    let (summary, log) = simulate(&mixed[..1], &unlimited(ms(10_000)));
    assert_eq!((summary.connections.started, log.connections.len(), summary.datagram_flows), (0, 0, 1));
}

#[test]
fn an_unsorted_workload_is_refused() {
    let vectors = [exchange(1, at(10), 1, 1), exchange(2, at(9), 1, 1)];
    let outcome = attempt(vectors.map(Ok), &unlimited(ms(1_000)));
    assert!(matches!(outcome, Err(RunError::Unsorted { id: 2, .. })), "{outcome:?}");
    let text = outcome.unwrap_err().to_string();
    assert!(text.contains("connection 2"), "{text}");
}

#[test]
fn an_unreadable_workload_stops_the_run() {
    let vectors = [Ok(exchange(1, at(0), 1, 1)), Err("torn"), Ok(exchange(2, at(9), 1, 1))];
    assert!(matches!(attempt(vectors, &unlimited(ms(1_000))), Err(RunError::Workload("torn"))));
}

fn attempt(
    vectors: impl IntoIterator<Item = Result<ConnectionVector, &'static str>>,
    config: &Config,
) -> Result<Summary, RunError<&'static str, Infallible>> {
    run(vectors, config, &mut Log::default(), |_| ControlFlow::Continue(()))
}

#[test]
fn a_full_disk_stops_the_run() {
    struct Full;
    impl Recorder for Full {
        type Error = &'static str;

        fn record(&mut self, record: Record<'_>) -> Result<(), Self::Error> {
            match record {
                Record::Connection { .. } => Err("no space left on device"),
                _ => Ok(()),
            }
        }
    }
    let vectors = [Ok::<_, Infallible>(exchange(1, at(0), 1, 1))];
    let outcome = run(vectors, &unlimited(ms(1_000)), &mut Full, |_| ControlFlow::Continue(()));
    assert!(matches!(outcome, Err(RunError::Recorder("no space left on device"))));
}

#[test]
fn impossible_numbers_are_named() {
    let good = unlimited(ms(1_000));
    assert_eq!(good.validate(), Ok(()));
    let refused = |change: fn(&mut Config)| {
        let mut config = good.clone();
        change(&mut config);
        let error = config.validate().unwrap_err();
        assert!(matches!(attempt([], &config), Err(RunError::Config(found)) if found == error));
        error.to_string()
    };
    assert_eq!(refused(|c| c.window = Duration::ZERO), "window must be longer than 0 s");
    assert_eq!(refused(|c| c.queue_every = Duration::ZERO), "queue_every must be longer than 0 s");
    assert_eq!(refused(|c| c.throughput_every = Duration::ZERO), "throughput_every must be longer than 0 s");
    assert!(refused(|c| c.window = Duration::MAX).starts_with("window of"));
    assert!(refused(|c| c.drain = Duration::from_secs(61)).contains("at most 60.0 s"));
    assert!(refused(|c| c.bottleneck.delay = Duration::from_secs(3_601)).starts_with("bottleneck delay"));
    assert!(refused(|c| c.bottleneck.rate = Rate::from_bits_per_second(99).unwrap()).contains("too slow"));
    assert_eq!(good.bottleneck.rate, Rate::UNLIMITED);
    let name = |error: ConfigError| error.to_string();
    assert_eq!(name(ConfigError::Zero { name: "window" }), "window must be longer than 0 s");
}

#[test]
fn an_empty_workload_is_an_empty_run() {
    let (summary, log) = simulate(&[], &unlimited(ms(1_000)));
    assert_eq!((summary.events, summary.end), (0, Time::ZERO));
    assert_eq!(log, Log::default());
    assert_eq!(summary.directions[0].link.empty_share(), 1.0);
}

/// Vectors that captures of broken or strange stacks could hold.
#[test]
fn strange_vectors_do_not_hang_the_run() {
    let mut tiny_mss = exchange(1, at(0), 5_000, 5_000);
    tiny_mss.ends.initiator.mss = Some(0);
    let mut no_window = exchange(2, at(0), 5_000, 5_000);
    no_window.ends.initiator.max_window = Some(0);
    no_window.ends.acceptor.max_window = Some(1);
    let mut huge_window = exchange(3, at(0), 5_000, 5_000);
    huge_window.ends.acceptor.max_window = Some(u64::MAX);
    let mut no_rtt = exchange(4, at(0), 5_000, 5_000);
    no_rtt.ends.initiator.min_transit = None;
    no_rtt.ends.acceptor.min_transit = None;
    let mut no_distance = exchange(5, at(0), 5_000, 5_000);
    no_distance.ends.initiator.min_transit = Some(Duration::ZERO);
    no_distance.ends.acceptor.min_transit = Some(Duration::ZERO);
    let empty_adu = exchange(6, at(0), 0, 10);
    let one_way = vector(7, at(0), Pattern::Concurrent, &[(Acceptor, 100_000, ms(0)), (Acceptor, 1, ms(0))]);
    let vectors = [tiny_mss, no_window, huge_window, no_rtt, no_distance, empty_adu, one_way];
    for rate in [Rate::UNLIMITED, "1mbit".parse().unwrap()] {
        let mut config = Config::new(rate, ms(2_000));
        config.unknown_rtt = ms(33);
        let (summary, log) = simulate(&vectors, &config);
        assert_eq!(summary.connections.started, 7);
        for (vector, record, ..) in log.connections.iter().filter(|connection| connection.1.id != 2) {
            assert_eq!(record.outcome, Outcome::Completed, "{vector:?}");
        }
        assert_eq!(log.connections.iter().find(|c| c.1.id == 4).unwrap().1.rtt, ms(33));
    }
}

fn any_vector() -> impl Strategy<Value = ConnectionVector> {
    let adu = (any::<bool>(), prop_oneof![1..3_000u64, 1..100_000u64], prop_oneof![Just(0), 0..2_000u64]);
    let close = prop_oneof![
        Just(Close::Fin(Initiator)),
        Just(Close::Fin(Acceptor)),
        Just(Close::Rst(Initiator)),
        Just(Close::Rst(Acceptor)),
        Just(Close::NotSeen),
    ];
    (prop::collection::vec(adu, 0..8), any::<bool>(), any::<bool>(), close, 0..3_000u64, 0..200u64).prop_map(
        |(adus, concurrent, right, close, start, transit)| {
            let adus: Vec<_> = adus
                .iter()
                .map(|&(initiator, bytes, wait)| (if initiator { Initiator } else { Acceptor }, bytes, ms(wait)))
                .collect();
            let pattern = if concurrent { Pattern::Concurrent } else { Pattern::Sequential };
            let mut vector = vector(0, at(start), pattern, &adus);
            vector.initiator_side = if right { LinkSide::Right } else { LinkSide::Left };
            vector.close = close;
            vector.ends.acceptor.min_transit = Some(ms(transit));
            vector
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(2), failure_persistence: None, ..ProptestConfig::default() })]

    /// Any workload over any link: packets are conserved, bytes arrive once, and with a lossless link everything ends.
    /// `run` itself fails if sent, delivered, dropped and in-flight packets do not add up.
    #[test]
    fn conservation(
        mut vectors in prop::collection::vec(any_vector(), 1..12),
        kbit in prop_oneof![500..5_000u64, 5_000..1_000_000u64],
        limit in prop_oneof![1 => 0..30u64, 1 => Just(100_000u64)],
        propagation in 0..50u64,
        window in 1..60_000u64,
    ) {
        vectors.sort_by_key(|vector| vector.start);
        (0..).zip(&mut vectors).for_each(|(id, vector)| vector.id = id);
        let mut config = Config::new(Rate::from_bits_per_second(kbit * 1_000).unwrap(), ms(window));
        config.bottleneck.delay = ms(propagation);
        config.bottleneck.queue = Discipline::DropTail(Limit::Packets(limit));
        let (summary, log) = simulate(&vectors, &config);
        let counts = summary.connections;
        prop_assert_eq!(counts.started, counts.completed + counts.reset + counts.unfinished);
        prop_assert_eq!(counts.started, log.connections.len() as u64);
        for (vector, record, epochs, _) in &log.connections {
            let total = [vector.bytes(Initiator), vector.bytes(Acceptor)];
            prop_assert!(record.delivered_bytes[0] <= total[0] && record.delivered_bytes[1] <= total[1]);
            if record.outcome == Outcome::Completed {
                prop_assert_eq!(record.delivered_bytes, total);
            }
            prop_assert!(record.first_data <= record.last_data || record.last_data.is_none());
            let expected = vector.epochs().filter(|epoch| epoch.request.is_some() && epoch.response.is_some()).count();
            prop_assert!(epochs.len() <= expected);
            if record.outcome == Outcome::Completed {
                prop_assert_eq!(epochs.len(), expected);
            }
            let ended = epochs.iter().take_while(|epoch| epoch.end.is_some()).count();
            prop_assert!(epochs.len() - ended <= usize::from(record.outcome != Outcome::Completed), "one is under way");
        }
        for direction in &summary.directions {
            prop_assert_eq!(direction.sent, direction.delivered + direction.dropped.total() + direction.in_flight);
            let passed = direction.carried.total() + direction.dropped.total() + direction.remaining.total();
            prop_assert_eq!(direction.offered.total(), passed);
            prop_assert!(direction.link.max().packets <= limit);
        }
        if limit > 1_000 && kbit > 5_000 && window > 30_000 {
            prop_assert_eq!(counts.unfinished + counts.reset, 0, "{:?}", log.connections);
        }
    }
}

/// A request that waits in a queue until the run ends has begun, and nobody has answered it.
#[test]
fn an_exchange_that_the_end_cuts_has_begun() {
    let mut config = unlimited(ms(1_000));
    config.drain = Duration::ZERO;
    // A request of 1,000 bytes takes 2.1 s on the line, and the handshake 0.1 s.
    config.bottleneck.rate = Rate::from_bits_per_second(4_000).unwrap();
    let (_, log) = simulate(&[exchange(1, at(0), 1_000, 1)], &config);
    let (_, record, epochs, _) = &log.connections[0];
    assert_ne!(record.outcome, Outcome::Completed);
    let begun: Vec<_> = epochs.iter().map(|epoch| (epoch.epoch, epoch.start, epoch.end)).collect();
    assert_eq!(begun, [(0, record.established.unwrap(), None)]);
}
