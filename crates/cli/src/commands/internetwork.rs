//! `flowloom run FILE.spec`: simulate a virtual-circuit internetwork that a VCSIM specification describes.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flowloom_core::time::{Duration, Time};
use flowloom_report::statistics::Estimate;
use flowloom_sim::cells::{self, Config, Event, Happening, HostResults, Observer, Results, RouterResults, Spread};
use flowloom_store::staged::{StagedFile, StagedFolder, take_name};
use flowloom_store::vcsim::{self, Specification};
use serde_json::{Value, json};

use crate::args;
use crate::failure::{Exit, Failure};
use crate::input::{self, Kind};
use crate::interrupt;
use crate::output::{self, Manner};
use crate::progress::Progress;
use crate::specification::{Names, config};

/// The folder's files.
const TEXT: &str = "results.txt";
const ANSWER: &str = "results.json";
const QUEUES: &str = "queues.csv";
const SOURCES: &str = "sources.csv";

/// Runs the command on a specification.
pub fn run(args: &args::Run, manner: Manner) -> Result<Exit, Failure> {
    manner.start("run")?;
    let [file] = &args.inputs[..] else {
        return Err(Failure::usage("a specification of an internetwork is run alone"));
    };
    refuse_options(args, file)?;
    let specification = read(file)?;
    let (config, names) = config(&specification, file)?;
    let folder = args.output.as_deref().map(|target| Folder::new(target, args.force)).transpose()?;
    let seeds = if args.seeds.is_empty() { vec![config.seed] } else { args.seeds.clone() };
    let progress = Progress::simulated("simulating", config.end.as_nanos().saturating_mul(seeds.len() as u64), manner);
    let runs = if let [seed] = seeds[..] {
        let series = folder.as_ref().map(Series::new).transpose()?;
        let trace = args.cell_trace.as_deref().map(|path| Trace::new(path, &names)).transpose()?;
        let mut watch = Watch { names: &names, manner, progress: &progress, last: 0, series, trace, failed: None };
        let config = Config { seed, ..config };
        let results = cells::run(&config, &mut watch).map_err(Failure::new)?;
        watch.finish()?;
        vec![(seed, results)]
    } else {
        several(&config, &seeds, args.jobs, &names, manner, &progress)?
    };
    drop(progress);
    let interrupted = interrupt::requested();
    if interrupted {
        manner.warn("interrupted: results are of what was simulated until then", "run it again for the rest");
    }
    let answer = answer(file, &runs, &names, interrupted);
    let text = match &runs[..] {
        [(_, results)] => text_of(results, &names),
        _ => text_of_several(&runs, &names),
    };
    if let Some(folder) = folder {
        folder.finish(&text, &answer)?;
    }
    manner.answer(|| answer, || text)?;
    Ok(if interrupted { Exit::Invalid } else { Exit::Done })
}

/// The specification in `file`.
fn read(file: &Path) -> Result<Specification, Failure> {
    let shown = file.display();
    let bytes = std::fs::read(file).map_err(|error| Failure::new(format_args!("{shown}: cannot read: {error}")))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        Failure::usage(format_args!("{shown}: line {line}: this is not UTF-8"))
    })?;
    vcsim::read(text).map_err(|error| {
        Failure::usage(format_args!("{shown}: {error}")).hint("docs/guide/cells.md lists what a specification says")
    })
}

/// Refuses options that say something about replays, seeds that are given twice, and a trace that would take the place of something.
fn refuse_options(args: &args::Run, file: &Path) -> Result<(), Failure> {
    let given = [
        ("--on", args.on != args::Driver::Sim),
        ("--rate", args.rate.is_some()),
        ("--delay", args.delay.is_some()),
        ("--queue", args.queue.is_some()),
        ("--wait-min", args.wait_min.is_some()),
        ("--wait-correct", args.wait_correct.is_some()),
        ("--duration", args.duration.is_some()),
        ("--pcap", args.pcap.is_some()),
    ];
    input::refuse_idle_options(&args.capture, Kind::Specification, file)?;
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format_args!(
            "{option} is about replays, and {} is a specification of an internetwork",
            file.display()
        ))
        .hint("the specification says all but the seed: links, buffers, timers"));
    }
    let seeds = &args.seeds;
    if let Some(place) = (1..seeds.len()).find(|place| seeds[..*place].contains(&seeds[*place])) {
        return Err(Failure::usage(format_args!("seed {} is given twice", seeds[place]))
            .hint("runs of one seed are alike: they would count for two"));
    }
    args.cell_trace.as_deref().map_or(Ok(()), |trace| refuse_trace(trace, args))
}

