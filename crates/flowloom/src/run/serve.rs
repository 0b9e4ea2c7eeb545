//! What can be had of runs and sweeps while they go on: their metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use flowloom_monitor::{MetricKind, Metrics, Number, PrometheusText, PushOptions, Pusher};
use flowloom_store::running::{Observation, ObservedLink, Phase};

use crate::context::{Context, Event, Log, Observer};
use crate::error::Error;
use crate::metrics;
use crate::parallel::locked;
use crate::run::options::RunOptions;

/// Does `work`, with what `options` say that others can have of it meanwhile.
///
/// # Errors
/// Those of `work`; nothing can listen at the address for metrics.
pub fn served<T>(
    options: &RunOptions,
    context: Context<'_>,
    work: impl FnOnce(Context<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let log = Log::default();
    let context = context.logged(&log);
    if options.metrics.is_none() && options.push.is_none() {
        return work(context);
    }
    let board = RunBoard::default();
    locked(&board.0).is_pushed = options.push.is_some();
    let told = board.clone();
    let text = move || PrometheusText::of(|metrics| told.tell(metrics));
    let server = options.metrics.map(|address| metrics::serve(address, text)).transpose()?;
    if let Some(server) = &server {
        context.event(&Event::ServesMetrics(server.address()));
    }
    let told = board.clone();
    let start = |push: &PushOptions| Pusher::start(push.clone(), move |metrics| told.push(metrics));
    let pusher = options.push.as_ref().map(start).transpose().map_err(Error::new)?;
    let noting = Noting { context, board, pusher };
    let result = work(Context::new(&noting, context.stop()).logged(&log));
    noting.pusher.iter().for_each(Pusher::end);
    noting.pass_on_news();
    result
}

/// Keeps what is observed on a board.
struct Noting<'a> {
    context: Context<'a>,
    board: RunBoard,
    pusher: Option<Pusher>,
}

impl Noting<'_> {
    fn pass_on_news(&self) {
        let news = self.pusher.iter().flat_map(Pusher::news);
        news.for_each(|news| self.context.event(&Event::Push(&news)));
    }
}

impl Observer for Noting<'_> {
    fn event(&self, event: &Event<'_>) {
        if let Event::Observation(observation) = event {
            self.board.observed(observation);
            self.pass_on_news();
        }
        self.context.event(event);
    }

    fn wants_decisions(&self) -> bool {
        self.context.observer().wants_decisions()
    }

    fn wants_intervals(&self) -> bool {
        self.context.observer().wants_intervals()
    }
}

/// The runs that go on, as metrics. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct RunBoard(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// By run and seed.
    runs: BTreeMap<(String, u64), Observation>,
    ended: u64,
    /// Whether metrics are pushed: then what a run was at its end is kept until that is done.
    is_pushed: bool,
    /// Runs that have ended since metrics were pushed last.
    just_ended: Vec<Observation>,
}

/// A metric of a run.
type OfRun = (&'static str, MetricKind, &'static str, fn(&Observation) -> Option<Number>);

/// A metric of a link of a run.
type OfLink = (&'static str, MetricKind, &'static str, fn(&ObservedLink) -> Option<Number>);

fn seconds(nanos: f64) -> Option<Number> {
    Some(Number::Real(nanos / 1e9))
}

fn integer(number: u64) -> Option<Number> {
    Some(Number::Integer(number))
}

const OF_RUNS: [OfRun; 7] = {
    use MetricKind::{Counter, Gauge};
    [
        ("flowloom_run_time_seconds", Gauge, "Time of the run, simulated or real.", |run| seconds(run.time_ns as f64)),
        ("flowloom_run_done_ratio", Gauge, "Share of the window that is over.", |run| {
            Some(Number::Real(run.share_done))
        }),
        ("flowloom_run_observed_timestamp_seconds", Gauge, "When the run was observed last, since 1970 UTC.", |run| {
            seconds(run.observed_unix_ns as f64)
        }),
        ("flowloom_run_events_total", Counter, "Events of the simulator.", |run| run.events.map(Number::Integer)),
        ("flowloom_run_connections_active", Gauge, "Connections and flows that are open.", |run| {
            integer(run.connections.active)
        }),
        (
            "flowloom_run_connections_started_total",
            Counter,
            "Connections of the workload that sent their SYN.",
            |run| integer(run.connections.started),
        ),
        ("flowloom_run_late_packets_total", Counter, "Packets that the emulator of a live run handed on.", |run| {
            run.lateness.map(|late| Number::Integer(late.count))
        }),
    ]
};

