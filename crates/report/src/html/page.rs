//! The page around the pictures.

use std::fmt::Write as _;

use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;
use flowloom_core::workload::Pattern;
use flowloom_store::run_folder::Point;

use super::figure::{Figure, Table, run_role};
use super::still::still;
use super::{ReportOptions, escaped};
use crate::answer::{Answer, Distance};
use crate::compare::{Comparison, Judgement, difference};
use crate::metric::{Metric, Unit};
use crate::run::{Class, Run, Size};
use crate::statistics::RATIO_PROBABILITIES;
use crate::summary::Summary;
use crate::text::{thousands, verdict_reason};
use crate::verdict::Verdict;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// A value as HTML in which no line ends between a number and its unit.
pub(super) fn value(text: &str) -> String {
    escaped(text).split(" / ").map(|part| part.replace(' ', "\u{a0}")).collect::<Vec<_>>().join(" / ")
}

/// The whole file.
pub(super) fn page(runs: &[Run], answer: &Answer, figures: &[Figure], options: &ReportOptions) -> String {
    let summaries: Vec<Summary> = runs.iter().map(Run::summary).collect();
    let title = options.title.clone().unwrap_or_else(|| default_title(runs));
    document(&title, figures, |html| {
        header(html, &title, runs, answer, &summaries);
        html.push_str("<main>\n");
        answer_section(html, answer);
        trust_section(html, runs, answer, &summaries);
        pictures_section(html, answer, figures);
        breakdown_section(html, runs, answer);
        super::senders::section(html, runs);
        super::network::section(html, runs);
        making_section(html, runs);
        html.push_str("</main>\n");
    })
}

