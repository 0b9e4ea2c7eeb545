//! A live run: the workload through kernel TCP, from the first SYN to the last packet.

use std::iter::Peekable;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use flowloom_core::play::Datagrams;
use flowloom_core::record::{ProbeRecord, Record, Recorder};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Host, LinkSide, PerSide, Protocol, Side};

use flowloom_sim::{Classed, Config, ConnectionCounts, DatagramFlow, Origin, RunError, Starts, Summary, ip_version};

use crate::addresses::{self, Addressing, Serial};
use crate::backend::{Backend, Here, Standing};
use crate::calibrate::with_less_propagation;
use crate::clock::{Clock, process_cpu_time};
use crate::collector::{Closing, Collector, News, Over};
use crate::control::{Assignment, EndReport, Ended, FromWorker, SocketOptions, ToWorker, WorkerReport};
use crate::emulator::{self, Command, Commands, Emulator, EmulatorReport, Output, PathError, PathState};
use crate::guests::Guests;
use crate::host::limits::CpuTimes;
use crate::host::settings::Settings;
use crate::lateness::LatenessSummary;
use crate::observed::Observed;
use crate::options::Options;
use crate::problem::{LiveError, Problem, WorkersError};
use crate::remote::backend::{Hosts, RemoteBackend};
use crate::workers::{Heard, Workers};

/// Connections are assigned so long before their SYNs.
const AHEAD: Duration = Duration::from_secs(3);
/// Between the clock's being told and its origin: for threads to wake up, and for workers to take in each connection that was
/// assigned by then. Those in progress when a run begins are tens of thousands.
const COUNTDOWN: Duration = Duration::from_millis(100);
/// See [`COUNTDOWN`].
const COUNTDOWN_EACH: Duration = Duration::from_micros(60);
/// How often the run looks at the time, if nobody says anything.
const LOOK: Duration = Duration::from_millis(10);
/// What is cut at the end is reported within this.
const GOODBYE: Duration = Duration::from_secs(10);

/// How far a live run is.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    /// What every run has. Links are as of a quarter of a second ago or less.
    pub run: flowloom_sim::Progress<'a>,
    /// How late packets were handed on.
    pub releases: LatenessSummary,
    /// Ends that the kernel gave up with an error.
    pub failed: u64,
    /// What went wrong.
    pub problems: &'a [Problem],
}

/// Whether a kernel can do what an experiment asks for, before anything is made.
///
/// # Errors
/// What it cannot, or the experiment has impossible numbers.
pub fn check<W, R>(config: &Config) -> Result<(), LiveError<W, R>> {
    possible(config).map(drop)
}

/// What the kernel is told, and what sockets of each class have, if it can do what an experiment asks for.
fn possible<W, R>(config: &Config) -> Result<(Settings, Vec<SocketOptions>), LiveError<W, R>> {
    config.validate()?;
    Ok(Settings::from_classes(&config.classes)?)
}

