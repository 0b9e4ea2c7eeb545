//! `flowloom watch`: the runs that go on, and how; asks them to stop.

use std::path::PathBuf;
use std::time::Duration as Pause;

use flowloom::time::Duration;
use flowloom::units::{Rate, three_digits};
use flowloom::{Error, Observation, request_stop, running_in};
use serde_json::{Value, json};

use crate::args;
use crate::diagnostics::one_line;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::{self, Manner};

/// Between two looks while runs are followed, and between two questions whether to stop.
const EVERY: Pause = Pause::from_secs(1);
const STOP_EVERY: Pause = Pause::from_millis(50);

type Running = (PathBuf, Observation);

/// Runs the command.
pub fn run(args: &args::Watch, manner: Manner) -> Result<Exit, Error> {
    manner.start("watch")?;
    if !args.folder.is_dir() {
        return Err(Error::new(format_args!("{}: there is no such folder", args.folder.display()))
            .hint("name the folder that holds the run folders"));
    }
    let mut runs = running_in(&args.folder);
    if args.stop {
        for (folder, _) in &runs {
            request_stop(folder).map_err(|error| Error::new(format_args!("{}: {error}", folder.display())))?;
        }
    }
    while args.follow && !runs.is_empty() && !interrupt::stop().is_requested() {
        if manner.form.json_stream {
            runs.iter().try_for_each(|run| output::event(&event(run)))?;
        } else if !manner.quiet && !manner.form.json {
            output::shown(&text(&runs))?;
        }
        wait();
        runs = running_in(&args.folder);
    }
    let none = format!("no run goes on in {}\n", args.folder.display());
    manner.answer(
        || json!({ "runs": runs.iter().map(object).collect::<Vec<Value>>() }),
        || if runs.is_empty() { none } else { text(&runs) },
    )?;
    Ok(Exit::Done)
}

#[expect(clippy::disallowed_methods, reason = "runs of other processes are looked at each second")]
fn wait() {
    for _ in 0..EVERY.as_millis() / STOP_EVERY.as_millis() {
        if interrupt::stop().is_requested() {
            return;
        }
        std::thread::sleep(STOP_EVERY);
    }
}

fn object((folder, run): &Running) -> Value {
    json!({ "folder": folder.display().to_string(), "observation": run })
}

fn event((_, run): &Running) -> Value {
    let mut line = json!(run);
    line["event"] = json!("observation");
    line
}

fn text(runs: &[Running]) -> String {
    runs.iter().map(|(_, run)| one_line(&line(run)) + "\n").collect()
}

/// A run as a line.
fn line(run: &Observation) -> String {
    let [now, window] = [run.time_ns, run.window_ns].map(Duration::from_nanos);
    let Observation { run: name, seed, driver, verdict, .. } = run;
    let mut parts = vec![format!("{name} seed {seed} ({driver})"), format!("{now} of {window}")];
    for link in run.links.iter().filter(|link| link.bottleneck) {
        let rate = Rate::from_bits_per_second(link.throughput_bps.round() as u64);
        let rate = rate.map_or_else(|| "0 bit/s".to_owned(), |rate| rate.to_string());
        let delay = link.queue_delay_ns.map(|delay| Duration::from_nanos(delay as u64));
        let delay = delay.map_or_else(String::new, |delay| format!(", queue {delay}"));
        let dropped = link.dropped_packets + link.lost_packets;
        parts.push(format!("from {} {rate}{delay}, {dropped} dropped", link.from));
    }
    parts.push(format!("{} open", run.connections.active));
    if let Some(late) = run.lateness {
        parts.push(format!("99 % late by {} ms at most", three_digits(late.p99_ns as f64 / 1e6)));
    }
    parts.push(verdict.clone());
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_line() {
        let run = json!({
            "version": 1, "run": "a", "target": "runs/a", "driver": "live", "seed": 3, "process": 1, "phase": "running",
            "begun_unix_ns": 0, "observed_unix_ns": 0, "time_ns": 12_300_000_000_u64, "links_time_ns": 12_200_000_000_u64, "window_ns": 60_000_000_000_u64,
            "at_most_ns": 60_000_000_000_u64, "share_done": 0.2, "events": null,
            "connections": { "started": 9, "active": 4, "completed": 5, "reset": 0, "gave_up": 0 },
            "links": [{
                "name": "bottleneck", "from": "left", "to": "right", "bottleneck": true, "rate_bps": null,
                "carried_packets": 1, "carried_bytes": 1, "dropped_packets": 2, "lost_packets": 1, "queue_packets": 0,
                "queue_bytes": 0, "waited_packets": 1, "waited_ns": 1, "throughput_bps": 9.87e6, "queue_delay_ns": 5.2e6,
            }],
            "lateness": { "count": 1, "p50_ns": 1, "p99_ns": 120_000, "max_ns": 200_000 },
            "verdict": "VALID", "reasons": [], "log": [],
        });
        let line = line(&serde_json::from_value(run).unwrap());
        let wanted = "a seed 3 (live)  12.3 s of 60.0 s  from left 9.87 Mbit/s, queue 5.20 ms, 3 dropped  4 open  \
                      99 % late by 0.120 ms at most  VALID";
        assert_eq!(line, wanted);
    }
}
