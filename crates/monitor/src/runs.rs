//! The links of live runs as ports: their counters and queues, as the runs say them while they go on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flowloom_store::monitor::Kind;
use flowloom_store::running::{Observation, ObservedLink, Phase, running_in};

use crate::clock::Moment;
use crate::rates::Width;
use crate::registry::matches;
use crate::target::{Answer, Class, CounterInfo, PortReading, Reading, Speed};

/// Counters of a link: name, unit, whether it counts.
const LINK: [(&str, &str, Kind); 7] = [
    ("out", "octets", Kind::Counter),
    ("out-packets", "packets", Kind::Counter),
    ("out-drops", "drops", Kind::Counter),
    ("out-losses", "packets", Kind::Counter),
    ("backlog", "octets", Kind::Gauge),
    ("backlog-packets", "packets", Kind::Gauge),
    ("queue-delay", "ns", Kind::Gauge),
];

/// The group of counters of links, for their tracker.
pub fn groups() -> Vec<Vec<CounterInfo>> {
    let info = |(name, unit, kind): &(&str, &str, Kind)| CounterInfo {
        name: (*name).to_owned(),
        unit: (*unit).to_owned(),
        class: match *unit {
            "octets" => Class::Octets,
            _ => Class::Packets,
        },
        kind: Some(*kind),
    };
    vec![LINK.iter().map(info).collect()]
}

/// The live runs that go on in a folder.
pub struct Runs {
    folder: PathBuf,
    ports: Vec<String>,
    /// When each run was observed last, by its folder.
    seen: BTreeMap<PathBuf, u64>,
}

impl Runs {
    /// Those in `folder`, of whose links the ones count that match one of `ports`.
    pub fn new(folder: &Path, ports: &[String]) -> Runs {
        Runs { folder: folder.to_owned(), ports: ports.to_vec(), seen: BTreeMap::new() }
    }

    /// The names of the links of the runs that go on.
    pub fn names(&mut self) -> Vec<String> {
        self.ask().ports.into_iter().map(|port| port.name).collect()
    }

    /// What the runs say. A run that has said nothing new since the last call is not in the answer.
    pub(crate) fn ask(&mut self) -> Answer {
        let asked = Moment::now();
        let runs = running_in(&self.folder);
        let received = Moment::now();
        let mut ports: Vec<PortReading> = Vec::new();
        let mut seen = BTreeMap::new();
        for (folder, run) in &runs {
            seen.insert(folder.clone(), run.observed_unix_ns);
            // Simulated time is no time of a monitor; a run that is over has no rates.
            let is_meant = run.driver != "sim" && run.phase == Phase::Running;
            if is_meant && self.seen.get(folder) != Some(&run.observed_unix_ns) {
                ports.extend(links(run, received));
            }
        }
        self.seen = seen;
        ports.retain(|port| self.ports.iter().any(|pattern| matches(pattern, &port.name)));
        Answer { asked, received, uptime: None, ports, own_packets: 0 }
    }
}

/// The links of a run, as of when they were so. The time of live runs is real time.
fn links(run: &Observation, now: Moment) -> impl Iterator<Item = PortReading> {
    let before = run.time_ns.saturating_sub(run.links_time_ns);
    let age = now.wall_ns.saturating_sub(run.observed_unix_ns) + before;
    let received =
        Moment { wall_ns: now.wall_ns.saturating_sub(age), monotonic_ns: now.monotonic_ns.saturating_sub(age) };
    run.links.iter().map(move |link| PortReading {
        group: 0,
        name: format!("{}/{}", run.run, link.name),
        // Another run of that name begins to count anew.
        index: format!("{}-{}-{}", run.process, run.begun_unix_ns, run.seed),
        received,
        discontinuity: None,
        speed: link.rate_bps.map(|bits_per_second| Speed { bits_per_second, is_stated: false }),
        readings: readings(link),
    })
}

