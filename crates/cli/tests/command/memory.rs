//! Connections of one packet each, as a scan or a flood makes them: memory stays bounded, and the result says so.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;

use flowloom::core::record::PacketRecord;
use flowloom::core::wire::Flags;
use flowloom::core::workload::{LinkSide, Side};
use flowloom::store::capture::PcapWriter;
use flowloom::time::{Duration, Time};

use crate::support::Bench;

/// More than fit.
const SCANS: u64 = 600_000;

/// Writes a SYN a microsecond, each to other addresses or ports.
fn scan(path: &Path) {
    let mut writer = PcapWriter::new(BufWriter::new(File::create(path).unwrap())).unwrap();
    for connection in 0..SCANS {
        let syn = PacketRecord {
            time: Time::ZERO + Duration::from_micros(connection),
            connection,
            sender: Side::Initiator,
            from: LinkSide::Left,
            sequence: connection as u32,
            acknowledgement: 0,
            flags: Flags::SYN,
            window: 1_024,
            payload_bytes: 0,
            mss: Some(1_460),
            window_scale: None,
            sack_permitted: false,
            timestamps: None,
            sack: [(0, 0); 3],
            ecn: flowloom::core::wire::Ecn::NotEct,
            ip_version: flowloom::core::workload::IpVersion::V4,
        };
        writer.write(&syn).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn connections_of_one_packet_each_do_not_exceed_the_memory_limit() {
    let bench = Bench::new();
    scan(&bench.path("scan.pcap"));
    // The kernel refuses this process more than the limit, whatever it needs it for.
    let script = "ulimit -d 100000; exec \"$0\" extract scan.pcap -o w.parquet --max-memory 100mb --threads 1 --json";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_flowloom")])
        .current_dir(bench.folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["connections"]["no_data"], SCANS, "each is counted: {result}");
    let ended = result["tcp"]["ended_by_memory_limit"].as_u64().unwrap();
    assert!(ended > SCANS / 3 && ended < SCANS, "{ended} ended by the limit");
    assert!(said.contains("--max-memory"), "the limit is named: {said}");
}
