//! What run.json and host.json say beside the measurements.

use std::collections::BTreeMap;
use std::path::Path;

use flowloom_core::extract::KeptPayload;
use flowloom_core::tcp::EcnEcho;
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_models::Variation;
use flowloom_report::facts::{LinkFacts, TraceCutFacts};
use flowloom_report::loops::{Loops, Scope};
use flowloom_report::{Facts, HostFacts, Original, Summary};
use flowloom_sim::{Class, Config, LinkConfig, LinkNumber, Way};
use flowloom_store::workload::{CaptureFacts, CopyFacts, InputFile, PayloadFacts};

use crate::clock::{self, Stopwatch};
use crate::experiment::{self, Experiment, HurstKeys, LossChoice};
use crate::input::Kind;
use crate::run::again;
use crate::run::changes::changes;
use crate::run::command_line::command;
use crate::run::config::topology;
use crate::run::drive::{Driven, Noticed};
use crate::run::load::{busiest_second, of_load};
use crate::run::plan::Plan;
use crate::run::setup::{Prepared, Setup};
use crate::run::{live, plausibility};
use crate::warning::Warning;
use crate::workload::generation::Blocks;
use crate::workload::source::{Source, file_name, set_aside, unsent_flows};

/// What run.json says beside the measurements of a run with these numbers. Inputs, options and seed decide it, nothing
/// else (methods M.11).
pub fn facts(setup: &Setup<'_>, config: &Config, driven: &Driven) -> Facts {
    let Setup { plan, options, senders, shape, .. } = *setup;
    let Prepared { source, live, .. } = setup.prepared(config.seed);
    let Driven { summary, observed, noticed } = driven;
    let (seed, observed) = (config.seed, observed.as_ref());
    let to_its_end = observed.is_none() && !summary.interrupted && !source.interrupted;
    let planned = setup.window(seed);
    let is_cut = summary.interrupted || source.interrupted || observed.is_some_and(|observed| observed.cut_short);
    // It is as long as that takes, which nobody planned.
    let is_of_program = observed.is_some_and(|observed| observed.guest.is_some());
    let end = if is_cut { planned.end.min(summary.end.as_nanos()).max(planned.start + 1) } else { planned.end };
    let capture = &source.facts.capture;
    let mut experiment = plan.experiment.clone();
    experiment.run.seeds = vec![seed];
    if options.capture.anonymize {
        experiment.anonymize();
    }
    let topology = topology(&experiment.network, shape, config, summary);
    let classes = senders.facts(summary, &topology.links);
    let Noticed { payload, to_replay_bytes, totals_only, keep_transit, evened, cut, incomplete } = noticed;
    let scope = Scope {
        start: plan.experiment.workload.prefill().shift() + Duration::from_nanos(planned.start),
        length: Duration::from_nanos(planned.end.saturating_sub(planned.start)),
        datagrams: senders.sends_datagrams(),
        payload_bytes: PayloadFacts::from(*payload).total().replayed,
    };
    let (totals_only, keep_transit) = (*totals_only, *keep_transit);
    let assumed = (totals_only > 0).then_some(Warning::TotalsReplayed { connections: totals_only });
    let doubled = (keep_transit > 0).then_some(Warning::WaitsNotCorrected { connections: keep_transit });
    let not_met = if to_its_end { senders.not_met(summary) } else { Vec::new() };
    let of_host = observed.iter().flat_map(|observed| observed.warnings.iter().cloned().map(Warning::Live));
    let own: Vec<Warning> = source
        .warnings
        .iter()
        .cloned()
        .chain(clipped(setup, config, source))
        .chain(assumed)
        .chain(fewer_active(source))
        .chain(doubled)
        .chain(of_datagrams(plan, source, *evened))
        .chain(short_targets(config, &topology.links))
        .chain(heavy_probes(setup, config, &topology.links))
        .chain(nothing_marks(config))
        .chain(not_met)
        .chain(incomplete.iter().cloned())
        .chain(of_host)
        .collect();
    Facts {
        title: experiment.title.clone().unwrap_or_default(),
        source: source.name.clone(),
        driver: options.on.name().to_owned(),
        model: if source.path.is_some() { model(plan, source) } else { String::new() },
        network: network(&plan.experiment, config, &of_load(&plan.experiment, source, senders.sends_datagrams())),
        seed,
        window_ns: Some([planned.start, end]),
        planned_window_ns: (is_cut && !is_of_program).then_some([planned.start, planned.end]),
        experiment: experiment.to_toml(),
        command: command(plan, options, seed),
        again: again::facts(plan, options),
        provenance: provenance(source, &setup.plan.read),
        interrupted: summary.interrupted || source.interrupted,
        warnings: (told_of(capture).cloned()).chain(own.iter().map(Warning::to_string)).collect(),
        changes: changes(&plan.experiment, source),
        drawn_payload: source.payload,
        to_replay_bytes: source.path.as_ref().map(|_| *to_replay_bytes),
        trace_cut: source.trace_cut(),
        of_model: source.is_of_model(),
        original: source.path.as_ref().map(|_| Original {
            packets: capture.packets,
            duration_ns: capture.duration_ns,
            clock_jumps_ns: source.facts.clock_jumps().total().as_nanos(),
            connections: capture.connections.total,
            totals_only,
            payload: capture.payload,
            window_payload: of_window(*payload, &capture.payload),
            begin_ns: plan.experiment.workload.prefill().shift().as_nanos(),
            set_aside: set_aside(&source.facts, plan.experiment.workload.datagrams),
            set_aside_bytes: capture.set_aside_bytes.clone(),
            loops: Some(Loops::new(&source.facts, scope)),
            busiest_second_bits_per_second: busiest_second(&source.facts.traffic, senders.sends_datagrams(), None)
                .and_then(Rate::bits_per_second),
            extraction_interrupted: capture.interrupted,
            copies: capture.copies,
        }),
        disk_full: false,
        cut_connections: *cut,
        end_ns: Some(summary.end.as_nanos()),
        replays_losses: config.rules.replay_all_losses() || config.replay.losses,
        events: observed.is_none().then_some(summary.events),
        hurst: plan.experiment.measure.hurst.as_ref().map(HurstKeys::choice).unwrap_or_default(),
        // Of the traffic, as its series have it.
        remaining_packets: Some(
            summary.directions.iter().map(|one| one.remaining.total() - one.remaining_probes).sum(),
        ),
        plausibility: Some(plausibility::facts(config, summary, &classes, &topology)),
        classes,
        topology: Some(topology),
        live: observed.zip(live.as_ref()).map(|(observed, options)| live::facts(observed, options)),
        // It was recorded when the folder was begun.
        real_link: None,
    }
}

