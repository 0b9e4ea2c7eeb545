//! Runs under way: listed, followed to their results, asked to stop.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use flowloom::Observation;
use flowloom::store::running::RunningFile;
use flowloom_testkit::reports::MadeUp;
use flowloom_view::MOST_STREAMS;
use serde_json::{Value, json};

use super::support::{Place, SCRIPT, get, send};

fn observation(second: u64) -> Observation {
    let told = json!({
        "version": 1, "run": "new", "target": "runs/new", "driver": "sim", "seed": 1, "process": 1, "phase": "running",
        "begun_unix_ns": 1, "observed_unix_ns": second, "time_ns": second, "links_time_ns": second, "window_ns": 60,
        "at_most_ns": 60, "share_done": 0.5, "events": 1,
        "connections": { "started": 9, "active": 4, "completed": 5, "reset": 0, "gave_up": 0 },
        "links": [], "lateness": null, "lab": null, "verdict": "VALID", "reasons": [], "log": [{ "unix_ns": 1, "text": format!("a\n\n{SCRIPT}") }],
    });
    serde_json::from_value(told).unwrap()
}

/// A run under way in a place.
fn begun(place: &Place, name: &str) -> (PathBuf, RunningFile) {
    let folder = place.folder.path().join("shown/runs").join(format!("{name}.partial-aB3xYz"));
    fs::create_dir(&folder).unwrap();
    let file = RunningFile::new(&folder);
    file.write(&observation(1));
    (folder, file)
}

/// A stream of events.
struct Events(BufReader<TcpStream>);

impl Events {
    fn of(address: SocketAddr, run: &str) -> Events {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "GET /api/events?run={run} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
        Events(BufReader::new(stream))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
        line.trim_end().to_owned()
    }

    /// The status of the answer, and its head.
    fn head(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.line() {
                line if line.is_empty() => return lines,
                line => lines.push(line.to_ascii_lowercase()),
            }
        }
    }

    /// The next event: its name and what it says.
    fn next(&mut self) -> (String, Value) {
        let name = loop {
            // Between events are the lengths of chunks.
            if let Some(name) = self.line().strip_prefix("event: ") {
                break name.to_owned();
            }
        };
        let data = self.line();
        (name, serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap())
    }
}

