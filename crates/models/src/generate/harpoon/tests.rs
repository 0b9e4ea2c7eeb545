use flowloom_core::distribution::Law;
use flowloom_core::keys::Quantity;
use flowloom_core::workload::{Adu, Close, Host, LinkSide, PerSide, Protocol, Side, Span};
use proptest::prelude::*;

use super::configure::{Configuration, Configurator, Options, Unconfigured};
use super::*;
use crate::generate::SourceModel;
use crate::generate::ends::InitiatorSide;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn at(second: u64) -> Time {
    Time::ZERO + seconds(second)
}

fn blocks(blocks: &[&str]) -> Vec<Block> {
    blocks.iter().map(|block| block.parse().unwrap()).collect()
}

/// A client and its server: gaps of 10, 20 and 30 s, files of 1,000 and 2,000 bytes.
fn plugins() -> [Plugin; 2] {
    let client = Plugin {
        name: "C".into(),
        object: "tcp_plugin.so".into(),
        threads: 9,
        personality: Personality::Client,
        place: "c.xml:2".into(),
        interconnection_times: vec![10.0, 20.0, 30.0],
        active_sessions: vec![2, 0, 12],
        sources: blocks(&["10.0.0.1"]),
        destinations: vec![Block { port: 80, ..blocks(&["10.0.9.1/32"])[0] }],
        ..Plugin::default()
    };
    let server = Plugin {
        name: "S".into(),
        personality: Personality::Server,
        file_sizes: vec![1_000.0, 2_000.0],
        servers: vec![Block::ANY],
        ..client.clone()
    };
    [client, server]
}

fn configured(plugins: &[Plugin]) -> Harpoon {
    let mut model = Harpoon::default();
    model.configure(plugins, Vec::new()).unwrap();
    model
}

fn vectors(model: &Harpoon, length: u64) -> Vec<ConnectionVector> {
    model.vectors(3, seconds(length)).collect()
}

#[test]
fn sessions_walk_their_lists_within_their_interval() {
    let vectors = vectors(&configured(&plugins()), 1_000);
    assert!(vectors.iter().zip(0..).all(|(vector, id)| vector.id == id));
    assert!(vectors.is_sorted_by_key(|vector| vector.start));
    // 10 + 20 + 30 s fill an interval of 60 s, wherever the walk begins: three files each. The second interval has no sessions, the
    // third as many as maxthreads lets run, and then the list is over.
    assert_eq!(vectors.len(), 3 * (2 + 9));
    let in_first = vectors.iter().filter(|vector| vector.start <= at(60)).count();
    assert_eq!(in_first, 6);
    assert!(vectors[6..].iter().all(|vector| vector.start > at(120) && vector.start <= at(180)));
    for vector in &vectors {
        let adus: Vec<_> = vector.adus.iter().map(|adu| (adu.side, adu.bytes)).collect();
        assert!(adus == [(Side::Initiator, 1), (Side::Acceptor, 1_000)] || adus[1].1 == 2_000, "{adus:?}");
        assert_eq!((vector.close, vector.ends.acceptor.port), (Close::Fin(Side::Acceptor), Some(80)));
        assert_eq!(vector.ends.initiator.host, Some(Host::Address([10, 0, 0, 1].into())));
        assert_eq!(vector.ends.acceptor.host, Some(Host::Address([10, 0, 9, 1].into())));
    }
    let mut repeated = Harpoon { repeat: true, transfer: Transfer::Harpoon, ..Harpoon::default() };
    repeated.configure(&plugins(), Vec::new()).unwrap();
    // A second more than twice the list: the last files are asked for at its very end.
    let repeated = self::vectors(&repeated, 361);
    assert_eq!(repeated.len(), 2 * vectors.len(), "the list begins again");
    assert!(repeated.iter().all(|vector| vector.close == Close::Rst(Side::Initiator)));
    assert!(repeated.iter().all(|vector| [1_004, 2_004].contains(&vector.adus[1].bytes)));
}

#[test]
fn a_run_that_ends_within_an_interval_has_its_beginning() {
    let model = configured(&plugins());
    let (all, part) = (vectors(&model, 1_000), vectors(&model, 150));
    assert!(part.len() > 6 && part.len() < all.len());
    assert_eq!(part, all[..part.len()]);
    assert!(part.iter().all(|vector| vector.start < at(150)));
}

