//! Flow records merged to connections, each rule by its truth.

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Close, ConnectionVector, Evidence, Host, InitiatorRule, Protocol, Side};
use flowloom_store::flows::{FlowError, FlowErrorKind, MergeFacts, MergeOptions, Vectors};
use flowloom_testkit::flows::*;
use proptest::prelude::*;

const CLIENT: (u8, u16) = (1, 40_000);
const SERVER: (u8, u16) = (2, 443);

/// The vectors of flows exported in one message, a second after the last of them ended.
fn of(flows: &[Flow]) -> (Vec<ConnectionVector>, MergeFacts) {
    let end = flows.iter().map(|flow| flow.last_ms).max().unwrap_or_default();
    let message = ipfix(end as u64 / 1_000 + 1, 0, 7, &[flow_template(), data(flows)]);
    merge(&[message], MergeOptions::default()).expect("the message is sound")
}

fn bytes(vector: &ConnectionVector) -> [u64; 2] {
    [vector.bytes(Side::Initiator), vector.bytes(Side::Acceptor)]
}

#[test]
fn two_halves_are_one_connection() {
    let request = tcp(CLIENT, SERVER, 40 * 5 + 700, 5, (0, 90));
    let response = tcp(SERVER, CLIENT, 40 * 12 + 14_000, 12, (20, 110));
    for flows in [[request, response], [response, request]] {
        let (vectors, facts) = of(&flows);
        let [vector] = &vectors[..] else { panic!("{vectors:?}") };
        assert_eq!(bytes(vector), [700, 14_000]);
        assert_eq!((vector.evidence, vector.protocol), (Evidence::FlowRecord, Protocol::Tcp));
        assert_eq!(vector.initiator_rule, InitiatorRule::FirstPacket);
        assert_eq!(vector.lifetime, Some(Duration::from_millis(110)));
        assert_eq!((vector.ends.initiator.packets, vector.ends.acceptor.packets), (Some(5), Some(12)));
        assert_eq!(vector.ends.acceptor.ip_bytes, Some(40 * 12 + 14_000));
        assert_eq!((vector.ends.initiator.port, vector.ends.acceptor.port), (None, Some(443)));
        assert!(vector.complete, "SYN and FIN are in the unions of flags");
        // Nothing is invented.
        assert_eq!((vector.close, vector.t_close), (Close::NotSeen, None), "both sent a FIN: the order is not told");
        assert!(vector.adus.iter().all(|adu| adu.wait.is_none() && adu.seen.is_none() && adu.packets.is_none()));
        assert_eq!((vector.min_rtt(), vector.syn_rtt), (None, None));
        for side in Side::BOTH {
            let end = &vector.ends[side];
            assert!(end.segments.is_none() && end.max_window.is_none() && end.host.is_none());
            assert!(!end.syn_seen, "a union of flags is not a SYN seen");
        }
        assert_eq!((facts.vectors, facts.estimated_payload, facts.initiator_first), (1, 1, 1));
    }
}

#[test]
fn of_equal_starts_the_larger_port_is_the_initiator() {
    let (vectors, facts) = of(&[tcp(SERVER, CLIENT, 3_000, 10, (5, 90)), tcp(CLIENT, SERVER, 2_000, 10, (5, 90))]);
    assert_eq!(vectors[0].initiator_rule, InitiatorRule::Port);
    assert_eq!(bytes(&vectors[0]), [1_600, 2_600]);
    assert_eq!(facts.initiator_port, 1);
}

#[test]
fn hosts_are_kept_only_when_asked_for() {
    let flows = [tcp(CLIENT, SERVER, 900, 5, (0, 90)), tcp(SERVER, CLIENT, 14_480, 12, (20, 110))];
    let message = ipfix(1, 0, 7, &[flow_template(), data(&flows)]);
    let options = MergeOptions { keep_hosts: true, ..MergeOptions::default() };
    let (vectors, _) = merge(&[message], options).expect("the message is sound");
    let address = |last: u8| Some(Host::Address(std::net::Ipv4Addr::new(10, 0, 0, last).into()));
    assert_eq!((vectors[0].ends.initiator.host, vectors[0].ends.initiator.port), (address(1), Some(40_000)));
    assert_eq!((vectors[0].ends.acceptor.host, vectors[0].ends.acceptor.port), (address(2), Some(443)));
}

