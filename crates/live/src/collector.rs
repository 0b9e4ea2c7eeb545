//! Puts together what the two ends and the emulator say of a connection.

use std::collections::BTreeMap;

use flowloom_core::record::{ConnectionRecord, EpochRecord, Outcome, SourceRecord};
use flowloom_core::time::Time;
use flowloom_core::workload::{Close, ConnectionVector, PerSide, Side};
use flowloom_sim::emulation::Closed;
use flowloom_sim::{Classed, Origin};

use crate::addresses::Serial;
use crate::control::{EndReport, Ended, settle_intended};

/// The connections of a run that are not over.
#[derive(Debug, Default)]
pub struct Collector {
    open: BTreeMap<Serial, Open>,
    started: u64,
    failed: u64,
}

/// A connection, and what has been said of it.
#[derive(Debug)]
struct Open {
    classed: Classed,
    at: Time,
    ends: PerSide<Option<EndReport>>,
}

/// A connection of which all is known.
#[derive(Debug)]
pub struct Over {
    /// What it was made of.
    pub classed: Classed,
    /// What it was.
    pub record: ConnectionRecord,
    /// Its epochs at the ends.
    pub epochs: Vec<EpochRecord>,
    /// What the monitor made of it.
    pub monitor: Option<ConnectionVector>,
    /// Whether its SYN was sent.
    pub started: bool,
    /// Payload bytes that the initiator sent.
    pub sent_bytes: u64,
}

impl Collector {
    /// A connection was assigned, which sends its SYN at `at`.
    pub fn expect(&mut self, serial: Serial, at: Time, classed: Classed) {
        self.open.insert(serial, Open { classed, at, ends: PerSide::default() });
    }

    /// An end is over; whether now both are, so that nothing more comes of its connection but what is on its way.
    pub fn end(&mut self, report: EndReport) -> bool {
        self.failed += u64::from(matches!(report.ended, Ended::Error(_)));
        let Some(open) = self.open.get_mut(&report.serial) else { return false };
        let is_start = report.side == Side::Initiator && report.started.is_some();
        self.started += u64::from(is_start && matches!(open.classed.origin, Origin::Workload { .. }));
        let side = report.side;
        open.ends[side] = Some(report);
        open.ends.initiator.is_some() && open.ends.acceptor.is_some()
    }

    /// Connections that are not over.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Those of which an end is missing that one of `is_of_lost` would have reported.
    pub fn missing(&self, is_of_lost: impl Fn(Serial, &ConnectionVector, Side) -> bool) -> Vec<(Serial, Side)> {
        let ends = self.open.iter().flat_map(|(serial, open)| Side::BOTH.map(|side| (*serial, open, side)));
        ends.filter(|(serial, open, side)| {
            open.ends[*side].is_none() && is_of_lost(*serial, &open.classed.vector, *side)
        })
        .map(|(serial, _, side)| (serial, side))
        .collect()
    }

    /// Connections of the workload whose SYN was sent.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Ends that the kernel gave up with an error.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// The emulator has closed a connection: all that is known of it. Ends that said nothing were cut.
    pub fn closed(&mut self, serial: Serial, Closed { rtt, monitor, .. }: Closed) -> Option<Over> {
        let Open { classed, at, ends } = self.open.remove(&serial)?;
        let cut = |side| EndReport::without(serial, side, Ended::Cut);
        let PerSide { initiator, acceptor } = ends;
        let mut initiator = initiator.unwrap_or_else(|| cut(Side::Initiator));
        let acceptor = acceptor.unwrap_or_else(|| cut(Side::Acceptor));
        settle_intended(&mut initiator.epochs, &acceptor.late);
        let id = classed.vector.id;
        let epochs = initiator.epochs.iter().map(|epoch| EpochRecord {
            connection: id,
            epoch: epoch.epoch,
            intended: Some(epoch.intended),
            start: epoch.start,
            end: epoch.end,
        });
        let epochs = epochs.collect();
        let ends = [&initiator, &acceptor];
        let times = |of: fn(&EndReport) -> Option<Time>| ends.into_iter().filter_map(of);
        let kernel = |of: fn(&EndReport) -> u64| ends.into_iter().map(of).sum();
        let record = ConnectionRecord {
            id,
            class: classed.class,
            start: initiator.started.unwrap_or(at),
            outcome: outcome(&classed, &initiator, &acceptor),
            established: initiator.established,
            first_data: times(|end| end.first_sent).min(),
            last_data: times(|end| end.last_received).max(),
            closed: times(|end| end.closed).min(),
            rtt,
            retransmissions: kernel(|end| end.kernel.map_or(0, |facts| facts.retransmissions.into())),
            timeouts: kernel(|end| end.kernel.and_then(|facts| facts.timeouts).map_or(0, u64::from)),
            delivered_bytes: [acceptor.received_bytes, initiator.received_bytes],
        };
        let (started, sent_bytes) = (initiator.started.is_some(), initiator.sent_bytes);
        Some(Over { classed, record, epochs, monitor, started, sent_bytes })
    }
}

/// How a connection ended, by the rule of the simulator: completed, if every byte of every data unit arrived, and both ends
/// closed where the vector closes.
fn outcome(Classed { vector, origin, .. }: &Classed, initiator: &EndReport, acceptor: &EndReport) -> Outcome {
    let ends = [initiator, acceptor];
    let is_endless = matches!(origin, Origin::Source { endless_until: Some(_) });
    let broke = ends.iter().any(|end| matches!(end.ended, Ended::Reset | Ended::Error(_)));
    if is_endless && broke {
        return Outcome::Reset;
    }
    let all_arrived = initiator.received_bytes >= vector.bytes(Side::Acceptor)
        && acceptor.received_bytes >= vector.bytes(Side::Initiator);
    let closed = vector.close == Close::NotSeen || ends.iter().all(|end| end.ended != Ended::Cut);
    match (all_arrived, closed) {
        (true, true) => Outcome::Completed,
        (false, _) if broke => Outcome::Reset,
        _ => Outcome::Unfinished,
    }
}

impl Over {
    /// What it was as a flow of a source.
    pub fn source(&self) -> SourceRecord {
        SourceRecord::of_tcp(&self.record, self.classed.vector.initiator_side, self.sent_bytes)
    }
}
