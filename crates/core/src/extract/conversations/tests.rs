//! Hand-made packets with exact answers for each rule of methods G.1.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::*;
use crate::wire::Flags;

const PUSH: u8 = Flags::ACK | Flags::PSH;

fn host(last: u8, port: u16) -> Address {
    Address::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port)
}

fn segment(source: Address, destination: Address, flags: u8, sequence: u32, payload_bytes: u32) -> Segment {
    Segment {
        source,
        destination,
        sequence,
        acknowledgement: 1,
        flags: Flags(flags),
        window: 1000,
        payload_bytes,
        ip_id: None,
        link_bytes: payload_bytes + 54,
        mss: None,
        window_scale: None,
        timestamps: None,
        sack: false,
        sack_blocks: [(0, 0); 3],
        options_cut: false,
        vlan: None,
        from: None,
        macs: None,
    }
}

/// The machine and what it said.
struct Bench {
    machine: Conversations,
    said: Vec<Conversation>,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(Options::default())
    }

    fn with(options: Options) -> Bench {
        Bench { machine: Conversations::new(options), said: Vec::new() }
    }

    fn tcp(&mut self, seconds: f64, source: Address, destination: Address, flags: u8, sequence: u32, bytes: u32) {
        let time = Time::ZERO + Duration::from_secs_f64(seconds);
        self.machine.handle_segment(time, &segment(source, destination, flags, sequence, bytes));
        self.said.extend(std::iter::from_fn(|| self.machine.poll_finished()));
    }

    /// A data segment whose number no other has.
    fn data(&mut self, seconds: f64, source: Address, destination: Address, bytes: u32) {
        self.tcp(seconds, source, destination, Flags::ACK, (seconds * 1e6) as u32, bytes);
    }

    fn udp(&mut self, seconds: f64, source: Address, destination: Address, payload_bytes: u32) {
        let time = Time::ZERO + Duration::from_secs_f64(seconds);
        let link_bytes = payload_bytes + 42;
        let datagram = Datagram {
            source,
            destination,
            payload_bytes,
            link_bytes,
            mark: None,
            quic: false,
            vlan: None,
            from: None,
            macs: None,
        };
        self.machine.handle_datagram(time, &datagram);
        self.said.extend(std::iter::from_fn(|| self.machine.poll_finished()));
    }

    fn finish(&mut self) -> &[Conversation] {
        self.machine.finish();
        self.said.extend(std::iter::from_fn(|| self.machine.poll_finished()));
        &self.said
    }

    fn usage(&self, application: Application) -> Usage {
        let found = self.machine.usage().find(|(other, _)| *other == application);
        found.map(|(_, usage)| usage.clone()).unwrap_or_default()
    }
}

fn values(sketch: &Sketch) -> Vec<u64> {
    let steps = sketch.empirical();
    steps.steps().iter().flat_map(|step| std::iter::repeat_n(step.value, step.count as usize)).collect()
}

#[test]
fn a_silence_of_twenty_minutes_ends_a_conversation_and_one_second_less_does_not() {
    let (client, server) = (host(1, 5000), host(2, 23));
    for (silence, conversations) in [(1199.0, 1), (1199.999, 1), (1200.0, 2), (1201.0, 2)] {
        let mut bench = Bench::new();
        bench.data(10.0, client, server, 5);
        bench.data(10.0 + silence, client, server, 7);
        assert_eq!(bench.finish().len(), conversations, "{silence} s");
    }
}

#[test]
fn packets_without_data_break_a_silence_but_count_for_nothing_else() {
    let (client, server) = (host(1, 5000), host(2, 23));
    let mut bench = Bench::new();
    bench.data(0.0, client, server, 5);
    bench.tcp(1000.0, server, client, Flags::ACK, 1, 0);
    bench.data(2000.0, server, client, 9);
    assert_eq!(
        bench.finish(),
        [Conversation {
            application: Application::TELNET,
            start: Time::ZERO,
            duration: Duration::from_secs(2000),
            client: Sent { packets: 1, bytes: 5 },
            server: Sent { packets: 1, bytes: 9 },
            items: vec![],
        }]
    );
    let usage = bench.usage(Application::TELNET);
    assert_eq!((usage.packets, usage.payload_bytes, usage.dropped.empty), (3, 14, 1));
    assert_eq!(values(&usage.packet_bytes), [5, 9]);
    assert_eq!(values(&usage.packet_gap_ns), [2_000_000_000_000]);
}

