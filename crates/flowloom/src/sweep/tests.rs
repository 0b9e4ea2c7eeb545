use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flowloom_report::sweep::Decision;

use super::*;
use crate::context::{Silent, Stop};
use crate::error::ErrorKind;
use crate::experiment::{Quantity, RateOf, Setting};
use crate::run::{RunOptions, run_files};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");

/// A few seconds of exchanges that a model draws: quick, and different with each seed.
const EXCHANGES: &str = "workload.model = { kind = \"exchanges\", connections-per-second = 40.0, request-bytes = 500.0, \
                         response-bytes = 9000.0, think-ms = 50.0, rtt-ms = 50.0 }\nmeasure.duration = \"4s\"\n\
                         measure.drain = \"2s\"\nnetwork.bottleneck.rate = \"4mbit\"\n";

fn experiment(folder: &Path, sweep: &str) -> PathBuf {
    let file = folder.join("x.toml");
    std::fs::write(&file, format!("{EXCHANGES}{sweep}")).unwrap();
    file
}

fn options(folder: &Path, vary: &[&str], seeds: u16) -> SweepOptions {
    SweepOptions {
        run: RunOptions::to(folder.join("sweep")),
        vary: vary.iter().map(Quantity::of).collect(),
        seeds: Some(seeds),
        ..SweepOptions::default()
    }
}

fn swept(input: &Path, options: &SweepOptions) -> Result<Swept, Error> {
    sweep(&[input.to_owned()], options, Context::new(&Silent, &Stop::new()))
}

/// The bytes of every file of a sweep but host facts, by path.
fn bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name != "host.json" && !(name == "manifest.json" && at != folder) {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Files that differ, by their names.
fn differing(a: &BTreeMap<PathBuf, Vec<u8>>, b: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    a.keys().chain(b.keys()).filter(|path| a.get(*path) != b.get(*path)).cloned().collect()
}

#[test]
fn a_cell_is_the_run_with_its_settings() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = options(folder.path(), &["queue=drop-tail,fq-codel"], 2);
    asked.run.settings = vec![Setting::of("rate", "150%").unwrap(), Setting::of("duration", "20s").unwrap()];
    asked.tables = Some(Quantity::of("all"));
    let found = swept(Path::new(DEMO), &asked).unwrap();
    assert_eq!((found.run, found.kept), (5, 0), "four cells and the baseline");
    let run = RunOptions {
        settings: ["rate=150%", "duration=20s", "queue=fq-codel", "seeds=[2]", "vary=blocks"]
            .map(|setting| setting.parse().unwrap())
            .to_vec(),
        ..RunOptions::to(folder.path().join("alone"))
    };
    run_files(&[DEMO.into()], &run, Context::new(&Silent, &Stop::new())).unwrap();
    let alone = bytes(&folder.path().join("alone"));
    let tables = |found: &BTreeMap<PathBuf, Vec<u8>>| {
        found.iter().filter(|(path, _)| path.extension().is_some_and(|ending| ending == "parquet")).count()
    };
    assert_eq!(tables(&alone), 13);
    let is_twin = |cell: PathBuf| {
        let cell = bytes(&cell);
        cell.iter()
            .filter(|(path, _)| path.to_string_lossy().ends_with(".parquet"))
            .all(|(path, bytes)| alone[path] == *bytes)
    };
    let cells = std::fs::read_dir(found.folder.join("cells")).unwrap().map(|cell| cell.unwrap().path());
    assert_eq!(cells.filter(|cell| is_twin(cell.clone())).count(), 1);
}

