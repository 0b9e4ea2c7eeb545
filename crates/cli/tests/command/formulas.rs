//! Models that are formulas: `flowloom model queue` and `flowloom model pipe`.

use serde_json::Value;

use crate::support::{Bench, Traffic};

/// Cells at 100, 300 and 200 per second, a second each and again.
fn rates() -> Vec<u8> {
    let rows = (0..30).map(|second| format!("{second},{}\n", [100, 300, 200][second % 3]));
    format!("seconds,cells_per_second\n{}", rows.collect::<String>()).into_bytes()
}

fn near(found: &Value, wanted: f64, share: f64) {
    let found = found.as_f64().unwrap();
    assert!((found / wanted - 1.0).abs() <= share, "{found}, not {wanted}");
}

/// Methods I.2 and I.3, whose service rate of 6,000 cells/s is a load of 2442.2295351 / 6000.
#[test]
fn phases_without_a_series() {
    let bench = Bench::new();
    let words = "model queue --least 1000 --most 5000 --pareto-shape 1.5 --phases 4 --load 40.70382558% --buffer 0,10,50 --json";
    let answer = bench.json(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(answer["series"], Value::Null);
    near(&answer["phases"][0]["mean_cells_per_second"], 2_442.229_535_1, 1e-10);
    let point = &answer["curves"][0];
    near(&point["mean_delay_ns"], 262_534.88, 1e-7);
    near(&point["mean_delay_as_printed_ns"], 466_806.20, 1e-7);
    for (loss, wanted) in
        point["losses"].as_array().unwrap().iter().zip([0.407_038_255_9, 1.033_333_750_3e-3, 7.064_053_859_5e-10])
    {
        near(&loss["tail"], wanted, 1e-7);
    }
    bench.flowloom(&["model", "queue", "--least", "5", "--most", "9"]).failed(2, &["SERIES"]);
}

#[test]
fn a_series_its_model_and_its_queue() {
    let bench = Bench::new();
    bench.file("r.csv", &rates());
    let words = [
        "model",
        "queue",
        "r.csv",
        "--phases",
        "3,4",
        "--gaps",
        "poisson,even",
        "--load",
        "50%,70%",
        "--simulate=200000",
    ];
    let answer = bench.json(&[&words[..], &["--buffer", "2,5", "--json"]].concat());
    let series = &answer["series"];
    assert_eq!((&series["kind"], &series["rates"]), (&"rates".into(), &30.into()));
    near(&series["mean_cells_per_second"], 200.0, 1e-12);
    near(&series["duration_ns"], 30e9, 1e-12);
    // It comes back every three seconds.
    near(&series["autocorrelation"][3], 0.9, 1e-9);
    assert_eq!(answer["curves"].as_array().unwrap().len(), 8);
    assert_eq!(answer["simulated"].as_array().unwrap().len(), 4);
    let point = &answer["curves"][0];
    assert_eq!((&point["phases"], &point["gaps"], &point["overloaded"]), (&3.into(), &"poisson".into(), &Value::Null));
    // Three phases with the upper bounds 166.7, 233.3 and 300, a third of the time each.
    near(&answer["phases"][0]["mean_cells_per_second"], 700.0 / 3.0, 1e-9);
    let simulated = &answer["simulated"][0];
    near(&simulated["mean_delay_ns"], point["mean_delay_ns"].as_f64().unwrap(), 0.15);
    // At 70 % 286 cells/s are served, and the fastest phase brings 300.
    let overloaded = answer["curves"][1]["overloaded"].as_str().unwrap();
    assert_eq!(overloaded, "phase 3 of 3 brings up to 300 cells/s, and 286 are served: no equilibrium");
    near(&answer["phases"][0]["highest_load"], 2.0 / 3.0, 1e-9);
    assert_eq!(answer["curves"][1]["mean_delay_ns"], Value::Null);
    let again = bench.json(&[&words[..], &["--buffer", "2,5", "--json"]].concat());
    assert_eq!(again, answer, "the same seed, the same numbers");
    let text = bench.flowloom(&words).succeeded().out.clone();
    for part in ["mean 200 cells/s, from 100 to 300", "autocorrelation", "phase 3 of 3", "the queue itself, even gaps"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Cells in threes: the second and third wait for the ones before them, whatever a model says.
#[test]
fn loads_of_bursts_are_told_with_three_digits() {
    let bench = Bench::new();
    bench.file("burst.csv", b"seconds,cells_per_second\n0,1\n10000,100000\n10000.1,1\n10001,1\n");
    let said = bench.flowloom(&["model", "queue", "burst.csv"]);
    // A mean of 2 cells/s; the burst is to be served with a hundredth to spare.
    let out = &said.succeeded().out;
    assert!(out.contains("\n0.00198 % "), "{out}");
    assert!(!out.contains("0.0 %"), "{out}");
}

#[test]
fn times_of_cells_are_taken_as_they_are() {
    let bench = Bench::new();
    let times: String = (0..300).map(|cell| format!("{}\n", f64::from(cell / 3) * 0.01)).collect();
    bench.file("t.csv", format!("# a trace\ncell_seconds\n{times}").as_bytes());
    let answer = bench.json(&[
        "model",
        "queue",
        "t.csv",
        "--bin",
        "100ms",
        "--load",
        "50%",
        "--simulate",
        "--buffer",
        "1",
        "--json",
    ]);
    let simulated = &answer["simulated"][0];
    assert_eq!((&simulated["gaps"], &simulated["cells"]), (&"as-seen".into(), &300.into()));
    let service = simulated["service_cells_per_second"].as_f64().unwrap();
    near(&simulated["mean_delay_ns"], 2.0 / service * 1e9, 1e-6);
    // Of each three the last finds a waiting place taken.
    near(&simulated["losses"][0]["lost"], 1.0 / 3.0, 1e-9);
}

#[test]
fn captures_and_runs_have_rates_too() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "r"]).succeeded();
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    let means = [("c.pcap", "capture"), ("w.parquet", "workload"), ("r", "run")].map(|(file, kind)| {
        let answer = bench.json(&["model", "queue", file, "--from", "right", "--json"]);
        assert_eq!(answer["series"]["kind"], kind);
        assert_eq!(answer["curves"].as_array().unwrap().len(), 10);
        answer["series"]["mean_cells_per_second"].as_f64().unwrap()
    });
    assert_eq!(means[0], means[1], "a workload keeps what its capture had");
    assert!(means[2] > 0.5 * means[0], "{means:?}");
}

