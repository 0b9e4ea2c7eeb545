//! What an experiment changes of the original: rate, queue, structure, and what else decides how its applications fare. A replay
//! with any of it answers another question than whether it is the capture.

use flowloom_core::extract::TrafficSeries;
use flowloom_sim::keys::Topology;

use crate::experiment::{Experiment, Network, RateChoice, Waits, Workload};
use crate::workload::source::Source;

/// The changes, each in a few words; none of a replay under the original's conditions.
pub fn changes(experiment: &Experiment, source: &Source) -> Vec<String> {
    let Experiment { workload, network, sources, run, tcp, .. } = experiment;
    let usual = Workload::default();
    let mut found = Vec::new();
    let mut say = |is_changed: bool, what: &dyn Fn() -> String| found.extend(is_changed.then(what));
    say(workload.structure != usual.structure, &|| format!("structure {}", workload.structure.name()));
    say(workload.load.is_some(), &|| "another load".to_owned());
    say(!workload.rtt.keeps_all(), &|| format!("round-trip times {}", workload.rtt));
    say(workload.window.value != usual.window.value, &|| format!("windows {}", workload.window));
    let Waits { min, correct } = &workload.waits;
    say(!min.value.is_zero(), &|| format!("waits from {min}"));
    say(*correct != usual.waits.correct, &|| "waits not corrected".to_owned());
    say(!workload.lead_in, &|| "no lead-in".to_owned());
    say(!workload.t_close, &|| "no time to close".to_owned());
    say(!workload.replay.writes, &|| "no writes inside data units".to_owned());
    say(workload.replay.options == Some(false), &|| "options of [tcp]".to_owned());
    say(!workload.replay.first_flight, &|| "no first-flight windows".to_owned());
    say(workload.replay.rtt != usual.replay.rtt, &|| format!("transit times {}", workload.replay.rtt.name()));
    say(!workload.replay.acks, &|| "no acknowledgement policies".to_owned());
    let initial_window = tcp.own_initial_window();
    say(initial_window.is_some(), &|| match initial_window.unwrap_or_default() {
        0 => "initial window of RFC 5681".to_owned(),
        segments => format!("initial window of {segments} MSS"),
    });
    say(source.is_draw(run.variation()), &|| "starts drawn anew".to_owned());
    say(constrains(network, source), &|| format!("rate {}", network.bottleneck.rate));
    let Network { bottleneck, .. } = network;
    let queue = Network::default().bottleneck.queue;
    say(bottleneck.queue.resolved() != queue.resolved(), &|| format!("queue {}", bottleneck.queue));
    say(!bottleneck.delay.value.is_zero(), &|| format!("delay {}", bottleneck.delay));
    say(network.topology != Topology::Dumbbell, &|| network.kind());
    let additions = network.additions();
    say(!additions.is_empty(), &|| additions.trim_start_matches(", ").to_owned());
    say(!sources.is_empty(), &|| "sources beside the workload".to_owned());
    found
}

/// Whether the link may hold packets up that the original's did not: its rate is not even twice the busiest 10 ms.
fn constrains(network: &Network, source: &Source) -> bool {
    let peak = 8.0 * source.facts.capture.peak_10ms_bytes as f64 / TrafficSeries::WIDTH.as_secs_f64();
    match network.bottleneck.rate.value {
        RateChoice::Auto => false,
        RateChoice::OfLoad(_) => true,
        RateChoice::Fixed(rate) => rate.bits_per_second().is_some_and(|rate| (rate as f64) < 2.0 * peak),
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::time::Duration;

    use super::*;
    use crate::workload::generation::Blocks;

    fn of(keys: &[(&str, &str)]) -> Vec<String> {
        let mut source = Source::none();
        // 8 Mbit/s in the busiest 10 ms.
        source.facts.capture.peak_10ms_bytes = 10_000;
        source.blocks = Some(Blocks { length: Duration::from_secs(1), count: 20, active_share: 1.0 });
        let experiment =
            keys.iter().try_fold(Experiment::of("a.pcap"), |experiment, (key, value)| experiment.with(key, value));
        changes(&experiment.unwrap(), &source)
    }

    #[test]
    fn what_is_as_in_the_original_is_no_change() {
        for keys in [
            &[][..],
            &[("network.bottleneck.rate", "1gbit")],
            &[("network.bottleneck.rate", "16mbit")],
            &[("tcp.profile", "linux"), ("tcp.congestion", "bbr")],
            &[("workload.rtt", "usernet"), ("workload.window", "measured"), ("workload.waits.min", "0s")],
            &[("tcp.profile", "linux"), ("tcp.initial-window", "10")],
            &[("run.seeds", "[7]"), ("measure.duration", "10s")],
        ] {
            assert_eq!(of(keys), [""; 0], "{keys:?}");
        }
    }

    #[test]
    fn changes_are_named() {
        for (key, value, told) in [
            ("workload.structure", "a-b", "structure a-b"),
            ("workload.rtt", "50ms", "round-trip times 50ms"),
            ("workload.rtt", "{ kind = \"usernet\", place = \"left\" }", "round-trip times usernet on the left"),
            ("workload.window", "64k", "windows 64k"),
            ("workload.waits.min", "500ms", "waits from 500ms"),
            ("workload.waits.correct", "none", "waits not corrected"),
            ("workload.lead-in", "false", "no lead-in"),
            ("workload.t-close", "false", "no time to close"),
            ("tcp.initial-window", "32", "initial window of 32 MSS"),
            ("tcp.initial-window", "1", "initial window of 1 MSS"),
            ("workload.load", "{ method = \"thinning\", factor = 0.5 }", "another load"),
            ("run.vary", "blocks", "starts drawn anew"),
            ("network.bottleneck.rate", "105%", "rate 105%"),
            ("network.bottleneck.rate", "15mbit", "rate 15mbit"),
            ("network.bottleneck.queue.limit", "60p", "queue drop-tail 60p"),
            ("network.bottleneck.delay", "5ms", "delay 5ms"),
            ("network.topology", "parking-lot", "parking lot of 6 links"),
            ("network.path.loss", "1%", "impaired path"),
            ("sources[0]", "{ name = \"ftp\", kind = \"bulk\" }", "sources beside the workload"),
        ] {
            assert_eq!(of(&[(key, value)]), [told], "{key}");
        }
    }
}
