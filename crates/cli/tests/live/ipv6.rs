//! A workload over both versions of IP through the kernel: what crosses the link is what the simulator sends.

use std::collections::BTreeMap;

use flowloom::core::time::Duration;
use flowloom::core::workload::IpVersion;
use flowloom::store::run_folder::{RunFolder, TrafficPoint};
use serde_json::Value;

use crate::network::Hosts;
use crate::support::{Bench, Traffic, mixed};
use crate::{can_run, one_run};

/// Twelve connections, every second one over IPv6, of which some have responses of many windows.
fn both_versions() -> Traffic {
    let mut traffic = (0..12).fold(Traffic::default(), |traffic, id| {
        let response = if id % 3 == 0 { 300_000 } else { 9_000 };
        traffic.connection(id, Duration::from_millis(40 * id), 400, response)
    });
    for packet in traffic.packets.iter_mut().filter(|packet| packet.connection % 2 == 1) {
        packet.ip_version = IpVersion::V6;
        packet.mss = packet.mss.map(|mss| mss - 20);
    }
    traffic
}

/// The records of a capture, without its header, as if their datagrams had come over IPv6.
fn datagrams_over_ipv6(records: &[u8]) -> Vec<u8> {
    let mut over_ipv6 = Vec::new();
    let mut rest = records;
    while let Some((header, behind)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
        let (frame, next) = behind.split_at(length);
        rest = next;
        let (ethernet, ip) = frame.split_at(14);
        if ip[9] != 17 {
            continue;
        }
        let host = |at: usize| [&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0][..], &ip[at..at + 4]].concat();
        let udp = &ip[20..];
        let ipv6 = [&[0x60, 0, 0, 0][..], &(udp.len() as u16).to_be_bytes(), &[17, 64], &host(12), &host(16), udp];
        let frame = [&ethernet[..12], &[0x86, 0xdd], &ipv6.concat()].concat();
        let size = (frame.len() as u32).to_le_bytes();
        over_ipv6.extend([&header[..8], &size, &size, &frame].concat());
    }
    over_ipv6
}

/// Packets and bytes on the bottleneck, from the left and from the right.
fn carried(run: &RunFolder) -> [(u64, u64); 2] {
    let mut carried = [(0, 0); 2];
    let bins = run.throughput().unwrap().map(Result::unwrap);
    for bin in bins.filter(|bin| bin.point == TrafficPoint::ReplayCarried && bin.link < 2) {
        let of = &mut carried[bin.from as usize];
        *of = (of.0 + bin.traffic.packets, of.1 + bin.traffic.bytes);
    }
    carried
}

/// How many connections and flows of datagrams of a workload had each version of IP. A replay's QUIC looks like UDP.
fn versions(bench: &Bench, workload: &str) -> BTreeMap<String, u32> {
    let said = bench.flowloom(&["convert", workload, "-o", "-", "--to", "jsonl"]);
    let mut counts = BTreeMap::new();
    for line in said.out.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let kind = if vector["protocol"] == "tcp" { "TCP" } else { "datagrams" };
        *counts.entry(format!("{kind} over {}", vector["ip_version"])).or_default() += 1;
    }
    counts
}

/// A capture of connections over both versions and datagrams over IPv6, and an experiment that replays it with an acknowledgement for
/// each segment, as a kernel and the simulator send them alike.
fn make(bench: &Bench, live: &str) {
    let (tcp, udp) = (both_versions().pcap(), mixed());
    bench.file("c.pcap", &[&udp[..24], &datagrams_over_ipv6(&udp[24..]), &tcp[24..]].concat());
    let experiment = "[workload]\nsource = \"c.pcap\"\n[network]\nbottleneck = { rate = \"50mbit\" }\n\
                      [tcp]\nprofile = \"linux\"\ndelayed-ack = \"off\"\n[measure]\nduration = \"2s\"\ndrain = \"2s\"\n";
    bench.file("x.toml", format!("{experiment}{live}").as_bytes());
}

/// Fails unless the link of a live run carried what it carries in the simulator, and each connection in its version of IP.
fn compare(bench: &Bench, name: &str) {
    bench.flowloom(&["run", "x.toml", "-o", "sim", "--force"]).succeeded();
    let [live, sim] = [name, "sim"].map(|name| RunFolder::open(&bench.path(name)).unwrap());
    let facts = &live.run()["live"];
    assert_eq!(facts["stranger_packets"], 0, "{facts}");
    assert!(!facts["notes"].to_string().contains("IPv6"), "{facts}");
    for ((packets, bytes), (simulated, wanted)) in carried(&live).into_iter().zip(carried(&sim)) {
        let words = format!("{name}: {packets} packets of {bytes} bytes, in the simulator {simulated} of {wanted}");
        assert!(bytes.abs_diff(wanted) * 100 <= wanted, "{words}");
    }
    bench.flowloom(&["extract", &format!("{name}/link.pcap"), "-o", "w.parquet", "--force"]).succeeded();
    assert_eq!(versions(bench, "w.parquet"), versions(bench, "sim/workload.parquet"), "{name}");
}

#[test]
fn both_versions_of_ip_put_the_simulators_bytes_on_the_link() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    for (name, live) in
        [("side", ""), ("hosts", "[live]\nhosts = 2\n"), ("packets", "[live]\ndevices = \"packet-sockets\"\n")]
    {
        make(&bench, live);
        let said = bench.flowloom(&["run", "x.toml", "--on", "live", "-o", name, "--pcap"]);
        assert!([0, 3].contains(&said.code), "{}\n{}", said.out, said.err);
        compare(&bench, name);
        let run = RunFolder::open(&bench.path(name)).unwrap();
        assert_eq!(run.run()["live"]["problems"], Value::Array(Vec::new()));
    }
}

#[test]
fn sides_on_other_hosts_have_both_versions_of_ip() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let hosts = Hosts::new(&["east", "west"]);
    make(&hosts.bench, "");
    let said = hosts.said(hosts.run(&["--pcap"]));
    assert!([0, 3].contains(&said.code), "{}\n{}", said.out, said.err);
    compare(&hosts.bench, "run");
}
