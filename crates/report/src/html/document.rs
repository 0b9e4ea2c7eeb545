//! A whole file: a body with the style, the script and the data of its pictures.

use maud::{Markup, PreEscaped, html};

use super::figure::Figure;
use super::grid::Grid;

const STYLE: &str = include_str!("report.css");
/// The script's files in their order: one function holds them all.
const SCRIPT: [&str; 6] = [
    include_str!("script/numbers.js"),
    include_str!("script/views.js"),
    include_str!("script/chart.js"),
    include_str!("script/closer.js"),
    include_str!("script/saving.js"),
    include_str!("script/page.js"),
];

/// The content security policy: a page fetches nothing. Images come from data in the page only, which is how a figure becomes a PNG.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// A whole file: `body` with style, script and the data of `figures` and `grids`.
pub(super) fn document(title: &str, figures: &[Figure], grids: &[Grid], body: &Markup) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) " – Flowloom" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                script type="application/json" id="figures" { (json(figures, grids)) }
                script {
                    (PreEscaped("\n\"use strict\";\n(() => {\n"))
                    @for part in SCRIPT { (PreEscaped(part)) }
                    (PreEscaped("})();\n"))
                }
            }
        }
    };
    page.into_string() + "\n"
}

/// The figures as JSON that cannot end its script element.
fn json(figures: &[Figure], grids: &[Grid]) -> PreEscaped<String> {
    let figures = figures.iter().map(serde_json::to_string);
    let all: Vec<String> =
        figures.chain(grids.iter().map(serde_json::to_string)).map(|text| text.unwrap_or_default()).collect();
    PreEscaped(format!("[{}]", all.join(",")).replace('<', "\\u003c"))
}
