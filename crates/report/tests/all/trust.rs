//! The verdict in three words: what makes a run doubtful although its accounts add up, and what the colour of its headline is.

use std::path::{Path, PathBuf};

use flowloom_report::facts::{CellFacts, DrawnPayload, LinkFacts, Topology};
use flowloom_report::html::{ReportOptions, write_report};
use flowloom_report::plausibility::{ClassPlausibility, DirectionPlausibility, Plausibility};
use flowloom_report::verdict::Light;
use flowloom_report::worst::WorstVerdict;
use flowloom_report::{Accounted, Likeness, Plausible, Run, Variant, Verdict, text};
use flowloom_testkit::reports::MadeUp;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("trust").join(name)
}

fn made_up(name: &str, slower: f64) -> Run {
    let run = MadeUp { connections: 400, seconds: 60, slower, ..MadeUp::default() };
    std::fs::create_dir_all(folder("")).unwrap();
    Run::load(&run.write(&folder(name))).unwrap()
}

/// The class of the report's headline, which is its colour.
fn headline(run: &Run) -> String {
    let mut out = Vec::new();
    write_report(&[Variant::of_run(run.clone())], &mut out, &ReportOptions::default()).unwrap();
    let page = String::from_utf8(out).unwrap();
    let (_, rest) = page.split_once("class=\"verdict ").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn a_faithful_replay_is_green() {
    let run = made_up("faithful", 1.0);
    let Verdict { accounted, plausible, fidelity } = run.summary().verdict;
    assert_eq!((accounted.word, plausible.word, fidelity.word), (Accounted::Valid, Plausible::Yes, Likeness::Same));
    assert!(accounted.reasons.is_empty() && plausible.reasons.is_empty() && fidelity.reasons.is_empty());
    assert_eq!(headline(&run), "valid");
    let said = text::run_text(&run, &run.conclude(), false);
    assert!(said.contains("accounted VALID   plausible yes   fidelity same\n"), "{said}");
}

/// Green accounts, and each of the reasons to doubt them.
#[test]
fn doubts_take_the_green_away() {
    let faithful = made_up("doubted", 1.0);
    let with = |change: &dyn Fn(&mut Run)| {
        let mut run = faithful.clone();
        change(&mut run);
        run
    };
    let lossy = |dropped_packets: u64, window: f64, retransmissions: u64| {
        let from_left = DirectionPlausibility {
            packets: 1_000,
            dropped_packets,
            dropped_share: Some(dropped_packets as f64 / 1_000.0),
            lossy_window_segments: Some(window),
            lossy_flight_segments: None,
            ..DirectionPlausibility::default()
        };
        let class = ClassPlausibility {
            class: "web".into(),
            from_left,
            data_packets: 1_000,
            retransmissions,
            retransmitted_share: Some(retransmissions as f64 / 1_000.0),
            ..ClassPlausibility::default()
        };
        Some(Plausibility { classes: vec![class], ..Plausibility::default() })
    };
    // Of a megabyte that is replayed, and so much that is left out for its holes.
    let left_out = |bytes: u64| {
        move |run: &mut Run| {
            let original = run.facts.original.as_mut().unwrap();
            (original.payload.initiator.captured, original.payload.initiator.replayed) = (1_000_000, 1_000_000);
            original.set_aside_bytes.insert("connections-missing-bytes".into(), bytes);
        }
    };
    // Beside it so much that was acknowledged in one-way captures, or that nobody acknowledged.
    let lacking = |acknowledged: u64, missing: u64| {
        move |run: &mut Run| {
            let payload = &mut run.facts.original.as_mut().unwrap().payload;
            (payload.initiator.captured, payload.initiator.replayed) = (1_000_000, 1_000_000);
            payload.initiator.missing = missing;
            payload.set_aside.connections = 1;
            (payload.set_aside.missing_bytes, payload.set_aside.acknowledged_bytes) = (acknowledged, acknowledged);
        }
    };
    let doubted = [
        with(&|run| {
            run.facts.plausibility =
                Some(Plausibility { judged_flows: 10, outside_flows: 3, ..Plausibility::default() });
        }),
        with(&|run| run.facts.plausibility = lossy(400, 30.0, 0)),
        with(&|run| run.facts.plausibility = lossy(0, 30.0, 300)),
        with(&|run| run.facts.drawn_payload = Some(DrawnPayload::new([1_000, 300], [1_021, 300]))),
        with(&|run| {
            let payload = &mut run.facts.original.as_mut().unwrap().payload;
            (payload.acceptor.captured, payload.acceptor.replayed) = (2_230_000, 33_000_000);
        }),
        with(&|run| {
            let payload = &mut run.facts.original.as_mut().unwrap().payload;
            (payload.initiator.captured, payload.initiator.replayed) = (1_000_000, 1_000_000);
            (payload.acceptor.missing, payload.acceptor.acknowledged) = (30_000, 30_000);
        }),
        // Nothing was captured, and what the capture lacks is replayed.
        with(&|run| {
            let payload = &mut run.facts.original.as_mut().unwrap().payload;
            (payload.acceptor.missing, payload.acceptor.replayed) = (246_000, 246_000);
        }),
        with(&left_out(25_000)),
        with(&lacking(0, 25_000)),
        with(&lacking(25_000, 0)),
    ];
    for run in &doubted {
        let verdict = run.summary().verdict;
        assert_eq!((verdict.accounted.word, verdict.plausible.word), (Accounted::Valid, Plausible::Doubtful));
        assert_eq!(verdict.plausible.reasons.len(), 1, "{verdict:?}");
        assert_eq!(verdict.light(), Light::Red);
        assert_eq!(headline(run), "invalid", "{verdict:?}");
        let said = text::run_text(run, &run.conclude(), false);
        let reason = verdict.plausible.reasons[0].split(' ').take(4).collect::<Vec<_>>().join(" ");
        assert!(said.contains("plausible doubtful") && said.contains(&reason), "{said}");
    }
    let within = [
        with(&left_out(15_000)),
        with(&lacking(0, 15_000)),
        with(&lacking(15_000, 0)),
        with(&|run| run.facts.drawn_payload = Some(DrawnPayload::new([1_000, 300], [1_019, 300]))),
        with(&|run| run.facts.plausibility = lossy(400, 1.5, 450)),
    ];
    for run in &within {
        assert_eq!(run.summary().verdict.plausible.word, Plausible::Yes, "{:?}", run.summary().warnings);
    }
}

/// A queue that held more than a second of traffic, and may hold more than two; the deepest one is named.
#[test]
fn a_deep_queue_is_warned_of() {
    let mut run = made_up("deep", 1.0);
    let mut warned = |holds: [u64; 2], limit: Option<u64>| {
        let link = |name: &str, holds_ns: u64| LinkFacts {
            name: name.into(),
            queue: "drop-tail 65000p".into(),
            queue_max_ns: Some(holds_ns),
            queue_limit_ns: limit,
            ..LinkFacts::default()
        };
        let links = vec![link("a", holds[0]), link("b", holds[1])];
        run.facts.topology = Some(Topology { links, ..Topology::default() });
        let warnings = run.summary().warnings;
        warnings.iter().find(|warning| warning.cause().contains("the queue of")).map(|warning| warning.cause())
    };
    let second = 1_000_000_000;
    assert_eq!(
        warned([second, 30 * second], Some(784 * second)).as_deref(),
        Some("the queue of b held up to 30.0 s of traffic; its limit (drop-tail 65000p) allows 784 s")
    );
    assert_eq!(warned([second, second / 2], Some(784 * second)), None, "not deep");
    assert_eq!(warned([second, 30 * second], None), None, "it drops for other reasons");
    assert_eq!(warned([2 * second, 0], Some(2 * second)), None, "no deeper than that");
    assert_eq!(warned([2 * second, 0], None), None, "it drops for other reasons");
    // Cells that may wait in any number; and packets of which a cell each waits, in a buffer that has a limit.
    for (queue_limit_ns, is_told) in [(None, true), (Some(second / 700), false), (Some(3 * second), true)] {
        let link = LinkFacts {
            name: "c".into(),
            queue: "cells aal5+atm".into(),
            queue_max_ns: Some(75 * second),
            queue_limit_ns,
            cells: Some(CellFacts::default()),
            ..LinkFacts::default()
        };
        run.facts.topology = Some(Topology { links: vec![link], ..Topology::default() });
        let causes: Vec<String> = run.summary().warnings.iter().map(|warning| warning.cause()).collect();
        let allowed =
            queue_limit_ns.map_or("it has no limit (cells aal5+atm)", |_| "its limit (cells aal5+atm) allows 3.00 s");
        let said = format!("the queue of c held up to 75.0 s of traffic; {allowed}");
        assert_eq!(causes.contains(&said), is_told, "{causes:?}");
        assert_eq!(causes.iter().any(|cause| cause.contains("the queue of c")), is_told, "{causes:?}");
    }
}

/// What counts is the difference beside the busier direction's bytes; the side is named.
#[test]
fn drawn_payload_is_checked_in_both_directions() {
    let mut run = made_up("drawn", 1.0);
    let mut reasons = |asked, drawn| {
        run.facts.drawn_payload = Some(DrawnPayload::new(asked, drawn));
        run.summary().verdict.plausible.reasons
    };
    let quieter = reasons([100_000, 1_000_000], [960_000, 1_000_000]);
    let said = "doubtful: 960 kB of payload are replayed from the left where load and structure ask for 100 kB";
    assert_eq!(quieter, [said]);
    assert_eq!(reasons([1_000_000, 100_000], [1_000_000, 121_000]).len(), 1, "more");
    assert_eq!(reasons([1_000_000, 100_000], [1_000_000, 79_000]).len(), 1, "less");
    assert_eq!(reasons([1_000_000, 100_000], [1_030_000, 130_000]).len(), 2);
    // Requests of a hundredth of the load may be twice as many.
    assert_eq!(reasons([1_000_000, 10_000], [1_000_000, 20_000]), [""; 0]);
    assert_eq!(reasons([0, 0], [0, 0]), [""; 0]);
}

/// What a draw asks for and what the capture lacks are two doubts.
#[test]
fn a_drawn_payload_hides_no_holes() {
    let mut run = made_up("drawn-holes", 1.0);
    run.facts.drawn_payload = Some(DrawnPayload::new([117_000, 1_520_000], [85_000, 1_520_000]));
    let payload = &mut run.facts.original.as_mut().unwrap().payload;
    (payload.acceptor.captured, payload.acceptor.replayed) = (686_000, 1_520_000);
    let reasons = run.summary().verdict.plausible.reasons;
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[1].contains("1.52 MB") && reasons[1].contains("686 kB"), "{reasons:?}");
}

