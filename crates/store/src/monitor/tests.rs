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
        .read(&[a.into()], period, 0, width_ns, &mut |piece| {
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
fn a_segment_that_waits_is_not_merged_over() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    let id = writer.series(counter("a", SECOND)).unwrap().0;
    // The table of the fifth segment cannot be written: a folder has its name.
    let in_the_way = root.join("2026-11-27/samples-00000005-00000005.parquet");
    for segment in 1..=17 {
        for second in 0..10 {
            let time_ns = at(segment * 10 + second);
            writer.samples(Batch { time_ns, span_ns: SECOND, samples: vec![(id, second)] }).unwrap();
        }
        if segment == 5 {
            fs::create_dir(&in_the_way).unwrap();
        }
        assert_eq!(writer.rotate(at(segment * 10 + 10)).is_err(), segment >= 5, "segment {segment}");
    }
    for now_ns in [at(1_000), START + 2 * DAY] {
        writer.maintainer().run(now_ns, &Retention::default(), &|| true).unwrap();
        assert_eq!(read(&root, 0..1_000, 0).len(), 170);
    }
    fs::remove_dir(&in_the_way).unwrap();
    writer.rotate(at(1_001)).unwrap();
    assert_eq!((read(&root, 0..1_000, 0).len(), journal_files(&root)), (170, 1));
    // When it is there, all is merged.
    writer.maintainer().run(START + 2 * DAY, &Retention::default(), &|| true).unwrap();
    assert_eq!(read(&root, 0..1_000, 0).len(), 170);
    assert_eq!(day::present(&root.join("2026-11-27")).unwrap().len(), 3, "samples, minutes, hours");
}

fn journal_files(root: &Path) -> usize {
    fs::read_dir(root.join(JOURNAL_FOLDER)).unwrap().count()
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
fn a_sample_at_midnight_counts_once_while_a_day_waits() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    let id = writer.series(counter("a", SECOND)).unwrap().0;
    // 100 octets from 23:59:30 to 00:00:20. Its day cannot be written, and the day before can.
    fs::create_dir_all(root.join("2026-11-28/samples-00000001-00000001.parquet")).unwrap();
    let time_ns = START + DAY + 20 * SECOND;
    writer.samples(Batch { time_ns, span_ns: 50 * SECOND, samples: vec![(id, 100)] }).unwrap();
    assert!(matches!(writer.rotate(time_ns), Err(TickError::Unfolded(_))));
    assert!(root.join("2026-11-27/manifest.json").exists());
    for width_ns in [0, 60 * SECOND, 3_600 * SECOND] {
        let rows = read(&root, 0..2 * 86_400, width_ns);
        let sum = rows.values().fold((0, 0), |sum, row| (sum.0 + row.integral, sum.1 + row.covered_ns));
        assert_eq!(sum, (100_000_000_000, 50 * SECOND), "rows of {width_ns} ns");
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

/// A store of a slow series and a fast one, both with `keep.samples` over, and how many points each has.
#[test]
fn slow_series_outlive_their_samples() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    // An answer an hour, and one a day.
    let hourly = writer.series(counter("a", 3_600 * SECOND)).unwrap().0;
    let daily = writer.series(counter("b", 86_400 * SECOND)).unwrap().0;
    for hour in 1..=48 {
        let time_ns = START + hour * 3_600 * SECOND;
        writer.samples(Batch { time_ns, span_ns: 3_600 * SECOND, samples: vec![(hourly, 3_600_000)] }).unwrap();
        if hour % 24 == 0 {
            writer.samples(Batch { time_ns, span_ns: DAY, samples: vec![(daily, 86_400)] }).unwrap();
        }
    }
    writer.rotate(START + 3 * DAY).unwrap();
    let retention = Retention { samples_ns: Some(90 * DAY), ..Retention::default() };
    writer.maintainer().run(START + 100 * DAY, &retention, &|| true).unwrap();
    let reader = MonitorReader::open(&root).unwrap();
    for (series, amount) in [(hourly, 48 * 3_600_000), (daily, 2 * 86_400)] {
        let of = reader.series().unwrap().into_iter().find(|one| one.id == series).unwrap();
        let mut sum = (0, 0);
        let wanted = [Wanted::from(&of)];
        reader
            .read(&wanted, START..START + 3 * DAY, 0, 0, &mut |piece| {
                sum = (sum.0 + piece.row.integral, sum.1 + piece.row.covered_ns);
            })
            .unwrap();
        assert_eq!(sum, (u128::from(amount * SECOND), 2 * DAY));
    }
}

#[test]
fn rows_hold_the_largest_gauges() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    let gauge = Series { kind: Kind::Gauge, ..counter("a", 60 * SECOND) };
    let id = writer.series(gauge).unwrap().0;
    // 10 PB, nanoseconds since 1970, and the greatest of all.
    let values = [10_000_000_000_000_000, 1_795_000_000_000_000_000, u64::MAX];
    for (hour, value) in values.into_iter().enumerate() {
        for minute in 1..=60 {
            let time_ns = START + (hour as u64 * 60 + minute) * 60 * SECOND;
            writer.samples(Batch { time_ns, span_ns: 60 * SECOND, samples: vec![(id, value)] }).unwrap();
        }
    }
    writer.rotate(START + DAY / 2).unwrap();
    let rows = read(&root, 0..3 * 3_600, 3_600 * SECOND);
    for (hour, value) in values.into_iter().enumerate() {
        let row = rows[&(START + hour as u64 * 3_600 * SECOND)];
        let expected = u128::from(value) * 1_000_000;
        assert_eq!((row.least, row.mean(), row.most, row.samples), (expected, expected, expected, 60), "{value}");
    }
}

/// Flips a bit of a file, so many bytes before its end.
fn damage(path: &Path, before_end: impl FnOnce(usize) -> usize) {
    let mut bytes = fs::read(path).unwrap();
    let length = bytes.len();
    bytes[length - before_end(length)] ^= 4;
    fs::write(path, bytes).unwrap();
}

fn of_kind(folder: &Path, stem: &str) -> std::path::PathBuf {
    let mut paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(stem)).unwrap()
}

