//! The multiplexing study of Caceres 1992 run again: one virtual-circuit internetwork, three ways to share circuits (methods G.5, G.6).
//! Rows say what must hold; [`study`] has the curves of the figures, drawn in `docs/evidence/reproductions/caceres-1992.md`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flowloom_core::cell::{Mapping, Order, Traffic, TransportConfig};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_models::generate::tcplib::{Application, summarised};
use flowloom_report::statistics::{Estimate, jain};
use flowloom_sim::cells::{Config, Host, Observer, Results, Router, run};

use crate::check::{Effort, Expected, Row};

const GROUP: &str = "Multiplexing over virtual circuits";
/// Bytes that the bottleneck carries in a round trip of 45 ms.
const RTW: f64 = 8_437.5;
const ROUND_TRIP_S: f64 = 0.045;
const SPEED: u64 = 1_500_000;

const FAIRNESS: &str = "Jain's index in 5 s bins, 5 FTP, per conversation, mean";
/// Why it is not what methods G.6 want.
const FAIRNESS_DEPARTS: &str = "conversations are close together while all send, but each stops for a round trip between items and opens \
     its window anew; 0.99 is not a published number, and one circuit for all has 0.56";

/// The three policies that the study's twelve come down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A circuit for each conversation, cells in turn.
    PerConversation,
    /// A circuit for each type of traffic, cells in turn.
    PerType,
    /// One circuit, cells as they come.
    PerDestination,
}

impl Policy {
    /// The three policies, in the order of their declaration.
    pub const ALL: [Policy; 3] = [Policy::PerConversation, Policy::PerType, Policy::PerDestination];

    /// What it is called in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::PerConversation => "per conversation",
            Policy::PerType => "per type",
            Policy::PerDestination => "per destination",
        }
    }

    const fn parts(self) -> (Mapping, Order) {
        match self {
            Policy::PerConversation => (Mapping::PerConversation, Order::RoundRobin),
            Policy::PerType => (Mapping::PerType, Order::RoundRobin),
            Policy::PerDestination => (Mapping::PerDestination, Order::Fifo),
        }
    }
}

/// One scenario: conversations that share the link.
#[derive(Clone, Debug)]
struct Scenario {
    policy: Policy,
    sources: Vec<Application>,
    speed: u64,
    window: u32,
}

impl Scenario {
    /// One TELNET conversation and so many of FTP, as most figures have them.
    fn telnet_and_ftp(policy: Policy, ftp: usize, window: u32) -> Scenario {
        let sources = [Application::Telnet].into_iter().chain(vec![Application::Ftp; ftp]).collect();
        Scenario { policy, sources, speed: SPEED, window }
    }

    /// Conversations of one type, each with its circuit.
    fn alike(application: Application, number: usize, speed: u64) -> Scenario {
        Scenario { policy: Policy::PerConversation, sources: vec![application; number], speed, window: 128 }
    }

    fn config(&self, seed: u64) -> Config {
        let (mapping, order) = self.policy.parts();
        let transport = TransportConfig { window_limit: self.window, ..TransportConfig::STUDY };
        let sources = self.sources.iter().map(|application| {
            let laws = application.laws(|table| Ok::<_, std::convert::Infallible>(summarised(table)));
            let Some(Ok(laws)) = laws else { unreachable!("no mix") };
            Host::source(Traffic::Application(laws), *application as u32, transport)
        });
        let rate = Rate::from_bits_per_second(self.speed).expect("it is finite");
        Config { seed, ..Config::study(&Router::new(mapping, order), rate, sources) }
    }

    fn run(&self, seed: u64) -> Results {
        run(&self.config(seed), &mut ()).expect("the study's internetwork")
    }

    fn watch(&self, seed: u64) -> Watched {
        let mut watched = Watched::default();
        run(&self.config(seed), &mut watched).expect("the study's internetwork");
        watched
    }
}

/// What a source knew at one look.
#[derive(Clone, Copy, Debug)]
struct Look {
    window: f64,
    /// Its latest round-trip time over what it expected, in seconds.
    surprise_s: f64,
    bytes: f64,
}

/// A run's series, every 0.1 s.
#[derive(Debug, Default)]
struct Watched {
    queue: Vec<f64>,
    /// What was seen of the sources of each route.
    sources: Vec<Vec<Look>>,
}

impl Observer for Watched {
    fn queue(&mut self, _at: Time, router: usize, bytes: u64) {
        if router == 0 {
            self.queue.push(bytes as f64);
        }
    }