const OF_LINKS: [OfLink; 10] = {
    use MetricKind::{Counter, Gauge};
    [
        ("flowloom_run_link_carried_bytes_total", Counter, "Bytes that the link carried.", |link| {
            integer(link.carried_bytes)
        }),
        ("flowloom_run_link_carried_packets_total", Counter, "Packets that the link carried.", |link| {
            integer(link.carried_packets)
        }),
        ("flowloom_run_link_dropped_packets_total", Counter, "Packets that the queue dropped.", |link| {
            integer(link.dropped_packets)
        }),
        ("flowloom_run_link_lost_packets_total", Counter, "Packets of this direction that loss models took.", |link| {
            integer(link.lost_packets)
        }),
        ("flowloom_run_link_waited_packets_total", Counter, "Packets that have left the queue.", |link| {
            link.waited_packets.map(Number::Integer)
        }),
        ("flowloom_run_link_waited_seconds_total", Counter, "How long all of them had waited there.", |link| {
            seconds(link.waited_ns? as f64)
        }),
        ("flowloom_run_link_queue_packets", Gauge, "Packets in the queue.", |link| integer(link.queue_packets)),
        ("flowloom_run_link_queue_bytes", Gauge, "Bytes in the queue.", |link| integer(link.queue_bytes)),
        ("flowloom_run_link_queue_delay_seconds", Gauge, "Mean time in the queue, in the last second.", |link| {
            seconds(link.queue_delay_ns?)
        }),
        (
            "flowloom_run_link_throughput_bytes_per_second",
            Gauge,
            "What the link carries, in the last second.",
            |link| Some(Number::Real(link.throughput_bps / 8.0)),
        ),
    ]
};

/// The words of a verdict.
const VERDICTS: [&str; 3] = ["VALID", "DEGRADED", "INVALID"];

impl RunBoard {
    fn observed(&self, observation: &Observation) {
        let mut state = locked(&self.0);
        let key = (observation.run.clone(), observation.seed);
        if observation.phase == Phase::Ended {
            state.runs.remove(&key);
            state.ended += 1;
            if state.is_pushed {
                state.just_ended.push(observation.clone());
            }
        } else {
            state.runs.insert(key, observation.clone());
        }
    }

    /// All of it.
    pub fn tell(&self, metrics: &mut dyn Metrics) {
        locked(&self.0).tell(&[], metrics);
    }

    /// All of it, and once what each run was at its end, which nobody may have been told.
    fn push(&self, metrics: &mut dyn Metrics) {
        let mut state = locked(&self.0);
        let just_ended = std::mem::take(&mut state.just_ended);
        state.tell(&just_ended, metrics);
    }
}

impl State {
    fn tell(&self, just_ended: &[Observation], metrics: &mut dyn Metrics) {
        metrics.head("flowloom_runs_ended_total", MetricKind::Counter, "Runs that were observed and have ended.");
        metrics.point(&[], Number::Integer(self.ended));
        let mut runs: Vec<(String, &Observation)> = self.runs.values().map(|run| (run.seed.to_string(), run)).collect();
        metrics.head("flowloom_run_info", MetricKind::Gauge, "A run that goes on, and its driver.");
        for (seed, run) in &runs {
            metrics.point(&[("run", &run.run), ("seed", seed), ("driver", &run.driver)], Number::Integer(1));
        }
        // Another one of its name and seed may go on by now.
        let is_alone = |run: &&Observation| !self.runs.contains_key(&(run.run.clone(), run.seed));
        runs.extend(just_ended.iter().filter(is_alone).map(|run| (run.seed.to_string(), run)));
        for (name, kind, help, of) in OF_RUNS {
            metrics.head(name, kind, help);
            for (seed, run) in &runs {
                if let Some(number) = of(run) {
                    metrics.point(&[("run", &run.run), ("seed", seed)], number);
                }
            }
        }
        tell_outcomes(&runs, metrics);
        for (name, kind, help, of) in OF_LINKS {
            metrics.head(name, kind, help);
            for (seed, run) in &runs {
                for (link, number) in run.links.iter().filter_map(|link| Some((link, of(link)?))) {
                    let labels: [(&str, &str); 4] =
                        [("run", &run.run), ("seed", seed), ("link", &link.name), ("from", &link.from)];
                    metrics.point(&labels, number);
                }
            }
        }
    }
}

