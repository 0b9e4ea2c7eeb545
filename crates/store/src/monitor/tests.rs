//! The store as a whole: written, killed, folded, merged, read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::level::DAY;
use super::*;

const START: u64 = 20_784 * DAY;

fn options() -> WriterOptions {
    WriterOptions { segment_bytes: 4_000, segment_ns: 3_600 * SECOND }
}

fn counter(port: &str, interval_ns: u64) -> Series {
    Series {
        id: 0,
        target: "core".to_owned(),
        port: port.to_owned(),
        counter: "in".to_owned(),
        unit: "octets".to_owned(),
        kind: Kind::Counter,
        interval_ns,
    }
}

/// When the answer of a second is received: a nanosecond before its end.
fn at(second: u64) -> u64 {
    START + (second + 1) * SECOND - 1
}

/// Octets counted in the second that ends at number `second`.
fn octets(second: u64) -> u64 {
    if second == 2_777 { 1_000_000 } else { second % 100 }
}

/// Records some seconds of two ports.
fn record(root: &Path, seconds: std::ops::Range<u64>) -> MonitorWriter {
    let mut writer = MonitorWriter::open(root, options(), START + seconds.start * SECOND).unwrap();
    let ids = ["a", "b"].map(|port| writer.series(counter(port, SECOND)).unwrap().0);
    for second in seconds {
        let time_ns = at(second);
        if second % 1_000 == 500 {
            let gap = GapRow { series: ids[0], start_ns: time_ns - SECOND, end_ns: time_ns, ..GapRow::default() };
            writer.gap(gap).unwrap();
            continue;
        }
        let samples = vec![(ids[0], octets(second)), (ids[1], 5)];
        writer.samples(Batch { time_ns, span_ns: SECOND, samples }).unwrap();
        writer.tick(time_ns).unwrap();
    }
    writer
}

/// What is read of port `a`: by time, the row.
fn read(root: &Path, period: std::ops::Range<u64>, width_ns: u64) -> BTreeMap<u64, LevelRow> {
    let reader = MonitorReader::open(root).unwrap();
    let series = reader.series().unwrap();
    let a = series.iter().find(|series| series.port == "a").unwrap();
    let mut found: BTreeMap<u64, LevelRow> = BTreeMap::new();
    let period = START + period.start * SECOND..START + period.end * SECOND;
    reader
        .read(&[a.into()], period, width_ns, &mut |piece| {
            found.entry(piece.at_ns).or_default().add(&piece.row);
        })
        .unwrap();
    found
}

fn check(root: &Path, seconds: u64) {
    let rows = read(root, 0..seconds, 0);
    let known = (0..seconds).filter(|second| second % 1_000 != 500);
    assert_eq!(rows.len(), known.clone().count());
    for second in known {
        let row = rows[&at(second)];
        assert_eq!((row.most, row.samples), (u128::from(octets(second) * MILLIONTHS), 1), "second {second}");
    }
    let minutes = read(root, 0..seconds / 60 * 60, 60 * SECOND);
    assert!(minutes.len() as u64 <= seconds / 60 + 60, "{}", minutes.len());
    let whole: u64 = minutes.values().map(|row| row.samples).sum();
    assert_eq!(whole, (0..seconds / 60 * 60).filter(|second| second % 1_000 != 500).count() as u64);
    if seconds > 2_777 {
        assert!(minutes.values().any(|row| row.most == u128::from(1_000_000 * MILLIONTHS)), "the peak is lost");
    }
    let reader = MonitorReader::open(root).unwrap();
    let gaps = reader.gaps(&[1], START..START + seconds * SECOND).unwrap();
    assert_eq!(gaps.len() as u64, (seconds + 499) / 1_000);
}

