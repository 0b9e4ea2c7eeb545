//! Captures to connection vectors: the step that extraction, description and runs share. What was learnt beside the vectors is in [`Extracted`].

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use flowloom_core::extract::{Finished, Front, Options, Packet, Prefix};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::{Copies, Decoder, Parsed, SetAside, SetAsideCounts};
use flowloom_core::workload::ConnectionVector;
use flowloom_store::addresses::AddressBook;
use flowloom_store::capture::{self, CaptureError, Captures, Format, Input, LiveOptions};
use flowloom_store::interrupt::Interrupt;
use flowloom_store::workload::CopyFacts;

use crate::clock::Stopwatch;
use crate::context::{Context, Event, Progress, Step};
use crate::error::Error;

pub(crate) mod options;
mod outcome;
mod threads;

pub use options::{ACTIVE_TIMEOUT, CaptureOptions, IDLE_TIMEOUT, LiveCapture, MAX_MEMORY, Monitor, UDP_IDLE_TIMEOUT};
pub use outcome::{Extracted, Summary};
use threads::{End, Waiting};

/// Reads `paths` to the end and hands every vector to `sink`, in order of start, with what `hosts` keeps of its ends.
/// Vectors that must wait for an older connection and do not fit in memory go to temporary files in `scratch`.
///
/// # Errors
/// What the captures or the sink could not do; vectors handed over before stay handed over.
pub fn vectors(
    paths: &[PathBuf],
    options: &CaptureOptions,
    hosts: &mut AddressBook,
    scratch: &Path,
    context: Context<'_>,
    sink: impl FnMut(ConnectionVector) -> Result<(), Error> + Send,
) -> Result<Extracted, Error> {
    let (mut captures, interrupt) = open(paths, options, context)?;
    extract(&mut captures, interrupt, options, hosts, scratch, context, |_, _, _| (), sink)
}

/// As [`vectors`] of one path where nobody asks for addresses, and shows `watch` every packet on the way: its time, what it carries, its
/// length on the wire.
///
/// # Errors
/// Those of [`vectors`].
pub fn watched(
    path: &Path,
    options: &CaptureOptions,
    context: Context<'_>,
    watch: impl FnMut(Time, &Result<Parsed, SetAside>, u32) + Send,
    sink: impl FnMut(ConnectionVector) -> Result<(), Error> + Send,
) -> Result<Extracted, Error> {
    let (mut captures, interrupt) = open(&[path.to_owned()], options, context)?;
    extract(&mut captures, interrupt, options, &mut AddressBook::default(), &std::env::temp_dir(), context, watch, sink)
}

/// Opens captures, and what ends the reading of those that are pipes.
fn open(paths: &[PathBuf], options: &CaptureOptions, context: Context<'_>) -> Result<(Captures, Interrupt), Error> {
    let inputs: Vec<Input> = paths.iter().map(Input::from_argument).collect();
    let reading = capture::Options { truncation: options.truncation, ..capture::Options::default() };
    let interrupt = context.interrupt();
    match Captures::open_until(&inputs, reading, &interrupt) {
        Ok(captures) => Ok((captures, interrupt)),
        Err(_) if interrupt.has_cut() => Err(Error::stopped()),
        Err(error) => Err(unreadable(&error, 0)),
    }
}

/// Captures from `interface` until the time is over, so many packets have passed, or the user stops it: all three are
/// how such a capture ends. Hands over vectors as [`vectors`] does.
///
/// # Errors
/// As [`vectors`].
pub fn live(
    interface: &str,
    live: &LiveCapture,
    options: &CaptureOptions,
    hosts: &mut AddressBook,
    scratch: &Path,
    context: Context<'_>,
    sink: impl FnMut(ConnectionVector) -> Result<(), Error> + Send,
) -> Result<Extracted, Error> {
    let mut captures = open_interface(interface, live, context)?;
    context.event(&Event::Capturing(interface));
    part(&mut captures, options, hosts, scratch, context, sink)
}

