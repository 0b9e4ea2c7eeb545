//! A run as a data file of flent: its series over time. It calls itself flent's test `tcp_bidirectional`, whose plots show throughput both ways:
//! flent draws only tests that it knows.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flowloom_core::workload::LinkSide;
use flowloom_store::results::flent::DataFile;
use flowloom_store::run_folder::Point;
use serde_json::Value;

use super::payload::payload;
use crate::metric::Metric;
use crate::run::Run;

pub(super) fn write(run: &Run, out: impl Write) -> io::Result<()> {
    data_file(run).write(out)
}

fn data_file(run: &Run) -> DataFile {
    let measured = &run.measurements;
    let width = measured.bin.as_secs_f64();
    let length = measured.window.1.since(measured.window.0).as_secs_f64();
    let ways = [LinkSide::Left, LinkSide::Right].map(|from| payload(measured, from));
    let bins = ways.each_ref().map(Vec::len).into_iter().max().unwrap_or(0);
    // Values that lie further apart than a bin hold until the next; nearer ones are averaged.
    let over_bins = |values: Vec<f64>, spacing: f64| -> Vec<Option<f64>> {
        let at = |bin: usize| {
            let first = (bin as f64 * width / spacing + 1e-9) as usize;
            let last = (((bin + 1) as f64 * width / spacing - 1e-9) as usize).max(first);
            let within = values.get(first..=last.min(values.len().saturating_sub(1)))?;
            (!within.is_empty()).then(|| within.iter().sum::<f64>() / within.len() as f64)
        };
        (0..bins).map(at).collect()
    };
    let mut results: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let mut series = |name: &str, metric: Metric, factor: f64| {
        let values = match metric {
            Metric::QueueFromLeft => measured.queue_series(LinkSide::Left),
            Metric::QueueFromRight => measured.queue_series(LinkSide::Right),
            _ => measured.series(metric, Point::Monitor),
        };
        let values = values.into_iter().map(|value| value * factor).collect();
        results.insert(name.to_owned(), over_bins(values, measured.series_bin(metric).as_secs_f64()));
    };
    series("Link upload (Mbits/s)", Metric::ThroughputFromLeft, 1e-6);
    series("Link download (Mbits/s)", Metric::ThroughputFromRight, 1e-6);
    series("Packets (1/s)", Metric::PacketArrivals, 1.0);
    series("Active connections", Metric::ActiveConnections, 1.0);
    series("Queue upload (packets)", Metric::QueueFromLeft, 1.0);
    series("Queue download (packets)", Metric::QueueFromRight, 1.0);
    for (name, way) in ["TCP upload", "TCP download"].into_iter().zip(&ways) {
        let rates = over_bins(way.iter().map(|bytes| *bytes as f64 * 8e-6 / width).collect(), width);
        results.insert(name.to_owned(), rates);
    }
    let x_values: Vec<f64> = (1..=bins).map(|bin| bin as f64 * width).collect();
    // flent takes a file without measurements one by one for an empty one.
    let raw = |values: &[Option<f64>]| {
        let measured = x_values.iter().zip(values).filter_map(|(at, value)| Some((*at, (*value)?)));
        let entry =
            |(at, value): (f64, f64)| BTreeMap::from([("t".to_owned(), at.into()), ("val".to_owned(), value.into())]);
        measured.map(entry).collect()
    };
    let raw_values = results.iter().map(|(name, values)| (name.clone(), raw(values))).collect();

    let facts = &run.facts;
    let provenance = facts.provenance.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    let metadata = [
        ("NAME", Value::from("tcp_bidirectional")),
        ("TITLE", Value::from(if facts.title.is_empty() { run.name.as_str() } else { facts.title.as_str() })),
        ("DATA_FILENAME", Value::from(format!("{}.flent.gz", run.name.rsplit('/').next().unwrap_or_default()))),
        ("HOST", Value::from("")),
        ("HOSTS", Value::Array(Vec::new())),
        ("LOCAL_HOST", Value::from("flowloom")),
        ("LENGTH", Value::from(length)),
        ("TOTAL_LENGTH", Value::from(length)),
        ("STEP_SIZE", Value::from(width)),
        ("IP_VERSION", Value::from(4)),
        // flent has no plot without a time. Tables hold none: a run means the same whenever it was made.
        ("TIME", Value::from("1970-01-01T00:00:00.000000Z")),
        ("T0", Value::from("1970-01-01T00:00:00.000000Z")),
        ("NOTE", Value::from(format!("flowloom: {}; {}; seed {}", facts.model, facts.network, facts.seed))),
        ("FLENT_VERSION", Value::from("")),
        ("FLOWLOOM_EXPERIMENT", Value::from(facts.experiment.as_str())),
        ("FLOWLOOM_PROVENANCE", Value::Object(provenance)),
        ("SERIES_META", Value::Object(serde_json::Map::new())),
    ];
    DataFile {
        metadata: metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        version: 0,
        x_values,
        results,
        raw_values,
    }
}