fn refuse_trace(trace: &Path, args: &args::Run) -> Result<(), Failure> {
    let shown = trace.display();
    if args.seeds.len() > 1 {
        return Err(Failure::usage("--cell-trace follows one run, and there are several seeds"));
    }
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if args.output.as_ref().is_some_and(|folder| whole(trace).starts_with(whole(folder))) {
        return Err(Failure::usage(format_args!(
            "--cell-trace {shown} is in the folder of results, which is made anew"
        ))
        .hint("write it beside that folder"));
    }
    if trace.exists() && !args.force {
        return Err(
            Failure::new(format_args!("{shown}: exists already")).hint("--force replaces it, another name leaves it")
        );
    }
    Ok(())
}

/// Runs of several seeds side by side; those that an interruption left.
fn several(
    config: &Config,
    seeds: &[u64],
    jobs: Option<u16>,
    names: &Names,
    manner: Manner,
    progress: &Progress,
) -> Result<Vec<(u64, Results)>, Failure> {
    let jobs = jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> Result<(), Failure> {
        while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !interrupt::requested()) {
            let config = Config { seed: *seed, checkpoint_every: None, ..config.clone() };
            let mut watch = Watch { names, manner, progress, last: 0, series: None, trace: None, failed: None };
            let results = cells::run(&config, &mut watch).map_err(Failure::new)?;
            if !interrupt::requested() {
                done.lock().expect("no thread panics with it").push((*seed, results));
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.min(seeds.len())).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    let mut runs = done.into_inner().expect("no thread panics with it");
    runs.sort_by_key(|(seed, _)| seeds.iter().position(|one| one == seed));
    if runs.is_empty() {
        return Err(Failure::new("interrupted before a run was complete"));
    }
    Ok(runs)
}

/// Follows one run.
struct Watch<'a> {
    names: &'a Names,
    manner: Manner,
    progress: &'a Progress,
    last: u64,
    series: Option<Series>,
    trace: Option<Trace<'a>>,
    failed: Option<Failure>,
}

impl Watch<'_> {
    fn keep(&mut self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.failed.get_or_insert(failure);
        }
    }

    fn finish(self) -> Result<(), Failure> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        if let Some(trace) = self.trace {
            trace.finish()?;
        }
        self.series.map_or(Ok(()), Series::finish)
    }
}

impl Observer for Watch<'_> {
    fn watches_cells(&self) -> bool {
        self.trace.is_some()
    }

    fn cell(&mut self, event: Event) {
        if let Some(trace) = &mut self.trace {
            let written = trace.add(event);
            self.keep(written);
        }
    }

    fn queue(&mut self, at: Time, router: usize, bytes: u64) {
        if let Some(series) = &mut self.series {
            let id = self.names.nodes[router].id;
            let written = series.row(0, format_args!("{},{id},{bytes}", at.as_nanos()));
            self.keep(written);
        }
    }

    fn source(&mut self, at: Time, route: usize, window: u32, last: Duration, smoothed: Duration, bytes: u64) {
        if let Some(series) = &mut self.series {
            let (at, last, smoothed) = (at.as_nanos(), last.as_nanos(), smoothed.as_nanos());
            let id = self.names.nodes[self.names.sources[route]].id;
            let written = series.row(1, format_args!("{at},{id},{window},{last},{smoothed},{bytes}"));
            self.keep(written);
        }
    }

    fn checkpoint(&mut self, results: &Results) {
        if !self.manner.quiet {
            eprintln!("checkpoint at {:.3} s\n{}", results.end.as_secs_f64(), text_of(results, self.names));
        }
    }

    fn go_on(&mut self, at: Time) -> bool {
        let now = at.as_nanos();
        self.progress.advance(now - self.last);
        self.last = now;
        !interrupt::requested() && self.failed.is_none()
    }
}

