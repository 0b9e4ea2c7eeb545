//! Results of an internetwork, as text and as JSON.

use std::fmt::Write as _;

use flowloom_report::statistics::{Estimate, Interval};
use flowloom_sim::cells::{HostResults, Results, RouterResults, Spread};
use serde_json::{Value, json};

use super::config::Names;
use crate::warning::Warning;

/// One line of the original's output: a name and its value with three decimals.
fn line(text: &mut String, name: &str, value: f64, unit: &str) {
    let _ = writeln!(text, "    {name:<34} {value:>16.3} {unit}");
}

fn spread(text: &mut String, name: &str, spread: &Spread, unit: &str) {
    let Spread { count, mean, deviation, min, p95, max } = spread;
    let _ = writeln!(
        text,
        "    {name:<34} {mean:>16.3} {unit}  (deviation {deviation:.3}, minimum {min:.3}, 95 % {p95:.3}, maximum {max:.3}, samples {count})"
    );
}

fn rate(count: u64, results: &Results) -> f64 {
    let seconds = results.measured.as_secs_f64();
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Results as VCSIM tells them, node by node.
pub fn text_of(results: &Results, names: &Names) -> String {
    let mut text = format!(
        "simulated {:.3} s, measured {:.3} s{}\ncells: {} entered circuits, {} came to their ends, {} were lost, {} were under way\n",
        results.end.as_secs_f64(),
        results.measured.as_secs_f64(),
        if results.regenerated { ", ended at an instant of regeneration" } else { "" },
        results.cells,
        results.cells_arrived,
        results.cells_lost,
        results.cells_under_way,
    );
    for (place, node) in names.nodes.iter().enumerate().filter(|(_, node)| node.report) {
        let links = names.links_from(node.id);
        let (router, host) = (results.routers[place].as_ref(), results.hosts[place].as_ref());
        if router.is_none() && host.is_none() && links.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{} {}", node.kind, node.id);
        if let Some(router) = router {
            spread(&mut text, "queue", &router.queue_bytes, "bytes");
            if router.waiting_packets.max > 0.0 {
                spread(&mut text, "packets that wait for windows", &router.waiting_packets, "packets");
            }
            spread(&mut text, "packet delay", &router.packet_delay_s, "s");
            line(&mut text, "packet throughput", rate(router.packets, results), "packets/s");
            line(&mut text, "cell throughput", rate(router.cells, results), "cells/s");
            line(&mut text, "bit throughput", rate(router.cells * names.bits_per_cell, results), "bit/s");
            line(&mut text, "cells lost", router.cells_lost as f64, "");
            line(&mut text, "packets broken", router.packets_broken as f64, "");
            line(&mut text, "circuits set up", router.circuits_set_up as f64, "");
        }
        if let Some(host) = host {
            if host.round_trip_s.count > 0 {
                spread(&mut text, "round trip", &host.round_trip_s, "s");
            }
            line(&mut text, "packet throughput", rate(host.packets_delivered, results), "packets/s");
            line(&mut text, "bit throughput", rate(host.bytes_delivered * 8, results), "bit/s");
            line(&mut text, "retransmissions", host.retransmissions as f64, "");
            line(&mut text, "timeouts", host.timeouts as f64, "");
            if node.kind == "source" {
                line(&mut text, "conversations", host.conversations as f64, "");
            }
        }
        for (link, way, other) in links {
            line(&mut text, &format!("utilisation of the link to {other}"), results.links[link][way].utilisation, "");
        }
    }
    text
}

/// Quantities of a run that are averaged over seeds, in one order.
fn quantities(results: &Results, names: &Names) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for (place, node) in names.nodes.iter().enumerate().filter(|(_, node)| node.report) {
        let mut add = |name: &str, value: f64| all.push((format!("{} {}: {name}", node.kind, node.id), value));
        if let Some(router) = &results.routers[place] {
            add("queue, mean (bytes)", router.queue_bytes.mean);
            add("queue, maximum (bytes)", router.queue_bytes.max);
            add("packet delay, mean (s)", router.packet_delay_s.mean);
            add("cells/s", rate(router.cells, results));
        }
        if let Some(host) = results.hosts[place].as_ref().filter(|_| node.kind == "source") {
            add("round trip, mean (s)", host.round_trip_s.mean);
            add("throughput (bit/s)", rate(host.bytes_delivered * 8, results));
            add("retransmissions", host.retransmissions as f64);
        }
        for (link, way, other) in names.links_from(node.id) {
            add(&format!("utilisation of the link to {other}"), results.links[link][way].utilisation);
        }
    }
    all
}

