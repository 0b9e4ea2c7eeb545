//! `flowloom describe`: the characteristics of captures and workloads, or of a run.

use std::path::Path;

use serde_json::json;

use flowloom_core::extract::conversations::Options;
use flowloom_report::describe::text::description_text;
use flowloom_report::describe::{ConversationDescriber, Described, Describer};
use flowloom_report::facts::set_aside_text;
use flowloom_report::html;
use flowloom_store::addresses::AddressBook;
use flowloom_store::workload::WorkloadReader;

use crate::args;
use crate::commands::{compare, extract, run};
use crate::failure::{Exit, Failure};
use crate::ingest;
use crate::input::{self, Kind};
use crate::output::Manner;
use crate::results::write_page;

/// Runs the command.
pub fn run(args: &args::Describe, manner: Manner) -> Result<Exit, Failure> {
    if args.silence.is_zero() {
        return Err(
            Failure::usage("--silence 0: no packet would belong to the one before it").hint("write it like 20min")
        );
    }
    let kinds: Vec<Kind> = args.inputs.iter().map(|input| input::kind(input)).collect();
    for (input, kind) in args.inputs.iter().zip(&kinds) {
        match kind {
            Kind::RunFolder => return run_folder(args, input, manner),
            Kind::Experiment => {
                return Err(Failure::usage(format_args!("{}: an experiment has not run yet", input.display()))
                    .hint("describe its source, or run it and describe the run folder"));
            }
            Kind::Workload | Kind::Capture => {}
        }
    }
    if !kinds.contains(&Kind::Capture) {
        refuse_options(args, &args.inputs[0])?;
    }
    manner.start("describe")?;
    let described = args
        .inputs
        .iter()
        .zip(kinds)
        .map(|(input, kind)| if kind == Kind::Workload { workload(args, input) } else { capture(args, input, manner) })
        .collect::<Result<Vec<Described>, Failure>>()?;
    if let Some(path) = &args.html {
        write_page(path, |out| html::write_description(&described, out))?;
    }
    let object = || match &described[..] {
        [one] => json!(one),
        several => json!(several),
    };
    let text = || {
        let page = args.html.as_ref().map(|path| format!("\npictures      {}\n", path.display()));
        description_text(&described) + &page.unwrap_or_default()
    };
    manner.answer(object, text)?;
    Ok(Exit::Done)
}

/// One run folder, as `flowloom run` told of it.
fn run_folder(args: &args::Describe, folder: &Path, manner: Manner) -> Result<Exit, Failure> {
    if args.inputs.len() > 1 {
        return Err(Failure::usage(format_args!("{}: a run folder is described alone", folder.display()))
            .hint("flowloom compare sets runs side by side"));
    }
    refuse_options(args, folder)?;
    if args.html.is_some() {
        return Err(Failure::usage(format_args!("{}: --html is about captures and workloads", folder.display()))
            .hint("flowloom report writes the pictures of a run"));
    }
    compare::original(folder, manner)
}

/// Options about captures, where there is none.
fn refuse_options(args: &args::Describe, input: &Path) -> Result<(), Failure> {
    run::refuse_capture_options(&args.capture, input)?;
    if args.silence != Options::SILENCE {
        return Err(Failure::usage(format_args!(
            "{}: --silence is about the packets of captures, and this is none",
            input.display()
        ))
        .hint("leave --silence out"));
    }
    Ok(())
}

fn name(args: &args::Describe, input: &Path) -> Option<String> {
    (!args.capture.anonymize).then(|| input.display().to_string())
}

fn workload(args: &args::Describe, input: &Path) -> Result<Described, Failure> {
    let reader = WorkloadReader::open(input).map_err(extract::unwritable)?;
    let facts = reader.facts().clone();
    let mut vectors = Describer::default();
    for vector in reader {
        vectors.add(&vector.map_err(extract::unwritable)?);
    }
    if vectors.vectors() == 0 {
        let failure = Failure::new(format_args!("{}: holds no connections: nothing to describe", input.display()));
        let set_aside = set_aside_text(&facts.capture.set_aside);
        return Err(
            failure.hint_if((!set_aside.is_empty()).then(|| format!("when it was made, set aside: {set_aside}")))
        );
    }
    Ok(Described::new(name(args, input), facts.capture, &facts.traffic, vectors, &[], None))
}

fn capture(args: &args::Describe, input: &Path, manner: Manner) -> Result<Described, Failure> {
    let mut vectors = Describer::default();
    let mut conversations = ConversationDescriber::new(args.silence);
    let ingested = ingest::watched(
        &[input.to_owned()],
        &args.capture,
        &mut AddressBook::default(),
        &std::env::temp_dir(),
        manner,
        |time, parsed, wire_length| conversations.packet(time, parsed, wire_length),
        |vector| {
            vectors.add(&vector);
            Ok(())
        },
    )?;
    let facts = ingested.facts();
    if facts.packets == 0 && !ingested.interrupted {
        return Err(Failure::new(format_args!("{}: holds no packets: nothing to describe", input.display()))
            .hint("the capture may have ended before the first packet, or its filter may have let none through"));
    }
    ingested.warn(manner);
    let set_aside = ingested.set_aside_classes();
    let conversations = Some(conversations.finish());
    Ok(Described::new(name(args, input), facts, &ingested.traffic(), vectors, &set_aside, conversations))
}
