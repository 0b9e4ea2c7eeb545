//! `flowloom overhead`: what datagrams cost on a line.

use std::path::Path;

use serde_json::json;

use flowloom_core::cell::framing::{Lengths, Stack, WrittenError, known_names};
use flowloom_core::extract::conversations::Transport;
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::wire::Parsed;
use flowloom_report::html;
use flowloom_report::overhead::text::overhead_text;
use flowloom_report::overhead::{DatagramTotals, Overhead, StackEfficiency};
use flowloom_report::text::thousands;
use flowloom_store::capture::Input;
use flowloom_store::{formats, lengths};

use crate::args;
use crate::failure::{Exit, Failure, nearest};
use crate::ingest;
use crate::input::{self, Kind};
use crate::load;
use crate::output::Manner;
use crate::results::write_page;

/// The stacks without `--stack`: the published ones, then cells and links of today, then tunnels over Ethernet.
const STACKS: [&str; 16] = [
    "smds-802.6",
    "xfrs-none",
    "none-sar",
    "llc-snap+aal5+atm",
    "pppoe+mac+llc-bridged+aal5+atm",
    "ethernet+gap",
    "vlan+ethernet+gap",
    "pppoe+ethernet+gap",
    "ethernet+gem",
    "ethernet+xgem",
    "ethernet+docsis",
    "gre+ipv4+ethernet+gap",
    "mac+vxlan+udp+ipv4+ethernet+gap",
    "wireguard+udp+ipv4+ethernet+gap",
    "esp-gcm+ipv4+ethernet+gap",
    "gtp-u+udp+ipv4+ethernet+gap",
];

/// What Ethernet carries by default.
const USUAL_MTU: u32 = 1_500;

