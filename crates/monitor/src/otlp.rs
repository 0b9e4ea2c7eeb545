//! Metrics pushed to a collector: OTLP over HTTP in its JSON form (OpenTelemetry protocol 1.x).
//!
//! A thread of its own collects and sends, so that nobody waits for the collector. What cannot be sent now waits in bounded memory, the
//! oldest goes first; counters count from their start on, so that what is lost costs resolution and no count.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use flowloom_core::time::Duration as Span;
use serde_json::{Value, json};

use crate::clock::{Bell, Moment};
use crate::http;
use crate::metric::{MetricKind, Metrics, Number};

/// Requests that wait for a collector, at most.
const MOST_WAITING: usize = 32;
/// Their bytes, at most.
const MOST_BYTES: usize = 16 << 20;
/// A collector has so long for an answer.
const MOST_TIME: Duration = Duration::from_secs(10);
/// What is left at the end is tried for so long.
const LAST_TIME: Duration = Duration::from_secs(2);
/// The first pause after a failure, in nanoseconds. Each further one is twice as long.
const FIRST_PAUSE_NS: u64 = 1_000_000_000;
/// The longest pause.
const LONGEST_PAUSE_NS: u64 = 60_000_000_000;
/// What of an answer is read, in bytes.
const MOST_ANSWER: u64 = 64 << 10;
/// Where a collector takes metrics, if its URL does not say.
const PATH: &str = "v1/metrics";
/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u32 = 2;

/// Where and how often metrics are pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushOptions {
    url: String,
    /// How often.
    pub interval: Span,
    /// Names and values that go with each request. They may be secrets.
    pub headers: Vec<(String, String)>,
}

impl PushOptions {
    /// Metrics are pushed to `url` each `interval`. Without a path it is the base of a collector: `http://127.0.0.1:4318`.
    ///
    /// # Errors
    /// It is no URL of http or https, or the interval is below a second.
    pub fn new(url: &str, interval: Span) -> Result<PushOptions, String> {
        let parsed: ureq::http::Uri = url.parse().map_err(|error| format!("{url:?} is no URL: {error}"))?;
        if !matches!(parsed.scheme_str(), Some("http" | "https")) || parsed.host().is_none_or(str::is_empty) {
            return Err(format!("{url:?} is no URL of http or https: write http://127.0.0.1:4318"));
        }
        if interval < Span::from_secs(1) {
            return Err("metrics are pushed once a second at most".to_owned());
        }
        let url = if parsed.path().trim_matches('/').is_empty() && parsed.query().is_none() {
            format!("{}/{PATH}", url.trim_end_matches('/'))
        } else {
            url.to_owned()
        };
        Ok(PushOptions { url, interval, headers: Vec::new() })
    }

    /// The same with headers as OTEL_EXPORTER_OTLP_HEADERS has them: `name=value,name=value`, with percent-encoded values.
    ///
    /// # Errors
    /// They are none. The error tells no value.
    pub fn with_headers(mut self, text: &str) -> Result<PushOptions, String> {
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or("a header is NAME=VALUE")?;
            let (name, value) =
                (name.trim(), decoded(value.trim()).ok_or("a header's value is not percent-encoded text")?);
            ureq::http::HeaderName::try_from(name).map_err(|_| format!("{name:?} is no name of a header"))?;
            ureq::http::HeaderValue::try_from(&value)
                .map_err(|_| format!("the value of header {name} cannot be sent"))?;
            self.headers.push((name.to_owned(), value));
        }
        Ok(self)
    }
}

