//! The section on classes of connections and sources.

use maud::{Markup, html};

use super::elements::{heads, row, scrolled};
use super::shown::Shown;
use crate::facts::ClassFacts;
use crate::metric::Unit;
use crate::words::thousands;

/// Whether a run has any.
pub(super) fn is_needed(shown: &Shown<'_>) -> bool {
    shown.firsts().any(|(_, run)| !run.facts.classes.is_empty())
}

/// The section: what each class and each source of every run came to. Empty if no run has any.
pub(super) fn section(shown: &Shown<'_>) -> Markup {
    let with = shown.firsts().enumerate().filter(|(_, (_, run))| !run.facts.classes.is_empty());
    html! {
        @if is_needed(shown) {
            section id="senders" {
                h2 { "Classes and sources" }
                @for (index, (_, run)) in with {
                    (shown.heading_of_first(index))
                    (scrolled("Classes and sources", &table(&run.facts.classes)))
                }
                p class="from" {
                    "From " code { "run.json" } ": " code { "classes" } ". Payload that arrived over the whole run, of TCP each byte \
                     once. Flows of sources one by one: " code { "sources.parquet" } "; connections of a class: "
                    code { "connections.parquet" } ", column " code { "class" } "."
                }
            }
        }
    }
}

fn table(classes: &[ClassFacts]) -> Markup {
    let names = [
        "name",
        "what",
        "TCP",
        "began",
        "ended",
        "reset",
        "gave up",
        "unfinished",
        "to acceptors",
        "to initiators",
        "sent again / lost",
        "timeouts",
    ];
    let payload = |bytes: u64| Unit::Bytes.show(bytes as f64);
    let cells = |class: &ClassFacts| {
        [
            class.kind.clone(),
            class.congestion.clone(),
            thousands(class.started),
            thousands(class.completed),
            thousands(class.reset),
            thousands(class.gave_up),
            thousands(class.unfinished),
            payload(class.to_acceptors_bytes),
            payload(class.to_initiators_bytes),
            class.repaired(),
            thousands(class.timeouts),
        ]
    };
    html! {
        table class="numbers" {
            (heads(names))
            tbody { @for class in classes { (row(&class.name, cells(class))) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;

    #[test]
    fn every_sender_has_a_row_and_names_are_escaped() {
        let class = |name: &str, kind: &str| ClassFacts {
            name: name.into(),
            kind: kind.into(),
            started: 3,
            sent_datagrams: 200,
            received_datagrams: 140,
            dropped_datagrams: 50,
            to_acceptors_bytes: 1_500_000,
            ..ClassFacts::default()
        };
        let classes = vec![class("workload", "workload"), class("a<b", "datagrams at a constant rate")];
        let html = table(&classes).into_string();
        assert!(
            html.contains("a&lt;b") && html.contains("<td>25.0 %, 5.00 % waiting</td>") && html.contains("1.50 MB"),
            "{html}"
        );
        let facts = Facts { classes, ..Facts::default() };
        assert!(facts.has_only_sources() && facts.sources().count() == 1);
    }
}
