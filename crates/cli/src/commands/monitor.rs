//! `flowloom monitor`: collects, checks, lists, prints.

use flowloom::monitoring::{Curve, Point, Selection};
use flowloom::store::monitor::{MILLIONTHS, Series, utc_text};
use flowloom::time::Duration;
use flowloom::{
    CheckedTarget, ConnectionChange, Error, History, HistoryOptions, MonitorOptions, Period, check_monitor, history,
    history_csv, history_rates, monitored_series,
};
use serde_json::{Value, json};

use crate::args::{self, HistoryForm};
use crate::diagnostics::one_line;
use crate::exit::Exit;
use crate::monitor_view::{rate_text, value_text};
use crate::output::{self, Manner};

/// Runs `flowloom monitor run`.
pub fn collect(args: &args::MonitorRun, manner: Manner) -> Result<Exit, Error> {
    let options = MonitorOptions { metrics: args.watching.metrics, push: args.watching.push()? };
    flowloom::monitor(&args.registry, &args.output, &options, manner.observer().context())?;
    Ok(Exit::Done)
}

/// Runs `flowloom monitor check`.
pub fn check(args: &args::MonitorCheck, manner: Manner) -> Result<Exit, Error> {
    manner.start("monitor check")?;
    let checked = check_monitor(&args.registry, manner.observer().context())?;
    manner.answer(|| json!(checked), || checked.targets.iter().map(target_text).collect())?;
    for target in &checked.targets {
        target.warnings.iter().for_each(|warning| manner.warn(&format!("{}: {warning}", target.name), None));
        if let Some(problem) = &target.problem {
            tell!("error: {}", one_line(&format!("{}: {problem}", target.name)));
            if let Some(hint) = &target.hint {
                tell!("  hint: {hint}");
            }
        }
    }
    Ok(if checked.is_good() { Exit::Done } else { Exit::CouldNot })
}

fn target_text(target: &CheckedTarget) -> String {
    let mut text = target.name.clone();
    if let Some(address) = &target.address {
        text += &format!("  {address}");
    }
    match (&target.problem, target.answer_ns) {
        (None, Some(answer)) => text += &format!("  answers in {}", Duration::from_nanos(answer)),
        _ => text += "  does not answer",
    }
    if let Some(uptime) = target.uptime_ns {
        text += &format!(", up for {} days", uptime / 86_400_000_000_000);
    }
    if let Some(bits) = target.counter_bits {
        text += &format!(", counters of {bits} bits");
    }
    text += "\n";
    let width = target.ports.iter().map(|port| port.name.chars().count()).max().unwrap_or(0);
    for port in &target.ports {
        let state = match port.is_up {
            Some(true) => "up",
            Some(false) => "down",
            None => "",
        };
        let capacity = port.capacity_bps.map_or_else(|| "?".to_owned(), rate_text);
        let carries = port.carries.as_deref().unwrap_or(&port.alias);
        let line = format!("  {:width$}  {state:<4}  {capacity:>11}  {carries}", port.name);
        text += line.trim_end();
        text += "\n";
    }
    for ConnectionChange { day, port, before, after } in &target.changes {
        let [before, after] = [before, after].map(|what| what.as_deref().unwrap_or("nothing"));
        text += &format!("  since {day}, {port}: {after} (before: {before})\n");
    }
    text
}

/// Runs `flowloom monitor list`.
pub fn list(args: &args::MonitorList, manner: Manner) -> Result<Exit, Error> {
    manner.start("monitor list")?;
    let series = monitored_series(&args.store)?;
    manner.answer(|| json!({ "series": series }), || list_text(&series))?;
    Ok(Exit::Done)
}

fn list_text(series: &[Series]) -> String {
    let rows = series.iter().map(|series| {
        let every = Duration::from_nanos(series.interval_ns).written();
        [series.target.clone(), series.port.clone(), series.counter.clone(), series.unit.clone(), every]
    });
    table(&["target", "port", "counter", "unit", "every"], rows.map(Vec::from).collect())
}

