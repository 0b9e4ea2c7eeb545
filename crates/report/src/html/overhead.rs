//! The page of `flowloom overhead`: efficiency against the size of a cell, and the tables.

use std::fmt::Write as _;

use super::escaped;
use super::figure::{Axis, Below, Figure, Kind, Line, Number, Points, Role, Table, View, unit_word};
use super::page::document;
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
    document(&title, &figures, &[], |html| {
        let _ = write!(
            html,
            "<header class=\"top\">\n<p class=\"brand\">Flowloom <span>overhead</span></p>\n<h1>{}</h1>\n<p class=\"lead\">{}.</p>\n\
             </header>\n<main>\n",
            escaped(&title),
            escaped(&lead(overhead))
        );
        if !figures.is_empty() {
            html.push_str("<section id=\"cells\">\n<h2>Efficiency against the payload of a cell</h2>\n");
            let roles: Vec<Role> = (0..drawn.len()).map(Role::run).collect();
            legend(html, roles.iter().zip(drawn.iter().map(|stack| stack.stack.as_str())));
            html.push_str("<div class=\"figures\">\n");
            figures.iter().for_each(|figure| figure_element(html, figure));
            html.push_str("</div>\n</section>\n");
        }
        html.push_str("<section id=\"stacks\">\n<h2>Stacks</h2>\n");
        table(html, &overhead.stacks);
        html.push_str("</section>\n</main>\n");
    })
}

fn table(html: &mut String, stacks: &[StackEfficiency]) {
    html.push_str("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Stacks\"><table class=\"numbers\">\n<thead><tr>");
    for head in ["stack", "technique", "application, %", "datagram, %", "frame, %", "bytes on the line for a datagram"]
    {
        let _ = write!(html, "<th scope=\"col\">{head}</th>");
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for stack in stacks {
        for technique in &stack.techniques {
            let shares = technique.shares;
            let _ = writeln!(
                html,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{:.1}</td><td>{:.1}</td><td>{:.1}</td><td>{:.1}</td></tr>",
                escaped(&stack.stack),
                technique.technique,
                100.0 * shares.application,
                100.0 * shares.datagram,
                100.0 * shares.frame,
                technique.line_bytes_per_datagram
            );
        }
    }
    html.push_str("</tbody>\n</table></div>\n");
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
