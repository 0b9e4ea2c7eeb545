//! What Aikat 2010 leaves open (section 7.1), and what runs of ours say: nothing is published beside it.

use super::cells::{CellRow, Network};
use super::claims::{Asked, Claim, Growth, Of};

use Network::{Constrained, Unconstrained};

const CAMPUS: &str = "campus-2008";

/// 1,200 packets at 0.4 of the scale.
const SHORT_QUEUE: &str = "drop-tail 480p";

/// Approximations of the workload's round-trip times by so many paths, as the experiment has them.
const PATHS: [(&str, &str); 2] =
    [("30", "{ kind = \"paths\", paths = 30 }"), ("150", "{ kind = \"paths\", paths = 150 }")];

/// A question, and what was asked of the runs.
pub struct Question {
    /// The question.
    pub title: &'static str,
    /// How it was asked.
    pub text: &'static str,
    /// Numbers and ratios, by what they are.
    pub asked: Vec<(String, Asked)>,
}

impl Question {
    /// Lines of a table: what was asked, and what the runs at `scale` say.
    pub fn lines(&self, rows: &[CellRow], scale: f64) -> Vec<(String, String)> {
        let line = |(name, asked): &(String, Asked)| {
            let claim = Claim { name: name.clone(), source: "7.1", asked: asked.clone(), why: None };
            let ours = claim.ours(rows, scale).map_or_else(|| "not run".to_owned(), |ours| ours.to_string());
            (name.clone(), ours)
        };
        self.asked.iter().map(line).collect()
    }
}

fn value(name: String, of: Of, quantity: &'static str) -> (String, Asked) {
    (name, Asked::Value { of, quantity, growth: Growth::None, published: f64::NAN, tolerance: 0.0 })
}

fn ratio(name: String, over: Of, under: Of, quantity: &'static str) -> (String, Asked) {
    (name, Asked::Ratio { over: (over, quantity), under: (under, quantity), least: 0.0, most: f64::INFINITY })
}

/// The control of `examples/aikat-2010/small.toml`.
fn small(network: Network) -> Of {
    Of::control(CAMPUS, network).minutes(6)
}

/// All of them that were asked.
pub fn questions() -> [Question; 4] {
    [short_queue(), disciplines(), paths(), instants()]
}

fn short_queue() -> Question {
    let mut asked = Vec::new();
    for structure in ["a-t-b-t", "a-b", "block-sequential"] {
        let long = small(Constrained).structure(structure);
        let short = long.queue(SHORT_QUEUE);
        asked.push(value(format!("{structure}: share of the packets that is dropped"), short, "loss_share"));
        asked.push(ratio(
            format!("{structure}: median response, short over long queue"),
            short,
            long,
            "response_p50_ms",
        ));
        asked.push(ratio(
            format!("{structure}: 90 % of responses, short over long queue"),
            short,
            long,
            "response_p90_ms",
        ));
        asked.push(ratio(
            format!("{structure}: 80 % of times to the last byte, short over long queue"),
            short,
            long,
            "last_byte_p80_ms",
        ));
    }
    Question {
        title: "Losses in a short queue",
        text: "A queue of 1,200 packets at the published scale in the place of one that drops nothing (`queues.toml`; six minutes).",
        asked,
    }
}

fn disciplines() -> Question {
    let mut asked = Vec::new();
    for (name, queue) in [("PIE", "pie 65000p"), ("FQ-CoDel", "fq-codel 65000p")] {
        for structure in ["a-t-b-t", "a-b", "block-sequential"] {
            let long = small(Constrained).structure(structure);
            let of = long.queue(queue);
            asked.push(ratio(
                format!("{name}, {structure}: median response over drop-tail"),
                of,
                long,
                "response_p50_ms",
            ));
            asked.push(ratio(
                format!("{name}, {structure}: 90 % of responses over drop-tail"),
                of,
                long,
                "response_p90_ms",
            ));
        }
        let full = small(Constrained).queue(queue);
        let without = full.structure("a-b");
        asked.push(ratio(format!("{name}: median response, a-b over a-t-b-t"), without, full, "response_p50_ms"));
        asked.push(ratio(format!("{name}: mean queue, a-b over a-t-b-t"), without, full, "queue_mean_packets"));
    }
    let full = small(Constrained);
    let without = full.structure("a-b");
    asked.push(ratio("drop-tail: median response, a-b over a-t-b-t".to_owned(), without, full, "response_p50_ms"));
    asked.push(ratio("drop-tail: mean queue, a-b over a-t-b-t".to_owned(), without, full, "queue_mean_packets"));
    Question {
        title: "Queue disciplines under each structure",
        text: "What a queue discipline is worth depends on the structure of the traffic that it is tried with (`queues.toml`; six minutes).",
        asked,
    }
}

fn paths() -> Question {
    let own = small(Constrained);
    let mut asked = Vec::new();
    for (number, rtt) in PATHS {
        let of = own.rtt(rtt);
        for (what, quantity) in [
            ("mean queue", "queue_mean_packets"),
            ("median response", "response_p50_ms"),
            ("median time to the last byte", "last_byte_p50_ms"),
        ] {
            asked.push(ratio(format!("{number} paths over usernet, constrained: {what}"), of, own, quantity));
        }
    }
    Question {
        title: "150 paths",
        text: "Whether more paths come nearer to each connection's own round-trip time where 30 make heavier queues (`paths.toml`; six minutes).",
        asked,
    }
}

fn instants() -> Question {
    let mut asked = Vec::new();
    for structure in ["a-t-b-t", "a-b", "block-sequential"] {
        let own = small(Unconstrained).structure(structure);
        if structure != "a-b" {
            let name = format!("{structure}: mean RTT over usernet, by instants");
            asked.push(ratio(name, own.rtt("mean"), own, "instant_mean"));
            let name = format!("{structure}: mean RTT over usernet, by presence in seconds");
            asked.push(ratio(name, own.rtt("mean"), own, "presence_mean"));
        }
        asked.push((
            format!("{structure}: presence in seconds over instants"),
            Asked::Ratio {
                over: (own, "presence_mean"),
                under: (own, "instant_mean"),
                least: 0.0,
                most: f64::INFINITY,
            },
        ));
    }
    Question {
        title: "Active connections by the millisecond",
        text: "Presence in seconds adds up to a second to each connection and hides what is shorter. Instants, to which presence in milliseconds \
               comes within a thousandth of the connections that begin in a second, do not (`small.toml`; six minutes).",
        asked,
    }
}
