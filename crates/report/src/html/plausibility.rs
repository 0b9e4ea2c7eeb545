//! Flows beside their response functions, as a part of what the trust in a run rests on.

use std::fmt::Write as _;

use flowloom_core::units::three_digits;

use super::escaped;
use crate::metric::Unit;
use crate::plausibility::{FlowPlausibility, Plausibility};
use crate::text::thousands;

/// A line on all flows and a table of those that are listed; nothing where no flow lost a packet.
pub(super) fn part(html: &mut String, plausibility: &Plausibility) {
    if plausibility.judged_flows == 0 && plausibility.not_judged == Default::default() {
        return;
    }
    let _ = writeln!(
        html,
        "<p class=\"plausibility\">Mean windows beside the response functions of their congestion controls: {}. Those farthest from it are listed. From <code>run.json</code>: \
         <code>plausibility</code>.</p>",
        escaped(&plausibility.text())
    );
    if !plausibility.flows.is_empty() {
        table(html, &plausibility.flows);
    }
}

fn table(html: &mut String, flows: &[FlowPlausibility]) {
    html.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Flows beside their response functions\"><table class=\"numbers\">\n\
         <thead><tr><th scope=\"col\">connection</th><th scope=\"col\">class</th><th scope=\"col\">from</th><th scope=\"col\">TCP</th>\
         <th scope=\"col\">loss events</th><th scope=\"col\">rate</th><th scope=\"col\">round trip</th>\
         <th scope=\"col\">mean window, segments</th><th scope=\"col\">expected</th><th scope=\"col\">ratio</th></tr></thead>\n<tbody>\n",
    );
    for flow in flows {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", flow.connection_id);
        for cell in [
            escaped(&flow.class),
            escaped(&flow.from_side),
            escaped(&flow.congestion),
            thousands(flow.loss_events),
            format!("{} %", three_digits(100.0 * flow.loss_event_rate)),
            Unit::Time.show(flow.rtt_ns as f64),
            three_digits(flow.window_segments),
            flow.expected(),
            three_digits(flow.ratio),
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
    use crate::plausibility::NotJudged;

    #[test]
    fn judged_flows_have_rows_and_names_are_escaped() {
        let flow =
            FlowPlausibility { connection_id: 7, class: "a<b".into(), ratio: 13.6, ..FlowPlausibility::default() };
        let not_judged = NotJudged { receiver_limited: 2, ..NotJudged::default() };
        let mut html = String::new();
        part(&mut html, &Plausibility { judged_flows: 1, not_judged, flows: vec![flow], ..Plausibility::default() });
        assert!(html.contains("a&lt;b") && html.contains("<td>13.6</td>"), "{html}");
        assert!(html.contains("1 flow judged") && html.contains("2 limited by the receiver"), "{html}");
        let mut nothing = String::new();
        part(&mut nothing, &Plausibility::default());
        assert!(nothing.is_empty());
    }
}
