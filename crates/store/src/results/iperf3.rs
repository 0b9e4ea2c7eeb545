//! iperf3's JSON: one object (`--json`), or a line per event (`--json-stream`).
//!
//! Written is the object of a run in both directions (`--bidir`): `sum` goes from left to right, `sum_bidir_reverse` back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::series::{Quantity, Results, Series, Way};

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
    /// From the client to the server.
    pub sender: bool,
}

/// What it came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Each stream.
    pub streams: Vec<EndStream>,
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
    let report = if first.get("event").is_some() { of_events(first, values)? } else { whole(first)? };
    if let Some(error) = &report.error {
        return Err(format!("iperf3 ended with an error: {error}"));
    }
    if report.intervals.is_empty() {
        return Err("it holds no intervals: is it iperf3's --json?".to_owned());
    }
    Ok(results(&report))
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
    for (line, value) in std::iter::once(Ok(first)).chain(others).enumerate() {
        let at = |error: serde_json::Error| format!("event {}: {error}", line + 1);
        let mut value = value.map_err(at)?;
        let data = value.get_mut("data").map(Value::take).unwrap_or_default();
        match value.get("event").and_then(Value::as_str) {
            Some("start") => report.start = serde_json::from_value(data).map_err(at)?,
            Some("interval") => report.intervals.push(serde_json::from_value(data).map_err(at)?),
            Some("end") => report.end = serde_json::from_value(data).map_err(at)?,
            Some("error") => report.error = Some(data.to_string()),
            _ => {}
        }
    }
    Ok(report)
}

fn results(report: &Report) -> Results {
    let counted = || report.intervals.iter().filter(|interval| !interval.sum.omitted);
    // Without --bidir the sum goes from the client, or to it.
    let forward = if report.start.test_start.reverse == 1 { Way::Back } else { Way::Forward };
    let series = |name: &str, quantity, way, value: &dyn Fn(&Interval) -> Option<(f64, f64)>| Series {
        name: name.to_owned(),
        quantity,
        way,
        points: counted().filter_map(value).filter(|(at, value)| at.is_finite() && value.is_finite()).collect(),
    };
    let rtt = |interval: &Interval| {
        let rtts: Vec<f64> = interval.streams.iter().filter_map(|stream| stream.rtt).collect();
        (!rtts.is_empty()).then(|| (interval.sum.end, rtts.iter().sum::<f64>() / rtts.len() as f64 * 1e3))
    };
    let all = [
        series("sum", Quantity::BitsPerSecond, Some(forward), &|interval| {
            Some((interval.sum.end, interval.sum.bits_per_second))
        }),
        series("sum_bidir_reverse", Quantity::BitsPerSecond, Some(Way::Back), &|interval| {
            interval.sum_bidir_reverse.as_ref().map(|sum| (sum.end, sum.bits_per_second))
        }),
        series("rtt", Quantity::RoundTripNanos, None, &rtt),
        series("retransmits", Quantity::Retransmissions, None, &|interval| {
            interval.sum.retransmits.map(|count| (interval.sum.end, count as f64))
        }),
    ];
    let sent = [Some(&report.end.sum_sent), report.end.sum_sent_bidir_reverse.as_ref()];
    let retransmitted: Vec<u64> = sent.into_iter().flatten().filter_map(|sum| sum.retransmits).collect();
    Results {
        tool: "iperf3",
        title: report.start.title.clone().unwrap_or_default(),
        seconds: counted().map(|interval| interval.sum.end).fold(0.0, f64::max),
        series: all.into_iter().filter(|series| !series.points.is_empty()).collect(),
        retransmissions: (!retransmitted.is_empty()).then(|| retransmitted.into_iter().fold(0, u64::saturating_add)),
    }
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
}