/// The network in words; `of_load` says what its rate is of.
fn network(experiment: &Experiment, config: &Config, of_load: &str) -> String {
    format!(
        "{}, {}{of_load}, {} propagation, {}{}",
        experiment.network.kind(),
        config.bottleneck.rate,
        config.bottleneck.delay,
        experiment.network.bottleneck.buffer(),
        experiment.network.additions()
    )
}

/// What reading the original warned of, without what the run doubts itself.
fn told_of(capture: &CaptureFacts) -> impl Iterator<Item = &String> {
    let CopyFacts { packets, .. } = capture.copies;
    let doubted = Warning::CapturedTwice { packets, share: capture.copies.share() }.to_string();
    capture.warnings.iter().filter(move |warning| **warning != doubted)
}

/// The window lies behind the end of what the source has, or reaches beyond it.
fn clipped(setup: &Setup<'_>, config: &Config, source: &Source) -> Option<Warning> {
    let asked = setup.plan.window(config);
    let end = setup.record_end(source).filter(|end| *end < asked.end)?;
    let [start, asked, covered] = [asked.start, asked.end, end].map(Duration::from_nanos);
    Some(match start < covered {
        true => Warning::RecordEnds { asked, covered },
        false => Warning::WindowBehindRecord { start, covered },
    })
}

/// Where the workload comes from, by the names of its inputs, and the other files that were read.
fn provenance(source: &Source, read: &[InputFile]) -> BTreeMap<String, String> {
    let mut provenance = BTreeMap::new();
    for input in source.facts.provenance.inputs.iter().chain(read) {
        let name = input.name.as_deref().map_or_else(|| "input".to_owned(), |name| file_name(Path::new(name)));
        // Inputs from different folders may share a name, and without names all do.
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !provenance.contains_key(name));
        let hash = if input.sha256.is_empty() { "unknown: not read to its end" } else { &input.sha256 };
        provenance.insert(free.unwrap_or(name), format!("SHA-256 {hash}"));
    }
    provenance.insert("made by".to_owned(), source.facts.provenance.tool.clone());
    for key in ["load_before", "load"] {
        if let Some(load) = source.facts.provenance.options.get(key) {
            provenance.insert(key.replace('_', " "), load.to_string());
        }
    }
    provenance
}

/// How the workload is replayed, in words.
fn model(plan: &Plan, source: &Source) -> String {
    let drawn = match (plan.experiment.run.variation(), source.blocks) {
        (Some(Variation::Blocks), Some(Blocks { length, count, .. })) => {
            format!(", drawn from {count} blocks of {length}")
        }
        (Some(Variation::Jitter(by)), _) => format!(", starts moved by {by} at most"),
        _ => String::new(),
    };
    let workload = &plan.experiment.workload;
    let loss = match workload.loss {
        LossChoice::None => "",
        LossChoice::Measured => ", measured losses",
    };
    let model = workload.model.as_ref().map_or_else(String::new, |model| format!("{} drawn, ", model.name()));
    format!(
        "{model}{}, {}, {} windows{loss}{drawn}, waits from {} corrected by {}{}{}{}",
        workload.structure.name(),
        workload.rtt,
        workload.window,
        workload.waits.min,
        match workload.waits.correct {
            experiment::Correction::None => "nothing",
            experiment::Correction::Ostt => "the transit they contain",
        },
        if workload.load.is_some() { ", load changed" } else { "" },
        match &workload.prefill {
            Some(length) => format!(", beginning after {length} with what was active then"),
            None => String::new(),
        },
        source.trace_cut().map_or_else(String::new, |cut| {
            format!(", {} ({})", cut.words(), TraceCutFacts::share_words(cut.share()))
        })
    )
}