#[test]
fn a_damaged_segment_is_kept_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    drop(record(&root, 0..100));
    damage(&root.join("journal/00000001.journal"), |length| length / 2);
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    let told: Vec<String> = writer.take_damage().iter().map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].contains("00000001.damaged"), "{told:?}");
    assert!(writer.take_damage().is_empty());
    // A flipped bit costs two seconds at most.
    assert!(read(&root, 0..100, 0).len() >= 98);
    assert_eq!(verify_journal(&root).unwrap().iter().filter(|(_, records)| records.is_err()).count(), 1);
    drop(writer);
    // Its number is not given again.
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    assert!(writer.take_damage().is_empty() && root.join("journal/00000001.damaged").exists());
}

#[test]
fn samples_without_a_series_are_nobodys() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    // Damage took the record that defines it.
    let lost = vec![(1, 1_000)];
    writer.samples(Batch { time_ns: START + SECOND, span_ns: SECOND, samples: lost }).unwrap();
    writer.rotate(START + 2 * SECOND).unwrap();
    let told: Vec<String> = writer.take_damage().iter().map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].contains("nothing defines the series of 1 of their samples"), "{told:?}");
    assert_eq!(writer.series(counter("a", SECOND)).unwrap(), (1, true));
    writer.rotate(START + 3 * SECOND).unwrap();
    assert!(read(&root, 0..100, 0).is_empty());
}

#[test]
fn a_damaged_table_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = record(&root, 0..100);
    writer.rotate(START + 100 * SECOND).unwrap();
    drop(writer);
    damage(&of_kind(&root.join("2026-11-27"), "samples-"), |_| 40);
    let mut writer = MonitorWriter::open(&root, options(), START + DAY).unwrap();
    assert_eq!((writer.take_damage().len(), writer.last_ns()), (1, None));
    let id = writer.series(counter("a", SECOND)).unwrap().0;
    writer.samples(Batch { time_ns: START + DAY, span_ns: SECOND, samples: vec![(id, 1)] }).unwrap();
    writer.rotate(START + DAY + SECOND).unwrap();
    assert_eq!(read(&root, 86_400..86_401, 0).len(), 1);
}

#[test]
fn damage_holds_up_no_other_day() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    let id = writer.series(counter("a", SECOND)).unwrap().0;
    for day in 0..3 {
        for half in 0..2 {
            for second in 0..100 {
                let time_ns = START + day * DAY + (half * 1_000 + second + 1) * SECOND;
                writer.samples(Batch { time_ns, span_ns: SECOND, samples: vec![(id, 1)] }).unwrap();
            }
            writer.rotate(START + day * DAY + 2_000 * SECOND).unwrap();
        }
    }
    let maintainer = writer.maintainer();
    damage(&of_kind(&root.join("2026-11-27"), "hours-"), |length| length / 2);
    let retention = Retention { samples_ns: Some(DAY), ..Retention::default() };
    let failed = maintainer.run(START + 10 * DAY, &retention, &|| true).unwrap_err().to_string();
    assert!(failed.contains("2026-11-27/hours-"), "{failed}");
    // Of the other days, samples are deleted and minutes are in one table.
    for day in ["2026-11-28", "2026-11-29"] {
        let mut names: Vec<String> =
            day::present(&root.join(day)).unwrap().iter().map(|table| table.stem.to_owned()).collect();
        names.sort();
        assert_eq!(names, ["hours", "minutes"], "{day}");
    }
}

/// A store of four days of a port, with a gap on each day, one over the first midnight and one over the first three: how many samples
/// each day has.
fn four_days(root: &Path) -> u64 {
    let mut writer = MonitorWriter::open(root, options(), START).unwrap();
    let id = writer.series(counter("a", SECOND)).unwrap().0;
    for day in 0..4 {
        let begin = START + day * DAY;
        for second in 1..=100 {
            writer
                .samples(Batch { time_ns: begin + second * SECOND, span_ns: SECOND, samples: vec![(id, 1)] })
                .unwrap();
        }
        let mut gap = |start_ns, end_ns| writer.gap(GapRow { series: id, start_ns, end_ns, ..GapRow::default() });
        gap(begin + 200 * SECOND, begin + 201 * SECOND).unwrap();
        if day == 1 {
            gap(begin - 7 * SECOND, begin - SECOND / 2).unwrap();
            gap(begin - 5 * SECOND, begin + 5 * SECOND).unwrap();
        }
        if day == 3 {
            gap(START + 300 * SECOND, begin + 5 * SECOND).unwrap();
        }
        writer.rotate(begin + 300 * SECOND).unwrap();
    }
    100
}

