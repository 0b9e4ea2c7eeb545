//! Real captures: packets by protocol, and packets, payload and conversations by application, counted a second time from what
//! tshark dissects. Captures are not part of the repository; where they or tshark are missing the tests say so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use flowloom_core::extract::conversations::{Application, Options, Transport};
use flowloom_core::wire::Decoder;
use flowloom_needs::{Need, shared, skip};
use flowloom_report::describe::{ConversationDescriber, ConversationDescription, ProtocolShare, Protocols};
use flowloom_store::capture::{self, Captures, Input};

/// The captures that are here, if tshark is.
fn here(names: &[&str]) -> Vec<PathBuf> {
    let check = "report: conversations of real captures";
    if Command::new("tshark").arg("--version").output().is_err() {
        skip(check, Need::TSHARK);
        return Vec::new();
    }
    names.iter().filter_map(|name| shared(check, &format!("pcap/{name}"))).collect()
}

fn described(path: &Path) -> (Vec<ProtocolShare>, ConversationDescription) {
    let mut captures = Captures::open(&[Input::from_argument(path)], capture::Options::default()).unwrap();
    let (mut decoder, mut protocols) = (Decoder::default(), Protocols::default());
    let mut conversations = ConversationDescriber::new(Options::SILENCE, 0);
    while let Some(packet) = captures.next_packet().unwrap() {
        let parsed = packet.decode(&mut decoder);
        protocols.packet(&parsed, packet.wire_length);
        if let Ok(parsed) = &parsed {
            conversations.packet(packet.time, parsed);
        }
    }
    (protocols.finish(), conversations.finish())
}

/// A packet as tshark dissects it.
struct Dissected {
    transport: Option<Transport>,
    ends: [(String, u16); 2],
    payload: u64,
    frame: u64,
}

fn dissected(path: &Path) -> Vec<Dissected> {
    const FIELDS: [&str; 14] = [
        "frame.len",
        "tcp.srcport",
        "tcp.dstport",
        "tcp.len",
        "tcp.flags.reset",
        "udp.srcport",
        "udp.dstport",
        "udp.length",
        "ip.src",
        "ip.dst",
        "ipv6.src",
        "ipv6.dst",
        "icmp.type",
        "icmpv6.type",
    ];
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(path).args(["-T", "fields", "-E", "occurrence=l", "-o", "ip.defragment:TRUE"]);
    FIELDS.iter().for_each(|field| _ = command.args(["-e", field]));
    let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
    out.lines()
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let column = |name: &str| {
                let at = FIELDS.iter().position(|field| *field == name).unwrap();
                columns.get(at).copied().unwrap_or("")
            };
            let number = |name: &str| column(name).parse::<u64>().unwrap_or(0);
            // The header quoted in an error is no packet.
            let quoted = !column("icmp.type").is_empty() || !column("icmpv6.type").is_empty();
            let transport = match (column("tcp.srcport"), column("udp.srcport")) {
                _ if quoted => None,
                ("", "") => None,
                ("", _) => Some(Transport::Udp),
                _ => Some(Transport::Tcp),
            };
            let reset = matches!(column("tcp.flags.reset"), "1" | "True");
            let (ports, payload) = match transport {
                Some(Transport::Udp) => (["udp.srcport", "udp.dstport"], number("udp.length").saturating_sub(8)),
                _ => (["tcp.srcport", "tcp.dstport"], if reset { 0 } else { number("tcp.len") }),
            };
            let hosts = if column("ip.src").is_empty() { ["ipv6.src", "ipv6.dst"] } else { ["ip.src", "ip.dst"] };
            let end = |at: usize| (column(hosts[at]).to_owned(), number(ports[at]) as u16);
            Dissected { transport, ends: [end(0), end(1)], payload, frame: number("frame.len") }
        })
        .collect()
}

