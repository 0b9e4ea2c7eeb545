//! Export messages that are wrong: each gives a count or an error with its place, none a panic, a loop or a full memory.

use std::fs;
use std::path::PathBuf;

use flowloom_core::time::Time;
use flowloom_needs::{Need, shared, skip};
use flowloom_store::capture::Input;
use flowloom_store::capture::Truncation;
use flowloom_store::flows::{
    Clock, FlowError, FlowErrorKind, Kind, Options, Reader, Sampling, Version, decode, detect,
};
use flowloom_testkit::flows::*;
use proptest::prelude::*;

const FLOWS: [Flow; 2] = [
    Flow {
        source: (1, 40_000),
        destination: (2, 443),
        protocol: 6,
        flags: 0x1b,
        octets: 900,
        packets: 5,
        first_ms: 0,
        last_ms: 90,
        reason: 3,
        direction: 0,
    },
    Flow {
        source: (2, 443),
        destination: (1, 40_000),
        protocol: 6,
        flags: 0x1b,
        octets: 14_480,
        packets: 12,
        first_ms: 20,
        last_ms: 110,
        reason: 3,
        direction: 0,
    },
];

fn good(sequence: u32) -> Vec<u8> {
    ipfix(1, sequence, 7, &[flow_template(), data(&FLOWS)])
}

/// What [`decode`] says of a file: records, and what was noted or why it stopped.
fn said(file: &[u8]) -> (usize, Vec<String>) {
    let (records, facts, error) = decode(file);
    let noted = facts
        .problems
        .iter()
        .map(|problem| format!("message {} at byte {}: {}", problem.message, problem.offset, problem.text));
    (records.len(), noted.chain(error.map(|error| error.to_string())).collect())
}

#[test]
fn a_wrong_set_of_ipfix_costs_its_message_no_other() {
    let cases: [(Vec<u8>, &str); 7] = [
        (vec![1, 0, 0, 0], "set 256 has a length of 0, which is less than its header (4)"),
        (vec![1, 0, 0, 3], "set 256 has a length of 3, which is less than its header (4)"),
        (vec![1, 0, 1, 0, 7], "set 256 claims 256 bytes, and its message has 5 left"),
        (set(2, &[1, 44, 0, 3, 0, 8, 0, 4]), "template 300 claims 3 fields, and its set ends before the last"),
        (
            set(2, &[1, 44, 0xff, 0xff, 0, 8, 0, 4]),
            "template 300 claims 65535 fields, and its set ends before the last",
        ),
        (set(2, &template(200, &[(8, 4, None)])), "template number 200 is below 256"),
        (set(3, &options_template(300, 9, &[(34, 4, None)])), "options template 300: 9 of its 1 fields are its scope"),
    ];
    for (wrong, text) in cases {
        let file = [ipfix(0, 0, 7, &[wrong]), good(0)].concat();
        assert_eq!(said(&file), (2, vec![format!("message 1 at byte 16: {text}")]));
    }
}

#[test]
fn a_template_of_nothing_is_refused() {
    let fields = vec![(8, 0, None); 2_000];
    let nothing = [set(2, &template(300, &fields)), set(300, &[0; 1_000])];
    let (records, facts, error) = decode(&[ipfix(0, 0, 7, &nothing), good(0)].concat());
    assert!(error.is_none());
    assert_eq!((records.len(), facts.templates_refused, facts.sets_without_template), (2, 1, 1));
    assert_eq!(facts.problems[0].text, "the records of template 300 would have no bytes");
}

#[test]
fn empty_fields_inside_a_template_cost_nothing() {
    // Cisco's ASA sends them. 12,000 of them, and one byte a record: 60,000 records in a set.
    let mut fields = vec![(8, 0, None); 12_000];
    fields.push((4, 1, None));
    let sets = [set(2, &template(300, &fields))];
    let file = [ipfix(0, 0, 7, &sets), ipfix(0, 0, 7, &[set(300, &[6; 60_000])])].concat();
    let (_, facts, error) = decode(&file);
    assert!(error.is_none());
    assert_eq!(facts.other_records, 60_000);
}

