//! The answer of a sweep: a sentence, the numbers behind it, and what more was found.

use std::collections::BTreeMap;

use serde::Serialize;

use flowloom_core::units::three_digits;

use crate::facts::TraceCutFacts;
use crate::metric::Unit;
use crate::other_bytes::{REMEDY, ToReplay, other_bytes};
use crate::scalars::{Better, QUANTITIES, ScalarUnit};
use crate::statistics::Interval;
use crate::verdict::{Accounted, Likeness, Plausible};
use crate::words::separator;
use crate::worst::WorstVerdict;

use super::decision::{Decision, Look, alpha, decision, looks};
use super::effects::{Effects, effects};
use super::grid::{Grid, GridAxis, Variant};
use super::samples::{Estimated, Ratio, Sample, estimated};

/// What a sweep came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepAnswer {
    /// What users ask first, in a sentence.
    pub sentence: String,
    /// The metric by which variants are ordered.
    pub objective: String,
    /// Whether smaller values of it are better.
    pub lower_is_better: bool,
    /// A difference that does not matter, as a share.
    pub margin: f64,
    /// Which variant is best.
    pub decision: Decision,
    /// The probability with which intervals of one metric and one variant do not hold, at this look.
    pub alpha: f64,
    /// All planned looks.
    pub looks: Vec<Look>,
    /// What is varied.
    pub axes: Vec<AxisTold>,
    /// The variants; the first is the control.
    pub variants: Vec<VariantAnswer>,
    /// Seeds that all variants have, which all numbers are over.
    pub common_seeds: usize,
    /// What axes do.
    pub effects: Effects,
    /// The direction in which the link of the control carries more.
    pub busier: &'static str,
    /// Fidelity to the capture.
    pub baseline: Option<Baseline>,
    /// Runs that are missing.
    pub missing: Vec<Missing>,
    /// What the reader should know, each thing once.
    pub warnings: Vec<Told>,
    /// The link, in words.
    pub link: String,
    /// How the bytes were replayed, in words.
    pub feedback: String,
    /// How workloads were cut out of longer ones, in words; empty where they were not.
    pub workload: String,
}

/// An axis and its values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisTold {
    /// Its keys.
    pub axis: String,
    /// Its values.
    pub values: Vec<String>,
}

/// A variant in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantAnswer {
    /// What distinguishes it.
    pub name: String,
    /// Its place on each axis.
    pub points: Vec<usize>,
    /// Seeds that were run.
    pub seeds: usize,
    /// The worst verdict of its runs; null where there is none.
    pub verdict: Option<WorstVerdict<u64>>,
    /// What is known of each metric.
    pub metrics: BTreeMap<String, Estimated>,
}

/// The capture replayed once through a network that does not hold it up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Baseline {
    /// How far that is from the capture.
    pub fidelity: Likeness,
    /// Why.
    pub reasons: Vec<String>,
    /// Metrics that were compared, and those of them that are the same.
    pub compared_metrics: [u64; 2],
    /// Connections in it.
    pub connections: u64,
}

/// A run that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The variant.
    pub variant: String,
    /// The seed.
    pub seed: u64,
    /// Why.
    pub why: String,
}

/// A warning, and the variants that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// What it says, with the numbers of the first run that has it, which is named where others have other numbers.
    pub warning: String,
    /// Their names; empty: all.
    pub variants: Vec<String>,
}

/// A column of the table of variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What stands above it, in at most two lines.
    pub head: [&'static str; 2],
    /// The metric.
    pub metric: String,
    unit: ScalarUnit,
}

impl Column {
    /// A value as it is shown.
    pub fn show(&self, value: f64) -> String {
        show(self.unit, value)
    }

    /// An interval as it is shown, with its unit once where both ends have one: `[290, 340 ms]`.
    pub fn show_interval(&self, Interval { low, high }: Interval) -> String {
        let [low, high] = [low, high].map(|end| self.show(end));
        match (low.split_once(' '), high.split_once(' ')) {
            (Some((number, unit)), Some((_, other))) if unit == other => format!("[{number}, {high}]"),
            _ => format!("[{low}, {high}]"),
        }
    }

