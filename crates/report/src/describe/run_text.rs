//! Described runs for the terminal: below what `run` prints, at most 100 columns.

use std::fmt::Write as _;

use flowloom_core::units::three_digits;

use super::run::{Breakdown, DescribedRun};
use crate::dependence::{Dependence, HurstFit, Scaling, ScalingWarning, TrafficDependence, WithInterval};
use crate::marginals::Marginal;
use crate::metric::Unit;
use crate::steady::{JointWarmUp, RatioMean, SeriesSteadiness, Steady};
use crate::text::wrap;
use crate::words::{counted, thousands};

/// What stands where there is no number.
const NOTHING: &str = "–";

/// The tables of a run.
pub fn described_run_text(described: &DescribedRun) -> String {
    let mut text = String::new();
    breakdowns(&mut text, &described.breakdowns);
    marginals(&mut text, &described.marginals);
    network(&mut text, described);
    tails(&mut text, described);
    dependence(&mut text, &described.dependence);
    steady(&mut text, &described.steady);
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// What runs that differ in their seeds say together of their beginning; empty of one run.
pub fn joint_warm_up_text(warm_ups: &[JointWarmUp]) -> String {
    let mut text = String::new();
    for (index, joint) in warm_ups.iter().enumerate() {
        if index == 0 {
            let _ = writeln!(
                text,
                "\n{:34} {:>13} {:>15}",
                format!("warm-up, mean of {} runs", joint.runs),
                "MSER-5",
                "running mean"
            );
        }
        let [mser5, mean] = [joint.warm_up.mser5_ns, joint.warm_up.running_mean_ns].map(time);
        let _ = writeln!(text, "{:34} {mser5:>13} {mean:>15}", joint.metric.plural());
    }
    text
}

fn or_nothing(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), show)
}

fn time(nanos: Option<u64>) -> String {
    or_nothing(nanos.map(|nanos| nanos as f64), |nanos| Unit::Time.show(nanos))
}

fn probability(p: Option<f64>) -> String {
    or_nothing(p, |p| if p < 5e-4 { "<0.001".to_owned() } else { format!("{p:.3}") })
}

/// What a variable is called, and its unit.
fn variable(name: &str) -> (&'static str, Unit) {
    match name {
        "duration_ns" => ("durations", Unit::Time),
        "response_time_ns" => ("response times", Unit::Time),
        "round_trip_time_ns" => ("round-trip times", Unit::Time),
        "adu_bytes" => ("ADU sizes", Unit::Bytes),
        _ => ("response sizes", Unit::Bytes),
    }
}

/// One table for each variable, at the ends, or at the monitor if it was seen only there; the original stands above, and in JSON.
fn breakdowns(text: &mut String, all: &[Breakdown]) {
    let is_shown = |rows: &&[Breakdown]| match rows[0].measured_at {
        "monitor" => rows[0].variable == "adu_bytes",
        place => place == "endpoint",
    };
    let tables = all.chunk_by(|one, other| (one.variable, one.measured_at) == (other.variable, other.measured_at));
    for rows in tables.filter(is_shown) {
        let (name, unit) = variable(rows[0].variable);
        let at = if rows[0].measured_at == "endpoint" { "at the ends" } else { "at the monitor" };
        let head = format!("{name}, {at}");
        let _ = writeln!(
            text,
            "{head:35} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "n", "mean", "p50", "p80", "p90", "p99", "max"
        );
        // Of a pattern that all have there is nothing to add.
        let adds = |row: &&Breakdown| row.pattern == "all" || row.values.n < rows[0].values.n;
        for row in rows.iter().filter(adds) {
            let label = match (row.pattern, row.size) {
                ("all", "all") => "  all",
                ("all", "below_4_kb") => "  of connections below 4 kB",
                ("all", "4_kb_and_more") => "  of 4 kB and more",
                ("all", _) => "  of 1 MB and more",
                ("sequential", _) => "  sequential",
                _ => "  concurrent",
            };
            let values = &row.values;
            let _ = write!(text, "{label:35} {:>10}", thousands(values.n as u64));
            for value in values.shown() {
                let shown = value.map_or_else(|| "–".to_owned(), |value| unit.show_quantile(value));
                let _ = write!(text, " {shown:>8}");
            }
            text.push('\n');
        }
        text.push('\n');
    }
}

fn marginals(text: &mut String, all: &[Marginal]) {
    if all.is_empty() {
        return;
    }
    for (head, unit) in [("link, both directions, in bins of", Unit::Rate), ("the same in packets", Unit::PacketRate)] {
        let _ = writeln!(
            text,
            "{head:35} {:>9} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7}",
            "bins", "CoV", "mean", "sd", "p50", "p90", "max"
        );
        for one in all {
            let spread = if unit == Unit::Rate { &one.bits_per_second } else { &one.packets_per_second };
            // One unit for the row, that of its mean.
            let (scale, name) = scale(unit, spread.mean.unwrap_or(0.0));
            let width = Unit::Time.show(one.bin_ns as f64);
            let cov = or_nothing(spread.cov, |cov| format!("{cov:.3}"));
            let _ = write!(text, "  {width:33} {:>9} {cov:>6}", thousands(one.bins as u64));
            for value in [spread.mean, spread.sd, spread.p50, spread.p90, spread.max] {
                let _ = write!(text, " {:>7}", or_nothing(value, |value| three_digits(value / scale)));
            }
            let _ = writeln!(text, "  {name}");
        }
        text.push('\n');
    }
}

