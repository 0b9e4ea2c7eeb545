//! The page of `flowloom fit`: for each variable its values with the nearest laws, and their quantiles against each other.

use std::fmt::Write as _;

use maud::{Markup, Render, html};

use super::document::document;
use super::elements::{heads, scrolled, swatch, value};
use super::figure::{Axis, Below, CURVE_ERROR, Figure, Kind, Line, Number, Points, Role, Table, View, unit_word};
use super::pictures::{figure_element, legend};
use super::provenance::Provenance;
use crate::fit::text::{finding_lines, mean_of, summary, tail_lines};
use crate::fit::{Fitted, FittedLaw, FittedVariable};
use crate::statistics::thin_steps;
use crate::words::thousands;

/// Laws that are drawn for a variable.
const DRAWN: usize = 3;
/// Points of a drawn law.
const LAW_POINTS: u32 = 160;
/// Shares of a law are drawn down to one of these.
const PARTS: usize = 1_000_000_000;

/// The whole file.
pub(super) fn page(fitted: &Fitted) -> String {
    let file = |name: &String| name.rsplit('/').next().unwrap_or(name).to_owned();
    let title = format!("Laws of {}", fitted.name.as_ref().map_or_else(|| "a workload".to_owned(), file));
    let figures: Vec<Figure> = fitted.variables.iter().filter(|one| !one.laws.is_empty()).map(ccdf).collect();
    let roles = [Role::original(), Role::run(0), Role::run(1), Role::run(2)];
    let body = html! {
        header class="top" {
            p class="brand" { "Flowloom " span { "fits" } }
            h1 { (title) }
            p class="lead" {
                (thousands(fitted.connections)) " TCP connections. Laws are fitted by maximum likelihood; the nearest by \
                 Kolmogorov-Smirnov distance comes first."
            }
            nav aria-label="Sections" {
                @for variable in &fitted.variables {
                    a href={ "#of-" (variable.name) } { (variable.variable.words()) }
                }
            }
        }
        main {
            (legend(roles.iter().zip(["values", "nearest distribution", "second", "third"])))
            @for variable in &fitted.variables {
                (section(variable, figures.iter().find(|figure| figure.id == variable.name)))
            }
        }
    };
    document(&title, &figures, &[], &body)
}

fn section(variable: &FittedVariable, figure: Option<&Figure>) -> Markup {
    let refused = variable.refused.iter().map(|refused| format!("{}: no fit: {}", refused.kind, refused.reason));
    let tail = variable.tail.iter().flat_map(|tail| tail_lines(variable, tail));
    let lines = finding_lines(variable).into_iter().chain(tail).chain(refused);
    html! {
        section id={ "of-" (variable.name) } {
            h2 { (variable.variable.words()) }
            p class="intro" { (summary(variable)) "." }
            @if let Some(figure) = figure {
                div class="figures" {
                    (figure_element(figure))
                    (quantiles(variable))
                }
                (laws(variable))
            }
            ul class="warnings" { @for line in lines { li { (line) } } }
        }
    }
}

fn laws(variable: &FittedVariable) -> Markup {
    let names: [&dyn Render; 6] = [&"law", &"KS", &html! { "A" sup { "2" } }, &"ΔAIC", &"mean", &"in an experiment"];
    let table = html! {
        table class="numbers" {
            (heads(names))
            tbody {
                @for (rank, law) in variable.laws.iter().enumerate() {
                    tr {
                        th scope="row" { @if rank < DRAWN { (swatch(&Role::run(rank))) } (law.kind) }
                        td { (format_args!("{:.4}", law.ks)) }
                        td { (law.anderson_darling.map_or_else(|| "–".to_owned(), |statistic| format!("{statistic:.2}"))) }
                        td { (format_args!("{:.1}", law.delta_aic)) }
                        td { (value(&mean_of(variable, law.mean))) }
                        td { code { (law.quantities.as_ref().unwrap_or(&law.numbers)) } }
                    }
                }
            }
        }
    };
    scrolled("Laws", &table)
}

/// The shares above each value, of the values above zero and of the nearest laws.
fn ccdf(variable: &FittedVariable) -> Figure {
    let values = &variable.values;
    let n = values.count() as usize;
    let points = thin_steps(values.steps().iter().map(|&(value, count)| (value, count as usize)), n, CURVE_ERROR);
    let (x, above) = points.iter().map(|point| (Number(point.x), point.above)).unzip();
    let mut lines = vec![Line {
        name: "values".to_owned(),
        role: Role::original(),
        smooth: false,
        points: Points::Distribution { n, x, above },
    }];
    let (low, high) = (values.min().unwrap_or(1.0), values.max().unwrap_or(1.0));
    for (rank, law) in variable.laws.iter().take(DRAWN).enumerate() {
        let place = |step: u32| low * libm::pow(high / low, f64::from(step) / f64::from(LAW_POINTS));
        let drawn = (0..=LAW_POINTS).map(place).map(|x| (Number(x), (law.law.ccdf(x) * PARTS as f64).round() as usize));
        let (x, above) = drawn.unzip();
        let points = Points::Distribution { n: PARTS, x, above };
        lines.push(Line { name: law.kind.to_owned(), role: Role::run(rank), smooth: true, points });
    }
    let unit = variable.variable.unit();
    let axis = Axis::new(variable.variable.words(), unit_word(unit), true);
    let nearest =
        variable.laws.first().map_or_else(String::new, |law| format!("{} is nearest: KS {:.4}.", law.kind, law.ks));
    let mut letters = nearest.chars();
    let finding =
        letters.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>()) + letters.as_str();
    Figure {
        id: variable.name.to_owned(),
        kind: Kind::Distribution,
        title: format!("{}: share above", variable.variable.words()),
        view: View::Ccdf,
        finding,
        plural: variable.variable.plural(),
        column: variable.name,
        x: axis.clone(),
        y: axis,
        start: Number(0.0),
        step: Number(1.0),
        lines,
        below: Below::Nothing,
        table: table(variable),
        unit,
        provenance: Provenance::default(),
    }
}