/// However many cells run at once, whatever was there, and whatever a killed sweep left.
#[test]
fn a_sweep_comes_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let file =
        experiment(folder.path(), "[sweep]\nvary = [\"queue=drop-tail,codel\", \"rate=3mbit,6mbit\"]\nseeds = 3\n");
    let at = |name: &str, jobs| SweepOptions {
        run: RunOptions { jobs: Some(jobs), ..RunOptions::to(folder.path().join(name)) },
        ..SweepOptions::default()
    };
    let one = swept(&file, &at("one", 1)).unwrap();
    assert_eq!((one.run, one.answer.variants.len(), one.answer.missing.len()), (12, 4, 0));
    let whole = bytes(&one.folder);
    // What is read again is what was answered.
    assert_eq!(super::load_sweep(&one.folder).unwrap().1, one.answer);
    let two = swept(&file, &at("two", 2)).unwrap();
    assert_eq!(differing(&whole, &bytes(&two.folder)), [] as [PathBuf; 0]);
    // Some cells are gone, one is damaged, and another was being made.
    let cells: Vec<PathBuf> =
        std::fs::read_dir(two.folder.join("cells")).unwrap().map(|cell| cell.unwrap().path()).collect();
    cells[..4].iter().for_each(|cell| std::fs::remove_dir_all(cell).unwrap());
    std::fs::write(cells[4].join("cell.json"), "{}").unwrap();
    let said = super::load_sweep(&two.folder).unwrap_err().to_string();
    assert!(said.contains("damaged or missing") && said.contains("runs no cell twice"), "{said}");
    let partial = two.folder.join("cells/0123456789abcdef.partial-1");
    std::fs::create_dir(&partial).unwrap();
    std::fs::write(partial.join("queue.parquet"), "half").unwrap();
    std::fs::write(two.folder.join("cells/0123456789abcdef.claim"), "").unwrap();
    for left in ["sweep.json.partial-owZsCM", "failed/0123456789abcdef.json.partial-a1B2c3"] {
        std::fs::write(two.folder.join(left), "{").unwrap();
    }
    std::fs::remove_file(two.folder.join("results.csv")).unwrap();
    let again = swept(&file, &at("two", 2)).unwrap();
    assert_eq!((again.run, again.kept), (5, 7));
    assert_eq!(differing(&whole, &bytes(&again.folder)), [] as [PathBuf; 0]);
    let known = swept(&file, &at("two", 1)).unwrap();
    assert_eq!((known.run, known.kept), (0, 12));
}

/// A key inside the queue is varied, and the queue itself, in whichever order.
#[test]
fn axes_inside_each_other_both_hold() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let axes = ["network.bottleneck.queue.limit=5p,90p", "queue=drop-tail,codel"];
    let found = swept(&file, &options(folder.path(), &axes, 1)).unwrap();
    let text = std::fs::read_to_string(found.folder.join("sweep.json")).unwrap();
    let question: serde_json::Value = serde_json::from_str(&text).unwrap();
    for variant in question["question"]["variants"].as_array().unwrap() {
        let (name, experiment) = (variant["name"].as_str().unwrap(), variant["experiment"].as_str().unwrap());
        let (limit, kind) = name.trim_start_matches("limit ").split_once(", ").unwrap();
        assert!(experiment.contains(&format!("limit = \"{limit}\"")), "{name}: {experiment}");
        assert!(experiment.contains(&format!("kind = \"{kind}\"")), "{name}: {experiment}");
    }
}

#[test]
fn combinations_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let mut asked = options(folder.path(), &["queue=drop-tail,codel", "rate=3mbit,6mbit"], 1);
    asked.leave_out = vec![Quantity::of("queue=codel rate=6mbit")];
    let plan = plan_sweep(&[file], &asked, Context::new(&Silent, &Stop::new())).unwrap();
    assert_eq!(plan.variants, ["drop-tail, rate 3mbit", "drop-tail, rate 6mbit", "codel, rate 3mbit"]);
    assert_eq!(plan.budget.cells, 3);
    assert!(!folder.path().join("sweep").exists(), "a plan leaves nothing");
}

