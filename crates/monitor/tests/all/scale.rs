//! Many targets, long times, kills. `FLOWLOOM_MONITOR_HEAVY=1` (`make test-heavy`) runs the forms of months; otherwise they are small.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use flowloom_live::clock::process_cpu_time;
use flowloom_monitor::{Archive, Bell, Board, Moment, Query, Registry, run};
use flowloom_store::monitor::{
    Batch, Kind, MILLIONTHS, MonitorReader, MonitorWriter, Retention, SECOND, Series, Wanted, WriterOptions,
};

use super::responder::{Answers, Objects, Responder, Value, switch};

const DAY: u64 = 86_400 * SECOND;

fn is_heavy() -> bool {
    std::env::var_os("FLOWLOOM_MONITOR_HEAVY").is_some()
}

fn series(port: &str, interval_ns: u64) -> Series {
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

/// A folder in memory, where there is such a place: on a disk, the waits for it take longer than everything else.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// The number of an environment variable.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Is killed by [`no_record_is_lost_to_kills`], which starts it with these variables; does nothing otherwise.
#[test]
fn writes_until_it_is_killed() {
    let (Ok(root), Some(first)) = (std::env::var("FLOWLOOM_WRITE_TO"), number("FLOWLOOM_WRITE_FROM")) else { return };
    let time = |sample: u64| DAY + sample * 50 * SECOND;
    let options = WriterOptions { segment_bytes: 2_000, segment_ns: 3_600 * SECOND };
    let mut writer = MonitorWriter::open(Path::new(&root), options, time(first)).unwrap();
    let (id, _) = writer.series(series("a", 50 * SECOND)).unwrap();
    let maintainer = writer.maintainer();
    let mut out = std::io::stdout();
    for sample in first.. {
        let time_ns = time(sample);
        writer.samples(Batch { time_ns, span_ns: 50 * SECOND, samples: vec![(id, sample)] }).unwrap();
        writeln!(out, "wrote {sample}").unwrap();
        writer.tick(time_ns).unwrap();
        if sample % 500 == 0 {
            maintainer.run(time_ns, &Retention::default(), &|| true).unwrap();
        }
    }
}

#[test]
fn no_record_is_lost_to_kills() {
    let folder = folder();
    let root = folder.path().join("store");
    let kills = if is_heavy() { 100 } else { 4 };
    let mut written = 0;
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "scale::writes_until_it_is_killed", "--nocapture"])
            .env("FLOWLOOM_WRITE_TO", &root)
            .env("FLOWLOOM_WRITE_FROM", (written + 1).to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Times that are spread as if they were random, and the same in each run.
        let lines = 1 + kill * 7_919 % 1_500;
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let sample = |line: &str| line.strip_prefix("wrote ").and_then(|sample| sample.parse::<u64>().ok());
        let mut seen = 0;
        while seen < lines {
            let line = out.next().expect("the child ended by itself").unwrap();
            if let Some(sample) = sample(&line) {
                (written, seen) = (sample, seen + 1);
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        written = out.map_while(Result::ok).filter_map(|line| sample(&line)).last().unwrap_or(written);
        let reader = MonitorReader::open(&root).unwrap();
        let one = reader.series().unwrap().iter().map(Wanted::from).next().unwrap();
        let mut found = Vec::new();
        reader.read(&[one], 0..u64::MAX / 2, 0, 0, &mut |piece| found.push((piece.at_ns - DAY) / 50 / SECOND)).unwrap();
        found.sort_unstable();
        let last = *found.last().unwrap();
        // The last record may have been written, and not been told.
        assert!(last == written || last == written + 1, "kill {kill}: {written} were told, {last} are there");
        assert_eq!(found, (1..=last).collect::<Vec<_>>(), "kill {kill}");
        written = last;
    }
}

/// Minutes of a year, or of some days, of 20 ports.
#[test]
fn a_year_is_kept_and_read() {
    let days: u64 = if is_heavy() { 365 } else { 4 };
    let folder = folder();
    let root = folder.path();
    let start = 20_000 * DAY;
    let begun = process_cpu_time();
    let mut writer = MonitorWriter::open(root, WriterOptions::default(), start).unwrap();
    let ids: Vec<u32> =
        (0..20).map(|port| writer.series(series(&format!("ge-0/0/{port}"), 60 * SECOND)).unwrap().0).collect();
    let maintainer = writer.maintainer();
    let spike = days * 1_440 / 3;
    for minute in 1..=days * 1_440 {
        let time_ns = start + minute * 60 * SECOND;
        let amount = |id: u32| if minute == spike { 7_000_000_000 } else { 1_000_000 + u64::from(id) * minute % 9_973 };
        let samples = ids.iter().map(|id| (*id, amount(*id))).collect();
        writer.samples(Batch { time_ns, span_ns: 60 * SECOND, samples }).unwrap();
        if minute % 30 == 0 {
            writer.tick(time_ns).unwrap();
        }
        if minute % 1_440 == 0 {
            maintainer.run(time_ns, &Retention::default(), &|| true).unwrap();
        }
    }
    let end = start + days * DAY;
    maintainer.run(end + DAY, &Retention::default(), &|| true).unwrap();
    let cpu = process_cpu_time().saturating_sub(begun).as_secs_f64();
    let archive = Archive::open(root).unwrap();
    let all = archive.series().unwrap();
    let mut took = Vec::new();
    for (at, length) in [(0, days), (days / 3, 1), (days / 4, days / 2), (0, days), (days / 5, 2), (0, days)] {
        let query =
            Query { from_ns: start + at * DAY, to_ns: start + (at + length) * DAY, points: 1_000, percentile_ns: None };
        let before = Moment::now();
        let curves = archive.ask(&all[3..4], &query).unwrap();
        took.push(Moment::now().since(&before) as f64 / 1e6);
        let [curve] = &curves[..] else { panic!() };
        assert!(curve.points.len() <= 1_000);
        if length == days {
            assert_eq!(
                curve.whole.unwrap().most / u128::from(MILLIONTHS),
                7_000_000_000 / 60,
                "the spike of a minute is lost"
            );
            assert_eq!(curve.whole.unwrap().samples, days * 1_440);
        }
    }
    let bytes: u64 = files(root);
    println!(
        "{} samples: {cpu:.1} CPU s to ingest, {:.1} MB; queries {took:.0?} ms; {} MB of memory at most",
        days * 1_440 * 20,
        bytes as f64 / 1e6,
        memory_kb("VmHWM:") / 1_024
    );
    took.sort_by(f64::total_cmp);
    if is_heavy() {
        assert!(cpu < 120.0, "{cpu} CPU s with a build for tests");
        assert!(took[took.len() / 2] < 1_000.0, "{took:?} ms with a build for tests");
    }
}

/// A sum of many ports that are sampled every second, each silent once an hour: no row of an hour is known in all of its time.
#[test]
fn a_sum_of_many_samples_takes_little_memory() {
    let (ports, hours) = if is_heavy() { (32, 24) } else { (4, 2) };
    let folder = folder();
    let mut writer = MonitorWriter::open(folder.path(), WriterOptions::default(), DAY).unwrap();
    let ids: Vec<u32> = (0..ports).map(|port| writer.series(series(&format!("p{port}"), SECOND)).unwrap().0).collect();
    for second in 1..=hours * 3_600 {
        let time_ns = DAY + second * SECOND;
        // Port n is silent in second n of each hour.
        let samples = ids.iter().filter(|id| second % 3_600 != u64::from(**id)).map(|id| (*id, 7)).collect();
        writer.samples(Batch { time_ns, span_ns: SECOND, samples }).unwrap();
        writer.tick(time_ns).unwrap();
    }
    writer.rotate(DAY + hours * 3_600 * SECOND).unwrap();
    drop(writer);
    let archive = Archive::open(folder.path()).unwrap();
    let all = archive.series().unwrap();
    let query =
        Query { from_ns: DAY, to_ns: DAY + hours * 3_600 * SECOND, points: hours as usize, percentile_ns: None };
    let before = memory_kb("VmHWM:");
    let (_, total) = archive.ask_and_add(&all, &query).unwrap();
    let whole = total.whole.unwrap();
    assert_eq!(whole.covered_ns, hours * (3_600 - ports) * SECOND);
    assert_eq!(total.amount, Some(hours * (3_600 - ports) * 7 * ports));
    let grew = (memory_kb("VmHWM:") - before) / 1_024;
    println!("a sum of {} samples: {grew} MB of memory", ports * hours * 3_600);
    assert!(grew < 200, "{grew} MB");
}

/// Bytes of all files in a folder.
fn files(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files(&path) } else { path.metadata().unwrap().len() }).sum()
}

