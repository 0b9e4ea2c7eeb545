//! The loads that speed is measured by, and what they are measured with.

#![allow(dead_code, reason = "each of the examples uses a part of it")]

use std::convert::Infallible;

use flowloom_core::queue::Discipline;
use flowloom_core::record::*;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};
use flowloom_core::workload::*;
use flowloom_sim::Config;

/// A workload and what it goes over.
pub struct Load {
    pub title: &'static str,
    pub vectors: Box<dyn Iterator<Item = Result<ConnectionVector, Infallible>>>,
    pub config: Config,
}

pub fn config(rate: &str, window: Duration, limit: Limit) -> Config {
    let mut config = Config::new(rate.parse::<Rate>().expect("a rate"), window);
    config.bottleneck.queue = Discipline::DropTail(limit);
    config
}

/// 10 s of one flow that fills 1 Gbit/s at a round-trip time of 20 ms.
pub fn bulk(share: u64) -> Load {
    let vector = exchange(0, Time::ZERO, Duration::from_millis(20), 100, 1_200_000_000 / share, 4 << 20);
    Load {
        title: "1 bulk flow, 1 Gbit/s",
        vectors: Box::new(std::iter::once(Ok(vector))),
        config: config("1gbit", Duration::from_secs(11), Limit::Packets(10_000)),
    }
}

/// 20 s of a hundred flows that share 1 Gbit/s at 80 ms, with a buffer of one bandwidth-delay product.
pub fn hundred(share: u64) -> Load {
    let vectors = (0..100).map(|id| {
        let start = Time::ZERO + Duration::from_millis(7 * id);
        Ok(exchange(id, start, Duration::from_millis(80), 100, 1_000_000_000, 4 << 20))
    });
    let mut config = config("1gbit", Duration::from_secs(20) / share, Limit::Bytes(10_000_000));
    config.drain = Duration::ZERO;
    Load { title: "100 bulk flows, 1 Gbit/s", vectors: Box::new(vectors), config }
}

/// 60 s of 1,000 new connections per second: 500 bytes there, 10 kB back, 500 Mbit/s, 10 to 200 ms.
pub fn web(share: u64) -> Load {
    let end = 60.0 / share as f64;
    let mut arrivals = Stream::new(1, Purpose::Arrivals, 0);
    let mut delays = Stream::new(1, Purpose::Delays, 0);
    let mut at = 0.0;
    let vectors = (0..).map_while(move |id| {
        at += arrivals.exponential(1e-3);
        let rtt = Duration::from_secs_f64(0.01 + 0.19 * delays.uniform());
        let start = Time::ZERO + Duration::from_secs_f64(at);
        (at < end).then(|| Ok(exchange(id, start, rtt, 500, 10_000, 1 << 16)))
    });
    Load {
        title: "1,000 connections/s",
        vectors: Box::new(vectors),
        config: config("500mbit", Duration::from_secs(60) / share, Limit::Packets(65_000)),
    }
}

/// Beyond the three: 40,000 connections open at once, as on a campus link, so that their state does not fit a cache. 60 s
/// of 1,200 new ones per second, each with 20 exchanges of 300 bytes and 3 kB, 1.6 s apart.
pub fn crowd(share: u64) -> Load {
    let mut delays = Stream::new(1, Purpose::Delays, 0);
    let vectors = (0..72_000 / share).map(move |id| {
        let rtt = Duration::from_secs_f64(0.01 + 0.19 * delays.uniform());
        let mut vector = exchange(id, Time::from_nanos(id * 833_333), rtt, 300, 3_000, 1 << 16);
        let pair = [vector.adus[0], Adu { wait: Some(Duration::from_millis(1_600) + rtt / 2), ..vector.adus[1] }];
        vector.adus = pair.repeat(20);
        Ok(vector)
    });
    let mut config = config("1gbit", Duration::from_secs(60) / share, Limit::Packets(65_000));
    config.drain = Duration::ZERO;
    Load { title: "40,000 open connections", vectors: Box::new(vectors), config }
}

/// A request from the left and a response from the right, the monitor in the middle.
pub fn exchange(id: u64, start: Time, rtt: Duration, request: u64, response: u64, window: u64) -> ConnectionVector {
    let end = Endpoint { min_transit: Some(rtt / 2), max_window: Some(window), ..Endpoint::default() };
    let adu = |side, bytes, wait, waiter| Adu {
        side,
        bytes,
        missing_bytes: 0,
        wait,
        waiter,
        seen: Some(Span::default()),
        packets: None,
    };
    ConnectionVector {
        id,
        start,
        initiator_side: LinkSide::Left,
        initiator_rule: InitiatorRule::Syn,
        pattern: Pattern::Sequential,
        complete: true,
        handshake_repeated: false,
        syn_rtt: Some(rtt),
        ends: PerSide { initiator: end, acceptor: end },
        close: Close::Fin(Side::Acceptor),
        t_close: None,
        adus: vec![
            adu(Side::Initiator, request, Some(Duration::ZERO), Side::Acceptor),
            adu(Side::Acceptor, response, None, Side::Acceptor),
        ],
        ..ConnectionVector::default()
    }
}

/// Counts what it is given and throws it away.
#[derive(Default)]
pub struct Counter {
    pub connections: u64,
}

impl Recorder for Counter {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        self.connections += u64::from(matches!(record, Record::Connection { .. }));
        Ok(())
    }
}

/// User and system time of this (single-threaded) process so far, as the scheduler counts it; 0 where /proc is not.
pub fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Most memory held so far.
pub fn peak_memory_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