/// The payload of the connections that results are of, where that is not the whole workload's: vectors of forms with totals alone do not
/// tell what a capture lacked, and their file does.
fn of_window(kept: KeptPayload, whole: &PayloadFacts) -> Option<PayloadFacts> {
    // What the clock releases is told of the whole.
    let kept = PayloadFacts { clocked_bytes: None, ..kept.into() };
    (kept.total().replayed != whole.total().replayed).then(|| whole.part(kept))
}

/// Says which queues are to be held at a delay that is shorter than a packet and a half takes.
fn short_targets(config: &Config, links: &[LinkFacts]) -> Vec<Warning> {
    // The two directions of the bottleneck are alike.
    let all = links.iter().zip(0..).filter(|(_, number)| *number != 1);
    let found = all.filter_map(|(link, number)| {
        let LinkConfig { rate, queue, trace, .. } = config.link(LinkNumber(number));
        // A trace has no rate.
        let [target, least] = queue.short_target(*rate).filter(|_| trace.is_none())?;
        Some(Warning::ShortTarget { link: link.name.clone(), target, least })
    });
    found.collect()
}

/// Probes that offer more than this share of a link's rate are a load of their own.
const MOST_PROBES: f64 = 0.05;

/// Says that probes take much of a link that they cross.
fn heavy_probes(setup: &Setup<'_>, config: &Config, links: &[LinkFacts]) -> Option<Warning> {
    let offers = setup.plan.experiment.probe.as_ref()?.offers();
    let Way { there, back } = &config.classes[setup.senders.probe_class()?].way;
    let shares = there.iter().chain(back).filter_map(|number| {
        let LinkConfig { rate, trace, .. } = config.link(*number);
        // A trace has no rate.
        let rate = rate.bits_per_second().filter(|_| trace.is_none())?;
        Some((number, offers / rate as f64))
    });
    // Of equal links the first.
    let (number, share) = shares.rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let link = links.get(number.index()).map(|link| link.name.clone()).unwrap_or_default();
    (share > MOST_PROBES).then_some(Warning::HeavyProbes { link, share })
}

/// Says that ends use ECN, and no queue between them marks.
fn nothing_marks(config: &Config) -> Option<Warning> {
    let is_in_vain = |class: &Class| {
        let links = || class.way.there.iter().chain(&class.way.back).map(|number| config.link(*number));
        // Nothing waits before a link without a limit.
        let has_queue = |link: &LinkConfig| link.trace.is_some() || link.rate.bits_per_second().is_some();
        class.tcp.ecn != EcnEcho::Off && links().any(has_queue) && !links().any(|link| link.queue.marks())
    };
    config.classes.iter().any(is_in_vain).then_some(Warning::NothingMarks)
}

/// Draws whose mean number of active connections is expected to be below this share of their workload's.
const FEW_ACTIVE: f64 = 0.95;

/// Says that draws have fewer active connections than their workload.
fn fewer_active(source: &Source) -> Option<Warning> {
    let share = source.blocks?.active_share;
    (share < FEW_ACTIVE).then_some(Warning::FewerActive { share })
}

/// Says that flows of datagrams are not replayed, or that many not datagram by datagram, if there are any. Those of a model are as it
/// has them.
fn of_datagrams(plan: &Plan, source: &Source, evened: u64) -> Option<Warning> {
    let left_out = unsent_flows(&source.facts, plan.experiment.workload.datagrams);
    if left_out > 0 {
        return Some(Warning::DatagramsNotReplayed { flows: left_out, of_capture: plan.kind == Kind::Capture });
    }
    (evened > 0 && plan.experiment.workload.model.is_none()).then_some(Warning::DatagramsEvened { flows: evened })
}

/// Run.json: the facts and, beside them, the answer; without what may vary between machines.
pub fn described(facts: &Facts, summary: &Summary) -> serde_json::Value {
    let mut object = facts.to_json();
    let mut summary = serde_json::to_value(summary).unwrap_or_default();
    if let Some(fields) = summary.as_object_mut() {
        fields.remove("wall_ns");
    }
    if facts.interrupted {
        object["complete"] = false.into();
        object["reason"] = "interrupted".into();
    }
    object["verdict"] = summary["verdict"].clone();
    object["summary"] = summary;
    object
}

/// What may vary between machines: wall time, date, host.
pub fn host(stopwatch: Stopwatch) -> HostFacts {
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    HostFacts {
        wall_ns: Some(stopwatch.nanos()),
        date: clock::iso(),
        host: BTreeMap::from([
            ("kernel".to_owned(), read("/proc/sys/kernel/osrelease")),
            ("cores".to_owned(), cores.to_string()),
            ("architecture".to_owned(), std::env::consts::ARCH.to_owned()),
        ]),
    }
}