    fn source(&mut self, _at: Time, route: usize, window: u32, last: Duration, smoothed: Duration, bytes: u64) {
        if route >= self.sources.len() {
            self.sources.resize_with(route + 1, Vec::new);
        }
        let surprise_s = last.as_secs_f64() - smoothed.as_secs_f64();
        self.sources[route].push(Look { window: f64::from(window), surprise_s, bytes: bytes as f64 });
    }
}

impl Watched {
    /// Share of the link of each FTP conversation in bins of 5 s.
    fn shares(&self) -> Vec<Vec<f64>> {
        let of = |looks: &Vec<Look>| {
            let at: Vec<f64> = looks.iter().step_by(50).map(|look| look.bytes).collect();
            at.windows(2).map(|pair| (pair[1] - pair[0]) * 8.0 / 5.0 / SPEED as f64).collect()
        };
        self.sources[1..].iter().map(of).collect()
    }

    /// Jain's index of the FTP conversations in each bin of 5 s.
    fn fairness(&self) -> Vec<f64> {
        let shares = self.shares();
        (0..shares[0].len()).map(|bin| jain(&shares.iter().map(|one| one[bin]).collect::<Vec<_>>())).collect()
    }
}

/// Mean over seeds with its 95 % interval (methods G.7).
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    /// The mean of the replications.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Mean {
    fn of(values: &[f64]) -> Mean {
        let estimate = Estimate::of_mean(values).expect("there are several seeds");
        let interval = estimate.interval(0.95);
        Mean { mean: estimate.value, low: interval.low, high: interval.high }
    }
}

/// A curve: x and the mean there.
pub type Curve = Vec<(f64, Mean)>;

/// Lines over time: name, and (s, value).
pub type Lines = Vec<(String, Vec<(f64, f64)>)>;