#[test]
fn a_string_that_goes_beyond_its_set_is_noted() {
    let fields = [(8, 4, None), (12, 4, None), (82, 65_535, None)];
    let records = [&[10, 0, 0, 1, 10, 0, 0, 2, 2, b'h', b'i'][..], &[10, 0, 0, 1, 10, 0, 0, 2, 255, 0xff, 0xff, 0]];
    let file = ipfix(0, 0, 7, &[set(2, &template(300, &fields)), set(300, &records.concat())]);
    let at = 16 + set(2, &template(300, &fields)).len() + 4 + 11;
    let text = format!("message 1 at byte {at}: a value of variable length ends beyond its set");
    assert_eq!(said(&file), (1, vec![text]));
}

#[test]
fn v9_files_cannot_be_read_on_after_a_wrong_set() {
    for length in 0..4u8 {
        let file = [v9(0, 0, 0, 0, &[set(300, &[1; 8])]), v9(0, 0, 1, 0, &[vec![1, 0, 0, length, 9]])].concat();
        let text =
            format!("bytes: message 2 at byte 54: set 256 has a length of {length}, which is less than its header (4)");
        assert_eq!(said(&file), (0, vec![text]));
    }
}

#[test]
fn v9_options_templates_must_hold_whole_fields() {
    let file = v9(0, 0, 0, 0, &[set(1, &[1, 44, 0, 3, 0, 4, 0, 1, 0, 4, 0, 34, 0, 4])]);
    let text = "message 1 at byte 20: options template 300: its 3 and 4 bytes are not whole fields";
    assert_eq!(said(&file), (0, vec![text.to_string()]));
}

#[test]
fn versions_and_lengths_that_cannot_be() {
    let cases = [
        (vec![], "bytes: the file is empty"),
        (b"PAR1PAR1".to_vec(), "bytes: neither NetFlow nor IPFIX: it begins with the bytes 50 41 52 31 50 41 52 31"),
        (vec![0, 7, 0, 1, 0, 0], "bytes: neither NetFlow nor IPFIX: if it is NetFlow, it is v7"),
        (vec![0, 10, 0, 3], "bytes: message 1 at byte 2: an IPFIX message of 3 bytes is shorter than its header (16)"),
        (
            vec![0, 5, 0xd9, 0x1e],
            "bytes: message 1 at byte 2: a NetFlow v5 header claims 55582 records; no datagram holds more than 1364",
        ),
        (
            vec![0, 5, 0, 30, 1, 2, 3],
            "bytes: message 1 at byte 0: the file ends 1457 bytes before the end of a NetFlow v5 message of at least 1464",
        ),
    ];
    for (file, text) in cases {
        let (_, _, error) = decode(&file);
        let error = error.expect("it cannot be read");
        assert_eq!(error.to_string(), text);
        assert!(error.hint().is_some(), "{text}");
    }
    let file = [good(0), vec![0, 7, 0, 1]].concat();
    let at = good(0).len();
    assert_eq!(said(&file), (2, vec![format!("bytes: message 2 at byte {at}: NetFlow v7 is not read")]));
}

#[test]
fn files_of_collectors_are_refused_by_name() {
    for (magic, name, hint) in [
        (vec![0xa5, 0x0c, 0x02, 0x00, 0, 0, 0, 0], "an nfcapd file of nfdump is not read", "nfdump -r FILE -o csv"),
        (vec![0xa5, 0x0c, 0x01, 0x00, 0, 0, 0, 0], "an nfcapd file of nfdump is not read", "nfreplay"),
        (vec![0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0], "a SiLK file is not read", "rwsilk2ipfix"),
        (vec![0xcf, 0x10, 0x01, 0x00, 0, 0, 0, 0], "a flow-tools file is not read", "flow-send"),
    ] {
        let (_, _, error) = decode(&magic);
        let error = error.expect("it is not read");
        assert_eq!(error.to_string(), format!("bytes: {name}"));
        assert!(error.hint().is_some_and(|text| text.contains(hint)));
        assert_eq!(detect(&magic), None);
    }
}

