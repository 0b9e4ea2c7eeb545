//! How a run was made: the experiment as resolved, its inputs, versions and the command that makes it again.

use flowloom_core::time::Duration;
use maud::{Markup, html};

use super::shown::Shown;
use crate::metric::Unit;
use crate::run::Run;
use crate::words::thousands;

/// The section.
pub(super) fn section(shown: &Shown<'_>) -> Markup {
    let many = shown.variants.len() > 1;
    html! {
        section id="making" {
            h2 { "How it was made" }
            @for (index, (_, run)) in shown.firsts().enumerate() {
                @let experiment = experiment_title(shown.variants[index].runs.len(), run);
                (shown.heading(index))
                div class="making" {
                    dl {
                        @for (name, value) in entries(run, many.then_some(&shown.variants[index].name)) {
                            dt { (name) } dd { (value) }
                        }
                    }
                    div class="sources" {
                        (source(&format!("command-{index}"), "Make it again", &run.facts.command, many))
                        (source(&format!("experiment-{index}"), &experiment, &run.facts.experiment, many))
                    }
                }
            }
        }
    }
}

/// The heading of an experiment: of several seeds it is that of the first.
fn experiment_title(seeds: usize, first: &Run) -> String {
    match seeds {
        1 => "Experiment as resolved".to_owned(),
        _ => format!("Experiment as resolved for seed {}; the others differ in the seed alone", first.facts.seed),
    }
}

/// What is known of how a run was made, without what is empty; with its `folder` where there are several.
fn entries(run: &Run, folder: Option<&String>) -> Vec<(String, String)> {
    let facts = &run.facts;
    let mut entries: Vec<(String, String)> = Vec::new();
    let mut entry = |name: &str, value: &str| {
        if !value.is_empty() {
            entries.push((name.to_owned(), value.to_owned()));
        }
    };
    if let Some(folder) = folder {
        entry("run folder", folder);
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
        let length = Unit::Time.show(original.duration_ns.saturating_sub(original.clock_jumps_ns) as f64);
        let jumps = match original.clock_jumps_ns {
            0 => String::new(),
            jumps => format!(" and jumps of the clock by {}", Unit::Time.show(jumps as f64)),
        };
        let connections = thousands(original.connections);
        entry("original", &format!("{packets}{length}{jumps}, {connections} TCP connections"));
        entry("set aside", &original.set_aside_text());
    }
    if let Some(events) = facts.events {
        entry("events", &thousands(events));
    }
    if let Some(wall) = run.host.wall_ns {
        entry("wall time", &Duration::from_nanos(wall).to_string());
    }
    run.host.host.iter().chain(&facts.provenance).for_each(|(name, value)| entry(name, value));
    entries
}

/// A text to be copied, below a heading; nothing if it is empty.
fn source(id: &str, title: &str, text: &str, many: bool) -> Markup {
    html! {
        @if !text.is_empty() {
            div class="source" {
                @if many { h4 { (title) } } @else { h3 { (title) } }
                button type="button" data-copy=(id) { "Copy" }
                pre id=(id) tabindex="0" { (text) }
            }
        }
    }
}