/// The curves of the figures.
#[derive(Debug)]
pub struct Study {
    /// The number of seeds behind each point.
    pub seeds: u64,
    /// Utilisation by conversations of a type (figure 4.2).
    pub load: Vec<(&'static str, Curve)>,
    /// The same of FTP over links of 3 Mbit/s.
    pub fast: Curve,
    /// By policy: round-trip time of TELNET over 45 ms (figure 4.3).
    pub telnet: Vec<Curve>,
    /// By policy: mean throughput of an FTP conversation over the link's (figure 4.4).
    pub ftp: Vec<Curve>,
    /// By policy: the queue in round-trip windows, windows of 128 (figure 4.7) and 16 packets.
    pub queue: [Vec<Curve>; 2],
    /// The utilisation by policy.
    pub utilisation: Vec<Curve>,
    /// One run of each of the first two policies, five FTP conversations: shares (figures 4.5, 4.6).
    pub shares: [Lines; 2],
    /// Windows (figures 4.8, 4.9).
    pub windows: [Lines; 2],
    /// Per type: a part of the run, all scaled to 1: the queue, a window, and how much later than expected packets were (figures 4.10,
    /// 4.11).
    pub coincidence: Lines,
    /// Jain's index in bins of 5 s: its mean per conversation, and the share of bins in which per type has less.
    fair: [Mean; 2],
    /// Share of the time at which windows are 128 packets: per conversation, per type.
    open: [Mean; 2],
    /// Timeouts of five conversations in 180 s, nothing lost: per conversation, per type.
    timeouts: [Mean; 2],
    /// Correlation of the queue with how much later than expected packets were, per type.
    correlation: Mean,
    /// Of one FTP conversation: bit/s, packets/s, utilisation, queue in bytes (figure 3.9).
    single: [Mean; 4],
    /// The longest queue of those runs in cells: the median of the seeds.
    longest: f64,
}

/// Runs jobs on all cores; what they return, in their order.
fn all<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(place) else { break };
                    let result = work(job);
                    done.lock().expect("no thread panics with it").push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics with it");
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The mean over seeds of a quantity of each scenario, by x.
fn curve(scenarios: &[(f64, Scenario)], seeds: u64, of: impl Fn(&Results) -> f64 + Sync) -> Curve {
    several(scenarios, seeds, &[&of]).remove(0)
}

/// The same of several quantities of the same runs.
fn several(scenarios: &[(f64, Scenario)], seeds: u64, of: &[&(dyn Fn(&Results) -> f64 + Sync)]) -> Vec<Curve> {
    let jobs: Vec<(&Scenario, u64)> =
        scenarios.iter().flat_map(|(_, scenario)| (1..=seeds).map(move |seed| (scenario, seed))).collect();
    let found: Vec<Vec<f64>> = all(&jobs, |(scenario, seed)| {
        let results = scenario.run(*seed);
        of.iter().map(|of| of(&results)).collect()
    });
    let curve = |quantity: usize| {
        let of_seeds = found.chunks_exact(seeds as usize).map(|runs| {
            let values: Vec<f64> = runs.iter().map(|run| run[quantity]).collect();
            Mean::of(&values)
        });
        scenarios.iter().map(|(x, _)| *x).zip(of_seeds).collect()
    };
    (0..of.len()).map(curve).collect()
}

fn utilisation(results: &Results) -> f64 {
    results.links[0][0].utilisation
}

fn queue(results: &Results) -> f64 {
    results.routers[0].as_ref().map_or(f64::NAN, |router| router.queue_bytes.mean / RTW)
}

/// Sources' results: those of TELNET first, then of FTP.
fn sources(results: &Results) -> impl Iterator<Item = &flowloom_sim::cells::HostResults> {
    results.hosts.iter().skip(3).step_by(2).flatten()
}

fn telnet(results: &Results) -> f64 {
    sources(results).next().map_or(f64::NAN, |host| host.round_trip_s.mean / ROUND_TRIP_S)
}

fn ftp(results: &Results) -> f64 {
    let shares: Vec<f64> = sources(results)
        .skip(1)
        .map(|host| host.bytes_delivered as f64 * 8.0 / results.measured.as_secs_f64() / SPEED as f64)
        .collect();
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

fn timeouts(results: &Results) -> f64 {
    sources(results).skip(1).map(|host| host.timeouts as f64).sum()
}

/// The correlation of two series; 0 if one does not vary.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let mean = |x: &[f64]| x[..n].iter().sum::<f64>() / n as f64;
    let (of_a, of_b) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>();
    let both = sum(&|at| (a[at] - of_a) * (b[at] - of_b));
    let square = sum(&|at| (a[at] - of_a).powi(2)) * sum(&|at| (b[at] - of_b).powi(2));
    if square > 0.0 { both / square.sqrt() } else { 0.0 }
}

/// How much later than expected packets of the FTP conversations were, in the mean over them, at each look.
fn surprise(watched: &Watched) -> Vec<f64> {
    let looks = watched.sources[1].len();
    let mean = |at: usize| {
        watched.sources[1..].iter().map(|source| source[at].surprise_s).sum::<f64>()
            / (watched.sources.len() - 1) as f64
    };
    (0..looks).map(mean).collect()
}

/// Differences of a series over two seconds: longer than the longest round trip.
fn changes(values: &[f64]) -> Vec<f64> {
    values.windows(21).map(|part| part[20] - part[0]).collect()
}

fn over_time(values: impl Iterator<Item = f64>, step_s: f64) -> Vec<(f64, f64)> {
    values.enumerate().map(|(at, value)| (at as f64 * step_s, value)).collect()
}

/// Runs it all: 20 seeds where single runs matter, 10 elsewhere.
pub fn study(effort: Effort) -> Study {
    let full = effort == Effort::Full;
    let seeds = if full { 10 } else { 3 };
    let numbers: &[usize] = if full { &[0, 1, 2, 3, 4, 5] } else { &[0, 2, 5] };
    let types = [
        ("FTP", Application::Ftp),
        ("NNTP", Application::Nntp),
        ("SMTP", Application::Smtp),
        ("TELNET", Application::Telnet),
    ];
    let load = types.map(|(name, application)| {
        let most = if full { 6 } else { 4 };
        let scenarios: Vec<_> =
            (1..=most).map(|number| (number as f64, Scenario::alike(application, number, SPEED))).collect();
        (name, curve(&scenarios, seeds, utilisation))
    });
    let fast: Vec<usize> = if full { (1..=10).collect() } else { vec![1, 4, 8] };
    let fast: Vec<_> = fast.into_iter().map(|n| (n as f64, Scenario::alike(Application::Ftp, n, 2 * SPEED))).collect();
    let mut study = Study {
        seeds,
        load: load.into(),
        fast: curve(&fast, seeds, utilisation),
        telnet: Vec::new(),
        ftp: Vec::new(),
        queue: [Vec::new(), Vec::new()],
        utilisation: Vec::new(),
        shares: [Vec::new(), Vec::new()],
        windows: [Vec::new(), Vec::new()],
        coincidence: Vec::new(),
        fair: [Mean { mean: 0.0, low: 0.0, high: 0.0 }; 2],
        open: [Mean { mean: 0.0, low: 0.0, high: 0.0 }; 2],
        timeouts: [Mean { mean: 0.0, low: 0.0, high: 0.0 }; 2],
        correlation: Mean { mean: 0.0, low: 0.0, high: 0.0 },
        single: [Mean { mean: 0.0, low: 0.0, high: 0.0 }; 4],
        longest: 0.0,
    };
    for policy in Policy::ALL {
        for (place, window) in [128, 16].into_iter().enumerate() {
            let scenarios: Vec<_> =
                numbers.iter().map(|n| (*n as f64, Scenario::telnet_and_ftp(policy, *n, window))).collect();
            let mut found = several(&scenarios, seeds, &[&queue, &telnet, &ftp, &utilisation, &timeouts]);
            if window == 128 {
                if let Some((_, mean)) = found[4].last()
                    && policy != Policy::PerDestination
                {
                    study.timeouts[policy as usize] = *mean;
                }
                study.utilisation.push(found.remove(3));
                let shares = found.remove(2);
                study.ftp.push(shares.into_iter().filter(|(number, _)| *number > 0.0).collect());
                study.telnet.push(found.remove(1));
            }
            study.queue[place].push(found.remove(0));
        }
    }
    watch(&mut study, seeds);
    single(&mut study, if full { 20 } else { 5 });
    study
}

/// What is seen over time: five FTP conversations and one of TELNET.
fn watch(study: &mut Study, seeds: u64) {
    let all_seeds: Vec<u64> = (1..=seeds).collect();
    let watched = [Policy::PerConversation, Policy::PerType]
        .map(|policy| all(&all_seeds, |seed| Scenario::telnet_and_ftp(policy, 5, 128).watch(*seed)));
    let [own, shared] = &watched;
    let fair: Vec<[f64; 2]> = own
        .iter()
        .zip(shared)
        .map(|(own, shared)| {
            let (own, shared) = (own.fairness(), shared.fairness());
            [
                own.iter().sum::<f64>() / own.len() as f64,
                own.iter().zip(&shared).filter(|(own, shared)| shared < own).count() as f64 / own.len() as f64,
            ]
        })
        .collect();
    study.fair = [0, 1].map(|place| Mean::of(&fair.iter().map(|one| one[place]).collect::<Vec<_>>()));
    study.open = [own, shared].map(|runs| {
        let open = |run: &Watched| {
            let looks = || run.sources[1..].iter().flatten();
            looks().filter(|look| look.window >= 128.0).count() as f64 / looks().count() as f64
        };
        Mean::of(&runs.iter().map(open).collect::<Vec<_>>())
    });
    let coincide = |run: &Watched| correlation(&changes(&run.queue), &changes(&surprise(run)));
    study.correlation = Mean::of(&shared.iter().map(coincide).collect::<Vec<_>>());
    for (place, runs) in [own, shared].into_iter().enumerate() {
        let run = &runs[0];
        let name = |conversation: usize| format!("FTP {}", conversation + 1);
        let shares = run.shares().into_iter().enumerate();
        study.shares[place] = shares.map(|(number, one)| (name(number), over_time(one.into_iter(), 5.0))).collect();
        let windows = run.sources[1..3].iter().enumerate();
        study.windows[place] =
            windows.map(|(number, one)| (name(number), over_time(one.iter().map(|look| look.window), 0.1))).collect();
    }
    let run = &shared[0];
    let part = |values: Vec<f64>| {
        let part = &values[600..1_000];
        let most = part.iter().fold(0.0f64, |most, value| most.max(value.abs())).max(f64::MIN_POSITIVE);
        let scaled = part.iter().map(|value| value / most);
        scaled.enumerate().map(|(at, value)| (60.0 + at as f64 / 10.0, value)).collect()
    };
    study.coincidence = vec![
        ("queue".to_owned(), part(run.queue.clone())),
        ("late by".to_owned(), part(surprise(run))),
        ("window of FTP 1".to_owned(), part(run.sources[1].iter().map(|look| look.window).collect())),
    ];
}

/// One FTP conversation alone (figure 3.9).
fn single(study: &mut Study, seeds: u64) {
    let scenario = Scenario::alike(Application::Ftp, 1, SPEED);
    let seeds: Vec<u64> = (1..=seeds).collect();
    let runs = all(&seeds, |seed| {
        let results = scenario.run(*seed);
        let (host, router) = (results.hosts[3].clone().unwrap_or_default(), results.routers[0].clone());
        let router = router.unwrap_or_default();
        let seconds = results.measured.as_secs_f64();
        let values = [
            host.bytes_delivered as f64 * 8.0 / seconds,
            host.packets_sent as f64 / seconds,
            utilisation(&results),
            router.queue_bytes.mean,
        ];
        (values, router.queue_bytes.max / 48.0)
    });
    study.single = [0, 1, 2, 3].map(|place| Mean::of(&runs.iter().map(|run| run.0[place]).collect::<Vec<_>>()));
    let mut longest: Vec<f64> = runs.iter().map(|run| run.1).collect();
    longest.sort_by(f64::total_cmp);
    study.longest = longest[longest.len() / 2];
}

/// What must hold (notes on figures 4.2 to 4.11; methods G.6): each bound is met by the end of the 95 % interval that is nearer to it.
pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    rows_of(&study(effort))
}