#[test]
fn the_silence_is_an_option() {
    let (client, server) = (host(1, 5000), host(2, 80));
    let mut bench = Bench::with(Options { silence: Duration::from_secs(5), ..Options::default() });
    for seconds in [0.0, 4.9, 9.9, 14.0] {
        bench.data(seconds, client, server, 100);
    }
    assert_eq!(bench.finish().iter().map(Conversation::packets).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn syns_empty_packets_and_resets_are_dropped() {
    let (client, server) = (host(1, 5000), host(2, 80));
    let mut bench = Bench::new();
    bench.tcp(0.0, client, server, Flags::SYN, 100, 0);
    bench.tcp(0.1, server, client, Flags::SYN | Flags::ACK, 500, 3);
    bench.tcp(0.2, client, server, Flags::ACK, 101, 0);
    bench.tcp(0.3, client, server, PUSH, 101, 40);
    bench.tcp(0.4, server, client, PUSH | Flags::FIN, 501, 60);
    bench.tcp(0.5, client, server, Flags::RST, 141, 11);
    let said = bench.finish();
    assert_eq!((said.len(), said[0].packets(), said[0].bytes()), (1, 2, 100));
    assert_eq!((said[0].start, said[0].duration), (Time::from_nanos(300_000_000), Duration::from_millis(100)));
    let usage = bench.usage(Application::of(Transport::Tcp, [80, 5000]));
    assert_eq!(usage.dropped, Dropped { syn: 2, empty: 2, retransmitted: 0, keep_alive: 0 });
    assert_eq!((usage.packets, usage.dropped.total(), usage.conversations), (6, 4, 1));
}

#[test]
fn a_conversation_without_data_is_none_and_is_counted() {
    let mut bench = Bench::new();
    bench.tcp(0.0, host(1, 5000), host(2, 80), Flags::SYN, 100, 0);
    assert_eq!(bench.finish(), []);
    let usage = bench.usage(Application::of(Transport::Tcp, [80, 5000]));
    assert_eq!((usage.conversations, usage.without_data), (0, 1));
}

#[test]
fn a_sequence_number_among_the_last_128_packets_is_a_retransmission_and_one_before_them_is_not() {
    let (client, server) = (host(1, 5000), host(2, 80));
    for (between, conversation_packets) in [(126, 128), (127, 128), (128, 130), (129, 131)] {
        let mut bench = Bench::new();
        // The number in question is that of the first packet; `between` others follow, then it comes again.
        bench.tcp(0.0, client, server, PUSH, 1_000, 10);
        for number in 0..between {
            bench.tcp(0.1, client, server, PUSH, 2_000 + number, 1);
        }
        bench.tcp(0.2, client, server, PUSH, 1_000, 10);
        let usage = bench.usage(Application::of(Transport::Tcp, [80, 5000]));
        let repeated = u64::from(between < 128);
        assert_eq!(usage.dropped.retransmitted, repeated, "{between} between");
        assert_eq!(bench.finish()[0].packets(), conversation_packets - u64::from(between == 126), "{between} between");
    }
}

#[test]
fn the_other_end_may_use_the_same_sequence_number() {
    let (client, server) = (host(1, 5000), host(2, 80));
    let mut bench = Bench::new();
    bench.tcp(0.0, client, server, PUSH, 77, 10);
    bench.tcp(0.1, server, client, PUSH, 77, 20);
    bench.tcp(0.2, server, client, PUSH, 77, 20);
    let said = bench.finish();
    assert_eq!((said[0].client.bytes, said[0].server.bytes), (10, 20));
    assert_eq!(bench.usage(Application::of(Transport::Tcp, [80, 5000])).dropped.retransmitted, 1);
}

#[test]
fn sequence_numbers_wrap() {
    let (client, server) = (host(1, 5000), host(2, 80));
    let mut bench = Bench::new();
    for sequence in [u32::MAX - 5, 4, u32::MAX - 5, 4, 14] {
        bench.tcp(0.0, client, server, PUSH, sequence, 10);
    }
    assert_eq!(bench.finish()[0].packets(), 3);
}

#[test]
fn a_lone_byte_is_a_keep_alive_and_two_are_not() {
    let (client, server) = (host(1, 5000), host(2, 23));
    let mut bench = Bench::new();
    bench.data(0.0, client, server, 1);
    bench.data(3000.0, client, server, 1);
    bench.data(3001.0, server, client, 1);
    bench.data(6000.0, client, server, 2);
    assert_eq!(bench.finish().iter().map(Conversation::bytes).collect::<Vec<_>>(), [2, 2]);
    let usage = bench.usage(Application::TELNET);
    assert_eq!((usage.dropped.keep_alive, usage.conversations), (1, 2));
    assert_eq!(values(&usage.packet_bytes), [1, 1, 2]);
    assert_eq!(values(usage.interarrival_ns()), [3_000_000_000_000]);
}

#[test]
fn times_between_conversations_are_those_of_one_application() {
    let mut bench = Bench::new();
    bench.data(0.0, host(1, 5000), host(2, 80), 10);
    bench.data(1.0, host(1, 5001), host(2, 25), 10);
    bench.data(3.0, host(3, 5000), host(2, 80), 10);
    bench.data(4.0, host(1, 5000), host(2, 80), 10);
    bench.data(8.0, host(4, 5000), host(2, 80), 10);
    bench.finish();
    let http = bench.usage(Application::of(Transport::Tcp, [80, 5000]));
    assert_eq!(values(http.interarrival_ns()), [3_000_000_000, 5_000_000_000]);
    assert_eq!(values(bench.usage(Application::SMTP).interarrival_ns()), [0u64; 0]);
}

#[test]
fn directionality_is_infinite_where_one_end_is_silent() {
    let mut bench = Bench::new();
    bench.data(0.0, host(1, 5000), host(2, 80), 300);
    bench.data(1.0, host(2, 80), host(1, 5000), 30);
    bench.data(2.0, host(3, 5000), host(2, 80), 10);
    assert_eq!(bench.finish().iter().map(Conversation::directions).collect::<Vec<_>>(), [(300, 30), (10, 0)]);
}

#[test]
fn ftp_control_and_active_data_connections_are_one_conversation_and_each_data_connection_an_item() {
    let (control, server) = (host(1, 5000), host(2, 21));
    let mut bench = Bench::new();
    bench.tcp(0.0, control, server, Flags::SYN, 1, 0);
    bench.data(0.1, control, server, 30);
    for (at, port) in [(1.0, 5001), (2.0, 5002)] {
        bench.tcp(at, host(2, 20), host(1, port), Flags::SYN, 9, 0);
        bench.data(at + 0.1, host(2, 20), host(1, port), 1000);
        bench.data(at + 0.2, host(2, 20), host(1, port), 400);
    }
    bench.data(3.0, server, control, 50);
    let said = bench.finish();
    assert_eq!(said.len(), 1);
    assert_eq!((said[0].application, said[0].items.as_slice()), (Application::FTP, &[1400, 1400][..]));
    assert_eq!((said[0].client, said[0].server), (Sent { packets: 1, bytes: 30 }, Sent { packets: 5, bytes: 2850 }));
}

#[test]
fn passive_data_is_what_has_unknown_ports_between_hosts_with_an_open_control_connection() {
    let (control, server) = (host(1, 5000), host(2, 21));
    let mut bench = Bench::new();
    bench.data(0.0, host(1, 7000), host(2, 40_000), 11);
    bench.data(1.0, control, server, 30);
    // Passive, of this pair.
    bench.data(2.0, host(2, 40_001), host(1, 5001), 700);
    // Another service, another pair, the association that was there before, and UDP: not FTP's.
    bench.data(3.0, host(1, 5002), host(2, 80), 100);
    bench.data(3.0, host(3, 5002), host(2, 40_002), 200);
    bench.data(3.0, host(1, 7000), host(2, 40_000), 11);
    bench.udp(3.0, host(1, 7001), host(2, 40_003), 50);
    // The control connection is silent for twenty minutes: what comes then is unknown again.
    bench.data(1203.0, host(1, 5003), host(2, 40_004), 900);
    let said = bench.finish();
    let ftp: Vec<_> = said.iter().filter(|said| said.application == Application::FTP).collect();
    assert_eq!((ftp.len(), ftp[0].bytes(), ftp[0].items.as_slice()), (1, 730, &[700][..]));
    let others = said.iter().filter(|said| said.application == Application::other(Transport::Tcp));
    assert_eq!(others.map(Conversation::bytes).collect::<Vec<_>>(), [200, 22, 900]);
}

#[test]
fn data_without_a_control_connection_opens_no_door_to_unknown_ports() {
    let mut bench = Bench::new();
    bench.data(0.0, host(2, 20), host(1, 5001), 100);
    bench.data(1.0, host(2, 40_000), host(1, 5002), 100);
    assert_eq!(bench.finish().len(), 2);
}

#[test]
fn back_to_back_and_concurrent_ftp_sessions_of_a_host_pair_are_one_conversation() {
    let mut bench = Bench::new();
    bench.data(0.0, host(1, 5000), host(2, 21), 10);
    bench.data(1.0, host(1, 5001), host(2, 21), 10);
    bench.data(1199.0, host(1, 5002), host(2, 21), 10);
    bench.data(2.0e3, host(3, 5000), host(2, 21), 10);
    bench.data(2399.0, host(1, 5003), host(2, 21), 10);
    let said = bench.finish();
    let per_pair: Vec<_> = said.iter().map(|said| (said.packets(), said.start)).collect();
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    assert_eq!(per_pair, [(3, at(0)), (1, at(2000)), (1, at(2399))]);
}

#[test]
fn a_port_used_again_by_ftp_is_another_item() {
    let (data, server) = (host(1, 5001), host(2, 20));
    let mut bench = Bench::new();
    bench.tcp(0.0, server, data, Flags::SYN, 1, 0);
    bench.tcp(0.1, server, data, PUSH, 2, 100);
    bench.tcp(5.0, server, data, Flags::SYN, 1, 0);
    // The number of the first connection's packet: not a retransmission of that one.
    bench.tcp(5.1, server, data, PUSH, 2, 300);
    assert_eq!(bench.finish()[0].items, [100, 300]);
}

#[test]
fn more_data_connections_than_are_held_are_all_items() {
    let mut bench = Bench::new();
    bench.data(0.0, host(1, 5000), host(2, 21), 10);
    for number in 0..1_000u16 {
        bench.data(1.0 + f64::from(number), host(2, 20), host(1, 6000 + number), 50 + u32::from(number));
    }
    let said = bench.finish();
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].items, (50..1050).collect::<Vec<u64>>());
}

