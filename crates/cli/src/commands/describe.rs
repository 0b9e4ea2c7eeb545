//! `flowloom describe`: the characteristics of a capture, a workload or a run.

use std::path::Path;

use serde_json::json;

use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;
use flowloom_report::describe::{Describer, Description, Distribution};
use flowloom_store::workload::{CaptureFacts, WorkloadReader};

use crate::args;
use crate::commands::{compare, extract};
use crate::failure::{Exit, Failure};
use crate::ingest;
use crate::input::{self, Kind};
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Describe, manner: Manner) -> Result<Exit, Failure> {
    let (capture, workload) = match input::kind(&args.input) {
        Kind::RunFolder => return compare::original(&args.input, manner),
        Kind::Experiment => {
            return Err(Failure::usage(format_args!("{}: an experiment has not run yet", args.input.display()))
                .hint("describe its source, or run it and describe the run folder"));
        }
        Kind::Workload => from_workload(&args.input)?,
        Kind::Capture => {
            let mut describer = Describer::default();
            manner.start("describe")?;
            let ingested = ingest::vectors(std::slice::from_ref(&args.input), &args.capture, manner, |vector| {
                describer.add(vector);
                Ok(())
            })?;
            (ingested.facts(), describer.finish())
        }
    };
    manner.answer(|| json!({ "capture": capture, "workload": workload }), || text(&capture, &workload))?;
    Ok(Exit::Done)
}

fn from_workload(path: &Path) -> Result<(CaptureFacts, Description), Failure> {
    let reader = WorkloadReader::open(path).map_err(extract::unwritable)?;
    let facts = reader.facts().capture.clone();
    let mut describer = Describer::default();
    for vector in reader {
        describer.add(&vector.map_err(extract::unwritable)?);
    }
    Ok((facts, describer.finish()))
}

fn text(capture: &CaptureFacts, workload: &Description) -> String {
    let connections = &workload.connections;
    let mut text =
        format!("original      {} packets, {} s\n", capture.packets, three_digits(capture.duration_ns as f64 / 1e9));
    text.push_str(&format!(
        "connections   {} to replay: {} sequential, {} concurrent; {} complete, {} incomplete; {} lost packets\n",
        connections.total,
        connections.sequential,
        connections.concurrent,
        connections.complete,
        connections.incomplete,
        connections.lossy
    ));
    for (reason, count) in &capture.set_aside {
        text.push_str(&format!("  set aside   {count} {}\n", reason.replace('-', " ")));
    }
    text.push_str(&format!(
        "initiators    {} on the left, {} on the right of the link\n",
        connections.from_left, connections.from_right
    ));
    let load = |bytes: u64| {
        let seconds = capture.duration_ns as f64 / 1e9;
        if seconds > 0.0 {
            format!(" ({} Mbit/s)", three_digits(8.0 * bytes as f64 / seconds / 1e6))
        } else {
            String::new()
        }
    };
    let payload = &workload.payload_bytes;
    text.push_str(&format!(
        "payload       {} MB from initiators{}, {} MB from acceptors{}\n\n",
        three_digits(payload.initiator as f64 / 1e6),
        load(payload.initiator),
        three_digits(payload.acceptor as f64 / 1e6),
        load(payload.acceptor),
    ));
    const HEADINGS: [&str; 7] = ["mean", "p10", "p50", "p80", "p90", "p99", "max"];
    text.push_str(&format!("{:<24}{:>8}", "", "n"));
    HEADINGS.iter().for_each(|heading| text.push_str(&format!("{heading:>10}")));
    text.push('\n');
    for distribution in &workload.distributions {
        let Distribution { words, n, mean, p10, p50, p80, p90, p99, max, .. } = distribution;
        text.push_str(&format!("{words:<24}{n:>8}"));
        for value in [mean, p10, p50, p80, p90, p99, max] {
            text.push_str(&format!("{:>10}", quantity(distribution, *value)));
        }
        text.push('\n');
    }
    text
}

fn quantity(distribution: &Distribution, value: f64) -> String {
    if distribution.is_time() {
        return Duration::from_secs_f64(value / 1e9).to_string();
    }
    if !distribution.is_size() {
        return three_digits(value);
    }
    match value {
        0.0..1e3 => format!("{} B", three_digits(value)),
        1e3..1e6 => format!("{} kB", three_digits(value / 1e3)),
        1e6..1e9 => format!("{} MB", three_digits(value / 1e6)),
        _ => format!("{} GB", three_digits(value / 1e9)),
    }
}
