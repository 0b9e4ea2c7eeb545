//! The reference workloads beside the published statistics of the two traces (methods A.14): `docs/evidence/references.md`.

mod drawn;
mod published;

use flowloom_core::distribution::Distribution;
use flowloom_core::time::Duration;
use flowloom_core::workload::Side;
use flowloom_models::generate::reference::{Arrivals, Sequential, Trace, Wire};
use flowloom_models::lrd::hurst;
use flowloom_models::{Approximation, discrete_approximation};

use crate::check::{Effort, Expected, Row};

use drawn::{Drawn, Model};
use published::{Published, published};

const HOUR: f64 = 3_600.0;
/// What quantiles and shares are held to, means, and loads.
const SHARE: f64 = 0.05;
const MEAN: f64 = 0.1;
const LOAD: f64 = 0.02;

/// The rows of both workloads. Those of round-trip times and of whole connections are of connections that were drawn; others are
/// integrals and quantiles of the distributions. The quick form has only the latter.
pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let mut rows: Vec<Row> = published().iter().flat_map(|published| of(published, effort)).collect();
    rows.extend(arrivals(effort));
    rows
}

fn of(published: &Published, effort: Effort) -> Vec<Row> {
    let mut table = Table::new(published, effort);
    table.add_epochs();
    table.add_sizes();
    table.add_waits();
    table.add_concurrent();
    table.add_round_trips();
    table.add_windows();
    table.add_connection_sizes();
    table.add_durations();
    table.add_load();
    table.add_activity();
    table.add_classes();
    table.rows
}

/// The source of the published numbers: a table of methods A.14 where nothing else is said.
const A14: &str = "methods A.14";

fn near(value: f64) -> Expected {
    Expected::Near { value, share: SHARE }
}

fn percent(share: f64) -> Expected {
    near(100.0 * share)
}

fn about(value: f64) -> Expected {
    Expected::Near { value, share: MEAN }
}

fn mean(law: &Distribution) -> f64 {
    law.mean().unwrap_or(f64::NAN)
}

