//! Whole run folders through load, summary, comparison, terminal text and report.

use std::path::{Path, PathBuf};

use flowloom_report::answer::Answer;
use flowloom_report::compare::{Judgement, Outcome};
use flowloom_report::html::{ReportOptions, write_report};
use flowloom_report::metric::Metric;
use flowloom_report::quantities::Quantities;
use flowloom_report::warning::Warning;
use flowloom_report::{Accounted, LoadError, Run, Summary, Variant, compare_runs, compare_with_original, text};
use flowloom_store::run_folder::{Point, RunFolder, RunOptions, RunWriter};
use flowloom_testkit::reports::{self, MadeUp};

/// A folder for this test, kept below `target/` so that a browser can be pointed at what was written.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

fn made_up(name: &str, run: MadeUp) -> Run {
    Run::load(&run.write(&folder(name))).unwrap()
}

fn html(runs: &[Run], name: &str) -> String {
    let mut out = Vec::new();
    let variants: Vec<Variant> = runs.iter().cloned().map(Variant::of_run).collect();
    write_report(&variants, &mut out, &ReportOptions::default()).unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report").join(name);
    std::fs::write(file, &out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_replay_like_its_original_is_called_the_same() {
    let run = made_up("faithful", MadeUp::default());
    let comparison = compare_with_original(&run).unwrap();
    assert!(!comparison.different);
    assert!(comparison.distance_v1.unwrap() < 0.01, "{:?}", comparison.distance_v1);
    assert!(comparison.worst_score().unwrap().distance.unwrap() < 0.01);
    for difference in &comparison.differences {
        assert_eq!(difference.judgement, Judgement::Same, "{difference:?}");
    }
    assert!(comparison.largest_differences().is_empty());
    assert_eq!(run.summary().verdict.accounted.word, Accounted::Valid);
    // One in 25 lost packets: the others are clean, and all of them are compared.
    assert_eq!(comparison.lost_in_original_connections, 80);
    let apart = comparison.lost_in_original.iter().find(|difference| difference.metric == Metric::Duration).unwrap();
    let rest = comparison.difference(Metric::Duration).unwrap();
    assert_eq!((apart.reference.n, rest.reference.n, rest.clean.unwrap().n), (80, 2_000, 1_920));
    assert_eq!(rest.share, Some(1.0));
}

#[test]
fn a_slower_replay_is_called_different_and_by_how_much() {
    let run = made_up("slower", MadeUp { slower: 1.4, ..MadeUp::default() });
    let comparison = compare_with_original(&run).unwrap();
    assert!(comparison.different);
    let duration = comparison.difference(Metric::Duration).unwrap();
    assert_eq!(duration.judgement, Judgement::Different);
    let median = duration.ratios.iter().find(|ratio| ratio.p == 0.5).unwrap().ratio.unwrap().value();
    assert!((median - 1.4).abs() < 0.02, "{median}");
    assert!(comparison.largest_differences()[0].finding.contains("in the replay"));
    assert_eq!(comparison.difference(Metric::AduSize).unwrap().judgement, Judgement::Same);
}

#[test]
fn runs_are_compared_at_their_ends_and_nothing_else() {
    let runs = [made_up("pair-a", MadeUp::default()), made_up("pair-b", MadeUp { slower: 1.4, ..MadeUp::default() })];
    let comparisons = compare_runs(&runs);
    assert_eq!(comparisons.len(), 1);
    assert_eq!(comparisons[0].measured_at, "endpoint");
    assert!(comparisons[0].different);
    assert!(!compare_runs(&[runs[0].clone(), runs[0].clone()])[0].different);
    let text = text::comparison_text(&comparisons, false);
    assert!(text.contains("pair-b against pair-a, measured at the endpoints"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn what_did_not_finish_or_was_not_accounted_for_is_said() {
    let unfinished = made_up("unfinished", MadeUp { unfinished: 100, ..MadeUp::default() });
    let summary = unfinished.summary();
    assert_eq!(summary.verdict.accounted.word, Accounted::Degraded);
    assert_eq!((summary.connections.completed, summary.connections.unfinished), (1_900, 100));
    assert!(summary.warnings.iter().any(|warning| matches!(warning, Warning::Unfinished { connections: 100, .. })));
    let comparison = compare_with_original(&unfinished).unwrap();
    assert_eq!(comparison.endings.unwrap().only_original, 100);
    // One in twenty may be longer than any: the 99 % quantile is not known.
    let duration = comparison.difference(Metric::Duration).unwrap();
    assert_eq!((duration.reference.unfinished, duration.other.n, duration.other.unfinished), (0, 2_000, 100));
    assert!(duration.other.p90.is_some() && duration.other.p99.is_none(), "{:?}", duration.other);
    assert_eq!((summary.duration_ns.n, summary.duration_ns.unfinished), (2_000, 100));
    let said = text::run_text(&unfinished, &unfinished.conclude(), false);
    let row = said.lines().find(|line| line.starts_with("duration")).unwrap();
    assert!(row.contains(" / > "), "{row}");

    let vanished = made_up("vanished", MadeUp { vanished: 3, ..MadeUp::default() }).summary();
    assert_eq!(vanished.verdict.accounted.word, Accounted::Invalid);
    // One in each direction's first bin.
    assert!(vanished.warnings.contains(&Warning::Unaccounted { packets: 6 }), "{:?}", vanished.warnings);
}

/// Report and `compare` say the same of the same two runs, in sign and value, unfinished ones counted.
#[test]
fn report_and_comparison_agree_on_variants() {
    let better = made_up("agree-a", MadeUp::default());
    let worse = made_up("agree-b", MadeUp { slower: 1.3, unfinished: 60, ..MadeUp::default() });
    let runs = [better, worse];
    let comparison = compare_runs(&runs).remove(0);
    let answer = Answer::of(&runs);
    assert!(!answer.with_original, "variants are compared with each other, at their ends");
    assert_eq!(answer.comparisons, std::slice::from_ref(&comparison));
    assert_eq!(answer.fidelity.len(), 2, "and with their original, at the monitor");
    assert!(answer.fidelity.iter().all(|one| one.measured_at == "monitor"));
    let page = html(&runs, "agree.html").replace('\u{a0}', " ");
    for (metric, row) in answer.rows.iter().filter_map(|row| Some((row.metric?, row))) {
        let difference = comparison.difference(metric).unwrap();
        for (quantities, value) in [difference.reference, difference.other].into_iter().zip(&row.values) {
            let show = |value: Option<f64>, least: Option<f64>| match value {
                Some(known) => metric.unit().show(known),
                None => format!("> {}", metric.unit().show(least.unwrap())),
            };
            let Quantities { mean, max, p50, p99, p50_at_least, p99_at_least, .. } = quantities;
            let expected = match row.statistic {
                "p50 / p99" => format!("{} / {}", show(p50, p50_at_least), show(p99, p99_at_least)),
                "mean / max" => format!("{} / {}", show(mean, None), show(max, None)),
                _ => show(mean, None),
            };
            assert_eq!(*value, expected, "{metric:?}");
            assert!(page.contains(&expected.replace('>', "&gt;")), "{expected}");
        }
    }
    let duration = comparison.difference(Metric::Duration).unwrap();
    assert_eq!((duration.other.unfinished, duration.other.p99), (60, None));
    assert_eq!(comparison.largest_differences()[0].metric, Metric::Duration, "more than so many times as long");
}

#[test]
fn the_summary_is_json_without_nan() {
    let summary = made_up("json", MadeUp::default()).summary();
    let json = serde_json::to_value(&summary).unwrap();
    for key in [
        "verdict",
        "connections",
        "duration_ns",
        "response_time_ns",
        "queue_packets",
        "throughput",
        "active_connections",
        "wall_ns",
        "packets",
        "events",
    ] {
        assert!(!json[key].is_null(), "{key}");
    }
    for key in ["n", "mean", "p50", "p80", "p90", "p99", "p999", "max"] {
        assert!(json["response_time_ns"][key].is_number(), "{key}");
    }
    assert_eq!(json["verdict"]["accounted"]["word"], "VALID");
    let empty = made_up("json-empty", MadeUp { connections: 0, ..MadeUp::default() }).summary();
    let json = serde_json::to_value(&empty).unwrap();
    assert!(json["duration_ns"]["p50"].is_null());
    assert_eq!(json["verdict"]["accounted"]["word"], "INVALID");
}

#[test]
fn a_folder_that_was_cut_off_is_read_and_says_so() {
    let path = folder("cut");
    let mut writer = RunWriter::create(&path, RunOptions::default()).unwrap();
    let bin = flowloom_core::record::ThroughputBin {
        start: Default::default(),
        width: flowloom_core::time::Duration::from_millis(1),
        link: 0,
        from: Default::default(),
        offered: flowloom_core::record::Traffic { packets: 1, bytes: 100, payload_bytes: 0 },
        carried: Default::default(),
    };
    let bin = flowloom_core::record::Record::Throughput { bin: &bin };
    flowloom_core::record::Recorder::record(&mut writer, bin).unwrap();
    drop(writer);
    let left = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let left =
        left.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with("cut.partial")).unwrap();
    let run = Run::load(&RunFolder::open(&left).unwrap()).unwrap();
    assert!(run.facts.interrupted);
    assert_eq!(run.summary().verdict.accounted.word, Accounted::Invalid);
    assert!(html(&[run], "cut.html").contains("INVALID"));
    std::fs::remove_dir_all(left).unwrap();
}

/// Whatever the driver: what was asked for was not measured.
#[test]
fn a_full_disk_makes_a_run_invalid() {
    let summary = |name: &str, disk_full: bool| {
        let mut cut = MadeUp { connections: 400, seconds: 10, ..MadeUp::default() };
        (cut.facts.interrupted, cut.facts.disk_full) = (true, disk_full);
        made_up(name, cut).summary()
    };
    assert_eq!(summary("stopped", false).verdict.accounted.word, Accounted::Degraded);
    let summary = summary("full-disk", true);
    assert_eq!(summary.verdict.accounted.word, Accounted::Invalid);
    assert!(summary.gates.iter().any(|gate| gate.found == "cut short: the disk is full"), "{:?}", summary.gates);
}

/// A connection that waits for longer than the run is cut by the experiment, and not slow.
#[test]
fn connections_that_the_experiment_cuts_degrade_nothing() {
    let summary = |cut_connections: u64| {
        let mut made = MadeUp { connections: 400, seconds: 10, unfinished: 20, ..MadeUp::default() };
        made.facts.cut_connections = cut_connections;
        made_up(&format!("cut-{cut_connections}"), made).summary()
    };
    let (none, all) = (summary(0), summary(20));
    assert_eq!([&none, &all].map(|one| one.verdict.accounted.word), [Accounted::Degraded, Accounted::Valid]);
    assert_eq!((none.connections.unfinished, none.connections.cut), (20, 0));
    assert_eq!((all.connections.unfinished, all.connections.cut), (0, 20));
    assert_eq!(all.connections.started, none.connections.started);
    let warned = |summary: &Summary| summary.warnings.iter().any(|one| matches!(one, Warning::Unfinished { .. }));
    assert!(warned(&none) && !warned(&all));
}

/// The warning says that the replay does not repeat them.
#[test]
fn losses_that_are_replayed_are_not_warned_of() {
    let warned = |replays_losses: bool| {
        let mut made = MadeUp { connections: 400, seconds: 10, lossy: 4, ..MadeUp::default() };
        made.facts.replays_losses = replays_losses;
        let summary = made_up(if replays_losses { "replayed" } else { "not-replayed" }, made).summary();
        summary.warnings.iter().any(|warning| matches!(warning, Warning::LossInOriginal { .. }))
    };
    assert_eq!([false, true].map(warned), [true, false]);
}

#[test]
fn replications_have_the_same_bins_although_one_was_cut_short() {
    let second = 1_000_000_000;
    let whole = made_up("whole-seed", MadeUp { connections: 400, seconds: 60, ..MadeUp::default() });
    let mut cut = MadeUp { connections: 400, seconds: 10, ..MadeUp::default() };
    cut.facts.interrupted = true;
    cut.facts.planned_window_ns = Some([0, 60 * second]);
    let cut = made_up("cut-seed", cut);
    for metric in [Metric::Goodput, Metric::ThroughputFromLeft, Metric::ActiveConnections, Metric::QueueFromLeft] {
        let bins = [&whole, &cut].map(|run| run.measurements.series_bin(metric));
        assert_eq!(bins[0], bins[1], "{metric:?}");
    }
    let count = |run: &Run| run.measurements.sample(Metric::Goodput, Point::Monitor, |_| true).len();
    assert_eq!((count(&whole), count(&cut)), (60, 10), "seconds of each");
    let seeds = Variant { name: "seeds".into(), runs: vec![whole, cut] };
    assert_eq!(seeds.pooled(Metric::Goodput, Point::Monitor, |_| true).len(), 70);

    // One whose first bin was not over has a bin as long as there was time.
    let mut brief = MadeUp { connections: 40, seconds: 1, ..MadeUp::default() };
    brief.facts.planned_window_ns = Some([0, 20_000 * second]);
    let brief = made_up("brief-seed", brief).measurements;
    assert_eq!(brief.series_bin(Metric::Goodput).as_nanos(), second);
    assert_eq!(brief.series(Metric::Goodput, Point::Monitor).len(), 1);
}

#[test]
fn an_interruption_says_what_part_of_the_run_is_left() {
    let said = |start_ns, end_ns| Warning::Interrupted { start_ns, end_ns }.cause();
    let second = 1_000_000_000;
    assert!(said(0, 2 * second).ends_with("in its first 2.00 s"), "{}", said(0, 2 * second));
    assert!(said(5 * second, 7 * second).ends_with("from 5.00 s to 7.00 s of it"), "{}", said(5 * second, 7 * second));
    let before = said(5 * second, 5 * second + 1);
    assert!(before.contains("before the window") && before.ends_with("begins at 5.00 s"), "{before}");
}

#[test]
fn a_missing_table_is_named() {
    let path = folder("missing");
    let run = MadeUp { connections: 10, ..MadeUp::default() }.write(&path);
    std::fs::remove_file(path.join("epochs.parquet")).unwrap();
    let error = Run::load(&run).unwrap_err();
    assert!(matches!(error, LoadError::Table(_)));
    assert!(error.to_string().contains("epochs.parquet"), "{error}");
}

#[test]
fn facts_of_the_wrong_kind_are_refused_by_file() {
    let path = folder("wrong-facts");
    let writer = RunWriter::create(&path, RunOptions::default()).unwrap();
    writer.finish(&serde_json::json!({ "seed": "one" }), &serde_json::json!({})).unwrap();
    let error = Run::load(&RunFolder::open(&path).unwrap()).unwrap_err();
    assert!(error.to_string().contains("run.json"), "{error}");
}

#[test]
fn the_terminal_table_fits_and_answers() {
    let run = made_up("terminal", MadeUp::default());
    let text = text::run_text(&run, &run.conclude(), false);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for wanted in [
        "office.pcap",
        "2,000 TCP connections",
        "original",
        "replay",
        "tolerant KS",
        "p50 / p99",
        "0.000  same",
        "VALID",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing from\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    assert!(text::run_text(&run, &run.conclude(), true).contains("\u{1b}[1;32mVALID"));
}

#[test]
fn the_report_is_one_file_that_needs_nothing_else() {
    let run = made_up("single", MadeUp { slower: 1.06, ..MadeUp::default() });
    let html = html(&[run], "single.html");
    assert!(html.len() < 3 << 20, "{} bytes", html.len());
    for banned in ["src=", "@import", "url(http", "<link rel=\"stylesheet\"", "fetch(", "XMLHttpRequest"] {
        assert!(!html.contains(banned), "{banned}");
    }
    for id in [
        "active",
        "response-time",
        "duration",
        "rtt",
        "throughput-left",
        "throughput-right",
        "goodput",
        "packets",
        "adu-size",
        "queue-right",
        "queue-right-share",
    ] {
        assert!(html.contains(&format!("<figure id=\"{id}\">")), "{id}");
        assert!(html.contains(&format!("id=\"{id}-data\"")), "{id} has no table");
    }
    let stills = html.matches("class=\"line original\" d=\"M").count();
    assert_eq!(stills, 13, "pictures of the original that need no script");
    assert!(!html.contains("NaN") && !html.contains(">inf"));
}

#[test]
fn a_report_of_many_connections_stays_small() {
    let run = made_up("many", MadeUp { connections: 20_000, seconds: 1_800, ..MadeUp::default() });
    let html = html(&[run], "many.html");
    assert!(html.len() < 3 << 20, "{} bytes", html.len());
}

#[test]
fn four_replays_share_one_report() {
    let slower = [1.0, 1.03, 1.15, 1.5];
    let runs: Vec<Run> = ["min-0-ostt", "min-0-none", "min-500ms-ostt", "min-500ms-none"]
        .into_iter()
        .zip(slower)
        .map(|(name, slower)| made_up(name, MadeUp { slower, ..MadeUp::default() }))
        .collect();
    let distances: Vec<f64> = runs.iter().map(|run| compare_with_original(run).unwrap().distance_v1.unwrap()).collect();
    assert!(distances.is_sorted(), "the more it is slowed the further it is: {distances:?}");
    let html = html(&runs, "four.html");
    assert!(html.contains("min-500ms-none") && html.contains("data-toggle=\"run3\""));
}

#[test]
fn a_report_of_ten_million_values_is_small_and_whole() {
    let run = reports::large::ten_million_values();
    let largest = run.measurements.sample(Metric::Duration, Point::Monitor, |_| true).max().unwrap();
    let html = html(&[run], "large.html");
    assert!(html.len() < 5 << 20, "{} bytes", html.len());
    for figure in ["active", "response-time", "duration", "throughput-left", "queue-left", "marginal-10ms"] {
        assert!(html.contains(&format!("<figure id=\"{figure}\">")), "{figure}");
    }
    // The extreme of a million durations is drawn: in six digits, as all numbers are.
    let shown = format!("{}", format!("{largest:.5e}").parse::<f64>().unwrap());
    assert!(html.contains(&shown), "{shown}");
}

#[test]
fn variants_of_structure_and_model_are_small_multiples() {
    let runs: Vec<Run> = reports::grid().into_iter().map(|(name, run)| made_up(&name, run)).collect();
    let html = html(&runs, "grid.html");
    assert!(html.len() < 5 << 20, "{} bytes", html.len());
    assert!(html.contains("Rows are structures, columns are round-trip time models."));
    assert_eq!(html.matches("class=\"panel\"").count(), 12 * 4, "a panel for each run in each of four figures");
    assert!(html.contains("a-b, meanrtt") && html.contains("id=\"response-time-multiples\""));
}

/// The head counts the connections of all draws, as the answer does, and says whose experiment is printed.
#[test]
fn a_report_of_draws_counts_them_all() {
    let draw = |seed: u64, connections: u64| {
        let mut run = MadeUp { connections, seconds: 60, ..MadeUp::default() };
        run.facts.seed = seed;
        made_up(&format!("draw-{seed}"), run)
    };
    let page = |runs: Vec<Run>| {
        let mut out = Vec::new();
        write_report(&[Variant { name: "draws".into(), runs }], &mut out, &ReportOptions::default()).unwrap();
        String::from_utf8(out).unwrap()
    };
    let of_draws = page(vec![draw(1, 400), draw(2, 300)]);
    assert!(of_draws.contains("700 TCP connections of office.pcap in 2 draws, replayed"));
    assert!(of_draws.contains("Experiment as resolved for seed 1; the others differ in the seed alone"));
    // Seeds of one draw replay its connections, and so does one run.
    let of_one = page(vec![draw(3, 400), draw(4, 400)]);
    assert!(of_one.contains("400 TCP connections of office.pcap, replayed"));
    let alone = page(vec![draw(5, 400)]);
    assert!(alone.contains("400 TCP connections of office.pcap, replayed") && !alone.contains("resolved for seed"));
}

/// Draws of other seeds differ whatever was varied: no distance between them is a difference of the variants.
#[test]
fn draws_of_other_seeds_are_not_called_different() {
    let of = |seed: u64, connections: u64, slower: f64| {
        let mut run = MadeUp { connections, seconds: 60, slower, ..MadeUp::default() };
        run.facts.seed = seed;
        made_up(&format!("beside-{seed}-{connections}-{slower}"), run)
    };
    let compared = |other: Run| compare_runs(&[of(1, 400, 1.0), other]).remove(0);
    let apart = compared(of(2, 380, 1.5));
    assert!(!apart.different, "{:?}", apart.differences);
    for difference in &apart.differences {
        assert_eq!(difference.verdict.outcome, Outcome::CannotTell, "{}", difference.verdict.reason);
        assert!(difference.verdict.reason.contains("other draws"), "{}", difference.verdict.reason);
        assert_eq!(difference.said(), "cannot tell");
    }
    // With the same seed another workload is what was varied, and with the same workload seeds change nothing of it.
    assert!(compared(of(1, 380, 1.5)).different && compared(of(2, 400, 1.5)).different);
}

#[test]
fn seeds_are_one_line_with_a_band() {
    let runs: Vec<Run> = reports::seeds().into_iter().map(|(name, run)| made_up(&name, run)).collect();
    let seeds: u64 = runs.iter().map(|run| run.measurements.outcomes.started()).sum();
    let mut out = Vec::new();
    let variant = Variant { name: "seeds".into(), runs };
    write_report(&[variant], &mut out, &ReportOptions::default()).unwrap();
    let html = String::from_utf8(out).unwrap();
    let figures = html.split("id=\"figures\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    let figures: Vec<serde_json::Value> = serde_json::from_str(figures).unwrap();
    let of = |id: &str| figures.iter().find(|figure| figure["id"] == id).unwrap()["lines"].as_array().unwrap();
    assert_eq!(of("active").len(), 2, "the original and the variant");
    assert!(of("active")[1]["low"].is_array() && of("active")[0]["low"].is_null());
    let sequential = of("rtt")[1]["n"].as_u64().unwrap();
    assert_eq!(sequential, seeds, "all seeds are pooled");
}