/// Wider bins have lower rates, so that loads have an equilibrium which the bins of the capture have not.
#[test]
fn bins_and_boundaries_change_the_rates() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    let words = ["model", "queue", "c.pcap", "--from", "right", "--load", "30%"];
    let said = bench.flowloom(&words);
    assert!(said.succeeded().out.contains(": no equilibrium\nloads below "), "{}", said.out);
    let with = |more: &[&str]| bench.json(&[&words[..], more, &["--json"]].concat());
    let [narrow, wide] = [&[][..], &["--bin", "10s"]].map(with);
    let most = |answer: &Value| answer["series"]["most_cells_per_second"].as_f64().unwrap();
    assert!(most(&wide) < 0.5 * most(&narrow), "{} and {}", most(&wide), most(&narrow));
    let mean = narrow["series"]["mean_cells_per_second"].as_f64().unwrap();
    near(&wide["series"]["mean_cells_per_second"], mean, 1e-9);
    assert_eq!(wide["curves"][0]["overloaded"], Value::Null, "{}", wide["phases"]);
    bench
        .flowloom(&[&words[..], &["--bin", "1ms"]].concat())
        .failed(2, &["counted in bins of 10.0 ms", "10.0 ms or more"]);
    // 100, 200 and 300 cells/s, each a third of the time.
    bench.file("r.csv", &rates());
    let of =
        |more: &[&str]| bench.json(&[&["model", "queue", "r.csv", "--json"][..], more].concat())["phases"][0].clone();
    let likely = of(&["--boundaries", "equal-probability", "--phases", "3"]);
    assert_eq!(likely["bounds_cells_per_second"], serde_json::json!([0.0, 100.0, 200.0, 300.0]), "{likely}");
    near(&likely["mean_cells_per_second"], 200.0, 1e-12);
    let given = of(&["--boundaries", "0,100,300", "--shares", "25%,75%"]);
    assert_eq!((&given["phases"], &given["shares"]), (&2.into(), &serde_json::json!([0.25, 0.75])));
    near(&given["mean_cells_per_second"], 250.0, 1e-12);
    let average = bench.json(&["model", "queue", "r.csv", "--bin", "3s", "--json"]);
    assert_eq!(average["series"]["most_cells_per_second"], 200.0);
}

