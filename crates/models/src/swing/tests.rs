use std::collections::BTreeMap;

use flowloom_core::distribution::{Distribution, Law as Drawn};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, Endpoint, Evidence, Host, LinkSide, Pattern, PerSide, Protocol, Side, Span,
};
use proptest::prelude::*;

use super::*;

/// A connection of one request and one response.
fn vector(start: Time, client: u32) -> ConnectionVector {
    let adu = |side, bytes| Adu { side, bytes, missing_bytes: 0, wait: None, waiter: side, seen: None, packets: None };
    let end = |host| Endpoint { host: Some(Host::Number(host)), ..Endpoint::default() };
    ConnectionVector {
        start,
        ends: PerSide { initiator: end(client), acceptor: end(1_000_000) },
        adus: vec![adu(Side::Initiator, 300), adu(Side::Acceptor, 9_000)],
        ..ConnectionVector::default()
    }
}

fn fitted<'a>(vectors: impl IntoIterator<Item = &'a ConnectionVector>, duration: Duration) -> SwingModel {
    let mut survey = Survey::new(Grouping::default());
    vectors.into_iter().for_each(|vector| survey.add(vector));
    let model = survey.finish(duration);
    model.check().unwrap();
    model
}

/// The values of a law that has few.
fn values(law: &Law) -> Vec<u64> {
    (0..law.count()).map(|rank| law.draw((rank as f64 + 0.5) / law.count() as f64)).collect()
}

/// Methods K.2, TV.
#[test]
fn sessions_and_exchanges_are_those_of_methods_k2() {
    let second = |seconds| Time::ZERO + Duration::from_secs(seconds);
    let vectors = [0, 2, 25, 60, 100, 500, 505].map(|start| vector(second(start), 1));
    let class = fitted(&vectors, Duration::from_secs(600)).classes.remove(0);
    let seconds = |law: &Law| values(law).into_iter().map(|nanos| nanos / 1_000_000_000).collect::<Vec<_>>();
    assert_eq!(values(&class.users.num_rre), [1, 3]);
    assert_eq!(values(&class.rre.num_conn), [1, 1, 2, 3]);
    assert_eq!(seconds(&class.users.inter_rre_ns), [40, 60]);
    assert_eq!(seconds(&class.rre.inter_conn_ns), [2, 5, 23]);
    assert_eq!(values(&class.users.sessions_per_client), [2]);
    assert_eq!(seconds(&class.users.return_ns), [500]);
    // The last 100 s are from the second session to the first, were the workload to begin again.
    assert_eq!(seconds(&class.users.inter_session_ns), [100, 500]);
    let starts = class.sessions.iter().map(|session| session.iter().map(|one| one.at_ns / 1_000_000_000).collect());
    let mut starts: Vec<Vec<u64>> = starts.collect();
    starts.sort_unstable();
    assert_eq!(starts, [vec![0, 2, 25, 60, 100], vec![0, 5]]);
}

/// Exactly 30 s and 300 s are of the same exchange and session; a nanosecond more is not.
#[test]
fn the_limits_belong_to_what_is_before_them() {
    let nanos = [0, 30_000_000_000, 60_000_000_001, 360_000_000_001, 660_000_000_002];
    let class =
        fitted(&nanos.map(|start| vector(Time::from_nanos(start), 1)), Duration::from_secs(700)).classes.remove(0);
    assert_eq!((values(&class.users.num_rre), values(&class.rre.num_conn)), (vec![1, 3], vec![1, 1, 1, 2]));
}

/// A law of the tests, in seconds.
fn seconds(law: Drawn) -> impl FnMut(&mut Stream) -> u64 {
    let law = Distribution::new(law).unwrap();
    move |stream| (law.sample(stream) * 1e9) as u64
}

