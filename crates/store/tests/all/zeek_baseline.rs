//! Extraction against what Zeek's own test suite expects of its captures. Where Zeek's rules and ours agree the numbers
//! must; `docs/evidence/zeek.md` gives the rule behind every difference that is named here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use crate::real_captures::{self, Extraction, side};
use flowloom_core::extract::{Finished, Options};
use flowloom_core::time::Duration;
use flowloom_core::wire::Address;
use flowloom_core::workload::{Close, ConnectionVector, Protocol, Side};

/// A row of conn.log by column.
type Row = BTreeMap<String, String>;

/// The columns of the one baseline that has no line of their names.
const COMMUNITY_ID: [&str; 7] =
    ["id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p", "proto", "service", "community_id"];

/// The rows of a baseline: a whole log, or columns cut from one, with a line of their names or without.
fn rows(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).expect("baseline");
    let mut names: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        let fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
        match line.strip_prefix("#fields\t") {
            Some(header) => names = header.split('\t').map(str::to_owned).collect(),
            None if line.starts_with('#') => {}
            None if names.is_empty() && fields[0].parse::<IpAddr>().is_err() => names = fields,
            None => {
                if names.is_empty() {
                    names = COMMUNITY_ID.map(str::to_owned).to_vec();
                }
                rows.push(names.iter().cloned().zip(fields).collect());
            }
        }
    }
    rows
}

fn address(row: &Row, end: &str) -> Address {
    let field = |name: &str| row[&format!("id.{end}_{name}")].clone();
    Address::new(field("h").parse().expect("address"), field("p").parse().expect("port"))
}

/// When Zeek's clock of a connection stops: after both FINs it counts no packet (docs/evidence/zeek.md).
fn zeek_duration(vector: &ConnectionVector) -> Duration {
    let fins = Side::BOTH.map(|side| {
        let last_data = vector.adus.iter().rev().filter(|adu| adu.side == side).find_map(|adu| adu.seen);
        Some(last_data.map_or(Duration::ZERO, |seen| seen.last) + vector.ends[side].fin_wait?)
    });
    match fins {
        [Some(one), Some(other)] => one.max(other),
        _ => vector.lifetime.expect("packets tell"),
    }
}

/// Zeek's names for how a connection went.
fn conn_state(vector: &ConnectionVector) -> &'static str {
    let [o, r] = [&vector.ends.initiator, &vector.ends.acceptor];
    let answered = o.packets > Some(0) && r.packets > Some(0);
    match (o.syn_seen, r.syn_seen) {
        (_, true) if answered => match (vector.close, o.fin_wait.is_some(), r.fin_wait.is_some()) {
            (Close::Rst(Side::Initiator), _, _) => "RSTO",
            (Close::Rst(Side::Acceptor), _, _) => "RSTR",
            (_, true, true) => "SF",
            (_, true, false) => "S2",
            (_, false, true) => "S3",
            (_, false, false) => "S1",
        },
        (true, false) if r.rst_seen => "REJ",
        (true, false) if o.rst_seen => "RSTOS0",
        (true, false) if o.fin_wait.is_some() => "SH",
        (true, false) => "S0",
        (false, true) if r.rst_seen => "RSTRH",
        (false, true) if r.fin_wait.is_some() => "SHR",
        _ if vector.protocol == Protocol::Udp => {
            if r.packets > Some(0) {
                "SF"
            } else {
                "S0"
            }
        }
        _ => "OTH",
    }
}

/// The letters of Zeek's history that a vector tells of, capital for the originator: SYN, SYN/ACK, data, FIN, RST,
/// data sent again, a gap in the data. Their order, and letters for acknowledgements, are not in a vector.
fn history(vector: &ConnectionVector, orig: Side) -> BTreeSet<char> {
    let mut letters = BTreeSet::new();
    for side in Side::BOTH {
        let (end, segments) = (&vector.ends[side], vector.ends[side].segments.unwrap_or_default());
        let handshake = if side == Side::Initiator { 'S' } else { 'H' };
        for (letter, holds) in [
            (handshake, end.syn_seen),
            ('D', vector.payload(side).captured > 0),
            ('F', end.fin_wait.is_some()),
            ('R', end.rst_seen),
            ('T', segments.duplicates > segments.repeated.copies || segments.lost_before > 0),
            ('G', missed(vector, side) > 0),
        ] {
            let letter = if side == orig { letter } else { letter.to_ascii_lowercase() };
            letters.extend(holds.then_some(letter));
        }
    }
    letters
}

