//! Runs and comparisons for the terminal: at most 100 columns, readable without colour.

use std::fmt::Write as _;

use flowloom_core::record::TrafficClass;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::three_digits;
use flowloom_core::workload::LinkSide;
use flowloom_store::workload::Lacking;

use crate::answer::{Answer, Distance};
use crate::beside_text::link_beside;
use crate::compare::{Basis, Comparison, Difference, Fidelity, Found as RuleFound, Judgement, Outcome};
use crate::conclusion::Conclusion;
use crate::directions::Directions;
use crate::facts::{ClassFacts, LiveFacts, missing_text, set_aside_text};
use crate::loops::Feedback;
use crate::metric::Unit;
use crate::probes::{NOTE, ProbesOfKind};
use crate::replications::{over_seeds_text, worst_of_seeds};
use crate::run::Run;
use crate::sojourn::class_name;
use crate::summary::{QueueDelays, Summary};
use crate::verdict::{Light, Verdict};
use crate::warning::Warning;
use crate::words::{by_pattern, columns, counted, in_columns, thousands};
use crate::workload_mark::WorkloadMark;

/// How wide lines may get.
pub const WIDTH: usize = 100;

/// What a run replayed, what came of it and whether to believe it, as `run` prints it. `colour` is for the verdict and
/// for what needs attention.
pub fn run_text(run: &Run, conclusion: &Conclusion, colour: bool) -> String {
    let mut text = String::new();
    feedback(&mut text, &conclusion.summary.feedback);
    for (head, body) in preamble(&[run]) {
        wrap(&mut text, &head, &body);
    }
    text.push('\n');
    table(&mut text, &Answer::of_run(run, conclusion), colour);
    text.push('\n');
    senders(&mut text, run);
    probes(&mut text, &conclusion.summary.probes);
    queues(&mut text, run, &conclusion.summary);
    links(&mut text, run);
    text.push_str(&link_beside(run));
    if let Some(live) = &run.facts.live {
        kept_up(&mut text, live);
    }
    let Summary { verdict: found, warnings: known, .. } = &conclusion.summary;
    verdict(&mut text, found, Default::default(), colour);
    warnings(&mut text, known, colour);
    text
}

/// What several seeds of an experiment came to together: what was run, statistics with their spread, the worst verdict, and all
/// warnings once.
pub fn seeds_text(runs: &[Run], conclusions: &[Conclusion], colour: bool) -> String {
    let mut text = String::new();
    let Some(first) = runs.first() else { return text };
    let all: Vec<&Run> = runs.iter().collect();
    let is_one_draw = WorkloadMark::is_one_draw(runs.iter().map(|run| run.measurements.workload));
    feedback(&mut text, &Feedback::of_runs(runs).unwrap_or_else(|| Feedback::of(&first.facts)));
    for (head, body) in preamble(&all) {
        wrap(&mut text, &head, &body);
    }
    let seeds: Vec<String> = runs.iter().map(|run| run.facts.seed.to_string()).collect();
    let above = match is_one_draw {
        true => "above: the first",
        false => "above: bytes of all draws; least to most of one; the rest of the first",
    };
    wrap(&mut text, "seeds         ", &format!("{} ({above}; each has its folder)", seeds.join(", ")));
    let _ = writeln!(text, "\n{}", over_seeds_text(runs));
    if let Some(worst) = worst_of_seeds(runs, conclusions) {
        verdict(&mut text, &worst.told("seed"), worst.owners("seed"), colour);
    }
    for ToldOfSeeds { warning, seeds, is_one_text } in warnings_of_seeds(runs, conclusions) {
        // Numbers are those of the first.
        let owners = match seeds[..] {
            _ if is_one_text && seeds.len() == runs.len() => String::new(),
            [seed] => format!(" (seed {seed})"),
            [first, ..] => format!(" (seed {first}; alike in {} of {} seeds)", seeds.len(), runs.len()),
            [] => String::new(),
        };
        told_warning(&mut text, warning, &owners, colour);
    }
    text
}

/// A warning of several seeds.
struct ToldOfSeeds<'a> {
    /// As the first of them has it.
    warning: &'a Warning,
    /// Those that have it, with whatever numbers.
    seeds: Vec<u64>,
    /// All have the same numbers.
    is_one_text: bool,
}

