//! `flowloom extract`: captures to a workload file.

use std::path::{Path, PathBuf};

use flowloom::input::{self, Kind};
use flowloom::report::facts::{missing_text, set_aside_with_bytes};
use flowloom::report::metric::Unit;
use flowloom::report::words::{by_pattern, counted, thousands};
use flowloom::store::formats::{Format, Rows};
use flowloom::store::workload::{CaptureFacts, DatagramFacts};
use flowloom::{
    Contents, Conversion, Error, ExtractOptions, Extracted, Packets, Rotated, Rotation, check_output, extract,
    extract_rotating,
};
use serde_json::json;

use crate::args::{self, Form};
use crate::commands::convert;
use crate::exit::Exit;
use crate::output::{self, Manner};

/// Runs the command.
pub fn run(args: &args::Extract, manner: Manner) -> Result<Exit, Error> {
    if let (Some(interface), Some(rotation)) = (&args.live.interface, args.live.rotation()) {
        return rotate(args, interface, &rotation, manner);
    }
    check_output(&args.output, args.force, &args.captures)?;
    let options = ExtractOptions { capture: args.capture.options(), hosts: args.hosts.options(), replace: args.force };
    let kind = if args.live.interface.is_some() { Kind::Capture } else { input::common_kind(&args.captures)? };
    let first = args.captures.first().map_or(Path::new("capture"), PathBuf::as_path);
    input::refuse_idle_options(&options.capture, kind, first)?;
    if kind != Kind::Capture {
        let conversion = Conversion {
            inputs: &args.captures,
            kind,
            output: Some(&args.output),
            to: Format::Parquet,
            rows: Rows::Connections,
            rtt: None,
            force: args.force,
            capture: &options.capture,
            hosts: &options.hosts,
        };
        return convert::perform(&conversion, manner);
    }
    manner.start("extract")?;
    let live = args.live.options();
    let packets = match &args.live.interface {
        None => Packets::Files(&args.captures),
        Some(interface) => Packets::Interface(interface, &live),
    };
    let extracted = extract(packets, &args.output, &options, manner.observer().context())?;
    let object = || {
        let mut object = json!(extracted.summary());
        object["workload"] = json!(extracted.workload.display().to_string());
        object
    };
    manner.answer(object, || sentence(&extracted))?;
    Ok(if extracted.interrupted { Exit::Invalid } else { Exit::Done })
}

/// Captures into one workload after another, and says what is in each when it is complete.
fn rotate(args: &args::Extract, interface: &str, rotation: &Rotation, manner: Manner) -> Result<Exit, Error> {
    let options = ExtractOptions { capture: args.capture.options(), hosts: args.hosts.options(), replace: false };
    input::refuse_idle_options(&options.capture, Kind::Capture, Path::new(interface))?;
    manner.start("extract")?;
    let Form { json, json_stream } = manner.form;
    let told = |extracted: &Extracted| {
        if json_stream {
            let drops = extracted.inputs.iter().filter_map(|input| input.drops).sum::<u64>();
            output::event(&json!({
                "event": "workload",
                "workload": extracted.workload.display().to_string(),
                "packets": extracted.packets,
                "bytes": extracted.captured_bytes,
                "drops": drops,
            }))
        } else if json || manner.quiet {
            Ok(())
        } else {
            output::shown(&sentence(extracted))
        }
    };
    let terminal = manner.observer();
    let live = args.live.options();
    let found = extract_rotating(interface, &live, &args.output, rotation, &options, terminal.context(), told)?;
    let object = || {
        let Rotated { workloads, deleted, packets, bytes, drops } = found;
        json!({ "workloads": workloads, "deleted": deleted, "packets": packets, "bytes": bytes, "drops": drops })
    };
    let text = || {
        let deleted = if found.deleted > 0 { format!(", {} deleted", thousands(found.deleted)) } else { String::new() };
        format!("{} in {}{deleted}\n", counted(found.workloads, "workload"), args.output.display())
    };
    manner.answer(object, text)?;
    Ok(Exit::Done)
}

/// TCP connections, flows of datagrams, and the payload that the file's `facts` state of them.
pub fn contents(contents: Contents, facts: &CaptureFacts) -> String {
    let Contents { sequential, concurrent, totals_only, udp, quic } = contents;
    let kinds = by_pattern(sequential, concurrent, totals_only);
    let mut text = format!("{} ({kinds})", counted(sequential + concurrent + totals_only, "TCP connection"));
    for (flows, noun) in [(udp, "UDP flow"), (quic, "QUIC flow")].into_iter().filter(|(flows, _)| *flows > 0) {
        text.push_str(&format!(", {}", counted(flows, noun)));
    }
    let DatagramFacts { udp, quic } = facts.datagrams;
    // A file may state anything.
    let payload = [facts.payload_bytes, udp.payload_bytes, quic.payload_bytes]
        .iter()
        .flat_map(|bytes| [bytes.initiator, bytes.acceptor])
        .fold(0, u64::saturating_add);
    text.push_str(&format!(", {} payload", Unit::Bytes.show(payload as f64)));
    text
}

/// What was read and what came of it, in two or three lines.
fn sentence(extracted: &Extracted) -> String {
    let facts = extracted.facts();
    let mut text = format!(
        "{}, {}, {}\n",
        counted(facts.packets, "packet"),
        Unit::Time.show(facts.duration_ns as f64),
        contents(extracted.contents(), &facts),
    );
    if !facts.set_aside.is_empty() {
        text.push_str(&format!("  set aside   {}\n", set_aside_with_bytes(&facts.set_aside, &facts.set_aside_bytes)));
    }
    let lacking = facts.payload.lacking();
    if lacking.missing > 0 {
        let missing = missing_text(&lacking);
        text.push_str(&format!("  missing     {missing}\n"));
    }
    text.push_str(&format!("  workload    {}\n", extracted.workload.display()));
    text
}
