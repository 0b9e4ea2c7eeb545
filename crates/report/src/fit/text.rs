//! Fits in words.

use std::fmt::Write as _;

use flowloom_core::units::three_digits;
use flowloom_models::fit::{Tail, samples_for_digits};

use super::{Fitted, FittedVariable};
use crate::words::thousands;

/// What `flowloom fit` prints.
pub fn fitted_text(fitted: &Fitted) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{} TCP connections", thousands(fitted.connections));
    for variable in &fitted.variables {
        text.push('\n');
        variable_text(&mut text, variable);
    }
    text
}

/// Its numbers in a line.
pub(crate) fn summary(variable: &FittedVariable) -> String {
    let show = |value| variable.variable.unit().show(value);
    let mut line = format!(
        "{} values, mean {}, median {}, 99 % at most {}, largest {}",
        thousands(variable.n),
        show(variable.mean),
        show(variable.median),
        show(variable.p99),
        show(variable.max)
    );
    if variable.zeros > 0 {
        let percent = three_digits(100.0 * variable.zeros as f64 / variable.n as f64);
        let _ = write!(line, "; {percent} % are zero, and distributions are fitted to the others");
    }
    line
}

/// A mean of a law, which may be infinite.
pub(crate) fn mean_of(variable: &FittedVariable, mean: Option<f64>) -> String {
    mean.map_or_else(|| "infinite".to_owned(), |mean| variable.variable.unit().show(mean))
}

fn variable_text(text: &mut String, variable: &FittedVariable) {
    let _ = writeln!(text, "{} ({}): {}", variable.variable.words(), variable.name, summary(variable));
    if !variable.laws.is_empty() {
        let _ = writeln!(text, "  {:<15} {:>7} {:>9} {:>11} {:>11}   law", "", "KS", "A2", "dAIC", "mean");
    }
    for law in &variable.laws {
        let _ = writeln!(
            text,
            "  {:<15} {:>7.4} {:>9} {:>11} {:>11}   {}",
            law.kind,
            law.ks,
            law.anderson_darling.map_or_else(|| "–".to_owned(), three_digits),
            three_digits(law.delta_aic),
            mean_of(variable, law.mean),
            law.quantities.as_ref().unwrap_or(&law.numbers)
        );
    }
    for line in finding_lines(variable) {
        let _ = writeln!(text, "  {line}");
    }
    for refused in &variable.refused {
        let _ = writeln!(text, "  {:<15}no fit: {}", refused.kind, refused.reason);
    }
    for line in variable.tail.iter().flat_map(|tail| tail_lines(variable, tail)) {
        let _ = writeln!(text, "  {line}");
    }
}

/// Laws whose AIC differ by no more are equally well supported (Burnham and Anderson 2002, section 2.6).
const ALIKE: f64 = 2.0;

/// Which law describes the values, if one does, and where the criteria disagree; a sentence each.
pub(crate) fn finding_lines(variable: &FittedVariable) -> Vec<String> {
    let Some((nearest, largest_ks)) = variable.laws.first().zip(variable.largest_ks) else { return Vec::new() };
    let unit = match variable.unit {
        "ns" => "; for a key in milliseconds",
        "bytes" => "; for a key in bytes",
        _ => "",
    };
    let proposed = &variable.proposed;
    let mut lines = vec![match (nearest.ks <= largest_ks, proposed.kind) {
        (true, kind) if kind == nearest.kind => format!("proposed: {kind}{unit}: {}", proposed.numbers),
        (true, "empirical") => format!(
            "the nearest law, {}, has no mean, and no other describes these values; proposed: the values themselves (kind = \
             \"empirical\"), as -o and --json write them",
            nearest.kind
        ),
        (true, kind) => {
            format!("proposed: {kind}{unit}: {}; {} is nearer, and has no mean", proposed.numbers, nearest.kind)
        }
        (false, _) => format!(
            "no law describes these values: the nearest, {}, has KS {}, and {} of {} values would do; proposed: the values themselves \
             (kind = \"empirical\"), as -o and --json write them",
            nearest.kind,
            three_digits(nearest.ks),
            three_digits(largest_ks),
            thousands(variable.n - variable.zeros)
        ),
    }];
    let likeliest = variable.most_likely.filter(|kind| *kind != nearest.kind && nearest.delta_aic > ALIKE);
    if let Some(likeliest) = likeliest {
        lines.push(format!(
            "the criteria disagree: {} is nearest (KS), {likeliest} is most likely (dAIC), which weighs the tail more",
            nearest.kind
        ));
    }
    lines
}

/// Whether one index describes the tail.
fn level(tail: &Tail) -> &'static str {
    match tail.drift {
        _ if tail.level => "level, as of a Pareto tail",
        Some(drift) if !drift.is_certain() => "too few values to tell whether it is level",
        _ => "not level, so that no one index describes it",
    }
}

/// What is known of the tail, a sentence each.
pub(crate) fn tail_lines(variable: &FittedVariable, tail: &Tail) -> Vec<String> {
    let show = |value| variable.variable.unit().show(value);
    let hill = &tail.hill;
    let ends = |pick: fn(f64, f64) -> f64| tail.plot.iter().map(|one| one.alpha).reduce(pick).unwrap_or(hill.alpha);
    let mut lines = vec![format!(
        "tail index {:.3} +- {:.3} (Hill, the {} values above {}); from 1 % to 15 % of the values it is {:.3} to {:.3}: {}",
        hill.alpha,
        hill.standard_error,
        thousands(hill.k),
        show(hill.threshold),
        ends(f64::min),
        ends(f64::max),
        level(tail)
    )];
    if let Some(line) = &tail.least_squares {
        lines.push(format!(
            "slope of the CCDF {:.3} from {} to {} ({} points; no standard error can be given)",
            line.alpha,
            show(line.from),
            show(line.to),
            thousands(line.points)
        ));
    }
    if tail.tied > 0.1 {
        lines.push(format!(
            "{} % of the values in the tail are there more than once: whole segments or fixed sizes make the index jump",
            three_digits(100.0 * tail.tied)
        ));
    }
    if tail.level && hill.alpha < 2.0 {
        lines.push(match samples_for_digits(hill.alpha, 2.0) {
            Some(n) if n > variable.n as f64 => {
                format!(
                    "two digits of the mean need about {n:.1e} values (Crovella and Lipsky 1997): compare quantiles"
                )
            }
            Some(_) => "there are enough values for two digits of the mean".to_owned(),
            None => "there is no mean: bound or truncate such a distribution".to_owned(),
        });
    }
    lines
}