/// Gaps and sizes of 1,000 sessions in ten intervals, by their laws: standard errors of 0.1 % and 0.3 %.
#[test]
fn laws_are_drawn_from() {
    let law = |law| Some(Distribution::new(law).unwrap());
    let model = Harpoon {
        sessions: Some(Sessions::Always(1_000)),
        gap_ms: law(Law::Exponential { mean: 500.0 }),
        file_bytes: law(Law::Uniform { min: 1_000.0, max: 3_000.0 }),
        ..Harpoon::default()
    };
    model.check().unwrap();
    let vectors = vectors(&model, 600);
    // An exponential gap forgets when it began: 120 transfers in 60 s, in the mean.
    assert!((vectors.len() as f64 / 1_200_000.0 - 1.0).abs() < 0.005, "{}", vectors.len());
    let mean = vectors.iter().map(|vector| vector.adus[1].bytes as f64).sum::<f64>() / vectors.len() as f64;
    assert!((mean / 2_000.0 - 1.0).abs() < 0.005, "{mean}");
    assert!(vectors.iter().all(|vector| vector.ends.initiator.host.is_none()), "no addresses are said");
}

#[test]
fn what_one_variable_draws_shifts_no_other() {
    let [mut client, server] = plugins();
    let one = vectors(&configured(&[client.clone(), server.clone()]), 200);
    client.sources = blocks(&["10.7.0.0/16"]);
    client.active_sessions = vec![3, 0, 12];
    let other = vectors(&configured(&[client, server]), 200);
    let sizes = |vectors: &[ConnectionVector]| {
        let mut found: Vec<_> = vectors.iter().map(|vector| (vector.start, vector.adus[1].bytes)).collect();
        found.sort_unstable();
        found
    };
    let (one, other) = (sizes(&one), sizes(&other));
    // A session more, and the others are what they were.
    assert_eq!(other.len(), one.len() + 3);
    let mut rest = other.iter();
    assert!(one.iter().all(|found| rest.any(|other| other == found)));
}

#[test]
fn addresses_are_picked_by_weight() {
    let pool = Pool::new(&blocks(&["10.0.0.1", "10.0.0.1", "10.0.0.2", "10.1.0.0/30"])).unwrap();
    let picked = (0..60).map(|n| pool.pick((f64::from(n) + 0.5) / 60.0).address.unwrap().to_string());
    let mut counts = std::collections::BTreeMap::new();
    picked.for_each(|host| *counts.entry(host).or_insert(0) += 1);
    // 10.1.0.0 is no host's: six entries, of which 10.0.0.1 has two.
    let counts: Vec<_> = counts.iter().map(|(host, n)| (host.as_str(), *n)).collect();
    assert_eq!(counts, [("10.0.0.1", 20), ("10.0.0.2", 10), ("10.1.0.1", 10), ("10.1.0.2", 10), ("10.1.0.3", 10)]);
    assert!(Pool::new(&blocks(&["10.0.0.0", "10.0.0.255"])).is_none());
    assert!(Pool::new(&[]).unwrap().pick(0.5).address.is_none());
}

/// 30 sessions between 10 clients and 4 servers: each client has 2 to 4 and each server 7 to 9, and 25 pairs of hosts or more have one.
/// Random picks would leave 19 of the 40 pairs without.
#[test]
fn sessions_spread_over_hosts_and_lists() {
    let [mut client, mut server] = plugins();
    client.sources = (1..=10).flat_map(|n| blocks(&[&format!("10.0.0.{n}")])).collect();
    client.destinations = (1..=4).flat_map(|n| blocks(&[&format!("10.0.9.{n}")])).collect();
    (client.active_sessions, client.threads) = (vec![30], 30);
    client.interconnection_times = vec![20.0];
    server.file_sizes = (1..=90).map(f64::from).collect();
    let vectors = vectors(&configured(&[client, server]), 60);
    let count = |of: &dyn Fn(&ConnectionVector) -> String| {
        let mut counts = std::collections::BTreeMap::<String, u32>::new();
        vectors.iter().for_each(|vector| *counts.entry(of(vector)).or_default() += 1);
        counts.into_values().collect::<Vec<_>>()
    };
    let host = |vector: &ConnectionVector, side: Side| format!("{:?}", vector.ends[side].host);
    // Two transfers of each session: the third, after 60 s, is beyond the end.
    let (clients, servers) =
        (count(&|vector| host(vector, Side::Initiator)), count(&|vector| host(vector, Side::Acceptor)));
    assert!(clients.len() == 10 && clients.iter().all(|n| (4..=8).contains(n)), "{clients:?}");
    assert!(servers.len() == 4 && servers.iter().all(|n| (14..=18).contains(n)), "{servers:?}");
    let pairs = count(&|vector| host(vector, Side::Initiator) + &host(vector, Side::Acceptor));
    assert!(pairs.len() >= 25, "{pairs:?}");
    let mut sizes: Vec<_> = vectors.iter().map(|vector| vector.adus[1].bytes).collect();
    sizes.sort_unstable();
    // No part of the list is far from its share of the 60 transfers.
    let far =
        sizes.iter().zip(1..).map(|(size, n)| (*size as f64 / 90.0 - f64::from(n) / 60.0).abs()).fold(0.0, f64::max);
    assert!(far < 0.08, "{far}");
}

