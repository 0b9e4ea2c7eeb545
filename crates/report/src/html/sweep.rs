//! The page of a sweep: sentence, numbers and a picture first; everything else behind them.

use maud::{Markup, html};

use flowloom_core::units::three_digits;

use super::document::document;
use super::elements::{heads, row, scrolled, swatch, value};
use super::figure::{Axis, Below, Figure, Kind, Line, Number, Points, Role, Table, View, unit_word};
use super::pictures::{figure_element, legend};
use super::provenance::Provenance;
use crate::metric::Unit;
use crate::sweep::{
    Column, Curve, Decision, Effects, Estimated, Grid, Interaction, Matters, SweepAnswer, VariantAnswer,
};
use crate::words::counted;

/// Parts in which the shares of a distribution are written: its quantiles are at thousandths.
const PARTS: usize = 1_000;
/// Variants that have names in the pictures' legend; a page of many must still open, and more lines cannot be told apart.
const DRAWN: usize = 36;

/// The whole file.
pub(super) fn page(grid: &Grid, answer: &SweepAnswer, title: &str) -> String {
    let figures = figures(grid, answer.busier);
    let first = figures.first();
    let body = html! {
        header class="top sweep" {
            p class="brand" { "Flowloom " span { "sweep: " (title) } }
            h1 { (answer.sentence) }
        }
        main {
            section id="answer" {
                div class="asked" {
                    (scrolled("Variants", &variants(answer)))
                    @if let Some(first) = first { div class="figures one" { (figure_element(first)) } }
                }
                (facts(answer))
            }
            @if figures.len() > 1 {
                section id="pictures" {
                    h2 { "Pictures" }
                    (legend_of(answer))
                    div class="figures" { @for figure in &figures[1..] { (figure_element(figure)) } }
                }
            }
            (effects(answer))
            section id="trust" {
                h2 { "Can it be trusted" }
                (trust(answer))
            }
            section id="numbers" {
                h2 { "All numbers" }
                details { summary { "Every metric of every variant" } (scrolled("All numbers", &all_numbers(answer))) }
            }
        }
    };
    document(&format!("{title}: sweep"), &figures, &[], &body)
}

fn role(place: usize) -> Role {
    Role::run(place)
}

fn legend_of(answer: &SweepAnswer) -> Markup {
    let roles: Vec<Role> = (0..answer.variants.len().min(DRAWN)).map(role).collect();
    legend(roles.iter().zip(answer.variants.iter().map(|variant| variant.name.as_str())))
}

/// The table that users ask for.
fn variants(answer: &SweepAnswer) -> Markup {
    let columns = answer.columns();
    html! {
        table class="numbers variants" {
            (heads(["variant".to_owned()].into_iter().chain(columns.iter().map(Column::title))))
            tbody {
                @for (place, variant) in answer.variants.iter().enumerate() {
                    tr {
                        th scope="row" {
                            @if place < DRAWN { (swatch(&role(place))) }
                            (variant.name)
                            @if matches!(answer.decision, Decision::Best { variant, .. } if variant == place) { " " span class="judged same" { "best" } }
                        }
                        @for column in &columns { td { (cell(column, variant.metrics.get(&column.metric))) } }
                    }
                }
            }
        }
    }
}

fn cell(column: &Column, estimated: Option<&Estimated>) -> Markup {
    let Some(estimated) = estimated else { return html! { "–" } };
    let above = if estimated.is_lower_bound { "> " } else { "" };
    html! {
        (above) (value(&column.show(estimated.mean)))
        @if let Some(interval) = estimated.interval {
            span class="statistic interval" { (value(&column.show_interval(interval))) }
        }
    }
}

/// What the numbers are of.
fn facts(answer: &SweepAnswer) -> Markup {
    let taken = answer.looks.iter().filter(|look| look.taken).count();
    let seeds = answer.looks.iter().rfind(|look| look.taken).map_or(0, |look| look.seeds);
    html! {
        ul class="facts" {
            @if let Some(baseline) = &answer.baseline {
                li {
                    span { "fidelity to the capture" }
                    (maud::display(baseline.fidelity)) " ("
                    (baseline.compared_metrics[1]) " of " (baseline.compared_metrics[0]) " metrics the same)"
                }
            }
            @if !answer.workload.is_empty() { li { span { "workload" } (answer.workload) } }
            li { span { "link" } (answer.link) }
            li { span { "seeds" } (seeds) @if answer.looks.len() > 1 { ", look " (taken) " of " (answer.looks.len()) } }
            @if answer.has_intervals() { li { span { "intervals" } (answer.confidence()) } }
            li { span { "margin" } (Unit::Share.show(answer.margin)) }
            li { span { "objective" } code { (answer.objective) } }
            @if !answer.feedback.is_empty() { li { span { "bytes" } (answer.feedback) } }
        }
    }
}

