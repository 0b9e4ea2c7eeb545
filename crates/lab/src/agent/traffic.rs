//! The leaf that sends and receives: `test { type = ...; protocol = ...; own = ...; peer = ...; }` (methods J.4, J.5). What it does is in
//! [`crate::leaves`]; here it becomes a leaf of an agent, with a thread of its own.

use std::io::{self, Write};
use std::sync::Arc;

use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_models::generate::netspec;
use flowloom_models::generate::on_off::Transport;
use serde::Serialize;
use serde_json::json;

use super::consent::Permits;
use super::leaf::{Leaf, LeafError, LeafKind, Ran, Sending, Start, Stop};
use super::limits::Demand;
use super::thread::in_thread;
use crate::leaves::{Ends, Options, Order, Sink, Source, Todo, announced};
use crate::script::format;
use crate::script::leaf::{Leaf as Asked, Protocol as Over, TEST, Work};
use crate::script::tree::Block;

/// Who does not answer within this has not agreed to be connected to.
const CONNECTING: Duration = Duration::from_secs(5);

/// `test`
pub(super) struct Test;

struct Tester {
    asked: Asked,
    ends: Ends,
    options: Options,
    /// Its block, for those who ask.
    text: String,
    /// What its random numbers are drawn by.
    seed: u64,
    is: Is,
}

/// How far it is.
enum Is {
    Made,
    Sink(Sink),
    Source(Box<Source>),
    /// What it found, as JSON.
    Over(serde_json::Value),
}

impl LeafKind for Test {
    fn keyword(&self) -> &'static str {
        TEST
    }

    fn make(&self, block: &Block) -> Result<Box<dyn Leaf>, LeafError> {
        let (asked, found) = Asked::read(block);
        let asked = asked.ok_or_else(|| LeafError::of_script(&found))?;
        let ends = Ends { own: announced::address(&asked.own)?, peer: announced::address(&asked.peer)? };
        let buffer = match &asked.work {
            Work::Source { buffer_bytes, .. } => *buffer_bytes,
            Work::Sink { .. } => None,
        };
        let (window, mss, nodelay, congestion) = match &asked.protocol {
            Over::Tcp(tcp) => {
                (tcp.window_bytes, tcp.mss_bytes, tcp.no_delay.unwrap_or_default(), tcp.congestion.clone())
            }
            Over::Udp(udp) => (udp.window_bytes, None, false, None),
        };
        let window = window.or(buffer).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        let paced = asked.protocol.rate().is_some();
        let options = Options { window, mss, nodelay, paced, congestion };
        let text = format::block(block);
        // The same leaf of the same script draws the same numbers, and others draw others.
        let seed = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Ok(Box::new(Tester { asked, ends, options, text, seed, is: Is::Made }))
    }
}

impl Tester {
    fn transport(&self) -> Transport {
        match self.asked.protocol {
            Over::Tcp(_) => Transport::Tcp,
            Over::Udp(_) => Transport::Udp,
        }
    }

    fn source(&self, traffic: &netspec::Traffic) -> Result<Source, LeafError> {
        let leaf = netspec::Leaf {
            traffic: traffic.clone(),
            duration: Some(self.asked.duration.as_secs_f64()),
            protocol: self.transport(),
            count: 1,
            speed: None,
            ends: Default::default(),
        };
        let most = Rate::from_bits_per_second(announced::rate_bit_s(&self.asked)).unwrap_or(Rate::UNLIMITED);
        Source::new(leaf, self.ends, self.options.clone(), self.seed, most).map_err(LeafError::Traffic)
    }

    fn over(&mut self, kind: &str, results: &impl Serialize) {
        let of = |end: std::net::SocketAddr| end.to_string();
        self.is = Is::Over(json!({
            "leaf": kind,
            "protocol": self.asked.protocol.name(),
            "own": of(self.ends.own),
            "peer": of(self.ends.peer),
            "results": results,
        }));
    }
}

#[tonic::async_trait]
impl Leaf for Tester {
    fn demand(&self) -> Demand {
        Demand {
            rate_bit_s: announced::rate_bit_s(&self.asked),
            connections: announced::connections(&self.asked),
            duration_ns: self.asked.duration.as_nanos(),
        }
    }

