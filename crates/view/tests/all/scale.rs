//! Many samples. `FLOWLOOM_MONITOR_HEAVY=1` (`make test-heavy`) takes a year of 20 ports; otherwise it is a week of four.

use flowloom::Stopwatch;
use flowloom_testkit::monitor::Store;
use flowloom_view::{Server, ViewOptions};

use super::support::{MINUTE, START, get};

#[test]
fn every_zoom_has_few_points_and_all_peaks() {
    let is_heavy = std::env::var_os("FLOWLOOM_MONITOR_HEAVY").is_some();
    let (days, ports): (u64, u64) = if is_heavy { (365, 20) } else { (7, 4) };
    // On a disk, the waits for it take longer than everything else.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let mut store = Store::create(&folder.path().join("m"), START);
    let ids: Vec<u32> = (0..ports).map(|port| store.series("core", &port.to_string(), "in")).collect();
    let spike = days * 1_440 / 3;
    for minute in 1..=days * 1_440 {
        let amount = if minute == spike { 7_000_000_000 } else { 1_000_000 + minute * 7_919 % 9_973 };
        let amounts: Vec<(u32, u64)> = ids.iter().map(|id| (*id, amount)).collect();
        store.samples(START + minute * MINUTE, MINUTE, &amounts);
        if minute % 1_440 == 0 {
            store.fold(START + minute * MINUTE);
        }
    }
    store.fold(START + (days + 1) * 1_440 * MINUTE);
    drop(store);
    let folders = vec![folder.path().to_owned()];
    let listen = "127.0.0.1:0".parse().unwrap();
    let server = Server::start(&ViewOptions { folders, listen, hosts: Vec::new(), token: None }).unwrap();
    let (at, most) = (START + spike * MINUTE, 7_000_000_000.0 / 60.0);
    let mut took = Vec::new();
    for length in [days * 1_440, days * 700, days * 288, 1_440, 60] {
        let from = at.saturating_sub(length / 3 * MINUTE).max(START);
        let to = from + length * MINUTE;
        for points in [500, 2_000] {
            let watch = Stopwatch::start();
            let target = format!("/api/period?monitor=0/m&series={}&from={from}&to={to}&points={points}", ids[1]);
            let answer = get(server.address(), &target).json();
            took.push(watch.nanos() as f64 / 1e6);
            let curve = &answer["curves"][0];
            let found = curve["points"]["most"].as_array().unwrap();
            assert!(found.len() <= points, "{length} minutes: {} points", found.len());
            // Values are kept in millionths. Every point that has a part of the minute of the spike has its peak.
            let peaks = found.iter().filter(|value| (value.as_f64().unwrap() - most).abs() < 1e-5).count() as u64;
            let width = curve["width_ns"].as_u64().unwrap();
            let expected = (at - 1) / width - (at - MINUTE) / width + 1;
            assert_eq!(peaks, expected, "{length} minutes at {points} points");
        }
    }
    took.sort_by(f64::total_cmp);
    println!("{} samples: answers in {took:.0?} ms", days * 1_440 * ports);
    if is_heavy {
        assert!(took[took.len() / 2] < 1_000.0, "{took:?} ms with a build for tests");
    }
}
