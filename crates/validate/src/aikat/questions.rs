//! What Aikat 2010 leaves open (section 7.1), and what runs of ours say: nothing is published beside it.

use super::cells::Network;
use super::claims::{Claim, Of};
use super::published::{ratio, value};

use Network::{Constrained, Unconstrained};

const SOURCE: &str = "7.1";

/// 1,200 packets at 0.4 of the scale.
const SHORT_QUEUE: &str = "drop-tail 480p";

/// The structures whose runs are set side by side.
const STRUCTURES: [&str; 3] = ["a-t-b-t", "a-b", "block-sequential"];

/// A question, and what was asked of the runs.
pub struct Question {
    /// The question in a few words, as a heading.
    pub title: &'static str,
    /// How it was asked.
    pub text: &'static str,
    /// Numbers and ratios without a published one.
    pub claims: Vec<Claim>,
}

/// The ratio of a quantity of the runs `over` to that of the runs `under`, which may be any.
fn compared(name: String, over: Of, under: Of, quantity: &'static str) -> Claim {
    ratio(name, SOURCE, (over, quantity), (under, quantity), (0.0, f64::INFINITY))
}

/// All of them that were asked.
pub fn questions() -> [Question; 4] {
    [short_queue(), disciplines(), paths(), instants()]
}

fn short_queue() -> Question {
    let mut claims = Vec::new();
    for structure in STRUCTURES {
        let long = Of::small(Constrained).structure(structure);
        let short = long.queue(SHORT_QUEUE);
        let name = format!("{structure}: share of the packets that is dropped");
        claims.push(value(name, SOURCE, short, "loss_share", f64::NAN));
        for (what, quantity) in [
            ("median response", "response_p50_ms"),
            ("90 % of responses", "response_p90_ms"),
            ("80 % of times to the last byte", "last_byte_p80_ms"),
        ] {
            claims.push(compared(format!("{structure}: {what}, short over long queue"), short, long, quantity));
        }
    }
    Question {
        title: "Losses in a short queue",
        text: "A queue of 1,200 packets at the published scale in the place of one that drops nothing (`queues.toml`; six minutes).",
        claims,
    }
}

fn disciplines() -> Question {
    let mut claims = Vec::new();
    let mut of_structure = |name: &str, full: Of| {
        let without = full.structure("a-b");
        for (what, quantity) in [("median response", "response_p50_ms"), ("mean queue", "queue_mean_packets")] {
            claims.push(compared(format!("{name}: {what}, a-b over a-t-b-t"), without, full, quantity));
        }
    };
    of_structure("drop-tail", Of::small(Constrained));
    let disciplines = [("PIE", "pie 65000p"), ("FQ-CoDel", "fq-codel 65000p")];
    disciplines.iter().for_each(|(name, queue)| of_structure(name, Of::small(Constrained).queue(queue)));
    for (name, queue) in disciplines {
        for structure in STRUCTURES {
            let long = Of::small(Constrained).structure(structure);
            for (what, quantity) in [("median response", "response_p50_ms"), ("90 % of responses", "response_p90_ms")] {
                let name = format!("{name}, {structure}: {what} over drop-tail");
                claims.push(compared(name, long.queue(queue), long, quantity));
            }
        }
    }
    Question {
        title: "Queue disciplines under each structure",
        text: "What a queue discipline is worth depends on the structure of the traffic that it is tried with (`queues.toml`; six minutes).",
        claims,
    }
}

fn paths() -> Question {
    let own = Of::small(Constrained);
    let mut claims = Vec::new();
    for paths in ["30 paths", "150 paths"] {
        for (what, quantity) in [
            ("mean queue", "queue_mean_packets"),
            ("median response", "response_p50_ms"),
            ("median time to the last byte", "last_byte_p50_ms"),
        ] {
            claims.push(compared(format!("{paths} over usernet, constrained: {what}"), own.rtt(paths), own, quantity));
        }
    }
    Question {
        title: "150 paths",
        text: "Whether more paths come nearer to each connection's own round-trip time where 30 make heavier queues (`paths.toml`; six minutes).",
        claims,
    }
}

fn instants() -> Question {
    let mut claims = Vec::new();
    for structure in STRUCTURES {
        let own = Of::small(Unconstrained).structure(structure);
        // small.toml has no a-b with the mean round-trip time.
        if structure != "a-b" {
            let at_mean = own.rtt("mean");
            let name = |how| format!("{structure}: mean RTT over usernet, by {how}");
            claims.push(compared(name("instants"), at_mean, own, "instant_mean"));
            claims.push(compared(name("presence in seconds"), at_mean, own, "presence_mean"));
        }
        let name = format!("{structure}: presence in seconds over instants");
        claims.push(ratio(name, SOURCE, (own, "presence_mean"), (own, "instant_mean"), (0.0, f64::INFINITY)));
    }
    Question {
        title: "Active connections by the millisecond",
        text: "Presence in seconds adds up to a second to each connection, and so hides differences that are shorter. Presence in milliseconds adds a \
               thousandth of that, which leaves hardly more than the connections that are open at an instant (`small.toml`; six minutes).",
        claims,
    }
}
