//! What the trust in a run rests on: gates, warnings with remedies, and how distances are to be read.

use maud::{Markup, html};

use super::plausibility;
use super::shown::Shown;
use crate::answer::Answer;
use crate::compare::Comparison;
use crate::other_bytes::Apart;
use crate::run::{Endings, Run};
use crate::summary::Summary;
use crate::verdict::Accounted;
use crate::words::thousands;

/// The section.
pub(super) fn section(shown: &Shown<'_>, runs: &[(String, &Run)], answer: &Answer, summaries: &[&Summary]) -> Markup {
    let apart = Apart::of(shown.variants);
    html! {
        section id="trust" {
            h2 { "Can I trust it" }
            (list(apart.warnings().map(|(cause, remedy)| (cause.to_owned(), Some(remedy))).collect()))
            @for ((name, _), summary) in runs.iter().zip(summaries) {
                @if runs.len() > 1 { h3 { (name) " " span class="quiet" { (maud::display(summary.verdict.accounted.word)) } } }
                (gates(summary))
                (warnings(summary))
                @if let Some(found) = &summary.plausibility { (plausibility::part(found)) }
            }
            div class="notes" {
                p { (distances()) }
                @if answer.with_original {
                    @let many = answer.comparisons.len() > 1;
                    @for comparison in &answer.comparisons {
                        @if let Some(endings) = comparison.endings { p { (compared(comparison, endings, many)) } }
                    }
                }
            }
        }
    }
}

fn gates(summary: &Summary) -> Markup {
    let words = |verdict: Accounted| match verdict {
        Accounted::Valid => ("valid", "✓", "passed"),
        Accounted::Degraded => ("degraded", "!", "reservation"),
        Accounted::Invalid => ("invalid", "✕", "failed"),
    };
    html! {
        ul class="gates" {
            @for gate in &summary.gates {
                @let (class, mark, word) = words(gate.verdict);
                li class=(class) {
                    span class="mark" role="img" aria-label=(word) { (mark) }
                    b { (gate.name) }
                    span { (gate.found) }
                }
            }
        }
    }
}

fn warnings(summary: &Summary) -> Markup {
    list(summary.warnings.iter().map(|warning| (warning.cause(), warning.remedy())).collect())
}

/// Causes of doubt with their remedies.
fn list(warnings: Vec<(String, Option<&str>)>) -> Markup {
    html! {
        @if !warnings.is_empty() {
            ul class="warnings" {
                @for (cause, remedy) in &warnings {
                    li {
                        (sentence(cause))
                        @if let Some(remedy) = remedy { " " span class="remedy" { "Remedy: " (remedy) "." } }
                    }
                }
            }
        }
    }
}

/// How distances are to be read.
fn distances() -> Markup {
    html! {
        "Distances are effect sizes, not tests: values within a run depend on each other. " b { "KS" } " is the largest difference \
         between two distribution functions; " b { "tolerant KS" } " is what is left of it after each value may move by \
         max(0.5 ms, 2 %) (times), 2 % (rates, sizes) or max(half a unit, 2 %) (counts). Up to 0.02, or one value of the sample, is \
         called " i { "same" } ", up to 0.1, or two values, " i { "close" } ", more " i { "different" } "; fewer than ten values tell \
         nothing. A series over time is judged by the ratio of its means, with the same limits of its distance from 1; a KS distance of \
         its bins is given if fifty of them hold anything and they vary by more than a tenth. An exchange or connection that had not ended \
         with the run is at least as long as it was seen to last: a quantile that depends on such is shown as at least what it is then. Under a \
         picture, " b { "q" sub { "50" } } " is the ratio of the medians, "
        b { "q" sub { "99" } } " that of the 99 % quantiles."
    }
}

/// The tolerant KS distances of clean connections alone.
fn clean(comparison: &Comparison) -> String {
    let of = comparison.card.iter().filter_map(|score| Some((score.metric, score.clean?)));
    let words = of.map(|(metric, clean)| match clean.tolerant_ks {
        Some(distance) => format!("{} {distance:.3} over {}", metric.plural(), thousands(clean.n as u64)),
        None => format!("{} none, with {} values", metric.plural(), clean.n),
    });
    let words: Vec<String> = words.collect();
    match words.is_empty() {
        true => "none is clean".to_owned(),
        false => format!("of those that finished in both and lost nothing the distances are: {}", words.join(", ")),
    }
}

/// Which connections were compared; `many` if there are several comparisons.
fn compared(comparison: &Comparison, endings: Endings, many: bool) -> Markup {
    html! {
        @if many { b { (comparison.other) } ": " }
        "The close was seen in both original and replay of " (thousands(endings.both)) " connections ("
        (thousands(endings.only_original)) " only in the original, " (thousands(endings.only_replay)) " only in the replay, "
        (thousands(endings.neither)) " in neither); " (thousands(comparison.lost_in_original_connections))
        " lost packets in the original. Durations and response times are compared over all of them; "
        (clean(comparison)) "."
    }
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map_or(String::new(), |first| first.to_uppercase().collect());
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