#[test]
fn impossible_questions_are_refused_before_anything_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let refused = |options: &SweepOptions| swept(&file, options).unwrap_err().to_string();
    for (vary, wanted) in [
        (&["tcp.congestoin=bbr"][..], "did you mean \"congestion\"?"),
        (&["rate=5ms,10mbit"], "5ms"),
        (&["queue=codel,fqcodel"], "did you mean \"fq-codel\"?"),
        (&["rate=1mbit", "rate=2mbit"], "varies rate a second time"),
        (&["rate=1mbit", "network.bottleneck.rate=2mbit"], "both vary network.bottleneck.rate"),
        (&["run.seeds=[1],[2]"], "the sweep sets itself"),
        (&["seeds=[1],[2]"], "the sweep sets itself"),
        (&["queue.limit=50p,90p"], "did you mean \"network.bottleneck.queue.limit\"?"),
        (&[], "nothing is varied"),
    ] {
        let told = refused(&options(folder.path(), vary, 2));
        assert!(told.contains(wanted), "{vary:?}: {told}");
    }
    let axes: Vec<String> = (0..6)
        .map(|axis| {
            let values: Vec<String> = (1..=40).map(|value| format!("{value}ms")).collect();
            let keys = ["delay", "tcp.rto-min", "tcp.rto-initial", "wait-min", "measure.queue-every", "measure.drain"];
            format!("{}={}", keys[axis], values.join(","))
        })
        .collect();
    let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
    assert!(refused(&options(folder.path(), &axes, 5)).contains("(at most 100000)"));
    let objective = SweepOptions {
        objective: Some("response_time_p5_ms".to_owned()),
        ..options(folder.path(), &["queue=pie,codel"], 2)
    };
    assert!(refused(&objective).contains("did you mean \"response_time_p50_ms\"?"), "{}", refused(&objective));
    let mut both = options(folder.path(), &["rate=1mbit,2mbit"], 2);
    both.run.settings = vec![Setting::of("rate", "10mbit").unwrap()];
    let told = refused(&both);
    assert!(told.contains("--rate 10mbit has no effect: an axis varies network.bottleneck.rate"), "{told}");
    let leave_out = vec!["rate+queue=1mbit+pie".parse().unwrap()];
    let told = refused(&SweepOptions { leave_out, ..options(folder.path(), &["rate+queue=1mbit+pie,2mbit+codel"], 2) });
    assert!(told.contains("write each key with its value, such as rate=90% queue=50p"), "{told}");
    assert!(!folder.path().join("sweep").exists());
}

#[test]
fn a_folder_has_one_question_and_one_version() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let first = options(folder.path(), &["queue=drop-tail,codel"], 1);
    swept(&file, &first).unwrap();
    let mut other = options(folder.path(), &["queue=drop-tail,pie"], 1);
    assert!(swept(&file, &other).unwrap_err().to_string().contains("another question"));
    other.run.replace = true;
    let found = swept(&file, &other).unwrap();
    assert_eq!((found.run, found.kept), (1, 1), "what both have is kept");
    let path = folder.path().join("sweep/sweep.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let [of_today, of_another] = [RESULTS_VERSION, 0].map(|version| format!("\"results_version\": {version}"));
    std::fs::write(&path, text.replace(&of_today, &of_another)).unwrap();
    other.run.replace = false;
    assert!(swept(&file, &other).unwrap_err().to_string().contains("its results have version 0"));
    let strange = folder.path().join("strange");
    std::fs::create_dir(&strange).unwrap();
    std::fs::write(strange.join("letter.txt"), "mine").unwrap();
    let into = SweepOptions { run: RunOptions { replace: true, ..RunOptions::to(&strange) }, ..first };
    assert!(swept(&file, &into).unwrap_err().to_string().contains("is no folder of a sweep"));
    assert_eq!(std::fs::read_dir(&strange).unwrap().count(), 1);
}