/// The folder of results. It gets its name when it is complete.
struct Folder {
    staged: StagedFolder,
    target: PathBuf,
}

impl Folder {
    fn new(target: &Path, force: bool) -> Result<Folder, Failure> {
        let is_empty = std::fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
        if target.exists() && !is_empty {
            let name = target.display();
            if !target.join(ANSWER).is_file() {
                return Err(Failure::new(format_args!("{name} exists and holds no results of an internetwork"))
                    .hint("give a folder that is not there yet"));
            }
            if !force {
                return Err(
                    Failure::new(format_args!("{name} exists")).hint("take another name, or replace it with --force")
                );
            }
        }
        let staged = StagedFolder::create(target).map_err(|error| cannot_write(target, &error))?;
        Ok(Folder { staged, target: target.to_owned() })
    }

    /// Adds text and answer, and gives it its name.
    fn finish(self, text: &str, answer: &Value) -> Result<(), Failure> {
        let Folder { staged, target } = self;
        let finish = || -> io::Result<()> {
            std::fs::write(staged.path().join(TEXT), text)?;
            std::fs::write(staged.path().join(ANSWER), format!("{:#}\n", output::versioned(answer.clone())))?;
            take_name(staged.path(), &target, target.join(ANSWER).is_file())?;
            let _ = staged.keep();
            Ok(())
        };
        finish().map_err(|error| cannot_write(&target, &error))
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format_args!("{}: cannot write: {error}", path.display()))
}

/// Samples of one run, as tables.
struct Series {
    target: PathBuf,
    files: [BufWriter<File>; 2],
}

impl Series {
    fn new(folder: &Folder) -> Result<Series, Failure> {
        let open = |name: &str, head: &str| -> io::Result<BufWriter<File>> {
            let mut file = BufWriter::new(File::create(folder.staged.path().join(name))?);
            writeln!(file, "{head}")?;
            Ok(file)
        };
        let heads = [
            (QUEUES, "time_ns,router,queue_bytes"),
            (SOURCES, "time_ns,source,window_packets,round_trip_ns,smoothed_round_trip_ns,delivered_bytes"),
        ];
        let [queues, sources] =
            heads.map(|(name, head)| open(name, head).map_err(|error| cannot_write(&folder.target, &error)));
        Ok(Series { target: folder.target.clone(), files: [queues?, sources?] })
    }

    fn row(&mut self, file: usize, row: std::fmt::Arguments<'_>) -> Result<(), Failure> {
        writeln!(self.files[file], "{row}").map_err(|error| cannot_write(&self.target, &error))
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.files.iter_mut().try_for_each(Write::flush).map_err(|error| cannot_write(&self.target, &error))
    }
}

/// What happens to each cell, a line each.
struct Trace<'a> {
    staged: StagedFile,
    out: BufWriter<File>,
    names: &'a Names,
}

impl Trace<'_> {
    fn new<'a>(path: &Path, names: &'a Names) -> Result<Trace<'a>, Failure> {
        let cannot = |error| cannot_write(path, &error);
        let (staged, file) = StagedFile::create(path).map_err(cannot)?;
        let mut out = BufWriter::new(file);
        writeln!(out, "time_ns\tevent\tnode\tcircuit\troute\tdirection\tdata\tack\tbytes\tpart").map_err(cannot)?;
        Ok(Trace { staged, out, names })
    }

    fn add(&mut self, event: Event) -> Result<(), Failure> {
        let happening = match event.happening {
            Happening::Queued => "queued",
            Happening::Sent => "sent",
            Happening::Came => "came",
            Happening::Lost(_) => "lost",
        };
        let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let part = match (event.cell.first, event.cell.last) {
            (true, true) => "whole",
            (true, false) => "first",
            (false, true) => "last",
            (false, false) => "middle",
        };
        writeln!(
            self.out,
            "{}\t{happening}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{part}",
            event.at.as_nanos(),
            self.names.nodes[event.node].id,
            event.cell.circuit,
            event.route,
            if event.back { "back" } else { "there" },
            number(event.data),
            number(event.ack),
            event.cell.carried,
        )
        .map_err(|error| cannot_write(self.staged.path(), &error))
    }

    fn finish(mut self) -> Result<(), Failure> {
        let path = self.staged.path().to_owned();
        let cannot = |error| cannot_write(&path, &error);
        self.out.flush().map_err(cannot)?;
        self.staged.commit().map_err(cannot)
    }
}

