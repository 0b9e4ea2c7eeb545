//! How fast flow records are decoded and merged: records per CPU second, and memory, on made files of export messages.
//!
//! `cargo run --release -p flowloom-store --example flow_speed`
//!
//! `... flow_speed --make FILE v5|v9` only writes the made file, for other programs to read.
//!
//! Every connection has a 5-tuple of its own and two records, 50,000 connections begin in a second: so many wait for what
//! may still come of them that the limit of memory is reached. Exits with 1 below half a million records merged per CPU second.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flowloom_store::capture::Input;
use flowloom_store::flows::{MergeOptions, Options, Reader, Vectors};

/// Records of a made file.
const RECORDS: u64 = 3_000_000;
/// Records in a message, as exporters fill their datagrams.
const PER_MESSAGE: u64 = 24;
/// Records exported in a second.
const RATE: u64 = 100_000;
/// Records per CPU second that decoding and merging must reach.
const FLOOR: f64 = 5e5;
/// Fields of the v9 records, number and length: those of v5, and a sampler.
const FIELDS: [[u16; 2]; 20] = [
    [8, 4],
    [12, 4],
    [15, 4],
    [10, 4],
    [14, 4],
    [2, 4],
    [1, 4],
    [22, 4],
    [21, 4],
    [7, 2],
    [11, 2],
    [5, 1],
    [6, 1],
    [4, 1],
    [9, 1],
    [13, 1],
    [16, 2],
    [17, 2],
    [61, 1],
    [48, 1],
];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, path, version] = &arguments[..]
        && flag == "--make"
    {
        make(path.as_ref(), version == "v9")?;
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "{:<38} {:>9} {:>12} {:>7} {:>8}",
        "flow records, one thread", "records", "connections", "CPU s", "Mrec/s"
    );
    let mut good = true;
    for (version, v9) in [("NetFlow v5", false), ("NetFlow v9", true)] {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("made.nf");
        make(&path, v9)?;
        for merged in [false, true] {
            let begin = cpu_nanoseconds()?;
            let (records, connections) = if merged { merge(path.clone())? } else { decode(path.clone())? };
            let seconds = (cpu_nanoseconds()? - begin) as f64 / 1e9;
            let speed = records as f64 / seconds;
            let name = format!("{version}: decode{}", if merged { ", merge" } else { "" });
            println!("  {name:<36} {records:>9} {connections:>12} {seconds:>7.3} {:>8.2}", speed / 1e6);
            good &= !merged || speed >= FLOOR;
        }
    }
    let status = fs::read_to_string("/proc/self/status")?;
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
    if !good {
        eprintln!("below the floor of {} M records per CPU second", FLOOR / 1e6);
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn reader(path: PathBuf) -> Result<Reader, Box<dyn Error>> {
    Ok(Reader::open(&[Input::File(path)], Options { sha256: false, ..Options::default() })?)
}

fn decode(path: PathBuf) -> Result<(u64, u64), Box<dyn Error>> {
    let mut reader = reader(path)?;
    while let Some(record) = reader.next_record()? {
        std::hint::black_box(record);
    }
    Ok((reader.facts().records.total(), 0))
}

fn merge(path: PathBuf) -> Result<(u64, u64), Box<dyn Error>> {
    let mut vectors = Vectors::new(reader(path)?, MergeOptions::default());
    for vector in vectors.by_ref() {
        std::hint::black_box(vector?);
    }
    Ok((vectors.facts().records.total(), vectors.merge_facts().vectors))
}

/// CPU time of this thread so far.
fn cpu_nanoseconds() -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("empty schedstat")?.parse()?)
}

/// Writes messages back to back.
fn make(path: &Path, v9: bool) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    for made in (0..RECORDS).step_by(PER_MESSAGE as usize) {
        let ms = (made * 1_000 / RATE) as u32;
        file.write_all(&if v9 { v9_header(made, ms) } else { v5_header(made, ms) })?;
        for record in made..made + PER_MESSAGE {
            write_record(&mut file, record, ms, v9)?;
        }
    }
    Ok(file.flush()?)
}

/// 1 September 2026, 12:00 UTC, when the exporter starts.
const START: u32 = 1_788_264_000;

fn v5_header(made: u64, ms: u32) -> Vec<u8> {
    let words = [0x0005_0000 | PER_MESSAGE as u32, ms, START + ms / 1_000, ms % 1_000 * 1_000_000, made as u32, 0];
    words.into_iter().flat_map(u32::to_be_bytes).collect()
}

fn v9_header(made: u64, ms: u32) -> Vec<u8> {
    let sequence = (made / PER_MESSAGE) as u32;
    let words = [0x0009_0000 | PER_MESSAGE as u32, ms, START + ms / 1_000, sequence, 0];
    let mut header: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
    if made == 0 {
        let fields = FIELDS.len() as u16;
        let template = [[0, 8 + 4 * fields], [256, fields]];
        header.extend(template.into_iter().chain(FIELDS).flatten().flat_map(u16::to_be_bytes));
    }
    let record: u16 = FIELDS.iter().map(|[_, length]| length).sum();
    header.extend([256, 4 + PER_MESSAGE as u16 * record].into_iter().flat_map(u16::to_be_bytes));
    header
}

/// A record and the next are the two directions of a connection of 12 packets each.
fn write_record(file: &mut impl Write, record: u64, ms: u32, v9: bool) -> std::io::Result<()> {
    let connection = (record / 2) as u32;
    let mut hosts = [0x0a00_0000 | connection >> 14, 0xc0a8_0001];
    let mut ports = [1_024 + (connection & 0x3fff) as u16, 443];
    if record % 2 == 1 {
        hosts.reverse();
        ports.reverse();
    }
    let interfaces: &[u32] = if v9 { &[0, 0, 0] } else { &[0, 0] };
    let counts = [12, 10_000, ms, ms];
    for word in hosts.iter().chain(interfaces).chain(&counts) {
        file.write_all(&word.to_be_bytes())?;
    }
    for port in ports {
        file.write_all(&port.to_be_bytes())?;
    }
    // SYN, ACK, PSH and FIN; TCP.
    file.write_all(&[0, 0x1b, 6])?;
    file.write_all(if v9 { &[0; 8] } else { &[0; 9] })
}