/// As a router exports what comes in on one interface: the server's half alone.
#[test]
fn one_direction_is_kept_if_asked_for() {
    let half = Flow { flags: SYN | FIN | ACK, ..tcp(SERVER, CLIENT, 14_480, 12, (20, 110)) };
    let acknowledging = tcp((3, 40_000), SERVER, 52 * 9 + 20, 9, (500, 900));
    let message = v5(1, 0, 0, &[half, acknowledging]);
    assert_eq!(merge(std::slice::from_ref(&message), MergeOptions::default()).expect("sound").0, []);
    let options = MergeOptions { keep_hosts: true, keep_one_way: true, ..MergeOptions::default() };
    let (vectors, facts) = merge(&[message], options).expect("sound");
    let [vector] = &vectors[..] else { panic!("{vectors:?}") };
    assert_eq!(bytes(vector), [0, 14_000], "the smaller port is the server's");
    assert_eq!((vector.ends.initiator.packets, vector.ends.acceptor.packets), (None, Some(12)));
    assert_eq!((vector.complete, vector.lifetime), (true, Some(Duration::from_millis(90))));
    let address = Host::Address(std::net::Ipv4Addr::new(10, 0, 0, 1).into());
    assert_eq!(vector.ends.initiator.host, Some(address));
    assert_eq!((facts.connections, facts.vectors, facts.one_way, facts.no_data), (2, 1, 0, 1));
}

/// A download of an hour that the exporter cuts every 30 minutes, and its acknowledgements.
fn sliced(reasons: [u8; 2]) -> Vec<Vec<u8>> {
    const HALF_HOUR: i64 = 1_800_000;
    let slice = |flags, first, last, reason| {
        let down = Flow { flags, reason, ..tcp(SERVER, CLIENT, 1_040_000, 1_000, (first, last)) };
        let up = Flow { flags, reason, ..tcp(CLIENT, SERVER, 20_000, 500, (first - 5, last)) };
        [up, down]
    };
    let begin = slice(SYN | ACK, 10, HALF_HOUR, reasons[0]);
    let end = slice(FIN | ACK, HALF_HOUR + 300, 2 * HALF_HOUR, reasons[1]);
    vec![
        ipfix(1_800, 0, 7, &[flow_template(), data(&begin)]),
        // An unrelated flow moves the exporter's clock on.
        ipfix(2_700, 2, 7, &[data(&[tcp((3, 1_000), (4, 80), 500, 5, (2_690_000, 2_690_100))])]),
        ipfix(3_600, 3, 7, &[data(&end)]),
    ]
}

#[test]
fn slices_of_the_active_timeout_are_joined() {
    for reasons in [[2, 3], [0, 0]] {
        let (vectors, facts) = merge(&sliced(reasons), MergeOptions::default()).expect("sound");
        let [vector] = &vectors[..] else { panic!("{vectors:?}") };
        assert_eq!(bytes(vector), [0, 2_000_000], "the initiator only acknowledged");
        assert_eq!((facts.slices, facts.one_way, facts.connections), (2, 1, 2));
        assert!(vector.complete);
    }
}

#[test]
fn a_new_syn_is_a_new_connection() {
    let pair = |first| {
        [tcp(CLIENT, SERVER, 900, 5, (first, first + 90)), tcp(SERVER, CLIENT, 2_480, 12, (first + 9, first + 90))]
    };
    let (vectors, facts) = of(&[pair(0), pair(5_000)].concat());
    assert_eq!(vectors.len(), 2);
    assert_eq!(vectors.iter().map(bytes).collect::<Vec<_>>(), [[700, 2_000]; 2]);
    assert_eq!(vectors[1].start, Time::ZERO + Duration::from_secs(5));
    assert_eq!(facts.slices, 0);
}

#[test]
fn silence_beyond_the_idle_timeout_separates() {
    let pair = |first: i64| {
        [(CLIENT, SERVER), (SERVER, CLIENT)].map(|(from, to)| Flow {
            flags: ACK,
            reason: 2,
            ..tcp(from, to, 900, 5, (first, first + 90))
        })
    };
    assert_eq!(of(&[pair(0), pair(60_000)].concat()).0.len(), 1);
    assert_eq!(of(&[pair(0), pair(60_091)].concat()).0.len(), 2);
}

