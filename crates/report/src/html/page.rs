//! The page around the pictures.

use flowloom_core::units::three_digits;
use maud::{Markup, PreEscaped, Render, html};

use super::ReportOptions;
use super::figure::{Figure, Role};
use super::figures::Source;
use super::grid::Grid;
use crate::answer::Answer;
use crate::compare::{Basis, Judgement, Outcome, Verdict as MetricVerdict};
use crate::run::Run;
use crate::summary::Summary;
use crate::text::{said, thousands, verdict_reason};
use crate::variant::Variant;
use crate::verdict::Verdict;

const STYLE: &str = include_str!("report.css");
/// The script's files in their order: one function holds them all.
const SCRIPT: [&str; 6] = [
    include_str!("script/numbers.js"),
    include_str!("script/views.js"),
    include_str!("script/chart.js"),
    include_str!("script/closer.js"),
    include_str!("script/saving.js"),
    include_str!("script/page.js"),
];

/// The content security policy: a page fetches nothing. Images come from data in the page only, which is how a figure becomes a PNG.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// A value in which no line ends between a number and its unit.
pub(super) fn value(text: &str) -> String {
    text.split(" / ").map(|part| part.replace(' ', "\u{a0}")).collect::<Vec<_>>().join(" / ")
}

/// A report's variants as its sections need them.
pub(super) struct Shown<'a> {
    /// What is drawn and told of, in order.
    pub variants: &'a [Variant],
    /// Their names, short.
    pub names: &'a [String],
    /// Whether an original is the reference.
    pub with_original: bool,
}

impl<'a> Shown<'a> {
    /// The first run of each variant, with its role.
    pub(super) fn firsts(&self) -> impl Iterator<Item = (Role, &'a Run)> {
        self.variants.iter().enumerate().map(|(index, variant)| (Role::run(index), &variant.runs[0]))
    }

    /// All runs, each with a name: that of its variant, and its seed where there are several.
    fn runs(&self) -> Vec<(String, &'a Run)> {
        let of_variant = |(variant, name): (&'a Variant, &String)| -> Vec<(String, &'a Run)> {
            let seeded = |run: &'a Run| (format!("{name}, seed {}", run.facts.seed), run);
            match &variant.runs[..] {
                [only] => vec![(name.clone(), only)],
                runs => runs.iter().map(seeded).collect(),
            }
        };
        self.variants.iter().zip(self.names).flat_map(of_variant).collect()
    }

    /// The heading of what is told of variant `index`; none if there is only one.
    pub(super) fn heading(&self, index: usize) -> Markup {
        html! {
            @if self.variants.len() > 1 {
                h3 { (swatch(&Role::run(index))) (self.names[index]) }
            }
        }
    }

    /// The same of what is told of its first seed only.
    pub(super) fn heading_of_first(&self, index: usize) -> Markup {
        let runs = &self.variants[index].runs;
        html! {
            @if self.variants.len() > 1 || runs.len() > 1 {
                h3 {
                    (swatch(&Role::run(index))) (self.names[index])
                    @if runs.len() > 1 { " " span class="quiet" { "seed " (runs[0].facts.seed) } }
                }
            }
        }
    }
}

/// The whole file.
pub(super) fn page(
    shown: &Shown<'_>,
    answer: &Answer,
    sources: &[Source<'_>],
    figures: &[Figure],
    grids: &[Grid],
    options: &ReportOptions,
) -> String {
    let runs = shown.runs();
    let summaries: Vec<Summary> = runs.iter().map(|(_, run)| run.summary()).collect();
    let title = options.title.clone().unwrap_or_else(|| default_title(shown));
    let lines: Vec<(Role, String)> = sources.iter().map(|source| (source.role.clone(), source.name.clone())).collect();
    let body = html! {
        (header(&title, shown, &runs, answer, &summaries, !grids.is_empty()))
        main {
            (super::answer::section(shown, answer, &lines))
            (super::trust::section(&runs, answer, &summaries))
            (super::pictures::section(&lines, figures, grids))
            (super::breakdown::section(shown))
            (super::senders::section(shown))
            (super::network::section(shown))
            (super::making::section(shown))
        }
    };
    document(&title, figures, grids, &body)
}

/// A whole file: `body` with style, script and the data of `figures` and `grids`.
pub(super) fn document(title: &str, figures: &[Figure], grids: &[Grid], body: &Markup) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) " – Flowloom" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                script type="application/json" id="figures" { (json(figures, grids)) }
                script {
                    (PreEscaped("\n\"use strict\";\n(() => {\n"))
                    @for part in SCRIPT { (PreEscaped(part)) }
                    (PreEscaped("})();\n"))
                }
            }
        }
    };
    page.into_string() + "\n"
}