#[test]
fn nntp_items_begin_with_250_bytes_and_end_with_push() {
    let (client, server) = (host(1, 5000), host(2, 119));
    let mut bench = Bench::new();
    let mut sequence = 1;
    // (direction, bytes, flags): handshake, an article in three packets, one in one, too small ones, one cut off.
    for (from_client, bytes, flags) in [
        (true, 249, PUSH),
        (false, 20, PUSH),
        (true, 250, Flags::ACK),
        (false, 400, PUSH),
        (true, 10, Flags::ACK),
        (true, 512, PUSH),
        (true, 600, PUSH),
        (true, 100, PUSH),
        (true, 300, Flags::ACK),
    ] {
        let (source, destination) = if from_client { (client, server) } else { (server, client) };
        bench.tcp(0.0, source, destination, flags, sequence, bytes);
        sequence += bytes;
    }
    assert_eq!(bench.finish()[0].items, [400, 772, 600, 300]);
}

#[test]
fn nntp_connections_of_a_host_pair_are_one_conversation_but_their_articles_do_not_mix() {
    let mut bench = Bench::new();
    bench.tcp(0.0, host(1, 5000), host(2, 119), Flags::ACK, 1, 500);
    bench.tcp(0.1, host(1, 5001), host(2, 119), Flags::ACK, 1, 700);
    bench.tcp(0.2, host(1, 5000), host(2, 119), PUSH, 501, 20);
    bench.tcp(0.3, host(1, 5001), host(2, 119), PUSH, 701, 30);
    // The other host feeds back: the same pair.
    bench.tcp(0.4, host(2, 5000), host(1, 119), PUSH, 1, 300);
    let said = bench.finish();
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].items, [520, 730, 300]);
    assert_eq!((said[0].client.bytes, said[0].server.bytes), (1250, 300));
}