#[test]
fn what_two_exporters_saw_counts_once() {
    let flows = [tcp(CLIENT, SERVER, 900, 5, (0, 90)), tcp(SERVER, CLIENT, 14_480, 12, (20, 110))];
    // The second exporter's clock is 3 ms behind.
    let other = flows.map(|flow| Flow { first_ms: flow.first_ms + 3, last_ms: flow.last_ms + 3, ..flow });
    let messages = [ipfix(1, 0, 7, &[flow_template(), data(&flows)]), ipfix(1, 0, 8, &[flow_template(), data(&other)])];
    let (vectors, facts) = merge(&messages, MergeOptions::default()).expect("sound");
    assert_eq!(vectors.iter().map(bytes).collect::<Vec<_>>(), [[700, 14_000]]);
    assert_eq!(facts.duplicates, 2);
    // The same where one exporter meters what enters and what leaves.
    let leaving = flows.map(|flow| Flow { direction: 1, ..flow });
    let (vectors, facts) = of(&[flows, leaving].concat());
    assert_eq!(vectors.iter().map(bytes).collect::<Vec<_>>(), [[700, 14_000]]);
    assert_eq!(facts.duplicates, 2);
}

#[test]
fn a_message_that_came_twice_counts_once() {
    let flows = [tcp(CLIENT, SERVER, 900, 5, (0, 90)), tcp(SERVER, CLIENT, 14_480, 12, (20, 110))];
    let message = ipfix(1, 0, 7, &[flow_template(), data(&flows)]);
    let (vectors, facts) = merge(&[message.clone(), message], MergeOptions::default()).expect("sound");
    // The files are different observation points, which makes them double reports as well.
    assert_eq!(vectors.iter().map(bytes).collect::<Vec<_>>(), [[700, 14_000]]);
    assert_eq!(facts.duplicates, 2);
    let (vectors, facts) = of(&[flows, flows].concat());
    assert_eq!(vectors.iter().map(bytes).collect::<Vec<_>>(), [[700, 14_000]]);
    assert_eq!((facts.duplicates, facts.slices), (2, 0));
}

#[test]
fn a_path_that_changes_is_no_double_report() {
    let half = |first, reason| {
        [(CLIENT, SERVER), (SERVER, CLIENT)].map(|(from, to)| Flow {
            flags: ACK,
            reason,
            ..tcp(from, to, 1_900, 10, (first, first + 1_000))
        })
    };
    let messages = [
        ipfix(2, 0, 7, &[flow_template(), data(&half(0, 1))]),
        ipfix(4, 0, 8, &[flow_template(), data(&half(2_000, 1))]),
    ];
    let (vectors, facts) = merge(&messages, MergeOptions::default()).expect("sound");
    assert_eq!(vectors.iter().map(bytes).collect::<Vec<_>>(), [[3_000, 3_000]]);
    assert_eq!(facts.duplicates, 0);
}

#[test]
fn sampling_is_undone_up_to_a_limit() {
    let flows = [tcp(CLIENT, SERVER, 90, 1, (0, 90)), tcp(SERVER, CLIENT, 1_440, 1, (20, 110))];
    let message = |sampling| v5(1, 0, sampling, &flows);
    let (vectors, facts) = merge(&[message(10)], MergeOptions::default()).expect("sound");
    assert_eq!(bytes(&vectors[0]), [500, 14_000], "10 times 50 and 1,400 bytes");
    assert_eq!(vectors[0].ends.acceptor.packets, Some(10));
    assert_eq!(facts.scaled, 1);
    // The mode bits above the interval do not count.
    assert_eq!(merge(&[message(0x4000 | 10)], MergeOptions::default()).expect("sound").0, vectors);
    let error = merge(&[message(1_000)], MergeOptions::default()).expect_err("too small a share");
    assert!(
        matches!(&error, FlowError::Messages { kind: FlowErrorKind::Sampled { interval: 1_000, most: 100 }, .. }),
        "{error}"
    );
    assert!(
        error.to_string().starts_with("file0: message 1: its records were made from one packet in 1000"),
        "{error}"
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("--allow-sampled")));
    let reader = reader(&[message(1_000)]).expect("the message is sound");
    assert_eq!(Vectors::new(reader, MergeOptions::default()).count(), 1, "nothing comes after the error");
    let allowed = MergeOptions { allow_sampled: true, ..MergeOptions::default() };
    let (vectors, _) = merge(&[message(1_000)], allowed).expect("asked for");
    assert_eq!(bytes(&vectors[0]), [50_000, 1_400_000]);
}

