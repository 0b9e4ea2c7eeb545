//! The monitor over its store: a disk that is full for a while, another interval, an end while a target is silent.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flowloom_monitor::{Bell, Board, Moment, Registry, Report, run};
use flowloom_needs::{Need, skip};
use flowloom_store::monitor::{GapRow, MonitorReader, Reason, Wanted};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::geteuid;

fn registry(interval: &str) -> Registry {
    let text = format!("[[target]]\nname = \"here\"\nkind = \"local\"\nports = [\"lo\"]\ninterval = \"{interval}\"\n");
    toml::from_str(&text).unwrap()
}

fn sleep(millis: u64) {
    Bell::default().wait_until(Moment::now().monotonic_ns + millis * 1_000_000);
}

/// Runs a monitor while `meanwhile` goes on, which is told whether something was lost: what it said was lost.
fn monitor(registry: &Registry, store: &Path, meanwhile: impl FnOnce(&AtomicBool) + Send) -> Vec<String> {
    let (bell, is_lost) = (Bell::default(), AtomicBool::new(false));
    let mut lost = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            meanwhile(&is_lost);
            bell.ring();
        });
        let mut observe = |report: &Report<'_>| {
            if let Report::Lost(error) = report {
                lost.push(error.to_string());
                is_lost.store(true, Ordering::Relaxed);
            }
        };
        run(registry, Path::new(""), store, &bell, &Board::default(), &mut observe).unwrap();
    });
    lost
}

/// All gaps of a store that are of a reason, and the times of its samples.
fn found(store: &Path, reason: Reason) -> (Vec<GapRow>, Vec<u64>) {
    let reader = MonitorReader::open(store).unwrap();
    let series = reader.series().unwrap();
    let ids: Vec<u32> = series.iter().map(|series| series.id).collect();
    let mut gaps = reader.gaps(&ids, 0..i64::MAX as u64).unwrap();
    gaps.retain(|gap| gap.reason == reason);
    let wanted: Vec<Wanted> = series.iter().map(Wanted::from).collect();
    let mut times = Vec::new();
    reader.read(&wanted, 0..i64::MAX as u64, 0, 0, &mut |piece| times.push(piece.at_ns)).unwrap();
    times.sort_unstable();
    (gaps, times)
}

/// Takes all room of the disk that `folder` is on, to the last byte.
fn fill(folder: &Path) {
    for block in [1 << 20, 4_096, 1] {
        let path = folder.join(format!("filler-{block}"));
        while fs::read(&path).map_or(true, |bytes| bytes.len() < 1 << 20) {
            let mut file = fs::File::options().create(true).append(true).open(&path).unwrap();
            if std::io::Write::write_all(&mut file, &vec![1; block]).is_err() {
                break;
            }
        }
    }
}

#[test]
fn a_full_disk_costs_its_time_alone() {
    if !geteuid().is_root() || unshare(CloneFlags::CLONE_NEWNS).is_err() {
        return skip("a full disk", Need::MOUNT);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    for arguments in [&["--make-rprivate", "/"][..], &["-t", "tmpfs", "-o", "size=1m", "none", &path]] {
        assert!(Command::new("mount").args(arguments).status().unwrap().success(), "{arguments:?}");
    }
    let store = folder.path().join("store");
    let (mut full_ns, mut free_ns) = (0, 0);
    let lost = monitor(&registry("10ms"), &store, |is_lost| {
        sleep(1_000);
        fill(folder.path());
        full_ns = Moment::now().wall_ns;
        // There is room in the last page of the journal.
        while !is_lost.load(Ordering::Relaxed) {
            sleep(10);
        }
        sleep(1_500);
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::remove_file(path).unwrap();
            }
        }
        free_ns = Moment::now().wall_ns;
        sleep(2_000);
    });
    assert!((1..10).contains(&lost.len()) && lost[0].contains("No space left"), "{lost:?}");
    let (gaps, times) = found(&store, Reason::NotRecorded);
    assert!(times.iter().any(|time| *time > free_ns), "nothing was recorded after it");
    let (first, last) = (gaps.first().unwrap(), gaps.last().unwrap());
    assert!(first.start_ns > full_ns - 1_000_000_000 && last.end_ns > free_ns - 1_000_000_000, "{gaps:?}");
    let unknown: u64 = gaps.iter().map(|gap| gap.end_ns - gap.start_ns).sum();
    assert!(unknown > 1_000_000_000 && gaps.len() < 20, "{gaps:?}");
    // Of the answers at its ends a part may be there.
    let is_inside = |time: &&u64| gaps.iter().any(|gap| gap.start_ns < **time && **time < gap.end_ns);
    assert!(times.iter().filter(is_inside).count() < 100, "{gaps:?}");
    assert!(Command::new("umount").arg(&path).status().unwrap().success());
}

