//! What datagrams cost on a line: transmission efficiency of any stack of framings.

use std::ops::RangeInclusive;
use std::path::Path;

use flowloom_core::cell::framing::{Lengths, Stack, WrittenError, known_names};
use flowloom_core::extract::conversations::Transport;
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::wire::Parsed;
use flowloom_report::overhead::{DatagramTotals, Overhead, StackEfficiency};
use flowloom_store::{formats, lengths};

use crate::contents::is_of_totals;
use crate::context::Context;
use crate::error::{Error, nearest};
use crate::extraction::{self, CaptureOptions};
use crate::input::{self, Kind};
use crate::warning::Warning;
use crate::workload::hosts::HostOptions;
use crate::workload::load;

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
    warnings: Vec<Warning>,
    interrupted: bool,
}

impl Carried {
    fn new(lengths: Lengths, of: &'static str) -> Carried {
        Carried { lengths, of, left_out_packets: None, warnings: Vec::new(), interrupted: false }
    }
}

/// What is carried.
#[derive(Clone, Copy, Debug)]
pub enum Datagrams<'a> {
    /// The datagrams of a capture, a workload or a histogram of lengths.
    File(&'a Path),
    /// The histogram of this name that comes with Flowloom.
    BuiltIn(&'a str),
}

/// How the cost is computed.
#[derive(Clone, Debug)]
pub struct OverheadOptions {
    /// Stacks of framings, written from the inside out; empty: the published ones and those of today.
    pub stacks: Vec<String>,
    /// Payloads of cells for which the efficiency is computed as well.
    pub payloads: RangeInclusive<u32>,
    /// How captures are read.
    pub capture: CaptureOptions,
}

/// What `datagrams` cost over each stack.
///
/// # Errors
/// A stack that cannot be read; what is wrong with the input; nothing to carry.
pub fn overhead(datagrams: Datagrams<'_>, options: &OverheadOptions, context: Context<'_>) -> Result<Overhead, Error> {
    let written: Vec<&str> = match options.stacks.is_empty() {
        true => STACKS.to_vec(),
        false => options.stacks.iter().map(String::as_str).collect(),
    };
    let stacks = written.into_iter().map(stack).collect::<Result<Vec<Stack>, Error>>()?;
    let (carried, source) = match datagrams {
        Datagrams::BuiltIn(name) => {
            (of_histogram(options, lengths::built_in(name).unwrap_or_default())?, Some(name.to_owned()))
        }
        Datagrams::File(input) => {
            let name = (!options.capture.anonymize).then(|| input.display().to_string());
            (of_file(options, input, context)?, name)
        }
    };
    if carried.lengths.is_empty() && !carried.interrupted {
        let what = match datagrams {
            Datagrams::BuiltIn(_) => String::new(),
            Datagrams::File(input) => format!("{}: ", input.display()),
        };
        return Err(Error::new(format_args!("{what}holds no TCP or UDP datagrams: nothing to carry"))
            .hint("flowloom describe says what is in captures and workloads"));
    }
    carried.warnings.iter().for_each(|warning| context.warn(warning));
    let of = |stack: &Stack| StackEfficiency::of(stack, &carried.lengths, options.payloads.clone());
    Ok(Overhead {
        source,
        lengths_of: carried.of,
        tcp: DatagramTotals::of(&carried.lengths, Transport::Tcp),
        udp: DatagramTotals::of(&carried.lengths, Transport::Udp),
        left_out_packets: carried.left_out_packets,
        stacks: stacks.iter().map(of).collect(),
        warnings: carried.warnings.iter().map(Warning::to_string).collect(),
        interrupted: carried.interrupted,
    })
}

fn stack(written: &str) -> Result<Stack, Error> {
    written.parse::<Stack>().map_err(|error| {
        let failure = Error::usage(format_args!("--stack {written}: {error}"));
        let WrittenError::Unknown { name } = &error else { return failure };
        let known = known_names();
        let meant = nearest(name, &known).map(|meant| format!("did you mean \"{meant}\"?"));
        failure.note(format_args!("known: {}", known.join(", "))).hint_if(meant)
    })
}

/// Lengths that stand in a histogram: options about reading packets change nothing.
fn of_histogram(options: &OverheadOptions, lengths: Lengths) -> Result<Carried, Error> {
    input::refuse_reading_options(&options.capture, "the lengths are those of a histogram")?;
    Ok(Carried::new(lengths, "histogram"))
}

fn of_file(options: &OverheadOptions, input: &Path, context: Context<'_>) -> Result<Carried, Error> {
    let is_histogram = input.is_file() && formats::head(input).is_ok_and(|head| lengths::begins(&head));
    if is_histogram {
        return of_histogram(options, lengths::open(input).map_err(load::unreadable)?);
    }
    let kind = input::kind(input);
    if let Kind::Experiment | Kind::Specification | Kind::RunFolder = kind {
        return Err(Error::usage(format_args!("{} is {}, which holds no datagrams", input.display(), kind.words()))
            .hint("give the capture or the workload it replays, or a histogram of lengths"));
    }
    input::refuse_idle_options(&options.capture, kind, input)?;
    match kind {
        Kind::Capture => of_capture(options, input, context),
        _ => of_vectors(options, input, kind, context),
    }
}

/// IP datagrams as they passed: headers with their options, retransmissions and acknowledgements among them.
fn of_capture(options: &OverheadOptions, input: &Path, context: Context<'_>) -> Result<Carried, Error> {
    let (mut lengths, mut counted) = (Lengths::default(), 0);
    let extracted = extraction::watched(
        input,
        &options.capture,
        context,
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
    extracted.warn(context);
    let long = lengths.groups().filter(|(_, ip_bytes, _)| *ip_bytes > USUAL_MTU).map(|(.., group)| group.datagrams);
    let long: u64 = long.sum();
    let mut carried = Carried::new(lengths, "packets");
    if long > 0 {
        carried.warnings.push(Warning::JumboDatagrams { datagrams: long });
    }
    carried.left_out_packets = Some(extracted.packets - counted);
    carried.interrupted = extracted.interrupted;
    Ok(carried)
}

/// The datagrams that vectors would be sent in.
fn of_vectors(options: &OverheadOptions, input: &Path, kind: Kind, context: Context<'_>) -> Result<Carried, Error> {
    let (paths, scratch) = ([input.to_owned()], std::env::temp_dir());
    let mut loaded = load::open(&paths, kind, &options.capture, &HostOptions::default(), &scratch, context)?;
    loaded.warn(context);
    let (mut lengths, mut totals_only) = (Lengths::default(), 0);
    for vector in &mut loaded.vectors {
        let vector = vector?;
        totals_only += u64::from(is_of_totals(&vector));
        lengths.add_vector(&vector);
    }
    let mut carried = Carried::new(lengths, "workload");
    if totals_only > 0 {
        carried.warnings.push(Warning::TotalsOnly { connections: totals_only });
    }
    Ok(carried)
}
