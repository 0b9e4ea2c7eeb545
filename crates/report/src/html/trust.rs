//! What the trust in a run rests on: gates, warnings with remedies, and how distances are to be read.

use std::fmt::Write as _;

use super::{escaped, plausibility};
use crate::answer::Answer;
use crate::run::Run;
use crate::summary::Summary;
use crate::text::thousands;
use crate::verdict::Verdict;

/// The section.
pub(super) fn section(html: &mut String, runs: &[(String, &Run)], answer: &Answer, summaries: &[Summary]) {
    html.push_str("<section id=\"trust\">\n<h2>Can I trust it</h2>\n");
    for ((name, _), summary) in runs.iter().zip(summaries) {
        if runs.len() > 1 {
            let _ = writeln!(html, "<h3>{} <span class=\"quiet\">{}</span></h3>", escaped(name), summary.verdict);
        }
        html.push_str("<ul class=\"gates\">\n");
        for gate in &summary.gates {
            let (class, mark, word) = match gate.verdict {
                Verdict::Valid => ("valid", "✓", "passed"),
                Verdict::Degraded => ("degraded", "!", "reservation"),
                Verdict::Invalid => ("invalid", "✕", "failed"),
            };
            let _ = writeln!(
                html,
                "<li class=\"{class}\"><span class=\"mark\" role=\"img\" aria-label=\"{word}\">{mark}</span><b>{}</b><span>{}</span></li>",
                escaped(gate.name),
                escaped(&gate.found)
            );
        }
        html.push_str("</ul>\n");
        if !summary.warnings.is_empty() {
            html.push_str("<ul class=\"warnings\">\n");
            for warning in &summary.warnings {
                let _ = write!(html, "<li>{}", escaped(&sentence(&warning.cause())));
                if let Some(remedy) = warning.remedy() {
                    let _ = write!(html, " <span class=\"remedy\">Remedy: {}.</span>", escaped(remedy));
                }
                html.push_str("</li>\n");
            }
            html.push_str("</ul>\n");
        }
        if let Some(found) = &summary.plausibility {
            plausibility::part(html, found);
        }
    }
    let mut notes = vec![
        "Distances are effect sizes, not tests: values within a run depend on each other. <b>KS</b> is the largest \
         difference between two distribution functions; <b>tolerant KS</b> is what is left of it after each value may move by \
         max(0.5 ms, 2 %) (times), 2 % (rates, sizes) or max(half a unit, 2 %) (counts). The <b>overall distance</b> is the mean tolerant KS of response times, durations, active connections and throughput. Up to 0.02, or one value of the \
         sample, is called <i>same</i>, up to 0.1, or two values, <i>close</i>, more <i>different</i>; fewer than ten values tell nothing. For a series \
         over time the values are its bins: it can be <i>different</i> though its mean, whose ratio stands beside, is a few percent off. Under a picture, <b>q<sub>50</sub></b> is the \
         ratio of the medians, <b>q<sub>99</sub></b> that of the 99 % quantiles."
            .to_owned(),
    ];
    if answer.with_original {
        for comparison in &answer.comparisons {
            let Some(endings) = comparison.endings else { continue };
            notes.push(format!(
                "{}Durations are compared on the {} connections whose close was seen in both worlds ({} only in the original, {} only \
                 in the replay, {} in neither). {} connections lost packets in the original, which the replay does not repeat: \
                 durations and response times leave them out and the breakdown shows them apart.",
                if answer.comparisons.len() > 1 { format!("<b>{}</b>: ", escaped(&comparison.other)) } else { String::new() },
                thousands(endings.both),
                thousands(endings.only_original),
                thousands(endings.only_replay),
                thousands(endings.neither),
                thousands(comparison.lost_in_original_connections)
            ));
        }
    }
    html.push_str("<div class=\"notes\">\n");
    for note in notes {
        let _ = writeln!(html, "<p>{note}</p>");
    }
    html.push_str("</div>\n</section>\n");
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map_or(String::new(), |first| first.to_uppercase().collect());
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
