//! The characteristics of captures and workloads, and of runs.

use std::path::{Path, PathBuf};

use flowloom_core::time::Duration;
use flowloom_report::describe::{ConversationDescriber, Described, DescribedRun, Describer, PacketsTold, Protocols};
use flowloom_report::facts::set_aside_text;
use flowloom_report::steady::{JointWarmUp, joint_warm_up};
use flowloom_report::{Conclusion, Run, Variant};

use crate::context::{Context, Event};
use crate::error::Error;
use crate::extraction::{self, CaptureOptions};
use crate::input::{self, Kind};
use crate::results::load_variants;
use crate::workload::hosts::HostOptions;
use crate::workload::load;

/// What is described.
#[derive(Clone, Debug)]
pub struct DescribeOptions {
    /// Describe the conversations of captures too, by application (Cáceres 1992).
    pub conversations: bool,
    /// A silence this long ends a conversation.
    pub silence: Duration,
    /// How captures are read.
    pub capture: CaptureOptions,
}

/// A silence ends a conversation after 20 minutes, as in the source.
impl Default for DescribeOptions {
    fn default() -> DescribeOptions {
        DescribeOptions {
            conversations: false,
            silence: Duration::from_secs(1_200),
            capture: CaptureOptions::default(),
        }
    }
}

/// Captures and workloads, side by side.
pub struct Description {
    /// One for each input.
    pub described: Vec<Described>,
    /// Whether the work was stopped before all was read.
    pub interrupted: bool,
}

/// A run, or one of each seed.
pub struct RunDescription {
    /// The run folder as a variant with its replications.
    pub variant: Variant,
    /// What is concluded from each of them.
    pub conclusions: Vec<Conclusion>,
    /// What their records say beside their summaries, one for each seed.
    pub described: Vec<DescribedRun>,
    /// Where the steady part of all of them begins.
    pub warm_up: Vec<JointWarmUp>,
}

/// Describes captures, workloads and other files of vectors.
///
/// # Errors
/// What is wrong with an input; options that are about none of them; nothing to describe.
pub fn describe(inputs: &[PathBuf], options: &DescribeOptions, context: Context<'_>) -> Result<Description, Error> {
    if options.silence.is_zero() {
        return Err(
            Error::usage("--silence 0: no packet would belong to the one before it").hint("write it like 20min")
        );
    }
    input::refuse_missing(inputs)?;
    let kinds: Vec<Kind> = inputs.iter().map(|input| input::kind(input)).collect();
    for (input, kind) in inputs.iter().zip(&kinds) {
        refuse_kind(input, *kind)?;
    }
    // An option is in its place if it is about one of the inputs.
    let refusals = inputs.iter().zip(&kinds).map(|(input, kind)| refuse_options(options, *kind, input));
    let (in_place, refused): (Vec<_>, Vec<_>) = refusals.partition(Result::is_ok);
    if in_place.is_empty() {
        refused.into_iter().collect::<Result<(), Error>>()?;
    }
    let mut interrupted = false;
    let is_one = inputs.len() == 1;
    let described = (1..).zip(inputs).zip(kinds).map(|((number, input), kind)| {
        // What stands above the warnings of one of several.
        let heading = match (is_one, options.capture.anonymize) {
            (true, _) => None,
            (false, true) => Some(PathBuf::from(format!("input {number}"))),
            (false, false) => Some(input.clone()),
        };
        match kind {
            Kind::Capture => capture(options, input, heading.as_deref(), context, &mut interrupted),
            _ => vectors(options, input, heading.as_deref(), kind, context),
        }
    });
    let described = described.collect::<Result<Vec<Described>, Error>>()?;
    Ok(Description { described, interrupted })
}

/// Refuses what holds no connections.
fn refuse_kind(input: &Path, kind: Kind) -> Result<(), Error> {
    let shown = input.display();
    Err(match kind {
        Kind::Workload | Kind::Vectors(_) | Kind::Flows | Kind::Capture => return Ok(()),
        Kind::RunFolder => Error::usage(format_args!("{shown}: a run folder is described alone"))
            .hint("flowloom compare sets runs side by side"),
        Kind::Specification => Error::usage(format_args!("{shown} is {}, which holds no connections", kind.words()))
            .hint("flowloom run simulates it"),
        Kind::Experiment => Error::usage(format_args!("{shown}: an experiment has not run yet"))
            .hint("describe its source, or run it and describe the run folder"),
    })
}