/// Bytes in the gaps of an end. Zeek counts none of an end that it never saw.
fn missed(vector: &ConnectionVector, side: Side) -> u64 {
    let end = &vector.ends[side];
    if end.packets == Some(0) { 0 } else { end.missing_bytes() }
}

fn compare_history(row: &Row, vector: &ConnectionVector, orig: Side) -> Option<String> {
    let theirs = row.get("history")?;
    let known = |letter: &char| "SHDFRTG".contains(letter.to_ascii_uppercase());
    let (ours, compared) = (history(vector, orig), theirs.chars().filter(known).collect::<BTreeSet<char>>());
    (ours != compared).then(|| format!("history {}, Zeek {theirs}", ours.into_iter().collect::<String>()))
}

/// The number in a column, unless the log lacks or leaves out the column.
fn number(row: &Row, name: &str) -> Option<f64> {
    let value = row.get(name).filter(|value| *value != "-")?;
    Some(value.parse().expect("number"))
}

/// What differs between a row and a connection, column by column.
fn compare_connection(row: &Row, ours: &Finished) -> Vec<String> {
    let vector = &ours.vector;
    let (orig, resp) = (side(ours, address(row, "orig")), side(ours, address(row, "resp")));
    let mut differences = Vec::new();
    if orig != Side::Initiator {
        differences.push(format!("originator and responder swapped, {:?}", vector.initiator_rule));
    }
    let missed = Side::BOTH.iter().map(|side| missed(vector, *side)).sum();
    let of = |side: Side| &vector.ends[side];
    for (name, ours) in [
        ("orig_bytes", vector.bytes(orig)),
        ("resp_bytes", vector.bytes(resp)),
        ("missed_bytes", missed),
        ("orig_pkts", of(orig).packets.expect("packets tell")),
        ("resp_pkts", of(resp).packets.expect("packets tell")),
        ("orig_ip_bytes", of(orig).ip_bytes.expect("packets tell")),
        ("resp_ip_bytes", of(resp).ip_bytes.expect("packets tell")),
    ] {
        if number(row, name).is_some_and(|theirs| theirs != ours as f64) {
            differences.push(format!("{name} {ours}, Zeek {}", row[name]));
        }
    }
    if let Some(theirs) = number(row, "duration") {
        let (lifetime, of_zeek) = (vector.lifetime.expect("packets tell"), zeek_duration(vector));
        if lifetime != of_zeek {
            differences
                .push(format!("lasts {} us longer than until both FINs", (lifetime - of_zeek).as_nanos() / 1000));
        }
        let micros = (of_zeek.as_nanos() / 1000) as f64;
        if (theirs * 1e6 - micros).abs() > 1.0 {
            differences.push(format!("duration {micros} us, Zeek {}", row["duration"]));
        }
    }
    if row.get("conn_state").is_some_and(|theirs| theirs != conn_state(vector)) {
        differences.push(format!("conn_state {}, Zeek {}", conn_state(vector), row["conn_state"]));
    }
    differences.extend(compare_history(row, vector, orig));
    differences
}

