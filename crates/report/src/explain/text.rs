//! The explanation for the terminal.

use std::fmt::Write as _;

use flowloom_core::units::three_digits;

use super::cause::UNKNOWN;
use super::{Apart, Explained, ExplainedConnection, Explanation, Quantity, TimeDifferences, Worth};
use crate::metric::Unit;
use crate::text::wrap;
use crate::words::{counted, thousands};

/// What stands where there is no value.
pub(crate) const NOTHING: &str = "–";

/// How to read the two values of a cause.
pub(crate) const HOW_TO_READ: &str = "The first value of a cause is of the replay that has it alone, the second of the one that has all others. \
     Causes act together: what they are worth need not add up to the whole difference.";

/// Causes that are told of a quantity, at most.
const TOLD: usize = 3;
/// Differences of distances below this are not told: half of the last digit that is shown.
const LEAST_TOLD: f64 = 0.000_5;

/// What makes a replay differ from its original: distances of all replays, what is worth most, and the connections that differ most.
pub fn explanation_text(explanation: &Explanation) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", lead(explanation));
    wrap(&mut text, "  ", SCALE);
    if let Some(note) = explanation.note_on_driver() {
        wrap(&mut text, "  ", &note);
    }
    text.push('\n');
    distances(&mut text, explanation);
    text.push('\n');
    for explained in &explanation.quantities {
        wrap(&mut text, &format!("  {}:", explained.quantity.plural()), &finding(explained));
    }
    if let Some(spans) = adu_spans(explanation) {
        wrap(&mut text, "  total span of ADUs:", &spans);
    }
    wrap(&mut text, "  ", HOW_TO_READ);
    if !explanation.connections.is_empty() {
        text.push('\n');
        connections(&mut text, explanation);
    }
    text
}

/// What is explained.
pub(crate) fn lead(explanation: &Explanation) -> String {
    format!("{} explained by {} simulated replays", explanation.run, explanation.simulated())
}

/// What the numbers are.
pub(crate) const SCALE: &str = "How far each is from the original, as on the score card: 0 is the same. With fewer than ten values there is \
     the ratio alone, as 1.05x.";

/// The distance, or the ratio where there is none.
pub(crate) fn number(apart: Apart) -> String {
    match (apart.distance, apart.ratio) {
        (Some(distance), _) => format!("{distance:.3}"),
        (None, Some(ratio)) => ratio.show(three_digits) + "x",
        (None, None) => NOTHING.to_owned(),
    }
}

fn distances(text: &mut String, explanation: &Explanation) {
    let mut line = |name: &str, of: &dyn Fn(&Explained) -> String| {
        let cells = explanation.quantities.iter().map(|explained| format!("{:>14}", of(explained)));
        let _ = writeln!(text, "{name:14}{}", cells.collect::<String>());
    };
    line("", &|explained| explained.quantity.short().to_owned());
    line("this run", &|explained| number(explained.run));
    line("nothing", &|explained| number(explained.nothing));
    for (place, cause) in explanation.causes.iter().enumerate() {
        let pair = |explained: &Explained| {
            explained.causes.get(place).map_or_else(String::new, |Worth { alone, left_out, .. }| {
                format!("{} {}", number(*alone), number(*left_out))
            })
        };
        line(&format!("  {}", cause.name), &pair);
    }
    line("all", &|explained| number(explained.all));
}