/// A quantile of sorted values (methods C.7).
fn quantile(values: &[f64], u: f64) -> f64 {
    values[((u * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1]
}

/// A quantile of the drawn values, or of the distribution if there are none.
fn drawn_or(law: &Distribution, drawn: Option<&Vec<f64>>, u: f64) -> f64 {
    drawn.map_or_else(|| law.quantile(u), |values| quantile(values, u))
}

/// The share of sorted values of `from` and more.
fn from(values: &[f64], from: f64) -> f64 {
    1.0 - values.partition_point(|value| *value < from) as f64 / values.len() as f64
}

/// The rows of one workload as they are made.
struct Table<'a> {
    published: &'a Published,
    trace: &'a Trace,
    drawn: Option<Drawn>,
    /// Traffic from the left and from the right of the link, of a sequential connection and of a concurrent one of either class.
    wires: [[Wire; 2]; 3],
    rows: Vec<Row>,
}

impl<'a> Table<'a> {
    fn new(published: &'a Published, effort: Effort) -> Table<'a> {
        let trace = &published.trace;
        let drawn = match effort {
            Effort::Full => Some(Drawn::new(trace)),
            Effort::Quick => None,
        };
        let [complete, incomplete] = &trace.concurrent;
        let wires = [trace.sequential_wire(), trace.concurrent_wire(complete), trace.concurrent_wire(incomplete)];
        Table { published, trace, drawn, wires, rows: Vec::new() }
    }

    fn add(&mut self, name: &str, expected: Expected, ours: f64) {
        self.add_of(name, A14, expected, ours);
    }

    /// A row that is off for a reason that is known, and by no more than is known, has that.
    fn add_of(&mut self, name: &str, source: &str, expected: Expected, ours: f64) {
        let mut row = Row::new(self.published.name, name, source, expected, ours);
        let known = self.published.departs.iter().find(|known| known.rows.iter().any(|start| name.starts_with(start)));
        row.departs = known.filter(|known| !row.passes() && known.covers(&row)).map(|known| known.why.to_owned());
        self.rows.push(row);
    }

    /// The sum over the classes of a part of a connection, by shares of all connections.
    fn sum(&self, what: impl Fn(&[Wire; 2]) -> f64) -> [f64; 3] {
        let [complete, incomplete] = &self.trace.concurrent;
        let shares = [self.trace.sequential.share, complete.share, incomplete.share];
        [0, 1, 2].map(|class| shares[class] * what(&self.wires[class]))
    }

    fn add_epochs(&mut self) {
        let (published, sequential) = (self.published, &self.trace.sequential);
        let epochs = sequential.epochs();
        let at_least = |count| 100.0 * sequential.at_least(count);
        let exchanges = HOUR * self.trace.connections_per_second * sequential.share * epochs.mean / 1e6;
        self.add("epochs: mean", about(published.epochs.mean), epochs.mean);
        self.add("epochs: standard deviation", about(published.epochs.deviation), epochs.deviation);
        self.add("epochs: % of connections with one", percent(published.epochs.single), 100.0 * sequential.single);
        self.add("epochs: 90 %", near(published.epochs.at_90), count_at(sequential, 0.9));
        self.add("epochs: top 3 % from", near(published.epochs.at_97), count_at(sequential, 0.97));
        self.add("epochs: % of connections with 12 and more", percent(published.epochs.twelve), at_least(12));
        self.add("epochs: % of connections with 1000 and more", percent(published.epochs.thousand), at_least(1_000));
        let expected = Expected::Near { value: published.exchanges, share: LOAD };
        self.add("exchanges in the hour, millions", expected, exchanges);
    }

    fn add_sizes(&mut self) {
        let (published, trace) = (self.published, self.trace);
        let sizes = &trace.sequential.sizes;
        let found = [("request", &sizes.initiator.law), ("response", &sizes.acceptor.law)].into_iter();
        let found = found.chain([("concurrent ADU", &trace.concurrent_adu)]).enumerate().map(|(which, (name, law))| {
            (name, published.sizes[which], [0.5, 0.8, 0.9].map(|u| law.quantile(u).round()), mean(law))
        });
        for (name, values, ours, mean) in found.collect::<Vec<_>>() {
            for ((value, place), ours) in values.iter().zip(["bytes: median", "80 %", "90 %"]).zip(ours) {
                self.add(&format!("{name}, {place}"), near(*value), ours);
            }
            self.add(&format!("{name}, mean"), about(values[3]), mean);
        }
    }

    /// Waits as a monitor sees them: of the law, but not below the transit. A few connections have a good part of all waits, so that
    /// quantiles of drawn ones would miss; means are of drawn ones, which no hour of waits exceeds.
    fn add_waits(&mut self) {
        let trace = self.trace;
        let waits = &trace.sequential.waits;
        let laws = [&waits.acceptor.law, &waits.initiator.law, &trace.concurrent_wait];
        for (which, what) in ["intra-epoch wait", "inter-epoch wait", "concurrent wait"].into_iter().enumerate() {
            let below = |wait: f64| {
                let transit = if which == 2 { 1.0 } else { trace.rtt.cdf(2e3 * wait) };
                laws[which].cdf(wait) * transit
            };
            let at = |u: f64| {
                let halve = |(low, high): (f64, f64), _| {
                    let middle = 0.5 * (low + high);
                    if below(middle) < u { (middle, high) } else { (low, middle) }
                };
                (0..60).fold((0.0, HOUR), halve).1
            };
            let values = self.published.waits[which];
            for ((value, place), u) in values.iter().zip(["s: median", "80 %", "90 %"]).zip([0.5, 0.8, 0.9]) {
                self.add(&format!("{what}, {place}"), near(*value), at(u));
            }
            let long = 100.0 * (1.0 - below(0.5_f64.next_down()));
            self.add(&format!("{what}, % of 500 ms and more"), percent(values[4]), long);
            if let Some(drawn) = &self.drawn {
                let mean = drawn.waits[which];
                self.add(&format!("{what}, mean"), about(values[3]), mean);
            }
        }
    }

    fn add_concurrent(&mut self) {
        let [sequential, complete, incomplete] = self.sum(|wire| wire[0].bytes + wire[1].bytes);
        let all = sequential + complete + incomplete;
        let share = 1.0 - self.trace.sequential.share;
        let kept = 1.0 - self.published.left_out_bytes;
        self.add(
            "concurrent connections in the hour",
            near(self.published.concurrent),
            HOUR * self.trace.connections_per_second * share,
        );
        let bytes = percent(self.published.concurrent_bytes);
        self.add("concurrent connections, % of the bytes", bytes, 100.0 * kept * (complete + incomplete) / all);
    }

    /// Round-trip times, and the thirty values of the DA model.
    fn add_round_trips(&mut self) {
        let (published, law) = (self.published, &self.trace.rtt);
        let rtts = self.drawn.as_ref().map(|drawn| &drawn.rtts);
        let (median, high) = (drawn_or(law, rtts, 0.5), drawn_or(law, rtts, 0.97));
        let da = match rtts {
            Some(values) => thirtieths(values),
            None => {
                let places = (0..30_000).map(|at| (f64::from(at) + 0.5) / 30_000.0);
                thirtieths(&places.map(|u| law.quantile(u)).collect::<Vec<_>>())
            }
        };
        let deviation = law.deviation().unwrap_or(f64::NAN);
        self.add("round-trip time, ms: mean", near(published.rtt[0]), mean(law));
        self.add("round-trip time: standard deviation", near(published.rtt[1]), deviation);
        self.add("round-trip time: median", near(published.rtt[2]), median);
        self.add("round-trip time: 97 %", near(published.rtt[3]), high);
        let source = "DA model (methods B.3)";
        for (place, (value, ours)) in published.da.iter().zip(&da).enumerate() {
            let name = format!("round-trip time: mean of thirtieth {}", place + 1);
            // Published in even milliseconds.
            let by = (SHARE * value).max(1.0);
            self.add_of(&name, source, Expected::Within { value: *value, by }, *ours);
        }
        let mean_of = da.iter().sum::<f64>() / da.len() as f64;
        self.add_of("round-trip time: mean of the thirtieths", source, near(published.da_mean), mean_of);
    }

    fn add_windows(&mut self) {
        let all = |side: Side, large: usize, bytes: f64| 100.0 * self.trace.windows[large][side].cdf(bytes);
        let mut rows = Vec::new();
        for (side, name) in Side::BOTH.into_iter().zip(["initiators", "acceptors"]) {
            let published = self.published.windows[side as usize];
            rows.push((format!("64 KB window, % of {name}"), published[0], 100.0 - all(side, 0, 65_534.0)));
            if let [_, Some(small), Some(of_large)] = published.map(|share| (share > 0.0).then_some(share)) {
                rows.push((format!("window below 8 KB, % of {name}"), small, all(side, 0, 8_191.0)));
                let name = format!("window below 8 KB, % of {name} of connections above 1 MB");
                rows.push((name, of_large, all(side, 1, 8_191.0)));
            }
        }
        for (name, share, ours) in rows {
            self.add(&name, percent(share), ours);
        }
    }

    fn add_connection_sizes(&mut self) {
        let (Some(published), Some(drawn)) = (&self.published.connections, &self.drawn) else { return };
        let sizes: Vec<f64> = drawn.connections.iter().map(|connection| connection.bytes).collect();
        let ours = [
            ("< 4 KB, %", percent(published.small), 100.0 * (1.0 - from(&sizes, 4_000.0))),
            ("> 1 MB, %", percent(published.large), 100.0 * from(&sizes, 1_000_001.0)),
            ("90 %", near(published.at_90), quantile(&sizes, 0.9)),
            ("median", near(published.median), quantile(&sizes, 0.5)),
        ];
        for (name, expected, ours) in ours {
            self.add(&format!("connection size, bytes: {name}"), expected, ours);
        }
        let trace = self.trace;
        let each = trace.concurrent.iter().map(|of| of.share * 2.0 * of.adus() * mean(&trace.concurrent_adu));
        let of = &trace.sequential;
        let epoch = mean(&of.sizes.initiator.law) + mean(&of.sizes.acceptor.law);
        let ours = of.share * of.epochs().mean * epoch + each.sum::<f64>();
        self.add("connection size, bytes: mean", about(published.mean), ours);
    }

    /// Times to the last byte by sizes and windows, on a network that loses nothing and is never full.
    fn add_durations(&mut self) {
        let (Some(published), Some(drawn)) = (&self.published.connections, &self.drawn) else { return };
        let of = |model: usize, least: f64, most: f64| {
            let within = drawn.connections.iter().filter(|one| one.bytes >= least && one.bytes < most);
            let mut times: Vec<f64> = within.map(|one| one.last_byte[model]).collect();
            times.sort_by(f64::total_cmp);
            times
        };
        let limits =
            [("< 4 KB", 0.0, 4_000.0), ("> 4 KB", 4_000.0, f64::INFINITY), ("> 1 MB", 1_000_001.0, f64::INFINITY)];
        let mut rows = Vec::new();
        for (class, (name, least, most)) in limits.into_iter().enumerate() {
            for (model, window) in Model::ALL.into_iter().enumerate() {
                let times = of(model, least, most);
                let window = window.name();
                let [mean, median] = published.durations[class][model];
                let ours = times.iter().sum::<f64>() / times.len() as f64;
                rows.push((format!("duration, {name}, {window}, s: mean"), about(mean), ours));
                rows.push((format!("duration, {name}, {window}, s: median"), near(median), quantile(&times, 0.5)));
            }
            if let Some([below, over]) = published.shares.get(class) {
                let times = of(Model::KB64, least, most);
                let (short, long) = (100.0 * (1.0 - from(&times, 0.5)), 100.0 * from(&times, 3.0));
                rows.push((format!("duration, {name}, 64 KB, % below 500 ms"), percent(*below), short));
                rows.push((format!("duration, {name}, 64 KB, % over 3 s"), percent(*over), long));
            }
        }
        for (name, expected, ours) in rows {
            self.add(&name, expected, ours);
        }
    }

    /// Rates in both directions.
    fn add_load(&mut self) {
        let (published, rate) = (self.published, self.trace.connections_per_second);
        let both = |what: fn(&Wire) -> f64| {
            let mut both = [0, 1].map(|side| self.sum(|wire| what(&wire[side])).iter().sum::<f64>());
            both.sort_by(|a, b| b.total_cmp(a));
            both
        };
        let (load, packets) = (both(|wire| wire.bytes), both(|wire| wire.packets));
        let expected = published.load.map(|value| Expected::Near { value, share: LOAD });
        self.add("Mbit/s in the busier direction", expected[0], 8e-6 * rate * load[0]);
        self.add("Mbit/s in the other", expected[1], 8e-6 * rate * load[1]);
        let name = "thousand packets a second, busier direction";
        self.add_of(name, "replay, methods C.9", about(published.packets), 1e-3 * rate * packets[0]);
    }

    /// Active connections by presence, before and after 32 minutes of the hour.
    fn add_activity(&mut self) {
        let Some(drawn) = &self.drawn else { return };
        let [before, after] = drawn.active;
        let mean = (32.0 * before + 28.0 * after) / 60.0;
        self.add_of("active connections, presence: mean", "methods C.4", near(self.published.active), mean);
        match self.published.around {
            Some(around) => {
                self.add("active connections, presence: before 32 minutes", near(around[0]), before);
                self.add("active connections, presence: after 32 minutes", near(around[1]), after);
            }
            None => {
                self.add("active connections: after 32 minutes over before (stationary)", near(1.0), after / before)
            }
        }
    }

    /// Classes: not in A.14.
    fn add_classes(&mut self) {
        const A2: &str = "methods A.2";
        let kept = 100.0 * (1.0 - self.published.left_out);
        let [_, _, concurrent] = self.sum(|wire| wire[0].bytes + wire[1].bytes);
        let all: f64 = self.sum(|wire| wire[0].bytes + wire[1].bytes).iter().sum();
        let kept_bytes = 100.0 * (1.0 - self.published.left_out_bytes);
        let (ours, bytes) = (self.trace.concurrent[1].share, concurrent / all);
        let [connections, share] = self.published.incomplete_concurrent.map(percent);
        self.add_of("incomplete concurrent, % of the trace's connections", A2, connections, kept * ours);
        self.add_of("incomplete concurrent, % of the bytes", A2, share, kept_bytes * bytes);
        let Some(drawn) = &self.drawn else { return };
        let [connections, share] = self.published.complete_sequential.map(percent);
        let ours = drawn.complete.map(|share| share * self.trace.sequential.share);
        let sequential = self.sum(|wire| wire[0].bytes + wire[1].bytes)[0] / all;
        let bytes = kept_bytes * drawn.complete[1] * sequential;
        self.add_of("complete sequential, % of the trace's connections", A2, connections, kept * ours[0]);
        self.add_of("complete sequential, % of the bytes (drawn)", A2, share, bytes);
    }
}

/// The number of epochs that a share `u` of the connections do not exceed.
fn count_at(sequential: &Sequential, u: f64) -> f64 {
    (1..).find(|count| sequential.at_least(count + 1) <= 1.0 - u).map_or(f64::NAN, |count: usize| count as f64)
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
