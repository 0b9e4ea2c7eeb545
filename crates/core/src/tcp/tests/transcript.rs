//! Tests of one endpoint as dated transcripts of segments.
//!
//! A line is a time in seconds and one of
//!
//! - `< FLAGS start:end [ack N] [win N] [mss N] [ws N] [sok] [ts VALUE,ECHO] [sack START:END,...] [ect0|ect1|ce]`: the
//!   peer's segment arrives;
//! - `> ` and the same: the endpoint sends this segment at this time. Everything it sends must be listed, in order; `win`
//!   and `ts` are compared if given, the rest always;
//! - `! write N`, `! close`, `! abort`: the application's commands;
//! - `= NAME VALUE`: an observer returns this (`cwnd`, `srtt_us`, `unsent`, `fin_sent`, `received`, `transmitted`, `acked`, `retransmissions`,
//!   `timeouts`, `pipe`, `established`, `peer_closed`, `closed`, `reset`);
//! - `-`: nothing was sent up to here.
//!
//! Flags are letters of S, F, R, P, E for ECE, W for CWR and `.` for ACK. Offsets count from the SYN at 0.

use std::collections::VecDeque;
use std::num::{NonZeroU16, NonZeroU32};

use crate::tcp::{Config, EcnEcho, Endpoint, Limits, Sack, SackBlocks, Segment, Timestamps};
use crate::time::{Duration, Time};
use crate::wire::{Ecn, Flags};

pub struct Transcript {
    endpoint: Endpoint,
    config: Config,
    now: Time,
    sent: VecDeque<(Time, Segment)>,
}

impl Transcript {
    pub fn connect(config: Config, limits: Limits) -> Transcript {
        let endpoint = Endpoint::connect(&config, limits);
        Transcript::over(endpoint, config)
    }

    pub fn listen(config: Config, limits: Limits) -> Transcript {
        let endpoint = Endpoint::listen(&config, limits);
        Transcript::over(endpoint, config)
    }

    fn over(endpoint: Endpoint, config: Config) -> Transcript {
        let mut transcript = Transcript { endpoint, config, now: Time::ZERO, sent: VecDeque::new() };
        transcript.drain();
        transcript
    }

    /// A connection that is open since 0.1 s over a round trip of 100 ms, as its initiator; the peer agrees to all options.
    pub fn established(config: Config, limits: Limits) -> Transcript {
        let mut transcript = Transcript::connect(config, limits);
        transcript.now = Time::ZERO;
        transcript.sent.clear();
        let flags = if transcript.config.ecn == EcnEcho::Off { "S." } else { "SE." };
        let sack = if transcript.config.sack == Sack::Off { "" } else { "sok" };
        let timestamps = if transcript.config.timestamps { "ts 5,1" } else { "" };
        let answer = format!("{flags} 0:1 ack 1 win 65535 mss 1460 ws 7 {sack} {timestamps}");
        let answer = segment(answer.split_whitespace());
        transcript.now = Time::ZERO + Duration::from_millis(100);
        transcript.endpoint.handle_segment(transcript.now, &answer, &transcript.config);
        transcript.drain();
        assert_eq!(transcript.sent.pop_front().map(|(_, segment)| segment.flags), Some(Flags(Flags::ACK)));
        assert!(transcript.sent.is_empty());
        transcript
    }

    fn drain(&mut self) {
        while let Some(segment) = self.endpoint.poll_transmit(self.now, &self.config) {
            self.sent.push_back((self.now, segment));
        }
    }

    fn serve_timers(&mut self, until: Time) {
        while let Some(due) = self.endpoint.next_timeout().filter(|&due| due <= until) {
            self.now = due;
            self.endpoint.handle_timeout(due, &self.config);
            self.drain();
        }
        self.now = until;
    }

    fn expect_nothing_sent(&self, line: &str) {
        assert!(self.sent.is_empty(), "before \"{line}\" it sent {:#?}", self.sent);
    }

