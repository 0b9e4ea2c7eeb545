//! Captures made for tests, and the command run on them.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use flowloom_core::record::PacketRecord;
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::Flags;
use flowloom_core::workload::{LinkSide, Side};
use flowloom_store::capture::PcapWriter;
use serde_json::Value;
use tempfile::TempDir;

/// A folder for one test and the command run in it.
pub struct Bench {
    /// The folder.
    pub folder: TempDir,
}

/// What the command said.
pub struct Said {
    /// Its exit code; -1 if a signal ended it.
    pub code: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl Default for Bench {
    fn default() -> Bench {
        Bench::new()
    }
}

impl Bench {
    /// Creates an empty folder, which is removed at the end of the test.
    pub fn new() -> Bench {
        Bench { folder: tempfile::tempdir().unwrap() }
    }

    /// The path of the file `name` in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes `bytes` as the file `name`.
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// Runs `flowloom` with these words in the folder.
    pub fn flowloom(&self, words: &[&str]) -> Said {
        let output =
            Command::cargo_bin("flowloom").unwrap().current_dir(self.folder.path()).args(words).output().unwrap();
        Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs `flowloom` and reads the JSON object it must print.
    pub fn json(&self, words: &[&str]) -> Value {
        let said = self.flowloom(words);
        assert!(said.code == 0, "{words:?} exited with {}: {}", said.code, said.err);
        serde_json::from_str(&said.out).unwrap()
    }

    /// Makes an agent with a folder of its name a member of the lab, by files.
    pub fn enrol(&self, agent: &str) {
        let token = self.flowloom(&["lab", "invite", agent]).succeeded().out.trim().to_owned();
        let [request, answer] = ["request", "answer"].map(|ending| format!("{agent}.{ending}"));
        self.flowloom(&["lab", "enrol", &token, "--dir", agent, "--request", &request]).succeeded();
        self.flowloom(&["lab", "admit", "--request", &request, "--answer", &answer]).succeeded();
        self.flowloom(&["lab", "enrol", "--dir", agent, "--answer", &answer]).succeeded();
    }

    /// The names in the folder, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Said {
    /// The command failed with `code`, saying every one of `words`, and did not panic. A place in the words without a column
    /// (`e.toml:3: `) is any place in that line.
    #[track_caller]
    pub fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        let without_columns = without_columns(&self.err);
        for word in words {
            assert!(
                self.err.contains(word) || without_columns.contains(word),
                "\"{word}\" is missing in: {}",
                self.err
            );
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }

    /// The command succeeded.
    #[track_caller]
    pub fn succeeded(&self) -> &Said {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }
}

/// A text without the columns of its places: `e.toml:3:7: ` becomes `e.toml:3: `.
pub fn without_columns(text: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let line = |line: &str| {
        let parts: Vec<&str> = line.split(':').collect();
        let is_column = |place: usize| place > 1 && is_number(parts[place]) && is_number(parts[place - 1]);
        let kept = (0..parts.len()).filter(|place| !is_column(*place)).map(|place| parts[place]);
        kept.collect::<Vec<_>>().join(":")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Processes whose command line has this word.
pub fn processes_with(word: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = all.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|one| one == word.as_bytes())).count()
}

/// A capture in the making.
#[derive(Clone, Default)]
pub struct Traffic {
    /// The packets of one connection after the other.
    pub packets: Vec<PacketRecord>,
}

impl Traffic {
    /// A connection at `start` that opens, sends `request` bytes, gets `response` bytes after 30 ms, and closes; 5 ms
    /// from the monitor to the initiator and back, 20 ms to the acceptor and back. Sequence numbers begin at `isn`.
    pub fn connection_from(mut self, id: u64, start: Duration, isn: u32, request: u32, response: u32) -> Traffic {
        const ACK: u8 = Flags::ACK;
        let (mut i, mut a) = (isn, isn.wrapping_add(77_777));
        let mut at = start;
        let mut push =
            |sender: Side, after_ms: u64, flags: u8, sequence: u32, acknowledgement: u32, payload_bytes: u32| {
                at += Duration::from_millis(after_ms);
                let syn = flags & Flags::SYN != 0;
                self.packets.push(PacketRecord {
                    time: Time::ZERO + at,
                    connection: id,
                    sender,
                    from: if sender == Side::Initiator { LinkSide::Left } else { LinkSide::Right },
                    sequence,
                    acknowledgement,
                    flags,
                    window: 60_000,
                    payload_bytes,
                    mss: syn.then_some(1460),
                    window_scale: syn.then_some(0),
                    sack_permitted: false,
                    timestamps: None,
                    sack: [(0, 0); 3],
                    ecn: flowloom_core::wire::Ecn::NotEct,
                    ip_version: flowloom_core::workload::IpVersion::V4,
                });
            };
        push(Side::Initiator, 0, Flags::SYN, i, 0, 0);
        i = i.wrapping_add(1);
        push(Side::Acceptor, 20, Flags::SYN | ACK, a, i, 0);
        a = a.wrapping_add(1);
        push(Side::Initiator, 5, ACK, i, a, 0);
        let mut left = request;
        while left > 0 {
            let payload = left.min(1460);
            push(Side::Initiator, 0, ACK | Flags::PSH, i, a, payload);
            i = i.wrapping_add(payload);
            left -= payload;
        }
        left = response;
        let mut wait = 50;
        while left > 0 {
            let payload = left.min(1460);
            push(Side::Acceptor, wait, ACK | Flags::PSH, a, i, payload);
            a = a.wrapping_add(payload);
            left -= payload;
            wait = 0;
        }
        push(Side::Initiator, 5, ACK, i, a, 0);
        push(Side::Initiator, 1, ACK | Flags::FIN, i, a, 0);
        push(Side::Acceptor, 20, ACK | Flags::FIN, a, i.wrapping_add(1), 0);
        push(Side::Initiator, 5, ACK, i.wrapping_add(1), a.wrapping_add(1), 0);
        self
    }