/// Runs `vectors`, which come in order of their start, as [`flowloom_sim::run`] does, through kernel TCP on this host: in network
/// namespaces made for it, in which nothing else is and out of which nothing leads.
///
/// # Errors
/// See [`LiveError`]. Whatever happens, processes, devices and namespaces are gone when it returns.
pub fn run<W, R: Recorder, C: Into<Classed>>(
    vectors: impl IntoIterator<Item = Result<C, W>>,
    config: &Config,
    options: &Options,
    recorder: &mut R,
    mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<(Summary, Observed), LiveError<W, R::Error>> {
    let standing = Here::stand(config, options, possible(config)?)?;
    play_on(standing, true, vectors, config, options, recorder, &mut progress)
}

/// The same on other hosts, which have their kernels say what they cannot do.
///
/// # Errors
/// See [`LiveError`]. Whatever happens, nothing is left on them.
pub fn run_remote<W, R: Recorder, C: Into<Classed>>(
    vectors: impl IntoIterator<Item = Result<C, W>>,
    config: &Config,
    options: &Options,
    hosts: Hosts,
    recorder: &mut R,
    mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<(Summary, Observed), LiveError<W, R::Error>> {
    config.validate()?;
    let standing = RemoteBackend::stand(config, options, Settings::for_remote(&config.classes)?, hosts)?;
    play_on(standing, false, vectors, config, options, recorder, &mut progress)
}

fn play_on<G: Backend, W, R: Recorder, C: Into<Classed>>(
    standing: Standing<G>,
    has_one_clock: bool,
    vectors: impl IntoIterator<Item = Result<C, W>>,
    config: &Config,
    options: &Options,
    recorder: &mut R,
    progress: &mut impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<(Summary, Observed), LiveError<W, R::Error>> {
    let host = |what| move |cause| LiveError::Host { what, cause };
    let addressing = options.addressing;
    let has_guests = !options.guests.1.is_empty();
    let Standing { mut backend, devices, workers, bias, lead, no_ipv6, mut observed } = standing;
    let before = backend.counters().map_err(host("reading counters"))?;
    let usage = CpuTimes::now().map_err(host("reading /proc/stat"))?;
    let own_cpu = process_cpu_time();
    let (commands, orders) = emulator::commands().map_err(host("making an eventfd"))?;
    let (out, output) = channel();
    let mut flows = config.datagrams.clone();
    flows.sort_by_key(|flow| flow.datagrams.start);
    let mut live = Live {
        config,
        workers,
        commands,
        output,
        recorder,
        addressing,
        has_ipv6: no_ipv6.is_none(),
        in_ipv4_instead: 0,
        starts: Starts::new(vectors.into_iter()),
        flows: flows.into_iter().peekable(),
        next: None,
        all_assigned: false,
        collector: Collector::default(),
        path: PathState::default(),
        active: 0,
        begun: 0,
        serial: 0,
        summary: Summary::new(config),
        reports: Vec::new(),
        problems: Vec::new(),
        guests: Guests::default(),
        guest: None,
        stopped: None,
        has_one_clock,
    };
    live.next = live.starts.next(config)?;
    live.assign_until(Time::ZERO + AHEAD)?;
    let clock = Clock::starting_in(lead + COUNTDOWN + COUNTDOWN_EACH * u64::from(live.serial));
    let ipv6 = no_ipv6.is_none();
    let settings = emulator::Settings { tick: options.tick, bias, addressing, ipv6, ..emulator::Settings::default() };
    let emulated = if has_guests { with_less_propagation(config, bias) } else { config.clone() };
    let emulator = Emulator::new(emulated, settings, devices, clock, orders, out);
    let emulator = thread::Builder::new().name("emulator".to_owned()).spawn(move || emulator.run());
    let emulator = emulator.map_err(host("starting a thread"))?;
    live.workers.tell_all(&ToWorker::Start(clock));
    let (program, guests) = &options.guests;
    live.guests = backend.guests(guests, program).map_err(host("starting a program"))?;
    let played = live.play(clock, &emulator, progress);
    let cut_short = live.summary.interrupted || played.is_err() || live.guest.is_some();
    // Whatever came of it, the emulator ends: it would wait for ever. One that has ended says why.
    let _ = live.commands.send(Command::Stop { interrupted: cut_short });
    let rest = live.take_rest();
    // The counters of its devices are gone with them.
    let (report, devices) = emulator.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    played.and(rest)?;
    let report = report.unwrap_or_else(|error| {
        let failed = Some(error.to_string());
        EmulatorReport { failed, ..EmulatorReport::default() }
    });
    live.problems.extend(report.failed.iter().map(|why| Problem::Emulator { why: why.clone() }));
    let packets = if report.failed.is_none() { report.unaccounted() } else { 0 };
    live.problems.extend((packets > 0).then_some(Problem::Unaccounted { packets }));
    let instead = live.in_ipv4_instead;
    observed.notes.extend(no_ipv6.filter(|_| instead > 0).map(|why| why.not_replayed(instead)));
    let Live { mut summary, collector, reports, mut problems, workers, starts, guests, guest, .. } = live;
    drop((workers, guests));
    observed.cut_short = cut_short || report.failed.is_some();
    observed.guest = guest;
    observed.usage = CpuTimes::now().map_err(host("reading /proc/stat"))?.since(&usage);
    // A device that is gone has taken its counters with it; one that is down was taken down.
    let after = backend.counters().unwrap_or_else(|error| {
        problems.push(Problem::Device { why: error.to_string() });
        before.clone()
    });
    // What came late to a tunnel was counted as lost before.
    observed.device_drops = after.device_drops().saturating_sub(before.device_drops());
    drop(devices);
    observed.listen_drops = after.listen_drops() - before.listen_drops();
    problems.extend(after.losses_since(&before).map(|(loss, count)| Problem::Lost { loss, count }));
    observed.take(&report, &reports);
    observed.recording_cpu = process_cpu_time().saturating_sub(own_cpu).saturating_sub(report.cpu);
    observed.length = summary.end.since(Time::ZERO);
    observed.scheduled = summary.connections.started;
    observed.started = collector.started();
    observed.failed = collector.failed();
    observed.problems = problems;
    summary.datagram_flows = starts.datagram_flows();
    summary.directions = report.network.directions;
    summary.links = report.network.links;
    summary.add_drops(&report.network.drops);
    Ok((summary, observed))
}

/// The numbers by which a workload tells hosts apart, where it does.
fn host_numbers(vector: &ConnectionVector) -> PerSide<Option<u32>> {
    vector.ends.map(|end| {
        end.host.map(|host| match host {
            Host::Number(number) => number,
            Host::Address(IpAddr::V4(address)) => address.to_bits(),
            // The last part tells hosts of a network apart.
            Host::Address(IpAddr::V6(address)) => address.to_bits() as u32,
        })
    })
}

/// The emulator's thread.
type Playing<D> = thread::JoinHandle<(Result<EmulatorReport, PathError>, [D; 2])>;

struct Live<'a, V, R> {
    config: &'a Config,
    workers: Workers,
    commands: Commands,
    output: Receiver<Output>,
    recorder: &'a mut R,
    addressing: Addressing,
    /// Whether connections can run over IPv6.
    has_ipv6: bool,
    /// Connections and flows of datagrams over IPv6 that run over IPv4.
    in_ipv4_instead: u64,
    starts: Starts<V>,
    /// Flows of datagrams that were not assigned, by start.
    flows: Peekable<std::vec::IntoIter<DatagramFlow>>,
    /// The connection to be assigned next.
    next: Option<(Time, Classed)>,
    all_assigned: bool,
    collector: Collector,
    /// How far the emulator was when it told that last.
    path: PathState,
    /// Connections and flows that were open then.
    active: u64,
    /// Connections of the workload whose turn had come then.
    begun: u64,
    serial: Serial,
    summary: Summary,
    /// Of workers that have ended, each with its side.
    reports: Vec<(LinkSide, WorkerReport)>,
    problems: Vec<Problem>,
    guests: Guests,
    guest: Option<ExitStatus>,
    /// When workers were told to end.
    stopped: Option<Time>,
    /// Whether both sides are on this host, so that one-way delays are known.
    has_one_clock: bool,
}

impl<W, R: Recorder, C: Into<Classed>, V: Iterator<Item = Result<C, W>>> Live<'_, V, R> {
    /// Plays until all is over, or the time is.
    fn play<D>(
        &mut self,
        clock: Clock,
        emulator: &Playing<D>,
        progress: &mut impl FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<(), LiveError<W, R::Error>> {
        let cut = Time::ZERO + self.config.window + self.config.drain;
        loop {
            let now = clock.now();
            self.summary.end = now.min(cut);
            self.assign_until(now + AHEAD)?;
            self.hear(LOOK)?;
            let is_over = now >= cut || (self.all_assigned && self.collector.open() == 0);
            self.guest =
                self.guests.ended().map_err(|cause| LiveError::Host { what: "waiting for a program", cause })?;
            if self.guest.is_some() || emulator.is_finished() || (is_over && !self.guests.keep_it_going()) {
                break;
            }
            if progress(self.progress(now)).is_break() {
                self.summary.interrupted = true;
                break;
            }
        }
        self.stopped = Some(clock.now());
        self.workers.tell_all(&ToWorker::Stop);
        let patience = clock.now() + GOODBYE;
        while !self.workers.have_ended() {
            self.hear(LOOK)?;
            if clock.now() > patience {
                self.problems.push(Problem::NotEnded);
                break;
            }
        }
        let mut end = self.progress(self.summary.end);
        end.run.is_last = true;
        let _ = progress(end);
        Ok(())
    }

    fn progress(&self, now: Time) -> Progress<'_> {
        Progress {
            run: flowloom_sim::Progress {
                now,
                active: self.active,
                events: 0,
                connections: ConnectionCounts { started: self.begun, ..self.summary.connections },
                links: &self.path.links,
                is_last: false,
            },
            releases: self.path.lateness,
            failed: self.collector.failed(),
            problems: &self.problems,
        }
    }

    /// Assigns the connections whose SYNs are sent by `horizon`, and flows of datagrams that begin by then.
    fn assign_until(&mut self, horizon: Time) -> Result<(), LiveError<W, R::Error>> {
        loop {
            let first = self.next.as_ref().map_or(Time::MAX, |next| next.0).min(horizon);
            if let Some(flow) = self.flows.next_if(|flow| flow.datagrams.start <= first) {
                let origin =
                    if flow.datagrams.answered { Origin::Probe } else { Origin::Source { endless_until: None } };
                let classed = Classed { vector: flow.vector(), class: flow.class, origin };
                self.assign(flow.datagrams.start, classed, Some(flow.within(self.config.window)))?;
            } else if let Some((at, classed)) = self.next.take_if(|(at, _)| *at <= horizon) {
                self.assign(at, classed, None)?;
                self.next = self.starts.next(self.config)?;
            } else {
                break;
            }
        }
        if self.next.is_none() && self.flows.peek().is_none() && !self.all_assigned {
            self.all_assigned = true;
            self.workers.tell_all(&ToWorker::NoMore);
        }
        Ok(())
    }

    fn assign(
        &mut self,
        at: Time,
        classed: Classed,
        datagrams: Option<Datagrams>,
    ) -> Result<(), LiveError<W, R::Error>> {
        let serial = self.serial;
        if u64::from(serial) + 1 >= self.addressing.most_connections() {
            return Err(WorkersError::TooManyConnections.into());
        }
        self.serial += 1;
        self.summary.classes[usize::from(classed.class)].flows.started += 1;
        self.summary.connections.started += u64::from(matches!(classed.origin, Origin::Workload { .. }));
        // It knows the connection before the ends do.
        let vector = ConnectionVector { adus: Vec::new(), ..classed.vector.clone() };
        let path = Classed { vector, class: classed.class, origin: classed.origin };
        // One that has ended says so by itself.
        let _ = self.commands.send(Command::Open(serial, Box::new(path)));
        let (in_progress, endless_until) = match classed.origin {
            Origin::Workload { in_progress } => (in_progress, None),
            Origin::Source { endless_until } => (false, endless_until),
            Origin::Probe => (false, None),
        };
        let counted = ip_version(&classed.vector, self.config.class(classed.class));
        let version = addresses::carried_in(counted, self.has_ipv6);
        self.in_ipv4_instead += u64::from(version != counted);
        let initiator_side = classed.vector.initiator_side;
        let hosts = self.addressing.hosts(serial, host_numbers(&classed.vector));
        // Who accepts is told first.
        for side in [Side::Acceptor, Side::Initiator] {
            let (vector, datagrams) = (classed.vector.clone(), datagrams.clone());
            let class = classed.class;
            let assignment =
                Assignment { serial, hosts, side, class, version, at, vector, in_progress, endless_until, datagrams };
            self.tell_end(serial, initiator_side, side, ToWorker::Assign(Box::new(assignment)));
        }
        self.collector.expect(serial, at, classed);
        // What a worker that has ended would play is over before it begins.
        for side in Side::BOTH {
            if self.workers.has_ended(self.place(serial, initiator_side, side)) {
                self.end(EndReport::without(serial, side, Ended::Cut))?;
            }
        }
        Ok(())
    }

    /// The worker that plays this end of a connection.
    fn place(&self, serial: Serial, initiator_side: LinkSide, side: Side) -> usize {
        let on = if side == Side::Initiator { initiator_side } else { initiator_side.other() };
        self.workers.place(on, addresses::worker(serial, self.workers.each_side()))
    }

    /// Tells the worker that plays this end of a connection something.
    fn tell_end(&self, serial: Serial, initiator_side: LinkSide, side: Side, message: ToWorker) {
        self.workers.tell(self.place(serial, initiator_side, side), message);
    }

    /// Takes in all that workers and the emulator have to say, waiting for the former for no longer than `patience`.
    fn hear(&mut self, patience: Duration) -> Result<(), LiveError<W, R::Error>> {
        let mut patience = patience;
        while let Some((place, heard)) = self.workers.hear(patience) {
            patience = Duration::ZERO;
            self.take_from_worker(place, heard)?;
        }
        while let Ok(output) = self.output.try_recv() {
            self.take_from_emulator(output)?;
        }
        Ok(())
    }

    fn take_from_worker(&mut self, place: usize, heard: Heard) -> Result<(), LiveError<W, R::Error>> {
        let worker = self.workers.name(place);
        match heard {
            Heard::Said(FromWorker::Ends(reports)) => {
                reports.into_iter().try_for_each(|report| self.end(report))?;
            }
            Heard::Said(FromWorker::Silent(serials)) => {
                let (side, _) = self.workers.at(place);
                for serial in serials {
                    if self.collector.silent(serial, side) {
                        self.close(serial);
                    }
                }
            }
            Heard::Said(FromWorker::Done(report)) => {
                self.reports.push((self.workers.at(place).0, *report));
                self.cut_ends_of(place)?;
            }
            Heard::Said(FromWorker::Failed(why)) => self.problems.push(Problem::Worker { worker, why }),
            Heard::Said(FromWorker::Ready) => {}
            Heard::Ended(why) => {
                self.problems.extend(why.map(|why| Problem::Worker { worker, why }));
                self.cut_ends_of(place)?;
            }
        }
        Ok(())
    }

    /// What the worker at this place had not reported when it ended nobody will.
    fn cut_ends_of(&mut self, place: usize) -> Result<(), LiveError<W, R::Error>> {
        let missing =
            self.collector.missing(|serial, vector, side| self.place(serial, vector.initiator_side, side) == place);
        for (serial, side) in missing {
            self.end(EndReport::without(serial, side, Ended::Cut))?;
        }
        Ok(())
    }

    fn end(&mut self, report: EndReport) -> Result<(), LiveError<W, R::Error>> {
        let serial = report.serial;
        match self.collector.end(report) {
            News::Waits => {}
            News::Quiet => self.close(serial),
            News::Over(over) => self.record(&over).map_err(RunError::Recorder)?,
        }
        Ok(())
    }

    fn close(&mut self, serial: Serial) {
        // An emulator that has ended has closed it.
        let _ = self.commands.send(Command::Close(serial));
    }

    fn take_from_emulator(&mut self, output: Output) -> Result<(), LiveError<W, R::Error>> {
        let recorded = match output {
            Output::Records(records) => records.iter().try_for_each(|kept| self.recorder.record(kept.record())),
            Output::State(state) => {
                let (ahead, of_workload) = self.collector.ahead(state.links.time);
                self.active = self.collector.open() as u64 - ahead;
                self.begun = self.summary.connections.started - of_workload;
                self.path = *state;
                Ok(())
            }
            Output::Closed(serial, closed) => match self.collector.closed(serial, *closed) {
                Closing::Over(over) => self.record(&over),
                Closing::Settle => {
                    if let Some(side) = self.collector.vector(serial).map(|vector| vector.initiator_side) {
                        for end in Side::BOTH {
                            self.tell_end(serial, side, end, ToWorker::Settle(serial));
                        }
                    }
                    Ok(())
                }
                Closing::Early | Closing::Unknown => Ok(()),
            },
        };
        recorded.map_err(|error| RunError::Recorder(error).into())
    }

    fn record(&mut self, over: &Over) -> Result<(), R::Error> {
        if !over.started && self.stopped.is_some_and(|end| over.record.start > end) {
            // Its turn had not come when the run was ended.
            self.summary.classes[usize::from(over.record.class)].flows.started -= 1;
            self.summary.connections.started -= u64::from(matches!(over.classed.origin, Origin::Workload { .. }));
            return Ok(());
        }
        if over.classed.origin != Origin::Probe {
            over.judge(&mut self.summary.plausibility, self.config);
        }
        let counts = &mut self.summary.classes[usize::from(over.record.class)];
        match over.classed.origin {
            Origin::Workload { .. } => {
                counts.add_connection(&over.record);
                self.summary.connections.add(over.record.outcome);
                self.recorder.record(Record::Connection {
                    original: &over.classed.vector,
                    ended: &over.record,
                    epochs: &over.epochs,
                    monitor: over.monitor.as_ref(),
                })
            }
            Origin::Source { .. } => {
                let source = over.source();
                counts.add(&source);
                if over.classed.vector.protocol == Protocol::Tcp {
                    counts.add_sharing(&over.record, self.config.results());
                }
                self.recorder.record(Record::Source { source: &source })
            }
            Origin::Probe => {
                match over.classed.vector.protocol {
                    Protocol::Tcp => counts.add_connection(&over.record),
                    _ => {
                        let [_, answers] = over.record.delivered_bytes;
                        counts.add(&over.source());
                        counts.to_initiators_bytes += answers;
                    }
                }
                let clocked = |probe: ProbeRecord| match self.has_one_clock {
                    true => probe,
                    false => ProbeRecord { there: None, back: None, ..probe },
                };
                let mut probes = over.probes().into_iter().map(clocked);
                probes.try_for_each(|probe| {
                    counts.add_probe(&probe);
                    self.recorder.record(Record::Probe { probe: &probe })
                })
            }
        }
    }

    /// Takes in what the emulator still has to say, until it has ended, and records what nobody has said all of.
    fn take_rest(&mut self) -> Result<(), LiveError<W, R::Error>> {
        for over in self.collector.hear_no_more() {
            self.record(&over).map_err(RunError::Recorder)?;
        }
        while let Ok(output) = self.output.recv() {
            self.take_from_emulator(output)?;
        }
        while let Some(over) = self.collector.cut(self.config) {
            self.record(&over).map_err(RunError::Recorder)?;
        }
        Ok(())
    }
}