/// Percent-encoded text.
fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [char::from(rest.next()?), char::from(rest.next()?)].map(|digit| digit.to_digit(16));
                u8::try_from(digits[0]? << 4 | digits[1]?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A change in what becomes of metrics that are pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushNews {
    /// They cannot be sent, or a part of them was rejected. What was not sent is tried again.
    Fails(String),
    /// They are sent again.
    Works,
}

/// Pushes until it is dropped.
#[derive(Debug)]
pub struct Pusher {
    bell: Bell,
    news: Arc<Mutex<VecDeque<PushNews>>>,
    /// Until it was ended.
    ended: Mutex<Option<Receiver<()>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pusher {
    /// Pushes what `tell` tells, from a thread of its own.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(options: PushOptions, tell: impl Fn(&mut dyn Metrics) + Send + 'static) -> std::io::Result<Pusher> {
        let (bell, news) = (Bell::default(), Arc::default());
        let (alive, ended) = channel();
        let work = Work {
            options,
            begun_ns: Moment::now().wall_ns,
            waiting: VecDeque::new(),
            fails: false,
            news: Arc::clone(&news),
            client: http::client(MOST_TIME),
            _alive: alive,
        };
        let heard = bell.clone();
        thread::Builder::new().name("otlp".to_owned()).spawn(move || work.run(&heard, &tell))?;
        Ok(Pusher { bell, news, ended: Mutex::new(Some(ended)) })
    }

    /// What changed since this was last called.
    pub fn news(&self) -> Vec<PushNews> {
        locked(&self.news).drain(..).collect()
    }

    /// Sends what is left, if that takes no longer than two seconds; the news say what came of it. A collector that does not answer holds up
    /// nobody.
    pub fn end(&self) {
        self.bell.ring();
        let Some(ended) = locked(&self.ended).take() else { return };
        if ended.recv_timeout(LAST_TIME) == Err(RecvTimeoutError::Timeout) {
            let problem =
                format!("its URL does not answer within {} s: the last of them are lost", LAST_TIME.as_secs());
            locked(&self.news).push_back(PushNews::Fails(problem));
        }
    }
}

impl Drop for Pusher {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread has.
struct Work {
    options: PushOptions,
    /// When counters began, in nanoseconds since 1970 UTC.
    begun_ns: u64,
    /// Requests that were not sent, oldest first.
    waiting: VecDeque<String>,
    /// Whether the last try failed.
    fails: bool,
    news: Arc<Mutex<VecDeque<PushNews>>>,
    client: ureq::Agent,
    /// Dropped with the thread.
    _alive: Sender<()>,
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Taken,
    /// It was taken in part, or will never be.
    Rejected(String),
    /// Later it may be, after so many nanoseconds at least.
    Later(String, u64),
}

impl Work {
    fn run(mut self, bell: &Bell, tell: &dyn Fn(&mut dyn Metrics)) {
        let interval_ns = self.options.interval.as_nanos();
        let now = Moment::now().monotonic_ns;
        let (mut collect_at, mut send_at, mut pause) = (now + interval_ns, 0, FIRST_PAUSE_NS);
        loop {
            let wake = if self.waiting.is_empty() { collect_at } else { collect_at.min(send_at) };
            let is_last = bell.wait_until(wake);
            let now = Moment::now();
            if is_last || now.monotonic_ns >= collect_at {
                self.keep(request(self.begun_ns, now.wall_ns, tell));
                collect_at = now.monotonic_ns + interval_ns;
            }
            if is_last || now.monotonic_ns >= send_at {
                match self.send_all() {
                    None => pause = FIRST_PAUSE_NS,
                    Some(least) => {
                        send_at = Moment::now().monotonic_ns + pause.max(least);
                        pause = (pause * 2).min(LONGEST_PAUSE_NS);
                    }
                }
            }
            if is_last {
                return;
            }
        }
    }

    /// Keeps a request until it is sent; the oldest make room.
    fn keep(&mut self, request: String) {
        self.waiting.push_back(request);
        let bytes = |waiting: &VecDeque<String>| waiting.iter().map(String::len).sum::<usize>();
        while self.waiting.len() > MOST_WAITING || (self.waiting.len() > 1 && bytes(&self.waiting) > MOST_BYTES) {
            self.waiting.pop_front();
        }
    }

    /// Sends what waits, oldest first, until that fails: then how long to wait at least, in nanoseconds.
    fn send_all(&mut self) -> Option<u64> {
        while let Some(request) = self.waiting.front() {
            match self.send(request) {
                Outcome::Taken => self.tell(None),
                Outcome::Rejected(why) => self.tell(Some(why)),
                Outcome::Later(why, least) => {
                    self.tell(Some(why));
                    return Some(least);
                }
            }
            self.waiting.pop_front();
        }
        None
    }

    fn send(&self, request: &str) -> Outcome {
        let mut post = self.client.post(&self.options.url).content_type("application/json");
        for (name, value) in &self.options.headers {
            post = post.header(name, value);
        }
        // The answer to a failure says how long to wait.
        let sent = post.config().http_status_as_error(false).build().send(request);
        let mut answer = match sent {
            Ok(answer) => answer,
            Err(error) => return Outcome::Later(http::problem(&error), 0),
        };
        let status = answer.status().as_u16();
        let why = http::problem(&ureq::Error::StatusCode(status));
        match status {
            200..=299 => {
                let text = answer.body_mut().with_config().limit(MOST_ANSWER).read_to_string().unwrap_or_default();
                rejected(&text).map_or(Outcome::Taken, Outcome::Rejected)
            }
            429 | 502 | 503 | 504 => {
                let seconds = answer.headers().get("retry-after").and_then(|after| after.to_str().ok()?.parse().ok());
                let least =
                    seconds.map_or(0, |seconds: u64| seconds.saturating_mul(1_000_000_000).min(LONGEST_PAUSE_NS));
                Outcome::Later(why, least)
            }
            _ => Outcome::Rejected(why),
        }
    }

    /// Tells whether it works, where that changes.
    fn tell(&mut self, problem: Option<String>) {
        let news = match (self.fails, problem) {
            (false, Some(problem)) => PushNews::Fails(problem),
            (true, None) => PushNews::Works,
            _ => return,
        };
        self.fails = matches!(news, PushNews::Fails(_));
        locked(&self.news).push_back(news);
    }
}

/// What a collector rejected of a request that it took.
fn rejected(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let part = &answer["partialSuccess"];
    // A number of 64 bits is a text in this form; both are read.
    let count = &part["rejectedDataPoints"];
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok()).filter(|count| *count > 0)?;
    let why: String = part["errorMessage"].as_str().unwrap_or_default().chars().take(200).collect();
    Some(format!("the collector rejected {count} points: {why}"))
}

/// A request with what `tell` tells, as of `now_ns`; counters began at `begun_ns`.
fn request(begun_ns: u64, now_ns: u64, tell: &dyn Fn(&mut dyn Metrics)) -> String {
    let mut form = OtlpForm { begun_ns, now_ns, text: String::new(), is_open: false, has_points: false };
    tell(&mut form);
    form.close();
    let name = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    let resource = json!({ "attributes": [
        name("service.name", "flowloom"),
        name("service.version", env!("CARGO_PKG_VERSION")),
        name("service.instance.id", &format!("{}-{begun_ns}", std::process::id())),
    ] });
    let scope = json!({ "name": "flowloom", "version": env!("CARGO_PKG_VERSION") });
    format!(
        "{{\"resourceMetrics\":[{{\"resource\":{resource},\"scopeMetrics\":[{{\"scope\":{scope},\"metrics\":[{}]}}]}}]}}",
        form.text
    )
}

/// Metrics as a list in OTLP's JSON form. Numbers of 64 bits are texts there.
struct OtlpForm {
    begun_ns: u64,
    now_ns: u64,
    text: String,
    /// A metric is not closed.
    is_open: bool,
    has_points: bool,
}

impl OtlpForm {
    fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.text.push_str("]}}");
        }
    }
}