/// The other cells go on, and the same command tries the failed one again only if that is asked for.
#[test]
fn a_cell_that_fails_is_told_and_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = options(folder.path(), &["rate=200%,0.00001%"], 1);
    asked.run.settings = vec![Setting::of("duration", "5s").unwrap()];
    let found = swept(Path::new(DEMO), &asked).unwrap();
    assert_eq!(found.answer.missing.len(), 1, "{:?}", found.answer.missing);
    assert!(found.answer.missing[0].why.contains("a link has at least 100 bit/s"), "{:?}", found.answer.missing);
    assert!(found.is_partial());
    let failed: Vec<PathBuf> =
        std::fs::read_dir(found.folder.join("failed")).unwrap().map(|file| file.unwrap().path()).collect();
    let text = std::fs::read_to_string(&failed[0]).unwrap();
    assert!(text.contains("flowloom run") && text.contains("0.00001%"), "{text}");
    let again = swept(Path::new(DEMO), &asked).unwrap();
    assert_eq!((again.run, again.answer.missing.len()), (0, 1));
}

/// A load has a workload of its own, and a rate in percent is of the control's.
#[test]
fn variants_have_the_link_of_the_control() {
    let folder = tempfile::tempdir().unwrap();
    let rates = |of: RateOf, name: &str| {
        let mut asked = options(folder.path(), &["workload.load.factor=1.0,0.5"], 1);
        asked.run = RunOptions::to(folder.path().join(name));
        asked.run.settings =
            vec![Setting::of("rate", "120%").unwrap(), "workload.load.method=poisson".parse().unwrap()];
        asked.rate_of = Some(of);
        let found = swept(Path::new(DEMO), &asked).unwrap();
        found.answer.link
    };
    let (control, each) = (rates(RateOf::Control, "control"), rates(RateOf::Each, "each"));
    assert!(!control.contains(" to ") && each.contains(" to "), "{control}; {each}");
}

#[test]
fn seeds_are_added_until_the_best_is_decided() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let mut asked = options(folder.path(), &["rate=2mbit,40mbit"], 5);
    asked.most_seeds = Some(40);
    let found = swept(&file, &asked).unwrap();
    assert_eq!(found.answer.decision, Decision::Best { variant: 1, is_strict: true });
    assert_eq!(found.run, 10, "one look is enough");
    let taken: Vec<bool> = found.answer.looks.iter().map(|look| look.taken).collect();
    assert_eq!(taken, [true, false, false, false]);
    assert!(found.answer.sentence.starts_with("rate 40mbit has the shortest responses"), "{}", found.answer.sentence);
}

#[test]
fn a_stop_keeps_what_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let mut asked = options(folder.path(), &["queue=drop-tail,codel"], 4);
    asked.run.jobs = Some(1);
    let stop = Stop::new();
    let observer = |event: &crate::context::Event<'_>| {
        if matches!(event, crate::context::Event::Advanced { step: Step::Sweeping, done: 3 }) {
            stop.request();
        }
    };
    let error = sweep(std::slice::from_ref(&file), &asked, Context::new(&observer, &stop)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Interrupted);
    let found = swept(&file, &asked).unwrap();
    assert_eq!((found.run, found.kept), (5, 3));
}

/// The answer to the question that most users come for, as a terminal of 80 columns and 24 lines has it.
#[test]
fn an_answer_fits_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = options(folder.path(), &["queue=drop-tail,codel,fq-codel,pie"], 5);
    asked.run.settings = vec![Setting::of("rate", "105%").unwrap()];
    let found = swept(Path::new(DEMO), &asked).unwrap();
    for width in [60, 80, 120] {
        let text = flowloom_report::sweep::sweep_text(&found.answer, width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        // Where the command ran is one more.
        assert!(width < 80 || text.lines().count() < 24, "{width}:\n{text}");
    }
    let page = std::fs::read_to_string(found.folder.join("report.html")).unwrap();
    assert!(page.contains(&found.answer.sentence) && page.len() < 400_000, "{}", page.len());
}

/// Numbers of thirty runs, each as its shortest text: what a version of results stands for.
const GOLDEN: &str = include_str!("golden.txt");

