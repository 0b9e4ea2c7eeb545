//! iperf3's JSON: one object (`--json`), or a line per event (`--json-stream`).
//!
//! Written is the object of a run in both directions (`--bidir`): `sum` goes from left to right, `sum_bidir_reverse` back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::series::{Quantity, Results, Series, View, Way};

/// The whole object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// What was to be done.
    pub start: Start,
    /// What happened in each interval.
    pub intervals: Vec<Interval>,
    /// What it came to.
    pub end: End,
    /// Why there is nothing, where iperf3 failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What was to be done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Start {
    /// The program.
    pub version: String,
    /// The machine.
    pub system_info: String,
    /// A title of the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Of a server: the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_connection: Option<Value>,
    /// The test.
    pub test_start: TestStart,
}

/// The test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestStart {
    /// `TCP` or `UDP`.
    pub protocol: String,
    /// Parallel streams.
    pub num_streams: u64,
    /// Seconds.
    pub duration: f64,
    /// 1: from the server to the client alone.
    pub reverse: u8,
    /// 1: both ways at once.
    pub bidir: u8,
}

/// What happened in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interval {
    /// Each stream.
    pub streams: Vec<Sum>,
    /// All of them.
    pub sum: Sum,
    /// All of them, the other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_bidir_reverse: Option<Sum>,
}

/// Bytes between two instants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sum {
    /// Of a stream: its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<i64>,
    /// Seconds from the start.
    pub start: f64,
    /// Seconds from the start.
    pub end: f64,
    /// Between them.
    pub seconds: f64,
    /// Payload.
    pub bytes: u64,
    /// Payload.
    pub bits_per_second: f64,
    /// Segments sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Microseconds; of a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<f64>,
    /// Microseconds; of a stream at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt: Option<f64>,
    /// Microseconds; of a stream at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_rtt: Option<f64>,
    /// Microseconds; of a stream at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rtt: Option<f64>,
    /// Part of the time at the beginning that does not count.
    pub omitted: bool,
    /// Whether it is of the end that sends; `None` before version 3.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<bool>,
    /// Datagrams, of UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Datagrams that did not arrive, in percent; of UDP, where the receiver counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_percent: Option<f64>,
}

impl Sum {
    /// Seconds that it is about.
    fn length(&self) -> f64 {
        if self.end > self.start { self.end - self.start } else { self.seconds }
    }
}

/// What it came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Each stream.
    pub streams: Vec<EndStream>,
    /// Of UDP: sent, with what was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Sum>,
    /// The other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_bidir_reverse: Option<Sum>,
    /// Sent.
    pub sum_sent: Sum,
    /// Received.
    pub sum_received: Sum,
    /// The other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_sent_bidir_reverse: Option<Sum>,
    /// The other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_received_bidir_reverse: Option<Sum>,
    /// Of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_tcp_congestion: Option<String>,
    /// Of the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_tcp_congestion: Option<String>,
}

/// A stream at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndStream {
    /// What was sent.
    pub sender: Sum,
    /// What arrived.
    pub receiver: Sum,
}

/// Reads one object, or a line per event.
pub(super) fn read(bytes: &[u8]) -> Result<Results, String> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let first = values.next().ok_or("it is empty")?.map_err(|error| format!("no JSON: {error}"))?;
    let report = if first.get("event").is_some() {
        of_events(first, values)?
    } else {
        only(bytes, values.byte_offset())?;
        whole(first)?
    };
    if let Some(error) = &report.error {
        return Err(format!("iperf3 ended with an error: {error}"));
    }
    if report.intervals.is_empty() {
        return Err("it holds no intervals: is it iperf3's --json?".to_owned());
    }
    results(&report)
}

/// Refuses what follows the first object, which ends at `end`: `--logfile` appends one test to another.
fn only(bytes: &[u8], end: usize) -> Result<(), String> {
    let behind = bytes.get(end..).unwrap_or_default();
    let Some(blank) = behind.iter().position(|byte| !byte.is_ascii_whitespace()) else { return Ok(()) };
    let line = 1 + bytes[..end + blank].iter().filter(|byte| **byte == b'\n').count();
    let what = if behind[blank] == b'{' { "another result" } else { "something else" };
    Err(format!("{what} follows the first in line {line}: give each test a file of its own (iperf3 --logfile appends)"))
}

fn whole(value: Value) -> Result<Report, String> {
    if value.get("start").is_none() || value.get("end").is_none() {
        return Err(
            "it is JSON, but neither iperf3's (`start`, `intervals`, `end`) nor flent's (`results`, `x_values`)"
                .to_owned(),
        );
    }
    serde_json::from_value(value).map_err(|error| format!("not as iperf3 writes it: {error}"))
}