/// The unit of a metric in UCUM, by its name.
fn unit(name: &str) -> &'static str {
    let name = name.strip_suffix("_total").unwrap_or(name);
    match name {
        _ if name.ends_with("_bytes_per_second") => "By/s",
        _ if name.ends_with("_seconds") => "s",
        _ if name.ends_with("_bytes") => "By",
        _ => "1",
    }
}

impl Metrics for OtlpForm {
    fn head(&mut self, name: &'static str, kind: MetricKind, help: &'static str) {
        self.close();
        let comma = if self.text.is_empty() { "" } else { "," };
        let (name, help, unit) = (json!(name), json!(help), json!(unit(name)));
        let data = match kind {
            MetricKind::Gauge => "\"gauge\":{".to_owned(),
            MetricKind::Counter => {
                format!("\"sum\":{{\"aggregationTemporality\":{CUMULATIVE},\"isMonotonic\":true,")
            }
        };
        let _ =
            write!(self.text, "{comma}{{\"name\":{name},\"description\":{help},\"unit\":{unit},{data}\"dataPoints\":[");
        (self.is_open, self.has_points) = (true, false);
    }

    fn point(&mut self, labels: &[(&str, &str)], number: Number) {
        let attribute = |(key, value): &(&str, &str)| json!({ "key": key, "value": { "stringValue": value } });
        let attributes: Vec<Value> = labels.iter().map(attribute).collect();
        let (begun, now) = (self.begun_ns.to_string(), self.now_ns.to_string());
        let mut point = json!({ "attributes": attributes, "startTimeUnixNano": begun, "timeUnixNano": now });
        match number {
            // What an integer with a sign cannot hold is a real number.
            Number::Integer(number) if i64::try_from(number).is_ok() => point["asInt"] = json!(number.to_string()),
            Number::Integer(number) => point["asDouble"] = json!(number as f64),
            Number::Real(number) if number.is_finite() => point["asDouble"] = json!(number),
            Number::Real(_) => return,
        }
        let comma = if std::mem::replace(&mut self.has_points, true) { "," } else { "" };
        let _ = write!(self.text, "{comma}{point}");
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
    use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
    use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint, metric, number_data_point};