/// Begins to capture from `interface`, until the time is over, so many packets have passed, or the user stops it.
///
/// # Errors
/// There is no such interface, it is down, or this user may not capture from it.
pub fn open_interface(interface: &str, live: &LiveCapture, context: Context<'_>) -> Result<Captures, Error> {
    let (clock, duration) = (Stopwatch::start(), live.duration.map_or(u64::MAX, Duration::as_nanos));
    let stopped = context.stop().clone();
    let stop = move || stopped.is_requested() || clock.nanos() >= duration;
    let capturing =
        LiveOptions { promiscuous: !live.no_promiscuous, most_packets: live.packets, ..LiveOptions::default() };
    Captures::live(interface, capturing, Box::new(stop)).map_err(|error| unreadable(&error, 0))
}

/// Extracts what `captures` from an interface hold until the end of the part that was begun, or of all.
///
/// # Errors
/// As [`vectors`].
pub fn part(
    captures: &mut Captures,
    options: &CaptureOptions,
    hosts: &mut AddressBook,
    scratch: &Path,
    context: Context<'_>,
    sink: impl FnMut(ConnectionVector) -> Result<(), Error> + Send,
) -> Result<Extracted, Error> {
    extract(captures, Interrupt::never(), options, hosts, scratch, context, |_, _, _| (), sink)
}

#[expect(clippy::too_many_arguments, reason = "what three functions have in common")]
fn extract(
    captures: &mut Captures,
    interrupt: Interrupt,
    options: &CaptureOptions,
    hosts: &mut AddressBook,
    scratch: &Path,
    context: Context<'_>,
    watch: impl FnMut(Time, &Result<Parsed, SetAside>, u32) + Send,
    mut sink: impl FnMut(ConnectionVector) -> Result<(), Error> + Send,
) -> Result<Extracted, Error> {
    options.check()?;
    let inside = inside(options)?;
    let live = captures.inputs().iter().any(|input| input.format == Format::Interface);
    let machine = Options {
        idle_timeout: options.idle_timeout,
        datagram_idle_timeout: options.udp_idle_timeout,
        monitor: options.monitor.position(),
        inside,
        vlan_key: options.vlan_key,
        complete_only: options.complete_only,
        keep_one_way: options.one_way,
        missing: options.missing.unwrap_or_default(),
        // A quarter is for what waits to be written, and the rest for tables that grow and packets that were read ahead.
        memory: options.max_memory / 100 * 40,
        hash_secret: hash_secret(),
        ..Options::default()
    };
    let total = captures.inputs().iter().map(|input| input.total_bytes).sum::<Option<u64>>();
    let mut reader = Reader {
        captures,
        interrupt,
        decoder: Decoder::default(),
        front: Front::new(&machine),
        packets_set_aside: SetAsideCounts::default(),
        packets: 0,
        captured_bytes: 0,
        progress: context.begin(Step::Extracting, total),
        live,
        context,
        tcp_only: options.tcp_only,
        watch,
        copies: Copies::default(),
        interrupted: false,
    };
    let write = |mut finished: Finished| {
        hosts.label_hosts(&mut finished.vector, finished.initiator, finished.acceptor);
        sink(finished.vector)
    };
    let waiting = Waiting { most_bytes: options.max_memory / 4, folder: scratch };
    let (counts, series) =
        threads::run(&machine, options.thread_count(), waiting, |packets| reader.read(packets), write)?;
    let extracted = Extracted {
        inputs: reader.captures.inputs().to_vec(),
        skipped: reader.captures.skipped().to_vec(),
        packets_set_aside: reader.packets_set_aside,
        counts: reader.front.counts().plus(&counts),
        series,
        packets: reader.packets,
        captured_bytes: reader.captured_bytes,
        options: options.clone(),
        copies: CopyFacts { packets: reader.copies.copies(), judged: reader.copies.judged() },
        interrupted: reader.interrupted,
        workload: PathBuf::new(),
    };
    drop(reader);
    context.explain(|| extracted.explanation());
    Ok(extracted)
}

