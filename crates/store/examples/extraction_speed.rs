//! How fast captures become vectors: packets per CPU second, stage by stage, on a made headers-only file or on files
//! given.
//!
//! `cargo run --release -p flowloom-store --example extraction_speed [FILE...]`
//!
//! `... extraction_speed --make FILE OPEN` only writes the made file, with `OPEN` connections open at once, for other
//! programs to read.
//!
//! Exits with 1 if reading, parsing and extracting together fall below three million packets per CPU second.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flowloom_core::extract::Extractor;
use flowloom_core::record::PacketRecord;
use flowloom_core::time::Time;
use flowloom_core::wire::{Decoder, Flags, Parsed, SetAsideCounts};
use flowloom_core::workload::{LinkSide, Side};
use flowloom_store::capture::{Captures, Input, Options, PcapWriter};
use flowloom_store::workload::{CaptureFacts, Provenance, TrafficFacts, WorkloadWriter};

/// Packets of the made file.
const PACKETS: u64 = 3_000_000;
/// Connections open at once in the made files, a packet of each in turn: the worst order for a cache. The floor is for
/// the first.
const OPEN: [u64; 2] = [1_000, 10_000];
/// Packets per CPU second that read, parse and extract must reach.
const FLOOR: f64 = 3e6;
/// Runs of each stage; the median counts.
const RUNS: usize = 3;