/// The distributions of all variants.
pub(crate) fn figures(grid: &Grid, busier: &str) -> Vec<Figure> {
    let queue_delay = format!("queue_delay_ms.{busier}");
    [
        ("response_time_ms", "Response time", "exchanges", Unit::Time),
        (queue_delay.as_str(), "Queueing delay", "packets", Unit::Time),
        ("duration_ms", "Connection duration", "connections", Unit::Time),
    ]
    .into_iter()
    .filter_map(|(name, title, plural, unit)| distribution(grid, name, title, plural, unit))
    .collect()
}

/// The distribution called `name` of each variant: the mean of its seeds' quantiles.
fn distribution(grid: &Grid, name: &str, title: &str, plural: &'static str, unit: Unit) -> Option<Figure> {
    let probabilities: Vec<f64> = Curve::probabilities().collect();
    let of_variant = |variant: &crate::sweep::Variant| -> Vec<f64> {
        let curves: Vec<&Curve> = grid.alike(variant).into_iter().filter_map(|cell| cell.curves.get(name)).collect();
        let known = curves.iter().map(|curve| curve.quantiles.len()).min().unwrap_or(0);
        (0..known).map(|at| curves.iter().map(|curve| curve.quantiles[at]).sum::<f64>() / curves.len() as f64).collect()
    };
    let all: Vec<(usize, &str, Vec<f64>)> = grid
        .variants
        .iter()
        .take(DRAWN)
        .enumerate()
        .map(|(place, variant)| (place, variant.name.as_str(), of_variant(variant)))
        .filter(|(_, _, quantiles)| !quantiles.is_empty())
        .collect();
    if all.is_empty() {
        return None;
    }
    let above = |at: usize| PARTS - (probabilities[at] * PARTS as f64).round() as usize;
    let line = |(place, name, quantiles): &(usize, &str, Vec<f64>)| Line {
        name: (*name).to_owned(),
        role: role(*place),
        smooth: true,
        points: Points::Distribution {
            n: PARTS,
            x: quantiles.iter().map(|value| Number(value * 1e6)).collect(),
            above: (0..quantiles.len()).map(above).collect(),
        },
    };
    let shown = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];
    let at = |p: f64| probabilities.iter().position(|known| (known - p).abs() < 1e-9);
    let cells = |(_, name, quantiles): &(usize, &str, Vec<f64>)| {
        let quantile =
            |p: &f64| at(*p).and_then(|at| quantiles.get(at)).map_or_else(|| "–".to_owned(), |ms| unit.show(ms * 1e6));
        [(*name).to_owned()].into_iter().chain(shown.iter().map(quantile)).collect()
    };
    let left = grid.variants.len() - all.len();
    let left = if left > 0 { format!("; {left} more are in the table") } else { String::new() };
    Some(Figure {
        id: name.replace(['_', '.'], "-"),
        kind: Kind::Distribution,
        title: title.to_owned(),
        view: View::Cdf,
        finding: format!("{}, quantiles averaged over the seeds{left}", counted(all.len() as u64, "variant")),
        plural,
        column: "ns",
        x: Axis::new(&title.to_lowercase(), unit_word(unit), true),
        y: Axis::new("", unit_word(Unit::Share), false),
        start: Number(0.0),
        step: Number(0.0),
        lines: all.iter().map(line).collect(),
        below: Below::Nothing,
        table: Table {
            head: ["variant".to_owned()].into_iter().chain(shown.iter().map(|p| format!("{} %", p * 100.0))).collect(),
            rows: all.iter().map(cells).collect(),
        },
        unit,
        provenance: Provenance { from: format!("`cells/*/cell.json`: `curves.{name}`"), query: String::new() },
    })
}

/// What axes do, beside each other and together.
fn effects(answer: &SweepAnswer) -> Markup {
    let Effects { axes, interactions, ranks } = &answer.effects;
    html! {
        @if answer.axes.len() > 1 {
            section id="effects" {
                h2 { "What each axis does" }
                p class="intro" { code { (answer.objective) } ", over its value at the first value of the axis, over the combinations of the other axes that have both." }
                (scrolled("Effects", &html! {
                    table class="numbers" {
                        (heads(["axis", "value", "ratio", "interval", "does it matter"]))
                        tbody {
                            @for effect in axes {
                                @for level in &effect.levels {
                                    (row(&effect.axis, [
                                        level.level.clone(),
                                        level.ratio.map_or_else(|| "– (values are 0)".to_owned(), three_digits),
                                        level.interval.map_or_else(|| "–".to_owned(), |interval| format!("[{}, {}]", three_digits(interval.low), three_digits(interval.high))),
                                        matters(effect.matters).to_owned(),
                                    ]))
                                }
                            }
                        }
                    }
                }))
                @for interaction in interactions { (pair(answer, interaction)) }
            }
        }
        @if !ranks.is_empty() {
            section id="ranks" {
                h2 { "Ranks" }
                p class="intro" { "Places that no difference rules out, all of them together with the probability of this look." }
                (scrolled("Ranks", &html! {
                    table class="numbers" {
                        (heads(["variant", "best place", "worst place"]))
                        tbody {
                            @for (variant, rank) in answer.variants.iter().zip(ranks) {
                                (row(&variant.name, [rank.best.to_string(), rank.worst.to_string()]))
                            }
                        }
                    }
                }))
            }
        }
    }
}

