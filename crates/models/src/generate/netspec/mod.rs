//! The traffic of NetSpec (Frost et al. 1998, chapter 5): full blast, bursts, queued bursts, and the sources it emulates (methods J.4,
//! J.5). The language in which NetSpec's experiments are written is `flowloom-lab`'s.
//!
//! What has no published value is a required parameter. Functions have NetSpec's names; those of times are in microseconds, and so is
//! lambda per microsecond.

mod function;
mod video;

use std::sync::Arc;

use flowloom_core::keys::Quantity;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Rate, three_digits};
use flowloom_core::workload::{ConnectionVector, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use function::{Call, Parameter, is_function};
pub use video::{Conference, Memory, Mpeg};

use flowloom_core::play::Late;
use flowloom_core::rng::Source;
use function::{Function, Tables};

use super::ends::{
    Ends, Impossible, MOST_ADUS, MOST_PAYLOAD, Merged, Overlapping, Sent, Talk, above_zero, flow, sources,
};
use super::histogram::Read;
use super::on_off::Transport;
use super::tcplib::TableError;

/// Experiments that NetSpec ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Netspec {
    /// Sources of traffic.
    #[schemars(length(min = 1))]
    pub sources: Vec<Leaf>,
    /// Folder with the tables of tcplib as CSV, for FTP and TELNET. Without it the summaries of methods G.2 are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<String>,
    /// What the tables say, once they were read.
    #[serde(skip)]
    read: Tables,
}

/// Sources of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Leaf {
    /// What each sends.
    pub traffic: Traffic,
    /// How long, in seconds; left out: the whole time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Option<f64>,
    /// What it is sent over.
    pub protocol: Transport,
    /// How many sources there are.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub count: u32,
    /// How fast the path is. Full blast needs it, to know how much it is; the others take from their waits what a block takes to leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Quantity<Rate>>,
    /// Ends of the flows or connections.
    #[serde(default)]
    pub ends: Ends,
}

fn one() -> u32 {
    1
}

/// What a source sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Traffic {
    /// Blocks back to back.
    Full {
        /// Bytes of a block.
        #[schemars(range(min = 1))]
        blocksize: u64,
    },
    /// A block every period; one that is due while the last is being written is left out, and the next keeps its time.
    Burst {
        /// Bytes of a block.
        blocksize: Parameter,
        /// Microseconds from a block to the next, above zero.
        #[schemars(extend("exclusiveMinimum" = 0))]
        period: Parameter,
    },
    /// Blocks every period; those that are due while others are being written wait for them.
    Burstq {
        /// Bytes of a block.
        blocksize: Parameter,
        /// Microseconds from blocks to the next, above zero.
        #[schemars(extend("exclusiveMinimum" = 0))]
        period: Parameter,
        /// How many blocks at a time.
        #[serde(default = "once")]
        repeats: Parameter,
    },
    /// Sends nothing.
    Sink {},
    /// Sessions of files: `burstq` of `ftpItemSize`, `ftpNOfItems` and `ftpSessionInterarrival`.
    Ftp {
        /// Sessions in a microsecond, in the mean.
        #[schemars(extend("exclusiveMinimum" = 0))]
        lambda: f64,
    },
    /// Sessions, each a connection, of packets: `telnetSessionInterarrival`, `telnetSessionDuration`, `telnetPktInterarrival`,
    /// `telnetPktSize`.
    Telnet {
        /// Sessions in a microsecond, in the mean.
        #[schemars(extend("exclusiveMinimum" = 0))]
        lambda: f64,
    },
    /// Responses: `burstq` of `wwwItemSize` and `wwwRequestInterarrival`.
    Www {
        /// Requests in a microsecond, in the mean.
        #[schemars(extend("exclusiveMinimum" = 0))]
        lambda: f64,
        /// Tail index of sizes. Published: 0.40 to 0.63 (Arlitt and Williamson 1996), which have no mean.
        #[schemars(extend("exclusiveMinimum" = 0))]
        shape: f64,
        /// Smallest size in bytes.
        #[schemars(extend("exclusiveMinimum" = 0))]
        min: f64,
    },
    /// Frames of compressed video.
    Mpeg(Mpeg),
    /// Frames of a video conference.
    Videoconference(Conference),
    /// Calls, each a flow, at 64 kbit/s: `voiceSessionInterarrival` and `voiceSessionDuration`.
    Voice {
        /// Calls in a microsecond, in the mean.
        #[schemars(extend("exclusiveMinimum" = 0))]
        lambda: f64,
        /// One over the mean length of a call in microseconds.
        #[schemars(extend("exclusiveMinimum" = 0))]
        duration_lambda: f64,
        /// Bytes of speech in a packet.
        #[schemars(range(min = 1, max = MOST_PAYLOAD))]
        blocksize: u32,
    },
    /// `burst` of constants.
    Cbr {
        /// Bytes of a block.
        #[schemars(range(min = 1))]
        blocksize: u64,
        /// Microseconds from a block to the next.
        #[schemars(range(min = 1))]
        period: f64,
    },
}

