//! A store with many samples: a minute for each port in each of the days. usage: busy_monitor STORE PORTS DAYS

use std::path::Path;

use flowloom_testkit::monitor::{MINUTE, START, Store};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, ports, days] = &arguments[..] else { panic!("usage: busy_monitor STORE PORTS DAYS") };
    let [ports, days]: [u64; 2] = [ports, days].map(|number| number.parse().expect("a number"));
    let mut store = Store::create(Path::new(store), START);
    let ids: Vec<u32> = (0..ports).map(|port| store.series("core", &format!("ge-0/0/{port}"), "in")).collect();
    for minute in 1..=days * 1_440 {
        let amount =
            |id: &u32| if minute == days * 480 { 7_000_000_000 } else { 1_000_000 + u64::from(*id) * minute % 9_973 };
        let amounts: Vec<(u32, u64)> = ids.iter().map(|id| (*id, amount(id))).collect();
        store.samples(START + minute * MINUTE, MINUTE, &amounts);
        if minute % 1_440 == 0 {
            store.fold(START + minute * MINUTE);
        }
    }
    store.fold(START + (days + 1) * 1_440 * MINUTE);
    println!("{} samples", ports * days * 1_440);
}