/// What is carried, and what was learnt on the way.
struct Carried {
    lengths: Lengths,
    of: &'static str,
    left_out_packets: Option<u64>,
    warnings: Vec<(String, &'static str)>,
    interrupted: bool,
}

impl Carried {
    fn new(lengths: Lengths, of: &'static str) -> Carried {
        Carried { lengths, of, left_out_packets: None, warnings: Vec::new(), interrupted: false }
    }
}

/// Runs the command.
pub fn run(args: &args::Overhead, manner: Manner) -> Result<Exit, Failure> {
    let written: Vec<&str> = match args.stacks.is_empty() {
        true => STACKS.to_vec(),
        false => args.stacks.iter().map(String::as_str).collect(),
    };
    let stacks = written.into_iter().map(stack).collect::<Result<Vec<Stack>, Failure>>()?;
    manner.start("overhead")?;
    let carried = match (&args.lengths, &args.input) {
        (Some(name), _) => of_histogram(args, lengths::built_in(name).unwrap_or_default())?,
        (None, Some(input)) => of_file(args, input, manner)?,
        (None, None) => return Err(Failure::usage("neither a file nor --lengths")),
    };
    if carried.lengths.is_empty() && !carried.interrupted {
        let what = args.input.as_ref().map_or_else(String::new, |input| format!("{}: ", input.display()));
        return Err(Failure::new(format_args!("{what}holds no TCP or UDP datagrams: nothing to carry"))
            .hint("flowloom describe says what is in captures and workloads"));
    }
    for (cause, remedy) in &carried.warnings {
        manner.warn(cause, remedy);
    }
    let file = args.input.as_ref().filter(|_| !args.capture.anonymize).map(|input| input.display().to_string());
    let of = |stack: &Stack| StackEfficiency::of(stack, &carried.lengths, args.payloads.range());
    let overhead = Overhead {
        source: args.lengths.clone().or(file),
        lengths_of: carried.of,
        tcp: DatagramTotals::of(&carried.lengths, Transport::Tcp),
        udp: DatagramTotals::of(&carried.lengths, Transport::Udp),
        left_out_packets: carried.left_out_packets,
        stacks: stacks.iter().map(of).collect(),
        warnings: carried.warnings.iter().map(|(cause, remedy)| format!("{cause} (remedy: {remedy})")).collect(),
        interrupted: carried.interrupted,
    };
    if let Some(path) = &args.html {
        write_page(path, |out| html::write_overhead(&overhead, out))?;
    }
    let text = || {
        let page = args.html.as_ref().map(|path| format!("\npictures      {}\n", path.display()));
        overhead_text(&overhead) + &page.unwrap_or_default()
    };
    manner.answer(|| json!(overhead), text)?;
    Ok(if carried.interrupted { Exit::Invalid } else { Exit::Done })
}

fn stack(written: &str) -> Result<Stack, Failure> {
    written.parse::<Stack>().map_err(|error| {
        let failure = Failure::usage(format_args!("--stack {written}: {error}"));
        let WrittenError::Unknown { name } = &error else { return failure };
        let known = known_names();
        let meant = nearest(name, &known).map(|meant| format!("did you mean \"{meant}\"?"));
        failure.note(format_args!("known: {}", known.join(", "))).hint_if(meant)
    })
}

/// Lengths that stand in a histogram: options about reading packets change nothing.
fn of_histogram(args: &args::Overhead, lengths: Lengths) -> Result<Carried, Failure> {
    input::refuse_reading_options(&args.capture, "the lengths are those of a histogram")?;
    Ok(Carried::new(lengths, "histogram"))
}

fn of_file(args: &args::Overhead, input: &Path, manner: Manner) -> Result<Carried, Failure> {
    let is_histogram = input.is_file() && formats::head(input).is_ok_and(|head| lengths::begins(&head));
    if is_histogram {
        return of_histogram(args, lengths::open(&Input::from_argument(input)).map_err(load::unreadable)?);
    }
    let kind = input::kind(input);
    if let Kind::Experiment | Kind::Specification | Kind::RunFolder = kind {
        return Err(Failure::usage(format_args!("{} is {}, which holds no datagrams", input.display(), kind.words()))
            .hint("give the capture or the workload it replays, or a histogram of lengths"));
    }
    input::refuse_idle_options(&args.capture, kind, input)?;
    match kind {
        Kind::Capture => of_capture(args, input, manner),
        _ => of_vectors(args, input, kind, manner),
    }
}

/// IP datagrams as they passed: headers with their options, retransmissions and acknowledgements among them.
fn of_capture(args: &args::Overhead, input: &Path, manner: Manner) -> Result<Carried, Failure> {
    let (mut lengths, mut counted) = (Lengths::default(), 0);
    let ingested = ingest::watched(
        input,
        &args.capture,
        manner,
        |_, parsed, _| {
            let (transport, link_bytes, data_bytes) = match parsed {
                Ok(Parsed::Segment(segment)) => (Transport::Tcp, segment.link_bytes, segment.payload_bytes),
                Ok(Parsed::Datagram(datagram)) => (Transport::Udp, datagram.link_bytes, datagram.payload_bytes),
                Err(_) => return,
            };
            counted += 1;
            lengths.add(transport, link_bytes.saturating_sub(LINK_HEADER_BYTES), data_bytes, 1);
        },
        |_| Ok(()),
    )?;
    ingested.warn(manner);
    let long = lengths.groups().filter(|(_, ip_bytes, _)| *ip_bytes > USUAL_MTU).map(|(.., group)| group.datagrams);
    let long: u64 = long.sum();
    let mut carried = Carried::new(lengths, "packets");
    if long > 0 {
        carried.warnings.push((
            format!(
                "datagrams of more than 1,500 bytes: {}; they are jumbo frames, or were captured before they were cut or after they were joined",
                thousands(long)
            ),
            "capture with segmentation and receive offloads off, unless the link has jumbo frames",
        ));
    }
    carried.left_out_packets = Some(ingested.packets - counted);
    carried.interrupted = ingested.interrupted;
    Ok(carried)
}

/// The datagrams that vectors would be sent in.
fn of_vectors(args: &args::Overhead, input: &Path, kind: Kind, manner: Manner) -> Result<Carried, Failure> {
    let (paths, scratch) = ([input.to_owned()], std::env::temp_dir());
    let mut loaded = load::open(&paths, kind, &args.capture, &args::Hosts::default(), &scratch, manner)?;
    loaded.warn(manner);
    let (mut lengths, mut totals_only) = (Lengths::default(), 0);
    for vector in &mut loaded.vectors {
        let vector = vector?;
        totals_only += u64::from(load::is_of_totals(&vector));
        lengths.add_vector(&vector);
    }
    let mut carried = Carried::new(lengths, "workload");
    if totals_only > 0 {
        carried.warnings.push((
            format!(
                "connections have totals only, and what an end sent is taken as one piece: {}",
                thousands(totals_only)
            ),
            "extract from packets, if they can be captured",
        ));
    }
    Ok(carried)
}