#[test]
fn options_tell_how_samplers_sample() {
    // Records name sampler 4 (48); an options template tells that it takes 2 packets and leaves out 18 (305, 306).
    let fields =
        [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (1, 4), (2, 4), (48, 1)].map(|(id, length)| (id, length, None));
    let record = |from: (u8, u16), to: (u8, u16), octets: u32, packets: u32| {
        let mut record = vec![10, 0, 0, from.0, 10, 0, 0, to.0];
        record.extend(from.1.to_be_bytes());
        record.extend(to.1.to_be_bytes());
        record.push(6);
        record.extend(octets.to_be_bytes());
        record.extend(packets.to_be_bytes());
        record.push(4);
        record
    };
    let records = set(300, &[record(CLIENT, SERVER, 940, 1), record(SERVER, CLIENT, 1_440, 1)].concat());
    let flows = ipfix(1, 0, 7, &[set(2, &template(300, &fields)), records]);
    let error = merge(std::slice::from_ref(&flows), MergeOptions::default()).expect_err("nobody tells of sampler 4");
    assert!(matches!(error, FlowError::Messages { kind: FlowErrorKind::UnknownSampling, .. }), "{error}");
    let sampler = [(48, 1, None), (305, 4, None), (306, 4, None)];
    let told = ipfix(1, 0, 7, &[set(3, &options_template(301, 1, &sampler)), set(301, &[4, 0, 0, 0, 2, 0, 0, 0, 18])]);
    let (vectors, facts) = merge(&[told, flows.clone()], MergeOptions::default()).expect("now it is known");
    assert_eq!(bytes(&vectors[0]), [9_000, 14_000], "10 times 900 and 1,400 bytes");
    assert_eq!(facts.scaled, 1);
    // A sampler of another domain is another.
    let elsewhere =
        ipfix(1, 0, 8, &[set(3, &options_template(301, 1, &sampler)), set(301, &[4, 0, 0, 0, 2, 0, 0, 0, 18])]);
    assert!(merge(&[elsewhere, flows], MergeOptions::default()).is_err());
}

#[test]
fn v9_options_tell_how_an_interface_is_sampled() {
    // RFC 3954 section 6.1: scope 2 is an interface; lengths are in bytes. 34 is the interval, 10 a record's input interface.
    let options = |interval: u8| {
        let template = [1, 45, 0, 4, 0, 4, 0, 2, 0, 4, 0, 34, 0, 4];
        v9(1, 1_000, 0, 0, &[set(1, &template), set(301, &[0, 0, 0, 3, 0, 0, 0, interval])])
    };
    let fields = [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (1, 4), (2, 4), (10, 2)];
    let record = |hosts: [u8; 2], ports: [u16; 2], octets: u32, interface: u16| {
        let mut record = vec![10, 0, 0, hosts[0], 10, 0, 0, hosts[1]];
        record.extend([ports[0].to_be_bytes(), ports[1].to_be_bytes()].concat());
        record.push(6);
        record.extend([octets.to_be_bytes(), 1u32.to_be_bytes()].concat());
        record.extend(interface.to_be_bytes());
        record
    };
    let records = [record([1, 2], [40_000, 443], 940, 3), record([2, 1], [443, 40_000], 1_440, 4)].concat();
    let fields = fields.map(|(id, length)| (id, length, None));
    let flows = v9(1, 1_000, 1, 0, &[set(0, &template(300, &fields)), set(300, &records)]);
    let (vectors, facts) = merge(&[[options(20), flows.clone()].concat()], MergeOptions::default()).expect("sound");
    assert_eq!(bytes(&vectors[0]), [18_000, 1_400], "what came in at interface 3 was sampled, 1 in 20");
    assert_eq!(facts.scaled, 1);
    let error = merge(&[[options(200), flows].concat()], MergeOptions::default()).expect_err("too small a share");
    assert!(matches!(error, FlowError::Messages { kind: FlowErrorKind::Sampled { interval: 200, .. }, .. }), "{error}");
}