#[test]
fn protocols_and_applications_are_what_tshark_counts() {
    for path in here(&[
        "zeek-http-92conns.pcap",
        "zeek-echo-500conns.pcap.gz",
        "pcpp-example2.pcap",
        "ndpi-1kxun.pcap",
        "ndpi-alexa-app.pcapng",
        "ndpi-gnutella.pcap",
        "ndpi-netflix.pcap",
        "ndpi-reddit-ipv6.pcap",
        "ndpi-whatsapp.pcap",
        "iti-modbus-mb2.pcap",
        "tcptrace-http.dmp",
        "zeek-ftp-bruteforce.pcap",
        "zeek-smtp.pcap",
    ]) {
        let (protocols, told) = described(&path);
        let packets = dissected(&path);
        for transport in [Transport::Tcp, Transport::Udp] {
            let row = protocols.iter().find(|row| row.protocol == transport.name());
            let of_transport = || packets.iter().filter(|packet| packet.transport == Some(transport));
            let counted = (of_transport().count() as u64, of_transport().map(|packet| packet.frame).sum::<u64>());
            assert_eq!(row.map_or((0, 0), |row| (row.packets, row.bytes)), counted, "{} {transport:?}", path.display());
        }
        let mut expected: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
        for packet in &packets {
            let Some(transport) = packet.transport else { continue };
            let application = Application::of(transport, [packet.ends[0].1, packet.ends[1].1]);
            let sum = expected.entry((transport.name(), application.name())).or_default();
            *sum = (sum.0 + 1, sum.1 + packet.payload);
        }
        let rows = told.applications.iter();
        let found: BTreeMap<_, _> =
            rows.map(|row| ((row.transport, row.application), (row.packets, row.payload_bytes))).collect();
        assert_eq!(found, expected, "{}", path.display());
    }
}

/// Where nothing is silent for 20 minutes and nothing is grouped, every pair of transport addresses with data is one
/// conversation.
#[test]
fn conversations_are_the_pairs_of_transport_addresses_with_data() {
    for path in here(&[
        "zeek-http-92conns.pcap",
        "zeek-echo-500conns.pcap.gz",
        "iti-modbus-mb2.pcap",
        "ndpi-gnutella.pcap",
        "ndpi-netflix.pcap",
        "ndpi-reddit-ipv6.pcap",
    ]) {
        let (_, told) = described(&path);
        let mut bytes: BTreeMap<(Transport, BTreeSet<(String, u16)>), u64> = BTreeMap::new();
        for packet in dissected(&path) {
            if let Some(transport) = packet.transport {
                *bytes.entry((transport, packet.ends.into())).or_default() += packet.payload;
            }
        }
        let with_data = bytes.values().filter(|bytes| **bytes > 0).count() as u64;
        let lone: u64 = told.applications.iter().map(|row| row.dropped.keep_alive).sum();
        let found: u64 = told.applications.iter().map(|row| row.conversations).sum();
        assert_eq!(found + lone, with_data, "{}", path.display());
        let without: u64 = told.applications.iter().map(|row| row.without_data).sum();
        assert_eq!(without, bytes.len() as u64 - with_data, "{}", path.display());
    }
}

/// An FTP session: one control connection and four of data, passive and on unknown ports, are one conversation with four
/// items.
#[test]
fn an_ftp_session_is_one_conversation_and_each_of_its_files_an_item() {
    for path in here(&["zeek-ftp-session.pcap"]) {
        let (_, told) = described(&path);
        let [ftp] = &told.applications[..] else { panic!("{:?}", told.applications) };
        assert_eq!((ftp.application, ftp.conversations), ("ftp", 1));
        let mut files: BTreeMap<BTreeSet<(String, u16)>, u64> = BTreeMap::new();
        for packet in dissected(&path).into_iter().filter(|packet| packet.ends.iter().all(|(_, port)| *port != 21)) {
            *files.entry(packet.ends.into()).or_default() += packet.payload;
        }
        let items = ftp.distributions.iter().find(|one| one.name == "item_bytes").unwrap();
        assert_eq!((items.n, items.max), (files.len() as u64, *files.values().max().unwrap() as f64));
        let total: u64 = files.values().sum();
        assert!((items.mean * items.n as f64 - total as f64).abs() < 1.0, "no retransmission is in it");
    }
}