/// One second of a million cells in a thousand seconds of ten.
#[test]
fn phases_unlike_their_series_are_warned_of() {
    let bench = Bench::new();
    let rows = (0..1_000).map(|second| format!("{second},{}\n", if second == 500 { 1_000_000 } else { 10 }));
    bench.file("b.csv", format!("seconds,cells_per_second\n{}", rows.collect::<String>()).as_bytes());
    let of = |more: &str| {
        let words = format!("model queue b.csv --json {more}");
        let answer = bench.json(&words.split_whitespace().collect::<Vec<_>>());
        let warnings = answer["warnings"].as_array().unwrap().clone();
        let warnings = warnings.iter().map(|warning| warning.as_str().unwrap().to_owned()).collect::<Vec<_>>();
        (answer, warnings.join("\n"))
    };
    // The mean is 1,009.99 cells/s; nearly all of the time is in a phase of 66,676.
    let (_, said) = of("");
    assert!(
        said.starts_with("the mean rate of 15 phases is 67609 cells/s, 66.9 times the series' 1010: a phase"),
        "{said}"
    );
    assert!(said.contains("those of more traffic (remedy: raise --phases"), "{said}");
    let (_, said) = of("--most 20 --phases 10");
    assert!(said.contains("0.0109 times") && said.contains("(remedy: raise --most"), "{said}");
    let (_, said) = of("--boundaries 0,10,1000000 --shares 50%,50%");
    assert!(said.contains("the shares given are not the series'"), "{said}");
    // Ten cells/s fill all of five phases.
    let (answer, said) = of("--boundaries equal-probability --phases 5");
    assert!(said.starts_with("2 phases instead of 5: "), "{said}");
    assert!(said.contains("at 10.0 cells/s for 99.9 % of the time") && !said.contains("mean rate"), "{said}");
    near(&answer["phases"][0]["mean_cells_per_second"], 1_009.99, 1e-12);
    // Rounded to a percent, shares are taken.
    let (_, said) = of("--boundaries 0,10,20,1000000 --shares 33%,33%,33%");
    assert!(said.contains("3 phases"), "{said}");
}

#[test]
fn what_cannot_be_is_refused() {
    let bench = Bench::new();
    bench.file("r.csv", &rates());
    bench.file("bad.csv", b"seconds,cells_per_second\n0,10\n1,x\n");
    bench.file("odd.csv.xz", b"seconds,cells\n");
    bench.file("zero.csv", b"seconds,cells_per_second\n0,0\n1,0\n");
    bench.file("e.toml", crate::models::EXCHANGES.as_bytes());
    for (words, code, parts) in [
        ("model queue bad.csv", 1, &["bad.csv:3: not a row of such columns", "a time and a rate"][..]),
        ("model queue missing.csv", 1, &["missing.csv: cannot open"]),
        ("model queue zero.csv", 1, &["zero.csv: fewer than one cell"]),
        ("model queue e.toml", 2, &["an experiment has no rates"]),
        ("model queue r.csv --from right", 2, &["--from is about traffic of a link"]),
        ("model queue r.csv --bin 0s", 2, &["--bin 0s is not possible"]),
        ("model queue --least 1 --most 9 --pareto-shape 1.5 --bin 0s", 2, &["--bin 0s is not possible"]),
        (
            "model queue --least 1 --most 9 --pareto-shape 1.5 --tcp-only",
            2,
            &["--tcp-only is about reading captures", "no series"],
        ),
        ("model queue r.csv --tcp-only", 2, &["--tcp-only is about reading captures", "r.csv is a file of rates"]),
        ("model queue odd.csv.xz", 1, &["odd.csv.xz:1: not the first line of rates"]),
        ("model queue r.csv --bin 1ns", 2, &["--bin 1 ns makes too many bins of 30 s"]),
        ("model queue r.csv --sojourn 0s", 2, &["--sojourn 0s"]),
        ("model queue r.csv --gaps pareto", 2, &["pareto", "poisson"]),
        ("model queue r.csv --least 400 --most 300", 2, &["boundary rates have to be two or more numbers that ascend"]),
        ("model queue r.csv --pareto-shape -1", 2, &["a Pareto law with a least rate of 100"]),
        ("model queue r.csv --load -5%", 2, &["a percentage above zero"]),
        ("model queue r.csv --load 0%", 2, &["a percentage above zero"]),
        ("model queue r.csv --boundaries 5", 2, &["--boundaries needs two rates or more"]),
        ("model queue r.csv --boundaries 9,5", 2, &["boundary rates have to be two or more numbers that ascend"]),
        ("model queue r.csv --boundaries wide", 2, &["equal-probability"]),
        ("model queue r.csv --boundaries equal-probability --most 9", 2, &["--least and --most are about phases"]),
        ("model queue r.csv --phases 2 --shares 100%", 2, &["for each of 2 phases"]),
        ("model queue r.csv --phases 2 --shares 60%,30%", 2, &["--shares add up to 90.0 %, not to 100 %"]),
        ("model queue r.csv --phases 2 --boundaries 0,100,300", 2, &["--phases", "--boundaries has 3 rates"]),
        ("model queue --boundaries 1,2", 2, &["SERIES", "--shares"]),
        ("model queue", 2, &["SERIES"]),
        ("model", 2, &["EXPERIMENT"]),
        ("model pipe --rate 0mbit --rtt 1ms", 2, &["a rate above zero"]),
        ("model pipe --rate unlimited --rtt 1ms", 2, &["--rate unlimited makes no pipe"]),
        ("model pipe --rate 1mbit --rtt 0ms", 2, &["--rtt 0s makes no pipe"]),
        ("model pipe --rate 1mbit --rtt 1ms --growth 1", 2, &["--growth is above 1"]),
        ("model pipe --rate 1mbit --rtt 1ms --growth nan", 2, &["--growth is above 1"]),
        ("model pipe --rate 1mbit --rtt 1ms --windows 0.5", 2, &["--windows is a number from 1 to 1e15"]),
        ("model pipe --rate 1mbit --rtt 1ms --windows 1e308", 2, &["--windows is a number from 1 to 1e15"]),
        (
            "model pipe --rate 1mbit --rtt 1ns",
            2,
            &["--rate and --rtt make a pipe that holds less than a segment of 1460 bytes"],
        ),
        ("model pipe --rate 1mbit --rtt 1ms --window 0b", 2, &["--window is less than a segment"]),
        ("model pipe --rate 10mbit --rtt 100ms --window 1459b", 2, &["--window is less than a segment of 1460 bytes"]),
        ("model pipe --rate 1mbit --rtt 1ms --bit-errors 1", 2, &["--bit-errors is a share"]),
        ("model pipe --rate 1gbit --rtt 40ms --bit-errors 0.1", 2, &["--bit-errors loses 100 % of the packets"]),
        ("model pipe --rtt 1ms", 2, &["--rate"]),
    ] {
        bench.flowloom(&words.split(' ').collect::<Vec<_>>()).failed(code, parts);
    }
    let said = bench.flowloom(&["model", "queue", "zero.csv"]).err;
    assert!(!said.contains("--from"), "a file of rates has no direction: {said}");
}

