//! `type`: what a leaf sends. Its laws are those of [`flowloom_models::generate::netspec`], which also says what cannot be.

use flowloom_core::time::Duration;
use flowloom_models::generate::netspec::{self, Call, Conference, Memory, Mpeg, Netspec, Parameter as Drawn, Traffic};
use flowloom_models::generate::on_off::Transport;

use super::super::diagnostic::{Diagnostic, did_you_mean};
use super::super::quantity::Quantity;
use super::super::tree::{Argument, Form, Function, Parameter, Value};
use super::arguments::Arguments;
use super::names::{as_function, named_function, same_name};
use super::protocol::Protocol;

/// How the parameter is written.
pub const EXAMPLE: &str = "type = burst(blocksize = 125000, period = 10000, duration = 10);";

/// What is sent, or that a leaf receives.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// It sends.
    Source {
        /// What.
        traffic: Box<Traffic>,
        /// Bytes that may wait to be written, where a limit is given.
        buffer_bytes: Option<u64>,
    },
    /// It receives.
    Sink {
        /// Bytes that it asks for at a time.
        block_bytes: u64,
    },
}

/// Types, the last six of which are sources that are emulated (an extension: NetSpec writes most of them as queued bursts of functions).
const TYPES: [&str; 11] =
    ["full", "burst", "burstq", "sink", "cbr", "ftp", "telnet", "www", "mpeg", "videoconference", "voice"];

/// The function of frame sizes that is a whole source with the bursts' period.
const MPEG_FRAMES: &str = "videoMPEGFrameSize";

/// Functions (methods J.5), in the spelling that they are suggested in.
const FUNCTIONS: [&str; 13] = [
    "telnetSessionInterarrival",
    "telnetSessionDuration",
    "telnetPktInterarrival",
    "telnetPktSize",
    "telnetOriginatorBytes",
    "ftpSessionInterarrival",
    "ftpNOfItems",
    "ftpItemSize",
    "wwwRequestInterarrival",
    "wwwItemSize",
    "voiceSessionInterarrival",
    "voiceSessionDuration",
    "videoTeleconferenceFrameSize",
];

/// What a leaf with this `type` does, and for how long.
pub fn work(
    parameter: &Parameter,
    protocol: Option<&Protocol>,
    found: &mut Vec<Diagnostic>,
) -> Option<(Work, Duration)> {
    let function = named_function(parameter, EXAMPLE, found)?;
    let Some(kind) = TYPES.into_iter().find(|kind| same_name(kind, &function.name)) else {
        let error = Diagnostic::error(function.place, format!("there is no type {}", function.name));
        let meant = did_you_mean(&function.name, &TYPES);
        found.push(error.hint(format!("known: {}", TYPES.join(", "))).hint_if(meant));
        return None;
    };
    let before = found.len();
    let mut arguments = Arguments::of(&function, found);
    let duration = arguments.duration();
    let work = match kind {
        "sink" => {
            let block = arguments.needed("blocksize", "bytes to read at a time");
            block.and_then(|block| arguments.size(block)).map(|block_bytes| Work::Sink { block_bytes })
        }
        _ => {
            let buffer = if kind == "burstq" { arguments.optional("buffer") } else { None };
            let buffer_bytes = buffer.and_then(|buffer| arguments.size(buffer));
            traffic(kind, &mut arguments).map(|traffic| Work::Source { traffic: Box::new(traffic), buffer_bytes })
        }
    };
    arguments.finish();
    let (work, duration) = (work?, duration?);
    if let (Work::Source { traffic, .. }, true) = (&work, found.len() == before) {
        possible(traffic, &function, protocol, found);
    }
    Some((work, duration))
}

