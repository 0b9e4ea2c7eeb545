//! Figures as HTML: title, buttons, picture, where its numbers come from, and its table.

use std::fmt::Write as _;

use super::escaped;
use super::figure::{Below, Figure, Role, Table};
use super::grid::Grid;
use super::page::swatch;
use super::provenance;
use super::still::{still, still_grid};
use crate::compare::Difference;
use crate::statistics::RATIO_PROBABILITIES;

/// The section with all of them.
pub(super) fn section(html: &mut String, lines: &[(Role, String)], figures: &[Figure], grids: &[Grid]) {
    html.push_str("<section id=\"pictures\">\n<h2>Pictures</h2>\n");
    legend(html, lines.iter().map(|(role, name)| (role, name.as_str())));
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
    if grids.is_empty() {
        return;
    }
    let _ = write!(
        html,
        "<section id=\"multiples\">\n<h2>Small multiples</h2>\n<p class=\"intro\">{}</p>\n<div class=\"figures\">\n",
        escaped(&grids[0].arrangement)
    );
    for grid in grids {
        if let Some(of) = figures.iter().find(|figure| figure.id == grid.of) {
            grid_element(html, grid, of);
        }
    }
    html.push_str("</div>\n</section>\n");
}

/// The lines of all pictures as buttons that hide them.
pub(super) fn legend<'a>(html: &mut String, lines: impl Iterator<Item = (&'a Role, &'a str)>) {
    html.push_str("<div class=\"legend\" role=\"group\" aria-label=\"Lines to show\">\n");
    for (role, name) in lines {
        let _ = writeln!(
            html,
            "<button type=\"button\" data-toggle=\"{}\" aria-pressed=\"true\">{}{}</button>",
            role.name,
            swatch(role),
            escaped(name)
        );
    }
    html.push_str(
        "<span class=\"hint\">Hover or arrow keys read values, drag or + zooms, double click or 0 resets.</span>\n</div>\n\
         <noscript><p class=\"noscript\">Without JavaScript pictures stay still; the tables below them hold their data.</p></noscript>\n",
    );
}

/// Title, finding and buttons of a figure, up to its picture.
fn head(html: &mut String, figure: &Figure, id: &str, title: &str, finding: &str, table: bool) {
    let views = figure.views();
    let _ = write!(
        html,
        "<div class=\"head\"><h3>{title}</h3>\n<div class=\"tools\" role=\"group\" aria-label=\"Tools of {title}\">\
         <button type=\"button\" data-action=\"reset\" class=\"reset\">Reset zoom</button>"
    );
    if views.len() > 1 {
        let _ = write!(html, "<span class=\"views\" role=\"group\" aria-label=\"View of {title}\">");
        for view in views {
            let _ = write!(
                html,
                "<button type=\"button\" data-view=\"{}\" aria-pressed=\"{}\">{}</button>",
                view.id(),
                view == figure.view,
                view.label()
            );
        }
        html.push_str("</span>");
    }
    if table {
        let _ = write!(
            html,
            "<button type=\"button\" data-action=\"table\" aria-expanded=\"false\" aria-controls=\"{id}-data\">Table</button>"
        );
    }
    for (kind, what) in [("SVG", ""), ("PNG", ""), ("CSV", "data of ")] {
        let _ = write!(
            html,
            "<button type=\"button\" data-action=\"{}\" aria-label=\"{kind}: save {what}{title}\">{kind}</button>",
            kind.to_lowercase()
        );
    }
    let _ = write!(html, "</div></div>\n<figcaption>{finding}</figcaption>\n");
}

/// A figure with its table.
pub(super) fn figure_element(html: &mut String, figure: &Figure) {
    let Figure { id, title, finding, .. } = figure;
    let (title, finding) = (escaped(title), escaped(finding));
    let _ = writeln!(html, "<figure id=\"{id}\">");
    head(html, figure, id, &title, &finding, true);
    frame(html, &still(figure));
    match &figure.below {
        Below::Nothing => {}
        Below::Distances(distances) => distances_table(html, distances),
        Below::Numbers(heads, rows) => numbers_table(html, heads, rows),
    }
    provenance::write(html, id, &figure.provenance);
    let _ = write!(
        html,
        "<div class=\"data\" id=\"{id}-data\" role=\"group\" aria-label=\"Data of {title}\" tabindex=\"0\">"
    );
    data_table(html, &figure.table, &title);
    html.push_str("</div>\n</figure>\n");
}

/// Panels of the lines of another figure, whose table has their data.
fn grid_element(html: &mut String, grid: &Grid, of: &Figure) {
    let (id, title) = (&grid.id, escaped(&grid.title));
    let _ = writeln!(html, "<figure id=\"{id}\" class=\"wide\">");
    head(html, of, id, &title, &escaped(&grid.finding), false);
    frame(html, &still_grid(of, &grid.title, &grid.cells));
    let _ = write!(
        html,
        "<p class=\"from\">The lines of <a href=\"#{}\">{}</a>, whose table has their data and says where they are from.</p>\n</figure>\n",
        grid.of,
        escaped(&of.title)
    );
}

fn frame(html: &mut String, picture: &str) {
    let _ = writeln!(
        html,
        "<div class=\"frame\"><div class=\"plot\">{picture}</div><div class=\"readout\" role=\"status\" hidden></div></div>"
    );
}

fn distances_table(html: &mut String, distances: &[(Role, String, Difference)]) {
    if distances.is_empty() {
        return;
    }
    html.push_str("<table class=\"ratios\"><thead><tr><th scope=\"col\">run</th><th scope=\"col\">KS</th><th scope=\"col\">tolerant</th>");
    for p in RATIO_PROBABILITIES {
        let _ = write!(html, "<th scope=\"col\">q<sub>{}</sub></th>", p * 100.0);
    }
    html.push_str("</tr></thead><tbody>\n");
    for (role, name, difference) in distances {
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

fn numbers_table(html: &mut String, heads: &[&str], rows: &[(Role, String, Vec<String>)]) {
    html.push_str("<table class=\"ratios\"><thead><tr><th scope=\"col\">line</th>");
    for head in heads {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(head));
    }
    html.push_str("</tr></thead><tbody>\n");
    for (role, name, cells) in rows {
        let _ = write!(html, "<tr><th scope=\"row\">{}{}</th>", swatch(role), escaped(name));
        for cell in cells {
            let _ = write!(html, "<td>{}</td>", escaped(cell));
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