/// A run comes to the same numbers as when [`RESULTS_VERSION`] got its value. If numbers are meant to change, raise the version in `id.rs`, and write
/// the file anew with `FLOWLOOM_GOLDEN=write`: cells of earlier versions are then not set beside new ones.
#[test]
fn numbers_change_only_with_the_version_of_results() {
    const NAMES: [&str; 6] = [
        "response_time_p50_ms",
        "response_time_p99_ms",
        "duration_mean_ms",
        "throughput_mean_mbps.down",
        "queue_length_mean_packets.down",
        "retransmissions_count",
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    // Responses of more than a window, so that congestion controls differ.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("9000.0", "120000.0").replace("40.0", "6.0")).unwrap();
    let axes =
        ["queue=drop-tail,limit=60p,red,codel,fq-codel,pie", "tcp.congestion=newreno,cubic,bbr", "profile=plain,linux"];
    let found = swept(&file, &options(folder.path(), &axes, 1)).unwrap();
    let mut text = format!("results version {RESULTS_VERSION}\n");
    for variant in &found.answer.variants {
        let numbers = NAMES
            .map(|name| variant.metrics.get(name).map_or_else(|| "-".to_owned(), |number| number.mean.to_string()));
        text.push_str(&format!("{}: {}\n", variant.name, numbers.join(" ")));
    }
    assert_eq!(text.lines().count(), 31);
    if std::env::var_os("FLOWLOOM_GOLDEN").is_some() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sweep/golden.txt");
        std::fs::write(golden, &text).unwrap();
        return;
    }
    let different = text.lines().zip(GOLDEN.lines()).find(|(now, golden)| now != golden);
    assert_eq!(different, None, "raise RESULTS_VERSION if numbers are meant to change, and write golden.txt anew");
    assert_eq!(text.lines().count(), GOLDEN.lines().count());
}

/// An error of all cells is told once, with the variants and seeds that it is of.
#[test]
fn a_reason_that_cells_share_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = options(folder.path(), &["queue=drop-tail,codel"], 2);
    // The bins of a capture of a minute are narrower, which nobody knows before it is read.
    asked.run.settings = vec!["measure.throughput-every=2s".parse().unwrap()];
    let found = swept(Path::new(DEMO), &asked).unwrap();
    assert_eq!(found.answer.missing.len(), 4);
    let text = flowloom_report::sweep::sweep_text(&found.answer, 1_000);
    assert_eq!(text.matches("does not divide the bins").count(), 1, "{text}");
    assert!(text.contains("drop-tail with seeds 1, 2; codel with seeds 1, 2: "), "{text}");
}

/// Wrong values that alternate between variants are told once each.
#[test]
fn an_error_of_several_variants_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let asked = options(folder.path(), &["rate=3mbit,6mbit", "measure.queue-every=0s,0.1us"], 1);
    let error = swept(&file, &asked).unwrap_err();
    assert_eq!(error.each().count(), 2, "{error}");
}

#[test]
fn an_objective_has_better_values() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let refused = |name: &str| {
        let mut asked = options(folder.path(), &["queue=drop-tail,codel"], 1);
        asked.objective = Some(name.to_owned());
        swept(&file, &asked).unwrap_err().to_string()
    };
    let text = refused("throughput_sd_10ms_mbps.down");
    assert!(text.contains("neither less nor more of it is better"), "{text}");
    assert!(text.contains("nearest to it are throughput_mean_mbps."), "{text}");
    assert!(refused("response_time_p5_ms").contains("did you mean \"response_time_p50_ms\"?"));
    assert!(refused("queue_length_sd_packets.up").contains("queue_length_mean_packets.up"));
}

/// The axes of what a sweep sets itself are refused with words.
#[test]
fn seeds_are_no_axis() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    for axis in ["run.seeds=[1],[2]", "seeds=[1],[2]", "sweep.seeds=3,5"] {
        let text = swept(&file, &options(folder.path(), &[axis], 1)).unwrap_err().to_string();
        assert!(text.contains("which the sweep sets itself") && text.contains("--seeds"), "{axis}: {text}");
    }
}