fn of_events(first: Value, others: impl Iterator<Item = serde_json::Result<Value>>) -> Result<Report, String> {
    let mut report = Report::default();
    let mut started = false;
    for (line, value) in std::iter::once(Ok(first)).chain(others).enumerate() {
        let at = |error: serde_json::Error| format!("event {}: {error}", line + 1);
        let mut value = value.map_err(at)?;
        let data = value.get_mut("data").map(Value::take).unwrap_or_default();
        match value.get("event").and_then(Value::as_str) {
            Some("start") if std::mem::replace(&mut started, true) => {
                return Err(format!(
                    "event {}: another test begins: give each test a file of its own (iperf3 --logfile appends)",
                    line + 1
                ));
            }
            Some("start") => report.start = serde_json::from_value(data).map_err(at)?,
            Some("interval") => report.intervals.push(serde_json::from_value(data).map_err(at)?),
            Some("end") => report.end = serde_json::from_value(data).map_err(at)?,
            Some("error") => report.error = Some(data.to_string()),
            _ => {}
        }
    }
    Ok(report)
}

/// Payload over time in one direction.
fn rate(report: &Report, backward: bool, way: Way) -> Result<Option<Series>, String> {
    let end = &report.end;
    let (name, total, received) = match backward {
        false => ("sum", end.sum.as_ref(), Some(&end.sum_received)),
        true => ("sum_bidir_reverse", end.sum_bidir_reverse.as_ref(), end.sum_received_bidir_reverse.as_ref()),
    };
    let of = |interval: &Interval| match backward {
        false => Some(interval.sum.clone()),
        true => interval.sum_bidir_reverse.clone(),
    };
    let counted = report.intervals.iter().filter(|interval| !interval.sum.omitted).filter_map(of);
    let sums: Vec<Sum> = counted
        .filter(|sum| sum.end.is_finite() && sum.bits_per_second.is_finite())
        .filter(|sum| sum.length() > 0.0)
        .collect();
    let Some(first) = sums.first() else { return Ok(None) };
    let is_client = report.start.accepted_connection.is_none();
    let is_sent = first.sender.unwrap_or(is_client == (way == Way::Forward));
    let seconds: f64 = sums.iter().map(Sum::length).sum();
    let mean = sums.iter().map(|sum| sum.bits_per_second * sum.length()).sum::<f64>() / seconds;
    let (factor, view) = match is_sent {
        false => (1.0, View::Receiver),
        true => match arrived(report, name, mean, received, total)? {
            Some(factor) => (factor, View::Scaled),
            None => (1.0, View::Sender),
        },
    };
    Ok(Some(Series {
        name: name.to_owned(),
        quantity: Quantity::BitsPerSecond,
        way: Some(way),
        points: sums.iter().map(|sum| (sum.end, sum.bits_per_second * factor)).collect(),
        lengths: sums.iter().map(Sum::length).collect(),
        // A run of Flowloom in this form counts what passed the link.
        view: (!report.start.version.starts_with("flowloom")).then_some(view),
    }))
}

/// What part of the `mean` that was sent in direction `name` arrived; `None` where the report of a TCP test does not say.
///
/// # Errors
///
/// A UDP test whose report does not say: most of it may have been lost.
fn arrived(
    report: &Report,
    name: &str,
    mean: f64,
    received: Option<&Sum>,
    total: Option<&Sum>,
) -> Result<Option<f64>, String> {
    let told = |rate: &f64| rate.is_finite() && *rate > 0.0;
    if let Some(rate) = received.map(|sum| sum.bits_per_second).filter(told).filter(|_| told(&mean)) {
        let factor = rate / mean;
        return Ok(Some(if (factor - 1.0).abs() < 1e-9 { 1.0 } else { factor }));
    }
    if !report.start.test_start.protocol.eq_ignore_ascii_case("udp") || mean == 0.0 {
        return Ok(None);
    }
    // Without the receiver's report, both counts are 0.
    let counted = total.filter(|sum| sum.packets.is_some_and(|packets| packets > 0));
    match counted.and_then(|sum| sum.lost_percent).filter(|lost| (0.0..=100.0).contains(lost)) {
        Some(lost) if received.is_none_or(|sum| sum.end == 0.0) => Ok(Some(1.0 - lost / 100.0)),
        _ => Err(format!(
            "a UDP test whose `{name}` is what was sent: `end` does not say what arrived (sum_received, lost_percent); \
             let the test end by itself, or take the JSON of the receiver"
        )),
    }
}