fn readings(link: &ObservedLink) -> Vec<Reading> {
    let count = |count| Reading::Counts(vec![(count, Width::Bits64)]);
    vec![
        count(link.carried_bytes),
        count(link.carried_packets),
        count(link.dropped_packets),
        count(link.lost_packets),
        Reading::Value(link.queue_bytes),
        Reading::Value(link.queue_packets),
        link.queue_delay_ns.map_or(Reading::None, |delay| Reading::Value(delay as u64)),
    ]
}

#[cfg(test)]
mod tests {
    use flowloom_store::running::{ObservedConnections, RunningFile, VERSION};

    use super::*;
    use crate::target::{Event, Tracker};

    const S: u64 = 1_000_000_000;

    fn observation(driver: &str, begun: u64, observed: u64, bytes: u64) -> Observation {
        let link = ObservedLink {
            name: "bottleneck".to_owned(),
            rate_bps: Some(8_000_000),
            carried_bytes: bytes,
            carried_packets: bytes / 1_000,
            queue_packets: 5,
            queue_delay_ns: Some(2.5e6),
            ..ObservedLink::default()
        };
        Observation {
            version: VERSION,
            run: "r".to_owned(),
            target: String::new(),
            driver: driver.to_owned(),
            seed: 1,
            process: 9,
            phase: Phase::Running,
            begun_unix_ns: begun,
            observed_unix_ns: observed,
            time_ns: S / 4,
            links_time_ns: 0,
            window_ns: 1,
            at_most_ns: 1,
            share_done: 0.0,
            events: None,
            connections: ObservedConnections::default(),
            links: vec![ObservedLink { name: "other".to_owned(), ..link.clone() }, link],
            lateness: None,
            lab: None,
            verdict: "VALID".to_owned(),
            reasons: Vec::new(),
            log: Vec::new(),
        }
    }

    /// What the tracker makes of an answer of the counters `out` and `queue-delay`.
    fn told(tracker: &mut Tracker, answer: Answer) -> Vec<String> {
        tracker.answered(answer);
        let mut told = Vec::new();
        for event in tracker.take() {
            match event {
                Event::Samples { span_ns, samples, .. } => {
                    let of = |(series, amount): &(u32, u64)| format!("{series}: {amount} in {span_ns}");
                    told.extend(samples.iter().filter(|(series, _)| *series == 2 || *series == 8).map(of));
                }
                Event::Gap { series: 2, reason, .. } => told.push(format!("gap: {}", reason.name())),
                _ => {}
            }
        }
        told
    }

    #[test]
    fn rates_are_of_the_time_between_observations() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("r.partial-000000");
        std::fs::create_dir(&folder).unwrap();
        let file = RunningFile::new(&folder);
        let now = Moment::now().wall_ns;
        let mut runs = Runs::new(root.path(), &["r/bottle*".to_owned()]);
        let mut tracker = Tracker::new(groups());
        file.write(&observation("sim", 1, now - 9 * S, 0));
        assert_eq!(runs.names(), [""; 0], "simulated time is another time");
        file.write(&observation("live", 1, now - 8 * S, 1_000_000));
        assert_eq!(told(&mut tracker, runs.ask()), [""; 0]);
        file.write(&observation("live", 1, now - 6 * S, 2_500_000));
        let answer = runs.ask();
        assert_eq!(answer.ports.len(), 1);
        let said = told(&mut tracker, answer);
        let spans: Vec<&str> = said.iter().map(|line| line.split(" in ").next().unwrap()).collect();
        assert_eq!(spans, ["2: 1500000", "8: 2500000"]);
        // Two clocks, read one after the other on a host that may be busy.
        let span: u64 = said[0].rsplit_once(' ').unwrap().1.parse().unwrap();
        assert!(span.abs_diff(2 * S) < S / 5, "{span}");
        assert_eq!(told(&mut tracker, runs.ask()), ["gap: absent"], "nothing new");
        // Another run of that name.
        file.write(&observation("live", 2, now - 2 * S, 10_000));
        assert_eq!(told(&mut tracker, runs.ask()), ["gap: index-change"]);
        drop(file);
        assert_eq!(runs.names(), [""; 0]);
    }
}
