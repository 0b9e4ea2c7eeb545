//! `flowloom lab logs`: what agents did, in one order.

use flowloom::lab::blocking::{self, Log};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::args::LabLogs;
use crate::exit::Exit;
use crate::output::Manner;
use flowloom::Error;
use flowloom::run::agents;
use flowloom::run::of_lab;

/// Runs the command.
pub fn run(args: &LabLogs, manner: Manner) -> Result<Exit, Error> {
    manner.start("lab logs")?;
    let logs = blocking::logs(&args.dir, &agents(&args.hosts)?, &args.experiment, args.lines).map_err(of_lab)?;
    let mut lines: Vec<Map<String, Value>> = logs.iter().flatten().flat_map(lines).collect();
    lines.sort_by_key(|line| line["unix_ns"].as_i64());
    manner.answer(
        || {
            let errors = logs.iter().filter_map(|log| log.as_ref().err()).map(ToString::to_string);
            json!({ "lines": lines, "errors": errors.collect::<Vec<_>>() })
        },
        || lines.iter().map(text).collect(),
    )?;
    logs.iter().filter_map(|log| log.as_ref().err()).for_each(|why| tell!("error: {why}"));
    Ok(if logs.iter().all(Result::is_ok) { Exit::Done } else { Exit::CouldNot })
}

/// An agent's lines, by our clock. What is no line of a log is left as the text that it is.
fn lines(log: &Log) -> impl Iterator<Item = Map<String, Value>> {
    let ahead = log.time_of_day.map_or(0, |bounds| bounds.middle_ns());
    let mut before = Value::Null;
    log.lines.iter().map(move |line| {
        let mut line = serde_json::from_str::<Map<String, Value>>(line)
            .unwrap_or_else(|_| Map::from_iter([("text".to_owned(), json!(line))]));
        let at =
            line.get("unix_ns").and_then(Value::as_i64).map_or(before.clone(), |at| json!(at.saturating_sub(ahead)));
        before = at.clone();
        line.insert("unix_ns".to_owned(), at);
        line.insert("agent".to_owned(), json!(log.agent.name.as_str()));
        line
    })
}

fn text(line: &Map<String, Value>) -> String {
    let word = |key: &str| match line.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let at = line["unix_ns"].as_i64().and_then(|at| {
        // To the microsecond, which is more than clocks are known to.
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(at / 1_000 * 1_000)).ok()?.format(&Rfc3339).ok()
    });
    let experiment: String = word("experiment").chars().take(8).collect();
    let what = match line.get("stranger") {
        Some(_) => format!("stranger at {}: {}", word("address"), word("stranger")),
        None => [word("peer"), experiment, word("command"), word("block"), word("answer"), word("text")]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join("  "),
    };
    format!("{:<30} {:<12} {what}\n", at.unwrap_or_default(), word("agent"))
}
