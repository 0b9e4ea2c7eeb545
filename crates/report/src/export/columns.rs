//! A run as columns for gnuplot: one block a series or distribution, blocks told apart by two empty lines (`plot FILE index 3`).

use std::io::{self, Write};

use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;

use crate::metric::{Metric, Unit};
use crate::run::{Measurements, Run};
use crate::statistics::{Sample, thin_distribution};
use crate::words::in_one_line;

/// How far a written distribution may be from the true one.
const ERROR: f64 = 0.000_5;

const SERIES: [(&str, Metric); 7] = [
    ("active_connections", Metric::ActiveConnections),
    ("throughput_left_to_right", Metric::ThroughputFromLeft),
    ("throughput_right_to_left", Metric::ThroughputFromRight),
    ("goodput", Metric::Goodput),
    ("packet_arrivals", Metric::PacketArrivals),
    ("queue_left_to_right", Metric::QueueFromLeft),
    ("queue_right_to_left", Metric::QueueFromRight),
];

const DISTRIBUTIONS: [(&str, Metric); 4] = [
    ("response_time", Metric::ResponseTime),
    ("duration", Metric::Duration),
    ("round_trip_time", Metric::RoundTripTime),
    ("adu_size", Metric::AduSize),
];

pub(super) fn write(run: &Run, mut out: impl Write) -> io::Result<()> {
    let measured = &run.measurements;
    // Without an original nothing is compared at the monitor, and durations and response times are known at the ends alone.
    let at_link: &[Point] = if measured.has_original { &[Point::Original, Point::Monitor] } else { &[Point::Monitor] };
    writeln!(out, "# flowloom {}: {}", env!("CARGO_PKG_VERSION"), in_one_line(&run.name))?;
    writeln!(
        out,
        "# times from the start of the run; distributions: share of the values that are at most the first column, and above it"
    )?;
    let mut index = 0;
    for (name, metric) in SERIES {
        let queue = matches!(metric, Metric::QueueFromLeft | Metric::QueueFromRight);
        for &point in at_link {
            // The original's queues were not seen.
            if !(queue && point == Point::Original) {
                series(&mut out, measured, &mut index, name, metric, point)?;
            }
        }
    }
    for (name, metric) in DISTRIBUTIONS {
        for &point in at_link.iter().chain(&[Point::Endpoint]) {
            let sample = measured.sample(metric, point, |_| true);
            distribution(&mut out, &mut index, name, metric, point, &sample)?;
        }
    }
    out.flush()
}

fn at(point: Point) -> &'static str {
    match point {
        Point::Original => "original",
        Point::Monitor => "monitor",
        Point::Endpoint => "endpoint",
    }
}

fn column(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "ns",
        Unit::Bytes => "bytes",
        Unit::Rate => "bits_per_second",
        Unit::Count => "count",
        Unit::PacketRate => "packets_per_second",
        Unit::Share => "share",
    }
}

/// What begins the next block.
fn head(out: &mut impl Write, index: &mut usize, what: &str, columns: &str) -> io::Result<()> {
    if *index > 0 {
        out.write_all(b"\n\n")?;
    }
    writeln!(out, "# index {index}: {what}\n# {columns}")?;
    *index += 1;
    Ok(())
}

fn series(
    out: &mut impl Write,
    measured: &Measurements,
    index: &mut usize,
    name: &str,
    metric: Metric,
    point: Point,
) -> io::Result<()> {
    let values = match metric {
        Metric::QueueFromLeft => measured.queue_series(LinkSide::Left),
        Metric::QueueFromRight => measured.queue_series(LinkSide::Right),
        _ => measured.series(metric, point),
    };
    if values.is_empty() {
        return Ok(());
    }
    let bin = measured.series_bin(metric);
    let what = format!("{name}, {}, every {bin}", at(point));
    head(out, index, &what, &format!("time_s {}", column(metric.unit())))?;
    let (start, width) = (measured.window.0.as_secs_f64(), bin.as_secs_f64());
    for (bin, value) in values.iter().enumerate() {
        writeln!(out, "{:.6} {value}", start + bin as f64 * width)?;
    }
    Ok(())
}

fn distribution(
    out: &mut impl Write,
    index: &mut usize,
    name: &str,
    metric: Metric,
    point: Point,
    sample: &Sample,
) -> io::Result<()> {
    if sample.is_empty() {
        return Ok(());
    }
    let what = format!("{name}, {}, {} values", at(point), sample.len());
    head(out, index, &what, &format!("{} share_at_most share_above", column(metric.unit())))?;
    let n = sample.len() as f64;
    for step in thin_distribution(sample, ERROR) {
        let above = step.above as f64 / n;
        writeln!(out, "{} {:.6} {above:.3e}", step.x, 1.0 - above)?;
    }
    Ok(())
}