/// The warnings of all seeds, those that say the same once.
fn warnings_of_seeds<'a>(runs: &[Run], conclusions: &'a [Conclusion]) -> Vec<ToldOfSeeds<'a>> {
    let mut told: Vec<ToldOfSeeds<'_>> = Vec::new();
    for (run, conclusion) in runs.iter().zip(conclusions) {
        let seed = run.facts.seed;
        for warning in &conclusion.summary.warnings {
            match told.iter_mut().find(|known| known.warning.is_alike(warning)) {
                Some(known) => {
                    known.is_one_text &= known.warning == warning;
                    if known.seeds.last() != Some(&seed) {
                        known.seeds.push(seed);
                    }
                }
                None => told.push(ToldOfSeeds { warning, seeds: vec![seed], is_one_text: true }),
            }
        }
    }
    told
}

/// The first line of an answer: which bytes were sent in a closed loop.
fn feedback(text: &mut String, feedback: &Feedback) {
    if let Some(said) = feedback.text() {
        wrap(text, "bytes         ", &said);
    }
    if let Some(said) = feedback.clocked_text() {
        wrap(text, "  released    ", &said);
    }
}

/// Comparisons, one after the other: what is said of each metric, how far it is apart, and why.
pub fn comparison_text(comparisons: &[Comparison], colour: bool) -> String {
    let mut text = String::new();
    for comparison in comparisons {
        for (name, told) in comparison.told_feedback() {
            wrap(&mut text, &format!("bytes of {name}:"), &told);
        }
        comparison_head(&mut text, comparison);
        for (name, told) in comparison.told_verdicts() {
            wrap(&mut text, &format!("  verdict of {name}:"), &told);
        }
        differences(&mut text, comparison, colour);
        text.push('\n');
        reasons(&mut text, comparison);
        for taken in &comparison.taken {
            wrap(&mut text, "  ", taken);
        }
        for (name, why) in &comparison.left_out {
            wrap(&mut text, &format!("  left out: {}:", name.replace('_', " ")), why);
        }
        if !comparison.left_out.is_empty() || !comparison.taken.is_empty() {
            text.push('\n');
        }
        for difference in comparison.largest_differences() {
            let told = match difference.verdict.outcome {
                Outcome::Different => String::new(),
                _ => format!(": {}", difference.verdict.said(difference.judgement)),
            };
            wrap(
                &mut text,
                "  ",
                &format!("{}{told}", comparison.directions.finding(difference.metric, &difference.finding)),
            );
        }
        text.push('\n');
        score_card(&mut text, comparison);
        if let Some(fidelity) = &comparison.fidelity {
            rests_on(&mut text, fidelity);
        }
    }
    text
}

/// The table of differences: a line for each metric.
fn differences(text: &mut String, comparison: &Comparison, colour: bool) {
    let directions = comparison.directions;
    let has_direction = comparison.differences.iter().any(|difference| difference.metric.from().is_some());
    let legend = if has_direction { directions.legend() } else { String::new() };
    let heads = ["KS", "tolerant", "ratio at p50, p90, p99"];
    let _ = writeln!(text, "\n{:34}{:13} {:>7} {:>9}  {:>26}", legend, "", heads[0], heads[1], heads[2]);
    for difference in &comparison.differences {
        let distance = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
        let ratio = |p: f64| {
            let ratio = difference.ratios.iter().find(|ratio| ratio.p == p).and_then(|ratio| ratio.ratio);
            ratio.map_or_else(|| "–".to_owned(), |ratio| ratio.show(three_digits))
        };
        let word = difference.said();
        let gap = 13 - word.len().min(13);
        let _ = writeln!(
            text,
            "{:34}{}{:gap$} {:>7} {:>9}  {:>8} {:>8} {:>8}",
            directions.plural(difference.metric),
            judged(&word, colour),
            "",
            distance(difference.ks),
            distance(difference.tolerant_ks),
            ratio(0.5),
            ratio(0.9),
            ratio(0.99),
        );
    }
}

