//! What the trust in a run rests on: gates, warnings with remedies, and how distances are to be read.

use maud::{Markup, html};

use super::plausibility;
use crate::answer::Answer;
use crate::compare::Comparison;
use crate::run::{Endings, Run};
use crate::summary::Summary;
use crate::verdict::Verdict;
use crate::words::thousands;

/// The section.
pub(super) fn section(runs: &[(String, &Run)], answer: &Answer, summaries: &[Summary]) -> Markup {
    html! {
        section id="trust" {
            h2 { "Can I trust it" }
            @for ((name, _), summary) in runs.iter().zip(summaries) {
                @if runs.len() > 1 { h3 { (name) " " span class="quiet" { (maud::display(summary.verdict)) } } }
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
    let words = |verdict: Verdict| match verdict {
        Verdict::Valid => ("valid", "✓", "passed"),
        Verdict::Degraded => ("degraded", "!", "reservation"),
        Verdict::Invalid => ("invalid", "✕", "failed"),
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
    html! {
        @if !summary.warnings.is_empty() {
            ul class="warnings" {
                @for warning in &summary.warnings {
                    li {
                        (sentence(&warning.cause()))
                        @if let Some(remedy) = warning.remedy() { " " span class="remedy" { "Remedy: " (remedy) "." } }
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
         max(0.5 ms, 2 %) (times), 2 % (rates, sizes) or max(half a unit, 2 %) (counts). The " b { "overall distance" } " is the mean \
         tolerant KS of response times, durations, active connections and throughput. Up to 0.02, or one value of the sample, is \
         called " i { "same" } ", up to 0.1, or two values, " i { "close" } ", more " i { "different" } "; fewer than ten values tell \
         nothing. For a series over time the values are its bins: it can be " i { "different" } " though its mean, whose ratio stands \
         beside, is a few percent off. Under a picture, " b { "q" sub { "50" } } " is the ratio of the medians, "
        b { "q" sub { "99" } } " that of the 99 % quantiles."
    }
}

/// Which connections' durations were compared; `many` if there are several comparisons.
fn compared(comparison: &Comparison, endings: Endings, many: bool) -> Markup {
    html! {
        @if many { b { (comparison.other) } ": " }
        "Durations are compared on the " (thousands(endings.both)) " connections whose close was seen in both worlds ("
        (thousands(endings.only_original)) " only in the original, " (thousands(endings.only_replay)) " only in the replay, "
        (thousands(endings.neither)) " in neither). " (thousands(comparison.lost_in_original_connections))
        " connections lost packets in the original, which the replay does not repeat: durations and response times leave them out \
         and the breakdown shows them apart."
    }
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map_or(String::new(), |first| first.to_uppercase().collect());
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
