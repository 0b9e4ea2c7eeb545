//! Puts together what the two ends and the emulator say of a connection, or of a flow of datagrams.

use std::collections::BTreeMap;

use flowloom_core::play::{DatagramSink, Probes};
use flowloom_core::record::{ConnectionRecord, EpochRecord, Outcome, ProbeRecord, SourceRecord};
use flowloom_core::time::Time;
use flowloom_core::workload::{Close, ConnectionVector, LinkSide, PerSide, Protocol, Side};
use flowloom_sim::emulation::Closed;
use flowloom_sim::{Classed, Config, Judged, Origin, PacketsMet, Plausibility, Sending};

use crate::addresses::Serial;
use crate::control::{EndReport, Ended, Unanswered, settle_intended};

/// The connections of a run that are not over.
#[derive(Debug, Default)]
pub struct Collector {
    open: BTreeMap<Serial, Open>,
    started: u64,
    failed: u64,
    /// Ends say nothing any more.
    is_ending: bool,
}

/// A connection, and what has been said of it.
#[derive(Debug)]
struct Open {
    classed: Classed,
    at: Time,
    ends: PerSide<Option<EndReport>>,
    /// Of a flow of datagrams: ends that send nothing more.
    silent: PerSide<bool>,
    /// What the emulator said of it before its ends did: that nothing of a flow of datagrams was on its way any more; of others, when
    /// it had failed.
    closed: Option<Closed>,
}

/// What a report of an end means for its connection.
#[derive(Debug)]
pub enum News {
    /// Something is missing.
    Waits,
    /// Nothing more comes of it but what is on its way: the emulator may close it.
    Quiet,
    /// All is known.
    Over(Box<Over>),
}

/// What the emulator's closing a connection means.
#[derive(Debug)]
pub enum Closing {
    /// Its ends have not heard that nothing more comes.
    Settle,
    /// The emulator has failed, and its ends go on for a moment.
    Early,
    /// All is known.
    Over(Box<Over>),
    /// It was over.
    Unknown,
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
    /// What its packets met.
    pub met: PacketsMet,
    /// What its ends tell of their sending.
    pub sending: PerSide<Sending>,
    /// Of a flow of datagrams: those that the initiator sent, and what came to the acceptor.
    datagrams: Option<(u64, DatagramSink)>,
    /// Of datagrams that are probes: those that the initiator sent, and their answers.
    probes: Option<Probes>,
}

impl Open {
    /// Whether both ends have been reported.
    fn has_ended(&self) -> bool {
        self.ends.initiator.is_some() && self.ends.acceptor.is_some()
    }

    /// Whether neither end of a flow of datagrams sends anything more.
    fn is_silent(&self) -> bool {
        Side::BOTH.into_iter().all(|side| self.silent[side] || self.ends[side].is_some())
    }

    fn is_of_datagrams(&self) -> bool {
        self.classed.vector.protocol != Protocol::Tcp
    }
}

impl Collector {
    /// A connection was assigned, which sends its SYN at `at`.
    pub fn expect(&mut self, serial: Serial, at: Time, classed: Classed) {
        let (ends, silent) = (PerSide::default(), PerSide::default());
        self.open.insert(serial, Open { classed, at, ends, silent, closed: None });
    }

    /// The end on `side` of a flow of datagrams will send nothing more; whether that is now true of both.
    pub fn silent(&mut self, serial: Serial, side: LinkSide) -> bool {
        let Some(open) = self.open.get_mut(&serial) else { return false };
        let end = if open.classed.vector.initiator_side == side { Side::Initiator } else { Side::Acceptor };
        open.silent[end] = true;
        open.is_silent()
    }

    /// An end is over.
    pub fn end(&mut self, report: EndReport) -> News {
        self.failed += u64::from(matches!(report.ended, Ended::Error(_)));
        let serial = report.serial;
        let Some(open) = self.open.get_mut(&serial) else { return News::Waits };
        let is_start = report.side == Side::Initiator && report.started.is_some();
        self.started += u64::from(is_start && matches!(open.classed.origin, Origin::Workload { .. }));
        let side = report.side;
        open.ends[side] = Some(report);
        if !open.has_ended() {
            // One whose worker is gone: the other end goes on, and is over when it is silent.
            return if open.is_of_datagrams() && open.closed.is_none() && open.is_silent() {
                News::Quiet
            } else {
                News::Waits
            };
        }
        match open.closed.take() {
            None => News::Quiet,
            Some(closed) => self.over(serial, closed).map_or(News::Waits, |over| News::Over(Box::new(over))),
        }
    }

    /// Ends say nothing any more: those that were only waited for were cut.
    pub fn hear_no_more(&mut self) -> Vec<Over> {
        self.is_ending = true;
        let closed = self.open.iter_mut().filter_map(|(serial, open)| Some((*serial, open.closed.take()?)));
        let closed: Vec<_> = closed.collect();
        closed.into_iter().filter_map(|(serial, closed)| self.over(serial, closed)).collect()
    }