fn comparison_head(text: &mut String, comparison: &Comparison) {
    let at = if comparison.measured_at == "monitor" { "at the monitor" } else { "at the endpoints" };
    let mut head = format!("against {}, measured {at}", comparison.reference);
    let [reference, other] = comparison.replications;
    if reference.max(other) > 1 {
        let _ = match (&comparison.pairing, reference == other) {
            (None, _) => write!(head, "; {}", counted(other as u64, "replication")),
            (Some(pairing), true) => write!(head, "; {} each, {pairing}", counted(other as u64, "replication")),
            (Some(pairing), false) => write!(head, "; {reference} and {other} replications, {pairing}"),
        };
    }
    wrap(text, &comparison.other, &head);
    if let Some(note) = comparison.note_on_seeds() {
        wrap(text, "    ", note);
    }
}

/// Why each metric is called what it is; those that only distances speak of, by why there is no more.
fn reasons(text: &mut String, comparison: &Comparison) {
    let mut by_distance: Vec<(&str, Vec<String>)> = Vec::new();
    for Difference { metric, verdict, .. } in &comparison.differences {
        let name = comparison.directions.plural(*metric);
        if verdict.basis != Basis::Distance {
            wrap(text, &format!("  {name}:"), &verdict.reason);
            continue;
        }
        let why = &*verdict.untested;
        match by_distance.iter_mut().find(|(told, _)| *told == why) {
            Some((_, metrics)) => metrics.push(name),
            None => by_distance.push((why, vec![name])),
        }
    }
    for (why, metrics) in by_distance {
        wrap(text, "  by distance:", &format!("{} ({why})", metrics.join(", ")));
    }
    if !comparison.differences.is_empty() {
        text.push('\n');
    }
}