    /// What stands above it, in a line.
    pub fn title(&self) -> String {
        self.head.join(" ").trim_end().replace("queueing", "queue delay")
    }
}

/// A value of a unit as it is shown.
fn show(unit: ScalarUnit, value: f64) -> String {
    match unit {
        ScalarUnit::Milliseconds => Unit::Time.show(value * 1e6),
        ScalarUnit::MegabitsPerSecond => Unit::Rate.show(value * 1e6),
        ScalarUnit::Share => Unit::Share.show(value),
        ScalarUnit::PacketsPerSecond => Unit::PacketRate.show(value),
        ScalarUnit::Packets | ScalarUnit::Count | ScalarUnit::One => three_digits(value),
    }
}

/// The unit of the metric `name`.
pub(crate) fn unit_of(name: &str) -> Option<ScalarUnit> {
    QUANTITIES.iter().find(|quantity| quantity.scalars().any(|scalar| scalar == name)).map(|quantity| quantity.unit)
}

impl SweepAnswer {
    /// The answer of `grid`.
    pub fn of(grid: &Grid) -> SweepAnswer {
        let alpha = alpha(grid);
        let decision = decision(grid);
        let variants = variants(grid, alpha);
        let busier = busier(&variants);
        let mut answer = SweepAnswer {
            sentence: String::new(),
            objective: grid.objective.name.clone(),
            lower_is_better: grid.objective.quantity.better != Better::Higher,
            margin: grid.margin,
            decision,
            alpha,
            looks: looks(grid),
            axes: grid.axes.iter().map(AxisTold::from).collect(),
            effects: effects(grid),
            common_seeds: grid.common_seeds().len(),
            busier,
            baseline: baseline(grid),
            missing: missing(grid),
            warnings: other_payload(grid).into_iter().chain(warnings(grid)).collect(),
            workload: workload(grid),
            link: link(grid),
            feedback: feedback(grid),
            variants,
        };
        answer.sentence = answer.said();
        answer
    }

