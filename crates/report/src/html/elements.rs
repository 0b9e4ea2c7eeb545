//! Small pieces of a page that its sections share.

use maud::{Markup, Render, html};

use super::figure::Role;
use crate::compare::{Basis, Judgement, Outcome, Verdict};

/// A value in which no line ends between a number and its unit.
pub(super) fn value(text: &str) -> String {
    text.split(" / ").map(|part| part.replace(' ', "\u{a0}")).collect::<Vec<_>>().join(" / ")
}

/// Different items once each, in their order, with commas.
pub(super) fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for item in items.filter(|item| !item.is_empty()) {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen.join(", ")
}

fn judgement_class(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Same => "same",
        Judgement::Close => "close",
        Judgement::Different => "different",
        Judgement::CannotTell => "untold",
    }
}

pub(super) fn badge(judgement: Judgement) -> Markup {
    html! { span class={ "judged " (judgement_class(judgement)) } { (maud::display(judgement)) } }
}

/// The same of what is said of a metric: its verdict, or what its distance means where there is nothing else.
pub(super) fn verdict_badge(judgement: Judgement, verdict: &Verdict) -> Markup {
    let class = match (verdict.basis, verdict.outcome) {
        (Basis::Distance, _) => judgement_class(judgement),
        (_, Outcome::Same) => "same",
        (_, Outcome::Different) => "different",
        (_, Outcome::CannotTell) => "untold",
    };
    html! { span class={ "judged " (class) } { (verdict.said(judgement)) } }
}

/// The look of a role's lines, beside its name.
pub(super) fn swatch(role: &Role) -> Markup {
    html! {
        svg class={ "swatch " (role.class) } aria-hidden="true" width="22" height="8" { path d="M1 4H21" {} }
    }
}

/// A table that scrolls sideways where it is wider than the page, which a keyboard can do too.
pub(super) fn scrolled(label: &str, table: &Markup) -> Markup {
    html! { div class="scroll" tabindex="0" role="group" aria-label=(label) { (table) } }
}

/// The head of a table: one row with the names of the columns.
pub(super) fn heads<T: Render>(names: impl IntoIterator<Item = T>) -> Markup {
    html! { thead { tr { @for name in names { th scope="col" { (name) } } } } }
}

/// A row of a table: its name, then its cells.
pub(super) fn row<T: Render>(name: impl Render, cells: impl IntoIterator<Item = T>) -> Markup {
    html! { tr { th scope="row" { (name) } @for cell in cells { td { (cell) } } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_listed_once() {
        assert_eq!(list(["sim", "", "live", "sim"].into_iter()), "sim, live");
    }
}