#[test]
fn a_mail_is_one_item_of_what_the_client_sent() {
    let (client, server) = (host(1, 5000), host(2, 25));
    let mut bench = Bench::new();
    bench.data(0.0, server, client, 60);
    bench.data(0.1, client, server, 20);
    bench.data(0.2, client, server, 900);
    assert_eq!(bench.finish()[0].items, [920]);
}

#[test]
fn datagrams_have_conversations_too() {
    let (client, server) = (host(1, 40_000), host(2, 53));
    let mut bench = Bench::new();
    bench.udp(0.0, client, server, 40);
    bench.udp(0.1, server, client, 120);
    bench.udp(0.2, client, server, 0);
    // The same ports over TCP are another association.
    bench.data(0.3, client, server, 40);
    let said = bench.finish();
    assert_eq!(
        said.iter().map(|said| said.application.transport()).collect::<Vec<_>>(),
        [Transport::Udp, Transport::Tcp]
    );
    assert_eq!((said[0].client.bytes, said[0].server.bytes), (40, 120));
    assert_eq!(bench.usage(Application::of(Transport::Udp, [53, 40_000])).dropped.empty, 1);
}

#[test]
fn both_ends_on_one_host() {
    let mut bench = Bench::new();
    bench.data(0.0, host(1, 5000), host(1, 21), 10);
    bench.data(0.1, host(1, 21), host(1, 5000), 20);
    bench.data(0.2, host(1, 40_000), host(1, 5001), 30);
    let said = bench.finish();
    assert_eq!((said.len(), said[0].client.bytes, said[0].server.bytes), (1, 40, 20));
}

