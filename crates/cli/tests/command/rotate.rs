//! `extract --rotate`: an interface with real traffic in a network namespace of its own, against what the traffic says of itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use assert_cmd::cargo::CommandCargoExt;
use flowloom::core::workload::{ConnectionVector, Side};
use flowloom::store::monitor::utc_ns;
use flowloom::store::workload::WorkloadReader;
use flowloom_needs::{Need, skip};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::documented::check;
use crate::support::Bench;

/// The length of a workload.
const EVERY: u64 = 4_000_000_000;

/// Nothing is sent so near to a border that its packets could be on the other side of it.
const NEAR: u64 = 1_000_000_000;

const REQUEST: u64 = 300;
const RESPONSE: u64 = 4_000;

#[expect(clippy::disallowed_methods, reason = "the traffic says when it was sent")]
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64
}

#[expect(clippy::disallowed_methods, reason = "real traffic takes real time")]
fn wait(nanos: u64) {
    thread::sleep(Duration::from_nanos(nanos));
}

/// Waits until no border is near; the number of the part.
fn away_from_borders() -> u64 {
    let behind = now() % EVERY;
    if behind < NEAR {
        wait(NEAR - behind);
    } else if behind > EVERY - NEAR {
        wait(EVERY - behind + NEAR);
    }
    now() / EVERY
}

/// Runs `test` in a network namespace of its own, whose loopback interface is up.
fn in_own_network(test: impl FnOnce() + Send + 'static) {
    let thread = thread::spawn(|| {
        if unshare(CloneFlags::CLONE_NEWNET).is_err() {
            return skip("cli: workloads of an interface, one after another", Need::ROOT);
        }
        match Command::new("ip").args(["link", "set", "lo", "up"]).status() {
            Ok(status) if status.success() => test(),
            _ => skip("cli: workloads of an interface, one after another", Need::IP),
        }
    });
    thread.join().unwrap();
}

/// A capture from the loopback interface under way.
fn begin(bench: &Bench, words: &[&str]) -> Child {
    let mut command = Command::cargo_bin("flowloom").unwrap();
    command.args(["extract", "--interface", "lo"]).args(words).current_dir(bench.path(""));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("capturing from lo"), "{said}");
    child
}

/// What it answers at its end.
fn end(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Answers a request of a connection, and another until it ends.
fn serve(listener: TcpListener) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        thread::spawn(move || {
            let mut request = [0; REQUEST as usize];
            while stream.read_exact(&mut request).is_ok() && stream.write_all(&[7; RESPONSE as usize]).is_ok() {}
        });
    }
}

fn exchange(stream: &mut TcpStream) {
    stream.write_all(&[1; REQUEST as usize]).unwrap();
    stream.read_exact(&mut [0; RESPONSE as usize]).unwrap();
}

/// The workloads in a folder by the number of their part.
fn workloads(folder: &Path) -> BTreeMap<u64, (u64, Vec<ConnectionVector>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name == ".flowloom-lo.lock" {
            continue;
        }
        let utc = name
            .strip_prefix("lo-")
            .and_then(|rest| rest.strip_suffix("Z.parquet"))
            .unwrap_or_else(|| panic!("{name}"));
        let part = |from: usize, to: usize| &utc[from..to];
        let text =
            format!("{}-{}-{}T{}:{}:{}", part(0, 4), part(4, 6), part(6, 8), part(9, 11), part(11, 13), part(13, 15));
        let begin_ns = utc_ns(&text).unwrap();
        let reader = WorkloadReader::open(&folder.join(&name)).unwrap();
        let packets = reader.facts().capture.packets;
        let vectors: Vec<ConnectionVector> = reader.map(Result::unwrap).collect();
        assert!(found.insert(begin_ns / EVERY, (packets, vectors)).is_none(), "{name}");
    }
    found
}

#[test]
fn each_workload_has_the_traffic_of_its_time() {
    in_own_network(|| {
        let bench = Bench::new();
        let capture = begin(&bench, &["--rotate", "4s", "-o", "traffic", "--json"]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || serve(listener));
        // Exchanges of each part: of short connections, and of one that crosses the borders.
        let (mut short, mut long) = (BTreeMap::<u64, u64>::new(), BTreeMap::<u64, u64>::new());
        // Parts at whose borders this host was held up for so long that nobody knows where a packet went.
        let mut doubtful = BTreeSet::new();
        let mut crossing = TcpStream::connect(address).unwrap();
        let mut first = None;
        loop {
            let part = away_from_borders();
            let first = *first.get_or_insert(part);
            if part > first + 2 {
                break;
            }
            if long.get(&part).is_none_or(|exchanges| *exchanges < 2) {
                exchange(&mut crossing);
                *long.entry(part).or_default() += 1;
            }
            let mut stream = TcpStream::connect(address).unwrap();
            exchange(&mut stream);
            drop(stream);
            wait(40_000_000);
            if now() / EVERY != part {
                doubtful.extend(part..=now() / EVERY);
            }
            *short.entry(part).or_default() += 1;
        }
        let first = first.unwrap();
        drop(crossing);
        // The last workload is completed when it is interrupted.
        kill(Pid::from_raw(capture.id() as i32), Signal::SIGINT).unwrap();
        let answer = end(capture);
        check("extract rotate", &answer);
        let found = workloads(&bench.path("traffic"));
        let parts: Vec<u64> = found.keys().copied().collect();
        assert!(parts.windows(2).all(|pair| pair[1] == pair[0] + 1) && parts.contains(&(first + 2)), "{parts:?}");
        assert_eq!(answer["workloads"], found.len());
        assert_eq!(answer["packets"], found.values().map(|(packets, _)| packets).sum::<u64>());
        assert_eq!((&answer["deleted"], &answer["drops"]), (&0.into(), &0.into()));
        let sure: Vec<u64> = (first..=first + 2).filter(|part| !doubtful.contains(part)).collect();
        assert!(!sure.is_empty(), "{doubtful:?}");
        for part in sure {
            let (_, vectors) = &found[&part];
            assert_eq!(vectors.len() as u64, short[&part] + 1, "part {part}");
            let exchanges = short[&part] + long[&part];
            // Where the SYN is in another part, ports decide which end is which.
            let bytes = Side::BOTH.map(|side| vectors.iter().map(|vector| vector.bytes(side)).sum::<u64>());
            assert_eq!(bytes.iter().sum::<u64>(), exchanges * (REQUEST + RESPONSE), "part {part}");
            // What crosses a border is in both workloads, as what the border of any capture cuts.
            assert_eq!(vectors.iter().filter(|vector| !vector.complete).count(), 1, "part {part}");
        }
    });
}

