//! Folders for tests of the pages: a monitor of a year with a spike of a minute, its registry, runs, notes. usage: made_up_folders FOLDER

use std::path::Path;

use flowloom::Registered;
use flowloom::monitoring::keep_registry;
use flowloom_testkit::monitor::{MINUTE, START, Store};
use flowloom_testkit::reports::MadeUp;
use flowloom_testkit::workload::Stored;

const REGISTRY: &str = r#"
[[site]]
name = "north"
place = "Hall 1"
latitude = 52.5
longitude = 13.4
[[site]]
name = "south"
latitude = 48.1
longitude = 11.6
[[site]]
name = "west"
latitude = 50.9
longitude = 7.0
[[target]]
name = "core"
kind = "local"
type = "router"
site = "north"
[[target.port]]
name = "ge-0/0/1"
carries = "to edge"
capacity = "100mbit"
[[target]]
name = "edge"
kind = "local"
type = "switch"
site = "south"
[[target]]
name = "spare"
kind = "local"
site = "west"
[[link]]
from = "core:ge-0/0/1"
to = "edge:<b>uplink</b>"
[[link]]
from = "core:ge-0/0/2"
to = "spare:1"
until = "2025-01-01"
"#;

/// Octets a second in a minute: more by day than by night, and 60 MB/s in one minute of the year.
fn rate(minute: u64, spike: u64, most: u64) -> u64 {
    if minute == spike {
        return 60_000_000;
    }
    let of_day = (minute % 1_440) as i64;
    // A day from 6 to 22 h, as a parabola.
    let day = (480 * 480 - (of_day - 840).pow(2)).max(0) as u64;
    200_000 + most * day / (480 * 480) + minute * 7_919 % 50_000
}

fn main() {
    let folder = std::env::args_os().nth(1).expect("a folder");
    let folder = Path::new(&folder);
    let days: u64 = std::env::args().nth(2).map_or(365, |days| days.parse().expect("a number of days"));
    let minutes = days * 1_440;
    let mut store = Store::create(&folder.join("counters"), START);
    let into = store.series("core", "ge-0/0/1", "in");
    let out = store.series("core", "ge-0/0/1", "out");
    let edge = store.series("edge", "<b>uplink</b>", "in");
    // Two days before the end nobody answered for three hours.
    let silent = minutes - 2 * 1_440..minutes - 2 * 1_440 + 180;
    for minute in 1..=minutes {
        let time_ns = START + minute * MINUTE;
        if !silent.contains(&minute) {
            let mut amounts =
                vec![(into, rate(minute, minutes / 3, 4_000_000) * 60), (out, rate(minute, 0, 1_000_000) * 60)];
            if minutes - minute < 30 * 1_440 {
                // Five minutes later than at the core.
                amounts.push((edge, rate(minute - 5, 0, 1_000_000) * 60));
            }
            store.samples(time_ns, MINUTE, &amounts);
        }
        if minute % 1_440 == 0 {
            store.fold(time_ns);
        }
    }
    let start_ns = START + (silent.start - 1) * MINUTE;
    store.gap(into, start_ns, START + silent.end * MINUTE);
    store.fold(START + (minutes + 1_440) * MINUTE);
    // The file says what the store keeps since the second half of the time; before, there was no site in the west.
    std::fs::write(folder.join("campus.toml"), REGISTRY).expect("the registry");
    let registry = Registered::parse(REGISTRY, "campus.toml").expect("a registry");
    let mut early = registry.clone();
    early.site.retain(|site| site.name != "west");
    early.target.retain(|target| target.name != "spare");
    early.link.retain(|link| !link.to.starts_with("spare"));
    for (registry, time_ns) in [(early, START), (registry, START + minutes / 2 * MINUTE)] {
        keep_registry(&folder.join("counters"), &registry, time_ns).expect("the registry in the store");
    }
    for (name, slower) in [("office", 1.0), ("slower", 1.5)] {
        let mut made = MadeUp { connections: 60, seconds: 30, slower, ..MadeUp::default() };
        made.facts.title = format!("<img src=x onerror=alert(1)> {name}");
        made.write(&folder.join("runs").join(name));
    }
    let day = START / 86_400_000_000_000 + days - 1;
    let date = flowloom::store::monitor::utc_text(day * 86_400_000_000_000).chars().take(10).collect::<String>();
    // An hour of that day was captured, from 12:00 on.
    let captured =
        Stored { begin_ns: day * 86_400_000_000_000 + 720 * MINUTE, seconds: 3_600, connections: 3, captured_ns: None };
    captured.write(&folder.join("traffic/eth0-hour.parquet"));
    let notes = format!(
        "[[note]]\nfrom = \"{date}T08:00\"\nto = \"{date}T10:00\"\ntext = \"<b>new fibre</b>\"\n\
         [[note]]\nrun = \"runs/slower\"\ntags = [\"slow\"]\ntext = \"the slow one\"\n"
    );
    std::fs::write(folder.join("notes.toml"), notes).expect("the notes");
}
