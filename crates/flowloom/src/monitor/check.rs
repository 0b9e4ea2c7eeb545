//! Whether targets answer, and what they offer.

use std::path::Path;

use flowloom_core::time::Duration;
use flowloom_monitor::registry::{Registry, Target, TargetKind, matches};
use flowloom_monitor::{Moment, Offer, Runs, capacity_of};
use flowloom_store::monitor::Level;
use serde::Serialize;

use super::changes::{ConnectionChange, carries, changes};
use super::registry::{Registered, of_monitor};
use crate::context::Context;
use crate::error::Error;

/// What was found of all targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MonitorChecked {
    /// Each target.
    pub targets: Vec<CheckedTarget>,
}

impl MonitorChecked {
    /// Whether all targets answer.
    pub fn is_good(&self) -> bool {
        self.targets.iter().all(|target| target.problem.is_none())
    }
}

/// What was found of a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CheckedTarget {
    /// Its name.
    pub name: String,
    /// The address that answered.
    pub address: Option<String>,
    /// How long an answer with all counters took, in nanoseconds.
    pub answer_ns: Option<u64>,
    /// Packets of that answer and of its questions.
    pub packets: Option<u64>,
    /// Its uptime in nanoseconds, if it says that.
    pub uptime_ns: Option<u64>,
    /// The width of its counters in bits; `None` if some ports have 32 and some 64, or it is this host.
    pub counter_bits: Option<u64>,
    /// Its ports that are recorded.
    pub ports: Vec<CheckedPort>,
    /// What changed on its ports, as the registry says it, by day.
    pub changes: Vec<ConnectionChange>,
    /// What is doubtful.
    pub warnings: Vec<String>,
    /// Why it does not answer.
    pub problem: Option<String>,
    /// What to do about that.
    pub hint: Option<String>,
}

/// What was found of a port.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CheckedPort {
    /// Its name.
    pub name: String,
    /// How its administrator describes it.
    pub alias: String,
    /// Whether it passes packets; `None` if that is not known.
    pub is_up: Option<bool>,
    /// What it can carry, in bit/s.
    pub capacity_bps: Option<u64>,
    /// What hangs on it, as the registry says.
    pub carries: Option<String>,
}

/// Asks every target of the registry at `registry` once.
///
/// # Errors
/// The registry is wrong, a secret cannot be had, or the stop was requested.
pub fn check_monitor(registry: &Path, context: Context<'_>) -> Result<MonitorChecked, Error> {
    let Registered { registry, base } = Registered::read(registry)?;
    let mut targets = Vec::new();
    for target in &registry.target {
        context.proceed()?;
        targets.push(match target.kind {
            TargetKind::Snmp => agent(&registry, target, &base)?,
            TargetKind::Local => local(target),
            TargetKind::Runs => runs(target, &base),
        });
        let now_ns = Moment::now().wall_ns;
        if let Some(found) = targets.last_mut() {
            found.changes = changes(&registry, target, now_ns);
            found.warnings.extend(of_retention(&registry, target));
        }
    }
    Ok(MonitorChecked { targets })
}

/// What is left of a target when its samples are deleted, where that is less than the registry may seem to say.
fn of_retention(registry: &Registry, target: &Target) -> Option<String> {
    let samples = registry.keep.samples.as_ref()?.value;
    let interval = registry.interval_of(target);
    let has_minutes = Level::Minutes.holds(interval.as_nanos());
    let (samples, interval) = (samples.written(), interval.written());
    let text = || {
        format!(
            "after {samples} (keep.samples) hours alone are left: minutes need an interval of 30 s or less, and it has {interval}"
        )
    };
    (!has_minutes).then(text)
}

