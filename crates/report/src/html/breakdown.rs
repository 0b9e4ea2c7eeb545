//! Durations, response times and what else is known, by kind and size of connections.

use std::fmt::Write as _;

use flowloom_core::workload::Pattern;
use flowloom_store::run_folder::Point;

use super::escaped;
use super::page::{Shown, badge, value};
use crate::class_totals::ClassTotals;
use crate::compare::difference;
use crate::metric::{Metric, Unit};
use crate::run::{Class, Size};
use crate::statistics::Sample;
use crate::text::thousands;
use crate::variant::Variant;

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

/// The section.
pub(super) fn section(html: &mut String, shown: &Shown<'_>) {
    html.push_str(
        "<section id=\"breakdowns\">\n<h2>Breakdowns</h2>\n<p class=\"intro\">By kind of connection and by its payload in both \
         directions: median / 99 % quantile, and the tolerant KS distance. Here connections that lost packets in the original \
         are included. Beneath it what they came to: goodput is payload that arrived, over the length of the window; segments were sent again by \
         both ends of the replay.</p>\n",
    );
    for (index, variant) in shown.variants.iter().enumerate() {
        shown.heading(html, index);
        let name = escaped(&shown.names[index]);
        let _ = write!(
            html,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Breakdown of {name}\"><table class=\"numbers breakdown\">\n<thead><tr><th scope=\"col\" rowspan=\"2\">connections</th>"
        );
        let span = if shown.with_original { 4 } else { 2 };
        let _ = write!(
            html,
            "<th scope=\"colgroup\" colspan=\"{span}\">duration</th><th scope=\"colgroup\" colspan=\"{span}\">response time</th></tr>\n<tr>"
        );
        for _ in 0..2 {
            html.push_str("<th scope=\"col\">n</th>");
            if shown.with_original {
                html.push_str(
                    "<th scope=\"col\">original</th><th scope=\"col\">replay</th><th scope=\"col\">distance</th>",
                );
            } else {
                html.push_str("<th scope=\"col\">p50 / p99</th>");
            }
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for (name, accept) in PARTS {
            row(html, variant, shown.with_original, name, accept);
        }
        html.push_str("</tbody>\n</table></div>\n");
        totals(html, variant, &name);
    }
    html.push_str(
        "<p class=\"from\">From <code>connections.parquet</code> (kind: <code>pattern</code>; payload: <code>initiator_bytes</code> + \
         <code>acceptor_bytes</code>; <code>outcome</code>, <code>delivered_to_acceptor_bytes</code>, <code>delivered_to_initiator_bytes</code>, \
         <code>retransmissions</code>, <code>timeouts</code>, <code>original_lost_segments</code>, the durations) and \
         <code>epochs.parquet</code>: <code>response_ns</code>, of connections whose <code>start_ns</code> is in the window.</p>\n</section>\n",
    );
}

/// What the connections of each kind came to, of all seeds together.
fn totals(html: &mut String, variant: &Variant, name: &str) {
    let of_part = |accept: fn(Class) -> bool| {
        let mut totals = ClassTotals::default();
        variant.runs.iter().for_each(|run| totals.add(run.measurements.totals(accept)));
        totals
    };
    let all = of_part(|_| true);
    let windows: f64 =
        variant.runs.iter().map(|run| run.measurements.window).map(|(start, end)| end.since(start).as_secs_f64()).sum();
    let _ = write!(
        html,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Totals of {name}\"><table class=\"numbers breakdown\">\n\
         <thead><tr><th scope=\"col\">connections</th><th scope=\"col\">started</th><th scope=\"col\">completed</th>\
         <th scope=\"col\">payload</th><th scope=\"col\">share of payload</th><th scope=\"col\">goodput</th>\
         <th scope=\"col\">sent again</th><th scope=\"col\">timeouts</th></tr></thead>\n<tbody>\n"
    );
    let share = |part: u64, of: u64| if of == 0 { "–".to_owned() } else { Unit::Share.show(part as f64 / of as f64) };
    for (part, accept) in PARTS {
        let totals = of_part(accept);
        if totals.connections == 0 {
            continue;
        }
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escaped(part));
        for cell in [
            thousands(totals.connections),
            share(totals.completed, totals.connections),
            Unit::Bytes.show(totals.payload_bytes as f64),
            share(totals.payload_bytes, all.payload_bytes),
            if windows > 0.0 {
                Unit::Rate.show(totals.delivered_bytes as f64 * 8.0 / windows)
            } else {
                "–".to_owned()
            },
            thousands(totals.retransmissions),
            thousands(totals.timeouts),
        ] {
            let _ = write!(html, "<td>{}</td>", value(&cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table></div>\n");
}

fn row(html: &mut String, variant: &Variant, with_original: bool, name: &str, accept: fn(Class) -> bool) {
    let point = if with_original { Point::Monitor } else { Point::Endpoint };
    let mut cells = String::new();
    let mut values = 0;
    for metric in [Metric::Duration, Metric::ResponseTime] {
        let replay = variant.pooled(metric, point, accept);
        let quantiles = |sample: &Sample| {
            let show = |p| sample.quantile(p).map(|value| metric.unit().show(value));
            show(0.5).zip(show(0.99)).map_or_else(|| "–".to_owned(), |(p50, p99)| value(&format!("{p50} / {p99}")))
        };
        values += replay.len();
        let _ = write!(cells, "<td>{}</td>", thousands(replay.len() as u64));
        if with_original {
            let original = variant.runs[0].measurements.sample(metric, Point::Original, accept);
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
