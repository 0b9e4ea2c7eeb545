//! `flowloom extract`: captures to a workload file.

use std::path::{Path, PathBuf};

use flowloom_core::workload::ConnectionVector;
use flowloom_report::facts::set_aside_text;
use flowloom_report::metric::Unit;
use flowloom_report::text::{by_pattern, counted};
use serde_json::json;

use flowloom_store::formats::{Format, Rows};
use flowloom_store::workload::{CaptureFacts, ConnectionCounts, DatagramFacts, WorkloadWriter};

use crate::args;
use crate::commands::convert::Job;
use crate::failure::{Exit, Failure};
use crate::hosts;
use crate::ingest;
use crate::ingested::Ingested;
use crate::input::{self, Kind};
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Extract, manner: Manner) -> Result<Exit, Failure> {
    if Format::of_name(&args.output.to_string_lossy()).is_some_and(|format| format != Format::Parquet) {
        return Err(Failure::usage(format_args!("{}: extract writes workloads (.parquet)", args.output.display()))
            .hint("flowloom convert writes the other forms"));
    }
    if args.output.exists() && !args.force {
        return Err(Failure::new(format_args!("{}: exists already", args.output.display()))
            .hint("--force replaces it, -o writes elsewhere"));
    }
    let kind = if args.live.interface.is_some() { Kind::Capture } else { input::common_kind(&args.captures)? };
    input::refuse_idle_options(
        &args.capture,
        kind,
        args.captures.first().map_or(Path::new("capture"), PathBuf::as_path),
    )?;
    if kind != Kind::Capture {
        let job = Job {
            inputs: &args.captures,
            kind,
            output: Some(&args.output),
            to: Format::Parquet,
            rows: Rows::Connections,
            rtt: None,
            force: args.force,
            capture: &args.capture,
            hosts: &args.hosts,
        };
        return job.run(manner);
    }
    let mut hosts = hosts::book(&args.hosts, false)?;
    manner.start("extract")?;
    let mut writer = WorkloadWriter::create(&args.output).map_err(Failure::new)?;
    let (capture, scratch) = (&args.capture, folder(&args.output));
    let sink = |vector: ConnectionVector| writer.write_owned(vector).map_err(Failure::new);
    let ingested = match &args.live.interface {
        None => ingest::vectors(&args.captures, capture, &mut hosts, scratch, manner, sink)?,
        Some(interface) => ingest::live(interface, &args.live, capture, &mut hosts, scratch, manner, sink)?,
    };
    let mut provenance = ingested.provenance();
    hosts::note(&args.hosts, &mut provenance);
    writer.finish(provenance, ingested.facts(), &ingested.traffic()).map_err(Failure::new)?;
    ingested.warn(manner);
    hosts::warn(&args.hosts, manner);
    manner.answer(|| json!(ingested.summary()), || sentence(&ingested, &args.output))?;
    Ok(if ingested.interrupted { Exit::Invalid } else { Exit::Done })
}

/// The folder that `file` is in.
pub fn folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// `connections` of TCP, of which `totals_only` are known by totals only, the flows of datagrams beside them, and the
/// payload of all.
pub fn contents(facts: &CaptureFacts, connections: u64, totals_only: u64) -> String {
    let DatagramFacts { udp, quic } = facts.datagrams;
    let ConnectionCounts { sequential, concurrent, .. } = facts.connections;
    let kinds = by_pattern(sequential.saturating_sub(totals_only), concurrent, totals_only);
    let mut text = format!("{} ({kinds})", counted(connections, "TCP connection"));
    for (flows, noun) in
        [(udp.flows, "UDP flow"), (quic.flows, "QUIC flow")].into_iter().filter(|(flows, _)| *flows > 0)
    {
        text.push_str(&format!(", {}", counted(flows, noun)));
    }
    // A file may state anything.
    let payload = [facts.payload_bytes, udp.payload_bytes, quic.payload_bytes]
        .iter()
        .flat_map(|bytes| [bytes.initiator, bytes.acceptor])
        .fold(0, u64::saturating_add);
    text.push_str(&format!(", {} payload", Unit::Bytes.show(payload as f64)));
    text
}

/// What was read and what came of it, in two or three lines.
fn sentence(ingested: &Ingested, output: &Path) -> String {
    let facts = ingested.facts();
    let mut text = format!(
        "{}, {}, {}\n",
        counted(facts.packets, "packet"),
        Unit::Time.show(facts.duration_ns as f64),
        contents(&facts, facts.connections.total, 0),
    );
    if !facts.set_aside.is_empty() {
        text.push_str(&format!("  set aside   {}\n", set_aside_text(&facts.set_aside)));
    }
    text.push_str(&format!("  workload    {}\n", output.display()));
    text
}
