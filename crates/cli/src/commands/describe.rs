//! `flowloom describe`: the characteristics of a capture, a workload or a run.

use std::path::Path;

use serde_json::json;

use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;
use flowloom_report::describe::{Describer, Description, Distribution};
use flowloom_report::facts::set_aside_text;
use flowloom_report::metric::Unit;
use flowloom_report::text::thousands;
use flowloom_store::addresses::AddressBook;
use flowloom_store::workload::{CaptureFacts, WorkloadReader};

use crate::args;
use crate::commands::{compare, extract, run};
use crate::failure::{Exit, Failure};
use crate::ingest;
use crate::input::{self, Kind};
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Describe, manner: Manner) -> Result<Exit, Failure> {
    let (capture, workload) = match input::kind(&args.input) {
        Kind::RunFolder => {
            run::refuse_capture_options(&args.capture, &args.input)?;
            return compare::original(&args.input, manner);
        }
        Kind::Experiment => {
            return Err(Failure::usage(format_args!("{}: an experiment has not run yet", args.input.display()))
                .hint("describe its source, or run it and describe the run folder"));
        }
        Kind::Workload => {
            run::refuse_capture_options(&args.capture, &args.input)?;
            from_workload(&args.input)?
        }
        Kind::Capture => {
            let mut describer = Describer::default();
            manner.start("describe")?;
            let paths = std::slice::from_ref(&args.input);
            let ingested = ingest::vectors(
                paths,
                &args.capture,
                &mut AddressBook::default(),
                &std::env::temp_dir(),
                manner,
                |vector| {
                    describer.add(&vector);
                    Ok(())
                },
            )?;
            ingested.warn(manner);
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
    let length = Duration::from_nanos(capture.duration_ns);
    let mut text = format!("original      {} packets, {length}\n", thousands(capture.packets));
    text.push_str(&format!(
        "connections   {} to replay: {} sequential, {} concurrent; {} complete, {} incomplete; {} lost packets\n",
        thousands(connections.total),
        thousands(connections.sequential),
        thousands(connections.concurrent),
        thousands(connections.complete),
        thousands(connections.incomplete),
        thousands(connections.lossy)
    ));
    if !capture.set_aside.is_empty() {
        text.push_str(&format!("  set aside   {}\n", set_aside_text(&capture.set_aside)));
    }
    text.push_str(&format!(
        "initiators    {} on the left, {} on the right of the link\n",
        thousands(connections.from_left),
        thousands(connections.from_right)
    ));
    let volume = |bytes: u64| {
        let load = (!length.is_zero()).then(|| 8.0 * bytes as f64 / length.as_secs_f64());
        let load = load.map_or_else(String::new, |load| format!(" ({})", Unit::Rate.show(load)));
        format!("{}{load}", Unit::Bytes.show(bytes as f64))
    };
    let payload = &workload.payload_bytes;
    text.push_str(&format!(
        "payload       {} from initiators, {} from acceptors\n\n",
        volume(payload.initiator),
        volume(payload.acceptor)
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
        Unit::Time.show(value)
    } else if distribution.is_size() {
        Unit::Bytes.show(value)
    } else {
        three_digits(value)
    }
}
