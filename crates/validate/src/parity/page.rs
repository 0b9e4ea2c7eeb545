//! `docs/evidence/parity.md`, from outcomes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::bands::{Judgement, Metric};
use super::cells::Load;
use super::measure::Measured;
use super::outcome::Outcome;

const HEAD: &str = "# Parity: the simulator beside the kernel

Written by `make parity`; do not edit. This page is for those who want to know how far they can take
results of the simulator with `profile = \"linux\"` for the kernel's. Each cell is one experiment. It
runs several times through the kernel's TCP (`flowloom run --on live`) and in the simulator, and both
are measured alike.

```
make parity                                       # run what is missing, write this page; root, 90 minutes
target/release/parity list                        # names of the cells
target/release/parity show cubic-1-pie-20m40      # run one in both worlds, side by side
```

The kernel's repetitions are in `crates/validate/parity/kernel.jsonl`, a line each. They stay valid
until the cell changes. `cargo test` runs the simulator alone on some of the cells and judges it by
that file.

A cell is *inside* if each of its metrics is. The band of a metric spans the kernel's repetitions and
a margin:

| metric | margin |
|---|---|
| goodput | 5 % below the least and above the most; 10 % where the path loses packets at random |
| drops, timeouts | a factor of 1.5, or 3 more or less; or below 0.1 % of the packets in both worlds |
| mean queue | a factor of 1.25, or 3 packets more or less |
| tolerant KS of the queue (bulk), of durations and response times (exchanges) | at most 0.1, or 1.5 times the largest between two repetitions of the kernel |

The kernel's repetitions have the seeds 1, 2 and so on. A seed decides what the path draws: losses,
starts, round-trip times. The simulator's number is the median over the seeds 1 to 3, or that of one
run where the seed makes no difference. Its distance is the median over all pairs of a simulation and
a repetition. The distances have the tolerance of [comparison.md](../guide/comparison.md); queues may move by 0.5 ms at the rate of the line.

Runs for which the host was late are repeated and do not count; other reservations of a run are given
below. The kernel's threads that receive for the devices (NAPI) are in the real-time class during
these runs. Where they wait for a core, acknowledgements go in lumps, and slow start ends with
hundreds of losses instead of ten.

A queue is what waits at the bottleneck; the packet in transmission does not count. Drops are of all
packets, at all links. The peak of the flight is the most that all flows from the left had sent and
not had acknowledged, seen at the sender, in segments of 1,448 bytes.
";

/// Writes `docs/evidence/parity.md` as text.
pub fn page(outcomes: &[Outcome], explanations: &BTreeMap<String, String>) -> String {
    let mut page = HEAD.to_owned();
    summary(&mut page, outcomes);
    outside(&mut page, outcomes, explanations);
    table(&mut page, "Bulk transfers", outcomes, Load::Bulk);
    table(&mut page, "Exchanges", outcomes, Load::Exchanges);
    beside(&mut page, outcomes);
    reservations(&mut page, outcomes);
    page
}

fn summary(page: &mut String, outcomes: &[Outcome]) {
    let judged = outcomes.iter().filter(|one| one.judged.is_some()).count();
    let inside = outcomes.iter().filter(|one| one.is_inside() == Some(true)).count();
    let core = outcomes.iter().filter(|one| one.cell.is_core && one.is_inside() == Some(false)).count();
    let share = 100.0 * inside as f64 / judged.max(1) as f64;
    let _ = writeln!(
        page,
        "\n**{inside} of {judged} cells are inside ({share:.0} %; the aim is 95 %).** Of CUBIC over drop-tail, PIE and FQ-CoDel {core} are outside (the aim \
         is none)."
    );
    if judged < outcomes.len() {
        let missing: Vec<String> =
            outcomes.iter().filter(|one| one.judged.is_none()).map(|one| format!("`{}`", one.cell.name)).collect();
        let _ = writeln!(page, "Too few repetitions of the kernel to judge: {}.", missing.join(", "));
    }
    let untested: Vec<String> =
        outcomes.iter().filter(|one| !one.cell.is_tested).map(|one| format!("`{}`", one.cell.name)).collect();
    let _ = writeln!(page, "\nToo long for `cargo test`: {}.", untested.join(", "));
    let all = || outcomes.iter().flat_map(|one| &one.kernel);
    let kernels: BTreeSet<String> = all().map(|one| format!("Linux {}, {}", one.kernel, one.devices)).collect();
    let dates: BTreeSet<&str> = all().map(|one| one.date.as_str()).collect();
    if let (Some(first), Some(last)) = (dates.first(), dates.last()) {
        let dates = if first == last { (*first).to_owned() } else { format!("{first} to {last}") };
        let kernels: Vec<String> = kernels.into_iter().collect();
        let _ = writeln!(page, "\n{} repetitions: {}; {dates}.", all().count(), kernels.join("; "));
    }
}