/// What is left out for its holes is that of the window.
#[test]
fn left_out_payload_is_of_the_window() {
    let mut run = made_up("left-out-window", 1.0);
    let original = run.facts.original.as_mut().unwrap();
    (original.payload.initiator.captured, original.payload.initiator.replayed) = (1_000_000, 1_000_000);
    original.set_aside_bytes.insert("connections-missing-bytes".into(), 500_000);
    let mut window = original.payload;
    (window.initiator.captured, window.initiator.replayed) = (100_000, 100_000);
    original.window_payload = Some(window);
    let reasons = run.summary().verdict.plausible.reasons;
    assert!(reasons.len() == 1 && reasons[0].contains("50.0 kB") && reasons[0].contains("100 kB"), "{reasons:?}");
}

/// Only one connection in four finished in both worlds.
#[test]
fn a_comparison_of_few_connections_is_doubted() {
    let few = MadeUp { connections: 400, seconds: 60, unfinished: 300, ..MadeUp::default() };
    let run = Run::load(&few.write(&folder("few"))).unwrap();
    let verdict = run.summary().verdict;
    let share = flowloom_report::compare_with_original(&run).unwrap().card[1].share;
    let is_few = share.is_some_and(|share| share < 1.0 / 3.0);
    let told = verdict.plausible.reasons.iter().any(|reason| reason.contains("durations of only"));
    assert_eq!(told, is_few, "{share:?} {verdict:?}");
    assert_ne!(headline(&run), "valid");
}

