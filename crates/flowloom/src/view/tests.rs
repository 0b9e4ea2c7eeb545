//! Questions about a store whose answers are computed by hand.

use std::path::Path;

use flowloom_store::monitor::{Batch, GapRow, Kind, MonitorWriter, Reason, SECOND, Series, WriterOptions};
use serde_json::Value;

use flowloom_testkit::workload::Stored;

use super::{Answer, Question, Shelf};

const MINUTE: u64 = 60 * SECOND;
const START: u64 = 20_000 * 1_440 * MINUTE;

/// Octets a second in a minute: 100, but 10,000 in minute 30, and 500 from minute 60 to 64.
fn rate(minute: u64) -> u64 {
    match minute {
        30 => 10_000,
        60..=64 => 500,
        _ => 100,
    }
}

/// Two hours of two series: the second is seven times the first, three minutes later. Then five minutes without an answer.
pub(super) fn store(root: &Path) {
    let mut writer = MonitorWriter::open(root, WriterOptions::default(), START).unwrap();
    let series = |counter: &str, unit: &str| Series {
        id: 0,
        target: "core".to_owned(),
        port: "ge-0/0/1".to_owned(),
        counter: counter.to_owned(),
        unit: unit.to_owned(),
        kind: Kind::Counter,
        interval_ns: MINUTE,
    };
    let (one, _) = writer.series(series("in", "octets")).unwrap();
    let (other, _) = writer.series(series("out", "octets")).unwrap();
    let (drops, _) = writer.series(series("in-drops", "drops")).unwrap();
    for minute in 1..=120 {
        let samples =
            vec![(one, rate(minute) * 60), (other, 7 * rate(minute.saturating_sub(3)) * 60), (drops, minute % 2)];
        writer.samples(Batch { time_ns: START + minute * MINUTE, span_ns: MINUTE, samples }).unwrap();
    }
    let (start_ns, end_ns) = (START + 120 * MINUTE, START + 125 * MINUTE);
    writer.gap(GapRow { series: one, start_ns, end_ns, reason: Reason::NoAnswer, amount: Some(7) }).unwrap();
}

fn ask(shelf: &Shelf, path: &str, query: &str) -> Value {
    let question = Question::parse(path, query).unwrap().unwrap();
    match shelf.answer(&question).unwrap() {
        Answer::Json(bytes) => serde_json::from_slice(&bytes).unwrap(),
        other => panic!("{path}?{query}: {other:?}"),
    }
}

fn close(value: &Value, expected: f64) {
    let found = value.as_f64().unwrap_or(f64::NAN);
    assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{found} is not {expected}");
}