/// Runs `flowloom monitor show`.
pub fn show(args: &args::MonitorShow, manner: Manner) -> Result<Exit, Error> {
    let mut manner = manner;
    manner.form.json |= args.format == HistoryForm::Json;
    let is_json = manner.form.json || manner.form.json_stream;
    if args.format == HistoryForm::Rates {
        let idle =
            [("--json", is_json), ("--points", args.points.is_some()), ("--percentile", args.percentile.is_some())];
        if let Some((option, _)) = idle.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Error::usage(format_args!("{option} changes nothing about a file of rates"))
                .hint("leave it out, or --format rates"));
        }
    }
    manner.start("monitor show")?;
    let period = match args.from {
        Some(from) => Period::Between(from, args.to),
        None => Period::Last(args.last),
    };
    let options = HistoryOptions {
        selection: Selection { target: args.target.clone(), port: args.port.clone(), counter: args.counter.clone() },
        period,
        points: args.points.unwrap_or(60) as usize,
        percentile: args.percentile,
    };
    if args.format == HistoryForm::Rates {
        let found = history_rates(&args.store, &options)?;
        if found.unknown_ns > 0 {
            let unknown = Duration::from_nanos(found.unknown_ns);
            let words = "it is 0 in the file, or spread over a row of which a part is known";
            manner.warn(&format!("the rate is unknown for {unknown} of the period: {words}"), None);
        }
        output::text(&found.csv)?;
        return Ok(Exit::Done);
    }
    let found = history(&args.store, &options)?;
    if args.format == HistoryForm::Csv && !is_json {
        output::text(&history_csv(&found)?)?;
        return Ok(Exit::Done);
    }
    manner.answer(|| object(&found), || found.curves.iter().map(curve_text).collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Done)
}

fn object(history: &History) -> Value {
    let rate = |millionths: u128| millionths as f64 / MILLIONTHS as f64;
    let point = |point: &Point| {
        json!({
            "start_ns": point.start_ns, "least": rate(point.least), "mean": point.mean_units(), "most": rate(point.most),
            "covered_ns": point.covered_ns, "samples": point.samples,
        })
    };
    let curve = |curve: &Curve| {
        json!({
            "series": curve.series,
            "width_ns": curve.width_ns,
            "is_bound": curve.is_bound,
            "mean": curve.whole.map(|whole| whole.mean_units()),
            "most": curve.whole.map(|whole| rate(whole.most)),
            "least": curve.whole.map(|whole| rate(whole.least)),
            "covered_ns": curve.whole.map_or(0, |whole| whole.covered_ns),
            "amount": curve.amount,
            "p95": curve.p95.map(rate),
            "percentile_ns": curve.percentile_ns,
            "points": curve.points.iter().map(point).collect::<Vec<_>>(),
            "gaps": curve.gaps,
        })
    };
    json!({
        "from_ns": history.from_ns,
        "to_ns": history.to_ns,
        "curves": history.curves.iter().map(curve).collect::<Vec<_>>(),
    })
}

fn curve_text(curve: &Curve) -> String {
    let Series { target, port, counter, unit, kind, .. } = &curve.series;
    let value = |millionths| value_text(millionths, unit, *kind);
    let name =
        [target.as_str(), port, counter].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let mut text = match &curve.whole {
        None => format!("{name}: no samples\n"),
        Some(whole) => {
            let amount = curve.amount.map_or_else(String::new, |amount| format!(", {amount} {unit} in all"));
            let p95 = curve.p95.map_or_else(String::new, |p95| format!(", 95th percentile {}", value(p95)));
            format!("{name}: mean {}, most {}{p95}{amount}\n", value(whole.mean), value(whole.most))
        }
    };
    let rows = curve.points.iter().map(|point| {
        let covered = 100.0 * point.covered_ns as f64 / curve.width_ns as f64;
        let [least, mean, most] = [point.least, point.mean, point.most].map(value);
        vec![utc_text(point.start_ns), least, mean, most, format!("{:.0} %", covered.min(100.0))]
    });
    text += &table(&["from", "least", "mean", "most", "known"], rows.collect());
    for gap in &curve.gaps {
        let length = Duration::from_nanos(gap.end_ns - gap.start_ns);
        let amount = gap.amount.map_or_else(String::new, |amount| format!(", {amount} {unit} counted in that time"));
        text += &format!("unknown from {} for {length}: {}{amount}\n", utc_text(gap.start_ns), gap.reason.name());
    }
    text
}

/// Rows below heads, each column as wide as its widest cell.
fn table(heads: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let all: Vec<Vec<String>> = [heads].into_iter().chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..all[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    all.iter().map(line).collect()
}
