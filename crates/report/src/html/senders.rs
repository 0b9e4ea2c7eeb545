//! The section on classes of connections and sources.

use std::fmt::Write as _;

use super::escaped;
use super::figure::run_role;
use super::page::swatch;
use crate::facts::ClassFacts;
use crate::metric::Unit;
use crate::run::Run;
use crate::text::thousands;

/// Whether a run has any.
pub(super) fn is_needed(runs: &[Run]) -> bool {
    runs.iter().any(|run| !run.facts.classes.is_empty())
}

/// The section: what each class and each source of every run came to. Empty if no run has any.
pub(super) fn section(html: &mut String, runs: &[Run]) {
    if !is_needed(runs) {
        return;
    }
    html.push_str("<section id=\"senders\">\n<h2>Classes and sources</h2>\n");
    let with = runs.iter().enumerate().filter(|(_, run)| !run.facts.classes.is_empty());
    for (index, run) in with {
        if runs.len() > 1 {
            let _ = writeln!(html, "<h3>{}{}</h3>", swatch(&run_role(index)), escaped(&run.name));
        }
        table(html, &run.facts.classes);
    }
    html.push_str(
        "<p class=\"quiet\">Payload that arrived over the whole run, of TCP each byte once. Flows of sources one by one: \
         sources.parquet; connections of a class: connections.parquet, column class.</p>\n</section>\n",
    );
}

fn table(html: &mut String, classes: &[ClassFacts]) {
    html.push_str(
        "<div class=\"scroll\"><table class=\"numbers\">\n<thead><tr><th scope=\"col\">name</th><th scope=\"col\">what</th>\
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
