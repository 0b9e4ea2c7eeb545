//! Rows from folders of sweeps: from what each run says of itself, and from its tables of connections and of the queue.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_report::statistics::Sample;
use flowloom_report::sweep::Curve;
use flowloom_store::run_folder::{ConnectionRow, RunFolder};
use serde_json::{Map, Value};

use super::cells::{CellRow, Key, Network};
use super::over_time;
use super::prepare::Origin;

/// Quantiles that a row keeps of durations and of response times, in percent.
pub const PERCENTILES: [u32; 20] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 99];

/// Times of which a row keeps the shares of durations and of responses that are no longer, in milliseconds.
const LIMITS_MS: [u32; 6] = [80, 125, 160, 500, 1_000, 3_000];

/// Sizes of connections, in bytes of payload both ways: at least, and below.
const SIZES: [(&str, u64, u64); 3] =
    [("below_4kb", 0, 4_000), ("from_4kb", 4_000, u64::MAX), ("from_1mb", 1_000_000, u64::MAX)];

/// Packets that a queue has at least, of which a row keeps the share of the time.
const LENGTHS: [u64; 2] = [1_000, 10_000];

/// The runs of a sweep that have ended, the sweep itself may go on.
///
/// # Errors
/// A folder cannot be read, or is not what a sweep with tables of connections and the queue leaves.
pub fn collect(sweep: &Path) -> Result<Vec<CellRow>, String> {
    let cells = sweep.join("cells");
    let failed = |error: std::io::Error| format!("{}: {error}", cells.display());
    let mut folders = Vec::new();
    for entry in fs::read_dir(&cells).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // Others are being made.
        if path.join("cell.json").exists() && path.extension().is_none() {
            folders.push(path);
        }
    }
    folders.sort();
    let rows = folders.iter().map(|folder| row(folder).map_err(|why| format!("{}: {why}", folder.display())));
    rows.filter_map(Result::transpose).collect()
}

/// The row of a run; `None` of the one that a sweep over files makes of a file without the experiment, whose link has no rate.
fn row(folder: &Path) -> Result<Option<CellRow>, String> {
    let run = RunFolder::open(folder).map_err(|error| error.to_string())?;
    let facts = run.run();
    let keys = keys(facts)?;
    if text_at(&keys, &["network", "bottleneck", "rate"])? == "auto" {
        return Ok(None);
    }
    let key = key(facts, &keys)?;
    let summary = facts.get("summary").ok_or("it has no summary")?;
    let mut numbers = of_summary(summary)?;
    if word(facts.get("verdict").and_then(|verdict| verdict.pointer("/accounted/word"))) != "VALID" {
        return Err("it is not VALID".to_owned());
    }
    let text = fs::read_to_string(folder.join("cell.json")).map_err(|error| format!("cell.json: {error}"))?;
    let cell: Value = serde_json::from_str(&text).map_err(|error| format!("cell.json: {error}"))?;
    if let Some(curve) = cell.pointer("/cell/curves/response_time_ms") {
        let curve: Curve = serde_json::from_value(curve.clone()).map_err(|error| format!("cell.json: {error}"))?;
        numbers.extend(of_responses(&curve));
    }
    let window = window(facts)?;
    numbers.extend(of_connections(&run, window)?);
    numbers.extend(of_queue(&run, window, heavier(summary))?);
    numbers.extend(over_time::numbers(&run, heavier(summary), length(facts)?)?);
    if let Some(wall) = run.host().get("wall_ns").and_then(Value::as_f64) {
        numbers.insert("wall_s".to_owned(), wall / 1e9);
    }
    Ok(Some(CellRow { key, numbers }))
}

/// The experiment of a run.
fn keys(facts: &Map<String, Value>) -> Result<toml::Table, String> {
    let text = facts.get("experiment").and_then(Value::as_str).ok_or("it does not say its experiment")?;
    text.parse().map_err(|error| format!("its experiment: {error}"))
}

fn value_at<'a>(keys: &'a toml::Table, path: &[&str]) -> Result<&'a toml::Value, String> {
    let mut found = keys.get(path[0]);
    for name in &path[1..] {
        found = found.and_then(|value| value.get(name));
    }
    found.ok_or_else(|| format!("its experiment has no {}", path.join(".")))
}

