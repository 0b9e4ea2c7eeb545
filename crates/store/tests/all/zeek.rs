//! Zeek's conn.log: counts of an independent reader, logs of other kinds, damage, and there and back.

use std::path::PathBuf;

use flowloom_core::time::Duration;
use flowloom_core::workload::{Close, ConnectionVector, Evidence, Host, Protocol, Side};
use flowloom_store::formats::zeek::{self, ZeekWriter};
use flowloom_store::formats::{FormatError, Notes, Remark};

/// A file or folder of the data shared beside the repository.
fn shared(name: &str) -> Option<PathBuf> {
    flowloom_needs::shared("store: logs of Zeek", name)
}

fn log(name: &str) -> Option<Vec<u8>> {
    shared(&format!("flows/zeek/{name}")).map(|path| std::fs::read(path).unwrap())
}

/// What a log comes to: rows; TCP rows with data and packets both ways, their payload of each end; UDP rows with data.
#[derive(Debug, PartialEq)]
struct Counts {
    rows: u64,
    tcp: u64,
    tcp_bytes: [u64; 2],
    udp: u64,
}

fn counted(bytes: &[u8]) -> Counts {
    let (vectors, notes) = zeek::read(bytes).unwrap();
    assert!(vectors.iter().all(|vector| vector.evidence == Evidence::FlowRecord));
    let of = |protocol: Protocol| vectors.iter().filter(move |vector| vector.protocol == protocol);
    Counts {
        rows: notes.vectors + notes.set_aside.values().sum::<u64>(),
        tcp: of(Protocol::Tcp).count() as u64,
        tcp_bytes: Side::BOTH.map(|side| of(Protocol::Tcp).map(|vector| vector.bytes(side)).sum()),
        udp: of(Protocol::Udp).count() as u64,
    }
}

/// What a reader in Python says of the same bytes; `None` without Python.
fn counted_by_python(bytes: &[u8]) -> Option<Counts> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conn.log");
    std::fs::write(&path, bytes).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/data/count_conn_log.py");
    let Ok(said) = std::process::Command::new("python3").arg(script).arg(&path).output() else {
        flowloom_needs::skip("store: logs of Zeek", flowloom_needs::Need::PYTHON);
        return None;
    };
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let text = String::from_utf8(said.stdout).unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [rows, tcp, initiator, acceptor, udp] = numbers[..] else { panic!("{text}") };
    Some(Counts { rows, tcp, tcp_bytes: [initiator, acceptor], udp })
}

#[test]
fn rows_and_bytes_are_those_of_an_independent_reader() {
    for (name, rows, tcp, tcp_bytes, udp) in [
        ("zat-conn.log", 360, 111, [97_496, 5_283_107], 95),
        ("zat-conn_date_issue.log", 3, 1, [6_226, 5_256], 0),
        ("zat-conn.json.log", 50, 22, [31_358, 97_051], 26),
    ] {
        let Some(bytes) = log(name) else { return };
        let expected = Counts { rows, tcp, tcp_bytes, udp };
        for bytes in [gzip(&bytes), bytes] {
            assert_eq!(counted(&bytes), expected, "{name}");
            if let Some(counts) = counted_by_python(&bytes) {
                assert_eq!(counts, expected, "{name}, the second reader");
            }
        }
    }
}

#[test]
fn the_logs_of_zeeks_own_tests_are_counted_alike() {
    let Some(folder) = shared("pcap/zeek-baseline") else { return };
    let mut logs = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "log") {
            continue;
        }
        // Some keep only the columns that their test looks at, and none keeps its times.
        let text = std::fs::read_to_string(&path).unwrap().replace("XXXXXXXXXX.XXXXXX", "1500000000.000000");
        if !["\tproto\t", "\torig_bytes\tresp_bytes\t", "\tconn\n"].iter().all(|words| text.contains(words)) {
            continue;
        }
        let bytes = text.into_bytes();
        let Some(counts) = counted_by_python(&bytes) else { return };
        assert_eq!(counted(&bytes), counts, "{}", path.display());
        logs += 1;
    }
    assert!(logs > 0, "no conn.log among them");
}

#[test]
fn the_log_we_write_is_read_alike_by_an_independent_reader() {
    let Some(bytes) = log("zat-conn.log") else { return };
    let (text, _) = written(&zeek::read(&bytes).unwrap().0);
    if let Some(counts) = counted_by_python(text.as_bytes()) {
        assert_eq!(counts, counted(text.as_bytes()));
        assert_eq!((counts.rows, counts.tcp_bytes), (206, [97_496, 5_283_107]));
    }
}