fn traffic(kind: &str, arguments: &mut Arguments<'_>) -> Option<Traffic> {
    match kind {
        "full" => {
            let block = arguments.needed("blocksize", "bytes to write at a time");
            Some(Traffic::Full { blocksize: arguments.size(block?)? })
        }
        "cbr" => {
            let block = arguments.needed("blocksize", BLOCK).and_then(|block| arguments.size(block));
            let period = arguments.needed_number("period", PERIOD);
            Some(Traffic::Cbr { blocksize: block?, period: period? })
        }
        "burst" | "burstq" => {
            let (block, period) = (arguments.needed("blocksize", BLOCK), arguments.needed("period", PERIOD));
            let repeats = if kind == "burstq" { arguments.optional("repeats") } else { None };
            let (block, period) = (block?, period?);
            if let Some(frames) = as_function(&block.value).filter(|function| same_name(&function.name, MPEG_FRAMES)) {
                let period = arguments.number(period).filter(|period| *period > 0.0)?;
                return arguments.within(&frames, |inner| mpeg(inner, Some(1e6 / period))).map(Traffic::Mpeg);
            }
            let blocksize = arguments.drawn(block, true);
            let period = arguments.drawn(period, false);
            let repeats = match repeats {
                Some(repeats) => arguments.drawn(repeats, false),
                None => Some(Drawn::Number(1.0)),
            };
            let (blocksize, period, repeats) = (blocksize?, period?, repeats?);
            Some(match kind {
                "burst" => Traffic::Burst { blocksize, period },
                _ => Traffic::Burstq { blocksize, period, repeats },
            })
        }
        "ftp" | "telnet" => {
            let lambda = arguments.needed_number("lambda", LAMBDA)?;
            Some(if kind == "ftp" { Traffic::Ftp { lambda } } else { Traffic::Telnet { lambda } })
        }
        "www" => {
            let lambda = arguments.needed_number("lambda", LAMBDA);
            let shape = arguments.needed_number("shape", "tail index of the sizes, published from 0.40 to 0.63");
            let min = arguments.needed("min", "the smallest size in bytes").and_then(|min| arguments.size(min));
            Some(Traffic::Www { lambda: lambda?, shape: shape?, min: min? as f64 })
        }
        "voice" => {
            let lambda = arguments.needed_number("lambda", LAMBDA);
            let duration_lambda =
                arguments.needed_number("durationLambda", "one over the mean length of a call in microseconds");
            let block = arguments.needed("blocksize", "bytes of speech in a packet");
            let blocksize = block.and_then(|block| arguments.whole(block, 1..=65_507)).map(|bytes| bytes as u32);
            Some(Traffic::Voice { lambda: lambda?, duration_lambda: duration_lambda?, blocksize: blocksize? })
        }
        "mpeg" => mpeg(arguments, None).map(Traffic::Mpeg),
        _ => conference(arguments).map(Traffic::Videoconference),
    }
}

const BLOCK: &str = "bytes of a block, or a function that draws them";
const PERIOD: &str = "microseconds from a block to the next, or a function that draws them";
const LAMBDA: &str = "one over the mean time between, per microsecond";
const FRAMES: &str = "frames each second";

/// MPEG video; `frame_rate` is given where the bursts' period is it.
fn mpeg(arguments: &mut Arguments<'_>, frame_rate: Option<f64>) -> Option<Mpeg> {
    let frame_rate = frame_rate.or_else(|| arguments.needed_number("frameRate", FRAMES));
    let gop = arguments.needed("gop", "the pattern of frames, as in IBBPBBPBB").and_then(|gop| match &gop.value {
        Value::Word(word) if word.form == Form::Identifier => Some(word.text.clone()),
        value => {
            arguments.wrong(value.place(), "gop is a pattern of frames", "write gop = IBBPBBPBB");
            None
        }
    });
    let mut number = |name, what| arguments.needed_number(name, what);
    let scene_length_mean = number("sceneLengthMean", "I frames of a scene in the mean");
    let scene_mean = number("sceneMean", "mean bytes of the I frames of a scene");
    let scene_sd = number("sceneSd", "their standard deviation between scenes");
    let weights = [
        number("iWeight1", "weight of the last deviation of an I frame from its scene"),
        number("iWeight2", "weight of the last but one"),
    ];
    let i_sd = number("iSd", "standard deviation of an I frame's noise, in bytes");
    let (p_mean, p_sd) = (number("pMean", "mean bytes of P frames"), number("pSd", "their standard deviation"));
    let (b_mean, b_sd) = (number("bMean", "mean bytes of B frames"), number("bSd", "their standard deviation"));
    Some(Mpeg {
        frame_rate: frame_rate?,
        gop: gop?,
        scene_length_mean: scene_length_mean?,
        scene_mean: scene_mean?,
        scene_sd: scene_sd?,
        i_weights: [weights[0]?, weights[1]?],
        i_sd: i_sd?,
        p_mean: p_mean?,
        p_sd: p_sd?,
        b_mean: b_mean?,
        b_sd: b_sd?,
    })
}

fn conference(arguments: &mut Arguments<'_>) -> Option<Conference> {
    let frame_rate = arguments.needed_number("frameRate", FRAMES);
    let shape = arguments.needed_number("shape", "shape of the gamma law of frame sizes");
    let scale = arguments.needed_number("scale", "its scale, in bytes");
    let correlation = arguments.needed_number("correlation", "that of a frame with the one before");
    let memory = arguments.needed("memory", "dar or ar").and_then(|memory| {
        let word = as_function(&memory.value).map(|function| function.name.to_ascii_lowercase());
        match word.as_deref() {
            Some("dar") => Some(Memory::Dar),
            Some("ar") => Some(Memory::Ar),
            _ => {
                arguments.wrong(memory.value.place(), "memory is dar or ar", "write memory = dar");
                None
            }
        }
    });
    Some(Conference {
        frame_rate: frame_rate?,
        shape: shape?,
        scale: scale?,
        correlation: correlation?,
        memory: memory?,
    })
}

