//! What a run will need, before it is run: connections, packets, memory, time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::{self, Display};
use std::path::PathBuf;

use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, Protocol};
use flowloom_report::gates::DEEP_LIMIT;
use flowloom_report::words::{counted, thousands};
use flowloom_sim::{Classed, Config, Origin};

use serde::{Serialize, Serializer};

use crate::capacity::check::{HostCheck, LoadNeeds};
use crate::context::Context;
use crate::error::Error;
use crate::experiment::{DatagramModel, Experiment};
use crate::parallel::threads;
use crate::warning::Warning;
use crate::workload::source::Source;

use super::again::Asked;
use super::asked_before;
use super::config::{FULL_PACKET, config, limit_time};
use super::options::{Driver, RunOptions};
use super::plan::Plan;
use super::senders::{Senders, Together};
use super::setup::live_need;
use super::workloads::{datagram_flows, workloads};

/// What the runs of an experiment will need. Packets, memory and time are estimates.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Needs {
    /// Runs, one for each seed.
    pub runs: u64,
    /// Connections and flows of datagrams of the first run that start in it, those of sources among them.
    pub connections: u64,
    /// Most of them open at once, if each takes its waits, its round trips and the time of its bytes on the bottleneck.
    pub active: u64,
    /// Packets of the first run in both directions, acknowledgements among them, without retransmissions.
    pub packets: u64,
    /// Time that a run simulates, or takes with real TCP, at most: with the time to drain.
    #[serde(rename = "duration_ns", serialize_with = "nanos")]
    pub duration: Duration,
    /// Memory of all runs that go on at once, in bytes.
    pub memory_bytes: u64,
    /// Time that all runs take, without reading or drawing the workload: of the simulator within a factor of two of an ordinary machine.
    #[serde(rename = "time_ns", serialize_with = "nanos")]
    pub time: Duration,
    /// What a live run on this host needs at a time, beside what the host can do; `None` for runs elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostCheck>,
}

fn nanos<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_nanos())
}

/// In comments of TOML, as the head of an experiment.
impl Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Needs { runs, connections, active, packets, duration, memory_bytes, time, host } = self;
        let (active, packets) = (thousands(*active), thousands(two_digits(*packets)));
        let (runs, connections) = (counted(*runs, "run"), counted(*connections, "connection"));
        writeln!(f, "# {runs} of {connections}, at most {active} open at once, and about {packets} packets")?;
        writeln!(f, "# {duration} of time in a run; about {time} and {} MB to run", memory_bytes.div_ceil(1_000_000))?;
        host.as_ref().map_or(Ok(()), |host| write!(f, "{host}"))
    }
}

impl Needs {
    /// The same; says what is near a limit of this host.
    pub(crate) fn warned(self, context: Context<'_>) -> Needs {
        self.host.iter().flat_map(HostCheck::high).for_each(|check| context.warn(&Warning::NearHostLimit(*check)));
        self
    }
}

/// With two digits, for estimates.
fn two_digits(value: u64) -> u64 {
    let unit = 10u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(1));
    value.div_ceil(unit) * unit
}

/// Packets that are simulated in a second of one core with everything recorded, results and report included. Measured on 25 November 2026 with
/// runs of 2 to 19 million packets: 1.2 to 2.7 million.
const PACKETS_PER_SECOND: f64 = 1.5e6;
/// Memory of a run with few connections: 65 to 80 MB in the same runs.
const LEAST_MEMORY: u64 = 70_000_000;
/// Memory of a connection that is open: 11 to 14 kB in the same runs.
const MEMORY_OF_ACTIVE: u64 = 12_000;

/// Works out what [`run`](super::run) would need with these options. Captures are read and workloads drawn as for the run; nothing is run, and no
/// run folder is written.
///
/// # Errors
/// Those of [`run`](super::run) that show before anything is sent.
pub fn plan(experiment: &Experiment, options: &RunOptions, context: Context<'_>) -> Result<Needs, Error> {
    let needs = needs(&Plan::of_experiment(experiment.clone(), options, &context.interrupt())?, options, context)?;
    Ok(needs.warned(context))
}