/// What has a label of its own.
fn tell_outcomes(runs: &[(String, &Observation)], metrics: &mut dyn Metrics) {
    let help = "Connections of the workload that ended.";
    metrics.head("flowloom_run_connections_ended_total", MetricKind::Counter, help);
    for (seed, run) in runs {
        let of = &run.connections;
        for (outcome, count) in [("completed", of.completed), ("reset", of.reset), ("gave-up", of.gave_up)] {
            metrics.point(&[("run", &run.run), ("seed", seed), ("outcome", outcome)], Number::Integer(count));
        }
    }
    let help = "How late packets were handed on in a live run.";
    metrics.head("flowloom_run_lateness_seconds", MetricKind::Gauge, help);
    for (seed, run) in runs {
        let late =
            run.lateness.iter().flat_map(|late| [("0.5", late.p50_ns), ("0.99", late.p99_ns), ("1", late.max_ns)]);
        for (share, nanos) in late {
            let labels: [(&str, &str); 3] = [("run", &run.run), ("seed", seed), ("share", share)];
            metrics.point(&labels, Number::Real(nanos as f64 / 1e9));
        }
    }
    metrics.head("flowloom_run_verdict", MetricKind::Gauge, "1 for the word of the verdict until now.");
    for (seed, run) in runs {
        for word in VERDICTS {
            let is_so = Number::Integer(u64::from(run.verdict == word));
            metrics.point(&[("run", &run.run), ("seed", seed), ("verdict", word)], is_so);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use flowloom_store::running::{ObservedConnections, ObservedLateness, VERSION};

    use super::*;

    fn observation(run: &str, phase: Phase) -> Observation {
        let link = ObservedLink {
            name: "bottleneck".to_owned(),
            from: "left".to_owned(),
            carried_bytes: 1 << 60,
            waited_packets: Some(3),
            waited_ns: Some(1_500_000_000),
            throughput_bps: 8_000.0,
            queue_delay_ns: Some(2e6),
            ..ObservedLink::default()
        };
        Observation {
            version: VERSION,
            run: run.to_owned(),
            target: String::new(),
            driver: "live".to_owned(),
            seed: 4,
            process: 1,
            phase,
            begun_unix_ns: 0,
            observed_unix_ns: 1_500_000_000,
            time_ns: 250_000_000,
            links_time_ns: 250_000_000,
            window_ns: 1_000_000_000,
            at_most_ns: 1_000_000_000,
            share_done: 0.25,
            events: Some(9),
            connections: ObservedConnections { started: 5, active: 2, completed: 1, reset: 1, gave_up: 1 },
            links: vec![link],
            lateness: Some(ObservedLateness { count: 7, p50_ns: 1_000, p99_ns: 2_000, max_ns: 3_000 }),
            lab: None,
            verdict: "DEGRADED".to_owned(),
            reasons: Vec::new(),
            log: Vec::new(),
        }
    }

    fn text(board: &RunBoard) -> String {
        PrometheusText::of(|metrics| board.tell(metrics))
    }

    #[test]
    fn a_run_is_on_the_board_until_it_ends() {
        let board = RunBoard::default();
        board.observed(&observation("a", Phase::Running));
        let found = text(&board);
        let link = "run=\"a\",seed=\"4\",link=\"bottleneck\",from=\"left\"";
        for line in [
            "flowloom_run_info{run=\"a\",seed=\"4\",driver=\"live\"} 1".to_owned(),
            format!("flowloom_run_link_carried_bytes_total{{{link}}} 1152921504606846976"),
            format!("flowloom_run_link_waited_seconds_total{{{link}}} 1.5"),
            format!("flowloom_run_link_queue_delay_seconds{{{link}}} 0.002"),
            format!("flowloom_run_link_throughput_bytes_per_second{{{link}}} 1000"),
            "flowloom_run_lateness_seconds{run=\"a\",seed=\"4\",share=\"0.99\"} 0.000002".to_owned(),
            "flowloom_run_verdict{run=\"a\",seed=\"4\",verdict=\"DEGRADED\"} 1".to_owned(),
            "flowloom_run_verdict{run=\"a\",seed=\"4\",verdict=\"VALID\"} 0".to_owned(),
            "flowloom_run_connections_ended_total{run=\"a\",seed=\"4\",outcome=\"gave-up\"} 1".to_owned(),
        ] {
            assert!(found.contains(&format!("\n{line}\n")), "{line} is missing in {found}");
        }
        board.observed(&observation("a", Phase::Ended));
        let found = text(&board);
        assert!(found.contains("\nflowloom_runs_ended_total 1\n") && !found.contains("run=\"a\""), "{found}");
    }

    #[test]
    fn the_end_of_a_run_is_pushed_once() {
        let board = RunBoard::default();
        locked(&board.0).is_pushed = true;
        let pushed = || PrometheusText::of(|metrics| board.push(metrics));
        let carried = "\nflowloom_run_link_carried_bytes_total{run=\"a\",seed=\"4\",";
        board.observed(&observation("a", Phase::Running));
        board.observed(&observation("a", Phase::Ended));
        assert!(!text(&board).contains(carried), "who asks for metrics sees runs that go on");
        let (first, second) = (pushed(), pushed());
        assert!(first.contains(carried) && !first.contains("flowloom_run_info{"), "{first}");
        assert!(!second.contains(carried), "{second}");
        // Another run of its name and seed is the one that counts.
        board.observed(&observation("a", Phase::Ended));
        board.observed(&observation("a", Phase::Running));
        assert_eq!(pushed().matches(carried).count(), 1);
    }

    /// The dashboard of Grafana asks for metrics that there are.
    #[test]
    fn the_dashboard_names_metrics_that_exist() {
        let text = format!("{}{}", text(&RunBoard::default()), flowloom_monitor::Board::default().prometheus());
        let names: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        let dashboard = include_str!("../../../../packaging/grafana/flowloom.json");
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        let (mut asked, mut ids) = (0, Vec::new());
        for panel in dashboard["panels"].as_array().unwrap() {
            ids.push(panel["id"].as_u64().unwrap());
            for target in panel["targets"].as_array().into_iter().flatten() {
                let words = target["expr"]
                    .as_str()
                    .unwrap()
                    .split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
                for name in words.filter(|word| word.starts_with("flowloom_")) {
                    assert!(names.contains(&name), "no metric is called {name}");
                    asked += 1;
                }
            }
        }
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            if let Some(query) = variable["definition"].as_str() {
                let name = query.trim_start_matches("label_values(").split(',').next().unwrap();
                assert!(names.contains(&name), "no metric is called {name}");
            }
        }
        ids.dedup();
        assert!(asked > 12 && ids.len() == dashboard["panels"].as_array().unwrap().len());
    }

    /// `docs/guide/watch.md` lists the metrics as they are.
    #[test]
    fn metrics_are_documented() {
        let board = RunBoard::default();
        board.observed(&observation("a", Phase::Running));
        let text = text(&board);
        let told: BTreeMap<&str, &str> =
            text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
        let page = include_str!("../../../../docs/guide/watch.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `flowloom_"));
        let row = |row: &'static str| {
            let mut cells = row.split('|');
            (cells.next().unwrap().trim().trim_end_matches('`'), cells.next().unwrap().trim())
        };
        let listed: BTreeMap<&str, &str> = rows.map(row).collect();
        let told: BTreeMap<&str, &str> =
            told.into_iter().map(|(name, kind)| (name.strip_prefix("flowloom_").unwrap(), kind)).collect();
        assert_eq!(listed, told);
    }
}