    /// Plays `text` and returns the endpoint's side of it for more.
    pub fn play(mut self, text: &str) -> Transcript {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut words = line.split_whitespace();
            let seconds: f64 = words.next().unwrap().parse().unwrap_or_else(|_| panic!("no time in \"{line}\""));
            let time = Time::ZERO + Duration::from_secs_f64(seconds);
            let kind = words.next().unwrap();
            if kind == ">" {
                if self.sent.is_empty() {
                    self.serve_timers(time);
                }
                let Some((at, sent)) = self.sent.pop_front() else { panic!("\"{line}\" was not sent") };
                let expected = segment(words.clone());
                let mut comparable = Segment { window_shift: 0, ..sent };
                if !line.contains(" win ") {
                    comparable.window = expected.window;
                }
                if !line.contains(" ts ") {
                    comparable.timestamps = None;
                }
                assert_eq!(comparable, expected, "\"{line}\"");
                assert_eq!(at, time, "\"{line}\" was sent at another time");
                continue;
            }
            self.serve_timers(time);
            if kind != "=" {
                self.expect_nothing_sent(line);
            }
            match kind {
                "<" => self.endpoint.handle_segment(time, &segment(words), &self.config),
                "!" => self.command(line, words),
                "=" => self.observe(line, words),
                "-" => {}
                _ => panic!("what is \"{line}\"?"),
            }
            self.drain();
        }
        self.expect_nothing_sent("the end");
        self
    }

    fn command<'a>(&mut self, line: &str, mut words: impl Iterator<Item = &'a str>) {
        match words.next() {
            Some("write") => self.endpoint.write(words.next().unwrap().parse().unwrap()),
            Some("close") => self.endpoint.close(),
            Some("abort") => self.endpoint.abort(),
            _ => panic!("what is \"{line}\"?"),
        }
    }

    fn observe<'a>(&self, line: &str, mut words: impl Iterator<Item = &'a str>) {
        let endpoint = &self.endpoint;
        let (name, value) = (words.next().unwrap(), words.next().unwrap());
        let actual = match name {
            "srtt_us" => endpoint.smoothed_rtt().map_or(0, |rtt| rtt.as_nanos() / 1000).to_string(),
            "cwnd" => endpoint.congestion_window().to_string(),
            "received" => endpoint.bytes_received().to_string(),
            "transmitted" => endpoint.bytes_transmitted().to_string(),
            "unsent" => endpoint.bytes_unsent().to_string(),
            "acked" => endpoint.bytes_acknowledged().to_string(),
            "retransmissions" => endpoint.retransmissions().to_string(),
            "pipe" => endpoint.snapshot().pipe.to_string(),
            "timeouts" => endpoint.timeouts().to_string(),
            "established" => endpoint.is_established().to_string(),
            "peer_closed" => endpoint.is_peer_closed().to_string(),
            "fin_sent" => endpoint.is_fin_sent().to_string(),
            "closed" => endpoint.is_closed().to_string(),
            "reset" => endpoint.is_reset().to_string(),
            _ => panic!("what is \"{line}\"?"),
        };
        assert_eq!(actual, value, "\"{line}\"");
    }

    /// Nothing is left to happen.
    pub fn rests(self) {
        assert_eq!(self.endpoint.next_timeout(), None);
    }
}

fn segment<'a>(mut words: impl Iterator<Item = &'a str>) -> Segment {
    let flags = words.next().unwrap().chars().fold(0, |flags, letter| {
        flags
            | match letter {
                'S' => Flags::SYN,
                'F' => Flags::FIN,
                'R' => Flags::RST,
                'P' => Flags::PSH,
                'E' => Flags::ECE,
                'W' => Flags::CWR,
                '.' => Flags::ACK,
                _ => panic!("no flag {letter}"),
            }
    });
    let flags = Flags(flags);
    let (start, end) = words.next().unwrap().split_once(':').unwrap();
    let (start, end): (u64, u64) = (start.parse().unwrap(), end.parse().unwrap());
    let mut segment = Segment {
        sequence: start,
        payload_bytes: (end - start) as u32 - u32::from(flags.syn()) - u32::from(flags.fin()),
        window: if flags.rst() { 0 } else { 65_535 },
        flags,
        ..Segment::default()
    };
    while let Some(name) = words.next() {
        let codepoint =
            [("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)].into_iter().find(|word| word.0 == name);
        if let Some((_, codepoint)) = codepoint {
            segment.ecn = codepoint;
            continue;
        }
        if name == "sok" {
            segment.sack_permitted = true;
            continue;
        }
        let value = words.next().unwrap();
        match name {
            "ts" => {
                let (value, echo) = value.split_once(',').unwrap();
                let value = NonZeroU32::new(value.parse().unwrap()).unwrap();
                segment.timestamps = Some(Timestamps { value, echo: echo.parse().unwrap() });
                continue;
            }
            "sack" => {
                let blocks = value.split(',').map(|block| {
                    let (start, end) = block.split_once(':').unwrap();
                    (start.parse().unwrap(), end.parse().unwrap())
                });
                segment.sack = SackBlocks::new(blocks);
                continue;
            }
            _ => {}
        }
        let value: u64 = value.parse().unwrap();
        match name {
            "ack" => segment.acknowledgement = value,
            "win" => segment.window = value as u32,
            "mss" => segment.mss = NonZeroU16::new(value as u16),
            "ws" => segment.window_scale = Some(value as u8),
            _ => panic!("no field {name}"),
        }
    }
    segment
}