/// The experiment that [`run_files`](super::run_files) would run, with all its values, and what it would need.
///
/// # Errors
/// Those of [`run_files`](super::run_files) that show before anything is sent.
pub fn plan_files(
    inputs: &[PathBuf],
    options: &RunOptions,
    context: Context<'_>,
) -> Result<(Experiment, Needs), Error> {
    let interrupt = context.interrupt();
    let (plan, needs) = match asked_before(inputs, options)? {
        None => {
            let plan = Plan::of_files(inputs, options, &interrupt)?;
            let needs = needs(&plan, options, context)?;
            (plan, needs)
        }
        Some(Asked { experiment, inputs, options, .. }) => {
            let plan = Plan::again(experiment, &inputs, &options, &interrupt)?;
            let needs = needs(&plan, &options, context)?;
            (plan, needs)
        }
    };
    let mut experiment = plan.experiment;
    if options.capture.anonymize {
        experiment.anonymize();
    }
    Ok((experiment, needs.warned(context)))
}

/// The experiment of a plan, with all its values, and what its runs would need.
///
/// # Errors
/// Those of a run that show before anything is sent.
pub(crate) fn plan_cell(plan: &Plan, options: &RunOptions, context: Context<'_>) -> Result<(Experiment, Needs), Error> {
    Ok((plan.experiment.clone(), needs(plan, options, context)?))
}

fn needs(plan: &Plan, options: &RunOptions, context: Context<'_>) -> Result<Needs, Error> {
    let shape = plan.experiment.network.shape()?;
    let sources = workloads(plan, &options.capture, context)?;
    let senders = Senders::new(&plan.experiment, &shape, plan.has_workload(), datagram_flows(&sources), &plan.runs)?;
    let Some(source) = sources.first() else { return Ok(Needs::default()) };
    let config =
        config(&plan.experiment, &shape, &senders, source, plan.traces.clone()).map_err(|error| plan.located(error))?;
    let flows = senders.flows(plan.experiment.run.seeds[0], config.window);
    let is_endless = |classed: &Classed| matches!(classed.origin, Origin::Source { endless_until: Some(_) });
    if flows.connections.iter().any(is_endless) || offered_share(source, &senders, &config)? > FILLS {
        deep_limit(&plan.experiment, &config).iter().for_each(|warning| context.warn(warning));
    }
    let placed = senders.placed(source.vectors()?, &config).map(|placed| placed.map(Classed::from));
    let mut count = Count::new(&config);
    // By start, as the run has them.
    for classed in Together::new(placed, flows.connections) {
        let Classed { vector, origin, .. } = classed.map_err(Error::new)?;
        match origin {
            Origin::Source { endless_until: Some(until) } => count.endless(vector.start, until),
            _ if vector.protocol == Protocol::Tcp || senders.sends_datagrams() => count.connection(&vector),
            _ => {}
        }
    }
    for flow in &flows.datagrams {
        let length = flow.datagrams.stop.min(Time::ZERO + config.window).since(flow.datagrams.start);
        let gap = flow.datagrams.gap.as_secs_f64().max(1e-6);
        count.needs.connections += 1;
        count.needs.packets += (length.as_secs_f64() / gap) as u64;
    }
    let needs = count.needs();
    let runs = plan.experiment.run.seeds.len() as u64;
    let duration = config.window + config.drain;
    let (at_once, time) = match options.on {
        Driver::Sim => {
            let at_once = runs.min(threads(options.jobs) as u64);
            let one = needs.packets as f64 / PACKETS_PER_SECOND;
            (at_once, Duration::from_secs_f64(one * runs.div_ceil(at_once) as f64))
        }
        Driver::Live | Driver::Lab(_) => (1, (0..runs).map(|_| duration).sum()),
    };
    let memory_bytes = at_once * (LEAST_MEMORY + needs.active * MEMORY_OF_ACTIVE);
    let host = match options.on {
        Driver::Live => {
            let need = live_need(plan, &senders, source, &config)?;
            Some(HostCheck::new(&LoadNeeds::from(&need), options.cache.as_deref()))
        }
        Driver::Sim | Driver::Lab(_) => None,
    };
    Ok(Needs { runs, duration, memory_bytes, time, host, ..needs })
}