/// Probes are there for whoever asks, and change nothing of what others find.
#[test]
fn probes_are_an_objective() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "probe.every = \"20ms\"\nprobe.kind = \"both\"\n");
    let mut asked = options(folder.path(), &["queue=drop-tail,fq-codel"], 2);
    asked.objective = Some("probe_round_trip_p99_ms".to_owned());
    let found = swept(&file, &asked).unwrap();
    let names = ["probe_round_trip_p50_ms", "probe_one_way_p99_ms.down", "probe_request_mean_ms", "probe_loss_share"];
    for variant in &found.answer.variants {
        assert!(names.iter().all(|name| variant.metrics.contains_key(*name)), "{:?}", variant.metrics.keys());
    }
    let answer = std::fs::read_to_string(found.folder.join("results.csv")).unwrap();
    assert!(!answer.contains("queue_delay_p50_ms.up.probe"), "what probes wait is no queue delay");
}

/// The experiments of the cells of a sweep, resolved.
fn resolved(found: &Swept) -> Vec<String> {
    let cells = std::fs::read_dir(found.folder.join("cells")).unwrap().map(|cell| cell.unwrap().path());
    cells.map(|cell| std::fs::read_to_string(cell.join("run.json")).unwrap()).collect()
}

#[test]
fn structures_of_a_model_are_cut_from_a_longer_workload() {
    let folder = tempfile::tempdir().unwrap();
    let waits = EXCHANGES.replace("think-ms = 50.0", "think-ms = 900.0");
    let at = |name: &str, keys: &str, vary: &str| {
        let file = folder.path().join(format!("{name}.toml"));
        std::fs::write(&file, format!("{waits}{keys}")).unwrap();
        let asked = SweepOptions {
            run: RunOptions::to(folder.path().join(name)),
            vary: vec![Quantity::of(vary)],
            seeds: Some(1),
            ..SweepOptions::default()
        };
        swept(&file, &asked).unwrap()
    };
    let structures = "structure=a-t-b-t,a-b,block-concurrent";
    let cut = at("cut", "workload.cut-after = \"20s\"\n", structures);
    let is_cut = |text: &String| text.contains("cut = \\\"trace\\\"") && text.contains("\"trace_cut\"");
    assert!(resolved(&cut).iter().all(is_cut), "{:?}", resolved(&cut).first());
    let told =
        "cut like a trace after 20s of the model, as sweeps over structures are unless workload.cut says otherwise; ";
    assert!(cut.answer.workload.starts_with(told), "{}", cut.answer.workload);
    let differs = |found: &Swept| found.answer.warnings.iter().any(|told| told.warning.starts_with("bytes differ: "));
    assert!(!differs(&cut), "{:?}", cut.answer.warnings);
    // What was asked for stays, and other axes leave the workload as it is.
    for (name, keys, vary) in [
        ("none", "workload.cut = \"none\"\n", structures),
        ("rates", "", "rate=3mbit,6mbit"),
        ("both", "", "structure+workload.cut=a-t-b-t+none,a-b+none"),
    ] {
        let found = at(name, keys, vary);
        assert!(!resolved(&found).iter().any(is_cut), "{name}");
        assert_eq!((found.answer.workload.as_str(), differs(&found)), ("", false), "{name}");
    }
    // Where connections in progress open anew, structures have other bytes left.
    let prefill = at("prefill", "workload.prefill = \"1s\"\n", structures);
    assert!(differs(&prefill), "{:?}", prefill.answer.warnings);
    assert!(!resolved(&prefill).iter().any(is_cut));
}

