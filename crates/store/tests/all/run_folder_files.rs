//! Run folders: every table's rows come back, names appear only when complete, and cut runs say so.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support;
use flowloom_core::record::{
    ConnectionRecord, DropReason, DropRecord, EpochRecord, Outcome, PacketKind, QueueSample, Record, Recorder, Series,
    ThroughputBin, Traffic,
};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, LinkSide, Pattern, Side, Span};
use flowloom_store::run_folder::{
    ActivePoint, ActiveRow, Point, RunFolder, RunFolderError, RunIndex, RunOptions, RunWriter, ThroughputRow,
    TrafficPoint,
};
use flowloom_store::{FileError, manifest, workload};
use proptest::prelude::*;
use serde_json::json;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

fn rows<R, E: std::fmt::Debug>(rows: Result<impl Iterator<Item = Result<R, FileError>>, E>) -> Vec<R> {
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

fn vector() -> ConnectionVector {
    support::plain(1, Duration::ZERO).next().unwrap()
}

fn record(vector: &ConnectionVector, outcome: Outcome) -> ConnectionRecord {
    ConnectionRecord {
        class: 0,
        id: vector.id,
        start: vector.start,
        outcome,
        established: Some(vector.start + ms(41)),
        first_data: Some(vector.start + ms(42)),
        last_data: Some(vector.start + ms(142)),
        closed: Some(vector.start + ms(150)),
        rtt: ms(41),
        retransmissions: 2,
        timeouts: 1,
        delivered_bytes: [300, 10_000],
        carried_bytes: None,
    }
}

fn create(target: &Path) -> RunWriter {
    RunWriter::create(target, RunOptions { queue_interval: ms(10), ..RunOptions::default() }).unwrap()
}

/// A folder to put run folders in.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn run(&self) -> PathBuf {
        self.0.path().join("run")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_connection_is_seen_from_three_points() {
    let folder = Folder::new();
    let mut writer = create(&folder.run());
    let original = vector();
    let mut monitor = original.clone();
    monitor.start = at(3);
    monitor.adus[1].seen = monitor.adus[1].seen.map(|seen| Span { last: ms(140), ..seen });
    monitor.t_close = Some(ms(2_000));
    let epoch = EpochRecord { connection: 0, epoch: 0, intended: Some(at(40)), start: at(45), end: Some(at(160)) };
    let ended = record(&original, Outcome::Completed);
    let monitor = Some(&monitor);
    writer.record(Record::Connection { original: &original, ended: &ended, epochs: &[epoch], monitor }).unwrap();
    writer.finish(&json!({}), &json!({})).unwrap();
    let run = RunFolder::open(&folder.run()).unwrap();

    let connections = rows(run.connections());
    let [row] = &connections[..] else { panic!("{connections:?}") };
    assert_eq!((row.id, row.start, row.pattern, row.complete), (0, at(0), Pattern::Sequential, true));
    assert_eq!((row.initiator_bytes, row.acceptor_bytes), (300, 10_000));
    assert_eq!((row.original_duration, row.original_end), (Some(ms(80)), Some(at(127))));
    assert_eq!((row.monitor_start, row.monitor_duration), (Some(at(3)), Some(ms(98))));
    assert_eq!(row.monitor_end, Some(at(3 + 140 + 2_000)));
    assert_eq!(row.endpoint_duration, Some(ms(100)));
    assert_eq!((row.original_rtt, row.path_rtt), (Some(ms(41)), ms(41)));
    assert_eq!((row.delivered_to_acceptor_bytes, row.delivered_to_initiator_bytes), (300, 10_000));

    let epochs = rows(run.epochs());
    let seen: Vec<_> = epochs.iter().map(|row| (row.point, row.start.unwrap(), row.response)).collect();
    assert_eq!(
        seen,
        [
            (Point::Original, at(42), Some(ms(80))),
            (Point::Monitor, at(45), Some(ms(98))),
            (Point::Endpoint, at(45), Some(ms(115))),
        ]
    );
    assert!(epochs.iter().all(|row| (row.request_bytes, row.response_bytes) == (Some(300), Some(10_000))));

    let adus = rows(run.adus());
    let seen: Vec<_> = adus.iter().map(|row| (row.point, row.index, row.side, row.first.unwrap(), row.wait)).collect();
    assert_eq!(
        seen,
        [
            (Point::Original, 0, Side::Initiator, at(42), Some(ms(60))),
            (Point::Original, 1, Side::Acceptor, at(112), None),
            (Point::Monitor, 0, Side::Initiator, at(45), Some(ms(60))),
            (Point::Monitor, 1, Side::Acceptor, at(115), None),
        ]
    );

    let active = |point, seconds: u64, connections| ActiveRow { point, time: at(seconds * 1_000), connections };
    assert_eq!(
        rows(run.active()),
        [
            active(ActivePoint::Original, 0, 1),
            active(ActivePoint::Original, 1, 0),
            active(ActivePoint::Replay, 1, 1),
            active(ActivePoint::Replay, 3, 0),
        ]
    );
}

#[test]
fn half_and_cut_epochs_have_no_response_time() {
    let folder = Folder::new();
    let options = RunOptions { original_duration: Some(ms(1_000)), ..RunOptions::default() };
    let mut writer = RunWriter::create(&folder.run(), options).unwrap();
    let adu = |side, first: u64, last: u64| Adu {
        side,
        bytes: 10,
        missing_bytes: 0,
        wait: None,
        waiter: side,
        seen: Some(Span { first: ms(first), last: ms(last) }),
        packets: None,
    };
    // The acceptor greets, then one exchange that ends `last` ms into a record of one second, without a close.
    let greeted = |id, last| ConnectionVector {
        id,
        close: Close::NotSeen,
        t_close: None,
        adus: vec![adu(Side::Acceptor, 5, 6), adu(Side::Initiator, 50, 50), adu(Side::Acceptor, 90, last)],
        ..vector()
    };
    for (id, last) in [(0, 400), (1, 999)] {
        let vector = greeted(id, last);
        let unfinished = record(&vector, Outcome::Unfinished);
        let monitor = Some(&vector);
        writer.record(Record::Connection { original: &vector, ended: &unfinished, epochs: &[], monitor }).unwrap();
    }
    writer.finish(&json!({}), &json!({})).unwrap();
    let epochs = rows(RunFolder::open(&folder.run()).unwrap().epochs());
    let seen: Vec<_> = epochs.iter().map(|row| (row.point, row.connection, row.epoch, row.response)).collect();
    assert_eq!(
        seen,
        [
            (Point::Original, 0, 0, None),
            (Point::Original, 0, 1, Some(ms(350))),
            (Point::Monitor, 0, 0, None),
            (Point::Monitor, 0, 1, None),
            (Point::Original, 1, 0, None),
            (Point::Original, 1, 1, None),
            (Point::Monitor, 1, 0, None),
            (Point::Monitor, 1, 1, None),
        ],
        "the greeting is a half epoch; quiet for 600 ms before the end is over, for 1 ms is cut; unfinished is cut"
    );
    assert_eq!((epochs[0].request_bytes, epochs[0].response_bytes), (None, Some(10)));
}

#[test]
fn throughput_comes_from_the_original_and_the_replay() {
    let folder = Folder::new();
    let mut writer = create(&folder.run());
    let traffic = |packets| Traffic { packets, bytes: packets * 100, payload_bytes: packets * 60 };
    let mut series = Series::new(ms(1));
    series.add(at(7), traffic(2));
    writer.original_traffic(TrafficPoint::Original, LinkSide::Left, &series).unwrap();
    writer.original_traffic(TrafficPoint::SetAside, LinkSide::Right, &series).unwrap();
    let bin = ThroughputBin {
        start: at(8),
        width: ms(1),
        link: 5,
        from: LinkSide::Left,
        offered: traffic(3),
        carried: Traffic::default(),
    };
    writer.record(Record::Throughput { bin: &bin }).unwrap();
    writer.finish(&json!({}), &json!({})).unwrap();
    let row = |point, from, link, start, packets| ThroughputRow {
        point,
        link,
        from,
        start: at(start),
        width: ms(1),
        traffic: traffic(packets),
    };
    assert_eq!(
        rows(RunFolder::open(&folder.run()).unwrap().throughput()),
        [
            row(TrafficPoint::Original, LinkSide::Left, 0, 7, 2),
            row(TrafficPoint::SetAside, LinkSide::Right, 1, 7, 2),
            row(TrafficPoint::ReplayOffered, LinkSide::Left, 5, 8, 3),
        ],
        "nothing was carried in the bin, so no row says so"
    );
}

fn sample() -> impl Strategy<Value = QueueSample> {
    let fields = (any::<u64>(), any::<u16>(), support::link_side(), 1u64.., any::<u64>());
    fields.prop_map(|(time, link, from, packets, bytes)| QueueSample {
        time: Time::from_nanos(time),
        link,
        from,
        packets,
        bytes,
    })
}

fn dropped() -> impl Strategy<Value = DropRecord> {
    let kind = prop::sample::select(vec![PacketKind::Data, PacketKind::Ack, PacketKind::Control]);
    let reason = prop::sample::select(vec![DropReason::QueueFull, DropReason::Loss]);
    (any::<u64>(), any::<u64>(), support::link_side(), kind, any::<u32>(), reason, any::<Option<u16>>()).prop_map(
        |(time, connection, from, kind, bytes, reason, link)| DropRecord {
            time: Time::from_nanos(time),
            connection,
            from,
            kind,
            bytes,
            reason,
            link,
        },
    )
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop::sample::select(vec![Outcome::Completed, Outcome::Reset, Outcome::Unfinished])
}

fn time() -> impl Strategy<Value = Option<Time>> {
    prop::option::of(any::<u64>().prop_map(Time::from_nanos))
}

fn connection() -> impl Strategy<Value = (ConnectionVector, ConnectionRecord, Option<ConnectionVector>)> {
    let numbers = (support::duration(), any::<u64>(), any::<u64>(), any::<[u64; 2]>());
    let times = [time(), time(), time(), time()];
    (support::vector(), outcome(), times, numbers, prop::option::of(support::vector())).prop_map(
        |(vector, outcome, [established, first_data, last_data, closed], numbers, monitor)| {
            let (rtt, retransmissions, timeouts, delivered_bytes) = numbers;
            let (id, start) = (vector.id, vector.start);
            // Segment counts are added up.
            let mut vector = vector;
            for side in Side::BOTH {
                if let Some(segments) = &mut vector.ends[side].segments {
                    segments.lost_before >>= 5;
                    let repeated = &mut segments.repeated;
                    for count in [&mut repeated.timeout, &mut repeated.fast, &mut repeated.other, &mut repeated.unknown]
                    {
                        *count >>= 5;
                    }
                }
            }
            let record = ConnectionRecord {
                class: 0,
                id,
                start,
                outcome,
                established,
                first_data,
                last_data,
                closed,
                rtt,
                retransmissions,
                timeouts,
                delivered_bytes,
                carried_bytes: None,
            };
            (vector, record, monitor)
        },
    )
}

fn bytes_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_in_comes_out_and_equal_runs_give_equal_bytes(
        connections in prop::collection::vec(connection(), 0..20),
        samples in prop::collection::vec(sample(), 0..20),
        drops in prop::collection::vec(dropped(), 0..20),
    ) {
        let folder = Folder::new();
        let write = |target: &Path| {
            let mut writer = create(target);
            for (vector, record, monitor) in &connections {
                let monitor = monitor.as_ref();
                writer.record(Record::Connection { original: vector, ended: record, epochs: &[], monitor }).unwrap();
            }
            samples.iter().for_each(|sample| writer.record(Record::Queue { sample }).unwrap());
            drops.iter().for_each(|packet| writer.record(Record::Dropped { packet }).unwrap());
            writer.finish(&json!({ "seed": 1, "a": [1, 2] }), &json!({ "cores": 2 })).unwrap();
        };
        let again = folder.0.path().join("again");
        write(&folder.run());
        write(&again);
        prop_assert_eq!(bytes_of(&folder.run()), bytes_of(&again));

        let run = RunFolder::open(&folder.run()).unwrap();
        prop_assert!(run.complete());
        prop_assert_eq!(&run.run()["seed"], &json!(1));
        prop_assert_eq!(run.host(), &json!({ "cores": 2 }));
        prop_assert_eq!(run.queue_interval().unwrap(), ms(10));
        prop_assert_eq!(rows(run.queue()), samples);
        prop_assert_eq!(rows(run.drops()), drops);
        let read = rows(run.connections());
        prop_assert_eq!(read.len(), connections.len());
        for (row, (vector, record, monitor)) in read.iter().zip(&connections) {
            prop_assert_eq!((row.id, row.start, row.pattern), (vector.id, vector.start, vector.pattern));
            prop_assert_eq!((row.outcome, row.established, row.closed), (record.outcome, record.established, record.closed));
            prop_assert_eq!((row.first_data, row.last_data), (record.first_data, record.last_data));
            prop_assert_eq!((row.retransmissions, row.timeouts), (record.retransmissions, record.timeouts));
            prop_assert_eq!(row.monitor_duration, monitor.as_ref().and_then(ConnectionVector::duration));
            prop_assert_eq!(row.monitor_rtt, monitor.as_ref().and_then(ConnectionVector::min_rtt));
            prop_assert_eq!(row.original_end, vector.end());
        }
        let adus: usize = connections
            .iter()
            .map(|(vector, _, monitor)| vector.adus.len() + monitor.as_ref().map_or(0, |monitor| monitor.adus.len()))
            .sum();
        prop_assert_eq!(rows(run.adus()).len(), adus);
    }
}