#[test]
fn answers_are_those_of_a_pencil() {
    let folder = tempfile::tempdir().unwrap();
    store(&folder.path().join("m"));
    let shelf = Shelf::open(&[folder.path().to_owned()]).unwrap();
    let folders = ask(&shelf, "/api/folders", "");
    assert_eq!(folders["monitors"][0]["id"], "0/m");
    let monitor = ask(&shelf, "/api/monitor", "monitor=0/m");
    assert_eq!((&monitor["from_ns"], monitor["series"].as_array().unwrap().len()), (&START.into(), 3));
    assert_eq!(monitor["series"][0]["bits_per_unit"], 8);
    let id = |counter: &str| {
        let all = monitor["series"].as_array().unwrap();
        all.iter().find(|series| series["counter"] == counter).unwrap()["id"].as_u64().unwrap()
    };
    let (one, other) = (id("in"), id("out"));
    let hours = format!("monitor=0%2Fm&from={START}&to={}", START + 120 * MINUTE);
    let both = format!("{hours}&series={one}&series={other}");
    let hours_of = hours.clone();

    let period = ask(&shelf, "/api/period", &format!("{both}&points=121&sum=true"));
    let curve = &period["curves"][0];
    assert_eq!(curve["width_ns"], MINUTE);
    // 120 minutes: 114 of 100, 5 of 500, one of 10,000. Of the sorted, the 114th is the percentile.
    close(&curve["whole"]["mean"], 23_900.0 / 120.0);
    close(&curve["whole"]["most"], 10_000.0);
    close(&curve["whole"]["p95"], 100.0);
    assert_eq!(curve["whole"]["percentile_ns"], MINUTE);
    assert_eq!(curve["whole"]["amount"], 23_900 * 60);
    assert_eq!((&curve["whole"]["covered_ns"], &curve["is_bound"]), (&(120 * MINUTE).into(), &false.into()));
    assert_eq!(curve["points"]["start_ns"][29], START + 29 * MINUTE);
    close(&curve["points"]["mean"][29], 10_000.0);
    // In 120 minutes each: 10,000 + 5 x 500 + 114 x 100 octets a second, and seven times that.
    let sum = &period["sum"];
    assert_eq!((&sum["unit"], &sum["is_bound"]), (&"octets".into(), &false.into()));
    close(&sum["whole"]["mean"], 8.0 * 23_900.0 / 120.0);
    close(&sum["whole"]["most"], 70_100.0);
    close(&sum["whole"]["least"], 800.0);
    close(&sum["points"]["mean"][29], 10_700.0);
    close(&sum["points"]["mean"][32], 70_100.0);
    assert_eq!(sum["whole"]["amount"], 8 * 23_900 * 60);
    assert_eq!(sum["points"]["start_ns"], curve["points"]["start_ns"]);

    // A series added to nothing is that series.
    let alone = ask(&shelf, "/api/period", &format!("{hours}&series={one}&points=17&sum=true&percentile=10min"));
    let (single, sum) = (&alone["curves"][0], &alone["sum"]);
    assert_eq!((&sum["points"], &sum["width_ns"]), (&single["points"], &single["width_ns"]));
    assert_eq!(sum["whole"], single["whole"]);

    // However short the intervals are that were asked for, there are no more than 100,000.
    let short = ask(&shelf, "/api/period", &format!("{both}&points=121&sum=true&percentile=1ns"));
    assert_eq!(short["sum"]["whole"]["percentile_ns"], 72_000_000);
    close(&short["sum"]["whole"]["most"], 70_100.0);

    let wide = ask(&shelf, "/api/period", &format!("{both}&points=3&percentile=10min"));
    close(&wide["curves"][0]["points"]["most"][0], 10_000.0);
    assert!(wide["curves"][0]["points"]["mean"].as_array().unwrap().len() <= 3);
    // Of twelve intervals of ten minutes the last one: it has the 10,000. 9 x 100 and 10,000.
    close(&wide["curves"][0]["whole"]["p95"], 1_090.0);

    let found = ask(&shelf, "/api/correlation", &format!("{both}&width=60s&lags=5"));
    assert_eq!(found["strongest"]["bins"], 3);
    close(&found["strongest"]["coefficient"], 1.0);
    assert_eq!(found["lags"].as_array().unwrap().len(), 11);

    let found = ask(&shelf, "/api/bursts", &format!("{hours}&series={one}&above=150"));
    assert_eq!((&found["count"], &found["total_ns"]), (&2.into(), &(6 * MINUTE).into()));
    assert_eq!((&found["longest_ns"], &found["interval_ns"]), (&(5 * MINUTE).into(), &(30 * MINUTE).into()));
    assert_eq!(found["listed"][0]["start_ns"], START + 29 * MINUTE);
    assert_eq!(found["listed"][1]["end_ns"], START + 64 * MINUTE);

    let found = ask(&shelf, "/api/days", &format!("{hours}&series={one}"));
    let day = &found["series"][0]["days"][0];
    assert_eq!(day["start_ns"], START);
    // 58 minutes of 100, one of 500, one of 10,000.
    close(&day["hours"][0]["mean"], 16_300.0 / 60.0);
    close(&day["hours"][1]["most"], 500.0);
    assert_eq!(day["hours"].as_array().unwrap().len(), 2);
    // India's days begin at 18:30 UTC.
    let found = ask(&shelf, "/api/days", &format!("{hours}&series={one}&offset=-330"));
    assert_eq!(found["series"][0]["days"][0]["start_ns"], START - 330 * MINUTE);
    let hours = &found["series"][0]["days"][0]["hours"];
    assert_eq!(hours[0]["start_ns"], START - 30 * MINUTE);
    close(&hours[0]["most"], 10_000.0);

    // Where the clock is put forward a day has 23 hours, and the next one begins an hour earlier.
    let (first, second) = (START - 23 * 60 * MINUTE, START + 60 * MINUTE);
    let found = ask(&shelf, "/api/days", &format!("{hours_of}&series={one}&day={first}&day={second}"));
    let days = found["series"][0]["days"].as_array().unwrap();
    let starts: Vec<_> = days.iter().map(|day| day["start_ns"].as_u64().unwrap()).collect();
    assert_eq!(starts, [first, second]);
    close(&days[0]["most"], 10_000.0);
    close(&days[1]["most"], 500.0);
    assert_eq!(days[1]["covered_ns"], 60 * MINUTE);

    let later = format!("monitor=0/m&from={START}&to={}&series={one}", START + 130 * MINUTE);
    let gap = &ask(&shelf, "/api/period", &later)["curves"][0]["gaps"][0];
    assert_eq!((&gap["reason"], &gap["amount"]), (&"no-answer".into(), &7.into()));
    assert_eq!((&gap["start_ns"], &gap["end_ns"]), (&(START + 120 * MINUTE).into(), &(START + 125 * MINUTE).into()));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    store(&folder.path().join("m"));
    let shelf = Shelf::open(&[folder.path().to_owned()]).unwrap();
    for (query, why) in [
        ("", "monitor is missing"),
        ("monitor=0/m", "1 to 32 series can be asked for at once, not 0"),
        ("monitor=0/m&series=x", "series: \"x\" is no number of a series"),
        ("monitor=0/m&series=1&from=5", "to is missing"),
        ("monitor=0/m&series=1&from=5&to=5", "the period ends before it begins"),
        ("monitor=0/m&series=1&from=noon&to=5", "from: \"noon\" is no time"),
        ("monitor=0/m&series=1&from=1&to=9000000000000000000", "the period is longer than 4000 days"),
        ("monitor=0/m&series=1&from=1&to=5&points=4001", "points: \"4001\" is no whole number from 1 to 4000"),
        ("monitor=0/m&series=1&from=1&to=5&points=-1", "points: \"-1\" is no whole number from 1 to 4000"),
        ("monitor=0/m&series=1&from=1&to=5&poinst=1", "there is no field \"poinst\""),
        ("monitor=0/m&monitor=0/m&series=1&from=1&to=5", "monitor is given more than once"),
        ("monitor=0/m&series=1&from=1&to=5&sum=1", "sum: \"1\" is neither true nor false"),
        ("monitor=%ff&series=1&from=1&to=5", "the query is not UTF-8"),
    ] {
        let error = Question::parse("/api/period", query).unwrap().unwrap_err();
        assert_eq!(error.cause, why, "{query}");
    }
    let days = "monitor=0/m&series=1&from=5&to=9";
    for (path, query, why) in [
        (
            "/api/days",
            format!("{days}&day=6"),
            "day: days begin one after the other, the first one before the period or with it",
        ),
        (
            "/api/days",
            format!("{days}&day=3&day=3"),
            "day: days begin one after the other, the first one before the period or with it",
        ),
        ("/api/days", format!("{days}&day=x"), "day: \"x\" is no time"),
        ("/api/period.csv", format!("{days}&sum=true"), "there is no field \"sum\""),
    ] {
        assert_eq!(Question::parse(path, &query).unwrap().unwrap_err().cause, why, "{query}");
    }
    assert!(Question::parse("/api/nothing", "").is_none());
    let long = "a=&".repeat(200);
    assert_eq!(
        Question::parse("/api/folders", &long).unwrap().unwrap_err().cause,
        "the query has more than 128 fields"
    );
    let unknown = Question::parse("/api/period", "monitor=0/m&series=77&from=1&to=5").unwrap().unwrap();
    assert_eq!(shelf.answer(&unknown).unwrap_err().cause, "the monitor has no series 77");
    let [octets, drops] = ["in", "in-drops"].map(|counter| {
        let monitor = ask(&shelf, "/api/monitor", "monitor=0/m");
        let all = monitor["series"].as_array().unwrap();
        all.iter().find(|series| series["counter"] == counter).unwrap()["id"].clone()
    });
    let mixed = format!("monitor=0/m&series={octets}&series={drops}&from=1&to=5&sum=true");
    let question = Question::parse("/api/period", &mixed).unwrap().unwrap();
    assert_eq!(shelf.answer(&question).unwrap_err().cause, "series in octets/s and in drops/s cannot be added");
    for id in ["0/../m", "0/x", "m", "/etc", "0//m", "0/m/", "0/m/monitor.json"] {
        let question = Question::Monitor { monitor: id.to_owned() };
        assert_eq!(shelf.answer(&question).unwrap(), Answer::Nothing(format!("there is no monitor {id:?}")));
    }
}

