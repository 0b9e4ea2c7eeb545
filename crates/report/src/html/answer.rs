//! The answer in numbers and in words, and where its numbers come from.

use std::fmt::Write as _;

use super::escaped;
use super::figure::Role;
use super::page::{Shown, swatch, value, verdict_badge};
use super::provenance::{Scope, coded};
use crate::answer::{Answer, AnswerRow, Distance};
use crate::compare::{Comparison, Judgement};

/// More columns than this would run out of the page: the table is laid on its side, a row for each run.
const MOST_COLUMNS: usize = 6;

/// The section; `lines` are the roles and names of what is drawn.
pub(super) fn section(html: &mut String, shown: &Shown<'_>, answer: &Answer, lines: &[(Role, String)]) {
    let aside = answer.columns.len() > MOST_COLUMNS;
    let many = answer.comparisons.len() > 1;
    let many_class = if many { " many" } else { "" };
    let _ = write!(
        html,
        "<section id=\"answer\">\n<h2>Answer</h2>\n<div class=\"answer{many_class}\">\n<div>\n<div class=\"scroll\" tabindex=\"0\" \
         role=\"group\" aria-label=\"The answer in numbers\">"
    );
    if aside {
        table_aside(html, answer, lines);
    } else {
        table(html, answer, lines);
    }
    html.push_str("</div>\n");
    verdicts(html, answer, lines);
    origins(html, shown, answer);
    html.push_str("</div>\n<div class=\"findings\">\n<h3>Largest differences</h3>\n");
    if answer.comparisons.is_empty() {
        html.push_str("<p>Nothing to compare with: this run has no original.</p>\n");
    }
    html.push_str("<div class=\"told\">\n");
    for (index, comparison) in answer.comparisons.iter().enumerate() {
        findings(html, comparison, many.then(|| &lines[index + 1]));
    }
    html.push_str("</div>\n");
    if !many && let Some(distance) = answer.comparisons.first().and_then(|comparison| comparison.distance) {
        let _ = writeln!(
            html,
            "<p class=\"overall\">Overall distance <b>{distance:.3}</b> <span class=\"quiet\">{SCALE}</span></p>"
        );
    }
    html.push_str("</div>\n</div>\n</section>\n");
}

/// The value of column `index` in a row.
fn cell(row: &AnswerRow, index: usize) -> String {
    let text = &row.values[index];
    if index == 0 || !row.statistic.is_empty() { value(text) } else { escaped(text) }
}

/// The distance of column `index` from the first; `None` where nothing is compared.
fn distance(row: &AnswerRow, index: usize) -> Option<String> {
    let distance = row.distances.get(index.checked_sub(1)?)?.as_ref()?;
    let ratio = distance.ratio();
    let ratio = if ratio.is_empty() { ratio } else { format!(" <span class=\"quiet\">{ratio}</span>") };
    Some(format!(
        "<span class=\"distance\">{}</span> {}{ratio}",
        distance.number(),
        verdict_badge(distance.judgement, &distance.verdict)
    ))
}

fn overall(comparison: &Comparison) -> String {
    comparison.distance.map_or_else(|| "–".to_owned(), |distance| format!("{distance:.3}"))
}

