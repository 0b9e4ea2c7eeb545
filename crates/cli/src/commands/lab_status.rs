//! `flowloom lab status`: what agents say of themselves.

use flowloom::lab::authority::DAY_S;
use flowloom::lab::blocking::{self, Status};
use flowloom::lab::clock::exchange::Bounds;
use flowloom::lab::clock::{Clock, HostClock};
use flowloom::lab::transport::AgentError;
use serde_json::{Value, json};

use crate::args::LabStatus;
use crate::diagnostics::one_line;
use crate::exit::Exit;
use crate::output::Manner;
use flowloom::Error;
use flowloom::run::agents;
use flowloom::run::of_lab;

/// Runs the command.
pub fn run(args: &LabStatus, manner: Manner) -> Result<Exit, Error> {
    manner.start("lab status")?;
    let agents = agents(&args.hosts)?;
    let addresses: Vec<String> = agents.iter().map(|(_, address)| address.clone()).collect();
    let statuses = blocking::status(&args.dir, &agents).map_err(of_lab)?;
    let all: Vec<(&String, &Result<Status, AgentError>)> = addresses.iter().zip(&statuses).collect();
    manner.answer(
        || json!({ "agents": all.iter().map(|(address, status)| object(address, status)).collect::<Vec<_>>() }),
        || all.iter().filter_map(|(address, status)| Some(text(address, status.as_ref().ok()?))).collect(),
    )?;
    for status in &statuses {
        match status {
            Ok(status) => {
                status.hello.notices.iter().for_each(|notice| manner.warn(notice, Some("see docs/guide/agents.md")))
            }
            Err(why) => tell!("error: {}", one_line(&why.to_string())),
        }
    }
    Ok(if statuses.iter().all(Result::is_ok) { Exit::Done } else { Exit::CouldNot })
}

fn object(address: &str, status: &Result<Status, AgentError>) -> Value {
    let status = match status {
        Ok(status) => status,
        Err(error) => return json!({ "address": address, "error": error.to_string() }),
    };
    let (hello, host) = (&status.hello, status.hello.host.clone().unwrap_or_default());
    let clocks = [("time_of_day", status.time_of_day), ("monotonic", status.monotonic)];
    json!({
        "address": address,
        "name": status.agent.name.as_str(),
        "version": hello.version,
        "host": {
            "name": host.name, "kernel": host.kernel, "machine": host.machine, "processors": host.processors,
            "memory_bytes": host.memory_bytes, "uptime_ns": host.uptime_ns,
        },
        "clock": clocks.into_iter().filter_map(|(name, bounds)| Some((name.to_owned(), offset(bounds?)))).collect::<serde_json::Map<_, _>>(),
        "certificate_ends_unix_s": status.certificate_ends_unix_s,
        "revocations_number": hello.revocations_number,
        "leaf_kinds": hello.leaf_kinds,
        "experiments": hello.experiments.iter().map(|running| json!({
            "experiment": running.experiment, "parent": running.parent, "blocks": running.blocks, "attached": running.attached,
        })).collect::<Vec<_>>(),
        "limits_toml": hello.limits_toml,
        "notices": hello.notices,
    })
}

fn offset(bounds: Bounds) -> Value {
    json!({ "offset_ns": bounds.middle_ns(), "error_ns": bounds.error_ns() })
}

fn text(address: &str, status: &Status) -> String {
    let (hello, host) = (&status.hello, status.hello.host.clone().unwrap_or_default());
    let clock = status.time_of_day.map_or("unknown".to_owned(), |bounds| {
        format!("{:+.3} ms +- {:.3} ms", bounds.middle_ns() as f64 / 1e6, bounds.error_ns() as f64 / 1e6)
    });
    let days = (status.certificate_ends_unix_s - HostClock.unix_s()).div_euclid(DAY_S);
    let attached = hello.experiments.iter().filter(|running| running.attached);
    let experiments: Vec<String> = attached
        .map(|running| {
            format!(
                "{} of {} ({} blocks)",
                &running.experiment[..8.min(running.experiment.len())],
                running.parent,
                running.blocks
            )
        })
        .collect();
    let runs = if experiments.is_empty() { "nothing".to_owned() } else { experiments.join(", ") };
    format!(
        "{:<12} {address}  flowloom {}  Linux {} {}, {} processors, {:.1} GB\n  clock        {clock}\n  runs         {runs}\n  leaves       {}\n  certificate  ends in {days} days\n{}",
        status.agent.name,
        hello.version,
        host.kernel,
        host.machine,
        host.processors,
        host.memory_bytes as f64 / 1e9,
        hello.leaf_kinds.join(", "),
        lends(&hello.limits_toml),
    )
}

/// The settings of the agent's limits, without what is between them.
fn lends(limits: &str) -> String {
    let table: toml::Table = limits.parse().unwrap_or_default();
    table
        .iter()
        .map(|(part, settings)| {
            let settings = settings.as_table().into_iter().flatten().map(|(name, value)| format!("{name} {value}"));
            format!("  {part:<12} {}\n", settings.collect::<Vec<_>>().join(", "))
        })
        .collect()
}
