//! A recorder that keeps everything, and vectors to run.

use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::record::*;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::*;
use flowloom_sim::{Config, RunError, Summary, run};

/// Everything a run reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    pub connections: Vec<(ConnectionVector, ConnectionRecord, Vec<EpochRecord>, Option<ConnectionVector>)>,
    pub queue: Vec<QueueSample>,
    pub bins: Vec<ThroughputBin>,
    pub drops: Vec<DropRecord>,
    pub sojourns: Vec<SojournRecord>,
    pub packets: Vec<PacketRecord>,
    /// At links beside the bottleneck, with their numbers.
    pub elsewhere: Vec<(u16, PacketRecord)>,
    pub sources: Vec<SourceRecord>,
    pub probes: Vec<ProbeRecord>,
    pub windows: Vec<WindowRecord>,
}

impl Recorder for Log {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        match record {
            Record::Connection { original, ended, epochs, monitor } => {
                self.connections.push((original.clone(), ended.clone(), epochs.to_vec(), monitor.cloned()));
            }
            Record::Queue { sample } => self.queue.push(*sample),
            Record::Throughput { bin } => self.bins.push(*bin),
            Record::Sojourn { bin } => self.sojourns.push(*bin),
            Record::Dropped { packet } => self.drops.push(*packet),
            Record::Source { source } => self.sources.push(source.clone()),
            Record::Window { change } => self.windows.push(*change),
            Record::Packet { link: 0 | 1, packet } => self.packets.push(*packet),
            Record::Packet { link, packet } => self.elsewhere.push((link, *packet)),
            Record::Probe { probe } => self.probes.push(*probe),
            Record::Flow { .. } => {}
        }
        Ok(())
    }
}

/// Runs `vectors` to the end, and records packets too.
pub fn simulate(vectors: &[ConnectionVector], config: &Config) -> (Summary, Log) {
    let mut log = Log::default();
    let config = Config { record_packets: true, ..config.clone() };
    let outcome: Result<Summary, RunError<Infallible, Infallible>> =
        run(vectors.iter().cloned().map(Ok), &config, &mut log, |_| ControlFlow::Continue(()));
    (outcome.expect("the run succeeds"), log)
}

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

/// A vector with the given ADUs (side, bytes, wait after it), starting at `start`, 20 ms and 60 ms from the monitor.
pub fn vector(id: u64, start: Time, pattern: Pattern, adus: &[(Side, u64, Duration)]) -> ConnectionVector {
    let end = |transit| Endpoint { min_transit: Some(transit), max_window: Some(1 << 20), ..Endpoint::default() };
    let waiter = |index: usize| match pattern {
        Pattern::Sequential => adus.get(index + 1).unwrap_or(&adus[index]).0,
        Pattern::Concurrent => adus[index].0,
    };
    ConnectionVector {
        id,
        start,
        initiator_side: LinkSide::Left,
        initiator_rule: InitiatorRule::Syn,
        pattern,
        complete: true,
        handshake_repeated: false,
        syn_rtt: None,
        ends: PerSide { initiator: end(ms(20)), acceptor: end(ms(60)) },
        close: Close::Fin(Side::Initiator),
        t_close: None,
        adus: (0..adus.len())
            .map(|index| Adu {
                side: adus[index].0,
                bytes: adus[index].1,
                missing_bytes: 0,
                wait: Some(adus[index].2),
                waiter: waiter(index),
                seen: Some(Span::default()),
                packets: None,
            })
            .collect(),
        ..ConnectionVector::default()
    }
}

/// A request and its response, at once.
pub fn exchange(id: u64, start: Time, request: u64, response: u64) -> ConnectionVector {
    let adus = [(Side::Initiator, request, Duration::ZERO), (Side::Acceptor, response, Duration::ZERO)];
    vector(id, start, Pattern::Sequential, &adus)
}