/// The rows of a study.
pub fn rows_of(study: &Study) -> Vec<Row> {
    let mut table = Table { rows: Vec::new() };
    add_single(&mut table, study);
    add_utilisation(&mut table, study);
    add_policies(&mut table, study);
    add_fairness(&mut table, study);
    add_queues(&mut table, study);
    add_windows(&mut table, study);
    table.rows
}

/// The rows as they are made.
struct Table {
    rows: Vec<Row>,
}

impl Table {
    fn add(&mut self, name: String, figure: &str, expected: Expected, ours: f64) {
        self.rows.push(Row::new(GROUP, name, format!("Caceres 1992, {figure}"), expected, ours));
    }
}

impl Study {
    fn is_quick(&self) -> bool {
        self.seeds < 10
    }

    /// The lower end of an interval. Three seeds have intervals in which anything fits: their means are looked at.
    fn low(&self, mean: Mean) -> f64 {
        if self.is_quick() { mean.mean } else { mean.low }
    }

    /// The upper end of an interval, or the mean.
    fn high(&self, mean: Mean) -> f64 {
        if self.is_quick() { mean.mean } else { mean.high }
    }
}

/// The mean of a curve at `x`.
fn at(curve: &Curve, x: f64) -> Mean {
    curve.iter().find(|(at, _)| *at == x).expect("it was run").1
}