#[test]
fn a_row_becomes_one_epoch() {
    let Some(bytes) = log("zat-conn.log") else { return };
    let (vectors, notes) = zeek::read(&bytes).unwrap();
    assert_eq!((notes.count(Remark::Implausible), notes.count(Remark::MissedBytes)), (2, 13));
    let first = &vectors[0];
    assert_eq!(first.start.as_nanos(), 1_379_288_667_706_265_000);
    assert_eq!(first.lifetime, Some(Duration::from_micros(447_460)));
    let adus: Vec<_> = first.adus.iter().map(|adu| (adu.side, adu.bytes, adu.wait)).collect();
    assert_eq!(adus, [(Side::Initiator, 601, None), (Side::Acceptor, 38_393, None)]);
    assert_eq!(first.epochs().count(), 1);
    assert_eq!(first.close, Close::Rst(Side::Initiator), "RSTO");
    assert_eq!(first.ends.acceptor.host, Some(Host::Address("54.245.228.191".parse().unwrap())));
    assert_eq!((first.ends.initiator.packets, first.ends.acceptor.ip_bytes), (Some(22), Some(39_641)));
    assert_eq!((first.min_rtt(), first.window(Side::Initiator)), (None, None));
}

#[test]
fn other_logs_are_named() {
    for (name, kind) in [
        ("zat-http.log.gz", "http"),
        ("zat-ftp.log", "ftp"),
        ("wrccdc-ssl.log.gz", "ssl"),
        ("wrccdc-ftp.log.gz", "ftp"),
        ("wrccdc-rdp.log.gz", "rdp"),
        ("wrccdc-smtp.log.gz", "smtp"),
        ("wrccdc-weird.log.gz", "weird"),
    ] {
        let Some(bytes) = log(name) else { return };
        let error = zeek::read(&bytes).unwrap_err();
        assert!(matches!(error, FormatError::Foreign { .. }));
        assert!(error.to_string().contains(&format!("this is Zeek's {kind}.log (#path {kind})")), "{name}: {error}");
    }
}