/// Memory of this process: `VmRSS:` now, `VmHWM:` at most.
fn memory_kb(of: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(of)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A switch whose counters go on with the time.
struct Busy {
    objects: Objects,
    begun: Moment,
}

impl Answers for Busy {
    fn get(&mut self, name: &[u32]) -> Option<Value> {
        let value = self.objects.get(name).cloned();
        value.map(|value| self.counted(value))
    }

    fn next(&mut self, name: &[u32]) -> Option<(Vec<u32>, Value)> {
        let behind = (std::ops::Bound::Excluded(name.to_vec()), std::ops::Bound::Unbounded);
        let (name, value) = self.objects.range(behind).next().map(|(name, value)| (name.clone(), value.clone()))?;
        Some((name, self.counted(value)))
    }
}

impl Busy {
    fn counted(&self, value: Value) -> Value {
        let since = Moment::now().since(&self.begun);
        match value {
            Value::Count64(count) => Value::Count64(count + since / 1_000),
            Value::Ticks(ticks) if ticks > 0 => Value::Ticks(ticks + (since / 10_000_000) as u32),
            other => other,
        }
    }
}

#[test]
fn many_targets_miss_no_interval() {
    // 50 targets of 400 ports at 10 s, and fewer at shorter intervals.
    let (targets, ports, interval_ms, intervals) = if is_heavy() { (50, 400, 10_000, 6) } else { (8, 20, 500, 4) };
    let folder = folder();
    let begun = Moment::now();
    let responders: Vec<Responder> =
        (0..targets).map(|_| Responder::start(Busy { objects: switch(ports, 100, 5), begun }, 700)).collect();
    let text: String = responders
        .iter()
        .enumerate()
        .map(|(number, responder)| {
            let address = responder.address;
            format!("[[target]]\nname = \"t{number}\"\naddresses = [\"{address}\"]\ncommunity = \"public\"\n")
        })
        .collect();
    let registry: Registry = toml::from_str(&format!("interval = \"{interval_ms}ms\"\n{text}")).unwrap();
    let store = folder.path().join("store");
    let (bell, board) = (Bell::default(), Board::default());
    let before = memory_kb("VmRSS:");
    let cpu = Arc::new(Mutex::new(0.0));
    thread::scope(|scope| {
        let (ended, cpu) = (bell.clone(), Arc::clone(&cpu));
        scope.spawn(move || {
            let length = interval_ms * 1_000_000 * intervals;
            Bell::default().wait_until(begun.monotonic_ns + length);
            ended.ring();
            *cpu.lock().unwrap() = process_cpu_time().as_secs_f64();
        });
        run(&registry, folder.path(), &store, &bell, &board, &mut |_| {}).unwrap();
    });
    let states = board.targets();
    let late: u64 = states.iter().map(|target| target.late).sum();
    let failed: u64 = states.iter().map(|target| target.failed).sum();
    let asked: u64 = states.iter().map(|target| target.asked).sum();
    let memory = (memory_kb("VmHWM:") - before) / 1_024;
    println!(
        "{targets} targets of {ports} ports at {interval_ms} ms: {asked} questions, {late} late, {failed} failed; {:.1} CPU s with the \
         responders in {} s, {memory} MB of memory beside them; {:.1} MB stored",
        cpu.lock().unwrap(),
        interval_ms * intervals / 1_000,
        files(&store) as f64 / 1e6
    );
    assert!(memory < 200, "{memory} MB");
    assert_eq!((late, failed), (0, 0));
    assert!(states.iter().all(|target| target.ports == ports as usize && target.asked >= intervals - 1));
}
