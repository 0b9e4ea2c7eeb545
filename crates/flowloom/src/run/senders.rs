//! Who sends in a run: the workload, in its classes, and the sources beside it.

use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use flowloom_core::play::{self, Run};
use flowloom_core::record::PacketRecord;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, LinkSide, Protocol, Side};
use flowloom_report::facts::{AS_SEEN, ClassFacts, LinkFacts, PROBES, SharingFacts};
use flowloom_report::words::DATAGRAMS;
use flowloom_sim::{Class, Classed, Config, DatagramFlow, Summary, Traced, Way};

use crate::error::{Error, KeyError};
use crate::experiment::{DatagramModel, Experiment, FIRST_FLOW, Flows, PROBE, Placed, Shape, Tcp, TcpClass, WORKLOAD};
use crate::warning::Warning;

/// The classes of a run, in the order of [`Config::classes`]: the workload, its classes, the sources, the workload's datagrams, probes.
pub struct Senders<'a> {
    experiment: &'a Experiment,
    classes: Vec<Class>,
    /// Of each class of the workload, the lots that are in it.
    lots: Vec<Range<f64>>,
    sources: Vec<Placed<'a>>,
    /// The class of the workload's datagrams, if they are sent.
    datagrams: Option<u16>,
    /// The class of probes, if there are some, and the side of the bottleneck that their sender is on.
    probe: Option<(u16, LinkSide)>,
}

/// A packet as a capture has it: datagrams have the addresses of their vector, which are those of no TCP connection.
pub fn captured(packet: &PacketRecord) -> PacketRecord {
    match DatagramFlow::vector_of(packet.connection) {
        Some((connection, sender)) => PacketRecord { connection, sender, ..*packet },
        None => *packet,
    }
}

