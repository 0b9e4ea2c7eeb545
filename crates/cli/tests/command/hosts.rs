//! `--hosts`: what a workload holds of addresses.

use flowloom::core::workload::{Host, Side};
use flowloom::store::addresses::CryptoPan;
use flowloom::store::workload::WorkloadReader;

use crate::support::{Bench, Traffic};

const KEY: &[u8; 32] = b"a key that must not be found out";

/// Hosts and ports of the first connection, initiator first, of a workload extracted with `options`; what stands in
/// the file apart from its tables.
fn first(bench: &Bench, options: &[&str]) -> ([Option<Host>; 2], [Option<u16>; 2]) {
    bench.flowloom(&[&["extract", "c.pcap", "-o", "w.parquet", "--force"], options].concat()).succeeded();
    let vector = WorkloadReader::open(&bench.path("w.parquet")).unwrap().next().unwrap().unwrap();
    (Side::BOTH.map(|side| vector.ends[side].host), Side::BOTH.map(|side| vector.ends[side].port))
}

#[test]
fn hosts_are_kept_as_asked_for() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(3).pcap());
    bench.file("key", KEY);
    let (nothing, ports) = first(&bench, &[]);
    assert_eq!((nothing, ports[0].is_some(), ports[1].is_some()), ([None, None], false, true));
    let (numbers, _) = first(&bench, &["--hosts", "number"]);
    assert_eq!(numbers, [0, 1].map(|number| Some(Host::Number(number))));
    let (plain, _) = first(&bench, &["--hosts", "captured"]);
    assert_eq!(plain, ["10.0.0.1", "172.16.0.1"].map(|address| Some(Host::Address(address.parse().unwrap()))));
    let (encrypted, _) = first(&bench, &["--hosts", "cryptopan", "--key", "key"]);
    let mut pan = CryptoPan::new(KEY);
    let expected = plain.map(|host| match host {
        Some(Host::Address(address)) => Some(Host::Address(pan.encrypt(address))),
        other => other,
    });
    assert_eq!(encrypted, expected);
    assert_eq!(first(&bench, &["--hosts", "cryptopan", "--key", "key", "--keep-special"]).0, plain);
}

#[test]
fn what_a_workload_keeps_stays_or_goes_as_asked_for() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(3).pcap());
    let (numbers, _) = first(&bench, &["--hosts", "number"]);
    for (options, left) in [(&[][..], numbers), (&["--hosts", "number"], numbers), (&["--hosts", "none"], [None, None])]
    {
        let words = [&["convert", "w.parquet", "-o", "again.parquet", "--force"], options].concat();
        bench.flowloom(&words).succeeded();
        let vector = WorkloadReader::open(&bench.path("again.parquet")).unwrap().next().unwrap().unwrap();
        assert_eq!(Side::BOTH.map(|side| vector.ends[side].host), left, "{options:?}");
        assert_eq!(vector.ends.initiator.port.is_some(), left[0].is_some(), "{options:?}");
    }
}

#[test]
fn the_key_leaves_no_trace() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(3).pcap());
    bench.file("key", KEY);
    first(&bench, &["--hosts", "cryptopan", "--key", "key"]);
    let written = std::fs::read(bench.path("w.parquet")).unwrap();
    // SHA-256 of the key, in hexadecimal.
    let hash = "967e9f475f050c22";
    for trace in [&KEY[..], &KEY[..8], hash.as_bytes()] {
        assert!(!written.windows(trace.len()).any(|window| window == trace));
    }
}

#[test]
fn what_is_no_key_is_refused_without_being_shown() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(3).pcap());
    bench.file("short", b"hunter2hunter2");
    let extract = |words: &[&str]| bench.flowloom(&[&["extract", "c.pcap", "-o", "w.parquet"], words].concat());
    let said = extract(&["--hosts", "cryptopan", "--key", "short"]);
    said.failed(1, &["short: a Crypto-PAn key is 32 bytes", "hint"]);
    assert!(!said.err.contains("hunter2"));
    extract(&["--hosts", "cryptopan", "--key", "missing"]).failed(1, &["cannot read the key file missing"]);
    extract(&["--hosts", "cryptopan"]).failed(2, &["needs --key"]);
    extract(&["--key", "short"]).failed(2, &["--key goes with --hosts cryptopan"]);
    extract(&["--keep-special", "--hosts", "number"]).failed(2, &["--keep-special goes with"]);
    assert_eq!(bench.names(), ["c.pcap", "short"]);
}

#[test]
fn captured_addresses_are_warned_of() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(3).pcap());
    let said = bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet", "--hosts", "captured"]);
    assert!(said.succeeded().err.contains("holds the addresses of the captured hosts"));
}