#[test]
fn headers_are_those_of_the_protocol() {
    let udp = |from, to, octets| Flow { protocol: 17, flags: 0, ..tcp(from, to, octets, 1, (0, 1)) };
    let (vectors, _) = of(&[udp(CLIENT, (2, 53), 68), udp((2, 53), CLIENT, 128)]);
    assert_eq!(bytes(&vectors[0]), [40, 100], "28 bytes of IPv4 and UDP");
    assert_eq!(vectors[0].protocol, Protocol::Udp);
    assert_eq!(vectors[0].adus[0].packets, Some(1));
    assert!(!vectors[0].complete);
    // IPv6: 60 bytes for TCP, 48 for UDP.
    let fields = [(27, 16), (28, 16), (7, 2), (11, 2), (4, 1), (1, 4), (2, 4)].map(|(id, length)| (id, length, None));
    for (protocol, headers) in [(6, 60), (17, 48)] {
        let record = |from: u8, to: u8, ports: [u16; 2], octets: u32| {
            let address = |last| [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[last]].concat();
            let mut record = [address(from), address(to)].concat();
            ports.into_iter().for_each(|port| record.extend(port.to_be_bytes()));
            record.push(protocol);
            record.extend(octets.to_be_bytes());
            record.extend(10u32.to_be_bytes());
            record
        };
        let records = [record(1, 2, [5_000, 80], 10 * headers + 500), record(2, 1, [80, 5_000], 10 * headers + 900)];
        let message = ipfix(1, 0, 7, &[set(2, &template(300, &fields)), set(300, &records.concat())]);
        let (vectors, _) = merge(&[message], MergeOptions::default()).expect("sound");
        assert_eq!(bytes(&vectors[0]), [500, 900]);
    }
}

#[test]
fn what_is_no_vector_is_counted_by_its_reason() {
    let (vectors, facts) = of(&[
        // Nobody answered.
        Flow { flags: SYN, ..tcp((1, 1_000), (2, 80), 60, 1, (0, 0)) },
        // A refusal.
        Flow { flags: SYN, ..tcp((1, 1_001), (2, 80), 60, 1, (0, 0)) },
        Flow { flags: RST | ACK, ..tcp((2, 80), (1, 1_001), 40, 1, (1, 1)) },
        // ICMP.
        Flow { protocol: 1, ..tcp((1, 0), (2, 2_048), 84, 1, (0, 0)) },
    ]);
    assert_eq!(vectors, []);
    assert_eq!((facts.connections, facts.one_way, facts.no_data, facts.other_protocols), (2, 1, 1, 1));
}

#[test]
fn acknowledgements_with_time_stamps_are_no_data() {
    let packets = 350;
    let (vectors, facts) =
        of(&[tcp(CLIENT, SERVER, 52 * packets + 20, packets, (0, 900)), tcp(SERVER, CLIENT, 1_000_000, 700, (1, 900))]);
    assert_eq!(bytes(&vectors[0]), [0, 972_000]);
    assert_eq!(facts.acknowledgements_only, 1);
}

#[test]
fn firewalls_count_payload_and_name_the_initiator() {
    // Cisco ASA: 5-tuple, event (233), start (152), observed at (323), initiator's and responder's octets (231, 232).
    let fields = [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (233, 1), (152, 8), (323, 8), (231, 4), (232, 4)]
        .map(|(id, length)| (id, length, None));
    let record = |event: u8, at_ms: u64, octets: [u32; 2]| {
        let mut record = vec![10, 0, 0, 2, 10, 0, 0, 1];
        record.extend(443u16.to_be_bytes());
        record.extend(40_000u16.to_be_bytes());
        record.extend([6, event]);
        record.extend((NOON * 1_000).to_be_bytes());
        record.extend((NOON * 1_000 + at_ms).to_be_bytes());
        octets.into_iter().for_each(|octets| record.extend(octets.to_be_bytes()));
        record
    };
    let (created, updated, deleted, denied) = (1, 5, 2, 3);
    let records = [
        record(created, 0, [0, 0]),
        record(updated, 30, [81, 6_207]),
        record(deleted, 30, [81, 6_207]),
        record(denied, 50, [0, 0]),
    ];
    let message = v9(1, 1_000, 0, 0, &[set(0, &template(300, &fields)), set(300, &records.concat())]);
    let (vectors, facts) = merge(&[message], MergeOptions::default()).expect("sound");
    let [vector] = &vectors[..] else { panic!("{vectors:?}") };
    assert_eq!(bytes(vector), [81, 6_207], "the update and the end say the same");
    assert_eq!(vector.initiator_rule, InitiatorRule::Syn, "named by the exporter, against start and port");
    assert_eq!(vector.ends.acceptor.port, Some(40_000));
    assert_eq!(vector.ends.initiator.packets, None, "they are not counted");
    assert_eq!((facts.denied, facts.duplicates, facts.estimated_payload), (1, 1, 0));
}