fn text_at(keys: &toml::Table, path: &[&str]) -> Result<String, String> {
    value_at(keys, path).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn key(facts: &Map<String, Value>, keys: &toml::Table) -> Result<Key, String> {
    let at = |path: &[&str]| value_at(keys, path);
    let name = |path: &[&str]| text_at(keys, path);
    let rate = name(&["network", "bottleneck", "rate"])?;
    let seed = facts.get("seed").and_then(Value::as_u64).ok_or("it does not say its seed")?;
    let Origin { mut workload, scale, seed, .. } = origin(keys, seed)?;
    if name(&["workload", "cut"]).is_ok_and(|cut| cut == "none") && at(&["workload", "model"]).is_ok() {
        workload.push_str(", from empty");
    }
    if facts.get("driver").and_then(Value::as_str) == Some("live") {
        workload.push_str(", live");
    }
    for source in keys.get("sources").and_then(toml::Value::as_array).into_iter().flatten() {
        let word = |key: &str| source.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        workload = format!("{workload} + {} {}", word("kind"), word("rate"));
    }
    Ok(Key {
        workload,
        scale,
        network: if rate == "1gbit" { Network::Unconstrained } else { Network::Constrained },
        structure: name(&["workload", "structure"])?,
        rtt: match at(&["workload", "rtt", "paths"]) {
            Ok(paths) => format!("{paths} paths"),
            Err(_) => name(&["workload", "rtt"])?,
        },
        window: name(&["workload", "window"])?,
        waits: format!("{} {}", name(&["workload", "waits", "min"])?, name(&["workload", "waits", "correct"])?),
        queue: queue(
            &name(&["network", "bottleneck", "queue", "kind"])?,
            name(&["network", "bottleneck", "queue", "limit"]).ok(),
        ),
        minutes: minutes(&name(&["measure", "duration"])?)?,
        seed,
    })
}

/// What is replayed: a model, or what is left of one in a file, which says so by its name. `drawn` is the seed of the run.
fn origin(keys: &toml::Table, drawn: u64) -> Result<Origin, String> {
    let workload = keys.get("workload").ok_or("its experiment has no workload")?;
    let text = |value: Option<&toml::Value>| value.and_then(toml::Value::as_str).map(str::to_owned);
    if let Some(file) = text(workload.get("source")) {
        let of = Origin::of_file(&file)?;
        return Ok(Origin { workload: format!("{}, {}", of.workload, of.part), ..of });
    }
    let model = workload.get("model").ok_or("its experiment has neither a source nor a model")?;
    if let Some(file) = text(model.get("config")) {
        let of = Origin::of_file(&file)?;
        // The default is not written.
        let draw = text(model.get("draw")).unwrap_or_else(|| "independent".to_owned());
        return Ok(Origin { workload: format!("{}, {} {draw}", of.workload, of.part), seed: drawn, ..of });
    }
    let scale = model.get("scale").ok_or("its model has no scale")?;
    let scale = scale.as_float().or_else(|| scale.as_integer().map(|whole| whole as f64));
    Ok(Origin {
        workload: text(model.get("kind")).ok_or("its model has no kind")?,
        scale: scale.ok_or("its scale is no number")?,
        part: String::new(),
        seed: drawn,
    })
}

fn queue(kind: &str, limit: Option<String>) -> String {
    limit.map_or_else(|| kind.to_owned(), |limit| format!("{kind} {limit}"))
}

fn minutes(duration: &str) -> Result<u64, String> {
    let (number, unit) =
        (duration.trim_end_matches(char::is_alphabetic), duration.trim_start_matches(char::is_numeric));
    let number: u64 = number.parse().map_err(|_| format!("its duration is {duration:?}"))?;
    match unit {
        "min" => Ok(number),
        "h" => Ok(60 * number),
        _ => Err(format!("its duration is {duration:?}, not of minutes")),
    }
}

/// For how long connections start.
fn length(facts: &Map<String, Value>) -> Result<Duration, String> {
    let nanos = facts.get("original").and_then(|original| original.get("duration_ns")).and_then(Value::as_u64);
    nanos.map(Duration::from_nanos).ok_or_else(|| "it does not say how long it is".to_owned())
}

fn window(facts: &Map<String, Value>) -> Result<(Time, Time), String> {
    let at = |place: usize| facts.get("window_ns").and_then(|window| window.get(place)).and_then(Value::as_u64);
    match (at(0), at(1)) {
        (Some(from), Some(to)) => Ok((Time::ZERO + Duration::from_nanos(from), Time::ZERO + Duration::from_nanos(to))),
        _ => Err("it does not say its window".to_owned()),
    }
}

fn word(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn number(summary: &Value, pointer: &str) -> Option<f64> {
    summary.pointer(pointer).and_then(Value::as_f64)
}

/// What a summary calls the direction of packets from a side.
fn direction(from: LinkSide) -> &'static str {
    match from {
        LinkSide::Left => "left_to_right",
        LinkSide::Right => "right_to_left",
    }
}

/// The side from which more bytes come.
fn heavier(summary: &Value) -> LinkSide {
    let mean = |from: LinkSide| number(summary, &format!("/throughput/{}_bits_per_second/mean", direction(from)));
    if mean(LinkSide::Left) > mean(LinkSide::Right) { LinkSide::Left } else { LinkSide::Right }
}

/// What the summary of the run has: the direction with more bytes is `heavy`, the other one `light`.
fn of_summary(summary: &Value) -> Result<BTreeMap<String, f64>, String> {
    let mut numbers: BTreeMap<String, f64> = BTreeMap::new();
    let mut take = |name: &str, pointer: &str, unit: f64| {
        numbers.extend(number(summary, pointer).map(|value| (name.to_owned(), value / unit)));
    };
    let heavy = direction(heavier(summary));
    let directions = [("heavy", heavy), ("light", direction(heavier(summary).other()))];
    for (name, direction) in directions {
        take(&format!("throughput_{name}_mbps"), &format!("/throughput/{direction}_bits_per_second/mean"), 1e6);
        take(&format!("hurst_packets_{name}"), &format!("/{direction}/hurst_packets/h"), 1.0);
        let rates = summary.pointer(&format!("/{direction}/rates")).and_then(Value::as_array);
        for (place, rate) in rates.into_iter().flatten().enumerate() {
            let bin_s = rate.get("bin_ns").and_then(Value::as_f64).unwrap_or_default() / 1e9;
            let at = |field: &str| format!("/{direction}/rates/{place}/{field}");
            if bin_s == 1.0 {
                take(&format!("packet_rate_{name}_kpps"), &at("packets_per_second/mean"), 1e3);
            }
            if bin_s >= 1.0 {
                take(&format!("packet_rate_sd_{bin_s}s_{name}_kpps"), &at("packets_per_second/sd"), 1e3);
                take(&format!("throughput_sd_{bin_s}s_{name}_mbps"), &at("bits_per_second/sd"), 1e6);
            }
        }
    }
    for (name, direction) in directions {
        for (end, of) in ["low", "high"].into_iter().enumerate() {
            take(&format!("hurst_packets_{name}_{of}"), &format!("/{direction}/hurst_packets/interval/{end}"), 1.0);
        }
    }
    take("queue_empty_share", &format!("/{heavy}/queue_empty_share"), 1.0);
    take("loss_share", &format!("/{heavy}/queue_delay/loss_share"), 1.0);
    take("queue_sd_packets", &format!("/{heavy}/queue_packets_sd"), 1.0);
    for name in ["p50", "mean", "p80", "p90", "p99", "max"] {
        take(&format!("queue_{name}_packets"), &format!("/{heavy}/queue_packets/{name}"), 1.0);
    }
    for name in ["p50", "p80", "p90", "mean"] {
        take(&format!("last_byte_{name}_ms"), &format!("/time_to_last_byte_ns/{name}"), 1e6);
        take(&format!("response_{name}_ms"), &format!("/response_time_ns/{name}"), 1e6);
    }
    take("presence_mean", "/active_connections_in_seconds/mean", 1.0);
    take("presence_p50", "/active_connections_in_seconds/p50", 1.0);
    take("instant_mean", "/active_connections/mean", 1.0);
    take("rate_mbps", "/rate_bits_per_second", 1e6);
    take("packets", "/packets", 1.0);
    take("connections", "/connections/started", 1.0);
    if numbers.contains_key("last_byte_p50_ms") {
        Ok(numbers)
    } else {
        Err("its summary has no times to the last byte".to_owned())
    }
}

/// Of exchanges, from their quantiles by the percent.
fn of_responses(curve: &Curve) -> Vec<(String, f64)> {
    let points: Vec<(f64, f64)> = Curve::probabilities().zip(curve.quantiles.iter().copied()).collect();
    let at = |percent: u32| {
        points.iter().find(|(p, _)| (p * 100.0 - f64::from(percent)).abs() < 0.01).map(|(_, value)| *value)
    };
    let kept = PERCENTILES.iter().filter_map(|percent| Some((format!("response_q{percent:02}_ms"), at(*percent)?)));
    let shares = LIMITS_MS.iter().map(|limit| {
        let below = points.iter().take_while(|(_, value)| *value <= f64::from(*limit)).last();
        (format!("response_within_{limit}ms_share"), below.map_or(0.0, |(p, _)| *p))
    });
    kept.chain(shares).collect()
}

/// Of connections that began in the window: times from the SYN to the last byte, all and by size. Unfinished ones are longer than any.
fn of_connections(run: &RunFolder, (from, to): (Time, Time)) -> Result<Vec<(String, f64)>, String> {
    let mut times: Vec<(u64, Time, Option<Time>)> = Vec::new();
    for row in run.connections().map_err(|error| error.to_string())? {
        let row: ConnectionRow = row.map_err(|error| error.to_string())?;
        let bytes = row.initiator_bytes + row.acceptor_bytes;
        let Some(began) = row.syn_sent.filter(|at| (from..to).contains(at) && bytes > 0) else { continue };
        let all_came = row.delivered_to_acceptor_bytes + row.delivered_to_initiator_bytes >= bytes;
        times.push((bytes, began, row.last_data.filter(|_| all_came)));
    }
    let in_millis = |began: Time, end: Time| end.since(began).as_secs_f64() * 1e3;
    let ended = |sizes: Range<u64>| {
        let of = times.iter().filter(move |(bytes, ..)| sizes.contains(bytes));
        Sample::new(of.filter_map(|(_, began, end)| Some(in_millis(*began, (*end)?))))
    };
    // Those that did not end were seen until the end of the window at least.
    let all = |sizes: Range<u64>| {
        let open = times.iter().filter(|(bytes, _, end)| sizes.contains(bytes) && end.is_none());
        let seen: Vec<f64> = open.map(|(_, began, _)| in_millis(*began, to)).collect();
        ended(sizes).with_unfinished(&seen)
    };
    let of_all = all(0..u64::MAX);
    let mut numbers: Vec<(String, f64)> = Vec::new();
    let mut take = |name: String, value: Option<f64>| numbers.extend(value.map(|value| (name, value)));
    for percent in PERCENTILES {
        take(format!("last_byte_q{percent:02}_ms"), of_all.quantile(f64::from(percent) / 100.0));
    }
    for limit in LIMITS_MS {
        take(format!("last_byte_within_{limit}ms_share"), of_all.cdf(f64::from(limit)));
    }
    for (name, least, below) in SIZES {
        let of = all(least..below);
        take(format!("{name}_connections"), Some(of.len() as f64));
        take(format!("{name}_last_byte_p50_ms"), of.quantile(0.5));
        take(format!("{name}_last_byte_mean_ended_ms"), ended(least..below).mean());
        take(format!("{name}_unended_share"), (!of.is_empty()).then(|| of.unfinished() as f64 / of.len() as f64));
        for limit in [500, 3_000] {
            take(format!("{name}_last_byte_within_{limit}ms_share"), of.cdf(f64::from(limit)));
        }
    }
    Ok(numbers)
}

/// Shares of the time with so many packets in the queue of the heavier direction.
fn of_queue(run: &RunFolder, (from, to): (Time, Time), side: LinkSide) -> Result<Vec<(String, f64)>, String> {
    let interval = run.queue_interval().map_err(|error| error.to_string())?;
    let instants = to.since(from).as_nanos() as f64 / interval.as_nanos() as f64;
    let mut longer = [0_u64; LENGTHS.len()];
    for sample in run.queue().map_err(|error| error.to_string())? {
        let sample = sample.map_err(|error| error.to_string())?;
        if sample.link > 1 || sample.from != side || !(from..to).contains(&sample.time) {
            continue;
        }
        for (count, length) in longer.iter_mut().zip(LENGTHS) {
            *count += u64::from(sample.packets >= length);
        }
    }
    let share = |(count, length): (u64, u64)| (format!("queue_from_{length}_share"), count as f64 / instants);
    Ok(longer.into_iter().zip(LENGTHS).map(share).collect())
}