#[test]
fn no_more_than_the_limit_are_open() {
    let mut bench = Bench::with(Options { most_open: 100, ..Options::default() });
    for number in 0..10_000u32 {
        bench.data(f64::from(number) / 1e3, host((number % 250) as u8, (number / 5 + 1024) as u16), host(251, 80), 10);
        assert!(bench.machine.open() <= 100);
    }
    assert_eq!(bench.machine.ended_early(), 9_900);
    assert_eq!(bench.finish().len(), 10_000);
}

#[test]
fn no_more_items_than_the_limit_are_held() {
    let mut bench = Bench::with(Options { most_items: 10, ..Options::default() });
    // Three host pairs take turns with articles of one packet: the eleventh that is held ends its conversation.
    for number in 0..110u32 {
        let (client, server) = (host((number % 3) as u8, 5000), host(9, 119));
        bench.tcp(f64::from(number), client, server, PUSH, number * 300, 300);
        assert!(bench.machine.items_held <= 10);
    }
    let (early, open) = (bench.machine.ended_early(), bench.machine.open());
    assert!(early > 0 && open > 0);
    let said = bench.finish();
    assert_eq!(said.len() as u64, early + open as u64, "what was ended began again with its next article");
    assert_eq!(said.iter().map(|said| said.items.len()).sum::<usize>(), 110, "no item is lost");
    assert_eq!(bench.machine.items_held, 0);
}

