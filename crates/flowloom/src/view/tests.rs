//! Questions about a store whose answers are computed by hand.

use std::path::Path;

use flowloom_store::monitor::{Batch, GapRow, Kind, MonitorWriter, Reason, SECOND, Series, WriterOptions};
use serde_json::Value;

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

    let period = ask(&shelf, "/api/period", &format!("{both}&points=121&sum=true"));
    let curve = &period["curves"][0];
    assert_eq!(curve["width_ns"], MINUTE);
    // 119 samples end before the period does: 113 of 100, 5 of 500, one of 10,000. Of the sorted, the 114th is the percentile.
    close(&curve["whole"]["mean"], 200.0);
    close(&curve["whole"]["most"], 10_000.0);
    close(&curve["whole"]["p95"], 500.0);
    assert_eq!(curve["whole"]["amount"], 23_800 * 60);
    assert_eq!(curve["points"]["start_ns"][29], START + 30 * MINUTE);
    close(&curve["points"]["mean"][29], 10_000.0);
    // Of the same 119 minutes: 23,800 octets a second of the one, and seven times that of the other, which has 100 in its first three minutes.
    let sum = &period["sum"];
    assert_eq!((&sum["unit"], &sum["is_bound"]), (&"octets".into(), &false.into()));
    close(&sum["whole"]["mean"], 8.0 * 200.0);
    assert_eq!(sum["whole"]["amount"], 8 * 23_800 * 60);
    assert_eq!(sum["points"]["start_ns"], curve["points"]["start_ns"], "a sum has the points of its series");
    close(&sum["whole"]["most"], 70_100.0);
    close(&sum["whole"]["least"], 800.0);
    close(&sum["points"]["mean"][29], 10_700.0);
    close(&sum["points"]["mean"][32], 70_100.0);

    // A series added to nothing is that series.
    let alone = ask(&shelf, "/api/period", &format!("{hours}&series={one}&points=17&sum=true&percentile=10min"));
    let (curve, sum) = (&alone["curves"][0], &alone["sum"]);
    assert_eq!((&sum["points"], &sum["width_ns"]), (&curve["points"], &curve["width_ns"]));
    assert_eq!(sum["whole"], curve["whole"]);

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
    // 58 minutes of 100 and one of 10,000 end in the first hour; the minute that ends with it belongs to the next one.
    close(&day["hours"][0]["mean"], 15_800.0 / 59.0);
    close(&day["hours"][1]["most"], 500.0);
    assert_eq!(day["hours"].as_array().unwrap().len(), 2);
    // India's days begin at 18:30 UTC.
    let found = ask(&shelf, "/api/days", &format!("{hours}&series={one}&offset=-330"));
    assert_eq!(found["series"][0]["days"][0]["start_ns"], START - 330 * MINUTE);
    let hours = &found["series"][0]["days"][0]["hours"];
    assert_eq!(hours[0]["start_ns"], START - 30 * MINUTE);
    close(&hours[0]["most"], 100.0);
    close(&hours[1]["most"], 10_000.0);

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
    std::fs::create_dir(folder.path().join("whole")).unwrap();
    std::fs::write(folder.path().join("whole/run.json"), "{}").unwrap();
    let shelf = Shelf::open(&[folder.path().to_owned()]).unwrap();
    let ids: Vec<String> = shelf.folders().unwrap().into_iter().map(|folder| folder.id).collect();
    assert_eq!(ids, ["0/whole"]);
    let problems = ask(&shelf, "/api/folders", "")["problems"].to_string();
    assert!(problems.contains("run has a symbolic link in it") && problems.contains("counters has a"), "{problems}");
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
