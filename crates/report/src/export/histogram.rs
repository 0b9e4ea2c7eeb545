//! Times of a run as HdrHistograms: three significant digits, nanoseconds.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use flowloom_store::run_folder::Point;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::LeftOut;
use crate::metric::Metric;
use crate::run::Run;
use crate::statistics::Sample;

/// The times of `sample`, of which the longest may be 2^63 ns; `None` without any.
fn histogram(sample: &Sample) -> Option<Histogram<u64>> {
    let largest = (sample.max()? as u64).clamp(2, 1 << 62);
    let mut histogram = Histogram::new_with_bounds(1, largest, 3).ok()?;
    for (value, count) in sample.steps() {
        histogram.saturating_record_n(value as u64, count as u64);
    }
    Some(histogram)
}

/// The quantities of a log, by their tags.
fn quantities(run: &Run) -> [(&'static str, Sample); 4] {
    let measured = &run.measurements;
    [
        ("response_time", measured.sample(Metric::ResponseTime, Point::Endpoint, |_| true)),
        ("intended_response_time", measured.intended_response_times()),
        ("duration", measured.sample(Metric::Duration, Point::Endpoint, |_| true)),
        ("round_trip_time", measured.sample(Metric::RoundTripTime, Point::Monitor, |_| true)),
    ]
}

/// What a log, or the percentiles alone, leave out because it had not ended with the run.
pub(super) fn left_out(run: &Run, only_responses: bool) -> Vec<LeftOut> {
    let quantities = quantities(run).into_iter().take(if only_responses { 1 } else { usize::MAX });
    let left_out = quantities.map(|(name, sample)| LeftOut { name, unfinished: sample.unfinished(), of: sample.len() });
    left_out.filter(|left_out| left_out.unfinished > 0).collect()
}

/// The whole window as one interval, a histogram a quantity, tagged with its name.
pub(super) fn write_log(run: &Run, mut out: impl Write) -> io::Result<()> {
    let measured = &run.measurements;
    let length = measured.window.1.since(measured.window.0);
    let (start, length) = (Duration::from_nanos(measured.window.0.as_nanos()), Duration::from_nanos(length.as_nanos()));
    let title = if run.facts.title.is_empty() { run.name.replace(['\n', '\r'], " ") } else { run.facts.title.clone() };
    let comments = ["flowloom: nanoseconds, measured at the connections' ends".to_owned(), title];
    let left_out = left_out(run, false).into_iter().map(|left_out| format!("flowloom: {left_out}"));
    let comments: Vec<String> = comments.into_iter().chain(left_out).collect();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    for comment in &comments {
        builder.add_comment(comment);
    }
    // The largest value is told in milliseconds.
    let mut log = builder
        .with_base_time(SystemTime::UNIX_EPOCH)
        .with_start_time(SystemTime::UNIX_EPOCH + start)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut out, &mut serializer)?;
    for (name, sample) in &quantities(run) {
        if let (Some(histogram), Some(tag)) = (histogram(sample), Tag::new(name)) {
            let written = log.write_histogram(&histogram, start, length, Some(tag));
            written.map_err(|error| io::Error::other(format!("{error:?}")))?;
        }
    }
    out.flush()
}

/// The percentiles of the response times at the ends, in milliseconds, five for each halving of what is left.
pub(super) fn write_percentiles(run: &Run, mut out: impl Write) -> io::Result<()> {
    let sample = run.measurements.sample(Metric::ResponseTime, Point::Endpoint, |_| true);
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let Some(histogram) = histogram(&sample) else { return out.flush() };
    for step in histogram.iter_quantiles(5) {
        let (value, percentile) = (step.value_iterated_to() as f64 / 1e6, step.quantile_iterated_to());
        let count = histogram.count_between(0, step.value_iterated_to());
        write!(out, "{value:>12.3} {percentile:>14.12} {count:>10}")?;
        if percentile < 1.0 {
            write!(out, " {:>14.2}", 1.0 / (1.0 - percentile))?;
        }
        writeln!(out)?;
    }
    let (mean, deviation) = (histogram.mean() / 1e6, histogram.stdev() / 1e6);
    writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]")?;
    writeln!(out, "#[Max     = {:>12.3}, Total count    = {:>12}]", histogram.max() as f64 / 1e6, histogram.len())?;
    for left_out in left_out(run, true) {
        writeln!(out, "# flowloom: {left_out}")?;
    }
    writeln!(out, "#[Buckets = {:>12}, SubBuckets     = {:>12}]", histogram.buckets(), 2048)?;
    out.flush()
}