/// A line for each metric: how far the two are apart, and on how much that rests.
fn score_card(text: &mut String, comparison: &Comparison) {
    if comparison.card.is_empty() {
        return;
    }
    let has_clean = comparison.card.iter().any(|score| score.clean.is_some());
    let name = match &comparison.fidelity {
        Some(fidelity) if !fidelity.conditions.is_empty() => {
            let why = format!("not compared, under other conditions: {}", fidelity.conditions.join(", "));
            wrap(text, "fidelity  ", &why);
            "beside the original"
        }
        Some(_) => "fidelity",
        None => "score card",
    };
    let clean = if has_clean { "clean alone" } else { "" };
    let _ = writeln!(
        text,
        "{}",
        format!("{name:34}{:>10}{:>8}{:>10}{:>9}  {clean:>20}", "values", "share", "distance", "ratio").trim_end()
    );
    let distance = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
    for score in &comparison.card {
        let share = score.share.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", 100.0 * share));
        let ratio = score.ratio.map_or_else(|| "–".to_owned(), |ratio| ratio.show(three_digits));
        let clean = score.clean.map_or_else(String::new, |clean| {
            format!("{} ({})", distance(clean.tolerant_ks), thousands(clean.n as u64))
        });
        let line = format!(
            "  {:32}{:>10}{share:>8}{:>10}{ratio:>9}  {clean:>20}",
            comparison.directions.plural(score.metric),
            thousands(score.n as u64),
            distance(score.distance)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if let Some((score, distance)) = comparison.worst_score().and_then(|score| Some((score, score.distance?))) {
        wrap(
            text,
            "  worst:",
            &format!("{}, {distance:.3} (0 is the same)", comparison.directions.plural(score.metric)),
        );
    }
    text.push('\n');
}

/// What the card of a replay rests on.
fn rests_on(text: &mut String, fidelity: &Fidelity) {
    let endings = fidelity.endings;
    let mut parts = vec![format!("closed in both {}", thousands(endings.both))];
    for (count, place) in [
        (endings.only_original, "only in the original"),
        (endings.only_replay, "only in the replay"),
        (endings.neither, "in neither"),
    ] {
        parts.extend((count > 0).then(|| format!("{place} {}", thousands(count))));
    }
    if fidelity.lost_in_original > 0 {
        parts.push(format!("{} lost packets in the original", thousands(fidelity.lost_in_original)));
    }
    wrap(text, "connections", &parts.join(", "));
    let set_aside = set_aside_text(&fidelity.set_aside);
    if !set_aside.is_empty() {
        wrap(text, "set aside  ", &set_aside);
    }
    text.push('\n');
}

/// What was found of each rule.
pub fn rules_text(found: &[RuleFound], colour: bool) -> String {
    let mut text = String::new();
    let one_pair =
        found.windows(2).all(|pair| (&pair[0].other, &pair[0].reference) == (&pair[1].other, &pair[1].reference));
    for one in found {
        let word = one.held.to_string();
        let gap = 16 - word.len().min(16);
        let word = if colour && one.fails { painted(&word, "31") } else { word };
        let pair = if one_pair { String::new() } else { format!(" ({} against {})", one.other, one.reference) };
        let mut body = String::new();
        wrap(&mut body, &" ".repeat(16), &format!("{}{pair}: {}", one.rule, one.found));
        let _ = write!(text, "{word}{:gap$}{}", "", body.trim_start());
    }
    text
}

/// A number of each of several runs: one if all have the same, else the least and the most.
fn range<'a>(runs: &[&'a Run], of: impl Fn(&'a Run) -> u64, show: impl Fn(u64) -> String) -> String {
    let values = || runs.iter().map(|run| of(run));
    match (values().min().unwrap_or_default(), values().max().unwrap_or_default()) {
        (least, most) if least == most => show(least),
        (least, most) => format!("{} to {}", show(least), show(most)),
    }
}

/// How many connections began, by pattern.
fn connections(runs: &[&Run]) -> String {
    let started = |run: &Run| run.measurements.outcomes.started();
    let kinds = |run: &Run| {
        let totals_only = run.facts.original.as_ref().map_or(0, |original| original.totals_only);
        let sequential = run.measurements.sequential;
        by_pattern(sequential.saturating_sub(totals_only), started(run) - sequential, totals_only)
    };
    match runs {
        [run, others @ ..] if others.iter().all(|other| kinds(other) == kinds(run)) => {
            format!("{} ({})", counted(started(run), "TCP connection"), kinds(run))
        }
        _ => format!("{} TCP connections", range(runs, started, thousands)),
    }
}

/// What the capture lacks of what is replayed, of draws together; `None` if it lacks nothing.
fn missing(runs: &[&Run]) -> Option<String> {
    let is_one_draw = WorkloadMark::is_one_draw(runs.iter().map(|run| run.measurements.workload));
    let told = if is_one_draw { &runs[..1.min(runs.len())] } else { runs };
    let payloads = told.iter().filter_map(|run| run.facts.original.as_ref());
    let lacking = payloads
        .map(|original| original.replayed_payload().lacking())
        .fold(Lacking::default(), |lacking, other| lacking.plus(&other));
    (lacking.missing > 0).then(|| missing_text(&lacking))
}

/// The lines above the table, of one run or of the draws of several: (head, what follows it). What draws do not differ in is of the first.
fn preamble(runs: &[&Run]) -> Vec<(String, String)> {
    let Some(&run) = runs.first() else { return Vec::new() };
    let measured = &run.measurements;
    let length = measured.window.1.since(measured.window.0);
    let mut parts = Vec::new();
    // Vector files of other tools do not say how many there were.
    if run.facts.original.as_ref().is_some_and(|original| original.packets > 0) {
        let packets = |run: &Run| run.facts.original.as_ref().map_or(0, |original| original.packets);
        parts.push(format!("{} packets", range(runs, packets, thousands)));
    }
    // Packets are those of the whole original; with a window of a part of it, its length is told with the connections.
    let partial = run.facts.original.as_ref().is_some_and(|original| original.duration_ns > length.as_nanos());
    let whole = run.facts.original.as_ref().filter(|_| partial).map(|original| original.duration_ns);
    let (long, jumps) = match whole {
        Some(whole) => (whole, run.facts.clock_jumps_ns()),
        None => (length.as_nanos(), (length - measured.observed()).as_nanos()),
    };
    parts.push(Unit::Time.show(long.saturating_sub(jumps) as f64));
    if jumps > 0 {
        let rates = if measured.has_clock_jumps() { ": no rates over time" } else { "" };
        parts.push(format!("the clock jumps by {}{rates}", Unit::Time.show(jumps as f64)));
    }
    if partial {
        let (start, end) = measured.window;
        parts.push(format!("window {}-{}", start.since(Time::ZERO), end.since(Time::ZERO)));
    }
    parts.push(connections(runs));
    let bytes = |bytes: u64| Unit::Bytes.show(bytes as f64);
    parts.push(format!("{} payload", range(runs, |run| run.measurements.payload_bytes, bytes)));
    let source = run.facts.source_name().unwrap_or("workload");
    let mut lines = vec![(format!("{source:14}"), parts.join(", "))];
    if run.facts.has_only_sources() {
        let kinds = run.facts.sources().map(|source| format!("{} ({})", source.kind, source.name));
        let parts: Vec<String> = [Unit::Time.show(length.as_nanos() as f64)].into_iter().chain(kinds).collect();
        lines = vec![("sources       ".to_owned(), parts.join(", "))];
    }
    if let Some(original) = run.facts.original.as_ref().filter(|original| !original.set_aside.is_empty()) {
        lines.push(("  set aside   ".to_owned(), original.set_aside_text()));
    }
    lines.extend(missing(runs).map(|text| ("  missing     ".to_owned(), text)));
    let mut how: Vec<String> = [&run.facts.driver, &run.facts.model, &run.facts.network]
        .into_iter()
        .filter(|part| !part.is_empty())
        .cloned()
        .collect();
    how.push(format!("seed {}", run.facts.seed));
    if let Some(wall) = run.host.wall_ns.filter(|&wall| wall > 0) {
        // The run covers at least what comes before the window's end; without the jumps of its clock, if it has any.
        let before = measured.window.0.since(Time::ZERO) + measured.observed();
        let to_its_end = run.facts.end_ns.filter(|_| !measured.has_clock_jumps()).map(Duration::from_nanos);
        let factor = to_its_end.unwrap_or(before).max(before).as_nanos() as f64 / wall as f64;
        let factor = if factor < 1e3 { three_digits(factor) } else { thousands(factor.round() as u64) };
        how.push(format!("wall {}, {factor}x real time", Duration::from_nanos(wall)));
    }
    let verb = if run.facts.has_only_sources() { "run" } else { "replayed" };
    lines.push((format!("{verb:14}"), how.join(", ")));
    lines
}

/// Writes `head` and `body`, broken between words at [`WIDTH`] with the rest below the body's start.
pub(crate) fn wrap(text: &mut String, head: &str, body: &str) {
    wrap_at(WIDTH, text, head, body);
}

/// The same, broken at `width`.
pub(crate) fn wrap_at(width: usize, text: &mut String, head: &str, body: &str) {
    let gap = !head.is_empty() && !head.ends_with(' ');
    let indent = head.chars().count() + usize::from(gap);
    text.push_str(head);
    text.extend(gap.then_some(' '));
    let mut column = indent;
    for (index, word) in body.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}

fn table(text: &mut String, answer: &Answer, colour: bool) {
    let distances = !answer.comparisons.is_empty();
    let _ = write!(text, "{:32}", answer.directions.legend());
    for column in &answer.columns {
        let _ = write!(text, "{} ", in_columns(column, 21.max(columns(column))));
    }
    let _ = writeln!(text, "{}", if distances { Distance::HEAD } else { "" });
    for row in &answer.rows {
        let mut line = format!("{:32}", format!("{:19} {}", row.name, row.statistic));
        for value in &row.values {
            let _ = write!(line, "{value:21} ");
        }
        for distance in row.distances.iter().flatten().filter(|_| distances) {
            // Padded before it is coloured: what colours a word has a length but no width.
            let gap = 11 - distance.said.len().min(11);
            let judgement = judged(&distance.said, colour);
            let number = format!("{:6} ", distance.number());
            let _ = write!(line, "{number}{judgement}{:gap$} {}", "", distance.ratio());
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Classes and sources shown, at most.
const MOST_SENDERS: usize = 16;

/// What classes of connections and sources came to, if there are any.
fn senders(text: &mut String, run: &Run) {
    let senders: Vec<&ClassFacts> = run.facts.classes.iter().filter(|one| one.started > 0).collect();
    if senders.is_empty() {
        return;
    }
    // Connections that began outside of the window, and the drain, count here, and nowhere above.
    text.push_str("over the whole run:\n");
    let _ = writeln!(
        text,
        "{:24}{:10} {:>13} {:>15} {:>15} {:>17}",
        "class or source", "TCP", "ended", "to acceptors", "to initiators", "sent again / lost"
    );
    for one in &senders[..senders.len().min(MOST_SENDERS)] {
        let name = in_columns(&one.name, 23);
        let ended = format!("{} of {}", thousands(one.completed), thousands(one.started));
        let [there, back] = [one.to_acceptors_bytes, one.to_initiators_bytes].map(|bytes| match bytes {
            0 => "–".to_owned(),
            bytes => Unit::Bytes.show(bytes as f64),
        });
        let repaired = one.repaired();
        let _ = writeln!(text, "{name} {:10} {ended:>13} {there:>15} {back:>15} {repaired:>17}", one.congestion);
    }
    if senders.len() > MOST_SENDERS {
        let _ = writeln!(text, "and {} more: report.html and run.json have all", senders.len() - MOST_SENDERS);
    }
    text.push('\n');
}

/// A share in a column of ten characters, which it never fills.
fn percent(share: Option<f64>) -> String {
    /// Below this, three digits of a percentage are longer than the column.
    const LEAST_PERCENT: f64 = 0.001;
    match share.map(|share| 100.0 * share) {
        None => "–".to_owned(),
        Some(percent) if percent > 0.0 && percent < LEAST_PERCENT => format!("< {LEAST_PERCENT} %"),
        Some(percent) => format!("{} %", three_digits(percent)),
    }
}

/// What probes met, if there were any.
fn probes(text: &mut String, kinds: &[ProbesOfKind]) {
    if kinds.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:20}{:>13}{:>12}{:>12}{:>12}{:>12}{:>10}",
        "latency under load", "probes", "mean", "p50", "p95", "p99", "lost"
    );
    let time = |value: Option<f64>, least: Option<f64>| match (value, least) {
        (Some(value), _) => Unit::Time.show(value),
        (None, Some(least)) => format!("> {}", Unit::Time.show(least)),
        (None, None) => "–".to_owned(),
    };
    for one in kinds {
        let name = if one.kind == "request" { "request (from SYN)" } else { "round trip" };
        let times = &one.time_ns;
        let lost = percent(one.loss_share);
        let _ = writeln!(
            text,
            "{name:20}{:>13}{:>12}{:>12}{:>12}{:>12}{lost:>10}",
            thousands(one.sent),
            // With probes under way the mean is at least that.
            time(times.mean.filter(|_| times.unfinished == 0), times.mean),
            time(times.p50, times.p50_at_least),
            time(one.time_p95_ns, one.time_p95_at_least_ns),
            time(times.p99, times.p99_at_least),
        );
    }
    wrap(text, "  ", NOTE);
    text.push('\n');
}

/// How long packets waited at the bottleneck, and what was lost and marked there, by direction and, where there are several, class.
fn queues(text: &mut String, run: &Run, summary: &Summary) {
    let directions = Directions::of_runs([run]);
    let directions = [(LinkSide::Left, &summary.left_to_right), (LinkSide::Right, &summary.right_to_left)]
        .map(|(from, of)| (directions.told(from), of));
    let known = directions.into_iter().filter_map(|(name, of)| Some((name, of, of.queue_delay.as_ref()?)));
    let mut known = known.filter(|(_, _, delays)| !delays.classes.is_empty()).peekable();
    if known.peek().is_none() {
        return;
    }
    text.push_str("in the window:\n");
    let _ = writeln!(
        text,
        "{:20}{:>13}{:>11}{:>11}{:>15}{:>10}{:>10}{:>10}",
        "bottleneck queue", "packets", "delay p50", "p99", "mean over time", "lost", "marked", "busy"
    );
    let time = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| Unit::Time.show(value));
    for (name, direction, delays) in known {
        let QueueDelays { per_packet_ns: delay, over_time_ns, .. } = delays;
        let _ = writeln!(
            text,
            "{name:20}{:>13}{:>11}{:>11}{:>15}{:>10}{:>10}{:>10}",
            thousands(delays.transmitted_packets),
            time(delay.p50),
            time(delay.p99),
            time(over_time_ns.mean),
            percent(delays.loss_share),
            percent(delays.mark_share),
            percent(direction.utilisation)
        );
        for class in delays
            .classes
            .iter()
            .filter(|class| delays.classes.len() > 1 || class.class == class_name(TrafficClass::Probe))
        {
            let delay = &class.queue_delay_ns;
            let _ = writeln!(
                text,
                "  {:18}{:>13}{:>11}{:>11}{:>15}{:>10}{:>10}",
                class.class,
                thousands(class.transmitted_packets),
                time(delay.p50),
                time(delay.p99),
                "",
                percent(class.loss_share),
                percent(class.mark_share)
            );
        }
    }
    text.push('\n');
}

/// What the link did while a program ran on `side` of it: a line for each direction.
pub fn link_text(summary: &Summary, side: LinkSide) -> String {
    let Summary { throughput, left_to_right, right_to_left, .. } = summary;
    let of = |from| match from {
        LinkSide::Left => (&throughput.left_to_right_bits_per_second, left_to_right),
        LinkSide::Right => (&throughput.right_to_left_bits_per_second, right_to_left),
    };
    let mut text = String::new();
    for (name, from) in [("from the program", side), ("to the program", side.other())] {
        let (rate, direction) = of(from);
        let rate = rate.mean.map_or_else(|| "–".to_owned(), |mean| Unit::Rate.show(mean));
        let _ = write!(text, "  {name:17} {rate:>12}");
        if let Some(delays) = &direction.queue_delay {
            let time = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| Unit::Time.show(value));
            let share = |value: Option<f64>| Unit::Share.show(value.unwrap_or(0.0));
            let [p50, p99] = [delays.per_packet_ns.p50, delays.per_packet_ns.p99].map(time);
            let [lost, marked] = [delays.loss_share, delays.mark_share].map(share);
            let _ = write!(text, "   queue delay p50 {p50}, p99 {p99}   lost {lost}, marked {marked}");
        }
        text.push('\n');
    }
    text
}