#[test]
fn blocks_count_their_hosts() {
    for (text, hosts, first, last) in [
        ("10.0.0.0/24", 254, "10.0.0.1", "10.0.0.254"),
        ("10.0.0.77/24", 254, "10.0.0.1", "10.0.0.254"),
        ("10.0.0.0/22", 1_016, "10.0.0.1", "10.0.3.254"),
        ("10.0.0.248/29", 7, "10.0.0.248", "10.0.0.254"),
        ("10.0.0.7", 1, "10.0.0.7", "10.0.0.7"),
        ("10.0.0.0/0", 254 << 24, "0.0.0.1", "255.255.255.254"),
    ] {
        let block: Block = text.parse().unwrap();
        assert_eq!(block.hosts(), hosts, "{text}");
        assert_eq!(block.host(0).unwrap().to_string(), first, "{text}");
        assert_eq!(block.host(hosts - 1).unwrap().to_string(), last, "{text}");
        assert_eq!(block.host(hosts), None, "{text}");
    }
    for text in ["", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "::1", "10.0.0.256"] {
        assert!(text.parse::<Block>().is_err(), "{text}");
    }
}

#[test]
fn datagrams_go_at_their_rate_and_are_answered() {
    let udp = |object: &str, settings: &[(&str, &[f64])]| {
        let [mut client, mut server] = plugins();
        (client.object, server.object) = (object.to_owned(), object.to_owned());
        client.settings = settings.iter().map(|(name, numbers)| ((*name).to_owned(), numbers.to_vec())).collect();
        client.file_sizes = vec![40.0, 60.0];
        vectors(&configured(&[client, server]), 60)
    };
    let constant = udp("udpcbr_plugin.so", &[("bitrate", &[80_000.0]), ("datagram_size", &[500.0])]);
    // Two sessions with three files each, the last of which are asked for when the run is over.
    assert_eq!(constant.len(), 4);
    for vector in &constant {
        let adu = vector.adus[0];
        // A datagram of 500 bytes every 50 ms, from the server, which is on the other side.
        assert_eq!(
            (vector.protocol, adu.side, vector.initiator_side),
            (Protocol::Udp, Side::Initiator, LinkSide::Right)
        );
        assert_eq!(
            (u64::from(adu.packets.unwrap()), adu.seen.unwrap().length()),
            match adu.bytes {
                1_000 => (2, Duration::from_millis(50)),
                _ => (4, Duration::from_millis(150)),
            }
        );
        assert_eq!(vector.ends.initiator.host, Some(Host::Address([10, 0, 9, 1].into())));
    }
    let periodic =
        udp("lib/udpperiodic_plugin.@SHLIB_EXT@", &[("virtual_users", &[4.0]), ("uniform_period", &[500.0])]);
    // Two sessions of four users in the first interval, each with 120 requests and answers.
    assert_eq!(periodic.len(), 8);
    for vector in &periodic {
        assert_eq!(vector.adus.len(), 240);
        let starts: Vec<Duration> = vector.adus.iter().map(|adu| adu.seen.unwrap().first).collect();
        assert!(
            starts
                .chunks(2)
                .zip(0..)
                .all(|(pair, n)| pair.iter().all(|start| *start == Duration::from_millis(500) * n))
        );
        assert!(vector.adus.chunks(2).all(|pair| pair[0].side == Side::Initiator && pair[1].side == Side::Acceptor));
        assert!(vector.adus.chunks(2).all(|pair| pair[0].bytes <= 60 && pair[1].bytes >= 1_000));
        assert_eq!(vector.ends.acceptor.datagram_sizes.unwrap().largest, 1_000, "2,000 bytes are two datagrams");
    }
    let exponential = udp("udpexpo_plugin.so", &[("virtual_users", &[500.0]), ("expo_means", &[100.0, 200.0])]);
    let requests: usize = exponential.iter().map(|vector| vector.adus.len() / 2).sum();
    // 1,000 users with 600 or 300 requests each.
    assert!((requests as f64 / 450_000.0 - 1.0).abs() < 0.02, "{requests}");
}

