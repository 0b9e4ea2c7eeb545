//! Results of a run in the forms of other tools, read again.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use flowloom_core::workload::LinkSide;
use flowloom_report::Run;
use flowloom_report::export::Form;
use flowloom_report::metric::Metric;
use flowloom_store::results::{Quantity, Results, Way};
use flowloom_store::run_folder::{Point, TrafficPoint};
use flowloom_testkit::reports::MadeUp;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

fn run(name: &str) -> Run {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    Run::load(&MadeUp::default().write(&folder)).unwrap()
}

fn written(form: Form, run: &Run) -> Vec<u8> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    form.write(run, &mut first).unwrap();
    form.write(run, &mut second).unwrap();
    assert_eq!(first, second, "the same run gives the same bytes");
    first
}

#[test]
fn iperf3_json_holds_every_payload_byte() {
    let run = run("iperf3");
    let object: serde_json::Value = serde_json::from_slice(&written(Form::Iperf3, &run)).unwrap();
    let payload = |from| -> u64 {
        run.measurements.traffic[&(TrafficPoint::ReplayCarried, from)].iter().map(|bin| bin.payload_bytes).sum()
    };
    let [left, right] = [LinkSide::Left, LinkSide::Right].map(payload);
    assert!(left + right > 0);
    assert_eq!(object["end"]["sum_sent"]["bytes"], left);
    assert_eq!(object["end"]["sum_received_bidir_reverse"]["bytes"], right);
    let sums = |key: &str| -> u64 {
        let intervals = object["intervals"].as_array().unwrap();
        intervals.iter().map(|interval| interval[key]["bytes"].as_u64().unwrap()).sum()
    };
    assert_eq!((sums("sum"), sums("sum_bidir_reverse")), (left, right));
    assert_eq!(object["end"]["sum_sent"]["retransmits"], run.measurements.all_totals().retransmissions);

    let read = Results::read(&written(Form::Iperf3, &run)).unwrap();
    let goodput: f64 = read.series.iter().filter(|one| one.quantity == Quantity::BitsPerSecond).map(mean).sum();
    let series = run.measurements.series(Metric::Goodput, Point::Monitor);
    let expected = series.iter().sum::<f64>() / series.len() as f64;
    assert!((goodput - expected).abs() < 1e-6 * expected, "{goodput}, not {expected}");
}

fn mean(series: &flowloom_store::results::Series) -> f64 {
    series.points.iter().map(|point| point.1).sum::<f64>() / series.points.len() as f64
}

#[test]
fn a_data_file_of_flent_has_the_series_of_the_run() {
    let run = run("flent");
    let mut unpacked = Vec::new();
    GzDecoder::new(&written(Form::Flent, &run)[..]).read_to_end(&mut unpacked).unwrap();
    let read = Results::read(&unpacked).unwrap();
    for (way, from) in [(Way::Forward, LinkSide::Left), (Way::Back, LinkSide::Right)] {
        let is_it =
            |one: &&flowloom_store::results::Series| one.way == Some(way) && one.quantity == Quantity::BitsPerSecond;
        let found: Vec<f64> = read.series.iter().find(is_it).unwrap().points.iter().map(|point| point.1).collect();
        let carried = &run.measurements.traffic[&(TrafficPoint::ReplayCarried, from)];
        let width = run.measurements.bin.as_secs_f64();
        let expected: Vec<f64> = carried.iter().map(|bin| bin.payload_bytes as f64 * 8.0 / width).collect();
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-9 * b.abs()), "{way:?}");
    }
    let active = read.series.iter().find(|one| one.name == "Active connections").unwrap();
    assert_eq!(active.points.len(), run.measurements.series(Metric::ThroughputFromLeft, Point::Monitor).len());
}

#[test]
fn histograms_hold_every_response_time() {
    let run = run("histograms");
    let sample = run.measurements.sample(Metric::ResponseTime, Point::Endpoint, |_| true);
    let log = written(Form::HistogramLog, &run);
    let mut found = None;
    for entry in IntervalLogIterator::new(&log) {
        if let LogEntry::Interval(interval) = entry.unwrap()
            && interval.tag().is_some_and(|tag| tag.as_str() == "response_time")
        {
            let encoded = base64(interval.encoded_histogram());
            let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &encoded[..]).unwrap();
            found = Some(histogram);
        }
    }
    let histogram = found.unwrap();
    assert_eq!(histogram.len(), sample.len() as u64);
    for p in [0.5, 0.9, 0.99] {
        let (found, exact) = (histogram.value_at_quantile(p) as f64, sample.quantile(p).unwrap());
        assert!((found / exact - 1.0).abs() < 2e-3, "q({p}): {found}, not {exact}");
    }
    let text = String::from_utf8(written(Form::Percentiles, &run)).unwrap();
    let last = text.lines().rfind(|line| !line.starts_with('#')).unwrap();
    let columns: Vec<&str> = last.split_whitespace().collect();
    assert_eq!(columns[1..], ["1.000000000000", &sample.len().to_string()]);
}

fn base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

#[test]
fn columns_are_numbers_in_blocks() {
    let run = run("columns");
    let text = String::from_utf8(written(Form::Columns, &run)).unwrap();
    let blocks: Vec<&str> = text.split("\n\n\n").collect();
    assert!(blocks.len() > 10, "{}", blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        assert!(block.contains(&format!("# index {index}: ")), "{}", block.lines().next().unwrap_or_default());
        let names = block.lines().rfind(|line| line.starts_with('#')).unwrap().split_whitespace().count() - 1;
        for line in block.lines().filter(|line| !line.starts_with('#')) {
            let numbers: Vec<f64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
            assert_eq!(numbers.len(), names, "{line}");
        }
    }
    let share = blocks.iter().find(|block| block.contains("response_time, monitor")).unwrap().lines().last().unwrap();
    assert!(share.ends_with("1.000000 0.000e0"), "{share}");
}

#[test]
fn what_had_not_ended_is_counted_beside_the_histograms() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export").join("unfinished");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let run = Run::load(&MadeUp { unfinished: 7, ..MadeUp::default() }.write(&folder)).unwrap();
    for (form, names) in [(Form::HistogramLog, &["duration"][..]), (Form::Percentiles, &[]), (Form::Columns, &[])] {
        let left_out = form.left_out(&run);
        assert_eq!(left_out.iter().map(|one| one.name).collect::<Vec<_>>(), names);
        let text = String::from_utf8(written(form, &run)).unwrap();
        for one in &left_out {
            assert!(one.unfinished > 0 && one.unfinished < one.of, "{one}");
            let said = format!("values of {} had not ended with the run and are left out", one.name);
            assert!(text.lines().any(|line| line.starts_with('#') && line.contains(&said)), "{text}");
        }
    }
}
