//! Flows beside their response functions, as a part of what the trust in a run rests on.

use flowloom_core::units::three_digits;
use maud::{Markup, html};

use super::elements::{heads, row, scrolled};
use crate::metric::Unit;
use crate::plausibility::{FlowPlausibility, Plausibility};
use crate::words::thousands;

/// A line on all flows and a table of those that are listed; nothing where no flow lost a packet.
pub(super) fn part(plausibility: &Plausibility) -> Markup {
    html! {
        @if plausibility.judged_flows > 0 || plausibility.not_judged != Default::default() {
            p class="plausibility" {
                "Mean windows beside the response functions of their congestion controls: " (plausibility.text())
                ". Those farthest from it are listed. From " code { "run.json" } ": " code { "plausibility" } "."
            }
            @if !plausibility.flows.is_empty() {
                (scrolled("Flows beside their response functions", &table(&plausibility.flows)))
            }
        }
    }
}

fn table(flows: &[FlowPlausibility]) -> Markup {
    let names = [
        "connection",
        "class",
        "from",
        "TCP",
        "loss events",
        "rate",
        "round trip",
        "mean window, segments",
        "expected",
        "ratio",
    ];
    let cells = |flow: &FlowPlausibility| {
        [
            flow.class.clone(),
            flow.from_side.clone(),
            flow.congestion.clone(),
            thousands(flow.loss_events),
            format!("{} %", three_digits(100.0 * flow.loss_event_rate)),
            Unit::Time.show(flow.rtt_ns as f64),
            three_digits(flow.window_segments),
            flow.expected(),
            three_digits(flow.ratio),
        ]
    };
    html! {
        table class="numbers" {
            (heads(names))
            tbody { @for flow in flows { (row(flow.connection_id, cells(flow))) } }
        }
    }
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
        let found = Plausibility { judged_flows: 1, not_judged, flows: vec![flow], ..Plausibility::default() };
        let html = part(&found).into_string();
        assert!(html.contains("a&lt;b") && html.contains("<td>13.6</td>"), "{html}");
        assert!(html.contains("1 flow judged") && html.contains("2 limited by the receiver"), "{html}");
        assert_eq!(part(&Plausibility::default()).0, "");
    }
}
