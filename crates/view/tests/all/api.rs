//! Answers over a socket. Those of monitors are computed by hand in `flowloom::view`; here is what they look like, and what runs say.

use flowloom::report::compare::Options;

use super::support::{MINUTE, Place, SCRIPT, START, get};

#[test]
fn a_period_comes_as_columns_and_as_csv() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    let folders = get(address, "/api/folders").json();
    assert_eq!(folders["json_version"], 1);
    assert_eq!((&folders["monitors"][0]["id"], &folders["runs"]), (&"0/counters".into(), &2.into()));
    let monitor = get(address, "/api/monitor?monitor=0/counters").json();
    let id = &monitor["series"][0]["id"];
    assert_eq!((&monitor["from_ns"], &monitor["to_ns"]), (&START.into(), &(START + 60 * MINUTE + 1).into()));
    let fields = format!("monitor=0/counters&series={id}&from={START}&to={}", START + 61 * MINUTE);
    let period = get(address, &format!("/api/period?{fields}&points=5")).json();
    let points = &period["curves"][0]["points"];
    let most: Vec<f64> = points["most"].as_array().unwrap().iter().map(|most| most.as_f64().unwrap()).collect();
    assert!(most.len() <= 5 && most.contains(&50_000.0), "the peak of a minute is lost: {points}");
    // 59 minutes of 1,000 and one of 50,000 octets a second.
    let mean = period["curves"][0]["whole"]["mean"].as_f64().unwrap();
    // Values are kept in millionths.
    assert!((mean - (59.0 * 1_000.0 + 50_000.0) / 60.0).abs() < 1e-6, "{mean}");
    assert_eq!(period["curves"][0]["whole"]["amount"], (59 * 1_000 + 50_000) * 60);
    let csv = get(address, &format!("/api/period.csv?{fields}&points=62"));
    assert!(
        csv.header("content-type").starts_with("text/csv")
            && csv.header("content-disposition").starts_with("attachment")
    );
    assert_eq!(csv.body.lines().count(), 61);
    assert!(
        csv.body.contains("2024-10-04T00:20:00Z") && csv.body.contains(",50000,50000,50000,400000,"),
        "{}",
        csv.body
    );
    let wrong = get(address, "/api/period?monitor=0/counters&series=77&from=1&to=2");
    assert_eq!((wrong.status, &wrong.json()["error"]), (400, &"the monitor has no series 77".into()));
    assert_eq!(get(address, "/api/period?monitor=0/none&series=1&from=1&to=2").status, 404);
}

#[test]
fn runs_are_listed_found_and_marked() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    let all = get(address, "/api/runs").json();
    assert_eq!((all["runs"].as_array().unwrap().len(), &all["tags"]), (2, &serde_json::json!(["slow"])));
    let found = |query: &str| -> Vec<String> {
        let answer = get(address, &format!("/api/runs?{query}")).json();
        let mut names: Vec<String> =
            answer["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(found("tag=slow"), ["runs/slower"]);
    assert_eq!(found("search=DROP-tail+office"), ["runs/office", "runs/slower"]);
    assert_eq!(found("search=the+slow+one"), ["runs/slower"]);
    assert_eq!(found("search=nothing+of+that"), [""; 0]);
    let run = get(address, "/api/run?run=0/runs/office").json();
    assert_eq!((&run["run"]["title"], &run["run"]["source"]), (&SCRIPT.into(), &"office.pcap".into()));
    let marks = get(address, &format!("/api/marks?from={START}&to={}", START + 30 * MINUTE)).json();
    let [mark] = &marks["marks"].as_array().unwrap()[..] else { panic!("{marks}") };
    assert_eq!((&mark["kind"], &mark["text"]), (&"note".into(), &"<b>new fibre</b>".into()));
    assert_eq!((&mark["from_ns"], &mark["to_ns"]), (&(START + 10 * MINUTE).into(), &(START + 20 * MINUTE).into()));
}

#[test]
fn a_comparison_is_that_of_the_library() {
    let place = Place::new();
    let server = place.serve();
    let answer = get(server.address(), "/api/compare?run=0/runs/office&run=0/runs/slower").json();
    let folders =
        ["office", "slower"].map(|name| place.folder.path().join("shown/runs").join(name).canonicalize().unwrap());
    let expected = flowloom::compare(&folders, &[], None, &Options::default()).unwrap();
    // Runs have the names of the list.
    let below = format!("{}/", folders[0].parent().unwrap().parent().unwrap().display());
    let expected_json = expected.json()["comparisons"].to_string().replace(&below, "");
    assert_eq!(answer["comparisons"].to_string(), expected_json);
    assert!(answer["text"].as_str().unwrap().starts_with("runs/slower against runs/office"), "{}", answer["text"]);
    assert_eq!(answer["comparisons"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_damaged_is_said() {
    let place = Place::new();
    let path = place.folder.path().join("shown/runs/office/run.json");
    std::fs::write(&path, "{").unwrap();
    let server = place.serve();
    let answer = get(server.address(), "/api/runs").json();
    let runs = answer["runs"].as_array().unwrap();
    let office = runs.iter().find(|run| run["name"] == "runs/office").unwrap();
    assert!(office["problem"].as_str().unwrap().contains("run.json"), "{office}");
    let compared = get(server.address(), "/api/compare?run=0/runs/office");
    assert_eq!(compared.status, 500);
    assert!(compared.json()["error"].as_str().unwrap().contains("run.json"));
}