/// Writes the cells that are outside a band, with explanations.
fn outside(page: &mut String, outcomes: &[Outcome], explanations: &BTreeMap<String, String>) {
    let outside: Vec<&Outcome> = outcomes.iter().filter(|one| one.is_inside() == Some(false)).collect();
    if outside.is_empty() {
        return;
    }
    page.push_str("\n## Outside\n\n");
    for outcome in outside {
        let metrics: Vec<String> = outcome.outside().map(|one| in_words(one, outcome)).collect();
        let why = explanations.get(&outcome.cell.name).map_or("Not explained yet.", String::as_str);
        let _ = writeln!(page, "- `{}`: {}. {}", outcome.cell.name, metrics.join("; "), why.replace('\n', "\n  "));
    }
}

fn in_words(one: &Judgement, outcome: &Outcome) -> String {
    let [least, most] = one.band.map(|edge| number(edge, digits(one.metric)));
    let simulator = number(one.simulator, digits(one.metric));
    let over =
        if outcome.simulator.len() > 1 { format!(" (median of {})", outcome.simulator.len()) } else { String::new() };
    format!("{} {simulator}{over}, not {least} to {most}", one.metric.name())
}

/// The number of digits after the decimal point.
fn digits(metric: Metric) -> usize {
    match metric {
        Metric::Goodput | Metric::QueueDistance | Metric::DurationDistance | Metric::ResponseDistance => 2,
        Metric::Drops | Metric::Timeouts => 0,
        Metric::Queue => 1,
    }
}

fn number(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}

/// `least-most / simulator`, in bold letters if that is outside.
fn compared(one: &Judgement) -> String {
    let digits = digits(one.metric);
    let [least, most] = one.kernel.map(|value| number(value, digits));
    let simulator = number(one.simulator, digits);
    let range = if least == most { least } else { format!("{least} – {most}") };
    if one.is_inside() { format!("{range} / {simulator}") } else { format!("{range} / **{simulator}**") }
}

fn table(page: &mut String, title: &str, outcomes: &[Outcome], load: Load) {
    let metrics: &[Metric] = match load {
        Load::Bulk => &[Metric::Goodput, Metric::Drops, Metric::Timeouts, Metric::Queue, Metric::QueueDistance],
        Load::Exchanges => &[
            Metric::Goodput,
            Metric::Drops,
            Metric::Timeouts,
            Metric::Queue,
            Metric::DurationDistance,
            Metric::ResponseDistance,
        ],
    };
    let heads: Vec<String> = metrics.iter().map(|metric| head(*metric)).collect();
    let _ = writeln!(page, "\n## {title}\n\nThe kernel's least and most / the simulator.\n");
    let _ = writeln!(page, "| cell | | {} | |", heads.join(" | "));
    let _ = writeln!(page, "|---|---|{}---|", "--:|".repeat(metrics.len()));
    for outcome in outcomes.iter().filter(|one| one.cell.load == load) {
        let of = |metric: &Metric| {
            let judged = outcome.judged.iter().flatten().find(|one| one.metric == *metric);
            judged.map_or_else(|| "–".to_owned(), compared)
        };
        let columns: Vec<String> = metrics.iter().map(of).collect();
        let verdict = match outcome.is_inside() {
            Some(true) => "inside",
            Some(false) => "**outside**",
            None => "not judged",
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {verdict} |",
            outcome.cell.name,
            outcome.cell.title,
            columns.join(" | ")
        );
    }
}

fn head(metric: Metric) -> String {
    match metric {
        Metric::Goodput => "goodput, Mbit/s".to_owned(),
        Metric::Queue => "mean queue, packets".to_owned(),
        other => other.name().to_owned(),
    }
}

