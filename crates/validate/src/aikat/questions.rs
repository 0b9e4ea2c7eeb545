//! What Aikat 2010 leaves open (section 7.1), and what runs of ours say: nothing is published beside it.

use super::cells::Network;
use super::claims::{Claim, Of};
use super::published::{CAMPUS, ratio, value};

use Network::{Constrained, Unconstrained};

const SOURCE: &str = "7.1";

/// 1,200 packets at 0.4 of the scale.
const SHORT_QUEUE: &str = "drop-tail 480p";

/// The structures whose runs are set side by side.
const STRUCTURES: [&str; 3] = ["a-t-b-t", "a-b", "block-sequential"];

/// Parts of the workload in half an hour without a limit: the name of the rows, and what it is.
const PARTS: [(&str, &str); 9] = [
    ("campus-2008, whole", "all"),
    ("campus-2008, longest", "the 30 % of connections that last longest"),
    ("campus-2008, shorter", "the 70 % that last for a shorter time"),
    ("campus-2008, largest", "the 30 % of connections with the most bytes"),
    ("campus-2008, smaller", "the 70 % with fewer bytes"),
    ("campus-2008, starts", "starts alone"),
    ("campus-2008, times", "starts and waits"),
    ("campus-2008, sizes", "sizes alone"),
    ("campus-2008, neither", "neither"),
];

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
pub fn questions() -> [Question; 9] {
    [short_queue(), disciplines(), paths(), instants(), parts(), twin(), datagrams(), steady(), live()]
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

fn parts() -> Question {
    let of = |workload| Of::control(CAMPUS, Unconstrained).workload(workload);
    let whole = of(PARTS[0].0);
    let hurst = "hurst_packets_heavy";
    let mut claims = Vec::new();
    for (workload, name) in PARTS {
        claims.push(value(format!("{name}: Hurst parameter of packets"), SOURCE, of(workload), hurst, f64::NAN));
        let [low, high] = ["hurst_packets_heavy_low", "hurst_packets_heavy_high"];
        claims.push(value(format!("{name}: lower end of a run's interval"), SOURCE, of(workload), low, f64::NAN));
        claims.push(value(format!("{name}: upper end of a run's interval"), SOURCE, of(workload), high, f64::NAN));
    }
    for (workload, name) in &PARTS[1..] {
        let name = format!("{name}: packets a second, over all");
        claims.push(compared(name, of(workload), whole, "packet_rate_heavy_kpps"));
    }
    Question {
        title: "Which part of the workload makes dependence",
        text: "Half an hour of the workload, cut like a trace, and parts of it, each over a link without a limit (`dependence.toml`; \
               `reproduce --parts` makes the parts). A connection that does not close lasts until the end. *Starts alone*: each \
               connection that begins in this half hour exchanges the mean request and the mean response at its own start. *Starts and \
               waits*: each connection has all its data units and waits, and all units have the mean size. *Sizes alone*: each \
               connection sends its bytes in one exchange, without waits, and connections start in a Poisson process. *Neither*: mean \
               exchanges in a Poisson process, whose Hurst parameter is one half. The last four have all bytes of the workload.",
        claims,
    }
}

fn twin() -> Question {
    let rows: [(&str, &str); 9] = [
        ("throughput", "throughput_heavy_mbps"),
        ("packets a second", "packet_rate_heavy_kpps"),
        ("median response", "response_p50_ms"),
        ("90 % of responses", "response_p90_ms"),
        ("median time to the last byte", "last_byte_p50_ms"),
        ("80 % of times to the last byte", "last_byte_p80_ms"),
        ("active connections (presence)", "presence_mean"),
        ("Hurst parameter of packets", "hurst_packets_heavy"),
        ("mean queue", "queue_mean_packets"),
    ];
    let mut claims = Vec::new();
    for (workload, draw) in
        [("campus-2008, twin independent", "by variables"), ("campus-2008, twin sessions", "by sessions")]
    {
        for network in [Unconstrained, Constrained] {
            let control = Of::control(CAMPUS, network);
            let twin = control.workload(workload);
            // Nothing waits without a limit.
            let of_network = rows.iter().filter(|(what, _)| network == Constrained || *what != "mean queue");
            claims.extend(of_network.map(|(what, quantity)| {
                compared(format!("{draw}, {network}: {what}, twin over a-t-b-t"), twin, control, quantity)
            }));
        }
    }
    Question {
        title: "A parametric twin",
        text: "Swing's model is fitted to whole connections of the workload (`reproduce --twin`). The workload does not tell clients, \
               so each connection has a client of its own. The model draws half an hour, cut like a trace: each variable for itself, or \
               whole sessions, which here are whole connections. The constrained link has 105 % of each workload's own load.",
        claims,
    }
}

fn datagrams() -> Question {
    let alone = Of::small(Constrained);
    let mut claims = Vec::new();
    let rows = [
        ("5 % on top", "campus-2008 + poisson 9.04mbit", 0.4),
        ("20 % on top", "campus-2008 + poisson 36.16mbit", 0.4),
        ("5 % of the load", "campus-2008 + poisson 9.04mbit", 0.38),
        ("20 % of the load", "campus-2008 + poisson 36.16mbit", 0.32),
    ];
    for (name, workload, scale) in rows {
        let beside = alone.workload(workload).at_scale(scale);
        for (what, quantity) in [
            ("mean queue", "queue_mean_packets"),
            ("median response", "response_p50_ms"),
            ("90 % of responses", "response_p90_ms"),
            ("80 % of times to the last byte", "last_byte_p80_ms"),
        ] {
            claims.push(compared(format!("{name}: {what}, beside datagrams over alone"), beside, alone, quantity));
        }
    }
    Question {
        title: "Datagrams beside TCP",
        text: "A Poisson process of datagrams in the busier direction has 5 or 20 % of the published load at this scale. The link has \
               105 % of the load of the connections alone. The datagrams come on top of the connections, or replace as large a part of \
               them (`datagrams.toml`; six minutes). Responses and times are those of TCP.",
        claims,
    }
}

/// The scale of `examples/aikat-2010/live.toml`.
const LIVE_SCALE: f64 = 0.02;

fn live() -> Question {
    let of = |network| Of::control(CAMPUS, network).minutes(2).at_scale(LIVE_SCALE);
    let live = |of: Of| of.workload("campus-2008, live");
    let rows: [(&str, &str); 6] = [
        ("throughput", "throughput_heavy_mbps"),
        ("packets a second", "packet_rate_heavy_kpps"),
        ("median response", "response_p50_ms"),
        ("80 % of times to the last byte", "last_byte_p80_ms"),
        ("active connections (presence)", "presence_mean"),
        ("mean queue", "queue_mean_packets"),
    ];
    let mut claims = Vec::new();
    for network in [Unconstrained, Constrained] {
        for structure in ["a-t-b-t", "block-concurrent"] {
            let simulated = of(network).structure(structure);
            for (what, quantity) in rows {
                // Blocks have no responses, and nothing waits without a limit.
                let is_asked = match quantity {
                    "response_p50_ms" => structure == "a-t-b-t",
                    "queue_mean_packets" => network == Constrained,
                    _ => true,
                };
                if is_asked {
                    let name = format!("{structure}, {network}: {what}, live over simulated");
                    claims.push(compared(name, live(simulated), simulated, quantity));
                }
            }
        }
    }
    let orderings = [
        ("active connections (presence), a-t-b-t over block-concurrent", Unconstrained, "presence_mean", true),
        ("80 % of times to the last byte, a-t-b-t over block-concurrent", Unconstrained, "last_byte_p80_ms", true),
        ("mean queue, block-concurrent over a-t-b-t", Constrained, "queue_mean_packets", false),
    ];
    for (what, network, quantity, is_control_above) in orderings {
        for (driver, control) in [("live", live(of(network))), ("simulated", of(network))] {
            let blocks = control.structure("block-concurrent");
            let (over, under) = if is_control_above { (control, blocks) } else { (blocks, control) };
            claims.push(compared(format!("{driver}, {network}: {what}"), over, under, quantity));
        }
    }
    Question {
        title: "Live",
        text: "The control and the structure without waits through the kernel's TCP and in the simulator, with the same seeds, for two \
               minutes at 0.02 of the scale, where the live runs of a host of two cores can be VALID (`live.toml`; profile `linux`). A \
               live run opens the connections in progress at its beginning.",
        claims,
    }
}

fn steady() -> Question {
    let rows: [(&str, &str); 8] = [
        ("starts are steady from, s", "settled_starts_s"),
        ("throughput is steady from, s", "settled_throughput_s"),
        ("active connections (presence) are steady from, s", "settled_presence_s"),
        ("the queue is steady from, s", "settled_queue_s"),
        ("active connections, last third over first", "last_over_first_third_presence"),
        ("queue, last third over first", "last_over_first_third_queue"),
        ("throughput: deviation of means over a minute, share of the mean", "throughput_cov_60s"),
        ("throughput: deviation of means over five minutes, share of the mean", "throughput_cov_300s"),
    ];
    let mut claims = Vec::new();
    for network in [Unconstrained, Constrained] {
        let cut = Of::control(CAMPUS, network);
        for (name, of) in [("cut like a trace", cut), ("from empty", cut.workload("campus-2008, from empty"))] {
            let of_network = rows.iter().filter(|(what, _)| network == Constrained || !what.contains("queue"));
            claims.extend(
                of_network.map(|(what, quantity)| {
                    value(format!("{name}, {network}: {what}"), SOURCE, of, quantity, f64::NAN)
                }),
            );
        }
    }
    Question {
        title: "How long until a run is steady",
        text: "Half an hour, cut like a trace, and begun without open connections (`steady.toml`). A quantity is steady from the moment \
               from which its running mean over a tenth of the time stays within 5 % of the mean of the second half. A quantity that is \
               not steady in the first half counts as 900 s. In the trace, a connection in progress counts as a start when its first \
               packet passes.",
        claims,
    }
}