fn matters(matters: Matters) -> &'static str {
    match matters {
        Matters::Yes => "yes",
        Matters::No => "no, within the margin",
        Matters::InParts => "at some values of the others",
        Matters::Undecided => "not decided",
    }
}

/// The objective at each pair of values of two axes: shaded by its size.
fn pair(answer: &SweepAnswer, interaction: &Interaction) -> Markup {
    let values =
        |name: &str| answer.axes.iter().find(|axis| axis.axis == name).map_or(&[][..], |axis| &axis.values[..]);
    let [rows, columns] = interaction.axes.each_ref().map(|name| values(name));
    let all = || interaction.means.iter().flatten().flatten().copied();
    let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
    let shade = |value: f64| if high > low { (9.0 * (value - low) / (high - low)).round() as usize } else { 0 };
    html! {
        h3 { (interaction.axes[0]) " by " (interaction.axes[1]) }
        @if let Some(departure) = interaction.departure {
            p class="intro" { "The farthest pair is a factor of " (three_digits(departure)) " from what both values make each by itself." }
        }
        (scrolled("Interaction", &html! {
            table class="numbers interaction" {
                (heads([interaction.axes[0].as_str()].into_iter().chain(columns.iter().map(String::as_str))))
                tbody {
                    @for (name, means) in rows.iter().zip(&interaction.means) {
                        tr {
                            th scope="row" { (name) }
                            @for mean in means {
                                @match mean {
                                    Some(mean) => { td class={ "shade" (shade(*mean)) } { (answer.show(&answer.objective, *mean)) } }
                                    None => { td { "–" } }
                                }
                            }
                        }
                    }
                }
            }
        }))
    }
}

/// Verdicts, missing runs, warnings.
fn trust(answer: &SweepAnswer) -> Markup {
    let bad = |variant: &&VariantAnswer| variant.is_invalid() || variant.is_degraded() || variant.is_doubtful();
    html! {
        @if !answer.variants.iter().any(|variant| bad(&variant)) { p { "All runs are accounted for and plausible." } }
        ul class="warnings" {
            @for variant in answer.variants.iter().filter(bad) {
                @let told = variant.verdict.as_ref().and_then(|verdict| verdict.told_if_bad());
                li { b { (variant.name) } ": " (told.unwrap_or_else(|| "it has no run".to_owned())) }
            }
            @for (runs, why) in answer.missing_by_reason() { li { b { (runs) } ": missing: " (why) } }
            @if let Some(baseline) = &answer.baseline {
                @for reason in &baseline.reasons { li { b { "baseline" } ": " (reason) } }
            }
            @for told in &answer.warnings {
                li { (told.warning) @if !told.variants.is_empty() { " " span class="remedy" { "(" (told.variants.join("; ")) ")" } } }
            }
        }
        h3 { "Looks" }
        (scrolled("Looks", &html! {
            table class="numbers" {
                (heads(["seeds of each variant", "probability of an error that it may spend", "taken"]))
                tbody {
                    @for look in &answer.looks {
                        (row(look.seeds, [format!("{:.4}", look.alpha), if look.taken { "yes" } else { "no" }.to_owned()]))
                    }
                }
            }
        }))
    }
}

fn all_numbers(answer: &SweepAnswer) -> Markup {
    let mut names: Vec<&String> = answer.variants.iter().flat_map(|variant| variant.metrics.keys()).collect();
    names.sort();
    names.dedup();
    let shown = |variant: &VariantAnswer, name: &str| {
        variant.metrics.get(name).map_or_else(
            || "–".to_owned(),
            |estimated| {
                let above = if estimated.is_lower_bound { "> " } else { "" };
                format!("{above}{}", answer.show(name, estimated.mean))
            },
        )
    };
    html! {
        table class="numbers" {
            (heads(["metric"].into_iter().chain(answer.variants.iter().map(|variant| variant.name.as_str()))))
            tbody {
                @for name in names { (row(name, answer.variants.iter().map(|variant| shown(variant, name)))) }
            }
        }
    }
}