/// Links shown, at most.
const MOST_LINKS: usize = 16;

/// What became of packets at the links, if there are others beside the monitored one.
fn links(text: &mut String, run: &Run) {
    let links = run.facts.topology.as_ref().map_or(&[][..], |topology| &topology.links);
    if links.iter().all(|link| link.monitored) {
        return;
    }
    let (start, end) = run.measurements.window;
    // The little that is under way at the end of a window makes no difference.
    let with_little_more = end + end.since(Time::ZERO) / 10;
    if start > Time::ZERO || run.facts.end_ns.is_some_and(|end| Time::from_nanos(end) > with_little_more) {
        text.push_str("offered and dropped over the whole run, the rest in the window:\n");
    }
    let _ = writeln!(
        text,
        "{:32} {:>15} {:>11} {:>11} {:>23}",
        "link", "packets offered", "dropped", "utilised", "waiting mean / max"
    );
    for link in &links[..links.len().min(MOST_LINKS)] {
        let name = in_columns(&link.name, 31);
        let waiting = format!("{} / {}", three_digits(link.queue_mean_packets), thousands(link.queue_max_packets));
        let utilised = format!("{} %", three_digits(100.0 * link.utilisation));
        let (offered, dropped) = (thousands(link.offered_packets), thousands(link.dropped_packets));
        let _ = writeln!(text, "{name}  {offered:>15} {dropped:>11} {utilised:>11} {waiting:>23}");
    }
    if links.len() > MOST_LINKS {
        let _ = writeln!(text, "and {} more: report.html and run.json have all", links.len() - MOST_LINKS);
    }
    text.push('\n');
}