#[test]
fn a_file_cut_off_says_so_or_ends_there() {
    let file = [good(0), good(2)].concat();
    let cut = &file[..file.len() - 5];
    let (records, text) = said(cut);
    let at = good(0).len();
    assert_eq!(records, 2);
    assert!(
        text[0].starts_with(&format!("bytes: message 2 at byte {at}: the file ends 5 bytes before the end")),
        "{text:?}"
    );
    let reader = || Box::new(std::io::Cursor::new(cut.to_vec()));
    let options = Options { truncation: Truncation::Allow, sha256: true };
    let mut reader = Reader::from_readers(vec![("cut".to_string(), reader())], options).expect("it opens");
    let mut records = 0;
    while reader.next_record().expect("it ends in order").is_some() {
        records += 1;
    }
    assert_eq!(records, 2);
    assert!(reader.facts().inputs[0].truncated);
    assert_eq!(reader.facts().inputs[0].sha256.as_ref().map(String::len), Some(64));
}

#[test]
fn data_wait_for_their_template() {
    let message = |sets: &[Vec<u8>]| ipfix(1, 0, 7, sets);
    let file = [message(&[data(&FLOWS)]), message(&[data(&FLOWS)]), message(&[flow_template()])].concat();
    let (records, facts, error) = decode(&file);
    assert!(error.is_none());
    assert_eq!((records.len(), facts.late_sets, facts.sets_without_template), (4, 2, 0));
    assert_eq!(records[0].first, Time::from_nanos(NOON * 1_000_000_000));
    // A template of another domain does not help them.
    let file = [message(&[data(&FLOWS)]), ipfix(1, 0, 8, &[flow_template()])].concat();
    let (records, facts, _) = decode(&file);
    let body = data(&FLOWS).len() as u64 - 4;
    assert_eq!(
        (records.len(), facts.late_sets, facts.sets_without_template, facts.bytes_without_template),
        (0, 0, 1, body)
    );
}

#[test]
fn what_waits_is_bounded() {
    // 640 messages of 64 kB of data that never get their template: 40 MB.
    let message = ipfix(1, 0, 7, &[set(999, &[0; 65_000])]);
    let (_, facts, error) = decode(&message.repeat(640));
    assert!(error.is_none());
    assert_eq!((facts.sets_without_template, facts.bytes_without_template), (640, 640 * 65_000));
}

#[test]
fn a_template_may_change_and_go() {
    let other = set(2, &template(256, &[(27, 16, None), (28, 16, None), (1, 4, None)]));
    let v6 = set(256, &[[0x20; 32].as_slice(), &[0, 0, 1, 0]].concat());
    let withdrawal = set(2, &[1, 0, 0, 0]);
    let file = [
        good(0),
        ipfix(1, 2, 7, &[other, v6]),
        ipfix(1, 3, 7, &[withdrawal, data(&FLOWS)]),
        good(3),
        ipfix(1, 5, 7, &[set(2, &[0, 2, 0, 0]), data(&FLOWS)]),
    ]
    .concat();
    let (records, facts, error) = decode(&file);
    assert!(error.is_none());
    // The set of the third message waits until the fourth defines its template again.
    assert_eq!((records.len(), facts.late_sets, facts.sets_without_template), (7, 1, 1));
    assert_eq!((facts.templates_redefined, facts.templates_withdrawn), (1, 2));
    assert_eq!(records[2].forward.octets, Some(256));
}