    /// The columns of the table that users ask for: those metrics of them that were measured.
    pub fn columns(&self) -> Vec<Column> {
        let of_busier = |name: &str| format!("{name}.{}", self.busier);
        let mut wanted = vec![
            (["response", "p50"], "response_time_p50_ms".to_owned()),
            (["response", "p99"], "response_time_p99_ms".to_owned()),
            (["queueing", "p50"], of_busier("queue_delay_p50_ms")),
            (["queueing", "p99"], of_busier("queue_delay_p99_ms")),
            (["loss", ""], of_busier("loss_share")),
            (["throughput", ""], of_busier("throughput_mean_mbps")),
        ];
        if !wanted.iter().any(|(_, name)| *name == self.objective) {
            wanted.insert(0, (["objective", ""], self.objective.clone()));
        }
        let measured = |name: &String| self.variants.iter().any(|variant| variant.metrics.contains_key(name));
        let column =
            |(head, metric): ([&'static str; 2], String)| Some(Column { head, unit: unit_of(&metric)?, metric });
        wanted.into_iter().filter(|(_, name)| measured(name)).filter_map(column).collect()
    }

    /// The runs that are missing, with each reason once: `codel with seeds 1 and 2; pie with seed 1`, and why.
    pub(crate) fn missing_by_reason(&self) -> Vec<(String, &str)> {
        /// A variant, and seeds.
        type OfVariant<'a> = (&'a str, Vec<String>);
        let mut reasons: Vec<(&str, Vec<OfVariant<'_>>)> = Vec::new();
        for Missing { variant, seed, why } in &self.missing {
            let place = reasons.iter().position(|(known, _)| known == why).unwrap_or_else(|| {
                reasons.push((why, Vec::new()));
                reasons.len() - 1
            });
            let variants = &mut reasons[place].1;
            match variants.last_mut().filter(|(known, _)| known == variant) {
                Some((_, seeds)) => seeds.push(seed.to_string()),
                None => variants.push((variant, vec![seed.to_string()])),
            }
        }
        let of_variant = |(variant, seeds): &OfVariant<'_>| match &seeds[..] {
            [seed] => format!("{variant} with seed {seed}"),
            seeds => format!("{variant} with seeds {}", seeds.join(", ")),
        };
        let told = |(why, variants): (_, Vec<_>)| (variants.iter().map(of_variant).collect::<Vec<_>>().join("; "), why);
        reasons.into_iter().map(told).collect()
    }

    /// Whether any metric of a variant has an interval.
    pub fn has_intervals(&self) -> bool {
        self.variants.iter().flat_map(|variant| variant.metrics.values()).any(|one| one.interval.is_some())
    }

    /// How sure each interval is: `95 %`.
    pub fn confidence(&self) -> String {
        let percent = format!("{:.1}", 100.0 * (1.0 - self.alpha));
        format!("{} %", percent.trim_end_matches(".0"))
    }

    /// A value of the metric `name` as it is shown.
    pub fn show(&self, name: &str, value: f64) -> String {
        unit_of(name).map_or_else(|| three_digits(value), |unit| show(unit, value))
    }

    /// The value of a metric of a variant as it is shown, with `>` before a lower bound.
    pub(super) fn shown(&self, variant: usize, metric: &str) -> Option<String> {
        let estimated = self.variants.get(variant)?.metrics.get(metric)?;
        let above = if estimated.is_lower_bound { "> " } else { "" };
        Some(format!("{above}{}", show(unit_of(metric)?, estimated.mean)))
    }

    /// The answer in a sentence.
    fn said(&self) -> String {
        let what = phrase(&self.objective);
        let values = |variant: usize| self.shown(variant, &self.objective).unwrap_or_else(|| "unknown".to_owned());
        let names = |places: &[usize]| {
            let names: Vec<&str> = places.iter().map(|place| self.variants[*place].name.as_str()).collect();
            match (&names[..], separator(&names)) {
                ([], _) => String::new(),
                ([only], _) => (*only).to_owned(),
                ([first @ .., last], ", ") => format!("{} and {last}", first.join(", ")),
                ([first @ .., last], parted) => format!("{}{parted}and {last}", first.join(parted)),
            }
        };
        match &self.decision {
            Decision::Best { variant, is_strict } => {
                let best = &self.variants[*variant];
                // Beside the control, or, where that is the best, beside the one that is worst.
                let other = if *variant == 0 { self.worst().filter(|worst| *worst != 0) } else { Some(0) };
                let superlative = superlative(&self.objective, self.lower_is_better);
                let beside = |metric: &str| {
                    other.and_then(|other| {
                        Some(format!(" ({} {})", self.variants[other].name, self.shown(other, metric)?))
                    })
                };
                let tail = "response_time_p99_ms";
                let tail = (self.objective == "response_time_p50_ms")
                    .then(|| self.shown(*variant, tail))
                    .flatten()
                    .map(|value| {
                        let other = other
                            .and_then(|other| self.shown(other, tail))
                            .map_or_else(String::new, |value| format!(" ({value})"));
                        format!(", 99 % {value}{other}")
                    });
                let within = match is_strict {
                    true => String::new(),
                    false => format!(", or is within {} of the best", Unit::Share.show(self.margin)),
                };
                format!(
                    "{} has {superlative}{within}: {what} {}{}{}{}.",
                    best.name,
                    values(*variant),
                    beside(&self.objective).unwrap_or_default(),
                    tail.unwrap_or_default(),
                    self.throughput(*variant, other).unwrap_or_default(),
                )
            }
            Decision::Same => {
                let means = self
                    .variants
                    .iter()
                    .enumerate()
                    .filter_map(|(place, variant)| Some((place, variant.metrics.get(&self.objective)?.mean)));
                let mut order: Vec<(usize, f64)> = means.collect();
                order.sort_by(|a, b| a.1.total_cmp(&b.1));
                let ends = order.first().zip(order.last());
                let range =
                    ends.map_or_else(String::new, |(low, high)| format!(": {} to {}", values(low.0), values(high.0)));
                format!(
                    "The {} variants have the same {what} within {}{range}.",
                    self.variants.len(),
                    Unit::Share.show(self.margin)
                )
            }
            Decision::Undecided { candidates } => {
                let out = self.variants.len() - candidates.len();
                let out = if out == 0 { String::new() } else { format!("; {out} of {} are out", self.variants.len()) };
                let seeds = self.looks.iter().rfind(|look| look.taken).map_or(0, |look| look.seeds);
                format!(
                    "{seeds} seeds do not decide which has {}: {}{out}.",
                    superlative(&self.objective, self.lower_is_better),
                    names(candidates)
                )
            }
            Decision::Unknown { why } => format!("Which variant is best is not known: {why}."),
        }
    }

    /// The variant with the worst mean of the objective.
    fn worst(&self) -> Option<usize> {
        let sign = if self.lower_is_better { 1.0 } else { -1.0 };
        let means = self.variants.iter().enumerate();
        let means =
            means.filter_map(|(place, variant)| Some((place, sign * variant.metrics.get(&self.objective)?.mean)));
        means.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place)
    }