#[test]
fn symbolic_links_lead_nowhere() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    store(&outside.path().join("m"));
    std::fs::write(outside.path().join("run.json"), "{}").unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let link = |from: &Path, to: &str| std::os::unix::fs::symlink(from, folder.path().join(to)).unwrap();
    link(&outside.path().join("m"), "m");
    std::fs::create_dir(folder.path().join("linked")).unwrap();
    link(&outside.path().join("run.json"), "linked/run.json");
    std::fs::create_dir(folder.path().join("run")).unwrap();
    std::fs::write(folder.path().join("run/run.json"), "{}").unwrap();
    link(&outside.path().join("secret"), "run/report.html");
    store(&folder.path().join("counters"));
    link(&outside.path().join("m"), "counters/2024-10-05");
    std::fs::create_dir_all(folder.path().join("deep/seed-1")).unwrap();
    std::fs::write(folder.path().join("deep/index.json"), "{}").unwrap();
    link(&outside.path().join("secret"), "deep/seed-1/run.json");
    std::fs::create_dir(folder.path().join("whole")).unwrap();
    std::fs::write(folder.path().join("whole/run.json"), "{}").unwrap();
    let shelf = Shelf::open(&[folder.path().to_owned()]).unwrap();
    let ids: Vec<String> = shelf.folders().unwrap().into_iter().map(|folder| folder.id).collect();
    assert_eq!(ids, ["0/whole"]);
    let problems = ask(&shelf, "/api/folders", "")["problems"].to_string();
    for name in ["run", "counters", "deep"] {
        assert!(problems.contains(&format!("{name} has a symbolic link in it")), "{problems}");
    }
    let report = Question::Report { folder: "0/run".to_owned() };
    assert_eq!(shelf.answer(&report).unwrap(), Answer::Nothing("there is no run \"0/run\"".to_owned()));
    // A link that comes later is not followed either.
    link(&outside.path().join("secret"), "whole/report.html");
    let report = Question::Report { folder: "0/whole".to_owned() };
    assert_eq!(shelf.answer(&report).unwrap(), Answer::Nothing("there is no report \"0/whole\"".to_owned()));
}