/// A whole file: what `body` writes, with style, script and the data of `figures`.
pub(super) fn document(title: &str, figures: &[Figure], body: impl FnOnce(&mut String)) -> String {
    let mut html = String::with_capacity(1 << 20);
    let safe_title = escaped(title);
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'\">\n\
         <title>{safe_title} – Flowloom</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    body(&mut html);
    let _ = writeln!(html, "<script type=\"application/json\" id=\"figures\">{}</script>", json(figures));
    let _ = write!(html, "<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    html
}

/// The figures as JSON that cannot end its script element.
fn json(figures: &[Figure]) -> String {
    serde_json::to_string(figures).unwrap_or_else(|_| "[]".to_owned()).replace('<', "\\u003c")
}

fn default_title(runs: &[Run]) -> String {
    match runs {
        [run] if !run.facts.title.is_empty() => run.facts.title.clone(),
        [run] => run.facts.source_name().map_or_else(|| run.name.clone(), |source| format!("Replay of {source}")),
        [first, others @ ..] if others.iter().all(|run| run.facts.source == first.facts.source) => {
            format!("{} replays of {}", runs.len(), first.facts.source_name().unwrap_or("one workload"))
        }
        runs => format!("{} runs compared", runs.len()),
    }
}

fn header(html: &mut String, title: &str, runs: &[Run], answer: &Answer, summaries: &[Summary]) {
    let worst = summaries.iter().map(|summary| summary.verdict).max().unwrap_or(Verdict::Invalid);
    let reason = summaries
        .iter()
        .find(|summary| summary.verdict == worst)
        .map(|summary| verdict_reason(&summary.gates))
        .unwrap_or_default();
    let connections = runs.first().map_or(0, |run| run.measurements.outcomes.started());
    let plural = if connections == 1 { "" } else { "s" };
    let source = runs.first().and_then(|run| run.facts.source_name()).unwrap_or("the workload");
    let drivers = list(runs.iter().map(|run| match run.facts.driver.as_str() {
        "live" => "through real sockets",
        _ => "in the simulator",
    }));
    let lead = match (answer.with_original, runs.len()) {
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
    fact("driver", list(runs.iter().map(|run| run.facts.driver.as_str())));
    let seeds: Vec<String> = runs.iter().map(|run| run.facts.seed.to_string()).collect();
    fact(if runs.len() == 1 { "seed" } else { "seeds" }, list(seeds.iter().map(String::as_str)));
    fact("window", list(runs.iter().map(window).collect::<Vec<_>>().iter().map(String::as_str)));
    fact("date", list(runs.iter().map(|run| run.host.date.as_str())));
    html.push_str("</ul>\n<nav aria-label=\"Sections\">\n");
    let network = runs.iter().any(|run| run.facts.topology.is_some());
    let senders = super::senders::is_needed(runs);
    for (anchor, name) in [
        ("answer", "Answer"),
        ("trust", "Can I trust it"),
        ("pictures", "Pictures"),
        ("breakdowns", "Breakdowns"),
        ("senders", "Classes and sources"),
        ("network", "Network"),
        ("making", "How it was made"),
    ]
    .into_iter()
    .filter(|(anchor, _)| network || *anchor != "network")
    .filter(|(anchor, _)| senders || *anchor != "senders")
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

fn badge(judgement: Judgement) -> String {
    format!("<span class=\"judged {}\">{judgement}</span>", judgement_class(judgement))
}

pub(super) fn swatch(role: &str) -> String {
    format!("<i class=\"swatch {role}\"></i>")
}

fn answer_section(html: &mut String, answer: &Answer) {
    // One replay has its distances in a column of their own; several have them below their values.
    let many = answer.comparisons.len() > 1;
    let many_class = if many { " many" } else { "" };
    let _ = write!(
        html,
        "<section id=\"answer\">\n<h2>Answer</h2>\n<div class=\"answer{many_class}\">\n<div class=\"scroll\">\
         <table class=\"numbers\">\n<thead><tr><th scope=\"col\"><span class=\"quiet\">quantity</span></th>"
    );
    for (index, column) in answer.columns.iter().enumerate() {
        let _ = write!(html, "<th scope=\"col\">{}{}</th>", swatch(&column_role(answer, index)), escaped(column));
    }
    let apart = answer.comparisons.len() == 1;
    if apart {
        let _ = write!(html, "<th scope=\"col\">{}</th>", Distance::HEAD);
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in &answer.rows {
        let _ =
            write!(html, "<tr><th scope=\"row\">{} <span class=\"statistic\">{}</span></th>", row.name, row.statistic);
        let mut last = String::new();
        for (index, text) in row.values.iter().enumerate() {
            let distance = index.checked_sub(1).and_then(|index| row.distances.get(index));
            let distance = distance.and_then(Option::as_ref).map(|distance| {
                let (number, badge) = (distance.number(), badge(distance.judgement));
                let ratio = distance.ratio();
                let ratio = if ratio.is_empty() { ratio } else { format!(" <span class=\"quiet\">{ratio}</span>") };
                format!("<span class=\"distance\">{number}</span> {badge}{ratio}")
            });
            let _ = write!(
                html,
                "<td>{}",
                if index == 0 || !row.statistic.is_empty() { value(text) } else { escaped(text) }
            );
            match distance {
                Some(distance) if many => {
                    let _ = write!(html, "<div class=\"below\">{distance}</div>");
                }
                Some(distance) => last = distance,
                None => {}
            }
            html.push_str("</td>");
        }
        if apart {
            let _ = write!(html, "<td>{last}</td>");
        }
        html.push_str("</tr>\n");
    }
    if many {
        html.push_str("<tr class=\"total\"><th scope=\"row\">overall distance</th><td></td>");
        for comparison in &answer.comparisons {
            let distance = comparison.distance.map_or_else(|| "–".to_owned(), |distance| format!("{distance:.3}"));
            let _ = write!(html, "<td><b>{distance}</b></td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table></div>\n<div class=\"findings\">\n<h3>Largest differences</h3>\n");
    if answer.comparisons.is_empty() {
        html.push_str("<p>Nothing to compare with: this run has no original.</p>\n");
    }
    html.push_str("<div class=\"told\">\n");
    for (index, comparison) in answer.comparisons.iter().enumerate() {
        findings(html, comparison, many.then(|| run_role(index + usize::from(!answer.with_original))));
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

/// How to read an overall distance.
const SCALE: &str = "0 is the same, 1 has nothing in common";

/// The largest differences of one comparison; `role` colours its name where there are several.
fn findings(html: &mut String, comparison: &Comparison, role: Option<String>) {
    html.push_str("<div>\n");
    if let Some(role) = role {
        let _ = writeln!(html, "<h4>{}{}</h4>", swatch(&role), escaped(&comparison.other));
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
        let _ = writeln!(html, "<li>{}. {}</li>", escaped(&difference.finding), badge(difference.judgement));
    }
    html.push_str("</ol>\n</div>\n");
}

/// The role, hence the colour, of a column of the answer.
fn column_role(answer: &Answer, column: usize) -> String {
    match (answer.with_original, column) {
        (true, 0) => "original".to_owned(),
        (true, column) => run_role(column - 1),
        (false, column) => run_role(column),
    }
}

fn trust_section(html: &mut String, runs: &[Run], answer: &Answer, summaries: &[Summary]) {
    html.push_str("<section id=\"trust\">\n<h2>Can I trust it</h2>\n");
    for (run, summary) in runs.iter().zip(summaries) {
        if runs.len() > 1 {
            let _ = writeln!(html, "<h3>{} <span class=\"quiet\">{}</span></h3>", escaped(&run.name), summary.verdict);
        }
        html.push_str("<ul class=\"gates\">\n");
        for gate in &summary.gates {
            let (class, mark, word) = match gate.verdict {
                Verdict::Valid => ("valid", "✓", "passed"),
                Verdict::Degraded => ("degraded", "!", "reservation"),
                Verdict::Invalid => ("invalid", "✕", "failed"),
            };
            let _ = writeln!(
                html,
                "<li class=\"{class}\"><span class=\"mark\" role=\"img\" aria-label=\"{word}\">{mark}</span><b>{}</b><span>{}</span></li>",
                escaped(gate.name),
                escaped(&gate.found)
            );
        }
        html.push_str("</ul>\n");
        if !summary.warnings.is_empty() {
            html.push_str("<ul class=\"warnings\">\n");
            for warning in &summary.warnings {
                let _ = write!(html, "<li>{}", escaped(&sentence(&warning.cause())));
                if let Some(remedy) = warning.remedy() {
                    let _ = write!(html, " <span class=\"remedy\">Remedy: {}.</span>", escaped(remedy));
                }
                html.push_str("</li>\n");
            }
            html.push_str("</ul>\n");
        }
    }
    let mut notes = vec![
        "Distances are effect sizes, not tests: values within a run depend on each other. <b>KS</b> is the largest \
         difference between two distribution functions; <b>tolerant KS</b> is what is left of it after each value may move by \
         max(0.5 ms, 2 %) (times), 2 % (rates, sizes) or max(half a unit, 2 %) (counts). The <b>overall distance</b> is the mean tolerant KS of response times, durations, active connections and throughput. Up to 0.02, or one value of the \
         sample, is called <i>same</i>, up to 0.1, or two values, <i>close</i>, more <i>different</i>; fewer than ten values tell nothing. For a series \
         over time the values are its bins: it can be <i>different</i> though its mean, whose ratio stands beside, is a few percent off. Under a picture, <b>q<sub>50</sub></b> is the \
         ratio of the medians, <b>q<sub>99</sub></b> that of the 99 % quantiles."
            .to_owned(),
    ];
    if answer.with_original {
        for comparison in &answer.comparisons {
            let Some(endings) = comparison.endings else { continue };
            notes.push(format!(
                "{}Durations are compared on the {} connections whose close was seen in both worlds ({} only in the original, {} only \
                 in the replay, {} in neither). {} connections lost packets in the original, which the replay does not repeat: \
                 durations and response times leave them out and the breakdown shows them apart.",
                if answer.comparisons.len() > 1 { format!("<b>{}</b>: ", escaped(&comparison.other)) } else { String::new() },
                thousands(endings.both),
                thousands(endings.only_original),
                thousands(endings.only_replay),
                thousands(endings.neither),
                thousands(comparison.lost_in_original_connections)
            ));
        }
    }
    html.push_str("<div class=\"notes\">\n");
    for note in notes {
        let _ = writeln!(html, "<p>{note}</p>");
    }
    html.push_str("</div>\n</section>\n");
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map_or(String::new(), |first| first.to_uppercase().collect());
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

fn pictures_section(html: &mut String, answer: &Answer, figures: &[Figure]) {
    html.push_str("<section id=\"pictures\">\n<h2>Pictures</h2>\n");
    let columns = answer.columns.iter().enumerate();
    legend(html, columns.map(|(index, column)| (column_role(answer, index), column.as_str())));
    html.push_str("<div class=\"figures\">\n");
    for figure in figures {
        figure_element(html, figure);
    }
    if !figures.iter().any(|figure| figure.id.starts_with("queue")) {
        html.push_str(
            "<p class=\"absent\">Queues: empty at every sampling instant, so there is nothing to draw.</p>\n",
        );
    }
    html.push_str("</div>\n</section>\n");
}

/// The lines of all pictures, (role, name) each, as buttons that hide them.
pub(super) fn legend<'a>(html: &mut String, lines: impl Iterator<Item = (String, &'a str)>) {
    html.push_str("<div class=\"legend\">\n");
    for (role, column) in lines {
        let _ = writeln!(
            html,
            "<button type=\"button\" data-toggle=\"{role}\" aria-pressed=\"true\">{}{}</button>",
            swatch(&role),
            escaped(column)
        );
    }
    html.push_str(
        "<span class=\"hint\">Hover or arrow keys read values, drag or + zooms, double click or 0 resets.</span>\n</div>\n\
         <noscript><p class=\"noscript\">Without JavaScript pictures stay still; the tables below them hold their data.</p></noscript>\n",
    );
}

pub(super) fn figure_element(html: &mut String, figure: &Figure) {
    let Figure { id, title, finding, .. } = figure;
    let (title, finding) = (escaped(title), escaped(finding));
    let _ = write!(
        html,
        "<figure id=\"{id}\">\n<div class=\"head\"><h3>{title}</h3>\n<div class=\"tools\">\
         <button type=\"button\" data-action=\"reset\" class=\"reset\">Reset zoom</button>"
    );
    if figure.kind == "distribution" {
        let _ = write!(
            html,
            "<span class=\"views\" role=\"group\" aria-label=\"View of {title}\">\
             <button type=\"button\" data-view=\"cdf\" aria-pressed=\"{}\">CDF</button>\
             <button type=\"button\" data-view=\"ccdf\" aria-pressed=\"{}\">CCDF</button></span>",
            figure.view == "cdf",
            figure.view == "ccdf"
        );
    }
    let _ = write!(
        html,
        "<button type=\"button\" data-action=\"table\" aria-expanded=\"false\" aria-controls=\"{id}-data\">Table</button>\
         <button type=\"button\" data-action=\"svg\" aria-label=\"Save {title} as SVG\">SVG</button>\
         <button type=\"button\" data-action=\"csv\" aria-label=\"Save data of {title} as CSV\">CSV</button></div></div>\n\
         <figcaption>{finding}</figcaption>\n<div class=\"frame\"><div class=\"plot\">{}</div>\
         <div class=\"readout\" role=\"status\" hidden></div></div>\n",
        still(figure)
    );
    distances_table(html, figure);
    let _ = write!(html, "<div class=\"data\" id=\"{id}-data\">");
    data_table(html, &figure.table, &title);
    html.push_str("</div>\n</figure>\n");
}

fn distances_table(html: &mut String, figure: &Figure) {
    if figure.distances.is_empty() {
        return;
    }
    html.push_str("<table class=\"ratios\"><thead><tr><th scope=\"col\">run</th><th scope=\"col\">KS</th><th scope=\"col\">tolerant</th>");
    for p in RATIO_PROBABILITIES {
        let _ = write!(html, "<th scope=\"col\">q<sub>{}</sub></th>", p * 100.0);
    }
    html.push_str("</tr></thead><tbody>\n");
    for (role, name, difference) in &figure.distances {
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}{}</th><td>{}</td><td>{}</td>",
            swatch(role),
            escaped(name),
            number(difference.ks),
            number(difference.tolerant_ks)
        );
        for ratio in &difference.ratios {
            let _ =
                write!(html, "<td>{}</td>", ratio.ratio.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}")));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table>\n");
}

fn data_table(html: &mut String, table: &Table, caption: &str) {
    let _ = write!(html, "<table><caption>{caption}</caption><thead><tr>");
    for head in &table.head {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(head));
    }
    html.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        let mut cells = row.iter();
        let head = cells.next().map(String::as_str).unwrap_or_default();
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escaped(head));
        for cell in cells {
            let _ = write!(html, "<td>{}</td>", escaped(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table>");
}

/// A row of the breakdown: its name and what belongs to it.
type Part = (&'static str, fn(Class) -> bool);

/// The classes of Aikat 2010: by pattern, and by size where the larger includes the largest.
const PARTS: [Part; 7] = [
    ("all", |_| true),
    ("sequential", |class| class.pattern == Pattern::Sequential),
    ("concurrent", |class| class.pattern == Pattern::Concurrent),
    ("< 4 kB", |class| class.size == Size::Small),
    ("≥ 4 kB", |class| class.size != Size::Small),
    ("≥ 1 MB", |class| class.size == Size::Large),
    ("lost packets in the original", |class| class.lost_in_original),
];

fn breakdown_section(html: &mut String, runs: &[Run], answer: &Answer) {
    html.push_str(
        "<section id=\"breakdowns\">\n<h2>Breakdowns</h2>\n<p class=\"intro\">By kind of connection and by its payload in both \
         directions: median / 99 % quantile, and the tolerant KS distance. Here connections that lost packets in the original \
         are included.</p>\n",
    );
    for (index, run) in runs.iter().enumerate() {
        if runs.len() > 1 {
            let _ = writeln!(html, "<h3>{}{}</h3>", swatch(&run_role(index)), escaped(&run.name));
        }
        html.push_str("<div class=\"scroll\"><table class=\"numbers breakdown\">\n<thead><tr><th scope=\"col\" rowspan=\"2\">connections</th>");
        let span = if answer.with_original { 4 } else { 2 };
        let _ = write!(
            html,
            "<th scope=\"colgroup\" colspan=\"{span}\">duration</th><th scope=\"colgroup\" colspan=\"{span}\">response time</th></tr>\n<tr>"
        );
        for _ in 0..2 {
            html.push_str("<th scope=\"col\">n</th>");
            if answer.with_original {
                html.push_str(
                    "<th scope=\"col\">original</th><th scope=\"col\">replay</th><th scope=\"col\">distance</th>",
                );
            } else {
                html.push_str("<th scope=\"col\">p50 / p99</th>");
            }
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for (name, accept) in PARTS {
            breakdown_row(html, run, answer.with_original, name, accept);
        }
        html.push_str("</tbody>\n</table></div>\n");
    }
    html.push_str("</section>\n");
}

fn breakdown_row(html: &mut String, run: &Run, with_original: bool, name: &str, accept: fn(Class) -> bool) {
    let measured = &run.measurements;
    let point = if with_original { Point::Monitor } else { Point::Endpoint };
    let mut cells = String::new();
    let mut values = 0;
    for metric in [Metric::Duration, Metric::ResponseTime] {
        let replay = measured.sample(metric, point, accept);
        let quantiles = |sample: &crate::statistics::Sample| {
            let show = |p| sample.quantile(p).map(|value| metric.unit().show(value));
            show(0.5).zip(show(0.99)).map_or_else(|| "–".to_owned(), |(p50, p99)| value(&format!("{p50} / {p99}")))
        };
        values += replay.len();
        let _ = write!(cells, "<td>{}</td>", thousands(replay.len() as u64));
        if with_original {
            let original = measured.sample(metric, Point::Original, accept);
            let distance = difference(metric, &original, &replay, "the original", "the replay").map_or_else(
                || "–".to_owned(),
                |difference| {
                    let tolerant = difference.tolerant_ks.map_or_else(String::new, |value| format!("{value:.3}"));
                    format!("<span class=\"distance\">{tolerant}</span> {}", badge(difference.judgement))
                },
            );
            let _ = write!(
                cells,
                "<td>{}</td><td>{}</td><td class=\"apart\">{distance}</td>",
                quantiles(&original),
                quantiles(&replay)
            );
        } else {
            let _ = write!(cells, "<td>{}</td>", quantiles(&replay));
        }
    }
    if values > 0 {
        let _ = writeln!(html, "<tr><th scope=\"row\">{}</th>{cells}</tr>", escaped(name));
    }
}

fn making_section(html: &mut String, runs: &[Run]) {
    html.push_str("<section id=\"making\">\n<h2>How it was made</h2>\n");
    for (index, run) in runs.iter().enumerate() {
        if runs.len() > 1 {
            let _ = writeln!(html, "<h3>{}{}</h3>", swatch(&run_role(index)), escaped(&run.name));
        }
        let facts = &run.facts;
        html.push_str("<div class=\"making\">\n<dl>\n");
        let mut entry = |name: &str, value: &str| {
            if !value.is_empty() {
                let _ = writeln!(html, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
            }
        };
        entry("workload", &facts.source);
        entry("model", &facts.model);
        entry("network", &facts.network);
        entry("driver", &facts.driver);
        if let Some(original) = &facts.original {
            let packets = match original.packets {
                0 => String::new(),
                packets => format!("{} packets, ", thousands(packets)),
            };
            let length = Unit::Time.show(original.duration_ns as f64);
            let connections = thousands(original.connections);
            entry("original", &format!("{packets}{length}, {connections} TCP connections"));
            entry("set aside", &original.set_aside_text());
        }
        if let Some(events) = facts.events {
            entry("events", &thousands(events));
        }
        if let Some(wall) = run.host.wall_ns {
            entry("wall time", &Duration::from_nanos(wall).to_string());
        }
        run.host.host.iter().chain(&facts.provenance).for_each(|(name, value)| entry(name, value));
        html.push_str("</dl>\n<div class=\"sources\">\n");
        for (kind, title, text) in
            [("command", "Make it again", &facts.command), ("experiment", "Experiment as resolved", &facts.experiment)]
        {
            if !text.is_empty() {
                let _ = writeln!(
                    html,
                    "<div class=\"source\"><h4>{title}</h4><button type=\"button\" data-copy=\"{kind}-{index}\">Copy</button>\
                     <pre id=\"{kind}-{index}\" tabindex=\"0\">{}</pre></div>",
                    escaped(text)
                );
            }
        }
        html.push_str("</div>\n</div>\n");
    }
    html.push_str("</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_listed_once() {
        assert_eq!(list(["sim", "", "live", "sim"].into_iter()), "sim, live");
    }
}
