//! A run as iperf3 would have measured its link with `--bidir`: payload that passed for the first time, an interval a bin.

use std::io::{self, Write};

use flowloom_core::workload::LinkSide;
use flowloom_store::results::iperf3::{End, EndStream, Interval, Report, Start, Sum, TestStart};
use flowloom_store::run_folder::Point;

use super::payload::payload;
use crate::metric::Metric;
use crate::run::Run;

pub(super) fn write(run: &Run, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, &report(run))?;
    writeln!(out)?;
    out.flush()
}

fn sum(start: f64, end: f64, bytes: u64, sender: bool) -> Sum {
    let seconds = end - start;
    let bits_per_second = if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
    Sum { start, end, seconds, bytes, bits_per_second, sender: Some(sender), ..Sum::default() }
}

fn report(run: &Run) -> Report {
    let measured = &run.measurements;
    let [forward, back] = [LinkSide::Left, LinkSide::Right].map(|from| payload(measured, from));
    let bins = forward.len().max(back.len());
    let width = measured.bin.as_secs_f64();
    let interval = |bin: usize| {
        let (start, end) = (bin as f64 * width, (bin + 1) as f64 * width);
        let of = |series: &[u64], sender| sum(start, end, series.get(bin).copied().unwrap_or(0), sender);
        let stream = |socket, sum: Sum| Sum { socket: Some(socket), ..sum };
        Interval {
            streams: vec![stream(1, of(&forward, true)), stream(2, of(&back, false))],
            sum: of(&forward, true),
            sum_bidir_reverse: Some(of(&back, false)),
        }
    };
    let length = bins as f64 * width;
    let [sent, sent_back] =
        [(&forward, true), (&back, false)].map(|(series, sender)| sum(0.0, length, series.iter().sum(), sender));
    let rtts = measured.sample(Metric::RoundTripTime, Point::Monitor, |_| true);
    let micros = |nanos: Option<f64>| nanos.map(|nanos| nanos / 1e3);
    let stream = |socket, sum: &Sum| EndStream {
        sender: Sum {
            socket: Some(socket),
            min_rtt: micros(rtts.min()),
            mean_rtt: micros(rtts.mean()),
            max_rtt: micros(rtts.max()),
            ..sum.clone()
        },
        receiver: Sum { socket: Some(socket), ..sum.clone() },
    };
    let congestion = run.facts.classes.first().map(|class| class.congestion.clone()).filter(|name| !name.is_empty());
    Report {
        start: Start {
            version: format!("flowloom {}", env!("CARGO_PKG_VERSION")),
            system_info: run.facts.network.clone(),
            accepted_connection: None,
            title: Some(run.facts.title.clone()).filter(|title| !title.is_empty()),
            test_start: TestStart {
                protocol: "TCP".to_owned(),
                num_streams: 1,
                duration: length,
                reverse: 0,
                bidir: 1,
            },
        },
        intervals: (0..bins).map(interval).collect(),
        end: End {
            streams: vec![stream(1, &sent), stream(2, &sent_back)],
            sum: None,
            sum_bidir_reverse: None,
            // Segments sent again are known of connections, not of directions: all of them are told here.
            sum_sent: Sum { retransmits: Some(measured.all_totals().retransmissions), ..sent.clone() },
            sum_received: sent,
            sum_sent_bidir_reverse: Some(sent_back.clone()),
            sum_received_bidir_reverse: Some(sent_back),
            sender_tcp_congestion: congestion.clone(),
            receiver_tcp_congestion: congestion,
        },
        error: None,
    }
}