/// Every digit of methods I.4.
#[test]
fn the_published_satellite() {
    let bench = Bench::new();
    let words = "model pipe --rate 599.04mbit --cells --mss 9140 --rtt 534ms --window 10mb --windows 102";
    let words: Vec<&str> = words.split(' ').collect();
    let answer = bench.json(&[&words[..], &["--json"]].concat());
    let field = |name: &str| answer[name].as_f64().unwrap();
    for (name, unit, wanted, by) in [
        ("usable_bits_per_second", 1e6, 538.052_8, 5e-5),
        ("window_needed_bytes", 1_048_576.0, 34.251, 5e-4),
        ("window_bits_per_second", 1e6, 157.090, 5e-4),
        ("window_segments", 1.0, 1_148.0, 0.0),
        ("slow_start_round_trips", 1.0, 18.377_02, 5e-6),
        ("slow_start_ns", 1e9, 9.813_33, 5e-6),
        ("transfer_round_trips", 1.0, 119.377, 5e-4),
        ("transfer_ns", 1e9, 63.747, 5e-4),
        ("efficiency", 1.0, 0.854_44, 5e-6),
        ("recovery_ns", 1e9, 305.18, 5e-3),
        ("fast_recovery_ns", 1e9, 303.58, 5e-3),
    ] {
        let found = field(name) / unit;
        assert!((found - wanted).abs() <= by, "{name}: {found}, not {wanted}");
    }
    assert_eq!(answer["loss_bits_per_second"], Value::Null);
    let text = bench.flowloom(&words).succeeded().out.clone();
    for part in ["538.053 Mbit/s", "34.251 MB", "157.090 Mbit/s", "18.377 round trips, 9.813 s", "305.18", "303.57"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let with_errors = bench.json(&[&words[..], &["--bit-errors", "1e-9", "--json"]].concat());
    assert_eq!(with_errors["limit_bits_per_second"], with_errors["loss_bits_per_second"]);
}