impl<'a> Senders<'a> {
    /// Those of an experiment whose network has this shape, and which may have a workload, with so many flows of datagrams. `runs` are those of
    /// [`Plan::runs`](crate::run::plan::Plan::runs).
    pub fn new(
        experiment: &'a Experiment,
        shape: &Shape,
        has_workload: bool,
        datagram_flows: u64,
        runs: &[Option<Arc<[Run]>>],
    ) -> Result<Senders<'a>, Error> {
        let way = shape.workload_way().map_err(|error| KeyError::saying("network.ends", error))?;
        let tcp = &experiment.tcp;
        let replay = experiment.workload.replay;
        let of_workload = |tcp: &Tcp| Class {
            way: way.clone(),
            tcp: tcp.config(),
            as_captured: replay.as_captured(tcp),
            ..Class::default()
        };
        let mut classes = vec![of_workload(tcp)];
        classes.extend(tcp.classes.iter().map(|class| of_workload(&tcp.with(&class.tcp))));
        let (mut sources, mut first) = (Vec::new(), FIRST_FLOW);
        for (number, source) in experiment.sources.iter().enumerate() {
            let way = source.way(shape);
            // It was checked with the experiment.
            let way = way.map_err(|mut problems| problems.swap_remove(0).within(format_args!("sources[{number}]")));
            let (way, from) = way?;
            let runs = runs.get(number).cloned().flatten();
            sources.push(Placed { source, class: classes.len() as u16, from, first, runs });
            classes.push(Class { way, tcp: source.tcp(tcp).config(), is_target: true, ..Class::default() });
            first += source.flows();
        }
        let sends_datagrams = datagram_flows > 0 && experiment.workload.datagrams == DatagramModel::AsSeen;
        let names =
            experiment.sources.iter().map(|source| &source.name).chain(tcp.classes.iter().map(|class| &class.name));
        if sends_datagrams && names.into_iter().any(|name| name == DATAGRAMS) {
            return Err(Error::usage(format_args!("a class or source is called {DATAGRAMS:?}, as the workload's are"))
                .hint("give it another name, or set workload.datagrams to \"leave-out\""));
        }
        let datagrams = sends_datagrams.then_some(classes.len() as u16);
        classes.extend(sends_datagrams.then(|| of_workload(tcp)));
        let mut probe = None;
        if let Some(asked) = &experiment.probe {
            let (way, from) = asked.way(shape).map_err(|mut problems| problems.swap_remove(0))?;
            probe = Some((classes.len() as u16, from));
            classes.push(Class { way, tcp: tcp.config(), ..Class::default() });
        }
        let mut senders = Senders { experiment, classes, lots: tcp.lots(), sources, datagrams, probe };
        senders.fill_unused(has_workload);
        Ok(senders)
    }

    /// Gives the classes that no TCP connection is of the TCP of the first class that has some: a kernel has one TCP for all classes,
    /// and those that nobody uses must not differ.
    fn fill_unused(&mut self, has_workload: bool) {
        let first_source = 1 + self.experiment.tcp.classes.len();
        let is_used = |sources: &[Placed<'_>], class: usize| match class.checked_sub(first_source) {
            None => has_workload,
            Some(place) => sources.get(place).is_some_and(|placed| placed.source.is_tcp()),
        };
        let used = (0..self.classes.len()).find(|class| is_used(&self.sources, *class));
        let Some(tcp) = used.map(|class| self.classes[class].tcp.clone()) else { return };
        for (_, class) in self.classes.iter_mut().enumerate().filter(|(class, _)| !is_used(&self.sources, *class)) {
            class.tcp = tcp.clone();
        }
    }

    /// The class of probes, if there are some.
    pub fn probe_class(&self) -> Option<usize> {
        self.probe.map(|(class, _)| usize::from(class))
    }

    /// Whether the datagrams of the workload are sent.
    pub fn sends_datagrams(&self) -> bool {
        self.datagrams.is_some()
    }

    /// As the simulator takes them.
    pub fn classes(&self) -> Vec<Class> {
        self.classes.clone()
    }

    /// Whether something of them cannot be in this network.
    pub fn check(&self, config: &Config) -> Result<(), Error> {
        for (number, Placed { source, class, .. }) in self.sources.iter().enumerate() {
            let Way { there, back } = &config.classes[usize::from(*class)].way;
            if !source.has_rtt() && there.iter().chain(back).all(|link| config.link(*link).delay.is_zero()) {
                return Err(Error::from(KeyError::new(
                    format!("sources[{number}].rtt"),
                    "is missing, and the links on its way take no time either",
                ))
                .hint("give it a round-trip time, as in rtt = \"100ms\", or the links a delay"));
            }
        }
        if let Some(probe) = &self.experiment.probe {
            probe.check(config.window)?;
        }
        Ok(())
    }

    /// The class of a connection of the workload under a seed.
    pub fn class(&self, seed: u64, vector: &ConnectionVector) -> u16 {
        let classes = &self.experiment.tcp.classes;
        if classes.is_empty() {
            return 0;
        }
        let lot = Stream::new(seed, Purpose::Classes, vector.id).uniform();
        let is_in = |(class, lots): &(&TcpClass, &Range<f64>)| class.matches(vector, lots, lot);
        classes.iter().zip(&self.lots).position(|pair| is_in(&pair)).map_or(0, |place| 1 + place as u16)
    }

    /// What the sources send under a seed.
    pub fn flows(&self, seed: u64, window: Duration) -> Flows {
        let mut flows = Flows::default();
        self.sources.iter().for_each(|source| source.add_to(&mut flows, seed, window));
        if let (Some(probe), Some(place)) = (&self.experiment.probe, self.probe) {
            probe.add_to(&mut flows, place, seed, window);
        }
        flows.connections.sort_by_key(|flow| flow.vector.start);
        flows
    }

    /// The vectors of the workload, each where the run has it; those that end before the run begins are left out.
    pub fn placed<E>(
        &self,
        vectors: impl Iterator<Item = Result<ConnectionVector, E>>,
        config: &Config,
    ) -> impl Iterator<Item = Result<play::Placed, E>> {
        let (prefill, unknown_rtt) = (self.experiment.workload.prefill(), config.unknown_rtt);
        vectors.filter_map(move |vector| match vector {
            Ok(vector) => prefill.place(vector, unknown_rtt).map(Ok),
            Err(error) => Some(Err(error)),
        })
    }

    /// What the flows of datagrams of the workload send in a run, if they do, from `vectors` by their start; and how many of these flows
    /// have data units of which single datagrams are not known.
    ///
    /// # Errors
    /// The workload's.
    pub fn datagrams<E>(
        &self,
        vectors: impl Iterator<Item = Result<ConnectionVector, E>>,
        config: &Config,
    ) -> Result<(Vec<DatagramFlow>, u64), E> {
        let (mut flows, mut evened) = (Vec::new(), 0);
        let Some(class) = self.datagrams else { return Ok((flows, evened)) };
        let prefill = self.experiment.workload.prefill();
        for vector in vectors {
            let vector = vector?;
            if vector.protocol != Protocol::Tcp {
                evened += u64::from(!vector.knows_datagrams());
                let flow = |side: Side| {
                    let identity = (DatagramFlow::id_of(vector.id, side), class);
                    DatagramFlow::of_vector(&vector, side, identity, prefill, config)
                };
                flows.extend(Side::BOTH.into_iter().filter_map(flow));
            }
        }
        Ok((flows, evened))
    }

    /// What a report says of them, where links have these names; nothing if there is only the workload.
    pub fn facts(&self, summary: &Summary, links: &[LinkFacts]) -> Vec<ClassFacts> {
        if self.classes.len() == 1 {
            return Vec::new();
        }
        let tcp = &self.experiment.tcp;
        let workload = (WORKLOAD, WORKLOAD.to_owned(), Some(tcp.congestion.word()));
        let classes = tcp
            .classes
            .iter()
            .map(|class| (class.name.as_str(), WORKLOAD.to_owned(), Some(tcp.with(&class.tcp).congestion.word())));
        let sources = self.sources.iter().map(|Placed { source, .. }| {
            (source.name.as_str(), source.to_string(), source.is_tcp().then(|| source.tcp(tcp).congestion.word()))
        });
        let datagrams = self.datagrams.map(|_| (DATAGRAMS, AS_SEEN.to_owned(), None));
        let probe = self.probe.map(|_| (PROBE, PROBES.to_owned(), None));
        let named = [workload].into_iter().chain(classes).chain(sources).chain(datagrams).chain(probe);
        let facts = named.zip(&summary.classes).map(|((name, kind, congestion), counts)| ClassFacts {
            name: name.to_owned(),
            kind,
            congestion: congestion.unwrap_or_default(),
            started: counts.flows.started,
            completed: counts.flows.completed,
            reset: counts.flows.reset,
            gave_up: counts.flows.gave_up,
            unfinished: counts.flows.unfinished,
            to_acceptors_bytes: counts.to_acceptors_bytes,
            to_initiators_bytes: counts.to_initiators_bytes,
            retransmissions: counts.retransmissions,
            timeouts: counts.timeouts,
            sent_datagrams: counts.sent_datagrams,
            received_datagrams: counts.received_datagrams,
            dropped_datagrams: counts.dropped_datagrams,
            dropped_copies: counts.dropped_copies,
            datagrams_dropped_at: counts
                .datagrams_dropped_at
                .and_then(|link| Some(links.get(usize::from(link))?.name.clone())),
            is_transfer: false,
            sharing: SharingFacts::new(
                counts.sharing.flows,
                counts.sharing.bytes as f64,
                counts.sharing.squares as f64,
            ),
        });
        let mut facts: Vec<ClassFacts> = facts.collect();
        for Placed { source, class, .. } in &self.sources {
            facts[usize::from(*class)].is_transfer = source.is_transfer();
        }
        facts
    }

    /// What was asked for of connections that a run to its end did not have.
    pub fn not_met(&self, summary: &Summary) -> Vec<Warning> {
        let classes = self.experiment.tcp.classes.iter().zip(summary.classes.iter().skip(1));
        let empty = classes.filter(|(_, counts)| counts.flows.started == 0);
        let mut warnings: Vec<Warning> =
            empty.map(|(class, _)| Warning::ClassEmpty { class: class.name.to_string() }).collect();
        let of_sources = self.sources.iter().filter_map(|Placed { source, class, .. }| {
            let (wanted, began) = (source.flows(), summary.classes[usize::from(*class)].flows.started);
            (began < wanted).then(|| Warning::SourceMissed { source: source.name.to_string(), wanted, began })
        });
        warnings.extend(of_sources);
        if let Traced::Connections(ids) = self.experiment.measure.tcp_trace.traced()
            && summary.traced < ids.len() as u64
        {
            warnings.push(Warning::TraceMissed { wanted: ids.len() as u64, began: summary.traced });
        }
        warnings
    }
}

