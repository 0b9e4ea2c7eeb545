//! How a run was made: the experiment as resolved, its inputs, versions and the command that makes it again.

use std::fmt::Write as _;

use flowloom_core::time::Duration;

use super::escaped;
use super::page::Shown;
use crate::metric::Unit;
use crate::text::thousands;

/// The section.
pub(super) fn section(html: &mut String, shown: &Shown<'_>) {
    html.push_str("<section id=\"making\">\n<h2>How it was made</h2>\n");
    for (index, (_, run)) in shown.firsts().enumerate() {
        shown.heading(html, index);
        let level = if shown.variants.len() > 1 { "h4" } else { "h3" };
        let facts = &run.facts;
        html.push_str("<div class=\"making\">\n<dl>\n");
        let mut entry = |name: &str, value: &str| {
            if !value.is_empty() {
                let _ = writeln!(html, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
            }
        };
        if shown.variants.len() > 1 {
            entry("run folder", &shown.variants[index].name);
        }
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
                    "<div class=\"source\"><{level}>{title}</{level}><button type=\"button\" data-copy=\"{kind}-{index}\">Copy</button>\
                     <pre id=\"{kind}-{index}\" tabindex=\"0\">{}</pre></div>",
                    escaped(text)
                );
            }
        }
        html.push_str("</div>\n</div>\n");
    }
    html.push_str("</section>\n");
}