#[test]
fn a_damaged_gzip_stream_is_told_with_its_place() {
    let (Some(whole), Some(plain)) = (log("zat-http.log.corrupt.gz"), log("zat-conn.log")) else { return };
    // The damage of the sample lies behind its #path line, which is enough to refuse it.
    assert!(zeek::read(&whole).is_err());
    let mut packed = gzip(&plain);
    let cut = packed.len() * 2 / 3;
    let message = zeek::read(&packed[..cut]).unwrap_err().to_string();
    assert!(message.contains("line ") && message.contains("compressed data end before"), "{message}");
    packed[cut] ^= 0xff;
    packed[cut + 1] ^= 0xff;
    let message = zeek::read(&packed).unwrap_err().to_string();
    assert!(message.starts_with("conn.log"), "{message}");
    assert_eq!(zeek::read(&gzip(&plain)).unwrap().0, zeek::read(&plain).unwrap().0);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const HEADER: &str = "#separator \\x09\n#unset_field\t-\n#path\tconn\n";
const FIELDS: &str = "#fields\tresp_bytes\tts\tproto\torig_bytes\tconn_state\n";

#[test]
fn fields_come_in_any_order_and_logs_one_after_the_other() {
    let first = format!("{HEADER}{FIELDS}7\t1.5\ttcp\t5\tSF\n#close\t2014-04-03-10-08-28\n");
    let second = "#separator ,\n#set_separator\t;\n#path,conn\n#fields,ts,proto,orig_bytes,resp_bytes\n2.5,tcp,1,2\n";
    let (vectors, _) = zeek::read(format!("{first}{second}").as_bytes()).unwrap();
    let seen = vectors.iter().map(|v| (v.start.as_nanos(), v.bytes(Side::Initiator), v.bytes(Side::Acceptor)));
    assert_eq!(seen.collect::<Vec<_>>(), [(1_500_000_000, 5, 7), (2_500_000_000, 1, 2)]);
    // Comments that Zeek did not write stand above.
    assert_eq!(zeek::read(format!("# of monday\n{first}").as_bytes()).unwrap().0.len(), 1);
}

#[test]
fn what_is_wrong_is_refused_with_its_line() {
    for (text, words) in [
        (format!("{HEADER}7\t1.5\n"), "conn.log:4: a row before the #fields line"),
        (format!("{HEADER}#fields\tts\tproto\n"), "conn.log:4: no field orig_bytes"),
        (format!("{HEADER}{FIELDS}7\t1.5\ttcp\n"), "conn.log:5: 3 fields, and the header names 5"),
        (format!("{HEADER}{FIELDS}7\tsoon\ttcp\t5\tSF\n"), "ts is \"soon\""),
        (format!("{HEADER}{FIELDS}7\t-\ttcp\t5\tSF\n"), "ts is unset"),
        (format!("{HEADER}{FIELDS}-7\t1\ttcp\t5\tSF\n"), "resp_bytes is \"-7\""),
        (format!("{HEADER}{FIELDS}18446744073709551616\t1\ttcp\t5\tSF\n"), "resp_bytes is"),
        (format!("{HEADER}{FIELDS}281474976710657\t1\ttcp\t5\tSF\n"), "bytes of payload"),
        (format!("{HEADER}{FIELDS}#types\tcount\n"), "1 types for 5 fields"),
        (format!("{HEADER}{FIELDS}7\t1\0\ttcp\t5\tSF\n"), "conn.log:5: a NUL byte"),
        ("{\"ts\":1.5,\"uid\":\"C\"}\n".into(), "conn.log:1: no proto or conn_state"),
        ("{\"_path\":\"http\",\"uid\":\"C\"}\n".into(), "a row of Zeek's http.log"),
        ("{\"ts\":1.5,\"uid\":\n".into(), "conn.log:1: EOF while parsing"),
        ("{\"uid\":\"C\",\"proto\":\"tcp\",\"conn_state\":\"SF\"}\n".into(), "no ts"),
        ("{\"uid\":\"C\",\"ts\":-5,\"proto\":\"tcp\",\"conn_state\":\"SF\"}\n".into(), "ts is \"-5\""),
        ("{\"uid\":\"C\",\"ts\":\"now\",\"proto\":\"tcp\",\"conn_state\":\"SF\"}\n".into(), "ts is \"now\""),
        (
            "{\"uid\":\"C\",\"ts\":1,\"proto\":\"tcp\",\"conn_state\":\"SF\",\"orig_bytes\":\"5\"}\n".into(),
            "invalid type",
        ),
    ] {
        let error = zeek::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(words), "{text:?}: {error}");
    }
}

#[test]
fn cut_or_damaged_anywhere_it_never_panics() {
    let row = "7\t1.5\ttcp\t5\tSF\n";
    let text = format!("{HEADER}{FIELDS}{row}{row}");
    let json = "{\"ts\":1575413096.05,\"uid\":\"C\",\"proto\":\"tcp\",\"conn_state\":\"SF\",\"orig_bytes\":2}\n";
    for text in [text.as_bytes(), json.as_bytes()] {
        for at in 0..text.len() {
            let _ = zeek::read(&text[..at]);
            for byte in [0, b'\n', b'\t', b'#', b'"', 0xff] {
                let mut damaged = text.to_vec();
                damaged[at] = byte;
                let _ = zeek::read(&damaged);
            }
        }
    }
}

fn written(vectors: &[ConnectionVector]) -> (String, Notes) {
    let mut writer = ZeekWriter::new(Vec::new(), None).unwrap();
    vectors.iter().for_each(|vector| writer.write(vector).unwrap());
    let (out, notes) = writer.finish().unwrap();
    (String::from_utf8(out).unwrap(), notes)
}

#[test]
fn what_a_log_holds_comes_back_from_the_log_we_write() {
    let Some(bytes) = log("zat-conn.log") else { return };
    let (vectors, _) = zeek::read(&bytes).unwrap();
    let (text, notes) = written(&vectors);
    assert_eq!(notes.vectors, vectors.len() as u64);
    let (back, _) = zeek::read(text.as_bytes()).unwrap();
    assert_eq!(back.len(), vectors.len());
    for (before, after) in vectors.iter().zip(&back) {
        assert_eq!((before.start, before.lifetime, &before.adus), (after.start, after.lifetime, &after.adus));
        for side in Side::BOTH {
            let facts = |vector: &ConnectionVector| {
                let end = &vector.ends[side];
                (end.host, end.port, end.packets, end.ip_bytes)
            };
            assert_eq!(facts(before), facts(after));
        }
    }
}
