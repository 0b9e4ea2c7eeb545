//! `flowloom convert`: vectors from one form to another; results of a run are [`export`]'s.

use std::path::{Path, PathBuf};

use flowloom::input::{self, Kind};
use flowloom::report::export::Form;
use flowloom::report::facts::set_aside_text;
use flowloom::report::words::counted;
use flowloom::store::formats::{Format, Rows};
use flowloom::store::workload::WorkloadFacts;
use flowloom::targets::is_standard_output;
use flowloom::time::Duration;
use flowloom::{Conversion, Converted, Error, Warning, convert, nearest};
use serde_json::json;

use crate::args::{self, Target};
use crate::commands::{export, extract};
use crate::exit::Exit;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Convert, manner: Manner) -> Result<Exit, Error> {
    let output = Some(&*args.output).filter(|path| !is_standard_output(path));
    let manner = manner.beside([&args.output])?;
    let kind = kind(&args.inputs, args.from)?;
    if kind == Kind::RunFolder {
        return export::run(args, output, manner);
    }
    let (capture, hosts) = (args.capture.options(), args.hosts.options());
    let conversion = Conversion {
        inputs: &args.inputs,
        kind,
        output,
        to: target(args.to, output)?,
        rows: if args.adus { Rows::Adus } else { Rows::Connections },
        rtt: args.rtt,
        force: args.force,
        capture: &capture,
        hosts: &hosts,
    };
    manner.start("convert")?;
    perform(&conversion, manner)
}

/// Converts, and answers unless vectors went to standard output.
pub fn perform(conversion: &Conversion<'_>, manner: Manner) -> Result<Exit, Error> {
    let converted = convert(conversion, manner.observer().context())?;
    if let (Some(converted), true) = (converted, conversion.output.is_some()) {
        manner.answer(|| object(conversion, &converted), || sentence(conversion, &converted))?;
    }
    Ok(Exit::Done)
}

/// What all of `inputs` are.
fn kind(inputs: &[PathBuf], from: Option<Kind>) -> Result<Kind, Error> {
    if let Some(kind) = from {
        return Ok(kind);
    }
    if inputs.iter().any(|path| path.as_os_str() == "-") {
        return Err(Error::usage("what standard input holds cannot be told before it is read")
            .hint("say it with --from, for example --from zeek"));
    }
    input::common_kind(inputs)
}

/// The form to write.
fn target(to: Option<Target>, output: Option<&Path>) -> Result<Format, Error> {
    let results = || Error::usage("that form is of the results of a run").hint("give the folder of a run");
    match to {
        Some(Target::Vectors(format)) => return Ok(format),
        Some(Target::Results(_)) => return Err(results()),
        None => {}
    }
    let Some(path) = output else {
        return Err(Error::usage("which form should go to standard output?").hint("say it with --to, as in --to jsonl"));
    };
    let name = path.to_string_lossy();
    if Form::of_name(&name).is_some() {
        return Err(results());
    }
    Format::of_name(&name).ok_or_else(|| {
        let ending = name.rsplit('.').next().unwrap_or_default();
        let meant = nearest(ending, &["parquet", "cvec", "tcvec", "jsonl", "csv", "tsv", "graphml"]);
        let meant = meant.map_or_else(String::new, |meant| format!("did you mean .{meant}? otherwise "));
        Error::usage(format_args!("{name}: no form is known by this ending"))
            .note("known: .parquet, .cvec, .v1.cvec, .tcvec, .alt.cvec, .v2.cvec, .jsonl, .csv, .tsv, conn.log, .astf.json, .graphml")
            .hint(format_args!("{meant}say it with --to"))
    })
}

fn object(conversion: &Conversion<'_>, converted: &Converted) -> serde_json::Value {
    let WorkloadFacts { provenance, capture, .. } = &converted.facts;
    let warnings: Vec<String> = converted.warnings.iter().map(Warning::to_string).collect();
    json!({
        "from": conversion.kind.name(),
        "to": Kind::of(conversion.to).name(),
        "duration_ns": capture.duration_ns,
        "connections": capture.connections,
        "payload_bytes": capture.payload_bytes,
        "set_aside": capture.set_aside,
        "written": converted.vectors,
        "inputs": provenance.inputs,
        "warnings": warnings,
    })
}

fn sentence(conversion: &Conversion<'_>, converted: &Converted) -> String {
    let capture = &converted.facts.capture;
    let length = Duration::from_nanos(capture.duration_ns);
    let mut text = format!("{length}, {}\n", extract::contents(converted.contents, capture));
    if !capture.set_aside.is_empty() {
        text.push_str(&format!("  set aside   {}\n", set_aside_text(&capture.set_aside)));
    }
    let output = conversion.output.map_or_else(String::new, |path| path.display().to_string());
    text.push_str(&format!(
        "  {:<11} {output}, {}\n",
        Kind::of(conversion.to).name(),
        counted(converted.vectors, "vector")
    ));
    text
}