/// A cell that lost a file of its manifest is run again, with a word; one that never had the tables that are wanted now, without.
#[test]
fn a_cell_that_lost_a_table_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "probe.every = \"500ms\"\n");
    let mut asked = options(folder.path(), &["queue=drop-tail,codel"], 1);
    swept(&file, &asked).unwrap();
    asked.tables = Some(Quantity::of("all"));
    let again = |asked: &SweepOptions| {
        let told = std::sync::Mutex::new(Vec::new());
        let observer = |event: &crate::context::Event<'_>| {
            if let crate::context::Event::Warning(warning) = event {
                told.lock().unwrap().push(warning.to_string());
            }
        };
        let found = sweep(std::slice::from_ref(&file), asked, Context::new(&observer, &Stop::new())).unwrap();
        (found.run, found.kept, told.into_inner().unwrap())
    };
    assert_eq!(again(&asked), (2, 0, Vec::new()), "the tables are new");
    let cells = || -> Vec<PathBuf> {
        std::fs::read_dir(folder.path().join("sweep/cells")).unwrap().map(|cell| cell.unwrap().path()).collect()
    };
    std::fs::remove_file(cells()[0].join("probes.parquet")).unwrap();
    let (run, kept, told) = again(&asked);
    assert_eq!((run, kept, told.len()), (1, 1, 1), "{told:?}");
    assert!(told[0].contains("this cell is run again: probes.parquet is missing"), "{told:?}");
    assert!(cells().iter().all(|cell| cell.join("probes.parquet").is_file()));
    let path = cells()[1].join("queue.parquet");
    std::fs::write(&path, "cut").unwrap();
    let (run, _, told) = again(&asked);
    assert!(run == 1 && told[0].contains("queue.parquet has 3 bytes, and had "), "{told:?}");
    std::fs::remove_file(cells()[1].join("run.json")).unwrap();
    let (run, _, told) = again(&asked);
    assert!(run == 1 && told[0].contains("this cell is run again: run.json is missing"), "{told:?}");
}

/// Errors name the option or the key that gave the value, and the value.
#[test]
fn a_wrong_value_names_the_axis_that_gave_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    for (vary, wanted) in [
        ("queue=drop-tail,fqcodel", "given by --vary queue=fqcodel"),
        ("rate+delay=1mbit+5ms,2mbit+5mm", "given by --vary rate+delay=2mbit+5mm"),
        ("queu=pie,codel", "given by --vary queu=pie"),
        ("queue=pie,codel,x=", "given by --vary queue=codel,x="),
    ] {
        let told = swept(&file, &options(folder.path(), &[vary], 1)).unwrap_err().to_string();
        assert!(told.contains(wanted) && !told.contains("--set"), "{vary}: {told}");
    }
    let file = experiment(folder.path(), "[sweep]\nvary = [\"queue=drop-tail,fqcodel\"]\n");
    let told = swept(&file, &options(folder.path(), &[], 1)).unwrap_err().to_string();
    assert!(told.contains("given by sweep.vary queue=fqcodel") && !told.contains("--set"), "{told}");
}

/// The next free name is taken where nobody gave one, and what is there stays.
#[test]
fn questions_over_the_same_keys_have_folders_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let usual = folder.path().join("runs/x-queue");
    let chosen = |vary: &str, replace: bool| {
        let mut asked = options(folder.path(), &[vary], 1);
        (asked.run.target, asked.run.replace) = (None, replace);
        let mut question =
            Question::new(std::slice::from_ref(&file), &asked, Context::new(&Silent, &Stop::new())).unwrap();
        question.usual_folder.clone_from(&usual);
        let store = Store::open(&question, &asked).unwrap();
        store.folder().file_name().unwrap().to_string_lossy().into_owned()
    };
    assert_eq!(chosen("queue=drop-tail,codel", false), "x-queue");
    assert_eq!(chosen("queue=pie,red", false), "x-queue-2");
    assert_eq!(chosen("queue=drop-tail,codel", false), "x-queue", "the same command goes on");
    assert_eq!(chosen("queue=pie,red", false), "x-queue-2");
    std::fs::create_dir(usual.with_file_name("x-queue-3")).unwrap();
    std::fs::write(usual.with_file_name("x-queue-3/letter.txt"), "mine").unwrap();
    assert_eq!(chosen("queue=blue,red", false), "x-queue-4", "a folder of somebody else's is left alone");
    assert_eq!(chosen("queue=rem,red", true), "x-queue", "--force asks this one there");
}