#[test]
fn damage_ends_no_question_about_other_days() {
    let remove: fn(&Path) = |day| fs::remove_file(day.join("manifest.json")).unwrap();
    let flip_manifest: fn(&Path) = |day| damage(&day.join("manifest.json"), |length| length / 2);
    let flip_gaps: fn(&Path) = |day| damage(&of_kind(day, "gaps-"), |length| length / 2);
    let flip_samples: fn(&Path) = |day| damage(&of_kind(day, "samples-"), |length| length / 2);
    for harm in [remove, flip_manifest, flip_gaps, flip_samples] {
        for harmed in 0..4 {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("store");
            let samples = four_days(&root);
            harm(&root.join(["2026-11-27", "2026-11-28", "2026-11-29", "2026-11-30"][harmed as usize]));
            // Records that wait for that day.
            let mut writer = MonitorWriter::open(&root, options(), START + 4 * DAY).unwrap();
            let time_ns = START + harmed * DAY + 400 * SECOND;
            writer.samples(Batch { time_ns, span_ns: SECOND, samples: vec![(1, 1)] }).unwrap();
            let _ = writer.rotate(START + 4 * DAY);
            let reader = MonitorReader::open(&root).unwrap();
            for day in (0..4).filter(|day| *day != harmed) {
                let what = format!("day {day} while day {harmed} is harmed");
                // Until midnight, which belongs to the next day.
                let period = day * 86_400 + 1..(day + 1) * 86_400;
                assert_eq!(read(&root, period.clone(), 0).len() as u64, samples, "{what}");
                assert!(!read(&root, period, 3_600 * SECOND).is_empty(), "{what}");
                let gaps = reader.gaps(&[1], START + day * DAY..START + (day + 1) * DAY).expect(&what);
                // Its own, the one over the first midnight, and the long one, where the day in which they end can be read.
                let own = [2, 1, 1, 1][day as usize];
                let over_midnight = usize::from(day == 1 || day == 0 && harmed != 1);
                let least = own + over_midnight + usize::from(harmed != 3);
                assert!(gaps.len() >= least, "{what}: {gaps:?}");
            }
        }
    }
}

#[test]
fn a_day_without_its_manifest_is_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = record(&root, 0..100);
    writer.rotate(START + 100 * SECOND).unwrap();
    drop(writer);
    let day = root.join("2026-11-27");
    let manifest = fs::read(day.join("manifest.json")).unwrap();
    fs::remove_file(day.join("manifest.json")).unwrap();
    let before = fs::read_dir(&day).unwrap().count();
    let reader = MonitorReader::open(&root).unwrap();
    let wanted: Vec<Wanted> = reader.series().unwrap().iter().map(Wanted::from).collect();
    let refused = reader.read(&wanted, START..START + DAY, 0, 0, &mut |_| {}).unwrap_err().to_string();
    assert!(refused.contains("2026-11-27/manifest.json: it is missing"), "{refused}");
    assert!(verify_day(&root, &day).is_err());
    // The monitor goes on. What belongs to that day waits in the journal.
    let mut writer = MonitorWriter::open(&root, options(), START + 200 * SECOND).unwrap();
    assert_eq!(writer.take_damage().len(), 1);
    let id = writer.series(counter("a", SECOND)).unwrap().0;
    writer.samples(Batch { time_ns: at(300), span_ns: SECOND, samples: vec![(id, 7)] }).unwrap();
    writer.rotate(START + 301 * SECOND).unwrap_err();
    assert_eq!(fs::read_dir(&day).unwrap().count(), before);
    // The manifest is put back.
    fs::write(day.join("manifest.json"), manifest).unwrap();
    writer.rotate(START + 302 * SECOND).unwrap();
    assert_eq!(read(&root, 0..400, 0).len(), 101);
}

#[test]
fn a_clock_that_was_ahead_is_not_the_last_time() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let mut writer = MonitorWriter::open(&root, options(), START).unwrap();
    let id = writer.series(counter("a", SECOND)).unwrap().0;
    for time_ns in [START + SECOND, START + 5_000 * SECOND, START + 365 * DAY] {
        writer.samples(Batch { time_ns, span_ns: SECOND, samples: vec![(id, 1)] }).unwrap();
    }
    writer.rotate(START + 2 * SECOND).unwrap();
    drop(writer);
    let last = |now_ns| MonitorWriter::open(&root, options(), now_ns).unwrap().last_ns();
    assert_eq!(last(START + 10 * SECOND), Some(START + SECOND));
    assert_eq!(last(START + DAY), Some(START + 5_000 * SECOND));
    assert_eq!(last(START + 366 * DAY), Some(START + 365 * DAY));
}