    /// `; throughput is the same`: that of a variant beside another's.
    fn throughput(&self, variant: usize, other: Option<usize>) -> Option<String> {
        let metric = format!("throughput_mean_mbps.{}", self.busier);
        // One of the two is the control.
        let is_control = variant == 0;
        let Ratio { ratio, interval } =
            self.variants[if is_control { other? } else { variant }].metrics.get(&metric)?.to_control?;
        let interval = interval?;
        let (ratio, low, high) = match is_control {
            true => (1.0 / ratio, 1.0 / interval.high, 1.0 / interval.low),
            false => (ratio, interval.low, interval.high),
        };
        let percent = three_digits((ratio - 1.0).abs() * 100.0);
        // Beside the control nobody need say so.
        let than = match other {
            Some(other) if is_control => format!(" than with {}", self.variants[other].name),
            _ => String::new(),
        };
        Some(if low > 1.0 - self.margin && high < 1.0 + self.margin {
            "; throughput is the same".to_owned()
        } else if high < 1.0 {
            format!("; throughput {percent} % less{than}")
        } else if low > 1.0 {
            format!("; throughput {percent} % more{than}")
        } else {
            "; throughput is not shown to differ".to_owned()
        })
    }
}

/// What the objective is called in a sentence.
fn phrase(objective: &str) -> String {
    match objective {
        "response_time_p50_ms" => "median".to_owned(),
        "response_time_p99_ms" | "duration_p99_ms" => "99 %".to_owned(),
        "duration_p50_ms" => "median".to_owned(),
        _ => words(objective),
    }
}

/// `queue_delay_p99_ms.down` as words: `queue delay p99 down`.
pub(crate) fn words(name: &str) -> String {
    let plain = name.replace("_ms", "").replace("_mbps", "").replace("_count", "");
    plain.replace(['_', '.'], " ")
}

fn superlative(objective: &str, lower_is_better: bool) -> String {
    match objective {
        _ if objective.starts_with("response_time") => "the shortest responses".to_owned(),
        _ if objective.starts_with("duration") => "the shortest connections".to_owned(),
        _ if lower_is_better => format!("the least {}", words(objective)),
        _ => format!("the most {}", words(objective)),
    }
}

impl From<&GridAxis> for AxisTold {
    fn from(axis: &GridAxis) -> AxisTold {
        AxisTold { axis: axis.name.clone(), values: axis.points.clone() }
    }
}

fn variants(grid: &Grid, alpha: f64) -> Vec<VariantAnswer> {
    let mut names: Vec<&String> =
        grid.variants.iter().flat_map(|variant| variant.present()).flat_map(|cell| cell.numbers.keys()).collect();
    names.sort();
    names.dedup();
    let samples: Vec<(&String, Option<Sample>)> =
        names.into_iter().map(|name| (name, Sample::of(grid, name))).collect();
    let of_variant = |(place, variant): (usize, &super::grid::Variant)| {
        let metrics = samples.iter().filter_map(|(name, sample)| {
            let ratio = sample.as_ref().and_then(|sample| sample.to_control(place, grid, alpha));
            Some(((*name).clone(), estimated(grid, variant, name, alpha, sample.as_ref(), ratio)?))
        });
        VariantAnswer {
            name: variant.name.clone(),
            points: variant.points.clone(),
            seeds: variant.present().count(),
            verdict: WorstVerdict::of(variant.present().map(|cell| (cell.seed, &cell.verdict))),
            metrics: metrics.collect(),
        }
    };
    grid.variants.iter().enumerate().map(of_variant).collect()
}

