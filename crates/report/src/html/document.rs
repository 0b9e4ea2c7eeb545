//! A whole file: a body with the style, the script and the data of its pictures.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::figure::Figure;
use super::grid::Grid;
use crate::words::written_out;

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

/// The content security policy: a page fetches nothing, and uses this style sheet and this script alone, by their hashes. Images come
/// from data in the page only, which is how a figure becomes a PNG.
fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    format!("default-src 'none'; style-src {}; script-src {}; img-src data:", hash(style), hash(script))
}

/// A whole file: `body` with style, script and the data of `figures` and `grids`.
pub(super) fn document(title: &str, figures: &[Figure], grids: &[Grid], body: &Markup) -> String {
    let script = format!("\n\"use strict\";\n(() => {{\n{}}})();\n", SCRIPT.concat());
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(policy(STYLE, &script));
                title { (visible(title)) " – Flowloom" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (PreEscaped(visible(&body.0)))
                script type="application/json" id="figures" { (json(figures, grids)) }
                script { (PreEscaped(&script)) }
            }
        }
    };
    page.into_string() + "\n"
}

/// Text or markup in which characters that act on a terminal or turn the direction of writing are written out, as on a terminal: they may
/// have come with the name of a file.
fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, |c| c.escape_unicode().to_string())
}

/// The figures as JSON that cannot end its script element.
fn json(figures: &[Figure], grids: &[Grid]) -> PreEscaped<String> {
    let figures = figures.iter().map(serde_json::to_string);
    let all: Vec<String> =
        figures.chain(grids.iter().map(serde_json::to_string)).map(|text| text.unwrap_or_default()).collect();
    let json = format!("[{}]", all.join(",")).replace('<', "\\u003c");
    PreEscaped(written_out(&json, |c| format!("\\{}", c.escape_unicode())).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_the_hashes_of_what_is_inside() {
        let page = document("t", &[], &[], &html! { p { "x" } });
        let inside =
            |tag: &str| page.split_once(&format!("<{tag}>")).unwrap().1.split_once(&format!("</{tag}>")).unwrap().0;
        assert!(page.contains(&policy(inside("style"), inside("script"))), "{}", &page[..600]);
        assert!(!page.contains("unsafe"));
        assert!(!page.contains(" style="), "a style attribute has no hash");
    }

    #[test]
    fn characters_that_act_are_written_out() {
        assert_eq!(visible("a\u{202e}b\u{1b}[31m\n"), "a\\u{202e}b\\u{1b}[31m\n");
        assert_eq!(visible("\u{5d0}\u{4e2d}"), "\u{5d0}\u{4e2d}");
    }
}
