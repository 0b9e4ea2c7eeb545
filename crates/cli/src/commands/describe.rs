//! `flowloom describe`: the characteristics of captures and workloads, or of a run.

use std::path::Path;

use serde_json::json;

use flowloom_report::describe::text::description_text;
use flowloom_report::describe::{
    ConversationDescriber, Described, DescribedRun, Describer, PacketsTold, Protocols, described_run_text,
    joint_warm_up_text,
};
use flowloom_report::facts::set_aside_text;
use flowloom_report::steady::joint_warm_up;
use flowloom_report::{html, text};

use crate::args;
use crate::failure::{Exit, Failure};
use crate::ingest;
use crate::input::{self, Kind};
use crate::load;
use crate::output::{self, Manner};
use crate::results::{load_variants, write_page, write_report};

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
            Kind::Specification => {
                return Err(Failure::usage(format_args!(
                    "{} is {}, which holds no connections",
                    input.display(),
                    kind.words()
                ))
                .hint("flowloom run simulates it"));
            }
            Kind::Experiment => {
                return Err(Failure::usage(format_args!("{}: an experiment has not run yet", input.display()))
                    .hint("describe its source, or run it and describe the run folder"));
            }
            Kind::Workload | Kind::Vectors(_) | Kind::Flows | Kind::Capture => {}
        }
    }
    // An option is in its place if it is about one of the inputs.
    let refusals = args.inputs.iter().zip(&kinds).map(|(input, kind)| refuse_options(args, *kind, input));
    let (in_place, refused): (Vec<_>, Vec<_>) = refusals.partition(Result::is_ok);
    if in_place.is_empty() {
        refused.into_iter().collect::<Result<(), Failure>>()?;
    }
    manner.start("describe")?;
    let mut interrupted = false;
    let described = args
        .inputs
        .iter()
        .zip(kinds)
        .map(|(input, kind)| match kind {
            Kind::Capture => capture(args, input, manner, &mut interrupted),
            _ => vectors(args, input, kind, manner),
        })
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
    Ok(if interrupted { Exit::Invalid } else { Exit::Done })
}

/// One run folder, or one of several seeds: what `flowloom run` told of each run, and what its records say besides.
fn run_folder(args: &args::Describe, folder: &Path, manner: Manner) -> Result<Exit, Failure> {
    if args.inputs.len() > 1 {
        return Err(Failure::usage(format_args!("{}: a run folder is described alone", folder.display()))
            .hint("flowloom compare sets runs side by side"));
    }
    refuse_options(args, Kind::RunFolder, folder)?;
    manner.start("describe")?;
    let variants = load_variants(std::slice::from_ref(&folder.to_owned()))?;
    let runs = &variants[0].runs;
    let described: Vec<DescribedRun> = runs.iter().map(DescribedRun::of).collect();
    let warm_up = joint_warm_up(runs);
    if let Some(path) = &args.html {
        write_report(&variants, path)?;
    }
    let object = || match &described[..] {
        [one] => json!(one),
        several => json!({ "runs": several, "warm_up": warm_up }),
    };
    let text = || {
        let colour = output::colour();
        let each = runs.iter().zip(&described);
        let tables: Vec<String> =
            each.map(|(run, one)| text::run_text(run, colour) + "\n" + &described_run_text(one)).collect();
        let page = args.html.as_ref().map(|path| format!("\nreport        {}\n", path.display()));
        tables.join("\n") + &joint_warm_up_text(&warm_up) + &page.unwrap_or_default()
    };
    manner.answer(object, text)?;
    Ok(Exit::Done)
}

/// Options that change nothing about `input`.
fn refuse_options(args: &args::Describe, kind: Kind, input: &Path) -> Result<(), Failure> {
    input::refuse_idle_options(&args.capture, kind, input)?;
    if args.conversations && kind != Kind::Capture {
        return Err(Failure::usage(format_args!(
            "{}: --conversations is about the packets of captures, and this is none",
            input.display()
        ))
        .hint("leave --conversations out"));
    }
    Ok(())
}

fn name(args: &args::Describe, input: &Path) -> Option<String> {
    (!args.capture.anonymize).then(|| input.display().to_string())
}

/// Says which of several inputs the warnings that follow are about.
fn head(args: &args::Describe, input: &Path, manner: Manner) {
    if args.inputs.len() > 1 && !manner.quiet {
        eprintln!("{}:", input.display());
    }
}

fn vectors(args: &args::Describe, input: &Path, kind: Kind, manner: Manner) -> Result<Described, Failure> {
    let (paths, scratch) = ([input.to_owned()], std::env::temp_dir());
    let mut loaded = load::open(&paths, kind, &args.capture, &args::Hosts::default(), &scratch, manner)?;
    let mut vectors = Describer::default();
    for vector in &mut loaded.vectors {
        vectors.add(&vector?);
    }
    if !loaded.warnings.is_empty() {
        head(args, input, manner);
    }
    loaded.warn(manner);
    let facts = &loaded.facts;
    if vectors.vectors() == 0 {
        let failure = Failure::new(format_args!("{}: holds no connections: nothing to describe", input.display()));
        let set_aside = set_aside_text(&facts.capture.set_aside);
        return Err(
            failure.hint_if((!set_aside.is_empty()).then(|| format!("when it was made, set aside: {set_aside}")))
        );
    }
    Ok(Described::new(name(args, input), facts.capture.clone(), &facts.traffic, vectors, PacketsTold::default()))
}

/// Sets `interrupted` if the user stopped the reading: the answer is of what was read.
fn capture(args: &args::Describe, input: &Path, manner: Manner, interrupted: &mut bool) -> Result<Described, Failure> {
    let mut vectors = Describer::default();
    let mut protocols = Protocols::default();
    // Conversations cost a table of their own for every packet.
    let mut conversations = args.conversations.then(|| ConversationDescriber::new(args.silence, ingest::hash_secret()));
    let ingested = ingest::watched(
        input,
        &args.capture,
        manner,
        |time, parsed, wire_length| {
            protocols.packet(parsed, wire_length);
            if let (Some(conversations), Ok(parsed)) = (&mut conversations, parsed) {
                conversations.packet(time, parsed);
            }
        },
        |vector| {
            vectors.add(&vector);
            Ok(())
        },
    )?;
    *interrupted |= ingested.interrupted;
    let facts = ingested.facts();
    if facts.packets == 0 && !ingested.interrupted {
        return Err(Failure::new(format_args!("{}: holds no packets: nothing to describe", input.display()))
            .hint("the capture may have ended before the first packet, or its filter may have let none through"));
    }
    if !facts.warnings.is_empty() {
        head(args, input, manner);
    }
    ingested.warn(manner);
    let told = PacketsTold {
        set_aside: ingested.set_aside_classes().into(),
        protocols: Some(protocols.finish()),
        conversations: conversations.map(ConversationDescriber::finish),
    };
    Ok(Described::new(name(args, input), facts, &ingested.traffic(), vectors, told))
}