#[test]
fn clients_ask_the_server_at_their_destination() {
    let [client, server] = plugins();
    let other =
        Plugin { name: "far".into(), servers: blocks(&["10.8.0.0/16"]), file_sizes: vec![7.0], ..server.clone() };
    let near = Plugin { servers: blocks(&["10.0.9.0/24"]), ..server.clone() };
    let model = configured(&[other.clone(), client.clone(), near]);
    assert!(vectors(&model, 60).iter().all(|vector| vector.adus[1].bytes >= 1_000));
    assert_eq!(
        model.remarks(seconds(100)),
        ["c.xml:2: plugin far is left out: no client asks it for anything"],
        "its list of sessions is long enough"
    );
    let problem = |plugins: &[Plugin]| Harpoon::default().configure(plugins, Vec::new()).unwrap_err();
    let nowhere = Plugin { servers: blocks(&["10.9.0.0/16"]), ..server.clone() };
    assert_eq!(
        problem(&[client.clone(), other, nowhere]),
        "c.xml:2: plugin C: none of the 2 servers has one of its destinations"
    );
    assert!(
        problem(std::slice::from_ref(&client)).starts_with("c.xml:2: plugin C has no server of tcp_plugin.so to ask")
    );
    assert!(problem(std::slice::from_ref(&server)).starts_with("no plugin is a client whose traffic is known here"));
    let with = |client: Plugin| problem(&[client, server.clone()]);
    for (client, wanted) in [
        (Plugin { interconnection_times: Vec::new(), ..client.clone() }, "interconnection_times of C are missing"),
        (Plugin { interconnection_times: vec![0.0], ..client.clone() }, "gaps that are all 0 have no end"),
        (Plugin { active_sessions: Vec::new(), ..client.clone() }, "active_sessions are missing"),
        (Plugin { threads: 0, ..client.clone() }, "active_sessions, or maxthreads, are 0"),
        (
            Plugin { threads: 200_000, active_sessions: vec![200_000], ..client.clone() },
            "200000 sessions and users at once",
        ),
        (Plugin { sources: blocks(&["10.0.0.0"]), ..client.clone() }, "the source pool has no address of a host"),
        (Plugin { settings: [("tcp_mss".to_owned(), vec![0.0])].into(), ..client.clone() }, "tcp_mss of 0"),
    ] {
        let problem = with(client);
        assert!(problem.starts_with(&format!("c.xml:2: plugin C: {wanted}")), "{problem}");
    }
    let infinite = Plugin { object: "infinite_tcp.so".into(), ..client.clone() };
    let mut model = Harpoon::default();
    model.configure(&[client, server, infinite], vec!["c.xml:9: x".to_owned()]).unwrap();
    assert_eq!(
        model.remarks,
        ["c.xml:9: x", "c.xml:2: plugin C is left out: infinite_tcp.so is no traffic that is known here"]
    );
}

#[test]
fn keys_say_what_they_are_of() {
    let empty = SourceModel::Harpoon(Harpoon::default());
    assert_eq!(empty.check().unwrap_err().to_string(), "gap-ms is missing");
    let constant = |value: f64| Some(Distribution::constant(value).unwrap());
    let tcp = Harpoon {
        gap_ms: constant(10.0),
        file_bytes: constant(9.0),
        sessions: Some(Sessions::Always(1)),
        ..Harpoon::default()
    };
    tcp.check().unwrap();
    let problem = |model: Harpoon| model.check().unwrap_err().to_string();
    assert!(problem(Harpoon { users: Some(3), ..tcp.clone() }).starts_with("users is of other traffic"));
    assert!(problem(Harpoon { sessions: None, ..tcp.clone() }).starts_with("sessions is missing"));
    assert!(problem(Harpoon { gap_ms: constant(0.0), ..tcp.clone() }).contains("gaps that are all 0"));
    assert!(
        problem(Harpoon { sessions: Some(Sessions::List(Vec::new())), ..tcp.clone() }).contains("sessions of 0 send")
    );
    assert!(
        problem(Harpoon { interval: Some(Quantity::of("1us")), ..tcp.clone() }).contains("is too short (at least 1ms)")
    );
    let config = Some(Files::One("c.xml".into()));
    assert!(problem(Harpoon { config, ..tcp }).starts_with("sessions is what a config says"));
}