/// One FTP conversation alone.
fn add_single(table: &mut Table, study: &Study) {
    let published =
        [(716_657.0, "throughput, bit/s"), (192.828, "packets/s"), (0.485, "utilisation"), (102.857, "queue, bytes")];
    for (mean, (value, name)) in study.single.iter().zip(published) {
        table.add(
            format!("one FTP conversation, mean of seeds: {name}"),
            "figure 3.9",
            Expected::Near { value, share: 0.1 },
            mean.mean,
        );
    }
    table.add(
        "one FTP conversation, median of seeds: longest queue, whole cells".into(),
        "figure 3.9",
        Expected::Exactly(9.0),
        study.longest,
    );
}

/// The utilisation by conversations of a type.
fn add_utilisation(table: &mut Table, study: &Study) {
    let load = |name: &str| &study.load.iter().find(|(known, _)| *known == name).expect("a type").1;
    table.add(
        "utilisation, 2 FTP conversations: upper end".into(),
        "figure 4.2",
        Expected::AtMost(0.95),
        study.high(at(load("FTP"), 2.0)),
    );
    table.add(
        "utilisation, 4 FTP conversations: lower end".into(),
        "figure 4.2",
        Expected::AtLeast(0.95),
        study.low(at(load("FTP"), 4.0)),
    );
    table.add(
        "utilisation, 4 TELNET conversations: upper end".into(),
        "figure 4.2",
        Expected::AtMost(0.02),
        study.high(at(load("TELNET"), 4.0)),
    );
    for name in ["NNTP", "SMTP"] {
        let (ftp, other) = (at(load("FTP"), 2.0), at(load(name), 2.0));
        table.add(
            format!("utilisation, 2 FTP less 2 {name} conversations: interval ends"),
            "figure 4.2",
            Expected::AtLeast(0.0),
            study.low(ftp) - study.high(other),
        );
        let telnet = at(load("TELNET"), 2.0);
        table.add(
            format!("utilisation, 2 {name} less 2 TELNET conversations: interval ends"),
            "figure 4.2",
            Expected::AtLeast(0.0),
            study.low(other) - study.high(telnet),
        );
    }
    table.add(
        "3 Mbit/s: utilisation, 4 FTP conversations: upper end".into(),
        "section 4.3",
        Expected::AtMost(0.97),
        study.high(at(&study.fast, 4.0)),
    );
    table.add(
        "3 Mbit/s: utilisation, 8 FTP conversations: lower end".into(),
        "section 4.3",
        Expected::AtLeast(0.97),
        study.low(at(&study.fast, 8.0)),
    );
}

