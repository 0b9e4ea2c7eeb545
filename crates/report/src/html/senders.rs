//! The section on classes of connections and sources.

use std::fmt::Write as _;

use super::escaped;
use super::page::Shown;
use crate::facts::ClassFacts;
use crate::metric::Unit;
use crate::text::thousands;

/// Whether a run has any.
pub(super) fn is_needed(shown: &Shown<'_>) -> bool {
    shown.firsts().any(|(_, run)| !run.facts.classes.is_empty())
}

/// The section: what each class and each source of every run came to. Empty if no run has any.
pub(super) fn section(html: &mut String, shown: &Shown<'_>) {
    if !is_needed(shown) {
        return;
    }
    html.push_str("<section id=\"senders\">\n<h2>Classes and sources</h2>\n");
    for (index, (_, run)) in shown.firsts().enumerate().filter(|(_, (_, run))| !run.facts.classes.is_empty()) {
        shown.heading_of_first(html, index);
        table(html, &run.facts.classes);
    }
    html.push_str(
        "<p class=\"from\">From <code>run.json</code>: <code>classes</code>. Payload that arrived over the whole run, of TCP each byte once. Flows of sources one by one: \
         <code>sources.parquet</code>; connections of a class: <code>connections.parquet</code>, column <code>class</code>.</p>\n</section>\n",
    );
}

fn table(html: &mut String, classes: &[ClassFacts]) {
    html.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Classes and sources\"><table class=\"numbers\">\n<thead><tr><th scope=\"col\">name</th><th scope=\"col\">what</th>\
         <th scope=\"col\">TCP</th><th scope=\"col\">began</th><th scope=\"col\">ended</th><th scope=\"col\">reset</th>\
         <th scope=\"col\">unfinished</th><th scope=\"col\">to acceptors</th><th scope=\"col\">to initiators</th>\
         <th scope=\"col\">sent again / lost</th><th scope=\"col\">timeouts</th></tr></thead>\n<tbody>\n",
    );
    for class in classes {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escaped(&class.name));
        let payload = |bytes: u64| Unit::Bytes.show(bytes as f64);
        for cell in [
            escaped(&class.kind),
            escaped(&class.congestion),
            thousands(class.started),
            thousands(class.completed),
            thousands(class.reset),
            thousands(class.unfinished),
            payload(class.to_acceptors_bytes),
            payload(class.to_initiators_bytes),
            class.repaired(),
            thousands(class.timeouts),
        ] {
            let _ = write!(html, "<td>{cell}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table></div>\n");
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
            received_datagrams: 150,
            to_acceptors_bytes: 1_500_000,
            ..ClassFacts::default()
        };
        let classes = vec![class("workload", "workload"), class("a<b", "datagrams at a constant rate")];
        let mut html = String::new();
        table(&mut html, &classes);
        assert!(html.contains("a&lt;b") && html.contains("<td>25.0 %</td>") && html.contains("1.50 MB"), "{html}");
        let facts = Facts { classes, ..Facts::default() };
        assert!(facts.has_only_sources() && facts.sources().count() == 1);
    }
}
