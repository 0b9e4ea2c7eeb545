//! Probes through the kernel beside what the simulator finds of the same experiment.

use flowloom::core::record::{ProbeKind, ProbeRecord};
use flowloom::store::run_folder::RunFolder;

use crate::support::Bench;
use crate::{can_run, one_run};

fn probes(bench: &Bench, name: &str) -> Vec<ProbeRecord> {
    let run = RunFolder::open(&bench.path(name)).unwrap();
    run.probes().unwrap().map(Result::unwrap).collect()
}

/// The median time of the probes of a kind, in milliseconds.
fn median(probes: &[ProbeRecord], kind: ProbeKind) -> f64 {
    let mut times: Vec<f64> = probes
        .iter()
        .filter(|probe| probe.kind == kind)
        .filter_map(|probe| probe.total())
        .map(|time| time.as_secs_f64() * 1e3)
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Over an idle path, and over one whose queue a transfer keeps full, probes take as long as in a simulation.
#[test]
fn probes_take_as_long_as_simulated_ones() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let idle = "network.bottleneck = { rate = \"10mbit\", delay = \"20ms\" }\nmeasure.duration = \"4s\"\nmeasure.drain = \"4s\"\n\
                [probe]\nkind = \"both\"\nevery = \"50ms\"\n";
    let busy = "[network]\nbottleneck = { rate = \"5mbit\", delay = \"10ms\", queue = { kind = \"drop-tail\", limit = \"50p\" } }\n\
                [[sources]]\nname = \"ftp\"\nkind = \"bulk\"\ncount = 4\n\
                [measure]\nduration = \"6s\"\ndrain = \"4s\"\n[probe]\nevery = \"25ms\"\nschedule = \"poisson\"\n";
    for (name, text, tolerance) in [("idle", idle, 0.1), ("busy", busy, 0.35)] {
        let bench = Bench::new();
        bench.file("x.toml", text.as_bytes());
        bench.flowloom(&["run", "x.toml", "-o", "sim", "-q"]).succeeded();
        let said = bench.flowloom(&["run", "x.toml", "--on", "live", "-o", "live", "-q"]);
        assert!(matches!(said.code, 0 | 3), "{}{}", said.out, said.err);
        let [simulated, live] = ["sim", "live"].map(|folder| probes(&bench, folder));
        assert_eq!(live.len(), simulated.len(), "{name}");
        for kind in [ProbeKind::Datagram, ProbeKind::Request] {
            if !simulated.iter().any(|probe| probe.kind == kind) {
                continue;
            }
            let [found, expected] = [&live, &simulated].map(|probes| median(probes, kind));
            let known = format!("{name}, {kind:?}: {found} ms, {expected} ms simulated");
            println!("{known}");
            assert!((found / expected - 1.0).abs() < tolerance, "{known}");
        }
        let answered = live.iter().filter(|probe| probe.round_trip.is_some()).count();
        assert!(answered * 10 >= live.len() * 7, "{name}: {answered} of {}", live.len());
        let both_ways = live.iter().filter(|probe| probe.kind == ProbeKind::Datagram && probe.round_trip.is_some());
        assert!(both_ways.clone().all(|probe| probe.there.unwrap() + probe.back.unwrap() == probe.round_trip.unwrap()));
        let lost = live.iter().filter(|probe| probe.lost).count();
        assert_eq!(answered + lost, live.len(), "{name}: none is under way at the end");
    }
}
