//! The reference workloads beside the published statistics of the two traces: `docs/evidence/references.md`.

use flowloom_core::distribution::Distribution;
use flowloom_core::play::MIN_WAIT;
use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, Pattern, Side};
use flowloom_models::generate::Reference;
use flowloom_models::generate::reference::{Arrivals, Durations, Trace, Wire};
use flowloom_models::lrd::hurst;
use flowloom_models::{Approximation, discrete_approximation};

use crate::check::{Effort, Expected, Row};

const HOUR: f64 = 3_600.0;
/// What every published number is held to.
const SHARE: f64 = 0.05;
/// What times of replays are held to where ours are those of an ideal network: shapes.
const SHAPE: f64 = 0.2;

/// The published statistics of a trace.
struct Published {
    name: &'static str,
    trace: Trace,
    /// Connections in an hour and bytes: sequential, concurrent.
    connections: [f64; 2],
    gigabytes: [f64; 2],
    /// Shares of all connections, and of all bytes: no data, packets of one direction; complete and sequential, incomplete and
    /// concurrent; of bytes, sequential and concurrent.
    left_out: f64,
    left_out_bytes: f64,
    complete_sequential: [f64; 2],
    incomplete_concurrent: [f64; 2],
    patterns: [f64; 2],
    /// Mbit/s in both directions, the larger first; thousand packets a second.
    load: [f64; 2],
    packets: f64,
    /// Mean, deviation, median, 97 % point, ms; the thirty values of the DA model.
    rtt: [f64; 4],
    da: [f64; 30],
    /// Their mean; where the source states none it is computed.
    da_mean: f64,
    /// Mean, deviation, share of one.
    epochs: [f64; 3],
    /// Median, 80 % and 90 % points, mean: bytes.
    response: [f64; 4],
    concurrent_adu: [f64; 4],
    /// Shares of waits of 500 ms and more: for responses, for requests, of concurrent connections.
    long: [f64; 3],
    /// Replays: response times' 90 % point and mean, durations' 80 % and 90 % points and mean, connections open.
    response_time: [f64; 2],
    duration: [f64; 3],
    open: f64,
    /// Why the 90 % point of response times is another.
    response_departs: Option<&'static str>,
}

fn published() -> [Published; 2] {
    [
        Published {
            name: "campus-2008",
            trace: Trace::campus_2008(),
            connections: [4_568_847.0, 115_045.0],
            gigabytes: [214.0, 86.0],
            left_out: 0.26,
            left_out_bytes: 0.018,
            complete_sequential: [0.70, 0.52],
            incomplete_concurrent: [0.003_7, 0.21],
            patterns: [0.70, 0.28],
            load: [471.0, 202.0],
            packets: 60.0,
            rtt: [80.0, 210.0, 36.0, 429.0],
            da: [
                8.0, 8.0, 10.0, 10.0, 12.0, 14.0, 14.0, 16.0, 18.0, 20.0, 22.0, 24.0, 26.0, 30.0, 34.0, 38.0, 42.0,
                48.0, 52.0, 60.0, 74.0, 80.0, 82.0, 86.0, 92.0, 98.0, 124.0, 172.0, 258.0, 420.0,
            ],
            da_mean: 67.0,
            epochs: [4.0, 22.0, 0.6],
            response: [420.0, 4_000.0, 13_000.0, 11_000.0],
            concurrent_adu: [208.0, 1_400.0, 6_800.0, 5_900.0],
            long: [0.16, 0.44, 0.99],
            response_time: [0.8, 2.6],
            duration: [2.0, 8.0, 33.0],
            open: 45_000.0,
            response_departs: None,
        },
        Published {
            name: "enterprise-2006",
            trace: Trace::enterprise_2006(),
            connections: [2_733_996.0, 51_058.0],
            gigabytes: [310.0, 55.0],
            left_out: 0.126,
            left_out_bytes: 0.0,
            complete_sequential: [0.80, 0.56],
            incomplete_concurrent: [0.006_3, 0.12],
            patterns: [0.85, 0.15],
            load: [404.0, 366.0],
            packets: 62.0,
            rtt: [92.0, 144.0, 68.0, 275.0],
            da: [
                22.0, 28.0, 32.0, 36.0, 40.0, 44.0, 46.0, 46.0, 48.0, 52.0, 54.0, 56.0, 58.0, 62.0, 66.0, 70.0, 74.0,
                78.0, 82.0, 86.0, 92.0, 96.0, 102.0, 108.0, 114.0, 122.0, 136.0, 154.0, 188.0, 310.0,
            ],
            da_mean: 83.4,
            epochs: [9.0, 123.0, 0.4],
            response: [128.0, 680.0, 3_300.0, 9_000.0],
            concurrent_adu: [91.0, 610.0, 3_400.0, 11_500.0],
            long: [0.16, 0.20, 0.99],
            response_time: [0.55, 4.4],
            duration: [3.0, 13.5, 87.0],
            open: 72_200.0,
            response_departs: Some(
                "16 % of the waits last 500 ms and more, so that 16 % of the response times do with a round-trip time on top; \
                 10 % above 0.55 s leaves no room for that",
            ),
        },
    ]
}