impl Arguments<'_> {
    /// Reads the arguments of a function that is an argument itself.
    pub(super) fn within<T>(&mut self, function: &Function, read: impl FnOnce(&mut Arguments<'_>) -> T) -> T {
        let mut inner = Arguments::of(function, self.found());
        let read = read(&mut inner);
        inner.finish();
        read
    }

    /// A number, or a function that draws one; of a size multipliers are of 1,024.
    fn drawn(&mut self, argument: &Argument, is_size: bool) -> Option<Drawn> {
        let function = match &argument.value {
            Value::Function(function) => function,
            _ if is_size => return self.size(argument).map(|bytes| Drawn::Number(bytes as f64)),
            _ => return self.number(argument).map(Drawn::Number),
        };
        let Some(name) = known_function(&function.name) else {
            let meant = did_you_mean(&function.name, &FUNCTIONS);
            let error = Diagnostic::error(function.place, format!("there is no function {}", function.name));
            self.found().push(error.hint(format!("known: {}", FUNCTIONS.join(", "))).hint_if(meant));
            return None;
        };
        let mut call = Call::new(name);
        for inner in &function.arguments {
            let (place, sized) = match ARGUMENTS.into_iter().find(|name| same_name(name, &inner.name)) {
                Some("min") => (&mut call.min, is_size),
                Some("max") => (&mut call.max, is_size),
                Some("scale") => (&mut call.scale, is_size),
                Some("shape") => (&mut call.shape, false),
                Some("lambda") => (&mut call.lambda, false),
                _ => {
                    let meant = did_you_mean(&inner.name, &ARGUMENTS);
                    let error = Diagnostic::error(inner.place, format!("{} takes no {}", function.name, inner.name));
                    self.found().push(error.hint_if(meant));
                    return None;
                }
            };
            let number = match &inner.value {
                Value::Word(word) if word.form == Form::Quantity => word.text.parse::<Quantity>().ok(),
                _ => None,
            };
            let Some(number) = number else {
                self.found().push(Diagnostic::error(inner.value.place(), format!("{} takes a number", inner.name)));
                return None;
            };
            *place = Some(if sized { number.binary() } else { number.decimal() });
        }
        // What is impossible is said where the function stands, not where the source does.
        let alone = Traffic::Burst { blocksize: Drawn::Call(call.clone()), period: Drawn::Number(1.0) };
        if let Err(impossible) = source(alone, Transport::Udp).check_written() {
            self.found().push(Diagnostic::error(function.place, impossible.problem));
            return None;
        }
        Some(Drawn::Call(call))
    }
}

/// What functions take.
const ARGUMENTS: [&str; 5] = ["min", "max", "scale", "shape", "lambda"];

/// A function by its name, which published pages spell differently.
fn known_function(name: &str) -> Option<&'static str> {
    let spelt = |known: &'static str| same_name(known, name) || same_name(&known.replace("Pkt", "Packet"), name);
    FUNCTIONS.into_iter().find(|known| spelt(known))
}

fn source(traffic: Traffic, protocol: Transport) -> netspec::Leaf {
    netspec::Leaf { traffic, duration: None, protocol, count: 1, speed: None, ends: Default::default() }
}

/// Says what is impossible about a source, and what is worth knowing.
fn possible(traffic: &Traffic, function: &Function, protocol: Option<&Protocol>, found: &mut Vec<Diagnostic>) {
    // How much full blast is depends on the path, which a script does not know.
    if let Traffic::Full { .. } = traffic {
        return;
    }
    let transport = match protocol {
        Some(Protocol::Udp(_)) => Transport::Udp,
        _ => Transport::Tcp,
    };
    let leaf = source(traffic.clone(), transport);
    match leaf.check_written() {
        Err(impossible) => {
            let message = format!("{}: {} {}", function.name, impossible.key, impossible.problem);
            found.push(Diagnostic::error(function.place, message));
        }
        Ok(()) => {
            let remarks = Netspec::new(vec![leaf]).remarks().into_iter();
            found
                .extend(remarks.map(|remark| Diagnostic::note(function.place, format!("{}: {remark}", function.name))));
        }
    }
}