/// One line of the original's output: a name and its value with three decimals.
fn line(text: &mut String, name: &str, value: f64, unit: &str) {
    let _ = writeln!(text, "    {name:<34} {value:>16.3} {unit}");
}

fn spread(text: &mut String, name: &str, spread: &Spread, unit: &str) {
    let Spread { count, mean, deviation, min, p95, max } = spread;
    let _ = writeln!(
        text,
        "    {name:<34} {mean:>16.3} {unit}  (deviation {deviation:.3}, minimum {min:.3}, 95 % {p95:.3}, maximum {max:.3}, samples {count})"
    );
}

fn rate(count: u64, results: &Results) -> f64 {
    let seconds = results.measured.as_secs_f64();
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Results as VCSIM tells them, node by node.
fn text_of(results: &Results, names: &Names) -> String {
    let mut text = format!(
        "simulated {:.3} s, measured {:.3} s{}\ncells: {} entered circuits, {} came to their ends, {} were lost, {} were under way\n",
        results.end.as_secs_f64(),
        results.measured.as_secs_f64(),
        if results.regenerated { ", ended at an instant of regeneration" } else { "" },
        results.cells,
        results.cells_arrived,
        results.cells_lost,
        results.cells_under_way,
    );
    for (place, node) in names.nodes.iter().enumerate().filter(|(_, node)| node.report) {
        let links = names.links_from(node.id);
        let (router, host) = (results.routers[place].as_ref(), results.hosts[place].as_ref());
        if router.is_none() && host.is_none() && links.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{} {}", node.kind, node.id);
        if let Some(router) = router {
            spread(&mut text, "queue", &router.queue_bytes, "bytes");
            if router.waiting_packets.max > 0.0 {
                spread(&mut text, "packets that wait for windows", &router.waiting_packets, "packets");
            }
            spread(&mut text, "packet delay", &router.packet_delay_s, "s");
            line(&mut text, "packet throughput", rate(router.packets, results), "packets/s");
            line(&mut text, "cell throughput", rate(router.cells, results), "cells/s");
            line(&mut text, "bit throughput", rate(router.cells * names.bits_per_cell, results), "bit/s");
            line(&mut text, "cells lost", router.cells_lost as f64, "");
            line(&mut text, "packets broken", router.packets_broken as f64, "");
            line(&mut text, "circuits set up", router.circuits_set_up as f64, "");
        }
        if let Some(host) = host {
            if host.round_trip_s.count > 0 {
                spread(&mut text, "round trip", &host.round_trip_s, "s");
            }
            line(&mut text, "packet throughput", rate(host.packets_delivered, results), "packets/s");
            line(&mut text, "bit throughput", rate(host.bytes_delivered * 8, results), "bit/s");
            line(&mut text, "retransmissions", host.retransmissions as f64, "");
            line(&mut text, "timeouts", host.timeouts as f64, "");
            if node.kind == "source" {
                line(&mut text, "conversations", host.conversations as f64, "");
            }
        }
        for (link, way, other) in links {
            line(&mut text, &format!("utilisation of the link to {other}"), results.links[link][way].utilisation, "");
        }
    }
    text
}

/// Quantities of a run that are averaged over seeds, in one order.
fn quantities(results: &Results, names: &Names) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for (place, node) in names.nodes.iter().enumerate().filter(|(_, node)| node.report) {
        let mut add = |name: &str, value: f64| all.push((format!("{} {}: {name}", node.kind, node.id), value));
        if let Some(router) = &results.routers[place] {
            add("queue, mean (bytes)", router.queue_bytes.mean);
            add("queue, maximum (bytes)", router.queue_bytes.max);
            add("packet delay, mean (s)", router.packet_delay_s.mean);
            add("cells/s", rate(router.cells, results));
        }
        if let Some(host) = results.hosts[place].as_ref().filter(|_| node.kind == "source") {
            add("round trip, mean (s)", host.round_trip_s.mean);
            add("throughput (bit/s)", rate(host.bytes_delivered * 8, results));
            add("retransmissions", host.retransmissions as f64);
        }
        for (link, way, other) in names.links_from(node.id) {
            add(&format!("utilisation of the link to {other}"), results.links[link][way].utilisation);
        }
    }
    all
}