#[test]
fn another_interval_does_not_hide_a_stop() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    assert_eq!(monitor(&registry("20ms"), &store, |_| sleep(500)), [""; 0]);
    let (gaps, times) = found(&store, Reason::NotRunning);
    assert_eq!(gaps, []);
    let last = *times.last().unwrap();
    sleep(500);
    let begun_ns = Moment::now().wall_ns;
    monitor(&registry("50ms"), &store, |_| sleep(500));
    let (gaps, _) = found(&store, Reason::NotRunning);
    let [gap] = gaps[..] else { panic!("{gaps:?}") };
    assert!(gap.start_ns == last && gap.end_ns > begun_ns, "{gap:?}");
    let series = MonitorReader::open(&store).unwrap().series().unwrap();
    let of = series.iter().find(|series| series.id == gap.series).unwrap();
    assert_eq!((of.counter.as_str(), of.interval_ns), ("answer-time", 50_000_000));
}

#[test]
fn samples_of_a_monitor_follow_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    monitor(&registry("10ms"), &store, |_| sleep(1_500));
    let reader = MonitorReader::open(&store).unwrap();
    for series in reader.series().unwrap() {
        let mut spans = Vec::new();
        let wanted = [Wanted::from(&series)];
        reader
            .read(&wanted, 0..i64::MAX as u64, 0, 0, &mut |piece| {
                spans.push(piece.at_ns - piece.row.covered_ns..piece.at_ns);
            })
            .unwrap();
        spans.sort_unstable_by_key(|span| span.start);
        assert!(spans.len() > 10, "{series:?}");
        let apart = spans.windows(2).filter(|pair| pair[0].end != pair[1].start).count();
        assert_eq!(apart, 0, "{} of {} samples of {} {}", apart, spans.len(), series.port, series.counter);
    }
}

#[test]
fn what_waits_in_the_journal_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    assert_eq!(monitor(&registry("20ms"), &store, |_| sleep(300)), [""; 0]);
    let days = || fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path().join("manifest.json"));
    let manifests: Vec<_> = days().filter(|path| path.exists()).collect();
    assert!(!manifests.is_empty());
    let kept: Vec<Vec<u8>> = manifests.iter().map(|path| fs::read(path).unwrap()).collect();
    manifests.iter().for_each(|path| fs::remove_file(path).unwrap());
    let begun_ns = Moment::now().wall_ns;
    assert_eq!(monitor(&registry("20ms"), &store, |_| sleep(300)), [""; 0], "it is said to be lost");
    manifests.iter().zip(kept).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    let (_, times) = found(&store, Reason::NotRunning);
    assert!(times.iter().filter(|time| **time > begun_ns).count() > 5);
}

#[test]
fn nobody_waits_for_a_silent_target() {
    let folder = tempfile::tempdir().unwrap();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let text = format!(
        "timeout = \"1min\"\nretries = 10\n[[target]]\nname = \"a\"\naddresses = [\"{}\"]\ncommunity = \"public\"\n",
        silent.local_addr().unwrap()
    );
    let begun = Moment::now();
    monitor(&toml::from_str(&text).unwrap(), &folder.path().join("store"), |_| sleep(300));
    assert!(Moment::now().since(&begun) < Duration::from_secs(30).as_nanos() as u64);
}