/// The rows of both workloads. Quantiles and shares are of a million connections that were drawn, means and deviations are
/// integrals; the quick form has the quantiles of the laws.
pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let mut rows: Vec<Row> = published().iter().flat_map(|published| of(published, effort)).collect();
    rows.extend(arrivals(effort));
    rows
}

fn of(published: &Published, effort: Effort) -> Vec<Row> {
    let mut table = Table::new(published, effort);
    table.add_connections();
    table.add_load();
    table.add_round_trips();
    table.add_windows();
    table.add_epochs();
    table.add_sizes();
    table.add_waits();
    table.add_replays();
    table.rows
}

/// The source of most published numbers.
const AIKAT: &str = "Aikat 2010";

fn near(value: f64) -> Expected {
    Expected::Near { value, share: SHARE }
}

fn percent(share: f64) -> Expected {
    near(100.0 * share)
}

fn mean(law: &Distribution) -> f64 {
    law.mean().unwrap_or(f64::NAN)
}

/// A quantile of the drawn values, or of the distribution if there are none.
fn quantile(law: &Distribution, drawn: Option<&Vec<f64>>, u: f64) -> f64 {
    match drawn {
        Some(values) => values[((u * values.len() as f64).ceil() as usize).max(1) - 1],
        None => law.quantile(u),
    }
}

/// Which connections are meant, by their pattern and whether they are complete.
type Chosen = fn(Pattern, bool) -> bool;

const SEQUENTIAL: Chosen = |pattern, _| pattern == Pattern::Sequential;
const CONCURRENT: Chosen = |pattern, _| pattern == Pattern::Concurrent;
const COMPLETE_SEQUENTIAL: Chosen = |pattern, complete| pattern == Pattern::Sequential && complete;
const INCOMPLETE_CONCURRENT: Chosen = |pattern, complete| pattern == Pattern::Concurrent && !complete;

/// The rows of one workload as they are made.
struct Table<'a> {
    published: &'a Published,
    trace: &'a Trace,
    drawn: Option<Drawn>,
    /// Traffic of each class from the left and from the right of the link.
    wires: Vec<[Wire; 2]>,
    durations: Durations,
    rows: Vec<Row>,
}