/// The shares of the table and of the picture of quantiles.
const SHARES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

fn table(variable: &FittedVariable) -> Table {
    let show = |value| variable.variable.unit().show(value);
    let laws = || variable.laws.iter().take(DRAWN);
    let head = ["quantile", "values"].into_iter().chain(laws().map(|law| law.kind)).map(str::to_owned).collect();
    let row = |p: f64| {
        let found = variable.values.quantile(p).map_or_else(|| "–".to_owned(), show);
        let cells = laws().map(|law| show(law.law.quantile(p)));
        [format!("{} %", format!("{:.1}", 100.0 * p).trim_end_matches(".0")), found].into_iter().chain(cells).collect()
    };
    Table { head, rows: SHARES.into_iter().chain([0.999]).map(row).collect() }
}

const SIDE: f64 = 268.0;
const WIDTH: f64 = 560.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 546.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 228.0;

/// Quantiles of the values against those of the nearest law, both on logarithmic axes: on the diagonal they are equal.
fn quantiles(variable: &FittedVariable) -> Markup {
    let (Some(low), Some(high)) = (variable.values.min(), variable.values.max()) else { return Markup::default() };
    let (low, high) = if high > low { (low, high) } else { (low / 2.0, high * 2.0) };
    let at = |value: f64| (libm::log(value.clamp(low, high) / low) / libm::log(high / low)).clamp(0.0, 1.0);
    let (x, y) = (|value| LEFT + (RIGHT - LEFT) * at(value), |value| BOTTOM - (BOTTOM - TOP) * at(value));
    let words = variable.variable.words();
    let decades = libm::ceil(libm::log10(low)) as i32..=libm::floor(libm::log10(high)) as i32;
    let ticks = decades.map(|exponent| libm::exp10(f64::from(exponent)));
    let label = |tick: f64| variable.variable.unit().show(tick).replace(".00 ", " ").replace(".0 ", " ");
    // Far into the tail, as far as there are ten values beyond.
    let n = variable.values.count() as f64;
    let tail = || [0.995, 0.999, 0.9995, 0.9999, 0.99999].into_iter().filter(|p| (1.0 - p) * n >= 10.0);
    let path = |law: &FittedLaw| {
        let mut path = String::new();
        let shares = (1..100).map(|percent| f64::from(percent) / 100.0).chain(tail());
        for (index, p) in shares.enumerate() {
            let Some(found) = variable.values.quantile(p) else { continue };
            let _ = write!(path, "{}{:.1},{:.1}", if index == 0 { 'M' } else { 'L' }, x(law.law.quantile(p)), y(found));
        }
        path
    };
    let described = format!("Quantiles of {words} against those of distributions");
    html! {
        figure {
            div class="head" { h3 { (words) ": quantiles" } }
            figcaption { "On the diagonal a distribution has the quantile of the values." }
            div class="frame" {
                div class="plot" {
                    svg class="chart" role="img" viewBox={ "0 0 " (WIDTH) " " (SIDE) } aria-label=(described) {
                        g class="axes" {
                            @for tick in ticks {
                                @let (x, y) = (x(tick), y(tick));
                                g class="grid" {
                                    line x1=(LEFT) x2=(RIGHT) y1=(format_args!("{y:.1}")) y2=(format_args!("{y:.1}")) {}
                                }
                                text x=(LEFT - 8.0) y=(format_args!("{:.1}", y + 4.0)) text-anchor="end" { (label(tick)) }
                                text x=(format_args!("{x:.1}")) y=(BOTTOM + 17.0) text-anchor="middle" { (label(tick)) }
                            }
                            text class="title" x="0" y="11" { "quantile of the values" }
                            text class="title" x=(RIGHT) y=(BOTTOM + 34.0) text-anchor="end" { "quantile of the distribution" }
                        }
                        path class="line original" d=(format_args!("M{LEFT},{BOTTOM}L{RIGHT},{TOP}")) {}
                        @for (rank, law) in variable.laws.iter().take(DRAWN).enumerate() {
                            path class={ "line " (Role::run(rank).class) } d=(path(law)) {}
                        }
                    }
                }
            }
        }
    }
}