#[test]
fn what_a_sweep_left_out_is_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let mut asked = options(folder.path(), &["queue=drop-tail"], 1);
    let found = swept(&file, &asked).unwrap();
    let cell = std::fs::read_dir(found.folder.join("cells")).unwrap().next().unwrap().unwrap().path();
    let told = crate::results::load_variants(std::slice::from_ref(&cell)).unwrap_err().to_string();
    let again = format!("`flowloom run {} -o FOLDER`", cell.display());
    for wanted in ["kept only the summary", "--tables all", again.as_str()] {
        assert!(told.contains(wanted), "{told}");
    }
    asked.tables = Some(Quantity::of("epochs"));
    swept(&file, &asked).unwrap();
    let told = crate::results::load_variants(std::slice::from_ref(&cell)).unwrap_err().to_string();
    assert!(told.contains("left out tables of this run: ") && told.contains("connections"), "{told}");
    asked.tables = Some(Quantity::of("all"));
    swept(&file, &asked).unwrap();
    assert!(crate::results::load_variants(&[cell]).is_ok());
}

/// A grid that names a cell that is not there says so, with the names that are most like it.
#[test]
fn a_cell_that_is_not_there_is_told_with_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let found = swept(&file, &options(folder.path(), &["queue=drop-tail"], 1)).unwrap();
    let cell = std::fs::read_dir(found.folder.join("cells")).unwrap().next().unwrap().unwrap().file_name();
    let cell = cell.to_string_lossy();
    let other = format!("{}zz", &cell[..cell.len() - 2]);
    let grid = found.folder.join("grid.json");
    let text = std::fs::read_to_string(&grid).unwrap();
    for (name, wanted) in [
        (other.as_str(), format!("there is no such folder\n  nearest names: {cell}")),
        ("../x", "is no name of a cell".to_owned()),
    ] {
        std::fs::write(&grid, text.replace(&*cell, name)).unwrap();
        let told = super::load_sweep(&found.folder).unwrap_err().to_string();
        assert!(told.contains(&wanted), "{told}");
    }
}

/// What a live sweep says beforehand: cells that are there, or are known to fail, do not run.
#[test]
fn only_cells_that_are_missing_will_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(folder.path(), "");
    let asked = options(folder.path(), &["queue=drop-tail,codel"], 2);
    let found = swept(&file, &asked).unwrap();
    let stop = Stop::new();
    let context = Context::new(&Silent, &stop);
    let question = Question::new(std::slice::from_ref(&file), &asked, context).unwrap();
    let store = Store::open(&question, &asked).unwrap();
    let workloads = Workloads::new(&asked.run.capture, context);
    let (first, _) = question.cell(0, 1, &[], &asked.run, &store.staging("control"), context).unwrap();
    let headings = workloads.headings(&first).unwrap();
    let cells = Cells::new(&question, &store, &workloads, &asked, headings, context);
    let wanted: Vec<Wanted> =
        (0..4).map(|place| Wanted::Cell { variant: place % 2, seed: 1 + place as u64 / 2 }).collect();
    assert_eq!(cells.to_run(&wanted).unwrap(), 0);
    let there = std::fs::read_dir(found.folder.join("cells")).unwrap().map(|cell| cell.unwrap().path());
    // Beside the cells there is the workload that these have in common.
    let there: Vec<PathBuf> = there.filter(|cell| cell.join("cell.json").is_file()).collect();
    there[..3].iter().for_each(|cell| std::fs::remove_dir_all(cell).unwrap());
    assert_eq!(cells.to_run(&wanted).unwrap(), 3);
    let id = there[0].file_name().unwrap().to_string_lossy();
    store.fail(&id, &Error::new("too slow"), "flowloom run").unwrap();
    assert_eq!(cells.to_run(&wanted).unwrap(), 2, "one is known to fail");
}
