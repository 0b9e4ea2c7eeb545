//! Figures as HTML: title, buttons, picture, where its numbers come from, and its table.

use maud::{Markup, html};

use super::elements::{heads, row, swatch};
use super::figure::{Below, Figure, Role, Table};
use super::grid::Grid;
use super::provenance;
use super::still::{still, still_grid};
use crate::compare::Difference;
use crate::statistics::RATIO_PROBABILITIES;

/// The section with all of them.
pub(super) fn section(lines: &[(Role, String)], figures: &[Figure], grids: &[Grid]) -> Markup {
    let drawn = grids.iter().filter_map(|grid| Some((grid, figures.iter().find(|figure| figure.id == grid.of)?)));
    html! {
        section id="pictures" {
            h2 { "Pictures" }
            (legend(lines.iter().map(|(role, name)| (role, name.as_str()))))
            div class="figures" {
                @for figure in figures { (figure_element(figure)) }
                @if !figures.iter().any(|figure| figure.id.starts_with("queue")) {
                    p class="absent" { "Queues: empty at every sampling instant, so there is nothing to draw." }
                }
            }
        }
        @if let Some(first) = grids.first() {
            section id="multiples" {
                h2 { "Small multiples" }
                p class="intro" { (first.arrangement) }
                div class="figures" { @for (grid, of) in drawn { (grid_element(grid, of)) } }
            }
        }
    }
}

/// The lines of all pictures as buttons that hide them.
pub(super) fn legend<'a>(lines: impl Iterator<Item = (&'a Role, &'a str)>) -> Markup {
    html! {
        div class="legend" role="group" aria-label="Lines to show" {
            @for (role, name) in lines {
                button type="button" data-toggle=(role.name) aria-pressed="true" { (swatch(role)) (name) }
            }
            span class="hint" { "Hover or arrow keys read values, drag or + zooms, double click or 0 resets." }
        }
        noscript {
            p class="noscript" { "Without JavaScript pictures stay still; the tables below them hold their data." }
        }
    }
}

/// Title, finding and buttons of a figure, up to its picture; `data` is the id of its table if it has one.
fn head(figure: &Figure, title: &str, finding: &str, data: Option<&str>) -> Markup {
    let views = figure.views();
    html! {
        div class="head" {
            h3 { (title) }
            div class="tools" role="group" aria-label={ "Tools of " (title) } {
                button type="button" data-action="reset" class="reset" { "Reset zoom" }
                @if views.len() > 1 {
                    span class="views" role="group" aria-label={ "View of " (title) } {
                        @for view in views {
                            button type="button" data-view=(view.id()) aria-pressed=(maud::display(view == figure.view)) {
                                (view.label())
                            }
                        }
                    }
                }
                @if let Some(data) = data {
                    button type="button" data-action="table" aria-expanded="false" aria-controls=(data) { "Table" }
                }
                @for (kind, action, what) in [("SVG", "svg", ""), ("PNG", "png", ""), ("CSV", "csv", "data of ")] {
                    button type="button" data-action=(action) aria-label={ (kind) ": save " (what) (title) } { (kind) }
                }
            }
        }
        figcaption { (finding) }
    }
}

/// A figure with its table.
pub(super) fn figure_element(figure: &Figure) -> Markup {
    let Figure { id, title, finding, .. } = figure;
    let data = format!("{id}-data");
    html! {
        figure id=(id) {
            (head(figure, title, finding, Some(&data)))
            (frame(&still(figure)))
            @match &figure.below {
                Below::Nothing => {}
                Below::Distances(distances) => { (distances_table(distances)) }
                Below::Numbers(names, rows) => { (numbers_table(names, rows)) }
            }
            (provenance::part(id, &figure.provenance))
            div class="data" id=(data) role="group" aria-label={ "Data of " (title) } tabindex="0" {
                (data_table(&figure.table, title))
            }
        }
    }
}

/// Panels of the lines of another figure, whose table has their data.
fn grid_element(grid: &Grid, of: &Figure) -> Markup {
    html! {
        figure id=(grid.id) class="wide" {
            (head(of, &grid.title, &grid.finding, None))
            (frame(&still_grid(of, &grid.title, &grid.cells)))
            p class="from" {
                "The lines of " a href={ "#" (grid.of) } { (of.title) }
                ", whose table has their data and says where they are from."
            }
        }
    }
}

fn frame(picture: &Markup) -> Markup {
    html! {
        div class="frame" {
            div class="plot" { (picture) }
            div class="readout" role="status" hidden {}
        }
    }
}

fn distances_table(distances: &[(Role, String, Difference)]) -> Markup {
    let digits =
        |value: Option<f64>, digits: usize| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"));
    let cells = |difference: &Difference| {
        let distances = [digits(difference.ks, 3), digits(difference.tolerant_ks, 3)];
        // With too few values there is only one of the medians.
        let ratios = RATIO_PROBABILITIES.map(|p| {
            let ratio = difference.ratios.iter().find(|ratio| ratio.p == p).and_then(|ratio| ratio.ratio);
            ratio.map_or_else(|| "–".to_owned(), |ratio| ratio.show(short_ratio))
        });
        distances.into_iter().chain(ratios).collect::<Vec<String>>()
    };
    html! {
        @if !distances.is_empty() {
            table class="ratios" {
                thead {
                    tr {
                        th scope="col" { "run" }
                        th scope="col" { "KS" }
                        th scope="col" { "tolerant" }
                        @for p in RATIO_PROBABILITIES { th scope="col" { "q" sub { (p * 100.0) } } }
                    }
                }
                tbody {
                    @for (role, name, difference) in distances {
                        (row(html! { (swatch(role)) (name) }, cells(difference)))
                    }
                }
            }
        }
    }
}

/// A ratio in two places, or as a whole number from 100 on: a column is as wide as its longest.
fn short_ratio(value: f64) -> String {
    if value < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

fn numbers_table(names: &[&str], rows: &[(Role, String, Vec<String>)]) -> Markup {
    html! {
        table class="ratios" {
            (heads(["line"].iter().chain(names)))
            tbody {
                @for (role, name, cells) in rows { (row(html! { (swatch(role)) (name) }, cells)) }
            }
        }
    }
}

fn data_table(table: &Table, caption: &str) -> Markup {
    html! {
        table {
            caption { (caption) }
            (heads(&table.head))
            tbody {
                @for cells in &table.rows {
                    (row(cells.first().map(String::as_str).unwrap_or_default(), cells.iter().skip(1)))
                }
            }
        }
    }
}