/// How far the host of a live run kept up.
fn kept_up(text: &mut String, live: &LiveFacts) {
    let _ = writeln!(text, "{:32} {:>11} {:>11} {:>11} {:>11}", "late by", "median", "99 %", "99.9 %", "longest");
    for (name, late) in [
        ("packets handed on", &live.releases),
        ("connections started", &live.starts),
        ("data after waits", &live.waits),
    ] {
        let [p50, p99, p999, max] =
            [late.p50, late.p99, late.p999, late.max].map(|nanos| Unit::Time.show(nanos as f64));
        let _ = writeln!(text, "{name:32} {p50:>11} {p99:>11} {p999:>11} {max:>11}");
    }
    let [program, kernel] = live.worker_cpu_ns;
    let cpu = (live.emulator_cpu_ns + program + kernel) as f64;
    let body = format!(
        "{}, {}, {}{} on each side; {} of CPU a packet; the host was busy {} % of the time{}",
        live.kernel,
        live.devices,
        match live.hosts {
            0 => String::new(),
            hosts => format!("{} and ", counted(u64::from(hosts), "host")),
        },
        counted(u64::from(live.workers), "worker"),
        Unit::Time.show(cpu / live.packets.max(1) as f64),
        three_digits(100.0 * live.busy_share),
        match live.steal_share {
            0.0 => String::new(),
            share => format!(", and its host took {} %", three_digits(100.0 * share)),
        }
    );
    wrap(text, "live     ", &body);
    text.push('\n');
}

