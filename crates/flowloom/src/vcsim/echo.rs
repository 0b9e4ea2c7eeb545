//! A specification as JSON, with all defaults filled in.
//!
//! The name of a field is the name in the specification, followed by the unit if there is one.

use std::path::Path;

use flowloom_store::vcsim::{
    Buffer, Discard, Host, Law, Link, Mapping, Placed, Queueing, Route, Router, Specification, Switch, Timer,
    TrafficType,
};
use serde_json::{Value, json};

/// The specification that was read from `file`.
pub fn echo(specification: &Specification, file: &Path) -> Value {
    let Specification {
        bytes_per_cell,
        header_bytes,
        padding,
        max_packet,
        tables,
        seeds,
        timer: Timer { log, checkpoint, regeneration, end },
        routers,
        switches,
        links,
        hosts,
        routes,
    } = specification;
    json!({
        "file": file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        "bytes_per_cell": bytes_per_cell,
        "header_bytes": header_bytes,
        "padding": padding,
        "max_pkt_size_bytes": max_packet,
        "tables": tables.as_ref().map(|tables| &tables.value),
        "seed": seeds,
        "timer": { "log_s": log, "checkpoint_s": checkpoint, "regeneration_s": regeneration, "end_s": end },
        "routers": routers.iter().map(router).collect::<Vec<_>>(),
        "switches": switches.iter().map(switch).collect::<Vec<_>>(),
        "links": links.iter().map(link).collect::<Vec<_>>(),
        "hosts": hosts.iter().map(host).collect::<Vec<_>>(),
        "routes": routes.iter().map(|Route { at: _, nodes }| numbers(nodes)).collect::<Vec<_>>(),
    })
}

fn numbers(nodes: &[Placed<u64>]) -> Vec<u64> {
    nodes.iter().map(|node| node.value).collect()
}

fn router(router: &Router) -> Value {
    let Router {
        at: _,
        id,
        mapping,
        packet_queue,
        cell_queue,
        buffer,
        dynamic,
        idle_time,
        setup_time,
        has_window: _,
        window: _,
        maximum_window: _,
        peak_rate,
        meter_time,
        report,
    } = router;
    with_buffer(
        json!({
            "router_id": id.value,
            "vc_map": match mapping {
                Mapping::PerConversation => "per_conversation",
                Mapping::PerType => "per_type",
                Mapping::PerDestination => "per_destination",
            },
            "packet_queue": queueing(*packet_queue),
            "cell_queue": queueing(*cell_queue),
            "dynamic_vc": dynamic,
            "idle_time_s": idle_time,
            "setup_time_s": setup_time,
            "vc_window_cells": router.circuit_window(),
            "peak_rate_bits_per_second": peak_rate,
            "meter_time_s": meter_time,
            "report": report,
        }),
        buffer,
    )
}

fn switch(switch: &Switch) -> Value {
    let Switch { at: _, id, cell_queue, buffer, report } = switch;
    with_buffer(json!({ "switch_id": id.value, "cell_queue": queueing(*cell_queue), "report": report }), buffer)
}

fn link(link: &Link) -> Value {
    let Link { at: _, id, ends, speed, delay } = link;
    json!({ "link_id": id, "connects": numbers(ends), "speed_bits_per_second": speed, "delay_s": delay })
}

fn host(host: &Host) -> Value {
    let Host {
        at: _,
        id,
        is_source,
        traffic,
        slow_start,
        window_limit,
        retransmit,
        between,
        length,
        gap,
        bytes,
        report,
    } = host;
    let mut fields = json!({
        "host_id": id.value,
        "function": if *is_source { "source" } else { "receiver" },
        "traffic_type": match traffic {
            TrafficType::Ftp => "ftp",
            TrafficType::Nntp => "nntp",
            TrafficType::Smtp => "smtp",
            TrafficType::Telnet => "telnet",
            TrafficType::Misc => "misc",
        },
        "flow_control": if *slow_start { "slow_start" } else { "fixed_window" },
        "window_limit_packets": window_limit,
        "retransmit": retransmit,
        "report": report,
    });
    for (name, unit, Law { is_exponential, mean }) in [
        ("conv_arr", "s", between),
        ("conv_len", "packets", length),
        ("pkt_arr", "s", gap),
        ("pkt_len", "bytes", bytes),
    ] {
        fields[format!("{name}_dist")] = json!(if *is_exponential { "exponential" } else { "constant" });
        fields[format!("{name}_mean_{unit}")] = json!(mean);
    }
    fields
}

fn queueing(queueing: Queueing) -> &'static str {
    match queueing {
        Queueing::Fifo => "fifo",
        Queueing::RoundRobin => "round_robin",
    }
}

