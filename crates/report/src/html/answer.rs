//! The answer in numbers and in words, and where its numbers come from.

use maud::{Markup, html};

use super::elements::{swatch, value, verdict_badge};
use super::figure::Role;
use super::provenance::{Scope, coded};
use super::shown::Shown;
use crate::answer::{Answer, AnswerRow, Distance};
use crate::compare::{Comparison, Judgement};

/// More columns than this would run out of the page: the table is laid on its side, a row for each run.
const MOST_COLUMNS: usize = 6;

/// The section; `lines` are the roles and names of what is drawn.
pub(super) fn section(shown: &Shown<'_>, answer: &Answer, lines: &[(Role, String)]) -> Markup {
    let aside = answer.columns.len() > MOST_COLUMNS;
    let many = answer.comparisons.len() > 1;
    html! {
        section id="answer" {
            h2 { "Answer" }
            @for (name, told) in &answer.feedback {
                p class="overall" { @if answer.feedback.len() > 1 { b { (name) } ": " } "Bytes: " (told) }
            }
            div .answer .many[many] {
                div {
                    div class="scroll" tabindex="0" role="group" aria-label="The answer in numbers" {
                        @if aside { (table_aside(answer, lines)) } @else { (table(answer, lines)) }
                    }
                    (verdicts(answer, lines))
                    (origins(shown, answer))
                }
                div class="findings" {
                    h3 { "Largest differences" }
                    @if let Some(note) = answer.comparisons.iter().chain(&answer.fidelity).find_map(Comparison::note_on_seeds) {
                        p class="quiet" { (note) }
                    }
                    @if answer.comparisons.is_empty() { p { "Nothing to compare with: this run has no original." } }
                    div class="told" {
                        @for (index, comparison) in answer.comparisons.iter().enumerate() {
                            (findings(comparison, many.then(|| &lines[index + 1])))
                        }
                    }
                    @if answer.with_original {
                        @for comparison in &answer.comparisons { p class="overall" { (fidelity(comparison)) } }
                    }
                    @for comparison in &answer.fidelity {
                        p class="overall" { b { (comparison.other) } ": " (fidelity(comparison)) }
                    }
                }
            }
        }
    }
}

/// The value of column `index` in a row.
fn cell(row: &AnswerRow, index: usize) -> String {
    let text = &row.values[index];
    if index == 0 || !row.statistic.is_empty() { value(text) } else { text.clone() }
}

/// The distance of column `index` from the first; `None` where nothing is compared.
fn distance(row: &AnswerRow, index: usize) -> Option<Markup> {
    let distance = row.distances.get(index.checked_sub(1)?)?.as_ref()?;
    let ratio = distance.ratio();
    Some(html! {
        span class="distance" { (distance.number()) } " "
        (verdict_badge(distance.judgement, &distance.verdict))
        @if !ratio.is_empty() { " " span class="quiet" { (ratio) } }
    })
}

/// How near a replay is to its original: the worst metric of its score card.
fn fidelity(comparison: &Comparison) -> Markup {
    html! {
        @match &comparison.fidelity {
            Some(fidelity) if !fidelity.conditions.is_empty() => {
                "Fidelity is not compared, under other conditions: " (fidelity.conditions.join(", ")) ". Beside the original, at the monitor: "
            }
            _ => { "Fidelity to the original, at the monitor: " }
        }
        @if let Some((score, distance)) = comparison.worst_score().and_then(|score| Some((score, score.distance?))) {
            "the worst of " (comparison.card.len()) " metrics is " (score.metric.plural()) ", distance "
            b { (format_args!("{distance:.3}")) } " " span class="quiet" { (SCALE) }
        } @else {
            "no metric has enough values"
        }
    }
}

/// The head of a column of a quantity.
fn quantity(row: &AnswerRow) -> Markup {
    html! { (row.name) " " span class="statistic" { (row.statistic) } }
}

/// A row for each quantity. One replay has its distances in a column of their own; several have them below their values.
fn table(answer: &Answer, lines: &[(Role, String)]) -> Markup {
    let many = answer.comparisons.len() > 1;
    let apart = answer.comparisons.len() == 1;
    let legend = answer.directions.legend();
    html! {
        table class="numbers" {
            thead {
                tr {
                    th scope="col" { span class="quiet" { "quantity" @if !legend.is_empty() { " (" (legend) ")" } } }
                    @for (role, name) in lines { th scope="col" { (swatch(role)) (name) } }
                    @if apart { th scope="col" { (Distance::HEAD) } }
                }
            }
            tbody {
                @for row in &answer.rows {
                    tr {
                        th scope="row" { (quantity(row)) }
                        @for index in 0..row.values.len() {
                            td {
                                (cell(row, index))
                                @if many && let Some(distance) = distance(row, index) { div class="below" { (distance) } }
                            }
                        }
                        @if apart { td { (distance(row, 1).unwrap_or_default()) } }
                    }
                }
            }
        }
    }
}