/// A connection of which both directions are known from `start` to `start + length`.
fn connection(start: Duration, length: Duration, hosts: [u32; 2], bytes: [u64; 2]) -> ConnectionVector {
    let adu = |side, bytes| Adu {
        side,
        bytes,
        missing_bytes: 0,
        wait: None,
        waiter: side,
        seen: Some(Span { first: Duration::ZERO, last: length }),
        packets: None,
    };
    let mut vector = ConnectionVector {
        start: Time::ZERO + start,
        complete: true,
        lifetime: Some(length),
        ends: PerSide::default(),
        adus: vec![adu(Side::Initiator, bytes[0]), adu(Side::Acceptor, bytes[1])],
        ..ConnectionVector::default()
    };
    for (side, host) in Side::BOTH.into_iter().zip(hosts) {
        vector.ends[side].host = Some(Host::Number(host));
    }
    vector
}

fn found(vectors: &[ConnectionVector], interval: u64) -> Result<Configuration, Unconfigured> {
    let mut configurator = Configurator::new(Options { interval: Some(seconds(interval)), ..Options::default() });
    vectors.iter().for_each(|vector| configurator.add(vector));
    configurator.finish(Duration::ZERO)
}

/// The test vector of methods K.1: starts at 0, 100, 450 and 500 s are gaps of 100 and 50 s in two sessions.
#[test]
fn gaps_split_sessions() {
    let vectors = [0, 100, 450, 500].map(|start| connection(seconds(start), seconds(1), [0, 1], [99, 100]));
    let found = found(&vectors, 500).unwrap();
    let [from_right] = &found.directions[..] else { panic!("{found:?}") };
    assert_eq!((from_right.from, from_right.flows, from_right.sessions), (LinkSide::Right, 4, 2));
    assert_eq!(from_right.gaps, [seconds(50), seconds(100)]);
    assert_eq!((&from_right.senders[..], &from_right.receivers[..]), (&[2][..], &[2][..]));
    // 99 bytes are no file.
    assert_eq!(found.counts.small, 4);
}

#[test]
fn bytes_are_spread_over_intervals_by_time() {
    let vectors = [
        connection(seconds(5), seconds(10), [0, 1], [0, 1_000]),
        connection(seconds(8), seconds(20), [2, 1], [0, 200]),
        connection(seconds(9), Duration::ZERO, [0, 1], [0, 300]),
        connection(seconds(35), seconds(1), [0, 1], [0, 400]),
    ];
    let found = found(&vectors, 10).unwrap();
    let intervals = &found.directions[0].intervals;
    let bytes: Vec<f64> = intervals.iter().map(|interval| interval.bytes).collect();
    // Half of the first is in the first interval, a tenth, half and two fifths of the second in the three; the last interval, from 30 s on,
    // is not whole.
    assert_eq!(bytes, [500.0 + 20.0 + 300.0, 500.0 + 100.0, 80.0]);
    assert_eq!(intervals.iter().map(|interval| interval.flows).collect::<Vec<_>>(), [3, 0, 0]);
    assert_eq!(found.directions[0].senders, [2], "host 1 has a session with each of the others");
    assert_eq!(found.directions[0].receivers, [1, 1]);
}

#[test]
fn what_cannot_be_configured_is_said() {
    let one = connection(seconds(0), seconds(20), [0, 1], [100, 100]);
    assert_eq!(found(&[], 10), Err(Unconfigured::NoFlows));
    assert_eq!(found(std::slice::from_ref(&one), 10), Err(Unconfigured::NoGaps));
    let mut hidden = one.clone();
    hidden.ends.initiator.host = None;
    assert_eq!(found(&[hidden], 10), Err(Unconfigured::NoHosts));
    let incomplete = ConnectionVector { complete: false, ..one.clone() };
    assert_eq!(found(&[incomplete], 10), Err(Unconfigured::NoFlows));
    let again = connection(seconds(15), seconds(5), [0, 1], [100, 100]);
    let both = [one, again];
    assert!(matches!(found(&both, 21), Err(Unconfigured::Short { .. })));
    assert!(matches!(found(&both, 10), Err(Unconfigured::Endless { number: 1, .. })));
    // Each side sends: two models, that of what comes from the right first.
    let found = found(&both, 20).unwrap();
    assert_eq!(found.directions.iter().map(|found| found.from).collect::<Vec<_>>(), [LinkSide::Right, LinkSide::Left]);
}