/// TELNET round trips and FTP throughput by policy.
fn add_policies(table: &mut Table, study: &Study) {
    for (policy, curve) in Policy::ALL.into_iter().zip(&study.telnet) {
        let name = format!("TELNET round trip over 45 ms, 5 FTP, {}", policy.name());
        match policy {
            Policy::PerDestination => {
                table.add(format!("{name}: lower end"), "figure 4.3", Expected::AtLeast(3.0), study.low(at(curve, 5.0)))
            }
            _ => {
                table.add(format!("{name}: upper end"), "figure 4.3", Expected::AtMost(1.2), study.high(at(curve, 5.0)))
            }
        }
    }
    for (policy, curve) in Policy::ALL.into_iter().zip(&study.ftp) {
        let name = format!("throughput of one of 5 FTP over the link's, {}", policy.name());
        table.add(name, "figure 4.4", Expected::Within { value: 0.2, by: 0.01 }, at(curve, 5.0).mean);
    }
}

/// Fairness between conversations.
fn add_fairness(table: &mut Table, study: &Study) {
    table.add(FAIRNESS.into(), "figure 4.5", Expected::AtLeast(0.99), study.fair[0].mean);
    if let Some(row) = table.rows.last_mut() {
        row.departs = Some(FAIRNESS_DEPARTS.to_owned());
    }
    table.add(
        "share of 5 s bins in which per type is less fair: lower end".into(),
        "figure 4.6",
        Expected::AtLeast(0.5),
        study.low(study.fair[1]),
    );
}

/// Growth of the queue with the number of conversations.
fn add_queues(table: &mut Table, study: &Study) {
    // For each conversation that is added to two, which fill the link.
    let slopes = |window: usize| {
        [0, 1, 2].map(|policy: usize| {
            let curve: &Curve = &study.queue[window][policy];
            (at(curve, 5.0).mean - at(curve, 2.0).mean) / 3.0
        })
    };
    let wide = slopes(0);
    // A slope between two points of few seeds is hardly known.
    let by = if study.is_quick() { 2.0 } else { 1.0 };
    for (policy, (slope, value, by)) in
        Policy::ALL.into_iter().zip([(wide[0], 5.0, by), (wide[1], 1.0, by / 2.0), (wide[2], 1.0, by / 2.0)])
    {
        let name = format!("queue, round-trip windows for each FTP conversation from 2 to 5, {}", policy.name());
        table.add(name, "figure 4.7", Expected::Within { value, by }, slope);
    }
    let [own, kind, _] = slopes(1);
    table.add(
        "the same with windows of 16 packets, per conversation over per type".into(),
        "section 4.4",
        Expected::Within { value: 2.0, by: 0.75 },
        own / kind,
    );
}

/// Windows, timeouts, and how late packets are.
fn add_windows(table: &mut Table, study: &Study) {
    table.add(
        "share of the time with windows of 128 packets, 5 FTP, per conversation: lower end".into(),
        "figure 4.8",
        Expected::AtLeast(0.4),
        study.low(study.open[0]),
    );
    table.add("the same, per type: upper end".into(), "figure 4.9", Expected::AtMost(0.25), study.high(study.open[1]));
    table.add(
        "timeouts in 180 s without a loss, 5 FTP, per type: lower end".into(),
        "figure 4.9",
        Expected::AtLeast(100.0),
        study.low(study.timeouts[1]),
    );
    table.add(
        "the same, per type over per conversation".into(),
        "figure 4.9",
        Expected::AtLeast(5.0),
        study.timeouts[1].mean / study.timeouts[0].mean,
    );
    table.add(
        "changes of the queue and of how late packets are over 2 s, per type: correlation, mean of seeds".into(),
        "figures 4.10, 4.11",
        Expected::AtLeast(0.5),
        study.correlation.mean,
    );
}