/// A row for each run.
fn table_aside(answer: &Answer, lines: &[(Role, String)]) -> Markup {
    let legend = answer.directions.legend();
    html! {
        table class="numbers aside" {
            thead {
                tr {
                    th scope="col" { span class="quiet" { "run" @if !legend.is_empty() { " (" (legend) ")" } } }
                    @for row in &answer.rows { th scope="col" { (quantity(row)) } }
                }
            }
            tbody {
                @for (index, (role, name)) in lines.iter().enumerate() {
                    tr {
                        th scope="row" { (swatch(role)) (name) }
                        @for row in &answer.rows {
                            td {
                                (cell(row, index))
                                @if let Some(distance) = distance(row, index) { div class="below" { (distance) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What is said of some quantities of some runs: the runs with their quantities, the verdict and its reason.
struct Said<'a> {
    of: Vec<(&'a str, Vec<&'a str>)>,
    badge: Markup,
    reason: &'a str,
}

/// What can be said of each quantity and why, intervals in it; quantities of which the same is said share a row.
fn verdicts(answer: &Answer, lines: &[(Role, String)]) -> Markup {
    let mut told: Vec<Said<'_>> = Vec::new();
    for (index, (_, run)) in lines.iter().skip(1).enumerate() {
        for (row, distance) in answer.rows.iter().filter_map(|row| Some((row, row.distances.get(index)?.as_ref()?))) {
            let badge = verdict_badge(distance.judgement, &distance.verdict);
            let reason = distance.verdict.reason.as_str();
            let place = told.iter().position(|known| known.badge.0 == badge.0 && known.reason == reason);
            let place = place.unwrap_or_else(|| {
                told.push(Said { of: Vec::new(), badge, reason });
                told.len() - 1
            });
            match told[place].of.last_mut() {
                Some((last, quantities)) if last == run => quantities.push(row.name.as_str()),
                _ => told[place].of.push((run, vec![row.name.as_str()])),
            }
        }
    }
    let words = |(run, quantities): &(&str, Vec<&str>)| match answer.comparisons.len() {
        0 | 1 => quantities.join(", "),
        _ => format!("{run}: {}", quantities.join(", ")),
    };
    html! {
        @if !told.is_empty() {
            h3 class="why" { "Why" }
            dl class="verdicts" {
                @for Said { of, badge, reason } in &told {
                    dt { (of.iter().map(words).collect::<Vec<_>>().join("; ")) " " (badge) }
                    dd { (reason) }
                }
            }
        }
    }
}

/// The tables and columns behind each row.
fn origins(shown: &Shown<'_>, answer: &Answer) -> Markup {
    let measured = &shown.variants[0].runs[0].measurements;
    let scope = Scope { with_original: answer.with_original, window: measured.window, bin: measured.bin };
    let from = |row: &AnswerRow| match row.metric {
        Some(metric) => scope.of(metric).from,
        None => "`connections.parquet`: `outcome`, of rows whose `start_ns` is in the window".to_owned(),
    };
    html! {
        dl class="origins" {
            @for row in &answer.rows { dt { (row.name) } dd { (coded(&from(row))) } }
        }
    }
}

/// How to read a distance.
const SCALE: &str = "(0 is the same)";

/// The largest differences of one comparison; `role` colours its name where there are several.
fn findings(comparison: &Comparison, role: Option<&(Role, String)>) -> Markup {
    let differences = comparison.largest_differences();
    let told = comparison.differences.iter().any(|difference| difference.judgement != Judgement::CannotTell);
    html! {
        div {
            @if let Some((role, name)) = role { h4 { (swatch(role)) (name) } }
            @if !differences.is_empty() {
                ol {
                    @for difference in differences {
                        li { (difference.finding) ". " (verdict_badge(difference.judgement, &difference.verdict)) }
                    }
                }
            } @else if told {
                p { "None: every metric with enough values is the same within its tolerance." }
            } @else {
                p { "None can be told: no metric has enough values." }
            }
        }
    }
}