#[test]
fn a_record_of_both_directions_is_a_connection() {
    // RFC 5103: reverse octets and packets have enterprise number 29305.
    let fields = [
        (8, 4, None),
        (12, 4, None),
        (7, 2, None),
        (11, 2, None),
        (4, 1, None),
        (85, 4, None),
        (86, 4, None),
        (85, 4, Some(29_305)),
        (86, 4, Some(29_305)),
        (152, 8, None),
        (153, 8, None),
    ];
    let record = |octets: [u32; 2], end_ms: u64| {
        let mut record = vec![10, 0, 0, 1, 10, 0, 0, 2];
        record.extend([0x9c, 0x40, 1, 0xbb, 6]);
        for octets in octets {
            record.extend(octets.to_be_bytes());
            record.extend(10u32.to_be_bytes());
        }
        record.extend((NOON * 1_000).to_be_bytes());
        record.extend((NOON * 1_000 + end_ms).to_be_bytes());
        record
    };
    // Totals since the start of the flow: the second record replaces the first.
    let records = [record([900, 1_400], 500), record([1_900, 9_400], 900)];
    let message = ipfix(1, 0, 7, &[set(2, &template(300, &fields)), set(300, &records.concat())]);
    let (vectors, facts) = merge(&[message], MergeOptions::default()).expect("sound");
    assert_eq!(vectors.iter().map(bytes).collect::<Vec<_>>(), [[1_500, 9_000]]);
    assert_eq!(facts.slices, 1);
}

/// `count` connections, a second apart, in both directions.
fn many(count: u16) -> Vec<Vec<u8>> {
    let mut messages = vec![ipfix(0, 0, 7, &[flow_template()])];
    for number in 0..count {
        let first = i64::from(number) * 1_000;
        let flows = [
            tcp((1, 1_024 + number), SERVER, 900, 5, (first, first + 90)),
            tcp(SERVER, (1, 1_024 + number), 2_480, 12, (first + 9, first + 90)),
        ];
        messages.push(ipfix(u64::from(number) + 1, 0, 7, &[data(&flows)]));
    }
    messages
}

#[test]
fn memory_is_bounded_and_says_so() {
    let options = MergeOptions { most_connections: 64, ..MergeOptions::default() };
    let (vectors, facts) = merge(&many(2_000), options).expect("sound");
    assert_eq!(vectors.len(), 2_000, "all are there");
    assert!(facts.early > 0, "{facts:?}");
    assert!(vectors.is_sorted_by_key(|vector| (vector.start, vector.id)));
    let (unbounded, facts) = merge(&many(2_000), MergeOptions::default()).expect("sound");
    assert_eq!(facts.early, 0);
    assert_eq!(vectors, unbounded, "these connections were over in time");
}

proptest! {
    /// Whatever the order of records in a message: the same connections, and every byte once.
    #[test]
    fn the_order_of_records_does_not_matter(
        starts in prop::collection::vec((0..20_000i64, 100..5_000u64, 100..5_000u64), 1..30),
        keys in prop::collection::vec(any::<u32>(), 60),
    ) {
        let mut flows = Vec::new();
        for (number, (first, up, down)) in (0u16..).zip(&starts) {
            let client = (1, 2_000 + number);
            flows.push(tcp(client, SERVER, 400 + up, 10, (*first, first + 500)));
            flows.push(tcp(SERVER, client, 400 + down, 10, (first + 7, first + 500)));
        }
        let (straight, _) = of(&flows);
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.sort_by_key(|at| keys[*at]);
        let shuffled: Vec<Flow> = order.into_iter().map(|at| flows[at]).collect();
        let (mixed, facts) = of(&shuffled);
        let contents = |vectors: &[ConnectionVector]| {
            let mut contents: Vec<_> = vectors.iter().map(|vector| (vector.start, bytes(vector))).collect();
            contents.sort_unstable();
            contents
        };
        prop_assert_eq!(contents(&straight), contents(&mixed));
        prop_assert_eq!(facts.connections, starts.len() as u64);
    }
}
