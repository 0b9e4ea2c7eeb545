//! What source models cost: CPU nanoseconds per connection and per ADU that they draw, on one core, and what they hold in memory.
//!
//! `cargo run --release -p flowloom-models --example source_model_cost [NAME...]`; without names all of them. `fsd` are the
//! long-range dependent variables of packmime and of the reference workloads' arrivals: a draw, and their beginning. Exits with 1 if
//! a reference workload is below its floor.

use std::hint::black_box;

use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::Duration;
use flowloom_models::generate::SourceModel;
use flowloom_models::{Fsd, FsdModel};

/// Models as an experiment has them; some hundreds of connections per second or flows, where the number is free. `cbr` draws no more than
/// when its flows begin.
const MODELS: [(&str, &str); 12] = [
    ("campus-2008", ""),
    ("enterprise-2006", ""),
    (
        "exchanges",
        "connections-per-second = 1000.0\nrequest-bytes = 300\nresponse-bytes = { kind = 'lognormal', median = 4000, mean = 9000 }\n\
         rtt-ms = 40\n",
    ),
    ("packmime", "rate = 100.0\n"),
    ("tcplib", "application = 'ftp'\nhosts = 100\nconnection = 'per-conversation'\n"),
    ("tcplib-misc", "hosts = 100\npackets = 10\npacket-gap-s = { kind = 'exponential', mean = 0.1 }\nbytes = 200\n"),
    ("web", "browsing = 'surge'\nusers = 1000\n"),
    (
        "netspec",
        "sources = [{ traffic = { type = 'burst', blocksize = 4096, period = 10000 }, protocol = 'tcp', speed = '10mbit', \
         count = 100 }]\n",
    ),
    (
        "on-off",
        "sources = 100\nrate = '1mbit'\non = { min = '100ms', shape = 1.5 }\noff = { min = '100ms', shape = 1.5 }\n",
    ),
    (
        "harpoon",
        "sessions = 1000\ngap-ms = { kind = 'exponential', mean = 1000 }\nfile-bytes = { kind = 'pareto', min = 1500, shape = 1.2 }\n\
         clients = ['10.1.0.0/16']\nservers = ['10.2.0.0/16']\n",
    ),
    ("poisson", "flows = 100\nrate = '100kbit'\n"),
    ("d-itg", "profile = 'voip'\nflows = 100\n"),
];

/// Connections per CPU second that the reference workloads are drawn at least.
const FLOOR: (&[&str], f64) = (&["campus-2008", "enterprise-2006"], 500_000.0);

/// CPU time of this thread so far, in nanoseconds; zero where the kernel does not tell.
fn cpu_nanos() -> u64 {
    let told = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    told.split_whitespace().next().and_then(|nanos| nanos.parse().ok()).unwrap_or_default()
}

/// Most memory the process has had so far, in MB; zero where the kernel does not tell.
fn peak_megabytes() -> u64 {
    let told = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() / 1_024
}

/// What `work` gives, and its CPU time.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = cpu_nanos();
    let done = work();
    (done, (cpu_nanos() - before) as f64)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    if let Some(unknown) = wanted.iter().find(|name| *name != "fsd" && MODELS.iter().all(|model| model.0 != *name)) {
        return Err(format!("{unknown} is none of fsd, {}", MODELS.map(|model| model.0).join(", ")).into());
    }
    if is_wanted("fsd") {
        fsd();
    }
    println!(
        "{:>16} {:>9} {:>13} {:>13} {:>9} {:>8} {:>14} {:>8}",
        "model", "seconds", "connections", "ADUs", "ns/conn", "ns/ADU", "conn/s of CPU", "peak MB"
    );
    let mut missed = Vec::new();
    for (name, parameters) in MODELS.into_iter().filter(|model| is_wanted(model.0)) {
        let model: SourceModel = toml::from_str(&format!("kind = '{name}'\n{parameters}"))?;
        model.check()?;
        // Longer until there is something to measure.
        for seconds in (0..).map(|doublings| 60 << doublings) {
            let count = |(connections, adus): (u64, u64), adus_of: usize| (connections + 1, adus + adus_of as u64);
            let ((connections, adus), nanos) = timed(|| {
                let vectors = model.vectors(1, Duration::from_secs(seconds));
                vectors.fold((0, 0), |counted, vector| count(counted, black_box(&vector).adus.len()))
            });
            if nanos >= 1e9 || seconds >= 1_000_000 {
                let rate = connections as f64 / nanos * 1e9;
                if FLOOR.0.contains(&name) && rate < FLOOR.1 {
                    missed.push(name);
                }
                println!(
                    "{name:>16} {seconds:>9} {connections:>13} {adus:>13} {:>9.0} {:>8.0} {:>14.0} {:>8}",
                    nanos / connections as f64,
                    nanos / adus as f64,
                    rate,
                    peak_megabytes(),
                );
                break;
            }
        }
    }
    if missed.is_empty() {
        Ok(())
    } else {
        Err(format!("below {} connections per CPU second: {}", FLOOR.1, missed.join(", ")).into())
    }
}

fn fsd() {
    const DRAWS: u32 = 2_000_000;
    println!("{:>16} {:>9} {:>13}", "fsd, past values", "ns/draw", "ms to begin");
    for past in [100, 1_000, 5_000, 20_000] {
        let model = FsdModel { d: 0.31, theta: 0.84, past };
        let (mut variable, beginning) = timed(|| Fsd::new(model, Stream::new(1, Purpose::Arrivals, 0)));
        let ((), draws) = timed(|| (0..DRAWS).for_each(|_| _ = black_box(variable.normal())));
        println!("{past:>16} {:>9.0} {:>13.1}", draws / f64::from(DRAWS), beginning / 1e6);
    }
    println!();
}