/// Two hosts with two flows: a session of 15 s fits once into 20 s, so that 200 bytes take two.
#[test]
fn sessions_make_the_bytes_of_an_interval() {
    let both = [0, 15].map(|start| connection(seconds(start), Duration::ZERO, [0, 1], [0, 100]));
    let last = connection(seconds(20), Duration::ZERO, [5, 6], [0, 100]);
    let found = found(&[&both[..], &[last]].concat(), 20).unwrap();
    let direction = &found.directions[0];
    assert_eq!(direction.intervals[0].sessions, 2.0);
    assert_eq!(direction.idle, 0.0);
    let pools = ["10.1.0.0/24", "10.2.0.0/31"].map(|pool| pool.parse().unwrap());
    assert_eq!(direction.without_address(pools), 1, "two hosts send, and 10.2.0.0 is no host's");
    let [client, server] = direction.plugins(pools, 1);
    assert_eq!(
        (&client.active_sessions[..], client.threads, client.client_side),
        (&[2][..], 2, Some(InitiatorSide::Left))
    );
    assert_eq!((&client.interconnection_times[..], &server.file_sizes[..]), (&[15.0][..], &[100.0; 3][..]));
    assert_eq!(client.setting("interval_duration"), Some(20.0));
    assert!(Harpoon::default().configure(&[client, server], Vec::new()).is_ok());
}

proptest! {
    /// Whatever the model, connections come in order, within the run, and sessions within their interval.
    #[test]
    fn connections_come_in_order(
        gaps in prop::collection::vec(0u32..5_000, 1..20),
        sizes in prop::collection::vec(0u64..1 << 41, 1..20),
        sessions in prop::collection::vec(0u32..5, 1..6),
        draw: bool,
        seed: u64,
    ) {
        prop_assume!(gaps.iter().any(|gap| *gap > 200) && sessions.iter().any(|sessions| *sessions > 0));
        let [mut client, mut server] = plugins();
        client.interconnection_times = gaps.iter().map(|gap| f64::from(*gap) / 1e3).collect();
        server.file_sizes = sizes.iter().map(|size| *size as f64).collect();
        client.active_sessions = sessions;
        let lists = if draw { Lists::Draw } else { Lists::Walk };
        let interval = Some(Quantity::of("7s"));
        let mut model = Harpoon { lists, interval, ..Harpoon::default() };
        model.configure(&[client, server], Vec::new()).unwrap();
        let mut last = Time::ZERO;
        for (vector, id) in model.vectors(seed, seconds(30)).zip(0..) {
            prop_assert!(vector.start >= last && vector.start < at(30));
            prop_assert_eq!(vector.id, id);
            prop_assert!(vector.adus[1].bytes >= 1);
            last = vector.start;
        }
    }

    /// A flow's bytes are all in some interval, as far as these go.
    #[test]
    fn spread_bytes_add_up(flows in prop::collection::vec((0u64..1_000, 0u64..300, 100u64..1 << 30), 2..30)) {
        let mut flows = flows;
        flows.sort_unstable();
        // The intervals end with the last flow: it ends when the third interval does.
        let end = connection(seconds(0), seconds(1_500), [7, 8], [0, 0]);
        let flows: Vec<_> = flows
            .iter()
            .map(|(start, length, bytes)| connection(seconds(*start), seconds(*length), [0, 1], [0, *bytes]))
            .collect();
        let Ok(found) = found(&[&[end][..], &flows].concat(), 500) else { return Ok(()) };
        let sum: f64 = found.directions[0].intervals.iter().map(|interval| interval.bytes).sum();
        let all: u64 = flows.iter().map(|vector| vector.bytes(Side::Acceptor)).sum();
        prop_assert!((sum / all as f64 - 1.0).abs() < 1e-9, "{sum} of {all}");
    }
}