    use super::*;

    fn tell(metrics: &mut dyn Metrics) {
        metrics.head("flowloom_a_total", MetricKind::Counter, "Things \"counted\".");
        metrics.point(&[("of", "a\"b\\c\nd"), ("to", "")], Number::Integer(1 << 53 | 1));
        metrics.point(&[], Number::Integer(u64::MAX));
        metrics.head("flowloom_b_seconds", MetricKind::Gauge, "A time.");
        metrics.point(&[("run", "x")], Number::Real(0.25));
        metrics.point(&[], Number::Real(f64::NAN));
        metrics.head("flowloom_none_bytes", MetricKind::Gauge, "Nothing.");
    }

    /// A request, decoded by the published schema.
    fn decoded(text: &str) -> ExportMetricsServiceRequest {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn metrics(request: &ExportMetricsServiceRequest) -> &[Metric] {
        let [resource] = &request.resource_metrics[..] else { panic!("{request:?}") };
        let [scope] = &resource.scope_metrics[..] else { panic!("{request:?}") };
        assert_eq!(scope.scope.as_ref().unwrap().name, "flowloom");
        &scope.metrics
    }

    fn attributes(of: &[KeyValue]) -> Vec<(&str, &str)> {
        let mut pairs = Vec::new();
        for one in of {
            if let Some(any_value::Value::StringValue(text)) = one.value.as_ref().and_then(|any| any.value.as_ref()) {
                pairs.push((one.key.as_str(), text.as_str()));
            }
        }
        assert_eq!(pairs.len(), of.len(), "all are texts: {of:?}");
        pairs
    }

    #[test]
    fn a_request_is_as_the_schema_has_it() {
        let request = decoded(&request(5, 7_000_000_000, &tell));
        let resource = request.resource_metrics[0].resource.as_ref().unwrap();
        assert_eq!(attributes(&resource.attributes)[0], ("service.name", "flowloom"));
        let [counter, gauge, none] = metrics(&request) else { panic!("{request:?}") };
        assert_eq!((counter.name.as_str(), counter.unit.as_str()), ("flowloom_a_total", "1"));
        assert_eq!(counter.description, "Things \"counted\".");
        let Some(metric::Data::Sum(sum)) = &counter.data else { panic!("{counter:?}") };
        assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "cumulative");
        let [one, most] = &sum.data_points[..] else { panic!("{sum:?}") };
        assert_eq!(attributes(&one.attributes), [("of", "a\"b\\c\nd"), ("to", "")]);
        assert_eq!((one.start_time_unix_nano, one.time_unix_nano), (5, 7_000_000_000));
        assert_eq!(one.value, Some(number_data_point::Value::AsInt(1 << 53 | 1)), "no digit is lost");
        assert_eq!(most.value, Some(number_data_point::Value::AsDouble(u64::MAX as f64)));
        assert_eq!((gauge.name.as_str(), gauge.unit.as_str()), ("flowloom_b_seconds", "s"));
        let Some(metric::Data::Gauge(of)) = &gauge.data else { panic!("{gauge:?}") };
        let [NumberDataPoint { value, .. }] = &of.data_points[..] else { panic!("NaN is no point: {of:?}") };
        assert_eq!(*value, Some(number_data_point::Value::AsDouble(0.25)));
        assert_eq!(none.unit, "By");
    }