/// Means over seeds with 95 % intervals (methods G.7).
pub fn text_of_several(runs: &[(u64, Results)], names: &Names) -> String {
    let found: Vec<Vec<(String, f64)>> = runs.iter().map(|(_, results)| quantities(results, names)).collect();
    let mut text = format!("{} runs; means and 95 % intervals over them\n", runs.len());
    for (place, (name, _)) in found[0].iter().enumerate() {
        let values: Vec<f64> = found.iter().map(|run| run[place].1).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let _ = write!(text, "    {name:<50} {mean:>16.3}");
        // One run has no interval.
        if let Some(Interval { low, high }) = Estimate::of_mean(&values).map(|mean| mean.interval_from_zero(0.95)) {
            let _ = write!(text, "  {low:.3} to {high:.3}");
        }
        text.push('\n');
    }
    text
}

fn spread_json(spread: &Spread) -> Value {
    json!({
        "n": spread.count,
        "mean": spread.mean,
        "standard_deviation": spread.deviation,
        "min": spread.min,
        "p95": spread.p95,
        "max": spread.max,
    })
}

fn router_json(id: u64, router: &RouterResults, results: &Results, names: &Names) -> Value {
    json!({
        "router": id,
        "queue_bytes": spread_json(&router.queue_bytes),
        "waiting_packets": spread_json(&router.waiting_packets),
        "packet_delay_s": spread_json(&router.packet_delay_s),
        "packets_per_second": rate(router.packets, results),
        "cells_per_second": rate(router.cells, results),
        "bits_per_second": rate(router.cells * names.bits_per_cell, results),
        "cells_lost": router.cells_lost,
        "packets_broken": router.packets_broken,
        "circuits_set_up": router.circuits_set_up,
    })
}

fn host_json(id: u64, kind: &str, host: &HostResults, results: &Results) -> Value {
    json!({
        "host": id,
        "function": kind,
        "round_trip_s": (host.round_trip_s.count > 0).then(|| spread_json(&host.round_trip_s)),
        "packets_per_second": rate(host.packets_delivered, results),
        "bits_per_second": rate(host.bytes_delivered * 8, results),
        "packets_sent": host.packets_sent,
        "retransmissions": host.retransmissions,
        "timeouts": host.timeouts,
        "conversations": host.conversations,
    })
}

/// What `run --json` prints of runs of `specification`.
pub fn answer(
    specification: Value,
    runs: &[(u64, Results)],
    names: &Names,
    interrupted: bool,
    warnings: &[Warning],
) -> Value {
    let run = |(seed, results): &(u64, Results)| {
        let nodes = || names.nodes.iter().enumerate();
        let routers = nodes().filter_map(|(place, node)| {
            results.routers[place].as_ref().map(|router| router_json(node.id, router, results, names))
        });
        let hosts = nodes().filter_map(|(place, node)| {
            results.hosts[place].as_ref().map(|host| host_json(node.id, node.kind, host, results))
        });
        let links = nodes().flat_map(|(_, node)| {
            names.links_from(node.id).into_iter().map(|(link, way, other)| {
                let found = results.links[link][way];
                json!({ "from": node.id, "to": other, "utilisation": found.utilisation, "bytes": found.bytes })
            })
        });
        json!({
            "seed": seed,
            "end_ns": results.end.as_nanos(),
            "measured_ns": results.measured.as_nanos(),
            "regenerated": results.regenerated,
            "cells": results.cells,
            "cells_arrived": results.cells_arrived,
            "cells_lost": results.cells_lost,
            "cells_under_way": results.cells_under_way,
            "routers": routers.collect::<Vec<_>>(),
            "hosts": hosts.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
        })
    };
    json!({
        "specification": specification,
        "interrupted": interrupted,
        "runs": runs.iter().map(run).collect::<Vec<_>>(),
        "warnings": warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
    })
}