/// From this share of the link's rate on its queue may fill: closed loops bring retransmissions beside what they carry.
const FILLS: f64 = 0.9;

/// What the busier direction of a workload brings to the bottleneck, as a share of its rate; 0 where nobody knows.
fn offered_share(source: &Source, senders: &Senders<'_>, config: &Config) -> Result<f64, Error> {
    let datagrams = if senders.sends_datagrams() { DatagramModel::AsSeen } else { DatagramModel::LeaveOut };
    let bytes = source.link_bytes(datagrams)?.map_or(0, |[left, right]| left.max(right));
    let rate = config.bottleneck.rate.bits_per_second().unwrap_or(u64::MAX);
    Ok(8.0 * bytes as f64 / config.window.as_secs_f64().max(1e-9) / rate as f64)
}

/// Says that the queue of the bottleneck holds more than two seconds of traffic, if nothing but its limit makes it drop, or that it has
/// no limit.
fn deep_limit(experiment: &Experiment, config: &Config) -> Option<Warning> {
    let queue = &experiment.network.bottleneck.queue;
    let time = limit_time(queue, &config.bottleneck, FULL_PACKET);
    let has_no_limit = config.bottleneck.cells.as_ref().is_some_and(|cells| cells.room.is_none());
    let queue = experiment.network.bottleneck.buffer();
    (has_no_limit || time.is_some_and(|time| time > DEEP_LIMIT))
        .then(|| Warning::DeepLimit { queue, time: time.map(Duration::from_nanos) })
}

/// Counts what connections need.
struct Count<'a> {
    config: &'a Config,
    needs: Needs,
    /// Packets of a bottleneck that transfers without end fill.
    full: u64,
    /// When those that are open end.
    open: BinaryHeap<Reverse<Time>>,
}