fn once() -> Parameter {
    Parameter::Number(1.0)
}

/// Speech, in bit/s.
const VOICE: f64 = 64_000.0;

/// Blocks of a source: when, how many bytes.
pub type Blocks = Box<dyn Iterator<Item = (Time, f64)> + Send>;

type Programs = Box<dyn Iterator<Item = Program> + Send>;

/// Vectors of a source.
type Vectors = Box<dyn Iterator<Item = ConnectionVector> + Send>;

impl Netspec {
    /// Those sources.
    pub fn new(sources: Vec<Leaf>) -> Netspec {
        Netspec { sources, tables: None, read: Tables::default() }
    }

    /// Takes the laws of FTP and TELNET from tcplib's tables, by their names without an ending: `ftp_nitems`.
    ///
    /// # Errors
    /// The reader's, or a table that is no cumulative histogram.
    pub fn read_tables<E>(&mut self, read: Read<'_, E>) -> Result<(), TableError<E>> {
        self.read = Tables::read(read)?;
        Ok(())
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The parameter to blame.
    pub fn check(&self) -> Result<(), Impossible> {
        if self.sources.is_empty() {
            return Err(Impossible::new("sources", "are none"));
        }
        for (number, leaf) in self.sources.iter().enumerate() {
            leaf.check(&self.read).map_err(|problem| problem.within(format_args!("sources[{number}]")))?;
        }
        let count = self.sources.iter().map(|leaf| u64::from(leaf.count)).sum::<u64>();
        sources("sources", u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// What a reader of results should know: laws without a mean, and how much of what is drawn is clipped.
    pub fn remarks(&self) -> Vec<String> {
        self.sources.iter().flat_map(|leaf| leaf.remarks(&self.read)).collect()
    }

    /// What the sources send in `duration`.
    pub fn vectors(&self, seed: u64, duration: Duration) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let model = Arc::new(self.clone());
        let leaves: Vec<(usize, u64)> = self
            .sources
            .iter()
            .enumerate()
            .flat_map(|(leaf, of)| std::iter::repeat_n(leaf, of.count as usize))
            .zip(0..)
            .collect();
        let merged = Merged::new(leaves.into_iter().map(move |(leaf, number)| {
            let leaf = &model.sources[leaf];
            let end = leaf.duration.map_or(duration, Duration::from_secs_f64).min(duration);
            leaf.vectors(&model.read, seed, number, Time::ZERO + end)
        }));
        // Blocks that wait for a slow path may become a connection after the end.
        merged.take_while(move |vector| vector.start < Time::ZERO + duration)
    }
}

impl Traffic {
    /// Refuses what cannot be; keys are those of its table.
    fn check(&self, tables: &Tables) -> Result<(), Impossible> {
        let of =
            |key, parameter: &Parameter| parameter.function(tables).map_err(|problem| Impossible::new(key, problem));
        let emulated =
            |calls: &[Call]| calls.iter().try_for_each(|call| of("type", &Parameter::Call(call.clone())).map(drop));
        match self {
            Traffic::Full { blocksize } => above_zero("blocksize", *blocksize as f64)?,
            Traffic::Burst { blocksize, period } => {
                of("blocksize", blocksize)?;
                of("period", period)?.never_zero("period")?;
            }
            Traffic::Burstq { blocksize, period, repeats } => {
                of("blocksize", blocksize)?;
                of("repeats", repeats)?;
                of("period", period)?.never_zero("period")?;
            }
            Traffic::Sink {} => {}
            Traffic::Ftp { lambda } => {
                above_zero("lambda", *lambda)?;
                emulated(&ftp(*lambda))?;
            }
            Traffic::Telnet { lambda } => {
                above_zero("lambda", *lambda)?;
                emulated(&telnet(*lambda))?;
            }
            Traffic::Www { lambda, shape, min } => {
                [("lambda", *lambda), ("shape", *shape), ("min", *min)]
                    .into_iter()
                    .try_for_each(|(key, value)| above_zero(key, value))?;
                emulated(&www(*lambda, *shape, *min))?;
            }
            Traffic::Mpeg(mpeg) => mpeg.check()?,
            Traffic::Videoconference(conference) => conference.check()?,
            Traffic::Voice { lambda, duration_lambda, blocksize } => {
                above_zero("lambda", *lambda)?;
                above_zero("duration-lambda", *duration_lambda)?;
                emulated(&voice(*lambda, *duration_lambda))?;
                super::on_off::check_payload("blocksize", *blocksize)?;
            }
            Traffic::Cbr { blocksize, period } => {
                above_zero("blocksize", *blocksize as f64)?;
                if !(*period >= 1.0 && period.is_finite()) {
                    return Err(Impossible::new("period", format!("of {period} is not possible: 1 us or more")));
                }
            }
        }
        Ok(())
    }
}

impl Leaf {
    /// What one source of this kind writes in `duration`, by flow or connection in order of their start, with the summaries of
    /// methods G.2 for FTP and TELNET: what [`Netspec::vectors`] has as vectors, for programs that write themselves. To be checked before.
    pub fn written(&self, seed: u64, duration: Duration) -> impl Iterator<Item = Program> + Send + use<> {
        let end = self.duration.map_or(duration, Duration::from_secs_f64).min(duration);
        self.programs(&Tables::default(), seed, 0, Time::ZERO + end)
    }

    /// Refuses what cannot be written: what [`Netspec::check`] refuses, but for what only vectors need.
    ///
    /// # Errors
    /// The parameter to blame.
    pub fn check_written(&self) -> Result<(), Impossible> {
        self.check_amounts()?;
        self.traffic.check(&Tables::default())?;
        self.ends.check()
    }

    /// Whether it has sessions, each a connection or flow of its own.
    pub fn has_sessions(&self) -> bool {
        matches!(self.traffic, Traffic::Telnet { .. } | Traffic::Voice { .. })
    }

    /// Refuses what cannot be.
    fn check(&self, tables: &Tables) -> Result<(), Impossible> {
        self.check_amounts()?;
        self.traffic.check(tables).map_err(|problem| problem.within("traffic"))?;
        self.ends.check()?;
        let bits = self.speed.as_ref().and_then(|speed| speed.value.bits_per_second());
        if matches!(self.traffic, Traffic::Full { .. }) && bits.is_none() {
            return Err(Impossible::new("speed", "is missing: it says how much full blast is"));
        }
        Ok(())
    }

    fn check_amounts(&self) -> Result<(), Impossible> {
        if self.count == 0 {
            return Err(Impossible::new("count", "of 0 sends nothing"));
        }
        self.duration.map_or(Ok(()), |duration| above_zero("duration", duration))
    }

    fn remarks(&self, tables: &Tables) -> Vec<String> {
        let of = |parameters: &[(&str, &Parameter)]| {
            let remarks = parameters.iter().flat_map(|(key, parameter)| {
                let function = parameter.function(tables).ok();
                let share = function.as_ref().map_or(0.0, Function::clipped);
                let percent = 100.0 * share;
                // What is hardly clipped is not "0.0 %".
                let shown = if percent < 0.1 { three_digits(percent) } else { format!("{percent:.1}") };
                let clipped = (share > 0.0).then(|| format!("{key}: {shown} % of what is drawn is clipped"));
                let endless = function.filter(|function| !function.has_mean());
                let endless = endless.map(|_| format!("{key} has no mean, so that no load can be expected"));
                [clipped, endless].into_iter().flatten()
            });
            remarks.collect()
        };
        match &self.traffic {
            Traffic::Www { shape, .. } if *shape <= 1.0 => {
                vec![format!("www: a shape of {shape} has no mean, so that the load grows with the run")]
            }
            Traffic::Burst { blocksize, period } => of(&[("blocksize", blocksize), ("period", period)]),
            Traffic::Burstq { blocksize, period, repeats } => {
                of(&[("blocksize", blocksize), ("period", period), ("repeats", repeats)])
            }
            _ => Vec::new(),
        }
    }

    fn vectors(&self, tables: &Tables, seed: u64, number: u64, end: Time) -> Vectors {
        let source = Source(number, 0);
        match (&self.traffic, self.protocol) {
            (Traffic::Full { blocksize }, _) => self.full(source, *blocksize, end),
            (Traffic::Voice { lambda, duration_lambda, blocksize }, Transport::Udp) => {
                let (leaf, blocksize) = (self.clone(), *blocksize);
                let calls = calls(seed, source, *lambda, *duration_lambda, tables, end);
                Box::new(calls.flat_map(move |(source, from, to)| leaf.call(source, from, to, blocksize)))
            }
            _ => {
                let leaf = self.clone();
                let programs = self.programs(tables, seed, number, end);
                Box::new(Overlapping::new(programs.map(move |program| (program.start, leaf.one(program, end)))))
            }
        }
    }

    /// What the flows or connections of one source write, in order of their start.
    fn programs(&self, tables: &Tables, seed: u64, number: u64, end: Time) -> Programs {
        let source = Source(number, 0);
        let function = |call: Call| Parameter::Call(call).function(tables).expect("its parameters are given");
        let given = |parameter: &Parameter| parameter.function(tables).expect("checked");
        let one = |blocks: Blocks, late| {
            Box::new(std::iter::once(Program { source, port: None, start: Time::ZERO, blocks, late }))
        };
        let bursts = |blocksize, period, repeats, late| {
            one(Box::new(Bursts::new(seed, source, blocksize, period, repeats, end)), late)
        };
        match &self.traffic {
            Traffic::Sink {} => Box::new(std::iter::empty()),
            Traffic::Full { blocksize } => {
                one(Box::new(std::iter::repeat((Time::ZERO, *blocksize as f64))), Late::Waits)
            }
            Traffic::Burst { blocksize, period } => {
                bursts(given(blocksize), given(period), Function::constant(1.0), Late::IsLeftOut)
            }
            Traffic::Burstq { blocksize, period, repeats } => {
                bursts(given(blocksize), given(period), given(repeats), Late::Waits)
            }
            Traffic::Cbr { blocksize, period } => {
                let [blocksize, period] = [*blocksize as f64, *period].map(Function::constant);
                bursts(blocksize, period, Function::constant(1.0), Late::IsLeftOut)
            }
            Traffic::Ftp { lambda } => {
                let [sizes, gaps, items] = ftp(*lambda).map(function);
                bursts(sizes, gaps, items, Late::Waits)
            }
            Traffic::Www { lambda, shape, min } => {
                let [sizes, gaps] = www(*lambda, *shape, *min).map(function);
                bursts(sizes, gaps, Function::constant(1.0), Late::Waits)
            }
            Traffic::Mpeg(mpeg) => one(mpeg.frames(seed, source, end), Late::Waits),
            Traffic::Videoconference(conference) => one(conference.frames(seed, source, end), Late::Waits),
            Traffic::Telnet { lambda } => {
                let [between, lengths, gaps, sizes] = telnet(*lambda).map(function);
                Box::new(Sessions::new(seed, source, between, lengths, end).map(move |(source, from, to)| {
                    // The first packet comes after a gap.
                    let first = gaps.sample(&mut source.stream(seed, Purpose::Phases));
                    let mut bursts =
                        Bursts::new(seed, source, sizes.clone(), gaps.clone(), Function::constant(1.0), to);
                    bursts.now = from + micros(first);
                    Program { source, port: Some(23), start: from, blocks: Box::new(bursts), late: Late::Waits }
                }))
            }
            Traffic::Voice { lambda, duration_lambda, blocksize } => {
                let blocksize = *blocksize;
                let calls = calls(seed, source, *lambda, *duration_lambda, tables, end);
                Box::new(calls.map(move |(source, from, to)| {
                    let (gap, packets) = speech(from, to, blocksize);
                    let blocks = (0..u64::from(packets)).map(move |packet| (from + gap * packet, f64::from(blocksize)));
                    Program { source, port: None, start: from, blocks: Box::new(blocks), late: Late::Waits }
                }))
            }
        }
    }

    /// Full blast: as much as the path could take.
    fn full(&self, source: Source, blocksize: u64, end: Time) -> Vectors {
        let bits = self.speed.as_ref().and_then(|speed| speed.value.bits_per_second()).unwrap_or_default();
        let length = end.since(Time::ZERO);
        let blocks = (bits as f64 * length.as_secs_f64() / 8.0 / blocksize as f64).ceil().max(1.0);
        let bytes = blocks * blocksize as f64;
        match self.protocol {
            Transport::Tcp => {
                let mut talk = Talk::new(&self.ends, Time::ZERO, None, source);
                talk.send(Side::Initiator, bytes);
                Box::new(talk.close(Side::Initiator).into_iter())
            }
            Transport::Udp => {
                let block = blocksize.div_ceil(u64::from(MOST_PAYLOAD));
                let packets = (blocks * block as f64).min(f64::from(u32::MAX)) as u32;
                let gap = length / u64::from(packets);
                let sent = Sent { at: Time::ZERO, length: gap * u64::from(packets - 1), packets, bytes: bytes as u64 };
                Box::new(flow(self.ends.clone(), None, source, std::iter::once(sent)))
            }
        }
    }

    /// One call, as datagrams.
    fn call(&self, source: Source, from: Time, to: Time, blocksize: u32) -> Option<ConnectionVector> {
        let (gap, packets) = speech(from, to, blocksize);
        let bytes = u64::from(blocksize) * u64::from(packets);
        let sent = Sent { at: from, length: gap * u64::from(packets - 1), packets, bytes };
        flow(self.ends.clone(), None, source, std::iter::once(sent)).next()
    }

    /// The one flow or connection that carries a program.
    fn one(&self, program: Program, end: Time) -> Vectors {
        match self.protocol {
            Transport::Udp => {
                let Program { source, port, blocks, .. } = program;
                let sent = blocks.map(|(at, bytes)| Sent::block(at, bytes, MOST_PAYLOAD));
                Box::new(flow(self.ends.clone(), port, source, sent))
            }
            Transport::Tcp => Box::new(self.connections(program, end)),
        }
    }

    /// The connection that carries `blocks`, or where that would have too many ADUs one after the other.
    fn connections(&self, program: Program, end: Time) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let Program { mut source, port, mut blocks, late, .. } = program;
        let (ends, speed) = (self.ends.clone(), self.speed.as_ref().and_then(|speed| speed.value.bits_per_second()));
        let takes =
            move |bytes: f64| speed.map_or(Duration::ZERO, |bits| Duration::from_secs_f64(8.0 * bytes / bits as f64));
        let mut done = Time::ZERO;
        std::iter::from_fn(move || {
            let mut talk: Option<Talk> = None;
            for (due, bytes) in blocks.by_ref() {
                if late == Late::IsLeftOut && done > due {
                    if done >= end {
                        break;
                    }
                    continue;
                }
                let begins = due.max(done);
                let talk = match &mut talk {
                    Some(talk) => {
                        talk.wait(begins.since(done));
                        talk
                    }
                    none => none.insert(Talk::new(&ends, begins, port, source)),
                };
                talk.send(Side::Initiator, bytes);
                done = begins + takes(bytes);
                if talk.len() == MOST_ADUS {
                    break;
                }
            }
            source.1 += 1;
            talk?.close(Side::Initiator)
        })
    }
}

/// What one flow or connection of a source writes.
pub struct Program {
    source: Source,
    port: Option<u16>,
    /// When it begins; its first block may be due later.
    pub start: Time,
    /// When blocks are due, and their bytes; those of full blast never end.
    pub blocks: Blocks,
    /// What becomes of a block that is due while another is being written.
    pub late: Late,
}

/// Calls of a source: which, from when to when.
fn calls(seed: u64, source: Source, lambda: f64, duration_lambda: f64, tables: &Tables, end: Time) -> Sessions {
    let [between, lengths] = voice(lambda, duration_lambda)
        .map(|call| Parameter::Call(call).function(tables).expect("its parameters are given"));
    Sessions::new(seed, source, between, lengths, end)
}

/// Time between packets of speech with so many bytes, and how many a call has.
fn speech(from: Time, to: Time, blocksize: u32) -> (Duration, u32) {
    let gap = Duration::from_secs_f64(8.0 * f64::from(blocksize) / VOICE);
    let packets = (to.since(from).as_nanos() / gap.as_nanos().max(1) + 1).min(u64::from(u32::MAX)) as u32;
    (gap, packets)
}

/// The functions of the sources that NetSpec emulates: sizes, times between, and how many at a time.
fn ftp(lambda: f64) -> [Call; 3] {
    [
        Call { min: Some(8.0), ..Call::new("ftpItemSize") },
        Call { lambda: Some(lambda), ..Call::new("ftpSessionInterarrival") },
        Call { min: Some(1.0), ..Call::new("ftpNOfItems") },
    ]
}

/// Sizes, and times between.
fn www(lambda: f64, shape: f64, min: f64) -> [Call; 2] {
    [
        Call { shape: Some(shape), min: Some(min), ..Call::new("wwwItemSize") },
        Call { lambda: Some(lambda), ..Call::new("wwwRequestInterarrival") },
    ]
}

/// Times between sessions, their lengths, and in them times between packets and their sizes.
fn telnet(lambda: f64) -> [Call; 4] {
    [
        Call { lambda: Some(lambda), ..Call::new("telnetSessionInterarrival") },
        Call::new("telnetSessionDuration"),
        Call::new("telnetPktInterarrival"),
        Call::new("telnetPktSize"),
    ]
}

/// Times between calls, and their lengths.
fn voice(lambda: f64, duration_lambda: f64) -> [Call; 2] {
    [
        Call { lambda: Some(lambda), ..Call::new("voiceSessionInterarrival") },
        Call { lambda: Some(duration_lambda), ..Call::new("voiceSessionDuration") },
    ]
}

fn micros(micros: f64) -> Duration {
    Duration::from_secs_f64(micros / 1e6)
}

/// Blocks every period.
struct Bursts {
    blocksize: Function,
    period: Function,
    repeats: Function,
    sizes: Stream,
    periods: Stream,
    counts: Stream,
    /// When the next blocks are due.
    now: Time,
    end: Time,
    /// Blocks left of those due now.
    left: u64,
}

impl Bursts {
    fn new(seed: u64, source: Source, blocksize: Function, period: Function, repeats: Function, end: Time) -> Bursts {
        let stream = |purpose| source.stream(seed, purpose);
        let (sizes, periods, counts) = (stream(Purpose::ItemBytes), stream(Purpose::Gaps), stream(Purpose::Items));
        Bursts { blocksize, period, repeats, sizes, periods, counts, now: Time::ZERO, end, left: 0 }
    }
}

impl Iterator for Bursts {
    type Item = (Time, f64);

