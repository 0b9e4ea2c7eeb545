//! The reference workloads beside the published statistics of the two traces: `docs/evidence/references.md`.

use flowloom_core::distribution::Distribution;
use flowloom_core::play::MIN_WAIT;
use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, Pattern, Side};
use flowloom_models::generate::Reference;
use flowloom_models::generate::reference::{Arrivals, Trace};
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
    let trace = &published.trace;
    let drawn = match effort {
        Effort::Full => Some(Drawn::new(trace)),
        Effort::Quick => None,
    };
    let mut rows = Vec::new();
    let mut row = |name: &str, source: &str, expected, ours| {
        rows.push(Row::new(published.name, name, source, expected, ours));
    };
    let near = |value| Expected::Near { value, share: SHARE };
    let shape = |value| Expected::Near { value, share: SHAPE };
    const A: &str = "Aikat 2010";

    let wires: Vec<[_; 2]> = trace.classes.iter().map(|class| trace.wire(class)).collect();
    let rate = trace.connections_per_second;
    let each = || trace.classes.iter().zip(&wires);
    let bytes_of = |is: &dyn Fn(Pattern, bool) -> bool| {
        let chosen = each().filter(|(class, _)| is(class.pattern, class.complete));
        chosen.map(|(class, wire)| HOUR * rate * class.share * (wire[0].bytes + wire[1].bytes)).sum::<f64>()
    };
    let share_of = |is: &dyn Fn(Pattern, bool) -> bool| {
        trace.classes.iter().filter(|class| is(class.pattern, class.complete)).map(|class| class.share).sum::<f64>()
    };
    let sequential = |pattern: Pattern, _: bool| pattern == Pattern::Sequential;
    let concurrent = |pattern: Pattern, _: bool| pattern == Pattern::Concurrent;
    let complete_sequential = |pattern: Pattern, complete: bool| pattern == Pattern::Sequential && complete;
    let incomplete_concurrent = |pattern: Pattern, complete: bool| pattern == Pattern::Concurrent && !complete;
    let all = bytes_of(&|_, _| true);
    let per_hour = HOUR * rate;
    row("sequential connections an hour", A, near(published.connections[0]), per_hour * share_of(&sequential));
    row("concurrent connections an hour", A, near(published.connections[1]), per_hour * share_of(&concurrent));
    row("GB of sequential connections", A, near(published.gigabytes[0]), bytes_of(&sequential) / 1e9);
    row("GB of concurrent connections", A, near(published.gigabytes[1]), bytes_of(&concurrent) / 1e9);
    let percent = |share: f64| near(100.0 * share);
    let kept = 100.0 * (1.0 - published.left_out);
    let kept_bytes = 100.0 * (1.0 - published.left_out_bytes) / all;
    let a2 = "Aikat 2010 (methods A.2)";
    let [connections, bytes] = published.complete_sequential.map(percent);
    row("complete sequential, % of the trace's connections", a2, connections, kept * share_of(&complete_sequential));
    row("complete sequential, % of the bytes", a2, bytes, kept_bytes * bytes_of(&complete_sequential));
    let [connections, bytes] = published.incomplete_concurrent.map(percent);
    row(
        "incomplete concurrent, % of the trace's connections",
        a2,
        connections,
        kept * share_of(&incomplete_concurrent),
    );
    row("incomplete concurrent, % of the bytes", a2, bytes, kept_bytes * bytes_of(&incomplete_concurrent));
    row("sequential, % of the bytes", A, percent(published.patterns[0]), kept_bytes * bytes_of(&sequential));
    row("concurrent, % of the bytes", A, percent(published.patterns[1]), kept_bytes * bytes_of(&concurrent));
    let total = |what: &dyn Fn(usize) -> f64| {
        let mut both = [0, 1].map(what);
        both.sort_by(|a, b| b.total_cmp(a));
        both
    };
    let load = total(&|side| each().map(|(class, wire)| 8e-6 * rate * class.share * wire[side].bytes).sum());
    row("Mbit/s in the busier direction", A, near(published.load[0]), load[0]);
    row("Mbit/s in the other", A, near(published.load[1]), load[1]);
    let packets = total(&|side| each().map(|(class, wire)| 1e-3 * rate * class.share * wire[side].packets).sum());
    row(
        "thousand packets a second, busier direction",
        "replay of Aikat 2010 (methods C.9)",
        Expected::Near { value: published.packets, share: 0.1 },
        packets[0],
    );

    let quantile = |law: &Distribution, drawn: Option<&Vec<f64>>, u: f64| match drawn {
        Some(values) => values[((u * values.len() as f64).ceil() as usize).max(1) - 1],
        None => law.quantile(u),
    };
    let mean = |law: &Distribution| law.mean().unwrap_or(f64::NAN);
    let rtts = drawn.as_ref().map(|drawn| &drawn.rtts);
    row("round-trip time, ms: mean", A, near(published.rtt[0]), mean(&trace.rtt));
    row("round-trip time: standard deviation", A, near(published.rtt[1]), trace.rtt.deviation().unwrap_or(f64::NAN));
    row("round-trip time: median", A, near(published.rtt[2]), quantile(&trace.rtt, rtts, 0.5));
    row("round-trip time: 97 %", A, near(published.rtt[3]), quantile(&trace.rtt, rtts, 0.97));
    let da = match rtts {
        Some(values) => thirtieths(values),
        None => {
            let places = (0..30_000).map(|at| (f64::from(at) + 0.5) / 30_000.0);
            thirtieths(&places.map(|u| trace.rtt.quantile(u)).collect::<Vec<_>>())
        }
    };
    for (place, (value, ours)) in published.da.iter().zip(&da).enumerate() {
        let name = format!("round-trip time: mean of thirtieth {}", place + 1);
        // Published in even milliseconds.
        let by = (SHARE * value).max(1.0);
        row(&name, "DA model (methods B.3)", Expected::Within { value: *value, by }, *ours);
    }
    let mean_of = da.iter().sum::<f64>() / da.len() as f64;
    row("round-trip time: mean of the thirtieths", "DA model (methods B.3)", near(published.da_mean), mean_of);
    let windows = [4_096.0, 8_192.0, 16_384.0, 32_768.0, 49_152.0, 65_535.0_f64];
    let at_them = windows.map(|bytes| trace.window.cdf(bytes) - trace.window.cdf(bytes.next_down()));
    let name = "windows: % at 4, 8, 16, 32, 48 and 64 KB";
    row(name, "Aikat 2010 (methods A.7)", percent(1.0), 100.0 * at_them.iter().sum::<f64>());

    let epochs = trace.epochs();
    row("epochs: mean", A, near(published.epochs[0]), epochs.mean);
    row("epochs: standard deviation", A, near(published.epochs[1]), epochs.deviation);
    let single = drawn.as_ref().map_or(epochs.single, |drawn| drawn.single);
    row("epochs: % of connections with one", A, percent(published.epochs[2]), 100.0 * single);
    let sizes = [
        ("response", &published.response, &trace.response, drawn.as_ref().map(|drawn| &drawn.responses)),
        (
            "concurrent ADU",
            &published.concurrent_adu,
            &trace.concurrent_adu,
            drawn.as_ref().map(|drawn| &drawn.concurrent),
        ),
    ];
    for (what, values, law, drawn) in sizes {
        for (value, u) in values.iter().zip([0.5, 0.8, 0.9]) {
            let name = if u == 0.5 { "bytes: median".to_owned() } else { format!("{} %", 100.0 * u) };
            row(&format!("{what}, {name}"), A, near(*value), quantile(law, drawn, u));
        }
        row(&format!("{what}, mean"), A, near(values[3]), mean(law));
    }
    let durations = trace.durations();
    let long = drawn.as_ref().map_or(
        [durations.long.acceptor, durations.long.initiator, trace.concurrent_wait.ccdf(0.5_f64.next_down())],
        |drawn| drawn.long,
    );
    for (what, (value, ours)) in ["for a response", "for the next request", "of concurrent connections"]
        .iter()
        .zip(published.long.iter().zip(long))
    {
        row(&format!("waits {what}: % of 500 ms and more"), "Aikat 2010 (methods A.5)", percent(*value), 100.0 * ours);
    }

    let c9 = "replay of Aikat 2010 (methods C.9), fitted by waits";
    row("response time, s: mean", c9, near(published.response_time[1]), durations.response);
    row("duration, s: mean", c9, near(published.duration[2]), durations.connection);
    let open = "methods C.4, Little's law";
    row("connections open at once", open, near(published.open), rate * durations.connection);
    if let Some(drawn) = &drawn {
        row("duration: 80 %", c9, shape(published.duration[0]), quantile(&trace.rtt, Some(&drawn.durations), 0.8));
        row("duration: 90 %", c9, shape(published.duration[1]), quantile(&trace.rtt, Some(&drawn.durations), 0.9));
        row(
            "response time: 90 %",
            c9,
            shape(published.response_time[0]),
            quantile(&trace.rtt, Some(&drawn.times), 0.9),
        );
        let departs = published.response_departs.map(ToOwned::to_owned);
        if let Some(last) = rows.last_mut() {
            last.departs = departs;
        }
    }
    rows
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