/// Of connections that are cut right after their start nobody knows whether they would have been as long as the original's.
#[test]
fn unfinished_connections_leave_fidelity_open() {
    let run = Run::load(&MadeUp { unfinished: 300, ..MadeUp::default() }.write(&folder("open"))).unwrap();
    let comparison = flowloom_report::compare_with_original(&run).unwrap();
    let duration = comparison.difference(flowloom_report::metric::Metric::Duration).unwrap();
    let [least, most] = [duration.tolerant_ks, duration.tolerant_ks_at_most].map(Option::unwrap);
    assert!(least <= most && most >= 0.15 - 1e-9, "{least} {most}");
}

#[test]
fn distances_become_words_by_the_worst_metric() {
    for (slower, word, class) in [(1.0, Likeness::Same, "valid"), (1.4, Likeness::Different, "invalid")] {
        let run = made_up(&format!("slower-{slower}"), slower);
        let verdict = run.summary().verdict;
        assert_eq!(verdict.fidelity.word, word, "{verdict:?}");
        assert_eq!(verdict.fidelity.reasons.is_empty(), word == Likeness::Same);
        assert_eq!(headline(&run), class);
    }
}

/// A what-if is not to be the original.
#[test]
fn changed_conditions_are_not_compared() {
    let mut run = made_up("what-if", 1.4);
    run.facts.changes = vec!["rate 105%".into(), "queue codel".into()];
    let verdict = run.summary().verdict;
    assert_eq!(verdict.fidelity.word, Likeness::NotCompared);
    assert_eq!(verdict.fidelity.reasons, ["under other conditions: rate 105%, queue codel"]);
    assert_eq!(headline(&run), "valid");
}

#[test]
fn the_worst_of_several_runs_stands() {
    let [same, different] = [1.0, 1.4].map(|slower| made_up(&format!("worst-{slower}"), slower).summary().verdict);
    let worst = WorstVerdict::of([(1, &same), (2, &different), (3, &same)]).unwrap();
    assert_eq!(worst.told("seed").fidelity, different.fidelity);
    assert_eq!((worst.fidelity.runs, worst.accounted.runs), (vec![2], vec![1, 2, 3]));
}