#[test]
fn a_run_is_followed_to_its_results() {
    let place = Place::new();
    let (folder, file) = begun(&place, "new");
    let server = place.serve();
    let address = server.address();
    let runs = get(address, "/api/running").json();
    let [run] = &runs["runs"].as_array().unwrap()[..] else { panic!("{runs}") };
    assert_eq!((&run["name"], &run["can_stop"]), (&"runs/new".into(), &true.into()));
    assert_eq!(get(address, "/api/runs").json()["runs"].as_array().unwrap().len(), 2, "it is no run that has ended");
    let id = run["id"].as_str().unwrap();
    let mut events = Events::of(address, id);
    let head = events.head();
    assert!(head[0].contains("200") && head.contains(&"content-type: text/event-stream".to_owned()), "{head:?}");
    let (name, first) = events.next();
    assert_eq!((&name[..], &first["observation"]["observed_unix_ns"]), ("observation", &1.into()));
    assert_eq!(first["observation"]["log"][0]["text"], format!("a\n\n{SCRIPT}"), "a line of the log is one event");
    file.write(&observation(2));
    assert_eq!(events.next().1["observation"]["observed_unix_ns"], 2);
    // It ends: its folder holds what it came to, and gets its name.
    let made = place.folder.path().join("made");
    MadeUp { connections: 20, seconds: 20, ..MadeUp::default() }.write(&made);
    for entry in fs::read_dir(&made).unwrap() {
        let entry = entry.unwrap();
        fs::rename(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    drop(file);
    fs::rename(&folder, folder.with_file_name("new")).unwrap();
    let (name, results) = events.next();
    assert_eq!((&name[..], &results["run"], &results["sweep"]), ("end", &"0/runs/new".into(), &Value::Null));
    assert_eq!(results["has_report"], false);
    assert_eq!(get(address, "/api/run?run=0/runs/new").status, 200);
    let over = get(address, &format!("/api/events?run={id}"));
    assert_eq!(over.status, 404, "{over:?}");
}

#[test]
fn a_killed_run_leaves_no_results() {
    let place = Place::new();
    let (folder, file) = begun(&place, "new");
    let server = place.serve();
    let mut events = Events::of(server.address(), "0/runs/new.partial-aB3xYz");
    assert_eq!(events.next().0, "observation");
    let left = fs::read(folder.join("running.json")).unwrap();
    drop(file);
    fs::write(folder.join("running.json"), left).unwrap();
    let (name, results) = events.next();
    assert_eq!((&name[..], &results["run"]), ("end", &Value::Null));
    assert_eq!(get(server.address(), "/api/running").json()["runs"], json!([]));
}

#[test]
fn a_run_is_stopped_by_the_page_alone() {
    let place = Place::new();
    let (folder, file) = begun(&place, "new");
    let server = place.serve();
    let address = server.address();
    let page = get(address, "/").body;
    let token = page.split_once("name=\"page-token\" content=\"").unwrap().1.split('"').next().unwrap().to_owned();
    assert_eq!(token.len(), 32);
    let post = |run: &str, headers: &[(&str, &str)]| {
        let mut request = format!("POST /api/stop?run={run} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        send(address, (request + "content-length: 0\r\n\r\n").as_bytes())
    };
    let id = "0/runs/new.partial-aB3xYz";
    let (own, other) = (format!("http://{address}"), "0".repeat(32));
    let page = ("flowloom-page-token", &token[..]);
    for headers in [
        &[("origin", &own[..])][..],
        &[page],
        &[("origin", "http://evil.example"), page],
        &[("origin", "null"), page],
        &[("origin", &own), ("flowloom-page-token", &other)],
    ] {
        assert_eq!(post(id, headers).status, 403, "{headers:?}");
    }
    assert!(!file.is_stop_requested());
    let from_page = [("origin", &own[..]), page];
    for run in ["0/runs/office", "0/none", "0/..", "0/runs/../runs/new.partial-aB3xYz", "..%2Fsecret"] {
        assert_eq!(post(run, &from_page).status, 404, "{run}");
    }
    assert_eq!(post("", &[]).status, 403);
    assert_eq!(post("0/a&x=1", &from_page).status, 400);
    let answer = post(id, &from_page);
    assert_eq!((answer.status, &answer.json()["is_asked"]), (200, &true.into()));
    assert!(file.is_stop_requested());
    // Another server has another token.
    assert!(!get(place.serve().address(), "/").body.contains(&token));
    let wrong = get(address, &format!("/api/stop?run={id}"));
    assert_eq!(wrong.status, 404, "{wrong:?}");
    drop((file, folder));
}

#[test]
fn streams_have_a_bound() {
    let place = Place::new();
    let (_folder, file) = begun(&place, "new");
    let server = place.serve();
    let address = server.address();
    let id = "0/runs/new.partial-aB3xYz";
    let mut open = Vec::new();
    for _ in 0..MOST_STREAMS {
        let mut events = Events::of(address, id);
        assert_eq!(events.next().0, "observation");
        open.push(events);
    }
    assert_eq!(get(address, &format!("/api/events?run={id}")).status, 503);
    assert_eq!(get(address, "/api/folders").status, 200, "questions are answered all the same");
    // A browser that goes away gives its place back.
    open.pop();
    let is_free = (2..600).any(|second| {
        // It is noticed when something is sent.
        file.write(&observation(second));
        let mut events = Events::of(address, id);
        let is_free = events.head()[0].contains("200");
        if !is_free {
            wait();
        }
        is_free
    });
    assert!(is_free, "the place is not given back");
}

#[expect(clippy::disallowed_methods, reason = "the server notices by itself")]
fn wait() {
    std::thread::sleep(Duration::from_millis(100));
}