fn agent(registry: &Registry, target: &Target, base: &Path) -> Result<CheckedTarget, Error> {
    let found = CheckedTarget { name: target.name.clone(), ..CheckedTarget::default() };
    let asking = flowloom_monitor::agent(registry, target, base).map_err(of_monitor)?;
    let Some(mut asking) = asking else { return Ok(found) };
    let answer = match asking.ask() {
        Ok(answer) => answer,
        Err(trouble) => {
            let hint = match &target.community {
                Some(_) => "check address, community and firewalls: an agent does not answer a wrong community",
                None => "check address, user, keys and firewalls",
            };
            return Ok(CheckedTarget { problem: Some(trouble.to_string()), hint: Some(hint.to_owned()), ..found });
        }
    };
    let mut found = CheckedTarget {
        address: Some(asking.address().to_owned()),
        answer_ns: Some(answer.received.since(&answer.asked)),
        packets: Some(answer.own_packets),
        uptime_ns: answer.uptime.map(|(ticks, _)| u64::from(ticks) * 10_000_000),
        ..found
    };
    if target.addresses.first() != found.address.as_ref() {
        found.warnings.push(format!("{} does not answer", target.addresses[0]));
    }
    if asking.unread() > 0 {
        found.warnings.push(format!("{} values cannot be read, and their counters are missing", asking.unread()));
    }
    let Some(offered) = asking.offered() else { return Ok(found) };
    found.counter_bits = match offered.offer {
        Offer::Wide => Some(64),
        Offer::Narrow => Some(32),
        Offer::Both => None,
    };
    if offered.is_disordered {
        found.warnings.push("it names an index twice: what is behind it is not read".to_owned());
    }
    let now_ns = Moment::now().wall_ns;
    let mut names = std::collections::BTreeSet::new();
    for port in offered.ports.values() {
        if !target.ports.iter().any(|pattern| matches(pattern, &port.name)) {
            continue;
        }
        if !names.insert(port.name.clone()) {
            found.warnings.push(format!("two ports are named {:?}: one is recorded, the last that is up", port.name));
            continue;
        }
        let capacity = capacity_of(&port.name, now_ns, &target.port);
        found.ports.push(CheckedPort {
            name: port.name.clone(),
            alias: port.alias.clone(),
            is_up: Some(port.is_up),
            capacity_bps: capacity.or(port.bits_per_second),
            carries: carries(target, &port.name, now_ns),
        });
        if let (Some(capacity), Some(says)) = (capacity, port.bits_per_second)
            && capacity != says
        {
            found.warnings.push(format!(
                "port {:?} has {capacity} bit/s in the registry, and the target says {says} bit/s",
                port.name
            ));
        }
    }
    let missing = target.port.iter().filter(|port| !names.contains(&port.name));
    found.warnings.extend(missing.map(|port| format!("it has no port {:?} that is recorded", port.name)));
    if let Some(interval) = found.answer_ns.filter(|took| *took > registry.interval_of(target).as_nanos()) {
        let interval = Duration::from_nanos(interval);
        found.warnings.push(format!("an answer takes {interval}, which is longer than its interval"));
    }
    Ok(found)
}

fn local(target: &Target) -> CheckedTarget {
    let mut found = CheckedTarget { name: target.name.clone(), ..CheckedTarget::default() };
    match flowloom_monitor::local_ports(&target.ports) {
        Ok((ports, took)) => {
            found.answer_ns = Some(took);
            let port = |name: String| {
                let now_ns = Moment::now().wall_ns;
                let (capacity_bps, carries) =
                    (capacity_of(&name, now_ns, &target.port), carries(target, &name, now_ns));
                CheckedPort { name, capacity_bps, carries, ..CheckedPort::default() }
            };
            found.ports = ports.into_iter().map(port).collect();
        }
        Err(error) => found.problem = Some(error.to_string()),
    }
    found
}

/// The links of the live runs that go on.
fn runs(target: &Target, base: &Path) -> CheckedTarget {
    let folder = base.join(target.folder.as_deref().unwrap_or(Path::new(".")));
    let mut found = CheckedTarget { name: target.name.clone(), ..CheckedTarget::default() };
    if !folder.is_dir() {
        found.problem = Some(format!("{}: there is no such folder", folder.display()));
        found.hint = Some("the target finds live runs in the folder that holds their run folders".to_owned());
        return found;
    }
    let asked = Moment::now();
    let names = Runs::new(&folder, &target.ports).names();
    found.answer_ns = Some(Moment::now().since(&asked));
    let port = |name| CheckedPort { name, is_up: Some(true), ..CheckedPort::default() };
    found.ports = names.into_iter().map(port).collect();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_targets_keep_hours_alone() {
        let text = "[keep]\nsamples = \"720h\"\n[[target]]\nname = \"a\"\nkind = \"local\"\n\
            [[target]]\nname = \"b\"\nkind = \"local\"\ninterval = \"30s\"\n";
        let told = |text: &str| {
            let registry: Registry = toml::from_str(text).unwrap();
            registry.target.iter().map(|target| of_retention(&registry, target).unwrap_or_default()).collect::<Vec<_>>()
        };
        let found = told(text);
        assert!(found[0].starts_with("after 720h (keep.samples) hours alone are left"), "{found:?}");
        assert_eq!(found[1], "");
        assert_eq!(told(&text.replace("samples", "hours")), ["", ""]);
    }
}