/// Clients who come back, exchanges of many connections, TCP of both kinds and UDP, in all of which variables depend on each other: heavy users
/// are quick, have large responses and are far away.
fn busy() -> (Vec<ConnectionVector>, Duration) {
    let duration = Duration::from_secs(6_000);
    let mut stream = Stream::new(11, Purpose::Sizes, 0);
    let mut arrival = seconds(Drawn::Exponential { mean: 4.0 });
    let mut idle = seconds(Drawn::Uniform { min: 31.0, max: 200.0 });
    let mut away = seconds(Drawn::Lognormal { median: 500.0, mean: 700.0 });
    let (mut first, mut vectors) = (0, Vec::new());
    for client in 0..1_500 {
        first += arrival(&mut stream);
        let heavy = stream.uniform() < 0.3;
        let mut gap = seconds(Drawn::Exponential { mean: if heavy { 0.4 } else { 4.0 } });
        let mut now = first;
        for session in 0..1 + stream.below(3) {
            now += if session > 0 { 300_000_000_001 + away(&mut stream) } else { 0 };
            for exchange in 0..1 + stream.below(4) {
                now += if exchange > 0 { idle(&mut stream) } else { 0 };
                for connection in 0..1 + stream.below(if heavy { 12 } else { 4 }) {
                    now += if connection > 0 { gap(&mut stream).min(30_000_000_000) } else { 0 };
                    vectors.push(any_vector(&mut stream, Time::from_nanos(now), client, heavy));
                }
            }
        }
    }
    vectors.retain(|vector: &ConnectionVector| vector.start.since(Time::ZERO) < duration);
    vectors.sort_by_key(|vector| vector.start);
    (vectors, duration)
}

fn any_vector(stream: &mut Stream, start: Time, client: u32, heavy: bool) -> ConnectionVector {
    let ms = |stream: &mut Stream, most: u64| Duration::from_millis(stream.below(most));
    let udp = stream.uniform() < 0.2;
    let concurrent = !udp && stream.uniform() < 0.1;
    let (side, port) = if client.is_multiple_of(3) { (LinkSide::Right, 443) } else { (LinkSide::Left, 80) };
    let server = stream.below(1 + stream.clone().below(300)) as u32 + 1_000_000;
    let transit = PerSide { initiator: ms(stream, if heavy { 200 } else { 20 }), acceptor: ms(stream, 40) };
    let mut adus = Vec::new();
    let mut seen = Duration::ZERO;
    for turn in 0..2 + 2 * stream.below(if heavy { 5 } else { 2 }) {
        let who = if turn % 2 == 0 || stream.uniform() < 0.1 { Side::Initiator } else { Side::Acceptor };
        let bytes = 1 + stream.below(if who == Side::Acceptor && heavy { 100_000 } else { 900 });
        let length = if udp { ms(stream, 90) } else { Duration::ZERO };
        let wait = transit[who.other()] + ms(stream, 700);
        adus.push(Adu {
            side: who,
            bytes,
            missing_bytes: 0,
            wait: Some(wait),
            waiter: who.other(),
            seen: udp.then_some(Span { first: seen, last: seen + length }),
            packets: udp.then_some(1 + (bytes / 1_000) as u32),
        });
        seen += length + wait;
    }
    adus.last_mut().unwrap().wait = None;
    let end = |host: u32, transit, window: u64, lead_in| Endpoint {
        host: Some(Host::Number(host)),
        port: Some(port),
        max_window: Some(window).filter(|_| !udp),
        mss: Some(1_460).filter(|_| heavy && !udp),
        min_transit: Some(transit).filter(|_| !udp),
        lead_in: Some(lead_in).filter(|_| !udp),
        stated_loss_ppm: Some(window as u32 % 7 * 1_000).filter(|_| !udp),
        ..Endpoint::default()
    };
    let sends = |side| adus.iter().any(|adu: &Adu| adu.side == side);
    let initiator = end(client, transit.initiator, 1 + stream.below(65_535), ms(stream, 30));
    let mut acceptor = end(server, transit.acceptor, 1 + stream.below(65_535), transit.acceptor + ms(stream, 30));
    acceptor.lead_in = acceptor.lead_in.filter(|_| sends(Side::Acceptor));
    let closes = !udp && stream.uniform() < 0.8;
    ConnectionVector {
        protocol: if udp { Protocol::Udp } else { Protocol::Tcp },
        evidence: Evidence::Model,
        pattern: if concurrent { Pattern::Concurrent } else { Pattern::Sequential },
        start,
        initiator_side: side,
        ends: PerSide { initiator, acceptor },
        close: if closes { Close::Fin(Side::Acceptor) } else { Close::NotSeen },
        t_close: closes.then(|| transit.acceptor + ms(stream, 50)),
        adus,
        ..ConnectionVector::default()
    }
}

