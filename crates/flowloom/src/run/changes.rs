//! What an experiment changes of the original: rate, queue, structure, and what else decides how its applications fare. A replay
//! with any of it answers another question than whether it is the capture.

use flowloom_core::extract::TrafficSeries;
use flowloom_core::play::ReplayModel;
use flowloom_core::tcp::keys::Stated;
use flowloom_sim::keys::Topology;
use flowloom_store::workload::WorkloadFacts;

use crate::experiment::{Experiment, LossChoice, Network, RateChoice, Waits, Workload};
use crate::workload::source::Source;

/// The changes, each in a few words; none of a replay under the original's conditions, and of a workload without an original.
pub fn changes(experiment: &Experiment, source: &Source) -> Vec<String> {
    if source.is_of_model() {
        return Vec::new();
    }
    let Experiment { workload, run, tcp, .. } = experiment;
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
    let Stated { profile: _, sack, timestamps, window_scaling, ecn } = tcp.stated();
    let has_own_options = sack || timestamps || window_scaling || ecn;
    say(has_own_options || workload.replay.options == Some(false), &|| "options of [tcp]".to_owned());
    say(!workload.replay.first_flight, &|| "no first-flight windows".to_owned());
    say(workload.replay.rtt != usual.replay.rtt, &|| format!("transit times {}", workload.replay.rtt.name()));
    say(!workload.replay.acks, &|| "no acknowledgement policies".to_owned());
    say(!workload.replay.syn, &|| "no repeated SYNs".to_owned());
    say(workload.replay.losses == Some(false), &|| "no losses of the original".to_owned());
    say(!workload.replay.reads, &|| "no pauses of readers".to_owned());
    let initial_window = tcp.own_initial_window();
    say(initial_window.is_some(), &|| match initial_window.unwrap_or_default() {
        0 => "initial window of RFC 5681".to_owned(),
        segments => format!("initial window of {segments} MSS"),
    });
    say(source.is_draw(run.variation()), &|| "starts drawn anew".to_owned());
    found.extend(of_network(experiment, &source.facts));
    found
}

/// What of the vectors is replayed. A network that is not the original's makes losses of its own, unless those of the original are asked
/// for, and what its link delays is not what the original's did.
pub fn replay_model(experiment: &Experiment, facts: &WorkloadFacts) -> ReplayModel {
    let workload = &experiment.workload;
    let is_the_originals = workload.rtt.keeps_all()
        && workload.load.is_none()
        && workload.loss == LossChoice::None
        && of_network(experiment, facts).is_empty();
    let model = workload.replay_model();
    ReplayModel {
        losses: workload.replay.losses.unwrap_or(is_the_originals),
        transits: if is_the_originals { model.transits } else { model.transits.elsewhere() },
        ..model
    }
}

/// What differs of the network.
fn of_network(experiment: &Experiment, facts: &WorkloadFacts) -> Vec<String> {
    let Experiment { network, sources, .. } = experiment;
    let mut found = Vec::new();
    let mut say = |is_changed: bool, what: &dyn Fn() -> String| found.extend(is_changed.then(what));
    say(constrains(network, facts), &|| format!("rate {}", network.bottleneck.rate));
    let Network { bottleneck, .. } = network;
    let queue = Network::default().bottleneck.queue;
    say(bottleneck.queue.resolved() != queue.resolved(), &|| format!("queue {}", bottleneck.queue));
    say(bottleneck.cells.is_some(), &|| bottleneck.buffer());
    say(!bottleneck.delay.value.is_zero(), &|| format!("delay {}", bottleneck.delay));
    say(network.topology != Topology::Dumbbell, &|| network.kind());
    let additions = network.additions();
    say(!additions.is_empty(), &|| additions.trim_start_matches(", ").to_owned());
    say(!sources.is_empty(), &|| "sources beside the workload".to_owned());
    found
}

/// Whether the link may hold packets up that the original's did not: its rate is not even twice the busiest 10 ms.
fn constrains(network: &Network, facts: &WorkloadFacts) -> bool {
    let peak = 8.0 * facts.capture.peak_10ms_bytes as f64 / TrafficSeries::WIDTH.as_secs_f64();
    match network.bottleneck.rate.value {
        RateChoice::Auto => false,
        RateChoice::OfLoad(_) => true,
        RateChoice::Fixed(rate) => rate.bits_per_second().is_some_and(|rate| (rate as f64) < 2.0 * peak),
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::time::Duration;
    use flowloom_core::transits::{Ends, TransitModel};

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
    fn losses_and_delays_of_the_link_are_replayed_over_the_originals_network() {
        let mut facts = Source::none().facts;
        facts.capture.peak_10ms_bytes = 10_000;
        for (key, value, expected) in [
            ("workload.replay.writes", "false", true),
            ("network.bottleneck.rate", "16mbit", true),
            ("network.bottleneck.rate", "15mbit", false),
            ("network.bottleneck.queue.limit", "60p", false),
            ("network.bottleneck.delay", "5ms", false),
            ("workload.rtt", "50ms", false),
            ("workload.loss", "measured", false),
            ("workload.replay.losses", "false", false),
        ] {
            let experiment = Experiment::of("a.pcap").with(key, value).unwrap();
            let model = replay_model(&experiment, &facts);
            assert_eq!(model.losses, expected, "{key} = {value}");
            let is_the_originals = expected || key == "workload.replay.losses";
            let transits = match key {
                // Transits that were not measured have nothing above the shortest.
                "workload.rtt" => TransitModel::Minimum,
                _ => TransitModel::AsSeen(if is_the_originals { Ends::Both } else { Ends::Left }),
            };
            assert_eq!(model.transits, transits, "{key} = {value}");
            let asked = experiment.with("workload.replay.losses", "true").unwrap();
            assert!(replay_model(&asked, &facts).losses, "{key} = {value}");
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
            ("workload.replay.syn", "false", "no repeated SYNs"),
            ("workload.replay.losses", "false", "no losses of the original"),
            ("workload.replay.rtt", "min", "transit times min"),
            ("workload.replay.reads", "false", "no pauses of readers"),
            ("tcp.initial-window", "32", "initial window of 32 MSS"),
            ("tcp.timestamps", "false", "options of [tcp]"),
            ("workload.replay.options", "false", "options of [tcp]"),
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