fn judged(word: &str, colour: bool) -> String {
    if colour && word == Judgement::Different.to_string() { painted(word, "33") } else { word.to_owned() }
}

/// The three words with their owners, and below them the reasons of those that are not the best. Doubts stand among the warnings, with
/// remedies.
fn verdict(text: &mut String, verdict: &Verdict, owners: [String; 3], colour: bool) {
    let words = verdict.words().into_iter().zip(owners).map(|((name, word, light), owners)| match colour {
        true => format!("{name} {}{owners}", painted(&word, code(light))),
        false => format!("{name} {word}{owners}"),
    });
    let words: Vec<String> = words.collect();
    let _ = writeln!(text, "{}", words.join("   "));
    for (head, reasons) in [("  accounted: ", &verdict.accounted.reasons), ("  fidelity:  ", &verdict.fidelity.reasons)]
    {
        if !reasons.is_empty() {
            wrap(text, head, &reasons.join("; "));
        }
    }
}

fn code(light: Light) -> &'static str {
    match light {
        Light::Green => "1;32",
        Light::Yellow => "1;33",
        Light::Red => "1;31",
    }
}

/// The warnings but for mere notes, each with its remedy.
fn warnings(text: &mut String, warnings: &[Warning], colour: bool) {
    warnings.iter().for_each(|warning| told_warning(text, warning, "", colour));
}