#[test]
fn withdrawals_and_zeros_cost_what_their_bytes_cost() {
    // Every number has a template. A look at all of them for each withdrawal would take minutes.
    let numbers: Vec<u16> = (256..=u16::MAX).collect();
    let defined = |numbers: &[u16]| {
        let templates = numbers.iter().flat_map(|id| template(*id, &[(8, 4, None)])).collect::<Vec<u8>>();
        ipfix(0, 0, 7, &[set(2, &templates)])
    };
    let mut file: Vec<u8> = numbers.chunks(6_000).flat_map(defined).collect();
    for withdrawal in [[1, 0, 0, 0], [0, 3, 0, 0]] {
        file.extend(ipfix(0, 0, 7, &[set(2, &withdrawal.repeat(16_000))]).repeat(20));
    }
    file.extend(ipfix(0, 0, 7, &[set(2, &[0, 2, 0, 0])]));
    let (_, facts, error) = decode(&file);
    assert!(error.is_none());
    assert_eq!((facts.templates, facts.templates_withdrawn, facts.malformed), (65_280, 65_280, 0));
    // Zeros are padding up to the end of a set, and nothing else.
    let zeros = [vec![0; 60_000], vec![1, 0, 0, 1]].concat();
    let text = "message 1 at byte 16: template number 0 is below 256";
    assert_eq!(said(&[ipfix(0, 0, 7, &[set(2, &zeros)]), good(0)].concat()), (2, vec![text.to_owned()]));
}

#[test]
fn uptimes_that_waited_are_placed_by_their_own_messages() {
    // Two addresses and an uptime of one byte in seconds apart; the template comes last.
    let message = |seconds: u64| ipfix(seconds, 0, 7, &[set(300, &[10, 0, 0, 1, 10, 0, 0, 2, seconds as u8])]);
    let mut file: Vec<u8> = (0..200).flat_map(message).collect();
    file.extend(ipfix(200, 0, 7, &[set(2, &template(300, &[(8, 4, None), (12, 4, None), (21, 1, None)]))]));
    let (records, facts, error) = decode(&file);
    assert!(error.is_none());
    assert_eq!((records.len(), facts.late_sets, facts.estimated_times), (200, 200, 200));
    for (seconds, record) in records.iter().enumerate() {
        // The exporter started at noon, as its first message says.
        let since_noon = record.last.as_nanos() - NOON * 1_000_000_000;
        assert_eq!((since_noon, record.clock), (seconds as u64 * 1_000_000, Clock::Estimated));
    }
}

#[test]
fn losses_are_what_the_sequence_numbers_say() {
    let v5s = [v5(0, 100, 0, &FLOWS), v5(1, 102, 0, &FLOWS), v5(2, 111, 0, &FLOWS)].concat();
    let v9s: Vec<u8> = [5, 6, 9].into_iter().flat_map(|sequence| v9(0, 0, sequence, 1, &[set(300, &[0; 4])])).collect();
    let ipfixes: Vec<u8> = [0, 2, 4, 10, 3].into_iter().flat_map(good).collect();
    let (_, facts, error) = decode(&[v5s, v9s, ipfixes].concat());
    assert!(error.is_none());
    assert_eq!(Version::ALL.map(|version| facts.lost.get(version)), [7, 2, 4]);
    assert_eq!(Version::ALL.map(|version| facts.messages.get(version)), [3, 3, 5]);
    assert_eq!(facts.sequence_breaks, 1, "from 12 back to 3");
}