/// What differs between the rows of one baseline and our reading of its capture.
fn compare(rows: &[Row], extraction: &Extraction) -> Vec<String> {
    let mut differences = Vec::new();
    let mut unmatched: Vec<&Finished> = extraction.connections.iter().chain(&extraction.flows).collect();
    let mut take = |belongs: &dyn Fn(&Finished) -> bool| {
        let at = unmatched.iter().position(|one| belongs(one))?;
        Some(unmatched.remove(at))
    };
    for row in rows {
        if row.get("proto").is_some_and(|proto| proto == "icmp") {
            differences.push(format!("icmp, {} packets", row["orig_pkts"]));
            continue;
        }
        let protocol = if row.get("proto").is_some_and(|proto| proto == "udp") { Protocol::Udp } else { Protocol::Tcp };
        // One log is cut to a few columns: its rows are the connections to port 25 in the order of their starts.
        let ends = row.contains_key("id.orig_h").then(|| [address(row, "orig"), address(row, "resp")]);
        let found = match ends {
            Some([orig, resp]) => take(&|one| {
                let ends = [one.initiator, one.acceptor];
                one.vector.protocol == protocol && (ends == [orig, resp] || ends == [resp, orig])
            }),
            None => take(&|one| one.acceptor.port == 25),
        };
        match (found, ends) {
            (None, _) => differences.push(format!("no {protocol:?} of {} packets", row["orig_pkts"])),
            (Some(ours), Some(_)) => differences.extend(compare_connection(row, ours)),
            (Some(ours), None) => differences.extend(compare_history(row, &ours.vector, Side::Initiator)),
        }
    }
    if !unmatched.is_empty() {
        differences.push(format!("{} connections not in Zeek's log", unmatched.len()));
    }
    differences
}

/// Where Zeek's rules and ours differ, each with its rule in `docs/evidence/zeek.md`.
const EXPECTED: [(&str, &str); 12] = [
    ("zeek-gre-in-gre.pcap", "icmp, 312 packets"),
    ("zeek-mixed-vlan-mpls.pcap", "2 connections not in Zeek's log"),
    ("zeek-mixed-vlan-mpls.pcap", "lasts 1251 us longer than until both FINs"),
    ("zeek-pppoe-over-qinq.pcap", "lasts 4539649 us longer than until both FINs"),
    ("zeek-smtp.pcap", "6 connections not in Zeek's log"),
    ("zeek-tcp-miss_end_data.pcap", "lasts 4918 us longer than until both FINs"),
    ("zeek-tcp-miss_end_data.pcap", "resp_bytes 0, Zeek 2902"),
    ("zeek-tcp-missing-syn.pcap", "lasts 730 us longer than until both FINs"),
    ("zeek-vxlan-http.pcap", "lasts 38 us longer than until both FINs"),
    ("zeek-vxlan-http.pcap", "no Udp of 12 packets"),
    // Five packets that an offload had merged.
    ("zeek-vxlan-http.pcap", "resp_ip_bytes 9792, Zeek 9480"),
    ("zeek-vxlan-http.pcap", "resp_pkts 11, Zeek 5"),
];

#[test]
fn zeeks_own_expectations_are_met_or_explained() {
    let Some(folder) = real_captures::folder() else { return };
    let mut found: Vec<(String, String)> = Vec::new();
    let mut compared: BTreeMap<String, usize> = BTreeMap::new();
    for entry in fs::read_dir(folder.join("zeek-baseline")).expect("zeek-baseline") {
        let path = entry.expect("entry").path();
        let file = path.file_name().expect("name").to_string_lossy().replace(".conn.log", "");
        let rows = rows(&path);
        for row in &rows {
            *compared.entry(row.get("proto").map_or("tcp", String::as_str).to_owned()).or_default() += 1;
        }
        let differences = compare(&rows, &real_captures::extract(&folder.join(&file), Options::default()));
        found.extend(differences.into_iter().map(|difference| (file.clone(), difference)));
    }
    found.sort();
    let found: Vec<(&str, &str)> = found.iter().map(|(file, why)| (file.as_str(), why.as_str())).collect();
    assert_eq!(found, EXPECTED);
    let compared: Vec<(&str, usize)> = compared.iter().map(|(proto, rows)| (proto.as_str(), *rows)).collect();
    assert_eq!(compared, [("icmp", 1), ("tcp", 29), ("udp", 3)], "rows of the baselines");
}