    /// Answers requests with these statuses and bodies, one connection each, and returns what was asked: head and body.
    fn collector(
        answers: Vec<(&'static str, &'static str)>,
    ) -> (SocketAddr, thread::JoinHandle<Vec<(String, String)>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            answers
                .into_iter()
                .map(|(status, body)| {
                    let (mut stream, _) = listener.accept().unwrap();
                    let asked = read(&mut stream);
                    let length = body.len();
                    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
                        .unwrap();
                    asked
                })
                .collect()
        });
        (address, server)
    }

    fn read(stream: &mut TcpStream) -> (String, String) {
        let mut text = Vec::new();
        loop {
            let mut block = [0; 4_096];
            let read = stream.read(&mut block).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&text));
            text.extend(&block[..read]);
            let so_far = String::from_utf8_lossy(&text);
            let Some((head, body)) = so_far.split_once("\r\n\r\n") else { continue };
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.unwrap().parse().unwrap() {
                return (head.clone(), body.to_owned());
            }
        }
    }

    fn work(url: &str) -> Work {
        let (alive, _) = channel();
        Work {
            options: PushOptions::new(url, Span::from_secs(1))
                .unwrap()
                .with_headers("authorization=Bearer%20hush")
                .unwrap(),
            begun_ns: 5,
            waiting: VecDeque::new(),
            fails: false,
            news: Arc::default(),
            client: http::client(MOST_TIME),
            _alive: alive,
        }
    }

    fn news(work: &Work) -> Vec<PushNews> {
        locked(&work.news).drain(..).collect()
    }

    #[test]
    fn what_a_collector_does_not_take_is_sent_again() {
        let partly = "{\"partialSuccess\":{\"rejectedDataPoints\":\"3\",\"errorMessage\":\"too old\"}}";
        let (address, server) = collector(vec![
            ("503 Busy", ""),
            ("429 Slow\r\nretry-after: 7", ""),
            ("200 OK", "{}"),
            ("200 OK", partly),
            ("400 Bad Request", ""),
            ("200 OK", "{\"partialSuccess\":{}}"),
        ]);
        let mut work = work(&format!("http://{address}/"));
        work.keep(request(5, 6, &tell));
        assert_eq!(work.send_all(), Some(0));
        assert_eq!(news(&work), [PushNews::Fails("its URL answered with 503".to_owned())]);
        assert_eq!((work.send_all(), work.waiting.len()), (Some(7_000_000_000), 1));
        assert_eq!(news(&work), [], "it still fails");
        for time in [7, 8, 9] {
            work.keep(request(5, time, &tell));
        }
        assert_eq!((work.send_all(), work.waiting.len()), (None, 0));
        let said = news(&work);
        assert_eq!(said[0], PushNews::Works);
        assert_eq!(said[1], PushNews::Fails("the collector rejected 3 points: too old".to_owned()));
        assert_eq!(said[2..], [PushNews::Works], "what is bad is not sent again");
        let asked = server.join().unwrap();
        assert!(asked[0].0.starts_with("post /v1/metrics http/1.1"), "{}", asked[0].0);
        assert!(
            asked[0].0.contains("content-type: application/json") && asked[0].0.contains("authorization: bearer hush")
        );
        let time = |body: &str| match &metrics(&decoded(body))[0].data {
            Some(metric::Data::Sum(sum)) => sum.data_points[0].time_unix_nano,
            other => panic!("{other:?}"),
        };
        let times: Vec<u64> = asked.iter().map(|(_, body)| time(body)).collect();
        assert_eq!(times, [6, 6, 6, 7, 8, 9]);
    }

    #[test]
    fn memory_is_bounded_while_nobody_listens() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut work = work(&format!("http://{free}/own/path"));
        (0..100).for_each(|time| work.keep(request(5, time, &tell)));
        assert_eq!(work.waiting.len(), MOST_WAITING);
        assert!(work.waiting[0].contains("\"timeUnixNano\":\"68\""), "the oldest have gone");
        (0..4).for_each(|_| work.keep(" ".repeat(MOST_BYTES / 3)));
        assert!(work.waiting.iter().map(String::len).sum::<usize>() <= MOST_BYTES);
        assert_eq!(work.send_all(), Some(0));
        let [PushNews::Fails(why)] = &news(&work)[..] else { panic!() };
        assert!(why.starts_with("its URL: ") && !why.contains("own"), "{why}");
    }

    #[test]
    fn a_collector_that_never_answers_holds_up_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let options = PushOptions::new(&url, Span::from_secs(1)).unwrap();
        let pusher = Pusher::start(options, tell).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let begun = Moment::now();
        pusher.end();
        // Two seconds and what a busy host takes, far below the ten that a collector has.
        assert!(Moment::now().since(&begun) < MOST_TIME.as_nanos() as u64);
        let [PushNews::Fails(why)] = &pusher.news()[..] else { panic!() };
        assert!(why.contains("does not answer within 2 s"), "{why}");
        // It is told once.
        pusher.end();
        assert_eq!(pusher.news(), []);
        drop(stream);
    }

    #[test]
    fn urls_and_headers_are_checked() {
        let url = |url: &str| PushOptions::new(url, Span::from_secs(1)).map(|options| options.url);
        assert_eq!(url("http://a:4318").unwrap(), "http://a:4318/v1/metrics");
        assert_eq!(url("https://a/").unwrap(), "https://a/v1/metrics");
        assert_eq!(url("https://a/x?y=1").unwrap(), "https://a/x?y=1");
        for bad in ["a:4318", "ftp://a", "http://", "http://a b", ""] {
            assert!(url(bad).is_err(), "{bad}");
        }
        assert!(PushOptions::new("http://a", Span::from_millis(999)).is_err());
        let headers = |text: &str| {
            PushOptions::new("http://a", Span::from_secs(1)).unwrap().with_headers(text).map(|options| options.headers)
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(headers("a=b%20c, d = e%3D=,").unwrap(), [pair("a", "b c"), pair("d", "e==")]);
        for bad in ["a", "a b=c", "a=hush%0ax", "a=hush%x", "a=hush%"] {
            assert!(headers(bad).is_err_and(|why| !why.contains("hush")), "{bad}");
        }
    }
}