#[test]
fn times_come_from_where_they_stand() {
    let flow = |fields: &[(u16, u16)], values: &[u8]| {
        let fields: Vec<_> = [(8, 4), (12, 4)].iter().chain(fields).map(|(id, length)| (*id, *length, None)).collect();
        let record = [&[10, 0, 0, 1, 10, 0, 0, 2][..], values].concat();
        let (records, ..) = decode(&ipfix(10, 0, 7, &[set(2, &template(300, &fields)), set(300, &record)]));
        (
            records[0].first.as_nanos() as i64 - (NOON * 1_000_000_000) as i64,
            records[0].last.since(records[0].first).as_nanos(),
            records[0].clock,
        )
    };
    let bytes = |values: &[u64]| values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<u8>>();
    let ms = NOON * 1_000;
    assert_eq!(flow(&[(152, 8), (153, 8)], &bytes(&[ms + 1, ms + 4])), (1_000_000, 3_000_000, Clock::Stated));
    let ntp = (NOON + 2_208_988_800) << 32;
    assert_eq!(flow(&[(154, 8), (155, 8)], &bytes(&[ntp, ntp | 1 << 31])), (0, 500_000_000, Clock::Stated));
    assert_eq!(flow(&[(156, 8), (157, 8)], &bytes(&[ntp, ntp | 43])), (0, 10, Clock::Stated));
    // Microseconds before the message was sent, 10 s after noon.
    assert_eq!(flow(&[(158, 4), (159, 4)], &[0, 0, 0, 5, 0, 0, 0, 2]), (9_999_995_000, 3_000, Clock::Stated));
    assert_eq!(
        flow(&[(152, 8), (161, 4)], &[&bytes(&[ms]), &[0, 0, 0, 9][..]].concat()),
        (0, 9_000_000, Clock::Stated)
    );
    // Milliseconds since the exporter's start, which is stated (160) or not.
    let uptimes = [0, 0, 0, 20, 0, 0, 0, 50];
    assert_eq!(
        flow(&[(160, 8), (22, 4), (21, 4)], &[&bytes(&[ms]), &uptimes[..]].concat()),
        (20_000_000, 30_000_000, Clock::Stated)
    );
    assert_eq!(flow(&[(22, 4), (21, 4)], &uptimes), (9_970_000_000, 30_000_000, Clock::Estimated));
    assert_eq!(flow(&[], &[]), (10_000_000_000, 0, Clock::Export));
}

#[test]
fn v9_clocks_in_whole_seconds_do_not_jitter() {
    // One exporter, its start at 0.6 s after noon: headers cut off the fraction of the second in which they are sent.
    let fields = [(8, 4), (12, 4), (22, 4), (21, 4)].map(|(id, length)| (id, length, None));
    let record = set(300, &[10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 100, 0, 0, 0, 200]);
    let mut file = v9(0, 0, 0, 1, &[set(0, &template(300, &fields))]);
    for (sequence, uptime) in (1..).zip([300u32, 900, 1_250, 2_401, 5_000]) {
        let seconds = (600 + u64::from(uptime)) / 1_000;
        file.extend(v9(seconds, uptime, sequence, 1, std::slice::from_ref(&record)));
    }
    let (records, ..) = decode(&file);
    let starts: Vec<u64> = records.iter().map(|record| record.first.as_nanos() / 1_000_000 - NOON * 1_000).collect();
    // Each message narrows it down; that of uptime 2,401 was sent 1 ms after a full second.
    assert_eq!(starts, [100, 200, 200, 699, 699]);
}

#[test]
fn sampling_that_comes_late_is_counted() {
    let options =
        [set(3, &options_template(301, 1, &[(149, 4, None), (34, 4, None)])), set(301, &[0, 0, 0, 7, 0, 0, 0, 50])];
    let (records, facts, _) = decode(&[good(0), ipfix(1, 2, 7, &options), good(3)].concat());
    assert_eq!(facts.records_before_sampling, 2);
    let sampling: Vec<Sampling> = records.iter().map(|record| record.sampling).collect();
    assert_eq!(sampling, [Sampling::None, Sampling::None, Sampling::share(1, 50), Sampling::share(1, 50)]);
    assert_eq!((facts.sampled_records, facts.largest_interval), (2, 50));
}