/// A row for each quantity. One replay has its distances in a column of their own; several have them below their values.
fn table(html: &mut String, answer: &Answer, lines: &[(Role, String)]) {
    let many = answer.comparisons.len() > 1;
    html.push_str("<table class=\"numbers\">\n<thead><tr><th scope=\"col\"><span class=\"quiet\">quantity</span></th>");
    for (role, name) in lines {
        let _ = write!(html, "<th scope=\"col\">{}{}</th>", swatch(role), escaped(name));
    }
    let apart = answer.comparisons.len() == 1;
    if apart {
        let _ = write!(html, "<th scope=\"col\">{}</th>", Distance::HEAD);
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in &answer.rows {
        let _ =
            write!(html, "<tr><th scope=\"row\">{} <span class=\"statistic\">{}</span></th>", row.name, row.statistic);
        for index in 0..row.values.len() {
            let _ = write!(html, "<td>{}", cell(row, index));
            if let Some(distance) = distance(row, index).filter(|_| many) {
                let _ = write!(html, "<div class=\"below\">{distance}</div>");
            }
            html.push_str("</td>");
        }
        if apart {
            let _ = write!(html, "<td>{}</td>", distance(row, 1).unwrap_or_default());
        }
        html.push_str("</tr>\n");
    }
    if many {
        html.push_str("<tr class=\"total\"><th scope=\"row\">overall distance</th><td></td>");
        for comparison in &answer.comparisons {
            let _ = write!(html, "<td><b>{}</b></td>", overall(comparison));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>");
}

/// A row for each run.
fn table_aside(html: &mut String, answer: &Answer, lines: &[(Role, String)]) {
    html.push_str(
        "<table class=\"numbers aside\">\n<thead><tr><th scope=\"col\"><span class=\"quiet\">run</span></th>",
    );
    for row in &answer.rows {
        let _ = write!(html, "<th scope=\"col\">{} <span class=\"statistic\">{}</span></th>", row.name, row.statistic);
    }
    html.push_str("<th scope=\"col\">overall distance</th></tr></thead>\n<tbody>\n");
    for (index, (role, name)) in lines.iter().enumerate() {
        let _ = write!(html, "<tr><th scope=\"row\">{}{}</th>", swatch(role), escaped(name));
        for row in &answer.rows {
            let below =
                distance(row, index).map_or_else(String::new, |text| format!("<div class=\"below\">{text}</div>"));
            let _ = write!(html, "<td>{}{below}</td>", cell(row, index));
        }
        let comparison = index.checked_sub(1).and_then(|index| answer.comparisons.get(index));
        let _ = writeln!(html, "<td><b>{}</b></td></tr>", comparison.map_or_else(String::new, overall));
    }
    html.push_str("</tbody>\n</table>");
}

/// What is said of some quantities of some runs: the runs with their quantities, the verdict and its reason.
struct Said<'a> {
    of: Vec<(&'a str, Vec<&'a str>)>,
    badge: String,
    reason: &'a str,
}

/// What can be said of each quantity and why, intervals in it; quantities of which the same is said share a row.
fn verdicts(html: &mut String, answer: &Answer, lines: &[(Role, String)]) {
    let mut told: Vec<Said<'_>> = Vec::new();
    for (index, (_, run)) in lines.iter().skip(1).enumerate() {
        for (row, distance) in answer.rows.iter().filter_map(|row| Some((row, row.distances.get(index)?.as_ref()?))) {
            let badge = verdict_badge(distance.judgement, &distance.verdict);
            let reason = distance.verdict.reason.as_str();
            let place = told.iter().position(|known| known.badge == badge && known.reason == reason);
            let place = place.unwrap_or_else(|| {
                told.push(Said { of: Vec::new(), badge, reason });
                told.len() - 1
            });
            match told[place].of.last_mut() {
                Some((last, quantities)) if last == run => quantities.push(row.name),
                _ => told[place].of.push((run, vec![row.name])),
            }
        }
    }
    if told.is_empty() {
        return;
    }
    html.push_str("<h3 class=\"why\">Why</h3>\n<dl class=\"verdicts\">\n");
    for Said { of, badge, reason } in told {
        let of: Vec<String> = of
            .into_iter()
            .map(|(run, quantities)| match answer.comparisons.len() {
                0 | 1 => quantities.join(", "),
                _ => format!("{run}: {}", quantities.join(", ")),
            })
            .collect();
        let _ = writeln!(html, "<dt>{} {badge}</dt><dd>{}</dd>", escaped(&of.join("; ")), escaped(reason));
    }
    html.push_str("</dl>\n");
}

/// The tables and columns behind each row.
fn origins(html: &mut String, shown: &Shown<'_>, answer: &Answer) {
    let measured = &shown.variants[0].runs[0].measurements;
    let scope = Scope { with_original: answer.with_original, window: measured.window, bin: measured.bin };
    html.push_str("<dl class=\"origins\">\n");
    for row in &answer.rows {
        let from = match row.metric {
            Some(metric) => scope.of(metric).from,
            None => "`connections.parquet`: `outcome`, of rows whose `start_ns` is in the window".to_owned(),
        };
        let _ = writeln!(html, "<dt>{}</dt><dd>{}</dd>", row.name, coded(&from));
    }
    html.push_str("</dl>\n");
}

/// How to read an overall distance.
const SCALE: &str = "0 is the same, 1 has nothing in common";

/// The largest differences of one comparison; `role` colours its name where there are several.
fn findings(html: &mut String, comparison: &Comparison, role: Option<&(Role, String)>) {
    html.push_str("<div>\n");
    if let Some((role, name)) = role {
        let _ = writeln!(html, "<h4>{}{}</h4>", swatch(role), escaped(name));
    }
    let differences = comparison.largest_differences();
    if differences.is_empty() {
        let told = comparison.differences.iter().any(|difference| difference.judgement != Judgement::CannotTell);
        html.push_str(if told {
            "<p>None: every metric with enough values is the same within its tolerance.</p>\n</div>\n"
        } else {
            "<p>None can be told: no metric has enough values.</p>\n</div>\n"
        });
        return;
    }
    html.push_str("<ol>\n");
    for difference in differences {
        let _ = writeln!(
            html,
            "<li>{}. {}</li>",
            escaped(&difference.finding),
            verdict_badge(difference.judgement, &difference.verdict)
        );
    }
    html.push_str("</ol>\n</div>\n");
}
