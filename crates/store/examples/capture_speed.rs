//! How fast captures are read and parsed: packets per CPU second on a made headers-only file, or on files given.
//!
//! `cargo run --release -p flowloom-store --example capture_speed [FILE...]`

use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

use flowloom_core::record::PacketRecord;
use flowloom_core::time::Time;
use flowloom_core::wire::{Flags, SetAsideCounts};
use flowloom_core::workload::{LinkSide, Side};
use flowloom_store::capture::{Captures, Input, Options, PcapWriter};

/// Packets of the made file.
const PACKETS: u64 = 3_000_000;
/// Connections they belong to, a packet of each in turn.
const CONNECTIONS: u64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let folder = tempfile::tempdir()?;
    if files.is_empty() {
        let path = folder.path().join("headers.pcap");
        make(&path)?;
        files.push(path);
    }
    let inputs: Vec<Input> = files.iter().map(Input::from_argument).collect();
    println!("read  parse  sha256   packets  CPU s  Mpkt/s   MB/s");
    for (parse, sha256) in [(false, false), (true, false), (true, true)] {
        let begin = cpu_nanoseconds()?;
        let mut captures = Captures::open(&inputs, Options { sha256, ..Options::default() })?;
        let (mut packets, mut payload, mut aside) = (0u64, 0u64, SetAsideCounts::default());
        while let Some(packet) = captures.next_packet()? {
            packets += 1;
            if parse {
                match packet.segment() {
                    Ok(segment) => payload += u64::from(segment.payload_bytes),
                    Err(reason) => aside.count(reason),
                }
            }
        }
        let seconds = (cpu_nanoseconds()? - begin) as f64 / 1e9;
        let bytes: u64 = captures.inputs().iter().map(|facts| facts.bytes_read).sum();
        let (rate, speed) = (packets as f64 / seconds / 1e6, bytes as f64 / seconds / 1e6);
        println!("yes   {parse:<5}  {sha256:<5} {packets:>10}  {seconds:.3}  {rate:>6.1} {speed:>6.0}");
        println!("      {payload} payload bytes, {} packets set aside", aside.total());
    }
    let peak = fs::read_to_string("/proc/self/status")?;
    println!("{}", peak.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
    Ok(())
}

/// CPU time of this thread so far.
fn cpu_nanoseconds() -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("empty schedstat")?.parse()?)
}

/// Writes data one way and acknowledgements the other.
fn make(path: &PathBuf) -> Result<(), Box<dyn Error>> {
    let mut writer = PcapWriter::new(BufWriter::new(File::create(path)?))?;
    for index in 0..PACKETS {
        let data = index % 2 == 0;
        writer.write(&PacketRecord {
            time: Time::from_nanos(index * 1_000),
            connection: index / 2 % CONNECTIONS,
            sender: if data { Side::Initiator } else { Side::Acceptor },
            from: if data { LinkSide::Left } else { LinkSide::Right },
            sequence: index as u32,
            acknowledgement: index as u32,
            flags: Flags::ACK,
            window: 65_535,
            payload_bytes: if data { 1_460 } else { 0 },
            mss: None,
            window_scale: None,
        })?;
    }
    writer.finish()?;
    Ok(())
}