#[test]
fn samplers_are_bounded() {
    let fields = [(48, 4, None), (34, 4, None)];
    let options = set(3, &options_template(301, 1, &fields));
    let told: Vec<u8> = (1..=7_000u32).flat_map(|sampler| [sampler, 10]).flat_map(u32::to_be_bytes).collect();
    let full = (0..10).map(|domain| ipfix(0, 0, domain, &[options.clone(), set(301, &told)]));
    let flows = set(2, &template(300, &[(8, 4, None), (12, 4, None), (48, 4, None)]));
    let record = |domain| {
        let record = set(300, &[10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0x1b, 0x58]);
        ipfix(0, 0, domain, &[flows.clone(), record])
    };
    let file = full.chain([0, 8, 9].map(record)).collect::<Vec<_>>().concat();
    let (records, ..) = decode(&file);
    let sampling: Vec<Sampling> = records.iter().map(|record| record.sampling).collect();
    // 65,536 are held: all of nine domains, and the first 2,536 of the tenth.
    assert_eq!(sampling, [Sampling::share(1, 10), Sampling::share(1, 10), Sampling::Unknown]);
}

/// A pcap file of packets that begin with their IP header.
fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 262_144, 101] {
        file.extend(word.to_le_bytes());
    }
    for packet in packets {
        // The IP header says how long it was; what is missing the snap length cut.
        let length = u32::from(u16::from_be_bytes([packet[2], packet[3]]));
        for word in [NOON as u32, 0, packet.len() as u32, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// A datagram from 192.0.2.`host`, IP options before its header if asked for.
fn datagram(host: u8, payload: &[u8], options: bool) -> Vec<u8> {
    let header = if options { 24 } else { 20 };
    let total = (header + 8 + payload.len()) as u16;
    let mut packet = vec![0x40 | (header / 4) as u8, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, host, 192, 0, 2, 200]);
    packet.extend(&[1, 1, 1, 0][..header - 20]);
    packet.extend([0x30, 0x39, 0x27, 0x0f]);
    packet.extend((8 + payload.len() as u16).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

#[test]
fn captures_of_exporters_are_read_whatever_their_ports() {
    let elsewhere = ipfix(1, 0, 7, &[set(256, &[0; 46])]);
    let mut cut = datagram(1, &v5(2, 2, 0, &FLOWS), false);
    cut.truncate(cut.len() - 10);
    let packets = [
        datagram(1, &good(0), false),
        // Its own template was never sent: that of the other exporter is not its.
        datagram(2, &elsewhere, true),
        datagram(1, b"\x00\x05 no export", false),
        datagram(3, b"\x00\x05 no export", false),
        datagram(1, &v5(1, 0, 0, &FLOWS), true),
        cut,
    ];
    let mut reader = reader(&[capture(&packets)]).expect("it is a capture");
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().expect("it is sound") {
        records.push(record);
    }
    let facts = reader.facts();
    assert_eq!(facts.inputs[0].kind, Kind::Capture);
    assert_eq!((records.len(), facts.sets_without_template), (5, 1), "2 of IPFIX, 2 of v5, 1 before the cut");
    assert_eq!((facts.other_packets, facts.malformed, facts.messages_cut), (1, 1, 1));
    assert_eq!(
        (facts.problems[0].message, facts.problems[0].text.as_str()),
        (3, "a NetFlow v5 header claims 8302 records; no datagram holds more than 1364")
    );
    let exporters = [1, 2].map(|host| Some(std::net::Ipv4Addr::new(192, 0, 2, host).into()));
    assert_eq!(facts.exporters, exporters);
    assert_eq!((records[0].observed.exporter, records[0].observed.domain), (0, 7));
}

#[test]
fn a_capture_may_come_through_a_pipe() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let pipe = folder.path().join("pipe");
    if !std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        return skip("store: capture through a pipe", Need::new("mkfifo", "apt-get install coreutils"));
    }
    let (path, bytes) = (pipe.clone(), capture(&[datagram(1, &good(0), false)]));
    let writer = std::thread::spawn(move || fs::write(path, bytes));
    let mut reader = Reader::open(&[Input::File(pipe)], Options::default()).expect("it is a capture");
    let mut records = 0;
    while reader.next_record().expect("it is sound").is_some() {
        records += 1;
    }
    assert_eq!(records, 2);
    writer.join().expect("the writer is done").expect("all was read");
}

#[test]
fn a_capture_without_export_is_an_error() {
    let mut reader = reader(&[capture(&[datagram(1, b"hello", false)])]).expect("it is a capture");
    let error = reader.next_record().expect_err("no message in it");
    assert!(matches!(&error, FlowError::Messages { kind: FlowErrorKind::NoMessages { packets: 1 }, .. }), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn compressed_files_are_read_and_damage_is_told() {
    let packed = zstd::bulk::compress(&good(0).repeat(20), 3).expect("it can be packed");
    let (records, _, error) = decode(&packed);
    assert!(error.is_none());
    assert_eq!(records.len(), 40);
    let (_, _, error) = decode(&packed[..packed.len() - 3]);
    assert!(error.is_some_and(|error| error.to_string().contains("cut off")));
}

fn samples() -> Vec<Vec<u8>> {
    let Some(folder) = shared("store: damage to NetFlow samples", "flows/netflow") else { return vec![good(0)] };
    let folder = fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.expect("the folder can be read").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("the sample can be read")).collect()
}

#[test]
fn every_sample_is_known_by_its_start() {
    for sample in samples() {
        let version = match sample[1] {
            5 => Version::V5,
            9 => Version::V9,
            _ => Version::Ipfix,
        };
        assert_eq!(detect(&sample[..64.min(sample.len())]), Some(Kind::Messages(version)), "{:02x?}", &sample[..24]);
    }
}

#[test]
fn what_does_not_exist_says_what_to_do() {
    let error = Reader::open(&[Input::from_argument("no/such.ipfix")], Options::default()).err().expect("no file");
    assert!(error.to_string().starts_with("no/such.ipfix: cannot open"), "{error}");
    assert!(error.hint().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Bytes from nowhere, behind each version's number.
    #[test]
    fn any_bytes_are_survived(version in prop::sample::select(vec![5u8, 9, 10]), bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let file = [&[0, version][..], &bytes].concat();
        let (records, ..) = decode(&file);
        // A flow record has two addresses of at least 4 bytes.
        prop_assert!(records.len() <= file.len() / 8);
    }

    /// Sets with plausible numbers and lengths that fit, whatever is in them.
    #[test]
    fn any_sets_are_survived(
        version in prop::sample::select(vec![9u8, 10]),
        sets in prop::collection::vec((0..8u16, prop::collection::vec(0..12u8, 0..60)), 1..12),
    ) {
        let ids = [0, 1, 2, 3, 256, 257, 258, 259];
        let sets: Vec<Vec<u8>> = sets
            .into_iter()
            .map(|(id, body)| {
                // Template numbers that data sets use.
                let number = [1, (id % 4) as u8];
                set(ids[usize::from(id)], &[&number[..], &body].concat())
            })
            .collect();
        let file = if version == 9 { v9(0, 0, 0, 0, &sets) } else { ipfix(0, 0, 0, &sets) };
        let (records, facts, _) = decode(&file.repeat(3));
        prop_assert!(records.len() <= 3 * file.len() / 8);
        prop_assert!(facts.records.total() == records.len() as u64);
    }

    /// A byte of a real message, flipped.
    #[test]
    fn flipped_bytes_are_survived(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), mask in 1..=255u8) {
        let mut samples = samples();
        let sample = which.get_mut(&mut samples);
        let at = at.index(sample.len());
        sample[at] ^= mask;
        let (records, ..) = decode(sample);
        prop_assert!(records.len() <= sample.len() / 8);
    }
}
