//! The page of a report: its header and its sections in their order.

use flowloom_core::units::three_digits;
use maud::{Markup, html};

use super::document::document;
use super::elements::list;
use super::figure::{Figure, Role};
use super::figures::Source;
use super::grid::Grid;
use super::shown::Shown;
use crate::answer::Answer;
use crate::run::Run;
use crate::summary::Summary;
use crate::verdict::Light;
use crate::words::thousands;
use crate::workload_mark::WorkloadMark;
use crate::worst::WorstVerdict;

/// The whole file; without a `title`, one made from those of the runs.
pub(super) fn page(
    shown: &Shown<'_>,
    answer: &Answer,
    summaries: &[&Summary],
    sources: &[Source<'_>],
    figures: &[Figure],
    grids: &[Grid],
    title: Option<&str>,
) -> String {
    let runs = shown.runs();
    let title = title.map_or_else(|| default_title(shown), str::to_owned);
    let lines: Vec<(Role, String)> = sources.iter().map(|source| (source.role.clone(), source.name.clone())).collect();
    let pictured = [&lines[..], &super::real_link::lines(shown.variants)].concat();
    let body = html! {
        (header(&title, shown, &runs, answer, summaries, !grids.is_empty()))
        main {
            (super::answer::section(shown, answer, &lines))
            (super::trust::section(shown, &runs, answer, summaries))
            (super::pictures::section(&pictured, figures, grids))
            (super::real_link::section(shown))
            (super::breakdown::section(shown))
            (super::probes::section(shown))
            (super::queues::section(shown))
            (super::senders::section(shown))
            (super::network::section(shown))
            (super::reproduction::section(shown))
        }
    };
    document(&title, figures, grids, &body)
}

fn default_title(shown: &Shown<'_>) -> String {
    match shown.variants {
        [only] => {
            let run = &only.runs[0];
            if !run.facts.title.is_empty() {
                return run.facts.title.clone();
            }
            run.facts.source_name().map_or_else(|| only.name.clone(), |source| format!("Replay of {source}"))
        }
        [first, others @ ..]
            if others.iter().all(|variant| variant.runs[0].facts.source == first.runs[0].facts.source) =>
        {
            format!(
                "{} replays of {}",
                shown.variants.len(),
                first.runs[0].facts.source_name().unwrap_or("one workload")
            )
        }
        variants => format!("{} runs compared", variants.len()),
    }
}

fn header(
    title: &str,
    shown: &Shown<'_>,
    runs: &[(String, &Run)],
    answer: &Answer,
    summaries: &[&Summary],
    multiples: bool,
) -> Markup {
    let named = runs.iter().zip(summaries).map(|((name, _), summary)| (name.as_str(), &summary.verdict));
    let worst = WorstVerdict::of(named);
    let (connections, of_draws) = connections(runs);
    let plural = if connections == 1 { "" } else { "s" };
    let source = runs.first().and_then(|(_, run)| run.facts.source_name()).unwrap_or("the workload");
    let drivers = list(runs.iter().map(|(_, run)| match run.facts.driver.as_str() {
        "live" | "lab" => "through real sockets",
        _ => "in the simulator",
    }));
    let lead = match (answer.with_original, shown.variants.len()) {
        (true, _) => format!(
            "{} TCP connection{plural} of {source}{of_draws}, replayed closed-loop {drivers} and set beside the original. Both are measured \
             at the same point, the monitored link.",
            thousands(connections)
        ),
        (false, 1) => format!(
            "{} TCP connection{plural} of {source}{of_draws}, replayed closed-loop {drivers}, measured at their own ends.",
            thousands(connections)
        ),
        (false, n) => format!("{n} runs {drivers}, measured at their own ends and set beside the first."),
    };
    let seeds: Vec<String> = runs.iter().map(|(_, run)| run.facts.seed.to_string()).collect();
    let windows: Vec<String> = runs.iter().map(|(_, run)| window(run)).collect();
    let facts = [
        ("driver", list(runs.iter().map(|(_, run)| run.facts.driver.as_str()))),
        (if runs.len() == 1 { "seed" } else { "seeds" }, list(seeds.iter().map(String::as_str))),
        ("window", list(windows.iter().map(String::as_str))),
        ("date", list(runs.iter().map(|(_, run)| run.host.date.as_str()))),
    ];
    let network = runs.iter().any(|(_, run)| run.facts.topology.is_some());
    let senders = super::senders::is_needed(shown);
    let queues = super::queues::is_needed(shown);
    let probes = super::probes::is_needed(shown);
    let real_link = super::real_link::is_needed(shown);
    let sections = [
        ("answer", "Answer"),
        ("trust", "Can I trust it"),
        ("pictures", "Pictures"),
        ("multiples", "Small multiples"),
        ("real-link", "Real link"),
        ("breakdowns", "Breakdowns"),
        ("probes", "Latency under load"),
        ("queues", "Queue delay, loss and marks"),
        ("senders", "Classes and sources"),
        ("network", "Network"),
        ("making", "How it was made"),
    ]
    .into_iter()
    .filter(|(anchor, _)| probes || *anchor != "probes")
    .filter(|(anchor, _)| real_link || *anchor != "real-link")
    .filter(|(anchor, _)| queues || *anchor != "queues")
    .filter(|(anchor, _)| network || *anchor != "network")
    .filter(|(anchor, _)| senders || *anchor != "senders")
    .filter(|(anchor, _)| multiples || *anchor != "multiples");
    html! {
        header class="top" {
            p class="brand" { "Flowloom " span { "report" } }
            h1 { (title) }
            p class="lead" { (lead) }
            @if let Some(verdict) = &worst { (words(verdict)) }
            ul class="facts" {
                @for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
                    li { span { (name) } " " (value) }
                }
            }
            nav aria-label="Sections" {
                @for (anchor, name) in sections { a href={ "#" (anchor) } { (name) } }
            }
        }
    }
}

