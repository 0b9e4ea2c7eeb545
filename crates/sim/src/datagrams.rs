//! Flows of datagrams beside the workload: one end sends whatever becomes of them, the other takes note of what arrives.

use std::sync::Arc;

use flowloom_core::distribution::Distribution;
use flowloom_core::path::FlowValues;
use flowloom_core::play::{Datagram, DatagramSink, DatagramSource, Datagrams, Pacing, Prefill, Probes, Run};
use flowloom_core::record::{Outcome, Record, Recorder, SourceRecord, TrafficClass};
use flowloom_core::tcp::Segment;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, ConnectionVector, PerSide, Protocol, Side, Span};

use crate::config::Config;
use crate::datagram_flow::DatagramFlow;
use crate::flow::{Flow, Identifiers};
use crate::network::Network;
use crate::summary::ClassCounts;

impl DatagramFlow {
    /// What `side` of a vector of datagrams sent, as it was seen: each datagram is sent before it passed the monitor, by the time that it
    /// takes to get there, or by less where that would be before the run begins; those of a data unit that are not known one by one have equal sizes and gaps. Whether an end waited for the other nobody could tell, so that none does. `None` if nothing of it is in the
    /// run, which begins as `prefill` says.
    pub fn of_vector(
        vector: &ConnectionVector,
        side: Side,
        (id, class): (u64, u16),
        prefill: Prefill,
        config: &Config,
    ) -> Option<DatagramFlow> {
        let from = if side == Side::Initiator { vector.initiator_side } else { vector.initiator_side.other() };
        let payload = Distribution::constant(1.0).ok()?;
        let (pacing, gap) = (Pacing::Runs(Arc::default()), Duration::from_nanos(1));
        let datagrams = Datagrams { pacing, gap, payload, start: Time::ZERO, stop: Time::MAX, answered: false };
        let ip_version = vector.ip_version;
        let mut flow = DatagramFlow { id, class, from, rtt: config.unknown_rtt, ip_version, datagrams };
        let lead = |flow: &DatagramFlow| {
            let way = flow.vector();
            let values = config.rules.values(config.seed, &way);
            let delays = config.path_delays(&way, class, flow.rtt).with(&values);
            delays.to_monitor(Side::Initiator, from)
        };
        // Of a flow record nothing else is known than how long it lasted.
        let whole = Span { first: Duration::ZERO, last: vector.lifetime.unwrap_or_default() };
        let mut passes = vector
            .single_datagrams(side)
            .map(|adu| (adu.seen.unwrap_or(whole), adu))
            .filter_map(|(seen, adu)| Some((prefill.within(vector.start + seen.first)?, seen.length(), adu)))
            .peekable();
        let first = passes.peek()?.0.since(Time::ZERO);
        let usual = lead(&flow);
        if first < usual {
            // Nobody knows its round trip: one this short lets its first datagram pass in time.
            flow.rtt = Duration::from_secs_f64(flow.rtt.as_secs_f64() * first.as_secs_f64() / usual.as_secs_f64());
        }
        let lead = lead(&flow);
        let start = passes.peek()?.0.before(lead);
        let run = |(passes, length, adu): (Time, Duration, Adu)| {
            Run::new(passes.before(lead).since(start), length, adu.packets.unwrap_or(1), adu.bytes)
        };
        let runs: Arc<[Run]> = passes.filter_map(run).collect();
        let is_in_window = start < Time::ZERO + config.window && !runs.is_empty();
        flow.datagrams = Datagrams { pacing: Pacing::Runs(runs), start, ..flow.datagrams };
        is_in_window.then_some(flow)
    }
}

/// The packet that carries a datagram: a segment without any flag, which TCP has none of.
fn packed(datagram: Datagram) -> Segment {
    Segment {
        sequence: datagram.number,
        acknowledgement: datagram.sent.as_nanos(),
        payload_bytes: datagram.bytes,
        ..Segment::default()
    }
}

fn unpacked(segment: &Segment) -> Datagram {
    Datagram { number: segment.sequence, sent: Time::from_nanos(segment.acknowledgement), bytes: segment.payload_bytes }
}

