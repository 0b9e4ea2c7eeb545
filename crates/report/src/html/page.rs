//! The page around the pictures.

use std::fmt::Write as _;

use flowloom_core::units::three_digits;

use super::figure::{Figure, Role};
use super::figures::Source;
use super::grid::Grid;
use super::{ReportOptions, escaped};
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

/// A value as HTML in which no line ends between a number and its unit.
pub(super) fn value(text: &str) -> String {
    escaped(text).split(" / ").map(|part| part.replace(' ', "\u{a0}")).collect::<Vec<_>>().join(" / ")
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
    pub(super) fn heading(&self, html: &mut String, index: usize) {
        if self.variants.len() > 1 {
            let _ = writeln!(html, "<h3>{}{}</h3>", swatch(&Role::run(index)), escaped(&self.names[index]));
        }
    }

    /// The same of what is told of its first seed only.
    pub(super) fn heading_of_first(&self, html: &mut String, index: usize) {
        let runs = &self.variants[index].runs;
        let first = if runs.len() > 1 {
            format!(" <span class=\"quiet\">seed {}</span>", runs[0].facts.seed)
        } else {
            String::new()
        };
        if self.variants.len() > 1 || runs.len() > 1 {
            let _ = writeln!(html, "<h3>{}{}{first}</h3>", swatch(&Role::run(index)), escaped(&self.names[index]));
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
    document(&title, figures, grids, |html| {
        header(html, &title, shown, &runs, answer, &summaries, !grids.is_empty());
        html.push_str("<main>\n");
        super::answer::section(html, shown, answer, &lines);
        super::trust::section(html, &runs, answer, &summaries);
        super::pictures::section(html, &lines, figures, grids);
        super::breakdown::section(html, shown);
        super::senders::section(html, shown);
        super::network::section(html, shown);
        super::making::section(html, shown);
        html.push_str("</main>\n");
    })
}

/// A whole file: what `body` writes, with style, script and the data of `figures` and `grids`. Its policy lets nothing be fetched;
/// pictures come from data in the page only, which is how a figure becomes a PNG.
pub(super) fn document(title: &str, figures: &[Figure], grids: &[Grid], body: impl FnOnce(&mut String)) -> String {
    let mut html = String::with_capacity(1 << 20);
    let safe_title = escaped(title);
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n\
         <title>{safe_title} – Flowloom</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    body(&mut html);
    let _ = writeln!(html, "<script type=\"application/json\" id=\"figures\">{}</script>", json(figures, grids));
    html.push_str("<script>\n\"use strict\";\n(() => {\n");
    SCRIPT.iter().for_each(|part| html.push_str(part));
    html.push_str("})();\n</script>\n</body>\n</html>\n");
    html
}

/// The figures as JSON that cannot end its script element.
fn json(figures: &[Figure], grids: &[Grid]) -> String {
    let figures = figures.iter().map(serde_json::to_string);
    let all: Vec<String> =
        figures.chain(grids.iter().map(serde_json::to_string)).map(|text| text.unwrap_or_default()).collect();
    format!("[{}]", all.join(",")).replace('<', "\\u003c")
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
    html: &mut String,
    title: &str,
    shown: &Shown<'_>,
    runs: &[(String, &Run)],
    answer: &Answer,
    summaries: &[Summary],
    multiples: bool,
) {
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
        "live" => "through real sockets",
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
    let _ = write!(
        html,
        "<header class=\"top\">\n<p class=\"brand\">Flowloom <span>report</span></p>\n<h1>{}</h1>\n\
         <p class=\"lead\">{}</p>\n<p class=\"verdict {}\"><b>{worst}</b> <span>{}</span></p>\n<ul class=\"facts\">\n",
        escaped(title),
        escaped(&lead),
        worst.to_string().to_lowercase(),
        escaped(&reason)
    );
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(html, "<li><span>{name}</span> {}</li>", escaped(&value));
        }
    };
    fact("driver", list(runs.iter().map(|(_, run)| run.facts.driver.as_str())));
    let seeds: Vec<String> = runs.iter().map(|(_, run)| run.facts.seed.to_string()).collect();
    fact(if runs.len() == 1 { "seed" } else { "seeds" }, list(seeds.iter().map(String::as_str)));
    fact("window", list(runs.iter().map(|(_, run)| window(run)).collect::<Vec<_>>().iter().map(String::as_str)));
    fact("date", list(runs.iter().map(|(_, run)| run.host.date.as_str())));
    html.push_str("</ul>\n<nav aria-label=\"Sections\">\n");
    let network = runs.iter().any(|(_, run)| run.facts.topology.is_some());
    let senders = super::senders::is_needed(shown);
    for (anchor, name) in [
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
    .filter(|(anchor, _)| multiples || *anchor != "multiples")
    {
        let _ = writeln!(html, "<a href=\"#{anchor}\">{name}</a>");
    }
    html.push_str("</nav>\n</header>\n");
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

pub(super) fn badge(judgement: Judgement) -> String {
    format!("<span class=\"judged {}\">{judgement}</span>", judgement_class(judgement))
}

/// The same of what is said of a metric: its verdict, or what its distance means where there is nothing else.
pub(super) fn verdict_badge(judgement: Judgement, verdict: &MetricVerdict) -> String {
    let class = match (verdict.basis, verdict.outcome) {
        (Basis::Distance, _) => judgement_class(judgement),
        (_, Outcome::Same) => "same",
        (_, Outcome::Different) => "different",
        (_, Outcome::CannotTell) => "untold",
    };
    format!("<span class=\"judged {class}\">{}</span>", said(judgement, verdict))
}

/// The look of a role's lines, beside its name.
pub(super) fn swatch(role: &Role) -> String {
    format!(
        "<svg class=\"swatch {}\" aria-hidden=\"true\" width=\"22\" height=\"8\"><path d=\"M1 4H21\"/></svg>",
        role.class
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_listed_once() {
        assert_eq!(list(["sim", "", "live", "sim"].into_iter()), "sim, live");
    }
}