/// Means over seeds with 95 % intervals (methods G.7).
fn text_of_several(runs: &[(u64, Results)], names: &Names) -> String {
    let found: Vec<Vec<(String, f64)>> = runs.iter().map(|(_, results)| quantities(results, names)).collect();
    let mut text = format!("{} runs; means and 95 % intervals over them\n", runs.len());
    for (place, (name, _)) in found[0].iter().enumerate() {
        let values: Vec<f64> = found.iter().map(|run| run[place].1).collect();
        let (mean, low, high) = interval(&values);
        let _ = writeln!(text, "    {name:<50} {mean:>16.3}  {low:.3} to {high:.3}");
    }
    text
}

fn interval(values: &[f64]) -> (f64, f64, f64) {
    match Estimate::of_mean(values) {
        Some(estimate) => {
            let interval = estimate.interval(0.95);
            (estimate.value, interval.low, interval.high)
        }
        None => (values[0], values[0], values[0]),
    }
}

fn spread_json(spread: &Spread) -> Value {
    json!({
        "n": spread.count,
        "mean": spread.mean,
        "standard_deviation": spread.deviation,
        "min": spread.min,
        "p95": spread.p95,
        "max": spread.max,
    })
}

fn router_json(id: u64, router: &RouterResults, results: &Results, names: &Names) -> Value {
    json!({
        "router": id,
        "queue_bytes": spread_json(&router.queue_bytes),
        "waiting_packets": spread_json(&router.waiting_packets),
        "packet_delay_s": spread_json(&router.packet_delay_s),
        "packets_per_second": rate(router.packets, results),
        "cells_per_second": rate(router.cells, results),
        "bits_per_second": rate(router.cells * names.bits_per_cell, results),
        "cells_lost": router.cells_lost,
        "packets_broken": router.packets_broken,
        "circuits_set_up": router.circuits_set_up,
    })
}

fn host_json(id: u64, kind: &str, host: &HostResults, results: &Results) -> Value {
    json!({
        "host": id,
        "function": kind,
        "round_trip_s": (host.round_trip_s.count > 0).then(|| spread_json(&host.round_trip_s)),
        "packets_per_second": rate(host.packets_delivered, results),
        "bits_per_second": rate(host.bytes_delivered * 8, results),
        "packets_sent": host.packets_sent,
        "retransmissions": host.retransmissions,
        "timeouts": host.timeouts,
        "conversations": host.conversations,
    })
}

fn answer(file: &Path, runs: &[(u64, Results)], names: &Names, interrupted: bool) -> Value {
    let run = |(seed, results): &(u64, Results)| {
        let nodes = || names.nodes.iter().enumerate();
        let routers = nodes().filter_map(|(place, node)| {
            results.routers[place].as_ref().map(|router| router_json(node.id, router, results, names))
        });
        let hosts = nodes().filter_map(|(place, node)| {
            results.hosts[place].as_ref().map(|host| host_json(node.id, node.kind, host, results))
        });
        let links = nodes().flat_map(|(_, node)| {
            names.links_from(node.id).into_iter().map(|(link, way, other)| {
                let found = results.links[link][way];
                json!({ "from": node.id, "to": other, "utilisation": found.utilisation, "bytes": found.bytes })
            })
        });
        json!({
            "seed": seed,
            "end_ns": results.end.as_nanos(),
            "measured_ns": results.measured.as_nanos(),
            "regenerated": results.regenerated,
            "cells": results.cells,
            "cells_arrived": results.cells_arrived,
            "cells_lost": results.cells_lost,
            "cells_under_way": results.cells_under_way,
            "routers": routers.collect::<Vec<_>>(),
            "hosts": hosts.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
        })
    };
    let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    json!({
        "specification": name,
        "interrupted": interrupted,
        "runs": runs.iter().map(run).collect::<Vec<_>>(),
    })
}