impl<'a> Table<'a> {
    fn new(published: &'a Published, effort: Effort) -> Table<'a> {
        let trace = &published.trace;
        let drawn = match effort {
            Effort::Full => Some(Drawn::new(trace)),
            Effort::Quick => None,
        };
        let wires = trace.classes.iter().map(|class| trace.wire(class)).collect();
        Table { published, trace, drawn, wires, durations: trace.durations(), rows: Vec::new() }
    }

    fn add(&mut self, name: &str, source: &str, expected: Expected, ours: f64) {
        self.rows.push(Row::new(self.published.name, name, source, expected, ours));
    }

    /// Bytes of the chosen connections in an hour.
    fn bytes(&self, is: Chosen) -> f64 {
        let rate = self.trace.connections_per_second;
        let each = self.trace.classes.iter().zip(&self.wires);
        let chosen = each.filter(|(class, _)| is(class.pattern, class.complete));
        chosen.map(|(class, wire)| HOUR * rate * class.share * (wire[0].bytes + wire[1].bytes)).sum()
    }

    /// The share that the chosen connections have of all.
    fn share(&self, is: Chosen) -> f64 {
        let chosen = self.trace.classes.iter().filter(|class| is(class.pattern, class.complete));
        chosen.map(|class| class.share).sum()
    }

    /// Connections and bytes by class.
    fn add_connections(&mut self) {
        let published = self.published;
        let per_hour = HOUR * self.trace.connections_per_second;
        for (name, place, is) in
            [("sequential connections an hour", 0, SEQUENTIAL), ("concurrent connections an hour", 1, CONCURRENT)]
        {
            self.add(name, AIKAT, near(published.connections[place]), per_hour * self.share(is));
        }
        for (name, place, is) in
            [("GB of sequential connections", 0, SEQUENTIAL), ("GB of concurrent connections", 1, CONCURRENT)]
        {
            self.add(name, AIKAT, near(published.gigabytes[place]), self.bytes(is) / 1e9);
        }
        let kept = 100.0 * (1.0 - published.left_out);
        let kept_bytes = 100.0 * (1.0 - published.left_out_bytes) / self.bytes(|_, _| true);
        let a2 = "Aikat 2010 (methods A.2)";
        for (class, is, [connections, bytes]) in [
            ("complete sequential", COMPLETE_SEQUENTIAL, published.complete_sequential.map(percent)),
            ("incomplete concurrent", INCOMPLETE_CONCURRENT, published.incomplete_concurrent.map(percent)),
        ] {
            let name = format!("{class}, % of the trace's connections");
            self.add(&name, a2, connections, kept * self.share(is));
            self.add(&format!("{class}, % of the bytes"), a2, bytes, kept_bytes * self.bytes(is));
        }
        for (name, place, is) in
            [("sequential, % of the bytes", 0, SEQUENTIAL), ("concurrent, % of the bytes", 1, CONCURRENT)]
        {
            self.add(name, AIKAT, percent(published.patterns[place]), kept_bytes * self.bytes(is));
        }
    }

    /// A sum over the classes for each direction, the larger first: `what` is the part of a connection of a class.
    fn directions(&self, what: impl Fn(f64, &Wire) -> f64) -> [f64; 2] {
        let each = || self.trace.classes.iter().zip(&self.wires);
        let mut both = [0, 1].map(|side| each().map(|(class, wire)| what(class.share, &wire[side])).sum::<f64>());
        both.sort_by(|a, b| b.total_cmp(a));
        both
    }

    /// Rates in both directions.
    fn add_load(&mut self) {
        let (published, rate) = (self.published, self.trace.connections_per_second);
        let load = self.directions(|share, wire| 8e-6 * rate * share * wire.bytes);
        self.add("Mbit/s in the busier direction", AIKAT, near(published.load[0]), load[0]);
        self.add("Mbit/s in the other", AIKAT, near(published.load[1]), load[1]);
        let packets = self.directions(|share, wire| 1e-3 * rate * share * wire.packets);
        self.add(
            "thousand packets a second, busier direction",
            "replay of Aikat 2010 (methods C.9)",
            Expected::Near { value: published.packets, share: 0.1 },
            packets[0],
        );
    }

    /// Round-trip times, and the thirty values of the DA model.
    fn add_round_trips(&mut self) {
        let (published, law) = (self.published, &self.trace.rtt);
        let rtts = self.drawn.as_ref().map(|drawn| &drawn.rtts);
        let (median, high) = (quantile(law, rtts, 0.5), quantile(law, rtts, 0.97));
        let da = match rtts {
            Some(values) => thirtieths(values),
            None => {
                let places = (0..30_000).map(|at| (f64::from(at) + 0.5) / 30_000.0);
                thirtieths(&places.map(|u| law.quantile(u)).collect::<Vec<_>>())
            }
        };
        let deviation = law.deviation().unwrap_or(f64::NAN);
        self.add("round-trip time, ms: mean", AIKAT, near(published.rtt[0]), mean(law));
        self.add("round-trip time: standard deviation", AIKAT, near(published.rtt[1]), deviation);
        self.add("round-trip time: median", AIKAT, near(published.rtt[2]), median);
        self.add("round-trip time: 97 %", AIKAT, near(published.rtt[3]), high);
        let source = "DA model (methods B.3)";
        for (place, (value, ours)) in published.da.iter().zip(&da).enumerate() {
            let name = format!("round-trip time: mean of thirtieth {}", place + 1);
            // Published in even milliseconds.
            let by = (SHARE * value).max(1.0);
            self.add(&name, source, Expected::Within { value: *value, by }, *ours);
        }
        let mean_of = da.iter().sum::<f64>() / da.len() as f64;
        self.add("round-trip time: mean of the thirtieths", source, near(published.da_mean), mean_of);
    }

    /// Windows at the usual sizes.
    fn add_windows(&mut self) {
        let law = &self.trace.window;
        let windows = [4_096.0, 8_192.0, 16_384.0, 32_768.0, 49_152.0, 65_535.0_f64];
        let at_them = windows.map(|bytes| law.cdf(bytes) - law.cdf(bytes.next_down()));
        let name = "windows: % at 4, 8, 16, 32, 48 and 64 KB";
        self.add(name, "Aikat 2010 (methods A.7)", percent(1.0), 100.0 * at_them.iter().sum::<f64>());
    }

    /// Epochs of sequential connections.
    fn add_epochs(&mut self) {
        let (published, epochs) = (self.published, self.trace.epochs());
        self.add("epochs: mean", AIKAT, near(published.epochs[0]), epochs.mean);
        self.add("epochs: standard deviation", AIKAT, near(published.epochs[1]), epochs.deviation);
        let single = self.drawn.as_ref().map_or(epochs.single, |drawn| drawn.single);
        self.add("epochs: % of connections with one", AIKAT, percent(published.epochs[2]), 100.0 * single);
    }

    /// Bytes of responses and of concurrent ADUs.
    fn add_sizes(&mut self) {
        let (published, trace) = (self.published, self.trace);
        let drawn = self.drawn.as_ref();
        let quantiles = |law: &Distribution, drawn: Option<&Vec<f64>>| [0.5, 0.8, 0.9].map(|u| quantile(law, drawn, u));
        let response = quantiles(&trace.response, drawn.map(|drawn| &drawn.responses));
        let adu = quantiles(&trace.concurrent_adu, drawn.map(|drawn| &drawn.concurrent));
        for (what, values, law, ours) in [
            ("response", &published.response, &trace.response, response),
            ("concurrent ADU", &published.concurrent_adu, &trace.concurrent_adu, adu),
        ] {
            for ((value, name), ours) in values.iter().zip(["bytes: median", "80 %", "90 %"]).zip(ours) {
                self.add(&format!("{what}, {name}"), AIKAT, near(*value), ours);
            }
            self.add(&format!("{what}, mean"), AIKAT, near(values[3]), mean(law));
        }
    }

    /// Shares of long waits.
    fn add_waits(&mut self) {
        let law = self.durations.long;
        let concurrent = self.trace.concurrent_wait.ccdf(0.5_f64.next_down());
        let long = self.drawn.as_ref().map_or([law.acceptor, law.initiator, concurrent], |drawn| drawn.long);
        let whats = ["for a response", "for the next request", "of concurrent connections"];
        for (what, (value, ours)) in whats.iter().zip(self.published.long.iter().zip(long)) {
            let name = format!("waits {what}: % of 500 ms and more");
            self.add(&name, "Aikat 2010 (methods A.5)", percent(*value), 100.0 * ours);
        }
    }

    /// Times of replays. Quantiles need drawn values.
    fn add_replays(&mut self) {
        let (published, rate) = (self.published, self.trace.connections_per_second);
        let Durations { response, connection, .. } = self.durations;
        let c9 = "replay of Aikat 2010 (methods C.9), fitted by waits";
        self.add("response time, s: mean", c9, near(published.response_time[1]), response);
        self.add("duration, s: mean", c9, near(published.duration[2]), connection);
        let open = "methods C.4, Little's law";
        self.add("connections open at once", open, near(published.open), rate * connection);
        let Some(drawn) = &self.drawn else { return };
        let of = |values, u| quantile(&self.trace.rtt, Some(values), u);
        let (times, durations) = (&drawn.times, &drawn.durations);
        let (at_80, at_90, response) = (of(durations, 0.8), of(durations, 0.9), of(times, 0.9));
        let shape = |value| Expected::Near { value, share: SHAPE };
        self.add("duration: 80 %", c9, shape(published.duration[0]), at_80);
        self.add("duration: 90 %", c9, shape(published.duration[1]), at_90);
        self.add("response time: 90 %", c9, shape(published.response_time[0]), response);
        if let Some(last) = self.rows.last_mut() {
            last.departs = published.response_departs.map(ToOwned::to_owned);
        }
    }
}

/// How connections of the campus arrive: of an hour, or of several.
fn arrivals(effort: Effort) -> Vec<Row> {
    const GROUP: &str = "campus-2008, arrivals";
    const SOURCE: &str = "Hernandez-Campos 2006 (methods A.11), another trace of the campus";
    /// Connections in the mean in a bin of which a Poisson process has the published deviation, 79.21.
    const IN_A_BIN: f64 = 6_274.0;
    let rate = Trace::campus_2008().connections_per_second;
    let runs = if effort == Effort::Full { 10 } else { 1 };
    let (mut h, mut deviation) = (0.0, 0.0);
    for seed in 1..=runs {
        let (mut short, mut long) = (vec![0.0; 360_000], vec![0.0; (HOUR * rate / IN_A_BIN) as usize]);
        let count = |bins: &mut Vec<f64>, at: f64| {
            if let Some(bin) = bins.get_mut(at as usize) {
                *bin += 1.0;
            }
        };
        for start in Arrivals::new(rate, seed, HOUR).take_while(|start| *start < HOUR) {
            count(&mut short, 100.0 * start);
            count(&mut long, start * rate / IN_A_BIN);
        }
        h += hurst(&short).map_or(f64::NAN, |estimate| estimate.h) / runs as f64;
        let mean = long.iter().sum::<f64>() / long.len() as f64;
        let square = long.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>();
        deviation += (square / long.len() as f64).sqrt() / runs as f64;
    }
    vec![
        Row::new(
            GROUP,
            "Hurst parameter of connections in 10 ms",
            SOURCE,
            Expected::Within { value: 0.685, by: 0.039 },
            h,
        ),
        Row::new(
            GROUP,
            "standard deviation of connections in bins of 6,274",
            SOURCE,
            Expected::Near { value: 346.07, share: SHARE },
            deviation,
        ),
    ]
}

/// The means of thirtieths of what is left without 1 % at each end.
fn thirtieths(sorted_millis: &[f64]) -> Vec<f64> {
    let rtts: Vec<Duration> = sorted_millis.iter().map(|millis| Duration::from_secs_f64(millis / 1e3)).collect();
    let paths = discrete_approximation(&rtts, Approximation { paths: 30, trim: 0.01, quantum: None });
    paths.into_iter().map(|rtt| 1e3 * rtt.as_secs_f64()).collect()
}

/// What a million connections have, in order of size.
#[derive(Default)]
struct Drawn {
    rtts: Vec<f64>,
    responses: Vec<f64>,
    concurrent: Vec<f64>,
    durations: Vec<f64>,
    times: Vec<f64>,
    single: f64,
    long: [f64; 3],
}

impl Drawn {
    fn new(trace: &Trace) -> Drawn {
        const CONNECTIONS: usize = 1_000_000;
        let mut drawn = Drawn::default();
        let (mut sequential, mut single) = (0.0, 0.0);
        let mut waits = [(0.0, 0.0); 3];
        let vectors = Reference { scale: 1.0 }.vectors(trace, 1, Duration::from_secs(3_600));
        for vector in vectors.take(CONNECTIONS) {
            drawn.rtts.push(1e3 * vector.min_rtt().unwrap_or_default().as_secs_f64());
            let duration = drawn.add(&vector, &mut waits);
            drawn.durations.push(duration);
            if vector.pattern == Pattern::Sequential {
                sequential += 1.0;
                single += f64::from(u8::from(vector.adus.len() == 2));
            }
        }
        drawn.single = single / sequential;
        drawn.long = waits.map(|(all, long)| long / all);
        let Drawn { rtts, responses, concurrent, durations, times, .. } = &mut drawn;
        for values in [rtts, responses, concurrent, durations, times] {
            values.sort_by(f64::total_cmp);
        }
        drawn
    }