/// The workload and the connections of sources, by start; of equal starts the workload's first.
pub struct Together<W: Iterator> {
    workload: Peekable<W>,
    sources: Peekable<std::vec::IntoIter<Classed>>,
}

impl<E, W: Iterator<Item = Result<Classed, E>>> Together<W> {
    /// Both, each by start.
    pub fn new(workload: W, sources: Vec<Classed>) -> Together<W> {
        Together { workload: workload.peekable(), sources: sources.into_iter().peekable() }
    }
}

impl<E, W: Iterator<Item = Result<Classed, E>>> Iterator for Together<W> {
    type Item = Result<Classed, E>;

    fn next(&mut self) -> Option<Result<Classed, E>> {
        let Some(source) = self.sources.peek() else { return self.workload.next() };
        match self.workload.peek() {
            Some(Ok(vector)) if source.vector.start < vector.vector.start => self.sources.next().map(Ok),
            Some(_) => self.workload.next(),
            None => self.sources.next().map(Ok),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel has one TCP for all connections of a run.
    #[test]
    fn classes_without_connections_have_the_tcp_of_others() {
        let text = "sources = [{ name = \"a\", kind = \"bulk\", rtt = \"20ms\", tcp = { congestion = \"reno\" } }, \
                    { name = \"b\", kind = \"cbr\", rate = \"64kbit\", rtt = \"20ms\" }]\n\
                    tcp.profile = \"linux\"\nmeasure.duration = \"1s\"\n";
        let experiment = Experiment::parse(text, "x").unwrap();
        let shape = experiment.network.shape().unwrap();
        let classes = |has_workload| {
            let senders = Senders::new(&experiment, &shape, has_workload, u64::from(has_workload), &[]).unwrap();
            senders.classes().into_iter().map(|class| class.tcp).collect::<Vec<_>>()
        };
        let alone = classes(false);
        assert!(alone.iter().all(|tcp| *tcp == alone[1]), "{alone:?}");
        let [workload, source, datagrams, flows] = &classes(true)[..] else { panic!("four classes") };
        assert!(workload != source && [datagrams, flows] == [workload; 2] && *source == alone[1]);
    }
}
