//! The page of `flowloom compare --explain`: for each quantity how far every replay is from the original, and the connections that differ
//! most.

use maud::{Markup, html};

use super::document::document;
use super::elements::{heads, row, scrolled, swatch};
use super::figure::Role;
use super::still::{Scale, pixels};
use crate::explain::text::{CONNECTION_HEADS, HOW_TO_READ, SCALE, adu_spans, connection_row, finding, lead, number};
use crate::explain::{Apart, Explained, Explanation, Worth};
use crate::words::thousands;

const WIDTH: f64 = 560.0;
const LEFT: f64 = 104.0;
const RIGHT: f64 = 540.0;
const TOP: f64 = 8.0;
const ROW: f64 = 26.0;

/// The whole file.
pub(super) fn page(explanation: &Explanation) -> String {
    let name = explanation.run.rsplit('/').next().unwrap_or(&explanation.run);
    let title = format!("{name}, explained");
    let body = html! {
        header class="top" {
            p class="brand" { "Flowloom " span { "explanation" } }
            h1 { (title) }
            p class="lead" { (lead(explanation)) ". " (SCALE) }
            @if let Some(note) = explanation.note_on_driver() { p class="lead" { (note) } }
        }
        main {
            section id="causes" {
                h2 { "What each cause is worth" }
                p class="intro" { (HOW_TO_READ) }
                (legend())
                div class="figures" { @for explained in &explanation.quantities { (figure(explained)) } }
                @if let Some(spans) = adu_spans(explanation) { p class="from" { "Total span of ADUs: " (spans) "." } }
            }
            section id="replays" {
                h2 { "All replays" }
                (scrolled("All replays", &replays(explanation)))
            }
            @if !explanation.connections.is_empty() {
                section id="connections" {
                    h2 { "Connections that differ most" }
                    p class="intro" {
                        "Of " (thousands(explanation.compared_connections)) " connections; replay less original in milliseconds."
                    }
                    (scrolled("Connections that differ most", &connections(explanation)))
                }
            }
            section id="keys" {
                h2 { "Causes" }
                (scrolled("Causes", &causes(explanation)))
            }
        }
    };
    document(&title, &[], &[], &body)
}

/// The looks of the two replays of a cause.
fn roles() -> [Role; 2] {
    [Role::run(0), Role::run(1)]
}

fn legend() -> Markup {
    let words = ["this cause alone, beside nothing", "all causes but this, beside all"];
    html! {
        p class="legend" { @for (role, words) in roles().iter().zip(words) { span { (swatch(role)) (words) } } }
    }
}

fn figure(explained: &Explained) -> Markup {
    let title = explained.quantity.plural();
    html! {
        figure {
            div class="head" { h3 { (title) } }
            figcaption { (finding(explained)) "." }
            (picture(explained, title))
        }
    }
}

/// A row for each cause between those of the replays with nothing and with all: how far the two replays of the cause are from those.
fn picture(explained: &Explained, title: &str) -> Markup {
    let Explained { nothing, all, causes, .. } = explained;
    let tried = causes.iter().flat_map(|worth| [worth.alone, worth.left_out]);
    let most = tried.chain([*nothing, *all]).filter_map(|apart| apart.amount()).fold(0.0, f64::max);
    let bottom = TOP + ROW * (causes.len() + 2) as f64;
    let x = Scale { low: 0.0, high: if most > 0.0 { 1.05 * most } else { 1.0 }, log: false, from: LEFT, to: RIGHT };
    let middle = |row: usize| TOP + ROW * (row as f64 + 0.5);
    let [alone, left_out] = roles();
    html! {
        svg class="chart" role="img" viewBox=(format_args!("0 0 {WIDTH} {:.0}", bottom + 24.0)) aria-label={ (title) ". " (finding(explained)) } {
            g class="axes" {
                @for tick in x.ticks() {
                    @let at = pixels(x.at(tick));
                    g class="grid" { line x1=(at) x2=(at) y1=(pixels(TOP)) y2=(pixels(bottom)) {} }
                    text x=(at) y=(pixels(bottom + 16.0)) text-anchor="middle" { (tick_label(tick)) }
                }
                @for (row, name) in names(causes).enumerate() {
                    text x=(pixels(LEFT - 10.0)) y=(pixels(middle(row) + 4.0)) text-anchor="end" { (name) }
                }
            }
            (dot(&Role::original(), *nothing, &x, middle(0)))
            (dot(&Role::original(), *all, &x, middle(causes.len() + 1)))
            @for (row, worth) in causes.iter().enumerate() {
                (moved(&alone, *nothing, worth.alone, &x, middle(row + 1) - 4.0))
                (moved(&left_out, *all, worth.left_out, &x, middle(row + 1) + 4.0))
            }
        }
    }
}

/// The names of the rows.
fn names(causes: &[Worth]) -> impl Iterator<Item = &str> {
    ["nothing"].into_iter().chain(causes.iter().map(|worth| &*worth.cause)).chain(["all"])
}

/// A tick of a distance: `0.05`.
fn tick_label(tick: f64) -> String {
    let text = format!("{tick:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A replay that has one cause more or less than the one at `from`: a line from there, and a dot where it is.
fn moved(role: &Role, from: Apart, to: Apart, x: &Scale, y: f64) -> Markup {
    let line = from.amount().zip(to.amount());
    html! {
        @if let Some((from, to)) = line {
            path class={ "line " (role.class) } d=(format_args!("M{:.1},{y:.1}H{:.1}", x.at(from), x.at(to))) {}
        }
        (dot(role, to, x, y))
    }
}

fn dot(role: &Role, at: Apart, x: &Scale, y: f64) -> Markup {
    html! {
        @if let Some(amount) = at.amount() {
            circle class={ "dot " (role.class) } cx=(pixels(x.at(amount))) cy=(pixels(y)) r="4" {}
        }
    }
}

fn replays(explanation: &Explanation) -> Markup {
    let quantities = &explanation.quantities;
    let cells = |of: fn(&Explained) -> Apart| quantities.iter().map(move |explained| number(of(explained)));
    let tried = |place: usize| {
        quantities.iter().filter_map(move |explained| {
            let worth = explained.causes.get(place)?;
            Some(format!("{} / {}", number(worth.alone), number(worth.left_out)))
        })
    };
    html! {
        table class="numbers" {
            (heads(["replay"].into_iter().chain(quantities.iter().map(|explained| explained.quantity.plural()))))
            tbody {
                (row("this run", cells(|explained| explained.run)))
                (row("nothing", cells(|explained| explained.nothing)))
                @for (place, cause) in explanation.causes.iter().enumerate() {
                    (row(format_args!("{} alone / left out", cause.name), tried(place)))
                }
                (row("all", cells(|explained| explained.all)))
            }
        }
    }
}

fn connections(explanation: &Explanation) -> Markup {
    html! {
        table class="numbers" {
            (heads(CONNECTION_HEADS))
            tbody {
                @for [name, cells @ ..] in explanation.connections.iter().filter_map(connection_row) { (row(name, cells)) }
            }
        }
    }
}

fn causes(explanation: &Explanation) -> Markup {
    html! {
        table class="numbers" {
            (heads(["cause", "key", "left out", "replayed"]))
            tbody {
                @for cause in &explanation.causes {
                    tr {
                        th scope="row" { (cause.name) }
                        @for code in [&cause.key, &cause.without, &cause.with] { td { code { (code) } } }
                    }
                }
            }
        }
    }
}