fn results(report: &Report) -> Result<Results, String> {
    let counted = || report.intervals.iter().filter(|interval| !interval.sum.omitted);
    // Without --bidir the sum goes from the client, or to it.
    let forward = if report.start.test_start.reverse == 1 { Way::Back } else { Way::Forward };
    let series = |name: &str, quantity, value: &dyn Fn(&Interval) -> Option<f64>| {
        let values = counted().filter_map(|interval| Some((&interval.sum, value(interval)?)));
        let (points, lengths) = values
            .filter(|(sum, value)| sum.end.is_finite() && value.is_finite())
            .map(|(sum, value)| ((sum.end, value), sum.length()))
            .unzip();
        Series { name: name.to_owned(), quantity, way: None, points, lengths, view: None }
    };
    let rtt = |interval: &Interval| {
        let rtts: Vec<f64> = interval.streams.iter().filter_map(|stream| stream.rtt).collect();
        (!rtts.is_empty()).then(|| rtts.iter().sum::<f64>() / rtts.len() as f64 * 1e3)
    };
    let others = [
        series("rtt", Quantity::RoundTripNanos, &rtt),
        series("retransmits", Quantity::Retransmissions, &|interval| {
            interval.sum.retransmits.map(|count| count as f64)
        }),
    ];
    let rates = [rate(report, false, forward)?, rate(report, true, Way::Back)?];
    let all = rates.into_iter().flatten().chain(others);
    let sent = [Some(&report.end.sum_sent), report.end.sum_sent_bidir_reverse.as_ref()];
    let retransmitted: Vec<u64> = sent.into_iter().flatten().filter_map(|sum| sum.retransmits).collect();
    Ok(Results {
        tool: "iperf3",
        title: report.start.title.clone().unwrap_or_default(),
        seconds: counted().map(|interval| interval.sum.end).fold(0.0, f64::max),
        series: all.filter(|series| !series.points.is_empty()).collect(),
        retransmissions: (!retransmitted.is_empty()).then(|| retransmitted.into_iter().fold(0, u64::saturating_add)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let sum = |start: f64, bytes: u64| Sum {
            start,
            end: start + 1.0,
            seconds: 1.0,
            bytes,
            bits_per_second: bytes as f64 * 8.0,
            ..Sum::default()
        };
        let interval = |second: u32| Interval {
            streams: vec![Sum { rtt: Some(1_500.0), ..sum(f64::from(second), 1_000) }],
            sum: Sum { retransmits: Some(2), omitted: second == 0, ..sum(f64::from(second), 1_000) },
            sum_bidir_reverse: Some(sum(f64::from(second), 500)),
        };
        Report {
            intervals: (0..3).map(interval).collect(),
            end: End { sum_sent: Sum { retransmits: Some(4), ..sum(0.0, 3_000) }, ..End::default() },
            ..Report::default()
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let results = Results::read(&serde_json::to_vec(&report()).unwrap()).unwrap();
        assert_eq!((results.tool, results.seconds, results.retransmissions), ("iperf3", 3.0, Some(4)));
        let named = |name: &str| results.series.iter().find(|series| series.name == name).unwrap();
        assert_eq!(named("sum").points, [(2.0, 8_000.0), (3.0, 8_000.0)], "what is omitted does not count");
        assert_eq!(
            (named("sum_bidir_reverse").way, named("sum_bidir_reverse").points[0].1),
            (Some(Way::Back), 4_000.0)
        );
        assert_eq!(named("rtt").points[0].1, 1.5e6, "nanoseconds");
        assert_eq!(named("retransmits").points.len(), 2);
    }

    #[test]
    fn events_make_the_same_as_one_object() {
        let report = report();
        let line = |event: &str, data: Value| serde_json::json!({ "event": event, "data": data }).to_string() + "\n";
        let mut text = line("start", serde_json::to_value(&report.start).unwrap());
        for interval in &report.intervals {
            text.push_str(&line("interval", serde_json::to_value(interval).unwrap()));
        }
        text.push_str(&line("end", serde_json::to_value(&report.end).unwrap()));
        assert_eq!(Results::read(text.as_bytes()), Results::read(&serde_json::to_vec(&report).unwrap()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |text: &str| Results::read(text.as_bytes()).unwrap_err();
        assert_eq!(said(""), "it is empty");
        assert!(said("{").starts_with("no JSON: EOF"), "{}", said("{"));
        assert!(said("{\"a\": 1}").starts_with("it is JSON, but neither"));
        assert!(said("{\"start\": {}, \"intervals\": [], \"end\": {}}").contains("no intervals"));
        assert!(said("{\"start\": {}, \"intervals\": 7, \"end\": {}}").starts_with("not as iperf3 writes it"));
        let refused = "{\"start\": {}, \"intervals\": [], \"end\": {}, \"error\": \"unable to connect\"}";
        assert_eq!(said(refused), "iperf3 ended with an error: unable to connect");
    }

    /// A test of 10 Mbit/s in one direction, as its client has it; intervals of these lengths.
    fn forward(protocol: &str, lengths: &[f64], received: Option<f64>) -> Report {
        let mut start = 0.0;
        let mut interval = |seconds: f64| {
            let sum = Sum {
                start,
                end: start + seconds,
                seconds,
                bits_per_second: 1e7,
                sender: Some(true),
                ..Sum::default()
            };
            start += seconds;
            Interval { sum, ..Interval::default() }
        };
        let intervals = lengths.iter().map(|seconds| interval(*seconds)).collect();
        let test_start = TestStart { protocol: protocol.to_owned(), ..TestStart::default() };
        let sum_received = Sum { end: 10.6, bits_per_second: received.unwrap_or(0.0), ..Sum::default() };
        Report {
            start: Start { test_start, ..Start::default() },
            intervals,
            end: End { sum_received, ..End::default() },
            error: None,
        }
    }

    fn read_again(report: &Report) -> Result<Results, String> {
        Results::read(&serde_json::to_vec(report).unwrap())
    }

    #[test]
    fn goodput_is_what_arrived() {
        for protocol in ["UDP", "TCP"] {
            let series = read_again(&forward(protocol, &[1.0, 1.0, 0.5], Some(2e6))).unwrap().series.remove(0);
            assert_eq!((series.points[2], series.view), ((2.5, 2e6), Some(View::Scaled)), "{protocol}");
            assert_eq!(series.lengths, [1.0, 1.0, 0.5]);
        }
        let mut report = forward("TCP", &[1.0; 3], None);
        let series = read_again(&report).unwrap().series.remove(0);
        assert_eq!((series.points[0].1, series.view), (1e7, Some(View::Sender)), "nothing tells what arrived");
        report.intervals.iter_mut().for_each(|interval| interval.sum.sender = Some(false));
        report.start.test_start.protocol = "UDP".to_owned();
        let series = read_again(&report).unwrap().series.remove(0);
        assert_eq!((series.points[0].1, series.view), (1e7, Some(View::Receiver)), "intervals of the receiver");
    }

    #[test]
    fn udp_without_a_count_of_the_receiver_is_refused() {
        let mut report = forward("UDP", &[1.0; 3], None);
        let lost = |packets| Sum { packets: Some(packets), lost_percent: Some(75.0), ..Sum::default() };
        for end in [None, Some(lost(0)), Some(lost(100))] {
            report.end.sum = end;
            let refused = read_again(&report).unwrap_err();
            assert!(refused.contains("`end` does not say what arrived"), "{refused}");
        }
        // Before 3.10 there is no sum_received of UDP.
        report.end.sum_received = Sum::default();
        assert_eq!(read_again(&report).unwrap().series[0].points[0].1, 2.5e6);
    }

    #[test]
    fn before_version_3_7_the_direction_tells_who_counts() {
        let mut report = forward("TCP", &[1.0; 3], Some(2e6));
        report.intervals.iter_mut().for_each(|interval| interval.sum.sender = None);
        let view = |report: &Report| read_again(report).unwrap().series[0].view;
        assert_eq!(view(&report), Some(View::Scaled));
        report.start.accepted_connection = Some(serde_json::json!({ "host": "192.0.2.1" }));
        assert_eq!(view(&report), Some(View::Receiver), "a server");
        report.start.test_start.reverse = 1;
        assert_eq!(view(&report), Some(View::Scaled), "a server that sends");
    }

    #[test]
    fn each_direction_has_its_own_share_that_arrived() {
        let mut report = forward("UDP", &[1.0; 3], Some(2e6));
        for interval in &mut report.intervals {
            interval.sum_bidir_reverse =
                Some(Sum { sender: Some(false), bits_per_second: 3e6, ..interval.sum.clone() });
        }
        let series = read_again(&report).unwrap().series;
        let rates: Vec<f64> = series.iter().map(|series| series.points[0].1).collect();
        assert_eq!(rates, [2e6, 3e6]);
    }

    #[test]
    fn a_second_result_is_refused_with_its_line() {
        let one = serde_json::to_string(&forward("TCP", &[1.0; 3], None)).unwrap();
        let said = |text: String| Results::read(text.as_bytes()).unwrap_err();
        assert!(Results::read(format!("{one}\n\n").as_bytes()).is_ok());
        assert!(said(format!("{one}\n\n{one}\n")).starts_with("another result follows the first in line 3"));
        assert!(said(format!("{one}\niperf3: interrupt")).starts_with("something else follows the first in line 2"));
        let start = "{\"event\": \"start\", \"data\": {}}\n";
        assert!(said(format!("{start}{start}")).starts_with("event 2: another test begins"));
    }
}