#[test]
fn the_folder_has_its_name_only_when_complete() {
    let folder = Folder::new();
    let writer = create(&folder.run());
    assert!(!folder.run().exists() && folder.names().len() == 1);
    writer.finish(&json!({}), &json!({})).unwrap();
    assert_eq!(folder.names(), ["run"]);
}

#[test]
fn a_writer_dropped_before_it_recorded_anything_leaves_nothing() {
    let folder = Folder::new();
    drop(create(&folder.run()));
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_cut_run_can_be_read_and_says_so() {
    let folder = Folder::new();
    let mut writer = create(&folder.run());
    let sample = QueueSample { time: at(10), link: 0, from: LinkSide::Left, packets: 1, bytes: 1_514 };
    writer.record(Record::Queue { sample: &sample }).unwrap();
    drop(writer);
    let names = folder.names();
    assert!(names.len() == 1 && names[0].starts_with("run.partial-"), "{names:?}");
    let run = RunFolder::open(&folder.0.path().join(&names[0])).unwrap();
    assert!(!run.complete() && !run.recorded());
    assert!(run.run()["reason"].as_str().unwrap().contains("before the run was over"));
    assert_eq!(rows(run.queue()).len(), 1);
    assert_eq!(rows(run.connections()), []);
}

#[test]
fn a_program_that_fails_leaves_no_folder() {
    let folder = Folder::new();
    let mut writer = create(&folder.run());
    let sample = QueueSample { time: at(10), link: 0, from: LinkSide::Left, packets: 1, bytes: 1_514 };
    writer.record(Record::Queue { sample: &sample }).unwrap();
    let failed = std::thread::spawn(move || {
        let _writer = writer;
        std::panic::resume_unwind(Box::new("a fault"));
    });
    assert!(failed.join().is_err());
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn a_closed_run_can_be_read_before_it_is_finished() {
    let folder = Folder::new();
    let sample = QueueSample { time: at(10), link: 0, from: LinkSide::Left, packets: 1, bytes: 1_514 };
    let close = || {
        let mut writer = create(&folder.run());
        writer.record(Record::Queue { sample: &sample }).unwrap();
        let open = writer.close(&json!({ "seed": 5 }), &json!({ "cores": 2 })).unwrap();
        assert_eq!(open, writer.folder());
        let run = RunFolder::open(&open).unwrap();
        assert!(!run.complete());
        assert_eq!(rows(run.queue()), [sample]);
        assert!(matches!(writer.record(Record::Queue { sample: &sample }), Err(RunFolderError::Closed)));
        (writer, open)
    };
    // Dropped now, it keeps what it said.
    let (writer, open) = close();
    drop(writer);
    let run = RunFolder::open(&open).unwrap();
    assert!(!run.complete() && run.run()["seed"] == 5 && run.run()["reason"].is_string());
    assert!(run.recorded(), "its tables were closed by themselves");
    assert_eq!(run.host(), &json!({ "cores": 2 }));

    let (writer, _) = close();
    writer.finish(&json!({ "seed": 5, "verdict": "same" }), &json!({})).unwrap();
    let run = RunFolder::open(&folder.run()).unwrap();
    assert!(run.complete() && run.run()["verdict"] == "same");
    assert_eq!(rows(run.queue()), [sample]);
}

#[test]
fn an_interrupted_run_is_finished_and_says_so() {
    let folder = Folder::new();
    let writer = create(&folder.run());
    writer.finish(&json!({ "complete": false }), &json!({})).unwrap();
    assert!(!RunFolder::open(&folder.run()).unwrap().complete());
}

#[test]
fn what_exists_is_replaced_only_on_request_and_only_if_it_is_a_run() {
    let folder = Folder::new();
    let replace = RunOptions { replace: true, ..RunOptions::default() };
    let finish = |options, title: &str| {
        RunWriter::create(&folder.run(), options)?.finish(&json!({ "title": title }), &json!({}))
    };
    fs::create_dir(folder.run()).unwrap();
    finish(RunOptions::default(), "into an empty folder").unwrap();

    let error = finish(RunOptions::default(), "second").unwrap_err();
    assert!(matches!(error, RunFolderError::Exists { .. }));
    assert!(error.to_string().contains("--force") && error.to_string().contains("-o"), "{error}");
    assert_eq!(RunFolder::open(&folder.run()).unwrap().run()["title"], "into an empty folder");

    finish(replace, "second").unwrap();
    assert_eq!(RunFolder::open(&folder.run()).unwrap().run()["title"], "second");
    assert_eq!(folder.names(), ["run"], "nothing of the first is left");

    fs::remove_file(folder.run().join("run.json")).unwrap();
    let error = finish(replace, "third").unwrap_err();
    assert!(matches!(error, RunFolderError::NotReplaceable { .. }), "{error}");
    assert!(folder.run().join("queue.parquet").exists(), "a folder that is not a run's is left alone");

    fs::remove_dir_all(folder.run()).unwrap();
    fs::write(folder.run(), "a file").unwrap();
    assert!(matches!(finish(RunOptions::default(), "").unwrap_err(), RunFolderError::Exists { .. }));
    assert!(matches!(finish(replace, "").unwrap_err(), RunFolderError::NotReplaceable { .. }));
}

#[test]
fn a_run_that_was_stopped_replaces_nothing() {
    let folder = Folder::new();
    let replace = RunOptions { replace: true, ..RunOptions::default() };
    let finish = |complete: bool| {
        let writer = RunWriter::create(&folder.run(), replace).unwrap();
        writer.finish(&json!({ "complete": complete }), &json!({})).unwrap()
    };
    assert_eq!(finish(false), folder.run(), "there was nothing");
    assert_eq!(finish(true), folder.run(), "a complete run replaces a part");
    let part = |name: &str| folder.run().with_file_name(name);
    assert_eq!([finish(false), finish(false)], [part("run.part"), part("run.part-2")]);
    assert!(RunFolder::open(&folder.run()).unwrap().complete());
    assert!(!RunFolder::open(&part("run.part-2")).unwrap().complete());
    let whole = RunIndex::prepare(&folder.run(), true).unwrap();
    create(&RunIndex::seed_folder(whole.path(), 3)).finish(&json!({}), &json!({})).unwrap();
    RunIndex::of_seeds([3]).write(whole.path()).unwrap();
    assert_eq!(whole.finish(false).unwrap(), part("run.part-3"));
}

#[test]
fn files_that_no_run_wrote_are_not_replaced() {
    let folder = Folder::new();
    let check = || RunWriter::check(&folder.run(), true).map_err(|error| error.to_string());
    create(&folder.run()).finish(&json!({}), &json!({})).unwrap();
    check().unwrap();
    fs::write(folder.run().join("export.json"), "{}").unwrap();
    manifest::list(&folder.run().join("export.json")).unwrap();
    check().unwrap();
    let writer = RunWriter::create(&folder.run(), RunOptions { replace: true, ..RunOptions::default() }).unwrap();
    fs::write(folder.run().join("notes.md"), "mine").unwrap();
    let said = check().unwrap_err();
    assert!(said.contains("run holds what no run wrote") && said.contains(": notes.md; move that"), "{said}");
    let RunFolderError::NotNamed { left, reason } = writer.finish(&json!({}), &json!({})).unwrap_err() else {
        panic!("the file came while the run went on")
    };
    assert!(matches!(*reason, RunFolderError::Foreign { .. }) && RunFolder::open(&left).is_ok());

    let several = folder.run().with_file_name("several");
    for seed in [1, 2] {
        create(&RunIndex::seed_folder(&several, seed)).finish(&json!({ "seed": seed }), &json!({})).unwrap();
    }
    RunIndex::of_seeds([1, 2]).write(&several).unwrap();
    let check = || RunIndex::check(&several, true).map_err(|error| error.to_string());
    check().unwrap();
    fs::create_dir(several.join("seed-9")).unwrap();
    for name in ["seed-2/plot.py", "a.csv", "z.csv"] {
        fs::write(several.join(name), "").unwrap();
    }
    let said = check().unwrap_err();
    assert!(said.contains(": a.csv, seed-9, z.csv and 1 more; move that"), "{said}");
}

#[test]
fn a_name_taken_while_the_run_went_on_is_not_taken_over() {
    let folder = Folder::new();
    let writer = create(&folder.run());
    fs::create_dir(folder.run()).unwrap();
    fs::write(folder.run().join("notes.txt"), "mine").unwrap();
    let error = writer.finish(&json!({ "seed": 7 }), &json!({})).unwrap_err();
    let RunFolderError::NotNamed { left, reason } = &error else { panic!("{error}") };
    assert!(matches!(**reason, RunFolderError::Exists { .. }));
    assert!(error.to_string().contains(left.to_str().unwrap()), "{error}");
    assert_eq!(fs::read(folder.run().join("notes.txt")).unwrap(), b"mine");
    let run = RunFolder::open(left).unwrap();
    assert!(run.complete() && run.run()["seed"] == 7, "the finished run is not lost");
}

#[test]
fn an_unwritable_place_is_named_before_the_run() {
    let folder = Folder::new();
    let deeper = folder.run().join("deeper/run");
    fs::write(folder.run(), "a file").unwrap();
    let error = RunWriter::create(&deeper, RunOptions::default()).err().unwrap().to_string();
    assert!(error.contains("deeper/run") && error.contains("Not a directory"), "{error}");
    fs::remove_file(folder.run()).unwrap();
    drop(RunWriter::create(&deeper, RunOptions::default()).unwrap());
    assert_eq!(
        fs::read_dir(deeper.parent().unwrap()).unwrap().count(),
        0,
        "the folders above are made, and nothing is left in them"
    );
}

#[test]
fn what_is_no_run_folder_is_refused() {
    let folder = Folder::new();
    let open = || RunFolder::open(&folder.run()).unwrap_err();
    assert!(open().to_string().contains("No such file"), "missing: {}", open());
    fs::create_dir(folder.run()).unwrap();
    for content in ["", "{", "[1]", "{}", r#"{"format": "run"}"#, r#"{"format": "lace", "version": 1}"#] {
        fs::write(folder.run().join("run.json"), content).unwrap();
        assert!(matches!(open(), RunFolderError::NotARun { .. }), "{content}");
    }
    fs::write(folder.run().join("run.json"), r#"{"format": "run", "version": 9}"#).unwrap();
    let error = open();
    assert!(matches!(error, RunFolderError::Newer { found: 9, .. }), "{error}");
    assert!(error.to_string().contains("version 9") && error.to_string().contains("version 2"), "{error}");
    fs::write(folder.run().join("run.json"), r#"{"format": "run", "version": 1}"#).unwrap();
    let run = RunFolder::open(&folder.run()).unwrap();
    assert!(!run.complete(), "a run that does not say it is complete is not");
    assert!(matches!(run.queue().err().unwrap(), FileError::Read { .. }), "its tables are missing");
}

#[test]
fn a_table_is_not_taken_for_another() {
    let folder = Folder::new();
    create(&folder.run()).finish(&json!({}), &json!({})).unwrap();
    fs::copy(folder.run().join("drops.parquet"), folder.run().join("queue.parquet")).unwrap();
    let error = RunFolder::open(&folder.run()).unwrap().queue().err().unwrap();
    assert!(matches!(&error, FileError::OtherFormat { found, .. } if found == "drops"), "{error}");
    let error = workload::WorkloadReader::open(&folder.run().join("drops.parquet")).err().unwrap();
    assert!(matches!(error, FileError::OtherFormat { .. }), "{error}");
}

#[test]
fn runs_of_several_seeds_share_an_index() {
    let folder = Folder::new();
    for seed in [3, 1] {
        create(&RunIndex::seed_folder(&folder.run(), seed)).finish(&json!({ "seed": seed }), &json!({})).unwrap();
    }
    let index = RunIndex::of_seeds([3, 1]);
    index.write(&folder.run()).unwrap();
    let read = RunIndex::open(&folder.run()).unwrap();
    let named = |index: &RunIndex| index.runs.iter().map(|run| (run.seed, run.folder.clone())).collect::<Vec<_>>();
    assert_eq!(named(&read), named(&index));
    assert!(read.runs.iter().all(|run| run.run_sha256.as_ref().is_some_and(|digest| digest.len() == 64)));
    let runs = RunFolder::open_all(&folder.run()).unwrap();
    let seeds: Vec<_> = runs.iter().map(|run| run.run()["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [3, 1], "in the order of the experiment");
    assert_eq!(RunFolder::open_all(runs[0].path()).unwrap().len(), 1, "one of them opens alone");
    assert!(matches!(RunIndex::prepare(&folder.run(), false).unwrap_err(), RunFolderError::Exists { .. }));
    let staged = RunIndex::prepare(&folder.run(), true).unwrap();
    assert!(staged.path() != folder.run() && staged.replaces(), "nothing is replaced before all is there");
}

#[test]
fn one_run_and_several_replace_each_other() {
    let folder = Folder::new();
    create(&folder.run()).finish(&json!({ "seed": 7 }), &json!({})).unwrap();
    let several = |finishes: bool| {
        let whole = RunIndex::prepare(&folder.run(), true).unwrap();
        for seed in [1, 2] {
            create(&RunIndex::seed_folder(whole.path(), seed)).finish(&json!({ "seed": seed }), &json!({})).unwrap();
        }
        RunIndex::of_seeds([1, 2]).write(whole.path()).unwrap();
        if finishes {
            whole.finish(true).unwrap();
        }
    };
    let seeds = || -> Vec<u64> {
        RunFolder::open_all(&folder.run()).unwrap().iter().map(|run| run.run()["seed"].as_u64().unwrap()).collect()
    };
    several(false);
    assert_eq!(seeds(), [7], "a single run stays until those that replace it are whole");
    several(true);
    assert_eq!(seeds(), [1, 2]);
    assert!(!folder.run().join("run.json").exists(), "nothing of the single run is left");
    let options = RunOptions { replace: true, ..RunOptions::default() };
    RunWriter::create(&folder.run(), options).unwrap().finish(&json!({ "seed": 9 }), &json!({})).unwrap();
    assert_eq!(seeds(), [9]);
    assert!(!folder.run().join("seed-1").exists(), "nothing of the several is left");
    assert_eq!(fs::read_dir(folder.run().parent().unwrap()).unwrap().count(), 1, "nor beside them");
}