fn generated(model: &SwingModel, draw: Draw, hours: u64) -> Vec<ConnectionVector> {
    let mut swing = Swing::new("swing.json", draw);
    swing.set(model.clone()).unwrap();
    swing.vectors(5, Duration::from_secs(3_600 * hours)).collect()
}

/// The largest distance between the variables of two models, and what is known of more or less connections.
fn distances(one: &SwingModel, other: &SwingModel) -> Vec<(String, f64)> {
    assert_eq!(one.classes.len(), other.classes.len());
    let of = |(one, other): (&ClassModel, &ClassModel)| {
        let others: BTreeMap<String, Law> = other.variables().into_iter().map(|of| (of.name, of.law)).collect();
        assert_eq!(one.variables().len(), others.len());
        let laws = one.variables().into_iter().map(|variable| {
            let distance = variable.law.distance(&others[&variable.name]).unwrap();
            (format!("{} {}", one.name, variable.name), distance)
        });
        laws.collect::<Vec<_>>()
    };
    one.classes.iter().zip(&other.classes).flat_map(of).collect()
}

fn assert_same(one: &SwingModel, other: &SwingModel) {
    let far: Vec<_> = distances(one, other).into_iter().filter(|(_, distance)| *distance > 0.05).collect();
    assert!(far.is_empty(), "{far:?}");
}

/// The must-hold of the model: every variable comes again, though those of the workload depend on each other.
#[test]
fn what_is_drawn_has_the_distributions_of_what_was_fitted() {
    let (vectors, duration) = busy();
    let model = fitted(&vectors, duration);
    assert_eq!(model.classes.len(), 2);
    for draw in [Draw::Independent, Draw::Sessions] {
        let again = generated(&model, draw, 16);
        assert!(again.is_sorted_by_key(|vector| vector.start));
        let length = Duration::from_secs(16 * 3_600);
        let found = fitted(&again, length);
        assert_same(&model, &found);
        for (one, other) in model.classes.iter().zip(&found.classes) {
            let rates = [one.sessions_per_second(), other.sessions_per_second()];
            assert!((rates[0] / rates[1] - 1.0).abs() < 0.05, "{rates:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever the workload: nothing panics, nothing is counted twice or lost, and its model can be drawn from.
    #[test]
    fn any_workload_is_grouped_and_drawn_from(
        starts in prop::collection::vec((0u64..700_000_000_000, 0u32..6), 1..80),
        seed in any::<u64>(),
        per_class in any::<bool>(),
    ) {
        let mut now = 0;
        let mut stream = Stream::new(seed, Purpose::Sizes, 1);
        let mut survey = Survey::new(Grouping { per_class, ..Grouping::default() });
        let mut starts = starts;
        starts.sort_unstable();
        for (start, client) in starts.iter().copied() {
            now += start / 16;
            survey.add(&any_vector(&mut stream, Time::from_nanos(now), client, client == 0));
        }
        prop_assert_eq!(survey.connections() + survey.left_out().total(), starts.len() as u64);
        let model = survey.finish(Duration::from_nanos(now));
        prop_assert_eq!(model.check(), Ok(()));
        for class in &model.classes {
            let connections: u64 = class.connections.iter().map(|of| of.count).sum();
            let sessions = class.users.inter_session_ns.count();
            let exchanges = class.rre.num_conn.count();
            prop_assert_eq!(class.users.num_rre.count(), sessions);
            prop_assert_eq!(exchanges, sessions + class.users.inter_rre_ns.count());
            prop_assert_eq!(connections, exchanges + class.rre.inter_conn_ns.count());
            prop_assert_eq!(values(&class.users.sessions_per_client).iter().sum::<u64>(), sessions);
            prop_assert_eq!(class.sessions.iter().map(Vec::len).sum::<usize>() as u64, connections);
        }
        for draw in [Draw::Independent, Draw::Sessions] {
            let mut swing = Swing::new("", draw);
            swing.set(model.clone()).unwrap();
            let drawn: Vec<_> = swing.vectors(seed, Duration::from_secs(3_600)).take(300).collect();
            prop_assert!(drawn.is_sorted_by_key(|vector| vector.start));
            prop_assert!(drawn.iter().zip(0..).all(|(vector, id)| vector.id == id));
        }
    }
}
