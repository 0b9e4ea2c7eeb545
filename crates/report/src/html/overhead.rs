//! The page of `flowloom overhead`: efficiency against the size of a cell, and the tables.

use maud::{Markup, html};

use super::document::document;
use super::elements::{heads, scrolled};
use super::figure::{Axis, Below, Figure, Kind, Line, Number, Points, Role, Table, View, unit_word};
use super::pictures::{figure_element, legend};
use super::provenance::Provenance;
use crate::metric::Unit;
use crate::overhead::text::lead;
use crate::overhead::{Overhead, PayloadEfficiency, StackEfficiency};

/// The whole file.
pub(super) fn page(overhead: &Overhead) -> String {
    let file = |name: &String| name.rsplit('/').next().unwrap_or(name).to_owned();
    let of = overhead.source.as_ref().map_or_else(|| "datagrams".to_owned(), file);
    let title = format!("Overhead of {of}");
    let drawn: Vec<&StackEfficiency> = overhead.stacks.iter().filter(|stack| stack.curve.is_some()).collect();
    let figures: Vec<Figure> = match drawn.is_empty() {
        true => Vec::new(),
        false => {
            let names = [("application", "Application"), ("datagram", "Datagram"), ("frame", "Frame")];
            names.into_iter().enumerate().map(|(place, names)| curve(names, place, &drawn)).collect()
        }
    };
    let roles: Vec<Role> = (0..drawn.len()).map(Role::run).collect();
    let body = html! {
        header class="top" {
            p class="brand" { "Flowloom " span { "overhead" } }
            h1 { (title) }
            p class="lead" { (lead(overhead)) "." }
        }
        main {
            @if !figures.is_empty() {
                section id="cells" {
                    h2 { "Efficiency against the payload of a cell" }
                    (legend(roles.iter().zip(drawn.iter().map(|stack| stack.stack.as_str()))))
                    div class="figures" { @for figure in &figures { (figure_element(figure)) } }
                }
            }
            section id="stacks" {
                h2 { "Stacks" }
                (scrolled("Stacks", &table(&overhead.stacks)))
            }
        }
    };
    document(&title, &figures, &[], &body)
}

fn table(stacks: &[StackEfficiency]) -> Markup {
    let names = ["stack", "technique", "application, %", "datagram, %", "frame, %", "bytes on the line for a datagram"];
    html! {
        table class="numbers" {
            (heads(names))
            tbody {
                @for stack in stacks {
                    @for technique in &stack.techniques {
                        @let shares = technique.shares;
                        tr {
                            th scope="row" { (stack.stack) }
                            td { (technique.technique) }
                            @for share in [shares.application, shares.datagram, shares.frame] {
                                td { (format_args!("{:.1}", 100.0 * share)) }
                            }
                            td { (format_args!("{:.1}", technique.line_bytes_per_datagram)) }
                        }
                    }
                }
            }
        }
    }
}

/// Efficiency number `place` of each stack, without compression, against the payload of its cells.
fn curve((name, head): (&'static str, &str), place: usize, stacks: &[&StackEfficiency]) -> Figure {
    let value = |one: &PayloadEfficiency| [one.shares.application, one.shares.datagram, one.shares.frame][place];
    let points = |stack: &StackEfficiency| stack.curve.clone().unwrap_or_default();
    let lines = stacks.iter().enumerate().map(|(index, stack)| Line {
        name: stack.stack.clone(),
        role: Role::run(index),
        smooth: false,
        points: Points::Series {
            y: points(stack).iter().map(|one| Number(value(one))).collect(),
            low: None,
            high: None,
        },
    });
    let first = stacks.first().map(|stack| points(stack)).unwrap_or_default();
    let columns =
        ["cell payload".to_owned()].into_iter().chain(stacks.iter().map(|stack| stack.stack.clone())).collect();
    let rows = first.iter().enumerate().map(|(row, one)| {
        let cells = stacks.iter().map(|stack| {
            points(stack).get(row).map_or_else(|| "–".to_owned(), |one| format!("{:.1} %", 100.0 * value(one)))
        });
        [format!("{} B", one.cell_payload_bytes)].into_iter().chain(cells).collect()
    });
    Figure {
        id: name.to_owned(),
        kind: Kind::Series,
        title: format!("{head} efficiency without compression"),
        view: View::Series,
        finding: "The overhead of each cell stays as it is; datagrams of one length fill their cells at some payloads and not at others.".to_owned(),
        plural: "cells",
        column: name,
        x: Axis::new("cell payload", unit_word(Unit::Bytes), false),
        y: Axis::new("share of the bytes on the line", unit_word(Unit::Share), false),
        start: Number(first.first().map_or(0.0, |one| f64::from(one.cell_payload_bytes))),
        step: Number(1.0),
        lines: lines.collect(),
        below: Below::Nothing,
        table: Table { head: columns, rows: rows.collect() },
        unit: Unit::Share,
        provenance: Provenance::default(),
    }
}
