//! Plays a script against an endpoint, in virtual time.

use std::collections::VecDeque;

use flowloom_core::tcp::{Endpoint, Segment};
use flowloom_core::time::{Duration, Time};

use super::failure::Failure;
use super::lexer::Position;
use super::packet::written;
use super::script::{Action, Argument, Assertion, Call, Event, Operand, Packet, Script, Setting, When};
use super::settings::Settings;

/// Timers that fire in one script; more is an endpoint that never rests.
const MOST_TIMERS: u32 = 1_000_000;

impl Script {
    /// Plays it.
    ///
    /// # Errors
    /// The first line that does not hold.
    pub fn run(&self) -> Result<(), Failure> {
        let mut stage = Stage::new(self);
        stage.play().map_err(|Broken { at, expected, found }| Failure {
            file: self.file.clone(),
            at,
            expected,
            found,
            log: stage.log,
        })
    }
}

struct Broken {
    at: Position,
    expected: String,
    found: String,
}

/// What a system call gives, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The call would block.
    Blocks,
    /// It succeeds with what the script says (a descriptor).
    AsSaid,
    Returns(i64),
    Fails(&'static str),
}

/// A blocking call that has not returned yet.
struct Blocked<'s> {
    at: Position,
    until: Time,
    call: &'s Call,
}

struct Stage<'s> {
    script: &'s Script,
    settings: Settings,
    endpoint: Option<Endpoint>,
    now: Time,
    /// What the endpoint sent and no line has asked for yet.
    pending: VecDeque<(Time, Segment)>,
    blocked: Vec<Blocked<'s>>,
    log: Vec<String>,
    timers: u32,
    /// The descriptor that `listen` was called on.
    listener: Option<i64>,
    /// The remote end's offer of a window scale, and whether the endpoint offered one.
    peer_shift: Option<u8>,
    scale_offered: bool,
    /// What to add to a timestamp of the endpoint as the script has it to get the real one.
    clock_offset: Option<u32>,
    read: u64,
    closed: bool,
    /// `SO_LINGER` with a time of 0: closing resets.
    abort_on_close: bool,
}