/// Connections of the replay, and of how many draws they are, in words: of one draw, which all seeds may have, those of the first run.
fn connections(runs: &[(String, &Run)]) -> (u64, String) {
    let measured = || runs.iter().map(|(_, run)| &run.measurements);
    if runs.len() < 2 || WorkloadMark::is_one_draw(measured().map(|measured| measured.workload)) {
        return (measured().next().map_or(0, |measured| measured.outcomes.started()), String::new());
    }
    (measured().map(|measured| measured.outcomes.started()).sum(), format!(" in {} draws", runs.len()))
}

/// The three words in the worst of their colours, with the runs that have them and the reasons of those that are not the best.
fn words(worst: &WorstVerdict<&str>) -> Markup {
    let (verdict, owners) = (worst.told(""), worst.owners(""));
    let reasons = [&verdict.accounted.reasons, &verdict.plausible.reasons, &verdict.fidelity.reasons];
    let reasons: Vec<&str> = reasons.into_iter().flatten().map(String::as_str).collect();
    html! {
        p class={ "verdict " (class(verdict.light())) } {
            @for ((name, word, light), owners) in verdict.words().into_iter().zip(owners) {
                span class={ "word " (class(light)) } { (name) " " b { (word) } (owners) } " "
            }
            @if !reasons.is_empty() { span class="reasons" { (reasons.join("; ")) } }
        }
    }
}

fn class(light: Light) -> &'static str {
    match light {
        Light::Green => "valid",
        Light::Yellow => "degraded",
        Light::Red => "invalid",
    }
}

fn window(run: &Run) -> String {
    let (start, end) = run.measurements.window;
    let seconds = |nanos: u64| three_digits(nanos as f64 / 1e9);
    format!("{}–{} s", seconds(start.as_nanos()), seconds(end.as_nanos()))
}