#[test]
fn the_last_workloads_are_kept() {
    in_own_network(|| {
        let bench = Bench::new();
        fs::create_dir(bench.path("traffic")).unwrap();
        let capture = begin(&bench, &["--rotate", "1s", "--keep", "2", "--duration", "4s", "-o", "traffic", "--json"]);
        fs::write(bench.path("traffic/lo-notes.parquet"), "mine").unwrap();
        let answer = end(capture);
        let written = answer["workloads"].as_u64().unwrap();
        // Four seconds have at least three borders.
        assert!(written >= 4 && answer["deleted"] == written - 2 && answer["packets"] == 0, "{answer}");
        let mut names: Vec<String> = fs::read_dir(bench.path("traffic"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        let ends = [names[0].as_str(), names[3].as_str()];
        assert_eq!((names.len(), ends), (4, [".flowloom-lo.lock", "lo-notes.parquet"]), "{names:?}");
    });
}

#[test]
fn a_second_capture_into_the_folder_is_refused() {
    in_own_network(|| {
        let bench = Bench::new();
        let first = begin(&bench, &["--rotate", "1h", "-o", "traffic", "--json"]);
        let words = ["extract", "--interface", "lo", "--rotate", "1h", "-o", "traffic", "--duration", "1s"];
        bench.flowloom(&words).failed(1, &["another capture writes workloads lo-... into traffic"]);
        // Without the name of the interface it is another one.
        bench.flowloom(&[&words[..], &["--anonymize"]].concat()).succeeded();
        kill(Pid::from_raw(first.id() as i32), Signal::SIGINT).unwrap();
        assert_eq!(end(first)["workloads"], 1);
        let key = bench.file("key", &[7; 32]);
        // A key that is a pipe is read once, and serves all workloads.
        let key = format!("<(cat {})", key.display());
        let script = format!(
            "{} extract --interface lo --rotate 1s --duration 2s -o keyed --hosts cryptopan --key {key}",
            assert_cmd::cargo::cargo_bin("flowloom").display()
        );
        let status = Command::new("bash").args(["-c", &script]).current_dir(bench.path("")).status().unwrap();
        assert!(status.success());
    });
}

#[test]
fn an_interface_that_goes_down_ends_with_an_error() {
    in_own_network(|| {
        let ip = |words: &str| {
            assert!(Command::new("ip").args(words.split(' ')).status().unwrap().success(), "ip {words}");
        };
        ip("link add near0 type veth peer name far0");
        ip("link set near0 up");
        let bench = Bench::new();
        let mut command = Command::cargo_bin("flowloom").unwrap();
        command.args(["extract", "--interface", "near0", "--rotate", "1h", "-o", "t"]).current_dir(bench.path(""));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        errors.read_line(&mut said).unwrap();
        assert!(said.contains("capturing from near0"), "{said}");
        ip("link set near0 down");
        errors.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{said}");
        assert!(said.contains("near0 went down") && said.contains("complete workloads: 1"), "{said}");
        let names: Vec<_> = fs::read_dir(bench.path("t")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let is_workload = |name: &&std::ffi::OsString| name.to_string_lossy().ends_with("Z.parquet");
        assert_eq!(names.iter().filter(is_workload).count(), 1, "{names:?}");
    });
}

#[test]
fn what_cannot_rotate_is_refused() {
    let bench = Bench::new();
    bench.file("file", b"x");
    fs::create_dir(bench.path("store")).unwrap();
    bench.file("store/monitor.json", b"{}");
    for (words, parts) in [
        (&["--interface", "lo", "--rotate", "10ms", "-o", "t"][..], &["--rotate 10ms: at least 1s is needed"][..]),
        (
            &["--interface", "lo", "--rotate", "1h", "-o", "file"],
            &["file is a file, and --rotate writes into a folder"],
        ),
        (&["--interface", "lo", "--rotate", "1h", "-o", "store"], &["store is the folder of a monitor or of a run"]),
        (&["--interface", "lo", "--rotate", "1h", "--packets", "9", "-o", "t"], &["cannot be used with"]),
        (&["--interface", "lo", "--rotate", "1h", "--keep", "0", "-o", "t"], &["--keep"]),
        (&["--interface", "lo", "--keep", "3", "-o", "t.parquet"], &["--rotate"]),
        (&["--rotate", "1h", "c.pcap", "-o", "t"], &["cannot be used with"]),
        (&["--rotate", "1h", "-o", "t"], &["--interface"]),
        (&["--interface", "lo", "--rotate", "1h", "-o", "t.parquet"], &["t.parquet is the name of a file"]),
        (&["--interface", "lo", "--rotate", "1h", "--idle-timeout", "1ms", "-o", "t"], &["--idle-timeout"]),
    ] {
        bench.flowloom(&[&["extract"], words].concat()).failed(2, parts);
    }
    assert!(!bench.path("t").exists());
}