/// What is done with every packet.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Stage {
    Read,
    Parse,
    Extract,
    Hash,
    Store,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if let [flag, path, at_once] = &files[..]
        && flag.as_os_str() == "--make"
    {
        make(path, at_once.to_str().ok_or("not a number")?.parse()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("{:<38} {:>9} {:>12} {:>7} {:>8}", "stages, one thread", "packets", "connections", "CPU s", "Mpkt/s");
    if !files.is_empty() {
        measure(&files)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut good = true;
    for open in OPEN {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("headers.pcap");
        make(&path, open)?;
        println!("{open} connections open at once");
        good &= measure(&[path])? >= FLOOR || open != OPEN[0];
    }
    let status = fs::read_to_string("/proc/self/status")?;
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
    if !good {
        eprintln!("below the floor of {} M packets per CPU second", FLOOR / 1e6);
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the speed of every stage on `files`; packets per CPU second of extraction.
fn measure(files: &[PathBuf]) -> Result<f64, Box<dyn Error>> {
    let inputs: Vec<Input> = files.iter().map(Input::from_argument).collect();
    let folder = tempfile::tempdir()?;
    let mut extraction = 0.0;
    for (stage, name) in [
        (Stage::Read, "read"),
        (Stage::Parse, "read, parse"),
        (Stage::Extract, "read, parse, extract"),
        (Stage::Hash, "read, parse, extract, SHA-256"),
        (Stage::Store, "read, parse, extract, SHA-256, store"),
    ] {
        let mut seconds = Vec::new();
        let mut counted = (0, 0);
        for _ in 0..RUNS {
            let begin = cpu_nanoseconds()?;
            counted = pass(&inputs, stage, folder.path())?;
            seconds.push((cpu_nanoseconds()? - begin) as f64 / 1e9);
        }
        seconds.sort_by(f64::total_cmp);
        let (packets, connections) = counted;
        let speed = packets as f64 / seconds[RUNS / 2];
        println!("  {name:<36} {packets:>9} {connections:>12} {:>7.3} {:>8.2}", seconds[RUNS / 2], speed / 1e6);
        if stage == Stage::Extract {
            extraction = speed;
        }
    }
    Ok(extraction)
}

/// Takes all packets through the stages up to `last`; how many packets and connections there were.
fn pass(inputs: &[Input], last: Stage, folder: &Path) -> Result<(u64, u64), Box<dyn Error>> {
    let mut captures = Captures::open(inputs, Options { sha256: last >= Stage::Hash, ..Options::default() })?;
    let mut writer = (last >= Stage::Store).then(|| WorkloadWriter::create(&folder.join("w.parquet"))).transpose()?;
    let mut extractor = Extractor::new(flowloom_core::extract::Options::default());
    let (mut packets, mut connections) = (0, 0);
    let (mut decoder, mut aside) = (Decoder::default(), SetAsideCounts::default());
    while let Some(packet) = captures.next_packet()? {
        packets += 1;
        if last < Stage::Parse {
            continue;
        }
        match &packet.decode(&mut decoder) {
            Ok(Parsed::Segment(segment)) if last >= Stage::Extract => extractor.handle_segment(packet.time, segment),
            Ok(parsed) => {
                std::hint::black_box(parsed);
            }
            Err(reason) => aside.count(*reason, packet.wire_length),
        }
        while let Some(vector) = extractor.poll_vector() {
            connections += 1;
            writer.as_mut().map(|writer| writer.write(&vector)).transpose()?;
        }
    }
    extractor.finish();
    while let Some(vector) = extractor.poll_vector() {
        connections += 1;
        writer.as_mut().map(|writer| writer.write(&vector)).transpose()?;
    }
    if let Some(writer) = writer {
        writer.finish(Provenance::default(), CaptureFacts::default(), &TrafficFacts::default())?;
    }
    Ok((packets, connections))
}

/// CPU time of this thread so far.
fn cpu_nanoseconds() -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("empty schedstat")?.parse()?)
}

/// The packets of one connection: sender, flags beside ACK, payload. A handshake, a request, a response with an
/// acknowledgement of every second segment, and a close.
const SCRIPT: [(Side, u8, u32); 21] = {
    use Side::{Acceptor as A, Initiator as I};
    const SYN: u8 = Flags::SYN;
    const FIN: u8 = Flags::FIN;
    [
        (I, SYN, 0),
        (A, SYN, 0),
        (I, 0, 0),
        (I, 0, 500),
        (A, 0, 1_460),
        (A, 0, 1_460),
        (I, 0, 0),
        (A, 0, 1_460),
        (A, 0, 1_460),
        (I, 0, 0),
        (A, 0, 1_460),
        (A, 0, 1_460),
        (I, 0, 0),
        (A, 0, 1_460),
        (A, 0, 700),
        (I, 0, 0),
        (I, 0, 200),
        (A, 0, 300),
        (I, FIN, 0),
        (A, FIN, 0),
        (I, 0, 0),
    ]
};

/// A connection on its way through [`SCRIPT`].
#[derive(Clone, Copy)]
struct Open {
    connection: u64,
    step: usize,
    next: [u32; 2],
}

fn make(path: &Path, at_once: u64) -> Result<(), Box<dyn Error>> {
    let mut writer = PcapWriter::new(BufWriter::new(File::create(path)?))?;
    let mut open: Vec<Open> = (0..at_once)
        .map(|connection| Open { connection, step: connection as usize % SCRIPT.len(), next: [1_000, 2_000] })
        .collect();
    let mut connections = at_once;
    for index in 0..PACKETS {
        let state = &mut open[(index % at_once) as usize];
        let (sender, flags, payload_bytes) = SCRIPT[state.step];
        let syn = flags & Flags::SYN != 0;
        let first = state.step == 0;
        let (own, peer) = (sender as usize, sender.other() as usize);
        writer.write(&PacketRecord {
            time: Time::from_nanos(index * 1_000),
            connection: state.connection,
            sender,
            from: if sender == Side::Initiator { LinkSide::Left } else { LinkSide::Right },
            sequence: state.next[own],
            acknowledgement: if first { 0 } else { state.next[peer] },
            flags: if first { flags } else { flags | Flags::ACK },
            window: 65_535,
            payload_bytes,
            mss: syn.then_some(1_460),
            window_scale: syn.then_some(7),
            sack_permitted: false,
            timestamps: None,
            sack: [(0, 0); 3],
            ecn: flowloom_core::wire::Ecn::NotEct,
            ip_version: flowloom_core::workload::IpVersion::V4,
        })?;
        state.next[own] += payload_bytes + u32::from(flags != 0);
        state.step += 1;
        if state.step == SCRIPT.len() {
            *state = Open { connection: connections, step: 0, next: [1_000, 2_000] };
            connections += 1;
        }
    }
    writer.finish()?;
    Ok(())
}