    /// Takes the sizes, waits and response times of `vector`; how long it lasts by the published rule of waits.
    fn add(&mut self, vector: &ConnectionVector, waits: &mut [(f64, f64); 3]) -> f64 {
        let rtt = vector.min_rtt().unwrap_or_default().as_secs_f64();
        let concurrent = vector.pattern == Pattern::Concurrent;
        let mut waited = [0.0; 2];
        for adu in &vector.adus {
            if concurrent {
                self.concurrent.push(adu.bytes as f64);
            } else if adu.side == Side::Acceptor {
                self.responses.push(adu.bytes as f64);
            }
            let is_long = adu.wait.is_some_and(|wait| wait >= MIN_WAIT);
            let replayed = adu.wait.filter(|_| is_long).unwrap_or_default().as_secs_f64();
            waited[adu.waiter as usize] += replayed;
            let server = adu.side == Side::Initiator;
            if !concurrent && server {
                self.times.push(rtt + replayed);
            }
            if adu.wait.is_some() {
                let (all, long) = &mut waits[if concurrent { 2 } else { usize::from(!server) }];
                (*all, *long) = (*all + 1.0, *long + f64::from(u8::from(is_long)));
            }
        }
        match vector.pattern {
            Pattern::Sequential => rtt * (vector.adus.len() / 2) as f64 + waited[0] + waited[1],
            Pattern::Concurrent => rtt + waited[0].max(waited[1]),
        }
    }
}