#[test]
fn samples_survive_every_step() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let seconds = 3_000;
    let mut writer = record(&root, 0..seconds);
    check(&root, seconds);
    writer.rotate(START + seconds * SECOND).unwrap();
    check(&root, seconds);
    let maintainer = writer.maintainer();
    drop(writer);
    maintainer.run(START + seconds * SECOND, &Retention::default(), &|| true).unwrap();
    check(&root, seconds);
    // After the end of the day all of it is in one table of each kind.
    maintainer.run(START + 2 * DAY, &Retention::default(), &|| true).unwrap();
    check(&root, seconds);
    let names = fs::read_dir(root.join("2026-11-27")).unwrap().count();
    assert_eq!(names, 1 + 4, "manifest, samples, minutes, hours, gaps");
    // Coarse rows outlive samples.
    let retention = Retention { samples_ns: Some(DAY), ..Retention::default() };
    maintainer.run(START + 3 * DAY, &retention, &|| true).unwrap();
    assert!(read(&root, 0..seconds, 0).len() < 200);
    let all = Retention { minutes_ns: Some(0), hours_ns: Some(0), ..retention };
    maintainer.run(START + 3 * DAY, &all, &|| true).unwrap();
    assert!(!root.join("2026-11-27").exists() && read(&root, 0..seconds, 0).is_empty());
}

#[test]
fn a_writer_goes_on_where_one_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    for from in (0..1_500).step_by(500) {
        // Dropped as if it was killed: nothing is written at the end.
        drop(record(&root, from..from + 500));
        check(&root, from + 500);
        // A table that was written and did not count yet.
        let day = root.join("2026-11-27");
        if day.exists() {
            fs::write(day.join("samples-00009999-00009999.parquet"), "half").unwrap();
            fs::write(day.join("samples-00009999-00009999.parquet.partial-x"), "half").unwrap();
        }
    }
    let writer = record(&root, 1_500..1_501);
    assert!(!root.join("2026-11-27/samples-00009999-00009999.parquet").exists());
    let second = MonitorWriter::open(&root, options(), START).err().unwrap();
    assert!(second.to_string().ends_with("another monitor writes this store"), "{second}");
    drop(writer);
}

#[test]
fn a_segment_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    drop(record(&root, 0..20));
    let segment = root.join("journal/00000001.journal");
    let bytes = fs::read(&segment).unwrap();
    drop(MonitorWriter::open(&root, options(), START).unwrap());
    assert!(!segment.exists());
    check(&root, 20);
    // The process was killed before it deleted what was folded.
    fs::write(&segment, bytes).unwrap();
    check(&root, 20);
    drop(MonitorWriter::open(&root, options(), START).unwrap());
    check(&root, 20);
}

#[test]
fn readers_see_whole_days_while_tables_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let writer = record(&root, 0..3_000);
    let maintainer = writer.maintainer();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| (0..5).for_each(|_| check(&root, 3_000)));
        maintainer.run(START + 3_000 * SECOND, &Retention::default(), &|| true).unwrap();
        maintainer.run(START + 2 * DAY, &Retention::default(), &|| true).unwrap();
        reading.join().unwrap();
    });
}

#[test]
fn samples_before_midnight_stay_in_their_day() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    let id = writer.series(counter("a", 60 * SECOND)).unwrap().0;
    for time_ns in [START + DAY - SECOND, START + DAY, START + DAY - 2] {
        writer.samples(Batch { time_ns, span_ns: SECOND, samples: vec![(id, 1)] }).unwrap();
    }
    writer.rotate(START + DAY).unwrap();
    assert_eq!(read(&root, 0..86_400, 0).len(), 2);
    assert_eq!(read(&root, 86_400..2 * 86_400, 0).len(), 1);
    assert_eq!(MonitorReader::open(&root).unwrap().days().unwrap(), [START, START + DAY]);
    // The rows of a minute are as many as its samples.
    assert_eq!(read(&root, 0..86_400, 60 * SECOND).len(), 2);
}