    fn sends(&self) -> Vec<Sending> {
        let sending = Sending {
            to: self.ends.peer,
            protocol: announced::protocol(&self.asked),
            rate_bit_s: announced::rate_bit_s(&self.asked),
        };
        if self.asked.sends() { vec![sending] } else { Vec::new() }
    }

    async fn prepare(&mut self) -> Result<String, LeafError> {
        let held = announced::rate_bit_s(&self.asked);
        self.is = match &self.asked.work {
            Work::Sink { .. } => {
                let sink = Sink::listen(self.transport(), self.ends, &self.options);
                Is::Sink(sink.map_err(LeafError::Socket)?)
            }
            Work::Source { traffic, .. } => Is::Source(Box::new(self.source(traffic)?)),
        };
        let says = self.asked.sends()
            && self.asked.protocol.rate().is_none()
            && self.asked.offered_bits_per_second().is_none();
        Ok(if says { format!("it names no rate, and is held to {held} bit/s") } else { String::new() })
    }

    async fn open(&mut self, permits: &Permits) -> Result<String, LeafError> {
        if !matches!(self.is, Is::Source(_)) {
            return Ok(String::new());
        }
        permits.to(self.ends.peer, announced::protocol(&self.asked))?;
        let Is::Source(mut source) = std::mem::replace(&mut self.is, Is::Made) else { return Ok(String::new()) };
        let order = Arc::new(Order::new());
        let (source, opened) = in_thread(&order, {
            let order = Arc::clone(&order);
            move || {
                let opened = source.open(CONNECTING, &order);
                (source, opened)
            }
        })
        .await?;
        opened.map_err(LeafError::Socket)?;
        self.is = Is::Source(source);
        Ok(String::new())
    }

    async fn run(&mut self, start: Start, mut stop: Stop) -> Result<Ran, LeafError> {
        let clock = flowloom_live::clock::Clock::starting_at(start.monotonic_ns.unsigned_abs());
        let longest = self.asked.duration;
        let order = Arc::new(Order::new());
        let (orders, told) = (Arc::clone(&order), Arc::clone(&order));
        let is_sink = matches!(self.is, Is::Sink(_));
        // What a source has written and not sent is thrown away: traffic ends when it is told to.
        let tell = if is_sink { Todo::Finish } else { Todo::Stop };
        let watching = async {
            stop.told().await;
            told.give(tell);
            std::future::pending::<()>().await;
        };
        let first = match std::mem::replace(&mut self.is, Is::Made) {
            Is::Sink(sink) => {
                let running = in_thread(&order, move || sink.run(&clock, longest, &orders));
                let results =
                    tokio::select! { results = running => results?, () = watching => return Err(LeafError::Stopped) };
                self.over("sink", &results);
                if let Some(why) = results.failure {
                    return Err(LeafError::Failed { why });
                }
                results.reads_ns
            }
            Is::Source(source) => {
                let running = in_thread(&order, move || source.run(&clock, longest, &orders));
                let results =
                    tokio::select! { results = running => results?, () = watching => return Err(LeafError::Stopped) };
                self.over("source", &results);
                if let (Some(failure), 0) = (&results.failure, results.bytes) {
                    return Err(LeafError::Failed { why: failure.clone() });
                }
                results.writes_ns
            }
            Is::Made | Is::Over(_) => return Err(LeafError::NotOpen),
        };
        let after = first.map_or(0, |(first, _)| i64::try_from(first).unwrap_or(i64::MAX));
        Ok(Ran { started_monotonic_ns: start.monotonic_ns.saturating_add(after), text: String::new() })
    }

    async fn close(&mut self) -> Result<String, LeafError> {
        if !matches!(self.is, Is::Over(_)) {
            self.is = Is::Made;
        }
        Ok(String::new())
    }

    fn results(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match &self.is {
            Is::Over(results) => writeln!(out, "{results}"),
            Is::Made | Is::Sink(_) | Is::Source(_) => writeln!(out, "{}", json!({ "leaf": TEST, "results": null })),
        }
    }

    fn describe(&self) -> String {
        self.text.clone()
    }
}