/// The figures as JSON that cannot end its script element.
fn json(figures: &[Figure], grids: &[Grid]) -> PreEscaped<String> {
    let figures = figures.iter().map(serde_json::to_string);
    let all: Vec<String> =
        figures.chain(grids.iter().map(serde_json::to_string)).map(|text| text.unwrap_or_default()).collect();
    PreEscaped(format!("[{}]", all.join(",")).replace('<', "\\u003c"))
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
    summaries: &[Summary],
    multiples: bool,
) -> Markup {
    let worst = summaries.iter().map(|summary| summary.verdict).max().unwrap_or(Verdict::Invalid);
    let reason = summaries
        .iter()
        .find(|summary| summary.verdict == worst)
        .map(|summary| verdict_reason(&summary.gates))
        .unwrap_or_default();
    let connections = runs.first().map_or(0, |(_, run)| run.measurements.outcomes.started());
    let plural = if connections == 1 { "" } else { "s" };
    let source = runs.first().and_then(|(_, run)| run.facts.source_name()).unwrap_or("the workload");
    let drivers = list(runs.iter().map(|(_, run)| match run.facts.driver.as_str() {
        "live" | "lab" => "through real sockets",
        _ => "in the simulator",
    }));
    let lead = match (answer.with_original, shown.variants.len()) {
        (true, 1) => format!(
            "{} TCP connection{plural} of {source}, replayed closed-loop {drivers} and set beside the original. Both are measured \
             at the same point, the monitored link.",
            thousands(connections)
        ),
        (true, n) => format!(
            "{n} replays of the {} TCP connection{plural} of {source}, {drivers}, set beside the original. All are measured at \
             the same point, the monitored link.",
            thousands(connections)
        ),
        (false, 1) => format!(
            "{} TCP connection{plural} of {source}, replayed closed-loop {drivers}, measured at their own ends.",
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
    let sections = [
        ("answer", "Answer"),
        ("trust", "Can I trust it"),
        ("pictures", "Pictures"),
        ("multiples", "Small multiples"),
        ("breakdowns", "Breakdowns"),
        ("senders", "Classes and sources"),
        ("network", "Network"),
        ("making", "How it was made"),
    ]
    .into_iter()
    .filter(|(anchor, _)| network || *anchor != "network")
    .filter(|(anchor, _)| senders || *anchor != "senders")
    .filter(|(anchor, _)| multiples || *anchor != "multiples");
    html! {
        header class="top" {
            p class="brand" { "Flowloom " span { "report" } }
            h1 { (title) }
            p class="lead" { (lead) }
            p class={ "verdict " (worst.to_string().to_lowercase()) } {
                b { (maud::display(worst)) } " " span { (reason) }
            }
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

fn window(run: &Run) -> String {
    let (start, end) = run.measurements.window;
    let seconds = |nanos: u64| three_digits(nanos as f64 / 1e9);
    format!("{}–{} s", seconds(start.as_nanos()), seconds(end.as_nanos()))
}

/// Different items once each, in their order, with commas.
pub(super) fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for item in items.filter(|item| !item.is_empty()) {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen.join(", ")
}

fn judgement_class(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Same => "same",
        Judgement::Close => "close",
        Judgement::Different => "different",
        Judgement::CannotTell => "untold",
    }
}

pub(super) fn badge(judgement: Judgement) -> Markup {
    html! { span class={ "judged " (judgement_class(judgement)) } { (maud::display(judgement)) } }
}

/// The same of what is said of a metric: its verdict, or what its distance means where there is nothing else.
pub(super) fn verdict_badge(judgement: Judgement, verdict: &MetricVerdict) -> Markup {
    let class = match (verdict.basis, verdict.outcome) {
        (Basis::Distance, _) => judgement_class(judgement),
        (_, Outcome::Same) => "same",
        (_, Outcome::Different) => "different",
        (_, Outcome::CannotTell) => "untold",
    };
    html! { span class={ "judged " (class) } { (said(judgement, verdict)) } }
}

/// The look of a role's lines, beside its name.
pub(super) fn swatch(role: &Role) -> Markup {
    html! {
        svg class={ "swatch " (role.class) } aria-hidden="true" width="22" height="8" { path d="M1 4H21" {} }
    }
}

/// A table that scrolls sideways where it is wider than the page, which a keyboard can do too.
pub(super) fn scrolled(label: &str, table: &Markup) -> Markup {
    html! { div class="scroll" tabindex="0" role="group" aria-label=(label) { (table) } }
}

/// The head of a table: one row with the names of the columns.
pub(super) fn heads<T: Render>(names: impl IntoIterator<Item = T>) -> Markup {
    html! { thead { tr { @for name in names { th scope="col" { (name) } } } } }
}

/// A row of a table: its name, then its cells.
pub(super) fn row<T: Render>(name: impl Render, cells: impl IntoIterator<Item = T>) -> Markup {
    html! { tr { th scope="row" { (name) } @for cell in cells { td { (cell) } } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_listed_once() {
        assert_eq!(list(["sim", "", "live", "sim"].into_iter()), "sim, live");
    }
}