/// The direction in which the control carries more.
fn busier(variants: &[VariantAnswer]) -> &'static str {
    let carried = |direction: &str| {
        let control = variants.first()?.metrics.get(&format!("throughput_mean_mbps.{direction}"))?;
        Some(control.mean)
    };
    if carried("up") > carried("down") { "up" } else { "down" }
}

fn baseline(grid: &Grid) -> Option<Baseline> {
    let cell = grid.baseline.as_ref()?;
    let fidelity = &cell.verdict.fidelity;
    Some(Baseline {
        fidelity: fidelity.word,
        reasons: fidelity.reasons.clone(),
        compared_metrics: cell.compared_metrics,
        connections: cell.connections,
    })
}

fn missing(grid: &Grid) -> Vec<Missing> {
    let of_variant = |variant: &super::grid::Variant| {
        let absent = variant.cells.iter().filter_map(|cell| cell.as_ref().err());
        absent
            .map(|absent| Missing { variant: variant.name.clone(), seed: absent.seed, why: absent.why.clone() })
            .collect::<Vec<_>>()
    };
    grid.variants.iter().flat_map(of_variant).collect()
}

/// A text without its numbers: warnings that are alike but for these are one.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit() && !matches!(c, '.' | ',')).collect()
}

fn warnings(grid: &Grid) -> Vec<Told> {
    let mut found: Vec<(String, Found)> = Vec::new();
    for variant in &grid.variants {
        for (seed, warning) in variant.present().flat_map(|cell| cell.warnings.iter().map(|one| (cell.seed, one))) {
            let alike = without_numbers(warning);
            let place = found.iter().position(|(known, _)| *known == alike).unwrap_or_else(|| {
                let first = (variant.name.clone(), seed);
                let told = Told { warning: warning.clone(), variants: Vec::new() };
                found.push((alike, Found { told, first, differs: false }));
                found.len() - 1
            });
            let found = &mut found[place].1;
            found.differs |= found.told.warning != *warning;
            if found.told.variants.last() != Some(&variant.name) {
                found.told.variants.push(variant.name.clone());
            }
        }
    }
    let all = grid.variants.len();
    let told = lost_probes(grid).into_iter().chain(found.into_iter().map(|(_, found)| found.told()));
    let told = told.map(|told| if told.variants.len() == all { Told { variants: Vec::new(), ..told } } else { told });
    told.collect()
}

/// A warning of one run and more.
struct Found {
    told: Told,
    /// The variant and the seed of which it has the numbers.
    first: (String, u64),
    /// Other runs have others.
    differs: bool,
}

impl Found {
    /// The warning, and whose numbers are in it where they are not everybody's.
    fn told(self) -> Told {
        let Found { told: Told { warning, variants }, first: (variant, seed), differs } = self;
        let warning = match (differs, variants.len()) {
            (false, _) => warning,
            (true, 1) => format!("with seed {seed}, and alike with others: {warning}"),
            (true, _) => format!("in {variant} with seed {seed}, and alike in others: {warning}"),
        };
        Told { warning, variants }
    }
}

/// Probes that are lost from this share on are worth a word where their times decide.
const MANY_LOST: f64 = 0.01;

/// Says that a variant lost many of the probes whose times are the objective.
fn lost_probes(grid: &Grid) -> Option<Told> {
    let share = match grid.objective.name.as_str() {
        name if name.starts_with("probe_round_trip") || name.starts_with("probe_one_way") => "probe_loss_share",
        name if name.starts_with("probe_request") => "probe_request_failed_share",
        _ => return None,
    };
    let lost = |variant: &Variant| {
        let shares: Vec<f64> = variant.present().filter_map(|cell| Some(cell.numbers.get(share)?.value)).collect();
        shares.iter().sum::<f64>() / shares.len().max(1) as f64
    };
    let most = grid.variants.iter().map(lost).fold(0.0, f64::max);
    let variants = grid.variants.iter().filter(|variant| lost(variant) > MANY_LOST).map(|variant| variant.name.clone());
    let warning = format!(
        "up to {} % of the probes were lost, and have no time: a queue that drops them may look fast",
        three_digits(100.0 * most)
    );
    (most > MANY_LOST).then(|| Told { warning, variants: variants.collect() })
}