fn scale(unit: Unit, value: f64) -> (f64, String) {
    let (scale, prefix) =
        [(1e9, "G"), (1e6, "M"), (1e3, "k")].into_iter().find(|(scale, _)| value >= *scale).unwrap_or((1.0, ""));
    (scale, format!("{prefix}{}", if unit == Unit::Rate { "bit/s" } else { "p/s" }))
}

/// Links, drops and fairness.
fn network(text: &mut String, described: &DescribedRun) {
    const MOST: usize = 8;
    for (index, link) in described.links.iter().take(MOST).enumerate() {
        let rate = or_nothing(link.rate_bits_per_second.map(|rate| rate as f64), |rate| Unit::Rate.show(rate));
        let head = if index == 0 { "line busy" } else { "" };
        let (name, share) = (&link.link, Unit::Share.show(link.utilisation));
        let _ = writeln!(text, "{head:14} {share:>7}  {name}, {rate}");
    }
    if !described.links.is_empty() {
        wrap(text, "              ", "share of the window; a packet takes (IP bytes + 14) / rate");
        text.push('\n');
    }
    for (index, drop) in described.drops.iter().enumerate() {
        if index == 0 {
            let _ = writeln!(text, "{:35} {:>15} {:>15}", "dropped packets", "left to right", "right to left");
        }
        let name = format!("  {}, {}", drop.reason.replace('_', " "), drop.kind);
        let [left, right] = [drop.left_to_right_packets, drop.right_to_left_packets].map(thousands);
        let _ = writeln!(text, "{name:35} {left:>15} {right:>15}");
    }
    if !described.drops.is_empty() {
        text.push('\n');
    }
    for fair in &described.fairness {
        let index = or_nothing(fair.jain, |index| format!("{index:.4}"));
        let mean = or_nothing(fair.mean_goodput_bits_per_second, |mean| Unit::Rate.show(mean));
        let flows = counted(fair.n, "flow");
        let body = format!("{index} (Jain) over {flows} of {}, each over its lifetime, {mean} in the mean", fair.flows);
        wrap(text, "fairness      ", &body);
        let common = match fair.in_window {
            None => "fewer than two of them are active in all of the window: choose it with measure.window".to_owned(),
            Some(shared) => {
                let index = or_nothing(shared.jain, |index| format!("{index:.4}"));
                let mean = Unit::Bytes.show(shared.mean_bytes);
                let flows = counted(shared.flows, "flow");
                format!("{index} (Jain) over the {flows} that are active in all of the window, {mean} in the mean")
            }
        };
        wrap(text, "  in common   ", &common);
    }
    if !described.fairness.is_empty() {
        text.push('\n');
    }
}

fn tails(text: &mut String, described: &DescribedRun) {
    for (index, one) in described.tails.iter().enumerate() {
        if index == 0 {
            let _ = writeln!(
                text,
                "{:24} {:>11} {:>17} {:>11} {:>11} {:>19}",
                "tail", "k", "Hill's index", "from", "plot", "KS from Pareto"
            );
        }
        let (name, unit) = variable(one.variable);
        let Some((tail, pareto)) = one.tail.as_ref().zip(one.pareto) else {
            let _ = writeln!(text, "  {name:22} {NOTHING:>11} {:>17}", format!("{} values", thousands(one.n)));
            continue;
        };
        let index = format!("{:.2} +-{:.2}", tail.hill.alpha, 1.96 * tail.hill.standard_error);
        let plot = match tail.drift {
            _ if tail.level => "level",
            Some(drift) if !drift.is_certain() => "unclear",
            _ => "drifts",
        };
        let (k, from) = (thousands(tail.hill.k), unit.show(pareto.min));
        let _ =
            writeln!(text, "  {name:22} {k:>11} {index:>17} {from:>11} {plot:>11} {:>19}", format!("{:.3}", pareto.ks));
    }
    if !described.tails.is_empty() {
        text.push('\n');
    }
}