    /// [`Self::connection_from`] with small sequence numbers.
    pub fn connection(self, id: u64, start: Duration, request: u32, response: u32) -> Traffic {
        self.connection_from(id, start, 1_000 + id as u32, request, response)
    }

    /// `count` connections, one every 50 ms, of different sizes.
    pub fn many(count: u64) -> Traffic {
        (0..count).fold(Traffic::default(), |traffic, id| {
            let request = 200 + (id * 37 % 400) as u32;
            // Within an initial window of ten segments: what the original sends at once, a replay may send at once.
            let response = 500 + (id * 1_009 % 14_000) as u32;
            traffic.connection(id, Duration::from_millis(id * 50), request, response)
        })
    }

    /// The packets by time, as a pcap file.
    pub fn pcap(&self) -> Vec<u8> {
        let mut sorted = self.packets.clone();
        sorted.sort_by_key(|packet| packet.time);
        Traffic::in_order(&sorted)
    }

    /// These packets in this order, as a pcap file.
    pub fn in_order(packets: &[PacketRecord]) -> Vec<u8> {
        let mut writer = PcapWriter::new(Vec::new()).unwrap();
        packets.iter().for_each(|packet| writer.write(packet).unwrap());
        writer.finish().unwrap()
    }
}

/// All files below `folder` but host.json and manifests, which have its digest, by name, with their bytes.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !["host.json", "manifest.json"].contains(&path.file_name().unwrap().to_str().unwrap()) {
                found.push((path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// A record of a capture: an Ethernet frame of a UDP datagram at `micros`, from and to these ports, of the first host or
/// the second.
fn datagram(micros: u32, from_first: bool, ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| (bytes as u16).to_be_bytes();
    let mut hosts = [[10, 0, 0, 1], [192, 0, 2, 1]];
    if !from_first {
        hosts.reverse();
    }
    let ip = [&[0x45, 0], &length(28 + payload.len())[..], &[0, 0, 0, 0, 64, 17, 0, 0], &hosts[0], &hosts[1]].concat();
    let udp = [ports[0].to_be_bytes(), ports[1].to_be_bytes(), length(8 + payload.len()), [0; 2]].concat();
    let frame = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], &ip[..], &udp, payload].concat();
    let size = (frame.len() as u32).to_le_bytes();
    [&0u32.to_le_bytes(), &(1_000 * micros).to_le_bytes(), &size, &size, &frame[..]].concat()
}

/// The connections of `Traffic::many(3)` behind a query with its answer, a QUIC exchange and a datagram without data.
pub fn mixed() -> Vec<u8> {
    let tcp = Traffic::many(3).pcap();
    let initial = [&[0xc3, 0, 0, 0, 1, 8][..], &[7; 8], &[0], &[0; 1_185]].concat();
    let udp = [
        datagram(0, true, [40_000, 53], &[1; 30]),
        datagram(1, false, [53, 40_000], &[1; 90]),
        datagram(2, true, [40_001, 443], &initial),
        datagram(3, false, [443, 40_001], &[0x40; 1_200]),
        datagram(4, true, [40_002, 7], &[]),
    ];
    [&tcp[..24], &udp.concat(), &tcp[24..]].concat()
}