#[test]
fn connections_of_host_pairs_take_no_more_memory_than_the_limit() {
    let mut bench = Bench::with(Options { most_items: 1_000, ..Options::default() });
    // A hundred host pairs with a hundred FTP connections each.
    for number in 0..10_000u32 {
        let client = host((number % 100) as u8, 5_000 + (number / 100) as u16);
        bench.tcp(f64::from(number) * 1e-3, client, host(200, 20), Flags::ACK, 1, 100);
        assert!(bench.machine.items_held <= 1_000);
    }
    assert!(bench.machine.ended_early() > 0);
    let items = bench.finish().iter().map(|said| said.items.len()).sum::<usize>();
    assert_eq!((items, bench.machine.items_held), (10_000, 0), "no item is lost");
}

#[test]
fn no_conversation_depends_on_the_secret() {
    let run = |hash_secret: u64| {
        let mut bench = Bench::with(Options { hash_secret, most_open: 50, ..Options::default() });
        for number in 0..500u16 {
            bench.data(f64::from(number), host((number % 7) as u8, 5_000 + number % 90), host(9, 80), 10);
        }
        bench.finish().to_vec()
    };
    assert_eq!(run(1), run(0xdead_beef));
}

#[test]
fn a_clock_that_jumps_ahead_for_one_packet_ends_no_other_conversation() {
    let mut bench = Bench::new();
    bench.data(0.0, host(1, 5000), host(2, 80), 10);
    bench.data(1e6, host(3, 5000), host(2, 80), 10);
    bench.data(2.0, host(1, 5000), host(2, 80), 10);
    bench.data(1.0, host(1, 5000), host(2, 80), 10);
    let said = bench.finish();
    let first = said.iter().find(|said| said.packets() == 3).unwrap();
    assert_eq!(first.duration, Duration::from_secs(2));
    let usage = bench.usage(Application::of(Transport::Tcp, [80, 5000]));
    assert_eq!(values(&usage.packet_gap_ns), [0, 2_000_000_000], "time does not run back");
}

proptest! {
    /// Whatever comes: every packet is in exactly one conversation or dropped for one reason.
    #[test]
    fn every_packet_is_accounted_for(
        packets in prop::collection::vec((0u64..4_000, 1u8..4, 0usize..6, any::<bool>(), 0u8..64, 0u32..20, 0u32..600), 1..300),
        most_open in 1usize..8,
        most_items in 0usize..8,
    ) {
        const PORTS: [(u16, u16); 6] = [(5000, 21), (5001, 20), (5002, 119), (40_000, 41_000), (5003, 23), (5000, 5000)];
        let mut bench = Bench::with(Options { most_open, most_items, ..Options::default() });
        let mut now = 0.0;
        for &(step, other, ports, forward, flags, sequence, bytes) in &packets {
            now += step as f64 / 10.0;
            let (a, b) = (host(other, PORTS[ports].0), host(4, PORTS[ports].1));
            let (source, destination) = if forward { (a, b) } else { (b, a) };
            bench.tcp(now, source, destination, flags, sequence, bytes);
        }
        let kept: u64 = bench.finish().iter().map(Conversation::packets).sum();
        let usage: Vec<Usage> = bench.machine.usage().map(|(_, usage)| usage.clone()).collect();
        let dropped: u64 = usage.iter().map(|usage| usage.dropped.total()).sum();
        prop_assert_eq!(kept + dropped, packets.len() as u64);
        prop_assert_eq!(usage.iter().map(|usage| usage.packets).sum::<u64>(), packets.len() as u64);
        prop_assert_eq!(usage.iter().map(|usage| usage.packet_bytes.count()).sum::<u64>(), kept);
        prop_assert_eq!(usage.iter().map(|usage| usage.conversations).sum::<u64>(), bench.said.len() as u64);
        for usage in &usage {
            prop_assert_eq!(usage.interarrival_ns().count(), usage.conversations.saturating_sub(1));
            prop_assert_eq!(usage.packet_gap_ns.count() + usage.conversations, usage.packet_bytes.count());
        }
        prop_assert_eq!((bench.machine.open(), bench.machine.items_held), (0, 0));
    }
}