    /// Connections that are not over.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// How many of them have not had their turn by `now`, and how many of these are connections of the workload. They are assigned ahead,
    /// nearly in the order of their turns.
    pub fn ahead(&self, now: Time) -> (u64, u64) {
        let ahead = self.open.values().rev().take_while(|open| open.at > now);
        ahead.fold((0, 0), |(all, of_workload), open| {
            (all + 1, of_workload + u64::from(matches!(open.classed.origin, Origin::Workload { .. })))
        })
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

    /// The emulator has closed a connection.
    pub fn closed(&mut self, serial: Serial, closed: Closed) -> Closing {
        match self.open.get_mut(&serial) {
            Some(open) if !open.has_ended() && !self.is_ending => {
                open.closed = Some(closed);
                if open.is_of_datagrams() { Closing::Settle } else { Closing::Early }
            }
            _ => self.over(serial, closed).map_or(Closing::Unknown, |over| Closing::Over(Box::new(over))),
        }
    }

    /// A connection that is not over, when neither ends nor the emulator say anything any more.
    pub fn cut(&mut self, config: &Config) -> Option<Over> {
        let (&serial, open) = self.open.first_key_value()?;
        let closed = Closed::without_packets(&open.classed, config);
        let mut over = self.over(serial, closed)?;
        // The emulator counted, and did not come to say it.
        over.record.carried_bytes = None;
        Some(over)
    }

    /// The vector of a connection that is not over.
    pub fn vector(&self, serial: Serial) -> Option<&ConnectionVector> {
        self.open.get(&serial).map(|open| &open.classed.vector)
    }

    /// All that is known of a connection. Ends that said nothing were cut.
    fn over(&mut self, serial: Serial, Closed { rtt, monitor, met, .. }: Closed) -> Option<Over> {
        let Open { classed, at, ends, .. } = self.open.remove(&serial)?;
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
            end: Some(epoch.end),
        });
        let open = initiator.unanswered.map(|Unanswered { epoch, intended, start }| EpochRecord {
            connection: id,
            epoch,
            intended: Some(intended),
            start,
            end: None,
        });
        let epochs = epochs.chain(open).collect();
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
            carried_bytes: Some(Side::BOTH.iter().map(|&side| met.tallies[side].carried_bytes).sum()),
        };
        let probes = initiator.probes.take();
        let (started, sent_bytes) = (initiator.started.is_some(), initiator.sent_bytes);
        let sending = PerSide { initiator: initiator.sending(), acceptor: acceptor.sending() };
        let datagrams = (classed.vector.protocol != Protocol::Tcp).then(|| {
            let sent = initiator.datagrams.map_or(0, |(sent, _)| sent);
            (sent, acceptor.datagrams.map(|(_, sink)| sink).unwrap_or_default())
        });
        Some(Over { classed, record, epochs, monitor, started, sent_bytes, met, sending, datagrams, probes })
    }
}

/// How a connection ended, by the rule of the simulator: completed, if every byte of every data unit arrived, and both ends
/// closed where the vector closes.
fn outcome(Classed { vector, origin, .. }: &Classed, initiator: &EndReport, acceptor: &EndReport) -> Outcome {
    if vector.protocol != Protocol::Tcp {
        // Whatever became of them.
        return if initiator.ended == Ended::Completed { Outcome::Completed } else { Outcome::Unfinished };
    }
    let ends = [initiator, acceptor];
    let is_endless = matches!(origin, Origin::Source { endless_until: Some(_) });
    let broke = ends.iter().any(|end| matches!(end.ended, Ended::Reset | Ended::Error(_)));
    let gave_up = ends.iter().any(|end| end.ended == Ended::Error(nix::libc::ETIMEDOUT));
    let broken = if gave_up { Outcome::GaveUp } else { Outcome::Reset };
    if is_endless && broke {
        return broken;
    }
    let all_arrived = initiator.received_bytes >= vector.bytes(Side::Acceptor)
        && acceptor.received_bytes >= vector.bytes(Side::Initiator);
    let closed = vector.close == Close::NotSeen || ends.iter().all(|end| end.ended != Ended::Cut);
    match (all_arrived, closed) {
        (true, true) => Outcome::Completed,
        (false, _) if broke => broken,
        _ => Outcome::Unfinished,
    }
}

impl Over {
    /// Adds what its packets met to what is known of the run, if it is a connection.
    pub fn judge(&self, plausibility: &mut Plausibility, config: &Config) {
        let Classed { vector, class, .. } = &self.classed;
        if vector.protocol != Protocol::Tcp {
            return;
        }
        plausibility.add_packets(*class, vector.initiator_side, &self.met.tallies, self.record.rtt);
        for side in Side::BOTH.into_iter().filter(|side| self.met.losses[*side].is_some()) {
            plausibility.add_losses(&Judged::new(vector, *class), side, &self.met, self.sending[side], config);
        }
    }

    /// What became of its probes, if it is one or sends some.
    pub fn probes(&self) -> Vec<ProbeRecord> {
        let from = self.classed.vector.initiator_side;
        match (&self.probes, &self.datagrams) {
            (Some(probes), _) => probes.records(from, self.record.outcome == Outcome::Completed).collect(),
            // Its worker is gone, and what it knew.
            (None, Some(_)) => Vec::new(),
            (None, None) => vec![ProbeRecord::of_request(&self.record, self.epochs.first(), from)],
        }
    }

    /// What it was as a flow of a source.
    pub fn source(&self) -> SourceRecord {
        let ConnectionRecord { class, rtt, outcome, .. } = self.record;
        let vector = &self.classed.vector;
        match &self.datagrams {
            None => SourceRecord::of_tcp(&self.record, vector.initiator_side, self.sent_bytes),
            Some((sent, arrived)) => {
                SourceRecord::of_datagrams(vector, class, rtt, outcome, (*sent, self.sent_bytes), arrived)
            }
        }
    }
}