impl<'s> Stage<'s> {
    fn new(script: &'s Script) -> Stage<'s> {
        Stage {
            script,
            settings: Settings::new(),
            endpoint: None,
            now: Time::ZERO,
            pending: VecDeque::new(),
            blocked: Vec::new(),
            log: Vec::new(),
            timers: 0,
            listener: None,
            peer_shift: None,
            scale_offered: false,
            clock_offset: None,
            read: 0,
            closed: false,
            abort_on_close: false,
        }
    }

    fn play(&mut self) -> Result<(), Broken> {
        for setting in &self.script.options {
            self.configure(setting)?;
        }
        // Relative times count from the event before: from when the script has it, or, if it leaves that open, from when
        // it was.
        let mut before = Time::ZERO;
        for event in &self.script.events {
            let (from, until) = match event.time {
                When::At(time) => (Time::ZERO + time, Time::ZERO + time),
                When::After(time) => (before + time, before + time),
                When::Between(from, until) => (Time::ZERO + from, Time::ZERO + until),
                When::BetweenAfter(from, until) => (before + from, before + until),
                When::Any => (Time::ZERO, Time::MAX),
            };
            if let Action::Outbound(packet) = &event.action {
                let sent = self.expect_packet(event.at, packet, from, until)?;
                before = if from == until { from } else { sent };
                continue;
            }
            if from < before {
                return Err(broken(event.at, "a time not before that of the line above", seconds(from)));
            }
            self.reach(event.at, from)?;
            self.act(event, before)?;
            before = from;
        }
        let last = self.script.events.last().map_or(Position { line: 1, column: 1 }, |event| event.at);
        let end = self.blocked.iter().map(|blocked| blocked.until).max();
        if let Some(end) = end {
            self.reach(last, end + self.settings.tolerance + Duration::from_nanos(1))?;
        }
        match self.pending.front() {
            Some((time, sent)) => Err(broken(last, "no packet after this line", shown(*time, sent))),
            None => Ok(()),
        }
    }

    fn act(&mut self, event: &'s Event, before: Time) -> Result<(), Broken> {
        match &event.action {
            Action::Outbound(_) => Ok(()),
            Action::Inbound(packet) => self.arrive(event.at, packet),
            Action::Configure(settings) => settings.iter().try_for_each(|setting| self.configure(setting)),
            Action::Assert(assertions) => assertions.iter().try_for_each(|assertion| self.assert(assertion)),
            Action::Call(call) => {
                self.begin(event.at, call)?;
                let Some(until) = call.until else {
                    let outcome = self.outcome(call);
                    return check(event.at, call, outcome);
                };
                let base = if matches!(event.time, When::At(_)) { Time::ZERO } else { before };
                self.blocked.push(Blocked { at: event.at, until: base + until, call });
                self.wake()
            }
        }
    }

    fn configure(&mut self, setting: &Setting) -> Result<(), Broken> {
        if self.endpoint.is_some() {
            return Err(broken(setting.at, "settings before connect and listen", setting.name.clone()));
        }
        self.settings.apply(setting).map_err(|error| broken(setting.at, "a setting", error))
    }

    // Time.

    /// Lets time pass up to `time`. What is sent well before it and not asked for is too much.
    fn reach(&mut self, at: Position, time: Time) -> Result<(), Broken> {
        self.serve(at, time)?;
        self.now = self.now.max(time);
        self.wake()?;
        match self.pending.front() {
            Some((sent, segment)) if *sent + self.settings.tolerance < time => {
                Err(broken(at, "no packet before this line", shown(*sent, segment)))
            }
            _ => Ok(()),
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.endpoint.as_ref().and_then(Endpoint::next_timeout)
    }

    /// Serves all timers that are due by `until`.
    fn serve(&mut self, at: Position, until: Time) -> Result<(), Broken> {
        while let Some(due) = self.next_timeout().filter(|due| *due <= until) {
            self.serve_one(at, due)?;
        }
        Ok(())
    }

    fn serve_one(&mut self, at: Position, due: Time) -> Result<(), Broken> {
        self.timers += 1;
        if self.timers > MOST_TIMERS {
            return Err(broken(at, "an endpoint that comes to rest", format!("{MOST_TIMERS} timers")));
        }
        self.now = self.now.max(due);
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.handle_timeout(self.now, &self.settings.tcp);
        }
        self.drain();
        self.wake()
    }

    fn drain(&mut self) {
        let Some(endpoint) = &mut self.endpoint else { return };
        while let Some(segment) = endpoint.poll_transmit(self.now, &self.settings.tcp) {
            self.log.push(format!("{} > {}", seconds(self.now), written(&segment)));
            if segment.flags.syn() {
                self.scale_offered = segment.window_scale.is_some();
            }
            self.pending.push_back((self.now, segment));
        }
    }

    // Packets.

    fn arrive(&mut self, at: Position, packet: &Packet) -> Result<(), Broken> {
        let Some(endpoint) = &mut self.endpoint else {
            return Err(broken(
                at,
                "a packet for an endpoint",
                "none: neither connect nor listen was called".to_owned(),
            ));
        };
        let is_syn = packet.flags & flowloom_core::wire::Flags::SYN != 0;
        let mut packet = packet.clone();
        if let (Some((_, echo)), Some(offset)) =
            (packet.options.as_mut().and_then(|options| options.timestamps.as_mut()), self.clock_offset)
            && *echo != 0
        {
            *echo = echo.wrapping_add(offset);
        }
        let shift = if is_syn || !self.scale_offered { 0 } else { self.peer_shift.unwrap_or(0).min(14) };
        let segment = packet.segment(shift).map_err(|error| broken(at, "a packet that can be made", error))?;
        if is_syn {
            self.peer_shift = segment.window_scale;
        }
        self.log.push(format!("{} < {packet}", seconds(self.now)));
        endpoint.handle_segment(self.now, &segment, &self.settings.tcp);
        self.drain();
        self.wake()
    }

    /// The next packet sent is `expected`, between `from` and `until`. Several segments sent back to back may be written as
    /// one. Returns when it was sent.
    fn expect_packet(&mut self, at: Position, expected: &Packet, from: Time, until: Time) -> Result<Time, Broken> {
        let tolerance = self.settings.tolerance;
        let latest = until + tolerance;
        while self.pending.is_empty()
            && let Some(due) = self.next_timeout().filter(|due| *due <= latest)
        {
            self.serve_one(at, due)?;
        }
        let wanted = || match () {
            () if until == Time::MAX => format!("{expected}"),
            () if from == until => format!("{} > {expected}", seconds(from)),
            () => format!("{}~{} > {expected}", seconds(from), seconds(until)),
        };
        let Some((sent, mut segment)) = self.pending.pop_front() else {
            let by = if until == Time::MAX { "ever".to_owned() } else { format!("by {}", seconds(latest)) };
            return Err(broken(at, &wanted(), format!("nothing sent {by}")));
        };
        while segment.payload_bytes < expected.payload_bytes
            && let Some((_, next)) = self.pending.front()
            && next.sequence == segment.end()
            && next.payload_bytes > 0
            && !segment.flags.psh()
            && !segment.flags.syn()
        {
            segment.payload_bytes += next.payload_bytes;
            segment.flags.0 |= next.flags.0;
            self.pending.pop_front();
        }
        let mut actual = written(&segment);
        let mut ticks = 0;
        if let (Some((value, _)), Some((said, _))) = (
            actual.options.as_mut().and_then(|options| options.timestamps.as_mut()),
            expected.options.as_ref().and_then(|options| options.timestamps),
        ) {
            let offset = *self.clock_offset.get_or_insert(value.wrapping_sub(said));
            *value = value.wrapping_sub(offset);
            ticks = (tolerance.as_nanos() / 1_000_000) as u32 + 1;
        }
        let mut differences = expected.differences(&actual, ticks);
        if sent + tolerance < from || sent > latest {
            differences.push("another time".to_owned());
        }
        if differences.is_empty() {
            self.now = self.now.max(sent);
            return Ok(sent);
        }
        let found = format!("{} > {actual}: {}", seconds(sent), differences.join(", "));
        Err(broken(at, &wanted(), found))
    }

    fn assert(&self, assertion: &Assertion) -> Result<(), Broken> {
        let Some(endpoint) = &self.endpoint else {
            return Err(broken(assertion.at, "a connection to look at", "none".to_owned()));
        };
        let value = |operand: Operand| match operand {
            Operand::Number(number) => (number.to_string(), number),
            Operand::Field(field) => (field.name().to_owned(), field.of(endpoint)),
        };
        let ((left_name, left), (right_name, right)) = (value(assertion.left), value(assertion.right));
        if assertion.comparison.holds(left, right) {
            return Ok(());
        }
        let expected = format!("{left_name} {} {right_name}", assertion.comparison.sign());
        Err(broken(assertion.at, &expected, format!("{left} and {right}")))
    }

    // System calls.

    /// Ends the calls under way that have something to return, and those that should have by now.
    fn wake(&mut self) -> Result<(), Broken> {
        let tolerance = self.settings.tolerance;
        let blocked = std::mem::take(&mut self.blocked);
        for waiting in blocked {
            let outcome = self.outcome(waiting.call);
            if outcome == Outcome::Blocks && self.now <= waiting.until + tolerance {
                self.blocked.push(waiting);
            } else if outcome == Outcome::Blocks || self.now + tolerance < waiting.until {
                let expected = format!("{} to return at {}", waiting.call.name, seconds(waiting.until));
                let found = match outcome {
                    Outcome::Blocks => "it blocks on".to_owned(),
                    _ => format!("it returned at {}", seconds(self.now)),
                };
                return Err(broken(waiting.at, &expected, found));
            } else {
                check(waiting.at, waiting.call, outcome)?;
                if let Outcome::Returns(bytes) = outcome
                    && is_read(&waiting.call.name)
                {
                    self.read += bytes as u64;
                }
            }
        }
        Ok(())
    }

    /// What the call does at once.
    fn begin(&mut self, at: Position, call: &Call) -> Result<(), Broken> {
        let config = &self.settings.tcp;
        match call.name.as_str() {
            "setsockopt" => self.set_socket_option(call).map_err(|error| broken(at, "a socket option", error))?,
            "listen" | "connect" if self.endpoint.is_some() => {
                return Err(broken(at, "one connection per script", format!("a second {}", call.name)));
            }
            "listen" => {
                self.listener = descriptor(call);
                self.endpoint = Some(Endpoint::listen(config, self.settings.limits));
            }
            "connect" => self.endpoint = Some(Endpoint::connect(config, self.settings.limits)),
            "write" | "send" | "sendto" => {
                let bytes = size(call).ok_or_else(|| broken(at, "write(fd, ..., BYTES)", "no number".to_owned()))?;
                match &mut self.endpoint {
                    Some(endpoint) if !self.closed => endpoint.write(bytes),
                    _ => {}
                }
            }
            "shutdown" => {
                let how = call.arguments.get(1);
                let writes = matches!(how, Some(Argument::Name(name)) if name == "SHUT_WR" || name == "SHUT_RDWR");
                if writes && let Some(endpoint) = &mut self.endpoint {
                    endpoint.close();
                    self.closed = true;
                }
            }
            // Closing the listening socket leaves the connection alone.
            "close" if descriptor(call) == self.listener => {}
            "close" => {
                if let Some(endpoint) = &mut self.endpoint {
                    // RFC 9293 section 3.10.4 and RFC 2525 section 2.17: data that nobody will read ends it with a RST.
                    if self.abort_on_close || endpoint.bytes_received() > self.read {
                        endpoint.abort();
                    } else {
                        endpoint.close();
                    }
                    self.closed = true;
                }
            }
            "socket" | "bind" | "accept" | "fcntl" | "getsockopt" | "read" | "recv" | "recvfrom" => {}
            name => return Err(broken(at, "a system call of the subset", name.to_owned())),
        }
        self.drain();
        Ok(())
    }

    fn set_socket_option(&mut self, call: &Call) -> Result<(), String> {
        const WITHOUT_EFFECT: [&str; 12] = [
            "SO_REUSEADDR",
            "SO_REUSEPORT",
            "SO_SNDBUF",
            "SO_RCVBUF",
            "SO_DEBUG",
            "SO_ZEROCOPY",
            "SO_TIMESTAMPING",
            "TCP_NODELAY",
            "TCP_CORK",
            "TCP_QUICKACK",
            "IP_MTU_DISCOVER",
            "IP_TOS",
        ];
        let [_, _, Argument::Name(name), value, ..] = call.arguments.as_slice() else {
            return Err("write it like setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4)".to_owned());
        };
        let number = match value {
            Argument::Number(number) => Some(*number),
            Argument::List(list) => match list.as_slice() {
                [Argument::Number(number), ..] => Some(*number),
                _ => None,
            },
            _ => None,
        };
        match (name.as_str(), number, value) {
            (name, ..) if WITHOUT_EFFECT.contains(&name) => Ok(()),
            ("TCP_MAXSEG", Some(bytes), _) if self.endpoint.is_none() => {
                self.settings.maximum_segment_size(u64::try_from(bytes).unwrap_or(0))
            }
            ("TCP_CONGESTION", _, Argument::Text(name)) if self.endpoint.is_none() => self.settings.congestion(name),
            ("TCP_CONGESTION", _, Argument::List(list)) if self.endpoint.is_none() => match list.as_slice() {
                [Argument::Text(name)] => self.settings.congestion(name),
                _ => Err("TCP_CONGESTION takes a name".to_owned()),
            },
            ("SO_LINGER", _, Argument::List(fields)) => {
                let is = |name: &str, number| {
                    fields.contains(&Argument::Field(name.to_owned(), Box::new(Argument::Number(number))))
                };
                self.abort_on_close = !is("onoff", 0) && is("linger", 0);
                Ok(())
            }
            (name, ..) if self.endpoint.is_some() => Err(format!("{name} cannot be set once there is a connection")),
            (name, ..) => Err(format!("{name} is not a socket option of the subset")),
        }
    }

    /// What the call returns as things stand.
    fn outcome(&mut self, call: &Call) -> Outcome {
        let Some(endpoint) = &self.endpoint else { return Outcome::AsSaid };
        let available = endpoint.bytes_received() - self.read.min(endpoint.bytes_received());
        match call.name.as_str() {
            "connect" | "accept" if endpoint.is_established() => match call.name.as_str() {
                "accept" => Outcome::AsSaid,
                _ => Outcome::Returns(0),
            },
            "connect" if endpoint.is_reset() && endpoint.timeouts() > 0 => Outcome::Fails("ETIMEDOUT"),
            "connect" if endpoint.is_reset() => Outcome::Fails("ECONNREFUSED"),
            "connect" | "accept" => Outcome::Blocks,
            "write" | "send" | "sendto" if self.closed || endpoint.is_reset() => Outcome::Fails("EPIPE"),
            "write" | "send" | "sendto" => Outcome::Returns(size(call).unwrap_or(0) as i64),
            "read" | "recv" | "recvfrom" if available > 0 => {
                let bytes = available.min(size(call).unwrap_or(0));
                if call.until.is_none() {
                    self.read += bytes;
                }
                Outcome::Returns(bytes as i64)
            }
            "read" | "recv" | "recvfrom" if endpoint.is_peer_closed() => Outcome::Returns(0),
            "read" | "recv" | "recvfrom" if endpoint.is_reset() => Outcome::Fails("ECONNRESET"),
            "read" | "recv" | "recvfrom" => Outcome::Blocks,
            "fcntl" | "getsockopt" | "socket" => Outcome::AsSaid,
            _ => Outcome::Returns(0),
        }
    }
}

fn is_read(name: &str) -> bool {
    matches!(name, "read" | "recv" | "recvfrom")
}

/// Whether `outcome` is what the script has.
fn check(at: Position, call: &Call, outcome: Outcome) -> Result<(), Broken> {
    let error = call.error.as_deref();
    let holds = match outcome {
        Outcome::AsSaid => call.result >= 0,
        Outcome::Returns(value) => call.result == value,
        Outcome::Blocks => call.result == -1 && matches!(error, Some("EAGAIN" | "EWOULDBLOCK" | "EINPROGRESS")),
        Outcome::Fails(name) => call.result == -1 && error.is_none_or(|error| error == name),
    };
    if holds {
        return Ok(());
    }
    let expected =
        format!("{}(...) = {}{}", call.name, call.result, error.map_or(String::new(), |name| format!(" {name}")));
    let found = match outcome {
        Outcome::Blocks => "it would block".to_owned(),
        Outcome::AsSaid => "it succeeds".to_owned(),
        Outcome::Returns(value) => format!("{value}"),
        Outcome::Fails(name) => format!("-1 {name}"),
    };
    Err(broken(at, &expected, found))
}

/// The first argument of a call, a file descriptor.
fn descriptor(call: &Call) -> Option<i64> {
    match call.arguments.first() {
        Some(Argument::Number(number)) => Some(*number),
        _ => None,
    }
}

/// The third argument of `read`, `write` and their kin.
fn size(call: &Call) -> Option<u64> {
    match call.arguments.get(2) {
        Some(Argument::Number(number)) => u64::try_from(*number).ok().filter(|bytes| *bytes <= u64::from(u32::MAX)),
        _ => None,
    }
}

fn broken(at: Position, expected: &str, found: String) -> Broken {
    Broken { at, expected: expected.to_owned(), found }
}

fn seconds(time: Time) -> String {
    let micros = time.as_nanos() / 1_000;
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn shown(time: Time, segment: &Segment) -> String {
    format!("{} > {}", seconds(time), written(segment))
}