#[test]
fn notes_are_marks_and_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.toml");
    std::fs::write(&path, "[[note]]\nfrom = \"2026-11-27T10:00\"\nto = \"2026-11-27T12:00\"\ntext = \"<b>new fibre</b>\"\ntags = [\"fibre\"]\n").unwrap();
    let shelf = Shelf::open(&[folder.path().to_owned()]).unwrap();
    let marks = ask(&shelf, "/api/marks", "from=2026-11-27T11:00&to=2026-11-28");
    let mark = &marks["marks"][0];
    assert_eq!(
        (&mark["kind"], &mark["text"], &mark["tags"][0]),
        (&"note".into(), &"<b>new fibre</b>".into(), &"fibre".into())
    );
    assert_eq!(ask(&shelf, "/api/marks", "from=2026-11-27T12:01&to=2026-11-28")["marks"], Value::Array(Vec::new()));
    for (text, why) in [
        ("[[note]]\ntext = \"x\"\n", "note[0]: give it from, perhaps with to, or run"),
        ("[[note]]\nfrom = \"noon\"\n", "note[0]: from: \"noon\" is no time"),
        ("[[note]]\nfrom = \"2026-11-27\"\nto = \"2026-11-26\"\n", "note[0]: it ends before 2026-11-27T00:00:00Z"),
        ("[[note]]\nform = \"2026-11-27\"\n", "unknown field `form`"),
    ] {
        std::fs::write(&path, text).unwrap();
        let problem = ask(&shelf, "/api/folders", "")["problems"][0].as_str().unwrap().to_owned();
        assert!(problem.contains(why), "{problem}");
    }
}