/// A warning with its remedy, and `owners` behind what it says. Notes have a place of their own.
fn told_warning(text: &mut String, warning: &Warning, owners: &str, colour: bool) {
    if warning.is_note() {
        return;
    }
    let head = if colour { painted("warning:", "33") } else { "warning:".to_owned() };
    let _ = write!(text, "{head} ");
    let mut body = String::new();
    wrap(&mut body, "         ", &format!("{}{owners}", warning.cause()));
    text.push_str(body.trim_start());
    if let Some(remedy) = warning.remedy() {
        wrap(text, "  remedy:", remedy);
    }
}

/// The colours of words in answers: parameters of the sequence that sets each.
pub const COLOURS: [&str; 5] = ["31", "33", "1;31", "1;32", "1;33"];

fn painted(text: &str, code: &str) -> String {
    debug_assert!(COLOURS.contains(&code), "{code}");
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_have_a_row_of_each_kind() {
        let mut text = String::new();
        probes(&mut text, &ProbesOfKind::of(&crate::probes::tests::mixed_probes()));
        let rows: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(rows[0], "latency under load probes mean p50 p95 p99 lost");
        assert_eq!(rows[1], "round trip 4 6.00 ms 6.00 ms 8.00 ms 8.00 ms 25.0 %");
        // The request under way had waited for 100 ms.
        assert!(rows[2].starts_with("request (from SYN) 2 > 65.0 ms 30.0 ms > 100 ms > 100 ms 0"), "{text}");
        assert!(text.contains("not the delay of the queue") && text.lines().all(|line| line.chars().count() <= WIDTH));
        let mut none = String::new();
        probes(&mut none, &[]);
        assert_eq!(none, "");
    }

    #[test]
    fn shares_leave_a_gap_in_their_column() {
        let shown = |share| percent(Some(share));
        assert_eq!([0.0, 0.000_069_7, 0.5, 1.0].map(shown), ["0 %", "0.00697 %", "50.0 %", "100 %"]);
        assert_eq!([0.000_001_23, 0.000_009_96].map(shown), ["< 0.001 %"; 2]);
        for digits in 1..4_000 {
            for power in 3..15 {
                let share = f64::from(digits) / 10_f64.powi(power);
                assert!(share > 1.0 || shown(share).len() < 10, "{}", shown(share));
            }
        }
    }

    #[test]
    fn long_lines_continue_below_their_start() {
        let mut text = String::new();
        wrap(&mut text, "head  ", &"word ".repeat(30));
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("      word"));
    }
}