#[test]
fn a_gap_of_days_is_told_on_each_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    let [one, other] = ["a", "b"].map(|port| writer.series(counter(port, 60 * SECOND)).unwrap().0);
    // Noon of day 1 to noon of day 5, while another port is sampled each day.
    let (start_ns, end_ns) = (START + DAY * 3 / 2, START + DAY * 11 / 2);
    for day in 1..8 {
        let time_ns = START + day * DAY - SECOND;
        if day == 6 {
            writer.gap(GapRow { series: one, start_ns, end_ns, ..GapRow::default() }).unwrap();
        }
        writer.samples(Batch { time_ns, span_ns: SECOND, samples: vec![(other, 1)] }).unwrap();
        writer.rotate(time_ns).unwrap();
    }
    let reader = MonitorReader::open(&root).unwrap();
    let told = |day: u64| reader.gaps(&[one], START + day * DAY..START + (day + 1) * DAY).unwrap().len();
    assert_eq!((0..8).map(told).collect::<Vec<_>>(), [0, 1, 1, 1, 1, 1, 0, 0]);
}

#[test]
fn rows_are_exact_parts_of_their_days() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    let id = writer.series(counter("a", SECOND)).unwrap().0;
    // 100 octets from 23:59:30 to 00:00:20.
    let time_ns = START + DAY + 20 * SECOND;
    writer.samples(Batch { time_ns, span_ns: 50 * SECOND, samples: vec![(id, 100)] }).unwrap();
    writer.rotate(time_ns).unwrap();
    drop(writer);
    for width_ns in [60 * SECOND, 3_600 * SECOND] {
        let part = |days: std::ops::Range<u64>| {
            let seconds = days.start * 86_400..days.end * 86_400;
            let rows = read(&root, seconds, width_ns);
            rows.values().map(|row| (row.integral, row.covered_ns, row.samples)).collect::<Vec<_>>()
        };
        assert_eq!(part(0..1), [(60_000_000_000, 30 * SECOND, 0)]);
        assert_eq!(part(1..2), [(40_000_000_000, 20 * SECOND, 1)]);
    }
}

#[test]
fn a_sample_at_midnight_counts_once_beside_rows() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    let id = writer.series(counter("a", 60 * SECOND)).unwrap().0;
    // 10 octets a second, in samples that do not end at midnight.
    for minute in 0..2 * 1_440 {
        let time_ns = START + minute * 60 * SECOND + 90 * SECOND;
        writer.samples(Batch { time_ns, span_ns: 60 * SECOND, samples: vec![(id, 600)] }).unwrap();
        writer.tick(time_ns).unwrap();
    }
    writer.rotate(START + 2 * DAY + 3_600 * SECOND).unwrap();
    // Of the first day only hours are left.
    let retention = Retention { samples_ns: Some(DAY), minutes_ns: Some(0), ..Retention::default() };
    writer.maintainer().run(START + 2 * DAY + 3_600 * SECOND, &retention, &|| true).unwrap();
    for width_ns in [0, 60 * SECOND, 3_600 * SECOND] {
        let rows = read(&root, 0..3 * 86_400, width_ns);
        let sum = rows.values().fold((0, 0), |sum, row| (sum.0 + row.integral, sum.1 + row.covered_ns));
        assert_eq!(sum, (2 * 1_440 * 600_000_000_000, 2 * DAY), "rows of {width_ns} ns");
    }
}

#[test]
fn a_folder_with_other_things_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    let refused = MonitorWriter::open(folder.path(), options(), START).map(drop).unwrap_err();
    assert!(refused.to_string().contains("is no store of a monitor"), "{refused}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, std::slice::from_ref(&notes));
    // One that was killed while it began is gone on with.
    fs::remove_file(notes).unwrap();
    drop(MonitorWriter::open(folder.path(), options(), START).unwrap());
    fs::remove_file(folder.path().join("monitor.json")).unwrap();
    fs::write(folder.path().join("monitor.json.partial-aB3xYz"), "{").unwrap();
    MonitorWriter::open(folder.path(), options(), START).unwrap();
}