#[test]
fn workloads_are_marks_at_the_time_of_their_capture() {
    let folder = tempfile::tempdir().unwrap();
    let captured = |name: &str, minute: u64| {
        let begin_ns = START + minute * MINUTE;
        Stored { begin_ns, seconds: 60, connections: 2, captured_ns: None }.write(&folder.path().join(name));
    };
    captured("traffic/eth0-a.parquet", 10);
    captured("traffic/eth0-b.parquet", 70);
    std::fs::write(folder.path().join("traffic/other.parquet"), "PAR1").unwrap();
    let shelf = Shelf::open(&[folder.path().to_owned()]).unwrap();
    let marks = |from: u64, to: u64| {
        ask(&shelf, "/api/marks", &format!("from={}&to={}", START + from * MINUTE, START + to * MINUTE))["marks"]
            .clone()
    };
    let all = marks(0, 100);
    let told: Vec<&str> = all.as_array().unwrap().iter().map(|mark| mark["name"].as_str().unwrap()).collect();
    assert_eq!(told, ["traffic/eth0-a.parquet", "traffic/eth0-b.parquet"]);
    assert_eq!((&all[0]["kind"], &all[0]["text"]), (&"workload".into(), &"2 TCP connections".into()));
    let times = (START + 10 * MINUTE, START + 11 * MINUTE);
    assert_eq!((&all[0]["from_ns"], &all[0]["to_ns"]), (&times.0.into(), &times.1.into()));
    assert_eq!(marks(12, 69), Value::Array(Vec::new()));
    // An hour without a packet, and one whose first packet came late.
    let times = [START + 200 * MINUTE, START + 260 * MINUTE];
    for (name, connections) in [("traffic/eth0-c.parquet", 0), ("traffic/eth0-d.parquet", 1)] {
        let stored = Stored { begin_ns: START + 250 * MINUTE, seconds: 9, connections, captured_ns: Some(times) };
        stored.write(&folder.path().join(name));
    }
    shelf.forget();
    let quiet = marks(190, 300);
    for (mark, text) in quiet.as_array().unwrap().iter().zip(["0 TCP connections", "1 TCP connection"]) {
        assert_eq!([&mark["from_ns"], &mark["to_ns"]], times.map(Value::from).each_ref());
        assert_eq!(mark["text"], text);
    }
    assert_eq!(quiet.as_array().unwrap().len(), 2);
    // One that was written again is read again.
    captured("traffic/eth0-a.parquet", 20);
    assert_eq!(marks(0, 60)[0]["from_ns"], START + 20 * MINUTE);
}

#[test]
fn a_store_has_the_registry_of_its_map() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("m");
    store(&root);
    let shelf = Shelf::open(&[folder.path().to_owned()]).unwrap();
    let map = |at: u64| {
        Question::parse("/api/map", &format!("registry=0/m&monitor=0/m&from={START}&to={at}")).unwrap().unwrap()
    };
    assert_eq!(shelf.answer(&map(START + MINUTE)).unwrap(), Answer::Nothing("there is no registry \"0/m\"".to_owned()));
    let registry = |site: &str| {
        let text =
            format!("[[site]]\nname = \"{site}\"\n[[target]]\nname = \"core\"\nkind = \"local\"\nsite = \"{site}\"\n");
        crate::monitor::Registered::parse(&text, "r.toml").unwrap()
    };
    flowloom_monitor::keep_registry(&root, &registry("north"), START + 10 * MINUTE).unwrap();
    flowloom_monitor::keep_registry(&root, &registry("south"), START + 20 * MINUTE).unwrap();
    shelf.forget();
    let kept = ask(&shelf, "/api/folders", "")["registries"].clone();
    assert_eq!((&kept[0]["id"], &kept[0]["kind"], kept[1].is_null()), (&"0/m".into(), &"monitor".into(), true));
    let site = |minute: u64| {
        let at = START + minute * MINUTE;
        ask(&shelf, "/api/map", &format!("registry=0/m&monitor=0/m&from={START}&to={at}"))["sites"][0]["name"].clone()
    };
    assert_eq!([5, 15, 25].map(site), ["north", "north", "south"]);
}

#[test]
fn a_queue_in_octets_is_no_rate_in_csv() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = MonitorWriter::open(&folder.path().join("m"), WriterOptions::default(), START).unwrap();
    let series = |counter: &str, kind| Series {
        id: 0,
        target: "core".to_owned(),
        port: "p".to_owned(),
        counter: counter.to_owned(),
        unit: "octets".to_owned(),
        kind,
        interval_ns: MINUTE,
    };
    let (backlog, _) = writer.series(series("backlog", Kind::Gauge)).unwrap();
    let (into, _) = writer.series(series("in", Kind::Counter)).unwrap();
    let samples = vec![(backlog, 465), (into, 60)];
    writer.samples(Batch { time_ns: START + MINUTE, span_ns: MINUTE, samples }).unwrap();
    let shelf = Shelf::open(&[folder.path().to_owned()]).unwrap();
    let fields = format!("monitor=0/m&series={backlog}&series={into}&from={START}&to={}&points=1", START + MINUTE);
    let question = Question::parse("/api/period.csv", &fields).unwrap().unwrap();
    let Answer::Csv(text) = shelf.answer(&question).unwrap() else { panic!() };
    let mut read = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<Vec<String>> = read.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
    let told: Vec<[&str; 3]> = rows.iter().map(|row| [&*row[2], &row[8], &row[10]]).collect();
    assert_eq!(told, [["backlog", "465", ""], ["in", "1", "8"]]);
}