fn dependence(text: &mut String, dependence: &Dependence) {
    let points = [("original", &dependence.original), ("replay", &dependence.replay)];
    let scalings = points.into_iter().filter_map(|(name, found)| Some((name, found.as_ref()?)));
    let scalings: Vec<(String, &TrafficDependence, &Scaling)> = scalings
        .flat_map(|(name, found)| {
            [("packets", &found.packets), ("bytes", &found.bytes)]
                .map(|(what, one)| (format!("{name}, {what}"), found, one))
        })
        .collect();
    if scalings.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:20} {:>20} {:>18} {:>7} {:>17} {:>13}",
        "Hurst parameter of", "wavelets [95 %]", "time scales", "p", "local Whittle", "VT / R/S"
    );
    for (name, _, one) in &scalings {
        let Some(hurst) = one.hurst else {
            wrap(text, &format!("  {name:18}  "), one.unknown.as_deref().unwrap_or(NOTHING));
            continue;
        };
        let [first, last] = hurst.scales_ns.map(|nanos| Unit::Time.show(nanos as f64));
        let others = one.others.as_ref();
        let local =
            others.and_then(|others| others.local_whittle).map_or(NOTHING.to_owned(), |found| with_interval(&found));
        let [variance, range] =
            [others.and_then(|others| others.variance_time), others.and_then(|others| others.rescaled_range)]
                .map(|h| or_nothing(h, |h| format!("{h:.2}")));
        let _ = writeln!(
            text,
            "  {name:18} {:>20} {:>18} {:>7} {local:>17} {:>13}",
            with_interval(&WithInterval { h: hurst.h, interval: hurst.interval }),
            format!("{first}-{last}"),
            probability(hurst.p),
            format!("{variance} / {range}"),
        );
    }
    for (name, _, one) in scalings.iter().filter(|(_, _, one)| one.hurst.is_some()) {
        let fits: Vec<String> = one.fits.iter().map(fit_by_first).collect();
        wrap(text, "  ", &format!("p of {name} from {}", fits.join(", ")));
    }
    let warned: Vec<(&String, &ScalingWarning)> =
        scalings.iter().flat_map(|(name, _, one)| one.warnings.iter().map(move |warning| (name, warning))).collect();
    let mut told: Vec<&ScalingWarning> = Vec::new();
    for (_, warning) in &warned {
        if !told.contains(warning) {
            told.push(warning);
            let names: Vec<&str> =
                warned.iter().filter(|(_, other)| other == warning).map(|(name, _)| name.as_str()).collect();
            wrap(text, "  note: ", &format!("{}: {warning}", names.join("; ")));
        }
    }
    text.push('\n');
}

fn fit_by_first(fit: &HurstFit) -> String {
    let scale = Unit::Time.show(fit.scales_ns[0] as f64);
    format!("{scale} {}", probability(fit.p))
}

fn with_interval(found: &WithInterval) -> String {
    format!("{:.2} [{:.2}, {:.2}]", found.h, found.interval.low, found.interval.high)
}

fn steady(text: &mut String, steady: &Steady) {
    if !steady.series.is_empty() {
        let _ = writeln!(
            text,
            "{:31} {:>8} {:>8} {:>13} {:>27} {:>8}",
            "steady", "drift", "MSER-5", "running mean", "mean +- (95 %)", "lag 1"
        );
        steady.series.iter().for_each(|series| one_series(text, series));
    }
    let length = &steady.run_length;
    if length.completed_responses > 0 {
        let rules = &length.rules;
        let share = |cov: Option<f64>| or_nothing(cov, |cov| Unit::Share.show(cov));
        let body = format!(
            "{} by the published rules: {}; 90th percentile of sizes varies by {} ({} of late), 99th {}, largest begun {}",
            if rules.long_enough { "long enough" } else { "too short" },
            counted(rules.responses, "response"),
            share(rules.p90_cov),
            share(rules.p90_cov_last_50),
            or_nothing(rules.p99_bytes, |bytes| Unit::Bytes.show(bytes)),
            Unit::Bytes.show(rules.largest_bytes as f64)
        );
        wrap(text, "run length    ", &body);
    }
    let found = &steady.regeneration;
    if let Some(share) = found.empty_share {
        let mut parts = vec![format!("all queues empty at {} of the looks", Unit::Share.show(share))];
        if let Some(length) = found.mean_cycle_ns {
            parts.push(format!("{} of {}", counted(found.cycles as u64, "cycle"), Unit::Time.show(length)));
        }
        let queues = [("left", found.queue_left_to_right_packets), ("right", found.queue_right_to_left_packets)];
        parts.extend(
            queues.into_iter().filter_map(|(side, mean)| Some(format!("queue from the {side} {}", ratio(&mean?)))),
        );
        wrap(text, "regeneration  ", &parts.join("; "));
    }
}

fn one_series(text: &mut String, series: &SeriesSteadiness) {
    let unit = series.metric.unit();
    let drift = or_nothing(series.drift, |drift| Unit::Share.show(drift));
    let [mser5, mean] = [series.warm_up.mser5_ns, series.warm_up.running_mean_ns].map(time);
    let (batches, lag) = series.batch_means.as_ref().map_or((NOTHING.to_owned(), NOTHING.to_owned()), |means| {
        let half = (means.interval.high - means.interval.low) / 2.0;
        (format!("{} +-{}", unit.show(means.mean), unit.show(half)), format!("{:.2}", means.lag_1_autocorrelation))
    });
    let _ = writeln!(text, "  {:29} {drift:>8} {mser5:>8} {mean:>13} {batches:>27} {lag:>8}", series.metric.plural());
}

fn ratio(mean: &RatioMean) -> String {
    let [low, high] = [mean.interval.low.max(0.0), mean.interval.high].map(three_digits);
    format!("{} [{low}, {high}] packets", three_digits(mean.mean))
}