/// What is worth most for a quantity, and what is unknown.
pub(crate) fn finding(explained: &Explained) -> String {
    let amount = |apart: Apart| apart.amount().map_or_else(|| NOTHING.to_owned(), |amount| format!("{amount:.3}"));
    let most = |worth: &Worth| worth.worth_alone.into_iter().chain(worth.worth_left_out).fold(0.0, f64::max);
    let mut worth: Vec<&Worth> = explained.causes.iter().filter(|worth| most(worth) >= LEAST_TOLD).collect();
    worth.sort_by(|a, b| most(b).total_cmp(&most(a)));
    worth.truncate(TOLD);
    let shown = |value: Option<f64>| value.map_or_else(|| NOTHING.to_owned(), |value| format!("{value:.3}"));
    let told = |worth: &&Worth| {
        format!("{} {} alone, {} left out", worth.cause, shown(worth.worth_alone), shown(worth.worth_left_out))
    };
    let told = match &worth[..] {
        [] => "no cause brings it nearer".to_owned(),
        worth => format!("worth most: {}", worth.iter().map(told).collect::<Vec<_>>().join("; ")),
    };
    let worse = explained.worsened_by.as_ref().filter(|_| most_lost(explained) >= LEAST_TOLD);
    let worse = worse.map_or_else(String::new, |cause| format!("; {cause} brings it farther away"));
    format!(
        "{} with nothing, {} with all, which is unknown ({}); {told}{worse}",
        amount(explained.nothing),
        amount(explained.all),
        counted(explained.n as u64, "value"),
    )
}

/// How much farther all causes bring a replay.
fn most_lost(explained: &Explained) -> f64 {
    let lost = explained.all.amount().zip(explained.nothing.amount()).map(|(all, nothing)| all - nothing);
    lost.unwrap_or(0.0)
}

/// The total span of ADUs in the original and in the replays; `None` where nobody saw ADUs.
pub(crate) fn adu_spans(explanation: &Explanation) -> Option<String> {
    let explained = explanation.quantities.iter().find(|explained| explained.quantity == Quantity::AduSpan)?;
    let original = explanation.original_adu_span_ns as f64;
    let of = |apart: Apart| apart.ratio.map(|ratio| Unit::Time.show(original * ratio.value()));
    Some(format!(
        "{} in the original, {} in this run, {} with nothing, {} with all",
        Unit::Time.show(original),
        of(explained.run)?,
        of(explained.nothing)?,
        of(explained.all)?
    ))
}

/// A difference in milliseconds, with its sign.
pub(crate) fn milliseconds(ns: Option<i64>) -> String {
    ns.map_or_else(|| NOTHING.to_owned(), |ns| format!("{:+.1}", ns as f64 / 1e6))
}

/// A row of the table of connections: name, original, nothing, all, explained by, alone, left out.
pub(crate) fn connection_row(connection: &ExplainedConnection) -> Option<[String; 7]> {
    let (what, times) = connection.farthest()?;
    let by = times.explained_by.as_deref().unwrap_or(UNKNOWN);
    let worse = times.worsened_by.as_deref().filter(|_| by == UNKNOWN);
    let of_cause = times.causes.iter().find(|tried| tried.cause == worse.unwrap_or(by));
    let tried =
        |of: fn(&TimeDifferences) -> Option<i64>| of_cause.map_or_else(String::new, |tried| milliseconds(of(tried)));
    Some([
        format!("{} {what}", connection.id),
        Unit::Time.show(times.original_ns as f64),
        milliseconds(times.nothing_ns),
        milliseconds(times.all_ns),
        worse.map_or_else(|| by.to_owned(), |cause| format!("worse: {cause}")),
        tried(|tried| tried.alone_ns),
        tried(|tried| tried.left_out_ns),
    ])
}

/// The heads of the columns of that table.
pub(crate) const CONNECTION_HEADS: [&str; 7] =
    ["connection", "original", "nothing", "all", "explained by", "alone", "left out"];

fn connections(text: &mut String, explanation: &Explanation) {
    let compared = thousands(explanation.compared_connections);
    let _ = writeln!(text, "Of {compared} connections those that differ most, replay less original in milliseconds:");
    let mut line = |cells: [&str; 7]| {
        let [name, original, nothing, all, by, alone, left_out] = cells;
        let line = format!("  {name:16}{original:>12}{nothing:>12}{all:>12}  {by:20}{alone:>12}{left_out:>12}");
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line(CONNECTION_HEADS);
    for row in explanation.connections.iter().filter_map(connection_row) {
        line(row.each_ref().map(String::as_str));
    }
}