#[test]
fn what_is_left_out_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = |name: &str| folder.path().join(name);
    for name in ["one", "two"] {
        std::fs::create_dir_all(root(name).join("runs/a")).unwrap();
        std::fs::write(root(name).join("runs/a/run.json"), "{}").unwrap();
    }
    std::fs::create_dir_all(root("one/1/2/3/4/5/6/7/8/9")).unwrap();
    let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"u\xff");
    std::fs::create_dir(root("one").join(odd)).unwrap();
    let shelf = Shelf::open(&[root("one"), root("two")]).unwrap();
    // Two runs of one name are told apart by their folders.
    let name = |id: &str| shelf.folders().unwrap().into_iter().find(|folder| folder.id == id).map(|folder| folder.name);
    for (id, of) in [("0/runs/a", "one"), ("1/runs/a", "two")] {
        let real = root(of).canonicalize().unwrap();
        assert_eq!(name(id), Some(format!("runs/a ({})", real.display())));
    }
    let problems = ask(&shelf, "/api/folders", "")["problems"].to_string();
    assert!(problems.contains("9 is more than 8 folders deep") && problems.contains("not UTF-8"), "{problems}");
    // A folder that went away leaves the others.
    std::fs::remove_dir_all(root("two")).unwrap();
    shelf.forget();
    assert_eq!(shelf.folders().unwrap().len(), 1);
    assert!(ask(&shelf, "/api/folders", "")["problems"].to_string().contains("/two: "));
}

#[test]
fn large_runs_hide_no_others() {
    use super::folders::{FolderKind, Found, Limits};
    use super::insides::Insides;

    let folder = tempfile::tempdir().unwrap();
    for run in 0..5 {
        let path = folder.path().join(format!("r{run}/seed-1"));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.parent().unwrap().join("run.json"), "{}").unwrap();
        (0..10 * run).for_each(|file| std::fs::write(path.join(format!("{file}")), "").unwrap());
    }
    // The search looks at five folders; the largest run has 42 files and folders.
    let look = |entries, inside| {
        let found = Found::below(&[folder.path().to_owned()], Limits { entries, inside }, &mut Insides::default());
        let runs: Vec<String> = found.of(FolderKind::Run).map(|run| run.name.clone()).collect();
        (runs.join(" "), found.problems)
    };
    assert_eq!(look(6, 42), ("r0 r1 r2 r3 r4".to_owned(), vec![]));
    let problem = "r4 has more than 41 files and folders in it, and is left out".to_owned();
    assert_eq!(look(6, 41), ("r0 r1 r2 r3".to_owned(), vec![problem]));
}

#[test]
fn notes_find_their_runs_or_say_so() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["runs/a", "notes"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("runs/a/run.json"), "{}").unwrap();
    let notes = folder.path().join("notes/notes.toml");
    std::fs::write(&notes, "[[note]]\nrun = \"../runs/./a\"\ntags = [\"found\"]\n[[note]]\nrun = \"Runs/a\"\n")
        .unwrap();
    let shelf = Shelf::open(&[folder.path().to_owned()]).unwrap();
    assert_eq!(ask(&shelf, "/api/runs", "tag=found")["runs"][0]["id"], "0/runs/a");
    let problems = ask(&shelf, "/api/folders", "")["problems"].clone();
    assert_eq!(problems.as_array().unwrap().len(), 1);
    assert!(problems[0].as_str().unwrap().ends_with("note[1]: no run that is shown is \"Runs/a\""), "{problems}");
    // The name of a note is short, and its file is.
    let long = format!("[[note]]\nfrom = \"2026-11-27\"\ntext = \"{}\"\n", "x".repeat(100_000));
    std::fs::write(&notes, long).unwrap();
    let marks = ask(&shelf, "/api/marks", "from=2026-11-26&to=2026-11-28");
    assert_eq!(marks["marks"][0]["name"], format!("{}...", "x".repeat(80)));
    std::fs::write(&notes, "#".repeat(2 << 20)).unwrap();
    let problems = ask(&shelf, "/api/folders", "")["problems"].to_string();
    assert!(problems.contains("it is longer than 1 MiB"), "{problems}");
}