/// A flow of datagrams under way.
#[derive(Debug)]
pub struct Stream {
    flow: Flow,
    source: DatagramSource,
    sink: DatagramSink,
    /// Of probes: those that were sent, and their answers.
    probes: Option<Probes>,
    /// Payload of the answers that came.
    answer_bytes: u64,
    began: Time,
    rtt: Duration,
}

impl Stream {
    /// The flow, with the values that rules drew for it; it has to be [started](Self::start).
    pub fn new(params: &DatagramFlow, config: &Config, values: &PerSide<FlowValues>) -> Stream {
        let &DatagramFlow { id, class, from, rtt, .. } = params;
        let delays = config.path_delays(&params.vector(), class, rtt).with(values);
        let identifiers = Identifiers { id, initiator_side: from, class };
        let flow = Flow::new(identifiers, config, &delays, values).unobserved();
        let probes = params.datagrams.answered.then(Probes::default);
        Stream {
            flow: if probes.is_some() { flow.counted_as(TrafficClass::Probe) } else { flow },
            probes,
            answer_bytes: 0,
            source: DatagramSource::new(params.within(config.window), config.seed, id),
            sink: DatagramSink::default(),
            began: params.datagrams.start,
            rtt: delays.rtt(),
        }
    }

    /// Its packets.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Its packets, to be moved.
    pub fn flow_mut(&mut self) -> &mut Flow {
        &mut self.flow
    }

    /// Waits for the first datagram.
    pub fn start<R: Recorder>(&mut self, slot: u32, now: Time, network: &mut Network<'_, R>) {
        self.flow.set_timer(slot, Side::Initiator, self.source.next_timeout(), now, network);
    }

    /// The sender's wake-up rings.
    pub fn wake<R: Recorder>(&mut self, slot: u32, side: Side, now: Time, network: &mut Network<'_, R>) {
        if !self.flow.rings(side, now) {
            return;
        }
        self.source.handle_timeout(now);
        while let Some(datagram) = self.source.poll() {
            if let Some(probes) = &mut self.probes {
                probes.handle_sent(&datagram, now);
            }
            self.flow.send(slot, side, &packed(datagram), now, network);
        }
        self.flow.set_timer(slot, side, self.source.next_timeout(), now, network);
    }

    /// The first packet on its way from its last link reaches the other end.
    pub fn deliver<R: Recorder>(&mut self, slot: u32, sender: Side, now: Time, network: &mut Network<'_, R>) {
        let Some(segment) = self.flow.receive(slot, sender, now, network) else { return };
        let datagram = unpacked(&segment);
        match (&mut self.probes, sender) {
            (Some(probes), Side::Acceptor) => {
                self.answer_bytes += u64::from(datagram.bytes);
                probes.handle_answer(datagram.number, Some(datagram.sent), now);
            }
            (Some(_), Side::Initiator) => {
                // A copy is answered too.
                self.sink.handle_datagram(now, datagram);
                self.flow.send(slot, sender.other(), &packed(Datagram { sent: now, ..datagram }), now, network);
            }
            (None, _) => self.sink.handle_datagram(now, datagram),
        }
    }

    /// Hands what it was to the recorder, and counts it.
    ///
    /// # Errors
    /// The recorder's.
    pub fn finish<R: Recorder>(self, counts: &mut ClassCounts, recorder: &mut R) -> Result<(), R::Error> {
        let outcome = match self.source.next_timeout() {
            None => Outcome::Completed,
            Some(_) => Outcome::Unfinished,
        };
        let vector = ConnectionVector {
            id: self.flow.id(),
            protocol: Protocol::Udp,
            start: self.began,
            initiator_side: self.flow.link_side(Side::Initiator),
            ..ConnectionVector::default()
        };
        let sent = self.source.sent();
        let source = SourceRecord::of_datagrams(&vector, self.flow.class(), self.rtt, outcome, sent, &self.sink);
        counts.add(&source);
        counts.to_initiators_bytes += self.answer_bytes;
        match &self.probes {
            Some(probes) => {
                let from = self.flow.link_side(Side::Initiator);
                let mut records = probes.records(from, self.flow.is_quiet());
                records.try_for_each(|probe| {
                    counts.add_probe(&probe);
                    recorder.record(Record::Probe { probe: &probe })
                })
            }
            None => recorder.record(Record::Source { source: &source }),
        }
    }
}