/// How the bytes of the first variant with runs were sent: of draws those of all its seeds.
fn feedback(grid: &Grid) -> String {
    let Some(variant) = grid.variants.iter().find(|variant| variant.present().next().is_some()) else {
        return String::new();
    };
    let cells = || variant.present().map(|cell| &cell.feedback);
    let is_one_draw = cells().zip(cells().skip(1)).all(|(one, next)| one.original == next.original);
    let all = cells().cloned().reduce(|all, more| if is_one_draw { all } else { all.plus(&more) });
    match all.and_then(|all| all.text()) {
        Some(told) if is_one_draw => told,
        Some(told) => format!("{told} (all seeds of {})", variant.name),
        None => String::new(),
    }
}

/// Keys on whose axes variants have other bytes because that is what is varied.
const OF_LOAD: [&str; 4] = ["model", "load", "source", "duration"];

/// Variants that have other bytes to replay than the first one with which they share their places on the axes of the load.
fn other_payload(grid: &Grid) -> Option<Told> {
    let is_of_load = |axis: &GridAxis| axis.name.split(['+', '.']).any(|part| OF_LOAD.contains(&part));
    let place = |variant: &Variant| -> Vec<usize> {
        let places = grid.axes.iter().zip(&variant.points).filter(|(axis, _)| is_of_load(axis));
        places.map(|(_, point)| *point).collect()
    };
    let bytes = |variant: &Variant| -> Vec<ToReplay> {
        variant.present().filter_map(|cell| Some((cell.seed, cell.to_replay_bytes?))).collect()
    };
    let told = grid.variants.iter().enumerate().find_map(|(index, first)| {
        let is_first = grid.variants[..index].iter().all(|earlier| place(earlier) != place(first));
        let others = grid.variants[index + 1..].iter().filter(|other| place(other) == place(first));
        let others = others.map(|other| (other.name.as_str(), bytes(other)));
        is_first.then(|| other_bytes((&first.name, &bytes(first)), others)).flatten()
    });
    told.map(|told| Told { warning: format!("{told}; {REMEDY}"), variants: Vec::new() })
}

/// How the workloads were cut out of longer ones, with the share of connections that were open before.
fn workload(grid: &Grid) -> String {
    let cells = || grid.variants.iter().flat_map(|variant| variant.present());
    let cuts: Vec<TraceCutFacts> = cells().filter_map(|cell| cell.trace_cut).collect();
    let Some(cut) = cuts.first() else { return String::new() };
    let shares = cuts.iter().map(TraceCutFacts::share);
    let mean = shares.sum::<f64>() / cuts.len() as f64;
    let is_usual = grid.axes.iter().any(|axis| axis.name.split(['+', '.']).any(|part| part == "structure"));
    let usual = if is_usual { ", as sweeps over structures are unless workload.cut says otherwise" } else { "" };
    format!("{}{usual}; {}", cut.words(), TraceCutFacts::share_words(mean))
}

/// The network of the control, and rates that differ from its.
fn link(grid: &Grid) -> String {
    let cells = || grid.variants.iter().flat_map(|variant| variant.present());
    let Some(first) = cells().next() else { return String::new() };
    let rates: Vec<u64> = cells().filter_map(|cell| cell.rate_bits_per_second).collect();
    let rate = |bits: u64| Unit::Rate.show(bits as f64);
    match (rates.iter().min(), rates.iter().max()) {
        (Some(low), Some(high)) if low == high => rate(*low),
        (Some(low), Some(high)) => format!("{} to {}", rate(*low), rate(*high)),
        _ => first.network.clone(),
    }
}

impl VariantAnswer {
    /// Whether one of its runs cannot be used, or none is there.
    pub fn is_invalid(&self) -> bool {
        self.verdict.as_ref().is_none_or(|verdict| verdict.accounted.word == Accounted::Invalid)
    }

    /// Whether one of its runs can be used with a reservation only.
    pub fn is_degraded(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| verdict.accounted.word == Accounted::Degraded)
    }

    /// Whether one of its runs is doubtful.
    pub fn is_doubtful(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| verdict.plausible.word == Plausible::Doubtful)
    }
}