    fn next(&mut self) -> Option<(Time, f64)> {
        if self.now >= self.end {
            return None;
        }
        if self.left == 0 {
            self.left = self.repeats.sample(&mut self.counts).ceil().clamp(1.0, MOST_ADUS as f64) as u64;
        }
        let block = (self.now, self.blocksize.sample(&mut self.sizes));
        self.left -= 1;
        if self.left == 0 {
            self.now += micros(self.period.sample(&mut self.periods)).max(Duration::from_micros(1));
        }
        Some(block)
    }
}

/// Sessions of a source that begin in a Poisson process: which, from when to when. They are cut at the end.
struct Sessions {
    seed: u64,
    source: Source,
    between: Function,
    lengths: Function,
    gaps: Stream,
    now: Time,
    end: Time,
}

impl Sessions {
    fn new(seed: u64, source: Source, between: Function, lengths: Function, end: Time) -> Sessions {
        let gaps = source.stream(seed, Purpose::SessionGaps);
        Sessions { seed, source, between, lengths, gaps, now: Time::ZERO, end }
    }
}

impl Iterator for Sessions {
    type Item = (Source, Time, Time);

    fn next(&mut self) -> Option<(Source, Time, Time)> {
        self.now += micros(self.between.sample(&mut self.gaps)).max(Duration::from_nanos(1));
        let (from, source) = (self.now, self.source);
        if from >= self.end {
            return None;
        }
        self.source.1 += 1;
        let length = micros(self.lengths.sample(&mut source.stream(self.seed, Purpose::Durations)));
        Some((source, from, (from + length).min(self.end)))
    }
}

#[cfg(test)]
mod tests;