/// What is measured and not judged.
fn beside(page: &mut String, outcomes: &[Outcome]) {
    page.push_str(
        "\n## Measured beside\n\nNot judged. The kernel's least and most / the simulator's median.\n\n\
         | cell | repetitions | packets sent | 90 % of the queue, packets | mean queue, ms | 90 %, ms | sent again, % | peak of the flight |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for outcome in outcomes {
        let of = |digits: usize, value: &dyn Fn(&Measured) -> Option<f64>| -> String {
            let mut kernel: Vec<f64> = outcome.kernel.iter().filter_map(|one| value(&one.measured)).collect();
            let mut simulator: Vec<f64> = outcome.simulator.iter().filter_map(value).collect();
            kernel.sort_unstable_by(f64::total_cmp);
            simulator.sort_unstable_by(f64::total_cmp);
            let shown = |value: Option<&f64>| value.map_or_else(|| "–".to_owned(), |value| number(*value, digits));
            let (least, most) = (shown(kernel.first()), shown(kernel.last()));
            let range = if least == most { least } else { format!("{least} – {most}") };
            format!("{range} / {}", shown(simulator.get(simulator.len() / 2)))
        };
        let columns = [
            of(0, &|one| Some(one.offered_packets as f64)),
            of(0, &|one| Some(one.queue_p90_packets)),
            of(1, &|one| Some(one.queue_mean_ms)),
            of(1, &|one| Some(one.queue_p90_ms)),
            of(2, &|one| Some(100.0 * one.retransmitted_share)),
            of(0, &|one| one.peak_flight_segments),
        ];
        let _ = writeln!(page, "| `{}` | {} | {} |", outcome.cell.name, outcome.kernel.len(), columns.join(" | "));
    }
}

/// What the runs themselves say against being believed.
fn reservations(page: &mut String, outcomes: &[Outcome]) {
    let all = outcomes.iter().flat_map(|one| &one.kernel).filter(|one| !one.reservations.is_empty());
    let lines: Vec<String> = all
        .map(|one| format!("- `{}`, seed {}: {}; {}\n", one.cell, one.seed, one.verdict, one.reservations.join("; ")))
        .collect();
    if !lines.is_empty() {
        let _ = write!(page, "\n## Reservations of live runs\n\n{}", lines.concat());
    }
}

#[cfg(test)]
mod tests {
    use super::super::bands::judge;
    use super::super::cells;
    use super::super::repetitions::Repetition;
    use super::*;

    /// A cell whose kernel has 18, 18.5 and 19 Mbit/s and no drops, and whose simulator has so many Mbit/s.
    fn outcome(name: &str, goodput_mbit: f64, repetitions: usize) -> Outcome {
        let cell = cells::all().into_iter().find(|cell| cell.name == name).unwrap();
        let measured = |goodput_mbit| Measured {
            goodput_mbit,
            offered_packets: 30_000,
            queue_packets: vec![1; 100],
            ..Measured::default()
        };
        let kernel: Vec<Repetition> = [18.0, 18.5, 19.0][..repetitions]
            .iter()
            .zip(1..)
            .map(|(goodput, seed)| Repetition {
                cell: name.to_owned(),
                seed,
                fingerprint: cell.fingerprint(),
                date: format!("2026-11-2{seed}"),
                kernel: "6.18".to_owned(),
                devices: "TUN devices".to_owned(),
                verdict: "DEGRADED".to_owned(),
                reservations: vec!["connections finished: 3 unfinished".to_owned()],
                late_p99_us: 100,
                measured: measured(*goodput),
            })
            .collect();
        let simulator = vec![measured(goodput_mbit)];
        let of_kernel: Vec<&Measured> = kernel.iter().map(|one| &one.measured).collect();
        let judged = judge(&cell, &of_kernel, &[&simulator[0]]);
        Outcome { cell, kernel, simulator, judged }
    }

    #[test]
    fn cells_outside_stand_first_with_why() {
        let outcomes =
            [outcome("cubic-1-pie-20m40", 18.2, 3), outcome("tail-20p", 12.0, 3), outcome("pauses", 18.0, 2)];
        let why = BTreeMap::from([
            ("tail-20p".to_owned(), "It slept.".to_owned()),
            ("pauses".to_owned(), "Never read.".to_owned()),
        ]);
        let page = page(&outcomes, &why);
        assert!(page.contains("**1 of 2 cells are inside (50 %"), "{page}");
        assert!(page.contains("Too few repetitions of the kernel to judge: `pauses`."));
        assert!(page.contains("- `tail-20p`: goodput 12.00, not 17.14 to 19.95. It slept.\n"));
        assert!(page.contains("| 18.00 – 19.00 / 18.20 | 0 / 0 |"));
        assert!(page.contains("| 18.00 – 19.00 / **12.00** |"));
        assert!(page.contains("8 repetitions: Linux 6.18, TUN devices; 2026-11-21 to 2026-11-23."));
        assert!(page.contains("- `pauses`, seed 2: DEGRADED; connections finished: 3 unfinished\n"));
        assert!(!page.contains("Never read."));
    }
}