/// Describes one run folder, or one of several seeds.
///
/// # Errors
/// What is wrong with the folder; options, which are about captures.
pub fn describe_run(folder: &Path, options: &DescribeOptions) -> Result<RunDescription, Error> {
    refuse_options(options, Kind::RunFolder, folder)?;
    let mut variants = load_variants(&[folder.to_owned()])?;
    let variant = variants.swap_remove(0);
    let conclusions: Vec<Conclusion> = variant.runs.iter().map(Run::conclude).collect();
    let described = variant.runs.iter().zip(&conclusions).map(|(run, found)| DescribedRun::of(run, found)).collect();
    let warm_up = joint_warm_up(&variant.runs);
    Ok(RunDescription { variant, conclusions, described, warm_up })
}

/// Options that change nothing about `input`.
fn refuse_options(options: &DescribeOptions, kind: Kind, input: &Path) -> Result<(), Error> {
    input::refuse_idle_options(&options.capture, kind, input)?;
    if options.conversations && kind != Kind::Capture {
        return Err(Error::usage(format_args!(
            "{}: --conversations is about the packets of captures, and this is none",
            input.display()
        ))
        .hint("leave --conversations out"));
    }
    Ok(())
}

fn name(options: &DescribeOptions, input: &Path) -> Option<String> {
    (!options.capture.anonymize).then(|| input.display().to_string())
}

/// Says which of several inputs the warnings that follow are about.
fn head(heading: Option<&Path>, context: Context<'_>) {
    if let Some(heading) = heading {
        context.event(&Event::About(heading));
    }
}

fn vectors(
    options: &DescribeOptions,
    input: &Path,
    heading: Option<&Path>,
    kind: Kind,
    context: Context<'_>,
) -> Result<Described, Error> {
    let (paths, scratch) = ([input.to_owned()], std::env::temp_dir());
    let mut loaded = load::open(&paths, kind, &options.capture, &HostOptions::default(), &scratch, context)?;
    let mut vectors = Describer::default();
    for vector in &mut loaded.vectors {
        vectors.add(&vector?);
    }
    if loaded.has_warnings() {
        head(heading, context);
    }
    loaded.warn(context);
    let facts = &loaded.facts;
    if vectors.vectors() == 0 {
        let failure = Error::new(format_args!("{}: holds no connections: nothing to describe", input.display()));
        let set_aside = set_aside_text(&facts.capture.set_aside);
        return Err(
            failure.hint_if((!set_aside.is_empty()).then(|| format!("when it was made, set aside: {set_aside}")))
        );
    }
    Ok(Described::new(name(options, input), facts.capture.clone(), &facts.traffic, vectors, PacketsTold::default()))
}

/// Sets `interrupted` if the user stopped the reading: the answer is of what was read.
fn capture(
    options: &DescribeOptions,
    input: &Path,
    heading: Option<&Path>,
    context: Context<'_>,
    interrupted: &mut bool,
) -> Result<Described, Error> {
    let mut vectors = Describer::default();
    let mut protocols = Protocols::default();
    // Conversations cost a table of their own for every packet.
    let mut conversations =
        options.conversations.then(|| ConversationDescriber::new(options.silence, extraction::hash_secret()));
    let extracted = extraction::watched(
        input,
        &options.capture,
        context,
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
    *interrupted |= extracted.interrupted;
    let facts = extracted.facts();
    if facts.packets == 0 && !extracted.interrupted {
        return Err(Error::new(format_args!("{}: holds no packets: nothing to describe", input.display()))
            .hint("the capture may have ended before the first packet, or its filter may have let none through"));
    }
    if !facts.warnings.is_empty() {
        head(heading, context);
    }
    extracted.warn(context);
    let told = PacketsTold {
        set_aside: extracted.set_aside_classes().into(),
        protocols: Some(protocols.finish()),
        conversations: conversations.map(ConversationDescriber::finish),
    };
    Ok(Described::new(name(options, input), facts, &extracted.traffic(), vectors, told))
}
