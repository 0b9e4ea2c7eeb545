//! Plausibility of live runs: the kernel's flows, measured as those of the simulator are.

use serde_json::Value;

use crate::support::Bench;
use crate::{can_run, one_run};

/// Bulk transfers over 20 Mbit/s and round trips of 40 ms that lose so many packets from the left, for 15 s.
fn run(bench: &Bench, driver: &str, loss: &str, sources: &str) -> Value {
    let text = format!(
        "[network]\nbottleneck = {{ rate = \"20mbit\", delay = \"10ms\", queue = {{ limit = \"500p\" }} }}\n\
         [network.path]\nfrom-left = {{ loss = \"{loss}\" }}\n\
         [tcp]\nprofile = \"linux\"\n{sources}\n[measure]\nduration = \"15s\"\ndrain = \"0s\"\n"
    );
    bench.file("e.toml", text.as_bytes());
    let said = bench.flowloom(&["run", "e.toml", "--on", driver, "-o", driver, "--force", "--json"]);
    serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}{}", said.out, said.err))
}

fn bulk(name: &str, more: &str) -> String {
    format!("[[sources]]\nname = \"{name}\"\nkind = \"bulk\"\nrtt = \"40ms\"\n{more}\n")
}

#[test]
fn flows_of_the_kernel_are_judged() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    let small = bulk("small", "window = \"8k\"");
    let sources = bulk("cubic", "") + &bulk("reno", "tcp = { congestion = \"reno\" }") + &small;
    let answer = run(&bench, "live", "1%", &sources);
    let found = &answer["plausibility"];
    // CUBIC and Reno; a window of five segments is less than the twelve that 1 % leaves.
    assert_eq!((&found["judged_flows"], &found["outside_flows"]), (&2.into(), &0.into()), "{found}");
    assert_eq!(found["not_judged"]["receiver_limited"], 1, "{found}");
    for flow in found["flows"].as_array().unwrap() {
        assert_eq!(flow["from_side"], "left");
        assert!((0.004..0.02).contains(&flow["loss_event_rate"].as_f64().unwrap()), "{flow}");
        // Lateness of a busy host comes on top of 40 ms.
        assert!((39_000_000..80_000_000).contains(&flow["rtt_ns"].as_u64().unwrap()), "{flow}");
        // TCP_RTO_MIN above the round trip.
        assert!((200_000_000..2_000_000_000).contains(&flow["timeout_ns"].as_u64().unwrap()), "{flow}");
    }
    for class in found["classes"].as_array().unwrap() {
        assert!((0.003..0.03).contains(&class["from_left"]["dropped_share"].as_f64().unwrap()), "{class}");
    }
}

#[test]
fn heavy_losses_of_the_kernel_are_warned_of() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let answer = run(&Bench::new(), "live", "25%", &bulk("ftp", "count = 10"));
    let kinds: Vec<&str> =
        answer["warnings"].as_array().unwrap().iter().filter_map(|warning| warning["kind"].as_str()).collect();
    assert!(kinds.contains(&"overload"), "{kinds:?}");
    assert_eq!(answer["plausibility"]["outside_flows"], 0, "{}", answer["plausibility"]);
}