impl<'a> Count<'a> {
    fn new(config: &'a Config) -> Count<'a> {
        Count { config, needs: Needs::default(), full: 0, open: BinaryHeap::new() }
    }

    fn rate(&self) -> f64 {
        self.config.bottleneck.rate.bits_per_second().unwrap_or(Rate::FASTEST) as f64
    }

    fn connection(&mut self, vector: &ConnectionVector) {
        if vector.start.since(Time::ZERO) >= self.config.window {
            return;
        }
        let mut bytes = 0;
        // Two packets open a connection and four close it, beside the first acknowledgement.
        let mut packets = 7;
        let mut waits = Duration::ZERO;
        for adu in &vector.adus {
            let mss = vector.ends[adu.side].mss.map_or(1_460, u64::from).max(1);
            let data = match vector.protocol {
                Protocol::Tcp => adu.bytes.div_ceil(mss),
                _ => adu.packets.map_or(1, u64::from),
            };
            // Every second full segment is acknowledged, and what follows carries the acknowledgement of a short one.
            packets += data + if vector.protocol == Protocol::Tcp { data / 2 } else { 0 };
            bytes += adu.bytes;
            waits += adu.wait.unwrap_or_default();
        }
        let rtt = vector.min_rtt().unwrap_or(self.config.unknown_rtt);
        let trips = rtt.as_secs_f64() * (2 + vector.adus.len() / 2) as f64;
        let length = waits + Duration::from_secs_f64(trips + 8.0 * bytes as f64 / self.rate());
        self.needs.connections += 1;
        self.needs.packets += packets;
        self.opened(vector.start, length);
    }

    /// A transfer that has no end of its own: together these fill the bottleneck, which is counted once.
    fn endless(&mut self, start: Time, until: Time) {
        let length = until.since(start);
        let full = 1.5 * length.as_secs_f64() * self.rate() / (8.0 * 1_514.0);
        self.full = self.full.max(full as u64);
        self.needs.connections += 1;
        self.opened(start, length);
    }

    fn opened(&mut self, start: Time, length: Duration) {
        while self.open.peek().is_some_and(|Reverse(end)| *end <= start) {
            self.open.pop();
        }
        self.open.push(Reverse(start + length));
        self.needs.active = self.needs.active.max(self.open.len() as u64);
    }

    /// What all together need. What fills the bottleneck gives way to the others.
    fn needs(self) -> Needs {
        Needs { packets: self.needs.packets.max(self.full), ..self.needs }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_store::run_folder::RunFolder;

    use crate::context::{Silent, Stop};

    use super::*;

    fn beside_a_run(experiment: Experiment) -> (Needs, crate::Ran, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let options = RunOptions { target: Some(folder.path().join("run")), jobs: Some(1), ..RunOptions::default() };
        let stop = Stop::new();
        let needs = plan(&experiment, &options, Context::new(&Silent, &stop)).unwrap();
        assert!(!folder.path().join("run").exists(), "a plan leaves nothing");
        let ran = crate::run(experiment, &options, Context::new(&Silent, &stop)).unwrap();
        (needs, ran, folder)
    }

    #[test]
    fn a_plan_is_near_what_the_run_takes() {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
        let exchanges = "workload.model = { kind = \"exchanges\", connections-per-second = 300.0, request-bytes = 500.0, \
                         response-bytes = 20000.0, think-ms = 50.0, rtt-ms = 50.0 }\nmeasure.duration = \"10s\"\n\
                         network.bottleneck.rate = \"100mbit\"\n";
        let bulk = "network.bottleneck.rate = \"10mbit\"\nmeasure.duration = \"10s\"\n[[sources]]\nname = \"ftp\"\n\
                    kind = \"bulk\"\ncount = 5\nrtt = \"40ms\"\n";
        for experiment in
            [Experiment::of(demo), Experiment::parse(exchanges, "x").unwrap(), Experiment::parse(bulk, "x").unwrap()]
        {
            let (needs, ran, _folder) = beside_a_run(experiment);
            let run = &ran.runs[0];
            let ratio = needs.packets as f64 / run.summary().packets as f64;
            assert!((0.6..1.6).contains(&ratio), "{needs:?}: {ratio}");
            assert!(needs.active > 0 && needs.memory_bytes > LEAST_MEMORY && needs.connections > 0, "{needs:?}");
        }
    }

    /// The run begins late in the workload: what ended before then is no part of it.
    #[test]
    fn a_prefilled_run_needs_what_is_left() {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
        let experiment = Experiment::of(demo).with("workload.prefill", "60s").unwrap();
        let (needs, ran, folder) = beside_a_run(experiment);
        // The table has those in progress too, which open before the results begin.
        let run = RunFolder::open(&folder.path().join("run")).unwrap();
        assert_eq!(needs.connections, run.connections().unwrap().count() as u64);
        assert!(ran.runs[0].summary().connections.started < needs.connections);
    }

    #[test]
    fn seeds_share_the_cores() {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
        let experiment = Experiment::of(demo).with("run.seeds", "[1, 2, 3, 4]").unwrap();
        let needs = |jobs, on| {
            let options = RunOptions { jobs: Some(jobs), on, ..RunOptions::default() };
            plan(&experiment, &options, Context::new(&Silent, &Stop::new())).unwrap()
        };
        let (one, two) = (needs(1, Driver::Sim), needs(2, Driver::Sim));
        assert_eq!((one.runs, two.memory_bytes), (4, 2 * one.memory_bytes));
        assert!((one.time.as_secs_f64() / two.time.as_secs_f64() - 2.0).abs() < 0.01);
        let live = needs(2, Driver::Live);
        assert_eq!(
            (live.memory_bytes, live.time),
            (one.memory_bytes, live.duration + live.duration + live.duration + live.duration)
        );
    }
}