/// Adds the fields of a buffer.
fn with_buffer(mut fields: Value, buffer: &Buffer) -> Value {
    let Buffer { is_finite, size, discard, threshold } = buffer;
    fields["buffer_policy"] = json!(if *is_finite { "statistical" } else { "infinite" });
    fields["buffer_size_cells"] = json!(size);
    fields["discard"] = json!(match discard {
        Discard::Tail => "tail",
        Discard::Partial => "partial",
        Discard::Early => "early",
    });
    fields["discard_threshold_cells"] = json!(threshold);
    fields
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use flowloom_store::vcsim::read;
    use serde_json::Map;

    use super::*;

    /// Each parameter with a value that is not its default.
    const ALL: &str = "
bytes_per_cell 40 header_bytes 5 padding 1 max_pkt_size 500 tables t seed 3 5 seed_end
timer log 1 checkpoint 2.5 regeneration 3 end 9 timer_end
router router_id 1 vc_map per_type packet_queue round_robin cell_queue fifo buffer_policy statistical buffer_size 9 discard early
  discard_threshold 4 dynamic_vc 1 idle_time .1 setup_time .2 vc_window 30 peak_rate 1e5 meter_time .2 report 0 router_end
router router_id 2 vc_map per_destination discard partial router_end
switch switch_id 3 cell_queue fifo report 0 switch_end
link link_id 4 connects 1 3 speed 2.5e6 delay .02 link_end
link connects 3 2 link_end
host host_id 5 traffic_type misc flow_control fixed_window window_limit 8 retransmit 0 conv_arr_dist exponential conv_arr_mean 1.5
  conv_len_dist exponential conv_len_mean 9 pkt_arr_dist exponential pkt_arr_mean .3 pkt_len_dist exponential pkt_len_mean 80 report 0 host_end
host host_id 6 function sink host_end
link connects 5 1 link_end
link connects 2 6 link_end
route 5 1 3 2 6 route_end
";

    const UNITS: [&str; 6] = ["_bits_per_second", "_packets", "_cells", "_bytes", "_s", ""];

    /// The fields of an echo as text of a specification: names without their units, values as they are written.
    fn text_of(fields: &Map<String, Value>) -> String {
        let mut text = String::new();
        for (field, value) in fields {
            let written = |value: &Value| match value {
                Value::Bool(value) => u8::from(*value).to_string(),
                Value::String(value) => value.clone(),
                value => value.to_string(),
            };
            let numbers = |list: &Value| list.as_array().unwrap().iter().map(written).collect::<Vec<_>>().join(" ");
            match (&field[..], value) {
                ("file", _) | (_, Value::Null) => {}
                ("seed", seeds) => writeln!(text, "seed {} seed_end", numbers(seeds)).unwrap(),
                ("timer", timer) => {
                    writeln!(text, "timer {} timer_end", text_of(timer.as_object().unwrap())).unwrap();
                }
                ("routes", routes) => {
                    for route in routes.as_array().unwrap() {
                        writeln!(text, "route {} route_end", numbers(route)).unwrap();
                    }
                }
                ("connects", ends) => writeln!(text, "connects {}", numbers(ends)).unwrap(),
                (blocks, Value::Array(list)) => {
                    let block = if blocks == "switches" { "switch" } else { blocks.trim_end_matches('s') };
                    for one in list {
                        writeln!(text, "{block} {} {block}_end", text_of(one.as_object().unwrap())).unwrap();
                    }
                }
                ("header_bytes", value) => writeln!(text, "header_bytes {value}").unwrap(),
                (field, value) => {
                    let name = UNITS.iter().find_map(|unit| field.strip_suffix(unit)).unwrap();
                    writeln!(text, "{name} {}", written(value)).unwrap();
                }
            }
        }
        text
    }

    fn echoed(text: &str) -> Value {
        echo(&read(text).whole().unwrap_or_else(|problems| panic!("{problems:?}: {text}")), Path::new("in/x.spec"))
    }

    #[test]
    fn values_read_back_are_the_same() {
        let found = echoed(ALL);
        assert_eq!(echoed(&text_of(found.as_object().unwrap())), found);
        assert_eq!(found["file"], "x.spec");
        let first = &found["routers"][0];
        let router = json!({
            "router_id": 1, "vc_map": "per_type", "packet_queue": "round_robin", "cell_queue": "fifo",
            "buffer_policy": "statistical", "buffer_size_cells": 9, "discard": "early", "discard_threshold_cells": 4,
            "dynamic_vc": true, "idle_time_s": 0.1, "setup_time_s": 0.2, "vc_window_cells": 30,
            "peak_rate_bits_per_second": 1e5, "meter_time_s": 0.2, "report": false,
        });
        assert_eq!(first, &router);
        let second = &found["routers"][1];
        assert_eq!((&second["vc_map"], &second["discard"]), (&json!("per_destination"), &json!("partial")));
        assert_eq!(second["buffer_size_cells"], 9, "inherited");
        assert_eq!(
            found["links"][0],
            json!({
                "link_id": 4, "connects": [1, 3], "speed_bits_per_second": 2.5e6, "delay_s": 0.02,
            })
        );
        assert_eq!(found["hosts"][0]["pkt_len_mean_bytes"], 80.0);
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let found = echoed(
            "router router_id 1 router_end router router_id 2 router_end switch switch_id 3 switch_end
            link connects 1 3 link_end link connects 3 2 link_end host host_id 5 host_end
            route 5 1 route_end",
        );
        let timer = json!({ "log_s": 0.0, "checkpoint_s": 0.0, "regeneration_s": 0.0, "end_s": 180.0 });
        assert_eq!((&found["timer"], &found["seed"], &found["tables"]), (&timer, &json!([1, 1]), &Value::Null));
        assert_eq!(
            found["switches"][0],
            json!({
                "switch_id": 3, "cell_queue": "round_robin", "buffer_policy": "infinite", "buffer_size_cells": 1_000,
                "discard": "tail", "discard_threshold_cells": 500, "report": true,
            })
        );
        assert_eq!(
            found["links"][1],
            json!({
                "link_id": null, "connects": [3, 2], "speed_bits_per_second": 1.5e6, "delay_s": 0.0,
            })
        );
        assert_eq!(
            found["hosts"][0],
            json!({
                "host_id": 5, "function": "source", "traffic_type": "ftp", "flow_control": "slow_start",
                "window_limit_packets": 128, "retransmit": true, "report": true,
                "conv_arr_dist": "constant", "conv_arr_mean_s": 0.0, "conv_len_dist": "constant",
                "conv_len_mean_packets": 100.0, "pkt_arr_dist": "constant", "pkt_arr_mean_s": 0.1,
                "pkt_len_dist": "constant", "pkt_len_mean_bytes": 512.0,
            })
        );
    }
}