/// From captures to packets for extraction.
struct Reader<'a, W> {
    captures: &'a mut Captures,
    /// What ends the reading of pipes.
    interrupt: Interrupt,
    decoder: Decoder,
    front: Front,
    packets_set_aside: SetAsideCounts,
    packets: u64,
    captured_bytes: u64,
    copies: Copies,
    progress: Progress<'a>,
    context: Context<'a>,
    /// An interface: an interrupt ends the capture by itself, and nothing is missing then.
    live: bool,
    tcp_only: bool,
    watch: W,
    interrupted: bool,
}

impl<W: FnMut(Time, &Result<Parsed, SetAside>, u32)> Reader<'_, W> {
    /// Reads a round of packets, each to those of its part.
    fn read(&mut self, of_parts: &mut [Vec<Packet>]) -> Result<End, Error> {
        loop {
            let packet = match self.captures.next_packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => break,
                // What was read until then is kept.
                Err(_) if self.interrupt.has_cut() => break,
                Err(error) => return Err(unreadable(&error, self.packets)),
            };
            if self.packets == 0 {
                self.front.begin(packet.time);
            }
            self.packets += 1;
            self.captured_bytes += u64::from(packet.wire_length);
            let parsed = packet.decode(&mut self.decoder);
            (self.watch)(packet.time, &parsed, packet.wire_length);
            match parsed {
                Ok(Parsed::Segment(segment)) => {
                    self.copies.segment(packet.time, &segment);
                    self.front.handle_segment(packet.time, &segment, of_parts);
                }
                Ok(Parsed::Datagram(datagram)) if !self.tcp_only => {
                    self.copies.datagram(packet.time, &datagram);
                    self.front.handle_datagram(packet.time, &datagram, of_parts);
                }
                Ok(Parsed::Datagram(_)) => {
                    self.front.pass_over(packet.time);
                    self.packets_set_aside.count(SetAside::Udp, packet.wire_length);
                }
                Err(reason) => {
                    // It may be all that the capture holds.
                    if reason == SetAside::HeaderCut {
                        self.front.pass_over(packet.time);
                    }
                    self.packets_set_aside.count(reason, packet.wire_length);
                }
            }
            // Looking at clocks and signals for every packet would cost more than the packet.
            if self.packets.is_multiple_of(4096) && self.look_up() {
                break;
            }
            if let Some(round) = self.front.round() {
                return Ok(End::Round(round));
            }
        }
        self.look_up();
        self.front.finish(of_parts);
        Ok(End::Capture)
    }

    /// Says how far it is; whether the user asked to stop.
    fn look_up(&mut self) -> bool {
        self.progress.set(self.captures.inputs().iter().map(|input| input.bytes_read).sum());
        self.interrupted |= self.context.is_stopped() && !self.live;
        self.interrupted
    }
}

/// A capture's error as the user sees it.
fn unreadable(error: &CaptureError, packets: u64) -> Error {
    let failure = Error::new(error).hint_if(error.hint());
    if packets == 0 {
        failure
    } else {
        failure.note(format_args!("read so far: {packets} packets; nothing was written"))
    }
}

/// A secret for hashes, from the operating system: `RandomState` is std's door to its random numbers.
pub fn hash_secret() -> u64 {
    RandomState::new().hash_one(0)
}

/// The prefixes of `--inside`: `10.0.0.0/8`, `2001:db8::/32` or single addresses.
pub fn inside(options: &CaptureOptions) -> Result<Vec<Prefix>, Error> {
    let parse = |text: &String| {
        text.parse().map_err(|_| {
            Error::usage(format_args!("--inside {text}: not an address prefix"))
                .hint("write it like 10.0.0.0/8 or 2001:db8::/32")
        })
    };
    options.inside.iter().map(parse).collect()
}
