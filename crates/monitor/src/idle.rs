//! Alerts that can never act: no target, counter or unit is theirs.

use flowloom_core::keys::KeyError;
use flowloom_store::monitor::Kind;

use crate::query::bits_of;
use crate::registry::{Alert, Registry, Target, TargetKind, matches};
use crate::target::{Class, CounterInfo, OWN};
use crate::{agent, local, runs};

/// What is wrong with alerts that no series of the registry can raise. The ports of targets are not known here.
pub fn idle_alerts(registry: &Registry) -> Vec<KeyError> {
    let alerts = registry.alert.iter().enumerate();
    let problems =
        alerts.filter_map(|(number, alert)| Some(problem(registry, alert)?.within(format_args!("alert[{number}]"))));
    problems.collect()
}

fn problem(registry: &Registry, alert: &Alert) -> Option<KeyError> {
    let targets = registry.target.iter().filter(|target| matches(&alert.target, &target.name));
    let counters: Vec<CounterInfo> = targets.flat_map(counters).collect();
    if counters.is_empty() {
        return Some(KeyError::saying("target", format_args!("no target is named {:?}", alert.target)));
    }
    let named: Vec<&CounterInfo> = counters.iter().filter(|counter| counter.name == alert.counter).collect();
    if named.is_empty() {
        let mut names: Vec<&str> = counters.iter().map(|counter| counter.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let problem = format_args!("no target has a counter {:?}: there are {}", alert.counter, names.join(", "));
        return Some(KeyError::saying("counter", problem));
    }
    let (key, other) = match (&alert.rate_above, &alert.rate_below) {
        (Some(_), _) => ("rate-above", "above"),
        (None, Some(_)) => ("rate-below", "below"),
        (None, None) => return None,
    };
    let has_rate = |counter: &&CounterInfo| bits_of(&counter.unit).is_some() && counter.kind != Some(Kind::Gauge);
    let unit = &named[0].unit;
    let problem = || format!("{:?} is no counter of octets or cells: use {other}, in {unit}", alert.counter);
    (!named.iter().any(has_rate)).then(|| KeyError::saying(key, problem()))
}

/// The counters that are recorded of a target.
fn counters(target: &Target) -> Vec<CounterInfo> {
    let mut groups = match target.kind {
        TargetKind::Snmp => agent::groups(&target.counter),
        TargetKind::Local => local::groups(),
        TargetKind::Runs => runs::groups(),
    };
    if target.kind == TargetKind::Snmp && target.ports.is_empty() {
        groups.remove(0);
    }
    let own = OWN.into_iter().zip([Kind::Gauge, Kind::Counter]).map(|((name, unit), kind)| CounterInfo {
        name: name.to_owned(),
        unit: unit.to_owned(),
        class: Class::Own(None),
        kind: Some(kind),
    });
    groups.into_iter().flatten().chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_that_never_act_are_errors() {
        let told = |alert: &str| -> Vec<String> {
            let targets = "[[target]]\nname = \"core-1\"\naddresses = [\"h\"]\ncommunity = \"c\"\n\
                [[target.counter]]\nname = \"cells\"\noid = \"1.3.6.1\"\nunit = \"cells\"\n\
                [[target]]\nname = \"here\"\nkind = \"local\"\n";
            let text = format!("{targets}[[alert]]\nname = \"a\"\ncommand = [\"true\"]\n{alert}");
            idle_alerts(&toml::from_str(&text).unwrap()).iter().map(ToString::to_string).collect()
        };
        for fine in [
            "counter = \"in\"\nrate-above = \"1mbit\"",
            "counter = \"cells\"\ntarget = \"core-*\"\nrate-below = \"1mbit\"",
            "counter = \"answer-time\"\nabove = 1e9",
            "counter = \"backlog\"\nabove = 1e6",
            "counter = \"in-packets\"\nabove = 5",
        ] {
            assert_eq!(told(fine), [""; 0], "{fine}");
        }
        for (alert, said) in [
            (
                "counter = \"inn\"\nabove = 1",
                "alert[0].counter: no target has a counter \"inn\": there are answer-time, ",
            ),
            ("counter = \"in\"\ntarget = \"nosuch\"\nabove = 1", "alert[0].target: no target is named \"nosuch\""),
            (
                "counter = \"cells\"\ntarget = \"here\"\nabove = 1",
                "alert[0].counter: no target has a counter \"cells\"",
            ),
            (
                "counter = \"in-packets\"\nrate-above = \"1mbit\"",
                "alert[0].rate-above: \"in-packets\" is no counter of octets or cells: use above, in packets",
            ),
            (
                "counter = \"backlog\"\nrate-below = \"1mbit\"",
                "alert[0].rate-below: \"backlog\" is no counter of octets",
            ),
        ] {
            let found = told(alert);
            assert!(found.len() == 1 && found[0].starts_with(said), "{found:?}");
        }
    }
}
